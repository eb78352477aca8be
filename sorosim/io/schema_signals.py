"""The file format: numbers that depend on time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Discriminator, GetCoreSchemaHandler, GetJsonSchemaHandler, Tag
from pydantic import Field as Key
from pydantic_core import CoreSchema, core_schema

from sorosim.errors import ModelError
from sorosim.io import fields
from sorosim.io.blocks import Block, words
from sorosim.io.fields import Choice, Numbers, Raw
from sorosim.problems import shown
from sorosim.signals import INTERPOLATIONS
from sorosim.units.table import DIMENSIONS


class SignalTable(Block):
    times: Annotated[tuple[float, ...], Numbers("time")] = Key(examples=["[0, 1 s, 2 s]"])
    values: list[Annotated[float | str, Raw("a number or a quantity")]] = Key(examples=["[0, 5, 0]"])
    interpolation: Annotated[str, Choice(words(*INTERPOLATIONS))] = "linear"


class SignalFile(Block):
    csv: Annotated[str, fields.Text("the path of a CSV file")]
    column: Annotated[int | str, Raw("the name or the number of a column")] | None = None
    interpolation: Annotated[str, Choice(words(*INTERPOLATIONS))] = "linear"


_SHAPE = Discriminator(
    lambda value: ("<csv>" if "csv" in value else "<table>") if isinstance(value, Mapping) else "<value>"
)
SignalBlock = Annotated[
    Annotated[float | str, Raw("a number, an expression of t, {times, values} or {csv}"), Tag("<value>")]
    | Annotated[SignalTable, Tag("<table>")]
    | Annotated[SignalFile, Tag("<csv>")],
    _SHAPE,
]


@dataclass(frozen=True)
class Three:
    """A marker for lists of signals: there are three, of one dimension."""

    dimension: str

    def check(self, value: Any) -> Any:
        if not isinstance(value, list) or len(value) != 3:
            raise ModelError("", f"a list of 3, each {DIMENSIONS[self.dimension].label}", shown(value))
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(core) | {"minItems": 3, "maxItems": 3, "x-unit": DIMENSIONS[self.dimension].unit}


Moment = Annotated[list[SignalBlock], Three("moment")]
Force = Annotated[list[SignalBlock], Three("force")]
LineMoment = Annotated[list[SignalBlock], Three("line moment")]
LineForce = Annotated[list[SignalBlock], Three("line force")]
Speeds = Annotated[list[SignalBlock], Three("speed")]
