"""States of steppers and batches: what is refused, raised or interrupted changes nothing."""

import copy
import gc
import os
import pickle
import signal
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from helpers.python_load import pull_along_x
from numpy.testing import assert_allclose, assert_array_equal
from validation.linkages import bennett

import sorosim
from sorosim.analysis.motion.threads import on_threads
from sorosim.base.errors import ConvergenceError, InputError
from sorosim.base.registry import LOADS

BOB = {"sphere": {"radius": "2 cm"}, "mass": "1 kg"}
SPRUNG = {"prismatic": {"axis": [1, 0, 0], "stiffness": 30, "damping": 0.4}}
SLIDER = {
    "sorosim": 1, "name": "slider", "links": {"bob": {"joint": SPRUNG, "body": BOB}},
    "actuators": {"push": {"joint": {"link": "bob"}}},
}  # fmt: skip
CARRIED = {
    "sorosim": 1, "name": "carried",
    "links": {
        "cart": {"joint": {"prismatic": {"axis": [1, 0, 0]}}, "body": BOB},
        "bob": {"parent": "cart", "joint": SPRUNG, "body": BOB},
    },
    "sensors": {"imu": {"imu": {"link": "cart"}}},
}  # fmt: skip
# a box on a ball joint whose spring keeps it from changing its coordinates
TURNING = {
    "sorosim": 1, "name": "turning", "gravity": [0, 0, 0],
    "links": {
        "box": {
            "joint": {"spherical": {"stiffness": "1 N*mm/rad"}},
            "body": {"box": {"size": [0.3, 0.2, 0.1]}, "mass": "2 kg"},
        }
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def slider():
    return sorosim.load(SLIDER)


@pytest.fixture(scope="module")
def carried():
    return sorosim.load(CARRIED)


@pytest.fixture
def failing_load(monkeypatch):
    """The slider with a load that Python computes, and a list of numbers of calls at which it raises."""
    monkeypatch.setattr(LOADS, "_built_in", dict(LOADS.declared()))
    robot, Pull = sorosim.load(SLIDER), pull_along_x("pull_that_fails")
    fails, calls = [], [0]

    class Failing(Pull, kind="pull_that_fails_at_times"):
        def bind(self, layout):
            bound = super().bind(layout)

            class Bound:
                nodes, dissipates = bound.nodes, bound.dissipates

                def evaluate(self, *state):
                    calls[0] += 1
                    if calls[0] in fails:
                        raise KeyboardInterrupt
                    return bound.evaluate(*state)

            return Bound()

    return sorosim.Robot(replace(robot.description, loads={"pull": Failing("bob", force=0.5)})), fails, calls


# -- members of other sizes


def test_members_whose_numbers_change_how_many_nodes_they_have_move_as_alone():
    ring, path, places = sorosim.load("soft_ring"), "loads.push.wrench.s", [0.5, 0.7, 0.6, 0.62]
    batch = sorosim.Batch(ring, 4, "1 ms", numbers={path: places}, threads=2)
    assert len({len(one.engine.tree.segment) for one in batch.robots}) > 1
    batch.reset()
    for _ in range(5):
        q, _ = batch.step()
    for k, place in enumerate(places):
        sim = sorosim.Stepper(ring.with_values({path: place}), "1 ms")
        sim.reset()
        for _ in range(5):
            state = sim.step()
        assert_array_equal(q[k], state.q)


def test_numbers_that_change_how_many_coordinates_there_are_are_refused():
    arm, path = sorosim.load("cable_manipulator"), "links.arm.rod.strain.torsion"
    with pytest.raises(InputError, match="numbers: expected numbers that leave the 24 coordinates as many, got 23"):
        sorosim.Batch(arm, 2, 0.01, {path: [4, 3]})
    batch = sorosim.Batch(arm, 2, 0.01, {path: [4, 4]})
    q, _ = batch.reset()
    with pytest.raises(InputError, match="as many, got 23"):
        batch.replace(1, {path: 3})
    assert_array_equal(batch.q, q)


# -- states that are given back


@pytest.mark.parametrize("options", [{"dt": 0.1}, {"method": "euler"}, {"substeps": 2}, {"tolerance": 1e-10}])
def test_a_state_of_other_steps_is_a_new_start(slider, options):
    source = sorosim.Stepper(slider, 0.01)
    source.reset([0.1])
    state = source.step([1.0])
    sim, again = (sorosim.Stepper(slider, **{"dt": 0.01} | options) for _ in range(2))
    sim.reset()
    sim.state = state
    again.reset(state.q, state.qd, state.t, u=[1.0])
    assert_array_equal(sim.step([0.5]).q, again.step([0.5]).q)
    assert sim.state.t == again.state.t == pytest.approx(0.01 + sim.dt)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": np.array([np.nan])}, "state.q: expected finite numbers"),
        ({"qd": np.zeros(2)}, "state.qd: expected 1 numbers"),
        ({"t": np.nan}, "state.t: expected a time"),
        ({"t": "1 m"}, "state.t: expected a time"),
        ({"u": {"pull": 1.0}}, "state.u: expected the name of an actuator"),
    ],
)
def test_a_state_that_is_refused_changes_nothing(slider, change, message):
    sim, twin = (sorosim.Stepper(slider, 0.01) for _ in range(2))
    for one in (sim, twin):
        one.reset([0.1])
        saved = one.step([1.0])
        one.step([2.0])
    with pytest.raises(InputError, match=message):
        sim.state = replace(saved, **change)
    assert sim.state.t == twin.state.t
    after, expected = sim.step(), twin.step()
    assert_array_equal(after.q, expected.q)
    assert after.t == expected.t
    sim.state = replace(saved, t="20 ms", u={"push": "3 N"})
    assert sim.state.t == 0.02
    assert_array_equal(sim.state.u, [3.0])


def test_a_changed_state_is_checked_as_a_start():
    crank = sorosim.Stepper(sorosim.load("four_bar"), "5 ms")
    crank.reset()
    state = crank.step()
    with pytest.raises(InputError, match=r"state\.q: expected a start in which all loops are closed"):
        crank.state = replace(state, q=state.q + np.array([0.3, 0.0, 0.0]))
    box = sorosim.Stepper(sorosim.load(TURNING), "10 ms")
    state = box.reset()
    with pytest.raises(InputError, match=r"state\.q, box: expected a start farther from a whole turn"):
        box.state = replace(state, q=np.array([6.2, 0.0, 0.0]))
    assert box.state is state


def test_a_changed_state_stays_on_the_path_of_driven_coordinates(carried):
    sim = sorosim.Stepper(carried, 0.05, driven={"cart": 0.0}, substeps=4)
    sim.reset()
    for _ in range(3):
        state = sim.step(driven={"cart": "0.5 m"})
    sim.reset()
    sim.state = replace(state, q=np.array([state.q[0], 0.01]))
    assert sim.state.q == pytest.approx([0.5, 0.01])
    assert sim.step().q[0] == pytest.approx(0.5)
    with pytest.raises(InputError, match=r"state\.q, cart: expected 0.5, where its motion is, got 0.7"):
        sim.state = replace(state, q=np.array([0.7, 0.0]))


def test_arrays_of_a_state_are_those_of_the_stepper(slider):
    sim = sorosim.Stepper(slider, 0.01)
    sim.reset([0.1])
    state = sim.step([1.0])
    for array in (state.q, state.qd, state.u):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.5
    # they are taken wherever arrays are
    assert slider.pose(state.q, "bob")[0, 3] == state.q[0]
    assert_allclose(slider.forward_dynamics(state.q, state.qd, u=state.u), 1.0 - 30.0 * state.q - 0.4 * state.qd)
    assert_array_equal(sorosim.rollout(slider, [state.u], 0.01, state.q, state.qd).q[0], state.q)


def test_copies_move_on_their_own(slider):
    sim = sorosim.Stepper(slider, 0.01)
    sim.reset([0.1])
    state = sim.step([1.0])
    for twin in (copy.copy(sim), copy.deepcopy(sim)):
        twin.step([100.0])
        assert sim.state is state
        assert sim.copy().step().t == pytest.approx(0.02)


# -- what is raised on the way


def test_an_error_in_python_leaves_the_state(failing_load):
    robot, fails, calls = failing_load
    sim = sorosim.Stepper(robot, 0.05, substeps=4)
    sim.reset([0.1])
    state = sim.step([1.0])
    good = sim.copy().step([2.0])
    begin = calls[0]
    for k in range(1, 4):
        calls[0], fails[:] = begin, [begin + k]
        with pytest.raises(KeyboardInterrupt):
            sim.step([2.0])
        assert sim.state is state
        fails.clear()
        sim.state = state
    assert_array_equal(sim.step([2.0]).q, good.q)


@pytest.mark.filterwarnings("ignore:Python computes loads")
@pytest.mark.parametrize("call", ["step", "rollout"])
def test_an_error_in_python_leaves_all_members(failing_load, call):
    robot, fails, calls = failing_load
    batch = sorosim.Batch(robot, 3, 0.05, substeps=4, threads=2)
    batch.reset([0.1])
    q, _ = batch.step([1.0])
    inputs = np.ones((3, 1)) if call == "step" else np.ones((3, 4, 1))
    begin = calls[0]
    getattr(batch, call)(inputs)
    n_calls = calls[0] - begin
    batch.reset([0.1])
    batch.step([1.0])
    fails[:] = [calls[0] + 2 * n_calls // 3 + 1]  # of the last member
    with pytest.raises(KeyboardInterrupt):
        getattr(batch, call)(inputs)
    assert_array_equal(batch.q, q)
    assert batch.t.tolist() == [0.05] * 3
    fails.clear()
    expected = sorosim.Stepper(robot, 0.05, substeps=4)
    expected.reset([0.1])
    expected.step([1.0])
    assert_array_equal(batch.step([1.0])[0], [expected.step([1.0]).q] * 3)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_all_members_and_leaves_them_where_they_were(threads):
    arm = sorosim.load("cable_manipulator")
    u = 1.0 - np.cos(0.06 * np.arange(20_000)[:, None] + np.arange(5))
    batch = sorosim.Batch(arm, 2, "10 ms", threads=threads)
    batch.reset()
    batch.rollout(u[:3])
    q, _ = batch.reset()

    interrupted = []

    def interrupt(*_):
        interrupted.append(time.monotonic())
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        # Python forgets one that is raised within a callback of its garbage collector: another one follows
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.7)
        with pytest.raises(KeyboardInterrupt):
            batch.rollout(u)
        # 100 intervals of some 0.1 ms on each thread, where the whole takes seconds
        assert time.monotonic() - interrupted[-1] < 0.55
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    memory, spare = batch._memory.copy(), batch._spare.copy()
    time.sleep(0.02)
    assert_array_equal(batch._memory, memory)
    assert_array_equal(batch._spare, spare)  # nothing is at work any more
    assert_array_equal(batch.q, q)
    assert batch.t.tolist() == [0.0, 0.0]
    assert threading.active_count() < 20


def test_ctrl_c_amid_the_submission_waits_for_what_is_at_work():
    class Interrupted(ThreadPoolExecutor):
        def submit(self, work, part):
            found = super().submit(work, part)
            if part == 1:
                begun.wait(5.0)
                raise KeyboardInterrupt
            return found

    begun, done = threading.Event(), []

    def work(part):
        begun.set()
        time.sleep(0.1)
        done.append(part)

    with Interrupted(1) as pool:
        with pytest.raises(KeyboardInterrupt):
            on_threads(work, range(3), pool)
        assert done == [0]
    assert done == [0]


def test_a_reset_that_is_refused_leaves_all_members(slider):
    batch = sorosim.Batch(slider, 3, 0.01)
    batch.reset([0.1])
    q, _ = batch.step([1.0])
    with pytest.raises(InputError, match="q of member 1: expected finite numbers"):
        batch.reset(np.array([[0.1], [np.nan], [0.3]]))
    assert_array_equal(batch.q, q)
    assert batch.t.tolist() == [0.01] * 3
    with pytest.raises(InputError, match=r"^q: expected 1 numbers"):
        sorosim.Stepper(slider, 0.01).reset([1.0, 2.0])


def test_members_that_are_not_reset_have_no_state(slider):
    batch = sorosim.Batch(slider, 2, 0.01)
    batch.reset(members=[0])
    assert np.isnan(batch.q[1]).all()
    assert batch.measure([0]) == {}
    for call in (batch.measure, lambda: batch.state(1), batch.step, lambda: batch.rollout(np.zeros((1, 1)))):
        with pytest.raises(InputError, match="Batch: expected a reset before, got none of member 1"):
            call()
    for call in (lambda: batch.state(5), lambda: batch.forget(9)):
        with pytest.raises(InputError, match="member"):
            call()


# -- what simulate refuses, too


@pytest.mark.parametrize("u", [[[0.9, 0, 0, 0, 0]], {"cable1": "90 cm"}])
def test_tendons_longer_than_they_are_are_refused(u):
    arm = sorosim.load(
        "cable_manipulator", set={"actuators.cable1.tendon.stiffness": "1 kN/m", "statics": {}, "simulate": {}}
    )
    sim, batch = sorosim.Stepper(arm, 0.01), sorosim.Batch(arm, 1, 0.01)
    sim.reset()
    batch.reset()
    one = np.array(u[0], dtype=float) if isinstance(u, list) else u
    for call in (
        lambda: sim.step(one), lambda: sorosim.rollout(arm, u, 0.01), lambda: batch.step(u), lambda: batch.rollout(u)
    ):  # fmt: skip
        with pytest.raises(InputError, match=r"u\.cable1: expected less than its length, 0.500"):
            call()


def test_members_have_tendons_of_their_own_length():
    arm = sorosim.load(
        "cable_manipulator", set={"actuators.cable1.tendon.stiffness": "1 kN/m", "statics": {}, "simulate": {}}
    )
    batch = sorosim.Batch(arm, 2, 0.01, {"links.arm.rod.length": [0.5, 0.3]})
    batch.reset()
    batch.step({"cable1": [0.31, 0.29]})
    with pytest.raises(InputError, match=r"u\.cable1: expected less than its length, 0.300"):
        batch.step({"cable1": [0.31, 0.31]})


def test_texts_and_names_are_inputs_of_all(slider):
    sim, batch = sorosim.Stepper(slider, 0.05), sorosim.Batch(slider, 2, 0.05)
    sim.reset()
    expected = sim.step({"push": "3 N"}).q
    for u in ([["3 N"], ["3 N"]], {"push": "3 N"}, {"push": ["3 N", 3.0]}, ["3 N"]):
        batch.reset()
        assert_array_equal(batch.step(u)[0], [expected] * 2)
    for u in ([["3 N"]], {"push": ["3 N"]}, {"push": "3 N"}, {"push": 3}):
        assert_array_equal(sorosim.rollout(slider, u, 0.05, tolerance=1e-8).q[1], expected)
        batch.reset()
        assert_array_equal(batch.rollout(u).q[:, 1], [expected] * 2)
    assert sorosim.rollout(slider, {"push": []}, 0.05).q.shape == (1, 1)
    with pytest.raises(InputError, match=r"u\.push: expected a force"):
        batch.step({"push": "3 m"})


ROUGH = "0.2*abs(t - 0.12)"


def test_driven_motions_whose_rates_jump_are_refused(carried):
    message = r"driven\.cart: expected a motion with a continuous rate, got a rate that jumps at t = 0.12 s"
    sim = sorosim.Stepper(carried, 0.05, driven={"cart": ROUGH})
    sim.reset()
    states = [sim.step(), sim.step()]
    with pytest.raises(InputError, match=message):
        sim.step()
    assert sim.state is states[1]
    sim.reset(t=0.15)
    sim.step()
    sim.reset(t=0.05)
    sim.step()
    with pytest.raises(InputError, match=message):
        sim.step()
    sorosim.rollout(carried, np.zeros((2, 0)), 0.05, driven={"cart": ROUGH})
    with pytest.raises(InputError, match=message):
        sorosim.rollout(carried, np.zeros((3, 0)), 0.05, driven={"cart": ROUGH})
    batch = sorosim.Batch(carried, 2, 0.05, driven={"cart": ROUGH})
    batch.reset(t=0.1)
    with pytest.raises(InputError, match=message):
        batch.step()
    assert batch.t.tolist() == [0.1, 0.1]


def test_steps_stop_where_coordinates_are_singular():
    box, rates = sorosim.load(TURNING), [8.0, 0.0, 0.001]
    with pytest.raises(ConvergenceError, match="comes to a whole turn, where its coordinates are singular"):
        sorosim.simulate(box, t_end=1.2, q0=np.zeros(3), qd0=rates)
    sim = sorosim.Stepper(box, "10 ms")
    sim.reset(np.zeros(3), rates)
    message = "at t = 0.7[56] s: the spherical joint of 'box' comes to a whole turn, where its coordinates are singular"
    while sim.state.t < 0.735:
        sim.step()
    with pytest.raises(ConvergenceError, match=message):
        _run(sim, 10)
    n = round(sim.state.t / 0.01)
    assert 2.0 * np.pi - 0.1 * np.pi - 0.08 < np.linalg.norm(sim.state.q) < 2.0 * np.pi - 0.1 * np.pi
    with pytest.raises(ConvergenceError, match=message) as caught:
        sorosim.rollout(box, np.zeros((120, 0)), "10 ms", np.zeros(3), rates, tolerance=1e-8)
    assert_array_equal(caught.value.partial.q[-1], sim.state.q)
    assert len(caught.value.partial.q) == n + 1
    batch = sorosim.Batch(box, 2, "10 ms")
    batch.reset(np.zeros(3), np.array([rates, [0.1, 0.0, 0.0]]))
    batch.rollout(np.zeros((120, 0)))
    assert list(batch.failures) == [0]
    assert "member 0" in str(batch.failures[0])
    # so many turns in a step that it passes a whole one
    fast = sorosim.Stepper(box, "0.1 s")
    fast.reset(np.array([5.5, 0.0, 0.0]), [13.0, 0.0, 0.0])
    with pytest.raises(ConvergenceError, match="whole turn"):
        fast.step()


def _run(sim, n):
    for _ in range(n):
        sim.step()


def test_members_measure_as_steppers_do(carried):
    driven = {"cart": "0.1*sin(10*t)"}
    batch, sim = sorosim.Batch(carried, 2, 0.05, driven=driven), sorosim.Stepper(carried, 0.05, driven=driven)
    batch.reset(t=0.05)
    sim.reset(t=0.05)
    for _ in range(2):
        assert_array_equal(batch.measure()["imu"], [sim.measure()["imu"]] * 2)
        assert sim.measure()["imu"][3] == pytest.approx(-10.0 * np.sin(10.0 * sim.state.t), abs=1e-12)
        batch.step()
        sim.step()


# -- copies, pickles, forks


def through_pickle(thing):
    return pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("copied", [through_pickle, copy.deepcopy])
def test_copies_of_a_state_give_the_same_bits(copied):
    arm, u = sorosim.load("cable_manipulator"), np.full(5, 0.5)
    sim = sorosim.Stepper(arm, "10 ms")
    sim.reset()
    state = copied(sim.step(u))
    expected = [sim.step(u).q for _ in range(3)]
    with pytest.raises(ValueError, match="read-only"):
        state.q[0] = 0.5
    for other in (sim, sorosim.Stepper(sorosim.load("cable_manipulator"), "10 ms"), copied(sim)):
        other.state = state
        assert_array_equal([other.step(u).q for _ in range(3)], expected)
    # of a robot with other numbers it is a start
    other = sorosim.Stepper(arm.with_values({"materials.silicone.young": "2 MPa"}), "10 ms")
    other.state = state
    assert other.state.memory.n_intervals == 0


@pytest.mark.parametrize("copied", [through_pickle, copy.deepcopy, copy.copy])
def test_copies_of_batches_and_motions_are_their_own(slider, copied):
    path = "links.bob.joint.prismatic.stiffness"
    batch = sorosim.Batch(slider, 3, 0.05, {path: [10.0, 20.0, 40.0]}, tolerance=1e-11, threads=2)
    batch.reset([0.1])
    motion = batch.rollout(np.ones((3, 4, 1)))
    q, twin = batch.q, copied(batch)
    moved, _ = twin.step([2.0])
    assert_array_equal(batch.q, q)
    del batch._queue, batch._memory  # nothing of the copy lies in the memory of the original
    assert_array_equal(copied(twin).q, moved)
    twin.replace(0, {path: 20.0})
    twin.reset([0.1])
    for _ in range(4):
        again, _ = twin.step([1.0])
    assert_array_equal(again[1:], q[1:])
    assert_array_equal(again[0], again[1])
    bar = np.ones((5, 1))
    for one, other in zip(motion.motions[1].vjp(bar), copied(motion.motions[1]).vjp(bar), strict=True):
        assert_array_equal(one, other)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_batches_go_on_after_a_fork(slider):
    batch = sorosim.Batch(slider, 4, 0.05, threads=2)
    batch.reset([0.1])
    batch.step([1.0])
    batch.step([1.0])
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(20)  # ends a child that waits for threads which it does not have
            batch.step([1.0])
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


# -- starts in the midst of a motion


@pytest.mark.parametrize("method", ["newmark", "euler"])
def test_steps_that_remember_no_accelerations_go_on_from_coordinates_and_rates(method):
    arm, dt = sorosim.load("cable_manipulator"), 0.02
    u = 1.0 - np.cos(2.0 * np.pi * dt * np.arange(60)[:, None] + np.arange(5))
    whole = sorosim.rollout(arm, u, dt, method=method)
    q, qd = whole.q[30], whole.qd[30]
    for k in range(30, 60):
        one = sorosim.rollout(arm, u[k : k + 1], dt, q, qd, k * dt, method=method)
        q, qd = one.q[-1], one.qd[-1]
    # 1e-10: of the tolerance of Newton's method; the generalized-alpha method: 5e-3
    assert_allclose(q, whole.q[-1], rtol=0, atol=5e-10 * np.abs(whole.q).max())


def test_states_of_a_robot_with_loops_are_starts_when_they_are_assembled():
    robot = sorosim.load("hybrid_parallel")
    u = np.full((30, len(robot.actuator_names)), 0.5)
    sim = sorosim.Stepper(robot, "10 ms", method="newmark")
    sim.reset()
    for one in u:
        state = sim.step(one)
    with pytest.raises(InputError, match=r"qd0: expected rates that keep the loops closed.*sorosim\.assemble"):
        sorosim.rollout(robot, u, "10 ms", state.q, state.qd)
    closed = sorosim.assemble(robot, state.q, qd0=state.qd)
    window = sorosim.rollout(robot, u[:1], "10 ms", closed.q, closed.qd, state.t, method="newmark")
    # 1.2e-5: the method's own accelerations across loops are lost
    assert_allclose(window.q[1], sim.step(u[0]).q, rtol=0, atol=6e-5 * np.abs(state.q).max())


def test_a_second_thread_is_refused_while_a_step_is_under_way():
    sim = sorosim.Stepper(sorosim.load("pendulum"), 1e-3)
    before = sim.reset()
    with sim._changing(), ThreadPoolExecutor(1) as other:
        with pytest.raises(InputError, match="one thread at a time"):
            other.submit(sim.step).result()
        assert sim.state is before
        assert other.submit(sim.copy().step).result().t == 1e-3
    assert sim.step().t == 1e-3


def test_a_second_thread_is_refused_while_a_batch_is_under_way():
    arm = sorosim.load("cable_manipulator")
    batch = sorosim.Batch(arm, 2, "1 ms", tolerance=1e-11, threads=2)
    batch.reset()
    motion = batch.rollout(np.zeros((2, 2, 5)))
    calls = (
        batch.step,
        batch.reset,
        batch.statics,
        batch.measure,
        lambda: batch.replace(0, {}),
        lambda: batch.rollout(np.zeros((1, 5))),
    )
    with batch._alone(), ThreadPoolExecutor(1) as other:
        for call in calls:
            with pytest.raises(InputError, match="Batch: expected one thread at a time, got a second one"):
                other.submit(call).result()
    with motion._alone(), ThreadPoolExecutor(1) as other, pytest.raises(InputError, match="BatchRollout: expected one"):
        other.submit(motion.vjp).result()
    batch.step()
    motion.vjp()


def test_a_replaced_member_leaves_nothing_behind(slider):
    path = "links.bob.joint.prismatic.stiffness"
    batch = sorosim.Batch(slider, 3, 0.05, {path: [10.0, 20.0, 40.0]})
    for k in range(5):
        batch.replace(1, {path: 15.0 + k})
        batch.reset([0.1])
        batch.measure()
        q, _ = batch.step([1.0])
    assert len(batch._loaded) == len(batch._queue._models) == 3
    sim = sorosim.Stepper(batch.robots[1], 0.05)
    sim.reset([0.1])
    assert_array_equal(q[1], sim.step([1.0]).q)


def test_a_batch_and_its_last_rollout_are_freed_as_soon_as_nobody_holds_them():
    """Each holds arrays of all steps; of cycles they would be freed when garbage is collected only."""
    arm = sorosim.load("cable_manipulator")
    batch = sorosim.Batch(arm, 2, "1 ms", tolerance=1e-11)
    batch.reset()
    rolled = batch.rollout(np.zeros((2, 3, len(arm.actuator_names))))
    ends = weakref.ref(batch), weakref.ref(rolled)
    gc.disable()
    try:
        del batch
        assert ends[0]() is None
        rolled.vjp(np.ones_like(rolled.q))  # it does without
        del rolled
        assert ends[1]() is None
    finally:
        gc.enable()


def test_multipliers_of_rows_that_depend_on_others_are_the_smallest_ones_after_a_step():
    """As of a run and of the state alone: which rows a step left out is not seen."""
    robot = bennett((0.0, -9.81, 2.0))
    robot = robot.with_sensors(hinge=sorosim.LoopWrenchSensor("hinge"))
    stepper = sorosim.Stepper(robot, "0.1 ms")
    stepper.reset(q=sorosim.assemble(robot, [0.5, 1.0, -0.5]).q)
    for _ in range(3):
        state = stepper.step()
        # of the method and of forward dynamics, of which 4e-8 was met
        assert_allclose(stepper.measure()["hinge"], robot.measure(state.q, state.qd)["hinge"], atol=1e-6)
