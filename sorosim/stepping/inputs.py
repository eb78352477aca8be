"""Inputs of steps, motions and batches as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sorosim.arrays import Array
from sorosim.engine.inputs import check_length_inputs, dimension_of
from sorosim.errors import InputError
from sorosim.robot import Robot
from sorosim.units.quantity import amount
from sorosim.validation import Number, describe

# numbers in SI units or texts with units, by the names of actuators if they are a mapping
Inputs = ArrayLike | Mapping[str, ArrayLike | Number]


def held_inputs(
    robot: Robot, u: Inputs, axes: Mapping[str, int | None], members: Sequence[Robot] = (), where: str = "u"
) -> Array:
    """Inputs (*axes, n_actuators) of an argument, as an array of its own.

    Axes in front may be left out: then they are the same for all. Of a mapping each entry has these axes, or is the
    same along them; what is not named is zero.

    axes : lengths by the letters of messages; None: any. members : robots along the first axis, whose tendons may have
    lengths of their own.
    """
    dimensions = robot.input_dimensions
    names = robot.actuator_names
    expected = f"({', '.join(letter if n is None else str(n) for letter, n in axes.items())}, {len(names)})"
    try:
        if isinstance(u, Mapping):
            columns = {
                name: _numbers(f"{where}.{name}", value, dimension_of(dimensions, name, where))
                for name, value in u.items()
            }
            common = np.broadcast_shapes((1,) * (None in axes.values()), *(x.shape for x in columns.values()))
            out = np.zeros((*common, len(names)))
            for name, column in columns.items():
                out[..., names.index(name)] = column
        else:
            out = _rows(u, dimensions, where)
        lengths = [n if n is not None else out.shape[-2] for n in axes.values()]
        if not isinstance(u, Mapping) and out.shape[:-1] != tuple(lengths[len(lengths) + 1 - out.ndim :]):
            raise ValueError
        out = np.array(np.broadcast_to(out, (*lengths, len(names))), order="C")  # compiled code relies on it
    except InputError:
        raise
    except (TypeError, ValueError, IndexError):
        got = f"one of shape {shape}" if (shape := shape_of(u)) else describe(u)
        raise InputError(where, f"an array {expected} of inputs", got) from None
    if not np.isfinite(out).all():
        *index, i = np.argwhere(~np.isfinite(out))[0].tolist()
        raise InputError(f"{where}[{', '.join(map(str, index))}].{names[i]}", "a finite number", f"{out[*index, i]}")
    if robot.engine.has_length_inputs:
        for one, rows in zip(members or [robot], out if members else [out], strict=True):
            check_length_inputs(one.engine.rod_actuators, names, rows, where)
    return out


def _numbers(where: str, value: Any, dimension: str) -> Array:
    """Numbers of one dimension, in an array of any shape."""
    given = np.asarray(value)
    if given.dtype.kind in "fiu":
        return given.astype(float)
    entries = np.array(value, dtype=object)
    return np.array([amount(where, one, dimension) for one in entries.ravel().tolist()]).reshape(entries.shape)


def _rows(u: Any, dimensions: Mapping[str, str], where: str) -> Array:
    """Inputs whose last axis counts actuators."""
    given = np.asarray(u)
    if given.dtype.kind in "fiu":
        out = given.astype(float)
    else:
        entries = np.array(u, dtype=object)
        pairs = zip(dimensions.items(), np.moveaxis(entries, -1, 0), strict=True)
        out = np.stack([_numbers(f"{where}.{name}", column, kind) for (name, kind), column in pairs], axis=-1)
    if out.shape[-1] != len(dimensions):
        raise ValueError
    return out


def shape_of(value: Any) -> tuple[int, ...]:
    """Of what is an array; () of anything else."""
    try:
        return np.shape(value)
    except ValueError:
        return ()
