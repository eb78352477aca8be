"""Joints of one coordinate and rigid bodies on their own path, against the one that all segments can take."""

import numpy as np
import pytest
from helpers.differences import relative_error
from helpers.robots import random_body, random_state, rigid_tree, varied_tree
from numpy.testing import assert_allclose, assert_array_equal

from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.kernels.ancestors import COORDINATE, PATH_J, gather_ancestors
from sorosim.mechanics.kernels.kinematics import COLUMNS, forward_sweep
from sorosim.mechanics.kernels.single import is_single
from sorosim.mechanics.kernels.tree import COMMUTING, GENERAL
from sorosim.mechanics.model.compile import is_rigid

EPS = np.finfo(float).eps
SEEDS = [0, 1, 2, 3, 5, 7, 9, 11]
TASKS = {
    "inverse dynamics": task.INVERSE,
    "its derivatives": task.INVERSE_DERIVATIVES,
    "mass matrix": task.MASS,
}


def robot_of(seed):
    """Chains, trees of rigid links, and trees of rods and joints with loads."""
    rng = np.random.default_rng(seed)
    return rigid_tree(rng, 3 + 2 * seed) if seed % 2 else varied_tree(seed)


def general(engine):
    """The same engine, whose joints are segments like any other and whose bodies have any inertia."""
    segment = engine.tree.segment.copy()
    segment["kind"][segment["kind"] == COMMUTING] = GENERAL
    segment["rigid"] = 0
    other = engine.replace(tree=engine.tree._replace(segment=segment))
    assert not any(is_single(other.tree, b) for b in range(len(other.tree.block)))
    return other


@pytest.mark.parametrize("moving", [True, False], ids=["moving", "at rest"])
@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("seed", SEEDS)
def test_own_path_gives_what_the_general_one_gives(seed, name, moving):
    robot = robot_of(seed)
    engine, (q, qd, qdd, u) = robot.engine, random_state(np.random.default_rng(seed), robot)
    assert any(is_single(engine.tree, b) for b in range(len(engine.tree.block)))
    if not moving:
        qd, qdd = np.zeros_like(q), np.zeros_like(q)
    found = engine.evaluate(TASKS[name], q, qd, qdd, u, 0.3)
    expected = general(engine).evaluate(TASKS[name], q, qd, qdd, u, 0.3)
    for part in ("tau", "by_q", "by_qd", "mass"):
        a, b = getattr(found, part), getattr(expected, part)
        if a.size and (part == "tau" or "derivatives" in name or (part == "mass" and name == "mass matrix")):
            # both sum the same products in another order; sums of moments about a far origin lose most
            assert relative_error(a, b) < 2000 * EPS, part


@pytest.mark.parametrize("seed", SEEDS)
def test_paths_hold_the_columns_of_all_ancestors(seed):
    robot = robot_of(seed)
    engine, (q, qd, qdd, _) = robot.engine, random_state(np.random.default_rng(seed), robot)
    tree, ws = engine.tree, engine.workspace
    forward_sweep(tree, q, qd, qdd, engine.gravity, COLUMNS, ws)
    nodes = np.array(sorted({int(b) for b in tree.block["parent"] if b >= 0}), dtype=np.int64)
    bodies = engine.jacobians(nodes, q, qd, False)[2]
    forward_sweep(tree, q, qd, qdd, engine.gravity, COLUMNS, ws)
    filled = 0
    for base in np.random.default_rng(seed).permutation(nodes):  # any order: nothing stale may be taken for its own
        filled = gather_ancestors(tree, base, 1, filled, ws)
        columns = ws.place[COORDINATE, :filled]
        assert len(set(columns)) == filled
        J = np.zeros((6, robot.ndof))
        J[:, columns] = ws.vector[PATH_J : PATH_J + 6, :filled]
        R, p = ws.pose[base, :3], ws.pose[base, 3]
        expected = bodies[list(nodes).index(base)]
        angular = R @ expected[:3]
        assert_allclose(J[:3], angular, rtol=0, atol=1e-12 * np.abs(J).max())
        assert_allclose(J[3:], R @ expected[3:] + np.cross(p, angular.T).T, rtol=0, atol=1e-12 * np.abs(J).max())


def test_coordinates_before_a_block_are_those_of_its_ancestors():
    tree = varied_tree(4).engine.tree
    for row in tree.block:
        before, node = 0, row.parent
        while node >= 0:
            above = tree.block[tree.segment[node].block]
            before, node = before + above.n, above.parent
        assert row.n_before == before
        assert 0 <= row.column <= len(tree.rows)


def test_inertias_of_bodies_and_sections_are_rigid_and_those_with_added_mass_are_not(rng):
    inertias = [random_body(rng).spatial_inertia for _ in range(20)]
    assert all(is_rigid(M) for M in inertias)
    assert is_rigid(np.diag([3.0, 1.0, 2.0, 5.0, 5.0, 5.0]))
    assert not is_rigid(np.diag([3.0, 1.0, 2.0, 5.0, 5.0, 6.0]))
    skewed = inertias[0].copy()
    skewed[0, 4] += 1e-9
    skewed[4, 0] += 1e-9
    assert not is_rigid(skewed)


@pytest.mark.parametrize("m", [0, 1, 63, 64, 65, 129, 200])
def test_columns_are_solved_for_in_parts(rng, m):
    robot = rigid_tree(rng, 9)
    q = random_state(rng, robot)[0]
    B = rng.normal(size=(robot.ndof, m))
    kept = B.copy()
    found = robot.solve_mass(q, B, algorithm="articulated")
    assert_array_equal(B, kept)
    M = robot.mass_matrix(q)
    d = np.sqrt(np.diag(M))
    expected = robot.solve_mass(q, B, algorithm="composite")
    condition = np.linalg.cond(M / np.outer(d, d))
    assert found.shape == B.shape
    assert relative_error(d[:, None] * found, d[:, None] * expected) <= 20 * EPS * condition + 1e-13 if m else True
