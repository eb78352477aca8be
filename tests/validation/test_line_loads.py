"""Loads along lines, wrenches on fixed lines and springs, against closed forms and boundary-value problems."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.differences import Worst
from numpy.testing import assert_allclose
from scipy.special import fresnel
from validation.builders import cantilever, stiffness
from validation.motions import ASKEW, X, Y, Z, drift, momenta, oblique_body, pose, rates_for, run_of, turn
from validation.planar_rod import PlanarRod

from sorosim.analysis.equilibria.statics import statics
from sorosim.base.signals.expressions import parse
from sorosim.mechanics.loads.line_load import LineLoad
from sorosim.mechanics.loads.spring import Spring
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.anchor import Anchor
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.profile import Linear
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.robot import Robot

L, G = 0.5, 9.81
NOTHING = (0.0, 0.0, 0.0)
ALL_SIX = Strain(torsion=3, bending=3, elongation=3, shear=3)
PLANAR = Strain(bending_z=14)
WORST = Worst()


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("line loads"))


def expression(text):
    return parse(text, ("X", "s", "L", "t"))


def line(force=(0, 0, 0), moment=(0, 0, 0), frame="world", **span):
    return LineLoad("arm", moment=((*moment, *force))[:3], force=((*moment, *force))[3:], frame=frame, **span)


# -- large deflections


PLACES = np.linspace(0.0, 1.0, 6)


def shapes(arm, exact):
    """Largest distance between a rod and a planar one, over the length, and the exact states."""
    states = exact.equilibrium(PLACES * L)
    places = arm.poses(statics(arm).q, "arm", s=PLACES)
    assert np.abs(places[:, 2, 3]).max() < 1e-14
    return np.abs(places[:, :2, 3] - states[:, :2]).max() / L, states


@pytest.mark.parametrize("alpha", [1.0, 8.0, 30.0])
def test_cantilever_under_an_even_dead_load(alpha):
    arm = cantilever(PLANAR, n_gauss=240)
    EI = stiffness(arm)[2]
    p = alpha * EI / L**3
    exact = PlanarRod(L, EI, line=lambda s, a: (0.0, p, 0.0))
    gap, states = shapes(arm.with_loads(p=line((0, p, 0))), exact)
    # order 14 and 240 points, whose own error is of fourth order
    assert WORST.note("even dead load", gap) < 5e-9
    # small ones bend by p L^4/8 EI, less by the square
    if alpha == 1.0:
        assert states[-1, 1] / L == pytest.approx(alpha / 8.0, rel=0.03)


@pytest.mark.parametrize("alpha", [1.0, 8.0, 30.0])
def test_cantilever_under_an_even_follower_load(alpha):
    arm = cantilever(PLANAR, n_gauss=240)
    EI = stiffness(arm)[2]
    p = alpha * EI / L**3
    exact = PlanarRod(L, EI, line=lambda s, a: (-p * np.sin(a), p * np.cos(a), 0.0))
    gap, _ = shapes(arm.with_loads(p=line((0, p, 0), frame="body")), exact)
    assert WORST.note("even follower load", gap) < 1e-8


@pytest.mark.parametrize("frame", ["world", "body"])
def test_thick_rod_under_a_load_that_varies_along_it(frame):
    # stretch and shear as well; X, s and L are the arclength of the unstrained rod
    varying = Strain(bending_z=10, elongation=8, shear_y=8)
    arm = cantilever(varying, section=Circle(0.03), n_gauss=100)
    k = stiffness(arm)
    p, c = 3.0 * k[2] / L**3, 0.5 * k[2] / L**2
    wrench = [0.0] * 5 + [0.0]
    wrench[2:5] = expression(f"{c}*cos(3*X)"), expression(f"{0.5 * p}*s"), expression(f"{p}*(1 + X/L)")

    def load(X, a):
        f, g = 0.5 * p * X / L, p * (1.0 + X / L)
        if frame == "body":
            f, g = np.cos(a) * f - np.sin(a) * g, np.sin(a) * f + np.cos(a) * g
        return f, g, c * np.cos(3.0 * X)

    exact = PlanarRod(L, k[2], k[3], k[4], line=load)
    gap, states = shapes(
        arm.with_loads(p=LineLoad("arm", moment=(tuple(wrench))[:3], force=(tuple(wrench))[3:], frame=frame)), exact
    )
    assert states[-1, 2] > 0.5
    assert WORST.note("varying load on a thick rod", gap) < 5e-9


def test_a_moment_per_length_bends_a_rod_to_a_clothoid():
    # EI kappa = c (L - X): a clothoid, seen from its end
    arm = cantilever(Strain(bending_z=1), n_gauss=128)
    EI = stiffness(arm)[2]
    c = 2.5 * EI / L**2
    for frame in ("world", "body"):
        g = arm.pose(statics(arm.with_loads(c=line(moment=(0, 0, c), frame=frame))).q, "arm")
        angle = 0.5 * c * L**2 / EI
        a = np.sqrt(np.pi * EI / c)
        sine, cosine = fresnel(L / a)
        # from the tip backwards it starts straight and turns by pi X^2 / 2 a^2
        tip = a * np.array(
            [np.cos(angle) * cosine + np.sin(angle) * sine, np.sin(angle) * cosine - np.cos(angle) * sine]
        )
        assert np.arctan2(g[1, 0], g[0, 0]) == pytest.approx(angle, abs=1e-13)
        # 128 points: (L/128)^4
        assert_allclose(g[:2, 3], tip, rtol=0, atol=1e-9)


def test_a_torque_per_length_twists_a_rod_by_a_parabola():
    arm = cantilever(Strain(torsion=2, bending=1))
    GJ, c = stiffness(arm)[0], 0.01
    q = statics(arm.with_loads(c=line(moment=(c, 0, 0)))).q
    R = arm.poses(q, "arm", s=PLACES)[:, :3, :3]
    exact = c / GJ * L**2 * (PLACES - 0.5 * PLACES**2)
    assert_allclose(np.arctan2(R[:, 2, 1], R[:, 1, 1]), exact, rtol=0, atol=1e-13)
    # a torque that grows along the rod, on its second half only
    halves = tuple(
        Division(0.5 * L, Circle(0.01), Material(1e6, poisson=0.5, density=1e3), Strain(torsion=3)) for _ in range(2)
    )
    arm = Robot(Description("halves", (Link("arm", Rod(halves)),), gravity=(0, 0, 0)))
    half = LineLoad("arm", moment=(expression(f"{c}*X"), 0, 0), start=0.5)
    R = arm.poses(statics(arm.with_loads(c=half)).q, "arm", s=[0.5, 1.0])[:, :3, :3]
    whole = c * 0.375 * L**2 / GJ  # the torque of all of it
    found = np.arctan2(R[:, 2, 1], R[:, 1, 1])
    assert found[0] == pytest.approx(whole * 0.5 * L, abs=1e-13)
    # the integral of X (X - L/2) from L/2 to L is 5/48 L^3
    assert found[1] - found[0] == pytest.approx(c / GJ * L**3 * 5.0 / 48.0, abs=1e-13)


# -- sums


def tapered(varying=ALL_SIX, **options):
    return cantilever(varying, section=Circle(Linear(0.02, 0.01)), n_gauss=8, **options)


def test_own_weight_as_a_line_load_is_gravity(rng):
    heavy, light = tapered(gravity=(0.0, 3.0, -G)), tapered()
    area = "pi*(0.02 - 0.01*s)^2"
    weight = light.with_loads(weight=line((0.0, expression(f"1000*3*{area}"), expression(f"-1000*{G}*{area}"))))
    for _ in range(10):
        q, qd, qdd = 0.3 * rng.normal(size=(3, heavy.ndof))
        exact = heavy.inverse_dynamics(q, qd, qdd=qdd)
        error = np.abs(weight.inverse_dynamics(q, qd, qdd=qdd) - exact).max() / np.abs(exact).max()
        assert WORST.note("weight as a line load", error) < 1e-14
    assert_allclose(statics(weight).q, statics(heavy).q, rtol=0, atol=1e-9)


def test_an_even_load_is_the_limit_of_many_point_loads(rng):
    arm = tapered(Strain(torsion=1, bending=3))
    force, moment = np.array([0.3, -0.5, 1.0]), np.array([0.02, 0.01, 0.03])
    q, zero = 0.2 * rng.normal(size=arm.ndof), np.zeros(arm.ndof)
    for frame in ("world", "body"):
        whole = arm.with_loads(p=line(force, moment, frame)).inverse_dynamics(q, zero, qdd=zero)
        errors = []
        for n in (8, 16, 32):
            share = tuple(L / n * np.array([*moment, *force]))
            loads = {
                f"p{k}": Wrench("arm", (k + 0.5) / n, moment=share[:3], force=share[3:], frame=frame) for k in range(n)
            }
            errors.append(np.abs(arm.with_loads(**loads).inverse_dynamics(q, zero, qdd=zero) - whole).max())
        # midpoint sums; what Gauss's 8 points leave is 1e-4 of it
        orders = np.log2(np.divide(errors[:-1], errors[1:]))
        print(f"point loads, {frame}:", " ".join(f"{e:.1e}" for e in errors), orders)
        assert_allclose(orders, 2.0, atol=0.05)


def test_shapes_under_point_loads_tend_to_that_under_the_even_load():
    arm = cantilever(Strain(bending_z=8), n_gauss=40)
    p = 5.0 * stiffness(arm)[2] / L**3
    tip = statics(arm.with_loads(p=line((0, p, 0)))).tip()
    errors = []
    for n in (4, 8, 16):
        loads = {f"p{k}": Wrench("arm", (k + 0.5) / n, force=(0, p * L / n, 0)) for k in range(n)}
        errors.append(np.abs(statics(arm.with_loads(**loads)).tip() - tip).max())
    assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2.0, atol=0.1)


def test_a_load_of_time_is_the_sum_of_its_parts(rng):
    arm = tapered()
    couple, along, across = map(expression, ("0.01*s*exp(-t)", "2*sin(3*t)*(1 - s)^2 + 0.5", "cos(X/L*t)"))
    whole = arm.with_loads(a=line((along, across, 0), (0, 0, couple)))
    table_t = np.linspace(0.0, 2.0, 2001)
    for t in (0.0, 0.37, 1.9):
        q = 0.3 * rng.normal(size=arm.ndof)
        zero = np.zeros(arm.ndof)
        # the same as numbers at this time
        frozen = arm.with_loads(
            a=line(moment=(0, 0, expression(f"0.01*s*{float(np.exp(-t))}"))),
            b=line((expression(f"{float(2 * np.sin(3 * t))}*(1 - s)^2"), 0, 0)),
            c=line((0.5, 0, 0)),
            d=line((0, expression(f"cos(s*{t})"), 0)),
        )
        found = whole.inverse_dynamics(q, zero, qdd=zero, t=t)
        exact = frozen.inverse_dynamics(q, zero, qdd=zero)
        assert_allclose(found, exact, rtol=0, atol=1e-14 * np.abs(exact).max())
    # signals: a text, a function, a table
    kinds = {
        "text": "sin(3*t)", "function": lambda t: np.sin(3.0 * t), "table": (table_t, np.sin(3.0 * table_t)),
        "expression": expression("sin(3*t)"),
    }  # fmt: skip
    t = 0.731
    found = [
        arm.with_loads(a=line((0, signal, 0))).inverse_dynamics(zero, zero, qdd=zero, t=t) for signal in kinds.values()
    ]
    number = arm.with_loads(a=line((0, np.sin(3.0 * t), 0))).inverse_dynamics(zero, zero, qdd=zero)
    for value, kind in zip(found, kinds, strict=True):
        # a table of 1 ms is interpolated
        assert_allclose(value, number, rtol=0, atol=(1e-5 if kind == "table" else 1e-14) * np.abs(number).max())


def test_a_rod_shaken_by_a_load_of_time_resonates_as_its_modes_say():
    # an even load bends the first mode of a cantilever by its participation, far below resonance: statics times
    # 1/(1 - (w/w0)^2) for one mode; here the basis has one coordinate, so it is exact for small motions
    arm = cantilever(Strain(bending_z=0), n_gauss=12)
    zero = np.zeros(1)
    w0 = 2.0 * np.pi * arm.linearize(zero).frequencies[0]
    p, w = 1e-6, 0.4 * w0
    still = statics(arm.with_loads(p=line((0, p, 0)))).q[0]
    shaken = arm.with_loads(p=line((0, expression(f"{p}*cos({w}*t)"), 0)))
    size = still / (1.0 - (w / w0) ** 2)
    run = run_of(shaken, 10.0 / w0, 0.2 / w0, (zero + size, None))
    assert_allclose(run.q[:, 0], size * np.cos(w * run.t), rtol=0, atol=1e-6 * abs(size))


# -- a wrench on a line fixed in the world


THROUGH, FORCE, MOMENT = np.array([0.2, -0.1, 0.4]), np.array([1.0, 2.0, -0.7]), np.array([0.1, -0.3, 0.2])
FIXED = {"frame": "line", "moment": tuple(MOMENT), "force": tuple(FORCE), "through": tuple(THROUGH)}


def floating(**loads):
    body = oblique_body(2.0, (0.1, 0.2, 0.28), (0.1, -0.05, 0.2), ASKEW)
    return Robot(Description("body", (Link("body", body, joint=Joint("free")),), gravity=(0, 0, 0), loads=loads))


def test_the_wrench_on_a_fixed_line_is_constant_in_the_world(rng):
    anchor = Anchor("body", at=pose(turn(Y, 0.4), (0.3, 0.1, 0.2)))
    bare, zero = floating(), np.zeros(6)
    about_origin = np.concatenate([MOMENT + np.cross(THROUGH, FORCE), FORCE])
    for load in (Wrench("body", **FIXED), Wrench(anchor, **FIXED)):
        pushed = floating(p=load)
        for _ in range(20):
            q = rng.normal(size=6)
            g, tau = (
                bare.pose(q, "body"),
                bare.inverse_dynamics(q, zero, qdd=zero) - pushed.inverse_dynamics(q, zero, qdd=zero),
            )
            wrench = np.linalg.solve(bare.jacobian(q, "body").T, tau)  # on the body, its axes
            force = g[:3, :3] @ wrench[3:]
            world = np.concatenate([g[:3, :3] @ wrench[:3] + np.cross(g[:3, 3], force), force])
            assert WORST.note("wrench on a fixed line", np.abs(world - about_origin).max()) < 1e-12


def test_sliding_and_turning_along_the_line_changes_and_works_nothing(rng):
    pure = {**FIXED, "moment": (0, 0, 0)}
    pushed, zero = floating(p=Wrench("body", **pure)), np.zeros(6)
    along = FORCE / np.linalg.norm(FORCE)
    for _ in range(10):
        q = rng.normal(size=6)
        g = pushed.pose(q, "body")
        # the line of another point of the line is the same line
        other = floating(p=Wrench("body", **{**pure, "through": tuple(THROUGH + rng.normal() * FORCE)}))
        tau = pushed.inverse_dynamics(q, zero, qdd=zero)
        assert_allclose(other.inverse_dynamics(q, zero, qdd=zero), tau, rtol=0, atol=1e-13)
        # turning about the line does no work, and of sliding the force does all
        turning = np.concatenate([g[:3, :3].T @ along, g[:3, :3].T @ np.cross(along, g[:3, 3] - THROUGH)])
        assert abs(-tau @ rates_for(pushed, q, turning, "body")) < 1e-13
        sliding = np.concatenate([np.zeros(3), g[:3, :3].T @ along])
        assert -tau @ rates_for(pushed, q, sliding, "body") == pytest.approx(np.linalg.norm(FORCE), rel=1e-12)


@pytest.mark.parametrize("alpha", [2.0, -1.5])
def test_a_rod_pushed_by_a_force_on_a_fixed_line(alpha):
    arm = cantilever(Strain(bending_z=12, elongation=8, shear_y=8), n_gauss=100)
    k = stiffness(arm)
    p = alpha * k[2] / L**2
    force, through = np.array([-0.6 * p, p]), np.array([0.45, 0.05])

    def tip(x, y, angle):
        d = through - [x, y]
        return force[0], force[1], d[0] * force[1] - d[1] * force[0]

    exact = PlanarRod(L, k[2], k[3], k[4], tip=tip)
    load = Wrench(
        "arm", frame="line", moment=((0, 0, 0, *force, 0))[:3], force=((0, 0, 0, *force, 0))[3:], through=(*through, 0)
    )
    gap, states = shapes(arm.with_loads(p=load), exact)
    assert abs(states[-1, 2]) > 0.5
    assert WORST.note("rod under a force on a fixed line", gap) < 5e-9


def test_a_force_on_a_fixed_line_in_the_middle_of_a_rod_may_vary_in_time(rng):
    load = Wrench("arm", 0.5, frame="line", force=("2*t", 0, 1.0), through=(0.1, 0.2, 0.3))
    pushed = tapered().with_loads(p=load)
    # a node in the middle cuts a step of the quadrature in two: compare on the same ones
    bare = tapered().with_loads(p=replace(load, moment=(0, 0, 0), force=(0, 0, 0)))
    zero = np.zeros(bare.ndof)
    for t in (0.0, 0.7):
        q = 0.3 * rng.normal(size=bare.ndof)
        g, force = bare.pose(q, "arm", s=0.5), np.array([2.0 * t, 0.0, 1.0])
        moment = np.cross(np.array([0.1, 0.2, 0.3]) - g[:3, 3], force)
        wrench = np.concatenate([g[:3, :3].T @ moment, g[:3, :3].T @ force])
        tau = bare.inverse_dynamics(q, zero, qdd=zero) - pushed.inverse_dynamics(q, zero, qdd=zero, t=t)
        assert_allclose(tau, bare.jacobian(q, "arm", s=0.5).T @ wrench, rtol=0, atol=1e-13)


# -- springs


def at(*p):
    return Anchor("world", at=pose(p=p))


def particle(mass=2.0, gravity=(0.0, 0.0, -G), **loads):
    """A body on three slides; it does not turn."""
    along_x, along_y, along_z = (Joint("prismatic", axis=axis) for axis in (X, Y, Z))
    links = (
        Link("x", None, joint=along_x),
        Link("y", None, joint=along_y, parent="x"),
        Link("bob", RigidBody(mass, inertia=(0.1, 0.1, 0.1)), joint=along_z, parent="y"),
    )
    return Robot(Description("particle", links, gravity=gravity, loads=loads))


def test_a_mass_on_a_spring_hangs_and_swings():
    k, rest, m = 150.0, 0.4, 2.0
    robot = particle(m, spring=Spring("bob", at(0, 0, 1.0), stiffness=k, rest=rest))
    found = statics(robot, q0=[0, 0, 0.3])
    length = rest + m * G / k
    assert_allclose(found.q, [0, 0, 1.0 - length], rtol=0, atol=1e-12)
    # an elastic pendulum: sideways sqrt(g/l), along sqrt(k/m)
    omega = np.sort([np.sqrt(G / length)] * 2 + [np.sqrt(k / m)])
    assert_allclose(robot.linearize(found.q).frequencies, omega / (2.0 * np.pi), rtol=1e-11)
    # heave is harmonic at any size
    start = found.q + 0.1 * Z
    run = run_of(robot, 3.0, 0.05, (start, None))
    assert_allclose(run.q[:, 2] - found.q[2], 0.1 * np.cos(np.sqrt(k / m) * run.t), rtol=0, atol=1e-8)
    # Simpson's rule
    assert np.abs(run.energy().balance).max() < 1e-3 * k


def test_an_elastic_pendulum_swings_at_its_two_frequencies():
    k, rest, m = 150.0, 0.4, 2.0
    robot = particle(m, spring=Spring("bob", at(0, 0, 1.0), stiffness=k, rest=rest))
    length = rest + m * G / k
    q, T = np.array([0.0, 0.0, 1.0 - length]), 2.0 * np.pi * np.sqrt(length / G)

    def passes(t, q, qd):
        return q[0]

    run = run_of(robot, 2.1 * T, T / 20.0, (q + 1e-4 * length * X, None), events=[passes])
    assert_allclose(np.diff(run.events[0][0]), 0.5 * T, rtol=1e-6)  # the square of the amplitude is 1e-8


def test_a_mass_between_springs_has_the_stiffness_of_their_sum(rng):
    # sum k (n n^T + (1 - rest/l) (1 - n n^T)) at the equilibrium
    ends = rng.normal(size=(4, 3))
    k, rest = rng.uniform(50.0, 150.0, size=4), rng.uniform(0.0, 0.5, size=4)
    springs = {f"s{i}": Spring("bob", at(*ends[i]), stiffness=k[i], rest=rest[i]) for i in range(4)}
    robot = particle(1.5, **springs)
    found = statics(robot)
    d = ends - found.q
    length = np.linalg.norm(d, axis=1)[:, None]
    n = d / length
    force = (k[:, None] * (length - rest[:, None]) * n).sum(axis=0) - 1.5 * G * Z
    assert np.abs(force).max() < 1e-10
    K = np.zeros((3, 3))
    for i in range(4):
        nn = np.outer(n[i], n[i])
        K += k[i] * (nn + (1.0 - rest[i] / length[i, 0]) * (np.eye(3) - nn))
    omega = np.sqrt(np.linalg.eigvalsh(K) / 1.5)
    assert_allclose(robot.linearize(found.q).frequencies, omega / (2.0 * np.pi), rtol=1e-10)


def test_a_spring_without_rest_length_draws_ellipses_through_any_place():
    k, m = 80.0, 2.0
    robot = particle(m, NOTHING, spring=Spring("bob", at(0.1, 0.2, 0.3), stiffness=k))
    centre, w = np.array([0.1, 0.2, 0.3]), np.sqrt(k / m)
    for a, b in ((np.array([0.2, 0.0, -0.1]), np.array([0.0, 0.3, 0.1])), (0.2 * X, 0.1 * X)):
        # the second one goes to and fro through the place where its ends meet
        run = run_of(robot, 2.0, 0.05, (centre + a, w * b))
        exact = centre + np.outer(np.cos(w * run.t), a) + np.outer(np.sin(w * run.t), b)
        assert_allclose(run.q, exact, rtol=0, atol=1e-9)
    assert_allclose(robot.inverse_dynamics(centre, np.zeros(3), qdd=np.zeros(3)), 0.0, atol=1e-14)


@pytest.mark.parametrize("c", [3.0, 40.0], ids=["under", "over"])
def test_a_damper_stills_a_mass_as_the_oscillator_says(c):
    k, m = 100.0, 2.0
    spring = Spring("bob", at(0, 0, 1.0), stiffness=k, damping=c, rest=0.6)
    robot = particle(m, NOTHING, spring=spring)
    run = run_of(robot, 2.0, 0.001, ([0, 0, 0.5], None))
    roots = np.roots([m, c, k]).astype(complex)
    # 0.1 at rest at the start, about 0.4
    A = np.linalg.solve(np.array([[1, 1], roots]), [0.1, 0.0])
    exact = 0.4 + (A[0] * np.exp(roots[0] * run.t) + A[1] * np.exp(roots[1] * run.t)).real
    assert_allclose(run.q[:, 2], exact, rtol=0, atol=1e-9)
    energy = run.energy()
    # what is lost is the integral of c v^2; what is left moves, or is in the spring, whose work counts as done
    assert (np.diff(energy.dissipated) > -1e-15).all()
    left = 0.5 * k * (run.q[:, 2] - 0.4) ** 2 + energy.kinetic
    assert_allclose(energy.dissipated, 0.5 * k * 0.01 - left, rtol=0, atol=2e-6)
    assert np.abs(energy.balance).max() < 2e-6


def test_a_spring_between_two_rods_pulls_both_alike(rng):
    silicone = Material(1e6, poisson=0.5, density=1000.0)

    def rod():
        return Rod((Division(L, Circle(0.01), silicone, Strain(torsion=1, bending=2, elongation=0)),))

    links = (Link("arm", rod()), Link("leg", rod(), at=pose(turn(Z, 0.8), (0.0, 0.2, 0.1))))
    hook = pose(turn(X, 0.5), (0.02, 0.01, -0.03))
    ends = Anchor("arm", s=0.6), Anchor("leg", at=hook)
    bare = Spring(*ends, stiffness=1e-300)  # makes the same places nodes
    k, c, rest = 30.0, 2.0, 0.1
    spring = Spring(*ends, stiffness=k, damping=c, rest=rest)
    free, bound = (Robot(Description("two", links, loads={"s": load})) for load in (bare, spring))
    zero = np.zeros(free.ndof)
    for _ in range(10):
        q, qd = 0.3 * rng.normal(size=(2, free.ndof))
        tau = free.inverse_dynamics(q, qd, qdd=zero) - bound.inverse_dynamics(q, qd, qdd=zero)
        g_A, g_B = free.pose(q, "arm", s=0.6), free.pose(q, "leg") @ hook
        J_A = g_A[:3, :3] @ free.jacobian(q, "arm", s=0.6)[3:]
        J = free.jacobian(q, "leg")
        J_B = free.pose(q, "leg")[:3, :3] @ (J[3:] - np.cross(hook[:3, 3], J[:3], axisb=0, axisc=0))
        d = g_B[:3, 3] - g_A[:3, 3]
        n = d / np.linalg.norm(d)
        pull = k * (np.linalg.norm(d) - rest) + c * n @ (J_B - J_A) @ qd
        exact = (J_A - J_B).T @ n * pull
        assert WORST.note("spring between rods", np.abs(tau - exact).max() / np.abs(exact).max()) < 1e-12
    # at rest it holds the rods together: work of a change is that of its energy
    found = statics(bound)
    d = bound.pose(found.q, "leg") @ hook
    length = np.linalg.norm(d[:3, 3] - bound.pose(found.q, "arm", s=0.6)[:3, 3])
    assert length < np.linalg.norm((free.pose(zero, "leg") @ hook)[:3, 3] - free.pose(zero, "arm", s=0.6)[:3, 3])


@pytest.mark.parametrize("damping", [0.0, 3.0])
def test_two_free_bodies_on_a_spring_keep_their_momenta(damping):
    inertia = (0.02, 0.03, 0.04)
    a, b = oblique_body(1.0, inertia, (0.0, 0.0, 0.02), ASKEW), oblique_body(2.0, inertia, (0.03, 0.0, 0.0), ASKEW)
    links = Link("a", a, joint=Joint("free")), Link("b", b, joint=Joint("free"), at=pose(p=(0.5, 0.2, 0.1)))
    ends = Anchor("a", at=pose(p=(0.1, 0.0, 0.05))), Anchor("b", at=pose(p=(-0.1, 0.05, 0.0)))
    spring = Spring(*ends, stiffness=60.0, damping=damping, rest=0.2)
    robot = Robot(Description("two", links, gravity=(0, 0, 0), loads={"spring": spring}))
    qd = np.array([0.5, -0.3, 0.8, 0.1, 0.2, -0.3, -0.4, 0.2, 0.3, -0.2, 0.1, 0.1])
    run = run_of(robot, 2.0, 0.002, (None, qd))
    h = momenta(run)
    size = np.abs(run.qd).max()
    assert WORST.note("two bodies, linear momentum", drift(h.linear, size)) < 1e-8
    assert WORST.note("two bodies, angular momentum", drift(h.angular, size)) < 1e-8
    assert_allclose(h.centre, h.centre[0] + np.outer(run.t, h.linear[0] / 3.0), rtol=0, atol=1e-8)
    energy = run.energy()

    def stored(q):
        d = (robot.pose(q, "b") @ ends[1].at - robot.pose(q, "a") @ ends[0].at)[:3, 3]
        return 30.0 * (np.linalg.norm(d) - 0.2) ** 2

    total = energy.kinetic + [stored(q) for q in run.q]
    if damping == 0.0:
        assert WORST.note("two bodies, energy", drift(total)) < 1e-8
    else:
        assert total[-1] < 0.9 * total[0]
        assert (np.diff(total) < 1e-12).all()
        assert_allclose(energy.dissipated, total[0] - total, rtol=0, atol=1e-6 * total[0])


def test_a_spring_whose_rest_length_is_a_signal_is_an_actuator():
    # far below its frequency, and exactly: m x'' = -k (x - r cos wt)
    k, m, w = 100.0, 2.0, 3.0
    robot = particle(m, NOTHING, spring=Spring("bob", at(0, 0, 1.0), stiffness=k, rest="0.6 + 0.05*cos(3*t)"))
    size = -0.05 * k / (k - m * w * w)
    run = run_of(robot, 3.0, 0.05, ([0, 0, 0.4 + size], None))
    assert_allclose(run.q[:, 2], 0.4 + size * np.cos(w * run.t), rtol=0, atol=1e-8)
