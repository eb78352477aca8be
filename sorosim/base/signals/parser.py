"""The grammar of expressions, and the parser that turns text into an opcode tape.

Grammar, loosest first; a unit is one word directly after a number and binds tighter than every operator::

    sum      = product (("+" | "-") product)*
    product  = sign (("*" | "/") sign)*
    sign     = ("+" | "-") sign | power
    power    = operand (("**" | "^") sign)?
    operand  = number [unit] | variable | "pi" | "e" | function "(" sum ("," sum)* ")" | "(" sum ")"
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn

import numpy as np

from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import ExpressionError, nearest
from sorosim.base.signals import opcodes

UnitFactor = Callable[[str], float | None]

MAX_TEXT, MAX_NESTING, MAX_TAPE = 2000, 50, 1000

CONSTANTS = {"pi": math.pi, "e": math.e}
FUNCTIONS = {  # name: (opcode, number of arguments)
    "sin": (opcodes.SIN, 1), "cos": (opcodes.COS, 1), "tan": (opcodes.TAN, 1),
    "asin": (opcodes.ASIN, 1), "acos": (opcodes.ACOS, 1), "atan": (opcodes.ATAN, 1), "atan2": (opcodes.ATAN2, 2),
    "sinh": (opcodes.SINH, 1), "cosh": (opcodes.COSH, 1), "tanh": (opcodes.TANH, 1),
    "exp": (opcodes.EXP, 1), "log": (opcodes.LOG, 1), "log10": (opcodes.LOG10, 1), "sqrt": (opcodes.SQRT, 1),
    "abs": (opcodes.ABS, 1), "sign": (opcodes.SIGN, 1), "floor": (opcodes.FLOOR, 1),
    "min": (opcodes.MIN, 2), "max": (opcodes.MAX, 2), "clip": (opcodes.CLIP, 3),
    "step": (opcodes.STEP, 1), "smoothstep": (opcodes.SMOOTHSTEP, 1),
}  # fmt: skip

_SUM, _PRODUCT, _POWER = 1, 2, 3
_OPERATORS = {  # sign: (precedence, opcode)
    "+": (_SUM, opcodes.ADD), "-": (_SUM, opcodes.SUBTRACT),
    "*": (_PRODUCT, opcodes.MULTIPLY), "/": (_PRODUCT, opcodes.DIVIDE),
    "**": (_POWER, opcodes.POWER), "^": (_POWER, opcodes.POWER),
}  # fmt: skip
ARITY = {opcode: 2 for _, opcode in _OPERATORS.values()} | dict(FUNCTIONS.values()) | {opcodes.NEGATE: 1}

_TOKEN = re.compile(
    r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?P<word>[^\W\d]\w*|°\w*)|(?P<sign>\*\*|[-+*/^(),])"
)
_SPACE = re.compile(r"\s*")
_SYNONYMS = {"ln": "log(x)", "heaviside": "step(x)", "pow": "x**y", "mod": "x - y*floor(x/y)"}
_SIGN_HINTS = {
    "\u2212": "write the minus sign as -", "\u2013": "write the minus sign as -",
    "\u00d7": "write *", "\u00b7": "write *", "\u00f7": "write /",
    "%": "write the remainder of x/y as x - y*floor(x/y)", "[": "write round parentheses",
    ".": "write functions without a prefix, as sin(x)", "=": "there are no assignments and comparisons",
    "<": "write step(b - a) for a <= b", ">": "write step(a - b) for a >= b",
}  # fmt: skip


def tape_arrays(code: list[tuple[int, int]], constants: list[float]) -> tuple[IntArray, Array, int]:
    """Arrays of a tape, and the depth of stack it needs."""
    depth = height = 0
    for opcode, _ in code:
        height += 1 - ARITY.get(opcode, 0)
        depth = max(depth, height)
    return np.array(code, dtype=np.int64), np.array(constants, dtype=np.float64), depth


def excerpt(text: str, column: int) -> str:
    """The text in quotes, or what of a long text is near the column."""
    if len(text) <= 60:
        return repr(text)
    start = max(0, min(column - 30, len(text) - 60))
    return ("..." if start else "") + repr(text[start : start + 60]) + ("..." if start + 60 < len(text) else "")


class Token(NamedTuple):
    """A word, number or sign of a formula and where it stands."""

    kind: str  # number, word, sign or end
    text: str
    column: int  # from 0

    def __str__(self) -> str:
        return repr(self.text) if self.text else "the end"


class Parser:
    """Precedence climbing; instructions are emitted in postfix order as operands and operators are completed."""

    def __init__(self, text: str, variables: tuple[str, ...], unit_factor: UnitFactor | None, where: str) -> None:
        self.text, self.variables, self.unit_factor, self.where = text, variables, unit_factor, where
        self.code: list[tuple[int, int]] = []
        self.constants: list[float] = []
        self.nesting = 0
        self.position = 0
        self.token = self._read()

    def run(self) -> tuple[list[tuple[int, int]], list[float]]:
        if self.token.kind == "end":
            self.fail("an expression", "nothing")
        self.terms()
        if self.token.kind != "end":
            self.fail("an operator or the end", hint=self._after_operand_hint())
        return self.code, self.constants

    def fail(self, expected: str, got: str = "", hint: str = "", at: Token | None = None) -> NoReturn:
        token = at or self.token
        place = f"at column {token.column + 1} of {excerpt(self.text, token.column)}"
        raise ExpressionError(self.where, expected, f"{got or token} {place}", hint)

    # ---- tokens

    def _read(self) -> Token:
        column = _SPACE.match(self.text, self.position).end()  # type: ignore[union-attr]
        if column == len(self.text):
            return Token("end", "", column)
        match = _TOKEN.match(self.text, column)
        if match is None:
            wrong = Token("wrong", self.text[column], column)
            self.fail("a number, a name, an operator or a parenthesis", hint=_SIGN_HINTS.get(wrong.text, ""), at=wrong)
        self.position = match.end()
        return Token(str(match.lastgroup), match.group(), column)

    def advance(self) -> Token:
        token, self.token = self.token, self._read()
        return token

    # ---- grammar

    def terms(self, precedence: int = _SUM) -> None:
        """Operands joined by operators of at least this precedence."""
        self.operand()
        while self.token.text in _OPERATORS:
            strength, opcode = _OPERATORS[self.token.text]
            if strength < precedence:
                return
            operator = self.advance()
            if strength == _POWER:
                self._deeper(operator, _POWER)
            else:
                self.terms(strength + 1)
            self._emit(opcode, operator)

    def operand(self) -> None:
        token = self.token
        if token.kind == "number":
            self._number()
        elif token.kind == "word":
            self._word()
        elif token.text in ("+", "-"):
            self._deeper(self.advance(), _POWER)
            if token.text == "-":
                self._emit(opcodes.NEGATE, token)
        elif token.text == "(":
            self._deeper(self.advance(), _SUM)
            self._close(token)
        else:
            self.fail("a number, a name or '('")

    def _deeper(self, token: Token, precedence: int) -> None:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self.fail(f"at most {MAX_NESTING} levels of nesting", "more", at=token)
        self.terms(precedence)
        self.nesting -= 1

    def _close(self, opening: Token) -> None:
        if self.token.text != ")":
            hint = self._after_operand_hint() or f"'(' at column {opening.column + 1} is open"
            self.fail("an operator or ')'", hint=hint)
        self.advance()

    def _number(self) -> None:
        token, word = self.advance(), ""
        value = float(token.text)
        if self.token.kind == "word":
            unit = self.token
            value *= self._factor(token, unit)
            word = unit.text
            self.advance()
            if self.token.text in ("**", "^"):
                hint = f"put the quantity in parentheses: ({token.text} {unit.text}){self.token.text}..."
                self.fail("no power directly after a unit", hint=hint)
        if not math.isfinite(value):
            self.fail("a finite number", at=token)
        self._operand(opcodes.CONSTANT, value, token, word)

    def _factor(self, number: Token, unit: Token) -> float:
        name = unit.text
        declared = name in self.variables or name in CONSTANTS
        factor = self.unit_factor(name) if self.unit_factor and not declared else None
        if factor is None:
            hint = f"{name} is not a known unit" if self.unit_factor else "units are not known here: write it in SI"
            if declared or name in FUNCTIONS:
                hint = f"write {number.text}*{name}" + ("" if declared else "(...)")
            elif name.startswith("_"):
                hint = "write digits without underscores"
            self.fail("an operator or a unit" if self.unit_factor else "an operator", hint=hint, at=unit)
        return float(factor)

    def _word(self) -> None:
        token = self.advance()
        name, called = token.text, self.token.text == "("
        if name in FUNCTIONS:
            self._call(token)
        elif called and name not in self.variables and name not in CONSTANTS:
            hint = f"write {_SYNONYMS[name]}" if name in _SYNONYMS else nearest(name, FUNCTIONS)
            self.fail("a function", hint=hint, at=token)
        elif name in self.variables:
            self._operand(opcodes.VARIABLE, self.variables.index(name), token)
        elif name in CONSTANTS:
            self._operand(opcodes.CONSTANT, CONSTANTS[name], token)
        elif self.unit_factor is not None and self.unit_factor(name) is not None:
            hint = f"{name} is a unit, which stands directly after a number: 1 {name}"
            if self.text[: token.column].rstrip().endswith("/"):
                hint += f"; a quantity whose unit is a quotient is in parentheses where more follows: (9 rad/{name})*t"
            self.fail("a variable", hint=hint, at=token)
        else:
            self.fail("a variable", hint=nearest(name, (*self.variables, *CONSTANTS)), at=token)

    def _call(self, name: Token) -> None:
        opcode, n_expected = FUNCTIONS[name.text]
        if self.token.text != "(":
            self.fail(f"'(' after the function {name.text}", hint=f"write {name.text}(...)")
        opening, n = self.token, 0
        while self.token.text == "," or n == 0:
            self._deeper(self.advance(), _SUM)
            n += 1
        self._close(opening)
        if n != n_expected:
            plural = "s" if n_expected > 1 else ""
            self.fail(f"{n_expected} argument{plural} of {name.text}", str(n), at=name)
        self._emit(opcode, name)

    def _after_operand_hint(self) -> str:
        if self.token.kind in ("number", "word") or self.token.text == "(":
            return "write * between factors"
        if self.token.text == ",":
            return "write decimal numbers with a point"
        return "there is no '(' that it closes" if self.token.text == ")" else ""

    # ---- code

    def _operand(self, opcode: int, value: float, token: Token, unit: str = "") -> None:
        """An operand as it is written: a number with its unit, a constant, or a variable (its index)."""
        self._push(opcode, value, token)

    def _push(self, opcode: int, value: float, token: Token) -> None:
        """Append a constant (its value) or a variable (its index)."""
        if opcode == opcodes.CONSTANT:
            self.constants.append(value)
            value = len(self.constants) - 1
        self._append(opcode, int(value), token)

    def _emit(self, opcode: int, token: Token) -> None:
        """Append a function of the last operands; at once replaced by its value where all of them are constants."""
        n = ARITY[opcode]
        if any(row[0] != opcodes.CONSTANT for row in self.code[-n:]):
            self._append(opcode, 0, token)
            return
        code, constants, depth = tape_arrays(
            [*((opcodes.CONSTANT, i) for i in range(n)), (opcode, 0)], self.constants[-n:]
        )
        from sorosim.base.signals.tape import evaluate_tape  # numba, which reading options does without

        with np.errstate(all="ignore"):
            value = float(evaluate_tape(code, constants, np.empty((0, 3)), np.empty((depth, 3)))[0])
        if not math.isfinite(value):
            self.fail("a finite value", f"{value} from {token}", at=token)
        del self.code[-n:], self.constants[-n:]
        self._push(opcodes.CONSTANT, value, token)

    def _append(self, opcode: int, argument: int, token: Token) -> None:
        if len(self.code) == MAX_TAPE:
            expected = f"at most {MAX_TAPE} numbers, names and operators"
            self.fail(expected, "more", "use a table for measured data", token)
        self.code.append((opcode, argument))
