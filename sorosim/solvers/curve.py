"""A curve of solutions of F(x, w) = 0, n equations in n + 1 unknowns: its metric, tangents, and Newton's way to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.linear.growth import Growth
from sorosim.solvers.bordered import Border, Scales, across, null_vectors, orientation

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
# and singular values below this part, where pivots below the other one ask for them
OPEN, DOUBTFUL = 1e-10, 1e-8
# what a step along a tangent of length one leaves of the scaled equations
STRAY = 1e-8
# residuals above this part of |J| (1 + |x|) are there because open motions were held that are not open
HELD = 1e-9


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
    turned: Callable[[Array, Array], Array] | None = None  # x, by whole turns that nothing counts as near to another


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
    hold: Border | None = None  # of motions that nothing holds, as of a round column about its axis


class Curve:
    """The solutions of a family near points on a curve of them."""

    def __init__(self, family: Family) -> None:
        self.family, self.n_evaluations, self.lost = family, 0, 0
        n = family.metric.shape[1]
        self.gram = np.zeros((n + 1, n + 1))
        self.gram[:n, :n] = family.metric.T @ family.metric
        self.gram[n, n] = 1.0
        self.along_w = np.append(np.zeros(n), 1.0)
        lengths = np.sqrt(np.diag(self.gram)[:-1])
        self.one = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)  # unknowns of length one

    def length(self, step: Array) -> float:
        """Of a step (n + 1,)."""
        return math.sqrt(max(float(step @ self.gram @ step), 0.0))

    def unit(self, step: Array) -> Array:
        """The same direction, of length one."""
        return step / self.length(step)

    def scales(self, place: Place) -> Scales:
        """Factors by which the matrices of a place and its neighbours are scaled."""
        return Scales.of(place.J, place.slope, self.one)

    def turned(self, z: Array, near: Array) -> Array:
        """The same point with x by whole turns as near as can be to another one."""
        turned = self.family.turned
        return z if turned is None else np.append(turned(z[:-1], near[:-1]), z[-1])

    def evaluate(self, z: Array) -> tuple[Array, Array, Array]:
        """F and its derivatives by x and w."""
        self.n_evaluations += 1
        return self.family.evaluate(z[:-1], float(z[-1]))

    def correct(self, z: Array, row: Array, hold: Border | None = None) -> tuple[Array, Array, Array, int] | None:
        """Newton's method from z to the curve, in the plane row . dz = 0: z, J and slope there; None if it fails.

        hold: motions that are left as they are.
        """
        before, last = np.inf, False
        for k in range(MAX_CORRECTIONS):
            r, J, slope = self.evaluate(z)
            if not (np.isfinite(r).all() and np.isfinite(J).all() and np.isfinite(slope).all()):
                return None
            size_of_r = np.abs(J) @ (1.0 + np.abs(z[:-1]))
            held = hold is None or hold.leaves(r) <= HELD * hold.leaves(size_of_r)
            # steps may still be large where J is nearly singular
            if last or bool((np.abs(r) <= ROUNDING * size_of_r).all()):
                return (z, J, slope, k) if held else None
            step = self._solve(J, slope, row, np.append(r, 0.0), hold)
            size = self.length(step)
            if not size < before:
                return (z, J, slope, k) if held and before <= FLOOR else None
            z, before, last = z - step, size, size <= LAST_STEP
        return None

    def _solve(self, J: Array, slope: Array, row: Array, right: Array, hold: Border | None) -> Array:
        if hold is not None:
            return hold.across(J, slope, row, right)
        return across(J, slope, row, right, SINGULAR, Scales.of(J, slope, self.one))

    def place(
        self, found: tuple[Array, Array, Array, int], along: Array, s: float = 0.0, hold: Border | None = None
    ) -> Place | None:
        """What is to be known of a point; its tangent is in the sense of `along`."""
        z, J, slope, n = found
        tangent = self._solve(J, slope, self.gram @ along, self.along_w, hold)
        if not np.isfinite(tangent).all():
            return None
        growth, scales = self.family.growth, Scales.of(J, slope, self.one)
        tangent = self.unit(tangent)
        if not self._is_tangent(J, slope, tangent, scales):  # `along` is across the curve, as the parameter at a fold
            tangent = self.unit(null_vectors(J, slope, scales)[0][-1])
            tangent = -tangent if tangent @ self.gram @ along < 0.0 else tangent
        grows = Growth() if growth is None else growth(z[:-1], float(z[-1]))
        side, least = orientation(J, slope, self.gram @ tangent, scales)
        hold = None
        if least < DOUBTFUL:
            hold = Border.of_open_motions(J, slope, self.gram @ tangent, scales, OPEN, self.gram)
        if hold is not None:  # of the rounding of a matrix that is singular the tangent has any part along them
            steady = hold.across(J, slope, self.gram @ tangent, self.along_w)
            tangent = self.unit(steady) if np.isfinite(steady).all() else tangent
        return Place(z, J, slope, tangent, side, grows, s, n, hold)

    @staticmethod
    def _is_tangent(J: Array, slope: Array, tangent: Array, scales: Scales) -> bool:
        """Whether a step along it leaves a solution one."""
        step = tangent / np.append(scales.d, scales.last)
        left = scales.d * (J @ tangent[:-1] + slope * tangent[-1])
        return bool(np.linalg.norm(left) <= STRAY * np.linalg.norm(step))

    def between(self, a: Place, b: Place, share: float) -> Place | None:
        """The point of the curve at a share (0 to 1) of the way from a to b, projected to the tangent of a."""
        row, way = self.gram @ a.tangent, b.z - a.z
        whole = float(row @ way)
        guess = a.z + _hermite(way, self.length(way), a.tangent, b.tangent, share)
        guess = guess + (share * whole - row @ (guess - a.z)) * a.tangent
        return self._near(guess, row, a, a.s + share * (b.s - a.s))

    def where(self, w: float, a: Place, b: Place, share: float) -> Place | None:
        """The point with the parameter w near the share of the way from a to b."""
        way = b.z - a.z
        guess = a.z + _hermite(way, self.length(way), a.tangent, b.tangent, share)
        guess[-1] = w
        return self._near(guess, self.along_w, a, a.s + share * (b.s - a.s))

    def beyond(self, a: Place, step: float) -> tuple[Array, Place | None]:
        """Where the tangent of a leads, and the point of the curve that is there."""
        guess = a.z + step * a.tangent
        return guess, self._near(guess, self.gram @ a.tangent, a)

    def _near(self, guess: Array, row: Array, a: Place, s: float | None = None) -> Place | None:
        """The point of the curve near a guess, whose tangent is in the sense of that of a."""
        # a single place with a singular matrix is a branch point, and does not say that motions are open
        for hold in (a.hold, None) if a.hold is not None else (None,):
            found = self.correct(guess, row, hold)
            if found is not None:
                way = a.s + self.length(found[0] - a.z) if s is None else s
                return self.place(found, a.tangent, way, hold)
        return None


def _hermite(way: Array, length: float, t0: Array, t1: Array, x: float) -> Array:
    """Cubic from 0 to `way` with unit tangents t0 and t1 at its ends, at x."""
    return np.asarray(x * x * (3.0 - 2.0 * x) * way + length * (x * (1.0 - x) ** 2 * t0 - x * x * (1.0 - x) * t1))
