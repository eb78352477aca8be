"""Actuators: without effect or doubled, and inputs that are absurd or never used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.actuation.joint_force import JointForce
from sorosim.actuation.tendon import Tendon
from sorosim.doctor.finding import NOTE, ODD, OK, Finding
from sorosim.doctor.patient import Patient
from sorosim.doctor.states import some_state
from sorosim.model.basis import STRAINS

Array = NDArray[np.float64]

NOTHING = 1e-12  # of the largest effect of any actuator
SAME = 1e-9  # between the directions of two effects
STRAIN = 1.0  # estimated, under the largest input


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


def inputs(patient: Patient) -> Iterator[Finding]:
    """Inputs of the file's blocks: pulls that push, inputs that are always zero, and ones that tear the robot apart."""
    robot, description = patient.robot, patient.robot.description
    if not robot.actuator_names or not (description.simulate or description.statics):
        return
    at_rest = robot.inputs(description.statics.get("u"))
    for j, name in enumerate(robot.actuator_names):
        over, actuator = np.append(patient.inputs[:, j], at_rest[j]), description.actuators[name]
        least, most = float(over.min()), float(np.abs(over).max())
        if most == 0.0 and (name in (description.simulate.get("u") or {}) or "u" not in description.simulate):
            yield Finding(NOTE, f"actuators.{name}", "its input is zero all the time", "see simulate.u", 0.0)
        if isinstance(actuator, Tendon) and not actuator.pushes and least < -1e-9 * most:
            what = (
                f"its {'tension' if actuator.stiffness is None else 'input'} goes down to {least:.3g} {actuator.unit}"
            )
            remedy = "a tendon is slack there, and pulls nothing: pull the one on the other side, or give pushes: true"
            yield Finding(ODD, f"actuators.{name}", what, remedy, least, actuator.unit)
        B = robot.internal_force_derivatives(robot.initial_q, np.zeros(robot.ndof), 0.0 * at_rest).B[:, j]
        strain, place = patient.largest_strain(patient.yields(B * most))
        if place is not None and strain > STRAIN:
            unit = robot.actuator_units[j]
            what = f"its largest input, {most:.3g} {unit}, would strain '{place.link.name}' by about {strain:.2g}"
            yield Finding(
                ODD, f"actuators.{name}", what, f"{0.3 * most / strain:.1g} {unit} strains it by 30 %", strain
            )
