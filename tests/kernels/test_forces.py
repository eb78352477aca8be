"""Elastic forces and tendons of random trees against dense sums over the description."""

import numpy as np
import pytest
import scipy.linalg
from helpers.differences import relative_error
from helpers.robots import cable_manipulator, moderate, random_state, varied_tree
from numpy.testing import assert_array_equal

from sorosim.mechanics.actuation.joint_force import JointForce
from sorosim.mechanics.actuation.tendon import Tendon
from sorosim.mechanics.kernels.forces import add_blocks, elastic_force
from sorosim.mechanics.kernels.rod_actuators import N_ROW_VALUES, ROUTE, SLOPE, route_vector, tendon_lengths
from sorosim.mechanics.lie.so3 import skew
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.robot import Robot

SEEDS = [1, 3, 6, 7, 11, 14]


@pytest.fixture(scope="module", params=SEEDS)
def tree(request):
    robot = varied_tree(request.param, loads=False)
    return robot, random_state(np.random.default_rng(request.param), robot)


def elastic(robot):
    """Dense K, D and rest values of a robot."""
    K, D, rest = [], [], []
    for link in robot.links:
        joint = link.joint
        K.append(np.diag(joint.stiffness))
        # a damper of rotation vectors, and unequal ones along axes that turn, are laws of their own
        for k, stage in enumerate(joint.stages):
            own = np.array(joint.damping[stage.own])
            is_linear = stage.commutes and not (joint.turns_after(k) and np.ptp(own) > 0.0)
            D.append(np.diag(own * is_linear))
        rest += joint.rest
        for piece in robot.engine.layout.links[link.name].pieces:  # with the points that routes ask for
            stiffness, damping = piece.division.matrices
            K.append(stiffness)
            D.append(damping)
            rest += [0.0] * len(stiffness)
    return scipy.linalg.block_diag(*K), scipy.linalg.block_diag(*D), np.array(rest)


def pulled(robot, name, q):
    """Column of B, and minus the second derivative of the length, of one tendon, by quadrature over its rods."""
    B, H, length = np.zeros(robot.ndof), np.zeros((robot.ndof, robot.ndof)), 0.0
    actuator = robot.description.actuators[name]
    if isinstance(actuator, JointForce):
        return robot.internal_force_derivatives(q, 0.0 * q).B[:, robot.actuator_names.index(name)], H, 0.0
    for run in actuator.path:
        layout = robot.engine.layout.links[run.rod]
        total = layout.link.rod.length
        for piece in layout.pieces:
            division, columns = piece.division, slice(piece.column, piece.column + piece.n)
            if not run.start * total <= piece.start + 0.5 * division.length <= run.end * total:
                continue
            X, w, is_gauss = division.gauss_points()
            X, w = X[is_gauss], w[is_gauss]
            d, slope = run.route(layout, piece, piece.start + X)
            xi = division.basis(X).transpose(0, 2, 1) @ q[columns] + division.reference.values(X, division.length)
            for k in range(len(X)):
                E, P = np.hstack([-skew(d[k]), np.eye(3)]), division.basis(X[k])[0].T
                v = E @ xi[k] + slope[k]
                size = np.linalg.norm(v)
                t = v / size
                length += w[k] * size
                B[columns] -= w[k] * P.T @ E.T @ t
                H[columns, columns] -= w[k] / size * P.T @ E.T @ (np.eye(3) - np.outer(t, t)) @ E @ P
    return B, H, length


def test_elastic_forces(tree):
    robot, (q, qd, _, _) = tree
    K, D, rest = elastic(robot)
    n, arrays = robot.ndof, robot.engine
    tau = np.ones(n)
    elastic_force(arrays.tree, arrays.elastic, q, qd, tau)
    assert relative_error(1.0 - tau, K @ (q - rest) + D @ qd) < 1e-13
    dq, dqd = np.ones((n, n)), np.ones((n, n))
    add_blocks(arrays.tree, arrays.elastic.stiffness, -1.0, dq)
    add_blocks(arrays.tree, arrays.elastic.damping, -1.0, dqd)
    assert relative_error(1.0 - dq, K) < 1e-14 * (1.0 + 1.0 / np.abs(K).max())
    assert relative_error(1.0 - dqd, D) < 1e-14 * (1.0 + 1.0 / max(np.abs(D).max(), 1e-6))


def test_tendons_are_quadratures_over_their_rods(tree):
    robot, (q, qd, _, u) = tree
    u = np.where([isinstance(x, Tendon) for x in robot.description.actuators.values()], u, 0.0)
    ours, passive = robot.internal_force_derivatives(q, qd, u=u), robot.internal_force_derivatives(q, qd)
    sums = [pulled(robot, name, q) for name in robot.actuator_names]
    B = np.stack([column for column, _, _ in sums], axis=1)
    assert relative_error(ours.B, B) < 1e-13
    assert_array_equal(ours.B, passive.B)
    scale = np.abs(ours.tau).max() + np.abs(B @ u).max()
    assert np.abs(ours.tau - passive.tau - B @ u).max() <= 1e-13 * scale
    H = sum(tension * h for tension, (_, h, _) in zip(u, sums, strict=True))
    assert np.abs(ours.dtau_dq - passive.dtau_dq - H).max() <= 1e-13 * np.abs(ours.dtau_dq).max()
    lengths = np.zeros(len(u))
    engine = robot.engine
    tendon_lengths(engine.tree, engine.rod_actuators, q, engine.workspace.scratch, lengths)
    assert relative_error(lengths, [length for _, _, length in sums]) < 1e-14


def test_tendons_of_one_rod_do_not_disturb_each_other(rng):
    robot = cable_manipulator()
    q, u = moderate(robot) * rng.normal(size=24), rng.uniform(0.0, 10.0, size=5)
    zero = np.zeros(24)
    together, none = robot.internal_force_derivatives(q, zero, u=u), robot.internal_force_derivatives(q, zero)
    alone = [robot.internal_force_derivatives(q, zero, u=tension * e) for tension, e in zip(u, np.eye(5), strict=True)]
    assert relative_error(together.tau - none.tau, sum(x.tau - none.tau for x in alone)) < 1e-11
    assert relative_error(together.dtau_dq - none.dtau_dq, sum(x.dtau_dq - none.dtau_dq for x in alone)) < 1e-9


def test_direction_of_a_tendon_is_the_tangent_of_its_curve(rng):
    # d/dX of p + R d is R (eps + kappa x d + d')
    value, xi, v = rng.normal(size=N_ROW_VALUES), rng.normal(size=6), np.empty(3)
    d, slope = value[ROUTE : ROUTE + 3], value[SLOPE : SLOPE + 3]
    length = route_vector(value, xi, v)
    np.testing.assert_allclose(v, xi[3:] + np.cross(xi[:3], d) + slope, rtol=1e-13)
    assert abs(np.linalg.norm(v) - length) < 1e-15 * length


def test_springs_of_joints_rest_where_they_are_told():
    joint = Joint("revolute", stiffness=3.0, damping=0.5, rest=0.2)
    robot = Robot(Description("hinge", (Link("door", None, joint=joint),)))
    np.testing.assert_allclose(robot.internal_force([0.5], [2.0]), [-3.0 * 0.3 - 0.5 * 2.0], rtol=1e-15)
    assert robot.internal_force([0.2], [0.0]) == 0.0
    np.testing.assert_allclose(robot.energy([0.5], [0.0]).elastic, 0.5 * 3.0 * 0.3**2)
