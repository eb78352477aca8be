"""Pictures of sweeps: lines along one parameter, maps over two, workspaces."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sorosim.base.arrays import Array
from sorosim.base.errors import InputError
from sorosim.studies.sweeps.units import units_of
from sorosim.view.viz.checks import PathLike, check_name
from sorosim.view.viz.figures import (
    PALETTE,
    ROUNDING,
    axes_3d,
    chosen,
    ignore_rounding,
    legend_beside,
    new_figure,
    shown_unit,
    stacked,
)

COLOURS = "viridis"
UNSTABLE, FAILED = PALETTE[1], "#9aa0a6"


def plot_sweep(
    sweep: Any, path: PathLike | None = None, *, y: str | None = None, output: str | None = None,
    style: PathLike | None = None, units: Mapping[str, str] | None = None,
) -> Figure:  # fmt: skip
    """A sweep as lines along one parameter, as maps over the two of a grid, or as a workspace.

    Parameters
    ----------
    sweep : SweepResult
    path : path-like, optional
        Where it is written.
    y : str, optional
        A column to draw. Default: the position of an output, in a workspace its colour: the first summary of the sweep,
        or else the distance from where the output is initially.
    output : str, optional
        Whose position is drawn. Default: the last one.
    style : str or path-like, optional
        As for `sorosim.view.viz.plots.plot_run`.
    units : mapping of dimension to unit, optional
        In which columns and axes are shown, as in ``{"length": "mm", "pressure": "kPa"}``. Default: SI units.

    Raises
    ------
    InputError
        A name or a unit that is not known, or no point with a result.
    """
    with chosen(style, units):
        return _plotted(_InUnits(sweep), path, y, output)


def _plotted(sweep: _InUnits, path: PathLike | None, y: str | None, output: str | None) -> Figure:
    if not sweep.ok.any():
        hint = "none of them is done; --resume goes on" if (sweep.status == "pending").any() else "`failed` says why"
        raise InputError("sweep", "a point with a result", "none", hint)
    if not sweep.plan.outputs and y is None:
        columns = ", ".join(sorted(_numeric(sweep).keys() - set(sweep.names)))
        raise InputError("y", "a column to draw, since the sweep has no outputs", "none", f"known: {columns}")
    label = output or sweep.plan.shown_output
    shown = [y] if y is not None else [f"{label}.{axis}" for axis in "xyz"]
    known = _numeric(sweep)
    for name in shown:
        check_name("y" if y else "output", name, known, "a column of numbers")
    # a robot that moves in a plane has nothing to show across it
    spans = {name: float(np.ptp(known[name][sweep.ok])) for name in shown}
    moving = [name for name, span in spans.items() if span > ROUNDING * max(spans.values())]
    shown, shape = moving or shown, sweep.shape
    if len(sweep.names) == 1:
        size, draw = (7.5, 0.8 + 2.2 * len(shown)), partial(_draw_lines, shown=shown)
    elif shape is not None and len(shape) == 2 and min(shape) > 1:
        size, draw = (1.0 + 4.3 * len(shown), 4.2), partial(_draw_maps, shown=shown)
    else:
        size, draw = (8.6, 6.0), partial(_draw_workspace, y=y, output=output)
    with new_figure(*size, path) as figure:
        draw(figure, sweep)
    return figure


class _InUnits:
    """A sweep whose numbers are in the units of `shown_unit`; what it does not know itself is that of the sweep."""

    def __init__(self, sweep: Any) -> None:
        self._sweep, self._columns, self.length = sweep, units_of(sweep.plan), shown_unit("m")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sweep, name)

    def __len__(self) -> int:
        return len(self._sweep)

    def size(self, column: str) -> float:
        """What the unit of a column is in its SI unit."""
        return shown_unit(self._columns.get(column, "")).size

    def unit(self, column: str) -> str:
        """The unit of a column, "" where it has none."""
        return shown_unit(self._columns.get(column, "")).name

    @property
    def values(self) -> Array:
        """Parameters (n, n_parameters) of all points."""
        return np.asarray(self._sweep.values / np.array([self.size(name) for name in self._sweep.names]))

    def tip(self, output: str | None) -> Array:
        """Positions (n, 3) of an output."""
        return np.asarray(self._sweep.tip(output)) / self.length.size


def _numeric(sweep: _InUnits) -> dict[str, Array]:
    """Columns that are numbers."""
    columns = {name: x for name, x in sweep.columns.items() if x.dtype.kind in "fiub"}
    return {name: np.asarray(x, dtype=float) / sweep.size(name) for name, x in columns.items()}


def _unit(sweep: _InUnits, name: str) -> str:
    """Unit of a column in brackets, "" where it has none."""
    unit = sweep.unit(name)
    return f" [{unit}]" if unit else ""


def _draw_lines(figure: Figure, sweep: _InUnits, shown: list[str]) -> None:
    """Columns along the one parameter; a line is broken where points failed, rings are unstable equilibria."""
    name, table = sweep.names[0], _numeric(sweep)
    words = name not in table
    x = sweep.values[:, 0]
    order = np.arange(len(x)) if sweep.plan.samples.ordered else np.argsort(x, kind="stable")
    unstable = sweep.ok & ~np.asarray(sweep.columns["stable"], dtype=bool) if "stable" in sweep.columns else None
    for k, (axes, column) in enumerate(zip(stacked(figure, len(shown)), shown, strict=True)):
        values = table[column]
        style: dict[str, Any] = {"linestyle": "", "marker": "o"} if words else {"marker": "." if len(x) < 80 else ""}
        axes.plot(x[order], values[order], color=PALETTE[k % len(PALETTE)], **style)
        if unstable is not None and unstable.any():
            axes.plot(x[unstable], values[unstable], "o", markerfacecolor="none", color=UNSTABLE, label="unstable")
            legend_beside(axes)
        for at in x[sweep.status == "failed"]:
            axes.axvline(at, color=FAILED, linestyle=":", linewidth=1.0)
        axes.set_ylabel(f"{column}{_unit(sweep, column)}")
    for unit in dict.fromkeys(_unit(sweep, column) for column in shown):
        ignore_rounding(a for a, column in zip(figure.axes, shown, strict=True) if _unit(sweep, column) == unit)
    axes.set_xlabel(f"{name}{_unit(sweep, name)}" + (", dotted: failed" if sweep.failed else ""))
    if words:
        column = sweep.columns[name]
        axes.set_xticks(np.unique(x), [column[list(x).index(at)] for at in np.unique(x)])
    figure.align_ylabels()
    figure.suptitle(sweep.robot.name)


def _draw_maps(figure: Figure, sweep: _InUnits, shown: list[str]) -> None:
    """Columns over the two parameters of a grid; what failed is left empty, hatched is what is unstable."""
    table, shape = _numeric(sweep), sweep.shape
    grid = [sweep.values[:, k].reshape(shape) for k in range(2)]
    x, y = grid[0][:, 0], grid[1][0, :]
    order = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
    for k, column in enumerate(shown):
        axes = figure.add_subplot(1, len(shown), k + 1)
        axes.grid(False)
        values = table[column].reshape(shape)[np.ix_(*order)].T
        image = axes.pcolormesh(x[order[0]], y[order[1]], values, cmap=COLOURS, shading="nearest")
        figure.colorbar(image, ax=axes, label=f"{column}{_unit(sweep, column)}")
        stable = np.asarray(sweep.columns.get("stable", sweep.ok), dtype=bool)
        i, j = np.nonzero((sweep.ok & ~stable).reshape(shape)[np.ix_(*order)].T)
        axes.plot(x[order[0]][j], y[order[1]][i], "x", color="white", markersize=4.0)
        axes.set_xlabel(f"{sweep.names[0]}{_unit(sweep, sweep.names[0])}")
        axes.set_ylabel(f"{sweep.names[1]}{_unit(sweep, sweep.names[1])}")
        for axis, name, at in ((axes.xaxis, sweep.names[0], x), (axes.yaxis, sweep.names[1], y)):
            if name not in table:  # words
                names = list(dict.fromkeys(sweep.columns[name].tolist()))
                axis.set_ticks(sorted(set(at.tolist())), names)
    figure.suptitle(sweep.robot.name)


def _draw_workspace(figure: Figure, sweep: _InUnits, y: str | None, output: str | None) -> None:
    """Positions of an output at all points, coloured by a column, or by their distance from where it is initially."""
    tips, ok = sweep.tip(output), sweep.ok
    name = output or sweep.plan.shown_output
    colour = y or next(iter(sweep.plan.summary), None)
    if colour is None:
        values, label = (
            np.linalg.norm(tips - _start(sweep, name), axis=1),
            sweep.length.label("distance from the initial place"),
        )
    else:
        values, label = _numeric(sweep)[colour], f"{colour}{_unit(sweep, colour)}"
    axes = axes_3d(figure, 111, sweep.robot, tips[ok] * sweep.length.size)
    cmap, low, high = colormaps[COLOURS], float(values[ok].min()), float(values[ok].max())
    scale = Normalize(low, high if high > low else low + 1.0)
    size = float(np.clip(1200.0 / max(ok.sum(), 1), 4.0, 30.0))
    stable = np.asarray(sweep.columns.get("stable", ok), dtype=bool)
    settled, loose = ok & stable, ok & ~stable
    axes.scatter(*tips[settled].T, c=values[settled], cmap=cmap, norm=scale, s=size, depthshade=False, linewidths=0.0)
    handles = []
    if loose.any():
        axes.scatter(*tips[loose].T, c=values[loose], cmap=cmap, norm=scale, s=2.0 * size, depthshade=False,
                     marker="x", linewidths=0.8)  # fmt: skip
        handles = [Line2D([], [], linestyle="", marker="x", color="black", label="unstable")]
    if sweep.plan.samples.ordered and ok.all():
        axes.plot(*tips.T, color="black", linewidth=0.6, alpha=0.5)
    figure.colorbar(ScalarMappable(scale, cmap), ax=axes.placeholder, label=label, shrink=0.7)
    if handles:
        figure.legend(handles=handles, loc="outside lower left")
    missing = f", {len(sweep) - int(ok.sum())} without result" if not ok.all() else ""
    figure.suptitle(f"{sweep.robot.name}: {name} at {int(ok.sum())} points{missing}")


def _start(sweep: _InUnits, label: str) -> Array:
    """Where an output (its label) is initially (3,), in the unit of lengths."""
    place = next(one for one in sweep.plan.outputs if one.label == label)
    return np.asarray(sweep.robot.pose(sweep.robot.initial_q, place.link, s=place.s)[:3, 3]) / sweep.length.size
