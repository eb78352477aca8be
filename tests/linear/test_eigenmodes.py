"""Eigenvalues and modes of matrices against a second algorithm, closed forms and long arithmetic."""

import numpy as np
import pytest
from mpmath import mp
from numpy.testing import assert_allclose

from sorosim.mechanics.linear import linearize


def matched(found, other):
    """Largest distance of each eigenvalue from the nearest of another list, relative to its size."""
    return max(np.abs(other - z).min() / abs(z) for z in found)


def random_matrices(kind, n=7, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n))
    M, Y, S = X @ X.T + n * np.eye(n), rng.normal(size=(n, n)), rng.normal(size=(n, n))
    K, C, G = Y @ Y.T + np.eye(n), 0.3 * S @ S.T, 2.0 * (S - S.T)
    D = {"undamped": 0 * C, "proportional": 0.1 * M + 2.0 * K, "damped": C, "gyroscopic": G, "both": C + G,
         "unstable": C, "follower": C}[kind]  # fmt: skip
    K = {"unstable": K - 4.0 * np.eye(n), "follower": K + rng.normal(size=(n, n))}.get(kind, K)
    return M, D, K


KINDS = ["undamped", "proportional", "damped", "gyroscopic", "both", "unstable", "follower"]


@pytest.mark.parametrize("kind", KINDS)
def test_eigenvalues_and_shapes_solve_the_quadratic_problem(kind):
    M, D, K = random_matrices(kind)
    found = linearize(M, D, K, np.eye(7))
    other = np.linalg.eigvals(found.A)
    assert len(found.eigenvalues) == 14
    assert matched(found.eigenvalues, other) < 1e-12
    assert matched(other, found.eigenvalues) < 1e-12
    modes = found.damped
    assert 2 * (modes.eigenvalues.imag > 0.0).sum() + (modes.eigenvalues.imag == 0.0).sum() == 14
    for value, phi in zip(modes.eigenvalues, modes.shapes.T, strict=True):
        parts = [value**2 * M @ phi, value * D @ phi, K @ phi]
        assert np.abs(sum(parts)).max() < 1e-11 * max(np.abs(part).max() for part in parts)
        assert phi.conj() @ M @ phi == pytest.approx(1.0, abs=1e-13)
        assert (phi @ M @ phi).imag == pytest.approx(0.0, abs=1e-12)  # as real as it can be
    assert found.stable is bool((other.real < 1e-12).all())


@pytest.mark.parametrize("kind", ["undamped", "gyroscopic"])
def test_where_nothing_is_lost_eigenvalues_have_no_real_part_at_all(kind):
    found = linearize(*random_matrices(kind), np.eye(7))
    assert (found.eigenvalues.real == 0.0).all()
    assert (found.damped.damping_ratios == 0.0).all()
    assert np.isinf(found.damped.time_constants).all()


def test_proportional_damping_keeps_the_natural_modes():
    M, D, K = random_matrices("proportional")
    found = linearize(M, D, K, np.eye(7))
    omega = 2.0 * np.pi * found.frequencies
    ratio = 0.5 * (0.1 / omega + 2.0 * omega)
    oscillating = ratio < 1.0
    modes, n = found.damped, int(oscillating.sum())
    assert 0 < n < 7  # both kinds
    order = np.argsort((omega * np.sqrt(np.abs(1.0 - ratio**2)))[oscillating])
    assert_allclose(modes.damping_ratios[:n], ratio[oscillating][order], rtol=1e-12)
    assert_allclose(np.abs(modes.eigenvalues[:n]), omega[oscillating][order], rtol=1e-12)
    slow = omega[~oscillating] * (ratio - np.sqrt(np.maximum(ratio**2 - 1.0, 0.0)))[~oscillating]
    assert_allclose(np.sort(1.0 / modes.time_constants[n:])[: len(slow)], np.sort(slow), rtol=1e-11)


def test_modes_stand_in_order():
    K = np.diag([0.0, -4.0, -1.0, 9.0, 4.0, 1.0])
    D = np.diag([0.0, 0.0, 0.0, 0.1, 0.1, 10.0])
    modes = linearize(np.eye(6), D, K, np.eye(6)).damped
    assert modes.words == (
        "rigid body", "grows", "grows", "oscillates", "oscillates", "decays", "decays", "decays", "decays"
    )  # fmt: skip
    assert_allclose(modes.time_constants[1:3], [-0.5, -1.0], rtol=1e-14)
    assert_allclose(modes.frequencies[3:5], np.sqrt([4.0 - 0.05**2, 9.0 - 0.05**2]) / (2.0 * np.pi), rtol=1e-14)
    slow = 1.0 / (5.0 + np.sqrt(24.0)), 0.5, 1.0, 5.0 + np.sqrt(24.0)
    assert_allclose(np.sort(1.0 / modes.time_constants[5:]), np.sort([slow[0], 1.0, 2.0, slow[3]]), rtol=1e-14)
    assert np.isnan(modes.damping_ratios[0])


def test_a_slow_mode_keeps_its_digits_beside_stiff_ones_that_damping_couples():
    # frequencies from 1 to 1e6: the usual matrix is as large as the square of the highest, and leaves the slow one 1e-4
    omega = np.array([1.0, 1e3, 1e6])
    D = np.array([[0.02, 1e-3, 2e-3], [1e-3, 3.0, 0.5], [2e-3, 0.5, 40.0]])
    found = linearize(np.eye(3), D, np.diag(omega**2), np.eye(3)).damped.eigenvalues[0]
    with mp.workdps(40):
        mpD, mpK = mp.matrix(D.tolist()), mp.matrix(np.diag(omega**2).tolist())

        def determinant(x):
            return mp.det(x**2 * mp.eye(3) + x * mpD + mpK)

        exact = complex(mp.findroot(determinant, mp.mpc(-0.01, 1.0)))
    assert abs(found - exact) < 1e-9  # eps times the highest


def test_a_body_in_a_fluid_has_a_rigid_body_mode_and_a_decay():
    # z'' + d z' = 0 beside a spring: 0 and -d
    D, K = np.array([[0.5, 0.1], [0.1, 0.2]]), np.diag([0.0, 25.0])
    modes = linearize(np.eye(2), D, K, np.eye(2)).damped
    assert modes.words == ("rigid body", "oscillates", "decays")
    assert_allclose(modes.eigenvalues[2].real, -0.5, atol=1e-3)
    residual = modes.eigenvalues[1] ** 2 * np.eye(2) + modes.eigenvalues[1] * D + K
    assert np.abs(residual @ modes.shapes[:, 1]).max() < 1e-13


@pytest.mark.parametrize("loss", [0.0, 3e-17, -3e-17])
def test_rounding_of_damping_makes_no_decay_of_a_drift(loss):
    # proportional damping, of a vibration and of rounding: 1e17 s are no time constant
    modes = linearize(np.eye(2), np.diag([loss, 0.5]), np.diag([0.0, 25.0]), np.eye(2)).damped
    assert modes.words == ("rigid body", "oscillates")
    slow = linearize(np.eye(2), np.diag([1e-9, 0.5]), np.diag([0.0, 25.0]), np.eye(2)).damped  # this one is one
    assert slow.words == ("rigid body", "oscillates", "decays")
    assert_allclose(slow.time_constants[2], 1e9, rtol=1e-12)


def test_flutter_is_told_from_oscillation():
    # Ziegler's kind: a follower's stiffness that is not symmetric and positive
    K = np.array([[2.0, 1.5], [-1.5, 2.0]])
    found = linearize(np.eye(2), 0.01 * np.eye(2), K, np.eye(2))
    assert "flutters" in found.damped.words
    assert not found.stable
    assert found.damped.damping_ratios.min() < 0.0
