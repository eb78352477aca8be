"""Integrals of powers along an integration, by the integrator's own steps.

Over a step the integral is that of the polynomial through the powers at its ends and at up to three further times: the
stages inside the step of Radau's method (its own quadrature, of order 5), or ends of steps before, as a multistep
method of up to order 5 would integrate them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import sqrt

import numpy as np

from sorosim.base.arrays import Array, IntArray
from sorosim.base.compiled import kernel, kernel_in_place
from sorosim.base.interrupts import uninterrupted

MOST_NODES = 5
# ends of steps before count where each lies farther back than the one after it by at least this part of the step:
# nothing is extrapolated from steps that are much shorter
SPACING = 0.25
PAST = 24  # ends of steps before that are searched for such ones
BATCH = 256  # states whose powers are evaluated together
# places and weights of Gauss's rule, exact for degree 5
GAUSS = (0.5 - 0.5 * sqrt(0.6), 5.0 / 18.0), (0.5, 4.0 / 9.0), (0.5 + 0.5 * sqrt(0.6), 5.0 / 18.0)


@kernel_in_place
def choose_nodes(t: Array, ends: IntArray, step: int, node: IntArray) -> int:
    """Nodes of the interpolation over a step: its ends and the nodes inside, else ends of steps before."""
    a, b, n = ends[step], ends[step + 1], 2
    node[0], node[1] = a, b
    for k in range(a + 1, b):
        node[n] = k
        n += 1
    if n == 2:
        for k in range(step - 1, max(step - PAST, 0) - 1, -1):
            if t[a] - t[ends[k]] >= SPACING * (n - 1) * (t[b] - t[a]):
                node[n] = ends[k]
                n += 1
                if n == MOST_NODES:
                    break
    return n


@kernel_in_place
def lagrange_weights(place: Array, n: int, s: float, weight: Array) -> None:
    """Weight of each of n nodes: the mean over 0 to s of its Lagrange polynomial."""
    for i in range(n):
        weight[i] = 0.0
        for x, w in GAUSS:
            product = w
            for j in range(n):
                if j != i:
                    product *= (s * x - place[j]) / (place[i] - place[j])
            weight[i] += product


@kernel
def integrate_steps(
    t: Array, power: Array, ends: IntArray, first: int, times: Array, rows: Array, n_rows: int, value: Array
) -> int:
    """Integrate powers over steps, and fill the rows at output times within them.

    t, power : (n,) times and (n, m) powers of nodes; ends : (n_steps + 1,) which of them are ends of steps; first : the
    step with which to begin; rows : (n_times, m), of which n_rows are filled; value : (m,) integrals where it begins,
    afterwards where the last step begins. Returns how many rows are filled then.
    """
    m, last = power.shape[1], ends.shape[0] - 2
    node, place, weight, total = np.empty(MOST_NODES, np.int64), np.empty(MOST_NODES), np.empty(MOST_NODES), np.empty(m)
    for step in range(first, last + 1):
        a, b = ends[step], ends[step + 1]
        h, n = t[b] - t[a], choose_nodes(t, ends, step, node)
        for i in range(n):
            place[i] = (t[node[i]] - t[a]) / h
        while True:
            is_row = n_rows < times.shape[0] and times[n_rows] <= t[b]
            if not is_row and step == last:
                break
            s = min((times[n_rows] - t[a]) / h, 1.0) if is_row else 1.0
            lagrange_weights(place, n, s, weight)
            for c in range(m):
                total[c] = 0.0
                for i in range(n):
                    total[c] += weight[i] * power[node[i], c]
            if is_row:
                for c in range(m):
                    rows[n_rows, c] = value[c] + h * s * total[c]
                n_rows += 1
                continue
            for c in range(m):
                value[c] += h * s * total[c]
            break
    return n_rows


class StepIntegral:
    """Integrals of powers, at the ends of steps and at output times.

    Powers are evaluated for many states at once, at the latest by `evaluate`: before anything on which they depend
    beside time and state changes.

    Parameters
    ----------
    power : callable
        Powers (k, m) of times (k,) and states (k, n).
    times : (n_times,) array
        Increasing output times, the first where it begins.
    begin : (m,) array
        The integrals there.
    """

    def __init__(self, power: Callable[[Array, Array], Array], times: Array, begin: Array) -> None:
        self.power, self.times = power, np.array(times, dtype=float)
        self.value = np.array(begin, dtype=float)  # where the last step begins whose powers are evaluated
        self.rows = np.zeros((len(times), len(self.value)))  # the integrals at output times
        self.n_rows = 0  # that have been passed
        self._restart(float(times[0]), np.zeros(0))

    def _restart(self, t: float, x: Array) -> None:
        self._t, self._x, self._powers = [t], [x], np.zeros((0, len(self.value)))
        self._ends, self._first = [0], 0

    @uninterrupted()
    def begin(self, t: float, x: Array) -> None:
        """The integrator starts anew at a time within the last step, or at its end."""
        self.value = self.at(t)
        self._restart(t, np.array(x))
        self.n_rows = min(self.n_rows, int(np.searchsorted(self.times, t, side="right")))
        self._pass(t)

    @uninterrupted()
    def step(self, t: float, x: Array, inside: Sequence[tuple[float, Array]] = ()) -> None:
        """A step ended at t; `inside`: states inside the step of the same accuracy, if the integrator has any."""
        if t <= self._t[-1]:
            return
        if any(b <= a for a, b in pairwise([self._t[-1], *(time for time, _ in inside), t])):
            inside = ()  # in a step of rounding's size all times may be those of its ends
        for time, state in inside:
            self._t.append(time)
            self._x.append(np.array(state))
        self._t.append(t)
        self._x.append(np.array(x))
        self._ends.append(len(self._t) - 1)
        if len(self._t) - len(self._powers) >= BATCH:
            self.evaluate()

    @uninterrupted()
    def evaluate(self) -> None:
        """Evaluate the powers of the steps until now."""
        known = len(self._powers)
        if len(self._t) == known or len(self._ends) < 2:
            return
        new = self.power(np.array(self._t[known:]), np.array(self._x[known:]))
        self._powers = np.concatenate([self._powers, new])
        self.n_rows = self._integrate(self.times, self.rows, self.n_rows, self.value)
        # the last step, and what the next ones look back at
        ends = self._ends[-PAST - 2 :]
        begin, self._first = ends[0], len(ends) - 2
        self._ends = [k - begin for k in ends]
        self._t, self._x, self._powers = self._t[begin:], self._x[begin:], self._powers[begin:]

    def at(self, t: float) -> Array:
        """The integrals (m,) at a time within the last step."""
        self.evaluate()
        row, value = np.array(self.value)[None], np.array(self.value)
        if len(self._ends) > 1 and t > self._t[self._ends[-2]]:
            time = np.array([min(t, self._t[-1])])
            self._integrate(time, row, 0, value)
        out: Array = row[0]
        return out

    def _integrate(self, times: Array, rows: Array, n_rows: int, value: Array) -> int:
        nodes = np.array(self._t), self._powers, np.array(self._ends)
        return int(integrate_steps(*nodes, self._first, times, rows, n_rows, value))

    def _pass(self, t: float) -> None:
        """Output times up to t, where the last step begins."""
        n = max(self.n_rows, int(np.searchsorted(self.times, t, side="right")))
        self.rows[self.n_rows : n] = self.value
        self.n_rows = n
