"""Linear systems of trees with couplings - contacts, springs, loops, tendons - against dense matrices."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from helpers.differences import Worst
from helpers.limbs import limbs, pose, with_actuators
from helpers.robots import random_state, varied_tree, with_fixed_axes, with_random_loops
from numpy.testing import assert_allclose

import sorosim
from sorosim.mechanics.actuation.route import RouteSegment
from sorosim.mechanics.actuation.tendon import Tendon
from sorosim.mechanics.dynamics.linearised_tree import LinearisedTree, elimination_sequence
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.kernels.couplings import SPARSE
from sorosim.mechanics.loads.fluid import Fluid
from sorosim.mechanics.loads.spring import Spring
from sorosim.mechanics.model.anchor import Anchor
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints.free import Free
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.robot import Robot

WORST = Worst()
# v and s of R_q + v R_qd + s R_qdd: statics, a long step, a short one, and no method's
FACTORS = {"statics": (0.0, 0.0), "long step": (20.0, 400.0), "short step": (2e4, 4e8), "any": (-3.0, 0.5)}


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("sparse tangent against the dense matrix"))


def coupled_tree(seed):
    """A random tree with tendons of given length, springs between links, a fluid and, in two of three, loops."""
    rng, robot = np.random.default_rng(seed), with_fixed_axes(varied_tree(seed))
    actuators = {
        name: replace(one, stiffness=50.0, pushes=False) if isinstance(one, Tendon) else one
        for name, one in robot.description.actuators.items()
    }
    robot = with_actuators(robot, **actuators)
    names = [link.name for link in robot.description.links]
    loads = dict(robot.description.loads)
    for k in range(3):
        a, b = rng.choice([*names, "world"], 2, replace=False)
        at = pose(rng.normal(size=3), 0.1 * rng.normal(size=3))
        loads[f"spring{k}"] = Spring(Anchor(str(a), at=at), Anchor(str(b)), stiffness=20.0, damping=0.5, rest=0.1)
    rods = [link.name for link in robot.description.links if link.rod is not None]
    loads["sea"] = Fluid(1000.0, current=(0.1, "0.2*y", "0.1*t"), links=rods)
    robot = robot.with_loads(**loads)
    return with_random_loops(rng, robot, n=1 + seed % 2) if seed % 3 else robot


def dense(engine, q, qd, qdd, u, multiplier, known, rate, acceleration):
    """T, A and E from the derivatives of the residual."""
    out = engine.evaluate(task.RESIDUAL_DERIVATIVES, q, qd, qdd, u, multiplier=multiplier)
    T = out.by_q + rate * out.by_qd + acceleration * out.mass
    T[known], T[:, known], T[known, known] = 0.0, 0.0, 1.0
    A, E = out.closure.constraint, out.closure.error_by_q
    return T, np.where(known, 0.0, A), np.where(known, 0.0, E), out.mass


def independent_rows(A):
    if not len(A):
        return np.zeros(0, dtype=int)
    R, order = scipy.linalg.qr(A.T, mode="r", pivoting=True)
    size = np.abs(np.diag(R))
    return order[: np.count_nonzero(size > 1e-9 * size[0])]


def check(engine, tangent, state, known, factors, label, rng):
    """Solve T dq - A^T l = r, E dq = e for a known solution."""
    q, qd, qdd, u = state
    multiplier = rng.normal(size=engine.loop_layout.m)
    T, A, E, mass = dense(engine, q, qd, qdd, u, multiplier, known, *factors)
    rows = independent_rows(A)
    tangent.compliance[:] = np.where(np.isin(np.arange(len(A)), rows), 0.0, np.inf)
    exact, force = rng.normal(size=len(q)), np.zeros(len(A))
    force[rows] = np.abs(T).max() * rng.normal(size=len(rows))
    K = np.block([[T, -A[rows].T], [E[rows], np.zeros((len(rows), len(rows)))]])
    # the second time the places of entries are known
    for _ in range(2):
        tangent.linearise(q, qd, qdd, u, known=known, multiplier=multiplier)
        assert tangent.factor(*factors)
        x, found = T @ exact - A.T @ force, np.empty(len(A))
        tangent.solve(x, E @ exact, found)
        error = np.abs(x - exact).max() / np.abs(exact).max()
        assert WORST.note(f"{label}, over the condition number", error / np.linalg.cond(K)) <= 1e-15
        residual = np.abs(T @ x - A.T @ found - (T @ exact - A.T @ force)).max()
        size = (np.abs(T) @ np.abs(exact) + np.abs(A.T) @ np.abs(force)).max()
        assert WORST.note(f"{label}, residual", residual / size) <= 3e-13
    return mass, A, rows


@pytest.mark.parametrize("seed", range(9))
@pytest.mark.parametrize("name", FACTORS)
def test_solutions_are_those_of_the_dense_matrices(seed, name):
    robot, rng = coupled_tree(seed), np.random.default_rng(seed)
    engine, (q, qd, qdd, u) = robot.engine, random_state(rng, robot)
    if name == "statics":
        qd, qdd = 0.0 * qd, 0.0 * qdd
    known = rng.random(robot.ndof) < 0.1 * (seed % 3)
    tangent = LinearisedTree(engine)
    check(engine, tangent, (q, qd, qdd, u), known, FACTORS[name], name, rng)
    assert tangent.tangent.couplings.kept.any()


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_accelerations_under_loops_are_those_of_forward_dynamics(seed):
    robot, rng = coupled_tree(seed), np.random.default_rng(seed)
    engine, (q, qd, qdd, u) = robot.engine, random_state(rng, robot)
    known, tangent = engine.none_known, LinearisedTree(engine)
    mass, A, rows = check(engine, tangent, (q, qd, qdd, u), known, (20.0, 400.0), "loops", rng)
    assert tangent.factor(0.0, 1.0, inertia=True)
    exact, force = rng.normal(size=robot.ndof), np.zeros(len(A))
    force[rows] = np.abs(mass).max() * rng.normal(size=len(rows))
    x, found = mass @ exact - A.T @ force, np.empty(len(A))
    tangent.solve(x, A @ exact, found)
    K = np.block([[mass, -A[rows].T], [A[rows], np.zeros((len(rows), len(rows)))]])
    assert WORST.note("inertia", np.abs(x - exact).max() / np.linalg.cond(K)) <= 1e-15


def test_errors_along_a_motion_are_those_of_the_dense_rows():
    robot, rng = coupled_tree(1), np.random.default_rng(1)
    engine, state, tangent = robot.engine, random_state(rng, robot), LinearisedTree(robot.engine)
    known = engine.none_known
    check(engine, tangent, state, known, (20.0, 400.0), "loops", rng)
    E = np.array(dense(engine, *state, None, known, 0.0, 1.0)[2])
    E[np.isinf(tangent.compliance)] = 0.0
    dq = rng.normal(size=robot.ndof)
    tangent.mass_product(dq)
    assert_allclose(tangent.errors_along(tangent.tangent.node), E @ dq, atol=1e-10 * np.abs(E).max())


def test_a_spring_between_points_of_a_rod_is_eliminated_with_it():
    robot = limbs().with_loads(band=Spring(Anchor("arm", s=0.3), Anchor("arm", s=1.0), stiffness=20.0, damping=0.5))
    engine, rng, tangent = robot.engine, np.random.default_rng(0), LinearisedTree(robot.engine)
    for name, factors in FACTORS.items():
        check(engine, tangent, random_state(rng, robot), engine.none_known, factors, f"spring, {name}", rng)
    assert not tangent.tangent.couplings.kept.any()
    assert (tangent.tangent.couplings.first >= 0).any()


def test_contacts_between_rods():
    """On springs, the first of three rods lies on a plane, the second one across it, and the third one is apart."""
    rod = Rod(Division(0.2, Circle(0.01), Material(1e6, poisson=0.5, density=1000.0, damping=1e3), Strain(bending=1)))
    places = pose([0, 0, 0], [0, 0, 0.009]), pose([0, 0, 1.3], [0.1, -0.1, 0.028]), pose([0, 0, 0], [0, 1, 1])
    # the tangent of statics is singular along the position of what nothing holds
    held = Free(stiffness=(10.0, 10.0, 10.0, 1.0, 1.0, 1.0))
    links = tuple(Link(f"rod{i}", rod, joint=held, at=at) for i, at in enumerate(places))
    law = sorosim.ContactLaw(1e4, friction=0.3, damping=1.0)
    names = [link.name for link in links]
    loads = {
        "touch": sorosim.Contact(among=names, law=law),
        "floor": sorosim.Contact(names, {"half_space": {}}, law=law),
    }
    robot = Robot(Description("rods", links, loads=loads))
    engine, rng, tangent = robot.engine, np.random.default_rng(0), LinearisedTree(robot.engine)
    q, qd, qdd = np.array([[1e-3], [0.1], [1.0]]) * rng.normal(size=(3, robot.ndof))
    for name, factors in FACTORS.items():
        check(engine, tangent, (q, qd, qdd, np.zeros(0)), engine.none_known, factors, f"contact, {name}", rng)
    where = tangent.tangent.couplings.next[: int(engine.external.coupling.counts["n"])]
    assert (where == SPARSE).any()
    # a rod that touches no other one is no part of the sparse system
    by_rod = tangent.tangent.couplings.kept.reshape(3, -1)
    assert by_rod[:2].all()
    assert not by_rod[2].any()


@pytest.mark.parametrize("n_rods", [1, 3])
def test_tendons_of_given_length_through_rods(n_rods):
    strain = Strain(torsion=0, bending=1, elongation=0)
    rod = Rod(Division(0.2, Circle(0.01), Material(1e6, poisson=0.5, density=1000.0), strain))
    links = tuple(Link(f"rod{i}", rod, parent=f"rod{i - 1}" if i else "world") for i in range(n_rods))
    path = tuple(RouteSegment(link.name, y=0.005, z=0.0) for link in links)
    robot = Robot(Description("finger", links, actuators={"pull": Tendon(path, stiffness=100.0)}))
    engine, rng = robot.engine, np.random.default_rng(0)
    q, qd, qdd, _ = random_state(rng, robot)
    tangent = LinearisedTree(engine)
    for name, factors in FACTORS.items():
        check(engine, tangent, (q, qd, qdd, np.array([0.05])), engine.none_known, factors, f"tendon, {name}", rng)
    assert engine.external.actuators.tension[1, 0] > 0.0
    assert tangent.tangent.couplings.kept.any() == (n_rods > 1)


def test_a_singular_matrix_is_reported():
    robot = sorosim.load("four_bar")
    engine = robot.engine.replace(gravity=np.zeros(3))
    none = np.zeros(robot.ndof)
    tangent = LinearisedTree(engine)
    tangent.compliance[:] = np.inf
    tangent.linearise(none, none, none.copy(), np.zeros(0))
    assert not tangent.factor(0.0, 0.0)


def chosen_by_trial(near, above):
    """The same sequence with sets: of those without others on them, the first with the fewest neighbours."""
    near, rest, found = {b: set(row) for b, row in near.items()}, set(near), []
    while rest:
        free = [b for b in rest if not any(above[c] == b for c in rest)]
        b = min(free, key=lambda x: (len(near[x] & rest), -x))
        rest.remove(b)
        found.append(b)
        for c in near[b] & rest:
            near[c] |= (near[b] & rest) - {c}
    return found


@pytest.mark.parametrize("seed", range(6))
def test_blocks_are_eliminated_tips_first_by_fewest_neighbours(seed):
    rng = np.random.default_rng(seed)
    engine = coupled_tree(seed).engine
    tree, n_blocks = engine.tree, len(engine.tree.block)
    base = tree.block["parent"]
    above = np.where(base >= 0, tree.segment["block"][base], -1)
    coupled = rng.integers(-1, n_blocks, (6, 4))
    loops = {9 + k: row for k, row in enumerate(rng.integers(-1, n_blocks, (3, 4)))}
    kept = np.zeros(n_blocks, dtype=int)
    for b in {*coupled.ravel().tolist(), *np.ravel(list(loops.values())).tolist()} - {-1}:
        while b >= 0:
            kept[b], b = 1, above[b]
    found = elimination_sequence(tree, kept, coupled, loops).tolist()

    near = {b: set() for b in np.flatnonzero(kept).tolist()}
    groups = [{b} for b in near] + [set(row.tolist()) - {-1} for row in [*coupled, *loops.values()]]
    for group in groups:
        group |= {int(above[b]) for b in group} - {-1}
        for b in group:
            near[b] |= group - {b}
    assert [b for b in found if b >= 0] == chosen_by_trial(near, above)
    for c, row in loops.items():
        at = found.index(-1 - c)
        assert {b for b in row.tolist() if b >= 0} <= set(found[:at])
        last = [b for b in found[:at] if b >= 0][-1:]
        assert not (row >= 0).any() or last[0] in row
    assert sorted(-1 - c for c in found if c < 0) == sorted(loops)
