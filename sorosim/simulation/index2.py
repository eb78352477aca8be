"""The stabilised index-2 form of constrained motion (Gear, Gupta, Leimkuhler), for differential-algebraic solvers.

    dq/dt = v + B A^T mu,  R(q, v, dv/dt, l, t) = 0,  A v = 0,  e(q) = 0

with mu = 0 in exact arithmetic: closed loops and rates that keep them so are asked for at once. What mu mends goes, by
B = (K + M / (1 s)^2)^-1 at the start, into soft coordinates: stiff ones would answer with forces that change with the
step. Of rows that depend on each other only as many as are independent at the start are kept. The solver's own
multipliers are left out of its error test and unconverged; those of results come from forward dynamics at the rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from sorosim.equations.system import OdeSystem, elastic_weight, independent_rows
from sorosim.kernels import evaluate as task
from sorosim.kernels.loops import CONSTRAINT, ERROR, ERROR_BY_Q, RATE, RATE_BY_Q
from sorosim.solvers.base import OdeProblem, OdeSolution
from sorosim.solvers.ida import Dae, integrate

Array = NDArray[np.float64]


class StabilisedIndex2:
    """The motion of a robot in this form; y = [q; v; l; mu] of free coordinates and kept rows."""

    def __init__(self, system: OdeSystem) -> None:
        self.system, self.free, self.n = system, system.partition.free, system.n_free
        self.rows = np.zeros(0, dtype=np.int64)
        self.B = np.eye(self.n)

    def integrate(self, problem: OdeProblem) -> OdeSolution:
        """Integrate by IDA; the contract is in `sorosim.solvers.base`."""
        t, n = float(problem.t_out[0]), self.n
        q, qd, qdd = self.system.coordinates(t, problem.x0)
        found = self.system.forward(task.FORWARD, t, q, qd, qdd)
        self.rows = independent_rows(self.system.robot, found.closure.matrix[CONSTRAINT][:, self.free])
        k, free = len(self.rows), self.free
        self.B = cho_solve((elastic_weight(self.system.robot, q, free), False), np.eye(self.n))
        # with rows left out the others carry the whole
        A = found.closure.matrix[CONSTRAINT][:, free]
        kept = np.linalg.lstsq(A[self.rows].T, A.T @ found.closure.multiplier, rcond=None)[0]
        y0 = np.concatenate([q[free], qd[free], kept, np.zeros(k)])
        yd0 = np.concatenate([qd[free], found.qdd[free], np.zeros(2 * k)])
        dae = Dae(self.residual, self.jacobian, y0, yd0, np.arange(2 * n, 2 * (n + k)))
        return integrate(problem, dae)

    def split(self, t: float, y: Array, yd: Array) -> tuple[Array, Array, Array, Array, Array]:
        """All coordinates, rates, accelerations, multipliers, and mu."""
        n, k = self.n, len(self.rows)
        q, qd, qdd = self.system.coordinates(t, np.ascontiguousarray(y[: 2 * n]))
        qdd[self.free] = yd[n : 2 * n]
        multiplier = np.zeros(self.system.robot.n_multipliers)
        multiplier[self.rows] = y[2 * n : 2 * n + k]
        return q, qd, qdd, multiplier, np.array(y[2 * n + k :])

    def residual(self, t: float, y: Array, yd: Array) -> Array:
        """F(t, y, dy/dt); y + mu needs A, and with it all derivatives."""
        q, qd, qdd, multiplier, mu = self.split(t, y, yd)
        found = self.system.residual(task.RESIDUAL_DERIVATIVES, t, q, qd, qdd, multiplier)
        A = found.closure.matrix[CONSTRAINT][np.ix_(self.rows, self.free)]
        value = found.closure.value[:, self.rows]
        slip = yd[: self.n] - qd[self.free] - self.B @ (A.T @ mu)
        return np.concatenate([slip, found.tau[self.free], value[RATE], value[ERROR]])

    def jacobian(self, t: float, y: Array, yd: Array, c: float) -> Array:
        """dF/dy + c dF/d(dy/dt); the change of A under mu, which is zero, is left out."""
        q, qd, qdd, multiplier, _ = self.split(t, y, yd)
        found = self.system.residual(task.RESIDUAL_DERIVATIVES, t, q, qd, qdd, multiplier)
        n, k, free = self.n, len(self.rows), self.free
        A, E, V = (found.closure.matrix[i][np.ix_(self.rows, free)] for i in (CONSTRAINT, ERROR_BY_Q, RATE_BY_Q))
        K, C, M = (X[np.ix_(free, free)] for X in (found.dq, found.dqd, found.mass))
        none, square = np.zeros((n, k)), np.zeros((k, k))
        return np.block([
            [c * np.eye(n), -np.eye(n), none, -self.B @ A.T],
            [K, C + c * M, -A.T, none],
            [V, A, square, square],
            [E, none.T, square, square],
        ])  # fmt: skip
