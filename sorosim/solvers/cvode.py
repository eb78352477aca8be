"""CVODE of SUNDIALS, through scikit-sundae."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sksundae.cvode import CVODE

from sorosim.errors import InputError
from sorosim.solvers.base import Array, OdeProblem, OdeSolution, Reporter, one_blas_thread
from sorosim.solvers.quiet import quiet

_TOO_MUCH_WORK, _ROOT = -1, 2  # status of CVODE and IDA after max_num_steps steps, and where an event stopped it


class Counts:
    """Calls of the functions of a problem, and steps that were tried: the library does not tell those."""

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
    if problem.events:

        def events(t: float, x: Array, out: Array) -> None:
            for i, event in enumerate(problem.events):
                out[i] = event.function(t, x)

        events.terminal = [event.terminal for event in problem.events]  # type: ignore[attr-defined]
        events.direction = [int(np.sign(event.direction)) for event in problem.events]  # type: ignore[attr-defined]
        options |= {"eventsfn": events, "num_events": len(problem.events)}

    # a floor under the step turns an endless shrinking, with warnings printed by the library, into a failure
    span = float(t_out[-1] - t_out[0])
    smallest = 1e-14 * span
    with one_blas_thread(), np.errstate(all="ignore"), quiet():
        solver = CVODE(
            rhs, method="BDF", linsolver="dense", rtol=problem.rtol, atol=problem.atol, min_step=smallest,
            max_step=max(min(problem.max_step, span), smallest), max_num_steps=problem.work.at_once, **options,
        )  # fmt: skip
        solver.init_step(float(t_out[0]), problem.x0)
        march = March(solver, problem, counts)
        march.run()
    return march.solution()


class March:
    """From one output time to the next, until the end, a terminal event or a failure."""

    def __init__(
        self, solver: Any, problem: OdeProblem, counts: Counts,
        state_of: Callable[[float, Any], Array] = lambda t, found: found.y,
    ) -> None:  # fmt: skip
        self.solver, self.problem, self.counts, self.state_of = solver, problem, counts, state_of
        self.counted = 0
        self.x: list[Array] = [problem.x0]  # at the output times so far
        self.hits: list[tuple[Any, float, Array]] = []  # which events, time, state
        self.last: tuple[float, Array] | None = None
        self.success, self.message = True, "The solver successfully reached the end of the integration interval."

    def run(self) -> None:
        reporter = Reporter(self.problem)
        for moment in self.problem.t_out[1:]:
            found = self.step(moment)
            while self.success and found.status == _ROOT:
                self.hits.append((np.asarray(found.i_events[-1]), float(found.t), self.state(found)))
                if any(
                    which and event.terminal for which, event in zip(self.hits[-1][0], self.problem.events, strict=True)
                ):
                    self.message = "A termination event occurred."
                    return
                found = self.step(moment)
            if not self.success:
                return
            self.x.append(self.state(found))
            reporter.passed(float(moment), lambda times: self.x[-1][None])

    def solution(self) -> OdeSolution:
        """What came of it."""
        n, count = len(self.problem.x0), len(self.problem.events)
        events_of = [[hit for hit in self.hits if hit[0][i]] for i in range(count)]
        return OdeSolution(
            self.problem.t_out[: len(self.x)].copy(), np.array(self.x).reshape(-1, n), self.success, self.message,
            self.counts.stats, None, [np.array([t for _, t, _ in hits]) for hits in events_of],
            [np.array([x for _, _, x in hits]).reshape(-1, n) for hits in events_of], self.last,
        )  # fmt: skip

    def state(self, found: Any) -> Array:
        return np.array(self.state_of(float(found.t), found))

    def step(self, moment: float) -> Any:
        """Go on towards an output time."""
        while True:
            found = self.solver.step(float(moment), tstop=float(self.problem.t_out[-1]))
            finite = bool(np.isfinite(found.y).all())
            n, self.counted = self.counts.n_tried - self.counted, self.counts.n_tried
            stop = self.problem.work.steps(float(found.t), self.state(found), n) if finite else ""
            if stop or not finite or found.status != _TOO_MUCH_WORK:
                break
        if not (found.success and finite) or stop:
            why = stop or (str(found.message).rstrip(".") if finite else "the state became infinite or NaN")
            self.last = (float(found.t), self.state(found)) if finite else None
            self.success, self.message = False, f"stopped at t = {float(found.t):.6g} s: {why}"
        return found
