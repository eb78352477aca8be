"""Driven coordinates: twice, beside a motor, against loops, and by absurd amounts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sorosim.doctor.finding import NOTE, ODD, WRONG, Finding
from sorosim.doctor.patient import Patient
from sorosim.engine.inputs import Partition, check_smooth, driven_motion
from sorosim.equations.system import independent_rows
from sorosim.errors import ExpressionError, InputError

TURNS = 8.0 * np.pi  # rad beyond which an angle was probably meant in degrees
FAR = 3.0  # of the size of the robot
APART = 1e-6  # rad, or of the size of the robot: the same place


def driven(patient: Patient) -> Iterator[Finding]:
    """Both blocks of the file that drive coordinates."""
    description = patient.robot.description
    for block in ("simulate", "statics"):
        given = getattr(description, block).get("driven") or {}
        if given:
            yield from _block(patient, block, given)


def possible(patient: Patient) -> bool:
    """Whether what the file drives can be driven at all; other checks need that."""
    try:
        Partition.of(patient.robot.engine.layout, patient.motions, patient.robot.description.actuators)
        driven_motion(patient.motions)
    except (InputError, ExpressionError):
        return False
    return True


def _block(patient: Patient, block: str, given: Mapping[str, Any]) -> Iterator[Finding]:
    robot, where = patient.robot, f"{block}.driven"
    try:
        partition = Partition.of(robot.engine.layout, given, robot.description.actuators)
        motion = driven_motion(given)
    except (InputError, ExpressionError) as error:
        hint = error.hint or "name each coordinate once"
        yield Finding(WRONG, f"{block}.{error.where}", f"expected {error.expected}, got {error.got}", hint)
        return
    times = patient.times if block == "simulate" else np.zeros(1)
    if block == "simulate":
        try:
            check_smooth(given, float(times[-1]), robot.description.simulate.get("dt_out"))
        except InputError as error:
            yield Finding(WRONG, f"{block}.{error.where}", f"expected {error.expected}, got {error.got}", error.hint)
    values = motion.sample(times)
    for k, (name, index) in enumerate(zip(partition.names, partition.driven, strict=True)):
        turns = robot.engine.layout.dimensions[index] == "angle"
        unit, most = ("rad", TURNS) if turns else ("m", FAR * patient.extent)
        far = float(np.abs(values[:, k]).max(initial=0.0))
        if far > most:
            asked = f"was it meant in deg? That is {np.radians(far):.3g} rad" if turns else "was it meant in cm or mm?"
            yield Finding(ODD, f"{where}.{name}", f"moves as far as {far:.4g} {unit}", asked, far, unit)
        link = next((link for link in robot.links if link.name == name), None)
        stop = link.joint.limits[0] if link is not None and link.joint.n == 1 else None
        if stop is not None and not (stop.low <= values[:, k].min() and values[:, k].max() <= stop.high):
            what = f"goes from {values[:, k].min():.3g} to {values[:, k].max():.3g} {unit}, beyond its stops"
            remedy = f"they are at {stop.low:.3g} and {stop.high:.3g} {unit}"
            yield Finding(ODD, f"{where}.{name}", what, remedy, far, unit)
        begins = robot.description.initial.get(robot.coordinate_names[index])
        if block == "simulate" and begins is not None and abs(begins - values[0, k]) > APART:
            what = f"begins at {values[0, k]:.4g} {unit}; `initial` says {begins:.4g}, which is not used"
            yield Finding(NOTE, f"{where}.{name}", what, "leave one of them out", begins - values[0, k], unit)
    yield from _against_loops(patient, where, partition)


def _against_loops(patient: Patient, where: str, partition: Partition) -> Iterator[Finding]:
    """Driven coordinates that the loops do not leave free: A qd = 0 has no solution for every rate of them."""
    robot = patient.robot
    if not robot.loop_names or not len(partition.driven):
        return
    A = robot.loop_rows(robot.initial_q).A
    every, alone = (len(independent_rows(robot, X)) for X in (A, A[:, partition.free]))
    if every == alone:
        return
    kept = [i for i in range(robot.ndof) if i not in set(partition.driven)]
    # one after the other: what still can be driven beside the ones before
    blocked = []
    beside = list(partition.driven)
    for name, index in zip(partition.names, partition.driven, strict=True):
        beside.remove(index)
        columns = sorted([*kept, *beside])
        if len(independent_rows(robot, A[:, columns])) == every:
            kept = columns
            break
        blocked.append(name)
    names = ", ".join(f"'{name}'" for name in (blocked if len(blocked) < len(partition.names) else partition.names))
    what = f"{every - alone} of the driven coordinates {names} are prevented by the loops, or have to follow the others"
    remedy = f"drive {len(partition.names) - (every - alone)} of them; the loops move the others"
    yield Finding(WRONG, where, what, remedy, float(every - alone))
