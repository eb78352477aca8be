"""Integrals of powers along an integration, by the integrator's own steps.

Over a step the integral is that of the polynomial through the powers at its ends and at up to three further times: the
stages inside the step of Radau's method (its own quadrature, of order 5), or the ends of the steps before, as a
multistep method of up to order 5 would integrate them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Node = tuple[float, tuple[float, ...]]

MOST_NODES = 5
# ends of steps before count where each lies farther back by at least this part of the step: none is extrapolated from
# steps that are much shorter
SPACING = 0.25
GAUSS = (0.5 - 0.5 * sqrt(0.6), 5.0 / 18.0), (0.5, 4.0 / 9.0), (0.5 + 0.5 * sqrt(0.6), 5.0 / 18.0)  # places, weights


class StepIntegral:
    """Integrals of powers, at the ends of steps and at output times.

    Parameters
    ----------
    power : callable
        Powers (m,) of time and state.
    times : (n,) array
        Increasing output times, the first where it begins.
    begin : (m,) array
        The integrals there.
    """

    def __init__(self, power: Callable[[float, Array], Array], times: Array, begin: Array) -> None:
        self.power, self.times = power, times
        self.rows: list[Array] = []  # the integrals at the output times that have been passed
        self.value = np.array(begin, dtype=float)  # where the last step begins
        self._before: list[Node] = []  # ends of steps before the last one, the latest first
        self._nodes: list[Node] = []  # of the last step: its begin, its end, further ones
        self._polynomials: list[tuple[list[float], list[float]]] = []  # through them, once they are needed

    def begin(self, t: float, x: Array) -> None:
        """The integrator starts anew at a time within the last step, or at its end."""
        self.value = self.at(t)
        del self.rows[int(np.searchsorted(self.times, t, side="right")) :]
        self._before, self._nodes, self._polynomials = [], [(t, self._power(t, x))], []
        self._pass(t)

    def step(self, t: float, x: Array, inside: Sequence[tuple[float, Array]] = ()) -> None:
        """The integrator has come to t, with states inside the step where it has some as good."""
        begin = self._nodes[min(1, len(self._nodes) - 1)]
        if t <= begin[0]:
            return
        self.value, h = self.at(begin[0]), t - begin[0]
        if len(self._nodes) > 1 and not inside:
            self._before = [self._nodes[0], *self._before[: MOST_NODES - 3]]
        self._nodes, self._polynomials = [begin, (t, self._power(t, x))], []
        self._nodes += [(time, self._power(time, state)) for time, state in inside]
        if not inside:
            for k, node in enumerate(self._before):
                if begin[0] - node[0] < SPACING * (k + 1) * h:
                    break
                self._nodes.append(node)
        self._pass(t)

    def at(self, t: float) -> Array:
        """The integrals (m,) at a time within the last step."""
        if len(self._nodes) < 2 or t <= self._nodes[0][0]:
            return self.value
        begin, h = self._nodes[0][0], self._nodes[1][0] - self._nodes[0][0]
        s = min((t - begin) / h, 1.0)
        if not self._polynomials:
            places = [(time - begin) / h for time, _ in self._nodes]
            powers = zip(*(values for _, values in self._nodes), strict=True)
            self._polynomials = [(places, _differences(places, list(column))) for column in powers]
        return self.value + h * np.array([_integral(*polynomial, s) for polynomial in self._polynomials])

    def _power(self, t: float, x: Array) -> tuple[float, ...]:
        return tuple(self.power(t, x).tolist())

    def _pass(self, t: float) -> None:
        """Note the integrals at output times up to t."""
        for time in self.times[len(self.rows) : int(np.searchsorted(self.times, t, side="right"))]:
            self.rows.append(self.at(float(time)))


def _differences(places: list[float], values: list[float]) -> list[float]:
    """Divided differences, in the place of the values."""
    n = len(places)
    for k in range(1, n):
        for i in range(n - 1, k - 1, -1):
            values[i] = (values[i] - values[i - 1]) / (places[i] - places[i - k])
    return values


def _integral(places: list[float], values: list[float], s: float) -> float:
    """Integral from 0 to s of the polynomial, of degree 4 at most, with these divided differences at places."""
    n, total = len(places), 0.0
    for place, weight in GAUSS:
        x, value = s * place, values[-1]
        for i in range(n - 2, -1, -1):
            value = value * (x - places[i]) + values[i]
        total += weight * value
    return s * total
