"""The robot in 3D (pyvista): a scene that follows q; stills, movies and a window of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sorosim.door import positive
from sorosim.robot import Robot
from sorosim.viz.camera import VIEW_ANGLE, check_view, fit_camera, grid_step, up_axis
from sorosim.viz.geometry import BODY, ROD, TENDON, Geometry
from sorosim.viz.meshes import AXIS_COLOURS, Floor, Frames, Surface, in_font
from sorosim.viz.offscreen import load_pyvista, require_screen
from sorosim.viz.target import LARGEST_SIDE, check_size, run_times, sample, written

Array = NDArray[np.float64]
Image = NDArray[np.uint8]
Progress = Callable[[int, int], None]

SOFT, SKIN, FLESH = "#ee9170", "#e07c5c", "#f3c9b6"  # rods; their outside and inside where tendons are seen through it
RIGID, CORD = "#93a3b8", "#3b3f46"
SHADOW, FLOOR, LINES, INK = "#dde0e5", "#f6f7f9", "#c3c8cf", "#30343a"
TENSION_COLOURS = "viridis"
MATT = {"ambient": 0.22, "diffuse": 0.9, "specular": 0.12, "specular_power": 14.0}
# lights that go with the camera: position (right, up, towards us), intensity
LIGHTS = (((-1.0, 1.6, 1.2), 0.68), ((1.5, -0.8, 1.0), 0.32), ((-0.8, -1.5, 1.0), 0.16), ((0.0, 0.0, 1.0), 0.14))
AXES_CORNER = (0.0, 0.0, 0.15, 0.24)  # left, bottom, right, top, as parts of the picture
PICTURES, MOVIES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp"), (".mp4", ".gif")
FITTED_STATES = 60  # of a run, for the camera and the floor


class Scene:
    """A robot in 3D. Close it, or use it in a `with` statement.

    Parameters
    ----------
    robot : Robot
    view : {"iso", "front", "side", "top"}
    size : (int, int)
        Width and height of the picture [pixels].
    tendons, frames, floor : bool
        What is drawn beside the links: tendons, the links' frames (x red, y green, z blue), the floor and its grid.
    title : str, optional
        Default: the robot's name.
    off_screen : bool
        Pictures (default), or a window.
    """

    def __init__(
        self, robot: Robot, *, view: str = "iso", size: Sequence[int] = (1280, 720), tendons: bool = True,
        frames: bool = False, floor: bool = True, title: str | None = None, off_screen: bool = True,
    ) -> None:  # fmt: skip
        self.size, self.view, self.robot = check_size(size), check_view(view), robot
        self.geometry = Geometry(robot, tendons=tendons)
        pyvista = load_pyvista()
        self._up = up_axis(robot.engine.gravity)
        self._floor: Floor | None = None
        self._has_floor, self._off_screen = floor, off_screen
        self._framed = np.zeros((0, 3))  # what the camera must see
        self._inputs = [robot.actuator_names.index(part.name) for part in self.geometry.parts if part.kind == TENDON]
        self._bar: Any = None
        self._lines: dict[str, tuple[Any, float]] = {}  # actors' properties, widths in a picture 720 pixels high
        self.plotter = pyvista.Plotter(off_screen=off_screen, window_size=self._window(), lighting=None)
        self.plotter.set_background("white")
        # one skin at a time is seen through: sorting layers by depth would only take time
        self.plotter.renderer.SetUseOIT(False)
        if self._finer > 1:
            self.plotter.disable_anti_aliasing()
        for position, intensity in LIGHTS:
            self.plotter.add_light(pyvista.Light(position=position, light_type="camera light", intensity=intensity))
        self._add_robot()
        self._frames = Frames([self.geometry.frames[link.name] for link in robot.links]) if frames else None
        if self._frames is not None:
            style = {"scalars": "colour", "rgb": True, "lighting": False, "reset_camera": False}
            self._lines["frames"] = self.plotter.add_mesh(self._frames.mesh, **style).prop, 3.0
        self._add_words("" if title == "" else title or robot.name)

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the graphics memory back."""
        self.plotter.close()

    # -- what is in it ---------------------------------------------------------------------------------------------

    def _surface(self, *kinds: str) -> Surface | None:
        parts = [part for part in self.geometry.parts if part.kind in kinds]
        return Surface(parts, self.geometry.n_points) if parts else None

    def _add(self, surface: Surface, **style: Any) -> Any:
        actor = self.plotter.add_mesh(surface.mesh, reset_camera=False, show_scalar_bar=False, **style)
        # the mesh has normals of its own; pyvista's smooth shading would work on a copy
        actor.prop.interpolation = "phong"
        return actor

    def _add_robot(self) -> None:
        rods, bodies, self._tendons = self._surface(ROD), self._surface(BODY), self._surface(TENDON)
        if rods is not None and self._tendons is not None:
            # a skin through which the tendons are seen before the pale inside of the far wall
            self._add(rods, color=FLESH, lighting=False, culling="front")
            self._add(rods, color=SKIN, opacity=0.4, culling="back", **MATT)
        elif rods is not None:
            self._add(rods, color=SOFT, **MATT)
        if bodies is not None:
            self._add(bodies, color=RIGID, **MATT)
        self._cords: Any = None
        if self._tendons is not None:
            self._tendons.paint(np.zeros(len(self._inputs)))
            self._cords = self._add(self._tendons, scalars="value", cmap=TENSION_COLOURS, ambient=0.6, diffuse=0.5)
            self._cords.mapper.scalar_visibility = False
            self._cords.prop.color = CORD
        self._surfaces = [surface for surface in (rods, bodies, self._tendons) if surface is not None]
        self._shade = self._surface(ROD, BODY) if self._has_floor else None
        if self._shade is not None:
            self._add(self._shade, color=SHADOW, lighting=False)

    def _add_words(self, title: str) -> None:
        def text(words: str, x: float, y: float) -> Any:
            actor = self.plotter.add_text(words, position=(x, y), viewport=True, color=INK)
            in_font(actor.prop)
            return actor

        self._heading, self._clock, self._scale = text(title, 0.02, 0.93), text("", 0.02, 0.885), text("", 0.98, 0.025)
        self._scale.prop.justification_horizontal = "right"
        colours = {f"{x}_color": "#{:02x}{:02x}{:02x}".format(*c) for x, c in zip("xyz", AXIS_COLOURS, strict=True)}
        axes = self.plotter.add_axes(color=INK, xlabel="x", ylabel="y", zlabel="z", viewport=AXES_CORNER, **colours)
        for k in "XYZ":
            self._lines[k] = getattr(axes, f"Get{k}AxisShaftProperty")(), 3.0
            in_font(getattr(axes, f"Get{k}AxisCaptionActor2D")().GetCaptionTextProperty()).SetItalic(False)

    def _colour_range(self, low: float, high: float) -> None:
        """Tension colours between round numbers."""
        step = grid_step(max(high - low, 1e-3 * abs(high)) or 1.0)
        first = np.floor(low / step + 1e-9)
        last = max(np.ceil(high / step - 1e-9), first + 1.0)
        mapper = self._cords.mapper
        mapper.scalar_range, mapper.scalar_visibility = (step * first, step * last), True
        if self._bar is None:
            place = {"position_x": 0.89, "position_y": 0.3, "width": 0.06, "height": 0.42}
            style = {"vertical": True, "fmt": "%.4g", "color": INK}
            self._bar = self.plotter.add_scalar_bar(title="tension [N]\n", mapper=mapper, **place, **style)
            self._bar.SetTextPad(6)
            in_font(self._bar.GetTitleTextProperty())
            in_font(self._bar.GetLabelTextProperty())
        self._bar.SetNumberOfLabels(round(last - first) + 1)

    # -- what it shows ---------------------------------------------------------------------------------------------

    def fit(self, states: ArrayLike, inputs: ArrayLike | None = None) -> None:
        """Set camera, floor and colours so that they suit a whole motion.

        Parameters
        ----------
        states : (n, ndof) array_like
        inputs : (n, n_actuators) array_like, optional
        """
        # every seventh point will do for what is seen, seven being no divisor of the numbers around
        some = np.concatenate([np.zeros(0, dtype=np.int64), *(surface.index for surface in self._surfaces)])[::7]
        shapes = [self.geometry.at(q) for q in np.atleast_2d(np.asarray(states, dtype=float))]
        # a robot of massless frames has no surface
        seen = np.concatenate([shape.points[some] if len(some) else shape.g[:, :3, 3] for shape in shapes])
        self._framed = seen
        if self._frames is not None:
            self._frames.length = 0.1 * (float(np.ptp(seen, axis=0).max()) or 1.0)
        if self._has_floor:
            self._floor = Floor(seen, self._up)
            self._framed = np.concatenate([seen, self._floor.shadow(seen)])
            style = {"lighting": False, "reset_camera": False}
            self.plotter.add_mesh(self._floor.plane, color=FLOOR, name="floor", **style)
            self._lines["grid"] = self.plotter.add_mesh(self._floor.grid, color=LINES, name="grid", **style).prop, 1.2
            self._scale.input = f"grid {self._floor.step:g} m"
        if inputs is not None and self._inputs:
            values = np.atleast_2d(np.asarray(inputs, dtype=float))[:, self._inputs]
            self._colour_range(min(0.0, float(values.min())), float(values.max()))
        self._lay_out()

    def fit_run(self, run: Any) -> None:
        """As `fit`, for a run."""
        t = run_times(run)
        self.fit(*sample(run, np.linspace(t[0], t[-1], min(len(t), FITTED_STATES))))

    def update(self, q: ArrayLike, u: ArrayLike | Mapping[str, float] | None = None, t: float | None = None) -> None:
        """Show the robot at coordinates q (ndof,), its tendons coloured by inputs u, and the time t [s]."""
        if len(self._framed) == 0:
            self.fit(self.robot.coordinates(q), None if u is None else self.robot.inputs(u))
        shape = self.geometry.at(q)
        for surface in self._surfaces:
            surface.update(shape.points, shape.normals)
        if self._frames is not None:
            self._frames.update(shape.g)
        if self._shade is not None and self._floor is not None:
            self._shade.update(self._floor.shadow(shape.points))
        if u is not None and self._tendons is not None:
            self._tendons.paint(self.robot.inputs(u)[self._inputs])
        self._clock.input = "" if t is None else f"t = {t:.2f} s"
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
        self._lay_out()

    def _lay_out(self) -> None:
        """Set camera, letters and lines for the present size."""
        margins = (0.05, 0.05 if self._bar is None else 0.14, 0.06, 0.12)
        where = fit_camera(self._framed, self._up, self.view, self.size[0] / self.size[1], margins)
        camera = self.plotter.camera
        camera.position, camera.focal_point, camera.up = (tuple(vector) for vector in where)
        camera.view_angle = VIEW_ANGLE
        self.plotter.reset_camera_clipping_range()
        scale = self._finer * self.size[1] / 720.0
        for text, points in ((self._heading, 21.0), (self._clock, 18.0), (self._scale, 15.0)):
            text.prop.font_size = round(points * scale)
        if self._bar is not None:
            self._bar.GetTitleTextProperty().SetFontSize(round(16.0 * scale))
            self._bar.GetLabelTextProperty().SetFontSize(round(16.0 * scale))
        for line, width in self._lines.values():
            line.SetLineWidth(width * scale)

    def image(self) -> Image:
        """The picture (height, width, 3)."""
        from PIL import Image

        if len(self._framed) == 0:
            self.update(self.robot.initial_q)
        self.plotter.render()
        drawn = self.plotter.screenshot(return_img=True)
        return np.asarray(drawn if self._finer == 1 else Image.fromarray(drawn).reduce(self._finer))

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


# -- movies ------------------------------------------------------------------------------------------------------


def movie(
    run: Any, path: str | os.PathLike[str], *, fps: float = 30.0, speed: float = 1.0, size: Sequence[int] = (1280, 720),
    view: str = "iso", progress: Progress | None = None, **look: Any,
) -> None:  # fmt: skip
    """Write a run as a movie, .mp4 or .gif by the suffix of the path.

    Parameters
    ----------
    run : Run
    path : path-like
    fps : float
        Pictures per second. A GIF can only have 50, 33.3, 25, 20..., and gets the nearest.
    speed : float
        Seconds of the run per second of the movie.
    size : (int, int)
        Width and height [pixels]; odd numbers grow by one.
    view : {"iso", "front", "side", "top"}
    progress : callable, optional
        Called as ``progress(done, total)`` after each picture.
    **look
        As for `Scene`: tendons, frames, floor, title.

    Raises
    ------
    InputError
        The run is empty, or an argument is not as above.
    FileError
        The file cannot be written.
    """
    rate, speed = positive("fps", fps), positive("speed", speed)
    t, (width, height) = run_times(run), check_size(size)
    even = (width + width % 2, height + height % 2)
    with written(path, MOVIES) as draft:
        write = _write_mp4
        if draft.suffix.lower() == ".gif":
            write, rate = _write_gif, 100.0 / max(2, round(100.0 / rate))  # in 1/100 s; viewers slow down below two
        times = t[0] + np.arange(int((t[-1] - t[0]) / speed * rate + 1e-6) + 1) * speed / rate
        with Scene(run.robot, view=view, size=even, **look) as scene:
            scene.fit_run(run)
            write(draft, _images(scene, run, times, progress), rate, even)


def _images(scene: Scene, run: Any, times: Array, progress: Progress | None) -> Iterator[Image]:
    q, u = sample(run, times)
    for k, now in enumerate(times):
        scene.update(q[k], u[k], float(now))
        yield scene.image()
        if progress is not None:
            progress(k + 1, len(times))


def _write_mp4(path: Path, images: Iterator[Image], fps: float, size: tuple[int, int]) -> None:
    """Write H.264 in the pixel format that browsers play, its index in front."""
    import imageio_ffmpeg

    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r", f"{fps!r}", "-i", "-"]
    wanted = ["-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "20", "-movflags", "+faststart", str(path)]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error", *given, *wanted]
    # a session of its own: Ctrl-C is for us
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as coder:
        assert coder.stdin is not None  # for the type checker
        assert coder.stderr is not None
        try:
            for image in images:
                coder.stdin.write(np.ascontiguousarray(image).tobytes())
            coder.stdin.close()
        except BrokenPipeError:
            pass  # it has ended, and says below why
        except BaseException:
            coder.kill()
            raise
        finally:
            with suppress(OSError):
                coder.stdin.close()
        words = coder.stderr.read().decode(errors="replace").strip().rpartition("\n")[2]
        if coder.wait() != 0:
            raise OSError(f"ffmpeg ended early ({words or 'without a word'}); is the disk full?")


def _write_gif(path: Path, images: Iterator[Image], fps: float, size: tuple[int, int]) -> None:
    """Write a GIF that repeats for ever."""
    from PIL import Image

    first, *rest = (Image.fromarray(image).quantize(255, dither=Image.Dither.NONE) for image in images)
    first.save(path, save_all=True, append_images=rest, duration=round(1000.0 / fps), loop=0)


def play(run: Any, *, speed: float = 1.0, view: str = "iso", size: Sequence[int] = (1280, 720), **look: Any) -> None:
    """Show a run in a window: space plays and pauses, the slider goes to a time, the mouse turns the view, q closes.

    Raises
    ------
    SorosimError
        There is no screen.
    """
    run_times(run)
    require_screen()
    from sorosim.viz.player import Player

    Player(run, speed=speed, view=view, size=size, **look).show()
