"""Cases of derivatives by numbers of a robot's file."""

from __future__ import annotations

from collections.abc import Callable

from sorosim.benchmark.cases import Case, of_robot
from sorosim.benchmark.setting import Action, Setting
from sorosim.equilibria.statics import statics
from sorosim.sensitivity import sensitivities

NAMES = {
    "cable_manipulator": ("links.arm.rod.length", "links.arm.rod.section.circle.radius[1]", "materials.silicone.young"),
    "hybrid_parallel": ("parameters.height", "parameters.reach", "materials.silicone.young"),
}


def _prepared(setting: Setting) -> Action:
    return lambda: sensitivities(setting.robot, NAMES[setting.name])


def _forward(setting: Setting) -> Action:
    by, (q, qd, _, u) = sensitivities(setting.robot, NAMES[setting.name]), setting.state
    return lambda: by.forward_dynamics(q, qd, u)


def _equilibrium(setting: Setting) -> Action:
    by, eq = sensitivities(setting.robot, NAMES[setting.name]), statics(setting.robot)
    return lambda: by.equilibrium(eq)


def _rows(name: str) -> list[Case]:
    makers: dict[str, tuple[Callable[[Setting], Action], int]] = {
        "three numbers of the file: prepared": (_prepared, 3),
        "FD derivatives by three numbers": (_forward, 20),
        "derivatives of an equilibrium by three numbers": (_equilibrium, 20),
    }
    return [of_robot(name, Case(what, make, iterations=n)) for what, (make, n) in makers.items()]


VARIED: tuple[Case, ...] = tuple(case for name in NAMES for case in _rows(name))
