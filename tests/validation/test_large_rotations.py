"""Rotations without end: tumbling bodies and rods, circling pendulums, starts and poses at which coordinates change."""

import numpy as np
import pytest
from helpers.differences import Worst
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp
from validation.builders import NO_GRAVITY, cantilever
from validation.motions import (
    ASKEW,
    CENTRE,
    MOMENTS,
    FreeTop,
    HeavyTop,
    X,
    Y,
    Z,
    angle_between,
    drift,
    free_body,
    momenta,
    momenta_at,
    oblique_body,
    pose,
    poses_of,
    rates_for,
    run_of,
    thrown,
    turn,
    twists_of,
)

from sorosim.analysis.motion.simulate import resume
from sorosim.base.errors import Interrupted
from sorosim.mechanics.lie import log_so3
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.robot import Robot

# tight tolerances take many steps, which a run says
pytestmark = pytest.mark.filterwarnings("ignore:.*steps follow a motion of")

METHODS = ("bdf", "radau", "lsoda", "cvode")
G = 9.81
WORST = Worst()


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("large rotations"))


def check_no_jumps(g, t, speed, rate):
    """Neighbouring poses differ by no more than the speed and the rate of rotation allow."""
    dt = np.diff(t)
    assert (np.linalg.norm(np.diff(g[:, :3, 3], axis=0), axis=1) <= speed * dt * 1.001).all()
    assert (angle_between(g[1:, :3, :3], g[:-1, :3, :3]) <= rate * dt * 1.001).all()


def check_coordinates(q):
    """Rotation vectors stay within 1.2 half turns, and have been beyond one: their coordinates were changed."""
    angles = np.linalg.norm(q, axis=1)
    assert np.pi < angles.max() < 1.2 * np.pi + 1e-9


# -- a free body


TUMBLING = FreeTop(MOMENTS, np.array([2.0, 3.0, 5.0]))


def tumbling(robot, q, velocity=(0.0, 0.0, 0.0)):
    return q, thrown(robot, q, TUMBLING.omega_0, velocity)


def check_tumbling(turns, method, rtol, bound):
    robot, zero, velocity = free_body(), np.zeros(6), np.array([0.02, -0.03, 0.01])
    t_end = 2.0 * np.pi * turns / np.linalg.norm(TUMBLING.omega_0)
    run = run_of(robot, t_end, 0.05, tumbling(robot, zero, velocity), method, rtol)
    omega = TUMBLING.omega(run.t)
    rate = np.linalg.norm(omega, axis=1)
    assert np.trapezoid(rate, run.t) > 2.0 * np.pi * 0.9 * turns
    g, h, energy, label = poses_of(run, "body"), momenta(run), run.energy(), f"{method}, {turns} turns"
    R = g[:, :3, :3] @ ASKEW
    check_coordinates(run.q[:, 3:6])
    check_no_jumps(g, run.t, rate.max() * np.linalg.norm(CENTRE) + 0.1, rate.max())
    moved = np.abs(h.centre - h.centre[0] - np.outer(run.t, velocity)).max()
    assert (
        WORST.note(f"tumbling, rotation [rad], {label}", angle_between(R, R[0] @ TUMBLING.rotation(run.t)).max())
        < bound
    )
    assert WORST.note(f"tumbling, centre [m], {label}", moved) < 100.0 * bound
    angular = h.angular - np.cross(h.centre, h.linear)
    assert WORST.note(f"tumbling, spin, {label}", drift(angular)) < 0.1 * bound
    assert WORST.note(f"tumbling, energy, {label}", drift(energy.total)) < 0.1 * bound


@pytest.mark.parametrize(("method", "rtol", "bound"), [("lsoda", 1e-12, 1e-8), ("cvode", 1e-10, 3e-6)])
def test_tumbling_body_moves_as_eulers_equations_say(method, rtol, bound):
    check_tumbling(30, method, rtol, bound)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "rtol", "bound"), [("lsoda", 1e-11, 1e-4), ("cvode", 1e-11, 3e-4)])
def test_body_tumbles_a_thousand_turns(method, rtol, bound):
    # errors of the rotation grow with the square of time
    check_tumbling(1000, method, rtol, bound)


def test_body_that_flies_far_tumbles_as_one_that_stays(agrees):
    # the position of a free joint does not enter its rotation
    robot, zero = free_body((0.0, 0.0, -G)), np.zeros(6)
    velocity = np.array([20.0, 5.0, 12.0])
    run = run_of(robot, 3.0, 0.02, tumbling(robot, zero, velocity))
    g, h = poses_of(run, "body"), momenta(run)
    parabola = h.centre[0] + np.outer(run.t, velocity) - 0.5 * G * np.outer(run.t**2, Z)
    assert (
        WORST.note(
            "flying far, rotation [rad]",
            angle_between(g[:, :3, :3] @ ASKEW, g[0, :3, :3] @ ASKEW @ TUMBLING.rotation(run.t)).max(),
        )
        < 1e-8
    )
    agrees("tumbling body that flies far, centre", h.centre, parabola, atol=1e-7, unit="m", source="parabola")


# rotation vectors of any length, two in half turns and next to where coordinates are changed
STARTS = [0.0, 1e-9, 0.5, 1.0, -1.0, 1.19, -1.19, 1.2, 1.5, 1.999, 3.0, -7.3]


def test_no_orientation_is_special():
    # without gravity the world has no directions: the same motion, seen from the start
    robot, velocity = free_body(), np.array([0.3, -0.2, 0.1])
    axes, reference = [np.array([1.0, 2.0, -2.0]) / 3.0, ASKEW @ Y], None
    for axis in axes:
        for half_turns in STARTS:
            q = np.concatenate([[0.2, 0.1, -0.4], half_turns * np.pi * axis])
            twist = [*(ASKEW @ TUMBLING.omega_0), *velocity]
            run = run_of(robot, 2.0, 0.05, (q, rates_for(robot, q, twist, "body")), rtol=1e-10)
            assert_allclose(twists_of(run[:1])[0], twist, atol=1e-8)
            assert np.linalg.norm(run.q[1:, 3:], axis=1).max() < 1.2 * np.pi + 1e-9
            g = poses_of(run, "body")
            relative = np.linalg.inv(g[0]) @ g
            reference = relative if reference is None else reference
            assert WORST.note("from any orientation", np.abs(relative - reference).max()) < 5e-8


@pytest.mark.parametrize("kind", ["spherical", "free"])
def test_body_spins_upside_down(kind):
    # half a turn about x, then any turn about z: rotation vectors of half a turn all the way, in the x-y plane
    body = RigidBody(2.0, inertia=tuple(MOMENTS))
    robot = Robot(Description("upside down", (Link("body", body, joint=Joint(kind)),), gravity=NO_GRAVITY))
    q, rate = np.zeros(robot.ndof), 7.0
    q[-3] = np.pi
    run = run_of(robot, 5.0, 0.02, (q, rates_for(robot, q, turn(X, np.pi).T @ (rate * Z), "body")))
    assert (
        WORST.note(
            "upside down [rad]",
            angle_between(poses_of(run, "body")[:, :3, :3], turn(Z, rate * run.t) @ turn(X, np.pi)).max(),
        )
        < 1e-8
    )
    assert_allclose(np.linalg.norm(run.q[:, -3:], axis=1), np.pi, atol=1e-8)
    # at half the rate, until the sign of the vector is chosen anew
    assert_allclose(
        run.q[:, -3:-1], np.pi * np.stack([np.cos(rate * run.t / 2), np.sin(rate * run.t / 2)], axis=-1), atol=1e-7
    )


def assert_same_bits(run, other):
    for name in ("t", "q", "qd"):
        assert_array_equal(getattr(run, name), getattr(other, name), strict=True)


@pytest.mark.parametrize("method", METHODS)
def test_tumbling_goes_on_with_the_same_bits(method):
    robot, zero = free_body(), np.zeros(6)
    start, options = tumbling(robot, zero), {"method": method, "rtol": 1e-6, "checkpoint": 0.37}
    whole = run_of(robot, 3.0, 0.01, start, **options)
    check_coordinates(whole.q[:, 3:6])
    assert_same_bits(resume(run_of(robot, 1.7, 0.01, start, **options), 3.0), whole)


@pytest.mark.parametrize("method", METHODS)
def test_interrupted_tumbling_goes_on_with_the_same_bits(method):
    robot, zero = free_body(), np.zeros(6)
    start, options = tumbling(robot, zero), {"method": method, "rtol": 1e-6, "checkpoint": 0.37}

    def interrupt(t):
        if t > 2.9:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        run_of(robot, 3.0, 0.01, start, progress=interrupt, **options)
    partial = caught.value.partial
    assert (np.diff(partial.t) > 0.0).all()
    assert 2.7 < partial.t[-1] < 2.95
    assert_same_bits(resume(partial), run_of(robot, 3.0, 0.01, start, **options))


@pytest.mark.parametrize("method", ["bdf", "radau", "lsoda"])
def test_dense_output_passes_over_changes_of_coordinates(method):
    robot, zero = free_body(), np.zeros(6)
    run = run_of(robot, 3.0, 0.5, tumbling(robot, zero), method, rtol=1e-9, dense=True)
    t = np.linspace(0.0, 3.0, 200)
    R = np.stack([robot.pose(run.at(s)[0], "body")[:3, :3] for s in t]) @ ASKEW
    assert WORST.note("dense output [rad]", angle_between(R, R[0] @ TUMBLING.rotation(t)).max()) < 3e-6


def test_two_bodies_tumble_on_a_spherical_joint_between_them():
    # each joint changes its coordinates at times of its own
    hook = pose(ASKEW, (0.3, 0.0, 0.1))
    other = RigidBody(1.0, centre=(0.2, 0.0, 0.0), inertia=(0.02, 0.05, 0.04))
    links = (*free_body().links, Link("other", other, joint=Joint("spherical"), parent="body", at=hook))
    robot = Robot(Description("two bodies", links, gravity=NO_GRAVITY))
    run = run_of(robot, 6.0, 0.02, (np.zeros(9), np.array([0.1, 0.2, -0.1, 2.0, 4.0, 3.0, -6.0, 5.0, 3.0])))
    for own in (slice(3, 6), slice(6, 9)):
        check_coordinates(run.q[:, own])
    h, energy = momenta(run), run.energy()
    assert WORST.note("two bodies, linear momentum", drift(h.linear)) < 1e-7
    assert WORST.note("two bodies, angular momentum", drift(h.angular)) < 1e-7
    assert WORST.note("two bodies, energy", drift(energy.total)) < 1e-7
    rates = np.abs(np.stack([robot.kinematics(*row).eta for row in zip(run.q, run.qd, strict=True)]))
    check_no_jumps(poses_of(run, "other"), run.t, 3.0 * rates[:, 1, 3:].max(), 2.0 * rates[:, 1, :3].max())


@pytest.mark.parametrize("coordinates", ["position", "screw"])
def test_plate_spins_and_slides_in_its_plane(coordinates):
    # exact: the centre of mass on a parabola, the rotation even
    axis, at = np.array([1.0, 2.0, 2.0]) / 3.0, pose(ASKEW, (0.1, 0.2, 0.3))
    body, joint = oblique_body(2.0, MOMENTS, CENTRE, ASKEW), Joint("planar", axis=axis, coordinates=coordinates)
    robot = Robot(Description("plate", (Link("plate", body, joint=joint, at=at),), gravity=(1.0, 2.0, -G)))
    normal = ASKEW @ axis
    along = robot.description.gravity - normal * (normal @ robot.description.gravity)
    q, rate = np.array([0.3, -0.1, 2.0]), 9.0
    run = run_of(robot, 4.0, 0.02, (q, rates_for(robot, q, rate * axis, "plate")))
    if coordinates == "screw":
        assert np.pi < np.abs(run.q[:, 2]).max() < 1.2 * np.pi + 1e-9
    else:  # turns are counted
        assert_allclose(run.q[:, 2], 2.0 + rate * run.t, rtol=1e-8)
    h, R = momenta(run), poses_of(run, "plate")[:, :3, :3]
    v = h.linear[0] / h.mass
    v -= normal * (normal @ v)
    path = h.centre[0] + np.outer(run.t, v) + 0.5 * np.outer(run.t**2, along)
    assert WORST.note("plate, centre [m]", np.abs(h.centre - path).max()) < 3e-7  # five times the worst
    assert WORST.note("plate, rotation [rad]", angle_between(R, turn(normal, rate * run.t) @ R[0]).max()) < 1e-9


# -- a circling pendulum

MASS, REACH = 1.5, 0.4
SWING = MASS * REACH**2 + 0.02  # moment of inertia about the pivot


def pendulum(theta, rate):
    """The exact motion, theta from the top, phi' at the start; no spin about the axis, z of the body."""
    return HeavyTop(SWING, 0.015, MASS * G * REACH, theta, rate, 0.0)


def circling(top, t_end, dt, **options):
    body = RigidBody(MASS, centre=(0.0, 0.0, REACH), inertia=(0.02, 0.02, 0.015))
    at = pose(turn(X, np.pi), (0.0, 0.0, 1.0))  # at q = 0 it hangs
    robot = Robot(Description("pendulum", (Link("bob", body, joint=Joint("spherical"), at=at),)))
    q = log_so3(turn(X, top.theta_0 - np.pi))
    omega = [0.0, top.precession_0 * np.sin(top.theta_0), 0.0]
    return run_of(robot, t_end, dt, (q, rates_for(robot, q, omega, "bob")), **options)


def cartesian(top, t):
    """Direction (n, 3) of the bob by its equation of motion in the world."""

    def slope(_, x):
        e, v = x[:3], x[3:]
        pull = -top.weight / SWING * Z
        return np.concatenate([v, pull - (pull @ e + v @ v) / (e @ e) * e])

    theta = top.theta_0
    start = [0.0, -np.sin(theta), np.cos(theta), top.precession_0 * np.sin(theta), 0.0, 0.0]
    return solve_ivp(slope, t[[0, -1]], start, "DOP853", t_eval=t, rtol=1e-13, atol=1e-14).y[:3].T


def check_pendulum(top, t_end, rtol, bound, label):
    run = circling(top, t_end, 0.05, rtol=rtol)
    R, exact = poses_of(run, "bob")[:, :3, :3], top.rotation(run.t)
    assert WORST.note(f"pendulum, rotation [rad], {label}", angle_between(R, exact).max()) < bound
    assert WORST.note(f"pendulum, direction, {label}", np.abs(R[:, :, 2] - cartesian(top, run.t)).max()) < bound
    h, energy = momenta(run), run.energy()
    vertical = (h.angular - np.cross([0.0, 0.0, 1.0], h.linear))[:, 2:]
    assert WORST.note(f"pendulum, energy, {label}", np.ptp(energy.total) / energy.kinetic.max()) < 0.1 * bound
    assert WORST.note(f"pendulum, vertical angular momentum, {label}", drift(vertical)) < 0.1 * bound
    # parallel transport turns it about its axis, until the rotation vector has to be changed
    assert np.linalg.norm(run.q, axis=1).max() > np.pi


def conical(theta):
    return pendulum(theta, np.sqrt(-MASS * G * REACH / (SWING * np.cos(theta))))


CIRCLES = {"conical": conical(2.4), "generic": pendulum(2.0, 1.0), "above the pivot": pendulum(1.2, 2.0)}


@pytest.mark.parametrize("motion", CIRCLES)
def test_spherical_pendulum_circles(motion):
    check_pendulum(CIRCLES[motion], 15.0, 1e-11, 3e-7, motion)


@pytest.mark.slow
@pytest.mark.parametrize("motion", CIRCLES)
def test_spherical_pendulum_circles_for_minutes(motion):
    check_pendulum(CIRCLES[motion], 300.0, 1e-11, 1e-5, f"{motion}, 5 min")


# -- a free rod


@pytest.fixture(scope="module")
def soft_rod():
    """A soft rod that lies bent, twisted and stretched while it tumbles."""
    rubber = Material(5e5, poisson=0.5, density=1000.0)
    return cantilever(Strain(torsion=1, bending=2), material=rubber, section=Circle(0.02), joint=Joint("free"))


def thrown_rod(rod, axis_angle, t_end, away=True, rtol=1e-9):
    """A run; not away: its centre of mass stays."""
    q = np.zeros(rod.ndof)
    q[:6] = [0.2, 0.1, -0.4, *axis_angle]
    q[6:] = np.cos(np.arange(rod.ndof - 6))
    qd = rates_for(rod, q, [12.0, 3.0, 8.0, 0.3, -2.0, 0.1], "arm")
    if not away:
        h, R = momenta_at(rod, q[None], qd[None]), rod.pose(q, "arm", s=0.0)[:3, :3]
        qd += rates_for(rod, q, [0.0, 0.0, 0.0, *(-R.T @ h.linear[0] / h.mass)], "arm")
    return run_of(rod, t_end, 0.02, (q, qd), "cvode", rtol)


def check_rod(run, bound):
    h, energy = momenta(run), run.energy()
    assert energy.elastic.max() > 0.1 * energy.kinetic.max()
    check_coordinates(run.q[:, 3:6])
    assert WORST.note("rod, linear momentum", drift(h.linear, np.sqrt(2.0 * h.mass * energy.kinetic.max()))) < bound
    assert WORST.note("rod, angular momentum", drift(h.angular)) < bound
    assert WORST.note("rod, energy", np.ptp(energy.total) / energy.kinetic.max()) < bound
    for s, point in ((0.0, 0), (1.0, -1)):
        rates = np.abs(twists_of(run, point))
        check_no_jumps(poses_of(run, "arm", s), run.t, 3.0 * rates[:, 3:].max(), 2.0 * rates[:, :3].max())


def test_rod_tumbles_the_same_from_every_orientation(soft_rod):
    reference = None
    for half_turns in (0.0, 1.0, 1.19, -1.7):
        run = thrown_rod(soft_rod, half_turns * np.pi * np.array([2.0, -1.0, 2.0]) / 3.0, 1.0)
        check_rod(run, 2e-5)
        base, tip = poses_of(run, "arm", 0.0), poses_of(run, "arm")
        relative = np.linalg.inv(base[0]) @ tip
        reference = relative if reference is None else reference
        assert WORST.note("rod, from any orientation", np.abs(relative - reference).max()) < 2e-5


@pytest.mark.slow
def test_rod_tumbles_through_many_turns(soft_rod):
    run = thrown_rod(soft_rod, np.zeros(3), 40.0, away=False)
    turned = np.trapezoid(np.linalg.norm(twists_of(run)[:, :3], axis=1), run.t) / (2.0 * np.pi)
    print(f"rod: {turned:.0f} turns")
    assert turned > 60.0
    check_rod(run, 1e-4)
