"""Stills and movies of runs and equilibria, drawn off screen."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.base.arrays import Array
from sorosim.base.errors import InputError
from sorosim.base.public import public
from sorosim.base.validation import positive
from sorosim.view.viz.checks import FPS, PICTURES, PathLike, check_name, check_size, written
from sorosim.view.viz.motion import MotionGroup, as_group, sample
from sorosim.view.viz.scene import Scene
from sorosim.view.viz.side_view import side_view

Image = NDArray[np.uint8]
Progress = Callable[[int, int], None]

MOVIES = (".mp4", ".gif")
SIDE_VIEW = ".svg"
MOST_IMAGES = 100_000
FADE, TIME = "fade", "time"
GHOSTS = (FADE, TIME)
PALEST = 0.28  # opacity of the oldest moment
TIME_COLOURS, FIRST, LAST = "viridis", 0.08, 0.93


@public
def still(
    result: Any, path: PathLike, *, t: float | Sequence[float] | None = None, ghosts: str = FADE,
    size: Sequence[int] = (1280, 720), **options: Any,
) -> None:  # fmt: skip
    """Write a picture of an equilibrium, or of a run at one time or several.

    Parameters
    ----------
    result : Run or Equilibrium
    path : path-like
        Its suffix says what is written: .png, .jpg, .tif or .bmp, or .svg for a flat side view of few lines.
    t : float or sequence of float, optional
        Time in the run [s]. Default: its end. Several times are drawn over each other, later ones in front.
    ghosts : {"fade", "time"}
        How several times are told apart: earlier ones are paler, or each has the colour of its time.
    size : (int, int)
        Width and height [pixels].
    **options
        Of `sorosim.view.viz.options.DrawingOptions`: view, colour, tendons, floor, axes, frames, trails, tips,
        contacts, loads, joints, gravity, follow, zoom, orbit, occlusion, title. A side view knows trails and tips only.

    Raises
    ------
    InputError
        The run is empty, a time is none of it, or an argument is not as above.
    FileError
        The file cannot be written.
    """
    group = as_group(result)
    times = np.sort(group.check_times(t))
    check_name("ghosts", ghosts, GHOSTS, " or ".join(GHOSTS))
    if ghosts == TIME and group.several:
        raise InputError("ghosts", FADE, f"'{ghosts}'", "the colours of several runs tell them apart")
    checked = group.check_options(options)
    if str(path).lower().endswith(SIDE_VIEW):
        _write_side_view(group, path, times, ghosts, options)
        return
    if checked.occlusion is None:
        options["occlusion"] = True
    many = len(times) > 1
    for name in ("follow", "orbit"):
        if many and getattr(checked, name):
            raise InputError(name, "one time only", f"{len(times)} times", "the camera stands still in such a picture")
    fitted = times if many and not options.get("trails") else None
    with written(path, (*PICTURES, SIDE_VIEW)) as draft, Scene(group, size=size, **options) as scene:
        import imageio.v3

        scene.fit_motions(fitted)
        scene.update(*group.state(float(times[0])))
        imageio.v3.imwrite(draft, _snapshots(scene, group, times, ghosts) if many else scene.image())


def opacities(n: int) -> Array:
    """Opacity of each of n moments, the last one 1."""
    return np.linspace(PALEST, 1.0, n) if n > 1 else np.ones(n)


def time_colours(n: int) -> list[str]:
    """Codes of the colours of n moments."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    scale = colormaps[TIME_COLOURS]
    return [to_hex(scale(x)) for x in np.linspace(FIRST, LAST, n)]


def time_labels(times: Sequence[float] | Array) -> list[str]:
    """Such as "t = 0.5 s"."""
    return [f"t = {t:.4g} s" for t in times]


def _snapshots(scene: Scene, group: MotionGroup, times: Array, ghosts: str) -> Image:
    """The picture of several moments, later ones over earlier ones; the scene must be fitted.

    Layers of pictures, not translucent solids: of each moment only its outside is seen, and the last one is whole.
    The floor and the shadows of all moments lie beneath all of them, since the shadow of a later moment hides nothing.
    """
    colours, opacity = time_colours(len(times)), np.ones(len(times))
    clock = ""
    if ghosts == TIME:
        scene.add_legend(list(zip(time_labels(times), colours, strict=True)))
    else:
        opacity, clock = opacities(len(times)), f"t = {', '.join(f'{t:.4g}' for t in times)} s"

    def drawn() -> tuple[Image, Image]:
        """The picture, and one by which to tell what is empty: occlusion darkens the surroundings a little."""
        picture = scene.fine_image()
        return picture, scene.fine_image(occluded=False) if scene.options.occlusion else picture

    def place(k: int, robots: bool, shadows: bool) -> None:
        if ghosts == TIME:
            scene.tint(colours[k])
        scene.update(*group.state(float(times[k])))
        scene.annotations.write("clock", clock)
        scene.show_robots(robots, shadows)  # last: an update draws arrows anew

    place(0, robots=False, shadows=False)
    whole, empty = drawn()
    out = whole.astype(float)

    def lay(k: int, picture: Image, outline: Image) -> None:
        changed = np.any(outline != empty, axis=2, keepdims=True)
        out[:] += np.where(changed, opacity[k] * (picture - out), 0.0)

    for k in range(len(times) if scene.options.floor else 0):
        place(k, robots=False, shadows=True)
        lay(k, *[scene.fine_image(occluded=False)] * 2)
    for k in range(len(times)):
        place(k, robots=True, shadows=False)
        lay(k, *drawn())
    return scene.reduced(np.asarray(np.rint(out), dtype=np.uint8))


def _write_side_view(group: MotionGroup, path: PathLike, times: Array, ghosts: str, options: Mapping[str, Any]) -> None:
    """Write a side view, as SVG."""
    for name in options:
        if name not in ("trails", "tips"):
            raise InputError("options", "trails or tips of a side view", f"'{name}'", "write a .png file")
    if group.several:
        raise InputError("path", "a .png file for several runs", f"'{path}'")
    motion = group.motions[0]
    path_of_tip = None
    if options.get("trails"):
        link, outputs = (options.get("tips") or [None])[0], motion.robot.outputs
        paths = [outputs.poses(q)[0] if link is None else motion.robot.pose(q, link) for q in motion.q]
        path_of_tip = np.stack(paths)[:, :3, 3]
    colours = time_colours(len(times)) if ghosts == TIME else None
    labels = time_labels(times) if motion.timed and (colours or len(times) > 1) else None
    text = side_view(motion.robot, list(sample(motion, times)[0]), path_of_tip, colours=colours, labels=labels)
    if not text:
        raise InputError("path", "a .png file", f"'{path}'", "the robot has nothing to draw, or too much for this")
    with written(path, (SIDE_VIEW,)) as draft:
        draft.write_text(text, encoding="utf-8")


@public
def movie(
    run: Any, path: PathLike, *, fps: float = 30.0, speed: float = 1.0, size: Sequence[int] = (1280, 720),
    progress: Progress | None = None, **options: Any,
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
    progress : callable, optional
        Called as ``progress(done, total)`` after each picture.
    **options
        Of `sorosim.view.viz.options.DrawingOptions`: view, colour, tendons, floor, axes, frames, trails, tips,
        contacts, loads, joints, gravity, follow, zoom, orbit, occlusion, title.

    Raises
    ------
    InputError
        The run is empty, or an argument is not as above.
    FileError
        The file cannot be written.
    """
    rate, speed, group = FPS.argument("fps", fps), positive("speed", speed), as_group(run)
    t, (width, height) = group.t, check_size(size)
    group.check_options(options)
    if not group.timed:
        raise InputError("run", "a run", "an equilibrium", "still draws equilibria")
    even = (width + width % 2, height + height % 2)
    with written(path, MOVIES) as draft:
        write = _write_mp4
        if draft.suffix.lower() == ".gif":
            write, rate = _write_gif, 100.0 / max(2, round(100.0 / rate))  # in 1/100 s; viewers slow down below two
        n = (t[-1] - t[0]) / speed * rate
        if n > MOST_IMAGES:
            most = f"a movie of at most {MOST_IMAGES} pictures"
            raise InputError("speed", most, f"{n:.2g}", "a larger speed, or less fps")
        times = t[0] + np.arange(int((t[-1] - t[0]) / speed * rate + 1e-6) + 1) * speed / rate
        with Scene(group, size=even, **options) as scene:
            scene.fit_motions()
            scene.occlude_if_fast()
            write(draft, _images(scene, group, times, progress), rate, even)


def _images(scene: Scene, group: MotionGroup, times: Array, progress: Progress | None) -> Iterator[Image]:
    for k, now in enumerate(times):
        scene.update(*group.state(float(now)))
        yield scene.image()
        if progress is not None:
            progress(k + 1, len(times))


def _encoder() -> str:
    """The program ffmpeg: that of the package imageio-ffmpeg, or the machine's own."""
    try:
        import imageio_ffmpeg
    except ImportError:
        if own := shutil.which("ffmpeg"):
            return own
        hint = "pip install 'sorosim[film]', or install ffmpeg; a .gif needs neither"
        raise InputError("movie", "the program ffmpeg, which encodes .mp4 films", "none", hint) from None
    return str(imageio_ffmpeg.get_ffmpeg_exe())


def _write_mp4(path: Path, images: Iterator[Image], fps: float, size: tuple[int, int]) -> None:
    """Write H.264 in the pixel format that browsers play, its index in front."""
    source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r", f"{fps!r}", "-i", "-"]
    target = ["-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "20", "-movflags", "+faststart", str(path)]
    command = [_encoder(), "-y", "-loglevel", "error", *source, *target]
    # a session of its own, so that Ctrl-C reaches this process only
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as coder:
        assert coder.stdin is not None  # for the type checker
        assert coder.stderr is not None
        try:
            for image in images:
                coder.stdin.write(np.ascontiguousarray(image).tobytes())
            coder.stdin.close()
        except BrokenPipeError:
            pass  # it has ended; its error is raised below
        except BaseException:
            coder.kill()
            raise
        finally:
            with suppress(OSError):
                coder.stdin.close()
        message = coder.stderr.read().decode(errors="replace").strip().rpartition("\n")[2]
        if coder.wait() != 0:
            raise OSError(f"ffmpeg ended early ({message or 'without a message'}); is the disk full?")


def _write_gif(path: Path, images: Iterator[Image], fps: float, size: tuple[int, int]) -> None:
    """Write a GIF that repeats for ever."""
    from PIL import Image

    first, *rest = (Image.fromarray(image).quantize(255, dither=Image.Dither.NONE) for image in images)
    first.save(path, save_all=True, append_images=rest, duration=round(1000.0 / fps), loop=0)
