"""Benchmarks: what is timed, how, and the figure of the paper beside it.

`python -m benchmarks` runs them from the repository, `sorosim bench` the cases. The cases are data. Times of different
machines compare by the yardstick, numpy.linalg.solve on a 48 x 48 system, measured in the same run between the cases.
Everything runs with one BLAS thread.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from benchmarks.cases import CASES as OPEN
from benchmarks.cases import Case, Target
from benchmarks.contacts import CONTACTS
from benchmarks.context import Context, times
from benchmarks.control import CONTROL
from benchmarks.couplings import COUPLINGS
from benchmarks.inverse import INVERSE
from benchmarks.large import LARGE
from benchmarks.loads import LOADS
from benchmarks.loops import LOOPS
from benchmarks.pinocchio import RIGID
from benchmarks.record import Record
from benchmarks.report import YARDSTICK, Row, Timed, failed_row, make_row, table, yardstick_row
from benchmarks.sensitivities import SENSITIVITIES
from benchmarks.steps import STEPS
from benchmarks.sweeps import SWEEPS
from sorosim.base.ode import one_blas_thread

__all__ = [
    "CASES",
    "YARDSTICK",
    "Case",
    "Context",
    "Record",
    "Row",
    "Target",
    "failed_row",
    "measured",
    "table",
    "yardstick_row",
]

CASES = (*OPEN, *LOOPS, *COUPLINGS, *LOADS, *CONTACTS, *SENSITIVITIES, *STEPS, *INVERSE, *CONTROL, *SWEEPS, *LARGE,
         *RIGID)  # fmt: skip


def time_case(case: Case, context: Context) -> Timed:
    """Time a case, with the yardstick before and after."""
    few = context.size((), (5, 20))
    rounds, iterations = context.size((case.rounds, case.iterations), (1, min(case.iterations, 20)))
    results: list[Any] = []
    with one_blas_thread():
        action = case.make(context)

        def call() -> None:
            results.append(action())
            if not case.figure:
                del results[:-1]

        before, median = context.measure_yardstick(*few), 0.0
        if case.figure:  # a first call would warm nothing
            for _ in range(rounds):
                call()
        else:
            median = statistics.median(times(call, rounds, iterations))
        return Timed(case, median, results, before + context.measure_yardstick(*few))


def measured(case: Case, context: Context, tell: Callable[[Exception], None] | None = None) -> Row:
    """The row of a case, or that of its error, which `tell` is called with."""
    try:
        return make_row(time_case(case, context), context)
    except Exception as error:
        if tell is not None:
            tell(error)
        return failed_row(case, error)
