"""Gravity, densities, masses and inertias: numbers of another unit, and what has no mass at all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sorosim.doctor.finding import NOTE, ODD, OK, WRONG, Finding, outside
from sorosim.doctor.patient import Patient
from sorosim.loads.fluid import Fluid
from sorosim.model.body import Assembly, RigidBody, Solid
from sorosim.model.mesh import Mesh
from sorosim.robot import Robot

SOLID_DENSITY = 10.0, 25e3  # of a part of a body, hollows included
LARGE_MESH = 5.0  # m, of a file without a unit
GRAVITY = 0.1, 30.0  # m/s^2: from the largest asteroids to Jupiter
MICRO = 1e-3  # m/s^2: what is less is that of small asteroids and of orbits, and no slip of a unit
SLANTED = 1e-3  # rad
RANGE, BULK = 1e6, 50.0  # of masses of links, and kg for a robot of a metre
FAR = 10.0  # of the size of the robot
POINT = 1e-4  # of the size of the robot, below which mass is spread like that of a point
AIRY = 0.05, 10.0  # kg/m^3 of gases, and of what floats in them
SINGULAR = 1e-13  # of a mass matrix with a unit diagonal


def gravity(patient: Patient) -> Iterator[Finding]:
    """Size and direction of gravity."""
    g, v = patient.gravity, np.array(patient.robot.description.gravity)
    if g == 0.0:
        yield Finding(OK, "gravity", "none", value=0.0, unit="m/s^2")
        return
    if outside(g, GRAVITY):
        level = NOTE if g < MICRO else ODD
        yield Finding(level, "gravity", f"{g:g} m/s^2", "on Earth it is 9.81: [0, 0, -9.81]", g, "m/s^2")
    axis = int(np.argmax(np.abs(v)))
    if v[axis] > 0.0 and np.abs(np.delete(v, axis)).max() == 0.0:
        what = f"it points along +{'xyz'[axis]}, {g:g} m/s^2"
        yield Finding(NOTE, "gravity", what, f"a robot whose {'xyz'[axis]} axis points up needs -{g:g}", g, "m/s^2")
    elif SLANTED < np.linalg.norm(np.delete(v, axis)) / g < 0.1:
        yield Finding(NOTE, "gravity", "it is slanted against the axes of the world", f"{g:g} m/s^2 along one of them?")


def _solids(robot: Robot) -> Iterator[tuple[str, Solid]]:
    for link in robot.links:
        if isinstance(link.body, Assembly):
            several = len(link.body.parts) > 1
            for i, part in enumerate(link.body.parts):
                if isinstance(part, Solid):
                    yield f"links.{link.name}.body" + (f"[{i}]" if several else ""), part


def solids(patient: Patient) -> Iterator[Finding]:
    """Densities of the parts of rigid bodies, sizes of meshes, where centres are and how far mass is spread."""
    fluids = [load.density for load in patient.robot.description.loads.values() if isinstance(load, Fluid)]
    airborne = any(AIRY[0] <= density <= AIRY[1] for density in fluids)
    for where, solid in _solids(patient.robot):
        density = solid.properties.mass / solid.shape.moments.volume
        if outside(density, SOLID_DENSITY) and not (airborne and AIRY[0] <= density <= SOLID_DENSITY[0]):
            what = f"density {density:.4g} kg/m^3" + (" by its mass" if solid.mass is not None else "")
            remedy = "was a size meant in mm or cm?" if solid.mass is not None else "was it meant in g/cm^3?"
            yield Finding(ODD, where, what, remedy, density, "kg/m^3")
        if isinstance(solid.shape, Mesh) and solid.shape.file and solid.shape.scale == 1.0:
            size = float(np.ptp(solid.shape.vertices, axis=0).max())
            if size > LARGE_MESH:
                yield Finding(
                    ODD, where, f"a mesh of {size:.4g} m", "is its file in mm? Then write scale: 1 mm", size, "m"
                )
    for link in patient.robot.links:
        body = link.body
        if not isinstance(body, RigidBody) or isinstance(body, Assembly) or not body.mass:
            continue
        far, where = float(np.linalg.norm(body.centre)), f"links.{link.name}.body"
        spread = float(np.sqrt(max(body.inertia[:3]) / body.mass))
        for what, size in (("centre is", far), ("radius of gyration is", spread)):
            if size > FAR * patient.extent:
                words = f"its {what} {size:.3g} m, in a robot of {patient.extent:.2g} m"
                yield Finding(ODD, where, words, "was it meant in mm, or g cm^2?", size, "m")
        if spread < POINT * patient.extent:
            words = f"its radius of gyration is {spread:.2g} m, that of a point in a robot of {patient.extent:.2g} m"
            yield Finding(NOTE, where, words, "was its inertia meant in g cm^2, or kg mm^2?", spread, "m")


def masses(patient: Patient) -> Iterator[Finding]:
    """Masses of links beside each other, and coordinates without inertia."""
    robot = patient.robot
    weights = {link.name: link_mass(robot, link.name) for link in robot.links}
    carried = {name: mass for name, mass in weights.items() if mass > 0.0}
    if not carried:
        yield Finding(ODD, "links", "nothing has mass", "give rods a density or links a body", 0.0, "kg")
        return
    heavy, light = max(carried, key=carried.__getitem__), min(carried, key=carried.__getitem__)
    if carried[heavy] > RANGE * carried[light]:
        # the one that most others are unlike; of two, that which is farther from a mass for their size
        usual = list(carried.values()) if len(carried) > 2 else [BULK * patient.extent**3]
        middle = float(np.median(np.log(usual)))
        odd, other = (
            (light, heavy) if middle - np.log(carried[light]) > np.log(carried[heavy]) - middle else (heavy, light)
        )
        # a marker that is fixed to something hurts nothing
        level = NOTE if odd == light and not _moves(robot, light) else ODD
        what = f"{carried[odd]:.3g} kg beside {carried[other]:.3g} kg of '{other}'"
        yield Finding(level, f"links.{odd}", what, "look for a wrong unit", carried[odd], "kg")
    yield from _without_inertia(patient)
    total = sum(carried.values())
    yield Finding(OK, "links", f"mass {total:.4g} kg in all", value=total, unit="kg")


def _moves(robot: Robot, name: str) -> bool:
    link = next(link for link in robot.links if link.name == name)
    return bool(link.joint.n) or link.rod is not None


def _without_inertia(patient: Patient) -> Iterator[Finding]:
    M, names = patient.mass_matrix, patient.robot.coordinate_names
    free = np.array([name not in patient.motions for name in names], dtype=bool)
    free[[patient.robot.engine.layout.coordinate(name, "driven") for name in patient.motions]] = False
    index = np.flatnonzero(free)
    if not len(index):
        return
    own = M[np.ix_(index, index)]
    diagonal = np.diag(own)
    empty = np.flatnonzero(diagonal <= SINGULAR**2 * diagonal.max(initial=0.0))
    for k in empty:
        name = names[index[k]]
        remedy = "give the link, or what it carries, mass; on the axis of a joint a point mass has no inertia"
        yield Finding(WRONG, patient.link_of(name), f"nothing has inertia along '{name}'", remedy, 0.0)
    if len(empty):
        return
    d = 1.0 / np.sqrt(diagonal)
    values, vectors = np.linalg.eigh(d[:, None] * own * d)
    if values[0] <= SINGULAR * values[-1]:
        worst = np.argsort(-np.abs(vectors[:, 0]))[:2]
        pair = " and ".join(f"'{names[index[k]]}'" for k in worst)
        condition = values[-1] / max(values[0], 1e-300)
        what = f"{pair} move the same mass alike (the mass matrix is singular, condition {condition:.1e})"
        remedy = "give a link between them mass, or lock one of them"
        yield Finding(WRONG, patient.link_of(names[index[worst[0]]]), what, remedy, float(values[0] / values[-1]))


def link_mass(robot: Robot, name: str) -> float:
    """Mass of a link [kg]."""
    link = next(link for link in robot.links if link.name == name)
    if link.rod is not None:
        total = 0.0
        for division in link.rod.divisions:
            X, w, _ = division.gauss_points()
            total += float(w @ division.line_inertia(X)[:, 3])
        return total
    return float(link.body.mass) if isinstance(link.body, RigidBody) else 0.0
