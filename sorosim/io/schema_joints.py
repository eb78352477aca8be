"""The file format: joints, and the springs, dampers, friction and limits in them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field as Key
from pydantic import GetJsonSchemaHandler, Tag, ValidationInfo, field_validator, model_validator
from pydantic_core import CoreSchema

from sorosim.errors import ModelError, nearest
from sorosim.io.blocks import Block, OneOf, by_shape
from sorosim.io.fields import Field, Quantity, Raw, Vector, checked_at
from sorosim.model.denavit_hartenberg import KINDS as ROW_KINDS
from sorosim.model.joint import COORDINATES, WITHOUT_AXIS, Limit
from sorosim.problems import listed, shown
from sorosim.units.quantity import quantity
from sorosim.units.table import DIMENSIONS

Axis = Annotated[tuple[float, ...], Vector("number")]
Point = Annotated[tuple[float, ...], Vector("length")]
Number = Annotated[float | str, Raw("a number or a quantity")]

# what acts on a coordinate -> its dimension for an angle and for a length
DIMENSIONS_OF = {
    "stiffness": {"angle": "rotary stiffness", "length": "stiffness"},
    "damping": {"angle": "rotary damping", "length": "damping"},
    "rest": {"angle": "angle", "length": "length"},
    "friction": {"angle": "moment", "length": "force"},
    "creep": {"angle": "angular speed", "length": "speed"},
}


class Each:
    """Checks what acts on the coordinates of a kind of joint: a number, or a list with an entry for each of them."""

    def __init__(self, name: str, kind: str) -> None:
        bounds: dict[str, float] = {"rest": {}, "creep": {"above": 0.0}}.get(name, {"least": 0.0})
        self.kind = kind
        self.markers = [Quantity(DIMENSIONS_OF[name][dimension], **bounds) for _, dimension in COORDINATES[kind]]
        self.alike = len({marker.dimension for marker in self.markers}) == 1

    def check(self, value: Any) -> float | tuple[float, ...]:
        if self.alike and (len(self.markers) == 1 or not isinstance(value, list)):
            return self.markers[0].check(value)
        if not isinstance(value, list) or len(value) != len(self.markers):
            example = ", ".join(DIMENSIONS[marker.dimension].example for marker in self.markers)
            raise ModelError("", one_for_each(self.kind), shown(value), f"for instance [{example}]")
        return tuple(
            checked_at(f"[{i}]", marker, entry)
            for i, (marker, entry) in enumerate(zip(self.markers, value, strict=True))
        )

    def json_schema(self) -> dict[str, Any]:
        """What a value looks like."""
        each = [marker.json_schema() for marker in self.markers]
        if len(each) == 1:
            return each[0]
        several = {"type": "array", "prefixItems": each, "minItems": len(each), "maxItems": len(each)}
        return {"anyOf": [each[0], several]} if self.alike else several


def one_for_each(kind: str) -> str:
    """A list with an entry for each coordinate, in words."""
    names = [name for name, _ in COORDINATES[kind]]
    return f"a list of {len(names)}, one for each coordinate ({', '.join(names)})"


class LimitBlock(Block):
    low: Number | None = None
    high: Number | None = None
    stiffness: Number = Key(examples=["1000"])

    def limit(self, dimension: str) -> Limit:
        """The limit of a coordinate that is an angle or a length."""
        if self.low is None and self.high is None:
            raise ModelError("", "a low or a high end, or both", "neither")
        ends = {"low": -math.inf, "high": math.inf}
        for name in ends:
            if (given := getattr(self, name)) is not None:
                ends[name] = quantity(given, dimension, name)
        if not ends["low"] < ends["high"]:
            raise ModelError("high", f"an end above the low one, {self.low}", str(self.high))
        marker = Quantity(DIMENSIONS_OF["stiffness"][dimension], above=0.0)
        return Limit(**ends, stiffness=checked_at("stiffness", marker, self.stiffness))


class SpringsBlock(Block):
    """What acts on the coordinates of a joint; `joint` is its kind."""

    joint: ClassVar[str]
    stiffness: Any = 0.0
    damping: Any = 0.0
    rest: Any = 0.0
    friction: Any = 0.0
    creep: Any = None

    @field_validator(*DIMENSIONS_OF, mode="before")
    @classmethod
    def _fits_the_coordinates(cls, value: Any, info: ValidationInfo) -> Any:
        return None if value is None else Each(str(info.field_name), cls.joint).check(value)

    @field_validator("limits", mode="after", check_fields=False)
    @classmethod
    def _limits_the_coordinates(cls, value: Any) -> tuple[Limit | None, ...]:
        entries = [("", value)] if isinstance(value, LimitBlock) else [(f"[{i}]", x) for i, x in enumerate(value)]
        found: list[Limit | None] = []
        for (where, entry), (_, dimension) in zip(entries, COORDINATES[cls.joint], strict=True):
            try:
                found.append(None if entry is None else entry.limit(dimension))
            except ModelError as error:
                raise ModelError(f"{where}.{error.where}", error.expected, error.got, error.hint) from None
        return tuple(found)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        out = handler(core)
        properties = handler.resolve_ref_schema(out)["properties"]
        for name in DIMENSIONS_OF:
            properties[name] |= Each(name, cls.joint).json_schema()
        if cls.joint in ROW_KINDS:  # beside dh they have none
            handler.resolve_ref_schema(out).pop("required", None)
        return out


class OneCoordinate(SpringsBlock):
    limits: LimitBlock | None = None


class SeveralCoordinates(SpringsBlock):
    limits: list[LimitBlock | None] | None = None

    @field_validator("limits", mode="before")
    @classmethod
    def _has_one_limit_each(cls, value: Any) -> Any:
        if not isinstance(value, list) or len(value) != len(COORDINATES[cls.joint]):
            raise ModelError("", one_for_each(cls.joint), shown(value), "null where there is none")
        return value


class AlongAxis(Block):
    axis: Axis = Key(examples=["[0, 0, 1]"])


class RevoluteBlock(OneCoordinate, AlongAxis):
    joint = "revolute"
    through: Point = (0.0, 0.0, 0.0)


class PrismaticBlock(OneCoordinate, AlongAxis):
    joint = "prismatic"


class HelicalBlock(OneCoordinate, AlongAxis):
    joint = "helical"
    through: Point = (0.0, 0.0, 0.0)
    pitch: Annotated[float, Quantity("length")] = Key(examples=["5 mm/rev"])


class CylindricalBlock(SeveralCoordinates, AlongAxis):
    joint = "cylindrical"


class UniversalBlock(SeveralCoordinates, AlongAxis):
    joint = "universal"
    second_axis: Axis | None = None


class PlanarBlock(SeveralCoordinates, AlongAxis):
    joint = "planar"


class SphericalBlock(SeveralCoordinates):
    joint = "spherical"


class FreeBlock(SeveralCoordinates):
    joint = "free"


class MovingJoint(OneOf):
    revolute: RevoluteBlock | None = None
    prismatic: PrismaticBlock | None = None
    helical: HelicalBlock | None = None
    cylindrical: CylindricalBlock | None = None
    universal: UniversalBlock | None = None
    planar: PlanarBlock | None = None
    spherical: SphericalBlock | None = None
    free: FreeBlock | None = None

    @model_validator(mode="before")
    @classmethod
    def _moves(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and "fixed" in value:
            raise ModelError("", "the word fixed alone", shown(value))
        return value


class JointWord(Field):
    """A joint as a word: one that needs no axis. A row of dh gives one to others, see `beside_row`."""

    def check(self, value: Any) -> str:
        if not isinstance(value, str) or value not in WITHOUT_AXIS:
            with_axis = [kind for kind in MovingJoint.model_fields if kind not in WITHOUT_AXIS]
            hint = nearest(value, COORDINATES) if isinstance(value, str) else ""
            if value in with_axis:
                hint = f"write {{{value}: {{axis: [0, 0, 1]}}}}"
            raise ModelError(
                "", listed([*WITHOUT_AXIS, *(f"{{{kind}: ...}}" for kind in with_axis)]), shown(value), hint
            )
        return value

    def json_schema(self) -> dict[str, Any]:
        return {"enum": [*WITHOUT_AXIS, *ROW_KINDS]}


JointBlock = Annotated[
    Annotated[str, JointWord(), Tag("<word>")] | Annotated[MovingJoint, Tag("<moving>")],
    by_shape({dict: "<moving>"}, "<word>"),
]


# -- rows of Denavit-Hartenberg tables


class Row(Field):
    """[a, alpha, d, theta]."""

    _markers = (Quantity("length"), Quantity("angle"), Quantity("length"), Quantity("angle"))

    def check(self, value: Any) -> tuple[float, ...]:
        if not isinstance(value, list) or len(value) != 4:
            raise ModelError(
                "", "a row of four, [a, alpha, d, theta]", shown(value), "for instance [43 cm, 0, 0, 90 deg]"
            )
        return tuple(checked_at(f"[{i}]", m, x) for i, (m, x) in enumerate(zip(self._markers, value, strict=True)))

    def json_schema(self) -> dict[str, Any]:
        each = [marker.json_schema() for marker in self._markers]
        return {"type": "array", "prefixItems": each, "minItems": 4, "maxItems": 4}


RowOf = Annotated[tuple[float, ...], Row()]


class DHBlock(OneOf):
    modified: RowOf | None = None
    standard: RowOf | None = None


def beside_row(value: Mapping[str, Any]) -> dict[str, Any]:
    """A link with a row of dh: the same with an axis in its joint, which the row replaces. What it says is refused."""
    if "at" in value:
        hint = "the row says where the joint is; put a pose on a link of its own before it"
        raise ModelError("at", "no pose beside dh", shown(value["at"]), hint)
    joint = value.get("joint")
    kind = next(iter(joint), None) if isinstance(joint, Mapping) and len(joint) == 1 else joint
    if kind not in ROW_KINDS:
        raise ModelError("joint" if "joint" in value else "", "a revolute or prismatic joint beside dh",
                         "none" if joint is None else shown(kind), "for instance joint: revolute")  # fmt: skip
    given = joint[kind] if isinstance(joint, Mapping) else {}
    if not isinstance(given, Mapping):
        return dict(value)
    for key in ("axis", "through"):
        if key in given:
            raise ModelError(
                f"joint.{kind}.{key}", f"no key '{key}' beside dh", shown(given[key]), "the row has the axis"
            )
    return {**value, "joint": {kind: {**given, "axis": [0.0, 0.0, 1.0]}}}


def kind_of(block: str | MovingJoint) -> str:
    """The kind of a joint."""
    return block if isinstance(block, str) else block.kind
