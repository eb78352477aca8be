"""What all joints share: coordinates, the springs, dampers, friction and limits in them, and how files write them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass, replace
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.declare import (
    INVALID,
    At,
    Choice,
    Declared,
    Given,
    Key,
    OneOf,
    Part,
    Quantity,
    Type,
    Vector,
    Writer,
    key,
)
from sorosim.base.declare.base import Define
from sorosim.base.declare.types import checked_each, is_list
from sorosim.base.errors import ModelError, nearest
from sorosim.base.problems import listed, shown
from sorosim.base.registry import JOINTS, Registry
from sorosim.base.units.quantity import quantity, readable
from sorosim.base.units.table import DIMENSIONS
from sorosim.base.validation import as_real
from sorosim.mechanics.model.pose import Direction

Values = tuple[float, ...]

# what acts on a coordinate -> its dimension for an angle and for a length, and bounds
ACTING: dict[str, tuple[dict[str, str], dict[str, float]]] = {
    "stiffness": ({"angle": "rotary stiffness", "length": "stiffness"}, {"least": 0.0}),
    "damping": ({"angle": "rotary damping", "length": "damping"}, {"least": 0.0}),
    "rest": ({"angle": "angle", "length": "length"}, {}),
    "armature": ({"angle": "inertia", "length": "mass"}, {"least": 0.0}),
    "friction": ({"angle": "moment", "length": "force"}, {"least": 0.0}),
    "creep": ({"angle": "angular speed", "length": "speed"}, {"above": 0.0}),
    "limit": ({"angle": "moment", "length": "force"}, {"above": 0.0}),  # of a servo
}
# rate at which regularised friction has come to 71 % of its size [rad/s; m/s]
CREEP = {"angle": 1e-2, "length": 1e-3}
# the spring of a limit sets in softly over this depth [rad; m]
ONSET = {"angle": 1e-3, "length": 1e-4}


@dataclass(frozen=True)
class Limit(Declared, title="End stops"):
    """End stops of one coordinate: outside of them a spring pushes back. What they are of, the joint knows."""

    label = "limits"

    low: Any = key(Given(), "Lower end, an angle or a length; without it there is none.", "-90 deg", default=-math.inf)
    high: Any = key(Given(), "Upper end; without it there is none.", "90 deg", default=math.inf)
    stiffness: Any = key(Given(), "Stiffness of the ends, N*m/rad or N/m.", "1000", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high, stiffness = (as_real(value) for value in (self.low, self.high, self.stiffness))
        if low is not None and high is not None and not low.real < high.real:
            raise ModelError("limits.high", f"an end above low = {low:g}", f"{high:g}")
        if stiffness is not None and not 0.0 < stiffness.real < math.inf:
            raise ModelError("limits.stiffness", "a number greater than 0", f"{stiffness:g}")

    def of(self, dimension: str) -> Limit:
        """The same in SI units, of a coordinate that is an angle or a length; else ModelError."""
        if self.low == -math.inf and self.high == math.inf:
            raise ModelError("", "a low or a high end, or both", "neither")
        low, high = (
            end if isinstance(end, float) and abs(end) == math.inf else quantity(end, dimension, name)
            for name, end in (("low", self.low), ("high", self.high))
        )
        if not low.real < high.real:
            raise ModelError("high", f"an end above the low one, {self.low}", str(self.high))
        try:
            stiffness = Quantity(ACTING["stiffness"][0][dimension], above=0.0).check(self.stiffness)
        except ModelError as error:
            raise error.inside("stiffness") from None
        return replace(self, low=low, high=high, stiffness=stiffness)

    def data_of(self, dimension: str, writer: Writer) -> Any:
        """Data of a file that describe it, of a coordinate that is an angle or a length."""
        ends = {"low": self.low, "high": self.high}
        written = {name: readable(end, dimension) for name, end in ends.items() if abs(end) != math.inf}
        return {**written, "stiffness": self.stiffness}


class Stage(NamedTuple):
    """A part of a joint that is one block of coordinates in the tree of segments."""

    columns: Array  # (n, 6) unit twists of the coordinates in the joint frame, [angular; linear]
    commutes: bool  # whether these motions commute: then the twist needs no tangent operator
    first: int  # its first coordinate in the joint

    @property
    def own(self) -> slice:
        """Its coordinates in the joint."""
        return slice(self.first, self.first + len(self.columns))


@dataclass(frozen=True)
class _OfCoordinates(Type):
    """A type of values for the coordinates of a joint; `directions` are those of its kind."""

    name: str
    directions: tuple[tuple[str, str], ...] = ()
    kind: str = ""

    def key_of(self, owner: type[Declared], given: Key) -> Key:
        joint: Any = owner
        return replace(given, type=replace(self, directions=joint.directions, kind=joint.kind))

    @property
    def each(self) -> str:
        """A list with an entry for each coordinate, in words."""
        names = [name for name, _ in self.directions]
        return f"a list of {len(names)}, one for each coordinate ({', '.join(names)})"


@dataclass(frozen=True)
class PerCoordinate(_OfCoordinates):
    """What acts on the coordinates of a joint: an entry for each of them, or a number for all of one dimension."""

    @property
    def types(self) -> list[Quantity]:
        """Type of each entry."""
        dimensions, bounds = ACTING[self.name]
        return [Quantity(dimensions[dimension], **bounds) for _, dimension in self.directions]  # type: ignore[arg-type]

    @property
    def alike(self) -> bool:
        """Whether one number may stand for all."""
        return len({one.dimension for one in self.types}) == 1

    def key_of(self, owner: type[Declared], given: Key) -> Key:
        found = super().key_of(owner, given)
        own, n = found.type, len(owner.directions)  # type: ignore[attr-defined]
        assert isinstance(own, PerCoordinate)  # for the type checker
        angle, length = given.example.split("; ")
        examples = [angle if dimension == "angle" else length for _, dimension in own.directions]
        doc = given.doc
        if n > 1:
            names = ", ".join(name for name, _ in own.directions)
            doc += f" A list with an entry for each coordinate ({names}){', or a number for all' if own.alike else ''}."
        return replace(found, doc=doc, example=examples[0] if n == 1 or own.alike else f"[{', '.join(examples)}]")

    def read(self, value: object, at: At) -> Any:
        for i, one in enumerate(self.types):
            (at / i if is_list(value) else at).number(one.dimension)
        return at.attempt(lambda: self.check(value))

    def check(self, value: Any) -> Values:
        types = self.types
        if not self.alike and as_real(value) == 0.0:
            return tuple(one.check(value) for one in types)
        if self.alike and not is_list(value):
            return (types[0].check(value),) * len(types)
        if not is_list(value) or len(value) != len(types):
            if is_list(value) and len(types) == 1:
                return (types[0].check(value),)
            example = ", ".join(DIMENSIONS[one.dimension].example for one in types)
            raise ModelError("", self.each, shown(value), f"for instance [{example}]")
        return checked_each(value, *types) if len(types) > 1 else (types[0].check(value[0]),)

    def write(self, value: Any, writer: Writer) -> Any:
        written = [one.write(entry, writer) for one, entry in zip(self.types, value, strict=True)]
        return written[0] if self.alike and len(set(value)) == 1 else written

    def schema(self, define: Define) -> dict[str, Any]:
        each = [one.schema(define) for one in self.types]
        if len(each) == 1:
            return each[0]
        several = {"type": "array", "prefixItems": each, "minItems": len(each), "maxItems": len(each)}
        return {"anyOf": [each[0], several]} if self.alike else several

    def within(self, part: str | int) -> Type | None:
        return self.types[part] if isinstance(part, int) and part < len(self.types) else None


@dataclass(frozen=True)
class Limits(_OfCoordinates):
    """End stops: one for the coordinate of a joint that has one, else a list with null where there is none."""

    def key_of(self, owner: type[Declared], given: Key) -> Key:
        found = super().key_of(owner, given)
        angle, length = given.example.split("; ")
        examples = [angle if dimension == "angle" else length for _, dimension in owner.directions]  # type: ignore[attr-defined]
        if len(examples) == 1:
            return replace(found, example=examples[0])
        names = ", ".join(name for name, _ in owner.directions)  # type: ignore[attr-defined]
        doc = f"{given.doc} A list with an entry for each coordinate ({names}), null: none."
        return replace(found, doc=doc, example=f"[{', '.join(['null'] * (len(examples) - 1) + examples[-1:])}]")

    def read(self, value: Any, at: At) -> Any:
        n = len(self.directions)
        if n == 1 and (not is_list(value) or at.scope.is_file):
            found = self._one(value, self.directions[0][1], at)
            return INVALID if found is INVALID else (found,)
        if not is_list(value) or len(value) != n:
            hint = "null where there is none"
            return at.fail(self.each if n > 1 else "one limit", shown(value), hint if n > 1 else "")
        read = [
            None if entry is None else self._one(entry, dimension, at / i)
            for i, (entry, (_, dimension)) in enumerate(zip(value, self.directions, strict=True))
        ]
        return INVALID if any(entry is INVALID for entry in read) else tuple(read)

    def _one(self, value: object, dimension: str, at: At) -> Any:
        limit = Limit.read(value, at)
        for name, of in (("low", dimension), ("high", dimension), ("stiffness", ACTING["stiffness"][0][dimension])):
            (at / name).number(of)
        return INVALID if limit is INVALID else at.attempt(lambda: limit.of(dimension))

    def write(self, value: Any, writer: Writer) -> Any:
        limits = [
            None if limit is None else limit.data_of(dimension, writer)
            for limit, (_, dimension) in zip(value, self.directions, strict=True)
        ]
        return limits if len(limits) > 1 else limits[0]

    def schema(self, define: Define) -> dict[str, Any]:
        one = define(Limit)
        if len(self.directions) == 1:
            return one
        return {"type": "array", "items": {"anyOf": [one, {"type": "null"}]}}

    def within(self, part: str | int) -> Type | None:
        return Part(Limit) if isinstance(part, int) else Part(Limit).within(part)

    def known_keys(self) -> list[str]:
        return Limit.key_names()


@dataclass(frozen=True)
class Joint(Declared):
    """How a link moves on its parent. ``Joint("revolute", axis=(0, 0, 1))`` is ``Revolute(axis=(0, 0, 1))``.

    A kind of joint is a class in a file of its own, which says all that there is to say of it:

    1. ``directions``: of each coordinate the end of its name, and its dimension, angle or length.
    2. ``stages``: the unit twists of its coordinates, in blocks whose motions commute or are exponential.
    3. ``turn``: how a loop that it closes measures its rotation (`kernels.loop_joint`); None if it closes none.
    4. ``constrained`` and ``sliding``: what it does not allow, for the rows of a loop; where frame a may slide.
    5. ``along``: directions of its springs, dampers and motors in a loop; none where motions do not commute.
    6. ``places``: whether its lengths say where in the world something is, so that any number may be meant.
    7. ``check_in_loop``: what it refuses where it closes a loop.
    8. ``changes_length``: whether its coordinate is the length of the link's rod, see `model.joints.feed`;
       ``material_rate`` and ``is_sheathed`` say how material moves then.
    """

    kind_: InitVar[str] = ""

    registry: ClassVar[Registry] = JOINTS
    directions: ClassVar[tuple[tuple[str, str], ...]] = ()
    turn: ClassVar[int | None] = None
    places: ClassVar[bool] = False
    has_armature: ClassVar[bool] = True  # whether a coordinate may be that of a motor, along or about an axis
    changes_length: ClassVar[bool] = False
    is_sheathed: ClassVar[bool] = False  # whether the rod is held straight before its base
    in_row: ClassVar[bool] = False  # whether a row of a Denavit-Hartenberg table describes it
    # of joints that have none
    axis = cast(Any, (0.0, 0.0, 1.0))
    second_axis = cast(Any, None)
    through = cast(Any, (0.0, 0.0, 0.0))
    pitch = cast(Any, 0.0)
    stiffness = damping = rest = armature = friction = creep = limits = cast(Any, ())

    def __new__(cls, kind_: str = "", **given: object) -> Any:
        if cls is not Joint:
            return super().__new__(cls)
        if not isinstance(kind_ or "fixed", str) or (kind_ or "fixed") not in JOINTS:
            raise ModelError("joint", "a kind of joint", shown(kind_), nearest(str(kind_), JOINTS.names()))
        found = JOINTS.get(kind_ or "fixed")
        declared = found.declaration()
        for name in given:
            if name not in declared:
                hint = nearest(name, declared) if declared else "a fixed joint does not move"
                raise ModelError(found.kind, f"a key of a {found.kind} joint", f"'{name}'", hint)
        return super().__new__(found)

    def __post_init__(self, kind_: str) -> None:
        super().__post_init__()

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.directions)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Dimension of each coordinate, angle or length."""
        return tuple(dimension for _, dimension in self.directions)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates, such as ``revolute`` or ``free.rx``."""
        return tuple(f"{self.kind}.{name}" if name else self.kind for name, _ in self.directions)

    def has_springs(self, own: slice = slice(None)) -> bool:
        """Whether springs or limits act on some of its coordinates: then they tell whole turns apart."""
        return bool(np.any(self.stiffness[own])) or any(limit is not None for limit in self.limits[own])

    @cached_property
    def free_turns(self) -> tuple[int, ...]:
        """Coordinates whose whole turns make no difference: a turn about a fixed axis that no spring counts."""
        return tuple(
            stage.first + i
            for stage in self.stages
            for i, column in enumerate(stage.columns.real)
            if stage.commutes and is_turn(column) and not self.has_springs(slice(stage.first + i, stage.first + i + 1))
        )

    @property
    def takes_pose(self) -> bool:
        """Whether a pose and a motion may say where it begins: it moves in a plane, in space, or about a point."""
        return self.places or any(not stage.commutes for stage in self.stages)

    def stage_of(self, i: int) -> int:
        """Which stage coordinate i belongs to."""
        return max(k for k, stage in enumerate(self.stages) if stage.first <= i)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Blocks of coordinates, from the parent on."""
        raise NotImplementedError

    def turns_after(self, k: int) -> bool:
        """Whether stage k is of translations, and the next one turns the frame along whose axes forces act."""
        if not self.takes_pose or k + 1 >= len(self.stages):
            return False
        return not np.any(self.stages[k].columns[:, :3]) and not np.any(self.stages[k + 1].columns[:, 3:])

    @property
    def constrained(self) -> Array:
        """Phi^T (m, 6): what it does not allow frame a, [angular; linear], in frame b."""
        raise NotImplementedError

    @property
    def sliding(self) -> Array:
        """Projector (3, 3) on the directions along which frame a may slide."""
        return np.zeros((3, 3))

    @property
    def along(self) -> Array:
        """Wrench on frame a (n, 6) of a unit force or moment along each direction that may have a spring or a motor."""
        return np.zeros((0, 6))

    def material_rate(self, s: Array) -> Array:
        """Rate of the material relative to the places s = X/L (n,) of the rod, by that of the length."""
        raise NotImplementedError

    def check_in_loop(self) -> None:
        """Refuse values with which it cannot close a loop (ModelError)."""

    @classmethod
    def takes_springs_in_loop(cls) -> bool:
        """Whether springs, dampers and motors may act in it where it closes a loop."""
        # a loop has room for two directions
        return cls.turn is not None and cls.along is not Joint.along and len(cls.directions) <= 2


@dataclass(frozen=True)
class MovingJoint(Joint):
    """A joint with coordinates, and what acts on them."""

    stiffness: Values = key(
        PerCoordinate("stiffness"),
        "Stiffness of a spring in the joint.",
        "2 N*m/rad; 100 N/m",
        default=None,
        without="`0`",
        kw_only=True,
    )
    damping: Values = key(
        PerCoordinate("damping"), "Damping of a damper in the joint, which acts on the relative motion.",
        "0.1 N*m*s/rad; 2 N*s/m", default=None, without="`0`", kw_only=True,
    )  # fmt: skip
    rest: Values = key(
        PerCoordinate("rest"),
        "Coordinate at which the spring is relaxed.",
        "10 deg; 1 cm",
        default=None,
        without="`0`",
        kw_only=True,
    )
    armature: Values = key(
        PerCoordinate("armature"),
        "Inertia of a rotor as the coordinate feels it: n^2 times its own behind a gear of ratio n.",
        "100^2*20 g*cm^2; 2 kg", default=None, without="`0`", kw_only=True,
    )  # fmt: skip
    friction: Values = key(
        PerCoordinate("friction"), "Coulomb friction; coordinates of one dimension share it.", "0.1 N*m; 0.5 N",
        default=None, without="`0`", kw_only=True,
    )  # fmt: skip
    creep: Values = key(
        PerCoordinate("creep"),
        "Rate at which friction has come to 71 % of its size.",
        "0.01 rad/s; 1 mm/s", default=None, without=f"{CREEP['angle']:g} rad/s, {CREEP['length']:g} m/s", kw_only=True,
    )  # fmt: skip
    limits: tuple[Limit | None, ...] = key(
        Limits("limits"), "End stops: beyond them a spring pushes back.",
        "{low: -90 deg, high: 90 deg, stiffness: 100 N*m/rad}; {low: -1 cm, high: 5 cm, stiffness: 10 kN/m}",
        default=None, kw_only=True,
    )  # fmt: skip

    def validate(self) -> None:
        for name in ("stiffness", "damping", "rest", "armature", "friction"):
            if getattr(self, name) is None:
                self._set(**{name: (0.0,) * self.n})
        if self.creep is None:
            self._set(creep=tuple(CREEP[dimension] for dimension in self.dimensions))
        if self.limits is None:
            self._set(limits=(None,) * self.n)

    @classmethod
    @cache
    def declaration(cls) -> Mapping[str, Key]:
        """Keys by the names of fields: those of the kind before those that all kinds have."""
        every = {n: one for n, one in super().declaration().items() if n != "armature" or cls.has_armature}
        return dict(sorted(every.items(), key=lambda item: item[0] in MovingJoint.__annotations__))

    def data(self, writer: Writer) -> Any:
        out: dict[str, Any] = {}
        required = [name for name, one in self.declaration().items() if one.required]
        plain = type(self).make({name: getattr(self, name) for name in required})
        for name, one in self.declaration().items():
            value = getattr(self, name)
            if one.required or value != getattr(plain, name):
                out |= one.type.give(value, one, writer)
        return out


POSITION, SCREW = "position", "screw"


def coordinates_key() -> Any:
    """Declare what the coordinates of a joint that both turns and moves are."""
    doc = (
        "What its coordinates are: the position of the moved frame in the fixed one, and the rotation there; or those "
        "of one screw motion, exp of their twist."
    )
    return key(Choice((POSITION, SCREW)), doc, "screw", default=POSITION, kw_only=True)


def axis_key(
    doc: str = "Direction of the axis in the joint's frame, of any length.", example: str = "[0, 0, 1]"
) -> Any:
    """Declare the axis of a joint."""
    return key(Direction(), doc, example, default=(0.0, 0.0, 1.0), kw_only=True, stated=True)


def through_key() -> Any:
    """Declare a point on the axis of a joint, where it does not pass through the origin of the joint's frame."""
    doc = "A point on the axis in the joint's frame, where it does not pass through its origin."
    return key(Vector("length"), doc, "[0, 2 cm, 0]", default=(0.0, 0.0, 0.0), kw_only=True)


def turning(axis: Any, through: Any = (0.0, 0.0, 0.0)) -> Array:
    """Unit twist (6,) of turning about an axis that passes a point."""
    (x, y, z), (a, b, c) = through, axis
    return np.array([a, b, c, y * c - z * b, z * a - x * c, x * b - y * a])


def is_turn(twist: Array) -> bool:
    """Whether a unit twist (6,) turns about an axis without an advance along it."""
    w, v = twist[:3], twist[3:]
    return bool(w.any()) and abs(float(w @ v)) <= 1e-12 * float(np.linalg.norm(v))


def sliding(axis: object) -> Array:
    """Unit twist (6,) of sliding along an axis."""
    return np.concatenate([np.zeros(3), np.array(axis)])


def rows(turns: Array, slides: Array) -> Array:
    """Rows (m, 6) of directions of rotation and of translation that are not allowed."""
    return np.vstack([np.pad(turns, ((0, 0), (0, 3))), np.pad(slides, ((0, 0), (3, 0)))])


def directions_across(axis: Any) -> Array:
    """x and y (2, 3) turned by the shortest rotation from z to the axis; of -z: half a turn about x."""
    x, y, z = axis
    if z < 0.0 and (x * x + y * y).real < 1e-300:  # what is left of it would be rounding
        return np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    # 1/(1 + z) without loss of digits near -z
    a = 1.0 / (1.0 + z) if z >= 0.0 else (1.0 - z) / (x * x + y * y)
    return np.array([[1.0 - a * x * x, -a * x * y, -x], [-a * x * y, 1.0 - a * y * y, -y]])


@dataclass(frozen=True)
class SomeJoints:
    """Those joints whose names or kinds fulfil a condition, as a registry."""

    chosen: Callable[[str, Any], bool]
    what = JOINTS.what
    get, name_of = JOINTS.get, JOINTS.name_of

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in JOINTS and self.chosen(name, JOINTS.get(name))

    def names(self) -> list[str]:
        return [name for name in JOINTS.names() if self.chosen(name, JOINTS.get(name))]

    def declared(self) -> dict[str, Any]:
        return {name: kind for name, kind in JOINTS.declared().items() if self.chosen(name, kind)}


@dataclass(frozen=True)
class JointType(OneOf):
    """A joint: a mapping of its kind, or a word for one that needs no more."""

    registry: Registry = JOINTS
    base: type | None = Joint

    @property
    def as_word(self) -> list[str]:
        """Kinds that a word is enough for."""
        declarations = {name: kind.declaration().values() for name, kind in self.kinds.items()}
        return [name for name, keys in declarations.items() if not any(one.required for one in keys)]

    def expected(self) -> str:
        return listed(
            [*self.as_word, *(f"{{{name}: ...}}" for name in self.registry.names() if name not in self.as_word)]
        )

    def read(self, value: object, at: At) -> Any:
        if isinstance(value, str):
            if value in self.as_word:
                return JOINTS.get(value).make({}, at)
            known = self.registry.names()
            hint = f"write {{{value}: {{axis: [0, 0, 1]}}}}" if value in known else nearest(value, known)
            return at.fail(self.expected(), shown(value), hint)
        if isinstance(value, Mapping) and "fixed" in value:
            return at.fail("the word fixed alone", shown(value))
        if isinstance(value, Mapping):
            return OneOf(cast(Any, SomeJoints(lambda name, _: name != "fixed" and name in self.registry))).read(
                value, at
            )
        return super().read(value, at)

    def write(self, value: Any, writer: Writer) -> Any:
        kind, own = self.kind_of(value), value.data(writer)
        return {kind: own} if own else kind

    def schema(self, define: Define) -> dict[str, Any]:
        kinds: Mapping[str, Any] = self.kinds
        words = [*self.as_word, *(name for name, kind in kinds.items() if kind.in_row)]
        moving = super().schema(define)
        moving["properties"].pop("fixed")
        return {"anyOf": [{"enum": words}, moving]}
