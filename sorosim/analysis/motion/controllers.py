"""Controllers that are sampled in a run, and what sensors tell them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from sorosim.analysis.equations.system import OdeSystem
from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import InputError
from sorosim.base.validation import as_real
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.inputs import ZeroOrderHold
from sorosim.mechanics.robot import Robot
from sorosim.mechanics.sensors.base import Sensor
from sorosim.mechanics.sensors.state import State

Controller = Callable[..., Any]  # (t, q, qd), or (t, y) with readings by name
UNSTABLE = "is the controlled motion unstable? Try lower gains, or a shorter time between samples"
# by which the largest input of each quarter of the samples exceeds that of the one before where a loop is unstable: a
# ramp grows twofold at most, a power t^n 2^n and then (4/3)^n fold
GROWTH, LEAST_SAMPLES = 10.0, 8
ON_SAMPLE = 1e-9  # a time so near to that of a sample, as a part of the time between two, is on it


def copied(controller: Controller | None) -> Controller | None:
    """Another controller in the same state; refused of an object that cannot be copied (InputError)."""
    try:
        return deepcopy(controller)
    except Exception as error:  # of an object of the user
        hint = "functions and objects of plain values can"
        raise InputError("controller", "one that can be copied, for verify", f"{type(error).__name__}", hint) from None


def takes_readings(controller: Controller | None) -> bool:
    """Whether a controller is a function of time and readings."""
    if controller is None:
        return False
    try:
        parameters = inspect.signature(controller).parameters.values()
    except (TypeError, ValueError):  # of compiled functions there is none
        return False
    kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    if any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters):
        return False
    return sum(one.kind in kinds and one.default is one.empty for one in parameters) == 2


class SampledController:
    """A controller in a run.

    Parameters
    ----------
    system : OdeSystem
    inputs : ZeroOrderHold
        What it sets.
    function : callable
    samples : (n,) array
        Times after 0 at which it is called [s].
    marks : (k,) array
        Times at which the run stops anyway [s]; those of sensors that are next to one are moved onto it.
    """

    def __init__(
        self, system: OdeSystem, inputs: ZeroOrderHold, function: Controller, samples: Array, marks: Array
    ) -> None:
        self.system, self.inputs, self.function = system, inputs, function
        self._given: list[Array] = []  # inputs of all samples
        self.sensors: dict[str, SampledSensor] = {}
        if takes_readings(function):
            instruments, times = system.robot.instruments, np.concatenate([[0.0], samples])
            if not instruments.sensors:
                raise InputError("controller", "a robot with sensors, for a function f(t, y)", "none", "f(t, q, qd)")
            for name, sensor in instruments.sensors.items():
                self.sensors[name] = SampledSensor(name, sensor, times, marks)

    @property
    def sensor_times(self) -> Array:
        """When sensors are read [s]."""
        return np.unique(np.concatenate([np.zeros(0), *(one.times for one in self.sensors.values())]))

    def measure(self, t: float, q: Array, qd: Array, qdd: Array, strain: Array) -> None:
        """Take the samples of sensors that are due at t; qdd: accelerations as far as they are prescribed."""
        due = [one for one in self.sensors.values() if t in one.numbers_at]
        if not due:
            return
        robot, u, multiplier = self.system.robot, self.inputs.value(t), np.zeros(self.system.robot.n_multipliers)
        if any(one.sensor.accelerates for one in due):
            evaluation = self.system.forward(task.FORWARD, t, q, qd, qdd, strain)
            qdd, multiplier = evaluation.qdd.copy(), evaluation.closure.multiplier.copy()
        state = State(robot.instruments.sites, t, q, qd, qdd, u, multiplier)
        for one in due:
            reader = robot.instruments.readers[one.name]
            one.add(t, reader.read(state), len(one.sensor.error_names(reader)))

    def act(self, t: float, q: Array, qd: Array) -> None:
        """Call the controller at t, and hold what it gives."""
        if self.sensors:
            given = self.function(t, {name: one.arrived() for name, one in self.sensors.items()})
        else:
            given = self.function(t, q, qd)
        robot, sets = self.system.robot, self.inputs.held
        self._given.append(controller_inputs(robot, sets, f"controller at t = {t:g} s", given))
        self.inputs.hold(t, self._given[-1])

    def runaway(self) -> str:
        """Which input grows from sample to sample without end, in words; "" if none does."""
        n, robot = len(self._given) // 4, self.system.robot
        if 4 * n < LEAST_SAMPLES:
            return ""
        peaks = np.abs(self._given[-4 * n :]).reshape(4, n, -1).max(axis=1)
        grows = (peaks[0] > 0.0) & (peaks[1:] >= GROWTH * peaks[:-1]).all(axis=0)
        if not grows.any():
            return ""
        j = int(np.flatnonzero(grows)[peaks[3, grows].argmax()])
        name, unit = robot.actuator_names[j], robot.actuator_units[j]
        size = f"from {peaks[0, j]:.2g} to {peaks[3, j]:.2g} {unit} in {4 * n} samples, tenfold in each quarter of them"
        return f"the controller's '{name}' grew {size}: {UNSTABLE}"


def controller_inputs(robot: Robot, sets: Sequence[int], where: str, u: Any) -> Array:
    """Inputs (n_actuators,) that a controller gave which sets some of them, zero being the others."""
    names = robot.actuator_names
    own = [names[i] for i in sets]
    if u is None and names:
        raise InputError(where, "the inputs", "None", "the function has to return them")
    if len(own) == 1 and (one := as_real(u)) is not None:
        u = [one]
    if len(own) < len(names):
        if not isinstance(u, Mapping):
            values = list(np.atleast_1d(np.asarray(u, dtype=object)))
            if len(values) != len(own):
                raise InputError(where, f"{len(own)} inputs: {', '.join(own)}", f"{len(values)}")
            u = dict(zip(own, values, strict=True))
        if both := next((name for name in u if name in names and name not in own), None):
            raise InputError(where, f"inputs that u does not name: {', '.join(own)}", f"'{both}'")
    return robot.inputs(u, where)


class SampledSensor:
    """A sensor as a controller sees it: at each of its times the last sample that has arrived, or the first one.

    Attributes
    ----------
    times : (k,) array
        When the samples are taken that a controller gets [s].
    """

    def __init__(self, name: str, sensor: Sensor, calls: Array, marks: Array) -> None:
        self.name, self.sensor = name, sensor
        taken = np.maximum(calls - sensor.delay, 0.0)
        if sensor.rate is None:
            self.numbers: IntArray = np.arange(len(calls))
        else:
            self.numbers = np.floor(taken * sensor.rate + ON_SAMPLE * (1.0 + taken * sensor.rate)).astype(np.int64)
            taken = self.numbers / sensor.rate
        spacing = float(np.diff(marks).min(initial=np.inf))
        k = np.clip(np.searchsorted(marks, taken), 1, max(len(marks) - 1, 1))
        near = np.where(taken - marks[k - 1] <= marks[k] - taken, marks[k - 1], marks[k])
        taken = np.where(np.abs(near - taken) <= ON_SAMPLE * spacing, near, taken)
        self.times = np.unique(taken)
        self.numbers_at: dict[float, list[int]] = {}
        for t, number in zip(taken.tolist(), self.numbers.tolist(), strict=True):
            self.numbers_at.setdefault(t, []).append(number)
        self.call, self.n_drawn, self.generator = 0, 0, sensor.generator(name)
        self.readings: dict[int, Array] = {}  # by number, those that are still wanted

    def add(self, t: float, value: Array, n_errors: int) -> None:
        """Take the samples of a time, with noise and bias."""
        for number in dict.fromkeys(self.numbers_at.pop(t)):
            error = np.broadcast_to(np.asarray(self.sensor.bias, dtype=float), (n_errors,))
            if np.any(self.sensor.noise):
                draws = self.generator.standard_normal((number + 1 - self.n_drawn, n_errors))
                error, self.n_drawn = error + np.asarray(self.sensor.noise) * draws[-1], number + 1
            self.readings[number] = self.sensor.with_error(value[None], error[None])[0]

    def arrived(self) -> Array:
        """The reading (n_channels,) that the next call of the controller gets."""
        number = int(self.numbers[self.call])
        self.call += 1
        self.readings = {one: value for one, value in self.readings.items() if one >= number}
        return self.readings[number].copy()
