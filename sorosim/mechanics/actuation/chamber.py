"""Pneumatic and hydraulic chambers along a route in a rod."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.complex_step import number_type
from sorosim.base.declare import Quantity, key
from sorosim.base.errors import ModelError
from sorosim.base.signals.expressions import Expression
from sorosim.mechanics.actuation.route import RoutedActuator, RouteSegment, SectionFormula, place_values, route_values
from sorosim.mechanics.kernels.rod_actuators import N_ROW_VALUES, ROUTE_ROW, STIFFNESS_ROW, WRENCH
from sorosim.mechanics.model.layout import LinkLayout, Piece


@dataclass(frozen=True)
class Chamber(RoutedActuator, kind="chamber", title="Chambers"):
    """A chamber along a way through rods; its input is the pressure in it [Pa], negative for a vacuum.

    Notes
    -----
    Its volume is the integral of area times stretch along the centre line, and the pressure works on the change of that
    volume: a push of pressure times area along the route. Left out is that a chamber swells across its route.
    One input may fill chambers in rods that are apart, as a pump does through hoses: each is closed at its ends.
    `stiffening` c multiplies the stiffness of the sections along the route by 1 + c p: layers or grains that jam.
    """

    template = "{rod: arm, y: 0, z: 1 cm, area: 1 cm^2}"

    _: KW_ONLY
    area: float | Expression | None = key(
        SectionFormula("area", above=0.0),
        "Cross-section of the chamber; an expression of the same variables as y. With `hole` that of the hole, "
        "which it fills.", "2 cm^2", default=None, without="required, but with `hole`",
    )  # fmt: skip
    stiffening: float = key(
        Quantity("inverse pressure"),
        "Part by which a unit of pressure raises the stiffness of its rods against all strains; negative for one that "
        "a vacuum makes stiff.", "0.5 1/bar", default=0.0,
    )  # fmt: skip
    unit: ClassVar[str] = "Pa"
    is_one_piece: ClassVar[bool] = False

    def validate(self) -> None:
        if self.area is None and any(run.hole is None for run in self.path):
            raise ModelError(
                "area", "the key 'area'", "nothing", "for instance area: 2 cm^2; or name the hole it fills"
            )

    def area_at(self, run: RouteSegment, link: LinkLayout, piece: Piece, X: Array) -> Array:
        """Its areas (n,) at arclengths X (n,) of the rod, on a stretch in a division."""
        if isinstance(self.area, Expression):
            return np.asarray(place_values("chamber.area", self.area, link, piece, X)[:, 0])
        if self.area is None:
            return np.asarray(run.void(piece).shape.properties(X - piece.start, piece.division.length).A)
        return np.full(len(X), self.area)

    def rows(self, link: LinkLayout, piece: Piece, X: Array) -> list[tuple[int, Array]]:
        """Kind and values (n, 15) of its rows at arclengths X (n,) in a division, without weights."""
        out = []
        for run in self.segments_in(link, piece):
            area = self.area_at(run, link, piece, X)
            fine = np.isfinite(area) & (area > 0.0)
            if not fine.all():
                k = int(np.argmin(fine))
                got = f"{area[k]:.4g} m^2 at s = {X[k] / link.X[-1]:.4g} of rod '{run.rod}'"
                raise ModelError("chamber.area", "an area greater than 0 everywhere", got)
            out.append((ROUTE_ROW, route_values(run.route(link, piece, X), -area)))
            if self.stiffening != 0.0:
                values = np.zeros((len(X), N_ROW_VALUES), dtype=number_type())
                values[:, WRENCH : WRENCH + 6] = self.stiffening * piece.division.line_stiffness(X - piece.start)
                out.append((STIFFNESS_ROW, values))
        return out
