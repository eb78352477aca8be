"""What a robot may touch: obstacles of the world."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.loads.contact import Contact, Surface
from sorosim.model.link import WORLD
from sorosim.model.obstacle import Bowl, HalfSpace, HeightField, Pipe, Plane, Pole
from sorosim.robot import Robot
from sorosim.viz.offscreen import load_meshes
from sorosim.viz.skins import shape_skin

Array = NDArray[np.float64]

STONE, GLASS, CLEAR = "#b9b29f", "#8fb3c9", 0.28  # and how opaque glass is
AROUND = 72  # points around obstacles
FINE = 60  # points along the longer side of a height field


def obstacles(robot: Robot) -> list[Surface]:
    """Surfaces of the world that the robot may touch."""
    contacts = (load for load in robot.description.loads.values() if isinstance(load, Contact))
    return [surface for contact in contacts for surface in contact.surfaces if surface.link == WORLD]


def obstacle_meshes(robot: Robot, seen: Array) -> Iterator[tuple[Any, bool, bool]]:
    """Mesh of each obstacle, whether it is seen through, and whether a picture must show all of it.

    seen (n, 3): points of the robot, by which endless ones are cut off.
    """
    middle, size = 0.5 * (seen.min(axis=0) + seen.max(axis=0)), float(np.ptp(seen, axis=0).max()) or 1.0
    for surface in obstacles(robot):
        mesh, clear, whole = _mesh(surface.shape, surface.at, middle, size)
        yield mesh.transform(surface.at, inplace=False), clear, whole


class Obstacle(NamedTuple):
    """What the robot may touch, in the world."""

    points: Array  # (n, 3) [m]
    normals: Array  # (n, 3)
    faces: NDArray[np.int64]  # (m, 3)
    clear: bool  # whether it is seen through
    held: bool  # whether a picture must show all of it


def standing(robot: Robot, seen: Array) -> Iterator[Obstacle]:
    """The obstacles as triangles, for files; seen as above."""
    if not robot.engine.loading.touches:
        return
    for mesh, clear, held in obstacle_meshes(robot, seen):
        flat = mesh.triangulate().compute_normals(cell_normals=False, split_vertices=not clear)
        points, normals = (np.asarray(x, dtype=float) for x in (flat.points, flat.point_data["Normals"]))
        yield Obstacle(points, normals, np.asarray(flat.regular_faces, dtype=np.int64), clear, held)


def _mesh(shape: Any, at: Array, middle: Array, size: float) -> tuple[Any, bool, bool]:
    """As above, in the frame of the obstacle."""
    pv = load_meshes()
    local = at[:3, :3].T @ (middle - at[:3, 3])
    if isinstance(shape, HalfSpace | Plane):
        flat = {"center": (local[0], local[1], 0.0), "i_size": 1.5 * size, "j_size": 1.5 * size}
        return pv.Plane(direction=(0.0, 0.0, 1.0), **flat), True, False
    if isinstance(shape, Pole | Pipe):
        length = getattr(shape, "length", None)
        ends: dict[str, Any] = {"height": length or 1.3 * size, "center": (0.0, 0.0, 0.0 if length else local[2])}
        inside = isinstance(shape, Pipe)
        tube = pv.Cylinder(
            direction=(0.0, 0.0, 1.0), radius=shape.radius, resolution=AROUND, capping=not inside, **ends
        )
        return tube, inside, inside
    if isinstance(shape, Bowl):
        # the part of it that holds something
        ball = pv.Sphere(radius=shape.radius, theta_resolution=AROUND, phi_resolution=AROUND)
        deep = min(max(float((local - 0.6 * size)[2]), -0.99 * shape.radius), 0.0)
        top = min(shape.radius, local[2] + 0.35 * size)
        return ball.clip(normal="z", origin=(0.0, 0.0, top), invert=True), True, deep < top
    if isinstance(shape, HeightField):
        return _terrain(shape), False, True
    skin = shape_skin(shape, AROUND)
    return pv.PolyData.from_regular_faces(skin.points, skin.faces), False, True


def _terrain(shape: HeightField) -> Any:
    """The surface of a height field through the splines that contacts see."""
    from scipy.interpolate import make_interp_spline

    n = [max(FINE, 4 * m) for m in shape.heights.shape]
    heights, axes = shape.heights, []
    for axis, (extent, m, fine) in enumerate(zip(shape.size, shape.heights.shape, n, strict=True)):
        old, new = np.linspace(-0.5, 0.5, m) * extent, np.linspace(-0.5, 0.5, fine) * extent
        heights = make_interp_spline(old, heights, axis=axis, bc_type="natural")(new)
        axes.append(new)
    x, y = np.meshgrid(*axes, indexing="ij")
    return load_meshes().StructuredGrid(x, y, heights).extract_surface(algorithm="dataset_surface")
