"""Any motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sorosim.model.joints.base import MovingJoint, Stage


@dataclass(frozen=True)
class Free(MovingJoint, kind="free", title="Free joints"):
    """No constraint; the pose is exp of the twist of its coordinates, angular ones first.

    The rotation is by the vector (rx, ry, rz), and (tx, ty, tz) is the position only where nothing is rotated.
    """

    places = True
    coordinates = (
        *(("rx", "angle"), ("ry", "angle"), ("rz", "angle")),
        *(("tx", "length"), ("ty", "length"), ("tz", "length")),
    )

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Stage(np.eye(6), False, 0),)
