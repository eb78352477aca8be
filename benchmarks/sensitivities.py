"""Cases of derivatives by numbers of a robot's file."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.cases import Case, of_robot
from benchmarks.context import Action, Context
from sorosim.analysis.equilibria.statics import statics
from sorosim.analysis.sensitivity import sensitivities

NAMES = {
    "cable_manipulator": ("links.arm.rod.length", "links.arm.rod.section.circle.radius[1]", "materials.silicone.young"),
    "hybrid_parallel": ("parameters.height", "parameters.reach", "materials.silicone.young"),
}


def _prepared(context: Context) -> Action:
    return lambda: sensitivities(context.robot, NAMES[context.name])


def _forward(context: Context) -> Action:
    by, (q, qd, _, u) = sensitivities(context.robot, NAMES[context.name]), context.state
    return lambda: by.forward_dynamics(q, qd, u=u)


def _equilibrium(context: Context) -> Action:
    by, eq = sensitivities(context.robot, NAMES[context.name]), statics(context.robot)
    return lambda: by.equilibrium(eq)


def _rows(name: str) -> tuple[Case, ...]:
    makers: dict[str, tuple[Callable[[Context], Action], int]] = {
        "three numbers of the file: prepared": (_prepared, 3),
        "FD derivatives by three numbers": (_forward, 20),
        "derivatives of an equilibrium by three numbers": (_equilibrium, 20),
    }
    return of_robot(name, *(Case(what, make, iterations=n) for what, (make, n) in makers.items()))


SENSITIVITIES: tuple[Case, ...] = tuple(case for name in NAMES for case in _rows(name))
