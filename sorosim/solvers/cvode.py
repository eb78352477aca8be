"""CVODE of SUNDIALS, through scikit-sundae."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sksundae.cvode import CVODE

from sorosim.errors import InputError
from sorosim.solvers.base import TOO_FAR, Array, OdeProblem, OdeSolution, Reporter, one_blas_thread
from sorosim.solvers.quiet import quiet

# the library's own limit of 500 steps between two outputs is reached by any stiff start
MAX_STEPS = 100_000
_ROOT = 2  # CVODE's status where an event stopped it
ERROR_TEST, CONVERGENCE = -3, -4  # and where one step failed too often


def integrate(problem: OdeProblem) -> OdeSolution:
    """Integrate with the BDF method of CVODE and a dense direct linear solver."""
    if problem.dense:
        raise InputError("dense", "method bdf, radau or lsoda for dense output", "cvode", "or ask for a finer dt_out")
    t_out = problem.t_out
    jacobian = problem.jacobian
    counts = {"n_rhs": 0, "n_jacobian": 0}

    def rhs(t: float, x: Array, xd: Array) -> None:
        counts["n_rhs"] += 1
        xd[:] = problem.rhs(t, x)

    options: dict[str, Any] = {}
    if jacobian is not None:

        def fill_jacobian(t: float, x: Array, xd: Array, out: Array) -> None:
            counts["n_jacobian"] += 1
            out[:] = jacobian(t, x)

        options["jacfn"] = fill_jacobian
    options |= event_options(problem, march := March(problem))

    # a floor under the step turns an endless shrinking, with warnings printed by the library, into a failure
    span = float(t_out[-1] - t_out[0])
    smallest = 1e-14 * span
    with one_blas_thread(), np.errstate(all="ignore"), quiet():
        solver = CVODE(
            rhs, method="BDF", linsolver="dense", rtol=problem.rtol, atol=problem.atol, min_step=smallest,
            max_step=max(min(problem.max_step, span), smallest), max_num_steps=MAX_STEPS, **options,
        )  # fmt: skip
        solver.init_step(float(t_out[0]), problem.x0)
        march.afresh = ERROR_TEST, CONVERGENCE
        march.run(solver)
    return march.solution(counts)


def event_options(problem: OdeProblem, march: March, n: int | None = None) -> dict[str, Any]:
    """Options of the library for the events of a problem, or of differential-algebraic equations with states y[:n].

    The library evaluates events at the end of each of its steps, which it does not tell otherwise. So `march` follows
    the steps as one event more, which has no zero.
    """
    if not problem.events and problem.steps is None:
        return {}

    def values(t: float, y: Array, out: Array) -> None:
        x = np.array(y[:n])
        for i, event in enumerate(problem.events):
            out[i] = event.function(t, x)
        if problem.steps is not None:
            out[-1] = 1.0
            march.stepped(t, x)

    def values_of_dae(t: float, y: Array, yd: Array, out: Array) -> None:
        values(t, y, out)

    function: Any = values if n is None else values_of_dae  # the library looks at the names of arguments
    followed = problem.steps is not None
    function.terminal = [event.terminal for event in problem.events] + [False] * followed
    function.direction = [int(np.sign(event.direction)) for event in problem.events] + [0] * followed
    return {"eventsfn": function, "num_events": len(problem.events) + followed}


class March:
    """From one output time to the next, until the end, a terminal event or a failure."""

    def __init__(
        self, problem: OdeProblem, state_of: Callable[[float, Any], Array] = lambda t, found: found.y
    ) -> None:  # fmt: skip
        self.solver: Any = None
        self.problem, self.state_of = problem, state_of
        self.reporter: Any = None
        self.target = float(problem.t_out[0])  # where the library is asked to go
        self.at = self.target  # where its steps have come to
        self.afresh: tuple[int, ...] = ()  # failures after which the library is started anew where it stopped
        self.known = self.at, problem.x0  # the last state that was followed
        self.restarted = -np.inf
        self.x: list[Array] = [problem.x0]  # at the output times so far
        self.hits: list[tuple[Any, float, Array]] = []  # which events, time, state
        self.last: tuple[float, Array] | None = None
        self.success, self.message = True, "The solver successfully reached the end of the integration interval."

    def stepped(self, t: float, x: Array, anyway: bool = False) -> None:
        """The library evaluates events: at ends of steps, at output times within them, and where it looks for zeros."""
        if t > self.at and np.isfinite(x).all() and (anyway or t != self.target or t == self.problem.t_out[-1]):
            self.at, self.known = t, (t, x)
            if self.problem.steps is not None:
                self.problem.steps.step(t, x)

    def run(self, solver: Any) -> None:
        """Integrate by a solver of the library that has been given its start."""
        self.solver, self.reporter = solver, Reporter(self.problem)
        self._go()
        # rows after the last step that was followed, where it ended early
        for k in range(self.reporter.done, len(self.x)):
            self.stepped(float(self.problem.t_out[k]), self.x[k], True)
        if self.hits:
            self.stepped(*self.hits[-1][1:], True)
        self.report(float(self.problem.t_out[len(self.x) - 1]))

    def _go(self) -> None:
        for moment in self.problem.t_out[1:]:
            self.target = float(moment)
            found = self.step(moment)
            while self.success and found.status == _ROOT:
                self.hits.append((np.asarray(found.i_events[-1]), float(found.t), self.state(found)))
                which = self.hits[-1][0][: len(self.problem.events)]
                if any(hit and event.terminal for hit, event in zip(which, self.problem.events, strict=True)):
                    self.message = "A termination event occurred."
                    return
                found = self.step(moment)
            if not self.success:
                return
            self.x.append(self.state(found))
            # where steps are followed, a row comes before the end of the step that it lies in
            self.report(float(moment) if self.problem.steps is None else self.at)

    def report(self, t: float) -> None:
        """Hand on the rows up to t."""
        reporter = self.reporter
        reporter.passed(t, lambda times: np.array(self.x[reporter.done - len(times) : reporter.done]))

    def solution(self, stats: dict[str, int]) -> OdeSolution:
        """What came of it."""
        n, count = len(self.problem.x0), len(self.problem.events)
        events_of = [[hit for hit in self.hits if hit[0][i]] for i in range(count)]
        return OdeSolution(
            self.problem.t_out[: len(self.x)].copy(), np.array(self.x).reshape(-1, n), self.success, self.message,
            stats, None, [np.array([t for _, t, _ in hits]) for hits in events_of],
            [np.array([x for _, _, x in hits]).reshape(-1, n) for hits in events_of], self.last,
        )  # fmt: skip

    def state(self, found: Any) -> Array:
        return np.array(self.state_of(float(found.t), found))

    def step(self, moment: float) -> Any:
        """Go on towards an output time."""
        found = self.solver.step(float(moment), tstop=float(self.problem.t_out[-1]))
        while self.afresh and (found.status in self.afresh or not np.isfinite(found.y).all()):
            # after seven failures in one step the library gives up: a step of order 1 without its past may do
            t, x = (float(found.t), np.array(found.y)) if np.isfinite(found.y).all() else self.known
            if not self.restarted < t < moment:
                break
            self.restarted = t
            self.solver.init_step(t, x)
            found = self.solver.step(float(moment), tstop=float(self.problem.t_out[-1]))
        finite = bool(np.isfinite(found.y).all())
        if not (found.success and finite):
            why = str(found.message).rstrip(".") if finite else "the state became infinite or NaN"
            if "max_num_steps" in why:
                why = f"{MAX_STEPS} {TOO_FAR}"
            self.last = (float(found.t), self.state(found)) if finite else None
            self.success, self.message = False, f"stopped at t = {float(found.t):.6g} s: {why}"
        return found
