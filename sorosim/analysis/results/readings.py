"""Readings of sensors along a run: at its rows, and between them at times of their own.

Between two rows coordinates follow the quintic Hermite polynomial of q, qd and qdd at both, multipliers of loops are
those that fit its accelerations; inputs are straight lines, and those that a controller holds stay. Accelerations
at rows are those of forward dynamics.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import InputError, ModelError, PlugInError, nearest
from sorosim.base.methods import IDA, MarchMethod, kinds
from sorosim.mechanics.dynamics.constraints import least_squares_multipliers
from sorosim.mechanics.dynamics.maxwell import MaxwellElements
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.prescribed import Prescribed
from sorosim.mechanics.kernels.evaluate import Evaluation
from sorosim.mechanics.model.chart import Charts, turned_back
from sorosim.mechanics.robot import Robot
from sorosim.mechanics.sensors.state import State

Knot = tuple[Array, Array, Array]  # coordinates, rates, accelerations at a row

MAX_SAMPLES = 10_000_000
# a sample so near to a row, as a part of the spacing there, is taken at the row
ON_ROW = 1e-9
# methods that solve for multipliers themselves: no Baumgarte stabilisation of loops
SOLVE_FOR_MULTIPLIERS = kinds(MarchMethod) + kinds(IDA)


class Readings(NamedTuple):
    """Readings of one sensor."""

    t: Array  # (n,) [s]
    values: Array  # (n, n_channels)
    channels: tuple[str, ...]
    units: tuple[str, ...]

    @classmethod
    def of(cls, t: object, values: object, channels: ArrayLike, units: ArrayLike) -> Readings:
        """From what a file holds."""
        names, words = (tuple(str(entry) for entry in np.atleast_1d(x)) for x in (channels, units))
        return cls(np.asarray(t, dtype=float), np.asarray(values, dtype=float), names, words)

    def channel(self, name: str) -> Array:
        """One channel (n,) by its name."""
        if name not in self.channels:
            raise InputError("channel", "the name of a channel", f"'{name}'", nearest(str(name), self.channels))
        return self.values[:, self.channels.index(name)]


def readings_along(
    robot: Robot, t: Array, rows: tuple[Array, ...], driven: Mapping[str, object], options: Mapping[str, object],
) -> dict[str, Readings]:  # fmt: skip
    """Readings of all sensors along a run.

    Parameters
    ----------
    robot : Robot
    t : (n,) array
        Times of the rows [s].
    rows : tuple of q, qd (n, ndof), u (n, n_actuators), lam (n, n_multipliers), strain (n, n_strains)
    driven : mapping of str to signal
        Motions of the driven coordinates.
    options : mapping
        Of the run: its method, closing time and sampling.

    Returns
    -------
    dict
        Name of a sensor -> Readings. Where forward dynamics has no answer at a row, what rests on it is NaN.
    """
    instruments, readings = robot.instruments, {}
    if not instruments.sensors:
        return {}
    path = _Interpolant(robot, t, rows, driven, options)
    for rate in dict.fromkeys(sensor.rate for sensor in instruments.sensors.values()):
        group = {name: sensor for name, sensor in instruments.sensors.items() if sensor.rate == rate}
        numbers, times = sample_times(t, rate)
        readers = {name: instruments.readers[name] for name in group}
        values = {name: np.empty((len(times), len(reader.channels))) for name, reader in readers.items()}
        accelerates = any(sensor.accelerates for sensor in group.values())
        for k, time in enumerate(times):
            state = path.state(float(time), accelerates)
            for name, reader in readers.items():
                values[name][k] = reader.read(state)
        for name, sensor in group.items():
            reader = readers[name]
            add_errors = sensor.add_errors(values[name], numbers, reader, name)
            readings[name] = Readings(times, add_errors, reader.channels, reader.units)
    return {name: readings[name] for name in instruments.sensors}


def sample_times(t: Array, rate: float | None) -> tuple[IntArray, Array]:
    """Numbers and times of the samples between the first and the last of the rows t; those next to rows are on them."""
    if rate is None or not len(t):
        return np.arange(len(t), dtype=np.int64), t
    first, last = t[0] * rate, t[-1] * rate
    if last - first > MAX_SAMPLES:
        raise InputError("rate", f"at most {MAX_SAMPLES} samples", f"{last - first:.3g}", "a lower rate")
    slack = ON_ROW + 1e-15 * last
    numbers = np.arange(int(np.ceil(first - slack)), int(np.floor(last + slack)) + 1, dtype=np.int64)
    times = numbers / rate
    i = np.clip(np.searchsorted(t, times), 1, max(len(t) - 1, 1))
    before, after = t[i - 1], t[np.minimum(i, len(t) - 1)]
    near = np.where(times - before <= after - times, before, after)
    spacing = np.where(after > before, after - before, 1.0 / rate)
    return numbers, np.where(np.abs(times - near) <= ON_ROW * spacing + slack / rate, near, times)


class _Interpolant:
    """The motion of a run, interpolated between its rows."""

    def __init__(
        self, robot: Robot, t: Array, rows: tuple[Array, ...], driven: Mapping[str, Any], options: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.robot, self.t = robot, t
        self.q, self.qd, self.u, self.lam, self.strain = rows
        self.maxwell = robot.engine.companion(MaxwellElements)
        self.engine = self.maxwell.private_engine() if self.maxwell.n else robot.engine
        prescribed = Prescribed.of(robot, {}, driven)
        self.partition, self.motion = prescribed.partition, prescribed.motion
        held = [spec is None for spec in options.get("u", {}).values()]  # by a controller
        self.held = np.array(held) if options.get("dt_control") is not None else np.zeros(self.u.shape[1], dtype=bool)
        rate = 0.0 if options.get("method") in SOLVE_FOR_MULTIPLIERS else 1.0 / options.get("closing_time", np.inf)
        self.closing = np.array([2.0 * rate, rate**2, -1.0])
        if robot.n_multipliers and len(t):  # how many rows of the loops are independent, as in the run
            self.closing[2] = self._forward(0, self.q[0], self.qd[0], self.u[0]).regularity[0]
        charts = Charts(robot.engine.layout, self.partition.mask)
        directions = {own.start: P for own, P in charts.joints}
        self.changes: dict[int, list[tuple[slice, Array]]] = {}
        for own, changed in charts.changes(self.q) if len(t) > 1 else ():
            for row in changed:
                self.changes.setdefault(int(row), []).append((own, directions[own.start]))
        self.knots = lru_cache(maxsize=2)(self._knots)

    def _forward(self, row: int, q: Array, qd: Array, u: Array) -> Evaluation:
        """Forward dynamics at the time of a row."""
        t, qdd = float(self.t[row]), np.zeros(self.robot.ndof)
        if self.partition.names:
            qdd[self.partition.driven] = self.motion.jets(t)[:, 2]
        known = self.partition.mask
        self._let_pull(self.strain[row])
        return self.engine.evaluate(task.FORWARD, q, qd, qdd, u, t, known=known, closing=self.closing)

    def _let_pull(self, strain: Array) -> None:
        """Let Maxwell elements with these strains pull in the engine."""
        if self.maxwell.n:
            self.maxwell.apply(strain, self.engine)

    def accelerations(self, row: int, q: Array, qd: Array, u: Array) -> Array:
        """Accelerations (ndof,) at the time of a row."""
        try:
            qdd: Array = self._forward(row, q, qd, u).qdd
        except (ModelError, PlugInError):  # the last state of a failed run has no accelerations
            qdd = np.full(self.robot.ndof, np.nan)
        return qdd

    def _knots(self, i: int) -> tuple[Knot, Knot]:
        """Both ends of the interval from row i to the next, in the coordinates of row i."""
        q, qd = self.q[i + 1], self.qd[i + 1]
        if i + 1 in self.changes:
            q, qd = q.copy(), qd.copy()
            for own, P in self.changes[i + 1]:
                q[own], qd[own] = turned_back(P, q[own], qd[own], 1.0)
        u = np.where(self.held, self.u[i], self.u[i + 1])
        start = self.q[i], self.qd[i], self.accelerations(i, self.q[i], self.qd[i], self.u[i])
        return start, (q, qd, self.accelerations(i + 1, q, qd, u))

    def state(self, t: float, accelerates: bool) -> State:
        """The robot at a time of the run; at rows without accelerations unless `accelerates`."""
        i, sites = int(np.searchsorted(self.t, t)), self.robot.instruments.sites
        if self.t[i] == t:
            q, qd, u = self.q[i], self.qd[i], self.u[i]
            qdd = self.accelerations(i, q, qd, u) if accelerates else np.zeros(self.robot.ndof)
            return State(sites, t, q, qd, qdd, u, self.lam[i])
        i -= 1
        h = self.t[i + 1] - self.t[i]
        x = (t - self.t[i]) / h
        u = np.where(self.held, self.u[i], self.u[i] + x * (self.u[i + 1] - self.u[i]))
        knot = hermite(*self.knots(i), h, x)
        self._let_pull(self.strain[i] + x * (self.strain[i + 1] - self.strain[i]))
        multipliers = partial(least_squares_multipliers, self.engine, *knot, u, t, self.partition.free)
        return State(sites, t, *knot, u, multipliers)


def hermite(start: Knot, end: Knot, h: float, x: float) -> Knot:
    """Value and two derivatives of the quintic polynomial between two knots, at the part x of the span h."""
    (q0, v0, a0), (q1, v1, a1) = start, end
    dq, w0, w1, b0, b1 = q1 - q0, h * v0, h * v1, 0.5 * h * h * a0, 0.5 * h * h * a1
    c3 = 10.0 * dq - 6.0 * w0 - 4.0 * w1 - 3.0 * b0 + b1
    c4 = -15.0 * dq + 8.0 * w0 + 7.0 * w1 + 3.0 * b0 - 2.0 * b1
    c5 = 6.0 * dq - 3.0 * (w0 + w1) - b0 + b1
    q = q0 + x * (w0 + x * (b0 + x * (c3 + x * (c4 + x * c5))))
    v = (w0 + x * (2.0 * b0 + x * (3.0 * c3 + x * (4.0 * c4 + x * 5.0 * c5)))) / h
    a = (2.0 * b0 + x * (6.0 * c3 + x * (12.0 * c4 + x * 20.0 * c5))) / (h * h)
    return q, v, a
