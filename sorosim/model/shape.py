"""Shapes of rigid bodies: what they fill and how it is spread, each in a frame of its own."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.declare import Declared, Quantity, Vector, key
from sorosim.registry import SHAPES, Registry

Array = NDArray[np.float64]


class Moments(NamedTuple):
    """Integrals over the volume of a shape, in its own frame."""

    volume: float  # [m^3]
    centroid: Array  # (3,) [m]
    second: Array  # (3, 3) integral of x x^T, x from the centroid [m^5]


@dataclass(frozen=True)
class Shape(Declared):
    """What a part of a rigid body fills, in a frame of its own."""

    registry: ClassVar[Registry] = SHAPES

    @property
    @abstractmethod
    def moments(self) -> Moments:
        """Volume, centroid and second moments."""


_LENGTH = Quantity("length", above=0.0)


def _symmetric(volume: float, *squares: float, z: float = 0.0) -> Moments:
    """Moments of a shape from its mean squares along x, y and z; its centroid is on the z axis."""
    return Moments(volume, np.array([0.0, 0.0, z]), volume * np.diag(squares))


@dataclass(frozen=True)
class Box(Shape, kind="box", title="Boxes"):
    """A box around the origin."""

    size: tuple[float, ...] = key(
        Vector("length", above=0.0), "Lengths of the edges along x, y and z.", "[10 cm, 5 cm, 2 cm]"
    )

    @property
    def moments(self) -> Moments:
        a, b, c = self.size
        return _symmetric(a * b * c, a * a / 12.0, b * b / 12.0, c * c / 12.0)


@dataclass(frozen=True)
class Cylinder(Shape, kind="cylinder", title="Cylinders"):
    """A cylinder along z, its middle at the origin."""

    radius: float = key(_LENGTH, "Radius.", "2 cm")
    length: float = key(_LENGTH, "Length along z.", "10 cm")

    @property
    def moments(self) -> Moments:
        r, h = self.radius, self.length
        return _symmetric(np.pi * r * r * h, r * r / 4.0, r * r / 4.0, h * h / 12.0)


@dataclass(frozen=True)
class Cone(Shape, kind="cone", title="Cones"):
    """A cone along z, half its height at the origin: base at -length/2, tip at +length/2.

    Its centre of mass is a quarter of its height below.
    """

    radius: float = key(_LENGTH, "Radius of its base.", "2 cm")
    length: float = key(_LENGTH, "Height along z.", "10 cm")

    @property
    def moments(self) -> Moments:
        r, h = self.radius, self.length
        across = 3.0 / 20.0 * r * r
        return _symmetric(np.pi * r * r * h / 3.0, across, across, 3.0 / 80.0 * h * h, z=-h / 4.0)


@dataclass(frozen=True)
class Sphere(Shape, kind="sphere", title="Spheres"):
    """A sphere around the origin."""

    radius: float = key(_LENGTH, "Radius.", "2 cm")

    @property
    def moments(self) -> Moments:
        r = self.radius
        return _symmetric(4.0 / 3.0 * np.pi * r**3, *(r * r / 5.0,) * 3)


@dataclass(frozen=True)
class Ellipsoid(Shape, kind="ellipsoid", title="Ellipsoids"):
    """An ellipsoid around the origin."""

    radii: tuple[float, ...] = key(Vector("length", above=0.0), "Half axes along x, y and z.", "[5 cm, 3 cm, 2 cm]")

    @property
    def moments(self) -> Moments:
        a, b, c = self.radii
        return _symmetric(4.0 / 3.0 * np.pi * a * b * c, a * a / 5.0, b * b / 5.0, c * c / 5.0)


@dataclass(frozen=True)
class Capsule(Shape, kind="capsule", title="Capsules"):
    """A cylinder along z with half a sphere on either end, its middle at the origin."""

    radius: float = key(_LENGTH, "Radius of the cylinder and of the half spheres.", "2 cm")
    length: float = key(_LENGTH, "Length of the cylinder, between the centres of the half spheres.", "10 cm")

    @property
    def moments(self) -> Moments:
        r, h = self.radius, self.length
        tube, ball = np.pi * r * r * h, 4.0 / 3.0 * np.pi * r**3
        across = tube * r * r / 4.0 + ball * r * r / 5.0
        # the centroid of half a sphere is 3/8 of its radius beyond its flat side
        along = tube * h * h / 12.0 + ball * (r * r / 5.0 + 3.0 / 8.0 * r * h + h * h / 4.0)
        return Moments(tube + ball, np.zeros(3), np.diag([across, across, along]))
