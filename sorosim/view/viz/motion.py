"""Runs and equilibria as motions: one, or several that are drawn together by one clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.errors import InputError
from sorosim.base.validation import describe
from sorosim.mechanics.robot import Robot
from sorosim.view.viz.camera import up_axis
from sorosim.view.viz.checks import check_name, times_of
from sorosim.view.viz.options import PLAIN, DrawingOptions

OVERLAY, SIDE = "overlay", "side"
LAYOUTS = (OVERLAY, SIDE)
# the colours of lines in plots, darker where letters on white need it
TINTS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#6b6f76")


def run_times(run: Any) -> Array:
    """Times of a run (n,), refusing an empty one."""
    t = np.asarray(run.t, dtype=float)
    if t.size == 0:
        raise InputError("run", "at least one stored time", "an empty run")
    return t


def interpolated(stored: Array, table: Array, t: Array) -> Array:
    """Rows (n, ...) at times t (n,) of a table (n_stored, ...), linear between rows and constant beyond the ends."""
    k = np.clip(np.searchsorted(stored, t, side="right") - 1, 0, max(len(stored) - 2, 0))
    after = np.minimum(k + 1, len(stored) - 1)
    span = np.where(after > k, stored[after] - stored[k], 1.0)
    weight = np.clip((t - stored[k]) / span, 0.0, 1.0).reshape(-1, *[1] * (table.ndim - 1))
    return np.asarray(table[k] + weight * (table[after] - table[k]))


def sample(run: Any, t: Array) -> tuple[Array, Array]:
    """Coordinates and inputs of a run between its stored times: (n, ndof), (n, n_actuators).

    Linear: rates of stiff motions, stored at coarse times, would make a cubic overshoot.
    """
    stored = run_times(run)
    tables = np.asarray(run.q, dtype=float), np.asarray(run.u, dtype=float).reshape(len(stored), -1)
    q, u = (interpolated(stored, table, t) for table in tables)
    return q, u


class Motion(NamedTuple):
    """As much of a result as pictures need; an equilibrium is a motion of one state, without time."""

    robot: Robot
    t: Array  # (n,)
    q: Array  # (n, ndof)
    u: Array  # (n, n_actuators)
    timed: bool
    source: Any  # the run or equilibrium itself

    def samples(self, n: int) -> tuple[Array, Array, Array]:
        """Times, coordinates and inputs at no more than n times, evenly over the motion."""
        times = np.linspace(self.t[0], self.t[-1], min(len(self.t), n))
        return times, *sample(self, times)


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


class MotionState(NamedTuple):
    """A robot at one time of a motion."""

    t: float
    q: Array  # (ndof,)
    qd: Array  # (ndof,)
    u: Array  # (n_actuators,)
    lam: Array | None  # (n_multipliers,) of loops, if known
    driven: dict[str, float]  # generalised force of each driven coordinate


def state_at(robot: Robot, motion: Motion | None, q: Array, u: Array | None, t: float | None) -> MotionState:
    """The state at time t of a motion, or at its end nearest to t, with given coordinates and inputs.

    Without a motion the robot is at rest and its multipliers are unknown.
    """
    time, zero = 0.0 if t is None else t, np.zeros(robot.ndof)
    inputs = np.zeros(len(robot.actuator_names)) if u is None else u
    if motion is None:
        return MotionState(time, q, zero, inputs, None, {})
    time = float(np.clip(time, motion.t[0], motion.t[-1]))  # a motion that ended before others keeps its last loads
    source = motion.source

    def value(table: Any) -> Array:
        rows = np.asarray(table, dtype=float).reshape(len(motion.t), -1)
        return np.asarray(interpolated(motion.t, rows, np.array([time]))[0])

    qd = value(source.qd) if motion.timed and hasattr(source, "qd") else zero
    lam = value(source.lam) if hasattr(source, "lam") else None
    driven = {name: float(value(force)[0]) for name, force in getattr(source, "driven", {}).items()}
    return MotionState(time, q, qd, inputs, lam, driven)


@dataclass(frozen=True)
class MotionGroup:
    """One motion or several in one picture.

    Parameters
    ----------
    motions : tuple of Motion
    names : tuple of str
        For the legend.
    layout : {"overlay", "side"}
    """

    motions: tuple[Motion, ...]
    names: tuple[str, ...] = ()
    layout: str = OVERLAY

    @property
    def robot(self) -> Robot:
        """The first robot."""
        return self.motions[0].robot

    @property
    def up(self) -> Array:
        """The vertical (3,), of the first robot that has gravity."""
        pulls = [motion.robot.engine.gravity for motion in self.motions]
        return up_axis(next((pull for pull in pulls if np.any(pull)), pulls[0]))

    @property
    def several(self) -> bool:
        """Whether there are more than one."""
        return len(self.motions) > 1

    @property
    def tints(self) -> list[str]:
        """Colour code of each motion; "" of a single one, which is drawn in the colours of its parts."""
        return [_tint(k) if self.several else "" for k in range(len(self.motions))]

    @property
    def timed(self) -> bool:
        """Whether anything moves."""
        return any(motion.timed for motion in self.motions)

    @property
    def t(self) -> Array:
        """All stored times, sorted; a motion that ends earlier stays at its end."""
        timed = [motion.t for motion in self.motions if motion.timed]
        return np.unique(np.concatenate(timed)) if timed else np.zeros(1)

    def check_options(self, options: Mapping[str, Any]) -> DrawingOptions:
        """The options of the drawing, refusing those that do not fit these motions."""
        if options.get("trails") and not self.timed:
            raise InputError("trails", "a run", "an equilibrium")
        if self.several and options.get("colour") not in (None, PLAIN):
            hint = "each of several runs has a colour of its own"
            raise InputError("colour", "plain", describe(options["colour"]), hint)
        links = list(dict.fromkeys(link.name for motion in self.motions for link in motion.robot.links))
        return DrawingOptions().changed(self.robot, options, links)

    def check_times(self, t: Any, name: str = "t") -> Array:
        """Times (n,) within the motions: one, several, or None for the end."""
        if t is None:
            return np.asarray(self.t[-1:])
        if not self.timed:
            raise InputError(name, "no time for an equilibrium", f"{t}")
        times = times_of(name, t)
        first, last = self.t[0], self.t[-1]
        slack = 1e-9 * max(abs(first), abs(last))
        outside = ~((times >= first - slack) & (times <= last + slack))
        if outside.any():
            raise InputError(name, f"a time from {first:g} to {last:g} s", f"{times[outside][0]:g}")
        return np.asarray(np.clip(times, first, last))

    def frame_times(self, fps: float, most: int) -> Array:
        """Times at a rate, both ends among them; evenly fewer if there would be more than `most`."""
        first, last = float(self.t[0]), float(self.t[-1])
        if first == last:
            return np.array([first])
        n = min(int(np.ceil((last - first) * fps * (1.0 - 1e-9))) + 1, most)
        if n < 2:
            raise InputError("run", "a robot of fewer parts", "so many that not two moments fit into the file")
        return np.linspace(first, last, n)

    def state(self, t: float) -> tuple[Array, Array, float | None]:
        """What `Scene.update` takes at a time: coordinates and inputs of the first robot, and the time."""
        q, u = sample(self.motions[0], np.array([t]))
        return q[0], u[0], t if self.timed else None


def _tint(k: int) -> str:
    """Colour of run k; beyond the number of colours they are paler, then darker."""
    round_, which = divmod(k, len(TINTS))
    codes = np.array(list(bytes.fromhex(TINTS[which][1:])))
    toward = (codes, 255, 0)[round_ % 3]
    return "#{:02x}{:02x}{:02x}".format(*(0.5 * (codes + toward)).astype(int))


def as_group(result: Any) -> MotionGroup:
    """A result as a group of one; a group as it is."""
    return result if isinstance(result, MotionGroup) else MotionGroup((motion_of(result),))


def motion_group(results: Sequence[Any], layout: str = OVERLAY, names: Sequence[str] | None = None) -> MotionGroup:
    """Several results for one picture.

    Raises
    ------
    InputError
        There are none, their names do not fit, the layout is unknown, or their verticals differ.
    """
    if not isinstance(results, Sequence) or isinstance(results, str) or not results:
        hint = "the file comes first, then the list" if isinstance(results, str) else ""
        raise InputError("runs", "a list of runs or equilibria", describe(results), hint)
    check_name("layout", layout, LAYOUTS, " or ".join(LAYOUTS))
    motions = tuple(motion_of(result) for result in results)
    if names is None:
        names = numbered([motion.robot.name for motion in motions])
    elif isinstance(names, str) or len(names) != len(motions) or not all(isinstance(name, str) for name in names):
        raise InputError("names", f"{len(motions)} names, one for each run", describe(names))
    pulls = [motion.robot.engine.gravity for motion in motions]
    if len({tuple(up_axis(pull)) for pull in pulls if np.any(pull)}) > 1:
        raise InputError("runs", "robots whose gravity acts along the same axis", "different ones")
    return MotionGroup(motions, tuple(names), layout)


def numbered(names: Sequence[str]) -> list[str]:
    """Names, numbered where one occurs twice."""
    return [f"{name} ({k + 1})" if names.count(name) > 1 else name for k, name in enumerate(names)]
