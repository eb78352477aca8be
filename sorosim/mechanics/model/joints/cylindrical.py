"""Rotation about an axis and translation along it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.mechanics.kernels.loop_joint import AXIS_TURN
from sorosim.mechanics.model.joints.base import MovingJoint, Stage, axis_key, directions_across, rows, sliding, turning


@dataclass(frozen=True)
class Cylindrical(MovingJoint, kind="cylindrical", title="Cylindrical joints"):
    """A sleeve on a shaft."""

    axis: Any = axis_key()

    directions = (("angle", "angle"), ("slide", "length"))
    turn = AXIS_TURN

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Stage(np.array([turning(self.axis), sliding(self.axis)]), True, 0),)

    @property
    def constrained(self) -> Array:
        across = directions_across(self.axis)
        return rows(across, across)

    @property
    def sliding(self) -> Array:
        return np.outer(self.axis, self.axis)

    @property
    def along(self) -> Array:
        return np.array([turning(self.axis), sliding(self.axis)])
