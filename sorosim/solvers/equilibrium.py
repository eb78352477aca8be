"""Equilibria: scipy's hybr with the analytic Jacobian, and load continuation when that fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.optimize import root

from sorosim.solvers.base import one_blas_thread

Array = NDArray[np.float64]

# a Newton step below this part of 1 + |x| is the end: the error left is its square
STEP_TOLERANCE = 1e-9
# and below this part no further step can better the digits
EXACT_STEP = 1e-13
MAX_POLISH = 8
SMALLEST_LOAD_STEP = 1e-4


@dataclass(frozen=True)
class StaticProblem:
    """residual(x, load) = 0 at load = 1; at load = 0 nothing pulls, and x_unloaded is the solution."""

    residual: Callable[[Array, float], Array]
    jacobian: Callable[[Array, float], tuple[Array, Array]]  # residual and its derivative (n, n)
    x_unloaded: Array
    analytic: bool = True  # False: differences of the residual in hybr, for comparison


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


def _newton(counter: _Counter, x: Array, load: float, max_steps: int) -> tuple[Array, Array, Array, bool]:
    """Newton steps until they are as small as digits allow: x, residual and Jacobian there, and whether they got there.

    Steps must shrink; the last one, of size eps, leaves an error of size eps^2.
    """
    before = np.inf
    for _ in range(max_steps):
        r, J = counter.jacobian(x, load)
        if not (np.isfinite(r).all() and np.isfinite(J).all()):
            return x, r, J, False
        try:
            step = scipy.linalg.solve(J, -r, check_finite=False)
        except (np.linalg.LinAlgError, ValueError):
            return x, r, J, False
        size = float(np.abs(step).max(initial=0.0) / (1.0 + np.abs(x).max(initial=0.0)))
        if size <= EXACT_STEP or (size <= STEP_TOLERANCE and size >= before):
            return x, r, J, True
        if not size < 2.0 * before:
            return x, r, J, False
        x, before = x + step, size
    r, J = counter.jacobian(x, load)
    return x, r, J, before <= STEP_TOLERANCE


def solve_equilibrium(problem: StaticProblem, x0: Array) -> StaticSolution:
    """Solve residual(x, 1) = 0 from x0; when hybr fails there, raise the load from 0 in steps of its own choice."""
    counter = _Counter(problem)
    with one_blas_thread(), np.errstate(all="ignore"):
        x, hybr_says = _hybr(counter, x0)
        if x is not None:
            x, r, J, good = _newton(counter, x, 1.0, MAX_POLISH)
            if good:
                return StaticSolution(x, r, J, True, "hybr converged", counter.n_residual, counter.n_jacobian)
            hybr_says = "its end point is no solution"
        x, r, J, reached, steps = _continue(counter)
    said = f"hybr failed ({hybr_says}); load continuation from the unloaded state "
    if reached == 1.0:
        message, good = said + f"reached the full load in {steps} steps", True
    else:
        message, good = said + f"stopped at {100.0 * reached:.4g} % of the load after {steps} steps", False
    return StaticSolution(x, r, J, good, message, counter.n_residual, counter.n_jacobian)


def _hybr(counter: _Counter, x0: Array) -> tuple[Array | None, str]:
    jacobian = (lambda x: counter.jacobian(x, 1.0)[1]) if counter.problem.analytic else None
    try:
        found = root(
            lambda x: counter.residual(x, 1.0), x0, jac=jacobian, method="hybr", options={"xtol": 1e-9, "maxfev": 0}
        )
    except (ValueError, np.linalg.LinAlgError) as error:
        return None, str(error)
    if not found.success or not np.isfinite(found.x).all():
        return None, " ".join(str(found.message).split()).rstrip(".").lower()
    return np.asarray(found.x, dtype=float), ""


def _continue(counter: _Counter) -> tuple[Array, Array, Array, float, int]:
    """Follow the equilibrium from load 0 to 1: tangent predictor, Newton corrector, step halved and grown."""
    x, load, step, steps = counter.problem.x_unloaded.copy(), 0.0, 0.125, 0
    r, J = counter.jacobian(x, 0.0)
    while load < 1.0 and step >= SMALLEST_LOAD_STEP:
        target = min(1.0, load + step)
        # dx/dload = -J^-1 dr/dload, where r is zero
        try:
            predicted = x - scipy.linalg.solve(J, counter.residual(x, target), check_finite=False)
        except (np.linalg.LinAlgError, ValueError):
            predicted = x
        found, r_new, J_new, good = _newton(counter, predicted, target, 12)
        if good:
            x, r, J, load, steps = found, r_new, J_new, target, steps + 1
            step *= 1.5
        else:
            step *= 0.5
    return x, r, J, load, steps
