"""Controllers of states and of readings, beside inputs that follow signals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.base.errors import ConvergenceError, InputError
from tests.helpers.arms import rubber_arm

ARM = {
    "sorosim": 1,
    "name": "arm",
    "links": {
        "upper": {
            "joint": {"revolute": {"axis": [0, 1, 0], "damping": 0.02}},
            "body": {"box": {"size": [0.3, 0.02, 0.02]}, "mass": 0.2, "at": {"position": [0.15, 0, 0]}},
            "frames": {"end": {"position": [0.3, 0, 0]}},
        },
        "lower": {
            "parent": "upper",
            "at": {"frame": "end"},
            "joint": {"revolute": {"axis": [0, 1, 0], "damping": 0.02}},
            "body": {"box": {"size": [0.2, 0.02, 0.02]}, "mass": 0.1, "at": {"position": [0.1, 0, 0]}},
        },
    },
    "actuators": {"shoulder": {"joint": {"link": "upper"}}, "elbow": {"joint": {"link": "lower"}}},
}
METHODS = ["bdf", "generalized-alpha"]


def arm(**sensors):
    return sorosim.load(ARM | {"sensors": sensors}) if sensors else sorosim.load(ARM)


@pytest.mark.parametrize("method", METHODS)
def test_inputs_that_the_controller_leaves_follow_their_signals(method):
    robot, options = arm(), {"method": method, "rtol": 1e-8, "atol": 1e-10}
    shoulder = "0.5*sin(3*t)"
    expected = sorosim.simulate(robot, 0.4, u={"shoulder": shoulder, "elbow": 0.1}, **options)
    for given in (0.1, [0.1], {"elbow": "0.1 N*m"}, np.array([0.1])):
        run = sorosim.simulate(
            robot, 0.4, u={"shoulder": shoulder}, controller=lambda t, q, qd, u=given: u, dt_control=0.1, **options
        )
        assert_allclose(run.q, expected.q, atol=1e-6)  # tolerances of two runs of 1e-8
        assert_allclose(run.u, expected.u, atol=1e-15)
    assert run.options["u"] == {"shoulder": shoulder, "elbow": None}


def test_a_run_with_both_is_resumed_to_the_bit(tmp_path):
    robot = arm()

    def elbow(t, q, qd):
        return [-0.3 * q[1] - 0.02 * qd[1]]

    options = {"u": {"shoulder": "0.5*sin(3*t)"}, "controller": elbow, "dt_control": 0.05, "checkpoint": 0.1}
    whole = sorosim.simulate(robot, 0.4, **options)
    sorosim.simulate(robot, 0.25, **options, out=tmp_path / "run.h5")
    again = sorosim.resume(tmp_path / "run.h5", 0.4, controller=elbow)
    assert_array_equal(again.q, whole.q)
    assert_array_equal(again.u, whole.u)


def rough(n):
    """A controller whose inputs jump at each sample, always in the same way."""
    levels = 1.0 + np.random.default_rng(0).random((1000, n))
    return lambda t, q, qd: levels[round(t / 0.01)]


@pytest.mark.parametrize("method", ["generalized-alpha", "newmark"])
def test_fixed_steps_are_of_second_order_under_inputs_that_jump(method):
    robot, options = arm(), {"controller": rough(2), "dt_control": 0.01}
    exact = sorosim.simulate(robot, 0.3, method="radau", rtol=1e-10, atol=1e-12, **options)
    errors, balances = [], []
    for h in (5e-3, 2.5e-3, 1.25e-3):
        run = sorosim.simulate(robot, 0.3, method=method, step=h, rtol=1e-8, atol=1e-10, **options)  # of Newton
        errors.append(np.abs(run.q - exact.q).max())
        balances.append(np.abs(run.energy().balance).max())
        assert_array_equal(run.u, exact.u)
        assert run.stats["n_steps"] == round(0.3 / h)
    for values in (errors, balances):  # the work of inputs that jump, too
        assert_allclose(np.log2(np.array(values[:-1]) / values[1:]), 2.0, atol=0.2)


@pytest.mark.parametrize(("name", "tolerance"), [("cable_manipulator", 1e-3), ("soft_gripper_parallel", 2e-3)])
def test_chosen_steps_come_to_the_motion_of_a_soft_robot(name, tolerance):
    """Also with loops: as with restarts of an integrator of another kind."""
    robot = sorosim.load(name)
    options = {"controller": rough(len(robot.actuator_names)), "dt_control": 0.01, "q0": robot.initial_q}
    exact = sorosim.simulate(robot, 0.06, method="radau", rtol=1e-6, atol=1e-9, **options)
    run = sorosim.simulate(robot, 0.06, method="generalized-alpha", rtol=1e-4, atol=1e-7, **options)
    assert_allclose(run.q, exact.q, atol=tolerance * np.abs(exact.q).max())


@pytest.mark.slow
def test_a_hundred_samples_a_second_with_noise_take_single_steps():
    """One step of 10 ms for each sample of a soft arm: none fails, and the tip is where it should be."""
    robot = sorosim.load("cable_manipulator")
    options = {"controller": rough(5), "dt_control": 0.01, "q0": robot.initial_q}
    run = sorosim.simulate(robot, 4.0, method="generalized-alpha", step=0.01, **options)
    assert run.stats["n_steps"] == 400
    exact = sorosim.simulate(robot, 4.0, method="generalized-alpha", rtol=1e-5, atol=1e-8, **options)
    assert np.abs(run.tip() - exact.tip()).max() < 0.01 * 0.5  # of its length


class Watcher:
    """A controller of readings that keeps what it was given."""

    def __init__(self):
        self.t, self.y = [], []

    def __call__(self, t, y):
        self.t.append(t)
        self.y.append({name: value.copy() for name, value in y.items()})
        return {"elbow": -0.02 * y["tip"][1] if "tip" in y else 0.0}

    def of(self, name):
        return np.array([one[name] for one in self.y])


@pytest.mark.parametrize("method", METHODS)
def test_a_controller_gets_the_readings_of_the_run(method):
    """Sensors of several rates, with noise and bias: the samples are those that the run tells afterwards."""
    robot = arm(
        tip={"twist": {"link": "lower"}, "rate": 50.0, "noise": 0.1, "bias": 0.02},
        slow={"pose": {"link": "lower"}, "rate": 20.0, "noise": 0.01},
        late={"twist": {"link": "upper"}, "rate": 100.0, "delay": "25 ms", "noise": 0.1},
    )
    watcher = Watcher()
    run = sorosim.simulate(
        robot, 0.5, dt_out=0.005, u={"shoulder": 0.4}, controller=watcher, dt_control=0.02, method=method
    )
    k = np.arange(26)
    assert_allclose(watcher.t, 0.02 * k)
    readings = run.readings
    assert_array_equal(watcher.of("tip"), readings["tip"].values[k])
    # at 20 Hz the last sample by 0.02 k is number floor(0.4 k)
    assert_array_equal(np.abs(watcher.of("slow")), np.abs(readings["slow"].values[(2 * k) // 5]))
    # taken 25 ms before or earlier, at multiples of 10 ms; before that the first one
    assert_array_equal(watcher.of("late"), readings["late"].values[np.maximum(2 * k - 3, 0)])


def test_sensors_without_a_rate_are_read_when_the_controller_is_called():
    robot, watcher = (
        arm(tip={"twist": {"link": "lower"}}, before={"twist": {"link": "lower"}, "delay": 0.03}),
        Watcher(),
    )
    run = sorosim.simulate(robot, 0.4, dt_out=0.01, controller=watcher, dt_control=0.05)
    tip = run.readings["tip"].values
    assert_array_equal(watcher.of("tip"), tip[::5])
    assert_array_equal(watcher.of("before"), tip[[0, *range(2, 40, 5)]])


@pytest.mark.parametrize("method", METHODS)
def test_accelerations_are_those_under_the_inputs_before(method):
    """A motor that is switched on at a sample has not moved the sensor yet."""
    robot = arm(imu={"imu": {"link": "lower"}})
    seen = []

    def switch(t, y):
        seen.append(y["imu"].copy())
        return [0.0, 0.0 if t < 0.1 else 0.5]

    start = {"q0": [0.3, 0.1], "qd0": [0.0, 0.0]}
    run = sorosim.simulate(robot, 0.15, controller=switch, dt_control=0.05, method=method, rtol=1e-8, **start)
    row = np.flatnonzero(np.isclose(run.t, 0.1))[0]
    for u, is_seen in (([0.0, 0.0], True), ([0.0, 0.5], False)):
        measured = robot.measure(run.q[row], run.qd[row], u=u)["imu"]
        assert np.allclose(seen[2], measured, atol=1e-9) == is_seen


def test_readings_make_a_loop_stable():
    """A pendulum that stands up: rates and angles from a noisy sensor 50 times a second hold it, without it falls."""
    box = {"size": [0.02, 0.02, 0.5]}
    data = {
        "sorosim": 1, "name": "stick",
        "links": {"stick": {"joint": {"revolute": {"axis": [0, 1, 0]}},
                            "body": {"box": box, "mass": 0.2, "at": {"position": [0, 0, 0.25]}}}},
        "actuators": {"motor": {"joint": {"link": "stick"}}},
        "sensors": {"gyro": {"twist": {"link": "stick"}, "noise": 0.01, "delay": "2 ms"},
                    "pose": {"pose": {"link": "stick"}, "noise": 1e-3}},
    }  # fmt: skip
    robot = sorosim.load(data)

    def balance(t, y):
        angle = 2.0 * y["pose"][5] * np.sign(y["pose"][3])
        return -2.0 * angle - 0.2 * y["gyro"][1]

    held = sorosim.simulate(robot, 2.0, q0=[0.1], controller=balance, dt_control=0.02)
    assert np.abs(held.q[100:]).max() < 0.02
    assert np.abs(sorosim.simulate(robot, 2.0, q0=[0.1]).q[-1]) > 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"controller": lambda t, q, qd: {"shoulder": 1.0}, "u": {"shoulder": 1.0}},
         "controller at t = 0 s: expected inputs that u does not name: elbow, got 'shoulder'"),
        ({"controller": lambda t, q, qd: [1.0, 2.0], "u": {"shoulder": 1.0}},
         "controller at t = 0 s: expected 1 inputs: elbow, got 2"),
        ({"controller": lambda t, q, qd: 0.0, "u": [1.0, 2.0]}, "u: expected a mapping of names to values, got list"),
        ({"controller": lambda t, q, qd: 0.0, "u": {"shoulde": 1.0}},
         "u: expected the name of an actuator, got 'shoulde'; did you mean shoulder?"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_error(options, message):
    with pytest.raises(InputError) as caught:
        sorosim.simulate(arm(), 0.2, dt_control=0.1, **options)
    assert str(caught.value) == message


def test_a_controller_of_readings_is_not_resumed():
    robot = arm(tip={"twist": {"link": "lower"}})
    run = sorosim.simulate(robot, 0.2, controller=lambda t, y: [0.0, 0.0], dt_control=0.1)
    with pytest.raises(InputError, match=r"controller: expected a function f\(t, q, qd\), got one of readings"):
        sorosim.resume(run, 0.4, controller=lambda t, y: [0.0, 0.0])


@pytest.mark.parametrize("method", ["bdf", "generalized-alpha"])
def test_an_input_that_grows_without_end_is_told(method):
    """A damper that a motor is by samples, kd dt > 2 I: the rate is multiplied by 1 - kd dt / I = -2 each time."""
    robot = sorosim.load({
        "sorosim": 1, "gravity": [0, 0, 0], "actuators": {"motor": {"joint": {"link": "bar"}}},
        "links": {"bar": {"joint": {"revolute": {"axis": [0, 1, 0]}}, "body": {"mass": 1, "inertia": [1, 1, 1]}}},
    })  # fmt: skip

    def moved(kd):
        return sorosim.simulate(
            robot, "0.5 s", controller=lambda t, q, qd: [-kd * qd[0]], dt_control="10 ms", qd0=[0.1], method=method
        )

    with pytest.warns(sorosim.SorosimWarning, match="the controller's 'motor' grew from .* in 4. samples, tenfold"):
        run = moved(300.0)
    assert np.abs(run.u).max() == pytest.approx(30.0 * 2.0**50, rel=1e-3)
    assert "unstable" not in moved(190.0).message  # by -0.9


@pytest.mark.parametrize("method", METHODS)
def test_an_unstable_controller_ends_the_run_where_a_rod_would_burst(method):
    chamber = {"chamber": {"rod": "arm", "y": 0, "z": 0, "area": 1e-4}}
    robot = sorosim.load({**rubber_arm(elongation=1), "actuators": {"blow": chamber}})

    def grows(t, q, qd):
        return [1e4 * 1.5 ** (t / 0.01)]  # as the gain of an unstable loop has it

    with pytest.raises(ConvergenceError, match=r"'arm' is strained by .* is the controlled motion unstable") as caught:
        sorosim.simulate(robot, 1.0, controller=grows, dt_control=0.01, method=method)
    assert 0.1 < caught.value.partial.t[-1] < 0.25  # three times its length: E A = 314 N at 9.4 MPa, met at 0.17 s
