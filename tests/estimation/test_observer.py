"""Observers: the textbook's filter, statistics, readings that are missing, late or wrong, loops, rotations, errors."""

import json
import sys
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scipy import linalg, optimize, stats

import sorosim
from sorosim.analysis.equilibria.assembly import close_if_possible, closed_rates
from sorosim.connect.cli.main import main
from sorosim.files import load_text

ARM = """
sorosim: 1
name: arm
materials:
  rubber: {young: 0.5 MPa, poisson: 0.49, density: 1100 kg/m^3, damping: 300 Pa*s}
links:
  arm:
    rod: {length: 30 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 2}}
actuators:
  pull: {tendon: {rod: arm, y: 0, z: 8 mm}}
sensors:
  gyro: {imu: {link: arm}, noise: [0.01, 0.01, 0.01, 0.1, 0.1, 0.1]}
"""
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
    sim.state = replace(state, memory=None)
    after = sim.step(u)
    kicks = observer._disturbances(np.array(after.q))
    n = observer.robot.ndof
    d = kicks @ random.standard_normal(kicks.shape[1])
    q, qd = np.array(after.q) + d[:n], np.array(after.qd) + d[n : 2 * n]
    return replace(after, q=q, qd=qd, memory=None)


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
    """NEES (n,) of state and unknowns after some steps, under disturbances and noise as an observer expects them."""
    random, out = np.random.default_rng(seed), []
    observer = sorosim.Observer(robot, "10 ms", unknown, process, noise=noise, prior=prior, **options)
    sim = sorosim.Stepper(observer.robot, "10 ms", substeps=4)
    n_q = robot.ndof
    for _ in range(n):
        first = observer.reset(start, u=u, position="2 mm", velocity="2 cm/s")
        error = first.root @ random.standard_normal(first.root.shape[1])
        inputs = np.zeros(robot.engine.n_actuators) if u is None else np.asarray(u, dtype=float)
        load = first.mean + error[2 * n_q :]
        whole = np.concatenate([inputs, load])
        state = sim.reset(first.q + error[:n_q], first.qd + error[n_q : 2 * n_q], u=whole)
        for _ in range(n_steps):
            state = disturbed(observer, sim, state, whole, random)
            load = load + np.sqrt(observer.dt) * observer._walk * random.standard_normal(len(load))
            whole = np.concatenate([inputs, load])
            places = {key: observer.robot.pose(state.q, *key)[:3, 3] if isinstance(key, tuple)
                      else observer.robot.pose(state.q, key)[:3, 3] for key in read}  # fmt: skip
            found = observer.step(inputs, {key: p + noise * random.standard_normal(3) for key, p in places.items()})
        out.append(found.nees(state.q, state.qd, dict(zip(observer.names, load.tolist(), strict=True))))
    return np.sum(out, axis=0)


def test_nees_of_an_arm(arm):
    total, dof = nees(arm, {"arm.tip": "force"}, {"arm.tip": "0.05 N", "motion": "0.05 m/s"}, {"arm.tip": "0.05 N"},
                      ["arm"], 10, 25, u=[1.0])  # fmt: skip
    # runs are independent, and the sum of all is chi-squared; bounds that one run in a million passes
    low, high = stats.chi2.ppf([5e-7, 1.0 - 5e-7], dof)
    assert low < total < high


def test_nees_of_a_free_body():
    body = robot_of(BODY)
    process = {"hull": "0.1 N", "motion": "0.02 m/s"}
    start = [0.1, 0.0, 0.2, 0.3, -0.2, 0.5]
    total, dof = nees(body, {"hull": "force"}, process, {"hull": "0.1 N"}, ["hull"], 10, 25, start=start)
    low, high = stats.chi2.ppf([5e-7, 1.0 - 5e-7], dof)
    assert low < total < high


def test_a_body_that_turns_round_and_round():
    """Rotations pass half a turn: coordinates are changed to others of the same pose, and so is the covariance."""
    body = robot_of(BODY)
    spin = np.array([0.0, 0.0, 0.0, 0.3, 0.0, 6.0])
    observer = sorosim.Observer(body, "10 ms", noise={"hull": ["1 deg", "1 mm"]}, process={"motion": "0.01 m/s"})
    sim = sorosim.Stepper(body, "10 ms", substeps=4)
    state = sim.reset(np.zeros(6), spin)
    observer.reset(np.zeros(6), 0.97 * spin, position="5 mm", velocity="3 cm/s")
    random, changed = np.random.default_rng(1), False
    for _ in range(250):  # more than two turns
        before, state = state, sim.step()
        changed = changed or np.abs(np.array(state.q) - before.q).max() > 1.0
        g = body.pose(state.q, "hull")
        turn = linalg.expm(np.cross(np.eye(3), np.deg2rad(1.0) * random.standard_normal(3)))
        read = np.eye(4)
        read[:3, :3], read[:3, 3] = g[:3, :3] @ turn, g[:3, 3] + 1e-3 * random.standard_normal(3)
        found = observer.step(None, {"hull": read})
        assert not found.rejected
    assert changed
    off = found.pose("hull")[0][:3, :3].T @ body.pose(state.q, "hull")[:3, :3]
    assert np.arccos(np.clip(0.5 * (np.trace(off) - 1.0), -1.0, 1.0)) < 0.03
    size, dof = found.nees(state.q, state.qd)
    assert dof == 12
    assert size < stats.chi2.ppf(1.0 - 1e-6, dof)


def test_loops_stay_closed():
    robot, link = sorosim.load("hybrid_parallel"), "plate"
    observer = sorosim.Observer(robot, "5 ms", noise="1 mm", process={"motion": "0.1 m/s"})
    observer.reset(position="1 mm", velocity="1 cm/s")
    sim = sorosim.Stepper(robot, "5 ms")
    sim.reset()
    random = np.random.default_rng(2)
    for _ in range(20):
        state = sim.step()
        p = robot.pose(state.q, link)[:3, 3]
        found = observer.step(None, {link: p + 1e-3 * random.standard_normal(3)})
        gaps = robot.loop_gaps(found.q)
        assert max(max(gap) for gap in gaps.values()) < 1e-6
        A = robot.loop_rows(found.q).A
        assert np.abs(A @ found.root[: robot.ndof]).max() < 1e-9 * np.abs(found.root[: robot.ndof]).max()


def test_rates_follow_coordinates_through_loops():
    """Where a linkage moves, columns of the root are differences of closed motions, at the start and after readings."""
    robot = sorosim.load("four_bar")
    observer = sorosim.Observer(robot, "1 ms", noise="1 m", process={"motion": "0 m/s"}, substeps=1)
    start = robot.initial_q
    rates = closed_rates(robot, start, np.array([5.0, 0.0, 0.0]), np.arange(3))
    n, free = robot.ndof, observer._free
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

    one, other = observed(arm, in_time), observed(arm, late)
    assert other.q == pytest.approx(one.q, abs=1e-9)
    assert other.mean == pytest.approx(one.mean, abs=1e-9)
    assert other.root == pytest.approx(one.root, abs=1e-8)


def test_a_reading_that_is_wrong_is_named_and_left_out(arm):
    def feed(observer, k, y):
        wrong = {"arm": y["arm"] + 0.05} if k == 15 else y
        found = observer.step([1.0], wrong)
        assert found.rejected == (("arm",) if k == 15 else ())

    def without(observer, k, y):
        observer.step([1.0], None if k == 15 else y)

    assert observed(arm, feed).q == pytest.approx(observed(arm, without).q, abs=1e-9)


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


def test_iterated_updates_are_the_most_probable_states(arm):
    """Of a reading that is far from linear in what was known, by another optimiser."""
    costs = {}
    for method in ("ekf", "iterated"):
        observer = sorosim.Observer(arm, "10 ms", noise="1 mm", method=method)
        observer.reset(u=[1.0], position="5 cm", velocity="1 cm/s")
        before = observer.step([1.0])
        x = np.concatenate([before.q, before.qd])
        bent = x[: arm.ndof] + before.root[: arm.ndof] @ np.full(len(x), 0.5)
        readings = observer._readings_of({"arm": arm.pose(bent, "arm")[:3, 3]})

        belief = observer._belief

        def residuals(z, observer=observer, readings=readings, belief=belief, x=x, root=before.root):
            return np.concatenate([z, observer._errors(readings, belief, x + root @ z)[0]])

        e, H = observer._errors(readings, belief, x)
        z = observer._corrected(readings, belief, e, H, np.ones(3, dtype=bool))[0]
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
    motion.run.save(tmp_path / "run.h5")
    again = sorosim.open(tmp_path / "run.h5")
    assert again.q == pytest.approx(motion.q)
    assert again.u.shape == (16, 4)


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
    words = "arm.yaml seen.csv --noise arm=1mm --noise arm@0.5=2mm --out seen.h5 --json "
    words += "--unknown arm.tip=force --prior arm.tip=0.1N"
    monkeypatch.setattr(sys, "argv", ["sorosim", "observe", *words.split()])
    with pytest.raises(SystemExit):
        main()
    found = json.loads(capsys.readouterr().out)
    assert found["t"] == pytest.approx([0.01 * k for k in range(12)])
    assert np.abs(found["values"]["arm.tip.f_y"]).max() < 0.02
    assert found["rejected"] == {}
    assert sorosim.open("seen.h5").q.shape == (12, arm.ndof)


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
    relaxing = ARM.replace("damping: 300 Pa*s", "relaxation: {terms: [{share: 0.5, time: 50 ms}]}")
    with pytest.raises(sorosim.InputError, match="materials that do not relax"):
        sorosim.Observer(robot_of(relaxing), "10 ms")
    moved = MASS + "simulate: {t_end: 1 s, driven: {cart: 0.1*sin(10*t)}}\n"
    with pytest.raises(sorosim.InputError, match="whose driven coordinates stay"):
        sorosim.Observer(robot_of(moved), "10 ms")


WRONG = {
    "noise": (lambda arm: sorosim.Observer(arm, "10 ms", noise={"nonsense": 1.0}), "noise: expected a link"),
    "an input that is unknown": (
        lambda arm: (obs := sorosim.Observer(arm, "10 ms", {"pull": "0.1 N"}), obs.reset(), obs.step({"pull": 1.0})),
        "commands of inputs that are known",
    ),
    "method": (lambda arm: sorosim.Observer(arm, "10 ms", method="ukf"), "ekf"),
    "a number": (lambda arm: sorosim.Observer(arm, "10 ms", {"materials.rubber.young": "1 kPa"}), "an input or a load"),
    "process": (
        lambda arm: sorosim.Observer(arm, "10 ms", process={"tip": 1.0}),
        "names that are unknown, or 'motion'",
    ),
    "no prior": (lambda arm: sorosim.Observer(arm, "10 ms", {"arm.tip": "force"}).reset(), "what is known of it"),
    "no reset": (lambda arm: sorosim.Observer(arm, "10 ms").step(), "a reset before"),
    "a unit": (lambda arm: sorosim.Observer(arm, "10 ms", process={"motion": "1 N"}), "process.motion"),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_wrong_arguments(case, arm):
    make, message = WRONG[case]
    with pytest.raises(sorosim.InputError, match=message):
        make(arm)


def test_late_beyond_what_is_remembered(arm):
    observer = sorosim.Observer(arm, "10 ms", noise="1 mm")
    observer.reset(u=[1.0])
    observer.step([1.0])
    with pytest.raises(sorosim.InputError, match=r"times of the last 50 steps, 0\.01 to 0\.01 s"):
        observer.step([1.0], late={0.5: {"arm": [0.3, 0.0, 0.0]}})


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
