"""The nearest solution of equations: the least |z - c|^2 with e(z) = 0.

Springs draw the point from c to the solutions: w |z - c|^2 + |e|^2 is least on a curve that begins at c, where the
weight w is large, and ends at a solution, where it vanishes. Levenberg and Marquardt's method follows it, so that a rod
whose z is its elastic energy bends no more than it has to on the whole way. Newton's method ends on the solutions, on
which the point slides on to the nearest one. It is a minimum where I + sum_i lambda_i e_i'', z - c + X^T lambda = 0,
is positive along them (Nocedal and Wright 2006, chapter 12).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from sorosim.base.arrays import Array
from sorosim.mechanics.dynamics.constraints import RANK_TOLERANCE

# singular values of the derivative below RANK_TOLERANCE of the largest are zero: where equations hold that depend on
# each other; and where they do not hold yet, below a part of the errors and at most
PER_ERROR, AT_MOST = 10.0, 1e-4
# each weight is this part of the one before, down to so little of the largest squared singular value of the derivative
FACTOR, LEAST_WEIGHT = 0.1, 1e-14
# of the smallest squared singular value that is not zero, below which springs that draw no nearer did what they can
SOFT = 1e-4
# decreases that end a search, as a part of the value, if so many come in a row; so do distances differ that are as good
ENOUGH, PATIENCE = 1e-2, 3
# gains, actual over predicted, above which the damping falls and below which it rises; and by how much
GOOD_GAIN, BAD_GAIN, CHANGE = 0.75, 0.25, 4.0
# a solution is near where Newton's method begins if it is no farther from where its first step leads than this part of
# that step; and so is one that springs have drawn a point near to, as a part of the way
WITHIN = 0.25
MOST_PAIRS = 2  # of starts of the springs, if none leads to a solution
MAX_STEPS, MAX_NEWTON = 100, 10
# slopes along the solutions that are none, and the least part of a step, relative
STATIONARY, LEAST_PART = 1e-8, 1e-3
# a step to see curvatures by, one beside a saddle, and the start of the springs, as parts of the way
DIFFERENCE, BESIDE, NUDGE = 1e-6, 0.1, 1e-2
# curvatures below it, in the metric, are those of a saddle; vectors of Lanczos by which they are seen
SADDLE, N_LANCZOS, MAX_SADDLES = 1e-3, 8, 3
MOST_GRADIENTS = 30
EPS = float(np.finfo(float).eps)


class Point(NamedTuple):
    """A point, the errors there, and their derivative."""

    z: Array  # (n,)
    e: Array  # (m,)
    X: Array  # (m, n)

    @property
    def is_finite(self) -> bool:
        """Whether it can be computed with."""
        return bool(np.isfinite(self.e).all() and np.isfinite(self.X).all())


class Nearest:
    """The search for the solution of e(z) = 0 that is nearest to a centre.

    Parameters
    ----------
    function : callable
        Errors (m,), of about one and less, and their derivative (m, n) at z (n,).
    centre : (n,) ndarray
    tolerance : float
        Errors that are none.
    """

    def __init__(self, function: Callable[[Array], tuple[Array, Array]], centre: Array, tolerance: float) -> None:
        self.function, self.centre, self.tolerance = function, centre, tolerance

    def at(self, z: Array) -> Point:
        """The point z."""
        return Point(z, *self.function(z))

    def is_solution(self, p: Point) -> bool:
        """Whether the equations hold."""
        return bool(np.abs(p.e).max(initial=0.0) <= self.tolerance)

    def distance(self, p: Point) -> float:
        """From the centre."""
        return float(np.linalg.norm(p.z - self.centre))

    def run(self, towards: Array) -> Point:
        """The nearest solution, or where the errors are least; `towards` (n,) says which of two is taken if both are.

        It is the one that Newton's method finds from the centre, if it is near and no saddle; else the nearest one of
        those to which springs draw it from beside the centre: on the side of `towards`, which is taken if others are
        hardly nearer, and on any two.
        """
        start = self.at(self.centre.copy())
        if self.is_solution(start) or not start.is_finite:
            return start
        first, direct = self.nearer(start), self.newton(start)
        if first is not None and self.is_solution(direct):
            step = first.z - start.z
            direct = self.slide(direct)
            aside = float(np.linalg.norm(direct.z - start.z - step))
            if aside <= WITHIN * np.linalg.norm(step) and self.falling(direct, towards) is None:
                return direct
        n = len(start.z)
        pulled = _Along(self, start).project(towards)  # to where the errors stay as they are, as the middle of a rope
        pulled = pulled / (np.linalg.norm(pulled) or 1.0) + FACTOR * _direction(n, 0)  # no symmetry is left
        found = [self.drawn(start, NUDGE * pulled)]
        for k in range(1, MOST_PAIRS + 1):
            found += [self.drawn(start, side * _direction(n, k)) for side in (1.0, -1.0)]
            closed = [self.lowest(p, towards) for p in found if self.is_solution(p)]
            if closed:
                least = min(map(self.distance, closed))
                return next(p for p in closed if self.distance(p) <= (1.0 + ENOUGH) * least)
        return self.lowest(direct, towards) if self.is_solution(direct) else min(found, key=_size)

    def drawn(self, start: Point, aside: Array) -> Point:
        """To where springs draw the start from beside it; `aside` (n,) is a part of the way to the nearest solution."""
        stiffest = float(np.linalg.norm(start.X, 2)) or 1.0
        beside = _size(start) / stiffest * aside
        p = end = self.at(start.z + beside)
        if not p.is_finite:
            return start
        weight = stiffest**2
        while weight > LEAST_WEIGHT * stiffest**2:
            before = _size(p)
            # strong springs draw back onto a symmetry, such as a straight rod's; off it, weaker ones draw aside
            off = self.at(p.z + beside)
            p = self.descend(off if off.is_finite else p, weight)
            end = self.newton(p)
            if self.is_solution(end) and np.linalg.norm(end.z - p.z) <= WITHIN * self.distance(end):
                break
            if _size(p) > (1.0 - ENOUGH) * before and weight < SOFT * _weakest(p.X) ** 2:  # they draw no nearer
                break
            weight *= FACTOR
        return min(end, p, key=_size)

    def lowest(self, p: Point, towards: Array) -> Point:
        """From a solution along the solutions to the nearest one, off the saddles on the way."""
        p = self.slide(p)
        for _ in range(MAX_SADDLES):
            way = self.falling(p, towards)
            if way is None:
                break
            sides = [self.newton(self.at(p.z + part * self.distance(p) * way)) for part in (BESIDE, -BESIDE)]
            nearer = [self.slide(side) for side in sides if self.is_solution(side)]
            if not nearer or not self.distance(best := min(nearer, key=self.distance)) < self.distance(p):
                break
            p = best
        return p

    def newton(self, p: Point) -> Point:
        """By the smallest of Newton's steps, each at least halving the errors; the last point."""
        for _ in range(MAX_NEWTON):
            if not p.e.any() or not p.is_finite or (trial := self.nearer(p)) is None:
                break
            p = trial
        return p

    def nearer(self, p: Point) -> Point | None:
        """Where Newton's step leads, if that at least halves the errors; else None.

        Small singular values count as none, which keeps steps small where equations are about to depend on each other;
        but if that leads no nearer they are what an equation has: the length of a thin taut rod.
        """
        for error in (_size(p), 0.0):
            trial = self.at(p.z - smallest(p.X, p.e, error))
            if trial.is_finite and _size(trial) <= 0.5 * _size(p):
                return trial
        return None

    def descend(self, p: Point, weight: float, max_steps: int = MAX_STEPS) -> Point:
        """The least weight |z - c|^2 + |e|^2 from p, or about that."""

        def cost(p: Point) -> float:
            return float(p.e @ p.e + weight * np.sum((p.z - self.centre) ** 2))

        damping, value, slow = weight, cost(p), 0
        for _ in range(max_steps):
            _, size, V = scipy.linalg.svd(p.X, full_matrices=False, check_finite=False)
            largest, before = float(size.max(initial=0.0) ** 2), value
            slope = p.X.T @ p.e + weight * (p.z - self.centre)
            within = V @ slope
            damping = max(damping, LEAST_WEIGHT * largest)
            while damping <= largest / LEAST_WEIGHT:
                c = weight + damping
                step = -(V.T @ (within / (size**2 + c)) + (slope - V.T @ within) / c)
                predicted = -float(2.0 * slope @ step + np.sum((p.X @ step) ** 2) + weight * step @ step)
                if not predicted > EPS * value:
                    return p
                trial = self.at(p.z + step)
                gain = (value - cost(trial)) / predicted if trial.is_finite else -1.0
                damping *= CHANGE if not gain > BAD_GAIN else 1.0 / CHANGE if gain > GOOD_GAIN else 1.0
                if gain > 0.0:
                    p, value = trial, cost(trial)
                    break
            slow = slow + 1 if before - value <= ENOUGH * before else 0
            if slow == PATIENCE or before == value:
                break
        return p

    def slide(self, p: Point) -> Point:
        """From a solution along the solutions to the nearest one, by Newton's method with conjugate gradients."""
        for _ in range(MAX_STEPS):
            along = _Along(self, p)
            slope = np.linalg.norm(along.slope)
            if slope <= STATIONARY * self.distance(p):
                break
            step, part = along.newton_step(), 1.0
            while part > LEAST_PART:
                better = self.newton(self.at(p.z + part * step))
                if self.is_solution(better) and self.distance(better) < self.distance(p):
                    break
                part *= 0.5
            else:
                break
            p = better
        return p

    def falling(self, p: Point, towards: Array) -> Array | None:
        """Unit direction along which a stationary solution is a saddle, pointing as `towards` does; None if it is none.

        The lowest curvature is that of the method of Lanczos.
        """
        along, n = _Along(self, p), len(p.z)
        if not along.h or along.n == 0:
            return None
        Q = [along.project(towards / (np.linalg.norm(towards) or 1.0) + _direction(n, 1))]
        Q[0] /= np.linalg.norm(Q[0])
        H: list[Array] = []
        for _ in range(min(N_LANCZOS, along.n)):
            H.append(along.curve(Q[-1]))
            basis = np.array(Q)
            rest = H[-1] - basis.T @ (basis @ H[-1])
            # vectors grow short from one to the next, and what leads off the solutions would grow as much
            rest = along.project(rest - basis.T @ (basis @ rest))
            norm = float(np.linalg.norm(rest))
            if not norm > STATIONARY * np.linalg.norm(H[-1]):
                break
            Q.append(rest / norm)
        basis = np.array(Q[: len(H)])
        T = basis @ np.array(H).T
        if not np.isfinite(T).all():
            return None
        curvature, vectors = np.linalg.eigh(0.5 * (T + T.T))
        if curvature[0] > -SADDLE:
            return None
        way = vectors[:, 0] @ basis
        return np.asarray(way if way @ towards >= 0.0 else -way)


class _Along:
    """The distance along the solutions at one of them: its slope, and its curvature by differences of derivatives."""

    def __init__(self, search: Nearest, p: Point) -> None:
        self.search, self.p, away = search, p, p.z - search.centre
        _, size, V = scipy.linalg.svd(p.X, full_matrices=False, check_finite=False)
        self.V = V[size > RANK_TOLERANCE * size.max(initial=0.0)]
        self.n, self.h = len(away) - len(self.V), DIFFERENCE * float(np.linalg.norm(away))
        self.slope, self.multiplier = self.project(away), smallest(p.X.T, -away)

    def project(self, v: Array) -> Array:
        """The part of a vector that keeps the equations."""
        return np.asarray(v - self.V.T @ (self.V @ v))

    def curve(self, v: Array) -> Array:
        """I + sum_i lambda_i e_i'' of the unit vector v, along the solutions."""
        change = self.search.at(self.p.z + self.h * v).X - self.p.X
        return self.project(v + change.T @ self.multiplier / self.h)

    def newton_step(self) -> Array:
        """Newton's step by conjugate gradients, as far as curvatures are positive."""
        step, r = np.zeros_like(self.slope), -self.slope
        d, size = r, float(np.linalg.norm(self.slope))
        enough = size * min(0.1, np.sqrt(size / self.search.distance(self.p)))
        for k in range(min(MOST_GRADIENTS, self.n)):
            length = float(np.linalg.norm(d))
            H = self.curve(d / length) * length
            curvature = float(d @ H)
            if not curvature > SADDLE * length**2:
                return step if k else d
            part = float(r @ r) / curvature
            step, rest = step + part * d, r - part * H
            if not np.linalg.norm(rest) > enough:
                break
            d, r = rest + float(rest @ rest) / float(r @ r) * d, rest
        return step


def smallest(X: Array, b: Array, error: float = 0.0) -> Array:
    """The smallest z with X z = b, or nearly so; `error`: by how much the equations do not hold."""
    cond = max(RANK_TOLERANCE, min(PER_ERROR * error, AT_MOST))
    z: Array = scipy.linalg.lstsq(X, b, cond=cond, check_finite=False)[0]
    return z


def _weakest(X: Array) -> float:
    """The smallest singular value that is not zero."""
    size = scipy.linalg.svdvals(X, check_finite=False)
    return float(size[size > RANK_TOLERANCE * size.max(initial=0.0)].min(initial=np.inf))


def _size(p: Point) -> float:
    return float(np.linalg.norm(p.e))


def _direction(n: int, k: int) -> Array:
    """A unit vector (n,) without any symmetry, the same one each time for each k."""
    v = np.random.default_rng(k).normal(size=n)
    return np.asarray(v / np.linalg.norm(v))
