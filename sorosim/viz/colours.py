"""What colours mean: values of the rods' strains or the tendons' tensions, their range, the bar that tells it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.viz.camera import grid_step
from sorosim.viz.geometry import TENDON, Geometry
from sorosim.viz.look import STRAINS, TENSION, UNITS
from sorosim.viz.words import INK, in_font

Array = NDArray[np.float64]

TENSION_MAP, STRAIN_MAP = "viridis", "coolwarm"  # from nothing upwards; about zero


class StrainValues:
    """One strain at the drawn points, less that at q = 0: a matrix times q; `table` (n_stations, ndof)."""

    def __init__(self, geometry: Geometry, strain: str) -> None:
        row, layouts = STRAINS.index(strain), geometry.robot.engine.layout.links
        table = np.zeros((len(geometry.places), geometry.robot.ndof))
        for k, (link, s) in enumerate(geometry.places):
            pieces = layouts[link].pieces
            if not pieces:
                continue
            X = s * float(layouts[link].X[-1])
            piece = next((p for p in pieces if p.start + p.division.length * (1.0 + 1e-9) >= X), pieces[-1])
            table[k, piece.column : piece.column + piece.n] = piece.division.basis([X - piece.start])[0, :, row]
        self.table, self._station = table, geometry.station

    def at(self, q: Array) -> Array:
        """Values (n_points,) of the points; zero on what is not a rod."""
        values: Array = (self.table @ q)[self._station]
        return values

    def range(self, states: Array) -> tuple[float, float]:
        """Least and greatest value at states (n, ndof)."""
        values = states @ self.table.T
        return float(values.min(initial=0.0)), float(values.max(initial=0.0))


def tension_columns(geometry: Geometry) -> list[int]:
    """Column of u of each drawn tendon."""
    return [geometry.robot.actuator_names.index(part.name) for part in geometry.parts if part.kind == TENDON]


def round_range(low: float, high: float, about_zero: bool) -> tuple[float, float, int]:
    """Round numbers around a range, and the number of labels at a round step between them."""
    if about_zero:
        high = max(-low, high)
        step = grid_step(2.0 * high or 1.0)
        n = max(1, int(np.ceil(high / step - 1e-9)))  # steps either side, so that zero has a label
        return -step * n, step * n, 2 * n + 1
    step = grid_step(max(high - low, 1e-3 * abs(high)) or 1.0)
    first = np.floor(low / step + 1e-9)
    last = max(np.ceil(high / step - 1e-9), first + 1.0)
    return float(step * first), float(step * last), round(last - first) + 1


def narrowness(size: Sequence[int]) -> float:
    """How many times the part of a window of a size is that letters need at its side, 1 in one of 16 to 9."""
    return min(16.0 / 9.0 * size[1] / size[0], 3.0)


class ScaleBar:
    """The colours of a quantity beside their numbers, with its unit."""

    def __init__(self, plotter: Any, mapper: Any, quantity: str, labels: int) -> None:
        place = {"position_x": 0.89, "position_y": 0.3, "width": 0.06, "height": 0.42}
        style = {"vertical": True, "fmt": "%.4g", "color": INK, "n_labels": labels}
        self.title = f"{quantity.replace('_', ' ')} [{UNITS[quantity]}]"
        self._plotter = plotter
        self._actor = plotter.add_scalar_bar(title=f"{self.title}\n", mapper=mapper, **place, **style)
        self._actor.SetTextPad(6)
        in_font(self._actor.GetTitleTextProperty())
        in_font(self._actor.GetLabelTextProperty())

    def scale(self, factor: float, size: Sequence[int]) -> None:
        """Set the sizes of the letters, 1 in a picture 720 pixels high, in a window of a size [pixels]."""
        part = narrowness(size)
        self._actor.SetPosition(1.0 - 0.11 * part, 0.3)
        self._actor.SetWidth(0.06 * part)
        self._actor.GetTitleTextProperty().SetFontSize(round(16.0 * factor))
        self._actor.GetLabelTextProperty().SetFontSize(round(16.0 * factor))

    def remove(self) -> None:
        """Take it out of the scene."""
        self._plotter.remove_scalar_bar(f"{self.title}\n", render=False)


def colour_map(quantity: str) -> str:
    """Name of the colour map of a quantity."""
    return TENSION_MAP if quantity == TENSION else STRAIN_MAP
