"""Robots back to YAML: load, dump, load gives the same robot."""

# ruff: noqa: E501 (messages are easier to compare on one line)

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.robots import arrays_of, cable_manipulator, varied_tree
from numpy.testing import assert_array_equal

import sorosim
from sorosim.errors import FileError, InputError, ModelError
from sorosim.io import bundled_robots, dump, load, load_text
from sorosim.model.body import RigidBody
from sorosim.model.description import Description
from sorosim.model.joints import Joint
from sorosim.model.link import Link
from sorosim.robot import Robot
from sorosim.signals import TableSignal
from sorosim.signals.expressions import parse

BASE = (Path(__file__).parent / "robot.yaml").read_text("utf-8")


def same(a, b):
    assert a.coordinate_names == b.coordinate_names
    for x, y in zip(arrays_of(a), arrays_of(b), strict=True):
        assert_array_equal(x, y)


def again(robot):
    """The robot of the dumped text, which is the same."""
    other = load_text(dump(robot), "dump.yaml")
    same(robot, other)
    third = load_text(dump(other), "dump.yaml")
    assert repr(other.description) == repr(third.description)
    return other


@pytest.mark.parametrize("name", bundled_robots())
def test_bundled_robots_come_back(name):
    robot = load(name)
    other = again(robot)
    assert repr(robot.description) == repr(other.description)


def test_every_block_comes_back():
    robot = load_text(BASE, "robot.yaml")
    other = again(robot)
    assert repr(robot.description) == repr(other.description)


def test_all_kinds_of_loads_and_actuators_come_back():
    robot = load_text((Path(__file__).parent / "loads.yaml").read_text("utf-8"), "loads.yaml")
    other = again(robot)
    assert dump(robot) == dump(other)
    q, qd = 0.1 * np.cos(np.arange(robot.ndof)), np.sin(np.arange(robot.ndof))
    u = [2.0, 1e-3, 1e4, 0.3, 0.2]
    for t in (0.0, 0.7):
        one, two = (x.inverse_dynamics(q, qd, qdd=qd, t=t) for x in (robot, other))
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        robot.internal_force(q, qd, u=u), other.internal_force(q, qd, u=u), rtol=1e-12, atol=1e-12
    )


def test_the_text_is_readable():
    assert dump(load_text(BASE, "robot.yaml")) == (Path(__file__).parent / "dumped.yaml").read_text("utf-8")


@pytest.mark.parametrize("seed", range(20))
def test_random_robots_come_back_or_say_what_cannot(seed):
    robot = varied_tree(seed)
    try:
        again(robot)
    except ModelError as error:
        assert error.where == "dump"  # noqa: PT017
        assert "a route inside the section" in error.got  # noqa: PT017


def test_a_robot_of_python_objects_comes_back():
    again(cable_manipulator())


def test_inputs_come_back():
    table = {"times": [0, 1, 2.5], "values": [0, 3, 0.1], "interpolation": "pchip"}
    text = BASE.replace("cable: 2*t", f"cable: {table}".replace("'", ""))
    text = text.replace("t_end: 1", "t_end: 1, q0: [0, 0, 0, 0, 0, 0.1], driven: {tool: 5 deg*t}")
    text = text.replace("initial:\n  tool.revolute: 10 deg\n", "")
    other = again(load_text(text, "robot.yaml"))
    assert isinstance(other.description.simulate["u"]["cable"], TableSignal)
    assert other.description.simulate["q0"][-1] == 0.1


def test_names_that_yaml_would_misread_come_back():
    for name in ("on", "1e5", "12:30", "a: b", "# no", "- x", "~", "null", "true", "{x}", "5 $x", "$$", "\u00e4 \u4e16\u754c",
                 "tab\there", "line\nbreak", " spaces ", "\U0001f600", "it's", '"', "\\", "*x", "&x", "!x", "%x", "@x",
                 "0x1F", "?", "-", "x #y", "a\x85b", "a\u2028b"):  # fmt: skip
        robot = load_text(BASE, "robot.yaml")
        renamed = Robot(replace(robot.description, name=name))
        assert load_text(dump(renamed), "dump.yaml").name == name


def body(**options):
    return Link("a", RigidBody(1.0, inertia=(1, 1, 1)), **options)


class Odd:
    places = ()

    def bind(self, layout):
        return None


@pytest.mark.parametrize(
    ("description", "message"),
    [
        (Description("x", (body(),), simulate={"u": {"a": lambda t: 0.0}}),
         "simulate.u.a: expected a number, an expression of t or a table, got function; the format of files has nothing "
         "else; keep it in Python"),
        (Description("x", (body(joint=Joint("revolute")),), simulate={"driven": {"a": parse("3 ft", ["t"], lambda u: 7)}}),
         "simulate.driven.a: expected a formula with the units of files, got '3 ft'; write its numbers in SI units"),
        (Description("x", (replace(body(), name="my arm"),)),
         "dump: expected a robot that a file can describe, got links.'my arm': expected a name of at most 60 letters, "
         "digits, _ and -, got 'my arm'"),
        (Description("x", (body(),), simulate={"colour": 3}),
         "dump: expected a robot that a file can describe, got simulate.colour: expected a known key, got 'colour'; "
         "known: t_end, dt_out, q0, method, rtol, atol, step, spectral_radius, u, driven, checkpoint, closing_time, ..."),
        (Description("x", (body(),), simulate={"t_end": np.ones(3)}),
         "simulate.t_end: expected a number or a word, got ndarray; the format of files has nothing else; keep it in "
         "Python"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_named(description, message):
    with pytest.raises(ModelError) as caught:
        dump(Robot(description))
    assert str(caught.value) == message


def test_a_robot_writes_itself_to_a_file(tmp_path):
    robot = sorosim.load("cable_manipulator")
    text = robot.to_yaml(tmp_path / "copy.yaml")
    assert (tmp_path / "copy.yaml").read_text("utf-8") == text == robot.to_yaml()
    same(load(tmp_path / "copy.yaml"), robot)
    with pytest.raises(FileError, match="cannot be written"):
        robot.to_yaml(tmp_path / "missing" / "copy.yaml")
    with pytest.raises(InputError, match="expected a Robot, got int"):
        dump(3)
