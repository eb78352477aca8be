"""Solvers of optimal control problems: each improves inputs from a first guess on (docs/theory.md, 16)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import daqp
import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sorosim.base.arrays import Array
from sorosim.base.errors import InputError
from sorosim.mechanics.kernels.restarted import Feedback
from sorosim.studies.control.problem import Problem, Quadratic, with_inputs_before


class Solution(NamedTuple):
    """Where a solver ended."""

    U: Array
    X: Array
    value: float
    iterations: int
    converged: bool
    message: str
    gain: Array | None = None  # (N, n_actuators, n) of the last quadratic problem


# -- differential dynamic programming ----------------------------------------------------------------------------------

# a step is accepted where it lowers the cost by this part of what the quadratic problem says
SUFFICIENT = 1e-2
HALVINGS = 9
LEAST_DAMPING, MOST_DAMPING = 1e-3, 1e12
# of the unconstrained change of inputs: distance from a bound at which one is
AT_BOUND = 1e-9
# of the largest pivot of a Cholesky factor: gains would be rounding
SINGULAR = 1e-6
CONVERGED = "converged"


def ddp(
    problem: Problem, U: Array, iterations: int, tolerance: float, start: tuple[Array, float] | None = None
) -> Solution:
    """Box-constrained DDP with Gauss-Newton Hessians (Tassa, Mansard and Todorov, 2014), single shooting.

    Feedback along the motion keeps trials near to it, so unstable robots do not run away. start: states and cost under
    U, where they are known.
    """
    U = np.clip(U, *problem.bounds)
    X, J = start or problem.integrate(U)
    if X is None:
        raise problem.motion.failed("a step of the first guess")
    unit = 1e-6 * max(J, 1e-12) / problem.scale**2
    damping, n_small, gain, failed = 1.0, 0, None, False
    quadratic = None
    for k in range(iterations):
        quadratic = quadratic or problem.expand(X, U)
        step = backward(quadratic, problem.bounds - U[:, None], damping * unit)
        if step is None:
            damping = max(10.0 * damping, LEAST_DAMPING)
            if damping > MOST_DAMPING:
                return Solution(U, X, J, k, False, "the quadratic problem is not convex", gain)
            continue
        change, gain, decrease = step
        if decrease <= 0.1 * tolerance * J:
            return Solution(U, X, J, k, True, CONVERGED, gain)
        states, part = problem.states(X, U), 1.0
        for _ in range(HALVINGS):
            trial = U + part * change
            moved, value = problem.integrate(trial, Feedback(gain, states, problem.bounds))
            failed = moved is None
            if moved is not None and value < J - SUFFICIENT * part * decrease:
                break
            part *= 0.5
        else:
            damping = max(16.0 * damping, LEAST_DAMPING)
            if damping > MOST_DAMPING:
                words = "no step lowers the cost" + ("; steps of the motion fail: more substeps" if failed else "")
                return Solution(U, X, J, k, decrease < tolerance * J, words, gain)
            continue
        n_small = n_small + 1 if J - value < tolerance * J else 0
        X, U, J, quadratic = moved, trial, value, None
        if n_small == 3:
            return Solution(U, X, J, k + 1, True, CONVERGED, gain)
        damping *= 0.25 if part > 0.5 else 4.0 if part < 0.1 else 1.0
    return Solution(U, X, J, iterations, False, "", gain)


def backward(quadratic: Quadratic, bounds: Array, damping: Array) -> tuple[Array, Array, float] | None:
    """Change of inputs, gains and decrease of the cost by the quadratic problem; None where it is not convex.

    bounds (N, 2, n_actuators): of the change; damping (n_actuators,): what is added to the diagonal.
    """
    A, B, c = quadratic
    N, _, m = B.shape
    change, gain, decrease = np.zeros((N, m)), np.zeros((N, m, A.shape[1])), 0.0
    Vx, Vxx, regular = c.x[-1], c.xx[-1], np.diag(damping)
    for k in range(N - 1, -1, -1):
        VA, VB = Vxx @ A[k], Vxx @ B[k]
        Qu, Quu, Qux = c.u[k] + B[k].T @ Vx, c.uu[k] + B[k].T @ VB, c.ux[k] + B[k].T @ VA
        solved = box_newton(Quu + regular, Qu, Qux, *bounds[k])
        if solved is None:
            return None
        change[k], gain[k] = d, K = solved
        decrease -= d @ Qu + 0.5 * d @ Quu @ d
        KQ = K.T @ Quu + Qux.T
        Vx = c.x[k] + A[k].T @ Vx + KQ @ d + K.T @ Qu
        Vxx = c.xx[k] + A[k].T @ VA + KQ @ K + K.T @ Qux
        Vxx = 0.5 * (Vxx + Vxx.T)
    return change, gain, float(decrease)


def box_newton(H: Array, g: Array, by_x: Array, low: Array, high: Array) -> tuple[Array, Array] | None:
    """The minimum d of g d + d H d / 2 between bounds, and gains -H^-1 by_x of what is free; None if H is singular."""
    if len(g) == 1:
        if not H[0, 0] > 0.0:
            return None
        d = -g / H[0, 0]
        free = (low < d) & (d < high)
        return np.clip(d, low, high), -by_x / H[0, 0] * free[:, None]
    try:
        factor = cho_factor(H)
    except np.linalg.LinAlgError:
        return None
    pivots = np.abs(np.diag(factor[0]))
    if pivots.min() < SINGULAR * pivots.max():
        return None
    d = -cho_solve(factor, g)
    if (low < d).all() and (d < high).all():
        return d, -cho_solve(factor, by_x)
    near = AT_BOUND * np.abs(d).max()
    d = quadratic_program(H, g, low, high)
    slope = g + H @ d
    at_low, at_high = (d - low <= near) & (slope > 0.0), (high - d <= near) & (slope < 0.0)
    d, free = np.where(at_low, low, np.where(at_high, high, d)), np.flatnonzero(~(at_low | at_high))
    K = np.zeros_like(by_x)
    if len(free):
        K[free] = -np.linalg.solve(H[np.ix_(free, free)], by_x[free])
    return d, K


def quadratic_program(H: Array, g: Array, low: Array, high: Array) -> Array:
    """The minimum of g d + d H d / 2, H positive definite, between bounds."""
    unbounded = 1e30  # what DAQP takes for infinite
    d, _, flag, _ = daqp.solve(H, g, np.zeros((0, len(g))), np.minimum(high, unbounded), np.maximum(low, -unbounded))
    if flag < 1:
        raise np.linalg.LinAlgError(f"DAQP found no minimum (code {flag})")
    return np.asarray(np.clip(d, low, high))


# -- SciPy -------------------------------------------------------------------------------------------------------------


def l_bfgs_b(problem: Problem, U: Array, iterations: int, tolerance: float) -> Solution:
    """L-BFGS-B of SciPy on the gradient by the discrete adjoint."""
    from scipy.optimize import minimize

    scale, shape = problem.scale, U.shape
    best: list[Any] = [np.inf, None, None]

    def evaluate(v: Array) -> tuple[float, Array]:
        inputs = v.reshape(shape) * scale
        X, value = problem.integrate(inputs)
        if X is None:
            if best[1] is None:
                raise problem.motion.failed("a step of the first guess")
            return 1e3 * (1.0 + abs(best[0])), np.zeros(v.size)  # the line search comes back
        if value < best[0]:
            best[:] = value, inputs, X
        return value, (problem.gradient(X, inputs) * scale).ravel()

    bounds = np.tile((problem.bounds / scale).T, (len(U), 1))
    options = {"maxiter": iterations, "maxfun": 4 * iterations, "maxcor": 30, "ftol": 0.1 * tolerance, "gtol": 1e-10}
    v = (np.clip(U, *problem.bounds) / scale).ravel()
    search: Any = minimize
    steps, converged = 0, False
    while steps < iterations:
        before = best[0]
        done = search(evaluate, v, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        steps, v = steps + max(int(done.nit), 1), (best[1] / scale).ravel()
        # it stops at a small decrease, which a bad memory of curvatures makes too: begun anew, it must find no more
        if before - best[0] <= tolerance * (1.0 + abs(best[0])):
            converged = done.status == 0
            break
    return Solution(best[1], best[2], best[0], steps, converged, CONVERGED if converged else "")


# -- crocoddyl ---------------------------------------------------------------------------------------------------------


def fddp(problem: Problem, U: Array, iterations: int, tolerance: float) -> Solution:
    """Box-FDDP of crocoddyl (Mastalli et al., 2022)."""
    crocoddyl = _crocoddyl()
    X, _ = problem.integrate(np.clip(U, *problem.bounds))
    if X is None:
        raise problem.motion.failed("a step of the first guess")
    n, m, N = X.shape[1], U.shape[1], problem.N
    nodes = [_node(crocoddyl, problem, k) for k in range(N + 1)]
    start = np.concatenate([problem.x0, U[0]]) if problem.augmented else problem.x0
    solver = crocoddyl.SolverBoxFDDP(crocoddyl.ShootingProblem(start, nodes[:-1], nodes[-1]))
    solver.th_stop = 0.1 * tolerance
    states = np.vstack([problem.states(X, U), np.concatenate([X[-1], U[-1]]) if problem.augmented else X[-1]])
    converged = solver.solve(list(states), list(U), iterations, True)
    U = np.clip(np.array(solver.us).reshape(N, m), *problem.bounds)
    X, value = problem.integrate(U)
    if X is None or X.shape[1] != n:
        raise problem.motion.failed("a step of the motion that crocoddyl found")
    return Solution(U, X, value, int(solver.iter), bool(converged), CONVERGED if converged else "")


def _crocoddyl() -> Any:
    try:
        import crocoddyl  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        hint = "pip install 'sorosim[crocoddyl]'; 'ddp' needs nothing more"
        raise InputError("solver", "crocoddyl for 'fddp'", "it is not installed", hint) from None
    return crocoddyl


def _node(crocoddyl: Any, problem: Problem, k: int) -> Any:
    """The action model of a step, or of the end."""
    n, m, last = problem.motion.n_states, problem.motion.n_inputs, k == problem.N
    terms, times = problem.terms, problem.times[k : k + 2]
    references = [one[k : k + 2] for one in problem.references]
    size = n + m * problem.augmented

    class Node(crocoddyl.ActionModelAbstract):  # type: ignore[misc]
        def __init__(self) -> None:
            crocoddyl.ActionModelAbstract.__init__(self, crocoddyl.StateVector(size), m, 0)
            self.u_lb, self.u_ub = problem.bounds

        def _rows(self, x: Array, u: Array | None) -> tuple[Array, Array, Array | None]:
            inputs = np.zeros((0, m)) if last or u is None else np.array(u)[None]
            return np.tile(x[:n], (len(inputs) + 1, 1)), inputs, x[n:] if problem.augmented and k > 0 else None

        def calc(self, data: Any, x: Array, u: Array | None = None) -> None:
            X, U, before = self._rows(x, u)
            data.cost = terms.value(times, X, U, references, before, ends=last)
            data.xnext = x
            if len(U):
                moved = problem.motion.integrate(x[:n], U, float(times[0]))
                end = np.full(n, np.nan) if moved is None else moved[1]
                data.xnext = np.concatenate([end, U[0]]) if problem.augmented else end

        def calcDiff(self, data: Any, x: Array, u: Array | None = None) -> None:
            X, U, before = self._rows(x, u)
            c = terms.expand(times, X, U, references)
            if problem.augmented:
                c = terms.with_smoothness(c, U, before)
            data.Lx, data.Lxx = c.x[0], c.xx[0]
            if len(U):
                data.Lu, data.Luu, data.Lxu = c.u[0], c.uu[0], c.ux[0].T
                problem.motion.integrate(x[:n], U, float(times[0]))
                A, B = problem.motion.linearize(U)
                if problem.augmented:
                    A, B = with_inputs_before(A, B)
                data.Fx, data.Fu = A[0], B[0]

    return Node()


Solver = Callable[[Problem, Array, int, float], Solution]
SOLVERS: dict[str, Solver] = {"ddp": ddp, "fddp": fddp, "l-bfgs-b": l_bfgs_b}
# without a guess the weights at the end rise in these stages: whole at once they make robots that swing run wild
STAGES = (1e-3, 1e-2, 1e-1, 1.0)
# of exact goals: most updates of multipliers, distance [SI] that is none, and decrease below which weights rise tenfold
MULTIPLIER_UPDATES, REACHED, SLOW = 30, 1e-6, 0.25
# tolerance of the cost, over that asked for, until multipliers change, and by what it falls at each change
LOOSE, TIGHTER = 1e2, 0.1


def solve(solver: str, problem: Problem, U: Array | None, iterations: int, tolerance: float) -> Solution:
    """Solve, in stages where there is no guess U; where the goal is to be met exactly, by multipliers.

    Multipliers are updated from the first loose solution on (the inexact method of multipliers).
    """
    terms, total, improve = problem.terms, 0, SOLVERS[solver]
    exact, loose = terms.cost.exact, LOOSE * tolerance
    guess = np.zeros((problem.N, problem.motion.n_inputs)) if U is None else U
    stages = STAGES[-iterations:] if U is None and terms.has_end else STAGES[-1:]
    for k, stage in enumerate(stages, start=1):
        terms.final_scale = stage
        left = iterations - total - (len(stages) - k)  # one for each stage that follows
        found = improve(problem, guess, left, tolerance if stage == 1.0 and not exact else loose)
        guess, total = found.U, total + found.iterations
    size, before = 0.0, np.inf
    for _ in range(MULTIPLIER_UPDATES if exact else 0):
        miss = np.where(terms.final > 0.0, found.X[-1] - terms.goal, 0.0)
        size = float(np.abs(miss).max())
        if (size <= REACHED and loose <= tolerance) or total >= iterations:
            break
        terms.shift += miss
        if size > SLOW * before:
            terms.final, terms.shift = 10.0 * terms.final, terms.shift / 10.0
        before, loose = size, max(tolerance, TIGHTER * loose)
        found = improve(problem, found.U, iterations - total, loose)
        total += found.iterations
    reached = size <= REACHED
    words = found.message or "not converged"
    if not reached:
        words += f"; the end misses the goal by {size:.2g}"
    return found._replace(iterations=total, converged=found.converged and reached, message=words)
