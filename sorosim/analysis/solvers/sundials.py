"""CVODE and IDA of SUNDIALS, through scikit-sundae.

IDA solves differential-algebraic equations F(t, y, dy/dt) = 0 with states x = y[:n].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from sksundae.cvode import CVODE, CVODEPrecond
from sksundae.ida import IDA

from sorosim.analysis.solvers.printed_output import suppress_prints
from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import InputError
from sorosim.base.ode import OdeProblem, OdeSolution, Reporter, by_event, one_blas_thread

_TOO_MUCH_WORK, _ROOT = -1, 2  # status of CVODE and IDA after max_num_steps steps, and where an event stopped it
_ERROR_TEST, _CONVERGENCE = -3, -4  # and where one step failed too often
# multipliers are left out of the error test by a tolerance this large: they are no measure of errors of the states
UNTESTED = 1e10


def integrate(problem: OdeProblem) -> OdeSolution:
    """Integrate with the BDF method of CVODE and a dense direct linear solver.

    Of a large problem its `newton` preconditions GMRES, whose products with the Jacobian are differences of the rate.
    """
    jacobian, stepper, options = problem.jacobian, OutputStepper(problem, "cvode"), dict[str, Any]()

    def rhs(t: float, x: Array, xd: Array) -> None:
        stepper.count_rhs(t)
        xd[:] = problem.rhs(t, x)

    if (newton := problem.newton) is not None:

        def factor(t: float, x: Array, xd: Array, reusable: int, renewed: list[int], c: float) -> None:
            if not reusable:
                stepper.n_jacobian += 1
                newton.linearise(t, x)
            renewed[0] = not reusable
            stepper.is_regular = newton.factor(c)

        def solve(t: float, x: Array, xd: Array, r: Array, z: Array, c: float, delta: float, side: int) -> None:
            z[:] = newton.solve(np.array(r)) if stepper.is_regular else np.nan

        options |= {"linsolver": "gmres", "precond": CVODEPrecond(factor, solve)}
    elif jacobian is not None:

        def fill_jacobian(t: float, x: Array, xd: Array, out: Array) -> None:
            stepper.n_jacobian += 1
            out[:] = jacobian(t, x)

        options["jacfn"] = fill_jacobian
    if stepper.n_events:

        def events(t: float, x: Array, out: Array) -> None:  # the library looks at the number of arguments
            stepper.event_values(t, x, out)

        options |= stepper.event_options(events)
    stepper.restart_codes = _ERROR_TEST, _CONVERGENCE
    return stepper.run(CVODE, rhs, (problem.x0,), method="BDF", atol=problem.atol, **options)


class Dae(NamedTuple):
    """F(t, y, dy/dt) = 0, y = [x; multipliers]."""

    residual: Callable[[float, Array, Array], Array]
    jacobian: Callable[[float, Array, Array, float], Array]  # dF/dy + c dF/d(dy/dt)
    y0: Array
    yd0: Array  # consistent
    algebraic: IntArray  # entries of y whose rate does not occur


def integrate_dae(problem: OdeProblem, dae: Dae) -> OdeSolution:
    """Integrate with the BDF method of IDA and a dense direct linear solver; of `problem` the rates are not used."""
    n, stepper, options = len(problem.x0), OutputStepper(problem, "ida"), dict[str, Any]()

    def residual(t: float, y: Array, yd: Array, out: Array) -> None:
        stepper.count_rhs(t)
        out[:] = dae.residual(t, y, yd)

    def jacobian(t: float, y: Array, yd: Array, res: Array, c: float, out: Array) -> None:
        stepper.n_jacobian += 1
        out[:] = dae.jacobian(t, y, yd, c)

    options["jacfn"] = jacobian
    if stepper.n_events:

        def events(t: float, y: Array, yd: Array, out: Array) -> None:
            stepper.event_values(t, y, out)

        options |= stepper.event_options(events)
    atol = np.full(len(dae.y0), UNTESTED)
    atol[:n] = problem.atol
    return stepper.run(IDA, residual, (dae.y0, dae.yd0), atol=atol, algebraic_idx=dae.algebraic, **options)


class OutputStepper:
    """Steps a SUNDIALS solver from output time to output time, until the end, a terminal event or a failure.

    It counts calls of the functions and steps that were tried, as the library does not. The library evaluates events at
    the ends of its steps, which it does not report otherwise, and at output times within them: where steps are to be
    followed, that is one event more, which has no zero.
    """

    def __init__(self, problem: OdeProblem, name: str) -> None:
        if problem.dense:
            raise InputError("dense", "method bdf, radau or lsoda for dense output", name, "or ask for a finer dt_out")
        self.solver: Any = None
        self.problem, self.followed = problem, problem.steps is not None
        self.n_events = len(problem.events) + self.followed
        self.n_rhs = self.n_jacobian = self.n_tried = self.n_counted = 0
        self.is_regular = True  # whether the last preconditioner is
        self.t_rhs = float("nan")
        self.reporter: Any = None
        self.target, self.end = float(problem.t_out[0]), float(problem.t_out[-1])  # of the library's steps
        self.at = self.target  # end of the last step
        self.restart_codes: tuple[int, ...] = ()  # failures after which the library is started anew where it stopped
        self.known = self.at, problem.x0  # the last state that was followed
        self.restarted = -np.inf
        self.x: list[Array] = [problem.x0]  # at the output times so far
        self.event_hits: list[tuple[int, float, Array]] = []
        self.last: tuple[float, Array] | None = None
        self.success, self.message = True, "The solver successfully reached the end of the integration interval."

    def count_rhs(self, t: float) -> None:
        """One more call of the rate; the first one at a time is of a new step."""
        self.n_rhs += 1
        self.n_tried += t != self.t_rhs
        self.t_rhs = t

    def event_options(self, function: Any) -> dict[str, Any]:
        """Options of the library for the events; `function` fills their values."""
        events = self.problem.events
        function.terminal = [event.terminal for event in events] + [False] * self.followed
        function.direction = [int(np.sign(event.direction)) for event in events] + [0] * self.followed
        return {"eventsfn": function, "num_events": self.n_events}

    def event_values(self, t: float, y: Array, out: Array) -> None:
        """Fill the values of the events, and follow the step."""
        for i, event in enumerate(self.problem.events):
            out[i] = event.function(t, self.state(y))
        if self.followed:
            out[-1] = 1.0
            if t != self.target or t == self.end:
                self.follow_step(t, self.state(y))

    def follow_step(self, t: float, x: Array) -> None:
        """Follow a step to t, which may be one where the library only looks for zeros of events."""
        if t > self.at and isfinite(x @ x):
            self.at, self.known = t, (t, np.array(x))
            if self.problem.steps is not None:
                self.problem.steps.step(t, x)

    def run(self, solver: Any, function: Any, start: Sequence[Array], **options: Any) -> OdeSolution:
        """Integrate by a solver of the library; the solution up to where it ended."""
        problem, self.reporter = self.problem, Reporter(self.problem)
        # a floor under the step turns an endless shrinking, with warnings printed by the library, into a failure
        span = float(problem.t_out[-1] - problem.t_out[0])
        smallest = 1e-14 * span
        with one_blas_thread(), np.errstate(all="ignore"), suppress_prints():
            self.solver = solver(
                function, **{"linsolver": "dense"} | options, rtol=problem.rtol, min_step=smallest,
                max_step=max(min(problem.max_step, span), smallest), max_num_steps=problem.work.at_once,
            )  # fmt: skip
            self.solver.init_step(float(problem.t_out[0]), *start)
            try:
                self._integrate()
            finally:
                # rows after the last step that was followed, where it ended early
                for k in range(self.reporter.done, len(self.x)):
                    self.follow_step(float(problem.t_out[k]), self.x[k])
                if self.event_hits:
                    self.follow_step(*self.event_hits[-1][1:])
                self.report(float(problem.t_out[len(self.x) - 1]))
        n, stats = len(problem.x0), {"n_rhs": self.n_rhs, "n_jacobian": self.n_jacobian}
        return OdeSolution(
            problem.t_out[: len(self.x)].copy(), np.array(self.x).reshape(-1, n), self.success, self.message, stats,
            None, *by_event(self.event_hits, len(problem.events), n), self.last,
        )  # fmt: skip

    def _integrate(self) -> None:
        for moment in self.problem.t_out[1:]:
            self.target = float(moment)
            result = self.step(moment)
            while self.success and result.status == _ROOT:
                which, state = np.flatnonzero(result.i_events[-1]).tolist(), self.state(result.y)
                self.event_hits += [(i, float(result.t), state) for i in which]
                if any(self.problem.events[i].terminal for i in which):
                    self.message = "A termination event occurred."
                    return
                result = self.step(moment)
            if not self.success:
                return
            self.x.append(self.state(result.y))
            # where steps are followed, a row comes before the end of the step that it lies in
            self.report(float(moment) if self.problem.steps is None else self.at)

    def report(self, t: float) -> None:
        """Report the rows up to t."""
        reporter = self.reporter
        reporter.passed(t, lambda times: np.array(self.x[reporter.done - len(times) : reporter.done]))

    def state(self, y: Array) -> Array:
        """The states among the unknowns of the library."""
        return np.array(y[: len(self.problem.x0)])

    def step(self, moment: float) -> Any:
        """Step towards an output time."""
        while True:
            result = self.solver.step(float(moment), tstop=float(self.problem.t_out[-1]))
            finite = bool(np.isfinite(result.y).all())
            n, self.n_counted = self.n_tried - self.n_counted, self.n_tried
            stop = self.problem.work.steps(float(result.t), self.state(result.y), n) if finite else ""
            if stop or not (self.restart(result, moment) or (finite and result.status == _TOO_MUCH_WORK)):
                break
        if not (result.success and finite) or stop:
            why = stop or (str(result.message).rstrip(".") if finite else "the state became infinite or NaN")
            self.last = (float(result.t), self.state(result.y)) if finite else None
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
