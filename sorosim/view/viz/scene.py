"""Robots in 3D (pyvista): a scene that follows q."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sorosim.base.arrays import Array
from sorosim.mechanics.robot import Robot
from sorosim.view.viz.actors import RobotActors, floor_meshes, obstacle_mesh
from sorosim.view.viz.arrows import ArrowScale
from sorosim.view.viz.camera import Camera, fit_camera, least_width, turned, up_axis, view_angle
from sorosim.view.viz.checks import LARGEST_SIDE, PICTURES, PathLike, check_size, written
from sorosim.view.viz.colours import AXIS_COLOURS
from sorosim.view.viz.motion import MotionGroup, motion_of, sample
from sorosim.view.viz.offscreen import load_pyvista
from sorosim.view.viz.options import OCCLUSION_RADIUS, UNITS, DrawingOptions
from sorosim.view.viz.visuals import (
    FINE,
    FRAME_LENGTH,
    MOST_POINTS,
    RobotVisual,
    Stage,
    arrow_scale,
    coarsened,
    visuals_of,
)

Image = NDArray[np.uint8]

INK = "#30343a"
SQUARE = "\u25a0"
# place (parts of the picture), size (points in a picture 720 pixels high), horizontal and vertical justification
PLACES: dict[str, tuple[float, float, float, str, str]] = {
    "heading": (0.02, 0.965, 21.0, "left", "top"),
    "clock": (0.02, 0.915, 18.0, "left", "top"),
    "grid": (0.98, 0.025, 15.0, "right", "bottom"),
    "scale": (0.98, 0.06, 15.0, "right", "bottom"),
    "detail": (0.02, 0.025, 15.0, "left", "bottom"),
}
FLOOR, LINES = "#f6f7f9", "#c3c8cf"
# lights that go with the camera: position (right, up, towards us), intensity
LIGHTS = (((-1.0, 1.6, 1.2), 0.68), ((1.5, -0.8, 1.0), 0.32), ((-0.8, -1.5, 1.0), 0.16), ((0.0, 0.0, 1.0), 0.14))
# what is nearer darkens nothing, relative to the size; samples around a pixel
OCCLUSION_BIAS, OCCLUSION_SAMPLES, OCCLUSION_STRENGTH = 0.002, 32, 1.5
BY_PROCESSOR = ("llvmpipe", "softpipe", "swrast", "swiftshader", "software")  # renderers of OpenGL
AXES_CORNER = (0.0, 0.0, 0.15, 0.24)  # left, bottom, right, top, as parts of the picture
ORBIT_STEPS = 24  # of a turn, at which an orbiting camera must see everything


class Scene:
    """Robots in 3D. Close it, or use it in a `with` statement.

    Parameters
    ----------
    drawn : Robot or MotionGroup
        A robot at coordinates that `update` is given, or robots along their motions.
    size : (int, int)
        Width and height of the picture [pixels].
    **options
        As for `sorosim.view.viz.options.DrawingOptions`: view, colour, tendons, floor, axes, frames, trails, tips,
        contacts, loads, joints, gravity, follow, zoom, orbit, occlusion, title.
    """

    # free below and beside the robot, as parts of the picture; beside a bar of colours there is always as much
    margin_below, margin_right, margin_bar = 0.06, 0.05, 0.14

    def __init__(self, drawn: Robot | MotionGroup, *, size: Sequence[int] = (1280, 720), **options: Any) -> None:
        if isinstance(drawn, MotionGroup):
            self.robot, self._up, self.options = drawn.robot, drawn.up, drawn.check_options(options)
            robots = [motion.robot for motion in drawn.motions]
            resolution = coarsened(robots, FINE, MOST_POINTS)
            visuals, several = visuals_of(drawn, self.options.view, resolution), drawn.several
        else:
            self.robot, self._up = drawn, up_axis(drawn.engine.gravity)
            self.options = DrawingOptions().changed(drawn, options)
            resolution = coarsened([drawn], FINE, MOST_POINTS)
            visuals, several = [RobotVisual(drawn, resolution=resolution)], False
        self.size = check_size(size)
        self._visible = self._shadowed = True
        self._stage: Stage | None = None
        self._framed = np.zeros((0, 3))  # what the camera must see; where it follows, beside what it follows
        self._arrow_ends = np.zeros((0, 3))
        self._now: tuple[Any, Any, float | None] | None = None  # the state that is drawn: q, u, t
        self._bar: ScalarBar | None = None
        self._legend: Legend | None = None
        self._names: list[tuple[str, str]] = []  # names and colours in the legend, before those of arrows
        self.arrow_scale: ArrowScale | None = None
        self._obstacles: list[Any] = []
        self._lines: dict[str, tuple[Any, float]] = {}  # actors' properties, widths in a picture 720 pixels high
        self._camera_at = (np.zeros(3), 0.0)  # the point that the camera follows, and the angle of its orbit [rad]
        self.plotter = load_pyvista().Plotter(off_screen=True, window_size=self._window(), lighting=None)
        self._set_up()
        self.robots = [RobotActors(self.plotter, visual, k) for k, visual in enumerate(visuals)]
        self._add_axes()
        self.annotations = Annotations(self.plotter)
        if resolution != FINE:
            self.annotations.write("detail", "{} sections a rod, {} sides".format(*resolution))
        name = "" if several else self.robot.name
        self.annotations.write("heading", name if self.options.title is None else self.options.title)
        self._apply_options()
        if isinstance(drawn, MotionGroup) and several:
            self.add_legend(list(zip(drawn.names, drawn.tints, strict=True)))

    def _set_up(self) -> None:
        plotter = self.plotter
        plotter.set_background("white")
        # one surface at a time is translucent: sorting layers by depth would only take time
        plotter.renderer.SetUseOIT(False)
        if self._finer > 1:
            plotter.disable_anti_aliasing()
        for position, intensity in LIGHTS:
            plotter.add_light(load_pyvista().Light(position=position, light_type="camera light", intensity=intensity))

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the graphics memory back."""
        self.plotter.close()

    def _add_axes(self) -> None:
        colours = {f"{x}_color": colour for x, colour in zip("xyz", AXIS_COLOURS, strict=True)}
        axes = self.plotter.add_axes(color=INK, xlabel="x", ylabel="y", zlabel="z", viewport=AXES_CORNER, **colours)
        for k in "XYZ":
            self._lines[k] = getattr(axes, f"Get{k}AxisShaftProperty")(), 3.0
            in_font(getattr(axes, f"Get{k}AxisCaptionActor2D")().GetCaptionTextProperty()).SetItalic(False)

    def add_legend(self, entries: Sequence[tuple[str, str]]) -> None:
        """Write names beside their colours."""
        self._names = list(entries)
        self._show_legend()

    def _show_legend(self) -> None:
        if self._legend is not None:
            self._legend.remove()
        kinds = self.arrow_scale.kinds if self.arrow_scale is not None else []
        self._legend = Legend(self.plotter, [*self._names, *kinds])
        self._scale()

    # -- options ---------------------------------------------------------------------------------------------------

    def change(self, **options: Any) -> None:
        """Change options, see `sorosim.view.viz.options.DrawingOptions`. A new view moves the camera."""
        before, self.options = self.options, self.options.changed(self.robot, options)
        self._apply_options()
        if options.keys() & {"occlusion", "zoom"}:
            self._set_occlusion()
        if self.options.colour_of(self.robot) != before.colour_of(self.robot):
            self._set_colours()
        if self.options.forces != before.forces:
            self._set_arrows()
        if options.keys() & {"view", "zoom"}:
            self.place_camera()
        if self._now is not None:
            self.update(*self._now)
        self._scale()

    def _set_occlusion(self) -> None:
        if self._stage is None:
            return
        self.plotter.disable_ssao()  # one that there is does not change
        if not self.options.occlusion:
            return
        # what is seen gets smaller by a zoom, but not the steps of the depth buffer
        reach, bias = OCCLUSION_RADIUS * self._size / self.options.zoom**0.5, OCCLUSION_BIAS * self._size
        self.plotter.enable_ssao(radius=reach, bias=bias, kernel_size=OCCLUSION_SAMPLES, blur=True)
        self.plotter.renderer.GetPass().SetIntensityScale(OCCLUSION_STRENGTH)

    @property
    def renderer_name(self) -> str:
        """What draws, in the words of OpenGL: a graphics card, or a program such as llvmpipe."""
        window = self.plotter.render_window
        window.Render()  # there is no context before
        return str(window.GetState().GetRenderer())

    def occlude_if_fast(self) -> None:
        """Turn ambient occlusion on if the options leave it open and a graphics card draws."""
        if self.options.occlusion is None:
            name = self.renderer_name.lower()
            self.change(occlusion=bool(name) and not any(program in name for program in BY_PROCESSOR))

    def show_robots(self, visible: bool, shadows: bool) -> None:
        """Show the robots or hide them, and their shadows on the floor likewise."""
        self._visible, self._shadowed = visible, shadows
        self._apply_options()
        for robot in self.robots:
            robot.show_arrows(visible)

    def tint(self, colour: str) -> None:
        """Give all robots one colour (its code); "": those of their parts."""
        for robot in self.robots:
            robot.visual.tint = colour
        self._set_colours()
        self._apply_options()

    def _apply_options(self) -> None:
        for robot in self.robots:
            robot.apply(self.options, self._visible, self._shadowed and self._stage is not None)
        for name in ("floor", "grid"):
            if name in self.plotter.actors:
                self.plotter.actors[name].visibility = self.options.floor
        for actor in self._obstacles:
            actor.visibility = self.options.contacts
        floor = f"grid {self._stage.floor.step:g} m" if self._stage is not None and self.options.floor else ""
        self.annotations.write("grid", floor)
        (self.plotter.show_axes if self.options.axes else self.plotter.hide_axes)()

    def _set_colours(self) -> None:
        """Set range and bar of the colours for the whole motion."""
        if self._bar is not None:
            self._bar.remove()
        bar = self.robots[0].set_colours(self.options)
        self._bar = None if bar is None else ScalarBar(self.plotter, *bar)

    def _set_arrows(self) -> None:
        """Set the one scale of all arrows for the whole motion."""
        if self._stage is None:
            return
        before = self.arrow_scale.kinds if self.arrow_scale is not None else []
        visuals = [robot.visual for robot in self.robots]
        self.arrow_scale, self._arrow_ends = arrow_scale(visuals, self.options.forces, self._size)
        self.annotations.write("scale", self.arrow_scale.label)
        if self.arrow_scale.kinds != before:
            self._show_legend()

    # -- state of the picture --------------------------------------------------------------------------------------

    def fit(self, states: ArrayLike, inputs: ArrayLike | None = None) -> None:
        """Suit camera, floor and colours to a whole motion of one robot.

        Parameters
        ----------
        states : (n, ndof) array_like
        inputs : (n, n_actuators) array_like, optional
        """
        u = None if inputs is None else np.atleast_2d(np.asarray(inputs, dtype=float))
        self._fit([self.robots[0].visual.fit(np.atleast_2d(np.asarray(states, dtype=float)), u)])

    def fit_run(self, run: Any) -> None:
        """As `fit`, for a run of the one robot."""
        self.robots[0].visual.motion = motion_of(run)
        self.fit_motions()

    def fit_motions(self, times: Array | None = None) -> None:
        """As `fit`, for the motions of all robots; the camera may suit some times only."""
        states = [robot.visual.fit() for robot in self.robots]
        if times is not None:
            states = [sample(robot.visual.motion, times)[0] for robot in self.robots]
        self._fit(states)

    def _fit(self, states: Sequence[Array]) -> None:
        self._stage = stage = Stage([robot.visual for robot in self.robots], states, self._up)
        self._size, points = stage.size, np.concatenate(stage.extents)
        # the floor belongs to the picture, whether it is drawn now or later
        self._framed = np.concatenate([points, stage.floor.corners]) if self.options.floor else points
        if self.options.follow is not None:
            # the robot beside what is followed, at all times
            self._framed = stage.relative(np.stack([self._followed(q) for q in states[0]]))
            self._size = float(np.ptp(self._framed, axis=0).max()) or 1.0
        elif self.options.contacts:
            self._framed = np.concatenate([self._framed, stage.framed])
        for robot in self.robots:
            robot.triads.length = FRAME_LENGTH * self._size
        for k, obstacle in enumerate(stage.obstacles):
            mesh, style = obstacle_mesh(obstacle)
            actor = self.plotter.add_mesh(mesh, name=f"obstacle{k}", reset_camera=False, render=False, **style)
            actor.prop.interpolation = "phong"
            self._obstacles.append(actor)
        plane, grid = floor_meshes(stage.floor)
        self.plotter.add_mesh(plane, color=FLOOR, name="floor", lighting=False, reset_camera=False)
        lines = self.plotter.add_mesh(grid, color=LINES, name="grid", lighting=False, reset_camera=False)
        self._lines["grid"] = lines.prop, 1.2
        self._set_colours()
        self._set_arrows()
        self._apply_options()
        self._set_occlusion()
        self.place_camera()
        self._scale()

    def update(self, q: ArrayLike, u: ArrayLike | Mapping[str, float] | None = None, t: float | None = None) -> None:
        """Show the robot at coordinates q (ndof,), its tendons coloured by their tensions under inputs u, and t [s].

        Further robots are shown where their motions have them at time t.
        """
        position = self.robot.coordinates(q)
        inputs = None if u is None else self.robot.inputs(u)
        if self._stage is None:
            self.fit(position, inputs)
        assert self._stage is not None
        self._now = (q, u, t)
        self._move_camera()
        for k, robot in enumerate(self.robots):
            if k > 0:
                motion = robot.visual.motion
                assert motion is not None  # of a group
                rows = sample(motion, np.array([motion.t[0] if t is None else t]))
                position, inputs = rows[0][0], rows[1][0]
            frame = robot.visual.frame(position, inputs, t, self.options.forces)
            least, eye = self._least_half_width(frame.g), self._camera.position
            robot.update(frame, self.options, self._stage.floor, self.arrow_scale, least, eye)
        self.annotations.write("clock", "" if t is None else f"t = {t:.2f} s")
        # near and far planes follow the robot, else they cut it
        self.plotter.reset_camera_clipping_range()

    @property
    def _finer(self) -> int:
        """Supersampling factor for smooth edges; VTK's own antialiasing is slower without a graphics card."""
        return 2 if max(self.size) <= LARGEST_SIDE // 2 else 1

    def _window(self) -> list[int]:
        return [self._finer * side for side in self.size]

    def _resize(self, size: tuple[int, int]) -> None:
        self.size = size
        self.plotter.window_size = self._window()
        self.place_camera()
        if self._now is not None:
            self.update(*self._now)
        self._scale()

    # -- the camera ------------------------------------------------------------------------------------------------

    def _followed(self, q: Array) -> Array:
        return self.robots[0].visual.followed(q, self.options.follow)

    def _camera_target(self) -> tuple[Array, float]:
        """The point that the camera follows now, and the angle of its orbit [rad]."""
        q, _, t = self._now if self._now is not None else (None, None, None)
        at = np.zeros(3) if q is None else self._followed(self.robot.coordinates(q))
        return at, self.options.orbit * (0.0 if t is None else t)

    def _move_camera(self) -> None:
        """Follow and orbit."""
        (at, angle), (before, turn) = self._camera_target(), self._camera_at
        if np.array_equal(at, before) and angle == turn:
            return
        self._camera_at = (at, angle)
        self._aim(self._camera.turned(self._middle + before, self._up, angle - turn).shifted(at - before))

    @property
    def _camera(self) -> Camera:
        camera = self.plotter.camera
        return Camera(*(np.array(x) for x in (camera.position, camera.focal_point, camera.up)))

    def _least_half_width(self, g: Array) -> Array:
        """Half-widths (n,) [m] that rods and tendons have at least at poses g (n, 4, 4), so that they are visible."""
        camera = self._camera
        sight = (camera.focus - camera.position) / np.linalg.norm(camera.focus - camera.position)
        half = least_width(self.size[1]) * np.tan(np.deg2rad(self.plotter.camera.view_angle) / 2.0)
        return np.asarray(half * np.maximum((g[:, :3, 3] - camera.position) @ sight, 0.0))

    @property
    def _near(self) -> bool:
        """Whether what the camera follows is in the middle of the picture, however far the rest reaches."""
        return self.options.follow is not None and self.options.zoom != 1.0

    @property
    def _middle(self) -> Array:
        """The centre of orbits, beside the point that is followed."""
        if self._near:
            return np.zeros(3)
        return np.asarray(0.5 * (self._framed.min(axis=0) + self._framed.max(axis=0)))

    def _aim(self, where: Camera) -> None:
        camera = self.plotter.camera
        camera.position, camera.focal_point, camera.up = (tuple(x) for x in where)

    def place_camera(self) -> None:
        """Put the camera where the view is taken from, with everything in sight."""
        right_margin = self.margin_right if self._bar is None else self.margin_bar * narrowness(self.size)
        margins = (0.05, right_margin, self.margin_below, 0.12)
        points = np.concatenate([self._framed, self._arrow_ends]) if self.options.follow is None else self._framed
        if self.options.orbit:
            some = points[:: max(1, len(points) // 4000)]
            angles = 2.0 * np.pi * np.arange(ORBIT_STEPS) / ORBIT_STEPS
            points = np.concatenate([turned(some, self._middle, self._up, angle) for angle in angles])
        where = fit_camera(points, self._up, self.options.view, self.size[0] / self.size[1], margins)
        if self._near:
            where = where.aimed(np.zeros(3))
        at, angle = self._camera_at = self._camera_target()
        self._aim(where.turned(self._middle, self._up, angle).shifted(at))
        self.plotter.camera.view_angle = view_angle(self.options.zoom)
        self.plotter.reset_camera_clipping_range()

    def _scale(self) -> None:
        """Set the sizes of letters and lines for the size of the picture."""
        scale = self._finer * self.size[1] / 720.0
        self.annotations.scale(scale)
        if self._bar is not None:
            self._bar.scale(scale, self.size)
        if self._legend is not None:
            self._legend.scale(scale, self._window())
        for lines in (self._lines, *(robot.lines for robot in self.robots)):
            for line, width in lines.values():
                line.SetLineWidth(width * scale)

    # -- pictures --------------------------------------------------------------------------------------------------

    def image(self) -> Image:
        """The picture (height, width, 3)."""
        return self.reduced(self.fine_image())

    def fine_image(self, occluded: bool = True) -> Image:
        """The picture as it is drawn, finer than its size; or without ambient occlusion, whatever the options say."""
        if self._stage is None:
            self.update(self.robot.initial_q)
        if not occluded:
            self.plotter.disable_ssao()
        self.plotter.render()
        image = np.asarray(self.plotter.screenshot(return_img=True))
        if not occluded:
            self._set_occlusion()
        return image

    def reduced(self, fine: Image) -> Image:
        """A picture of the scene's size from a finer one."""
        from PIL import Image

        return fine if self._finer == 1 else np.asarray(Image.fromarray(fine).reduce(self._finer))

    def still(self, path: PathLike, size: Sequence[int] | None = None) -> None:
        """Write the picture to a file, in another size if there is one.

        Raises
        ------
        InputError
            The suffix is none of a picture, or the size is none.
        FileError
            The file cannot be written.
        """
        before, after = self.size, self.size if size is None else check_size(size)
        with written(path, PICTURES) as draft:
            import imageio.v3

            if self._stage is None:
                self.update(self.robot.initial_q)
            try:
                self._resize(after)
                imageio.v3.imwrite(draft, self.image())
            finally:
                self._resize(before)


# -- annotations ---------------------------------------------------------------------------------------------------


def in_font(text: Any) -> Any:
    """Set a text property in the letters that come with matplotlib, which know more signs than VTK's; returns it."""
    spec = importlib.util.find_spec("matplotlib")
    if spec is not None and spec.origin is not None:
        text.SetFontFamily(4)  # VTK_FONT_FILE
        text.SetFontFile(str(Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"))
    return text


def add_text(plotter: Any, text: str, place: tuple[float, float], colour: str, across: str, up: str) -> Any:
    """Add a text at a place (parts of the picture), justified horizontally and vertically; returns its actor."""
    actor = plotter.add_text(text, position=place, viewport=True, color=colour)
    in_font(actor.prop)
    actor.prop.justification_horizontal, actor.prop.justification_vertical = across, up
    return actor


class Annotations:
    """Texts of a scene by the names of `PLACES`, all empty at first."""

    def __init__(self, plotter: Any) -> None:
        self._texts: dict[str, Any] = {}
        for name, (x, y, _, across, up) in PLACES.items():
            self._texts[name] = add_text(plotter, "", (x, y), INK, across, up)

    def write(self, name: str, text: str) -> None:
        """Write a text."""
        self._texts[name].input = text

    def text(self, name: str) -> str:
        """The present text."""
        return str(self._texts[name].input)

    def scale(self, factor: float) -> None:
        """Set the sizes of the letters, 1 in a picture 720 pixels high."""
        for name, (_, _, points, _, _) in PLACES.items():
            self._texts[name].prop.font_size = round(points * factor)


class Legend:
    """Names beside squares of their colours, at the right of a scene."""

    def __init__(self, plotter: Any, entries: Sequence[tuple[str, str]]) -> None:
        self._plotter, self._rows = plotter, []
        for name, colour in entries:
            pair = ((name, INK), (SQUARE, colour))
            self._rows.append([add_text(plotter, text, (0.98, 0.5), ink, "right", "top") for text, ink in pair])

    def scale(self, factor: float, size: Sequence[int]) -> None:
        """Set the sizes of the letters; factor: 1 in a picture 720 pixels high; size: that of the picture [pixels]."""
        letters = 17.0 * factor
        for k, row in enumerate(self._rows):
            for actor, x in zip(row, (0.98 - 1.5 * letters / size[0], 0.98), strict=True):
                actor.prop.font_size = round(letters)
                actor.position = (x, 0.965 - 0.045 * k)

    def remove(self) -> None:
        """Take it out of the scene."""
        for actor in chain.from_iterable(self._rows):
            self._plotter.remove_actor(actor, render=False)


def narrowness(size: Sequence[int]) -> float:
    """How many times the part of a window of a size is that letters need at its side, 1 in one of 16 to 9."""
    return min(16.0 / 9.0 * size[1] / size[0], 3.0)


class ScalarBar:
    """The colours of a quantity beside their numbers, with its unit."""

    def __init__(self, plotter: Any, mapper: Any, quantity: str, labels: int) -> None:
        place = {"position_x": 0.89, "position_y": 0.3, "width": 0.06, "height": 0.42}
        style = {"vertical": True, "fmt": "%.4g", "color": INK, "n_labels": labels}
        self.title = f"{quantity.replace('_', ' ')} [{UNITS[quantity]}]"
        self._plotter = plotter
        self._actor = plotter.add_scalar_bar(title=f"{self.title}\n", mapper=mapper, **place, **style)
        self._actor.SetTextPad(6)
        self._texts = [in_font(self._actor.GetTitleTextProperty()), in_font(self._actor.GetLabelTextProperty())]

    def scale(self, factor: float, size: Sequence[int]) -> None:
        """Set the sizes of the letters; factor: 1 in a picture 720 pixels high; size: that of the picture [pixels]."""
        part = narrowness(size)
        self._actor.SetPosition(1.0 - 0.11 * part, 0.3)
        self._actor.SetWidth(0.06 * part)
        for text in self._texts:
            text.SetFontSize(round(16.0 * factor))

    def remove(self) -> None:
        """Take it out of the scene."""
        self._plotter.remove_scalar_bar(f"{self.title}\n", render=False)
