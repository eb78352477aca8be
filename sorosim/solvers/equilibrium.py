"""Equilibria: scipy's hybr with the analytic Jacobian; load continuation through folds; descent to a stable one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.linalg.lapack import dpotrf
from scipy.optimize import root

from sorosim.linear.eigenmodes import NOISE
from sorosim.solvers.base import one_blas_thread
from sorosim.solvers.bordered import across, equilibration, scale
from sorosim.solvers.descent import RANK_TOLERANCE, Descent, curvatures, descend
from sorosim.solvers.newton import (
    FIRST_POLISH,
    MAX_NEWTON,
    MAX_POLISH,
    ROUNDING,
    STEP_TOLERANCE,
    Counter,
    Point,
    StaticProblem,
    is_rounding,
    newton,
    solved,
)

Array = NDArray[np.float64]

# hybr need not be exact: Newton's steps after it are
HYBR_TOLERANCE = 1e-6
# load continuation: steps along the curve (x, load), and up to which a fold counts as resolved
FIRST_STEP = 0.1
SMALLEST_STEP = 1e-6
FOLD_STEP = 1e-3
MAX_STEPS = 1000
# so many steps must bring the load farther than this: what is free at load 0 could go anywhere
FIRST_STEPS, STILL = 40, 1e-6
MAX_CORRECTIONS = 20
LOAD_DIFFERENCE = 1e-7
# what becomes of small motions about a solution
STABLE, DIVERGES, FLUTTERS = "stable", "diverges", "flutters"
NEUTRAL = "; neutral: the tangent stiffness is singular, there are others nearby"
# pivots of a scaled, symmetric J above this are positive beyond rounding
POSITIVE = 1e-6
# work below this part of that of the stiffest parts is rounding
WORK = 1e-12
# nodes and weights of Gauss' rule for the work on the straight way from the start to a solution
NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)
# two estimates of that work are believed if they have one sign and differ by no more than this factor
ALIKE = 3.0


@dataclass(frozen=True)
class StaticSolution:
    """Result of the solver."""

    x: Array
    residual: Array
    jacobian: Array  # (n, n) at x
    success: bool
    message: str
    n_residual: int
    n_jacobian: int
    first: tuple[Array, Array, Array] | None = (
        None  # where the Jacobian was evaluated first, residual and Jacobian there
    )
    released: bool = False  # whether the forces led there from the start


def solve_equilibrium(problem: StaticProblem, x0: Array, *, near: bool = False) -> StaticSolution:
    """Solve residual(x, 1) = 0 by hybr from x0; when that fails, by raising the load from 0 in steps of its own choice.

    `near`: x0 may be a solution already, and is then returned. The message says what happened.
    """
    counter = Counter(problem)
    if len(x0) == 0:
        r, J = counter.jacobian(x0, 1.0)
        return StaticSolution(x0, r, J, True, "nothing to solve: no coordinate is free", 0, 1)
    with one_blas_thread(), np.errstate(all="ignore"):
        point, said, released = _first(counter, x0, near)
    if point.good and not point.isolated:
        said += NEUTRAL
    counts = counter.n_residual, counter.n_jacobian
    found = StaticSolution(point.x, point.residual, point.jacobian, point.good, said, *counts, counter.first)
    return replace(found, released=released)


def settle_equilibrium(problem: StaticProblem, found: StaticSolution, x0: Array) -> StaticSolution:
    """Continue from a solution that was found from x0 to a stable one, if `problem.stable`.

    From one at which the forces would have had to gain energy: down from x0; from an unstable one: down from there, at
    first along the motion that grows fastest. Where nothing leads down it stays; the message says so.
    """
    if not (found.success and problem.descent is not None and problem.descent.n):
        return found
    counter = Counter(problem)
    counter.first = found.first
    with one_blas_thread(), np.errstate(all="ignore"):
        point, said = _settled(counter, problem.descent, x0, found)
        x, J = (found.x, found.jacobian) if point is None else (point.x, point.jacobian)
        neutral = not _is_positive(J, problem.descent.n) and curvatures(J, problem.descent.weight(x)).neutral
    neutral = neutral or (found.message.endswith(NEUTRAL) if point is None else not point.isolated)
    said = found.message.removesuffix(NEUTRAL) + said + NEUTRAL * neutral
    counts = found.n_residual + counter.n_residual, found.n_jacobian + counter.n_jacobian
    if point is None:
        return replace(found, message=said, n_residual=counts[0], n_jacobian=counts[1])
    return replace(StaticSolution(point.x, point.residual, point.jacobian, True, said, *counts), released=True)


def _first(counter: Counter, x0: Array, near: bool) -> tuple[Point, str, bool]:
    """A solution, or how far the search for one came; its course in words; whether it was a descent from the start."""
    problem = counter.problem
    point, said, released = (newton(counter, x0, 1.0, MAX_POLISH) if near else None), "hybr converged", ""
    if (point is None or not point.good) and problem.releases:
        point, released = _released(counter, x0)
        if point is not None:
            return point, f"let go at the start, {released}", True
    if problem.follows and (point is None or not point.good):
        point, said = _follow(counter)
    if problem.jumps and (point is None or not point.good):
        point, said = _hybr(counter, x0)
        if point is not None and not point.isolated:
            # along what nothing holds hybr may have gone anywhere, where digits are lost; damped steps do not
            nearest = _damped(counter, x0)
            point = nearest if nearest.good else point
        if point is not None and _passes(problem, x0, point.x):
            point, said = None, "it may have passed through a contact"
    if point is not None:
        return point, said, False
    point, course = _continue(counter)
    said = f"hybr failed ({said}); load continuation from the unloaded state {course}"
    if point.good:
        return point, said, False
    last = newton(counter, x0, 1.0, MAX_NEWTON)
    if last.good and not _passes(problem, x0, last.x):
        return last, f"{said}; Newton's steps from the start converged", False
    if not released:
        end, released = _released(counter, x0)
        if end is not None:
            return end, f"{said}; let go at the start, {released}", True
    return point, said + f"; let go at the start, {released}" * bool(released), False


def _passes(problem: StaticProblem, x: Array, y: Array) -> bool:
    """Whether something may have passed through something else between two states at the full load."""
    return problem.too_far is not None and problem.too_far(x, 1.0, y, 1.0)


def _settled(counter: Counter, descent: Descent, x0: Array, found: StaticSolution) -> tuple[Point | None, str]:
    """A stable solution below another one, None if there is none; and its course in words."""
    problem = counter.problem
    higher = problem.stable and not found.released and _rises(counter, descent.n, x0, found)
    if higher and (lower := _released(counter, x0))[0] is not None:
        return lower[0], f", at more energy than at the start; let go there, {lower[1]}"
    if _is_positive(found.jacobian, descent.n):
        return None, ""
    local = curvatures(found.jacobian, descent.weight(found.x))
    grows = DIVERGES if local.negative else STABLE
    if not local.symmetric and problem.stability is not None:
        grows = problem.stability(found.x)
    if grows != DIVERGES:
        return None, "; unstable: it flutters" if grows == FLUTTERS else ""
    if not problem.stable:
        return None, "; unstable: small motions about it grow"
    end, course = _released(counter, found.x, (x0 - found.x)[: descent.n])
    if end is None:
        return None, f"; unstable: small motions about it grow; let go there, {course}"
    return end, f", at an unstable equilibrium; let go there, {course}"


def _rises(counter: Counter, n: int, x0: Array, point: StaticSolution) -> bool:
    """Whether the forces oppose a displacement from the start to a solution, as they do where energy is gained.

    Multipliers do no work along states that are closed, so the forces without them decide.
    """
    way = (point.x - x0)[:n]
    if np.abs(way).max(initial=0.0) <= FIRST_POLISH * (1.0 + np.abs(x0).max()):
        return False
    J = point.jacobian
    if counter.first is not None and np.array_equal(counter.first[0], x0):
        _, r, J = counter.first
        ends = [r[:n] - J[:n, n:] @ x0[n:], point.residual[:n] - point.jacobian[:n, n:] @ point.x[n:]]
        rough = 0.5 * float(way @ (ends[0] + ends[1]))
        fine = rough + float(way @ ((J - point.jacobian)[:n, :n] @ way)) / 12.0
        if max(rough, fine) < 0.0 and (len(x0) > n or rough / fine < ALIKE > fine / rough):
            return False
    x, work = np.zeros_like(x0), 0.0
    for node, share in zip(NODES, WEIGHTS, strict=True):
        x[:n] = x0[:n] + 0.5 * (1.0 + node) * way
        work += 0.5 * share * float(way @ counter.residual(x, 1.0)[:n])
    return bool(work > WORK * abs(float(way @ (np.abs(J[:n, :n]) @ np.abs(way)))))


def _is_positive(J: Array, n: int) -> bool:
    """Whether the tangent stiffness is symmetric and positive definite where constraints stay closed."""
    K = J[:n, :n]
    if len(J) > n:
        d = scale(K)
        rows = J[n:, :n] * d
        basis = null_space(equilibration(rows)[:, None] * rows, rcond=RANK_TOLERANCE)
        K = basis.T @ (d[:, None] * K * d) @ basis
    largest = np.abs(K).max(initial=0.0)
    if not (
        np.abs(K - K.T).max(initial=0.0) <= NOISE * largest and np.diag(K).min(initial=np.inf) > ROUNDING * largest
    ):
        return False  # or rounding may be all that is positive
    d = scale(K)
    factor, info = dpotrf(d[:, None] * K * d)
    return info == 0 and bool((np.diag(factor) ** 2).min(initial=np.inf) > POSITIVE)


def _released(counter: Counter, x: Array, towards: Array | None = None) -> tuple[Point | None, str]:
    """Descend from x: the stable solution to which the forces lead, None if to none; and its course in words."""
    problem, points = counter.problem, []
    if problem.descent is None or not problem.descent.n:
        return None, ""

    def settle(y: Array, at_rest: bool) -> Array | None:
        points.append(newton(counter, y, 1.0, MAX_POLISH))
        if at_rest and not points[-1].good:
            points.append(Point(y, *counter.jacobian(y, 1.0), True, False))
        return points[-1].x if points[-1].good else None

    too_far = None if problem.too_far is None else (lambda a, b: _passes(problem, a, b))
    end, course = descend(lambda y: counter.jacobian(y, 1.0), x, problem.descent, settle, too_far, towards)
    return (None if end is None else points[-1]), course


def _follow(counter: Counter) -> tuple[Point, str]:
    """Follow the curve of solutions from the start as far as it goes; and its course in words."""
    x = counter.problem.x_unloaded
    r, J = counter.jacobian(x, 1.0)
    first = np.abs(solved(J, r)).max()
    if first <= FIRST_POLISH * (1.0 + np.abs(x).max()):
        point = newton(counter, x, 1.0, MAX_POLISH)
        if point.good and np.abs(point.x - x).max() <= 2.0 * first:
            return point, "Newton's steps from load 0 converged"
    point, course = _continue(counter)
    return point, f"load continuation {course}"


def _hybr(counter: Counter, x0: Array) -> tuple[Point | None, str]:
    """hybr at the full load, ended by Newton steps: the solution and its course in words, or None and why not."""
    jacobian = (lambda x: counter.jacobian(x, 1.0)[1]) if counter.problem.analytic else None
    options: Any = {"xtol": HYBR_TOLERANCE, "maxfev": 0}
    try:
        found = root(lambda x: counter.residual(x, 1.0), x0, jac=jacobian, method="hybr", options=options)
    except (ValueError, np.linalg.LinAlgError) as error:
        return None, str(error)
    # where hybr gives up for lack of progress it may have arrived: let Newton's steps judge
    x = np.asarray(found.x, dtype=float)
    if np.isfinite(x).all():
        point = newton(counter, x, 1.0, MAX_POLISH)
        if point.good:
            return point, "hybr converged"
    why = " ".join(str(found.message).split()).rstrip(".").lower()
    return None, "its end point is no solution" if found.success else why


def _damped(counter: Counter, x0: Array) -> Point:
    """Levenberg and Marquardt's steps from x0, which stay where nothing pulls, ended by Newton's."""
    x, solve = x0, cast(Any, root)
    try:
        found = solve(lambda y: counter.residual(y, 1.0), x0, jac=lambda y: counter.jacobian(y, 1.0)[1], method="lm")
        x = np.asarray(found.x, dtype=float)
    except (ValueError, np.linalg.LinAlgError):
        pass  # then Newton's steps from x0 judge
    return newton(counter, x if np.isfinite(x).all() else x0, 1.0, MAX_POLISH)


def _continue(counter: Counter) -> tuple[Point, str]:
    """Follow the curve (x, load) from load 0 until it comes to load 1, through folds, where the load turns back.

    Predictor along the tangent, Newton corrector across it; the step is halved where that fails, where the tangent
    turns by more than 60 degrees, and until a fold is resolved. Returns the solution, or the point of the highest load,
    and what happened.
    """
    n, too_far = len(counter.problem.x_unloaded), counter.problem.too_far
    z, tangent = np.append(counter.problem.x_unloaded, 0.0), np.append(np.zeros(n), 1.0)
    r, J = counter.jacobian(z[:n], 0.0)
    tangent = _tangent(counter, z, r, J, tangent)
    highest, best, past, folds, steps, step = 0.0, Point(z[:n], r, J, False), "", 0, 0, FIRST_STEP
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
        if highest < z[n] < 1.0 and not folds:
            highest, best = float(z[n]), Point(z[:n], r, J, False)
        if fold:
            past = f", past {folds} folds, the first at {100.0 * highest:.4g} % of it"
        if z[n] >= 1.0:
            share = (1.0 - before[n]) / (z[n] - before[n])
            between = before[:n] + share * (z - before)[:n]
            point = newton(counter, between, 1.0, MAX_POLISH)
            if not point.good and (found := _correct(counter, np.append(between, 1.0), np.eye(n + 1)[n])) is not None:
                point = newton(counter, found[0][:n], 1.0, MAX_POLISH)
            if point.good:
                return point, f"reached the full load in {steps} steps{past}"
            z, step = before, 0.25 * step
    return best, f"stopped at {round(100.0 * highest, 4):.4g} % of the load after {steps} steps{past}"


def _tangent(counter: Counter, z: Array, r: Array, J: Array, along: Array) -> Array:
    """Unit tangent of the curve at z = (x, load), in the sense of `along`; where J has none, `along` itself."""
    slope = (counter.residual(z[:-1], z[-1] + LOAD_DIFFERENCE) - r) / LOAD_DIFFERENCE
    t = across(J, slope, along, np.append(np.zeros(len(r)), 1.0))
    return t / np.linalg.norm(t) if np.isfinite(t).all() else along


def _correct(counter: Counter, z: Array, tangent: Array) -> tuple[Array, Array, Array] | None:
    """Newton's method from z across the tangent: a point of the curve, residual and Jacobian there, or None."""
    before = np.inf
    for _ in range(MAX_CORRECTIONS):
        r, J = counter.jacobian(z[:-1], z[-1])
        # steps may still be large where surfaces just touch: J is singular there
        if is_rounding(counter, r, J, z[:-1]):
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
