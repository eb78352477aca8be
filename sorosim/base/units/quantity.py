"""Quantities in files: a number, a number and its unit, or arithmetic with these, to SI."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from sorosim.base.complex_step import STEP
from sorosim.base.errors import ExpressionError, InputError, ModelError
from sorosim.base.problems import shown
from sorosim.base.signals.expressions import parse
from sorosim.base.signals.parser import CONSTANTS, FUNCTIONS
from sorosim.base.units.arithmetic import arithmetic, explained, is_arithmetic
from sorosim.base.units.seeded import SYMBOL, Seeded
from sorosim.base.units.table import (
    DIMENSIONS,
    MAX_TEXT,
    Dimension,
    Exponents,
    TooLong,
    WrongText,
    combined,
    kind_of,
    split,
    unit_factor,
)
from sorosim.base.validation import LARGEST, as_real, describe


def amount(where: str, value: object, dimension: str) -> float:
    """An argument of a public function: a number in SI units, or a text with a unit (`quantity`; else InputError)."""
    if type(value) is float and abs(value) <= LARGEST:  # most are
        return value
    try:
        return quantity(value, dimension)
    except ModelError as error:
        raise InputError(where, error.expected, error.got, error.hint) from None


def interval(where: str, pair: object, dimension: str) -> tuple[float, float]:
    """Bounds (low, high), either of which may be None or infinite: there is none (else InputError)."""
    if isinstance(pair, str) or not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
        raise InputError(where, "a pair (low, high)", describe(pair))
    ends = []
    for word, endless, value in zip(("low", "high"), (-math.inf, math.inf), pair, strict=True):
        none = value is None or (isinstance(value, float) and value == endless)
        ends.append(endless if none else amount(f"{where}.{word}", value, dimension))
    if not ends[0] <= ends[1]:
        raise InputError(where, "a low bound that is not above the high one", f"{ends[0]:g} and {ends[1]:g}")
    return ends[0], ends[1]


def quantity(value: object, dimension: str, where: str = "", condition: str = "") -> float:
    """Number in SI units.

    Parameters
    ----------
    value : number or str
        A bare number is in SI units already; a text is a number, or a number and its unit.
    dimension : str
        What it has to be, one of `DIMENSIONS`.
    where, condition : str, optional
        For messages: what it belongs to, and what else is expected of it ("greater than 0").

    Raises
    ------
    ModelError
        Not finite, too large, not a quantity, a unit that is unknown or of another dimension.
    """
    wanted = DIMENSIONS[dimension]
    expected = f"{wanted.label} {condition}".rstrip()
    example = f"{',' if condition else ''} such as {wanted.example}" if wanted.example else ""
    number = as_real(value)
    if number is not None:
        return _with_step(value, _finite(number, value, expected, where))
    if not isinstance(value, str):
        raise ModelError(where, expected + example, shown(value))
    try:
        out, exponents, plain = _read(value, wanted)
    except TooLong:
        raise ModelError(where, expected + example, f"a text of {len(value)} characters") from None
    except WrongText as wrong:
        raise ModelError(where, expected + example, shown(value), wrong.hint) from None
    if plain and exponents is not None and dimension == "number":
        raise ModelError(where, expected, shown(value), "write it without a unit")
    if exponents not in (None, wanted.exponents):
        raise ModelError(where, expected + example, f"{shown(value)}, {kind_of(exponents)}")
    return _with_step(value, _finite(out, value, expected, where))


def _finite(number: float, value: object, expected: str, where: str) -> float:
    """Refuse a number that is not finite, or too large."""
    written = value.strip() if isinstance(value, str) else shown(value)
    if not math.isfinite(number.real):
        raise ModelError(where, expected, shown(value), "it has to be finite")
    if abs(number.real) > LARGEST:
        raise ModelError(where, f"{expected}, and none beyond {LARGEST:g}", written, "look for a wrong unit")
    return number


# units in which a number may be short that is long in SI
_OTHER_UNITS = {"angle": ("deg",), "angular speed": ("deg/s", "rpm"), "length": ("mm/rev",)}
_SHORT = 7  # signs of a number that is short


def readable(value: float, dimension: str) -> float | str:
    """A number in SI units as a person writes it: `1.5707963267948966` is `90 deg`. `quantity` gives the same bits."""
    if dimension in _OTHER_UNITS and isinstance(value, float) and len(repr(value)) > _SHORT:
        for unit in _OTHER_UNITS[dimension]:
            text = f"{value / in_si(f'1 {unit}'):.6g} {unit}"
            if quantity(text, dimension) == value:
                return text
    return value


def _with_step(value: object, number: float) -> float:
    """The number that a value is, with the derivative it may carry."""
    if not isinstance(value, Seeded):
        return number
    slope = 1.0
    if value.formula != SYMBOL:
        formula = parse(with_plain_units(value.formula, (SYMBOL,)), (SYMBOL,), unit_factor)
        slope = formula.jets(**{SYMBOL: [[value.scalar, 1.0, 0.0]]})[0, 1].real
    return np.complex128(complex(number, slope * STEP))  # type: ignore[return-value]


def _read(text: str, wanted: Dimension) -> tuple[float, Exponents | None, bool]:
    """Number in SI units, its exponents (None without a unit), and whether it is no more than a number and a unit."""
    try:
        if len(text) > MAX_TEXT:
            raise TooLong
        number, words = split(text)
        if any(word in CONSTANTS for word, _ in words):
            raise WrongText
        times, over, exponents = combined(words, wanted.exponents)
        return number * times / over, exponents if words else None, True
    except WrongText:
        if not is_arithmetic(text):
            raise
        try:
            return *arithmetic(text), False
        except ExpressionError as error:
            raise WrongText(explained(error)) from None


def is_quantity(text: str, names: tuple[str, ...] = ()) -> bool:
    """Whether a text is a number with at most a unit, none of whose words is one of the names."""
    try:
        _, words = split(text)
    except WrongText:
        return False
    return not any(word in names for word, _ in words)


def in_si(text: str) -> float:
    """Number in SI units of a quantity of any kind.

    Raises
    ------
    ModelError
    """
    try:
        number, words = split(text)
        times, over, _ = combined(words, DIMENSIONS["number"].exponents)
    except WrongText as wrong:
        raise ModelError("", "a quantity", shown(text), wrong.hint) from None
    return number * times / over


_GROUP = re.compile(r"(?<![\w)])\(([^()]*(?:\([^()]*\)[^()]*)?)\)")


def with_plain_units(text: str, variables: tuple[str, ...]) -> str:
    """A formula whose quantities of several units in parentheses, as parameters leave them, are numbers in SI."""

    def plain(match: re.Match[str]) -> str:
        inner = match.group(1)
        if not re.search(r"[*/^]", inner) or not is_quantity(inner, (*variables, *FUNCTIONS, *CONSTANTS)):
            return match.group()
        return f"({in_si(inner)!r})"

    return _GROUP.sub(plain, text)
