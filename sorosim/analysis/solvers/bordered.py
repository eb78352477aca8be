"""Linear systems along a curve F(x, w) = 0: the Jacobian with a column for w and a row across the curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lstsq, null_space
from scipy.linalg.lapack import dgesv, dgetrf

from sorosim.base.arrays import Array

# rank tolerance: pivots and singular values of a scaled matrix below this part of the largest count as zero
RANK_TOLERANCE = 1e-6
# a slope by the parameter below this part of that of the unknowns counts as zero
NEGLIGIBLE_SLOPE = 1e-6
# rows below this part of the largest are rounding: those of rigid-body modes
ROUNDING_ROW = 1e-12
TINY = float(np.finfo(float).tiny)
# a fold: the parameter changes by less than this in a scaled null vector
FOLD_TOLERANCE = 1e-8


def scale(J: Array, unit: Array | None = None) -> Array:
    """Factors of rows and columns alike: soft and stiff coordinates, and robots of all sizes, count the same.

    unit (n,): changes of the unknowns of length one, zero where they have none. Rounding in the row of a
    rigid-body mode is not made as large as the stiffness of others.
    """
    most = np.maximum(np.abs(J).max(axis=1, initial=0.0), TINY)
    if unit is not None and (known := unit > 0.0).any():
        work = np.abs(J) * unit[:, None] * unit  # of steps of length one, which have comparable units
        free_rows = known & (work.max(axis=1) <= ROUNDING_ROW * work.max())
        most[free_rows] = np.maximum(work.max() / unit[free_rows] ** 2, most[free_rows])
    return np.asarray(1.0 / np.sqrt(most))


def equilibration(A: Array, axis: int = 1, least: float = ROUNDING_ROW) -> Array:
    """Factors that make all rows (axis 1) or columns (axis 0) of A of length one; zero for those that are rounding.

    least : that is rounding which is below this part of the largest.
    """
    size = np.linalg.norm(A, axis=axis)
    counts = size > least * size.max(initial=0.0)
    return np.asarray(np.where(counts, 1.0 / np.where(counts, size, 1.0), 0.0))


@dataclass(frozen=True)
class Scales:
    """Factors of the rows and columns of [J slope]: d (n,) of those of J, and that of the slope."""

    d: Array
    last: float

    @classmethod
    def of(cls, J: Array, slope: Array, unit: Array | None = None) -> Scales:
        """Scales of a place.

        unit (n,): changes of the unknowns of length one, zero where they have none. A slope that is negligible beside
        them is rounding, and is not scaled up.
        """
        d = scale(J, unit)
        least = 0.0 if unit is None else NEGLIGIBLE_SLOPE * float((np.abs(d[:, None] * J) * unit).max(initial=0.0))
        most = max(float(np.abs(d * slope).max(initial=0.0)), least)
        return cls(d, 1.0 / most if most > np.finfo(float).tiny else 1.0)


def solve_bordered(
    J: Array, slope: Array, row: Array, right: Array, singular: float = RANK_TOLERANCE, scales: Scales | None = None
) -> Array:
    """Solve [J slope; row] y = right; the shortest y where J has a rigid-body mode, as that of a ball on a table.

    It has one where pivots of the scaled matrix are below the part `singular` of the largest.
    """
    scales = Scales.of(J, slope) if scales is None else scales
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


def orientation(J: Array, slope: Array, row: Array, scales: Scales | None = None) -> tuple[int, float]:
    """Sign of the determinant of [J slope; row], and the least of the pivots of the scaled matrix over the largest."""
    lu, swapped, _ = dgetrf(_bordered(J, slope, row, Scales.of(J, slope) if scales is None else scales)[0])
    swaps, pivots = int((swapped != np.arange(len(swapped))).sum()), np.diag(lu)
    if not np.isfinite(pivots).all():
        return 0, 0.0
    sizes = np.abs(pivots)
    return int((-1) ** swaps * np.prod(np.sign(pivots))), float(sizes.min() / max(sizes.max(), np.finfo(float).tiny))


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
    """k columns and rows beside a matrix A that is nearly singular, which make it regular."""

    columns: Array  # (n + 1, k)
    rows: Array  # (k, n + 1)
    singular_value: float  # of A
    scales: Scales

    @classmethod
    def of(cls, J: Array, slope: Array, row: Array, scales: Scales) -> Border:
        """From the vectors of the least singular value of the scaled [J slope; row]."""
        U, s, V = np.linalg.svd(_bordered(J, slope, row, scales)[0])
        return cls(U[:, -1:], V[-1:], float(s[-1]), scales)

    @classmethod
    def of_neutral_modes(
        cls, J: Array, slope: Array, row: Array, scales: Scales, part: float, gram: Array
    ) -> Border | None:
        """From those of all singular values of [J slope; row] below a part of the largest; None without any.

        Along neutral modes the parameter is constant; that tells them from the tangent, also a null vector.
        gram (n + 1, n + 1): Gram matrix of lengths of steps. The rows measure the part of a step along these modes.
        """
        A, e, _ = _bordered(J, slope, row, scales)
        U, s, V = np.linalg.svd(A)
        k = int((s <= part * s[0]).sum())
        if not 0 < k < len(s):
            return None
        null = np.linalg.svd(A[:-1])[2][-k - 1 :]
        # at a fold the parameter is constant along the tangent, too
        modes = V[-k:] if np.abs(null[:, -1]).max() < FOLD_TOLERANCE else null_space(null[:, -1:].T).T @ null
        rows = modes * e @ gram * e
        sizes = np.linalg.norm(rows, axis=1, keepdims=True)
        measured = sizes > np.finfo(float).eps * np.linalg.norm(gram * e[:, None] * e)  # multipliers have no length
        return cls(U[:, -k:], np.where(measured, rows / np.where(measured, sizes, 1.0), modes), float(s[-1]), scales)

    def determinant(self, J: Array, slope: Array, row: Array) -> float:
        """Of [J slope; row], over that of the bordered matrix: smooth, and zero where the first one is singular."""
        A, _ = self._matrix(J, slope, row)
        return float(np.linalg.solve(A, np.eye(len(A))[-1])[-1])

    def solve(self, J: Array, slope: Array, row: Array, right: Array) -> Array:
        """Solve [J slope; row] y = right up to the columns, y orthogonal to the rows; NaN if it is singular."""
        A, last = self._matrix(J, slope, row)
        e = np.append(self.scales.d, self.scales.last)
        b = np.concatenate([self.scales.d * right[:-1], [last * right[-1]], np.zeros(len(self.rows))])
        try:
            return np.asarray(e * np.linalg.solve(A, b)[: len(e)])
        except np.linalg.LinAlgError:
            return np.full_like(right, np.nan)

    def scaled_size(self, r: Array) -> float:
        """Largest entry of a scaled residual (n,)."""
        return float(np.abs(self.scales.d * r).max(initial=0.0))

    def _matrix(self, J: Array, slope: Array, row: Array) -> tuple[Array, float]:
        """The bordered matrix, and the factor of the row below J."""
        A, _, last = _bordered(J, slope, row, self.scales)
        k = len(self.rows)
        return np.block([[A, self.columns], [self.rows, np.zeros((k, k))]]), last


def _bordered(J: Array, slope: Array, row: Array, scales: Scales) -> tuple[Array, Array, float]:
    """[J slope; row] scaled, the factors (n + 1,) of its columns, and that of its last row."""
    d = scales.d
    e = np.append(d, scales.last)
    below = row * e
    last = 1.0 / max(float(np.abs(below).max(initial=0.0)), np.finfo(float).tiny)
    top = np.hstack([d[:, None] * J * d, (d * slope * scales.last)[:, None]])
    return np.vstack([top, last * below]), e, last
