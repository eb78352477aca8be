"""Checks of the arguments of public functions against an engine; they return plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sorosim.engine.engine import Engine
from sorosim.engine.inputs import Partition, check_length_inputs
from sorosim.errors import InputError, ModelError, nearest
from sorosim.validation import indices, number, vector

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def state(engine: Engine, q: ArrayLike, qd: ArrayLike) -> tuple[Array, Array]:
    """Coordinates and rates."""
    return vector("q", q, engine.ndof), vector("qd", qd, engine.ndof)


def state_or_rest(engine: Engine, q: ArrayLike, qd: ArrayLike | None) -> tuple[Array, Array]:
    """Coordinates and rates; no rates: at rest."""
    return state(engine, q, engine.zero_rates if qd is None else qd)


def actuator_inputs(engine: Engine, u: ArrayLike | Mapping[str, float] | None, where: str) -> Array:
    """Inputs in the order of the actuators, from a mapping (the rest is zero), an array or None."""
    if u is None:
        return np.zeros(engine.n_actuators)
    if isinstance(u, Mapping):
        names, values = engine.actuator_names, np.zeros(engine.n_actuators)
        for name, value in u.items():
            if name not in names:
                raise InputError(where, "the name of an actuator", f"'{name}'", nearest(name, names))
            values[names.index(name)] = number(f"{where}.{name}", value)
    else:
        values = vector(where, u, engine.n_actuators)
    if engine.has_length_inputs:
        check_length_inputs(engine.fibres, engine.actuator_names, values, where)
    return values


def steady_rates(engine: Engine, qd: ArrayLike | Mapping[str, float] | None) -> tuple[Array, Mask]:
    """Rates (ndof,), and a mask of the coordinates whose rate is prescribed (zero included)."""
    rates, turning = engine.zero_rates, np.zeros(engine.ndof, dtype=np.bool_)
    if not isinstance(qd, Mapping):
        rates = rates if qd is None else vector("qd", qd, engine.ndof)
        return rates, rates != 0.0
    for name, rate in qd.items():
        index = engine.layout.coordinate(name, "qd")
        rates[index], turning[index] = number(f"qd.{name}", rate), True
    return rates, turning


def driven_accelerations(engine: Engine, driven: Any, actuators: Mapping[str, Any]) -> tuple[Partition, Array]:
    """Which coordinates are driven, and accelerations (ndof,), zero elsewhere."""
    if not isinstance(driven, Mapping):
        raise InputError("driven", "a mapping of names to accelerations", type(driven).__name__)
    partition, qdd = Partition.of(engine.layout, driven, actuators), engine.zero_rates
    qdd[partition.driven] = [number(f"driven.{name}", value) for name, value in driven.items()]
    return partition, qdd


def hybrid(
    engine: Engine, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, tau: ArrayLike, known: ArrayLike, t: float
) -> tuple[Array, Array, Array, Array, float, Mask]:
    """State, known accelerations, forces of the other coordinates, time, and which accelerations are known."""
    mask = np.zeros(engine.ndof, dtype=np.bool_)
    mask[indices("known", known, engine.ndof)] = True
    accelerations, forces = vector("qdd", qdd, engine.ndof), vector("tau", tau, engine.ndof)
    return *state(engine, q, qd), np.where(mask, accelerations, 0.0), np.where(mask, 0.0, forces), number("t", t), mask


def initial_values(engine: Engine, where: str, block: Mapping[str, float]) -> Array:
    """Vector (ndof,) of a block of the description by names of coordinates, elsewhere zero."""
    out, names = engine.zero_rates, engine.layout.coordinate_names
    for name, value in block.items():
        if name not in names:
            raise ModelError(f"{where}.{name}", "the name of a coordinate", f"'{name}'", nearest(name, names))
        out[names.index(name)] = number(f"{where}.{name}", value, error=ModelError)
    return out


def place(engine: Engine, link: str, s: float) -> tuple[str, float]:
    """A link and a fraction of its rod's length."""
    if not isinstance(link, str) or link not in engine.layout.links:
        raise InputError("link", "the name of a link", f"'{link}'", nearest(link, engine.layout.links))
    value = number("s", s)
    if not 0.0 <= value <= 1.0:
        raise InputError("s", "a fraction of the rod's length from 0 to 1", f"{value!r}")
    return link, value
