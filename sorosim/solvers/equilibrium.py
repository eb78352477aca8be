"""Equilibria: scipy's hybr with the analytic Jacobian; when it fails load continuation, through folds, or a descent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import BDF
from scipy.linalg import lstsq
from scipy.linalg.lapack import dgesv
from scipy.optimize import root

from sorosim.solvers.base import one_blas_thread
from sorosim.solvers.bordered import across, scale

Array = NDArray[np.float64]

# hybr need not be exact: Newton's steps after it are
HYBR_TOLERANCE = 1e-6
# a Newton step below this part of 1 + |x| is the end: the error left is its square
STEP_TOLERANCE = 1e-9
# and below this part no further step can better the digits
EXACT_STEP = 1e-13
# residuals below this part of |J| (1 + |x|) are rounding
ROUNDING = 1e-13
# unknowns beyond have no digits left by which to tell a solution
LARGEST = 1e10
MAX_POLISH = 8
MAX_NEWTON = 40
# a first step of this size, relative to 1 + |x|, or a next one above this part of the last, is not that of Newton's
# method near a regular solution
FIRST_POLISH = 1e-2
FAST = 0.25
# singular values of the scaled J below this part of the largest count as zero where steps are not fast
SINGULAR = 1e-7
# pivots below this part of the largest are rounding
LOST = 1e-14
# load continuation: steps along the curve (x, load), and up to which a fold counts as resolved
FIRST_STEP = 0.1
SMALLEST_STEP = 1e-6
FOLD_STEP = 1e-3
MAX_STEPS = 1000
# so many steps must bring the load farther than this: what is free at load 0 could go anywhere
FIRST_STEPS, STILL = 40, 1e-6
MAX_CORRECTIONS = 20
LOAD_DIFFERENCE = 1e-7
# descent along the forces: Newton's method takes over where they have fallen to this part; and when to give it up
SETTLED = 1e-3
MAX_DESCENT, FARTHEST = 1000, 1e3


@dataclass(frozen=True)
class Sinking:
    """dy/dt = rate(y), along which a state comes to rest at a solution; of dissipative kind."""

    rate: Callable[[Array], Array]
    jacobian: Callable[[Array], Array]
    start: Array
    unknowns: Callable[[Array], Array]  # x at y


@dataclass(frozen=True)
class StaticProblem:
    """residual(x, load) = 0 at load = 1; at load = 0 nothing pulls, and x_unloaded is the solution."""

    residual: Callable[[Array, float], Array]
    jacobian: Callable[[Array, float], tuple[Array, Array]]  # residual and its derivative (n, n)
    x_unloaded: Array
    analytic: bool = True  # False: differences of the residual in hybr, for comparison
    sinking: Sinking | None = None  # a last resort
    follows: bool = False  # do not jump: first follow the curve from x_unloaded
    too_far: Callable[[Array, float, Array, float], bool] | None = None  # whether a step jumps
    rounding: Array | float = 0.0  # residuals that are nothing else, where forces that J does not show cancel; (n,)
    jumps: bool = True  # with `follows`: where the curve ends, hybr may find another solution


@dataclass(frozen=True)
class StaticSolution:
    """What the solver has to say."""

    x: Array
    residual: Array
    jacobian: Array  # (n, n) at x
    success: bool
    message: str
    n_residual: int
    n_jacobian: int


@dataclass(frozen=True)
class _Point:
    """Where Newton's method ended, and whether that is a solution."""

    x: Array
    residual: Array
    jacobian: Array
    good: bool
    isolated: bool = True


class _Counter:
    """The problem at one load, counting."""

    def __init__(self, problem: StaticProblem) -> None:
        self.problem = problem
        self.n_residual = self.n_jacobian = 0

    def residual(self, x: Array, load: float) -> Array:
        self.n_residual += 1
        return self.problem.residual(x, load)

    def jacobian(self, x: Array, load: float) -> tuple[Array, Array]:
        self.n_jacobian += 1
        return self.problem.jacobian(x, load)


def _solve(J: Array, r: Array) -> Array:
    """J^-1 r; NaN where J is singular."""
    return _factored(J, r)[0]


def _factored(J: Array, r: Array) -> tuple[Array, bool]:
    """J^-1 r, NaN where J is singular, and whether J is regular beyond rounding."""
    d = scale(J)
    lu, _, y, info = dgesv(d[:, None] * J * d, d * r)
    pivots = np.abs(np.diag(lu))
    regular = bool(pivots.min(initial=np.inf) > LOST * pivots.max(initial=0.0))
    return (d * y if info == 0 else np.full_like(r, np.nan)), regular


def _is_rounding(counter: _Counter, r: Array, J: Array, x: Array) -> bool:
    return bool((np.abs(r) <= ROUNDING * (np.abs(J) @ (1.0 + np.abs(x))) + counter.problem.rounding).all())


def _shortest(J: Array, r: Array) -> tuple[Array, bool]:
    """The shortest step that makes the linearised residual least, and whether it is the only one.

    Shortest in scaled coordinates.
    """
    d = scale(J)
    y, _, rank, _ = lstsq(d[:, None] * J * d, d * r, cond=SINGULAR, check_finite=False)
    return d * y, rank == len(r)


def _newton(counter: _Counter, x: Array, load: float, max_steps: int) -> _Point:
    """Newton steps until they are as small as digits allow.

    Steps must shrink fast; the last one, of size eps, leaves an error of size eps^2. Where they do not, J may be
    singular because the solution has others in its neighbourhood, as that of a pendulum on a ball joint: from the start
    again, the shortest steps then lead to the nearest of them.
    """
    start, before, only = x, FIRST_POLISH, True
    shortest = False
    k = 0
    while True:
        r, J = counter.jacobian(x, load)
        if not (np.isfinite(r).all() and np.isfinite(J).all() and np.abs(x).max() < LARGEST):
            return _Point(x, r, J, False)
        rounding = _is_rounding(counter, r, J, x)
        step, only = _shortest(J, r) if shortest else _factored(J, r)
        size = float(np.abs(step).max(initial=0.0) / (1.0 + np.abs(x).max(initial=0.0)))
        if (only or not shortest) and (size <= EXACT_STEP or (size <= STEP_TOLERANCE and size >= FAST * before)):
            return _Point(x, r, J, True, only)
        if shortest and rounding:
            return _Point(x, r, J, True, only)
        if not shortest and not size < FAST * before:
            shortest, x, before, k = True, start, np.inf, 0
            continue
        if not size < 2.0 * before or k == max_steps:
            return _Point(x, r, J, False, only)
        x, before, k = x - step, size, k + 1


def solve_equilibrium(problem: StaticProblem, x0: Array, *, near: bool = False) -> StaticSolution:
    """Solve residual(x, 1) = 0 by hybr from x0; when that fails, by raising the load from 0 in steps of its own choice.

    `near`: x0 may be a solution already, and is then kept. The message says what it did.
    """
    counter = _Counter(problem)
    if len(x0) == 0:
        r, J = counter.jacobian(x0, 1.0)
        return StaticSolution(x0, r, J, True, "nothing to solve: no coordinate is free", 0, 1)
    with one_blas_thread(), np.errstate(all="ignore"):
        point, said = (_newton(counter, x0, 1.0, MAX_POLISH) if near else None), "hybr converged"
        if problem.follows and (point is None or not point.good):
            point, said = _follow(counter)
        if problem.jumps and (point is None or not point.good):
            point, said = _hybr(counter, x0)
            if point is not None and not point.isolated:
                # along what nothing holds hybr may have gone anywhere, where digits are lost; damped steps do not
                nearest = _damped(counter, x0)
                point = nearest if nearest.good else point
        if point is None:
            point, course = _continue(counter)
            said = f"hybr failed ({said}); load continuation from the unloaded state {course}"
            if not point.good:
                last = _newton(counter, x0, 1.0, MAX_NEWTON)
                if last.good:
                    point, said = last, f"{said}; Newton's steps from the start converged"
                elif problem.sinking and (steps := _descend(counter, problem.sinking)):
                    point, said = steps[0], f"{said}; let go at the start, it came to rest in {steps[1]} steps"
    if point.good and not point.isolated:
        said += "; the tangent stiffness is singular, there are others nearby"
    counts = counter.n_residual, counter.n_jacobian
    return StaticSolution(point.x, point.residual, point.jacobian, point.good, said, *counts)


def _follow(counter: _Counter) -> tuple[_Point, str]:
    """Follow the curve of solutions from the start as far as it goes; and what to say of it."""
    x = counter.problem.x_unloaded
    r, J = counter.jacobian(x, 1.0)
    first = np.abs(_solve(J, r)).max()
    if first <= FIRST_POLISH * (1.0 + np.abs(x).max()):
        point = _newton(counter, x, 1.0, MAX_POLISH)
        if point.good and np.abs(point.x - x).max() <= 2.0 * first:
            return point, "Newton's steps from load 0 converged"
    point, course = _continue(counter)
    return point, f"load continuation {course}"


def _hybr(counter: _Counter, x0: Array) -> tuple[_Point | None, str]:
    """hybr at the full load, ended by Newton steps: the solution and what to say of it, or None and why not."""
    jacobian = (lambda x: counter.jacobian(x, 1.0)[1]) if counter.problem.analytic else None
    options: Any = {"xtol": HYBR_TOLERANCE, "maxfev": 0}
    try:
        found = root(lambda x: counter.residual(x, 1.0), x0, jac=jacobian, method="hybr", options=options)
    except (ValueError, np.linalg.LinAlgError) as error:
        return None, str(error)
    # where hybr gives up for lack of progress it may have arrived: let Newton's steps judge
    x = np.asarray(found.x, dtype=float)
    if np.isfinite(x).all():
        point = _newton(counter, x, 1.0, MAX_POLISH)
        if point.good:
            return point, "hybr converged"
    why = " ".join(str(found.message).split()).rstrip(".").lower()
    return None, "its end point is no solution" if found.success else why


def _damped(counter: _Counter, x0: Array) -> _Point:
    """Levenberg and Marquardt's steps from x0, which stay where nothing pulls, ended by Newton's."""
    x, solve = x0, cast(Any, root)
    try:
        found = solve(lambda y: counter.residual(y, 1.0), x0, jac=lambda y: counter.jacobian(y, 1.0)[1], method="lm")
        x = np.asarray(found.x, dtype=float)
    except (ValueError, np.linalg.LinAlgError):
        pass  # then Newton's steps from x0 judge
    return _newton(counter, x if np.isfinite(x).all() else x0, 1.0, MAX_POLISH)


def _continue(counter: _Counter) -> tuple[_Point, str]:
    """Follow the curve (x, load) from load 0 until it comes to load 1, through folds, where the load turns back.

    Predictor along the tangent, Newton corrector across it; the step is halved where that fails, where the tangent
    turns by more than 60 degrees, and until a fold is resolved. Returns the solution, or the point of the highest load,
    and what happened.
    """
    n, too_far = len(counter.problem.x_unloaded), counter.problem.too_far
    z, tangent = np.append(counter.problem.x_unloaded, 0.0), np.append(np.zeros(n), 1.0)
    r, J = counter.jacobian(z[:n], 0.0)
    tangent = _tangent(counter, z, r, J, tangent)
    highest, best, past, folds, steps, step = 0.0, _Point(z[:n], r, J, False), "", 0, 0, FIRST_STEP
    while step >= SMALLEST_STEP and steps < MAX_STEPS and z[n] > -1.0:
        found = _correct(counter, z + step * tangent, tangent)
        turned = tangent if found is None else _tangent(counter, *found, tangent)
        fold = int(turned[n] * tangent[n] < 0.0)
        jumped = found is not None and too_far is not None and too_far(z[:n], z[n], found[0][:n], found[0][n])
        if found is None or jumped or turned @ tangent < 0.5 or (fold and step > FOLD_STEP):
            step *= 0.5
            continue
        before, (z, r, J), tangent, step = z, found, turned, 1.5 * step
        folds, steps = folds + fold, steps + 1
        if steps == FIRST_STEPS and abs(z[n]) < STILL:
            break
        if z[n] > highest and not folds:
            highest, best = float(z[n]), _Point(z[:n], r, J, False)
        if fold:
            past = f", past {folds} folds, the first at {100.0 * highest:.4g} % of it"
        if z[n] >= 1.0:
            share = (1.0 - before[n]) / (z[n] - before[n])
            between = before[:n] + share * (z - before)[:n]
            point = _newton(counter, between, 1.0, MAX_POLISH)
            if not point.good and (found := _correct(counter, np.append(between, 1.0), np.eye(n + 1)[n])) is not None:
                point = _newton(counter, found[0][:n], 1.0, MAX_POLISH)
            if point.good:
                return point, f"reached the full load in {steps} steps{past}"
            z, step = before, 0.25 * step
    return best, f"stopped at {round(100.0 * highest, 4):.4g} % of the load after {steps} steps{past}"


def _tangent(counter: _Counter, z: Array, r: Array, J: Array, along: Array) -> Array:
    """Unit tangent of the curve at z = (x, load), in the sense of `along`; where J has none, `along` itself."""
    slope = (counter.residual(z[:-1], z[-1] + LOAD_DIFFERENCE) - r) / LOAD_DIFFERENCE
    t = across(J, slope, along, np.append(np.zeros(len(r)), 1.0))
    return t / np.linalg.norm(t) if np.isfinite(t).all() else along


def _correct(counter: _Counter, z: Array, tangent: Array) -> tuple[Array, Array, Array] | None:
    """Newton's method from z across the tangent: a point of the curve, residual and Jacobian there, or None."""
    before = np.inf
    for _ in range(MAX_CORRECTIONS):
        r, J = counter.jacobian(z[:-1], z[-1])
        # steps may still be large where surfaces just touch: J is singular there
        if _is_rounding(counter, r, J, z[:-1]):
            return z, r, J
        slope = (counter.residual(z[:-1], z[-1] + LOAD_DIFFERENCE) - r) / LOAD_DIFFERENCE
        step = across(J, slope, tangent, np.append(r, 0.0))
        size = float(np.abs(step).max() / (1.0 + np.abs(z).max()))
        if size <= STEP_TOLERANCE:
            return z, r, J
        if not size < before:
            return None
        z, before = z - step, size
    return None


def _descend(counter: _Counter, sinking: Sinking) -> tuple[_Point, int] | None:
    """Let the state sink until it is at rest: the solution there and the number of steps, or None.

    It needs no regular J, as where nothing but a stop far below holds a mass; and it comes to stable equilibria only.
    """
    y = sinking.start
    first, farthest = float(np.abs(sinking.rate(y)).max()), FARTHEST * (1.0 + np.abs(y).max())
    if not np.isfinite(first):
        return None
    settled = SETTLED * first
    try:
        flow = BDF(
            lambda t, y: sinking.rate(y), 0.0, y, np.inf, jac=lambda t, y: sinking.jacobian(y), rtol=1e-3, atol=1e-6
        )
        for k in range(1, MAX_DESCENT + 1):
            flow.step()
            y = np.array(flow.y).reshape(len(y))
            if flow.status == "failed" or not np.abs(y).max() < farthest:
                return None
            rest = float(np.abs(sinking.rate(y)).max())
            if rest <= settled:
                point = _newton(counter, sinking.unknowns(y), 1.0, MAX_POLISH)
                if point.good:
                    return point, k
                settled = 0.1 * rest
    except (ValueError, np.linalg.LinAlgError):  # an infinite Jacobian
        return None
    return None
