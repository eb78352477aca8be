"""Surfaces as the compiled contacts know them: cores, and solids by their signed distance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.base.arrays import Array, IntArray, Mask
from sorosim.base.compiled import table
from sorosim.base.errors import ModelError
from sorosim.mechanics.kernels import solids, surfaces
from sorosim.mechanics.kernels.surfaces import CLOSED, CORES, CURVED, OPEN, PLANES
from sorosim.mechanics.model.body import Assembly, Solid
from sorosim.mechanics.model.layout import LinkLayout
from sorosim.mechanics.model.mesh import Mesh
from sorosim.mechanics.model.obstacle import Bowl, HalfSpace, HeightField, Pipe, Plane, Pole
from sorosim.mechanics.model.shape import Box, Capsule, Cylinder, Ellipsoid, Sphere, Superellipsoid

# corners on the rim of a cylinder, which meet what is not a plane
RIM = 24
# the dome on the end of a cylinder that stands on a plane, relative to its radius: it has just one lowest point
DOME = 1e-4
# that on the flat end of a rod: it is behind the end at the rim by this part of the radius
END_DOME = 0.01
# the last capsule of a rod ends so many radii behind its flat end: the end presses, not the ball within it
BEHIND = 1.1
# edges of boxes, cylinders and meshes are rounded by this part of their smallest half extent
ROUNDED = 0.02
# of superellipsoids: their faces are bent so that they lie on one place, within 0.5 to 1.4 % of their half axes
SMOOTHED = 0.005
# a mesh is convex if it fills its hull up to this part
CONVEX = 1e-6
HOLLOW = {solids.HOLE: "pipe", solids.BOWL: "bowl", solids.HEIGHT_FIELD: "height field"}
EVERYTHING = CORES | PLANES | OPEN | CLOSED | CURVED


class Core(NamedTuple):
    """A core, see kernels.surfaces."""

    form: int
    meets: int
    nodes: tuple[int, int]
    values: Array  # (23,)
    s: float | None = None  # where it is on its rod, its middle


class SolidPart(NamedTuple):
    """A solid, see kernels.surfaces."""

    kind: int
    node: int
    values: Array
    frame: Array  # (4, 4)
    extent: Array  # (4,)
    mask: int
    s: float | None = None  # where it is on its rod


class Part(NamedTuple):
    """One shape of a surface."""

    cores: list[Core]
    solids: list[SolidPart]
    thickness: float = np.inf  # half of it where it is thinnest


@dataclass(frozen=True)
class Skin:
    """The surface of one link, or one in the world."""

    link: str
    is_rod: bool
    cores: tuple[Core, ...]
    solids: tuple[SolidPart, ...]
    thickness: float  # half of the least thickness; infinite for sheets

    @property
    def nodes(self) -> list[int]:
        """Nodes that it is on, -1 the world."""
        return [node for core in self.cores for node in core.nodes] + [solid.node for solid in self.solids]

    @property
    def half_thickness(self) -> float:
        """Distance from its surface to its middle [m]: zero of sheets, infinite of what is seen from one side."""
        return 0.0 if any(solid.kind == solids.SHEET for solid in self.solids) else self.thickness


@dataclass(frozen=True, eq=False)
class ContactGroup:
    """Surfaces of two sides, or of one among themselves, with one law."""

    a: tuple[Skin, ...]
    b: tuple[Skin, ...] | None
    law: Any  # one row of kernels.surfaces.CONTACT_LAW
    apart: NDArray[np.int8]  # (n, n)

    @property
    def skins(self) -> tuple[Skin, ...]:
        """All surfaces, those of the first side first."""
        return (*self.a, *(self.b or ()))

    @cached_property
    def meet(self) -> Mask:
        """Which surfaces may touch each other (n, n), or themselves."""
        meet: Mask = self.apart == 0
        if self.b is not None:
            first = np.arange(len(meet)) < len(self.a)
            meet &= first[:, None] != first
        return meet

    def check(self) -> None:
        """Refuse sides that cannot touch each other (ModelError)."""
        if not self.meet.any():
            got = "none: those of one body, of links that a joint connects and what is `apart` do not meet"
            raise ModelError("contact", "two surfaces that can touch each other", got)
        skins = self.skins
        hollow, sheet, curved, flat, coreless = np.array([
            (any(part.kind in HOLLOW for part in skin.solids), any(part.kind == solids.SHEET for part in skin.solids),
             any(part.mask == CURVED for part in skin.solids),
             not skin.is_rod and any(part.mask != CURVED for part in skin.solids), not skin.cores)
            for skin in skins
        ]).T  # fmt: skip
        wrong = np.outer(curved, hollow) | np.outer(flat, sheet) | np.outer(coreless, coreless)
        wrong &= self.meet & ~np.eye(len(skins), dtype=bool)
        if not wrong.any():
            return
        i, j = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        both = f"'{skins[i].link}' and '{skins[j].link}'"
        if curved[i] and hollow[j]:
            kind = next(HOLLOW[part.kind] for part in skins[j].solids if part.kind in HOLLOW)
            expected = f"no {kind} opposite an ellipsoid or superellipsoid, which may touch it twice"
            raise ModelError("contact", expected, both, "use a mesh, or spheres inside it")
        if flat[i] and sheet[j]:
            expected = "rounded shapes against a plane, which has no thickness of its own"
            raise ModelError("contact", expected, f"the flat ones of '{skins[i].link}'", "use a half_space")
        got = f"{both}, two surfaces from inside, which cannot touch"
        raise ModelError("contact", "two surfaces that can touch each other", got)

    @property
    def reduced(self) -> ContactGroup:
        """The same without cores and solids that nothing opposite can meet."""
        kinds = [(frozenset(c.meets for c in s.cores), frozenset(p.mask for p in s.solids)) for s in self.skins]
        number = {kind: k for k, kind in enumerate(dict.fromkeys(kinds))}
        of_kind = np.array([number[kind] for kind in kinds])
        # whether a surface may meet one of a kind
        opposite = np.array([self.meet[:, of_kind == k].any(axis=1) for k in range(len(number))]).T
        kept = [
            _useful(skin, [kind for kind, is_there in zip(number, row, strict=True) if is_there])
            for skin, row in zip(self.skins, opposite, strict=True)
        ]
        n = len(self.a)
        return ContactGroup(tuple(kept[:n]), None if self.b is None else tuple(kept[n:]), self.law, self.apart)

    @property
    def least_distance(self) -> float:
        """Least distance of the middles of two surfaces that just touch [m]; infinite if none has another side."""
        half = np.array([skin.half_thickness for skin in self.skins])
        return min(float(own + half[row].min(initial=np.inf)) for own, row in zip(half, self.meet, strict=True))

    @property
    def dissipates(self) -> bool:
        """Whether something is lost."""
        return bool(self.law.damping or self.law.friction)

    @property
    def lost(self) -> ContactGroup:
        """The same with the dissipative part of the law only."""
        law = self.law.copy()
        law.dissipative_only = 1.0
        return ContactGroup(self.a, self.b, law, self.apart)


def _useful(skin: Skin, opposite: Sequence[tuple[frozenset[int], frozenset[int]]]) -> Skin:
    """A skin without cores and solids that meet nothing opposite: what its cores meet, masks of its solids."""
    there = {meets for cores, _ in opposite for meets in cores}
    # what a core may meet there: kinds of solids, and cores if any of them meets cores
    met = {mask for _, masks in opposite for mask in masks} | {CORES for mask in there if mask & CORES}
    cores = tuple(core for core in skin.cores if any(core.meets & mask for mask in met))
    parts = tuple(part for part in skin.solids if any(part.mask & mask for mask in there))
    return replace(skin, cores=cores, solids=parts)


# -- cores ---------------------------------------------------------------------------------------------------------


def point(node: int, x: Any, radius: float, meets: int, s: float | None = None, arc: float = 0.0) -> Core:
    """A point of a node with a radius."""
    return Core(surfaces.POINT, meets, (node, node), _values([*x, radius, *x, radius, 0.0, arc, arc]), s)


def _values(values: Sequence[float], tangents: Sequence[float] = ()) -> Array:
    row = np.zeros(surfaces.N_CORE_VALUES)
    row[: len(values)] = values
    row[surfaces.TANGENT_0 : surfaces.TANGENT_0 + len(tangents)] = tangents
    return row


def segment(
    nodes: tuple[int, int], a: Any, b: Any, radii: tuple[float, float], length: float, meets: int,
    s: float | None = None, arcs: tuple[float, float] = (0.0, 0.0),
) -> Core:  # fmt: skip
    """A segment between points of one node; or of two, a piece of a rod, whose tangents are their axes x."""
    drawn = length * min(length, 0.5 * sum(radii))
    tangents = () if nodes[0] == nodes[1] else (length, 0.0, 0.0, length, 0.0, 0.0)
    values = _values([*a, radii[0], *b, radii[1], length**2, *arcs, drawn], tangents)
    return Core(surfaces.SEGMENT, meets, nodes, values, s)


def convex(
    node: int, at: Array, shape: Sequence[float], around: float, meets: int = PLANES, inner: Any = None,
    s: float | None = None,
) -> Core:  # fmt: skip
    """A smooth body at a pose (4, 4), by its numbers (kernels.convex); `inner`: a point on its side of a sheet."""
    inside, bent = at[:3, 3] if inner is None else inner, least_radius_of_curvature(shape)
    values = _values([*at[:3, 3], around, *at[:3, :3].ravel(), *shape, *inside, bent])
    return Core(surfaces.CONVEX, meets, (node, node), values, s)


def superellipsoid(radii: Sequence[float], roundness: Sequence[float] = (1.0, 1.0)) -> list[float]:
    """Numbers of a superellipsoid, see kernels.convex: its extents are exact; (1, 1): an ellipsoid.

    Its support function is the dual norm of that of its outline: of the exponents 2/e and 2/(2 - e).
    """
    q, p = (2.0 / (2.0 - e) for e in roundness)
    # how far it reaches along x or y, and along z, without
    ahead, aside = np.sqrt(1.0 + SMOOTHED**2), SMOOTHED
    around = ((ahead**p + aside**p) ** (q / p) + aside**q) ** (1.0 / q)
    along = (ahead**q + (2.0 * aside**p) ** (q / p)) ** (1.0 / q)
    return [radii[0] / around, radii[1] / around, radii[2] / along, q, p, SMOOTHED]


def least_radius_of_curvature(shape: Sequence[float]) -> float:
    """A bound for that of a smooth body by its numbers (kernels.convex), exact of an ellipsoid [m]."""
    return min(exponent - 1.0 for exponent in shape[3:5]) * min(shape[:3]) ** 2 / max(shape[:3])


def solid(kind: int, node: int, at: Array, values: Sequence[float], radius: float, mask: int) -> SolidPart:
    """A solid at a pose (4, 4), in a ball around its origin."""
    return SolidPart(kind, node, np.array(values, dtype=float), at, np.array([0.0, 0.0, 0.0, radius]), mask)


def _polyhedron(node: int, at: Array, corners: Array, edges: Iterable[tuple[int, int]], rounding: float) -> list[Core]:
    """Corners and edges of a polyhedron, with a radius."""
    x = corners @ at[:3, :3].T + at[:3, 3]
    lines = [
        segment((node, node), x[i], x[j], (rounding, rounding), float(np.linalg.norm(x[i] - x[j])), CLOSED)
        for i, j in edges
    ]
    return [*(point(node, corner, rounding, PLANES | OPEN | CLOSED) for corner in x), *lines]


def _sphere(shape: Sphere, node: int, at: Array) -> Part:
    return Part([point(node, at[:3, 3], shape.radius, EVERYTHING)], [], shape.radius)


def _capsule(shape: Capsule, node: int, at: Array) -> Part:
    r, along = shape.radius, 0.5 * shape.length * at[:3, 2]
    a, b = at[:3, 3] - along, at[:3, 3] + along
    line = segment((node, node), a, b, (r, r), shape.length, CORES | CLOSED | CURVED)
    return Part([line, *(point(node, end, r, PLANES | OPEN) for end in (a, b))], [], r)


def _box(shape: Box, node: int, at: Array) -> Part:
    half = 0.5 * np.array(shape.size)
    rounding = ROUNDED * float(half.min())
    core = half - rounding
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    edges = [(i, j) for i in range(8) for j in range(i) if np.abs(signs[i] - signs[j]).sum() == 2]
    part = solid(solids.BOX, node, at, [*core, rounding], float(np.linalg.norm(half)), CLOSED)
    return Part(_polyhedron(node, at, core * signs, edges, rounding), [part], float(half.min()))


def _cylinder(shape: Cylinder, node: int, at: Array) -> Part:
    r, h, turn = shape.radius, 0.5 * shape.length, 2.0 * np.pi * np.arange(RIM) / RIM
    rounding = ROUNDED * min(r, h)
    cores = []
    for sign in (-1.0, 1.0):
        end = at.copy()
        end[:3, 3] += sign * h * at[:3, 2]
        cores.append(convex(node, end, superellipsoid((r, r, DOME * r)), r))
    corners = np.array([[np.cos(a), np.sin(a), sign] for sign in (-1.0, 1.0) for a in turn])
    corners *= (r - rounding, r - rounding, h - rounding)
    edges = [(i, RIM + i) for i in range(RIM)]
    edges += [(end + i, end + (i + 1) % RIM) for end in (0, RIM) for i in range(RIM)]
    rims = _polyhedron(node, at, corners, edges, rounding)
    cores += [core._replace(meets=core.meets & ~PLANES) for core in rims]
    part = solid(solids.CYLINDER, node, at, [r - rounding, h - rounding, rounding], float(np.hypot(r, h)), CLOSED)
    return Part(cores, [part], min(r, h))


def _ellipsoid(shape: Ellipsoid, node: int, at: Array) -> Part:
    return _smooth(superellipsoid(shape.radii), max(shape.radii), min(shape.radii), node, at)


def _superellipsoid(shape: Superellipsoid, node: int, at: Array) -> Part:
    around = float(np.linalg.norm(shape.radii))
    return _smooth(superellipsoid(shape.radii, shape.roundness), around, min(shape.radii), node, at)


def _smooth(numbers: Sequence[float], around: float, thickness: float, node: int, at: Array) -> Part:
    core = convex(node, at, numbers, around, PLANES | CLOSED | CURVED)
    part = solid(solids.CONVEX, node, at, [*numbers, least_radius_of_curvature(numbers)], around, CURVED)
    return Part([core], [part], thickness)


def _mesh(shape: Mesh, node: int, at: Array) -> Part:
    from scipy.spatial import ConvexHull, HalfspaceIntersection, QhullError

    try:
        hull = ConvexHull(shape.vertices)
    except QhullError:
        raise ModelError("mesh", "a mesh with a volume, to be touched", "a flat one") from None
    filled = shape.moments.volume
    if filled < (1.0 - CONVEX) * hull.volume:
        got = f"one that fills {100.0 * filled / hull.volume:.4g} % of its convex hull"
        hint = "cut it into convex pieces, each a part of the body or a surface of its own"
        raise ModelError("mesh", "a convex mesh", got, hint)
    inside = hull.points[hull.vertices].mean(axis=0)
    depth = -hull.equations @ np.append(inside, 1.0)
    rounding = ROUNDED * float(depth.min())
    # the polyhedron whose faces are that much further inside
    offset = np.array([0.0, 0.0, 0.0, rounding])
    shrunk = ConvexHull(HalfspaceIntersection(hull.equations + offset, inside).intersections)
    normals, corners = shrunk.equations[:, :3], shrunk.points[shrunk.simplices]
    # edges between faces of one plane are none
    pairs = {tuple(sorted((t, int(n)))) for t, row in enumerate(shrunk.neighbors) for n in row
             if normals[t] @ normals[n] < 1.0 - 1e-9}  # fmt: skip
    edges = [tuple(set(shrunk.simplices[t].tolist()) & set(shrunk.simplices[n].tolist())) for t, n in sorted(pairs)]
    order = {int(v): k for k, v in enumerate(shrunk.vertices)}
    triangles = np.hstack([normals, corners.reshape(-1, 9)])
    radius = float(np.linalg.norm(hull.points[hull.vertices] - inside, axis=1).max())
    values = np.array([len(triangles), rounding, *triangles.ravel()])
    part = SolidPart(solids.POLYHEDRON, node, values, at, np.array([*inside, radius]), CLOSED)
    lines = [(order[a], order[b]) for a, b in edges]
    return Part(_polyhedron(node, at, shrunk.points[shrunk.vertices], lines, rounding), [part], float(depth.min()))


def _pipe(shape: Pipe, node: int, at: Array) -> Part:
    half = np.inf if shape.length is None else 0.5 * shape.length
    return Part([], [solid(solids.HOLE, node, at, [shape.radius, half], np.inf, OPEN)])


def _pole(shape: Pole, node: int, at: Array) -> Part:
    return Part([], [solid(solids.CYLINDER, node, at, [shape.radius, np.inf, 0.0], np.inf, CLOSED)], shape.radius)


def _bowl(shape: Bowl, node: int, at: Array) -> Part:
    return Part([], [solid(solids.BOWL, node, at, [shape.radius], np.inf, OPEN)])


def _half_space(shape: HalfSpace, node: int, at: Array) -> Part:
    return Part([], [solid(solids.HALF_SPACE, node, at, [0.0], np.inf, PLANES)])


def _plane(shape: Plane, node: int, at: Array) -> Part:
    return Part([], [solid(solids.SHEET, node, at, [0.0], np.inf, PLANES)])


def _height_field(shape: HeightField, node: int, at: Array) -> Part:
    heights, coefficients = shape.heights, shape.heights
    steps = [size / (n - 1) for size, n in zip(shape.size, heights.shape, strict=True)]
    for axis, n in enumerate(heights.shape):
        coefficients = _spline_coefficients(coefficients, axis, n)
    nx, ny = coefficients.shape
    first = [-0.5 * size for size in shape.size]
    values = [nx, ny, *first, *steps, *coefficients.ravel()]
    return Part([], [solid(solids.HEIGHT_FIELD, node, at, values, np.inf, OPEN)])


def _spline_coefficients(values: Array, axis: int, n: int) -> Array:
    """Coefficients (n + 2) of uniform cubic B-splines through n values, without curvature at the ends."""
    swapped: Array = np.moveaxis(values, axis, 0)
    A = np.zeros((n + 2, n + 2))
    for i in range(n):
        A[i + 1, i : i + 3] = 1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0
    A[0, :3] = A[-1, -3:] = 1.0, -2.0, 1.0
    right = np.zeros((n + 2, *swapped.shape[1:]))
    right[1:-1] = swapped
    coefficients = np.asarray(np.linalg.solve(A, right), dtype=np.float64)
    return np.moveaxis(coefficients, 0, axis)


_SKINS: dict[str, Callable[..., Part]] = {
    "sphere": _sphere, "capsule": _capsule, "cylinder": _cylinder, "box": _box, "ellipsoid": _ellipsoid,
    "superellipsoid": _superellipsoid, "mesh": _mesh,
    "half_space": _half_space, "plane": _plane, "pipe": _pipe, "pole": _pole, "bowl": _bowl,
    "height_field": _height_field,
}  # fmt: skip
SOLID_SHAPES = tuple(_SKINS)


def skin_of(where: str, surface: Any, link: LinkLayout | None, capsules: bool, flat: bool = True) -> Skin:
    """The skin of a surface; `link`: None in the world; `flat`: whether rods of capsules have flat ends."""
    if surface.shape is None and link is not None and link.link.rod is not None:
        return _rod(surface, link, capsules, capsules and flat)
    if surface.radius is not None or surface.pieces is not None:
        raise ModelError(where, "a rod, to be given a radius or pieces", f"'{surface.link}'")
    node = -1 if link is None else int(link.nodes[0])
    if surface.shape is not None:
        if link is not None and link.link.rod is not None:
            hint = "hang a link on the rod that has it"
            raise ModelError(where, "no shape on a rod, which has its own", f"a {surface.shape.kind}", hint)
        parts = [(surface.shape, surface.pose(where, link and link.link))]
    else:
        assert link is not None  # for the type checker: a surface in the world has a shape
        parts = _parts(where, surface, link)
    made = [_SKINS[shape.kind](shape, node, at) for shape, at in parts]
    cores = tuple(core for part in made for core in part.cores)
    others = tuple(one for part in made for one in part.solids)
    return Skin(surface.link, False, cores, others, min(part.thickness for part in made))


def _parts(where: str, surface: Any, link: LinkLayout) -> list[tuple[Any, Array]]:
    body, own = link.link.body, link.link.collision
    members = body.parts if isinstance(body, Assembly) else ()
    solids = own if own is not None else [part for part in members if isinstance(part, Solid)]
    pose = surface.pose(where, link.link)
    parts = [(part.shape, pose @ part.at) for part in solids]
    if not parts:
        hint = "give the surface a shape: {link: ..., sphere: {radius: 2 cm}}"
        raise ModelError(where, "a link with shapes", f"'{surface.link}', known by numbers only", hint)
    for shape, _ in parts:
        if shape.kind not in _SKINS:
            hint = "give the surface another shape"
            raise ModelError(where, f"one of {', '.join(_SKINS)}", f"'{surface.link}' with a {shape.kind}", hint)
    return parts


class _End(NamedTuple):
    """A flat end of a rod."""

    node: int
    X: float
    outward: float  # 1 at the tip, -1 at the base
    radius: float
    depth: float  # how far behind it the last capsule ends

    @property
    def inner(self) -> tuple[float, float, float]:
        """Where the last capsule ends, in the frame of the node."""
        return -self.outward * self.depth, 0.0, 0.0

    def parts(self, length: float) -> tuple[list[Core], SolidPart]:
        """What meets planes, what meets other solids; what others meet, a cylinder as long as it is deep."""
        r, s, x = self.radius, self.X / length, np.eye(4)
        x[0, 3] = -self.outward * END_DOME * r
        on_planes = convex(self.node, x, superellipsoid((END_DOME * r, r, r)), r, inner=self.inner, s=s)
        values = _values([0.0, 0.0, 0.0, r, self.outward, 0.0, 0.0, 0.0, END_DOME * r, self.X, self.X])
        on_solids = Core(surfaces.DISC, OPEN | CLOSED, (self.node, self.node), values, s)
        half, along = 0.5 * self.depth, np.array([[0.0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1]])
        along[0, 3] = -self.outward * half
        rounding = ROUNDED * min(r, half)
        sizes = [r - rounding, half - rounding, rounding, self.X]
        end = solid(solids.CYLINDER, self.node, along, sizes, float(np.hypot(r, half)), CLOSED)
        return [on_planes, on_solids], end._replace(s=s)


def _ends(nodes: IntArray, length: float, radius: Callable[[float], float]) -> list[_End]:
    """Flat ends of a rod; none where it ends in a point."""
    out = []
    for node, X, outward in ((int(nodes[0]), 0.0, -1.0), (int(nodes[-1]), length, 1.0)):
        # a ball no wider than the end and the rod there, so far behind the end that it just reaches it
        s, before = radius(X), -1.0
        while abs(s - before) > 1e-6 * s:
            s, before = min(radius(X - outward * min(s, 0.5 * length)), s), s
        if radius(X) > 1e-6 * length:
            out.append(_End(node, X, outward, radius(X), min(BEHIND * s, 0.5 * length)))
    return out


def _rod(surface: Any, link: LinkLayout, capsules: bool, flat: bool) -> Skin:
    if surface.frame or not np.array_equal(surface.at, np.eye(4)):
        raise ModelError(f"{surface.link}.at", "no pose for a rod, which is where it is", "one")
    rod, length = link.link.rod, float(link.X[-1])
    assert rod is not None  # for the type checker
    if surface.pieces is None:
        chosen = np.flatnonzero(link.counted)
    else:
        chosen = np.array(
            sorted({int(np.argmin(np.abs(link.X - length * k / surface.pieces))) for k in range(surface.pieces + 1)})
        )

    def radius(X: float) -> float:
        return float(surface.radius or thickness(rod, X))

    X, nodes = link.X[chosen], link.nodes[chosen]
    least, ends = min(r for x in X if (r := radius(float(x))) > 0.0), _ends(nodes, length, radius) if flat else []
    cores, parts = [], []
    # places of the axis: node, arc length, point in the frame of the node, radius
    first, last = (0.0, length)
    for end in ends:
        made, part = end.parts(length)
        cores += made
        parts.append(part)
        # points so near to a flat end that their balls would reach beyond it
        if end.outward < 0.0:
            first = end.depth + 0.25 * end.radius
        else:
            last = length - end.depth - 0.25 * end.radius
    zero, meets = (0.0, 0.0, 0.0), PLANES | OPEN if capsules else EVERYTHING
    places = [
        (int(node), float(x), zero, radius(float(x))) for node, x in zip(nodes, X, strict=True) if first <= x <= last
    ]
    cores += [point(node, at, r, meets, x / length, x) for node, x, at, r in places]
    for end in ends:
        x = end.X - end.outward * end.depth
        inner = (end.node, x, end.inner, min(radius(x), end.depth / BEHIND))
        places = [inner, *places] if end.outward < 0.0 else [*places, inner]
    if capsules:
        cores += [
            segment((m, n), a, b, (r, t), y - x, CORES | CLOSED | CURVED, 0.5 * (x + y) / length, (x, y))
            for (m, x, a, r), (n, y, b, t) in pairwise(places)
            if y - x > 1e-9 * length
        ]
    return Skin(surface.link, True, tuple(cores), tuple(parts), least)


def thickness(rod: Any, X: float) -> float:
    """Half of the thickness of a rod at X, which is the radius of a round one [m]."""
    starts = rod.starts
    k = max(i for i, start in enumerate(starts) if start <= X * (1.0 + 1e-12))
    division = rod.divisions[k]
    outline = division.section.outline([min(X - starts[k], division.length)], division.length)
    return float(np.abs(outline).max(axis=-2).min())


# -- arrays


def pack_surfaces(groups: Sequence[ContactGroup]) -> surfaces.Surfaces:
    """Arrays of groups."""
    core, value, parts, frames, extents, rows, laws, apart = ([] for _ in range(8))  # type: ignore[var-annotated]
    size, n_apart, n_surfaces = 0, 0, 0
    for group in groups:
        first, first_solid = len(core), len(parts)
        marks = []
        for side in (group.a, group.b or ()):
            for skin in side:
                for one in skin.cores:
                    same = one.nodes[0] == one.nodes[1]
                    core.append([one.form, one.meets, *one.nodes, same, size, n_surfaces])
                    value.append(one.values)
                    size += len(one.values)
                for part in skin.solids:
                    parts.append([part.kind, part.node, size, n_surfaces, part.mask, part.s is not None])
                    frames.append(np.vstack([part.frame[:3, :3], part.frame[:3, 3]]))
                    extents.append(part.extent)
                    value.append(part.values)
                    size += len(part.values)
                n_surfaces += 1
            marks.append((len(core), len(parts)))
        (core_b, solid_b), (core_end, solid_end) = marks
        n = len(group.skins)
        rows.append(
            [first, core_b, core_end, first_solid, solid_b, solid_end, group.b is None, n_apart, n_surfaces - n, n]
        )
        laws.append(group.law)
        apart.append(group.apart.ravel())
        n_apart += n * n
    return surfaces.Surfaces(
        table(surfaces.CORE, core), np.concatenate([np.zeros(0), *value]),
        table(surfaces.SOLID, parts), np.array(frames).reshape(-1, 4, 3),
        np.array(extents).reshape(-1, 4), table(surfaces.GROUP, rows),
        np.array(laws, dtype=surfaces.CONTACT_LAW), np.concatenate([np.zeros(0, dtype=np.int8), *apart]),
    )  # fmt: skip
