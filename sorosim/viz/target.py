"""What pictures, movies and plots share at the door: files to write, sizes, times, links."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.errors import FileError, InputError, nearest
from sorosim.robot import Robot
from sorosim.viz.look import Look

Array = NDArray[np.float64]

LARGEST_SIDE = 8192  # pixels
PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")


class Motion(NamedTuple):
    """As much of a result as pictures need; an equilibrium is a motion of one state, without time."""

    robot: Robot
    t: Array  # (n,)
    q: Array  # (n, ndof)
    u: Array  # (n, n_actuators)
    timed: bool
    source: Any  # the run or equilibrium itself

    def look(self, options: Mapping[str, Any]) -> Look:
        """How it is drawn by these options, refusing what it cannot show."""
        if options.get("trails") and not self.timed:
            raise InputError("trails", "a run", "an equilibrium")
        return Look().changed(self.robot, options)


def motion_of(result: Any) -> Motion:
    """A run or an equilibrium as a motion."""
    if hasattr(result, "t"):
        return Motion(result.robot, run_times(result), result.q, result.u, True, result)
    q, u = np.asarray(result.q, dtype=float), np.asarray(result.u, dtype=float)
    return Motion(result.robot, np.zeros(1), q[None], u.reshape(1, -1), False, result)


@contextmanager
def written(path: str | os.PathLike[str], suffixes: Sequence[str]) -> Iterator[Path]:
    """Give a draft to write; it takes the place of ``path`` when the block ends well, and vanishes when it does not.

    Raises
    ------
    InputError
        The suffix is none of ``suffixes``.
    FileError
        The file cannot be written.
    """
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        raise InputError("path", "a file name that ends in " + " or ".join(suffixes), f"'{target.name}'")
    if target.is_dir():
        raise FileError(str(path), "cannot be written: it is a folder")
    if not target.parent.is_dir():
        raise FileError(str(path), f"cannot be written: there is no folder '{target.parent}'; make it first")
    draft = target.with_name(f".{target.stem}.part{target.suffix}")
    try:
        # refused now, not after the work
        draft.open("wb").close()
        yield draft
        os.replace(draft, target)
    except OSError as error:
        reason = error.strerror or str(error).strip().partition("\n")[0]
        raise FileError(str(path), f"cannot be written: {reason}") from None
    finally:
        with suppress(OSError):
            draft.unlink()


def check_size(size: Any) -> tuple[int, int]:
    """Return the width and height of a picture, refusing what is none."""
    expected = f"width and height [pixels], whole numbers from 16 to {LARGEST_SIDE}"
    given = list(size) if isinstance(size, Sequence | np.ndarray) and not isinstance(size, str) else [size]
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in given)
    if len(given) != 2 or not whole or not all(16 <= n <= LARGEST_SIDE for n in given):
        raise InputError("size", expected, repr(size))
    return int(given[0]), int(given[1])


def check_link(robot: Robot, link: str | None) -> str:
    """Return the name of a link; None means the last one that has a body."""
    names = [known.name for known in robot.links]
    if link is None:
        return robot.tip_link
    if link not in names:
        raise InputError("link", "the name of a link", f"'{link}'", nearest(str(link), names))
    return link


def run_times(run: Any) -> Array:
    """Times of a run (n,), refusing an empty one."""
    t = np.asarray(run.t, dtype=float)
    if t.size == 0:
        raise InputError("run", "at least one stored time", "an empty run")
    return t


def sample(run: Any, t: Array) -> tuple[Array, Array]:
    """Coordinates and inputs of a run between its stored times: (n, ndof), (n, n_actuators).

    Straight lines: rates of stiff motions, stored at coarse times, would make a cubic overshoot.
    """
    stored = run_times(run)
    k = np.clip(np.searchsorted(stored, t, side="right") - 1, 0, max(len(stored) - 2, 0))
    after = np.minimum(k + 1, len(stored) - 1)
    span = np.where(after > k, stored[after] - stored[k], 1.0)
    weight = np.clip((t - stored[k]) / span, 0.0, 1.0)[:, None]
    q, u = np.asarray(run.q, dtype=float), np.asarray(run.u, dtype=float).reshape(len(stored), -1)
    return q[k] + weight * (q[after] - q[k]), u[k] + weight * (u[after] - u[k])
