"""Robots as every drawing has them: at any time the poses of their sections and bodies, tensions and wrenches.

Scenes, pages and glTF files draw the same `Frame` of a `RobotVisual`, on the same `Stage`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sorosim.base.arrays import Array, IntArray
from sorosim.mechanics.lie.quaternion import without_flips
from sorosim.mechanics.robot import Robot
from sorosim.view.viz.arrows import ArrowScale
from sorosim.view.viz.camera import camera_axes, check_view, grid_step, largest, level_axes
from sorosim.view.viz.colours import TRAIL_COLOURS, StrainField, round_range
from sorosim.view.viz.geometry import TENDON, Geometry
from sorosim.view.viz.motion import OVERLAY, Motion, MotionGroup, sample
from sorosim.view.viz.options import CONTACTS, PLAIN, STRAINS, TENSION, DrawingOptions
from sorosim.view.viz.surfaces import grounds, obstacles
from sorosim.view.viz.wrenches import Wrenches, centre_of_mass, wrenches_at

FINE, COARSE = (40, 32), (20, 20)  # sections along each rod, at least, and points around: of pictures, of files
HAIR = 0.001  # how far below a ground its floor is drawn, relative to the size of the floor
FITTED_STATES = 60  # of a motion, for camera, floor and colours
MOST_POINTS = 1_500_000  # of all robots in a picture or a film
PAGE_POINTS = 30_000  # of all robots in a page, which keeps up without a graphics card, see docs/pictures.md
LEAST_ALONG, LEAST_AROUND = 5, 4
SCALED_STATES = 500  # for the scale of arrows: forces may be short
TRAIL_POINTS = 3000  # of a motion, at most
GAP = 0.15  # between robots side by side, relative to the widest
FRAMES_ALONG = 9  # of a rod
FRAME_LENGTH = 0.07  # relative to the size of the robot


class Frame(NamedTuple):
    """A robot at one time, in the world of the drawing."""

    t: float | None  # [s]; None: without a time
    q: Array  # (ndof,)
    g: Array  # (n_stations, 4, 4) poses of the stations of its geometry
    tensions: Array  # (n_tendons,) of the drawn tendons [N]; empty where inputs are unknown
    wrenches: Wrenches  # of the kinds that are drawn


class RobotVisual:
    """A robot along its motion.

    Parameters
    ----------
    robot : Robot
    motion : Motion, optional
        Default: it is drawn at coordinates without rates.
    tint : str
        Code of one colour for all of it; "": those of its parts.
    offset : (3,) ndarray, optional
        Where in the drawing the world of this robot lies [m].
    resolution : (int, int)
        Sections along each rod, at least, and points around one.
    tendons : bool
        Whether tendons are drawn.

    Attributes
    ----------
    geometry : Geometry
    states : (n, ndof) array
        Those that camera, floor and colours suit; see `fit`.
    """

    def __init__(
        self, robot: Robot, motion: Motion | None = None, *, tint: str = "", offset: Array | None = None,
        resolution: tuple[int, int] = FINE, tendons: bool = True,
    ) -> None:  # fmt: skip
        self.robot, self.motion, self.tint = robot, motion, tint
        self.offset = np.zeros(3) if offset is None else offset
        self.geometry = Geometry(robot, *resolution, tendons=tendons)
        names = [part.name for part in self.geometry.parts if part.kind == TENDON]
        self._columns = [robot.actuator_names.index(name) for name in names]
        self.states, self._tensions = np.zeros((0, robot.ndof)), np.zeros((0, 0))

    def fit(self, states: Array | None = None, inputs: Array | None = None) -> Array:
        """Take states (n, ndof) and inputs to suit; default: those of the motion. Returns the states."""
        if states is None:
            assert self.motion is not None
            _, states, inputs = self.motion.samples(FITTED_STATES)
        self.states = states
        if inputs is not None:
            rows = zip(np.broadcast_to(states, (len(inputs), states.shape[1])), inputs, strict=True)
            self._tensions = np.array([self._tension(q, u) for q, u in rows])
        return states

    def _tension(self, q: Array, u: Array) -> Array:
        return self.robot.engine.tensions(q, u)[self._columns] if self._columns else np.zeros(0)

    def frame(self, q: Array, u: Array | None, t: float | None, kinds: Collection[str] = ()) -> Frame:
        """The robot at coordinates q under inputs u at time t, with wrenches of some kinds."""
        g = np.array(self.geometry.poses(q))
        g[:, :3, 3] += self.offset
        return Frame(t, q, g, np.zeros(0) if u is None else self._tension(q, u), self.wrenches(q, u, t, kinds))

    def frames(self, times: Array, kinds: Collection[str] = ()) -> list[Frame]:
        """The robot at times (n,) of its motion."""
        assert self.motion is not None
        rows = zip(times, *sample(self.motion, times), strict=True)
        return [self.frame(q, u, float(t), kinds) for t, q, u in rows]

    def wrenches(self, q: Array, u: Array | None, t: float | None, kinds: Collection[str]) -> Wrenches:
        """The wrenches of some kinds on it."""
        if not kinds:
            return Wrenches.of(())
        acting = wrenches_at(self.robot, self.motion, q, u, t, kinds)
        return acting._replace(position=acting.position + self.offset)

    def all_wrenches(self, kinds: Collection[str]) -> Iterator[Wrenches]:
        """The wrenches over its whole motion, or at rest in the states that it was fitted to."""
        if not set(kinds) - {CONTACTS} and not (kinds and self.robot.engine.loading.touches):
            return
        resting = ((None, q, None) for q in self.states)
        rows = resting if self.motion is None else zip(*self.motion.samples(SCALED_STATES), strict=True)
        yield from (self.wrenches(q, u, t, kinds) for t, q, u in rows)

    def followed(self, q: Array, name: str | None) -> Array:
        """The point (3,) that a camera follows [m]: of a link, or the centre of mass; None: the world's origin."""
        if name is None:
            return np.zeros(3)
        if name in self.geometry.frames:  # a link may be called like the centre of mass
            return np.asarray(self.robot.pose(q, name, s=0.5)[:3, 3] + self.offset)
        return np.asarray(centre_of_mass(self.robot, q)[0] + self.offset)

    def extent(self, states: Array) -> Array:
        """Points (m n, 3) by which a picture knows what it must hold: m of each of n states (n, ndof)."""
        geometry, chosen = self.geometry, self.geometry.outermost
        # a robot of massless frames has no surface
        points = (geometry.some_points(q, chosen) if len(chosen) else geometry.poses(q)[:, :3, 3] for q in states)
        return np.concatenate(list(points)) + self.offset

    def quantity(self, options: DrawingOptions) -> str:
        """What its colours show."""
        return PLAIN if self.tint else options.colour_of(self.robot)

    def colour_range(self, quantity: str) -> tuple[float, float, int] | None:
        """Least and greatest value that colours show and the number of labels; None where they show nothing."""
        if quantity == TENSION and self._tensions.size:
            return round_range(min(0.0, float(self._tensions.min())), float(self._tensions.max()), False)
        if quantity in STRAINS and self.geometry.centrelines:
            return round_range(*StrainField(self.geometry, quantity).range(self.states), True)
        return None

    @property
    def framed(self) -> IntArray:
        """Stations whose frames are drawn: those of the links, and some along each rod."""
        lines = self.geometry.centrelines.values()
        along = [line[np.linspace(0, len(line) - 1, FRAMES_ALONG).astype(int)] for line in lines]
        return np.unique(np.concatenate([list(self.geometry.frames.values()), *along])).astype(np.int64)

    def trails(self, options: DrawingOptions) -> list[tuple[int, str]]:
        """Stations of the tips that leave trails where these are drawn, and the codes of their colours."""
        stations = self.geometry.tip_stations(options.tips_of(self.robot))
        colours = [self.tint] if self.tint else TRAIL_COLOURS
        return [(int(station), colours[k % len(colours)]) for k, station in enumerate(stations)]

    def paths(self, stations: Sequence[int]) -> tuple[Array, Array]:
        """Times (n,) over the motion, and positions (n, n_stations, 3) of some stations."""
        assert self.motion is not None
        t, q = self.motion.t, np.asarray(self.motion.q, dtype=float)
        some = np.unique(np.linspace(0, len(t) - 1, min(len(t), TRAIL_POINTS)).astype(int))
        places = self.robot.engine.places(tuple(self.geometry.places[k] for k in stations))
        return t[some], np.stack([self.robot.engine.poses_at(places, q[k])[0][:, :3, 3] for k in some]) + self.offset


def coarsened(robots: Sequence[Robot], finest: tuple[int, int], most: int) -> tuple[int, int]:
    """The finest resolution, or a coarser one with which rods have some `most` points in all."""
    along, around = finest
    rods = sum(1 for robot in robots for link in robot.links if link.rod is not None)
    while rods * along * around > most and (along, around) != (LEAST_ALONG, LEAST_AROUND):
        along, around = max(LEAST_ALONG, along * 7 // 8), max(LEAST_AROUND, around * 7 // 8)
    return along, around


def visuals_of(
    group: MotionGroup, view: str, resolution: tuple[int, int] = FINE, tendons: bool = True
) -> list[RobotVisual]:
    """The robots of a group, side by side across a view if the group wants that."""
    rows = zip(group.motions, group.tints, _offsets(group, view), strict=True)
    return [
        RobotVisual(motion.robot, motion, tint=tint, offset=offset, resolution=resolution, tendons=tendons)
        for motion, tint, offset in rows
    ]


def _offsets(group: MotionGroup, view: str) -> list[Array]:
    """By how much each robot is displaced (3,) [m], so that none hides another in a view."""
    if group.layout == OVERLAY:
        return [np.zeros(3)] * len(group.motions)
    right, ends = camera_axes(group.up, check_view(view))[0], []
    for motion in group.motions:
        geometry = Geometry(motion.robot, n_stations=8, n_around=8, tendons=False)
        shapes = (geometry.at(q) for q in motion.samples(FITTED_STATES)[1])
        along = np.concatenate([np.concatenate([shape.points, shape.g[:, :3, 3]]) @ right for shape in shapes])
        ends.append((float(along.min()), float(along.max())))
    low, high = np.array(ends).T
    steps = high[:-1] - low[1:] + GAP * max(high - low)
    return [place * right for place in np.concatenate([[0.0], np.cumsum(steps)])]


class Floor(NamedTuple):
    """A level grid below robots, in two horizontal axes and the vertical."""

    axes: Array  # (3, 3) rows: two horizontal axes and the vertical, world frame
    height: float  # [m]
    step: float  # of the grid [m]
    size: float  # largest extent of what stands on it [m]
    low: Array  # (2,) corners [m]
    high: Array
    lines: Array  # (n, 2 ends, 3)

    @classmethod
    def below(cls, points: Array, up: Array, grounds: Sequence[float] = ()) -> Floor:
        """The floor below points (n, 3), across a vertical: a ground [m] that is near, else a little below them."""
        axes = np.stack([*level_axes(up), up])
        local = points @ axes.T
        least, most = local.min(axis=0), local.max(axis=0)
        size = float((most - least).max()) or 1.0
        near = [height for height in grounds if abs(least[2] - height) <= size]
        height = max(near) - HAIR * size if near else float(least[2]) - 0.04 * size
        step = grid_step(size)
        first, last = np.floor(least[:2] / step - 0.3), np.ceil(most[:2] / step + 0.3)
        (x0, y0), (x1, y1) = step * first, step * last
        xs, ys = (step * np.arange(first[k], last[k] + 0.5) for k in range(2))
        flat = [((x, y0), (x, y1)) for x in xs] + [((x0, y), (x1, y)) for y in ys]
        lines = np.pad(np.array(flat), ((0, 0), (0, 0), (0, 1)), constant_values=height)
        return cls(axes, height, step, size, step * first, step * last, lines)

    @property
    def corners(self) -> Array:
        """Its corners (4, 3), counter-clockwise seen from above."""
        (x0, y0), (x1, y1), z = self.low, self.high, self.height
        return np.asarray(np.array([(x0, y0, z), (x1, y0, z), (x1, y1, z), (x0, y1, z)]) @ self.axes)

    def shadow(self, points: Array, below: float = 0.0) -> Array:
        """Points (n, 3) cast straight down onto the floor, or a little below it (relative to the size)."""
        up = self.axes[2]
        return np.asarray(points + (self.height - below * self.size - points @ up)[:, None] * up)


class Stage:
    """What surrounds robots over their whole motions.

    Attributes
    ----------
    extents : list of (n, 3) arrays
        Points of each robot that a picture must hold [m].
    size : float
        Largest extent of the largest robot [m]: arrows and frames are not to be as large as a row of robots.
    floor : Floor
    obstacles : list of Obstacle
        What the robots may touch.
    """

    def __init__(self, visuals: Sequence[RobotVisual], states: Sequence[Array], up: Array) -> None:
        self.extents = [visual.extent(rows) for visual, rows in zip(visuals, states, strict=True)]
        heights = [height + float(visual.offset @ up) for visual in visuals for height in grounds(visual.robot, up)]
        self.size, self.floor = largest(self.extents), Floor.below(np.concatenate(self.extents), up, heights)
        self.obstacles = [
            obstacle._replace(points=obstacle.points + visual.offset)
            for visual, points in zip(visuals, self.extents, strict=True)
            for obstacle in obstacles(visual.robot, points - visual.offset)
        ]

    def relative(self, followed: Array) -> Array:
        """Points of the first robot beside that which a camera follows (n, 3), at all of n times."""
        return np.asarray((self.extents[0].reshape(len(followed), -1, 3) - followed[:, None]).reshape(-1, 3))

    @property
    def framed(self) -> Array:
        """Points (n, 3) of the obstacles that a picture must show all of."""
        return np.concatenate([np.zeros((0, 3)), *(one.points for one in self.obstacles if one.framed)])


def arrow_scale(visuals: Sequence[RobotVisual], kinds: Collection[str], size: float) -> tuple[ArrowScale, Array]:
    """The scale of the arrows of whole motions in a picture of a size [m], and both ends (n, 3) of all of them."""
    wrenches = [one for visual in visuals for one in visual.all_wrenches(kinds)]
    scale = ArrowScale(wrenches, size)
    return scale, ends_of(scale, wrenches)


def ends_of(scale: ArrowScale, wrenches: Sequence[Wrenches]) -> Array:
    """Both ends (n, 3) of all arrows [m]."""
    ends = [end for one in wrenches for a in scale.arrows(one) for end in (a.starts, a.starts + a.vectors)]
    return np.concatenate([np.zeros((0, 3)), *ends])


def quaternions(g: Array) -> Array:
    """Unit quaternions x, y, z, w of poses (n, ..., 4, 4); neighbours in time never have opposite signs."""
    from scipy.spatial.transform import Rotation

    return without_flips(Rotation.from_matrix(g[..., :3, :3].reshape(-1, 3, 3)).as_quat().reshape(*g.shape[:-2], 4))
