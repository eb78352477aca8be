"""Motions that no force opposes: neutral ones are told from critical and from unstable ones."""

import numpy as np
import pytest
from scipy.optimize import brentq

import sorosim
from sorosim.doctor import examine
from sorosim.io import load_text

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
