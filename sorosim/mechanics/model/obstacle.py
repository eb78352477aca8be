"""Obstacles of contacts that are no bodies: planes, holes, height fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.declare import Declared, Numbers, Quantity, Vector, key
from sorosim.base.declare.composite import TableOf
from sorosim.base.declare.handle import IN_SPACE, Handle, X, Z
from sorosim.base.errors import ModelError
from sorosim.base.registry import OBSTACLES, Registry

_LENGTH = Quantity("length", above=0.0)


class Obstacle(Declared):
    """What only stands in the way."""

    registry: ClassVar[Registry] = OBSTACLES


@dataclass(frozen=True)
class HalfSpace(Obstacle, kind="half_space", title="Half spaces"):
    """All below the plane z = 0."""


@dataclass(frozen=True)
class Plane(Obstacle, kind="plane", title="Planes"):
    """The plane z = 0, a thin wall with two sides."""


@dataclass(frozen=True)
class Pole(Obstacle, kind="pole", title="Poles"):
    """A cylinder along z without ends."""

    radius: float = key(_LENGTH, "Its radius.", "5 cm")
    handles = (Handle(radius=X),)


@dataclass(frozen=True)
class Pipe(Obstacle, kind="pipe", title="Pipes"):
    """The wall around a round hole along z, its middle at the origin."""

    radius: float = key(_LENGTH, "Of the hole.", "15 cm")
    length: float | None = key(
        _LENGTH, "Of the hole, beyond which the block around it ends.", "1 m",
        default=None, without="no ends",
    )  # fmt: skip
    handles = (Handle(radius=X), Handle(length=0.5 * Z))


@dataclass(frozen=True)
class Bowl(Obstacle, kind="bowl", title="Bowls"):
    """The wall around a hollow sphere."""

    radius: float = key(_LENGTH, "Of the hollow.", "30 cm")
    handles = (Handle(radius=X),)


@dataclass(frozen=True, eq=False)
class HeightField(Obstacle, kind="height_field", title="Height fields"):
    """All below a smooth surface z(x, y) through heights on a grid: cubic splines, twice differentiable.

    Beyond the grid the pieces of the splines at its rim go on, which are cubic.
    """

    heights: Array = key(
        TableOf(Numbers("length")),
        "Heights z at the points of the grid, a list for each x of those along y; at least 4 x 4.",
        "[[0, 0, 0, 0], [0, 0, 1 cm, 0], [0, 0, 0, 0], [0, 0, 0, 0]]",
    )
    size: tuple[float, ...] = key(
        Vector("length", (2,), above=0.0), "Extent of the grid along x and y, its middle at the origin.", "[1 m, 50 cm]"
    )
    handles = (Handle(size=0.5 * IN_SPACE[:2], apart=True),)

    def validate(self) -> None:
        try:
            heights = np.array(self.heights, dtype=float)
        except (TypeError, ValueError):
            heights = np.zeros(0)
        if heights.ndim != 2 or min(heights.shape) < 4 or not np.isfinite(heights).all():
            got = "rows of different lengths" if heights.ndim != 2 else f"an array of shape {heights.shape}"
            raise ModelError("heights", "at least 4 x 4 finite heights [m]", got)
        heights.setflags(write=False)
        self._set(heights=heights)
