"""Linear systems of implicit steps and of statics solved along the tree, against the dense matrix."""

import numpy as np
import pytest
import scipy.linalg
from helpers.differences import Worst
from helpers.robots import random_state, varied_tree, with_fixed_axes
from numpy.testing import assert_allclose

import sorosim
from sorosim.mechanics.engine import engine as engines
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.kernels.tangent import (
    factor_tangent,
    longest_displacement,
    make_tangent,
    mass_product,
    solve_tangent,
)

WORST = Worst()
# v and s of R_q + v R_qd + s R_qdd: statics, a long step, a short one, and no method's
# trees whose forces have a potential
SYMMETRIC = (0, 2, 5)
FACTORS = {"statics": (0.0, 0.0), "long step": (20.0, 400.0), "short step": (2e4, 4e8), "any": (-3.0, 0.5)}


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("tangent along the tree against the dense matrix"))


def solve(engine, q, qd, qdd, u, known, rate, acceleration, right, definite=False):
    """T^-1 right (ndof, m) along the tree; the coordinate at which T is singular, or not definite, or -1."""
    engine.evaluate(task.LINEARISE, q, qd, qdd, u)
    tangent, loaded = make_tangent(engine.tree), bool(engine.loading)
    moving = bool(qd.any() or qdd.any())
    arguments = known, rate, acceleration, moving, loaded, definite, False, engine.workspace, tangent
    failed = factor_tangent(engine.tree, *arguments)
    out = np.ascontiguousarray(right.T.copy())
    for x in out if failed < 0 else ():
        solve_tangent(engine.tree, tangent, x)
    return out.T, failed


def dense(engine, q, qd, qdd, u, known, rate, acceleration):
    """The same matrix from the derivatives of the residual."""
    out = engine.evaluate(task.RESIDUAL_DERIVATIVES, q, qd, qdd, u)
    T = out.by_q + rate * out.by_qd + acceleration * out.mass
    T[known], T[:, known] = 0.0, 0.0
    T[known, known] = 1.0
    return T


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("name", FACTORS)
def test_solutions_are_those_of_the_dense_matrix(seed, name):
    robot, rng = with_fixed_axes(varied_tree(seed)), np.random.default_rng(seed)
    engine = robot.engine
    if not engine.has_local_tangent:
        engine = engine.unloaded
    q, qd, qdd, u = random_state(rng, robot)
    if name == "statics":
        qd, qdd = 0.0 * qd, 0.0 * qdd
    known = rng.random(robot.ndof) < 0.1 * (seed % 3)
    T = dense(engine, q, qd, qdd, u, known, *FACTORS[name])
    exact = rng.normal(size=(robot.ndof, 3))
    found, failed = solve(engine, q, qd, qdd, u, known, *FACTORS[name], T @ exact)
    parts = [subtree(engine, b) for b in range(len(engine.tree.block))]
    conditions = [scaled_condition(T[np.ix_(part, part)]) for part in parts if len(part)]
    if failed >= 0:
        # with the base held the part beyond it is singular, T as a whole may be regular
        assert name == "statics"
        part = subtree(engine, block_of(engine, failed))
        assert np.linalg.svd(T[np.ix_(part, part)], compute_uv=False)[-1] <= 1e-12 * np.abs(T).max()
        return
    # what is eliminated beyond a base that is held has a condition of its own
    error, condition = np.abs(found - exact).max() / np.abs(exact).max(), max(*conditions, np.linalg.cond(T))
    assert WORST.note(f"{name}, over the condition number", error / condition) <= 1e-14
    WORST.note(name, error)


@pytest.mark.parametrize("coordinates", ["position", "screw"])
@pytest.mark.parametrize(("options", "motor", "turns"), [
    ({}, "", False), ({}, "tx", True), ({}, "rx", False),
    ({"damping": [3, 3, 3, 1, 2, 3]}, "", False), ({"damping": [3, 3, 2, 1, 1, 1]}, "", True),
    ({"friction": [3, 3, 3, 1, 2, 3]}, "", False), ({"friction": [3, 3, 2, 1, 1, 1]}, "", True),
], ids=str)  # fmt: skip
def test_forces_that_turn_with_the_rotation_of_their_joint_are_left_to_dense_matrices(
    options, motor, turns, coordinates, monkeypatch
):
    monkeypatch.setattr(engines, "ON_TREE", 0)
    monkeypatch.setattr(engines, "ON_SPARSE", 0)
    joint = {"free": {**options, "coordinates": coordinates}} if options or coordinates != "position" else "free"
    robot = sorosim.load({
        "sorosim": 1, "name": "body",
        "links": {"body": {"joint": joint, "body": {"mass": 1, "inertia": [1, 2, 2]}}},
        "actuators": {"push": {"joint": {"link": "body", "along": motor}}} if motor else {},
    })  # fmt: skip
    dense_only = turns and coordinates == "position"
    for engine in (robot.engine, robot.engine.unloaded):
        assert engine.has_local_tangent != dense_only
        assert engine.is_large != dense_only


def block_of(engine, coordinate):
    first, n = engine.tree.block["column"], engine.tree.block["n"]
    return int(np.flatnonzero((first <= coordinate) & (coordinate < first + n))[0])


def subtree(engine, block):
    """Coordinates of a block and of all that hangs on it."""
    tree, inside = engine.tree, {block}
    for b in range(block + 1, len(tree.block)):
        parent = tree.block[b].parent
        if parent >= 0 and int(tree.segment[parent].block) in inside:
            inside.add(b)
    ranges = [np.arange(tree.block[b].n) + tree.block[b].column for b in sorted(inside)]
    return np.concatenate(ranges).astype(int)


def scaled_condition(T):
    """Condition number after rows and columns are divided by their largest entries."""
    rows = np.maximum(np.abs(T).max(axis=1), 1e-300)
    T = T / rows[:, None]
    return np.linalg.cond(T / np.maximum(np.abs(T).max(axis=0), 1e-300))


def test_a_block_without_pivot_is_named():
    robot = sorosim.load("pendulum")
    engine, none = robot.engine, np.zeros(robot.ndof)
    weightless = engine.replace(gravity=np.zeros(3))
    known = np.zeros(robot.ndof, dtype=bool)
    _, failed = solve(weightless, none, none, none, np.zeros(0), known, 0.0, 0.0, np.ones((robot.ndof, 1)))
    assert failed == 0


@pytest.mark.parametrize("seed", range(8))
def test_blocks_are_definite_where_the_matrix_is(seed):
    robot = with_fixed_axes(varied_tree(seed))
    engine, rng = robot.engine.unloaded, np.random.default_rng(seed)
    q, _, _, u = random_state(rng, robot)
    none, known = np.zeros(robot.ndof), np.zeros(robot.ndof, dtype=bool)
    K, M = dense(engine, q, none, none, u, known, 0.0, 0.0), robot.mass_matrix(q)
    symmetric = np.abs(K - K.T).max() <= 1e-9 * np.abs(K).max()
    assert symmetric or seed not in SYMMETRIC
    curvature = scipy.linalg.eigh(0.5 * (K + K.T), M, eigvals_only=True)[0]
    gap = 1e-3 * abs(curvature)
    for damping, definite in ((gap - curvature, True), (-gap - curvature, False)):
        failed = solve(engine, q, none, none, u, known, 0.0, damping, np.zeros((robot.ndof, 0)), definite=True)[1]
        # only of a symmetric matrix blocks tell of the whole
        assert (failed < 0) == definite or not (definite or symmetric)


def test_the_longest_displacement_is_that_of_the_jacobians():
    robot = varied_tree(3)
    engine, rng = robot.engine.unloaded, np.random.default_rng(3)
    q, none = rng.normal(size=robot.ndof), np.zeros(robot.ndof)
    engine.evaluate(task.LINEARISE, q, none, none, np.zeros(engine.n_actuators))
    dq, out, node = rng.normal(size=robot.ndof), np.zeros(robot.ndof), make_tangent(engine.tree).node
    mass_product(engine.tree, engine.workspace, dq, node, out)
    assert_allclose(out, robot.mass_matrix(q) @ dq, rtol=1e-10, atol=1e-12 * np.abs(out).max())
    found = longest_displacement(engine.tree, engine.workspace, node, 0.3)
    moved = engine.jacobians(np.arange(len(engine.tree.inertia)), q, none, False)[2] @ dq
    by_node = np.maximum(np.linalg.norm(moved[:, :3], axis=1), np.linalg.norm(moved[:, 3:], axis=1) / 0.3)
    assert_allclose(found, by_node.max(), rtol=1e-12)
