"""Inputs of the file's blocks: never used, of the wrong sign, too large to survive, too small to be seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.actuation.joint_force import JointForce
from sorosim.actuation.servo import Servo
from sorosim.actuation.tendon import Tendon
from sorosim.doctor.finding import NOTE, ODD, WRONG, Finding
from sorosim.doctor.patient import Patient

Array = NDArray[np.float64]

STRAIN = 1.0  # estimated, under the largest input
TURNS = 4.0 * np.pi  # rad: servos that turn farther were probably told degrees
FAR = 3.0  # of the size of the robot, for servos that slide
LENGTH_INPUT = 0.5  # of the length of a tendon
UNSEEN = 1e-4  # of the size of the robot, by which the largest input moves a tip
# times the effort by which weight could hold a joint back; tiny robots are moved by fields that dwarf it
STRONG, STRONG_TINY, TINY = 100.0, 1e5, 0.05


def inputs(patient: Patient) -> Iterator[Finding]:
    """Every input, in the run and in the `statics` block of the file."""
    robot, description = patient.robot, patient.robot.description
    if not robot.actuator_names or not (description.simulate or description.statics):
        return
    at_rest = robot.inputs(description.statics.get("u"))
    for j, name in enumerate(robot.actuator_names):
        over, where = np.append(patient.inputs[:, j], at_rest[j]), f"actuators.{name}"
        least, most = float(over.min()), float(over[np.argmax(np.abs(over))])
        actuator, unit = description.actuators[name], robot.actuator_units[j]
        given = name in (description.simulate.get("u") or {})
        if most == 0.0 and (given or "u" not in description.simulate):
            yield Finding(NOTE, where, "its input is zero all the time", "see simulate.u", 0.0)
        elif given and not patient.inputs[:, j].any():
            what = f"its input is zero throughout the run of {patient.times[-1]:g} s"
            yield Finding(NOTE, where, what, "does it begin later? See simulate.u and t_end", 0.0)
        if isinstance(actuator, Tendon):
            told = list(_tendon(patient, where, actuator, j, least, most))
            yield from told
            if any(finding.level == WRONG for finding in told):
                continue
        if isinstance(actuator, JointForce) and most != 0.0:
            yield from _joint(patient, where, actuator, most, unit)
        elif most != 0.0:
            yield from _effect(patient, where, j, most, unit)


def _tendon(patient: Patient, where: str, tendon: Tendon, j: int, least: float, most: float) -> Iterator[Finding]:
    if not tendon.pushes and least < -1e-9 * abs(most):
        what = f"its {'tension' if tendon.stiffness is None else 'input'} goes down to {least:.3g} {tendon.unit}"
        remedy = "a tendon is slack there, and pulls nothing: pull the one on the other side, or give pushes: true"
        yield Finding(ODD, where, what, remedy, least, tendon.unit)
    length = float(patient.robot.engine.tendon_lengths(np.array(patient.robot.engine.elastic.rest))[j])
    if tendon.stiffness is not None and most > LENGTH_INPUT * length:
        what = f"{most:.3g} m of it are wound up, and it is {length:.3g} m long"
        level = WRONG if most >= length else ODD  # solvers refuse it
        yield Finding(level, where, what, f"was it meant in mm? {1e-3 * most:g} m", most, "m")


def _joint(patient: Patient, where: str, actuator: Any, most: float, unit: str) -> Iterator[Finding]:
    """Motors and servos, against what weight could do in their joint."""
    robot = patient.robot
    index = actuator.index(robot.engine.layout) + robot.engine.layout.links[actuator.link].column
    turns = robot.engine.layout.dimensions[index] == "angle"
    if isinstance(actuator, Servo):
        bound, asked = (TURNS, "was it meant in deg?") if turns else (FAR * patient.extent, "was it meant in mm?")
        if abs(most) > bound:
            yield Finding(ODD, where, f"it is told to go to {most:.4g} {unit}", asked, most, unit)
        return
    # sqrt(M m) g: of a mass m alone, its weight, at its lever; and M is no less than what is beyond the joint has
    hold = float(np.sqrt(patient.mass_matrix[index, index] * patient.mass)) * (patient.gravity or 9.81)
    if not turns:
        hold = patient.weight
    strong = abs(most) / max(hold, 1e-300)
    if strong > (STRONG if patient.extent > TINY else STRONG_TINY):
        faster = abs(most) / patient.mass_matrix[index, index]
        rate = f"{faster:.2g} {'rad' if turns else 'm'}/s^2"
        what = f"{most:.4g} {unit}, {strong:.2g} times what the weight could hold back: {rate}"
        yield Finding(ODD, where, what, "was it meant in N mm or mN?" if turns else "was it meant in mN?", most, unit)


def _effect(patient: Patient, where: str, j: int, most: float, unit: str) -> Iterator[Finding]:
    """What the largest input does to rods, to first order."""
    robot, q = patient.robot, np.array(patient.robot.engine.elastic.rest)
    u, zero = np.zeros(len(robot.actuator_names)), np.zeros(robot.ndof)
    slack = robot.internal_force(q, zero, u)
    u[j] = most
    yields = patient.yields(robot.internal_force(q, zero, u) - slack)
    strain, place = patient.largest_strain(yields)
    size = f"{abs(most):.3g} {unit}".strip()
    if place is not None and strain > STRAIN:
        what = f"its largest input, {size}, would strain '{place.link.name}' by about {strain:.2g}"
        remedy = f"{f'{0.3 * abs(most) / strain:.1g} {unit}'.strip()} strains it by 30 %"
        yield Finding(ODD, where, what, remedy, strain)
    if not patient.places or not yields.any():
        return
    nodes = robot.engine.layout.points
    J = robot.engine.jacobians(nodes, q, zero, False)[2]
    moved = float(np.linalg.norm(J[:, 3:] @ yields, axis=1).max(initial=0.0))
    if moved < UNSEEN * patient.extent:
        what = f"its largest input, {size}, moves the robot by about {1e3 * moved:.2g} mm"
        yield Finding(NOTE, where, what, "look at its unit, and at the stiffness", 1e3 * moved, "mm")
