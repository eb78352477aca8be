"""Equilibria of a robot over what is unknown: inputs, driven coordinates, and numbers of its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from scipy.linalg.lapack import dgetrs

from sorosim.analysis.equations.system import StaticSystem
from sorosim.analysis.equilibria.statics import statics, tunnelling_test
from sorosim.analysis.inversion.manifold import Manifold, Point
from sorosim.analysis.inversion.quadratic import norm
from sorosim.analysis.inversion.solver import with_loops_closed
from sorosim.analysis.inversion.targets import StaticState
from sorosim.analysis.sensitivity import Sensitivities
from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import ModelError, SorosimError
from sorosim.mechanics.robot import Robot
from sorosim.studies.estimation.readings import ReadingErrors


class Equilibria:
    """Equilibria by parameters p: inputs, then driven coordinates, then numbers.

    Parameters
    ----------
    robot : Robot
    inputs, driven : int array
        Which inputs, and which of the driven coordinates, are parameters.
    paths : sequence of str
        Numbers of the file that are.
    u, values : array, mapping
        Inputs and values of driven coordinates where they are none.
    readings, noise
        As of `ReadingErrors`.
    """

    def __init__(
        self, robot: Robot, inputs: IntArray, driven: IntArray, paths: Sequence[str], u: Array,
        values: Mapping[str, float], readings: Any, noise: Any,
    ) -> None:  # fmt: skip
        self._file, self._inputs, self._driven, self._paths = robot, inputs, driven, tuple(paths)
        self._given, self._noise = deepcopy(readings), deepcopy(noise)
        self._by: Sensitivities | None = None
        self._numbers = np.zeros(0)
        self._take(robot, u, values)
        if paths:
            self._by = Sensitivities(robot, self._paths)
            self._numbers = self._by.values

    def _take(self, robot: Robot, u: Array, values: Mapping[str, float]) -> None:
        """The robot with its numbers of now."""
        system = StaticSystem(robot, u, values)
        self.robot, self.names = robot, tuple(values)
        self.manifold = Manifold(system, self._inputs, self._driven)
        self.readings = ReadingErrors(robot, self._given, self._noise)
        self._may_tunnel = tunnelling_test(system) if robot.engine.loading.touches else None

    @property
    def system(self) -> StaticSystem:
        """The equations of equilibrium."""
        return self.manifold.system

    @property
    def driven(self) -> dict[str, float]:
        """Values of the driven coordinates."""
        return dict(zip(self.names, map(float, self.system.driven_values), strict=True))

    def read(self, readings: Any) -> None:
        """Take other readings of the same places and sensors."""
        self.readings.set(readings)
        self._given = self.readings.given

    def set(self, p: Array) -> None:
        """Let robot and system have these parameters (SorosimError: there is no such robot)."""
        n = len(p) - len(self._paths)
        if self._paths and not np.array_equal(p[n:], self._numbers):
            numbers = dict(zip(self._paths, p[n:].tolist(), strict=True))
            before, scales = self.system, (self.system.weight, self.system.rank, self.system.rows)
            counted = self.readings.counts
            self._take(self._file.with_values(numbers), before.u, self.driven)
            self.system.weight, self.system.rank, self.system.rows = scales
            self.readings.leave_out(~counted)
            self._by, self._numbers = Sensitivities(self.robot, self._paths), p[n:].copy()
        self.manifold.set(p[:n])

    # -- points ------------------------------------------------------------------------------------------------------

    def point(self, x: Array, p: Array) -> Point | None:
        """The equations at unknowns and parameters; None where there is no such robot, or no derivative."""
        try:
            self.set(p)
        except SorosimError:
            return None
        n = len(p) - len(self._paths)
        point = self.manifold.point(self.readings, x, p[:n])  # type: ignore[arg-type]
        if point is None or not self._paths:
            return point
        state, direct = self._by_numbers(point)
        slopes = self.readings.errors(state)[1] + direct
        if not np.isfinite(slopes).all():
            return None
        by = np.hstack([point.by, self._solved])
        return point._replace(p=p, by=by, J=np.hstack([point.J, slopes]), effort_by=np.zeros(0))

    def _by_numbers(self, point: Point) -> tuple[StaticState, Array]:
        """The state with its derivatives by the numbers, and those of the readings where the state stays."""
        assert self._by is not None
        system, robot = self.system, self.robot
        q, multiplier, zero = system.q(point.x), system.multipliers(point.x), np.zeros(robot.ndof)
        varied = [one.vary(q, zero, zero, system.u, 0.0, multiplier) for one in self._by.engines]
        forces = np.stack([one.inverse - one.internal for one in varied], axis=1)[system.partition.free]
        errors = np.stack([one.error for one in varied], axis=1)
        rows = (system.weight[:, None] * errors)[system.rows] if len(errors) else errors
        tangent = point.tangent
        right = np.asfortranarray(-np.vstack([forces, rows]))
        self._solved = dgetrs(tangent.lu, tangent.pivots, right)[0] if len(right) else right
        q_by = np.zeros((robot.ndof, len(varied)), order="F")
        q_by[system.partition.free] = self._solved[: system.n_free]
        multiplier_by = np.zeros((len(multiplier), len(varied)))
        if len(multiplier):
            multiplier_by[system.rows] = system.weight[system.rows, None] * self._solved[system.n_free :]
        state = StaticState(q, system.u, multiplier, q_by, np.zeros((len(system.u), len(varied))), multiplier_by)
        return state, self.readings.by_numbers(self._by, state)

    def coordinates_by(self, point: Point) -> Array:
        """Derivatives (ndof, n_p) of all coordinates by the parameters."""
        n = point.by.shape[1] - len(self._paths)
        by = self.manifold.state(point.x, np.column_stack([point.correction, point.by[:, :n]])).q_by[:, 1:]
        if not self._paths:
            return np.ascontiguousarray(by)
        more = np.zeros((len(by), len(self._paths)))
        more[self.system.partition.free] = point.by[: self.system.n_free, n:]
        return np.hstack([by, more])

    # -- ways --------------------------------------------------------------------------------------------------------

    def tunnels(self, before: Array, after: Array) -> bool:
        """Whether surfaces may have passed through each other between two unknowns."""
        return self._may_tunnel is not None and self._may_tunnel(before, 1.0, after, 1.0)

    def stable(self, point: Point) -> bool:
        """Whether the equilibrium of a point is."""
        if self.manifold.definite(point):
            return True
        system, x = self.system, point.x + point.correction
        return bool(system.robot.linearize(system.q(x), system.u, free=system.partition.free).stable)

    def corrected(self, point: Point, anew: bool = True) -> Point | None:
        """The equilibrium at the parameters of a point, but for a last correction (ModelError: there is none).

        anew : whether `statics` searches where corrections do not get there; else None.
        """
        while not point.balanced:
            x = point.x + point.correction
            after = None if self.tunnels(point.x, x) else self.point(x, point.p)
            if after is None or not norm(after.correction) < norm(point.correction):
                if not anew:
                    return None
                after = self.point(self.rest(point.p, point.x), point.p)
                if after is None or not after.balanced:
                    raise ModelError("estimate", "an equilibrium", "a state that does not come to rest")
            point = after
        return point

    def followed(self, x: Array, p: Array, other: Array) -> Array:
        """Unknowns of the equilibrium at other inputs and driven coordinates, along the way there if there is one."""
        n = len(p) - len(self._paths)
        self.set(p)
        point = self.manifold.point(self.readings, x, p[:n])  # type: ignore[arg-type]
        found = None if point is None else self.manifold.follow(self.readings, point, other[:n])  # type: ignore[arg-type]
        return self.rest(other, x) if found is None else found.x + found.correction

    def rest(self, p: Array, x: Array | None = None, q: Array | None = None) -> Array:
        """Unknowns of the equilibrium that `statics` finds near others, or near coordinates (ConvergenceError)."""
        self.set(p)
        system = self.system
        near = with_loops_closed(system, q.copy()) if q is not None else system.q(x) if x is not None else None
        return system.start(statics(self.robot, system.u.copy(), driven=self.driven, q0=near, stable=x is None).q)
