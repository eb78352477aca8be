"""Mass, centre and inertia of links that are fixed to each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sorosim.arrays import Array


class Inertia(NamedTuple):
    """Mass properties in some frame."""

    mass: float  # [kg]
    centre: Array  # (3,) [m]
    inertia: Array  # (3, 3) about the centre [kg m^2]


def inertia_of(inertial: Any, g: Array) -> Inertia | None:
    """Mass properties of a link of yourdfpy in a frame where it has the pose g (4, 4); None without any."""
    if inertial is None or (inertial.mass == 0.0 and not inertial.inertia.any()):
        return None
    own = np.eye(4) if inertial.origin is None else inertial.origin
    pose = g @ own
    R = pose[:3, :3]
    turned = inertial.inertia if np.array_equal(R, np.eye(3)) else R @ inertial.inertia @ R.T
    return Inertia(float(inertial.mass), pose[:3, 3], 0.5 * (turned + turned.T))


def total(parts: list[Inertia]) -> Inertia:
    """Mass properties of several bodies in the same frame that move as one; their mass is not zero."""
    if len(parts) == 1:
        return parts[0]
    mass = sum(part.mass for part in parts)
    centre = np.sum([part.mass * part.centre for part in parts], axis=0) / mass
    inertia = np.zeros((3, 3))
    for part in parts:
        d = part.centre - centre
        inertia += part.inertia + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return Inertia(mass, centre, inertia)
