"""Figures of all plots: their style (ours, that for papers, matplotlib's, or a file) and how they are written.

There is no pyplot, so no window opens and no figure stays in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context, rc_params_from_file
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sorosim.actuation.chamber import Chamber
from sorosim.actuation.servo import Servo
from sorosim.actuation.tendon import Tendon
from sorosim.errors import FileError, InputError, nearest
from sorosim.robot import Robot
from sorosim.validation import describe
from sorosim.viz.checks import PathLike, written

Array = NDArray[np.float64]

# Okabe and Ito's colours, which colour-blind eyes tell apart; their yellow is too pale for lines on white
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
DASHES = ("-", "--", ":", "-.")
FORMATS = ("png", "pdf", "svg", "jpg", "tif")
TALLEST = 60.0  # of a figure [inches]

OURS, PAPER = "sorosim", "paper"
SUFFIX = ".mplstyle"
WIDE = 9.0  # figures as wide as this go over two columns [inches]
GUTTER = 0.16  # between the columns of a page [inches]

Settings = dict[Any, Any]  # matplotlib lists its names as a type

_CHOSEN: ContextVar[Settings | None] = ContextVar("chosen style", default=None)

UNITS = {"angle": "rad", "length": "m", "number": "-"}  # of coordinates, by their dimension


def find_style(style: PathLike) -> Settings:
    """What a style sets.

    Parameters
    ----------
    style : str or path-like
        "paper", a name of `matplotlib.style.available`, or a file that ends in .mplstyle.

    Raises
    ------
    InputError
        There is no such style.
    FileError
        The file cannot be read, or sets nothing.
    """
    if not isinstance(style, str | os.PathLike):
        raise InputError("style", f"'{PAPER}', a style of matplotlib or a {SUFFIX} file", describe(style))
    name = os.fspath(style)
    if name == PAPER:
        return _own(PAPER)
    if name.endswith(SUFFIX):
        return _from_file(Path(name))
    from matplotlib.style import library  # here, for matplotlib makes another one when it reads styles anew

    if name not in library:
        expected = f"'{PAPER}', the name of a style of matplotlib, or a file that ends in {SUFFIX}"
        raise InputError("style", expected, f"'{name}'", nearest(name, [PAPER, *library]))
    return {**library[name]}


def _from_file(path: Path) -> Settings:
    try:
        settings: Settings = {**rc_params_from_file(path, use_default_template=False)}
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(str(path), f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not settings:
        raise FileError(str(path), "expected settings such as 'font.size: 8', got none that matplotlib knows")
    return settings


@lru_cache
def _own(name: str) -> Settings:
    with resources.as_file(resources.files("sorosim.viz").joinpath(f"{name}{SUFFIX}")) as path:
        return _from_file(path)


@contextmanager
def chosen(style: PathLike | None) -> Iterator[None]:
    """Draw figures in a style; None: in ours."""
    token = _CHOSEN.set(None if style is None else find_style(style))
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def _styled() -> Any:
    """Matplotlib's settings: ours, but for what the chosen style sets otherwise."""
    return rc_context(_own(OURS) | (_CHOSEN.get() or {}))


def figure_size(width: float, height: float) -> tuple[float, float]:
    """Size of a figure [inches] that is so large in our style.

    The width that the chosen style gives figures is that of a column. Letters do not shrink with it, so figures become
    less flat: heights shrink by the root of what widths do.
    """
    size = (_CHOSEN.get() or {}).get("figure.figsize")
    if size is None:
        return width, height
    column = float(size[0])
    wanted = 2.0 * column + GUTTER if width >= WIDE else column
    return wanted, height * (wanted / width) ** 0.5


@contextmanager
def new_figure(
    width: float, height: float, path: PathLike | None = None, style: PathLike | None = None
) -> Iterator[Figure]:
    """An empty figure [inches] to draw in, in a style if one is given; it is written if there is a path."""
    with chosen(style) if style is not None else nullcontext(), _styled():
        wide, high = figure_size(width, min(height, TALLEST))
        figure = Figure(figsize=(wide, high), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
        if path is not None:
            save(figure, path)


def save(figure: Figure, path: PathLike) -> None:
    """Write a figure."""
    with written(path, [f".{name}" for name in FORMATS]) as draft, _styled():
        figure.savefig(draft)


def plot_lines(axes: Any, t: Array, lines: Mapping[str, Array], label: str) -> None:
    """Draw lines by name over all of the time axis."""
    for k, (name, values) in enumerate(lines.items()):
        axes.plot(t, values, label=name, **line_style(k), **mark(t))
    axes.set_ylabel(label)
    axes.margins(x=0.0)


def legend_beside(axes: Any, ncols: int = 1) -> None:
    """A legend at the right of axes."""
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=ncols)


def mark(t: Array) -> dict[str, Any]:
    """A single time is a dot, not a line."""
    return {"marker": "o"} if len(t) == 1 else {}


def line_style(k: int) -> dict[str, Any]:
    """Colour and dashes of the line with number k of a panel; colours are those of the chosen style, if it has some."""
    cycle = (_CHOSEN.get() or {}).get("axes.prop_cycle")
    colours = (cycle.by_key().get("color") if cycle is not None else None) or PALETTE
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
