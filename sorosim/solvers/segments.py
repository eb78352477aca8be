"""Integration with restarts at fixed times, so that a run that is taken up again repeats the very bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sorosim.solvers.base import Array, OdeProblem, OdeSolution

Integrate = Callable[[OdeProblem], OdeSolution]
Restart = Callable[[float, Array, dict[str, int]], None]


def integrate_with_restarts(
    integrate: Integrate, problem: OdeProblem, restarts: Array, at_restart: Restart | None = None
) -> OdeSolution:
    """Integrate from restart to restart, each time as if the state there were the start.

    Parameters
    ----------
    integrate : callable
        One of the integrators.
    problem : OdeProblem
    restarts : (m,) array
        Increasing times between the first and the last of `problem.t_out`.
    at_restart : callable, optional
        Called with time, state and the counts so far, at each restart that is reached.

    Returns
    -------
    OdeSolution
        As if of one piece.
    """
    t_out = problem.t_out
    bounds = np.concatenate([t_out[:1], restarts, t_out[-1:]])
    parts: list[OdeSolution] = []
    kept: list[tuple[Array, Array]] = []
    stats: dict[str, int] = {}
    x = problem.x0
    for k, (begin, end) in enumerate(pairwise(bounds)):
        inside = t_out[(t_out > begin) & (t_out < end)]
        # the first row of a part is the last one of the part before
        wanted = np.isin(np.concatenate([[begin], inside, [end]]), t_out) & (np.arange(len(inside) + 2) >= min(k, 1))
        part = integrate(
            replace(problem, x0=x, t_out=np.concatenate([[begin], inside, [end]]), report=_only(problem, wanted))
        )
        parts.append(part)
        kept.append((part.t[wanted[: len(part.t)]], part.x[wanted[: len(part.t)]]))
        stats = {name: stats.get(name, 0) + count for name, count in part.stats.items()}
        if not part.success or len(part.t) == 0 or part.t[-1] < end:
            break
        x = part.x[-1]
        if at_restart is not None and k < len(restarts):
            at_restart(float(end), x, stats)
    n_events = len(problem.events)
    return OdeSolution(
        np.concatenate([t for t, _ in kept]), np.concatenate([x for _, x in kept]), parts[-1].success,
        parts[-1].message, stats, _dense(parts, bounds) if problem.dense else None,
        [np.concatenate([part.t_events[i] for part in parts]) for i in range(n_events)],
        [np.concatenate([part.x_events[i] for part in parts]) for i in range(n_events)],
    )  # fmt: skip


def _only(problem: OdeProblem, wanted: NDArray[np.bool_]) -> Callable[[Array, Array], None] | None:
    """The report of a problem for the wanted rows of a part, which come in order."""
    report, seen = problem.report, 0
    if report is None:
        return None

    def some(t: Array, x: Array) -> None:
        nonlocal seen
        rows = wanted[seen : seen + len(t)]
        seen += len(t)
        if rows.any():
            report(t[rows], x[rows])

    return some


def _dense(parts: Sequence[OdeSolution], bounds: Array) -> Callable[[float], Array] | None:
    pieces = [part.dense for part in parts]

    def at(t: float) -> Array:
        piece = pieces[min(int(np.searchsorted(bounds[1:-1], t, side="right")), len(pieces) - 1)]
        if piece is None:
            raise ValueError("no dense output")
        return piece(t)

    return at if all(piece is not None for piece in pieces) else None
