"""Rigid bodies on joints against exact solutions: heavy top, free body, double pendulum."""

import numpy as np
import pytest
from helpers.differences import Worst
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from validation.motions import (
    ASKEW,
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
    oblique_body,
    pose,
    poses_of,
    rates_for,
    run_of,
    thrown,
    turn,
    twists_of,
)

from sorosim.mechanics.lie import log_so3
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.robot import Robot

# method -> a tolerance at which it follows some turns within a second, and what six flips make of its errors there
METHODS = {"bdf": (1e-9, 1e-4), "radau": (1e-7, 2e-5), "lsoda": (1e-11, 8e-7), "cvode": (1e-10, 1e-5)}
G = 9.81
WORST = Worst()


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("rigid motion"))


# -- heavy top

MASS, REACH, ACROSS, AXIAL = 0.8, 0.12, 3e-3, 2e-3  # moments of inertia about the centre of mass
TRANSVERSE, WEIGHT = ACROSS + MASS * REACH**2, MASS * G * REACH
PIVOT = (0.3, -0.2, 0.5)


def heavy(theta, precession, spin):
    return HeavyTop(TRANSVERSE, AXIAL, WEIGHT, theta, precession, spin)


class OnSphericalJoint:
    """The principal axes are the columns of ASKEW in the body."""

    body = oblique_body(MASS, (ACROSS, ACROSS, AXIAL), (0.0, 0.0, REACH), ASKEW)
    robot = Robot(Description("top", (Link("top", body, joint=Joint("spherical"), at=pose(ASKEW.T, PIVOT)),)))
    axis = ASKEW[:, 2]

    def start(self, top):
        q = log_so3(ASKEW @ turn(X, top.theta_0) @ ASKEW.T)
        omega = np.array([0.0, top.precession_0 * np.sin(top.theta_0), top.spin])
        return q, rates_for(self.robot, q, ASKEW @ omega, "top")

    def rotation(self, run):
        return poses_of(run, "top")[:, :3, :3] @ ASKEW


class OnThreeHinges:
    """z-x-z angles are the coordinates; the rings have no mass."""

    hinges = [Joint("revolute", axis=axis) for axis in (Z, X, Z)]
    body = RigidBody(MASS, centre=(0.0, 0.0, REACH), inertia=(ACROSS, ACROSS, AXIAL))
    links = (
        Link("outer", None, joint=hinges[0], at=pose(p=PIVOT)),
        Link("inner", None, joint=hinges[1], parent="outer"),
        Link("top", body, joint=hinges[2], parent="inner"),
    )
    robot = Robot(Description("gimbals", links))
    axis = Z

    def start(self, top):
        q = np.array([0.0, top.theta_0, 0.0])
        return q, np.array([top.precession_0, 0.0, top.spin - top.precession_0 * np.cos(top.theta_0)])

    def rotation(self, run):
        return poses_of(run, "top")[:, :3, :3]


@pytest.fixture(params=[OnSphericalJoint, OnThreeHinges], ids=["spherical", "hinges"])
def mount(request):
    return request.param()


@pytest.mark.parametrize("root", ["slow", "fast"])
@pytest.mark.parametrize("theta", [0.7, 2.4])
def test_heavy_top_precesses_steadily_at_both_rates(agrees, mount, theta, root):
    # A cos(theta) Omega^2 - C spin Omega + m g l = 0
    spin, cos = 110.0, np.cos(theta)
    rates = np.sort(np.roots([TRANSVERSE * cos, -AXIAL * spin, WEIGHT]))
    rate = rates[np.argmin(np.abs(rates))] if root == "slow" else rates[np.argmax(np.abs(rates))]
    run = run_of(mount.robot, 0.6, 0.02, mount.start(heavy(theta, rate, spin)))
    R = turn(Z, rate * run.t) @ turn(X, theta) @ turn(Z, (spin - rate * cos) * run.t)
    error = angle_between(mount.rotation(run), R).max()
    # 10 turns at 1e-11 each step; five times the worst, which changes with the steps
    agrees("steady precession of a heavy top, angle off", WORST.note("steady precession [rad]", error), 0.0, atol=1e-7,
           unit="rad", source="closed form")  # fmt: skip


SHAPES = {"loops": (0.7, -3.0, 40.0), "cusps": (0.7, 0.0, 40.0), "waves": (0.7, 20.0, 10.0)}


@pytest.mark.parametrize("shape", SHAPES)
def test_heavy_top_nutates_as_quadrature_says(agrees, mount, shape):
    top = heavy(*SHAPES[shape])
    period, advance = top.nutation()

    def rising(t, q, qd):
        """Rate of cos theta; the axis is highest where it falls through zero, as at the start."""
        R, omega = mount.robot.pose(q, "top")[:3, :3], mount.robot.jacobian(q, "top")[:3] @ qd
        return R[2] @ np.cross(omega, mount.axis)

    rising.direction = -1.0
    run = run_of(mount.robot, 4.5 * period, period / 40.0, mount.start(top), events=[rising])
    R = mount.rotation(run)
    # the three angles by elliptic functions and quadrature, all at once
    assert WORST.note("nutation, pose [rad]", angle_between(R, top.rotation(run.t)).max()) < 2e-7
    ends, (u1, u2, _) = R[::20, 2, 2], top.roots
    assert WORST.note("nutation, extreme cosines", np.abs(ends - 5 * [u2, u1]).max()) < 1e-8
    times, q, _ = run.events[0]
    k = np.arange(1, 5)
    agrees(
        "period of nutation of a heavy top", times[-4:] / k, period, rtol=1e-8, unit="s", source="elliptic integrals"
    )
    axes = np.stack([mount.robot.pose(x, "top")[:3, :3] @ mount.axis for x in q[-4:]])
    missed = np.angle(np.exp(1j * (np.arctan2(axes[:, 0], -axes[:, 1]) - k * advance)))
    assert WORST.note("nutation, precession per period [rad]", np.abs(missed / k).max()) < 2e-8
    # conserved: energy, angular momentum about the vertical through the pivot and about the axis
    h, energy = momenta(run), run.energy()
    vertical = h.angular[:, 2] - np.cross(PIVOT, h.linear)[:, 2]
    along = AXIAL * twists_of(run)[:, :3] @ mount.axis
    assert WORST.note("heavy top, energy", drift(energy.total, energy.kinetic.max())) < 2e-9
    assert WORST.note("heavy top, vertical angular momentum", drift(vertical)) < 3e-9
    assert WORST.note("heavy top, angular momentum about the axis", drift(along)) < 1e-9
    assert_allclose([vertical[0], along[0]], top.momenta, rtol=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_every_integrator_follows_the_top_to_its_tolerance(method):
    mount, top = OnSphericalJoint(), heavy(*SHAPES["waves"])
    errors = []
    for rtol in (1e-4, 1e-6, 1e-8):
        run = run_of(mount.robot, 2.0 * top.nutation()[0], 0.02, mount.start(top), method, rtol)
        errors.append(angle_between(mount.rotation(run), top.rotation(run.t)).max())
    print(f"heavy top, {method}, rtol 1e-4, 1e-6, 1e-8:", " ".join(f"{error:.1e}" for error in errors), "rad")
    assert all(error < 1e4 * rtol for error, rtol in zip(errors, (1e-4, 1e-6, 1e-8), strict=True))
    assert errors[2] < errors[1] / 15.0 < errors[0] / 15.0**2


# -- free body


@pytest.mark.parametrize("method", METHODS)
def test_body_about_its_middle_axis_flips_as_eulers_equations_say(agrees, method):
    robot, top = free_body(), FreeTop(MOMENTS, np.array([0.1, 6.0, 0.2]))
    velocity, zero = np.array([0.3, -0.2, 0.1]), np.zeros(6)

    def middle(t, q, qd):
        return (robot.jacobian(q, "body")[:3] @ qd) @ ASKEW[:, 1]

    start, (rtol, bound) = (zero, thrown(robot, zero, top.omega_0, velocity)), METHODS[method]
    run = run_of(robot, 3.0 * top.period, top.period / 50.0, start, method, rtol, events=[middle])
    found = twists_of(run)[:, :3] @ ASKEW
    assert WORST.note(f"flips, angular velocity, {method}", np.abs(found - top.omega(run.t)).max() / 6.0) < bound
    times = run.events[0][0]
    exact = top.first_flip + 0.5 * top.period * np.arange(6)
    assert len(times) == 6
    agrees(f"times of the flips of a free body about its middle axis, {method}", times, exact, atol=bound * top.period,
           unit="s", source="Euler's equations, elliptic functions")  # fmt: skip
    R = poses_of(run, "body")[:, :3, :3] @ ASKEW
    assert WORST.note(f"flips, pose [rad], {method}", angle_between(R, R[0] @ top.rotation(run.t)).max()) < bound
    h = momenta(run)
    assert_allclose(h.mass, 2.0, rtol=1e-12)
    assert WORST.note("free body, linear momentum", drift(h.linear)) < bound
    assert WORST.note("free body, angular momentum", drift(h.angular)) < bound
    assert WORST.note("free body, centre [m]", np.abs(h.centre - h.centre[0] - np.outer(run.t, velocity)).max()) < bound
    energy = run.energy()
    assert WORST.note("free body, energy", drift(energy.total)) < bound


# -- double pendulum

LINKS = ((1.2, 0.35, 0.02), (0.7, 0.25, 0.01))  # mass, distance of the centre from the hinge, moment about the centre
LENGTH = 0.6


def double_pendulum():
    """Hinges along y; coordinates are zero where it hangs, the second is relative to the first."""
    bodies = [RigidBody(m, centre=(0.0, 0.0, -a), inertia=(moment, moment, moment)) for m, a, moment in LINKS]
    hinge = Joint("revolute", axis=Y)
    upper = Link("upper", bodies[0], joint=hinge)
    lower = Link("lower", bodies[1], joint=hinge, parent="upper", at=pose(p=(0.0, 0.0, -LENGTH)))
    return Robot(Description("double pendulum", (upper, lower)))


def lagrange(t, x):
    """Textbook equations in absolute angles."""
    (m1, a1, I1), (m2, a2, I2) = LINKS
    a, b, ad, bd = x
    cross = m2 * LENGTH * a2
    M = np.array([[I1 + m1 * a1**2 + m2 * LENGTH**2, cross * np.cos(a - b)], [0.0, I2 + m2 * a2**2]])
    M[1, 0] = M[0, 1]
    forces = [
        -cross * np.sin(a - b) * bd**2 - (m1 * a1 + m2 * LENGTH) * G * np.sin(a),
        cross * np.sin(a - b) * ad**2 - m2 * a2 * G * np.sin(b),
    ]
    return [ad, bd, *np.linalg.solve(M, forces)]


@pytest.mark.parametrize("method", METHODS)
def test_double_pendulum_moves_as_lagranges_equations_say(method):
    # released at 1.2 and 0.5 rad it swings without going over; errors do not grow exponentially
    rtol, bound = METHODS[method]
    run = run_of(double_pendulum(), 4.0, 0.05, ([1.2, -0.7], [0.0, 0.0]), method, rtol)
    exact = solve_ivp(lagrange, (0.0, 4.0), [1.2, 0.5, 0.0, 0.0], "DOP853", t_eval=run.t, rtol=1e-13, atol=1e-14).y.T
    found = np.cumsum(np.stack([run.q, run.qd], axis=1), axis=2).reshape(-1, 4)
    assert WORST.note(f"double pendulum, {method}", np.abs(found - exact).max()) < 0.1 * bound
    energy = run.energy()
    assert WORST.note(f"double pendulum, energy, {method}", drift(energy.total, energy.kinetic.max())) < 0.01 * bound


def test_wild_double_pendulum_keeps_its_energy():
    run = run_of(double_pendulum(), 10.0, 0.05, ([3.0, 0.2], [0.0, 1.0]))
    energy = run.energy()
    assert np.abs(run.q[:, 1]).max() > 3.0 * np.pi
    assert WORST.note("wild double pendulum, energy", drift(energy.total, energy.kinetic.max())) < 2e-9
