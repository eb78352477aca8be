"""Equilibrium and targets solved together: Gauss-Newton steps on the manifold of equilibria (docs/theory.md, 15)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt
from typing import NamedTuple

import daqp
import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs, dposv, dsytrf

from sorosim.arrays import Array, IntArray
from sorosim.equations.system import StaticSystem
from sorosim.errors import ModelError
from sorosim.inversion.targets import StaticState, Targets

MAX_STEPS = 100
# a trial is refused where the next correction of the equilibrium is more than this part of the step; steps are to be so
# long that it is about the second part
CONTRACTION, TYPICAL = 0.6, 0.35
# of the targets' displacement, relative to the size of the robot, in the first step
FIRST_STEP = 0.5
LEAST_TRUST = 1e-6
# of the way to other parameters: the least step
LEAST_PART = 1e-3
# of scaled parameters: a step of the equilibrium alone
NO_STEP = 1e-10
# of scaled parameters, where nothing is left to improve: of the distance, and of the effort beside it
STATIONARY, LEAST_EFFORT = 1e-7, 1e-3
# corrections of the equilibrium that are small, relative to 1 + |x|: after one more they are rounding
BALANCED = 1e-7
# least part of the decrease of the error that was predicted; how far targets may be off the prediction where a step is
# for the effort's sake, as a part of what a step of that length may move them
DECREASE, OFF_COURSE = 0.1, 0.2
# least curvature of the effort that a step counts on, relative to its largest
CONVEX = 0.1
# least cosine between a step and the change of gradient that a secant update takes over: rank one has poles
OBLIQUE = 0.1
# part of the error that a step along straight equilibria leaves, from which on targets count as out of reach
OUT_OF_REACH = 0.5
# of the trace of a semidefinite matrix, added to its diagonal: the first that DAQP can do with
PROXIMAL = (1e-9, 1e-6, 1e-3)
# of singular values, below which parameters do not move the targets
INEFFECTIVE = 1e-12
NO_WAY = "no step along the equilibria leads on"
DAQP_EQUALITY, DAQP_DONE = 5, 1
DAQP_SETTINGS = {"primal_tol": 1e-12, "dual_tol": 1e-12}


class Point(NamedTuple):
    """Unknowns and parameters, the equations there and what follows from their derivatives."""

    x: Array  # unknowns of the static system
    p: Array  # parameters: free inputs, then free driven coordinates
    K: Array  # (n, n) derivative of the residual by the unknowns
    correction: Array  # Newton's step to the equilibrium at these parameters
    by: Array  # (n, n_p) derivative of the unknowns by the parameters
    error: Array  # of the targets, once the correction is made
    J: Array  # (n_rows, n_p) its derivative by the scaled parameters
    effort_by: Array  # (n_p,) derivative of the effort by these
    balanced: bool  # whether the correction is rounding after one more


@dataclass(frozen=True)
class Outcome:
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
    system : StaticSystem
    inputs, driven : int array
        Which inputs, and which of the driven coordinates, are parameters.
    low, high : (n_p,) array
        Bounds.
    scale : (n_p,) array
        Typical sizes; steps, trust region and the effort of inputs |p / scale|^2 / 2 are relative to these.
    stored_energy : function, optional
        Gradient (ndof,) of an energy by q, which takes the place of that effort.
    rest : function, optional
        Unknowns of an equilibrium at parameters, near others: where Newton's method does not get there.
    may_tunnel : function, optional
        Whether surfaces may have passed through each other between two unknowns.
    """

    def __init__(
        self, system: StaticSystem, inputs: IntArray, driven: IntArray, low: Array, high: Array, scale: Array,
        stored_energy: Callable[[Array], tuple[Array, Array]] | None = None,
        rest: Callable[[Array, Array], Array] | None = None,
        may_tunnel: Callable[[Array, float, Array, float], bool] | None = None,
    ) -> None:  # fmt: skip
        self.system, self.inputs, self.driven = system, inputs, driven
        self.low, self.high, self.scale = low, high, scale
        self._rest, self._energy, self._may_tunnel = rest, stored_energy, may_tunnel
        n_u, n_p = len(system.u), len(inputs) + len(driven)
        self._columns = np.concatenate([inputs, n_u + np.asarray(driven, dtype=np.int64)]).astype(np.int64)
        self._u_by = np.zeros((n_u, 1 + n_p))
        self._u_by[inputs, 1 + np.arange(len(inputs))] = 1.0
        self._solved: tuple[Array, Array, Array, Array] | None = None  # the last one
        self._identity = np.eye(n_p)
        self._driven_rows = system.partition.driven[driven]

    # -- states ------------------------------------------------------------------------------------------------------

    def set(self, p: Array) -> None:
        """Let the system have these parameters."""
        n = len(self.inputs)
        self.system.u[self.inputs], self.system.driven_values[self.driven] = p[:n], p[n:]

    def parameters(self) -> Array:
        """Those of the system."""
        return np.concatenate([self.system.u[self.inputs], self.system.driven_values[self.driven]])

    def linearise(self, targets: Targets, x: Array, p: Array) -> Point | None:
        """The equations at unknowns and parameters; None where they have no derivative or a singular one."""
        if self._solved is None or self._solved[0] is not x or not np.array_equal(self._solved[1], p):
            self._solved = self._solve(x, p)
        if self._solved is None:
            return None
        _, _, K, solved = self._solved
        self.set(p)
        state = self._state(x, solved)
        error, slopes = targets.errors(state)
        if not np.isfinite(slopes).all():
            return None
        effort = p / self.scale
        if self._energy is not None:
            effort = self.scale * (self._energy(state.q)[0] @ state.q_by[:, 1:])
        n, correction = self.system.n_free, solved[:, 0]
        balanced = norm(correction[:n]) <= BALANCED * (1.0 + norm(x))
        J = slopes[:, 1:] * self.scale
        return Point(x, p, K, correction, solved[:, 1:], error + slopes[:, 0], J, effort, balanced)

    def _solve(self, x: Array, p: Array) -> tuple[Array, Array, Array, Array] | None:
        """The state, the derivative K of its residual by the unknowns, and -K^-1 [residual, its other derivatives]."""
        self.set(p)
        try:
            residual, K, by_parameters = self.system.linearised(x)
        except ModelError:
            return None
        right = np.empty((len(x), 1 + len(p)), order="F")
        right[:, 0], right[:, 1:] = residual, by_parameters[:, self._columns]
        if not len(x):  # all is driven
            return x, p, K, np.zeros_like(right)
        lu, pivots, failed = dgetrf(K)
        if failed:
            return None
        solved = -dgetrs(lu, pivots, right, overwrite_b=True)[0]
        return (x, p, K, solved) if np.isfinite(solved).all() else None

    def _state(self, x: Array, solved: Array) -> StaticState:
        """A state with its derivatives by a step to the equilibrium and by the parameters."""
        system, n = self.system, self.system.n_free
        q_by = solved[:n]
        if n < system.robot.ndof:
            q_by = np.zeros((system.robot.ndof, solved.shape[1]))
            q_by[system.partition.free] = solved[:n]
            q_by[self._driven_rows, 1 + len(self.inputs) + np.arange(len(self.driven))] = 1.0
        multiplier_by = np.zeros((len(system.weight), solved.shape[1]))
        if len(system.rows):
            multiplier_by[system.rows] = system.weight[system.rows, None] * solved[n:]
        return StaticState(system.q(x), system.u, system.multipliers(x), q_by, self._u_by, multiplier_by)

    # -- the search --------------------------------------------------------------------------------------------------

    def run(self, targets: Targets, x: Array, p: Array, tolerance: float, of_effort: Array | None = None) -> Outcome:
        """Search from a state that is near an equilibrium; `of_effort`: from a search that ended there."""
        of_effort = np.zeros((len(p), len(p))) if of_effort is None else of_effort
        found = self._run(targets, x, _clipped(p, self.low, self.high), tolerance, of_effort)
        last = self._settled(targets, found.point)
        at_rest, reached = last._replace(x=last.x + last.correction), norm(last.error) <= tolerance
        return replace(found, point=at_rest, reached=reached, stable=self.stable(last), last=last)

    def _settled(self, targets: Targets, point: Point) -> Point:
        """The equilibrium under the parameters of a point, but for a last correction: by Newton's method, or `rest`."""
        while not point.balanced:
            after = self.linearise(targets, point.x + point.correction, point.p)
            if after is None or not norm(after.correction) < norm(point.correction):
                x = None if self._rest is None else self._rest(point.p, point.x)
                after = None if x is None else self.linearise(targets, x, point.p)
                if after is None or not after.balanced:
                    raise ModelError("inverse", "an equilibrium", "a state that does not come to rest")
            point = after
        return point

    def follow(self, targets: Targets, point: Point, p: Array) -> Point | None:
        """The equilibrium at other parameters, along the straight way there; None where the way is lost."""
        done, part, way = 0.0, 1.0, p - point.p
        while done < 1.0:
            part = min(part, 1.0 - done)
            dx = point.correction + point.by @ (part * way)
            trial = self.linearise(targets, point.x + dx, point.p + part * way)
            if trial is None or norm(trial.correction) > CONTRACTION * norm(dx):
                part *= 0.25
                if part < LEAST_PART:
                    return None
                continue
            point, done, part = trial, done + part, 2.0 * part
        try:
            return self._settled(targets, point)
        except ModelError:
            return None

    def stable(self, point: Point) -> bool:
        """Whether the tangent stiffness is positive definite along closed loops, or else no motion about it grows."""
        K, n = point.K.copy(), self.system.n_free
        K[:n, n:] *= -1.0  # of [K -A^T; A 0], which has as many negative eigenvalues as rows then
        if _negative_eigenvalues(K + K.T) == len(K) - n:
            return True
        system = self.system
        self.set(point.p)
        return bool(system.robot.linearize(system.q(point.x), system.u, free=system.partition.free).stable)

    def _run(self, targets: Targets, x: Array, p: Array, tolerance: float, of_effort: Array) -> Outcome:
        point = self.linearise(targets, x, p)
        if point is None:
            raise ModelError("q0", "a state with a regular tangent stiffness", "one where it is singular or infinite")
        trust, curvature = np.inf, np.zeros((len(p), len(p)))
        for k in range(MAX_STEPS):
            size = norm(point.error)
            steps = self._steps(point, trust, curvature, of_effort, tolerance)
            step = steps.least_effort
            if steps.for_effort <= LEAST_EFFORT:
                step = steps.least_error  # what is left of the effort would only delay the targets
                if point.balanced and (size <= tolerance or steps.left <= min(STATIONARY, 0.01 * size)):
                    return Outcome(point, size <= tolerance, k, "", of_effort)
            if trust == np.inf:
                shorter = min(1.0, FIRST_STEP / max(norm(point.J @ step), 1e-300))
                step, trust = shorter * step, shorter * _largest(step)
            if point.balanced and not step.any():
                return Outcome(point, False, k, NO_WAY, of_effort)
            trial, growth = self._trial(targets, point, step, steps.least_error)
            longest = _largest(step)
            if trial is None:
                if k == 0 and growth > 1.0 and not point.balanced:
                    return Outcome(point, False, k, "the start is far from an equilibrium", of_effort)
                trust = min(trust, longest) * min(max(TYPICAL / max(growth, 1e-300), 0.1), 0.5)
                if trust < LEAST_TRUST:
                    if point.balanced:
                        return Outcome(point, False, k, NO_WAY, of_effort)
                    point, trust = self._settled(targets, point), np.inf
                continue
            if longest > NO_STEP:
                change = (trial.J - point.J).T
                curvature = _secant(curvature, step, change @ trial.error)
                of_effort = _secant(of_effort, step, change @ steps.multipliers)
            trust = max(trust, longest * min(TYPICAL / max(growth, 1e-300), 4.0))
            point = trial
        return Outcome(point, False, MAX_STEPS, f"{MAX_STEPS} steps were not enough", of_effort)

    def _trial(self, targets: Targets, point: Point, step: Array, toward: Array) -> tuple[Point | None, float]:
        """The point after a step of the scaled parameters, None if it is refused; how nonlinear the way was."""
        dp = self.scale * step
        by_parameters = point.by @ dp
        dx = point.correction + by_parameters
        x, p = point.x + dx, _clipped(point.p + dp, self.low, self.high)
        if self._passes(point.x, x):
            return None, np.inf
        trial = self.linearise(targets, x, p)
        if trial is None or self._passes(x, x + trial.correction):
            return None, np.inf
        n = self.system.n_free
        growth = 0.0 if trial.balanced else norm(trial.correction[:n]) / max(norm(dx[:n]), 1e-300)
        # a start out of balance comes back by Newton's method, which contracts before it converges
        if growth > (1.0 if norm(point.correction) > norm(by_parameters) else CONTRACTION):
            return None, growth
        return (trial if self._improves(point, trial, step, toward) else None), growth

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
            following = _least(point.J.T @ point.J, point.J.T @ trial.error, *self._within(trial))
            if norm(following) <= CONTRACTION * norm(toward):
                return True
        if norm(toward) > 0.5 * length or not float(point.effort_by @ step) < 0.0:
            return False
        return norm(trial.error - straight) <= OFF_COURSE * norm(point.J.ravel()) / sqrt(len(step)) * length

    def _within(self, point: Point, trust: float = np.inf) -> tuple[Array, Array]:
        """Bounds of steps of the scaled parameters."""
        low, high = (self.low - point.p) / self.scale, (self.high - point.p) / self.scale
        return np.maximum(low, -trust), np.minimum(high, trust)

    def _steps(self, point: Point, trust: float, curvature: Array, of_effort: Array, tolerance: float) -> Steps:
        """Steps to the least error, and of least effort."""
        J, bounds = point.J, self._within(point, trust)
        W = (self._identity if self._energy is None else self._energy_curvature(point)) + of_effort
        if len(J) <= J.shape[1]:
            G = J @ J.T
            _, solved, failed = dposv(G, point.error)
            # J z is given, so J^T J adds nothing but makes the matrix positive definite
            weight = 10.0 * norm(W.ravel()) / max(norm(G.ravel()), 1e-300)
            H = W + weight * J.T @ J
            if not failed and (found := _constrained(H, point.effort_by, *bounds, J, -point.error)) is not None:
                z, multipliers = found
                toward = -J.T @ solved
                inside = float(np.minimum(toward - bounds[0], bounds[1] - toward).min()) >= 0.0
                multipliers -= weight * point.error
                return Steps(z, toward if inside else z, _largest(z - toward), norm(point.error), multipliers)
        toward, left = self._least_error(point, trust, curvature, tolerance)
        step, multipliers = self._least_effort(point, toward, bounds, W)
        return Steps(step, toward, _largest(step - toward), left, multipliers)

    def _least_error(self, point: Point, trust: float, curvature: Array, tolerance: float) -> tuple[Array, float]:
        """Step of the scaled parameters to the least error; how far targets would move without the trust region."""
        J, bounds = point.J, self._within(point)
        H, f = J.T @ J, J.T @ point.error
        step = _least(H, f, *bounds)
        # the curvature of the targets counts where they stay out of reach
        if norm(point.error + J @ step) > max(tolerance, OUT_OF_REACH * norm(point.error)):
            H = H + curvature
            H = H + max(0.0, -float(np.linalg.eigvalsh(H)[0])) * self._identity
            step = _least(H, f, *bounds)
        left = norm(J @ step)
        if (np.abs(step) > trust).any():
            step = _least(H, f, *self._within(point, trust))
        return step, left

    def _least_effort(self, point: Point, toward: Array, bounds: tuple[Array, Array], W: Array) -> tuple[Array, Array]:
        """Of the steps that move targets as `toward` does the one of least effort; multipliers of the targets then."""
        J, gradient = point.J, point.effort_by
        left, s, V = np.linalg.svd(J)
        rank = int((s > INEFFECTIVE**0.5 * s[0]).sum()) if len(s) else 0
        if rank == J.shape[1]:
            return toward, np.zeros(len(J))
        multipliers = -left[:, :rank] @ ((V[:rank] @ gradient) / s[:rank])
        # only curvature along the null space N counts; it is made positive there
        fixed, N = V[:rank], V[rank:]
        values, shapes = np.linalg.eigh(N @ W @ N.T)
        least = CONVEX * max(1.0, float(np.abs(values).max()))
        along = (shapes * np.maximum(np.abs(values), least)) @ shapes.T
        gradient = gradient + N.T @ (N @ (W @ (fixed.T @ (fixed @ toward))))
        step = _constrained(N.T @ along @ N + fixed.T @ fixed, gradient, *bounds, fixed, fixed @ toward)
        return toward if step is None else step[0], multipliers

    def _energy_curvature(self, point: Point) -> Array:
        """Second derivative of the stored energy by scaled parameters, as far as the way of the state is straight."""
        assert self._energy is not None
        q_by = self._state(point.x, np.column_stack([point.correction, point.by])).q_by[:, 1:] * self.scale
        H = q_by.T @ self._energy(self.system.q(point.x))[1] @ q_by
        return np.asarray(H + INEFFECTIVE * (np.trace(H) or 1.0) * np.eye(len(H)))


def norm(x: Array) -> float:
    """Euclidean norm of a vector, in a third of numpy's time."""
    return sqrt(float(x @ x))


def _negative_eigenvalues(S: Array) -> int | None:
    """How many a symmetric matrix has (Sylvester's law of inertia); None where it is singular.

    Of a 2 x 2 pivot of Bunch and Kaufman one eigenvalue is negative.
    """
    factor, pivots, failed = dsytrf(S)
    return None if failed else int((np.diag(factor)[pivots > 0] < 0.0).sum() + (pivots < 0).sum() // 2)


def _secant(S: Array, step: Array, y: Array) -> Array:
    """Symmetric rank-one update of a second derivative S (n, n), which changes y over a step.

    Sized first, so that it vanishes with what it is weighed by. Source: Dennis, Gay, Welsch, ACM TOMS 7 (1981).
    """
    moved = S @ step
    along = float(step @ moved)
    part = min(1.0, abs(float(step @ y) / along)) if along else 1.0
    S, r = part * S, y - part * moved
    bottom = float(r @ step)
    if abs(bottom) > OBLIQUE * norm(r) * norm(step):
        S += r[:, None] * (r / bottom)
    return S


def _least(H: Array, f: Array, low: Array, high: Array) -> Array:
    """The z of least z^T H z / 2 + f^T z with low <= z <= high, H semidefinite; 0 where none is found."""
    size, no_rows = (float(np.trace(H)) or 1.0) * np.eye(len(f)), np.empty((0, len(f)))
    for part in PROXIMAL:
        z, _, flag, _ = daqp.solve(H + part * size, f, no_rows, high, low, **DAQP_SETTINGS)
        if flag == DAQP_DONE:
            return _clipped(z, low, high)
    return np.zeros(len(f))


def _constrained(H: Array, f: Array, low: Array, high: Array, A: Array, b: Array) -> tuple[Array, Array] | None:
    """The same with A z = b and H definite, and the multipliers m of these rows: H z + f + A^T m = 0 but for bounds.

    None where there is none.
    """
    n, sense = len(f), np.zeros(len(f) + len(b), dtype=np.int32)
    sense[n:] = DAQP_EQUALITY
    upper, lower = np.concatenate([high, b]), np.concatenate([low, b])
    z, _, flag, info = daqp.solve(H, f, np.ascontiguousarray(A), upper, lower, sense, **DAQP_SETTINGS)
    return (_clipped(z, low, high), info["lam"][n:]) if flag == DAQP_DONE else None


def _clipped(x: Array, low: Array, high: Array) -> Array:
    """`numpy.clip` of a vector, in a third of its time."""
    return np.minimum(np.maximum(x, low), high)


def _largest(x: Array) -> float:
    """Largest absolute value."""
    return float(np.abs(x).max())
