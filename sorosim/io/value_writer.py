"""Formulas, signals and places back to the data of a file."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from sorosim.errors import ModelError
from sorosim.io.body_writer import pose_block
from sorosim.model.anchor import Anchor
from sorosim.signals import ConstantSignal, ExpressionSignal, TableSignal, as_signal
from sorosim.signals.expressions import Expression, parse
from sorosim.units.table import unit_factor


def formula(where: str, value: float | Expression) -> float | str:
    """A formula as a file writes it, if it means the same there."""
    if not isinstance(value, Expression):
        return value
    again = parse(value.text, value.variables, unit_factor, where)
    if not (np.array_equal(again.code, value.code) and np.array_equal(again.constants, value.constants)):
        raise ModelError(where, "a formula with the units of files", repr(value.text), "write its numbers in SI units")
    return value.text


def signal(where: str, value: Any) -> Any:
    """A number, an expression of t, or a table."""
    if callable(value) and not isinstance(value, Expression):
        raise inexpressible(where, "a number, an expression of t or a table", value)
    found = as_signal(value, where)
    if isinstance(found, ConstantSignal):
        return found.level
    if isinstance(found, ExpressionSignal):
        return formula(where, found.expression)
    if isinstance(found, TableSignal):
        times = {"times": found.times.tolist(), "values": found.values.tolist()}
        return {**times, "interpolation": found.interpolation}
    raise inexpressible(where, "a number, an expression of t or a table", found)


def formula_or_signal(where: str, value: Any) -> Any:
    """A number, an expression of any variables, or a signal of time."""
    return formula(where, value) if isinstance(value, float | int | Expression) else signal(where, value)


def place(anchor: Anchor, rods: Collection[str]) -> dict[str, Any]:
    """What stands under `at` for a frame on a link."""
    assert not isinstance(anchor.at, str)  # for the type checker: only loops have ends as built
    at: dict[str, Any] = pose_block(anchor.at)
    if anchor.s != 1.0 and anchor.link in rods:
        at["s"] = anchor.s
    if anchor.frame:
        at["frame"] = anchor.frame
    return at


def inexpressible(where: str, expected: str, got: Any) -> ModelError:
    """The error of what has no place in a file."""
    hint = "the format of files has nothing else; keep it in Python"
    return ModelError(where, expected, type(got).__name__, hint)
