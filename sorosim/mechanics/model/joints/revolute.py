"""Rotation about an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.declare.handle import IN_SPACE, Handle
from sorosim.mechanics.kernels.loop_joint import AXIS_TURN
from sorosim.mechanics.model.joints.base import (
    MovingJoint,
    Stage,
    axis_key,
    directions_across,
    rows,
    through_key,
    turning,
)


@dataclass(frozen=True)
class Revolute(MovingJoint, kind="revolute", title="Revolute joints"):
    """A hinge. Where its axis passes beside the origin of the joint's frame, the frame of the link goes round it."""

    axis: Any = axis_key()
    through: Any = through_key()
    handles = (Handle(through=IN_SPACE),)

    directions = (("", "angle"),)
    turn = AXIS_TURN
    in_row = True

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Stage(turning(self.axis, self.through)[None], True, 0),)

    @property
    def constrained(self) -> Array:
        return rows(directions_across(self.axis), np.eye(3))

    @property
    def along(self) -> Array:
        return turning(self.axis)[None]
