"""`sorosim.open`: read a result file of any kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sorosim.bifurcation.diagram import Continuation, continuation_from_stored
from sorosim.control.optimal import KIND as OPTIMAL
from sorosim.control.optimal import motion_from_stored
from sorosim.errors import FileError
from sorosim.fitting.fit import KIND as FIT
from sorosim.fitting.fit import fit_from_stored
from sorosim.io.results import read, read_result
from sorosim.io.sweep_store import KIND as SWEEP
from sorosim.io.sweep_store import kind_of
from sorosim.public import public
from sorosim.results.stored import result_from_stored, robot_from_stored
from sorosim.sweeps.result import open_sweep

if TYPE_CHECKING:
    from sorosim.control.optimal import OptimalMotion
    from sorosim.fitting.fit import Fit
    from sorosim.results.result import Equilibrium, Run
    from sorosim.robot import Robot
    from sorosim.sweeps.result import SweepResult

# kind of a file: how it is read, and how the result is made of its robot and contents
FROM_STORED: Mapping[
    str,
    tuple[
        Callable[[str | Path], dict[str, Any]], Callable[[Robot, Mapping[str, Any]], Continuation | Fit | OptimalMotion]
    ],
] = {
    "continuation": (read, continuation_from_stored),
    FIT: (read_result, fit_from_stored),
    OPTIMAL: (read_result, motion_from_stored),
}


@public
def open(path: str | Path) -> Run | Equilibrium | Continuation | SweepResult | Fit | OptimalMotion:
    """Read a result file: a run, an equilibrium, a continuation, a sweep, a fit or an optimal motion.

    Where a run or a sweep has not finished, its journal, which lies beside the file, is read instead.

    Raises
    ------
    FileError
        It cannot be read, is no result file, or is damaged.
    """
    kind = kind_of(path)
    if kind == SWEEP:
        return open_sweep(path)
    if kind not in FROM_STORED:
        return result_from_stored(read(path), path)
    reader, made_of = FROM_STORED[kind]
    stored = reader(path)
    robot = robot_from_stored(stored, path)
    try:
        return made_of(robot, stored)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise FileError(str(path), f"expected a complete {kind}, got a damaged one: {error!r}") from None
