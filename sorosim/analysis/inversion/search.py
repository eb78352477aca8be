"""Equilibrium and targets solved together: Gauss-Newton steps on the manifold of equilibria (docs/theory.md, 15)."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple, cast

import numpy as np
from scipy.linalg.lapack import dposv

from sorosim.analysis.inversion.manifold import CONTRACTION, Manifold, Point
from sorosim.analysis.inversion.quadratic import clipped, constrained, largest, least, norm, secant
from sorosim.analysis.inversion.targets import Targets
from sorosim.base.arrays import Array
from sorosim.base.errors import ModelError

MAX_STEPS = 100
# steps are to be so long that the next correction of the equilibrium is about this part of them
TYPICAL = 0.35
# of the targets' displacement, relative to the size of the robot, in the first step
FIRST_STEP = 0.5
LEAST_TRUST = 1e-6
# of scaled parameters: how far beyond a fold the equilibria of other branches are looked for
BEYOND = 1e-2
# of scaled parameters: a step of the equilibrium alone
NO_STEP = 1e-10
# of scaled parameters: so short is a step to the targets that is corrected by the derivatives before it; how often, and
# part of the error that each correction may leave
NEARBY, CORRECTIONS, LEFT_OVER = 5e-3, 3, 0.1
# of scaled parameters, where nothing is left to improve: of the distance, and of the effort beside it
STATIONARY, LEAST_EFFORT = 1e-7, 1e-3
# the same, from which on one step is enough for the effort, whose excess is the square: then only the targets are left
NEARLY_LEAST = 1e-2
# least part of the decrease of the error that was predicted; how far targets may be off the prediction where a step is
# for the effort's sake, as a part of what a step of that length may move them
DECREASE, OFF_COURSE = 0.1, 0.2
# least curvature of the effort that a step counts on, relative to its largest
CONVEX = 0.1
# part of the error that a step along straight equilibria leaves, from which on targets count as out of reach
OUT_OF_REACH = 0.5
# of singular values, below which parameters do not move the targets
INEFFECTIVE = 1e-6
DEAD_END = "no step along the equilibria leads on"


class Outcome(NamedTuple):
    """Where a search ended."""

    point: Point
    reached: bool
    steps: int
    message: str
    # second derivative of the effort along equilibria that meet the targets, beside its own: see `Search.run`
    of_effort: Array
    stable: bool = True
    # before the last correction: the state from which another search begins without a new evaluation
    last: Point | None = None
    # parameters beyond the fold where the search ended, if it did
    beyond: Array | None = None

    @property
    def distance(self) -> float:
        """Norm of the error."""
        return norm(self.point.error)


class Steps(NamedTuple):
    """Steps of the scaled parameters, and what is known of them."""

    least_effort: Array  # of those that lead to the least error
    least_error: Array
    for_effort: float  # largest part of the first step that is for the effort's sake alone
    left: float  # how far targets would move without the trust region, where they are not reached
    multipliers: Array  # (n_rows,) of the targets, by which they balance the effort


class Search:
    """The search for parameters p within bounds: least error of the targets, and of those the least effort.

    Parameters
    ----------
    manifold : Manifold
        Its scale makes steps and trust region relative.
    low, high : (n_p,) array
        Bounds.
    may_tunnel : function, optional
        Whether surfaces may have passed through each other between two unknowns.
    """

    def __init__(
        self, manifold: Manifold, low: Array, high: Array,
        may_tunnel: Callable[[Array, float, Array, float], bool] | None = None,
    ) -> None:  # fmt: skip
        self.manifold, self.low, self.high, self._may_tunnel = manifold, low, high, may_tunnel
        self._identity, self._stays_stable = np.eye(len(low)), False

    def run(
        self, targets: Targets, x: Array, p: Array, tolerance: float, of_effort: Array | None = None,
        stays_stable: bool = False,
    ) -> Outcome:  # fmt: skip
        """Search from a state that is near an equilibrium, or among stable ones only.

        `of_effort`: from a search that ended there.
        """
        self._stays_stable = stays_stable
        of_effort = np.zeros((len(p), len(p))) if of_effort is None else of_effort
        found = self._run(targets, x, clipped(p, self.low, self.high), tolerance, of_effort)
        last = self.manifold.corrected(targets, found.point)
        at_rest, reached = last._replace(x=last.x + last.correction), norm(last.error) <= tolerance
        return found._replace(point=at_rest, reached=reached, stable=self.manifold.stable(last), last=last)

    def _run(self, targets: Targets, x: Array, p: Array, tolerance: float, of_effort: Array) -> Outcome:
        point = self.manifold.point(targets, x, p)
        if point is None:
            raise ModelError("q0", "a state with a regular tangent stiffness", "one where it is singular or infinite")
        trust, curvature, best = np.inf, np.zeros((len(p), len(p))), cast(Point | None, None)
        returned = cast(Point | None, None)  # the best one, to which the search came back from no equilibrium
        for k in range(MAX_STEPS):
            size = norm(point.error)
            if point.balanced and (best is None or size <= norm(best.error)):
                best = point
            steps = self._steps(point, trust, curvature, of_effort, tolerance)
            step = steps.least_effort
            if steps.for_effort <= LEAST_EFFORT:
                step = steps.least_error  # what is left of the effort would only delay the targets
                if point.balanced and (size <= tolerance or steps.left <= min(STATIONARY, 0.01 * size)):
                    return Outcome(point, size <= tolerance, k, "", of_effort)
            if trust == np.inf:
                shorter = min(1.0, FIRST_STEP / max(norm(point.J @ step), 1e-300))
                step, trust = shorter * step, shorter * largest(step)
            if point.balanced and not step.any():
                return Outcome(point, False, k, DEAD_END, of_effort)
            longest = largest(step)
            if longest < trust and (trial := self._corrected(targets, point, step, tolerance)) is not None:
                return Outcome(trial, True, k + 1, "", of_effort)
            trial, growth = self._trial(targets, point, step, steps.least_error)
            if trial is None:
                if k == 0 and growth > 1.0 and not point.balanced:
                    return Outcome(point, False, k, "the start is far from an equilibrium", of_effort)
                trust = min(trust, longest) * min(max(TYPICAL / max(growth, 1e-300), 0.1), 0.5)
                if not point.balanced:  # what is left of its error without the correction may be another
                    off, point = point, self._at_rest(targets, point, best)
                    if point is best:
                        if point is returned:
                            return Outcome(point, False, k, DEAD_END, of_effort, beyond=self._beyond(point, off, step))
                        returned = point
                elif trust < LEAST_TRUST:
                    found = self._at_rest(targets, point, best)
                    return Outcome(found, False, k, DEAD_END, of_effort, beyond=self._beyond(found, point, step))
                continue
            if longest > NO_STEP:
                change = (trial.J - point.J).T
                of_effort = secant(of_effort, step, change @ steps.multipliers)
                if steps.for_effort <= NEARLY_LEAST and (back := self._back(trial)) is not None:
                    corrected = self._corrected(targets, trial, back, tolerance)
                    if corrected is not None:
                        return Outcome(corrected, True, k + 2, "", of_effort)
                curvature = secant(curvature, step, change @ trial.error)
            trust = max(trust, longest * min(TYPICAL / max(growth, 1e-300), 4.0))
            point = trial
        point = self._at_rest(targets, point, best)
        return Outcome(point, False, MAX_STEPS, f"{MAX_STEPS} steps were not enough", of_effort)

    def _at_rest(self, targets: Targets, point: Point, best: Point | None) -> Point:
        """The equilibrium of a point, or the best one before if it is nearer to the targets, or the only one."""
        try:
            corrected = self.manifold.corrected(targets, point)
        except ModelError:
            if best is None:
                raise
            return best
        return corrected if best is None or norm(corrected.error) <= norm(best.error) else best

    def _beyond(self, point: Point, off: Point, step: Array) -> Array:
        """Parameters a little way from a point towards those that a step from another one was refused at."""
        way = off.p / self.manifold.scale + step - point.p / self.manifold.scale
        return clipped(point.p + self.manifold.scale * (BEYOND / max(largest(way), 1e-300)) * way, self.low, self.high)

    def _trial(self, targets: Targets, point: Point, step: Array, toward: Array) -> tuple[Point | None, float]:
        """The point after a step of the scaled parameters, None if it is refused; how nonlinear the way was."""
        dp = self.manifold.scale * step
        by_parameters = point.by @ dp
        dx = point.correction + by_parameters
        x, p = point.x + dx, clipped(point.p + dp, self.low, self.high)
        if self._passes(point.x, x):
            return None, np.inf
        trial = self.manifold.point(targets, x, p)
        if trial is None or self._passes(x, x + trial.correction):
            return None, np.inf
        n = self.manifold.system.n_free
        growth = 0.0 if trial.balanced else norm(trial.correction[:n]) / max(norm(dx[:n]), 1e-300)
        # a start out of balance comes back by Newton's method, which contracts before it converges
        if growth > (1.0 if norm(point.correction) > norm(by_parameters) else CONTRACTION):
            return None, growth
        if self._stays_stable and not self.manifold.definite(trial):
            return None, growth
        return (trial if self._improves(point, trial, step, toward) else None), growth

    def _corrected(self, targets: Targets, point: Point, step: Array, tolerance: float) -> Point | None:
        """The targets after a short step, corrected by the derivatives before it; None if these do not do."""
        size, n, dp = norm(point.error), self.manifold.system.n_free, self.manifold.scale * step
        if point.tangent.p is not point.p or largest(step) > NEARBY:
            return None
        if norm(point.error + point.J @ step) > max(tolerance, LEFT_OVER * size):
            return None
        for _ in range(CORRECTIONS):
            dx = point.correction + point.by @ dp
            x, p = point.x + dx, clipped(point.p + dp, self.low, self.high)
            trial = None if self._passes(point.x, x) else self.manifold.point(targets, x, p, point)
            if trial is None or self._passes(x, x + trial.correction):
                return None
            if trial.balanced and norm(trial.error) <= tolerance:
                return trial
            if norm(trial.error) > LEFT_OVER * size or norm(trial.correction[:n]) > CONTRACTION * norm(dx[:n]):
                return None
            back = self._back(trial)
            if back is None:
                return None
            point, size, dp = trial, max(norm(trial.error), tolerance), self.manifold.scale * back
        return None

    def _back(self, point: Point) -> Array | None:
        """The shortest step of the scaled parameters to the targets, at bounds none; None where there is none."""
        J = np.where((point.p > self.low) & (point.p < self.high), point.J, 0.0)
        _, solved, failed = dposv(J @ J.T, point.error)
        return None if failed else -(J.T @ solved)

    def _passes(self, x: Array, y: Array) -> bool:
        """Whether surfaces may have passed through each other between two unknowns."""
        return self._may_tunnel is not None and self._may_tunnel(x, 1.0, y, 1.0)

    def _improves(self, point: Point, trial: Point, step: Array, toward: Array) -> bool:
        """Whether a step brings targets nearer, or the effort down while they are off by second order only."""
        straight, length = point.error + point.J @ step, norm(step)
        before, predicted, after = norm(point.error), norm(straight), norm(trial.error)
        if before - after >= DECREASE * (before - predicted) or length <= NO_STEP:
            return True
        if predicted <= OUT_OF_REACH * before:  # the error may rise while the next step gets shorter
            following = least(point.J.T @ point.J, point.J.T @ trial.error, *self._within(trial))
            if norm(following) <= CONTRACTION * norm(toward):
                return True
        if norm(toward) > 0.5 * length or not float(point.effort_by @ step) < 0.0:
            return False
        return norm(trial.error - straight) <= OFF_COURSE * norm(point.J.ravel()) / sqrt(len(step)) * length

    def _within(self, point: Point, trust: float = np.inf) -> tuple[Array, Array]:
        """Bounds of steps of the scaled parameters."""
        low, high = (self.low - point.p) / self.manifold.scale, (self.high - point.p) / self.manifold.scale
        return np.maximum(low, -trust), np.minimum(high, trust)

    def _steps(self, point: Point, trust: float, curvature: Array, of_effort: Array, tolerance: float) -> Steps:
        """Steps to the least error, and of least effort."""
        J, bounds = point.J, self._within(point, trust)
        W = (self._identity if self.manifold.energy is None else self.manifold.energy_curvature(point)) + of_effort
        if len(J) <= J.shape[1]:
            G = J @ J.T
            _, solved, failed = dposv(G, point.error)
            # J z is given, so J^T J adds nothing but makes the matrix positive definite
            weight = 10.0 * norm(W.ravel()) / max(norm(G.ravel()), 1e-300)
            H = W + (weight * J.T) @ J
            if not failed and (found := constrained(H, point.effort_by, *bounds, J, -point.error)) is not None:
                z, multipliers = found
                toward = J.T @ -solved
                inside = float(np.minimum(toward - bounds[0], bounds[1] - toward).min()) >= 0.0
                multipliers -= weight * point.error
                return Steps(z, toward if inside else z, largest(z - toward), norm(point.error), multipliers)
        toward, left = self._least_error(point, trust, curvature, tolerance)
        step, multipliers = self._least_effort(point, toward, bounds, W)
        return Steps(step, toward, largest(step - toward), left, multipliers)

    def _least_error(self, point: Point, trust: float, curvature: Array, tolerance: float) -> tuple[Array, float]:
        """Step of the scaled parameters to the least error; how far targets would move without the trust region."""
        J, bounds = point.J, self._within(point)
        H, f = J.T @ J, J.T @ point.error
        step = least(H, f, *bounds)
        # the curvature of the targets counts where they stay out of reach
        if norm(point.error + J @ step) > max(tolerance, OUT_OF_REACH * norm(point.error)):
            H = H + curvature
            H = H + max(0.0, -float(np.linalg.eigvalsh(H)[0])) * self._identity
            step = least(H, f, *bounds)
        left = norm(J @ step)
        if (np.abs(step) > trust).any():
            step = least(H, f, *self._within(point, trust))
        return step, left

    def _least_effort(self, point: Point, toward: Array, bounds: tuple[Array, Array], W: Array) -> tuple[Array, Array]:
        """Of the steps that move targets as `toward` does the one of least effort; multipliers of the targets then."""
        J, gradient = point.J, point.effort_by
        left, s, V = np.linalg.svd(J)
        rank = int((s > INEFFECTIVE * s[0]).sum()) if len(s) else 0
        if rank == J.shape[1]:
            return toward, np.zeros(len(J))
        multipliers = -left[:, :rank] @ ((V[:rank] @ gradient) / s[:rank])
        # only curvature along the null space N counts; it is made positive there
        fixed, N = V[:rank], V[rank:]
        values, shapes = np.linalg.eigh(N @ W @ N.T)
        lowest = CONVEX * max(1.0, float(np.abs(values).max()))
        along = (shapes * np.maximum(np.abs(values), lowest)) @ shapes.T
        gradient = gradient + N.T @ (N @ (W @ (fixed.T @ (fixed @ toward))))
        step = constrained(N.T @ along @ N + fixed.T @ fixed, gradient, *bounds, fixed, fixed @ toward)
        return toward if step is None else step[0], multipliers
