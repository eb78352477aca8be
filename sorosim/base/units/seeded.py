"""A scalar of a file by which is differentiated, and texts in which it stands as a parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sorosim.base.complex_step import STEP
from sorosim.base.signals.expressions import Expression, parse
from sorosim.base.units.table import unit_factor

SYMBOL = "seed__"  # stands for the scalar in formulas


class Seeded:
    """A value that depends on the scalar: as it was written, and as a formula of it."""

    formula = SYMBOL
    scalar: float  # in SI units


class SeededNumber(float, Seeded):
    """A number."""


class SeededText(str, Seeded):
    """A text."""

    written: str  # what stands in the scalar's own place

    def inside(self, formula: str, of: Seeded) -> SeededText:
        """The same text as a formula of what depends on the scalar."""
        self.formula, self.scalar, self.written = formula, of.scalar, str(getattr(of, "written", of.scalar))
        return self

    def expression(self, formula: str, variables: tuple[str, ...]) -> SeededExpression:
        """The formula as an expression of further variables."""
        found = parse(formula, (*variables, SYMBOL), unit_factor, "")
        return SeededExpression(str(self), found.variables, found.code, found.constants, found.depth, self.scalar)


def seeded(value: float | str, scalar: float) -> SeededNumber | SeededText:
    """A scalar as it was written, and its value in SI units."""
    out: SeededNumber | SeededText
    if isinstance(value, str):
        out = SeededText(value)
        out.written = value
    else:
        out = SeededNumber(value)
    out.scalar = scalar
    return out


@dataclass(frozen=True)
class SeededExpression(Expression):
    """An expression of the scalar too, which it knows."""

    scalar: float = 0.0

    @property
    def used(self) -> tuple[str, ...]:
        """Variables that it contains beside the scalar."""
        return tuple(name for name in super().used if name != SYMBOL)

    def jets(self, /, **values: object) -> Any:
        """As `Expression.jets`."""
        return super().jets(**values, **{SYMBOL: complex(self.scalar, STEP)})

    def __call__(self, /, **values: object) -> Any:
        """As `Expression.__call__`."""
        return super().__call__(**values, **{SYMBOL: complex(self.scalar, STEP)})
