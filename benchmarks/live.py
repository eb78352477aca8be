"""How fast robots of the page of `sorosim.live` move, and how many frames a second their pages get."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.context import Setting
from sorosim.view.interactive.live import live
from sorosim.view.interactive.session import Session
from sorosim.view.interactive.state import LiveState

ROBOTS = (
    "cable_manipulator",
    "fin_ray",
    "soft_gripper",
    "hybrid_parallel",
    "underwater_vehicle",
    "ur5_with_soft_gripper",
)
SECONDS, PATIENCE = 10.0, 900.0  # that are measured, and that may pass before
RANGE, PULL = 0.3, 0.1  # of the first slider; of the robot's size


class Pace(NamedTuple):
    """Of one robot."""

    robot: str
    rate: float  # frames per second that are sent
    factor: float  # seconds of the motion per second
    grab: float  # s from a grab until the first frame that shows it
    busy: float  # processor time of the process per second


def study(at: Setting) -> None:
    """Frames per second and real-time factors of six robots that are pulled at, without a browser; a minute or two."""
    import viser  # noqa: F401, the page needs it

    at.say("robot, frames per second, real-time factor, ms from the first grab to its frame, processor time per second")
    for name in at.size(ROBOTS, ROBOTS[:1]):
        one = measure(name, at.size(SECONDS, 0.5))
        at.say(f"{one.robot}: {one.rate:.1f}, {one.factor:.3f}, {1e3 * one.grab:.0f}, {one.busy:.2f}")


def measure(name: str, seconds: float) -> Pace:
    """The pace of a robot over so many seconds."""
    with live(name, port=0, block=False) as shown:
        session = shown.session
        _wait(session, lambda state: state.t > 0.0)
        for one in list(session.controls.all.values())[:1]:
            session.set(**{one.name: one.low + RANGE * (one.high - one.low)})
        begin = time.perf_counter()
        session.grab(session.controls.tip)
        point = _wait(session, lambda state: state.pull is not None).pull
        grab = time.perf_counter() - begin
        assert point is not None
        session.aim(point[0] + PULL * session.size * np.array([0.0, 1.0, 1.0]))
        first, clock, processor = session.state, time.perf_counter(), time.process_time()
        time.sleep(seconds)
        last, elapsed = session.state, time.perf_counter() - clock
        if last.paused:
            raise RuntimeError(f"{name}: {last.message}")
        busy = (time.process_time() - processor) / elapsed
        return Pace(name, shown.rate, (last.t - first.t) / elapsed, grab, busy)


def _wait(session: Session, condition: Callable[[LiveState], bool]) -> LiveState:
    end, state = time.monotonic() + PATIENCE, session.state
    while not condition(state):
        if time.monotonic() > end or state.paused:
            raise RuntimeError(state.message or "it does not come to it")
        state = session.wait_for_frame(state)
    return state
