"""What is drawn of a link, apart from what has mass."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from sorosim.base.arrays import Array
from sorosim.base.declare import At, Declared, Inline, Key, Type, key
from sorosim.base.declare.base import Define
from sorosim.base.errors import ModelError, nearest
from sorosim.base.problems import shown
from sorosim.base.registry import SHAPES
from sorosim.base.validation import describe
from sorosim.mechanics.model.body import AT_KEY
from sorosim.mechanics.model.pose import IDENTITY, PoseType
from sorosim.mechanics.model.shape import Shape

COLOURS = {
    "black": "#2b2e33", "grey": "#93a3b8", "white": "#f1f2f4", "red": "#c8443c", "orange": "#e58a2e",
    "yellow": "#e8c547", "green": "#4f9d69", "blue": "#3f78b5", "purple": "#7d5ba6", "brown": "#8a6547",
}  # fmt: skip


def colour_code(colour: str) -> str:
    """The code ``#rrggbb`` of a colour, refusing what is none.

    Parameters
    ----------
    colour : str
        A name of `COLOURS`, or a code.
    """
    if isinstance(colour, str) and re.fullmatch(r"#[0-9a-fA-F]{6}", colour):
        return colour.lower()
    if not isinstance(colour, str) or colour not in COLOURS:
        expected = "the name of a colour, or its code such as '#e58a2e'"
        raise ModelError("colour", expected, describe(colour), nearest(str(colour), COLOURS))
    return COLOURS[colour]


class Colour(Type):
    """The name or the code of a colour."""

    def take(self, data: Mapping[str, object], key: Key, at: At) -> Any:
        if key.name in data and data[key.name] is None:
            hint = "# begins a comment: put a code such as '#e58a2e' in quotes"
            return (at / key.name).fail("a colour", "nothing", hint)
        return super().take(data, key, at)

    def check(self, value: object) -> str:
        if not isinstance(value, str):
            raise ModelError("", "the name of a colour, or its code in quotes", shown(value))
        try:
            colour_code(value)
        except ModelError as error:
            raise ModelError("", error.expected, shown(value), error.hint) from None
        return value

    def schema(self, define: Define) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(COLOURS)}, {"type": "string", "pattern": "^#[0-9a-fA-F]{6}$"}]}


@dataclass(frozen=True, eq=False)
class Visual(Declared, title="What is drawn of a link"):
    """A shape that is drawn and has no mass; a mesh need not be closed."""

    shape: Shape = key(Inline(SHAPES, Shape, "visual takes a list of them"), "Its shape.")
    _: KW_ONLY
    at: Array = key(PoseType(), *AT_KEY, default=IDENTITY)
    colour: str = key(
        Colour(), "black, grey, white, red, orange, yellow, green, blue, purple, brown, or a code in quotes.",
        "'#e58a2e'", default="", without="that of rigid bodies",
    )  # fmt: skip

    @property
    def code(self) -> str:
        """Code of its colour, "" for that of rigid bodies."""
        return colour_code(self.colour) if self.colour else ""
