"""The integrator of problems without unknowns: all is prescribed, and only rows and events are left to find."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.ode import OdeProblem, OdeSolution, by_event, locate

# samples of events between two rows
N_SAMPLES = 10
# and powers are integrated over so many times between two rows
N_POWER_NODES = 3


def integrate(problem: OdeProblem) -> OdeSolution:
    """Go through the times; the contract is in `sorosim.base.ode`."""
    t_out, nothing = problem.t_out, np.zeros(0)
    hits: list[tuple[int, float, Array]] = []
    values = [event.function(float(t_out[0]), nothing) for event in problem.events]
    steps = [float(t_out[0])]
    for before, after in pairwise(t_out) if problem.events else ():
        steps += map(float, np.linspace(before, after, N_SAMPLES + 1)[1:])
    ended = None
    for begin, end in pairwise(steps):
        values, found, ended = locate(problem.events, values, begin, end, lambda _: nothing)
        hits += found
        if ended is not None:
            break
    t = t_out if ended is None else t_out[t_out <= ended]
    x = np.zeros((len(t), 0))
    for begin, end in pairwise(t if ended is None else np.append(t[t < ended], ended)):
        if problem.steps is not None:
            inside = begin + (end - begin) * np.arange(1, N_POWER_NODES + 1) / (N_POWER_NODES + 1)
            for time in (*inside, end):
                problem.steps.step(float(time), nothing)
    if problem.report is not None:
        problem.report(t, x)
    message = "nothing to integrate: all coordinates are driven" if ended is None else "A termination event occurred."
    stats = dict.fromkeys(("n_steps", "n_rhs", "n_jacobian", "n_factorizations"), 0)
    dense = (lambda t: nothing) if problem.dense else None
    return OdeSolution(t.copy(), x, True, message, stats, dense, *by_event(hits, len(problem.events), 0))
