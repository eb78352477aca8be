"""Motion in a plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sorosim.arrays import Array
from sorosim.kernels.loop_joint import AXIS_TURN
from sorosim.model.joints.base import MovingJoint, Stage, axis_key, directions_across, rows, turning


@dataclass(frozen=True)
class Planar(MovingJoint, kind="planar", title="Planar joints"):
    """Rotation about the normal of a plane and translation in it; the pose is exp of the twist of its coordinates."""

    axis: Any = axis_key("Normal of the plane, of any length.")

    places = True
    coordinates = (("angle", "angle"), ("tx", "length"), ("ty", "length"))
    turn = AXIS_TURN

    @property
    def stages(self) -> tuple[Stage, ...]:
        across = np.hstack([np.zeros((2, 3)), directions_across(self.axis)])
        return (Stage(np.vstack([turning(self.axis), across]), False, 0),)

    @property
    def constrained(self) -> Array:
        return rows(directions_across(self.axis), np.array(self.axis)[None])

    @property
    def sliding(self) -> Array:
        return np.eye(3) - np.outer(self.axis, self.axis)
