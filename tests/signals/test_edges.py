"""Where signals change: edges at which integrators start anew, and motions that cannot be driven."""

import numpy as np
import pytest
from helpers.robots import cable_manipulator

import sorosim
from sorosim.base.errors import InputError
from sorosim.base.methods import METHODS
from sorosim.base.signals import as_signal
from sorosim.base.signals.edges import Edges, edges, rough_time
from sorosim.mechanics.engine.inputs import check_smooth
from sorosim.mechanics.engine.prescribed import signal_of
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.robot import Robot

FLAT = ([1, 2, 3, 4], [0, 0, 1, 1])
HUMP = {"times": [1, 2, 3], "values": [1, 2, 1], "interpolation": "cubic"}
EDGES = [
    ("5*step(t-0.3)", [0.3]),
    ("step(t-1)-step(t-1.004)", [1.0, 1.004]),
    ("clip(10*(t-0.5),0,5)", [0.5, 1.0]),
    ("smoothstep((t-3.00001)/1e-3)", [3.00001, 3.00101]),
    ("sin(t)+step(t-1.23456)", [1.23456]),
    ("sin(1000*t)*step(t-2.5)", [2.5]),
    ("floor(t)", [1, 2, 3, 4, 5, 6, 7]),
    ("max(0,sin(t))", [np.pi, 2 * np.pi]),
    ("step(sin(100*t))", np.pi / 100 * np.arange(1, 255)),
    (FLAT, [2, 3]),
    (HUMP, [1, 3]),
    ("sin(t)", []),
    ("abs(sin(t))", []),
    ("sin(10000*t)", []),
    ("3", []),
    (np.sin, []),
]


@pytest.mark.parametrize(("given", "expected"), EDGES, ids=[str(given)[:30] for given, _ in EDGES])
def test_edges_of_signals_are_found_to_the_last_digit_wherever_the_end_is(given, expected):
    signal = as_signal(given)
    found = edges([signal], 8.0, 0.01)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    np.testing.assert_array_equal(edges([signal], 2.995, 0.01), found[found < 2.995])
    # coarse results do not hide them
    np.testing.assert_allclose(edges([signal], 8.0, 1.0)[:1], expected[:1], rtol=1e-14)


def test_edges_are_moved_onto_other_times_and_windows_end_before_them():
    found = Edges(np.array([0.3, 0.7, np.nextafter(0.7, 1.0)]), np.array([0.0, 0.1 * 3, 1.0]), 0.1)
    np.testing.assert_array_equal(found.times, [0.1 * 3, np.nextafter(0.7, 1.0)])
    assert found.window(0.0) == (-np.inf, np.nextafter(0.3, 0.0))
    assert found.window(0.1 * 3) == (0.3, np.nextafter(0.7, 0.0))
    assert found.window(0.8) == (np.nextafter(0.7, 1.0), np.inf)
    assert Edges(np.zeros(0), np.array([0.0, 1.0]), 0.1).window(0.5) == (-np.inf, np.inf)


# -- runs


def hinges(**joint):
    """Two hinges one after the other, without gravity: at rest until the first is moved."""
    body = RigidBody(1.0, centre=(0.3, 0.0, 0.0), inertia=(0.01, 0.02, 0.02))
    place = np.eye(4)
    place[0, 3] = 0.5
    links = (
        Link("a", body, joint=Joint("revolute", axis=(0, 1, 0))),
        Link("b", body, parent="a", at=place, joint=Joint("revolute", axis=(0, 1, 0), damping=0.01)),
    )
    return Robot(Description("hinges", links, gravity=(0.0, 0.0, 0.0), **joint))


@pytest.mark.parametrize("motion", ["0.5*smoothstep((t-3)/0.3)", "0.5*smoothstep((t-3)/1)",
                                    {"times": [0, 2.9, 3, 3.3, 3.4, 8], "values": [0, 0, 0, 0.5, 0.5, 0.5],
                                     "interpolation": "pchip"}])  # fmt: skip
def test_a_motion_that_begins_after_a_rest_is_not_stepped_over(motion):
    exact = sorosim.simulate(hinges(), 5.0, driven={"a": motion}, max_step=0.01, rtol=1e-7, atol=1e-9)
    for method in METHODS:
        run = sorosim.simulate(hinges(), 5.0, driven={"a": motion}, method=method, rtol=1e-5, atol=1e-8)
        assert abs(exact.q[-1, 1]) > 1.0
        assert abs(run.q[-1, 1] - exact.q[-1, 1]) < 0.06 * abs(exact.q[-1, 1]), method


@pytest.mark.parametrize("pulse", ["0.5*(step(t-3)-step(t-3.02))", "0.5*(step(t-3.003)-step(t-3.023))",
                                   ([0, 3, 3.01, 3.02], [0, 0, 1, 0])])  # fmt: skip
def test_short_pulses_of_inputs_are_felt(pulse):
    from sorosim.mechanics.actuation.joint_force import JointForce

    robot = hinges(actuators={"motor": JointForce("b")})
    run = sorosim.simulate(robot, 4.0, u={"motor": pulse})
    # the impulse 0.01 N m s turns the two against each other, M qd = B p, but for some damping
    M = robot.mass_matrix([0.0, 0.0])
    after = int(np.searchsorted(run.t, 3.03))
    np.testing.assert_allclose(run.qd[after], np.linalg.solve(M, [0.0, 0.01]), rtol=2e-2)
    assert run.stats["n_steps"] < 250


def test_steps_of_an_input_cost_few_evaluations():
    """Steps that end at a jump see the input before it."""
    robot = cable_manipulator()
    step = sorosim.simulate(robot, 1.0, u={"cable1": "5*step(t-0.5)"})
    before = sorosim.simulate(robot, 0.5, u={"cable1": 0.0})
    np.testing.assert_array_equal(step.q[:50], before.q[:50])
    np.testing.assert_allclose(step.q[50], before.q[50], rtol=0.0, atol=0.0)


def test_runs_with_edges_go_on_to_the_bit():
    options = {"u": {"cable1": "5*step(t-0.25)", "cable2": "3*smoothstep((t-0.4)/0.1)"}, "checkpoint": 0.1}
    robot = cable_manipulator()
    for method in ("bdf", "cvode", "radau", "lsoda"):
        whole = sorosim.simulate(robot, 0.6, method=method, **options)
        longer = sorosim.resume(sorosim.simulate(robot, 0.42, method=method, **options), 0.6)
        np.testing.assert_array_equal(longer.q, whole.q)
        np.testing.assert_array_equal(longer.qd, whole.qd)


# -- motions that are refused


ROUGH = [
    ("abs(t - 0.3)", "a rate that jumps", 0.3),
    ("asin(sin(20*t))", "a rate that jumps", np.pi / 40),
    ("clip(t, 0, 0.2)", "a rate that jumps", 0.2),
    ("sin(t) + 0.001*abs(sin(200*t))", "a rate that jumps", np.pi / 200),
    ("((t - 0.2512345)^2)^0.5", "a rate that jumps", 0.2512345),
    ("max(0, t)", "a rate that jumps", 0.0),
    ("floor(5*t)", "a value that jumps", 0.2),
    ("atan(tan(20*t))", "a value that jumps", np.pi / 40),
    ("smoothstep(step(t - 0.2))", "a value that jumps", 0.2),
    ("1/(t - 0.2001234)", "a value that jumps", 0.2001234),
    ("((t - 0.25)^2)^0.5", "no finite rate", 0.25),
    ("((t - 0.2)^2)^0.75", "no finite rate", 0.2),
    ("sqrt(t)", "no finite rate", 0.0),
    ("t^1.5", "no finite acceleration", 0.0),
    ("1/(t - 0.25)", "no finite value", 0.25),
    (([0, 0.1], [0, 1]), "a rate that jumps", 0.1),
    (([0, 0.1, 0.5], [0, 1, 2]), "a rate that jumps", 0.1),
    (([0.1, 0.5], [0, 1]), "a rate that jumps", 0.1),
    ({"times": [0, 0.1, 0.2, 0.3], "values": [0, 0.1, 0.5, 1], "interpolation": "cubic"}, "a rate that jumps", 0.3),
    ({"times": [0, 0.1, 0.2, 0.3], "values": [0, 0.1, 0.5, 1], "interpolation": "pchip"}, "a rate that jumps", 0.3),
    ({"times": [0.2, 0.3, 0.4, 0.5], "values": [0.2, 0.1, 0.5, 1], "interpolation": "cubic"}, "a rate that jumps", 0.2),
]  # fmt: skip


@pytest.mark.parametrize(("given", "what", "t"), ROUGH, ids=[str(given)[:30] for given, _, _ in ROUGH])
def test_what_makes_a_motion_rough_is_found_with_its_time(given, what, t):
    with pytest.raises(InputError) as caught:
        check_smooth({"arm": signal_of("driven.arm", given, "angle")}, 0.5, 0.01)
    expected = f"driven.arm: expected a motion with a continuous rate, got {what} at t = {t:.6g} s; "
    assert str(caught.value).startswith(expected)


SMOOTH = [
    "30/57*t/(1 + 0*t)", "tanh(100*(t-0.2))", "tanh(1e9*(t-0.2))", "1e3*sin(1e4*t)", "5+1e-9*sin(t)", "floor(t)",
    "sin(t)^2+cos(t)^2", "0.5*smoothstep((t-0.3)/0.1)", "smoothstep((t-0.5)/0.1)",
    "abs(sin(t))", "step(t-10)", "max(t, 0)", "t^2*abs(t)", 3.0,
    ([0, 0.1, 0.2, 0.6], [0, 1, 2, 6]), ([0, 0.5], [0, 1]), ([-1, 0], [0, 1]),
    {"times": [0, 0.1, 0.2, 0.3, 0.31], "values": [0, 0, 0.5, 1, 1], "interpolation": "pchip"},
    {"times": np.linspace(0, 0.4, 41), "values": 1 - np.cos(5 * np.pi * np.linspace(0, 0.4, 41)),
     "interpolation": "cubic"},
]  # fmt: skip


@pytest.mark.parametrize("given", SMOOTH, ids=[str(given)[:30] for given in SMOOTH])
def test_smooth_motions_pass(given):
    assert rough_time(as_signal(given), np.linspace(0.0, 0.5, 4001)) is None
    check_smooth({"arm": signal_of("driven.arm", given, "angle")}, 0.5, 0.01)


def test_the_unit_minute_is_not_the_function_min():
    from sorosim.base.units.table import unit_factor

    signal = as_signal("0.5*t/(1 min)", "u", unit_factor)
    assert sorosim.simulate(hinges(), 0.1, driven={"a": signal}).q[-1, 0] == pytest.approx(0.05 / 60)


def test_how_far_a_motion_is_smooth_is_asked_of_the_run():
    table = {"times": [0, 0.1, 0.2, 0.3], "values": [0, 0.1, 0.5, 1], "interpolation": "cubic"}
    run = sorosim.simulate(hinges(), 0.3, driven={"a": table})
    with pytest.raises(InputError, match="outside of a table its value is held"):
        sorosim.simulate(hinges(), 0.4, driven={"a": table})
    with pytest.raises(InputError, match=r"driven\.a: expected a motion with a continuous rate, got a rate that jumps"):
        sorosim.resume(run, 0.4)
