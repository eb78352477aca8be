"""A curve of solutions of F(x, w) = 0, n equations in n + 1 unknowns: its metric, tangents, and Newton's way to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.growth import Growth
from sorosim.solvers.bordered import Scales, across, orientation

Array = NDArray[np.float64]

# a corrector's step below this length is the last: the error left is its square
LAST_STEP = 1e-9
# steps that shrink no more below this length are rounding over what is nearly singular, as beside a branch point
FLOOR = 1e-6
# residuals below this part of |J| (1 + |x|) are rounding
ROUNDING = 1e-13
MAX_CORRECTIONS = 12
# pivots below this part of the largest leave a motion open everywhere, not only near a branch point
SINGULAR = 1e-12


@dataclass(frozen=True)
class Family:
    """Problems F(x, w) = 0 in one parameter.

    Lengths along the curve are sqrt(|metric x|^2 + w^2): w is the parameter over its range, metric x (k,) of no
    dimension either. The metric may leave out some of x, as multipliers.
    """

    evaluate: Callable[[Array, float], tuple[Array, Array, Array]]  # F (n,), dF/dx (n, n), dF/dw (n,)
    metric: Array  # (k, n)
    growth: Callable[[Array, float], Growth] | None = None  # what moves away from a solution
    too_far: Callable[[Array, float, Array, float], bool] | None = None  # whether a step jumps


class Place(NamedTuple):
    """A point of the curve."""

    z: Array  # (n + 1,) [x, w]
    J: Array  # (n, n)
    slope: Array  # (n,) dF/dw
    tangent: Array  # (n + 1,) of length one
    side: int  # sign of the determinant of [J slope; tangent]
    growth: Growth
    s: float = 0.0  # length along the curve
    n_corrections: int = 0


class Curve:
    """The solutions of a family near points on a curve of them."""

    def __init__(self, family: Family) -> None:
        self.family, self.n_evaluations, self.lost = family, 0, 0
        n = family.metric.shape[1]
        self.gram = np.zeros((n + 1, n + 1))
        self.gram[:n, :n] = family.metric.T @ family.metric
        self.gram[n, n] = 1.0
        self.along_w = np.append(np.zeros(n), 1.0)

    def length(self, step: Array) -> float:
        """Of a step (n + 1,)."""
        return math.sqrt(max(float(step @ self.gram @ step), 0.0))

    def unit(self, step: Array) -> Array:
        """The same direction, of length one."""
        return step / self.length(step)

    def scales(self, place: Place) -> Scales:
        """Factors by which the matrices of a place and its neighbours are scaled."""
        lengths = np.sqrt(np.diag(self.gram)[:-1])
        unit = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
        return Scales.of(place.J, place.slope, unit)

    def evaluate(self, z: Array) -> tuple[Array, Array, Array]:
        """F and its derivatives by x and w."""
        self.n_evaluations += 1
        return self.family.evaluate(z[:-1], float(z[-1]))

    def correct(self, z: Array, row: Array) -> tuple[Array, Array, Array, int] | None:
        """Newton's method from z to the curve, in the plane row . dz = 0: z, J and slope there; None if it fails."""
        before, last = np.inf, False
        for k in range(MAX_CORRECTIONS):
            r, J, slope = self.evaluate(z)
            if not (np.isfinite(r).all() and np.isfinite(J).all() and np.isfinite(slope).all()):
                return None
            # steps may still be large where J is nearly singular
            if last or bool((np.abs(r) <= ROUNDING * (np.abs(J) @ (1.0 + np.abs(z[:-1])))).all()):
                return z, J, slope, k
            step = across(J, slope, row, np.append(r, 0.0), SINGULAR)
            size = self.length(step)
            if not size < before:
                return (z, J, slope, k) if before <= FLOOR else None
            z, before, last = z - step, size, size <= LAST_STEP
        return None

    def place(self, found: tuple[Array, Array, Array, int], along: Array, s: float = 0.0) -> Place | None:
        """What is to be known of a point; its tangent is in the sense of `along`."""
        z, J, slope, n = found
        tangent = across(J, slope, self.gram @ along, self.along_w, SINGULAR)
        if not np.isfinite(tangent).all():
            return None
        tangent = self.unit(tangent)
        growth = self.family.growth
        grows = Growth() if growth is None else growth(z[:-1], float(z[-1]))
        return Place(z, J, slope, tangent, orientation(J, slope, self.gram @ tangent), grows, s, n)

    def between(self, a: Place, b: Place, share: float) -> Place | None:
        """The point of the curve at a share (0 to 1) of the way from a to b, projected to the tangent of a."""
        row, way = self.gram @ a.tangent, b.z - a.z
        whole = float(row @ way)
        guess = a.z + _hermite(way, self.length(way), a.tangent, b.tangent, share)
        guess = guess + (share * whole - row @ (guess - a.z)) * a.tangent
        found = self.correct(guess, row)
        return None if found is None else self.place(found, a.tangent, a.s + share * (b.s - a.s))

    def where(self, w: float, a: Place, b: Place, share: float) -> Place | None:
        """The point with the parameter w near the share of the way from a to b."""
        way = b.z - a.z
        guess = a.z + _hermite(way, self.length(way), a.tangent, b.tangent, share)
        guess[-1] = w
        found = self.correct(guess, self.along_w)
        return None if found is None else self.place(found, a.tangent, a.s + share * (b.s - a.s))


def _hermite(way: Array, length: float, t0: Array, t1: Array, x: float) -> Array:
    """Cubic from 0 to `way` with unit tangents t0 and t1 at its ends, at x."""
    return np.asarray(x * x * (3.0 - 2.0 * x) * way + length * (x * (1.0 - x) ** 2 * t0 - x * x * (1.0 - x) * t1))
