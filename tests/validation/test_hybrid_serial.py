"""The hybrid serial robot of the paper (its section 5.1): seven driven joints and a soft arm."""

import numpy as np
import pytest
from helpers.differences import jacobian, relative_error

import sorosim
from sorosim.analysis.equations.system import OdeSystem
from sorosim.mechanics.engine.prescribed import Prescribed

JOINTS = [f"link{i}" for i in range(1, 8)]


@pytest.fixture(scope="module")
def robot():
    return sorosim.load("hybrid_serial")


def angles(rng):
    """Joint angles from -pi/4 to pi/4, by link."""
    return dict(zip(JOINTS, map(float, rng.uniform(-np.pi / 4, np.pi / 4, size=7)), strict=True))


def test_it_is_the_robot_of_the_paper(robot):
    assert robot.ndof == 27
    # of the paper's 22 points: one of two of each rigid link; of the arm 5 of Gauss and its ends, not that of its joint
    assert robot.n_points == 7 + 7
    # x and y by turns
    assert [link.joint.axis for link in robot.links[:7]] == [(1, 0, 0), (0, 1, 0)] * 3 + [(1, 0, 0)]
    assert robot.links[-1].rod.divisions[0].strain.count_per_strain == (5, 5, 5, 5, 0, 0)


def test_ten_seconds_with_and_without_the_analytic_jacobian_agree(robot):
    """Within rtol = 1e-5 of a reach of about a metre, as far as either may be from one with tight tolerances."""
    with_it, without = sorosim.simulate(robot), sorosim.simulate(robot, jacobian="finite-difference")
    exact = sorosim.simulate(robot, method="cvode", rtol=1e-8, atol=1e-10)
    assert with_it.t[-1] == 10.0
    apart, off = (np.abs(with_it.tip() - other.tip()).max() for other in (without, exact))
    print(f"hybrid serial robot: tips {1e3 * apart:.3f} mm apart, {1e3 * off:.3f} mm from tight tolerances")
    assert apart < 1e-5
    assert off < 1e-5
    # the joints follow, and the work of their moments is in the balance: by Simpson's rule over the output times, which
    # are coarse for the first oscillations of the arm that is let go
    np.testing.assert_allclose(with_it.q[:, 0], 0.4 * (1.0 - np.cos(1.0 * with_it.t)), rtol=0, atol=2e-15)
    assert np.abs(exact.energy().balance).max() < 1e-4 * np.abs(exact.energy().work).max()


@pytest.mark.parametrize("moving", [False, True])
def test_derivatives_with_driven_joints(robot, moving, rng):
    """Of the motion equations as the integrator sees them; driven joints move by their own law."""
    system = OdeSystem(robot, Prescribed.of(robot, {}, None))
    assert system.n_free == 20
    for t in (0.0, 1.7):
        x = np.concatenate([0.3 * rng.normal(size=20), moving * rng.normal(size=20)])
        differences = jacobian(lambda y: system.rhs(t, y), x, (0.02, 0.01, 0.005), 8)  # noqa: B023
        # accelerations of thin rods are large and their mass matrix is bad: rounding by the step
        assert relative_error(system.jacobian(t, x), differences) < 1e-8


def test_derivatives_by_all_coordinates_with_driven_joints(robot, rng):
    """forward_dynamics takes the accelerations of the file's motions at time t, whatever the state."""
    q, qd, t = 0.3 * rng.normal(size=27), rng.normal(size=27), 0.9
    ours = robot.forward_dynamics_derivatives(q, qd, t=t)
    motions = robot.description.simulate["driven"]
    expected = [0.4 * np.cos(0.9), 0.35 * 1.6**2 * np.cos(1.6 * 0.9)]
    np.testing.assert_allclose(ours.qdd[:2], expected, rtol=1e-13)
    by_q = jacobian(lambda x: robot.forward_dynamics(x, qd, t=t), q, (0.02, 0.01, 0.005), 8)
    by_qd = jacobian(lambda x: robot.forward_dynamics(q, x, t=t), qd, 1.0, 2)
    assert relative_error(ours.dqdd_dq, by_q) < 1e-8
    assert relative_error(ours.dqdd_dqd, by_qd) < 1e-8
    assert len(motions) == 7
    np.testing.assert_array_equal(ours.dqdd_dq[:7], 0.0)


def check_equilibria(robot, n, rng):
    zero, evaluations, stable = np.zeros(27), [], 0
    for _ in range(n):
        held = angles(rng)
        found = sorosim.statics(robot, driven=held)
        np.testing.assert_array_equal(found.q[:7], list(held.values()))
        residual = robot.inverse_dynamics(found.q, zero, qdd=zero) - robot.internal_force(found.q, zero)
        np.testing.assert_allclose(residual[:7], list(found.driven.values()), atol=1e-12)
        assert np.abs(residual[7:]).max() < 1e-12
        evaluations.append(found.n_evaluations)
        stable += found.stable
        assert found.message == "hybr converged"
    print(f"{n} equilibria: {np.mean(evaluations):.1f} evaluations, {stable} stable")
    assert stable == n


def test_equilibria_at_random_joint_angles(robot, rng):
    check_equilibria(robot, 60, rng)


@pytest.mark.slow
def test_a_thousand_equilibria_at_random_joint_angles(robot, rng):
    check_equilibria(robot, 1000, rng)


def test_the_statics_block_of_the_file(robot):
    found = sorosim.statics(robot)
    np.testing.assert_allclose(found.q[:7], np.deg2rad([20, 40, -30, 30, 10, -20, 45]))
    assert list(found.driven) == JOINTS
    assert found.stable
