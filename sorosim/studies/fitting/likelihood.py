"""Intervals by profile likelihood, and how far those of the linear model are from them (docs/fitting.md, How sure)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.errors import ConvergenceError, SorosimError
from sorosim.studies.fitting.estimate import Estimate, Problem

# of the ends of an interval: how exactly the root of the deviance is that of the level, relative to it; searches do not
# go farther than this many times the end of the linear one
END, FARTHEST, MOST_FITS = 2e-3, 10.0, 30
# of fits along a profile: relative change of the cost; the root of the deviance is then exact to a tenth of END
FTOL = 1e-5
# simulations at the end of a linear interval that tell how far it is off
FEW = 3
# of linear intervals that are shorter than this part of a number: curvature cannot show, only rounding
SHORT = 1e-6
# standard error in z that is assumed for a profile of what is not identified
ASSUMED = 0.35


class Likelihood:
    """Costs of a problem about its estimate.

    Deviances are the excess of the cost over the least one, in the measure in which that of a linear model is the
    square of Student's t (Bates and Watts, Nonlinear Regression Analysis, 1988, 6.1).
    """

    def __init__(self, problem: Problem, best: Estimate) -> None:
        self.problem, self.best = problem, best
        self._rows = problem.residuals(best.trial) / best.scale
        self._widening = problem.inefficiency(self._rows, best.dof).deviance
        variance = np.diag(best.covariance)
        self.identified = np.isfinite(variance)
        self.sd = np.sqrt(np.where(self.identified, variance, ASSUMED))
        self.low, self.high = problem.bounds

    def deviance(self, z: Array) -> float:
        """Deviance of a point (n_unknowns,)."""
        rows = self.problem.residuals(self.problem.trial(z)) / self.best.scale
        excess = (self.problem.cost(rows) - self.problem.cost(self._rows)) / self._widening
        prior, least = (self.problem.prior_rows(at)[0] for at in (z, self.best.z))
        return float(excess + prior @ prior - least @ least)

    def along(self, i: int, start: Array, z_i: float) -> Array:
        """Where the linear model expects the others, if one is moved from a start; within the bounds."""
        step = np.zeros(len(start))
        if self.identified[i]:
            step[self.identified] = self.best.covariance[self.identified, i] / self.best.covariance[i, i]
        out = np.clip(start + (z_i - start[i]) * step, self.low, self.high)
        out[i] = z_i
        return np.asarray(out)

    # -- how far linear intervals are off ----------------------------------------------------------------------------

    def nonlinearity(self, quantile: float) -> tuple[Array, dict[int, str]]:
        """How far the ends of linear intervals are off (n_unknowns,), as a part of their half widths, and why not.

        At each end the others are fitted in a few steps; the root of the deviance is how many standard errors away that
        end is. 0 for what is not identified, infinite with a reason where an end is no possible robot.
        """
        out, failed = np.zeros(len(self.sd)), dict[int, str]()
        for i in np.flatnonzero(self.identified & (quantile * self.sd > SHORT)).tolist():
            for end in self.best.z[i] + np.array([-quantile, quantile]) * self.sd[i]:
                z_i = float(np.clip(end, self.low[i], self.high[i]))
                distance = abs(z_i - self.best.z[i]) / self.sd[i]
                if distance > SHORT * quantile:
                    try:
                        root = np.sqrt(max(ProfiledCost(self, i, FEW)(z_i), 0.0))
                    except SorosimError as error:
                        out[i], failed[i] = np.inf, str(error)
                        continue
                    out[i] = max(out[i], abs(distance / root - 1.0) if root else np.inf)
        return out, failed


class ProfiledCost:
    """Deviance by one unknown, the others being fitted anew."""

    def __init__(self, likelihood: Likelihood, i: int, max_evaluations: int) -> None:
        self.likelihood, self.i, self.max_evaluations = likelihood, i, max_evaluations
        self._points = {float(likelihood.best.z[i]): likelihood.best.z}

    def __call__(self, z_i: float) -> float:
        """Deviance where the unknown has this value; the search begins at the nearest value that was looked at."""
        one, i = self.likelihood, self.i
        if z_i not in self._points:
            nearest = min(self._points, key=lambda other: abs(other - z_i))
            z, others = one.along(i, self._points[nearest], z_i), np.arange(len(one.sd)) != i
            if others.any():
                try:
                    z[others] = one.problem.minimise(z, one.best.scale, self.max_evaluations, others, FTOL).x
                except SorosimError as error:
                    unknown = one.problem.model.unknowns[i]
                    what = f"profile of '{unknown.name}' at {unknown.at(z_i):.5g}: {error}"
                    raise ConvergenceError(what) from None
            self._points[z_i] = z
        return one.deviance(self._points[z_i])

    def interval(self, quantile: float) -> tuple[float, float]:
        """Where the deviance is less than that of a level; infinite to where it does not come up to that."""
        return self._end(-1, quantile), self._end(1, quantile)

    def _end(self, side: int, quantile: float) -> float:
        """By the secant method, for the root of the deviance is nearly straight."""
        one, z0 = self.likelihood, float(self.likelihood.best.z[self.i])
        bound = float((one.low, one.high)[side > 0][self.i])
        last, x = (0.0, 0.0), quantile
        for _ in range(MOST_FITS):
            z_i = float(z0 + side * x * one.sd[self.i])
            if side * (z_i - bound) > 0.0:
                z_i, x = bound, float(side * (bound - z0) / one.sd[self.i])
            y = float(np.sqrt(max(self(z_i), 0.0)))
            if abs(y - quantile) <= END * quantile:
                return z_i
            if y < quantile and (z_i == bound or x >= FARTHEST * quantile):
                return float(side * np.inf)
            (x0, y0), last = last, (x, y)
            steep = y > y0 if x > x0 else y < y0
            x = x + (quantile - y) * (x - x0) / (y - y0) if steep else 2.0 * max(x, x0)
            x = float(np.clip(x, 0.1 * last[0], 3.0 * last[0]))
        raise ConvergenceError(
            f"profile of '{one.problem.model.unknowns[self.i].name}': no end of the interval; look at its deviance"
        )

    def values(self, z: Sequence[float]) -> Array:
        """Deviances at values, which are looked at from the best one outwards."""
        z0 = self.likelihood.best.z[self.i]
        found = {z_i: self(z_i) for z_i in sorted(z, key=lambda z_i: abs(z_i - z0))}
        return np.array([found[z_i] for z_i in z])
