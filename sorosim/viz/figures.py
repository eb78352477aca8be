"""What all plots share: the style of figures, and how they are written.

There is no pyplot, so nothing pops up and nothing is kept.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sorosim.actuation.chamber import Chamber
from sorosim.actuation.servo import Servo
from sorosim.actuation.tendon import Tendon
from sorosim.robot import Robot
from sorosim.viz.styles import figure_size, line_colours, styled
from sorosim.viz.target import written

Array = NDArray[np.float64]

# Okabe and Ito's colours, which colour-blind eyes tell apart; their yellow is too pale for lines on white
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
DASHES = ("-", "--", ":", "-.")
FORMATS = ("png", "pdf", "svg", "jpg", "tif")
STYLE: dict[Any, Any] = {
    "font.size": 10.0,
    "axes.titlesize": 10.5,
    "legend.fontsize": 9.0,
    "legend.frameon": False,
    "axes.grid": True,
    "grid.color": "#e3e6ea",
    "grid.linewidth": 0.7,
    "axes.edgecolor": "#5b6168",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.4,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,  # letters stay letters
    "text.parse_math": False,  # names may hold dollars
}
TALLEST = 60.0  # of a figure [inches]

UNITS = {"angle": "rad", "length": "m", "number": "-"}  # of coordinates, by their dimension


def new_figure(width: float, height: float) -> Figure:
    """An empty figure [inches]."""
    wide, high = figure_size(width, min(height, TALLEST))
    figure = Figure(figsize=(wide, high), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def mark(t: Array) -> dict[str, Any]:
    """A single time is a dot, not a line."""
    return {"marker": "o"} if len(t) == 1 else {}


def line_style(k: int) -> dict[str, Any]:
    """Colour and dashes of the line with number k of a panel."""
    colours = line_colours(PALETTE)
    return {"color": colours[k % len(colours)], "linestyle": DASHES[k // len(colours) % len(DASHES)]}


def kind_of_inputs(robot: Robot, shown: Sequence[int]) -> str:
    """What some of the inputs are, by their numbers."""
    actuators = [list(robot.description.actuators.values())[i] for i in shown]
    if all(isinstance(actuator, Tendon) for actuator in actuators):
        wound = [actuator.stiffness is not None for actuator in actuators]
        return "length wound up" if all(wound) else "tension" if not any(wound) else "input"
    for kind, word in ((Chamber, "pressure"), (Servo, "set point")):
        if all(isinstance(actuator, kind) for actuator in actuators):
            return word
    return "input"


def finish(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    """Write a figure, if there is a path."""
    if path is not None:
        with written(path, [f".{name}" for name in FORMATS]) as draft, styled(STYLE):
            figure.savefig(draft)
    return figure
