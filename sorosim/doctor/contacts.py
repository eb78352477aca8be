"""Contacts: closed at the start, too soft, too stiff, apart from everything."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sorosim.contact_check import contacts_of, deep_contacts, estimate
from sorosim.doctor.finding import NOTE, ODD, OK, Finding
from sorosim.doctor.patient import Patient
from sorosim.errors import ModelError
from sorosim.model.section import Circle, HollowCircle
from sorosim.robot import Robot

SOFT, STIFF = 0.01, 1e4  # of the stiffness of contacts, against its estimate
SINKS = 0.5  # of the thickness of what touches, under the weight
AWAY = 20.0  # of the size of the robot


def contacts(patient: Patient) -> Iterator[Finding]:
    """Every contact among the loads."""
    robot = patient.robot
    for words in deep_contacts(robot, robot.initial_q):
        where, _, what = words.partition(": ")
        yield Finding(ODD, where, f"{what} where it begins", "move it apart, or leave the pair out (`apart`)")
    for name in contacts_of(robot):
        yield from _stiffness(robot, name)
        if rods := _not_round(robot, name):
            what = f"not round, but touching as if with half of their thickness as radius: {', '.join(rods)}"
            yield Finding(OK, f"loads.{name}", what)
        reach = AWAY * patient.extent
        try:
            gap = robot.contact_gaps(robot.initial_q, reach)[name]
        except ModelError:  # too many to look at
            continue
        if gap >= reach:
            what = f"nothing that may touch is nearer than {reach:.3g} m at the start"
            yield Finding(ODD, f"loads.{name}", what, "look at the places of the surfaces", float(gap), "m")


def _stiffness(robot: Robot, name: str) -> Iterator[Finding]:
    k = estimate(robot, name)
    unit, reach = f"N/m^{k.exponent:g}", f"from {k.least:.2g}"
    if k.most > k.least:
        reach += f" to {k.most:.2g}" if np.isfinite(k.most) else ""
    what = (
        f"stiffness {k.given:.3g} {unit}: {1e3 * k.sinks:.2g} mm deep under the weight of {k.weight:.3g} N; "
        f"{reach} {unit} it carries it within {1e3 * k.depth:.2g} mm"
    )
    if k.given < SOFT * k.least:
        # the depth is a hundredth of the thickness: soft skins may sink by tens of them
        level = ODD if k.sinks > SINKS * 100.0 * k.depth else NOTE
        yield Finding(level, f"loads.{name}", what, f"take about {k.least:.1g} {unit}", k.given, unit)
    elif k.given > STIFF * max(k.most, k.least):
        remedy = f"so stiff a contact costs steps and changes nothing: take about {max(k.most, k.least):.1g} {unit}"
        yield Finding(ODD, f"loads.{name}", what, remedy, k.given, unit)
    else:
        yield Finding(OK, f"loads.{name}", what, value=k.given, unit=unit)


def _not_round(robot: Robot, name: str) -> list[str]:
    """Links with rods that are not round and have no radius of their own in a contact."""
    rods = {link.name: link.rod for link in robot.links if link.rod is not None}
    return [
        surface.link for surface in robot.description.loads[name].surfaces
        if surface.link in rods and surface.radius is None
        and any(not isinstance(part.section, Circle | HollowCircle) for part in rods[surface.link].divisions)
    ]  # fmt: skip
