"""Surfaces without a volume of their own: grounds, walls, pipes and terrain that something touches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sorosim.errors import ModelError
from sorosim.model.material import real_number
from sorosim.model.shape import Array
from sorosim.validation import describe


class Obstacle:
    """What only stands in the way. Frozen; sizes are checked when it is made."""

    kind: ClassVar[str]


def _positive(where: str, value: Any) -> float:
    return real_number(where, value, "a positive length [m]", above=0.0)


@dataclass(frozen=True)
class HalfSpace(Obstacle):
    """All that is below the plane z = 0."""

    kind = "half_space"


@dataclass(frozen=True)
class Plane(Obstacle):
    """The plane z = 0, a thin wall that is touched from both sides."""

    kind = "plane"


@dataclass(frozen=True)
class Pole(Obstacle):
    """A cylinder along z without ends.

    Parameters
    ----------
    radius : float
        [m]
    """

    radius: float
    kind = "pole"

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _positive("pole.radius", self.radius))


@dataclass(frozen=True)
class Pipe(Obstacle):
    """The wall around a round hole along z, its middle at the origin.

    Parameters
    ----------
    radius : float
        Of the hole [m].
    length : float, optional
        Of the hole [m]; beyond it the block that it is drilled into ends. Without it the hole has no ends.
    """

    radius: float
    length: float | None = None
    kind = "pipe"

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _positive("pipe.radius", self.radius))
        if self.length is not None:
            object.__setattr__(self, "length", _positive("pipe.length", self.length))


@dataclass(frozen=True)
class Bowl(Obstacle):
    """The wall around a hollow sphere.

    Parameters
    ----------
    radius : float
        Of the hollow [m].
    """

    radius: float
    kind = "bowl"

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _positive("bowl.radius", self.radius))


@dataclass(frozen=True, eq=False)
class HeightField(Obstacle):
    """All that is below a smooth surface z(x, y) through given heights: cubic splines, twice differentiable.

    Parameters
    ----------
    heights : (n_x, n_y) array_like
        At the points of a regular grid [m], at least 4 x 4.
    size : two numbers
        Extent of the grid along x and y [m]; its middle is at the origin. Beyond it the pieces of the
        splines at its rim go on, which are cubic.
    """

    heights: Array
    size: tuple[float, float]
    kind = "height_field"

    def __post_init__(self) -> None:
        try:
            heights = np.array(self.heights, dtype=float)
        except (TypeError, ValueError):
            heights = np.zeros(0)
        if heights.ndim != 2 or min(heights.shape) < 4 or not np.isfinite(heights).all():
            got = describe(self.heights) if heights.ndim != 2 else f"an array of shape {heights.shape}"
            raise ModelError("height_field.heights", "at least 4 x 4 finite heights [m]", got)
        heights.setflags(write=False)
        object.__setattr__(self, "heights", heights)
        given: Any = self.size
        if not isinstance(given, tuple | list | np.ndarray) or len(given) != 2:
            raise ModelError("height_field.size", "two positive lengths [m]", describe(given))
        object.__setattr__(self, "size", tuple(_positive("height_field.size", value) for value in given))
