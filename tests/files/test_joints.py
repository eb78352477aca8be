"""Joints, motors, starts, driven coordinates and changing loads of files: what arrives in the robot, and comes back."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.kinds import JOINT_KINDS
from helpers.robots import arrays_of, varied_tree
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.base.errors import FileError, ModelError
from sorosim.base.registry import JOINTS
from sorosim.base.signals import ConstantSignal, ExpressionSignal, TableSignal
from sorosim.base.signals.expressions import parse
from sorosim.files import dump, json_schema, load, load_text
from sorosim.files.yaml_reader import read_text
from sorosim.mechanics.actuation.joint_force import JointForce
from sorosim.mechanics.lie import exp_so3
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.joints import CREEP, Joint, Limit
from sorosim.mechanics.robot import Robot

HERE = Path(__file__).parent
TEXT = (HERE / "joints.yaml").read_text("utf-8")
DEG = np.pi / 180.0
BODY = "body: {mass: 1, inertia: [1, 1, 1]}"


def robot_with(joint, more=""):
    links = f"""\
  base: {{joint: free, {BODY}}}
  hand: {{parent: base, at: {{position: [0.1, 0, 0.3]}}, joint: {joint}, {BODY}}}
"""
    return load_text(f"sorosim: 1\nlinks:\n{links}{more}", "robot.yaml")


# -- joints


@pytest.mark.parametrize(
    ("text", "joint"),
    [
        ("fixed", Joint()),
        ("spherical", Joint("spherical")),
        ("{spherical: {}}", Joint("spherical")),
        ("free", Joint("free")),
        ("{free: {}}", Joint("free")),
        ("{revolute: {axis: [0, 0, 2]}}", Joint("revolute", axis=(0, 0, 1))),
        ("{revolute: {axis: [0, 0, 1], stiffness: 2 N*m/rad, damping: 0.1 N*m*s/rad, rest: 30 deg, friction: 1 N*cm, "
         "creep: 1 deg/s, limits: {low: -90 deg, high: 1, stiffness: 0.1 kN*m/rad}}}",
         Joint("revolute", stiffness=2, damping=0.1, rest=30 * DEG, friction=0.01, creep=DEG,
               limits=Limit(-90 * DEG, 1.0, stiffness=100))),
        ("{prismatic: {axis: [1, 0, 0], stiffness: 1 N/cm, damping: 1 N*s/cm, rest: 5 mm, friction: 1 mN, "
         "creep: 1 cm/s, limits: {low: -1 mm, stiffness: 1 N/mm}}}",
         Joint("prismatic", axis=(1, 0, 0), stiffness=100, damping=100, rest=0.005, friction=0.001, creep=0.01,
               limits=Limit(-0.001, stiffness=1000))),
        ("{helical: {axis: [1, 0, 0], pitch: 5 mm/rev, stiffness: 3}}",
         Joint("helical", axis=(1, 0, 0), pitch=0.005 / (2 * np.pi), stiffness=3)),
        ("{cylindrical: {axis: [0, 0, 1], stiffness: [2 N*m/rad, 100 N/m], rest: [30 deg, 1 cm]}}",
         Joint("cylindrical", stiffness=(2, 100), rest=(30 * DEG, 0.01))),
        ("{universal: {axis: [0, 1, 0]}}", Joint("universal", axis=(0, 1, 0), second_axis=(1, 0, 0))),
        ("{universal: {axis: [1, 0, 0], second_axis: [0, 0, 3], damping: 1, friction: [1, 2], "
         "limits: [null, {high: 90 deg, stiffness: 1}]}}",
         Joint("universal", axis=(1, 0, 0), second_axis=(0, 0, 1), damping=(1, 1), friction=(1, 2),
               limits=(None, Limit(high=90 * DEG, stiffness=1)))),
        ("{planar: {axis: [0, 1, 0], creep: [1 cm/s, 2 cm/s, 1 deg/s]}}",
         Joint("planar", axis=(0, 1, 0), creep=(0.01, 0.02, DEG))),
        ("{planar: {axis: [0, 1, 0], coordinates: screw}}", Joint("planar", axis=(0, 1, 0), coordinates="screw")),
        ("{free: {coordinates: screw}}", Joint("free", coordinates="screw")),
        ("{free: {coordinates: position}}", Joint("free")),
        ("{free: {damping: [1, 1, 1 N*s/m, 2, 2, 3]}}", Joint("free", damping=(1, 1, 1, 2, 2, 3))),
    ],
)  # fmt: skip
def test_a_joint_is_the_one_of_python(text, joint):
    robot = robot_with(text)
    assert robot.links[1].joint == joint
    assert load_text(dump(robot), "dump.yaml").links[1].joint == joint


def test_words_are_joints_without_anything_in_them():
    for word in ("spherical", "free"):
        assert f"joint: {word}" in dump(robot_with(f"{{{word}: {{}}}}"))
    for kind in JOINT_KINDS[1:]:
        required = [f"{one.name}: {one.example}" for one in JOINTS.get(kind).declaration().values() if one.required]
        joint = robot_with(f"{{{kind}: {{{', '.join(required)}}}}}").links[1].joint
        assert (joint.kind, joint.creep) == (kind, tuple(CREEP[d] for d in joint.dimensions))


# -- the whole


def same(a, b):
    assert a.coordinate_names == b.coordinate_names
    for x, y in zip(arrays_of(a), arrays_of(b), strict=True):
        assert_array_equal(x, y)
    assert_array_equal(a.initial_q, b.initial_q)
    assert_array_equal(a.initial_qd, b.initial_qd)
    for name in ("loads", "simulate", "statics"):
        assert repr(getattr(a.description, name)) == repr(getattr(b.description, name))


def test_joints_of_all_kinds_come_back():
    robot = load_text(TEXT, "joints.yaml")
    assert {link.joint.kind for link in robot.links} == set(JOINT_KINDS)
    again = load_text(dump(robot), "dump.yaml")
    same(robot, again)
    assert robot.description.actuators == again.description.actuators
    assert dump(again) == dump(robot)


def test_the_schema_knows_joints_of_all_kinds():
    import jsonschema

    validator = jsonschema.Draft202012Validator(json_schema())
    for text in (TEXT, dump(load_text(TEXT, "joints.yaml"))):
        assert [error.message for error in validator.iter_errors(read_text(text, "joints.yaml").data)] == []


def test_a_result_stands_alone(tmp_path):
    (tmp_path / "wind.csv").write_text("0,0\n1,2\n3,1\n")
    (tmp_path / "joints.yaml").write_text(TEXT.replace("1 N*sin(t)", "{csv: wind.csv}"))
    robot = load(tmp_path / "joints.yaml")
    run = sorosim.simulate(robot, 0.02)
    run.save(tmp_path / "run.h5")
    (tmp_path / "wind.csv").unlink()
    (tmp_path / "joints.yaml").unlink()
    again = sorosim.open(tmp_path / "run.h5").robot
    same(robot, again)
    assert again.description.loads["wind"].wrench[3] == TableSignal(np.array([0.0, 1, 3]), np.array([0.0, 2, 1]))


@pytest.mark.parametrize("seed", range(8))
def test_random_robots_come_back_with_limits_starts_and_signals(seed):
    rng = np.random.default_rng(seed)
    robot = varied_tree(seed, tendons=False)

    def limits(joint):
        return tuple(
            None if rng.random() < 0.5 else Limit(-rng.random(), stiffness=1 + rng.random()) for _ in range(joint.n)
        )

    names = robot.coordinate_names
    links = tuple(
        replace(link, joint=replace(link.joint, limits=limits(link.joint)) if link.joint.n else link.joint)
        for link in robot.links
    )
    table = TableSignal(np.array([0.0, 1, 3]), rng.normal(size=3), "cubic")
    push = Wrench(links[-1].name, moment=(0, "2*t", 0), force=(table, rng.normal(), 0), frame="body")
    motors = {f"motor{i}{k}": JointForce(link.name, end.partition(".")[2])
              for i, link in enumerate(links) for k, end in enumerate(link.joint.names)}  # fmt: skip
    made = Robot(replace(
        robot.description, links=links, loads={"push": push}, actuators=motors,
        initial=dict(zip(names[::2], rng.normal(size=len(names[::2])), strict=True)),
        initial_rates=dict(zip(names[::3], rng.normal(size=len(names[::3])), strict=True)),
    ))  # fmt: skip
    again = load_text(dump(made), "dump.yaml")
    same(made, again)
    assert again.description.loads == made.description.loads
    assert again.description.actuators == motors
    for name in ("initial", "initial_rates"):
        assert getattr(again.description, name) == getattr(made.description, name)


def test_the_robot_of_all_joints_moves_and_rests():
    robot = load_text(TEXT, "joints.yaml")
    run = sorosim.simulate(robot, 0.05)
    assert_array_equal(run.q[0, 7:], robot.initial_q[7:])
    column = robot.coordinate_names.index("cart.prismatic")
    assert_allclose(run.q[:, column], 0.05 * np.sin(run.t), atol=1e-12)


# -- motors


def test_motors_arrive_in_the_robot():
    robot = load_text(TEXT, "joints.yaml")
    motors = {name: motor for name, motor in robot.description.actuators.items() if isinstance(motor, JointForce)}
    assert motors == {
        "screw": JointForce("nut"),
        "twist": JointForce("ball", "rx"),
        "push": JointForce("sleeve", "slide"),
    }
    block = robot.description.simulate["u"]
    assert block["screw"] == ConstantSignal(0.01)
    assert_allclose(block["twist"].value(1.0), 0.01 * np.sin(1.0))
    B = robot.internal_force_derivatives(robot.initial_q, robot.initial_qd).B
    assert_array_equal(B[robot.coordinate_names.index("nut.helical")], [1.0, 0.0, 0.0, 0.0])


def test_a_motor_of_a_prefab_drives_the_joint_of_its_part():
    robot = load_text(f"""\
sorosim: 1
prefabs:
  finger:
    links:
      knuckle: {{joint: {{revolute: {{axis: [0, 0, 1]}}}}, {BODY}}}
      tip: {{parent: knuckle, joint: spherical, {BODY}}}
    actuators:
      bend: {{joint: {{link: knuckle}}}}
      turn: {{joint: {{link: tip, along: rz}}}}
    loads:
      push: {{wrench: {{link: tip, force: ["t*$i", 0, 0]}}}}
parts:
  f: {{prefab: finger, repeat: 2}}
""", "hand.yaml")  # fmt: skip
    assert robot.description.actuators == {
        "f1_bend": JointForce("f1_knuckle"), "f1_turn": JointForce("f1_tip", "rz"),
        "f2_bend": JointForce("f2_knuckle"), "f2_turn": JointForce("f2_tip", "rz"),
    }  # fmt: skip
    assert robot.description.loads["f2_push"].wrench[3].value(3.0) == 6.0


# -- where it starts


def test_values_and_rates_of_coordinates():
    initial = """\
initial:
  hand.cylindrical.angle: {value: 30 deg, rate: 2 rad/s}
  hand.cylindrical.slide: {rate: 3 cm/s}
  base.free.tz: 3 cm
"""
    robot = robot_with("{cylindrical: {axis: [0, 0, 1]}}", initial)
    assert robot.description.initial == {"hand.cylindrical.angle": 30 * DEG, "base.free.tz": 0.03}
    assert robot.description.initial_rates == {"hand.cylindrical.angle": 2.0, "hand.cylindrical.slide": 0.03}
    assert_allclose(robot.initial_q[-2:], [30 * DEG, 0.0])
    assert_allclose(robot.initial_qd[-2:], [2.0, 0.03])


def number_list(values):
    return "[" + ", ".join(repr(float(x)) for x in values) + "]"


@pytest.mark.parametrize(
    ("kind", "chart"),
    [("spherical", ""), *((kind, chart) for kind in ("free", "planar") for chart in ("position", "screw"))],
)
@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.3, 1.0, 3.0, 180 * DEG, -2.0])
def test_a_robot_starts_in_the_pose_and_motion_of_its_file(kind, chart, angle):
    rng = np.random.default_rng(int(100 * abs(angle)))
    normal = np.array([2.0, -1.0, 2.0]) / 3.0
    axis, p, v, w = rng.normal(size=(4, 3))
    joint = kind if not chart else f"{{{kind}: {{coordinates: {chart}}}}}"
    if kind == "planar":
        joint = f"{{planar: {{axis: [2, -1, 2], coordinates: {chart}}}}}"
        axis, w = normal, 0.7 * normal
        p, v = (x - (x @ normal) * normal for x in (p, v))
    elif kind == "spherical":
        p, v = np.zeros((2, 3))
    axis = axis / np.linalg.norm(axis)
    pose = f"{{position: {number_list(p)}, rotation: {{axis: {number_list(axis)}, angle: {angle!r}}}, "
    pose += f"velocity: {number_list(v)}, angular_velocity: {number_list(w)}}}"
    base = "base: {position: [0.3, 0.2, -0.1], rotation: {rpy: [1, 2, 3]}}"
    robot = robot_with(joint, f"initial:\n  {base}\n  hand: {pose}\n")
    q, qd = robot.initial_q, robot.initial_qd

    # from the joint's frame on its parent
    fixed = robot.pose(q, "base") @ robot.links[1].at
    g = np.linalg.solve(fixed, robot.pose(q, "hand"))
    R = exp_so3(angle * axis)
    assert_allclose(g[:3, :3], R, atol=1e-14)
    assert_allclose(g[:3, 3], p, atol=1e-14)
    twist = robot.jacobian(q, "hand") @ qd  # the base rests
    assert_allclose(R @ twist[:3], w, atol=1e-13)
    assert_allclose(R @ twist[3:], v, atol=1e-13)
    turned = {"spherical": q[6:9], "planar": q[8:9], "free": q[9:]}[kind]
    assert np.linalg.norm(turned) <= np.pi + 1e-14
    if chart == "position":
        along = robot.links[1].joint.stages[0].columns[:, 3:]
        assert_allclose(q[6 : 6 + len(along)] @ along, p, atol=1e-14)


def test_velocities_alone_start_at_the_origin():
    robot = load_text(TEXT, "joints.yaml")
    names = [f"ball.spherical.{end}" for end in ("rx", "ry", "rz")]
    assert [robot.description.initial[name] for name in names] == [0.0, 0.0, 0.0]
    assert_allclose([robot.description.initial_rates[name] for name in names], [0.0, np.pi / 2, 0.0])
    assert "palm.free.tx" in robot.description.initial_rates


# -- driven coordinates


def test_driven_coordinates_by_link_and_by_name():
    driven = load_text(TEXT, "joints.yaml").description.simulate["driven"]
    assert list(driven) == ["cart", "cross.universal.first"]
    assert_allclose(driven["cart"].value(0.5), 0.05 * np.sin(0.5))
    assert_allclose(driven["cross.universal.first"].value(0.5), 5 * DEG)
    robot = load_text(TEXT.replace("cart: 5 cm*sin(t)", "'finger.bending_y[0]': 0.1*t"), "joints.yaml")
    assert robot.description.simulate["driven"]["finger.bending_y[0]"].value(1.0) == 0.1


def test_a_long_table_of_a_motion_opens_without_its_file(tmp_path):
    (tmp_path / "way.csv").write_text("".join(f"{k},{k % 7}\n" for k in range(6000)))
    text = TEXT.replace("cart: 5 cm*sin(t)", "cart: {csv: way.csv, interpolation: cubic}")
    (tmp_path / "joints.yaml").write_text(text)
    kept = load(tmp_path / "joints.yaml").description.text
    (tmp_path / "way.csv").unlink()
    with pytest.raises(FileError, match="is not kept in result files"):
        load_text(kept, "run.h5").description.simulate["driven"]["cart"].value(0.0)


# -- loads that change


def test_wrenches_may_change_in_time():
    robot = load_text(TEXT, "joints.yaml")
    wrench = robot.description.loads["wind"].wrench
    assert wrench[:2] == (0.0, 0.0)
    assert wrench[2] == TableSignal(np.array([0.0, 1, 2]), np.array([0.0, 0.01, 0]))
    assert wrench[3] == ExpressionSignal(parse("1 N*sin(t)", ["t"], lambda unit: 1.0))
    assert wrench[4:] == (0.0, 2.0)


def test_a_python_function_as_a_load_cannot_be_written():
    robot = robot_with("free").with_loads(push=Wrench("hand", force=(lambda t: t, 0, 0)))
    with pytest.raises(ModelError) as caught:
        dump(robot)
    assert str(caught.value) == (
        "loads.push.wrench.force[0]: expected a number, an expression of t or a table, got CallableSignal; "
        "the format of files has nothing else; keep it in Python"
    )
