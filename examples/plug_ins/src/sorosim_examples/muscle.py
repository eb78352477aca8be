"""An actuator inside rods: a McKibben muscle along a rod, with friction in its braid."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sorosim.actuation.base import ActuatorValues
from sorosim.errors import ModelError
from sorosim.lie.so3 import skew


@dataclass(frozen=True)
class BraidedMuscle:
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

    @property
    def rods(self):
        """The rods in whose sections it acts."""
        return (self.rod,)

    def bind(self, sections):
        """It is the same in every section."""
        # E xi is the tangent of the muscle by arclength of the rod, in the axes of the section
        E = np.hstack([-skew(np.array([0.0, self.y, self.z])), np.eye(3)])
        a, b = 3.0 / np.tan(self.braid_angle) ** 2, 1.0 / np.sin(self.braid_angle) ** 2
        return BoundBraidedMuscle(E, self.area * a, self.area * b, self.damping)


@dataclass(frozen=True, eq=False)
class BoundBraidedMuscle:
    """The same at its sections."""

    E: np.ndarray  # (3, 6)
    pulls: float
    pushes: float
    damping: float

    def evaluate(self, u, xi, xid):
        """Internal wrench -T E^T t, t the unit tangent: minus T times the gradient of the length."""
        v, vd = xi @ self.E.T, xid @ self.E.T
        stretch = np.linalg.norm(v, axis=1)
        t = v / stretch[:, None]
        rate = np.einsum("ni,ni->n", t, vd)
        by_input = self.pulls * stretch**2 - self.pushes
        tension = u * by_input + self.damping * rate
        along = t @ self.E  # (n, 6): gradient of the stretch
        across = (np.eye(3) - np.einsum("ni,nj->nij", t, t)) / stretch[:, None, None]
        turning = self.E.T @ across @ self.E  # (n, 6, 6): second derivative of the stretch
        slope = 2.0 * u * self.pulls * stretch[:, None] * along  # of the tension, at a constant rate of stretch
        slope += self.damping * np.einsum("ni,nij,jk->nk", vd, across, self.E)  # and by that rate
        return ActuatorValues(
            wrench=-tension[:, None] * along,
            by_strain=-np.einsum("ni,nj->nij", along, slope) - tension[:, None, None] * turning,
            by_rate=-self.damping * np.einsum("ni,nj->nij", along, along),
            by_input=-by_input[:, None] * along,
        )
