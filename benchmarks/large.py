"""Cases of large robots and of what has no other row: products, finite elements, concentric tubes, a platform."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.cases import Case, at_rest, of_robot
from benchmarks.context import Action, Context
from benchmarks.implicit_steps import correction, stack
from sorosim.analysis.equilibria.statics import statics
from sorosim.analysis.inversion.solver import InverseSolver
from sorosim.files import load
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.robot import Robot

N_RODS, N_ELEMENTS = 200, 30
# how far the motors of the platform move, the one after the other [m]
FEED, STEPS = 0.01, 20


def _touching(new: bool) -> Callable[[Context], Action]:
    """A correction of a step of rods that touch."""

    def make(_: Context) -> Action:
        return partial(correction(stack(N_RODS), sparse=True), new)

    return make


def _elements(what: task.Task) -> Callable[[Context], Action]:
    """A rod of so many finite elements."""

    def make(_: Context) -> Action:
        strain = Strain("linear_elements", torsion=N_ELEMENTS, bending=N_ELEMENTS)
        rod = Rod(Division(1.0, Circle(0.01), Material(1e6, poisson=0.45, density=1100.0), strain))
        robot = Robot(Description("elements", (Link("rod", rod),)))
        q, qd, qdd = 0.1 * np.random.default_rng(0).normal(size=(3, robot.ndof))
        return lambda: robot.engine.evaluate(what, q, qd, qdd, np.zeros(0))

    return make


def _product(context: Context) -> Action:
    """How accelerations change along a direction."""
    robot, (q, qd, _, u) = context.robot, context.state
    return lambda: robot.forward_dynamics_jvp(q, qd, u=u, dq=qd, dqd=q)


def _transposed(context: Context) -> Action:
    """The gradient of a sum of accelerations."""
    robot, (q, qd, qdd, u) = context.robot, context.state
    return lambda: robot.forward_dynamics_vjp(q, qd, u=u, qdd_bar=qdd)


def _platform(_: Context) -> Action:
    """Poses of the plate, each from the one before, as it tilts round."""
    robot = load("continuum_stewart")
    motors, phase = list(robot.description.simulate["driven"]), 2.0 * np.pi * np.arange(STEPS) / STEPS
    wave = [FEED * np.sin(phase - 2.0 * np.pi * (k // 2) / 3.0) for k in range(len(motors))]
    rows = [dict(zip(motors, map(float, row), strict=True)) for row in np.transpose(wave)]
    goals = [robot.pose(statics(robot, driven=row).q, "plate") for row in rows]
    solver = InverseSolver(robot, free=motors)
    solver.solve({"plate": goals[0]})

    def solve() -> None:
        for goal in goals:
            solver.solve({"plate": goal}, stay=True)

    return solve


LARGE: tuple[Case, ...] = (
    Case(f"step of {N_RODS} touching rods, a correction", _touching(True), rounds=5, iterations=3),
    Case(f"step of {N_RODS} touching rods, a correction by old factors", _touching(False), rounds=5, iterations=10),
    Case(f"ID, a rod of {N_ELEMENTS} elements", _elements(task.INVERSE), iterations=50),
    Case(f"ID + derivatives, a rod of {N_ELEMENTS} elements", _elements(task.INVERSE_DERIVATIVES), iterations=20),
    Case("product with FD derivatives (jvp)", _product, iterations=100),
    Case("transposed product with FD derivatives (vjp)", _transposed, iterations=100),
    *of_robot("underwater_vehicle", Case("product with FD derivatives (jvp)", _product, iterations=100)),
    *of_robot("concentric_tubes", Case("an equilibrium", at_rest, rounds=5)),
    Case("a pose of continuum_stewart by InverseSolver", _platform, rounds=5, per=STEPS),
)  # fmt: skip
