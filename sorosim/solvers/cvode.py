"""CVODE of SUNDIALS, through scikit-sundae."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np
from sksundae.cvode import CVODE

from sorosim.errors import InputError
from sorosim.solvers.base import Array, OdeProblem, OdeSolution, Reporter, one_blas_thread
from sorosim.solvers.printed_output import suppress_prints

_TOO_MUCH_WORK, _ROOT = -1, 2  # status of CVODE and IDA after max_num_steps steps, and where an event stopped it
_ERROR_TEST, _CONVERGENCE = -3, -4  # and where one step failed too often


class Counts:
    """Calls of the functions of a problem, and steps that were tried: the library does not count those."""

    def __init__(self) -> None:
        self.n_rhs = self.n_jacobian = self.n_tried = 0
        self.t = float("nan")

    def rhs(self, t: float) -> None:
        """One more call; the first one at a time is of a new step."""
        self.n_rhs += 1
        self.n_tried += t != self.t
        self.t = t

    @property
    def stats(self) -> dict[str, int]:
        return {"n_rhs": self.n_rhs, "n_jacobian": self.n_jacobian}


def integrate(problem: OdeProblem) -> OdeSolution:
    """Integrate with the BDF method of CVODE and a dense direct linear solver."""
    if problem.dense:
        raise InputError("dense", "method bdf, radau or lsoda for dense output", "cvode", "or ask for a finer dt_out")
    t_out = problem.t_out
    jacobian = problem.jacobian
    counts = Counts()

    def rhs(t: float, x: Array, xd: Array) -> None:
        counts.rhs(t)
        xd[:] = problem.rhs(t, x)

    options: dict[str, Any] = {}
    if jacobian is not None:

        def fill_jacobian(t: float, x: Array, xd: Array, out: Array) -> None:
            counts.n_jacobian += 1
            out[:] = jacobian(t, x)

        options["jacfn"] = fill_jacobian
    options |= event_options(problem, stepper := OutputStepper(problem, counts))

    # a floor under the step turns an endless shrinking, with warnings printed by the library, into a failure
    span = float(t_out[-1] - t_out[0])
    smallest = 1e-14 * span
    with one_blas_thread(), np.errstate(all="ignore"), suppress_prints():
        solver = CVODE(
            rhs, method="BDF", linsolver="dense", rtol=problem.rtol, atol=problem.atol, min_step=smallest,
            max_step=max(min(problem.max_step, span), smallest), max_num_steps=problem.work.at_once, **options,
        )  # fmt: skip
        solver.init_step(float(t_out[0]), problem.x0)
        stepper.restart_codes = _ERROR_TEST, _CONVERGENCE
        stepper.run(solver)
    return stepper.solution()


def event_options(problem: OdeProblem, stepper: OutputStepper, n: int | None = None) -> dict[str, Any]:
    """Options of the library for the events of a problem, or of differential-algebraic equations with states y[:n].

    The library evaluates events at the ends of its steps, which it does not report otherwise, and at output times
    within them. So `stepper` follows the steps as one event more, which has no zero.
    """
    followed = problem.steps is not None
    if not (problem.events or followed):
        return {}

    def values(t: float, y: Array, out: Array) -> None:
        for i, event in enumerate(problem.events):
            out[i] = event.function(t, np.array(y[:n]))
        if followed:
            out[-1] = 1.0
            if t != stepper.target or t == stepper.end:
                stepper.follow_step(t, y[:n])

    def values_of_dae(t: float, y: Array, yd: Array, out: Array) -> None:
        values(t, y, out)

    function: Any = values if n is None else values_of_dae  # the library looks at the names of arguments
    function.terminal = [event.terminal for event in problem.events] + [False] * followed
    function.direction = [int(np.sign(event.direction)) for event in problem.events] + [0] * followed
    return {"eventsfn": function, "num_events": len(problem.events) + followed}


class OutputStepper:
    """Steps a SUNDIALS solver from output time to output time, until the end, a terminal event or a failure."""

    def __init__(
        self, problem: OdeProblem, counts: Counts, state_of: Callable[[float, Any], Array] = lambda t, result: result.y
    ) -> None:  # fmt: skip
        self.solver: Any = None
        self.problem, self.counts, self.state_of = problem, counts, state_of
        self.counted = 0
        self.reporter: Any = None
        self.target, self.end = (
            float(problem.t_out[0]),
            float(problem.t_out[-1]),
        )  # target and end of the library's steps
        self.at = self.target  # end of the last step
        self.restart_codes: tuple[int, ...] = ()  # failures after which the library is started anew where it stopped
        self.known = self.at, problem.x0  # the last state that was followed
        self.restarted = -np.inf
        self.x: list[Array] = [problem.x0]  # at the output times so far
        self.event_hits: list[tuple[Any, float, Array]] = []  # which events, time, state
        self.last: tuple[float, Array] | None = None
        self.success, self.message = True, "The solver successfully reached the end of the integration interval."

    def follow_step(self, t: float, x: Array) -> None:
        """Follow a step to t, which may be one where the library only looks for zeros of events."""
        if t > self.at and isfinite(x @ x):
            self.at, self.known = t, (t, np.array(x))
            if self.problem.steps is not None:
                self.problem.steps.step(t, x)

    def run(self, solver: Any) -> None:
        """Integrate by a solver of the library that has been given its start."""
        self.solver, self.reporter = solver, Reporter(self.problem)
        try:
            self._integrate()
        finally:
            # rows after the last step that was followed, where it ended early
            for k in range(self.reporter.done, len(self.x)):
                self.follow_step(float(self.problem.t_out[k]), self.x[k])
            if self.event_hits:
                self.follow_step(*self.event_hits[-1][1:])
            self.report(float(self.problem.t_out[len(self.x) - 1]))

    def _integrate(self) -> None:
        for moment in self.problem.t_out[1:]:
            self.target = float(moment)
            result = self.step(moment)
            while self.success and result.status == _ROOT:
                self.event_hits.append((np.asarray(result.i_events[-1]), float(result.t), self.state(result)))
                which = self.event_hits[-1][0][: len(self.problem.events)]
                if any(hit and event.terminal for hit, event in zip(which, self.problem.events, strict=True)):
                    self.message = "A termination event occurred."
                    return
                result = self.step(moment)
            if not self.success:
                return
            self.x.append(self.state(result))
            # where steps are followed, a row comes before the end of the step that it lies in
            self.report(float(moment) if self.problem.steps is None else self.at)

    def report(self, t: float) -> None:
        """Report the rows up to t."""
        reporter = self.reporter
        reporter.passed(t, lambda times: np.array(self.x[reporter.done - len(times) : reporter.done]))

    def solution(self) -> OdeSolution:
        """The solution up to where it ended."""
        n, count = len(self.problem.x0), len(self.problem.events)
        events_of = [[hit for hit in self.event_hits if hit[0][i]] for i in range(count)]
        return OdeSolution(
            self.problem.t_out[: len(self.x)].copy(), np.array(self.x).reshape(-1, n), self.success, self.message,
            self.counts.stats, None, [np.array([t for _, t, _ in event_hits]) for event_hits in events_of],
            [np.array([x for _, _, x in event_hits]).reshape(-1, n) for event_hits in events_of], self.last,
        )  # fmt: skip

    def state(self, result: Any) -> Array:
        return np.array(self.state_of(float(result.t), result))

    def step(self, moment: float) -> Any:
        """Step towards an output time."""
        while True:
            result = self.solver.step(float(moment), tstop=float(self.problem.t_out[-1]))
            finite = bool(np.isfinite(result.y).all())
            n, self.counted = self.counts.n_tried - self.counted, self.counts.n_tried
            stop = self.problem.work.steps(float(result.t), self.state(result), n) if finite else ""
            if stop or not (self.restart(result, moment) or (finite and result.status == _TOO_MUCH_WORK)):
                break
        if not (result.success and finite) or stop:
            why = stop or (str(result.message).rstrip(".") if finite else "the state became infinite or NaN")
            self.last = (float(result.t), self.state(result)) if finite else None
            self.success, self.message = False, f"stopped at t = {float(result.t):.6g} s: {why}"
        return result

    def restart(self, result: Any, moment: float) -> bool:
        """Restart from the last finite state after repeated failures of one step; returns whether it did.

        The library gives up after seven failures of a step; a step of order 1, without history, may succeed.
        """
        finite = bool(np.isfinite(result.y).all())
        if not self.restart_codes or (finite and result.status not in self.restart_codes):
            return False
        t, x = (float(result.t), np.array(result.y)) if finite else self.known
        if not self.restarted < t < moment:
            return False
        self.restarted = t
        self.solver.init_step(t, x)
        return True
