"""What acts in joints: end stops, friction, dampers and motors, against closed forms and against virtual work."""

import numpy as np
import pytest
from helpers.differences import jacobian, relative_error
from helpers.kinds import COORDINATES, JOINT_KINDS, oblique
from helpers.robots import random_pose

from sorosim.mechanics.actuation.joint_force import JointForce
from sorosim.mechanics.actuation.servo import Servo, VelocityServo
from sorosim.mechanics.kernels.joints import stop_force
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.chart import joint_jacobian, twist_matrix
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint, Limit
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.robot import Robot

BALL = RigidBody(1.0, inertia=(0.1, 0.12, 0.15))
MOVING = [kind for kind in JOINT_KINDS if kind != "fixed"]
CHARTED = [*((kind, {}) for kind in MOVING), *((kind, {"coordinates": "screw"}) for kind in ("planar", "free"))]


def robot_with(joint, **actuators):
    """One body on a joint."""
    link = Link("body", BALL, joint=joint, at=random_pose(np.random.default_rng(3)))
    return Robot(Description("joint", (link,), actuators=actuators))


def moved_directions(joint, q):
    """A (n, n): with A qd the twist along the joint's directions in the moved frame."""
    return np.vstack([stage.columns for stage in joint.stages]) @ joint_jacobian(joint, q)


def values(rng, n, size=1.0):
    return tuple(size * rng.uniform(0.5, 1.5, size=n))


# -- end stops


@pytest.mark.parametrize("depth", [-1.0, 0.0, 1e-9, 3e-4, 1e-3, 0.1, 1.0])
def test_a_stop_is_a_spring_that_sets_in_softly(depth):
    force, slope, energy = stop_force(depth, 50.0, 1e-3)
    if depth <= 0.0:
        assert (force, slope, energy) == (0.0, 0.0, 0.0)
        return
    h = 1e-4 * depth
    ahead, behind = stop_force(depth + h, 50.0, 1e-3), stop_force(depth - h, 50.0, 1e-3)
    assert slope == pytest.approx((ahead[0] - behind[0]) / (2 * h), rel=1e-6)
    # the energy is a difference of terms of size k onset depth
    assert force == pytest.approx((ahead[2] - behind[2]) / (2 * h), rel=1e-6, abs=1e-12 * 50.0 * 1e-3 * depth / h)
    if depth >= 1.0:
        assert force == pytest.approx(50.0 * (depth - 1e-3), rel=1e-5)


def test_stops_push_back_on_both_sides_and_hold_energy():
    robot = robot_with(Joint("revolute", limits=Limit(-0.5, 1.0, stiffness=20.0)))
    for q, sign in ((-0.7, 1.0), (0.2, 0.0), (1.2, -1.0)):
        depth = max(-0.5 - q, q - 1.0)
        force, _, energy = stop_force(depth, 20.0, 1e-3)
        assert robot.internal_force([q], [3.0])[0] == pytest.approx(sign * force)
        assert robot.energy([q], [0.0]).elastic == pytest.approx(energy)
        slope = robot.internal_force_derivatives([q], [0.0]).dtau_dq
        differences = jacobian(lambda x: robot.internal_force(x, [0.0]), np.array([q]), 1e-5, 6)
        assert np.abs(slope - differences).max() < 1e-6


def test_open_ended_stops_of_several_coordinates():
    robot = robot_with(Joint("cylindrical", limits=(None, Limit(high=0.1, stiffness=1e3))))
    tau = robot.internal_force([100.0, 0.2], [0.0, 0.0])
    assert tau[0] == 0.0
    assert tau[1] == pytest.approx(-stop_force(0.1, 1e3, 1e-4)[0])
    assert np.abs(robot.internal_force([1.0, -50.0], [0.0, 0.0])).max() == 0.0


# -- friction and dampers


def test_friction_of_one_coordinate():
    robot = robot_with(Joint("prismatic", friction=3.0, creep=0.2))
    for rate in (-5.0, -0.2, 0.0, 0.2, 50.0):
        expected = -3.0 * rate / np.hypot(rate, 0.2)
        assert robot.internal_force([0.0], [rate])[0] == pytest.approx(expected, rel=1e-14)


def test_friction_of_a_ball_joint_opposes_the_twist_with_its_full_size(rng):
    robot = robot_with(Joint("spherical", friction=0.7, creep=1e-3))
    P = robot.links[0].joint.stages[0].columns
    for _ in range(10):
        q, qd = rng.normal(size=3), rng.normal(size=3)
        A = twist_matrix(P, q)
        moment = np.linalg.solve(A.T, robot.internal_force(q, qd))
        np.testing.assert_allclose(moment, -0.7 * (A @ qd) / np.hypot(np.linalg.norm(A @ qd), 1e-3), rtol=1e-12)


@pytest.mark.parametrize("coordinates", ["position", "screw"])
def test_unequal_friction_is_an_ellipse_in_the_moved_frame_and_groups_do_not_mix(coordinates, rng):
    F, q, qd = np.array([2.0, 5.0, 3.0, 1.0, 1.0, 1.0]), 0.3 * rng.normal(size=6), rng.normal(size=6)
    robot = robot_with(Joint("free", friction=tuple(F), creep=1e-6 * np.ones(6), coordinates=coordinates))
    A = moved_directions(robot.links[0].joint, q)
    wrench, nu = np.linalg.solve(A.T, robot.internal_force(q, qd)), A @ qd
    for group in (slice(0, 3), slice(3, 6)):
        expected = -(F[group] ** 2) * nu[group] / np.linalg.norm(F[group] * nu[group])
        np.testing.assert_allclose(wrench[group], expected, rtol=1e-9)


@pytest.mark.parametrize(("kind", "chart"), CHARTED)
def test_dampers_and_friction_take_power_and_have_exact_derivatives(kind, chart, rng):
    n = len(COORDINATES[kind])
    options = {**chart, "damping": values(rng, n, 0.3), "friction": values(rng, n), "creep": values(rng, n, 0.5)}
    robot = robot_with(oblique(kind, **options))
    for size in (0.3, 1.0):
        q, qd = size * rng.normal(size=n), rng.normal(size=n)
        assert qd @ robot.internal_force(q, qd) < 0.0
        ours = robot.internal_force_derivatives(q, qd)
        by_q = jacobian(lambda x: robot.internal_force(x, qd), q, (0.04, 0.02, 0.01), 8)  # noqa: B023
        by_qd = jacobian(lambda x: robot.internal_force(q, x), qd, (0.01, 0.005, 0.002), 8)  # noqa: B023
        # where the joint's motions commute both are zero
        assert relative_error(ours.dtau_dq, by_q) < 1e-10 or np.abs(by_q).max() < 1e-12
        assert relative_error(ours.dtau_dqd, by_qd) < 1e-9


def test_a_damper_acts_on_the_twist_whatever_the_coordinates(rng):
    """The same pose and twist in coordinates a turn away: the same power."""
    robot = robot_with(Joint("spherical", damping=(0.1, 0.2, 0.3), friction=0.2))
    P = robot.links[0].joint.stages[0].columns
    q = np.array([2.0, -1.5, 1.0])
    other, nu = q * (1.0 - 2.0 * np.pi / np.linalg.norm(q)), rng.normal(size=3)
    rates = [np.linalg.solve(twist_matrix(P, x), nu) for x in (q, other)]
    powers = [qd @ robot.internal_force(x, qd) for x, qd in zip((q, other), rates, strict=True)]
    assert powers[0] == pytest.approx(powers[1], rel=1e-13)


# -- motors


@pytest.mark.parametrize(("kind", "chart"), CHARTED)
def test_motors_do_the_work_of_their_wrench_on_the_relative_twist(kind, chart, rng):
    """tau . qd = u nu_i for every motion, nu the twist along direction i of the moved frame."""
    names = [name for name, _ in COORDINATES[kind]]
    motors = {f"m{i}": JointForce("body", name) for i, name in enumerate(names)}
    joint = oblique(kind, **chart, **({"pitch": 0.02} if kind == "helical" else {}))
    robot, n = robot_with(joint, **motors), len(names)
    q, qd, u = rng.normal(size=n), rng.normal(size=n), rng.normal(size=n)
    # universal: each axis in its own frame, so that the rates are what the motors see
    nu = moved_directions(joint, q) @ qd if joint.takes_pose else qd
    assert robot.internal_force(q, 0.0 * q, u=u) @ qd == pytest.approx(u @ nu, rel=1e-12)
    ours = robot.internal_force_derivatives(q, qd, u=u)
    np.testing.assert_allclose(ours.B @ u, robot.internal_force(q, qd, u=u), atol=1e-15)
    by_q = jacobian(lambda x: robot.internal_force(x, qd, u=u), q, (0.04, 0.02, 0.01), 8)
    assert relative_error(ours.dtau_dq, by_q) < 1e-10 or np.abs(by_q).max() < 1e-12


@pytest.mark.parametrize("coordinates", ["position", "screw"])
def test_the_motor_of_a_free_joint_is_a_wrench_on_the_body(coordinates, rng):
    """It accelerates a body that floats as the same wrench does as a load in body axes."""
    from sorosim.mechanics.loads.wrench import Wrench

    motors = {name: JointForce("body", name) for name, _ in COORDINATES["free"]}
    robot, u = robot_with(Joint("free", coordinates=coordinates), **motors), rng.normal(size=6)
    pushed = robot.with_loads(push=Wrench("body", moment=(tuple(u))[3:], force=(tuple(u))[:3], frame="body"))
    q, qd = 0.5 * rng.normal(size=6), rng.normal(size=6)
    np.testing.assert_allclose(
        robot.forward_dynamics(q, qd, u=u), pushed.forward_dynamics(q, qd), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize(
    ("kind", "along"),
    [("universal", "first"), ("universal", "second"), ("cylindrical", "slide"), ("planar", "ty"), ("planar", "angle"),
     ("free", "tz")],
)  # fmt: skip
@pytest.mark.parametrize("what", ["position", "velocity"])
def test_a_servo_holds_one_coordinate_of_several(kind, along, what, rng):
    of_rate = what == "velocity"
    servo = VelocityServo("body", along, gain=0.3, limit=4.0)
    servo = servo if of_rate else Servo("body", along, stiffness=5.0, damping=0.3, limit=4.0)
    robot = robot_with(oblique(kind), hold=servo)
    names = [name for name, _ in COORDINATES[kind]]
    i, n = names.index(along), len(names)
    q, qd, u = 0.5 * rng.normal(size=n), rng.normal(size=n), np.array([0.7])
    expected = np.zeros(n)
    brackets = 0.3 * (0.7 - qd[i]) if of_rate else 5.0 * (0.7 - q[i]) - 0.3 * qd[i]
    expected[i] = 4.0 * np.tanh(brackets / 4.0)
    assert servo.effort(robot.engine.layout, u[0], q[i], qd[i]) == pytest.approx(expected[i], rel=1e-14)
    np.testing.assert_allclose(robot.internal_force(q, qd, u=u), expected, rtol=1e-14)
    ours = robot.internal_force_derivatives(q, qd, u=u)
    for got, of, x in (
        (ours.dtau_dq, lambda x: robot.internal_force(x, qd, u=u), q),
        (ours.dtau_dqd, lambda x: robot.internal_force(q, x, u=u), qd),
        (ours.B, lambda x: robot.internal_force(q, qd, u=x), u),
    ):
        difference = jacobian(of, x, (0.04, 0.02, 0.01), 8)
        assert np.abs(got - difference).max() < 1e-10 * max(np.abs(difference).max(), 1e-3)
