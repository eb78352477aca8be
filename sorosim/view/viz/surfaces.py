"""Surfaces of rigid bodies and obstacles as triangles."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import ModelError
from sorosim.mechanics.loads.contact import Contact
from sorosim.mechanics.model.body import Assembly, RigidBody, Solid
from sorosim.mechanics.model.link import WORLD, Link
from sorosim.mechanics.model.mesh import Mesh
from sorosim.mechanics.model.obstacle import Bowl, HalfSpace, HeightField, Pipe, Plane, Pole
from sorosim.mechanics.model.shape import Capsule, Cone, Cylinder, Ellipsoid, Shape, Sphere
from sorosim.mechanics.robot import Robot

FLATTEST = 0.03  # of a body's ellipsoid, in its longest axes: a flat body is still visible
STEEL = 7850.0  # kg/m^3: point masses are drawn as balls of it
LIGHTEST = 500.0  # kg/m^3: bodies of which only mass and inertia are known are drawn no lighter, as parts seldom are
TIP_ROWS = 6  # of points along a cone
EDGE_ANGLE = np.deg2rad(35.0)  # triangles that meet at a larger angle have an edge between them


class Triangles(NamedTuple):
    """A surface."""

    points: Array  # (n, 3) [m]
    normals: Array  # (n, 3) unit normals, outwards
    faces: IntArray  # (m, 3) counter-clockwise from outside
    convex: bool = True
    colour: str = ""  # code, "" for that of rigid bodies

    def transformed(self, g: Array, colour: str = "") -> Triangles:
        """The same at a pose (4, 4), in a colour."""
        R = g[:3, :3]
        return Triangles(self.points @ R.T + g[:3, 3], self.normals @ R.T, self.faces, self.convex, colour)

    def scaled(self, factors: Array) -> Triangles:
        """The same with its axes stretched."""
        normals = self.normals / factors
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        return self._replace(points=self.points * factors, normals=normals)


def link_surfaces(link: Link, n_around: int) -> Iterator[Triangles]:
    """What is drawn of a link that is no rod: its visuals, or else the parts of its body."""
    if link.visual is not None:
        for visual in link.visual:
            yield shape_surface(visual.shape, n_around).transformed(visual.at, visual.code)
    elif isinstance(link.body, RigidBody):
        yield from _body_surfaces(link.body, n_around)


def _body_surfaces(body: RigidBody, n_around: int) -> Iterator[Triangles]:
    if not isinstance(body, Assembly):
        if not np.any(body.inertia):
            g = np.eye(4)
            g[:3, 3] = body.centre
            yield _ball(n_around).scaled(np.full(3, _steel_radius(body.mass))).transformed(g)
            return
        yield inertia_ellipsoid(body, n_around)
        return
    for part in body.parts:
        if isinstance(part, Solid):
            yield shape_surface(part.shape, n_around).transformed(part.at)
        else:
            yield from _body_surfaces(part, n_around)


def _steel_radius(mass: float) -> float:
    """Radius of a ball of steel, as which a point mass is drawn [m]."""
    return float(np.cbrt(3.0 * mass / (4.0 * np.pi * STEEL)))


def inertia_ellipsoid(body: RigidBody, n_around: int) -> Triangles:
    """The homogeneous ellipsoid of a body's mass, centre and inertia; of its shape only, where that is very light."""
    moments, axes = np.linalg.eigh(body.rotational_inertia)
    # I_1 = m (b^2 + c^2) / 5 and so on
    half = np.sqrt(np.maximum(2.5 / body.mass * (moments.sum() - 2.0 * moments), 0.0))
    half = np.maximum(half, FLATTEST * half.max())
    half *= min(1.0, float(np.cbrt(3.0 * body.mass / (4.0 * np.pi * LIGHTEST * half.prod()))))
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = axes[:, ::-1] * [1.0, 1.0, -np.linalg.det(axes)], body.centre  # poles on the longest axis
    return _ball(n_around).scaled(half[::-1]).transformed(g)


def shape_surface(shape: Shape, n_around: int) -> Triangles:
    """The surface of a shape in its own frame; round ones have `n_around` points around.

    Cylinders have twice as many: their outlines show the corners, and coaxial ones touch.
    """
    if isinstance(shape, Mesh):
        return _mesh(shape)
    if isinstance(shape, Sphere):
        return _ball(n_around).scaled(np.full(3, shape.radius))
    if isinstance(shape, Ellipsoid):
        return _ball(n_around).scaled(np.array(shape.radii))
    if not isinstance(shape, Cylinder | Cone | Capsule):
        from trimesh import Trimesh
        from trimesh.creation import box

        surface = shape.surface(n_around)
        return _sharp_edged(box(2.0 * shape.half_extents) if surface is None else Trimesh(*surface), surface is None)
    r, h = shape.radius, 0.5 * shape.length
    if isinstance(shape, Capsule):
        arc = _arc(n_around)
        ends = [arc[arc[:, 1] <= 0.0], np.flip(arc[arc[:, 1] <= 0.0], axis=0) * [1.0, -1.0]]
        line = np.concatenate([r * ends[0] - [0.0, h], r * ends[1] + [0.0, h]])
        return revolved([(line, np.concatenate(ends))], n_around)
    base = np.array([[0.0, -h], [r, -h]])
    if isinstance(shape, Cone):
        # triangles that end in the tip are shaded unevenly: they are kept small
        left = np.append(0.5 ** np.arange(TIP_ROWS), 0.0)[:, None]
        lines = [base, left * [r, -2.0 * h] + [0.0, h]]
    else:
        lines, n_around = [base, np.array([[r, -h], [r, h]]), np.array([[r, h], [0.0, h]])], 2 * n_around
    return revolved([(line, _across(line)) for line in lines], n_around)


def _across(line: Array) -> Array:
    """Normals (m, 2) of a straight line (m, 2) of r and z, to the right of its direction."""
    r, z = (line[-1] - line[0]) / np.linalg.norm(line[-1] - line[0])
    return np.tile([z, -r], (len(line), 1))


def _arc(n_around: int) -> Array:
    """Points (r, z) of half a circle of radius 1 from its lowest point up, one of them at z = 0."""
    angle = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 2 * (n_around // 4) + 1)
    arc = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    arc[[0, -1], 0], arc[len(arc) // 2, 1] = 0.0, 0.0
    return arc


def _ball(n_around: int) -> Triangles:
    """A sphere of radius 1 with its poles on the z axis."""
    arc = _arc(n_around)
    return revolved([(arc, arc)], n_around)


def revolved(pieces: list[tuple[Array, Array]], n_around: int) -> Triangles:
    """Surface of revolution about z of lines (m, 2) of r and z, which go upwards, with their normals (m, 2)."""
    angle = 2.0 * np.pi * np.arange(n_around) / n_around
    around = np.stack([np.cos(angle), np.sin(angle), np.ones(n_around)], axis=1)
    line, normal = (np.concatenate(tables) for tables in zip(*pieces, strict=True))
    points, normals = ((table[:, None, [0, 0, 1]] * around).reshape(-1, 3) for table in (line, normal))
    ends = np.cumsum([len(piece) for piece, _ in pieces]) - 1
    k, faces = np.arange(n_around), list[IntArray]()
    after = np.roll(k, -1)
    for i in np.setdiff1d(np.arange(len(line)), ends):
        low, high = n_around * i, n_around * (i + 1)
        # a row on the axis is one point: its triangles have no area
        if line[i, 0] > 0.0:
            faces.append(np.stack([low + k, low + after, high + after], axis=1))
        if line[i + 1, 0] > 0.0:
            faces.append(np.stack([low + k, high + after, high + k], axis=1))
    return Triangles(points, normals, np.concatenate(faces))


def _mesh(mesh: Mesh) -> Triangles:
    """A mesh, smooth but for its edges; a surface that is not closed is drawn from both sides."""
    from trimesh import Trimesh

    points, normals, faces, *_ = surface = _sharp_edged(Trimesh(mesh.vertices, mesh.faces, process=False), False)
    try:
        _ = mesh.moments
    except ModelError:
        back = len(points) + faces[:, ::-1]
        points, normals = np.tile(points, (2, 1)), np.concatenate([normals, -normals])
        return Triangles(points, normals, np.concatenate([faces, back]), False)
    return surface


def _sharp_edged(mesh: Any, convex: bool = True) -> Triangles:
    """The surface of a trimesh, smooth but for its edges."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from trimesh import Trimesh

    adjacent = mesh.face_adjacency[mesh.face_adjacency_angles < EDGE_ANGLE]
    graph = coo_array((np.ones(len(adjacent)), adjacent.T), shape=(len(mesh.faces),) * 2)
    _, group = connected_components(graph, directed=False)
    # a vertex becomes one point for each smooth group of triangles around it
    corners = np.stack([mesh.faces, np.tile(group[:, None], 3)], axis=-1).reshape(-1, 2)
    kinds, index = np.unique(corners, axis=0, return_inverse=True)
    points, faces = np.array(mesh.vertices)[kinds[:, 0]], index.reshape(-1, 3).astype(np.int64)
    return Triangles(points, np.array(Trimesh(points, faces, process=False).vertex_normals), faces, convex)


# -- obstacles -----------------------------------------------------------------------------------------------------

STONE, GLASS, GLASS_OPACITY = "#b9b29f", "#8fb3c9", 0.28
OBSTACLE_AROUND = 72  # points around obstacles
LEVEL = 1.0 - 1e-6  # cosine of the angle to the vertical of what is level
FINE = 60  # points along the longer side of a height field


class Obstacle(NamedTuple):
    """What the robot may touch, in the world."""

    points: Array  # (n, 3) [m]
    normals: Array  # (n, 3)
    faces: IntArray  # (m, 3)
    colour: str  # code
    opacity: float
    framed: bool  # whether a picture must show all of it


def grounds(robot: Robot, up: Array) -> list[float]:
    """Heights of the level half spaces that a robot may touch, along a vertical [m]."""
    contacts = (load for load in robot.description.loads.values() if isinstance(load, Contact))
    surfaces = (one for contact in contacts for one in contact.surfaces if isinstance(one.shape, HalfSpace))
    return [float(one.at[:3, 3] @ up) for one in surfaces if one.link == WORLD and one.at[:3, 2] @ up > LEVEL]


def obstacles(robot: Robot, points: Array) -> Iterator[Obstacle]:
    """Obstacles of the world; endless ones are cut off around points (n, 3) of the robot."""
    if not robot.engine.loading.touches:
        return
    middle, size = 0.5 * (points.min(axis=0) + points.max(axis=0)), float(np.ptp(points, axis=0).max()) or 1.0
    contacts = (load for load in robot.description.loads.values() if isinstance(load, Contact))
    for surface in (surface for contact in contacts for surface in contact.surfaces if surface.link == WORLD):
        mesh, transparent, framed = _obstacle_mesh(surface.shape, surface.at, middle, size)
        mesh = mesh.transform(surface.at, inplace=False).triangulate()
        mesh = mesh.compute_normals(cell_normals=False, split_vertices=not transparent)
        corners, normals = (np.asarray(x, dtype=float) for x in (mesh.points, mesh.point_data["Normals"]))
        paint = (GLASS, GLASS_OPACITY) if transparent else (STONE, 1.0)
        yield Obstacle(corners, normals, np.asarray(mesh.regular_faces, dtype=np.int64), *paint, framed)


def _obstacle_mesh(shape: Any, at: Array, middle: Array, size: float) -> tuple[Any, bool, bool]:
    """An obstacle in its own frame, whether it is transparent, and whether a picture must show all of it."""
    pv: Any = import_module("pyvista")  # meshes alone need no OpenGL

    local = at[:3, :3].T @ (middle - at[:3, 3])
    if isinstance(shape, HalfSpace | Plane):
        flat = {"center": (local[0], local[1], 0.0), "i_size": 1.5 * size, "j_size": 1.5 * size}
        return pv.Plane(direction=(0.0, 0.0, 1.0), **flat), True, False
    if isinstance(shape, Pole | Pipe):
        length = getattr(shape, "length", None)
        ends: dict[str, Any] = {"height": length or 1.3 * size, "center": (0.0, 0.0, 0.0 if length else local[2])}
        inside = isinstance(shape, Pipe)
        tube = pv.Cylinder(
            direction=(0.0, 0.0, 1.0), radius=shape.radius, resolution=OBSTACLE_AROUND, capping=not inside, **ends
        )
        return tube, inside, inside
    if isinstance(shape, Bowl):
        # up to a little above the robot
        ball = pv.Sphere(radius=shape.radius, theta_resolution=OBSTACLE_AROUND, phi_resolution=OBSTACLE_AROUND)
        deep = min(max(float((local - 0.6 * size)[2]), -0.99 * shape.radius), 0.0)
        top = min(shape.radius, local[2] + 0.35 * size)
        return ball.clip(normal="z", origin=(0.0, 0.0, top), invert=True), True, deep < top
    if isinstance(shape, HeightField):
        return _terrain(shape), False, True
    solid = shape_surface(shape, OBSTACLE_AROUND)
    return pv.PolyData.from_regular_faces(solid.points, solid.faces), False, True


def _terrain(shape: HeightField) -> Any:
    """The surface of a height field through the splines of its contacts."""
    import pyvista
    from scipy.interpolate import make_interp_spline

    n = [max(FINE, 4 * m) for m in shape.heights.shape]
    heights, axes = shape.heights, []
    for axis, (extent, m, fine) in enumerate(zip(shape.size, shape.heights.shape, n, strict=True)):
        old, new = np.linspace(-0.5, 0.5, m) * extent, np.linspace(-0.5, 0.5, fine) * extent
        heights = make_interp_spline(old, heights, axis=axis, bc_type="natural")(new)
        axes.append(new)
    x, y = np.meshgrid(*axes, indexing="ij")
    return pyvista.StructuredGrid(x, y, heights).extract_surface(algorithm="dataset_surface")
