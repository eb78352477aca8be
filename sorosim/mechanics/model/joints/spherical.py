"""Rotation about a point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sorosim.base.arrays import Array
from sorosim.mechanics.kernels.loop_joint import ANY_TURN
from sorosim.mechanics.model.joints.base import MovingJoint, Stage, rows


@dataclass(frozen=True)
class Spherical(MovingJoint, kind="spherical", title="Spherical joints"):
    """A ball joint; its coordinates are the rotation vector (rx, ry, rz)."""

    has_armature = False
    directions = (("rx", "angle"), ("ry", "angle"), ("rz", "angle"))
    turn = ANY_TURN

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Stage(np.eye(6)[:3], False, 0),)

    @property
    def constrained(self) -> Array:
        return rows(np.zeros((0, 3)), np.eye(3))
