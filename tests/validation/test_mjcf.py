"""Robots from MJCF files against MuJoCo's own dynamics of the same files."""

import re
from importlib.util import find_spec
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


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("MJCF against MuJoCo"))


def check(agrees, kind, ours, theirs):
    WORST.note(kind, relative_error(ours, theirs))
    agrees(f"robots from MJCF: {kind}", ours, theirs, rtol=AGREE, source="MuJoCo, from the same files")


def compare(agrees, path, settings, seed):
    """Mass matrix, forces and poses of all bodies and sites, at random states."""
    robot = sorosim.load(path, set=settings)
    other, rng = MujocoRobot(robot, path), np.random.default_rng(seed)
    for _ in range(5):
        q, qd, qdd = rng.uniform(-1.0, 1.0, (3, robot.ndof))
        tau, force = robot.inverse_dynamics(q, qd, qdd=qdd), robot.internal_force(q, qd)
        check(agrees, "mass matrix", robot.mass_matrix(q), other.mass_matrix(q))
        check(agrees, "inverse dynamics", tau - force, other.inverse_dynamics(q, qd, qdd))
        check(agrees, "springs and dampers", force, other.passive(q, qd))
        for link in robot.links:
            for own, g in {link.name: np.eye(4), **link.frames}.items():
                if kind := other.kind_of(own):
                    check(agrees, "poses", robot.pose(q, link.name) @ g, other.pose(q, kind, own))
    return robot


@pytest.mark.parametrize(("name", "ndof"), [("arm", 5), ("balls", 11), ("walker", 16), ("meshes", 3), ("cart", 3)])
def test_own_files(agrees, name, ndof):
    # friction and what holds a joint that mimics are constraints there
    friction = {"links.column.joint.revolute.friction": 0.0} if name == "arm" else {}
    assert compare(agrees, DATA / f"{name}.xml", {"import.mimic": "free", **friction}, seed=ndof).ndof == ndof


GYMNASIUM = ("ant", "half_cheetah", "hopper", "humanoid", "inverted_double_pendulum", "pusher_v5", "swimmer")


@pytest.mark.parametrize("name", GYMNASIUM)
def test_robots_of_gymnasium(agrees, name, tmp_path):
    found = find_spec("gymnasium")
    if found is None:
        pytest.skip("the extra gym is not installed")
    text = (Path(found.origin).parent / "envs" / "mujoco" / "assets" / f"{name}.xml").read_text("utf-8")
    # what cannot be imported
    path = tmp_path / f"{name}.xml"
    path.write_text(re.sub(r"""(density|viscosity|settotalmass)=["'][^"']*["']""", "", text), encoding="utf-8")
    compare(agrees, path, {"import.without": "[actuators, sensors]"}, seed=1)
