"""Any motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sorosim.mechanics.model.joints.base import SCREW, MovingJoint, Stage, coordinates_key


@dataclass(frozen=True)
class Free(MovingJoint, kind="free", title="Free joints"):
    """No constraint; (tx, ty, tz) is the position of the link in the fixed frame, (rx, ry, rz) the rotation vector.

    With ``coordinates: screw`` the pose is exp of the twist of all six instead, and (tx, ty, tz) is the position only
    where nothing is rotated.
    """

    coordinates: Any = coordinates_key()

    places = True
    has_armature = False
    directions = (
        *(("tx", "length"), ("ty", "length"), ("tz", "length")),
        *(("rx", "angle"), ("ry", "angle"), ("rz", "angle")),
    )

    @property
    def stages(self) -> tuple[Stage, ...]:
        turns, slides = np.eye(6)[:3], np.eye(6)[3:]
        if self.coordinates == SCREW:
            return (Stage(np.vstack([slides, turns]), False, 0),)
        return Stage(slides, True, 0), Stage(turns, False, 3)
