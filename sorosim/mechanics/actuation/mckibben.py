"""McKibben muscles: braided tubes that shorten under pressure (docs/theory.md, 6)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.declare import Quantity, key
from sorosim.mechanics.actuation.route import RoutedActuator, route_stretch, route_values
from sorosim.mechanics.kernels.rod_actuators import BRAID, ROUTE_ROW, TENSION_INPUT
from sorosim.mechanics.model.layout import LinkLayout, Piece

# angle of the fibres at which the tube encloses the most, and no longer pulls: tan^2 = 2
NEUTRAL_ANGLE = float(np.arctan(np.sqrt(2.0)))


@dataclass(frozen=True)
class Mckibben(RoutedActuator, kind="mckibben", title="McKibben muscles"):
    """A braided tube along a way through rods; its input is the pressure in it [Pa], below zero of no effect.

    Notes
    -----
    Its fibres do not stretch, so a piece of nu times its length of rest has the volume of a cylinder whose radius
    follows from the braid, and pulls by minus the pressure times the derivative of the volume (Chou and Hannaford 1996;
    Tondu and Lopez 2000, without correction of the ends),

        T = p pi r^2 (3 nu^2/tan^2 alpha - 1/sin^2 alpha)

    at every section: none where the fibres have come to 54.7 degrees. The tube's rubber is part of the rod.
    """

    _: KW_ONLY
    radius: float = key(Quantity("length", above=0.0), "Inner radius of the tube at rest.", "5 mm")
    braid: float = key(
        Quantity("angle", above=0.0, upto=NEUTRAL_ANGLE), "Angle of the fibres to the muscle's axis at rest.", "25 deg"
    )
    unit: ClassVar[str] = "Pa"
    only_pulls: ClassVar[bool] = True

    def rows(self, link: LinkLayout, piece: Piece, X: Array) -> list[tuple[int, Array]]:
        """Kind and values (n, 15) of its rows at arclengths X (n,) in a division, without weights."""
        out = []
        reference = piece.division.reference.values(X - piece.start, piece.division.length)
        area = np.pi * self.radius**2
        for run in self.segments_in(link, piece):
            route = run.route(link, piece, X)
            values = route_values(route, -area / np.sin(self.braid) ** 2)
            length = route_stretch(*route, reference)
            values[:, BRAID] = 3.0 * area / (np.tan(self.braid) * length) ** 2
            out.append((ROUTE_ROW, values))
        return out

    def input(self, length: float) -> tuple[float, ...]:
        """What its input is; see kernels.rod_actuators."""
        return TENSION_INPUT, 0.0, 0.0, 1.0
