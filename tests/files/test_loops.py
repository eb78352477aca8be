"""Loops of files and the motors in them: what arrives in the robot, in prefabs too, and comes back."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from helpers.robots import arrays_of, random_pose, varied_tree, with_random_loops
from numpy.testing import assert_allclose, assert_array_equal
from typer.testing import CliRunner

from sorosim.base.signals import ConstantSignal
from sorosim.connect.cli.main import app
from sorosim.files import dump, json_schema, load, load_text
from sorosim.files.yaml_reader import read_text
from sorosim.mechanics.actuation.loop_force import LoopForce
from sorosim.mechanics.constraints.loop import AS_BUILT, Anchor, Loop
from sorosim.mechanics.lie import inverse
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.robot import Robot
from sorosim.studies.doctor import WRONG, examine

TEXT = (Path(__file__).parent / "loops.yaml").read_text("utf-8")
DEG = np.pi / 180.0
ROBOT = """\
sorosim: 1
materials: {rubber: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3}}
links:
  arm: {rod: {length: 20 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 1}}}
  hand:
    at: {position: [10 cm, 0, 30 cm], rotation: {axis: [1, 2, 0], angle: 1}}
    joint: free
    body: {mass: 1, inertia: [1, 1, 1]}
    frames: {grip: {position: [0, 0, 1 cm]}}
"""


def robot_with(loops, more=""):
    return load_text(f"{ROBOT}loops:\n{loops}\n{more}", "robot.yaml")


def only_loop(text, more=""):
    return robot_with(f"  it: {text}", more).description.loops["it"]


def same(a, b):
    for x, y in zip(arrays_of(a), arrays_of(b), strict=True):
        assert_array_equal(x, y)
    assert a.engine.loop_layout.rows == b.engine.loop_layout.rows
    assert a.actuator_names == b.actuator_names
    assert a.description.actuators == b.description.actuators


def again(robot):
    other = load_text(dump(robot), "dump.yaml")
    same(robot, other)
    assert dump(other) == dump(robot)
    return other


def end_pose(robot, end, q):
    """Pose of an end with a pose of its own."""
    frames = {link.name: link.frames for link in robot.links}.get(end.link, {})
    on_link = frames.get(end.frame, np.eye(4)) @ end.at
    return on_link if end.link == "world" else robot.pose(q, end.link, s=end.s) @ on_link


# -- joints and ends


@pytest.mark.parametrize(
    ("text", "joint"),
    [
        ("fixed", Joint()),
        ("spherical", Joint("spherical")),
        ("{planar: {axis: [0, 1, 0]}}", Joint("planar", axis=(0, 1, 0))),
        ("{revolute: {axis: [0, 0, 2], stiffness: 2 N*cm/deg, damping: 1, rest: 30 deg}}",
         Joint("revolute", stiffness=0.02 / DEG, damping=1, rest=30 * DEG)),
        ("{prismatic: {axis: [1, 0, 0], stiffness: 1 N/cm, rest: 1 cm}}",
         Joint("prismatic", axis=(1, 0, 0), stiffness=100, rest=0.01)),
        ("{helical: {axis: [1, 0, 0], pitch: 5 mm/rev}}", Joint("helical", axis=(1, 0, 0), pitch=0.005 / (2 * np.pi))),
        ("{cylindrical: {axis: [0, 0, 1], damping: [1, 2 N*s/m]}}", Joint("cylindrical", damping=(1, 2))),
    ],
)  # fmt: skip
def test_the_joint_of_a_loop_is_the_one_of_python(text, joint):
    robot = robot_with(f"  it: {{joint: {text}, from: arm, to: hand}}")
    assert robot.description.loops["it"].joint == joint
    assert again(robot).description.loops["it"].joint == joint


SHIFT = np.eye(4)
SHIFT[0, 3] = 0.01
TURNED = np.array([[0.0, -1, 0, 0], [1, 0, 0, 0.01], [0, 0, 1, 0], [0, 0, 0, 1]])  # first, then shifted


@pytest.mark.parametrize(
    ("text", "anchor"),
    [
        ("arm", Anchor("arm")),
        ("world", Anchor()),
        ("{link: arm, at: {s: 0.5}}", Anchor("arm", s=0.5)),
        ("{link: arm, at: {position: [1 cm, 0, 0]}}", Anchor("arm", at=SHIFT)),
        ("{link: hand, at: {frame: grip, position: [1 cm, 0, 0]}}", Anchor("hand", frame="grip", at=SHIFT)),
        ("{link: arm, at: [{s: 0.5, rotation: {axis: [0, 0, 1], angle: 90 deg}}, {position: [1 cm, 0, 0]}]}",
         Anchor("arm", s=0.5, at=TURNED)),
    ],
)  # fmt: skip
def test_ends_are_anchors(text, anchor):
    other = "hand" if "arm" in text else "arm"
    for loop, name in (
        (f"{{joint: fixed, from: {text}, to: {other}}}", "a"),
        (f"{{joint: fixed, from: {other}, to: {text}}}", "b"),
    ):
        robot = robot_with(f"  it: {loop}")
        for found in (robot, again(robot)):
            end = getattr(found.description.loops["it"], name)
            assert (end.link, end.s, end.frame) == (anchor.link, anchor.s, anchor.frame)
            assert_allclose(end.at, anchor.at, atol=1e-15)


def test_an_end_without_a_link_is_on_the_world():
    assert only_loop("{joint: fixed, from: arm, to: {at: {position: [1 cm, 0, 0]}}}").b.link == "world"
    assert only_loop("{joint: fixed, from: arm, to: {}}").b.link == "world"
    assert_array_equal(only_loop("{joint: fixed, from: arm, to: {at: {as_built: false}}}").b.at, np.eye(4))


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("{link: hand, at: {frame: grip}}", "{at: {as_built: true}}"),
        ("{link: hand, at: {frame: grip}}", "{link: arm, at: {as_built: true}}"),
        ("{link: hand, at: {frame: grip}}", "{link: arm, at: {s: 0.5, as_built: true}}"),
        ("{link: arm, at: {s: 0.2, position: [0, 1 cm, 2 cm]}}", "{link: hand, at: {frame: grip, as_built: true}}"),
    ],
)
def test_an_end_as_built_is_where_the_other_one_is(start, end):
    robot = robot_with(f"  it: {{joint: fixed, from: {start}, to: {end}}}", "initial: {hand: {position: [1, 2, 3]}}\n")
    assert robot.description.loops["it"].b.at == AS_BUILT
    assert_allclose(robot.loop_rows(np.zeros(robot.ndof)).error, 0.0, atol=1e-15)
    assert np.abs(robot.loop_rows(robot.initial_q).error).max() > 0.1
    assert "as_built: true" in dump(robot)
    again(robot)


# -- the whole


def test_loops_of_all_kinds_come_back():
    robot = load_text(TEXT, "loops.yaml")
    loops = robot.description.loops
    assert list(loops) == ["tips", "hinge", "sleeve", "screw", "ball", "rocker1_foot", "rocker2_foot"]
    assert loops["hinge"].joint.stiffness == (2.0,)
    assert list(again(robot).description.loops) == list(loops)


def test_the_schema_knows_loops():
    validator = jsonschema.Draft202012Validator(json_schema())
    for text in (TEXT, dump(load_text(TEXT, "loops.yaml"))):
        assert [error.message for error in validator.iter_errors(read_text(text, "loops.yaml").data)] == []
    for wrong in ("{from: arm, to: hand}", "{joint: fixed, from: 3, to: hand}", "{joint: fixed, from: {}, to: hand}"):
        data = read_text(f"{ROBOT}loops: {{it: {wrong}}}\n", "robot.yaml").data
        assert list(validator.iter_errors(data)) != []


@pytest.mark.parametrize("seed", range(8))
def test_random_loops_come_back(seed):
    rng = np.random.default_rng(seed)
    robot = with_random_loops(rng, varied_tree(seed, tendons=False), 7)
    again(robot)
    loops = {
        name: replace(loop, b=Anchor(loop.b.link, s=loop.b.s, at=AS_BUILT))
        for name, loop in robot.description.loops.items()
    }
    again(Robot(replace(robot.description, loops=loops)))


def test_what_has_no_effect_in_a_loop_is_not_written():
    robot = robot_with("  it: {joint: {planar: {axis: [0, 0, 1]}}, from: arm, to: hand}")
    odd = Joint("planar", rest=(1, 2, 3), creep=(1, 2, 3))
    loop = replace(robot.description.loops["it"], joint=odd, a=Anchor("hand", s=0.3), b=Anchor(s=0.3))
    assert "  it: {joint: {planar: {axis: [0, 0, 1]}}, from: hand, to: world}\n" in dump(
        again(Robot(replace(robot.description, loops={"it": loop})))
    )


def test_the_text_of_a_robot_of_several_files_holds_its_loops(tmp_path):
    (tmp_path / "loops.yaml").write_text("loops: {top: {joint: fixed, from: arm, to: hand}}\n")
    own = "loops: {pin: {joint: spherical, from: arm, to: world}}\n"
    (tmp_path / "robot.yaml").write_text(f"include: loops.yaml\n{ROBOT}{own}")
    robot = load(tmp_path / "robot.yaml", set={"loops.top.to": "{link: hand, at: {as_built: true}}"})
    assert robot.loop_names == ("top", "pin")
    assert robot.description.loops["top"].b.at == AS_BUILT
    same(robot, load_text(robot.description.text, "run.h5"))


@pytest.mark.parametrize(
    ("path", "value", "look", "expected"),
    [
        ("loops.it.joint", "spherical", lambda loop: loop.joint, Joint("spherical")),
        ("loops.it.joint.revolute.stiffness", "3 N*cm/rad", lambda loop: loop.joint.stiffness, (0.03,)),
        ("loops.it.joint.revolute.rest", "2*$turn", lambda loop: loop.joint.rest, (1.0,)),
        ("loops.it.from.at.s", 0.25, lambda loop: loop.a.s, 0.25),
        ("loops.it.from", "hand", lambda loop: loop.a.link, "hand"),
        ("loops.it.to.at.as_built", "true", lambda loop: loop.b.at, AS_BUILT),
        ("parameters.turn", "1 rad", lambda loop: loop.joint.rest, (1.0,)),
        ("parameters.end", "hand", lambda loop: loop.a.link, "hand"),
    ],
)
def test_a_loop_is_set_by_its_path_and_by_parameters(tmp_path, path, value, look, expected):
    loop = "{joint: {revolute: {axis: [0, 0, 1], rest: $turn}}, from: {link: $end}, to: {at: {}}}"
    (tmp_path / "robot.yaml").write_text(f"{ROBOT}parameters: {{turn: 0.5, end: arm}}\nloops: {{it: {loop}}}\n")
    robot = load(tmp_path / "robot.yaml", set={path: value})
    assert look(robot.description.loops["it"]) == expected
    same(robot, load_text(robot.description.text, "run.h5"))


# -- motors


def test_motors_in_loops_have_their_units():
    robot = load_text(TEXT, "loops.yaml")
    assert robot.description.actuators == {
        "motor": LoopForce("hinge"), "push": LoopForce("sleeve", "slide"),
        "rocker1_drive": LoopForce("rocker1_foot"), "rocker2_drive": LoopForce("rocker2_foot"),
    }  # fmt: skip
    assert robot.actuator_units == ("N m", "N", "N m", "N m")
    assert robot.description.simulate["u"]["motor"] == ConstantSignal(0.01)
    assert robot.description.statics["u"] == {"motor": 0.01}


@pytest.mark.parametrize(
    ("joint", "along", "unit"),
    [
        ("prismatic: {axis: [0, 0, 1]}", "", "N"),
        ("helical: {axis: [0, 0, 1], pitch: 1}", "", "N m"),
        ("cylindrical: {axis: [0, 0, 1]}", ", along: angle", "N m"),
    ],
)
def test_the_unit_of_a_motor_is_that_of_its_direction(joint, along, unit):
    loop = f"  it: {{joint: {{{joint}}}, from: arm, to: hand}}"
    value = "2 N" if unit == "N" else "2 N*m"
    robot = robot_with(loop, f"actuators: {{m: {{loop: {{loop: it{along}}}}}}}\nsimulate: {{u: {{m: {value}}}}}\n")
    assert robot.actuator_units == (unit,)
    assert again(robot).description.simulate["u"]["m"] == ConstantSignal(2.0)


# -- prefabs


def test_loops_of_parts_are_on_their_links_and_on_their_parent():
    robot = load_text(TEXT, "loops.yaml")
    for i in (1, 2):
        loop = robot.description.loops[f"rocker{i}_foot"]
        assert (loop.a.link, loop.b.link, loop.b.at) == (f"rocker{i}_bar", "slider", AS_BUILT)
        assert loop.joint.stiffness == (2.0 / i,)
        assert_allclose(loop.a.at[0, 3], 0.1)


PART = """\
prefabs:
  leaf:
    links: {stalk: {joint: spherical, body: {mass: 1, inertia: [1, 1, 1]}}}
    loops:
      hook: {joint: fixed, from: stalk, to: END}
      tie: {joint: spherical, from: world, to: stalk}
      out: {joint: spherical, from: stalk, to: arm}
  twig: {links: {bark: {}}, parts: {leaf: {prefab: leaf, at: {position: [0, 0, 1 cm]}}}}
parts:
  twig: {prefab: twig, PARENTat: {position: [2 cm, 0, 0], rotation: {axis: [0, 1, 0], angle: 90 deg}}}
"""


def part_of(end, parent):
    return load_text(ROBOT + PART.replace("END", end).replace("PARENT", parent), "robot.yaml")


@pytest.mark.parametrize("end", ["world", "{link: world}", "{}", "{at: {position: [0, 3 cm, 0]}}"])
@pytest.mark.parametrize("parent", ["", "parent: hand, "])
def test_the_world_of_a_prefab_is_where_its_part_is(end, parent):
    robot = part_of(end, parent)
    loops, on, q = robot.description.loops, "hand" if parent else "world", np.zeros(robot.ndof)
    assert list(loops) == ["twig_leaf_hook", "twig_leaf_tie", "twig_leaf_out"]
    hook, tie, out = loops.values()
    assert (hook.a.link, hook.b.link) == ("twig_leaf_stalk", on)
    assert (tie.a.link, tie.b.link) == (on, "twig_leaf_stalk")
    assert (out.a.link, out.b.link) == ("twig_leaf_stalk", "arm")
    # the stalk begins there, too
    own = np.eye(4)
    own[1, 3] = 0.03 * ("3 cm" in end)
    assert_allclose(end_pose(robot, hook.b, q), robot.pose(q, "twig_leaf_stalk") @ own, atol=1e-16)
    again(robot)


@pytest.mark.parametrize(
    ("place", "s", "frame"), [("arm, at: {s: 0.5, ", 0.5, ""), ("hand, at: {frame: grip, ", 1.0, "grip")]
)
def test_an_end_as_built_in_a_prefab_is_on_the_place_of_its_part(place, s, frame):
    text = PART.replace("END", "{at: {as_built: true}}").replace("PARENTat: {", f"parent: {place}")
    text = text.replace("from: stalk, to: arm}", "from: stalk, to: {link: arm, at: {s: 0.1}}}")
    end = load_text(ROBOT + text, "robot.yaml").description.loops["twig_leaf_hook"].b
    assert (end.link, end.s, end.frame, end.at) == (place.partition(",")[0], s, frame, AS_BUILT)


# -- what is said of them


def test_a_summary_lists_loops(tmp_path):
    robot = robot_with(
        "  top: {joint: fixed, from: {link: arm, at: {s: 0.5}}, to: hand}\n  pin: {joint: spherical, from: arm, to: {}}"
    )
    head, *_, top, pin = robot.summary().split("\n")
    assert head.endswith(", 0 actuators, 2 loops")
    assert (top, pin) == ("  top: fixed loop from arm at s = 0.5 to hand", "  pin: spherical loop from arm to world")
    (tmp_path / "robot.yaml").write_text(dump(robot))
    told = CliRunner().invoke(app, ["info", "--json", str(tmp_path / "robot.yaml")])
    assert json.loads(told.output)["loops"] == ["top", "pin"]
    shown = robot._repr_html_()
    assert "spherical loop from arm to world" in shown


def test_the_doctor_knows_the_forces_of_loops():
    rng = np.random.default_rng(5)
    hinged = Loop(Joint("revolute", stiffness=0.1), Anchor("arm"), Anchor("hand", at=random_pose(rng, 0.1)))
    robot = robot_with("  top: {joint: spherical, from: {link: arm, at: {s: 0.5}}, to: {at: {as_built: true}}}")
    robot = Robot(replace(robot.description, loops={**robot.description.loops, "hinge": hinged}))
    wrong = {finding.where: finding.what for finding in examine(robot) if finding.level == WRONG}
    assert set(wrong) == {"loops"}  # this hinge is somewhere: no state closes both loops
    assert "cannot be closed" in wrong["loops"]


def test_the_error_of_a_ball_is_how_far_its_ends_are_apart():
    robot = load_text(TEXT, "loops.yaml")
    q = 0.1 * np.random.default_rng(0).normal(size=robot.ndof)
    loop = robot.description.loops["ball"]
    apart = inverse(end_pose(robot, loop.b, q)) @ end_pose(robot, loop.a, q)
    assert_allclose(robot.loop_rows(q).error[robot.engine.loop_layout.rows["ball"]], apart[:3, 3], atol=1e-15)
