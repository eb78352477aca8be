"""Motions known in closed form, and what is conserved: for tests of robots that move."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ellipj, ellipkinc, ellipkm1

from sorosim.analysis.motion.simulate import simulate
from sorosim.analysis.results.result import Run
from sorosim.mechanics.lie import Ad_inv
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.robot import Robot

Array = NDArray[np.float64]
X, Y, Z = np.eye(3)
NOWHERE = (0.0, 0.0, 0.0)


# -- rotations


def turn(axis: ArrayLike, angle: ArrayLike) -> Array:
    """Rotations (..., 3, 3) about a unit axis."""
    x, y, z = np.asarray(axis, dtype=float)
    a = np.asarray(angle)[..., None, None]
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(a) * K + (1.0 - np.cos(a)) * K @ K


def pose(R: ArrayLike | None = None, p: ArrayLike = NOWHERE) -> Array:
    """A pose (4, 4)."""
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = np.eye(3) if R is None else R, p
    return g


def angle_between(R: Array, S: Array) -> Array:
    """Angles (n,) between rotations (n, 3, 3), without loss of digits at small ones."""
    return 2.0 * np.arcsin(np.minimum(np.linalg.norm(R - S, axis=(-2, -1)) / np.sqrt(8.0), 1.0))


# no frame of the bodies that are turned so lies along their principal axes, or along those of the world
ASKEW = turn(Z, 0.7) @ turn(X, -1.1) @ turn(Z, 0.4)


# -- robots in motion


def run_of(
    robot: Robot, t_end: float, dt: float, start: tuple[Any, Any] = (None, None), method: str = "lsoda",
    rtol: float = 1e-11, **options: Any,
) -> Run:  # fmt: skip
    """A run from a start (q, qd); lsoda's formulas go up to order 12, which suits smooth motions."""
    return simulate(
        robot, t_end, dt_out=dt, q0=start[0], qd0=start[1], method=method, rtol=rtol, atol=1e-2 * rtol, **options
    )


def drift(values: Array, scale: float | None = None) -> float:
    """Largest change of something conserved (n, ...) over a scale; default: its largest entry at the start."""
    return float(np.abs(values - values[0]).max() / (np.abs(values[0]).max() if scale is None else scale))


def oblique_body(mass: float, moments: ArrayLike, centre: ArrayLike, Q: Array) -> RigidBody:
    """A body whose principal axes are the columns of Q; centre of mass in these axes."""
    inertia = Q @ np.diag(moments) @ Q.T
    rows, columns = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]
    return RigidBody(mass, centre=tuple(Q @ np.asarray(centre)), inertia=tuple(inertia[rows, columns]))


MOMENTS, CENTRE = np.array([0.1, 0.2, 0.28]), np.array([0.1, -0.05, 0.2])


def free_body(gravity: tuple[float, float, float] = NOWHERE) -> Robot:
    """A body of 2 kg, ASKEW, its centre of mass off the frame of the link; the frame of the joint stands anywhere."""
    link = Link("body", oblique_body(2.0, MOMENTS, CENTRE, ASKEW), joint=Joint("free"),
                at=pose(turn(X, 0.5) @ turn(Y, 1.0), (0.4, 0.1, -0.7)))  # fmt: skip
    return Robot(Description("free body", (link,), gravity=gravity))


def thrown(robot: Robot, q: Array, omega: ArrayLike, velocity: ArrayLike = NOWHERE) -> Array:
    """Rates of the free body at an angular velocity in its principal axes and a velocity of its centre in the world."""
    R = robot.pose(q, "body")[:3, :3]
    # that of the frame's origin is less by omega x c
    return rates_for(robot, q, [*ASKEW @ omega, *(R.T @ velocity - ASKEW @ np.cross(omega, CENTRE))], "body")


def rates_for(robot: Robot, q: Array, twist: ArrayLike, link: str) -> Array:
    """Rates of the joints before a link, the other ones zero, at which it has a body twist (6,) or angular velocity."""
    twist = np.asarray(twist, dtype=float)
    return np.linalg.pinv(robot.jacobian(q, link, s=0.0)[: len(twist)]) @ twist


def poses_of(run: Run, link: str, s: float = 1.0) -> Array:
    """Poses (n, 4, 4) along a run."""
    return np.stack([run.robot.pose(q, link, s=s) for q in run.q])


def twists_of(run: Run, point: int = 0) -> Array:
    """Body twists (n, 6) of a point along a run."""
    return np.stack([run.robot.kinematics(*state).eta[point] for state in zip(run.q, run.qd, strict=True)])


@dataclass(frozen=True)
class Momenta:
    """Sums over all points."""

    angular: Array  # (n, 3) about the origin of the world
    linear: Array  # (n, 3)
    centre: Array  # (n, 3) centre of mass
    mass: float


def momenta_at(robot: Robot, q: Array, qd: Array) -> Momenta:
    """Momenta and centre of mass at coordinates and rates (n, ndof), from poses and twists of all points."""
    inertia = robot.engine.tree.inertia[robot.engine.layout.points]
    total, whole = [], []
    for row in zip(q, qd, strict=True):
        state = robot.kinematics(*row)
        back = np.stack([Ad_inv(g) for g in state.g])
        total.append(np.einsum("kji,kjl,kl->i", back, inertia, state.eta))
        whole.append(np.einsum("kji,kjl,klm->im", back, inertia, back))
    h, M = np.array(total), np.array(whole)
    # the inertia of everything at the origin holds m c^ beside m
    moments = np.stack([M[:, 2, 4], M[:, 0, 5], M[:, 1, 3]], axis=-1)
    return Momenta(h[:, :3], h[:, 3:], moments / M[:, 3:4, 3], float(M[0, 3, 3]))


def momenta(run: Run) -> Momenta:
    """Momenta and centre of mass along a run."""
    return momenta_at(run.robot, run.q, run.qd)


# -- quadrature


def over_period(f: Callable[[Array], Array], n: int = 200) -> float:
    """Integral of f over half a period of sin, -pi/2 to pi/2; of even analytic f it is exact to rounding."""
    psi = np.pi * ((np.arange(n) + 0.5) / n - 0.5)
    return float(np.pi / n * f(psi).sum())


def accumulated(f: Callable[[Array], Array], t: Array, n: int = 32) -> Array:
    """Integral of f from t[0] to each t, by Gauss's rule between them."""
    x, w = np.polynomial.legendre.leggauss(n)
    h = np.diff(t)[:, None]
    inside = f((t[:-1, None] + h * (1.0 + x) / 2.0).ravel()).reshape(h.shape[0], n)
    return np.concatenate([[0.0], np.cumsum(inside @ w * h[:, 0] / 2.0)])


# -- exact motions


@dataclass(frozen=True)
class FreeTop:
    """A free body with principal moments I_1 < I_2 < I_3, its angular velocity at t = 0 in the principal axes.

    Euler's equations in Jacobi's elliptic functions, for rotations that circle the axis of the largest moment
    (L^2 > 2 T I_2), omega_1 and omega_3 not negative at the start.
    """

    moments: Array
    omega_0: Array

    @property
    def _constants(self) -> tuple[Array, float, float, float, float]:
        """Amplitudes of omega, rate and phase of the argument, parameter m and 1 - m."""
        (I1, I2, I3), w = self.moments, self.omega_0
        # L^2 - 2 T I_k, in terms that do not cancel
        from_1 = I2 * (I2 - I1) * w[1] ** 2 + I3 * (I3 - I1) * w[2] ** 2
        from_2 = I1 * (I1 - I2) * w[0] ** 2 + I3 * (I3 - I2) * w[2] ** 2
        from_3 = I1 * (I3 - I1) * w[0] ** 2 + I2 * (I3 - I2) * w[1] ** 2
        assert from_2 > 0.0
        size = np.sqrt([from_3 / (I1 * (I3 - I1)), from_3 / (I2 * (I3 - I2)), from_1 / (I3 * (I3 - I1))])
        rate = np.sqrt((I3 - I2) * from_1 / (I1 * I2 * I3))
        m, rest = (I2 - I1) * from_3 / ((I3 - I2) * from_1), (I3 - I1) * from_2 / ((I3 - I2) * from_1)
        return size, rate, float(ellipkinc(np.arctan2(w[1] / size[1], w[0] / size[0]), m)), m, rest

    @property
    def period(self) -> float:
        """Of the angular velocity in the body."""
        _, rate, _, _, rest = self._constants
        return float(4.0 * ellipkm1(rest) / rate)

    @property
    def first_flip(self) -> float:
        """First time at which omega_2 vanishes; it does so again every half period."""
        _, rate, phase, _, rest = self._constants
        half = 2.0 * ellipkm1(rest)
        return float((-phase) % half / rate)

    def omega(self, t: ArrayLike) -> Array:
        """Angular velocity (n, 3) in the principal axes."""
        size, rate, phase, m, _ = self._constants
        sn, cn, dn, _ = ellipj(rate * np.asarray(t) + phase, m)
        return size * np.stack([cn, sn, dn], axis=-1)

    def rotation(self, t: Array) -> Array:
        """Rotations (n, 3, 3) of the principal axes, relative to the ones at t[0]."""

        def precession(moments: Array) -> Array:
            w = self.omega(moments)
            h = self.moments * w
            return np.linalg.norm(h[0]) * (h * w)[:, :2].sum(axis=1) / (h[:, :2] ** 2).sum(axis=1)

        # a frame with the angular momentum as its third axis, standing still up to a turn about it
        z = self.moments * self.omega(t)
        z /= np.linalg.norm(z, axis=1)[:, None]
        x = np.cross(Z, z)
        x /= np.linalg.norm(x, axis=1)[:, None]
        R = turn(Z, accumulated(precession, t)) @ np.stack([x, np.cross(z, x), z], axis=1)
        return R[0].T @ R


@dataclass(frozen=True)
class HeavyTop:
    """A symmetric top on a fixed point: z-x-z angles phi, theta, psi, from theta = theta_0 with theta' = 0.

    u = cos theta obeys u'^2 = f(u), a cubic with the roots u_1 <= u <= u_2 < 1 < u_3, solved by elliptic functions.
    """

    transverse: float  # moment of inertia about the fixed point across the axis
    axial: float
    weight: float  # m g l
    theta_0: float
    precession_0: float  # phi' at the start
    spin: float  # angular velocity along the axis, conserved

    @property
    def momenta(self) -> tuple[float, float]:
        """Conserved angular momenta, vertical and along the axis."""
        u, along = np.cos(self.theta_0), self.axial * self.spin
        return self.transverse * (1.0 - u * u) * self.precession_0 + along * u, along

    @property
    def roots(self) -> Array:
        """u_1, u_2, u_3; one of the first two is the start."""
        A, w, u0 = self.transverse, self.weight, np.cos(self.theta_0)
        vertical, along = self.momenta
        # A^2 f = A (1 - u^2) (2 e - 2 w u) - (vertical - along u)^2, 2 e its value at the start
        e2 = A * (1.0 - u0 * u0) * self.precession_0**2 + 2.0 * w * u0
        a, b, c = 2.0 * A * w, -A * e2 - along**2, -2.0 * A * w + 2.0 * vertical * along
        # the start is a root: divide it out
        b, c = b + a * u0, c + (b + a * u0) * u0
        D = np.sqrt(b * b - 4.0 * a * c)
        other = [2.0 * c / (-b + D), (-b + D) / (2.0 * a)] if b < 0.0 else [(-b - D) / (2.0 * a), -2.0 * c / (b + D)]
        return np.sort([u0, *other])

    @property
    def _rate(self) -> float:
        u1, _, u3 = self.roots
        return float(np.sqrt(self.weight * (u3 - u1) / (2.0 * self.transverse)))

    def precession(self, u: Array) -> Array:
        """phi' at u."""
        vertical, along = self.momenta
        return (vertical - along * u) / (self.transverse * (1.0 - u * u))

    def nutation(self) -> tuple[float, float]:
        """Period of u, and phi gained over it, by quadrature of du / sqrt(f)."""
        u1, u2, u3 = self.roots

        def dt(psi: Array) -> Array:
            return 2.0 / np.sqrt(2.0 * self.weight / self.transverse * (u3 - at(psi)))

        def at(psi: Array) -> Array:
            return (u1 + u2) / 2.0 + (u2 - u1) / 2.0 * np.sin(psi)

        return over_period(dt), over_period(lambda psi: dt(psi) * self.precession(at(psi)))

    def u(self, t: ArrayLike) -> Array:
        """cos theta."""
        u1, u2, u3 = self.roots
        m = (u2 - u1) / (u3 - u1)
        at_top = abs(np.cos(self.theta_0) - u2) < abs(np.cos(self.theta_0) - u1)
        sn, *_ = ellipj(self._rate * np.asarray(t) + (ellipkm1(1.0 - m) if at_top else 0.0), m)
        return u1 + (u2 - u1) * sn**2

    def angles(self, t: Array) -> Array:
        """phi, theta, psi (n, 3), phi and psi from zero on."""
        phi = accumulated(lambda s: self.precession(self.u(s)), t)
        psi = accumulated(lambda s: self.spin - self.u(s) * self.precession(self.u(s)), t)
        return np.stack([phi, np.arccos(self.u(t)), psi], axis=-1)

    def rotation(self, t: Array) -> Array:
        """Rotations (n, 3, 3)."""
        phi, theta, psi = self.angles(t).T
        return turn(Z, phi) @ turn(X, theta) @ turn(Z, psi)
