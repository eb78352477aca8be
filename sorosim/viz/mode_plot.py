"""The plot of modes: how a robot moves in each of them, beside where it rests."""

from __future__ import annotations

import os
from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from sorosim.errors import InputError
from sorosim.results.modes import ModeRun, format_shares, mode, shares
from sorosim.validation import describe
from sorosim.viz.figures import PALETTE, STYLE, finish, new_figure
from sorosim.viz.space import axes_3d, coarse_geometry, draw_solid, settle, visible_points
from sorosim.viz.styles import chosen, styled

FIRST = 6  # modes that are drawn where none are asked for
MOST = 24
AMPLITUDE = 0.15  # of a picture, larger than that of a film
REST, OUT, BACK = (0.66, 0.68, 0.72, 0.8), to_rgb(PALETTE[1]), (*to_rgb(PALETTE[0]), 0.5)
CLOSER = 1.25
WORDS = 42  # letters of a line below the number of a mode


def plot_modes(
    lin: Any,
    path: str | os.PathLike[str] | None = None,
    modes: Sequence[int] | None = None,
    style: str | os.PathLike[str] | None = None,
) -> Figure:
    """Mode shapes: the robot at rest (grey), farthest out (colour) and, of what oscillates, on the other side (pale).

    Parameters
    ----------
    lin : Linearization
    path : path-like, optional
    modes : sequence of int, optional
        Their numbers in ``lin.damped``, from 1. Default: the first six.
    style : str or path-like, optional
        As for `sorosim.viz.plots.plot_run`.
    """
    if not (modes is None or np.iterable(modes)):
        raise InputError("modes", "a list of numbers of modes", describe(modes))
    wanted = list(range(1, max(min(FIRST, len(lin.damped)), 1) + 1)) if modes is None else list(modes)
    if not 0 < len(wanted) <= MOST:
        raise InputError("modes", f"numbers of 1 to {MOST} modes", f"{len(wanted)} of them")
    runs = [mode(lin, k, amplitude=AMPLITUDE) for k in wanted]
    geometry = coarse_geometry(lin.robot)
    columns = min(3, len(runs))
    with chosen(style), styled(STYLE):
        figure = new_figure(3.6 * columns, 0.5 + 3.2 * -(-len(runs) // columns))
        grid = figure.add_gridspec(-(-len(runs) // columns), columns)
        panels = []
        for i, (k, run) in enumerate(zip(wanted, runs, strict=True)):
            shapes = [geometry.at(q) for q in (lin.q, *_extremes(run))]
            held = np.concatenate([visible_points(geometry, shape) for shape in shapes])
            axes, room = axes_3d(figure, grid[i // columns, i % columns], lin.robot, held)
            axes.set_axis_off()
            for layer, (shape, colour) in enumerate(zip(shapes, (REST, BACK, OUT)[:: 1 if len(shapes) == 3 else 2],
                                                        strict=True)):  # fmt: skip
                draw_solid(axes, geometry, shape, colour, 10 + layer)
            room.set_title(f"{run.message}\n{_lines(format_shares(shares(lin, k)))}", fontsize=9.0)
            panels.append((axes, room))
        turning = "steady motion" if lin.qd.any() else "equilibrium"
        figure.suptitle(f"{lin.robot.name}: modes (grey: {turning})")
        for axes, room in panels:
            settle(figure, axes, room)
            place = axes.get_position(original=True)  # with room for the letters of axes that are not drawn
            axes.set_position(place.expanded(CLOSER, CLOSER))
            axes.apply_aspect()
        return finish(figure, path)


def _lines(words: str) -> str:
    """Words in lines that end at commas."""
    return fill(words.replace(" ", "\xa0").replace(",\xa0", ", "), WORDS).replace("\xa0", " ")


def _extremes(run: ModeRun) -> list[Any]:
    """Coordinates on both sides, of what oscillates, the farthest out last; of the rest farthest out."""
    half, whole = len(run) // 2, len(run)
    kind = run.options["kind"]
    if kind in ("oscillates", "flutters"):
        return [run.q[half], run.q[0]]
    if kind == "rigid body":  # there and back
        return [run.q[3 * whole // 4], run.q[whole // 4]]
    return [run.q[-1] if kind == "grows" else run.q[0]]
