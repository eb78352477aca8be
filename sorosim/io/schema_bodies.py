"""The file format, part two: poses, rigid bodies, what is drawn of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Discriminator, Tag, field_validator, model_validator
from pydantic import Field as Key

from sorosim.errors import ModelError
from sorosim.io import fields
from sorosim.io.blocks import Block, by_shape
from sorosim.io.fields import Colour, Field, Quantity, Vector
from sorosim.problems import listed, shown

# -- poses

Direction = Annotated[tuple[float, ...], Vector("number")]


class RotationBlock(Block):
    """By axis and angle, by roll, pitch and yaw, by a quaternion, or by a matrix."""

    axis: Direction | None = None
    angle: Annotated[float, Quantity("angle")] | None = None
    rpy: Annotated[tuple[float, ...], Vector("angle")] | None = None
    quaternion: Annotated[tuple[float, ...], Vector("number", (4,))] | None = None
    matrix: list[Direction] | None = None

    @model_validator(mode="before")
    @classmethod
    def _has_one_form(cls, value: Any) -> Any:
        known = isinstance(value, Mapping) and set(value) <= set(cls.model_fields)
        forms = ({"axis", "angle"}, {"rpy"}, {"quaternion"}, {"matrix"})
        if not isinstance(value, Mapping) or (known and set(value) not in forms):
            raise ModelError("", "{axis, angle}, {rpy}, {quaternion} or {matrix}", shown(value))
        return value


class FrameBlock(Block):
    position: Annotated[tuple[float, ...], Vector("length")] = (0.0, 0.0, 0.0)
    rotation: RotationBlock | None = None


Fraction = Annotated[float, fields.Fraction()]


class PoseBlock(FrameBlock):
    """A pose on a link."""

    s: Fraction | None = None
    frame: Annotated[str, fields.Name()] | None = None


Poses = Annotated[
    Annotated[PoseBlock, Tag("<pose>")] | Annotated[list[PoseBlock], Tag("<poses>")],
    by_shape({list: "<poses>"}, "<pose>"),
]


# -- shapes

Length = Annotated[float, Quantity("length", above=0.0)]
Lengths = Annotated[tuple[float, ...], Vector("length", above=0.0)]


class BoxBlock(Block):
    size: Lengths = Key(examples=["[10 cm, 5 cm, 2 cm]"])


class RoundBlock(Block):
    radius: Length = Key(examples=["2 cm"])
    length: Length = Key(examples=["10 cm"])


class SphereBlock(Block):
    radius: Length = Key(examples=["2 cm"])


class EllipsoidBlock(Block):
    radii: Lengths = Key(examples=["[5 cm, 3 cm, 2 cm]"])


class MeshScale(Field):
    """A length of the unit of a file, or three numbers for its axes, of which negative ones mirror."""

    def check(self, value: Any) -> float | tuple[float, ...]:
        if not isinstance(value, list):
            return Quantity("length", above=0.0).check(value)
        found = Vector("length").check(value)
        if 0.0 in found:
            raise ModelError(f"[{found.index(0.0)}]", "a length other than 0", "0")
        return found

    def json_schema(self) -> dict[str, Any]:
        return {"anyOf": [Quantity("length", above=0.0).json_schema(), Vector("length").json_schema()]}


class MeshFileBlock(Block):
    file: Annotated[str, fields.Text("the path of a mesh file")] = Key(examples=["palm.stl"])
    scale: Annotated[float | tuple[float, ...], MeshScale()] = 1.0


class MeshBlock(Block):
    vertices: list[Annotated[tuple[float, ...], Vector("length")]] = Key(examples=["[[0, 0, 0], ...]"])
    faces: list[Annotated[tuple[float, ...], Vector("number")]] = Key(examples=["[[0, 1, 2], ...]"])


_MESH = Discriminator(
    lambda value: "<triangles>" if isinstance(value, Mapping) and {"vertices", "faces"} & set(value) else "<file>"
)
AnyMesh = Annotated[Annotated[MeshFileBlock, Tag("<file>")] | Annotated[MeshBlock, Tag("<triangles>")], _MESH]

SHAPES = ("box", "cylinder", "cone", "sphere", "ellipsoid", "capsule", "mesh")


def _one_of(*names: str) -> dict[str, Any]:
    return {"oneOf": [{"required": [name]} for name in names]}


class ShapedBlock(Block):
    """A mapping with the key of one shape among its keys."""

    box: BoxBlock | None = None
    cylinder: RoundBlock | None = None
    cone: RoundBlock | None = None
    sphere: SphereBlock | None = None
    ellipsoid: EllipsoidBlock | None = None
    capsule: RoundBlock | None = None
    mesh: AnyMesh | None = None
    at: FrameBlock | None = None

    several: ClassVar[str]  # the key of a link that takes a list of them

    @model_validator(mode="before")
    @classmethod
    def _has_one_shape(cls, value: Any) -> Any:
        # an unknown key may be the missing one misspelt: one mistake, one problem
        if not isinstance(value, Mapping) or not set(value) <= set(cls.model_fields):
            return value
        given = [name for name in SHAPES if name in value]
        if len(given) != 1:
            got, hint = shown(value), ""
            if given:
                got = "both " + " and ".join(given) if len(given) == 2 else ", ".join(given)
                hint = f"{cls.several} takes a list of them"
            raise ModelError("", "one shape: " + listed(SHAPES), got, hint)
        cls.check_keys(set(value))
        return value

    @classmethod
    def check_keys(cls, given: set[str]) -> None:
        """Refuse what does not go together."""

    @property
    def kind(self) -> str:
        """The shape that was given."""
        return next(name for name in SHAPES if getattr(self, name) is not None)


class SolidBlock(ShapedBlock):
    model_config = ConfigDict(json_schema_extra={"allOf": [_one_of(*SHAPES), _one_of("density", "mass")]})
    several = "body"

    density: Annotated[float, Quantity("density", above=0.0)] | None = None
    mass: Annotated[float, Quantity("mass", above=0.0)] | None = None

    @classmethod
    def check_keys(cls, given: set[str]) -> None:
        amounts = given & {"density", "mass"}
        if len(amounts) != 1:
            got, hint = ("both", "leave one of them out") if amounts else ("neither", "for instance density: 1 g/cm^3")
            raise ModelError("", "one of density and mass", got, hint)


class VisualBlock(ShapedBlock):
    model_config = ConfigDict(json_schema_extra=_one_of(*SHAPES))
    several = "visual"

    colour: Annotated[str, Colour()] | None = None

    @field_validator("colour", mode="before")
    @classmethod
    def _is_no_comment(cls, value: Any) -> Any:
        if value is None:
            raise ModelError("", "a colour", "nothing", "# begins a comment: put a code such as '#e58a2e' in quotes")
        return value


class BodyBlock(Block):
    """A rigid body, or a part of one, by numbers."""

    mass: Annotated[float, Quantity("mass", above=0.0)] = Key(examples=["200 g"])
    centre: Annotated[tuple[float, ...], Vector("length")] = (0.0, 0.0, 0.0)
    inertia: Annotated[tuple[float, ...], Vector("inertia", (3, 6))] = Key(examples=["[1e-4, 1e-4, 1e-4]"])
    at: FrameBlock | None = None


def _by_numbers(value: Any) -> str:
    """Tag of a part: whether it is a shape or given by numbers, also if a key of it is wrong."""
    keys = set(value) if isinstance(value, Mapping) else set()
    numbers = not keys & set(SHAPES) and (keys & {"centre", "inertia"} or {"mass"} <= keys <= {"mass", "at"})
    return "<numbers>" if numbers else "<solid>"


BodyPart = Annotated[
    Annotated[SolidBlock, Tag("<solid>")] | Annotated[BodyBlock, Tag("<numbers>")], Discriminator(_by_numbers)
]
_SEVERAL = by_shape({list: "<parts>"}, "<part>")
LinkBody = Annotated[Annotated[BodyPart, Tag("<part>")] | Annotated[list[BodyPart], Tag("<parts>")], _SEVERAL]
LinkVisual = Annotated[Annotated[VisualBlock, Tag("<part>")] | Annotated[list[VisualBlock], Tag("<parts>")], _SEVERAL]
