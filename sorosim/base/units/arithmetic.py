"""Dimensions of expressions: what kind of quantity a formula gives, and arithmetic with units in quantities.

A bare number is in SI units and fits every kind of quantity, and so does what is made of bare numbers and functions
only. In a product it leaves the kind of a quantity with a unit (``2*(10 kg)`` is a mass), but may carry units of its
own beside a variable (``5*t`` may be a force). The time t counts as a time or as a number of seconds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from sorosim.base.errors import ExpressionError, ModelError
from sorosim.base.signals import opcodes
from sorosim.base.signals.parser import ARITY, CONSTANTS, FUNCTIONS, MAX_TEXT, Parser, Token
from sorosim.base.units.table import (
    DIMENSIONS,
    MAX_POWER,
    Exponents,
    exponents_of,
    find_unit,
    kind_of,
    no_unit_hint,
    unit_factor,
)

NUMBER: Exponents = DIMENSIONS["number"].exponents
LENGTH: Exponents = DIMENSIONS["length"].exponents
TIME = "t"
# variables of formulas and routes by name; sections add their sizes
VARIABLES: dict[str, Exponents] = {
    "X": LENGTH, "s": NUMBER, "L": LENGTH, "r": LENGTH, "x": LENGTH, "y": LENGTH, "z": LENGTH,
    TIME: DIMENSIONS["time"].exponents,
}  # fmt: skip


def add_variable(name: str, exponents: Exponents) -> None:
    """Make a variable of formulas known; one name has one dimension (ModelError)."""
    if VARIABLES.setdefault(name, exponents) != exponents:
        known, got = kind_of(VARIABLES[name]), kind_of(exponents)
        raise ModelError(name, f"{known}, as formulas know it", got, "give it another name")


_ALIKE = {opcodes.ADD, opcodes.SUBTRACT, opcodes.MIN, opcodes.MAX, opcodes.CLIP, opcodes.ATAN2}  # operands of one kind
_KEEPS = {opcodes.NEGATE, opcodes.ABS}
_ANY = {opcodes.SIGN, opcodes.STEP}  # the sign of anything
_NAMES = {opcode: name for name, (opcode, _) in FUNCTIONS.items()}


class Kind(NamedTuple):
    """Kind of quantity of an operand."""

    exponents: Exponents
    loose: bool  # a bare number takes part, so that it fits anything
    varies: bool  # a variable with a dimension takes part


_BARE = Kind(NUMBER, True, False)


class DimensionParser(Parser):
    """Reads an expression and follows the kinds of its operands."""

    def __init__(self, text: str, variables: Mapping[str, Exponents]) -> None:
        self.exponents = tuple(variables.values())
        self.kinds: list[Kind] = []
        super().__init__(text, tuple(variables), unit_factor, "")

    def kind(self) -> Kind:
        """Kind of the whole expression."""
        self.run()
        return self.kinds[0]

    def alike(self, a: Exponents, b: Exponents) -> bool:
        """Whether two kinds are the same, t being a time or a number."""
        return a[:2] == b[:2] if TIME in self.variables else a == b

    def _operand(self, opcode: int, value: float, token: Token, unit: str = "") -> None:
        super()._operand(opcode, value, token, unit)
        if opcode == opcodes.VARIABLE:
            exponents = self.exponents[int(value)]
            self.kinds.append(Kind(exponents, False, exponents != NUMBER))
        else:
            found = find_unit(unit)
            self.kinds.append(Kind(found.exponents, False, False) if found else _BARE)

    def _emit(self, opcode: int, token: Token) -> None:
        n = ARITY[opcode]
        kind = self._combined(opcode, self.kinds[-n:], token)
        self.kinds[-n:] = [kind]
        super()._emit(opcode, token)

    def _combined(self, opcode: int, kinds: list[Kind], token: Token) -> Kind:
        first = kinds[0]
        if opcode in _ALIKE:
            out = first
            for other in kinds[1:]:
                out = self._sum(out, other, token)
            return _BARE if opcode == opcodes.ATAN2 else out
        if opcode == opcodes.MULTIPLY:
            return _product(first, kinds[1])
        if opcode == opcodes.DIVIDE:
            return _product(first, _power(kinds[1], -1.0))
        if opcode == opcodes.POWER:
            index = self.code[-1]
            return _power(first, self.constants[index[1]] if index[0] == opcodes.CONSTANT else math.nan)
        if opcode == opcodes.SQRT:
            return _power(first, 0.5)
        if opcode in _KEEPS:
            return first
        if opcode not in _ANY and not first.loose and not first.varies and first.exponents != NUMBER:
            self.fail(f"a number in {_NAMES[opcode]}(...)", kind_of(first.exponents), at=token)
        return _BARE

    def _sum(self, a: Kind, b: Kind, token: Token) -> Kind:
        varies = a.varies or b.varies
        if a.loose or b.loose:
            firm = a if b.loose else b
            # 1 - s is as bare as the 1
            return Kind(firm.exponents, (a.loose and b.loose) or firm.exponents == NUMBER, varies)
        if not self.alike(a.exponents, b.exponents):
            kinds = f"{_named(a.exponents)} and {_named(b.exponents)}"
            self.fail(f"quantities of one kind in '{token.text}'", kinds, at=token)
        return Kind(a.exponents, False, varies)


def _product(a: Kind, b: Kind) -> Kind:
    exponents = exponents_of([m + n for m, n in zip(a.exponents, b.exponents, strict=True)])
    if max(map(abs, exponents)) > 1000:
        return _BARE
    loose = a.loose and b.loose
    if a.loose != b.loose:
        bare, firm = (a, b) if a.loose else (b, a)
        # a bare factor of a quantity with a unit is a number
        loose = not (bare.exponents == NUMBER and firm.exponents != NUMBER and not firm.varies)
    return Kind(exponents, loose, a.varies or b.varies)


def _power(base: Kind, power: float) -> Kind:
    powers = [n * power for n in base.exponents]
    if not all(abs(n) <= 1000 and n == int(n) for n in powers):
        return Kind(NUMBER, True, base.varies)
    return Kind(exponents_of(powers), base.loose, base.varies)


def mismatch(text: str, variables: tuple[str, ...], wanted: Exponents) -> str:
    """What kind of quantity a formula is where it is none of the wanted kind, "" where it may be.

    Raises
    ------
    ExpressionError
        Kinds inside it do not go together.
    """
    parser = DimensionParser(text, {name: VARIABLES[name] for name in variables})
    kind = parser.kind()
    if kind.loose or parser.alike(kind.exponents, wanted):
        return ""
    return _named(kind.exponents)


def _named(exponents: Exponents) -> str:
    return "a number" if exponents == NUMBER else kind_of(exponents)


class _QuantityParser(DimensionParser):
    """Reads arithmetic of quantities: no variables, and unit words combined as in ``9.81 m/s^2``."""

    def __init__(self, text: str) -> None:
        super().__init__(text, {})

    def _number(self) -> None:
        token = self.advance()
        value = float(token.text)
        if self.token.text == "1" and self.text[self.position :].lstrip().startswith("/"):  # 3 1/m
            self.advance()
        if self.token.kind == "word":
            self._unit(value, token)
        else:
            self._checked(value, token)

    def _word(self) -> None:
        token = self.token
        called = self.text[self.position :].lstrip().startswith("(")
        if token.text in CONSTANTS or (called and token.text in FUNCTIONS):
            super()._word()
        else:
            self._unit(1.0, token)

    def _unit(self, value: float, token: Token) -> None:
        """A unit word with its power, times a number."""
        word, power = self.token, 1
        unit = find_unit(word.text)
        if unit is None:
            self.fail("a number, a unit or an operator", hint=no_unit_hint(word.text))
        self.advance()
        if self.token.text in ("^", "**"):
            self.advance()
            sign = -1 if self.token.text == "-" else 1
            if self.token.text in ("+", "-"):
                self.advance()
            if not self.token.text.isdecimal() or int(self.token.text) > MAX_POWER:
                self.fail(f"an integer up to {MAX_POWER} as power of a unit")
            power = sign * int(self.advance().text)
        up, down = (unit.times, unit.over) if power > 0 else (unit.over, unit.times)
        self._checked(value * up ** abs(power) / down ** abs(power), token)
        self.kinds[-1] = _power(Kind(unit.exponents, False, False), power)

    def _checked(self, value: float, token: Token) -> None:
        if not math.isfinite(value):
            self.fail("a finite number", at=token)
        self._operand(opcodes.CONSTANT, value, token)


_NUMBER = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_JOINED = re.compile(rf"(?:[-+*/(]|\*\*)\s*{_NUMBER}(?![\w.])|[-+*/(]\s*{_NUMBER}\s*[^\W\d]")
_CALLED = re.compile(r"\b(?:pi|e|(?:" + "|".join(FUNCTIONS) + r")\s*\()(?!\w)")


def is_arithmetic(text: str) -> bool:
    """Whether a text that is no plain quantity looks like arithmetic: operators before numbers, functions, pi."""
    body = re.sub(r"^\s*[-+]\s*(?=[0-9.])", "", text)
    # 2024-01-31 is a date
    return len(text) <= MAX_TEXT and not re.search(r"(?<![\w.])0[0-9]", body) and bool(
        _JOINED.search(body) or _CALLED.search(body)
    )  # fmt: skip


def arithmetic(text: str) -> tuple[float, Exponents | None]:
    """Value in SI units of arithmetic of quantities, and its kind: None for bare numbers, which are of every kind.

    Raises
    ------
    ExpressionError
    """
    parser = _QuantityParser(text)
    kind = parser.kind()
    return parser.constants[0], None if kind.loose else kind.exponents


def explained(error: ExpressionError) -> str:
    """A hint of what is wrong inside an expression."""
    return f"expected {error.expected}, got {error.got}" + (f"; {error.hint}" if error.hint else "")
