"""The format of sweep files: where a robot is looked at, and what for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Discriminator, Tag
from pydantic import Field as Key

from sorosim.errors import ModelError, nearest
from sorosim.io import fields
from sorosim.io.blocks import Block, OneOf, by_shape, words
from sorosim.io.fields import Choice, Field, Quantity, Raw, Text, Whole
from sorosim.io.schema import Positive, Seconds
from sorosim.problems import shown
from sorosim.solvers.registry import METHODS

FORMAT_VERSION = 1
MAX_POINTS = 1_000_000
MAX_BLOCK = 10_000
STARTS = ("warm", "cold", "follow")
REDUCTIONS = ("last", "min", "max", "mean", "rms", "range")
COMMANDS = ("statics", "simulate")

ParameterPath = Annotated[str, Text("u.NAME, driven.NAME or the path of a value in the robot's file")]
Value = Annotated[float | str, Raw("a number, a quantity or a word")]
Number = Annotated[float | str, Raw("a number or a quantity")]


@dataclass(frozen=True)
class Version(Field):
    """The version of the format of sweeps."""

    def check(self, value: Any) -> int:
        if isinstance(value, bool) or value != FORMAT_VERSION:
            raise ModelError("", f"{FORMAT_VERSION}, the version of the format", shown(value),
                             f"write sorosim_sweep: {FORMAT_VERSION}")  # fmt: skip
        return FORMAT_VERSION

    def json_schema(self) -> dict[str, Any]:
        return {"const": FORMAT_VERSION}


# -- points


class SpanBlock(Block):
    """Evenly spaced values, both ends included."""

    from_: Number = Key(alias="from", examples=["0"])
    to: Number = Key(examples=["10 N"])
    n: Annotated[int, Whole(2, MAX_POINTS)] = Key(examples=["11"])


Values = Annotated[
    Annotated[list[Value], Tag("<list>")] | Annotated[SpanBlock, Tag("<span>")],
    by_shape({Mapping: "<span>"}, "<list>"),
]


@dataclass(frozen=True)
class Bounds(Field):
    """Least and greatest value."""

    def check(self, value: Any) -> tuple[float | str, float | str]:
        if not isinstance(value, list) or len(value) != 2:
            raise ModelError("", "two values, [least, greatest]", shown(value))
        low, high = (Raw("a number or a quantity").check(entry) for entry in value)
        return low, high

    def json_schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": ["number", "string"]}, "minItems": 2, "maxItems": 2}


class SampledBlock(Block):
    """Points at random, or in a pattern, between bounds."""

    n: Annotated[int, Whole(1, MAX_POINTS)] = Key(examples=["1000"])
    seed: Annotated[int, Whole(0, 2**32 - 1)] = 0
    over: dict[ParameterPath, Annotated[tuple[float | str, float | str], Bounds()]] = Key(
        examples=["{u.cable1: [0, 10 N]}"]
    )


class PathBlock(Block):
    """Points on straight ways from one place to the next."""

    through: dict[ParameterPath, list[Number]] = Key(examples=["{u.cable1: [0, 10 N, 10 N]}"])
    steps: Annotated[int, Whole(1, MAX_POINTS)] = Key(10, examples=["10"])


class PointsBlock(OneOf):
    """Where a sweep looks: one kind of points."""

    grid: dict[ParameterPath, Values] | None = None
    random: SampledBlock | None = None
    latin_hypercube: SampledBlock | None = None
    sobol: SampledBlock | None = None
    path: PathBlock | None = None
    csv: Annotated[str, Text("the path of a CSV file")] | None = None
    rows: list[dict[ParameterPath, Value]] | None = Key(None, alias="list")


# -- what is computed there


class SweptRunBlock(Block):
    """Options of `simulate`; what is not said is taken from the robot's file."""

    t_end: Seconds | None = None
    dt_out: Seconds | None = None
    method: Annotated[str, Choice(words(*METHODS))] | None = None
    rtol: Positive | None = None
    atol: Positive | None = None
    step: Seconds | None = None
    spectral_radius: Annotated[float, Quantity("number", least=0.0, upto=1.0)] | None = None
    q0: Annotated[tuple[float, ...] | str, fields.Start()] | None = None
    keep_runs: Annotated[bool, fields.Truth()] = False


class SweptRun(OneOf):
    """A task with options."""

    simulate: SweptRunBlock | None = None


TaskBlock = Annotated[
    Annotated[str, Choice(words(*COMMANDS)), Tag("<word>")] | Annotated[SweptRun, Tag("<run>")],
    by_shape({Mapping: "<run>"}, "<word>"),
]


@dataclass(frozen=True)
class Reduction(Field):
    """How a quantity of a run becomes a number, and which: {max: arm.z}."""

    def check(self, value: Any) -> tuple[str, str]:
        expected = "a mapping of one of " + ", ".join(REDUCTIONS) + " to a quantity"
        if not isinstance(value, Mapping) or len(value) != 1:
            raise ModelError("", expected, shown(value), "as in {max: arm.z}")
        ((how, what),) = value.items()
        if how not in REDUCTIONS:
            raise ModelError("", expected, shown(how), nearest(str(how), REDUCTIONS))
        return str(how), Text("a quantity, such as arm.z").check(what)

    def json_schema(self) -> dict[str, Any]:
        one = {"type": "string", "minLength": 1}
        return {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": False,
                "properties": dict.fromkeys(REDUCTIONS, one)}  # fmt: skip


class PlaceBlock(Block):
    """A place on a link."""

    link: Annotated[str, Text("the name of a link")] = Key(examples=["arm"])
    s: Annotated[float, fields.Fraction()] = 1.0


OutputBlock = Annotated[
    Annotated[str, Text("the name of a link, or {link, s}"), Tag("<name>")] | Annotated[PlaceBlock, Tag("<place>")],
    Discriminator(lambda value: "<place>" if isinstance(value, Mapping) else "<name>"),
]


class SweepFile(Block):
    """A sweep file."""

    sorosim_sweep: Annotated[int, Version()] = Key(examples=["1"])
    robot: Annotated[str, Text("the file of a robot, or the name of a bundled one")] = Key(
        examples=["cable_manipulator"]
    )
    name: Annotated[str, Text("a name")] | None = None
    set: dict[Annotated[str, Text("the path of a value in the robot's file")], Any] = Key(default_factory=dict)
    points: PointsBlock = Key(examples=["{grid: {u.cable1: [0, 5 N, 10 N]}}"])
    task: TaskBlock = "statics"
    u: dict[Annotated[str, fields.Name()], Value] = Key(default_factory=dict)
    driven: dict[Annotated[str, Text("the name of a coordinate or a link")], Value] = Key(default_factory=dict)
    outputs: list[OutputBlock] | None = None
    summary: dict[Annotated[str, fields.Name()], Annotated[tuple[str, str], Reduction()]] = Key(default_factory=dict)
    start: Annotated[str, Choice(words(*STARTS))] = "warm"
    block: Annotated[int, Whole(1, MAX_BLOCK)] | None = None
