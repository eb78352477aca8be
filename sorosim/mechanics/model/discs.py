"""Spacer discs: rigid discs on a rod that lead its tendons outside of its section."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.declare import Declared, Integer, Quantity, key
from sorosim.base.declare.handle import Handle, Y

MOST = 1000


@dataclass(frozen=True)
class Discs(Declared, title="Spacer discs"):
    """Equal discs on a division of a rod, at equal distances, the last one at its end.

    Tendons and chambers may run within their radius, on the smooth ways that they are given, and not straight from disc
    to disc. Each adds the mass and the inertia of a homogeneous disc; the rod bends inside of it as elsewhere, and it
    touches nothing.
    """

    count: int = key(Integer(1, MOST), "How many there are.", "10")
    radius: float = key(Quantity("length", above=0.0), "Of each; larger than the section.", "8 mm")
    thickness: float = key(Quantity("length", above=0.0), "Of each, along the rod.", "2 mm")
    _: KW_ONLY
    mass: float = key(Quantity("mass", least=0.0), "Of each.", "0.5 g", default=0.0)
    handles = (Handle(radius=Y),)

    def places(self, length: float) -> Array:
        """Arclengths (count,) of their middles on a division of a length [m]."""
        return np.asarray(length * (np.arange(1, self.count + 1) / self.count))

    @property
    def inertia(self) -> Array:
        """Diagonal (6,) of the spatial inertia of one of them about its middle, its axis along x [kg m^2; kg]."""
        m, r, t = self.mass, self.radius, self.thickness
        across = m * (3.0 * r**2 + t**2) / 12.0
        return np.array([0.5 * m * r**2, across, across, m, m, m])
