"""Contacts: closed at the start, too soft, too stiff, apart from everything."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sorosim.doctor.finding import NOTE, ODD, OK, Finding
from sorosim.doctor.patient import Patient
from sorosim.equations.contact_check import contacts_of, deep_contacts, estimate, thinnest
from sorosim.errors import ModelError
from sorosim.loads.contact import BoundContact
from sorosim.loads.contact_law import ContactLaw
from sorosim.model.link import WORLD
from sorosim.model.obstacle import HalfSpace
from sorosim.model.section import Circle, HollowCircle
from sorosim.robot import Robot

SOFT, STIFF = 0.01, 1e4  # of the stiffness of contacts, against its estimate
SINKS = 0.5  # of the thickness of what touches, under the weight
AWAY = 20.0  # of the size of the robot
GRIP = 3.0  # coefficient of friction: rubber on dry concrete has about 1
# speeds are seen beside that of a fall by the size of the robot: slip at which friction has set in, meeting for which
# a restitution is given; and the damping by which the force at that speed is so many times as large
CREEP, MEET, DAMPED = 0.3, 30.0, 100.0
STICKS = 1e-6  # m/s: friction that sets in within less is stiffer than it is good for
LEVEL = 0.05  # of gravity that presses on a floor


def contacts(patient: Patient) -> Iterator[Finding]:
    """Every contact among the loads."""
    robot = patient.robot
    yield from _floors(patient)
    for words in deep_contacts(robot, robot.initial_q):
        where, _, what = words.partition(": ")
        yield Finding(ODD, where, f"{what} where it begins", "move it apart, or leave the pair out (`apart`)")
    for name in contacts_of(robot):
        yield from _stiffness(robot, name)
        yield from _law(patient, f"loads.{name}", robot.description.loads[name].law, contacts_of(robot)[name])
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


def _law(patient: Patient, where: str, law: ContactLaw, contact: BoundContact) -> Iterator[Finding]:
    """Friction, damping, onset and speeds of a contact."""
    fall = float(np.sqrt(2.0 * (patient.gravity or 9.81) * patient.extent))
    if law.friction > GRIP:
        what = f"coefficient of friction {law.friction:g}"
        yield Finding(ODD, where, what, "rubber has about 1, steel 0.2; was it meant in %?", law.friction)
    if law.friction and law.slip_speed > CREEP * fall:
        what = f"friction sets in at {law.slip_speed:g} m/s of slip; a fall by its size ends at {fall:.2g} m/s"
        yield Finding(ODD, where, what, f"slip_speed: {0.001 * fall:.1g} m/s", law.slip_speed, "m/s")
    elif law.friction and law.slip_speed < STICKS:
        what = f"friction sets in within {law.slip_speed:g} m/s of slip: stiff, and no more exact"
        yield Finding(NOTE, where, what, f"slip_speed: {0.001 * fall:.1g} m/s", law.slip_speed, "m/s")
    if law.restitution is None and law.damping * fall > DAMPED:
        times = law.damping * fall
        what = f"damping {law.damping:g} s/m: at {fall:.2g} m/s it pushes {times:.2g} times as hard as at rest"
        remedy = f"it is no N s/m, but multiplies the force: {1.0 / fall:.1g} s/m"
        yield Finding(ODD, where, what, remedy, law.damping, "s/m")
    if law.impact_speed is not None and law.impact_speed > MEET * fall:
        what = f"impact_speed {law.impact_speed:g} m/s; a fall by its size ends at {fall:.2g} m/s"
        yield Finding(ODD, where, what, "was it meant in mm/s?", law.impact_speed, "m/s")
    thick = 2.0 * thinnest(contact)
    if law.onset > thick:
        what = f"onset {1e3 * law.onset:g} mm, and what touches is {1e3 * thick:.2g} mm thick"
        yield Finding(ODD, where, what, "a tenth of the usual penetration does", law.onset, "m")


def _floors(patient: Patient) -> Iterator[Finding]:
    """Half spaces of the world below what floats, which gravity presses nothing onto."""
    robot = patient.robot
    gravity = np.array(robot.description.gravity)
    normals = {
        name: surface.at[:3, 2]
        for name in contacts_of(robot)
        for surface in robot.description.loads[name].surfaces
        if surface.link == WORLD and isinstance(surface.shape, HalfSpace)
    }
    if not patient.floating or not normals:
        return
    pressed = {name: float(-gravity @ n) for name, n in normals.items()}
    if max(pressed.values()) > LEVEL * patient.gravity and patient.gravity > 0.0:
        return
    name = max(pressed, key=pressed.__getitem__)
    what = "gravity presses nothing onto it" if patient.gravity else "there is no gravity to press anything onto it"
    remedy = f"gravity against its normal: {[round(float(-9.81 * x), 3) + 0.0 for x in normals[name]]}"
    yield Finding(NOTE, f"loads.{name}", what, remedy, pressed[name], "m/s^2")


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
