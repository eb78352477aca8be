"""Forward and hybrid dynamics: every algorithm against the others, on random trees of rods and rigid links."""

import numpy as np
import pytest
from helpers.differences import relative_error
from helpers.robots import rigid_tree, varied_tree

import sorosim
from benchmarks.algorithms import forward_dynamics, forward_dynamics_derivatives, solve_mass, unit_columns
from sorosim.base.errors import ModelError
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints.revolute import Revolute
from sorosim.mechanics.model.link import WORLD, Link

EPS = np.finfo(float).eps


def tree(seed):
    rng = np.random.default_rng(seed)
    return rigid_tree(rng, 4 + seed) if seed % 3 == 2 else varied_tree(seed)


def state(robot, seed):
    rng = np.random.default_rng(seed)
    q, qd, qdd, tau = 0.3 * rng.normal(size=(4, robot.ndof))
    return q, qd, qdd, tau, rng.normal(size=len(robot.actuator_names)), rng


def digits(robot, q):
    """What solving with the mass matrix leaves, in its own scale: a joint and a mode of a rod differ by decades."""
    M = robot.mass_matrix(q)
    d = 1.0 / np.sqrt(np.diag(M))
    return 1e-13 + 20.0 * EPS * np.linalg.cond(d[:, None] * M * d)


@pytest.mark.parametrize("seed", range(18))
def test_articulated_bodies_give_the_accelerations_of_the_mass_matrix(seed):
    robot = tree(seed)
    q, qd, _, _, u, _ = state(robot, seed)
    composite = robot.forward_dynamics(q, qd, u=u, algorithm="composite")
    articulated = robot.forward_dynamics(q, qd, u=u, algorithm="articulated")
    # scaled: what is light is fast
    d = np.sqrt(np.diag(robot.mass_matrix(q)))
    assert relative_error(d * articulated, d * composite) < digits(robot, q)
    # and both solve the equations of motion
    rest = robot.inverse_dynamics(q, qd, qdd=articulated) - robot.internal_force(q, qd, u=u)
    size = np.abs(robot.mass_matrix(q)) @ np.abs(articulated) + np.abs(robot.internal_force(q, qd, u=u))
    assert (np.abs(rest) <= 1e-10 * size.max()).all()


@pytest.mark.parametrize("seed", range(6))
def test_unit_calls_of_inverse_dynamics_are_the_bias_and_the_mass_matrix(seed):
    robot = tree(seed)
    q, qd, _, _, u, rng = state(robot, seed)
    M, columns = robot.mass_matrix(q), rng.permutation(robot.ndof)
    d = np.sqrt(np.diag(M))
    # nothing is taken from a column, so each entry has its digits in the scale of its row and column; those that are
    # lost are of moments about the world's origin, from where a body is far and small
    assert (
        np.abs(unit_columns(robot.engine, q, columns) - M[:, columns]) <= 1000 * EPS * np.outer(d, d[columns])
    ).all()
    found, expected = (forward_dynamics(robot, q, qd, u=u, algorithm=name) for name in ("unit", "composite"))
    assert relative_error(d * found, d * expected) < digits(robot, q)


@pytest.mark.parametrize("seed", range(9))
@pytest.mark.parametrize("algorithm", ["articulated", "inverse"])
def test_derivatives_by_solves_and_by_multiplication(seed, algorithm):
    robot = tree(seed)
    q, qd, _, _, u, _ = state(robot, seed)
    d = np.sqrt(np.diag(robot.mass_matrix(q)))
    found = forward_dynamics_derivatives(robot, q, qd, u=u, algorithm=algorithm)
    expected = robot.forward_dynamics_derivatives(q, qd, u=u, algorithm="composite")
    for a, b in zip(found[1:3], expected[1:3], strict=True):
        assert relative_error(d[:, None] * a / d, d[:, None] * b / d) < digits(robot, q)
    assert relative_error(d[:, None] * found.dqdd_du, d[:, None] * expected.dqdd_du) < digits(robot, q)


@pytest.mark.parametrize("seed", range(12))
def test_hybrid_dynamics(seed):
    robot = tree(seed)
    q, qd, qdd, tau, _, rng = state(robot, seed)
    known = np.flatnonzero(rng.random(robot.ndof) < 0.4)
    d = np.sqrt(np.diag(robot.mass_matrix(q)))
    found, expected = (
        robot.hybrid_dynamics(q, qd, qdd=qdd, tau=tau, known=known, algorithm=name)
        for name in ("articulated", "composite")
    )
    assert relative_error(d * found.qdd, d * expected.qdd) < digits(robot, q)
    assert relative_error(found.tau / d, expected.tau / d) < digits(robot, q)
    np.testing.assert_array_equal(found.qdd[known], qdd[known])
    free = np.setdiff1d(np.arange(robot.ndof), known)
    np.testing.assert_array_equal(found.tau[free], tau[free])
    derivatives = [
        robot.hybrid_dynamics_derivatives(q, qd, qdd=qdd, tau=tau, known=known, algorithm=name)
        for name in ("articulated", "composite")
    ]
    for a, b in zip(*(one[2:4] for one in derivatives), strict=True):
        assert relative_error(d[:, None] * a / d, d[:, None] * b / d) < digits(robot, q)
    for a, b in zip(*(one[5:7] for one in derivatives), strict=True):
        assert relative_error(a / d[:, None] / d, b / d[:, None] / d) < digits(robot, q)


def test_all_known_is_inverse_dynamics():
    robot = tree(4)
    q, qd, qdd, tau, _, _ = state(robot, 4)
    found = robot.hybrid_dynamics(q, qd, qdd=qdd, tau=tau, known=np.arange(robot.ndof), algorithm="articulated")
    np.testing.assert_array_equal(found.qdd, qdd)
    assert relative_error(found.tau, robot.inverse_dynamics(q, qd, qdd=qdd)) < 1e-12


def test_driven_joints_and_loads_are_known_to_all():
    robot = sorosim.load("hybrid_serial")
    q, qd, _, _, _, rng = state(robot, 1)
    driven = {link.name: float(rng.normal()) for link in robot.links if link.joint.kind == "revolute"}
    one, other, third = (
        forward_dynamics(robot, q, qd, driven_qdd=driven, algorithm=name)
        for name in ("composite", "articulated", "unit")
    )
    assert relative_error(other, one) < 1e-8
    assert relative_error(third, one) < 1e-6


def test_what_moves_no_mass_is_named():
    links = {"a": {"joint": {"revolute": {"axis": [0, 0, 1]}}, "body": {"mass": 1, "inertia": [1, 1, 1]}},
             "b": {"parent": "a", "joint": {"prismatic": {"axis": [1, 0, 0]}}}}  # fmt: skip
    robot = sorosim.load({"sorosim": 1, "name": "massless", "links": links})
    for algorithm in ("composite", "articulated"):
        with pytest.raises(sorosim.ModelError, match="b"):
            forward_dynamics(robot, [0, 0], [0, 0], algorithm=algorithm)


AXIS = [0.3, 0.5, 0.8]


def coaxial(place, inertia):
    """An arm with two hinges about one axis behind each other, what is between them moving `inertia` only."""
    links = {
        "arm": {"joint": {"revolute": {"axis": [0.1, 1.0, 0.0]}}, "at": {"position": place},
                "body": {"mass": 2.0, "inertia": [0.01, 0.02, 0.015]}},
        "between": {"parent": "arm", "at": {"position": [0.3, 0.2, 0.1]}, "joint": {"revolute": {"axis": AXIS}}},
        "hand": {"parent": "between", "joint": {"revolute": {"axis": AXIS}},
                 "body": {"mass": 1.3, "inertia": [0.01, 0.02, 0.015], "centre": [0.05, 0.02, 0.03]}},
    }  # fmt: skip
    if inertia:
        links["between"]["body"] = {"mass": 1e-3, "inertia": [inertia] * 3}
    return sorosim.load({"sorosim": 1, "name": "coaxial", "links": links})


@pytest.mark.parametrize("algorithm", ["composite", "articulated", "unit", "fixman"])
@pytest.mark.parametrize("place", [[0.0, 0.0, 0.0], [1.0, 2.0, 1.0], [30.0, 20.0, 10.0]])
def test_what_is_singular_to_rounding_only_is_refused_at_every_state(rng, place, algorithm):
    robot, zero = coaxial(place, 0.0), np.zeros(3)
    for q in rng.uniform(-3.0, 3.0, (20, 3)):
        with pytest.raises(ModelError, match=r"(between|hand)\.revolute: expected a coordinate that moves mass"):
            forward_dynamics(robot, q, zero, algorithm=algorithm)
        if algorithm != "unit":
            with pytest.raises(ModelError, match="none that others do not move as well"):
                solve_mass(robot, q, zero, algorithm=algorithm)


HINGE = {"revolute": {"axis": AXIS}}


IN_COMMON = [(HINGE, "free"), ("free", HINGE), ("spherical", "free"), ("free", "spherical"), ("spherical", "spherical")]
FAR = [1000.0, 300.0, 10.0]


@pytest.mark.parametrize(("first", "second", "place", "algorithm"), [
    pytest.param(*joints, place, algorithm, id="-".join(map(str, (*joints, place, algorithm))))
    for joints in IN_COMMON
    for place in ([0.0, 0.0, 0.0], [30.0, 20.0, 10.0], FAR)
    for algorithm in ("composite", "articulated", "unit", "fixman")
])  # fmt: skip
def test_a_massless_link_between_joints_with_motions_in_common_is_refused(rng, place, first, second, algorithm):
    """A motion of the second joint that the first one has as well moves nothing, however many coordinates it takes."""
    links = {
        "arm": {"joint": {"revolute": {"axis": [0.1, 1.0, 0.0]}}, "at": {"position": place},
                "body": {"mass": 2.0, "inertia": [0.01, 0.02, 0.015]}},
        "between": {"parent": "arm", "at": {"position": [0.3, 0.2, 0.1]}, "joint": first},
        "hand": {"parent": "between", "joint": second, "at": {"position": [0.2, 0.1, 0.3]},
                 "body": {"mass": 1.3, "inertia": [0.01, 0.02, 0.015], "centre": [0.05, 0.02, 0.03]}},
    }  # fmt: skip
    robot = sorosim.load({"sorosim": 1, "name": "massless", "links": links})
    known = np.arange(robot.ndof) == 0
    for q in rng.uniform(-1.0, 1.0, (8, robot.ndof)):
        zero = np.zeros(robot.ndof)
        with pytest.raises(ModelError, match="expected a coordinate that moves mass"):
            forward_dynamics(robot, q, zero, algorithm=algorithm)
        if algorithm in ("composite", "articulated"):
            with pytest.raises(ModelError, match="expected a coordinate that moves mass"):
                robot.hybrid_dynamics(q, zero, qdd=zero, tau=zero, known=known, algorithm=algorithm)


@pytest.mark.parametrize("place", [[0.0, 0.0, 0.0], [1.0, 2.0, 1.0]])
def test_what_is_light_is_no_mistake(rng, place):
    """Some 1e-8 of the inertia beyond it: that many digits are lost, and no more but the far place's two."""
    robot, zero = coaxial(place, 1e-10), np.zeros(3)
    for q in rng.uniform(-3.0, 3.0, (5, 3)):
        qdd = [
            forward_dynamics(robot, q, zero, algorithm=name) for name in ("composite", "articulated", "unit", "fixman")
        ]
        for found in qdd:
            assert relative_error(found, qdd[-1]) < 1e-4


def test_what_holds_for_trees_only_says_so():
    robot = sorosim.load("four_bar")
    zero = np.zeros(robot.ndof)
    with pytest.raises(sorosim.InputError, match="the others hold for trees"):
        robot.forward_dynamics(zero, zero, algorithm="articulated")


def test_unknown_algorithms_are_refused():
    robot = sorosim.load("pendulum")
    with pytest.raises(sorosim.InputError, match="algorithm"):
        robot.forward_dynamics([0], [0], algorithm="featherstone")


def test_derivatives_leave_no_room_behind_that_grows_with_the_square_of_coordinates():
    sizes = []
    for n in (20, 40):
        body = RigidBody(1.0, inertia=(1.0, 1.0, 1.0))
        links = [Link(f"{i}", body, joint=Revolute(), parent=f"{i - 1}" if i else WORLD) for i in range(n)]
        robot = sorosim.Robot(Description("chain", tuple(links)))
        robot.forward_dynamics_derivatives(robot.initial_q, robot.initial_q)
        sizes.append(sum(array.size for array in robot.engine.workspace))
    assert sizes[1] < 2.0 * sizes[0]


def test_ready_gives_the_internal_force():
    robot = tree(1)
    q, qd, _, _, u, _ = state(robot, 1)
    engine = robot.engine
    found = engine.evaluate(task.PREPARE, q, qd, np.zeros(robot.ndof), u)
    np.testing.assert_allclose(found.tau, robot.internal_force(q, qd, u=u), rtol=1e-14, atol=1e-14)


def test_solve_mass_looks_for_joints_with_whole_turns_once(monkeypatch):
    robot = sorosim.load("puma560")
    q, b = np.random.default_rng(0).normal(size=(2, robot.ndof))
    first = robot.solve_mass(q, b, algorithm="composite")

    def searched_again(*arguments, **options):
        raise AssertionError

    monkeypatch.setattr("sorosim.mechanics.dynamics.inertia.ChartLimit", searched_again)
    assert np.array_equal(robot.solve_mass(q, b, algorithm="composite"), first)
    np.testing.assert_allclose(robot.mass_matrix(q) @ first, b, atol=1e-9 * np.abs(b).max())
