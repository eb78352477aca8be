"""A load: a gust of wind on one point of a link."""

from dataclasses import dataclass
from typing import ClassVar

import numba
import numpy as np

from sorosim import LoadLaw
from sorosim.base.errors import ModelError


@dataclass(frozen=True)
class Gust(LoadLaw):
    """A gust that swells and dies down as a squared sine, and drags at a point by the square of the speed.

    Parameters
    ----------
    link : str
        The link it blows on.
    velocity : three numbers
        Of the wind at its height, in the axes of the world [m/s].
    duration : float
        [s]
    drag_area : float
        Drag coefficient times area [m^2].
    density : float
        Of the air [kg/m^3].
    s : float
        Where on a rod, 0 to 1.
    """

    link: str
    velocity: tuple[float, float, float]
    duration: float
    drag_area: float
    density: float = 1.2
    s: float = 1.0

    # what a file may write with units
    quantities: ClassVar[dict[str, str]] = {
        "velocity": "speed", "duration": "time", "drag_area": "area", "density": "density",
    }  # fmt: skip

    def __post_init__(self):
        if len(self.velocity) != 3:
            raise ModelError("velocity", "three numbers [m/s]", str(self.velocity))
        if not self.duration > 0.0:
            raise ModelError("duration", "a time greater than 0 [s]", f"{self.duration:g}")

    def wrench(self, t, g, eta):
        """F = -k |v| v, v the velocity relative to the wind in the axes of the body."""
        v = eta[:, 3:] - self.wind(t) @ g[:, :3, :3]
        return 0.0, -self.factor * np.linalg.norm(v, axis=1, keepdims=True) * v

    def wind(self, t):
        """Velocity of the wind in the axes of the world [m/s]."""
        return (np.sin(np.pi * t / self.duration) ** 2 if 0.0 < t < self.duration else 0.0) * np.array(self.velocity)

    @property
    def factor(self):
        """Force by the square of the speed [kg/m]."""
        return 0.5 * self.density * self.drag_area


class CompiledGust(Gust):
    """The same with a law that numba compiles and derivatives by hand: faster where formulas are long."""

    def wrench(self, t, g, eta):
        """As that of `Gust`."""
        return drag(g, eta, self.wind(t), self.factor)[0]

    def tangents(self, t, g, eta):
        """Derivatives of the wrench by g exp(delta^) with eta held, and by eta."""
        return drag(g, eta, self.wind(t), self.factor)[1:]


@numba.njit(cache=True)
def drag(g, eta, wind_w, factor):
    """Wrenches (n, 6) and tangents (n, 6, 6) of quadratic drag in a wind (3,) of the world."""
    n = g.shape[0]
    wrench, K, D = np.zeros((n, 6)), np.zeros((n, 6, 6)), np.zeros((n, 6, 6))
    for k in range(n):
        wind, v = np.zeros(3), np.zeros(3)
        for i in range(3):
            for j in range(3):
                wind[i] += g[k, j, i] * wind_w[j]
            v[i] = eta[k, 3 + i] - wind[i]
        speed = np.sqrt(v[0] ** 2 + v[1] ** 2 + v[2] ** 2)
        for i in range(3):
            wrench[k, 3 + i] = -factor * speed * v[i]
            for j in range(3):
                if speed > 0.0:
                    D[k, 3 + i, 3 + j] = -factor * ((speed if i == j else 0.0) + v[i] * v[j] / speed)
        for i in range(3):
            # row of -D skew(wind)
            a, b, c = -D[k, 3 + i, 3], -D[k, 3 + i, 4], -D[k, 3 + i, 5]
            K[k, 3 + i, 0] = b * wind[2] - c * wind[1]
            K[k, 3 + i, 1] = c * wind[0] - a * wind[2]
            K[k, 3 + i, 2] = a * wind[1] - b * wind[0]
    return wrench, K, D
