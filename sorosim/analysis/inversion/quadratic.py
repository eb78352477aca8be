"""Quadratic programs and small dense algebra of inverse statics."""

from __future__ import annotations

from math import sqrt

import daqp
import numpy as np
from scipy.linalg.lapack import dpotrf, dsytrf

from sorosim.base.arrays import Array

# least cosine between a step and the change of gradient that a secant update takes over: rank one has poles
OBLIQUE = 0.1
# of the trace of a semidefinite matrix, added to its diagonal: the first that DAQP can do with
PROXIMAL = (1e-9, 1e-6, 1e-3)
DAQP_EQUALITY, DAQP_DONE = 5, 1
DAQP_SETTINGS = {"primal_tol": 1e-12, "dual_tol": 1e-12}


def least(H: Array, f: Array, low: Array, high: Array) -> Array:
    """The z of least z^T H z / 2 + f^T z with low <= z <= high, H semidefinite; 0 where none is found."""
    size, no_rows = (float(np.trace(H)) or 1.0) * np.eye(len(f)), np.empty((0, len(f)))
    for part in PROXIMAL:
        z, _, flag, _ = daqp.solve(H + part * size, f, no_rows, high, low, **DAQP_SETTINGS)
        if flag == DAQP_DONE:
            return clipped(z, low, high)
    return np.zeros(len(f))


def constrained(H: Array, f: Array, low: Array, high: Array, A: Array, b: Array) -> tuple[Array, Array] | None:
    """The same with A z = b and H definite, and the multipliers m of these rows: H z + f + A^T m = 0 but for bounds.

    None where there is none.
    """
    n, sense = len(f), np.zeros(len(f) + len(b), dtype=np.int32)
    sense[n:] = DAQP_EQUALITY
    upper, lower = np.concatenate([high, b]), np.concatenate([low, b])
    z, _, flag, info = daqp.solve(H, f, np.ascontiguousarray(A), upper, lower, sense, **DAQP_SETTINGS)
    return (clipped(z, low, high), info["lam"][n:]) if flag == DAQP_DONE else None


def secant(S: Array, step: Array, y: Array) -> Array:
    """Symmetric rank-one update of a second derivative S (n, n), which changes y over a step.

    Sized first, so that it vanishes with what it is weighed by. Source: Dennis, Gay, Welsch, ACM TOMS 7 (1981).
    """
    moved = S @ step
    along = float(step.dot(moved))
    part = min(1.0, abs(float(step.dot(y)) / along)) if along else 1.0
    S, r = part * S, y - part * moved
    bottom = float(r.dot(step))
    if abs(bottom) > OBLIQUE * norm(r) * norm(step):
        S += r[:, None] * (r / bottom)
    return S


def is_definite(S: Array) -> bool:
    """Whether a symmetric matrix is positive definite."""
    return not dpotrf(S)[1]


def negative_eigenvalues(S: Array) -> int | None:
    """How many a symmetric matrix has (Sylvester's law of inertia); None where it is singular.

    Of a 2 x 2 pivot of Bunch and Kaufman one eigenvalue is negative.
    """
    factor, pivots, failed = dsytrf(S)
    return None if failed else int((np.diag(factor)[pivots > 0] < 0.0).sum() + (pivots < 0).sum() // 2)


# -- what numpy does for short vectors too, in several times the time ------------------------------------------------


def norm(x: Array) -> float:
    """Euclidean norm of a vector."""
    return sqrt(x.dot(x))


def clipped(x: Array, low: Array, high: Array) -> Array:
    """`numpy.clip` of a vector."""
    return np.minimum(np.maximum(x, low), high)


def largest(x: Array) -> float:
    """Largest absolute value of a vector."""
    return float(max(map(abs, x.tolist())))
