"""Strains of rods in a state: how far the fibres of their sections are stretched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sorosim.base.arrays import Array
from sorosim.mechanics.model.layout import Piece
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.rod import Division
from sorosim.mechanics.robot import Robot


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
        return self.division.samples[0]

    @property
    def thickness(self) -> Array:
        """Diameters (n, 2) along y and z of the round sections with the same radii of gyration [m]."""
        return self.division.samples[1]

    def strains(self, q: Array) -> Array:
        """Strains (..., n, 6) beyond those of the unloaded rod at coordinates q (..., ndof), at `inside`."""
        own, basis = q[..., self.piece.column : self.piece.column + self.piece.n], self.division.basis(self.inside)
        flat = own @ np.ascontiguousarray(np.swapaxes(basis, 0, 1)).reshape(self.piece.n, 6 * len(basis))
        strains = flat.reshape(*own.shape[:-1], len(basis), 6)
        return np.asarray(strains / np.asarray(self.piece.length_ratio(q))[..., None, None])

    def bound(self, q: Array) -> Array:
        """No less (...) than any strain of a fibre, and than any change of a length over what it was: quick."""
        own = np.abs(q[..., self.piece.column : self.piece.column + self.piece.n])
        return np.asarray(own @ self.division.fibre_bounds / self.piece.length_ratio(q))

    def turn_bound(self, q: Array) -> Array:
        """No less (...) than the division turns from one of its points to the next [rad]: quick."""
        own = np.abs(q[..., self.piece.column : self.piece.column + self.piece.n])
        bounds, unloaded = self.division.turn_bounds
        return np.asarray(own @ bounds / self.piece.length_ratio(q) + unloaded)

    def fibre_strains(self, q: Array) -> Array:
        """The largest strain (...) of any fibre: by curvature times half the thickness, and stretch.

        Of hyperelastic rods without the stretch, which their law has at any size.
        """
        xi, half = np.abs(self.strains(q)), 0.5 * self.thickness
        bent = xi[..., 1] * half[:, 1] + xi[..., 2] * half[:, 0]
        sheared = xi[..., 0] * half.max(axis=1) + np.hypot(xi[..., 4], xi[..., 5])
        stretch = 0.0 if self.division.material.is_hyperelastic else xi[..., 3]
        return np.asarray(np.maximum(bent + stretch, sheared).max(axis=-1, initial=0.0))

    def least_stretch(self, q: Array) -> Array:
        """Least length (...) of a piece of the centreline, over its unloaded one."""
        if 3 not in self.division.strain.rows:
            return np.ones(q.shape[:-1])
        reference = self.division.reference.values(self.inside, self.division.length)[:, 3]
        return np.asarray((1.0 + self.strains(q)[..., 3] / reference).min(axis=-1))


def places(robot: Robot) -> Iterator[Place]:
    """All divisions of all rods."""
    for name, layout in robot.engine.layout.links.items():
        for i, piece in enumerate(layout.pieces):
            part = f".divisions[{i}]" if len(layout.pieces) > 1 else ""
            yield Place(f"links.{name}.rod{part}", layout.link, piece)


def largest_strain(robot: Robot, q: Array) -> tuple[float, Place | None]:
    """The largest strain of any fibre, and of which rod."""
    worst: tuple[float, Place | None] = 0.0, None
    for place in places(robot):
        strain = float(place.fibre_strains(q))
        if not strain <= worst[0]:
            worst = strain, place
    return worst


class ShapeLimits:
    """What shapes of rods are possible: no section lies before the one that it follows, and points tell how rods wind.

    Beyond a whole turn from one Gauss point to the next they no longer do; twice as far as a rod turns in the state q
    (ndof,), or unloaded, is possible too where that is more.
    """

    def __init__(self, robot: Robot, q: Array) -> None:
        rows, rest = [np.zeros((0, 4, robot.ndof))], [np.zeros((0, 4))]
        for place in places(robot):
            piece, division = place.piece, place.division
            X, weight, is_gauss = division.gauss_points()
            X, weight = X[is_gauss], weight[is_gauss, None]
            row = np.zeros((len(X), 4, robot.ndof))
            row[:, :, piece.column : piece.column + piece.n] = np.swapaxes(division.basis(X)[:, :, :4], 1, 2)
            rows.append(row * weight[:, :, None])
            rest.append(division.reference.values(X, division.length)[:, :4] * weight)
        self.rest = np.concatenate(rest)
        self.rows = np.concatenate(rows).reshape(-1, robot.ndof)
        self.most_turn = 2.0 * max(np.pi, self._extremes(q)[0], self._extremes(np.zeros_like(q))[0])
        self.least_length = min(0.0, self._extremes(q)[1])

    def _extremes(self, q: Array) -> tuple[float, float]:
        """The farthest turn from point to point [rad] and the least length between points [m]."""
        strained = (self.rows @ q).reshape(-1, 4) + self.rest
        turn = np.sqrt(np.sum(strained[:, :3] ** 2, axis=1).max(initial=0.0))
        return float(turn), float(strained[:, 3].min(initial=np.inf))

    def allow(self, q: Array) -> bool:
        """Whether coordinates q (ndof,) are such a shape."""
        turn, length = self._extremes(q)
        return turn <= self.most_turn and length >= self.least_length
