"""Exact statics of a tapered Cosserat rod with tendons under its weight: a boundary-value problem solved by shooting.

Nothing of sorosim is used. The rod is clamped at the origin along +x. Force and moment of the section (rod and tendons
together) in world axes obey n' = -rho A a, m' = -r' x n, both zero at the tip; the strains follow from them by solving,
place by place, Sigma (xi - xi*) + sum T [d x t; t] = R^T [m; n], where t is the unit vector of the tendon in the frame
of the section. The unknown is m at the base.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

Array = NDArray[np.float64]
# place d = [0, y, z] of a tendon and slope d' = dd/dX, from arclength X
Route = Callable[[float], tuple[Array, Array]]


@dataclass(frozen=True)
class TaperedRod:
    """A round rod of linear taper; shear modulus young / (2 (1 + poisson)), no shear factor."""

    length: float = 0.5
    radii: tuple[float, float] = (0.03, 0.015)
    young: float = 1e6
    poisson: float = 0.5
    density: float = 1000.0
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)

    def radius(self, X: float) -> float:
        return self.radii[0] + (self.radii[1] - self.radii[0]) * X / self.length

    @property
    def slope(self) -> float:
        return (self.radii[1] - self.radii[0]) / self.length

    def weight_beyond(self, X: float) -> Array:
        """Weight (3,) of the part from X to the tip: the section's force n."""
        a, b = self.radius(X), self.radii[1]
        volume = np.pi / 3.0 * (self.length - X) * (a * a + a * b + b * b)
        return self.density * volume * np.array(self.gravity)

    def stiffness(self, X: float) -> Array:
        r, E = self.radius(X), self.young
        G, A, inertia = E / (2.0 * (1.0 + self.poisson)), np.pi * r**2, np.pi / 4.0 * r**4
        return np.array([2 * G * inertia, E * inertia, E * inertia, E * A, G * A, G * A])


def routes_of_the_paper(rod: TaperedRod) -> list[Route]:
    """Tendons 1 to 3 along the surface, 4 and 5 on helices of two turns."""

    def surface(y: float, z: float) -> Route:
        return lambda X: (rod.radius(X) * np.array([0.0, y, z]), rod.slope * np.array([0.0, y, z]))

    def helix(sign: float) -> Route:
        a, w = 0.015, 4.0 * np.pi / rod.length

        def route(X: float) -> tuple[Array, Array]:
            s, c = np.sin(w * X), np.cos(w * X)
            return a * np.array([0.0, s, sign * c]), a * w * np.array([0.0, c, -sign * s])

        return route

    half = np.sqrt(3.0) / 2.0
    return [surface(0.0, 1.0), surface(-half, -0.5), surface(half, -0.5), helix(1.0), helix(-1.0)]


def skew(v: Array) -> Array:
    """Cross-product matrices (..., 3, 3) of vectors (..., 3)."""
    x, y, z = np.moveaxis(v, -1, 0)
    o = np.zeros_like(x)
    return np.stack([np.stack([o, -z, y], -1), np.stack([z, o, -x], -1), np.stack([-y, x, o], -1)], -2)


def strains(
    rod: TaperedRod, routes: Sequence[Route], tensions: Sequence[float], X: float, wrench: Array, guess: Array
) -> Array:
    """Strains (k, 6) at X from the section's wrench (k, 6) in its own frame: Newton's method."""
    sigma, straight = rod.stiffness(X), np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    xi = guess
    for _ in range(30):
        r = sigma * (xi - straight) - wrench
        J = np.broadcast_to(np.diag(sigma), (len(xi), 6, 6)).copy()
        for route, tension in zip(routes, tensions, strict=True):
            if tension != 0.0:
                d, slope = route(X)
                E = np.hstack([-skew(d), np.eye(3)])
                v = xi @ E.T + slope
                size = np.linalg.norm(v, axis=1)[:, None]
                t = v / size
                r += tension * t @ E
                J += tension * E.T @ ((np.eye(3) - t[:, :, None] * t[:, None, :]) / size[:, :, None]) @ E
        step = np.linalg.solve(J, -r[:, :, None])[:, :, 0]
        xi = xi + step
        if np.abs(step).max() < 1e-9:  # the next one would be of its square
            return xi
    raise ArithmeticError(f"no strain found at X = {X}")


def equilibrium(
    rod: TaperedRod, tensions: Sequence[float], *, rtol: float = 1e-9, places: int = 2
) -> tuple[Array, Array]:
    """Positions (places, 3) evenly spaced along the axis, and the moment (3,) at the base.

    Newton's method on m(0); the four integrations of a step (as it is, and with each component changed) run as one.
    """
    routes = routes_of_the_paper(rod)

    def rates(X: float, y: Array, last: Array) -> Array:
        p = y.reshape(-1, 15)
        R, m, n = p[:, 3:12].reshape(-1, 3, 3), p[:, 12:], rod.weight_beyond(X)
        last[:] = strains(rod, routes, tensions, X, np.hstack([np.einsum("kji,kj->ki", R, m), n @ R]), last)
        out = np.empty_like(p)
        out[:, :3] = np.einsum("kij,kj->ki", R, last[:, 3:])
        out[:, 3:12] = (R @ skew(last[:, :3])).reshape(-1, 9)
        out[:, 12:] = -np.cross(out[:, :3], n)
        return out.ravel()

    def shoot(moments: Array) -> Array:
        """States (places, k, 15) for base moments (k, 3)."""
        start = np.hstack([np.zeros((len(moments), 3)), np.tile(np.eye(3).ravel(), (len(moments), 1)), moments])
        states, guess = [start.ravel()], np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0], (len(moments), 1))
        # from place to place: interpolation inside a step is of lower order
        for span in pairwise(np.linspace(0.0, rod.length, places)):
            found = solve_ivp(rates, span, states[-1], method="DOP853", args=(guess,), rtol=rtol, atol=rtol * 1e-2)
            states.append(found.y[:, -1])
        return np.stack(states).reshape(places, -1, 15)

    # of the straight rod: the weight acts at a third to half of the length
    moment = np.cross([0.4 * rod.length, 0.0, 0.0], rod.weight_beyond(0.0))
    h = 1e-6
    for _ in range(30):
        states = shoot(moment + np.vstack([np.zeros(3), h * np.eye(3)]))
        tip_moment = states[-1, :, 12:]
        step = -np.linalg.solve((tip_moment[1:] - tip_moment[0]).T / h, tip_moment[0])
        # far off, a full step may roll the rod up
        moment = moment + step / max(1.0, 5.0 * np.abs(step).max())
        if np.abs(step).max() < 1e-11:
            return states[:, 0, :3], moment
    raise ArithmeticError(f"shooting did not converge, last step {step}")
