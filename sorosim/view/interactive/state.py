"""A robot between two steps, as the thread that moves it publishes it for pages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sorosim.analysis.results.result import Run
from sorosim.base.arrays import Array
from sorosim.mechanics.robot import Robot
from sorosim.view.interactive.controls import Controls
from sorosim.view.interactive.observing import Estimated


@dataclass(frozen=True)
class LiveState:
    """A robot between two steps, and what there is to say about it.

    Attributes
    ----------
    generation : int
        Changes with the robot.
    robot : Robot
    controls : Controls
    t, q, qd, u
        As of a `StepState`.
    values : dict of str to float
        Of all controls by name.
    gravity : (3,) ndarray
        [m/s^2]
    pull : (point, target, force) or None
        Three (3,) arrays, world frame [m, m, N].
    mode : {"motion", "statics"}
    source : {"sliders", "file", "controller"}
        Where inputs come from.
    paused : bool
    message : str
        Why it stopped, what was refused, what was written; "" if there is nothing to say.
    speed, factor : float
        Seconds of the motion per second: those asked for, and those reached.
    recorded : int
        Rows of the recording that is under way; 0: none is.
    compiling : str
        What is being compiled before the motion begins; "": nothing.
    controller_share : float
        Part of the time of steps that the controller takes.
    estimated : Estimated or None
        What an observer knows; None: there is none.
    """

    generation: int
    robot: Robot
    controls: Controls
    t: float
    q: Array
    qd: Array
    u: Array
    values: dict[str, float]
    gravity: Array
    pull: tuple[Array, Array, Array] | None
    mode: str
    source: str
    paused: bool
    message: str
    speed: float
    factor: float
    recorded: int
    compiling: str
    controller_share: float
    estimated: Estimated | None

    def run(self) -> Run:
        """A run of this state alone, as drawings take it."""
        zero = np.zeros((1, self.robot.n_multipliers))
        rows = self.q[None], self.qd[None], self.u[None], zero
        return Run(self.robot, np.array([self.t]), *rows, {}, {}, {}, "")


class Pace:
    """How fast a motion is, of its last second on the clock."""

    def __init__(self) -> None:
        self._moments = [(0.0, 0.0)]

    def measured(self, now: float, t: float) -> float:
        """Seconds of the motion per second, as it is at t [s] at a moment on the clock [s]."""
        lately = (one for one in self._moments if now - one[0] < 1.0 and one[1] <= t)
        self._moments = [*lately, (now, t)]
        begin, before = self._moments[0]
        return (t - before) / (now - begin) if now > begin else 0.0
