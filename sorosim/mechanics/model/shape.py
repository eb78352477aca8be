"""Shapes of rigid bodies: what they fill and how it is spread, each in a frame of its own."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from sorosim.base.arrays import Array, IntArray
from sorosim.base.declare import Declared, Quantity, Vector, key
from sorosim.base.declare.handle import IN_SPACE, Handle, X, Z
from sorosim.base.registry import SHAPES, Registry


class Moments(NamedTuple):
    """Integrals over the volume of a shape, in its own frame."""

    volume: float  # [m^3]
    centroid: Array  # (3,) [m]
    second: Array  # (3, 3) integral of x x^T, x from the centroid [m^5]


@dataclass(frozen=True)
class Shape(Declared):
    """What a part of a rigid body fills, in a frame of its own."""

    registry: ClassVar[Registry] = SHAPES
    drag: ClassVar[tuple[float, float, float]] = (1.05, 1.05, 1.05)  # in a flow along x, y and z, by `faces_to_flow`
    has_corners: ClassVar[bool] = True  # whether it stirs a fluid where it turns about an axis of symmetry

    @property
    @abstractmethod
    def moments(self) -> Moments:
        """Volume, centroid and second moments."""

    @property
    @abstractmethod
    def half_extents(self) -> Array:
        """Half of its lengths (3,) along x, y and z [m]."""

    @property
    def faces_to_flow(self) -> Array:
        """Areas (3,) that face a flow along x, y and z [m^2]; of a box as large, unless it has others."""
        a, b, c = self.half_extents
        return 4.0 * np.array([b * c, a * c, a * b])

    def surface(self, n_around: int) -> tuple[Array, IntArray] | None:
        """Points (n, 3) and triangles (m, 3), counter-clockwise seen from outside, for drawing.

        None: a box as large, or what `viz.surfaces` knows.
        """
        return None


# below, a superellipsoid is a box or a cylinder but for rounding
LEAST_ROUNDNESS = 0.05
_LENGTH = Quantity("length", above=0.0)


def _symmetric(volume: float, *squares: float, z: float = 0.0) -> Moments:
    """Moments of a shape from its mean squares along x, y and z; its centroid is on the z axis."""
    return Moments(volume, np.array([0.0, 0.0, z]), volume * np.diag(squares))


def _along_z(side: float, radius: float) -> Array:
    """Faces of a shape that is round about z, from its area seen from the side."""
    return np.array([side, side, np.pi * radius**2])


@dataclass(frozen=True)
class Box(Shape, kind="box", title="Boxes"):
    """A box around the origin."""

    size: tuple[float, ...] = key(
        Vector("length", above=0.0), "Lengths of the edges along x, y and z.", "[10 cm, 5 cm, 2 cm]"
    )
    handles = (Handle(size=0.5 * IN_SPACE, apart=True),)

    @property
    def moments(self) -> Moments:
        a, b, c = self.size
        return _symmetric(a * b * c, a * a / 12.0, b * b / 12.0, c * c / 12.0)

    @property
    def half_extents(self) -> Array:
        return 0.5 * np.array(self.size)


@dataclass(frozen=True)
class Cylinder(Shape, kind="cylinder", title="Cylinders"):
    """A cylinder along z, its middle at the origin."""

    radius: float = key(_LENGTH, "Radius.", "2 cm")
    length: float = key(_LENGTH, "Length along z.", "10 cm")

    drag = (1.1, 1.1, 0.82)
    handles = (Handle(radius=X), Handle(length=0.5 * Z))
    has_corners = False

    @property
    def moments(self) -> Moments:
        r, h = self.radius, self.length
        return _symmetric(np.pi * r * r * h, r * r / 4.0, r * r / 4.0, h * h / 12.0)

    @property
    def half_extents(self) -> Array:
        return np.array([self.radius, self.radius, 0.5 * self.length])

    @property
    def faces_to_flow(self) -> Array:
        r, h = self.radius, self.length
        return _along_z(2.0 * r * h, r)


@dataclass(frozen=True)
class Cone(Shape, kind="cone", title="Cones"):
    """A cone along z, half its height at the origin: base at -length/2, tip at +length/2.

    Its centre of mass is a quarter of its height below.
    """

    radius: float = key(_LENGTH, "Radius of its base.", "2 cm")
    length: float = key(_LENGTH, "Height along z.", "10 cm")

    drag = (1.1, 1.1, 0.8)
    handles = (Handle({"length": -0.5 * Z}, radius=X), Handle(length=0.5 * Z))
    has_corners = False

    @property
    def moments(self) -> Moments:
        r, h = self.radius, self.length
        across = 3.0 / 20.0 * r * r
        return _symmetric(np.pi * r * r * h / 3.0, across, across, 3.0 / 80.0 * h * h, z=-h / 4.0)

    @property
    def half_extents(self) -> Array:
        return np.array([self.radius, self.radius, 0.5 * self.length])

    @property
    def faces_to_flow(self) -> Array:
        r, h = self.radius, self.length
        return _along_z(r * h, r)


@dataclass(frozen=True)
class Sphere(Shape, kind="sphere", title="Spheres"):
    """A sphere around the origin."""

    radius: float = key(_LENGTH, "Radius.", "2 cm")

    drag = (0.47, 0.47, 0.47)
    handles = (Handle(radius=X),)
    has_corners = False

    @property
    def moments(self) -> Moments:
        r = self.radius
        return _symmetric(4.0 / 3.0 * np.pi * r**3, *(r * r / 5.0,) * 3)

    @property
    def half_extents(self) -> Array:
        return np.full(3, self.radius)

    @property
    def faces_to_flow(self) -> Array:
        return np.full(3, np.pi * self.radius**2)


@dataclass(frozen=True)
class Ellipsoid(Shape, kind="ellipsoid", title="Ellipsoids"):
    """An ellipsoid around the origin."""

    radii: tuple[float, ...] = key(Vector("length", above=0.0), "Half axes along x, y and z.", "[5 cm, 3 cm, 2 cm]")

    drag = (0.47, 0.47, 0.47)
    handles = (Handle(radii=IN_SPACE, apart=True),)
    has_corners = False

    @property
    def moments(self) -> Moments:
        a, b, c = self.radii
        return _symmetric(4.0 / 3.0 * np.pi * a * b * c, a * a / 5.0, b * b / 5.0, c * c / 5.0)

    @property
    def half_extents(self) -> Array:
        return np.array(self.radii)

    @property
    def faces_to_flow(self) -> Array:
        a, b, c = self.radii
        return np.pi * np.array([b * c, a * c, a * b])


@dataclass(frozen=True)
class Superellipsoid(Shape, kind="superellipsoid", title="Superellipsoids"):
    """A superellipsoid around the origin: ((x/a)^(2/e2) + (y/b)^(2/e2))^(e2/e1) + (z/c)^(2/e1) = 1.

    Of roundness (1, 1) it is an ellipsoid, towards (0, 1) a cylinder, towards (0, 0) a box.

    Notes
    -----
    Source: Barr, "Superquadrics and angle-preserving transformations", IEEE CGA 1(1), 1981; volume and inertia of
    Jaklic, Leonardis, Solina, "Segmentation and Recovery of Superquadrics", 2000, section 2.4.
    """

    radii: tuple[float, ...] = key(
        Vector("length", above=0.0), "Half axes a, b, c along x, y and z.", "[5 cm, 3 cm, 2 cm]"
    )
    roundness: tuple[float, ...] = key(
        Vector("number", (2,), least=LEAST_ROUNDNESS, upto=1.0),
        "Exponents e1 of its outline along z and e2 of its cross section: 1 round, towards 0 square.", "[0.2, 1]",
    )  # fmt: skip
    handles = (Handle(radii=IN_SPACE, apart=True),)

    @property
    def drag(self) -> tuple[float, float, float]:  # type: ignore[override]
        """Between that of an ellipsoid and that of a box."""
        square = 1.0 - 0.5 * sum(self.roundness)
        return tuple((1.0 - square) * a + square * b for a, b in zip(Ellipsoid.drag, Box.drag, strict=True))  # type: ignore[return-value]

    @property
    def has_corners(self) -> bool:  # type: ignore[override]
        """Unless it is round about z."""
        return bool(self.roundness[1] < 1.0)

    @property
    def moments(self) -> Moments:
        (a, b, c), (e1, e2) = self.radii, self.roundness
        size, beta = a * b * c * e1 * e2, _beta
        volume = 2.0 * size * beta(0.5 * e1 + 1.0, e1) * beta(0.5 * e2, 0.5 * e2)
        across = 0.5 * size * beta(1.5 * e2, 0.5 * e2) * beta(0.5 * e1, 2.0 * e1 + 1.0) / volume
        along = size * beta(0.5 * e2, 0.5 * e2) * beta(1.5 * e1, e1 + 1.0) / volume
        return _symmetric(volume, a * a * across, b * b * across, c * c * along)

    @property
    def half_extents(self) -> Array:
        return np.array(self.radii)

    @property
    def faces_to_flow(self) -> Array:
        from scipy.special import gamma

        (a, b, c), (e1, e2) = self.radii, self.roundness
        along, across = (4.0 * gamma(1.0 + 0.5 * e) ** 2 / gamma(1.0 + e) for e in (e1, e2))
        return np.array([along * b * c, along * a * c, across * a * b])

    def surface(self, n_around: int) -> tuple[Array, IntArray]:
        e1, e2 = self.roundness
        rows = n_around // 2 - 1  # without the poles
        up = np.linspace(-0.5 * np.pi, 0.5 * np.pi, rows + 2)[1:-1, None]
        around = 2.0 * np.pi * np.arange(n_around) / n_around
        wide, high = _power(np.cos(up), e1), _power(np.sin(up), e1)
        ring = [wide * _power(np.cos(around), e2), wide * _power(np.sin(around), e2), high + 0.0 * around]
        points = np.stack(ring, axis=-1).reshape(-1, 3)
        points = np.vstack([[0.0, 0.0, -1.0], points, [0.0, 0.0, 1.0]]) * self.radii
        k = np.arange(n_around)
        here = 1 + n_around * np.arange(rows)[:, None] + k
        ahead, last = np.roll(here, -1, axis=1), np.full(n_around, len(points) - 1)
        triangles = [
            (0 * k, ahead[0], here[0]), (here[-1], ahead[-1], last),
            (here[:-1], ahead[:-1], ahead[1:]), (here[:-1], ahead[1:], here[1:]),
        ]  # fmt: skip
        return points, np.vstack([np.stack(corners, axis=-1).reshape(-1, 3) for corners in triangles])


def _beta(x: float, y: float) -> float:
    from scipy.special import gamma

    return gamma(x) * gamma(y) / gamma(x + y)


def _power(x: Array, e: float) -> Array:
    """A signed power."""
    return np.asarray(np.sign(x) * np.abs(x) ** e)


@dataclass(frozen=True)
class Capsule(Shape, kind="capsule", title="Capsules"):
    """A cylinder along z with half a sphere on either end, its middle at the origin."""

    radius: float = key(_LENGTH, "Radius of the cylinder and of the half spheres.", "2 cm")
    length: float = key(_LENGTH, "Length of the cylinder, between the centres of the half spheres.", "10 cm")

    drag = (1.1, 1.1, 0.3)
    handles = (Handle(radius=X), Handle({"radius": Z}, length=0.5 * Z))
    has_corners = False

    @property
    def moments(self) -> Moments:
        r, h = self.radius, self.length
        tube, ball = np.pi * r * r * h, 4.0 / 3.0 * np.pi * r**3
        across = tube * r * r / 4.0 + ball * r * r / 5.0
        # the centroid of half a sphere is 3/8 of its radius beyond its flat side
        along = tube * h * h / 12.0 + ball * (r * r / 5.0 + 3.0 / 8.0 * r * h + h * h / 4.0)
        return Moments(tube + ball, np.zeros(3), np.diag([across, across, along]))

    @property
    def half_extents(self) -> Array:
        return np.array([self.radius, self.radius, 0.5 * self.length + self.radius])

    @property
    def faces_to_flow(self) -> Array:
        r, h = self.radius, self.length
        return _along_z(2.0 * r * h + np.pi * r * r, r)
