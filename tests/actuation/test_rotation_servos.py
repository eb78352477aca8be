"""Servos of ball and free joints: moments by the turn that is left, beside rotations by scipy."""

import numpy as np
import pytest
from helpers.differences import jacobian
from helpers.robots import random_pose
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import sorosim
from sorosim.base.errors import InputError, ModelError, SorosimWarning
from sorosim.mechanics.actuation.servo import Servo, VelocityServo
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.chart import twist_matrix
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.robot import Robot

INERTIA = (0.1, 0.12, 0.15)
AXES = ("rx", "ry", "rz")
STIFFNESS, DAMPING, LIMIT = np.array([5.0, 7.0, 4.0]), np.array([0.3, 0.2, 0.5]), np.array([3.0, np.inf, 2.0])
# joint, its coordinates that turn
JOINTS = [("spherical", {}, slice(0, 3)), ("free", {}, slice(3, 6)), ("free", {"coordinates": "screw"}, slice(3, 6))]


def servos(**kinds):
    """Three position servos with limits on two of them; or of rates."""
    if kinds.get("of_rate"):
        return {f"spin_{a}": VelocityServo("body", a, gain=d) for a, d in zip(AXES, DAMPING, strict=True)}
    numbers = zip(AXES, STIFFNESS, DAMPING, LIMIT, strict=True)
    return {f"hold_{a}": Servo("body", a, stiffness=k, damping=d, limit=L) for a, k, d, L in numbers}


def robot_with(kind="spherical", actuators=None, gravity=(0.0, 0.0, 0.0), centre=(0.0, 0.0, 0.0), **joint):
    """One body on a joint, the frame of which is turned and moved."""
    body = RigidBody(1.0, inertia=INERTIA, centre=centre)
    link = Link("body", body, joint=Joint(kind, **joint), at=random_pose(np.random.default_rng(3)))
    own = servos() if actuators is None else actuators
    return Robot(Description("body", (link,), actuators=own, gravity=gravity))


def moments(w, omega, u):
    """What the servos of positions do about the axes of the moved frame."""
    left = (Rotation.from_rotvec(w).inv() * Rotation.from_rotvec(u)).as_rotvec()
    brackets = STIFFNESS * left - DAMPING * omega
    return np.where(np.isfinite(LIMIT), LIMIT * np.tanh(brackets / np.minimum(LIMIT, 1e300)), brackets)


def turned(w, by):
    """Rotation vector of the rotation that is `by` further, in the moved frame."""
    return (Rotation.from_rotvec(w) * Rotation.from_rotvec(by)).as_rotvec()


def regimes(rng):
    """Rotation vectors and inputs: anywhere, near zero, near each other, half a turn apart, far from zero."""
    w, axis = rng.normal(size=3), np.array([2.0, -1.0, 2.0]) / 3.0
    yield w, rng.normal(size=3)
    yield np.zeros(3), np.zeros(3)
    yield 1e-7 * w, 1e-7 * axis
    yield w, turned(w, 1e-6 * axis)
    yield w, turned(w, (np.pi - 0.05) * axis)
    yield 3.5 * axis, 7.0 * w / np.linalg.norm(w)


@pytest.mark.parametrize(("kind", "chart", "turns"), JOINTS)
def test_the_work_is_that_of_moments_by_the_turn_that_is_left(kind, chart, turns, rng):
    robot = robot_with(kind, **chart)
    for w, u in regimes(rng):
        q, qd = rng.normal(size=robot.ndof), rng.normal(size=robot.ndof)
        q[turns] = w
        omega = twist_matrix(np.eye(6)[:3], w) @ qd[turns]
        expected = moments(w, omega, u)
        assert robot.internal_force(q, qd, u=u) @ qd == pytest.approx(expected @ omega, rel=1e-9, abs=1e-12)
        (found,) = robot.engine.rotation_servos
        assert_allclose(found.efforts(q, qd, u), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("of_rate", [False, True])
@pytest.mark.parametrize(("kind", "chart", "turns"), JOINTS)
def test_derivatives_are_exact(kind, chart, turns, of_rate, rng):
    robot = robot_with(kind, servos(of_rate=of_rate), **chart)
    for w, u in regimes(rng):
        q, qd = rng.normal(size=robot.ndof), rng.normal(size=robot.ndof)
        q[turns] = w
        ours = robot.internal_force_derivatives(q, qd, u=u)
        assert all(np.any(part) for part in (ours.dtau_dq if not of_rate else ours.B, ours.dtau_dqd, ours.B))
        for got, of, x in (
            (ours.dtau_dq, lambda x: robot.internal_force(x, qd, u=u), q),  # noqa: B023
            (ours.dtau_dqd, lambda x: robot.internal_force(q, x, u=u), qd),  # noqa: B023
            (ours.B, lambda x: robot.internal_force(q, qd, u=x), u),  # noqa: B023
        ):
            difference = jacobian(of, np.array(x), (0.01, 0.005, 0.002), 8)
            assert np.abs(got - difference).max() < 1e-8 * max(np.abs(difference).max(), 1.0)


def test_both_kinds_on_one_joint_and_products_with_derivatives(rng):
    both = {**servos(), "spin": VelocityServo("body", "ry", gain=0.4, limit=1.0)}
    robot = robot_with("free", both, gravity=(0.0, 0.0, -9.81), centre=(0.1, 0.0, 0.2))
    q, qd, u = rng.normal(size=6), rng.normal(size=6), rng.normal(size=4)
    D = robot.forward_dynamics_derivatives(q, qd, u=u)
    for got, of, x in (
        (D.dqdd_dq, lambda x: robot.forward_dynamics(x, qd, u=u), q),
        (D.dqdd_dqd, lambda x: robot.forward_dynamics(q, x, u=u), qd),
        (D.dqdd_du, lambda x: robot.forward_dynamics(q, qd, u=x), u),
    ):
        difference = jacobian(of, np.array(x), (0.01, 0.005, 0.002), 8)
        assert np.abs(got - difference).max() < 1e-8 * np.abs(difference).max()
    along = [rng.normal(size=len(x)) for x in (q, qd, u)]
    found = robot.forward_dynamics_jvp(q, qd, u=u, dq=along[0], dqd=along[1], du=along[2])
    matrices = D.dqdd_dq, D.dqdd_dqd, D.dqdd_du
    assert_allclose(found.dqdd, sum(X @ x for X, x in zip(matrices, along, strict=True)), rtol=1e-9, atol=1e-9)
    back = robot.forward_dynamics_vjp(q, qd, u=u, qdd_bar=along[0])
    for X, ours in zip(matrices, back[1:], strict=True):
        assert_allclose(ours, X.T @ along[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("of_rate", [False, True])
def test_whole_turns_of_coordinates_and_inputs_make_no_difference(of_rate, rng):
    robot = robot_with(actuators=servos(of_rate=of_rate))
    q, omega, u = np.array([2.0, -1.5, 1.0]), rng.normal(size=3), rng.normal(size=3)
    other = q * (1.0 - 2.0 * np.pi / np.linalg.norm(q))
    inputs = [u] if of_rate else [u, u * (1.0 + 2.0 * np.pi / np.linalg.norm(u))]
    found = [
        np.linalg.solve(A.T, robot.internal_force(x, np.linalg.solve(A, omega), u=v))
        for x in (q, other)
        for A in [twist_matrix(np.eye(6)[:3], x)]
        for v in inputs
    ]
    for moment in found[1:]:  # conjugate to the angular velocity
        assert_allclose(moment, found[0], rtol=1e-11, atol=1e-12)


def motion(law, R, omega, times):
    """Rotations and angular velocities of a body in its own axes, by Euler's equations; law(w, omega) its moment."""
    inertia = np.array(INERTIA)

    def rates(_, x):
        now = Rotation.from_quat(x[:4])
        v, s, p = x[:3], x[3], x[4:]
        spin = 0.5 * np.concatenate([s * p + np.cross(v, p), [-v @ p]])
        return [*spin, *((law(now.as_rotvec(), p) - np.cross(p, inertia * p)) / inertia)]

    start = [*R.as_quat(), *omega]
    return solve_ivp(rates, (0.0, times[-1]), start, "DOP853", t_eval=times, rtol=1e-11, atol=1e-12).y


@pytest.mark.parametrize("method", ["bdf", "newmark"])
def test_a_spinning_body_comes_to_its_target_as_eulers_equations_say(method):
    """It turns more than once, so that coordinates are changed on the way."""
    robot, u, omega = robot_with(), np.array([0.5, -1.0, 2.0]), np.array([3.0, -2.0, 14.0])
    options = {"rtol": 1e-8, "atol": 1e-10} if method == "bdf" else {"rtol": 1e-6, "atol": 1e-9}
    run = sorosim.simulate(robot, 4.0, dt_out=0.1, u=dict(zip(robot.actuator_names, u, strict=True)), qd0=omega,
                           method=method, **options)  # fmt: skip
    exact = motion(lambda w, p: moments(w, p, u), Rotation.identity(), omega, run.t)
    found = Rotation.from_rotvec(run.q)
    assert (found * Rotation.from_quat(exact[:4].T).inv()).magnitude().max() < (1e-4 if method == "bdf" else 1e-2)
    assert np.abs(np.diff(run.q, axis=0)).max() > 2.0  # coordinates were changed
    assert 2.0 * np.pi < np.trapezoid(np.linalg.norm(exact[4:], axis=0), run.t)
    late = sorosim.simulate(robot, 20.0, dt_out=1.0, u=dict(zip(robot.actuator_names, u, strict=True)), qd0=omega)
    assert (Rotation.from_rotvec(late.q[-1]).inv() * Rotation.from_rotvec(u)).magnitude() < 1e-4
    energy = run.energy()
    assert_allclose(energy.kinetic - energy.kinetic[0], energy.work - energy.dissipated, atol=5e-3)


def test_servos_of_rates_hold_an_angular_velocity():
    robot, u = robot_with(actuators=servos(of_rate=True)), {"spin_rx": "0.5 rad/s", "spin_rz": 3.0}
    assert robot.actuator_units == ("rad/s",) * 3
    run = sorosim.simulate(robot, 6.0, dt_out=0.1, u=u, rtol=1e-9, atol=1e-11)
    exact = motion(lambda _, p: DAMPING * (np.array([0.5, 0.0, 3.0]) - p), Rotation.identity(), np.zeros(3), run.t)
    assert (Rotation.from_rotvec(run.q) * Rotation.from_quat(exact[:4].T).inv()).magnitude().max() < 1e-6


def test_a_free_body_with_servos_of_all_directions_hovers_where_they_say():
    """Those of the position act in the fixed frame, whatever the body turns to."""
    along = {f"at_{a}": Servo("body", a, stiffness=100.0, damping=20.0) for a in ("tx", "ty", "tz")}
    robot = robot_with("free", {**along, **servos()})
    goal, u = np.array([0.3, -0.2, 0.5]), np.array([0.0, 0.0, 3.0])
    inputs = dict(zip(robot.actuator_names, [*goal, *u], strict=True))
    run = sorosim.simulate(robot, 30.0, u=inputs)
    assert_allclose(run.q[-1, :3], goal, atol=1e-5)
    assert (Rotation.from_rotvec(run.q[-1, 3:]).inv() * Rotation.from_rotvec(u)).magnitude() < 1e-4


def test_statics_balances_weight_by_the_turn_that_is_left():
    robot = robot_with(gravity=(0.0, 0.0, -9.81), centre=(0.1, 0.05, 0.0))
    u = np.array([0.4, -0.3, 1.0])
    eq = sorosim.statics(robot, u)
    g = robot.pose(eq.q, "body")[:3, :3]
    weight = np.cross([0.1, 0.05, 0.0], g.T @ [0.0, 0.0, -9.81])
    assert_allclose(moments(eq.q, np.zeros(3), u), -weight, atol=1e-9)
    assert eq.stable


def test_one_servo_acts_about_its_axis_alone(rng):
    robot = robot_with(actuators={"yaw": Servo("body", "rz", stiffness=5.0)})
    w = rng.normal(size=3)
    left = (Rotation.from_rotvec(w).inv() * Rotation.from_rotvec([0.0, 0.0, 0.7])).as_rotvec()
    A = twist_matrix(np.eye(6)[:3], w)
    assert_allclose(robot.internal_force(w, np.zeros(3), u=[0.7]), A.T @ [0.0, 0.0, 5.0 * left[2]], atol=1e-12)


def test_the_angle_of_a_screw_in_a_plane_takes_the_shorter_way():
    robot = robot_with("planar", {"turn": Servo("body", "angle", stiffness=2.0)}, coordinates="screw")
    for q, left in ((0.5, 0.5), (3.5, -2.5), (5.0, 1.0 - 5.0 + 2.0 * np.pi)):
        assert_allclose(robot.internal_force([0.3, 0.1, q], np.zeros(3), u=[1.0]), [0, 0, 2.0 * left], atol=1e-12)


FILE = """
sorosim: 1
name: body
links:
  body:
    joint: {spherical: {}}
    body: {mass: 1 kg, centre: [10 cm, 0, 0], inertia: [0.1, 0.12, 0.15]}
actuators:
  roll: {servo: {link: body, along: rx, stiffness: 5 N*m/rad, damping: 0.2 N*m*s/rad}}
  pitch: {servo: {link: body, along: ry, stiffness: 6 N*m/rad, limit: 4 N*m}}
  yaw: {velocity: {link: body, along: rz, gain: 0.3 N*m*s/rad}}
simulate: {t_end: 1 s, u: {roll: 20 deg, pitch: 0.3, yaw: 5 deg/s}}
"""


def test_files_have_them_and_derivatives_by_their_numbers_are_exact(tmp_path):
    (tmp_path / "body.yaml").write_text(FILE)
    robot = sorosim.load(tmp_path / "body.yaml")
    assert robot.actuator_units == ("rad", "rad", "rad/s")
    again = robot.with_loads()
    (tmp_path / "again.yaml").write_text(again.to_yaml())
    assert sorosim.load(tmp_path / "again.yaml").description.actuators == robot.description.actuators
    q, qd, u = np.array([0.3, -0.5, 0.8]), np.array([1.0, 0.4, -0.2]), np.array([0.5, 0.2, 1.0])
    names = ["actuators.roll.servo.stiffness", "actuators.pitch.servo.limit", "actuators.yaw.velocity.gain"]
    values = [5.0, 4.0, 0.3]

    def forces(numbers):
        changed = sorosim.load(tmp_path / "body.yaml", set=dict(zip(names, map(float, numbers), strict=True)))
        return changed.forward_dynamics(q, qd, u=u)

    changed = robot.with_values(dict(zip(names, [6.0, 2.0, 0.5], strict=True)))
    assert_allclose(changed.forward_dynamics(q, qd, u=u), forces([6.0, 2.0, 0.5]), rtol=1e-14)
    exact = sorosim.sensitivities(robot, names).forward_dynamics(q, qd, u=u)
    assert_allclose(exact, jacobian(forces, np.array(values), 1e-3), rtol=1e-7, atol=1e-9)


def test_batches_are_their_members_and_derivatives_of_steps_are_refused(rng):
    robot = robot_with("free", gravity=(0.0, 0.0, -1.0), centre=(0.05, 0.0, 0.1))
    u, start = 0.5 * rng.normal(size=(6, 3)), {"q0": 0.3 * rng.normal(size=6), "qd0": rng.normal(size=6)}
    motion = sorosim.rollout(robot, u, dt=0.05, **start)
    with pytest.raises(InputError, match="derivatives of steps: expected loads and actuators that are compiled"):
        motion.vjp(q_bar=np.ones_like(motion.q))
    with pytest.warns(SorosimWarning, match="members move one after the other"):
        batch = sorosim.Batch(robot, 2, 0.05)
    batch.reset(q=start["q0"], qd=start["qd0"])
    for row in u:
        batch.step(np.stack([row, 0.0 * row]))
    assert_allclose(batch.q[0], motion.q[-1], atol=1e-6)  # within the tolerance of steps
    assert np.abs(batch.q[1] - batch.q[0]).max() > 1e-3


def test_what_has_no_meaning_is_refused():
    with pytest.raises(ModelError, match=r"actuators\.other\.along: expected one servo .* got 'hold_rx' beside it"):
        robot_with(actuators={**servos(), "other": Servo("body", "rx", stiffness=1.0)})
    with pytest.raises(ModelError, match="expected an angle, where coordinates are those of a screw motion, got 'tx'"):
        robot_with("free", {"hold": Servo("body", "tx", stiffness=1.0)}, coordinates="screw")
