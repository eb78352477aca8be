"""Cases of loads: the underwater vehicle, and what a load in Python costs beside a compiled one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.cases import Case, fd_derivatives, of_robot, within
from benchmarks.context import Action, Array, Context
from benchmarks.loops import motion_case
from sorosim.mechanics.loads.base import LoadLaw
from sorosim.mechanics.loads.line_load import LineLoad
from sorosim.mechanics.robot import Robot

# figures of the paper [s]: derivatives, ten seconds by ode15s and by Newmark's method
VEHICLE = {"derivatives": 11.9e-3, "bdf": 1.17, "newmark": 60.9}
FORCE = (0.0, 0.3, -0.5)  # N/m


@dataclass(frozen=True)
class ValueLine(LoadLaw):
    """A dead force per length by its value, over all points at once."""

    rod: str

    def wrench(self, t: float, g: Array, eta: Array) -> tuple[float, Array]:
        """Moment and force per length."""
        return 0.0, np.einsum("nji,j->ni", g[:, :3, :3], np.array(FORCE))


class NumpyLine(ValueLine):
    """The same with its derivatives by hand."""

    def tangents(self, t: float, g: Array, eta: Array) -> tuple[Array, Array]:
        """Derivatives by motion and by twist."""
        f, K = self.wrench(t, g, eta)[1], np.zeros((len(g), 6, 6))
        K[:, 3, 1], K[:, 3, 2], K[:, 4, 0] = -f[:, 2], f[:, 1], f[:, 2]
        K[:, 4, 2], K[:, 5, 0], K[:, 5, 1] = -f[:, 0], -f[:, 1], f[:, 0]
        return K, np.zeros((len(g), 6, 6))


def _loaded(robot: Robot, kind: str) -> Robot:
    own = {"NumPy": NumpyLine, "value": ValueLine}
    return robot.with_loads(line=own[kind]("arm") if kind in own else LineLoad("arm", force=FORCE))


def _derivatives(kind: str) -> Callable[[Context], Action]:
    def make(context: Context) -> Action:
        robot, (q, qd, _, u) = _loaded(context.robot, kind), context.state
        return lambda: robot.forward_dynamics_derivatives(q, qd, u=u)

    return make


LOADS: tuple[Case, ...] = (
    *of_robot(
        "underwater_vehicle",
        fd_derivatives(within(0.8e-3, scaled=True), VEHICLE["derivatives"]),
        motion_case("bdf", 0.3, VEHICLE["bdf"]),
        motion_case("generalized-alpha", None, VEHICLE["newmark"]),
    ),
    Case("FD derivatives, a compiled load per length", _derivatives("compiled"), iterations=100),
    Case("FD derivatives, the same load in NumPy", _derivatives("NumPy"), iterations=100),
    Case("FD derivatives, the same load by its value alone", _derivatives("value"), iterations=100),
)  # fmt: skip
