"""Rods whose length is a coordinate: fed through their base, or growing at their tip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sorosim.base.arrays import Array
from sorosim.mechanics.model.joints.base import MovingJoint, Stage, sliding


@dataclass(frozen=True)
class LengthJoint(MovingJoint):
    """What joints share whose coordinate is by how much a rod is longer than in the file; it moves along x."""

    directions = (("", "length"),)
    changes_length = True

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Stage(sliding((1.0, 0.0, 0.0))[None], True, 0),)


@dataclass(frozen=True)
class Feed(LengthJoint, kind="feed", title="Rods that are fed"):
    """The rod is fed through a straight, frictionless sheath that ends in the joint's frame and points along x.

    The coordinate is the length that has been fed beyond that of the rod. The rod in the sheath has no mass.
    """

    is_sheathed = True

    def material_rate(self, s: Array) -> Array:
        return 1.0 - np.asarray(s)


@dataclass(frozen=True)
class Growth(LengthJoint, kind="growth", title="Rods that grow"):
    """The rod grows at its tip, where new material is made without strain, moving with the material there.

    The coordinate is the length by which the rod has grown.
    """

    def material_rate(self, s: Array) -> Array:
        return -np.asarray(s)
