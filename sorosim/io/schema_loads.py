"""The file format: loads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import ConfigDict, Tag, model_validator
from pydantic import Field as Key

from sorosim.errors import ModelError
from sorosim.io import fields
from sorosim.io.blocks import Block, OwnOneOf, by_shape, words
from sorosim.io.fields import Choice, Name, Quantity, Vector
from sorosim.io.schema_bodies import SHAPES, Fraction, Poses, ShapedBlock
from sorosim.io.schema_contact import ContactBlock
from sorosim.io.schema_signals import Force, LineForce, LineMoment, Moment, SignalBlock, Speeds
from sorosim.loads.point_wrench import FRAMES
from sorosim.problems import listed, shown
from sorosim.registry import LOADS

LinkName = Annotated[str, Name()]


def _has_an_effect(value: Any, key: str, example: str) -> Any:
    if isinstance(value, Mapping) and key in value and not {"moment", "force"} & set(value):
        raise ModelError("", "a moment or a force", "neither", f"for instance {example}")
    return value


class WrenchBlock(Block):
    """Moment and force at a point."""

    link: LinkName = Key(examples=["arm"])
    s: Fraction | None = None
    at: Poses | None = None
    moment: Moment | None = None
    force: Force | None = None
    frame: Annotated[str, Choice(words(*FRAMES))] = "world"
    through: Annotated[tuple[float, ...], Vector("length")] | None = None

    @model_validator(mode="before")
    @classmethod
    def _is_whole(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and value.get("frame") == "line" and "through" not in value:
            raise ModelError("", "the key 'through'", "nothing", "a point of the world on the line of the force")
        if isinstance(value, Mapping) and value.get("frame", "world") in ("world", "body") and "through" in value:
            raise ModelError("through", "frame: line beside it", "another frame")
        return _has_an_effect(value, "link", "force: [0, 0, 5 N]")


class LineBlock(Block):
    """Force and moment per length."""

    rod: LinkName = Key(examples=["arm"])
    moment: LineMoment | None = None
    force: LineForce | None = None
    frame: Annotated[str, Choice(words("world", "body"))] = "world"
    start: Fraction = Key(0.0, alias="from")
    end: Fraction = Key(1.0, alias="to")

    @model_validator(mode="before")
    @classmethod
    def _is_whole(cls, value: Any) -> Any:
        return _has_an_effect(value, "rod", "force: [0, 0, -2 N/m]")


class EndBlock(Block):
    """An end of a spring."""

    link: LinkName = "world"
    at: Poses | None = None


_End = Annotated[
    Annotated[str, fields.Text("the name of a link, or {link: ..., at: ...}"), Tag("<name>")]
    | Annotated[EndBlock, Tag("<end>")],
    by_shape({dict: "<end>"}, "<name>"),
]


class SpringBlock(Block):
    """A spring with a damper between two points."""

    start: _End = Key(alias="from", examples=["arm"])
    end: _End = Key(alias="to", examples=["{at: {position: [0, 0, 1 m]}}"])
    stiffness: SignalBlock = 0.0
    damping: SignalBlock = 0.0
    rest: SignalBlock = 0.0


_THREE = by_shape({list: "<three>"}, "<one>")
Coefficients = Annotated[
    Annotated[float, Quantity("number", least=0.0), Tag("<one>")]
    | Annotated[tuple[float, ...], Vector("number"), Tag("<three>")],
    _THREE,
]


class WetShapeBlock(ShapedBlock):
    """The shape of a body in a fluid."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": [name]} for name in SHAPES]})
    several = "shape"

    @model_validator(mode="before")
    @classmethod
    def _is_one(cls, value: Any) -> Any:
        given = [name for name in SHAPES if isinstance(value, Mapping) and name in value]
        if len(given) > 1:
            raise ModelError("", "one shape: " + listed(SHAPES), shown(value))
        return value


class ImmersedBlock(Block):
    """A link in a fluid."""

    drag: Coefficients | None = None
    lift: Annotated[float, Quantity("number")] = 0.0
    rotary_drag: Coefficients | None = None
    added_mass: Coefficients | None = None
    shape: WetShapeBlock | None = None


class FluidBlock(Block):
    """A fluid around the robot."""

    density: Annotated[float, Quantity("density", above=0.0)] = Key(examples=["1000 kg/m^3"])
    current: Speeds | None = None
    height: Annotated[float, Quantity("length")] | None = None
    up: Annotated[tuple[float, ...], Vector("number")] | None = None
    links: dict[LinkName, ImmersedBlock] | None = None


class LoadBlock(OwnOneOf):
    """A load of one kind."""

    registry = LOADS

    wrench: WrenchBlock | None = None
    line: LineBlock | None = None
    spring: SpringBlock | None = None
    fluid: FluidBlock | None = None
    contact: ContactBlock | None = None
