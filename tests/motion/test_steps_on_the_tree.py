"""Steps of large trees, which solve block by block, against those with dense matrices."""

import numpy as np
import pytest
from helpers.limbs import limbs, with_actuators
from numpy.testing import assert_allclose

import sorosim
from sorosim.mechanics.actuation.route import RouteSegment
from sorosim.mechanics.actuation.servo import Servo
from sorosim.mechanics.actuation.tendon import Tendon
from sorosim.mechanics.dynamics.linearised_tree import LinearisedTree
from sorosim.mechanics.engine import engine
from sorosim.mechanics.loads.fluid import Fluid
from sorosim.mechanics.loads.wrench import Wrench


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
        monkeypatch.setattr(engine, "ON_SPARSE", least)
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


LINKAGE = {
    "sorosim": 1, "name": "linkage", "gravity": [0, "-9.81", 0],
    "materials": {"rubber": {"young": "1 MPa", "poisson": 0.45, "density": "1100 kg/m^3", "damping": "10 kPa*s"}},
    "links": {
        name: {"joint": {"revolute": {"axis": [0, 0, 1]}}, "at": {"position": at, "rotation": turn},
               "rod": {"length": "20 cm", "section": {"circle": {"radius": "1 cm"}}, "material": "rubber",
                       "strain": {"bending": 1, "torsion": 0, "elongation": 0}}}
        for name, at, turn in (
            ("left", [0, 0, 0], {"axis": [0, 0, 1], "angle": "-60 deg"}),
            ("right", ["20 cm", 0, 0], {"axis": [0, 0, 1], "angle": "-120 deg"}),
        )
    },
    "loops": {"pin": {"joint": {"revolute": {"axis": [0, 0, 1]}}, "from": "left", "to": {"link": "right", "at": {
        "as_built": True}}}},
}  # fmt: skip


@pytest.mark.parametrize("projection", [False, True])
def test_steps_under_loops_are_those_with_matrices(monkeypatch, projection):
    closed = sorosim.load(LINKAGE)
    assert closed.n_multipliers > 0
    options = {"t_end": 0.05, "method": "generalized-alpha", "rtol": 1e-6, "atol": 1e-8, "projection": projection}
    sparse, dense = both(monkeypatch, closed, **options)
    assert_allclose(sparse.q, dense.q, atol=1e-5 * np.abs(dense.q).max())
    assert abs(sparse.stats["n_steps"] - dense.stats["n_steps"]) <= 0.05 * dense.stats["n_steps"] + 1
    assert_allclose(sparse.energy().balance, dense.energy().balance, atol=1e-6)


def test_steps_of_rods_that_touch_are_those_with_matrices(monkeypatch):
    pile = sorosim.load("rod_pile")
    sparse, dense = both(monkeypatch, pile, t_end=0.06, method="newmark", step=1e-3)
    assert_allclose(sparse.q, dense.q, atol=1e-6 * np.abs(dense.q).max())


def test_controllers_are_sampled_along_the_tree(monkeypatch, robot):
    options = {"t_end": 0.03, "method": "generalized-alpha", "step": 1e-3, "dt_control": 0.01}
    alone = with_actuators(robot, pull=robot.description.actuators["pull"])
    tree, dense = both(monkeypatch, alone, controller=lambda t, q, qd: [2.0 * t - qd[0]], **options)
    assert_allclose(tree.q, dense.q, atol=1e-6 * np.abs(dense.q).max())
    assert_allclose(tree.u, dense.u, atol=1e-6 * np.abs(dense.u).max())


def test_interrupts_of_the_sparse_solver_are_raised(monkeypatch):
    monkeypatch.setattr(engine, "ON_SPARSE", 0)
    monkeypatch.setattr(LinearisedTree, "factor", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        sorosim.simulate(sorosim.load(LINKAGE), t_end=0.01, method="newmark", step=1e-3)


def test_what_couples_distant_parts_has_no_local_tangent(robot):
    assert robot.engine.has_local_tangent
    wound = with_actuators(robot, wound=Tendon(RouteSegment("arm", y=0.005, z=0.0), stiffness=100.0))
    rubs = with_actuators(robot, rubs=Tendon(RouteSegment("arm", y=0.0, z=0.005), friction=0.3))
    assert not wound.engine.has_local_tangent
    assert not rubs.engine.has_local_tangent
    assert not sorosim.load("four_bar").engine.has_local_tangent
