"""Linear analysis of M qdd + D qd + K q = B u: eigenvalues, natural frequencies, modes, stability."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Array = NDArray[np.float64]

# relative to the largest entry or eigenvalue: above this a matrix is not symmetric, a growth rate not rounding
_NOISE = 1e-9
# squares of frequencies that have met are apart by this part along the imaginary axis, the root of rounding
_MEET = 1e-6


class Linearization(NamedTuple):
    """Motion about an equilibrium, d/dt [dq; dqd] = A [dq; dqd] + B du."""

    A: Array  # (2 ndof, 2 ndof)
    B: Array  # (2 ndof, n_actuators)
    eigenvalues: NDArray[np.complex128]  # (2 ndof,) of A, by falling real part
    frequencies: Array  # (ndof,) undamped natural frequencies [Hz], rising; NaN where the stiffness is not positive
    modes: Array  # (ndof, ndof) their shapes, one a column, scaled to phi^T M phi = 1
    stable: bool  # whether small motions stay small


class Growth(NamedTuple):
    """Motions about an equilibrium that grow."""

    buckling: int = 0  # without oscillating: real positive eigenvalues
    flutter: int = 0  # pairs of complex eigenvalues with positive real parts

    @property
    def unstable(self) -> int:
        """How many eigenvalues have positive real parts."""
        return self.buckling + 2 * self.flutter


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
    # what has no spring moves as far as its inertia lets it in a second
    d = 1.0 / np.sqrt(np.maximum((np.abs(K) + np.abs(M)).max(axis=1), np.finfo(float).tiny))
    scaled_K, scaled_D = d[:, None] * K * d, d[:, None] * D * d
    symmetric = all(bool((np.abs(X - X.T) <= _NOISE * np.abs(X).max()).all()) for X in (scaled_K, scaled_D))
    if symmetric and np.linalg.eigvalsh(scaled_D)[0] >= -_NOISE * np.abs(scaled_D).max():
        return Growth(int((np.linalg.eigvalsh(scaled_K) < -n * np.finfo(float).eps).sum()))
    if not D.any():
        squares = -np.linalg.eigvals(scipy.linalg.cho_solve(scipy.linalg.cho_factor(M), K))
        meets = np.abs(squares.imag) > _MEET * np.abs(squares)
        return Growth(int((~meets & (squares.real > 0.0)).sum()), int(meets.sum()) // 2)
    found = linearize(M, D, K, np.zeros((n, 0))).eigenvalues
    size = np.abs(found)
    grows = found.real > _NOISE * size + 2 * n * np.finfo(float).eps * size.max()
    turns = np.abs(found.imag) > _NOISE * size
    return Growth(int((grows & ~turns).sum()), int((grows & turns).sum()) // 2)


def linearize(M: Array, D: Array, K: Array, B: Array) -> Linearization:
    """Linearise M qdd + D qd + K q = B u.

    Parameters
    ----------
    M, D, K : (n, n)
        Mass, damping and tangent stiffness. M is symmetric positive definite; D and K need not be symmetric.
    B : (n, m)
        Input matrix.

    Raises
    ------
    numpy.linalg.LinAlgError
        M is not positive definite.
    """
    n = len(M)
    U = scipy.linalg.cholesky(M)

    def scaled(X: Array) -> Array:
        half = scipy.linalg.solve_triangular(U, X, trans="T")
        return np.asarray(scipy.linalg.solve_triangular(U, half.T, trans="T").T)

    # coordinates in which M is the unit matrix: symmetric where K and D are, and well scaled
    K_1, D_1 = scaled(K), scaled(D)
    eigenvalues = np.linalg.eigvals(np.block([[np.zeros((n, n)), np.eye(n)], [-K_1, -D_1]])).astype(complex)
    eigenvalues = eigenvalues[np.argsort(-eigenvalues.real, kind="stable")]
    if np.abs(K_1 - K_1.T).max(initial=0.0) <= _NOISE * np.abs(K_1).max(initial=0.0):
        squares, shapes = scipy.linalg.eigh(0.5 * (K_1 + K_1.T))
        rounding = n * np.finfo(float).eps * np.abs(squares).max(initial=0.0)
        stable = bool(squares.min(initial=np.inf) > rounding)
    else:
        complex_squares, complex_shapes = scipy.linalg.eig(K_1)
        order = np.argsort(complex_squares.real, kind="stable")
        squares, shapes = complex_squares.real[order], complex_shapes.real[:, order]
        # against its own size: fast damped modes, however fast, must not hide that a slow one grows
        size = np.abs(eigenvalues)
        rounding = 2 * n * np.finfo(float).eps * size.max(initial=0.0)
        stable = bool((eigenvalues.real <= _NOISE * size + rounding).all())
    with np.errstate(invalid="ignore"):
        frequencies = np.sqrt(squares) / (2.0 * np.pi)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-scipy.linalg.cho_solve((U, False), np.hstack([K, D]))]])
    inputs = np.vstack([np.zeros_like(B), scipy.linalg.cho_solve((U, False), B)])
    return Linearization(A, inputs, eigenvalues, frequencies, scipy.linalg.solve_triangular(U, shapes), stable)
