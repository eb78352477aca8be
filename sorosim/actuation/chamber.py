"""Pneumatic and hydraulic chambers along a route in a rod."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sorosim.actuation.route import Run, as_runs, check_runs, number_or_expression, place_values
from sorosim.actuation.tendon import here, route_values
from sorosim.errors import ModelError
from sorosim.kernels.fibres import FORCE_INPUT, ROUTE_ROW
from sorosim.model.compile import Layout, LinkLayout, Piece
from sorosim.signals.expressions import Expression

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Chamber:
    """A chamber of given cross-section along a route; its input is the pressure in it [Pa], negative for a vacuum.

    Parameters
    ----------
    runs : sequence of Run
        The way of its centre line, as that of a tendon.
    area : float or Expression
        Of its cross-section [m^2], of the same variables as a route.

    Notes
    -----
    Its volume is the integral of area times stretch along the centre line, and the pressure works on the change of that
    volume: a push of pressure times area along the route. Left out is that a chamber swells across its route.
    """

    runs: tuple[Run, ...]
    _: KW_ONLY
    area: float | Expression
    unit: ClassVar[str] = "Pa"

    def __post_init__(self) -> None:
        object.__setattr__(self, "runs", as_runs("chamber", self.runs))
        object.__setattr__(self, "area", number_or_expression("chamber.area", self.area, "an area [m^2]"))
        if not isinstance(self.area, Expression) and self.area <= 0.0:
            raise ModelError("chamber.area", "an area greater than 0 [m^2]", f"{self.area:g}")

    @property
    def rods(self) -> Sequence[str]:
        """The rods it runs through."""
        return [run.rod for run in self.runs]

    def check(self, layout: Layout) -> None:
        """Refuse routes that do not fit the robot."""
        check_runs("chamber", self.runs, layout)

    def rows(self, link: LinkLayout, piece: Piece, X: Array) -> list[tuple[int, Array]]:
        """Kind and values (n, 14) of its rows at arclengths X (n,) in a division, without weights."""
        out = []
        for run in here(self.runs, link, piece):
            if isinstance(self.area, Expression):
                area = place_values("chamber.area", self.area, link, piece, X)[:, 0]
            else:
                area = np.full(len(X), self.area)
            fine = np.isfinite(area) & (area > 0.0)
            if not fine.all():
                k = int(np.argmin(fine))
                got = f"{area[k]:.4g} m^2 at s = {X[k] / link.X[-1]:.4g} of rod '{run.rod}'"
                raise ModelError("chamber.area", "an area greater than 0 everywhere", got)
            out.append((ROUTE_ROW, route_values(run.route(link, piece, X), -area)))
        return out

    def input(self, length: float) -> tuple[float, ...]:
        """What its input is; see kernels.fibres."""
        return FORCE_INPUT, 0.0, 0.0, 1.0
