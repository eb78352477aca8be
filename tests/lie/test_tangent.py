"""The tangent operator of SE(3): against 70-digit series, its defining identities, and central differences."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sorosim.mechanics.lie import (
    Ad,
    Ad_inv,
    ad,
    coadbar,
    coefficients,
    dual_to_matrix,
    exp_se3,
    inverse,
    log_se3,
    tangent,
    tangent_into,
    tangent_inv,
    tangent_jet_into,
    tangent_jets,
    tangent_jets_into,
    tangent_transpose_derivative,
    tangent_transpose_derivative_into,
    vee,
)

ANGLES = [0.0, 1e-300, 1e-12, 1e-8, 1e-4, 0.1, 1.0, 2.0, 3.0, math.pi - 1e-9, math.pi, 3.999999, 4.000001, 5.0, 6.0]
TERMS = 70  # of the series; 6^70 / 71! < 1e-46

# largest errors allowed up to pi and beyond. A derivative of C_k by s is the difference of two numbers that agree in
# ever more digits towards 2 pi, and the inverse has its pole there.
TOLERANCES = {
    "T": (8e-16, 3e-15),
    "Tdot": (1.5e-15, 1e-14),
    "Tddot": (2e-15, 3e-14),
    "dT": (2e-15, 1e-14),
    "inv": (1e-15, 2e-13),
}


def tolerance(name, theta):
    return TOLERANCES[name][theta > math.pi]


def random_twist(rng, theta, size=1.0):
    w = rng.normal(size=3)
    return np.concatenate([theta * w / np.linalg.norm(w), size * rng.normal(size=3)])


# fixed-point numbers with 240 binary digits behind the point (72 decimal ones): Python integers in object arrays are
# ten times faster than multiple-precision floats, and absolute errors are what counts here
ONE = 1 << 240


def exact(matrix):
    """The same numbers in fixed point; `ad` only places its arguments, without rounding."""
    return np.array([int(Fraction(x) * ONE) for x in matrix.ravel()], dtype=object).reshape(matrix.shape)


def times(A, B):
    return (A @ B) // ONE


def exact_tangent_jets(Omega, Omega_dot, Omega_ddot):
    """sum ad^k / (k + 1)! along Omega + t Omega_dot + t^2/2 Omega_ddot: its Taylor coefficients in t, times 1, 1, 2."""
    A, A1, A2 = exact(ad(Omega)), exact(ad(Omega_dot)), exact(ad(Omega_ddot) / 2)
    X, X1, X2 = exact(np.eye(6)), exact(np.zeros((6, 6))), exact(np.zeros((6, 6)))
    T, T1, T2 = X, X1, X2
    for k in range(2, TERMS):
        X2 = (times(A2, X) + times(A1, X1) + times(A, X2)) // k
        X1 = (times(A1, X) + times(A, X1)) // k
        X = times(A, X) // k
        T, T1, T2 = T + X, T1 + X1, T2 + X2
    return T, T1, 2 * T2


def exact_skew(x):
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]], dtype=object)


def exact_tangent_transpose_derivative(Omega, y):
    """Derivative of sum (ad^T)^k y / (k + 1)!, term by term."""
    At, x, X = exact(ad(Omega).T), exact(y), exact(np.zeros((6, 6)))
    total = X
    for k in range(2, TERMS):
        # ad_Omega^T [m; f] = [[m^, f^], [f^, 0]] Omega
        m, f = exact_skew(x[:3]), exact_skew(x[3:])
        x, X = times(At, x) // k, (np.block([[m, f], [f, 0 * f]]) + times(At, X)) // k
        total = total + X
    return total


def largest(matrix):
    return max(abs(x) for x in matrix.ravel())


def relative_error(matrix, reference):
    """Largest error over the largest entry of the reference."""
    return largest(exact(matrix) - reference) / largest(reference)


@pytest.mark.parametrize("theta", ANGLES)
def test_tangent_and_its_jets_match_the_series_of_seventy_digits(theta):
    rng = np.random.default_rng(1)
    for size in (1.0, 0.1):
        Omega, Omega_dot, Omega_ddot = random_twist(rng, theta, size), rng.normal(size=6), rng.normal(size=6)
        jets = tangent_jets(Omega, Omega_dot, Omega_ddot)
        references = exact_tangent_jets(Omega, Omega_dot, Omega_ddot)
        for name, jet, reference in zip(("T", "Tdot", "Tddot"), jets, references, strict=True):
            assert relative_error(jet, reference) < tolerance(name, theta)


@pytest.mark.parametrize("theta", ANGLES)
def test_derivative_of_the_transpose_matches_the_series_of_seventy_digits(theta):
    rng = np.random.default_rng(2)
    for size in (1.0, 0.1):
        Omega, y = random_twist(rng, theta, size), rng.normal(size=6)
        reference = exact_tangent_transpose_derivative(Omega, y)
        assert relative_error(tangent_transpose_derivative(Omega, y), reference) < tolerance("dT", theta)


@pytest.mark.parametrize("theta", ANGLES)
def test_inverse_times_tangent_is_one_in_seventy_digits(theta):
    rng = np.random.default_rng(3)
    for size in (1.0, 0.1):
        Omega, zero = random_twist(rng, theta, size), np.zeros(6)
        T = exact_tangent_jets(Omega, zero, zero)[0]
        residual = times(exact(tangent_inv(Omega)), T) - exact(np.eye(6))
        assert largest(residual) / ONE < tolerance("inv", theta)


def test_inverse_is_nan_beyond_its_range_and_for_nan():
    axis = np.array([2.0, -3.0, 6.0, 0.0, 0.0, 0.0]) / 7.0
    assert np.isfinite(tangent_inv(6.09 * axis)).all()
    for Omega in (6.11 * axis, 2 * math.pi * axis, 9.0 * axis, np.nan * axis):
        assert np.isnan(tangent_inv(Omega)).all()


def test_tangent_at_zero_is_one_with_half_the_bracket_as_its_rate():
    zero = np.zeros(6)
    Omega_dot, Omega_ddot = np.random.default_rng(4).normal(size=(2, 6))
    T, Td, Tdd = tangent_jets(zero, Omega_dot, Omega_ddot)
    assert_array_equal(T, np.eye(6))
    assert_array_equal(tangent_inv(zero), np.eye(6))
    assert_allclose(Td, 0.5 * ad(Omega_dot), atol=1e-16)
    assert_allclose(Tdd, 0.5 * ad(Omega_ddot) + ad(Omega_dot) @ ad(Omega_dot) / 3, atol=2e-15)


@pytest.mark.parametrize("theta", ANGLES)
def test_tangent_of_the_moved_frame_is_the_tangent_of_minus_the_twist(theta):
    rng = np.random.default_rng(5)
    Omega = random_twist(rng, theta)
    A = Ad(exp_se3(Omega))
    # products of 6x6 matrices with entries up to 5
    assert_allclose(A @ tangent(-Omega), tangent(Omega), atol=1e-14)
    assert_allclose(Ad_inv(exp_se3(Omega)) @ tangent(Omega), tangent(-Omega), atol=1e-14)


@pytest.mark.parametrize("theta", ANGLES)
def test_tangent_keeps_its_own_twist_and_integrates_ad_to_Ad(theta):
    Omega = random_twist(np.random.default_rng(6), theta)
    assert_allclose(tangent(Omega) @ Omega, Omega, atol=1e-14)
    # ad T = Ad_exp - 1
    assert_allclose(ad(Omega) @ tangent(Omega), Ad(exp_se3(Omega)) - np.eye(6), atol=3e-14)


@pytest.mark.parametrize("theta", ANGLES)
def test_tangent_is_the_left_velocity_of_the_exponential(theta):
    rng = np.random.default_rng(7)
    h = 1e-5
    Omega, d = random_twist(rng, theta), rng.normal(size=6)
    g_inv = inverse(exp_se3(Omega))
    velocity_fd = vee((exp_se3(Omega + h * d) - exp_se3(Omega - h * d)) @ g_inv) / (2 * h)
    assert_allclose(velocity_fd, tangent(Omega) @ d, atol=3e-9)  # h^2 / 6 times a third derivative of some 10


@pytest.mark.parametrize("theta", [0.0, 1e-8, 0.1, 1.0, 3.0])
def test_inverse_is_the_slope_of_the_logarithm(theta):
    rng = np.random.default_rng(8)
    h = 1e-5
    Omega, d = random_twist(rng, theta), rng.normal(size=6)
    g = exp_se3(Omega)
    slope_fd = (log_se3(exp_se3(h * d) @ g) - log_se3(exp_se3(-h * d) @ g)) / (2 * h)
    assert_allclose(slope_fd, tangent_inv(Omega) @ d, atol=3e-9)


@pytest.mark.parametrize("theta", ANGLES)
def test_mixed_derivatives_of_the_exponential_commute(theta):
    # Maurer-Cartan: d_a (T b) - d_b (T a) = [T a, T b], the reason why S is an exact Jacobian
    rng = np.random.default_rng(9)
    Omega, a, b = random_twist(rng, theta), *rng.normal(size=(2, 6))
    zero = np.zeros(6)
    T, T_a, _ = tangent_jets(Omega, a, zero)
    T_b = tangent_jets(Omega, b, zero)[1]
    assert_allclose(T_a @ b - T_b @ a, ad(T @ a) @ (T @ b), atol=3e-14)


@pytest.mark.parametrize("theta", ANGLES)
def test_jets_are_the_central_differences_along_a_motion(theta):
    rng = np.random.default_rng(10)
    h = 1e-5
    Omega, Omega_dot, Omega_ddot = random_twist(rng, theta), *rng.normal(size=(2, 6))

    def at(t):
        rate = Omega_dot + t * Omega_ddot
        return tangent_jets(Omega + t * Omega_dot + 0.5 * t * t * Omega_ddot, rate, Omega_ddot)

    _, Td, Tdd = at(0.0)
    assert_allclose((at(h)[0] - at(-h)[0]) / (2 * h), Td, atol=2e-9)
    assert_allclose((at(h)[1] - at(-h)[1]) / (2 * h), Tdd, atol=2e-9)


@pytest.mark.parametrize("theta", ANGLES)
def test_derivative_of_the_transpose_is_consistent_with_the_rate_of_the_tangent(theta):
    # (T^T y)' by either function
    rng = np.random.default_rng(11)
    Omega, Omega_dot, y = random_twist(rng, theta), *rng.normal(size=(2, 6))
    Td = tangent_jets(Omega, Omega_dot, np.zeros(6))[1]
    assert_allclose(tangent_transpose_derivative(Omega, y) @ Omega_dot, Td.T @ y, atol=2e-14)


def test_derivative_of_the_transpose_at_zero_is_half_the_coadjoint():
    y = np.random.default_rng(12).normal(size=6)
    assert_allclose(tangent_transpose_derivative(np.zeros(6), y), -0.5 * coadbar(y), atol=1e-16)


@pytest.mark.parametrize("theta", [0.0, 1.0, 5.0])
def test_filling_functions_agree_with_the_public_ones_and_overwrite_everything(theta):
    rng = np.random.default_rng(13)
    Omega, Omega_dot, Omega_ddot, y = random_twist(rng, theta), *rng.normal(size=(3, 6))
    expected = tangent_jets(Omega, Omega_dot, Omega_ddot)
    C = np.full(10, np.nan)
    coefficients(Omega[:3] @ Omega[:3], C)
    T, Td, Tdd = np.full((3, 2, 3, 3), np.nan)
    X = np.full((6, 6), np.nan)

    # each is compiled by itself, so sums may be ordered differently: rounding of entries up to 5
    tangent_into(Omega, C, T)
    assert_allclose(dual_to_matrix(T), expected[0], atol=2e-15)
    assert_allclose(tangent(Omega), expected[0], atol=2e-15)
    tangent_jet_into(Omega, Omega_dot, C, T, Td)
    assert_allclose(dual_to_matrix(T), expected[0], atol=2e-15)
    assert_allclose(dual_to_matrix(Td), expected[1], atol=5e-15)
    tangent_jets_into(Omega, Omega_dot, Omega_ddot, C, T, Td, Tdd)
    for D, reference in zip((T, Td, Tdd), expected, strict=True):
        assert_allclose(dual_to_matrix(D), reference, atol=2e-14)
    tangent_transpose_derivative_into(Omega, C, y, X)
    assert_allclose(X, tangent_transpose_derivative(Omega, y), atol=5e-15)


def test_dual_matrix_has_its_first_block_twice_on_the_diagonal():
    D = np.arange(18.0).reshape(2, 3, 3)
    assert_array_equal(dual_to_matrix(D), np.block([[D[0], np.zeros((3, 3))], [D[1], D[0]]]))
