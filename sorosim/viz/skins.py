"""Surfaces of rigid bodies as triangles: of their shapes, or of the ellipsoid that has their inertia."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.errors import ModelError
from sorosim.model.body import Assembly, RigidBody, Solid
from sorosim.model.link import Link
from sorosim.model.mesh import Mesh
from sorosim.model.shape import Box, Capsule, Cone, Cylinder, Ellipsoid, Shape, Sphere

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

FLATTEST = 0.03  # of a body's ellipsoid, in its longest axes: what has no thickness is still seen
TIP_ROWS = 6  # of points along a cone
EDGE_ANGLE = np.deg2rad(35.0)  # triangles that meet at a larger angle have an edge between them


class Skin(NamedTuple):
    """Triangles in the frame of a link."""

    points: Array  # (n, 3) [m]
    normals: Array  # (n, 3) unit normals, outwards
    faces: IntArray  # (m, 3) counter-clockwise seen from outside
    convex: bool = True
    colour: str = ""  # code, "" for that of rigid bodies

    def placed(self, g: Array, colour: str = "") -> Skin:
        """The same at a pose (4, 4), in a colour."""
        R = g[:3, :3]
        return Skin(self.points @ R.T + g[:3, 3], self.normals @ R.T, self.faces, self.convex, colour)

    def stretched(self, factors: Array) -> Skin:
        """The same with its axes stretched."""
        normals = self.normals / factors
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        return self._replace(points=self.points * factors, normals=normals)


def link_skins(link: Link, n_around: int) -> Iterator[Skin]:
    """What is drawn of a link that is no rod: its visuals, or else the parts of its body."""
    if link.visual is not None:
        for visual in link.visual:
            yield shape_skin(visual.shape, n_around).placed(visual.at, visual.code)
    elif isinstance(link.body, RigidBody):
        yield from _body_skins(link.body, n_around)


def _body_skins(body: RigidBody, n_around: int) -> Iterator[Skin]:
    if not isinstance(body, Assembly):
        yield inertia_skin(body, n_around)
        return
    for part in body.parts:
        if isinstance(part, Solid):
            yield shape_skin(part.shape, n_around).placed(part.at)
        else:
            yield from _body_skins(part, n_around)


def inertia_skin(body: RigidBody, n_around: int) -> Skin:
    """The homogeneous ellipsoid of a body's mass, centre and inertia."""
    moments, axes = np.linalg.eigh(body.rotational_inertia)
    # I_1 = m (b^2 + c^2) / 5 and so on
    half = np.sqrt(np.maximum(2.5 / body.mass * (moments.sum() - 2.0 * moments), 0.0))
    half = np.maximum(half, FLATTEST * half.max())
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = axes[:, ::-1] * [1.0, 1.0, -np.linalg.det(axes)], body.centre  # poles on the longest axis
    return _ball(n_around).stretched(half[::-1]).placed(g)


def shape_skin(shape: Shape, n_around: int) -> Skin:
    """The surface of a shape in its own frame; round ones have `n_around` points around."""
    if isinstance(shape, Box):
        return _box(np.array(shape.size))
    if isinstance(shape, Mesh):
        return _mesh(shape)
    if isinstance(shape, Sphere):
        return _ball(n_around).stretched(np.full(3, shape.radius))
    if isinstance(shape, Ellipsoid):
        return _ball(n_around).stretched(np.array(shape.radii))
    assert isinstance(shape, Cylinder | Cone | Capsule)  # there are no others
    r, h = shape.radius, 0.5 * shape.length
    if isinstance(shape, Capsule):
        arc = _arc(n_around)
        ends = [arc[arc[:, 1] <= 0.0], np.flip(arc[arc[:, 1] <= 0.0], axis=0) * [1.0, -1.0]]
        line = np.concatenate([r * ends[0] - [0.0, h], r * ends[1] + [0.0, h]])
        return _revolved([(line, np.concatenate(ends))], n_around)
    base = np.array([[0.0, -h], [r, -h]]), np.array([[0.0, -1.0]] * 2)
    if isinstance(shape, Cone):
        slope = np.array([2.0 * h, r]) / np.hypot(2.0 * h, r)
        # triangles that end in the tip are shaded unevenly: they are kept small
        left = np.append(0.5 ** np.arange(TIP_ROWS), 0.0)[:, None]
        line = left * [r, -2.0 * h] + [0.0, h]
        return _revolved([base, (line, np.broadcast_to(slope, line.shape))], n_around)
    side = np.array([[r, -h], [r, h]]), np.array([[1.0, 0.0]] * 2)
    top = np.array([[r, h], [0.0, h]]), np.array([[0.0, 1.0]] * 2)
    return _revolved([base, side, top], n_around)


def _arc(n_around: int) -> Array:
    """Points (r, z) of half a circle of radius 1 from its lowest point up, one of them at z = 0."""
    angle = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 2 * (n_around // 4) + 1)
    arc = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    arc[[0, -1], 0], arc[len(arc) // 2, 1] = 0.0, 0.0
    return arc


def _ball(n_around: int) -> Skin:
    """A sphere of radius 1 with its poles on the z axis."""
    arc = _arc(n_around)
    return _revolved([(arc, arc)], n_around)


def _revolved(pieces: list[tuple[Array, Array]], n_around: int) -> Skin:
    """Surface of lines (m, 2) of r and z around the z axis, with their normals (m, 2); they go from below to above."""
    angle = 2.0 * np.pi * np.arange(n_around) / n_around
    around = np.stack([np.cos(angle), np.sin(angle), np.ones(n_around)], axis=1)
    k = np.arange(n_around)
    after = np.roll(k, -1)
    points: list[Array] = []
    normals: list[Array] = []
    faces: list[IntArray] = []
    size = 0
    for line, normal in pieces:
        for table, out in ((line, points), (normal, normals)):
            out.append((table[:, None, [0, 0, 1]] * around).reshape(-1, 3))
        for i in range(len(line) - 1):
            low, high = size + n_around * i, size + n_around * (i + 1)
            # a row on the axis is one point: its triangles have no area
            if line[i, 0] > 0.0:
                faces.append(np.stack([low + k, low + after, high + after], axis=1))
            if line[i + 1, 0] > 0.0:
                faces.append(np.stack([low + k, high + after, high + k], axis=1))
        size += n_around * len(line)
    return Skin(np.concatenate(points), np.concatenate(normals), np.concatenate(faces))


def _box(size: Array) -> Skin:
    """Four points for each side, so that edges are sharp."""
    square = np.array([[-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1]])
    corners = np.concatenate([sign * np.roll(square, k, axis=1) for k in range(3) for sign in (1, -1)])
    normals = np.concatenate([np.tile(sign * np.eye(3)[k - 1], (4, 1)) for k in range(3) for sign in (1, -1)])
    first = 4 * np.arange(6)[:, None]
    # the mirror image goes round the other way
    turn = np.where(np.arange(6)[:, None] % 2, [0, 2, 1], [0, 1, 2])
    other = np.where(np.arange(6)[:, None] % 2, [0, 3, 2], [0, 2, 3])
    return Skin(0.5 * size * corners, normals, np.concatenate([first + turn, first + other]))


def _mesh(mesh: Mesh) -> Skin:
    """A mesh, smooth but for its edges; what is no closed surface is seen from either side."""
    points, normals, faces = _smooth(mesh.vertices, mesh.faces)
    try:
        _ = mesh.moments
    except ModelError:
        back = len(points) + faces[:, ::-1]
        return Skin(np.tile(points, (2, 1)), np.concatenate([normals, -normals]), np.concatenate([faces, back]), False)
    return Skin(points, normals, faces, False)


def _smooth(vertices: Array, faces: IntArray) -> tuple[Array, Array, IntArray]:
    """Points, normals and triangles; a vertex becomes one point for each group of triangles that edges part at it."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    corners = vertices[faces]
    ahead, behind = np.roll(corners, -1, axis=1) - corners, np.roll(corners, 1, axis=1) - corners
    across = np.cross(ahead, behind)
    angle = np.arctan2(np.linalg.norm(across, axis=2), np.einsum("kci,kci->kc", ahead, behind)).ravel()
    unit = across[:, 0] / np.maximum(np.linalg.norm(across[:, 0], axis=1, keepdims=True), 1e-300)

    # sides of triangles that are the same edge stand side by side
    corner = np.arange(faces.size)
    following = corner - corner % 3 + (corner + 1) % 3
    start, end = faces.ravel(), faces.ravel()[following]
    order = np.lexsort([np.maximum(start, end), np.minimum(start, end)])
    first, second = order[:-1], order[1:]
    pair = (start[first] == end[second]) & (end[first] == start[second])
    pair &= np.einsum("ki,ki->k", unit[first // 3], unit[second // 3]) > np.cos(EDGE_ANGLE)
    first, second = first[pair], second[pair]

    # corners of one vertex whose triangles have a smooth edge in common
    alike = np.concatenate([first, following[first]]), np.concatenate([following[second], second])
    graph = coo_array((np.ones(len(alike[0])), alike), shape=(faces.size, faces.size))
    n, group = connected_components(graph, directed=False)
    weighted = angle[:, None] * np.repeat(unit, 3, axis=0)
    normals = np.zeros((n, 3))
    np.add.at(normals, group, weighted)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    points = np.empty((n, 3))
    points[group] = vertices[start]
    return points, normals, group.reshape(-1, 3).astype(np.int64)
