"""Types of single values: quantities, names, words, formulas, signals of time."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from sorosim.base.declare.base import INVALID, At, Declared, Define, Type, Writer, inexpressible, key
from sorosim.base.errors import ExpressionError, FileError, ModelError, nearest
from sorosim.base.problems import dotted, listed, shown
from sorosim.base.signals import (
    INTERPOLATIONS,
    CallableSignal,
    ConstantSignal,
    ExpressionSignal,
    Signal,
    TableSignal,
    as_signal,
)
from sorosim.base.signals.expressions import Expression, parse
from sorosim.base.signals.parser import CONSTANTS, FUNCTIONS
from sorosim.base.units.arithmetic import mismatch
from sorosim.base.units.quantity import is_quantity, quantity, readable, with_plain_units
from sorosim.base.units.seeded import SYMBOL, SeededExpression, SeededText
from sorosim.base.units.table import DIMENSIONS, unit_factor

MAX_NAME = 60
N_SAMPLES = 201  # times at which a signal has to be finite


def is_list(value: object) -> bool:
    """Whether a value is a list, a tuple or an array."""
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def number_schema(dimension: str) -> dict[str, Any]:
    """JSON Schema of a quantity without bounds."""
    unit = DIMENSIONS[dimension].unit
    return {"type": ["number", "string"], **({"x-unit": unit} if unit else {})}


@dataclass(frozen=True)
class Quantity(Type):
    """A number in SI units, or a text with a unit, inside bounds."""

    dimension: str
    _: KW_ONLY
    above: float = -math.inf
    least: float = -math.inf
    upto: float = math.inf
    infinite: bool = False  # whether Python may give inf: no bound

    def read(self, value: object, at: At) -> Any:
        at.number(self.dimension)
        return at.attempt(lambda: self.check(value))

    def check(self, value: object) -> float:
        if self.infinite and isinstance(value, float | str) and value in (math.inf, "inf"):
            return math.inf
        number = quantity(value, self.dimension, condition=self.condition)
        if not (self.above < number.real and self.least <= number.real <= self.upto):
            got = value.strip() if isinstance(value, str) else shown(value)
            raise ModelError("", f"{DIMENSIONS[self.dimension].label} {self.condition}", got)
        return number + 0.0  # no -0

    def write(self, value: Any, writer: Writer) -> Any:
        return readable(value, self.dimension)

    @property
    def condition(self) -> str:
        """The bounds in words."""
        if self.upto < math.inf:
            low = f"above {self.above:g} and" if self.above > -math.inf else f"from {self.least:g}"
            return f"{low} {'up ' if self.above > -math.inf else ''}to {self.upto:g}"
        if self.above > -math.inf:
            return f"greater than {self.above:g}"
        return f"of {self.least:g} or more" if self.least > -math.inf else ""

    def schema(self, define: Define) -> dict[str, Any]:
        # the bounds are those of the number in SI units
        bounds = {"exclusiveMinimum": self.above, "minimum": self.least, "maximum": self.upto}
        return number_schema(self.dimension) | {name: b for name, b in bounds.items() if math.isfinite(b)}


@dataclass(frozen=True)
class Fraction(Quantity):
    """A place on a rod, s = X/L."""

    dimension: str = "number"
    _: KW_ONLY
    least: float = 0.0
    upto: float = 1.0

    def check(self, value: object) -> float:
        try:
            return super().check(value)
        except ModelError as error:
            hint = "it is a fraction of the rod's length, X/L"
            raise ModelError("", error.expected, error.got, error.hint if "%" in error.hint else hint) from None


@dataclass(frozen=True)
class Vector(Type):
    """A list of quantities of one dimension; `counts` are the lengths that it may have."""

    dimension: str
    counts: tuple[int, ...] = (3,)
    _: KW_ONLY
    above: float = -math.inf
    least: float = -math.inf
    upto: float = math.inf

    @property
    def one(self) -> Quantity:
        """Type of an entry."""
        return Quantity(self.dimension, above=self.above, least=self.least, upto=self.upto)

    def read(self, value: Any, at: At) -> Any:
        if is_list(value):
            for i in range(len(value)):
                (at / i).number(self.dimension)
        return at.attempt(lambda: self.check(value))

    def check(self, value: Any) -> tuple[float, ...]:
        if not is_list(value) or len(value) not in self.counts:
            counts = listed([str(n) for n in self.counts])
            raise ModelError("", f"a list of {counts}, each {DIMENSIONS[self.dimension].label}", shown(value))
        return checked_each(value, self.one)

    def write(self, value: Any, writer: Writer) -> Any:
        return [self.one.write(entry, writer) for entry in value]

    def schema(self, define: Define) -> dict[str, Any]:
        counts = {"minItems": min(self.counts), "maxItems": max(self.counts)}
        return {"type": "array", "items": self.one.schema(define), **counts}

    def within(self, part: str | int) -> Type | None:
        return self.one if isinstance(part, int) else None


def checked_each(values: Any, *types: Quantity) -> tuple[float, ...]:
    """Check entries of a list: each by its own type, or all by one."""
    found = []
    for i, entry in enumerate(values):
        try:
            found.append(types[i if len(types) > 1 else 0].check(entry))
        except ModelError as error:
            raise ModelError(f"[{i}]", error.expected, error.got, error.hint) from None
    return tuple(found)


@dataclass(frozen=True)
class Numbers(Type):
    """A list of quantities, at least two."""

    dimension: str
    least: float = -math.inf

    def check(self, value: Any) -> tuple[float, ...]:
        if not is_list(value) or len(value) < 2:
            raise ModelError("", "a list of two values or more", shown(value))
        return checked_each(value, Quantity(self.dimension, least=self.least))

    def write(self, value: Any, writer: Writer) -> Any:
        return list(value)

    def schema(self, define: Define) -> dict[str, Any]:
        return {"type": "array", "items": number_schema(self.dimension), "minItems": 2}

    def within(self, part: str | int) -> Type | None:
        return Quantity(self.dimension) if isinstance(part, int) else None


@dataclass(frozen=True)
class Given(Type):
    """A number or a text with a unit, whose dimension is known elsewhere."""

    what: str = "a number or a quantity"

    def check(self, value: object) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float | complex | np.number | str):
            raise ModelError("", self.what, shown(value))
        return value

    def schema(self, define: Define) -> dict[str, Any]:
        return {"type": ["number", "string"]}


@dataclass(frozen=True)
class Text(Type):
    """A text that is not empty; `block`: it names parts of that block, or begins with such a name."""

    what: str = "a text"
    block: str = ""

    def check(self, value: object) -> str:
        if not isinstance(value, str) or not value.strip():
            hint = "put it in quotes" if isinstance(value, bool | int | float) else ""
            raise ModelError("", self.what, shown(value), hint)
        return value


@dataclass(frozen=True)
class Name(Type):
    """A name that may stand in paths and on a command line; `block`: it is one of a part of that block."""

    block: str = ""

    def check(self, value: object) -> str:
        text = Text("a name").check(value)
        if len(text) > MAX_NAME or not re.fullmatch(r"\w[\w-]*", text):
            raise ModelError("", f"a name of at most {MAX_NAME} letters, digits, _ and -", shown(text))
        return text


@dataclass(frozen=True)
class Boolean(Type):
    """true or false."""

    def check(self, value: object) -> bool:
        if not isinstance(value, bool | np.bool_):
            raise ModelError("", "true or false", shown(value))
        return bool(value)

    def schema(self, define: Define) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Integer(Type):
    """A whole number inside bounds."""

    least: int
    upto: int

    def check(self, value: object) -> int:
        number = value.item() if isinstance(value, np.integer) else value
        if isinstance(value, str):
            try:
                number = quantity(value, "number")
            except ModelError:
                number = math.nan
        # 2*$n is a number with a point
        whole = int(number) if isinstance(number, float) and number % 1.0 == 0.0 else number
        if isinstance(whole, bool) or not isinstance(whole, int) or not self.least <= whole <= self.upto:
            raise ModelError("", f"a whole number from {self.least} to {self.upto}", shown(value))
        return whole

    def schema(self, define: Define) -> dict[str, Any]:
        return {"type": ["integer", "string"], "minimum": self.least, "maximum": self.upto}


@dataclass(frozen=True)
class Choice(Type):
    """One word of several."""

    words: Sequence[str]

    def check(self, value: object) -> str:
        if not isinstance(value, str) or value not in self.words:
            hint = nearest(value, self.words) if isinstance(value, str) else ""
            raise ModelError("", listed(self.words), shown(value), "" if hint.startswith("known") else hint)
        return value

    def schema(self, define: Define) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.words)}


# -- formulas ----------------------------------------------------------------------------------------------------------


def formula_or_quantity(value: object, dimension: str, variables: tuple[str, ...]) -> float | Expression:
    """A quantity, or the text of an expression of variables; a text whose only words are units is a quantity."""
    return (_of_text if type(value) is str else _formula_or_quantity)(value, dimension, variables)


def _formula_or_quantity(value: object, dimension: str, variables: tuple[str, ...]) -> float | Expression:
    if not isinstance(value, str) or is_quantity(value, (*variables, *FUNCTIONS, *CONSTANTS)):
        return quantity(value, dimension)
    text = with_plain_units(value, variables)
    expression = parse(text, variables, unit_factor, "")
    if isinstance(value, SeededText):
        if not is_quantity(value.written, variables):
            hint = "make the number in it a parameter"
            raise ModelError("", "a number", f"{shown(value.written)}, a formula of {', '.join(expression.used)}", hint)
        expression = value.expression(with_plain_units(value.formula, (*variables, SYMBOL)), variables)
    wanted = DIMENSIONS[dimension]
    if other := mismatch(text, variables, wanted.exponents):
        example = f" such as {wanted.example}" if wanted.example else ""
        raise ModelError("", wanted.label + example, f"{shown(value)}, {other}")
    return expression


_of_text = lru_cache(maxsize=1000)(_formula_or_quantity)  # robots with other values have most texts again


def without_units(value: object, variables: tuple[str, ...], at: At) -> Any:
    """In Python, a formula in whose text no unit stands is one of numbers in SI; anything else as it is."""
    if at.scope.is_file or not isinstance(value, str) or is_quantity(value):
        return value
    try:
        return parse(value, variables)
    except ExpressionError:
        return value


def formula_data(value: float | Expression, dimension: str) -> float | str:
    """A formula as a file writes it, if it means the same there."""
    if not isinstance(value, Expression):
        return readable(value, dimension)
    again = parse(value.text, value.variables, unit_factor, "")
    if not (np.array_equal(again.code, value.code) and np.array_equal(again.constants, value.constants)):
        raise ModelError("", "a formula with the units of files", repr(value.text), "write its numbers in SI units")
    return value.text


@dataclass(frozen=True)
class Formula(Type):
    """A quantity, or an expression of variables."""

    dimension: str
    variables: tuple[str, ...]
    _: KW_ONLY
    above: float = -math.inf

    def read(self, value: object, at: At) -> Any:
        at.number(self.dimension, self.variables)
        given = without_units(value, self.variables, at)
        return at.attempt(lambda: self.check(given))

    def check(self, value: object) -> float | Expression:
        if isinstance(value, Expression):
            check_variables(value, self.variables)
            return value
        found = formula_or_quantity(value, self.dimension, self.variables)
        return found if isinstance(found, Expression) else Quantity(self.dimension, above=self.above).check(value)

    def write(self, value: Any, writer: Writer) -> Any:
        return formula_data(value, self.dimension)

    def schema(self, define: Define) -> dict[str, Any]:
        return number_schema(self.dimension)


def check_variables(expression: Expression, variables: Sequence[str]) -> None:
    """Refuse an expression of other variables (ModelError)."""
    for name in expression.used:
        if name not in variables:
            expected, hint = "an expression of " + ", ".join(variables), nearest(name, variables)
            raise ModelError("", expected, f"the variable '{name}'", hint)


# -- signals of time ---------------------------------------------------------------------------------------------------


class Listed(Type):
    """A list of numbers or quantities, whose dimension is known elsewhere."""

    def read(self, value: Any, at: At) -> Any:
        if not is_list(value):
            return at.fail("a list", shown(value))
        found = [(at / i).attempt(lambda x=x: Given().check(x)) for i, x in enumerate(value)]  # type: ignore[misc]
        return INVALID if any(entry is INVALID for entry in found) else tuple(found)

    def schema(self, define: Define) -> dict[str, Any]:
        return {"type": "array", "items": {"type": ["number", "string"]}}

    def within(self, part: str | int) -> Type | None:
        return Given() if isinstance(part, int) else None


def _rounding() -> Any:
    doc = "Time over which corners of straight lines are rounded, at most half of the shortest step: the signal is "
    doc += "twice differentiable then, and begins and ends at rest."
    return key(Quantity("time", least=0.0), doc, "50 ms", default=0.0, without="not at all")


@dataclass(frozen=True)
class SignalTable(Declared, title="A signal by a table"):
    """Values at times, interpolated."""

    times: tuple[float, ...] = key(Numbers("time"), "Times, increasing.", "[0, 1 s, 2 s]")
    values: Any = key(
        Listed(), "What there is at these times; before and after them, the first and the last one.", "[0, 5, 0]"
    )
    interpolation: str = key(
        Choice(INTERPOLATIONS), "How values between the given ones are found.", "pchip", default="linear"
    )
    rounding: float = _rounding()


@dataclass(frozen=True)
class SignalFile(Declared, title="A signal from a CSV file"):
    """A column of a CSV file over its times."""

    csv: str = key(Text("the path of a CSV file"), "Path, relative to this file.", "pull.csv")
    column: Any = key(Given("the name or the number of a column"), "Name or number of the column.", "1", default=None,
                      without="the only one beside the times")  # fmt: skip
    interpolation: str = key(
        Choice(INTERPOLATIONS), "How values between the given ones are found.", "linear", default="linear"
    )
    rounding: float = _rounding()


@dataclass(frozen=True)
class SignalOf(Type):
    """A number that depends on time: a number, an expression of t, a table, a CSV file, in Python also a function.

    With further variables, such as X, an expression stays one.
    """

    dimension: str
    variables: tuple[str, ...] = ("t",)
    _: KW_ONLY
    least: float = -math.inf
    functions: bool = True  # whether it may be a function of Python

    def read(self, value: object, at: At) -> Any:
        at.number(self.dimension, self.variables)
        if not at.scope.is_file and isinstance(value, Mapping | list | tuple) and not _is_text_table(value):
            return at.attempt(lambda: as_signal(value, ""))
        if isinstance(value, Mapping):
            return self._file(value, at) if "csv" in value else self._table(value, at)
        given = without_units(value, self.variables, at)
        found = at.attempt(lambda: self.check(given))
        if isinstance(found, ExpressionSignal) and not self._is_finite(found, at):
            return INVALID
        return found

    def signal(self, value: object, at: At) -> Any:
        """As `read`; a number becomes a signal too."""
        found = self.read(value, at)
        return found if found is INVALID else as_signal(found, "")

    def check(self, value: object) -> float | Expression | Signal:
        if isinstance(value, Signal) or (callable(value) and not isinstance(value, Expression)):
            found: Any = as_signal(value, "")
            if isinstance(found, CallableSignal) and not self.functions:
                hint = "write it as an expression of t, or as a table"
                raise ModelError("", "a signal whose rate is known", "a Python function", hint)
            found = found.level if isinstance(found, ConstantSignal) else found
        elif isinstance(value, Expression):
            check_variables(value, self.variables)
            found = value
        else:
            found = self._read(value)
        if isinstance(found, SeededExpression) and self.variables == ("t",):
            if found.used:
                raise ModelError("", "a number that is no part of a signal of time", "one")
            found = found(t=0.0)
        if isinstance(found, Expression) and self.variables == ("t",):
            found = as_signal(found, "")
            found = found.level if isinstance(found, ConstantSignal) else found
        if not isinstance(found, Signal | Expression):
            return Quantity(self.dimension, least=self.least).check(value if isinstance(value, str) else found)
        return found

    def _read(self, value: object) -> float | Expression:
        """A quantity, arithmetic of quantities such as 2*3 N, or an expression."""
        try:
            return formula_or_quantity(value, self.dimension, self.variables)
        except (ModelError, ExpressionError):
            with suppress(ModelError):
                return quantity(value, self.dimension)
            raise

    def _is_finite(self, signal: Signal, at: At) -> bool:
        """Whether a signal is finite throughout, in Python at its begin; notes where it is not."""
        if not at.scope.is_file:
            with np.errstate(all="ignore"):
                fine = np.isfinite(first := signal.value(0.0))
            return bool(fine) or bool(at.fail("a signal that is finite at t = 0", f"{first}") is not INVALID)
        end = getattr(at.scope, "t_end", None) or 1.0
        times = np.linspace(0.0, end, N_SAMPLES)
        values = signal.sample(times)
        if np.isfinite(values).all():
            return True
        worst = int(np.argmin(np.isfinite(values)))
        at.fail(f"a finite value from t = 0 to {end:g} s", f"{values[worst]} at t = {times[worst]:g} s")
        return False

    def _table(self, value: Mapping[str, object], at: At) -> Any:
        table = SignalTable.read(value, at)
        if table is INVALID:
            return INVALID

        def make() -> Signal:
            if len(table.values) != len(table.times):
                raise ModelError("values", f"as many values as times, {len(table.times)}", f"{len(table.values)}")
            values = [quantity(entry, self.dimension, f"values[{i}]") for i, entry in enumerate(table.values)]
            return TableSignal(np.array(table.times), np.array(values), table.interpolation, table.rounding)

        return at.attempt(make)

    def _file(self, value: Mapping[str, object], at: At) -> Any:
        block = SignalFile.read(value, at)
        if block is INVALID:
            return INVALID
        folder = at.scope.folder_of(at.path)
        if folder is None and not (os.path.isabs(block.csv) and os.path.isfile(block.csv)):
            return CallableSignal.not_kept(block.csv, dotted(at.path))
        file = block.csv if folder is None else os.path.join(folder, block.csv)
        if not os.path.isfile(file):  # False for impossible names too
            hint = "relative paths begin in the folder of the robot's file"
            return (at / "csv").fail("a CSV file", f"{shown(block.csv)}, which does not exist", hint)
        shape = {"interpolation": block.interpolation, "rounding": block.rounding}
        given = {"csv": file, "column": block.column, **shape}
        try:
            found = at.attempt(lambda: as_signal(given, ""))
        except FileError as error:
            return (at / "csv").fail("a table of numbers", str(error))
        if isinstance(found, TableSignal):
            at.scope.embed_table(at.path, found, {**value, "csv": os.path.abspath(file)})
        return found

    def write(self, value: Any, writer: Writer) -> Any:
        if isinstance(value, ExpressionSignal):
            value = value.expression
        elif isinstance(value, ConstantSignal):
            value = value.level
        if not isinstance(value, Signal):
            return formula_data(value, self.dimension)
        if isinstance(value, TableSignal):
            return value.spec
        raise inexpressible("a number, an expression of t or a table", value)

    def schema(self, define: Define) -> dict[str, Any]:
        return {"anyOf": [number_schema(self.dimension), define(SignalTable), define(SignalFile)]}

    def known_keys(self) -> list[str]:
        return [*SignalTable.key_names(), *SignalFile.key_names()]

    def within(self, part: str | int) -> Type | None:
        keys = {**SignalTable.declaration(), **SignalFile.declaration()}
        return keys[part].type if part in keys else None


@dataclass(frozen=True)
class SignalVector(Type):
    """A list of three signals of one dimension, or of another number."""

    dimension: str
    variables: tuple[str, ...] = ("t",)
    _: KW_ONLY
    functions: bool = True
    count: int = 3

    @property
    def one(self) -> Type:
        """Type of an entry."""
        return SignalOf(self.dimension, self.variables, functions=self.functions)

    def read(self, value: Any, at: At) -> Any:
        if not is_list(value) or len(value) != self.count:
            return at.fail(f"a list of {self.count}, each {DIMENSIONS[self.dimension].label}", shown(value))
        found = tuple(self.one.read(entry, at / i) for i, entry in enumerate(value))
        return INVALID if any(entry is INVALID for entry in found) else found

    def write(self, value: Any, writer: Writer) -> Any:
        out = []
        for i, entry in enumerate(value):
            try:
                out.append(self.one.write(entry, writer))
            except ModelError as error:
                raise error.inside(f"[{i}]") from None
        return out

    def schema(self, define: Define) -> dict[str, Any]:
        unit, n = DIMENSIONS[self.dimension].unit, self.count
        return {"type": "array", "items": self.one.schema(define), "minItems": n, "maxItems": n, "x-unit": unit}

    def within(self, part: str | int) -> Type | None:
        return self.one if isinstance(part, int) else None


@dataclass(frozen=True)
class FormulaVector(SignalVector):
    """A list of three quantities or expressions of variables."""

    @property
    def one(self) -> Type:
        """Type of an entry."""
        return Formula(self.dimension, self.variables)


def _is_text_table(value: object) -> bool:
    """Whether a table has units, so that it is one of a file."""
    columns = [value.get("times", ()), value.get("values", ())] if isinstance(value, Mapping) else []
    return any(isinstance(entry, str) for column in columns if isinstance(column, list | tuple) for entry in column)
