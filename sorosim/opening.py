"""`open`: result files of every kind."""

from __future__ import annotations

from pathlib import Path

from sorosim.io.sweep_store import KIND, kind_of
from sorosim.result import Equilibrium, Run, open_run
from sorosim.sweeps.result import SweepResult, open_sweep


def open_result(path: str | Path) -> Run | Equilibrium | SweepResult:
    """Read a result file; of a run or a sweep that was killed, or is under way, what there is of it.

    Where beside the file lies the journal of one that has not finished, it is that one which is read.
    """
    return open_sweep(path) if kind_of(path) == KIND else open_run(path)
