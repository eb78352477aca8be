"""Central differences of sixth order with the best of several steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from sorosim.base.arrays import Array

STEPS = (1e-1, 2e-2, 4e-3, 1e-3, 1e-4, 1e-5)
# for functions that are straight
STRAIGHT = (1.0, 0.5, 0.25)
# weights of f(x + k h) - f(x - k h), k = 1, 2, 3
WEIGHTS = (3 / 4, -3 / 20, 1 / 60)
ALIKE = 1e-11  # of the size: rounding of functions over the larger steps, smaller ones show no more


def slope(f: Callable[[float], Array], steps: Sequence[float] = STEPS) -> Array:
    """df/dx at 0 of f: number -> array, with the step whose result differs least from that of its neighbour.

    From large steps to small ones truncation falls and rounding grows; where two neighbours agree best both are small.
    Functions such as |x| x, whose differences err in proportion to the step, are extrapolated to a step of zero.
    """
    found: list[Array] = []
    for h in steps:
        found.append(np.asarray(sum(w * (f(k * h) - f(-k * h)) for k, w in enumerate(WEIGHTS, 1)) / h))
        if len(found) > 1 and _gap(found[-2:]) <= ALIKE * np.abs(found[-1]).max(initial=0.0):
            return found[-1]
    straight = [(a * y - b * x) / (a - b) for (a, x), (b, y) in pairwise(zip(steps, found, strict=True))]
    pairs = [*pairwise(found), *pairwise(straight)]
    return np.asarray(min(pairs, key=_gap)[1])


def _gap(pair: Sequence[Array]) -> float:
    return float(np.abs(pair[1] - pair[0]).max(initial=0.0))


def jacobian(f: Callable[[Array], Array], n: int, scale: Array | float = 1.0, steps: Sequence[float] = STEPS) -> Array:
    """df/dx (..., n) at x = 0 of f: (n,) -> array; steps of each column in units of its scale."""
    scale = np.broadcast_to(np.asarray(scale, dtype=float), (n,))
    columns = [slope(lambda h, e=e: f(h * e), steps) / size for e, size in zip(np.diag(scale), scale, strict=True)]  # type: ignore[misc]
    return np.stack(columns, axis=-1)
