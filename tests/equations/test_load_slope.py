"""The derivative of static residuals by the load against central differences, dense and along the tree."""

import numpy as np
import pytest
from helpers.robots import cable_manipulator, varied_tree, with_random_loops
from numpy.testing import assert_allclose

import sorosim
from sorosim.equations.system import StaticSystem
from sorosim.equations.tree_statics import TreeStatics
from sorosim.equilibria.steady_motion import SteadySystem

STEP = 1e-5


def difference(residual, x, load):
    """Central ones; at load 0 one-sided ones of the same order, for tendons are slack below it."""
    if load == 0.0:
        ahead, farther = residual(x, STEP), residual(x, 2.0 * STEP)
        return (4.0 * ahead - farther - 3.0 * residual(x, 0.0)) / (2.0 * STEP)
    return (residual(x, load + STEP) - residual(x, load - STEP)) / (2.0 * STEP)


def agrees(slope, residual, x, load):
    """Differences err by h^2/6 of the third derivative, and by rounding over h."""
    size = np.abs(slope).max() + np.abs(residual(x, load)).max()
    assert size > 0.0
    assert_allclose(slope, difference(residual, x, load), rtol=0, atol=1e-8 * size)


def near(system, seed=0):
    """A state with some displacement and multipliers."""
    size = system.n_free + len(system.rows)
    return 0.05 * np.random.default_rng(seed).normal(size=size)


CASES = {
    "cable_manipulator": {},  # tendons
    "stewart_soft": {},  # loops
    "slider_crank": {"crank": 0.4},  # a driven joint in a loop
    "ur5_with_soft_gripper": {"shoulder": 0.3, "forearm": 0.5},
    "concentric_tubes": None,  # insertions
    "contact_cylinder": {},  # contacts, which the load does not scale
    "magnetic_catheter": {},
    "tentacle_in_current": {},
    "underwater_vehicle": {},
}


@pytest.fixture(scope="module")
def robots():
    return {name: sorosim.load(name) for name in CASES}


def driven_of(robot, driven):
    if driven is not None:
        return driven
    return {name: float(value) for name, value in (robot.description.statics.get("driven") or {}).items()}


@pytest.mark.parametrize("begins", [False, True], ids=["from no load", "from an equilibrium"])
@pytest.mark.parametrize("name", CASES)
def test_the_slope_by_the_load_is_that_of_the_residual(robots, name, begins):
    robot = robots[name]
    u = np.random.default_rng(1).uniform(0.2, 1.0, len(robot.actuator_names))
    q0 = robot.initial_q + 0.02 * np.random.default_rng(2).normal(size=robot.ndof)
    driven = driven_of(robot, CASES[name])
    if name == "concentric_tubes":
        q0 = robot.initial_q
    system = StaticSystem(robot, u, driven, begin=(q0, 0.3 * u) if begins else None)
    x = near(system) if name != "concentric_tubes" else 0.1 * near(system)
    for load in (0.0, 0.6, 1.0):
        residual, K, slope = system.by_load(x, load)
        assert_allclose(residual, system.residual(x, load), rtol=1e-12, atol=1e-12 * np.abs(residual).max())
        assert_allclose(K, system.jacobian(x, load)[1], rtol=0, atol=1e-12 * np.abs(K).max())
        agrees(slope, system.residual, x, load)


def test_the_slope_under_friction_is_that_of_the_residual(robots):
    """Driven coordinates slide with the load, and friction resists."""
    robot = robots["contact_cylinder"]
    q = sorosim.statics(robot).q
    system = StaticSystem(robot, robot.inputs(None), {}, sticking=(0.999 * q, None))
    x = q[system.partition.free]
    agrees(system.by_load(x, 0.7)[2], system.residual, x, 0.7)


@pytest.mark.parametrize("begins", [False, True], ids=["from no load", "from an equilibrium"])
@pytest.mark.parametrize("name", ["cable_manipulator", "stewart_soft", "slider_crank", "ur5_with_soft_gripper"])
def test_the_slope_along_the_tree_is_the_dense_one(robots, name, begins):
    robot = robots[name]
    u = np.random.default_rng(1).uniform(0.2, 1.0, len(robot.actuator_names))
    q0 = robot.initial_q + 0.02 * np.random.default_rng(2).normal(size=robot.ndof)
    system = StaticSystem(robot, u, CASES[name], begin=(q0, 0.3 * u) if begins else None)
    x, tree = near(system), TreeStatics(system, q0)
    for load in (0.3, 0.9):
        dense = system.by_load(x, load)[2]
        assert_allclose(tree.by_load(x, load), dense, rtol=0, atol=1e-11 * np.abs(dense).max())


def test_the_slope_of_steady_motions_is_that_by_the_rates():
    robot = cable_manipulator()
    name = robot.coordinate_names[0]
    rest = sorosim.statics(robot, {}, driven={name: 0.0})
    system = SteadySystem(robot, rest, {name: 0.0}, {name: 3.0})
    x = near(system)
    for load in (0.0, 0.6, 1.0):
        agrees(system.by_load(x, load)[2], system.residual, x, load)


@pytest.mark.parametrize("seed", range(4))
def test_the_slope_along_the_tree_knows_springs_and_motors_in_loops(seed):
    """Loops of any kind between links of a tree, whose multipliers act; some coordinates are driven."""
    rng = np.random.default_rng(seed)
    robot = with_random_loops(rng, varied_tree(seed), 2)
    assert robot.loop_names
    motors = [name for name in robot.actuator_names if name.startswith("motor_")]
    driven = {
        link.name: 0.3
        for link in robot.links
        if robot.engine.layout.links[link.name].n == 1 and not any(f"motor_{link.name}_" in name for name in motors)
    }
    u, q0 = rng.uniform(0.2, 1.0, len(robot.actuator_names)), 0.05 * rng.normal(size=robot.ndof)
    system = StaticSystem(robot, u, driven, begin=(q0, 0.3 * u) if seed % 2 else None)
    x = near(system, seed)
    dense = system.by_load(x, 0.6)[2]
    agrees(dense, system.residual, x, 0.6)
    along_tree = TreeStatics(system, q0).by_load(x, 0.6)
    assert along_tree is not None
    assert_allclose(along_tree, dense, rtol=0, atol=1e-11 * np.abs(dense).max())
