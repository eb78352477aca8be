"""A result in the place of the robot of a session: it plays until somebody takes hold of the robot again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sorosim.mechanics.robot import Robot
from sorosim.view.interactive.controls import Controls
from sorosim.view.interactive.session import MOTION, STATICS, Session
from sorosim.view.interactive.state import LiveState
from sorosim.view.viz.motion import Motion, interpolated, motion_of, state_at

BACK = "A slider or a pull leads back to the robot."
TOLD = 0.1  # s between two times that pages are told


class Playback:
    """Shows results in the scene of a session, which pauses meanwhile.

    Parameters
    ----------
    session : Session
    say : callable
        Tells all pages something: a dict that JSON can say.
    """

    def __init__(self, session: Session, say: Callable[[dict[str, Any]], None]) -> None:
        self._session, self._say = session, say
        self._lock = threading.RLock()
        self._motion: Motion | None = None
        self._words = ""
        self._controls: Controls | None = None  # of a robot with other coordinates than the session's
        self._t, self._speed, self._loops, self._plays = 0.0, 1.0, False, False
        self._robot: Robot | None = None
        self._generation = 0  # negative ones are those of shown robots
        self._was_paused = False
        self._marks: Any = None  # of the session, by which it is seen that somebody drives it
        self._clock = self._told = 0.0

    # -- what a page asks for ------------------------------------------------------------------------------------------

    def show(self, result: Any, words: str, *, speed: float = 1.0, loop: bool = False, plays: bool = True) -> None:
        """Show a result (Run or Equilibrium), from its begin on."""
        motion = motion_of(result)
        with self._lock:
            if self._motion is None:
                self._was_paused = self._session.state.paused
            self._session.pause(True)
            self._marks = None
            if motion.robot is not self._robot:
                self._robot, self._generation = motion.robot, self._generation - 1
                self._controls = None
            self._motion, self._words, self._speed, self._loops = motion, words, speed, loop
            self._t, self._plays = float(motion.t[0]), plays and motion.timed and len(motion.t) > 1
            self._clock = time.perf_counter()
        self._tell()

    def close(self) -> None:
        """Back to the robot of the session."""
        with self._lock:
            if self._motion is None:
                return
            self._motion = self._robot = None
            self._session.pause(self._was_paused)
        self._tell()

    def change(
        self, *, plays: bool | None = None, t: float | None = None, speed: float | None = None, loop: bool | None = None
    ) -> None:
        """Play or pause, go to a time [s], play at a speed [s per s], over and over."""
        with self._lock:
            if (motion := self._motion) is None:
                return
            self._speed = self._speed if speed is None else speed
            self._loops = self._loops if loop is None else loop
            if t is not None:
                self._t = float(np.clip(t, motion.t[0], motion.t[-1]))
            if plays and self._t >= motion.t[-1]:  # it begins anew
                self._t = float(motion.t[0])
            if plays is not None:
                self._plays = plays and motion.timed
            self._clock = time.perf_counter()
        self._tell()

    def data(self) -> dict[str, Any] | None:
        """What pages show of it; None: nothing is shown."""
        with self._lock:
            if self._motion is None:
                return None
            timed = self._motion.timed and len(self._motion.t) > 1
            span = [float(self._motion.t[0]), float(self._motion.t[-1])] if timed else None
            return {
                "words": self._words, "span": span, "t": self._t, "plays": self._plays, "speed": self._speed,
                "loop": self._loops,
            }  # fmt: skip

    @property
    def speed(self) -> float:
        """Seconds of the result per second."""
        return self._speed

    @property
    def loops(self) -> bool:
        """Whether it is played over and over."""
        return self._loops

    def _tell(self) -> None:
        self._told = time.perf_counter()
        self._say({"playback": self.data()})

    # -- in the thread of the page -------------------------------------------------------------------------------------

    def __call__(self, live: LiveState) -> LiveState:
        """What is drawn in the place of a state of the session."""
        with self._lock:
            if self._motion is None:
                return live
            marks = live.generation, live.paused, live.mode, live.pull is None, live.values, id(live.q)
            if self._marks is None and live.paused:
                self._marks = marks
            elif self._marks is not None and marks != self._marks:
                self.close()
                return live
            self._advance()
            shown = self._state(live)
        if self._plays and time.perf_counter() > self._told + TOLD:
            self._tell()
        return shown

    def _advance(self) -> None:
        assert self._motion is not None
        now = time.perf_counter()
        elapsed, self._clock = now - self._clock, now
        if not self._plays:
            return
        begin, end = float(self._motion.t[0]), float(self._motion.t[-1])
        self._t += self._speed * elapsed
        if self._t > end:
            self._plays = self._loops
            self._t = begin + (self._t - begin) % (end - begin) if self._loops else end
            if not self._plays:
                self._tell()

    def _state(self, live: LiveState) -> LiveState:
        motion, robot = self._motion, self._robot
        assert motion is not None
        assert robot is not None
        q, u = (interpolated(motion.t, table, np.array([self._t]))[0] for table in (motion.q, motion.u))
        now = state_at(robot, motion, q, u, self._t)
        alike = robot.coordinate_names == live.robot.coordinate_names
        controls, values = live.controls, live.values
        if not alike:
            if self._controls is None:
                self._controls = Controls(robot, None, None, {})
            controls, values = self._controls, self._controls.starts
        return replace(
            live, generation=self._generation, robot=robot, controls=controls, t=self._t, q=q, qd=now.qd, u=u,
            values=values, gravity=np.array(robot.description.gravity), pull=None,
            mode=MOTION if motion.timed else STATICS, paused=motion.timed and not self._plays,
            message=f"a study is shown: {self._words}\n\n{BACK}", speed=self._speed, factor=self._speed,
            estimated=live.estimated if alike else None,
        )  # fmt: skip
