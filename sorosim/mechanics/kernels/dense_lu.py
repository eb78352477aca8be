"""LU factors with pivoting: of square matrices by rows, and of small ones that may be singular, with their rank."""

from __future__ import annotations

from sorosim.base.compiled import kernel_in_place
from sorosim.mechanics.kernels.linalg import take_rows


@kernel_in_place
def swap_rows(A, i, k):
    """Exchange two rows of A (n, m)."""
    if i != k:
        for j in range(A.shape[1]):
            A[i, j], A[k, j] = A[k, j], A[i, j]


@kernel_in_place
def lu_factor(A, pivot):
    """Overwrite A (n, n) with its factors; pivot (n,) int: the row exchanged with row k. Returns -1, or a lost row.

    Four columns at a time, so that the rows below load little.
    """
    n = A.shape[0]
    for k0 in range(0, n, 4):
        k1 = min(k0 + 4, n)
        for k in range(k0, k1):
            best, largest = k, -1.0
            for i in range(k, n):
                if abs(A[i, k]) > largest:
                    best, largest = i, abs(A[i, k])
            if not largest > 0.0:  # NaN fails the comparison too
                return k
            pivot[k] = best
            swap_rows(A, best, k)
            scale = 1.0 / A[k, k]
            for i in range(k + 1, n):
                A[i, k] *= scale
                factor = A[i, k]
                for j in range(k + 1, k1):
                    A[i, j] -= factor * A[k, j]
        for k in range(k0 + 1, k1):
            take_rows(A[k], A[:, k1:], k0, k, A[k, k1:])
        if k1 - k0 == 4:
            r0, r1, r2, r3 = A[k0, k1:], A[k0 + 1, k1:], A[k0 + 2, k1:], A[k0 + 3, k1:]
            for i in range(k1, n):
                f0, f1, f2, f3 = A[i, k0], A[i, k0 + 1], A[i, k0 + 2], A[i, k0 + 3]
                row = A[i, k1:]
                for j in range(n - k1):
                    row[j] -= f0 * r0[j] + f1 * r1[j] + f2 * r2[j] + f3 * r3[j]
    return -1


@kernel_in_place
def lu_solve_vector(A, pivot, x):
    """Overwrite x (n,) with the solution, A and pivot from `lu_factor`."""
    n = A.shape[0]
    for k in range(n):
        best = pivot[k]
        x[k], x[best] = x[best], x[k]
    for i in range(n):
        row, total = A[i], x[i]
        for j in range(i):
            total -= row[j] * x[j]
        x[i] = total
    for i in range(n - 1, -1, -1):
        row, total = A[i], x[i]
        for j in range(i + 1, n):
            total -= row[j] * x[j]
        x[i] = total / row[i]


@kernel_in_place
def lu_solve(A, pivot, B):
    """Overwrite B (n, m) with the solutions, A and pivot from `lu_factor`."""
    n, m = B.shape
    for k in range(n):
        swap_rows(B, pivot[k], k)
    for i in range(n):
        take_rows(A[i], B, 0, i, B[i])
    for i in range(n - 1, -1, -1):
        take_rows(A[i], B, i + 1, n, B[i])
        scale = 1.0 / A[i, i]
        for j in range(m):
            B[i, j] *= scale


@kernel_in_place
def rank_factor(G, order, scale, known_rank, dependent, beyond):
    """Overwrite G (m, m) with factors of the largest part of it that is regular, by complete pivoting.

    order (2, m) int: rows and columns in pivot order; scale (m,): of rows and columns, taken first. What is below
    `dependent` counts as zero, after as many pivots as `known_rank` what is below `beyond`. Returns the rank and the
    least pivot.
    """
    m = G.shape[0]
    for i in range(m):
        order[0, i], order[1, i] = i, i
        for j in range(m):
            G[i, j] *= scale[i] * scale[j]
    rank, least = 0, 1.0
    for k in range(m):
        best_i, best_j, size = k, k, -1.0
        for i in range(k, m):
            for j in range(k, m):
                if abs(G[i, j]) > size:
                    best_i, best_j, size = i, j, abs(G[i, j])
        if not size > (dependent if k < known_rank else beyond):
            break
        least = min(least, size)
        swap_rows(G, best_i, k)
        order[0, k], order[0, best_i] = order[0, best_i], order[0, k]
        if best_j != k:
            for i in range(m):
                G[i, k], G[i, best_j] = G[i, best_j], G[i, k]
            order[1, k], order[1, best_j] = order[1, best_j], order[1, k]
        for i in range(k + 1, m):
            G[i, k] /= G[k, k]
            factor = G[i, k]
            for j in range(k + 1, m):
                G[i, j] -= factor * G[k, j]
        rank += 1
    return rank, least


@kernel_in_place
def rank_solve(G, order, scale, rank, b, x):
    """x (m,) with G x = b in the regular part, zero beyond; b (m,) is overwritten; factors from `rank_factor`."""
    m = G.shape[0]
    for i in range(m):
        b[i] *= scale[i]
        x[i] = 0.0
    # y in pivot order, in x as scratch
    for k in range(rank):
        total = b[order[0, k]]
        for j in range(k):
            total -= G[k, j] * x[j]
        x[k] = total
    for k in range(rank - 1, -1, -1):
        total = x[k]
        for j in range(k + 1, rank):
            total -= G[k, j] * x[j]
        x[k] = total / G[k, k]
    for k in range(m):
        b[k] = x[k]
        x[k] = 0.0
    for k in range(rank):
        x[order[1, k]] = b[k] * scale[order[1, k]]
