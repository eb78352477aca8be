"""What may vary in a sweep: inputs, driven coordinates and values of the robot's file, with their units.

Every process that computes points imports this module, so what only reads files is imported where it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sorosim.analysis.sensitivity import scalars_of
from sorosim.base.errors import InputError, ModelError
from sorosim.base.units.table import DIMENSIONS, Exponents, WrongText, combined, split
from sorosim.base.units.table import dimension_of as unit_dimension
from sorosim.base.validation import as_real
from sorosim.mechanics.engine.parameter import DRIVEN, FILE, INPUT, OPERATED, Parameter
from sorosim.mechanics.robot import Robot
from sorosim.studies.sweeps.samples import Value


@dataclass(frozen=True)
class Varied(Parameter):
    """A parameter that varies over the points, or has one value for all; of the file also words and options of runs."""

    written: str = ""
    timed: bool = False  # it may be an expression of t

    @property
    def name(self) -> str:
        """As it was written."""
        return self.written

    def read(self, value: object) -> Value:
        """A value in SI units, or a word.

        Raises
        ------
        ModelError
            It is no quantity of this dimension.
        """
        from sorosim.base.declare import formula_or_quantity
        from sorosim.base.units.quantity import is_quantity, quantity

        if not self.dimension:
            return _number_or_word(value)
        if self.kind == FILE and isinstance(value, str) and not is_quantity(value):
            return value  # a formula, say; the file's declarations know what may stand there
        if self.timed and isinstance(value, str):
            formula = formula_or_quantity(value, self.dimension, ("t",))
            return value if as_real(formula) is None else float(formula)  # type: ignore[arg-type]
        return float(quantity(value, self.dimension))

    def numeric(self, value: object) -> float:
        """A value in SI units; words are refused."""
        from sorosim.base.problems import shown

        found = self.read(value)
        if isinstance(found, str):
            raise ModelError("", "a number or a quantity", shown(found), "words and expressions can be listed only")
        return found

    def unit_of(self, written: Sequence[object]) -> str:
        """Unit of its values, "" where none is known; `written` is how they were given."""
        said = (name for value in written if (name := unit_dimension(str(value))))
        return DIMENSIONS[self.dimension or next(said, "number")].unit


def _number_or_word(value: object) -> Value:
    from sorosim.base.units.quantity import in_si, quantity

    number = as_real(value)
    if number is not None:
        return float(quantity(number, "number"))
    try:
        return in_si(str(value))
    except ModelError:
        return str(value)


def exponents_of(value: object) -> Exponents | None:
    """What kind of quantity a text is; None of a bare number or a word."""
    try:
        words = split(str(value))[1]
        return combined(words, DIMENSIONS["number"].exponents)[2] if words else None
    except WrongText:
        return None


def parameter(robot: Robot, name: str, timed: bool = False) -> Varied:
    """The parameter of a name; what is neither u.NAME nor driven.NAME is a path in the robot's file.

    Raises
    ------
    InputError
        The robot has no actuator or coordinate of this name.
    """
    kind, _, target = name.strip().partition(".")
    if kind in OPERATED and target:
        return operated(robot, kind, name, target, timed)
    if not target:
        layout = robot.engine.layout
        moving = {link.name for link in robot.links if layout.links[link.name].n_joint == 1}
        likely_kind = INPUT if kind in robot.actuator_names else DRIVEN if kind in moving else ""
        if likely_kind:
            raise InputError(
                "", "u.NAME, driven.NAME or a path in the robot's file", f"'{kind}'", f"try {likely_kind}.{kind}"
            )
    path = re.sub(r"\.(\d+)(?=[.\[]|\Z)", r"[\1]", name.strip())
    return Varied(FILE, path, _dimension_in_file(robot, path), written=name)


def _dimension_in_file(robot: Robot, path: str) -> str:
    """Dimension of a number in a robot's file; "" where it has none, and of robots that no file can express."""
    try:
        file = scalars_of(robot)
    except ModelError:
        return ""
    return (file.dimension(path) if path in file.paths else None) or ""


def operated(robot: Robot, kind: str, name: str, target: str, timed: bool) -> Varied:
    """An input of an actuator, or a driven coordinate."""
    return Varied(**vars(OPERATED[kind](robot, target, "")), written=name, timed=timed)


def settings_of(parameters: Sequence[Varied], row: Mapping[str, Value]) -> dict[str, Any]:
    """Values of the robot's file at a point, as `sorosim.load(..., set=...)` takes them."""
    found: dict[str, Any] = {}
    for one in parameters:
        if one.kind == FILE:
            value = row[one.name]
            # what counts something has to be a whole number in a file
            found[one.target] = int(value) if isinstance(value, float) and value.is_integer() else value
    return found
