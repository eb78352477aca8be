"""Internal moments along a rod, by expressions: muscles, magnets, bimorphs."""

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


def _moment(doc: str, example: str) -> Any:
    return key(SectionFormula("moment"), doc, example, default=0.0)


@dataclass(frozen=True)
class DistributedMoment(DeclaredActuator, kind="moment", title="Moments inside rods"):
    """Internal moments in every section of a rod; its input is a number that multiplies them."""

    rod: str = key(RodName(), "Name of the link.", "arm")
    _: KW_ONLY
    torsion: float | Expression = _moment(
        "Moment that twists; an expression may use X, s, L, the radius r and the sizes of the section.", "0.1 N*m"
    )
    bending_y: float | Expression = _moment("Moment that bends about y.", "(0.1 N*m)*(1 - s)")
    bending_z: float | Expression = _moment("Moment that bends about z.", "(0.1 N*m)*sin(pi*s)")
    start: float = start_key()
    end: float = end_key()
    unit: ClassVar[str] = ""

    def validate(self) -> None:
        check_span(self)
        if all(getattr(self, name) == 0.0 for name in MOMENTS):
            raise ModelError("", "torsion, bending_y or bending_z", "none", "for instance bending_y: 1 N*m")

    @property
    def rods(self) -> Sequence[str]:
        """Its rod."""
        return [self.rod]

    def check(self, layout: Layout) -> None:
        """Refuse what does not fit the robot."""
        rod_of("moment.rod", self.rod, layout).spanned("moment", self.start, self.end)

    def rows(self, link: LinkLayout, piece: Piece, X: Array) -> list[tuple[int, Array]]:
        """Kind and values (n, 15) of its rows at arclengths X (n,) in a division, without weights."""
        if link.link.name != self.rod or piece not in link.spanned("moment", self.start, self.end):
            return []
        values = np.zeros((len(X), N_ROW_VALUES), dtype=number_type())
        for i, name in enumerate(MOMENTS):
            entry = getattr(self, name)
            if isinstance(entry, Expression):
                entry = place_values(f"moment.{name}", entry, link, piece, X)[:, 0]
            values[:, WRENCH + i] = entry
            if not np.isfinite(values).all():
                k = int(np.argmin(np.isfinite(values[:, WRENCH + i])))
                got = f"{values[k, WRENCH + i]} at s = {X[k] / link.X[-1]:.4g} of rod '{self.rod}'"
                raise ModelError(f"moment.{name}", "a finite moment", got)
        return [(WRENCH_ROW, values)]
