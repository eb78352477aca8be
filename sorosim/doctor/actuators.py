"""Actuators: without effect, doubled, along the middle of a rod, larger than it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.actuation.chamber import Chamber
from sorosim.actuation.joint_force import JointForce
from sorosim.actuation.route import place_values
from sorosim.actuation.tendon import Tendon
from sorosim.doctor.finding import NOTE, ODD, OK, Finding
from sorosim.doctor.patient import Patient
from sorosim.doctor.states import some_state
from sorosim.model.basis import STRAINS
from sorosim.signals.expressions import Expression

Array = NDArray[np.float64]

NOTHING = 1e-12  # of the largest effect of any actuator
SAME = 1e-9  # between the directions of two effects
FRICTION = 1.0  # coefficient of a tendon in its sheath
MIDWAY = "runs along the middle"
MIDDLE = 1e-9  # of the thickness, from the middle of a rod
APART = 50.0  # of half of the thickness: a route beyond is in another unit


def actuators(patient: Patient) -> Iterator[Finding]:
    """What each of them moves."""
    robot = patient.robot
    if not robot.actuator_names:
        yield Finding(OK, "actuators", "none")
        return
    effects = [_effect(patient, seed) for seed in (1, 2)]
    B = np.vstack(effects)
    sizes = np.linalg.norm(B, axis=0)
    for name, size in zip(robot.actuator_names, sizes, strict=True):
        if size <= NOTHING * sizes.max(initial=0.0):
            actuator = robot.description.actuators[name]
            yield Finding(ODD, f"actuators.{name}", "moves nothing", _why_idle(patient, actuator), 0.0)
    for j, name in enumerate(robot.actuator_names):
        for i in range(j):
            if sizes[i] * sizes[j] > 0.0 and np.linalg.norm(B[:, i] / sizes[i] - B[:, j] / sizes[j]) < SAME:
                what = f"does the same as '{robot.actuator_names[i]}' in every state"
                remedy = "leave one of them out, or look whether its route was meant to be another"
                yield Finding(ODD, f"actuators.{name}", what, remedy, float(sizes[j] / sizes[i]))
    routed = {n: a for n, a in robot.description.actuators.items() if isinstance(a, Tendon | Chamber)}
    told = {name: list(_route(patient, f"actuators.{name}", actuator)) for name, actuator in routed.items()}
    in_middle = [name for name, findings in told.items() if any(f.what.startswith(MIDWAY) for f in findings)]
    for name, findings in told.items():
        # where all of several do, it is meant so
        meant = len(in_middle) == len(told) > 1 and name in in_middle
        yield from findings if not meant else [f for f in findings if not f.what.startswith(MIDWAY)]


def _route(patient: Patient, where: str, actuator: Tendon | Chamber) -> Iterator[Finding]:
    """Where a tendon or a chamber runs in its rods: along the middle, in another unit, with more room than there is."""
    away, room, filled = 0.0, 0.0, 0.0
    for run in actuator.runs:
        for place in patient.places:
            link = patient.robot.engine.layout.links[place.link.name]
            X = place.piece.start + place.inside
            assert place.link.rod is not None  # for the type checker: it has a division
            if place.link.name != run.rod or not run.start <= np.mean(X) / place.link.rod.length <= run.end:
                continue
            d, _ = run.route(link, place.piece, X)
            half = 0.5 * place.thickness.max(axis=1)
            away = max(away, float((np.linalg.norm(d, axis=1) / half).max()))
            if isinstance(actuator, Chamber):
                area = actuator.area
                values = place_values(where, area, link, place.piece, X)[:, 0] if isinstance(area, Expression) else area
                within = place.division.section.properties(place.inside, place.division.length).A
                worst = int(np.argmax(values / within))
                filled, room = max((filled, room), (float((values / within)[worst]), float(within[worst])))
    if away < MIDDLE:
        what = f"{MIDWAY}: it shortens or stretches the rod, and bends it nowhere"
        yield Finding(NOTE, where, what, "y and z say how far from the middle it is, in m", away)
    elif away > APART:
        what = f"runs {away:.3g} times half of the thickness away from the middle"
        yield Finding(ODD, where, what, "were y and z meant in mm?", away)
    if isinstance(actuator, Tendon) and actuator.friction > FRICTION:
        what = f"coefficient of friction {actuator.friction:g}"
        yield Finding(ODD, where, what, "tendons in sheaths have 0.05 to 0.5", actuator.friction)
    if filled > 1.0:
        what = f"its area is {filled:.3g} times that of the section, {room:.3g} m^2"
        yield Finding(ODD, where, what, "was it meant in mm^2 or cm^2?", filled)


def _effect(patient: Patient, seed: int) -> Array:
    """Generalised forces (ndof, n) of unit inputs in some state, none along driven coordinates."""
    robot = patient.robot
    q, _, _, u = some_state(robot, seed)
    B = np.array(robot.internal_force_derivatives(q, np.zeros(robot.ndof), u).B)
    for name in patient.motions:
        B[robot.engine.layout.coordinate(name, "driven")] = 0.0
    return B


def _why_idle(patient: Patient, actuator: Any) -> str:
    if isinstance(actuator, JointForce):
        return "its joint is driven: the force there is unknown; leave one of the two out"
    asked = "is the strain that it works on locked" + (
        ", or does it run along the middle?" if isinstance(actuator, Tendon) else "?"
    )
    locked = []
    for place in patient.places:
        counts = zip(STRAINS[:4], place.division.strain.count_per_strain, strict=False)
        missing = [strain for strain, count in counts if not count]
        if missing and place.link.name in getattr(actuator, "rods", ()):
            locked.append(f"'{place.link.name}' has no {', '.join(missing)}")
    return f"{asked} {'; '.join(locked)}".rstrip()
