"""Joints: springs, servos and stops that hold nothing, friction that holds all, angles in degrees."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sorosim.actuation.servo import Servo
from sorosim.doctor.finding import NOTE, ODD, Finding
from sorosim.doctor.patient import Patient

TURNS = 4.0 * np.pi  # rad: more is probably meant in degrees
FAR = 3.0  # of the size of the robot
PLACED = "free", "planar"  # whose lengths say where in the world something is
SAG = {"angle": np.pi, "length": 1.0}  # rad, or the size of the robot, by which weight may turn or shift a spring
STUCK = 100.0  # times all that weight could do in a joint, its friction
SERVO_SAG = {"angle": 0.5, "length": 0.3}  # rad, or of the size of the robot, by which weight turns or shifts a servo
FASTEST, LENGTHS, SPINS = 100.0, 1e3, 1e4  # m/s, and lengths of itself in a second; rad/s: at the start
SOFT_STOP = 0.1  # of the range between two stops, by which weight presses one in


def joints(patient: Patient) -> Iterator[Finding]:
    """Springs, stops, and initial values of every joint, one coordinate after the other."""
    robot = patient.robot
    pull, q = np.abs(patient.pull), robot.initial_q
    for link in patient.links_moved():
        joint, layout = link.joint, robot.engine.layout.links[link.name]
        springs, rests, frictions = (np.broadcast_to(v, joint.n) for v in (joint.stiffness, joint.rest, joint.friction))
        for i, dimension in enumerate(joint.dimensions):
            index = layout.column + i
            name, turns = robot.coordinate_names[index], dimension == "angle"
            where, unit = f"links.{link.name}.joint", "rad" if turns else "m"
            most = TURNS if turns else FAR * patient.extent
            asked = "was it meant in deg?" if turns else "was it meant in cm or mm?"
            for what, value in (("begins at", q[index]), ("rests at", rests[i])):
                if abs(value) > most and (turns or joint.kind not in PLACED):
                    yield Finding(ODD, where, f"'{name}' {what} {value:.4g} {unit}", asked, float(value), unit)
            driven = index in {robot.engine.layout.coordinate(n, "driven") for n in patient.motions}
            scale = 1.0 if turns else patient.extent
            if springs[i] > 0.0 and not driven and pull[index] > SAG[dimension] * scale * springs[i]:
                sag, enough = pull[index] / springs[i], pull[index] / (0.1 * scale)
                what = (
                    f"its spring of {springs[i]:.3g} would give way by {sag:.3g} {unit} to weight and loads on '{name}'"
                )
                remedy = (
                    f"a spring of {enough:.1g} {'N m/rad' if turns else 'N/m'} gives way by {0.1 * scale:.2g} {unit}"
                )
                yield Finding(ODD, where, what, remedy, float(sag), unit)
            limit = joint.limits[i] if joint.limits else None
            if not driven:
                yield from _friction(patient, where, name, float(frictions[i]), turns)
            if limit is None or driven:
                continue
            ends = [end for end in (limit.low, limit.high) if np.isfinite(end)]
            if any(abs(end) > most for end in ends) and joint.kind not in PLACED:
                words = f"the stops of '{name}' are at {' and '.join(f'{end:.4g}' for end in ends)} {unit}"
                yield Finding(ODD, f"{where}.limits", words, asked, float(max(ends, key=abs)), unit)
            if not limit.low <= q[index] <= limit.high:
                stops = f"its stops {limit.low:.4g} and {limit.high:.4g}"
                what = f"'{name}' begins at {q[index]:.4g} {unit}, outside of {stops}"
                yield Finding(ODD, where, what, f"begin within them (`initial`); {asked}", float(q[index]), unit)
            if springs[i] > 0.0 and not limit.low <= rests[i] <= limit.high:
                what = f"the spring of '{name}' rests at {rests[i]:.4g} {unit}, outside of its stops"
                yield Finding(NOTE, where, what, "it presses on a stop all the time", float(rests[i]), unit)
            span = min(limit.high - limit.low, 2.0 * np.pi * scale)
            sinks = pull[index] / limit.stiffness
            if sinks > SOFT_STOP * span:
                what = (
                    f"weight and loads press the stops of '{name}' in by {sinks:.3g} {unit}, of a range of {span:.3g}"
                )
                remedy = f"stiffness: {pull[index] / (0.01 * span):.1g} holds within a hundredth of the range"
                yield Finding(ODD, f"{where}.limits", what, remedy, float(sinks), unit)
    yield from _rates(patient)
    yield from _servos(patient)


def _friction(patient: Patient, where: str, name: str, friction: float, turns: bool) -> Iterator[Finding]:
    holds, unit = (patient.weight * patient.extent, "N m") if turns else (patient.weight, "N")
    if friction > STUCK * holds:
        what = f"friction of {friction:.3g} {unit} on '{name}', and all of the weight could do {holds:.2g} {unit}"
        yield Finding(ODD, where, what, "was it meant in N mm?" if turns else "was it meant in mN?", friction, unit)


def _rates(patient: Patient) -> Iterator[Finding]:
    """How fast the robot begins."""
    robot = patient.robot
    for name, dimension, rate in zip(
        robot.coordinate_names, robot.engine.layout.dimensions, robot.initial_qd, strict=True
    ):
        flies = max(FASTEST, LENGTHS * patient.largest_part)
        most, unit, asked = (SPINS, "rad/s", "deg/s") if dimension == "angle" else (flies, "m/s", "mm/s")
        if dimension in ("angle", "length") and abs(rate) > most:
            what = f"begins at {rate:.4g} {unit}"
            yield Finding(ODD, f"initial.{name}", what, f"was it meant in {asked}?", float(rate), unit)


def _servos(patient: Patient) -> Iterator[Finding]:
    """Servos that give way to weight and loads where the robot starts, or may not push enough."""
    robot, pull = patient.robot, np.abs(patient.pull)
    for name, actuator in robot.description.actuators.items():
        if not isinstance(actuator, Servo):
            continue
        index = robot.engine.layout.links[actuator.link].column + actuator.index(robot.engine.layout)
        dimension = robot.engine.layout.dimensions[index]
        scale, unit, effort = (1.0, "rad", "N m") if dimension == "angle" else (patient.extent, "m", "N")
        if actuator.limit < pull[index]:
            what = f"may push with {actuator.limit:.3g} {effort}, and holds {pull[index]:.3g} {effort} at the start"
            yield Finding(ODD, f"actuators.{name}", what, "a larger limit", actuator.limit, effort)
        elif (sag := pull[index] / actuator.stiffness) > SERVO_SAG[dimension] * scale:
            what = f"gives way by {sag:.3g} {unit} to weight and loads at the start"
            enough = pull[index] / (0.01 * scale)
            remedy = f"a stiffness of {enough:.1g} {effort}/{unit} gives way by {0.01 * scale:.2g} {unit}"
            yield Finding(ODD, f"actuators.{name}", what, remedy, float(sag), unit)
