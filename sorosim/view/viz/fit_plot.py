"""Plots of fits: measured against simulated before and after, errors, correlation."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from sorosim.base.validation import counted
from sorosim.view.viz.checks import PathLike
from sorosim.view.viz.figures import PALETTE, legend_beside, new_figure

MEASURED, BEFORE, AFTER = "black", PALETTE[5], PALETTE[0]
MOST_LINES = 3  # of a motion that are drawn over time: those that move most


def plot_fit(fit: Any, path: PathLike | None = None, style: PathLike | None = None) -> Figure:
    """Each of the data, measured against simulated before and after; errors row by row; correlation of the numbers."""
    bound, n = fit.data, len(fit.data)
    with new_figure(11.0, 3.4 * (n + 1), path, style) as figure:
        grid = figure.add_gridspec(n + 1, 2, width_ratios=[1.35, 1.0])
        for k, source in enumerate(bound):
            axes = figure.add_subplot(grid[k, 0], title=source.name if n > 1 else "")
            _over_time(axes, fit, k) if source.t is not None else _against(axes, fit, k)
            _errors(figure.add_subplot(grid[k, 1]), fit, k)
        _intervals(figure.add_subplot(grid[n, 0]), fit)
        if len(fit.names) > 1:
            _correlation(figure, figure.add_subplot(grid[n, 1]), fit)
        figure.suptitle(f"{fit.robot.name}: fit of {counted(len(fit.names), 'number')}")
    return figure


def _parts(fit: Any, k: int) -> tuple[Any, Any, Any, Any]:
    """Measured values, what was simulated before and after, and units of one of the data."""
    data = fit.measured[k]
    return data, fit.simulated_before[k], fit.simulated[k], fit.output_units[k]


def _over_time(axes: Any, fit: Any, k: int) -> None:
    """The outputs of a motion that move most, over time."""
    measured, before, after, units = _parts(fit, k)
    t, spread = fit.data[k].t, np.nan_to_num(np.nanstd(measured, axis=0))
    alike = [i for i, unit in enumerate(units) if unit == units[int(np.argmax(spread))]]
    chosen = sorted(sorted(alike, key=lambda i: -spread[i])[:MOST_LINES])
    for line, i in enumerate(chosen):
        own = {"color": PALETTE[line], "linewidth": 1.4}
        axes.plot(t, measured[:, i], ".", color=PALETTE[line], markersize=4.0, alpha=0.6)
        axes.plot(t, before[:, i], linestyle=":", **own)
        axes.plot(t, after[:, i], label=fit.outputs[k][i], **own)
    axes.plot([], [], ".", color=MEASURED, label="measured")
    axes.plot([], [], ":", color=MEASURED, label="before")
    axes.plot([], [], "-", color=MEASURED, label="fitted")
    axes.set(xlabel="t [s]", ylabel=f"[{units[chosen[0]] or '-'}]")
    axes.margins(x=0.0)
    legend_beside(axes)


def _against(axes: Any, fit: Any, k: int) -> None:
    """Simulated outputs of equilibria over measured ones."""
    measured, before, after, units = _parts(fit, k)
    unit = units[0]
    own = [i for i, other in enumerate(units) if other == unit]
    x = measured[:, own]
    axes.plot(x.ravel(), before[:, own].ravel(), "x", color=BEFORE, markersize=5.0, label="before")
    axes.plot(x.ravel(), after[:, own].ravel(), "o", color=AFTER, markersize=4.0, label="fitted")
    low, high = float(np.nanmin(x)), float(np.nanmax(x))
    axes.plot([low, high], [low, high], color=MEASURED, linewidth=0.8, label="measured")
    axes.set(xlabel=f"measured [{unit or '-'}]", ylabel=f"simulated [{unit or '-'}]")
    legend_beside(axes)


def _errors(axes: Any, fit: Any, k: int) -> None:
    """Distances of markers, or errors of readings, of each row, before and after."""
    measured, before, after, units = _parts(fit, k)
    own = [i for i, unit in enumerate(units) if unit == units[0]]
    factor, unit = (1e3, "mm") if units[0] == "m" else (1.0, units[0] or "-")
    rows = np.arange(len(measured)) if fit.data[k].t is None else fit.data[k].t
    for name, simulated, colour in (("before", before, BEFORE), ("fitted", after, AFTER)):
        squares = np.ma.masked_invalid((simulated - measured)[:, own] ** 2)
        axes.plot(
            rows,
            factor * np.ma.sqrt(squares.mean(axis=1)),
            "o-",
            color=colour,
            markersize=3.0,
            linewidth=1.0,
            label=name,
        )
    axes.set(xlabel="row" if fit.data[k].t is None else "t [s]", ylabel=f"rms error of a row [{unit}]")
    axes.set_ylim(bottom=0.0)
    if fit.data[k].t is None:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend()


def _intervals(axes: Any, fit: Any) -> None:
    """The numbers with their intervals, relative to their scales."""
    intervals, y = fit.interval(0.95), np.arange(len(fit.names))
    for k, name in enumerate(fit.names):
        low, high = intervals[name]
        value, size = fit.values[name], fit.scales[name]
        known = np.isfinite(high)
        left, right = ((low - value) / size, (high - value) / size) if known else (0.0, 0.0)
        axes.plot([100.0 * left, 100.0 * right], [k, k], color=AFTER, linewidth=2.5)
        axes.plot(0.0, k, "o" if known else "x", color=AFTER if known else PALETTE[1], markersize=5.0)
    axes.set_yticks(y, [name if fit.identifiable[name] else f"{name} (not identified)" for name in fit.names])
    axes.set_ylim(len(y) - 0.5, -0.5)
    axes.set_xlabel("95 % interval about the fitted value [% of its scale]")


def _correlation(figure: Figure, axes: Any, fit: Any) -> None:
    """Correlation of the numbers, in colours and figures."""
    n = len(fit.names)
    image = axes.imshow(fit.correlation, cmap="RdBu_r", vmin=-1.0, vmax=1.0)
    for (i, k), value in np.ndenumerate(fit.correlation):
        if n <= 8:
            colour, word = "white" if abs(value) > 0.7 else "black", "-" if np.isnan(value) else f"{value:.2f}"
            axes.text(k, i, word, ha="center", va="center", color=colour, fontsize=8)
    axes.set_xticks(range(n), [str(k + 1) for k in range(n)])
    axes.set_yticks(range(n), [str(k + 1) for k in range(n)])
    axes.grid(False)
    axes.set_xlabel("numbers in the order beside")
    figure.colorbar(image, ax=axes, label="correlation", shrink=0.9)
