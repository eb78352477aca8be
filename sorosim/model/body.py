"""Rigid bodies: by mass, centre of mass and inertia, or of solid shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sorosim.errors import ModelError
from sorosim.lie.so3 import skew
from sorosim.model.material import real_number
from sorosim.model.pose import check_pose, vector3
from sorosim.model.shape import Array, Shape
from sorosim.validation import describe

# a moment above its bound by less than this part of it may have been rounded
ROUNDED = 0.05


@dataclass(frozen=True)
class RigidBody:
    """A rigid body by its mass properties, in the frame of its link.

    Parameters
    ----------
    mass : float
        [kg], positive.
    centre : three numbers
        Centre of mass in the link's frame [m].
    inertia : three or six numbers
        Moments about the centre of mass, axes of the link's frame [kg m^2]: Ixx, Iyy, Izz, then Ixy, Ixz, Iyz (entries
        of the matrix, so products of inertia with their minus sign). Positive definite, and every principal moment at
        most the sum of the other two: no distribution of mass has other values.
    """

    mass: float
    _: KW_ONLY
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
    inertia: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", real_number("body.mass", self.mass, "a positive mass [kg]", above=0.0))
        object.__setattr__(self, "centre", vector3("body.centre", self.centre))
        given: Any = self.inertia
        if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or len(given) not in (3, 6):
            raise ModelError("body.inertia", "three or six numbers [kg m^2]", describe(given))
        values = tuple(real_number("body.inertia", v, "finite numbers [kg m^2]") for v in given)
        object.__setattr__(self, "inertia", values if len(values) == 6 else (*values, 0.0, 0.0, 0.0))
        moments = np.linalg.eigvalsh(self.rotational_inertia)
        shown = "principal moments " + ", ".join(f"{m:.6g}" for m in moments)
        if moments[0] <= 0.0:
            raise ModelError("body.inertia", "a positive definite matrix", shown)
        # a flat body meets the bound exactly: leave room for rounding
        largest = moments[0] + moments[1]
        if moments[2] > largest * (1.0 + 1e-9):
            hint = f"numbers of data sheets are rounded: make the largest {largest:.10g} or less"
            close = moments[2] < largest * (1.0 + ROUNDED)
            expected = "no principal moment above the sum of the other two"
            raise ModelError("body.inertia", expected, shown, hint if close else "")

    @property
    def rotational_inertia(self) -> Array:
        """Inertia matrix about the centre of mass (3, 3) [kg m^2]."""
        xx, yy, zz, xy, xz, yz = self.inertia
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    @property
    def spatial_inertia(self) -> Array:
        """Spatial inertia (6, 6) at the origin of the link's frame, [angular; linear]."""
        c = skew(np.array(self.centre))
        m = np.eye(3) * self.mass
        return np.block([[self.rotational_inertia - self.mass * c @ c, self.mass * c], [-self.mass * c, m]])

    def moved(self, g: ArrayLike) -> RigidBody:
        """Return the body seen from another frame, in which this one has the pose g (4, 4)."""
        pose = check_pose("body.at", g)
        R = pose[:3, :3]
        return _body_of(self.mass, R @ self.centre + pose[:3, 3], R @ self.rotational_inertia @ R.T)


def _body_of(mass: float, centre: Array, inertia: Array) -> RigidBody:
    """A body by its mass, centre (3,) and inertia about it (3, 3)."""
    rows, columns = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]
    entries = 0.5 * (inertia + inertia.T)[rows, columns]
    return RigidBody(mass, centre=tuple(centre.tolist()), inertia=tuple(entries.tolist()))


@dataclass(frozen=True, eq=False)
class Solid:
    """A homogeneous solid, a part of a rigid body. Exactly one of ``density`` and ``mass`` is given.

    Parameters
    ----------
    shape : Box, Cylinder, Cone, Sphere, Ellipsoid, Capsule or Mesh
    density : float, optional
        [kg/m^3], positive.
    mass : float, optional
        [kg], positive.
    at : (4, 4) array_like
        Pose of the shape in the frame of the link.
    """

    shape: Shape
    _: KW_ONLY
    density: float | None = None
    mass: float | None = None
    at: Array = field(default_factory=lambda: np.eye(4))

    def __post_init__(self) -> None:
        if not isinstance(self.shape, Shape):
            raise ModelError("body", "a shape", describe(self.shape))
        if (self.density is None) == (self.mass is None):
            got, hint = ("both", "leave one of them out") if self.mass is not None else ("neither", "")
            raise ModelError("body", "one of density and mass", got, hint)
        for name, unit in (("density", "kg/m^3"), ("mass", "kg")):
            if (value := getattr(self, name)) is not None:
                number = real_number(f"body.{name}", value, f"a positive {name} [{unit}]", above=0.0)
                object.__setattr__(self, name, number)
        object.__setattr__(self, "at", check_pose("body.at", self.at))
        _ = self.properties  # what cannot be computed is refused now

    @cached_property
    def properties(self) -> RigidBody:
        """Mass, centre and inertia in the frame of the link."""
        volume, centroid, second = self.shape.moments
        with np.errstate(all="ignore"):
            mass = self.mass if self.mass is not None else self.density * volume  # type: ignore[operator]  # given
            inertia = np.divide(mass, volume) * (np.trace(second) * np.eye(3) - second)
        if not (np.isfinite(inertia).all() and 0.0 < mass < np.inf and np.linalg.eigvalsh(inertia)[0] > 0.0):
            got = f"a volume of {volume:g} m^3"
            raise ModelError(self.shape.kind, "sizes that can be computed with", got, "look for a wrong unit")
        return _body_of(mass, centroid, inertia).moved(self.at)


@dataclass(frozen=True, eq=False)
class Assembly(RigidBody):
    """A rigid body of parts that are fixed to each other; where they overlap, both count.

    Parameters
    ----------
    parts : sequence of Solid and RigidBody
        In the frame of the link. Mass, centre and inertia are theirs together.
    """

    mass: float = field(init=False)
    centre: tuple[float, float, float] = field(init=False)
    inertia: tuple[float, ...] = field(init=False)
    parts: tuple[Solid | RigidBody, ...]

    def __post_init__(self) -> None:
        given: Any = self.parts
        parts = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else ()
        if not parts or not all(isinstance(part, Solid | RigidBody) for part in parts):
            raise ModelError("body", "a sequence of Solid and RigidBody", describe(given))
        object.__setattr__(self, "parts", parts)
        bodies = [part.properties if isinstance(part, Solid) else part for part in parts]
        masses = np.array([body.mass for body in bodies])
        centres = np.array([body.centre for body in bodies])
        mass = masses.sum()
        centre = masses @ centres / mass
        inertia = np.sum([body.rotational_inertia for body in bodies], axis=0)
        for m, d in zip(masses, centres - centre, strict=True):
            inertia = inertia + m * (d @ d * np.eye(3) - np.outer(d, d))
        whole = _body_of(mass, centre, inertia)
        for name in ("mass", "centre", "inertia"):
            object.__setattr__(self, name, getattr(whole, name))
