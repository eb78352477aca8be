"""Motions at default tolerances are right to a thousandth of their way, also where nothing damps them."""

from functools import cache

import pytest

import sorosim
from sorosim.analysis.results.accuracy import apart
from sorosim.files import load_text

BAR = "body: {box: {size: [2 cm, 1 cm, 40 cm]}, density: 2700 kg/m^3, at: {position: [0, 0, -20 cm]}}"
CHAIN = f"""sorosim: 1
name: chain that is let go from the side
links:
  upper: {{joint: {{revolute: {{axis: [0, 1, 0]}}}}, {BAR}}}
  lower: {{parent: upper, at: {{position: [0, 0, -40 cm]}}, joint: {{revolute: {{axis: [0, 1, 0]}}}}, {BAR}}}
initial: {{upper.revolute: 60 deg}}
"""
BRICK = """sorosim: 1
name: brick that tumbles
gravity: [0, 0, 0]
links: {brick: {joint: spherical, body: {box: {size: [30 cm, 20 cm, 6 cm]}, mass: 1 kg}}}
initial: {brick: {angular_velocity: [0.1, 9, 0.1]}}
"""
SPRING = """sorosim: 1
name: mass on a spring
links:
  mass: {joint: {prismatic: {axis: [0, 0, 1], stiffness: 500}}, body: {sphere: {radius: 5 cm}, mass: 300 g}}
"""
ROBOTS = {"chain": CHAIN, "brick": BRICK, "spring": SPRING, "heavy top": None, "four-bar": None}


@cache
def rigid(name):
    """A robot, how long it moves, and its motion."""
    text = ROBOTS[name]
    robot = load_text(text, name) if text else sorosim.load({"heavy top": "heavy_top", "four-bar": "four_bar"}[name])
    t_end = 1.0 if name == "four-bar" else 2.0
    return robot, t_end, sorosim.simulate(robot, t_end, method="radau", rtol=1e-9, atol=1e-12).q


@pytest.mark.parametrize("method", ["radau", "bdf", "lsoda", "cvode", "ida"])
@pytest.mark.parametrize("name", ROBOTS)
def test_what_is_rigid_and_touches_nothing_is_right_to_a_thousandth_of_its_way(name, method):
    robot, t_end, exact = rigid(name)
    distance, way = apart(robot, exact, sorosim.simulate(robot, t_end, method=method, projection=False).q)
    assert distance.max() <= 1e-3 * way


def test_tolerances_that_are_given_and_those_of_what_is_damped_are_kept():
    def tolerances(robot, **options):
        options = sorosim.simulate(robot, 1e-3, **options).options
        return options["rtol"], options["atol"]

    chain = load_text(CHAIN, "chain")
    assert tolerances(chain) == (1e-5, 1e-8)  # by radau
    assert tolerances(chain, method="bdf") == (1e-7, 1e-10)
    assert tolerances(chain, method="bdf", rtol=1e-4) == (1e-4, 1e-8)
    assert tolerances(chain, method="bdf", atol=1e-6) == (1e-5, 1e-6)
    assert tolerances(chain, method="generalized-alpha") == (1e-5, 1e-8)
    assert tolerances(load_text(CHAIN + "simulate: {method: cvode}", "c")) == (1e-7, 1e-10)
    assert tolerances(load_text(CHAIN + "simulate: {rtol: 1e-3}", "c"), method="bdf") == (1e-3, 1e-8)
    assert tolerances(sorosim.load("cable_manipulator"), method="cvode") == (1e-5, 1e-8)
