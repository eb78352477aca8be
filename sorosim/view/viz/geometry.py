"""From a robot and its coordinates to surfaces: tubes of the rods' true sections, rigid bodies, tendons.

Every drawn point is fixed in a section of a rod or in a rigid body: its place in the world is a pose times a constant.
So the triangles never change with q, and a new picture is one look of the engine and one product.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import InputError
from sorosim.mechanics.actuation.tendon import Tendon
from sorosim.mechanics.model.layout import LinkLayout, Piece
from sorosim.mechanics.model.shape import Cylinder
from sorosim.mechanics.robot import Robot
from sorosim.view.viz.camera import farthest
from sorosim.view.viz.placing import place_points
from sorosim.view.viz.surfaces import link_surfaces, shape_surface

ROD, BODY, TENDON = "rod", "body", "tendon"

EDGE_ANGLE = np.deg2rad(40.0)  # an outline that turns by more at a point has an edge there
TENDON_SIZE = 0.045  # radius of a drawn tendon, in sizes of the thickest section that it runs through
TENDON_AROUND = 8
CAPPED = 8  # points around a rod from which on its ends are closed: where it has fewer it is a few pixels thick
LEAST_STATIONS = 8  # of each division of a rod, unless fewer are wanted of a whole rod
# the z axis of a cylinder along the x axis of a rod
ALONG_X = np.array([[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])


class Part(NamedTuple):
    """A closed surface of the picture; a rigid body has one for each of its shapes."""

    kind: str  # ROD, BODY or TENDON
    name: str  # of the link, or of the tendon's actuator
    points: slice  # its points among all
    faces: IntArray  # (m, 3) its triangles as indices of points, counter-clockwise from outside
    convex: bool = False  # surely; of a rod it may change
    colour: str = ""  # code of the colour of a body with an explicit colour


class Shape(NamedTuple):
    """A robot at some coordinates; the tables of its `Geometry` tell which row is what."""

    g: Array  # (n_stations, 4, 4) poses of the stations
    points: Array  # (n_points, 3) points of all parts [m], world frame
    normals: Array  # (n_points, 3) unit normals, outwards


class Geometry:
    """The picture of a robot, without colours.

    Parameters
    ----------
    robot : Robot
    n_stations : int
        Sections drawn along each rod, at least; ends of divisions and kinks of sizes are always among them.
    n_around : int
        Points around a section.
    tendons : bool
        Whether tendons are drawn.

    Attributes
    ----------
    parts : tuple of Part
    frames : dict of str to int
        Station of each link's frame.
    tips : dict of str to int
        Station of the tip of each link that carries no other.
    places : tuple of (str, float)
        Link and s of each station.
    station : (n_points,) array
        Station of each point.
    local, normal : (n_points, 3) arrays
        Each point and its normal in the frame of its station [m]; the true normal of a tube is `Shape.normals`.
    growth : (n_points, 3) array
        By how much each point moves, in the frame of its station, where the half-width of its rod or tendon grows by 1.
    half_width : (n_points,) array
        Half of the least width of the section of that rod or tendon [m]; infinite of all other points.
    centrelines : dict of str to (n,) array
        Stations of each rod, base to tip.
    rings : dict of str to (n, n_around) array
        Indices of the points around each of these stations.
    tendons : dict of str to ((n,), (n, 3))
        Of each tendon the stations it passes, and where: [0, y, z] in the section's frame [m].
    """

    def __init__(self, robot: Robot, n_stations: int = 40, n_around: int = 32, tendons: bool = True) -> None:
        for name, value, least in (("n_stations", n_stations, 2), ("n_around", n_around, 4)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(name, f"a whole number of {least} or more", repr(value))
        self.robot = robot
        self.centrelines: dict[str, IntArray] = {}
        self.rings: dict[str, IntArray] = {}
        self.tendons: dict[str, tuple[IntArray, Array]] = {}
        build = _Builder()
        self.frames = {link.name: int(build.stations(link.name, [0.0])[0]) for link in robot.links}
        parents = {link.parent for link in robot.links}
        leaves = [link.name for link in robot.links if link.name not in parents]
        self.tips = {name: int(build.stations(name, [1.0])[0]) for name in leaves}
        for link in robot.links:
            if link.rod is not None:
                layout = robot.engine.layout.links[link.name]
                tables = _add_rod(build, layout, n_stations, n_around)
                self.centrelines[link.name], self.rings[link.name] = tables
                build.end_part(ROD, link.name)
                _add_discs(build, layout, n_around)
                continue
            for surface in link_surfaces(link, n_around):
                index = build.points(self.frames[link.name], surface.points, surface.normals)
                build.triangles(*index[surface.faces.T])
                build.end_part(BODY, link.name, surface.convex, surface.colour)
        for name, actuator in robot.description.actuators.items():
            if tendons and isinstance(actuator, Tendon):
                self.tendons[name] = _add_tendon(build, robot, actuator, 2 * n_stations)
                build.end_part(TENDON, name)

        self.parts = tuple(build.parts)
        self.n_points = build.size
        self.places = tuple(build.places)
        self.station = np.concatenate([np.zeros(0, dtype=np.int64), *build.station])
        self.local = np.concatenate([np.zeros((0, 3)), *build.local])
        self.normal = np.concatenate([np.zeros((0, 3)), *build.normal])
        self.growth = np.concatenate([np.zeros((0, 3)), *build.growth])
        self.half_width = np.concatenate([np.zeros(0), *build.half_width])
        self._grid = np.concatenate([np.zeros((0, 5), dtype=np.int64), *build.grid])
        self._tiny = 1e-9 * float(np.abs(self.local).max(initial=0.0))
        self._look = robot.engine.places(self.places)

    def at(self, q: ArrayLike, least: ArrayLike = 0.0) -> Shape:
        """The robot at coordinates q (ndof,); for `least` see `shape`."""
        return self.shape(self.poses(q), least)

    def shape(self, g: Array, least: ArrayLike = 0.0) -> Shape:
        """The robot with its stations at poses g (n_stations, 4, 4).

        Sections of rods and tendons that are thinner grow to a half-width `least`: one, or one for each station [m].
        """
        points, normals = np.empty((self.n_points, 3)), np.empty((self.n_points, 3))
        place_points(
            np.ascontiguousarray(g, dtype=float), self.station, self.local, self.normal, self.growth, self.half_width,
            np.array(np.broadcast_to(least, len(g)), dtype=float), self._grid, self._tiny, points, normals,
        )  # fmt: skip
        return Shape(g, points, normals)

    def local_normals(self, g: Array) -> Array:
        """Normals (n_points, 3) in the frames of their stations, where these are at poses g."""
        return np.asarray(np.einsum("kji,kj->ki", g[self.station, :3, :3], self.shape(g).normals))

    def poses(self, q: ArrayLike) -> Array:
        """Poses (n_stations, 4, 4) of the stations."""
        return self.robot.engine.poses_at(self._look, self.robot.coordinates(q))[0]

    def some_points(self, q: ArrayLike, chosen: IntArray) -> Array:
        """Some of the points [m], world frame, by their indices (n,): less work than the whole shape."""
        return _placed(self.poses(q)[self.station[chosen]], self.local[chosen])

    @cached_property
    def outermost(self) -> IntArray:
        """Points that a picture must contain: of bodies the farthest ones, of the rest every seventh."""
        # seven is no divisor of the numbers around
        soft = [np.arange(p.points.start, p.points.stop) for p in self.parts if p.kind != BODY]
        bodies = [p.points.start + farthest(self.local[p.points]) for p in self.parts if p.kind == BODY]
        return np.concatenate([np.concatenate([np.zeros(0, dtype=np.int64), *soft])[::7], *bodies])

    def stations_of(self, kind: str) -> IntArray:
        """Stations of the points of parts of a kind."""
        points = [self.station[part.points] for part in self.parts if part.kind == kind]
        return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *points]))

    def tip_stations(self, links: Sequence[str] | None = None) -> IntArray:
        """Stations of the tips of rods or the frames of rigid links by name; default: of links that carry no other."""
        if links is None:
            return np.array(list(self.tips.values()), dtype=np.int64)
        stations = [self.centrelines[name][-1] if name in self.centrelines else self.frames[name] for name in links]
        return np.array(stations, dtype=np.int64)

    def ring_points(self, shape: Shape, rod: str) -> Array:
        """Points (n_stations, n_around, 3) of a rod's outer surface [m], world frame."""
        return shape.points[self.rings[rod]]

    def tendon_points(self, shape: Shape, tendon: str) -> Array:
        """Points (n, 3) of a tendon's line [m], world frame."""
        stations, d = self.tendons[tendon]
        return _placed(shape.g[stations], d)


def _placed(g: Array, points: Array) -> Array:
    """Points (n, 3), each given in the frame of its pose (n, 4, 4), in the world."""
    return np.asarray(np.einsum("kij,kj->ki", g[:, :3, :3], points) + g[:, :3, 3])


class _Block(NamedTuple):
    """Points and triangles of something at n stations, which are counted from 0, as are the points."""

    station: IntArray
    local: Array
    normal: Array
    growth: Array
    half_width: Array
    grid: IntArray
    faces: IntArray
    ring: IntArray  # (n, n_around) points around it


class _Builder:
    """Collects stations, and points that are fixed in them."""

    def __init__(self) -> None:
        self.places: dict[tuple[str, float], int] = {}  # link and s -> station
        self.station: list[IntArray] = []
        self.local: list[Array] = []
        self.normal: list[Array] = []
        self.growth: list[Array] = []
        self.half_width: list[Array] = []
        self.grid: list[IntArray] = []  # rows: point, its neighbours around (two) and along (two)
        self.parts: list[Part] = []
        self.size = 0
        self._faces: list[IntArray] = []

    def end_part(self, kind: str, name: str, *more: Any) -> None:
        """What was added since the last one is a part."""
        start = self.parts[-1].points.stop if self.parts else 0
        self.parts.append(Part(kind, name, slice(start, self.size), np.concatenate(self._faces), *more))
        self._faces = []

    def block(self, ring: IntArray) -> _Block:
        """What was added, with indices of the points around it."""
        return _Block(
            np.concatenate(self.station), np.concatenate(self.local), np.concatenate(self.normal),
            np.concatenate(self.growth), np.concatenate(self.half_width),
            np.concatenate([np.zeros((0, 5), dtype=np.int64), *self.grid]),
            np.concatenate(self._faces), ring,
        )  # fmt: skip

    def add(self, block: _Block, stations: IntArray) -> IntArray:
        """Add a block at stations (n,); returns the indices of the points around it (n, n_around)."""
        self.station.append(stations[block.station])
        self.local.append(block.local)
        self.normal.append(block.normal)
        self.growth.append(block.growth)
        self.half_width.append(block.half_width)
        self.grid.append(block.grid + self.size)
        self._faces.append(block.faces + self.size)
        ring = block.ring + self.size
        self.size += len(block.local)
        return ring

    def stations(self, link: str, s: ArrayLike) -> IntArray:
        """Indices (n,) of the stations at s (n,) of a link; those that are not there yet are added."""
        places = [(link, float(value)) for value in np.clip(np.atleast_1d(np.asarray(s, dtype=float)), 0.0, 1.0)]
        return np.array([self.places.setdefault(place, len(self.places)) for place in places], dtype=np.int64)

    def points(
        self, station: ArrayLike, local: Array, normal: Array, growth: ArrayLike = 0.0, half_width: ArrayLike = np.inf
    ) -> IntArray:
        """Add points of shape (..., 3), of something with half a width (...); returns their indices (...)."""
        shape = local.shape[:-1]
        count = int(np.prod(shape))
        self.station.append(np.broadcast_to(station, shape).reshape(count).astype(np.int64))
        self.local.append(local.reshape(count, 3))
        self.normal.append(np.broadcast_to(normal, local.shape).reshape(count, 3))
        self.growth.append(np.broadcast_to(growth, local.shape).reshape(count, 3))
        self.half_width.append(np.broadcast_to(half_width, shape).reshape(count))
        self.size += count
        return np.arange(self.size - count, self.size, dtype=np.int64).reshape(shape)

    def triangles(self, a: ArrayLike, b: ArrayLike, c: ArrayLike) -> None:
        """Add triangles of points a, b, c, arrays of one shape."""
        corners = np.stack([np.ravel(x) for x in np.broadcast_arrays(a, b, c)], axis=1)
        self._faces.append(corners.astype(np.int64))

    def strips(self, index: IntArray, pairs: IntArray, outwards: bool = True) -> None:
        """Add faces between rows of points (n, m), over pairs of columns; around crossed with along is outwards."""
        a, b = pairs.T if outwards else pairs.T[::-1]
        self.triangles(index[:-1, a], index[:-1, b], index[1:, b])
        self.triangles(index[:-1, a], index[1:, b], index[1:, a])


# -- rods --------------------------------------------------------------------------------------------------------


class _Columns(NamedTuple):
    """Points around a tube: those of the outline, twice where it has an edge, so that each side has its own normal."""

    outline: IntArray  # (m,) point of the outline
    left: IntArray  # (m,) neighbouring columns on the same side
    right: IntArray
    pairs: IntArray  # (n, 2) neighbours that a face joins


def _columns(outline: Array) -> _Columns:
    n = len(outline)
    edge = np.roll(outline, -1, axis=0) - outline
    before = np.roll(edge, 1, axis=0)
    turn = np.arctan2(before[:, 0] * edge[:, 1] - before[:, 1] * edge[:, 0], np.sum(before * edge, axis=1))
    corners = np.flatnonzero(np.abs(turn) > max(EDGE_ANGLE, 2.5 * 2.0 * np.pi / n))
    k = np.arange(n, dtype=np.int64)
    if len(corners) == 0:
        return _Columns(k, np.roll(k, 1), np.roll(k, -1), np.stack([k, np.roll(k, -1)], axis=1))
    parts: list[IntArray] = []
    for first, last in zip(corners, np.append(corners[1:], corners[0] + n), strict=True):
        inside, at = np.arange(first, last + 1) % n, sum(len(part) for part in parts) + np.arange(last - first + 1)
        parts.append(np.stack([inside, np.maximum(at - 1, at[0]), np.minimum(at + 1, at[-1])], axis=1))
    table = np.concatenate(parts)
    joined = np.flatnonzero(table[:, 2] > np.arange(len(table)))
    return _Columns(table[:, 0], table[:, 1], table[:, 2], np.stack([joined, joined + 1], axis=1))


def _growth(outline: Array) -> tuple[Array, Array]:
    """How points of sections (n, n_around, 2) move as these get thicker (n_around, 2), and least half-widths (n,).

    A section grows along its two principal axes, by the same length at its outermost points.
    """
    widest = outline[np.argmax(np.ptp(outline, axis=1).max(axis=1))]
    axes = np.linalg.svd(widest - widest.mean(axis=0))[2]
    along = widest @ axes.T
    low, high = along.min(axis=0), along.max(axis=0)
    relative = (along - 0.5 * (low + high)) / np.maximum(0.5 * (high - low), 1e-300)
    return relative @ axes, 0.5 * np.ptp(outline @ axes.T, axis=1).min(axis=1)


def _add_tube(
    build: _Builder, stations: IntArray, outline: Array, outwards: bool, growth: Array, half_width: Array
) -> IntArray:
    """Add the surface through outlines (n, n_around, 2) at stations (n,); returns its points' indices (n, n_around)."""
    rows = np.arange(len(stations))
    widest = outline[np.argmax(np.ptp(outline, axis=1).max(axis=1))]
    columns = _columns(widest)
    sign = 1.0 if outwards else -1.0
    t = widest[columns.outline[columns.right]] - widest[columns.outline[columns.left]]
    t = t / np.maximum(np.linalg.norm(t, axis=1), 1e-300)[:, None]
    normal = sign * np.stack([np.zeros(len(t)), t[:, 1], -t[:, 0]], axis=1)
    local = np.insert(outline[:, columns.outline], 0, 0.0, axis=2)
    outer = np.insert(growth[columns.outline], 0, 0.0, axis=1)
    index = build.points(stations[:, None], local, normal, outer, half_width[:, None])
    sides = (columns.left, columns.right) if outwards else (columns.right, columns.left)
    neighbours = [index[:, side] for side in sides]
    neighbours += [index[np.maximum(rows - 1, 0)], index[np.minimum(rows + 1, rows[-1])]]
    build.grid.append(np.stack([index, *neighbours], axis=-1).reshape(-1, 5))
    build.strips(index, columns.pairs, outwards)
    first = np.array([np.flatnonzero(columns.outline == k)[0] for k in range(outline.shape[1])])
    return index[:, first]


def _add_cap(
    build: _Builder, station: int, outer: Array, holes: list[Array], tip: bool, growth: Array, half_width: float
) -> None:
    """Close a tube at a station: a disk, a ring around a hole, or what several leave; outlines (n_around, 2)."""
    normal = np.array([1.0 if tip else -1.0, 0.0, 0.0])
    if len(holes) > 1 or any(np.abs(hole.mean(axis=0)).max() > 1e-9 * np.abs(outer).max() for hole in holes):
        lines = [outer, *holes]
        points = np.concatenate(lines)
        grown = np.zeros((len(points), 3))
        grown[: len(outer), 1:] = growth
        index = build.points(station, np.insert(points, 0, 0.0, axis=1), normal, grown, half_width)
        corners = _between(lines)
        build.triangles(*index[corners if tip else corners[:, ::-1]].T)
        return
    rings = [outer, holes[0] if holes else np.broadcast_to(outer.mean(axis=0), outer.shape)]
    grown = np.insert(np.stack([growth, np.zeros_like(growth)]), 0, 0.0, axis=2)
    index = build.points(station, np.insert(np.stack(rings), 0, 0.0, axis=2), normal, grown, half_width)
    k = np.arange(outer.shape[0])
    following = np.roll(k, -1)
    # around crossed with inwards points to the base: reversed at the tip
    build.strips(index, np.stack([k, following], axis=1), outwards=tip)


def _between(lines: list[Array]) -> IntArray:
    """Triangles (m, 3), counter-clockwise, of the points of an outline and of holes in it, all of them convex."""
    from scipy.spatial import Delaunay

    points = np.concatenate(lines)
    corners = Delaunay(points).simplices
    middle = points[corners].mean(axis=1)
    for hole in lines[1:]:
        side = np.roll(hole, -1, axis=0) - hole
        to = middle[:, None] - hole
        outside = (side[:, 0] * to[:, :, 1] - side[:, 1] * to[:, :, 0] < 0.0).any(axis=1)
        corners, middle = corners[outside], middle[outside]
    a, b, c = points[corners].swapaxes(0, 1)
    turn = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    return np.where(turn[:, None] > 0.0, corners, corners[:, ::-1]).astype(np.int64)


@lru_cache(maxsize=128)
def _tube(shape: tuple[int, ...], outer: bytes, holes: tuple[bytes, ...]) -> _Block:
    """A closed tube through outlines, arrays of a shape (n, n_around, 2): rods are often alike, or drawn again."""
    around, *inside = (np.frombuffer(one).reshape(shape) for one in (outer, *holes))
    growth, half_width = _growth(around)
    build, rows = _Builder(), np.arange(shape[0])
    ring = _add_tube(build, rows, around, True, growth, half_width)
    for inner in inside:
        _add_tube(build, rows, inner, False, np.zeros_like(growth), half_width)
    for k, tip in ((0, False), (-1, True)) if shape[1] >= CAPPED else ():
        cut = [inner[k] for inner in inside]
        _add_cap(build, int(rows[k]), around[k], cut, tip, growth, float(half_width[k]))
    return build.block(ring)


def _add_rod(build: _Builder, layout: LinkLayout, n_stations: int, n_around: int) -> tuple[IntArray, IntArray]:
    """Add a rod as closed tubes between the jumps of its section; returns the tables of its stations and rings."""
    lines: list[IntArray] = []
    rings: list[IntArray] = []
    pending: list[tuple[IntArray, Array, list[Array]]] = []

    def close() -> None:
        stations = np.concatenate([piece[0] for piece in pending])
        outer = np.concatenate([piece[1] for piece in pending])
        holes = [np.concatenate(parts) for parts in zip(*(piece[2] for piece in pending), strict=True)]
        lines.append(stations)
        block = _tube(outer.shape, outer.tobytes(), tuple(inner.tobytes() for inner in holes))
        rings.append(build.add(block, stations))
        pending.clear()

    length = float(layout.X[-1])
    for piece in layout.pieces:
        division = piece.division
        count = max(min(LEAST_STATIONS, n_stations), int(np.ceil(n_stations * division.length / length)))
        s = np.union1d(np.linspace(0.0, 1.0, count), division.section.breakpoints)
        X = s * division.length
        outer = division.section.outline(X, division.length, n_around)
        holes = division.section.inner_outlines(X, division.length, n_around)
        first = 0
        if pending:
            before = pending[-1][2]
            same = len(before) == len(holes) and all(map(_continue, before, holes))
            if same and _continue(pending[-1][1], outer):
                first = 1
            else:
                close()
        stations = build.stations(layout.link.name, (piece.start + X[first:]) / length)
        pending.append((stations, outer[first:], [inner[first:] for inner in holes]))
    close()
    return np.concatenate(lines), np.concatenate(rings)


def _add_discs(build: _Builder, layout: LinkLayout, n_around: int) -> None:
    """Add the spacer discs of a rod, each as a rigid part on its station."""
    length = float(layout.X[-1])
    for piece in layout.pieces:
        if (discs := piece.division.discs) is None:
            continue
        disc = shape_surface(Cylinder(discs.radius, discs.thickness), n_around).transformed(ALONG_X)
        for station in build.stations(layout.link.name, (piece.start + discs.places(piece.division.length)) / length):
            index = build.points(station, disc.points, disc.normals)
            build.triangles(*index[disc.faces.T])
            build.end_part(BODY, layout.link.name, disc.convex)


def _continue(before: Array, after: Array) -> bool:
    """Whether one outline goes on where another ends."""
    return bool(np.allclose(before[-1], after[0], rtol=0.0, atol=1e-9 * float(np.abs(before).max())))


# -- tendons -----------------------------------------------------------------------------------------------------


def _add_tendon(build: _Builder, robot: Robot, tendon: Tendon, n_stations: int) -> tuple[IntArray, Array]:
    """Add a thin tube along a tendon's route; returns the stations and the route there."""
    stations: list[IntArray] = []
    routes: list[Array] = []
    slopes: list[Array] = []
    size = 0.0
    for run in tendon.path:
        layout = robot.engine.layout.links[run.rod]
        length = float(layout.X[-1])
        for piece in layout.pieces:
            start, end = piece.start, piece.start + piece.division.length
            if not run.start * length < 0.5 * (start + end) < run.end * length:
                continue
            X = np.linspace(start, end, max(2, int(np.ceil(n_stations * (end - start) / length))))
            d, slope = run.route(layout, piece, X)
            size = max(size, _size(piece))
            inside = routes and start > run.start * length
            first = 1 if inside and np.allclose(routes[-1][-1], d[0], atol=1e-9 * size) else 0
            stations.append(build.stations(run.rod, X[first:] / length))
            routes.append(d[first:])
            slopes.append(slope[first:])
    at, d, slope = np.concatenate(stations), np.concatenate(routes), np.concatenate(slopes)
    build.add(_cable(d.tobytes(), slope.tobytes(), size), at)
    return at, d


@lru_cache(maxsize=128)
def _cable(route: bytes, slopes: bytes, size: float) -> _Block:
    """A thin tube along a route (n, 3) and its slopes, arrays: rings across it, closed by one of radius zero each."""
    d, slope = (np.frombuffer(one).reshape(-1, 3) for one in (route, slopes))
    tangent = slope + np.array([1.0, 0.0, 0.0])
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    e1 = np.cross([0.0, 0.0, 1.0], tangent)
    e1 /= np.linalg.norm(e1, axis=1, keepdims=True)
    e2 = np.cross(tangent, e1)
    angle = 2.0 * np.pi * np.arange(TENDON_AROUND) / TENDON_AROUND
    across = np.cos(angle)[:, None] * e1[:, None] + np.sin(angle)[:, None] * e2[:, None]
    rows = np.concatenate([[0], np.arange(len(d)), [len(d) - 1]])
    radius = np.full(len(rows), TENDON_SIZE * size)
    radius[[0, -1]] = 0.0
    normal = across[rows]
    normal[0], normal[-1] = -tangent[0], tangent[-1]
    local = d[rows][:, None] + radius[:, None, None] * across[rows]
    growth = across[rows]
    growth[[0, -1]] = 0.0
    build = _Builder()
    index = build.points(rows[:, None], local, normal, growth, TENDON_SIZE * size)
    k = np.arange(TENDON_AROUND)
    build.strips(index, np.stack([k, np.roll(k, -1)], axis=1))
    return build.block(index)


def _size(piece: Piece) -> float:
    """Largest radius of a division's section, or of its discs [m]."""
    division = piece.division
    outline = division.section.outline(np.linspace(0.0, division.length, 9), division.length, 16)
    radius = float(np.linalg.norm(outline, axis=-1).max())
    return radius if division.discs is None else max(radius, division.discs.radius)
