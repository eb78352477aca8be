"""Where a picture is taken from: presets, and the distance at which everything is as large as fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from sorosim.base.arrays import Array, IntArray
from sorosim.view.viz.checks import check_name

VIEW_ANGLE = 28.0  # vertical [deg]
# direction from the robot to the camera: along the first horizontal axis, to the back, up
VIEWS = {"iso": (0.75, -1.35, 0.75), "front": (1.0, 0.0, 0.0), "side": (0.0, -1.0, 0.0), "top": (0.0, 0.0, 1.0)}
DIRECTIONS = 200  # in which the farthest points are sought
LEAST_WIDTH, LEAST_PIXELS = 0.003, 1.5  # of rods and tendons: part of the picture's height, and pixels
AXES = "xyz"  # also names of views: along these axes of the world


def view_angle(zoom: float) -> float:
    """Vertical angle [deg] that a lens sees under which everything is so many times as large as without zoom."""
    return float(np.rad2deg(2.0 * np.arctan(np.tan(np.deg2rad(VIEW_ANGLE) / 2.0) / zoom)))


def least_width(height: float) -> float:
    """Width that rods and tendons have at least in a picture of a height [pixels], as a part of the height."""
    return max(LEAST_WIDTH, LEAST_PIXELS / height)


class Camera(NamedTuple):
    """Where the picture is taken from, world frame."""

    position: Array
    focus: Array
    up: Array

    def turned(self, centre: Array, axis: Array, angle: float) -> Camera:
        """The same turned by an angle [rad] about an axis through a centre."""
        position, focus = (turned(point, centre, axis, angle) for point in (self.position, self.focus))
        return Camera(position, focus, turned(self.up, np.zeros(3), axis, angle))

    def shifted(self, by: Array) -> Camera:
        """The same displaced."""
        return Camera(self.position + by, self.focus + by, self.up)

    def aimed(self, point: Array) -> Camera:
        """The same displaced across its line of sight, so that a point is in the middle of the picture."""
        sight = self.focus - self.position
        sight /= np.linalg.norm(sight)
        return Camera(point - ((point - self.position) @ sight) * sight, point, self.up)


def up_axis(gravity: Array) -> Array:
    """The axis of the world that is up: against gravity, z where there is none."""
    k = int(np.argmax(np.abs(gravity))) if np.any(gravity) else 2
    up = np.zeros(3)
    up[k] = -1.0 if gravity[k] > 0.0 else 1.0
    return up


def level_axes(up: Array) -> tuple[Array, Array]:
    """Two horizontal axes of the world, to the right and to the back: a right-handed frame with up as its third."""
    right = np.array([0.0, 1.0, 0.0]) if up[0] else np.array([1.0, 0.0, 0.0])
    return right, np.cross(up, right)


def check_view(view: str) -> str:
    """Return the name of a view, refusing unknown ones."""
    return check_name("view", view, (*VIEWS, *AXES), "the name of a view")


def level_view(view: str, up: Array) -> str:
    """The name among `VIEWS` of a view, which may be one along an axis of the world."""
    if view not in AXES:
        return view
    frame = np.stack([*level_axes(up), up])
    return ("front", "side", "top")[int(np.argmax(np.abs(frame[:, AXES.index(view)])))]


def camera_axes(up: Array, view: str) -> tuple[Array, Array, Array, Array]:
    """Unit vectors to the right, upwards and towards the eye in a view, and its vertical axis."""
    frame = np.stack([*level_axes(up), up])
    direction = VIEWS[level_view(view, up)]
    toward = np.array(direction) @ frame
    toward /= np.linalg.norm(toward)
    vertical: Array = frame[1] if direction == VIEWS["top"] else up
    x = np.cross(vertical, toward)
    x /= np.linalg.norm(x)
    return x, np.cross(toward, x), toward, vertical


def fit_camera(points: Array, up: Array, view: str, aspect: float, margins: Sequence[float]) -> Camera:
    """Camera that sees points (n, 3) as large as fits.

    Parameters
    ----------
    points : (n, 3) ndarray
        What must be visible, world frame [m].
    up : (3,) ndarray
        As from `up_axis`.
    view : str
        One of `VIEWS`, or of `AXES`.
    aspect : float
        Width over height of the picture.
    margins : four numbers
        What stays free at the left, right, bottom and top, as parts of the picture.
    """
    x, y, toward, vertical = camera_axes(up, view)

    # with the camera at (cx, cy, d) in these axes a point appears at ((X - cx), (Y - cy)) / (half (d - Z)): for each
    # border a bound on cx or cy that is linear in d, and the nearest d is where two opposite ones meet
    X, Y, Z = x @ points.T, y @ points.T, toward @ points.T
    half = np.tan(np.deg2rad(VIEW_ANGLE) / 2.0)
    size = float(np.linalg.norm(np.ptp(points, axis=0))) or 1.0
    nearest_d, bounds = float(Z.max()) + 0.3 * size, []
    for place, scale, low, high in ((X, half * aspect, *margins[:2]), (Y, half, *margins[2:])):
        a, b = scale * (1.0 - 2.0 * high), -scale * (1.0 - 2.0 * low)
        most, least = float((place + a * Z).max()), float((place + b * Z).min())
        nearest_d = max(nearest_d, (most - least) / (a - b))
        bounds.append((most, a, least, b))
    cx, cy = (0.5 * (most - a * nearest_d + least - b * nearest_d) for most, a, least, b in bounds)
    position = cx * x + cy * y + nearest_d * toward
    return Camera(position, position - (nearest_d - float(Z.mean())) * toward, vertical)


def farthest(points: Array) -> IntArray:
    """Indices of those of some points (n, 3) that are farthest in one of many directions."""
    # spread evenly over a sphere, by the golden angle
    k = np.arange(DIRECTIONS)
    z, angle = 1.0 - (2.0 * k + 1.0) / DIRECTIONS, np.pi * (3.0 - 5.0**0.5) * k
    level = np.sqrt(1.0 - z**2)
    directions = np.column_stack([level * np.cos(angle), level * np.sin(angle), z])
    return np.unique([np.argmax(points @ direction) for direction in directions]).astype(np.int64)


def largest(sets: Sequence[Array]) -> float:
    """Greatest extent [m] of one of several sets of points (n, 3), 1 where they have none."""
    return max(float(np.ptp(points, axis=0).max()) for points in sets) or 1.0


def round_up(value: float) -> float:
    """The next round number, 1, 2 or 5 times a power of ten, from a positive one on."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(power * next(k for k in (1.0, 2.0, 5.0, 10.0) if k * power >= value * (1.0 - 1e-9)))


def round_down(value: float) -> float:
    """The last round number, 1, 2 or 5 times a power of ten, up to a positive one."""
    power = 10.0 ** np.floor(np.log10(value * (1.0 + 1e-9)))
    return float(power * next(k for k in (5.0, 2.0, 1.0) if k * power <= value * (1.0 + 1e-9)))


def grid_step(length: float) -> float:
    """A round step that divides a length into some eight parts."""
    return round_up(max(length, 1e-9) / 8.0)


def turned(points: Array, centre: Array, up: Array, angle: float) -> Array:
    """Points (..., 3) turned by an angle [rad] about the vertical through a centre, counter-clockwise from above."""
    return np.asarray(centre + Rotation.from_rotvec(angle * up).apply(points - centre))
