"""Rigid bodies: mass, centre of mass and inertia."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.door import describe
from sorosim.errors import ModelError
from sorosim.lie.so3 import skew
from sorosim.model.material import real_number


def vector3(where: str, value: Any, expected: str = "three numbers") -> tuple[float, float, float]:
    """Return three finite numbers as a tuple, refusing anything else."""
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray) or len(value) != 3:
        raise ModelError(where, expected, describe(value))
    x, y, z = (real_number(where, v, expected) for v in value)
    return x, y, z


@dataclass(frozen=True)
class RigidBody:
    """A rigid body by its mass properties, in the frame of its link.

    Parameters
    ----------
    mass : float
        [kg], positive.
    centre : three numbers
        Centre of mass in the link's frame [m].
    inertia : three or six numbers
        Moments about the centre of mass, axes of the link's frame [kg m^2]: Ixx, Iyy, Izz, then Ixy, Ixz, Iyz (entries
        of the matrix, so products of inertia with their minus sign). Positive definite, and every principal moment at
        most the sum of the other two: no distribution of mass has other values.
    """

    mass: float
    _: KW_ONLY
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
    inertia: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", real_number("body.mass", self.mass, "a positive mass [kg]", above=0.0))
        object.__setattr__(self, "centre", vector3("body.centre", self.centre))
        given: Any = self.inertia
        if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or len(given) not in (3, 6):
            raise ModelError("body.inertia", "three or six numbers [kg m^2]", describe(given))
        values = tuple(real_number("body.inertia", v, "finite numbers [kg m^2]") for v in given)
        object.__setattr__(self, "inertia", values if len(values) == 6 else (*values, 0.0, 0.0, 0.0))
        moments = np.linalg.eigvalsh(self.rotational_inertia)
        shown = "principal moments " + ", ".join(f"{m:.6g}" for m in moments)
        if moments[0] <= 0.0:
            raise ModelError("body.inertia", "a positive definite matrix", shown)
        # a flat body meets the bound exactly: leave room for rounding
        if moments[2] > (moments[0] + moments[1]) * (1.0 + 1e-9):
            raise ModelError("body.inertia", "no principal moment above the sum of the other two", shown)

    @property
    def rotational_inertia(self) -> NDArray[np.float64]:
        """Inertia matrix about the centre of mass (3, 3) [kg m^2]."""
        xx, yy, zz, xy, xz, yz = self.inertia
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    @property
    def spatial_inertia(self) -> NDArray[np.float64]:
        """Spatial inertia (6, 6) at the origin of the link's frame, [angular; linear]."""
        c = skew(np.array(self.centre))
        m = np.eye(3) * self.mass
        return np.block([[self.rotational_inertia - self.mass * c @ c, self.mass * c], [-self.mass * c, m]])
