"""Robots in 3D (pyvista): a scene that follows q."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sorosim.robot import Robot
from sorosim.viz.arrows import Arrows
from sorosim.viz.camera import VIEW_ANGLE, Camera, fit_camera, largest, turned, up_axis
from sorosim.viz.colours import ScaleBar, narrowness
from sorosim.viz.drawn import DrawnRobot
from sorosim.viz.forces import Acting, centre_of_mass
from sorosim.viz.look import CENTRE_OF_MASS, Look
from sorosim.viz.meshes import AXIS_COLOURS, Floor
from sorosim.viz.offscreen import load_pyvista
from sorosim.viz.target import LARGEST_SIDE, PICTURES, check_size, motion_of, sample, written
from sorosim.viz.words import INK, Legend, Words, in_font

Array = NDArray[np.float64]
Image = NDArray[np.uint8]

FLOOR, LINES = "#f6f7f9", "#c3c8cf"
# lights that go with the camera: position (right, up, towards us), intensity
LIGHTS = (((-1.0, 1.6, 1.2), 0.68), ((1.5, -0.8, 1.0), 0.32), ((-0.8, -1.5, 1.0), 0.16), ((0.0, 0.0, 1.0), 0.14))
AXES_CORNER = (0.0, 0.0, 0.15, 0.24)  # left, bottom, right, top, as parts of the picture
FITTED_STATES = 60  # of a run, for the camera and the floor
SCALED_STATES = 500  # for the scale of arrows: forces may be short
ORBIT_STEPS = 24  # of a turn, at which an orbiting camera must see everything


class Scene:
    """Robots in 3D. Close it, or use it in a `with` statement.

    Parameters
    ----------
    robot : Robot
    size : (int, int)
        Width and height of the picture [pixels].
    off_screen : bool
        Pictures (default), or a window.
    up : (3,) ndarray, optional
        The vertical, an axis of the world. Default: against gravity.
    **look
        As for `sorosim.viz.look.Look`: view, colour, tendons, floor, axes, frames, trails, tips, contacts, loads,
        joints, gravity, follow, orbit, title.
    """

    # free below and beside the robot, as parts of the picture; beside a bar of colours there is always as much
    margin_below, margin_right, margin_bar = 0.06, 0.05, 0.14

    def __init__(
        self, robot: Robot, *, size: Sequence[int] = (1280, 720), off_screen: bool = True, up: Array | None = None,
        **look: Any,
    ) -> None:  # fmt: skip
        self.robot, self.size, self.look = robot, check_size(size), Look().changed(robot, look)
        pyvista = load_pyvista()
        self._up = up_axis(robot.engine.gravity) if up is None else up
        self._floor: Floor | None = None
        self._off_screen = off_screen
        self._framed = np.zeros((0, 3))  # what the camera must see; where it follows, beside what it follows
        self._ends = np.zeros((0, 3))  # of all arrows
        self._now: tuple[Any, Any, float | None] | None = None  # what is shown: q, u, t
        self._others: dict[int, tuple[Array, Array | None]] = {}  # what further robots show: q, u
        self._bar: ScaleBar | None = None
        self._legend: Legend | None = None
        self._named: list[tuple[str, str]] = []  # names and colours in the legend, before those of arrows
        self._kinds: list[tuple[str, str]] = []
        self._lines: dict[str, tuple[Any, float]] = {}  # actors' properties, widths in a picture 720 pixels high
        self._seen_at = (np.zeros(3), 0.0)  # where the camera has followed to, and how far round it has gone [rad]
        self._shown = True
        self.plotter = pyvista.Plotter(off_screen=off_screen, window_size=self._window(), lighting=None)
        self.plotter.set_background("white")
        # one skin at a time is seen through: sorting layers by depth would only take time
        self.plotter.renderer.SetUseOIT(False)
        if self._finer > 1:
            self.plotter.disable_anti_aliasing()
        for position, intensity in LIGHTS:
            self.plotter.add_light(pyvista.Light(position=position, light_type="camera light", intensity=intensity))
        self.drawn = [DrawnRobot(self.plotter, robot)]
        self._add_axes()
        self.words = Words(self.plotter)
        self.words.say("heading", robot.name if self.look.title is None else self.look.title)
        self._dress()

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the graphics memory back."""
        self.plotter.close()

    # -- what is in it ---------------------------------------------------------------------------------------------

    def _add_axes(self) -> None:
        colours = {f"{x}_color": "#{:02x}{:02x}{:02x}".format(*c) for x, c in zip("xyz", AXIS_COLOURS, strict=True)}
        axes = self.plotter.add_axes(color=INK, xlabel="x", ylabel="y", zlabel="z", viewport=AXES_CORNER, **colours)
        for k in "XYZ":
            self._lines[k] = getattr(axes, f"Get{k}AxisShaftProperty")(), 3.0
            in_font(getattr(axes, f"Get{k}AxisCaptionActor2D")().GetCaptionTextProperty()).SetItalic(False)

    def add_robot(self, robot: Robot, tint: str, offset: Array) -> None:
        """Put a further robot into the scene, in one colour, its world displaced by an offset (3,); before `fit`."""
        self.drawn.append(DrawnRobot(self.plotter, robot, tint, offset, len(self.drawn)))

    def add_legend(self, entries: Sequence[tuple[str, str]]) -> None:
        """Write names beside their colours."""
        self._named = list(entries)
        self._show_legend()

    def _show_legend(self) -> None:
        if self._legend is not None:
            self._legend.remove()
        self._legend = Legend(self.plotter, [*self._named, *self._kinds])
        self._scale()

    # -- how it looks ----------------------------------------------------------------------------------------------

    def change(self, **look: Any) -> None:
        """Show other things, or the same otherwise; see `sorosim.viz.look.Look`. A new view moves the camera."""
        before, self.look = self.look, self.look.changed(self.robot, look)
        self._dress()
        if self.look.colour_of(self.robot) != before.colour_of(self.robot):
            self._set_colours()
        if self.look.forces != before.forces:
            self._set_arrows()
        if self._now is not None:
            self.update(*self._now)
        if "view" in look:
            self.place_camera()
        self._scale()

    def show_robots(self, shown: bool) -> None:
        """Show the robots, or only what stands around them."""
        self._shown = shown
        self._dress()
        for drawn in self.drawn:
            drawn.show_arrows(shown)

    def tint(self, colour: str) -> None:
        """Give all robots one colour (its code); "": the usual ones."""
        for drawn in self.drawn:
            drawn.tint(colour)
        self._set_colours()
        self._dress()

    def _dress(self) -> None:
        """Let the actors follow the look."""
        look, floor = self.look, self._floor
        for drawn in self.drawn:
            drawn.dress(look, floor is not None, self._shown)
        for name in ("floor", "grid"):
            if name in self.plotter.actors:
                self.plotter.actors[name].visibility = look.floor
        self.words.say("grid", f"grid {floor.step:g} m" if floor is not None and look.floor else "")
        (self.plotter.show_axes if look.axes else self.plotter.hide_axes)()

    def _set_colours(self) -> None:
        """Set range and bar of the colours for what must be seen."""
        if self._bar is not None:
            self._bar.remove()
        self._bar = None
        found = self.drawn[0].colour(self.look)
        if found is not None:
            self._bar = ScaleBar(self.plotter, *found)

    def _set_arrows(self) -> None:
        """Set the one scale of all arrows, for all that must be seen."""
        if len(self._framed) == 0:
            return
        look, found = self.look, list[tuple[Array, Acting]]()
        for drawn in self.drawn:
            if not drawn.has_forces(look):
                continue
            moments = zip(*drawn.states(SCALED_STATES), strict=True) if drawn.motion is not None else drawn.resting()
            found += [(drawn.offset, drawn.acting(q, u, t, look)) for t, q, u in moments]
        arrows = Arrows([one for _, one in found], self._size)
        ends = [offset + end for offset, one in found for placed in arrows.placed(one) for end in placed.ends]
        self._ends = np.concatenate([np.zeros((0, 3)), *ends])
        for drawn in self.drawn:
            drawn.arrows = arrows if found else None
        self.words.say("scale", arrows.legend)
        if arrows.kinds != self._kinds:
            self._kinds = arrows.kinds
            self._show_legend()

    # -- what it shows ---------------------------------------------------------------------------------------------

    def fit(self, states: ArrayLike, inputs: ArrayLike | None = None) -> None:
        """Set camera, floor and colours so that they suit a whole motion.

        Parameters
        ----------
        states : (n, ndof) array_like
        inputs : (n, n_actuators) array_like, optional
        """
        given = np.atleast_2d(np.asarray(states, dtype=float))
        self.drawn[0].prepare(given, None if inputs is None else np.atleast_2d(np.asarray(inputs, dtype=float)))
        self._fit([given])

    def _fit(self, states: Sequence[Array]) -> None:
        seen = [drawn.seen(rows) for drawn, rows in zip(self.drawn, states, strict=True)]
        every = np.concatenate(seen)
        # of the largest robot: frames and arrows beside many must not be as large as their row
        self._size = largest(seen)
        self._floor = Floor(every, self._up)
        # the floor belongs to the picture, whether it is drawn now or later
        self._framed = np.concatenate([every, self._floor.shadow(every)]) if self.look.floor else every
        if self.look.follow is not None:
            # the robot beside what is followed, at all times
            points = seen[0].reshape(len(states[0]), -1, 3)
            self._framed = (points - self._paths_followed(states[0])[:, None]).reshape(-1, 3)
            self._size = float(np.ptp(self._framed, axis=0).max()) or 1.0
        for drawn, mine in zip(self.drawn, seen, strict=True):
            drawn.frames.length = 0.07 * self._size
            if drawn.robot.engine.loading.touches:
                framed = drawn.add_obstacles(mine)
                if self.look.contacts and self.look.follow is None:
                    self._framed = np.concatenate([self._framed, framed])
        self.plotter.add_mesh(self._floor.plane, color=FLOOR, name="floor", lighting=False, reset_camera=False)
        grid = self.plotter.add_mesh(self._floor.grid, color=LINES, name="grid", lighting=False, reset_camera=False)
        self._lines["grid"] = grid.prop, 1.2
        self._set_colours()
        self._set_arrows()
        self._dress()
        self.place_camera()
        self._scale()

    def fit_run(self, run: Any) -> None:
        """As `fit`, for a run."""
        self.fit_runs([run])

    def fit_runs(self, runs: Sequence[Any], times: Array | None = None) -> None:
        """As `fit`, for the runs of all robots in the scene; the camera may suit some times only."""
        states = []
        for drawn, run in zip(self.drawn, runs, strict=True):
            drawn.motion = motion_of(run)
            _, q, u = drawn.states(FITTED_STATES)
            drawn.prepare(q, u)
            states.append(q if times is None else sample(drawn.motion, times)[0])
        self._fit(states)

    def update(self, q: ArrayLike, u: ArrayLike | Mapping[str, float] | None = None, t: float | None = None) -> None:
        """Show the robot at coordinates q (ndof,), its tendons coloured by their tensions under inputs u, and t [s].

        Further robots are shown where their motions have them at time t.
        """
        position = self.robot.coordinates(q)
        inputs = None if u is None else self.robot.inputs(u)
        if len(self._framed) == 0:
            self.fit(position, inputs)
        self._now = (q, u, t)
        self.drawn[0].update(position, inputs, t, self.look, self._floor)
        for drawn in self.drawn[1:]:
            assert drawn.motion is not None  # `fit_runs` comes first
            at, tension = sample(drawn.motion, np.array([drawn.motion.t[0] if t is None else t]))
            drawn.update(at[0], tension[0], t, self.look, self._floor)
        self.words.say("clock", "" if t is None else f"t = {t:.2f} s")
        self._move_camera()
        # near and far planes follow the robot, else they cut it
        self.plotter.reset_camera_clipping_range()

    @property
    def _finer(self) -> int:
        """How much finer than the picture we draw, for smooth edges; VTK's own ways are slower without a card."""
        return 2 if self._off_screen and max(self.size) <= LARGEST_SIDE // 2 else 1

    def _window(self) -> list[int]:
        return [self._finer * side for side in self.size]

    def _resize(self, size: tuple[int, int]) -> None:
        self.size = size
        self.plotter.window_size = self._window()
        self.place_camera()
        self._scale()

    # -- the camera ------------------------------------------------------------------------------------------------

    def _followed(self, q: Array) -> Array:
        """The point that the camera follows [m]; the world's origin if none."""
        name = self.look.follow
        if name is None:
            return np.zeros(3)
        if name in self.drawn[0].geometry.frames:  # a link may be called like the centre of mass
            at: Array = self.robot.pose(q, name, 0.5)[:3, 3]
            return at
        assert name == CENTRE_OF_MASS
        return centre_of_mass(self.robot, q)[0]

    def _paths_followed(self, states: Array) -> Array:
        return np.stack([self._followed(q) for q in states])

    def _wanted(self) -> tuple[Array, float]:
        """Where the camera should have followed to by now, and how far round it should have gone [rad]."""
        q, _, t = self._now if self._now is not None else (None, None, None)
        at = np.zeros(3) if q is None else self._followed(self.robot.coordinates(q))
        return at, np.deg2rad(self.look.orbit) * (0.0 if t is None else t)

    def _move_camera(self) -> None:
        """Follow and go round from where the camera is: whoever has turned the view keeps it."""
        (at, angle), (before, turn) = self._wanted(), self._seen_at
        if np.array_equal(at, before) and angle == turn:
            return
        camera, self._seen_at = self.plotter.camera, (at, angle)
        where = (np.array(camera.position), np.array(camera.focal_point), np.array(camera.up))
        self._aim(Camera(*self._gone_round(where, before, angle - turn)), at - before)

    def _gone_round(self, where: Sequence[Array], at: Array, angle: float) -> tuple[Array, Array, Array]:
        centre, up = self._middle + at, self._up
        position, focus, vertical = where
        return (
            turned(position, centre, up, angle), turned(focus, centre, up, angle),
            turned(vertical, np.zeros(3), up, angle),
        )  # fmt: skip

    @property
    def _middle(self) -> Array:
        """What an orbiting camera goes round, beside what it follows."""
        middle: Array = 0.5 * (self._framed.min(axis=0) + self._framed.max(axis=0))
        return middle

    def _aim(self, where: Camera, shift: Array) -> None:
        camera = self.plotter.camera
        camera.position, camera.focal_point = tuple(where.position + shift), tuple(where.focus + shift)
        camera.up = tuple(where.up)

    def place_camera(self) -> None:
        """Put the camera where the view of the look is, all in sight."""
        beside = self.margin_right if self._bar is None else self.margin_bar * narrowness(self.size)
        margins = (0.05, beside, self.margin_below, 0.12)
        points = np.concatenate([self._framed, self._ends]) if self.look.follow is None else self._framed
        if self.look.orbit:
            some = points[:: max(1, len(points) // 4000)]
            angles = 2.0 * np.pi * np.arange(ORBIT_STEPS) / ORBIT_STEPS
            points = np.concatenate([turned(some, self._middle, self._up, angle) for angle in angles])
        where = fit_camera(points, self._up, self.look.view, self.size[0] / self.size[1], margins)
        at, angle = self._seen_at = self._wanted()
        self._aim(Camera(*self._gone_round(where, np.zeros(3), angle)), at)
        self.plotter.camera.view_angle = VIEW_ANGLE
        self.plotter.reset_camera_clipping_range()

    def _scale(self) -> None:
        """Set the sizes of letters and lines for the size of the picture."""
        scale = self._finer * self.size[1] / 720.0
        self.words.scale(scale)
        if self._bar is not None:
            self._bar.scale(scale, self.size)
        if self._legend is not None:
            self._legend.scale(scale, self._window())
        for lines in (self._lines, *(drawn.lines for drawn in self.drawn)):
            for line, width in lines.values():
                line.SetLineWidth(width * scale)

    # -- pictures --------------------------------------------------------------------------------------------------

    def image(self) -> Image:
        """The picture (height, width, 3)."""
        return self.reduced(self.fine_image())

    def fine_image(self) -> Image:
        """The picture as it is drawn, finer than it is wanted."""
        if len(self._framed) == 0:
            self.update(self.robot.initial_q)
        self.plotter.render()
        return np.asarray(self.plotter.screenshot(return_img=True))

    def reduced(self, fine: Image) -> Image:
        """A picture of the wanted size from a finer one."""
        from PIL import Image

        return fine if self._finer == 1 else np.asarray(Image.fromarray(fine).reduce(self._finer))

    def still(self, path: str | os.PathLike[str], size: Sequence[int] | None = None) -> None:
        """Write the picture to a file, in another size if wanted.

        Raises
        ------
        InputError
            The suffix is none of a picture, or the size is none.
        FileError
            The file cannot be written.
        """
        before, wanted = self.size, self.size if size is None else check_size(size)
        with written(path, PICTURES) as draft:
            import imageio.v3

            if len(self._framed) == 0:
                self.update(self.robot.initial_q)
            try:
                self._resize(wanted)
                imageio.v3.imwrite(draft, self.image())
            finally:
                self._resize(before)
