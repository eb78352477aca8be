"""Cholesky factor and solves, row by row and four rows at a time: the inner loops are contiguous and load little.

LAPACK is out of reach of cached numba code without private symbols; at the sizes of one robot these loops are as fast.
"""

from __future__ import annotations

from math import sqrt

from sorosim.base.compiled import kernel_in_place


@kernel_in_place
def cholesky(A):
    """Overwrite the upper triangle of A (n, n) with U, A = U^T U. Returns -1, or the first row that is not positive."""
    n = A.shape[0]
    for k in range(0, n, 4):
        last = min(k + 4, n)
        # rows k..last of the factor
        for p in range(k, last):
            pivot = A[p, p]
            # a pivot lost to rounding is as bad as a negative one; NaN fails the comparison too
            if not pivot > 0.0:
                return p
            scale = 1.0 / sqrt(pivot)
            top = A[p, p:]
            for j in range(n - p):
                top[j] *= scale
            for i in range(p + 1, last):
                factor, row, above = A[p, i], A[i, i:], A[p, i:]
                for j in range(n - i):
                    row[j] -= factor * above[j]
        # what they take from all rows below
        for i in range(last, n):
            f0, f1, f2, f3 = A[k, i], A[k + 1, i], A[k + 2, i], A[k + 3, i]
            t0, t1, t2, t3, row = A[k, i:], A[k + 1, i:], A[k + 2, i:], A[k + 3, i:], A[i, i:]
            for j in range(n - i):
                row[j] -= f0 * t0[j] + f1 * t1[j] + f2 * t2[j] + f3 * t3[j]
    return -1


@kernel_in_place
def take_rows(factors, B, first, end, row):
    """row -= factors[first:end] B[first:end]."""
    m = B.shape[1]
    i = first
    while i + 4 <= end:
        f0, f1, f2, f3 = factors[i], factors[i + 1], factors[i + 2], factors[i + 3]
        b0, b1, b2, b3 = B[i], B[i + 1], B[i + 2], B[i + 3]
        for j in range(m):
            row[j] -= f0 * b0[j] + f1 * b1[j] + f2 * b2[j] + f3 * b3[j]
        i += 4
    while i < end:
        f0, b0 = factors[i], B[i]
        for j in range(m):
            row[j] -= f0 * b0[j]
        i += 1


@kernel_in_place
def add_product(A, X, factor, Y):
    """Y (n, k) += factor A (n, m) X (m, k)."""
    m, n_columns = X.shape
    for i in range(Y.shape[0]):
        row, j = Y[i], 0
        while j + 4 <= m:
            f0, f1, f2, f3 = factor * A[i, j], factor * A[i, j + 1], factor * A[i, j + 2], factor * A[i, j + 3]
            x0, x1, x2, x3 = X[j], X[j + 1], X[j + 2], X[j + 3]
            for c in range(n_columns):
                row[c] += f0 * x0[c] + f1 * x1[c] + f2 * x2[c] + f3 * x3[c]
            j += 4
        while j < m:
            f0, x0 = factor * A[i, j], X[j]
            for c in range(n_columns):
                row[c] += f0 * x0[c]
            j += 1


@kernel_in_place
def forward_substitute(U, B):
    """Overwrite B (n, m) with U^-T B."""
    n, m = B.shape
    for k in range(n):
        row, scale = B[k], 1.0 / U[k, k]
        take_rows(U[:, k], B, 0, k, row)
        for j in range(m):
            row[j] *= scale


@kernel_in_place
def back_substitute(U, B):
    """Overwrite B (n, m) with U^-1 B."""
    n, m = B.shape
    for k in range(n - 1, -1, -1):
        row, scale = B[k], 1.0 / U[k, k]
        take_rows(U[k], B, k + 1, n, row)
        for j in range(m):
            row[j] *= scale


@kernel_in_place
def cholesky_solve(U, B):
    """Overwrite B (n, m) with A^{-1} B, A = U^T U."""
    forward_substitute(U, B)
    back_substitute(U, B)


@kernel_in_place
def forward_substitute_vector(U, x):
    """Overwrite x (n,) with U^-T x."""
    n = x.shape[0]
    for k in range(n):
        value = x[k] / U[k, k]
        x[k] = value
        top, rest = U[k, k + 1 :], x[k + 1 :]
        for j in range(n - k - 1):
            rest[j] -= value * top[j]


@kernel_in_place
def back_substitute_vector(U, x):
    """Overwrite x (n,) with U^-1 x."""
    n = x.shape[0]
    for k in range(n - 1, -1, -1):
        top, rest, total = U[k, k + 1 :], x[k + 1 :], 0.0
        for j in range(n - k - 1):
            total += top[j] * rest[j]
        x[k] = (x[k] - total) / U[k, k]


@kernel_in_place
def cholesky_solve_vector(U, x):
    """Overwrite x (n,) with A^{-1} x, A = U^T U."""
    forward_substitute_vector(U, x)
    back_substitute_vector(U, x)
