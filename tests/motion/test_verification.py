"""Errors of motions: what a companion run tells of them, and from when on it tells nothing."""

from dataclasses import replace

import numpy as np
import pytest

import sorosim
from benchmarks import accuracy
from sorosim.analysis.motion.verification import finer
from sorosim.analysis.results.accuracy import Accuracy, apart
from sorosim.base.errors import ConvergenceError, InputError, SorosimWarning
from sorosim.files import load_text

PENDULUM = {"links": {"arm": {"joint": {"revolute": {"axis": [0, 1, 0]}},
                              "body": {"mass": "1 kg", "centre": [0, 0, "-1 m"], "inertia": [1e-3, 1e-3, 1e-3]}}},
            "initial": {"arm.revolute": 1.0}}  # fmt: skip
SPRING = {"gravity": [0, 0, 0], "initial": {"ball.prismatic": "10 cm"},
          "links": {"ball": {"joint": {"prismatic": {"axis": [1, 0, 0], "stiffness": "100 N/m"}},
                             "body": {"sphere": {"radius": "5 cm"}, "mass": "1 kg"}}}}  # fmt: skip
MOTOR = {"actuators": {"motor": {"joint": {"link": "arm"}}}}
quiet = pytest.mark.filterwarnings("ignore:.*right to:sorosim.SorosimWarning")


def made(parts, **more):
    return sorosim.load({"sorosim": 1, "name": "robot", **parts, **more})


@quiet
@pytest.mark.parametrize(
    "options",
    [{"method": "bdf", "rtol": 1e-3}, {"method": "cvode", "rtol": 1e-5}, {"method": "lsoda", "rtol": 1e-4},
     {"method": "radau", "rtol": 1e-3}, {"method": "generalized-alpha", "rtol": 1e-4}, {"method": "ida", "rtol": 1e-4},
     {"method": "generalized-alpha", "step": "2 ms"}, {"method": "newmark", "step": "7 ms"}],
)  # fmt: skip
def test_the_error_of_an_oscillator_is_that_from_its_cosine(options):
    run = sorosim.simulate(made(SPRING), 2.0, verify=True, **options)
    true = np.abs(0.1 * np.cos(10.0 * run.t) - run.q[:, 0])
    estimate = run.error_estimate()
    assert 0.1 < true.max() / estimate.max() < 10.0
    assert np.all(true < 10.0 * estimate.max())
    assert run.accuracy.error.max() == pytest.approx(estimate.max())
    assert run.accuracy.parts_at == np.inf


@quiet
@pytest.mark.parametrize("seed", [1, 2, 3, 7, 16, 20, 22, 23, 46])
def test_estimates_of_random_motions_are_within_a_tenth_and_ten_times_of_the_error(seed):
    value, words = accuracy.ratio(seed)
    assert 0.1 < value < 10.0, words


@pytest.mark.slow
def test_of_200_random_motions_95_in_a_hundred_are():
    ratios = np.array(accuracy.ratios(200, lambda line: None))
    assert len(ratios) > 150
    assert np.mean((ratios > 0.1) & (ratios < 10.0)) >= 0.95


def test_a_run_without_a_companion_says_how_to_get_one():
    run = sorosim.simulate(made(SPRING), 0.1)
    with pytest.raises(InputError, match=r"error_estimate: expected a run with a companion.*verify=True"):
        run.error_estimate()
    with pytest.raises(InputError, match="accuracy: expected"):
        _ = run.accuracy


def test_tolerances_that_leave_nothing_finer_are_refused():
    with pytest.raises(InputError, match="rtol: expected larger tolerances, so that a companion run can be finer"):
        sorosim.simulate(made(SPRING), 0.1, rtol=1e-12, verify=True)


def test_a_companion_by_steps_halves_those_that_are_taken():
    options = {"method": "newmark", "rtol": 1e-3, "atol": 1e-6, "dt_out": 0.01, "step": 0.007}
    assert finer(options, 1).options == {"step": 0.0025}  # 7 ms are 5 between rows of 10
    assert finer(options, 2).factor == pytest.approx(16.0 / 15.0)


@quiet
def test_bars_that_swing_over_part_from_their_neighbours():
    start = "l0.revolute: 150 deg, l1.revolute: 40 deg"
    robot = load_text(accuracy.hinges(3, start=start), "bars")
    run = sorosim.simulate(robot, 2.0, dt_out="20 ms", method="bdf", rtol=1e-3, atol=1e-6, verify=True)
    assert 1.0 < run.accuracy.parts_at < 2.0
    assert "only statistics are meaningful" in run.message


@quiet
@pytest.mark.parametrize("parts", [PENDULUM, None])
def test_motions_that_are_far_from_their_companion_are_no_chaos_where_no_third_run_tells(monkeypatch, parts):
    """Of a regular and of a chaotic motion, the same is known without a run that is finer still."""
    monkeypatch.setattr("sorosim.analysis.motion.verification.LEAST_RTOL", 1e-4)
    start = "l0.revolute: 150 deg, l1.revolute: 40 deg"
    robot = load_text(accuracy.hinges(3, start=start), "bars") if parts is None else made(parts)
    t_end = 2.0 if parts is None else 25.0
    run = sorosim.simulate(robot, t_end, dt_out="20 ms", method="bdf", rtol=3e-3, atol=1e-6, verify=True)
    assert run.accuracy.parts_at == np.inf
    assert np.isfinite(run.accuracy.error).all()
    assert run.accuracy.error.max() > 0.1 * run.accuracy.way
    assert "only statistics are meaningful" not in run.message
    assert "neighbouring motions part from" in run.message
    assert "for want of a third run: its tolerances would be lost in rounding" in run.message


@pytest.mark.slow
def test_a_chaotic_motion_is_told_until_it_parts_from_its_neighbours():
    robot = sorosim.load("double_pendulum")
    with pytest.warns(
        SorosimWarning, match=r"right to 2.* mm until .* s.*; from .* s on only statistics are meaningful"
    ):
        run = sorosim.simulate(robot, 10.0, method="bdf", rtol=1e-4, atol=1e-7, verify=True)
    parts_at = run.accuracy.parts_at
    assert 2.0 < parts_at < 10.0
    assert "only statistics are meaningful" in run.message
    exact = sorosim.simulate(robot, 10.0, method="radau", rtol=1e-10, atol=1e-13)
    true = apart(robot, exact.q, run.q)[0]
    error, early = run.accuracy.error, run.t < parts_at - 1.0
    worst = np.argmax(error[early])
    assert 0.1 < true[worst] / error[worst] < 10.0


def test_tolerances_that_are_too_large_for_a_regular_motion_are_no_chaos():
    options = {"method": "bdf", "rtol": 3e-3, "atol": 1e-6}
    with pytest.warns(SorosimWarning, match=r"right to .* of the way, against radau, rtol .*; try rtol="):
        run = sorosim.simulate(made(PENDULUM), 25.0, dt_out="0.1 s", verify=True, **options)
    assert run.accuracy.parts_at == np.inf
    exact = sorosim.simulate(made(PENDULUM), 25.0, dt_out="0.1 s", method="radau", rtol=1e-8, atol=1e-11)
    true, way = apart(run.robot, exact.q, run.q)
    assert true.max() > 0.1 * way
    assert run.accuracy.error.max() == pytest.approx(true.max(), rel=0.1)


def test_the_companion_is_saved_sliced_and_taken_up_again(tmp_path):
    robot = sorosim.load("cable_manipulator")
    run = sorosim.simulate(robot, 0.2, verify=True, out=tmp_path / "run.h5")
    again = sorosim.open(tmp_path / "run.h5")
    assert np.array_equal(again.error_estimate("arm", 0.5), run.error_estimate("arm", 0.5))
    assert str(again.accuracy) == str(run.accuracy)
    assert np.array_equal(run[::4].error_estimate(), run.error_estimate()[::4])
    longer = sorosim.resume(again, 0.3)
    assert np.array_equal(longer.companion.q[: len(run.t)], run.companion.q)
    exact = sorosim.simulate(robot, 0.3, method="radau", rtol=1e-8, atol=1e-11)
    true = np.linalg.norm(longer.tip() - exact.tip(), axis=1)
    assert 0.1 < true.max() / longer.error_estimate().max() < 10.0


def test_rows_of_a_run_tell_their_own_accuracy():
    """A chaotic run, cut where it has not parted yet, is right so far; of no rows nothing is known."""
    run = sorosim.simulate(made(SPRING), 1.0, verify=True)
    parted = replace(run, companion=run.companion._replace(parts_at=0.7))
    assert "only statistics are meaningful" in str(parted.accuracy)
    assert "only statistics" not in str(parted[run.t < 0.5].accuracy)
    assert str(parted[run.t < 0.5].accuracy) == str(run[run.t < 0.5].accuracy)
    assert "not known" in str(run[:0].accuracy)
    assert run[:50].extended_by(run[50:]).companion is None  # of the second part alone


@quiet
def test_a_run_that_stopped_between_two_rows_and_was_resumed_is_compared_at_equal_times():
    """It has a row where it stopped, which its companion has not."""
    robot, options = made(PENDULUM), {"method": "bdf", "rtol": 1e-4, "atol": 1e-7}
    with pytest.raises(ConvergenceError) as stopped:
        sorosim.simulate(robot, 2.0, max_steps=40, verify=True, **options)
    partial = stopped.value.partial
    assert partial.t[-1] % 0.01 > 1e-6
    assert "it was not verified, since it stopped" in str(stopped.value)
    assert "it was not verified, since it stopped" in partial.message
    with pytest.raises(InputError, match="its message says why"):
        partial.error_estimate()
    run = sorosim.resume(partial, max_steps=1e6)
    exact = sorosim.simulate(robot, 2.0, method="radau", rtol=1e-9, atol=1e-12)
    known = np.isfinite(run.accuracy.error)
    assert np.flatnonzero(~known) == len(partial.t) - 1
    true = apart(robot, run[known].q, exact.q)[0]
    assert 0.1 < true.max() / run.accuracy.error[known].max() < 10.0
    assert "is not known" not in str(run.accuracy)


class Counting:
    """A controller that remembers how often it was called."""

    def __init__(self):
        self.n = 0

    def __call__(self, t, q, qd):
        self.n += 1
        return 1e-3 * self.n


def test_a_controller_that_remembers_is_copied_and_one_that_cannot_be_is_told():
    robot = made(PENDULUM, **MOTOR)
    run = sorosim.simulate(robot, 0.3, controller=Counting(), dt_control=0.02, verify=True)
    assert run.error_estimate().shape == run.t.shape
    counting = Counting()
    with pytest.warns(SorosimWarning, match="the controller remembers its calls, so there is no companion"):
        run = sorosim.simulate(robot, 0.3, controller=lambda t, q, qd: counting(t, q, qd), dt_control=0.02, verify=True)
    assert run.companion is None


@quiet
@pytest.mark.filterwarnings("ignore:.*energy balance:sorosim.SorosimWarning")
def test_each_companion_of_a_run_that_is_far_from_the_first_has_the_controller_as_it_was():
    options = {"method": "bdf", "rtol": 1e-2, "atol": 1e-5, "dt_out": "0.5 s", "dt_control": 4.0, "verify": True}
    run = sorosim.simulate(made(PENDULUM, **MOTOR), 24.0, controller=Counting(), **options)
    assert run.companion.level == 2
    assert run.accuracy.parts_at == np.inf


def test_a_companion_that_stops_leaves_the_rest_unknown():
    robot = made(SPRING)
    options = {"method": "radau", "rtol": 1e-4, "atol": 1e-7}
    most = 1.5 * sorosim.simulate(robot, 2.0, **options).stats["n_steps"]  # a companion takes 100^(1/6) times as many
    with pytest.warns(SorosimWarning, match="its error is known until .* s only: .*max_steps"):
        run = sorosim.simulate(robot, 2.0, max_steps=most, verify=True, **options)
    known = np.isfinite(run.error_estimate())
    assert known[0]
    assert not known[-1]


def test_a_run_that_parts_from_its_first_companion_alone_is_told_until_then():
    # near the finest one all the time, by chance: there is no row at which it is far
    told = Accuracy(np.array([0.0, 1.0, 2.0]), np.zeros(3), 1.0, 1.5, "a finer run")
    assert str(told).startswith("to 1 mm until 1 s, against a finer run; from 1.5 s on")
