"""Force and moment per length along a rod, by expressions of place and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sorosim.complex_step import derivative
from sorosim.errors import ModelError, nearest
from sorosim.kernels.load_laws import DEAD, FOLLOWER
from sorosim.loads.compiled import CompiledLaw, LawRow
from sorosim.loads.point_wrench import BoundLaw, split_entries
from sorosim.model.compile import Layout, LinkLayout
from sorosim.model.material import real_number
from sorosim.signals import ExpressionSignal, Signal, as_signal
from sorosim.signals.expressions import Expression
from sorosim.validation import as_real, describe

# variables of an entry: arclength, its fraction, length of the rod, time
VARIABLES = ("X", "s", "L", "t")


@dataclass(frozen=True)
class LineLoad:
    """Moment and force per length along a rod, between two places.

    Parameters
    ----------
    rod : str
        Name of a link with a rod.
    wrench : six numbers, Expressions or signals
        [moment; force] per length of the unstrained rod [N m/m, N/m] in the axes of `frame`. An Expression may use X
        [m], s = X/L, L [m] and t [s]; a signal is of time.
    frame : {"world", "body"}
        "world": the directions stay; "body": they turn with the sections.
    start, end : float
        From where to where, as fractions of the rod's length; boundaries of its divisions.

    Notes
    -----
    It is integrated by the Gauss points of the rod.
    """

    rod: str
    _: KW_ONLY
    wrench: tuple[Any, ...]
    frame: str = "world"
    start: float = 0.0
    end: float = 1.0

    def __post_init__(self) -> None:
        given: Any = self.wrench
        if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or len(given) != 6:
            got = describe(given)
            raise ModelError("line.wrench", "six numbers, Expressions or signals: moment [N], force [N/m]", got)
        entries = tuple(_entry(f"line.wrench[{i}]", value) for i, value in enumerate(given))
        object.__setattr__(self, "wrench", entries)
        if self.frame not in ("world", "body"):
            hint = nearest(str(self.frame), ("world", "body"))
            raise ModelError("line.frame", "world or body", describe(self.frame), hint)
        for name in ("start", "end"):
            value = real_number(f"line.{name}", getattr(self, name), "a fraction from 0 to 1", least=0.0, upto=1.0)
            object.__setattr__(self, name, value)
        if not self.start < self.end:
            raise ModelError("line.end", f"a fraction above start = {self.start:g}", f"{self.end:g}")

    @property
    def places(self) -> Sequence[tuple[str, float]]:
        """None beyond the Gauss points."""
        return ()

    def bind(self, layout: Layout) -> BoundLaw:
        """Collect the Gauss points, each with its share of the load."""
        link = layout.link(self.rod)
        if link.link.rod is None:
            raise ModelError("line.rod", "the name of a link with a rod", f"'{self.rod}', which has none")
        rows = [row for piece in link.spanned("line", self.start, self.end) for row in self._rows(link, piece)]
        return BoundLaw(np.array([row.node for row in rows], dtype=np.int64), CompiledLaw(rows))

    def _rows(self, link: LinkLayout, piece: Any) -> list[LawRow]:
        kind, length, rows = DEAD if self.frame == "world" else FOLLOWER, link.X[-1], []
        for k in np.flatnonzero(piece.gauss(link)):
            X = link.X[k]
            entries = [_at(entry, X, length) for entry in self.wrench]
            values, varying = split_entries(entries, link.weight[k])
            if not np.isfinite(values).all():
                got = f"NaN or infinity at s = {X / length:.4g} of rod '{self.rod}'"
                raise ModelError("line.wrench", "a finite load", got)
            rows.append(LawRow(kind, int(link.nodes[k]), values, varying))
        return rows


def _entry(where: str, value: Any) -> float | Expression | Signal:
    if as_real(value) is not None:
        return real_number(where, value, "a finite number")
    if isinstance(value, Expression):
        for name in value.used:
            if name not in VARIABLES:
                expected = "an expression of X [m], s = X/L, L [m] and t [s]"
                raise ModelError(where, expected, f"the variable '{name}'", nearest(name, VARIABLES))
        return value
    return as_signal(value, where)


def _at(entry: float | Expression | Signal, X: float, L: float) -> float | Signal:
    """An entry at a place: a number, or a signal of time."""
    if not isinstance(entry, Expression):
        return entry
    places = {name: value for name, value in (("X", X), ("s", X / L), ("L", L)) if name in entry.variables}
    if "t" not in entry.used:
        found: float = entry(**places, **({"t": 0.0} if "t" in entry.variables else {}))
        return found
    if any(derivative(place) for place in places.values()):
        expected = "no scalar that moves the points of a load that depends on place and time"
        raise ModelError("line.wrench", expected, "one")
    return ExpressionSignal(entry.partly(**{name: np.real(place) for name, place in places.items()}))
