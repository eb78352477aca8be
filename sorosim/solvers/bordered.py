"""Linear systems along a curve F(x, w) = 0: the Jacobian with a column for w and a row across the curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq
from scipy.linalg.lapack import dgesv, dgetrf

Array = NDArray[np.float64]

# pivots and singular values of a scaled matrix below this part of the largest count as zero
OPEN_MOTION = 1e-6
# a parameter that does less than this part of what the unknowns do does nothing
NOTHING = 1e-6


def scale(J: Array) -> Array:
    """Factors of rows and columns alike: soft and stiff coordinates, and robots of all sizes, count the same."""
    return np.asarray(1.0 / np.sqrt(np.maximum(np.abs(J).max(axis=1), np.finfo(float).tiny)))


@dataclass(frozen=True)
class Scales:
    """Factors of the rows and columns of [J slope]: d (n,) of those of J, and that of the slope."""

    d: Array
    last: float

    @classmethod
    def of(cls, J: Array, slope: Array, unit: Array | None = None) -> Scales:
        """Scales of a place.

        unit (n,): changes of the unknowns of length one, zero where they have none. A slope that is nothing beside what
        these do is rounding, and is not made any larger.
        """
        d = scale(J)
        least = 0.0 if unit is None else NOTHING * float((np.abs(d[:, None] * J) * unit).max(initial=0.0))
        most = max(float(np.abs(d * slope).max(initial=0.0)), least)
        return cls(d, 1.0 / most if most > np.finfo(float).tiny else 1.0)


def across(J: Array, slope: Array, row: Array, right: Array, singular: float = OPEN_MOTION) -> Array:
    """Solve [J slope; row] y = right; the shortest y where J leaves a motion open, as that of a ball on a table.

    Pivots of the scaled matrix below the part `singular` of the largest tell that it does.
    """
    scales = Scales.of(J, slope)
    A, e, last = _bordered(J, slope, row, scales)
    d = scales.d
    b = np.append(d * right[:-1], last * right[-1])
    lu, _, y, info = dgesv(A, b)
    pivots = np.abs(np.diag(lu))
    if info != 0 or not pivots.min() > singular * pivots.max():
        if not (np.isfinite(A).all() and np.isfinite(b).all()):
            return np.full_like(b, np.nan)
        try:
            y = lstsq(A, b, cond=singular, check_finite=False)[0]
        except (ValueError, np.linalg.LinAlgError):
            return np.full_like(b, np.nan)
    return np.asarray(e * y)


def orientation(J: Array, slope: Array, row: Array) -> int:
    """Sign of the determinant of [J slope; row]."""
    lu, pivots, _ = dgetrf(_bordered(J, slope, row, Scales.of(J, slope))[0])
    swaps = int((pivots != np.arange(len(pivots))).sum())
    return int((-1) ** swaps * np.prod(np.sign(np.diag(lu))))


def null_vectors(J: Array, slope: Array, scales: Scales) -> tuple[Array, Array, Array]:
    """Right vectors (n + 1, n + 1) as rows, left ones (n, n) as columns, and singular values (n,) of [J slope].

    Those of the scaled matrix, the vectors scaled back: of a singular value that is zero they are null vectors. The
    last right vector belongs to no singular value. The scales are those of a place nearby, or nothing is ever singular.
    """
    A, e, _ = _bordered(J, slope, np.ones(len(J) + 1), scales)
    U, s, V = np.linalg.svd(A[:-1])
    return V * e, scales.d[:, None] * U, s


@dataclass(frozen=True)
class Border:
    """A column and a row beside a matrix A that is nearly singular, which make it regular."""

    column: Array
    row: Array
    least: float  # singular value of A
    scales: Scales

    @classmethod
    def of(cls, J: Array, slope: Array, row: Array, scales: Scales) -> Border:
        """From the vectors of the least singular value of the scaled [J slope; row]."""
        U, s, V = np.linalg.svd(_bordered(J, slope, row, scales)[0])
        return cls(U[:, -1], V[-1], float(s[-1]), scales)

    def determinant(self, J: Array, slope: Array, row: Array) -> float:
        """Of [J slope; row], over that of the bordered matrix: smooth, and zero where the first one is singular."""
        A = _bordered(J, slope, row, self.scales)[0]
        n = len(A)
        bordered = np.block([[A, self.column[:, None]], [self.row[None], np.zeros((1, 1))]])
        return float(np.linalg.solve(bordered, np.eye(n + 1)[n])[n])


def _bordered(J: Array, slope: Array, row: Array, scales: Scales) -> tuple[Array, Array, float]:
    """[J slope; row] scaled, the factors (n + 1,) of its columns, and that of its last row."""
    d = scales.d
    e = np.append(d, scales.last)
    below = row * e
    last = 1.0 / max(float(np.abs(below).max(initial=0.0)), np.finfo(float).tiny)
    top = np.hstack([d[:, None] * J * d, (d * slope * scales.last)[:, None]])
    return np.vstack([top, last * below]), e, last
