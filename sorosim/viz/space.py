"""Robots in matplotlib's three dimensions: axes of equal scale that use their room, shaded solids."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator
from matplotlib.transforms import Bbox
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from mpl_toolkits.mplot3d.proj3d import proj_transform
from numpy.typing import NDArray

from sorosim.robot import Robot
from sorosim.viz.camera import grid_step, level_axes, up_axis
from sorosim.viz.geometry import TENDON, Geometry, Shape

Array = NDArray[np.float64]

# directions to the eye and to the light: to the right, to the back, up
EYE, LIGHT = (0.49, -0.79, 0.37), (-0.35, -0.55, 0.76)

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
    letters = len(f"{step:g}")
    for k, name in enumerate("xyz"):
        getattr(axes, f"set_{name}lim")(middle[k] - 0.5 * span[k], middle[k] + 0.5 * span[k])
        getattr(axes, f"{name}axis").set_major_locator(MultipleLocator(step))
        getattr(axes, f"{name}axis").set_pane_color((1.0, 1.0, 1.0, 0.0))
        getattr(axes, f"set_{name}label")(f"{name} [m]", labelpad=3.0 * letters - (3.0 if k == vertical else 4.0))
        axes.tick_params(axis=name, pad=4.0 if k == vertical else 1.0, labelsize=8.5)
    axes.set_box_aspect(span)
    return axes, room


def settle(figure: Any, axes: Any, room: Any) -> None:
    """Move and scale axes so that their box and letters fill the room; matplotlib leaves letters outside."""
    figure.draw_without_rendering()
    limits = (axes.get_xlim(), axes.get_ylim(), axes.get_zlim())
    corners = np.stack(np.meshgrid(*limits), axis=-1).reshape(-1, 3)
    place, canvas = room.get_position(), figure.canvas
    for _ in range(4):
        x, y, _ = proj_transform(*corners.T, axes.get_proj())
        box = Bbox.null()
        box.update_from_data_xy(axes.transData.transform(np.stack([x, y], axis=1)))
        boxes = [axis.get_tightbbox(canvas.get_renderer()) for axis in (axes.xaxis, axes.yaxis, axes.zaxis)]
        seen = Bbox.union([box, *boxes]).transformed(figure.transFigure.inverted())
        old, factor = axes.get_position(original=True), min(place.width / seen.width, place.height / seen.height)
        # about the middle of what is seen, which goes to the middle of the place
        x0 = place.x0 + 0.5 * place.width + factor * (old.x0 - 0.5 * (seen.x0 + seen.x1))
        y0 = place.y0 + 0.5 * place.height + factor * (old.y0 - 0.5 * (seen.y0 + seen.y1))
        axes.set_position((x0, y0, factor * old.width, factor * old.height))
        axes.apply_aspect()


def draw_solid(axes: Any, geometry: Geometry, shape: Shape, colour: tuple[float, ...], layer: int) -> None:
    """Draw a shape in a colour (a fourth number is its opacity), over what has a lower layer."""
    eye, light = _direction(geometry.robot, EYE), _direction(geometry.robot, LIGHT)
    index = np.concatenate([np.zeros((0, 3), dtype=np.int64), *(p.faces for p in geometry.parts if p.kind != TENDON)])
    triangles = shape.points[index]
    normal = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    seen = normal @ eye > 0.0
    size = float(np.ptp(visible_points(geometry, shape), axis=0).max())
    triangles, lit = _split(triangles[seen], shape.normals[index[seen]].mean(axis=1) @ light, LONGEST_SIDE * size)
    # darker away from the light, a little whiter towards it, so that dark colours have a shape too
    shade, shine = np.clip(0.7 + 0.4 * lit, 0.0, 1.0)[:, None], 0.35 * np.clip(lit - 0.2, 0.0, 1.0)[:, None]
    faces = np.array(colour[:3]) * shade * (1.0 - shine) + shine
    alpha = colour[3] if len(colour) > 3 else 1.0
    # edges in the colours of the faces close the hair-thin gaps between them
    edges: Any = faces if alpha == 1.0 else "none"
    collection = Poly3DCollection(triangles, facecolors=faces, edgecolors=edges, linewidths=0.3, alpha=alpha)
    collection.set_zorder(layer)
    axes.add_collection3d(collection)


def _split(triangles: Array, values: Array, longest: float) -> tuple[Array, Array]:
    """Triangles (n, 3, 3) halved until no side is too long, each with its value."""
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
