"""What may vary in a sweep: inputs, driven coordinates and values of the robot's file, with their units.

Every process that computes points imports this module, so what only reads files is imported where it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sorosim.engine.inputs import dimension_of
from sorosim.errors import InputError, ModelError
from sorosim.robot import Robot
from sorosim.sensitivity import scalars_of
from sorosim.sweeps.samples import Value
from sorosim.units.table import DIMENSIONS, Exponents, WrongText, combined, split
from sorosim.units.table import dimension_of as unit_dimension
from sorosim.validation import as_real

INPUT, DRIVEN, FILE = "u", "driven", "file"


@dataclass(frozen=True)
class Parameter:
    """A quantity that varies over the points, or has one value for all of them."""

    name: str  # as it was written
    kind: str  # INPUT, DRIVEN or FILE
    target: str  # name of the actuator or coordinate, or path in the robot's file
    dimension: str  # of `DIMENSIONS`; "" for what has none: words, counts, options of runs
    timed: bool = False  # it may be an expression of t

    def read(self, value: Any) -> Value:
        """A value in SI units, or a word.

        Raises
        ------
        ModelError
            It is no quantity of this dimension.
        """
        from sorosim.declare import formula_or_quantity
        from sorosim.units.quantity import is_quantity, quantity

        if not self.dimension:
            return _number_or_word(value)
        if self.kind == FILE and isinstance(value, str) and not is_quantity(value):
            return value  # a formula, say; the file's declarations know what may stand there
        if self.timed and isinstance(value, str):
            formula = formula_or_quantity(value, self.dimension, ("t",))
            return value if as_real(formula) is None else float(formula)  # type: ignore[arg-type]
        return float(quantity(value, self.dimension))

    def number(self, value: Any) -> float:
        """A value in SI units; words are refused."""
        from sorosim.problems import shown

        found = self.read(value)
        if isinstance(found, str):
            raise ModelError("", "a number or a quantity", shown(found), "words and expressions can be listed only")
        return found

    def unit(self, written: Sequence[Any]) -> str:
        """Unit of its values, "" where none is known; `written` is how they were given."""
        said = (name for value in written if (name := unit_dimension(str(value))))
        return DIMENSIONS[self.dimension or next(said, "number")].unit


def _number_or_word(value: Any) -> Value:
    from sorosim.units.quantity import in_si, quantity

    number = as_real(value)
    if number is not None:
        return float(quantity(number, "number"))
    try:
        return in_si(str(value))
    except ModelError:
        return str(value)


def exponents_of(value: Any) -> Exponents | None:
    """What kind of quantity a text is; None of a bare number or a word."""
    try:
        words = split(str(value))[1]
        return combined(words, DIMENSIONS["number"].exponents)[2] if words else None
    except WrongText:
        return None


def parameter(robot: Robot, name: str, timed: bool = False) -> Parameter:
    """The parameter of a name; what is neither u.NAME nor driven.NAME is a path in the robot's file.

    Raises
    ------
    InputError
        The robot has no actuator or coordinate of this name.
    """
    kind, _, target = name.strip().partition(".")
    if kind == INPUT and target:
        return input_parameter(robot, name, target, timed)
    if kind == DRIVEN and target:
        return driven_parameter(robot, name, target, timed)
    if not target:
        layout = robot.engine.layout
        moving = {link.name for link in robot.links if layout.links[link.name].n_joint == 1}
        likely_kind = INPUT if kind in robot.actuator_names else DRIVEN if kind in moving else ""
        if likely_kind:
            raise InputError(
                "", "u.NAME, driven.NAME or a path in the robot's file", f"'{kind}'", f"try {likely_kind}.{kind}"
            )
    path = re.sub(r"\.(\d+)(?=[.\[]|\Z)", r"[\1]", name.strip())
    return Parameter(name, FILE, path, _dimension_in_file(robot, path))


def _dimension_in_file(robot: Robot, path: str) -> str:
    """Dimension of a number in a robot's file; "" where it has none, and of robots that no file can express."""
    try:
        file = scalars_of(robot)
    except ModelError:
        return ""
    return (file.dimension(path) if path in file.paths else None) or ""


def input_parameter(robot: Robot, name: str, target: str, timed: bool) -> Parameter:
    """An input of an actuator."""
    return Parameter(name, INPUT, target, dimension_of(robot.input_dimensions, target, ""), timed)


def driven_parameter(robot: Robot, name: str, target: str, timed: bool) -> Parameter:
    """A driven coordinate."""
    layout = robot.engine.layout
    return Parameter(name, DRIVEN, target, layout.dimensions[layout.coordinate(target, "")], timed)


def settings_of(parameters: Sequence[Parameter], row: Mapping[str, Value]) -> dict[str, Any]:
    """Values of the robot's file at a point, as `sorosim.load(..., set=...)` takes them."""
    found: dict[str, Any] = {}
    for one in parameters:
        if one.kind == FILE:
            value = row[one.name]
            # what counts something has to be a whole number in a file
            found[one.target] = int(value) if isinstance(value, float) and value.is_integer() else value
    return found
