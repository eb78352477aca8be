"""Forces and moments as arrows whose lengths have one scale over a whole motion."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from sorosim.base.arrays import Array, IntArray
from sorosim.view.viz.camera import round_up
from sorosim.view.viz.options import CONTACTS, FORCES, GRAVITY, JOINTS, LOADS
from sorosim.view.viz.surfaces import revolved
from sorosim.view.viz.wrenches import Wrenches

LABELS = {LOADS: "loads", GRAVITY: "weight", JOINTS: "joints and loops", CONTACTS: "contacts"}
COLOURS = {LOADS: (16, 48, 140), GRAVITY: (92, 99, 108), JOINTS: (136, 46, 114), CONTACTS: (192, 57, 43)}
LONGEST = 0.25  # arrow of the largest force, relative to the size of the robot
NEGLIGIBLE = 1e-4  # moments beside forces at the size of the robot, or the reverse
USUAL = 0.95  # of the moments: larger peaks are impacts, which do not set the scale
IMPACT = 3.0  # times what is usual, from which a peak is one
LEAST = 0.01  # forces smaller than this part of the largest are not drawn
THICK = 0.02  # width of heads, relative to the size of the robot
HEAD, SHAFT = 1.25, 0.2  # length of a head and radius of a shaft, in widths of heads
AROUND = 16


def colour_code(kind: str) -> str:
    """Code of the colour of a kind of wrenches."""
    return "#{:02x}{:02x}{:02x}".format(*COLOURS[kind])


class Arrows(NamedTuple):
    """Arrows of all forces or of all moments at one time, n of them."""

    heads: int  # 1 for forces, 2 for moments
    rows: IntArray  # (n,) rows of the wrenches that they show
    starts: Array  # (n, 3) [m], world frame
    vectors: Array  # (n, 3) [m]


class Scale(NamedTuple):
    """Lengths of arrows."""

    length: float  # [m] of an arrow
    value: float  # [N, or N m] that it stands for
    longest: float = np.inf  # [m] at which arrows are cut
    peak: float = 0.0  # the largest value where arrows are cut, else 0

    def metres(self, values: Array) -> Array:
        """Vectors of forces or moments (n, 3) as arrows [m]."""
        vectors = np.asarray(values * (self.length / self.value))
        if not self.peak:
            return vectors
        lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
        return np.asarray(vectors * np.minimum(1.0, self.longest / np.maximum(lengths, 1e-300)))

    def label(self, unit: str) -> str:
        """Such as "5 cm = 2 N", or "5 cm = 2 N (impacts of up to 80 N are cut)"."""
        length = f"{100.0 * self.length:g} cm" if self.length < 0.995 else f"{self.length:g} m"
        cut = f" (impacts of up to {self.peak:.3g} {unit} are cut)" if self.peak else ""
        return f"{length} = {self.value:g} {unit}{cut}"


def peaks_of(wrenches: Iterable[Wrenches]) -> Array:
    """The largest force [N] and moment [N m] of each of n moments, (n, 2)."""
    tables = ((one.force, one.moment) for one in wrenches)
    return np.array([[np.linalg.norm(x, axis=1).max(initial=0.0) for x in one] for one in tables]).reshape(-1, 2)


def usual_peak(peaks: Array) -> tuple[float, float]:
    """What the peaks (n,) of moments hardly exceed in `USUAL` of them, and the largest of all.

    Both are one where there is no impact: where the largest of all is not `IMPACT` times as large.
    """
    acting = peaks[peaks > 0.0]  # a force that acts rarely and alone is no impact beside others
    if not len(acting):
        return 0.0, 0.0
    usual, largest = float(np.quantile(acting, USUAL, method="higher")), float(acting.max())
    return (usual if largest > IMPACT * usual else largest), largest


def scale_for(largest: float, size: float, peak: float = 0.0) -> Scale | None:
    """Round numbers such that the largest value gets the longest arrow up to `LONGEST` of a size; None: no arrows.

    A peak that is larger is an impact, and its arrow is cut at `LONGEST` of the size.
    """
    if not largest > 0.0:
        return None
    most, scales = LONGEST * size, list[Scale]()
    cut = (most, peak) if peak > largest * (1.0 + 1e-9) else ()
    for step in (1.0, 2.0, 5.0):
        length = step * round_up(0.2 * most / step)
        scales.append(Scale(length, round_up(largest * length / most), *cut))
    return max(scales, key=lambda scale: scale.length / scale.value)


class ArrowScale:
    """The scale of all arrows of a picture.

    Parameters
    ----------
    wrenches : sequence of Wrenches
        Those of the whole motion.
    size : float
        Of the robot [m].
    peaks : (n, 2) array, optional
        The largest force and moment at each of the moments that the scale is for. Default: of `wrenches`.
    least : (2,) array, optional
        Force and moment that the scale is for at least.

    Attributes
    ----------
    width : float
        Of heads [m].
    largest : (float, float)
        Of forces [N] and moments [N m], but for impacts: arrows of these are cut.
    force, moment : Scale or None
    kinds : list of (str, str)
        Labels of the kinds of arrows that are drawn, and the codes of their colours.
    """

    def __init__(
        self, wrenches: Sequence[Wrenches], size: float, peaks: Array | None = None, least: Any = (0.0, 0.0)
    ) -> None:
        self.width = THICK * size
        rows = peaks_of(wrenches) if peaks is None else peaks
        (usual_force, peak_force), (usual_moment, peak_moment) = map(usual_peak, rows.T)
        largest = max(usual_force, least[0]), max(usual_moment, least[1])
        # arrows that are rounding at the size of this picture are left out: 1e-9 N m beside 1 N
        most = max(largest[0] * size, largest[1])
        force, moment = (value if value > NEGLIGIBLE * most else 0.0 for value in (largest[0] * size, largest[1]))
        self.largest = (float(force / size), float(moment))
        self.force, self.moment = (
            scale_for(usual, size, peak) for usual, peak in zip(self.largest, (peak_force, peak_moment), strict=True)
        )
        kinds = {one.kind[row] for one in wrenches for arrows in self.arrows(one) for row in arrows.rows}
        self.kinds = [(LABELS[kind], colour_code(kind)) for kind in COLOURS if kind in kinds]

    @property
    def label(self) -> str:
        """What the lengths mean, "" where there are no arrows."""
        labels = [self.force.label("N")] if self.force else []
        labels += [f"two heads: {self.moment.label('N m')}"] if self.moment else []
        return "arrows: " + ", ".join(labels) if labels else ""

    def arrows(self, wrenches: Wrenches) -> Iterator[Arrows]:
        """Arrows of all forces, and those of all moments, where any are large enough to be drawn.

        Arrows of contacts end where they act, all others begin there. Moments have two heads and the direction of
        the axis that they turn about, right-handed.
        """
        for heads, values, scale in ((1, wrenches.force, self.force), (2, wrenches.moment, self.moment)):
            rows = np.flatnonzero(np.linalg.norm(values, axis=1) > LEAST * self.largest[heads - 1])
            if scale is None or not len(rows):
                continue
            vectors, ends = scale.metres(values[rows]), np.array(wrenches.kind)[rows] == CONTACTS
            yield Arrows(heads, rows, wrenches.position[rows] - np.where(ends, 1.0, 0.0)[:, None] * vectors, vectors)


class SwitchedScales:
    """The scales of arrows for any choice among kinds of wrenches: pages switch them on and off.

    Parameters
    ----------
    wrenches : sequence of Wrenches
        Of all kinds, over the whole motion.
    size : float
        Of the robot [m].

    Attributes
    ----------
    scales : dict of tuple of str to ArrowScale
        By the kinds that are shown, in the order of `FORCES`; kinds that never act have none.
    """

    def __init__(self, wrenches: Sequence[Wrenches], size: float) -> None:
        peaks = {kind: peaks_of(one.only((kind,)) for one in wrenches) for kind in FORCES}
        self._kinds = tuple(kind for kind in FORCES if peaks[kind].any())
        choices = [some for n in range(1, len(self._kinds) + 1) for some in combinations(self._kinds, n)]
        self.scales = {some: ArrowScale((), size, np.max([peaks[kind] for kind in some], axis=0)) for some in choices}
        self._largest = {kind: peaks[kind].max(axis=0) for kind in self._kinds}

    def of(self, kinds: Collection[str]) -> ArrowScale | None:
        """The scale for some kinds; None where none of them ever acts."""
        return self.scales.get(tuple(kind for kind in self._kinds if kind in kinds))

    def legend(self, kinds: Collection[str]) -> list[tuple[str, str]]:
        """Labels and codes of colours of those of some kinds that have arrows in the scale for them."""
        scale = self.of(kinds)
        if scale is None:
            return []
        both = list(zip((scale.force, scale.moment), scale.largest, strict=True))

        def drawn(kind: str) -> bool:
            pairs = zip(both, self._largest[kind], strict=True)
            return any(one is not None and peak > LEAST * largest for (one, largest), peak in pairs)

        some = [kind for kind in COLOURS if kind in kinds and kind in self._kinds and drawn(kind)]
        return [(LABELS[kind], colour_code(kind)) for kind in some]

    def acting(self, wrenches: Wrenches) -> Iterator[Arrows]:
        """Forces [N] and moments [N m] in place of vectors, and where they act, if they have arrows in any scale."""
        kinds = np.array(wrenches.kind, dtype=str)
        for kind in self._kinds:
            alone, own = self.scales[kind,], np.flatnonzero(kinds == kind)
            for heads, values, scale in ((1, wrenches.force, alone.force), (2, wrenches.moment, alone.moment)):
                rows = own[np.linalg.norm(values[own], axis=1) > LEAST * alone.largest[heads - 1]]
                if scale is not None and len(rows):
                    yield Arrows(heads, rows, wrenches.position[rows], values[rows])


class Track(NamedTuple):
    """What one arrow of a file shows at all times."""

    robot: int  # which of several
    heads: int
    kind: str
    name: str  # of the load, loop, joint or contact
    point: int  # see `Wrenches`

    @property
    def steady(self) -> bool:
        """Whether it shows the same wrench at all times, so that it may be interpolated: contacts come and go."""
        return self.kind != CONTACTS


class ArrowTracks(NamedTuple):
    """Arrows of robots over times, as tables."""

    tracks: tuple[Track, ...]
    start: Array  # (n, n_tracks, 3) where each begins; while there is no arrow, where it was last [m]
    vector: Array  # (n, n_tracks, 3) [m]; zero where nothing acts


def arrow_tracks(
    arrows_of: Callable[[Wrenches], Iterator[Arrows]], robots: Iterable[Sequence[Wrenches]], n: int
) -> ArrowTracks:
    """Arrows of several robots, of each at the same n times, as a scale makes them of wrenches."""
    places: dict[Track, list[tuple[int, Array, Array]]] = {}
    for k, moments in enumerate(robots):
        for moment, one in enumerate(moments):
            for arrows in arrows_of(one):
                for row, start, vector in zip(arrows.rows, arrows.starts, arrows.vectors, strict=True):
                    track = Track(k, arrows.heads, one.kind[row], one.name[row], one.point[row])
                    places.setdefault(track, []).append((moment, start, vector))
    start, vector = np.zeros((2, n, len(places), 3))
    for column, rows in enumerate(places.values()):
        at = [moment for moment, _, _ in rows]
        last = np.maximum(np.searchsorted(at, np.arange(n), side="right") - 1, 0)
        start[:, column] = np.array([place for _, place, _ in rows])[last]
        vector[at, column] = [arrow for _, _, arrow in rows]
    return ArrowTracks(tuple(places), start, vector)


def arrow_triangles(starts: Array, vectors: Array, width: float, heads: int) -> tuple[Array, Array, IntArray]:
    """Arrows from points (n, 3) along vectors (n, 3) as points, normals and triangles, all arrows alike.

    Heads are `width` wide, or as much less as a short arrow has room for; each arrow ends at start + vector.
    """
    lengths, shape = np.linalg.norm(vectors, axis=1), arrow_shape(heads)
    along = vectors / lengths[:, None]
    helper = np.where(np.abs(along[:, :1]) < 0.7, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    e1 = np.cross(along, helper)
    e1 /= np.linalg.norm(e1, axis=1, keepdims=True)
    frame = np.stack([e1, np.cross(along, e1), along], axis=1)  # (n, 3 directions, 3)
    local = np.minimum(width, shape.greatest_width * lengths)[:, None, None] * shape.by_width
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
    greatest_width: float  # in lengths


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
    lines = zip(outline[..., :2], np.repeat(normal[:, None], 2, axis=1), strict=True)
    points, normals, faces, *_ = revolved(list(lines), AROUND)
    return ArrowShape(points, np.repeat(outline[..., 2].ravel(), AROUND), normals, faces, 0.6 / (HEAD * heads))
