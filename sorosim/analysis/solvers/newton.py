"""Newton's method at one load, whose last steps are as small as digits allow; the problem of statics, counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lstsq
from scipy.linalg.lapack import dgesv

from sorosim.analysis.solvers.bordered import scale
from sorosim.analysis.solvers.descent import Descent
from sorosim.base.arrays import Array

# a Newton step below this part of 1 + |x| is the end: the error left is its square
STEP_TOLERANCE = 1e-9
# and below this part no further step can better the digits
EXACT_STEP = 1e-13
# residuals below this part of |J| (1 + |x|) are rounding
ROUNDING = 1e-13
# unknowns beyond have no digits left to judge a solution by
LARGEST = 1e10
MAX_POLISH = 8
MAX_NEWTON = 40
# a first step of this size, relative to 1 + |x|, or a next one above this part of the last, is not that of Newton's
# method near a regular solution
FIRST_POLISH = 1e-2
FAST_CONTRACTION = 0.25
# singular values of the scaled J below this part of the largest count as zero where steps are not fast
SINGULAR = 1e-7
# pivots below this part of the largest are rounding
SINGULAR_PIVOT = 1e-14


@dataclass(frozen=True)
class StaticProblem:
    """residual(x, load) = 0 at load = 1; x_unloaded solves it at load = 0."""

    residual: Callable[[Array, float], Array]
    jacobian: Callable[[Array, float], tuple[Array, Array]]  # residual and its derivative (n, n)
    along_load: Callable[[Array, float], tuple[Array, Array, Array]]  # the same, and its derivative by the load (n,)
    x_unloaded: Array
    analytic: bool = True  # False: differences of the residual in hybr, for comparison
    descent: Descent | None = None  # metric and step limit of the descent; None: no descent
    stable: bool = False  # whether to continue from an unstable solution, and from one that is higher than the start
    stability: Callable[[Array], str] | None = None  # STABLE, DIVERGES or FLUTTERS; decides where J is not symmetric
    newton_first: bool = False  # whether to try Newton's steps from the start first
    descend_first: bool = False  # whether to try the descent from the start first
    follow_curve: bool = False  # whether to try load continuation from x_unloaded before hybr
    may_tunnel: Callable[[Array, float, Array, float], bool] | None = (
        None  # whether surfaces may pass through each other in a step
    )
    # residuals (n,) that are nothing else, where forces that J does not show cancel
    rounding: Callable[[], Array | float] = lambda: 0.0
    hybr_fallback: bool = True  # with `follow_curve`: whether hybr is tried where the curve ends
    raised: str = "load"  # what the continuation raises from 0 to 1, in words
    balanced: Callable[[Array], bool] | None = None  # whether forces without bounds do not make up a solution at load 1


@dataclass(frozen=True)
class Point:
    """Where Newton's method ended, and whether that is a solution."""

    x: Array
    residual: Array
    jacobian: Array
    converged: bool
    isolated: bool = True


class Counter:
    """The problem at one load, counting."""

    def __init__(self, problem: StaticProblem) -> None:
        self.problem = problem
        self.n_residual = self.n_jacobian = self.folds = 0
        self.first: tuple[Array, Array, Array] | None = None  # where the Jacobian at the full load was first, and what

    def residual(self, x: Array, load: float) -> Array:
        self.n_residual += 1
        return self.problem.residual(x, load)

    def jacobian(self, x: Array, load: float) -> tuple[Array, Array]:
        self.n_jacobian += 1
        r, J = self.problem.jacobian(x, load)
        if self.first is None and load == 1.0:
            self.first = x.copy(), r, J
        return r, J

    def along_load(self, z: Array) -> tuple[Array, Array, Array]:
        """At (x, load)."""
        self.n_jacobian += 1
        return self.problem.along_load(z[:-1], float(z[-1]))

    def is_balanced(self, x: Array, load: float) -> bool:
        """Whether a solution is one in forces, too."""
        balanced = self.problem.balanced
        return balanced is None or load != 1.0 or balanced(x)


def solve_scaled(J: Array, r: Array) -> Array:
    """J^-1 r; NaN where J is singular."""
    return _solve_and_check(J, r)[0]


def _solve_and_check(J: Array, r: Array) -> tuple[Array, bool]:
    """J^-1 r, NaN where J is singular, and whether J is regular beyond rounding."""
    if not len(r):  # LAPACK takes no empty matrix
        return r, True
    d = scale(J)
    lu, _, y, info = dgesv(d[:, None] * J * d, d * r)
    pivots = np.abs(lu.diagonal())
    regular = bool(pivots.min(initial=np.inf) > SINGULAR_PIVOT * pivots.max(initial=0.0))
    return (d * y if info == 0 else np.full_like(r, np.nan)), regular


def is_rounding(r: Array, J: Array, x: Array, own: Array | float = 0.0) -> bool:
    """Whether a residual r is no more than the rounding of the products J x, and what is `own` rounding."""
    return bool((np.abs(r) <= ROUNDING * (np.abs(J) @ (1.0 + np.abs(x))) + own).all())


def _shortest(J: Array, r: Array) -> tuple[Array, bool]:
    """The shortest step that makes the linearised residual least, and whether it is the only one.

    Shortest in scaled coordinates.
    """
    d = scale(J)
    y, _, rank, _ = lstsq(d[:, None] * J * d, d * r, cond=SINGULAR, check_finite=False)
    return d * y, rank == len(r)


def newton(counter: Counter, x: Array, load: float, max_steps: int) -> Point:
    """Newton steps until they are as small as digits allow.

    Steps must shrink fast; the last one, of size eps, leaves an error of size eps^2. Where they do not, J may be
    singular because the solution has others in its neighbourhood, as that of a pendulum on a ball joint: from the start
    again, the shortest steps then lead to the nearest of them.
    """
    start, before, isolated = x, FIRST_POLISH, True
    shortest = False
    k = 0
    while True:
        r, J = counter.jacobian(x, load)
        if not (np.isfinite(r).all() and np.isfinite(J).all() and np.abs(x).max() < LARGEST):
            return Point(x, r, J, False)
        step, isolated = _shortest(J, r) if shortest else _solve_and_check(J, r)
        size = float(np.abs(step).max(initial=0.0) / (1.0 + np.abs(x).max(initial=0.0)))
        if (isolated or not shortest) and (
            size <= EXACT_STEP or (size <= STEP_TOLERANCE and size >= FAST_CONTRACTION * before)
        ):
            return Point(x, r, J, counter.is_balanced(x, load), isolated)
        if shortest and is_rounding(r, J, x, counter.problem.rounding()):
            return Point(x, r, J, counter.is_balanced(x, load), isolated)
        if not shortest and not size < FAST_CONTRACTION * before:
            shortest, x, before, k = True, start, np.inf, 0
            continue
        if not size < 2.0 * before or k == max_steps:
            return Point(x, r, J, False, isolated)
        x, before, k = x - step, size, k + 1
