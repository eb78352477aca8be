"""A robot that moves in steps, with its unknowns of now: its states, steps and readings, and derivatives of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sorosim.analysis.equations.system import NO_STRAINS, mass_weight
from sorosim.analysis.equilibria.assembly import close_if_possible, closed_rates
from sorosim.analysis.inversion.targets import StaticState
from sorosim.analysis.motion.discrete_steps import ROLLOUT_TOLERANCE
from sorosim.analysis.motion.stepper import Stepper, StepState
from sorosim.analysis.sensitivity import Sensitivities, closed_coordinates
from sorosim.analysis.sensitivity import closed_rates as closed_rates_by
from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import ConvergenceError, InputError
from sorosim.base.validation import Number
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.parameter import FILE
from sorosim.mechanics.robot import Robot
from sorosim.studies.estimation.disturbances import SmoothMotions, solved
from sorosim.studies.estimation.readings import ReadingErrors
from sorosim.studies.estimation.unknowns import Unknown

# of coordinates, rates and inputs, and of numbers of the file over their values or spreads: by which differences of
# readings of sensors move them
DIFFERENCE = 1e-5
# robots with other numbers that are kept: late readings go back and forth
KEPT = 4


class Belief(NamedTuple):
    """State, unknowns, and the root S of their covariance S S^T; nothing in it changes."""

    state: StepState
    mean: Array
    root: Array

    @property
    def x(self) -> Array:
        """[q; qd; strain; mean]."""
        return np.concatenate([self.state.q, self.state.qd, strain_of(self.state), self.mean])


def strain_of(state: StepState) -> Array:
    """Strains (n_strains,) of Maxwell elements."""
    return NO_STRAINS if state.strain is None else state.strain


class _Numbered:
    """The robot with numbers of its file."""

    def __init__(self, robot: Robot, paths: Sequence[str], step: Mapping[str, Any]) -> None:
        self.robot, self._paths, self._step = robot, paths, step
        self.readings: dict[tuple[Any, ...], ReadingErrors] = {}

    @cached_property
    def sim(self) -> Stepper:
        """Its steps."""
        return Stepper(self.robot, **self._step)

    @cached_property
    def by(self) -> Sensitivities:
        """Derivatives by the numbers."""
        return Sensitivities(self.robot, self._paths)


class MovingRobot:
    """A robot whose unknowns are slow states: [q; qd; strain; mean], mean being inputs, then numbers of the file.

    Parameters
    ----------
    robot : Robot
        With unknown loads as further inputs.
    unknowns : sequence of Unknown
        Those of the file last.
    n_commands : int
        How many inputs are commanded.
    dt, driven, substeps
        As of `Stepper`.
    noise
        As of `ReadingErrors`; also of readings that are not there.
    """

    def __init__(
        self, robot: Robot, unknowns: Sequence[Unknown], n_commands: int, dt: Number, driven: Any, substeps: int,
        noise: Any,
    ) -> None:  # fmt: skip
        self._file, self.n_commands, self._noise = robot, n_commands, noise
        self._paths = [one.key for one in unknowns if one.kind == FILE]
        inputs = [name for one in unknowns if one.kind != FILE for name in one.inputs]
        self._inputs: IntArray = np.array([robot.actuator_names.index(name) for name in inputs], dtype=np.int64)
        self._low = np.concatenate([np.zeros(0), *(one.low for one in unknowns)])
        self._high = np.concatenate([np.zeros(0), *(one.high for one in unknowns)])
        # the file accepts numbers between its bounds, not the bounds
        m, file = len(self._inputs), [one for one in unknowns if one.kind == FILE]
        inside = np.array([1e-6 * abs(one.mean[0]) for one in file])
        self._low[m:], self._high[m:] = self._low[m:] + inside, self._high[m:] - inside
        self._step = {"dt": dt, "driven": driven, "substeps": substeps, "tolerance": ROLLOUT_TOLERANCE}
        self._known: dict[bytes, _Numbered] = {}
        self._now = self._with(np.concatenate([np.zeros(0), *(one.mean for one in file)]))
        for path in self._paths:
            if robot.engine.adds_inertia:
                got = "a robot with rods whose length is a coordinate, or with concentric tubes"
                raise InputError(f"unknown.{path}", "rods of given lengths, for derivatives of steps by numbers", got)
        try:
            _ = self._now.by if self._paths else None
        except InputError as error:  # numbers without derivatives are refused
            raise InputError("unknown", error.expected, error.got, error.hint) from error
        self.free = self.steps.system.partition.free
        self.smooth = SmoothMotions(self.robot, self.free)
        self.n, self.n_strains, self.m = robot.ndof, self.steps.system.n_strains, len(self._low)
        self.at = 2 * self.n + self.n_strains  # rows of the unknowns

    @property
    def robot(self) -> Robot:
        """With its numbers of now."""
        return self._now.robot

    @property
    def steps(self) -> Any:
        """Its `DiscreteSteps`."""
        return self._now.sim._steps

    def take(self, mean: Array) -> None:
        """Have the numbers of these unknowns."""
        if self._paths:
            self._now = self._with(mean[len(self._inputs) :])
            self.smooth.robot = self.robot

    def _with(self, numbers: Array) -> _Numbered:
        key = numbers.tobytes()
        if key not in self._known:
            while len(self._known) >= KEPT:
                del self._known[next(iter(self._known))]
            values = dict(zip(self._paths, numbers.tolist(), strict=True))
            robot = self._file.with_values(values) if values else self._file
            self._known[key] = _Numbered(robot, self._paths, self._step)
        return self._known[key]

    @property
    def begins_anew(self) -> bool:
        """Whether every step does: derivatives by numbers know of no accelerations before it."""
        return bool(self._paths)

    def inputs(self, u: Array, mean: Array) -> Array:
        """Inputs of the robot by commands, with what is unknown of them."""
        out = np.zeros(self._file.engine.n_actuators)
        out[: self.n_commands] = u[: self.n_commands]
        out[self._inputs] = mean[: len(self._inputs)]
        return out

    # -- states ------------------------------------------------------------------------------------------------------

    def begin(self, q: Any, qd: Any, t: Number, u: Array, mean: Array) -> StepState:
        """The state of a start."""
        return self._now.sim.reset(q, qd, t, u=self.inputs(u, mean))

    def closed(self, belief: Belief, x: Array, root: Array) -> Belief:
        """What is known at another state: unknowns within their bounds, loops closed (ConvergenceError)."""
        n = self.n
        q, qd, strain, mean = x[:n], x[n : 2 * n], x[2 * n : self.at], np.clip(x[self.at :], self._low, self._high)
        self.take(mean)
        if self.robot.n_multipliers:
            q, _, why = close_if_possible(self.robot, q, self.free)
            if why:
                raise ConvergenceError(f"Observer: {why}", q)
            qd = closed_rates(self.robot, q, qd, self.free)
            root = self.along_loops(q, qd, root)
        state = replace(belief.state, q=q, qd=qd, strain=strain if self.n_strains else None)
        return Belief(state, mean, root)

    def along_loops(self, q: Array, qd: Array, root: Array) -> Array:
        """A root of a covariance as loops have it: where rates follow coordinates and both numbers, theirs do."""
        n, free, out = self.n, self.free, root.copy()
        by_q = np.zeros((n, root.shape[1]))
        by = self._now.by if self._paths else Sensitivities(self.robot, [])
        numbers, k = root[self.at + len(self._inputs) :], len(self._paths)
        if k:
            by_q += closed_coordinates(by, q, free) @ numbers
        by_q[free] += self.smooth.closed(q, self.smooth.scales(q), out[free] - by_q[free])
        out[free] = by_q[free]
        follow = closed_rates_by(by, q, qd, qd, free, np.hstack([np.zeros((n, k)), by_q]))
        N = solved(mass_weight(self.robot, q, free), np.eye(len(free)))
        moved = follow[:, k:] + follow[:, :k] @ numbers
        out[n + free] = self.smooth.closed(q, N, root[n + free]) + moved[free]
        return out

    def random_start(self, state: StepState, far: float, fast: float, unrelaxed: float) -> Array:
        """Root (n_x, k) of the covariance of a start that is known roughly, but for the unknowns."""
        n, q, maxwell = self.n, np.array(state.q), self.steps.system.maxwell
        self.smooth.begin(q)
        moved = self.smooth.motions(q)
        k = moved.shape[1]
        groups, own = np.unique(maxwell.time, return_inverse=True)  # terms of a series relax as one
        out = np.zeros((self.at + self.m, 2 * k + len(groups)))
        out[self.free, :k], out[n + self.free, k : 2 * k] = far * moved, fast * moved
        rows = np.arange(2 * n, self.at)
        out[rows, :k] = maxwell.start_change(out[:n, :k].T).T
        out[rows, 2 * k + own] += unrelaxed * (q - self.robot.engine.elastic.rest)[maxwell.column]
        return out

    # -- steps -------------------------------------------------------------------------------------------------------

    def move(self, before: Belief, u: Array, driven: Mapping[str, Number] | None) -> tuple[StepState, Array]:
        """The state after a step under commands, and its derivative F (n_x, n_x) with the unknowns by that before."""
        self.take(before.mean)
        sim, at, m = self._now.sim, self.at, len(self._inputs)
        if self.begins_anew:
            sim._begin_at(before.state)
        elif sim._state is not before.state:
            sim.state = before.state
        state = sim.step(self.inputs(u, before.mean), driven)
        A, B = sim._linearize_with_strains()
        F = np.eye(at + self.m)
        F[:at, :at], F[:at, at : at + m] = A, B[:, self._inputs]
        if self._paths:
            F[:at, at + m :] = sim._by_numbers(self._now.by)
        return state, F

    def disturbances(self, q: Array, motion: float, walk: Array, dt: float) -> Array:
        """Root of the covariance of what a step adds: random accelerations, and random walks.

        motion, walk : spreads of velocities and unknowns after a second.
        """
        n, free, maxwell = self.n, self.free, self.steps.system.maxwell
        kicks = motion * np.sqrt(dt) * self.smooth.motions(q)
        k = kicks.shape[1]
        out = np.zeros((self.at + self.m, k + self.m))
        out[n + free, :k], out[free, :k] = kicks, 0.5 * dt * kicks
        if self.n_strains:
            part = -np.expm1(-dt / maxwell.time) * maxwell.time / dt
            out[2 * n : self.at, :k] = part[:, None] * out[maxwell.column, :k]
        out[self.at :, k:] = np.diag(np.sqrt(dt) * walk)
        return out

    # -- readings ----------------------------------------------------------------------------------------------------

    def readings(self, y: Mapping[Any, Any]) -> ReadingErrors:
        """Errors of readings, made once for each choice of places and sensors."""
        key, made = tuple(y), self._now.readings
        if key not in made:
            noise = self._noise
            if isinstance(noise, Mapping):
                noise = {name: value for name, value in noise.items() if name in key}
            made[key] = ReadingErrors(self.robot, y, deepcopy(noise))
        else:
            made[key].set(y)
        return made[key]

    def errors(self, y: Mapping[Any, Any], belief: Belief, x: Array) -> tuple[Array, Array, ReadingErrors]:
        """Errors of readings at x over standard deviations, and their derivatives (n_rows, n_x)."""
        mean = np.clip(x[self.at :], self._low, self._high)
        self.take(mean)
        readings, n, size, m = self.readings(y), self.n, len(x), len(self._inputs)
        u = self.inputs(np.array(belief.state.u), mean)
        u_by = np.zeros((len(u), size))
        u_by[self._inputs, self.at + np.arange(m)] = 1.0
        q_by = np.zeros((n, size), order="F")
        q_by[:, :n] = np.eye(n)
        lam = np.zeros(self.robot.n_multipliers)
        state = StaticState(x[:n], u, lam, q_by, u_by, np.zeros((len(lam), size)))
        error, slopes = readings.targets.errors(state)
        error, slopes = error.copy(), slopes.copy()
        instruments = self.robot.instruments.readers
        moving = [one for one in readings.targets.channels if instruments[one[0]].by_q is None]
        if moving:
            self._moving_sensors(moving, belief, x, error, slopes)
        error, slopes = readings.weighed(error, slopes)
        if self._paths and len(moving) < len(readings.rows):
            slopes[:, self.at + m :] += readings.by_numbers(self._now.by, state, [one[0] for one in moving])
        return error, slopes, readings

    def _moving_sensors(
        self, moving: Sequence[tuple[str, slice, list[int], Array]], belief: Belief, x: Array, error: Array,
        slopes: Array,
    ) -> None:  # fmt: skip
        """Fill the rows of sensors that rest on more than coordinates; their derivatives are differences."""
        here = self._measured(belief, np.concatenate([x[: self.at], np.clip(x[self.at :], self._low, self._high)]))
        for key, rows, chosen, wanted in moving:
            error[rows] = here[key][chosen] - wanted
        first, spread = self.at + len(self._inputs), np.linalg.norm(belief.root, axis=1)
        for k in np.flatnonzero(spread > 0.0):
            h = DIFFERENCE * max(1.0 if k < first else spread[k], abs(x[k]))
            ends = np.tile(x, (2, 1))
            ends[:, k] += h, -h
            ends[:, self.at :] = np.clip(ends[:, self.at :], self._low, self._high)  # the file accepts no other ones
            more, less = (self._measured(belief, end) for end in ends)
            for key, rows, chosen, _ in moving:
                slopes[rows, k] = (more[key][chosen] - less[key][chosen]) / (ends[0, k] - ends[1, k])

    def _measured(self, belief: Belief, x: Array) -> dict[str, Array]:
        """What sensors read in a state."""
        n, state, mean = self.n, belief.state, x[self.at :]
        own = self._with(mean[len(self._inputs) :]) if self._paths else self._now
        u, q, qd, strain = self.inputs(np.array(state.u), mean), x[:n], x[n : 2 * n], x[2 * n : self.at]
        motion: dict[str, Any] = {"u": u, "t": state.t}
        path = None if state.memory is None else state.memory.path
        partition = self.steps.system.partition
        if self.n_strains:
            system = own.sim._steps.system_at(u, path)
            system.begin(state.t, there := system.state(q, qd, strain))
            motion["qdd"] = system.coordinates(state.t, there)[2]
            system.forward(task.FORWARD, state.t, q, qd, motion["qdd"], strain)
        elif len(partition.driven):
            jets = self.steps.system_at(u, path).driven.jets(state.t)
            motion["driven_qdd"] = dict(zip(partition.names, jets[:, 2].tolist(), strict=True))
        return own.robot.measure(q, qd, **motion)
