"""Translation along an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.mechanics.kernels.loop_joint import NO_TURN
from sorosim.mechanics.model.joints.base import MovingJoint, Stage, axis_key, directions_across, rows, sliding


@dataclass(frozen=True)
class Prismatic(MovingJoint, kind="prismatic", title="Prismatic joints"):
    """A slider."""

    axis: Any = axis_key()

    directions = (("", "length"),)
    turn = NO_TURN
    in_row = True

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Stage(sliding(self.axis)[None], True, 0),)

    @property
    def constrained(self) -> Array:
        return rows(np.eye(3), directions_across(self.axis))

    @property
    def sliding(self) -> Array:
        return np.outer(self.axis, self.axis)

    @property
    def along(self) -> Array:
        return sliding(self.axis)[None]
