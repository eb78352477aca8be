"""Shapes by triangles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from sorosim.base.arrays import Array, IntArray
from sorosim.base.complex_step import number_type
from sorosim.base.declare import INVALID, At, Declared, Quantity, Text, Type, Vector, Writer, key
from sorosim.base.declare.composite import TableOf
from sorosim.base.declare.types import is_list
from sorosim.base.errors import ModelError
from sorosim.base.validation import describe
from sorosim.mechanics.model.shape import Moments, Shape

FLAT = 1e-12  # a volume below this part of what its tetrahedra sum up to is rounding

_INSTEAD = "or give mass, centre and inertia, and the mesh in `visual`"
_OUTWARD = "faces that are counter-clockwise seen from outside"


class MeshScale(Type):
    """A length of the unit of a file, or three numbers for its axes, of which negative ones mirror."""

    def check(self, value: object) -> float | tuple[float, ...]:
        if not is_list(value):
            return Quantity("length", above=0.0).check(value)
        found = Vector("length").check(value)
        if 0.0 in found:
            raise ModelError(f"[{found.index(0.0)}]", "a length other than 0", "0")
        return found

    def shapes(self) -> tuple[Type, ...]:
        return Quantity("length", above=0.0), Vector("length")


@dataclass(frozen=True)
class MeshFile(Declared, title="Meshes from files"):
    """A mesh from a file."""

    file: str = key(
        Text("the path of a mesh file"),
        "Path of a file, STL, OBJ, PLY, OFF, GLB or DAE; relative to the file that it is written in.",
        "wedge.obj",
    )
    scale: Any = key(
        MeshScale(),
        "Length of the unit of that file; [x, y, z] of each axis, negative ones mirror.",
        "1 mm",
        default=1.0,
    )


@dataclass(frozen=True, eq=False)
class Mesh(Shape, kind="mesh", title="Meshes by triangles"):
    """What a surface of triangles encloses.

    To be drawn it may be any surface. To have mass it must be closed, all its faces counter-clockwise seen from
    outside; it may be of several pieces and have hollows inside. ``file``, ``scale`` and ``checksum`` (SHA-256) are
    those of the file that it was read from.
    """

    vertices: Array = key(TableOf(Vector("length")), "Points.", "[[0, 0, 0], [3 cm, 0, 0], [0, 3 cm, 0], [0, 0, 2 cm]]")
    faces: IntArray = key(
        TableOf(Vector("number")),
        "Triangles: three numbers of vertices each, from 0 on, counter-clockwise seen from outside.",
        "[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]",
    )
    _: KW_ONLY
    file: str = ""
    scale: float | tuple[float, ...] = 1.0
    checksum: str = ""

    @classmethod
    def read(cls, data: object, at: At) -> Any:
        if isinstance(data, Mapping) and not {"vertices", "faces"} & set(data):
            found = MeshFile.read(data, at)
            return INVALID if found is INVALID else at.scope.mesh(found, at)
        return super().read(data, at)

    def validate(self) -> None:
        vertices = _table("vertices", self.vertices, "points, an (n, 3) array of finite numbers [m]")
        faces = _table("faces", self.faces, "triangles, an (m, 3) array of whole numbers").real
        for name in ("file", "checksum"):
            if not isinstance(getattr(self, name), str):
                raise ModelError(name, "a text", describe(getattr(self, name)))
        try:
            self._set(scale=MeshScale().check(self.scale))
        except ModelError as error:
            raise error.inside("scale") from None
        n = len(vertices)
        wrong = np.flatnonzero(((faces < 0) | (faces >= n) | (faces % 1.0 != 0.0)).any(axis=1))
        if len(wrong):
            got = describe([float(k) for k in faces[wrong[0]]])
            raise ModelError(f"faces[{wrong[0]}]", f"three numbers of vertices, from 0 to {n - 1}", got)
        same = np.flatnonzero((faces == np.roll(faces, 1, axis=1)).any(axis=1))
        if len(same):
            got = describe([int(k) for k in faces[same[0]]])
            raise ModelError(f"faces[{same[0]}]", "three different vertices", got)
        for name, table in (("vertices", vertices), ("faces", faces.astype(np.int64))):
            table.setflags(write=False)
            self._set(**{name: table})

    def data(self, writer: Writer) -> Any:
        return writer.mesh(self)

    @property
    def half_extents(self) -> Array:
        return np.asarray(0.5 * np.ptp(self.vertices, axis=0))

    @cached_property
    def moments(self) -> Moments:
        """Volume, centroid and second moments; refused if the mesh encloses no volume."""
        self._check_closed()
        # tetrahedra over the faces, from a point amid them
        amid = self.vertices[self.faces].mean(axis=(0, 1))
        corners = self.vertices[self.faces] - amid
        volumes = np.linalg.det(corners) / 6.0
        self._check_outward(volumes.real)
        volume = volumes.sum()
        total = corners.sum(axis=1)
        centroid = volumes @ total / (4.0 * volume)
        squares = np.einsum("kci,kcj->kij", corners, corners) + total[:, :, None] * total[:, None, :]
        second = np.einsum("k,kij->ij", volumes, squares) / 20.0 - volume * np.outer(centroid, centroid)
        return Moments(volume, centroid + amid, second)

    def convex_hull(self, within: float = 0.01, most: int = 60) -> tuple[Mesh, float]:
        """A convex mesh of few of its corners, and by how much it is inside its convex hull at most [m].

        Corners are added where they are farthest outside, until none is by more than the part `within` of its least
        length (along its principal axes), or there are `most`. A flat one is refused (ModelError).
        """
        from scipy.spatial import ConvexHull, QhullError

        points = np.unique(self.vertices.real, axis=0)
        try:
            points = points[ConvexHull(points).vertices]
            axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]
            least = np.ptp(points @ axes.T, axis=0).min()
            signs = np.array(list(product((-1.0, 0.0, 1.0), repeat=3)))
            chosen = list(dict.fromkeys(np.argmax(points @ signs.T, axis=0).tolist()))
            while True:
                hull = ConvexHull(points[chosen])
                outside = (points @ hull.equations[:, :3].T + hull.equations[:, 3]).max(axis=1)
                outside[chosen] = 0.0
                worst = int(np.argmax(outside))
                if outside[worst] <= within * least or len(chosen) >= most:
                    break
                chosen.append(worst)
        except QhullError:
            raise ModelError("mesh", "a mesh with a volume, to be touched", "a flat one") from None
        order = np.full(len(chosen), -1)
        order[hull.vertices] = np.arange(len(hull.vertices))
        faces, corners = order[hull.simplices], points[chosen][hull.simplices]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        inwards = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0.0
        faces[inwards] = faces[inwards][:, ::-1]
        return Mesh(points[chosen][hull.vertices], faces), float(max(outside[worst], 0.0))

    def _check_closed(self) -> None:
        """Refuse a mesh that has open edges, or neighbours wound against each other."""
        _, balance, count = _edges(self.faces)
        n_open, n_against = int(np.sum(count % 2)), int(np.sum((count % 2 == 0) & (balance != 0)))
        if n_open:
            raise ModelError("mesh", "a closed surface", f"one with {n_open} open edges", f"close it, {_INSTEAD}")
        if n_against:
            got = f"{n_against} edges where neighbours are wound against each other"
            raise ModelError("mesh", "faces wound the same way", got, f"turn some of them round, {_INSTEAD}")

    def _check_outward(self, volumes: Array) -> None:
        """Refuse pieces of the surface that are wound inwards, but for hollows inside of others."""
        tiny, total = FLAT * float(np.abs(volumes).sum()), float(volumes.sum())
        if total <= tiny:
            flat = abs(total) <= tiny
            got, hint = ("none", _INSTEAD.removeprefix("or ")) if flat else (f"{total:.6g} m^3", "turn all faces round")
            raise ModelError("mesh", "a positive volume" if flat else _OUTWARD, got, hint)
        piece = _pieces(self.faces)
        own = np.bincount(piece, weights=volumes)
        low, high = (np.full((len(own), 3), sign * np.inf) for sign in (1.0, -1.0))
        for corner in self.faces.T:
            np.minimum.at(low, piece, self.vertices[corner].real)
            np.maximum.at(high, piece, self.vertices[corner].real)
        solid = own > 0.0
        astray = [
            k
            for k in np.flatnonzero(own < -tiny)
            if not ((low[solid] <= low[k]) & (high[solid] >= high[k])).all(axis=1).any()
        ]
        if astray:
            got = f"{len(astray)} of {len(own)} separate surfaces wound inwards"
            raise ModelError("mesh", _OUTWARD, got, "turn their faces round")


def _table(where: str, value: object, expected: str) -> Array:
    try:
        table = np.array(value, dtype=number_type())
    except (TypeError, ValueError):
        raise ModelError(where, expected, describe(value)) from None
    if table.ndim != 2 or table.shape[1] != 3 or not len(table):
        raise ModelError(where, expected, f"shape {table.shape}")
    if not np.isfinite(table).all():
        raise ModelError(where, expected, "one that is not finite")
    return table


def _edges(faces: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Edge of each side of the triangles (3 m,); of each edge its sides forth less those back, and all its sides."""
    start, end = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    key = np.minimum(start, end) * (faces.max() + 1) + np.maximum(start, end)
    _, edge, count = np.unique(key, return_inverse=True, return_counts=True)
    balance = np.bincount(edge, weights=np.where(start < end, 1, -1)).astype(np.int64)
    return edge, balance, count


def _pieces(faces: IntArray) -> IntArray:
    """Number of the connected piece that each triangle belongs to (m,)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edge, m = _edges(faces)[0], len(faces)
    side = np.repeat(np.arange(m), 3)
    size = m + int(edge.max()) + 1
    graph = coo_array((np.ones(3 * m), (side, m + edge)), shape=(size, size))
    _, label = connected_components(graph, directed=False)
    # edges are nodes of the graph too, each of a piece that has triangles
    return np.asarray(np.unique(label[:m], return_inverse=True)[1], dtype=np.int64)
