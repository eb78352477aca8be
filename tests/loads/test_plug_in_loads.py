"""Loads in Python at run time: what breaks the contract is one error that names the load and the point."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.python_load import pull_along_x
from numpy.testing import assert_allclose

import sorosim
from sorosim.base.errors import ConvergenceError, InputError, ModelError, PlugInError
from sorosim.base.registry import LOADS
from sorosim.mechanics.loads.base import LoadValues
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.robot import Robot

LINKS = (
    Link("ball", RigidBody(2.0, inertia=(1, 1, 1)), joint=Joint("free")),
    Link("hand", RigidBody(1.0, inertia=(1, 1, 1)), joint=Joint("prismatic"), parent="ball"),
)
ROBOT = Robot(Description("ball", LINKS))
ZERO = np.zeros(7)


class Push:
    """A load on both bodies; what it does may be changed."""

    dissipates = False
    places = (("ball", 1.0),)

    def __init__(self, **changes):
        for name, value in changes.items():
            setattr(self, name, value)

    def bind(self, layout):
        if not hasattr(self, "nodes"):
            self.nodes = np.array([layout.link(name).node_at(1.0) for name in ("ball", "hand")])
        return self

    def evaluate(self, t, g, eta):
        return LoadValues(np.ones((2, 6)), np.zeros((2, 6, 6)), np.zeros((2, 6, 6)))


def raising(t, g, eta):
    raise ZeroDivisionError("no wind")


def refusing(t, g, eta):
    raise ModelError("loads.push", "a time before 1 s", f"{t:g} s")


RIGHT = Push().evaluate(0.0, None, None)
HOLE = np.zeros((2, 6, 6))
HOLE[1, 2, 3] = np.nan


@pytest.mark.parametrize(
    ("evaluate", "kind", "message"),
    [
        (raising, PlugInError, "loads.push: expected LoadValues(wrench, K, D), got ZeroDivisionError: no wind; look at "
         f"{__name__}.Push.evaluate"),
        (refusing, ModelError, "loads.push: expected a time before 1 s, got 0.5 s"),
        (lambda t, g, eta: None, PlugInError, "loads.push: expected LoadValues(wrench, K, D), got nothing"),
        (lambda t, g, eta: RIGHT[:2], PlugInError, "loads.push: expected LoadValues(wrench, K, D), got (array("),
        (lambda t, g, eta: RIGHT._replace(wrench=np.zeros(6)), PlugInError,
         "loads.push.wrench: expected shape (2, 6), got shape (6,)"),
        (lambda t, g, eta: RIGHT._replace(K=np.zeros((2, 3, 3))), PlugInError,
         "loads.push.K: expected shape (2, 6, 6), got shape (2, 3, 3)"),
        (lambda t, g, eta: RIGHT._replace(D="none"), PlugInError,
         "loads.push.D: expected an array of shape (2, 6, 6), got 'none'"),
        (lambda t, g, eta: RIGHT._replace(wrench=np.full((2, 6), np.inf)), ModelError,
         "loads.push.wrench: expected finite numbers, got NaN or infinity at 'ball', t = 0.5 s"),
        (lambda t, g, eta: RIGHT._replace(D=HOLE), ModelError,
         "loads.push.D: expected finite numbers, got NaN or infinity at 'hand', t = 0.5 s"),
    ],
)  # fmt: skip
def test_a_load_that_goes_wrong_is_one_error(evaluate, kind, message):
    robot = ROBOT.with_loads(push=Push(evaluate=evaluate))
    for ask in (robot.inverse_dynamics, robot.inverse_dynamics_derivatives):
        with pytest.raises(kind) as caught:
            ask(ZERO, ZERO, qdd=ZERO, t=0.5)
        assert type(caught.value) is kind
        assert str(caught.value).startswith(message)


def test_solvers_pass_it_on_and_keep_what_they_have():
    def late(t, g, eta):
        if t > 0.2:
            raise ZeroDivisionError("no wind")
        return RIGHT

    robot = ROBOT.with_loads(push=Push(evaluate=late))
    for method in ("bdf", "newmark"):
        with pytest.raises(ConvergenceError) as caught:
            sorosim.simulate(robot, 1.0, method=method)
        assert "loads.push: expected LoadValues(wrench, K, D), got ZeroDivisionError: no wind" in str(caught.value)
    with pytest.raises(PlugInError, match=r"^loads.push: expected LoadValues"):
        sorosim.statics(ROBOT.with_loads(push=Push(evaluate=raising)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": [0, 1]}, "loads.push.nodes: expected an array of indices of nodes, as layout.link(...).node_at(s), "
         "got [0, 1]"),
        ({"nodes": np.array([0, 77])}, "loads.push.nodes: expected an array of indices of nodes"),
        ({"nodes": np.array([0.0, 1.0])}, "loads.push.nodes: expected an array of indices of nodes"),
        ({"nodes": np.array([0, -1])}, "loads.push.nodes: expected an array of indices of nodes"),
        ({"others": np.array([-2, -1])}, "loads.push.others: expected an array of indices of nodes"),
        ({"others": np.array([-1])}, "loads.push.others: expected one node for each of the 2 points, got 1"),
        ({"frames": np.eye(4)}, "loads.push.frames: expected finite numbers of shape (2, 4, 4), got shape (4, 4)"),
        ({"frames": np.full((2, 4, 4), np.nan)},
         "loads.push.frames: expected finite numbers of shape (2, 4, 4), got NaN or infinity"),
        ({"added_inertia": np.tile(np.arange(36.0).reshape(6, 6), (2, 1, 1))},
         "loads.push.added_inertia: expected symmetric matrices, as kinetic energy has them, got others"),
        ({"added_inertia": np.tile(-np.eye(6), (2, 1, 1))},
         "loads.push.added_inertia: expected matrices that take kinetic energy to move, got one with a negative "
         "eigenvalue"),
        ({"places": (("bal", 1.0),)}, "loads.push: expected the name of a link, got 'bal'; did you mean ball?"),
        ({"places": ("ball",)}, "loads.push.places: expected pairs (link, s), got 'ball'"),
        ({"places": (("ball", 2.0),)}, "loads.push.places: expected a place s from 0 to 1, got 2.0"),
        ({"bind": lambda layout: object()},
         "loads.push: expected a bound load with nodes, dissipates and evaluate, got object without nodes, "
         "dissipates, evaluate"),
    ],
)  # fmt: skip
def test_a_load_that_cannot_be_bound_is_one_error(changes, message):
    with pytest.raises(ModelError) as caught:
        ROBOT.with_loads(push=Push(**changes))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("thing", [Push, 3.0, None])
def test_what_is_no_load(thing):
    with pytest.raises(ModelError, match=r"^loads.push: expected a load, got"):
        ROBOT.with_loads(push=thing)


def test_frames_of_a_load_are_poses_on_its_nodes():
    frame = np.eye(4)
    frame[:3, 3] = [0.0, 0.3, 0.0]
    shifted = Push(frames=np.stack([frame, np.eye(4)]))
    found = ROBOT.with_loads(push=shifted).inverse_dynamics(ZERO, ZERO, qdd=ZERO)
    plain = ROBOT.with_loads(push=Push()).inverse_dynamics(ZERO, ZERO, qdd=ZERO)
    # forces (1, 1, 1) at (0, 0.3, 0)
    assert_allclose(plain - found, [0, 0, 0, 0.3, 0.0, -0.3, 0], atol=1e-14)


def test_inertia_that_a_load_adds_has_no_weight():
    def nothing(t, g, eta):
        return LoadValues(np.zeros((2, 6)), np.zeros((2, 6, 6)), np.zeros((2, 6, 6)))

    added = np.zeros((2, 6, 6))
    added[0, 3:, 3:] = 5.0 * np.eye(3)
    heavy = ROBOT.with_loads(push=Push(evaluate=nothing, added_inertia=added))
    assert_allclose(
        heavy.inverse_dynamics(ZERO, ZERO, qdd=ZERO), ROBOT.inverse_dynamics(ZERO, ZERO, qdd=ZERO), atol=1e-13
    )
    M = heavy.mass_matrix(ZERO) - ROBOT.mass_matrix(ZERO)
    assert_allclose(M, np.diag([5.0, 5.0, 5.0, 0, 0, 0, 0]), atol=1e-13)


def test_a_load_that_is_no_dataclass_cannot_be_written_to_a_file():
    from sorosim.files import dump

    robot = Robot(replace(ROBOT.description, loads={"push": Push()}))
    with pytest.raises(ModelError, match=r"^loads.push: expected a load of sorosim, or one that is registered, got"):
        dump(robot)


def test_numbers_of_loads_that_python_computes_are_refused_by_sensitivities(monkeypatch):
    monkeypatch.setattr(LOADS, "_built_in", dict(LOADS.declared()))

    pull_along_x("pull_of_test")
    robot = sorosim.load({
        "sorosim": 1, "name": "pulled",
        "links": {"ball": {"joint": {"prismatic": {"axis": [1, 0, 0], "stiffness": 10}},
                           "body": {"sphere": {"radius": "1 cm"}, "mass": "1 kg"}}},
        "loads": {"pull": {"pull_of_test": {"link": "ball", "force": "2 N"}}},
    })  # fmt: skip
    with pytest.raises(InputError, match=r"'loads\.pull\.pull_of_test\.force' \(code that uses it cannot carry"):
        sorosim.sensitivities(robot, ["loads.pull.pull_of_test.force"])
    by = sorosim.sensitivities(robot, ["links.ball.joint.prismatic.stiffness"])
    assert by.equilibrium(sorosim.statics(robot)).q[0, 0] == pytest.approx(-0.2 / 10)
