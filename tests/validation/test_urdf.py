"""Robots from URDF files against what Pinocchio reads in the same files."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers.differences import Worst, relative_error

pytest.importorskip("yourdfpy", reason="the extra urdf is not installed")
from helpers.pinocchio_urdf import PinocchioUrdf
from helpers.real_robots import MISSING, robot_data

import sorosim

DATA = Path(__file__).parents[1] / "data" / "urdf"
WORST = Worst()
# poses in chains of up to fifty links, inertias of links that are fixed to each other summed in another order
AGREE = 1e-11


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("URDF against Pinocchio"))


def check(agrees, kind, ours, theirs):
    WORST.note(kind, relative_error(ours, theirs))
    agrees(f"robots from URDF: {kind}", ours, theirs, rtol=AGREE, source="Pinocchio, from the same files")


def compare(agrees, path, seed, *, free=False, settings=None):
    """Mass matrix, inverse dynamics, its derivatives and poses of all links, at random states."""
    robot = sorosim.load(path, set={"import.joint": "free" if free else "fixed", **(settings or {})})
    other, rng = PinocchioUrdf(robot, path, free), np.random.default_rng(seed)
    for _ in range(3):
        q, qd, qdd = rng.uniform(-1.0, 1.0, (3, robot.ndof))
        ours, theirs = (r.inverse_dynamics_derivatives(q, qd, qdd=qdd) for r in (robot, other))
        check(agrees, "mass matrix", robot.mass_matrix(q), other.mass_matrix(q))
        check(agrees, "inverse dynamics", ours.tau, other.inverse_dynamics(q, qd, qdd=qdd))
        for name in ("dtau_dq", "dtau_dqd"):
            check(agrees, name, getattr(ours, name), getattr(theirs, name))
        for link in robot.links:
            frames = {link.name: np.eye(4), **link.frames}
            for name, g in frames.items():
                if other.model.existBodyName(name):
                    check(agrees, "poses", robot.pose(q, link.name) @ g, other.frame(q, name))
    return robot


@pytest.mark.parametrize(("name", "ndof"), [("serial_arm", 5), ("branching_tree", 6), ("floating_base", 10),
                                            ("continuous_wheels", 3)])  # fmt: skip
@pytest.mark.parametrize("free", [False, True])
def test_own_files(agrees, name, ndof, free):
    if name == "floating_base" and free:
        pytest.skip("its file says itself that it floats")
    robot = compare(agrees, DATA / f"{name}.urdf", seed=ndof, free=free)
    assert robot.ndof == ndof + 6 * free


# -- real robots


REAL = {
    "talos": ("talos_data/robots/talos_reduced.urdf", True, 32 + 6),
    "go2": ("go2_description/urdf/go2.urdf", True, 12 + 6),
    "anymal": ("anymal_c_simple_description/urdf/anymal.urdf", True, 12 + 6),
    "ur5": ("ur_description/urdf/ur5_robot.urdf", False, 6),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_real_robots(agrees, name):
    folder = robot_data()
    if folder is None:
        pytest.skip(MISSING)
    file, free, ndof = REAL[name]
    robot = compare(
        agrees, folder / file, seed=ndof, free=free, settings={"import.visual": False, "import.mimic": "free"}
    )
    assert robot.ndof == ndof


FOLLOWING = {
    "panda": ("panda_description/urdf/panda.urdf", 8),
    "baxter": ("baxter_description/urdf/baxter.urdf", 17),
    "pr2": ("pr2_description/urdf/pr2.urdf", 20),
    "tiago_pro": ("tiago_pro_description/robots/tiago_pro.urdf", 23),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FOLLOWING)
def test_joints_that_follow_others(agrees, name):
    """Mass matrix and weight of the coordinates that lead, beside Pinocchio's own mimic joints."""
    folder = robot_data()
    if folder is None:
        pytest.skip(MISSING)
    import pinocchio

    file, n = FOLLOWING[name]
    robot = sorosim.load(folder / file, set={"import.visual": False})
    model = pinocchio.buildModelFromUrdf(str(folder / file), mimic=True)
    assert model.nv == robot.ndof - len(robot.coupling_names) == n
    data, rng = model.createData(), np.random.default_rng(n)
    followers = {coupling.link for coupling in robot.description.couplings.values()}
    joints = [joint for joint in ElementTree.parse(folder / file).iter("joint") if joint.find("child") is not None]
    above = {joint.find("child").get("link"): joint.get("name") for joint in joints}
    q, S, leading = pinocchio.neutral(model), np.zeros((robot.ndof, n)), {}
    for link in robot.links:
        if robot.engine.layout.links[link.name].n_joint != 1 or link.name in followers:
            continue
        joint = model.joints[model.getJointId(above[link.name])]
        leading[link.name] = x = float(rng.normal())
        q[joint.idx_q : joint.idx_q + joint.nq] = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
        S[:, joint.idx_v] = robot.coordinates({link.name: 1.0}, order=1)
    ours, zero = robot.coordinates(leading), np.zeros(robot.ndof)
    M = np.triu(pinocchio.crba(model, data, q))
    check(agrees, "mass matrix", S.T @ robot.mass_matrix(ours) @ S, M + np.triu(M, 1).T)
    weight = pinocchio.rnea(model, data, q, np.zeros(n), np.zeros(n))
    check(agrees, "inverse dynamics", S.T @ robot.inverse_dynamics(ours, zero, qdd=zero), weight)
