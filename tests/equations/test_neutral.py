"""Motions that no force opposes: neutral ones are told from critical and from unstable ones."""

import numpy as np
import pytest
from scipy.optimize import brentq

import sorosim
from sorosim.analysis.equations.neutral import STEP, _within_play
from sorosim.files import load_text
from sorosim.studies.doctor import examine

ROPE = """\
sorosim: 1
name: rope
materials: {rubber: {young: 1 MPa, poisson: 0.5, density: 1000, damping: 10 kPa*s}}
links:
  rope:
    joint: spherical
    rod:
      {length: 1 m, section: {circle: {radius: 5 mm}}, material: rubber, strain: {torsion: 0, bending: 2}, divisions: 4}
loops:
  end: {joint: spherical, from: rope, to: {at: {position: [80 cm, 0, 0]}}}
initial:
  rope: {through: [[0, 0, 0], [80 cm, 0, 0]]}
"""
COLUMN = """\
sorosim: 1
name: column
gravity: [0, 0, 0]
materials: {rubber: {young: 1 MPa, poisson: 0.5, density: 1000, damping: 10 kPa*s}}
links:
  arm:
    joint: JOINT
    rod: {length: 1 m, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 4}}
loads:
  tip: {wrench: {link: arm, force: [FORCE, 0, 0]}}
"""


def column(force, joint="fixed"):
    return load_text(COLUMN.replace("FORCE", repr(force)).replace("JOINT", joint), "column.yaml")


def critical_load():
    """Where the least stiffness of the column is zero, beside Euler's load."""
    euler = np.pi**2 * 1e6 * np.pi * 0.01**4 / 16.0

    def least(force):
        robot = column(-force)
        return np.linalg.eigvalsh(robot.linearize(np.zeros(robot.ndof)).K)[0]

    return brentq(least, 0.9 * euler, 1.1 * euler, xtol=1e-18)


def test_a_rope_between_ball_joints_spins_about_itself():
    found = sorosim.statics(load_text(ROPE, "rope.yaml"))
    assert found.stable
    assert found.stability == "neutral"
    assert [one.goes_on for one in found.neutral_motions] == [True]
    # no point of its centreline moves, all sections turn
    motion = found.neutral_motions[0].shape
    J = np.array([found.robot.jacobian(found.q, "rope", s=s) for s in (0.25, 0.5, 0.75)]) @ motion
    assert np.abs(J[:, 3:]).max() < 1e-6 * np.linalg.norm(J[:, :3], axis=1).min()


def test_a_column_under_its_critical_load_is_not_neutral():
    found = sorosim.statics(column(-critical_load()))
    assert found.stability == "neutral"  # to first order
    assert [one.goes_on for one in found.neutral_motions] == [False, False]
    assert {one.name for one in found.neutral_motions} == {"arm.bending_y[0]", "arm.bending_z[0]"}
    codes = [one.code for one in examine(found.robot)]
    assert codes.count("equilibrium.critical") == 2


def test_beside_that_load_nothing_is_neutral():
    load = critical_load()
    below = sorosim.statics(column(-0.99 * load))
    assert (below.stability, below.neutral_motions) == ("stable", ())
    above = sorosim.statics(column(-1.01 * load), stable=False)
    assert above.stability == "unstable (divergence)"
    assert above.neutral_motions == ()


def test_a_free_body_without_gravity_goes_on_in_six_ways():
    found = sorosim.statics(column(0.0, "free"))
    assert [one.goes_on for one in found.neutral_motions] == [True] * 6
    names = {one.name for one in found.neutral_motions}
    assert names == {f"arm.free.{name}" for name in ("rx", "ry", "rz", "tx", "ty", "tz")}


@pytest.mark.parametrize("text", [ROPE, COLUMN.replace("FORCE", "0").replace("JOINT", "{revolute: {axis: [1, 0, 0]}}")])
def test_the_doctor_names_what_nothing_holds(text):
    robot = load_text(text, "robot.yaml")
    words = [one.what for one in examine(robot) if one.code == "equilibrium.found"]
    assert len(words) == 1
    assert "anywhere that it drifts to: nothing holds" in words[0]


def between_walls(*gaps):
    """A ball on a slider along x, walls at these distances from its surface, to the right and to the left."""
    loads = {
        name: {"contact": {"between": "ball", "stiffness": 1e5, "and": {
            "half_space": {}, "at": {"position": [side * (0.05 + gap), 0, 0],
                                     "rotation": {"axis": [0, 1, 0], "angle": -side * np.pi / 2}}}}}
        for name, side, gap in zip(("right", "left"), (1.0, -1.0), gaps, strict=False)
    }  # fmt: skip
    ball = {"joint": {"prismatic": {"axis": [1, 0, 0]}}, "body": {"sphere": {"radius": 0.05}, "mass": 0.3}}
    return sorosim.load({"sorosim": 1, "name": "ball", "gravity": [0, 0, 0], "links": {"ball": ball}, "loads": loads})


@pytest.mark.parametrize("gap", [0.1, 2e-2, 3e-3, 5e-4])
def test_a_ball_between_two_walls_moves_freely_as_far_as_they_are(gap):
    robot = between_walls(gap, gap)
    step = _within_play(robot, np.zeros(1), np.array([STEP]))
    # halved until it fits, so more than half of the play is used
    assert min(0.5 * gap, STEP) <= abs(step[0]) <= min(gap, STEP)
    assert robot.contacts(step).n == 0
    (motion,) = sorosim.statics(robot).neutral_motions
    assert motion.goes_on


@pytest.mark.parametrize(("gaps", "side"), [((3e-3, 1.0), -1.0), ((1.0, 3e-3), 1.0)])
def test_play_is_looked_for_on_the_side_where_no_wall_is(gaps, side):
    robot = between_walls(*gaps)
    assert _within_play(robot, np.zeros(1), np.array([STEP]))[0] == side * STEP
    (motion,) = sorosim.statics(robot).neutral_motions
    assert motion.goes_on


def test_a_step_through_a_thin_wall_is_none_within_the_play():
    """A ball that would be beyond a plate at the end of the step has touched it on the way."""
    robot = sorosim.load({
        "sorosim": 1, "name": "ball", "gravity": [0, 0, 0],
        "links": {"ball": {"joint": {"prismatic": {"axis": [1, 0, 0]}},
                           "body": {"sphere": {"radius": 0.002}, "mass": 0.3}}},
        "loads": {name: {"contact": {"between": "ball", "stiffness": 1e5, "and": {
            "box": {"size": [2e-3, 0.1, 0.1]}, "at": {"position": [x, 0, 0]}}}}
            for name, x in (("right", 0.0125), ("left", -0.0125))},
    })  # fmt: skip
    assert robot.contacts(np.array([STEP])).n == 0  # beyond it
    step = _within_play(robot, np.zeros(1), np.array([STEP]))
    assert 0.0 < abs(step[0]) < 0.0125


def test_a_ball_without_play_has_the_step_that_was_asked_for():
    robot = between_walls(0.0, 0.0)
    step = np.array([STEP])
    assert np.array_equal(_within_play(robot, np.zeros(1), step), step)
