"""Equilibria: scipy's hybr with the analytic Jacobian; load continuation through folds; descent to a stable one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
from scipy.linalg import null_space
from scipy.linalg.lapack import dpotrf
from scipy.optimize import root

from sorosim.analysis.solvers.bordered import equilibration, scale, solve_bordered
from sorosim.analysis.solvers.curve import Corrected, newton_across
from sorosim.analysis.solvers.descent import RANK_TOLERANCE, Curvatures, Descent, curvatures, descend
from sorosim.analysis.solvers.newton import (
    FIRST_POLISH,
    MAX_NEWTON,
    MAX_POLISH,
    ROUNDING,
    Counter,
    Point,
    StaticProblem,
    newton,
    solve_scaled,
)
from sorosim.base.arrays import Array
from sorosim.base.ode import one_blas_thread
from sorosim.mechanics.dynamics.constraints import RANK_TOLERANCE as DEPENDENT
from sorosim.mechanics.linear.eigenmodes import NOISE

# hybr need not be exact: Newton's steps after it are
HYBR_TOLERANCE = 1e-6
# load continuation: steps along the curve (x, load), and up to which a fold counts as resolved
FIRST_STEP = 0.1
SMALLEST_STEP = 1e-6
FOLD_STEP = 1e-3
MAX_STEPS = 1000
# the tangent turns by no more than 60 degrees a step: an arc is off it by no more than this part of the step
LEAST_COSINE, MOST_ASIDE = 0.5, 0.58  # tan 30 degrees
# in so many steps the load must change by this: else they follow a rigid-body mode
NEUTRAL_STEPS, LEAST_CHANGE = 40, 1e-6
# what becomes of small motions about a solution
STABLE, DIVERGES, FLUTTERS = "stable", "diverges", "flutters"
# pivots of a scaled, symmetric J above this are positive beyond rounding
POSITIVE_PIVOT = 1e-6
# work below this part of that of the stiffest parts is rounding
WORK_TOLERANCE = 1e-12
# nodes and weights of Gauss' rule for the work on the straight way from the start to a solution
NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)
# two estimates of that work are believed if they have one sign and differ by no more than this factor
AGREEMENT = 3.0


@dataclass(frozen=True)
class StaticSolution:
    """Result of the solver."""

    x: Array
    residual: Array
    jacobian: Array  # (n, n) at x; (0, 0) where it was not formed
    success: bool
    course: str  # of the search, in words
    n_residual: int
    n_jacobian: int
    first: tuple[Array, Array, Array] | None = (
        None  # where the Jacobian was evaluated first, residual and Jacobian there
    )
    released: bool = False  # whether the forces led there from the start
    neutral: bool = False  # whether it moves without a force in some direction
    folds: int = 0  # limit loads that the load continuation passed

    @property
    def has_jacobian(self) -> bool:
        """Whether it was formed."""
        return len(self.jacobian) == len(self.x)

    @property
    def message(self) -> str:
        neutral = "; neutral: the tangent stiffness is singular, there are others nearby"
        return self.course + neutral * self.neutral


def solve_equilibrium(problem: StaticProblem, x0: Array, *, near: bool = False) -> StaticSolution:
    """Solve residual(x, 1) = 0 by hybr from x0; if that fails, by load continuation from 0 in adaptive steps.

    `near`: x0 may be a solution already, and is then returned. The message says what happened.
    """
    counter = Counter(problem)
    if len(x0) == 0:
        r, J = counter.jacobian(x0, 1.0)
        return StaticSolution(x0, r, J, True, "nothing to solve: no coordinate is free", 0, 1)
    with one_blas_thread(), np.errstate(all="ignore"):
        point, course, released = _search(counter, x0, near)
    return StaticSolution(
        point.x, point.residual, point.jacobian, point.converged, course, counter.n_residual, counter.n_jacobian,
        counter.first, released, neutral=point.converged and not point.isolated, folds=counter.folds,
    )  # fmt: skip


def stabilise_equilibrium(problem: StaticProblem, solution: StaticSolution, x0: Array) -> StaticSolution:
    """Descend from an unstable solution to a stable one, if `problem.stable`; x0 is where its search began.

    From one at which the forces would have had to gain energy: down from x0; from an unstable one: down from there, at
    first along the motion that grows fastest. If no step decreases the energy, the solution stays; the message says so.
    """
    if not (solution.success and problem.descent is not None and problem.descent.n):
        return solution
    counter = Counter(problem)
    counter.first = solution.first
    with one_blas_thread(), np.errstate(all="ignore"):
        local = _curvatures_unless_positive(solution, problem.descent)
        point, course = _stabilised(counter, problem.descent, x0, solution, local)
        end = local if point is None else _curvatures_unless_positive(point, problem.descent)
        neutral = end is not None and end.neutral
    solution = replace(
        solution,
        course=solution.course + course,
        neutral=neutral or (solution.neutral if point is None else not point.isolated),
        n_residual=solution.n_residual + counter.n_residual,
        n_jacobian=solution.n_jacobian + counter.n_jacobian,
    )
    if point is None:
        return solution
    return replace(solution, x=point.x, residual=point.residual, jacobian=point.jacobian, first=None, released=True)


def _search(counter: Counter, x0: Array, near: bool) -> tuple[Point, str, bool]:
    """A solution, or the last point of the search; its course in words; whether it was a descent from the start."""
    problem = counter.problem
    point, course, released = (newton(counter, x0, 1.0, MAX_POLISH) if near else None), "hybr converged", ""
    if point is None and problem.newton_first:
        point, course = _newton_steps(counter, x0), "Newton's steps converged"
    if (point is None or not point.converged) and problem.descend_first:
        point, released = _descend_from(counter, x0)
        if point is not None:
            return point, f"descent of the potential from the start: {released}", True
    if problem.follow_curve and (point is None or not point.converged):
        point, course = _follow_load(counter)
    if problem.hybr_fallback and (point is None or not point.converged):
        point, course = _hybr(counter, x0)
        if point is not None and not point.isolated:
            # hybr may move far along a rigid-body mode, where digits are lost; damped steps do not
            nearest = _levenberg_marquardt(counter, x0)
            point = nearest if nearest.converged else point
        if point is not None and _may_tunnel(problem, x0, point.x):
            point, course = None, "it may have passed through a contact"
    if point is not None:
        return point, course, False
    point, load_course = _load_continuation(counter)
    course = f"hybr failed ({course}); load continuation from the unloaded state {load_course}"
    if point.converged:
        if not problem.follow_curve and _may_tunnel(problem, x0, problem.x_unloaded):
            course += "; between the start and the unloaded state surfaces pass through each other"
        return point, course, False
    last = newton(counter, x0, 1.0, MAX_NEWTON)
    if last.converged and not _may_tunnel(problem, x0, last.x):
        return last, f"{course}; Newton's steps from the start converged", False
    if not released:
        end, released = _descend_from(counter, x0)
        if end is not None:
            return end, f"{course}; descent of the potential from the start: {released}", True
    return point, course + f"; descent of the potential from the start: {released}" * bool(released), False


def _newton_steps(counter: Counter, x: Array) -> Point | None:
    """A solution by Newton's steps, as long as they do not grow; None where they do."""
    before = np.inf
    for _ in range(MAX_NEWTON):
        r, J = counter.jacobian(x, 1.0)
        step = solve_scaled(J, r)
        size = float(np.abs(step).max() / (1.0 + np.abs(x).max()))
        if not size < 2.0 * before:
            return None
        x, before = x - step, size
        if size <= FIRST_POLISH:
            point = newton(counter, x, 1.0, MAX_POLISH)
            return point if point.converged and point.isolated else None
    return None


def _may_tunnel(problem: StaticProblem, x: Array, y: Array) -> bool:
    """Whether surfaces may have tunnelled through each other between two states at the full load."""
    return problem.may_tunnel is not None and problem.may_tunnel(x, 1.0, y, 1.0)


def _stabilised(
    counter: Counter, descent: Descent, x0: Array, solution: StaticSolution, local: Curvatures | None
) -> tuple[Point | None, str]:
    """A stable solution below another one, None if there is none; and its course in words.

    local: curvatures of the potential there; None where they are positive.
    """
    problem = counter.problem
    gains_energy = problem.stable and not solution.released and _gains_energy(counter, descent.n, x0, solution)
    if gains_energy and (lower := _descend_from(counter, x0))[0] is not None:
        return lower[0], f", at more energy than at the start; let go there, {lower[1]}"
    if local is None:
        return None, ""
    grows = DIVERGES if local.negative else STABLE
    if not local.symmetric and problem.stability is not None:
        grows = problem.stability(solution.x)
    if grows != DIVERGES:
        return None, "; unstable: it flutters" if grows == FLUTTERS else ""
    if not problem.stable:
        return None, "; unstable: small motions about it grow"
    end, course = _descend_from(counter, solution.x, (x0 - solution.x)[: descent.n])
    if end is None:
        return None, f"; unstable: small motions about it grow; let go there, {course}"
    return end, f", at an unstable equilibrium; let go there, {course}"


def _gains_energy(counter: Counter, n: int, x0: Array, point: StaticSolution) -> bool:
    """Whether the forces oppose a displacement from the start to a solution, as they do where energy is gained.

    Multipliers do no work along states that are closed, so the forces without them decide.
    """
    displacement = (point.x - x0)[:n]
    if np.abs(displacement).max(initial=0.0) <= FIRST_POLISH * (1.0 + np.abs(x0).max()):
        return False
    J = point.jacobian
    if counter.first is not None and np.array_equal(counter.first[0], x0):
        _, r, J = counter.first
        ends = [r[:n] - J[:n, n:] @ x0[n:], point.residual[:n] - point.jacobian[:n, n:] @ point.x[n:]]
        rough = 0.5 * float(displacement @ (ends[0] + ends[1]))
        fine = rough + float(displacement @ ((J - point.jacobian)[:n, :n] @ displacement)) / 12.0
        if max(rough, fine) < 0.0 and (len(x0) > n or rough / fine < AGREEMENT > fine / rough):
            return False
    x, work = np.zeros_like(x0), 0.0
    for node, share in zip(NODES, WEIGHTS, strict=True):
        x[:n] = x0[:n] + 0.5 * (1.0 + node) * displacement
        work += 0.5 * share * float(displacement @ counter.residual(x, 1.0)[:n])
    return bool(work > WORK_TOLERANCE * abs(float(displacement @ (np.abs(J[:n, :n]) @ np.abs(displacement)))))


def _is_positive_definite(J: Array, n: int) -> bool:
    """Whether the tangent stiffness is symmetric and positive definite where constraints stay closed."""
    K = J[:n, :n]
    if len(J) > n:
        d = scale(K)
        rows = J[n:, :n] * d
        basis = null_space(equilibration(rows, least=DEPENDENT)[:, None] * rows, rcond=RANK_TOLERANCE)
        K = basis.T @ (d[:, None] * K * d) @ basis
    largest = np.abs(K).max(initial=0.0)
    if not (
        np.abs(K - K.T).max(initial=0.0) <= NOISE * largest and np.diag(K).min(initial=np.inf) > ROUNDING * largest
    ):
        return False  # or rounding may be all that is positive
    d = scale(K)
    factor, info = dpotrf(d[:, None] * K * d)
    return info == 0 and bool((np.diag(factor) ** 2).min(initial=np.inf) > POSITIVE_PIVOT)


def _curvatures_unless_positive(point: Point | StaticSolution, descent: Descent) -> Curvatures | None:
    """Curvatures of the potential; None where the tangent stiffness is symmetric and positive definite."""
    J = point.jacobian
    return None if _is_positive_definite(J, descent.n) else curvatures(J, descent.weight(point.x))


def _descend_from(counter: Counter, x: Array, towards: Array | None = None) -> tuple[Point | None, str]:
    """Descend from x: the stable solution to which the forces lead, None if to none; and its course in words."""
    problem, points = counter.problem, []
    if problem.descent is None or not problem.descent.n:
        return None, ""

    def settle(y: Array, at_rest: bool) -> Array | None:
        points.append(newton(counter, y, 1.0, MAX_POLISH))
        if at_rest and not points[-1].converged:
            points.append(Point(y, *counter.jacobian(y, 1.0), counter.is_balanced(y, 1.0), False))
        return points[-1].x if points[-1].converged else None

    may_tunnel = None if problem.may_tunnel is None else (lambda a, b: _may_tunnel(problem, a, b))
    end, course = descend(lambda y: counter.jacobian(y, 1.0), x, problem.descent, settle, may_tunnel, towards)
    return (None if end is None else points[-1]), course


def _follow_load(counter: Counter) -> tuple[Point, str]:
    """Follow the curve of solutions from the start as far as it goes; and its course in words."""
    x = counter.problem.x_unloaded
    r, J = counter.jacobian(x, 1.0)
    first = np.abs(solve_scaled(J, r)).max()
    if first <= FIRST_POLISH * (1.0 + np.abs(x).max()):
        point = newton(counter, x, 1.0, MAX_POLISH)
        if point.converged and np.abs(point.x - x).max() <= 2.0 * first:
            return point, f"Newton's steps from {counter.problem.raised} 0 converged"
    point, course = _load_continuation(counter)
    return point, f"{counter.problem.raised} continuation {course}"


def _hybr(counter: Counter, x0: Array) -> tuple[Point | None, str]:
    """hybr at the full load, ended by Newton steps: the solution and its course in words, or None and why not."""
    jacobian = (lambda x: counter.jacobian(x, 1.0)[1]) if counter.problem.analytic else None
    options: Any = {"xtol": HYBR_TOLERANCE, "maxfev": 0}
    try:
        result = root(lambda x: counter.residual(x, 1.0), x0, jac=jacobian, method="hybr", options=options)
    except (ValueError, np.linalg.LinAlgError) as error:
        return None, str(error)
    # hybr may stop for lack of progress at a solution: polish by Newton's method
    x = np.asarray(result.x, dtype=float)
    if np.isfinite(x).all():
        point = newton(counter, x, 1.0, MAX_POLISH)
        if point.converged:
            return point, "hybr converged"
    why = " ".join(str(result.message).split()).rstrip(".").lower()
    return None, "its end point is no solution" if result.success else why


def _levenberg_marquardt(counter: Counter, x0: Array) -> Point:
    """Levenberg-Marquardt from x0, which does not move along rigid-body modes, ended by Newton's method."""
    x, solve = x0, cast(Any, root)
    try:
        result = solve(lambda y: counter.residual(y, 1.0), x0, jac=lambda y: counter.jacobian(y, 1.0)[1], method="lm")
        x = np.asarray(result.x, dtype=float)
    except (ValueError, np.linalg.LinAlgError):
        pass  # then Newton's method starts from x0
    return newton(counter, x if np.isfinite(x).all() else x0, 1.0, MAX_POLISH)


def _load_continuation(counter: Counter) -> tuple[Point, str]:
    """Follow the curve (x, load) from load 0 until it comes to load 1, through folds, where the load turns back.

    Predictor along the tangent, Newton corrector across it; the step is halved where that fails or leads farther aside
    than an arc, as onto another curve, where the tangent turns by more than 60 degrees, and until a fold is resolved.
    Returns the solution, or the point of the highest load, and what happened.
    """
    n, may_tunnel = len(counter.problem.x_unloaded), counter.problem.may_tunnel
    up, z = np.append(np.zeros(n), 1.0), np.append(counter.problem.x_unloaded, 0.0)
    r, J, slope = counter.along_load(z)
    tangent = _tangent(J, slope, up)
    highest, best, past, steps, step = 0.0, Point(z[:n], r, J, False), "", 0, FIRST_STEP
    counter.folds, last = 0, 0.0
    while step >= SMALLEST_STEP and steps < MAX_STEPS and z[n] > -1.0:
        predicted = z + step * tangent
        found = _correct(counter, predicted, tangent)
        if found is not None and np.linalg.norm(found.z - predicted) > MOST_ASIDE * step:
            found = None
        turned = tangent if found is None else _tangent(found.J, found.slope, tangent)
        fold = int(turned[n] * tangent[n] < 0.0)
        jumped = found is not None and may_tunnel is not None and may_tunnel(z[:n], z[n], found.z[:n], found.z[n])
        if found is None or jumped or turned @ tangent < LEAST_COSINE or (fold and step > FOLD_STEP):
            step *= 0.5
            continue
        before, z, tangent, step = z, found.z, turned, 1.5 * step
        counter.folds, steps = counter.folds + fold, steps + 1
        if steps % NEUTRAL_STEPS == 0:
            if abs(z[n] - last) < LEAST_CHANGE:
                break
            last = z[n]
        if highest < z[n] < 1.0 and not counter.folds:
            highest, best = float(z[n]), Point(z[:n], found.residual, found.J, False)
        if fold:
            past = f", past {counter.folds} folds, the first at {100.0 * highest:.4g} % of it"
        if z[n] >= 1.0:
            share = (1.0 - before[n]) / (z[n] - before[n])
            interpolated = before[:n] + share * (z - before)[:n]
            point = newton(counter, interpolated, 1.0, MAX_POLISH)
            if not point.converged and (found := _correct(counter, np.append(interpolated, 1.0), up)):
                point = newton(counter, found.z[:n], 1.0, MAX_POLISH)
            if point.converged:
                return point, f"reached the full {counter.problem.raised} in {steps} steps{past}"
            z, step = before, 0.25 * step
    return (
        best,
        f"stopped at {round(100.0 * highest, 4):.4g} % of the {counter.problem.raised} after {steps} steps{past}",
    )


def _tangent(J: Array, slope: Array, along: Array) -> Array:
    """Unit tangent of the curve (x, load), in the sense of `along`; where J has none, `along` itself."""
    t = solve_bordered(J, slope, along, np.append(np.zeros(len(J)), 1.0))
    return t / np.linalg.norm(t) if np.isfinite(t).all() else along


def _correct(counter: Counter, z: Array, tangent: Array) -> Corrected | None:
    """Newton's method from z = (x, load) across the tangent."""
    size, solve = 1.0 + np.abs(z).max(), partial(solve_bordered, row=tangent)
    rounding = counter.problem.rounding()
    return newton_across(counter.along_load, z, solve, lambda step: float(np.abs(step).max() / size), rounding)
