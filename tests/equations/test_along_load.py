"""Derivatives of static equations by the load against differences; along trees they are the same."""

import numpy as np
import pytest
from helpers.differences import best_slope, relative_error
from helpers.robots import random_state, varied_tree, with_random_loops

import sorosim
from sorosim.analysis.equations.system import StaticSystem
from sorosim.analysis.equations.tree_statics import TreeStatics
from sorosim.analysis.equilibria.assembly import close_if_possible
from sorosim.analysis.equilibria.steady_motion import SteadySystem

STEPS = 10.0 ** np.arange(-6.0, -1.0)
LOAD = 0.6


def slope_of(system, x, load=LOAD):
    """The derivative by the load, once it is compared with differences."""
    residual, K, slope = system.along_load(x, load)
    for found, wanted in zip((residual, K), system.jacobian(x, load), strict=True):
        assert np.array_equal(found, wanted)
    assert np.any(slope)
    assert relative_error(slope, best_slope(lambda h: system.residual(x, load + h), STEPS)) < 1e-7
    return slope


def unknowns(rng, system, q):
    return np.append(q[system.partition.free], rng.normal(size=len(system.rows)))


def assert_same_along_tree(system, x, slope):
    residual, along_tree = TreeStatics(system, system.q(x)).along_load(x, LOAD)
    assert relative_error(residual, system.residual(x, LOAD)) < 1e-10
    assert relative_error(along_tree, slope) < 1e-9


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("from_equilibrium", [False, True])
def test_rods_tendons_motors_and_loads_some_of_them_in_loops_that_are_open(seed, from_equilibrium):
    rng, robot = np.random.default_rng(seed), varied_tree(seed)
    if seed % 2:
        robot = with_random_loops(rng, robot)
    q, _, _, u = random_state(rng, robot)
    names = rng.choice(robot.coordinate_names, 3, replace=False) if seed % 4 > 1 else []
    begin = (0.5 * random_state(rng, robot)[0], rng.normal(size=len(u))) if from_equilibrium else None
    system = StaticSystem(robot, u, dict(zip(names, rng.normal(size=3), strict=False)), begin=begin)
    x = unknowns(rng, system, q)
    assert_same_along_tree(system, x, slope_of(system, x))


def test_tendons_some_of_which_are_still_slack():
    rng, robot = np.random.default_rng(8), sorosim.load("cable_manipulator")
    q, ends = 0.1 * random_state(rng, robot)[0], np.array([[-5.0, 1.0, 2.0, -5.0, 0.5], [1.0, 2.0, -1.0, 3.0, 2.0]])
    system = StaticSystem(robot, ends[1], {}, begin=(q, ends[0]))
    assert np.any((system.inputs(LOAD) < 0.0) & (ends[1] > 0.0))
    assert_same_along_tree(system, q, slope_of(system, q))


@pytest.mark.parametrize(
    "name", ["contact_cylinder", "tentacle_in_current", "magnetic_catheter", "gripper_grasps_sphere"]
)
def test_currents_fields_and_surfaces_that_touch(name):
    rng, robot = np.random.default_rng(4), sorosim.load(name)
    system = StaticSystem(robot, rng.uniform(0.5, 1.0, len(robot.actuator_names)), {})
    x = robot.initial_q + 1e-3 * rng.normal(size=robot.ndof)
    assert_same_along_tree(system, x, slope_of(system, x))


def test_surfaces_that_slide_from_where_they_stuck():
    rng, robot = np.random.default_rng(5), sorosim.load("gripper_grasps_sphere")
    start = robot.initial_q
    driven = {robot.coordinate_names[0]: start[0] + 0.1}
    system = StaticSystem(
        robot, np.ones(len(robot.actuator_names)), driven, sticking=(start, None), begin=(start, robot.inputs(None))
    )
    slope_of(system, unknowns(rng, system, start + 1e-3 * rng.normal(size=robot.ndof)))


def test_dependent_conditions_of_loops_in_their_own_units():
    rng, robot = np.random.default_rng(6), sorosim.load("fin_ray")
    system = StaticSystem(robot, rng.uniform(0.5, 1.0, len(robot.actuator_names)), {})
    q, errors, _ = close_if_possible(robot, robot.initial_q, system.partition.free)
    system.scale_constraints(*errors)
    assert np.ptp(system.weight) > 0.0
    assert np.any(system.gap)
    slope_of(system, unknowns(rng, system, q))


@pytest.mark.parametrize("load", [0.0, LOAD])
def test_rates_of_a_steady_motion_and_what_damps_them(load):
    rng, robot = np.random.default_rng(7), varied_tree(2)
    q, qd, _, u = random_state(rng, robot)
    names = robot.coordinate_names[:2]
    rest = sorosim.Equilibrium(robot, q, u, np.zeros(0), {}, 0.0, None, 0, "")
    system = SteadySystem(robot, rest, dict(zip(names, q[:2], strict=True)), dict(zip(names, qd[:2], strict=True)))
    slope_of(system, unknowns(rng, system, q), load)


def test_from_an_equilibrium_no_residual_is_evaluated_for_it(monkeypatch):
    robot = sorosim.load("cable_manipulator")
    system = StaticSystem(robot, np.ones(5), {}, begin=(robot.initial_q, np.zeros(5)))
    monkeypatch.setattr(system, "residual", None)
    assert np.any(system.along_load(robot.initial_q, LOAD)[2])
