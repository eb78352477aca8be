"""Cases of steps under held inputs, their gradients, and batches, with the cable-driven manipulator."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import Case, Target
from benchmarks.context import Action, Array, Context
from sorosim.stepping.batch import Batch
from sorosim.stepping.rollout import rollout
from sorosim.stepping.stepper import Stepper

DT, N = 0.01, 200
# as soromox times batches: 15 samples a second; here each is four steps
RATE, MEMBERS, SECONDS, SUBSTEPS = 15, 64, 2, 4


def _inputs(n: int, dt: float, n_inputs: int) -> Array:
    """Smooth tensions (n, n_inputs) up to 2 N."""
    phase = 2.0 * np.pi * dt * np.arange(n)[:, None] + np.arange(n_inputs)
    return np.asarray(1.0 - np.cos(phase))


def _step(context: Context) -> Action:
    sim, u = Stepper(context.robot, DT), _inputs(N, DT, len(context.robot.actuator_names))
    sim.reset()

    def steps() -> None:
        for one in u:
            sim.step(one)

    return steps


def _rollout(context: Context) -> Action:
    u = _inputs(N, DT, len(context.robot.actuator_names))
    return lambda: rollout(context.robot, u, DT)


def _gradient(context: Context) -> Action:
    found = rollout(context.robot, _inputs(N, DT, len(context.robot.actuator_names)), DT)
    bars = np.ones_like(found.q), np.ones_like(found.q)
    return lambda: found.vjp(*bars)


def _batch(context: Context, threads: int | None) -> Action:
    batch = Batch(context.robot, MEMBERS, 1.0 / RATE, threads=threads, substeps=SUBSTEPS)
    u = _inputs(RATE * SECONDS, 1.0 / RATE, len(context.robot.actuator_names))
    batch.reset()

    def run() -> None:
        batch.reset()
        batch.rollout(u)

    return run


STEPS: tuple[Case, ...] = (
    Case("a step of 10 ms under held inputs", _step, per=N, target=Target(5.0, "yardsticks")),
    Case("motion of 200 such steps", _rollout, rounds=9),
    Case("its gradient by all inputs and the start", _gradient, rounds=9),
    Case("a simulated second at 15 Hz in a batch, one thread", lambda context: _batch(context, 1), rounds=5,
         per=MEMBERS * SECONDS),
    Case("a simulated second at 15 Hz in a batch", lambda context: _batch(context, None), rounds=5,
         per=MEMBERS * SECONDS, target=Target(4e-3, "s where the yardstick is 17 us")),
)  # fmt: skip
