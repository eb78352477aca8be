"""Plots of observed motions: a place and what was unknown over time, with their bands, and innovations."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from sorosim.view.viz.checks import PathLike
from sorosim.view.viz.estimate_plot import AXES, BAND
from sorosim.view.viz.figures import PALETTE, legend_beside, new_figure

# of states, at which places are evaluated for bands
MOST = 200


def plot_observed(motion: Any, path: PathLike | None = None, style: PathLike | None = None) -> Figure:
    """The first output and what was unknown over time with bands of 95 %, and innovations; what was left out is marked.

    Readings that were left out are crosses among the innovations.
    """
    groups: list[tuple[str, str, list[int]]] = []
    names, units = motion.names, motion.units
    for one in motion.unknowns:
        rows = [names.index(name) for name in one.names]
        for unit in dict.fromkeys(units[k] for k in rows):
            groups.append((one.key, unit, [k for k in rows if units[k] == unit]))
    n = 1 + len(groups) + bool(motion.innovations)
    with new_figure(9.0, 2.6 * n + 0.6, path, style) as figure:
        rows_of_axes = figure.subplots(n, 1, sharex=True, squeeze=False)[:, 0]
        _place(rows_of_axes[0], motion)
        for axes, (key, unit, own) in zip(rows_of_axes[1:], groups, strict=False):
            for line, k in enumerate(own):
                label = names[k].removeprefix(f"{key}.")
                _band(axes, motion.t, motion.mean[:, k], motion.standard_deviations[names[k]], line, label)
            axes.set_ylabel(f"{key} [{unit or '-'}]")
            legend_beside(axes)
        if motion.innovations:
            _innovations(rows_of_axes[-1], motion)
        rows_of_axes[-1].set_xlabel("t [s]")
        for axes in rows_of_axes:
            axes.margins(x=0.0)
        how = f"smoothed over {motion.lag:g} s" if motion.lag else "filtered"
        figure.suptitle(f"{motion.robot.name}: observed in {len(motion) - 1} steps, {how}, bands of 95 %")
    return figure


def _band(axes: Any, t: Any, x: Any, sd: Any, line: int, label: str) -> None:
    colour = PALETTE[line % len(PALETTE)]
    axes.plot(t, x, color=colour, label=label)
    axes.fill_between(t, x - BAND * sd, x + BAND * sd, color=colour, alpha=0.2, linewidth=0.0)


def _place(axes: Any, motion: Any) -> None:
    """The position of the first output."""
    chosen = np.unique(np.linspace(0, len(motion) - 1, min(MOST, len(motion))).astype(int))
    found = [one.moved(one.robot.outputs) for one in (motion.states[k] for k in chosen)]
    p = np.array([g[0, :3, 3] for g, _ in found])
    sd = np.array([np.linalg.norm(g[0, :3, :3] @ root[0, 3:], axis=1) for g, root in found])
    for i, axis in enumerate(AXES):
        _band(axes, motion.t[chosen], p[:, i], sd[:, i], i, axis)
    axes.set_ylabel(f"{motion.robot.outputs.names[0]} [m]")
    legend_beside(axes)


def _innovations(axes: Any, motion: Any) -> None:
    """The largest entries of innovations, a colour for each reading."""
    for line, (name, e) in enumerate(motion.innovations.items()):
        worst = np.where(np.isnan(e).all(axis=1), np.nan, np.nan_to_num(np.abs(e)).max(axis=1, initial=0.0))
        colour, out = PALETTE[line % len(PALETTE)], motion.left_out.get(name, np.zeros(len(e), dtype=bool))
        axes.plot(motion.t[~out], worst[~out], ".", color=colour, markersize=4.0, label=name)
        axes.plot(motion.t[out], worst[out], "x", color=colour, markersize=6.0)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("innovation, largest\nentry [SI]")
    legend_beside(axes)
