"""The only assembler: from a robot to residuals, rates and Jacobians; it owns which unknowns there are.

Each coordinate has either a known force (free: its acceleration is unknown) or a known motion (driven: its force is).
Multipliers of loops will join the unknowns. Solvers see vectors of the free unknowns only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from sorosim.compiled import entry
from sorosim.errors import InputError, ModelError, nearest
from sorosim.kernels import evaluate as task
from sorosim.kernels.signals import evaluate_signals, signal_workspace
from sorosim.robot import Robot
from sorosim.signals import (
    CallableSignal,
    ConstantSignal,
    ExpressionSignal,
    Signal,
    TableSignal,
    as_signal,
    compile_signals,
)

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

KINKED = {"abs", "clip", "floor", "max", "min", "sign", "step"}  # functions whose rates jump


@dataclass(frozen=True)
class Partition:
    """Which coordinates are free, which are driven."""

    free: IntArray
    driven: IntArray

    @property
    def n_multipliers(self) -> int:
        """Number of multipliers of loops: none yet."""
        return 0

    @classmethod
    def of(cls, robot: Robot, driven: Mapping[str, Any]) -> Partition:
        """Drive the joints of the named links, in the order given; everything else is free."""
        indices: list[int] = []
        for name in driven:
            layout = robot.engine.layout.links.get(name)
            jointed = [key for key, value in robot.engine.layout.links.items() if value.n_joint == 1]
            if layout is None or layout.n_joint != 1:
                raise InputError("driven", "the name of a link with a joint", f"'{name}'", nearest(name, jointed))
            indices.append(layout.column)
        chosen = np.array(indices, dtype=np.int64)
        return cls(np.setdiff1d(np.arange(robot.ndof), chosen), chosen)


class Motion:
    """Signals of time, compiled: inputs u(t), or driven coordinates with their rates."""

    def __init__(self, signals: list[Signal]) -> None:
        self.signals = signals
        self._arrays, self._callables = compile_signals(signals)
        self._workspace_shape = signal_workspace(self._arrays).shape
        self._evaluate: Any = None
        self._constant = np.array([s.level for s in signals if isinstance(s, ConstantSignal)])
        self._is_constant = len(self._constant) == len(signals)

    def jets(self, t: float) -> Array:
        """Values and first and second derivatives (n, 3) at time t; of a callable only the value."""
        out = np.zeros((len(self.signals), 3))
        for index, function in self._callables:
            out[index, 0] = function(t)
        arguments = self._arrays, float(t), out, np.empty(self._workspace_shape)
        if self._evaluate is None:
            self._evaluate = entry(evaluate_signals, *arguments)
        self._evaluate(*arguments)
        return out

    def value(self, t: float) -> Array:
        """Values (n,) at time t."""
        return self._constant if self._is_constant else np.ascontiguousarray(self.jets(t)[:, 0])

    def sample(self, times: Array) -> Array:
        """Values (n_times, n)."""
        return np.stack([s.sample(times) for s in self.signals], axis=-1) if self.signals else np.zeros((len(times), 0))

    @property
    def differentiable(self) -> bool:
        """Whether the derivatives of all signals are known."""
        return not self._callables


def input_motion(robot: Robot, u: Any, where: str = "u") -> Motion:
    """Inputs of a robot as signals: a mapping of names to signals (missing ones are zero), a sequence, or None."""
    names = robot.actuator_names
    if u is None:
        u = {}
    if isinstance(u, Mapping):
        for name in u:
            if name not in names:
                raise InputError(where, "the name of an actuator", f"'{name}'", nearest(str(name), names))
        return Motion([as_signal(u.get(name, 0.0), f"{where}.{name}") for name in names])
    try:
        if isinstance(u, str | bytes | set | frozenset):
            raise TypeError
        entries = list(u)
    except TypeError:
        hint = "a callable takes the name of its actuator: u={'name': f}"
        raise InputError(where, "a mapping or a sequence", type(u).__name__, hint) from None
    if len(entries) != len(names):
        raise InputError(where, f"{len(names)} inputs", f"{len(entries)}")
    return Motion([as_signal(entry, f"{where}.{name}") for name, entry in zip(names, entries, strict=True)])


class StaticSystem:
    """Equilibrium of a robot at fixed inputs and driven coordinates: residual ID(q) - internal force, free rows."""

    def __init__(self, robot: Robot, u: Array, driven: Mapping[str, float]) -> None:
        self.robot, self.u = robot, u
        self.partition = Partition.of(robot, driven)
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


class OdeSystem:
    """Motion of a robot as dx/dt = rhs(t, x), x = [q; qd] of the free coordinates."""

    def __init__(self, robot: Robot, inputs: Motion, driven: Mapping[str, Any]) -> None:
        self.robot, self.inputs = robot, inputs
        self.partition = Partition.of(robot, driven)
        self.driven = Motion([as_signal(value, f"driven.{name}") for name, value in driven.items()])
        for name, signal in zip(driven, self.driven.signals, strict=True):
            _check_smooth(f"driven.{name}", signal)
        self.n_free = len(self.partition.free)
        self._shifted_unit = np.eye(2 * self.n_free, k=self.n_free)  # [0 1; 0 0]

    def state(self, q: Array, qd: Array) -> Array:
        """x from coordinates and rates."""
        return np.concatenate([q[self.partition.free], qd[self.partition.free]])

    def coordinates(self, t: float, x: Array) -> tuple[Array, Array, Array]:
        """Coordinates, rates, and accelerations as far as they are prescribed (zero elsewhere)."""
        n = self.n_free
        if n == self.robot.ndof:
            # fresh arrays: integrators may pass read-only views, for which the kernels would be compiled anew
            return np.array(x[:n]), np.array(x[n:]), np.zeros(n)
        q, qd, qdd = np.empty(self.robot.ndof), np.empty(self.robot.ndof), np.zeros(self.robot.ndof)
        q[self.partition.free], qd[self.partition.free] = x[:n], x[n:]
        jets = self.driven.jets(t)
        for out, order in ((q, 0), (qd, 1), (qdd, 2)):
            out[self.partition.driven] = jets[:, order]
        return q, qd, qdd

    def rhs(self, t: float, x: Array) -> Array:
        """dx/dt (2 n_free,)."""
        q, qd, qdd = self.coordinates(t, x)
        u, n, engine = self.inputs.value(t), self.n_free, self.robot.engine
        out = np.empty(2 * n)
        if n == self.robot.ndof:
            engine.evaluate(task.FORWARD, q, qd, qdd, u, t)
            out[:n], out[n:] = qd, qdd
            return out
        free = self.partition.free
        found = engine.evaluate(task.MASS, q, qd, qdd, u, t)
        force = engine.evaluate(task.INTERNAL, q, qd, qdd, u, t).tau - found.tau
        out[:n], out[n:] = qd[free], self._solve(found.mass, force[free])
        return out

    def jacobian(self, t: float, x: Array) -> Array:
        """d(dx/dt)/dx (2 n_free, 2 n_free)."""
        q, qd, qdd = self.coordinates(t, x)
        u, n, engine = self.inputs.value(t), self.n_free, self.robot.engine
        out = self._shifted_unit.copy()
        if n == self.robot.ndof:
            found = engine.evaluate(task.FORWARD_DERIVATIVES, q, qd, qdd, u, t)
            out[n:, :n], out[n:, n:] = found.dq, found.dqd
            return out
        free = self.partition.free
        qdd[free] = self.rhs(t, x)[n:]
        found = engine.evaluate(task.RESIDUAL_DERIVATIVES, q, qd, qdd, u, t)
        both = np.hstack([found.dq[np.ix_(free, free)], found.dqd[np.ix_(free, free)]])
        out[n:] = -self._solve(found.mass, both)
        return out

    def driven_forces(self, t: float, x: Array) -> Array:
        """Forces (n_driven,) that the driven coordinates need."""
        q, qd, qdd = self.coordinates(t, x)
        if len(self.partition.driven) == 0:
            return np.zeros(0)
        qdd[self.partition.free] = self.rhs(t, x)[self.n_free :]
        found = self.robot.engine.evaluate(task.RESIDUAL, q, qd, qdd, self.inputs.value(t), t)
        return found.tau[self.partition.driven]

    def _solve(self, mass: Array, rhs: Array) -> Array:
        free = self.partition.free
        try:
            return np.asarray(scipy.linalg.solve(mass[np.ix_(free, free)], rhs, assume_a="pos", check_finite=False))
        except np.linalg.LinAlgError:
            raise ModelError(self.robot.name, "a mass matrix that is positive definite", "a singular one") from None


def _check_smooth(where: str, signal: Signal) -> None:
    """Refuse motions whose rate is not known or jumps: a jump is a blow, which no integrator would notice."""
    expected = "a motion with a continuous rate"
    if isinstance(signal, CallableSignal):
        raise InputError(where, "expressions or tables, whose derivatives are known", "a callable")
    if isinstance(signal, TableSignal) and signal.interpolation == "linear" and len(signal.times) > 2:
        raise InputError(where, expected, "a table with linear interpolation", "give interpolation: cubic or pchip")
    if isinstance(signal, ExpressionSignal):
        kinked = sorted(KINKED & set(re.findall(r"[a-z]+", signal.expression.text)))
        if kinked:
            raise InputError(where, expected, f"{kinked[0]}(...)", "smoothstep(x) rises smoothly from 0 at 0 to 1 at 1")
