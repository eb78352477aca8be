"""A robot that moves in the time of the clock under the hands of a user: the model of `sorosim.live`, without a page.

A thread of its own moves the robot and publishes a `LiveState` for each frame. Commands are put in a queue, which that
thread works off between steps; so they may come from any thread.
"""

from __future__ import annotations

import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

from sorosim.analysis.equilibria.statics import statics
from sorosim.analysis.motion.stepper import Stepper, StepState
from sorosim.analysis.results.result import Equilibrium
from sorosim.base.arrays import Array
from sorosim.base.compiled import reporting
from sorosim.base.errors import InputError, SorosimError, nearest
from sorosim.base.files_read import WatchedFiles, noting_files
from sorosim.base.options import LiveArguments, checked
from sorosim.base.public import public
from sorosim.base.units.quantity import amount
from sorosim.base.validation import Number, choice, flag, number, vector
from sorosim.mechanics.robot import Robot, check_robot
from sorosim.view.interactive.controls import Controls, control_law, controlled, extent
from sorosim.view.interactive.observing import Observing
from sorosim.view.interactive.pull import Pull
from sorosim.view.interactive.recording import Recording, free_file, pull_load
from sorosim.view.interactive.state import LiveState, Pace
from sorosim.view.viz.motion import motion_of
from sorosim.view.viz.options import FORCES
from sorosim.view.viz.wrenches import wrenches_at

MOTION, STATICS = MODES = ("motion", "statics")
SLIDERS, FILE, CONTROLLER = SOURCES = ("sliders", "file", "controller")
COMMANDS = ("pause", "step", "reset", "record", "mode")  # of buttons and keys
FRAME_TIME = 1.0 / 30.0  # s between frames
BUSY = 0.8  # part of it for steps, at most
SETTLING = 0.1  # s, time constant with which driven coordinates follow what was set
LONGEST_WAIT = 1.0  # s until a robot is drawn by a page, or published where there is none
LONGEST_LAG = 0.25  # s on the clock that a frame makes up for, at most
MOST_FILES = 1000  # that one session writes
NOTED = 10.0  # s that a note is shown
COMPILING = "compiling ..."
SHARE_WEIGHT = 0.02  # of the newest step in the mean share of a controller


@public
class Session:
    """A robot under the hands of a user; see `sorosim.live` for the arguments.

    Parameters
    ----------
    watched : paths, optional
        Files that the robot was read from.
    reload : callable, optional
        Reads it again.

    Attributes
    ----------
    state : LiveState
        The newest.
    robot : Robot
        Without pulls.
    controls : Controls
    size : float
        Largest extent of the robot [m].
    seen : int
        `state.generation` of what a page has drawn last.
    """

    def __init__(
        self, robot: Robot, *, u: Any = None, driven: Any = None, bounds: Mapping[str, Any] | None = None,
        controller: Any = None, dt: Number | None = None, speed: Number | None = None, out: str | Path | None = None,
        observe: Mapping[str, Any] | None = None, watched: Collection[Path] = (),
        reload: Callable[[], Robot] | None = None, **options: Any,
    ) -> None:  # fmt: skip
        self._steps = options  # the method and its options
        chosen = checked(LiveArguments, {"dt": dt, "speed": speed, **options})
        self.dt, self._speed = float(chosen["dt"]), float(chosen["speed"])
        self._control = control_law(controller)
        self._prescribed = u, driven, bounds or {}
        self._observe = observe
        self._observing: Observing | None = None
        self._out, self._reload = out, reload
        self._inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._robots = deque[tuple[Robot, bool]](maxlen=1)
        self._mode, self._source = MOTION, CONTROLLER if self._control else SLIDERS
        self._paused, self._halted, self._strength = False, "", 1.0
        self._lag, self._pace, self._factor = 0.0, Pace(), 0.0
        self._note = "", 0.0  # what is to be told, and since when
        self._recording: Recording | None = None
        self._equilibrium: Equilibrium | None = None  # the last one, by statics
        self._stale = True  # whether another one is to be found
        self._generation = self.seen = 0
        self._compiled: set[str] | None = None  # features of robots that kernels were compiled for; None: not even one
        self._compiling, self._n_written = "", 0
        self._spent: Array = np.zeros(3)  # s of a step, on the average: of its controller, its observer, all of it
        self._thread: threading.Thread | None = None
        self._stopping, self._hurried = threading.Event(), threading.Event()  # the latter ends the wait for a frame
        self._published = threading.Condition()
        with noting_files() as files:  # of tables that inputs are taken from
            self._take(check_robot(robot))
        self._watched = WatchedFiles({*watched, *files})
        self._publish()

    # -- what anyone may call ------------------------------------------------------------------------------------------

    def set(self, **values: Number) -> None:
        """Set inputs and driven coordinates by name: numbers in SI units, or texts with units."""
        known = self.state.controls.all
        for name in values:
            if name not in known:
                expected = "the name of an input or a driven coordinate"
                raise InputError("set", expected, f"'{name}'", nearest(name, known))
        numbers = {name: known[name].of.number(name, value) for name, value in values.items()}

        def change() -> None:
            self._wanted.update((name, x) for name, x in numbers.items() if name in self._wanted)
            self._source, self._stale = SLIDERS, True

        self._inbox.put(change)

    def take(self, robot: Robot, *, passing: bool = False) -> None:
        """Go on with another robot: from where it is, if it has the same coordinates.

        passing: another one follows soon; whoever brings it waits until it is seen, lest threads hold each other up.
        """
        before = self.state.generation
        self._robots.append((check_robot(robot), passing))
        self._inbox.put(self._take_last)
        self._hurried.set()
        if passing and self._thread is not None:
            with self._published:
                self._published.wait_for(lambda: (self.seen or self.state.generation) > before, LONGEST_WAIT)

    def nudge(self, index: int, part: float) -> None:
        """Change the control of an index by a part of its range, within the range."""
        at, change_by = int(number("index", index, "an index", least=0)), number("part", part)

        def change() -> None:
            if at < len(self._wanted):
                one = list(self.controls.all.values())[at]
                x = self._wanted[one.name] + change_by * (one.high - one.low)
                self._wanted[one.name] = float(np.clip(x, one.low, one.high))
                self._source, self._stale = SLIDERS, True

        self._inbox.put(change)

    def follow(self, source: str) -> None:
        """Take inputs from "sliders", the "file" or the "controller"."""
        choice("source", source, self.sources)
        self._inbox.put(lambda: self._set_source(source))

    def grab(self, link: str, *, s: float = 1.0, point: Any = None) -> None:
        """Take hold of a link, at a place s of a rod, or of the point of it that lies at `point` (3,) [m]."""
        self.state.robot.engine.layout.link(link)
        place, at = None if point is None else vector("point", point, 3), amount("s", s, "number")
        self._inbox.put(lambda: self._grab(link, place, at))

    def aim(self, target: Any) -> None:
        """Pull what is held towards a target (3,) in the world [m]."""
        place = vector("target", target, 3)

        def change() -> None:
            self._stale = True
            self._pull.aim(place, self._now.q)

        self._inbox.put(change)

    def release(self) -> None:
        """Let it go."""
        self._inbox.put(self._release)

    def set_strength(self, strength: Number) -> None:
        """Multiply the stiffness of pulls; 1 is about as stiff as what is pulled."""
        number = amount("strength", strength, "number")
        if not number > 0.0:
            raise InputError("strength", "a number greater than 0", f"{number:g}")
        self._inbox.put(lambda: setattr(self, "_strength", number))

    def set_gravity(self, gravity: Any) -> None:
        """Change gravity (3,) [m/s^2]; water keeps its surface."""
        vector_ = vector("gravity", gravity, 3)
        self._inbox.put(lambda: self._set_gravity(vector_))

    def set_mode(self, mode: str) -> None:
        """Let it move ("motion"), or be in equilibrium at any time ("statics")."""
        choice("mode", mode, MODES)
        self._inbox.put(lambda: self._set_mode(mode))

    def set_speed(self, speed: Number) -> None:
        """Seconds of the motion per second."""
        number = float(checked(LiveArguments, {"speed": speed})["speed"])
        self._inbox.put(lambda: setattr(self, "_speed", number))

    def pause(self, paused: bool = True) -> None:
        """Stop the motion, or let it go on."""
        flag("paused", paused)
        self._inbox.put(lambda: self._pause(paused))

    def step(self) -> None:
        """Move by one step, and pause."""
        self._inbox.put(self._single_step)

    def reset(self) -> None:
        """Back to the start at t = 0, controls too."""
        self._inbox.put(self._reset)

    def press(self, command: str) -> None:
        """Do what a button does: pause or go on, record or end it, take the other mode."""
        choice("command", command, COMMANDS)
        if command == "pause":
            self.pause(not self.state.paused)
        elif command == "record":
            self.record(not self.state.recorded)
        elif command == "mode":
            self.set_mode(MOTION if self.state.mode == STATICS else STATICS)
        else:
            getattr(self, command)()

    def fail(self, error: Exception) -> None:
        """Pause, print the traceback of an error that nobody foresaw, and let `message` say it."""
        traceback.print_exception(error)
        self._inbox.put(lambda: self._halt(error))

    def observe(self, on: bool = True) -> None:
        """Let the observer begin anew where the robot is, or end."""
        flag("on", on)
        self._inbox.put(lambda: self._switch(on))

    def read(self, on: bool = True) -> None:
        """Let readings arrive at the observer, or none."""
        flag("on", on)
        self._inbox.put(lambda: setattr(self._watcher(), "reads", on))

    def record(self, on: bool = True) -> None:
        """Begin to record, or end and write the result; in statics, write the equilibrium."""
        flag("on", on)
        self._inbox.put(self._record if on else self._write)

    @property
    def sources(self) -> tuple[str, ...]:
        """Where inputs can come from."""
        there = {SLIDERS: True, FILE: self.controls.moves, CONTROLLER: self._control is not None}
        return tuple(name for name in SOURCES if there[name])

    def see(self, generation: int) -> None:
        """Note which robot a page has drawn last."""
        with self._published:
            self.seen = generation
            self._published.notify_all()

    def wait_for_frame(self, after: LiveState, timeout: float = 1.0) -> LiveState:
        """The newest state; waits for one that is newer than another, at most for a while [s]."""
        with self._published:
            self._published.wait_for(lambda: self.state is not after, timeout)
            return self.state

    def start(self) -> None:
        """Move in a thread of its own, in the time of the clock, until `stop`."""
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, name="sorosim live", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; what is recorded is written."""
        self._stopping.set()
        self._hurried.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._inbox.put(self._write)
        self._obey()

    def frame(self, elapsed: float, busy: float = np.inf) -> LiveState:
        """Obey commands, and move by what a time on the clock [s] is, computing for no longer than `busy` [s]."""
        self._obey()
        if self._mode == STATICS:
            if self._stale and not self._paused:
                self._balance()
        elif not self._paused:
            begin = time.perf_counter()
            self._lag += number("elapsed", elapsed, least=0.0) * self._speed
            while self._lag >= self.dt * (1.0 - 1e-9) and not self._paused:
                self._lag -= self.dt
                self._advance()
                if time.perf_counter() - begin > busy:
                    self._lag = min(self._lag, self.dt)  # slower than asked for
        return self._publish()

    # -- in the thread that moves --------------------------------------------------------------------------------------

    def _run(self) -> None:
        before = time.perf_counter()
        while not self._stopping.is_set():
            now = time.perf_counter()
            try:
                self._look_at_file()
                if self._compiled is None or not self._pull.robot.engine.features <= self._compiled:
                    self._rehearse()
                    before = now = time.perf_counter()
                self.frame(min(now - before, LONGEST_LAG), BUSY * FRAME_TIME)
                self._factor = self._pace.measured(now, self._now.t)
            except Exception as error:  # nobody else sees it: a frozen page would say nothing
                traceback.print_exception(error)
                self._halt(error)
            before = now
            self._hurried.wait(max(0.1 * FRAME_TIME, FRAME_TIME - (time.perf_counter() - now)))
            self._hurried.clear()

    def _rehearse(self) -> None:
        """Do in a session beside this one, on the same robot, what a user may, so that he waits for no compilation."""
        self._compiled = (self._compiled or set()) | self._pull.robot.engine.features  # whatever comes of it
        self._report_compilation(COMPILING)
        u, driven, bounds = self._prescribed
        try:
            with tempfile.TemporaryDirectory() as folder, reporting(self._report_compilation):
                path = Path(folder, "run.h5")
                other = Session(
                    self.robot, u=u, driven=driven, bounds=bounds, dt=self.dt, out=path, observe=self._observe,
                    **self._steps,
                )  # fmt: skip
                other.record()
                other.grab(self.controls.tip)
                dt = self.dt if self._observing is None else self._observing.observer.dt
                state = other.frame(2.0 * dt / other._speed)
                wrenches_at(state.robot, motion_of(state.run()), state.q, state.u, state.t, FORCES)
                other.record(False)
                other.frame(0.0)
        finally:
            self._report_compilation("")

    def _report_compilation(self, line: str) -> None:
        """Publish what is being compiled; lines of compilers are empty at their ends."""
        self._compiling = line
        self._publish()

    def _halt(self, error: Exception) -> None:
        """Pause since something was raised that nobody foresaw, and say so."""
        with suppress(Exception):  # whatever it was, the page must hear of it
            self._release()
        self._pause(True)
        what = f"{type(error).__name__}: {error}".removesuffix(": ")
        self._halted = f"paused at t = {self._now.t:.4g} s: {what}; the terminal shows where. Reset begins anew"
        self._publish()

    def _obey(self) -> None:
        while not self._inbox.empty():
            command = self._inbox.get()
            try:
                command()
            except SorosimError as error:
                self._say(str(error))

    def _take(self, robot: Robot, q: Array | None = None, qd: Array | None = None) -> None:
        """Go on with a robot; nothing changes if it cannot start."""
        known = vars(self).copy()
        try:
            self.robot, self._pull = robot, Pull(robot)
            self.controls = Controls(robot, *self._prescribed)
            self._gravity, self.size = np.array(robot.description.gravity), extent(robot)
            self._observing = None if self._observe is None else self._observer(robot)
            wanted = known.get("_wanted", {})
            kept = {name: x for name, x in wanted.items() if name in self.controls.all} if q is not None else {}
            self._restart(q, qd, 0.0 if q is None else known["_now"].t, kept)
        except SorosimError:
            vars(self).update(known)
            raise
        self._generation += 1

    def _observer(self, robot: Robot) -> Observing | None:
        """An observer of a robot; that of one whose file was saved may be refused."""
        assert self._observe is not None
        try:
            return Observing(robot, self._observe, self.dt)
        except SorosimError as error:
            if not self._generation:
                raise
            self._say(f"no observer: {error}")
            return None

    def _restart(self, q: Any, qd: Any, t: float, kept: Mapping[str, float] | None = None) -> None:
        """Begin anew at a state; None: that of the file."""
        self._write()
        wanted = self.controls.starts | dict(kept or {})
        robot, layout = self._pull.robot, self.robot.engine.layout
        if q is not None:
            wanted |= {name: float(q[layout.coordinate(name, "driven")]) for name, one in self.controls.all.items()
                       if one.is_driven}  # fmt: skip
        u, driven = self.controls.split(wanted)
        stepper = Stepper(robot, self.dt, driven=driven, **self._steps)
        start = robot.description.simulate.get("q0") if q is None else q
        self._release()
        self._now = stepper.reset(start, qd, t, u=u)
        self._stepper, self._wanted, self._driven, self._start = stepper, wanted, dict(driven), driven
        self._rates = dict.fromkeys(driven, 0.0)
        self._lag, self._halted, self._stale, self._equilibrium = 0.0, "", True, None
        if self._observing is not None:
            self._observing.begin(self._now, self._driven, self._gravity)

    def _reset(self) -> None:
        halted = self._paused and bool(self._halted)
        self._restart(None, None, 0.0)
        if halted:  # else it stays as it was
            self._paused = False

    def _advance(self) -> None:
        """One step; where there is none, pause."""
        try:
            begin = time.perf_counter()
            u, driven = self._next_inputs(self._now)
            controlled = time.perf_counter()
            self._now = self._stepper.step(u, driven)
            moved = time.perf_counter()
            if self._observing is not None:
                self._observing.follow(self._pull.robot, u, driven, self._now)
            end = time.perf_counter()
            spent = np.array([controlled - begin if self._source == CONTROLLER else 0.0, end - moved, end - begin])
            self._spent += SHARE_WEIGHT * (spent - self._spent)
        except SorosimError as error:
            self._pause(True)
            self._halted = f"paused at t = {self._now.t:.4g} s: {error}"
            return
        if self._recording is not None:
            grip = self._pull.grip
            force = None if grip is None else self._pull.force(self._now.q, self._now.qd)
            self._recording.add(self._now, grip, force)
            if self._recording.full:
                self._write()

    def _next_inputs(self, now: StepState) -> tuple[Array, dict[str, float]]:
        """Inputs over the next step, and where driven coordinates are at its end."""
        if self._source == FILE:
            u, _ = self.controls.split(self.controls.prescribed(now.t))
            self._wanted = self.controls.prescribed(now.t + self.dt)
            _, driven = self.controls.split(self._wanted)
            self._rates = {name: (x - self._driven[name]) / self.dt for name, x in driven.items()}
            self._driven = driven
            return u, driven
        u, targets = self.controls.split(self._wanted)
        if self._source == CONTROLLER and self._control is not None:
            u = controlled(self.robot, self._control, now)
            self._wanted |= dict(zip(self.robot.actuator_names, u.tolist(), strict=True))
        tau = max(SETTLING, 4.0 * self.dt)
        for name, target in targets.items():  # critically damped
            away, rate = target - self._driven[name], self._rates[name]
            self._rates[name] = rate + self.dt * (away / tau - 2.0 * rate) / tau
            self._driven[name] += self.dt * self._rates[name]
        return u, self._driven

    def _balance(self) -> None:
        """Find the equilibrium under what is set."""
        u, driven = self.controls.split(self._wanted)
        self._stale, self._equilibrium = False, None
        try:
            found = statics(self._pull.robot, u, driven=driven, q0=self._now.q)
        except SorosimError as error:
            self._halted = f"no equilibrium: {error}"
            return
        self._equilibrium, self._halted = found, "" if found.stable else f"not stable: {found.stability}"
        self._now = StepState(self._now.t, found.q, np.zeros_like(found.q), u)

    def _grab(self, link: str, point: Array | None, s: float) -> None:
        q = self._now.q
        self._release()
        grip = self._pull.at(q, link, point, s)
        self._pull.grab(grip, q, self.controls.free, self._strength, self.size)

    def _release(self) -> None:
        self._pull.release()
        self._stale = True

    def _pause(self, paused: bool) -> None:
        self._paused, self._lag = paused, 0.0
        if not paused:
            self._halted = ""

    def _single_step(self) -> None:
        self._pause(False)
        if self._mode == MOTION:
            self._advance()
            self._pause(True)

    def _set_source(self, source: str) -> None:
        if source == FILE:  # from its begin on, for motions must not jump
            self._restart(None, None, 0.0)
            self._mode = MOTION
        self._source, self._stale = source, True

    def _set_gravity(self, gravity: Array) -> None:
        if self._recording is not None:
            raise InputError("gravity", "the same while a motion is recorded", "another", "end the recording first")
        self._gravity, self._stale = gravity, True
        self._pull.robot.engine.gravity[:] = gravity  # that of all its steps and equilibria
        if self._observing is not None and self._observing.on:
            self._observing.weigh(gravity)

    def _set_mode(self, mode: str) -> None:
        if mode == self._mode:
            return
        self._write()
        if mode == MOTION:
            self._restart(self._now.q, self._now.qd, self._now.t, self._wanted)
        self._mode, self._stale, self._paused = mode, True, False

    def _watcher(self) -> Observing:
        if self._observing is None:
            raise InputError("observe", "a session with an observer", "none", "`observe` of the session asks for one")
        return self._observing

    def _switch(self, on: bool) -> None:
        self._watcher().switch(on, self._now, self._driven, self._gravity)

    def _record(self) -> None:
        if self._n_written >= MOST_FILES:
            raise InputError("record", f"at most {MOST_FILES} files of one session", "another", "begin a new session")
        if self._mode == MOTION:
            if self._recording is None:
                self._recording = Recording(self.robot, self._gravity, self._now, self.dt, self._start, self._steps)
        elif (found := self._equilibrium) is not None:
            robot = Robot(replace(self.robot.description, gravity=tuple(self._gravity.tolist())))
            if self._pull.grip is not None:
                force = self._pull.force(found.q, np.zeros_like(found.q))
                robot = robot.with_loads(**{self._pull.name: pull_load(self._pull.grip, force.tolist())})
            self._save(replace(found, robot=robot))

    def _write(self) -> None:
        """End a recording, if one is under way, and write it."""
        recording, self._recording = getattr(self, "_recording", None), None
        if recording is not None:
            self._save(recording.run())

    def _save(self, result: Any) -> None:
        self._n_written += 1
        result.save(free := free_file(self._out, self.robot.name))
        self._say(f"written: {free}")

    def _say(self, text: str) -> None:
        self._note = text, time.monotonic()

    def _take_last(self) -> None:
        """Go on with the last robot that was given, unless that was done."""
        if self._robots:
            self._change_robot(*self._robots.pop())

    def _change_robot(self, robot: Robot, passing: bool = False) -> None:
        """Go on with another robot."""
        # ranges of sliders stay where it passes, and in statics no motion is prepared
        if passing and self._mode == STATICS and self._observing is None and self.controls.suit(robot):
            self.robot, self._pull, self.controls = robot, Pull(robot), self.controls.of(robot)
            self._gravity, self._stale = np.array(robot.description.gravity), True
            self._generation += 1
            return
        try:
            alike = robot.coordinate_names == self.robot.coordinate_names
            self._take(robot, *((self._now.q, self._now.qd) if alike else ()))
        except SorosimError:
            self._take(robot)  # its old state fits it no longer

    def _look_at_file(self) -> None:
        """Take the robot anew when one of its files was saved; with mistakes in it the old one goes on."""
        if self._reload is None or not (names := self._watched.changed()):
            return
        with noting_files() as files:
            try:
                self._change_robot(self._reload())
                self._say(f"read again: {', '.join(names)}")
            except SorosimError as error:
                self._say(f"not taken: {', '.join(names)}: {error}")
        self._watched.add(files)  # while there are mistakes, one may not have been reached

    def _publish(self) -> LiveState:
        now, pull = self._now, None
        if self._pull.grip is not None:
            pull = self._pull.point(now.q), self._pull.target.copy(), self._pull.force(now.q, now.qd)
        note, since = self._note
        message = "\n\n".join(filter(None, (self._halted, note if time.monotonic() < since + NOTED else "")))
        recorded, watched = 0 if self._recording is None else len(self._recording), self._observing
        shares = (self._spent[:2] / (self._spent[2] or 1.0)).tolist()
        estimated = None if watched is None else watched.state(self._mode == MOTION, shares[1])
        state = LiveState(
            self._generation, self._pull.robot, self.controls, now.t, now.q, now.qd, now.u, dict(self._wanted),
            self._gravity, pull, self._mode, self._source, self._paused, message, self._speed, self._factor,
            recorded, self._compiling, shares[0], estimated,
        )  # fmt: skip
        with self._published:
            self.state = state
            self._published.notify_all()
        return state
