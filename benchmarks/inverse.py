"""Cases of inverse statics with the cable-driven manipulator and the two-segment arm."""

from __future__ import annotations

from itertools import cycle

import numpy as np

from benchmarks.cases import Case, Target
from benchmarks.context import Action, Context
from sorosim.equilibria.statics import statics
from sorosim.inversion.solver import InverseSolver
from sorosim.io import load

N, TENSION = 50, 20.0
# a circle of the two-segment arm's tip: radius and height [m], steps around, tension [N]
RADIUS, HEIGHT, STEPS, HOLD = 0.04, -0.283, 200, 8.0


def _cold(context: Context) -> Action:
    robot, rng = context.robot, np.random.default_rng(0)
    bounds, n = dict.fromkeys(robot.actuator_names, (0.0, TENSION)), len(robot.actuator_names)
    goals = [statics(robot, rng.uniform(0.0, TENSION, n)).tip() for _ in range(N)]

    def solve() -> None:
        for goal in goals:
            InverseSolver(robot, bounds=bounds).solve({robot.tip_link: goal})

    return solve


def _warm(context: Context) -> Action:
    robot = load("two_segment_arm")
    angles = 2.0 * np.pi * np.arange(STEPS) / STEPS
    circle = np.stack([RADIUS * np.cos(angles), RADIUS * np.sin(angles), np.full(STEPS, HEIGHT)], axis=1)
    solver = InverseSolver(robot, bounds=dict.fromkeys(robot.actuator_names, (0.0, HOLD)))
    along = cycle(circle)
    solver.solve({"upper": next(along)})

    def solve() -> None:
        for _ in range(STEPS):
            solver.solve({"upper": next(along)}, stay=True)

    return solve


INVERSE: tuple[Case, ...] = (
    Case("inverse statics from rest, random positions in reach", _cold, rounds=5, per=N,
         target=Target(2e-3, "s where the yardstick is 17 us")),
    Case("inverse statics along a circle, two-segment arm", _warm, rounds=5, per=STEPS,
         target=Target(0.5e-3, "s where the yardstick is 17 us")),
)  # fmt: skip
