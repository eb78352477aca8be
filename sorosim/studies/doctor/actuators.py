"""Actuators and their inputs: without effect, doubled, in another unit, never used, of the wrong sign, too large."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from sorosim.base.arrays import Array
from sorosim.mechanics.actuation.chamber import Chamber
from sorosim.mechanics.actuation.joint_force import JointForce
from sorosim.mechanics.actuation.load_input import LoadInput
from sorosim.mechanics.actuation.route import RoutedActuator
from sorosim.mechanics.actuation.servo import JointServo
from sorosim.mechanics.actuation.tendon import Tendon
from sorosim.mechanics.dynamics.linearization import input_matrix
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.model.basis import STRAINS
from sorosim.studies.doctor.context import EARTH, WHEN, CheckContext, random_state
from sorosim.studies.doctor.findings import ODD, WRONG, Finding, finding, judged

NOTHING = 1e-12  # of the largest effect of any actuator
SAME = 1e-9  # between the directions of two effects
TURNS = 4.0 * np.pi  # rad: servo inputs beyond it are probably degrees
FAR = 3.0  # of the size of the robot, for servos that slide
FASTEST_TURN, FASTEST_SLIDE = 1000.0, 100.0  # rad/s, and sizes of the robot in a second, of servos of a rate
LARGE_SHORTENING = 0.5  # of the length of a tendon
# times the effort by which weight could hold a joint back; tiny robots are moved by fields that dwarf it
STRONG, STRONG_TINY, TINY = 100.0, 1e5, 0.05


def actuators(context: CheckContext) -> Iterator[Finding]:
    """What each of them moves."""
    robot, all_of_them = context.robot, context.robot.description.actuators
    names = robot.actuator_names
    if not names:
        yield finding("actuators.none", "actuators")
        return
    paths = [f"actuators.{name}" for name in names]
    B = np.vstack([_input_matrix(context, seed) for seed in (1, 2)])
    sizes = np.linalg.norm(B, axis=0)
    for name, where, size in zip(names, paths, sizes, strict=True):
        if size <= NOTHING * sizes.max(initial=0.0):
            why = _why_ineffective(context, all_of_them[name])
            yield finding("actuator.idle", where, 0.0, remedy=why)
    for i, j in sorted(combinations(range(len(names)), 2), key=lambda pair: pair[::-1]):
        if sizes[i] * sizes[j] > 0.0 and np.linalg.norm(B[:, i] / sizes[i] - B[:, j] / sizes[j]) < SAME:
            yield finding("actuator.same", paths[j], sizes[j] / sizes[i], other=names[i])
    routed = [(where, a) for where, a in zip(paths, all_of_them.values(), strict=True) if isinstance(a, RoutedActuator)]
    found = [one for where, actuator in routed for one in _route(context, where, actuator)]
    yield from _solid_sections(context)
    # where all of several run along the middle, it is meant so
    n_central = sum(one.code == "route.middle" for one in found)
    yield from (one for one in found if one.code != "route.middle" or len(routed) == 1 or n_central < len(routed))


def _route(context: CheckContext, where: str, actuator: RoutedActuator) -> Iterator[Finding]:
    """Where a route runs in its rods: along the middle, in another unit, with more room than there is."""
    away, section, filled, reach = 0.0, 0.0, 0.0, 0.0
    for run in actuator.path:
        for place in context.places:
            link = context.robot.engine.layout.links[place.link.name]
            X = place.piece.start + place.inside
            assert place.link.rod is not None  # for the type checker: it has a division
            if place.link.name != run.rod or not run.start <= np.mean(X) / place.link.rod.length <= run.end:
                continue
            d, _ = run.route(link, place.piece, X)
            half = 0.5 * place.thickness.max(axis=1)
            if place.division.discs is not None:
                half = np.maximum(half, place.division.discs.radius)
            away = max(away, float((np.linalg.norm(d, axis=1) / half).max()))
            if isinstance(actuator, Chamber):
                values = actuator.area_at(run, link, place.piece, X)
                within = place.division.section.properties(place.inside, place.division.length).A
                if run.hole is None:
                    far, edge, _ = place.division.section.edge(d[:, 1:], place.inside, place.division.length)
                    reach = max(reach, float(((far + np.sqrt(values / np.pi)) / edge).max()))
                worst = int(np.argmax(values / within))
                filled, section = max((filled, section), (float((values / within)[worst]), float(within[worst])))
    yield from judged("route.middle", where, away)
    yield from judged("route.apart", where, away)
    if isinstance(actuator, Tendon):
        yield from judged("tendon.friction", where, actuator.friction)
    yield from judged("chamber.area", where, filled, section=section)
    if filled <= 1.0:  # else it is the area that is wrong
        yield from judged("chamber.outside", where, reach)


def _solid_sections(context: CheckContext) -> Iterator[Finding]:
    """Sections without holes beside chambers, by how much stiffer they bend, the worst place of each rod."""
    worst: dict[str, tuple[float, float]] = {}
    chambers = [one for one in context.robot.description.actuators.values() if isinstance(one, Chamber)]
    for place in context.places if chambers else ():
        link, piece, length = context.robot.engine.layout.links[place.link.name], place.piece, place.division.length
        if not place.division.section.has_outline:  # its integrals are those that were given
            continue
        X = piece.start + place.inside
        area, second = np.zeros((2, len(X)))
        for chamber in chambers:
            for run in chamber.segments_in(link, piece):
                if run.hole is not None:
                    continue
                A, d = chamber.area_at(run, link, piece, X), run.route(link, piece, X)[0]
                # of the circle of its area, the mean of both axes
                area, second = area + A, second + A**2 / (4.0 * np.pi) + 0.5 * A * np.einsum("ni,ni->n", d, d)
        a = place.division.section.properties(place.inside, length)
        whole = 0.5 * (a.Iy + a.Iz)
        ratio = np.where(second < whole, whole / np.maximum(whole - second, 1e-300), 0.0)
        k = int(np.argmax(ratio))
        if area.any() and ratio[k] > worst.get(place.link.name, (0.0, 0.0))[0]:
            worst[place.link.name] = float(ratio[k]), float((area / a.A)[k])
    for name, (value, part) in worst.items():
        yield from judged("chamber.solid", f"links.{name}", value, part=part)


def _input_matrix(context: CheckContext, seed: int) -> Array:
    """Generalised forces (ndof, n) of unit inputs in some state, none along driven coordinates."""
    robot = context.robot
    q, qd, _, u = random_state(robot, seed)
    # dampers that inputs scale act in motion only
    rates = qd if robot.engine.loading.inputs else 0.0 * qd
    B = input_matrix(robot.engine, q, rates, u, WHEN * float(context.times[-1]))
    B[context.driven_coordinates] = 0.0
    return B


def _why_ineffective(context: CheckContext, actuator: object) -> str:
    if isinstance(actuator, JointForce):
        return "its joint is driven: the force there is unknown; leave one of the two out"
    if isinstance(actuator, LoadInput):
        return f"does the load '{actuator.load}' act on something that moves?"
    middle = ", or does it run along the middle" if isinstance(actuator, Tendon) else ""
    question = f"is the strain that it works on locked{middle}?"
    locked = []
    for place in context.places:
        counts = zip(STRAINS[:4], place.division.strain.count_per_strain, strict=False)
        missing = [strain for strain, count in counts if not count]
        if missing and place.link.name in getattr(actuator, "rods", ()):
            locked.append(f"'{place.link.name}' has no {', '.join(missing)}")
    return f"{question} {'; '.join(locked)}".rstrip()


# -- inputs ------------------------------------------------------------------------------------------------------------


def inputs(context: CheckContext) -> Iterator[Finding]:
    """Every input, in the run and in the `statics` block of the file."""
    robot, description = context.robot, context.robot.description
    if not robot.actuator_names or not (description.simulate or description.statics):
        return
    at_rest = robot.inputs(description.statics.get("u"))
    for j, name in enumerate(robot.actuator_names):
        values, where = np.append(context.inputs[:, j], at_rest[j]), f"actuators.{name}"
        least, most = float(values.min()), float(values[np.argmax(np.abs(values))])
        is_given = name in (description.simulate.get("u") or {})
        if most == 0.0 and (is_given or "u" not in description.simulate):
            yield finding("input.zero", where, 0.0)
        elif is_given and not context.inputs[:, j].any():
            yield finding("input.zero_in_run", where, 0.0, t_end=context.times[-1])
        actuator = description.actuators[name]
        findings = list(_tendon(context, where, actuator, j, least, most)) if isinstance(actuator, Tendon) else []
        yield from findings
        if most == 0.0 or any(f.level == WRONG for f in findings):
            continue
        if isinstance(actuator, JointServo):
            yield from _servo(context, where, actuator, most)
        elif isinstance(actuator, JointForce):
            yield from _motor(context, where, actuator, most)
        else:
            yield from _effect(context, where, j, most)


def _tendon(context: CheckContext, where: str, tendon: Tendon, j: int, least: float, most: float) -> Iterator[Finding]:
    if not tendon.pushes and least < -1e-9 * abs(most):
        name = "tension" if tendon.stiffness is None else "input"
        yield finding("tendon.pushes", where, least, input=name, unit=tendon.unit)
    engine = context.robot.engine
    length = float(engine.tendon_lengths(np.array(engine.elastic.rest))[j])
    if tendon.stiffness is not None and most > LARGE_SHORTENING * length:
        level = WRONG if most >= length else ODD  # solvers refuse it
        yield finding("tendon.wound", where, most, level, length=length, meant=1e-3 * most)


def _servo(context: CheckContext, where: str, servo: JointServo, most: float) -> Iterator[Finding]:
    c = context.coordinate(context.index_of(servo))
    if servo.of_rate:
        if abs(most) > (FASTEST_TURN if c.is_angle else FASTEST_SLIDE * context.extent):
            yield finding("servo.fast", where, most, unit=f"{c.unit}/s", meant="deg/s" if c.is_angle else "mm/s")
    elif abs(most) > (TURNS if c.is_angle else FAR * context.extent):
        yield finding("servo.far", where, most, unit=c.unit, meant="deg" if c.is_angle else "mm")


def _motor(context: CheckContext, where: str, motor: JointForce, most: float) -> Iterator[Finding]:
    """A motor, against what weight could do in its joint."""
    c = context.coordinate(context.index_of(motor))
    inertia = context.mass_matrix[c.column, c.column]
    # sqrt(M m) g: of a mass m alone, its weight, at its lever; and M is no less than what is beyond the joint has
    hold = float(np.sqrt(inertia * context.mass)) * (context.gravity or EARTH) if c.is_angle else context.weight
    factor = abs(most) / max(hold, 1e-300)
    if factor > (STRONG if context.extent > TINY else STRONG_TINY):
        words = {"rate": abs(most) / inertia, "rate_unit": c.unit, "meant": "N mm or mN" if c.is_angle else "mN"}
        yield finding("motor.strong", where, most, factor=factor, unit=c.effort, **words)


def _effect(context: CheckContext, where: str, j: int, most: float) -> Iterator[Finding]:
    """What the largest input does to rods, to first order."""
    robot, q = context.robot, np.array(context.robot.engine.elastic.rest)
    u, zero, unit = np.zeros(len(robot.actuator_names)), np.zeros(robot.ndof), robot.actuator_units[j]
    state = q, zero, zero.copy(), u
    t = WHEN * float(context.times[-1])
    slack = robot.engine.evaluate(task.RESIDUAL, *state, t).tau
    u[j] = most
    moves = context.compliance(slack - robot.engine.evaluate(task.RESIDUAL, *state, t).tau)
    strain, place = context.largest_strain(moves)
    size = f"{abs(most):.3g} {unit}".strip()
    if place is not None and strain > 0.0:
        enough = f"{0.3 * abs(most) / strain:.1g} {unit}".strip()
        yield from judged("input.strain", where, strain, size=size, link=place.link.name, enough=enough)
    if context.places and moves.any():
        J = robot.engine.jacobians(robot.engine.layout.points, q, zero, False)[2]
        far = float(np.linalg.norm(J[:, 3:] @ moves, axis=1).max(initial=0.0))
        yield from judged("input.small", where, 1e3 * far, far / context.extent, size=size)
