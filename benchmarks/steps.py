"""Cases of steps under held inputs, their gradients, and batches, with the cable-driven manipulator."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.cases import Case, within, yardsticks
from benchmarks.context import Action, Array, Context, Setting, times
from sorosim.analysis.motion.batch import Batch
from sorosim.analysis.motion.rollout import rollout
from sorosim.analysis.motion.simulate import simulate
from sorosim.analysis.motion.stepper import Stepper
from sorosim.analysis.sensitivity import scalars
from sorosim.base.errors import SorosimWarning
from sorosim.files import load

DT, N = 0.01, 200
# steps of the study, those whose memory is looked at, numbers of the file by which it differentiates
MANY, LONG, NUMBERS = 100_000, 10_000, 10
ROBOTS = (
    "soft_cart_pole",
    "cable_manipulator",
    "soft_gripper",
    "fin_ray",
    "hybrid_parallel",
    "underwater_vehicle",
    "rod_pile",
)
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


def _derivatives(context: Context) -> Action:
    sim = Stepper(context.robot, DT, substeps=SUBSTEPS, tolerance=1e-11)
    sim.reset()
    for one in _inputs(2, DT, len(context.robot.actuator_names)):
        sim.step(one)

    def linearize() -> None:
        for _ in range(N):
            sim.linearize()

    return linearize


def _rollout(context: Context) -> Action:
    u = _inputs(N, DT, len(context.robot.actuator_names))
    return lambda: rollout(context.robot, u, DT)


def _gradient(context: Context) -> Action:
    found = rollout(context.robot, _inputs(N, DT, len(context.robot.actuator_names)), DT)
    bars = np.ones_like(found.q), np.ones_like(found.q)
    return lambda: found.vjp(*bars)


def _control(context: Context, **options: Any) -> Action:
    """A second under a controller whose inputs jump."""
    u, robot = 1.0 + np.random.default_rng(0).random((101, len(context.robot.actuator_names))), context.robot
    options |= {"controller": lambda t, q, qd: u[round(t / DT)], "dt_control": DT, "q0": robot.initial_q}
    return lambda: simulate(robot, 1.0, method="generalized-alpha", **options)


def _batch(context: Context, threads: int | None) -> Action:
    batch = Batch(context.robot, MEMBERS, 1.0 / RATE, threads=threads, substeps=SUBSTEPS)
    u = _inputs(RATE * SECONDS, 1.0 / RATE, len(context.robot.actuator_names))
    batch.reset()

    def run() -> None:
        batch.reset()
        batch.rollout(u)

    return run


def _equilibria(context: Context) -> Action:
    """Equilibria of all members under inputs that go to and fro."""
    batch, k = Batch(context.robot, MEMBERS, DT, threads=1), 0
    u = np.random.default_rng(0).uniform(0.0, 0.5, (2, MEMBERS, len(context.robot.actuator_names)))
    batch.statics(u[0])

    def run() -> None:
        nonlocal k
        k += 1
        batch.statics(u[k % 2])

    return run


STEPS: tuple[Case, ...] = (
    Case("a step of 10 ms under held inputs", _step, per=N, target=yardsticks(5)),
    Case("derivatives of 10 ms in four steps", _derivatives, per=N),
    Case("motion of 200 such steps", _rollout, rounds=9),
    Case("its gradient by all inputs and the start", _gradient, rounds=9),
    Case("a sample at 100 Hz, one step each", lambda context: _control(context, step=DT), rounds=5, per=100,
         target=within(3e-4)),
    Case("a sample at 100 Hz, chosen steps", _control, rounds=5, per=100),
    Case("a simulated second at 15 Hz in a batch, one thread", lambda context: _batch(context, 1), rounds=5,
         per=MEMBERS * SECONDS),
    Case("a simulated second at 15 Hz in a batch", lambda context: _batch(context, None), rounds=5,
         per=MEMBERS * SECONDS, target=within(4e-3, scaled=True)),
    Case("an equilibrium in a batch, one thread", _equilibria, rounds=5, per=MEMBERS),
)  # fmt: skip


def study(at: Setting) -> None:
    """Rare slow steps, memory, gradients by numbers, and threads."""
    robot, say = load("cable_manipulator"), at.say
    n, many, long = at.size(N, 5), at.size(MANY, 100), at.size(LONG, 20)
    names = list(scalars(robot))[-NUMBERS:]
    yardstick = np.median(Context().measure_yardstick())
    for name in at.size(ROBOTS, ROBOTS[:2]):
        robot_there = load(name)
        dt = DT if name != "rod_pile" else 0.1 * DT
        sim, u = Stepper(robot_there, dt), 0.1 * _inputs(n, dt, len(robot_there.actuator_names))
        sim.reset()
        sim.step()
        one = 1e6 * np.median([_seconds(partial(sim.step, row)) for row in u])
        linearization = 1e6 * np.median(times(partial(_linearize, sim), 9, 1))
        say(f"{name}, {robot_there.ndof} coordinates, {1e3 * dt:g} ms: {one:.0f} us a step, "
            f"{linearization:.0f} us its derivatives")  # fmt: skip

    sim, u = Stepper(robot, DT), _inputs(many, DT, len(robot.actuator_names))
    sim.reset()
    sim.step()
    steps = np.array([_seconds(partial(sim.step, one)) for one in u])
    middle, rare = np.median(steps), np.quantile(steps, 0.999)
    say(f"{many} steps: median {1e6 * middle:.0f} us, {middle / yardstick:.1f} yardsticks; 99.9 % are below "
        f"{1e6 * rare:.0f} us, {rare / middle:.1f} medians")  # fmt: skip

    forward = np.median(times(lambda: rollout(robot, u[:n], DT), 15, 1))
    for numbers in ([], names):
        found = rollout(robot, u[:n], DT, numbers=numbers)
        backward = np.median(times(partial(found.vjp, found.q, found.qd), 9, 1))
        say(f"gradient by {n} inputs, the start and {len(numbers)} numbers: {backward / forward:.2f} motions")

    tracemalloc.start()
    found = rollout(robot, u[:long], DT, numbers=names)
    found.vjp(found.q, found.qd)
    say(f"memory of {long} steps with {NUMBERS} numbers: {tracemalloc.get_traced_memory()[1] / 1e6:.0f} MB")
    tracemalloc.stop()

    batches = [Batch(robot, MEMBERS, 1.0 / RATE, threads=threads, substeps=SUBSTEPS) for threads in (1, 2)]
    v, measured = _inputs(RATE * SECONDS, 1.0 / RATE, len(robot.actuator_names)), np.zeros((9, 2))
    for row in measured:  # in turn, since machines change their pace
        for k, batch in enumerate(batches):
            batch.reset()
            row[k] = _seconds(partial(batch.rollout, v))
    one, two = np.median(measured[1:], axis=0)
    say(f"{MEMBERS * SECONDS / two:.0f} simulated seconds a second on two threads, {one / two:.2f} times those on one")


def _linearize(sim: Stepper) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SorosimWarning)  # steps at their default tolerance
        sim.linearize()


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
