"""The file format: sensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import ConfigDict, Tag, model_validator
from pydantic import Field as Key

from sorosim.errors import ModelError
from sorosim.io import fields
from sorosim.io.blocks import Block, by_shape
from sorosim.io.fields import Name, Quantity, Raw, Text
from sorosim.io.schema_bodies import Fraction, Poses
from sorosim.problems import listed, shown
from sorosim.sensors.kinds import KINDS

MAX_SEED = 10**9


class GaugeBlock(Block):
    """A place on a rod."""

    link: Annotated[str, Name()] = Key(examples=["arm"])
    s: Fraction | None = None


class MountBlock(Block):
    """A frame on a link."""

    link: Annotated[str, Name()] = Key(examples=["arm"])
    s: Fraction | None = None
    frame: Annotated[str, Name()] | None = None
    at: Poses | None = None


_VALUE = Annotated[float | str, Raw("a number, a quantity, or a list with one for each channel")]
Errors = Annotated[
    Annotated[_VALUE, Tag("<value>")]
    | Annotated[list[Annotated[float | str, Raw("a number or a quantity")]], Tag("<values>")],
    by_shape({list: "<values>"}, "<value>"),
]


class SensorBlock(Block):
    """A mapping with the key of one kind, and what all kinds share."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": [name]} for name in KINDS]})

    strain: GaugeBlock | None = None
    pose: MountBlock | None = None
    twist: MountBlock | None = None
    acceleration: MountBlock | None = None
    imu: MountBlock | None = None
    tendon: Annotated[str, Text("the name of a tendon")] | None = None
    joint_wrench: Annotated[str, Text("the name of a link")] | None = None
    loop_wrench: Annotated[str, Text("the name of a loop")] | None = None
    load: Annotated[str, Text("the name of a load")] | None = None
    rate: Annotated[float, Quantity("frequency", above=0.0)] | None = None
    noise: Errors | None = None
    bias: Errors | None = None
    seed: Annotated[int, fields.Whole(0, MAX_SEED)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _has_one_kind(cls, value: Any) -> Any:
        # an unknown key may be the missing one misspelt: one mistake, one problem
        if not isinstance(value, Mapping) or not set(value) <= set(cls.model_fields):
            return value
        given = [name for name in KINDS if name in value]
        if len(given) != 1:
            got = "both " + " and ".join(given) if len(given) == 2 else ", ".join(given) or shown(value)
            raise ModelError("", "one kind of sensor: " + listed(list(KINDS)), got)
        return value

    @property
    def kind(self) -> str:
        """The kind that was given."""
        return next(name for name in KINDS if getattr(self, name) is not None)
