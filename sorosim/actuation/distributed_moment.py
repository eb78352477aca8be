"""Internal moments along a rod, by expressions: muscles, magnets, bimorphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sorosim.actuation.route import number_or_expression, place_values, rod_of
from sorosim.complex_step import number_type
from sorosim.errors import ModelError
from sorosim.kernels.fibres import FORCE_INPUT, N_FIBRE_VALUES, WRENCH, WRENCH_ROW
from sorosim.model.compile import Layout, LinkLayout, Piece
from sorosim.model.material import real_number
from sorosim.signals.expressions import Expression
from sorosim.validation import describe

Array = NDArray[np.float64]

MOMENTS = ("torsion", "bending_y", "bending_z")


@dataclass(frozen=True)
class DistributedMoment:
    """An internal moment in every section of a rod; its input is a number that multiplies it.

    Parameters
    ----------
    rod : str
        Name of the link.
    torsion, bending_y, bending_z : float or Expression
        Moments at an input of 1 [N m] that twist and bend the rod, in the axes of its sections; an Expression may use
        X [m], s = X/L, L [m], r and the section's own sizes.
    start, end : float
        From where to where, as fractions of the rod's length; boundaries of its divisions.
    """

    rod: str
    _: KW_ONLY
    torsion: float | Expression = 0.0
    bending_y: float | Expression = 0.0
    bending_z: float | Expression = 0.0
    start: float = 0.0
    end: float = 1.0
    unit: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if not isinstance(self.rod, str):
            raise ModelError("moment.rod", "the name of a link with a rod", describe(self.rod))
        for name in MOMENTS:
            value = number_or_expression(f"moment.{name}", getattr(self, name), "a moment [N m] or an Expression")
            object.__setattr__(self, name, value)
        if all(getattr(self, name) == 0.0 for name in MOMENTS):
            raise ModelError("moment", "torsion, bending_y or bending_z", "none", "for instance bending_y: 1 N*m")
        for name in ("start", "end"):
            value = real_number(f"moment.{name}", getattr(self, name), "a fraction from 0 to 1", least=0.0, upto=1.0)
            object.__setattr__(self, name, value)
        if not self.start < self.end:
            raise ModelError("moment.end", f"a fraction above start = {self.start:g}", f"{self.end:g}")

    @property
    def rods(self) -> Sequence[str]:
        """Its rod."""
        return [self.rod]

    def check(self, layout: Layout) -> None:
        """Refuse what does not fit the robot."""
        rod_of("moment.rod", self.rod, layout).spanned("moment", self.start, self.end)

    def rows(self, link: LinkLayout, piece: Piece, X: Array) -> list[tuple[int, Array]]:
        """Kind and values (n, 14) of its rows at arclengths X (n,) in a division, without weights."""
        if link.link.name != self.rod or piece not in link.spanned("moment", self.start, self.end):
            return []
        values = np.zeros((len(X), N_FIBRE_VALUES), dtype=number_type())
        for i, name in enumerate(MOMENTS):
            entry = getattr(self, name)
            is_formula = isinstance(entry, Expression)
            values[:, WRENCH + i] = (
                place_values(f"moment.{name}", entry, link, piece, X)[:, 0] if is_formula else entry
            )  # fmt: skip
            if not np.isfinite(values).all():
                k = int(np.argmin(np.isfinite(values[:, WRENCH + i])))
                got = f"{values[k, WRENCH + i]} at s = {X[k] / link.X[-1]:.4g} of rod '{self.rod}'"
                raise ModelError(f"moment.{name}", "a finite moment", got)
        return [(WRENCH_ROW, values)]

    def input(self, length: float) -> tuple[float, ...]:
        """What its input is; see kernels.fibres."""
        return FORCE_INPUT, 0.0, 0.0, 1.0
