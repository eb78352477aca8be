"""Mass, centre and inertia of links that are fixed to each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.arrays import Array


class Inertia(NamedTuple):
    """Mass properties in some frame."""

    mass: float  # [kg]
    centre: Array  # (3,) [m]
    inertia: Array  # (3, 3) about the centre [kg m^2]


def moved(own: Inertia, g: Array) -> Inertia:
    """Mass properties seen from another frame, in which the own one has the pose g (4, 4)."""
    R = g[:3, :3]
    turned = own.inertia if np.array_equal(R, np.eye(3)) else R @ own.inertia @ R.T
    return Inertia(own.mass, R @ own.centre + g[:3, 3], 0.5 * (turned + turned.T))


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
