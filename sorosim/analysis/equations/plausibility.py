"""States that are hardly meant: strains beyond the linear law, slack tendons, deep contacts, joints left free."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import scipy.linalg

from sorosim.analysis.equations.failure import ROUNDING
from sorosim.analysis.equations.points import FARTHEST, enough_points, points_error, section_words, turns_between_points
from sorosim.analysis.equations.strains import places
from sorosim.base.arrays import Array, IntArray
from sorosim.base.validation import counted
from sorosim.mechanics.actuation.joint_force import JointForce
from sorosim.mechanics.dynamics.constraints import IndependentRows
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.inputs import Partition
from sorosim.mechanics.kernels.rod_actuators import LENGTH_INPUT, TENSION_INPUT
from sorosim.mechanics.robot import Robot

STRAIN = 1.0  # of a fibre: there the stress of a linear law has nothing to do with that of any material
CRUSHED = 0.2  # of its length: what a rod may be shortened to
BARELY = min(STRAIN, 1.0 - CRUSHED)
OFF = 0.01  # of the length that leads to a tip: what points may leave unsaid, as what the doctor notes
# from point to point [rad]: with less, k/n = 0.5/(pi/2) and w/n < 2 for functions of order p < n, and the part that is
# missing, 0.015 (k w/n^2)^2 (docs/theory.md, 2), is below that
LEAST_TURN = 0.5
SLACK = 0.5  # of the time that a tendon may be slack although it is to pull
N_ROWS = 33  # of a run, at which contacts and tendons are looked at
LEAST_STEPS = 4.0  # of fixed size, in a period that they show
MOST_LOST = 0.5  # of the states in which a contact sticks: there its slip is less than the error of rates
SWINGS = 0.5  # damping ratio below which there is an oscillation to be shown


def implausible_states(robot: Robot, q: Array, u: Array, t: Array | None = None) -> list[str]:
    """What is implausible in states q (n, ndof) under inputs u (n, n_actuators) at times t (n,), a line each."""
    if not len(q):
        return []
    rows = np.unique(np.linspace(0, len(q) - 1, min(len(q), N_ROWS)).round().astype(int))
    strained = [*_strained(robot, q, t)]
    # motions that are strained so far are beyond what more points would help
    coarse = [] if strained and t is not None else [*_coarse(robot, q[rows], None if t is None else t[rows])]
    return [
        *strained,
        *coarse,
        *_slack(robot, q[rows], u[rows]),
        *_deep(robot, q[rows], None if t is None else t[rows]),
    ]


def _at(t: Array | None, row: int) -> str:
    return "" if t is None else f" at t = {t[row]:.3g} s"


def _strained(robot: Robot, q: Array, t: Array | None) -> Iterator[str]:
    """The rod that is crushed most, or else strained most."""
    worst, words = 0.0, ""
    for place in places(robot):
        name = place.link.name
        if place.bound(q).max() < BARELY:
            continue
        if (least := place.least_stretch(q)).min() < CRUSHED:
            row = int(least.argmin())
            yield f"'{name}' is crushed: to {100.0 * max(least[row], 0.0):.2g} % of its length{_at(t, row)}"
            return
        strain = place.fibre_strains(q)
        row = int(strain.argmax())
        if strain[row] > max(worst, STRAIN):
            worst = float(strain[row])
            hyperelastic = place.division.material.is_hyperelastic
            beyond = "where its law is an approximation" if hyperelastic else "where no material is linear"
            words = f"'{name}' is strained by {100.0 * worst:.3g} %{_at(t, row)}, {beyond}"
    if words:
        yield words


def _coarse(robot: Robot, q: Array, t: Array | None) -> Iterator[str]:
    """The tip that is off most because a rod turns far between two of its points, or the rod that turns half round."""
    most, mean, winding = np.zeros(len(q)), np.zeros(len(q)), None
    for place in places(robot):
        if place.turn_bound(q).max() > LEAST_TURN:
            at_most, on_average = turns_between_points(robot, place, q)
            most = np.maximum(most, at_most)
            if on_average.max() > max(np.pi, mean.max()):
                mean, winding = on_average, place
    rows = np.flatnonzero(most > LEAST_TURN).tolist()
    found = [(error, row) for row in rows if (error := points_error(robot, q[row], OFF))]
    error, row = max(found, key=lambda one: one[0].part, default=(None, int(mean.argmax())))
    if error is not None:
        where, n, enough = error.place.where, error.place.division.n_gauss, error.enough
        section, mm = section_words(error.link, error.s), 1e3 * error.distance
        off = f"{section} is off by {mm:.2g} mm or more{_at(t, row)}, since {where}"
        yield f"{off} turns by {error.turn:.2g} rad between two of its points: give it quadrature: {enough} for {n}"
    elif winding is not None:
        n, unseen = winding.division.n_gauss, "which miss what acts on it between them"
        enough = enough_points(n, float(mean[row]) / FARTHEST)
        yield (f"{winding.where} turns half round from point to point{_at(t, row)}, {unseen}: "
               f"give it quadrature: {enough} for {n}")  # fmt: skip


def _slack(robot: Robot, q: Array, u: Array) -> Iterator[str]:
    """Tendons that are to pull and are slack most of the time."""
    actuators = robot.engine.rod_actuators
    by_length = actuators.mode == LENGTH_INPUT
    slack = (actuators.mode == TENSION_INPUT) & (u < 0.0)
    if by_length.any():
        lengths = np.array([robot.engine.tendon_lengths(row) for row in q])
        slack |= by_length & (u > 0.0) & (lengths - actuators.length + u <= 0.0)
    for j in np.flatnonzero(slack.mean(axis=0) > SLACK):
        share = 100.0 * float(slack[:, j].mean())
        often = f" for {share:.0f} % of the time" if len(q) > 1 else ""
        why = "it is longer than what is wound up" if by_length[j] else "its tension is negative"
        yield f"tendon '{robot.actuator_names[j]}' is slack{often}: {why}"


def _deep(robot: Robot, q: Array, t: Array | None) -> Iterator[str]:
    """The contact that is deepest for its rounding, if it is deeper."""
    if not robot.engine.loading.touches:
        return
    found = [(contact, row) for row, x in enumerate(q) if (contact := robot.engine.deepest_contact(x)) is not None]
    contact, row = max(found, key=lambda one: one[0].depth / one[0].rounding, default=(None, 0))
    if contact is not None and contact.depth > contact.rounding:
        deep, most = 1e3 * contact.depth, 1e3 * contact.rounding
        where = f"{contact.a} is {deep:.3g} mm inside {contact.b}{_at(t, row)}"
        yield f"{where}, deeper than they are rounded ({most:.2g} mm): the contact is too soft"


# -- joints that nothing holds -----------------------------------------------------------------------------------------


def loose_joints(robot: Robot, driven: IntArray) -> list[str]:
    """Coordinates of joints that no spring, damper, stop, motor, motion or loop holds; free joints are meant to be."""
    layout, acted = robot.engine.layout, set(map(int, driven))
    for actuator in robot.description.actuators.values():
        if isinstance(actuator, JointForce):
            acted.add(layout.links[actuator.link].column + actuator.index(layout))
    columns = []
    for link in layout.links.values():
        joint = link.link.joint
        for i in range(link.n_joint if joint.kind != "free" else 0):
            column = link.column + i
            laws = (joint.stiffness, joint.damping, joint.friction)
            held = any(np.broadcast_to(law, joint.n)[i] for law in laws) or (
                joint.limits and joint.limits[i] is not None
            )
            if not (held or column in acted):
                columns.append(column)
    if columns and robot.n_multipliers:
        in_loops = np.abs(robot.loop_rows(robot.initial_q).A).max(axis=0) > 0.0
        columns = [column for column in columns if not in_loops[column]]
    return [layout.coordinate_names[column] for column in columns]


def left_free(robot: Robot, driven: IntArray, motions: Mapping[str, object]) -> str:
    """The joint that was left free by mistake, in words: the file drives it, or all others but for it; "" if none."""
    loose, layout = loose_joints(robot, driven), robot.engine.layout
    if not loose:
        return ""
    names = set(loose)
    columns = {i: name for i, name in enumerate(layout.coordinate_names) if name in names}
    remedy = "give it a motion (driven), a motor, a spring or damping"
    for name in motions:
        if (column := layout.coordinate(name, "driven")) in columns:
            return f"nothing holds '{columns[column]}', which the file drives: {remedy}"
    n_held = len(driven) + sum(isinstance(actuator, JointForce) for actuator in robot.description.actuators.values())
    return f"nothing holds '{loose[0]}', and all other joints are driven: {remedy}" if len(loose) == 1 < n_held else ""


def locked(robot: Robot, q: Array, partition: Partition) -> str:
    """Loops that leave no freedom to any coordinate in a state, in words; "" where they do, or where any is driven."""
    free = partition.free
    if not robot.n_multipliers or len(partition.driven) or not len(free):
        return ""
    rank = IndependentRows(robot.engine, robot.loop_rows(q).A[:, free]).rank
    if rank < len(free):
        return ""
    remedy = "free a joint or a strain, or let a joint of a loop be spherical: sorosim check tells more"
    conditions = f"{rank} independent conditions on {counted(len(free), 'coordinate')}"
    return f"the loops leave no freedom, so nothing moves: {conditions}; {remedy}"


def unresolved_slip(robot: Robot, q: Array, qd: Array, rtol: float, atol: float) -> str:
    """Contacts that stick at slip speeds below what tolerances of rates leave there, in words; "" if none does.

    Friction is that of a slip speed v: what sticks slides slower. Errors within the tolerances of all rates, each by
    itself, make one of the slip; where it is larger than v in most states, creep is not told from sticking.
    """
    if not robot.engine.loading.touches or robot.engine.is_large:
        return ""
    rows = np.unique(np.linspace(0, len(q) - 1, min(len(q), N_ROWS)).round().astype(int))
    seen: dict[str, list[tuple[bool, float, float]]] = {}
    for place, rate in zip(q[rows], qd[rows], strict=True):
        contacts = robot.engine.contacts(place, rate)[0]
        speed, friction = robot.engine.loading.slip_speeds(contacts.load.tolist())
        sticks = (friction > 0.0) & (np.linalg.norm(contacts.slip, axis=1) < speed)
        if not sticks.any():
            continue
        error = np.zeros(contacts.n)
        for i, tolerance in enumerate(atol + rtol * np.abs(rate)):
            changed = rate.copy()
            changed[i] += tolerance
            slip = robot.engine.contacts(place, changed)[0].slip
            error += np.sum((slip - contacts.slip) ** 2, axis=1)
        error = np.sqrt(error)
        for k in np.flatnonzero(sticks):
            seen.setdefault(str(contacts.load[k]), []).append(
                (bool(error[k] > speed[k]), float(error[k]), float(speed[k]))
            )
    for name, found in seen.items():
        late = [error for lost, error, _ in found if lost]
        if len(late) > MOST_LOST * len(found):
            mm = f"{1e3 * found[0][2]:.2g} mm/s, is slower than what tolerances leave of rates there"
            remedy = f"rtol={rtol * found[0][2] / float(np.median(late)):.0e} tells, or a larger slip_speed"
            return f"whether '{name}' sticks or creeps is not told: its slip_speed, {mm}; {remedy}"
    return ""


# -- steps of fixed size -----------------------------------------------------------------------------------------------


def unresolved(robot: Robot, q: Array, partition: Partition, step: float) -> str:
    """Why steps of fixed size show no oscillation of what is elastic, in words; "" if they do, or there is none.

    Of large trees, whose matrices are never formed, it is not known: "".
    """
    if robot.engine.solves_along_tree:
        return ""
    free, zero = partition.free, np.zeros_like(q)
    K, D = (-getattr(robot.engine.evaluate(task.INTERNAL_DERIVATIVES, q, zero, zero.copy(), robot.inputs(None)), name)
            for name in ("by_q", "by_qd"))  # fmt: skip
    M = robot.engine.evaluate(task.MASS, q, zero, zero.copy(), robot.inputs(None)).mass
    K, D, M = (0.5 * (X + X.T)[np.ix_(free, free)] for X in (K, D, M))
    try:
        squares, shapes = scipy.linalg.eigh(K, M)
    except np.linalg.LinAlgError:
        return ""
    elastic = np.flatnonzero(squares > ROUNDING * squares.max(initial=0.0))
    if not len(elastic):
        return ""
    w, z = float(np.sqrt(squares[elastic[0]])), shapes[:, elastic[0]]
    steps = 2.0 * np.pi / (w * step)
    if steps >= LEAST_STEPS or z @ D @ z > 2.0 * SWINGS * w:
        return ""
    hertz = w / (2.0 * np.pi)
    return f"steps of {step:g} s show no oscillation: the slowest, {hertz:.3g} Hz, has {steps:.2g} of them in a period"
