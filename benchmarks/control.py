"""Cases of optimal control: an iteration of a swing-up, and a tick of model-predictive control."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import Case, within
from benchmarks.context import Action, Context
from sorosim import MPC, Stepper, load, optimal_control

ITERATIONS, TICKS, DT = 10, 10, 0.02  # DT of the model-predictive controller [s]


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
    cost = {
        "places": [{"place": "arm", "position": [0.47, 0.03, -0.14], "weight": 100.0, "final": 20.0}],
        "effort": 1e-3,
    }
    mpc, sim = MPC(robot, 0.2, DT, cost, (0.0, 20.0)), Stepper(robot, DT)
    # states of a robot that obeys: one that stays where it is would drive the plan ever farther away
    states = [sim.reset(q="equilibrium")]
    for _ in range(TICKS - 1):
        states.append(sim.step(mpc.step(states[-1].q, states[-1].qd)))

    def solve() -> None:
        mpc.reset()
        for state in states:
            mpc.step(state.q, state.qd)
        if mpc.failures:
            raise ArithmeticError(f"{mpc.failures} of {TICKS} ticks found no plan")

    return solve


CONTROL: tuple[Case, ...] = (
    Case("optimal control, an iteration of 150 steps, soft cart-pole", _swing_up, rounds=3, per=ITERATIONS),
    Case("model-predictive control, a tick of 10 steps ahead", _tick, rounds=3, per=TICKS,
         target=within(20e-3)),
)  # fmt: skip
