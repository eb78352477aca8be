"""Rods of finite elements span by span, against the same rods whose coordinates all move every segment."""

import numpy as np
import pytest
from helpers.differences import relative_error
from helpers.robots import random_body, random_joint, random_pose, random_rod, random_state
from numpy.testing import assert_allclose

from sorosim.mechanics.dynamics.forward import forward_by_articulated
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.kernels.tangent import factor_tangent, make_tangent, solve_tangent
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.robot import Robot

EPS = np.finfo(float).eps
STRAINS = {
    "linear": Strain("linear_elements", torsion=6, bending=9, elongation=6),
    "quadratic": Strain("quadratic_elements", bending=8),
    "cubic": Strain("cubic_elements", torsion=7, bending_z=7),
    "hermite": Strain("hermite", bending=10, shear=10),
    # one function over the whole rod is local everywhere
    "mixed": Strain(torsion=("legendre", 1), bending=("linear_elements", 14)),
}
TASKS = {
    "inverse dynamics": (task.INVERSE, ("tau",)),
    "its derivatives": (task.INVERSE_DERIVATIVES, ("tau", "by_q", "by_qd", "mass")),
    "the residual's": (task.RESIDUAL_DERIVATIVES, ("tau", "by_q", "by_qd", "mass")),
    "mass matrix": (task.MASS, ("tau", "mass")),
}


def robot_of(name):
    """A rod of elements on a joint, from whose middle and tip a rod of elements and a body hang, pulled at places."""
    rng = np.random.default_rng(list(STRAINS).index(name))
    rubber = Material(1e6, poisson=0.5, density=1000.0, damping=1e4)
    rods = [Rod((Division(0.4, Circle((0.03, 0.015)), rubber, STRAINS[name]),)) for _ in range(2)]
    links = (
        Link("arm", rods[0], joint=random_joint(rng, ["spherical"])),
        Link("branch", rods[1], parent="arm", s=0.37, at=random_pose(rng), joint=random_joint(rng, ["revolute"])),
        Link("smooth", random_rod(rng, 6), parent="branch", at=random_pose(rng)),
        Link("body", random_body(rng), parent="arm", at=random_pose(rng), joint=random_joint(rng, ["universal"])),
    )
    loads = {
        "held": Wrench("arm", 0.61, force=(0.1, 0.3, -0.2), frame="body"),
        "pulled": Wrench("branch", moment=(0.01, 0.0, 0.02), force=(0.0, 0.3, -0.2), frame="world"),
    }
    return Robot(Description("elements", links, loads=loads, gravity=(1.0, 2.0, -9.0)))


def everywhere(engine):
    """The same engine; every coordinate of a rod moves all of it."""
    segment, block = engine.tree.segment.copy(), engine.tree.block.copy()
    segment["local"], segment["n_local"], block["is_local"] = -1, segment["n"], 0
    return engine.replace(tree=engine.tree._replace(segment=segment, block=block))


@pytest.fixture(params=STRAINS)
def case(request):
    robot = robot_of(request.param)
    state = random_state(np.random.default_rng(5), robot)
    assert robot.engine.tree.block["is_local"].sum() == 2
    return robot.engine, everywhere(robot.engine), state


def test_a_rod_has_spans_where_its_coordinates_move_a_third_of_it_at_most():
    tree = robot_of("linear").engine.tree
    local = tree.segment[tree.segment["local"] >= 0]
    assert (3 * local["n_local"] <= local["n"]).all()
    few = Rod(
        (Division(0.4, Circle(0.01), Material(1e6, poisson=0.5, density=1e3), Strain("linear_elements", bending=4)),)
    )
    tree = Robot(Description("few", (Link("arm", few),))).engine.tree
    assert tree.block[-1].n == 10
    assert not tree.block["is_local"].any()


@pytest.mark.parametrize("moving", [True, False], ids=["moving", "at rest"])
@pytest.mark.parametrize("name", TASKS)
def test_spans_give_what_whole_rods_give(case, name, moving):
    engine, other, (q, qd, qdd, u) = case
    if not moving:
        qd, qdd = 0.0 * q, 0.0 * q
    what, parts = TASKS[name]
    found = {part: getattr(engine.evaluate(what, q, qd, qdd, u), part).copy() for part in parts}
    expected = other.evaluate(what, q, qd, qdd, u)
    for part, value in found.items():
        assert relative_error(value, getattr(expected, part)) < 2000 * EPS, part


def test_both_algorithms_of_forward_dynamics_take_spans(case):
    engine, _, (q, qd, qdd, u) = case
    known = np.random.default_rng(0).random(len(q)) < 0.2
    by_composite = engine.evaluate(task.FORWARD, q, qd, qdd.copy(), u, known=known).qdd.copy()
    M = engine.evaluate(task.MASS, q, qd, qdd, u).mass[np.ix_(~known, ~known)]
    d = np.sqrt(np.diag(M))
    condition = np.linalg.cond(M / np.outer(d, d))
    found = forward_by_articulated(engine, q, qd, np.where(known, qdd, 0.0), u, 0.0, known)
    scale = np.ones(len(q))
    scale[~known] = d
    assert relative_error(scale * found, scale * by_composite) < 20 * EPS * condition


@pytest.mark.parametrize("factors", [(0.0, 0.0), (20.0, 400.0), (2e4, 4e8)], ids=["statics", "long step", "short step"])
def test_the_tangent_along_the_tree_takes_spans(case, factors):
    engine, _, (q, qd, qdd, u) = case
    rng, none = np.random.default_rng(2), np.zeros_like(q)
    known = rng.random(len(q)) < 0.1
    if factors == (0.0, 0.0):
        qd, qdd = none, none
    out = engine.evaluate(task.RESIDUAL_DERIVATIVES, q, qd, qdd, u)
    T = out.by_q + factors[0] * out.by_qd + factors[1] * out.mass
    T[known], T[:, known] = 0.0, 0.0
    T[known, known] = 1.0
    exact = rng.normal(size=len(q))
    engine.evaluate(task.LINEARISE, q, qd, qdd, u)
    tangent, found = make_tangent(engine.tree), T @ exact
    moving = bool(qd.any())
    assert factor_tangent(engine.tree, known, *factors, moving, True, False, False, engine.workspace, tangent) == -1
    solve_tangent(engine.tree, tangent, found)
    assert_allclose(found, exact, rtol=0, atol=50 * EPS * np.linalg.cond(T) * np.abs(exact).max())
