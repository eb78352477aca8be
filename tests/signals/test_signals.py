"""Signals: every way to write one, their values and time derivatives, and what is refused."""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.interpolate import CubicSpline, PchipInterpolator

from sorosim.base.errors import ExpressionError, FileError, InputError
from sorosim.base.signals import (
    CallableSignal,
    ConstantSignal,
    ExpressionSignal,
    TableSignal,
    as_signal,
    compile_signals,
)
from sorosim.base.signals.edges import edges, rough_time
from sorosim.base.signals.evaluation import evaluate_signals, evaluate_signals_many, signal_workspace
from sorosim.base.signals.expressions import parse

TIMES = np.array([0.0, 0.4, 1.0, 1.1, 2.5, 4.0])
VALUES = np.array([0.0, 1.0, -2.0, 3.0, 3.0, 0.5])
WAYS = "u: expected a number, an expression of t, (times, values), a table, a CSV file or a function, got "


def jets(signal, times):
    """Value and derivatives of one signal, (n_times, 3)."""
    arrays, _ = compile_signals([as_signal(signal)])
    out = np.full((len(times), 1, 3), np.nan)
    evaluate_signals_many(arrays, np.asarray(times, dtype=float), out, signal_workspace(arrays))
    return out[:, 0]


# ---- one signal


@pytest.mark.parametrize("number", [3, 2.5, np.float32(0.25), np.int64(-7), np.array(1.5), Fraction(1, 4)])
def test_number_is_a_constant(number):
    signal = as_signal(number)
    assert signal == ConstantSignal(float(number))
    assert signal.value(3.0) == float(number)
    assert_array_equal(jets(signal, [0.0, 9.0]), [[float(number), 0, 0]] * 2)


def test_text_is_an_expression_of_time():
    signal = as_signal("5*(1-cos(pi*t))")
    assert signal == ExpressionSignal(parse("5*(1-cos(pi*t))", ["t"]))
    t = np.linspace(0, 3, 7)
    w = math.pi
    assert_allclose(signal.sample(t), 5 * (1 - np.cos(w * t)), atol=1e-14)
    exact = np.column_stack([5 * (1 - np.cos(w * t)), 5 * w * np.sin(w * t), 5 * w**2 * np.cos(w * t)])
    assert_allclose(jets(signal, t), exact, atol=1e-12)


def test_expressions_may_have_units_and_be_parsed_before():
    assert as_signal("3 mm * t", unit_factor={"mm": 1e-3}.get).value(2.0) == pytest.approx(6e-3)
    assert as_signal(parse("2*t", ["t"])).value(2.0) == 4.0
    assert as_signal(parse("2", [])).value(2.0) == 2.0


@pytest.mark.parametrize("interpolation", ["linear", "cubic", "pchip"])
def test_table_and_its_derivatives_match_scipy(interpolation):
    signal = TableSignal(TIMES, VALUES, interpolation)
    inside = np.linspace(0.0, 4.0, 101)
    got = jets(signal, inside)
    if interpolation == "linear":
        assert_allclose(got[:, 0], np.interp(inside, TIMES, VALUES), atol=1e-14)
        piece = np.minimum(np.searchsorted(TIMES, inside, side="right") - 1, 4)
        assert_allclose(got[:, 1], (np.diff(VALUES) / np.diff(TIMES))[piece])
        assert_array_equal(got[:, 2], 0.0)
    else:
        reference = (CubicSpline if interpolation == "cubic" else PchipInterpolator)(TIMES, VALUES)
        for k in range(3):
            assert_allclose(got[:, k], reference(inside, k), atol=1e-11)
    assert_allclose(signal.sample(TIMES), VALUES, atol=1e-14)


@pytest.mark.parametrize("interpolation", ["linear", "cubic", "pchip"])
def test_table_holds_its_ends(interpolation):
    got = jets(TableSignal(TIMES, VALUES, interpolation), [-1e9, -1e-12, 4.0 + 1e-12, 1e9])
    assert_allclose(got[:, 0], [0.0, 0.0, 0.5, 0.5], atol=1e-14)
    assert_array_equal(got[:, 1:], 0.0)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("interpolation", ["linear", "cubic", "pchip"])
def test_shortest_tables(interpolation, n):
    signal = TableSignal(TIMES[:n], VALUES[:n], interpolation)
    assert_allclose(signal.sample(TIMES[:n]), VALUES[:n], atol=1e-14)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=40), st.floats(-0.5, 1.5))
def test_the_right_piece_of_a_table_is_found(steps, place):
    times = np.concatenate([[0.0], np.cumsum(steps)])
    t = place * times[-1]
    assert TableSignal(times, times**2).value(t) == pytest.approx(np.interp(t, times, times**2), abs=1e-12)


def test_tables_are_read_only_values():
    times = TIMES.copy()
    one, same, other = TableSignal(times, VALUES), TableSignal(TIMES, VALUES), TableSignal(TIMES, VALUES, "cubic")
    times[0] = -1.0
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != 3
    with pytest.raises(ValueError, match="read-only"):
        one.times[0] = 5.0
    for twin in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert twin == one
        assert twin.value(0.7) == one.value(0.7)


def test_function_is_called_with_a_float():
    seen = []
    signal = as_signal(lambda t: seen.append(t) or 2 * t)
    assert signal.value(np.float64(1.5)) == 3.0
    assert type(seen[0]) is float
    assert_array_equal(signal.sample([[0.0, 1.0]]), [[0.0, 2.0]])


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        (math.nan, "nan"),
        (np.inf, "inf"),
        (None, "nothing"),
        ("1", "'1'"),
        (1j, "1j"),
        (True, "True"),
        (np.ones(1), "array([1.])"),
    ],
)
def test_what_a_function_returns_is_checked(result, shown):
    signal = as_signal(lambda t: result, where="u.cable1")
    for ask in (lambda: signal.value(0.5), lambda: signal.sample([0.5])):
        with pytest.raises(InputError) as caught:
            ask()
        expected = "u.cable1: expected a finite number from the function, got "
        assert str(caught.value) == f"{expected}{shown} at t = 0.5 s; return one float"


def test_what_a_function_raises_comes_through():
    def broken(t):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        as_signal(broken).value(0.0)


@pytest.mark.parametrize("signal", [1.0, "t", (TIMES, VALUES), np.sin], ids=str)
def test_samples_have_the_shape_of_the_times(signal):
    signal = as_signal(signal)
    assert as_signal(signal) is signal
    for shape in ((), (0,), (3,), (2, 4)):
        assert signal.sample(np.ones(shape)).shape == shape
    with pytest.raises(InputError, match="times: expected finite numbers, got nan"):
        signal.sample([0.0, np.nan])


# ---- ways to write a table


def test_tables_as_pair_and_as_mapping():
    expected = TableSignal([0, 1, 2], [0, 5, 0])
    assert as_signal(([0, 1, 2], [0, 5, 0])) == expected
    assert as_signal([[0, 1, 2], np.array([0, 5, 0])]) == expected
    assert as_signal({"times": [0, 1, 2], "values": [0, 5, 0]}) == expected
    cubic = as_signal({"times": [0, 1, 2], "values": [0, 5, 0], "interpolation": "cubic"})
    assert cubic == TableSignal([0, 1, 2], [0, 5, 0], "cubic")


@pytest.mark.parametrize(
    ("content", "column", "values"),
    [
        ("0,1\n1,2\n", None, [1, 2]),
        ("0,1,5\n1,2,6\n", 2, [5, 6]),
        ("time,left,right\n0,1,5\n1,2,6\n", "right", [5, 6]),
        ("time,left,right\n0,1,5\n1,2,6\n", 1, [1, 2]),
        ('\ufeff# measured\n\n"time", "tension"\n0, 1\n\n# more\n1, 2', "tension", [1, 2]),
        ("t;u\r\n0;1.5\r\n1;-2e3\r\n", "u", [1.5, -2000]),
        ("t\tu\n0\t1\n1\t2\n", None, [1, 2]),
    ],
)
def test_csv_files(tmp_path, content, column, values):
    path = tmp_path / "data.csv"
    path.write_text(content, encoding="utf-8", newline="")
    given_as = {"csv": str(path), "interpolation": "pchip"} | ({} if column is None else {"column": column})
    assert as_signal(given_as) == TableSignal([0, 1], values, "pchip")
    assert as_signal(given_as | {"csv": path}) == TableSignal([0, 1], values, "pchip")


@pytest.mark.parametrize(
    ("content", "column", "message"),
    [
        ("", None, ": expected rows of numbers, got none"),
        ("t,u\n0,1\n", None, ": expected at least two rows of numbers, got 1"),
        ("t,u\n0,1\n1,x\n", None, ":3:0: expected a finite number, got a text in column 1"),
        ("t,u\nx,1\n1,2\n", None, ":2:0: expected times in the first column, got a text"),
        ("0,1\n1,nan\n", None, ":2:0: expected a finite number, got 'nan' in column 1"),
        (
            "t;u\n0;1,5\n",
            None,
            ":2:0: expected a finite number, got '1,5' in column 1; the decimal sign is a point",
        ),
        ("t,u\n0,1\n0,2\n", None, ":3:0: expected strictly increasing times, got 0.0 then 0.0"),
        ("t,u\n0,1\n1\n", None, ":3:0: expected at least 2 columns, got 1"),
        (
            "t,a,b\n0,1,2\n",
            None,
            ":1:0: expected one of the columns t, a, b, got no column; use 1 to 2, 0 is time",
        ),
        (
            "t,left,right\n0,1,2\n",
            "lefft",
            ":1:0: expected one of the columns t, left, right, got column 'lefft'; did you mean left?",
        ),
        ("0,1\n1,2\n", "u", ":1:0: expected one of 2 columns without names, got column 'u'; use 1 to 1, 0 is time"),
        ("0,1\n1,2\n", 2, ":1:0: expected one of 2 columns without names, got column 2; use 1 to 1, 0 is time"),
        ("0,1\n1,2\n", 0, ":1:0: expected one of 2 columns without names, got column 0; use 1 to 1, 0 is time"),
        (
            "t,u,u\n0,1,2\n",
            "u",
            ":1:0: expected one of the columns t, u, u, got column 'u'; "
            "its name is not unique, give its number (0 is time)",
        ),
    ],
)
def test_wrong_csv_files_are_reported_with_their_line(tmp_path, content, column, message):
    path = tmp_path / "data.csv"
    path.write_text(content)
    with pytest.raises(FileError) as caught:
        as_signal({"csv": path, "column": column})
    assert str(caught.value) == f"{path}{message}"


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b'0,"1', b"\x00", b"0," + b"9" * 200_000])
def test_unreadable_csv_files_are_refused(tmp_path, content):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"data\.csv"):
        as_signal({"csv": path})


@pytest.mark.parametrize("path", ["nowhere.csv", ".", None, 3, "\x00"])
def test_missing_csv_files_are_refused(path):
    with pytest.raises(FileError, match="cannot be read"):
        as_signal({"csv": path})


# ---- refused


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (math.nan, "u: expected a finite number, got nan"),
        (10**400, "u: expected a finite number, got inf"),
        (([0, 1], [1, 2, 3]), "u.values: expected as many values as times, 2, got shape (3,)"),
        (([0], [1]), "u.times: expected a list of at least two times, got shape (1,)"),
        (([0, 2, 1], [1, 2, 3]), "u.times: expected strictly increasing times, got 2.0 then 1.0 at index 2"),
        (([0, 1, 1], [1, 2, 3]), "u.times: expected strictly increasing times, got 1.0 then 1.0 at index 2"),
        (([0, math.inf], [1, 2]), "u.times: expected finite numbers, got inf"),
        (([0, 1], [0, 1e300]), "u.values: expected finite numbers up to 1e+50, got 1e+300"),
        (1e300, "u: expected a finite number, and none beyond 1e+50, got 1e+300; look for a wrong unit"),
        (([0, 1], [1, "a"]), "u.values: expected real numbers, got [1, 'a']"),
        (([0, 1], [[1], [2, 3]]), "u.values: expected real numbers, got [[1], [2, 3]]"),
        (
            ([0, 1e-300], [0, 1e30]),
            "u.values: expected values and steps of time of moderate size, got an overflow of the slopes",
        ),
        (
            {"times": [0, 1], "values": [0, 1], "interpolation": "qubic"},
            "u.interpolation: expected linear, cubic or pchip, got 'qubic'; did you mean cubic?",
        ),
        (
            {"times": [0, 1], "value": [0, 1]},
            "u: expected only the keys times, values, interpolation, rounding, got 'value'; did you mean values?",
        ),
        ({"times": [0, 1]}, "u: expected the key 'values', got a table without it; or give a csv file and its column"),
        (
            {"csv": "a.csv", "times": [0, 1]},
            "u: expected only the keys csv, column, interpolation, rounding, got 'times'; "
            "known: csv, column, interpolation, rounding",
        ),
        (
            parse("X*t", ["X", "t"]),
            'u.expression: expected an expression of t only, got one of X, t; write parse(text, ["t"])',
        ),
        (
            True,
            WAYS + "bool True",
        ),
        (
            [0.0, 1.0],
            WAYS + "list [0.0, 1.0]",
        ),
        (
            None,
            WAYS + "nothing",
        ),
    ],
    ids=str,
)
def test_message(thing, message):
    with pytest.raises(InputError) as caught:
        as_signal(thing)
    assert str(caught.value) == message


def test_mistakes_in_a_text_are_reported_with_their_column():
    with pytest.raises(ExpressionError) as caught:
        as_signal("2*x", where="u.cable1")
    assert str(caught.value) == "u.cable1: expected a variable, got 'x' at column 3 of '2*x'; known: t, pi, e"


@pytest.mark.parametrize("level", [None, "3", math.inf, True])
def test_constants_are_finite_numbers(level):
    with pytest.raises(InputError, match="level: expected a finite number"):
        ConstantSignal(level)


# ---- many signals


def test_many_signals_are_evaluated_in_one_call():
    things = [
        2.0,
        "t**2",
        ([0, 1], [3, 5]),
        lambda t: 100 * t,
        "sin(t)*cos(t/(1+t))",
        {"times": TIMES, "values": VALUES},
    ]
    signals = [as_signal(thing, where=f"u.{i}") for i, thing in enumerate(things)]
    arrays, callables = compile_signals(signals)
    assert [index for index, _ in callables] == [3]

    out = np.full((6, 3), -1.0)
    workspace = signal_workspace(arrays)
    for t in (0.3, 0.9):
        out[3, 0] = callables[0][1](t)
        evaluate_signals(arrays, t, out, workspace)
        assert_allclose(out[:, 0], [signal.value(t) for signal in signals], rtol=1e-14)
        assert_allclose(out[1], [t**2, 2 * t, 2], rtol=1e-14)
        assert_allclose(out[2], [3 + 2 * t, 2, 0], rtol=1e-14)
    assert_array_equal(out[3, 1:], -1.0)


def test_checks_of_functions_survive_compilation():
    _, callables = compile_signals([CallableSignal(lambda t: math.nan, "u.fan")])
    with pytest.raises(InputError, match=r"u\.fan: .* got nan at t = 2\.0 s"):
        callables[0][1](2.0)


def test_no_signals_are_a_set_too():
    arrays, callables = compile_signals([])
    out = np.empty((0, 3))
    evaluate_signals(arrays, 0.0, out, signal_workspace(arrays))
    assert callables == ()


# -- rounded corners


ROUNDED = TableSignal([0.5, 1.5, 2.0, 4.0], [1.0, 3.0, 3.0, -1.0], rounding=0.2)


def test_a_rounded_table_is_the_straight_one_but_for_its_corners():
    plain = TableSignal(ROUNDED.times, ROUNDED.values)
    away = np.array([0.0, 0.5, 0.7, 1.0, 1.4, 1.6, 1.9, 2.1, 3.0, 3.8, 4.0, 9.0])
    assert_allclose(ROUNDED.sample(away), plain.sample(away), atol=1e-14)
    line = jets(ROUNDED, away[(away > 0.7) & (away < 3.8)])
    assert_allclose(line[:, 2], 0.0, atol=1e-12)


def test_a_rounded_table_is_twice_differentiable():
    t = np.linspace(0.3, 4.2, 3901)
    f = jets(ROUNDED, t)
    h = t[1] - t[0]
    for k in (0, 1):
        slope = (f[2:, k] - f[:-2, k]) / (2.0 * h)
        size = np.abs(f[:, k + 1]).max()
        assert np.abs(slope - f[1:-1, k + 1]).max() < 0.03 * size  # h over a sixth of the corner
    assert np.abs(np.diff(f[:, 2])).max() < 0.05 * np.abs(f[:, 2]).max()
    assert_allclose(f[[0, -1], 1:], 0.0)


def test_integrators_restart_at_plateaus_of_a_rounded_table_only():
    assert_allclose(edges([TableSignal([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 3.0, 0.0], rounding=0.2)], 5.0, 0.01), [3.0])
    # it comes to rest at 1.6, moves on from 1.9
    assert_allclose(edges([ROUNDED], 5.0, 0.01), [0.5, 1.6, 1.9, 4.0], atol=1e-12)


def test_rounded_tables_drive_and_come_back():
    assert rough_time(ROUNDED, np.linspace(0.0, 5.0, 11)) is None
    assert as_signal(ROUNDED.spec) == ROUNDED
    assert as_signal({**ROUNDED.spec, "rounding": 0.1}) != ROUNDED


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"rounding": 0.3}, "rounding: expected at most half of the shortest step, 0.25 s, got 0.3 s"),
        ({"rounding": -0.1}, "rounding: expected a time that is not negative, got -0.1"),
        (
            {"rounding": 0.1, "interpolation": "cubic"},
            "rounding: expected straight lines, whose corners are rounded, got cubic ones",
        ),
    ],
)
def test_a_rounding_that_is_none_is_refused(more, message):
    with pytest.raises(InputError) as error:
        TableSignal(ROUNDED.times, ROUNDED.values, **more)
    assert str(error.value) == message
