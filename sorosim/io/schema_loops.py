"""The file format: joints that close loops, and the motors in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field as Key
from pydantic import Tag, model_validator

from sorosim.errors import ModelError
from sorosim.io.blocks import Block, by_shape
from sorosim.io.fields import Name, Text, Truth
from sorosim.io.schema_bodies import PoseBlock, Poses
from sorosim.io.schema_joints import JointBlock


class BuiltBlock(PoseBlock):
    """A pose on a link, or where frame a is as the robot is built."""

    as_built: Annotated[bool, Truth()] = False

    @model_validator(mode="before")
    @classmethod
    def _is_one_pose(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and value.get("as_built") is True and {"position", "rotation"} & set(value):
            raise ModelError("", "as_built or a pose, one of them", "both", "leave position and rotation out")
        return value


def _refuse_built(at: Any, hint: str) -> None:
    """Refuse `as_built` in a pose or a list of poses."""
    for where, pose in [("at", at)] if isinstance(at, Mapping) else _entries(at):
        if isinstance(pose, Mapping) and "as_built" in pose:
            raise ModelError(f"{where}.as_built", "position and rotation", "as_built", hint)


def _entries(at: Any) -> list[tuple[str, Any]]:
    return [(f"at[{i}]", pose) for i, pose in enumerate(at)] if isinstance(at, list) else []


class FromBlock(Block):
    """Frame a of a loop."""

    link: Annotated[str, Name()] = Key(examples=["hand"])
    at: Poses | None = None

    @model_validator(mode="before")
    @classmethod
    def _has_a_pose(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            _refuse_built(value.get("at"), "only the end 'to' may be taken as built")
        return value


class ToBlock(Block):
    """Frame b of a loop."""

    link: Annotated[str, Name()] = "world"
    at: (
        Annotated[
            Annotated[BuiltBlock, Tag("<pose>")] | Annotated[list[PoseBlock], Tag("<poses>")],
            by_shape({list: "<poses>"}, "<pose>"),
        ]
        | None
    ) = None

    @model_validator(mode="before")
    @classmethod
    def _is_built_alone(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and isinstance(value.get("at"), list):
            _refuse_built(value["at"], "it stands alone, not in a list: at: {as_built: true}")
        return value


_END = by_shape({dict: "<end>"}, "<name>")
_Name = Annotated[str, Text("the name of a link, or {link: ..., at: ...}"), Tag("<name>")]


class LoopBlock(Block):
    joint: JointBlock = Key(examples=["{revolute: {axis: [0, 0, 1]}}"])
    start: Annotated[_Name | Annotated[FromBlock, Tag("<end>")], _END] = Key(alias="from", examples=["hand"])
    end: Annotated[_Name | Annotated[ToBlock, Tag("<end>")], _END] = Key(alias="to", examples=["world"])


class LoopMotorBlock(Block):
    loop: Annotated[str, Name()] = Key(examples=["rib"])
    along: Annotated[str, Name()] | None = None
