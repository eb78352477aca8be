"""Straight ways of inputs, driven coordinates and numbers of a robot's file: the equations of rest along them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sorosim.engine.engine import Evaluation
from sorosim.errors import FileError, InputError, ModelError, nearest
from sorosim.io.vary import Scalars
from sorosim.kernels import evaluate as task
from sorosim.kernels.loops import CONSTRAINT, ERROR, ERROR_BY_Q
from sorosim.robot import Robot
from sorosim.sensitivity import scalars_of, varied_engine
from sorosim.units.quantity import in_si, quantity
from sorosim.units.table import DIMENSIONS, OF_INPUT, WrongText, combined, kind_of, split
from sorosim.validation import as_real, number

Array = NDArray[np.float64]

INPUT, DRIVEN = "u.", "driven."
# numbers that go into the equations of rest as factors, if the equations say so too at a few states
FACTORS = ("force", "moment", "gravity")
AFFINE = 1e-11
# of no quantity in a robot
NO_UNIT = "kg^3*m^7"
# robots that are kept made
KEPT = 16


class AtRest(NamedTuple):
    """The equations of rest in a state, their derivatives, and those of motion."""

    tau: Array  # (ndof,) forces that are not balanced
    dq: Array  # (ndof, ndof) their derivative
    dqd: Array  # (ndof, ndof)
    mass: Array  # (ndof, ndof)
    error: Array  # (m,) of loops
    constraint: Array  # (m, ndof) A
    error_by_q: Array  # (m, ndof)
    tau_slope: Array  # (ndof,) derivative by the parameter, coordinates that are not driven held
    error_slope: Array  # (m,)


class Way:
    """Values that change with one parameter: value = origin + parameter * slope.

    Parameters
    ----------
    robot : Robot
    names : sequence of str
        ``u.<actuator>``, ``driven.<link or coordinate>``, or paths of numbers in the robot's file.
    origin, slope : array_like
        Of each name.
    u : (n_actuators,) array
        All inputs, those of names are replaced.
    driven : mapping of str to float
        All driven coordinates; those of names are replaced.
    """

    def __init__(
        self, robot: Robot, names: Sequence[str], origin: ArrayLike, slope: ArrayLike, u: Array,
        driven: Mapping[str, float],
    ) -> None:  # fmt: skip
        self.base, self.names = robot, tuple(names)
        self.origin, self.slope = np.array(origin, dtype=float), np.array(slope, dtype=float)
        self._u, self._driven = np.array(u), dict(driven)
        self._rates = dict(zip(self.names, map(float, self.slope), strict=True))
        self._numbers = [name for name in self.names if not name.startswith((INPUT, DRIVEN))]
        self._file = scalars_of(robot) if self._numbers else None
        self._u_slope = np.zeros_like(self._u)
        for name in self.names:
            if name.startswith(INPUT):
                self._u_slope[robot.actuator_names.index(name[len(INPUT) :])] = self._rates[name]
            elif name.startswith(DRIVEN):
                self._driven[name[len(DRIVEN) :]] = 0.0
        layout = robot.engine.layout
        self._q_slope = np.zeros(robot.ndof)
        for name in self._driven:
            self._q_slope[layout.coordinate(name, "driven")] = self._rates.get(f"{DRIVEN}{name}", 0.0)
        self.robot = lru_cache(maxsize=KEPT)(self._robot)
        self._engines = lru_cache(maxsize=KEPT)(self._varied)
        self._ends: tuple[float, float] | None = None

    # -- what there is at a parameter --------------------------------------------------------------------------------

    def values(self, p: float) -> dict[str, float]:
        """What the names stand for."""
        return dict(zip(self.names, map(float, self.origin + p * self.slope), strict=True))

    def inputs(self, p: float) -> Array:
        """All inputs (n_actuators,)."""
        u, values = self._u.copy(), self.values(p)
        for i, name in enumerate(self.base.actuator_names):
            u[i] = values.get(f"{INPUT}{name}", u[i])
        return u

    def driven(self, p: float) -> dict[str, float]:
        """All driven coordinates by name."""
        values = self.values(p)
        return {name: values.get(f"{DRIVEN}{name}", value) for name, value in self._driven.items()}

    def place(self, q: Array, p: float) -> Array:
        """Put the driven coordinates into q (ndof,)."""
        for name, value in self.driven(p).items():
            q[self.base.engine.layout.coordinate(name, "driven")] = value
        return q

    def moved(self, step: float) -> Array:
        """How driven coordinates (ndof,) move with a step of the parameter."""
        return step * self._q_slope

    def _robot(self, p: float) -> Robot:
        """The robot with the numbers of its file."""
        if self._file is None or all(value == self._file.value(name) for name, value in self._values_of_file(p)):
            return self.base
        out = Robot(self._file.at(dict(self._values_of_file(p))).description)
        if out.coordinate_names != self.base.coordinate_names:
            raise InputError("along", "numbers that do not change which coordinates there are", f"{self._numbers}")
        return out

    def shaped(self, p: float) -> Robot:
        """A robot of the same shape as that at p; factors of loads do not change it."""
        return self.base if self._ends is not None else self.robot(p)

    def _values_of_file(self, p: float) -> list[tuple[str, float]]:
        values = self.values(p)
        return [(name, values[name]) for name in self._numbers]

    def _varied(self, p: float) -> list[Any]:
        """Engines that carry the derivative by each number of the file."""
        if self._file is None:
            return []
        file, robot = self._file.at(dict(self._values_of_file(p))), self.robot(p)
        return [varied_engine(robot, file, name) for name in self._numbers]

    # -- the equations -----------------------------------------------------------------------------------------------

    def at_rest(self, q: Array, p: float, multiplier: Array) -> AtRest:
        """The equations at coordinates q (ndof,), driven ones included, and multipliers of loops (m,)."""
        u = self.inputs(p)
        if self._ends is not None:
            # they are straight lines in the parameter: two robots are enough
            a, b = self._ends
            first, second = (self._evaluate(self.robot(end), q, u, multiplier) for end in self._ends)
            share = (p - a) / (b - a)
            *parts, B = (x + share * (y - x) for x, y in zip(first, second, strict=True))
            tau_slope, error_slope = ((second[k] - first[k]) / (b - a) for k in (0, 4))
        else:
            *parts, B = self._evaluate(self.robot(p), q, u, multiplier)
            tau_slope, error_slope = np.zeros(len(q)), np.zeros(len(multiplier))
            zero = np.zeros(len(q))
            for name, engine in zip(self._numbers, self._engines(p), strict=True):
                one, rate = engine.vary(q, zero, zero, u, 0.0, multiplier), self._rates[name]
                tau_slope += rate * (one.inverse - one.internal)
                error_slope += rate * one.loops[ERROR]
        tau_slope = tau_slope - B @ self._u_slope + parts[1] @ self._q_slope
        error_slope = error_slope + parts[6] @ self._q_slope
        return AtRest(*parts[:7], tau_slope, error_slope)  # type: ignore[call-arg]

    @staticmethod
    def _evaluate(robot: Robot, q: Array, u: Array, multiplier: Array) -> list[Array]:
        zero = np.zeros(len(q))
        out: Evaluation = robot.engine.evaluate(
            task.RESIDUAL_DERIVATIVES, q, zero, zero.copy(), u, multiplier=multiplier
        )  # fmt: skip
        value, matrix = out.closure.value, out.closure.matrix
        return [out.tau, out.dq, out.dqd, out.mass, value[ERROR], matrix[CONSTRAINT], matrix[ERROR_BY_Q], out.B]

    def straighten(self, q: Array, a: float, b: float) -> None:
        """Look whether the numbers of the file are but factors between two parameters; then far less is to be done."""
        last = [name.split("[")[0].split(".")[-1] for name in self._numbers]
        if not self._numbers or not all(word in FACTORS for word in last) or self.base.engine.loading.touches:
            return
        rng, none = np.random.default_rng(0), np.zeros(self.base.n_multipliers)
        span = b - a
        for share in (0.31, 0.77):
            state = self.place(q + 0.1 * rng.normal(size=len(q)), a)
            u, p = self.inputs(a), a + share * span
            start, end, between = (self._evaluate(self.robot(x), state, u, none) for x in (a, b, p))
            for x, y, z in zip(start, end, between, strict=True):
                size = max(np.abs(x).max(initial=0.0), np.abs(y).max(initial=0.0))
                if np.abs(x + share * (y - x) - z).max(initial=0.0) > AFFINE * size:
                    return
        self._ends = a, b


# -- what a user asks for ----------------------------------------------------------------------------------------------


def check_name(robot: Robot, name: Any) -> str:
    """Name of what changes, refusing what the robot does not have (InputError)."""
    if not isinstance(name, str):
        expected = "u.<actuator>, driven.<coordinate> or the path of a number in the robot's file"
        raise InputError("along", expected, type(name).__name__)
    if name.startswith(INPUT) and name[len(INPUT) :] in robot.actuator_names:
        return name
    if name.startswith(DRIVEN):
        robot.engine.layout.coordinate(name[len(DRIVEN) :], "along")
        return name
    inputs = [f"{INPUT}{actuator}" for actuator in robot.actuator_names]
    if name.startswith(INPUT) or f"{INPUT}{name}" in inputs:
        hint = nearest(f"{INPUT}{name.removeprefix(INPUT)}", inputs)
        raise InputError("along", "the name of an input", f"'{name}'", hint)
    file = scalars_of(robot)
    try:
        file.path(name)
    except InputError as error:
        expected = "u.<actuator>, driven.<coordinate> or the path of a number in the robot's file"
        hint = nearest(name, [*inputs, *file.paths])
        if name.startswith("gravity") and not any(path.startswith("gravity") for path in file.paths):
            hint = "the file leaves gravity to its default: write it into the file"
        raise InputError("along", expected, f"'{name}'", hint) from error
    return name


def present(robot: Robot, name: str, u: Array, driven: Mapping[str, float]) -> float:
    """What the name stands for now; of driven coordinates that are not held, where the robot begins."""
    if name.startswith(INPUT):
        return float(u[robot.actuator_names.index(name[len(INPUT) :])])
    if name.startswith(DRIVEN):
        own = name[len(DRIVEN) :]
        return float(driven.get(own, robot.initial_q[robot.engine.layout.coordinate(own, "driven")]))
    return scalars_of(robot).value(name)


def value_of(robot: Robot, name: str, value: Any, where: str) -> float:
    """A value for the name, in SI units: a number, or a text with a unit of the right kind."""
    if not isinstance(value, str):
        return number(where, value)
    try:
        if name.startswith(INPUT):
            unit = dict(zip(robot.actuator_names, robot.actuator_units, strict=True))[name[len(INPUT) :]]
            return quantity(value, OF_INPUT.get(unit, "number"))
        if name.startswith(DRIVEN):
            layout = robot.engine.layout
            return quantity(value, layout.dimensions[layout.coordinate(name[len(DRIVEN) :], where)])
        found = in_si(value)
    except ModelError as error:
        raise InputError(where, error.expected, error.got, error.hint) from None
    file = scalars_of(robot)
    _same_kind(file, name, value, where)
    try:
        _ = file.at({name: value}).description  # it knows which unit belongs there
    except (ModelError, FileError) as error:
        raise InputError(where, f"a value that '{name}' can have", f"'{value}' ({error})") from None
    return found


@lru_cache(maxsize=32)  # every branch asks
def unit_of(robot: Robot, name: str) -> str:
    """SI unit of what the name stands for, "" of a plain number."""
    layout = robot.engine.layout
    if name.startswith(INPUT):
        return str(robot.actuator_units[robot.actuator_names.index(name[len(INPUT) :])])
    if name.startswith(DRIVEN):
        return DIMENSIONS[layout.dimensions[layout.coordinate(name[len(DRIVEN) :], "along")]].unit
    file = scalars_of(robot)
    # what takes any unit has none: a parameter that nothing uses
    known = (NO_UNIT, *dict.fromkeys(dimension.unit for dimension in DIMENSIONS.values()))
    fits = (unit for unit in known if unit and _takes(file, name, unit))
    found = next(fits, NO_UNIT)
    return "" if found == NO_UNIT else found.replace("*", " ")


def _takes(file: Scalars, name: str, unit: str) -> bool:
    """Whether the number may have the unit; the file's own checks tell."""
    try:
        _ = file.at({name: f"{file.value(name)!r} {unit}"}).description
    except (ModelError, FileError):
        return False
    return True


def _same_kind(file: Scalars, name: str, value: str, where: str) -> None:
    """Refuse a unit of another kind than that in the file."""
    written = file.text(name)
    try:
        if as_real(written) is not None or not split(str(written))[1] or not split(value)[1]:
            return
        kinds = [combined(split(text)[1], (0, 0, 0))[2] for text in (str(written), value)]
    except WrongText:
        return
    if kinds[0] != kinds[1]:
        raise InputError(where, kind_of(kinds[0]), f"'{value}', {kind_of(kinds[1])}", f"the file has {written}")
