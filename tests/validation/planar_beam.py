"""Free planar rods by finite elements: two nodes each, one point of integration; nothing of sorosim is used.

The kinematics are exact (Reissner's): strains R^T r' - e_x and theta' in the middle of an element, inertia in the
nodes. Errors are in even powers of the length of the elements: a few meshes give their limit.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PlanarBeam:
    """A straight rod along x from the origin, at rest; a force and a moment on its first end, functions of time."""

    length: float
    EA: float
    GA: float
    EI: float
    rho_A: float
    rho_I: float
    wrench: Callable[[float], tuple[float, float, float]]  # f_x, f_y, moment

    def motion(self, n: int, t: Array, rtol: float = 1e-9) -> Array:
        """Positions and angles (n_t, n + 1, 3) of the nodes of n elements."""
        h = self.length / n
        share = np.full(n + 1, h)
        share[[0, -1]] = h / 2.0
        mass = np.outer(share, [self.rho_A, self.rho_A, self.rho_I])

        def rate(time: float, x: Array) -> Array:
            r, v = x.reshape(2, n + 1, 3)
            middle, slope = (r[1:, 2] + r[:-1, 2]) / 2.0, np.diff(r, axis=0) / h
            cos, sin = np.cos(middle), np.sin(middle)
            # r' in the axes of the section
            a, b = cos * slope[:, 0] + sin * slope[:, 1], cos * slope[:, 1] - sin * slope[:, 0]
            N, Q, M = self.EA * (a - 1.0), self.GA * b, self.EI * slope[:, 2]
            across = np.stack([cos * N - sin * Q, sin * N + cos * Q, M], axis=-1)
            force = np.zeros_like(r)
            force[:-1] += across
            force[1:] -= across
            turning = (a * Q - b * N) * h / 2.0
            force[:-1, 2] += turning
            force[1:, 2] += turning
            force[0] += self.wrench(time)
            return np.concatenate([v.ravel(), (force / mass).ravel()])

        start = np.zeros((2, n + 1, 3))
        start[0, :, 0] = np.linspace(0.0, self.length, n + 1)
        found = solve_ivp(rate, t[[0, -1]], start.ravel(), "DOP853", t_eval=t, rtol=rtol, atol=rtol)
        return found.y.T.reshape(len(t), 2, n + 1, 3)[:, 0]
