"""Colours of robots, and of the strains and tensions that colours show."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array

from sorosim.base.arrays import Array, IntArray
from sorosim.mechanics.model.layout import Piece
from sorosim.view.viz.camera import grid_step
from sorosim.view.viz.geometry import BODY, TENDON, Geometry, Part
from sorosim.view.viz.options import STRAINS, TENSION

SOFT, RIGID, CORD, SHADOW = "#ee9170", "#93a3b8", "#3b3f46", "#dde0e5"
SOFT_OUTSIDE, SOFT_INSIDE = "#e07c5c", "#f3c9b6"  # of rods in which tendons are visible
AXIS_COLOURS = ("#d55e00", "#009e73", "#0072b2")  # of x, y, z
TRAIL_COLOURS = ("#882e72", "#009e73", "#56b4e9", "#e69f00", "#cc79a7", "#30343a")
TENSION_MAP, STRAIN_MAP = "viridis", "coolwarm"  # from nothing upwards; about zero


def part_colour(part: Part) -> str:
    """Code of the colour that a part has where colours show nothing."""
    return (part.colour or RIGID)[:7] if part.kind == BODY else CORD if part.kind == TENDON else SOFT


def rgb(colour: str) -> tuple[int, ...]:
    """Red, green and blue (0 to 255) of a colour code."""
    return tuple(bytes.fromhex(colour[1:7]))


def colour_map(quantity: str) -> str:
    """Name of the colour map of a quantity."""
    return TENSION_MAP if quantity == TENSION else STRAIN_MAP


class StrainField:
    """One strain at the drawn points, less that at q = 0: a matrix times q; `table` (n_stations, ndof), sparse.

    Of rods whose length is a coordinate, `stretched` are the stations, and their pieces: there the strain is over l/L.
    """

    def __init__(self, geometry: Geometry, strain: str) -> None:
        row, layouts = STRAINS.index(strain), geometry.robot.engine.layout.links
        entries: list[tuple[Array, int, IntArray]] = []
        self.stretched: list[tuple[int, Piece]] = []
        for k, (link, s) in enumerate(geometry.places):
            pieces = layouts[link].pieces
            if not pieces:
                continue
            X = s * float(layouts[link].X[-1])
            piece = next((p for p in pieces if p.start + p.division.length * (1.0 + 1e-9) >= X), pieces[-1])
            if piece.ends:
                self.stretched.append((k, piece))
            entries.append((piece.division.basis([X - piece.start])[0, :, row], k, piece.column + np.arange(piece.n)))
        values = np.concatenate([np.zeros(0), *(basis for basis, _, _ in entries)])
        rows = np.repeat([k for _, k, _ in entries], [len(basis) for basis, _, _ in entries]).astype(int)
        columns = np.concatenate([np.zeros(0), *(at for _, _, at in entries)]).astype(int)
        self.table = coo_array((values, (rows, columns)), (len(geometry.places), geometry.robot.ndof)).tocsr()
        self._station = geometry.station

    def at(self, q: Array) -> Array:
        """Values (n_points,) of the points; zero on what is not a rod."""
        return np.asarray(self.strains(q)[self._station])

    def strains(self, states: Array) -> Array:
        """Values (..., n_stations) at states (..., ndof)."""
        values = np.asarray(states @ self.table.T)
        for k, piece in self.stretched:
            values[..., k] /= piece.length_ratio(states)
        return values

    def range(self, states: Array) -> tuple[float, float]:
        """Least and greatest value at states (n, ndof)."""
        values = self.strains(states)
        return float(values.min(initial=0.0)), float(values.max(initial=0.0))


def round_range(low: float, high: float, about_zero: bool) -> tuple[float, float, int]:
    """Round numbers around a range, and the number of labels at a round step between them."""
    if about_zero:
        high = max(-low, high)
        step = grid_step(2.0 * high or 1.0)
        n = max(1, int(np.ceil(high / step - 1e-9)))  # steps on either side, so that zero has a label
        return -step * n, step * n, 2 * n + 1
    step = grid_step(max(high - low, 1e-3 * abs(high)) or 1.0)
    first = np.floor(low / step + 1e-9)
    last = max(np.ceil(high / step - 1e-9), first + 1.0)
    return float(step * first), float(step * last), round(last - first) + 1
