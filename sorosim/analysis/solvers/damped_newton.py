"""Equilibria of many unknowns: damped Newton's method, whose linear systems are solved without matrices.

A step solves (K + damping W) dx = -r with a damping at which the matrix is positive definite and no place moves farther
than the longest step: it leads down, and near an equilibrium the damping vanishes (Levenberg and Marquardt's way, in
the metric W). Where forces have no potential, definite is the symmetric part, and a step leads down if the forces do
work on it. Where factors do not tell what is definite, a few steps of Arnoldi's method with the inverse look for a
motion along which the matrix is not. Multipliers of constraints are unknowns after the n coordinates: steps keep to
the constraints, which are closed again after each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from sorosim.analysis.solvers.newton import EXACT_STEP, STEP_TOLERANCE
from sorosim.base.arrays import Array

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
# lengths of a step, relative to the radius, that need not become longer, and that is short; the radius relative to a
# bad step, and to a good one, and the least
LONG, SHORT = 0.7, 0.1
SHRINK, GROW, MIN_RADIUS = 0.25, 3.0, 1e-10
# steps of this size, relative to the longest, are none, as are forces of this part of the largest on the way
ZERO_STEP, NO_FORCE = 1e-10, 1e-11
# a descent that has gone so many of the longest steps without an end falls
MAX_LENGTH = 300.0
# parts of the longest step along the softest motion at which it shows whether forces lead away; what lies on something
# round is off it soon
KICKS = 0.05, 5e-3, 5e-4
# bisections of the least damping at which the matrix is definite, and iterations for its vector
HALVES, INVERSE_ITERATIONS = 12, 6
# steps that look for a motion along which a matrix is not definite; a curvature below this part of the largest is none;
# dampings at which an equilibrium is looked at, for each shows motions whose curvature is about as large
ARNOLDI_STEPS, NO_CURVATURE, PROBES = 20, 1e-10, (0.0, 1e-2, 1.0, 1e2, 1e4)
# corrections that close constraints, and the damping at which the metric decides how
MAX_CLOSING, HEAVY = 8, 1e4
# asymmetry of products with the inverse that is rounding
SYMMETRIC = 1e-6
# part of the load by which it is raised at least, and size of undamped steps that are near enough to go on
SMALLEST_PART, ON_CURVE = 1e-12, 1e-4

# likely: no motion was seen along which the potential falls, but the factors do not tell
STABLE, LIKELY, NEUTRAL, UNSTABLE, UNKNOWN = "stable", "likely", "neutral", "unstable", "unknown"


class LinearisedSystem(Protocol):
    """residual(x, load) = 0 with its derivative K, and a metric W, both of the state that was linearised last."""

    n: int  # unknowns that move; the others are multipliers, and the last of the residual errors of constraints

    @property
    def is_certain(self) -> bool:
        """Whether `factor` knows for certain that the matrix of the last factors is definite."""

    def residual(self, x: Array, load: float) -> Array:
        """Residual (n,)."""

    def linearise(self, x: Array, load: float) -> Array:
        """Residual (n,); what follows is that of this state."""

    def along_load(self, x: Array, load: float) -> tuple[Array, Array]:
        """The same, and its derivative (n,) by the load."""

    def factor(self, damping: float, definite: bool) -> bool:
        """Factor K + damping W; whether it is regular, and not known to be indefinite if `definite` asks for it."""

    def solve(self, right: Array) -> Array:
        """(K + damping W)^-1 right (n,) by the last factors."""

    def weigh(self, dx: Array) -> tuple[Array, float]:
        """W dx (n,), and the length of the step dx: 1 is the longest."""

    def rounding(self) -> Array:
        """Rounding errors (n,) of the residual."""

    def is_closed(self, residual: Array) -> bool:
        """Whether no constraint is open in a state with this residual."""


# whether surfaces may pass through each other between two states, each with its load
MayTunnel = Callable[[Array, float, Array, float], bool]


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

    def __init__(self, system: LinearisedSystem, may_tunnel: MayTunnel | None = None) -> None:
        self.system, self.n, self.may_tunnel = system, system.n, may_tunnel
        self.n_residual = self.n_jacobian = 0
        self._size = system.n  # of the unknowns
        self._radius = 1.0  # of steps, relative to the longest, within which the linearised forces hold

    def residual(self, x: Array) -> Array:
        """At the full load."""
        self.n_residual += 1
        return self.system.residual(x, 1.0)

    def linearise(self, x: Array, load: float = 1.0) -> Array:
        """Residual at a state, which is the linearised one from now on."""
        self.n_jacobian += 1
        self._size = len(x)
        return self.system.linearise(x, load)

    def passes(self, x: Array, y: Array, load: float = 1.0, other: float = 1.0) -> bool:
        """Whether surfaces may pass through each other between two states."""
        return self.may_tunnel is not None and self.may_tunnel(x, load, y, other)

    def factor(self, damping: float, definite: bool) -> bool:
        """Factor K + damping W; whether it is regular, and positive definite, as far as one sees, if that is asked."""
        return self.system.factor(damping, definite) and not (definite and self._is_indefinite())

    def _is_indefinite(self) -> bool:
        """Whether x.T x < 0, T = K + damping W of the last factors, for an x = T^-1 W V y by Arnoldi's method.

        With V^T W V = 1 and H = V^T W T^-1 W V that is y.H y: the symmetric part of H decides. Where factors are known
        to be definite there is no such x.
        """
        if self.system.is_certain:
            return False
        size, n = self._size, self.n
        V, WV, H = np.zeros((ARNOLDI_STEPS, n)), np.zeros((ARNOLDI_STEPS, n)), np.zeros((ARNOLDI_STEPS, ARNOLDI_STEPS))

        def solved(b: Array) -> Array:
            return self.system.solve(np.append(b, np.zeros(size - n)))[:n]

        def weighed(v: Array) -> Array:
            return self.system.weigh(np.append(v, np.zeros(size - n)))[0][:n]

        x = solved(weighed(np.random.default_rng(0).normal(size=n)))
        for k in range(min(ARNOLDI_STEPS, n)):
            Wx = weighed(x)
            norm = float(x @ Wx)
            if not 0.0 < norm < np.inf:
                break
            V[k], WV[k] = x / np.sqrt(norm), Wx / np.sqrt(norm)
            H[k, k - 1 : k] = np.sqrt(norm)
            x = solved(WV[k])
            for _ in range(2):  # the second takes the rounding of the first away
                part = WV[: k + 1] @ x
                H[: k + 1, k] += part
                x = x - part @ V[: k + 1]
        curvature = np.linalg.eigvalsh(0.5 * (H + H.T))
        return bool(curvature[0] < -NO_CURVATURE * curvature[-1])

    def close(self, x: Array, r: Array) -> tuple[Array, Array] | None:
        """The state next to x, with residual r, in which constraints are closed, by the last factors; and its residual.

        None where it is not found.
        """
        for _ in range(MAX_CLOSING):
            if not np.isfinite(r).all():
                return None
            if self.system.is_closed(r):
                return x, r
            right = np.append(np.zeros(self.n), r[self.n :])
            x = x - np.append(self.system.solve(right)[: self.n], np.zeros(len(x) - self.n))
            r = self.residual(x)
        return None

    def assembled(self, x: Array) -> Array | None:
        """The nearest state to x in which constraints are closed, nearly, in the metric; None where it is not found."""
        for _ in range(MAX_NEWTON):
            r = self.linearise(x)
            if not np.isfinite(r).all() or self.system.is_closed(r):
                return x if np.isfinite(r).all() else None
            if not self.system.factor(HEAVY, False):
                return None
            move = self.system.solve(np.append(np.zeros(self.n), r[self.n :]))
            move[self.n :] = 0.0
            x = x - move / max(1.0, self.system.weigh(move)[1])
        return None

    def _with_best_multipliers(self, x: Array, load: float = 1.0) -> Array:
        """The same state with the multipliers that balance its forces best, in the metric."""
        if len(x) == self.n:
            return x
        r = self.linearise(x, load)
        if not (np.isfinite(r).all() and self.system.factor(HEAVY, False)):
            return x
        return np.append(x[: self.n], x[self.n :] - self.system.solve(r)[self.n :])

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
            # multipliers follow what moves
            size = float(np.abs(step[: self.n]).max(initial=0.0) / (1.0 + np.abs(x[: self.n]).max(initial=0.0)))
            contracts = size < CONTRACTION * before
            if size <= last or (not contracts and (balanced or size <= STEP_TOLERANCE)):
                if len(x) == self.n:
                    return x, r
                x = np.append(x[: self.n], (x - step)[self.n :])
                return x, self.linearise(x, load)
            if not contracts:
                return None
            x, before = x - step, size
        return None

    def follow(self, x: Array) -> tuple[Array, float, int]:
        """Follow the solution from load 0, where x is one: where undamped steps end, the load there, and their number.

        Each part of the load begins along the tangent, by no more than the longest step.
        """
        load, part, steps, x = 0.0, 1.0, 0, self._with_best_multipliers(x, 0.0)
        while load < 1.0 and part >= SMALLEST_PART:
            self.n_jacobian += 1
            r, slope = self.system.along_load(x, load)
            if not (np.isfinite(r + slope).all() and self.system.factor(0.0, False)):
                break
            tangent, end = self.system.solve(-slope), None
            part = min(part, 1.0 / max(self.system.weigh(tangent)[1], 1e-300))
            while end is None and part >= SMALLEST_PART:
                raised = min(load + part, 1.0)
                end = self.newton(x + (raised - load) * tangent, raised, np.inf, ON_CURVE)
                if end is not None and self.passes(x, end[0], load, raised):
                    end = None
                part *= 3.0 if end is not None else 0.5
            if end is not None:
                x, load, steps = end[0], raised, steps + 1
        return x, load, steps

    def descend(self, x: Array, stable: bool) -> Found:
        """Go down from x to an equilibrium; `stable`: an unstable one is left."""
        damping, retry_length, travelled, x = 0.0, NEWTON_RANGE, 0.0, self._with_best_multipliers(x)
        self._radius, largest = 1.0, 0.0
        for k in range(MAX_STEPS):
            r = self.linearise(x)
            if not np.isfinite(r).all():
                return Found(x, r, False, "it came to a state without forces")
            size = float(np.abs(r).max(initial=0.0))
            largest = max(largest, size)
            balanced = size <= NO_FORCE * largest or bool((np.abs(r) <= self.system.rounding()).all())
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
            if end is None and (balanced or length <= ZERO_STEP):
                end = x, r
            if end is not None:
                came = f"at rest after {k} damped steps"
                stability, away = self._stability(*end)
                if stability != UNSTABLE or not stable:
                    return Found(*end, True, came, stability)
                # the next step leaves it
                x, damping, retry_length, self._radius = away, 0.0, NEWTON_RANGE, 1.0
                travelled += KICKS[0]
                continue
            if travelled > MAX_LENGTH:
                return Found(x, r, False, "it falls without end")
            quality, ahead = self._attempt(x, r, move, damping)
            if quality < BAD_RATIO:
                self._radius = SHRINK * length
                if self._radius < MIN_RADIUS:
                    return Found(x, r, False, f"no step leads down after {k}")
                continue
            x, travelled = ahead, travelled + length
            if quality > GOOD_RATIO:
                damping = damping / RAISE if damping > LEAST_DAMPING else 0.0
                self._radius = min(1.0, max(self._radius, GROW * length))
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
            if low <= LEAST_DAMPING or damping <= 2.0 * low or best[1] >= LONG * self._radius:
                break
            middle = np.sqrt(low * damping)
            trial = self._trial(r, middle)
            low, damping, best = (middle, damping, best) if trial is None else (low, middle, trial)
        # motions that nothing pulls along may be all that is not definite
        while damping > LEAST_DAMPING < low and best[1] < SHORT * self._radius:
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
        if not (length <= self._radius and r[: self.n] @ move[: self.n] <= 0.0) or (definite and self._is_indefinite()):
            return None
        return move, length

    def _attempt(self, x: Array, r: Array, move: Array, damping: float) -> tuple[float, Array]:
        """Ratio of actual to predicted decrease of a step of the linearised state, 0 if it cannot be; and its end.

        The work is that of the trapezoidal rule, with the same multipliers at both ends: those of the constraints do
        none then.
        """
        n = self.n
        predicted = 0.5 * (damping * float(move @ self.system.weigh(move)[0]) - float(r[:n] @ move[:n]))
        closed = self.close(x + move, self.residual(x + move))
        if closed is None or self.passes(x, closed[0]):
            return 0.0, x
        ahead, end = closed
        begin = r if len(x) == n else self.residual(np.append(x[:n], ahead[n:]))
        actual = -0.5 * float((begin + end)[:n] @ (ahead - x)[:n])
        return (actual / predicted if np.isfinite(actual) and predicted > 0.0 else 0.0), ahead

    def _undamped_end(self, x: Array) -> tuple[Array, Array] | None:
        """The end of undamped steps from x, if it is near."""
        end = self.newton(x)
        if end is None or self.system.weigh(end[0] - x)[1] > 2.0 * NEWTON_RANGE or self.passes(x, end[0]):
            return None
        return end if self.may_tunnel is None else (end[0], self.linearise(end[0]))

    def _stability(self, x: Array, r: Array) -> tuple[str, Array]:
        """Stability of the equilibrium x, which is linearised; and a state down from it, if it is unstable."""
        n, indefinite = self.n, [] if self.factor(0.0, True) else [0.0]
        if not (certain := self.system.is_certain):
            # the inverse at a damping shows motions whose curvature is about as large
            indefinite += [damping for damping in PROBES if not self.factor(damping, True)]
        if not indefinite:
            return STABLE if certain else LIKELY, x
        low = max(indefinite)
        high = max(RAISE * low, LEAST_DAMPING)
        while not self.factor(high, True):
            low, high = high, RAISE * high
            if high > LARGEST_DAMPING:
                return UNKNOWN, x
        # near to a singular matrix products with the inverse are rounding
        if not (self.system.factor(max(high, 1.0), False) and self._is_symmetric(len(x))):
            return UNKNOWN, x
        for _ in range(HALVES):
            middle = np.sqrt(max(low, 1e-3 * high) * high)
            low, high = (low, middle) if self.factor(middle, True) else (middle, high)
        self.system.factor(high, False)
        motion = np.random.default_rng(0).normal(size=len(x))
        for _ in range(INVERSE_ITERATIONS):
            motion = self.system.solve(self.system.weigh(motion)[0])
            motion /= self.system.weigh(motion)[1]
        motion[n:] = 0.0
        motion *= np.sign(motion[np.argmax(np.abs(motion))])
        gain = 0.5 * high * float(motion @ self.system.weigh(motion)[0])
        noise = float(np.abs(motion) @ self.system.rounding())
        for kick in (side * kick for kick in KICKS for side in (1.0, -1.0)):
            closed = self.close(x + kick * motion, self.residual(x + kick * motion))
            if closed is None or self.passes(x, closed[0]):
                continue
            work = -0.5 * float((r + closed[1])[:n] @ (closed[0] - x)[:n])
            if work > max(0.1 * kick**2 * gain, abs(kick) * noise):
                return UNSTABLE, closed[0]
        return NEUTRAL, x

    def _is_symmetric(self, size: int) -> bool:
        """Whether forces have a potential, by products of the inverse with two directions."""
        a, b = np.random.default_rng(1).normal(size=(2, size))
        a[self.n :], b[self.n :] = 0.0, 0.0
        by_a, by_b = self.system.solve(a), self.system.solve(b)
        return bool(abs(b @ by_a - a @ by_b) <= SYMMETRIC * (np.linalg.norm(a) * np.linalg.norm(by_b)))


def find_equilibrium(
    system: LinearisedSystem, x: Array, unloaded: Array, *, follow: bool, stable: bool,
    may_tunnel: MayTunnel | None = None, descend_first: bool = False,
) -> tuple[Found, DampedNewton]:  # fmt: skip
    """An equilibrium at the full load, and the search, which counted.

    From x by undamped steps; if x is no state nearby, along the curve of solutions as the load rises from 0, where
    `unloaded` (n,) is one; and where these end, down from there. follow : the curve at once, and no other start;
    stable : an unstable equilibrium is left; descend_first : down from x at first. No step passes surfaces through each
    other (`may_tunnel`).
    """
    search = DampedNewton(system, may_tunnel)
    if descend_first and not follow:
        found = search.descend(x, stable)
        if found.success:
            return replace(found, course=f"from the start; {found.course}"), search
    end = None if follow else search.newton(x)
    if end is not None and not search.passes(x, end[0]):
        found = search.descend(end[0], stable)
        return replace(found, course=f"undamped steps from the start; {found.course}"), search
    start, load, steps = search.follow(unloaded)
    course = f"reached the full load in {steps} steps" if load >= 1.0 else f"ended at {100.0 * load:.4g} % of the load"
    if not follow and search.passes(x, unloaded):
        course += "; between the start and the unloaded state surfaces pass through each other"
    found = search.descend(start if load >= 1.0 or follow else x, stable)
    if load >= 1.0 and not found.success and not follow:
        found = search.descend(x, stable)
    return replace(found, course=f"load continuation {course}; {found.course}"), search
