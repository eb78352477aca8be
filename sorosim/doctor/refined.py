"""The same robot with a richer basis and more Gauss points in every rod, and its states seen from there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sorosim.errors import ModelError
from sorosim.model.basis import STRAINS, ElementBasis, Strain, get_basis
from sorosim.model.quadrature import default_n_gauss, minimum_n_gauss
from sorosim.model.rod import Division, Rod
from sorosim.robot import Robot

Array = NDArray[np.float64]

RICHER = 2  # orders
SAME_SPACE = {"monomial": "legendre"}


def refined(robot: Robot, richer: int = RICHER) -> Robot:
    """The robot with `richer` more orders in every free strain, elements split in two, and Gauss points for that."""
    links = tuple(
        link if link.rod is None else replace(link, body=Rod(tuple(_division(d, richer) for d in link.rod.divisions)))
        for link in robot.links
    )
    return Robot(replace(robot.description, links=links, sensors={}))


def _division(division: Division, richer: int) -> Division:
    strain = richer_basis(division.strain, richer)
    assert division.n_gauss is not None  # for the type checker: set at the door
    n_gauss = max(division.n_gauss + richer, default_n_gauss(strain))
    return replace(division, strain=strain, quadrature=n_gauss)


def richer_basis(strain: Strain, richer: int) -> Strain:
    """A basis with more functions of each free strain; one that has no higher order stays as it is."""
    entries = {}
    for name in STRAINS:
        entry = getattr(strain, name)
        if entry is None:
            continue
        basis, order = entry
        elements = isinstance(get_basis(basis), ElementBasis)
        higher = order * 2 ** (richer // 2) if elements else order + (richer // 2 if basis == "fourier" else richer)
        # powers span the polynomials, but are soon dependent in double precision
        entries[name] = (SAME_SPACE.get(basis, basis), higher)
        try:
            minimum_n_gauss(Strain(**{name: entries[name]}))
        except ModelError:
            entries[name] = entry
    return Strain(**entries)


def transfer(robot: Robot, fine: Robot) -> Array:
    """T (n_fine, n): coordinates of the finer robot in the same shape, as nearly as its bases can."""
    T = np.zeros((fine.ndof, robot.ndof))
    for name, layout in robot.engine.layout.links.items():
        other = fine.engine.layout.links[name]
        for i in range(layout.n_joint):
            T[other.column + i, layout.column + i] = 1.0
        for piece, finer in zip(layout.pieces, other.pieces, strict=True):
            n = max(piece.n, finer.n)
            x = 0.5 - 0.5 * np.cos(np.pi * (np.arange(4 * n + 4) + 0.5) / (4 * n + 4))
            a, b = piece.division.strain.values(x), finer.division.strain.values(x)
            for row in range(len(STRAINS)):
                old, new = (np.flatnonzero(p.division.strain.rows == row) for p in (piece, finer))
                if len(old):
                    T[np.ix_(finer.column + new, piece.column + old)] = np.linalg.lstsq(
                        b[:, new], a[:, old], rcond=None
                    )[0]
    return T
