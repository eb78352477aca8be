"""Units: texts to numbers in SI, and one sentence for what is no quantity of the expected kind."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sorosim.base.declare import formula_or_quantity
from sorosim.base.errors import ExpressionError, ModelError
from sorosim.base.units.quantity import is_quantity, quantity
from sorosim.base.units.table import DIMENSIONS, MAX_TEXT, dimension_of, unit_factor


@pytest.mark.parametrize(
    ("value", "dimension", "expected"),
    [
        (3, "length", 3.0), (np.float64(2.5), "length", 2.5), ("1.5e-2", "length", 0.015), (" -2 ", "length", -2.0),
        ("3 cm", "length", 0.03), ("7 cm", "length", 0.07), ("35cm", "length", 0.35), ("0.3 mm", "length", 0.0003),
        ("1 MPa", "pressure", 1e6), ("1000 kg/m^3", "density", 1000.0), ("1.2 g/cm^3", "density", 1200.0),
        ("10 kPa*s", "viscosity", 1e4), ("3 kg/(m*s)", "viscosity", 3.0), ("3 kg/m/s", "viscosity", 3.0),
        ("9.81 m/s**2", "acceleration", 9.81), ("9.81 m*s^-2", "acceleration", 9.81), ("2 1/m", "curvature", 2.0),
        ("2 /m", "curvature", 2.0), ("2 (m^2)^-1*m", "curvature", 2.0), ("5 N*cm", "moment", 0.05),
        ("2 N*m/rad", "rotary stiffness", 2.0), ("2 kg*cm^2", "inertia", 2e-4),
        ("180 deg", "angle", math.pi), ("180\u00b0", "angle", math.pi), ("1 rev", "angle", 2 * math.pi),
        ("5 mm/rev", "length", 0.005 / (2 * math.pi)), ("3 \u00b5m", "length", 3e-6), ("3 \u03bcm", "length", 3e-6),
        ("2 in", "length", 0.0508), ("1 h", "time", 3600.0), ("60 rpm", "rate", 2 * math.pi),
    ],
)  # fmt: skip
def test_quantities(value, dimension, expected):
    assert quantity(value, dimension) == pytest.approx(expected, rel=5e-16, abs=0.0)


def test_a_decimal_number_with_a_unit_is_the_nearest_float():
    for value, expected in (("7 cm", 0.07), ("35 cm", 0.35), ("0.3 mm", 0.0003), ("110 us", 0.00011)):
        assert quantity(value, "time" if "us" in value else "length") == expected


# by the definitions of the SI brochure (BIPM) and of NIST SP 811, appendix B.9
@pytest.mark.parametrize(
    ("value", "dimension", "expected"),
    [
        ("10 newton", "force", 10.0), ("3 metres", "length", 3.0), ("3 millimeters", "length", 0.003),
        ("1 dyne", "force", 1e-5), ("2 kgf", "force", 19.6133), ("1 lbf", "force", 4.4482216152605),
        ("1 ozf", "force", 4.4482216152605 / 16), ("1 kip", "force", 4448.2216152605),
        ("1 bar", "pressure", 1e5), ("1 mbar", "pressure", 100.0), ("1 atm", "pressure", 101325.0),
        ("1 psi", "pressure", 4.4482216152605 / 0.0254**2), ("760 torr", "pressure", 101325.0),
        ("1 mmHg", "pressure", 133.322387415), ("1 hPa", "pressure", 100.0), ("1 GPa", "pressure", 1e9),
        ("1 cP", "viscosity", 1e-3), ("1 mPa*s", "viscosity", 1e-3),
        ("1 ft", "length", 0.3048), ("3 feet", "length", 0.9144), ("1 yd", "length", 0.9144),
        ("2 inches", "length", 0.0508), ("1 mile", "length", 1609.344), ("1 thou", "length", 2.54e-5),
        ("1 micron", "length", 1e-6), ("1 angstrom", "length", 1e-10), ("1 nm", "length", 1e-9),
        ("1 lb", "mass", 0.45359237), ("16 oz", "mass", 0.45359237), ("1 slug", "mass", 4.4482216152605 / 0.3048),
        ("2 tonnes", "mass", 2000.0), ("1 mg", "mass", 1e-6), ("1 min", "time", 60.0), ("1 day", "time", 86400.0),
        ("2 hours", "time", 7200.0), ("1 ms", "time", 1e-3), ("90 degrees", "angle", math.pi / 2),
        ("60 arcmin", "angle", math.pi / 180), ("100 gon", "angle", math.pi / 2), ("1 turn", "angle", 2 * math.pi),
        ("1 kHz", "frequency", 1000.0), ("36 kph", "speed", 10.0), ("1 mph", "speed", 0.44704),
        ("1 knot", "speed", 1852 / 3600), ("1 kJ", "moment", 1000.0), ("1 kcal", "moment", 4184.0),
        ("1 L/(10 cm)", "area", 0.01),
    ],
)  # fmt: skip
def test_units_of_engineers(value, dimension, expected):
    assert quantity(value, dimension) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("value", "dimension", "message"),
    [
        ("3 kPa", "length", "a length such as 3 cm, got '3 kPa', a pressure or modulus"),
        ("3 s", "pressure", "a pressure or modulus such as 1 MPa, got '3 s', a time"),
        ("45 deg", "length", "a length such as 3 cm, got '45 deg', an angle"),
        ("3 m^4/s", "length", "a length such as 3 cm, got '3 m^4/s', in m^4*s^-1"),
        ("3 cm", "number", "a number, got '3 cm'; write it without a unit"),
        ("3 rad", "number", "a number, got '3 rad'; write it without a unit"),
        ("3 mpa", "pressure", "a pressure or modulus such as 1 MPa, got '3 mpa'; mpa is not a known unit, "
                              "did you mean mPa or MPa?"),
        ("3 cmm", "length", "a length such as 3 cm, got '3 cmm'; cmm is not a known unit, did you mean mm or cm?"),
        ("3 xyzzy", "length", "a length such as 3 cm, got '3 xyzzy'; xyzzy is not a known unit"),
        ("3 c", "speed", "a speed such as 3 cm/s, got '3 c'; c is not a known unit"),
        ("3 kg/m3", "density", "a density such as 1000 kg/m^3, got '3 kg/m3'; m3 is not a known unit, write m^3"),
        ("5 Nm", "moment", "a moment such as 5 N*cm, got '5 Nm'; write N*m"),
        ("2 MPas", "pressure",
         "a pressure or modulus such as 1 MPa, got '2 MPas'; MPas is not a known unit, did you mean MPa or Pa?"),
        ("5 N m", "moment", "a moment such as 5 N*cm, got '5 N m'; write * between units"),
        ("5 N\u00b7m", "moment", "a moment such as 5 N*cm, got '5 N\u00b7m'; write * between units"),
        ("20 degC", "length",
         "a length such as 3 cm, got '20 degC'; degC has an offset or is logarithmic, use another unit"),
        ("3 dB", "force", "a force such as 5 N, got '3 dB'; dB has an offset or is logarithmic, use another unit"),
        ("3 ohm", "force", "a force such as 5 N, got '3 ohm'; ohm is not a unit of mechanics"),
        ("3,5 cm", "length", "a length such as 3 cm, got '3,5 cm'; the decimal sign is a point"),
        ("5 %", "number", "a number, got '5 %'; write 5 % as 0.05"),
        ("\u22123 cm", "length", "a length such as 3 cm, got '\u22123 cm'; write the minus sign as -"),
        ("3 cm^2.5", "area", "an area such as 2 cm^2, got '3 cm^2.5'"),
        ("3 cm^99", "area", "an area such as 2 cm^2, got '3 cm^99'; powers of units are integers up to 9"),
        ("3 cm^", "area", "an area such as 2 cm^2, got '3 cm^'; powers of units are integers up to 9"),
        ("3 (cm", "length", "a length such as 3 cm, got '3 (cm'; a parenthesis is open"),
        ("3 cm/", "length", "a length such as 3 cm, got '3 cm/'; write a number and its unit"),
        ("1_000", "length", "a length such as 3 cm, got '1_000'; write a number and its unit"),
        ("1/2 m", "length", "a length such as 3 cm, got '1/2 m', a curvature"),
        ("2 cm * 3 cm", "length", "a length such as 3 cm, got '2 cm * 3 cm', an area"),
        ("1 cm + 2 kg", "length", "a length such as 3 cm, got '1 cm + 2 kg'; expected quantities of one kind in '+', "
                                  "got a length and a mass at column 6 of '1 cm + 2 kg'"),
        ("2*(3 cmm)", "length", "a length such as 3 cm, got '2*(3 cmm)'; expected a number, a unit or an operator, got "
                                "'cmm' at column 6 of '2*(3 cmm)'; cmm is not a known unit, did you mean mm or "
                                "cm?"),
        ("2*(3 cm", "length", "a length such as 3 cm, got '2*(3 cm'; expected an operator or ')', got the end at "
                              "column 8 of '2*(3 cm'; '(' at column 3 is open"),
        ("1/(2 - 2)", "number", "a number, got '1/(2 - 2)'; expected a finite value, got inf from '/' at column 2 of "
                                "'1/(2 - 2)'"),
        ("sin(3 cm)", "number", "a number, got 'sin(3 cm)'; expected a number in sin(...), got a length at column 1 of "
                                "'sin(3 cm)'"),
        ("2*(1 cm)^10", "number", "a number, got '2*(1 cm)^10', in m^10"),
        ("2 - 3 cm^12", "length", "a length such as 3 cm, got '2 - 3 cm^12'; expected an integer up to 9 as power of a "
                                  "unit, got '12' at column 10 of '2 - 3 cm^12'"),
        ("2024-01-31", "length", "a length such as 3 cm, got '2024-01-31'; write a number and its unit"),
        ("cm", "length", "a length such as 3 cm, got 'cm'"),
        ("", "length", "a length such as 3 cm, got ''"),
        ("nan", "length", "a length such as 3 cm, got 'nan'"),
        (math.nan, "length", "a length, got nan; it has to be finite"),
        (-math.inf, "length", "a length, got -inf; it has to be finite"),
        ("1e400", "length", "a length, got '1e400'; it has to be finite"),
        ("1e308 km", "length", "a length, got '1e308 km'; it has to be finite"),
        (10**400, "length", "a length, got a number of many digits; it has to be finite"),
        (True, "length", "a length such as 3 cm, got true"),
        (None, "length", "a length such as 3 cm, got nothing"),
        ([1], "length", "a length such as 3 cm, got [1]"),
        (1j, "length", "a length such as 3 cm, got complex"),
        ("3" * (MAX_TEXT + 1), "length", "a length such as 3 cm, got a text of 101 characters"),
    ],
)  # fmt: skip
def test_what_is_no_quantity_is_refused_in_one_sentence(value, dimension, message):
    with pytest.raises(ModelError) as caught:
        quantity(value, dimension, "rod.length")
    assert str(caught.value) == f"rod.length: expected {message}"


@pytest.mark.parametrize(
    ("value", "dimension", "expected"),
    [
        ("2*(10 cm) + 1 cm", "length", 0.21), ("2 cm * 3 cm", "area", 6e-4), ("2*pi*(3 cm)", "length", 0.06 * math.pi),
        ("360 deg/20*3", "angle", 0.3 * math.pi), ("pi/4", "angle", math.pi / 4), ("2*pi", "number", 2 * math.pi),
        ("1/1 m", "curvature", 1.0), ("2*(1000 kg/m^3)", "density", 2000.0), ("(10 kPa*s)/2", "viscosity", 5000.0),
        ("2*(2 1/m)", "curvature", 4.0), ("-(3 cm)", "length", -0.03), ("(3 cm)", "length", 0.03),
        ("5 cm*cos(3*60 deg)", "length", -0.05), ("sqrt(4 cm * 9 cm)", "length", 0.06), ("3 cm*2", "length", 0.06),
        ("10 cm + 0.02", "length", 0.12), ("2*3", "length", 6.0), ("2 - 3", "number", -1.0), ("1e-2*2", "length", 0.02),
        ("max(1 cm, 2 cm)", "length", 0.02), ("2*(5 min)", "time", 600.0), ("(2 m)^2", "area", 4.0),
        ("9.81 m/s^2*2", "acceleration", 19.62), ("(1 kg*(3 m)^2)*2", "inertia", 18.0),
    ],
)  # fmt: skip
def test_arithmetic_with_units(value, dimension, expected):
    assert quantity(value, dimension) == pytest.approx(expected, rel=1e-14)


LENGTHS = ("X", "s", "L", "r")


@pytest.mark.parametrize(
    ("text", "dimension", "variables"),
    [
        ("1.5 cm*sin(4*pi*X/L)", "length", LENGTHS), ("3 cm*(1 - s)", "length", LENGTHS),
        ("r/2 - 1 mm", "length", LENGTHS),
        ("0.03 - 0.3*X^2", "length", LENGTHS), ("0.03*s", "length", LENGTHS), ("sqrt(X*L)/2", "length", LENGTHS),
        ("sqrt(r^2 - (5 mm)^2)", "length", LENGTHS), ("max(X, 3 cm)", "length", LENGTHS), ("2/L", "curvature", LENGTHS),
        ("(2 1/m)*s", "curvature", LENGTHS), ("sin(X)", "length", LENGTHS), ("1 cm*exp(-X)", "length", LENGTHS),
        ("5*(1 - cos(pi*t))", "force", ("t",)), ("3 N*t", "force", ("t",)), ("2*t", "force", ("t",)),
        ("3 N*t/(2 s)", "force", ("t",)), ("5 N*step(t - 2 s)", "force", ("t",)), ("5 deg*sin(2*t)", "angle", ("t",)),
        ("6*smoothstep((t - 2)/2)", "force", ("t",)), ("(2 kg*m/s^2)*t", "force", ("t",)), ("X/L", "number", LENGTHS),
        ("clip(X, 1 cm, 2 cm)", "length", LENGTHS), ("-abs(r)", "length", LENGTHS), ("2^s*(1 cm)", "length", LENGTHS),
    ],
)  # fmt: skip
def test_formulas_of_the_right_kind(text, dimension, variables):
    assert formula_or_quantity(text, dimension, variables).text


@pytest.mark.parametrize(
    ("text", "dimension", "message"),
    [
        ("1.5 kg*sin(X)", "length", "expected a length such as 3 cm, got '1.5 kg*sin(X)', a mass"),
        ("s", "length", "expected a length such as 3 cm, got 's', a number"),
        ("X*L", "length", "expected a length such as 3 cm, got 'X*L', an area"),
        ("2*(1 kg)*s", "length", "expected a length such as 3 cm, got '2*(1 kg)*s', a mass"),
        ("X + s", "length", "expected quantities of one kind in '+', got a length and a number at column 3 of 'X + s'"),
        ("3 cm - 1 kg*s", "length",
         "expected quantities of one kind in '-', got a length and a mass at column 6 of '3 cm - 1 kg*s'"),
        ("min(X, 3 kg)", "length",
         "expected quantities of one kind in 'min', got a length and a mass at column 1 of 'min(X, 3 kg)'"),
        ("s*sin(3 cm)", "number", "expected a number in sin(...), got a length at column 3 of 's*sin(3 cm)'"),
        ("2 m*X", "number", "expected a number, got '2 m*X', an area"),
    ],
)  # fmt: skip
def test_formulas_of_another_kind_are_refused(text, dimension, message):
    with pytest.raises((ModelError, ExpressionError)) as caught:
        formula_or_quantity(text, dimension, LENGTHS)
    assert str(caught.value).removeprefix(": ") == message


@pytest.mark.parametrize(
    ("text", "dimension"),
    [
        ("2 Hz", "frequency"), ("3 kHz", "frequency"), ("0.5 1/s", "rate"), ("2 1/min", "rate"),
        ("30 rpm", "angular speed"), ("2 rad/s", "angular speed"), ("1 rev/min", "angular speed"),
        ("3 cm", "length"), ("90 deg", "angle"), ("3", None), ("fast", None),
    ],
)  # fmt: skip
def test_the_dimension_of_a_text_is_that_of_its_words(text, dimension):
    assert dimension_of(text) == dimension


def test_factors_for_expressions():
    assert [unit_factor(name) for name in ("cm", "mm", "N", "kPa", "s", "ms")] == [0.01, 0.001, 1.0, 1000.0, 1.0, 0.001]
    assert unit_factor("deg") == math.pi / 180
    assert unit_factor("kgf") == 9.80665
    for name in ("degC", "dB", "ohm", "k", "c", "xyzzy", "Nm"):
        assert unit_factor(name) is None


def test_a_quantity_is_told_from_an_expression():
    names = ("X", "s", "L", "pi", "sin")
    assert is_quantity("3 cm", names)
    assert is_quantity("3 cmm", names)
    assert is_quantity("3", names)
    for text in ("3 cm*s", "3 cm*(1 - s)", "sin(1)", "r", "3 s", "1 + 1", "2*pi"):
        assert not is_quantity(text, names)


@given(st.text(max_size=30), st.sampled_from(sorted(DIMENSIONS)))
def test_any_text_is_a_finite_number_or_a_model_error(text, dimension):
    for value in (text, f"3 {text}", f"3 m{text}"):
        message = ""
        try:
            assert math.isfinite(quantity(value, dimension))
        except ModelError as error:
            message = str(error)
        assert "\n" not in message
