"""Strains of rods in a state: how far the rod_actuators of their sections are stretched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sorosim.arrays import Array
from sorosim.model.compile import Piece
from sorosim.model.link import Link
from sorosim.model.rod import Division
from sorosim.robot import Robot

N_SAMPLES = 19  # along each division


class Place(NamedTuple):
    """A division of a rod."""

    where: str  # as a path of names
    link: Link
    piece: Piece

    @property
    def division(self) -> Division:
        """What it is made of."""
        return self.piece.division

    @property
    def inside(self) -> Array:
        """Arclengths (n,) in the division [m] at which its section is sampled: not the ends, which may be points."""
        return np.linspace(0.05, 0.95, N_SAMPLES) * self.division.length

    @property
    def thickness(self) -> Array:
        """Diameters (n, 2) along y and z of the round sections with the same radii of gyration [m]."""
        a = self.division.section.properties(self.inside, self.division.length)
        return np.asarray(4.0 * np.sqrt(np.stack([a.Iz, a.Iy], axis=-1) / a.A[:, None]))

    def strains(self, q: Array) -> Array:
        """Strains (n, 6) beyond those of the unloaded rod, at `inside`."""
        own = q[self.piece.column : self.piece.column + self.piece.n]
        return np.asarray(np.einsum("kir,i->kr", self.division.basis(self.inside), own))


def places(robot: Robot) -> Iterator[Place]:
    """All divisions of all rods."""
    for name, layout in robot.engine.layout.links.items():
        for i, piece in enumerate(layout.pieces):
            part = f".divisions[{i}]" if len(layout.pieces) > 1 else ""
            yield Place(f"links.{name}.rod{part}", layout.link, piece)


def largest_strain(robot: Robot, q: Array) -> tuple[float, Place | None]:
    """The largest strain of any fibre: by curvature times half the thickness, and stretch; and of which rod."""
    worst: tuple[float, Place | None] = 0.0, None
    for place in places(robot):
        xi, half = place.strains(q), 0.5 * place.thickness
        bent = np.abs(xi[:, 1]) * half[:, 1] + np.abs(xi[:, 2]) * half[:, 0]
        sheared = np.abs(xi[:, 0]) * half.max(axis=1) + np.hypot(xi[:, 4], xi[:, 5])
        strain = float(np.maximum(bent + np.abs(xi[:, 3]), sheared).max(initial=0.0))
        if not strain <= worst[0]:
            worst = strain, place
    return worst
