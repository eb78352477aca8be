"""Springs between two points: lengths in another unit, dampers that hold for hours, ends that meet."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sorosim.doctor.finding import NOTE, ODD, Finding
from sorosim.doctor.patient import Patient
from sorosim.loads.spring import Spring
from sorosim.model.anchor import Anchor
from sorosim.model.link import WORLD
from sorosim.signals import Signal

LOOKS = 101  # at a rest length over a run
LONG = 10.0  # lengths of a spring that its rest length may differ by
FAR = 100.0  # times as long as the largest part of the robot
HOLDS = 10.0  # s of damping over stiffness: it creeps
TOGETHER = 1e-6  # of the size of the robot


def springs(patient: Patient) -> Iterator[Finding]:
    """Every spring among the loads, where the robot starts."""
    for name, load in patient.robot.description.loads.items():
        if isinstance(load, Spring):
            yield from _spring(patient, f"loads.{name}", load)


def _spring(patient: Patient, where: str, spring: Spring) -> Iterator[Finding]:
    length = _length(patient, spring)
    times = np.linspace(0.0, patient.times[-1], LOOKS)
    stiffness, damping, rests = (
        value.sample(times) if isinstance(value, Signal) else np.full(1, float(value))
        for value in (spring.stiffness, spring.damping, spring.rest)
    )
    rest, k, c = float(rests.max()), float(stiffness.max()), float(damping.max())
    if length > FAR * patient.largest_part:
        what = (
            f"its ends are {length:.3g} m apart, and no part of the robot is longer than {patient.largest_part:.2g} m"
        )
        yield Finding(ODD, where, what, "was a position meant in cm or mm?", length, "m")
    elif length <= TOGETHER * patient.extent:
        if rest > 0.0:
            what = "its ends meet at the start: it has no direction there, and no force"
            yield Finding(NOTE, where, what, "move one of them, or begin elsewhere", length, "m")
    elif k > 0.0 and rest > 0.0 and not 1.0 / LONG <= rest / length <= LONG:
        what = f"it is {length:.3g} m long at the start, and {rest:.3g} m without force: {k * abs(length - rest):.3g} N"
        yield Finding(ODD, where, what, "was one of the lengths meant in cm or mm?", rest, "m")
    if k > 0.0 and c / k > HOLDS:
        what = f"damping {c:.3g} N s/m beside stiffness {k:.3g} N/m: it gives way within {c / k:.3g} s"
        yield Finding(ODD, where, what, f"was it meant in N s/mm? {0.01 * k:.1g} N s/m lets it swing", c / k, "s")


def _length(patient: Patient, spring: Spring) -> float:
    robot, ends = patient.robot, []
    links = {link.name: link for link in robot.links}
    for end in (spring.a, spring.b):
        assert isinstance(end, Anchor)  # for the type checker: a Spring makes them
        pose = end.pose_on_node("spring", links)
        place = np.eye(4) if pose is None else pose
        ends.append(place if end.link == WORLD else robot.pose(robot.initial_q, end.link, end.s) @ place)
    return float(np.linalg.norm(ends[0][:3, 3] - ends[1][:3, 3]))
