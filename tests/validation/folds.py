"""Limit loads of planar frames by shooting, and elasticas by elliptic integrals; nothing of sorosim is used.

A frame begins at a hinge at the origin. Unknown are the angle and the force there, and the load: the frame ends at a
hinge at a given place, and the derivative of these conditions by the first three unknowns is singular.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, root
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc
from validation.planar_network import STEP, Beam, Network

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Frame:
    """Beams one after the other; `turns` at their starts, the load (downwards) acts where the beam `loaded` ends."""

    beams: Sequence[Beam]
    turns: Sequence[float]
    loaded: int
    end: tuple[float, float]

    def miss(self, start: Array, load: complex) -> Array:
        """By how much x, y and moment (3,) miss the hinge at the end, from angle, n_x and n_y (3,) at the origin."""
        state = np.zeros(6, dtype=np.result_type(start, load, float))
        state[2:5] = start
        for k, (beam, turn) in enumerate(zip(self.beams, self.turns, strict=True)):
            state[2] += turn
            state = Network((beam,), ()).shoot(state[None], rtol=1e-12)[0]
            if k == self.loaded:
                state[4] += load
        return np.asarray(state[[0, 1, 5]] - np.array([*self.end, 0.0]))

    def by_start(self, start: Array, load: float) -> Array:
        """Derivative (3, 3) of the miss by the start, exactly."""
        return np.stack([self.miss(start + 1j * STEP * e, load).imag / STEP for e in np.eye(3)], axis=1)

    def fold(self, start: Array, load: float) -> float:
        """The limit load near a guess."""
        size = np.array([1.0, abs(load), abs(load)])
        J = np.linalg.det(self.by_start(1.01 * start, load) * size)

        def conditions(y: Array) -> Array:
            at, p = y[:3] * size, y[3] * load
            return np.append(self.miss(at, p), np.linalg.det(self.by_start(at, p) * size) / J)

        found = root(conditions, np.append(start / size, 1.0), tol=1e-12)
        assert np.abs(conditions(found.x)).max() < 1e-8
        return float(found.x[3] * load)


def buckled(p: float) -> tuple[float, float]:
    """x/L and z/L of the tip of a clamped-free column under p times its Euler load; its modulus k solves p = (2K/pi)^2.

    Timoshenko and Gere, Theory of Elastic Stability, 2.7.
    """
    m = brentq(lambda m: (2.0 * ellipk(m) / np.pi) ** 2 - p, 0.0, 1.0 - 1e-12, xtol=1e-15)
    K, E = ellipk(m), ellipe(m)
    return 2.0 * E / K - 1.0, 2.0 * np.sqrt(m) / K


def bent(p: float, bend: float) -> tuple[float, float]:
    """The same of a column that is an arc of the angle `bend` = curvature L while nothing pulls; p is P L^2/EI.

    With k^2 = sin^2(a/2) + bend^2/(4 p), a the angle of the tip, and k sin f = sin(angle/2): sqrt(p) = F(f, k).
    """

    def parts(a: float) -> tuple[float, float]:
        m = np.sin(a / 2.0) ** 2 + bend**2 / (4.0 * p)
        return float(np.arcsin(min(np.sin(a / 2.0) / np.sqrt(m), 1.0))), m

    def excess(a: float) -> float:
        return float(ellipkinc(*parts(a)) - np.sqrt(p))

    most = 2.0 * np.arcsin(np.sqrt(1.0 - bend**2 / (4.0 * p)))  # beyond it the column rolls up
    f, m = parts(brentq(excess, 1e-9, most - 1e-9, xtol=1e-15))
    return (2.0 * ellipeinc(f, m) - ellipkinc(f, m)) / np.sqrt(p), 2.0 * np.sqrt(m / p) * (1.0 - np.cos(f))
