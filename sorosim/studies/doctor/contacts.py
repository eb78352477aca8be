"""Contacts: closed at the start, too soft, too stiff, apart from everything."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sorosim.analysis.equations.contact_check import contacts_of, deep_contacts, estimate, thinnest
from sorosim.base.errors import ModelError
from sorosim.mechanics.loads.contact import BoundContact
from sorosim.mechanics.loads.contact_law import ContactLaw
from sorosim.mechanics.model.link import WORLD
from sorosim.mechanics.model.obstacle import HalfSpace
from sorosim.mechanics.robot import Robot
from sorosim.studies.doctor.context import EARTH, CheckContext
from sorosim.studies.doctor.findings import NOTE, ODD, Finding, finding, judged

SOFT, STIFF = 0.01, 1e4  # of the stiffness of contacts, against its estimate
SINKS = 50.0  # times the usual depth, which is a hundredth of the thickness: soft skins may sink by tens of them
AWAY = 20.0  # of the size of the robot
LEVEL = 0.05  # of gravity that presses on a floor


def contacts(context: CheckContext) -> Iterator[Finding]:
    """Every contact among the loads."""
    robot, bound = context.robot, contacts_of(context.robot)
    yield from _floors(context)
    for text in deep_contacts(robot, robot.initial_q):
        where, _, words = text.partition(": ")
        yield finding("contact.deep", where, words=words)
    reach = AWAY * context.extent
    for name, contact in bound.items():
        where = f"loads.{name}"
        yield _stiffness(context, name)
        yield from _law(context, where, robot.description.loads[name].law, contact)
        if rods := _not_round(robot, name):
            yield finding("contact.not_round", where, rods=", ".join(rods))
        try:
            gap = robot.contact_gaps(robot.initial_q, reach)[name]
        except ModelError:  # too many contacts to evaluate
            continue
        if gap >= reach:
            yield finding("contact.apart", where, gap, reach=reach)


def _law(context: CheckContext, where: str, law: ContactLaw, contact: BoundContact) -> Iterator[Finding]:
    """Friction, damping, onset and speeds of a contact, against the speed after a fall by the robot's size."""
    fall = float(np.sqrt(2.0 * (context.gravity or EARTH) * context.extent))
    yield from judged("contact.friction", where, law.friction)
    if law.friction:
        words = {"fall": fall, "usual": 0.001 * fall}
        yield from judged("contact.creep", where, law.slip_speed, law.slip_speed / fall, **words) or judged(
            "contact.sticks", where, law.slip_speed, **words
        )
    if law.restitution is None:
        times = law.damping * fall
        yield from judged("contact.damping", where, law.damping, times, fall=fall, times=times, usual=1.0 / fall)
    if law.impact_speed is not None:
        yield from judged("contact.impact_speed", where, law.impact_speed, law.impact_speed / fall, fall=fall)
    thick = 2.0 * thinnest(contact)
    if law.onset > thick:
        yield finding("contact.onset", where, law.onset, mm=1e3 * law.onset, thick=1e3 * thick)


def _floors(context: CheckContext) -> Iterator[Finding]:
    """Half spaces of the world below what floats, which gravity presses nothing onto."""
    robot = context.robot
    normals = {
        name: surface.at[:3, 2]
        for name in contacts_of(robot)
        for surface in robot.description.loads[name].surfaces
        if surface.link == WORLD and isinstance(surface.shape, HalfSpace)
    }
    if not context.floating_link or not normals:
        return
    pressed = {name: float(-np.array(robot.description.gravity) @ n) for name, n in normals.items()}
    name = max(pressed, key=pressed.__getitem__)
    if pressed[name] <= LEVEL * context.gravity or context.gravity == 0.0:
        no_gravity = "there is no gravity to press anything onto it"
        words = "gravity presses nothing onto it" if context.gravity else no_gravity
        gravity = [round(float(-EARTH * x), 3) + 0.0 for x in normals[name]]
        yield finding("contact.no_weight", f"loads.{name}", pressed[name], words=words, gravity=gravity)


def _stiffness(context: CheckContext, name: str) -> Finding:
    k, where = estimate(context.robot, name, context.free), f"loads.{name}"
    unit, reach = f"N/m^{k.exponent:g}", f"from {k.least:.2g}"
    if k.most > k.least and np.isfinite(k.most):
        reach += f" to {k.most:.2g}"
    words = (
        f"stiffness {k.given:.3g} {unit}: {1e3 * k.sinks:.2g} mm deep under the weight of {k.weight:.3g} N; "
        f"{reach} {unit} it carries it within {1e3 * k.depth:.2g} mm"
    )
    if k.given < SOFT * k.least:
        level = ODD if k.sinks > SINKS * k.depth else NOTE
        return finding("contact.soft", where, k.given, level, words=words, unit=unit, enough=k.least)
    if k.given > STIFF * (enough := max(k.most, k.least)):
        return finding("contact.stiff", where, k.given, words=words, unit=unit, enough=enough)
    return finding("contact.stiffness", where, k.given, words=words, unit=unit)


def _not_round(robot: Robot, name: str) -> list[str]:
    """Links with rods that are not round and have no radius of their own in a contact."""
    rods = {link.name: link.rod for link in robot.links if link.rod is not None}
    return [
        surface.link for surface in robot.description.loads[name].surfaces
        if surface.link in rods and surface.radius is None
        and any(not part.section.is_round for part in rods[surface.link].divisions)
    ]  # fmt: skip
