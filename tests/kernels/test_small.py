"""The fixed-size helpers of the kernels against dense NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sorosim.mechanics.kernels import small
from sorosim.mechanics.lie import Ad, Ad_inv, ad, coad, coadbar, exp_se3

EXACT = {"rtol": 1e-14, "atol": 1e-13}
SIZES = [0, 1, 2, 7]


def dense(X):
    """The matrix [[P, 0], [Q, P]] of a dual matrix [P, Q]."""
    return np.block([[X[0], np.zeros((3, 3))], [X[1], X[0]]])


def random_dual(rng):
    return rng.normal(size=(2, 3, 3))


def random_pose(rng):
    g = exp_se3(np.concatenate([rng.normal(size=3), 2.0 * rng.normal(size=3)]))
    return g, np.ascontiguousarray(g[:3, :3]), np.ascontiguousarray(g[:3, 3])


# -- copies and sums


def test_clear_copy_and_add(rng):
    x, y = rng.normal(size=5), rng.normal(size=5)
    out = np.empty(5)
    small.copy(x, out)
    assert_array_equal(out, x)
    small.add(y, out)
    assert_array_equal(out, x + y)
    small.clear(out)
    assert_array_equal(out, 0.0)
    X, Y = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    out = Y.copy()
    small.add_matrix(X, out)
    assert_array_equal(out, X + Y)
    small.clear_matrix(out)
    assert_array_equal(out, 0.0)


def test_copies_of_dual_matrices(rng):
    X, out = random_dual(rng), np.full((2, 3, 3), np.nan)
    small.copy_dual(X, -2.5, out)
    assert_array_equal(out, -2.5 * X)
    small.clear_dual(out)
    assert_array_equal(out, 0.0)


# -- adjoints


def test_ad_and_coadjoints(rng):
    x, y, before = rng.normal(size=6), rng.normal(size=6), rng.normal(size=6)
    out = before.copy()
    small.add_ad(x, y, -1.5, out)
    assert_allclose(out, before - 1.5 * ad(x) @ y, **EXACT)
    out = before.copy()
    small.add_coad(x, y, 2.5, out)
    assert_allclose(out, before - 2.5 * ad(x).T @ y, **EXACT)
    assert_allclose(out, before + 2.5 * coad(x) @ y, **EXACT)


def test_coadbar_swaps_the_arguments_of_the_coadjoint(rng):
    x, y, before = rng.normal(size=6), rng.normal(size=6), rng.normal(size=(6, 6))
    out = before.copy()
    small.add_coadbar(y, 0.75, out)
    assert_allclose(out, before + 0.75 * coadbar(y), **EXACT)
    out = np.zeros((6, 6))
    small.add_coadbar(y, 1.0, out)
    expected = np.zeros(6)
    small.add_coad(x, y, 1.0, expected)
    assert_allclose(out @ x, expected, **EXACT)
    assert_array_equal(out[3:, 3:], 0.0)


# -- dual matrices


def test_products_of_dual_matrices_and_vectors(rng):
    X, y, before = random_dual(rng), rng.normal(size=6), rng.normal(size=6)
    out = before.copy()
    small.add_dual_vector(X, y, out)
    assert_allclose(out, before + dense(X) @ y, **EXACT)
    small.dual_transpose_vector(X, y, out)
    assert_allclose(out, dense(X).T @ y, **EXACT)


def test_transforms_of_dual_matrices(rng):
    X, out = random_dual(rng), np.full((2, 3, 3), np.nan)
    g, R, p = random_pose(rng)
    small.dual_transform(R, p, X, out)
    assert_allclose(dense(out), Ad(g) @ dense(X), **EXACT)


def test_products_of_dual_matrices_and_ad(rng):
    X, x, before = random_dual(rng), rng.normal(size=6), random_dual(rng)
    out = before.copy()
    small.add_ad_dual(x, X, -0.5, out)
    assert_allclose(dense(out), dense(before) - 0.5 * ad(x) @ dense(X), **EXACT)
    out = before.copy()
    small.add_dual_ad(X, x, 3.0, out)
    assert_allclose(dense(out), dense(before) + 3.0 * dense(X) @ ad(x), **EXACT)


def test_expanded_dual_matrix_is_transposed(rng):
    X, out = random_dual(rng), np.full((6, 6), np.nan)
    small.dual_expand_transposed(X, out)
    assert_array_equal(out, dense(X).T)


# -- inertia


@pytest.mark.parametrize("kind", ["body", "section", "any symmetric"])
def test_world_inertia(rng, kind):
    B = rng.normal(size=(6, 6))
    M = {"body": B @ B.T, "section": np.diag([3.0, 1.0, 2.0, 5.0, 5.0, 5.0]), "any symmetric": B + B.T}[kind]
    g, R, p = random_pose(rng)
    out = np.full((6, 6), np.nan)
    small.world_inertia(R, p, M, np.full((6, 6), np.nan), out)
    assert_allclose(out, Ad_inv(g).T @ M @ Ad_inv(g), rtol=1e-13, atol=1e-12)
    assert_allclose(out, out.T, rtol=0, atol=1e-13 * np.abs(out).max())


def test_world_inertia_at_rest_is_the_inertia(rng):
    B = rng.normal(size=(6, 6))
    M, out = B @ B.T, np.empty((6, 6))
    small.world_inertia(np.eye(3), np.zeros(3), M, np.empty((6, 6)), out)
    assert_allclose(out, M, rtol=1e-15)


# -- products with columns, flat (6 n,), row by row


def test_matrix_vector(rng):
    X, y, out = rng.normal(size=(6, 6)), rng.normal(size=6), np.full(6, np.nan)
    small.matrix_vector(X, y, out)
    assert_allclose(out, X @ y, **EXACT)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("m", SIZES)
def test_transposed_products_fill_a_block(rng, n, m):
    X, Y, before = rng.normal(size=(6, n)), rng.normal(size=(6, m)), rng.normal(size=(n + 3, m + 4))
    out = before.copy()
    small.add_transposed_product(X.ravel(), n, Y.ravel(), m, -2.0, out, 2, 3)
    expected = before.copy()
    expected[2 : 2 + n, 3 : 3 + m] -= 2.0 * X.T @ Y
    assert_allclose(out, expected, **EXACT)


@pytest.mark.parametrize("n", SIZES)
def test_products_of_matrices_and_columns(rng, n):
    X, Y, before, y = rng.normal(size=(6, 6)), rng.normal(size=(6, n)), rng.normal(size=(6, n)), rng.normal(size=6)
    out = before.copy().ravel()
    small.add_matrix_columns(X, Y.ravel(), n, 0.5, out)
    assert_allclose(out.reshape(6, n), before + 0.5 * X @ Y, **EXACT)
    out = before.copy().ravel()
    small.add_matrix_columns(X.T, Y.ravel(), n, 1.0, out)
    assert_allclose(out.reshape(6, n), before + X.T @ Y, **EXACT)
    out = before.copy().ravel()
    small.add_coadbar_columns(y, Y.ravel(), n, -1.5, out)
    assert_allclose(out.reshape(6, n), before - 1.5 * coadbar(y) @ Y, **EXACT)
