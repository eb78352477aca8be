"""The reader of what is prescribed: inputs `u`, and motions `driven` of coordinates, in all their forms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sorosim.base.arrays import Array
from sorosim.base.declare import SignalOf
from sorosim.base.errors import InputError, SorosimError
from sorosim.base.signals import CallableSignal, ConstantSignal, ExpressionSignal, Signal, TableSignal, as_signal
from sorosim.base.signals.expressions import Expression
from sorosim.base.units.quantity import amount
from sorosim.base.units.table import OF_COORDINATE
from sorosim.base.validation import Number, Values, describe, vector
from sorosim.mechanics.engine.bounds import check_lengths
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.engine.inputs import (
    MOVING_INSERTION,
    Motion,
    Partition,
    ZeroOrderHold,
    check_length_inputs,
    dimension_of,
    insertions,
)
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.layout import Layout

# numbers in SI units or texts with units, by the names of actuators if they are a mapping
Inputs = ArrayLike | Mapping[str, ArrayLike | Number]
# blocks of a file that say what is prescribed where nothing is given: of equilibria, and of motions
AT_REST, IN_MOTION = "statics", "simulate"
# which forms have a meaning: where there is no time; for coordinates, whose rates must be known; in order
A_NUMBER = "a number, or a text with a unit: at rest, and in a single step, nothing depends on time"
KNOWN_RATES = "expressions or tables, whose derivatives are known"
SINGLE = "a callable takes the name of its actuator: u={'name': f}"
FORMS = {ExpressionSignal: "an expression of t", TableSignal: "a table", CallableSignal: "a function"}


class Operated(Protocol):
    """What is read of a robot."""

    engine: Engine
    description: Description

    @property
    def input_dimensions(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, eq=False)
class Prescribed:
    """Inputs of a robot and motions of its driven coordinates, with those of concentric tubes that nobody drives.

    Attributes
    ----------
    inputs : Motion or ZeroOrderHold
        The latter at rest, and where a controller or steps set inputs.
    driven : dict of str to Signal
        By the names that were given; then what stays.
    settable : tuple of str
        Names of `driven` but for insertions that nobody named: in motion these cannot be moved.
    """

    robot: Operated
    inputs: Motion | ZeroOrderHold
    driven: Mapping[str, Signal]
    settable: tuple[str, ...]

    @classmethod
    def of(
        cls, robot: Operated, u: Any, driven: Any, at: str = IN_MOTION, *, begin: Array | None = None,
        controlled: bool = False,
    ) -> Prescribed:  # fmt: skip
        """Read arguments `u` and `driven`; None: those of the file's block `at`, which is AT_REST or IN_MOTION.

        Parameters
        ----------
        robot : Robot
        u : mapping by names of actuators, sequence in their order, or the only one
            At rest numbers or texts with units. In motion also expressions of t, tables, CSV files and functions of t.
            Missing ones are zero.
        driven : mapping by names of coordinates, or of links whose joint has one
            The same but for functions, whose rates are not known.
        begin : (ndof,) ndarray, optional
            Where the coordinates of concentric tubes are that nobody drives; they stay. Default: at zero.
        controlled : bool
            Whether inputs that `u` does not name are set by a controller, or by steps; None: all of them.

        Raises
        ------
        InputError
        """
        block, layout, moves = getattr(robot.description, at), robot.engine.layout, at == IN_MOTION
        motions, stay = dict[str, Signal](), insertions(layout) if moves else ()
        for name, value in by_name("driven", block.get("driven") if driven is None else driven).items():
            where, column = f"driven.{name}", layout.coordinate(name, "driven")
            read = signal_of if moves else _constant
            motions[name] = one = read(where, value, layout.dimensions[column])
            if column in stay and not isinstance(one, ConstantSignal):
                raise InputError(where, *MOVING_INSERTION)
            if isinstance(one, CallableSignal):
                raise InputError(where, KNOWN_RATES, "a callable")
        rest = staying(layout, motions, begin)
        settable = (*motions, *(name for name in rest if layout.coordinate(name, "driven") not in stay))
        motions |= {name: ConstantSignal(value) for name, value in rest.items()}
        u = block.get("u") if u is None and not controlled else u
        inputs: Motion | ZeroOrderHold
        if not moves:
            inputs = ZeroOrderHold(robot.engine.n_actuators)
            inputs.hold(0.0, inputs_of(robot, u))
        elif controlled:
            inputs = _controlled(robot, u)
        else:
            inputs = Motion(list(input_signals(robot, u).values()))
        out = cls(robot, inputs, motions, settable)
        if not moves:
            check_lengths(layout, robot.description.loads, out.values)
        return out

    @property
    def u(self) -> Array:
        """Inputs (n_actuators,) at rest, of a motion at t = 0."""
        return self.inputs.value(0.0)

    @property
    def values(self) -> dict[str, float]:
        """Driven coordinates by name at rest, of a motion at t = 0 [rad or m]."""
        return {name: signal.value(0.0) for name, signal in self.driven.items()}

    @cached_property
    def motion(self) -> Motion:
        """Signals of the driven coordinates."""
        return Motion(list(self.driven.values()))

    @cached_property
    def partition(self) -> Partition:
        """Which coordinates are driven."""
        return Partition.of(self.robot.engine.layout, self.driven, self.robot.description.actuators)

    def check_lengths(self) -> None:
        """Refuse insertions at which tubes pass each other (InputError)."""
        layout, stay = self.robot.engine.layout, insertions(self.robot.engine.layout)
        if len(stay):
            own = {name: x for name, x in self.values.items() if layout.coordinate(name, "driven") in stay}
            check_lengths(layout, self.robot.description.loads, own)


def staying(
    layout: Layout, driven: Iterable[str], begin: Array | None = None, *, turned: bool = True
) -> dict[str, float]:
    """Coordinates of concentric tubes that nobody drives, by name: they stay where they are, `begin` (ndof,) or zero.

    driven : names of coordinates, or of links, that are driven; turned : rotations too, which may be free in a moment.
    """
    known = {layout.coordinate(name, "driven") for name in driven}
    held = ((name, layout.coordinate_names.index(name)) for name in layout.held)
    return {name: 0.0 if begin is None else float(begin[i]) for name, i in held
            if i not in known and (turned or layout.dimensions[i] == "length")}  # fmt: skip


def merged(layout: Layout, file: Mapping[str, object], given: Mapping[str, object]) -> dict[str, Any]:
    """Driven coordinates of a file that are not given, under either of their names, and those that are."""
    known = {layout.coordinate(name, "driven") for name in given}
    return {name: x for name, x in file.items() if layout.coordinate(name, "driven") not in known} | dict(given)


# -- entries: one form after the other ---------------------------------------------------------------------------------


def signal_of(where: str, value: Any, dimension: str) -> Signal:
    """The signal that an entry stands for: texts may have units of the dimension, other numbers are in SI units."""
    if _is_pair(value) and all(isinstance(part, list) for part in value):
        value = dict(zip(("times", "values"), value, strict=True))
    if isinstance(value, str | Mapping):
        value = SignalOf(dimension).argument(where, value)
    return as_signal(value, where)


def number_or_signal(where: str, value: object, dimension: str, *, timed: bool = True) -> float | Signal:
    """The number [SI] that an entry stands for, or the signal where it depends on time (else InputError).

    timed : whether a signal has a meaning there, and errors are those of one.
    """
    try:
        return amount(where, value, dimension)
    except InputError as error:
        try:
            one = signal_of(where, value, dimension)
        except SorosimError as other:
            raise (other if timed and isinstance(value, str | Mapping) else error) from None
    is_constant = isinstance(one, ExpressionSignal) and not one.expression.used
    return one.value(0.0) if is_constant or isinstance(one, ConstantSignal) else one


def number_of(where: str, value: object, dimension: str, t: float | None = None) -> float:
    """The number [SI] that an entry stands for, of a signal that at time t; None: there is no time (InputError)."""
    one = number_or_signal(where, value, dimension, timed=t is not None)
    if not isinstance(one, Signal):
        return one
    if t is None:
        form = FORMS[type(one)]
        raise InputError(where, A_NUMBER, f"{describe(value)}, {form}" if isinstance(value, str) else form)
    return one.value(t)


def _constant(where: str, value: object, dimension: str) -> Signal:
    return ConstantSignal(number_of(where, value, dimension))


def _is_pair(value: Any) -> bool:
    """Whether an entry is a table (times, values)."""
    is_pair = isinstance(value, list | tuple) and len(value) == 2
    return is_pair and all(hasattr(part, "__len__") and not isinstance(part, str) for part in value)


# -- containers: by names, in order, or the only one -------------------------------------------------------------------


def by_name(where: str, given: object) -> Mapping[str, Any]:
    """Refuse anything but a mapping of names, or None."""
    if given is not None and not isinstance(given, Mapping):
        raise InputError(where, "a mapping of names to values", type(given).__name__)
    return given or {}


def in_order(value: Any, n: int) -> list[Any] | None:
    """Entries of a sequence of n some of which are no numbers, or the only one; None of anything else."""
    if n == 1 and (isinstance(value, str | Real | Signal | Expression) or callable(value)):
        return [value]
    entries = value.tolist() if isinstance(value, np.ndarray) else value
    is_list = isinstance(entries, list | tuple) and len(entries) == n
    is_told = is_list and any(isinstance(one, str | Signal | Expression) or callable(one) for one in entries)
    return list(entries) if is_told else None


def by_coordinate(engine: Engine, given: object, where: str = "driven", order: int = 0) -> dict[str, float]:
    """Numbers by the names of coordinates, or of links whose joint has one; rates (order 1), accelerations (2)."""
    layout, out = engine.layout, {}
    for name, value in by_name(where, given).items():
        dimension = layout.dimensions[layout.coordinate(name, where)]
        out[name] = number_of(f"{where}.{name}", value, OF_COORDINATE[dimension][order])
    return out


def inputs_of(
    robot: Operated, u: Values | None, where: str = "u", t: float | None = None, *, is_change: bool = False
) -> Array:
    """Inputs (n_actuators,), of signals at time t; None: there is no time. Missing ones are zero.

    is_change : of inputs, which has no bounds.
    """
    engine, dimensions = robot.engine, robot.input_dimensions
    if u is None:
        return np.zeros(engine.n_actuators)
    is_array = type(u) is np.ndarray and u.dtype == np.float64  # most are
    if not is_array and (entries := in_order(u, engine.n_actuators)) is not None:
        u = dict(zip(dimensions, entries, strict=True))
    if type(u) is not np.ndarray and isinstance(u, Mapping):
        names, values = engine.actuator_names, np.zeros(engine.n_actuators)
        for name, value in u.items():
            dimension = dimension_of(dimensions, name, where)
            values[names.index(name)] = number_of(f"{where}.{name}", value, dimension, t)
    else:
        values = vector(where, u, engine.n_actuators)
    if engine.has_length_inputs and not is_change:
        check_length_inputs(engine.rod_actuators, engine.actuator_names, values, where)
    return values


def input_signals(robot: Operated, u: Any, where: str = "u") -> dict[str, Signal]:
    """Inputs as signals by name; missing ones are zero."""
    dimensions, u = robot.input_dimensions, {} if u is None else u
    if not isinstance(u, Mapping):
        try:
            if isinstance(u, bytes | set | frozenset):
                raise TypeError
            is_one = isinstance(u, str | Real | Signal | Expression) or (callable(u) and len(dimensions) == 1)
            entries = [u] if is_one else list(u)
        except TypeError:
            raise InputError(where, "a mapping or a sequence", type(u).__name__, SINGLE) from None
        if len(entries) != len(dimensions):
            raise InputError(where, f"{len(dimensions)} inputs", f"{len(entries)}")
        u = dict(zip(dimensions, entries, strict=True))
    for name in u:
        dimension_of(dimensions, name, where)
    return {name: signal_of(f"{where}.{name}", u.get(name, 0.0), kind) for name, kind in dimensions.items()}


def _controlled(robot: Operated, u: object) -> ZeroOrderHold:
    """Inputs that a controller sets, but for those that `u` names."""
    named, names = by_name("u", u), robot.engine.actuator_names
    signals = input_signals(robot, named)
    following = {i: signals[name] for i, name in enumerate(names) if name in named}
    if names and len(following) == len(names):
        raise InputError("u", "some inputs, so that others are left to the controller", "all of them")
    return ZeroOrderHold(len(names), following)


def input_rows(
    robot: Operated, u: Any, axes: Mapping[str, int | None], members: Sequence[Operated] = (), where: str = "u",
    clock: Callable[[int], Array] | None = None,
) -> Array:  # fmt: skip
    """Inputs (*axes, n_actuators) that are held over intervals, as an array of its own.

    Axes in front may be left out: then they are the same for all. Of a mapping each entry has these axes, or is the
    same along them; what is not named is zero. A signal of t is taken where each interval begins, and held.

    axes : lengths by the letters of messages; None: any. members : robots along the first axis, whose tendons may have
    lengths of their own. clock : the times (..., n) at which n intervals begin; None: there is no time.
    """
    names, lengths = robot.engine.actuator_names, list(axes.values())
    is_array = type(u) is np.ndarray and u.dtype == np.float64 and u.ndim == len(lengths) + 1  # most are
    is_array = is_array and all(n in (None, m) for n, m in zip((*lengths, len(names)), u.shape, strict=True))
    out = np.array(u, order="C") if is_array else _read_rows(robot, u, axes, where, clock)
    if not np.isfinite(out).all():
        *index, i = np.argwhere(~np.isfinite(out))[0].tolist()
        raise InputError(f"{where}[{', '.join(map(str, index))}].{names[i]}", "a finite number", f"{out[*index, i]}")
    if robot.engine.has_length_inputs:
        for member, rows in zip(members or [robot], out if members else [out], strict=True):
            check_length_inputs(member.engine.rod_actuators, names, rows, where)
    return out


def _read_rows(
    robot: Operated, u: object, axes: Mapping[str, int | None], where: str, clock: Callable[[int], Array] | None
) -> Array:
    """As `input_rows`, before any check of the numbers."""
    names, lengths, columns, signals = robot.engine.actuator_names, list(axes.values()), {}, dict[str, Signal]()
    try:
        entries, shape = _rows_by_name(u, names, lengths)
        for name, value in entries.items():
            at, dimension = f"{where}.{name}", dimension_of(robot.input_dimensions, name, where)
            is_one = isinstance(value, str | Signal | Expression | Mapping) or callable(value)
            if not (is_one or (len(axes) == 1 and _is_pair(value))):  # of two axes a pair of lists is rows
                columns[name] = _numbers(at, value, dimension)
                continue
            one = number_of(at, value, dimension) if clock is None else number_or_signal(at, value, dimension)
            if isinstance(one, Signal):
                signals[name] = one
            else:
                columns[name] = np.array(one)
        if signals and None in lengths and not any(x.ndim for x in columns.values()):
            expected = "rows for one input at least, which say how many intervals there are"
            raise InputError(where, expected, f"signals of t only: {', '.join(signals)}")
        common = np.broadcast_shapes((1,), shape, *(x.shape for x in columns.values()))
        known = [common[-1] if n is None else n for n in lengths]
        columns |= {name: signal.sample(clock(known[-1])) for name, signal in signals.items() if clock}
        out = np.zeros((*known, len(names)))
        for name, column in columns.items():
            if column.ndim > len(known):
                raise ValueError
            out[..., names.index(name)] = column
    except SorosimError:
        raise
    except (TypeError, ValueError, IndexError):
        expected = f"({', '.join(letter if n is None else str(n) for letter, n in axes.items())}, {len(names)})"
        got = f"one of shape {size}" if (size := shape_of(u)) else describe(u)
        raise InputError(where, f"an array {expected} of inputs", got) from None
    return out


def _rows_by_name(
    u: object, names: Sequence[str], lengths: Sequence[int | None]
) -> tuple[Mapping[str, Any], tuple[int, ...]]:
    """Entries of inputs by name; of an array, whose last axis counts actuators, its columns, and its other axes.

    ValueError: an array of another shape.
    """
    if isinstance(u, Mapping):
        return u, ()
    shape: list[int] = []
    entries: Any = in_order(u, len(names))
    if entries is None or (None in lengths and all(isinstance(one, str | Real) for one in entries)):
        cells = _cells(u)
        *shape, width = cells.shape
        own = lengths[max(len(lengths) - len(shape), 0) :]
        fits = len(shape) == len(own) and all(n in (None, m) for n, m in zip(own, shape, strict=True))
        if width != len(names) or not fits or (None in lengths and not shape):
            raise ValueError
        entries = np.moveaxis(cells, -1, 0)
    return dict(zip(names, entries, strict=True)), tuple(shape)


def _cells(value: object) -> NDArray[Any]:
    given = np.asarray(value)
    return given if given.dtype.kind in "fiu" else np.array(value, dtype=object)


def _numbers(where: str, value: object, dimension: str) -> Array:
    """Numbers of one dimension, in an array of any shape."""
    cells = _cells(value)
    if cells.dtype.kind in "fiu":
        return cells.astype(float)
    return np.array([number_of(where, one, dimension) for one in cells.ravel().tolist()]).reshape(cells.shape)


def shape_of(value: Any) -> tuple[int, ...]:
    """Of what is an array; () of anything else."""
    try:
        return np.shape(value)
    except ValueError:
        return ()
