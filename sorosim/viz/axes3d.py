"""Robots in matplotlib's three dimensions: axes of equal scale that use their room, shaded solids."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator
from matplotlib.transforms import Bbox
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from mpl_toolkits.mplot3d.proj3d import proj_transform
from numpy.typing import NDArray

from sorosim.robot import Robot
from sorosim.viz.camera import grid_step, level_axes, up_axis
from sorosim.viz.geometry import TENDON, Geometry, Part, Shape

Array = NDArray[np.float64]
Colour = tuple[float, ...] | Callable[[Part], tuple[float, ...]]

# directions to the eye and to the light: to the right, to the back, up
EYE, LIGHT = (0.49, -0.79, 0.37), (-0.35, -0.55, 0.76)

GAP = 5.0  # between the line of an axis, its numbers and its name [points]
TICK_OFFSET, LABEL_OFFSET = 8.0, 21.0  # matplotlib's own, beside pads
SETTLED = 8  # rounds, after which nothing moves any more

LONGEST_SIDE = 0.07  # of a drawn triangle, in sizes of the robot: they are sorted by the depth of their middles


def _direction(robot: Robot, parts: tuple[float, float, float]) -> Array:
    """Unit vector in the world from its parts to the right, to the back and up, as the robot's vertical has them."""
    up = np.abs(up_axis(robot.engine.gravity))
    direction = np.array(parts) @ np.stack([*level_axes(up), up])
    unit: Array = direction / np.linalg.norm(direction)
    return unit


def axes_3d(figure: Figure, where: Any, robot: Robot, points: Array) -> tuple[Any, Any]:
    """Axes of equal scale around points (n, 3), with the same step of ticks, the robot's vertical upright.

    Returns them, and the empty axes whose place `settle` makes them fill.
    """
    vertical = int(np.argmax(np.abs(up_axis(robot.engine.gravity))))
    room = figure.add_subplot(where)
    room.set_axis_off()
    axes: Any = figure.add_axes((0.2, 0.2, 0.5, 0.5), projection="3d", proj_type="ortho", computed_zorder=False)
    axes.set_in_layout(False)
    axes.patch.set_visible(False)
    # matplotlib counts its angles in axes rolled so that the vertical comes last
    x, y, z = np.roll(_direction(robot, EYE), 2 - vertical)
    elevation, azimuth = np.rad2deg([np.arcsin(z), np.arctan2(y, x)])
    axes.view_init(elev=elevation, azim=azimuth, vertical_axis="xyz"[vertical])
    low, high = points.min(axis=0), points.max(axis=0)
    # flat things get a box deep enough for its letters
    span = np.maximum(1.08 * (high - low), 0.3 * (float((high - low).max()) or 1.0))
    middle, step = 0.5 * (low + high), grid_step(1.3 * float(span.max()))
    for k, name in enumerate("xyz"):
        getattr(axes, f"set_{name}lim")(middle[k] - 0.5 * span[k], middle[k] + 0.5 * span[k])
        getattr(axes, f"{name}axis").set_major_locator(MultipleLocator(step))
        # their outlines close the box where it has no axis
        getattr(axes, f"{name}axis").pane.set(fill=False, edgecolor=rcParams["grid.color"], alpha=1.0, closed=True)
        getattr(axes, f"set_{name}label")(f"{name} [m]")
        axes.tick_params(axis=name, labelsize=0.85 * rcParams["font.size"])
    axes.set_box_aspect(span)
    return axes, room


def settle(figure: Any, axes: Any, room: Any) -> None:
    """Move and scale axes so that their box and letters fill the room, and no letters run into others.

    Matplotlib leaves letters outside, and measures their distances in sizes of the box along its axes.
    """
    figure.draw_without_rendering()
    limits = (axes.get_xlim(), axes.get_ylim(), axes.get_zlim())
    corners = np.stack(np.meshgrid(*limits), axis=-1).reshape(-1, 3)
    place, renderer = room.get_position(), figure.canvas.get_renderer()
    lines = (axes.xaxis, axes.yaxis, axes.zaxis)
    for _ in range(SETTLED):
        x, y, _ = proj_transform(*corners.T, axes.get_proj())
        box = Bbox.null()
        box.update_from_data_xy(axes.transData.transform(np.stack([x, y], axis=1)))
        for axis in lines:
            _set_pads(axes, axis, renderer, 0.5 * (box.p0 + box.p1))
        seen = Bbox.union([box, *(axis.get_tightbbox(renderer) for axis in lines)])
        seen = seen.transformed(figure.transFigure.inverted())
        old, factor = axes.get_position(original=True), min(place.width / seen.width, place.height / seen.height)
        # about the middle of what is seen, which goes to the middle of the place
        x0 = place.x0 + 0.5 * place.width + factor * (old.x0 - 0.5 * (seen.x0 + seen.x1))
        y0 = place.y0 + 0.5 * place.height + factor * (old.y0 - 0.5 * (seen.y0 + seen.y1))
        axes.set_position((x0, y0, factor * old.width, factor * old.height))
        axes.apply_aspect()


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
    if min(by_pad, by_label_pad) <= 0.0:  # an axis seen end on
        return
    letters = 0.6 * renderer.points_to_pixels(
        axis.label.get_fontsize()
    )  # half their height: the name is along the axis
    axis.set_tick_params(pad=(gap + half) / by_pad - TICK_OFFSET)
    axis.labelpad = (2.0 * gap + 2.0 * half + letters) / by_label_pad - LABEL_OFFSET


def solid_axes(
    figure: Figure, where: Any, geometry: Geometry, shapes: Iterable[tuple[Shape, Colour]], *points: Array
) -> tuple[Any, Any]:
    """As `axes_3d`, around shapes, later ones drawn over earlier ones in their colours, and further points (n, 3)."""
    rows = list(shapes)
    seen = np.concatenate([*points, *(visible_points(geometry, shape) for shape, _ in rows)])
    axes, room = axes_3d(figure, where, geometry.robot, seen)
    for k, (shape, colour) in enumerate(rows):
        draw_solid(axes, geometry, shape, colour, 10 + k)
    return axes, room


def draw_solid(axes: Any, geometry: Geometry, shape: Shape, colour: Colour, layer: int) -> None:
    """Draw a shape over what has a lower layer.

    Its colour is one (a fourth number is its opacity), or a function that gives that of each part.
    """
    eye, light = _direction(geometry.robot, EYE), _direction(geometry.robot, LIGHT)
    parts = [part for part in geometry.parts if part.kind != TENDON]
    index = np.concatenate([np.zeros((0, 3), dtype=np.int64), *(part.faces for part in parts)])
    own = [np.tile(colour(part)[:3] if callable(colour) else colour[:3], (len(part.faces), 1)) for part in parts]
    paint = np.concatenate([np.zeros((0, 3)), *own])
    triangles = shape.points[index]
    normal = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    seen = normal @ eye > 0.0
    size = float(np.ptp(visible_points(geometry, shape), axis=0).max())
    values = np.column_stack([shape.normals[index[seen]].mean(axis=1) @ light, paint[seen]])
    triangles, values = _split(triangles[seen], values, LONGEST_SIDE * size)
    lit, paint = values[:, 0], values[:, 1:]
    # darker away from the light, a little whiter towards it, so that dark colours have a shape too
    shade, shine = np.clip(0.7 + 0.4 * lit, 0.0, 1.0)[:, None], 0.35 * np.clip(lit - 0.2, 0.0, 1.0)[:, None]
    faces = paint * shade * (1.0 - shine) + shine
    alpha = 1.0 if callable(colour) or len(colour) < 4 else colour[3]
    # edges in the colours of the faces close the hair-thin gaps between them
    edges: Any = faces if alpha == 1.0 else "none"
    collection = Poly3DCollection(triangles, facecolors=faces, edgecolors=edges, linewidths=0.3, alpha=alpha)
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
    """Points that the axes must hold."""
    ends = [part.points for part in geometry.parts if part.kind != TENDON]
    return np.concatenate([shape.points[part] for part in ends]) if ends else shape.g[:, :3, 3]
