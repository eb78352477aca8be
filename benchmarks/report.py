"""Rows and their table: median, yardsticks, target, and the figure of the paper beside it."""

from __future__ import annotations

import json
import platform
import statistics
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.cases import REFERENCE_YARDSTICK, Case, amount
from benchmarks.context import Context, processor

LIBRARIES = ("sorosim", "numpy", "scipy", "numba", "scikit-sundae")
YARDSTICK = "yardstick: numpy.linalg.solve, 48 x 48"


class Row(NamedTuple):
    """One line of the table."""

    name: str
    median: float  # [s], or bytes
    unit: str  # "s" or "B"
    yardstick: float  # as measured just before and after [s]
    yardsticks: float | None
    scaled: float | None  # where the yardstick is 17 us [s]
    target: str
    met: bool | None
    paper: float | None  # [s]
    ratio: float | None  # paper's figure over ours
    remark: str


class Timed(NamedTuple):
    """What was measured of a case."""

    case: Case
    median: float  # of the times of a call [s]
    results: Sequence[Any]  # what the calls returned; the last one's, unless the case measures itself
    yardsticks: Sequence[float]  # samples from just before and after [s]


def make_row(timed: Timed, context: Context) -> Row:
    """The row of a case. Its yardstick is that of its own minute, for the machine may have other work in the next."""
    case, median, results, samples = timed
    figure = median / case.per if case.measure is None else statistics.median(map(case.measure, results))
    yardstick, relative = statistics.median(samples), case.unit == "s" and not case.process
    return Row(
        name=case.name,
        median=figure,
        unit=case.unit,
        yardstick=yardstick,
        yardsticks=figure / yardstick if relative else None,
        scaled=figure * REFERENCE_YARDSTICK / yardstick if relative else None,
        target="" if case.target is None else str(case.target),
        met=None if case.target is None else case.target.met(figure, yardstick),
        paper=case.paper,
        ratio=None if case.paper is None else case.paper / figure,
        remark="" if case.remark is None else case.remark(context, results[-1]),
    )


def yardstick_row(context: Context) -> Row:
    """The yardstick's own row, the first of every table."""
    samples = 1e6 * np.array(context.yardsticks)
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
            row.remark,
        )
        for row in rows
    ]
    widths = [max(len(line[i]) for line in (head, *lines)) for i in range(len(head))]
    left = (0, 4, 8)

    def text(line: Sequence[str]) -> str:
        cells = (x.ljust(w) if i in left else x.rjust(w) for i, (x, w) in enumerate(zip(line, widths, strict=True)))
        return "  ".join(cells).rstrip()

    return "\n".join([text(head), "  ".join("-" * w for w in widths), *map(text, lines), *_NOTES])


def record(rows: Sequence[Row], folder: Path) -> Path:
    """Write rows with processor and versions to comparison-TIME.json; returns the file."""
    now = datetime.now(UTC)
    machine = {"machine": processor(), "platform": platform.platform(), "python": platform.python_version()}
    versions = {name: version(name) for name in LIBRARIES}
    content = {"time": now.isoformat(), **machine, "versions": versions, "rows": [row._asdict() for row in rows]}
    folder.mkdir(exist_ok=True)
    path = folder / f"comparison-{now:%Y%m%dT%H%M%S}.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


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
