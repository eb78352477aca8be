"""SO(3): the functions C_k against 60-digit arithmetic, exponential and logarithm against their defining identities."""

import math

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sorosim.mechanics.lie import coefficients, exp_so3, log_so3, skew, vex

ANGLES = [0.0, 1e-300, 1e-12, 1e-8, 1e-4, 0.1, 1.0, 2.0, 3.0, math.pi, 3.9, 3.999999, 4.0, 4.000001, 4.2, 5.0, 6.0]
AXES = [
    np.array([1.0, 0.0, 0.0]),
    np.array([0.0, 1.0, 0.0]),
    np.array([0.0, 0.0, 1.0]),
    np.array([1.0, 2.0, 2.0]) / 3.0,
    np.array([-6.0, 2.0, 3.0]) / 7.0,
    np.array([2.0, -3.0, 6.0]) / 7.0,
    np.array([0.6, 0.8, 0.0]),
    np.array([-0.8, 0.0, 0.6]),
    np.array([0.0, -0.6, 0.8]),
]


def filled(s):
    C = np.full(10, np.nan)
    coefficients(s, C)
    return C


def exact_coefficients(s):
    with mpmath.workdps(60):
        s = mpmath.mpf(s)
        return [sum((-s) ** j / mpmath.factorial(k + 2 * j) for j in range(50)) for k in range(10)]


def random_axes(rng, n):
    axes = rng.normal(size=(n, 3))
    return axes / np.linalg.norm(axes, axis=1)[:, None]


@pytest.mark.parametrize("theta", ANGLES)
def test_coefficients_match_sixty_digits(theta):
    # relative to C_k(0) = 1/k!; some 1e-16 up to pi, and at the seam the roundings of 1/k! seen through powers of s
    C = filled(theta * theta)
    for k, exact in enumerate(exact_coefficients(theta * theta)):
        assert abs(float(C[k] - exact)) * math.factorial(k) < (1e-15 if theta <= math.pi else 3e-15)


def test_coefficients_match_sixty_digits_on_both_sides_of_the_seam():
    for s in np.concatenate([16.0 + np.linspace(-1.0, 1.0, 21), np.nextafter(16.0, [0.0, 32.0])]):
        C = filled(s)
        for k, exact in enumerate(exact_coefficients(s)):
            assert abs(float(C[k] - exact)) * math.factorial(k) < 3e-15


@pytest.mark.parametrize("theta", ANGLES)
def test_coefficients_satisfy_their_recursion(theta):
    s = theta * theta
    C = filled(s)
    for k in range(8):
        assert_allclose(C[k] + s * C[k + 2], 1.0 / math.factorial(k), rtol=1e-14)


def test_coefficients_are_cosine_sine_and_their_remainders():
    theta = 2.3
    c, s = math.cos(theta), math.sin(theta)
    expected = [c, s / theta, (1 - c) / theta**2, (theta - s) / theta**3]
    assert_allclose(filled(theta**2)[:4], expected, atol=1e-15)


def test_slope_of_a_coefficient_is_linear_in_the_next_ones():
    s, h = 3.1, 1e-5
    C = filled(s)
    slope_fd = (filled(s + h) - filled(s - h)) / (2 * h)
    for k in range(8):
        assert_allclose(0.5 * (k * C[k + 2] - C[k + 1]), slope_fd[k], atol=1e-10 / math.factorial(k))


def test_coefficients_pass_nan_on():
    assert np.isnan(filled(np.nan)).all()


def test_skew_is_the_cross_product_and_vex_its_inverse():
    rng = np.random.default_rng(1)
    for w, x in rng.normal(size=(20, 2, 3)):
        assert_allclose(skew(w) @ x, np.cross(w, x), atol=1e-15)
        assert_array_equal(skew(w).T, -skew(w))
        assert_array_equal(vex(skew(w)), w)


def test_vex_ignores_a_symmetric_part():
    rng = np.random.default_rng(2)
    w, B = rng.normal(size=3), rng.normal(size=(3, 3))
    assert_allclose(vex(skew(w) + B + B.T), w, atol=1e-15)


@pytest.mark.parametrize("theta", ANGLES)
def test_exponential_matches_the_matrix_series_of_sixty_digits(theta):
    # rounding of sums of numbers up to two, and beyond pi the errors of C_1, C_2 times theta^2
    rng = np.random.default_rng(3)
    for axis in random_axes(rng, 3):
        w = theta * axis
        with mpmath.workdps(60):
            W = mpmath.matrix(skew(w).tolist())
            term, exact = mpmath.eye(3), mpmath.eye(3)
            for k in range(1, 75):
                term = term * W / k
                exact += term
            error = max(abs(x) for x in exact - mpmath.matrix(exp_so3(w).tolist()))
        assert error < (1.5e-15 if theta <= math.pi else 3e-15)


def test_exponential_is_a_rotation():
    rng = np.random.default_rng(4)
    for w in np.concatenate([rng.normal(size=(50, 3)), 1e-9 * rng.normal(size=(10, 3)), 6.0 * random_axes(rng, 20)]):
        R = exp_so3(w)
        assert_allclose(R @ R.T, np.eye(3), atol=5e-15)
        assert_allclose(np.linalg.det(R), 1.0, atol=5e-15)
        assert_allclose(R @ w, w, atol=1e-14)
        assert_allclose(exp_so3(-w), R.T, atol=1e-16)


def test_rotation_about_a_coordinate_axis_keeps_that_axis_exactly():
    for i in range(3):
        R = exp_so3(1.234 * np.eye(3)[i])
        assert_array_equal(R[i], np.eye(3)[i])
        assert_array_equal(R[:, i], np.eye(3)[i])


@pytest.mark.parametrize("theta", [0.0, 1e-300, 1e-155, 1e-12, 1e-8, 1.9e-6, 2e-6, 2.1e-6, 1e-4, 0.1, 1.0, 2.1, 3.0])
def test_logarithm_inverts_the_exponential(theta):
    # relative to the angle itself, however small: R - R^T keeps it
    rng = np.random.default_rng(5)
    for axis in [*AXES, *random_axes(rng, 30)]:
        w = theta * axis
        assert_allclose(log_so3(exp_so3(w)), w, rtol=0, atol=3e-15 * theta)


@pytest.mark.parametrize("gap", [1e-1, 1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13, 1e-14])
def test_logarithm_keeps_its_accuracy_near_pi(gap):
    # entries of R carry 1e-16 each and fix w to about as much: axis by columns of size one, angle by the sine
    rng = np.random.default_rng(6)
    for axis in [*AXES, *random_axes(rng, 100)]:
        w = (math.pi - gap) * axis
        assert_allclose(log_so3(exp_so3(w)), w, atol=4e-15)


@pytest.mark.parametrize("axis", AXES)
def test_logarithm_at_exactly_pi_is_pi_about_either_axis(axis):
    w = log_so3(2.0 * np.outer(axis, axis) - np.eye(3))
    assert_allclose(np.linalg.norm(w), math.pi, rtol=1e-15)
    assert_allclose(np.sign(w @ axis) * w, math.pi * axis, atol=2e-15)


def test_logarithm_beyond_pi_takes_the_short_way():
    rng = np.random.default_rng(7)
    for axis in random_axes(rng, 30):
        for theta in (math.pi + 1e-12, 3.5, 5.0, 6.2):
            assert_allclose(log_so3(exp_so3(theta * axis)), (theta - 2 * math.pi) * axis, atol=2e-14)


def test_exponential_inverts_the_logarithm_of_any_product_of_rotations():
    rng = np.random.default_rng(8)
    for a, b in 3.0 * rng.normal(size=(200, 2, 3)):
        R = exp_so3(a) @ exp_so3(b)
        w = log_so3(R)
        assert np.linalg.norm(w) <= math.pi * (1 + 1e-15)
        assert_allclose(exp_so3(w), R, atol=5e-15)


def test_logarithm_follows_a_change_of_frame():
    rng = np.random.default_rng(9)
    for a, b in rng.normal(size=(50, 2, 3)):
        a *= 3.0 / np.linalg.norm(a)
        B = exp_so3(b)
        assert_allclose(log_so3(B @ exp_so3(a) @ B.T), B @ a, atol=1e-14)
