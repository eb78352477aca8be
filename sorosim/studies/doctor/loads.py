"""Loads: on nothing that moves, too large, written twice; springs and fluids with numbers of another unit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sorosim.analysis.equations.contact_check import contacts_of
from sorosim.base.signals import Signal
from sorosim.base.signals.expressions import Expression
from sorosim.mechanics.loads.fluid import Fluid
from sorosim.mechanics.loads.immersion import Immersed
from sorosim.mechanics.loads.spring import Spring
from sorosim.mechanics.model.anchor import Anchor
from sorosim.mechanics.model.body import Assembly, Solid
from sorosim.mechanics.model.link import WORLD
from sorosim.studies.doctor.context import CheckContext
from sorosim.studies.doctor.findings import OK, Finding, finding, judged, level_of

SAMPLES, FEW_SAMPLES = 101, 21  # over a run: of loads, and of currents
HEAVY, SIZE = 1e4, 0.1  # times the weight, of robots of so many m; weight falls faster with the size than forces do
NOTHING = 1e-12
TIMES, SAME = 5, 1e-12  # at which two loads are compared, and how far they may differ
TOGETHER = 1e-6  # of the size of the robot
IN_GRAMS = 1.0, 1.02, 1.025, 1.03  # of water and of the sea in g/cm^3
LIQUID = 100.0  # kg/m^3
CURRENT = {True: 10.0, False: 150.0}  # m/s that liquids, and gases, hardly reach
COEFFICIENTS = "drag", "rotary_drag", "lift", "added_mass"
BLUNT = 5.0  # length over width up to which bodies count as blunt
SMALL = 5e-3  # m: drag coefficients of smaller parts are unbounded at low speed


def loads(context: CheckContext) -> Iterator[Finding]:
    """Every load that is neither contact nor fluid, over the file's run; and all that are there twice.

    Those that inputs scale are looked at as actuators.
    """
    others = {*contacts_of(context.robot), *context.robot.engine.loading.inputs}
    names = [name for name in context.robot.description.loads if name not in others]
    for name in names:
        if not isinstance(context.robot.description.loads[name], Fluid):
            yield from _size(context, name)
    yield from _twice(context, names)


def _twice(context: CheckContext, names: list[str]) -> Iterator[Finding]:
    """Loads that do the same as another one, on the same nodes, at all times."""
    robot, rng = context.robot, np.random.default_rng(4)
    qd = 1e-3 * rng.uniform(-1.0, 1.0, robot.ndof)
    nodes = {name: robot.engine.loading.nodes_of(name) for name in names}
    times, q, none = [float(t) for t in context.some_times(TIMES)], robot.initial_q, robot.inputs(None)
    wrenches = {name: np.stack([robot.engine.load_wrenches(name, t, q, qd, none) for t in times]) for name in names}
    for k, name in enumerate(names):
        wrench = wrenches[name]
        for other in names[:k]:
            if not np.array_equal(nodes[name], nodes[other]) or not wrench.any():
                continue
            if np.abs(wrench - wrenches[other]).max() <= SAME * np.abs(wrench).max():
                yield finding("load.same", f"loads.{name}", 1.0, other=other)
                break


def _size(context: CheckContext, name: str) -> Iterator[Finding]:
    robot, where = context.robot, f"loads.{name}"
    rng, nodes = np.random.default_rng(3), robot.engine.loading.nodes_of(name)
    q, largest = robot.initial_q, np.zeros(robot.ndof)
    # springs at rest, and dampers, pull only when something moves
    nearby, qd = q + 1e-3 * rng.uniform(-1.0, 1.0, len(q)), 1e-3 * rng.uniform(-1.0, 1.0, len(q))
    generalised = force = moment = 0.0
    for state, rates in ((q, 0.0 * qd), (nearby, qd)):
        J = robot.engine.jacobians(nodes, state, rates, False)[2].copy()
        for t in context.some_times(SAMPLES):
            w = robot.engine.load_wrenches(name, float(t), state, rates, robot.inputs(None))
            tau = np.einsum("kij,ki->j", J, w)
            generalised = max(generalised, float(np.abs(tau).max(initial=0.0)))
            of_each = np.linalg.norm(w[:, 3:], axis=1).max(initial=0.0)
            force = max(force, float(of_each), float(np.linalg.norm(w[:, 3:].sum(axis=0))))
            moment = max(moment, float(np.linalg.norm(w[:, :3], axis=1).max(initial=0.0)))
            if state is q and np.abs(tau).max(initial=0.0) > np.abs(largest).max(initial=0.0):
                largest = tau
    if not np.isfinite([force, moment, generalised]).all():
        yield finding("load.beyond_numbers", where)
    elif force == moment == 0.0:
        yield finding("load.zero", where, 0.0)
    elif generalised <= NOTHING * max(force * context.extent, moment):
        yield finding("load.idle", where, generalised)
    else:
        size, unit = (force, "N") if force * context.extent >= moment else (moment, "N m")
        strain, place = context.largest_strain(context.compliance(largest))
        if place is not None and level_of("load.strain", strain) != OK:
            words = {"size": size, "unit": unit, "link": place.link.name, "enough": 0.3 * size / strain}
            yield finding("load.strain", where, strain, **words)
        elif force > HEAVY * max(1.0, SIZE / context.extent) * context.weight:
            yield finding("load.heavy", where, force, weight=context.weight)


# -- springs -----------------------------------------------------------------------------------------------------------


def springs(context: CheckContext) -> Iterator[Finding]:
    """Every spring among the loads, where the robot starts."""
    times, part = context.some_times(SAMPLES), context.largest_part
    for where, _, spring in context.parts("loads", Spring):
        length, values = _length(context, spring), (spring.stiffness, spring.damping, spring.rest)
        k, c, rest = (float(np.max(x.sample(times) if isinstance(x, Signal) else x)) for x in values)
        far = judged("spring.far", where, length, length / part, part=part)
        yield from far
        if not far and length <= TOGETHER * context.extent:
            if rest > 0.0:
                yield finding("spring.meets", where, length)
        elif not far and k > 0.0 and rest > 0.0:
            yield from judged("spring.rest", where, rest, rest / length, length=length, force=k * abs(length - rest))
        if k > 0.0:
            yield from judged("spring.damping", where, c / k, damping=c, stiffness=k, enough=0.01 * k)


def _length(context: CheckContext, spring: Spring) -> float:
    robot, ends = context.robot, []
    links = {link.name: link for link in robot.links}
    for end in (spring.a, spring.b):
        assert isinstance(end, Anchor)  # for the type checker: a Spring makes them
        pose = end.pose_on_node("spring", links)
        place = np.eye(4) if pose is None else pose
        ends.append(place if end.link == WORLD else robot.pose(robot.initial_q, end.link, s=end.s) @ place)
    return float(np.linalg.norm(ends[0][:3, 3] - ends[1][:3, 3]))


# -- fluids ------------------------------------------------------------------------------------------------------------


def fluids(context: CheckContext) -> Iterator[Finding]:
    """Every fluid among the loads: density, current where the robot starts, surface, coefficients."""
    for where, name, fluid in context.parts("loads", Fluid):
        yield from _density(context, where, fluid)
        speed = float(np.linalg.norm([_greatest(context, entry) for entry in fluid.flow]))
        if speed > CURRENT[fluid.density > LIQUID]:
            yield finding("fluid.current", f"{where}.current", speed)
        if fluid.height is not None:
            robot = context.robot
            points = context.positions(robot.initial_q, robot.engine.loading.nodes_of(name))
            up = np.array(fluid.upward(robot.description.gravity))
            above = float((points @ up).min(initial=np.inf)) - fluid.height
            if above > context.extent:
                yield finding("fluid.surface", where, above)
        links = dict(fluid.links) if fluid.links is not None else {}
        for link, immersed in links.items():
            yield from _coefficients(f"{where}.links.{link}", immersed, _thickness(context, link), fluid.drag)
        wet = list(links) or [link.name for link in context.robot.links if link.body is not None]
        if fluid.viscosity is not None:
            widest = max(_thickness(context, name) for name in wet)
            yield from judged("fluid.reynolds", where, fluid.density * speed * widest / fluid.viscosity)
        elif fluid.drag == "cross-flow":
            slender = {name: _slenderness(context, name) for name in wet}
            for name, ratio in slender.items():
                if ratio > BLUNT:
                    yield finding("fluid.blunt", where, ratio, link=name)


def _density(context: CheckContext, where: str, fluid: Fluid) -> Iterator[Finding]:
    density = fluid.density
    if unusual := judged("fluid.density", where, density):
        yield from unusual
    elif density in IN_GRAMS:
        yield finding("fluid.grams", where, density, si=1e3 * density)
    elif 0.5 <= density <= 1.1:
        yield finding("fluid.air", where, density)
    heaviest = max((place.division.material.density for place in context.places), default=np.inf)
    if density > 10.0 * heaviest:
        yield finding("fluid.heavy", where, density, factor=density / heaviest, rods=heaviest)
    if density > LIQUID and context.gravity == 0.0:
        yield finding("fluid.weightless", where, 0.0)


def _greatest(context: CheckContext, entry: float | Expression | Signal) -> float:
    """The largest component of a current where the robot starts, over the file's run."""
    times = context.some_times(FEW_SAMPLES)
    if isinstance(entry, Signal):
        return float(np.abs(entry.sample(times)).max())
    if not isinstance(entry, Expression):
        return abs(entry)
    known = {"t": times[:, None], **dict(zip("xyz", context.points.T[:, None, :], strict=True))}
    shape = (FEW_SAMPLES, len(context.points))
    values = np.abs(entry(**{name: np.broadcast_to(known[name], shape).ravel() for name in entry.variables}))
    return float(np.max(values[np.isfinite(values)], initial=0.0))


def _thickness(context: CheckContext, name: str) -> float:
    """Of a rod, or of the largest part of a body [m]."""
    sizes = [float(place.thickness.max()) for place in context.places if place.link.name == name]
    body = next((link.body for link in context.robot.links if link.name == name), None)
    parts = [part for part in body.parts if isinstance(part, Solid)] if isinstance(body, Assembly) else []
    return max([*sizes, *(2.0 * float(part.shape.half_extents.max()) for part in parts)], default=1.0)


def _slenderness(context: CheckContext, name: str) -> float:
    """Length over width of the most slender solid of a rigid body; 0 without one."""
    body = next((link.body for link in context.robot.links if link.name == name), None)
    parts = [body] if isinstance(body, Solid) else list(body.parts) if isinstance(body, Assembly) else []
    halves = [np.sort(part.shape.half_extents) for part in parts if isinstance(part, Solid)]
    return max((float(half[2] / half[1]) for half in halves if half[1] > 0.0), default=0.0)


def _coefficients(where: str, immersed: Immersed, thickness: float, law: str) -> Iterator[Finding]:
    for name in COEFFICIENTS:
        if law == "stokes" and name.endswith("drag"):
            continue
        values = np.abs(np.atleast_1d(np.asarray(getattr(immersed, name) or 0.0, dtype=float)))
        values, shown = values[values > 0.0], name.replace("_", " ")
        if not len(values):
            continue
        most, code = float(values.max()), "fluid.coefficient"
        if level_of(code, most) != OK:
            small = name.endswith("drag") and thickness < SMALL and most > 1.0
            yield finding("fluid.viscous" if small else code, where, most, name=shown)
