"""Stills and movies of runs and equilibria, drawn off screen."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.door import number, positive
from sorosim.errors import InputError
from sorosim.viz.scene import Scene
from sorosim.viz.target import PICTURES, check_size, motion_of, run_times, sample, written

Array = NDArray[np.float64]
Image = NDArray[np.uint8]
Progress = Callable[[int, int], None]

MOVIES = (".mp4", ".gif")
MOST_IMAGES = 100_000


def still(
    result: Any, path: str | os.PathLike[str], *, t: float | None = None, size: Sequence[int] = (1280, 720), **look: Any
) -> None:
    """Write a picture of an equilibrium, or of a run at one time.

    Parameters
    ----------
    result : Run or Equilibrium
    path : path-like
        Its suffix says what is written: .png, .jpg, .tif or .bmp.
    t : float, optional
        Time in the run [s]. Default: its end.
    size : (int, int)
        Width and height [pixels].
    **look
        As for `sorosim.viz.look.Look`: view, colour, tendons, floor, axes, frames, trails, contacts, title.

    Raises
    ------
    InputError
        The run is empty, the time is none of it, or an argument is not as above.
    FileError
        The file cannot be written.
    """
    motion = motion_of(result)
    if t is not None and not motion.timed:
        raise InputError("t", "no time for an equilibrium", f"{t}")
    times = run_times(motion)
    time = float(times[-1]) if t is None else number("t", t)
    if not times[0] <= time <= times[-1]:
        raise InputError("t", f"a time from {times[0]:g} to {times[-1]:g} s", f"{time:g}")
    motion.look(look)
    q, u = sample(motion, np.array([time]))
    with written(path, PICTURES) as draft, Scene(motion.robot, size=size, **look) as scene:
        scene.fit_run(motion)
        scene.update(q[0], u[0], time if motion.timed else None)
        scene.still(draft)


def movie(
    run: Any, path: str | os.PathLike[str], *, fps: float = 30.0, speed: float = 1.0, size: Sequence[int] = (1280, 720),
    progress: Progress | None = None, **look: Any,
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
    **look
        As for `sorosim.viz.look.Look`: view, colour, tendons, floor, axes, frames, trails, contacts, title.

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
        n = (t[-1] - t[0]) / speed * rate
        if n > MOST_IMAGES:
            most = f"a movie of at most {MOST_IMAGES} pictures"
            raise InputError("speed", most, f"{n:.2g}", "a larger speed, or less fps")
        times = t[0] + np.arange(int((t[-1] - t[0]) / speed * rate + 1e-6) + 1) * speed / rate
        with Scene(run.robot, size=even, **look) as scene:
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
