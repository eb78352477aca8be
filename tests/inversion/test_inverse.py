"""Inverse statics: derivatives against differences, targets that are known to be reachable, a second optimiser."""

import re
import warnings
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from scipy.optimize import minimize

import sorosim
from benchmarks.inverse import SUBJECTS, nearest
from sorosim.analysis.equations.system import StaticSystem
from sorosim.analysis.inversion.manifold import Manifold
from sorosim.analysis.inversion.targets import Targets
from sorosim.files import load_text

ARM, TWO = "cable_manipulator", "two_segment_arm"
TENSION = {ARM: 20.0, TWO: 8.0}


@pytest.fixture(scope="module")
def robots():
    return {name: sorosim.load(name) for name in (ARM, TWO, "stewart_soft", "slider_crank", "ur5_with_soft_gripper")}


def bounds_of(robot, high):
    return dict.fromkeys(robot.actuator_names, (0.0, high))


def drawn(robot, high, seed):
    return np.random.default_rng(seed).uniform(0.0, high, len(robot.actuator_names))


def missed(robot, found, link, goal):
    """Distance of a link from its goal in the equilibrium under what was found, computed anew."""
    again = sorosim.statics(robot, found.u, driven=found.driven or None, q0=found.q, stable=False)
    return float(np.linalg.norm(again.tip(link) - goal))


# -- derivatives


def test_static_residual_by_inputs_and_driven_coordinates(robots):
    for name, u, driven in [
        (ARM, drawn(robots[ARM], 5.0, 0), {}),
        ("stewart_soft", drawn(robots["stewart_soft"], 5.0, 1), {}),
        ("slider_crank", np.zeros(0), {"crank": 0.4}),
        ("ur5_with_soft_gripper", np.array([2.0, 1.0, 3.0]), {"shoulder": 0.3, "forearm": 0.5}),
    ]:
        robot = robots[name]
        system = StaticSystem(robot, u.copy(), driven)
        x = 0.05 * np.random.default_rng(2).normal(size=system.n_free + len(system.rows))
        residual, K, by = system.linearised(x)
        start, n = np.concatenate([u, system.driven_values]), len(u)
        h = 1e-5
        for k, e in enumerate(np.eye(len(start))):
            sides = []
            for sign in (1.0, -1.0):
                changed = start + sign * h * e
                sides.append(
                    StaticSystem(robot, changed[:n], dict(zip(driven, changed[n:], strict=True))).residual(x, 1.0)
                )
            assert np.allclose(by[:, k], (sides[0] - sides[1]) / (2.0 * h), rtol=1e-6, atol=1e-7 * np.abs(by).max()), (
                name
            )
        assert np.allclose(residual, system.residual(x, 1.0))
        assert np.array_equal(K, system.jacobian(x, 1.0)[1])


SENSED = {
    "tip": sorosim.PoseSensor("arm"),
    "strain": sorosim.StrainSensor("arm", s=0.5),
    "cable": sorosim.TendonSensor("cable1"),
}


def test_errors_of_targets_by_parameters(robots):
    """Against differences of equilibria that are solved anew, positions, poses and readings at once."""
    robot = robots[ARM].with_sensors(**SENSED)
    g = robot.pose(sorosim.statics(robot, u=[3.0, 0.0, 1.0, 2.0, 0.0]).q, "arm")
    reading = robot.measure(np.zeros(robot.ndof))
    values = {"arm": g, ("arm", 0.4): [0.1, None, 0.0], "strain": reading["strain"], "cable": reading["cable"]}
    u = drawn(robot, 6.0, 3)

    def error(u):
        eq = sorosim.statics(robot, u)
        system = StaticSystem(robot, eq.u.copy(), {})
        manifold = Manifold(system, np.arange(5), np.zeros(0, int))
        return manifold.point(Targets(robot, values, {"arm": 2.0}, 0.5), system.start(eq.q), eq.u)

    point, h = error(u), 1e-3
    for k, e in enumerate(np.eye(5)):
        near, far = ((error(u + x * e).error - error(u - x * e).error) / (2.0 * x) for x in (h, 2.0 * h))
        assert np.allclose(point.J[:, k], (4.0 * near - far) / 3.0, rtol=1e-7, atol=1e-8), k


# -- targets that can be reached


@pytest.mark.parametrize("name", [ARM, TWO])
@pytest.mark.parametrize("n", [12, pytest.param(1000, marks=pytest.mark.slow)])
def test_reachable_positions_are_reached(robots, name, n):
    robot, high, failed = robots[name], TENSION[name], 0
    solver = sorosim.InverseSolver(robot, bounds=bounds_of(robot, high))
    for k in range(n):
        goal = sorosim.statics(robot, drawn(robot, high, k)).tip()
        found = solver.solve({robot.outputs.places[0][0]: goal})
        size = sum(link.rod.length for link in robot.links if link.rod is not None)
        failed += not (found.reached and missed(robot, found, robot.outputs.places[0][0], goal) <= 1e-8 * size)
        assert (found.u >= 0.0).all()
        assert (found.u <= high).all()
    assert failed <= 0.005 * n


def test_each_search_from_the_same_start_reaches_too(robots):
    robot = robots[TWO]
    for k in range(6):
        goal = sorosim.statics(robot, drawn(robot, 8.0, 100 + k)).tip()
        found = sorosim.inverse(robot, {"upper": goal}, bounds=bounds_of(robot, 8.0))
        assert found.reached
        assert missed(robot, found, "upper", goal) <= 1e-8 * 0.3


def test_pose_of_a_plate_on_loops(robots):
    robot = robots["stewart_soft"]
    for k in range(4):
        eq = sorosim.statics(robot, drawn(robot, 5.0, k))
        found = sorosim.inverse(robot, {"plate": robot.pose(eq.q, "plate")}, bounds=bounds_of(robot, 5.0))
        again = sorosim.statics(robot, found.u, q0=found.q, stable=False)
        assert np.abs(robot.pose(again.q, "plate") - robot.pose(eq.q, "plate")).max() <= 1e-7
        assert max(map(max, robot.loop_gaps(found.q).values())) <= 1e-9


def test_a_direction_leaves_the_turn_about_it_free(robots):
    robot = robots["ur5_with_soft_gripper"]
    names = ["shoulder", "upper_arm", "forearm", "wrist1", "wrist2", "wrist3"]
    middle = {name: float(robot.description.statics["driven"][name]) for name in names}
    g = robot.pose(sorosim.statics(robot, driven={**middle, "forearm": middle["forearm"] + 0.2}).q, "palm")
    bounds = {name: (x - 1.0, x + 1.0) for name, x in middle.items()}
    found = sorosim.inverse(robot, {"palm": [*g[:3, 3], *g[:3, 0]]}, free=names, bounds=bounds)
    reached = robot.pose(found.q, "palm")
    assert found.reached
    assert np.abs(reached[:3, 3] - g[:3, 3]).max() <= 1e-7
    assert np.abs(reached[:3, 0] - g[:3, 0]).max() <= 1e-7
    far = sorosim.inverse(robot, {"palm": [5.0, 0.0, 0.0, 0.0, 0.0, 1.0]}, free=names, bounds=bounds)
    assert not far.reached
    assert re.search(r"palm misses by [\d.]+ m and [\d.e-]+ rad", far.message)


def test_heights_of_a_plate_by_chambers_in_its_pillars():
    """Three pillars that chambers make longer: height and tilt of the plate of hybrid_parallel."""
    base = sorosim.load("hybrid_parallel").description
    middle = {i: (sorosim.RouteSegment(f"pillar{i}", y=0.0, z=0.0),) for i in (1, 2, 3)}
    chambers = {f"chamber{i}": sorosim.Chamber(path, area=1e-4) for i, path in middle.items()}
    robot = sorosim.Robot(replace(base, actuators=chambers, loads={}))
    eq = sorosim.statics(robot, u={"chamber1": "10 kPa", "chamber2": "20 kPa", "chamber3": "5 kPa"})
    goal = robot.pose(eq.q, "plate")
    heights = {sorosim.Anchor("plate", frame=name): [None, None, z] for name, z in _heights(robot, eq.q).items()}
    found = sorosim.inverse(robot, heights, bounds=dict.fromkeys(chambers, (0.0, "50 kPa")))
    assert found.reached
    assert np.allclose(found.u, eq.u, rtol=1e-4)
    assert np.abs(robot.pose(found.q, "plate") - goal).max() <= 1e-6


def _heights(robot, q):
    frames = next(link for link in robot.links if link.name == "plate").frames
    return {name: float((robot.pose(q, "plate") @ frames[name])[2, 3]) for name in ("middle", "seat2", "seat3")}


def test_pose_by_driven_joints(robots):
    robot = robots["ur5_with_soft_gripper"]
    names = ["shoulder", "upper_arm", "forearm", "wrist1", "wrist2", "wrist3"]
    middle = robot.description.statics["driven"]
    rng = np.random.default_rng(0)
    driven = {name: float(middle[name]) + rng.uniform(-0.5, 0.5) for name in names}
    eq = sorosim.statics(robot, driven=driven)
    bounds = {name: (float(middle[name]) - 1.0, float(middle[name]) + 1.0) for name in names}
    found = sorosim.inverse(robot, {"palm": robot.pose(eq.q, "palm")}, free=names, bounds=bounds)
    assert found.reached
    assert np.abs(robot.pose(found.q, "palm") - robot.pose(eq.q, "palm")).max() <= 1e-7
    assert found.driven == pytest.approx(driven, abs=1e-6)
    assert found.equilibrium.driven.keys() == found.driven.keys()


def test_lengths_of_tendons(robots):
    """Tendons that are wound up by a length: they begin slack, where they do nothing."""
    base = robots[TWO].description
    wound = {name: replace(tendon, stiffness=2e4) for name, tendon in base.actuators.items()}
    robot = sorosim.Robot(replace(base, actuators=wound, simulate={}, statics={}))
    goal = sorosim.statics(robot, u={"a1": "4 mm", "b1": "6 mm", "b2": "2 mm"}).tip()
    found = sorosim.inverse(robot, {"upper": goal}, bounds=dict.fromkeys(wound, ("-2 cm", "2 cm")))
    assert found.reached
    assert missed(robot, found, "upper", goal) <= 1e-8 * 0.3


def test_readings_of_sensors(robots):
    robot = robots[ARM].with_sensors(**SENSED)
    eq = sorosim.statics(robot, u=[4.0, 1.0, 0.0, 0.0, 2.0])
    length = eq.measure()["cable"][0]
    found = sorosim.inverse(robot, {"arm": eq.tip(), "cable": [float(length), None]})
    assert found.reached
    assert found.equilibrium.measure()["cable"][0] == pytest.approx(length, rel=1e-7)
    assert set(found.errors) == {"arm", "cable"}


def test_arm_that_leans_on_a_wall():
    """Equilibria with contacts; the second one is the exact state again, since the wall leaves no other."""
    robot = sorosim.load("contact_cylinder")
    bounds = bounds_of(robot, 40.0)
    for u in ([30.0, 0.0, 0.0, 0.0, 4.0], [0.0, 30.0, 0.0, 2.0, 0.0]):
        goal = sorosim.statics(robot, u=u)
        assert len(goal.contacts.force), "the arm is to touch"
        found = sorosim.inverse(robot, {"arm": goal.tip()}, bounds=bounds)
        assert found.reached
        assert len(found.equilibrium.contacts.force)
        assert missed(robot, found, "arm", goal.tip()) <= 1e-8


def test_entries_units_and_frames(robots):
    robot = robots[TWO]
    found = sorosim.inverse(robot, {"upper": ["3 cm", None, None], ("upper", 0.0): [None, "10 mm", None]})
    assert found.reached
    assert found.equilibrium.tip()[0] == pytest.approx(0.03, abs=1e-8)
    assert robot.pose(found.q, "upper", s=0.0)[1, 3] == pytest.approx(0.01, abs=1e-8)
    beside = sorosim.Anchor("upper", at={"position": [0.0, 0.0, "5 mm"]})
    marked = sorosim.inverse(robot, {beside: [0.02, 0.0, -0.28]}, free=["b1", "b2", "b3"])
    assert marked.reached
    assert np.allclose((robot.pose(marked.q, "upper") @ [0.0, 0.0, 0.005, 1.0])[:3], [0.02, 0.0, -0.28], atol=1e-8)
    assert np.array_equal(marked.u[:3], robot.inputs(robot.description.statics["u"])[:3])


# -- least effort


@pytest.mark.parametrize("effort", ["inputs", "energy"])
def test_effort_is_the_least_nearby(robots, effort):
    """Against SLSQP, which has the targets as conditions."""
    robot = robots[TWO]
    for seed in (5, 6):
        goal = sorosim.statics(robot, u=drawn(robot, 8.0, seed)).tip()
        found = sorosim.inverse(robot, {"upper": goal}, bounds=bounds_of(robot, 8.0), effort=effort)
        q0 = found.q

        def cost(u, q0=q0):
            q = sorosim.statics(robot, u, q0=q0, stable=False).q
            return 0.1 * float(u @ u) if effort == "inputs" else 1e3 * robot.energy(q, np.zeros(robot.ndof)).elastic

        def miss(u, q0=q0, goal=goal):
            return 1e2 * (sorosim.statics(robot, u, q0=q0, stable=False).tip() - goal)

        other = minimize(
            cost, found.u, method="SLSQP", bounds=[(0.0, 8.0)] * 6, constraints={"type": "eq", "fun": miss},
            options={"ftol": 1e-10, "maxiter": 200},
        )  # fmt: skip
        assert np.abs(miss(other.x)).max() < 1e-4
        assert cost(found.u) <= cost(other.x) * (1.0 + 1e-4)
        assert cost(found.u) < 0.99 * cost(drawn(robot, 8.0, seed))


# -- targets that cannot be reached


def nearest_by_trust_constr(robot, goal, high, seed):
    """The least distance that SciPy's trust-constr finds."""
    last = {}

    def distance(u):
        eq = last["eq"] = sorosim.statics(robot, u, q0=last.get("eq"))
        e = 10.0 * (eq.tip() - goal)
        B = robot.internal_force_derivatives(eq.q, np.zeros(robot.ndof), u=u).B
        J = robot.pose(eq.q, robot.outputs.places[0][0])[:3, :3] @ robot.jacobian(eq.q, robot.outputs.places[0][0])[3:]
        return 0.5 * e @ e, 10.0 * (J @ np.linalg.solve(eq.tangent_stiffness, B)).T @ e

    n = len(robot.actuator_names)
    start = np.random.default_rng(seed).uniform(0.0, high, n)
    options = {"maxiter": 400, "gtol": 1e-9, "xtol": 1e-11}
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        found = minimize(distance, start, jac=True, method="trust-constr", bounds=[(0.0, high)] * n, options=options)
    return np.sqrt(2.0 * found.fun) / 10.0


@pytest.mark.parametrize(("n", "starts"), [(2, 1), pytest.param(100, 5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [ARM, TWO])
def test_nearest_point_of_targets_out_of_reach(robots, name, n, starts):
    """There are several nearest points: of a hundred, two may be others than the best that five searches find."""
    robot, high, rng = robots[name], 0.5 * TENSION[name], np.random.default_rng(11)
    farther = []
    for k in range(n):
        goal = rng.normal(size=3)
        goal *= rng.uniform(0.6, 1.0) / np.linalg.norm(goal)
        found = sorosim.inverse(robot, {robot.outputs.places[0][0]: goal}, bounds=bounds_of(robot, high))
        assert not found.reached
        assert found.active
        assert found.distance == pytest.approx(missed(robot, found, robot.outputs.places[0][0], goal), rel=1e-7)
        assert "misses by" in found.message
        assert "at their bounds" in found.message
        others = []
        for j in range(starts):
            try:
                others.append(nearest_by_trust_constr(robot, goal, high, 10 * k + j))
            except sorosim.ConvergenceError:
                continue
        if found.distance > min(others) + 1e-6:
            farther.append(found.distance / min(others) - 1.0)
    assert len(farther) <= 0.02 * n
    assert max(farther, default=0.0) <= 0.01


@pytest.mark.parametrize("start", [[0.0, -0.0981], [0.1, 0.3]])
def test_nearest_stable_state_where_nearer_ones_are_unstable(start):
    """A motor lifts a mass m on a column that a spring k holds upright: stably below k / (m g)."""
    robot = load_text(
        """
        sorosim: 1
        name: column
        links:
          column: {joint: {revolute: {axis: [0, 1, 0], stiffness: 9.81 N*m/rad}}}
          mass:
            parent: column
            at: {position: [0, 0, 0.5]}
            joint: {prismatic: {axis: [0, 0, 1], stiffness: 100 N/m}}
            body: {mass: 1, inertia: [1e-6, 1e-6, 1e-6]}
        actuators: {lift: {joint: {link: mass}}}
        """, "column",
    )  # fmt: skip
    goal = np.array([0.0, 0.3, 1.5])  # off the plane: out of reach
    found = sorosim.inverse(robot, {"mass": goal}, q0=start)
    assert found.stable
    assert not found.reached
    height = robot.pose(found.q, "mass")[2, 3]
    assert 0.99 < height <= 1.0
    assert found.distance == pytest.approx(np.hypot(0.3, 0.5), abs=0.01)
    assert "nearer equilibria are unstable" in found.message
    assert "misses by 0.58" in found.message
    nearer = sorosim.inverse(robot, {"mass": goal}, q0=start, stable=False)
    assert not nearer.stable
    assert nearer.distance == pytest.approx(0.3, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "seed", "which"),
    [(SUBJECTS[2], 2, (22, 24)), (SUBJECTS[3], 2, (5, 9)), (SUBJECTS[4], 102, (4, 17))],
    ids=["contact", "loops", "branches"],
)
def test_nearest_point_with_contact_and_with_loops(make, seed, which):
    """Targets of the study, at which searches lead over kinks of contacts, and beyond folds to no state of rest.

    The last are nearest on branches of equilibria that are reached by a jump only.
    """
    subject = make()
    goals = list(islice(subject.far(np.random.default_rng(seed)), which[-1] + 1))
    for k in which:
        found = sorosim.inverse(subject.robot, {subject.link: goals[k]}, bounds=subject.bounds)
        assert not found.reached
        assert found.stable
        assert found.error == pytest.approx(subject.remaining(found.u, found.q, goals[k]), rel=1e-6)
        starts = np.random.default_rng(3).uniform(0.0, 1.0, (3, len(subject.bounds)))
        assert found.error <= min(nearest(subject, goals[k], start) for start in starts) * (1.0 + 1e-5)


# -- paths


def test_a_path_is_followed_within_rates(robots, tmp_path):
    robot = robots[TWO]
    angles = np.linspace(0.0, 2.0 * np.pi, 41)
    circle = np.stack([0.04 * np.cos(angles), 0.04 * np.sin(angles), np.full(41, -0.285)], axis=1)
    path = sorosim.inverse_path(robot, {"upper": circle}, bounds=bounds_of(robot, 8.0))
    assert path.reached.all()
    assert path.message == "41 of 41 reached"
    assert max(one.steps for one in path.states[1:]) <= 8
    assert np.abs(path.u[-1] - path.u[0]).max() < 0.02
    run = path.run("50 ms")
    assert np.allclose(run.tip(), circle, atol=1e-8)
    path.save(tmp_path / "circle.h5")
    assert np.array_equal(sorosim.open(tmp_path / "circle.h5").u, path.u)

    slow = sorosim.inverse_path(
        robot, [{"upper": p} for p in circle], rates=dict.fromkeys(robot.actuator_names, "0.1 N")
    )
    assert np.abs(np.diff(slow.u, axis=0)).max() <= 0.1 + 1e-12
    assert not slow.reached.all()


def test_one_search_is_an_equilibrium_on_file(robots, tmp_path):
    found = sorosim.inverse(robots[ARM], {"arm": [0.46, 0.05, -0.12]})
    found.save(tmp_path / "found.h5")
    stored = sorosim.open(tmp_path / "found.h5")
    assert np.allclose(stored.q, found.q, atol=1e-9)
    assert np.array_equal(stored.u, found.u)
    assert found.error <= 1e-8
    assert repr(found).startswith("<Inverse of 'cable-driven manipulator': reached in")
    assert "<" in found._repr_html_()


# -- mistakes


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"targets": {}}, "targets: expected a mapping of places or sensors to values"),
        ({"targets": {"ram": [0, 0, 0]}}, "did you mean arm"),
        ({"targets": {("arm", 1.5): [0, 0, 0]}}, "a fraction of the rod's length from 0 to 1, got 1.5"),
        (
            {"targets": {"arm": [0, 0]}},
            "a position (3,), a position and a direction (6,) or a pose (4, 4), got an array of shape (2,)",
        ),
        ({"targets": {"arm": [0, np.nan, 0]}}, "targets.arm[1]: expected"),
        ({"targets": {"arm": np.array([0, np.nan, 0])}}, "None in a list of numbers leaves one out"),
        ({"targets": {"arm": np.array([0, 1j, 0])}}, "targets.arm: expected 3 numbers, or an array"),
        ({"targets": {"arm": None}}, "targets.arm: expected 3 numbers, or an array, got nothing"),
        ({"targets": {("arm", True): [0, 0, 0]}}, "a fraction of the rod's length from 0 to 1, got True"),
        ({"targets": {"world": [0, 0, 0]}}, "a link, or a frame on one, got 'world'; known: arm"),
        ({"targets": {"arm": [None, None, None]}}, "at least one of them not None"),
        ({"targets": {"arm": ["3 N", 0, 0]}}, "targets.arm[0]: expected a length"),
        ({"targets": {"arm": 2.0 * np.eye(4)}}, "a pose, whose upper left part is a rotation"),
        ({"bounds": {"cabel1": (0, 1)}}, "bounds: expected names of what is free, got 'cabel1'; did you mean cable1"),
        (
            {"bounds": {"cable1": (2, 1)}},
            "bounds.cable1: expected a low bound that is not above the high one, got 2 and 1",
        ),
        ({"bounds": {"cable1": 3.0}}, "bounds.cable1: expected a pair (low, high), got 3.0"),
        ({"bounds": {"cable1": (0, "3 m")}}, "bounds.cable1.high: expected a force"),
        ({"free": []}, "at least one, got none"),
        ({"free": ["cable9"]}, "free: expected the name of an input or a coordinate, got 'cable9'; did you mean cable"),
        ({"free": ["cable1", "cable1"]}, "every name once, got 'cable1' again"),
        ({"weights": {"leg": 1.0}}, "weights: expected weights of targets, got 'leg'"),
        ({"weights": [1.0]}, "weights: expected a mapping of targets to weights, got [1.0]"),
        ({"weights": {"arm": 0.0}}, "weights.arm: expected a number greater than 0"),
        ({"effort": "force"}, "effort: expected"),
        ({"tolerance": 0.0}, "tolerance: expected a number greater than 0"),
        ({"starts": -1}, "starts: expected"),
        ({"u": {"cable1": "2 m"}}, "u.cable1: expected a force"),
    ],
)
def test_mistakes_are_told_once(robots, options, words):
    targets = options.pop("targets", {"arm": [0.4, 0.0, 0.0]})
    with pytest.raises(sorosim.InputError) as caught:
        sorosim.inverse(robots[ARM], targets, **options)
    assert words in str(caught.value)


def test_mistakes_along_a_path(robots):
    for targets, words in [
        ([], "a list of targets"),
        ({"arm": [[0, 0, 0]], ("arm", 0.5): [[0, 0, 0]] * 2}, "as many values of each target"),
        ({"arm": 0.4}, "as many values of each target, one or more, got no list of 'arm'"),
        ([{"arm": [0.4, 0, 0]}, {"arm": [0.4, 0]}], "targets_along[1].arm: expected a position (3,)"),
        ([{"arm": [0.4, 0, 0]}, [0.4, 0, 0]], "targets_along[1]: expected a mapping of places or sensors to values"),
    ]:
        with pytest.raises(sorosim.InputError, match=r".") as caught:
            sorosim.inverse_path(robots[ARM], targets)
        assert words in str(caught.value)
    with pytest.raises(sorosim.InputError, match="rates: expected names of what is free, got 'pull'"):
        sorosim.InverseSolver(robots[ARM]).solve({"arm": [0.4, 0.0, 0.0]}, rates={"pull": 1.0})
    with pytest.raises(sorosim.InputError, match="has no inputs"):
        sorosim.inverse(robots["slider_crank"], {"piston": [0.3, 0.0, 0.0]})


def test_all_joints_of_a_rigid_arm_are_driven_to_a_pose():
    """Where no coordinate is left to be in equilibrium; the file drives the joints by the names of their links."""
    robot, q = sorosim.load("puma560"), np.array([0.3, -0.4, 0.2, 0.5, 0.3, 0.1])
    found = sorosim.inverse(robot, {"flange": robot.pose(q, "flange")}, free=list(robot.coordinate_names))
    assert found.reached
    np.testing.assert_allclose(robot.pose(found.q, "flange"), robot.pose(q, "flange"), atol=1e-8)
    assert list(found.driven) == list(robot.coordinate_names)


def test_names_and_rates_are_checked_before_anything_is_searched(robots):
    robot = robots[ARM]
    with pytest.raises(
        sorosim.InputError, match=r"free: expected the name of an input or a coordinate, got '\['cable1'"
    ):
        sorosim.inverse(robot, {"arm": [0.4, 0.0, 0.0]}, free=[["cable1"]])
    with pytest.raises(sorosim.InputError, match=r"rates\.cable1: expected a number greater than 0, got -1"):
        sorosim.inverse_path(robot, [{"arm": [0.4, 0.0, 0.0]}], rates={"cable1": -1.0})
