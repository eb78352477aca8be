"""BDF, Radau and LSODA of scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import BDF, LSODA, Radau, solve_ivp

from sorosim.solvers.base import Array, Event, OdeProblem, OdeSolution, one_blas_thread

_METHODS: dict[str, type] = {"BDF": BDF, "Radau": Radau, "LSODA": LSODA}


def _counting(method: str, steps: list[float]) -> type:
    """The solver class, noting the time reached by every step: scipy itself reports none."""
    base = _METHODS[method]

    class Counting(base):  # type: ignore[misc,valid-type]
        def step(self) -> Any:
            message = super().step()
            steps.append(float(self.t))
            return message

    return Counting


def _as_scipy_event(event: Event) -> Any:
    def function(t: float, x: Array) -> float:
        return event.function(t, x)

    function.terminal = event.terminal  # type: ignore[attr-defined]
    function.direction = event.direction  # type: ignore[attr-defined]
    return function


def integrate(problem: OdeProblem, method: str) -> OdeSolution:
    """Integrate with solve_ivp; `method` as scipy spells it."""
    steps: list[float] = []
    span = float(problem.t_out[0]), float(problem.t_out[-1])
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        found = solve_ivp(
            problem.rhs, span, problem.x0, method=_counting(method, steps), t_eval=problem.t_out, jac=problem.jacobian,
            rtol=problem.rtol, atol=problem.atol, max_step=problem.max_step, dense_output=problem.dense,
            events=[_as_scipy_event(event) for event in problem.events] or None,
        )  # fmt: skip
    n = len(problem.x0)
    t = np.asarray(found.t, dtype=float)
    x = np.asarray(found.y, dtype=float).T.reshape(len(t), n)
    message = str(found.message)
    if found.status < 0:
        message = f"stopped at t = {steps[-1] if steps else span[0]:.6g} s: {message}"
    stats = {
        "n_steps": len(steps),
        "n_rhs": int(found.nfev),
        "n_jacobian": int(found.njev),
        "n_factorizations": int(found.nlu),
    }
    t_events = [np.asarray(times) for times in found.t_events or []]
    x_events = [np.asarray(states).reshape(-1, n) for states in found.y_events or []]
    return OdeSolution(t, x, found.status >= 0, message, stats, found.sol, t_events, x_events)
