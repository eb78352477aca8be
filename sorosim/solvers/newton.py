"""Newton's method: the corrector of all searches, its rules, and why it ended; the problem of statics at one load.

A corrector of its own has what is no square system with the matrix of its state: `solvers.nearest`, whose equations
are fewer than the unknowns and whose steps at least halve the errors; what closes constraints by the factors of another
state (`solvers.damped_newton`, `solvers.descent`); and what corrects targets by the derivatives of a point nearby
(`inversion.search`). Descents of a potential globalise it, so it has no line search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import lstsq
from scipy.linalg.lapack import dgesv

from sorosim.arrays import Array
from sorosim.solvers.bordered import scale
from sorosim.solvers.descent import Descent

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


# why it ended
CONVERGED, NO_FORCES, SINGULAR_MATRIX, DIVERGING = "converged", "no forces", "singular", "steps do not shrink"
TOO_MANY = "too many steps"


class NewtonSystem(Protocol):
    """Equations and their matrix, both of the state that was linearised last."""

    def linearise(self, x: Array) -> Array:
        """Residual (n,); NaN where it has none, or no derivative."""

    def is_rounding(self, x: Array, r: Array) -> bool:
        """Whether the residual r is no more than rounding."""

    def solve(self, r: Array) -> Array | None:
        """The step that is subtracted; None, or NaN, where the matrix is singular."""

    def size(self, step: Array, x: Array) -> float:
        """Size of a step, 1 being a large one."""


@dataclass(frozen=True)
class Rule:
    """How far Newton's method goes on."""

    max_steps: int
    contraction: float = 1.0  # each step is smaller than the one before by this factor
    first: float = np.inf  # and the first one than this
    last: float = EXACT_STEP  # a step so small is not taken any more
    enough: float = STEP_TOLERANCE  # steps below it may cease to shrink: they are rounding
    rounding_ends: bool = False  # whether a residual of rounding ends it though steps still shrink, as near singular J


class Corrected(NamedTuple):
    """Where Newton's method ended, and why."""

    x: Array
    residual: Array
    why: str
    n_steps: int
    step: Array | None = None  # the one that was not taken

    @property
    def converged(self) -> bool:
        """Whether it is a solution."""
        return self.why == CONVERGED


def correct(system: NewtonSystem, x: Array, rule: Rule) -> Corrected:
    """Newton's method from x; the system is linearised where it ends."""
    before = rule.first / rule.contraction
    for k in range(rule.max_steps + 1):
        r = system.linearise(x)
        if not np.isfinite(r).all():
            return Corrected(x, r, NO_FORCES, k)
        rounding = system.is_rounding(x, r)
        if rounding and rule.rounding_ends:
            return Corrected(x, r, CONVERGED, k)
        step = system.solve(r)
        if step is None or not np.isfinite(step).all():
            return Corrected(x, r, SINGULAR_MATRIX, k)
        size = system.size(step, x)
        shrinks = size < rule.contraction * before
        if size <= rule.last or (not shrinks and (rounding or min(size, before) <= rule.enough)):
            return Corrected(x, r, CONVERGED, k, step)
        if not shrinks:
            return Corrected(x, r, DIVERGING, k, step)
        if k < rule.max_steps:
            x, before = x - step, size
    return Corrected(x, r, TOO_MANY, rule.max_steps, step)


@dataclass(frozen=True)
class StaticProblem:
    """residual(x, load) = 0 at load = 1; x_unloaded solves it at load = 0."""

    residual: Callable[[Array, float], Array]
    jacobian: Callable[[Array, float], tuple[Array, Array]]  # residual and its derivative (n, n)
    by_load: Callable[[Array, float], tuple[Array, Array, Array]]  # both, and the derivative (n,) by the load
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

    def by_load(self, x: Array, load: float) -> tuple[Array, Array, Array]:
        self.n_jacobian += 1
        return self.problem.by_load(x, load)

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


def is_rounding(counter: Counter, r: Array, J: Array, x: Array) -> bool:
    """Whether a residual r is no more than the rounding of the products J x, or of the problem's own residuals."""
    return bool((np.abs(r) <= ROUNDING * (np.abs(J) @ (1.0 + np.abs(x))) + counter.problem.rounding()).all())


def _shortest(J: Array, r: Array) -> tuple[Array, bool]:
    """The shortest step that makes the linearised residual least, and whether it is the only one.

    Shortest in scaled coordinates.
    """
    d = scale(J)
    y, _, rank, _ = lstsq(d[:, None] * J * d, d * r, cond=SINGULAR, check_finite=False)
    return d * y, rank == len(r)


class AtLoad:
    """A static problem at one load.

    shortest : of all solutions of a singular system the one without a part along its null space.
    """

    def __init__(self, counter: Counter, load: float, shortest: bool = False) -> None:
        self.counter, self.load, self.shortest, self.is_only = counter, load, shortest, True
        self.J = np.zeros((0, 0))

    def linearise(self, x: Array) -> Array:
        """Residual (n,)."""
        r, self.J = self.counter.jacobian(x, self.load)
        return r if np.isfinite(self.J).all() and np.abs(x).max(initial=0.0) < LARGEST else np.full_like(r, np.nan)

    def is_rounding(self, x: Array, r: Array) -> bool:
        """Whether that is all that tells a solution where systems are singular."""
        return self.shortest and is_rounding(self.counter, r, self.J, x)

    def solve(self, r: Array) -> Array:
        """Step, NaN where there is none; `is_only`: whether it is the only one."""
        step, self.is_only = _shortest(self.J, r) if self.shortest else _solve_and_check(self.J, r)
        return step

    def size(self, step: Array, x: Array) -> float:
        """Relative to 1 + |x|; of one that is not the only one at least so much that its residual decides."""
        size = float(np.abs(step).max(initial=0.0) / (1.0 + np.abs(x).max(initial=0.0)))
        return size if self.is_only or not self.shortest else max(size, 2.0 * STEP_TOLERANCE)


def newton(counter: Counter, x: Array, load: float, max_steps: int) -> Point:
    """Newton steps until they are as small as digits allow.

    Steps must shrink fast; the last one, of size eps, leaves an error of size eps^2. Where they do not, J may be
    singular because the solution has others in its neighbourhood, as that of a pendulum on a ball joint: from the start
    again, the shortest steps then lead to the nearest of them.
    """
    system = AtLoad(counter, load)
    end = correct(system, x, Rule(max_steps, FAST_CONTRACTION, FAST_CONTRACTION * FIRST_POLISH))
    if end.why in (SINGULAR_MATRIX, DIVERGING):
        system = AtLoad(counter, load, shortest=True)
        end = correct(system, x, Rule(max_steps, 2.0, rounding_ends=True))
        if end.step is None and end.converged:
            system.solve(end.residual)
    return Point(end.x, end.residual, system.J, end.converged and counter.is_balanced(end.x, load), system.is_only)
