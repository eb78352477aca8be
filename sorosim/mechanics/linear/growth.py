"""Motions about an equilibrium that grow: how many, and whether by divergence (buckling) or by flutter."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from sorosim.base.arrays import Array
from sorosim.mechanics.linear.eigenmodes import EPS, NEUTRAL, NOISE, congruent, is_symmetric, stiffness_rounding

# squares of frequencies that have met are apart by this part along the imaginary axis, the root of rounding
COALESCENCE = 1e-6


class Growth(NamedTuple):
    """Motions about an equilibrium that grow."""

    buckling: int = 0  # divergence, without oscillating: real positive eigenvalues
    flutter: int = 0  # pairs of complex eigenvalues with positive real parts, as loads without a potential cause

    @property
    def unstable(self) -> int:
        """How many eigenvalues have positive real parts."""
        return self.buckling + 2 * self.flutter

    @property
    def words(self) -> str:
        """How: divergence, flutter, or both; "" where nothing grows."""
        return " and ".join(["divergence"] * bool(self.buckling) + ["flutter"] * bool(self.flutter))


def growing(M: Array, D: Array, K: Array) -> Growth:
    """Motions of M qdd + D qd + K q = 0 that grow.

    Where K and D are symmetric and D takes energy, the number of negative eigenvalues of K, whatever M and D are
    (Kelvin, Tait and Chetaev). Otherwise the eigenvalues of the motion tell, without damping their squares: then a pair
    of frequencies that have met is flutter, and frequencies that differ are no motion that grows.

    Raises
    ------
    numpy.linalg.LinAlgError
        M is not positive definite where it matters.
    """
    n = len(K)
    if not n:
        return Growth()
    # scaled by stiffness and inertia, so that coordinates without stiffness count too
    d = 1.0 / np.sqrt(np.maximum((np.abs(K) + np.abs(M)).max(axis=1), np.finfo(float).tiny))
    scaled_K, scaled_D = d[:, None] * K * d, d[:, None] * D * d
    symmetric = is_symmetric(scaled_K) and is_symmetric(scaled_D)
    if symmetric and np.linalg.eigvalsh(scaled_D)[0] >= -NOISE * np.abs(scaled_D).max():
        values, vectors = np.linalg.eigh(scaled_K)
        noise = stiffness_rounding(K) * np.sum((d[:, None] * vectors) ** 2, axis=0)
        return Growth(int((values < -NEUTRAL - noise).sum()))
    if not D.any():
        squares = -np.linalg.eigvals(scipy.linalg.cho_solve(scipy.linalg.cho_factor(M), K))
        meets = np.abs(squares.imag) > COALESCENCE * np.abs(squares)
        return Growth(int((~meets & (squares.real > 0.0)).sum()), int(meets.sum()) // 2)
    eigenvalues = eigenpairs(M, D, K)[0]
    size = np.abs(eigenvalues)
    grows = eigenvalues.real > NOISE * size + 2 * n * EPS * size.max()
    turns = np.abs(eigenvalues.imag) > NOISE * size
    return Growth(int((grows & ~turns).sum()), int((grows & turns).sum()) // 2)


def is_neutral(M: Array, K: Array) -> bool:
    """Whether a motion without a force is left in K q: the equilibrium is not isolated, or at a fold.

    K need not be symmetric. Scaled as in `growing`; a singular value is zero where it is no more than the rounding of K
    along its motion, or lets the motion grow within days only.
    """
    if not len(K):
        return False
    d = 1.0 / np.sqrt(np.maximum((np.abs(K) + np.abs(M)).max(axis=1), np.finfo(float).tiny))
    _, sizes, motions = np.linalg.svd(d[:, None] * K * d)
    return bool((sizes <= NEUTRAL + stiffness_rounding(K) * np.sum((d * motions) ** 2, axis=1)).any())


def eigenpairs(M: Array, D: Array, K: Array) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """Eigenvalues (2 n,) [1/s] of M qdd + D qd + K q = 0, and shapes (n, 2 n) of q.

    In coordinates in which M is the unit matrix: symmetric where D and K are, and well scaled. LinAlgError where M is
    not positive definite.
    """
    n, U = len(K), scipy.linalg.cholesky(M)
    values, vectors = np.linalg.eig(np.block([[np.zeros((n, n)), np.eye(n)], [-congruent(K, U), -congruent(D, U)]]))
    return values.astype(complex), np.asarray(scipy.linalg.solve_triangular(U, vectors[:n]), dtype=complex)
