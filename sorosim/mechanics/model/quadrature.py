"""Quadrature along a division of unit length: Gauss-Legendre panels between the kinks of the strain basis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.base.arrays import Array, Mask
from sorosim.base.errors import ModelError
from sorosim.base.validation import describe
from sorosim.mechanics.model.basis import STRAINS, Strain

MAX_N_GAUSS = 1000
# nodes for a half turn beyond a whole one: their widest interval, pi/2 times the mean, turns by pi^2/4 < pi
FURTHER = 2
ROUNDING = 1e-9


def gauss_panels(n_gauss: int, breakpoints: Sequence[float] = ()) -> tuple[Array, Array, Mask]:
    """Points and weights on [0, 1].

    Parameters
    ----------
    n_gauss : int
        Gauss-Legendre nodes in every panel; polynomials of degree 2 n_gauss - 1 in each are integrated exactly.
    breakpoints : sequence of float
        Interior ends of the panels, increasing.

    Returns
    -------
    x : (n,) ndarray
        Ascending: 0, the nodes of the first panel, the first breakpoint, ..., 1.
    w : (n,) ndarray
        Weights, summing to 1; those of the ends and of the breakpoints are 0.
    is_gauss : (n,) ndarray of bool
        Which of them are Gauss nodes.
    """
    _check_count("n_gauss", n_gauss)
    edges = np.array([0.0, *breakpoints, 1.0])
    if not np.all(np.diff(edges) > 0.0):
        raise ModelError("breakpoints", "places increasing between 0 and 1", describe(list(breakpoints)))
    t, w = np.polynomial.legendre.leggauss(n_gauss)
    width = np.diff(edges)[:, None]
    # one row a panel: its left edge, then its nodes
    x = np.hstack([edges[:-1, None], edges[:-1, None] + width * (1.0 + t) / 2.0])
    weight = np.hstack([np.zeros_like(width), width * w / 2.0])
    is_gauss = np.append(np.tile([False] + n_gauss * [True], len(width)), False)
    return np.append(x.ravel(), 1.0), np.append(weight.ravel(), 0.0), is_gauss


def default_n_gauss(strain: Strain, turn: float = 0.0) -> int:
    """Gauss nodes a panel that are safe when the user names none.

    The stiffness of a linearly tapered round section is a polynomial of degree 4 along the rod, so with basis
    functions of degree p its integrand has degree 2 p + 4: p + 3 nodes are exact. At least 5, since mass and loads
    need some too, and never so few that the stiffness would be singular. For bases that are not polynomials p is the
    effective degree of the basis (`Basis.degree`).

    Where the rod winds there are as many for each of the first two half turns, since what is missing from the poses is
    of fourth order in the turn from one to the next (docs/theory.md, 2): it falls as orders rise, as it does for rods
    that do not wind. Each further half turn has `FURTHER`: errors of one turn cancel those of the next.

    Parameters
    ----------
    strain : Strain
    turn : float
        How far sections and routes turn in a panel, unloaded [rad].
    """
    n = max(5, strain.degree + 3, minimum_n_gauss(strain))
    half_turns = turn / math.pi
    wound = n * min(half_turns, 2.0) + FURTHER * max(half_turns - 2.0, 0.0)
    return max(n, min(math.ceil(wound - ROUNDING), MAX_N_GAUSS))


@lru_cache(maxsize=256)
def minimum_n_gauss(strain: Strain) -> int:
    """Fewest Gauss nodes a panel with which the stiffness is nonsingular.

    That is: the functions of each strain, sampled at the Gauss nodes, are linearly independent. At least 1, and at
    least the number of functions of the richest strain over the number of panels.
    """
    breakpoints, needed = strain.breakpoints, 1

    def independent(one: str, n_gauss: int) -> bool:
        x, _, is_gauss = gauss_panels(n_gauss, breakpoints)
        return _independent(strain.functions(one, x[is_gauss]))

    for one, count in zip(STRAINS, strain.count_per_strain, strict=True):
        too_few, enough = needed, max(needed, -(-count // (len(breakpoints) + 1)))
        if not independent(one, enough):
            too_few, enough = enough, enough + count
            if not independent(one, enough):
                raise ModelError(
                    f"strain.{one}",
                    "functions that are linearly independent in double precision",
                    f"{count} functions of {getattr(strain, one)[0]}",
                    "lower the order, or use legendre",
                )
            while enough - too_few > 1:
                middle = (too_few + enough) // 2
                too_few, enough = (too_few, middle) if independent(one, middle) else (middle, enough)
        needed = enough
    return needed


def check_n_gauss(n_gauss: int, strain: Strain) -> None:
    """Refuse fewer nodes a panel than the stiffness needs."""
    needed = minimum_n_gauss(strain)
    if n_gauss < needed:
        panel = "" if not strain.breakpoints else " in each panel"
        raise ModelError(
            "quadrature",
            f"at least {needed} Gauss points{panel}",
            f"{n_gauss}",
            "with fewer, some strain coordinates have no stiffness; lower their order or add points",
        )


def _check_count(where: str, n_gauss: object) -> None:
    if isinstance(n_gauss, bool) or not isinstance(n_gauss, int | np.integer) or not 1 <= n_gauss <= MAX_N_GAUSS:
        raise ModelError(where, f"a number of Gauss points from 1 to {MAX_N_GAUSS}", describe(n_gauss))


def _independent(sampled: NDArray[Any]) -> bool:
    if sampled.shape[1] == 0:
        return True
    norms = np.linalg.norm(sampled, axis=0)
    # a function that vanishes at all nodes keeps its zero column
    singular = np.linalg.svd(sampled / np.where(norms > 0.0, norms, 1.0), compute_uv=False)
    # the stiffness has the squares of these: below sqrt(eps) it is singular in double precision
    return sampled.shape[0] >= sampled.shape[1] and bool(singular[-1] > 1.5e-8 * singular[0])
