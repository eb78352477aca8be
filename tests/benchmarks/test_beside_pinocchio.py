"""Derivatives of rigid chains beside Pinocchio's, by public Python calls of both. No time is ever asserted."""

import statistics

import numpy as np
import pytest
from helpers.pinocchio_model import PinocchioRobot, pin
from helpers.robots import random_state, rigid_tree

from sorosim.benchmark import Case, Timed
from sorosim.benchmark.cases import amount
from sorosim.benchmark.setting import times
from sorosim.solvers.base import one_blas_thread

ROUNDS = 15


def inverse(robot, other, state):
    q, qd, qdd, _ = state
    x, v, a = other.configuration(q), other.there(qd), other.there(qdd)
    return (
        lambda: robot.inverse_dynamics_derivatives(q, qd, qdd),
        lambda: pin.computeRNEADerivatives(other.model, other.data, x, v, a),
    )


def forward(robot, other, state):
    q, qd, _, u = state
    x, v, f = other.configuration(q), other.there(qd), other.there(u)
    return (
        lambda: robot.forward_dynamics_derivatives(q, qd, u),
        lambda: pin.computeABADerivatives(other.model, other.data, x, v, f),
    )


BOTH = {"ID + derivatives": inverse, "FD derivatives": forward}


@pytest.mark.parametrize("n", [10, 50, 100])
@pytest.mark.parametrize("name", BOTH)
def test_bench(name, n, benchmark, setting, note):
    rng = np.random.default_rng(n)
    robot = rigid_tree(rng, n, kinds=["revolute"], along=1.0)
    ours, theirs = BOTH[name](robot, PinocchioRobot(robot.description), random_state(rng, robot))
    calls = 2000 // n
    with one_blas_thread():
        yardsticks = setting.measure_yardstick()
        their_times = times(theirs, ROUNDS, calls)
        benchmark.pedantic(ours, rounds=ROUNDS, iterations=calls, warmup_rounds=1)
        their_times += times(theirs, ROUNDS, calls)
        yardsticks += setting.measure_yardstick()
    if benchmark.stats is not None:  # None under --benchmark-disable
        median, their_median = benchmark.stats.stats.median, statistics.median(their_times)
        beside = f"Pinocchio {amount(their_median, 's')}; ours / Pinocchio {median / their_median:.2f}"
        case = Case(f"{name}, chain of {n} revolute joints", lambda _: ours, beside=lambda *_: beside)
        note(Timed(case, median, [None], yardsticks))
