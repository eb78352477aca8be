"""Routes through rods, which tendons and chambers follow (docs/theory.md, 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.complex_step import number_type
from sorosim.errors import ModelError, nearest
from sorosim.model.compile import MERGE, Layout, LinkLayout, Piece
from sorosim.model.material import real_number
from sorosim.model.profile import place_jets
from sorosim.signals.expressions import Expression
from sorosim.validation import describe

Array = NDArray[np.float64]

# variables of a route beside the sizes of the section: arclength, fraction and length of the rod, radius there
PLACE_VARIABLES = ("X", "s", "L")
RADIUS = "r"


def place_values(where: str, value: Expression, layout: LinkLayout, piece: Piece, X: Array) -> Array:
    """Jets (n, 3) by X of an expression of place and of the section's sizes, at arclengths X (n,) in a division."""
    rod = layout.link.rod
    assert rod is not None  # for the type checker: who asks has looked
    known = place_jets(X, rod.length)
    sizes = piece.division.section.size_jets(X - piece.start, piece.division.length)
    known |= sizes
    if "radius" in sizes:
        known[RADIUS] = sizes["radius"]
    missing = [name for name in value.used if name not in known]
    if missing:
        expected, got = "an expression of " + ", ".join(known), f"the variable '{missing[0]}'"
        raise ModelError(where, expected, got, nearest(missing[0], known))
    # an expression of no variables does not know n
    jets = value.jets(**{name: known[name] for name in value.used})
    return np.broadcast_to(jets, (len(X), 3)).copy()


def number_or_expression(where: str, value: Any, what: str = "a number or an Expression") -> float | Expression:
    """A number or an Expression of place."""
    return value if isinstance(value, Expression) else real_number(where, value, what)


@dataclass(frozen=True)
class Run:
    """The part of a tendon that runs through one rod.

    Parameters
    ----------
    rod : str
        Name of the link.
    y, z : float or Expression
        Position of the tendon in the section's frame [m]; an Expression may use X (arclength on the rod [m]), L (length
        of the rod), s = X/L, r (radius of a round section at X) and the section's own sizes by name.
    start, end : float
        From where to where, as fractions of the rod's length; boundaries of its divisions.
    """

    rod: str
    _: KW_ONLY
    y: float | Expression
    z: float | Expression
    start: float = 0.0
    end: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.rod, str):
            raise ModelError("tendon.rod", "the name of a link with a rod", describe(self.rod))
        for name in ("y", "z"):
            value = getattr(self, name)
            if not isinstance(value, Expression):
                value = real_number(f"tendon.{name}", value, "a number [m] or an Expression")
                object.__setattr__(self, name, value)
        for name in ("start", "end"):
            value = real_number(f"tendon.{name}", getattr(self, name), "a fraction from 0 to 1", least=0.0, upto=1.0)
            object.__setattr__(self, name, value)
        if not self.start < self.end:
            raise ModelError("tendon.end", f"a fraction above start = {self.start:g}", f"{self.end:g}")

    def route(self, layout: LinkLayout, piece: Piece, X: Array) -> tuple[Array, Array]:
        """Route d = [0, y, z] and slope d' = dd/dX, each (n, 3), at arclengths X (n,) of the rod inside a division."""
        d, slope = np.zeros((2, len(X), 3), dtype=number_type())
        for axis, value in ((1, self.y), (2, self.z)):
            if not isinstance(value, Expression):
                d[:, axis] = value
                continue
            jets = place_values(f"tendon.{'xyz'[axis]}", value, layout, piece, X)
            d[:, axis], slope[:, axis] = jets[:, 0], jets[:, 1]
        if not (np.isfinite(d).all() and np.isfinite(slope).all()):
            raise ModelError("tendon", "a route with finite places and slopes", f"none on rod '{self.rod}'")
        return d, slope


def as_runs(where: str, given: Any) -> tuple[Run, ...]:
    """One Run or several."""
    if isinstance(given, Run):
        given = (given,)
    if not isinstance(given, Sequence) or not given or not all(isinstance(run, Run) for run in given):
        raise ModelError(where, "one Run or several", describe(given))
    return tuple(given)


def check_runs(where: str, runs: Sequence[Run], layout: Layout) -> None:
    """Refuse runs that do not fit the robot, or do not follow each other."""
    for run in runs:
        rod_of(f"{where}.rod", run.rod, layout).spanned(where, run.start, run.end)
    for before, after in pairwise(runs):
        whole = before.end > 1.0 - MERGE and after.start < MERGE
        if not whole or not _rigidly_follows(layout, before.rod, after.rod):
            expected = f"rod '{after.rod}' fixed to the tip of rod '{before.rod}'"
            hint = f"a {where} may pass from rod to rod over fixed joints only"
            raise ModelError(where, expected, "another connection", hint)


def rod_of(where: str, name: str, layout: Layout) -> LinkLayout:
    """The layout of a rod by name."""
    link = layout.links.get(name)
    if link is None or link.link.rod is None:
        rods = [other for other, its in layout.links.items() if its.link.rod is not None]
        raise ModelError(where, "the name of a link with a rod", f"'{name}'", nearest(name, rods))
    return link


def _rigidly_follows(layout: Layout, before: str, after: str) -> bool:
    """Whether the base of `after` is fixed to the tip of `before`, over fixed joints and rigid links only."""
    name = after
    while True:
        link = layout.links[name].link
        if link.joint.kind != "fixed" or link.parent not in layout.links:
            return False
        if link.parent == before:
            return link.s == 1.0
        if layout.links[link.parent].link.rod is not None:
            return False
        name = link.parent
