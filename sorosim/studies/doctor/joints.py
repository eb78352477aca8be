"""Joints, driven coordinates and loops: springs and stops that are too soft, angles in degrees, conflicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sorosim.analysis.equilibria.assembly import close, open_loops
from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import ConvergenceError, ExpressionError, InputError
from sorosim.base.validation import counted
from sorosim.mechanics.actuation.servo import JointServo
from sorosim.mechanics.dynamics.constraints import IndependentRows
from sorosim.mechanics.engine.inputs import Partition, check_smooth
from sorosim.mechanics.engine.prescribed import Prescribed
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.robot import Robot
from sorosim.studies.doctor.context import CheckContext, Coordinate
from sorosim.studies.doctor.findings import Finding, finding, judged

TURNS = 4.0 * np.pi  # rad: more is probably meant in degrees
DRIVEN_TURNS = 8.0 * np.pi  # and of driven coordinates
FAR = 3.0  # of the size of the robot
# rad, or of the size of the robot, by which weight may turn or shift a spring, and a servo
SAG = {True: np.pi, False: 1.0}
SERVO_SAG = {True: 0.5, False: 0.3}
DRIFT = 0.5  # of the largest rate that a velocity servo is told
FASTEST, LENGTHS, SPINS = 100.0, 1e3, 1e4  # m/s, and lengths of itself in a second; rad/s: at the start
SAME_PLACE = 1e-6  # rad, or m
OPEN = 1e-6  # of the extent of a loop, or rad


def joints(context: CheckContext) -> Iterator[Finding]:
    """Springs, stops, and initial values of every joint, one coordinate after the other."""
    for link in context.robot.links:
        first = context.robot.engine.layout.links[link.name].column
        for i in range(link.joint.n):
            yield from _joint(context, f"links.{link.name}.joint", link.joint, i, context.coordinate(first + i))
    yield from _rates(context)
    yield from _servos(context)


def _joint(context: CheckContext, where: str, joint: Joint, i: int, c: Coordinate) -> Iterator[Finding]:
    """The i-th coordinate of a joint."""
    values = joint.stiffness, joint.rest, joint.friction
    spring, rest, friction = (float(np.broadcast_to(value, joint.n)[i]) for value in values)
    load, q = float(abs(context.load_vector[c.column])), float(context.robot.initial_q[c.column])
    most = TURNS if c.is_angle else FAR * context.extent
    words: dict[str, Any] = {"name": c.name, "unit": c.unit, "meant": f"was it meant in {c.wrong_unit}?"}
    is_placed = not c.is_angle and joint.places
    for verb, value in (("begins at", q), ("rests at", rest)):
        if abs(value) > most and not is_placed:
            yield finding("joint.value", where, value, verb=verb, **words)
    if c.column in context.driven_coordinates:
        return
    if spring > 0.0 and load > SAG[c.is_angle] * c.size * spring:
        enough = {"enough": load / (0.1 * c.size), "sag": 0.1 * c.size}
        unit = "N m/rad" if c.is_angle else "N/m"
        yield finding("joint.spring", where, load / spring, stiffness=spring, stiffness_unit=unit, **enough, **words)
    armature = float(context.robot.engine.armature[c.column])
    if armature > 0.0:
        moved = float(context.mass_matrix[c.column, c.column]) - armature
        words_of = {"name": c.name, "unit": c.inertia, "inertia": moved, "factor": armature / max(moved, 1e-300)}
        yield from judged("joint.armature", where, armature, words_of["factor"], **words_of)
    if friction > 0.0:
        weight = context.weight * (context.extent if c.is_angle else 1.0)
        efforts = {"name": c.name, "most": weight, "unit": c.effort, "meant": c.wrong_effort}
        yield from judged("joint.friction", where, friction, friction / max(weight, 1e-300), **efforts)
    limit = joint.limits[i] if joint.limits else None
    if limit is None:
        return
    ends = [end for end in (limit.low, limit.high) if np.isfinite(end)]
    if any(abs(end) > most for end in ends) and not joint.places:
        shown = " and ".join(f"{end:.4g}" for end in ends)
        yield finding("joint.stops", f"{where}.limits", max(ends, key=abs), ends=shown, **words)
    if not limit.low <= q <= limit.high:
        yield finding("joint.outside", where, q, low=limit.low, high=limit.high, **words)
    if spring > 0.0 and not limit.low <= rest <= limit.high:
        yield finding("joint.preloaded", where, rest, **words)
    span, sinks = min(limit.high - limit.low, 2.0 * np.pi * c.size), load / limit.stiffness
    enough = {"span": span, "enough": load / (0.01 * span)}
    yield from judged("joint.soft_stop", f"{where}.limits", sinks, sinks / span, joint=where, **enough, **words)


def _rates(context: CheckContext) -> Iterator[Finding]:
    """How fast the robot begins."""
    robot = context.robot
    far = max(FASTEST, LENGTHS * context.largest_part)
    fastest = {"angle": (SPINS, "rad/s", "deg/s"), "length": (far, "m/s", "mm/s")}
    dimensions = robot.engine.layout.dimensions
    for name, dimension, rate in zip(robot.coordinate_names, dimensions, robot.initial_qd, strict=True):
        most, unit, likely_unit = fastest.get(dimension, (np.inf, "", ""))
        if abs(rate) > most:
            yield finding("joint.rate", f"initial.{name}", rate, unit=unit, meant=likely_unit)


def _servos(context: CheckContext) -> Iterator[Finding]:
    """Servos that give way to weight and loads where the robot starts, or may not push enough."""
    layout = context.robot.engine.layout
    for where, name, actuator in context.parts("actuators", JointServo):
        c, load = context.coordinate(context.index_of(actuator)), context.load_against(actuator)
        stiffness, _, limit, gain = actuator.numbers(layout)
        if limit < load:
            yield finding("servo.weak", where, limit, load=load, effort=c.effort)
        elif actuator.of_rate:
            yield from _velocity_servo(context, where, name, c, load, gain)
        elif (sag := load / stiffness) > SERVO_SAG[c.is_angle] * c.size:
            words = {"unit": c.unit, "effort": c.effort, "enough": load / (0.01 * c.size), "sag": 0.01 * c.size}
            yield finding("servo.soft", where, sag, **words)


def _velocity_servo(
    context: CheckContext, where: str, name: str, c: Coordinate, load: float, gain: float
) -> Iterator[Finding]:
    """Its drift under weight and loads, beside the rates it is told; its time constant, beside the run."""
    told = float(np.abs(context.inputs[:, context.robot.actuator_names.index(name)]).max(initial=0.0))
    drift, usual = load / gain, told or c.size
    if drift > DRIFT * usual:
        words = {"unit": c.unit, "effort": c.effort, "enough": load / (0.01 * usual), "less": 0.01 * usual}
        yield finding("servo.drifts", where, drift, **words)
    if told and context.robot.description.simulate:
        takes, t_end = float(context.mass_matrix[c.column, c.column]) / gain, float(context.times[-1])
        words = {"t_end": t_end, "unit": c.unit, "effort": c.effort, "enough": 10.0 * takes * gain / t_end}
        yield from judged("servo.slow", where, takes, takes / t_end, **words)


# -- driven coordinates ------------------------------------------------------------------------------------------------


def driven(context: CheckContext) -> Iterator[Finding]:
    """Both blocks of the file that drive coordinates."""
    for block in ("simulate", "statics"):
        motions = getattr(context.robot.description, block).get("driven") or {}
        if motions:
            yield from _driven_block(context, block, motions)


def _refused(block: str, error: InputError | ExpressionError, hint: str) -> Finding:
    return finding("driven.refused", f"{block}.{error.where}", expected=error.expected, got=error.got, hint=hint)


def _driven_block(context: CheckContext, block: str, motions: Mapping[str, object]) -> Iterator[Finding]:
    robot, description, where = context.robot, context.robot.description, f"{block}.driven"
    try:
        prescribed = Prescribed.of(robot, {}, motions, begin=robot.initial_q)
        partition, motion = prescribed.partition, prescribed.motion
    except (InputError, ExpressionError) as error:
        yield _refused(block, error, error.hint or "name each coordinate once")
        return
    times = context.times if block == "simulate" else np.zeros(1)
    if block == "simulate":
        try:
            check_smooth(prescribed.driven, float(times[-1]), description.simulate.get("dt_out"))
        except InputError as error:
            yield _refused(block, error, error.hint)
    for name, index, values in zip(partition.names, partition.driven, motion.sample(times).T, strict=True):
        c, here = context.coordinate(int(index)), f"{where}.{name}"
        far, least, most = float(np.abs(values).max(initial=0.0)), values.min(), values.max()
        link = next((link for link in robot.links if link.name == name), None)
        lengthens = link is not None and link.joint.changes_length
        rod = link.rod if link is not None and lengthens else None
        if rod is not None and not least > -rod.divisions[0].length:
            yield finding("driven.length", here, least, length=rod.divisions[0].length)
        if not lengthens and far > (DRIVEN_TURNS if c.is_angle else FAR * context.extent):
            radians = f" That is {np.radians(far):.3g} rad" if c.is_angle else ""
            yield finding("driven.far", here, far, unit=c.unit, meant=f"was it meant in {c.wrong_unit}?{radians}")
        stop = link.joint.limits[0] if link is not None and link.joint.n == 1 and link.joint.limits else None
        if stop is not None and not (stop.low <= least and most <= stop.high):
            ends = {"least": least, "most": most, "low": stop.low, "high": stop.high}
            yield finding("driven.stops", here, far, unit=c.unit, **ends)
        initial = description.initial.get(c.name)
        if block == "simulate" and initial is not None and abs(initial - values[0]) > SAME_PLACE:
            yield finding("driven.initial", here, initial - values[0], start=values[0], initial=initial, unit=c.unit)
    yield from _against_loops(context, where, partition, motion.sample(times))


def _against_loops(context: CheckContext, where: str, partition: Partition, motion: Array) -> Iterator[Finding]:
    """Driven coordinates that the loops do not leave free: A qd = 0 has no solution for every rate of them.

    A start may be singular, as that of a straight rod whose ends are both gripped: then the closed state decides to
    which the motion (n_times, n_driven) leads.
    """
    robot, names = context.robot, partition.names
    if not robot.n_multipliers or not len(partition.driven):
        return
    A = robot.loop_rows(robot.initial_q).A
    rank, rank_free = (IndependentRows(robot.engine, X).rank for X in (A, A[:, partition.free]))
    if rank == rank_free or _free_on_the_way(robot, partition, motion):
        return
    free = set(range(robot.ndof)) - set(partition.driven)
    # one after the other: coordinates that can be driven together with those before
    blocked, accepted = [], list(partition.driven)
    for name, index in zip(names, partition.driven, strict=True):
        accepted.remove(index)
        if IndependentRows(robot.engine, A[:, sorted([*free, *accepted])]).rank == rank:
            break
        blocked.append(name)
    shown = ", ".join(f"'{name}'" for name in (blocked if len(blocked) < len(names) else names))
    excess = rank - rank_free
    yield finding("driven.loops", where, excess, names=shown, possible=len(names) - excess)


def _free_on_the_way(robot: Robot, partition: Partition, motion: Array) -> bool:
    """Whether the loops close, and leave the driven coordinates free, where these are farthest from the start."""
    q = np.array(robot.initial_q)
    away = np.abs(motion - q[partition.driven]).max(axis=1)
    q[partition.driven] = motion[int(away.argmax())]
    try:
        closed = close(robot, q, np.zeros(robot.ndof), partition.free).q
    except ConvergenceError:
        return False
    A = robot.loop_rows(closed).A
    return IndependentRows(robot.engine, A).rank == IndependentRows(robot.engine, A[:, partition.free]).rank


# -- loops -------------------------------------------------------------------------------------------------------------


def loops(context: CheckContext) -> Iterator[Finding]:
    """All loops where the robot starts."""
    robot, description = context.robot, context.robot.description
    if not robot.n_multipliers:
        yield finding("loops.none", "loops")
        return
    motions = description.simulate.get("driven") or description.statics.get("driven") or {}
    motions = motions if context.can_be_driven else {}
    free = Partition.of(robot.engine.layout, motions, description.actuators).free
    if words := open_loops(robot, robot.initial_q, OPEN):
        yield _open(context, words, free)
    A = robot.loop_rows(robot.initial_q).A
    rank = IndependentRows(robot.engine, A[:, free]).rank
    counts = {"loop": len(robot.loop_names), "coupling": len(robot.coupling_names)}
    of = " and ".join(counted(n, what) for what, n in counts.items() if n)
    rows = f"{counted(len(A), 'condition')} of {of}, {rank} of them independent at the start"
    dependent = ", ".join(f"{n} of '{name}'" for name, n in _redundant(context, A[:, free]).items())
    if dependent:
        yield finding("loops.redundant", "loops", len(A) - rank, rows=rows, dependent=dependent)
    if rank >= len(free):
        driven_whole = bool(motions) and rank == IndependentRows(robot.engine, A).rank
        context_words = f" beside {len(motions)} that are driven" if motions else ""
        code = "loops.driven" if driven_whole else "loops.no_freedom"
        yield finding(code, "loops", 0.0, rows=rows, free=len(free), beside=context_words)
    elif not dependent:
        yield finding("loops.rows", "loops", len(free) - rank, rows=rows)


def _open(context: CheckContext, words: str, free: IntArray) -> Finding:
    robot = context.robot
    is_closed_first = robot.description.simulate.get("q0") in ("assembled", "equilibrium")
    code = "loops.assembled" if is_closed_first else "loops.open"
    try:
        close(robot, robot.initial_q, np.zeros(robot.ndof), free)
    except ConvergenceError as error:
        code, words = "loops.conflict", str(error).split("; look at")[0]
    named = [name for name in robot.engine.loop_layout.rows if f"'{name}'" in words]
    block = "couplings" if len(named) == 1 and named[0] in robot.coupling_names else "loops"
    return finding(code, f"{block}.{named[0]}" if len(named) == 1 else "loops", words=words)


def _redundant(context: CheckContext, A: Array) -> dict[str, int]:
    """How many conditions of each loop depend on those of the loops before it and its own."""
    robot, counts, before = context.robot, {}, 0
    for name, rows in robot.engine.loop_layout.rows.items():
        # dependence is judged as for all loops: rows of later loops count as zero
        part = np.where((np.arange(len(A)) < rows.stop)[:, None], A, 0.0)
        rank = IndependentRows(robot.engine, part).rank
        if missing := rows.stop - rows.start - (rank - before):
            counts[name] = missing
        before = rank
    return counts
