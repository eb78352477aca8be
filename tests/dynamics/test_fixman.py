"""The extended Fixman method against the Cholesky factor of the mass matrix and against articulated bodies."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from helpers.differences import relative_error
from helpers.kinds import JOINT_KINDS
from helpers.robots import cable_manipulator, random_body, random_joint, random_pose, rigid_tree

import sorosim
from benchmarks.algorithms import forward_dynamics, solve_mass
from benchmarks.fixman import Fixman
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import WORLD, Link
from sorosim.mechanics.robot import Robot

EPS = np.finfo(float).eps
ALONG_Z = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.1], [0, 0, 0, 1.0]])
STICK = RigidBody(0.1, centre=(0, 0, 0.05), inertia=(1e-4, 1.2e-4, 2e-5))
X, Y, Z = np.eye(3)


def chain_of(joints, body=STICK, at=ALONG_Z):
    """A chain; a joint that is None is fixed, a body that is None has no mass."""
    bodies = body if isinstance(body, list) else [body] * len(joints)
    links = [
        Link(f"link{i}", own, joint=joint, parent=f"link{i - 1}" if i else WORLD, at=at if i else np.eye(4))
        for i, (joint, own) in enumerate(zip(joints, bodies, strict=True))
    ]
    return Robot(Description("chain", tuple(links)))


def hinges(n, *axes):
    return chain_of([Joint("revolute", axis=axes[i % len(axes)]) for i in range(n)])


def scaled_error(robot, q, found, expected):
    """Error of accelerations, and what solving with M may leave of them, each coordinate in its own scale."""
    M = robot.mass_matrix(q)
    d = np.sqrt(np.diag(M))
    allowed = 1e-13 + 4.0 * EPS * np.linalg.cond(M / np.outer(d, d))
    return relative_error((found.T * d).T, (expected.T * d).T), allowed


def check(robot, q, b):
    found = solve_mass(robot, q, b, algorithm="fixman")
    for other in ("composite", "articulated"):
        error, allowed = scaled_error(robot, q, found, solve_mass(robot, q, b, algorithm=other))
        assert error < allowed, other
    return found


@pytest.mark.parametrize("seed", range(16))
def test_random_chains(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 61))
    order = rng.permutation(JOINT_KINDS)
    links = [
        Link(f"link{i}", random_body(rng), joint=random_joint(rng, [order[i % len(order)]], bare=True),
             parent=f"link{i - 1}" if i else WORLD, at=random_pose(rng))
        for i in range(n)
    ]  # fmt: skip
    robot = Robot(Description("chain", tuple(links)))
    q = rng.normal(size=robot.ndof)
    check(robot, q, rng.normal(size=robot.ndof))


@pytest.mark.parametrize("seed", range(12))
def test_random_trees(seed):
    rng = np.random.default_rng(seed)
    robot = rigid_tree(rng, int(rng.integers(3, 60)))
    check(robot, rng.normal(size=robot.ndof), rng.normal(size=(robot.ndof, 3)))


@pytest.mark.parametrize("kind", [kind for kind in JOINT_KINDS if kind != "fixed"])
def test_every_joint_alone_and_twice(kind):
    rng = np.random.default_rng(5)
    joint = random_joint(rng, [kind], bare=True)
    for n in (1, 2):
        robot = chain_of([joint] * n, body=[random_body(rng) for _ in range(n)])
        check(robot, 0.4 * rng.normal(size=robot.ndof), np.eye(robot.ndof))


@pytest.mark.parametrize("n", [2, 7, 70])  # 70: more columns than are solved for at once
def test_the_columns_of_the_inverse(n):
    robot = hinges(n, X, Y, Z)
    q = 0.3 * np.random.default_rng(n).normal(size=n)
    inverse, M = solve_mass(robot, q, np.eye(n), algorithm="fixman"), robot.mass_matrix(q)
    d = np.sqrt(np.diag(M))
    # in the scale of each coordinate: M M^{-1} - 1 is bounded by the error of a column times the largest of them
    product = (M / d[:, None]) @ (inverse * d)
    assert np.abs(product - np.eye(n)).max() < 5.0 * EPS * np.linalg.cond(M / np.outer(d, d))
    assert relative_error(inverse, inverse.T) < 1e-12
    for k in (0, n - 1):
        # sums over columns together and alone are taken in another order
        alone = solve_mass(robot, q, np.eye(n)[k], algorithm="fixman")
        assert relative_error(alone, inverse[:, k]) < EPS * np.linalg.cond(M)


def test_a_floating_base():
    rng = np.random.default_rng(2)
    joints = [Joint("free"), *(random_joint(rng, ["revolute"], bare=True) for _ in range(10))]
    robot = chain_of(joints, body=[random_body(rng) for _ in joints], at=random_pose(rng))
    q = 0.5 * rng.normal(size=robot.ndof)
    check(robot, q, np.eye(robot.ndof))
    # pushed at its base by the weight of all of it, it falls as one body: no joint moves
    qdd = forward_dynamics(robot, q, np.zeros(robot.ndof), algorithm="fixman")
    alone = Robot(Description("base", robot.links[:1])).forward_dynamics(q[:6], np.zeros(6))
    assert relative_error(qdd[:6], alone) < 1e-11
    assert np.abs(qdd[6:]).max() < 1e-10


def chart_jacobian(kind, alpha, a, beta, b, gamma, c):
    """Body Jacobian (6, 6) of a chart of two dummy and four Denavit-Hartenberg parameters: three screws."""

    def screw(axis, distance, turn):
        g = sorosim.mechanics.lie.exp_se3(np.concatenate([turn * np.eye(3)[axis], np.zeros(3)]))
        g[axis, 3] = distance
        return g

    first, second, third = {"A": ((2, a, alpha), (0, b, beta), (2, c, gamma)),
                            "B": ((0, b, beta), (2, c, gamma), (0, a, alpha)),
                            "C": ((0, b, beta), (1, a, alpha), (2, c, gamma))}[kind]  # fmt: skip
    columns, after = [], np.eye(4)
    for axis, distance, turn in (third, second, first):
        after = screw(axis, distance, turn) @ after
        seen = sorosim.mechanics.lie.Ad_inv(np.ascontiguousarray(after))
        columns += [seen[:, axis], seen[:, 3 + axis]]
    return np.array(columns).T


def test_where_charts_of_denavit_and_hartenberg_are_singular():
    # their determinants as the paper has them, at a common state and where they vanish
    beta, gamma = 0.7, 0.4
    for kind, expected in (("A", np.sin(beta) ** 2), ("B", np.sin(gamma) ** 2), ("C", 1.0)):
        J = chart_jacobian(kind, 0.0, 0.0, beta, 0.1, gamma, 0.02)
        assert abs(abs(np.linalg.det(J)) - expected) < 1e-14
    assert abs(np.linalg.det(chart_jacobian("A", 0.0, 0.0, 0.0, 0.1, gamma, 0.0))) < 1e-30  # parallel axes
    assert abs(np.linalg.det(chart_jacobian("B", 0.0, 0.0, beta, 0.0, 0.0, 0.0))) < 1e-30  # stretched out
    # chains of such joints: parallel axes, stretched out or not; axes that meet at right angles
    rng = np.random.default_rng(0)
    for robot in (hinges(20, Z), hinges(20, X), hinges(20, X, Y), hinges(20, X, X, Z)):
        for q in (np.zeros(20), 0.5 * rng.normal(size=20)):
            check(robot, q, rng.normal(size=20))


def test_chart_c_gives_the_same_inverse():
    """The method as the paper has it, dense: parameters b, beta of chart C, of which beta is soft."""
    rng = np.random.default_rng(1)
    n, b = 5, 0.1
    turns = rng.normal(size=n)
    ats = [np.eye(4) for _ in range(n + 1)]
    for g, turn in zip(ats[1:], turns, strict=True):
        g[:3, :3] = sorosim.mechanics.lie.exp_so3(np.array([0.0, 0.0, turn]))
        g[:3, 3] = g[:3, :3] @ [b, 0.0, 0.0]
    bodies = [random_body(rng) for _ in range(n)]
    robot = Robot(Description("chain", tuple(
        Link(f"link{i}", bodies[i], joint=Joint("revolute", axis=X), parent=f"link{i - 1}" if i else WORLD, at=ats[i])
        for i in range(n))))  # fmt: skip
    q = rng.normal(size=n)
    # twists of links to parameters of their joints; a link's frame is turned back by gamma from that of the chart
    to_links, G_inverse = np.zeros((6 * n, 6 * n)), np.zeros((6 * n, 6 * n))
    poses = robot.kinematics(q).g
    for i in range(n):
        own = slice(6 * i, 6 * i + 6)
        turn = np.eye(4)
        turn[:3, :3] = sorosim.mechanics.lie.exp_so3(np.array([0.0, 0.0, turns[i]]))
        to_parameters = np.linalg.inv(
            chart_jacobian("C", 0.0, 0.0, q[i], b, turns[i], 0.0)
        ) @ sorosim.mechanics.lie.Ad_inv(turn)
        to_links[own, own] = to_parameters
        if i:
            before = np.ascontiguousarray(np.linalg.inv(poses[i - 1]) @ poses[i])
            to_links[own, 6 * i - 6 : 6 * i] = -to_parameters @ sorosim.mechanics.lie.Ad_inv(before)
        G_inverse[own, own] = np.linalg.inv(bodies[i].spatial_inertia)
    H = to_links @ G_inverse @ to_links.T
    soft = np.arange(n) * 6 + 4  # columns of the chart: gamma, c, alpha, a, beta, b
    hard = np.setdiff1d(np.arange(6 * n), soft)
    inverse = H[np.ix_(soft, soft)] - H[np.ix_(soft, hard)] @ np.linalg.solve(
        H[np.ix_(hard, hard)], H[np.ix_(hard, soft)]
    )
    assert relative_error(solve_mass(robot, q, np.eye(n), algorithm="fixman"), inverse) < EPS * np.linalg.cond(H)


def test_nothing_of_mass_between_joints():
    rng = np.random.default_rng(3)
    joints = [Joint("revolute", axis=X), Joint("prismatic", axis=Z), Joint("spherical"), Joint("revolute", axis=Y)]
    heavy = random_body(rng)
    robot = chain_of(joints, body=[None, None, heavy, heavy], at=random_pose(rng))
    check(robot, 0.3 * rng.normal(size=robot.ndof), np.eye(robot.ndof))
    fixed = [Joint("revolute", axis=X), Joint(), Joint(), Joint("revolute", axis=Y), Joint()]
    robot = chain_of(fixed, body=[heavy, None, heavy, None, heavy], at=random_pose(rng))
    check(robot, 0.3 * rng.normal(size=2), np.eye(2))


def test_links_far_heavier_than_those_before():
    bodies = [RigidBody(m, inertia=(m * 1e-3, m * 1.2e-3, m * 2e-3)) for m in [1e-3, 1e2] * 15]
    robot = chain_of([Joint("revolute", axis=axis) for axis in (X, Y, Z) * 10], body=bodies)
    rng = np.random.default_rng(4)
    check(robot, 0.3 * rng.normal(size=30), rng.normal(size=30))


@pytest.mark.parametrize("seed", range(4))
def test_forward_dynamics_with_driven_coordinates(seed):
    rng = np.random.default_rng(seed)
    moved = rigid_tree(rng, 12, along=1.0 if seed % 2 else 0.6)
    bare = Robot(replace(moved.description, actuators={}))
    q, qd = 0.3 * rng.normal(size=(2, moved.ndof))
    names = [str(name) for name in rng.choice(moved.coordinate_names, 5, replace=False)]
    for robot, given in ((moved, {}), (bare, {name: float(rng.normal()) for name in names})):
        u = rng.normal(size=len(robot.actuator_names))
        found, expected = (
            forward_dynamics(robot, q, qd, u=u, driven_qdd=given, algorithm=name) for name in ("fixman", "articulated")
        )
        error, allowed = scaled_error(robot, q, found, expected)
        assert error < 10.0 * allowed  # biases of the two sum in another order
        for name, value in given.items():
            assert found[robot.coordinate_names.index(name)] == value


def test_all_driven_but_three_of_four_hundred():
    robot = hinges(400, X, Y, Z)
    q = 0.3 * np.random.default_rng(0).normal(size=400)
    known = np.ones(400, dtype=bool)
    known[[0, 50, 399]] = False
    free = np.flatnonzero(~known)
    expected = np.linalg.inv(robot.mass_matrix(q)[np.ix_(free, free)])
    found = robot.engine.companion(Fixman).solve(q, known, np.eye(400)[:, free])
    assert not found[known].any()
    # hundreds of rigid joints in a row: forces that hardly show in any motion, cond(H_hh) near 400^4
    d = np.sqrt(np.diag(expected))
    assert np.abs((found[free] - expected) / np.outer(d, d)).max() < 1e-9


@pytest.mark.slow
def test_ten_thousand_links_in_linear_room():
    robot = hinges(10_000, X, Y, Z)
    q = 0.1 * np.random.default_rng(0).normal(size=10_000)
    zero = np.zeros(10_000)
    tracemalloc.start()
    one, other = (forward_dynamics(robot, q, zero, algorithm=name) for name in ("fixman", "articulated"))
    b = robot.inverse_dynamics(q, zero, qdd=one) - robot.internal_force(q, zero)
    room = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert room < 10_000 * 12_000  # bytes; a single matrix of all coordinates would take 80 kB for each
    # moments over 1 km, and accelerations that are what is left of them: half of the digits, 4e-7
    assert relative_error(one, other) < 5e-6
    weight = 0.1 * 9.81 * 10_000
    assert np.abs(b).max() < 2e-11 * weight * 1000.0


@pytest.mark.parametrize("n", [200, 600])
def test_long_chains_move_mass_however_far_their_links_are_from_the_origin(n):
    robot = hinges(n, X, Y, Z)
    q = 0.1 * np.random.default_rng(0).normal(size=n)
    zero = np.zeros(n)
    one, other = (forward_dynamics(robot, q, zero, algorithm=name) for name in ("fixman", "articulated"))
    # the moments of a link, m d^2 = 0.1 d^2, beside its own inertia, 1e-4
    assert relative_error(one, other) < 1e2 * EPS * 1e3 * (0.1 * n) ** 2


def test_robots_that_it_does_not_hold_for():
    rod = cable_manipulator()
    with pytest.raises(sorosim.InputError, match="the rod 'arm'"):
        solve_mass(rod, np.zeros(rod.ndof), np.zeros(rod.ndof), algorithm="fixman")
    loop = sorosim.load("four_bar")
    zero = np.zeros(loop.ndof)
    check(loop, zero, np.eye(loop.ndof))  # the mass matrix is that of the tree
    hub = Link("hub", None, joint=Joint("revolute", axis=Z))
    arms = [Link(name, STICK, joint=Joint("revolute", axis=X), parent="hub") for name in ("left", "right")]
    robot = Robot(Description("branches", (hub, *arms)))
    with pytest.raises(sorosim.InputError, match="several joints on 'hub', which has no mass"):
        solve_mass(robot, np.zeros(3), np.zeros(3), algorithm="fixman")


@pytest.mark.parametrize("algorithm", ["composite", "articulated", "fixman"])
def test_what_moves_no_mass_is_named(algorithm):
    idle = chain_of([Joint("revolute", axis=X), Joint("prismatic", axis=X)], body=[STICK, None])
    with pytest.raises(sorosim.ModelError, match="link1"):
        solve_mass(idle, np.zeros(2), np.zeros(2), algorithm=algorithm)
    locked = chain_of([Joint("revolute", axis=X), Joint("revolute", axis=X)], body=[None, STICK], at=np.eye(4))
    with pytest.raises(sorosim.ModelError, match="link"):
        solve_mass(locked, np.zeros(2), np.zeros(2), algorithm=algorithm)
    many = chain_of([Joint("spherical"), Joint("free")], body=[None, STICK])
    with pytest.raises(sorosim.ModelError, match=r"link1|link0"):
        solve_mass(many, 0.1 * np.arange(9), np.zeros(9), algorithm=algorithm)


def test_what_solve_mass_is_given():
    robot = hinges(3, X)
    for b in (np.zeros(2), np.zeros((2, 3)), np.zeros((3, 1, 1)), [1, 2, "x"]):
        with pytest.raises(sorosim.InputError, match="b: expected 3 numbers"):
            robot.solve_mass(np.zeros(3), b)
    with pytest.raises(sorosim.InputError, match="at index 1, 0"):
        robot.solve_mass(np.zeros(3), [[0, 0], [np.nan, 0], [0, 0]])
    with pytest.raises(sorosim.InputError, match="algorithm"):
        solve_mass(robot, np.zeros(3), np.zeros(3), algorithm="unit")
    assert robot.solve_mass(np.zeros(3), np.zeros((3, 0))).shape == (3, 0)
    # by default the faster one, the same figures
    assert relative_error(robot.solve_mass([0, 1, 0], [1, 2, 3]), check(robot, [0, 1, 0], np.array([1, 2, 3]))) < 1e-13
