"""Rods whose length is a coordinate (docs/theory.md, 19)."""

from typing import Any

import numpy as np
import pytest
from helpers.differences import relative_error, slope
from helpers.lengths import AREA, DENSITY, INERTIA, KINDS, RADIUS, random_state, robot_of, rod
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import sorosim as so
from benchmarks.algorithms import forward_dynamics


def chain(kind: str, material: str = "rubber") -> so.Robot:
    """A hinge, a rod with all strains and precurvature, hinge and body at its tip; weight, loads, motor, friction."""
    ends = {"low": "-1 cm", "high": "2 cm", "stiffness": 100}
    joint = {
        kind: {"friction": "0.2 N", "creep": "20 cm/s", "damping": 0.1, "stiffness": 3, "rest": "1 cm", "limits": ends}
    }
    strain = {"bending": 2, "torsion": 1, "elongation": 1, "shear": 0}
    reference = {"bending_y": 2, "torsion": 1}
    small = {"mass": "50 g", "inertia": [1e-5, 2e-5, 2e-5]}
    links = {
        "base": {"joint": {"revolute": {"axis": [0, 1, 0.3]}}, "body": {"mass": 0.2, "inertia": [1e-3, 1e-3, 1e-3]}},
        "leg": {
            "parent": "base", "at": {"position": [0.05, 0.01, 0]}, "joint": joint,
            "rod": rod("20 cm", strain, reference=reference, material=material),
        },
        "guide": {"parent": "leg", "at": {"s": 0.5}, "body": small},
        "tip": {"parent": "leg", "joint": {"revolute": {"axis": [0, 0, 1], "stiffness": 0.2}}, "body": small},
    }  # fmt: skip
    loads = {
        "pull": {"wrench": {"link": "tip", "force": [0.3, 0.1, 0.2]}},
        "ring": {"wrench": {"link": "leg", "s": 0.3, "force": [0, 0.2, 0]}},
    }
    actuators = {"push": {"joint": {"link": "leg"}}, "cable": {"tendon": {"rod": "leg", "y": "5 mm", "z": "2 mm"}}}
    return robot_of(links, loads=loads, actuators=actuators)


@pytest.mark.parametrize("moving", [(0, 0), (1, 0), (0, 1), (1, 1)], ids=["rest", "rates", "accelerations", "all"])
@pytest.mark.parametrize(("kind", "material"), [*((kind, "rubber") for kind in KINDS), ("feed", "soft")])
def test_derivatives_agree_with_differences(kind, material, moving, rng):
    robot, u = chain(kind, material), [0.7, 2.0]
    q, qd, qdd = random_state(robot, rng)
    state = [q, moving[0] * qd, moving[1] * qdd]
    inverse = robot.inverse_dynamics_derivatives(*state[:2], qdd=state[2])
    internal = robot.internal_force_derivatives(*state[:2], u=u)

    def moved(k: int, j: int, x: float) -> list[np.ndarray]:
        out = [part.copy() for part in state]
        out[k][j] += x
        return out

    def inverse_at(k: int, j: int, x: float) -> np.ndarray:
        q, qd, qdd = moved(k, j, x)
        return robot.inverse_dynamics(q, qd, qdd=qdd)

    def internal_at(k: int, j: int, x: float) -> np.ndarray:
        q, qd, _ = moved(k, j, x)
        return robot.internal_force(q, qd, u=u)

    for function, matrices in ((inverse_at, inverse[1:]), (internal_at, internal[1:3])):
        for k, matrix in enumerate(matrices):
            columns = [slope(lambda x, k=k, j=j, f=function: f(k, j, x), 2e-4) for j in range(robot.ndof)]
            assert relative_error(np.stack(columns, axis=1), matrix) < 1e-9


# -- Lagrange's equations of the particles, planar, formed from positions alone ----------------------------------------

LENGTH = 0.2
X_GAUSS, W_GAUSS = (0.5 * (np.polynomial.legendre.leggauss(20)[0] + 1.0), 0.5 * np.polynomial.legendre.leggauss(20)[1])


def planar(kind: str) -> so.Robot:
    """A rod that bends in a plane through its weight."""
    links = {"rod": {"joint": kind, "rod": rod(LENGTH, {"bending_z": 2}, quadrature=48)}}
    return robot_of(links, gravity=[0.0, -9.81, 0.0])


def place(sigma: Any, q: np.ndarray, length: Any) -> tuple[Any, Any, Any]:
    """x, y and angle at a fraction of the length of a rod whose curvature has Legendre coefficients q/length."""

    def angle(s: Any) -> Any:
        x = 2.0 * s - 1.0  # integrals of P_0, P_1, P_2 from 0 on
        return q[0] * s + q[1] * (x**2 - 1.0) / 4.0 + q[2] * (x**3 - x) / 4.0

    inner = angle(sigma * X_GAUSS)
    return length * sigma * (W_GAUSS @ np.cos(inner)), length * sigma * (W_GAUSS @ np.sin(inner)), angle(sigma)


def label(kind: str, sigma: float, length: float) -> float:
    """Material coordinate at a fraction of the length: from the tip if the rod is fed, from the base if it grows."""
    return length * (1.0 - sigma) if kind == "feed" else length * sigma


def particle(kind: str, material: float, q: np.ndarray, length: Any) -> tuple[Any, Any, Any]:
    """Where a particle is."""
    return place(1.0 - material / length if kind == "feed" else material / length, q, length)


def line_lagrangian(kind: str, material: float, y: np.ndarray, yd: np.ndarray) -> float:
    """Kinetic less gravitational energy per length of a particle; y = [length; q]."""
    step = 1e-30
    z = y + 1j * step * yd
    moved = particle(kind, material, z[1:], z[0])
    vx, vy, rate = (part.imag / step for part in moved)
    kinetic = 0.5 * DENSITY * (AREA * (vx**2 + vy**2) + INERTIA * rate**2)
    return kinetic - DENSITY * AREA * 9.81 * moved[1].real


def lagrangian(kind: str, y: np.ndarray, yd: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    """That of all particles with these labels."""
    return sum(w * line_lagrangian(kind, S, y, yd) for S, w in zip(labels, weights, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_inverse_dynamics_is_lagrange_s_equation_of_the_particles_that_are_there(kind, rng):
    robot = planar(kind)
    y = np.concatenate([[0.25], rng.normal(size=3) * 0.5])
    yd, ydd = rng.normal(size=4) * [0.3, 2.0, 2.0, 2.0], rng.normal(size=4) * [2.0, 20.0, 20.0, 20.0]
    labels = np.array([label(kind, sigma, y[0]) for sigma in X_GAUSS])  # of those that are there now
    weights, h = W_GAUSS * y[0], 1e-3

    def momentum(i: int, t: float) -> float:
        now, rates, e = y + t * yd + 0.5 * t * t * ydd, yd + t * ydd, np.eye(4)[i]
        return float(slope(lambda x: lagrangian(kind, now, rates + x * e, labels, weights), h, 2))

    force = [
        slope(lambda t, i=i: momentum(i, t), h)
        - slope(lambda x, i=i: lagrangian(kind, y + x * np.eye(4)[i], yd, labels, weights), h)
        for i in range(4)
    ]
    tau = robot.inverse_dynamics(y - [LENGTH, 0, 0, 0], yd, qdd=ydd)
    assert_allclose(tau, force, rtol=0.0, atol=1e-7 * np.abs(force).max())


# -- equilibria --------------------------------------------------------------------------------------------------------

SHAPES = {"bending": 4, "torsion": 3}
PULL = {"pull": {"wrench": {"link": "rod", "force": [0.05, 0.1, 0.02], "moment": [2e-3, 0, 1e-3]}}}


def cantilever(length: Any, joint: Any, **more: Any) -> so.Robot:
    """A rod in its weight, with a dead load at its tip."""
    return robot_of({"rod": {"joint": joint, "rod": rod(length, SHAPES | {"elongation": 0}, **more)}}, loads=PULL)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("material", ["rubber", "soft"])
@pytest.mark.parametrize("reference", [{}, {"bending_y": 3, "torsion": 1}], ids=["straight", "curved"])
def test_equilibria_are_those_of_a_rod_of_that_length(kind, reference, material):
    more = {"reference": reference, "material": material}
    whole = so.statics(cantilever(0.3, "fixed", **more))
    longer = so.statics(cantilever(0.2, kind, **more), driven={f"rod.{kind}": "10 cm"})
    stretch = np.array([1.5 if "elongation" in name else 1.0 for name in whole.robot.coordinate_names])
    assert_allclose(longer.q[1:], stretch * whole.q, rtol=0.0, atol=1e-9)
    assert_allclose(longer.tip(), whole.tip(), rtol=0.0, atol=1e-9 * 0.3)
    assert longer.stable


@pytest.mark.parametrize("material", ["rubber", "soft"])
@pytest.mark.parametrize("reference", [{}, {"bending_y": 3, "torsion": 1}], ids=["straight", "curved"])
def test_the_force_that_feeds_is_the_slope_of_the_energy_of_equilibria(reference, material):
    force = np.array([0.05, 0.1, 0.02])
    more = {"reference": reference, "quadrature": 40, "material": material}
    robot = robot_of(
        {"rod": {"joint": "feed", "rod": rod("20 cm", SHAPES | {"elongation": 0}, **more)}},
        loads={"pull": {"wrench": {"link": "rod", "force": force.tolist()}}},
    )  # fmt: skip

    def energy(x: float) -> float:
        eq = so.statics(robot, driven={"rod": 0.05 + x})
        return sum(robot.energy(eq.q, np.zeros(robot.ndof))[1:3]) - force @ eq.tip()

    found = so.statics(robot, driven={"rod": 0.05}).driven["rod"]
    assert_allclose(found, slope(energy, 2e-3), rtol=3e-8)  # the quadrature, which is of fourth order


def test_a_bent_rod_is_pushed_out_of_its_sheath_by_the_configurational_force():
    # M^2/(2 E I), Bigoni, Dal Corso, Bosi and Misseroni (2015)
    moment, stiffness = 0.01, 1e6 * np.pi / 4.0 * 0.008**4
    links = {"rod": {"joint": "feed", "rod": rod("20 cm", {"bending_z": 2})}}
    loads = {"turn": {"wrench": {"link": "rod", "moment": [0, 0, moment]}}}
    eq = so.statics(robot_of(links, loads=loads, gravity=[0, 0, 0]), driven={"rod": "-5 cm"})
    assert_allclose(eq.driven["rod"], -(moment**2) / (2.0 * stiffness), rtol=1e-9)


def test_continuation_by_the_length_finds_where_an_upright_rod_buckles_under_its_weight():
    # rho A g l^3 = 7.8373 E I
    upright = {"rotation": {"axis": [0, 1, 0], "angle": "-90 deg"}}
    robot = robot_of({"rod": {"at": upright, "joint": "feed", "rod": rod("15 cm", {"bending_y": 5}, quadrature=24)}})
    curve = so.continuation(robot, "driven.rod", begin=0.0, to=0.12)
    critical = np.cbrt(7.837347 * 1e6 * INERTIA / (DENSITY * AREA * 9.81))
    (point,) = [point for point in curve.points if "branch" in point.kind]
    assert_allclose(0.15 + point.parameter, critical, rtol=2e-6)


@pytest.mark.parametrize("name", ["links.leg.rod.length", "materials.rubber.young", "materials.rubber.damping",
                                  "materials.rubber.density", "links.leg.joint.feed.friction",
                                  "links.leg.rod.reference.bending_y"])  # fmt: skip
def test_derivatives_by_numbers_of_the_file(name, rng):
    robot = chain("feed")
    q, qd, qdd = random_state(robot, rng)
    value, by_number = dict(so.scalars(robot))[name], so.sensitivities(robot, [name])

    def at(x: float) -> np.ndarray:
        other = robot.with_values({name: float(value * (1.0 + x))})
        return other.inverse_dynamics(q, qd, qdd=qdd) - other.internal_force(q, qd, u=[0.5, 1.0])

    found = by_number.inverse_dynamics(q, qd, qdd=qdd) - by_number.internal_force(q, qd, u=[0.5, 1.0])
    assert relative_error(found[:, 0] * value, slope(at, 1e-3)) < 1e-8


@pytest.mark.parametrize("kind", KINDS)
def test_a_straight_stiff_rod_moves_as_its_particles_do(kind):
    # fed: all particles move alike; growing: none moves. The weight and the motor act along it
    materials = {"steel": {"young": "1 TPa", "poisson": 0.3, "density": 8000}}
    body = {**rod("20 cm", {"bending": 1}), "material": "steel"}
    weight = {"parent": "rod", "body": {"mass": "100 g", "inertia": [1e-5, 1e-5, 1e-5]}}
    robot = so.load({
        "sorosim": 1, "materials": materials, "gravity": [-9.81, 0, 0],
        "actuators": {"push": {"joint": {"link": "rod"}}},
        "links": {"rod": {"joint": kind, "rod": body}, "tip": weight},
    })  # fmt: skip
    q, qd = np.zeros(robot.ndof), np.zeros(robot.ndof)
    q[0], qd[0] = 0.1, 0.7
    line = 8000.0 * np.pi * 0.008**2
    mass = 0.1 + (0.3 * line if kind == "feed" else 0.0)
    accelerations = robot.forward_dynamics(q, qd, u={"push": "5 N"})
    assert_allclose(accelerations[0], 5.0 / mass - 9.81, rtol=1e-9)
    assert_allclose(robot.energy(q, qd).kinetic, 0.5 * mass * 0.49, rtol=1e-9)


# -- motions -----------------------------------------------------------------------------------------------------------


def test_a_rigid_pendulum_that_slides_out_of_its_hinge_moves_as_its_equations_say():
    # the spaghetti problem: angle and length are free, a motor holds the rod back
    links = {
        "pivot": {"joint": {"revolute": {"axis": [0, 0, 1]}}},
        "rod": {"parent": "pivot", "joint": "feed", "rod": rod(LENGTH, {})},
    }
    robot = robot_of(links, gravity=[9.81, 0, 0], actuators={"push": {"joint": {"link": "rod"}}})
    start, rates, push = {"pivot": 1.0, "rod": 0.1}, {"pivot": 2.0, "rod": -0.5}, -2.0
    run = so.simulate(robot, 0.6, q0=start, qd0=rates, u=[push], method="bdf", rtol=1e-10, atol=1e-11)

    def slope(_: float, y: np.ndarray) -> list[float]:
        angle, length, w, v = y
        turning = -(length**2) * (v * w + 0.5 * 9.81 * np.sin(angle)) / (length**3 / 3.0 + length * RADIUS**2 / 4.0)
        return [w, v, turning, 0.5 * length * w**2 + 9.81 * np.cos(angle) + push / (DENSITY * AREA * length)]

    exact = solve_ivp(slope, (0.0, 0.6), [1.0, 0.1 + LENGTH, 2.0, -0.5], rtol=1e-11, atol=1e-12, method="DOP853")
    assert_allclose(run.q[-1] + [0.0, LENGTH], exact.y[:2, -1], rtol=0.0, atol=1e-6)
    assert np.abs(run.energy().balance).max() < 1e-7 * run.energy().turnover


def swinging(kind: str, quadrature: int) -> so.Robot:
    """A rod that falls from the horizontal."""
    return robot_of({"rod": {"joint": kind, "rod": rod(LENGTH, {"bending": 2}, quadrature=quadrature)}})


@pytest.mark.parametrize("kind", KINDS)
def test_the_energy_with_that_of_what_enters_is_balanced_to_the_quadrature(kind):
    worst = []
    for n in (8, 16):
        options = {"method": "bdf", "rtol": 1e-9, "atol": 1e-10}
        run = so.simulate(swinging(kind, n), 0.6, driven={"rod": "0.15*(1-cos(pi*t))/2"}, **options)
        worst.append(np.abs(run.energy().balance).max() / run.energy().turnover)
    assert worst[0] < 5e-5
    assert worst[0] / worst[1] > 8.0  # of fourth order: 16


@pytest.mark.parametrize("kind", KINDS)
def test_steps_of_generalized_alpha_are_of_second_order(kind):
    robot, driven = swinging(kind, 8), {"rod": "0.15*(1-cos(pi*t))/2"}
    exact = so.simulate(robot, 0.3, driven=driven, method="bdf", rtol=1e-10, atol=1e-11).q[-1]
    steps = {"method": "generalized-alpha", "rtol": 1e-10, "atol": 1e-12}
    worst = [np.abs(so.simulate(robot, 0.3, driven=driven, step=h, **steps).q[-1] - exact).max() for h in (1e-3, 5e-4)]
    assert 3.0 < worst[0] / worst[1] < 5.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_rod_grows_from_5_to_50_cm_while_it_bends_alike_by_all_methods(kind):
    thick = {**rod("5 cm", {"bending": 5, "torsion": 2}), "section": {"circle": {"radius": "12 mm"}}}
    robot, driven = robot_of({"rod": {"joint": kind, "rod": thick}}), {"rod": "0.225*(1-cos(pi*t/2))"}
    runs = [
        so.simulate(robot, 2.0, driven=driven, method="bdf", rtol=1e-8, atol=1e-9),
        so.simulate(robot, 2.0, driven=driven, method="generalized-alpha", step=1e-3),
    ]
    assert_allclose(runs[0].q[-1, 0], 0.45)
    assert_allclose(runs[1].tip()[-1], runs[0].tip()[-1], rtol=0.0, atol=2e-3 * 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_rod_that_is_drawn_out_comes_to_rest_at_the_equilibrium_of_its_length(kind):
    robot = cantilever(LENGTH, kind).with_values({"materials.rubber.damping": "50 kPa*s"})
    driven = {"rod": "0.1*smoothstep(t)"}
    run = so.simulate(robot, 30.0, driven=driven, q0="equilibrium", method="generalized-alpha", rtol=1e-8, atol=1e-11)
    still = so.statics(robot, driven={"rod": 0.1})
    assert_allclose(run.q[-1], still.q, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("method", ["bdf", "generalized-alpha"])
def test_a_motion_that_draws_a_rod_back_wholly_ends_with_one_error(method):
    with pytest.raises(so.ConvergenceError, match=r"drawn back wholly|nothing is left of the length of 'rod'"):
        so.simulate(swinging("feed", 8), 1.0, driven={"rod": "-0.25*t"}, method=method)
    with pytest.raises(so.InputError, match=r"driven\.rod: expected more than -0\.2 m"):
        so.statics(swinging("feed", 8), driven={"rod": "-25 cm"})


# -- several divisions -------------------------------------------------------------------------------------------------


def test_a_fed_rod_of_two_divisions_moves_as_one_with_another_on_its_tip(rng):
    first = rod("20 cm", {"bending": 2, "torsion": 1}, reference={"bending_y": 2})
    last = rod("15 cm", {"bending": 1, "elongation": 0}, section={"circle": {"radius": ["8 mm", "4 mm"]}})
    more = {"loads": {"water": {"fluid": {"density": 700, "current": [0, 0.3, 0.1]}}}}
    together = robot_of({"rod": {"joint": "feed", "rod": {"divisions": [first, last]}}}, **more)
    apart = robot_of(
        {"rod": {"joint": "feed", "rod": first}, "end": {"parent": "rod", "joint": "fixed", "rod": last}}, **more
    )
    assert together.coordinate_names[0] == "rod.feed"
    q, qd, qdd = random_state(together, rng)
    for a, b in zip(*(robot.inverse_dynamics_derivatives(q, qd, qdd=qdd) for robot in (together, apart)), strict=True):
        assert_allclose(a, b, rtol=0.0, atol=1e-12 * np.abs(b).max())
    for a, b in zip(*(robot.internal_force_derivatives(q, qd, u=[]) for robot in (together, apart)), strict=True):
        assert_allclose(a, b, rtol=0.0, atol=1e-12 * np.abs(b).max(initial=0.0))
    assert_allclose(together.energy(q, qd), apart.energy(q, qd), rtol=1e-12)
    with pytest.raises(so.InputError, match=r"driven\.rod: expected more than -0\.2 m"):
        so.statics(together, driven={"rod": "-21 cm"})


def test_a_tendon_along_two_divisions_sees_the_first_get_longer(rng):
    divisions = [rod("20 cm", {"bending": 2}), rod("15 cm", {"bending": 1})]
    links = {"rod": {"joint": "feed", "rod": {"divisions": divisions}}}
    robot = robot_of(links, actuators={"cable": {"tendon": {"rod": "rod", "y": "5 mm", "z": "2 mm"}}})
    q, qd, _ = random_state(robot, rng)
    internal = robot.internal_force_derivatives(q, qd, u=[2.0])

    def at(j: int, x: float) -> np.ndarray:
        return robot.internal_force(q + x * np.eye(robot.ndof)[j], qd, u=[2.0])

    columns = [slope(lambda x, j=j: at(j, x), 2e-4) for j in range(robot.ndof)]
    assert relative_error(np.stack(columns, axis=1), internal[1]) < 1e-9
    straight = [robot.tendon_lengths(x * np.eye(robot.ndof)[0])["cable"] for x in (0.0, 0.1)]
    assert_allclose(straight, [0.35, 0.45], rtol=1e-12)


def test_what_grows_on_the_tip_of_others_is_a_link_of_its_own():
    def vine(length: str, joint: str) -> so.Robot:
        links = {
            "stem": {"rod": rod("10 cm", SHAPES)},
            "end": {"parent": "stem", "joint": joint, "rod": rod(length, SHAPES)},
        }
        return robot_of(links)

    whole, grown = so.statics(vine("15 cm", "fixed")), so.statics(vine("10 cm", "growth"), driven={"end": "5 cm"})
    assert_allclose(grown.tip(), whole.tip(), rtol=0.0, atol=1e-9 * 0.25)


# -- what it is not for ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("change", "words"), [
    ({"rod": None, "body": {"mass": 1, "inertia": [1, 1, 1]}}, "a link with a rod"),
    ({"rod": rod(0.2, {"bending": 1}, section={"circle": {"radius": ["2 cm", "1 cm"]}})}, "the same section"),
    ({"rod": rod(0.2, {"bending": 1}, reference={"bending_y": "2*s"})}, "the same section and reference strain"),
    ({"rod": rod(0.2, {"bending": 1}, reference={"elongation": 1.1})}, "without reference elongation"),
    ({"joint": "growth", "rod": {"divisions": [rod(0.2, {"bending": 1})] * 2}}, "a rod of one division"),
])  # fmt: skip
def test_other_rods_are_refused(change, words):
    link = {"joint": "feed", "rod": rod(0.2, {"bending": 1}), **change}
    with pytest.raises(so.SorosimError, match=words):
        robot_of({"rod": {name: value for name, value in link.items() if value is not None}})


def test_laws_of_strains_and_algorithms_for_rods_of_given_length_are_refused():
    link = {"rod": {"joint": "feed", "rod": rod(0.2, {"bending": 1})}}
    braid = {"chamber": {"rod": "rod", "y": 0, "z": 0, "area": "1 cm^2", "stiffening": "0.5 1/bar"}}
    with pytest.raises(so.SorosimError, match="rods of given length"):
        robot_of(link, actuators={"jam": braid})
    robot = robot_of(link)
    with pytest.raises(so.InputError, match="composite"):
        robot.forward_dynamics(np.zeros(robot.ndof), np.zeros(robot.ndof), algorithm="articulated")
    with pytest.raises(so.InputError, match="rods of given lengths"):
        so.rollout(robot, np.zeros((2, 0)), "1 ms", numbers=["materials.rubber.young"])


def test_products_and_mass_matrices_agree_with_matrices(rng):
    robot = chain("feed")
    q, qd, _ = random_state(robot, rng)
    D = robot.forward_dynamics_derivatives(q, qd, u=[0.5, 1.0])
    dq, dqd, du = rng.normal(size=robot.ndof), rng.normal(size=robot.ndof), rng.normal(size=2)
    product = robot.forward_dynamics_jvp(q, qd, u=[0.5, 1.0], dq=dq, dqd=dqd, du=du)
    assert_allclose(product[1], D[1] @ dq + D[2] @ dqd + D[3] @ du, rtol=1e-12)
    assert_allclose(
        forward_dynamics(robot, q, qd, u=[0.5, 1.0], algorithm="unit"),
        robot.forward_dynamics(q, qd, u=[0.5, 1.0], algorithm="composite"), rtol=1e-7,
    )  # fmt: skip


def test_derivatives_of_motions_under_held_inputs_agree_with_differences(rng):
    robot, u, change = chain("feed"), rng.uniform(0.2, 1.0, (12, 2)), rng.normal(size=(12, 2))

    def end(x: float) -> np.ndarray:
        return so.rollout(robot, u + x * change, "5 ms", tolerance=1e-12).q[-1]

    tangent = so.rollout(robot, u, "5 ms", tolerance=1e-12).jvp(u=change)
    assert relative_error(tangent.q[-1], slope(end, 3e-3)) < 2e-8
