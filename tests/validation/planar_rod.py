"""Exact statics of planar rods under loads per length: a boundary-value problem solved by shooting.

Nothing of sorosim is used. The rod is clamped at the origin along x and stays in the x-y plane. Force n and moment m of
a section, in world axes, obey n' = -f and m' = -c - (r' x n); the section stretches by N/EA, shears by Q/GA and bends
by (m + a)/EI, a a moment of actuators. Unknown are n and m at the base.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import root

Array = NDArray[np.float64]


def _nothing(X: float, angle: float) -> tuple[float, float, float]:
    return 0.0, 0.0, 0.0


def _free(x: float, y: float, angle: float) -> tuple[float, float, float]:
    return 0.0, 0.0, 0.0


@dataclass(frozen=True)
class PlanarRod:
    """An even rod; without EA and GA it neither stretches nor shears."""

    length: float
    EI: float
    EA: float = np.inf
    GA: float = np.inf
    line: Callable[[float, float], tuple[float, float, float]] = _nothing  # f_x, f_y, couple by X and angle
    tip: Callable[[float, float, float], tuple[float, float, float]] = _free  # n_x, n_y, m by place and angle
    # tension of a tendon at the base, its place y, and how fast its logarithm falls with the angle it turns by
    tendon: tuple[float, float, float] = (0.0, 0.0, 0.0)
    fading: float = 0.0  # rate of turning below which friction fades [1/m]

    def _rates(self, X: float, s: Array, load: float) -> list[float]:
        _, _, angle, n_x, n_y, m, turned = s
        c, z = np.cos(angle), np.sin(angle)
        stretch, shear = 1.0 + (c * n_x + z * n_y) / self.EA, (c * n_y - z * n_x) / self.GA
        pull, place, friction = self.tendon
        curvature = (m + load * pull * place * np.exp(-friction * turned)) / self.EI
        f_x, f_y, couple = self.line(X, angle)
        x, y = c * stretch - z * shear, z * stretch + c * shear
        turns = np.hypot(curvature, self.fading) - self.fading
        return [x, y, curvature, -load * f_x, -load * f_y, -load * couple - (x * n_y - y * n_x), turns]

    def _shoot(self, base: ArrayLike, load: float, rtol: float, places: ArrayLike | None = None) -> Array:
        start = np.concatenate([np.zeros(3), np.asarray(base, dtype=float), [0.0]])
        at = [0.0, self.length]
        found = solve_ivp(self._rates, at, start, "DOP853", args=(load,), t_eval=places, rtol=rtol, atol=1e-2 * rtol)
        return np.asarray(found.y.T)

    def equilibrium(self, places: ArrayLike, steps: int = 4, rtol: float = 1e-12) -> Array:
        """States (n, 7) x, y, angle, n_x, n_y, m, angle of turning at arclengths; the load rises in steps from zero."""
        base = np.zeros(3)

        def gap(base: Array, load: float, rtol: float) -> Array:
            end = self._shoot(base, load, rtol)[-1]
            return np.asarray(end[3:6] - load * np.array(self.tip(*end[:3])))

        # of the last place the full accuracy; before, what is enough to start from
        rough = max(1e-9, rtol)
        for k in range(1, steps + 1):
            base = root(gap, base, args=(k / steps, rough), tol=1e-10).x
        found = root(gap, base, args=(1.0, rtol), tol=1e-14)
        left = np.abs(gap(found.x, 1.0, rtol)).max()
        if left > 1e-9 * max(1.0, float(np.abs(found.x).max())):
            raise ArithmeticError(f"shooting did not converge, {left} is left")
        # place by place: interpolation inside a step is of lower order
        states, at, out = self._start(found.x), 0.0, []
        for X in np.asarray(places, dtype=float):
            if at < X:
                ended = solve_ivp(self._rates, [at, X], states, "DOP853", args=(1.0,), rtol=rtol, atol=1e-2 * rtol)
                states, at = ended.y[:, -1], X
            out.append(states)
        return np.array(out)

    @staticmethod
    def _start(base: Array) -> Array:
        return np.concatenate([np.zeros(3), base, [0.0]])
