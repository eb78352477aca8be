"""Plot of a design: how the search went, or the Pareto front."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sorosim.view.viz.checks import PathLike
from sorosim.view.viz.figures import PALETTE, legend_beside, new_figure


def plot_design(design: Any, path: PathLike | None = None, style: PathLike | None = None) -> Figure:
    """Numbers over their starts, objective and violation of each iterate; of two objectives the front."""
    if design.front is not None:
        return _front(design, path, style)
    history, (name,) = design.history, design.objectives
    with new_figure(9.0, 7.0, path, style) as figure:
        rows = figure.subplots(3, 1, sharex=True)
        n = np.arange(len(history["objective"]))
        for k, own in enumerate(design.names):
            start = design.initial[own]
            rows[0].plot(
                n, history[own] / start if start else history[own], ".-", color=PALETTE[k % len(PALETTE)], label=own
            )
        rows[0].set_ylabel("number / start")
        rows[1].plot(n, history["objective"], ".-", color=PALETTE[0])
        rows[1].set_ylabel(f"{name} [{design.units[name] or '-'}]")
        rows[2].semilogy(n, np.maximum(history["violation"], 1e-16), ".-", color=PALETTE[1])
        rows[2].yaxis.set_major_formatter("{x:.0e}")  # its own one needs mathtext, which the style has off
        rows[2].yaxis.set_minor_formatter("")
        rows[2].set(xlabel="iterate", ylabel="largest violation")
        legend_beside(rows[0])
        figure.suptitle(f"{design.robot.name}: {design.message.split(';')[0]}")
    return figure


def _front(design: Any, path: PathLike | None, style: PathLike | None) -> Figure:
    a, b = design.objectives
    with new_figure(6.0, 4.5, path, style) as figure:
        axes = figure.subplots()
        axes.plot(*design.front.objectives.T, "o-", color=PALETTE[0], label="front")
        axes.plot(design.objectives[a], design.objectives[b], "s", color=PALETTE[1], label="this design")
        axes.set(xlabel=f"{a} [{design.units[a] or '-'}]", ylabel=f"{b} [{design.units[b] or '-'}]")
        axes.legend()
        figure.suptitle(f"{design.robot.name}: Pareto front")
    return figure
