"""Linear systems of implicit steps and of statics solved along the tree, against the dense matrix."""

import numpy as np
import pytest
from helpers.differences import Worst
from helpers.robots import random_state, varied_tree

import sorosim
from sorosim.kernels import evaluate as task
from sorosim.kernels.tangent import factor_tangent, make_tangent, solve_tangent

WORST = Worst()
# v and s of R_q + v R_qd + s R_qdd: statics, a long step, a short one, and no method's
FACTORS = {"statics": (0.0, 0.0), "long step": (20.0, 400.0), "short step": (2e4, 4e8), "any": (-3.0, 0.5)}


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("tangent along the tree against the dense matrix"))


def solve(engine, q, qd, qdd, u, known, rate, acceleration, right):
    """T^-1 right (ndof, m) along the tree; the coordinate at which T is singular, or -1."""
    engine.evaluate(task.LINEARISE, q, qd, qdd, u)
    tangent, loaded = make_tangent(engine.tree), bool(engine.loading)
    moving = bool(qd.any() or qdd.any())
    failed = factor_tangent(engine.tree, known, rate, acceleration, moving, loaded, engine.workspace, tangent)
    out = np.ascontiguousarray(right.T.copy())
    for x in out:
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
    robot, rng = varied_tree(seed), np.random.default_rng(seed)
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
    assert failed == -1
    scale = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(T)), 1e-9 * np.abs(T).max()))
    condition = np.linalg.cond(scale[:, None] * T * scale)
    error = np.abs((found - exact) / scale[:, None]).max() / np.abs(exact / scale[:, None]).max()
    assert WORST.note(f"{name}, over the condition number", error / condition) <= 1e-14 * 5
    assert WORST.note(name, error) <= 1e-10 * condition


def test_a_block_without_pivot_is_named():
    robot = sorosim.load("pendulum")
    engine, none = robot.engine, np.zeros(robot.ndof)
    weightless = engine.replace(gravity=np.zeros(3))
    known = np.zeros(robot.ndof, dtype=bool)
    _, failed = solve(weightless, none, none, none, np.zeros(0), known, 0.0, 0.0, np.ones((robot.ndof, 1)))
    assert failed == 0
