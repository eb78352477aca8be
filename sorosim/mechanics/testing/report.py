"""What checks say: a report, or an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.errors import SorosimError
from sorosim.base.registry import ByValue

# a derivative may be off by so much of the wrench, or of the largest one, whatever its own size: differences err, too
FLOOR = 1e-9
# why the derivative of a plug-in that gives its value alone, which is that of its formula, may differ
NOT_SMOOTH = "its wrench is not smooth there: a kink, a jump, or noise; smooth it, or give states away from there"


def derivative_hint(bound: object, hint: str) -> str:
    """What to look at: derivatives that somebody wrote, or the value."""
    return NOT_SMOOTH if isinstance(bound, ByValue) and not hasattr(bound.own, "tangents") else hint


class ContractError(SorosimError, AssertionError):
    """A plug-in broke its contract. `where` is the plug-in and the rule; `hint` says what to look at."""

    def __init__(self, where: str, found: str, hint: str = "") -> None:
        self.where, self.found, self.hint = where, found, hint
        super().__init__(str(self))

    def __str__(self) -> str:
        return f"{self.where}: {self.found}" + (f"; {self.hint}" if self.hint else "")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.where, self.found, self.hint)


@dataclass
class Report:
    """The worst relative errors of a check, by what was compared.

    Parameters
    ----------
    name : str
        Of the plug-in.
    n_states : int
        How many states, or orders of a basis, were tried.
    errors : dict of str to float
    """

    name: str
    n_states: int
    errors: dict[str, float] = field(default_factory=dict)

    def note(self, what: str, error: float) -> None:
        """Remember an error if it is the worst one."""
        self.errors[what] = max(self.errors.get(what, 0.0), error)

    @property
    def worst(self) -> float:
        """The largest of the errors."""
        return max(self.errors.values(), default=0.0)

    def __str__(self) -> str:
        lines = [f"  {what:40s} {error:.1e}" for what, error in self.errors.items()]
        return "\n".join([f"{self.name}: worst relative errors, {self.n_states} tried", *lines])


class Pair(NamedTuple):
    """A derivative and the same by differences, at one place and state."""

    analytic: Array
    numeric: Array
    floor: float  # what differences may be off by
    at: str


@dataclass(frozen=True)
class Matrix:
    """A derivative and what its entries are called.

    Parameters
    ----------
    what : str
        Such as "K".
    rows, columns : sequence of str
        Names of its entries.
    blocks : bool
        Whether entries are judged by the size of their own 3x3 block: moments and forces, turns and shifts.
    hint : str
        What to look at when it is wrong.
    """

    what: str
    rows: Sequence[str]
    columns: Sequence[str]
    blocks: bool = False
    hint: str = ""

    def compare(self, report: Report, where: str, pairs: Sequence[Pair], tolerance: float) -> None:
        """Compare a derivative (n, m) with differences, at all places and states that were tried."""
        whole = max(max(np.abs(x).max(initial=0.0) for x in pair[:2]) for pair in pairs)
        for analytic, numeric, floor, at in pairs:
            size, error = np.maximum(np.abs(analytic), np.abs(numeric)), np.abs(analytic - numeric)
            own = _of_blocks(size) if self.blocks else np.full(size.shape, size.max(initial=0.0))
            allowed = tolerance * own + floor + FLOOR * whole
            report.note(self.what, float(error.max(initial=0.0) / whole) if whole > floor else 0.0)
            if not (error <= allowed).all():
                row, column = (int(i) for i in np.unravel_index(np.argmax(error - allowed), error.shape))
                entry = f"row {row} ({self.rows[row]}), column {column} ({self.columns[column]})"
                numbers = f"is {analytic[row, column]:.9g}, by differences {numeric[row, column]:.9g}"
                hint = self.remedy(analytic, numeric, allowed)
                raise ContractError(f"{where}, {self.what} at {at}", f"{entry} {numbers}", hint)

    def remedy(self, analytic: Array, numeric: Array, allowed: Array) -> str:
        """What may be wrong with it."""
        if (np.abs(analytic + numeric) <= allowed).all():
            return "all signs are the other way round: it is the derivative, not minus it"
        n, m = analytic.shape
        if n == m and (np.abs(analytic.T - numeric) <= np.maximum(allowed, allowed.T)).all():
            return "it is transposed: rows are entries of the wrench"
        return self.hint


def _of_blocks(size: Array) -> Array:
    """The largest entry of the 3x3 block of each entry; blocks of columns are as wide as they are."""
    n, m = size.shape
    out = np.empty_like(size)
    for i in range(0, n, 3):
        for j in range(0, m, 3):
            out[i : i + 3, j : j + 3] = size[i : i + 3, j : j + 3].max()
    return out
