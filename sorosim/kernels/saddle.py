"""Equations of motion under constraints, M x - A^T l = f with A x = b, by the Cholesky factor of M = U^T U.

With W = U^-T A^T and y = U x: y = U^-T f + W l, W^T y = b. A column-pivoted factorisation W = Q R tells which rows of A
depend on others; what they ask for is then met by the others, and of all multipliers that do it the smallest are given.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from sorosim.compiled import kernel_in_place
from sorosim.kernels.linalg import (
    back_substitute,
    back_substitute_vector,
    forward_substitute,
    forward_substitute_vector,
)
from sorosim.kernels.small import copy

# a column of W of which less than this part of the largest one is left counts as dependent on those before
DEPENDENT = 1e-9


class Saddle(NamedTuple):
    """Factors of the constraints, m rows, n unknowns, and room."""

    W: np.ndarray  # (m, n) W^T = A U^-1, row by row
    Q: np.ndarray  # (m, n) orthonormal, row by row
    R: np.ndarray  # (m, m) upper triangular, columns in pivot order
    null: np.ndarray  # (m, m) multipliers that do nothing, one a row
    order: np.ndarray  # (m,) int: pivots
    regularity: np.ndarray  # (2,) rank, and least pivot of it, relative to the largest column of W
    norm: np.ndarray  # (m,) of the columns of W
    right: np.ndarray  # (m, k) right-hand sides
    product: np.ndarray  # (m, k) scratch
    columns: np.ndarray  # (n, m) scratch


def make_saddle(m: int, n: int, k: int) -> Saddle:
    """Allocate the factors of m constraints on n unknowns, for up to k right-hand sides."""
    return Saddle(
        np.zeros((m, n)), np.zeros((m, n)), np.zeros((m, m)), np.zeros((m, m)), np.zeros(m, dtype=np.int64),
        np.zeros(2), np.zeros(m), np.zeros((m, max(k, 1))), np.zeros((m, max(k, 1))), np.zeros((n if m else 0, m)),
    )  # fmt: skip


@kernel_in_place
def dot(x, y):
    """x . y"""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@kernel_in_place
def add_scaled(scale, x, out):
    """out += scale x."""
    for i in range(x.shape[0]):
        out[i] += scale * x[i]


@kernel_in_place
def factor_constraints(U, A, known, saddle):
    """Factor W = Q R with pivoting, columns of known coordinates left out; fills rank and least pivot."""
    m, n = A.shape
    W, Q, R, order, columns = saddle.W, saddle.Q, saddle.R, saddle.order, saddle.columns
    for i in range(n):
        for j in range(m):
            columns[i, j] = 0.0 if known[i] else A[j, i]
    forward_substitute(U, columns)
    largest = 0.0
    for j in range(m):
        for i in range(n):
            W[j, i] = columns[i, j]
            Q[j, i] = columns[i, j]
        order[j] = j
        saddle.norm[j] = sqrt(dot(W[j], W[j]))
        largest = max(largest, saddle.norm[j])
        for i in range(m):
            R[i, j] = 0.0
    rank, least = 0, 1.0
    for k in range(m):
        # the column of which most is left
        best, left = k, -1.0
        for j in range(k, m):
            remains = dot(Q[j], Q[j])
            if remains > left:
                best, left = j, remains
        left = sqrt(left)
        if not left > DEPENDENT * largest:
            break
        least = min(least, left / largest)
        if best != k:
            for i in range(n):
                Q[k, i], Q[best, i] = Q[best, i], Q[k, i]
            for i in range(k):
                R[i, k], R[i, best] = R[i, best], R[i, k]
            order[k], order[best] = order[best], order[k]
        # once more against those before: one pass leaves rounding of the size of what was taken
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
    """Rows of saddle.null from `rank` on: a basis of W l = 0, orthonormal in the metric of the columns of W."""
    R, null, order, norm = saddle.R, saddle.null, saddle.order, saddle.norm
    m, floor = R.shape[0], 0.0
    for j in range(m):
        floor = max(floor, norm[j])
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
            add_scaled(-metric(null[i], z, norm, floor), null[i], z)
        size = sqrt(metric(z, z, norm, floor))
        for i in range(m):
            z[i] /= size


@kernel_in_place
def metric(x, y, norm, floor):
    """Product of two multipliers, each row weighted by the size of its column of W; rows without one by a trifle."""
    total = 0.0
    for i in range(x.shape[0]):
        weight = max(norm[i], DEPENDENT * floor)
        total += x[i] * y[i] * weight * weight
    return total


@kernel_in_place
def solve_constrained(U, saddle, x, multiplier):
    """Overwrite x (n,), the force f, with the solution for b = saddle.right[:, 0]; fills multiplier (m,)."""
    Q, R, order, norm, b = saddle.Q, saddle.R, saddle.order, saddle.norm, saddle.right[:, 0]
    m, rank = R.shape[0], int(saddle.regularity[0])
    forward_substitute_vector(U, x)
    for i in range(m):
        multiplier[i] = 0.0
    # z = Q^T y from R^T z = b; then R l = z - Q^T y_0
    z = saddle.product[:, 0]
    for i in range(rank):
        total = b[order[i]]
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
    floor = 0.0
    for j in range(m):
        floor = max(floor, norm[j])
    for j in range(rank, m):
        add_scaled(-metric(saddle.null[j], multiplier, norm, floor), saddle.null[j], multiplier)
    back_substitute_vector(U, x)


@kernel_in_place
def solve_constrained_columns(U, saddle, X):
    """Overwrite X (n, k), forces, with the solutions x for b = saddle.right[:, :k]."""
    Q, R, order, b = saddle.Q, saddle.R, saddle.order, saddle.right
    n, k, rank = X.shape[0], X.shape[1], int(saddle.regularity[0])
    forward_substitute(U, X)
    Z = saddle.product[:, :k]
    for i in range(rank):
        z = Z[i]
        copy(b[order[i], :k], z)
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
