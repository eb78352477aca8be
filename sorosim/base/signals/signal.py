"""Signals: numbers that depend on time, given as a number, an expression of t, a table, a CSV file or a function.

``as_signal`` accepts all of these; ``compile_signals`` packs many of them into arrays for the kernels. Expressions and
tables have exact first and second time derivatives; a user's Python function gives values only.
"""

from __future__ import annotations

import csv
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import FileError, InputError, nearest
from sorosim.base.files_read import note_file
from sorosim.base.frozen import set_fields
from sorosim.base.signals.expressions import Expression, parse
from sorosim.base.signals.opcodes import CONSTANT_SIGNAL, EXTERNAL_SIGNAL, POLYNOMIAL_SIGNAL, TAPE_SIGNAL
from sorosim.base.signals.parser import UnitFactor
from sorosim.base.validation import LARGEST, as_real, describe, finite_numbers, number

if TYPE_CHECKING:  # numba, which reading options does without
    from sorosim.base.signals.evaluation import SignalArrays

INTERPOLATIONS = ("linear", "cubic", "pchip")
MAX_CSV_BYTES = 200_000_000
# other texts of a table are not told, which may be any file that a robot of others names
_LIKE_A_NUMBER = re.compile(r"\s*[-+]?(\d[-+.,_ \deE]{0,30}|nan|inf|infinity)\s*|", re.IGNORECASE)

_NO_CODE, _NO_DATA = np.empty((0, 2), dtype=np.int64), np.empty(0)


class Signal(ABC):
    """A number that depends on time."""

    def value(self, t: float) -> float:
        """Value at time t [s]."""
        return float(self.sample(t))

    def sample(self, times: ArrayLike) -> Array:
        """Values at times of any shape [s]; the same shape."""
        from sorosim.base.signals.evaluation import evaluate_signals_many, signal_workspace

        t = _finite_array(times, "times")
        arrays, _ = compile_signals([self])
        out = np.empty((t.size, 1, 3))
        with np.errstate(all="ignore"):
            evaluate_signals_many(arrays, t.ravel(), out, signal_workspace(arrays))
        return out[:, 0, 0].reshape(t.shape)

    @property
    @abstractmethod
    def spec(self) -> Any:
        """Plain data (number, text or mapping) of which `as_signal` makes the same signal; None: there is none."""

    @abstractmethod
    def packed(self) -> tuple[int, IntArray, Array, int]:
        """Kind, code, data and depth of stack, for the arrays of ``base/signals/evaluation.py``."""


@dataclass(frozen=True)
class ConstantSignal(Signal):
    """The same number at all times."""

    level: float

    def __post_init__(self) -> None:
        set_fields(self, level=number("level", self.level, "a finite number"))

    def value(self, t: float) -> float:
        """Value at time t [s]."""
        return self.level

    @property
    def spec(self) -> Any:
        return self.level

    def packed(self) -> tuple[int, IntArray, Array, int]:
        return CONSTANT_SIGNAL, _NO_CODE, np.array([self.level]), 0


@dataclass(frozen=True)
class ExpressionSignal(Signal):
    """An expression of time t."""

    expression: Expression

    def __post_init__(self) -> None:
        if self.expression.variables not in ((), ("t",)):
            got = ", ".join(self.expression.variables)
            raise InputError("expression", "an expression of t only", f"one of {got}", 'write parse(text, ["t"])')

    @property
    def spec(self) -> Any:
        return self.expression.text

    def packed(self) -> tuple[int, IntArray, Array, int]:
        return TAPE_SIGNAL, self.expression.code, self.expression.constants, self.expression.depth


@dataclass(frozen=True, eq=False)
class TableSignal(Signal):
    """Interpolated table; before the first and after the last time its value is constant.

    Parameters
    ----------
    times : (n,) array_like
        At least two, finite and strictly increasing. [s]
    values : (n,) array_like
        Finite.
    interpolation : {"linear", "cubic", "pchip"}, optional
        Straight lines, the twice differentiable spline (not-a-knot ends), or the monotone one without overshoot.
    rounding : float, optional
        Time over which the corners of straight lines are rounded, at most half of the shortest step [s]: then the
        signal is twice differentiable, and begins and ends at rest. Default: 0, not at all.
    """

    times: Array
    values: Array
    interpolation: str = "linear"
    rounding: float = 0.0
    breaks: Array = field(init=False, repr=False)  # (m,) ends of its pieces: the times, and those of rounded corners
    coefficients: Array = field(init=False, repr=False)  # (m - 1, 4), ascending powers

    def __post_init__(self) -> None:
        times, values = _finite_array(self.times, "times"), _finite_array(self.values, "values")
        if times.ndim != 1 or times.size < 2:
            raise InputError("times", "a list of at least two times", f"shape {times.shape}")
        if values.shape != times.shape:
            raise InputError("values", f"as many values as times, {times.size}", f"shape {values.shape}")
        if not np.all(np.diff(times) > 0):
            k = int(np.argmin(np.diff(times) > 0))
            raise InputError("times", "strictly increasing times", f"{times[k]} then {times[k + 1]} at index {k + 1}")
        if self.interpolation not in INTERPOLATIONS:
            hint = nearest(self.interpolation, INTERPOLATIONS)
            raise InputError("interpolation", "linear, cubic or pchip", repr(self.interpolation), hint)

        rounding = number("rounding", self.rounding, "a time that is not negative", least=0.0)
        if rounding and self.interpolation != "linear":
            raise InputError("rounding", "straight lines, whose corners are rounded", f"{self.interpolation} ones")
        if rounding > 0.5 * np.diff(times).min():
            expected = f"at most half of the shortest step, {0.5 * np.diff(times).min():g} s"
            raise InputError("rounding", expected, f"{rounding:g} s")
        breaks, coefficients = times, _piecewise_coefficients(times, values, self.interpolation)
        if rounding:
            breaks, coefficients = _rounded(times, values, rounding)
        for array in (times, values, breaks, coefficients):
            array.setflags(write=False)
        set_fields(self, times=times, values=values, rounding=rounding, breaks=breaks, coefficients=coefficients)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableSignal) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    @property
    def spec(self) -> Any:
        table = {"times": self.times.tolist(), "values": self.values.tolist(), "interpolation": self.interpolation}
        return table | ({"rounding": self.rounding} if self.rounding else {})

    def _key(self) -> tuple[bytes, bytes, str, float]:
        return self.times.tobytes(), self.values.tobytes(), self.interpolation, self.rounding

    def packed(self) -> tuple[int, IntArray, Array, int]:
        return POLYNOMIAL_SIGNAL, _NO_CODE, np.concatenate([self.breaks, self.coefficients.ravel()]), 0


@dataclass(frozen=True)
class CallableSignal(Signal):
    """A user's Python function of time; its value is checked at every call, and it has no derivatives."""

    function: Callable[[float], float]
    where: str = "signal"

    @classmethod
    def not_kept(cls, file: str, where: str) -> CallableSignal:
        """In the place of a table of which a result file has the path alone."""

        def read(t: float) -> float:
            raise FileError(file, "is not kept in result files; load the robot from its own file, or give u")

        return cls(read, where)

    def value(self, t: float) -> float:
        """Value at time t [s]."""
        got = self.function(float(t))
        value = as_real(got)
        if value is None or not math.isfinite(value):
            shown = f"{describe(got)} at t = {float(t)!r} s"
            raise InputError(self.where, "a finite number from the function", shown, "return one float")
        return value

    def sample(self, times: ArrayLike) -> Array:
        """Values at times of any shape [s]; the same shape."""
        t = _finite_array(times, "times")
        return np.array([self.value(moment) for moment in t.ravel()], dtype=np.float64).reshape(t.shape)

    @property
    def spec(self) -> Any:
        return None

    def packed(self) -> tuple[int, IntArray, Array, int]:
        return EXTERNAL_SIGNAL, _NO_CODE, _NO_DATA, 0


def as_signal(obj: object, where: str = "u", unit_factor: UnitFactor | None = None) -> Signal:
    """Convert a number, expression, table or function to a :class:`Signal`.

    Parameters
    ----------
    obj : number, str, Expression, pair, mapping, callable or Signal
        A text is an expression of t; a pair is (times, values); a mapping is ``{"times", "values"}`` or
        ``{"csv", "column"}``, each with an optional ``"interpolation"``. The first column of the CSV file is time; the
        column is a name of its header or a number (0 is time), and may be left out where the file has two columns.
    where : str, optional
        What the signal is for, for messages.
    unit_factor : callable, optional
        Units inside a text, see :func:`sorosim.base.signals.expressions.parse`.
    """
    try:
        if isinstance(obj, Signal):
            return obj
        if (level := as_real(obj)) is not None:
            return ConstantSignal(number("", level, "a finite number"))
        if isinstance(obj, str):
            return ExpressionSignal(parse(obj, ["t"], unit_factor, where))
        if isinstance(obj, Expression):
            return ExpressionSignal(obj)
        if isinstance(obj, Mapping):
            return _from_mapping(obj)
        if isinstance(obj, (tuple, list)) and len(obj) == 2 and not any(map(_is_scalar, obj)):
            return TableSignal(*obj)
    except InputError as error:
        raise error.inside(where) from None
    if callable(obj):
        return CallableSignal(obj, where)
    expected = "a number, an expression of t, (times, values), a table, a CSV file or a function"
    raise InputError(where, expected, describe(obj) if obj is None else f"{type(obj).__name__} {describe(obj)}")


def compile_signals(signals: Sequence[Signal]) -> tuple[SignalArrays, tuple[tuple[int, Callable[[float], float]], ...]]:
    """Pack signals into arrays.

    Returns
    -------
    arrays : SignalArrays
        For ``kernels.signals.evaluate_signals``; not to be written.
    callables : tuple of (index, function)
        Signals that Python has to evaluate before each call: ``out[index, 0] = function(t)``, already checked.
    """
    from sorosim.base.compiled import table
    from sorosim.base.signals.evaluation import SIGNAL, SignalArrays

    rows: list[tuple[int, ...]] = []
    codes, data = [_NO_CODE], [_NO_DATA]
    n_code = n_data = 0
    for signal in signals:
        kind, code, numbers, depth = signal.packed()
        rows.append((kind, n_code, n_code + len(code), n_data, n_data + len(numbers), depth))
        n_code, n_data = n_code + len(code), n_data + len(numbers)
        codes.append(code)
        data.append(numbers)
    callables = tuple((i, signal.value) for i, signal in enumerate(signals) if isinstance(signal, CallableSignal))
    return SignalArrays(table(SIGNAL, rows), np.concatenate(codes), np.concatenate(data)), callables


def _finite_array(values: object, where: str) -> Array:
    """A copy as float64; refuses everything but finite real numbers."""
    try:
        array = np.array(values)
    except ValueError:
        array = np.array(None)
    if array.dtype.kind not in "iuf" and array.size:
        raise InputError(where, "real numbers", describe(values))
    array = array.astype(np.float64)
    if not (fit := np.abs(array) <= LARGEST).all():
        raise InputError(where, finite_numbers(array[~fit][0]), f"{array[~fit][0]}")
    return array


def _piecewise_coefficients(times: Array, values: Array, kind: str) -> Array:
    """Ascending coefficients (n - 1, 4) of the pieces, in the time since their beginning."""
    from scipy.interpolate import CubicSpline, PchipInterpolator  # slow to import, rarely needed

    coefficients = np.zeros((times.size - 1, 4))
    with np.errstate(all="ignore"):
        if kind == "linear":
            coefficients[:, 0], coefficients[:, 1] = values[:-1], np.diff(values) / np.diff(times)
        else:
            pieces = (CubicSpline if kind == "cubic" else PchipInterpolator)(times, values)
            coefficients[:, : pieces.c.shape[0]] = pieces.c[::-1].T
    if not np.all(np.isfinite(coefficients)):
        raise InputError("values", "values and steps of time of moderate size", "an overflow of the slopes")
    return coefficients


def _rounded(times: Array, values: Array, width: float) -> tuple[Array, Array]:
    """Breaks and coefficients of straight lines with rounded corners, twice differentiable.

    At a corner the second derivative is a hat of that width. At an end, where the signal rests, it has two of opposite
    signs, by which the value comes to the line though the rate begins at 0.
    """
    slopes = np.diff(values) / np.diff(times)
    bends = [(times[0], values[0], 0.0, width / 3.0, 6.0 * slopes[0] / width * np.array([0.0, 1.0, -0.5, 0.0]))]
    for t, value, before, after in zip(times[1:-1], values[1:-1], slopes, slopes[1:], strict=False):
        hat = 2.0 * (after - before) / width * np.array([0.0, 1.0, 0.0])
        bends.append((t - 0.5 * width, value - 0.5 * width * before, before, 0.5 * width, hat))
    end = -6.0 * slopes[-1] / width * np.array([0.0, -0.5, 1.0, 0.0])
    bends.append((times[-1] - width, values[-1] - width * slopes[-1], slopes[-1], width / 3.0, end))
    breaks, rows = [], []
    for (t, value, slope, step, second), line in zip(bends, [*slopes, 0.0], strict=True):
        for begin, after in pairwise(second):
            breaks.append(t)
            rows.append([value, slope, 0.5 * begin, (after - begin) / (6.0 * step)])
            value += step * (slope + step * (begin / 3.0 + after / 6.0))
            slope, t = slope + 0.5 * step * (begin + after), t + step
        breaks.append(t)
        rows.append([value, line, 0.0, 0.0])
    breaks[-1] = times[-1]
    pieces = np.diff(breaks) > 0.0  # no line is left between two corners that meet
    return np.array(breaks)[np.append(pieces, True)], np.array(rows)[:-1][pieces]


def _from_mapping(given: Mapping[str, Any]) -> TableSignal:
    required = ("csv",) if "csv" in given else ("times", "values")
    known = (*required, *(("column",) if "csv" in given else ()), "interpolation", "rounding")
    for key in given:
        if key not in known:
            raise InputError("", f"only the keys {', '.join(known)}", repr(key), nearest(key, known))
    for key in required:
        if key not in given:
            raise InputError("", f"the key {key!r}", "a table without it", "or give a csv file and its column")
    shape = given.get("interpolation", "linear"), given.get("rounding", 0.0)
    if "csv" in given:
        return _from_csv(given["csv"], given.get("column"), *shape)
    return TableSignal(given["times"], given["values"], *shape)


def _from_csv(path: str | Path, column: str | int | None, interpolation: str, rounding: float) -> TableSignal:
    """Table from two columns of a file separated by commas, semicolons or tabs; # starts a comment line."""
    rows = csv_rows(path)
    if not rows:
        raise FileError(str(path), "expected rows of numbers, got none")
    header = [name.strip() for name in rows[0][1]] if _cell_number(rows[0][1][0]) is None else []
    if header and len(rows) > 1 and _cell_number(rows[1][1][0]) is None:  # names of another kind of file are not told
        raise FileError(str(path), "expected times in the first column, got a text", rows[1][0])
    index = _csv_column(str(path), rows[0], header, column)
    times: list[float] = []
    values: list[float] = []
    for line, cells in rows[1:] if header else rows:
        if index >= len(cells):
            raise FileError(str(path), f"expected at least {index + 1} columns, got {len(cells)}", line)
        for k, numbers in ((0, times), (index, values)):
            value = _cell_number(cells[k])
            if value is None or not math.isfinite(value):
                hint = "; the decimal sign is a point" if "," in cells[k] else ""
                got = repr(cells[k]) if _LIKE_A_NUMBER.fullmatch(cells[k]) else "a text"
                raise FileError(str(path), f"expected a finite number, got {got} in column {k}{hint}", line)
            numbers.append(value)
        if len(times) > 1 and times[-1] <= times[-2]:
            raise FileError(str(path), f"expected strictly increasing times, got {times[-2]} then {times[-1]}", line)
    if len(times) < 2:
        raise FileError(str(path), f"expected at least two rows of numbers, got {len(times)}")
    return TableSignal(np.array(times), np.array(values), interpolation, rounding)


def csv_rows(path: str | Path) -> list[tuple[int, list[str]]]:
    """Line number and cells of every row that is neither empty nor a comment."""
    try:
        note_file(path)
        if Path(path).stat().st_size > MAX_CSV_BYTES:
            raise FileError(str(path), f"expected at most {MAX_CSV_BYTES // 10**6} MB, got more")
        with open(path, encoding="utf-8-sig", newline="") as file:
            lines = file.read().splitlines()
    except (OSError, ValueError, TypeError) as error:
        raise FileError(str(path), f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    content = [(i, line) for i, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")]
    separator = next((sign for sign in ";\t," if content and sign in content[0][1]), ",")
    rows = []
    for i, line in content:
        try:
            rows.append((i, next(csv.reader([line], delimiter=separator, skipinitialspace=True))))
        except csv.Error as error:
            raise FileError(str(path), f"cannot be read: {error}", i) from None
    return rows


def _csv_column(path: str, first: tuple[int, list[str]], header: list[str], column: str | int | None) -> int:
    line, n = first[0], len(first[1])
    names = f"the columns {', '.join(header)}" if header else f"{n} columns without names"
    if column is None and n == 2:
        return 1
    if isinstance(column, str) and header.count(column) == 1 and header[0] != column:
        return header.index(column)
    if isinstance(column, int) and not isinstance(column, bool) and 1 <= column < n:
        return column
    hint = nearest(column, header[1:]) if isinstance(column, str) and header else f"use 1 to {n - 1}, 0 is time"
    if isinstance(column, str) and header.count(column) > 1:
        hint = "its name is not unique, give its number (0 is time)"
    got = "no column" if column is None else f"column {column!r}"
    raise FileError(path, f"expected one of {names}, got {got}; {hint}", line)


def _cell_number(cell: str) -> float | None:
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _is_scalar(thing: object) -> bool:
    return isinstance(thing, str) or not hasattr(thing, "__len__")
