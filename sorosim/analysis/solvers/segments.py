"""Integration in segments: the integrator starts anew at given times and at events, where the state may be changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from sorosim.base.arrays import Array, Mask
from sorosim.base.ode import Event, OdeProblem, OdeSolution

Integrate = Callable[[OdeProblem], OdeSolution]
Restart = Callable[[float, Array, dict[str, int]], Array | None]


def integrate_with_restarts(
    integrate: Integrate, problem: OdeProblem, times: Array, restart: Restart, restart_event: Event | None = None
) -> OdeSolution:
    """Integrate from restart to restart, each time as if the state there were the start.

    Parameters
    ----------
    integrate : callable
        One of the integrators.
    problem : OdeProblem
    times : (m,) array
        Increasing, between the first and the last of `problem.t_out`: the integrator starts anew there.
    restart : callable
        Called with time, state and the counts so far, at each of them that is reached; returns the state to continue
        from, or None: that is the end.
    restart_event : Event, optional
        Where it is crossed the integrator starts anew too. It must not be crossed at once after a `restart`.

    Returns
    -------
    OdeSolution
        As if of one piece.
    """
    t_out, n_events = problem.t_out, len(problem.events)
    events = (*problem.events, *([replace(restart_event, terminal=True)] if restart_event is not None else []))
    parts: list[OdeSolution] = []
    rows_of_parts: list[tuple[Array, Array]] = []
    bounds: list[float] = []
    stats: dict[str, int] = {}
    begin, x, end_of_rows = float(t_out[0]), problem.x0, -np.inf
    while True:
        end = float(next((t for t in times if t > begin), t_out[-1]))
        moments = np.concatenate([[begin], t_out[(t_out > begin) & (t_out < end)], [end]])
        # a restart is a row only if it is an output time; that at the begin of a segment is the end of the one before
        is_row = np.isin(moments, t_out) & (moments > end_of_rows)
        if problem.steps is not None:
            problem.steps.begin(begin, x)
        part = integrate(replace(problem, x0=x, t_out=moments, events=events, report=_only(problem, is_row)))
        parts.append(part)
        rows = is_row[: len(part.t)]
        rows_of_parts.append((part.t[rows], part.x[rows]))
        end_of_rows = max([end_of_rows, *rows_of_parts[-1][0][-1:]])
        stats = {name: stats.get(name, 0) + count for name, count in part.stats.items()}
        triggered = restart_event is not None and part.success and len(part.t_events[-1]) > 0
        reached = part.success and len(part.t) > 0 and part.t[-1] == end
        begin = float(part.t_events[-1][-1]) if triggered else end
        if not (triggered or reached) or begin >= t_out[-1]:
            break
        bounds.append(begin)
        new_state = restart(begin, part.x_events[-1][-1] if triggered else part.x[-1], stats)
        if new_state is None:
            break
        x = new_state
    return OdeSolution(
        np.concatenate([t for t, _ in rows_of_parts]), np.concatenate([x for _, x in rows_of_parts]), parts[-1].success,
        parts[-1].message, stats, _dense(parts, bounds) if problem.dense else None,
        [np.concatenate([part.t_events[i] for part in parts]) for i in range(n_events)],
        [np.concatenate([part.x_events[i] for part in parts]) for i in range(n_events)], parts[-1].last, parts[-1].step,
    )  # fmt: skip


def _only(problem: OdeProblem, is_row: Mask) -> Callable[[Array, Array], None] | None:
    """The report of a problem for the wanted rows of a part, which come in order."""
    report, n_seen = problem.report, 0
    if report is None:
        return None

    def report_rows(t: Array, x: Array) -> None:
        nonlocal n_seen
        rows = is_row[n_seen : n_seen + len(t)]
        n_seen += len(t)
        if rows.any():
            report(t[rows], x[rows])

    return report_rows


def _dense(parts: Sequence[OdeSolution], bounds: Sequence[float]) -> Callable[[float], Array] | None:
    pieces = [part.dense for part in parts]

    def at(t: float) -> Array:
        piece = pieces[min(int(np.searchsorted(bounds, t, side="right")), len(pieces) - 1)]
        if piece is None:
            raise ValueError("no dense output")
        return piece(t)

    return at if all(piece is not None for piece in pieces) else None
