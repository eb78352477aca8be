"""An optimal control problem by single shooting: inputs are unknown, states follow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.arrays import Array
from sorosim.mechanics.kernels.restarted import Feedback
from sorosim.studies.control.steps import DiscreteMotion
from sorosim.studies.control.terms import Expansion, Terms


class Quadratic(NamedTuple):
    """The problem about a motion: linear steps and a quadratic cost."""

    A: Array  # (N, n, n), n = n_states, or n_states + n_actuators where the state has the inputs before
    B: Array  # (N, n, n_actuators)
    cost: Expansion


class Problem:
    """Cost of inputs U (N, n_actuators) within bounds (2, n_actuators), from a state x0 (n_states,) at a time t0 on."""

    def __init__(self, motion: DiscreteMotion, terms: Terms, bounds: Array, x0: Array, N: int, t0: float = 0.0) -> None:
        self.motion, self.terms, self.bounds, self.N = motion, terms, bounds, N
        self.begin(x0, t0)
        finite = np.where(np.isfinite(bounds), np.abs(bounds), 0.0).max(axis=0)
        self.scale = np.where(finite > 0.0, finite, 1.0)  # of inputs
        self.augmented = bool(terms.smoothness.any())

    def begin(self, x0: Array, t0: float, before: Array | None = None) -> None:
        """Begin at another state and time; before: inputs until then, None: the first ones."""
        self.x0, self.t0, self.before = x0, t0, before
        self.times: Array = t0 + self.terms.dt * np.arange(self.N + 1.0)
        self.references = self.terms.references(self.times)

    def integrate(self, U: Array, feedback: Feedback | None = None) -> tuple[Array | None, float]:
        """States under U and their cost; None and infinity where a step fails. With feedback U becomes what it gave."""
        X = self.motion.integrate(self.x0, U, self.t0, feedback)
        return X, np.inf if X is None else self.terms.value(self.times, X, U, self.references, self.before)

    def expand(self, X: Array, U: Array, *, smoothness: bool = True) -> Quadratic:
        """The quadratic problem about the motion that was integrated last, on request without `smoothness`."""
        A, B = self.motion.linearize(U)
        cost = self.terms.expand(self.times, X, U, self.references)
        if not (self.augmented and smoothness):
            return Quadratic(A, B, cost)
        return Quadratic(*with_inputs_before(A, B), self.terms.with_smoothness(cost, U, self.before))

    def states(self, X: Array, U: Array) -> Array:
        """States (N, n) at the begins of steps."""
        before = U[:1] if self.before is None else self.before[None]
        return np.hstack([X[:-1], np.vstack([before, U[:-1]])]) if self.augmented else np.ascontiguousarray(X[:-1])

    def gradient(self, X: Array, U: Array) -> Array:
        """Derivatives (N, n_actuators) of the cost by the inputs, by the discrete adjoint."""
        A, B, cost = self.expand(X, U)
        out, adjoint = cost.u.copy(), cost.x[-1]
        for k in range(self.N - 1, -1, -1):
            out[k] += B[k].T @ adjoint
            adjoint = cost.x[k] + A[k].T @ adjoint
        return out


def with_inputs_before(A: Array, B: Array) -> tuple[Array, Array]:
    """Steps whose state goes on by the inputs."""
    N, _, m = B.shape
    return np.pad(A, ((0, 0), (0, m), (0, m))), np.concatenate([B, np.tile(np.eye(m), (N, 1, 1))], axis=1)
