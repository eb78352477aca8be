"""Pneumatic and hydraulic chambers along a route in a rod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sorosim.actuation.base import DeclaredActuator
from sorosim.actuation.route import RUN_OR_PATH, RUNS, Run, SectionFormula, check_path, check_runs, place_values
from sorosim.actuation.tendon import here, route_values
from sorosim.declare import key
from sorosim.errors import ModelError
from sorosim.kernels.fibres import FORCE_INPUT, ROUTE_ROW
from sorosim.model.compile import Layout, LinkLayout, Piece
from sorosim.signals.expressions import Expression

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Chamber(DeclaredActuator, kind="chamber", title="Chambers"):
    """A chamber along a way through rods; its input is the pressure in it [Pa], negative for a vacuum.

    Notes
    -----
    Its volume is the integral of area times stretch along the centre line, and the pressure works on the change of that
    volume: a push of pressure times area along the route. Left out is that a chamber swells across its route.
    """

    runs: tuple[Run, ...] = key(
        RUNS, "Rods from base to tip, each fixed to the one before.", "[{rod: arm, y: 0, z: 1 cm}]", name="path"
    )
    _: KW_ONLY
    area: float | Expression = key(
        SectionFormula("area", above=0.0),
        "Cross-section of the chamber; an expression of the same variables as y.", "2 cm^2",
    )  # fmt: skip
    unit: ClassVar[str] = "Pa"

    alternatives = (RUN_OR_PATH,)

    @classmethod
    def check_keys(cls, data: Mapping[str, Any]) -> None:
        check_path(cls, data)

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
