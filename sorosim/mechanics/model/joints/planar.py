"""Motion in a plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.errors import ModelError
from sorosim.mechanics.kernels.loop_joint import AXIS_TURN
from sorosim.mechanics.model.joints.base import (
    POSITION,
    SCREW,
    MovingJoint,
    Stage,
    axis_key,
    coordinates_key,
    directions_across,
    rows,
    turning,
)


@dataclass(frozen=True)
class Planar(MovingJoint, kind="planar", title="Planar joints"):
    """Translation in a plane, (tx, ty) in the fixed frame, and rotation about its normal.

    With ``coordinates: screw`` the pose is exp of the twist of all three instead.
    """

    axis: Any = axis_key("Normal of the plane, of any length.")
    coordinates: Any = coordinates_key()

    places = True
    directions = (("tx", "length"), ("ty", "length"), ("angle", "angle"))
    turn = AXIS_TURN

    @property
    def stages(self) -> tuple[Stage, ...]:
        across, turn = np.hstack([np.zeros((2, 3)), directions_across(self.axis)]), turning(self.axis)[None]
        if self.coordinates == SCREW:
            return (Stage(np.vstack([across, turn]), False, 0),)
        return Stage(across, True, 0), Stage(turn, True, 2)

    @property
    def constrained(self) -> Array:
        return rows(directions_across(self.axis), np.array(self.axis)[None])

    @property
    def sliding(self) -> Array:
        return np.eye(3) - np.outer(self.axis, self.axis)

    def check_in_loop(self) -> None:
        if self.coordinates != POSITION:
            raise ModelError("coordinates", "no choice of coordinates in a loop, which has none", self.coordinates)
