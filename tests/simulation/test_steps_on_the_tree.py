"""Steps of large trees, which solve block by block, against those with dense matrices."""

import numpy as np
import pytest
from helpers.limbs import limbs, with_actuators
from numpy.testing import assert_allclose

import sorosim
from sorosim.actuation.route import RouteSegment
from sorosim.actuation.servo import Servo
from sorosim.actuation.tendon import Tendon
from sorosim.engine import engine
from sorosim.loads.fluid import Fluid
from sorosim.loads.wrench import Wrench


@pytest.fixture(scope="module")
def robot():
    actuators = {"pull": Tendon(RouteSegment("arm", y=0.005, z=0.0)), "knee": Servo("leg", stiffness=1.0, damping=0.1)}
    loads = {"sea": Fluid(1000.0, current=(0.1, 0.0, "0.1*t")), "push": Wrench("ball", force=(0.1, 0, "0.3*t"))}
    return with_actuators(limbs((0, 0, -9.81)), **actuators).with_loads(**loads)


def both(monkeypatch, robot, **options):
    """The same run along the tree and with matrices."""
    runs = []
    for least in (0, 10**9):
        monkeypatch.setattr(engine, "ON_TREE", least)
        runs.append(sorosim.simulate(robot, dt_out=0.01, **options))
    return runs


@pytest.mark.parametrize("method", ["newmark", "generalized-alpha"])
def test_fixed_steps_end_where_those_with_matrices_do(monkeypatch, robot, method):
    tree, dense = both(monkeypatch, robot, t_end=0.02, u={"pull": "2*t", "knee": "2*t"}, method=method, step=2e-4)
    size = np.abs(dense.q).max(axis=0)
    # Newton's method ends at a thousandth of the tolerances, on another way there
    assert_allclose(tree.q, dense.q, atol=1e-6 * size.max())
    assert tree.stats["n_steps"] == dense.stats["n_steps"]
    assert_allclose(tree.energy().balance, dense.energy().balance, atol=1e-6)


def test_steps_by_tolerance_and_driven_joints(monkeypatch, robot):
    options = {"t_end": 0.1, "driven": {"leg": "0.5*t^2"}, "u": {"pull": "2*t"}}
    alone = with_actuators(robot, pull=robot.description.actuators["pull"])
    tree, dense = both(monkeypatch, alone, method="generalized-alpha", rtol=1e-6, atol=1e-8, **options)
    assert_allclose(tree.q[-1], dense.q[-1], atol=1e-4 * np.abs(dense.q[-1]).max())
    assert abs(tree.stats["n_steps"] - dense.stats["n_steps"]) <= 0.05 * dense.stats["n_steps"]
    i = robot.engine.layout.coordinate("leg", "driven")
    assert_allclose(tree.q[:, i], 0.5 * tree.t**2, atol=1e-12)


def test_what_couples_distant_parts_keeps_its_matrices(robot):
    assert robot.engine.has_local_tangent
    wound = with_actuators(robot, wound=Tendon(RouteSegment("arm", y=0.005, z=0.0), stiffness=100.0))
    rubs = with_actuators(robot, rubs=Tendon(RouteSegment("arm", y=0.0, z=0.005), friction=0.3))
    assert not wound.engine.has_local_tangent
    assert not rubs.engine.has_local_tangent
    assert not sorosim.load("four_bar").engine.has_local_tangent
