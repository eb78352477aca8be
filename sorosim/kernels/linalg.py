"""Cholesky factor and solves, row by row so that the inner loops are contiguous.

LAPACK is out of reach of cached numba code without private symbols; at the sizes of one robot these loops are as fast.
"""

from __future__ import annotations

from math import sqrt

from sorosim.compiled import kernel_in_place


@kernel_in_place
def cholesky(A):
    """Overwrite the upper triangle of A (n, n) with U, A = U^T U. Returns -1, or the first row that is not positive."""
    n = A.shape[0]
    for k in range(n):
        pivot = A[k, k]
        # a pivot lost to rounding is as bad as a negative one; NaN fails the comparison too
        if not pivot > 0.0:
            return k
        scale = 1.0 / sqrt(pivot)
        top = A[k]
        for j in range(k, n):
            top[j] *= scale
        for i in range(k + 1, n):
            factor = top[i]
            if factor != 0.0:
                row = A[i]
                for j in range(i, n):
                    row[j] -= factor * top[j]
    return -1


@kernel_in_place
def cholesky_solve(U, B):
    """Overwrite B (n, m) with A^{-1} B, A = U^T U."""
    n, m = B.shape
    for k in range(n):
        scale = 1.0 / U[k, k]
        top = B[k]
        for j in range(m):
            top[j] *= scale
        for i in range(k + 1, n):
            factor = U[k, i]
            if factor != 0.0:
                row = B[i]
                for j in range(m):
                    row[j] -= factor * top[j]
    for k in range(n - 1, -1, -1):
        row = B[k]
        for i in range(k + 1, n):
            factor = U[k, i]
            if factor != 0.0:
                below = B[i]
                for j in range(m):
                    row[j] -= factor * below[j]
        scale = 1.0 / U[k, k]
        for j in range(m):
            row[j] *= scale
