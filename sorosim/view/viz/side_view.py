"""A robot seen from the side as a few lines of SVG; needs no drawing library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from sorosim.base.arrays import Array
from sorosim.mechanics.robot import Robot
from sorosim.view.viz.camera import AXES, grid_step, level_axes, up_axis
from sorosim.view.viz.colours import CORD, part_colour
from sorosim.view.viz.geometry import ROD, TENDON, Geometry, Part, Shape

WIDTH, HEIGHT, MARGIN = 360.0, 200.0, 12.0  # pixels
LABELS, FOOT = 90.0, 320.0  # widths of a column of labels and of the line below
EARLIER, PATH = "#b9bec6", "#882e72"
MOST_PARTS, MOST_TRIANGLES = 150, 1000  # of a picture that stays small


class Plane(NamedTuple):
    """Where points are drawn: to the right, upwards, and how near to the eye."""

    right: Array
    up: Array
    near: Array


def side_view(
    robot: Robot, states: Sequence[Array], path: Array | None = None, *, colours: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
) -> str:  # fmt: skip
    """Return the robot at some states, the last in colour and those before in grey, as an SVG element.

    Parameters
    ----------
    robot : Robot
    states : sequence of (ndof,) arrays
    path : (n, 3) array, optional
        A line to be drawn too, world frame [m].
    colours : sequence of str, optional
        A colour of each state.
    labels : sequence of str, optional
        A text for each state. Without colours, states with labels are the paler the earlier they are.

    Returns
    -------
    str
        Empty where there is nothing to draw, or too much for a small picture.
    """
    geometry = Geometry(robot, n_stations=12, n_around=24)
    if not 0 < len(geometry.parts) <= MOST_PARTS:
        return ""
    shapes = [geometry.at(q) for q in states]
    points = np.concatenate([*(shape.points for shape in shapes), np.zeros((0, 3)) if path is None else path])
    plane = widest(points, up_axis(robot.engine.gravity))
    flat = np.stack([points @ plane.right, points @ plane.up], axis=1)
    low, high = flat.min(axis=0), flat.max(axis=0)
    scale = float(min((np.array([WIDTH, HEIGHT]) - 2 * MARGIN) / np.maximum(high - low, 1e-9)))
    height = scale * (high[1] - low[1]) + 2 * MARGIN + 14.0  # below: the scale

    def place(points: Array) -> Array:
        x = MARGIN + scale * (points @ plane.right - low[0])
        y = MARGIN + scale * (high[1] - points @ plane.up)
        return np.stack([x, y], axis=-1)

    lines = []
    for k, shape in enumerate(shapes):
        colour = colours[k] if colours else EARLIER if k < len(shapes) - 1 and not labels else ""
        drawn = _drawn(geometry, shape, plane, place, colour)
        opacity = (k + 1) / len(shapes) if labels and not colours else 1.0
        lines += [f'<g opacity="{opacity:.2f}">', *drawn, "</g>"] if opacity < 1.0 else drawn
    if path is not None and len(path) > 1:
        lines.append(_line(place(path[:: max(1, len(path) // 150)]), PATH))
    step = grid_step((high - low).max())
    y = height - 8.0
    lines.append(
        f'<path d="M{MARGIN} {y:.1f}h{scale * step:.1f}" stroke="currentColor" stroke-width="1.5"/>'
        f'<text x="{MARGIN + scale * step + 6:.1f}" y="{y + 4:.1f}" font-size="11" fill="currentColor">{step:g} m, '
        f"{axis_name(plane.right)} to the right, {axis_name(plane.up)} upwards</text>"
    )
    width = 2.0 * MARGIN + scale * (high[0] - low[0]) + LABELS if labels else WIDTH
    for k, label in enumerate(labels or ()):
        x, baseline = width - LABELS + 10.0, MARGIN + 10.0 + 15.0 * k
        if colours:
            lines.append(f'<path d="M{x:.1f} {baseline:.1f}h9v-9h-9Z" fill="{colours[k]}"/>')
        at = f'x="{x + 14.0:.1f}" y="{baseline:.1f}"'
        lines.append(f'<text {at} font-size="11" fill="currentColor">{escape(label)}</text>')
    width, height = max(width, FOOT), max(height, MARGIN + 15.0 * len(labels or ()))
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">{"".join(lines)}</svg>'


def widest(points: Array, up: Array) -> Plane:
    """The side view, or that from the front or from above where it shows more."""
    right, back = level_axes(up)
    planes = (Plane(right, up, -back), Plane(back, up, right), Plane(right, back, up))
    areas = [np.ptp(points @ plane.right) * np.ptp(points @ plane.up) for plane in planes]
    return planes[int(np.argmax(np.array(areas) * [1.3, 1.0, 1.0]))]


def axis_name(axis: Array) -> str:
    """Name of the axis of the world that a unit vector is, with its sign: "x", "-z"."""
    k = int(np.argmax(np.abs(axis)))
    return ("-" if axis[k] < 0.0 else "") + AXES[k]


def _drawn(geometry: Geometry, shape: Shape, plane: Plane, place: Callable[[Array], Array], tint: str) -> list[str]:
    """The parts of a shape, the far ones first, tendons over all; with a tint all in it, without tendons."""
    solid = [part for part in geometry.parts if part.kind != TENDON]
    depth = [float((shape.points[part.points] @ plane.near).mean()) for part in solid]
    lines = []
    for k in np.argsort(depth):
        part = solid[int(k)]
        outlines = outlines_of(geometry, part, shape, plane, place)
        colour = tint or part_colour(part)
        d = "".join("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in outline) + "Z" for outline in outlines)
        lines.append(f'<path d="{d}" fill="{colour}" stroke="{colour}" stroke-width="0.6"/>')
    if not tint:
        lines += [_line(place(geometry.tendon_points(shape, name)), CORD) for name in geometry.tendons]
    return lines


def outlines_of(
    geometry: Geometry, part: Part, shape: Shape, plane: Plane, place: Callable[[Array], Array]
) -> list[Array]:
    """Polygons (n, 2) that a part covers together in a plane; `place` puts points (n, 3) there."""
    if part.kind != ROD:
        return _body_outlines(part, shape, plane, place)
    rings = place(geometry.ring_points(shape, part.name))
    return [_hull(np.concatenate(pair)) for pair in pairwise(rings)]


def _body_outlines(part: Part, shape: Shape, plane: Plane, place: Callable[[Array], Array]) -> list[Array]:
    """The hull of a body that is convex, the triangles in sight of one that is not; of very many, their hull too."""
    if not part.convex:
        corners = shape.points[part.faces]
        front = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) @ plane.near > 0.0
        if front.sum() <= MOST_TRIANGLES:
            return list(place(corners[front]))
    return [_hull(place(shape.points[part.points]))]


def _line(points: Array, colour: str) -> str:
    d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="{d}" fill="none" stroke="{colour}"/>'


def _hull(points: Array) -> Array:
    """Convex hull of points (n, 2), counter-clockwise; the ends of what is flat."""
    try:
        return points[ConvexHull(points).vertices]
    except QhullError:
        order = np.lexsort(points.T[::-1])
        return points[order[[0, -1]]]
