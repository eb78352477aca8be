"""Figures of all plots: their style (ours, that for papers, matplotlib's, or a file) and how they are written.

There is no pyplot, so no window opens and no figure stays in memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rc_context, rc_params_from_file, rcParams
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator, ScalarFormatter
from matplotlib.transforms import Bbox
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from mpl_toolkits.mplot3d.proj3d import proj_transform

from sorosim.base.arrays import Array
from sorosim.base.errors import FileError, InputError, nearest
from sorosim.base.units.quantity import amount
from sorosim.base.units.table import DIMENSIONS
from sorosim.base.validation import describe
from sorosim.mechanics.actuation.servo import JointServo
from sorosim.mechanics.actuation.tendon import Tendon
from sorosim.mechanics.robot import Robot
from sorosim.view.viz.camera import grid_step, level_axes, round_down, up_axis
from sorosim.view.viz.checks import PathLike, check_name, written
from sorosim.view.viz.geometry import TENDON, Geometry, Part, Shape

# Okabe and Ito's colours, which colour-blind eyes tell apart; their yellow is too pale for lines on white
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
DASHES = ("-", "--", ":", "-.")
FORMATS = ("png", "pdf", "svg", "jpg", "tif")
Colour = tuple[float, ...] | Callable[[Part], tuple[float, ...]]

# directions to the eye: to the right, to the back, up; to the light: to the right, upwards, to the eye
EYE, LIGHT = (0.49, -0.79, 0.37), (-0.59, 0.60, 0.54)
SPATIAL = 0.1  # part of a motion that a figure along the direction of least motion may hide
# how much a robot's height speaks against a view from above; cosine to the vertical of what is nearly from above
TALL, STEEP = 3.0, 0.8
ROUNDING = 1e-9  # what changes by less than this part of the others, or of what is usual, does not change

GAP = 5.0  # between the line of an axis, its numbers and its name [points]
TICK_OFFSET, LABEL_OFFSET = 8.0, 21.0  # matplotlib's own, beside pads
ROUNDS = 8  # at most; what is left of a movement falls to a sixth in each
STILL = 3e-4  # of the size of a figure, a third of a pixel at 1000: nothing moves any more

LONGEST_SIDE = 0.07  # of a drawn triangle, in sizes of the robot: they are sorted by the depth of their middles

TALLEST = 60.0  # of a figure [inches]
LEAST_TICKS = 3  # of each axis in three dimensions

OURS, PAPER = "sorosim", "paper"
SUFFIX = ".mplstyle"
WIDE = 9.0  # figures as wide as this go over two columns [inches]
GUTTER = 0.16  # between the columns of a page [inches]

Settings = dict[Any, Any]  # matplotlib lists its names as a type

_CHOSEN: ContextVar[Settings | None] = ContextVar("chosen style", default=None)


class ShownUnit(NamedTuple):
    """A unit in which numbers are shown."""

    size: float  # of the SI unit that it takes the place of
    name: str

    def label(self, what: str) -> str:
        """A name with the unit in brackets, without them where there is none."""
        return f"{what} [{self.name}]" if self.name else what


_UNITS: ContextVar[Mapping[str, ShownUnit]] = ContextVar("chosen units", default={})  # noqa: B039  by SI unit

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
    with resources.as_file(resources.files("sorosim.view.viz").joinpath(f"{name}{SUFFIX}")) as path:
        return _from_file(path)


@contextmanager
def chosen(style: PathLike | None = None, units: Mapping[str, str] | None = None) -> Iterator[None]:
    """Draw figures in a style, and show numbers in units by their dimensions; None: as around it, first ours and SI."""
    settings = _CHOSEN.get() if style is None else find_style(style)
    tokens = _CHOSEN.set(settings), _UNITS.set(_UNITS.get() if units is None else _units_by_si(units))
    try:
        yield
    finally:
        _CHOSEN.reset(tokens[0])
        _UNITS.reset(tokens[1])


def _units_by_si(units: Mapping[str, str]) -> dict[str, ShownUnit]:
    if not isinstance(units, Mapping):
        raise InputError("units", 'a mapping such as {"length": "mm"}', describe(units))
    found, known = {}, [name for name, dimension in DIMENSIONS.items() if dimension.unit]
    for dimension, unit in units.items():
        check_name("units", dimension, known, "a dimension")
        size = amount(f"units.{dimension}", f"1 {unit}", dimension)
        found[DIMENSIONS[dimension].unit] = ShownUnit(size, str(unit).replace("*", " "))
    return found


def shown_unit(unit: str) -> ShownUnit:
    """The unit in which numbers of an SI unit are shown: what `chosen` has in its place, else that one."""
    return _UNITS.get().get(unit.replace(" ", "*"), ShownUnit(1.0, unit.replace("*", " ")))


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
    new_width = 2.0 * column + GUTTER if width >= WIDE else column
    return new_width, height * (new_width / width) ** 0.5


@contextmanager
def new_figure(
    width: float, height: float, path: PathLike | None = None, style: PathLike | None = None,
    units: Mapping[str, str] | None = None,
) -> Iterator[Figure]:  # fmt: skip
    """An empty figure [inches] to draw in, in a style and units as `chosen` has them; written if there is a path."""
    with chosen(style, units), _styled():
        wide, high = figure_size(width, min(height, TALLEST))
        figure = Figure(figsize=(wide, high), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
        fill_places(figure)
        if path is not None:
            save(figure, path)


def save(figure: Figure, path: PathLike) -> None:
    """Write a figure."""
    with written(path, [f".{name}" for name in FORMATS]) as draft, _styled():
        figure.savefig(draft)


def stacked(figure: Figure, n: int, shared: bool = True, **options: Any) -> list[Any]:
    """Axes below each other, whose x axes may be one; options are those of a gridspec."""
    return list(figure.subplots(n, 1, sharex=shared, squeeze=False, gridspec_kw=options)[:, 0])


def plot_lines(axes: Any, t: Array, lines: Mapping[str, Array], label: str) -> None:
    """Draw lines by name over all of the time axis."""
    for k, (name, values) in enumerate(lines.items()):
        axes.plot(t, values, label=name, **line_style(k), **mark(t))
    axes.set_ylabel(label)
    axes.margins(x=0.0)


def ignore_rounding(panels: Iterable[Any], typical: float = 0.0) -> None:
    """Draw as a straight line, on the scale of the others, what rounding alone moves in panels of one quantity.

    Parameters
    ----------
    panels : iterable of axes
        Those of the same quantity, with the lines in them.
    typical : float, optional
        Usual size of the quantity, in its unit; the largest value that is drawn counts where it is larger.
    """
    drawn = []
    for axes in panels:
        values = np.concatenate([np.zeros(0), *(np.asarray(line.get_ydata(), dtype=float) for line in axes.lines)])
        values = values[np.isfinite(values)]
        if len(values):
            drawn.append((axes, float(values.min()), float(values.max())))
    size = max([typical, *(max(-low, high) for _, low, high in drawn)])
    widest = max((high - low for _, low, high in drawn), default=0.0)
    span = widest if widest > ROUNDING * size else 0.1 * size
    for axes, low, high in drawn:
        if high - low <= ROUNDING * size and span > 0.0:
            axes.set_ylim(0.5 * (low + high - span), 0.5 * (low + high + span))


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


def kind_of_inputs(robot: Robot, indices: Sequence[int]) -> str:
    """What the inputs of these indices are."""
    actuators = [list(robot.description.actuators.values())[i] for i in indices]
    if all(isinstance(actuator, Tendon) for actuator in actuators):
        lengths = [actuator.stiffness is not None for actuator in actuators]
        return "length wound up" if all(lengths) else "tension" if not any(lengths) else "input"
    if all(isinstance(actuator, JointServo) for actuator in actuators):
        return "set point"
    return "pressure" if all(getattr(actuator, "unit", "") == "Pa" for actuator in actuators) else "input"


# -- robots in three dimensions: axes of equal scale that fill their place, shaded solids ------------------------


def eye_direction(robot: Robot) -> Array:
    """Unit vector in the world towards the eye of figures."""
    up = np.abs(up_axis(robot.engine.gravity))
    direction = np.array(EYE) @ np.stack([*level_axes(up), up])
    return np.asarray(direction / np.linalg.norm(direction))


def _light(robot: Robot, eye: Array) -> Array:
    """Unit vector towards the light, which is above and at the left of an eye (3,)."""
    up = np.abs(up_axis(robot.engine.gravity))
    right = np.cross(up, eye)
    if np.linalg.norm(right) < 1e-6:
        right = level_axes(up)[0]
    right /= np.linalg.norm(right)
    direction = np.array(LIGHT) @ np.stack([right, np.cross(eye, right), eye])
    return np.asarray(direction / np.linalg.norm(direction))


def showing_eye(robot: Robot, points: Array, motion: Array) -> Array:
    """Unit vector towards an eye that sees most of how points (n, 3) of a robot move, by vectors (n, 3).

    It looks along the direction of least motion, or as other figures do where the points move in all directions.
    Where several directions have little motion, it looks across the robot, rather from the usual side.
    """
    usual, up = eye_direction(robot), up_axis(robot.engine.gravity)
    moves, extends = (x.T @ x / max(float((x**2).sum()), 1e-300) for x in (motion, points - points.mean(axis=0)))
    above = min(TALL * float(up @ extends @ up), 0.9)  # of a tall robot little is visible from above
    weights = moves + extends + above * np.outer(up, up) - 0.05 * np.outer(usual, usual)
    direction = np.linalg.eigh(weights)[1][:, 0]
    if direction @ moves @ direction > SPATIAL:
        return usual
    if abs(direction @ up) > STEEP:  # straight from above: what is level is level in the picture
        return np.asarray(up)
    return np.asarray(direction if direction @ usual >= 0.0 else -direction)


def axes_3d(figure: Figure, where: Any, robot: Robot, points: Array, eye: Array | None = None) -> Any:
    """Axes of equal scale around points (n, 3) [m], the robot's vertical upright; short ones have finer ticks.

    They show the unit of lengths of `shown_unit`, from an eye (3,), a unit vector in the world. `fill_places` makes
    them fill the place of empty axes, their `placeholder`, times `enlarged`.
    """
    vertical = int(np.argmax(np.abs(up_axis(robot.engine.gravity))))
    placeholder = figure.add_subplot(where)
    placeholder.set_axis_off()
    axes: Any = figure.add_axes((0.2, 0.2, 0.5, 0.5), projection="3d", proj_type="ortho", computed_zorder=False)
    axes.placeholder, axes.enlarged = placeholder, 1.0
    axes.set_in_layout(False)
    axes.patch.set_visible(False)
    # matplotlib counts its angles in axes rolled so that the vertical comes last
    x, y, z = np.roll(eye_direction(robot) if eye is None else eye, 2 - vertical)
    level = np.hypot(x, y) < 1e-9  # from above the first horizontal axis points to the right
    elevation, azimuth = np.rad2deg([np.arcsin(np.clip(z, -1.0, 1.0)), -0.5 * np.pi if level else np.arctan2(y, x)])
    axes.view_init(elev=elevation, azim=azimuth, vertical_axis="xyz"[vertical])
    length = shown_unit("m")
    low, high = points.min(axis=0) / length.size, points.max(axis=0) / length.size
    # flat things get a box deep enough for its letters
    span = np.maximum(1.08 * (high - low), 0.3 * (float((high - low).max()) or 1.0))
    middle, step = 0.5 * (low + high), grid_step(1.3 * float(span.max()))
    for k, name in enumerate("xyz"):
        getattr(axes, f"set_{name}lim")(middle[k] - 0.5 * span[k], middle[k] + 0.5 * span[k])
        # an interval holds LEAST_TICKS multiples, wherever it begins, of what is at most that part of it
        getattr(axes, f"{name}axis").set_major_locator(MultipleLocator(min(step, round_down(span[k] / LEAST_TICKS))))
        # their outlines close the box where it has no axis
        getattr(axes, f"{name}axis").pane.set(fill=False, edgecolor=rcParams["grid.color"], alpha=1.0, closed=True)
        getattr(axes, f"set_{name}label")(length.label(name))
        axes.tick_params(axis=name, labelsize=0.85 * rcParams["font.size"])
    axes.set_box_aspect(span)
    return axes


def fill_places(figure: Figure) -> None:
    """Let all axes in three dimensions fill their places."""
    spaces = [axes for axes in figure.axes if hasattr(axes, "placeholder")]
    if spaces:
        figure.draw_without_rendering()  # which lays out the places
    for axes in spaces:
        _fill_place(figure, axes)


def _fill_place(figure: Any, axes: Any) -> None:
    """Move and scale axes so that their box and letters fill their place, and no letters run into others.

    Matplotlib leaves letters outside, and measures their distances in sizes of the box along its axes.
    """
    limits = (axes.get_xlim(), axes.get_ylim(), axes.get_zlim())
    corners = np.stack(np.meshgrid(*limits), axis=-1).reshape(-1, 3)
    place, renderer = axes.placeholder.get_position(), figure.canvas.get_renderer()
    lines = (axes.xaxis, axes.yaxis, axes.zaxis)
    for _ in range(ROUNDS):
        x, y, _ = proj_transform(*corners.T, axes.get_proj())
        box = Bbox.null()
        box.update_from_data_xy(axes.transData.transform(np.stack([x, y], axis=1)))
        for axis in lines:
            _set_pads(axes, axis, renderer, 0.5 * (box.p0 + box.p1))
        used = Bbox.union([box, *(axis.get_tightbbox(renderer) for axis in lines)])
        used = used.transformed(figure.transFigure.inverted())
        old, factor = axes.get_position(original=True), min(place.width / used.width, place.height / used.height)
        # about the middle of what is used, which moves to the middle of the place
        x0 = place.x0 + 0.5 * place.width + factor * (old.x0 - 0.5 * (used.x0 + used.x1))
        y0 = place.y0 + 0.5 * place.height + factor * (old.y0 - 0.5 * (used.y0 + used.y1))
        axes.set_position((x0, y0, factor * old.width, factor * old.height))
        axes.apply_aspect()
        if np.abs(axes.get_position(original=True).get_points() - old.get_points()).max() < STILL:
            break
    _thin_out(lines, renderer)
    if axes.enlarged != 1.0:
        axes.set_position(axes.get_position(original=True).expanded(axes.enlarged, axes.enlarged))
        axes.apply_aspect()


class _SomeNumbers(ScalarFormatter):
    """Numbers at some of the ticks of an axis."""

    def __init__(self, kept: Sequence[float]) -> None:
        super().__init__()
        self._kept = kept

    def __call__(self, x: float, pos: int | None = None) -> str:
        return super().__call__(x, pos) if np.isclose(x, self._kept, rtol=1e-6, atol=1e-12).any() else ""


def _thin_out(lines: Sequence[Any], renderer: Any) -> None:
    """Leave out numbers that would run into others: of an axis all but every second, third, ..., two at least."""
    ticks, choices, boxes = [], [], list[Any]()
    for axis in lines:
        axis.draw(renderer)
        low, high = sorted(axis.get_view_interval())
        own = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high and tick.label1.get_text()]
        n, first = len(own), len(boxes)
        some = [range(first + k, first + n, by) for by in range(1, max(n, 2)) for k in range(by)]
        choices.append([one for one in some if len(one) >= min(n, 2)] or some)
        boxes += [tick.label1.get_window_extent(renderer) for tick in own]
        ticks += own
    over = np.array([[one.overlaps(other) for other in boxes] for one in boxes]).reshape(len(boxes), -1)
    rows: list[list[int]] = [[i for one in chosen for i in one] for chosen in product(*choices)]

    def cost(some: list[int]) -> tuple[int, int]:
        return int(over[some][:, some].sum()) - len(some), -len(some)  # each lies over itself

    kept = min(rows, key=cost)
    for axis, own in zip(lines, choices, strict=True):
        indices = own[0]  # all of them
        if not set(kept).issuperset(indices):
            axis.set_major_formatter(_SomeNumbers([ticks[i].get_loc() for i in indices if i in kept]))


def _set_pads(axes: Any, axis: Any, renderer: Any, middle: Array) -> None:
    """Set the distances of numbers and name of an axis from its line; `middle` is that of the box [pixels]."""
    axis.draw(renderer)
    start, end = axes.transData.transform(np.stack(axis.line.get_data(), axis=1)[:2])
    across = np.array([start[1] - end[1], end[0] - start[0]]) / max(np.linalg.norm(end - start), 1e-300)
    across *= -1.0 if (middle - start) @ across > 0.0 else 1.0
    gap, (low, high) = renderer.points_to_pixels(GAP), sorted(axis.get_view_interval())
    boxes = [
        (tick.get_pad(), tick.label1.get_window_extent(renderer))
        for tick in axis.get_major_ticks()
        if low <= tick.get_loc() <= high and tick.label1.get_text()
    ]
    if not boxes:
        return
    half = max(0.5 * np.abs(across) @ box.size for _, box in boxes)
    # distances grow with pads and the offsets that matplotlib adds to them
    pad, box = boxes[0]
    by_pad = (0.5 * (box.p0 + box.p1) - start) @ across / (pad + TICK_OFFSET)
    name = axis.label.get_window_extent(renderer)
    by_label_pad = (0.5 * (name.p0 + name.p1) - start) @ across / (axis.labelpad + LABEL_OFFSET)
    if min(by_pad, by_label_pad) <= 0.0:  # an axis along the line of sight
        return
    letters = 0.6 * renderer.points_to_pixels(axis.label.get_fontsize())  # half their height: it is along the axis
    axis.set_tick_params(pad=(gap + half) / by_pad - TICK_OFFSET)
    axis.labelpad = (2.0 * gap + 2.0 * half + letters) / by_label_pad - LABEL_OFFSET


def solid_axes(
    figure: Figure, where: Any, geometry: Geometry, shapes: Iterable[tuple[Shape, Colour]], *points: Array,
    eye: Array | None = None,
) -> Any:  # fmt: skip
    """As `axes_3d`, around shapes, later ones drawn over earlier ones in their colours, and points (n, 3) [m]."""
    rows = list(shapes)
    every = np.concatenate([*points, *(visible_points(geometry, shape) for shape, _ in rows)])
    axes = axes_3d(figure, where, geometry.robot, every, eye)
    for k, (shape, colour) in enumerate(rows):
        draw_solid(axes, geometry, shape, colour, 10 + k, eye)
    return axes


def draw_solid(
    axes: Any, geometry: Geometry, shape: Shape, colour: Colour, layer: int, eye: Array | None = None
) -> None:
    """Draw a shape over what has a lower layer, in the unit of lengths of `shown_unit`.

    Its colour is one (a fourth number is its opacity), or a function that gives that of each part.
    """
    eye = eye_direction(geometry.robot) if eye is None else eye
    light = _light(geometry.robot, eye)
    parts = [part for part in geometry.parts if part.kind != TENDON]
    if not parts:
        return
    index = np.concatenate([part.faces for part in parts])
    colours = [colour(part)[:3] if callable(colour) else colour[:3] for part in parts]
    paint = np.repeat(colours, [len(part.faces) for part in parts], axis=0)
    triangles = shape.points[index]
    normal = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    front = normal @ eye > 0.0
    size = float(np.ptp(visible_points(geometry, shape), axis=0).max())
    values = np.column_stack([shape.normals[index[front]].mean(axis=1) @ light, paint[front]])
    triangles, values = _split(triangles[front], values, LONGEST_SIDE * size)
    lit, paint = values[:, 0], values[:, 1:]
    # darker away from the light, a little whiter towards it, so that dark colours have a shape too
    shade, shine = np.clip(0.7 + 0.4 * lit, 0.0, 1.0)[:, None], 0.35 * np.clip(lit - 0.2, 0.0, 1.0)[:, None]
    faces = paint * shade * (1.0 - shine) + shine
    alpha = 1.0 if callable(colour) or len(colour) < 4 else colour[3]
    # edges in the colours of the faces close the hair-thin gaps between them
    edges: Any = faces if alpha == 1.0 else "none"
    collection = Poly3DCollection(
        triangles / shown_unit("m").size, facecolors=faces, edgecolors=edges, linewidths=0.3, alpha=alpha
    )
    collection.set_zorder(layer)
    axes.add_collection3d(collection)


def _split(triangles: Array, values: Array, longest: float) -> tuple[Array, Array]:
    """Triangles (n, 3, 3) halved until no side is too long, each with its values (n, m)."""
    while True:
        sides = np.linalg.norm(np.roll(triangles, -1, axis=1) - triangles, axis=2)
        worst = sides.argmax(axis=1)
        long = sides[np.arange(len(sides)), worst] > longest
        if not long.any():
            return triangles, values
        at, k = triangles[long], worst[long]
        a, b, c = (at[np.arange(len(at)), (k + i) % 3] for i in range(3))
        middle = 0.5 * (a + b)
        halves = [np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)]
        triangles = np.concatenate([triangles[~long], *halves])
        values = np.concatenate([values[~long], values[long], values[long]])


def coarse_geometry(robot: Robot) -> Geometry:
    """A picture of few triangles, fewer for each of many rods."""
    rods = sum(link.rod is not None for link in robot.links)
    return Geometry(robot, n_stations=max(8, int(40 / max(1, rods) ** 0.5)), n_around=24 if rods < 4 else 16)


def visible_points(geometry: Geometry, shape: Shape) -> Array:
    """Points that the axes must contain."""
    points = [part.points for part in geometry.parts if part.kind != TENDON]
    return np.concatenate([shape.points[part] for part in points]) if points else shape.g[:, :3, 3]
