"""Where parts are put: rotations by degrees that were taken for radians, places far beyond the robot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.doctor.finding import ODD, Finding
from sorosim.doctor.patient import Patient
from sorosim.model.anchor import Anchor
from sorosim.model.link import WORLD

Array = NDArray[np.float64]

DEGREES = np.arange(10.0, 361.0, 5.0)  # that people write
EXACT = 1e-9  # rad
FAR = 100.0  # times as far from its parent as the largest part is long
ADRIFT = 1000.0  # times as far from the world's origin: what floats may begin anywhere in a map


def placement(patient: Patient) -> Iterator[Finding]:
    """Poses of links, of their frames, and of the ends of loops; and where floating links begin."""
    robot = patient.robot
    for where, pose in _poses(patient):
        if degrees := degrees_as_radians(pose[:3, :3]):
            what = f"turned by exactly {degrees:g} rad, which is {np.degrees(_wrapped(degrees)):.4g} degrees"
            yield Finding(ODD, where, what, f"was it meant as {degrees:g} deg?", degrees, "rad")
    part = patient.largest_part
    for link in robot.links:
        far = float(np.linalg.norm(link.at[:3, 3]))
        if link.parent != WORLD and far > FAR * part:
            what = f"{far:.4g} m from '{link.parent}', and no part of the robot is longer than {part:.2g} m"
            yield Finding(ODD, f"links.{link.name}.at", what, "was its position meant in cm or mm?", far, "m")
        for name, frame in link.frames.items():
            if (away := float(np.linalg.norm(frame[:3, 3]))) > FAR * part:
                what = f"{away:.4g} m from '{link.name}', and no part of the robot is longer than {part:.2g} m"
                where = f"links.{link.name}.frames.{name}"
                yield Finding(ODD, where, what, "was its position meant in cm or mm?", away, "m")
        if link.parent == WORLD and link.joint.kind == "free":
            begins = float(np.linalg.norm(robot.pose(robot.initial_q, link.name, 0.0)[:3, 3]))
            if begins > ADRIFT * part:
                what = f"begins {begins:.4g} m from the world's origin, and no part is longer than {part:.2g} m"
                yield Finding(ODD, f"initial.{link.name}", what, "was it meant in cm or mm?", begins, "m")


def _poses(patient: Patient) -> Iterator[tuple[str, Array]]:
    description = patient.robot.description
    for link in description.links:
        yield f"links.{link.name}.at", link.at
        for name, frame in link.frames.items():
            yield f"links.{link.name}.frames.{name}", frame
    for name, loop in description.loops.items():
        for end, anchor in (("from", loop.a), ("to", loop.b)):
            if isinstance(anchor, Anchor) and not isinstance(anchor.at, str):
                yield f"loops.{name}.{end}.at", anchor.at


def _wrapped(angle: Any) -> Any:
    return (angle + np.pi) % (2.0 * np.pi) - np.pi


def degrees_as_radians(R: Array) -> float:
    """The degrees that someone wrote where radians were read, of a rotation matrix (3, 3); 0: none.

    A turn by 90 rad about some axis, or about one axis after another as `rpy` has it, is one by 116.62 degrees. Angles
    are matched to nine digits; no other rotation gets there by chance.
    """
    if np.array_equal(R, np.eye(3)):
        return 0.0
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    turn = float(np.arctan2(np.linalg.norm(axis), np.trace(R) - 1.0))
    roll, yaw = np.arctan2(R[2, 1], R[2, 2]), np.arctan2(R[1, 0], R[0, 0])
    pitch = np.arctan2(-R[2, 0], np.hypot(R[2, 1], R[2, 2]))
    triples = [(turn,), (roll, pitch, yaw), (roll + np.pi, np.pi - pitch, yaw + np.pi)]
    for angles in triples:
        found = [_written(float(angle)) for angle in angles]
        if any(found) and None not in found:
            return max(x for x in found if x is not None)
    return 0.0


def _written(angle: float) -> float | None:
    """Whole degrees that, as radians, are this angle but for whole turns; 0 of none at all; None: no such degrees."""
    if abs(_wrapped(angle)) < EXACT:
        return 0.0
    off = np.minimum(np.abs(_wrapped(DEGREES - angle)), np.abs(_wrapped(DEGREES + angle)))
    k = int(np.argmin(off))
    return float(DEGREES[k]) if off[k] < EXACT else None
