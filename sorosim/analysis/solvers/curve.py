"""A curve of solutions of F(x, w) = 0, n equations in n + 1 unknowns: metric, tangents, Newton's corrector."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from sorosim.analysis.solvers.bordered import Border, Scales, null_vectors, orientation, solve_bordered
from sorosim.analysis.solvers.newton import ROUNDING, STEP_TOLERANCE, is_rounding
from sorosim.base.arrays import Array
from sorosim.mechanics.linear.growth import Growth

# steps that stop shrinking below this length are rounding over a nearly singular matrix, as beside a branch point
ROUNDING_FLOOR = 1e-6
# how far a point may be beside a branch point where three solutions meet, whose residual there is a cube
PITCHFORK_ROUNDING = ROUNDING ** (1.0 / 3.0)
MAX_CORRECTIONS = 12
# pivots below this part of the largest: a mode that is neutral everywhere, not only near a branch point
SINGULAR = 1e-12
# and singular values below this part, computed where a pivot is below the other one
NEUTRAL, DOUBTFUL = 1e-10, 1e-8
# residual of the scaled equations after a step along a tangent of length one
TANGENT_TOLERANCE = 1e-8
# residuals above this part of |J| (1 + |x|) are not balanced
UNBALANCED = 1e-9


@dataclass(frozen=True)
class ContinuationProblem:
    """F(x, w) = 0 with one parameter w.

    Lengths along the curve are sqrt(|metric x|^2 + w^2): w is the parameter over its range, metric x (k,) of no
    dimension either. The metric may leave out some of x, as multipliers.
    """

    evaluate: Callable[[Array, float], tuple[Array, Array, Array]]  # F (n,), dF/dx (n, n), dF/dw (n,)
    metric: Array  # (k, n)
    growth: Callable[[Array, float], Growth] | None = None  # unstable motions about a solution
    may_tunnel: Callable[[Array, float, Array, float], bool] | None = None  # whether a step is too long
    unwrapped: Callable[[Array, Array], Array] | None = None  # x with angles modulo 2 pi nearest to another x
    scale: float = 1.0  # the parameter over w, for messages


class CurvePoint(NamedTuple):
    """A point of the curve."""

    z: Array  # (n + 1,) [x, w]
    J: Array  # (n, n)
    slope: Array  # (n,) dF/dw
    tangent: Array  # (n + 1,) of length one
    orientation: int  # sign of the determinant of [J slope; tangent]
    growth: Growth
    s: float = 0.0  # length along the curve
    n_corrections: int = 0
    neutral_modes: Border | None = None  # rigid-body modes, as of a round column about its axis


class Corrected(NamedTuple):
    """A solution of F(x, w) = 0."""

    z: Array  # (n + 1,) [x, w]
    residual: Array  # (n,) F
    J: Array  # (n, n) dF/dx
    slope: Array  # (n,) dF/dw
    n_corrections: int = 0


def newton_across(
    evaluate: Callable[[Array], tuple[Array, Array, Array]], z: Array, solve: Callable[..., Array],
    length: Callable[[Array], float], rounding: Array | float = 0.0,
) -> Corrected | None:  # fmt: skip
    """Newton's method from z to a curve of solutions, in steps that shrink; None if it fails.

    evaluate : F and its derivatives by x and w, of z; solve : the step across the curve from these derivatives and
    [F, 0], its `right`; length : of a step; rounding (n,): residuals that are nothing else.
    """
    before = np.inf
    for k in range(MAX_CORRECTIONS):
        r, J, slope = evaluate(z)
        if not (np.isfinite(r).all() and np.isfinite(J).all() and np.isfinite(slope).all()):
            return None
        # steps may still be large where J is nearly singular
        if before <= STEP_TOLERANCE or is_rounding(r, J, z[:-1], rounding):
            return Corrected(z, r, J, slope, k)
        step = solve(J, slope, right=np.append(r, 0.0))
        size = length(step)
        if not size < before:
            return Corrected(z, r, J, slope, k) if before <= ROUNDING_FLOOR else None
        z, before = z - step, size
    return None


class Curve:
    """Geometry and corrector of the curve of solutions of a problem."""

    def __init__(self, problem: ContinuationProblem) -> None:
        self.problem, self.n_evaluations = problem, 0
        self.missed: list[tuple[float, float]] = []  # w between which a special point could not be located
        n = problem.metric.shape[1]
        self.gram = np.zeros((n + 1, n + 1))
        self.gram[:n, :n] = problem.metric.T @ problem.metric
        self.gram[n, n] = 1.0
        self.along_w = np.append(np.zeros(n), 1.0)
        lengths = np.sqrt(np.diag(self.gram)[:-1])
        self.unit_changes = np.divide(
            1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0
        )  # changes of the unknowns of length one

    def length(self, step: Array) -> float:
        """Of a step (n + 1,)."""
        return math.sqrt(max(float(step @ self.gram @ step), 0.0))

    def unit(self, step: Array) -> Array:
        """The same direction, of length one."""
        return step / self.length(step)

    def scales(self, point: CurvePoint) -> Scales:
        """Factors by which the matrices of a point and its neighbours are scaled."""
        return Scales.of(point.J, point.slope, self.unit_changes)

    def unwrapped(self, z: Array, near: Array) -> Array:
        """The same point, angles modulo 2 pi nearest to those of another one."""
        unwrapped = self.problem.unwrapped
        return z if unwrapped is None else np.append(unwrapped(z[:-1], near[:-1]), z[-1])

    def evaluate(self, z: Array) -> tuple[Array, Array, Array]:
        """F and its derivatives by x and w."""
        self.n_evaluations += 1
        return self.problem.evaluate(z[:-1], float(z[-1]))

    def correct(self, z: Array, row: Array, neutral_modes: Border | None = None) -> Corrected | None:
        """Newton's method from z to the curve, in the plane row . dz = 0; None if it fails.

        neutral_modes: these are not changed.
        """
        solve = partial(self._solve, row=row, neutral_modes=neutral_modes)
        found = newton_across(self.evaluate, z, solve, self.length)
        if found is None or neutral_modes is None:
            return found
        terms = np.abs(found.J) @ (1.0 + np.abs(found.z[:-1]))
        balanced = neutral_modes.scaled_size(found.residual) <= UNBALANCED * neutral_modes.scaled_size(terms)
        return found if balanced else None  # or a mode was fixed that is not neutral

    def _solve(self, J: Array, slope: Array, row: Array, right: Array, neutral_modes: Border | None) -> Array:
        if neutral_modes is not None:
            return neutral_modes.solve(J, slope, row, right)
        return solve_bordered(J, slope, row, right, SINGULAR, Scales.of(J, slope, self.unit_changes))

    def point(
        self, corrected: Corrected, along: Array, s: float = 0.0, neutral_modes: Border | None = None
    ) -> CurvePoint | None:
        """The point with its tangent, in the sense of `along`, and stability."""
        z, _, J, slope, n = corrected
        tangent = self._solve(J, slope, self.gram @ along, self.along_w, neutral_modes)
        if not np.isfinite(tangent).all():
            return None
        growth, scales = self.problem.growth, Scales.of(J, slope, self.unit_changes)
        tangent = self.unit(tangent)
        if not self._is_tangent(J, slope, tangent, scales):  # `along` is across the curve, as the parameter at a fold
            tangent = self.unit(null_vectors(J, slope, scales)[0][-1])
            tangent = -tangent if tangent @ self.gram @ along < 0.0 else tangent
        grows = Growth() if growth is None else growth(z[:-1], float(z[-1]))
        sign, least = orientation(J, slope, self.gram @ tangent, scales)
        neutral_modes = None
        if least < DOUBTFUL:
            neutral_modes = Border.of_neutral_modes(J, slope, self.gram @ tangent, scales, NEUTRAL, self.gram)
        if neutral_modes is not None:  # the tangent has an arbitrary part along them, by rounding
            steady = neutral_modes.solve(J, slope, self.gram @ tangent, self.along_w)
            tangent = self.unit(steady) if np.isfinite(steady).all() else tangent
        return CurvePoint(z, J, slope, tangent, sign, grows, s, n, neutral_modes)

    @staticmethod
    def _is_tangent(J: Array, slope: Array, tangent: Array, scales: Scales) -> bool:
        """Whether a step along it satisfies the linearised equations."""
        step = tangent / np.append(scales.d, scales.last)
        residual = scales.d * (J @ tangent[:-1] + slope * tangent[-1])
        return bool(np.linalg.norm(residual) <= TANGENT_TOLERANCE * np.linalg.norm(step))

    def between(self, a: CurvePoint, b: CurvePoint, share: float) -> CurvePoint | None:
        """The point of the curve at a share (0 to 1) of the chord from a to b, projected to the tangent of a."""
        row, chord = self.gram @ a.tangent, b.z - a.z
        whole = float(row @ chord)
        guess = a.z + _hermite(chord, self.length(chord), a.tangent, b.tangent, share)
        guess = guess + (share * whole - row @ (guess - a.z)) * a.tangent
        return self._near(guess, row, a, a.s + share * (b.s - a.s))

    def at_parameter(self, w: float, a: CurvePoint, b: CurvePoint, share: float) -> CurvePoint | None:
        """The point with the parameter w near the share of the chord from a to b."""
        chord = b.z - a.z
        guess = a.z + _hermite(chord, self.length(chord), a.tangent, b.tangent, share)
        guess[-1] = w
        return self._near(guess, self.along_w, a, a.s + share * (b.s - a.s))

    def predict(self, a: CurvePoint, step: float) -> tuple[Array, CurvePoint | None]:
        """The prediction along the tangent of a, and the corrected point."""
        guess = a.z + step * a.tangent
        return guess, self._near(guess, self.gram @ a.tangent, a)

    def _near(self, guess: Array, row: Array, a: CurvePoint, s: float | None = None) -> CurvePoint | None:
        """The point of the curve near a guess, whose tangent is in the sense of that of a."""
        # a single point with a singular matrix is a branch point, and has no neutral modes
        for neutral_modes in (a.neutral_modes, None) if a.neutral_modes is not None else (None,):
            corrected = self.correct(guess, row, neutral_modes)
            if corrected is not None:
                arclength = a.s + self.length(corrected.z - a.z) if s is None else s
                return self.point(corrected, a.tangent, arclength, neutral_modes)
        return None


def _hermite(chord: Array, length: float, t0: Array, t1: Array, x: float) -> Array:
    """Cubic from 0 to `chord` with unit tangents t0 and t1 at its ends, at x."""
    return np.asarray(x * x * (3.0 - 2.0 * x) * chord + length * (x * (1.0 - x) ** 2 * t0 - x * x * (1.0 - x) * t1))
