"""Result files of all kinds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sorosim.branching.kept import curve_of
from sorosim.io.results import read
from sorosim.stored import opened

if TYPE_CHECKING:
    from sorosim.branching.diagram import Continuation
    from sorosim.result import Equilibrium, Run


def open_result(path: str | Path) -> Run | Equilibrium | Continuation:
    """Read a result file: a run, an equilibrium, or a continuation.

    Where beside the file lies the journal of a run that has not finished, it is that run which is read.

    Raises
    ------
    FileError
        It cannot be read, is no result file, or is damaged.
    """
    stored = read(path)
    return curve_of(stored, path) if stored["kind"] == "continuation" else opened(stored, path)
