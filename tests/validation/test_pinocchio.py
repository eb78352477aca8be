"""Rigid trees against Pinocchio: kinematics, dynamics and all derivatives."""

import numpy as np
import pytest
from helpers.differences import Worst, best_slope, jacobian, relative_error
from helpers.kinds import JOINT_KINDS
from helpers.pinocchio_model import BY_TWISTS, PinocchioRobot, directions_of, pin
from helpers.robots import random_state, rigid_tree

from benchmarks.algorithms import forward_dynamics, forward_dynamics_derivatives
from sorosim.mechanics.dynamics.forward import FORWARD, FORWARD_DERIVATIVES
from sorosim.mechanics.model.chart import joint_jacobian

# trees of 3 to 25 links: chains, chains with branches, bushes; and regular ones of two and five links on each
SHAPES = {"chain": {"along": 1.0}, "branched": {"along": 0.7}, "bush": {"along": 0.2},
          "two each": {"branching": 2}, "five each": {"branching": 5}}  # fmt: skip
TREES = [(seed, 3 + round(22 * seed / 19), tuple(SHAPES)[seed % 3]) for seed in range(20)]
TREES += [(30 + i, n, shape) for i, (n, shape) in enumerate([(7, "two each"), (31, "two each"), (31, "five each")])]
LARGE = (20, 60, "branched")
AGREE, DIFFERENCES = 1e-11, 1e-10
STEPS = (0.02, 0.01, 0.005)
# times rounding and the condition of the scaled mass matrix, which is the smaller one: one solution; derivatives, where
# the errors of the accelerations come in as well; five times the worst
SOLVED, DERIVED = 20.0, 210.0

WORST = Worst()


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("against Pinocchio"))


@pytest.fixture(scope="module", params=[*TREES, pytest.param(LARGE, marks=pytest.mark.slow)], ids=str)
def tree(request):
    """Robot, the same with Pinocchio's universal joints (values only) and without, and a state."""
    seed, n_links, shape = request.param
    rng = np.random.default_rng(seed)
    robot = rigid_tree(rng, n_links, **SHAPES[shape])
    both = (PinocchioRobot(robot.description, universal=universal) for universal in (True, False))
    return robot, *both, random_state(rng, robot)


def check(agrees, kind, ours, theirs, tolerance=AGREE):
    WORST.note(kind, relative_error(ours, theirs))
    agrees(f"rigid trees: {kind}", ours, theirs, rtol=tolerance, source="Pinocchio")


def regimes(q, qd, qdd):
    """All moves; at rest; all moves through zero."""
    zero = 0.0 * q
    return (q, qd, qdd), (q, zero, zero), (zero, qd, qdd)


# -- the map between coordinates


def test_configurations_move_with_the_mapped_velocities(agrees, rng):
    robot = rigid_tree(rng, len(JOINT_KINDS))
    other, (q, qd, qdd, _) = PinocchioRobot(robot.description), random_state(rng, robot)

    def at(t):
        return q + t * qd + 0.5 * t**2 * qdd, qd + t * qdd, qdd

    to, start = other.motion(q, qd, qdd), other.configuration(q)
    moved = best_slope(lambda t: pin.difference(other.model, start, other.configuration(at(t)[0])), STEPS, 8)
    check(agrees, "map: v by differences", other.there(to.v), moved, DIFFERENCES)
    for name, rate in (("v", to.vdot), ("A", to.Ad)):
        by_t = best_slope(lambda t, name=name: getattr(other.motion(*at(t)), name), STEPS, 8)
        check(agrees, f"map: rate of {name} by differences", rate, by_t, DIFFERENCES)
    for own, joint in other.by_twists():
        check(agrees, "map: A", to.A[own, own], directions_of(joint) @ joint_jacobian(joint, q[own]))


def test_derivatives_of_the_map(agrees, rng):
    robot = rigid_tree(rng, 3, kinds=BY_TWISTS)
    other, (q, qd, qdd, f) = PinocchioRobot(robot.description), random_state(rng, robot)
    to = other.motion(q, qd, qdd)
    for name, ours, of, x in (
        ("dv/dq", to.dv_dq, lambda x: other.motion(x, qd, qdd).v, q),
        ("dvdot/dq", to.dvdot_dq, lambda x: other.motion(x, qd, qdd).vdot, q),
        ("dvdot/dqd", to.dvdot_dqd, lambda x: other.motion(q, x, qdd).vdot, qd),
        ("d(A^T f)/dq", other.transposed_slope(q, f), lambda x: other.motion(x, qd, qdd).A.T @ f, q),
    ):
        check(agrees, f"map: {name} by differences", ours, jacobian(of, x, 0.02, 8), DIFFERENCES)


# -- what both compute


def test_poses_twists_and_jacobians(agrees, tree):
    robot, values, other, (q, qd, qdd, _) = tree
    for state in regimes(q, qd, qdd):
        ours, theirs = robot.kinematics(*state[:2]), other.kinematics(*state[:2])
        for name in ours._fields:
            check(agrees, f"kinematics: {name}", getattr(ours, name), getattr(theirs, name))
        same = values.kinematics(*state[:2])
        for name in ("g", "eta", "J"):
            check(agrees, f"kinematics: {name}", getattr(ours, name), getattr(same, name))


def test_energies(agrees, tree):
    robot, values, _, (q, qd, _, _) = tree
    ours, (kinetic, gravity) = robot.energy(q, qd), values.energy(q, qd)
    check(agrees, "kinetic energy", ours.kinetic, kinetic)
    check(agrees, "energy of gravity", ours.gravity, gravity)


def test_mass_matrix_and_inverse_dynamics(agrees, tree):
    robot, values, _, (q, qd, qdd, _) = tree
    for x, v, a in regimes(q, qd, qdd):
        check(agrees, "mass matrix", robot.mass_matrix(x), values.mass_matrix(x))
        check(agrees, "inverse dynamics", robot.inverse_dynamics(x, v, qdd=a), values.inverse_dynamics(x, v, qdd=a))


def test_derivatives_of_inverse_dynamics(agrees, tree):
    robot, _, other, (q, qd, qdd, _) = tree
    for x, v, a in regimes(q, qd, qdd):
        ours, theirs = (one.inverse_dynamics_derivatives(x, v, qdd=a) for one in (robot, other))
        for name in ours._fields:
            check(agrees, f"inverse dynamics derivatives: {name}", getattr(ours, name), getattr(theirs, name))


def test_forward_dynamics_and_its_derivatives(agrees, tree):
    robot, values, other, (q, qd, _, f) = tree
    M = robot.mass_matrix(q)
    scale = np.sqrt(np.diag(M))
    rounding = np.finfo(float).eps * np.linalg.cond(M / np.outer(scale, scale))

    def scaled(found):
        qdd, by_q, by_qd, by_f = found
        rows = scale[:, None]
        return scale * qdd, rows * by_q / scale, rows * by_qd / scale, rows * by_f * scale

    theirs = values.forward_dynamics(q, qd, u=f)
    for algorithm in (*FORWARD, "unit", "fixman"):
        ours = forward_dynamics(robot, q, qd, u=f, algorithm=algorithm)
        check(agrees, f"forward dynamics, {algorithm}", scale * ours, scale * theirs, 1e-13 + SOLVED * rounding)
        WORST.note(f"  in eps cond(M): {algorithm}", relative_error(scale * ours, scale * theirs) / rounding)
    ways = (
        ("solved", other.solved_derivatives(q, qd, f)),
        ("articulated", other.forward_dynamics_derivatives(q, qd, u=f)),
    )
    for algorithm in (*FORWARD_DERIVATIVES, "inverse"):
        ours = forward_dynamics_derivatives(robot, q, qd, u=f, algorithm=algorithm)
        for way, theirs in ways:
            for name, a, b in zip(ours._fields, scaled(ours), scaled(theirs), strict=True):
                check(agrees, f"forward dynamics derivatives, {algorithm}: {name}", a, b, 1e-13 + DERIVED * rounding)
                WORST.note(f"  in eps cond(M): {name}, {algorithm} / {way}", relative_error(a, b) / rounding)
