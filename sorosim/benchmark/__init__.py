"""Benchmarks: what is timed, how, and the figure of the paper beside it (design.md, 6 and 7).

The cases are data. `run` times them by itself, `tests/benchmarks` by pytest-benchmark; both make the same rows. Times
of different machines compare by the yardstick, numpy.linalg.solve on a 48 x 48 system, measured in the same run between
the cases. Everything runs with one BLAS thread.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from sorosim.benchmark.cases import CASES as OPEN
from sorosim.benchmark.cases import Case, Target
from sorosim.benchmark.closed import CLOSED
from sorosim.benchmark.loaded import LOADED
from sorosim.benchmark.report import YARDSTICK, Row, Timed, make_row, table, yardstick_row
from sorosim.benchmark.setting import Setting, times
from sorosim.benchmark.swept import SWEPT
from sorosim.benchmark.touching import TOUCHING
from sorosim.benchmark.varied import VARIED
from sorosim.errors import InputError, nearest
from sorosim.solvers.base import one_blas_thread

__all__ = [
    "CASES",
    "YARDSTICK",
    "Case",
    "Row",
    "Setting",
    "Target",
    "Timed",
    "make_row",
    "run",
    "table",
    "yardstick_row",
]

CASES = (*OPEN, *CLOSED, *LOADED, *TOUCHING, *VARIED, *SWEPT)


def time_case(case: Case, setting: Setting, quick: bool = False) -> Timed:
    """Time a case, with the yardstick before and after."""
    few = (5, 20) if quick else ()
    rounds, iterations = (min(case.rounds, 3), min(case.iterations, 20)) if quick else (case.rounds, case.iterations)
    results: list[Any] = []
    with one_blas_thread():
        action = case.make(setting)

        def keep() -> None:
            results.append(action())
            if case.measure is None:
                del results[:-1]

        before, median = setting.measure_yardstick(*few), 0.0
        if case.process:  # a first call would warm nothing
            for _ in range(rounds):
                keep()
        else:
            median = statistics.median(times(keep, rounds, iterations))
        return Timed(case, median, results, before + setting.measure_yardstick(*few))


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
    setting, timed = Setting(), []
    for case in chosen:
        if announce is not None:
            announce(case.name)
        timed.append(time_case(case, setting, quick))
    return [yardstick_row(setting), *(make_row(item, setting) for item in timed)]
