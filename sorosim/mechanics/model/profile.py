"""Sizes that vary along a rod: constant, linear, by a formula, by a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sorosim.base.complex_step import number_type
from sorosim.base.declare import (
    INVALID,
    At,
    Choice,
    Declared,
    Numbers,
    Part,
    Quantity,
    Type,
    Writer,
    formula_or_quantity,
    key,
)
from sorosim.base.declare.base import Define, inexpressible
from sorosim.base.declare.types import Listed, checked_each, formula_data, is_list, number_schema
from sorosim.base.errors import ModelError, nearest
from sorosim.base.frozen import set_fields
from sorosim.base.problems import Path, shown
from sorosim.base.signals.expressions import Expression
from sorosim.base.validation import describe
from sorosim.mechanics.model.material import real_number

Array = NDArray[Any]  # float64; complex when somebody differentiates by complex step

PLACE_VARIABLES = ("X", "s", "L")  # arclength [m], X/L [-], length of the rod [m]


def place_jets(X: ArrayLike, L: float) -> dict[str, Array]:
    """Jets by arclength of the variables X, s = X/L and L: name -> (n, 3) value, first and second derivative."""
    X = np.atleast_1d(np.asarray(X))
    return {"X": stack(X, 1.0, 0.0), "s": stack(X / L, 1.0 / L, 0.0), "L": stack(0.0 * X + L, 0.0, 0.0)}


def evaluate(expression: Expression, X: ArrayLike, L: float) -> Array:
    """Jets (n, 3) by X of an expression of X, s and L."""
    places = place_jets(X, L)
    jets = expression.jets(**{name: places[name] for name in expression.variables if name in places})
    # an expression that was given no variables does not know n
    return np.broadcast_to(jets, places["X"].shape).copy()


def check_place_variables(where: str, expression: Expression) -> None:
    """Refuse an expression of anything but X, s and L."""
    for name in expression.used:
        if name not in PLACE_VARIABLES:
            raise ModelError(
                where,
                "an expression of X [m], s = X/L and L [m]",
                f"the variable '{name}'",
                nearest(name, PLACE_VARIABLES),
            )


def stack(*columns: ArrayLike) -> Array:
    """Broadcast arrays together and stack them along a new last axis."""
    arrays = [np.asarray(column) for column in columns]  # np.stack of np.broadcast_arrays takes ten times as long
    out = np.empty((*np.broadcast_shapes(*(array.shape for array in arrays)), len(arrays)), np.result_type(*arrays))
    for i, array in enumerate(arrays):
        out[..., i] = array
    return out


class Profile(ABC):
    """A size along a rod. ``Constant``, ``Linear``, ``Formula`` and ``Table`` are the kinds; see `as_profile`."""

    @abstractmethod
    def jets(self, X: ArrayLike, L: float) -> Array:
        """Value, first and second derivative by arclength.

        Parameters
        ----------
        X : (n,) array_like
            Arclengths [m], 0 <= X <= L.
        L : float
            Length of the rod [m].

        Returns
        -------
        (n, 3) ndarray
            [unit of the size; per m; per m^2]
        """

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Interior places s where the first or second derivative jumps."""
        return ()

    @property
    def needs_length(self) -> bool:
        """Whether the size at a given s depends on the length of the rod."""
        return False


@dataclass(frozen=True)
class Constant(Profile):
    """The same size everywhere."""

    value: float

    def __post_init__(self) -> None:
        set_fields(self, value=real_number("constant.value", self.value))

    def jets(self, X: ArrayLike, L: float) -> Array:
        return stack(0.0 * np.atleast_1d(np.asarray(X)) + self.value, 0.0, 0.0)


@dataclass(frozen=True)
class Linear(Profile):
    """A straight taper from the base (X = 0) to the tip (X = L)."""

    base: float
    tip: float

    def __post_init__(self) -> None:
        base = real_number("linear.base", self.base, "a number at the base")
        set_fields(self, base=base, tip=real_number("linear.tip", self.tip, "a number at the tip"))

    def jets(self, X: ArrayLike, L: float) -> Array:
        s, slope = np.atleast_1d(np.asarray(X)) / L, self.tip - self.base
        # base and tip come out exactly, so that a tip of size zero is zero
        return stack(self.base * (1.0 - s) + self.tip * s, slope / L, 0.0)


@dataclass(frozen=True)
class Formula(Profile):
    """An expression of X [m], s = X/L and L [m]."""

    expression: Expression

    def __post_init__(self) -> None:
        if not isinstance(self.expression, Expression):
            raise ModelError("formula", "an Expression", describe(self.expression))
        check_place_variables("", self.expression)

    def jets(self, X: ArrayLike, L: float) -> Array:
        return evaluate(self.expression, X, L)

    @property
    def needs_length(self) -> bool:
        return not {"X", "L"}.isdisjoint(self.expression.used)


@dataclass(frozen=True)
class Table(Profile):
    """Values at given places s, interpolated.

    Parameters
    ----------
    s : sequence of float
        Places X/L, increasing from 0 to 1.
    values : sequence of float
        The size at each of them.
    interpolation : {"linear", "pchip"}
        Straight pieces, or the shape-preserving piecewise cubic of Fritsch and Butland, which has a continuous slope.
        Both stay between neighbouring values. At a kink the jets are those of the piece to its right.
    """

    s: tuple[float, ...]
    values: tuple[float, ...]
    interpolation: str = "linear"
    _pieces: Array = field(init=False, repr=False, compare=False)  # (n - 1, 4) coefficients of (s - s_k)^0..3

    def __post_init__(self) -> None:
        s, values = (self._column(name) for name in ("s", "values"))
        if len(s) != len(values) or len(s) < 2:
            raise ModelError(
                "table", "as many values as places s, two or more", f"{len(s)} places, {len(values)} values"
            )
        if s[0] != 0.0 or s[-1] != 1.0 or np.any(np.diff(s) <= 0.0):
            raise ModelError("table.s", "places increasing from 0 to 1", describe(list(s)), "s is X/L")
        if self.interpolation not in ("linear", "pchip"):
            raise ModelError("table.interpolation", "linear or pchip", describe(self.interpolation))
        step, slope = np.diff(s), np.diff(values) / np.diff(s)
        pieces = np.zeros((len(s) - 1, 4), dtype=number_type())
        pieces[:, 0], pieces[:, 1] = values[:-1], slope
        if self.interpolation == "pchip":
            d = _pchip_slopes(step, slope)
            pieces[:, 1] = d[:-1]
            pieces[:, 2] = (3.0 * slope - 2.0 * d[:-1] - d[1:]) / step
            pieces[:, 3] = (d[:-1] + d[1:] - 2.0 * slope) / step**2
        pieces.flags.writeable = False
        set_fields(self, s=s, values=values, _pieces=pieces)

    def _column(self, name: str) -> tuple[float, ...]:
        given = getattr(self, name)
        if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
            raise ModelError(f"table.{name}", "a list of numbers", describe(given))
        return tuple(real_number(f"table.{name}[{i}]", value) for i, value in enumerate(given))

    def jets(self, X: ArrayLike, L: float) -> Array:
        s, knots = np.atleast_1d(np.asarray(X)) / L, np.array(self.s)
        piece = np.clip(np.searchsorted(knots, s.real, side="right") - 1, 0, len(knots) - 2)
        u, (a, b, c, d) = s - knots[piece], self._pieces[piece].T
        return stack(a + u * (b + u * (c + u * d)), (b + u * (2 * c + u * 3 * d)) / L, (2 * c + u * 6 * d) / L**2)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return self.s[1:-1]


def _pchip_slopes(step: Array, slope: Array) -> Array:
    """Slopes at the knots: weighted harmonic means inside, one-sided three-point formulas at the ends."""
    if len(step) == 1:
        return np.repeat(slope, 2)
    left, right = slope[:-1], slope[1:]
    w1, w2 = 2.0 * step[1:] + step[:-1], step[1:] + 2.0 * step[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(left * right > 0.0, (w1 + w2) / (w1 / left + w2 / right), 0.0)

    def end(h0: float, h1: float, m0: float, m1: float) -> float:
        d = ((2.0 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
        if d * m0 <= 0.0:
            return 0.0
        return 3.0 * m0 if m0 * m1 <= 0.0 and abs(d) > 3.0 * abs(m0) else d

    ends = end(step[0], step[1], slope[0], slope[1]), end(step[-1], step[-2], slope[-1], slope[-2])
    return np.concatenate([[ends[0]], inside, [ends[1]]])


SizeLike = Profile | Expression | float | str | Sequence[float]


# -- as files write them -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableOfSizes(Declared, title="Tables of sizes"):
    """Values of a size at places along the rod."""

    s: tuple[float, ...] = key(Numbers("number"), "Places X/L, increasing from 0 to 1.", "[0, 0.5, 1]")
    value: Any = key(Listed(), "The size at each place.", "[3 cm, 2 cm, 2 cm]")
    interpolation: str = key(
        Choice(("linear", "pchip")), "How values between the given ones are found.", "pchip", default="linear"
    )


@dataclass(frozen=True)
class SizeTable(Declared, title="Sizes by tables"):
    """A size by a table."""

    table: TableOfSizes = key(
        Part(TableOfSizes), "Values at places along the rod.", "{s: [0, 0.5, 1], value: [3 cm, 2 cm, 2 cm]}"
    )


@dataclass(frozen=True)
class Size(Type):
    """A size along a rod: a quantity, [base, tip], an expression of X, s and L, or a table; stored as a Profile."""

    dimension: str = "length"
    above: ClassVar[float] = 0.0

    def read(self, value: object, at: At) -> Any:
        at.number(self.dimension, PLACE_VARIABLES)
        if isinstance(value, Mapping):
            box = SizeTable.read(value, at)
            return INVALID if box is INVALID else at.attempt(lambda: self._table(box.table))
        if isinstance(value, list | tuple):
            for i in range(len(value)):
                (at / i).number(self.dimension)
        return at.attempt(lambda: self.check(value))

    def check(self, value: Any) -> Profile:
        if isinstance(value, Profile):
            return value
        if isinstance(value, Expression):
            return Formula(value)
        if is_list(value):
            if len(value) != 2:
                hint = "for more, a table: {s: [...], value: [...]}"
                raise ModelError("", "two values, [base, tip]", shown(list(value)), hint)
            return Linear(*checked_each(value, Quantity(self.dimension, least=0.0)))
        found = formula_or_quantity(value, self.dimension, PLACE_VARIABLES)
        if isinstance(found, Expression):
            return Formula(found)
        return Constant(Quantity(self.dimension, above=0.0).check(value))

    def _table(self, table: TableOfSizes) -> Table:
        try:
            values = checked_each(table.value, Quantity(self.dimension, least=0.0))
        except ModelError as error:
            raise ModelError(f"table.value{error.where}", error.expected, error.got, error.hint) from None
        return Table(table.s, values, table.interpolation)

    def write(self, value: object, writer: Writer) -> Any:
        if isinstance(value, Constant):
            return value.value
        if isinstance(value, Linear):
            return [value.base, value.tip]
        if isinstance(value, Formula):
            return formula_data(value.expression, self.dimension)
        if isinstance(value, Table):
            table = {"s": list(value.s), "value": list(value.values), "interpolation": value.interpolation}
            return {"table": table}
        raise inexpressible("a number, a linear taper, a formula or a table", value)

    def schema(self, define: Define) -> dict[str, Any]:
        one = number_schema(self.dimension)
        two = {"type": "array", "items": one, "minItems": 2, "maxItems": 2}
        about = "a number, [base, tip] for a straight taper, an expression of X, s and L, or a table"
        return {"anyOf": [one, two, define(SizeTable)], "x-forms": about}

    def within(self, part: str | int) -> Type | None:
        return Quantity(self.dimension, least=0.0) if isinstance(part, int) else Part(SizeTable).within(part)

    def spread(self, value: object) -> list[tuple[Path, float]]:
        if isinstance(value, Mapping):
            s = value["table"]["s"]
            return [(("table", "value", i), float(s[i])) for i in range(len(s))]
        return [((i,), float(i)) for i in range(2)] if is_list(value) else [((), 0.5)]

    def known_keys(self) -> list[str]:
        return SizeTable.key_names()
