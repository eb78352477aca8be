"""Force and moment per length along a rod, by expressions of place and time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sorosim.base.complex_step import derivative
from sorosim.base.declare import Choice, SignalVector, Writer, key
from sorosim.base.errors import ModelError, nearest
from sorosim.base.signals import ExpressionSignal, Signal
from sorosim.base.signals.expressions import Expression
from sorosim.mechanics.kernels.load_laws import DEAD, FOLLOWER
from sorosim.mechanics.loads.base import DeclaredLoad
from sorosim.mechanics.loads.compiled import BoundLaw, CompiledLaw, LawRow, split_entries
from sorosim.mechanics.loads.wrench import NONE, check_effect, with_effect
from sorosim.mechanics.model.layout import Layout
from sorosim.mechanics.model.span import RodName, check_span, end_key, start_key

# variables of an entry: arclength, its fraction, length of the rod, time
VARIABLES = ("X", "s", "L", "t")


_ENTRY = "each entry a number, an expression of X, s, L and t, a table or a CSV file of time"


class Section(NamedTuple):
    """A Gauss point of a loaded rod."""

    node: int
    X: Any  # arclength
    weight: Any  # of the quadrature
    length: Any  # of the rod
    area: Any
    material_moves: bool  # whether its material moves past it


@dataclass(frozen=True)
class RodLoad(DeclaredLoad):
    """What acts along a rod, between two places. It is integrated by the Gauss points of the rod."""

    rod: str = key(RodName(), "Name of the link.", "arm")
    _: KW_ONLY
    start: float = start_key()
    end: float = end_key()
    takes_input: ClassVar[bool] = True

    def validate(self) -> None:
        check_span(self)

    def sections(self, layout: Layout) -> Iterator[Section]:
        """Gauss points of its part of the rod."""
        link = layout.links.get(self.rod)
        if link is None or link.link.rod is None:
            rods = [name for name, other in layout.links.items() if other.link.rod is not None]
            got = f"'{self.rod}'" + (", which has none" if link is not None else "")
            raise ModelError("rod", "the name of a link with a rod", got, nearest(self.rod, rods))
        for piece in link.spanned(self.kind, self.start, self.end):
            inside = np.flatnonzero(piece.gauss(link))
            areas = piece.division.section.properties(link.X[inside] - piece.start, piece.division.length).A
            for k, area in zip(inside, areas, strict=True):
                yield Section(int(link.nodes[k]), link.X[k], link.weight[k], link.X[-1], area, piece.material_moves)


@dataclass(frozen=True)
class LineLoad(RodLoad, kind="line", title="Loads along rods"):
    """Moment and force per length along a rod, between two places. It is integrated by the Gauss points of the rod."""

    template = "{rod: arm, force: [0, 0, -2 N/m]}"

    _: KW_ONLY
    moment: tuple[Any, ...] = key(
        SignalVector("line moment", VARIABLES), f"Moment per length of the unstrained rod; {_ENTRY}.",
        "[0, 0, 0.1 N*m/m]", default=NONE,
    )  # fmt: skip
    force: tuple[Any, ...] = key(
        SignalVector("line force", VARIABLES), "Force per length, as the moment.",
        "[0, 0, (-2 N/m)*(1 - s)*sin(t)]", default=NONE,
    )  # fmt: skip
    frame: str = key(
        Choice(("world", "body")), "Axes: world (directions stay) or body (they turn with the sections).", "body",
        default="world",
    )  # fmt: skip

    @classmethod
    def check_keys(cls, data: Mapping[str, object]) -> None:
        check_effect(data, "rod", "force: [0, 0, -2 N/m]")

    def data(self, writer: Writer) -> Any:
        return with_effect(super().data(writer))

    @property
    def wrench(self) -> tuple[Any, ...]:
        """All six entries, [moment; force]."""
        return (*self.moment, *self.force)

    def bind(self, layout: Layout) -> BoundLaw:
        """Collect the Gauss points, each with its share of the load."""
        kind, rows = DEAD if self.frame == "world" else FOLLOWER, []
        for point in self.sections(layout):
            if point.material_moves:
                refuse_places(self.wrench, {"X", "L"}, "line.wrench", "write it by s, the part of the length")
            entries = [entry_at(entry, point.X, point.length) for entry in self.wrench]
            values, varying = split_entries(entries, point.weight)
            if not np.isfinite(values).all():
                got = f"NaN or infinity at s = {point.X / point.length:.4g} of rod '{self.rod}'"
                raise ModelError("line.wrench", "a finite load", got)
            rows.append(LawRow(kind, point.node, values, varying, per_length=True))
        return BoundLaw(CompiledLaw(rows))


def refuse_places(entries: Iterable[object], names: set[str], where: str, hint: str) -> None:
    """Refuse expressions of these variables, for rods whose length is a coordinate (ModelError)."""
    for entry in entries:
        if isinstance(entry, Expression) and names & set(entry.used):
            expected = f"no expression of {' or '.join(sorted(names))} on a rod whose length is a coordinate"
            raise ModelError(where, expected, f"{entry.text!r}", hint)


def entry_at(entry: float | Expression | Signal, X: float, L: float) -> float | Signal:
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
