"""Names of continuation parameters: their values and units."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sorosim.arrays import Array
from sorosim.errors import InputError, ModelError, nearest
from sorosim.robot import Robot
from sorosim.sensitivity import scalars_of
from sorosim.units.quantity import amount, in_si
from sorosim.units.table import DIMENSIONS
from sorosim.validation import number

INPUT, DRIVEN = "u.", "driven."


def check_name(robot: Robot, name: Any) -> str:
    """Refuse a parameter name that the robot does not have (InputError)."""
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
    """Present value of the named parameter; of coordinates that are not driven, the initial one."""
    if name.startswith(INPUT):
        return float(u[robot.actuator_names.index(name[len(INPUT) :])])
    if name.startswith(DRIVEN):
        own = name[len(DRIVEN) :]
        return float(driven.get(own, robot.initial_q[robot.engine.layout.coordinate(own, "driven")]))
    return scalars_of(robot).value(name)


def value_of(robot: Robot, name: str, value: Any, where: str) -> float:
    """A value for the name, in SI units: a number, or a text with a unit of the right dimension."""
    if not isinstance(value, str):
        return number(where, value)
    dimension = dimension_of(robot, name)
    if dimension is not None:
        return amount(where, value, dimension)
    try:
        return in_si(value)
    except ModelError as error:
        raise InputError(where, error.expected, error.got, error.hint) from None


def unit_of(robot: Robot, name: str) -> str:
    """SI unit of the named parameter, "" of a plain number."""
    if name.startswith(INPUT):  # some have a unit that no number in a file has
        return str(robot.actuator_units[robot.actuator_names.index(name[len(INPUT) :])])
    return DIMENSIONS[dimension_of(robot, name) or "number"].unit.replace("*", " ")


@lru_cache(maxsize=32)  # called for every branch
def dimension_of(robot: Robot, name: str) -> str | None:
    """Dimension of the named parameter, one of `DIMENSIONS`; None if nothing says it."""
    if name.startswith(INPUT):
        return robot.input_dimensions[name[len(INPUT) :]]
    if name.startswith(DRIVEN):
        layout = robot.engine.layout
        return layout.dimensions[layout.coordinate(name[len(DRIVEN) :], "along")]
    return scalars_of(robot).dimension(name)
