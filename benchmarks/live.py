"""How fast robots of `sorosim.live` move, how many frames a second their pages get, and how long a key takes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.context import Setting
from sorosim.files.bundled import bundled_file
from sorosim.view.interactive.editor import replacement
from sorosim.view.interactive.live import Live, live
from sorosim.view.interactive.session import STATICS, Session
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
# numbers of files that are typed again and again, as text and as path
EDITED = {
    "cable_manipulator": ("young: 1 MPa", "materials.silicone.young"),
    "fin_ray": ("wall: {length: 3 cm", "parameters.wall.length"),
    "tree_of_rods": ("length: 35 cm", "prefabs.branch.parameters.length"),
}
KEYS, FACTORS = 60, (0.97, 0.985, 1.015, 1.03)
POINTER = 1.0 / 60.0  # s between events of a pointer
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

    at.say("robot, coordinates, ms from a key until its robot is sent: median, 99 %; robots per second of a slider")
    for name, (found, path) in at.size(EDITED, {"cable_manipulator": EDITED["cable_manipulator"]}).items():
        keys, rate, n = measure_edits(name, found, path, at.size(KEYS, 4), at.size(SECONDS, 0.5))
        at.say(f"{name}, {n}: {np.median(keys):.0f}, {np.quantile(keys, 0.99):.0f}; {rate:.1f}")
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


def measure_edits(name: str, found: str, path: str, n: int, seconds: float) -> tuple[list[float], float, int]:
    """Times [ms] from a key until the robot that it makes is sent, robots per second of a slider, and coordinates."""
    head, number, unit = found.rsplit(" ", 2)
    values = [f"{factor * float(number):.4g} {unit}" for factor in FACTORS]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{name}.yaml")
        file.write_text(bundled_file(name).read_text("utf-8"), "utf-8")
        with live(file, port=0, block=False) as shown:
            assert shown._editing is not None
            session, text = shown.session, shown._editing.text
            _wait(session, lambda state: state.mode == STATICS and not state.compiling and bool(text.report))
            keys = list[float]()
            for k in range(n):
                old = text.text
                at = old.index(head)
                end = old.index(unit, at) + len(unit)
                new = old[:at] + f"{head} {values[k % len(values)]}" + old[end:]
                changes = replacement(old, new)
                keys.append(
                    _until_sent(shown, partial(text.push, text.version, [{"clientID": "a", "changes": changes}]))
                )
            sent, begin, k = set[int](), time.perf_counter(), 0
            while (elapsed := time.perf_counter() - begin) < seconds:  # as a page does: the next when one is taken
                text.slide({path: values[k % len(values)]})
                sent.add(session.seen)
                k += 1
                time.sleep(max(0.0, begin + k * POINTER - time.perf_counter()))
            return keys, (len(sent) - 1) / elapsed, session.robot.ndof


def _until_sent(shown: Live, change: Callable[[], Any]) -> float:
    """Time [ms] until a robot that a change makes is sent to the pages."""
    session, before = shown.session, shown.session.state.generation
    begin = time.perf_counter()
    change()
    while session.seen <= before:
        if time.perf_counter() > begin + PATIENCE:
            raise RuntimeError("no robot is sent")
        time.sleep(1e-3)
    return 1e3 * (time.perf_counter() - begin)


def _wait(session: Session, condition: Callable[[LiveState], bool]) -> LiveState:
    end, state = time.monotonic() + PATIENCE, session.state
    while not condition(state):
        if time.monotonic() > end or state.paused:
            raise RuntimeError(state.message or "it does not come to it")
        state = session.wait_for_frame(state)
    return state
