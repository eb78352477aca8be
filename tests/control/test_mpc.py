"""Model-predictive control: what it plans, and that it controls."""

import copy
import pickle

import numpy as np
import pytest

import sorosim
from sorosim.base.errors import InputError, SorosimWarning
from tests.helpers.flail import flail

COST = {"goal": {"q": 1.0, "qd": 0.1}, "final": {"q": 100.0, "qd": 10.0}, "effort": 1e-4}
GOAL = {"pole": "180 deg"}


@pytest.fixture(scope="module")
def robot():
    return sorosim.load("swing_up_cart_pole")


def controlled(robot, mpc, n, tilt=0.2, noise=0.0):
    sim, rng = sorosim.Stepper(robot, mpc.dt), np.random.default_rng(0)
    state = sim.reset(q=[0.0, np.pi - tilt, 0.0, 0.0])
    states, inputs = [], []
    for _ in range(n):
        u = mpc.step(state.q + noise * rng.normal(size=4), state.qd)
        state = sim.step(u)
        states.append(np.concatenate([state.q, state.qd]))
        inputs.append(u)
    return np.array(states), np.array(inputs)


def test_pole_that_falls_is_caught_within_bounds(robot):
    mpc = sorosim.MPC(robot, 0.6, "20 ms", COST, ("-5 N", "5 N"), goal=GOAL)
    states, inputs = controlled(robot, mpc, 150, noise=1e-4)
    assert np.abs(inputs).max() <= 5.0
    assert (np.abs(inputs) > 5.0 - 1e-9).any()
    assert np.abs(states[-1] - [0, np.pi, 0, 0, 0, 0, 0, 0]).max() < 0.1
    assert mpc.failures == 0
    assert mpc.t == pytest.approx(3.0)


def test_plan_of_many_iterations_is_that_of_optimal_control(robot):
    q0 = [0.0, np.pi - 0.2, 0.0, 0.0]
    mpc = sorosim.MPC(robot, 0.4, "20 ms", COST, (-5, 5), goal=GOAL, iterations=100)
    u = mpc.step(q0, np.zeros(4))
    oc = sorosim.optimal_control(robot, 0.4, "20 ms", COST, (-5, 5), q0=q0, goal=GOAL, u0=np.zeros((20, 1)))
    t, X, U = mpc.plan
    np.testing.assert_allclose(U, oc.u, atol=1e-9)
    np.testing.assert_allclose(X[:, :4], oc.q, atol=1e-9)
    assert u == U[0]
    assert t[-1] == pytest.approx(0.4)


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda mpc: pickle.loads(pickle.dumps(mpc))])
def test_a_copy_plans_as_the_controller_does(robot, copied):
    mpc = sorosim.MPC(robot, 0.4, "20 ms", COST, goal=GOAL)
    mpc.step([0.0, np.pi - 0.2, 0.0, 0.0], np.zeros(4))
    other, state = copied(mpc), ([0.0, np.pi - 0.1, 0.0, 0.1], np.ones(4))
    u = mpc.step(*state)
    plan = [part.copy() for part in mpc.plan]
    np.testing.assert_array_equal(other.step(*state), u)
    for mine, its in zip(plan, other.plan, strict=True):
        np.testing.assert_array_equal(mine, its)


def test_tick_on_the_plan_goes_on_with_it(robot):
    mpc = sorosim.MPC(robot, 0.6, "20 ms", COST, goal=GOAL, iterations=100)
    mpc.step([0.0, np.pi - 0.1, 0.0, 0.0], np.zeros(4))
    _, X, U = mpc.plan
    again = mpc.step(X[1, :4], X[1, 4:])
    # the horizon's end moves on by one step, so the plan changes little
    assert abs(again[0] - U[1, 0]) < 0.05 * np.abs(U).max()


def test_changes_of_inputs_count_from_the_tick_before(robot):
    free, smooth = (
        sorosim.MPC(robot, 0.3, "20 ms", COST | {"smoothness": weight}, goal=GOAL) for weight in (0.0, 1e-3)
    )
    changes = [np.abs(np.diff(controlled(robot, mpc, 40)[1], axis=0)).max() for mpc in (free, smooth)]
    assert changes[1] < 0.5 * changes[0]


def test_reset_begins_anew(robot):
    mpc = sorosim.MPC(robot, 0.3, "20 ms", COST, goal=GOAL, u0={"motor": "1 N*sin(t)"})
    first = mpc.step([0, 3.0, 0, 0], np.zeros(4))
    mpc.step([0, 3.1, 0, 0], np.zeros(4))
    mpc.reset()
    np.testing.assert_array_equal(first, mpc.step([0, 3.0, 0, 0], np.zeros(4)))


def test_ticks_whose_motion_fails_go_on_with_the_plan(robot, monkeypatch):
    mpc = sorosim.MPC(robot, 0.3, "20 ms", COST, goal=GOAL)
    mpc.step([0, 3.0, 0, 0], np.zeros(4))
    planned = mpc.plan[2][1].copy()
    monkeypatch.setattr(mpc._problem.motion, "integrate", lambda *_: None)
    with pytest.warns(SorosimWarning, match=r"a step of the plan .*; until then the plan of the tick before goes on"):
        np.testing.assert_array_equal(mpc.step([0, 3.0, 0, 0], np.zeros(4)), planned)
    assert mpc.failures == 1
    mpc.step([0, 3.0, 0, 0], np.zeros(4))  # told once
    assert mpc.failures == 2


def test_a_first_tick_without_a_motion_says_so():
    mpc = sorosim.MPC(flail(), 0.4, "20 ms", {"final": {"q": 1.0}, "effort": 1e-2}, goal=np.zeros(6), u0={"motor": 0.1})
    with pytest.warns(SorosimWarning, match=r"a step of the plan of 'flail'.*: Newton's .* more substeps than 1"):
        u = mpc.step(np.zeros(6), [0.0, 30.0, -60.0, 50.0, -40.0, 60.0])
    assert u == pytest.approx([0.1])
    assert mpc.failures == 1


def test_bad_input_is_one_error(robot):
    with pytest.raises(InputError, match="a step before"):
        _ = sorosim.MPC(robot, 0.3, 0.02, COST, goal=GOAL).plan
    with pytest.raises(InputError, match=r"cost.exact"):
        sorosim.MPC(robot, 0.3, 0.02, {"exact": True}, goal=GOAL)
    with pytest.raises(InputError, match="q: expected 4 numbers"):
        sorosim.MPC(robot, 0.3, 0.02, COST, goal=GOAL).step([1.0], np.zeros(4))
    with pytest.raises(InputError, match="qd: expected finite numbers"):
        sorosim.MPC(robot, 0.3, 0.02, COST, goal=GOAL).step(np.zeros(4), np.full(4, np.nan))


# -- disturbances ------------------------------------------------------------------------------------------------------

PUSHED = {
    "sorosim": 1, "name": "pushed", "gravity": [0, 0, 0],
    "links": {"cart": {
        "joint": {"prismatic": {"axis": [1, 0, 0], "damping": "1 N*s/m"}},
        "body": {"box": {"size": ["10 cm", "10 cm", "10 cm"]}, "mass": "1 kg"},
    }},
    "loads": {"wind": {"wrench": {"link": "cart", "force": [1, 0, 0]}}},
    "actuators": {"motor": {"joint": {"link": "cart"}}, "blow": {"load": "wind"}},
}  # fmt: skip
TO_ZERO = {"goal": {"q": 100.0, "qd": 1.0}, "final": {"q": 100.0, "qd": 10.0}, "effort": 1e-4}


@pytest.fixture(scope="module")
def cart():
    return sorosim.load(PUSHED)


def at_the_end(cart, mpc, told):
    sim = sorosim.Stepper(cart, mpc.dt)
    state = sim.reset()
    for _ in range(150):
        (motor,) = mpc.step(state.q, state.qd, told)
        state = sim.step([motor, 3.0])
    return float(state.q[0]), float(motor)


def test_a_disturbance_that_is_told_leaves_no_offset(cart):
    mpc = sorosim.MPC(cart, 0.4, "20 ms", TO_ZERO, {"motor": (-10, 10)}, goal=[0.0], disturbance={"blow": 0.0})
    off, _ = at_the_end(cart, mpc, None)
    mpc.reset()
    rest, motor = at_the_end(cart, mpc, {"blow": 3.0})
    assert abs(off) > 5e-3
    # what is left is what effort is spared of: at rest the plan trades 100 q^2 for 1e-4 u^2
    assert abs(rest) < 0.02 * abs(off)
    assert motor == pytest.approx(-3.0, rel=1e-2)
    assert np.ptp(mpc.plan[2][:, 1]) == 0.0
    assert mpc.plan[2][0, 1] == 3.0


def test_a_disturbance_is_an_input_of_known_value_of_the_problem(cart):
    """The plan is that of optimal control of the cart on which the load acts from its file."""
    parts = {
        "loads": {"wind": {"wrench": {"link": "cart", "force": [3, 0, 0]}}},
        "actuators": {"motor": {"joint": {"link": "cart"}}},
    }
    load, cost = sorosim.load(PUSHED | parts), {**TO_ZERO, "effort": {"motor": 1e-4}}
    mpc = sorosim.MPC(cart, 0.4, "20 ms", cost, goal=[0.0], iterations=50, disturbance={"blow": 3.0})
    u = mpc.step([0.1], [0.2])
    oc = sorosim.optimal_control(load, 0.4, "20 ms", cost, goal=[0.0], q0=[0.1], qd0=[0.2], u0=np.zeros((20, 1)))
    np.testing.assert_allclose(mpc.plan[2][:, 0], oc.u[:, 0], atol=1e-6)
    assert u.shape == (1,)


def test_loads_of_an_observation_are_a_disturbance(cart):
    obs = sorosim.Observer(cart, "20 ms", {"cart": "force", "blow": None}, prior={"cart": "1 N", "blow": (0.5, 0.1)})
    found = obs.reset()
    assert list(found.loads) == ["cart_f_x", "cart_f_y", "cart_f_z"]
    assert set(found.loads) <= set(obs.robot.actuator_names)
    mpc = sorosim.MPC(obs.robot, 0.2, "20 ms", TO_ZERO, goal=[0.0], disturbance=found.loads)
    assert mpc.step(found.q, found.qd, found.loads).shape == (2,)


@pytest.mark.parametrize(
    ("given", "bounds", "message"),
    [({"blw": 0}, None, "blow"), ({"blow": 0}, {"blow": (0, 1)}, "a disturbance"), ({"blow": "3 m"}, None, "blow"),
     ({"blow": 0, "motor": 0}, None, "all of them"), (["blow"], None, "mapping"), ({"blow": np.inf}, None, "blow")],
)  # fmt: skip
def test_wrong_disturbances_are_refused(cart, given, bounds, message):
    with pytest.raises(InputError, match=message):
        sorosim.MPC(cart, 0.4, "20 ms", TO_ZERO, bounds, goal=[0.0], disturbance=given)


def test_a_tick_tells_of_known_disturbances_alone(cart):
    mpc = sorosim.MPC(cart, 0.4, "20 ms", TO_ZERO, goal=[0.0], disturbance={"blow": 0.0})
    with pytest.raises(InputError, match="was told of"):
        mpc.step([0.0], [0.0], {"motor": 1.0})
