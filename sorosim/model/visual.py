"""What is drawn of a link, apart from what has mass."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from sorosim.errors import ModelError, nearest
from sorosim.model.pose import check_pose
from sorosim.model.shape import Array, Shape
from sorosim.validation import describe

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


@dataclass(frozen=True, eq=False)
class Visual:
    """A shape that is drawn and has no mass.

    Parameters
    ----------
    shape : Box, Cylinder, Cone, Sphere, Ellipsoid, Capsule or Mesh
        A mesh need not be closed.
    at : (4, 4) array_like
        Its pose in the frame of the link.
    colour : str
        A name (black, grey, white, red, orange, yellow, green, blue, purple, brown), a code ``#rrggbb``, or "" for the
        colour of rigid bodies.
    """

    shape: Shape
    _: KW_ONLY
    at: Array = field(default_factory=lambda: np.eye(4))
    colour: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.shape, Shape):
            raise ModelError("visual", "a shape", describe(self.shape))
        object.__setattr__(self, "at", check_pose("visual.at", self.at))
        if self.colour != "":
            colour_code(self.colour)

    @property
    def code(self) -> str:
        """Code of its colour, "" for that of rigid bodies."""
        return colour_code(self.colour) if self.colour else ""
