"""Internal wrenches along a rod, by expressions of the place: moments (muscles, bimorphs), eigenstrains (swelling)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.complex_step import number_type
from sorosim.base.declare import key
from sorosim.base.errors import ModelError
from sorosim.base.signals.expressions import Expression
from sorosim.mechanics.actuation.base import DeclaredActuator
from sorosim.mechanics.actuation.route import SectionFormula, place_values, rod_of
from sorosim.mechanics.kernels.rod_actuators import N_ROW_VALUES, WRENCH, WRENCH_ROW
from sorosim.mechanics.model.layout import Layout, LinkLayout, Piece
from sorosim.mechanics.model.span import RodName, check_span, end_key, start_key

MOMENTS = ("torsion", "bending_y", "bending_z")


def _entry(dimension: str, doc: str, example: str) -> Any:
    return key(SectionFormula(dimension), doc, example, default=0.0)


@dataclass(frozen=True)
class AlongRod(DeclaredActuator):
    """What acts in every section of a rod by expressions of the place; its input is a number that multiplies them."""

    rod: str = key(RodName(), "Name of the link.", "arm")
    _: KW_ONLY
    start: float = start_key()
    end: float = end_key()
    unit: ClassVar[str] = ""
    entries: ClassVar[tuple[str, ...]] = MOMENTS  # conjugate to the first strains of a section
    quantity: ClassVar[str] = "moment"

    def validate(self) -> None:
        check_span(self)
        if all(getattr(self, name, 0.0) == 0.0 for name in self.entries):
            *others, last = self.entries
            example = "1 N*m" if self.quantity == "moment" else "1 1/m"
            raise ModelError("", f"{', '.join(others)} or {last}", "none", f"for instance bending_y: {example}")

    @property
    def rods(self) -> Sequence[str]:
        """Its rod."""
        return [self.rod]

    def check(self, layout: Layout) -> None:
        """Refuse what does not fit the robot."""
        rod_of(f"{self.kind}.rod", self.rod, layout).spanned(self.kind, self.start, self.end)

    def wrenches(self, entries: Array, piece: Piece, X: Array) -> Array:
        """Internal wrenches (n, k) per unit input of its k entries (n, k) at arclengths X (n,)."""
        return entries

    def rows(self, link: LinkLayout, piece: Piece, X: Array) -> list[tuple[int, Array]]:
        """Kind and values (n, 15) of its rows at arclengths X (n,) in a division, without weights."""
        if link.link.name != self.rod or piece not in link.spanned(self.kind, self.start, self.end):
            return []
        values = np.zeros((len(X), N_ROW_VALUES), dtype=number_type())
        own = values[:, WRENCH : WRENCH + len(self.entries)]
        for i, name in enumerate(self.entries):
            entry = getattr(self, name)
            if isinstance(entry, Expression):
                entry = place_values(f"{self.kind}.{name}", entry, link, piece, X)[:, 0]
            own[:, i] = entry
            if not np.isfinite(own[:, i]).all():
                k = int(np.argmin(np.isfinite(own[:, i])))
                got = f"{own[k, i]} at s = {X[k] / link.X[-1]:.4g} of rod '{self.rod}'"
                raise ModelError(f"{self.kind}.{name}", f"a finite {type(self).quantity}", got)
        own[:] = self.wrenches(own, piece, X)
        return [(WRENCH_ROW, values)]


@dataclass(frozen=True)
class DistributedMoment(AlongRod, kind="moment", title="Moments inside rods"):
    """Internal moments in every section of a rod; its input is a number that multiplies them."""

    template = "{rod: arm, bending_y: 0.1 N*m}"

    _: KW_ONLY
    torsion: float | Expression = _entry(
        "moment",
        "Moment that twists; an expression may use X, s, L, the radius r and the sizes of the section.",
        "0.1 N*m",
    )
    bending_y: float | Expression = _entry("moment", "Moment that bends about y.", "(0.1 N*m)*(1 - s)")
    bending_z: float | Expression = _entry("moment", "Moment that bends about z.", "(0.1 N*m)*sin(pi*s)")


@dataclass(frozen=True)
class Eigenstrain(AlongRod, kind="eigenstrain", title="Eigenstrains of rods"):
    """A change of the strain in which a rod is at rest, as by swelling, heat or light; its input multiplies it.

    It acts as the stiffness of the section, that of small strains, times the strain.
    """

    template = "{rod: arm, bending_y: 1 1/m}"

    _: KW_ONLY
    torsion: float | Expression = _entry(
        "curvature",
        "Twist per length; an expression may use X, s, L, the radius r and the sizes of the section.",
        "2 1/m",
    )
    bending_y: float | Expression = _entry("curvature", "Curvature about y.", "(5 1/m)*(1 - s)")
    bending_z: float | Expression = _entry("curvature", "Curvature about z.", "(5 1/m)*sin(pi*s)")
    elongation: float | Expression = _entry("number", "Stretch beyond 1.", "0.1")

    entries: ClassVar[tuple[str, ...]] = (*MOMENTS, "elongation")
    quantity: ClassVar[str] = "strain"

    def wrenches(self, entries: Array, piece: Piece, X: Array) -> Array:
        """Stiffness times strain."""
        return np.asarray(entries * piece.division.line_stiffness(X - piece.start)[:, : entries.shape[1]])
