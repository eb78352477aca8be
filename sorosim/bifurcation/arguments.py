"""Checks of the arguments of a continuation: names and ends of what changes, options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sorosim.bifurcation.parameter_path import ParameterPath
from sorosim.bifurcation.parameters import check_name, value_of
from sorosim.declare import Integer
from sorosim.errors import InputError
from sorosim.robot import Robot
from sorosim.validation import describe, number


def path_ends(robot: Robot, along: Any, to: Any, begin: Any) -> tuple[list[str], list[tuple[float | None, float]]]:
    """Names and, of each, its values at the beginning, None for the present one, and at the end."""
    if isinstance(along, Mapping):
        if to is not None or begin is not None:
            hint = "the mapping has the ends: {name: (begin, end)}"
            raise InputError("to", "nothing beside a mapping", "an end", hint)
        ends_by_name = dict(along)
    else:
        check_name(robot, along)
        ends_by_name = {along: to if begin is None else (begin, to)}
    if not ends_by_name:
        raise InputError("along", "what changes", "an empty mapping")
    names, ends = [], []
    for name, value in ends_by_name.items():
        names.append(check_name(robot, name))
        pair = list(value) if isinstance(value, tuple | list | np.ndarray) else [None, value]
        if len(pair) != 2:
            raise InputError(f"along '{name}'", "an end, or a pair (begin, end)", f"{len(pair)} values")
        begins, end = pair
        if end is None:
            raise InputError("to", f"where '{name}' goes", "nothing")
        ends.append((
            None if begins is None else value_of(robot, name, begins, "begin"), value_of(robot, name, end, "to"),
        ))  # fmt: skip
    return names, ends


def branch_depth(branches: Any) -> int:
    """How many generations of branches are followed."""
    return int(branches) if isinstance(branches, bool | np.bool_) else Integer(0, 100).argument("branches", branches)


def checked_stop(stop: Any) -> Any:
    """A function that says where to stop, or None."""
    if stop is not None and not callable(stop):
        raise InputError("stop", "a function of parameter and q", type(stop).__name__)
    return stop


def parameter_of(path: ParameterPath, value: Any, where: str) -> float:
    """A value of the parameter: a number, or, where one thing changes along it, a text with the unit of that."""
    if not isinstance(value, str) or len(path.names) > 1:
        return number(where, value)
    return float((value_of(path.base, path.names[0], value, where) - path.origin[0]) / path.slope[0])


def checked_range(path: ParameterPath, until: Any, start: float) -> list[float]:
    """Bounds of the parameter."""
    try:
        low, high = (parameter_of(path, value, "until") for value in until)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("until", "a range (low, high) of the parameter", describe(until)) from None
    if not low < high or not low <= start <= high:
        raise InputError("until", f"a range (low, high) about {start:g}", f"({low:g}, {high:g})")
    return [low, high]
