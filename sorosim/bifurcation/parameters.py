"""Names of continuation parameters: their values and units."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.errors import FileError, InputError, ModelError, nearest
from sorosim.io.vary import Scalars
from sorosim.robot import Robot
from sorosim.sensitivity import scalars_of
from sorosim.units.quantity import amount, in_si
from sorosim.units.table import DIMENSIONS, WrongText, combined, kind_of, split
from sorosim.validation import as_real, number

Array = NDArray[np.float64]

INPUT, DRIVEN = "u.", "driven."
# of no quantity in a robot
NO_UNIT = "kg^3*m^7"


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
    """A value for the name, in SI units: a number, or a text with a unit of the right kind."""
    if not isinstance(value, str):
        return number(where, value)
    if name.startswith(INPUT):
        return amount(where, value, robot.input_dimensions[name[len(INPUT) :]])
    if name.startswith(DRIVEN):
        layout = robot.engine.layout
        return amount(where, value, layout.dimensions[layout.coordinate(name[len(DRIVEN) :], where)])
    try:
        converted = in_si(value)
    except ModelError as error:
        raise InputError(where, error.expected, error.got, error.hint) from None
    file = scalars_of(robot)
    _same_kind(file, name, value, where)
    try:
        _ = file.at({name: value}).description  # the declaration checks the unit
    except (ModelError, FileError) as error:
        raise InputError(where, f"a value that '{name}' can have", f"'{value}' ({error})") from None
    return converted


@lru_cache(maxsize=32)  # called for every branch
def unit_of(robot: Robot, name: str) -> str:
    """SI unit of the named parameter, "" of a plain number."""
    layout = robot.engine.layout
    if name.startswith(INPUT):
        return str(robot.actuator_units[robot.actuator_names.index(name[len(INPUT) :])])
    if name.startswith(DRIVEN):
        return DIMENSIONS[layout.dimensions[layout.coordinate(name[len(DRIVEN) :], "along")]].unit
    file = scalars_of(robot)
    # what takes any unit has none: a parameter that nothing uses
    known = (NO_UNIT, *dict.fromkeys(dimension.unit for dimension in DIMENSIONS.values()))
    fits = (unit for unit in known if unit and _takes(file, name, unit))
    unit = next(fits, NO_UNIT)
    return "" if unit == NO_UNIT else unit.replace("*", " ")


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
