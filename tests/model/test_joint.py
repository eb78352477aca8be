"""Joints: what they are made of, which mistakes they refuse, and their coordinates."""

import numpy as np
import pytest
from helpers.kinds import COORDINATES, JOINT_KINDS, oblique

from sorosim.base.errors import ModelError
from sorosim.mechanics.actuation.joint_force import JointForce
from sorosim.mechanics.constraints.loop import Loop
from sorosim.mechanics.lie import exp_se3, exp_so3, hat
from sorosim.mechanics.model.anchor import Anchor
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.chart import (
    angle,
    coordinates_of,
    joint_jacobian,
    pose_of,
    rates_of,
    recharted,
    twist_matrix,
)
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint, Limit
from sorosim.mechanics.model.link import Link, ordered_links
from sorosim.mechanics.robot import Robot

CHARTS = [
    ("spherical", {}),
    *((kind, {"coordinates": coordinates}) for kind in ("planar", "free") for coordinates in ("position", "screw")),
]


@pytest.mark.parametrize("kind", JOINT_KINDS)
def test_twists_of_stages_are_orthonormal_and_of_the_named_dimension(kind):
    joint = oblique(kind)
    twists = np.concatenate([stage.columns for stage in joint.stages])
    assert len(twists) == joint.n == len(joint.names) == len(joint.dimensions)
    for twist, dimension in zip(twists, joint.dimensions, strict=True):
        head, tail = np.linalg.norm(twist[:3]), np.linalg.norm(twist[3:] - joint.pitch * twist[:3])
        assert (head, tail) == pytest.approx((1.0, 0.0) if dimension == "angle" else (0.0, 1.0), abs=1e-15)
    for stage in joint.stages:
        if joint.pitch == 0.0:
            np.testing.assert_allclose(stage.columns @ stage.columns.T, np.eye(len(stage.columns)), atol=1e-15)


@pytest.mark.parametrize("kind", [kind for kind in JOINT_KINDS if kind != "fixed"])
def test_motions_of_a_stage_commute_exactly_if_it_says_so(kind):
    for stage in oblique(kind).stages:
        brackets = [hat(a) @ hat(b) - hat(b) @ hat(a) for a in stage.columns for b in stage.columns]
        assert (np.abs(brackets).max() < 1e-15) == stage.commutes


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (1, -2, 3), (1e-9, 0, -1)])
def test_directions_of_a_planar_joint_are_right_handed(axis):
    P = np.vstack([stage.columns for stage in Joint("planar", axis=axis).stages])
    np.testing.assert_allclose(np.cross(P[0, 3:], P[1, 3:]), P[2, :3], atol=1e-15)
    if axis == (0, 0, 1):
        np.testing.assert_array_equal(P[:2, 3:], np.eye(3)[:2])


def test_values_are_one_or_one_for_each_coordinate():
    joint = Joint("cylindrical", stiffness=(2.0, 100.0), rest=(0.5, 0.1), friction=(0.0, 3.0))
    assert (joint.stiffness, joint.rest, joint.friction) == ((2.0, 100.0), (0.5, 0.1), (0.0, 3.0))
    assert joint.creep == (1e-2, 1e-3)
    assert Joint("spherical", damping=0.2).damping == (0.2, 0.2, 0.2)
    assert Joint("revolute", limits=Limit(-1.0, 1.0, stiffness=5.0)).limits == (Limit(-1.0, 1.0, stiffness=5.0),)
    assert Joint("universal", axis=(0, 1, 0)).second_axis == (1.0, 0.0, 0.0)


STOP = Limit(0.0, 1.0, stiffness=1.0)
WRONG = [
    (lambda: Joint("ball"), "joint: expected a kind of joint, got 'ball'; known: "),
    (lambda: Joint("revolute", axis=(0, 0, 0)), "revolute.axis: expected a direction of some length, got [0, 0, 0]"),
    (lambda: Joint("prismatic", through=(0, 1, 0)),
     "prismatic: expected a key of a prismatic joint, got 'through'; known: axis, stiffness, damping, rest, armature, "
     "friction, creep, limits"),
    (lambda: Joint("revolute", through=(0, 1)), "revolute.through: expected a list of 3, each a length, got [0, 1]"),
    (lambda: Joint("universal", axis=(0, 0, 1), second_axis=(0, 0, -2)),
     "universal.second_axis: expected an axis not parallel to the first, got [0, 0, -1]"),
    (lambda: Joint("revolute", second_axis=(1, 0, 0)),
     "revolute: expected a key of a revolute joint, got 'second_axis'; known: axis, through, stiffness, damping, rest, "
     "armature, friction, creep, limits"),
    (lambda: Joint("free", stiffness=1.0),
     "free.stiffness: expected a list of 6, one for each coordinate (tx, ty, tz, rx, ry, rz), got 1; for instance "
     "[100 N/m, 100 N/m, 100 N/m, 2 N*m/rad, 2 N*m/rad, 2 N*m/rad]"),
    (lambda: Joint("universal", damping=(1.0,)),
     "universal.damping: expected a list of 2, one for each coordinate (first, second), got [1]; for instance "
     "[0.1 N*m*s/rad, 0.1 N*m*s/rad]"),
    (lambda: Joint("revolute", friction=-1.0), "revolute.friction: expected a moment of 0 or more, got -1"),
    (lambda: Joint("revolute", creep=0.0), "revolute.creep: expected an angular speed greater than 0, got 0"),
    (lambda: Joint("fixed", friction=1.0),
     "fixed: expected a key of a fixed joint, got 'friction'; a fixed joint does not move"),
    (lambda: Joint("fixed", limits=STOP),
     "fixed: expected a key of a fixed joint, got 'limits'; a fixed joint does not move"),
    (lambda: Joint("universal", limits=STOP),
     "universal.limits: expected a list of 2, one for each coordinate (first, second), got Limit; null where there is "
     "none"),
    (lambda: Limit(1.0, 1.0, stiffness=1.0), "limits.high: expected an end above low = 1, got 1"),
    (lambda: Limit(0.0, stiffness=0.0), "limits.stiffness: expected a number greater than 0, got 0"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), WRONG, ids=[message[:40] for _, message in WRONG])
def test_wrong_joints_are_refused(make, message):
    with pytest.raises(ModelError) as caught:
        make()
    assert str(caught.value).startswith(message)


# -- exponential coordinates


@pytest.mark.parametrize(("kind", "options"), CHARTS)
def test_poses_and_rates_are_those_of_their_coordinates(kind, options, rng):
    joint, P = oblique(kind, **options), oblique(kind, **options).stages[-1].columns
    for _ in range(20):
        q, qd = rng.normal(size=joint.n), rng.normal(size=joint.n)
        q *= min(1.0, 3.0 / angle(P, q[joint.stages[-1].own]))
        np.testing.assert_allclose(coordinates_of(joint, pose_of(joint, q)), q, atol=1e-13)
        h, eta = 1e-5, joint_jacobian(joint, q) @ qd
        slope = np.linalg.inv(pose_of(joint, q)) @ (pose_of(joint, q + h * qd) - pose_of(joint, q - h * qd)) / (2 * h)
        np.testing.assert_allclose(slope, hat(eta), atol=1e-8)
        np.testing.assert_allclose(rates_of(joint, q, eta), qd, atol=1e-12)


def test_the_position_of_a_free_joint_is_where_it_is_however_it_is_turned(rng):
    joint, q = Joint("free"), rng.normal(size=6)
    np.testing.assert_array_equal(pose_of(joint, q)[:3, 3], q[:3])
    np.testing.assert_allclose(pose_of(joint, q)[:3, :3], exp_so3(q[3:]), atol=1e-15)


@pytest.mark.parametrize(("kind", "options"), [one for one in CHARTS if one != ("planar", {"coordinates": "position"})])
def test_coordinates_a_turn_away_are_of_the_same_pose_and_twist(kind, options, rng):
    P = oblique(kind, **options).stages[-1].columns
    for size in (0.5, 3.1, 3.2, 3.77, 5.0, 8.0, 15.0):
        q, qd = rng.normal(size=len(P)), rng.normal(size=len(P))
        q *= size / angle(P, q)
        other, rates = recharted(P, q, qd)
        assert angle(P, other) <= np.pi + 1e-12
        assert (size < np.pi) == np.array_equal(q, other)
        np.testing.assert_allclose(exp_se3(other @ P), exp_se3(q @ P), atol=1e-13)
        np.testing.assert_allclose(twist_matrix(P, other) @ rates, twist_matrix(P, q) @ qd, atol=1e-13)


def test_poses_and_motions_that_a_joint_cannot_take_are_refused():
    for coordinates in ("position", "screw"):
        joint = Joint("planar", coordinates=coordinates)
        for twist in ([0.1, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 1e-3]):
            with pytest.raises(ModelError, match="a pose that the joint can take"):
                coordinates_of(joint, exp_se3(np.array(twist)))
        with pytest.raises(ModelError, match="a motion that the joint allows"):
            rates_of(joint, np.zeros(3), np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0]))


@pytest.mark.parametrize(
    ("joint", "turns"),
    [
        (Joint("revolute", axis=(1, 2, 3), through=(0.1, 0.2, -0.3)), (0,)),
        (Joint("prismatic"), ()),
        (Joint("helical", pitch=1e-3), ()),
        (Joint("cylindrical"), (0,)),
        (Joint("universal", axis=(1, 0, 0)), (0, 1)),
        (Joint("planar"), (2,)),
        (Joint("planar", coordinates="screw"), ()),
        (Joint("planar", stiffness=(0.0, 0.0, 1.0)), ()),
        (Joint("planar", stiffness=(1.0, 0.0, 0.0)), (2,)),
        (Joint("spherical"), ()),
        (Joint("free"), ()),
    ],
)
def test_turns_about_a_fixed_axis_make_no_difference_where_nothing_counts_them(joint, turns):
    assert joint.free_turns == turns


def test_a_link_on_itself_says_so():
    links = (Link("a", None), Link("b", None, parent="b"))
    with pytest.raises(ModelError) as caught:
        ordered_links(links)
    assert str(caught.value) == (
        "links.b.parent: expected another link of this robot or 'world', got 'b', the link itself; a link that hangs "
        "on nothing has the parent 'world'"
    )


@pytest.mark.parametrize("kind", ["cylindrical", "universal", "planar", "spherical", "free"])
def test_a_motor_is_along_the_last_word_of_a_name(kind):
    links = (Link("a", RigidBody(1.0, inertia=(1.0, 1.0, 1.0)), joint=Joint(kind)),)
    robot = Robot(Description("one", links))
    layout, words = robot.engine.layout, [word for word, _ in COORDINATES[kind]]
    assert [JointForce("a", word).index(layout) for word in words] == list(range(len(words)))
    assert all(f"``{word}``" in JointForce.__doc__ for word in words)
    with pytest.raises(ModelError) as caught:
        Robot(Description("one", links, actuators={"motor": JointForce("a", f"{kind}.{words[0]}")}))
    known = ", ".join(words)
    assert str(caught.value) == (
        f"actuators.motor.along: expected one of {known}, got '{kind}.{words[0]}'; known: {known}"
    )


def test_stages_have_a_twist_for_each_coordinate():
    class Wheel(type(Joint("prismatic"))):
        stages = property(lambda self: 2 * super().stages)

    body = RigidBody(1.0, inertia=(1.0, 1.0, 1.0))
    with pytest.raises(ModelError, match="expected stages with 1 twists in all, one for each coordinate, got 2"):
        Robot(Description("wheel", (Link("wheel", body, joint=Wheel()),)))


def test_a_loop_has_no_coordinates_to_choose():
    with pytest.raises(ModelError, match=r"^loop\.joint\.coordinates: expected no choice of coordinates in a loop"):
        Loop(Joint("planar", coordinates="screw"), Anchor("a"), Anchor())
