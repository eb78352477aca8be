"""Descent to a stable equilibrium: Newton's method in a trust region, which makes use of negative curvature.

With the tangent stiffness K and a metric W, the motions phi that keep the constraints closed and have
K phi = curvature W phi, phi^T W phi = 1, make the step -sum phi (phi.r)/(curvature + damping), with the least damping
for which all factors are positive and no place moves farther than the radius (More and Sorensen 1983). At an
equilibrium with a negative curvature there is no force to follow: the step goes along that motion. Where forces have no
potential K is not symmetric: its symmetric part gives the steps, and a step leads down if the forces do work on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg

from sorosim.analysis.solvers.bordered import equilibration
from sorosim.base.arrays import Array
from sorosim.mechanics.dynamics.constraints import RANK_TOLERANCE as DEPENDENT
from sorosim.mechanics.linear.eigenmodes import EPS, FORM, congruent, is_symmetric

# singular values of the scaled constraints below this part of the largest are zero, also where they are a little open
RANK_TOLERANCE = 1e-5
# curvatures that are none in any case
ZERO_CURVATURE = 1e-9
# damping of motions without curvature, over that of the others
LEAST_DAMPING = 1e-8
# actual over predicted decrease, above which a step is good, and below which it is bad
GOOD_RATIO, BAD_RATIO = 0.75, 0.1
# radius: at first, and the least; relative to the longest step
RADIUS, MIN_RADIUS = 0.25, 1e-10
# size of a step from which Newton's method takes over; it is tried again whenever steps have become so much shorter
NEWTON_RANGE, RETRY_FACTOR = 0.05, 0.1
# part of the largest forces on the way, in the metric, that is as good as none, as where a contact just opens
RESIDUAL_TOLERANCE = 1e-11
# length of a step along all forces, below which a motion of negative curvature without a force is taken
NEARLY_STATIONARY = 1e-4
# a distance from an unstable equilibrium, relative to the longest step, that is rounding
ROUNDING = 1e-6
# motions whose curvatures are equal but for this part are one space, in which any direction is as good
DEGENERATE = 1e-6
MAX_STEPS, MAX_HALVES = 2000, 60
# so many steps must go farther than this part of the longest one
STALL_WINDOW, STALL_TRAVEL = 100, 1e-2
# constraints are closed after each step, until that takes no more than this part of the longest step
CLOSED, MAX_CLOSING = 1e-11, 8
# a descent that has gone so many of the longest steps without an end falls
MAX_LENGTH = 300.0


@dataclass(frozen=True)
class Descent:
    """How states are compared on the way down. The first n of the unknowns move, the others are multipliers."""

    n: int
    weight: Callable[[Array], Array]  # U (n, n) at x: W = U^T U is the metric
    step_measure: Callable[[Array], Array]  # S (m, 3, n) at x: a step dx is one of the longest where a |S dx| is 1


class Curvatures(NamedTuple):
    """Motions along which constraints stay closed, as columns, W-orthonormal, by rising curvature."""

    values: Array  # (k,)
    motions: Array  # (n, k)
    rounding: Array  # (k,) absolute values below which a curvature is zero
    symmetric: bool  # whether forces have a potential, beyond noise

    @property
    def negative(self) -> bool:
        """Whether the potential falls along one of them."""
        return bool((self.values < -self.rounding).any())

    @property
    def neutral(self) -> bool:
        """Whether no force opposes one of them."""
        return bool((np.abs(self.values) <= self.rounding).any())


def curvatures(J: Array, U: Array) -> Curvatures:
    """Curvatures of the potential from the Jacobian J = [K, -A^T; E, .] of residual and errors of constraints.

    Raises numpy.linalg.LinAlgError where J is not finite.
    """
    n = len(U)
    K = J[:n, :n]
    scaled = congruent(K, U)
    basis = np.eye(n)
    if len(J) > n:
        X = scipy.linalg.solve_triangular(U, J[n:, :n].T, trans="T").T
        basis = scipy.linalg.null_space(equilibration(X, least=DEPENDENT)[:, None] * X, rcond=RANK_TOLERANCE)
    reduced = basis.T @ scaled @ basis
    values, vectors = scipy.linalg.eigh(0.5 * (reduced + reduced.T))
    motions = scipy.linalg.solve_triangular(U, basis @ vectors)
    size = np.abs(motions)
    # entries that cancel to nothing are rounding of others: of a thin bar that may turn about itself on a ball joint
    form = np.sum(size * (np.abs(K) @ size) + np.abs(K).max(initial=0.0) * size**2, axis=0)
    rounding = np.maximum(FORM * EPS * form, ZERO_CURVATURE)
    return Curvatures(values, motions, rounding, is_symmetric(reduced))


def descent_direction(spectrum: Curvatures, U: Array, towards: Array) -> Array:
    """The motion (n,) of the most negative curvature, pointing where `towards` (n,) points.

    Of several such, the one that is nearest to it; where it has no part of them, one that does not depend on rounding.
    """
    lowest = spectrum.values[0]
    V = spectrum.motions[:, spectrum.values <= lowest + DEGENERATE * abs(lowest)]
    part = V @ (V.T @ (U.T @ (U @ towards)))
    if np.linalg.norm(U @ part) > DEGENERATE * np.linalg.norm(U @ towards) > 0.0:
        return np.asarray(part / np.linalg.norm(U @ part))
    # of coordinates with the largest share the first
    share = np.sum((U @ V) ** 2, axis=1)
    index = int(np.flatnonzero(share >= (1.0 - DEGENERATE) * share.max())[0])
    motion = V @ (U @ V)[index]
    return np.asarray(motion / np.linalg.norm(U @ motion))


def descend(
    jacobian: Callable[[Array], tuple[Array, Array]],
    x: Array,
    descent: Descent,
    settle: Callable[[Array, bool], Array | None],
    may_tunnel: Callable[[Array, Array], bool] | None = None,
    towards: Array | None = None,
) -> tuple[Array | None, str]:
    """Go down from x to a stable equilibrium.

    Parameters
    ----------
    jacobian : callable
        Residual (n + m,) and its derivative (n + m, n + m) at x.
    x : (n + m,)
        Where it starts, constraints closed; an unstable equilibrium, too.
    descent : Descent
    settle : callable
        Ends a search near x by Newton's method; None where that fails, or x itself where the second argument is True.
    may_tunnel : callable, optional
        Whether something may have passed through something else between two states.
    towards : (n,), optional
        Direction in which an unstable equilibrium is left, if nothing else decides.

    Returns
    -------
    x : (n + m,) or None
        None where the descent has no end.
    course : str
        The number of steps to the equilibrium, or why it failed.
    """
    retry_length, marks = NEWTON_RANGE, [0.0]
    try:
        iterate = _Iterate(jacobian, x, descent, may_tunnel, np.zeros(descent.n) if towards is None else towards)
        largest = 0.0
        for k in range(MAX_STEPS):
            came = f"it came to rest in {k} steps"
            largest = max(largest, np.abs(iterate.gradient).max(initial=0.0))
            if iterate.length <= retry_length:
                retry_length = RETRY_FACTOR * iterate.length
                end = settle(iterate.x, False)
                if end is not None and iterate.is_near(end) and not iterate.passes(end):
                    iterate.update(end, *jacobian(end))
                    if not iterate.spectrum.negative:
                        return end, came
                    retry_length = NEWTON_RANGE  # an unstable equilibrium, which the next step leaves
            slope = np.abs(iterate.gradient).max(initial=0.0)
            if not iterate.spectrum.negative and slope <= RESIDUAL_TOLERANCE * largest:
                return settle(iterate.x, True), came
            if iterate.travelled > MAX_LENGTH:
                return None, "it falls without end"
            if not iterate.step():
                through = (
                    ", but where surfaces pass through each other: the contact is too soft" if iterate.blocked else ""
                )
                return None, f"no step leads down after {k}{through}"
            marks.append(iterate.travelled)
            if k >= STALL_WINDOW and marks[-1] - marks[-1 - STALL_WINDOW] < STALL_TRAVEL:
                return None, f"it hardly moves any more after {k} steps"
    except (ValueError, np.linalg.LinAlgError):  # a state without derivatives
        return None, "it came to a state without derivatives"
    return None, f"it did not come to rest in {MAX_STEPS} steps"


class _Iterate:
    """The iterate of the descent, with residual, Jacobian and curvatures."""

    def __init__(
        self, jacobian: Callable[[Array], tuple[Array, Array]], x: Array, descent: Descent,
        may_tunnel: Callable[[Array, Array], bool] | None, towards: Array,
    ) -> None:  # fmt: skip
        self.jacobian, self.descent, self.may_tunnel, self.towards = jacobian, descent, may_tunnel, towards
        self.blocked = False  # whether the last step failed since something would pass through something else
        self.U = descent.weight(x)
        self.n, self.radius, self.travelled = len(self.U), RADIUS, 0.0
        self.update(*self._with_best_multipliers(x, *jacobian(x)))

    def update(self, x: Array, r: Array, J: Array) -> None:
        """The state is x from now on; residual and Jacobian there."""
        n = self.n
        self.x, self.r, self.J, self.measure = x, r, J, self.descent.step_measure(x)
        self.spectrum = spectrum = curvatures(J, self.U)
        self.constraint_step = self._constraint_step(r, J)
        self.gradient = spectrum.motions.T @ (r[:n] + J[:n, :n] @ self.constraint_step)
        # no curvature is smaller than rounding
        self.curvature = np.where(np.abs(spectrum.values) <= spectrum.rounding, spectrum.rounding, spectrum.values)
        falling = self.curvature < 0.0
        # rounding along what falls must not decide where it goes
        for k in np.flatnonzero(falling):
            if self._length(spectrum.motions[:, k] * (self.gradient[k] / self.curvature[k])) < ROUNDING:
                self.gradient[k] = 0.0
        convex = (self.curvature[self.gradient != 0.0] > 0.0).all()
        self.length = self._length(self._damped_step(0.0)) if convex else np.inf

    def _length(self, move: Array) -> float:
        """Of a step (n,), relative to the longest."""
        return float(np.linalg.norm(self.measure @ move, axis=-1).max(initial=0.0))

    def _damped_step(self, damping: float) -> Array:
        """The step at a damping above -curvature of all motions along which anything pulls."""
        size = np.where(self.gradient != 0.0, self.curvature + damping, 1.0)
        return np.asarray(self.constraint_step - self.spectrum.motions @ (self.gradient / size))

    def is_near(self, end: Array) -> bool:
        """Whether an end of the search is here, not anywhere else."""
        return self._length(end[: self.n] - self.x[: self.n]) <= 2.0 * NEWTON_RANGE

    def passes(self, end: Array) -> bool:
        """Whether something may pass through something else on the way to a state."""
        return self.may_tunnel is not None and self.may_tunnel(self.x, end)

    def step(self) -> bool:
        """Go down, by as much as the curvatures are right; False where nothing leads down."""
        while self.radius >= MIN_RADIUS:
            for move in self._trial_steps():
                quality = self._try(move)
                if quality >= BAD_RATIO:
                    length = self._length(move)
                    self.travelled += length
                    self.radius = min(1.0, max(self.radius, 3.0 * length)) if quality > GOOD_RATIO else self.radius
                    return True
            self.radius *= 0.25
        return False

    def _trial_steps(self) -> Iterator[Array]:
        """Steps within the radius, the best first: both ways along a motion of negative curvature without a force."""
        least = max(0.0, -float(self.curvature[self.gradient != 0.0].min(initial=0.0)))
        # a damping at which the step is too short, and one at which it is not
        low, high = least * (1.0 + ROUNDING), max(2.0 * least, 1.0)
        inside = self._damped_step(low)
        if self._length(inside) <= self.radius:
            if not (self.curvature < 0.0).any() or self._length(inside) > NEARLY_STATIONARY:
                yield inside
                return
            known = self._length(self.towards) >= ROUNDING
            motion = descent_direction(self.spectrum, self.U, self.towards if known else np.zeros(self.n))
            motion *= (self.radius - self._length(inside)) / self._length(motion)
            for self.towards in (motion, -motion):
                yield inside + self.towards
            return
        while self._length(self._damped_step(high)) > self.radius:
            low, high = high, 10.0 * high
            if not high < 1e30:
                return
        for _ in range(MAX_HALVES):
            middle = np.sqrt(max(low, LEAST_DAMPING * high) * high)
            length = self._length(self._damped_step(middle))
            low, high = (middle, high) if length > self.radius else (low, middle)
            if 0.7 * self.radius <= length <= self.radius:
                break
        yield self._damped_step(high)

    def _constraint_step(self, r: Array, J: Array) -> Array:
        """The least step (n,), in the metric, that closes the constraints."""
        n = self.n
        if len(r) == n:
            return np.zeros(n)
        X = scipy.linalg.solve_triangular(self.U, J[n:, :n].T, trans="T").T
        rows = equilibration(X)
        shortest = scipy.linalg.lstsq(rows[:, None] * X, -rows * r[n:], cond=RANK_TOLERANCE)[0]
        return np.asarray(scipy.linalg.solve_triangular(self.U, shortest))

    def _on_constraints(self, y: Array) -> tuple[Array, Array, Array] | None:
        """The state next to y in which the constraints are closed, residual and Jacobian; None if there is none."""
        for _ in range(MAX_CLOSING):
            r, J = self.jacobian(y)
            if not (np.isfinite(r).all() and np.isfinite(J).all()):
                return None
            step = self._constraint_step(r, J)
            if self._length(step) <= CLOSED:
                return y, r, J
            y = y + np.append(step, np.zeros(len(y) - self.n))
        return None

    def _with_best_multipliers(self, y: Array, r: Array, J: Array) -> tuple[Array, Array, Array]:
        """The same state with the multipliers that balance its forces best."""
        n = self.n
        if len(y) == n:
            return y, r, J
        X = scipy.linalg.solve_triangular(self.U, J[:n, n:], trans="T")
        columns = equilibration(X, axis=0)
        forces = scipy.linalg.solve_triangular(self.U, -r[:n], trans="T")
        y = y.copy()
        y[n:] += columns * scipy.linalg.lstsq(X * columns, forces, cond=RANK_TOLERANCE)[0]
        return y, *self.jacobian(y)

    def _try(self, move: Array) -> float:
        """Accept a step by its ratio of actual to predicted decrease; returns the ratio, 0 if it does not decrease."""
        n = self.n
        candidate = self._on_constraints(self.x + np.append(move, np.zeros(len(self.x) - n)))
        if candidate is None:
            return 0.0
        self.blocked = self.passes(candidate[0])
        if self.blocked:
            return 0.0
        y, r, J = candidate
        dx = (y - self.x)[:n]
        # the work against the forces on the way, by the trapezoidal rule with its end correction; that of the
        # constraints, whose multipliers are the same at both ends, is zero
        work = float(0.5 * (self.r + r)[:n] @ dx + dx @ ((self.J - J)[:n, :n] @ dx) / 12.0)
        promised = float(self.r[:n] @ move + 0.5 * move @ (self.J[:n, :n] @ move))
        if not (work < 0.0 and promised < 0.0):
            return 0.0
        quality = min(work / promised, promised / work)
        if quality >= BAD_RATIO:
            self.update(*self._with_best_multipliers(y, r, J))
        return quality
