"""Timings and a table of rigid trees beside Pinocchio; measured by `benchmarks.rigid_trees`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.cases import amount
from benchmarks.rigid_trees import PEERS, Timings

STYLES = ("-", "--", ":")
FEW = 50  # links
OURS, THEIRS, THIRD = "#1f77b4", "#d95f02", "#1b9e77"

Measured = Mapping[str, Mapping[int, Timings]]  # shape -> number of links -> times


def kernel(timings: Timings, name: str) -> float:
    """Time of compiled code alone [s]."""
    return timings.kernel[name]


def _peer(timings: Timings, name: str) -> float:
    return timings.pinocchio.get(name, np.nan)


def _mass_solve(timings: Timings, name: str) -> float:
    return timings.mass_solves[name]


def plot(measured: Measured) -> Any:
    """Figure of the times against the number of links (matplotlib)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.0, 7.4), layout="constrained")
    panels = figure.subplots(2, 3)
    for place, name in zip(((0, 0), (0, 1), (1, 0), (1, 1)), PEERS, strict=False):
        axes = panels[place]
        _lines(axes, measured, partial(kernel, name=name), OURS, "ours")
        _lines(axes, measured, partial(_peer, name=PEERS[name]), THEIRS, "Pinocchio")
        axes.set(title=name, xlabel="links", ylabel="us")
    _overhead(panels[0, 2], measured)
    _mass_solves(panels[1, 2], measured)
    for axes in panels.flat:
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=8)
    return figure


def _lines(axes: Any, measured: Measured, value: Callable[[Timings], float], colour: str, label: str) -> None:
    """One line a shape; the first shape is drawn through and labelled."""
    for style, (shape, row) in zip(STYLES, measured.items(), strict=False):
        text = f"{label}, {shape}"
        values = [1e6 * value(timings) for timings in row.values()]
        if not np.isnan(values).all():
            axes.loglog(list(row), values, style, color=colour, marker="o", markersize=3, linewidth=1.2, label=text)


def _overhead(axes: Any, measured: Measured) -> None:
    """Overhead of calls from Python, in short chains: in long ones their noise is larger."""
    row = {n: timings for n, timings in next(iter(measured.values())).items() if n <= FEW}
    for colour, name in zip((OURS, THEIRS, THIRD, "0.4"), tuple(PEERS)[:4], strict=True):
        values = [1e6 * (timings.public[name] - kernel(timings, name)) for timings in row.values()]
        axes.semilogx(list(row), values, color=colour, marker="o", markersize=3, label=name)
    axes.axhline(8.0, color="0.7", linestyle="--", linewidth=1)
    axes.minorticks_off()
    axes.set(title="added by Python, chain", xlabel="links", ylabel="us", ylim=(0.0, 20.0))


def _mass_solves(axes: Any, measured: Measured) -> None:
    """M^-1 times the derivatives of forces, by both methods."""
    for colour, method in ((OURS, "column by column"), (THEIRS, "inverse and product")):
        _lines(axes, measured, partial(_mass_solve, name=method), colour, method)
    axes.set(title="M$^{-1}$ times derivatives of forces", xlabel="links", ylabel="us")


def table(measured: Measured, numbers: Sequence[int]) -> str:
    """Times and their ratios to Pinocchio's, as Markdown."""
    head = ["", "links", *(f"{name}: kernel, prepared, call, Pinocchio" for name in tuple(PEERS)[:4])]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for shape, row in measured.items():
        for n in numbers:
            cells = [shape, str(n)]
            for name in tuple(PEERS)[:4]:
                ours, prepared, call = kernel(row[n], name), row[n].prepared[name], row[n].public[name]
                theirs = row[n].pinocchio.get(PEERS[name])
                remark = f"{amount(theirs, 's')} ({ours / theirs:.1f})" if theirs else "-"
                cells.append(", ".join([*(amount(x, "s") for x in (ours, prepared, call)), remark]))
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
