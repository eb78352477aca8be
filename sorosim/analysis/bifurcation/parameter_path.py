"""Straight paths of inputs, driven coordinates and numbers of a robot's file, and the static equations along them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sorosim.analysis.sensitivity import parameter, scalars_of, varied_engine
from sorosim.base.arrays import Array
from sorosim.base.errors import InputError
from sorosim.mechanics.dynamics.variation import VariedEngine
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.parameter import DRIVEN, FILE, INPUT
from sorosim.mechanics.engine.prescribed import merged
from sorosim.mechanics.kernels.evaluate import Evaluation
from sorosim.mechanics.robot import Robot

# numbers in which the static equations may be affine; a few states tell whether they are
AFFINE_NUMBERS = ("force", "moment", "gravity")
AFFINE_TOLERANCE = 1e-11
# robots and engines at different parameters
CACHED_ROBOTS = 16


class StaticEquations(NamedTuple):
    """The static equations in a state, their derivatives, and the matrices of the equations of motion."""

    tau: Array  # (ndof,) generalised residual forces
    by_q: Array  # (ndof, ndof) their derivative
    by_qd: Array  # (ndof, ndof)
    mass: Array  # (ndof, ndof)
    error: Array  # (m,) of loops
    constraint: Array  # (m, ndof) A
    error_by_q: Array  # (m, ndof)
    tau_slope: Array  # (ndof,) derivative by the parameter at fixed free coordinates
    error_slope: Array  # (m,)


class ParameterPath:
    """Values that change with one parameter: value = origin + parameter * slope.

    Parameters
    ----------
    robot : Robot
    names : sequence of str
        ``u.<actuator>``, ``driven.<link or coordinate>``, or paths of numbers in the robot's file.
    origin, slope : array_like
        Of each name.
    u : (n_actuators,) array
        All inputs; those in `names` are replaced.
    driven : mapping of str to float
        All driven coordinates; those in `names` are replaced.
    """

    def __init__(
        self, robot: Robot, names: Sequence[str], origin: ArrayLike, slope: ArrayLike, u: Array,
        driven: Mapping[str, float],
    ) -> None:  # fmt: skip
        self.base, self.names = robot, tuple(names)
        self.origin, self.slope = np.array(origin, dtype=float), np.array(slope, dtype=float)
        self.parameters = [parameter(robot, name, "along") for name in self.names]
        self._slopes = dict(zip(self.names, map(float, self.slope), strict=True))
        self._file_names = [one.name for one in self.parameters if one.kind == FILE]
        self._file = scalars_of(robot) if self._file_names else None
        moved = {one.target: 0.0 for one in self.parameters if one.kind == DRIVEN}
        self._u, self._driven = np.array(u), merged(robot.engine.layout, driven, moved)
        self._u_slope, self._driven_slope = np.zeros_like(self._u), np.zeros(robot.ndof)
        for one in self.parameters:
            if one.kind != FILE:
                slopes = self._u_slope if one.kind == INPUT else self._driven_slope
                slopes[one.index] = self._slopes[one.name]
        self.robot = lru_cache(maxsize=CACHED_ROBOTS)(self._robot)
        self._engines = lru_cache(maxsize=CACHED_ROBOTS)(self._complex_step_engines)
        self._affine_range: tuple[float, float] | None = None

    # -- values at a parameter ---------------------------------------------------------------------------------------

    def values(self, p: float) -> dict[str, float]:
        """Values of the names."""
        return dict(zip(self.names, map(float, self.origin + p * self.slope), strict=True))

    def inputs(self, p: float) -> Array:
        """All inputs (n_actuators,)."""
        u, values = self._u.copy(), self.values(p)
        for one in self.parameters:
            if one.kind == INPUT:
                u[one.index] = values[one.name]
        return u

    def driven(self, p: float) -> dict[str, float]:
        """All driven coordinates by name."""
        values = self.values(p)
        return {name: values.get(f"{DRIVEN}.{name}", value) for name, value in self._driven.items()}

    def set_driven(self, q: Array, p: float) -> Array:
        """Write the driven coordinates into q (ndof,)."""
        for name, value in self.driven(p).items():
            q[self.base.engine.layout.coordinate(name, "driven")] = value
        return q

    def driven_step(self, step: float) -> Array:
        """Displacement (ndof,) of the driven coordinates in a step of the parameter."""
        return step * self._driven_slope

    def _robot(self, p: float) -> Robot:
        """The robot with the numbers of its file at a parameter."""
        if self._file is None or all(value == self._file.value(name) for name, value in self._file_values(p)):
            return self.base
        out = Robot(self._file.at(dict(self._file_values(p))).description, like=self.base)
        if out.coordinate_names != self.base.coordinate_names:
            raise InputError("along", "numbers that do not change which coordinates there are", f"{self._file_names}")
        return out

    def same_shape_robot(self, p: float) -> Robot:
        """A robot of the same shape as that at p: sizes of loads do not change it."""
        return self.base if self._affine_range is not None else self.robot(p)

    def _file_values(self, p: float) -> list[tuple[str, float]]:
        values = self.values(p)
        return [(name, values[name]) for name in self._file_names]

    def _complex_step_engines(self, p: float) -> list[VariedEngine]:
        """Engines with a complex step in each number of the file."""
        if self._file is None:
            return []
        file, robot = self._file.at(dict(self._file_values(p))), self.robot(p)
        return [varied_engine(robot, file, name) for name in self._file_names]

    # -- the equations -----------------------------------------------------------------------------------------------

    def equations(self, q: Array, p: float, multiplier: Array) -> StaticEquations:
        """The equations at coordinates q (ndof,), driven ones included, and multipliers of loops (m,)."""
        u = self.inputs(p)
        if self._affine_range is not None:
            # affine in the parameter: two robots are enough
            a, b = self._affine_range
            first, second = (self._evaluate(self.robot(end), q, u, multiplier) for end in self._affine_range)
            share = (p - a) / (b - a)
            *parts, B = (x + share * (y - x) for x, y in zip(first, second, strict=True))
            tau_slope, error_slope = ((second[k] - first[k]) / (b - a) for k in (0, 4))
        else:
            *parts, B = self._evaluate(self.robot(p), q, u, multiplier)
            tau_slope, error_slope = np.zeros(len(q)), np.zeros(len(multiplier))
            zero = np.zeros(len(q))
            for name, engine in zip(self._file_names, self._engines(p), strict=True):
                one, rate = engine.vary(q, zero, zero, u, 0.0, multiplier), self._slopes[name]
                tau_slope += rate * (one.inverse - one.internal)
                error_slope += rate * one.error
        tau_slope = tau_slope - B @ self._u_slope + parts[1] @ self._driven_slope
        error_slope = error_slope + parts[6] @ self._driven_slope
        return StaticEquations(*parts[:7], tau_slope, error_slope)  # type: ignore[call-arg]

    @staticmethod
    def _evaluate(robot: Robot, q: Array, u: Array, multiplier: Array) -> list[Array]:
        zero = np.zeros(len(q))
        out: Evaluation = robot.engine.evaluate(
            task.RESIDUAL_DERIVATIVES, q, zero, zero.copy(), u, multiplier=multiplier
        )
        loops = out.closure
        return [out.tau, out.by_q, out.by_qd, out.mass, loops.error, loops.constraint, loops.error_by_q, out.B]

    def detect_affine(self, q: Array, a: float, b: float) -> None:
        """Find out whether the equations are affine in the parameter from a to b; they are cheaper then."""
        last = [name.split("[")[0].split(".")[-1] for name in self._file_names]
        if not self._file_names or not all(word in AFFINE_NUMBERS for word in last) or self.base.engine.loading.touches:
            return
        rng, none = np.random.default_rng(0), np.zeros(self.base.n_multipliers)
        span = b - a
        for share in (0.31, 0.77):
            state = self.set_driven(q + 0.1 * rng.normal(size=len(q)), a)
            u, p = self.inputs(a), a + share * span
            start, end, between = (self._evaluate(self.robot(x), state, u, none) for x in (a, b, p))
            for x, y, z in zip(start, end, between, strict=True):
                size = max(np.abs(x).max(initial=0.0), np.abs(y).max(initial=0.0))
                if np.abs(x + share * (y - x) - z).max(initial=0.0) > AFFINE_TOLERANCE * size:
                    return
        self._affine_range = a, b
