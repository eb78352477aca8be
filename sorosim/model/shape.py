"""Shapes of rigid bodies: what they fill and how it is spread, each in a frame of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.model.material import real_number
from sorosim.model.pose import vector3

Array = NDArray[np.float64]


class Moments(NamedTuple):
    """Integrals over the volume of a shape, in its own frame."""

    volume: float  # [m^3]
    centroid: Array  # (3,) [m]
    second: Array  # (3, 3) integral of x x^T, x from the centroid [m^5]


class Shape(ABC):
    """What a part of a rigid body fills. Frozen; sizes are checked when it is made."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def moments(self) -> Moments:
        """Volume, centroid and second moments."""


def _length(where: str, value: Any) -> float:
    return real_number(where, value, "a positive length [m]", above=0.0)


def _symmetric(volume: float, *squares: float, z: float = 0.0) -> Moments:
    """Moments of a shape from its mean squares along x, y and z; its centroid is on the z axis."""
    return Moments(volume, np.array([0.0, 0.0, z]), volume * np.diag(squares))


@dataclass(frozen=True)
class Box(Shape):
    """A box around the origin.

    Parameters
    ----------
    size : three numbers
        Lengths of its edges along x, y and z [m].
    """

    size: tuple[float, float, float]
    kind = "box"

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", vector3("box.size", self.size, "three positive lengths [m]", above=0.0))

    @property
    def moments(self) -> Moments:
        a, b, c = self.size
        return _symmetric(a * b * c, a * a / 12.0, b * b / 12.0, c * c / 12.0)


@dataclass(frozen=True)
class Ellipsoid(Shape):
    """An ellipsoid around the origin.

    Parameters
    ----------
    radii : three numbers
        Its half axes along x, y and z [m].
    """

    radii: tuple[float, float, float]
    kind = "ellipsoid"

    def __post_init__(self) -> None:
        radii = vector3("ellipsoid.radii", self.radii, "three positive lengths [m]", above=0.0)
        object.__setattr__(self, "radii", radii)

    @property
    def moments(self) -> Moments:
        a, b, c = self.radii
        return _symmetric(4.0 / 3.0 * np.pi * a * b * c, a * a / 5.0, b * b / 5.0, c * c / 5.0)


@dataclass(frozen=True)
class Sphere(Shape):
    """A sphere around the origin.

    Parameters
    ----------
    radius : float
        [m]
    """

    radius: float
    kind = "sphere"

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _length("sphere.radius", self.radius))

    @property
    def moments(self) -> Moments:
        return Ellipsoid((self.radius,) * 3).moments


@dataclass(frozen=True)
class _Round(Shape):
    radius: float
    length: float

    def __post_init__(self) -> None:
        for name in ("radius", "length"):
            object.__setattr__(self, name, _length(f"{self.kind}.{name}", getattr(self, name)))


class Cylinder(_Round):
    """A cylinder along z, its middle at the origin.

    Parameters
    ----------
    radius, length : float
        [m]
    """

    kind = "cylinder"

    @property
    def moments(self) -> Moments:
        r, h = self.radius, self.length
        return _symmetric(np.pi * r * r * h, r * r / 4.0, r * r / 4.0, h * h / 12.0)


class Cone(_Round):
    """A cone along z: its base at z = -length/2, its tip at z = +length/2.

    The origin is at half its height; its centre of mass is a quarter of its height below.

    Parameters
    ----------
    radius : float
        Of its base [m].
    length : float
        Its height [m].
    """

    kind = "cone"

    @property
    def moments(self) -> Moments:
        r, h = self.radius, self.length
        across = 3.0 / 20.0 * r * r
        return _symmetric(np.pi * r * r * h / 3.0, across, across, 3.0 / 80.0 * h * h, z=-h / 4.0)


class Capsule(_Round):
    """A cylinder along z with half a sphere on either end, its middle at the origin.

    Parameters
    ----------
    radius : float
        Of the cylinder and of the spheres [m].
    length : float
        Of the cylinder, so between the centres of the spheres [m].
    """

    kind = "capsule"

    @property
    def moments(self) -> Moments:
        r, h = self.radius, self.length
        tube, ball = np.pi * r * r * h, 4.0 / 3.0 * np.pi * r**3
        across = tube * r * r / 4.0 + ball * r * r / 5.0
        # the centroid of half a sphere is 3/8 of its radius beyond its flat side
        along = tube * h * h / 12.0 + ball * (r * r / 5.0 + 3.0 / 8.0 * r * h + h * h / 4.0)
        return Moments(tube + ball, np.zeros(3), np.diag([across, across, along]))
