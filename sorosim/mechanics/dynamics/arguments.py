"""Checks of the arguments of public functions against an engine; they return plain arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from sorosim.base.arrays import Array, Mask
from sorosim.base.errors import InputError, ModelError, nearest
from sorosim.base.units.quantity import amount
from sorosim.base.units.table import OF_COORDINATE
from sorosim.base.validation import Values, indices, number, vector
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.engine.inputs import Partition
from sorosim.mechanics.engine.prescribed import Operated, by_coordinate, in_order, inputs_of, number_of, staying
from sorosim.mechanics.kernels import loop_joint as lj


def coordinates(engine: Engine, value: Values, where: str = "q", order: int = 0, is_change: bool = False) -> Array:
    """Coordinates (order 0), rates (1) or accelerations (2), (ndof,); by names missing ones follow couplings, or are 0.

    is_change : whether they are a change of a state.
    """
    if type(value) is np.ndarray and value.dtype == np.float64:  # most are
        return vector(where, value, engine.ndof)
    if isinstance(value, Mapping):
        out = engine.zero_rates
        given = by_coordinate(engine, value, where, order)
        columns = [engine.layout.coordinate(name, where) for name in given]
        out[columns] = list(given.values())
        follow_couplings(engine, out, columns, is_state=order == 0 and not is_change)
        return out
    entries = in_order(value, engine.ndof)
    if entries is None:
        return vector(where, value, engine.ndof)
    dimensions = (OF_COORDINATE[kind][order] for kind in engine.layout.dimensions)
    pairs = enumerate(zip(entries, dimensions, strict=True))
    return np.array([number_of(f"{where}[{i}]", *pair) for i, pair in pairs])


def follow_couplings(engine: Engine, values: Array, *named: Iterable[int], is_state: bool = True) -> set[int]:
    """Let coordinates that are not named follow those that are; where neither of a coupling is, its leader stays.

    Parameters
    ----------
    values : (ndof,) array
        Coordinates, or what changes as they do; it is overwritten.
    named : indices of coordinates
        Of several, coordinates of later ones may follow those of earlier ones.

    Returns
    -------
    set of int
        Coordinates of couplings that did not follow.
    """
    rows = engine.loops.row
    left = [
        (*map(int, rows["column"][k]), *(engine.loops.value[k, [lj.RATIO, lj.OFFSET]] * [1.0, float(is_state)]))
        for k in np.flatnonzero(rows["turn"] == lj.COUPLED)
    ]
    waiting, lead, known = [set(map(int, some)) for some in named], {x for one in left for x in one[:2]}, set[int]()
    while left:
        found = next((one for one in left if one[0] in known or one[1] in known), None)
        if found is None:
            followers = {one[0] for one in left}
            root = next((one[1] for one in left if one[1] not in followers), left[0][1])
            known |= waiting.pop(0) if waiting else {root}
            continue
        left.remove(found)
        a, b, ratio, offset = found
        if a not in known:
            values[a] = ratio * values[b] + offset
            lead.discard(a)
        elif b not in known:
            values[b] = (values[a] - offset) / ratio
            lead.discard(b)
        known |= {a, b}
    return lead


def state(engine: Engine, q: Values, qd: Values) -> tuple[Array, Array]:
    """Coordinates and rates."""
    return coordinates(engine, q), coordinates(engine, qd, "qd", 1)


def state_or_rest(engine: Engine, q: Values, qd: Values | None) -> tuple[Array, Array]:
    """Coordinates and rates; no rates: at rest."""
    return coordinates(engine, q), engine.zero_rates if qd is None else coordinates(engine, qd, "qd", 1)


def variation(robot: Operated, dq: Values | None, dqd: Values | None, du: Values | None) -> tuple[Array, Array, Array]:
    """Changes of coordinates, rates and inputs; None: zero."""
    engine, (by_q, by_qd) = robot.engine, ({} if part is None else part for part in (dq, dqd))
    inputs = inputs_of(robot, du, "du", is_change=True)
    return coordinates(engine, by_q, "dq", is_change=True), coordinates(engine, by_qd, "dqd", 1), inputs


def steady_rates(engine: Engine, qd: Values | None) -> tuple[Array, Mask]:
    """Rates (ndof,), and a mask of the coordinates whose rate is prescribed (zero included)."""
    rates = engine.zero_rates if qd is None else coordinates(engine, qd, "qd", 1)
    turning = rates != 0.0
    turning[[engine.layout.coordinate(name, "qd") for name in (qd if isinstance(qd, Mapping) else ())]] = True
    return rates, turning


def driven_accelerations(engine: Engine, given: object, actuators: Mapping[str, object]) -> tuple[Partition, Array]:
    """Which coordinates are driven, with those that cannot be free, and accelerations (ndof,), zero elsewhere."""
    accelerations = by_coordinate(engine, given, "driven_qdd", 2)
    accelerations |= staying(engine.layout, accelerations, turned=False)
    partition, qdd = Partition.of(engine.layout, accelerations, actuators), engine.zero_rates
    qdd[partition.driven] = list(accelerations.values())
    return partition, qdd


def motion(
    robot: Operated, q: Values, qd: Values, qdd: Values, u: Values | None, t: float | str
) -> tuple[Array, Array, Array, Array, float]:
    """State, accelerations, inputs and time."""
    time = amount("t", t, "time")
    return *state(robot.engine, q, qd), coordinates(robot.engine, qdd, "qdd", 2), inputs_of(robot, u, t=time), time


def hybrid(
    robot: Operated, q: Values, qd: Values, qdd: Values, tau: ArrayLike, known: ArrayLike, u: Values | None,
    t: float | str,
) -> tuple[Array, Array, Array, Array, Array, float, Mask]:  # fmt: skip
    """State, known accelerations, forces of the others, inputs, time, and which accelerations are known."""
    engine = robot.engine
    mask = np.zeros(engine.ndof, dtype=np.bool_)
    mask[indices("known", known, engine.ndof)] = True
    accelerations, forces = coordinates(engine, qdd, "qdd", 2), vector("tau", tau, engine.ndof)
    time = amount("t", t, "time")
    given = np.where(mask, accelerations, 0.0), np.where(mask, 0.0, forces), inputs_of(robot, u, t=time)
    return *state(engine, q, qd), *given, time, mask


def initial_values(engine: Engine, where: str, block: Mapping[str, float]) -> Array:
    """Vector (ndof,) of a block of the description by names of coordinates; others follow couplings, or are zero."""
    out, names, columns = engine.zero_rates, engine.layout.coordinate_names, []
    for name, value in block.items():
        if name not in names:
            raise ModelError(f"{where}.{name}", "the name of a coordinate", f"'{name}'", nearest(name, names))
        columns.append(names.index(name))
        out[columns[-1]] = number(f"{where}.{name}", value, error=ModelError)
    follow_couplings(engine, out, columns, is_state=where == "initial")
    return out


def place(engine: Engine, link: str, s: float) -> tuple[str, float]:
    """A link and a fraction of its rod's length."""
    if not isinstance(link, str) or link not in engine.layout.links:
        raise InputError("link", "the name of a link", f"'{link}'", nearest(link, engine.layout.links))
    value = number("s", s)
    if not 0.0 <= value <= 1.0:
        raise InputError("s", "a fraction of the rod's length from 0 to 1", f"{value!r}")
    return link, value
