"""Cases of loads: the underwater vehicle, and what a load in Python costs beside a compiled one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.cases import Case, of_robot, public, seconds
from benchmarks.context import Action, Array, Context
from benchmarks.loops import motion_case
from sorosim.arrays import IntArray
from sorosim.loads.base import LoadValues
from sorosim.loads.line_load import LineLoad
from sorosim.model.compile import Layout
from sorosim.robot import Robot

# figures of the paper [s]: derivatives, ten seconds by ode15s and by Newmark's method
VEHICLE = {"derivatives": 11.9e-3, "bdf": 1.17, "newmark": 60.9}
FORCE = (0.0, 0.3, -0.5)  # N/m


@dataclass(frozen=True)
class NumpyLine:
    """A dead force per length in plain NumPy, over all points at once."""

    rod: str
    places = ()

    def bind(self, layout: Layout) -> BoundLine:
        """Find the Gauss points."""
        link = layout.link(self.rod)
        return BoundLine(link.nodes[link.weight > 0.0], link.weight[link.weight > 0.0])


@dataclass(frozen=True, eq=False)
class BoundLine:
    """The same on its nodes."""

    nodes: IntArray
    weight: Array
    dissipates = False

    def evaluate(self, t: float, g: Array, eta: Array) -> LoadValues:
        """Wrench and tangents."""
        n = len(self.nodes)
        wrench, K = np.zeros((n, 6)), np.zeros((n, 6, 6))
        f = self.weight[:, None] * np.einsum("nji,j->ni", g[:, :3, :3], np.array(FORCE))
        wrench[:, 3:] = f
        K[:, 3, 1], K[:, 3, 2], K[:, 4, 0] = -f[:, 2], f[:, 1], f[:, 2]
        K[:, 4, 2], K[:, 5, 0], K[:, 5, 1] = -f[:, 0], -f[:, 1], f[:, 0]
        return LoadValues(wrench, K, np.zeros((n, 6, 6)))


def _loaded(robot: Robot, kind: str) -> Robot:
    load = (
        NumpyLine("arm")
        if kind == "NumPy"
        else LineLoad("arm", moment=((0.0, 0.0, 0.0, *FORCE))[:3], force=((0.0, 0.0, 0.0, *FORCE))[3:])
    )
    return robot.with_loads(line=load)


def _derivatives(kind: str) -> Callable[[Context], Action]:
    def make(context: Context) -> Action:
        robot, (q, qd, _, u) = _loaded(context.robot, kind), context.state
        return lambda: robot.forward_dynamics_derivatives(q, qd, u=u)

    return make


LOADS: tuple[Case, ...] = (
    of_robot(
        "underwater_vehicle",
        Case(
            "FD derivatives", public("forward_dynamics_derivatives", "qvu"), iterations=20,
            target=seconds(0.8e-3, scaled=True), paper=VEHICLE["derivatives"],
        ),
    ),
    of_robot("underwater_vehicle", motion_case("bdf", 0.3, VEHICLE["bdf"])),
    of_robot("underwater_vehicle", motion_case("generalized-alpha", None, VEHICLE["newmark"])),
    Case("FD derivatives, a compiled load per length", _derivatives("compiled"), iterations=100),
    Case("FD derivatives, the same load in NumPy", _derivatives("NumPy"), iterations=100),
)  # fmt: skip
