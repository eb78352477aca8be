"""Derivatives of random trees against central differences: at rest, with rates, with accelerations, with all."""

from functools import lru_cache

import numpy as np
import pytest
from helpers.differences import Worst, best_slope, jacobian, relative_error
from helpers.kinds import JOINT_KINDS
from helpers.robots import BASES, SECTIONS, moderate, random_state, varied_tree

from sorosim.mechanics.actuation.joint_force import JointForce
from sorosim.mechanics.actuation.tendon import Tendon
from sorosim.mechanics.lie import inverse, log_se3
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.basis import STRAINS

SEEDS = range(30)
REGIMES = {"rest": (0.0, 0.0), "rates": (1.0, 0.0), "accelerations": (0.0, 1.0), "all": (1.0, 1.0)}
# eighth order; steps in sizes of `moderate`, over one of which a robot turns by a radian or less: truncation, h^8/630
# of the ninth derivative, and rounding, 1e-15/h, both come to less than 1e-11, and the better of two steps is taken
STEPS = (0.1, 0.05)
SMOOTH = 1e-10
# inverse dynamics is quadratic in qd and linear in qdd, forces are linear in u: central differences of second order
# with a large step have rounding errors only, those of forces that may be 1e4 times their change
EXACT = 1e-11

WORST = Worst()


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("random trees against differences"))


cached_tree = lru_cache(maxsize=None)(varied_tree)


@pytest.fixture(scope="module", params=SEEDS)
def tree(request):
    """A random tree, a state, and the sizes of its coordinates."""
    robot = cached_tree(request.param)
    return robot, random_state(np.random.default_rng(1000 + request.param), robot), moderate(robot)


def check(kind, ours, differences, tolerance):
    assert WORST.note(kind, relative_error(ours, differences)) <= tolerance, kind


def test_the_random_trees_have_everything():
    robots = [cached_tree(seed) for seed in SEEDS]
    links = [link for robot in robots for link in robot.links]
    divisions = [division for link in links if link.rod for division in link.rod.divisions]
    entries = {getattr(d.strain, name)[0] for d in divisions for name in STRAINS if getattr(d.strain, name) is not None}
    parents = {robot.name + link.name: link for robot in robots for link in robot.links}
    assert entries == set(BASES)
    assert {d.section.kind for d in divisions} == set(SECTIONS)
    assert {link.joint.kind for link in links} == set(JOINT_KINDS)
    assert {link.body is None for link in links} == {True, False}
    assert any(0.0 < link.s < 1.0 and parents[robot.name + link.parent].rod
               for robot in robots for link in robot.links if link.parent != "world")  # fmt: skip
    assert any(any(entry is None for entry in vars(d.strain).values()) for d in divisions)
    assert {len(link.rod.divisions) for link in links if link.rod} == {1, 2}
    actuators = [actuator for robot in robots for actuator in robot.description.actuators.values()]
    assert {len(actuator.path) for actuator in actuators if isinstance(actuator, Tendon)} == {1, 2}
    of_link = {(id(robot), link.name): link.joint for robot in robots for link in robot.links}
    moved = {of_link[id(robot), actuator.link].kind for robot in robots
             for actuator in robot.description.actuators.values() if isinstance(actuator, JointForce)}  # fmt: skip
    assert moved == set(JOINT_KINDS) - {"fixed"}
    joints = [link.joint for link in links]
    for name in ("stiffness", "damping", "rest", "friction"):
        kinds = {joint.kind for joint in joints if any(getattr(joint, name))}
        assert kinds >= {
            "universal",
            "spherical",
            "free",
            "planar",
        }
    assert {d.material.mass_damping > 0.0 for d in divisions} == {True, False}
    assert max(robot.ndof for robot in robots) >= 38


@pytest.mark.parametrize("regime", REGIMES)
def test_inverse_dynamics_derivatives(tree, regime):
    robot, (q, qd, qdd, _), size = tree
    qd, qdd = REGIMES[regime][0] * qd, REGIMES[regime][1] * qdd
    ours = robot.inverse_dynamics_derivatives(q, qd, qdd=qdd)
    by_q = jacobian(lambda x: robot.inverse_dynamics(x, qd, qdd=qdd), q, STEPS, 8, size)
    by_qd = jacobian(lambda x: robot.inverse_dynamics(q, x, qdd=qdd), qd, 2.0, 2, size)
    by_qdd = jacobian(lambda x: robot.inverse_dynamics(q, qd, qdd=x), qdd, 10.0, 2, size)
    check(f"inverse dynamics by q, {regime}", ours.dtau_dq, by_q, SMOOTH)
    check(f"inverse dynamics by qd, {regime}", ours.dtau_dqd, by_qd, EXACT)
    check(f"inverse dynamics by qdd, {regime}", ours.mass_matrix, by_qdd, EXACT)
    check("inverse dynamics itself", ours.tau, robot.inverse_dynamics(q, qd, qdd=qdd), 1e-13)


def test_internal_force_derivatives(tree):
    robot, (q, qd, _, u), size = tree
    ours = robot.internal_force_derivatives(q, qd, u=u)
    by_q = jacobian(lambda x: robot.internal_force(x, qd, u=u), q, STEPS, 8, size)
    by_qd = jacobian(lambda x: robot.internal_force(q, x, u=u), qd, (0.4, 0.2, 0.1), 8, size)
    by_u = jacobian(lambda x: robot.internal_force(q, qd, u=x), u, 5.0, 2)
    check("internal force by q", ours.dtau_dq, by_q, SMOOTH)
    check("internal force by qd", ours.dtau_dqd, by_qd, SMOOTH)
    check("internal force by u", ours.B, by_u, EXACT)
    # the part of the tendons alone, which the stiffness would hide
    passive = robot.internal_force_derivatives(q, qd)
    by_q = jacobian(lambda x: robot.internal_force_derivatives(x, qd).B @ u, q, STEPS, 8, size)
    hidden = np.abs(ours.dtau_dq).max() / max(np.abs(by_q).max(), 1e-300)
    check("tendon force by q", ours.dtau_dq - passive.dtau_dq, by_q, SMOOTH + 1e-14 * hidden)


@pytest.mark.parametrize("regime", ["rest", "rates"])
def test_forward_dynamics_derivatives_solve_their_equation(tree, regime):
    """M dqdd = d(tau - ID) at qdd held: free of the condition number of M; the right-hand sides are checked above."""
    robot, (q, qd, _, u), _ = tree
    qd = REGIMES[regime][0] * qd
    ours = robot.forward_dynamics_derivatives(q, qd, u=u)
    inverse_d = robot.inverse_dynamics_derivatives(q, qd, qdd=ours.qdd)
    internal = robot.internal_force_derivatives(q, qd, u=u)
    M = inverse_d.mass_matrix
    for name, found, right in (
        ("", ours.qdd, internal.tau - inverse_d.tau + M @ ours.qdd),
        (" by q", ours.dqdd_dq, internal.dtau_dq - inverse_d.dtau_dq),
        (" by qd", ours.dqdd_dqd, internal.dtau_dqd - inverse_d.dtau_dqd),
        (" by u", ours.dqdd_du, internal.B),
    ):
        # relative to the terms of the products, as the residual of a stable solver is
        size = (np.abs(M) @ np.abs(found) + np.abs(right)).max(initial=1e-300)
        error = np.abs(M @ found - right).max(initial=0.0) / size
        assert WORST.note(f"M x forward dynamics{name}, {regime}", error) <= 1e-12


def test_forward_dynamics_derivatives_by_differences(tree):
    """Rows weighed by sqrt(M_ii), so that all accelerations count alike.

    A Cholesky solve has rounding errors of eps times the condition number of the so scaled M (Cholesky does not notice
    the scaling); differences divide them by the step. Nothing sharper can be asked for: 1e-11 where M is good, 1e-6
    where a thin rod's torsion carries a heavy body.
    """
    robot, (q, qd, _, u), size = tree
    qd = qd * (robot.ndof % 2)
    ours = robot.forward_dynamics_derivatives(q, qd, u=u)
    M = robot.mass_matrix(q)
    weight = np.sqrt(np.diag(M))[:, None]
    rounding = 1e-16 * np.linalg.cond(M / weight / weight.T)
    by_q = jacobian(lambda x: robot.forward_dynamics(x, qd, u=u), q, (0.02, 0.01, 0.005, 0.0025), 8, size)
    by_qd = jacobian(lambda x: robot.forward_dynamics(q, x, u=u), qd, (0.4, 0.2, 0.1), 8, size)
    by_u = jacobian(lambda x: robot.forward_dynamics(q, qd, u=x), u, 5.0, 2)
    value = np.abs(weight[:, 0] * ours.qdd).max()
    for name, found, differences, scale, step in (
        ("q", ours.dqdd_dq, by_q, size, 0.0025),
        ("qd", ours.dqdd_dqd, by_qd, size, 0.1),
        ("u", ours.dqdd_du, by_u, 1.0, 5.0),
    ):
        a, b = weight * found * scale, weight * differences * scale
        if np.abs(b).max(initial=0.0) == 0.0:
            assert np.abs(a).max(initial=0.0) == 0.0
            continue
        error = WORST.note(f"forward dynamics by {name}", relative_error(a, b))
        bound = rounding * (1.0 + value / step / np.abs(b).max())
        WORST.note(f"forward dynamics by {name}, over rounding", error / bound)
        assert error <= 1e-11 + 30.0 * bound
    assert relative_error(ours.qdd, robot.forward_dynamics(q, qd, u=u)) <= rounding


def test_jacobians_are_slopes_of_poses_along_the_manifold(tree):
    robot, (q, qd, _, _), size = tree
    ours = robot.kinematics(q, qd)

    def motion(x):
        return np.stack([log_se3(inverse(g0) @ g) for g0, g in zip(ours.g, robot.kinematics(x).g, strict=True)])

    check("J", ours.J, jacobian(motion, q, STEPS, 8, size), SMOOTH)
    check("eta", ours.eta, ours.J @ qd, 1e-13)
    # all coordinates move at once, by twice their sizes in a second
    check("Jd", ours.Jd, best_slope(lambda t: robot.kinematics(q + t * qd).J, (0.02, 0.01, 0.005), 8), SMOOTH)


def test_poses_and_jacobians_anywhere(tree):
    robot, (q, _, _, _), size = tree
    rng = np.random.default_rng(robot.ndof)
    for link in robot.links:
        for s in (0.0, 1.0, float(rng.uniform()), float(rng.uniform())):
            g, J = robot.pose(q, link.name, s=s), robot.jacobian(q, link.name, s=s)

            def motion(t, direction, link=link.name, s=s, start=g):
                return log_se3(inverse(start) @ robot.pose(q + t * direction, link, s=s))

            # along random directions, in which every column has a share
            direction = size * rng.normal(size=robot.ndof)
            slopes = best_slope(lambda t: motion(t, direction), (0.04, 0.02, 0.01), 8)  # noqa: B023
            check("J anywhere", J @ direction, slopes, SMOOTH)

    # the same place as a node: a wrench of zero makes it one
    rod = [link.name for link in robot.links if link.rod][-1]
    s = float(rng.uniform())
    noded = robot.with_loads(probe=Wrench(rod, s, moment=((0.0,) * 6)[:3], force=((0.0,) * 6)[3:]))
    assert np.abs(noded.engine.layout.links[rod].X / noded.engine.layout.links[rod].X[-1] - s).min() < 1e-9
    check("pose of a node there", robot.pose(q, rod, s=s), noded.pose(q, rod, s=s), 1e-14)
    check("J of a node there", robot.jacobian(q, rod, s=s), noded.jacobian(q, rod, s=s), 1e-13)


def test_poses_of_several_places_are_those_of_each(tree):
    robot, (q, _, _, _), _ = tree
    for link in robot.links:
        s = [0.9, 0.0, 1.0, 0.3]
        together = robot.poses(q, link.name, s=s)
        each = np.stack([robot.pose(q, link.name, s=x) for x in s])
        # NumPy's products of one matrix and of many sum in another order: an eps of the largest term
        np.testing.assert_allclose(
            together, each, rtol=0.0, atol=4.0 * np.finfo(float).eps * max(1.0, np.abs(each).max())
        )
