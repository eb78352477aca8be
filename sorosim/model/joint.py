"""Joints with at most one coordinate: fixed, revolute, prismatic, helical."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.door import describe
from sorosim.errors import ModelError, nearest
from sorosim.model.material import real_number

JOINT_KINDS = ("fixed", "revolute", "prismatic", "helical")


def unit_vector(where: str, value: Any) -> tuple[float, float, float]:
    """Return a direction (3,) scaled to length 1, refusing what is none."""
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray) or len(value) != 3:
        raise ModelError(where, "a direction of three numbers", describe(value))
    vector = np.array([real_number(where, x, "a direction of three numbers") for x in value])
    # scaling first: squares of tiny or huge entries would under- or overflow
    largest = np.abs(vector).max()
    if largest == 0.0:
        raise ModelError(where, "a direction of some length", describe(list(value)))
    if abs(float(vector @ vector) - 1.0) > 1e-15:  # one of length 1 stays as it is
        vector = vector / largest
        vector = vector / np.linalg.norm(vector)
    return float(vector[0]), float(vector[1]), float(vector[2])


@dataclass(frozen=True)
class Joint:
    """How a link moves on its parent.

    Parameters
    ----------
    kind : {"fixed", "revolute", "prismatic", "helical"}
    axis : three numbers
        Direction in the joint frame; it is scaled to length 1.
    pitch : float
        Advance per radian of a helical joint [m/rad].
    stiffness, damping : float
        Of a spring and a damper in the joint, >= 0. [N m/rad or N/m; N m s/rad or N s/m]
    rest : float
        Coordinate at which the spring is relaxed. [rad or m]
    """

    kind: str = "fixed"
    _: KW_ONLY
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    pitch: float = 0.0
    stiffness: float = 0.0
    damping: float = 0.0
    rest: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in JOINT_KINDS:
            raise ModelError("joint", "a kind of joint", describe(self.kind), nearest(str(self.kind), JOINT_KINDS))
        object.__setattr__(self, "axis", unit_vector(f"{self.kind}.axis", self.axis))
        for name in ("pitch", "rest"):
            object.__setattr__(self, name, real_number(f"{self.kind}.{name}", getattr(self, name)))
        for name in ("stiffness", "damping"):
            value = real_number(f"{self.kind}.{name}", getattr(self, name), "a number >= 0", least=0.0)
            object.__setattr__(self, name, value)
        if self.kind == "fixed" and (self.stiffness or self.damping or self.rest):
            raise ModelError("fixed", "no stiffness, damping or rest value", "one", "a fixed joint does not move")
        if self.kind != "helical" and self.pitch:
            raise ModelError(f"{self.kind}.pitch", "no pitch", describe(self.pitch), "only a helical joint has one")

    @property
    def columns(self) -> NDArray[np.float64]:
        """Unit twists of the coordinates in the joint frame, [angular; linear]: (n, 6), n = 0 or 1."""
        axis = np.array(self.axis)
        twists = {
            "fixed": np.zeros((0, 6)),
            "revolute": np.concatenate([axis, np.zeros(3)])[None],
            "prismatic": np.concatenate([np.zeros(3), axis])[None],
            "helical": np.concatenate([axis, self.pitch * axis])[None],
        }
        return twists[self.kind]
