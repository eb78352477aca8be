"""Rows and their table: median, yardsticks, target, and the figure of the paper beside it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.cases import REFERENCE_YARDSTICK, Case, amount
from benchmarks.context import Context

YARDSTICK = "yardstick: numpy.linalg.solve, 48 x 48"


class Row(NamedTuple):
    """One line of the table."""

    name: str
    median: float | None  # [s], or bytes; None: it failed
    unit: str  # "s" or "B"
    yardstick: float | None  # as measured just before and after [s]
    yardsticks: float | None
    scaled: float | None  # where the yardstick is 17 us [s]
    target: str
    met: bool | None
    paper: float | None  # [s]
    ratio: float | None  # paper's figure over ours
    remark: str
    failed: str = ""  # the error in a sentence


class Timed(NamedTuple):
    """What was measured of a case."""

    case: Case
    median: float  # of the times of a call [s]
    results: Sequence[Any]  # what the calls returned; the last one's, but for jobs
    yardsticks: Sequence[float]  # samples from just before and after [s]


def sentence(error: Exception) -> str:
    """An error in one line."""
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def failed_row(case: Case, error: Exception) -> Row:
    """The row of a case that raised an error."""
    return Row(case.name, None, case.unit, None, None, None, "", None, case.paper, None, "", sentence(error))


def make_row(timed: Timed, context: Context) -> Row:
    """The row of a case. Its yardstick is that of its own minute, for the machine may have other work in the next."""
    case, median, results, samples = timed
    figure = statistics.median(result[case.figure] for result in results) if case.figure else median / case.per
    if not np.isfinite(figure):
        raise ArithmeticError(f"its figure is {figure}")
    yardstick, relative = statistics.median(samples), case.unit == "s" and not case.figure
    remark = "" if case.remark is None else case.remark(context, results[-1])
    # what is quick is smaller, too
    target, paper = context.size((case.target, case.paper), (None, None))
    return Row(
        name=case.name,
        median=figure,
        unit=case.unit,
        yardstick=yardstick,
        yardsticks=figure / yardstick if relative else None,
        scaled=figure * REFERENCE_YARDSTICK / yardstick if relative else None,
        target="" if target is None else str(target),
        met=None if target is None else target.met(figure, yardstick),
        paper=paper,
        ratio=None if paper is None else paper / figure,
        remark="; ".join(filter(None, ("quick" if context.quick else "", remark))),
    )


def yardstick_row(context: Context) -> Row:
    """The yardstick's own row, the first of every table."""
    samples = 1e6 * np.array(context.yardsticks or context.measure_yardstick())
    remark = f"{samples.min():.1f} to {samples.max():.1f} us in {len(samples)} samples"
    median = statistics.median(context.yardsticks)
    return Row(YARDSTICK, median, "s", median, 1.0, REFERENCE_YARDSTICK, "", None, None, None, remark)


def _count(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if value < 1e3 else f"{value:.0f}"


def table(rows: Sequence[Row]) -> str:
    """Rows as aligned text."""
    head = ("", "median", "yardsticks", "at 17 us", "target", "met", "paper", "paper/ours", "remark")
    lines = [
        (
            row.name,
            amount(row.median, row.unit),
            _count(row.yardsticks),
            amount(row.scaled, "s"),
            row.target,
            "" if row.met is None else "yes" if row.met else "NO",
            amount(row.paper, "s"),
            "" if row.ratio is None else f"{row.ratio:.1f} x",
            f"failed: {row.failed}" if row.failed else row.remark,
        )
        for row in rows
    ]
    widths = [max(len(line[i]) for line in (head, *lines)) for i in range(len(head))]
    left = (0, 4, 8)

    def text(line: Sequence[str]) -> str:
        cells = (x.ljust(w) if i in left else x.rjust(w) for i, (x, w) in enumerate(zip(line, widths, strict=True)))
        return "  ".join(cells).rstrip()

    return "\n".join([text(head), "  ".join("-" * w for w in widths), *map(text, lines), *_NOTES])


_NOTES = (
    "",
    "24-DoF cable manipulator, one BLAS thread. Yardsticks: of just before and after each case. 'at 17 us': scaled to",
    "a machine whose yardstick takes 17 us.",
    "Kernels at a state in motion, through Robot, or ('engine') without its checks of arguments. Statics over 100",
    "random tensions of 0-100 N. Runs from rest with the file's inputs, rtol 1e-3, atol 1e-6; tip against a run at",
    "rtol 1e-8.",
    "Cold compilation, cached start: load, statics, 0.1 s of motion, poses, energy in a new Python, without imports.",
    "Paper: MATLAB R2024a on an i9-13900HX, with its analytic Jacobian, or without it where ours is without.",
)
