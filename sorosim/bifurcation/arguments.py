"""Checks of the arguments of a continuation: names and ends of what changes, options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sorosim.bifurcation.parameters import check_name, value_of
from sorosim.errors import InputError
from sorosim.robot import Robot
from sorosim.validation import number


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
    if isinstance(branches, bool | np.bool_):
        return int(branches)
    depth = number("branches", branches, "yes or no, or a whole number from 0 on", least=0.0, upto=100.0)
    if depth % 1.0:
        raise InputError("branches", "yes or no, or a whole number", f"{depth:g}")
    return int(depth)


def checked_options(options: Mapping[str, Any], start: float) -> dict[str, Any]:
    """Options of a curve that begins at a parameter, checked (InputError)."""
    out = dict(options)
    for name in {"step", "max_step", "min_step"} & set(out):
        out[name] = float(number(name, out[name], "a length greater than 0", above=0.0))
    if "max_points" in out:
        most = number("max_points", out["max_points"], "a whole number from 2 on", least=2.0, upto=1e7)
        if most % 1.0:
            raise InputError("max_points", "a whole number", f"{most:g}")
        out["max_points"] = int(most)
    if out.get("stop") is not None and not callable(out["stop"]):
        raise InputError("stop", "a function of parameter and q", type(out["stop"]).__name__)
    if "until" in out:
        out["until"] = _range(out["until"], start)
    return out


def _range(until: Any, start: float) -> list[float]:
    try:
        low, high = (number("until", value) for value in until)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("until", "a range (low, high) of the parameter", repr(until)[:60]) from None
    if not low < high or not low <= start <= high:
        raise InputError("until", f"a range (low, high) about {start:g}", f"({low:g}, {high:g})")
    return [low, high]
