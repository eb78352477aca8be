"""Joints: springs that carry nothing, stops that hold nothing, angles in degrees."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sorosim.doctor.finding import NOTE, ODD, Finding
from sorosim.doctor.patient import Patient

TURNS = 4.0 * np.pi  # rad: more is probably meant in degrees
FAR = 3.0  # of the size of the robot
PLACED = "free", "planar"  # whose lengths say where in the world something is
SAG = {"angle": np.pi, "length": 1.0}  # rad, or the size of the robot, by which weight may turn or shift a spring
SOFT_STOP = 0.1  # of the range between two stops, by which weight presses one in


def joints(patient: Patient) -> Iterator[Finding]:
    """Springs, stops, and initial values of every joint, one coordinate after the other."""
    robot = patient.robot
    pull, q = np.abs(patient.pull), robot.initial_q
    for link in patient.links_moved():
        joint, layout = link.joint, robot.engine.layout.links[link.name]
        springs, rests = (np.broadcast_to(v, joint.n) for v in (joint.stiffness, joint.rest))
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
                what = f"its spring of {springs[i]:.3g} would give way by {sag:.3g} {unit} to the weight on '{name}'"
                remedy = (
                    f"a spring of {enough:.1g} {'N m/rad' if turns else 'N/m'} gives way by {0.1 * scale:.2g} {unit}"
                )
                yield Finding(ODD, where, what, remedy, float(sag), unit)
            limit = joint.stops[i] if joint.stops else None
            if limit is None or driven:
                continue
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
                what = f"weight presses the stops of '{name}' in by {sinks:.3g} {unit}, of a range of {span:.3g}"
                remedy = f"stiffness: {pull[index] / (0.01 * span):.1g} holds within a hundredth of the range"
                yield Finding(ODD, f"{where}.limits", what, remedy, float(sinks), unit)
