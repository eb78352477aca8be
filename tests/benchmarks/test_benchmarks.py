"""The cases of sorosim.benchmark under pytest-benchmark: `make bench`. No time is ever asserted."""

import pytest

from sorosim.benchmark import CASES, Timed
from sorosim.solvers.base import one_blas_thread


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bench(case, benchmark, setting, note):
    results = []
    with one_blas_thread():
        action = case.make(setting)

        def keep():
            results.append(action())
            if case.measure is None:
                del results[:-1]

        before = setting.measure_yardstick()
        warm = 0 if case.process else 1
        benchmark.pedantic(keep, rounds=case.rounds, iterations=case.iterations, warmup_rounds=warm)
        after = setting.measure_yardstick()
    if benchmark.stats is not None:  # None under --benchmark-disable
        note(Timed(case, benchmark.stats.stats.median, results, before + after))
