"""Plots of runs, equilibria and modes, as matplotlib figures.

Every function returns its `matplotlib.figure.Figure`, and writes it where it is given a path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice, product
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from mpl_toolkits.mplot3d.art3d import Line3DCollection
from numpy.typing import ArrayLike

from sorosim.analysis.results.modes import ModeRun, format_shares, mode, shares
from sorosim.base.arrays import Array
from sorosim.base.errors import FileError, InputError
from sorosim.base.public import public
from sorosim.base.validation import describe
from sorosim.base.writing import check_path
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.mechanics.model.chart import Charts
from sorosim.mechanics.robot import Robot
from sorosim.view.viz import figures
from sorosim.view.viz.camera import LEAST_WIDTH
from sorosim.view.viz.checks import PathLike, check_name
from sorosim.view.viz.colours import part_colour
from sorosim.view.viz.figures import PALETTE, line_style, mark
from sorosim.view.viz.geometry import Geometry
from sorosim.view.viz.motion import as_group, run_times, sample
from sorosim.view.viz.options import STRAINS
from sorosim.view.viz.visuals import FINE

TIME_COLOURS = "viridis"
SNAPSHOTS = 6
LOOKED_AT, STILL = 20, 1e-6  # rows in which tips are looked at; motions relative to the robot that are none
AT_ZERO = (0.80, 0.82, 0.85)
MODES = 6  # modes drawn by default
MOST_MODES = 24
AMPLITUDE = 0.15  # of a picture, larger than that of a film
REST, OUT, BACK = (0.66, 0.68, 0.72, 0.8), to_rgb(PALETTE[1]), (*to_rgb(PALETTE[0]), 0.5)
CLOSER = 1.25
LINE = 42  # letters of a line below the number of a mode
ENERGIES = ("kinetic", "elastic", "gravity", "total", "work", "dissipated")
OTHER_SCALE = 20.0  # a line so many times smaller than another is flat in its axes: some 5 pixels of 100
SENSOR = "sensor_"  # what plots of sensors are called, and their names


def _shown_place(run: Any, link: str | None) -> LinkFrames:
    """What is shown: `link`, or the robot's own outputs, or the last link that has a body and whose tip moves."""
    robot: Robot = run.robot
    if link is not None:
        check_name("link", link, [known.name for known in robot.links], "the name of a link")
        return LinkFrames(robot.description, robot.engine, [link])
    names = [link.name for link in reversed(robot.links) if link.body is not None]
    if robot.description.outputs or len(run.t) < 2 or not names:
        return robot.outputs
    ends = LinkFrames(robot.description, robot.engine, names)
    paths = ends.positions(run.q[np.unique(np.linspace(0, len(run.t) - 1, LOOKED_AT).astype(int))])
    moving = np.flatnonzero(np.ptp(paths, axis=0).max(axis=1) > STILL * np.ptp(paths, axis=(0, 1)).max())
    return LinkFrames(robot.description, robot.engine, [names[moving[0] if len(moving) else 0]])


def plot_tip(run: Any, link: str | None = None, path: PathLike | None = None) -> Figure:
    """Tip of a link over time, and its path: of a rod, or a rigid link's frame.

    Default: the first of the outputs that the robot's file names, else the last link that moves.
    """
    t, place = run_times(run), _shown_place(run, link)
    length, time, positions = figures.shown_unit("m"), figures.shown_unit("s"), place.positions(run.q)[:, 0]
    t, tip = t / time.size, positions / length.size
    with figures.new_figure(10.0, 4.8, path) as figure:
        grid = figure.add_gridspec(3, 2, width_ratios=[1.0, 1.15])
        first = None
        for k, letter in enumerate("xyz"):
            axes = figure.add_subplot(grid[k, 0], sharex=first)
            axes.plot(t, tip[:, k], color=line_style(k)["color"], **mark(t))
            axes.set_ylabel(length.label(letter))
            axes.tick_params(labelbottom=k == 2)
            axes.margins(x=0.0)
            first = first or axes
        axes.set_xlabel(time.label("t"))
        figures.ignore_rounding(figure.axes, _size(run.robot) / length.size)
        figure.align_ylabels()
        space = figures.axes_3d(figure, grid[:, 1], run.robot, positions)
        pieces = np.stack([tip[:-1], tip[1:]], axis=1) if len(tip) > 1 else np.repeat(tip, 2, axis=0)[None]
        line = Line3DCollection(pieces, cmap=TIME_COLOURS, norm=Normalize(t[0], t[-1] if len(t) > 1 else t[0] + 1.0))
        line.set_array(t[: len(pieces)])
        line.set_linewidth(1.8)
        space.add_collection3d(line)
        space.plot(*tip[:1].T, color=colormaps[TIME_COLOURS](0.0), marker="o", markersize=4.0)
        figure.colorbar(line, ax=space.placeholder, label=time.label("t"), shrink=0.7)
        figure.suptitle(f"{run.robot.name}: {place.points[0]}")
    return figure


def plot_snapshots(run: Any, times: ArrayLike | None = None, path: PathLike | None = None) -> Figure:
    """The robot at several times (default: six, evenly over the run) with the path of its last moving tip."""
    stored, robot = run_times(run), run.robot
    chosen = np.linspace(stored[0], stored[-1], SNAPSHOTS if len(stored) > 1 else 1) if times is None else times
    at = as_group(run).check_times(chosen, "times")
    geometry, place = figures.coarse_geometry(robot), _shown_place(run, None)
    shapes = [geometry.at(q) for q in sample(run, at)[0]]
    tip = place.positions(run.q)[:, 0]
    scale = colormaps[TIME_COLOURS]
    colours = [to_rgb(scale(0.08 + 0.87 * k / max(1, len(at) - 1))) for k in range(len(at))]
    with figures.new_figure(8.6, 5.4, path) as figure:
        axes = figures.solid_axes(figure, 111, geometry, zip(shapes, colours, strict=True), tip)
        axes.plot(*tip.T / figures.shown_unit("m").size, color="black", linewidth=0.9, alpha=0.75, zorder=10 + len(at))
        time, pairs = figures.shown_unit("s"), zip(at, colours, strict=True)
        handles: list[Any] = [Patch(color=colour, label=f"t = {x / time.size:.3g} {time.name}") for x, colour in pairs]
        handles.append(Line2D([], [], color="black", linewidth=0.9, label=place.points[0]))
        figure.legend(handles=handles, loc="outside right center")
        figure.suptitle(robot.name)
    return figure


def plot_coordinates(run: Any, path: PathLike | None = None) -> Figure:
    """Coordinates over time: a panel for each strain of each rod, and one for all joints of a kind.

    Lines are broken where a rotation vector changes to that of the same rotation a whole turn away.
    """
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
    dimensions, gaps = run.robot.engine.layout.dimensions, _chart_changes(run)
    owners = list(dict.fromkeys(owner for owner, _ in panels))
    # each owner starts a new row
    rows = [[key for key in panels if key[0] == owner] for owner in owners]
    columns = 4 if max(map(len, rows)) == 4 else 3
    rows = [row[k : k + columns] for row in rows for k in range(0, len(row), columns)]
    time = figures.shown_unit("s")
    with figures.new_figure(3.5 * columns, 0.8 + 2.0 * len(rows), path) as figure:
        grid = figure.add_gridspec(len(rows), columns)
        most, groups = 0, dict[tuple[str, bool], list[Any]]()
        for r, row in enumerate(rows):
            for c, (owner, what) in enumerate(row):
                axes, shown = figure.add_subplot(grid[r, c]), panels[owner, what]
                unit = figures.shown_unit(figures.UNITS[dimensions[shown[0]]])
                for k, i in enumerate(shown):
                    after = gaps.get(i, [])
                    times, values = (np.insert(x, after, np.nan) for x in (t / time.size, q[:, i] / unit.size))
                    axes.plot(times, values, label=joints.get(i), **line_style(k), **mark(t))
                groups.setdefault((dimensions[shown[0]], what in STRAINS[:3]), []).append(axes)
                axes.set_title(f"{owner}: {what.replace('_', ' ')}")
                axes.set_ylabel(unit.label("q"))
                axes.margins(x=0.0)
                axes.set_xlabel(time.label("t"))
                if owner == "joints":
                    figures.legend_beside(axes, 1 + len(shown) // 9)
                else:
                    most = max(most, len(shown))
        for (dimension, _), alike in groups.items():
            typical = _size(run.robot) if dimension == "length" else 1.0
            figures.ignore_rounding(alike, typical / figures.shown_unit(figures.UNITS[dimension]).size)
        if most > 1:
            handles = [Line2D([], [], label=f"{k}", **line_style(k)) for k in range(most)]
            title = "index of the strain's coordinate"
            figure.legend(handles=handles, loc="outside lower center", ncols=min(most, 12), title=title)
    return figure


def _size(robot: Robot) -> float:
    """Largest distance between links of a robot, or the length of a rod [m]."""
    rods = [float(layout.X[-1]) for layout in robot.engine.layout.links.values() if layout.pieces]
    places = np.stack([robot.pose(np.zeros(robot.ndof), link.name)[:3, 3] for link in robot.links])
    return max(rods, default=0.0) or float(np.ptp(places, axis=0).max()) or 1.0


def _chart_changes(run: Any) -> dict[int, Any]:
    """Of each coordinate of a joint whose chart changed: the rows at which there is a new one."""
    layout, driven = run.robot.engine.layout, np.zeros(run.robot.ndof, dtype=np.bool_)
    driven[[layout.coordinate(name, "driven") for name in getattr(run, "driven", {})]] = True
    changes = Charts(layout, driven).changes(np.asarray(run.q, dtype=float))
    return {i: rows for own, rows in changes for i in range(own.start, own.stop)}


def plot_tensions(run: Any, path: PathLike | None = None) -> Figure:
    """Inputs of the actuators over time, a panel for each unit."""
    t, names, units = run_times(run), run.robot.actuator_names, run.robot.actuator_units
    if not names:
        raise InputError("run", "a robot with actuators", "one without")
    lines = dict(zip(names, np.asarray(run.u).reshape(len(t), len(names)).T, strict=True))
    kinds = {
        unit: figures.kind_of_inputs(run.robot, [i for i, other in enumerate(units) if other == unit]) for unit in units
    }
    return _by_unit(t, lines, units, kinds, path)


def plot_driven(run: Any, path: PathLike | None = None) -> Figure:
    """Generalised forces that driven coordinates needed over time, a panel for each unit; see `Robot.joint_wrench`."""
    t, forces = run_times(run), getattr(run, "driven", {})
    if not forces:
        raise InputError("run", "a run with driven coordinates", "one without")
    units = run.robot.driven_units(forces)
    return _by_unit(t, forces, units, dict.fromkeys(units, "generalised force"), path)


def _by_unit(
    t: Array, lines: Mapping[str, Array], units: Sequence[str], kinds: Mapping[str, str], path: PathLike | None
) -> Figure:
    """Lines by name over time, a panel for each scale of each unit; `kinds` says what those of a unit are."""
    panels = []
    for unit, kind in kinds.items():
        in_unit = figures.shown_unit(unit)
        pairs = zip(lines.items(), units, strict=True)
        own = {name: line / in_unit.size for (name, line), other in pairs if other == unit}
        panels += [(in_unit.label(kind), shown) for shown in _by_scale(own)]
    time = figures.shown_unit("s")
    with figures.new_figure(7.5, 0.6 + 2.8 * len(panels), path) as figure:
        for axes, (label, shown) in zip(figures.stacked(figure, len(panels), False), panels, strict=True):
            figures.plot_lines(axes, t / time.size, shown, label)
            axes.set_xlabel(time.label("t"))
            figures.legend_beside(axes, 1 + len(shown) // 16)
    return figure


def _by_scale(lines: Mapping[str, Array]) -> list[dict[str, Array]]:
    """Lines by name in groups, the largest first, in each of which all can be seen; lines of zeros are in the last."""
    sizes = {name: float(np.abs(line[np.isfinite(line)]).max(initial=0.0)) for name, line in lines.items()}
    least, bounds = np.inf, list[float]()
    for size in sorted((size for size in sizes.values() if size > 0.0), reverse=True):
        if size * OTHER_SCALE < least:
            least = size
            bounds.append(size)
    bounds = bounds or [0.0]
    group = {name: max((k for k, most in enumerate(bounds) if size <= most), default=0) for name, size in sizes.items()}
    return [{name: line for name, line in lines.items() if group[name] == k} for k in range(len(bounds))]


def plot_energy(run: Any, path: PathLike | None = None) -> Figure:
    """Energy over time, with work and dissipation where the run has them, and what their balance misses."""
    time, energy = figures.shown_unit("s"), run.energy()
    t = run_times(run) / time.size
    histories = {name: np.asarray(getattr(energy, name, None)) for name in ENERGIES}
    curves = {name: value for name, value in histories.items() if value.shape == t.shape}
    balanced = "work" in curves and "dissipated" in curves
    with figures.new_figure(7.5, 5.2 if balanced else 3.6, path) as figure:
        panels = figures.stacked(figure, 2 if balanced else 1, height_ratios=[2.4, 1.0] if balanced else [1.0])
        axes = panels[0]
        for k, (name, values) in enumerate(curves.items()):
            style = {"color": "black", "linewidth": 1.8} if name == "total" else line_style(k if k < 3 else k - 1)
            axes.plot(t, values, label=name, **style, **mark(t))
        axes.set_ylabel("energy [J]")
        axes.margins(x=0.0)
        figures.legend_beside(axes)
        if balanced:
            axes = panels[1]
            missing = curves["total"] - curves["total"][0] + curves["dissipated"] - curves["work"]
            axes.plot(t, missing, color=line_style(1)["color"], **mark(t))
            axes.set_ylabel("unaccounted [J]")
        figures.ignore_rounding(panels)
        axes.set_xlabel(time.label("t"))
        figure.align_ylabels()
    return figure


def plot_sensor(run: Any, name: str, path: PathLike | None = None) -> Figure:
    """What a sensor gave over time, a panel for each quantity."""
    run_times(run)
    check_name("sensor", name, run.robot.sensor_names, "the name of a sensor")
    readings, sensor = run.readings[name], run.robot.instruments.sensors[name]
    channels = iter(zip(readings.channels, readings.values.T, strict=True))
    panels: dict[str, dict[str, Array]] = {}
    for group in run.robot.instruments.readers[name].groups:
        in_unit = figures.shown_unit(group.unit)
        own = {name: values / in_unit.size for name, values in islice(channels, len(group.names))}
        panels.setdefault(in_unit.label(group.label), {}).update(own)
    time = figures.shown_unit("s")
    with figures.new_figure(7.5, 0.8 + 2.3 * len(panels), path) as figure:
        for axes, (label, lines) in zip(figures.stacked(figure, len(panels)), panels.items(), strict=True):
            figures.plot_lines(axes, readings.t / time.size, lines, label)
            if len(lines) > 1:
                figures.legend_beside(axes, 1 + len(lines) // 13)
        for unit in {label.rpartition("[")[2] for label in panels}:
            figures.ignore_rounding(a for a, label in zip(figure.axes, panels, strict=True) if label.endswith(unit))
        axes.set_xlabel(time.label("t"))
        figure.align_ylabels()
        figure.suptitle(f"{name}: {sensor.kind.replace('_', ' ')} {sensor.target}")
    return figure


PLOTS: dict[str, Callable[[Any], Figure]] = {
    "tip": plot_tip,
    "snapshots": plot_snapshots,
    "coordinates": plot_coordinates,
    "tensions": plot_tensions,
    "driven": plot_driven,
    "energy": plot_energy,
}


@public
def plot_run(
    run: Any, folder: PathLike | None = None, what: str | Sequence[str] = "all", *,
    formats: str | Sequence[str] = "png", style: PathLike | None = None, units: Mapping[str, str] | None = None,
) -> dict[str, Figure]:  # fmt: skip
    """Plots of a run by name; written to a folder, which is made where there is none, if one is given.

    Parameters
    ----------
    run : Run
    folder : path-like, optional
    what : str or sequence of str
        Names of `PLOTS`, ``sensor_`` with the name of a sensor, or "all": those that have something to show.
    formats : str or sequence of str
        Suffixes of the files, of `FORMATS`.
    style : str or path-like, optional
        "paper" (for columns of 3.5 inches), the name of a style of matplotlib, or a file that ends in .mplstyle.
        Default: ours.
    units : mapping of dimension to unit, optional
        In which numbers are shown, as in ``{"length": "mm", "force": "mN"}``. Default: SI units.

    Raises
    ------
    InputError
        The run is empty, or a name, format, style or unit is unknown.
    FileError
        A file cannot be written.
    """
    run_times(run)
    plots = PLOTS | {f"{SENSOR}{name}": partial(plot_sensor, name=name) for name in run.robot.sensor_names}
    names, suffixes = ([x] if isinstance(x, str) else list(x) for x in (what, formats))
    if names == ["all"]:
        has = {"coordinates": run.robot.ndof, "tensions": run.robot.actuator_names}
        has["driven"] = getattr(run, "driven", {})
        names = [name for name in plots if has.get(name, True)]
    for name in names:
        check_name("plot", name, ["all", *plots], "the name of a plot")
    for suffix in suffixes:
        check_name("formats", suffix, figures.FORMATS, "a format of plots")
    if folder is not None:
        check_path(folder)
        if Path(folder).suffix.lower().removeprefix(".") in figures.FORMATS:
            hint = "the plots in it are called by their names; what and formats choose them"
            raise InputError("folder", "a folder", f"'{folder}'", hint)
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(str(folder), f"cannot be made: {error.strerror or error}") from None
    with figures.chosen(style, units):
        drawn = {name: plots[name](run) for name in names}
        for name, suffix in product(names, suffixes if folder is not None else ()):
            figures.save(drawn[name], Path(str(folder)) / f"{name}.{suffix}")
    return drawn


def plot_one(
    run: Any, what: str, path: PathLike, *, style: PathLike | None = None, units: Mapping[str, str] | None = None
) -> Figure:
    """One plot of a run in a file; `what`, `style` and `units` as for `plot_run`."""
    drawn = plot_run(run, what=what, style=style, units=units)[what]
    with figures.chosen(style):
        figures.save(drawn, path)
    return drawn


def plot_all(run: Any, folder: PathLike, formats: str | Sequence[str] = ("png",), **options: Any) -> list[Path]:
    """Write all plots of a run, or those that options (of `plot_run`) name, into a folder; returns the files."""
    suffixes = [formats] if isinstance(formats, str) else list(formats)
    drawn = plot_run(run, folder, formats=suffixes, **options)
    return [Path(folder) / f"{name}.{suffix}" for name in drawn for suffix in suffixes]


# -- equilibria and modes ------------------------------------------------------------------------------------------


def _strains(robot: Robot, q: Array, rod: str) -> tuple[Array, Array]:
    """Arclengths (n,) [m] and strains less those of the unloaded rod (n, 6) along a rod."""
    X, xi = [], []
    for piece in robot.engine.layout.links[rod].pieces:
        at = np.linspace(0.0, piece.division.length, 60)
        X.append(piece.start + at)
        own = q[piece.column : piece.column + piece.n] / piece.length_ratio(q)
        xi.append(np.einsum("kij,i->kj", piece.division.basis(at), own))
    return np.concatenate(X), np.concatenate(xi)


@public
def plot_equilibrium(
    eq: Any, path: PathLike | None = None, style: PathLike | None = None, *, units: Mapping[str, str] | None = None
) -> Figure:
    """An equilibrium: its shape beside that at q = 0 (grey), the strains of the last rod, and the inputs by unit.

    `style` and `units` as for `plot_run`.
    """
    robot, q = eq.robot, np.asarray(eq.q, dtype=float)
    geometry = figures.coarse_geometry(robot)
    shapes = [geometry.at(np.zeros(robot.ndof)), geometry.at(q)]
    rods = list(geometry.centrelines)
    u = np.asarray(eq.u if getattr(eq, "u", None) is not None else [], dtype=float).ravel()
    of_inputs = list(dict.fromkeys(robot.actuator_units)) if u.size else []
    panels_beside = [*(["angular", "linear"] if rods else []), *of_inputs]
    size = 10.5 if panels_beside else 7.0, max(5.6, 1.8 * len(panels_beside))
    with figures.new_figure(*size, path, style, units) as figure:
        length = figures.shown_unit("m")
        widths = [1.5, 1.0] if panels_beside else [1.0]
        grid = figure.add_gridspec(max(1, len(panels_beside)), len(widths), width_ratios=widths)
        colours = (*AT_ZERO, 0.5), lambda part: to_rgb(part_colour(part))
        axes = figures.solid_axes(figure, grid[:, 0], geometry, zip(shapes, colours, strict=True))
        for name in geometry.tendons:
            line = line_style(robot.actuator_names.index(name))
            points = geometry.tendon_points(shapes[1], name) / length.size
            axes.plot(*points.T, linewidth=1.0, zorder=12, **line)
        for r, what in enumerate(panels_beside):
            panel = figure.add_subplot(grid[r, 1])
            if what in of_inputs:
                _bars(panel, robot, u, what)
                continue
            X, xi = _strains(robot, q, rods[-1])
            first, unit = (0, figures.shown_unit("1/m")) if what == "angular" else (3, figures.shown_unit("-"))
            curves = {STRAINS[j].replace("_", " "): xi[:, j] / unit.size for j in range(first, first + 3)}
            name = "rad/m" if unit.name == "1/m" else unit.name
            figures.plot_lines(panel, X / length.size, curves, f"{what} strain\n[{name}]")
            panel.set_xlabel(length.label(f"X on {rods[-1]}"))
            typical = 1.0 / float(X[-1]) if what == "angular" else 1.0
            figures.ignore_rounding([panel], typical / unit.size)
            figures.legend_beside(panel)
        figure.align_ylabels()
        figure.suptitle(f"{robot.name}: equilibrium (grey: q = 0)")
    return figure


def _bars(panel: Any, robot: Robot, u: Array, unit: str) -> None:
    """Inputs of one unit as bars, tendons in the colours of their lines."""
    shown = [i for i, other in enumerate(robot.actuator_units) if other == unit]
    colours = [line_style(i)["color"] for i in shown]
    in_unit = figures.shown_unit(unit)
    panel.barh([robot.actuator_names[i] for i in shown], u[shown] / in_unit.size, color=colours, height=0.6)
    panel.set_ylim(len(shown) - 0.5, -0.5)
    panel.set_xlabel(in_unit.label(figures.kind_of_inputs(robot, shown)))


@public
def plot_modes(
    lin: Any, path: PathLike | None = None, *, modes: Sequence[int] | None = None, style: PathLike | None = None
) -> Figure:
    """Mode shapes: the robot at rest (grey), farthest out (colour) and, of what oscillates, on the other side (pale).

    Parameters
    ----------
    lin : Linearization
    path : path-like, optional
    modes : sequence of int, optional
        Their numbers in ``lin.damped``, from 1. Default: the first six.
    style : str or path-like, optional
        As for `plot_run`.
    """
    if not (modes is None or np.iterable(modes)):
        raise InputError("modes", "a list of numbers of modes", describe(modes))
    chosen = list(range(1, max(min(MODES, len(lin.damped)), 1) + 1)) if modes is None else list(modes)
    if not 0 < len(chosen) <= MOST_MODES:
        raise InputError("modes", f"numbers of 1 to {MOST_MODES} modes", f"{len(chosen)} of them")
    runs = [mode(lin, k, amplitude=AMPLITUDE) for k in chosen]
    geometry = Geometry(lin.robot, *FINE, tendons=False)
    thin = LEAST_WIDTH * float(np.ptp(figures.visible_points(geometry, geometry.at(lin.q)), axis=0).max())
    columns = min(3, len(runs))
    with figures.new_figure(3.6 * columns, 0.5 + 3.2 * -(-len(runs) // columns), path, style) as figure:
        grid = figure.add_gridspec(-(-len(runs) // columns), columns)
        for i, (k, run) in enumerate(zip(chosen, runs, strict=True)):
            states = (lin.q, *_extremes(run))
            shapes = [geometry.at(q, thin) for q in states]
            # between both extremes there is nothing of second order in the amplitude
            motion = shapes[-1].points - shapes[len(shapes) - 2].points
            eye = figures.showing_eye(lin.robot, shapes[0].points, motion)
            colours = (REST, BACK, OUT) if len(shapes) == 3 else (REST, OUT)
            where = grid[i // columns, i % columns]
            axes = figures.solid_axes(figure, where, geometry, zip(shapes, colours, strict=True), eye=eye)
            axes.set_axis_off()
            if np.array_equal(eye, figures.eye_direction(lin.robot)):
                axes.enlarged = CLOSER  # with room for the letters of axes that are not drawn
            axes.placeholder.set_title(f"{run.message}\n{_wrapped(format_shares(shares(lin, k)))}", fontsize=9.0)
        turning = "steady motion" if lin.qd.any() else "equilibrium"
        figure.suptitle(f"{lin.robot.name}: modes (grey: {turning})")
    return figure


def _wrapped(text: str) -> str:
    """A text in lines that end at commas."""
    return fill(text.replace(" ", "\xa0").replace(",\xa0", ", "), LINE).replace("\xa0", " ")


def _extremes(run: ModeRun) -> list[Any]:
    """Coordinates on both sides, of what oscillates, the farthest out last; of the rest farthest out."""
    half, whole = len(run) // 2, len(run)
    kind = run.options["kind"]
    if kind in ("oscillates", "flutters"):
        return [run.q[half], run.q[0]]
    if kind == "rigid body":  # there and back
        return [run.q[3 * whole // 4], run.q[whole // 4]]
    return [run.q[-1] if kind == "grows" else run.q[0]]
