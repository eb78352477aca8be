"""Cholesky factor and solves against LAPACK, and what they say of matrices that have none."""

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose, assert_array_equal

from sorosim.mechanics.kernels.linalg import cholesky, cholesky_solve

SIZES = [0, 1, 2, 5, 40, 90]


def positive(rng, n, condition=1e3):
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A = Q @ np.diag(np.geomspace(1.0, condition, n)) @ Q.T
    return 0.5 * (A + A.T)


@pytest.mark.parametrize("n", SIZES)
def test_factor_is_that_of_lapack(rng, n):
    A = positive(rng, n)
    U = A.copy()
    assert cholesky(U) == -1
    if n:
        assert_allclose(np.triu(U), scipy.linalg.cholesky(A), rtol=1e-11, atol=1e-11 * np.abs(A).max())
    # the lower triangle is left as it was, and never read
    assert_array_equal(np.tril(U, -1), np.tril(A, -1))
    garbage = np.triu(A) + np.tril(np.full((n, n), np.nan), -1)
    assert cholesky(garbage) == -1
    assert_array_equal(np.triu(garbage), np.triu(U))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("m", [0, 1, 3])
def test_solutions_have_small_residuals(rng, n, m):
    A, B = positive(rng, n, 1e8), rng.normal(size=(n, m))
    U, X = A.copy(), B.copy()
    assert cholesky(U) == -1
    cholesky_solve(U, X)
    residual = np.abs(A @ X - B).max(initial=0.0)
    assert residual <= 1e-14 * (np.abs(A) @ np.abs(X) + np.abs(B)).max(initial=0.0)


def test_scaling_rows_and_columns_does_not_cost_accuracy(rng):
    # coordinates of a robot differ by many orders of magnitude: D A D is as good as A
    A, D = positive(rng, 30), np.diag(10.0 ** rng.uniform(-8, 8, size=30))
    x = rng.normal(size=(30, 1))
    U, X = D @ A @ D, D @ A @ x
    assert cholesky(U) == -1
    cholesky_solve(U, X)
    assert_allclose(D @ X, x, rtol=0, atol=1e-12 * np.abs(x).max())


def test_matrix_and_solution_with_zeros(rng):
    # independent branches: zero factors are skipped
    A = scipy.linalg.block_diag(positive(rng, 4), positive(rng, 3), 2.0)
    U, B = A.copy(), rng.normal(size=(8, 2))
    X = B.copy()
    assert cholesky(U) == -1
    cholesky_solve(U, X)
    assert_allclose(A @ X, B, rtol=0, atol=1e-11)


@pytest.mark.parametrize("row", [0, 3, 7])
def test_row_that_is_not_positive_is_returned(rng, row):
    A = positive(rng, 8)
    A[row, row] = -1.0
    assert cholesky(A.copy()) == row
    A = positive(rng, 8)
    A[row], A[:, row] = 0.0, 0.0
    assert cholesky(A.copy()) == row
    A = positive(rng, 8)
    A[row, row] = np.nan
    assert cholesky(A.copy()) == row


def test_nan_beside_the_diagonal_is_met_in_a_later_row(rng):
    A = positive(rng, 6)
    A[1, 4] = A[4, 1] = np.nan
    assert cholesky(A) == 4


def test_indefinite_matrix_is_noticed_where_elimination_shows_it():
    # leading minors 1, 1, -1
    A = np.array([[1.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 0.0]])
    assert cholesky(A) == 2
    # rank one, exactly
    assert cholesky(np.array([[4.0, 2.0], [2.0, 1.0]])) == 1
