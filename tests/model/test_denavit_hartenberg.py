"""Rows of Denavit-Hartenberg tables against products of matrices and against the same robots by poses and axes."""

import numpy as np
import pytest
from helpers.pinocchio_model import PinocchioRobot
from helpers.slow import SlowTree
from numpy.testing import assert_allclose

import sorosim
from sorosim.base.errors import ModelError
from sorosim.files import dump, load_text
from sorosim.mechanics.model.denavit_hartenberg import row_joint

# poses of up to seven links: a rounding of each product
ROUNDING = 1e-14


def rotation(axis: str, angle: float) -> np.ndarray:
    c, s, g = np.cos(angle), np.sin(angle), np.eye(4)
    g[:3, :3] = [[1, 0, 0], [0, c, -s], [0, s, c]] if axis == "x" else [[c, -s, 0], [s, c, 0], [0, 0, 1]]
    return g


def shift(x: float, z: float) -> np.ndarray:
    g = np.eye(4)
    g[:3, 3] = [x, 0.0, z]
    return g


def product(convention, a, alpha, d, theta):
    """The four motions of a row, one by one."""
    along_x, along_z = rotation("x", alpha) @ shift(a, 0.0), shift(0.0, d) @ rotation("z", theta)
    return along_x @ along_z if convention == "modified" else along_z @ along_x


def random_chain(seed, n):
    """Rows of a chain: convention, kind, a, alpha, d, theta."""
    rng = np.random.default_rng(seed)
    return [
        (rng.choice(["modified", "standard"]), rng.choice(["revolute", "prismatic"]), *rng.normal(size=4))
        for _ in range(n)
    ]


def body(k):
    return {"mass": 1.0 + k, "centre": [0.1, -0.2, 0.05 * k], "inertia": [0.3, 0.2, 0.25, 0.01, -0.02, 0.03]}


def robot_of(chain, link_of):
    links = {}
    for k, row in enumerate(chain):
        links[f"l{k}"] = {**({"parent": f"l{k - 1}"} if k else {}), **link_of(*row), "body": body(k)}
    return sorosim.load({"sorosim": 1, "links": links})


def by_rows(convention, kind, *row):
    return {"dh": {str(convention): [float(x) for x in row]}, "joint": str(kind)}


PUMA = [("modified", "revolute", *row) for row in
        ((0, 0, 0, 0), (0, -np.pi / 2, 0.2435, 0), (0.4318, 0, -0.0934, 0), (-0.0203, np.pi / 2, 0.4331, 0),
         (0, -np.pi / 2, 0, 0), (0, np.pi / 2, 0, 0))]  # fmt: skip
SCARA = [("standard", "revolute", 0.325, 0.0, 0.4, 0.0), ("standard", "revolute", 0.225, np.pi, 0.0, 0.0),
         ("standard", "prismatic", 0.0, 0.0, 0.1, 0.3), ("standard", "revolute", 0.0, 0.0, 0.05, 0.0)]  # fmt: skip
STANFORD = [("standard", kind, *row) for kind, row in
            (("revolute", (0, -np.pi / 2, 0.412, 0)), ("revolute", (0, np.pi / 2, 0.154, 0)),
             ("prismatic", (0, 0, 0.3, -np.pi / 2)), ("revolute", (0, -np.pi / 2, 0, 0)))]  # fmt: skip
CHAINS = [PUMA, SCARA, STANFORD, *(random_chain(seed, 7) for seed in range(6))]
every_chain = pytest.mark.parametrize("chain", CHAINS, ids=["puma", "scara", "stanford", *map(str, range(6))])


@every_chain
def test_poses_are_the_products_of_the_table(chain, rng):
    robot = robot_of(chain, by_rows)
    for q in (np.zeros(len(chain)), *rng.normal(size=(3, len(chain)))):
        g = np.eye(4)
        for k, (convention, kind, a, alpha, d, theta) in enumerate(chain):
            moved = (d, theta + q[k]) if kind == "revolute" else (d + q[k], theta)
            g = g @ product(convention, a, alpha, *moved)
            assert_allclose(robot.pose(q, f"l{k}"), g, rtol=0, atol=ROUNDING * (1.0 + np.abs(g).max()) * 4)


def in_two_links(chain):
    """The same robot without rows and without points on axes: a massless link moves, the body is fixed on it."""
    links, before = {}, "world"
    for k, (convention, kind, a, alpha, d, theta) in enumerate(chain):
        whole, at = product(convention, a, alpha, d, theta), np.eye(4)
        if convention == "modified":  # the joint is at the end of the row, else at its start
            at, whole = whole, np.eye(4)
        links[f"j{k}"] = {"parent": before, "at": pose(at), "joint": {str(kind): {"axis": [0, 0, 1]}}}
        before = f"l{k}"
        links[before] = {"parent": f"j{k}", "at": pose(whole), "body": body(k)}
    return sorosim.load({"sorosim": 1, "links": links})


def pose(g):
    return {"position": g[:3, 3].tolist(), "rotation": {"matrix": g[:3, :3].tolist()}}


@every_chain
def test_dynamics_and_derivatives_are_those_of_poses_and_axes(chain, rng):
    robot, other = robot_of(chain, by_rows), in_two_links(chain)
    q, qd, qdd = rng.normal(size=(3, len(chain)))
    a, b = (r.inverse_dynamics_derivatives(q, qd, qdd=qdd) for r in (robot, other))
    for name in ("tau", "dtau_dq", "dtau_dqd", "mass_matrix"):
        x, y = getattr(a, name), getattr(b, name)
        assert np.abs(x - y).max() <= 1e-12 * np.abs(y).max(), name
    by_bodies, solved = (robot.forward_dynamics(q, qd, algorithm=name) for name in ("articulated", "composite"))
    # both lose digits in proportion to the condition of the mass matrix
    lost = 1e-14 * np.linalg.cond(a.mass_matrix)
    assert_allclose(by_bodies, solved, rtol=0, atol=lost * np.abs(solved).max())
    # the whole motion of the tree again by complex numbers, from the twists of the joints
    slow = SlowTree(robot)
    assert_allclose(slow.mass_matrix(q), a.mass_matrix, rtol=0, atol=1e-12 * np.abs(a.mass_matrix).max())
    assert_allclose(slow.inverse_dynamics(q, qd, qdd=qdd), a.tau, rtol=0, atol=1e-12 * np.abs(a.tau).max())


def test_axes_beside_the_origin_agree_with_pinocchio(rng):
    """Revolute and helical joints whose axis passes anywhere."""
    links = {}
    for k, kind in enumerate(["revolute", "helical", "revolute", "helical"]):
        given = {"axis": rng.normal(size=3).tolist(), "through": rng.normal(size=3).tolist()}
        given |= {"pitch": 0.1} if kind == "helical" else {}
        parent = {"parent": f"l{k - 1}"} if k else {}
        links[f"l{k}"] = {**parent, "at": {"position": [0.3, 0, 0.1]}, "joint": {kind: given}, "body": body(k)}
    robot = sorosim.load({"sorosim": 1, "links": links})
    other, (q, qd, qdd) = PinocchioRobot(robot.description), rng.normal(size=(3, 4))
    pairs = [(robot.mass_matrix(q), other.mass_matrix(q)), (robot.kinematics(q, qd).g, other.kinematics(q, qd).g)]
    ours, theirs = (r.inverse_dynamics_derivatives(q, qd, qdd=qdd) for r in (robot, other))
    pairs += [(getattr(ours, name), getattr(theirs, name)) for name in ("tau", "dtau_dq", "dtau_dqd")]
    for x, y in pairs:
        assert np.abs(x - y).max() <= 1e-12 * np.abs(y).max()


@every_chain
def test_a_table_survives_the_way_to_text_and_back(chain, rng):
    robot = robot_of(chain, by_rows)
    again = load_text(dump(robot), "again.yaml")
    q = rng.normal(size=len(chain))
    assert np.array_equal(again.mass_matrix(q), robot.mass_matrix(q))
    assert load_text(robot.description.text, "text.yaml").coordinate_names == robot.coordinate_names


def test_springs_limits_and_soft_links_stand_beside_a_row():
    robot = sorosim.load(
        {
            "sorosim": 1,
            "materials": {"m": {"young": 1e6, "poisson": 0.5, "density": 1000}},
            "links": {
                "a": {"dh": {"standard": [0.1, "90 deg", 0, 0]}, "body": body(0),
                      "joint": {"revolute": {"stiffness": 3, "damping": 2, "limits": {"high": 1, "stiffness": 9}}}},
                "b": {"parent": "a", "dh": {"modified": [0.1, 0, 0, 0]}, "joint": "revolute",
                      "rod": {"length": 0.1, "section": {"circle": {"radius": 0.01}}, "material": "m",
                              "strain": {"bending": 1}}},
            },
        }
    )  # fmt: skip
    joint = robot.links[0].joint
    assert (joint.stiffness, joint.damping, joint.limits[0].high) == ((3.0,), (2.0,), 1.0)
    assert robot.ndof == 2 + 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("craig", "revolute", 0, 0, 0, 0), "dh: expected modified or standard, got 'craig'"),
        (("modified", "free", 0, 0, 0, 0), "joint: expected revolute or prismatic beside a row of dh, got 'free'"),
    ],
)
def test_refused_rows(arguments, message):
    with pytest.raises(ModelError) as caught:
        row_joint(*arguments)
    assert message in str(caught.value)
