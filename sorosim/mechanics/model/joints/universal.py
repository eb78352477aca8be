"""Rotation about two axes in series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sorosim.base.declare import key
from sorosim.base.errors import ModelError
from sorosim.base.problems import shown
from sorosim.mechanics.model.joints.base import MovingJoint, Stage, axis_key, turning
from sorosim.mechanics.model.pose import Direction

PARALLEL = 1e-6


@dataclass(frozen=True)
class Universal(MovingJoint, kind="universal", title="Universal joints"):
    """A Cardan joint: two revolutes in series, its cross without mass. It closes no loop: its motions form no group."""

    axis: Any = axis_key("Direction of the first axis in the joint's frame, of any length.", "[1, 0, 0]")
    second_axis: Any = key(
        Direction(),
        "Direction of the second axis in the frame that the first one moves.",
        "[0, 1, 0]", default=None, without="`[0, 1, 0]`, or `[1, 0, 0]` if the first one is y", kw_only=True,
    )  # fmt: skip

    directions = (("first", "angle"), ("second", "angle"))

    def validate(self) -> None:
        super().validate()
        if self.second_axis is None:
            along_y = abs(self.axis[1]) > 1.0 - PARALLEL
            self._set(second_axis=(1.0, 0.0, 0.0) if along_y else (0.0, 1.0, 0.0))
        if np.linalg.norm(np.cross(self.axis, self.second_axis)) < PARALLEL:
            raise ModelError("second_axis", "an axis not parallel to the first", shown(list(self.second_axis)))

    @property
    def stages(self) -> tuple[Stage, ...]:
        return Stage(turning(self.axis)[None], True, 0), Stage(turning(self.second_axis)[None], True, 1)
