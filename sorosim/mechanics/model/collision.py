"""What touches of a link, apart from what has mass."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from sorosim.base.arrays import Array
from sorosim.base.declare import Declared, Inline, key
from sorosim.base.registry import SHAPES
from sorosim.mechanics.model.body import AT_KEY
from sorosim.mechanics.model.pose import IDENTITY, PoseType
from sorosim.mechanics.model.shape import Shape


@dataclass(frozen=True, eq=False)
class Collision(Declared, title="What touches of a link"):
    """A shape that contacts of a link take, and that has no mass."""

    shape: Shape = key(Inline(SHAPES, Shape, "collision takes a list of them"), "Its shape.")
    _: KW_ONLY
    at: Array = key(PoseType(), *AT_KEY, default=IDENTITY)
