"""BDF, Radau and LSODA of scipy."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.integrate import BDF, LSODA, DenseOutput, Radau, solve_ivp
from scipy.linalg import lu_factor, lu_solve
from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.sparse import csc_matrix

from sorosim.base.arrays import Array
from sorosim.base.ode import Event, OdeProblem, OdeSolution, Reporter, one_blas_thread

# share of the tolerance below which a correction of Newton's method counts as none in BDF
NEGLIGIBLE = 0.01
# stages of Radau's method inside its step
RADAU_STAGES = (4.0 - 6.0**0.5) / 10.0, (4.0 + 6.0**0.5) / 10.0
# a step longer than this many times the one before has no ends of steps before it that are near enough, and its own
# places inside: those of Lobatto's rule with five nodes, exact for degree 7
GROWTH = 2.0
LOBATTO = (0.5 - (3.0 / 28.0) ** 0.5, 0.5, 0.5 + (3.0 / 28.0) ** 0.5)


@dataclass
class _Log:
    """What a solver reports of its steps."""

    problem: OdeProblem
    reporter: Reporter
    steps: list[float] = field(default_factory=list)  # times at which they ended
    last: tuple[float, Array, float] | None = None  # time, state and size of the step that failed


class _Watched:
    """A solver of scipy that logs every step, and ends where scipy raises an error or never ends.

    A Jacobian that is not finite, which trial states far off may have, is replaced by the last good one: the step then
    fails and is halved. A state that is not finite, or a time that stands still, is a failure (LSODA notices neither).
    """

    jac: Any
    atol: Any
    rtol: Any
    J: Any
    Z: Any
    t: Any
    y: Any
    status: Any

    def __init__(self, *args: object, log: _Log, **options: object) -> None:
        super().__init__(*args, **options)
        self.log, self.h_before = log, float("nan")
        if hasattr(self, "J"):
            evaluate, self.last_good = self.jac, np.zeros_like(self.J)
            self.jac = lambda *state: self.finite(evaluate(*state))
            self.J = self.finite(self.J)

    def finite(self, J: Any) -> Any:
        if np.isfinite(J).all():
            self.last_good = J
        return self.last_good

    def stages(self, t: float, y: Array) -> list[tuple[float, Array]]:
        """States inside the step from t, where the ends of earlier steps do not resolve it."""
        h = self.t - t
        before, self.h_before = self.h_before, h
        if h <= GROWTH * before:
            return []
        times = [t + c * h for c in LOBATTO]
        return list(zip(times, np.transpose(super().dense_output()(np.array(times))), strict=True))  # type: ignore[misc]

    def dense_output(self) -> Any:
        return _ThroughEnds(super().dense_output(), self.before, (self.t, self.y))  # type: ignore[misc]

    def fail(self, t: float, y: Array, why: str | None) -> str | None:
        self.status, self.log.last = "failed", (float(t), y, float(getattr(self, "h_abs", np.nan)))
        return why

    def step(self) -> Any:
        log = self.log
        # only now: a terminal event may have ended the run within the step before
        if log.steps:
            log.reporter.passed(self.t, lambda times: np.asarray(self.dense_output()(times)).T)
            if why := log.problem.work.steps(float(self.t), self.y):
                return self.fail(self.t, self.y, why)
        t, y = self.before = self.t, self.y
        message = super().step()  # type: ignore[misc]
        if message is not None and message.startswith("Unexpected istate"):
            message = "the corrector or the error test failed repeatedly"
        if self.status != "failed" and not np.isfinite(self.y).all():
            self.t, self.y = t, y
            return self.fail(t, y, "the state became infinite or NaN")
        if self.status == "running" and abs(self.t - t) < 10.0 * np.spacing(abs(t)):
            return self.fail(t, y, "Required step size is less than spacing between numbers.")
        log.steps.append(float(self.t))
        if self.status == "failed":
            return self.fail(t, y, message)
        if log.problem.steps is not None:
            log.problem.steps.step(float(self.t), self.y, self.stages(t, y))
        return message


class _WatchedBDF(_Watched, BDF):
    """It calls LAPACK itself, which takes a fraction of the time of scipy's checks."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.lu, self.solve_lu = self.factor, self.correction

    def factor(self, A: Array) -> Any:
        self.nlu += 1
        return dgetrf(A, overwrite_a=True)

    def solved(self, factors: Any, b: Array) -> Array:
        x: Array = dgetrs(factors[0], factors[1], b)[0]
        return x

    def correction(self, factors: object, b: Array) -> Array:
        x = self.solved(factors, b)
        share = x / (self.atol + self.rtol * np.abs(self.y))
        # scipy judges by the rate of convergence alone, and rounding does not converge
        if share @ share < NEGLIGIBLE**2 * len(x):
            return np.zeros_like(x)
        return x


class _JacobianBySymbol:
    """J of `I - c * J`, which BDF forms before it asks for factors; c is all that these take."""

    __array_ufunc__ = None  # NumPy's numbers leave products to it

    def __rmul__(self, c: float) -> float:
        return float(c)


class _UnitBySymbol:
    """I of the same."""

    def __sub__(self, c: float) -> float:
        return c


class _LargeBDF(_WatchedBDF):
    """BDF of a large problem, whose linear systems are solved by `OdeProblem.newton`."""

    def __init__(self, *args: object, log: _Log, **options: object) -> None:
        options["jac"] = lambda t, x: csc_matrix((len(x), len(x)))
        super().__init__(*args, log=log, **options)
        newton = log.problem.newton
        assert newton is not None
        self.newton, self.jac = newton, self.linearise
        self.I: Any = _UnitBySymbol()
        self.J = self.linearise(self.t, self.y)

    def finite(self, J: object) -> Any:
        return J

    def linearise(self, t: float, x: Array) -> _JacobianBySymbol:
        self.njev += 1
        self.newton.linearise(t, x)
        return _JacobianBySymbol()

    def factor(self, c: Any) -> Any:
        self.nlu += 1
        return self.newton.factor(c)

    def solved(self, regular: object, b: Array) -> Array:
        return self.newton.solve(b) if regular else np.full_like(b, np.nan)


class _WatchedRadau(_Watched, Radau):
    """Over a step next to nothing its matrix is infinite: Newton's method fails, and the step is halved once more."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.lu, self.solve_lu = self.factor, self.solve

    def factor(self, A: Any) -> Any:
        self.nlu += 1
        return lu_factor(A, overwrite_a=True, check_finite=False)

    def solve(self, factors: Any, b: Any) -> Any:
        return lu_solve(factors, b, overwrite_b=True, check_finite=False)

    def stages(self, t: float, y: Array) -> list[tuple[float, Array]]:
        return [(t + c * (self.t - t), y + z) for c, z in zip(RADAU_STAGES, self.Z, strict=False)]


class _WatchedLSODA(_Watched, LSODA):
    pass


_METHODS: dict[str, type] = {"BDF": _WatchedBDF, "Radau": _WatchedRadau, "LSODA": _WatchedLSODA}


class _ThroughEnds(DenseOutput):
    """An interpolant that gives the very states at the ends of its step: zeros between them keep their bracket."""

    def __init__(self, inner: DenseOutput, begin: tuple[float, Array], end: tuple[float, Array]) -> None:
        super().__init__(begin[0], end[0])
        self.inner, self.ends = inner, (begin, end)

    def _call_impl(self, t: Any) -> Any:
        states = np.array(self.inner(t))
        for moment, state in self.ends:
            if np.ndim(t) == 0:
                states = state if t == moment else states
            else:
                states[:, t == moment] = state[:, None]
        return states


def _as_scipy_event(event: Event, begin: float) -> Any:
    """An event as scipy takes it; a zero at the begin has changed no sign, and scipy compares nothing with NaN."""

    def function(t: float, x: Array) -> float:
        value = event.function(t, x)
        return float("nan") if t == begin and value == 0.0 else value

    function.terminal = event.terminal  # type: ignore[attr-defined]
    function.direction = event.direction  # type: ignore[attr-defined]
    return function


def integrate(problem: OdeProblem, method: str) -> OdeSolution:
    """Integrate with solve_ivp; `method` as scipy spells it."""
    n_rhs = 0

    def rhs(t: float, x: Array) -> Array:
        nonlocal n_rhs  # scipy's own count leaves out the calls for difference quotients
        n_rhs += 1
        return problem.rhs(t, x)

    span = float(problem.t_out[0]), float(problem.t_out[-1])
    with one_blas_thread(), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="lsoda: ")  # the solution reports the failure
        warnings.filterwarnings("ignore", message="The following arguments have no effect")  # explicit ones: jac
        log = _Log(problem, Reporter(problem))
        solver = _LargeBDF if method == "BDF" and problem.newton is not None else _METHODS[method]
        solve: Any = solve_ivp  # its stubs allow no options of other solvers
        result = solve(
            rhs, span, problem.x0, method=solver, log=log, t_eval=problem.t_out, jac=problem.jacobian,
            rtol=problem.rtol, atol=problem.atol, max_step=problem.max_step, dense_output=problem.dense,
            events=[_as_scipy_event(event, span[0]) for event in problem.events] or None,
        )  # fmt: skip
    n = len(problem.x0)
    t = np.asarray(result.t, dtype=float)
    x = np.asarray(result.y, dtype=float).T.reshape(len(t), n)
    if len(t):
        log.reporter.passed(float(t[-1]), lambda times: x[-len(times) :])
    message = str(result.message).rstrip(".")
    if result.status < 0:
        message = f"stopped at t = {log.steps[-1] if log.steps else span[0]:.6g} s: {message}"
    stats = {
        "n_steps": len(log.steps),
        "n_rhs": n_rhs,
        "n_jacobian": int(result.njev),
        "n_factorizations": int(result.nlu),
    }
    t_events = [np.asarray(times) for times in result.t_events or []]
    x_events = [np.asarray(states).reshape(-1, n) for states in result.y_events or []]
    ended = ((log.last[0], log.last[1]), log.last[2]) if log.last else (None, float("nan"))
    return OdeSolution(t, x, result.status >= 0, message, stats, result.sol, t_events, x_events, *ended)


def bdf(problem: OdeProblem) -> OdeSolution:
    """Backward differentiation formulas of variable order."""
    return integrate(problem, "BDF")


def radau(problem: OdeProblem) -> OdeSolution:
    """The implicit Runge-Kutta method of Radau, of order 5."""
    return integrate(problem, "Radau")


def lsoda(problem: OdeProblem) -> OdeSolution:
    """Adams' methods where a problem is not stiff, and backward differentiation where it is."""
    return integrate(problem, "LSODA")
