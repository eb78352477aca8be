"""`sorosim.open`: read a result file of any kind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sorosim.bifurcation.diagram import Continuation, read_continuation
from sorosim.control.optimal import KIND as OPTIMAL
from sorosim.control.optimal import open_motion
from sorosim.fitting.fit import KIND as FIT
from sorosim.fitting.fit import open_fit
from sorosim.io.results import read
from sorosim.io.sweep_store import KIND, kind_of
from sorosim.results.stored import result_from_stored
from sorosim.sweeps.result import open_sweep

if TYPE_CHECKING:
    from sorosim.control.optimal import OptimalMotion
    from sorosim.fitting.fit import Fit
    from sorosim.results.result import Equilibrium, Run
    from sorosim.sweeps.result import SweepResult


def open(path: str | Path) -> Run | Equilibrium | Continuation | SweepResult | Fit | OptimalMotion:
    """Read a result file: a run, an equilibrium, a continuation, a sweep, a fit or an optimal motion.

    Where a run or a sweep has not finished, its journal, which lies beside the file, is read instead.

    Raises
    ------
    FileError
        It cannot be read, is no result file, or is damaged.
    """
    kind = kind_of(path)
    if kind == KIND:
        return open_sweep(path)
    if kind == FIT:
        return open_fit(path)
    if kind == OPTIMAL:
        return open_motion(path)
    stored = read(path)
    return read_continuation(stored, path) if stored["kind"] == "continuation" else result_from_stored(stored, path)
