"""Linear analysis of M qdd + D qd + K q = B u: eigenvalues, natural frequencies, modes, stability."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Array = NDArray[np.float64]

# relative to the largest entry or eigenvalue: above this a matrix is not symmetric, a growth rate not rounding
_NOISE = 1e-9


class Linearization(NamedTuple):
    """Motion about an equilibrium, d/dt [dq; dqd] = A [dq; dqd] + B du."""

    A: Array  # (2 ndof, 2 ndof)
    B: Array  # (2 ndof, n_actuators)
    eigenvalues: NDArray[np.complex128]  # (2 ndof,) of A, by falling real part
    frequencies: Array  # (ndof,) undamped natural frequencies [Hz], rising; NaN where the stiffness is not positive
    modes: Array  # (ndof, ndof) their shapes, one a column, scaled to phi^T M phi = 1
    stable: bool  # whether small motions stay small


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
