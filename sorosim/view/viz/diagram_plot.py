"""Bifurcation diagrams: a curve of equilibria and its branches, stability, special points, shapes beside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sorosim.base.arrays import Array
from sorosim.base.errors import InputError, nearest
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.view.viz.camera import up_axis
from sorosim.view.viz.checks import PathLike
from sorosim.view.viz.figures import PALETTE, UNITS, chosen, new_figure, shown_unit
from sorosim.view.viz.geometry import TENDON, Geometry
from sorosim.view.viz.side_view import axis_name, outlines_of, widest

LINES: dict[str, tuple[Any, float]] = {
    "stable": ("-", 1.8),
    "buckling": ("--", 1.2),
    "flutter": (":", 1.4),
    "unknown": ("-", 1.2),
}
MARKS = {"fold": ("o", PALETTE[1]), "branch": ("s", PALETTE[2]), "flutter": ("^", PALETTE[3]),
         "stability": ("D", PALETTE[5])}  # fmt: skip
POINT_LABELS = {"fold": "fold (limit point)", "branch": "branch point", "flutter": "flutter begins or ends",
                "stability": "stability changes"}  # fmt: skip
MOST_SHAPES = 5
# a point that moves by less than this part of its distance from the origin is at rest, as the end of an arch
STILL = 1e-6


def plot_diagram(
    result: Any, path: PathLike | None = None, *, x: str = "parameter", y: str | None = None,
    shapes: Sequence[tuple[float, Array]] | int | None = None, style: PathLike | None = None,
    units: Mapping[str, str] | None = None,
) -> Figure:  # fmt: skip
    """Diagram of a continuation and its branches: stable lines solid, buckling dashed, flutter dotted; special points.

    Parameters
    ----------
    result : Continuation
    path : path, optional
        Picture to write.
    x, y : str
        ``"parameter"``, ``"arclength"``, a name of what changes, ``"<link> x"`` (or y, z: where the tip of a link is;
        ``"tip x"`` that of the last one), or the name of a coordinate. Default for y: the place of the tip along the
        axis in which it moves most; if it stands still that of another link, or the coordinate that changes most.
    shapes : sequence of (parameter, q), or int, optional
        What is drawn beside: states, or how many along the curve. Default: both ends and special points.
    style : str or path-like, optional
        As for `sorosim.view.viz.plots.plot_run`.
    units : mapping of dimension to unit, optional
        In which axes are shown, as in ``{"length": "mm", "force": "mN"}``. Default: SI units.

    Raises
    ------
    InputError
        A name or a unit that is not known.
    """
    with chosen(style, units):
        return _plotted(result, path, x, y, shapes)


def _plotted(result: Any, path: PathLike | None, x: str, y: str | None, shapes: Any) -> Figure:
    curves = result.curves()
    values = [_quantity(result.robot, curve, name) for curve in curves for name in (x, y or _default_quantity(curves))]
    pairs = list(zip(values[::2], values[1::2], strict=True))
    drawn = _shapes(result, shapes)
    with new_figure(10.0 if drawn else 6.5, 4.8, path) as figure:
        grid = figure.add_gridspec(1, 2 if drawn else 1, width_ratios=[1.25, 1.0] if drawn else [1.0])
        axes = figure.add_subplot(grid[0, 0])
        legend: dict[str, Any] = {}
        for k, (curve, (right, up)) in enumerate(zip(curves, pairs, strict=True)):
            for kind, s, q, p in _pieces(curve):
                dashes, width = LINES[kind]
                axes.plot(right.of(s, q, p), up.of(s, q, p), dashes, color=PALETTE[0] if k == 0 else PALETTE[4],
                          linewidth=width, zorder=3)  # fmt: skip
                legend[kind] = Line2D([], [], color=PALETTE[0], linestyle=dashes, linewidth=width, label=kind)
            for point in curve.points:
                mark, colour = MARKS[point.kind]
                state = np.array([point.arclength]), point.q[None], np.array([point.parameter])
                axes.plot(right.of(*state), up.of(*state), mark, color=colour, markersize=6.0, zorder=5)
                label = POINT_LABELS[point.kind]
                legend[label] = Line2D([], [], color=colour, marker=mark, linestyle="", label=label)
        axes.set_xlabel(pairs[0][0].label)
        axes.set_ylabel(pairs[0][1].label)
        axes.legend(handles=list(legend.values()), loc="best")
        if drawn:
            axes.margins(0.09)  # room for the numbers of shapes
            for k, (value, shape) in enumerate(drawn):
                state = np.array([np.nan]), np.asarray(shape)[None], np.array([value])
                place = float(pairs[0][0].of(*state)[0]), float(pairs[0][1].of(*state)[0])
                if np.isfinite(place).all():
                    axes.annotate(f"{k + 1}", place, xytext=(7, 6), textcoords="offset points", fontsize=9)
            _draw(figure.add_subplot(grid[0, 1]), result, drawn)
        figure.suptitle(f"{result.robot.name}: equilibria along {', '.join(result.along)}")
    return figure


class _Quantity(NamedTuple):
    """What an axis shows."""

    label: str
    of: Callable[[Array, Array, Array], Array]  # of arclength, coordinates and parameter, row by row


def _quantity(robot: Any, curve: Any, name: str) -> _Quantity:
    if name == "parameter":
        return _Quantity(_label(curve), lambda s, q, p: p / _size(curve))
    if name == "arclength":
        return _Quantity("length along the curve", lambda s, q, p: s)
    if name in curve.along:
        k, unit = curve.along.index(name), shown_unit(curve.units[name])
        return _Quantity(unit.label(name), lambda s, q, p: (curve.origin[k] + p * curve.slope[k]) / unit.size)
    if name in robot.coordinate_names:
        i = robot.coordinate_names.index(name)
        own = shown_unit(UNITS[robot.engine.layout.dimensions[i]])
        return _Quantity(own.label(name), lambda s, q, p: q[:, i] / own.size)
    link, _, axis = name.rpartition(" ")
    links = ["tip", *(one.name for one in robot.links)]
    if link not in links or axis not in ("x", "y", "z"):
        known = ["parameter", "arclength", *curve.along, *(f"{one} z" for one in links), *robot.coordinate_names]
        raise InputError("plot", "what an axis can show", f"'{name}'", nearest(name, known))
    k, length = "xyz".index(axis), shown_unit("m")

    def frames(of: Any) -> LinkFrames:
        return of.outputs if link == "tip" else LinkFrames(of.description, of.engine, [link])

    def position(_: Array, q: Array, p: Array) -> Array:
        robots = (curve.path.same_shape_robot(float(b)) for b in p)
        return np.array([frames(one).poses(a)[0, k, 3] / length.size for one, a in zip(robots, q, strict=True)])

    return _Quantity(length.label(f"{axis} of the {frames(robot).points[0]}"), position)


def _label(curve: Any) -> str:
    """Of the parameter."""
    if len(curve.along) > 1:
        return f"parameter of {', '.join(curve.along)}"
    return shown_unit(curve.units[curve.along[0]]).label(curve.along[0])


def _size(curve: Any) -> float:
    """Of the unit of the parameter."""
    return shown_unit(curve.units[curve.along[0]]).size if len(curve.along) == 1 else 1.0


def _default_quantity(curves: Sequence[Any]) -> str:
    """The tip along the axis in which it moves most; where it stands still that of another link, or a coordinate."""
    robot = curves[0].robot
    for name in ("tip", *(link.name for link in robot.links)):
        tips = np.concatenate([curve.tip(None if name == "tip" else name) for curve in curves])
        span = np.ptp(tips, axis=0)
        if span.max() > STILL * np.abs(tips).max():
            return f"{name} {'xyz'[int(np.argmax(span))]}"
    spans = np.ptp(np.concatenate([curve.q for curve in curves]), axis=0)
    return str(robot.coordinate_names[int(np.argmax(spans))]) if spans.any() else "tip z"


def _pieces(curve: Any) -> Iterator[tuple[str, Array, Array, Array]]:
    """Pieces of a curve of one kind, cut at its special points: kind, arclengths, coordinates, parameters."""
    kinds, rows = curve.kind, list(zip(curve.arclength, curve.q, curve.parameter, strict=True))
    pieces = [(kinds[min(1, len(curve) - 1)], rows[:1])]

    def add(row: Any, after: str) -> None:
        pieces[-1][1].append(row)
        if after != pieces[-1][0]:
            pieces.append((after, [row]))

    for i in range(1, len(curve)):
        for point in (point for point in curve.points if point.row == i - 1):
            known = pieces[-1][0] != "unknown"
            add((point.arclength, point.q, point.parameter), _kind(point.after) if known else "unknown")
        add(rows[i], kinds[i] if i < len(curve) - 1 else pieces[-1][0])
    for kind, states in pieces:
        s, q, p = (np.array(column) for column in zip(*states, strict=True))
        yield kind, s, q, p


def _kind(growth: Any) -> str:
    return "flutter" if growth.flutter else "buckling" if growth.buckling else "stable"


def _shapes(result: Any, shapes: Any) -> list[tuple[float, Array]]:
    """States to be drawn beside."""
    if shapes is None:
        ends = [(curve.arclength[-1], curve.parameter[-1], curve.q[-1]) for curve in result.branches[:2]]
        rows = [(0.0, result.parameter[0], result.q[0]), (np.inf, result.parameter[-1], result.q[-1])]
        rows += [(point.arclength, point.parameter, point.q) for point in result.points] + ends
        rows = sorted(rows, key=lambda row: row[0])
        if len(rows) > MOST_SHAPES:
            rows = [rows[int(i)] for i in np.linspace(0, len(rows) - 1, MOST_SHAPES).round()]
        return [(float(p), q) for _, p, q in rows]
    if isinstance(shapes, int | np.integer):
        lengths = np.linspace(result.arclength[0], result.arclength[-1], max(int(shapes), 0))
        indices = np.interp(lengths, result.arclength, np.arange(len(result))).round().astype(int)
        return [(float(result.parameter[i]), result.q[i]) for i in indices]
    return [(float(p), np.asarray(q, dtype=float)) for p, q in shapes]


def _draw(axes: Any, result: Any, states: Sequence[tuple[float, Array]]) -> None:
    """Shapes from the side, over each other, with their numbers."""
    drawn, length = [], shown_unit("m")
    for p, q in states:
        geometry = Geometry(result.path.same_shape_robot(p), n_stations=24, n_around=16)
        drawn.append((geometry, geometry.at(q)))
    points = np.concatenate([shape.points for _, shape in drawn])
    plane = widest(points, up_axis(result.robot.engine.gravity))

    def place(points: Array) -> Array:
        return np.stack([points @ plane.right, points @ plane.up], axis=-1) / length.size

    handles = []
    for k, (geometry, shape) in enumerate(drawn):
        colour = PALETTE[k % len(PALETTE)]
        solid = [part for part in geometry.parts if part.kind != TENDON]
        polygons = [outline for part in solid for outline in outlines_of(geometry, part, shape, plane, place)]
        axes.add_collection(PolyCollection(polygons, facecolor=colour, edgecolor=colour, alpha=0.75, linewidth=0.4))
        handles.append(
            Line2D([], [], color=colour, linewidth=4.0, label=f"{k + 1}: {states[k][0] / _size(result):.4g}")
        )
    axes.autoscale_view()
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel(length.label(axis_name(plane.right)))
    axes.set_ylabel(length.label(axis_name(plane.up)))
    axes.legend(handles=handles, title=_label(result), loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)
