"""Plots of runs and equilibria, as matplotlib figures; no pyplot, so nothing pops up and nothing is kept.

Every function returns its `matplotlib.figure.Figure`, and writes it where it is given a path.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from mpl_toolkits.mplot3d.art3d import Line3DCollection
from numpy.typing import ArrayLike, NDArray

from sorosim.actuation.tendon import Tendon
from sorosim.errors import FileError, InputError, nearest
from sorosim.robot import Robot
from sorosim.viz.space import axes_3d, coarse_geometry, draw_solid, settle, visible_points
from sorosim.viz.target import check_link, run_times, sample, written

Array = NDArray[np.float64]

# Okabe and Ito's colours, which colour-blind eyes tell apart; their yellow is too pale for lines on white
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
DASHES = ("-", "--", ":", "-.")
SOFT, TIME_COLOURS = "#ee9170", "viridis"
AT_ZERO = (0.80, 0.82, 0.85)
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
SNAPSHOTS = 6
TALLEST = 60.0  # of a figure [inches]

UNITS = {"torsion": "rad", "bending_y": "rad", "bending_z": "rad", "elongation": "-", "shear_y": "-", "shear_z": "-",
         "revolute": "rad", "helical": "rad", "prismatic": "m"}  # fmt: skip
STRAINS = tuple(UNITS)[:6]


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, min(height, TALLEST)), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _mark(t: Array) -> dict[str, Any]:
    """A single time is a dot, not a line."""
    return {"marker": "o"} if len(t) == 1 else {}


def _line_style(k: int) -> dict[str, Any]:
    return {"color": PALETTE[k % len(PALETTE)], "linestyle": DASHES[k // len(PALETTE) % len(DASHES)]}


def _finish(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    if path is not None:
        with written(path, [f".{name}" for name in FORMATS]) as draft, rc_context(STYLE):
            figure.savefig(draft)
    return figure


# -- over time ---------------------------------------------------------------------------------------------------


def plot_tip(run: Any, link: str | None = None, path: str | os.PathLike[str] | None = None) -> Figure:
    """Tip of a link (of a rod, or a rigid link's frame; default: the last link) over time, and its path."""
    t, name = run_times(run), check_link(run.robot, link)
    tip = np.asarray(run.tip(name))
    with rc_context(STYLE):
        figure = _figure(10.0, 4.8)
        grid = figure.add_gridspec(3, 2, width_ratios=[1.0, 1.15])
        first = None
        for k, letter in enumerate("xyz"):
            axes = figure.add_subplot(grid[k, 0], sharex=first)
            axes.plot(t, tip[:, k], color=PALETTE[k], **_mark(t))
            axes.set_ylabel(f"{letter} [m]")
            axes.tick_params(labelbottom=k == 2)
            axes.margins(x=0.0)
            first = first or axes
        axes.set_xlabel("t [s]")
        figure.align_ylabels()
        space, room = axes_3d(figure, grid[:, 1], run.robot, tip)
        pieces = np.stack([tip[:-1], tip[1:]], axis=1) if len(tip) > 1 else np.repeat(tip, 2, axis=0)[None]
        line = Line3DCollection(pieces, cmap=TIME_COLOURS, norm=Normalize(t[0], t[-1] if len(t) > 1 else t[0] + 1.0))
        line.set_array(t[: len(pieces)])
        line.set_linewidth(1.8)
        space.add_collection3d(line)
        space.plot(*tip[:1].T, color=colormaps[TIME_COLOURS](0.0), marker="o", markersize=4.0)
        figure.colorbar(line, ax=room, label="t [s]", shrink=0.7)
        figure.suptitle(f"{run.robot.name}: tip of {name}")
        settle(figure, space, room)
    return _finish(figure, path)


def plot_snapshots(run: Any, times: ArrayLike | None = None, path: str | os.PathLike[str] | None = None) -> Figure:
    """The robot at several times (default: six, evenly over the run) with the path of its last link's tip."""
    stored, robot = run_times(run), run.robot
    wanted = np.linspace(stored[0], stored[-1], SNAPSHOTS if len(stored) > 1 else 1) if times is None else times
    at = np.atleast_1d(np.asarray(wanted, dtype=float))
    outside = (at < stored[0] - 1e-9) | (at > stored[-1] + 1e-9) | ~np.isfinite(at)
    if at.size == 0 or at.ndim != 1 or outside.any():
        got = f"{at[outside][0]:g}" if at.ndim == 1 and outside.any() else f"shape {at.shape}"
        raise InputError("times", f"times from {stored[0]:g} to {stored[-1]:g} s", got)
    geometry, link = coarse_geometry(robot), check_link(robot, None)
    shapes = [geometry.at(q) for q in sample(run, at)[0]]
    tip = np.asarray(run.tip(link))
    scale = colormaps[TIME_COLOURS]
    colours = [to_rgb(scale(0.08 + 0.87 * k / max(1, len(at) - 1))) for k in range(len(at))]
    with rc_context(STYLE):
        figure = _figure(8.6, 5.4)
        held = np.concatenate([tip, *(visible_points(geometry, shape) for shape in shapes)])
        axes, room = axes_3d(figure, 111, robot, held)
        for k, (shape, colour) in enumerate(zip(shapes, colours, strict=True)):
            draw_solid(axes, geometry, shape, colour, 10 + k)
        axes.plot(*tip.T, color="black", linewidth=0.9, alpha=0.75, zorder=10 + len(at))
        pairs = zip(at, colours, strict=True)
        handles: list[Any] = [Patch(color=colour, label=f"t = {x:.3g} s") for x, colour in pairs]
        handles.append(Line2D([], [], color="black", linewidth=0.9, label=f"tip of {link}"))
        figure.legend(handles=handles, loc="outside right center")
        figure.suptitle(robot.name)
        settle(figure, axes, room)
    return _finish(figure, path)


def plot_coordinates(run: Any, path: str | os.PathLike[str] | None = None) -> Figure:
    """Coordinates over time: a panel for each strain of each rod, and one for all joints of a kind."""
    t, q = run_times(run), np.asarray(run.q)
    panels: dict[tuple[str, str], list[int]] = {}
    joints: dict[int, str] = {}
    for i, name in enumerate(run.robot.coordinate_names):
        owner, what = name.split("[")[0].rsplit(".", 1)
        if what not in STRAINS:
            joints[i], owner = name.split(".")[0], "joints"
        panels.setdefault((owner, what), []).append(i)
    if not panels:
        raise InputError("run", "a robot with coordinates", "one without")
    owners = list(dict.fromkeys(owner for owner, _ in panels))
    # each owner starts a new row
    rows = [[key for key in panels if key[0] == owner] for owner in owners]
    columns = 4 if max(map(len, rows)) == 4 else 3
    rows = [row[k : k + columns] for row in rows for k in range(0, len(row), columns)]
    with rc_context(STYLE):
        figure = _figure(3.5 * columns, 0.8 + 2.0 * len(rows))
        grid = figure.add_gridspec(len(rows), columns)
        most = 0
        for r, row in enumerate(rows):
            for c, (owner, what) in enumerate(row):
                axes = figure.add_subplot(grid[r, c])
                for k, i in enumerate(panels[owner, what]):
                    axes.plot(t, q[:, i], label=joints.get(i), **_line_style(k), **_mark(t))
                axes.set_title(f"{owner}: {what.replace('_', ' ')}")
                axes.set_ylabel(f"q [{UNITS.get(what, 'rad, m')}]")
                axes.margins(x=0.0)
                axes.set_xlabel("t [s]")
                if owner == "joints":
                    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=1 + len(panels[owner, what]) // 9)
                else:
                    most = max(most, len(panels[owner, what]))
        if most > 1:
            handles = [Line2D([], [], label=f"{k}", **_line_style(k)) for k in range(most)]
            words = "index of the strain's coordinate"
            figure.legend(handles=handles, loc="outside lower center", ncols=min(most, 12), title=words)
    return _finish(figure, path)


def plot_tensions(run: Any, path: str | os.PathLike[str] | None = None) -> Figure:
    """Inputs of the actuators over time."""
    t, names = run_times(run), run.robot.actuator_names
    if not names:
        raise InputError("run", "a robot with actuators", "one without")
    u = np.asarray(run.u).reshape(len(t), len(names))
    units = run.robot.actuator_units
    kinds = list(dict.fromkeys(units))
    tendons = [name for name, actuator in run.robot.description.actuators.items() if isinstance(actuator, Tendon)]
    with rc_context(STYLE):
        figure = _figure(7.5, 0.6 + 2.8 * len(kinds))
        for r, unit in enumerate(kinds):
            axes = figure.add_subplot(len(kinds), 1, r + 1)
            shown = [i for i in range(len(names)) if units[i] == unit]
            for k, i in enumerate(shown):
                axes.plot(t, u[:, i], label=names[i], **_line_style(k), **_mark(t))
            what = "tension" if all(names[i] in tendons for i in shown) else "input"
            axes.set_ylabel(f"{what} [{unit}]")
            axes.set_xlabel("t [s]")
            axes.margins(x=0.0)
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=1 + len(shown) // 16)
    return _finish(figure, path)


def plot_energy(run: Any, path: str | os.PathLike[str] | None = None) -> Figure:
    """Energy over time, with work and dissipation where the run has them, and what their balance misses."""
    t, energy = run_times(run), run.energy()
    curves = {name: np.asarray(getattr(energy, name)) for name in ("kinetic", "elastic", "gravity", "total")}
    for name in ("work", "dissipated"):
        value = getattr(energy, name, None)
        if value is not None and np.shape(value) == t.shape:
            curves[name] = np.asarray(value)
    balanced = "work" in curves and "dissipated" in curves
    with rc_context(STYLE):
        figure = _figure(7.5, 5.2 if balanced else 3.6)
        grid = figure.add_gridspec(2 if balanced else 1, 1, height_ratios=[2.4, 1.0] if balanced else [1.0])
        axes = figure.add_subplot(grid[0])
        for k, (name, values) in enumerate(curves.items()):
            style = {"color": "black", "linewidth": 1.8} if name == "total" else _line_style(k if k < 3 else k - 1)
            axes.plot(t, values, label=name, **style, **_mark(t))
        axes.set_ylabel("energy [J]")
        axes.margins(x=0.0)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        if balanced:
            axes.tick_params(labelbottom=False)
            axes = figure.add_subplot(grid[1], sharex=axes)
            total = curves["total"]
            axes.plot(t, total - total[0] + curves["dissipated"] - curves["work"], color=PALETTE[1], **_mark(t))
            axes.set_ylabel("unaccounted [J]")
        axes.set_xlabel("t [s]")
        figure.align_ylabels()
    return _finish(figure, path)


PLOTS: dict[str, Callable[[Any], Figure]] = {
    "tip": plot_tip,
    "snapshots": plot_snapshots,
    "coordinates": plot_coordinates,
    "tensions": plot_tensions,
    "energy": plot_energy,
}


def plot_run(
    run: Any,
    folder: str | os.PathLike[str] | None = None,
    what: str | Sequence[str] = "all",
    formats: str | Sequence[str] = "png",
) -> dict[str, Figure]:
    """Plots of a run by name; written to a folder, which is made where there is none, if one is given.

    Parameters
    ----------
    run : Run
    folder : path-like, optional
    what : str or sequence of str
        Names of `PLOTS`, or "all": those that the robot has something to show in.
    formats : str or sequence of str
        Suffixes of the files, of `FORMATS`.

    Raises
    ------
    InputError
        The run is empty, or a name or format is unknown.
    FileError
        A file cannot be written.
    """
    run_times(run)
    names = [what] if isinstance(what, str) else list(what)
    suffixes = [formats] if isinstance(formats, str) else list(formats)
    if names == ["all"]:
        has = {"coordinates": run.robot.ndof > 0, "tensions": bool(run.robot.actuator_names)}
        names = [name for name in PLOTS if has.get(name, True)]
    for name in names:
        if name not in PLOTS:
            raise InputError("plot", "the name of a plot", f"'{name}'", nearest(str(name), ["all", *PLOTS]))
    for suffix in suffixes:
        if suffix not in FORMATS:
            raise InputError("formats", "a format of plots", f"'{suffix}'", nearest(str(suffix), FORMATS))
    if folder is not None:
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(str(folder), f"cannot be made: {error.strerror or error}") from None
    figures = {}
    for name in names:
        figures[name] = PLOTS[name](run)
        for suffix in suffixes if folder is not None else ():
            _finish(figures[name], Path(str(folder)) / f"{name}.{suffix}")
    return figures


def plot_all(run: Any, folder: str | os.PathLike[str], formats: str | Sequence[str] = ("png",)) -> list[Path]:
    """Write all plots of a run into a folder, see `plot_run`; returns the files."""
    suffixes = [formats] if isinstance(formats, str) else list(formats)
    return [Path(folder) / f"{name}.{suffix}" for name in plot_run(run, folder, "all", suffixes) for suffix in suffixes]


# -- at rest -----------------------------------------------------------------------------------------------------


def _strains(robot: Robot, q: Array, rod: str) -> tuple[Array, Array]:
    """Arclengths (n,) [m] and strains less those of the unloaded rod (n, 6) along a rod."""
    X, xi = [], []
    for piece in robot.engine.layout.links[rod].pieces:
        at = np.linspace(0.0, piece.division.length, 60)
        X.append(piece.start + at)
        xi.append(np.einsum("kij,i->kj", piece.division.basis(at), q[piece.column : piece.column + piece.n]))
    return np.concatenate(X), np.concatenate(xi)


def plot_equilibrium(eq: Any, path: str | os.PathLike[str] | None = None) -> Figure:
    """An equilibrium: its shape beside that at q = 0 (grey), the strains of the last rod, and the inputs."""
    robot, q = eq.robot, np.asarray(eq.q, dtype=float)
    geometry = coarse_geometry(robot)
    shapes = [geometry.at(np.zeros(robot.ndof)), geometry.at(q)]
    rods = list(geometry.centrelines)
    u = np.asarray(eq.u if getattr(eq, "u", None) is not None else [], dtype=float).ravel()
    below = [*(["angular", "linear"] if rods else []), *(["inputs"] if u.size else [])]
    with rc_context(STYLE):
        figure = _figure(10.5 if below else 7.0, 5.6)
        grid = figure.add_gridspec(max(1, len(below)), 2 if below else 1, width_ratios=[1.5, 1.0] if below else [1.0])
        held = np.concatenate([visible_points(geometry, shape) for shape in shapes])
        axes, room = axes_3d(figure, grid[:, 0], robot, held)
        draw_solid(axes, geometry, shapes[0], (*AT_ZERO, 0.5), 10)
        draw_solid(axes, geometry, shapes[1], to_rgb(SOFT), 11)
        for name in geometry.tendons:
            style = _line_style(robot.actuator_names.index(name))
            axes.plot(*geometry.tendon_points(shapes[1], name).T, linewidth=1.0, zorder=12, **style)
        for r, what in enumerate(below):
            panel = figure.add_subplot(grid[r, 1])
            if what == "inputs":
                colours = [_line_style(k)["color"] for k in range(u.size)]
                panel.barh(robot.actuator_names, u, color=colours, height=0.6)
                panel.invert_yaxis()
                units = set(robot.actuator_units)
                kind = "tension" if len(geometry.tendons) == u.size else "input"
                panel.set_xlabel(f"{kind} [{', '.join(sorted(units))}]")
                continue
            X, xi = _strains(robot, q, rods[-1])
            for k in range(3):
                j = k if what == "angular" else k + 3
                panel.plot(X, xi[:, j], label=STRAINS[j].replace("_", " "), **_line_style(k))
            panel.set_ylabel(f"{what} strain\n[{'rad/m' if what == 'angular' else '-'}]")
            panel.set_xlabel(f"X on {rods[-1]} [m]")
            panel.margins(x=0.0)
            panel.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        figure.align_ylabels()
        figure.suptitle(f"{robot.name}: equilibrium (grey: q = 0)")
        settle(figure, axes, room)
    return _finish(figure, path)
