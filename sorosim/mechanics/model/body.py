"""Rigid bodies: by mass, centre of mass and inertia, or of solid shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sorosim.base.arrays import Array
from sorosim.base.declare import (
    INVALID,
    At,
    Boolean,
    Declared,
    Either,
    Inline,
    ListOf,
    Part,
    Quantity,
    Type,
    Vector,
    Writer,
    key,
)
from sorosim.base.declare.handle import IN_SPACE, Handle
from sorosim.base.errors import ModelError
from sorosim.base.registry import SHAPES
from sorosim.mechanics.lie.so3 import skew
from sorosim.mechanics.model.pose import IDENTITY, PoseType, check_pose
from sorosim.mechanics.model.shape import Shape

# a moment above its bound by less than this part of it may have been rounded
ROUNDED = 0.05
# a moment below zero by less than this part of the largest is zero
NEGATIVE = 1e-12
BY_NUMBERS = {"centre", "inertia"}  # keys that shapes tell


@dataclass(frozen=True)
class RigidBody(Declared, title="Rigid bodies by numbers"):
    """A rigid body by its mass properties, in the frame of its link.

    No principal moment of the inertia is negative, or larger than the sum of the other two: no distribution of mass has
    such values. Without any it is a point mass. With ``physical`` False the second is not asked for: mass matrices
    stay positive definite for all that.
    """

    label = "body"
    mass: float = key(Quantity("mass", above=0.0), "Mass.", "200 g")
    _: KW_ONLY
    centre: tuple[float, ...] = key(
        Vector("length"), "Centre of mass in the frame of the link.", "[0, 0, 1 cm]", default=(0.0, 0.0, 0.0)
    )
    inertia: tuple[float, ...] = key(
        Vector("inertia", (3, 6)),
        "Moments of inertia about the centre of mass: Ixx, Iyy, Izz, and Ixy, Ixz, Iyz of the matrix if they are not "
        "zero.",
        "[1e-4, 1e-4, 1e-4]",
    )
    at: Any = key(
        PoseType(), "Pose, in the frame of the link, of the frame that centre and inertia are in.",
        "{position: [0, 0, 1 cm]}", default=None,
    )  # fmt: skip
    physical: bool = key(
        Boolean(), "Whether some distribution of mass has to have this inertia: true or false, for numbers of data "
        "sheets as they are.", "false", default=True,
    )  # fmt: skip
    handles = (Handle(centre=IN_SPACE),)

    def validate(self) -> None:
        if len(self.inertia) == 3:
            self._set(inertia=(*self.inertia, 0.0, 0.0, 0.0))
        moments = np.linalg.eigvalsh(self.rotational_inertia)
        shown = "principal moments " + ", ".join(f"{m:.6g}" for m in moments)
        if moments[0] < -NEGATIVE * moments[2]:
            raise ModelError("inertia", "no negative principal moment", shown)
        # a flat body meets the bound exactly: leave room for rounding
        largest = moments[0] + moments[1]
        if self.physical and moments[2] > largest * (1.0 + 1e-9):
            hint = f"numbers of data sheets are rounded: make the largest {largest:.10g} or less"
            close = moments[2] < largest * (1.0 + ROUNDED)
            expected = "no principal moment above the sum of the other two"
            raise ModelError("inertia", expected, shown, hint if close else "")
        if self.at is not None:  # from here on in the frame of the link
            moved = self.moved(self.at)
            self._set(centre=moved.centre, inertia=moved.inertia, at=None)

    def data(self, writer: Writer) -> Any:
        out = super().data(writer)
        return out if any(self.inertia[3:]) else {**out, "inertia": list(self.inertia[:3])}

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
        pose = check_pose("at", g)
        R = pose[:3, :3]
        return _body_of(self.mass, R @ self.centre + pose[:3, 3], R @ self.rotational_inertia @ R.T, self.physical)


def _body_of(mass: float, centre: Array, inertia: Array, physical: bool = True) -> RigidBody:
    """A body by its mass, centre (3,) and inertia about it (3, 3)."""
    rows, columns = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]
    entries = 0.5 * (inertia + inertia.T)[rows, columns]
    return RigidBody(mass, centre=tuple(centre.tolist()), inertia=tuple(entries.tolist()), physical=physical)


@dataclass(frozen=True)
class PointMass(RigidBody, title="Point masses"):
    """A mass in one point, without rotational inertia; a joint that turns it about itself moves no mass."""

    label = "body"
    mass: float = key(Quantity("mass", above=0.0), "Mass.", "5 g", name="point_mass")
    _: KW_ONLY
    inertia: tuple[float, ...] = field(init=False)
    at: Any = field(init=False)
    physical: bool = field(init=False)

    def validate(self) -> None:
        self._set(inertia=(0.0,) * 6, at=None, physical=True)

    def data(self, writer: Writer) -> Any:
        return Declared.data(self, writer)


AT_KEY = ("Pose of the shape in the frame of the link.", "{position: [0, 0, 1 cm]}")


@dataclass(frozen=True, eq=False)
class Solid(Declared, title="Rigid bodies by shapes"):
    """A homogeneous solid, a part of a rigid body. Exactly one of ``density`` and ``mass`` is given."""

    label = "body"
    shape: Shape = key(Inline(SHAPES, Shape, "body takes a list of them"), "Its shape; a mesh must enclose a volume.")
    _: KW_ONLY
    density: float | None = key(
        Quantity("density", above=0.0), "Mass per volume; or give the mass.", "2700 kg/m^3", default=None
    )
    mass: float | None = key(Quantity("mass", above=0.0), "Mass, instead of the density.", "200 g", default=None)
    at: Array = key(PoseType(), *AT_KEY, default=IDENTITY)

    alternatives = (("density", "mass"),)

    @classmethod
    def check_keys(cls, data: Mapping[str, object]) -> None:
        amounts = {"density", "mass"} & set(data)
        shapes = [name for name in cls.key_names() if name in SHAPES.declared() and name in data]
        if len(amounts) != 1 and len(shapes) == 1 and set(data) <= set(cls.key_names()):
            raise _amount(bool(amounts))

    @classmethod
    def unknown_key(cls, name: str, value: object, at: At) -> None:
        if name in BY_NUMBERS:
            (at / name).fail(f"either a shape or `{name}`", f"{name} beside a shape",
                             f"the shape tells its {name}: leave out one of them", at_key=True)  # fmt: skip
        else:
            super().unknown_key(name, value, at)

    def validate(self) -> None:
        if (self.density is None) == (self.mass is None):
            raise _amount(self.mass is not None)
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


def _amount(both: bool) -> ModelError:
    got, hint = ("both", "leave one of them out") if both else ("neither", "for instance density: 1 g/cm^3")
    return ModelError("", "one of density and mass", got, hint)


def _is_point(value: object) -> bool:
    """Whether a part is a point mass."""
    return "point_mass" in value if isinstance(value, Mapping) else isinstance(value, PointMass)


def _is_by_numbers(value: object) -> bool:
    """Whether a part is given by numbers, also if a key of it is wrong."""
    if not isinstance(value, Mapping):
        return isinstance(value, RigidBody)
    keys = set(value)
    return not keys & set(SHAPES.declared()) and bool(keys & BY_NUMBERS or {"mass"} <= keys <= {"mass", "at"})


PART = Either(Either(Part(Solid), Part(RigidBody), _is_by_numbers), Part(PointMass), _is_point)


@dataclass(frozen=True, eq=False)
class Assembly(RigidBody):
    """A rigid body of parts that are fixed to each other; where they overlap, both count.

    Parameters
    ----------
    parts : sequence of Solid and RigidBody
        In the frame of the link. Mass, centre and inertia are theirs together.
    """

    mass: float = field(init=False)
    centre: tuple[float, ...] = field(init=False)
    inertia: tuple[float, ...] = field(init=False)
    at: Any = field(init=False)
    physical: bool = field(init=False)
    parts: tuple[Solid | RigidBody, ...] = key(
        ListOf(PART, "one part or several"), "Solids, and bodies by numbers.", "[{sphere: {radius: 1 cm}, mass: 5 g}]"
    )

    def validate(self) -> None:
        parts = self.parts
        bodies = [part.properties if isinstance(part, Solid) else part for part in parts]
        masses = np.array([body.mass for body in bodies])
        centres = np.array([body.centre for body in bodies])
        mass = masses.sum()
        centre = masses @ centres / mass
        inertia = np.sum([body.rotational_inertia for body in bodies], axis=0)
        for m, d in zip(masses, centres - centre, strict=True):
            inertia = inertia + m * (d @ d * np.eye(3) - np.outer(d, d))
        whole = _body_of(mass, centre, inertia, all(body.physical for body in bodies))
        self._set(mass=whole.mass, centre=whole.centre, inertia=whole.inertia, at=None, physical=whole.physical)

    def data(self, writer: Writer) -> Any:
        parts = [part.data(writer) for part in self.parts]
        return parts[0] if len(parts) == 1 and isinstance(self.parts[0], Solid) else parts  # else no assembly


class BodyType(Type):
    """A rigid body: a shape, or numbers; a list of them are its parts."""

    def read(self, value: object, at: At) -> Any:
        if isinstance(value, RigidBody):
            return value
        if isinstance(value, Mapping) and (_is_point(value) or _is_by_numbers(value)):
            return (PointMass if _is_point(value) else RigidBody).read(value, at)
        if isinstance(value, list):
            parts = ListOf(PART, "one part or several").read(value, at)
        else:
            one = Solid.read(value, at)
            parts = INVALID if one is INVALID else (one,)
        return INVALID if parts is INVALID else at.attempt(lambda: Assembly.make({"parts": parts}, at))

    def write(self, value: Any, writer: Writer) -> Any:
        return value.data(writer)

    def shapes(self) -> tuple[Type, ...]:
        return PART, ListOf(PART)
