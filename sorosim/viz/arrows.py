"""Forces and moments as arrows whose lengths have one scale over a whole motion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.viz.camera import round_up
from sorosim.viz.forces import CONTACTS, GRAVITY, JOINTS, LOADS, Acting
from sorosim.viz.offscreen import load_pyvista

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

WORDS = {LOADS: "loads", GRAVITY: "weight", JOINTS: "joints and loops", CONTACTS: "contacts"}
COLOURS = {LOADS: (16, 48, 140), GRAVITY: (92, 99, 108), JOINTS: (136, 46, 114), CONTACTS: (192, 57, 43)}
LONGEST = 0.25  # arrow of the largest force, relative to what is seen
NEGLIGIBLE = 1e-4  # moments beside forces at the size of what is seen, or the reverse
LEAST = 0.01  # forces smaller than this part of the largest are not drawn
THICK = 0.02  # width of heads, relative to what is seen
HEAD, SHAFT = 1.25, 0.2  # length of a head and radius of a shaft, in widths of heads
AROUND = 16


def colour_code(kind: str) -> str:
    """Code of the colour of a kind of wrenches."""
    return "#{:02x}{:02x}{:02x}".format(*COLOURS[kind])


class Placed(NamedTuple):
    """Arrows of one kind of vector at one moment, n of them."""

    name: str  # "forces" or "moments"
    heads: int
    rows: IntArray  # (n,) which wrenches they stand for
    starts: Array  # (n, 3) [m], world frame
    vectors: Array  # (n, 3) [m]

    @property
    def ends(self) -> tuple[Array, Array]:
        """Both ends (n, 3) of each."""
        return self.starts, self.starts + self.vectors


class Scale(NamedTuple):
    """Lengths of arrows."""

    length: float  # [m] of an arrow
    value: float  # [N, or N m] that it stands for

    def metres(self, values: Array) -> Array:
        """Vectors of forces or moments as arrows [m]."""
        return values * (self.length / self.value)

    def words(self, unit: str) -> str:
        """Such as "5 cm = 2 N"."""
        length = f"{100.0 * self.length:g} cm" if self.length < 0.995 else f"{self.length:g} m"
        return f"{length} = {self.value:g} {unit}"


def scale_for(largest: float, size: float) -> Scale | None:
    """Round numbers such that the largest value gets the longest arrow up to `LONGEST` of a size; None: no arrows."""
    if not largest > 0.0:
        return None
    most, found = LONGEST * size, list[Scale]()
    for step in (1.0, 2.0, 5.0):
        length = step * round_up(0.2 * most / step)
        value = round_up(largest * length / most)
        found.append(Scale(length, value))
    return max(found, key=lambda scale: scale.length / scale.value)


class Arrows:
    """Arrows of the wrenches of a motion.

    Parameters
    ----------
    found : sequence of Acting
        Moments of the motion, for the scale.
    size : float
        Of what is seen [m].
    """

    def __init__(self, found: Sequence[Acting], size: float) -> None:
        self.size, self.width = size, THICK * size
        largest = [max((np.linalg.norm(one[k], axis=1).max(initial=0.0) for one in found), default=0.0) for k in (3, 4)]
        # what no picture of this size could tell from rounding, beside what else acts, is none: 1e-9 N m beside 1 N
        most = max(largest[0] * size, largest[1])
        force, moment = (value if value > NEGLIGIBLE * most else 0.0 for value in (largest[0] * size, largest[1]))
        self.largest = (float(force / size), float(moment))
        self.force, self.moment = scale_for(self.largest[0], size), scale_for(self.largest[1], size)

        kinds = {one.kind[row] for one in found for placed in self.placed(one) for row in placed.rows}
        # words for the kinds of arrows that are seen, and the codes of their colours
        self.kinds = [(WORDS[kind], colour_code(kind)) for kind in COLOURS if kind in kinds]

    @property
    def legend(self) -> str:
        """What the lengths mean, "" where there are no arrows."""
        words = [self.force.words("N")] if self.force else []
        words += [f"two heads: {self.moment.words('N m')}"] if self.moment else []
        return "arrows: " + ", ".join(words) if words else ""

    def placed(self, acting: Acting) -> Iterator[Placed]:
        """Arrows of all forces, and those of all moments, where there are any that are seen.

        Arrows of contacts end where they act, all others begin there. Moments have two heads and the direction of
        the axis that they turn about, right-handed.
        """
        pairs = (("forces", acting.force, self.force), ("moments", acting.moment, self.moment))
        for k, (name, values, scale) in enumerate(pairs):
            strength = np.linalg.norm(values, axis=1)
            rows = np.flatnonzero(strength > LEAST * self.largest[k])
            if scale is None or not len(rows):
                continue
            vectors, ends = scale.metres(values[rows]), np.array(acting.kind)[rows] == CONTACTS
            starts = acting.position[rows] - np.where(ends, 1.0, 0.0)[:, None] * vectors
            yield Placed(name, 1 + k, rows, starts, vectors)

    def meshes(self, acting: Acting) -> dict[str, Any]:
        """A mesh of all forces and one of all moments, by the names "forces" and "moments"; none where none is seen."""
        found = {}
        for name, heads, rows, starts, vectors in self.placed(acting):
            points, normals, faces = solids(starts, vectors, self.width, heads)
            mesh = load_pyvista().PolyData.from_regular_faces(points, faces)
            mesh.point_data.active_normals = normals
            colours = np.array([COLOURS[acting.kind[row]] for row in rows], dtype=np.uint8)
            mesh.point_data["colour"] = np.repeat(colours, len(points) // len(rows), axis=0)
            found[name] = mesh
        return found


def solids(starts: Array, vectors: Array, width: float, heads: int) -> tuple[Array, Array, IntArray]:
    """Arrows from points (n, 3) along vectors (n, 3) as points, normals and triangles, all arrows alike.

    Heads are `width` wide, or as much less as a short arrow has room for; each arrow ends at start + vector.
    """
    lengths, shape = np.linalg.norm(vectors, axis=1), arrow_shape(heads)
    along = vectors / lengths[:, None]
    helper = np.where(np.abs(along[:, :1]) < 0.7, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    e1 = np.cross(along, helper)
    e1 /= np.linalg.norm(e1, axis=1, keepdims=True)
    frame = np.stack([e1, np.cross(along, e1), along], axis=1)  # (n, 3 directions, 3)
    local = np.minimum(width, shape.room * lengths)[:, None, None] * shape.by_width
    local[:, :, 2] += lengths[:, None] * shape.by_length
    points = np.einsum("nki,nij->nkj", local, frame) + starts[:, None]
    normals = np.einsum("ki,nij->nkj", shape.normals, frame)
    faces = shape.faces + len(shape.normals) * np.arange(len(starts))[:, None, None]
    return points.reshape(-1, 3), normals.reshape(-1, 3), faces.reshape(-1, 3)


class ArrowShape(NamedTuple):
    """An arrow along z from the origin: points are `width * by_width`, `length * by_length` higher."""

    by_width: Array  # (n, 3)
    by_length: Array  # (n,)
    normals: Array  # (n, 3)
    faces: IntArray  # (m, 3)
    room: float  # the greatest width, in lengths


@lru_cache(maxsize=2)
def arrow_shape(heads: int) -> ArrowShape:
    """The shape of arrows with one head or two, whose shafts take what length the heads leave."""
    neck = -heads * HEAD
    # straight pieces of the outline: radius and height at either end, in widths of heads, and whether from the far end
    pieces = [((0.0, 0.0, 0), (SHAFT, 0.0, 0)), ((SHAFT, 0.0, 0), (SHAFT, neck, 1))]
    for k in range(heads):
        low = neck + k * HEAD
        pieces += [((SHAFT if k == 0 else 0.0, low, 1), (0.5, low, 1)), ((0.5, low, 1), (0.0, low + HEAD, 1))]
    outline = np.array(pieces)  # (pieces, ends, 3)
    step = outline[:, 1] - outline[:, 0]
    step[step[:, 2] > 0.0, 1:] = [1.0, 0.0]  # the shaft is straight, however long
    normal = np.stack([step[:, 1], -step[:, 0]], axis=-1)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)

    angle = 2.0 * np.pi * np.arange(AROUND) / AROUND
    around = np.stack([np.cos(angle), np.sin(angle), np.ones(AROUND)], axis=1)
    both = np.broadcast_to(normal[:, None], (*outline.shape[:2], 2))
    points, normals = (x[..., None, [0, 0, 1]] * around for x in (outline[..., :2], both))

    index = np.arange(points.size // 3).reshape(points.shape[:-1])
    low_row, high_row = index[:, 0], index[:, 1]
    low_next, high_next = np.roll(low_row, -1, axis=-1), np.roll(high_row, -1, axis=-1)
    triangles = [np.stack([low_row, low_next, high_next], -1), np.stack([low_row, high_next, high_row], -1)]
    return ArrowShape(
        points.reshape(-1, 3), np.repeat(outline[..., 2].ravel(), AROUND), normals.reshape(-1, 3),
        np.concatenate([part.reshape(-1, 3) for part in triangles]), 0.6 / (HEAD * heads),
    )  # fmt: skip
