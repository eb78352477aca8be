"""Robots back to YAML: load, dump, load gives the same robot."""

# ruff: noqa: E501 (messages are easier to compare on one line)

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.robots import arrays_of, cable_manipulator, varied_tree
from numpy.testing import assert_array_equal

import sorosim
from sorosim.base.errors import FileError, InputError, ModelError
from sorosim.base.registry import LOADS, register_load
from sorosim.base.signals import TableSignal
from sorosim.base.signals.expressions import parse
from sorosim.files import bundled_robots, dump, load, load_text
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.robot import Robot

BASE = (Path(__file__).parent / "robot.yaml").read_text("utf-8")

BARE_ROD = """
sorosim: 1
materials: {m: {young: 1 MPa, poisson: 0.5, density: 1000}}
links: {rod: {rod: {length: 20 cm, section: {circle: {radius: 1 cm}}, material: m, strain: {bending: 1}}}}
"""


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


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "gripper_100")) for n in bundled_robots()]
)
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


def test_loads_of_zero_come_back():
    zero = "loads: {tip: {wrench: {link: rod, force: [0, 0, 0]}}, all: {line: {rod: rod, moment: [0, 0, 0]}}}"
    robot = load_text(BARE_ROD + zero, "rod.yaml")
    assert list(again(robot).description.loads) == ["tip", "all"]


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
         "known: t_end, dt_out, q0, method, rtol, atol, max_step, closing_time, jacobian, step, projection, "
         "spectral_radius, ..."),
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


class Muscle(sorosim.Spring):
    """A spring with another law."""


def test_a_subclass_is_not_written_as_what_it_derives_from(monkeypatch):
    monkeypatch.setattr(LOADS, "_registered", {})
    muscle = Muscle("a", {"at": {"position": [0, 0, 1]}}, stiffness=3.0)
    robot = Robot(Description("x", (body(joint=Joint("revolute")),), loads={"m": muscle}))
    with pytest.raises(ModelError) as caught:
        dump(robot)
    expected = "loads.m: expected a load of sorosim, or one that is registered, got Muscle"
    assert str(caught.value).startswith(expected)
    register_load("muscle", Muscle)
    assert "m: {muscle: {from: a, " in dump(robot)
    assert type(again(robot).description.loads["m"]) is Muscle


def test_equal_materials_are_written_once_and_others_get_names():
    def rod(link, **material):
        division = sorosim.Division(0.1, sorosim.Circle(0.01), sorosim.Material(**material), sorosim.Strain(bending=1))
        return Link(link, sorosim.Rod(division))

    soft, hard = {"young": 1e6, "poisson": 0.5, "density": 1000}, {"young": 2e9, "poisson": 0.3, "density": 8000}
    links = rod("a", **soft), rod("b", **soft), rod("c", **hard), rod("d", **soft, name="soft rubber"), rod("e", **hard)
    text = dump(Robot(Description("x", links)))
    names = re.findall(r"material: (\w+)", text)
    assert names == ["soft_rubber", "soft_rubber", "material", "soft_rubber", "material"]
    text = dump(Robot(Description("x", (links[0], links[2]))))
    assert re.findall(r"material: (\w+)", text) == ["material", "material2"]


@pytest.mark.parametrize(
    "rotation",
    [
        "{axis: [0, 1, 0], angle: 90 deg}", "{axis: [0, 0, 1], angle: -30 deg}", "{axis: [1, 0, 0], angle: 180 deg}",
        "{axis: [1, 1, 0], angle: 45 deg}", "{rpy: [0, 90 deg, 120 deg]}", "{rpy: [10 deg, 20 deg, 30 deg]}",
        "{quaternion: [1, 2, 3, 4]}", "{axis: [0, 0, 1], angle: 0.123456789}",
    ],
)  # fmt: skip
def test_a_rotation_is_written_as_it_was_given(rotation):
    text = f"sorosim: 1\nlinks: {{a: {{at: {{position: [0, 0, 1], rotation: {rotation}}}, body: {{sphere: {{radius: 1}}, mass: 1}}}}}}"
    assert f"rotation: {rotation}" in dump(load_text(text, "x"))


@pytest.mark.parametrize("row", ["modified: [0.4, -90 deg, 0.1, 30 deg]", "standard: [0, 90 deg, 0.09, 45 deg]"])
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_a_row_of_a_denavit_hartenberg_table_is_written_as_one(row, kind):
    text = f"sorosim: 1\nlinks: {{a: {{dh: {{{row}}}, joint: {{{kind}: {{damping: 2}}}}, body: {{sphere: {{radius: 1}}, mass: 1}}}}}}"
    written = dump(again(load_text(text, "x")))
    assert f"dh: {{{row}}}" in written
    assert f"joint: {{{kind}: {{damping: 2}}}}" in written
