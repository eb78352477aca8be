"""What a robot answers, by name: kinematics, dynamics and their derivatives, energies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Kinematics(NamedTuple):
    """Motion of the points of a robot, body frames."""

    g: Array  # (n_points, 4, 4) pose in the world
    eta: Array  # (n_points, 6) twist [rad/s, m/s]
    J: Array  # (n_points, 6, ndof) Jacobian, eta = J qd
    Jd: Array  # (n_points, 6, ndof) its time derivative dJ/dt


class InverseDynamicsDerivatives(NamedTuple):
    """Inverse dynamics and its derivatives."""

    tau: Array  # (ndof,)
    dtau_dq: Array  # (ndof, ndof)
    dtau_dqd: Array  # (ndof, ndof)
    mass_matrix: Array  # (ndof, ndof), the derivative by qdd


class InternalForceDerivatives(NamedTuple):
    """Internal force and its derivatives."""

    tau: Array  # (ndof,)
    dtau_dq: Array  # (ndof, ndof)
    dtau_dqd: Array  # (ndof, ndof)
    B: Array  # (ndof, n_actuators), the derivative by u


class ForwardDynamicsDerivatives(NamedTuple):
    """Forward dynamics and its derivatives."""

    qdd: Array  # (ndof,)
    dqdd_dq: Array  # (ndof, ndof)
    dqdd_dqd: Array  # (ndof, ndof)
    dqdd_du: Array  # (ndof, n_actuators)


class Energy(NamedTuple):
    """Energy of a robot [J]; that of gravity is zero at the world's origin."""

    kinetic: float
    elastic: float
    gravity: float

    @property
    def total(self) -> float:
        """Sum of the three."""
        return self.kinetic + self.elastic + self.gravity


class HybridDynamics(NamedTuple):
    """Accelerations and forces of all coordinates, given and found ones."""

    qdd: Array  # (ndof,)
    tau: Array  # (ndof,)


class HybridDynamicsDerivatives(NamedTuple):
    """Hybrid dynamics and its derivatives, what is given held; `given` is qdd where it is known, tau elsewhere."""

    qdd: Array  # (ndof,)
    tau: Array  # (ndof,)
    dqdd_dq: Array  # (ndof, ndof), and so are all that follow
    dqdd_dqd: Array
    dqdd_dgiven: Array
    dtau_dq: Array
    dtau_dqd: Array
    dtau_dgiven: Array


class LoopRows(NamedTuple):
    """Rows of all loops, one a multiplier."""

    error: Array  # (m,) [rad or m], zero where closed
    rate: Array  # (m,) its rate of change where closed, A qd
    A: Array  # (m, ndof) constraint matrix
