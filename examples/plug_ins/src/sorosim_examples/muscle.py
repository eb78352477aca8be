"""An actuator inside rods: a McKibben muscle along a rod, with friction in its braid."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sorosim import ActuatorLaw
from sorosim.base.errors import ModelError
from sorosim.mechanics.lie.so3 import skew


@dataclass(frozen=True)
class BraidedMuscle(ActuatorLaw):
    """A braided tube beside the axis of a rod; its input is the pressure in it [Pa].

    Its tension is p A (3 lambda^2 / tan^2 a - 1 / sin^2 a) + c dlambda/dt (Chou and Hannaford, 1996), lambda its
    stretch, a the angle of its braid.

    Parameters
    ----------
    rod : str
        Name of the link.
    area : float
        Of its cross-section at rest [m^2].
    y, z : float
        Its place in the sections [m].
    braid_angle : float
        [rad]
    damping : float
        c [N s].
    """

    rod: str
    area: float
    y: float = 0.0
    z: float = 0.0
    braid_angle: float = 0.4
    damping: float = 0.0

    unit: ClassVar[str] = "Pa"
    # what a file may write with units; damping per stretch is none of the known dimensions, and a plain number
    quantities: ClassVar[dict[str, str]] = {"area": "area", "y": "length", "z": "length", "braid_angle": "angle"}

    def __post_init__(self):
        if not 0.0 < self.braid_angle < 0.5 * np.pi:
            raise ModelError("braid_angle", "an angle between 0 and 90 deg", f"{self.braid_angle:g} rad")

    def wrench(self, u, xi, xid):
        """Internal wrench -T E^T t, t the unit tangent: minus T times the gradient of the length."""
        # E xi is the tangent of the muscle by arclength of the rod, in the axes of the section
        E = np.hstack([-skew(np.array([0.0, self.y, self.z])), np.eye(3)])
        v = xi @ E.T
        stretch = np.linalg.norm(v, axis=1, keepdims=True)
        t = v / stretch
        rate = np.sum(t * (xid @ E.T), axis=1, keepdims=True)
        a, b = 3.0 / np.tan(self.braid_angle) ** 2, 1.0 / np.sin(self.braid_angle) ** 2
        tension = u * self.area * (a * stretch**2 - b) + self.damping * rate
        return -tension * (t @ E)
