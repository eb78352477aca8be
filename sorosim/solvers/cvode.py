"""CVODE of SUNDIALS, through scikit-sundae."""

from __future__ import annotations

from typing import Any

import numpy as np
from sksundae.cvode import CVODE

from sorosim.errors import InputError
from sorosim.solvers.base import Array, OdeProblem, OdeSolution, one_blas_thread

# the library's own limit of 500 steps between two outputs is reached by any stiff start
_MAX_STEPS = 100_000


def integrate(problem: OdeProblem) -> OdeSolution:
    """Integrate with the BDF method of CVODE and a dense direct linear solver."""
    if problem.dense:
        raise InputError("dense", "method bdf, radau or lsoda for dense output", "cvode", "or ask for a finer dt_out")
    n, t_out = len(problem.x0), problem.t_out
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
    if problem.events:

        def events(t: float, x: Array, out: Array) -> None:
            for i, event in enumerate(problem.events):
                out[i] = event.function(t, x)

        events.terminal = [event.terminal for event in problem.events]  # type: ignore[attr-defined]
        events.direction = [int(np.sign(event.direction)) for event in problem.events]  # type: ignore[attr-defined]
        options |= {"eventsfn": events, "num_events": len(problem.events)}

    # two output times would mean "wherever the solver steps"
    wanted = t_out if len(t_out) > 2 else np.array([t_out[0], 0.5 * (t_out[0] + t_out[1]), t_out[1]])
    # a floor under the step turns an endless shrinking, with warnings printed by the library, into a failure
    span = float(t_out[-1] - t_out[0])
    smallest = 1e-14 * span
    with one_blas_thread(), np.errstate(all="ignore"):
        solver = CVODE(
            rhs, method="BDF", linsolver="dense", rtol=problem.rtol, atol=problem.atol, min_step=smallest,
            max_step=max(min(problem.max_step, span), smallest), max_num_steps=_MAX_STEPS, **options,
        )  # fmt: skip
        found = solver.solve(wanted, problem.x0)

    t, x = np.asarray(found.t, dtype=float), np.asarray(found.y, dtype=float).reshape(-1, n)
    # the last row may be that of an event or of a failure
    keep = np.isin(t, t_out) & np.append(True, np.diff(t) > 0.0) & np.isfinite(x).all(axis=1)
    success = bool(found.success)
    message = str(found.message)
    if not success:
        message = f"stopped at t = {t[-1]:.6g} s: {message}"
    t_events: list[Array] = []
    x_events: list[Array] = []
    if problem.events:
        which = np.zeros((0, len(problem.events))) if found.i_events is None else np.asarray(found.i_events)
        times = np.zeros(0) if found.t_events is None else np.asarray(found.t_events, dtype=float)
        states = np.zeros((0, n)) if found.y_events is None else np.asarray(found.y_events, dtype=float)
        which = which.reshape(len(times), len(problem.events))
        t_events = [times[which[:, i] != 0] for i in range(len(problem.events))]
        x_events = [states.reshape(-1, n)[which[:, i] != 0] for i in range(len(problem.events))]
    stats = {"n_rhs": counts["n_rhs"], "n_jacobian": counts["n_jacobian"]}
    return OdeSolution(t[keep], x[keep], success, message, stats, None, t_events, x_events)
