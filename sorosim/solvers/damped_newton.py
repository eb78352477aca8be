"""Equilibria of many unknowns: damped Newton's method, whose linear systems are solved without matrices.

A step solves (K + damping W) dx = -r with a damping at which the matrix is positive definite and no place moves farther
than the longest step: it leads down, and near an equilibrium the damping vanishes (Levenberg and Marquardt's way, in
the metric W). Where forces have no potential, definite is the symmetric part, and a step leads down if the forces do
work on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from sorosim.arrays import Array
from sorosim.solvers.newton import EXACT_STEP, STEP_TOLERANCE

# least damping that is tried after none, by what it is raised at first, and this factor's own growth
LEAST_DAMPING, RAISE, ACCELERATE, LARGEST_DAMPING = 1e-9, 8.0, 4.0, 1e30
# actual over predicted decrease, above which a step is good, and below which it is bad
GOOD_RATIO, BAD_RATIO = 0.75, 0.1
# size of a step, relative to the longest, from which undamped steps take over; they are tried again whenever steps have
# become so much shorter
NEWTON_RANGE, RETRY_FACTOR = 0.05, 0.1
# the first undamped step, relative to 1 + |x|, is no larger where it starts at rest
FIRST_STEP = 0.1
# each undamped step is smaller than the one before by this factor
CONTRACTION = 0.7
MAX_NEWTON, MAX_STEPS = 20, 2000
# lengths of a step, relative to the longest, that need not become longer, and that is short
LONG, SHORT = 0.7, 0.1
# steps of this size, relative to the longest, are none
AT_REST = 1e-10
# a descent that has gone so many of the longest steps without an end falls
MAX_LENGTH = 300.0
# part of the way along the softest motion at which it shows whether forces lead away
KICK = 0.05
# bisections of the least damping at which the matrix is definite, and iterations for its vector
HALVES, INVERSE_ITERATIONS = 12, 6
# asymmetry of products with the inverse that is rounding
SYMMETRIC = 1e-6
# part of the load by which it is raised at least, and size of undamped steps that are near enough to go on;
# difference for the slope of the curve
SMALLEST_PART, ON_CURVE, LOAD_DIFFERENCE = 1e-12, 1e-4, 1e-7

STABLE, NEUTRAL, UNSTABLE, UNKNOWN = "stable", "neutral", "unstable", "unknown"


class LinearisedSystem(Protocol):
    """residual(x, load) = 0 with its derivative K, and a metric W, both of the state that was linearised last."""

    def residual(self, x: Array, load: float) -> Array:
        """Residual (n,)."""

    def linearise(self, x: Array, load: float) -> Array:
        """Residual (n,); what follows is that of this state."""

    def factor(self, damping: float, definite: bool) -> bool:
        """Factor K + damping W; whether it is regular, and positive definite if `definite` asks for it."""

    def solve(self, right: Array) -> Array:
        """(K + damping W)^-1 right (n,) by the last factors."""

    def weigh(self, dx: Array) -> tuple[Array, float]:
        """W dx (n,), and the length of the step dx: 1 is the longest."""

    def rounding(self) -> Array:
        """Rounding errors (n,) of the residual."""


@dataclass(frozen=True)
class Found:
    """End of a search."""

    x: Array  # (n,)
    residual: Array  # (n,)
    success: bool
    course: str  # in words
    stability: str = UNKNOWN


class DampedNewton:
    """Searches in one system, counting."""

    def __init__(self, system: LinearisedSystem) -> None:
        self.system = system
        self.n_residual = self.n_jacobian = 0

    def residual(self, x: Array) -> Array:
        """At the full load."""
        self.n_residual += 1
        return self.system.residual(x, 1.0)

    def linearise(self, x: Array, load: float = 1.0) -> Array:
        """Residual at a state, which is the linearised one from now on."""
        self.n_jacobian += 1
        return self.system.linearise(x, load)

    def newton(
        self, x: Array, load: float = 1.0, first: float = FIRST_STEP, last: float = EXACT_STEP
    ) -> tuple[Array, Array] | None:
        """Undamped steps from x: the solution and its residual, which is linearised; None where they do not contract.

        The last step is as small as digits allow: of size eps, it leaves an error of size eps^2. first, last :
        largest size of the first one, relative to 1 + |x|, and of one after which no other is worth while.
        """
        before = first / CONTRACTION
        for _ in range(MAX_NEWTON):
            r = self.linearise(x, load)
            if not np.isfinite(r).all():
                return None
            balanced = bool((np.abs(r) <= self.system.rounding()).all())
            if not self.system.factor(0.0, False):
                return None
            step = self.system.solve(r)
            size = float(np.abs(step).max(initial=0.0) / (1.0 + np.abs(x).max(initial=0.0)))
            contracts = size < CONTRACTION * before
            if size <= last or (not contracts and (balanced or size <= STEP_TOLERANCE)):
                return x, r
            if not contracts:
                return None
            x, before = x - step, size
        return None

    def follow(self, x: Array) -> tuple[Array, float, int]:
        """Follow the solution from load 0, where x is one: where undamped steps end, the load there, and their number.

        Each part of the load begins along the tangent, by no more than the longest step.
        """
        load, part, steps = 0.0, 1.0, 0
        while load < 1.0 and part >= SMALLEST_PART:
            self.n_residual += 1
            ahead = self.system.residual(x, load + LOAD_DIFFERENCE)
            slope = (ahead - self.linearise(x, load)) / LOAD_DIFFERENCE
            if not (np.isfinite(slope).all() and self.system.factor(0.0, False)):
                break
            tangent, end = self.system.solve(-slope), None
            part = min(part, 1.0 / max(self.system.weigh(tangent)[1], 1e-300))
            while end is None and part >= SMALLEST_PART:
                raised = min(load + part, 1.0)
                end = self.newton(x + (raised - load) * tangent, raised, np.inf, ON_CURVE)
                part *= 3.0 if end is not None else 0.5
            if end is not None:
                x, load, steps = end[0], raised, steps + 1
        return x, load, steps

    def descend(self, x: Array, stable: bool) -> Found:
        """Go down from x to an equilibrium; `stable`: an unstable one is left."""
        damping, retry_length, travelled = 0.0, NEWTON_RANGE, 0.0
        for k in range(MAX_STEPS):
            r = self.linearise(x)
            if not np.isfinite(r).all():
                return Found(x, r, False, "it came to a state without forces")
            balanced = bool((np.abs(r) <= self.system.rounding()).all())
            step = self._damped_step(r, damping)
            if step is None:
                return Found(x, r, False, "it came to a state without derivatives")
            move, length, damping = step
            end = None
            if length <= retry_length:
                retry_length = RETRY_FACTOR * length
                end = self._undamped_end(x)
                if end is None:
                    self.linearise(x)
            if end is None and (balanced or length <= AT_REST):
                end = x, r
            if end is not None:
                came = f"at rest after {k} damped steps"
                stability, away = self._stability(*end)
                if stability != UNSTABLE or not stable:
                    return Found(*end, True, came, stability)
                # the next step leaves it
                x, damping, retry_length = away, 0.0, NEWTON_RANGE
                travelled += KICK
                continue
            if travelled > MAX_LENGTH:
                return Found(x, r, False, "it falls without end")
            quality = self._quality(x, r, move, damping)
            if quality < BAD_RATIO:
                damping = max(RAISE * RAISE * damping, LEAST_DAMPING)
                if damping > LARGEST_DAMPING:
                    return Found(x, r, False, f"no step leads down after {k}")
                continue
            x, travelled = x + move, travelled + length
            if quality > GOOD_RATIO:
                damping = damping / RAISE if damping > LEAST_DAMPING else 0.0
        return Found(x, self.residual(x), False, f"it did not come to rest in {MAX_STEPS} steps")

    def _damped_step(self, r: Array, damping: float) -> tuple[Array, float, float] | None:
        """Step, its length and damping, from `damping` on nearly the least that is definite and short enough."""
        low, rise, best = 0.0, RAISE, self._trial(r, damping)
        while best is None:
            low, damping = damping, max(rise * damping, LEAST_DAMPING)
            if damping > LARGEST_DAMPING:
                return None
            rise *= ACCELERATE
            best = self._trial(r, damping)
        for _ in range(HALVES):
            if low <= LEAST_DAMPING or damping <= 2.0 * low or best[1] >= LONG:
                break
            middle = np.sqrt(low * damping)
            trial = self._trial(r, middle)
            low, damping, best = (middle, damping, best) if trial is None else (low, middle, trial)
        # motions that nothing pulls along may be all that is not definite
        while damping > LEAST_DAMPING < low and best[1] < SHORT:
            trial = self._trial(r, damping / RAISE, False)
            if trial is None:
                break
            damping, best = damping / RAISE, trial
        return *best, damping

    def _trial(self, r: Array, damping: float, definite: bool = True) -> tuple[Array, float] | None:
        """Step at a damping and its length; None where that is not definite, the step too long, or not down."""
        if not self.system.factor(damping, definite):
            return None
        move = -self.system.solve(r)
        length = self.system.weigh(move)[1]
        return (move, length) if length <= 1.0 and r @ move <= 0.0 else None

    def _quality(self, x: Array, r: Array, move: Array, damping: float) -> float:
        """Ratio of actual to predicted decrease of a step of the linearised state; the work by the trapezoidal rule."""
        predicted = 0.5 * (damping * float(move @ self.system.weigh(move)[0]) - float(r @ move))
        end = self.residual(x + move)
        actual = -0.5 * float((r + end) @ move)
        return actual / predicted if np.isfinite(actual) and predicted > 0.0 else 0.0

    def _undamped_end(self, x: Array) -> tuple[Array, Array] | None:
        """The end of undamped steps from x, if it is near."""
        end = self.newton(x)
        near = end is not None and self.system.weigh(end[0] - x)[1] <= 2.0 * NEWTON_RANGE
        return end if near else None

    def _stability(self, x: Array, r: Array) -> tuple[str, Array]:
        """Stability of the equilibrium x, which is linearised; and a state down from it, if it is unstable."""
        if self.system.factor(0.0, True):
            return STABLE, x
        low, high = 0.0, LEAST_DAMPING
        while not self.system.factor(high, True):
            low, high = high, RAISE * high
            if high > LARGEST_DAMPING:
                return UNKNOWN, x
        if not self._is_symmetric(len(x)):
            return UNKNOWN, x
        for _ in range(HALVES):
            middle = np.sqrt(max(low, 1e-3 * high) * high)
            low, high = (low, middle) if self.system.factor(middle, True) else (middle, high)
        self.system.factor(high, True)
        motion = np.random.default_rng(0).normal(size=len(x))
        for _ in range(INVERSE_ITERATIONS):
            motion = self.system.solve(self.system.weigh(motion)[0])
            motion /= self.system.weigh(motion)[1]
        move = KICK * motion * np.sign(motion[np.argmax(np.abs(motion))])
        gained = 0.5 * high * float(move @ self.system.weigh(move)[0])
        noise = float(np.abs(move) @ self.system.rounding())
        for side in (move, -move):
            work = -0.5 * float((r + self.residual(x + side)) @ side)
            if work > 0.1 * gained and work > noise:
                return UNSTABLE, x + side
        return NEUTRAL, x

    def _is_symmetric(self, n: int) -> bool:
        """Whether forces have a potential, by products of the inverse with two directions."""
        a, b = np.random.default_rng(1).normal(size=(2, n))
        by_a, by_b = self.system.solve(a), self.system.solve(b)
        return bool(abs(b @ by_a - a @ by_b) <= SYMMETRIC * (np.linalg.norm(a) * np.linalg.norm(by_b)))


def find_equilibrium(
    system: LinearisedSystem, x: Array, unloaded: Array, *, follow: bool, stable: bool
) -> tuple[Found, DampedNewton]:
    """An equilibrium at the full load, and the search, which counted.

    From x by undamped steps; if x is no state nearby, along the curve of solutions as the load rises from 0, where
    `unloaded` (n,) is one; and where these end, down from there. follow : the curve at once, and no other start;
    stable : an unstable equilibrium is left.
    """
    search = DampedNewton(system)
    end = None if follow else search.newton(x)
    if end is not None:
        found = search.descend(end[0], stable)
        return replace(found, course=f"undamped steps from the start; {found.course}"), search
    start, load, steps = search.follow(unloaded)
    course = f"reached the full load in {steps} steps" if load >= 1.0 else f"ended at {100.0 * load:.4g} % of the load"
    found = search.descend(start if load >= 1.0 or follow else x, stable)
    if load >= 1.0 and not found.success and not follow:
        found = search.descend(x, stable)
    return replace(found, course=f"load continuation {course}; {found.course}"), search
