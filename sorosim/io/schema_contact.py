"""The file format: contacts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from pydantic import Discriminator, Tag, model_validator
from pydantic import Field as Key

from sorosim.errors import ModelError
from sorosim.io import fields
from sorosim.io.blocks import Block, by_shape, words
from sorosim.io.fields import Choice, Field, Name, Numbers, Quantity, Vector, Whole
from sorosim.io.schema_bodies import AnyMesh, BoxBlock, EllipsoidBlock, FrameBlock, Length, RoundBlock, SphereBlock
from sorosim.loads.contact import RODS_AS
from sorosim.model.link import WORLD
from sorosim.problems import listed, shown
from sorosim.units.quantity import quantity
from sorosim.validation import as_real

OBSTACLES = ("half_space", "plane", "pole", "pipe", "bowl", "height_field")
TOUCHABLE = ("sphere", "capsule", "cylinder", "box", "ellipsoid", "mesh", *OBSTACLES)


class StiffnessOfContact(NamedTuple):
    """A stiffness of a contact in SI units, and the power of the length in its unit, if it has one."""

    value: float
    power: float | None


_STIFFNESS = re.compile(
    r"\s*(?P<number>[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(?P<force>\w*N)\s*/\s*(?P<length>\w*m)\s*(?:\^\s*(?P<power>[0-9.]+|\(3/2\)))?\s*"
)


@dataclass(frozen=True)
class ContactStiffness(Field):
    """Force per power of a length: a number, or a text such as 1e5 N/m^1.5."""

    def check(self, value: Any) -> StiffnessOfContact:
        expected = "a positive stiffness such as 1e5 N/m^1.5, or 20 N/mm for exponent 1"
        number, power = as_real(value), None
        if number is None and isinstance(value, str):
            match = _STIFFNESS.fullmatch(value[:100])
            try:
                if match:
                    power = 1.5 if match["power"] == "(3/2)" else float(match["power"] or 1.0)
                    scale = (
                        quantity(f"1 {match['force']}", "force") / quantity(f"1 {match['length']}", "length") ** power
                    )
                    number = float(match["number"]) * scale
                else:
                    number = float(value)
            except (ValueError, OverflowError):
                number = None
        if number is None or not 0.0 < number < math.inf:
            raise ModelError("", expected, shown(value))
        return StiffnessOfContact(number, power)

    def json_schema(self) -> dict[str, Any]:
        return {"type": ["number", "string"], "exclusiveMinimum": 0.0}


class FlatBlock(Block):
    """A plane, or what is below it: it has no sizes."""


class PoleBlock(Block):
    """A pole, or a hollow sphere."""

    radius: Length = Key(examples=["5 cm"])


class PipeBlock(Block):
    """A round hole."""

    radius: Length = Key(examples=["15 cm"])
    length: Length | None = None


class HeightFieldBlock(Block):
    """A smooth surface through heights on a grid."""

    heights: list[Annotated[tuple[float, ...], Numbers("length")]] = Key(examples=["[[0, 0, 0, 0], ...]"])
    size: Annotated[tuple[float, ...], Vector("length", (2,), above=0.0)] = Key(examples=["[1 m, 1 m]"])


class SurfaceBlock(Block):
    """A surface of a link, or a shape."""

    link: Annotated[str, Name()] = WORLD
    radius: Length | None = None
    pieces: Annotated[int, Whole(1, 10000)] | None = None
    box: BoxBlock | None = None
    cylinder: RoundBlock | None = None
    sphere: SphereBlock | None = None
    capsule: RoundBlock | None = None
    ellipsoid: EllipsoidBlock | None = None
    mesh: AnyMesh | None = None
    half_space: FlatBlock | None = None
    plane: FlatBlock | None = None
    pole: PoleBlock | None = None
    pipe: PipeBlock | None = None
    bowl: PoleBlock | None = None
    height_field: HeightFieldBlock | None = None
    at: FrameBlock | None = None

    @model_validator(mode="before")
    @classmethod
    def _has_a_shape(cls, value: Any) -> Any:
        if not isinstance(value, Mapping) or not set(value) <= set(cls.model_fields):
            return value
        given = [name for name in TOUCHABLE if name in value]
        if len(given) > 1:
            got = "both " + " and ".join(given) if len(given) == 2 else ", ".join(given)
            raise ModelError("", "one shape: " + listed(TOUCHABLE), got, "between, and, among take lists of them")
        if not given and value.get("link", WORLD) == WORLD:
            raise ModelError("", "one shape: " + listed(TOUCHABLE), "none", "or the key 'link'")
        return value

    @property
    def kind(self) -> str:
        """The shape that was given, "" for that of the link."""
        return next((name for name in TOUCHABLE if getattr(self, name) is not None), "")


_Surface = Annotated[
    Annotated[str, fields.Text("the name of a link, or {link: ..., sphere: ...}"), Tag("<name>")]
    | Annotated[SurfaceBlock, Tag("<surface>")],
    by_shape({dict: "<surface>"}, "<name>"),
]
Surfaces = Annotated[
    Annotated[_Surface, Tag("<one>")] | Annotated[list[_Surface], Tag("<several>")],
    Discriminator(lambda value: "<several>" if isinstance(value, list) else "<one>"),
]


class ContactBlock(Block):
    """Contact between surfaces."""

    between: Surfaces | None = None
    others: Surfaces | None = Key(None, alias="and")
    among: Surfaces | None = None
    stiffness: Annotated[StiffnessOfContact, ContactStiffness()] = Key(examples=["1e5 N/m^1.5"])
    exponent: Annotated[float, Quantity("number", least=1.0, upto=5.0)] = 1.5
    onset: Annotated[float, Quantity("length", least=0.0)] = 0.0
    damping: Annotated[float, Quantity("inverse speed", least=0.0)] = 0.0
    restitution: Annotated[float, Quantity("number", above=0.0, upto=1.0)] | None = None
    impact_speed: Annotated[float, Quantity("speed", above=0.0)] | None = None
    friction: Annotated[float, Quantity("number", least=0.0)] = 0.0
    slip_speed: Annotated[float, Quantity("speed", above=0.0)] = 1e-3
    rods: Annotated[str, Choice(words(*RODS_AS))] = RODS_AS[0]
    apart: list[list[Annotated[str, Name()]]] = Key(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _is_whole(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        given = set(value)
        if given & {"friction", "slip_speed"} and "stiffness" not in given:
            hint = "for instance stiffness: 1e5 N/m^1.5; `sorosim check` estimates one"
            raise ModelError(
                "", "the key 'stiffness': friction needs the pressure of the contact", "friction alone", hint
            )
        if {"among"} <= given and given & {"between", "and"}:
            raise ModelError("", "among, or between and `and`", "both")
        if not given & {"among", "between", "and"}:
            hint = "for instance between: arm, and: {half_space: {}}"
            raise ModelError("", "the surfaces: among, or between and `and`", "neither", hint)
        if "among" not in given and not {"between", "and"} <= given:
            missing = "between" if "and" in given else "and"
            raise ModelError("", f"the key '{missing}'", "nothing", "or `among`, for surfaces that touch each other")
        return value
