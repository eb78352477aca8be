"""A named scalar of a robot or of its operation: an input, a driven coordinate, a number of its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sorosim.base.errors import InputError, ModelError, nearest
from sorosim.base.units.quantity import amount, in_si, interval
from sorosim.base.units.table import DIMENSIONS
from sorosim.base.validation import number
from sorosim.mechanics.engine.bounds import coordinate_bounds
from sorosim.mechanics.engine.inputs import dimension_of
from sorosim.mechanics.engine.prescribed import Operated

# kinds, which are the first words of the names of inputs and driven coordinates
INPUT, DRIVEN, FILE = "u", "driven", "file"


@dataclass(frozen=True)
class Parameter:
    """An input, a driven coordinate or a number of the file, with what is known of it.

    Attributes
    ----------
    kind : str
        INPUT, DRIVEN or FILE.
    target : str
        Name of the actuator; of the coordinate, or of its link; path in the robot's file.
    dimension : str
        One of `DIMENSIONS`; "" where nothing says it.
    index : int
        Of the input in u, of the coordinate in q, whose derivatives by it are unit vectors; -1 of a number of the file,
        by which `sensitivities` has derivatives.
    low, high : float
        Bounds that it has by itself: of actuators that only pull, of the stops of a joint [SI].
    value : float
        Of a number of the file [SI].
    """

    kind: str
    target: str
    dimension: str = ""
    index: int = -1
    low: float = -np.inf
    high: float = np.inf
    value: float = np.nan

    @property
    def name(self) -> str:
        """``u.<actuator>``, ``driven.<coordinate or link>``, or the path in the file."""
        return self.target if self.kind == FILE else f"{self.kind}.{self.target}"

    @property
    def unit(self) -> str:
        """Its SI unit, "" of a plain number."""
        return DIMENSIONS[self.dimension or "number"].unit

    def number(self, where: str, value: object) -> float:
        """A value of it in SI units: a number, or a text with a unit of its dimension (else InputError)."""
        if self.dimension:
            return amount(where, value, self.dimension)
        if not isinstance(value, str):
            return number(where, value)
        try:
            return in_si(value)
        except ModelError as error:
            raise InputError(where, error.expected, error.got, error.hint) from None

    def ends(self, where: str, pair: Sequence[object]) -> tuple[float, float]:
        """The least and the greatest value of a pair in SI units, None or infinite being open (else InputError)."""
        low, high = (
            end if x is None or (isinstance(x, float) and x == end) else self.number(where, x)
            for x, end in zip(pair, (-np.inf, np.inf), strict=True)
        )
        return low, high

    def bounds(self, where: str, pair: object) -> tuple[float, float]:
        """Bounds (low, high) that are given for it in SI units; None: there is none (else InputError)."""
        return interval(where, pair, self.dimension or "number")


def input_parameter(robot: Operated, name: str, where: str = "u") -> Parameter:
    """The input of an actuator (InputError: there is none)."""
    dimension = dimension_of(robot.input_dimensions, name, where)
    pulls = getattr(robot.description.actuators[name], "only_pulls", False)  # negative inputs do nothing
    return Parameter(INPUT, name, dimension, robot.engine.actuator_names.index(name), 0.0 if pulls else -np.inf)


def driven_parameter(robot: Operated, name: str, where: str = "driven") -> Parameter:
    """A coordinate that is driven, by its name or that of a link whose joint has one (InputError: there is none)."""
    layout = robot.engine.layout
    column = layout.coordinate(name, where)
    return Parameter(DRIVEN, name, layout.dimensions[column], column, *coordinate_bounds(layout, column))


OPERATED = {INPUT: input_parameter, DRIVEN: driven_parameter}


def input_or_coordinate(robot: Operated, name: object, where: str) -> Parameter:
    """An input, or else a coordinate, by its own name (InputError: there is neither)."""
    inputs = robot.engine.actuator_names
    try:
        if not isinstance(name, str):
            raise InputError(where, "the name of an input or a coordinate", type(name).__name__)
        return (input_parameter if name in inputs else driven_parameter)(robot, name, where)
    except InputError as error:
        hint = nearest(str(name), [*inputs, *robot.engine.layout.coordinate_names])
        raise InputError(where, "the name of an input or a coordinate", f"'{name}'", hint) from error
