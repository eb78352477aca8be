"""Exact statics of even rods under a wrench at the tip; nothing of sorosim is used.

Seen from the frame of the tip a follower wrench is a constant, and so are the strains everywhere once the way from the
tip is known: an initial-value problem from the tip to the base. Of a dead wrench the rotation of the tip is unknown.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation
from scipy.special import ellipeinc, ellipj, ellipk

Array = NDArray[np.float64]
STRAIGHT = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)


def skew(v: Array) -> Array:
    """Cross-product matrix."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def rotation(v: ArrayLike) -> Array:
    """Rotation matrix of a rotation vector."""
    return np.asarray(Rotation.from_rotvec(v).as_matrix())


@dataclass(frozen=True, eq=False)
class EvenRod:
    """A rod clamped at the origin along x; stiffness and strains as torsion, two bendings, elongation, two shears."""

    length: float
    stiffness: ArrayLike
    reference: ArrayLike = STRAIGHT

    def under_follower(self, wrench: ArrayLike, rtol: float = 1e-12) -> Array:
        """Pose (4, 4) of the tip under a wrench [moment; force] in its own axes."""
        moment, force = np.reshape(wrench, (2, 3))
        rest, flexibility, across = np.asarray(self.reference), 1.0 / np.asarray(self.stiffness), skew(force)

        def rates(_: float, y: Array) -> Array:
            # place p and axes R of a section, both in the frame of the tip
            p, R = y[:3], y[3:].reshape(3, 3)
            xi = rest + flexibility * np.concatenate([(moment + across @ p) @ R, force @ R])
            return np.concatenate([R @ xi[3:], (R @ skew(xi[:3])).ravel()])

        start = np.concatenate([np.zeros(3), np.eye(3).ravel()])
        found = solve_ivp(rates, (self.length, 0.0), start, method="DOP853", rtol=rtol, atol=0.1 * rtol)
        p, R = found.y[:3, -1], found.y[3:, -1].reshape(3, 3)
        g = np.eye(4)
        g[:3, :3], g[:3, 3] = R.T, -R.T @ p
        return g

    def mismatch(self, R: Array, wrench: Array, rtol: float = 1e-12) -> Array:
        """Rotation vector (3,) from R to the rotation of the tip under a dead wrench that finds the tip at R."""
        turned = self.under_follower(np.concatenate([R.T @ wrench[:3], R.T @ wrench[3:]]), rtol)
        return np.asarray(Rotation.from_matrix(R.T @ turned[:3, :3]).as_rotvec())

    def under_dead(self, wrench: ArrayLike) -> Array:
        """Pose (4, 4) of the tip under a wrench in world axes: Newton's method, first roughly at rising loads."""
        full, R = np.asarray(wrench, dtype=float), self.under_follower(np.zeros(6))[:3, :3]
        for load, rtol, enough in ((0.25, 1e-6, 1e-4), (0.5, 1e-6, 1e-4), (1.0, 1e-6, 1e-5), (1.0, 1e-12, 1e-12)):
            for _ in range(30):
                gap = self.mismatch(R, load * full, rtol)
                if np.abs(gap).max() < enough:
                    break
                # of the derivative four digits will do
                here, h = self.mismatch(R, load * full, 1e-7), 1e-3
                there = [self.mismatch(R @ rotation(h * e), load * full, 1e-7) for e in np.eye(3)]
                R = R @ rotation(-np.linalg.solve((np.array(there) - here).T / h, gap))
            else:
                raise ArithmeticError(f"no rotation of the tip found, {gap} is left")
        return self.under_follower(np.concatenate([R.T @ full[:3], R.T @ full[3:]]))

    def buckles_sideways(self, low: float, high: float) -> float:
        """The dead force P along y between two sizes at which a rod bent in the x-y plane may leave it.

        There the mismatch, as a function of the rotation of the tip, has a singular derivative out of the plane.
        """

        def across(size: float) -> float:
            wrench = np.array([0, 0, 0, 0, size, 0])

            def in_plane(angle: float) -> float:
                return float(self.mismatch(rotation([0, 0, angle]), wrench)[2])

            R = rotation([0, 0, brentq(in_plane, 0.0, 1.5, xtol=1e-13)])
            # central differences of fourth order
            h, J = 1e-3, np.zeros((2, 2))
            for j, e in enumerate(np.eye(3)[:2]):
                for k, weight in ((-2, 1), (-1, -8), (1, 8), (2, -1)):
                    J[:, j] += weight * self.mismatch(R @ rotation(k * h * e), wrench)[:2] / (12.0 * h)
            return float(np.linalg.det(J))

        return float(brentq(across, low, high, rtol=1e-11))


def follower_elastica(alpha: float, gamma: float) -> tuple[Array, float]:
    """Place x/L, y/L and angle of the tip of an inextensible cantilever under a follower force, by elliptic functions.

    alpha = P L^2/EI; gamma is the angle from the tangent at the tip to the force. Let v be pi less the angle from the
    tangent to the force: from the tip on, v'' = -alpha sin v with v = pi - gamma and v' = 0, a pendulum let go at rest.
    """
    m = np.sin((np.pi - gamma) / 2.0) ** 2
    u0, u = ellipk(m), ellipk(m) + np.sqrt(alpha)
    (_, cn0, _, am0), (sn, cn, dn, am) = ellipj(u0, m), ellipj(u, m)
    v = 2.0 * np.arctan2(np.sqrt(m) * sn, dn)
    # integrals of cos v = 1 - 2 m sn^2 and sin v = 2 sqrt(m) sn dn
    along = (2.0 * (ellipeinc(am, m) - ellipeinc(am0, m)) - (u - u0)) / np.sqrt(alpha)
    across = -2.0 * np.sqrt(m) * (cn - cn0) / np.sqrt(alpha)
    # to the axes of the base, whose tangent is at v - pi from the force
    c, s = np.cos(v), np.sin(v)
    return np.array([c * along + s * across, c * across - s * along]), np.pi - gamma - v
