"""Units at the boundary of files: texts such as ``3 cm`` or ``10 kPa*s`` to numbers in SI.

The usual units are in a table here; pint is asked, and imported, for a single word that is not in it. Texts are taken
apart here: a number, then words combined with ``*``, ``/``, ``^`` and parentheses.
"""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from functools import lru_cache
from typing import Any, NamedTuple

MAX_TEXT, MAX_POWER = 100, 9

Exponents = tuple[int, int, int]  # of metre, kilogram, second; a radian is 1


class Dimension(NamedTuple):
    """A kind of quantity."""

    label: str
    exponents: Exponents
    example: str
    unit: str  # in SI, as texts write it


DIMENSIONS = {
    "number": Dimension("a number", (0, 0, 0), "", ""),
    "angle": Dimension("an angle", (0, 0, 0), "45 deg", "rad"),
    "length": Dimension("a length", (1, 0, 0), "3 cm", "m"),
    "area": Dimension("an area", (2, 0, 0), "2 cm^2", "m^2"),
    "area moment": Dimension("a second moment of area", (4, 0, 0), "5 mm^4", "m^4"),
    "curvature": Dimension("a curvature", (-1, 0, 0), "2 1/m", "1/m"),
    "mass": Dimension("a mass", (0, 1, 0), "200 g", "kg"),
    "density": Dimension("a density", (-3, 1, 0), "1000 kg/m^3", "kg/m^3"),
    "inertia": Dimension("a moment of inertia", (2, 1, 0), "3 kg*cm^2", "kg*m^2"),
    "time": Dimension("a time", (0, 0, 1), "10 s", "s"),
    "rate": Dimension("a rate", (0, 0, -1), "0.5 1/s", "1/s"),
    "frequency": Dimension("a rate", (0, 0, -1), "100 Hz", "Hz"),
    "speed": Dimension("a speed", (1, 0, -1), "3 cm/s", "m/s"),
    "inverse speed": Dimension("an inverse speed", (-1, 0, 1), "0.5 s/m", "s/m"),
    "angular speed": Dimension("an angular speed", (0, 0, -1), "2 rad/s", "rad/s"),
    "acceleration": Dimension("an acceleration", (1, 0, -2), "9.81 m/s^2", "m/s^2"),
    "angular acceleration": Dimension("an angular acceleration", (0, 0, -2), "2 rad/s^2", "rad/s^2"),
    "force": Dimension("a force", (1, 1, -2), "5 N", "N"),
    "moment": Dimension("a moment", (2, 1, -2), "5 N*cm", "N*m"),
    "pressure": Dimension("a pressure or modulus", (-1, 1, -2), "1 MPa", "Pa"),
    "viscosity": Dimension("a viscosity", (-1, 1, -1), "10 kPa*s", "Pa*s"),
    "stiffness": Dimension("a stiffness", (0, 1, -2), "100 N/m", "N/m"),
    "damping": Dimension("a damping", (0, 1, -1), "2 N*s/m", "N*s/m"),
    "rotary stiffness": Dimension("a rotary stiffness", (2, 1, -2), "2 N*m/rad", "N*m/rad"),
    "rotary damping": Dimension("a rotary damping", (2, 1, -1), "0.1 N*m*s/rad", "N*m*s/rad"),
    "line force": Dimension("a force per length", (0, 1, -2), "2 N/m", "N/m"),
    "line moment": Dimension("a moment per length", (1, 1, -2), "0.1 N*m/m", "N"),
}


# dimensions of coordinates, rates and accelerations, by that of a coordinate
OF_COORDINATE = {
    "angle": ("angle", "angular speed", "angular acceleration"),
    "length": ("length", "speed", "acceleration"),
    "number": ("number", "rate", "angular acceleration"),
}
# dimension of the input of an actuator by its unit; what has another one is read as a plain number
OF_INPUT = {"N": "force", "m": "length", "Pa": "pressure", "N m": "moment", "rad": "angle"}


class Unit(NamedTuple):
    """``times/over`` SI units; as two numbers, so that 7 cm is 7/100 m, the nearest float to 0.07 m."""

    times: float
    over: float
    exponents: Exponents


_LENGTH, _MASS, _TIME, _NONE = (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)
_FORCE, _PRESSURE, _VOLUME = (1, 1, -2), (-1, 1, -2), (3, 0, 0)
_PREFIXES = {
    "n": (1.0, 1e9), "u": (1.0, 1e6), "\u00b5": (1.0, 1e6), "\u03bc": (1.0, 1e6), "m": (1.0, 1e3), "": (1.0, 1.0),
    "k": (1e3, 1.0), "M": (1e6, 1.0), "G": (1e9, 1.0),
}  # fmt: skip
_PREFIXED = {
    "m": Unit(1.0, 1.0, _LENGTH), "g": Unit(1.0, 1e3, _MASS), "s": Unit(1.0, 1.0, _TIME),
    "N": Unit(1.0, 1.0, _FORCE), "Pa": Unit(1.0, 1.0, _PRESSURE), "J": Unit(1.0, 1.0, (2, 1, -2)),
    "W": Unit(1.0, 1.0, (2, 1, -3)), "Hz": Unit(1.0, 1.0, (0, 0, -1)), "rad": Unit(1.0, 1.0, _NONE),
}  # fmt: skip
_TABLE = {
    prefix + name: Unit(times * unit.times, over * unit.over, unit.exponents)
    for name, unit in _PREFIXED.items()
    for prefix, (times, over) in _PREFIXES.items()
} | {
    "cm": Unit(1.0, 1e2, _LENGTH), "dm": Unit(1.0, 10.0, _LENGTH), "hPa": Unit(1e2, 1.0, _PRESSURE),
    "t": Unit(1e3, 1.0, _MASS), "min": Unit(60.0, 1.0, _TIME), "h": Unit(3600.0, 1.0, _TIME),
    "bar": Unit(1e5, 1.0, _PRESSURE), "mbar": Unit(1e2, 1.0, _PRESSURE), "atm": Unit(101325.0, 1.0, _PRESSURE),
    "psi": Unit(6894.757293168361, 1.0, _PRESSURE), "L": Unit(1.0, 1e3, _VOLUME), "mL": Unit(1.0, 1e6, _VOLUME),
    "in": Unit(254.0, 1e4, _LENGTH), "inch": Unit(254.0, 1e4, _LENGTH), "ft": Unit(3048.0, 1e4, _LENGTH),
    "lb": Unit(0.45359237, 1.0, _MASS), "lbf": Unit(4.4482216152605, 1.0, _FORCE),
    "deg": Unit(math.pi, 180.0, _NONE), "degree": Unit(math.pi, 180.0, _NONE), "\u00b0": Unit(math.pi, 180.0, _NONE),
    "degrees": Unit(math.pi, 180.0, _NONE), "rev": Unit(2.0 * math.pi, 1.0, _NONE),
    "rpm": Unit(2.0 * math.pi, 60.0, (0, 0, -1)),
}  # fmt: skip

_NUMBER = re.compile(r"\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)")
_TOKEN = re.compile(r"\s*(?:(?P<word>[^\W\d]\w*|\u00b0\w*)|(?P<integer>[-+]?[0-9]+)|(?P<sign>\*\*|[*/^()]))")


def unit_factor(name: str) -> float | None:
    """Factor of one unit word to SI, for expressions; None for a word that is no unit of mechanics."""
    unit = find_unit(name)
    return None if unit is None else unit.times / unit.over


class WrongText(Exception):
    """A text that is no quantity; the hint says why."""

    def __init__(self, hint: str = "") -> None:
        self.hint = hint


class TooLong(WrongText):
    """A text of more than MAX_TEXT characters."""


def split(text: str) -> tuple[float, list[tuple[str, int]]]:
    """Number of a text, and its unit words with their powers; no word is looked up."""
    match = _NUMBER.match(text)
    if match is None:
        raise WrongText("write the minus sign as -" if text.strip()[:1] in ("\u2212", "\u2013") else "")
    tokens, position = [], match.end()
    while text[position:].strip():
        token = _TOKEN.match(text, position)
        if token is None:
            raise WrongText(_sign_hint(text[position:].strip()[0]))
        tokens.append(token.group().strip())
        position = token.end()
    return float(match.group(1)), _Units(tokens).read() if tokens else []


def _sign_hint(sign: str) -> str:
    return {",": "the decimal sign is a point", "%": "write 5 % as 0.05", "\u00b7": "write * between units"}.get(
        sign, ""
    )


class _Units:
    """Reads ``product = factor (("*" | "/") factor)*`` and ``factor = (word | "(" product ")") ["^" integer]``."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens[::-1]  # the next one is the last of the list

    def read(self) -> list[tuple[str, int]]:
        if self.tokens[-2:] == ["/", "1"]:  # 3 1/m
            self.tokens.pop()
        elif self.tokens[-1] == "**" or self.tokens[-1] == "^":
            raise WrongText("a power stands after a unit")
        sign = 1
        if self.tokens[-1] in ("*", "/"):
            sign = 1 if self.tokens.pop() == "*" else -1
        words = self.product(sign)
        if self.tokens:
            word = self.tokens[-1][:1].isalpha()
            raise WrongText("write * between units" if word else "write a number and its unit")
        return words

    def product(self, sign: int = 1) -> list[tuple[str, int]]:
        words = self.factor(sign)
        while self.tokens and self.tokens[-1] in ("*", "/"):
            words += self.factor(1 if self.tokens.pop() == "*" else -1)
        return words

    def factor(self, sign: int) -> list[tuple[str, int]]:
        token = self.tokens.pop() if self.tokens else ""
        if token == "(":
            words = self.product()
            if not self.tokens or self.tokens.pop() != ")":
                raise WrongText("a parenthesis is open")
        elif token[:1].isalpha() or token[:1] == "\u00b0":
            words = [(token, 1)]
        else:
            raise WrongText("write a number and its unit")
        power = 1
        if self.tokens and self.tokens[-1] in ("**", "^"):
            self.tokens.pop()
            digits = self.tokens.pop() if self.tokens else ""
            if not digits.lstrip("+-").isdecimal() or abs(int(digits)) > MAX_POWER:
                raise WrongText(f"powers of units are integers up to {MAX_POWER}")
            power = int(digits)
        return [(word, sign * power * other) for word, other in words]


def find_unit(word: str) -> Unit | None:
    """A unit word; None for a word that is no unit of mechanics."""
    unit = _find(word) if word else None
    return unit if isinstance(unit, Unit) else None


def no_unit_hint(word: str) -> str:
    """Why a word is no unit, and the unit that was probably meant."""
    unit = _find(word)
    return unit if isinstance(unit, str) else f"{word} is not a known unit{_similar(word, None)}"


def combined(words: list[tuple[str, int]], wanted: Exponents) -> tuple[float, float, Exponents]:
    """Numerator, denominator and exponents of a product of unit words; `wanted` helps to guess a misspelt one."""
    times, over, total = 1.0, 1.0, [0, 0, 0]
    for word, power in words:
        unit = _find(word)
        if unit is None:
            raise WrongText(f"{word} is not a known unit{_similar(word, wanted if len(words) == 1 else None)}")
        if isinstance(unit, str):
            raise WrongText(unit)
        up, down = (unit.times, unit.over) if power > 0 else (unit.over, unit.times)
        try:
            times, over = times * up ** abs(power), over * down ** abs(power)
        except OverflowError:
            raise WrongText("it has to be finite") from None
        total = [a + power * b for a, b in zip(total, unit.exponents, strict=True)]
    return times, over, (total[0], total[1], total[2])


def kind_of(exponents: Exponents | None) -> str:
    """What a quantity of these exponents is, for messages."""
    for dimension in list(DIMENSIONS.values())[1:]:
        if dimension.exponents == exponents:
            return dimension.label
    powers = zip(("m", "kg", "s"), exponents or _NONE, strict=True)
    return "in " + "*".join(unit if n == 1 else f"{unit}^{n}" for unit, n in powers if n)


def dimension_of(text: str) -> str | None:
    """Name of the dimension of a number with a unit; None of anything else."""
    try:
        words = split(text)[1]
        exponents = combined(words, DIMENSIONS["number"].exponents)[2] if words else None
    except WrongText:
        return None
    known = [name for name, dimension in DIMENSIONS.items() if dimension.exponents == exponents and name != "number"]
    return known[0] if known else None


@lru_cache(maxsize=1000)
def _find(word: str) -> Unit | str | None:
    """A unit word, or why it cannot be used, or None if it is unknown."""
    if word in _TABLE:
        return _TABLE[word]
    if product := re.fullmatch(r"([mkMG]?(?:N|Pa|J|W))(m|cm|mm|s|h)", word):
        # pint takes Nm for a unit of textiles
        return "write {}*{}".format(*product.groups())
    # single letters beyond the table are constants of nature in pint: c, e, k
    return _ask_pint(word) if len(word) > 1 else None


def _similar(word: str, wanted: Exponents | None) -> str:
    """The unit that was probably meant, of the wanted dimension if one is similar."""
    plain = unicodedata.normalize("NFKC", word)
    power = re.fullmatch(r"([^\W\d]+)([2-9])", plain)
    if power and power.group(1) in _TABLE:
        return f", write {power.group(1)}^{power.group(2)}"
    names = [name for name, unit in _TABLE.items() if name.isascii() and wanted in (None, unit.exponents)]
    same = [name for name in names if name.casefold() == plain.casefold()]
    found = same or difflib.get_close_matches(plain, names, n=3, cutoff=0.5)
    return f", did you mean {' or '.join(found)}?" if found else ""


def _ask_pint(word: str) -> Unit | str | None:
    """A unit word of pint, or why it cannot be used, or None where pint does not know it."""
    registry = _registry()
    try:
        zero, one, two = (registry.Quantity(x, word).to_base_units() for x in (0.0, 1.0, 2.0))
        powers = dict(registry.get_dimensionality(word))
        size, doubled, offset = float(one.magnitude), float(two.magnitude), float(zero.magnitude)
    except Exception:  # pint fails in many ways on words that are no units
        return None
    if offset != 0.0 or doubled != 2.0 * size:
        return f"{word} has an offset or is logarithmic, use another unit"
    exponents = tuple(powers.pop(name, 0) for name in ("[length]", "[mass]", "[time]"))
    if powers or any(n != int(n) for n in exponents) or not 0.0 < size < math.inf:
        return f"{word} is not a unit of mechanics"
    return Unit(size, 1.0, (int(exponents[0]), int(exponents[1]), int(exponents[2])))


@lru_cache(maxsize=1)
def _registry() -> Any:
    import pint

    return pint.UnitRegistry()
