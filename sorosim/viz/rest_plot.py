"""The plot of an equilibrium: its shape, the strains of its last rod, its inputs."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sorosim.robot import Robot
from sorosim.viz.figures import STYLE, finish, kind_of_inputs, line_style, new_figure
from sorosim.viz.geometry import ROD, Part
from sorosim.viz.look import STRAINS
from sorosim.viz.side_view import RIGID, SOFT
from sorosim.viz.space import axes_3d, coarse_geometry, draw_solid, settle, visible_points
from sorosim.viz.styles import chosen, styled

Array = NDArray[np.float64]

AT_ZERO = (0.80, 0.82, 0.85)


def _strains(robot: Robot, q: Array, rod: str) -> tuple[Array, Array]:
    """Arclengths (n,) [m] and strains less those of the unloaded rod (n, 6) along a rod."""
    X, xi = [], []
    for piece in robot.engine.layout.links[rod].pieces:
        at = np.linspace(0.0, piece.division.length, 60)
        X.append(piece.start + at)
        xi.append(np.einsum("kij,i->kj", piece.division.basis(at), q[piece.column : piece.column + piece.n]))
    return np.concatenate(X), np.concatenate(xi)


def _colour(part: Part) -> tuple[float, ...]:
    return to_rgb(SOFT if part.kind == ROD else part.colour or RIGID)


def plot_equilibrium(
    eq: Any, path: str | os.PathLike[str] | None = None, style: str | os.PathLike[str] | None = None
) -> Figure:
    """An equilibrium: its shape beside that at q = 0 (grey), the strains of the last rod, and the inputs by unit."""
    robot, q = eq.robot, np.asarray(eq.q, dtype=float)
    geometry = coarse_geometry(robot)
    shapes = [geometry.at(np.zeros(robot.ndof)), geometry.at(q)]
    rods = list(geometry.centrelines)
    u = np.asarray(eq.u if getattr(eq, "u", None) is not None else [], dtype=float).ravel()
    units = list(dict.fromkeys(robot.actuator_units)) if u.size else []
    beside = [*(["angular", "linear"] if rods else []), *units]
    with chosen(style), styled(STYLE):
        figure = new_figure(10.5 if beside else 7.0, max(5.6, 1.8 * len(beside)))
        widths = [1.5, 1.0] if beside else [1.0]
        grid = figure.add_gridspec(max(1, len(beside)), len(widths), width_ratios=widths)
        held = np.concatenate([visible_points(geometry, shape) for shape in shapes])
        axes, room = axes_3d(figure, grid[:, 0], robot, held)
        draw_solid(axes, geometry, shapes[0], (*AT_ZERO, 0.5), 10)
        draw_solid(axes, geometry, shapes[1], _colour, 11)
        for name in geometry.tendons:
            line = line_style(robot.actuator_names.index(name))
            axes.plot(*geometry.tendon_points(shapes[1], name).T, linewidth=1.0, zorder=12, **line)
        for r, what in enumerate(beside):
            panel = figure.add_subplot(grid[r, 1])
            if what in units:
                _bars(panel, robot, u, what)
                continue
            X, xi = _strains(robot, q, rods[-1])
            for k in range(3):
                j = k if what == "angular" else k + 3
                panel.plot(X, xi[:, j], label=STRAINS[j].replace("_", " "), **line_style(k))
            panel.set_ylabel(f"{what} strain\n[{'rad/m' if what == 'angular' else '-'}]")
            panel.set_xlabel(f"X on {rods[-1]} [m]")
            panel.margins(x=0.0)
            panel.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        figure.align_ylabels()
        figure.suptitle(f"{robot.name}: equilibrium (grey: q = 0)")
        settle(figure, axes, room)
        return finish(figure, path)


def _bars(panel: Any, robot: Robot, u: Array, unit: str) -> None:
    """Inputs of one unit as bars, tendons in the colours of their lines."""
    shown = [i for i, other in enumerate(robot.actuator_units) if other == unit]
    colours = [line_style(i)["color"] for i in shown]
    panel.barh([robot.actuator_names[i] for i in shown], u[shown], color=colours, height=0.6)
    panel.set_ylim(len(shown) - 0.5, -0.5)
    panel.set_xlabel(f"{kind_of_inputs(robot, shown)} [{unit}]")
