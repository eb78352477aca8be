"""Plot of an optimal motion: coordinates, rates, inputs within their bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sorosim.view.viz.checks import PathLike
from sorosim.view.viz.figures import PALETTE, legend_beside, new_figure

MOST_LINES = 6  # coordinates that are drawn: those that move most


def plot_motion(motion: Any, path: PathLike | None = None, style: PathLike | None = None) -> Figure:
    """Coordinates and rates that move most, and inputs with their bounds, over time."""
    robot = motion.robot
    with new_figure(9.0, 8.0, path, style) as figure:
        rows = figure.subplots(3, 1, sharex=True)
        moving = sorted(np.argsort(-np.ptp(motion.q, axis=0), kind="stable")[:MOST_LINES])
        for axes, values, label in ((rows[0], motion.q, "coordinates [SI]"), (rows[1], motion.qd, "rates [SI/s]")):
            for line, i in enumerate(moving):
                colour = PALETTE[line % len(PALETTE)]
                axes.plot(motion.t, values[:, i], color=colour, label=robot.coordinate_names[i])
                if motion.gains.goal is not None:
                    goal = motion.gains.goal[i + (0 if axes is rows[0] else robot.ndof)]
                    axes.plot(motion.t[-1], goal, "o", color=colour, markersize=4.0, clip_on=False)
            axes.set_ylabel(label)
            legend_beside(axes)
        for i, (name, unit) in enumerate(zip(robot.actuator_names, robot.actuator_units, strict=True)):
            colour = PALETTE[i % len(PALETTE)]
            rows[2].step(motion.t, np.append(motion.u[:, i], motion.u[-1, i]), where="post", color=colour,
                         label=f"{name} [{unit or '-'}]")  # fmt: skip
            for bound in motion.gains.bounds[:, i]:
                if np.isfinite(bound) and np.abs(motion.u[:, i]).max() > 0.3 * abs(bound):
                    rows[2].axhline(bound, color=colour, linewidth=0.8, linestyle=":")
        rows[2].set(xlabel="t [s]", ylabel="inputs")
        rows[2].margins(x=0.0)
        legend_beside(rows[2])
        figure.suptitle(f"{robot.name}: {motion.message}, cost {motion.cost:.4g}")
    return figure
