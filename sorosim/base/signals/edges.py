"""Discontinuities of signals: where they begin or stop changing, jump, or have rates that jump.

Integrators judge a step by what they meet in it. A robot at rest gives them no reason for a short one, and a motion
that begins later is stepped over; so they start anew at its beginning.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sorosim.base.arrays import Array, IntArray
from sorosim.base.signals.evaluation import evaluate_signals_many, signal_workspace
from sorosim.base.signals.signal import CallableSignal, ConstantSignal, Signal, TableSignal, compile_signals

# spacing of samples of signals [s], finer where results come more often, but no more than so often between two results
CELL, MOST_CELLS_A_ROW = 0.01, 100
CHUNK, MAX_CELLS = 50_000, 2_000_000
MAX_EDGES, MAX_EDGES_A_CELL = 10_000, 8
# parts of values and of rates that jumps must exceed: less is rounding, or the error of smooth tables
VALUE_JUMP, RATE_JUMP, TABLE_JUMP, EXACT = 1e-6, 1e-4, 1e-3, 1e-9
# times nearer to each other than this part of the spacing of results are one
SAME_TIME = 1e-9


class Edges:
    """Times at which integrators start anew because of signals.

    Parameters
    ----------
    discontinuities : (n,) array
        Times of discontinuities, each the first number after one.
    other_times : (m,) array
        Increasing times of other restarts and rows; a discontinuity next to one is moved onto it.
    dt_out : float
        Spacing of results [s].
    """

    def __init__(self, discontinuities: Array, other_times: Array, dt_out: float) -> None:
        groups: list[list[float]] = []
        for t in map(float, np.unique(discontinuities)):
            if groups and t - groups[-1][-1] <= _same(t, dt_out):
                groups[-1].append(t)
            else:
                groups.append([t])
        self._first, self._last = np.array([g[0] for g in groups]), np.array([g[-1] for g in groups])
        self.times = self._last.copy()  # increasing
        for i, t in enumerate(self._last if len(other_times) else ()):
            k = int(np.searchsorted(other_times, t))
            near = min(other_times[max(k - 1, 0) : k + 1], key=lambda mark: abs(mark - t))
            if abs(near - t) <= _same(t, dt_out):
                self.times[i] = near

    def window(self, t: float) -> tuple[float, float]:
        """First and last time at which signals are as they are from t to the next change.

        Steps that end at a change or begin there must not see the other side of it.
        """
        k = int(np.searchsorted(self.times, t, side="right"))
        low = float(self._last[k - 1]) if k else -math.inf
        return low, math.nextafter(float(self._first[k]), -math.inf) if k < len(self._first) else math.inf


def _same(t: float, dt_out: float) -> float:
    return max(SAME_TIME * dt_out, 16.0 * math.ulp(t))


def edges(signals: Sequence[Signal], t_end: float, dt_out: float) -> Array:
    """Times in (0, t_end) at which some signal begins to move, comes to rest or jumps; what the end is does not matter.

    They are found to the last digit. Changes that undo each other between two samples (CELL) are missed, nor anything
    of Python functions.
    """
    cell = dt_out / min(MOST_CELLS_A_ROW, math.ceil(dt_out / CELL))
    n = min(math.ceil(t_end / cell), MAX_CELLS)
    discontinuities: list[float] = []
    for signal in signals:
        if isinstance(signal, TableSignal):
            discontinuities += _edges_of_table(signal)[:MAX_EDGES]
        elif not isinstance(signal, ConstantSignal | CallableSignal):
            looked, own = _SignalProbe(signal), []
            for first in range(0, n, CHUNK):
                own += looked.edges(cell * np.arange(first, min(first + CHUNK, n) + 1, dtype=float))
                if len(own) >= MAX_EDGES:
                    break
            discontinuities += own
    times = np.unique(np.array(discontinuities, dtype=float))
    return np.asarray(times[(times > SAME_TIME * dt_out) & (times < t_end)][:MAX_EDGES])


def _edges_of_table(table: TableSignal) -> list[float]:
    # before the first time and after the last one it is at rest
    still = np.concatenate([[True], ~table.coefficients[:, 1:].any(axis=1), [True]])
    times = table.breaks.copy()
    times[-1] = np.nextafter(times[-1], np.inf)  # the last time still belongs to the piece before
    return [float(t) for t in times[still[1:] != still[:-1]]]


def rough_time(signal: Signal, times: Array) -> tuple[str, float] | None:
    """Why a signal is not smooth enough for a motion between the first and the last of times (n,), and when; else None.

    Of tables that is exact. Expressions are sampled between the times, too, wherever their rates do not explain how
    their values change, or their accelerations how their rates do.
    """
    if isinstance(signal, TableSignal):
        t = _rate_jump_of_table(signal, float(times[0]), float(times[-1]))
        return None if t is None else ("a rate that jumps", t)
    if isinstance(signal, ConstantSignal | CallableSignal):
        return None
    looked = _SignalProbe(signal)
    jets = looked.jets(times)
    finite = np.isfinite(jets)
    if not finite.all():
        k = int(np.argmin(finite.all(axis=1)))
        what = ("value", "rate", "acceleration")[int(np.argmin(finite[k]))]
        return f"no finite {what}", float(times[k])
    value, rate, bend = (float(np.abs(jets[:, i] - (jets[0, 0] if i == 0 else 0.0)).max()) for i in range(3))
    jumps = looked.jumps(times, jets, 0, VALUE_JUMP, value)
    if len(jumps):
        return "a value that jumps", float(jumps.min())
    span = float(times[-1] - times[0])
    rounding = EXACT * (float(np.abs(jets[:, 0]).max()) / span + bend * span)
    jumps = looked.jumps(times, jets, 1, RATE_JUMP, max(rate, rounding))
    if not len(jumps):
        return None
    first = float(jumps.min())
    return "a rate that jumps", first if first > np.finfo(float).tiny else 0.0  # zero is unlike the number next to it


def _rate_jump_of_table(table: TableSignal, begin: float, end: float) -> float | None:
    c, h = table.coefficients, np.diff(table.breaks)
    before = np.concatenate([[0.0], c[:, 1] + h * (2.0 * c[:, 2] + 3.0 * h * c[:, 3])])
    after = np.concatenate([c[:, 1], [0.0]])
    share = EXACT if table.interpolation == "linear" and not table.rounding else TABLE_JUMP
    jumps = np.abs(after - before) > share * np.maximum(np.abs(before), np.abs(after)).max()
    discontinuities = table.breaks[jumps & (table.breaks > begin) & (table.breaks < end)]
    return float(discontinuities[0]) if len(discontinuities) else None


class _SignalProbe:
    """Samples a compiled signal and locates its discontinuities."""

    def __init__(self, signal: Signal) -> None:
        self.arrays, _ = compile_signals([signal])
        self.workspace = signal_workspace(self.arrays)

    def jets(self, times: Array) -> Array:
        """Values and two derivatives (n, 3)."""
        out = np.empty((len(times), 1, 3))
        with np.errstate(all="ignore"):
            evaluate_signals_many(self.arrays, times, out, self.workspace)
        return out[:, 0]

    def edges(self, times: Array) -> list[float]:
        """Where it begins to move, comes to rest or jumps between the first and the last time."""
        jets = self.jets(times)
        still = (jets[:, 1] == 0.0) & (jets[:, 2] == 0.0)
        values = np.where(still, jets[:, 0], np.nan)
        changed = (still[1:] != still[:-1]) | (still[1:] & (values[1:] != values[:-1]))
        discontinuities: list[float] = []
        for k in np.flatnonzero(changed)[:MAX_EDGES]:
            discontinuities += self.changes(float(times[k]), float(times[k + 1]))
        finite = np.asarray(np.isfinite(jets).all(axis=1))
        moving = np.flatnonzero(~(still[1:] | still[:-1]) & finite[1:] & finite[:-1])
        scale = np.diff(times) * (np.abs(jets[1:, 1]) + np.abs(jets[:-1, 1]))
        jumps = self.jumps(times, jets, 0, VALUE_JUMP, scale, moving)
        return sorted([*discontinuities, *map(float, jumps)])

    def rest(self, t: float) -> float | None:
        """Value where it rests; None where it moves."""
        value, rate, acceleration = self.jets(np.array([t]))[0]
        return float(value) if rate == 0.0 and acceleration == 0.0 else None

    def changes(self, begin: float, end: float) -> list[float]:
        """Where it begins to move or comes to rest from one time to another, at which it is not alike."""
        discontinuities: list[float] = []
        now, later = self.rest(begin), self.rest(end)
        while now != later and len(discontinuities) < MAX_EDGES_A_CELL:
            low, high = begin, end
            while low < (middle := 0.5 * (low + high)) < high:
                low, high = (middle, high) if self.rest(middle) == now else (low, middle)
            discontinuities.append(high)
            begin, now = high, self.rest(high)
        return discontinuities

    def jumps(
        self, times: Array, jets: Array, order: int, share: float, scale: float | Array,
        cells: IntArray | None = None,
    ) -> Array:  # fmt: skip
        """Where a derivative of some order jumps, by more than a share of its size and of a scale.

        In cells between neighbouring times, by default all: where Simpson's rule for the next derivative does not give
        the difference, the cell is halved; what then is left at neighbouring numbers is a jump.
        """
        with np.errstate(all="ignore"):
            cells = np.arange(len(times) - 1) if cells is None else cells
            a, b, begin, end = times[cells], times[cells + 1], jets[cells], jets[cells + 1]
            floor = np.broadcast_to(scale, len(times) - 1)[cells]
            discontinuities = [np.zeros(0)]
            while len(a):
                middle = 0.5 * (a + b)
                between = self.jets(middle)
                rise = (b - a) / 6.0 * (begin + 4.0 * between + end)[:, order + 1]
                missing = np.abs(end[:, order] - begin[:, order] - rise)
                size = np.abs(begin[:, order]) + np.abs(end[:, order])
                rough = ~(missing <= share * (size + floor))  # or no number
                narrow = (middle <= a) | (middle >= b)
                discontinuities.append(b[rough & narrow])
                halved = np.flatnonzero(rough & ~narrow)
                if len(halved) > CHUNK:
                    halved = halved[np.argsort(-missing[halved], kind="stable")[:CHUNK]]
                a, b = np.concatenate([a[halved], middle[halved]]), np.concatenate([middle[halved], b[halved]])
                begin, end = (
                    np.concatenate([begin[halved], between[halved]]),
                    np.concatenate([between[halved], end[halved]]),
                )
                floor = np.concatenate([floor[halved], floor[halved]])
        return np.concatenate(discontinuities)
