"""The file format: links, actuators, loads, how a robot is run, and the whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Discriminator, Tag, create_model, model_validator
from pydantic import Field as Key

from sorosim.errors import ModelError
from sorosim.io import fields
from sorosim.io.blocks import Block, words
from sorosim.io.fields import Choice, Name, Quantity, Raw, Vector
from sorosim.io.schema_actuators import ActuatorBlock
from sorosim.io.schema_bodies import FrameBlock, LinkBody, LinkVisual, Poses
from sorosim.io.schema_imports import ImportsBlock
from sorosim.io.schema_joints import DHBlock, JointBlock, Number, beside_row
from sorosim.io.schema_loads import LoadBlock
from sorosim.io.schema_loops import LoopBlock
from sorosim.io.schema_rods import MaterialBlock, RodBlock
from sorosim.io.schema_sensors import SensorBlock
from sorosim.io.schema_signals import SignalBlock
from sorosim.problems import close
from sorosim.solvers.registry import METHODS

CoordinateName = Annotated[str, fields.Text("the name of a coordinate or a link")]


# -- links


class LinkBlock(Block):
    joint: JointBlock = "fixed"
    parent: Annotated[str, fields.Parent()] = "world"
    at: Poses | None = None
    dh: DHBlock | None = None
    rod: RodBlock | None = None
    body: LinkBody | None = None
    visual: LinkVisual | None = None
    frames: dict[Annotated[str, Name()], FrameBlock] = Key(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _has_one_body(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and "rod" in value and "body" in value:
            raise ModelError("", "a rod or a body", "both", "fix one link to the other by a fixed joint")
        return value

    @model_validator(mode="before")
    @classmethod
    def _may_be_a_row(cls, value: Any) -> Any:
        return beside_row(value) if isinstance(value, Mapping) and "dh" in value else value


# -- how it is run


class StartBlock(Block):
    """Value and rate of one coordinate."""

    value: Number | None = None
    rate: Number | None = None

    @model_validator(mode="before")
    @classmethod
    def _says_something(cls, value: Any) -> Any:
        if value == {}:
            raise ModelError("", "a value, a rate, or both", "neither")
        return value


class MovingPoseBlock(FrameBlock):
    """Pose and motion of the moved frame of a joint in its fixed frame, in the axes of the fixed one."""

    velocity: Annotated[tuple[float, ...], Vector("speed")] | None = None
    angular_velocity: Annotated[tuple[float, ...], Vector("angular speed")] | None = None


def _start_shape(value: Any) -> str:
    if not isinstance(value, Mapping):
        return "<value>"
    is_pose = any(close(str(key), name) for key in value for name in MovingPoseBlock.model_fields)
    return "<pose>" if is_pose else "<start>"


InitialBlock = Annotated[
    Annotated[float | str, Raw("a number, a quantity, {value, rate} or a pose"), Tag("<value>")]
    | Annotated[StartBlock, Tag("<start>")]
    | Annotated[MovingPoseBlock, Tag("<pose>")],
    Discriminator(_start_shape),
]
Positive = Annotated[float, Quantity("number", above=0.0)]
Seconds = Annotated[float, Quantity("time", above=0.0)]


class SimulateBlock(Block):
    t_end: Seconds | None = None
    dt_out: Seconds | None = None
    u: dict[Annotated[str, Name()], SignalBlock] = Key(default_factory=dict)
    driven: dict[CoordinateName, SignalBlock] = Key(default_factory=dict)
    q0: Annotated[tuple[float, ...] | str, fields.Start()] | None = None
    method: Annotated[str, Choice(words(*METHODS))] | None = None
    checkpoint: Seconds | None = None
    rtol: Positive | None = None
    atol: Positive | None = None
    closing_time: Seconds | None = None
    step: Seconds | None = None
    spectral_radius: Annotated[float, Quantity("number", least=0.0, upto=1.0)] | None = None
    projection: Annotated[bool, fields.Truth()] | None = None
    max_steps: Annotated[float, Quantity("number", least=1.0)] | None = None
    max_wall_time: Seconds | None = None


class StaticsBlock(Block):
    u: dict[Annotated[str, Name()], Annotated[float | str, Raw("a number or a quantity")]] = Key(default_factory=dict)
    driven: dict[str, Annotated[float | str, Raw("a number or a quantity")]] = Key(default_factory=dict)
    stable: Annotated[bool, fields.Truth()] | None = None


# -- reuse: expanded before the rest is checked, so that values here are open


class PartBlock(Block):
    prefab: Any = Key(examples=["finger"])
    parent: Any = "world"
    at: Any = None
    repeat: Any = 1
    chain: Any = None
    given: dict[str, Any] = Key(default_factory=dict, alias="with")


class PrefabBlock(Block):
    parameters: dict[Annotated[str, fields.ParameterName()], Any] = Key(default_factory=dict)
    links: dict[Annotated[str, Name()], Any] = Key(default_factory=dict)
    parts: dict[Annotated[str, Name()], PartBlock] = Key(default_factory=dict)
    loops: dict[Annotated[str, Name()], Any] = Key(default_factory=dict)
    actuators: dict[Annotated[str, Name()], Any] = Key(default_factory=dict)
    loads: dict[Annotated[str, Name()], Any] = Key(default_factory=dict)
    sensors: dict[Annotated[str, Name()], Any] = Key(default_factory=dict)


class RobotFile(Block):
    sorosim: Annotated[int, fields.Version()] = Key(examples=["1"])
    name: Annotated[str, fields.Text("a name")] | None = None
    include: Any = None
    import_: ImportsBlock | None = Key(None, alias="import")
    parameters: dict[Annotated[str, fields.ParameterName()], Any] = Key(default_factory=dict)
    gravity: Annotated[tuple[float, ...], Vector("acceleration")] | None = None
    materials: dict[Annotated[str, Name()], MaterialBlock] = Key(default_factory=dict)
    prefabs: dict[Annotated[str, Name()], PrefabBlock] = Key(default_factory=dict)
    links: dict[Annotated[str, Name()], LinkBlock] = Key(examples=["{arm: {rod: ...}}"])
    parts: dict[Annotated[str, Name()], PartBlock] = Key(default_factory=dict)
    loops: dict[Annotated[str, Name()], LoopBlock] = Key(default_factory=dict)
    actuators: dict[Annotated[str, Name()], ActuatorBlock] = Key(default_factory=dict)
    loads: dict[Annotated[str, Name()], LoadBlock] = Key(default_factory=dict)
    sensors: dict[Annotated[str, Name()], SensorBlock] = Key(default_factory=dict)
    initial: dict[CoordinateName, InitialBlock] = Key(default_factory=dict)
    simulate: SimulateBlock | None = None
    statics: StaticsBlock | None = None


def _alone(name: str, *blocks: str) -> type[Block]:
    """Some blocks of a file, to be checked before the others."""
    given: dict[str, Any] = {n: (RobotFile.model_fields[n].annotation, RobotFile.model_fields[n]) for n in blocks}
    return create_model(name, __base__=Block, **given)


Imports = _alone("Imports", "import_")  # what is read before all else
Reuse = _alone("Reuse", "parameters", "prefabs", "parts")  # what is expanded
