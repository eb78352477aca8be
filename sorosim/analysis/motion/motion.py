"""Intervals of held inputs, one after the other: what a Stepper and a Rollout move by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from sorosim.analysis.equations.failure import diagnose_motion
from sorosim.analysis.motion.discrete_steps import DiscreteSteps
from sorosim.analysis.motion.march import DONE, STEPS_AT_ONCE
from sorosim.analysis.motion.simulate import StartingState, starting_state
from sorosim.analysis.results.result import InitialState
from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import ConvergenceError, InputError
from sorosim.base.signals import ConstantSignal, Signal
from sorosim.base.signals.edges import rough_time
from sorosim.base.validation import Values
from sorosim.mechanics.kernels import march as codes
from sorosim.mechanics.kernels.march import March, Rows
from sorosim.mechanics.model.chart import FARTHEST, Charts

# of coordinates, by which changes of rotations are differentiated
DIFFERENCE = 1e-3
# motions of driven coordinates are looked at ahead: intervals at once, and samples in these
WINDOW, SAMPLES = 100, 1000
# part of an interval by which ends of intervals differ by rounding
SAME_TIME = 1e-6


@dataclass(frozen=True, eq=False)
class ChartChange:
    """Rotations of a state (2, ndof) that change for those of the same pose a turn away."""

    charts: Charts
    before: Array

    @cached_property
    def jacobian(self) -> Array:
        """Derivative (2 ndof, 2 ndof) of coordinates and rates, by differences of fourth order."""
        x, ndof = self.before, self.before.shape[1]
        after, out = self.charts.recharted(*x)[0], np.eye(2 * ndof)
        joints = [own for own, _ in self.charts.joints if (after[own] != x[0, own]).any()]
        changed = np.concatenate([np.arange(own.start, own.stop) for own in joints])

        def moved(direction: Array, step: float) -> Array:
            return np.concatenate(self.charts.recharted(*(x + step * direction.reshape(2, ndof))))

        for k in (*changed, *(ndof + changed)):
            d = np.zeros(2 * ndof)
            d[k] = 1.0
            near, far = ((moved(d, h) - moved(d, -h)) / (2.0 * h) for h in (DIFFERENCE, 2.0 * DIFFERENCE))
            out[:, k] = (4.0 * near - far) / 3.0
        return out

    def push(self, tangents: Array) -> Array:
        """Tangents (2, ndof, K) after by those before."""
        return (self.jacobian @ tangents.reshape(len(self.jacobian), -1)).reshape(tangents.shape)

    def pull(self, cotangents: Array) -> Array:
        """Cotangents (2, ndof) before by those after."""
        return (cotangents.ravel() @ self.jacobian).reshape(cotangents.shape)


class Segment(NamedTuple):
    """Intervals first to last of some that were moved over, in one chart of rotations."""

    first: int
    last: int
    rows: Rows
    ends: IntArray  # (last - first + 1,) rows at which intervals begin and end
    change: ChartChange | None  # of the last state of the segment before, to its first one


class SteppedMotion:
    """A march of one robot under way.

    Attributes
    ----------
    march : March
    start, count : float, int
        Time at which it began [s], and how many intervals it has moved since.
    refined : int
        How many intervals needed smaller steps.
    """

    def __init__(self, steps: DiscreteSteps, what: str = "a step") -> None:
        """what : a step in messages."""
        self.steps, self.what, self.march = steps, what, steps.record()
        self.start, self.count, self.refined = 0.0, 0, 0

    def __getstate__(self) -> dict[str, Any]:  # arrays of a march are views of each other, which copies would part
        return vars(self) | {"march": self.march.memory.copy()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, march=state["steps"].record())
        self.march.memory[:] = state["march"]

    def begin(
        self, q: InitialState | None, qd: Values | None, t: float, u: Array, path: Array | None = None,
        names: tuple[str, str] = ("q", "qd"), strain: Array | None = None,
    ) -> StartingState:  # fmt: skip
        """Begin anew at a start, which errors call by these names; returns the start.

        path : of driven coordinates that were sent on; strain : of Maxwell elements. Default: that with which motions
        begin.
        """
        start = starting_state(self.steps.robot, self.steps.system_at(u, path), q, qd, t, names)
        self.begin_at(start.q, start.qd, t, u, path, strain)
        return start

    def begin_at(
        self, q: Array, qd: Array, t: float, u: Array, path: Array | None = None, strain: Array | None = None
    ) -> None:
        """Begin anew at a state."""
        march, system = self.march, self.steps.system_at(u, path)
        strain = system.maxwell.start(q) if strain is None else strain
        system.begin(t, x := system.state(q, qd, strain))
        self.steps.start(march, t, q, qd, system.coordinates(t, x)[2], strain)
        march.path[:] = 0.0 if path is None else path
        march.number["contraction"] = 0.0
        for name, value in {"fresh": 1, "row": 1, "steps_left": 1, "factored": 0, "phase": 0}.items():
            march.counts[name] = value
        march.begin.closing[2] = system.closing[2]
        march.begin.u[:] = u
        self.start, self.count = t, 0

    def rechart(self) -> ChartChange | None:
        """Change rotations beyond their limit for those of the same pose a turn away: a new start; None: none is."""
        charts, march = self.steps.system.charts, self.march
        if not charts.joints or charts.largest_angle(march.state.q) <= FARTHEST:
            return None
        change = ChartChange(charts, np.stack([march.state.q, march.state.qd]))
        march.state.q[:], march.state.qd[:] = charts.recharted(*change.before)
        march.counts["fresh"], march.counts["factored"] = 1, 0
        return change

    def prepare(self, rows: Rows, n: int) -> None:
        """Let the next n intervals fill rows."""
        if self.steps.varies and n:
            self.check_motions(n)
        rows.t[:] = self.steps.times(self.start, n, self.count)
        self._fill(rows)

    def check_motions(self, n: int) -> None:
        """Refuse motions of driven coordinates whose rates jump in the next n intervals, as `simulate` does."""
        steps, march, dt = self.steps, self.march, self.steps.dt
        signals = zip(steps.driven_names, steps.system.driven.signals, march.path[:, 0].tolist(), strict=True)
        moving = {name: one for name, one, sent in signals if not (sent or isinstance(one, ConstantSignal))}
        if not moving:
            return
        window, near = WINDOW * dt, SAME_TIME * dt  # a jump may lie where windows meet
        t = float(march.number["time"])
        begin, end = t + (near if march.counts["fresh"] else -near), t + n * dt - near
        for k in range(math.floor(begin / window), math.floor(end / window) + 1):
            key, last = (k, *moving), (k + 1) * window + near
            if key not in steps.rough:
                steps.rough[key] = _first_rough(moving, k * window - (near if k else 0.0), last)
            found = steps.rough[key]
            if found is not None and found[2] < begin:
                found = _first_rough(moving, begin, last)
            if found is not None and found[2] < end:
                got, hint = f"{found[1]} at t = {found[2]:.6g} s", "smoothstep(x) rises smoothly from 0 at 0 to 1 at 1"
                raise InputError(f"driven.{found[0]}", "a motion with a continuous rate", got, hint)

    def _fill(self, rows: Rows, first: int = 0) -> Rows:
        """What comes next fills these rows from one of them on."""
        self.march.counts["row"] = self.march.counts["steps_left"] = 1
        return rows if first == 0 else _between(rows, first * self.steps.substeps, None)

    def move(
        self, rows: Rows, u: Array, stop: Event | None = None, before: Array | None = None
    ) -> tuple[list[Segment], ConvergenceError | None]:
        """Move over intervals under inputs (N, n_actuators), after `prepare`.

        Parameters
        ----------
        stop : Event, optional
            Set where the motion is not wanted any more.
        before : array, optional
            Memory of the march before the first interval, whose path may be another one; to be had where it is None.

        Returns
        -------
        segments : list of Segment
        error : ConvergenceError or None
            Why the motion ends before the last interval.
        """
        n, at, error, change = len(u), 0, None, None
        segments: list[Segment] = []
        while at < n and error is None:
            if segments:
                change = self.rechart()
            segment, error = self._segment(rows, u, at, change, stop, before)
            segments.append(segment)
            at, before = segment.last, None
        self.count += at
        return segments, error

    def _segment(
        self, rows: Rows, u: Array, first: int, change: ChartChange | None, stop: Event | None, before: Array | None
    ) -> tuple[Segment, ConvergenceError | None]:
        """Intervals from `first` on, to the end or where rotations are to be changed, and why it ends before."""
        steps, march, n, s = self.steps, self.march, len(u), self.steps.substeps
        base, last, error, charts = first, first, None, steps.system.charts
        parts: list[tuple[Rows, int]] = []  # rows of intervals that follow each other, and steps of each
        longest = 1 if charts.joints else STEPS_AT_ONCE  # charts change at ends of intervals
        own, at_once = self._fill(rows, first) if first else rows, longest
        while True:
            if stop is not None and stop.is_set():
                raise KeyboardInterrupt
            end = min(last + at_once, n)
            before = march.memory.copy() if before is None else before
            code = steps.advance(march, own, u[base:end])
            finer = None
            if code not in DONE:  # the interval that failed
                end = base + (int(march.counts["row"]) - 1) // s
                finer = self._in_smaller_steps(before, own, u, base, last, end)
                at_once = 1
            last, error = self._check_turns(own, base, last, end, s)
            if error is not None:
                break
            at_once = min(2 * at_once, longest)
            if finer is not None:
                smaller, m = finer
                parts += [(_between(own, 0, (last - base) * s + 1), s), finer]
                end, error = self._check_turns(smaller, last, last, last + 1, m)
                if error is not None:
                    parts.pop()
                self.refined += end - last
                base = last = end
                own = self._fill(rows, base)
            elif code not in DONE:
                error = self.failure(code)
            before = None
            if last == n or error is not None or (charts.joints and charts.largest_angle(march.state.q) > FARTHEST):
                break
        parts.append((_between(own, 0, (last - base) * s + 1), s))
        own, ends = _joined(parts)
        if (first, last) != (0, n):  # the next segment begins in the last of these rows
            own = Rows._make(part.copy() for part in own)
        return Segment(first, last, own, ends, change), error

    def _in_smaller_steps(
        self, before: Array, rows: Rows, u: Array, base: int, last: int, failed: int
    ) -> tuple[Rows, int] | None:
        """Rows of the interval that failed in smaller steps, and how many these are.

        before: memory of the march before the interval `last`; rows: those of intervals from `base` on. None where all
        fail: the march stays where it failed.
        """
        steps, march = self.steps, self.march
        first, gaps, path = march.memory.copy(), march.out.closure.error.copy(), march.path.copy()
        march.memory[:] = before
        march.path[:] = path
        if failed > last:
            steps.advance(march, rows, u[base:failed])
        before = march.memory.copy()
        substeps = steps.substeps
        while substeps < codes.MOST_CUTS * steps.substeps:
            march.memory[:] = before
            substeps *= 2
            steps.set_step(march, substeps)
            own = steps.rows(1, substeps)
            own.t[:] = steps.times(self.start, 1, self.count + failed, substeps)
            code = steps.advance(march, self._fill(own), u[failed : failed + 1], substeps)
            steps.set_step(march)
            if code in DONE:
                return own, substeps
        march.memory[:], march.out.closure.error[:] = first, gaps
        return None

    def _check_turns(
        self, rows: Rows, base: int, first: int, last: int, substeps: int
    ) -> tuple[int, ConvergenceError | None]:
        """The interval up to which no joint comes to a whole turn, and the error where one does."""
        begin, guard = (first - base) * substeps, self.steps.system.chart_limit
        met = guard.first_met(rows.q[begin : (last - base) * substeps + 1]) if guard.joints else None
        if met is None:
            return last, None
        row, kind = begin + met[0], self.steps.engine.layout.links[met[1]].link.joint.kind
        return base + (row - 1) // substeps, ConvergenceError(
            f"{self.what} of '{self.steps.robot.name}' at t = {rows.t[row]:.6g} s: the {kind} joint of '{met[1]}' "
            "comes to a whole turn, where its coordinates are singular"
        )

    def failure(self, code: int, *, refined: bool = True) -> ConvergenceError:
        """What a step that failed says; refined: whether smaller ones failed too."""
        steps, march = self.steps, self.march
        (t, _), h = (last := steps.last(march)), float(march.number["step"])
        system, tolerance = steps.system_at(march.end.u, march.path), steps.tolerance
        report = diagnose_motion(system, last, h, steps.trial(march), None, (tolerance, tolerance))
        smaller = f"; so do steps down to {h / codes.MOST_CUTS:.3g} s" if refined else ""
        advice = f"{report.advice}; or " if report.advice else ""
        return ConvergenceError(
            f"{self.what} of '{steps.robot.name}' at t = {t:.6g} s: {steps.why(march, code)}{report.words}"
            f"{smaller}; {advice}more substeps than {steps.substeps} of {h:.3g} s, or `simulate`, "
            "whose steps follow its tolerance",
            None,
            report,
        )

    def measure(self) -> dict[str, Array]:
        """What all sensors read in the state, as `Robot.measure`."""
        march, system = self.march, self.steps.system
        q, partition = march.state.q.copy(), system.partition
        motion: dict[str, Any] = {"u": march.begin.u.copy(), "t": float(march.number["time"])}
        if not march.counts["fresh"]:
            multiplier = march.multiplier.now.copy()
            if march.counts["rank"] < len(multiplier):
                multiplier = system.smallest(q, multiplier)
            motion |= {"qdd": march.state.qdd.copy(), "lam": multiplier}
        elif len(partition.driven):
            rates = map(float, march.state.qdd[partition.driven])
            motion["driven_qdd"] = dict(zip(partition.names, rates, strict=True))
        return self.steps.robot.measure(q, march.state.qd.copy(), **motion)

    @property
    def rank(self) -> float:
        """How many rows of loops were independent at the start."""
        return float(self.march.begin.closing[2])


class Derivatives:
    """The passes of kernels.discrete_steps over rows of steps, on a march of their own; for one thread at a time."""

    def __init__(self, steps: DiscreteSteps) -> None:
        self.steps = steps
        self._march: March | None = None

    def __reduce__(self) -> tuple[type[Derivatives], tuple[DiscreteSteps]]:  # arrays are made anew
        return Derivatives, (self.steps,)

    def __call__(
        self, kernel: Any, rank: float, rows: Rows, inputs: Array, ends: IntArray, *arguments: Any,
        path: Array | None = None,
    ) -> None:  # fmt: skip
        """One of the passes; rank: of loops at the start, `ends`: rows at which intervals begin and end."""
        steps, engine = self.steps, self.steps.engine
        if steps.in_python:
            raise InputError("derivatives of steps", "loads and actuators that are compiled",
                             f"some of '{steps.robot.name}' that Python computes")  # fmt: skip
        if self._march is None:
            self._march = steps.record()
        march = self._march
        march.begin.closing[2] = rank
        if path is not None:
            march.path[:] = path
        call = (steps.model, march, engine.workspace, rows, inputs, ends, steps.dt, *arguments)
        if not engine.prepared(kernel, call)(*call):
            raise singular_step(steps)


def singular_step(steps: DiscreteSteps) -> ConvergenceError:
    """What derivatives of steps say where a step cannot be solved."""
    return ConvergenceError(f"derivatives of steps of '{steps.robot.name}': a step has a singular matrix")


def _between(rows: Rows, first: int, last: int | None) -> Rows:
    if first == 0 and last == len(rows.t):
        return rows
    return Rows._make(part[first:last] for part in rows)


def _joined(parts: Sequence[tuple[Rows, int]]) -> tuple[Rows, IntArray]:
    """Rows of intervals that follow each other as one, and the rows at which intervals begin and end.

    parts: rows, each with that at which it begins, and the steps of each of its intervals.
    """
    if len(parts) == 1:
        ((rows, n),) = parts
        return rows, np.arange(0, len(rows.t), n)
    steps = np.concatenate([np.full((len(rows.t) - 1) // n, n) for rows, n in parts])
    ends = np.concatenate([[0], np.cumsum(steps)]).astype(int)
    tables = zip(*(rows for rows, _ in parts), strict=True)
    return Rows._make(
        np.concatenate([one[:1], *(part[1:] for part in (one, *others))]) for one, *others in tables
    ), ends


def _first_rough(signals: Mapping[str, Signal], begin: float, end: float) -> tuple[str, str, float] | None:
    """The first time between two at which a signal is not smooth: its name, what is wrong, and when."""
    times = np.linspace(begin, end, SAMPLES)
    found = [(name, *rough) for name, one in signals.items() if (rough := rough_time(one, times))]
    return min(found, key=lambda one: one[2], default=None)
