"""Robots from MJCF files against MuJoCo's own dynamics of the same files."""

from pathlib import Path

import numpy as np
import pytest
from helpers.differences import Worst, relative_error

pytest.importorskip("mujoco", reason="the extra mjcf is not installed")
from helpers.mujoco_model import MujocoRobot

import sorosim

DATA = Path(__file__).parents[1] / "data" / "mjcf"
WORST = Worst()
AGREE = 1e-12
# friction and what holds a joint that mimics are constraints there
SETTINGS = {"import.mimic": "free"}


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("MJCF against MuJoCo"))


def check(agrees, kind, ours, theirs):
    WORST.note(kind, relative_error(ours, theirs))
    agrees(f"robots from MJCF: {kind}", ours, theirs, rtol=AGREE, source="MuJoCo, from the same files")


@pytest.mark.parametrize(("name", "ndof"), [("arm", 5), ("balls", 11), ("walker", 16), ("meshes", 3), ("cart", 3)])
def test_own_files(agrees, name, ndof):
    path = DATA / f"{name}.xml"
    friction = {"links.column.joint.revolute.friction": 0.0} if name == "arm" else {}
    robot = sorosim.load(path, set=SETTINGS | friction)
    other, rng = MujocoRobot(robot, path), np.random.default_rng(ndof)
    assert robot.ndof == ndof
    for _ in range(5):
        q, qd, qdd = rng.uniform(-1.0, 1.0, (3, ndof))
        tau, force = robot.inverse_dynamics(q, qd, qdd=qdd), robot.internal_force(q, qd)
        check(agrees, "mass matrix", robot.mass_matrix(q), other.mass_matrix(q))
        check(agrees, "inverse dynamics", tau - force, other.inverse_dynamics(q, qd, qdd))
        check(agrees, "springs and dampers", force, other.passive(q, qd))
        for link in robot.links:
            for own, g in {link.name: np.eye(4), **link.frames}.items():
                kind = other.kind_of(own)
                if kind:
                    check(agrees, "poses", robot.pose(q, link.name) @ g, other.pose(q, kind, own))
