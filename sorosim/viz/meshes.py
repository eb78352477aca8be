"""Pieces of a scene as meshes (pyvista): surfaces of the robot, frames, trails, the floor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sorosim.viz.camera import grid_step, level_axes
from sorosim.viz.geometry import Part
from sorosim.viz.offscreen import load_pyvista

Array = NDArray[np.float64]

AXIS_COLOURS = ((213, 94, 0), (0, 158, 115), (0, 114, 178))  # of x, y, z
TRAIL_COLOURS = ((136, 46, 114), (0, 158, 115), (86, 180, 233), (230, 159, 0), (204, 121, 167), (48, 52, 58))


class Surface:
    """Some parts of the robot as one mesh."""

    def __init__(self, parts: Sequence[Part], n_points: int) -> None:
        pyvista = load_pyvista()
        self.index = np.concatenate([np.arange(part.points.start, part.points.stop) for part in parts])
        self._owner = np.repeat(np.arange(len(parts)), [part.points.stop - part.points.start for part in parts])
        self._n_parts = len(parts)
        new = np.zeros(n_points, dtype=np.int64)
        new[self.index] = np.arange(len(self.index))
        faces = new[np.concatenate([part.faces for part in parts])]
        self.mesh = pyvista.PolyData.from_regular_faces(np.zeros((len(self.index), 3)), faces)
        self.mesh.point_data.active_normals = np.tile([0.0, 0.0, 1.0], (len(self.index), 1))
        self.mesh.point_data["value"] = np.zeros(len(self.index))

    def update(self, points: Array, normals: Array | None = None) -> None:
        """Take points and normals from those of all parts."""
        self.mesh.points[:] = points[self.index]
        self.mesh.GetPoints().Modified()
        if normals is not None:
            self.mesh.point_data.active_normals[:] = normals[self.index]
            self.mesh.GetPointData().GetNormals().Modified()

    def paint(self, values: Array) -> None:
        """Give each point a number, for its colour, from those of all points; or from one of each part."""
        mine = values[self._owner] if len(values) == self._n_parts else values[self.index]
        self.mesh.point_data["value"][:] = mine
        self.mesh.GetPointData().GetArray("value").Modified()


class Frames:
    """Frames at stations as lines of three colours."""

    def __init__(self, stations: ArrayLike) -> None:
        pyvista = load_pyvista()
        self._stations, self.length = np.array(stations, dtype=np.int64), 0.1
        n = 3 * len(self._stations)
        lines = np.stack([np.full(n, 2), 2 * np.arange(n), 2 * np.arange(n) + 1], axis=1)
        self.mesh = pyvista.PolyData(np.zeros((2 * n, 3)), lines=lines.ravel())
        self.mesh.cell_data["colour"] = np.tile(AXIS_COLOURS, (len(self._stations), 1)).astype(np.uint8)

    def update(self, g: Array) -> None:
        """Take the poses from those of all stations (n, 4, 4)."""
        at = g[self._stations]
        origin = np.broadcast_to(at[:, None, :3, 3], (len(at), 3, 3))
        ends = origin + self.length * np.swapaxes(at[:, :3, :3], 1, 2)
        self.mesh.points[:] = np.stack([origin, ends], axis=2).reshape(-1, 3)
        self.mesh.GetPoints().Modified()


class Trails:
    """Paths (n_times, n_tips, 3) of tips as lines, each in a colour of its own, or all in one (its code)."""

    def __init__(self, times: Array, paths: Array, colour: str = "") -> None:
        pyvista = load_pyvista()
        self._times, self._paths = times, np.concatenate([paths, paths[-1:]])  # the last is the present place
        n, m = self._paths.shape[:2]
        lines = np.column_stack([np.full(m, n), np.arange(n * m).reshape(m, n)])
        self.mesh = pyvista.PolyData(np.zeros((n * m, 3)), lines=lines.ravel())
        colours = [TRAIL_COLOURS[k % len(TRAIL_COLOURS)] for k in range(m)]
        if colour:
            red, green, blue = bytes.fromhex(colour[1:])
            colours = [(red, green, blue)] * m
        self.mesh.cell_data["colour"] = np.array(colours, dtype=np.uint8)

    def update(self, t: float, tips: Array) -> None:
        """Draw them up to time t, where the tips (n_tips, 3) are."""
        points = self._paths.copy()
        points[np.searchsorted(self._times, t, side="right") :] = tips
        self.mesh.points[:] = np.swapaxes(points, 0, 1).reshape(-1, 3)
        self.mesh.GetPoints().Modified()


class FloorPlan(NamedTuple):
    """A level grid below a robot, in two horizontal axes and the vertical."""

    height: float  # [m]
    step: float  # of the grid [m]
    size: float  # largest extent of what stands on it [m]
    low: Array  # (2,) corners [m]
    high: Array
    lines: Array  # (n, 2 ends, 3)


def floor_of(points: Array, up: Array) -> FloorPlan:
    """The floor below points (n, 3), across the vertical ``up``."""
    local = points @ np.stack([*level_axes(up), up]).T
    least, most = local.min(axis=0), local.max(axis=0)
    size = float((most - least).max()) or 1.0
    height, step = float(least[2]) - 0.04 * size, grid_step(size)
    first, last = np.floor(least[:2] / step - 0.3), np.ceil(most[:2] / step + 0.3)
    (x0, y0), (x1, y1) = step * first, step * last
    xs, ys = (step * np.arange(first[k], last[k] + 0.5) for k in range(2))
    flat = [((x, y0), (x, y1)) for x in xs] + [((x0, y), (x1, y)) for y in ys]
    lines = np.pad(np.array(flat), ((0, 0), (0, 0), (0, 1)), constant_values=height)
    return FloorPlan(height, step, size, step * first, step * last, lines)


class Floor:
    """A plane with a grid, below points (n, 3), across the vertical ``up``."""

    def __init__(self, points: Array, up: Array) -> None:
        pyvista, plan = load_pyvista(), floor_of(points, up)
        frame = np.stack([*level_axes(up), up])
        self._up, self._size, self.height, self.step = up, plan.size, plan.height, plan.step
        # shadow, grid and plane lie a hair's breadth below each other
        below = plan.size * up
        self.grid = pyvista.line_segments_from_points(plan.lines.reshape(-1, 3) @ frame - 0.001 * below)
        (x0, y0), (x1, y1), z = plan.low, plan.high, plan.height
        corners = np.array([(x0, y0, z), (x1, y0, z), (x1, y1, z), (x0, y1, z)]) @ frame - 0.002 * below
        self.plane = pyvista.PolyData.from_regular_faces(corners, np.array([[0, 1, 2, 3]]))

    def shadow(self, points: Array, below: float = 0.0) -> Array:
        """Points (n, 3) cast straight down onto the floor, or a little below it (relative to what is seen)."""
        return points + (self.height - below * self._size - points @ self._up)[:, None] * self._up
