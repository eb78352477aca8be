"""Point wrenches: constant and changing in time, what they take, their tangents."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sorosim
from sorosim.base.errors import ModelError
from sorosim.base.signals import ConstantSignal, ExpressionSignal, TableSignal
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.robot import Robot

LINKS = (Link("ball", RigidBody(2.0, inertia=(1, 1, 1)), joint=Joint("free")),)
TABLE = TableSignal(np.array([0.0, 1.0, 3.0]), np.array([0.0, 5.0, 1.0]))


def test_numbers_stay_numbers():
    load = Wrench("ball", moment=(np.array([1, 2, 3, 4, 5, 6]))[:3], force=(np.array([1, 2, 3, 4, 5, 6]))[3:])
    assert load.wrench == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert load == Wrench("ball", moment=(1, 2, 3), force=(4, 5, ConstantSignal(6.0)))
    assert hash(load) == hash(Wrench("ball", moment=(1, 2, 3), force=(4, 5, 6)))


def test_entries_may_be_signals():
    table = {"times": [0, 1, 3], "values": [0, 5, 1]}
    load = Wrench("ball", moment=("8*t", 0, table), force=(([0, 1, 3], [0, 5, 1]), 1, 0))
    assert isinstance(load.wrench[0], ExpressionSignal)
    assert load.wrench[2:4] == (TABLE, TABLE)
    again = Wrench("ball", moment=("8*t", 0, TABLE), force=(TABLE, 1, 0))
    assert load == again
    assert hash(load) == hash(again)


@pytest.mark.parametrize("t", [0.0, 0.25, 2.0, 5.0])
def test_values_are_those_of_the_signals(t):
    load = Wrench("ball", moment=("8*t", 2.0, 0), force=(TABLE, lambda t: -t, "t^2"), frame="body")
    robot = Robot(Description("ball", LINKS, gravity=(0, 0, 0), loads={"push": load}))
    zero = np.zeros(6)
    expected = [TABLE.value(t), -t, t**2, 8 * t, 2.0, 0.0]
    # at rest in its place, the forces that hold the body are minus the wrench
    assert_allclose(-robot.inverse_dynamics(zero, zero, qdd=zero, t=t), expected, rtol=1e-15)


def test_a_push_that_grows_moves_a_free_body_as_it_must():
    push = Wrench("ball", force=("6*t", 0, {"times": [0, 1], "values": [0, 2]}))
    robot = Robot(Description("ball", LINKS, gravity=(0, 0, 0), loads={"push": push}))
    run = sorosim.simulate(robot, 1.0, rtol=1e-8, atol=1e-10)
    # m x'' = 6 t: x = t^3 / 2
    assert_allclose(run.q[:, 0], run.t**3 / 2, atol=1e-6)
    assert_allclose(run.q[:, 2], run.t**3 / 6, atol=1e-6)
    assert np.abs(run.energy().balance).max() < 1e-5


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"force": (1, 2)}, "wrench.force: expected a list of 3, each a force, got [1, 2]"),
        ({"moment": "8*t", "force": ()},
         "wrench.moment: expected a list of 3, each a moment, got '8*t'\n"
         "wrench.force: expected a list of 3, each a force, got []"),
        ({"moment": (0, np.nan, 0)}, "wrench.moment[1]: expected a moment, got nan; it has to be finite"),
        ({"moment": (0, 0, None)}, "wrench.moment[2]: expected a moment such as 5 N*cm, got nothing"),
        ({"force": ("3 m", 0, 0)}, "wrench.force[0]: expected a force such as 5 N, got '3 m', a length"),
        ({"force": ({"times": [0, 1]}, 0, 0)},
         "wrench.force[0]: expected the key 'values', got a table without it; or give a csv file and its column"),
    ],
)  # fmt: skip
def test_what_is_no_wrench(parts, message):
    with pytest.raises(ModelError) as caught:
        Wrench("ball", **parts)
    assert str(caught.value) == message


def test_an_expression_is_of_time_only():
    with pytest.raises(ValueError, match="expected a variable, got 'x' at column 1 of 'x'"):
        Wrench("ball", moment=("x", 0, 0))
