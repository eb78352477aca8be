"""The file format: actuators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field as Key
from pydantic import Tag, model_validator

from sorosim.errors import ModelError
from sorosim.io import fields
from sorosim.io.blocks import Block, OwnOneOf, has
from sorosim.io.fields import Name, Quantity, Raw, Truth
from sorosim.io.schema_bodies import Fraction
from sorosim.io.schema_loops import LoopMotorBlock
from sorosim.registry import ACTUATORS

LinkName = Annotated[str, Name()]
Length = Annotated[float | str, Raw("a length or an expression")]
Area = Annotated[float | str, Raw("an area or an expression")]
Moment = Annotated[float | str, Raw("a moment or an expression")]


class RunBlock(Block):
    rod: LinkName = Key(examples=["arm"])
    y: Length = Key(examples=["1 cm"])
    z: Length = Key(examples=["0"])
    start: Fraction = Key(0.0, alias="from")
    end: Fraction = Key(1.0, alias="to")


class PulledBlock(Block):
    """What a tendon is, beside its way."""

    stiffness: Annotated[float, Quantity("stiffness", above=0.0)] | None = None
    friction: Annotated[float, Quantity("number", least=0.0)] = 0.0
    pushes: Annotated[bool, Truth()] = False


class TendonBlock(RunBlock, PulledBlock):
    """A tendon through one rod."""


class WayBlock(Block):
    """A way through several rods."""

    path: list[RunBlock] = Key(examples=["[{rod: arm, y: 0, z: 1 cm}, ...]"])

    @model_validator(mode="before")
    @classmethod
    def _has_runs_in_its_path(cls, value: Any) -> Any:
        others = [str(key) for key in value if key in RunBlock.key_names()] if isinstance(value, Mapping) else []
        if others:
            hint = "each entry of path has its own"
            raise ModelError("", f"the keys {', '.join(cls.key_names())}", "also " + ", ".join(others)[:60], hint)
        return value


class PathBlock(PulledBlock, WayBlock):
    """A tendon through several rods."""


class ChamberBlock(RunBlock):
    """A chamber in one rod."""

    area: Area = Key(examples=["2 cm^2"])


class ChamberPathBlock(WayBlock):
    """A chamber through several rods."""

    area: Area = Key(examples=["2 cm^2"])


class MomentBlock(Block):
    """Internal moments along a rod."""

    rod: LinkName = Key(examples=["arm"])
    torsion: Moment = 0.0
    bending_y: Moment = 0.0
    bending_z: Moment = 0.0
    start: Fraction = Key(0.0, alias="from")
    end: Fraction = Key(1.0, alias="to")


class MotorBlock(Block):
    link: LinkName = Key(examples=["shoulder"])
    along: Annotated[str, fields.Text("a direction of the joint")] | None = None


_Given = Annotated[float | str, Raw("a number or a quantity")]


class ServoBlock(MotorBlock):
    stiffness: _Given = Key(examples=["5 N*m/rad"])
    damping: _Given | None = None
    limit: _Given | None = None


class ActuatorBlock(OwnOneOf):
    registry = ACTUATORS

    tendon: (
        Annotated[
            Annotated[TendonBlock, Tag("<run>")] | Annotated[PathBlock, Tag("<path>")], has("path", "<path>", "<run>")
        ]
        | None
    ) = None
    chamber: (
        Annotated[
            Annotated[ChamberBlock, Tag("<run>")] | Annotated[ChamberPathBlock, Tag("<path>")],
            has("path", "<path>", "<run>"),
        ]
        | None
    ) = None
    moment: MomentBlock | None = None
    joint: MotorBlock | None = None
    servo: ServoBlock | None = None
    loop: LoopMotorBlock | None = None
