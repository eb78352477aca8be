"""SE(3): group axioms, adjoint identities, exponential and logarithm."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm

from sorosim.mechanics.lie import (
    Ad,
    Ad_inv,
    ad,
    coad,
    coadbar,
    coefficients,
    exp_into,
    exp_se3,
    exp_so3,
    hat,
    inverse,
    log_se3,
    log_so3,
    vee,
)

ANGLES = [0.0, 1e-300, 1e-12, 1e-8, 1e-4, 0.1, 1.0, 2.0, 3.0, math.pi, 3.999999, 4.000001, 5.0, 6.0]

ONE = 1 << 240  # fixed-point numbers of 72 decimal digits behind the point, as Python integers


def exact(matrix):
    return np.array([int(Fraction(x) * ONE) for x in matrix.ravel()], dtype=object).reshape(matrix.shape)


def random_twist(rng, theta, size=1.0):
    w = rng.normal(size=3)
    return np.concatenate([theta * w / np.linalg.norm(w), size * rng.normal(size=3)])


def random_twists(rng):
    """Moderate, tiny and almost half-turn twists."""
    thetas = [*rng.uniform(0.0, 3.0, 20), 0.0, 1e-12, 1e-8, 1e-5, math.pi - 1e-3, math.pi - 1e-9, math.pi - 1e-14]
    return [random_twist(rng, theta) for theta in thetas]


def test_hat_and_vee_are_inverse_and_hat_is_the_velocity_of_a_point():
    rng = np.random.default_rng(1)
    xi, x = rng.normal(size=6), rng.normal(size=3)
    assert_array_equal(vee(hat(xi)), xi)
    assert_allclose((hat(xi) @ [*x, 1.0])[:3], np.cross(xi[:3], x) + xi[3:], atol=1e-15)
    assert_array_equal(hat(xi)[3], 0.0)


@pytest.mark.parametrize("theta", ANGLES)
def test_exponential_matches_the_matrix_series_of_seventy_digits(theta):
    # rounding of sums of three terms of the size of |v| <= 3, and beyond pi the errors of C_2, C_3 times theta^2
    rng = np.random.default_rng(2)
    for _ in range(3):
        xi = random_twist(rng, theta)
        X, term, total = exact(hat(xi)), exact(np.eye(4)), exact(np.eye(4))
        for k in range(1, 75):
            term = (X @ term) // (k * ONE)
            total = total + term
        assert max(abs(x) for x in (exact(exp_se3(xi)) - total).ravel()) / ONE < (2e-15 if theta <= math.pi else 5e-15)


def test_exp_into_gives_the_blocks_of_the_pose():
    rng = np.random.default_rng(3)
    for xi in random_twists(rng):
        C, R, p = np.empty(10), np.empty((3, 3)), np.empty(3)
        coefficients(xi[:3] @ xi[:3], C)
        exp_into(xi, C, R, p)
        g = exp_se3(xi)
        # not bitwise: the compiler may fuse and order sums differently at each place
        assert_allclose(R, g[:3, :3], atol=4e-16)
        assert_allclose(p, g[:3, 3], atol=2e-15)
        assert_allclose(R, exp_so3(xi[:3]), atol=4e-16)
        assert_array_equal(g[3], [0.0, 0.0, 0.0, 1.0])


def test_exponential_of_a_pure_slide_is_the_slide_exactly():
    v = np.array([0.3, -1e-20, 5.0])
    g = exp_se3(np.concatenate([np.zeros(3), v]))
    assert_array_equal(g[:3, :3], np.eye(3))
    assert_array_equal(g[:3, 3], v)


def test_planar_twists_stay_in_their_plane_exactly():
    g = exp_se3(np.array([0.0, 0.0, 1.3, 0.7, -0.2, 0.0]))
    assert_array_equal(g[2], [0.0, 0.0, 1.0, 0.0])
    assert_array_equal(g[:2, 2], 0.0)


def test_logarithm_inverts_the_exponential():
    # near pi the sum v = P^{-1} p holds terms theta/2 times as large as v
    rng = np.random.default_rng(4)
    for xi in random_twists(rng):
        assert_allclose(log_se3(exp_se3(xi)), xi, atol=1e-14)


def test_logarithm_of_tiny_twists_is_accurate_relative_to_each_part():
    rng = np.random.default_rng(5)
    for size in (1e-6, 1e-9, 1e-100, 1e-300):
        xi = random_twist(rng, size, size)
        assert_allclose(log_se3(exp_se3(xi)), xi, atol=2e-15 * size)


def test_exponential_inverts_the_logarithm_of_any_product():
    rng = np.random.default_rng(6)
    for _ in range(100):
        g = exp_se3(random_twist(rng, rng.uniform(0, 6))) @ exp_se3(random_twist(rng, rng.uniform(0, 6)))
        xi = log_se3(g)
        assert np.linalg.norm(xi[:3]) <= math.pi * (1 + 1e-15)
        assert_allclose(exp_se3(xi), g, atol=3e-14)
        assert_allclose(xi[:3], log_so3(g[:3, :3].copy()), atol=1e-15)


@pytest.mark.parametrize("axis", [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1 / 3, 2 / 3, 2 / 3], [-6 / 7, 2 / 7, 3 / 7]])
def test_logarithm_of_a_half_turn_returns_to_the_pose(axis):
    g = np.eye(4)
    g[:3, :3] = 2.0 * np.outer(axis, axis) - np.eye(3)
    g[:3, 3] = [0.3, -0.7, 1.1]
    xi = log_se3(g)
    assert_allclose(np.linalg.norm(xi[:3]), math.pi, rtol=1e-15)
    assert_allclose(exp_se3(xi), g, atol=3e-15)


def test_inverse_is_the_inverse_and_the_exponential_of_minus_the_twist():
    rng = np.random.default_rng(7)
    for xi in random_twists(rng):
        g = exp_se3(xi)
        assert_allclose(inverse(g) @ g, np.eye(4), atol=5e-15)
        assert_allclose(inverse(g), exp_se3(-xi), atol=5e-15)


def test_Ad_carries_twists_between_frames():
    rng = np.random.default_rng(8)
    for xi in random_twists(rng):
        g, x = exp_se3(xi), rng.normal(size=6)
        assert_allclose(hat(Ad(g) @ x), g @ hat(x) @ inverse(g), atol=2e-14)


def test_Ad_is_a_homomorphism_and_Ad_inv_its_inverse():
    rng = np.random.default_rng(9)
    for xi, chi in zip(random_twists(rng), random_twists(rng)[::-1], strict=True):
        g, h = exp_se3(xi), exp_se3(chi)
        assert_allclose(Ad(g @ h), Ad(g) @ Ad(h), atol=2e-14)
        assert_allclose(Ad_inv(g) @ Ad(g), np.eye(6), atol=2e-14)
        assert_allclose(Ad_inv(g), Ad(inverse(g)), atol=2e-14)


def test_Ad_of_the_exponential_is_the_exponential_of_ad():
    # the yardstick, scipy's expm, carries some 1e-14
    rng = np.random.default_rng(10)
    for xi in [*random_twists(rng), random_twist(rng, 4.5), random_twist(rng, 6.0)]:
        assert_allclose(Ad(exp_se3(xi)), expm(ad(xi)), atol=1e-13)


def test_ad_is_the_commutator_and_antisymmetric():
    rng = np.random.default_rng(11)
    for x, y in rng.normal(size=(20, 2, 6)):
        assert_allclose(hat(ad(x) @ y), hat(x) @ hat(y) - hat(y) @ hat(x), atol=5e-15)
        assert_allclose(ad(x) @ y, -ad(y) @ x, atol=5e-15)


def test_ad_satisfies_the_jacobi_identity():
    rng = np.random.default_rng(12)
    for x, y in rng.normal(size=(20, 2, 6)):
        assert_allclose(ad(ad(x) @ y), ad(x) @ ad(y) - ad(y) @ ad(x), atol=1e-14)


def test_ad_follows_a_change_of_frame():
    rng = np.random.default_rng(13)
    for xi in random_twists(rng):
        g, x = exp_se3(xi), rng.normal(size=6)
        assert_allclose(ad(Ad(g) @ x), Ad(g) @ ad(x) @ Ad_inv(g), atol=1e-13)


def test_coad_is_minus_the_transpose_of_ad():
    rng = np.random.default_rng(14)
    for x in rng.normal(size=(20, 6)):
        assert_array_equal(coad(x), -ad(x).T)


def test_coadbar_swaps_the_arguments_of_coad_and_is_antisymmetric():
    rng = np.random.default_rng(15)
    for x, F in rng.normal(size=(20, 2, 6)):
        assert_allclose(coadbar(F) @ x, coad(x) @ F, atol=5e-15)
        assert_array_equal(coadbar(F).T, -coadbar(F))


def test_wrenches_map_with_the_inverse_transpose_so_that_power_keeps_its_value():
    rng = np.random.default_rng(16)
    for xi in random_twists(rng):
        g, (x, F) = exp_se3(xi), rng.normal(size=(2, 6))
        assert_allclose((Ad_inv(g).T @ F) @ (Ad(g) @ x), F @ x, atol=2e-13)


def test_coad_is_the_rate_of_the_inverse_transpose_of_Ad():
    rng = np.random.default_rng(17)
    h = 1e-5
    for x in rng.normal(size=(10, 6)):
        rate_fd = (Ad_inv(exp_se3(h * x)).T - Ad_inv(exp_se3(-h * x)).T) / (2 * h)
        assert_allclose(rate_fd, coad(x), atol=1e-8)  # h^2 |x|^3 / 6 and rounding 1e-16 / h
