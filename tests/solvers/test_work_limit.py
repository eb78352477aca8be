"""Limits of the work of an integration: which paces are stalls, counted in steps."""

import math

import numpy as np
import pytest

from sorosim.base.methods import OdeMethod, kinds, method_class
from sorosim.base.ode import OdeProblem
from sorosim.base.work_limit import CHECK, WorkLimit

X, TURN = np.zeros(2), np.array([[0.0, 1.0], [-1.0, 0.0]])


def taken(limit, pace, n=200_000, at_once=1):
    """Steps, of sizes pace(t, i), after which the limit ends a run, and why; None: it does not within n steps."""
    t, i = 0.0, 0
    while i < n and t < limit.end:
        t, i = t + at_once * pace(t, i), i + at_once
        if why := limit.steps(t, X, at_once):
            return i, why
    return None


@pytest.mark.parametrize("at_once", [1, 100])
def test_a_stall_is_a_pace_that_needs_too_many_steps_for_the_rest(at_once):
    assert taken(WorkLimit(0.0, 10.0), lambda t, i: 1.1e-7, at_once=at_once) is None  # 9e7 steps
    limit = WorkLimit(0.0, 10.0)
    steps, why = taken(limit, lambda t, i: 0.9e-7, at_once=at_once)
    assert steps == 20_000
    assert limit.stalled
    assert why == "the last 20000 steps came 0.0018 s ahead; at this pace the rest takes 1e+08 steps"


def test_a_transient_shorter_than_the_window_is_no_stall():
    def slow(t, i):
        return 1e-10 if 30_000 <= i % 60_000 < 30_000 + 19_000 else 1e-5

    assert taken(WorkLimit(0.0, 10.0), slow) is None
    steps, _ = taken(WorkLimit(0.0, 10.0), lambda t, i: 1e-5 if i < 30_000 else 1e-10)
    assert 50_000 <= steps < 50_000 + 2 * CHECK  # few of the steps before count, they came far


def test_an_implausible_state_shortens_the_wait():
    def limit():
        return WorkLimit(0.0, 10.0, implausible=lambda t, x: "a rod is torn")

    assert taken(limit(), lambda t, i: 1.1e-4) is None  # 9e4 steps
    for pace, steps in ((0.9e-4, 5_000), (0.9e-7, CHECK)):
        torn = limit()
        assert taken(torn, lambda t, i, h=pace: h)[0] == steps
        assert torn.cause == "a rod is torn"


def test_steps_that_were_asked_for_are_no_stall():
    assert taken(WorkLimit(0.0, 10.0, max_step=1e-9), lambda t, i: 0.9e-9, 50_000) is None
    assert taken(WorkLimit(0.0, 10.0, max_step=1e-9), lambda t, i: 0.4e-9, 50_000)[0] == 20_000
    assert taken(WorkLimit(0.0, 10.0, max_steps=math.inf), lambda t, i: 1e-12, 50_000) is None


def test_a_time_that_stands_still_is_a_stall():
    assert taken(WorkLimit(0.0, 10.0), lambda t, i: 0.0)[0] == 20_000


@pytest.mark.parametrize("method", kinds(OdeMethod))
def test_max_steps_end_an_integration_there_and_steps_at_the_end_are_no_failure(method):
    def problem(**options):
        work = WorkLimit(0.0, 20.0, **options)
        return OdeProblem(
            lambda t, x: TURN @ x, lambda t, x: TURN, np.array([1.0, 0.0]), np.array([0.0, 10.0, 20.0]), 1e-6, 1e-9,
            work=work,
        )  # fmt: skip

    short = problem(max_steps=40)
    found = method_class(method)().integrate(short)
    assert not found.success
    assert found.message.endswith("it has taken max_steps = 40 steps")
    assert short.work.n >= 40
    t, x = found.last
    assert 0.0 < t < 20.0
    assert np.hypot(*x) == pytest.approx(1.0, abs=1e-3)
    whole = problem()
    assert method_class(method)().integrate(whole).success
    # one step to an output is as good as thousands
    n = whole.work.n
    assert n > 60
    assert method_class(method)().integrate(problem(max_steps=n + 1)).success


@pytest.mark.parametrize("method", ["cvode"])
def test_an_output_is_reached_in_more_steps_than_the_library_takes_at_once(method):
    work = WorkLimit(0.0, 200.0)
    found = method_class(method)().integrate(OdeProblem(
        lambda t, x: TURN @ x, None, np.array([1.0, 0.0]), np.array([0.0, 200.0]), 1e-8, 1e-10, work=work
    ))  # fmt: skip
    assert found.success
    assert work.n > 3 * CHECK
    assert found.x[-1, 0] == pytest.approx(np.cos(200.0), abs=1e-3)
