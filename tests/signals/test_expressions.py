"""Parsing and evaluation of expressions: meaning, derivatives, units, bounds, messages."""

from __future__ import annotations

import copy
import math
import pickle
import time

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sorosim.base.errors import ExpressionError, InputError
from sorosim.base.signals.expressions import Expression, parse
from sorosim.base.signals.parser import CONSTANTS, FUNCTIONS, MAX_TAPE

UNITS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "kPa": 1e3, "s": 1.0, "min": 60.0, "e": 1.6e-19, "°": math.pi / 180}
unit_factor = UNITS.get


# ---- meaning


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        (".5", 0.5),
        ("2.", 2.0),
        ("1e-3", 1e-3),
        ("1.5E+2", 150.0),
        ("2 - 3 - 4", -5.0),
        ("2 - (3 - 4)", 3.0),
        ("24/4/3", 2.0),
        ("24/4*3", 18.0),
        ("2 + 3*4", 14.0),
        ("(2 + 3)*4", 20.0),
        ("2*3**2", 18.0),
        ("2**3**2", 512.0),
        ("2^3^2", 512.0),
        ("-2**2", -4.0),
        ("(-2)**2", 4.0),
        ("2**-1", 0.5),
        ("2**-2**2", 1 / 16),
        ("-2*-3", 6.0),
        ("2 - -3", 5.0),
        ("--3", 3.0),
        ("-+-+3", 3.0),
        ("-2*3 + 1", -5.0),
        ("6/-2", -3.0),
        ("2*pi", 2 * math.pi),
        ("e**2", math.e**2),
        ("max(1, min(5, 3))", 3.0),
        ("clip(7, 0, 2)*2", 4.0),
        ("atan2(1, -1)", 3 * math.pi / 4),
        (" \t2\n*\r3\u00a0", 6.0),
        ("2e", None),
        ("-sin(pi/2)^2", -1.0),
    ],
)
def test_precedence_table(text, value):
    if value is None:
        with pytest.raises(ExpressionError):
            parse(text, [])
    else:
        assert parse(text, [])() == pytest.approx(value, rel=1e-15)


NUMBERS = st.sampled_from(["x", "y", "2", "0.5", "3", "1.25", "x*y"])
TREES = st.recursive(
    NUMBERS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", " - ", "**", "^"]), inner).map("".join),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"-{text}"),
        st.tuples(st.sampled_from(["sin", "cos", "atan", "tanh", "abs"]), inner).map(lambda p: f"{p[0]}({p[1]})"),
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(TREES)
def test_value_is_that_of_python_with_the_same_text(text):
    def real_abs(value):
        # Python's powers turn complex silently, ours NaN
        if isinstance(value, complex):
            raise TypeError
        return abs(value)

    names = {name: getattr(math, name) for name in ("sin", "cos", "atan", "tanh")} | {
        "abs": real_abs,
        "x": 0.7,
        "y": -1.3,
    }
    try:
        expected = eval(text.replace("^", "**"), {"__builtins__": {}}, names)
    except (ArithmeticError, ValueError, TypeError):  # TypeError: a complex number went into a function
        return
    if isinstance(expected, complex) or abs(expected) > 1e100:
        return
    try:
        expression = parse(text, ["x", "y"])
    except ExpressionError as caught:
        # a constant part overflows or is complex, and vanishes in the whole
        error = caught
    else:
        assert expression(x=0.7, y=-1.3) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        return
    assert "finite value" in str(error)


COMPOSITES = [
    "5*(1-cos(pi*t))",
    "t**2*sin(3*t) + exp(-t)/(1 + t^2)",
    "sqrt(1 + t**4)*atan2(t, 2 - t)",
    "log(2 + t)^t + 2**t - t**3",
    "tanh(sinh(t)*cosh(t))/log10(3 + t)",
    "asin(t/3)*acos(t/4)*tan(t/2)",
    "max(t, t**2) + min(1, t) + clip(3*t, 0, 1) + abs(t - 5)",
    "smoothstep(t/3) + step(t - 9)*t + floor(t) + sign(t)*t",
]


@pytest.mark.parametrize("text", COMPOSITES)
def test_derivatives_of_composites_match_mpmath(text):
    names = {name: getattr(mpmath, name, None) for name in FUNCTIONS} | {
        "pi": mpmath.pi,
        "abs": abs,
        "min": min,
        "max": max,
        "clip": lambda x, a, b: min(max(x, a), b),
        "step": lambda x: x >= 0,
        "smoothstep": lambda x: 3 * x**2 - 2 * x**3,
    }
    times = np.array([0.3, 0.71, 1.37])
    got = parse(text, ["t"]).jets(t=np.column_stack([times, np.ones(3), np.zeros(3)]))
    with mpmath.workdps(40):
        code = compile(text.replace("^", "**"), "", "eval")
        for t, jet in zip(times, got, strict=True):
            expected = [float(mpmath.diff(lambda x: eval(code, names | {"t": x}), mpmath.mpf(t), k)) for k in range(3)]
            assert_allclose(jet, expected, rtol=1e-11, atol=1e-13)


def test_derivatives_match_central_differences():
    function, t, h = parse("exp(-t)*sin(2*t) + t**1.5", ["t"]), np.linspace(0.2, 3, 15), 1e-4
    jets = function.jets(t=np.column_stack([t, np.ones(15), np.zeros(15)]))
    below, here, above = (function(t=t + d) for d in (-h, 0.0, h))
    assert_allclose(jets[:, 1], (above - below) / (2 * h), atol=1e-7)
    assert_allclose(jets[:, 2], (above - 2 * here + below) / h**2, atol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_can_be_written(name):
    _, n = FUNCTIONS[name]
    expression = parse(f"{name}({', '.join('xyz'[:n])})", list("xyz"))
    assert expression.used == tuple("xyz"[:n])
    assert np.isfinite(expression(x=0.5, y=0.2, z=0.9))


# ---- evaluation


def test_arrays_broadcast():
    expression = parse("x + 10*y", ["x", "y"])
    got = expression(x=np.arange(3), y=np.array([[1.0], [2.0]]))
    assert_array_equal(got, [[10, 11, 12], [20, 21, 22]])
    assert isinstance(expression(x=1, y=np.float64(2)), float)
    assert parse("x", ["x"])(x=np.empty((0, 2))).shape == (0, 2)


def test_outside_a_domain_the_value_is_nan_without_a_warning(recwarn):
    assert np.isnan(parse("sqrt(x)", ["x"])(x=-1.0))
    assert parse("1/x", ["x"])(x=0.0) == np.inf
    assert not recwarn


def test_jets_take_jets_constant_arrays_and_numbers():
    expression = parse("x*y*z", ["x", "y", "z", "unused"])
    x = np.array([[2.0, 1.0, 0.5], [3.0, 0.0, 1.0]])
    assert_array_equal(expression.jets(x=x, y=[10.0, 100.0], z=2), x * [[20.0], [200.0]])
    assert_array_equal(parse("3", ["x"]).jets(x=x), [[3, 0, 0], [3, 0, 0]])
    assert_array_equal(parse("3", []).jets(), [[3, 0, 0]])


def test_unused_variables_need_no_value():
    expression = parse("2*s", ["X", "s"])
    assert expression.used == ("s",)
    assert expression(s=0.5) == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: f(x=1), "expression 'x + y': expected a value of y, got none; write y=..."),
        (
            lambda f: f(x=1, y=2, z=3),
            "expression 'x + y': expected a variable of the expression, got 'z'; known: x, y",
        ),
        (
            lambda f: f(x=[1, 2], y=[1, 2, 3]),
            "expression 'x + y': expected shapes that broadcast together, got x (2,), y (3,)",
        ),
        (lambda f: f(x="1", y=2), "expression 'x + y': expected real numbers for x, got '1'"),
        (lambda f: f(x=1j, y=2), "expression 'x + y': expected real numbers for x, got 1j"),
        (
            lambda f: f.jets(x=np.ones((4, 2)), y=2),
            "expression 'x + y': expected x of shape (n, 3), (n,) or (), got shape (4, 2)",
        ),
        (lambda f: f.jets(x=np.ones((4, 3)), y=[1]), "expression 'x + y': expected y of the length of x, 4, got 1"),
    ],
)
def test_wrong_values_are_refused(call, message):
    with pytest.raises(InputError) as caught:
        call(parse("x + y", ["x", "y"]))
    assert str(caught.value) == message


@pytest.mark.parametrize("number", [3, 2.5, np.float32(0.25), np.int64(7), np.array(1.5)])
def test_bare_numbers_and_numeric_text_are_expressions(number):
    assert parse(number, ["t"])() == float(number)
    assert parse(str(number), ["t"])() == float(number)


def test_equality_and_hash_are_those_of_text_and_variables():
    one, same, other = parse("x", ["x"]), parse("x", ["x"]), parse("x", ["x", "y"])
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert len({one, same, other}) == 2


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_equal_and_read_only(duplicate):
    original = parse("2*x + 1", ["x"])
    twin = duplicate(original)
    assert twin == original
    assert twin(x=3.0) == 7.0
    for array in (twin.code, twin.constants):
        assert not array.flags.writeable


def test_constant_parts_are_folded():
    expression = parse("x + 2*pi/(3 - 1)", ["x"])
    assert len(expression.code) == 3
    assert_allclose(expression.constants, [math.pi])


# ---- units


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.5 cm", 0.015),
        ("3mm", 0.003),
        ("1e2cm", 1.0),
        ("-2 cm", -0.02),
        ("1 m / 2 cm", 50.0),
        ("(3 cm)^2", 9e-4),
        ("2 cm*3", 0.06),
        ("10 kPa*x", 5000.0),
        ("3 cm - 1.5 cm*x", 0.0225),
        ("min(2 min, 90 s)", 90.0),
        ("cos(60°)", 0.5),
    ],
)
def test_unit_binds_to_the_number_before_it(text, value):
    assert parse(text, ["x"], unit_factor)(x=0.5) == pytest.approx(value, rel=1e-14)


def test_declared_names_win_over_units():
    assert parse("10 kPa*s", ["s"], unit_factor)(s=0.5) == 5000.0
    assert parse("2 s", ["x"], unit_factor)() == 2.0
    for text in ("2 s", "2s", "1 + 2  s"):
        with pytest.raises(ExpressionError, match=r"got 's' .*; write 2\*s"):
            parse(text, ["s"], unit_factor)


# ---- messages


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected an expression, got nothing at column 1 of ''"),
        ("2 *", "expected a number, a name or '(', got the end at column 4 of '2 *'"),
        ("* 2", "expected a number, a name or '(', got '*' at column 1 of '* 2'"),
        ("(x + 1", "expected an operator or ')', got the end at column 7 of '(x + 1'; '(' at column 1 is open"),
        ("x + 1)", "expected an operator or the end, got ')' at column 6 of 'x + 1)'; there is no '(' that it closes"),
        ("x s", "expected an operator or the end, got 's' at column 3 of 'x s'; write * between factors"),
        ("2(x)", "expected an operator or the end, got '(' at column 2 of '2(x)'; write * between factors"),
        ("2 s", "expected an operator or a unit, got 's' at column 3 of '2 s'; write 2*s"),
        ("3x", "expected an operator or a unit, got 'x' at column 2 of '3x'; write 3*x"),
        ("2 e", "expected an operator or a unit, got 'e' at column 3 of '2 e'; write 2*e"),
        ("2 sin(x)", "expected an operator or a unit, got 'sin' at column 3 of '2 sin(x)'; write 2*sin(...)"),
        ("2 ell", "expected an operator or a unit, got 'ell' at column 3 of '2 ell'; ell is not a known unit"),
        (
            "1_000",
            "expected an operator or a unit, got '_000' at column 2 of '1_000'; write digits without underscores",
        ),
        ("1,5", "expected an operator or the end, got ',' at column 2 of '1,5'; write decimal numbers with a point"),
        (
            "3 cm^2",
            "expected no power directly after a unit, got '^' at column 5 of '3 cm^2'; "
            "put the quantity in parentheses: (3 cm)^...",
        ),
        (
            "kPa*2",
            "expected a variable, got 'kPa' at column 1 of 'kPa*2'; "
            "kPa is a unit, which stands directly after a number: 1 kPa",
        ),
        ("xx + 1", "expected a variable, got 'xx' at column 1 of 'xx + 1'; did you mean x?"),
        ("1 + q", "expected a variable, got 'q' at column 5 of '1 + q'; known: x, s, pi, e"),
        ("sinn(x)", "expected a function, got 'sinn' at column 1 of 'sinn(x)'; did you mean sin or sinh or sign?"),
        ("ln(x)", "expected a function, got 'ln' at column 1 of 'ln(x)'; write log(x)"),
        ("sin x", "expected '(' after the function sin, got 'x' at column 5 of 'sin x'; write sin(...)"),
        ("atan2(x)", "expected 2 arguments of atan2, got 1 at column 1 of 'atan2(x)'"),
        ("sin(x, s)", "expected 1 argument of sin, got 2 at column 1 of 'sin(x, s)'"),
        ("sin()", "expected a number, a name or '(', got ')' at column 5 of 'sin()'"),
        (
            "np.sin(x)",
            "expected a number, a name, an operator or a parenthesis, got '.' at column 3 of 'np.sin(x)'; "
            "write functions without a prefix, as sin(x)",
        ),
        ("x # 2", "expected a number, a name, an operator or a parenthesis, got '#' at column 3 of 'x # 2'"),
        (
            "x < 2",
            "expected a number, a name, an operator or a parenthesis, got '<' at column 3 of 'x < 2'; "
            "write step(b - a) for a <= b",
        ),
        (
            "x \u2212 2",
            "expected a number, a name, an operator or a parenthesis, got '\u2212' at column 3 of 'x \u2212 2'; "
            "write the minus sign as -",
        ),
        ("1e999", "expected a finite number, got '1e999' at column 1 of '1e999'"),
        ("x + 1/0", "expected a finite value, got inf from '/' at column 6 of 'x + 1/0'"),
        ("sqrt(-1)", "expected a finite value, got nan from 'sqrt' at column 1 of 'sqrt(-1)'"),
        ("x" * 2001, "expected at most 2000 characters, got 2001; use a table for measured data"),
        (
            "(" * 51 + "x" + ")" * 51,
            f"expected at most 50 levels of nesting, got more at column 51 of ...'{'(' * 31}x{')' * 28}'...",
        ),
        (
            f"x{'+x' * 600}",
            "expected at most 1000 numbers, names and operators, got more at column 1000 of "
            f"...'{'+x' * 30}'...; use a table for measured data",
        ),
        (None, "expected a number or the text of an expression, got nothing"),
        (True, "expected a number or the text of an expression, got True"),
        (math.nan, "expected a finite number, got nan"),
        (10**400, "expected a finite number, got inf"),
    ],
)
def test_message(text, message):
    with pytest.raises(ExpressionError) as caught:
        parse(text, ["x", "s"], unit_factor, where="arm.radius")
    assert str(caught.value) == f"arm.radius: {message}"


def test_without_units_a_word_after_a_number_is_no_unit():
    with pytest.raises(ExpressionError) as caught:
        parse("2 cm", [])
    message = "expression: expected an operator, got 'cm' at column 3 of '2 cm'; "
    message += "units are not known here: write it in SI"
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        (["x", "2x"], "variables: expected names made of letters, digits and underscores, got '2x'"),
        (["sin"], "variables: expected names other than those of functions and constants, got 'sin'"),
        (["x", "x"], "variables: expected different names, got 'x' twice"),
    ],
)
def test_names_of_variables_are_checked(variables, message):
    with pytest.raises(InputError) as caught:
        parse("1", variables)
    assert str(caught.value) == message


# ---- bounds


def test_fifty_levels_and_a_thousand_rows_are_allowed():
    assert parse("(" * 50 + "x" + ")" * 50, ["x"])(x=2.0) == 2.0
    assert parse("-" * 50 + "x", ["x"])(x=2.0) == 2.0
    # nested on the right: the deepest stack
    deep = parse("(1+x*" * 50 + "x" + ")" * 50, ["x"])
    assert deep.depth == 101
    assert deep(x=1.0) == 51.0
    longest = parse("x" + "+x" * 499, ["x"])
    assert len(longest.code) == MAX_TAPE - 1
    assert longest(x=1.0) == 500.0


@pytest.mark.parametrize("unit", ["(", "-", "sin(", "2**", "x**-", "(x+", "x,", "min(x,", "1.", "e", " ", "((x)"])
def test_hostile_text_fails_quickly(unit):
    start = time.process_time()
    with pytest.raises(ExpressionError):
        parse(unit * (2000 // len(unit)), ["x"])
    assert time.process_time() - start < 2.0  # trying all ways to read it would take hours


PIECES = ["1", "2.5", ".", "e", "e5", " ", "cm", "s", "x", "t", "pi", "°", "²", "_", ",", "\u0663", "\x00", "**", "^"]
PIECES += [*"+-*/()<=", *(f"{name}(" for name in FUNCTIONS), "nan", "inf", "\n", "9" * 400, "1e308", "None"]


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=40), st.lists(st.sampled_from(PIECES), max_size=25).map("".join)))
def test_any_text_is_an_expression_or_an_expression_error(text):
    try:
        expression = parse(text, ["x", "s"], unit_factor)
    except ExpressionError as caught:
        error = caught
    else:
        assert isinstance(expression, Expression)
        assert len(expression.code) <= MAX_TAPE
        assert np.all(np.isfinite(expression.constants))
        assert isinstance(expression(x=0.3, s=0.6), float)
        return
    assert str(error).startswith("expression: expected ")


def test_names_of_functions_and_constants_are_different():
    assert not set(FUNCTIONS) & set(CONSTANTS)
