"""Units at the boundary of files: texts such as ``3 cm`` or ``10 kPa*s`` to numbers in SI.

The units are those of one table: SI with prefixes, and what engineers write beside it. Texts are taken apart here: a
number, then words combined with ``*``, ``/``, ``^`` and parentheses.
"""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

MAX_TEXT, MAX_POWER = 100, 9

BASE = ("m", "kg", "s", "A")  # units of SI
Exponents = tuple[int, int, int, int]  # of these; a radian is 1


class Dimension(NamedTuple):
    """A kind of quantity."""

    label: str
    exponents: Exponents
    example: str
    unit: str  # in SI, as texts write it


DIMENSIONS = {
    "number": Dimension("a number", (0, 0, 0, 0), "", ""),
    "angle": Dimension("an angle", (0, 0, 0, 0), "45 deg", "rad"),
    "length": Dimension("a length", (1, 0, 0, 0), "3 cm", "m"),
    "area": Dimension("an area", (2, 0, 0, 0), "2 cm^2", "m^2"),
    "area moment": Dimension("a second moment of area", (4, 0, 0, 0), "5 mm^4", "m^4"),
    "curvature": Dimension("a curvature", (-1, 0, 0, 0), "2 1/m", "1/m"),
    "mass": Dimension("a mass", (0, 1, 0, 0), "200 g", "kg"),
    "density": Dimension("a density", (-3, 1, 0, 0), "1000 kg/m^3", "kg/m^3"),
    "inertia": Dimension("a moment of inertia", (2, 1, 0, 0), "3 kg*cm^2", "kg*m^2"),
    "time": Dimension("a time", (0, 0, 1, 0), "10 s", "s"),
    "rate": Dimension("a rate", (0, 0, -1, 0), "0.5 1/s", "1/s"),
    "frequency": Dimension("a rate", (0, 0, -1, 0), "100 Hz", "Hz"),
    "speed": Dimension("a speed", (1, 0, -1, 0), "3 cm/s", "m/s"),
    "inverse speed": Dimension("an inverse speed", (-1, 0, 1, 0), "0.5 s/m", "s/m"),
    "angular speed": Dimension("an angular speed", (0, 0, -1, 0), "2 rad/s", "rad/s"),
    "acceleration": Dimension("an acceleration", (1, 0, -2, 0), "9.81 m/s^2", "m/s^2"),
    "angular acceleration": Dimension("an angular acceleration", (0, 0, -2, 0), "2 rad/s^2", "rad/s^2"),
    "force": Dimension("a force", (1, 1, -2, 0), "5 N", "N"),
    "moment": Dimension("a moment", (2, 1, -2, 0), "5 N*cm", "N*m"),
    "energy": Dimension("an energy", (2, 1, -2, 0), "5 mJ", "J"),
    "bending stiffness": Dimension("a bending stiffness", (3, 1, -2, 0), "5 N*cm^2", "N*m^2"),
    "pressure": Dimension("a pressure or modulus", (-1, 1, -2, 0), "1 MPa", "Pa"),
    "inverse pressure": Dimension("a change by pressure", (1, -1, 2, 0), "0.5 1/bar", "1/Pa"),
    "viscosity": Dimension("a viscosity", (-1, 1, -1, 0), "10 kPa*s", "Pa*s"),
    "stiffness": Dimension("a stiffness", (0, 1, -2, 0), "100 N/m", "N/m"),
    "damping": Dimension("a damping", (0, 1, -1, 0), "2 N*s/m", "N*s/m"),
    "rotary stiffness": Dimension("a rotary stiffness", (2, 1, -2, 0), "2 N*m/rad", "N*m/rad"),
    "rotary damping": Dimension("a rotary damping", (2, 1, -1, 0), "0.1 N*m*s/rad", "N*m*s/rad"),
    "line force": Dimension("a force per length", (0, 1, -2, 0), "2 N/m", "N/m"),
    "magnetic field": Dimension("a magnetic flux density", (0, 1, -2, -1), "20 mT", "T"),
    "field gradient": Dimension("a gradient of magnetic flux density", (-1, 1, -2, -1), "1 T/m", "T/m"),
    "magnetisation": Dimension("a magnetisation", (-1, 0, 0, 1), "100 kA/m", "A/m"),
    "magnetic moment": Dimension("a magnetic moment", (2, 0, 0, 1), "0.5 A*m^2", "A*m^2"),
    "line moment": Dimension("a moment per length", (1, 1, -2, 0), "0.1 N*m/m", "N"),
}


# dimensions of coordinates, rates and accelerations, by that of a coordinate
OF_COORDINATE = {
    "angle": ("angle", "angular speed", "angular acceleration"),
    "length": ("length", "speed", "acceleration"),
    "number": ("number", "rate", "angular acceleration"),
}
# dimension of the input of an actuator by its unit; what has another one is read as a plain number
OF_INPUT = {
    "N": "force", "m": "length", "Pa": "pressure", "N m": "moment", "rad": "angle", "m/s": "speed",
    "rad/s": "angular speed",
}  # fmt: skip


class Unit(NamedTuple):
    """``times/over`` SI units; as two numbers, so that 7 cm is 7/100 m, the nearest float to 0.07 m."""

    times: float
    over: float
    exponents: Exponents


_LENGTH, _MASS, _TIME, _NONE = (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 0)
_SPEED, _FORCE, _PRESSURE, _VOLUME, _ENERGY = (1, 0, -1, 0), (1, 1, -2, 0), (-1, 1, -2, 0), (3, 0, 0, 0), (2, 1, -2, 0)
_CURRENT, _FIELD = (0, 0, 0, 1), (0, 1, -2, -1)
_PREFIXES = {
    "p": ("pico", 1.0, 1e12), "n": ("nano", 1.0, 1e9), "u": ("micro", 1.0, 1e6), "\u00b5": ("", 1.0, 1e6),
    "\u03bc": ("", 1.0, 1e6), "m": ("milli", 1.0, 1e3), "c": ("centi", 1.0, 1e2), "d": ("deci", 1.0, 10.0),
    "": ("", 1.0, 1.0), "h": ("hecto", 1e2, 1.0), "k": ("kilo", 1e3, 1.0), "M": ("mega", 1e6, 1.0),
    "G": ("giga", 1e9, 1.0), "T": ("tera", 1e12, 1.0),
}  # fmt: skip
_PREFIXED = {
    "m": (("meter", "metre"), Unit(1.0, 1.0, _LENGTH)), "g": (("gram",), Unit(1.0, 1e3, _MASS)),
    "s": (("second",), Unit(1.0, 1.0, _TIME)), "N": (("newton",), Unit(1.0, 1.0, _FORCE)),
    "Pa": (("pascal",), Unit(1.0, 1.0, _PRESSURE)), "J": (("joule",), Unit(1.0, 1.0, _ENERGY)),
    "W": (("watt",), Unit(1.0, 1.0, (2, 1, -3, 0))), "Hz": (("hertz",), Unit(1.0, 1.0, (0, 0, -1, 0))),
    "rad": (("radian",), Unit(1.0, 1.0, _NONE)), "L": (("liter", "litre"), Unit(1.0, 1e3, _VOLUME)),
    "bar": ((), Unit(1e5, 1.0, _PRESSURE)),
}  # fmt: skip
_OTHERS = {
    "t tonne": Unit(1e3, 1.0, _MASS), "min minute": Unit(60.0, 1.0, _TIME), "h hr hour": Unit(3600.0, 1.0, _TIME),
    "sec": Unit(1.0, 1.0, _TIME), "day": Unit(86400.0, 1.0, _TIME),
    "deg degree \u00b0": Unit(math.pi, 180.0, _NONE), "arcmin": Unit(math.pi, 10800.0, _NONE),
    "arcsec": Unit(math.pi, 648000.0, _NONE), "gon": Unit(math.pi, 200.0, _NONE),
    "rev revolution turn": Unit(2.0 * math.pi, 1.0, _NONE), "rpm": Unit(2.0 * math.pi, 60.0, (0, 0, -1, 0)),
    "in inch": Unit(254.0, 1e4, _LENGTH), "ft foot": Unit(3048.0, 1e4, _LENGTH), "yd yard": Unit(9144.0, 1e4, _LENGTH),
    "mi mile": Unit(1609344.0, 1e3, _LENGTH), "thou": Unit(254.0, 1e7, _LENGTH), "micron": Unit(1.0, 1e6, _LENGTH),
    "angstrom": Unit(1.0, 1e10, _LENGTH), "lb lbm pound": Unit(0.45359237, 1.0, _MASS),
    "oz ounce": Unit(0.028349523125, 1.0, _MASS), "slug": Unit(14.593902937206364, 1.0, _MASS),
    "lbf": Unit(4.4482216152605, 1.0, _FORCE), "ozf": Unit(0.27801385095378125, 1.0, _FORCE),
    "kip": Unit(4448.2216152605, 1.0, _FORCE), "kgf kp": Unit(9.80665, 1.0, _FORCE),
    "gf": Unit(9.80665, 1e3, _FORCE), "dyn dyne": Unit(1.0, 1e5, _FORCE),
    "psi": Unit(6894.757293168361, 1.0, _PRESSURE), "ksi": Unit(6894757.293168361, 1.0, _PRESSURE),
    "atm": Unit(101325.0, 1.0, _PRESSURE), "torr": Unit(101325.0, 760.0, _PRESSURE),
    "mmHg": Unit(133.322387415, 1.0, _PRESSURE), "cP": Unit(1.0, 1e3, (-1, 1, -1, 0)),
    "kph kmh": Unit(1e3, 3600.0, _SPEED), "mph": Unit(1609.344, 3600.0, _SPEED),
    "knot": Unit(1852.0, 3600.0, _SPEED), "ml": Unit(1.0, 1e6, _VOLUME),
    "erg": Unit(1.0, 1e7, _ENERGY), "cal calorie": Unit(4.184, 1.0, _ENERGY), "kcal": Unit(4184.0, 1.0, _ENERGY),
    "hp": Unit(745.6998715822702, 1.0, (2, 1, -3, 0)),
    "A ampere": Unit(1.0, 1.0, _CURRENT), "mA": Unit(1.0, 1e3, _CURRENT), "kA": Unit(1e3, 1.0, _CURRENT),
    "T tesla": Unit(1.0, 1.0, _FIELD), "mT": Unit(1.0, 1e3, _FIELD), "uT": Unit(1.0, 1e6, _FIELD),
}  # fmt: skip
_PLURALS = {"foot": "feet", "inch": "inches", "hertz": "hertz"}
_SYMBOLS = {
    prefix + name: Unit(times * unit.times, over * unit.over, unit.exponents)
    for name, (_, unit) in _PREFIXED.items()
    for prefix, (_, times, over) in _PREFIXES.items()
} | {names.split()[0]: unit for names, unit in _OTHERS.items()}
_WORDS = {
    long + word: _SYMBOLS[prefix + name]
    for name, (words, _) in _PREFIXED.items()
    for prefix, (long, _, _) in _PREFIXES.items()
    if long or not prefix
    for word in words
} | {word: unit for names, unit in _OTHERS.items() for word in names.split()[1:]}
_TABLE = {_PLURALS.get(word, f"{word}s"): unit for word, unit in _WORDS.items() if len(word) > 3} | _WORDS | _SYMBOLS
_OFFSET = {"degC", "degF", "celsius", "fahrenheit", "dB"}
_NOT_MECHANICS = {"C", "coulomb", "F", "farad", "V", "volt", "ohm", "H", "henry", "K", "kelvin", "mol"}

_NUMBER = re.compile(r"\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)")
_TOKEN = re.compile(r"\s*(?:(?P<word>[^\W\d]\w*|\u00b0\w*)|(?P<integer>[-+]?[0-9]+)|(?P<sign>\*\*|[*/^()]))")


def exponents_of(powers: Sequence[float]) -> Exponents:
    """Exponents of whole numbers."""
    m, kg, s, a = map(int, powers)
    return m, kg, s, a


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
    return _TABLE.get(word)


def no_unit_hint(word: str, wanted: Exponents | None = None) -> str:
    """Why a word is no unit, and the unit, of the wanted dimension if one is similar, that was probably meant."""
    if product := re.fullmatch(r"([mkMG]?(?:N|Pa|J|W))(m|cm|mm|s|h)", word):
        one, other = product.groups()
        exponents = exponents_of([a + b for a, b in zip(_TABLE[one].exponents, _TABLE[other].exponents, strict=True)])
        if wanted in (None, exponents) or not _similar(word, wanted):
            return f"write {one}*{other}"
    if word in _OFFSET:
        return f"{word} has an offset or is logarithmic, use another unit"
    if word in _NOT_MECHANICS:
        return f"{word} is not a unit of mechanics"
    return f"{word} is not a known unit{_similar(word, wanted)}"


def combined(words: list[tuple[str, int]], wanted: Exponents) -> tuple[float, float, Exponents]:
    """Numerator, denominator and exponents of a product of unit words; `wanted` helps to guess a misspelt one."""
    times, over, total = 1.0, 1.0, [0] * len(BASE)
    for word, power in words:
        unit = find_unit(word)
        if unit is None:
            raise WrongText(no_unit_hint(word, wanted if len(words) == 1 else None))
        up, down = (unit.times, unit.over) if power > 0 else (unit.over, unit.times)
        try:
            times, over = times * up ** abs(power), over * down ** abs(power)
        except OverflowError:
            raise WrongText("it has to be finite") from None
        total = [a + power * b for a, b in zip(total, unit.exponents, strict=True)]
    return times, over, exponents_of(total)


def kind_of(exponents: Exponents | None) -> str:
    """What a quantity of these exponents is, for messages."""
    for dimension in list(DIMENSIONS.values())[1:]:
        if dimension.exponents == exponents:
            return dimension.label
    powers = zip(BASE, exponents or _NONE, strict=True)
    return "in " + "*".join(unit if n == 1 else f"{unit}^{n}" for unit, n in powers if n)


def dimension_of(text: str) -> str | None:
    """Name of the dimension of a number with a unit; None of anything else. Hz is a frequency, rpm an angular speed."""
    try:
        words = split(text)[1]
        exponents = combined(words, DIMENSIONS["number"].exponents)[2] if words else None
    except WrongText:
        return None
    if exponents == DIMENSIONS["frequency"].exponents:
        names = [word for word, _ in words]
        if any(name.lower().endswith(("hz", "hertz")) for name in names):
            return "frequency"
        turns = any(name == "rpm" or _TABLE[name].exponents == _NONE for name in names)
        return "angular speed" if turns else "rate"
    return next((name for name, one in DIMENSIONS.items() if one.exponents == exponents and name != "number"), None)


def _similar(word: str, wanted: Exponents | None) -> str:
    """The unit that was probably meant, of the wanted dimension if one is similar."""
    plain = unicodedata.normalize("NFKC", word)
    power = re.fullmatch(r"([^\W\d]+)([2-9])", plain)
    if power and power.group(1) in _TABLE:
        return f", write {power.group(1)}^{power.group(2)}"
    names = [name for name, unit in _SYMBOLS.items() if name.isascii() and wanted in (None, unit.exponents)]
    same = [name for name in names if name.casefold() == plain.casefold()]
    found = same or difflib.get_close_matches(plain, names)
    if not found and len(plain) == 2:  # one letter of two is wrong
        found = [name for name in names if len(name) == 2 and name[0] == plain[0]]
    return f", did you mean {' or '.join(found)}?" if found else ""
