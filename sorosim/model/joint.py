"""Joints: how a link may move on its parent, and the springs, dampers, friction and limits in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.complex_step import is_varying
from sorosim.errors import ModelError, nearest
from sorosim.model.material import real_number
from sorosim.model.pose import vector3
from sorosim.validation import describe

Array = NDArray[np.float64]
Values = tuple[float, ...]

# kind -> its coordinates, in order: the end of the name, and the dimension
COORDINATES: dict[str, tuple[tuple[str, str], ...]] = {
    "fixed": (),
    "revolute": (("", "angle"),),
    "prismatic": (("", "length"),),
    "helical": (("", "angle"),),
    "cylindrical": (("angle", "angle"), ("slide", "length")),
    "universal": (("first", "angle"), ("second", "angle")),
    "planar": (("angle", "angle"), ("tx", "length"), ("ty", "length")),
    "spherical": (("rx", "angle"), ("ry", "angle"), ("rz", "angle")),
    "free": (
        *(("rx", "angle"), ("ry", "angle"), ("rz", "angle")),
        *(("tx", "length"), ("ty", "length"), ("tz", "length")),
    ),
}
JOINT_KINDS = tuple(COORDINATES)
WITHOUT_AXIS = ("fixed", "spherical", "free")
BESIDE = ("revolute", "helical")  # their axis may pass beside the origin of the joint frame
# rate at which regularised friction has come to 71 % of its size [rad/s; m/s]
CREEP = {"angle": 1e-2, "length": 1e-3}
# the spring of a limit sets in softly over this depth [rad; m]
ONSET = {"angle": 1e-3, "length": 1e-4}
PARALLEL = 1e-6


def unit_vector(where: str, value: Any) -> tuple[float, float, float]:
    """Return a direction (3,) scaled to length 1, refusing what is none."""
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray) or len(value) != 3:
        raise ModelError(where, "a direction of three numbers", describe(value))
    vector = np.array([real_number(where, x, "a direction of three numbers") for x in value])
    # scaling first: squares of tiny or huge entries would under- or overflow
    largest = np.abs(vector).max()
    if largest == 0.0:
        raise ModelError(where, "a direction of some length", describe(list(value)))
    if abs(vector @ vector - 1.0) > 1e-15 or is_varying():  # one of length 1 stays as it is
        vector = vector / largest
        vector = vector / np.sqrt(vector @ vector)
    x, y, z = vector if is_varying() else vector.tolist()
    return x, y, z


@dataclass(frozen=True)
class Limit:
    """End stops of one coordinate: outside of them a spring pushes back.

    Parameters
    ----------
    low, high : float
        [rad or m], low < high; infinite where there is no stop.
    stiffness : float
        Of the stops, positive. [N m/rad or N/m]
    """

    low: float = -math.inf
    high: float = math.inf
    _: KW_ONLY
    stiffness: float

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            if getattr(self, name) not in (-math.inf, math.inf):
                object.__setattr__(self, name, real_number(f"limits.{name}", getattr(self, name)))
        if not self.low < self.high:
            raise ModelError("limits.high", f"an end above low = {self.low:g}", f"{self.high:g}")
        stiffness = real_number("limits.stiffness", self.stiffness, "a number greater than 0", above=0.0)
        object.__setattr__(self, "stiffness", stiffness)


class Stage(NamedTuple):
    """A part of a joint that is one block of coordinates in the tree of segments."""

    columns: Array  # (n, 6) unit twists of the coordinates in the joint frame, [angular; linear]
    commutes: bool  # whether these motions commute: then the twist needs no tangent operator
    first: int  # its first coordinate in the joint


@dataclass(frozen=True)
class Joint:
    """How a link moves on its parent.

    Coordinates of spherical, planar and free joints are exponential: the pose is exp of the twist sum q_i s_i, angular
    coordinates first; the rotation is by the vector (rx, ry, rz), and (tx, ty, tz) is the position only where nothing
    is rotated. A universal joint is two revolutes in series, its cross without mass.

    Parameters
    ----------
    kind : {"fixed", "revolute", "prismatic", "helical", "cylindrical", "universal", "planar", "spherical", "free"}
    axis : three numbers
        Direction in the joint frame; it is scaled to length 1. Of a planar joint: the normal of its plane.
    second_axis : three numbers
        Second axis of a universal joint, in the frame that the first one moves; not parallel to it. Default: y, or x
        where the first axis is y.
    through : three numbers
        A point on the axis of a revolute or helical joint, in the joint frame [m]. Default: its origin. Elsewhere, the
        frame of the link goes round the axis: the standard rows of Denavit and Hartenberg need that.
    pitch : float
        Advance per radian of a helical joint [m/rad].
    stiffness, damping : float or sequence of float
        Of springs and dampers in the joint, >= 0: one number where all coordinates are of one dimension, or one for
        each. Springs act on the coordinates, dampers on the relative twist in the moved frame. [N m/rad or N/m;
        N m s/rad or N s/m]
    rest : float or sequence of float
        Coordinates at which the springs are relaxed. [rad or m]
    friction : float or sequence of float
        Coulomb friction [N m or N], >= 0. Coordinates of one dimension share it (a friction ellipse).
    creep : float or sequence of float, optional
        Rates at which friction has come to 71 % of its size [rad/s or m/s], positive; default 0.01 rad/s, 1 mm/s.
    limits : Limit, or sequence of Limit or None
        End stops, one for each coordinate.
    """

    kind: str = "fixed"
    _: KW_ONLY
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    second_axis: tuple[float, float, float] | None = None
    through: tuple[float, float, float] = (0.0, 0.0, 0.0)
    pitch: float = 0.0
    stiffness: float | Values = 0.0
    damping: float | Values = 0.0
    rest: float | Values = 0.0
    friction: float | Values = 0.0
    creep: float | Values | None = None
    limits: Limit | tuple[Limit | None, ...] | None = None

    def __post_init__(self) -> None:
        if self.kind not in COORDINATES:
            raise ModelError("joint", "a kind of joint", describe(self.kind), nearest(str(self.kind), JOINT_KINDS))
        object.__setattr__(self, "axis", unit_vector(f"{self.kind}.axis", self.axis))
        object.__setattr__(self, "pitch", real_number(f"{self.kind}.pitch", self.pitch))
        if self.kind != "helical" and self.pitch:
            raise ModelError(f"{self.kind}.pitch", "no pitch", describe(self.pitch), "only a helical joint has one")
        self._check_second_axis()
        object.__setattr__(self, "through", vector3(f"{self.kind}.through", self.through, "a point of three numbers"))
        if self.kind not in BESIDE and any(self.through):
            what, hint = "no point on the axis", "only revolute and helical joints have one"
            raise ModelError(f"{self.kind}.through", what, describe(list(self.through)), hint)
        for name in ("stiffness", "damping", "rest", "friction"):
            object.__setattr__(self, name, self._values(name, getattr(self, name)))
        creep = tuple(CREEP[d] for d in self.dimensions) if self.creep is None else self._values("creep", self.creep)
        object.__setattr__(self, "creep", creep)
        given: Any = self.limits
        limits = [given] if isinstance(given, Limit) else [None] * self.n if given is None else given
        if not isinstance(limits, Sequence) or len(limits) != self.n or not all(
            isinstance(limit, Limit | None) for limit in limits
        ):  # fmt: skip
            raise ModelError(f"{self.kind}.limits", f"a Limit or None for {self._counted}", describe(given))
        object.__setattr__(self, "limits", tuple(limits))

    def _check_second_axis(self) -> None:
        if self.kind != "universal":
            if self.second_axis is not None:
                what = f"{self.kind}.second_axis"
                raise ModelError(what, "no second axis", describe(self.second_axis), "only a universal joint has one")
            return
        default = (1.0, 0.0, 0.0) if abs(self.axis[1]) > 1.0 - PARALLEL else (0.0, 1.0, 0.0)
        second = default if self.second_axis is None else unit_vector("universal.second_axis", self.second_axis)
        if np.linalg.norm(np.cross(self.axis, second)) < PARALLEL:
            raise ModelError("universal.second_axis", "an axis not parallel to the first", describe(list(second)))
        object.__setattr__(self, "second_axis", second)

    def _values(self, name: str, given: Any) -> Values:
        """One number for each coordinate."""
        where = f"{self.kind}.{name}"
        expected = {"rest": "a number", "creep": "a number greater than 0"}.get(name, "a number >= 0")
        bounds = {"rest": {}, "creep": {"above": 0.0}}.get(name, {"least": 0.0})
        if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str):
            if len(given) != self.n:
                raise ModelError(where, f"a number for {self._counted}", f"{len(given)} numbers")
            values = tuple(real_number(where, value, expected, **bounds) for value in given)
        else:
            value = real_number(where, given, expected, **bounds)
            if value and self.n == 0:
                raise ModelError("fixed", "no stiffness, damping, rest value or friction", "one",
                                 "a fixed joint does not move")  # fmt: skip
            if value and len(set(self.dimensions)) > 1:
                raise ModelError(where, f"a number for {self._counted}", describe(given), "they differ in dimension")
            values = (value,) * self.n
        return values

    @property
    def _counted(self) -> str:
        names = ", ".join(name for name, _ in COORDINATES[self.kind])
        many = {0: "none: it has no coordinate", 1: "its coordinate"}
        return many.get(self.n, f"each of its {self.n} coordinates ({names})")

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(COORDINATES[self.kind])

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Dimension of each coordinate, angle or length."""
        return tuple(dimension for _, dimension in COORDINATES[self.kind])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates, such as ``revolute`` or ``free.rx``."""
        return tuple(f"{self.kind}.{name}" if name else self.kind for name, _ in COORDINATES[self.kind])

    @property
    def is_wound(self) -> bool:
        """Whether a spring or a limit tells a turn from none."""
        return bool(np.any(self.stiffness)) or any(limit is not None for limit in self.stops)

    @cached_property
    def counts_no_turns(self) -> tuple[int, ...]:
        """Coordinates whose whole turns make no difference: angles of revolute, universal and cylindrical joints."""
        turning = range(self.n) if self.kind in ("revolute", "universal", "cylindrical") else ()
        stiffness = np.broadcast_to(self.stiffness, self.n)
        return tuple(i for i in turning if self.dimensions[i] == "angle" and not stiffness[i] and self.stops[i] is None)

    @property
    def stops(self) -> tuple[Limit | None, ...]:
        """The limits, one for each coordinate."""
        return self.limits if isinstance(self.limits, tuple) else ()

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """Blocks of coordinates, from the parent on; one of a universal joint is each of its axes."""
        axis, none = np.array(self.axis), np.zeros(3)
        turn, slide = np.concatenate([axis, np.cross(self.through, axis)]), np.concatenate([none, axis])
        one: dict[str, Any] = {"revolute": [turn], "prismatic": [slide], "cylindrical": [turn, slide]}
        one["helical"] = [turn + self.pitch * slide]
        if self.kind in one:
            return (Stage(np.array(one[self.kind]), True, 0),)
        if self.kind == "universal":
            second = np.concatenate([np.array(self.second_axis), none])
            return Stage(turn[None], True, 0), Stage(second[None], True, 1)
        if self.kind == "planar":
            across = np.hstack([np.zeros((2, 3)), directions_across(axis)])
            return (Stage(np.vstack([turn, across]), False, 0),)
        n = self.n  # fixed 0, spherical 3, free 6
        return (Stage(np.eye(6)[:n], n == 0, 0),)


def directions_across(axis: Array) -> Array:
    """x and y (2, 3) turned by the shortest rotation from z to the axis; of -z: half a turn about x."""
    x, y, z = axis
    if z < 0.0 and x == y == 0.0:
        return np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    # 1/(1 + z) without loss of digits near -z
    a = 1.0 / (1.0 + z) if z >= 0.0 else (1.0 - z) / (x * x + y * y)
    return np.array([[1.0 - a * x * x, -a * x * y, -x], [-a * x * y, 1.0 - a * y * y, -y]])
