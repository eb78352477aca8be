"""The only assembler: from a robot to residuals, rates and Jacobians; it owns which unknowns there are.

Multipliers of loops will join the unknowns. Solvers see vectors of the free unknowns only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.drive import Held, Motion, Partition, driven_motion
from sorosim.kernels import evaluate as task
from sorosim.model.chart import FARTHEST, Charts
from sorosim.robot import Robot

Array = NDArray[np.float64]


class StaticSystem:
    """Equilibrium of a robot at fixed inputs and driven coordinates: residual ID(q) - internal force, free rows."""

    def __init__(self, robot: Robot, u: Array, driven: Mapping[str, float]) -> None:
        self.robot, self.u = robot, u
        self.partition = Partition.of(robot.engine.layout, driven, robot.description.actuators)
        self.driven_values = np.array([float(v) for v in driven.values()])
        self._zero = np.zeros(robot.ndof)

    def q(self, x: Array, load: float = 1.0) -> Array:
        """All coordinates from the free ones; driven ones move in with the load."""
        q = np.empty(self.robot.ndof)
        q[self.partition.free] = x
        rest = self.robot.engine.elastic.rest[self.partition.driven]
        q[self.partition.driven] = rest + load * (self.driven_values - rest)
        return q

    def residual(self, x: Array, load: float) -> Array:
        """Residual of the free coordinates; gravity, loads and inputs are multiplied by `load`."""
        return self.full_residual(self.q(x, load), load)[self.partition.free]

    def full_residual(self, q: Array, load: float = 1.0) -> Array:
        """Residual (ndof,); at equilibrium it is the force that the driven coordinates need, and zero elsewhere."""
        out = self.robot.engine.evaluate(task.RESIDUAL, q, self._zero, self._zero, load * self.u, scale=load)
        return out.tau

    def jacobian(self, x: Array, load: float) -> tuple[Array, Array]:
        """Residual of the free coordinates and its derivative by them."""
        u, zero = load * self.u, self._zero
        out = self.robot.engine.evaluate(task.RESIDUAL_DERIVATIVES, self.q(x, load), zero, zero, u, scale=load)
        free = self.partition.free
        return out.tau[free], out.dq if len(free) == self.robot.ndof else out.dq[np.ix_(free, free)]

    def without_turns(self, x: Array, start: Array) -> Array:
        """The same state with every angle that counts no turns nearest to that of `start`, rotations up to a half."""
        layout, q, reference = self.robot.engine.layout, self.q(x), self.q(start)
        for link in layout.links.values():
            angles = link.column + np.array(link.link.joint.counts_no_turns, dtype=np.int64)
            q[angles] -= 2.0 * np.pi * np.round((q[angles] - reference[angles]) / (2.0 * np.pi))
        charts = Charts(layout, self.partition.mask)
        return charts.unwound(q, np.zeros_like(q))[0][self.partition.free]


class OdeSystem:
    """Motion of a robot as dx/dt = rhs(t, x), x = [q; qd] of the free coordinates."""

    def __init__(self, robot: Robot, inputs: Motion | Held, driven: Mapping[str, Any]) -> None:
        self.robot, self.inputs = robot, inputs
        self.partition = Partition.of(robot.engine.layout, driven, robot.description.actuators)
        self.driven = driven_motion(driven)
        self.charts = Charts(robot.engine.layout, self.partition.mask)
        self.n_free = len(self.partition.free)
        self._shifted_unit = np.eye(2 * self.n_free, k=self.n_free)  # [0 1; 0 0]

    def state(self, q: Array, qd: Array) -> Array:
        """x from coordinates and rates."""
        return np.concatenate([q[self.partition.free], qd[self.partition.free]])

    def coordinates(self, t: float, x: Array) -> tuple[Array, Array, Array]:
        """Coordinates, rates, and accelerations as far as they are prescribed (zero elsewhere)."""
        # fresh arrays: integrators may pass read-only views, for which the kernels would be compiled anew
        out = np.zeros((3, self.robot.ndof))
        if self.n_free == self.robot.ndof:
            out[:2] = x.reshape(2, -1)
        else:
            out[:2, self.partition.free] = x.reshape(2, -1)
            out[:, self.partition.driven] = self.driven.jets(t).T
        return out[0], out[1], out[2]

    def rhs(self, t: float, x: Array) -> Array:
        """dx/dt (2 n_free,)."""
        q, qd, qdd = self.coordinates(t, x)
        self._forward(task.FORWARD, t, q, qd, qdd)
        free = self.partition.free
        return np.concatenate([qd[free], qdd[free]])

    def jacobian(self, t: float, x: Array) -> Array:
        """d(dx/dt)/dx (2 n_free, 2 n_free)."""
        q, qd, qdd = self.coordinates(t, x)
        found, n = self._forward(task.FORWARD_DERIVATIVES, t, q, qd, qdd), self.n_free
        out = self._shifted_unit.copy()
        if n == self.robot.ndof:
            out[n:, :n], out[n:, n:] = found.dq, found.dqd
        else:
            free = np.ix_(self.partition.free, self.partition.free)
            out[n:, :n], out[n:, n:] = found.dq[free], found.dqd[free]
        return out

    def driven_forces(self, t: float, x: Array) -> Array:
        """Forces (n_driven,) that the driven coordinates need."""
        if len(self.partition.driven) == 0:
            return np.zeros(0)
        q, qd, qdd = self.coordinates(t, x)
        self._forward(task.FORWARD, t, q, qd, qdd)
        found = self.robot.engine.evaluate(task.RESIDUAL, q, qd, qdd, self.inputs.value(t), t)
        return found.tau[self.partition.driven]

    def _forward(self, what: int, t: float, q: Array, qd: Array, qdd: Array) -> Any:
        """Forward dynamics at the prescribed accelerations in qdd; the others are filled in."""
        return self.robot.engine.evaluate(what, q, qd, qdd, self.inputs.value(t), t, known=self.partition.mask)

    # -- large rotations -------------------------------------------------------------------------------------------

    def rotation_left(self, t: float, x: Array) -> float:
        """How far the largest rotation is from where its coordinates are changed, negative [rad]."""
        return self.charts.largest_angle(self.coordinates(t, x)[0]) - FARTHEST

    def turned_back(self, t: float, x: Array) -> Array:
        """The same state with rotations of at most half a turn (docs/theory.md, 8)."""
        q, qd, _ = self.coordinates(t, x)
        return self.state(*self.charts.unwound(q, qd))
