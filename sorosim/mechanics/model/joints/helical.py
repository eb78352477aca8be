"""A screw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.declare import Quantity, key
from sorosim.base.declare.handle import IN_SPACE, Handle
from sorosim.base.errors import ModelError
from sorosim.mechanics.kernels.loop_joint import SCREW_TURN
from sorosim.mechanics.model.joints.base import (
    MovingJoint,
    Stage,
    axis_key,
    directions_across,
    rows,
    sliding,
    through_key,
    turning,
)


@dataclass(frozen=True)
class Helical(MovingJoint, kind="helical", title="Helical joints"):
    """A screw: it turns about an axis and advances along it."""

    axis: Any = axis_key()
    through: Any = through_key()
    pitch: Any = key(Quantity("length"), "Advance per angle.", "5 mm/rev", default=0.0, kw_only=True, stated=True)

    handles = (Handle(through=IN_SPACE),)
    directions = (("", "angle"),)
    turn = SCREW_TURN

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Stage((turning(self.axis, self.through) + self.pitch * sliding(self.axis))[None], True, 0),)

    @property
    def constrained(self) -> Array:
        axis, across = np.array(self.axis), directions_across(self.axis)
        return np.vstack([rows(across, across), np.concatenate([self.pitch * axis, -axis])])

    @property
    def sliding(self) -> Array:
        return np.outer(self.axis, self.axis)

    @property
    def along(self) -> Array:
        return turning(self.axis)[None]

    def check_in_loop(self) -> None:
        if self.pitch == 0.0:
            raise ModelError("pitch", "a pitch other than 0", "0", "a helical joint without one is revolute")
