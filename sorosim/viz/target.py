"""What pictures, movies and plots share at the door: files to write, sizes, times, links."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sorosim.errors import InputError, nearest
from sorosim.io.writing import check_path, check_target, unwritable
from sorosim.robot import Robot
from sorosim.validation import describe, number

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


def motion_of(result: Any) -> Motion:
    """A run or an equilibrium as a motion."""
    if isinstance(result, Motion):
        return result
    if not (hasattr(result, "robot") and hasattr(result, "q")):
        raise InputError("result", "a run or an equilibrium", describe(result))
    if hasattr(result, "t"):
        return Motion(result.robot, run_times(result), result.q, result.u, True, result)
    q, u = np.asarray(result.q, dtype=float), np.asarray(getattr(result, "u", np.zeros(0)), dtype=float)
    if q.ndim != 1:
        raise InputError("result", "a run or an equilibrium", describe(result), "its equilibrium(i) is one")
    return Motion(result.robot, np.zeros(1), q[None], u.reshape(1, -1), False, result)


class Instant(NamedTuple):
    """A robot at one moment of a motion."""

    t: float
    q: Array  # (ndof,)
    qd: Array  # (ndof,)
    u: Array  # (n_actuators,)
    lam: Array | None  # (n_multipliers,) of loops, if known
    driven: dict[str, float]  # generalised force of each driven coordinate


def instant(robot: Robot, motion: Motion | None, q: Array, u: Array | None, t: float | None) -> Instant:
    """The moment t of a motion, or its end nearest to t, at given coordinates and inputs.

    Without a motion the robot rests, its loops unknown.
    """
    time, zero = 0.0 if t is None else t, np.zeros(robot.ndof)
    inputs = np.zeros(len(robot.actuator_names)) if u is None else u
    if motion is None:
        return Instant(time, q, zero, inputs, None, {})
    time = float(np.clip(time, motion.t[0], motion.t[-1]))  # what has ended before others rests with its last loads
    source, at = motion.source, between(motion.t, np.array([time]))

    def value(table: Any) -> Array:
        rows = np.asarray(table, dtype=float)
        return np.asarray(at.of(rows.reshape(len(motion.t), -1))[0])

    qd = value(source.qd) if motion.timed and hasattr(source, "qd") else zero
    lam = value(source.lam) if hasattr(source, "lam") else None
    driven = {name: float(value(force)[0]) for name, force in getattr(source, "driven", {}).items()}
    return Instant(time, q, qd, inputs, lam, driven)


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
    check_path(path)
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        raise InputError("path", "a file name that ends in " + " or ".join(suffixes), f"'{target.name}'")
    draft = target.with_name(f".{target.stem}.part{target.suffix}")
    try:
        check_target(target)
        # refused now, not after the work
        draft.open("wb").close()
        yield draft
        os.replace(draft, target)
    except OSError as error:
        raise unwritable(path, error) from None
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


class Between(NamedTuple):
    """Times between stored rows: the rows before and after, and the weight of the latter."""

    before: NDArray[np.int64]
    after: NDArray[np.int64]
    weight: Array

    def of(self, table: Array) -> Array:
        """Values (n, ...) between rows of a table (n_stored, ...)."""
        weight = self.weight.reshape(-1, *[1] * (table.ndim - 1))
        return np.asarray(table[self.before] + weight * (table[self.after] - table[self.before]))


def between(stored: Array, t: Array) -> Between:
    """Where times (n,) lie between stored ones, the first or last where they lie outside."""
    k = np.clip(np.searchsorted(stored, t, side="right") - 1, 0, max(len(stored) - 2, 0))
    after = np.minimum(k + 1, len(stored) - 1)
    span = np.where(after > k, stored[after] - stored[k], 1.0)
    return Between(k, after, np.clip((t - stored[k]) / span, 0.0, 1.0))


def sample(run: Any, t: Array) -> tuple[Array, Array]:
    """Coordinates and inputs of a run between its stored times: (n, ndof), (n, n_actuators).

    Straight lines: rates of stiff motions, stored at coarse times, would make a cubic overshoot.
    """
    stored = run_times(run)
    at, q = between(stored, t), np.asarray(run.q, dtype=float)
    return at.of(q), at.of(np.asarray(run.u, dtype=float).reshape(len(stored), -1))


class Timed(Protocol):
    """What has times, or rests."""

    @property
    def t(self) -> Array: ...
    @property
    def timed(self) -> bool: ...


def check_times(motion: Timed, t: Any) -> Array:
    """Times (n,) in a motion: one, several, or None for its end."""
    if t is None:
        end: Array = motion.t[-1:]
        return end
    if not motion.timed:
        raise InputError("t", "no time for an equilibrium", f"{t}")
    if np.ndim(t) == 0:
        t = number("t", t)
    try:
        times = np.atleast_1d(np.asarray(t, dtype=float))
    except (TypeError, ValueError):
        raise InputError("t", "a time or several [s]", describe(t)) from None
    if times.ndim != 1 or times.size == 0:
        raise InputError("t", "a time or several [s]", f"shape {times.shape}")
    first, last = motion.t[0], motion.t[-1]
    slack = 1e-9 * max(abs(first), abs(last))
    outside = ~((times >= first - slack) & (times <= last + slack))
    if outside.any():
        raise InputError("t", f"a time from {first:g} to {last:g} s", f"{times[outside][0]:g}")
    inside: Array = np.clip(times, first, last)
    return inside
