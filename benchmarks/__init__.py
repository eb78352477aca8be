"""Benchmarks: what is timed, how, and the figure of the paper beside it.

`python -m benchmarks` runs them from the repository, `sorosim bench` a table of the cases. The cases are data. Times of
different machines compare by the yardstick, numpy.linalg.solve on a 48 x 48 system, measured in the same run between
the cases. Everything runs with one BLAS thread.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.cases import CASES as OPEN
from benchmarks.cases import Case, Target
from benchmarks.contacts import CONTACTS
from benchmarks.context import Context, times
from benchmarks.control import CONTROL
from benchmarks.inverse import INVERSE
from benchmarks.large import LARGE
from benchmarks.loads import LOADS
from benchmarks.loops import LOOPS
from benchmarks.pinocchio import RIGID
from benchmarks.report import YARDSTICK, Row, Timed, make_row, record, table, yardstick_row
from benchmarks.sensitivities import SENSITIVITIES
from benchmarks.steps import STEPS
from benchmarks.sweeps import SWEEPS
from sorosim.base.errors import InputError, nearest
from sorosim.base.ode import one_blas_thread

__all__ = [
    "CASES",
    "YARDSTICK",
    "Case",
    "Row",
    "Target",
    "record",
    "run",
    "table",
]

CASES = (*OPEN, *LOOPS, *LOADS, *CONTACTS, *SENSITIVITIES, *STEPS, *INVERSE, *CONTROL, *SWEEPS, *LARGE, *RIGID)


def time_case(case: Case, context: Context, quick: bool = False) -> Timed:
    """Time a case, with the yardstick before and after."""
    few = (5, 20) if quick else ()
    rounds, iterations = (min(case.rounds, 3), min(case.iterations, 20)) if quick else (case.rounds, case.iterations)
    results: list[Any] = []
    with one_blas_thread():
        action = case.make(context)

        def call() -> None:
            results.append(action())
            if case.measure is None:
                del results[:-1]

        before, median = context.measure_yardstick(*few), 0.0
        if case.process:  # a first call would warm nothing
            for _ in range(rounds):
                call()
        else:
            median = statistics.median(times(call, rounds, iterations))
        return Timed(case, median, results, before + context.measure_yardstick(*few))


def run(
    quick: bool = False, names: Sequence[str] | None = None, announce: Callable[[str], None] | None = None
) -> list[Row]:
    """Time the cases.

    Parameters
    ----------
    quick : bool
        A few rounds each, and none of the cases that start Python anew.
    names : sequence of str, optional
        Only these cases.
    announce : callable
        Called with the name of each case before it runs.

    Returns
    -------
    list of Row
        The yardstick first, then the cases in their order.
    """
    known = [case.name for case in CASES]
    for name in names or ():
        if name not in known:
            raise InputError("names", "the name of a benchmark", f"'{name}'", nearest(name, known))
    chosen = [case for case in CASES if (case.name in names if names is not None else not (quick and case.process))]
    context, timed = Context(), []
    for case in chosen:
        if announce is not None:
            announce(case.name)
        timed.append(time_case(case, context, quick))
    return [yardstick_row(context), *(make_row(item, context) for item in timed)]
