"""Bounds that inputs and driven coordinates have by themselves, and lengths of which nothing is left."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sorosim.base.errors import InputError, ModelError
from sorosim.base.signals.expressions import Expression
from sorosim.mechanics.model.layout import Layout
from sorosim.mechanics.model.tubes import Tubes


def coordinate_bounds(layout: Layout, column: int) -> tuple[float, float]:
    """Bounds of a coordinate: the stops of its joint, of a tube from the plate to where it is held."""
    link = next(one for one in layout.links.values() if one.column <= column < one.column + one.n)
    if isinstance(link.link.body, Tubes):
        block, own = link.link.body.block, column - link.column - link.n_joint
        if own in block.insertion:
            tube = link.link.body.members[block.insertion.index(own)]
            return -float(tube.insertion), float(tube.length - tube.insertion)
    stops = link.link.joint.limits[column - link.column :] if column - link.column < link.n_joint else ()
    return (float(stops[0].low), float(stops[0].high)) if stops and stops[0] is not None else (-np.inf, np.inf)


def check_lengths(layout: Layout, loads: Mapping[str, object], values: Mapping[str, float]) -> None:
    """Refuse values [rad or m] of driven coordinates by name at which a rod has no length, or tubes pass each other.

    Loads along tubes by X, s or L are refused where these are not inserted as in the file (InputError, ModelError).
    """
    at = {layout.coordinate(name, "driven"): value for name, value in values.items()}
    for name, link in layout.links.items():
        body, first = link.link.body, link.column + link.n_joint
        if not isinstance(body, Tubes):
            continue
        moves = {i: at.get(first + column, 0.0) for i, column in enumerate(body.block.insertion)}
        try:
            body.check_insertions(moves)
        except ModelError as error:
            raise error.inside(f"driven.{name}") from None
        by_place = (load for load, given in loads.items() if _is_by_place(given, name))
        if any(moves.values()) and (acting := next(by_place, "")):
            expected = "no load by X, s or L along tubes that are not inserted as in the file"
            raise InputError(f"driven.{name}", expected, acting, "give the file these insertions (robot.with_values)")
    fed = (piece for link in layout.links.values() for piece in link.pieces if piece.material_moves)
    lengths = {piece.ends[0][0]: piece.division.length for piece in fed}
    for name, value in values.items():
        length = lengths.get(layout.coordinate(name, "driven"))
        if length is not None and not value > -length:
            raise InputError(f"driven.{name}", f"more than {-length:g} m, where the rod has no length", f"{value:g} m")


def _is_by_place(load: object, rod: str) -> bool:
    """Whether a load per length of a rod is an expression of places on it."""
    entries = (*getattr(load, "wrench", ()), *getattr(load, "magnetisation", ()))
    used = [set(entry.used) for entry in entries if isinstance(entry, Expression)]
    return rod == getattr(load, "rod", "") and any({"X", "s", "L"} & names for names in used)
