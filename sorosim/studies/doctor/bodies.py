"""Gravity, rigid bodies, placement, and masses: numbers in a wrong unit, and parts without mass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.mechanics.loads.fluid import Fluid
from sorosim.mechanics.model.anchor import Anchor
from sorosim.mechanics.model.body import Assembly, PointMass, RigidBody, Solid
from sorosim.mechanics.model.link import WORLD
from sorosim.mechanics.model.mesh import Mesh
from sorosim.mechanics.robot import Robot
from sorosim.studies.doctor.context import CheckContext
from sorosim.studies.doctor.findings import NOTE, ODD, Finding, finding, judged

MICRO = 1e-3  # m/s^2: smaller gravity is that of asteroids and orbits, not a wrong unit
SLANTED = 1e-3, 0.1  # rad
RANGE, BULK = 1e6, 50.0  # of masses of links, and kg for a robot of a metre
AIRY = 0.05, 10.0  # kg/m^3 of gases, and of what floats in them
SINGULAR = 1e-13  # of a mass matrix with a unit diagonal
ROUNDING = 100.0 * np.finfo(float).eps  # of sums over the nodes of a robot
DEGREES = np.arange(10.0, 361.0, 5.0)  # that people write
EXACT = 1e-9  # rad


def gravity(context: CheckContext) -> Iterator[Finding]:
    """Size and direction of gravity."""
    g, v = context.gravity, np.array(context.robot.description.gravity)
    if g == 0.0:
        yield finding("gravity.none", "gravity", 0.0)
        return
    for unusual in judged("gravity.size", "gravity", g):
        yield unusual._replace(level=NOTE) if g < MICRO else unusual
    axis = int(np.argmax(np.abs(v)))
    across = np.delete(v, axis)
    if v[axis] > 0.0 and np.abs(across).max() == 0.0:
        yield finding("gravity.upwards", "gravity", g, axis="xyz"[axis])
    elif SLANTED[0] < np.linalg.norm(across) / g < SLANTED[1]:
        yield finding("gravity.slanted", "gravity", size=g)


def bodies(context: CheckContext) -> Iterator[Finding]:
    """Densities of the parts of rigid bodies, sizes of meshes, where centres are and how far mass is spread."""
    fluids = [load.density for load in context.robot.description.loads.values() if isinstance(load, Fluid)]
    airborne = any(AIRY[0] <= density <= AIRY[1] for density in fluids)
    for link in context.robot.links:
        body, where = link.body, f"links.{link.name}.body"
        if isinstance(body, Assembly):
            for i, part in enumerate(body.parts):
                if isinstance(part, Solid):
                    yield from _solid(part, where + (f"[{i}]" if len(body.parts) > 1 else ""), airborne)
        elif isinstance(body, RigidBody) and body.mass:
            extent = context.extent
            spread = float(np.sqrt(max(body.inertia[:3]) / body.mass))
            for what, size in (("centre is", float(np.linalg.norm(body.centre))), ("radius of gyration is", spread)):
                yield from judged("body.far", where, size, size / extent, what=what, extent=extent)
            if not isinstance(body, PointMass):
                yield from judged("body.point", where, spread, spread / extent, extent=extent)


def _solid(solid: Solid, where: str, airborne: bool) -> Iterator[Finding]:
    density = solid.properties.mass / solid.shape.moments.volume
    if not (airborne and AIRY[0] <= density <= AIRY[1]):
        yield from judged("body.density" if solid.mass is None else "body.density_by_mass", where, density)
    if isinstance(solid.shape, Mesh) and solid.shape.file and solid.shape.scale == 1.0:
        yield from judged("body.mesh", where, np.ptp(solid.shape.vertices, axis=0).max())


def placement(context: CheckContext) -> Iterator[Finding]:
    """Poses of links, of their frames, and of the ends of loops; and where floating links begin."""
    robot, part = context.robot, context.largest_part
    for where, pose in _poses(robot):
        if degrees := degrees_as_radians(pose[:3, :3]):
            yield finding("placement.radians", where, degrees, degrees=np.degrees(_wrapped(degrees)))
    for link in robot.links:
        poses = {f"links.{link.name}.frames.{name}": (frame, link.name) for name, frame in link.frames.items()}
        if link.parent != WORLD:
            poses = {f"links.{link.name}.at": (link.at, link.parent), **poses}
        for where, (pose, parent) in poses.items():
            far = float(np.linalg.norm(pose[:3, 3]))
            yield from judged("placement.far", where, far, far / part, parent=parent, part=part)
        if link.parent == WORLD and link.joint.kind == "free":
            begins = float(np.linalg.norm(robot.pose(robot.initial_q, link.name, s=0.0)[:3, 3]))
            yield from judged("placement.adrift", f"initial.{link.name}", begins, begins / part, part=part)


def _poses(robot: Robot) -> Iterator[tuple[str, Array]]:
    for link in robot.links:
        yield f"links.{link.name}.at", link.at
        for name, frame in link.frames.items():
            yield f"links.{link.name}.frames.{name}", frame
    for name, loop in robot.description.loops.items():
        for end, anchor in (("from", loop.a), ("to", loop.b)):
            if isinstance(anchor, Anchor) and not isinstance(anchor.at, str):
                yield f"loops.{name}.{end}.at", anchor.at


def _wrapped(angle: Any) -> Any:
    return (angle + np.pi) % (2.0 * np.pi) - np.pi


def degrees_as_radians(R: Array) -> float:
    """The degrees that were probably meant where radians were read, of a rotation matrix (3, 3); 0: none.

    A turn by 90 rad about some axis, or about one axis after another as `rpy` has it, is one by 116.62 degrees. Angles
    are matched to nine digits; no other rotation gets there by chance.
    """
    if np.array_equal(R, np.eye(3)):
        return 0.0
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    turn = float(np.arctan2(np.linalg.norm(axis), np.trace(R) - 1.0))
    roll, yaw = np.arctan2(R[2, 1], R[2, 2]), np.arctan2(R[1, 0], R[0, 0])
    pitch = np.arctan2(-R[2, 0], np.hypot(R[2, 1], R[2, 2]))
    triples = [(turn,), (roll, pitch, yaw), (roll + np.pi, np.pi - pitch, yaw + np.pi)]
    for angles in triples:
        written = [_written(float(angle)) for angle in angles]
        if any(written) and None not in written:
            return max(x for x in written if x is not None)
    return 0.0


def _written(angle: float) -> float | None:
    """Whole number of degrees equal to this angle modulo 360; 0 for a zero angle; None if there is none."""
    if abs(_wrapped(angle)) < EXACT:
        return 0.0
    off = np.minimum(np.abs(_wrapped(DEGREES - angle)), np.abs(_wrapped(DEGREES + angle)))
    k = int(np.argmin(off))
    return float(DEGREES[k]) if off[k] < EXACT else None


def masses(context: CheckContext) -> Iterator[Finding]:
    """Ratios of the masses of links, and coordinates without inertia."""
    robot = context.robot
    masses = {link.name: link_mass(robot, link.name) for link in robot.links}
    masses = {name: mass for name, mass in masses.items() if mass > 0.0}
    if not masses:
        yield finding("mass.none", "links", 0.0)
        return
    heavy, light = max(masses, key=masses.__getitem__), min(masses, key=masses.__getitem__)
    if masses[heavy] > RANGE * masses[light]:
        # the one that most others are unlike; of two, that which is farther from a mass for their size
        usual = list(masses.values()) if len(masses) > 2 else [BULK * context.extent**3]
        middle = float(np.median(np.log(usual)))
        is_light = middle - np.log(masses[light]) > np.log(masses[heavy]) - middle
        odd, other = (light, heavy) if is_light else (heavy, light)
        link = next(link for link in robot.links if link.name == odd)
        # a marker that is fixed to something hurts nothing
        level = ODD if odd != light or link.joint.n or link.rod is not None else NOTE
        yield finding("mass.ratio", f"links.{odd}", masses[odd], level, other_mass=masses[other], other=other)
    yield from _inertia(context)
    yield finding("mass.total", "links", sum(masses.values()))


def _inertia(context: CheckContext) -> Iterator[Finding]:
    """Coordinates without inertia, and those that move the same mass."""
    names = context.robot.coordinate_names
    index = np.setdiff1d(np.arange(len(names)), context.driven_coordinates)
    if not len(index):
        return
    M = context.mass_matrix[np.ix_(index, index)]
    diagonal = np.diag(M)
    # an inertia is rounding beside that of all the mass at the end of a joint or rod that moves farthest
    engine, q = context.robot.engine, context.robot.initial_q
    _, _, J, _ = engine.jacobians(engine.tree.block["end"] - 1, q, np.zeros_like(q), False)
    terms = context.mass * np.max(np.sum(J[:, 3:, index] ** 2, axis=1), axis=0, initial=0.0)
    empty = np.flatnonzero(diagonal <= np.maximum(SINGULAR**2 * diagonal.max(initial=0.0), ROUNDING * terms))
    for name in (names[index[k]] for k in empty):
        yield finding("mass.no_inertia", context.link_path(name), 0.0, name=name)
    if len(empty):
        return
    d = 1.0 / np.sqrt(diagonal)
    values, vectors = np.linalg.eigh(d[:, None] * M * d)
    if values[0] <= SINGULAR * values[-1]:
        worst = [names[index[k]] for k in np.argsort(-np.abs(vectors[:, 0]))[:2]]
        words = {"pair": " and ".join(f"'{name}'" for name in worst), "condition": values[-1] / max(values[0], 1e-300)}
        yield finding("mass.singular", context.link_path(worst[0]), values[0] / values[-1], **words)


def link_mass(robot: Robot, name: str) -> float:
    """Mass of a link [kg]."""
    nodes = robot.engine.layout.links[name].nodes
    return float(robot.engine.gravitational_inertia[nodes, 3, 3].sum())
