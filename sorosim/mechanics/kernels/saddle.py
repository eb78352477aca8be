"""Equations of motion under constraints, M x - A^T l = f with A x = b, by the Cholesky factor of M = U^T U.

With W = U^-T A^T and y = U x: y = U^-T f + W l, W^T y = b. Rows, and multipliers with them, are scaled to angles by
loops.row_scale. A column-pivoted factorisation W = Q R gives the rank of A; redundant rows are left out, and of all
multipliers that balance the smallest are returned.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, kernel_in_place, kernel_lazy
from sorosim.mechanics.kernels.linalg import (
    back_substitute,
    back_substitute_vector,
    forward_substitute,
    forward_substitute_vector,
)
from sorosim.mechanics.kernels.small import add_scaled

# A condition of second order, as c = x^2/2 of a straight rod that cannot be stretched, is closed up to a gap d by
# rows x up to sqrt(2 d), which mean nothing: a row whose own part, relative to the largest row of its loop, is no
# larger depends on the others. Rounding leaves gaps of some 20 eps of the loops' size. Of loops that are open, rows
# above the third number count in any case. Where the rank is known from closed loops, rows beyond it count by the
# second line only
ROUNDING_GAP = 5e-15
RANK_TOLERANCE, RANK_TOLERANCE_OPEN = sqrt(2.0 * ROUNDING_GAP), 1e-4
RANK_TOLERANCE_KNOWN, RANK_TOLERANCE_KNOWN_PER_GAP = 1e-2, 100.0
# rows of a loop without any effect, relative to the largest of all
INEFFECTIVE_LOOP = 1e-12


@by_reference
class Saddle(NamedTuple):
    """Factors of the constraints, m rows, n unknowns, and scratch."""

    Q: np.ndarray  # (m, n) orthonormal, row by row
    R: np.ndarray  # (m, m) upper triangular, columns in pivot order
    null: np.ndarray  # (m, m) orthonormal multipliers that do nothing, one a row
    order: np.ndarray  # (m,) int: pivots
    regularity: np.ndarray  # (2,) rank, and how much the weakest independent row has of its own, relative to its loop
    norm: np.ndarray  # (m,) of the largest column of W in each row's loop
    right: np.ndarray  # (m, k) right-hand sides
    product: np.ndarray  # (m, k) scratch
    columns: np.ndarray  # (n, m) scratch


def make_saddle(m: int, n: int, k: int) -> Saddle:
    """Allocate the factors of m constraints on n unknowns, for up to k right-hand sides."""
    return Saddle(
        np.zeros((m, n)), np.zeros((m, m)), np.zeros((m, m)), np.zeros(m, dtype=np.int64), np.zeros(2), np.zeros(m),
        np.zeros((m, max(k, 1))), np.zeros((m, max(k, 1))), np.zeros((n if m else 0, m)),
    )  # fmt: skip


@kernel_in_place
def dot(x, y):
    """x . y"""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@kernel_in_place
def loop_norms(loops, norm):
    """Overwrite norm (m,) by the largest of each row's loop; infinite for loops whose rows are zero."""
    largest = 0.0
    for i in range(norm.shape[0]):
        largest = max(largest, norm[i])
    for k in range(loops.row.shape[0]):
        first, end = loops.row[k].first_row, loops.row[k].first_row + loops.row[k].n_rows
        own = 0.0
        for i in range(first, end):
            own = max(own, norm[i])
        for i in range(first, end):
            norm[i] = own if own > INEFFECTIVE_LOOP * largest else np.inf


@kernel_in_place
def rank_tolerance(loops, error, known_rank):
    """Rank tolerance: a row with a smaller part independent of the others is redundant; error (m,): of the loops.

    known_rank: how many rows are independent where the loops are closed, negative if unknown; of rows beyond these.
    """
    gap = 0.0
    for i in range(error.shape[0]):
        gap = max(gap, abs(error[i]) * loops.row_scale[i])
    if known_rank >= 0:
        return max(RANK_TOLERANCE_KNOWN, RANK_TOLERANCE_KNOWN_PER_GAP * gap)
    return min(sqrt(2.0 * (ROUNDING_GAP + gap)), RANK_TOLERANCE_OPEN)


@kernel_lazy("loops")
def factor_constraints(loops, U, A, error, known_rank, known, saddle) -> None:
    """Factor W = Q R with pivoting, columns of known coordinates left out; fills rank and least pivot.

    known_rank: as of `rank_tolerance`.
    """
    m, n = A.shape
    Q, R, order, norm, columns = saddle.Q, saddle.R, saddle.order, saddle.norm, saddle.columns
    for i in range(n):
        for j in range(m):
            columns[i, j] = 0.0 if known[i] else loops.row_scale[j] * A[j, i]
    forward_substitute(U, columns)
    for j in range(m):
        for i in range(n):
            Q[j, i] = columns[i, j]
        order[j] = j
        norm[j] = sqrt(dot(Q[j], Q[j]))
        for i in range(m):
            R[i, j] = 0.0
    loop_norms(loops, norm)
    rank, least, beyond = 0, 1.0, rank_tolerance(loops, error, known_rank)
    for k in range(m):
        # the column of which most is left
        best, largest = k, -1.0
        for j in range(k, m):
            remaining = sqrt(dot(Q[j], Q[j])) / norm[order[j]]
            if remaining > largest:
                best, largest = j, remaining
        if not largest > (RANK_TOLERANCE if k < known_rank else beyond):
            break
        least = min(least, largest)
        if best != k:
            for i in range(n):
                Q[k, i], Q[best, i] = Q[best, i], Q[k, i]
            for i in range(k):
                R[i, k], R[i, best] = R[i, best], R[i, k]
            order[k], order[best] = order[best], order[k]
        # reorthogonalise: one pass of Gram-Schmidt leaves rounding of the size of the removed part
        for i in range(k):
            again = dot(Q[i], Q[k])
            R[i, k] += again
            add_scaled(-again, Q[i], Q[k])
        R[k, k] = sqrt(dot(Q[k], Q[k]))
        for i in range(n):
            Q[k, i] /= R[k, k]
        for j in range(k + 1, m):
            R[k, j] = dot(Q[k], Q[j])
            add_scaled(-R[k, j], Q[k], Q[j])
        rank += 1
    null_multipliers(rank, saddle)
    saddle.regularity[0], saddle.regularity[1] = rank, least


@kernel_in_place
def null_multipliers(rank, saddle):
    """Rows of saddle.null from `rank` on: an orthonormal basis of W l = 0."""
    R, null, order = saddle.R, saddle.null, saddle.order
    m = R.shape[0]
    for j in range(rank, m):
        z = null[j]
        for i in range(m):
            z[i] = 0.0
        z[order[j]] = 1.0
        for i in range(rank - 1, -1, -1):
            total = -R[i, j]
            for c in range(i + 1, rank):
                total -= R[i, c] * z[order[c]]
            z[order[i]] = total / R[i, i]
        for i in range(rank, j):
            add_scaled(-dot(null[i], z), null[i], z)
        size = sqrt(dot(z, z))
        for i in range(m):
            z[i] /= size


@kernel_lazy("loops")
def solve_constrained(loops, U, saddle, x, multiplier) -> None:
    """Overwrite x (n,), the force f, with the solution for b = saddle.right[:, 0]; fills multiplier (m,)."""
    Q, R, order, b = saddle.Q, saddle.R, saddle.order, saddle.right[:, 0]
    m, rank = R.shape[0], int(saddle.regularity[0])
    forward_substitute_vector(U, x)
    for i in range(m):
        multiplier[i] = 0.0
    # z = Q^T y from R^T z = b; then R l = z - Q^T y_0
    z = saddle.product[:, 0]
    for i in range(rank):
        total = loops.row_scale[order[i]] * b[order[i]]
        for c in range(i):
            total -= R[c, i] * z[c]
        z[i] = total / R[i, i]
    for i in range(rank):
        z[i] -= dot(Q[i], x)
    for i in range(rank):
        add_scaled(z[i], Q[i], x)
    for i in range(rank - 1, -1, -1):
        total = z[i]
        for c in range(i + 1, rank):
            total -= R[i, c] * multiplier[order[c]]
        multiplier[order[i]] = total / R[i, i]
    if rank < m:
        # of open loops null multipliers do a little
        change = saddle.product[:, 0]
        for i in range(m):
            change[i] = multiplier[i]
        for j in range(rank, m):
            add_scaled(-dot(saddle.null[j], multiplier), saddle.null[j], multiplier)
        for i in range(m):
            change[i] = multiplier[i] - change[i]
        for r in range(x.shape[0]):
            x[r] += dot(saddle.columns[r], change)
    for i in range(m):
        multiplier[i] *= loops.row_scale[i]
    back_substitute_vector(U, x)


@kernel_lazy("loops")
def solve_constrained_columns(loops, U, saddle, X) -> None:
    """Overwrite X (n, k), forces, with the solutions x for b = saddle.right[:, :k]."""
    Q, R, order, b = saddle.Q, saddle.R, saddle.order, saddle.right
    n, k, rank = X.shape[0], X.shape[1], int(saddle.regularity[0])
    forward_substitute(U, X)
    Z = saddle.product[:, :k]
    for i in range(rank):
        z = Z[i]
        for j in range(k):
            z[j] = loops.row_scale[order[i]] * b[order[i], j]
        for c in range(i):
            add_scaled(-R[c, i], Z[c], z)
        for j in range(k):
            z[j] /= R[i, i]
    for i in range(rank):
        for r in range(n):
            add_scaled(-Q[i, r], X[r], Z[i])
    for i in range(rank):
        for r in range(n):
            add_scaled(Q[i, r], Z[i], X[r])
    back_substitute(U, X)
