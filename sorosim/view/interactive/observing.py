"""An observer beside the robot of a session: it reads what sensors and cameras would, with their noise."""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from sorosim.analysis.motion.stepper import StepState
from sorosim.base.arrays import Array
from sorosim.base.errors import InputError, SorosimError, nearest
from sorosim.base.units.quantity import amount
from sorosim.base.validation import describe
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.mechanics.engine.parameter import FILE
from sorosim.mechanics.robot import Robot
from sorosim.mechanics.sensors.kinds import PoseSensor
from sorosim.studies.estimation.observation import Observation
from sorosim.studies.estimation.observer import Observer
from sorosim.studies.estimation.readings import ReadingErrors
from sorosim.studies.estimation.unknowns import name_of, place_of

KEYS = ("readings", "unknown", "noise", "prior", "process", "method", "substeps", "dt", "position", "velocity")
AT_START = ("position", "velocity")
DT = 0.02  # s between readings, unless `dt` says otherwise
# semi-axes of ellipsoids that hold a place with 95 %, over standard deviations
LEVEL = 0.95
AXES_95 = float(np.sqrt(stats.chi2.ppf(LEVEL, 3)))
TURNED = 1e-9  # driven coordinates that differ by less are the same
LATELY = 50  # steps of which the page tells how many readings were left out


@dataclass(frozen=True)
class Estimated:
    """What an observer knows beside a `LiveState`.

    Attributes
    ----------
    places : tuple of str
        That are read.
    names, units : tuple of str
        What is unknown beside the state.
    seen : Observation or None
        None: it is off, or it failed.
    message : str
        Why it failed; "" if it did not.
    on, reads : bool
        Whether it observes, and whether readings arrive.
    left_out : dict of str to float
        Parts of the readings of late that were left out as improbable, by name.
    share : float
        Part of the time of steps that it takes.
    frames : LinkFrames
        The places.
    """

    places: tuple[str, ...]
    names: tuple[str, ...]
    units: tuple[str, ...]
    seen: Observation | None
    message: str
    on: bool
    reads: bool
    left_out: Mapping[str, float]
    share: float
    frames: LinkFrames

    def off(self, q: Array) -> dict[str, tuple[float, float]]:
        """How far places that are read are from where they truly are, at q (ndof,), and the reach of 95 % [m]."""
        if self.seen is None or not self.places:
            return {}
        places, roots = self.ellipsoids(self.frames)
        away = np.linalg.norm(places - self.frames.poses(q)[:, :3, 3], axis=1)
        reach = np.linalg.norm(roots, axis=1).max(axis=1)
        return {name: (float(x), float(r)) for name, x, r in zip(self.places, away, reach, strict=True)}

    def ellipsoids(self, frames: LinkFrames) -> tuple[Array, Array]:
        """Where places are (n, 3), and semi-axes of their 95 % ellipsoids, columns of (n, 3, 3) [m], in the world."""
        assert self.seen is not None
        seen = self.seen
        if seen.numbers:  # the robot as they are estimated
            frames = LinkFrames(seen.robot.description, seen.robot.engine, frames.anchors)
        g, roots = seen.moved(frames)
        moved = g[:, :3, :3] @ roots[:, 3:]
        variances, axes = np.linalg.eigh(moved @ moved.transpose(0, 2, 1))
        return g[:, :3, 3], AXES_95 * np.sqrt(np.maximum(variances, 0.0))[:, None, :] * axes


class Observing:
    """An observer that follows the steps of a session.

    Parameters
    ----------
    robot : Robot
        Without pulls: these are unknown to it.
    asked : mapping
        See `sorosim.live`.
    dt : float
        Of the steps of the session [s].
    """

    def __init__(self, robot: Robot, asked: Mapping[str, Any], dt: float) -> None:
        if not isinstance(asked, Mapping):
            raise InputError("observe", "a mapping with readings, unknown, noise, ...", describe(asked))
        if wrong := [key for key in asked if key not in KEYS]:
            raise InputError("observe", f"the keys {', '.join(KEYS)}", f"{wrong[0]!r}", nearest(str(wrong[0]), KEYS))
        given = {key: value for key, value in asked.items() if value is not None}
        noise: Any = given.get("noise")
        self._start = {key: given.pop(key) for key in AT_START if key in given}
        self.robot, self._keys = robot, _readings_of(robot, given.pop("readings", None))
        if isinstance(noise, Mapping):  # of places by any of their names
            at = [key for key in self._keys if key not in robot.sensor_names]
            named = {place_of(robot, key, "observe.readings"): key for key in at}
            given["noise"] = noise = {
                key if key in robot.sensor_names else named.get(place_of(robot, key, "observe.noise"), key): sd
                for key, sd in noise.items()
            }
        wanted = amount("observe.dt", given.pop("dt", DT), "time")
        if not wanted > 0.0:
            raise InputError("observe.dt", "a time greater than 0", f"{wanted:g} s")
        self._every = max(1, round(wanted / dt))
        self.observer = Observer(robot, self._every * dt, **given)
        self.observer.reset(robot.initial_q, **self._start)  # what it refuses is refused before there is a page
        self._rates = {key: robot.instruments.sensors[key].rate for key in self._keys if key in robot.sensor_names}
        places = [place_of(robot, key, "observe.readings") for key in self._keys if key not in self._rates]
        self._frames = LinkFrames(robot.description, robot.engine, places)
        self._random, n = np.random.default_rng(0), robot.ndof
        shown = self._true(robot, StepState(0.0, robot.initial_q, np.zeros(n), np.zeros(robot.engine.n_actuators)))
        one_for_all = noise is not None and not isinstance(noise, Mapping)
        if any(np.ndim(sd) > 1 for sd in (noise.values() if isinstance(noise, Mapping) else [noise]) if sd is not None):
            raise InputError("observe.noise", "standard deviations", "a covariance")
        if isinstance(noise, Mapping) and (unread := [key for key in noise if key not in self._keys]):
            expected, hint = "names of what is read", nearest(str(unread[0]), self._keys)
            raise InputError("observe.noise", expected, f"{unread[0]!r}", hint)
        errors = ReadingErrors(self.observer.robot, shown, noise)
        self._sd = {key: errors.sd[errors.rows[key]] for key in self._keys}
        self._own = set(self._keys) - set(self._keys if one_for_all else noise or ())
        self.on, self.reads, self.message = True, True, ""
        self._seen: Observation | None = None
        self._rejected, self._u, self._held = deque[tuple[str, ...]](maxlen=LATELY), list[Array](), dict[str, float]()

    def state(self, moves: bool, share: float) -> Estimated:
        """What it knows now; nothing of equilibria."""
        names = [name for step in self._rejected for name in step]
        out = {name: names.count(name) / len(self._rejected) for name in dict.fromkeys(names)}
        places = tuple(key for key in self._keys if key not in self._rates)
        units = tuple(unit for one in self.observer.unknowns for unit in one.units)
        seen = self._seen if moves else None
        return Estimated(
            places, self.observer.names, units, seen, self.message, self.on, self.reads, out, share, self._frames
        )

    def begin(self, now: StepState, driven: Mapping[str, float], gravity: Array) -> None:
        """Begin where the robot is, as roughly as that is known."""
        self.message, self._seen, self._u, self._held = "", None, [], dict(driven)
        self._rejected.clear()
        if self.on and self.weigh(gravity):
            self._attempt(lambda: self.observer.reset(now.q, now.qd, now.t, u=now.u, **self._start))
            column = self.robot.engine.layout.coordinate
            known: dict[str, float] = (
                {} if self._seen is None else {name: self._seen.q[column(name, "driven")] for name in driven}
            )
            off = [name for name, x in known.items() if abs(x - driven[name]) > TURNED]
            if off:
                self._fail(f"'{off[0]}' is driven to another value than the file's, which an observer takes")

    def weigh(self, gravity: Array) -> bool:
        """Observe under this gravity (3,); whether that can be done."""
        own = self.observer.robot.engine.gravity
        if any(one.kind == FILE for one in self.observer.unknowns):  # robots with other numbers have the file's
            if not np.array_equal(own, gravity):
                self._fail("gravity is not the file's, with which an observer of numbers of the file makes its robots")
                return False
        else:
            own[:] = gravity
        return True

    def follow(self, robot: Robot, u: Array, driven: Mapping[str, float], now: StepState) -> None:
        """Take a step of the session: u was held, and it led to a state of the robot with pulls."""
        if not self.on or self._seen is None:
            return
        if any(abs(x - self._held[name]) > 0.0 for name, x in driven.items()):
            self._fail("driven coordinates move, which an observer takes as held; 'reset' begins anew")
            return
        self._u.append(u)
        if len(self._u) < self._every:
            return
        command, self._u = np.mean(self._u, axis=0), []
        self._attempt(lambda: self.observer.step(command, self._read(robot, now) if self.reads else None))

    def switch(self, on: bool, now: StepState, driven: Mapping[str, float], gravity: Array) -> None:
        """Observe, from where the robot is, or do not."""
        self.on = on
        self.begin(now, driven, gravity)

    def _attempt(self, action: Any) -> None:
        """Do what may fail; the motion goes on whatever is raised."""
        try:
            self._seen = action()
            self._rejected.append(self._seen.rejected)
        except SorosimError as error:
            self._fail(str(error))
        except Exception as error:  # a page must go on
            traceback.print_exception(error)
            self._fail(f"{type(error).__name__}: {error}; the terminal shows where")

    def _fail(self, why: str) -> None:
        self._seen, self.message = None, why

    # -- readings ------------------------------------------------------------------------------------------------------

    def _true(self, robot: Robot, now: StepState) -> dict[str, Array]:
        """What is read, without noise."""
        sensors = robot.measure(now.q, now.qd, u=now.u, t=now.t) if self._rates else {}
        places = iter(self._frames.poses(now.q)[:, :3, 3])
        return {key: sensors[key] if key in self._rates else next(places) for key in self._keys}

    def _read(self, robot: Robot, now: StepState) -> dict[str, Array]:
        """What is read at the end of a step; sensors with a rate read when it is time."""
        out, dt = {}, self.observer.dt
        for key, value in self._true(robot, now).items():
            rate = self._rates.get(key)
            if rate is not None and np.floor(now.t * rate + 1e-6) == np.floor((now.t - dt) * rate + 1e-6):
                continue
            out[key] = self._noisy(key, value)
        return out

    def _noisy(self, key: str, value: Array) -> Array:
        error = self._sd[key] * self._random.standard_normal(len(self._sd[key]))
        if key not in self._rates:
            return value + error
        sensor = self.robot.instruments.sensors[key]
        if isinstance(sensor, PoseSensor):  # its errors are of position and rotation
            error = np.roll(error, 3)
            if key in self._own:  # in the axes of the world
                error = np.broadcast_to(sensor.noise, 6) * self._random.standard_normal(6)
        return np.asarray(sensor.with_error(value[None], (np.asarray(sensor.bias) + error)[None])[0])


def _readings_of(robot: Robot, names: Any) -> tuple[str, ...]:
    """Sensors and places that are read; None: all sensors."""
    if isinstance(names, str):
        names = [names]
    keys = [_name(robot, key, "observe.readings") for key in (robot.sensor_names if names is None else names)]
    if not keys:
        hint = "name places in `readings`, such as a link: its tip is a marker"
        raise InputError("observe.readings", "sensors in the file, or places", "neither", hint)
    return tuple(dict.fromkeys(keys))


def _name(robot: Robot, key: Any, where: str) -> str:
    """The name of a sensor or a place (InputError: there is none)."""
    if isinstance(key, str) and key in robot.sensor_names:
        return key
    place_of(robot, key, where)
    return name_of(robot, key, where)
