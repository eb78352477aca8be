"""Comparisons that the page of the documentation on validation lists: quantity, reference, ours, tolerance."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import ArrayLike

PROPERTY, MARGIN = "agreement", "margin"
NUMBER = r"(?:np\.float64\()?(?P<{}>[0-9][0-9.e+-]*)\)?"
COMPARISON = re.compile(NUMBER.format("left") + " (?P<sign>[<>])=? " + NUMBER.format("right"))


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
    bound: str


class Agrees:
    """Compares and notes; given to tests as the fixture `agrees`."""

    def __init__(self, record: Callable[[str, object], None]) -> None:
        self._record = record

    def __call__(
        self, quantity: str, ours: ArrayLike, reference: ArrayLike, *, source: str, rtol: float = 0.0,
        atol: float = 0.0, unit: str = "", bound: str = "",
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
        bound : str
            What the tolerance is derived from. Without it, it is at least five times the worst error over processors.
        """
        a, b = np.broadcast_arrays(np.asarray(ours, dtype=float), np.asarray(reference, dtype=float))
        assert (rtol > 0.0) != (atol > 0.0), "one tolerance"
        assert a.size, "something to compare"
        apart = np.abs(a - b)
        at = np.unravel_index(int(np.argmax(apart)), apart.shape) if apart.ndim else ()
        size = float(np.abs(b).max()) if rtol else 1.0
        deviation = 0.0 if apart[at] == 0.0 else float(np.divide(apart[at], size))
        numbers = float(b[at]), float(a[at]), deviation, float(rtol or atol)
        row = Row(quantity, source, *numbers, bool(rtol > 0.0), unit, bound)
        self._record(PROPERTY, row._asdict())
        assert deviation <= row.tolerance, f"{quantity}: {row.ours!r} is not {row.reference!r} to {row.tolerance:g}"


def rows_of(report: Any) -> list[dict[str, Any]]:
    """What a test noted, with its file and whether it passed."""
    file = report.nodeid.partition("::")[0]
    rows = [value for name, value in report.user_properties if name == PROPERTY]
    return [{**row, "file": file, "passed": row["deviation"] <= row["tolerance"]} for row in rows]


class Margins:
    """Error over tolerance of the plain assertions of a test: `assert error < tolerance` (or >), `assert_allclose`.

    A pytest plug-in; it needs the option `enable_assertion_pass_hook`.
    """

    def __init__(self) -> None:
        self.worst: dict[str, float] = {}
        self.compare, np.testing.assert_allclose = np.testing.assert_allclose, self.assert_allclose

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        self.worst = {}
        try:
            return (yield)
        finally:
            item.user_properties += [(MARGIN, [where, ratio]) for where, ratio in self.worst.items()]

    def pytest_assertion_pass(self, item: pytest.Item, lineno: int, orig: str, expl: str) -> None:
        if found := COMPARISON.match(expl):
            numbers = found["left"], found["right"]
            small, large = map(float, numbers if found["sign"] == "<" else numbers[::-1])
            # whole numbers count something
            if 0.0 < small <= large and any("." in number or "e" in number for number in numbers):
                self.note(f"{orig} (line {lineno})", small / large)

    def assert_allclose(self, actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 0.0, **more: Any) -> None:
        __tracebackhide__ = True
        self.compare(actual, desired, rtol, atol, **more)
        with np.errstate(all="ignore"):
            ratio = np.ma.filled(np.abs(np.subtract(actual, desired)) / (atol + rtol * np.abs(desired)), 0.0)
        worst = float(np.max(np.nan_to_num(ratio, nan=0.0), initial=0.0))
        self.note(f"assert_allclose, rtol={rtol:g}, atol={atol:g} (line {sys._getframe(1).f_lineno})", worst)

    def note(self, where: str, ratio: float) -> None:
        self.worst[where] = max(self.worst.get(where, 0.0), ratio)
