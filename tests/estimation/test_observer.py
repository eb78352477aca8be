"""Observers: the textbook's filter, statistics, readings that are missing, late or wrong, loops, rotations, errors."""

import json
import sys
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scipy import linalg, optimize, stats

import sorosim
from benchmarks import observers
from sorosim.analysis.equilibria.assembly import close_if_possible, closed_rates
from sorosim.connect.cli.main import main
from sorosim.files import load_text
from sorosim.mechanics.model.chart import Charts
from sorosim.studies.estimation.moving import Belief

ARM = observers.ARM + "sensors: {gyro: {imu: {link: arm}, noise: [0.01, 0.01, 0.01, 0.1, 0.1, 0.1]}}\n"
MASS = """
sorosim: 1
name: mass
gravity: [0, 0, 0]
links:
  cart:
    joint: {prismatic: {axis: [1, 0, 0], stiffness: 20 N/m, damping: 0.3 N*s/m}}
    body: {sphere: {radius: 5 cm}, mass: 0.5 kg}
"""
BODY = """
sorosim: 1
name: body
gravity: [0, 0, 0]
links:
  hull:
    joint: free
    body: {box: {size: [20 cm, 10 cm, 5 cm]}, mass: 1 kg}
"""


def robot_of(text):
    return load_text(text, "robot.yaml")


@pytest.fixture(scope="module")
def arm():
    return robot_of(ARM)


def disturbed(observer, sim, state, u, random):
    """The next state of a robot under the random accelerations that an observer expects."""
    sim._begin_at(state)
    after = sim.step(u)
    kicks = observer._disturbances(np.array(after.q))
    d = kicks @ random.standard_normal(kicks.shape[1])
    return moved_by(after, d)


def moved_by(state, d):
    """A state that is moved by the first entries of d, as observers order them."""
    n = len(state.q)
    strain = None if state.strain is None else np.array(state.strain) + d[2 * n : 2 * n + len(state.strain)]
    return replace(state, q=np.array(state.q) + d[:n], qd=np.array(state.qd) + d[n : 2 * n], strain=strain)


def test_of_a_linear_robot_it_is_the_kalman_filter():
    """Mean and covariance of a mass on a spring with an unknown force, by the equations of the textbook."""
    robot, sd, dt = robot_of(MASS), 2e-3, 0.02
    observer = sorosim.Observer(
        robot, dt, {"cart": "force"}, {"cart": "0.2 N", "motion": "0.05 m/s"}, noise=sd, prior={"cart": "0.5 N"}
    )
    found = observer.reset([0.02], [0.0], position="1 cm", velocity="3 cm/s")
    P = np.diag([0.01**2, 0.03**2, *[0.25] * 3])
    assert found.covariance == pytest.approx(P, abs=1e-15)
    x, random = np.array([0.02, 0.0, 0.0, 0.0, 0.0]), np.random.default_rng(0)
    sim = sorosim.Stepper(observer.robot, dt, substeps=4)
    sim.reset([0.0], [0.0])
    sim.step([0.0, 0.0, 0.0])
    A, B = sim.linearize()
    F = np.block([[A, B], [np.zeros((3, 2)), np.eye(3)]])
    g = np.array([0.5 * dt, 1.0, 0.0, 0.0, 0.0])
    Q = 0.05**2 * dt * np.outer(g, g) + np.diag([0.0, 0.0, *[dt * 0.2**2] * 3])
    H = np.eye(5)[:1]
    for k in range(60):
        y = 0.02 * np.cos(0.1 * k) + sd * random.standard_normal()
        found = observer.step(None, {"cart": [y, None, None]})
        x, P = F @ x, F @ P @ F.T + Q
        K = P @ H.T / (H @ P @ H.T + sd**2)
        x, P = x + K[:, 0] * (y - x[0]), (np.eye(5) - K @ H) @ P
    assert np.concatenate([found.q, found.qd, found.mean]) == pytest.approx(x, abs=1e-10)
    assert found.covariance == pytest.approx(P, rel=1e-8, abs=1e-14)


def nees(robot, unknown, process, prior, read, n, n_steps, u=None, start="equilibrium", noise=1e-3, seed=0, **options):
    """NEES and its degrees of freedom of state and unknowns after some steps, and `lag` before, of n runs together.

    Disturbances and noise are as an observer expects them.
    """
    random, out, known = np.random.default_rng(seed), [], options.pop("known", {})
    observer = sorosim.Observer(robot, "10 ms", unknown, process, noise=noise, prior=prior, **options)
    for _ in range(n):
        first = observer.reset(start, u=u, position="2 mm", velocity="2 cm/s", **known)
        error = first.root @ random.standard_normal(first.root.shape[1])
        m, k = len(first.mean), len(first.numbers)
        values = first.mean + error[len(error) - m :]
        numbers = dict(zip(first.numbers, values[m - k :].tolist(), strict=True))
        real = observer.robot.with_values(numbers) if k else observer.robot
        sim = sorosim.Stepper(real, "10 ms", substeps=4, driven=robot.description.simulate.get("driven"))
        inputs = np.zeros(robot.engine.n_actuators) if u is None else np.asarray(u, dtype=float)
        sim.reset(first.q, first.qd, u=np.concatenate([inputs, values[: m - k]]))
        state, truth = moved_by(replace(sim.state, strain=first.strain), error), []
        for _ in range(n_steps):
            state = disturbed(observer, sim, state, np.concatenate([inputs, values[: m - k]]), random)
            values = values + np.sqrt(observer.dt) * observer._walk * random.standard_normal(m)
            places = {(link, s): real.pose(state.q, link, s=s)[:3, 3] for link, s in read}
            found = observer.step(inputs, {key: p + noise * random.standard_normal(3) for key, p in places.items()})
            strain = () if state.strain is None else state.strain
            truth.append((state.q, state.qd, dict(zip(observer.names, values.tolist(), strict=True)), strain))
        out.append([one.nees(*truth[round(one.t / observer.dt) - 1]) for one in (found, found.smoothed)])
    return np.sum(out, axis=0)


def assert_consistent(found):
    """Sums of NEES of independent runs are chi-squared; bounds that one in a million passes."""
    for total, dof in found:
        low, high = stats.chi2.ppf([5e-7, 1.0 - 5e-7], dof)
        assert low < total < high


def test_nees_of_an_arm(arm):
    spreads, process = {"arm.tip": "0.05 N"}, {"arm.tip": "0.05 N", "motion": "0.05 m/s"}
    read = [("arm", 1.0)]
    assert_consistent(nees(arm, {"arm.tip": "force"}, process, spreads, read, 10, 25, u=[1.0], lag="120 ms"))


def test_nees_of_a_free_body():
    body = robot_of(BODY)
    process = {"hull": "0.1 N", "motion": "0.02 m/s"}
    start = [0.1, 0.0, 0.2, 0.3, -0.2, 0.5]
    read = [("hull", 1.0)]
    assert_consistent(
        nees(body, {"hull": "force"}, process, {"hull": "0.1 N"}, read, 10, 25, start=start, lag="120 ms")
    )


RELAXING = ARM.replace("damping: 300 Pa*s", "damping: 100 Pa*s, relaxation: {terms: [{share: 0.5, time: 50 ms}]}")
LOADED = ARM.replace("actuators:", """  load: {parent: arm, body: {sphere: {radius: 1 cm}, mass: 20 g}}
actuators:""")  # fmt: skip
BASE = "  base: {joint: {revolute: {axis: [0, 0, 1]}}, body: {sphere: {radius: 2 cm}, mass: 1 kg}}\n"
DRIVEN = ARM.replace("  arm:\n", BASE + "  arm:\n    parent: base\n")
SWUNG = DRIVEN + "simulate: {driven: {base: 0.4*sin(6*t)}}\n"
FORCE = {"arm.tip": "0.05 N"}
NEES = {
    "numbers": (LOADED, {**FORCE, "materials.rubber.young": "30 kPa", "links.load.body.mass": "3 g"}, {}),
    "a material that relaxes": (RELAXING, FORCE, {"known": {"unrelaxed": 0.2}}),
    "one that is not relaxed": (
        RELAXING.replace("terms:", "equilibria: instantaneous, terms:"),
        FORCE,
        {"known": {"unrelaxed": 0.2}},
    ),
    "a base that is driven": (SWUNG, FORCE, {"start": None}),
}


@pytest.mark.parametrize("case", [pytest.param("numbers", marks=pytest.mark.slow), *list(NEES)[1:]])
def test_nees_of(case):
    text, prior, options = NEES[case]
    what, read = {name: "force" if name == "arm.tip" else None for name in prior}, [("arm", 1.0), ("arm", 0.5)]
    process = {"arm.tip": "0.05 N", "motion": "0.05 m/s"}
    assert_consistent(nees(robot_of(text), what, process, prior, read, 8, 15, u=[1.0], lag="100 ms", **options))


def test_an_unknown_payload_is_found():
    """A mass of 25 g at the tip where the file says 20: of readings of a motion, whose robot changes with it."""
    robot, path = robot_of(LOADED), "links.load.body.mass"
    observer = sorosim.Observer(robot, "10 ms", [path], process={"motion": "2 cm/s"}, prior={path: "5 g"}, noise="1 mm")
    first = observer.reset("equilibrium", u=[1.0])
    assert first.values[path] == 0.02
    real = robot.with_values({path: "25 g"})
    sim, random = sorosim.Stepper(real, "10 ms", substeps=4), np.random.default_rng(4)
    sim.reset("equilibrium", u=[1.0])
    for k in range(30):
        seen = real.pose(sim.step([1.0 + 0.5 * (k > 3)]).q, "arm")[:3, 3] + 1e-3 * random.standard_normal(3)
        found = observer.step([1.0 + 0.5 * (k > 3)], {"arm": seen})
    sd = found.standard_deviations[path]
    assert sd < 0.3 * first.standard_deviations[path]
    assert abs(found.values[path] - 0.025) < 4.0 * sd
    assert sorosim.scalars(found.robot)[path] == found.values[path]
    assert found.robot is observer.robot


def test_readings_tell_how_far_a_material_has_relaxed():
    """A bend that was made a moment ago pulls back harder than an old one: strains of its elements are found."""
    robot = robot_of(RELAXING)
    observer = sorosim.Observer(robot, "10 ms", process={"motion": "1 cm/s"}, noise="0.2 mm", method="smoother")
    still = {"position": "0.1 mm", "velocity": "1 mm/s"}
    first = observer.reset("equilibrium", u=[1.0], **still, unrelaxed=0.5)
    assert not first.strain.any()  # as the file has it
    n = robot.ndof
    rows = slice(2 * n, 2 * n + len(first.strain))
    assert np.linalg.norm(first.root[rows], axis=1) == pytest.approx(0.5 * np.abs(first.q), rel=0.1, abs=1e-3)
    known = observer.reset("equilibrium", u=[1.0], **still)
    assert np.linalg.norm(known.root[rows]) == 0.0
    sim, real = sorosim.Stepper(robot, "10 ms", substeps=4), 0.6 * first.q
    sim.reset("equilibrium", u=[1.0])
    sim.state = replace(sim.state, strain=real)
    observer.reset("equilibrium", u=[1.0], **still, unrelaxed=0.5)
    random = np.random.default_rng(5)
    for _ in range(20):
        state = sim.step([1.0])
        seen = {"arm": robot.pose(state.q, "arm")[:3, 3] + 2e-4 * random.standard_normal(3)}
        found = observer.step([1.0], seen)
    assert np.linalg.norm(found.smoothed.strain - real) < 0.2 * np.linalg.norm(real)
    size, dof = found.smoothed.nees(first.q, np.zeros(n), strain=real)
    assert size < stats.chi2.ppf(1.0 - 1e-6, dof)
    # 20 steps are four times the time of relaxation: what pulled has gone
    assert np.linalg.norm(found.strain) < 0.2 * np.linalg.norm(real)


@pytest.mark.slow
def test_the_root_of_a_long_run_stays_one():
    """Readings in 5000 steps leave the covariance positive, and as it is in the stationary state."""
    observer = sorosim.Observer(
        robot_of(MASS), "10 ms", {"cart": "force"}, {"motion": "1 mm/s"}, noise="1 mm", prior={"cart": "1 N"},
        substeps=1,
    )  # fmt: skip
    observer.reset([0.005], [0.0])
    random, deviations = np.random.default_rng(0), []
    for k in range(5_000):
        found = observer.step(None, {"cart": [0.005 + 1e-3 * random.standard_normal(), None, None]})
        if k % 500 == 499:
            size = np.linalg.norm(found.root, axis=1)
            assert np.linalg.eigvalsh(found.covariance / np.outer(size, size)).min() > 0.1
            deviations.append(found.standard_deviations["cart.f_x"])
    # of a constant force that N readings tell it falls with their root
    assert deviations[-1] == pytest.approx(deviations[1] * np.sqrt(2.0 / 10.0), rel=0.1)
    assert abs(found.values["cart.f_x"] - 0.1) < 4.0 * deviations[-1]


def test_numbers_stay_within_what_the_file_accepts():
    """Readings that no positive mass explains."""
    robot, path = robot_of(MASS), "links.cart.body.mass"
    observer = sorosim.Observer(robot, "60 ms", [path], process={"motion": 0.0}, prior={path: 0.5}, noise="1 mm")
    observer.reset([0.05], [0.0], position="0 m", velocity="0 m/s")
    found = observer.step(None, {"cart": [0.0415, 0.0, 0.0]})
    assert not found.rejected
    assert 0.0 < found.values[path] < 1e-3  # the linear estimate is below zero
    assert 0.0 < observer.step().values[path] < 1e-3


IMU = {"arm": [0.3, 0.01, -0.02], "gyro": [0.1, 0.2, 0.1, 0.5, 0.4, 9.0]}
SLOPES = {
    "an arm": (ARM, ["arm.tip", "pull"], IMU),
    "numbers": (LOADED, ["arm.tip", "links.load.body.mass", "materials.rubber.young", "links.arm.rod.length"], IMU),
    "a material that relaxes": (RELAXING, ["arm.tip", "materials.rubber.young"], IMU),
    "a base that is driven": (SWUNG, ["arm.tip", "links.base.body.mass"], IMU),
    "loops": ("four_bar", ["parameters.long", "parameters.bar.density"], {"right": [0.1, 0.1, 0.1]}),
}


@pytest.mark.parametrize("case", list(SLOPES))
def test_derivatives_of_steps_and_readings_are_those_of_differences(case):
    """Along random directions of what is known: of states before a step, after it, and of errors of readings."""
    text, unknown, seen = SLOPES[case]
    robot = robot_of(text) if "\n" in text else sorosim.load(text)
    seen = seen if "\n" in text else {robot.description.links[-1].name: [0.1, 0.1, 0.1]}
    numbers, spread = sorosim.scalars(robot), {"arm.tip": "0.1 N", "pull": "0.1 N"}
    prior = {name: spread.get(name) or 0.03 * numbers[name] for name in unknown}
    what = {name: "force" if name == "arm.tip" else None for name in unknown}
    noise = {key: 1.0 for key in seen if key != "gyro"}
    observer = sorosim.Observer(robot, "5 ms", what, prior=prior, noise=noise)
    u = np.ones(robot.engine.n_actuators)
    observer.reset(u=u, velocity="10 cm/s", **({} if case != "a material that relaxes" else {"unrelaxed": 0.3}))
    for _ in range(3):
        observer.step(u)
    moving, belief, random = observer._moving, observer._belief, np.random.default_rng(0)
    belief = moving.closed(belief, belief.x, belief.root)
    x = belief.x
    _, F = moving.move(belief, u, None)
    H = moving.errors(seen, belief, x)[1]
    for _ in range(3):
        column = belief.root @ random.standard_normal(len(x))

        def moved(h, column=column):
            there = moving.closed(belief, x + h * column, belief.root)
            state, _ = moving.move(there, u, None)
            after = Belief(state, there.mean, there.root).x
            return there.x, after, moving.errors(seen, there, there.x)[0]

        h = 1e-3
        steps = {a: moved(a * h) for a in (-2, -1, 1, 2)}
        found = [(8.0 * (p - m) - (pp - mm)) / (12.0 * h) for mm, m, p, pp in zip(*steps.values(), strict=True)]
        for slope, expected in zip(found, (column, F @ column, H @ column), strict=True):
            size = np.abs(expected).max()
            assert slope == pytest.approx(expected, abs=2e-5 * size, rel=1e-4)


@pytest.mark.slow
def test_a_body_that_turns_round_and_round():
    """Rotations pass half a turn: coordinates are changed to others of the same pose, and so is the covariance."""
    body = robot_of(BODY)
    spin = np.array([0.0, 0.0, 0.0, 0.3, 0.0, 6.0])
    noise, process = {"hull": ["1 deg", "1 mm"]}, {"motion": "0.01 m/s"}
    observer = sorosim.Observer(body, "10 ms", noise=noise, process=process, lag="100 ms")
    sim = sorosim.Stepper(body, "10 ms", substeps=4)
    state = sim.reset(np.zeros(6), spin)
    observer.reset(np.zeros(6), 0.97 * spin, position="5 mm", velocity="3 cm/s")
    random, changed, past, across = np.random.default_rng(1), False, [], []
    for _ in range(250):  # more than two turns
        before, state = state, sim.step()
        changed = changed or np.abs(np.array(state.q) - before.q).max() > 1.0
        past.append(state)
        g = body.pose(state.q, "hull")
        turn = linalg.expm(np.cross(np.eye(3), np.deg2rad(1.0) * random.standard_normal(3)))
        read = np.eye(4)
        read[:3, :3], read[:3, 3] = g[:3, :3] @ turn, g[:3, 3] + 1e-3 * random.standard_normal(3)
        found = observer.step(None, {"hull": read})
        assert not found.rejected
        if found.smoothed is not None and np.abs(found.q - found.smoothed.q)[3:].max() > 3.0:
            across.append(found.smoothed.nees(past[-11].q, past[-11].qd)[0])
    assert changed
    off = found.pose("hull")[0][:3, :3].T @ body.pose(state.q, "hull")[:3, :3]
    assert np.arccos(np.clip(0.5 * (np.trace(off) - 1.0), -1.0, 1.0)) < 0.03
    size, dof = found.nees(state.q, state.qd)
    assert dof == 12
    assert size < stats.chi2.ppf(1.0 - 1e-6, dof)
    assert len(across) >= 10  # changes of coordinates lie between these states and the last readings of them
    assert max(across) < stats.chi2.ppf(1.0 - 1e-6, 12)


def test_nees_of_a_truth_whose_coordinates_have_changed():
    """Rotations a whole turn apart are one pose: whichever of both has changed, the error is the same."""
    body = robot_of(BODY)
    observer = sorosim.Observer(body, "10 ms", noise="1 mm")
    q = np.concatenate([[0.3, 1.0, -2.0], 1.1 * np.pi * np.array([2.0, -1.0, 2.0]) / 3.0])
    before = q, np.array([0.1, 0.0, 0.2, 0.3, -2.0, 1.0])
    after = Charts(body.engine.layout, np.zeros(6, dtype=bool)).recharted(*before)
    assert np.linalg.norm(after[0] - q) > 6.0
    for near in (before, after):
        found = observer.reset(near[0] + 0.01, near[1], position="1 cm", velocity="1 cm/s")
        sizes = [found.nees(*one)[0] for one in (before, after)]
        assert sizes[0] == pytest.approx(sizes[1], rel=1e-9)
        assert sizes[0] < 1e3


def test_loops_stay_closed():
    robot, link = sorosim.load("hybrid_parallel"), "plate"
    observer = sorosim.Observer(robot, "5 ms", noise="1 mm", process={"motion": "0.1 m/s"}, lag="50 ms")
    observer.reset(position="1 mm", velocity="1 cm/s")
    sim = sorosim.Stepper(robot, "5 ms")
    sim.reset()
    random = np.random.default_rng(2)
    for _ in range(20):
        state = sim.step()
        p = robot.pose(state.q, link)[:3, 3]
        found = observer.step(None, {link: p + 1e-3 * random.standard_normal(3)})
        for one in filter(None, (found, found.smoothed)):
            gaps = robot.loop_gaps(one.q)
            assert max(max(gap) for gap in gaps.values()) < 1e-6
            A = robot.loop_rows(one.q).A
            assert np.abs(A @ one.root[: robot.ndof]).max() < 1e-9 * np.abs(one.root[: robot.ndof]).max()


def test_rates_follow_coordinates_through_loops():
    """Where a linkage moves, columns of the root are differences of closed motions, at the start and after readings."""
    robot = sorosim.load("four_bar")
    observer = sorosim.Observer(robot, "1 ms", noise="1 m", process={"motion": "0 m/s"}, substeps=1)
    start = robot.initial_q
    rates = closed_rates(robot, start, np.array([5.0, 0.0, 0.0]), np.arange(3))
    n, free = robot.ndof, observer._moving.free
    observer.reset(start, rates, position="1 mm", velocity="0 m/s")
    for read in (None, {robot.description.links[-1].name: [None, None, 0.0]}):
        found = observer.step(None, read)
        compared = 0
        for column in found.root.T:
            if np.abs(column[:n]).max() > 1e-6:
                h = 1e-2
                q, _, why = close_if_possible(robot, found.q + h * column[:n], free)
                assert not why
                qd = closed_rates(robot, q, found.qd + h * column[n : 2 * n], free)
                here = closed_rates(robot, found.q, found.qd, free)  # steps leave 1e-6 of them
                size = np.abs(column[n : 2 * n]).max()
                assert (qd - here) / h == pytest.approx(column[n : 2 * n], abs=5e-3 * size)
                compared += 1
        assert compared


def of_batch(F, Q_root, P_0, x_0, readings, sd):
    """Means and covariances of all states of a linear robot whose first coordinate is read, by one dense problem.

    States are functions of independent normal numbers, of the start and of each step.
    """
    n, m, k = len(x_0), len(readings), Q_root.shape[1]
    X, mean = np.zeros((m + 1, n, n + m * k)), [x_0]
    X[0, :, :n] = np.linalg.cholesky(P_0)
    for i in range(m):
        X[i + 1] = F @ X[i]
        X[i + 1, :, n + i * k :][:, :k] = Q_root
        mean.append(F @ mean[-1])
    mean = np.array(mean)
    H, e = X[1:, 0] / sd, (readings - mean[1:, 0]) / sd
    C = np.linalg.inv(np.eye(H.shape[1]) + H.T @ H)
    return mean + X @ (C @ H.T @ e), X @ C @ np.swapaxes(X, 1, 2)


def test_of_a_linear_robot_the_smoother_is_least_squares_over_all_states():
    robot, sd, dt, n, lag = robot_of(MASS), 2e-3, 0.02, 25, 10
    observer = sorosim.Observer(
        robot, dt, {"cart": "force"}, {"cart": "0.2 N", "motion": "0.05 m/s"}, noise=sd, prior={"cart": "0.5 N"},
        method="smoother", lag=lag * dt,
    )  # fmt: skip
    observer.reset([0.02], [0.0], position="1 cm", velocity="3 cm/s")
    y = np.full((n, 3), np.nan)
    y[:, 0] = 0.02 * np.cos(0.1 * np.arange(n)) + sd * np.random.default_rng(0).standard_normal(n)
    motion = observer.run(np.zeros((n, 0)), {"cart": y})
    sim = sorosim.Stepper(observer.robot, dt, substeps=4)
    sim.reset([0.0], [0.0])
    sim.step([0.0, 0.0, 0.0])
    A, B = sim.linearize()
    F = np.block([[A, B], [np.zeros((3, 2)), np.eye(3)]])
    kick = 0.05 * np.sqrt(dt) * np.array([0.5 * dt, 1.0, 0.0, 0.0, 0.0])
    Q_root = np.column_stack([kick, np.sqrt(dt) * 0.2 * np.eye(5)[:, 2:]])
    P, x = np.diag([0.01**2, 0.03**2, *[0.25] * 3]), np.array([0.02, 0.0, 0.0, 0.0, 0.0])
    for k, found in enumerate(motion.states):
        seen = y[: k + lag, 0]  # until then, or all
        means, covariances = of_batch(F, Q_root, P, x, seen, sd)
        size = np.sqrt(np.diag(covariances[k]))
        assert np.concatenate([found.q, found.qd, found.mean]) == pytest.approx(means[k], abs=1e-9 * size.min())
        assert found.covariance == pytest.approx(covariances[k], abs=1e-10 * size.min() ** 2, rel=1e-10)


def test_later_readings_make_nothing_less_certain(arm):
    """Of every state the smoother's covariance is the filter's less something positive; nothing later, nothing new."""
    observer = sorosim.Observer(arm, "10 ms", {"arm.tip": "force"}, noise="1 mm", prior={"arm.tip": "0.1 N"}, lag=0.1)
    past = [observer.reset(u=[1.0])]
    sim = sorosim.Stepper(arm, "10 ms", substeps=4)
    sim.reset(u=[1.0])
    for k in range(15):
        seen = arm.pose(sim.step([1.0]).q, "arm")[:3, 3] + (0.05 if k == 12 else 0.0)  # one is wrong
        past.append(observer.step([1.0], {"arm": seen}))
    recent = observer.recent()
    assert len(recent) == 11
    assert recent[-1].root is past[-1].root
    assert recent[0].root == pytest.approx(past[-1].smoothed.root)
    assert [one.rejected for one in recent] == [one.rejected for one in past[-11:]]
    for one, filtered in zip(recent, past[-11:], strict=True):
        assert one.t == filtered.t
        size = np.sqrt(np.diag(filtered.covariance))
        less = (filtered.covariance - one.covariance) / np.outer(size, size)
        assert np.linalg.eigvalsh(less).min() > -1e-12
    assert recent[0].standard_deviations["arm.tip.f_y"] < 0.9 * past[5].standard_deviations["arm.tip.f_y"]


def observed(arm, feed, **options):
    """An observer of the arm after 20 steps, whose readings `feed` hands over."""
    observer = sorosim.Observer(arm, "10 ms", {"arm.tip": "force"}, noise="1 mm", prior={"arm.tip": "0.1 N"}, **options)
    observer.reset(u=[1.0])
    sim, random = sorosim.Stepper(observer.robot, "10 ms", substeps=4), np.random.default_rng(3)
    sim.reset(u=[1.0, 0.0, 0.0, 0.0])
    for k in range(20):
        state = sim.step([1.0, 0.0, 0.02, 0.03])
        feed(observer, k, {"arm": observer.robot.pose(state.q, "arm")[:3, 3] + 1e-3 * random.standard_normal(3)})
    return observer.state


def test_what_is_uncertain_stays_along_loops_without_readings():
    """A linkage of one freedom: its state is uncertain along two directions, also after a while without readings."""
    robot = sorosim.load("four_bar")
    observer = sorosim.Observer(robot, "10 ms", noise="1 mm", process={"motion": "0.1 m/s"})
    observer.reset(robot.initial_q, position="5 mm", velocity="10 cm/s")
    for _ in range(10):
        found = observer.step()
    size = np.linalg.norm(found.root, axis=1)
    s = linalg.svdvals(found.root / size[:, None])
    assert (s[2:] < 1e-6 * s[0]).all()


def test_late_readings_are_as_if_they_had_come_in_time(arm):
    def in_time(observer, k, y):
        observer.step([1.0], y)

    kept = {}

    def late(observer, k, y):
        kept[k] = y
        if k % 5 == 4:  # 100 ms late and less
            observer.step([1.0], y, late={0.01 * (j + 1): kept[j] for j in range(k - 4, k)})
        else:
            observer.step([1.0])

    one, other = observed(arm, in_time, lag=0.15), observed(arm, late, lag=0.15)
    assert other.q == pytest.approx(one.q, abs=1e-9)
    assert other.mean == pytest.approx(one.mean, abs=1e-9)
    assert other.root == pytest.approx(one.root, abs=1e-8)
    assert other.smoothed.t == pytest.approx(0.05)
    assert other.smoothed.q == pytest.approx(one.smoothed.q, abs=1e-9)
    assert other.smoothed.root == pytest.approx(one.smoothed.root, abs=1e-8)


def test_a_reading_that_is_wrong_is_named_and_left_out(arm):
    def feed(observer, k, y):
        wrong = {"arm": y["arm"] + 0.05} if k == 15 else y
        found = observer.step([1.0], wrong)
        assert found.rejected == (("arm",) if k == 15 else ())

    def without(observer, k, y):
        observer.step([1.0], None if k == 15 else y)

    assert observed(arm, feed).q == pytest.approx(observed(arm, without).q, abs=1e-9)


def test_a_reading_that_the_others_contradict_is_named(arm):
    """A start of 3 cm would let a tip through that is 1 cm off: the marker at its middle tells, whichever is wrong."""

    def observer():
        out = sorosim.Observer(arm, "10 ms", noise="1 mm", process={"motion": "1 cm/s"})
        out.reset("equilibrium", u=[1.0], position="3 cm", velocity="1 cm/s")
        return out

    right = {key: arm.pose(observer().state.q, "arm", s=s)[:3, 3] for key, s in (("arm", 1.0), ("arm@0.9", 0.9))}
    third = {**right, "arm@0.8": arm.pose(observer().state.q, "arm", s=0.8)[:3, 3]}
    across = arm.pose(observer().state.q, "arm")[:3, 2]
    for key in third:
        found = observer().step([1.0], {**third, key: third[key] + 0.01 * across})
        assert found.rejected == (key,)
    assert not observer().step([1.0], third).rejected
    # without others it is as probable as before
    assert not observer().step([1.0], {"arm": right["arm"] + 0.01 * across}).rejected


def test_readings_of_a_gyroscope(arm):
    """Sensors of rates and accelerations: the derivatives of their readings are those of differences of the whole."""
    steps = {"substeps": 16}
    observer = sorosim.Observer(arm, "10 ms", {"arm.tip": "force"}, prior={"arm.tip": "0.1 N"}, **steps)
    observer.reset(u=[1.0])
    sim = sorosim.Stepper(observer.robot, "10 ms", **steps)
    sim.reset(u=[1.0, 0.0, 0.0, 0.0])
    before = observer.state
    for _ in range(30):
        state = sim.step(u := [1.0, 0.0, 0.0, 0.05])
        read = observer.robot.measure(state.q, state.qd, u=u, t=state.t)
        found = observer.step([1.0], {"gyro": read["gyro"].tolist()})
    # of the sideways force, which swings the arm, more is known
    assert found.standard_deviations["arm.tip.f_z"] < 0.5 * before.standard_deviations["arm.tip.f_z"]
    assert abs(found.values["arm.tip.f_z"] - 0.05) < 4.0 * found.standard_deviations["arm.tip.f_z"]
    assert not found.rejected


def test_readings_of_an_encoder():
    """A position and a rate: the filter of the textbook with both rows."""
    robot = robot_of(MASS + "sensors:\n  wheel: {encoder: {joint: cart}, noise: [1 mm, 2 cm/s]}\n")
    observer = sorosim.Observer(robot, 0.02, process={"motion": "0.05 m/s"})
    before = observer.reset([0.02], [0.3], position="1 cm", velocity="3 cm/s")
    for _ in range(2):
        before = observer.step()
    y = np.array([before.q[0] + 1e-3, before.qd[0] - 0.01])
    observer.reset([0.02], [0.3], position="1 cm", velocity="3 cm/s")
    observer.step()
    found = observer.step(None, {"wheel": y.tolist()})
    P, R = before.covariance, np.diag([1e-3**2, 0.02**2])
    K = P @ np.linalg.inv(P + R)
    assert not found.rejected
    x = np.concatenate([before.q, before.qd])
    assert np.concatenate([found.q, found.qd]) == pytest.approx(x + K @ (y - x), abs=1e-12)
    assert found.covariance == pytest.approx((np.eye(2) - K) @ P, rel=1e-9, abs=1e-15)


def test_several_kinds_of_one_place(arm):
    """Force and moment of a tip, with priors and walks by kind, are a wrench."""
    kinds = {"moment": "1 N*cm", "force": "0.1 N"}
    both = sorosim.Observer(arm, "10 ms", {"arm.tip": ["moment", "force"]}, {"arm.tip": kinds}, noise="1 mm",
                            prior={"arm.tip": kinds})  # fmt: skip
    pair = ["1 N*cm", "0.1 N"]
    wrench = sorosim.Observer(arm, "10 ms", {"arm.tip": "wrench"}, {"arm.tip": pair}, noise="1 mm",
                              prior={"arm.tip": pair})  # fmt: skip
    for one in (both, wrench):
        one.reset(u=[1.0])
        for _ in range(3):
            one.step([1.0], {"arm": [0.29, 0.02, -0.05], "arm#2": [0.29, 0.02, -0.05]})
    assert both.names == wrench.names
    assert both.state.mean == pytest.approx(wrench.state.mean, abs=1e-9)
    assert both.state.root == pytest.approx(wrench.state.root, abs=1e-9)


def test_iterated_updates_are_the_most_probable_states(arm):
    """Of a reading that is far from linear in what was known, by another optimiser."""
    costs = {}
    for method in ("ekf", "iterated"):
        observer = sorosim.Observer(arm, "10 ms", noise="1 mm", method=method)
        observer.reset(u=[1.0], position="5 cm", velocity="1 cm/s")
        before = observer.step([1.0])
        x = np.concatenate([before.q, before.qd])
        bent = x[: arm.ndof] + before.root[: arm.ndof] @ np.full(len(x), 0.5)
        seen, belief, errors = {"arm": arm.pose(bent, "arm")[:3, 3]}, observer._belief, observer._moving.errors

        def residuals(z, errors=errors, seen=seen, belief=belief, x=x, root=before.root):
            return np.concatenate([z, errors(seen, belief, x + root @ z)[0]])

        e, H, _ = errors(seen, belief, x)
        z = observer._corrected(seen, belief, e, H, np.ones(3, dtype=bool), method == "iterated")[0]
        costs[method] = float(np.sum(residuals(z) ** 2))
        least = 2.0 * optimize.least_squares(residuals, np.zeros(len(x)), xtol=1e-12, ftol=1e-12).cost
    assert costs["iterated"] == pytest.approx(least, rel=1e-4)
    assert costs["ekf"] > 1.01 * least


def test_run(arm, tmp_path):
    u = np.ones((15, 1))
    sim = sorosim.Stepper(arm, "10 ms")
    sim.reset(u=[1.0])
    y = np.array([arm.pose(sim.step([1.0]).q, "arm")[:3, 3] for _ in u])
    y[4:8] = np.nan
    observer = sorosim.Observer(arm, "10 ms", {"arm.tip": "force"}, noise="1 mm", prior={"arm.tip": "0.1 N"})
    observer.reset(u=[1.0])
    motion = observer.run(u, {"arm": y})
    assert len(motion) == 16
    assert motion.q.shape == (16, arm.ndof)
    sd = np.sqrt(np.array([C[4, 4] for C in motion.pose("arm")[1]]))
    assert sd[8] > sd[4]  # nothing was read between
    assert set(motion.values) == {"arm.tip.f_x", "arm.tip.f_y", "arm.tip.f_z"}
    motion.save(tmp_path / "motion.h5")
    again = sorosim.open(tmp_path / "motion.h5")
    assert again.q == pytest.approx(motion.q)
    assert again.u.shape == (16, 4)
    assert again.names == motion.names
    assert again.units == ("N", "N", "N")
    for one, other in zip(again.states, motion.states, strict=True):
        assert one.pose("arm")[1] == pytest.approx(other.pose("arm")[1], abs=0.0)
        assert one.innovations.keys() == other.innovations.keys()
    assert np.isnan(again.innovations["arm"]).all(axis=1).tolist() == [True, *np.isnan(y).all(axis=1).tolist()]
    again.plot(tmp_path / "motion.png")
    assert (tmp_path / "motion.png").stat().st_size > 10_000
    assert again.run.tip().shape == (16, 3)


def test_a_motion_whose_numbers_move_is_kept(tmp_path):
    """Robots, and so places and their bands, differ from state to state."""
    robot, path = robot_of(LOADED), "links.arm.rod.length"
    observer = sorosim.Observer(robot, "10 ms", [path], noise="1 mm", prior={path: "5 mm"}, lag="30 ms")
    observer.reset(u=[1.0])
    seen = robot.with_values({path: "31 cm"}).pose(observer.state.q, "arm")[:3, 3]
    motion = observer.run(np.ones((5, 1)), {"arm": np.array([seen] * 5)})
    motion.save(tmp_path / "motion.h5")
    again = sorosim.open(tmp_path / "motion.h5")
    for one, other in zip(again.states, motion.states, strict=True):
        assert sorosim.scalars(one.robot)[path] == other.values[path]
        for a, b in zip(one.pose("arm"), other.pose("arm"), strict=True):
            assert a == pytest.approx(b, abs=1e-15)
    first, last = motion.states[0], motion.states[-1]
    assert first.values[path] > 0.303  # smoothed: the first readings told that
    sd = np.sqrt(last.pose("arm")[1][3, 3])
    without = last.root.copy()
    without[-1] = 0.0
    held = np.sqrt(replace(last, root=without).pose("arm")[1][3, 3])
    assert abs(sd - held) > 1e-2 * sd  # lengths move the tip themselves


def test_a_table_is_observed(arm, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.yaml").write_text(ARM, encoding="utf-8")
    sim = sorosim.Stepper(arm, "10 ms", substeps=4)
    state = sim.reset("equilibrium", u=[1.0])
    rows = ["t [s],u.pull [N],arm.x [mm],arm.y [mm],arm.z [mm],arm@0.5.x [mm],arm@0.5.y [mm],arm@0.5.z [mm]"]
    for k in range(12):
        places = [1e3 * arm.pose(state.q, "arm", s=s)[:3, 3] for s in (1.0, 0.5)]
        cells = ",".join(f"{x:.9g}" for x in np.concatenate(places)) if k % 2 == 0 else ",,,,,"
        rows.append(f"{0.01 * k:.2f},1,{cells}")
        state = sim.step([1.0])
    (tmp_path / "seen.csv").write_text("\n".join(rows), encoding="utf-8")
    told = told_by(monkeypatch, capsys)
    words = "arm.yaml seen.csv --noise arm=1mm --noise arm@0.5=2mm --unknown arm.tip=force --prior arm.tip=0.1N"
    found = json.loads(told(f"observe {words} --out seen.h5 --json"))
    assert found["t"] == pytest.approx([0.01 * k for k in range(12)])
    assert np.abs(found["values"]["arm.tip.f_y"]).max() < 0.02
    assert found["rejected"] == {}
    filtered = sorosim.open("seen.h5")
    assert filtered.q.shape == (12, arm.ndof)
    assert json.loads(told("info seen.h5 --json"))["values"] == found["values"]
    told("plot seen.h5 --out seen.png")
    assert (tmp_path / "seen.png").stat().st_size > 10_000
    more = "--unknown materials.rubber.young --prior materials.rubber.young=50kPa --method smoother --lag 50ms"
    assert "materials.rubber.young" in told(f"observe {words} {more} --out smooth.h5 --plot smooth.png")
    smooth = sorosim.open("smooth.h5")
    assert smooth.lag == pytest.approx(0.05)
    for name, sd in filtered.standard_deviations.items():
        assert (smooth.standard_deviations[name][:5] < sd[:5]).all()
    assert smooth.standard_deviations["materials.rubber.young"].max() < 50e3


def told_by(monkeypatch, capsys):
    """What commands print."""

    def told(words):
        monkeypatch.setattr(sys, "argv", ["sorosim", *words.split()])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        return capsys.readouterr().out

    return told


def test_a_table_says_how_coordinates_were_driven(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.yaml").write_text(DRIVEN + "initial: {}\n", encoding="utf-8")
    robot, angle = robot_of(DRIVEN), "0.2*sin(8*t)^2"
    sim = sorosim.Stepper(robot, "10 ms", driven={"base": angle}, substeps=4)
    state = sim.reset("equilibrium", u=[1.0])
    base, rows = robot.engine.layout.coordinate("base", "q"), ["t [s],u.pull [N],driven.base [rad],arm.x,arm.y,arm.z"]
    for k in range(12):
        cells = [state.q[base], *robot.pose(state.q, "arm")[:3, 3]]
        rows.append(f"{0.01 * k:.2f},1," + ",".join(f"{x:.9g}" for x in cells))
        state = sim.step([1.0])
    (tmp_path / "seen.csv").write_text("\n".join(rows), encoding="utf-8")
    found = json.loads(told_by(monkeypatch, capsys)("observe arm.yaml seen.csv --noise 0.1mm --out seen.h5 --json"))
    assert found["rejected"] == {}
    t = 0.01 * np.arange(12)
    assert sorosim.open("seen.h5").q[:, base] == pytest.approx(0.2 * np.sin(8.0 * t) ** 2, abs=1e-8)


def test_covariance_beside_higher_precision():
    """Readings of a micrometre after a start of a metre: the root keeps the digits of the filter in long numbers."""
    robot, sd, dt = robot_of(MASS), 1e-6, 0.02
    observer = sorosim.Observer(robot, dt, noise=sd, process={"motion": "1 um/s"})
    observer.reset([0.0], [0.0], position="1 m", velocity="1 m/s")
    sim = sorosim.Stepper(robot, dt, substeps=4)
    sim.reset([0.0], [0.0])
    sim.step()
    with mpmath.workdps(60):
        F, P = mpmath.matrix(sim.linearize()[0].tolist()), mpmath.eye(2)
        g = mpmath.matrix([0.5 * dt, 1.0])
        for _ in range(400):
            found = observer.step(None, {"cart": [0.0, None, None]})
            P = F * P * F.T + mpmath.mpf(1e-6) ** 2 * dt * (g * g.T)
            H = mpmath.matrix([[1, 0]])
            K = P * H.T / ((H * P * H.T)[0] + mpmath.mpf(sd) ** 2)
            P = (mpmath.eye(2) - K * H) * P
        exact = np.array(P.tolist(), dtype=float)
    assert not found.rejected
    assert found.covariance == pytest.approx(exact, rel=1e-6)


def test_an_interrupted_step_changes_nothing(arm):
    observer = sorosim.Observer(arm, "10 ms", noise="1 mm")
    observer.reset(u=[1.0])
    before = observer.step([1.0])
    with pytest.raises(sorosim.InputError, match="a sensor or a place"):
        observer.step([1.0], {"arms": [0.0, 0.0, 0.0]})
    assert observer.state.q == pytest.approx(before.q, abs=0.0)
    for late in ({0.01: {"arms": [0.0, 0.0, 0.0]}}, {0.01: {"arm": [0.3, 0.0, 0.0]}, 0.5: {"arm": [0.3, 0.0, 0.0]}}):
        with pytest.raises(sorosim.InputError):
            observer.step([1.0], late=late)
        assert observer.state.t == before.t
        assert observer.state.root == pytest.approx(before.root, abs=0.0)
    after = observer.step([1.0])
    assert after.t == pytest.approx(before.t + 0.01)


def test_late_readings_that_are_wrong_are_named_and_arguments_are_copied(arm):
    observer = sorosim.Observer(arm, "10 ms", noise="1 mm")
    observer.reset(u=[1.0])
    y = {"arm": arm.pose(observer.state.q, "arm")[:3, 3]}
    observer.step([1.0], y)
    y["arm"] = y["arm"] + 0.5  # as a loop would fill it again
    found = observer.step([1.0], late={0.01: {"arm@0.5": [0.9, 0.0, 0.0]}})
    assert found.rejected == ("arm@0.5",)
    found.root[:] = 0.0  # a copy
    assert observer.state.root is found.root
    assert np.abs(observer.step([1.0]).root).max() > 1e-6


def test_what_is_refused():
    moved = MASS + "simulate: {t_end: 1 s, driven: {cart: 0.1*sin(10*t)}}\n"
    with pytest.raises(sorosim.InputError, match="an input, a load or a number of the file"):
        sorosim.Observer(robot_of(moved), "10 ms", {"cart": "1 mm"})


WRONG = {
    "noise": (lambda arm: sorosim.Observer(arm, "10 ms", noise={"nonsense": 1.0}), "noise: expected a link"),
    "an input that is unknown": (
        lambda arm: (obs := sorosim.Observer(arm, "10 ms", {"pull": "0.1 N"}), obs.reset(), obs.step({"pull": 1.0})),
        "commands of inputs that are known",
    ),
    "method": (lambda arm: sorosim.Observer(arm, "10 ms", method="ukf"), "ekf"),
    "lag": (lambda arm: sorosim.Observer(arm, "10 ms", lag="1 ms"), "a time of at least a step"),
    "a number without a prior": (
        lambda arm: sorosim.Observer(arm, "10 ms", ["materials.rubber.young"]).reset(),
        "what is known of it",
    ),
    "process": (
        lambda arm: sorosim.Observer(arm, "10 ms", process={"tip": 1.0}),
        "names that are unknown, or 'motion'",
    ),
    "no prior": (lambda arm: sorosim.Observer(arm, "10 ms", {"arm.tip": "force"}).reset(), "what is known of it"),
    "no reset": (lambda arm: sorosim.Observer(arm, "10 ms").step(), "a reset before"),
    "a kind of load beside its prior": (
        lambda arm: sorosim.Observer(arm, "10 ms", {"arm.tip": "fource"}, prior={"arm.tip": "1 N"}),
        r"unknown\.arm\.tip: expected a spread, or a kind of load: .*'fource'",
    ),
    "readings": (lambda arm: ready(arm).step(y=[0.3, 0.0, 0.0]), "y: expected a mapping, got"),
    "one number for all rows": (lambda arm: ready(arm).run(np.ones((3, 1)), {"arm": 0.3}), r"y\.arm: expected 3 rows"),
    "a part of a pose": (
        lambda arm: ready(arm).run(np.ones((1, 1)), {"arm": np.where(np.eye(4) > 0.0, 1.0, np.nan)[None]}),
        r"y\.arm, row 0: expected finite numbers",
    ),
    "a tendon that pushes": (
        lambda arm: sorosim.Observer(arm, "10 ms", {"pull": "1 N"}).reset(u=[-1.0]),
        r"u\.pull: expected a value between 0 and inf",
    ),
    "a unit": (lambda arm: sorosim.Observer(arm, "10 ms", process={"motion": "1 N"}), "process.motion"),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_wrong_arguments(case, arm):
    make, message = WRONG[case]
    with pytest.raises(sorosim.InputError, match=message):
        make(arm)


def ready(arm, **options):
    """An observer that has begun."""
    observer = sorosim.Observer(arm, "10 ms", noise="1 mm", **options)
    observer.reset("equilibrium", u=[1.0])
    return observer


def test_entries_that_were_not_read_are_nan(arm, tmp_path):
    """Of a motion, whose rows have other entries each, and of readings whose direction is not told."""
    observer = ready(arm, lag="30 ms")
    y = np.tile(arm.pose(observer.state.q, "arm")[:3, 3], (4, 1))
    y[1, 0], y[2] = np.nan, np.nan
    motion = observer.run(np.ones((4, 1)), {"arm": y})
    motion.save(tmp_path / "motion.h5")
    for one in (motion, sorosim.open(tmp_path / "motion.h5")):
        assert np.array_equal(np.isnan(one.innovations["arm"][1:]), np.isnan(y))
    observer = sorosim.Observer(arm, "10 ms", noise=["1 deg", "1 mm"])
    told = []
    for direction in ([None] * 3, [1.0, 0.0, 0.0]):
        observer.reset()
        told.append(observer.step([0.0], {"arm": [0.3, None if direction[0] is None else 0.0, 0.0, *direction]}))
    assert np.isnan(told[0].innovations["arm"]).tolist() == [True, True, False, True, False]
    assert told[0].innovations["arm"][[2, 4]] == pytest.approx(told[1].innovations["arm"][[2, 4]], abs=1e-12)


def test_a_motion_of_no_steps(arm):
    motion = ready(arm).run(np.zeros((0, 1)), {"arm": np.zeros((0, 3))})
    assert motion.t.tolist() == [0.0]


def test_numbers_are_no_loads(arm):
    """What a controller takes for disturbances are loads alone."""
    path = "materials.rubber.young"
    prior = {"arm.tip": "0.1 N", path: "50 kPa"}
    found = ready(arm, unknown={"arm.tip": "force", path: None}, prior=prior).state
    assert list(found.loads) == ["arm_tip_f_x", "arm_tip_f_y", "arm_tip_f_z"]


OFFSET = """
sorosim: 1
name: offset
gravity: [0, 0, 0]
links:
  wheel:
    joint: {revolute: {axis: [0, 0, 1]}}
    body: {cylinder: {radius: 10 cm, length: 1 cm}, mass: 1 kg}
  box:
    parent: wheel
    at: {position: [0, 0, 0]}
    body: {sphere: {radius: 1 mm}, mass: 1 mg}
sensors:
  felt: {imu: {link: box}, noise: [0.01, 0.01, 0.01, 0.01, 0.01, 0.01]}
"""


def test_a_number_that_is_zero_is_found_by_an_accelerometer():
    """How far it is from the axis of a wheel that turns at 3 rad/s, where it reads rate^2 r."""
    robot, path = robot_of(OFFSET), "links.box.at.position[0]"
    observer = sorosim.Observer(robot, "10 ms", [path], {"motion": 0.0}, prior={path: "5 cm"})
    observer.reset([0.0], [3.0], position=0.0, velocity=0.0)
    for _ in range(20):
        found = observer.step(None, {"felt": [None, None, 3.0, -9.0 * 0.02, None, None]})
    # 20 readings, each of the deviation 0.01 / 9 m
    assert found.standard_deviations[path] == pytest.approx(0.01 / 9.0 / np.sqrt(20.0), rel=1e-2)
    assert found.values[path] == pytest.approx(0.02, abs=1e-4)


@pytest.mark.parametrize("method", ["ekf", "iterated"])
def test_a_number_at_its_bound_beside_an_accelerometer(arm, method):
    """Differences and iterated updates stay within what the file accepts."""
    path = "materials.rubber.poisson"
    observer = sorosim.Observer(
        arm, "10 ms", [path], {"motion": "1 cm/s"}, method, noise={"arm": "1 mm"}, prior={path: (0.4999, 0.1)}
    )
    tip = arm.pose(observer.reset("equilibrium", u=[1.0], position="2 mm").q, "arm")[:3, 3]
    for k in range(6):
        found = observer.step([1.0 + 0.3 * k], {"arm": tip, "gyro": [0.0, 0.0, 0.0, None, None, None]})
    assert -1.0 < found.values[path] < 0.5
    assert np.isfinite(found.root).all()


def test_inputs_that_are_not_named_stay(arm):
    """As those of `Stepper`; of an unknown one the estimate counts."""
    unknown = {"noise": "1 mm", "prior": {"pull": "0.2 N"}}
    for options, first in (({}, [1.0]), ({"unknown": ["pull"], **unknown}, [5.0])):
        found = []
        for later in (None, first):
            observer = sorosim.Observer(arm, "10 ms", **options)
            observer.reset("equilibrium", u=[1.0])
            observer.step(None if later is None else [1.0])
            observer.step(first)
            found.append(observer.step(later))
        assert np.array_equal(found[0].q, found[1].q)
        assert np.array_equal(found[0].root, found[1].root)


def test_late_times_are_numbers_or_texts(arm):
    found = []
    for late in ({0.01: {}, 0.02: {}}, {"20 ms": {}, 0.01: {}}):
        observer = ready(arm)
        tip = {"arm": arm.pose(observer.state.q, "arm")[:3, 3] + [0.0, 1e-3, 0.0]}
        for _ in range(2):
            observer.step([1.0])
        found.append(observer.step([1.0], late=dict.fromkeys(late, tip)))
    assert np.array_equal(found[0].q, found[1].q)


def test_late_beyond_what_is_remembered(arm):
    observer = sorosim.Observer(arm, "10 ms", noise="1 mm")
    observer.reset(u=[1.0])
    observer.step([1.0])
    with pytest.raises(sorosim.InputError, match=r"times of the last 50 steps, 0\.01 to 0\.01 s"):
        observer.step([1.0], late={0.5: {"arm": [0.3, 0.0, 0.0]}})


def test_driven_coordinates_are_where_they_are_sent():
    """By steps, late readings of which begin again from where coordinates were on their way."""
    robot = robot_of(DRIVEN)
    base = robot.engine.layout.coordinate("base", "q")
    targets = [0.1, 0.15, None, None, -0.1, -0.2, -0.2, -0.1]
    sim = sorosim.Stepper(robot, "10 ms", driven={"base": 0.0}, substeps=4)
    state, seen = sim.reset(u=[1.0]), []
    for target in targets:
        state = sim.step([1.0], None if target is None else {"base": target})
        seen.append(robot.pose(state.q, "arm")[:3, 3])
    noise = 1e-3 * np.random.default_rng(0).standard_normal((len(targets), 3))
    found = {}
    for is_late in (False, True):
        observer = sorosim.Observer(robot, "10 ms", noise="1 mm", driven={"base": 0.0}, lag="50 ms")
        observer.reset(u=[1.0])
        for k, target in enumerate(targets):
            late = {0.01 * (j + 1): {"arm": seen[j] + noise[j]} for j in range(k)} if k == len(targets) - 1 else {}
            now = {"arm": seen[k] + noise[k]} if not is_late or k == len(targets) - 1 else None
            sent = None if target is None else {"base": target}
            found[is_late] = observer.step([1.0], now, sent, late=late if is_late else None)
    for one in found.values():
        assert one.q[base] == pytest.approx(state.q[base], abs=1e-12)
        assert one.qd[base] == pytest.approx(state.qd[base], abs=1e-9)
        assert not one.root[[base, robot.ndof + base]].any()
        assert one.q == pytest.approx(found[False].q, abs=1e-9)
        assert one.smoothed.root == pytest.approx(found[False].smoothed.root, abs=1e-9)
        size, dof = one.nees(state.q, state.qd)
        assert size < stats.chi2.ppf(1.0 - 1e-6, dof)
    observer.reset(u=[1.0])
    sent = {"base": [0.1, 0.15, 0.15, 0.2]}
    motion = observer.run(np.ones((4, 1)), {"arm": np.array(seen[:4])}, sent)
    assert motion.q[1:, base] == pytest.approx(sent["base"], abs=1e-12)
    assert motion.run.driven["base"].shape == (5,)
    with pytest.raises(sorosim.InputError, match=r"driven\.base: expected 4 rows"):
        observer.run(np.ones((4, 1)), {"arm": np.array(seen[:4])}, {"base": [0.1]})


def test_driven_coordinates_of_the_file_stay_where_it_puts_them():
    """Robots with unknown loads have no `simulate` block of their own: the given robot's counts."""
    slide = "  slide:\n    joint: {prismatic: {axis: [0, 1, 0]}}\n    body: {sphere: {radius: 5 cm}, mass: 0.5 kg}\n"
    text = MASS.replace("  cart:\n", slide + "  cart:\n    parent: slide\n") + "simulate: {driven: {slide: 1 cm}}\n"
    observer = sorosim.Observer(robot_of(text), "10 ms", {"cart": "force"}, noise="1 mm", prior={"cart": "1 N"})
    observer.reset()
    q = observer.step(None, {"cart": [0.02, 0.01, 0.0]}).q
    assert q[0] == pytest.approx(0.01, abs=1e-12)


def test_an_unknown_tension_begins_at_the_commanded_one(arm):
    """Estimates of inputs that actuators follow are spread about u, as `estimate` has them."""
    observer = sorosim.Observer(arm, "10 ms", ["pull"], prior={"pull": "0.2 N"})
    assert observer.reset(u={"pull": 1.0}).values["pull"] == pytest.approx(1.0, abs=1e-12)


def test_infinite_numbers_of_records_are_named_before_the_first_step(arm):
    observer = sorosim.Observer(arm, "10 ms", noise="1 mm")
    observer.reset(u=[1.0])
    u, y = np.ones((3, 1)), np.full((3, 3), np.nan)
    u[1], y[2, 1] = np.nan, np.inf
    with pytest.raises(sorosim.InputError, match="u, row 1: expected finite numbers"):
        observer.run(u, {"arm": y})
    with pytest.raises(sorosim.InputError, match=r"y\.arm, row 2: expected finite numbers"):
        observer.run(np.ones((3, 1)), {"arm": y})
    assert observer.state.t == 0.0


@pytest.mark.parametrize("force", [(0.1, 0.0), (0.2, 0.1)])
def test_readings_that_come_back_after_a_time_are_not_taken_for_wrong_ones(force):
    """An unknown force carries the arm away while nothing is read: predictions are too wide to be linear."""
    task = observers.TASKS["arm, force"]
    observer, random = observers.observer_of(task), np.random.default_rng(0)
    robot = observer.robot
    u = np.array([1.0, 0.0, 0.0, 0.0])
    rest = sorosim.statics(robot, u).q
    found, sim = observer.reset(rest, np.zeros(robot.ndof)), sorosim.Stepper(robot, observers.DT / 4)
    state = sim.reset(rest, np.zeros(robot.ndof), u=u)
    for k in range(1, 60):
        t = k * observers.DT
        u[2:] = np.array(force) * min(1.0, t / 0.3)
        for _ in range(4):
            state = sim.step(u)
        read = None
        if not 0.1 < t < 0.7:
            read = {key: observers.read(robot, state.q, key, sd, random) for key, sd in task.readings.items()}
        found = observer.step([1.0], read)
        assert not found.rejected
    # as known as three markers of 1 mm make it
    assert np.linalg.norm(robot.pose(found.q, "arm")[:3, 3] - robot.pose(state.q, "arm")[:3, 3]) < 5e-3
