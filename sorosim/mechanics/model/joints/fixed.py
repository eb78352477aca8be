"""No motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sorosim.base.arrays import Array
from sorosim.mechanics.kernels.loop_joint import NO_TURN
from sorosim.mechanics.model.joints.base import Joint, Stage, rows


@dataclass(frozen=True)
class Fixed(Joint, kind="fixed", title="Fixed joints"):
    """The link does not move on its parent."""

    turn = NO_TURN

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Stage(np.zeros((0, 6)), True, 0),)

    @property
    def constrained(self) -> Array:
        return rows(np.eye(3), np.eye(3))
