"""Loads per length on rods whose length is a coordinate (docs/theory.md, 19)."""

from typing import Any

import numpy as np
import pytest
from helpers.differences import relative_error, slope
from helpers.lengths import AREA, DENSITY, INERTIA, KINDS, random_state, robot_of, rod
from numpy.testing import assert_allclose

import sorosim as so

LINES = {
    "wind": {"line": {"rod": "rod", "force": [0.3, "0.5*(1 + s)", "-0.2*cos(t)"], "moment": [0, 0.01, 0]}},
    "jet": {"line": {"rod": "rod", "force": [0.1, "0.4*s^2", 0.2], "moment": [0.01, 0, 0.02], "frame": "body"}},
}
MAGNET = {"magnetised_rod": {"rod": "rod", "magnetisation": ["40 kA/m", "10 kA/m", 0], "field": [0, "5 mT", "2 mT"],
                             "gradient": ["0.1 T/m", "-0.05 T/m", "0.02 T/m", 0, "0.03 T/m"]}}  # fmt: skip
WATER = {"fluid": {"density": 1000, "current": ["0.3 + 0.5*y", "0.1*x*t", "-0.2*z"], "links": {
    "rod": {"drag": [0.05, 1.1, 0.9], "lift": 0.2, "added_mass": [0.1, 1.0, 0.8]}, "tip": {}}}}  # fmt: skip
STILL = {"fluid": {"density": 1000, "links": {"rod": {}}}}


def chain(kind: str, loads: dict[str, Any]) -> so.Robot:
    """A hinge, a rod with all strains and precurvature, hinge and body at its tip; its material has mass damping."""
    strain = {"bending": 2, "torsion": 1, "elongation": 1, "shear": 0}
    sheath = {"inertia": [1e-3, 1e-3, 1e-3], "mass": 0.2}
    links = {
        "base": {"joint": {"revolute": {"axis": [0, 1, 0.3]}}, "body": sheath},
        "rod": {
            "parent": "base", "at": {"position": [0.05, 0.01, 0]}, "joint": kind,
            "rod": rod("20 cm", strain, reference={"bending_y": 2, "torsion": 1}),
        },
        "tip": {"parent": "rod", "joint": {"revolute": {"axis": [0, 0, 1], "stiffness": 0.2}},
                "body": {"sphere": {"radius": "1 cm"}, "density": 1500}},
    }  # fmt: skip
    robot = robot_of(links, loads=loads)
    return robot.with_values({"materials.rubber.mass_damping": "2 1/s"})


@pytest.mark.parametrize("moving", [(0, 0), (1, 0), (0, 1), (1, 1)], ids=["rest", "rates", "accelerations", "all"])
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_agree_with_differences(kind, moving, rng):
    robot = chain(kind, {**LINES, "field": MAGNET, "water": WATER})
    q, qd, qdd = random_state(robot, rng)
    state = [q, moving[0] * qd, moving[1] * qdd]
    found = robot.inverse_dynamics_derivatives(*state[:2], qdd=state[2], t=0.7)

    def at(k: int, j: int, x: float) -> np.ndarray:
        q, qd, qdd = (part + (x * np.eye(robot.ndof)[j] if i == k else 0.0) for i, part in enumerate(state))
        return robot.inverse_dynamics(q, qd, qdd=qdd, t=0.7)

    for k, matrix in enumerate(found[1:]):
        columns = [slope(lambda x, k=k, j=j: at(k, j, x), 2e-4) for j in range(robot.ndof)]
        assert relative_error(np.stack(columns, axis=1), matrix) < 1e-9


# -- against what is known otherwise -----------------------------------------------------------------------------------


def alone(kind: str, loads: dict[str, Any], gravity: tuple[float, ...] = (0.0, 0.0, 0.0), **more: Any) -> so.Robot:
    """A curved rod that bends, twists and stretches."""
    shapes = {"bending": 2, "torsion": 1, "elongation": 1}
    links = {"rod": {"joint": kind, "rod": rod("20 cm", shapes, reference={"bending_y": 2}, **more)}}
    return robot_of(links, loads=loads, gravity=list(gravity))


def assert_same_dynamics(a: so.Robot, b: so.Robot, state: list[np.ndarray]) -> None:
    q, qd, qdd = state
    for x, y in zip(a.inverse_dynamics_derivatives(q, qd, qdd=qdd), b.inverse_dynamics_derivatives(q, qd, qdd=qdd),
                    strict=True):  # fmt: skip
        assert_allclose(x, y, rtol=0.0, atol=1e-12 * np.abs(y).max())


@pytest.mark.parametrize("kind", KINDS)
def test_a_dead_load_in_proportion_to_the_mass_is_weight(kind, rng):
    g = np.array([1.0, -2.0, -9.0])
    loaded = alone(kind, {"line": {"line": {"rod": "rod", "force": (DENSITY * AREA * g).tolist()}}})
    assert_same_dynamics(loaded, alone(kind, {}, tuple(g)), random_state(loaded, rng))


@pytest.mark.parametrize("kind", KINDS)
def test_buoyancy_is_taken_off_the_weight(kind, rng):
    bare = {"rod": {"drag": 0, "added_mass": 0}}
    g = np.array([1.0, -2.0, -9.0])
    wet = alone(kind, {"water": {"fluid": {"density": 400, "links": bare}}}, tuple(g))
    assert_same_dynamics(wet, alone(kind, {}, tuple(g * (1.0 - 400 / DENSITY))), random_state(wet, rng))


@pytest.mark.parametrize("kind", KINDS)
def test_mass_damping_takes_momenta_of_the_material(kind, rng):
    robot = alone(kind, {})
    damped = robot.with_values({"materials.rubber.mass_damping": "3 1/s"})
    q, qd, qdd = random_state(robot, rng)
    found = damped.inverse_dynamics(q, qd, qdd=qdd) - robot.inverse_dynamics(q, qd, qdd=qdd)
    expected = 3.0 * robot.mass_matrix(q) @ qd
    assert_allclose(found, expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize(("kind", "like"), [("feed", {"prismatic": {"axis": [1, 0, 0]}}), ("growth", "fixed")])
def test_a_straight_rod_feels_what_one_on_a_slide_or_a_fixed_one_feels(kind, like, rng):
    loads = {
        "line": {"line": {"rod": "rod", "force": [0.3, 0.5, -0.2]}},
        "jet": {"line": {"rod": "rod", "force": [0.1, 0, 0.2], "frame": "body"}},
        "water": WATER["fluid"] | {"links": {"rod": WATER["fluid"]["links"]["rod"]}},
    }
    loads["water"] = {"fluid": loads["water"]}
    robots = [
        robot_of({
            "base": {"joint": {"revolute": {"axis": [0, 0.6, 0.8]}}},
            "rod": {"parent": "base", "joint": joint, "rod": rod(length, {})},
        }, loads=loads).with_values({"materials.rubber.mass_damping": "2 1/s"})
        for joint, length in ((kind, "20 cm"), (like, "30 cm"))
    ]  # fmt: skip
    rates, accelerations = rng.normal(size=2), 5.0 * rng.normal(size=2)
    n = robots[1].ndof
    found = robots[0].inverse_dynamics([0.7, 0.1], rates, qdd=accelerations)
    expected = robots[1].inverse_dynamics(np.array([0.7, 0.0])[:n], rates[:n], qdd=accelerations[:n])
    assert_allclose(found, np.append(expected, np.zeros(2 - n)), rtol=0.0, atol=1e-12 * np.abs(expected).max())
    energies = [
        robot.energy(q, rates[: robot.ndof]) for robot, q in zip(robots, ([0.7, 0.1], [0.7, 0][:n]), strict=True)
    ]
    assert_allclose(*energies, rtol=1e-12)


# -- equilibria --------------------------------------------------------------------------------------------------------

SHAPES = {"bending": 4, "torsion": 3}


def cantilever(length: Any, joint: Any, loads: dict[str, Any]) -> so.Robot:
    return robot_of({"rod": {"joint": joint, "rod": rod(length, SHAPES, reference={"bending_y": 2})}}, loads=loads)


@pytest.mark.parametrize("kind", KINDS)
def test_equilibria_are_those_of_a_rod_of_that_length(kind):
    water = {"fluid": WATER["fluid"] | {"current": [0.2, 0.5, 0.1], "links": {"rod": {}}, "height": 0.01}}
    loads = {**LINES, "field": MAGNET, "water": water}
    whole = so.statics(cantilever(0.3, "fixed", loads))
    longer = so.statics(cantilever(0.2, kind, loads), driven={f"rod.{kind}": "10 cm"})
    assert_allclose(longer.q[1:], whole.q, rtol=0.0, atol=1e-9)
    assert_allclose(longer.tip(), whole.tip(), rtol=0.0, atol=1e-9 * 0.3)
    # and the loads that are shown add up to those of all of it
    totals = [
        [
            eq.robot.engine.load_wrenches(name, 0.0, eq.q, 0.0 * eq.q, eq.u)[:, 3:].sum(axis=0)
            for name in ("jet", "water")
        ]
        for eq in (longer, whole)
    ]
    assert_allclose(*totals, rtol=0.0, atol=1e-9)


def test_the_force_that_feeds_is_the_slope_of_the_potential():
    # of the rod in a magnetic field, and of its part that is still in the sheath
    field, line = np.array([4e-3, -6e-3, 3e-3]), AREA * np.array([40e3, 10e3, 0.0])
    magnet = {"magnetised_rod": {"rod": "rod", "magnetisation": ["40 kA/m", "10 kA/m", 0], "field": field.tolist()}}
    links = {"rod": {"joint": "feed", "rod": rod("20 cm", SHAPES, quadrature=40)}}
    robot = robot_of(links, loads={"field": magnet}, gravity=[0, 0, 0])
    link = robot.engine.layout.links["rod"]

    def energy(x: float) -> float:
        eq = so.statics(robot, driven={"rod": 0.05 + x})
        g = robot.engine.poses(link.nodes, eq.q, 0.0 * eq.q)[0]
        weights = link.weight * (0.25 + x) / 0.2
        outside = -np.einsum("k,kij,i,j", weights, g[:, :3, :3], field, line)
        return robot.energy(eq.q, 0.0 * eq.q).elastic + outside + x * field @ line

    found = so.statics(robot, driven={"rod": 0.05}).driven["rod"]
    assert_allclose(found, slope(energy, 2e-3), rtol=3e-8)  # the quadrature, which is of fourth order


def test_a_light_rod_that_grows_down_into_water_buckles_where_a_column_would():
    # (rho_f - rho) A g l^3 = 7.8373 E I
    down = {"rotation": {"axis": [0, 1, 0], "angle": "90 deg"}}
    robot = robot_of(
        {"rod": {"at": down, "joint": "growth", "rod": rod("15 cm", {"bending_y": 5}, quadrature=24)}},
        loads={"water": {"fluid": {"density": 3300, "links": {"rod": {}}}}},
    )  # fmt: skip
    curve = so.continuation(robot, "driven.rod", begin=0.0, to=0.08)
    critical = np.cbrt(7.837347 * 1e6 * INERTIA / ((3300.0 - DENSITY) * AREA * 9.81))
    (point,) = [point for point in curve.points if "branch" in point.kind]
    assert_allclose(0.15 + point.parameter, critical, rtol=2e-6)


@pytest.mark.parametrize("name", ["links.rod.rod.length", "loads.water.fluid.density", "materials.rubber.density",
                                  "loads.water.fluid.links.rod.lift", "loads.jet.line.force[0]"])  # fmt: skip
def test_derivatives_by_numbers_of_the_file(name, rng):
    robot = chain("feed", {"jet": LINES["jet"], "field": MAGNET, "water": WATER})
    q, qd, qdd = random_state(robot, rng)
    value = dict(so.scalars(robot))[name]

    def at(x: float) -> np.ndarray:
        return robot.with_values({name: float(value * (1.0 + x))}).inverse_dynamics(q, qd, qdd=qdd)

    found = so.sensitivities(robot, [name]).inverse_dynamics(q, qd, qdd=qdd)
    assert relative_error(found[:, 0] * value, slope(at, 1e-3)) < 1e-8


# -- motions -----------------------------------------------------------------------------------------------------------

DRIVEN = {"rod": "0.15*(1-cos(pi*t))/2"}


def swimming(kind: str, quadrature: int) -> so.Robot:
    """A rod that sinks from the horizontal in a current."""
    water = {"fluid": {"density": 600, "current": [0, "0.2", 0], "links": {"rod": {"added_mass": [0.2, 1, 1]}}}}
    return robot_of({"rod": {"joint": kind, "rod": rod("20 cm", {"bending": 2}, quadrature=quadrature)}},
                    loads={"water": water})  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_energy_with_that_of_what_enters_is_balanced_to_the_quadrature(kind):
    worst = []
    for n in (8, 16):
        options = {"method": "bdf", "rtol": 1e-9, "atol": 1e-10}
        energy = so.simulate(swimming(kind, n), 0.6, driven=DRIVEN, **options).energy()
        worst.append(np.abs(energy.balance).max() / energy.turnover)
    assert worst[0] < 6e-6  # five times the worst
    assert worst[0] / worst[1] > 8.0  # of fourth order: 16


@pytest.mark.parametrize("kind", KINDS)
def test_steps_of_generalized_alpha_are_of_second_order(kind):
    robot = swimming(kind, 8)
    exact = so.simulate(robot, 0.3, driven=DRIVEN, method="bdf", rtol=1e-10, atol=1e-11).q[-1]
    steps = {"method": "generalized-alpha", "rtol": 1e-10, "atol": 1e-12}
    worst = [np.abs(so.simulate(robot, 0.3, driven=DRIVEN, step=h, **steps).q[-1] - exact).max() for h in (2e-3, 1e-3)]
    assert 3.0 < worst[0] / worst[1] < 5.0


# -- what it is not for ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("load", "words"), [
    ({"line": {"rod": "rod", "force": [0, "2*X", 0]}}, "no expression of L or X on a rod whose length is a coordinate"),
    ({"magnetised_rod": {"rod": "rod", "magnetisation": ["1e3*s", 0, 0], "field": [0, 0, 1]}}, "no expression of L or"),
])  # fmt: skip
def test_expressions_of_places_that_move_are_refused(load, words):
    with pytest.raises(so.SorosimError, match=words):
        robot_of({"rod": {"joint": "feed", "rod": rod(0.2, {"bending": 1})}}, loads={"load": load})
