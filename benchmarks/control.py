"""Cases of optimal control: an iteration of a swing-up, and a tick of model-predictive control."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import Case, within
from benchmarks.context import Action, Context
from sorosim import MPC, load, optimal_control

ITERATIONS, TICKS = 10, 10


def _swing_up(context: Context) -> Action:
    robot = load("swing_up_cart_pole")
    cost = {"final": {"q": 1000.0, "qd": 100.0}, "effort": 2.5e-5}
    guess = 10.0 * np.sin(4.0 * 0.02 * np.arange(150.0))[:, None]

    def solve() -> None:
        optimal_control(
            robot, 3.0, 0.02, cost, (-200.0, 200.0), goal={"pole": np.pi}, u0=guess, iterations=ITERATIONS, substeps=2
        )

    return solve


def _tick(context: Context) -> Action:
    robot = load("cable_manipulator")
    cost = {"places": [{"place": "arm", "position": [0.47, 0.03, -0.14], "weight": 1e4, "final": 2e3}], "effort": 1e-3}
    mpc = MPC(robot, 0.2, 0.02, cost, (0.0, 20.0))
    q, qd = robot.initial_q, np.zeros(robot.ndof)
    mpc.step(q, qd)

    def solve() -> None:
        for _ in range(TICKS):
            mpc.step(q, qd)

    return solve


CONTROL: tuple[Case, ...] = (
    Case("optimal control, an iteration of 150 steps, soft cart-pole", _swing_up, rounds=3, per=ITERATIONS),
    Case("model-predictive control, a tick of 10 steps ahead", _tick, rounds=3, per=TICKS,
         target=within(20e-3)),
)  # fmt: skip
