"""Types of the values in a file, as markers for `typing.Annotated`: each checks a value and says what it expected.

They raise ModelError with a path relative to the value; schema.py turns these into problems with positions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from sorosim.errors import ModelError, nearest
from sorosim.model.profile import PLACE_VARIABLES
from sorosim.model.visual import COLOURS, colour_code
from sorosim.problems import listed, shown
from sorosim.signals.expressions import Expression, parse
from sorosim.signals.parser import CONSTANTS, FUNCTIONS
from sorosim.units.arithmetic import mismatch
from sorosim.units.quantity import is_quantity, quantity, with_plain_units
from sorosim.units.seeded import SYMBOL, SeededText
from sorosim.units.table import DIMENSIONS, unit_factor

MAX_NAME = 60
FORMAT_VERSION = 1
STARTS = ("equilibrium", "assembled")


class Field:
    """A marker whose `check` returns the value to store."""

    def check(self, value: Any) -> Any:
        raise NotImplementedError

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.check)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return self.json_schema()

    def json_schema(self) -> dict[str, Any]:
        """What a value looks like; ``x-unit`` is its unit in SI."""
        return {"type": "string", "minLength": 1}


def _quantity_schema(dimension: str) -> dict[str, Any]:
    unit = DIMENSIONS[dimension].unit
    return {"type": ["number", "string"], **({"x-unit": unit} if unit else {})}


@dataclass(frozen=True)
class Quantity(Field):
    """A number in SI units, or a text with a unit, inside bounds."""

    dimension: str
    _: KW_ONLY
    above: float = -math.inf
    least: float = -math.inf
    upto: float = math.inf

    def check(self, value: Any) -> float:
        number = quantity(value, self.dimension, condition=self.condition)
        if not (self.above < number.real and self.least <= number.real <= self.upto):
            got = value.strip() if isinstance(value, str) else shown(value)
            raise ModelError("", f"{DIMENSIONS[self.dimension].label} {self.condition}", got)
        return number

    @property
    def condition(self) -> str:
        """The bounds in words."""
        if self.upto < math.inf:
            low = f"above {self.above:g} and" if self.above > -math.inf else f"from {self.least:g}"
            return f"{low} {'up ' if self.above > -math.inf else ''}to {self.upto:g}"
        if self.above > -math.inf:
            return f"greater than {self.above:g}"
        return f"of {self.least:g} or more" if self.least > -math.inf else ""

    def json_schema(self) -> dict[str, Any]:
        # the bounds are those of the number in SI units
        bounds = {"exclusiveMinimum": self.above, "minimum": self.least, "maximum": self.upto}
        return _quantity_schema(self.dimension) | {key: b for key, b in bounds.items() if math.isfinite(b)}


@dataclass(frozen=True)
class Fraction(Field):
    """A place on a rod, s = X/L."""

    def check(self, value: Any) -> float:
        try:
            return _FRACTION.check(value)
        except ModelError as error:
            hint = "it is a fraction of the rod's length, X/L"
            raise ModelError("", error.expected, error.got, error.hint if "%" in error.hint else hint) from None

    def json_schema(self) -> dict[str, Any]:
        return _FRACTION.json_schema()


_FRACTION = Quantity("number", least=0.0, upto=1.0)


@dataclass(frozen=True)
class Vector(Field):
    """A list of quantities of one dimension; `counts` are the lengths that it may have."""

    dimension: str
    counts: tuple[int, ...] = (3,)
    _: KW_ONLY
    above: float = -math.inf

    def check(self, value: Any) -> tuple[float, ...]:
        label, counts = DIMENSIONS[self.dimension].label, listed([str(n) for n in self.counts])
        if not isinstance(value, list) or len(value) not in self.counts:
            raise ModelError("", f"a list of {counts}, each {label}", shown(value))
        one = Quantity(self.dimension, above=self.above)
        return tuple(checked_at(f"[{i}]", one, entry) for i, entry in enumerate(value))

    def json_schema(self) -> dict[str, Any]:
        counts = {"minItems": min(self.counts), "maxItems": max(self.counts)}
        return {"type": "array", "items": Quantity(self.dimension, above=self.above).json_schema(), **counts}


@dataclass(frozen=True)
class Numbers(Field):
    """A list of quantities, at least two."""

    dimension: str

    def check(self, value: Any) -> tuple[float, ...]:
        if not isinstance(value, list) or len(value) < 2:
            raise ModelError("", "a list of two values or more", shown(value))
        return tuple(quantity(entry, self.dimension, f"[{i}]") for i, entry in enumerate(value))

    def json_schema(self) -> dict[str, Any]:
        return {"type": "array", "items": _quantity_schema(self.dimension), "minItems": 2}


@dataclass(frozen=True)
class Text(Field):
    """A text that is not empty."""

    what: str = "a text"

    def check(self, value: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            hint = "put it in quotes" if isinstance(value, bool | int | float) else ""
            raise ModelError("", self.what, shown(value), hint)
        return value


@dataclass(frozen=True)
class Name(Field):
    """A name that may stand in paths and on a command line."""

    def check(self, value: Any) -> str:
        text = Text("a name").check(value)
        if len(text) > MAX_NAME or not re.fullmatch(r"\w[\w-]*", text):
            raise ModelError("", f"a name of at most {MAX_NAME} letters, digits, _ and -", shown(text))
        return text


@dataclass(frozen=True)
class Parent(Field):
    """The name of a link's parent."""

    def check(self, value: Any) -> str:
        if isinstance(value, list):
            hint = "a closed chain is a loop, not a second parent"
            raise ModelError("", "the name of one link", shown(value), hint)
        return Name().check(value)


@dataclass(frozen=True)
class Truth(Field):
    """true or false."""

    def check(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ModelError("", "true or false", shown(value))
        return value

    def json_schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True)
class ParameterName(Field):
    """A name that may stand after a dollar sign."""

    def check(self, value: Any) -> str:
        if not isinstance(value, str) or len(value) > MAX_NAME or not re.fullmatch(r"[^\W\d]\w*", value):
            expected = f"a name of at most {MAX_NAME} letters, digits and _, beginning with a letter"
            raise ModelError("", expected, shown(value))
        return value


@dataclass(frozen=True)
class Whole(Field):
    """A whole number inside bounds."""

    least: int
    upto: int

    def check(self, value: Any) -> int:
        number = value
        if isinstance(value, str):
            try:
                number = quantity(value, "number")
            except ModelError:
                number = math.nan
        # 2*$n is a number with a point
        whole = int(number) if isinstance(number, float) and isinstance(value, str) and number % 1.0 == 0.0 else number
        if isinstance(whole, bool) or not isinstance(whole, int) or not self.least <= whole <= self.upto:
            raise ModelError("", f"a whole number from {self.least} to {self.upto}", shown(value))
        return whole

    def json_schema(self) -> dict[str, Any]:
        return {"type": ["integer", "string"], "minimum": self.least, "maximum": self.upto}


@dataclass(frozen=True)
class Choice(Field):
    """One word of several; they may be found later, so that plug-ins count."""

    words: Callable[[], tuple[str, ...]]

    def check(self, value: Any) -> str:
        known = self.words()
        if not isinstance(value, str) or value not in known:
            hint = nearest(value, known) if isinstance(value, str) else ""
            raise ModelError("", listed(known), shown(value), "" if hint.startswith("known") else hint)
        return value

    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.words())}


@dataclass(frozen=True)
class Colour(Field):
    """The name or the code of a colour."""

    def check(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ModelError("", "the name of a colour, or its code in quotes", shown(value))
        try:
            colour_code(value)
        except ModelError as error:
            raise ModelError("", error.expected, shown(value), error.hint) from None
        return value

    def json_schema(self) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(COLOURS)}, {"type": "string", "pattern": "^#[0-9a-fA-F]{6}$"}]}


@dataclass(frozen=True)
class Version(Field):
    """The version of the format."""

    def check(self, value: Any) -> int:
        if isinstance(value, bool) or value != FORMAT_VERSION:
            newer = isinstance(value, int | float) and not isinstance(value, bool) and value > FORMAT_VERSION
            hint = "this file is for a newer sorosim" if newer else f"write sorosim: {FORMAT_VERSION}"
            raise ModelError("", f"{FORMAT_VERSION}, the version of the format", shown(value), hint)
        return FORMAT_VERSION

    def json_schema(self) -> dict[str, Any]:
        return {"const": FORMAT_VERSION}


def formula_or_quantity(value: Any, dimension: str, variables: tuple[str, ...]) -> float | Expression:
    """A quantity, or the text of an expression of variables; a text whose only words are units is a quantity."""
    if not isinstance(value, str) or is_quantity(value, (*variables, *FUNCTIONS, *CONSTANTS)):
        return quantity(value, dimension)
    text = with_plain_units(value, variables)
    expression = parse(text, variables, unit_factor, "")
    if isinstance(value, SeededText):
        expression = value.expression(with_plain_units(value.formula, (*variables, SYMBOL)), variables)
    wanted = DIMENSIONS[dimension]
    if other := mismatch(text, variables, wanted.exponents):
        example = f" such as {wanted.example}" if wanted.example else ""
        raise ModelError("", wanted.label + example, f"{shown(value)}, {other}")
    return expression


@dataclass(frozen=True)
class PlaceFormula(Field):
    """A quantity or an expression of X, s and L."""

    dimension: str

    def check(self, value: Any) -> float | Expression:
        return formula_or_quantity(value, self.dimension, PLACE_VARIABLES)

    def json_schema(self) -> dict[str, Any]:
        return _quantity_schema(self.dimension)


@dataclass(frozen=True)
class Size(Field):
    """A size along a rod but for a table: a quantity, [base, tip], or an expression of X, s and L."""

    dimension: str

    def check(self, value: Any) -> float | tuple[float, float] | Expression:
        if isinstance(value, list):
            if len(value) != 2:
                raise ModelError(
                    "", "two values, [base, tip]", shown(value), "for more, a table: {s: [...], value: [...]}"
                )
            least = Quantity(self.dimension, least=0.0)
            base, tip = (checked_at(f"[{i}]", least, entry) for i, entry in enumerate(value))
            return base, tip
        out = formula_or_quantity(value, self.dimension, PLACE_VARIABLES)
        return out if isinstance(out, Expression) else Quantity(self.dimension, above=0.0).check(value)

    def json_schema(self) -> dict[str, Any]:
        one = _quantity_schema(self.dimension)
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 2, "maxItems": 2}]}


def checked_at(where: str, marker: Quantity, value: Any) -> float:
    """Check an entry of a list; `where` is its place."""
    try:
        return marker.check(value)
    except ModelError as error:
        raise ModelError(where, error.expected, error.got, error.hint) from None


@dataclass(frozen=True)
class Raw(Field):
    """A number or a text, to be read when its dimension or its variables are known."""

    what: str

    def check(self, value: Any) -> float | str:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ModelError("", self.what, shown(value))
        return value

    def json_schema(self) -> dict[str, Any]:
        return {"type": ["number", "string"]}


@dataclass(frozen=True)
class Start(Field):
    """Coordinates to start from: a list of numbers, or a word."""

    def check(self, value: Any) -> tuple[float, ...] | str:
        if isinstance(value, str) and value in STARTS:
            return value
        if not isinstance(value, list):
            hint = nearest(value, STARTS) if isinstance(value, str) else ""
            expected = f"{', '.join(STARTS)}, or a list of coordinates"
            raise ModelError("", expected, shown(value), "" if hint.startswith("known") else hint)
        return tuple(quantity(entry, "number", f"[{i}]") for i, entry in enumerate(value))

    def json_schema(self) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(STARTS)}, {"type": "array", "items": _quantity_schema("number")}]}
