"""Diagnosis of a solver that gave up, or stalls: the largest residual and its cause, in words and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.linalg

from sorosim.analysis.equations.contact_check import needlessly_stiff
from sorosim.analysis.equations.strains import largest_strain, places
from sorosim.analysis.equations.system import NO_STRAINS, OdeSystem, StaticSystem
from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import ModelError, PlugInError, SorosimError
from sorosim.base.ode import OdeSolution
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.kernels.kinematics import POSES
from sorosim.mechanics.linear.eigenmodes import NOISE, is_symmetric
from sorosim.mechanics.robot import Robot

NEGLIGIBLE_FORCE = 0.1  # of the largest force of its kind: where less acts, a residual is compared with that
BALANCED = 1e-9  # relative residuals below are rounding
UNBALANCED = 1e-5  # and those of Newton's method in a step that fails for another reason
FAILED = 1e-8  # parts of the extent of a loop, or rad, by which steps leave it open
LARGE_STRAIN = 0.3  # beyond it the linear law of materials is a guess
BLOW_UP = 100.0  # growth of an input over the last hundredth of the time, above which it blows up
EARLIER_PART = 0.99
LOOK_AHEAD = 1e-6  # look this part of the time ahead for values that become infinite or NaN
WEAK_STIFFNESS = 1e-4  # stiffness of the weakest direction, where that of every coordinate alone is 1
ROUNDING = 1e-12  # rank tolerance: stiffnesses below this part of the largest count as zero
FAST_GROWTH = 1e3  # 1/s: a motion that grows faster than within a millisecond
UNITS = {"angle": "N m", "length": "N"}  # of other coordinates, work: J
MAX_EIGENVALUES = 500  # most coordinates for which all eigenvalues are computed
END_BEFORE = "end the motion before, or give the joint of the rod limits"
IMPLAUSIBLE_STRAIN = 3.0  # strain that hardly any rod survives


class Failure(NamedTuple):
    """Where a solver stopped: the largest residual there and its cause."""

    where: str  # coordinate or loop with the largest residual; of a motion else the coordinate that changes fastest
    link: str  # of the coordinate; where all is balanced, one that is strained too much
    residual: float  # what is unbalanced there, or by how much a loop is open
    unit: str  # N m, N or J (of coordinates without a unit), m or rad
    relative: float  # to the forces that act there, or to the extent of the loop
    t: float | None = None  # time [s], of a motion
    step: float | None = None  # size of the step that failed [s], where it is known
    words: str = ""  # the same and further causes, for the message
    advice: str = ""  # what to try


class Trial(NamedTuple):
    """A state that a step tried."""

    t: float
    q: Array  # (ndof,)
    qd: Array
    qdd: Array
    multiplier: Array  # (m,)
    strain: Array = NO_STRAINS  # of Maxwell elements


NO_FAILURE = Failure("", "", 0.0, "", 0.0)


def diagnose_statics(system: StaticSystem, x: Array, *, matrices: bool = True) -> Failure:
    """The largest residual at full load where a search for an equilibrium, or a steady motion, stopped.

    x: the unknowns there; matrices: whether to look for the weakest direction, by dense matrices.
    """
    robot, q, multiplier = system.robot, system.q(x), system.multipliers(x)
    what = task.RESIDUAL_DERIVATIVES if matrices else task.RESIDUAL
    with np.errstate(all="ignore"):
        try:
            evaluation = system.evaluate(what, q, multiplier=multiplier)
            acting = _acting(robot, q, system.rates, np.zeros_like(q), system.u, 0.0)
            if len(multiplier):
                acting += (
                    np.abs(evaluation.closure.constraint).T @ np.abs(multiplier)
                    if matrices
                    else np.abs(evaluation.tau - system.evaluate(what, q).tau)
                )
        except (ModelError, PlugInError) as error:
            return NO_FAILURE._replace(words=f"; where it stopped: {error}")
        rounding = _rounding(evaluation.by_q, q) if matrices else ROUNDING * acting
        forces = _unbalanced(robot, evaluation.tau, acting, rounding, system.partition.free)
        loops = worst_loop(robot, evaluation.closure.error) if len(multiplier) else NO_FAILURE
        weak, opposed = _weakest_direction(system, evaluation.by_q) if matrices else ("", True)
        strain, strained_link = strained(robot, q)
    worst = max(forces, loops, key=lambda failure: failure.relative)
    if not worst.where:
        worst = worst._replace(link=strained_link)
    words = [part for part in (_described(forces), _described(loops), weak, strain) if part]
    advice = ""
    if strain:
        advice = "look at the units of inputs and loads, and at young: rods are not made for such strains"
    elif not opposed:
        advice = "give what moves there a spring, a contact or a driven motion; `simulate` shows where it goes"
    elif weak:
        advice = "it buckles or folds there: `simulate` shows where it goes, and a start on that side (q0) finds it"
    text = "; where it stopped " + ", ".join(words) if words else ""
    return worst._replace(words=text, advice=advice)


def diagnose_motion(
    system: OdeSystem, last: tuple[float, Array], step: float, trial: Trial | None, bad: tuple[float, Array] | None,
    tolerances: tuple[float, float], stalled: bool = False,
) -> Failure:  # fmt: skip
    """The largest residual, or the fastest coordinate, where an integration stopped.

    Parameters
    ----------
    system : OdeSystem
    last : (float, (2 n,) array)
        Time and state to which the integrator came.
    step : float
        Size of the step that failed [s], NaN if it is not known.
    trial : Trial, optional
        The end of that step, as Newton's method left it.
    bad : (float, (2 n,) array), optional
        A state whose rate is infinite or NaN.
    tolerances : (float, float)
        Relative and absolute ones.
    stalled : bool
        Whether steps did not fail, but became too many: then the motion that they follow is named.
    """
    (t, x), robot, worst = last, system.robot, NO_FAILURE
    with np.errstate(all="ignore"):
        q = system.coordinates(t, x)[0]
        tried = [] if bad is None or bad[0] < t else [bad]  # that one was stepped over
        if trial is not None:
            worst = _unbalanced_step(system, trial)
            if not np.isfinite([*np.concatenate(trial[1:]), worst.relative]).all():
                tried, worst = [*tried, (trial.t, system.state(trial.q, trial.qd, trial.strain))], NO_FAILURE
        tried.append(last)
        if not (getattr(system.inputs, "callables", ()) or robot.engine.loading.packed.signals.callables):
            # not every method reports where it tried: an input may have no value from here on
            tried.append((t + LOOK_AHEAD * (t or 1.0), x))
        # where steps became too many, coordinates of one that failed are no cause
        nan, growing = _nonfinite(system, tried, [] if stalled else tried), list(_growing_inputs(system, t, x))
        fastest, rates, grows = _fastest(system, t, x, tolerances)
        strain, short = strained(robot, q)[0] if np.isfinite(q).all() else "", robot.engine.layout.fully_retracted(q)
        short = f"nothing is left of the length of '{short}'" if short else ""
        loops, singular = "", ""
        if robot.n_multipliers and np.isfinite(q).all():
            loops = _described(worst_loop(robot, robot.loop_rows(q).error), FAILED)
            singular = f"the loops {system.loop_monitor.singular}" if system.loop_monitor.singular else ""
    words = [
        part
        for part in (short, _described(worst, UNBALANCED), *nan, *growing, rates, grows, strain, loops, singular)
        if part
    ]
    if stalled and not (nan or growing) and (limiting := limiting_motion(system, t, x, tolerances)):
        fastest, rates, _ = limiting
        words = [part for part in (rates, strain, loops, singular) if part]
    if worst.relative <= UNBALANCED:
        worst = NO_FAILURE._replace(where=fastest, link=link_of(robot, fastest))
    advice = END_BEFORE if short else _advice(bool(nan), bool(growing), bool(singular), bool(strain), bool(grows))
    known = step if np.isfinite(step) else None
    text = "; there" + (f", at steps of {step:.2g} s, " if known else " ") + ", ".join(words) if words else ""
    return worst._replace(t=t, step=known, words=text, advice=advice)


def append_last_state(system: OdeSystem, solution: OdeSolution, dt_out: float) -> OdeSolution:
    """The solution with one more row, the last state that the integrator reached, if that is finite."""
    if solution.last is None or not len(solution.t):
        return solution
    t, x = solution.last
    try:
        finite = t > solution.t[-1] + 1e-9 * dt_out and np.isfinite(np.concatenate([x, *system.forces(t, x)])).all()
    except (ModelError, PlugInError):
        return solution
    return replace(solution, t=np.append(solution.t, t), x=np.vstack([solution.x, x])) if finite else solution


def _advice(nan: bool, growing: bool, singular: bool, strain: bool, grows: bool) -> str:
    if nan or growing:
        return "look at the formula of what grows so: has it a pole, is its unit right?"
    if singular:
        return "no method passes a place where loops lock: drive another joint, or turn back before"
    if strain:
        return "look at the units of inputs and loads: rods are not made for such strains"
    return "add damping, or look for what pushes it" if grows else ""


def strained(robot: Robot, q: Array) -> tuple[str, str]:
    """Which rod is strained beyond what its law is good for, in words, and the name of its link; "" if none."""
    strain, place = largest_strain(robot, q)
    if place is None or not LARGE_STRAIN <= strain < np.inf:
        return "", ""
    return f"'{place.link.name}' is strained by {100.0 * strain:.3g} %", place.link.name


def _acting(robot: Robot, q: Array, qd: Array, qdd: Array, u: Array, t: float) -> Array:
    """Sizes (ndof,) of the forces that act along each coordinate: inertia and loads, elastic ones, actuators."""
    inertial = robot.engine.evaluate(task.INVERSE, q, qd, qdd, u, t).tau
    passive = robot.engine.internal(q, qd, np.zeros_like(u)).tau
    internal = robot.engine.internal(q, qd, u).tau
    return np.asarray(np.abs(inertial) + np.abs(passive) + np.abs(internal - passive))


def _rounding(K: Array, q: Array) -> Array:
    """Sizes (ndof,) of forces that are nothing but rounding, where others nearly cancel."""
    return np.asarray(ROUNDING * (np.abs(K) @ (1.0 + np.abs(q))))


def _unbalanced(robot: Robot, residual: Array, acting: Array, rounding: Array, free: IntArray) -> Failure:
    """The free coordinate whose residual is largest relative to what acts there."""
    dimensions = np.array(robot.engine.layout.dimensions)
    relative = np.zeros(robot.ndof)
    for kind in set(dimensions):
        indices = np.intersect1d(free, np.flatnonzero(dimensions == kind))
        if len(indices):
            # a large part of a small force is no more than a small part of a large one
            floor = max(NEGLIGIBLE_FORCE * float(acting[indices].max()), 1e-300)
            relative[indices] = np.abs(residual[indices]) / np.maximum(acting[indices], floor)
            relative[indices[np.abs(residual[indices]) <= rounding[indices].max()]] = 0.0
    relative = np.where(np.isfinite(relative), relative, np.inf)
    if not len(free) or not relative.max(initial=0.0) > BALANCED:
        return NO_FAILURE
    k = int(np.argmax(relative))
    name = robot.coordinate_names[k]
    unit = UNITS.get(str(dimensions[k]), "J")
    return Failure(name, link_of(robot, name), float(abs(residual[k])), unit, float(relative[k]))


def worst_loop(robot: Robot, error: Array) -> Failure:
    """The loop that is open most, relative to its extent, or in rad."""
    closed = robot.engine.loop_layout
    worst = NO_FAILURE
    for name, rows in closed.rows.items():
        for turns in (False, True):
            gap = float(np.linalg.norm(error[rows][closed.turns[rows] == turns]))
            relative = gap if turns else gap / closed.extent[name]
            if relative > worst.relative:
                worst = Failure(name, "", gap, "rad" if turns else "m", relative)
    return worst


def _described(failure: Failure, least: float = BALANCED) -> str:
    if not failure.where or failure.relative <= least:
        return ""
    if failure.unit in ("m", "rad"):
        size = (
            f"{1e3 * failure.residual:.3g} mm" if failure.unit == "m" else f"{np.degrees(failure.residual):.3g} degrees"
        )
        return f"loop '{failure.where}' is open by {size}"
    if not np.isfinite(failure.residual):
        return f"the forces on '{failure.where}' of '{failure.link}' are infinite or NaN"
    share = f"{100.0 * failure.relative:.3g} % of what acts there"
    size = f"{failure.residual:.3g} {failure.unit}".strip()
    return f"'{failure.where}' of '{failure.link}' is {size} out of balance, {share}"


def _weakest_direction(system: StaticSystem, K: Array) -> tuple[str, bool]:
    """Along which coordinate the tangent stiffness is gone, or negative, and whether anything holds the robot there.

    Where there is some, but too little, the robot buckles or folds.
    """
    free = system.partition.free
    if system.robot.n_multipliers or not len(free) or not np.isfinite(K).all():
        return "", True
    K = K[np.ix_(free, free)]
    size = np.abs(K).max(axis=0) + np.abs(K).max(axis=1)
    if (size <= ROUNDING * size.max()).any():
        name = system.robot.coordinate_names[free[int(np.argmin(size))]]
        return f"nothing holds it along '{name}'", False
    d = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(K)), 1e-12 * size))
    K = d[:, None] * K * d
    if is_symmetric(K):
        values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    else:  # of loads without a potential: a complex pair, however negative, is flutter and no limit of the load
        values, vectors = scipy.linalg.eig(K)
        real = np.abs(values.imag) <= np.sqrt(NOISE) * np.abs(values)
        values, vectors = np.where(real, values.real, np.inf), vectors.real
    softest = int(np.argmin(values))
    if values[softest] > WEAK_STIFFNESS:
        return "", True
    name = system.robot.coordinate_names[free[int(np.argmax(np.abs(vectors[:, softest])))]]
    return f"it gives way along '{name}'", True


def _unbalanced_step(system: OdeSystem, trial: Trial) -> Failure:
    """What Newton's method left unbalanced at the end of a step."""
    robot = system.robot
    try:
        evaluation = system.residual(task.RESIDUAL_DERIVATIVES, *trial)
        acting = _acting(robot, trial.q, trial.qd, trial.qdd, np.array(system.inputs.value(trial.t)), trial.t)
    except SorosimError:
        return NO_FAILURE
    if len(trial.multiplier):
        acting = acting + np.abs(evaluation.closure.constraint).T @ np.abs(trial.multiplier)
    return _unbalanced(robot, evaluation.tau, acting, _rounding(evaluation.by_q, trial.q), system.partition.free)


def _nonfinite(
    system: OdeSystem, places: Sequence[tuple[float, Array]], carried: Sequence[tuple[float, Array]]
) -> list[str]:
    """What is infinite or NaN in one of some states: inputs, motions or loads, else a coordinate, carried away."""
    causes = (text for place in places if (text := list(_nonfinite_inputs(system, *place))))
    return next(causes, None) or next(
        (text for place in carried if (text := _nonfinite_coordinate(system, *place))), []
    )


def _nonfinite_inputs(system: OdeSystem, t: float, x: Array) -> Iterator[str]:
    """Inputs, motions or loads that are infinite or NaN in a state; the first kind that explains the others."""
    robot, u = system.robot, np.asarray(system.inputs.value(t))
    q, qd = system.coordinates(t, x)[:2]
    for name, value in zip(robot.actuator_names, u, strict=True):
        if not np.isfinite(value):
            yield f"the input of '{name}' is {value} at t = {t:.6g} s"
            return
    for name, index in zip(system.partition.names, system.partition.driven, strict=True):
        if not np.isfinite([q[index], qd[index]]).all():
            yield f"the motion of '{name}' is infinite or NaN at t = {t:.6g} s"
            return
    if np.isfinite(q).all() and np.isfinite(qd).all():
        for name in robot.description.loads:
            if not np.isfinite(_load(robot, name, t, q, qd, u)):
                yield f"the load '{name}' is infinite or NaN"


def _nonfinite_coordinate(system: OdeSystem, t: float, x: Array) -> list[str]:
    """The first coordinate that is infinite or NaN in a state."""
    q, qd = system.coordinates(t, x)[:2]
    bad = np.flatnonzero(~(np.isfinite(q) & np.isfinite(qd)))
    return [f"'{system.robot.coordinate_names[k]}' became infinite or NaN" for k in bad[:1]]


def _load(robot: Robot, name: str, t: float, q: Array, qd: Array, u: Array) -> float:
    """The largest number in the wrenches of a load; 0 where it raises an error, which is reported elsewhere."""
    try:
        return float(np.abs(robot.engine.load_wrenches(name, t, q, qd, u)).max(initial=0.0))
    except SorosimError:
        return 0.0


def _growing_inputs(system: OdeSystem, t: float, x: Array) -> Iterator[str]:
    """Inputs and loads that grow without bound towards a time."""
    now, before = (np.asarray(system.inputs.value(moment)) for moment in (t, EARLIER_PART * t))
    named = zip(system.robot.actuator_names, system.robot.actuator_units, abs(now), abs(before), strict=True)
    for name, unit, a, b in named:
        if np.isfinite(a) and a > BLOW_UP * b > 0.0:
            yield f"the input of '{name}' has grown to {a:.3g} {unit}".rstrip()
    q, qd = system.coordinates(t, x)[:2]
    if np.isfinite(q).all() and np.isfinite(qd).all():
        for name in system.robot.description.loads:
            # in the same state, under the same inputs
            a, b = (_load(system.robot, name, moment, q, qd, now) for moment in (t, EARLIER_PART * t))
            if np.isfinite(a) and a > BLOW_UP * b > 0.0:
                yield f"the load '{name}' has grown {a / b:.2g}-fold"


def _fastest(system: OdeSystem, t: float, x: Array, tolerances: tuple[float, float]) -> tuple[str, str, str]:
    """The coordinate that changes fastest against its tolerance, how fast it does, and whether motions grow."""
    n, robot = system.n_free, system.robot
    try:
        rates = system.rhs(t, x)
        limits = np.abs(rates) / (tolerances[1] + tolerances[0] * np.abs(x))
        if not n or not np.isfinite(limits).all():
            return "", "", ""
        values = np.linalg.eigvals(system.jacobian(t, x)) if n <= MAX_EIGENVALUES else np.zeros(0)
    except (SorosimError, np.linalg.LinAlgError):
        return "", "", ""
    k = int(np.argmax(np.maximum(limits[:n], limits[n : 2 * n])))
    index = system.partition.free[k]
    name, dimension = robot.coordinate_names[index], robot.engine.layout.dimensions[index]
    unit = {"angle": "rad", "length": "m"}.get(dimension, "1")
    speed = f"{rates[k]:.3g} {unit}/s and {rates[n + k]:.3g} {unit}/s^2"
    words = f"'{name}' of '{link_of(robot, name)}' changes fastest, by {speed}"
    growth = float(values.real.max(initial=0.0))
    return name, words, f"motions grow within {1.0 / growth:.2g} s" if growth > FAST_GROWTH else ""


# -- runs that stall


def implausible(system: OdeSystem, q: Array) -> str:
    """Implausible values of a state, an absurd strain or a needlessly stiff contact, in words; "" if there are none."""
    robot = system.robot
    if not np.isfinite(q).all():
        return ""
    strain, place = largest_strain(robot, q)
    if place is not None and strain > IMPLAUSIBLE_STRAIN:
        return f"'{place.link.name}' is strained by {100.0 * strain:.3g} %"
    return needlessly_stiff(robot, system.partition.free)


def burst(system: OdeSystem, q: Array) -> str:
    """Which rod of a state is strained beyond what hardly any survives, in words; "" if none. Quick where none is."""
    if not np.isfinite(q).all() or all(place.bound(q).max() <= IMPLAUSIBLE_STRAIN for place in places(system.robot)):
        return ""
    strain, place = largest_strain(system.robot, q)
    return (
        ""
        if place is None or strain <= IMPLAUSIBLE_STRAIN
        else f"'{place.link.name}' is strained by {100.0 * strain:.3g} %"
    )


def limiting_motion(
    system: OdeSystem, t: float, x: Array, tolerances: tuple[float, float]
) -> tuple[str, str, float] | None:
    """The coordinate that moves most in the motion which steps have to follow, that motion in words, and its period.

    The period is infinite of motions that hardly swing.

    Of the natural motions of the linearised equations it is the one whose rate changes most against the tolerances.
    """
    n, robot = system.n_free, system.robot
    if not 0 < n <= MAX_EIGENVALUES:
        return None
    try:
        with np.errstate(all="ignore"):  # vectors that nearly depend on each other give numbers that are not finite
            values, vectors = np.linalg.eig(system.jacobian(t, x))
            parts = vectors * np.linalg.solve(vectors, system.rhs(t, x).astype(complex))
            change = np.abs(values * parts) / (system.tolerances(tolerances[1]) + tolerances[0] * np.abs(x))[:, None]
    except (SorosimError, np.linalg.LinAlgError):
        return None
    if not np.isfinite(change).all():
        return None
    row, mode = np.unravel_index(int(np.argmax(change[: 2 * n])), change[: 2 * n].shape)
    index, value = int(system.partition.free[row % n]), values[mode]
    name = robot.coordinate_names[index]
    turn = 2.0 * np.pi / abs(value.imag) if value.imag else np.inf
    swings = abs(value.imag) > abs(value.real)
    period = f"a period of {turn:.2g} s" if swings else f"a rate of {value.real:.2g} 1/s"
    words = f"steps follow a motion of '{name}' of '{link_of(robot, name)}' with {period}"
    return name, f"{words}, where {_greatest_force(system, t, x, index)} act most", turn if swings else np.inf


def _greatest_force(system: OdeSystem, t: float, x: Array, index: int) -> str:
    """The kind of force that dominates along a coordinate, in words."""
    robot, engine = system.robot, system.robot.engine
    q, qd, qdd, strain = system.coordinates(t, x)
    u, none, unit = np.asarray(system.inputs.value(t)), np.zeros(engine.n_actuators), np.zeros(robot.ndof)
    unit[index] = 1.0
    passive = engine.unactuated.internal(q, qd, none).tau[index]
    forces = {"stiffness and damping": passive}
    for j, name in enumerate(robot.actuator_names):
        one = none.copy()
        one[j] = u[j]
        forces[f"forces of the actuator '{name}'"] = engine.internal(q, qd, one).tau[index] - passive
    for name in engine.loading.loads:
        engine.sweep(q, qd, POSES)
        wrench = engine.loading.load_external(name, engine.ndof, t, engine.gravity, u, engine.workspace).wrench.copy()
        engine.sweep(q, unit, POSES)
        forces[f"forces of the load '{name}'"] = float(np.sum(wrench * engine.loading.twists(engine.workspace)))
    if robot.n_multipliers:
        closure = system.forward(task.FORWARD, t, q, qd, qdd, strain).closure
        for name, rows in engine.loop_layout.rows.items():
            force = closure.constraint[rows, index] @ closure.multiplier[rows]
            forces[f"forces of the loop '{name}'"] = force
    return max(forces, key=lambda source: abs(forces[source]))


def link_of(robot: Robot, coordinate: str) -> str:
    """Name of the link of a coordinate, "" of none."""
    index = robot.coordinate_names.index(coordinate) if coordinate else -1
    layouts = robot.engine.layout.links.items()
    return next((name for name, link in layouts if link.column <= index < link.column + link.n), "")
