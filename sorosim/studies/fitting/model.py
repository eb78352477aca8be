"""What a robot with other numbers would have shown in the place of the measurements, and exact derivatives of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from sorosim.analysis.equilibria.statics import statics
from sorosim.analysis.motion.rollout import AtRest, Rollout, rollout
from sorosim.analysis.results.result import Equilibrium
from sorosim.analysis.sensitivity import MovingFrames, Sensitivities, equilibrium_by_inputs, sensitivities
from sorosim.base.arrays import Array, Mask
from sorosim.base.errors import ConvergenceError, InputError
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.mechanics.engine.parameter import FILE
from sorosim.mechanics.robot import Robot
from sorosim.studies.fitting.measurements import BoundData
from sorosim.studies.fitting.unknowns import OFFSET, SCALE, SHIFT, Unknown

# of readings: steps of their differences, relative to a number's scale, and the formulas of fourth order
DIFFERENCE = 1e-3
_BACKWARD = (0, -1, -2, -3, -4), (25.0 / 12.0, -4.0, 3.0, -4.0 / 3.0, 0.25)
STENCILS = {
    0: ((-2, -1, 1, 2), (1.0 / 12.0, -2.0 / 3.0, 2.0 / 3.0, -1.0 / 12.0)),
    -1: _BACKWARD,
    1: (tuple(-k for k in _BACKWARD[0]), tuple(-c for c in _BACKWARD[1])),
}


class States(NamedTuple):
    """States of the robot at the rows of some measurements."""

    q: Array  # (n, ndof)
    qd: Array  # (n, ndof)
    u: Array  # (n, n_actuators), scaled
    equilibria: tuple[Equilibrium, ...]  # the rows; of a motion its start, if it begins at rest
    motion: Rollout | None


class Trial(NamedTuple):
    """A robot with trial values of the unknowns, and what it shows."""

    p: Array
    by: Sensitivities  # to the numbers of the robot's file
    states: tuple[States, ...]  # of each of the data
    rows: tuple[Array, ...]  # (n, n_outputs) at the rows' own times
    simulated: tuple[Array, ...]  # the same at the times at which they were measured

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.by.robot


class Model:
    """What is simulated in the place of the measurements.

    Parameters
    ----------
    robot : Robot
    data : sequence of BoundData
    unknowns : sequence of Unknown
    """

    def __init__(self, robot: Robot, data: Sequence[BoundData], unknowns: Sequence[Unknown]) -> None:
        self.robot, self.data, self.unknowns = robot, tuple(data), tuple(unknowns)
        self.paths = [one.target for one in unknowns if one.kind == FILE]
        self._file = [i for i, one in enumerate(unknowns) if one.kind == FILE]
        try:
            by = sensitivities(robot, self.paths)
        except InputError as error:
            raise InputError("free", error.expected, error.got, error.hint) from None
        # p, q and dq/dp of the last iterate
        self._start: list[tuple[Array, Array, Array] | None] = [None] * len(self.data)
        for bound in self.data:
            self._check_start(bound, by)
        self.valid = tuple(bound.valid & self._in_time(bound)[:, None] for bound in self.data)

    # -- the robot with trial values ---------------------------------------------------------------------------------

    def robot_at(self, p: Array) -> Robot:
        """The robot with other numbers."""
        if not self.paths:
            return self.robot
        return self.robot.with_values(dict(zip(self.paths, p[self._file].tolist(), strict=True)))

    def offsets(self, bound: BoundData, p: Array) -> Array:
        """Offsets (k, 3) of markers."""
        out = bound.offsets.copy()
        for one, value in zip(self.unknowns, p, strict=True):
            if one.kind == OFFSET and one.target in bound.markers:
                out[bound.markers.index(one.target), one.axis] = value
        return out

    def inputs(self, bound: BoundData, p: Array) -> Array:
        """Inputs (n, n_actuators), scaled."""
        out = bound.u.copy()
        for one, value in zip(self.unknowns, p, strict=True):
            if one.kind == SCALE:
                out[:, self.robot.actuator_names.index(one.target)] *= value
        return out

    def shift(self, bound: BoundData, p: Array) -> float:
        """How much later than at its own time a row was measured [s]."""
        return float(sum(value for one, value in zip(self.unknowns, p, strict=True) if self._shifts(one, bound)))

    @staticmethod
    def _shifts(one: Unknown, bound: BoundData) -> bool:
        return one.kind == SHIFT and bound.source.t is not None and one.target in ("", bound.source.name)

    # -- what it shows -----------------------------------------------------------------------------------------------

    def at(self, p: Array) -> Trial:
        """Simulate all measurements.

        Raises
        ------
        ConvergenceError
            There is no equilibrium, or a step found no solution.
        ModelError
            There is no such robot.
        """
        by = sensitivities(robot := self.robot_at(p), self.paths)
        states, outputs = [], []
        for k, bound in enumerate(self.data):
            frames = LinkFrames(robot.description, robot.engine, bound.bases)
            found = self._equilibria(k, robot, p) if bound.source.t is None else self._motion(k, by, p)
            offsets = self.offsets(bound, p)
            rows = [self._outputs(robot, bound, frames, offsets, found, i) for i in range(bound.source.n)]
            states.append(found)
            outputs.append(np.array(rows))
        shifted = [self._shifted(bound, rows, p) for bound, rows in zip(self.data, outputs, strict=True)]
        return Trial(p, by, tuple(states), tuple(outputs), tuple(shifted))

    def _equilibria(self, k: int, robot: Robot, p: Array) -> States:
        bound, u = self.data[k], self.inputs(self.data[k], p)
        found = [self._equilibrium(k, i, robot, u[i], p) for i in range(bound.source.n)]
        q = np.array([eq.q for eq in found])
        return States(q, np.zeros_like(q), u, tuple(found), None)

    def _equilibrium(self, k: int, i: int, robot: Robot, u: Array, p: Array) -> Equilibrium:
        """The equilibrium of a row, searched from where that of the last iterate is expected now."""
        bound, last = self.data[k], self._start[k]
        driven = {name: float(column[i]) for name, column in bound.driven.items()} or None
        given = None if isinstance(bound.source.q0, str) else bound.source.q0
        guesses = [given] if last is None else [last[1][i] + last[2][i] @ (p - last[0]), last[1][i]]
        for n, guess in enumerate(guesses, 1):
            try:
                return statics(robot, u, driven=driven, q0=guess)
            except ConvergenceError as error:
                if n == len(guesses):
                    row = f"row {i}" if bound.source.t is None else "the start"
                    raise ConvergenceError(f"fit, {_name(bound)}{row}: {error}", error.partial, error.report) from None
        raise AssertionError("there is a guess")

    def _motion(self, k: int, by: Sensitivities, p: Array) -> States:
        bound, u = self.data[k], self.inputs(self.data[k], p)
        at_rest = isinstance(bound.source.q0, str)
        start = self._equilibrium(k, 0, by.robot, u[0], p) if at_rest else None
        motion = self._rollout(bound, by, u, bound.source.q0 if start is None else AtRest(start))
        return States(motion.q, motion.qd, u, () if start is None else (start,), motion)

    @staticmethod
    def _rollout(bound: BoundData, by: Sensitivities, u: Array, q0: object) -> Rollout:
        source, t = bound.source, bound.source.t
        assert t is not None
        driven = {
            name: {"times": t, "values": column, "interpolation": "cubic"} for name, column in bound.driven.items()
        }
        qd0 = np.zeros(by.robot.ndof) if source.qd0 is None else source.qd0
        return rollout(
            by.robot, u[:-1], source.dt, q0, qd0, float(t[0]), by, substeps=source.substeps, driven=driven or None
        )

    def _outputs(
        self, robot: Robot, bound: BoundData, frames: LinkFrames, offsets: Array, states: States, i: int
    ) -> Array:
        """Positions of markers and readings of sensors at a row."""
        g = frames.poses(states.q[i])
        places = np.einsum("kij,kj->ki", g[:, :3, :3], offsets) + g[:, :3, 3]
        readings = (
            self._read(robot, bound, i, states.q[i], states.qd[i], states.u[i]) if bound.channels else np.zeros(0)
        )
        return np.concatenate([places.ravel(), readings])

    def _read(self, robot: Robot, bound: BoundData, i: int, q: Array, qd: Array, u: Array) -> Array:
        t = bound.source.t
        if t is None:
            found = robot.measure(q, None, u=u, qdd=np.zeros_like(q))
        else:
            rates = {name: float(CubicSpline(t, column)(t[i], 2)) for name, column in bound.driven.items()}
            found = robot.measure(q, qd, u=u, t=float(t[i]), driven_qdd=rates or None)
        return np.concatenate([found[name][own] for name, own in bound.channels.items()])

    def _shifted(self, bound: BoundData, rows: Array, p: Array, order: int = 0) -> Array:
        """Rows at the times at which they were measured, which the spline through them leads to."""
        t = bound.source.t
        if t is None or not self.shift_of(bound):
            return rows
        return np.asarray(CubicSpline(t, rows)(t + self.shift(bound, p), order))

    # -- derivatives -------------------------------------------------------------------------------------------------

    def jacobian(self, trial: Trial) -> tuple[Array, ...]:
        """Derivatives (n, n_outputs, n_unknowns) of what a trial shows; the next trials are searched from this one."""
        out = []
        for k, (bound, states) in enumerate(zip(self.data, trial.states, strict=True)):
            q_by = self._start_by(states, bound, trial.by)
            self._start[k] = trial.p, np.array([eq.q for eq in states.equilibria]), q_by
            qd_by = np.zeros_like(q_by)
            if states.motion is not None:
                q_by, qd_by = self._motion_by(bound, states)
            rows = np.zeros((*bound.values.shape, len(self.unknowns)))
            n_places = 3 * len(bound.markers)
            rows[:, :n_places] = self._places_by(trial, bound, states, q_by)
            if bound.channels:
                rows[:, n_places:] = self._readings_by(trial, bound, states, q_by, qd_by)
            rows = self._shifted(bound, rows, trial.p)
            for i in self.shift_of(bound):
                rows[:, :, i] = self._shifted(bound, trial.rows[k], trial.p, 1)
            out.append(rows)
        return tuple(out)

    def shift_of(self, bound: BoundData) -> list[int]:
        """Which unknowns shift the time of some measurements."""
        return [i for i, one in enumerate(self.unknowns) if self._shifts(one, bound)]

    def _start_by(self, states: States, bound: BoundData, by: Sensitivities) -> Array:
        """Derivatives (n_equilibria, ndof, n_unknowns) of the equilibria of some measurements."""
        out = np.zeros((len(states.equilibria), self.robot.ndof, len(self.unknowns)))
        scaled = [i for i, one in enumerate(self.unknowns) if one.kind == SCALE]
        for row, eq in enumerate(states.equilibria):
            try:
                if self.paths:
                    out[row][:, self._file] = by.equilibrium(eq).q
                columns = equilibrium_by_inputs(eq) if scaled else np.zeros(0)
            except InputError as error:
                raise InputError(f"{_name(bound)}row {row}", error.expected, error.got, error.hint) from None
            for i in scaled:
                a = self.robot.actuator_names.index(self.unknowns[i].target)
                out[row][:, i] = columns[:, a] * bound.u[row, a]
        return out

    def _motion_by(self, bound: BoundData, states: States) -> tuple[Array, Array]:
        """Derivatives (n, ndof, n_unknowns) of coordinates and rates along a motion."""
        n, size, motion = bound.source.n, len(self.unknowns), states.motion
        assert motion is not None
        q_by, qd_by = (np.zeros((n, self.robot.ndof, size)) for _ in range(2))
        moving = [i for i, one in enumerate(self.unknowns) if one.kind in (FILE, SCALE)]
        numbers, u_dot = np.zeros((len(moving), len(self._file))), np.zeros((len(moving), *motion.u.shape))
        for row, i in enumerate(moving):
            one = self.unknowns[i]
            if one.kind == FILE:
                numbers[row] = np.array(self._file) == i
            else:
                a = self.robot.actuator_names.index(one.target)
                u_dot[row, :, a] = bound.u[:-1, a]
        if moving:
            tangents = motion.jvp(u_dot, numbers=numbers)
            q_by[:, :, moving], qd_by[:, :, moving] = (np.moveaxis(part, 0, -1) for part in tangents)
        return q_by, qd_by

    def _places_by(self, trial: Trial, bound: BoundData, states: States, q_by: Array) -> Array:
        """Derivatives (n, 3 k, n_unknowns) of the positions of markers."""
        n, k, size = bound.source.n, len(bound.markers), len(self.unknowns)
        out, offsets = np.zeros((n, k, 3, size)), self.offsets(bound, trial.p)
        frames = LinkFrames(trial.robot.description, trial.robot.engine, bound.bases)
        moving = MovingFrames(trial.by, frames)
        for row in range(n) if k else ():
            g, J = frames.jacobians(states.q[row])
            V = J @ q_by[row]
            V[:, :, self._file] += moving.twists(states.q[row])
            turned = np.cross(V[:, :3], offsets[:, :, None], axis=1)
            out[row] = np.einsum("kab,kbi->kai", g[:, :3, :3], V[:, 3:] + turned)
            for i, one in enumerate(self.unknowns):
                if one.kind == OFFSET and one.target in bound.markers:
                    m = bound.markers.index(one.target)
                    out[row, m, :, i] = g[m, :3, one.axis]
        return out.reshape(n, 3 * k, size)

    def _readings_by(self, trial: Trial, bound: BoundData, states: States, q_by: Array, qd_by: Array) -> Array:
        """Derivatives (n, n_channels, n_unknowns) of readings: differences along the exact change of the states."""
        n = bound.source.n
        out = np.zeros((n, len(bound.names) - 3 * len(bound.markers), len(self.unknowns)))
        for i, one in enumerate(self.unknowns):
            if one.kind not in (FILE, SCALE):
                continue
            h = DIFFERENCE * (abs(trial.p[i]) if one.logarithm else one.scale)
            side = -1 if trial.p[i] + 2.0 * h > one.high else 1 if trial.p[i] - 2.0 * h < one.low else 0
            u_by = np.zeros_like(states.u)
            if one.kind == SCALE:
                a = self.robot.actuator_names.index(one.target)
                u_by[:, a] = bound.u[:, a]
            for step, factor in zip(*STENCILS[side], strict=True):
                d, p = step * h, trial.p.copy()
                p[i] += d
                robot = self.robot_at(p)
                for row in range(n):
                    q, qd = states.q[row] + d * q_by[row][:, i], states.qd[row] + d * qd_by[row][:, i]
                    out[row, :, i] += factor / h * self._read(robot, bound, row, q, qd, states.u[row] + d * u_by[row])
        return out

    # -- checks at the begin -----------------------------------------------------------------------------------------

    def _check_start(self, bound: BoundData, by: Sensitivities) -> None:
        """Refuse a start whose loops open with the numbers."""
        source, robot = bound.source, self.robot
        if source.t is None:
            return
        if not isinstance(source.q0, str) and robot.n_multipliers:
            zero, lam, q0 = np.zeros(robot.ndof), np.zeros(robot.n_multipliers), robot.coordinates(source.q0, "q0")
            for path, engine in zip(by.names, by.engines, strict=True):
                if engine.vary(q0, zero, zero, bound.u[0], 0.0, lam).error.any():
                    raise InputError("q0", "'equilibrium', whose loops stay closed", f"coordinates, and '{path}' free")

    def _in_time(self, bound: BoundData) -> Mask:
        """Which rows (n,) are within the simulated motion for any shift of time between the bounds."""
        t, shifts = bound.source.t, [self.unknowns[i] for i in self.shift_of(bound)]
        if t is None or not shifts:
            return np.ones(bound.source.n, dtype=bool)
        low, high = sum(one.low for one in shifts), sum(one.high for one in shifts)
        out = np.asarray((t + low >= t[0]) & (t + high <= t[-1]))
        if not out.any():
            raise InputError(f"bounds.{shifts[0].name}", "a shift shorter than the motion", f"{low:g} to {high:g} s")
        return out


def _name(bound: BoundData) -> str:
    return f"{bound.source.name}, " if bound.source.name else ""
