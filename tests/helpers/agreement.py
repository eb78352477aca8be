"""Comparisons that the page of the documentation on validation lists: quantity, reference, ours, tolerance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

PROPERTY = "agreement"


class Row(NamedTuple):
    """One comparison."""

    quantity: str
    source: str
    reference: float
    ours: float
    deviation: float
    tolerance: float
    relative: bool
    unit: str


class Agrees:
    """Compares and notes; given to tests as the fixture `agrees`."""

    def __init__(self, record: Callable[[str, object], None]) -> None:
        self._record = record

    def __call__(
        self, quantity: str, ours: ArrayLike, reference: ArrayLike, *, source: str, rtol: float = 0.0,
        atol: float = 0.0, unit: str = "",
    ) -> None:  # fmt: skip
        """Assert that two quantities agree, and note it.

        Parameters
        ----------
        quantity : str
            What is compared. Of several comparisons of one quantity the page shows the worst.
        source : str
            Where the reference is from.
        rtol, atol : float
            One of them: of max |ours - reference|, relative to max |reference| or as it is.
        unit : str
            Of both.
        """
        a, b = np.broadcast_arrays(np.asarray(ours, dtype=float), np.asarray(reference, dtype=float))
        assert (rtol > 0.0) != (atol > 0.0), "one tolerance"
        assert a.size, "something to compare"
        apart = np.abs(a - b)
        at = np.unravel_index(int(np.argmax(apart)), apart.shape) if apart.ndim else ()
        size = float(np.abs(b).max()) if rtol else 1.0
        deviation = 0.0 if apart[at] == 0.0 else float(np.divide(apart[at], size))
        row = Row(quantity, source, float(b[at]), float(a[at]), deviation, float(rtol or atol), bool(rtol > 0.0), unit)
        self._record(PROPERTY, row._asdict())
        assert deviation <= row.tolerance, f"{quantity}: {row.ours!r} is not {row.reference!r} to {row.tolerance:g}"


def rows_of(report: Any) -> list[dict[str, Any]]:
    """What a test noted, with its file and whether it passed."""
    file = report.nodeid.partition("::")[0]
    rows = [value for name, value in report.user_properties if name == PROPERTY]
    return [{**row, "file": file, "passed": row["deviation"] <= row["tolerance"]} for row in rows]
