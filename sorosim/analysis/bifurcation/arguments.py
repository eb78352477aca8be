"""Checks of the arguments of a continuation: names and ends of what changes, options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sorosim.analysis.bifurcation.parameter_path import ParameterPath
from sorosim.analysis.sensitivity import parameter
from sorosim.base.arrays import Array
from sorosim.base.declare import Integer
from sorosim.base.errors import InputError
from sorosim.base.validation import describe, number
from sorosim.mechanics.engine.parameter import DRIVEN, INPUT, Parameter
from sorosim.mechanics.robot import Robot


def path_ends(
    robot: Robot, along: object, to: object, begin: object
) -> tuple[list[Parameter], list[tuple[float | None, float]]]:
    """What changes and, of each, its values at the beginning, None for the present one, and at the end."""
    if isinstance(along, Mapping):
        if to is not None or begin is not None:
            hint = "the mapping has the ends: {name: (begin, end)}"
            raise InputError("to", "nothing beside a mapping", "an end", hint)
        ends_by_name = dict(along)
    else:
        ends_by_name = {parameter(robot, along, "along").name: to if begin is None else (begin, to)}
    if not ends_by_name:
        raise InputError("along", "what changes", "an empty mapping")
    found, ends = [], []
    for name, value in ends_by_name.items():
        found.append(one := parameter(robot, name, "along"))
        pair = list(value) if isinstance(value, tuple | list | np.ndarray) else [None, value]
        if len(pair) != 2:
            raise InputError(f"along '{name}'", "an end, or a pair (begin, end)", f"{len(pair)} values")
        begins, end = pair
        if end is None:
            raise InputError("to", f"where '{name}' goes", "nothing")
        ends.append((
            None if begins is None else one.number("begin", begins), one.number("to", end),
        ))  # fmt: skip
    return found, ends


def present(robot: Robot, one: Parameter, u: Array, driven: Mapping[str, float]) -> float:
    """Present value of a parameter; of coordinates that are not driven, the initial one."""
    if one.kind == INPUT:
        return float(u[one.index])
    if one.kind == DRIVEN:
        at = {robot.engine.layout.coordinate(name, "driven"): value for name, value in driven.items()}
        return float(at.get(one.index, robot.initial_q[one.index]))
    return one.value


def branch_depth(branches: object) -> int:
    """How many generations of branches are followed."""
    return int(branches) if isinstance(branches, bool | np.bool_) else Integer(0, 100).argument("branches", branches)


def checked_stop(stop: object) -> Any:
    """A function that says where to stop, or None."""
    if stop is not None and not callable(stop):
        raise InputError("stop", "a function of parameter and q", type(stop).__name__)
    return stop


def parameter_of(path: ParameterPath, value: object, where: str) -> float:
    """A value of the parameter: a number, or, where one thing changes along it, a text with the unit of that."""
    if not isinstance(value, str) or len(path.names) > 1:
        return number(where, value)
    return float((path.parameters[0].number(where, value) - path.origin[0]) / path.slope[0])


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
