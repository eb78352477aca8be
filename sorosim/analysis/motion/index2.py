"""The stabilised index-2 form of constrained motion (Gear, Gupta, Leimkuhler), for differential-algebraic solvers.

    dq/dt = v + B A^T mu,  R(q, v, dv/dt, z, l, t) = 0,  dz/dt = v - z/time,  A v = 0,  e(q) = 0

with the strains z of Maxwell elements, and mu = 0 in exact arithmetic: position and rate constraints hold at once. What
mu corrects goes, by B = (K + M / (1 s)^2)^-1 at the start, into soft coordinates: stiff ones would answer with forces
that change with the step. Where rows depend on each other, P^T A, P^T e and P l replace A, e and l, with a basis P
(m, k) of the range of A at q and its rank k at the start. A fixed choice of k rows would do at the start only: in an
overconstrained linkage it becomes singular somewhere, and near there tolerances of the rows do not bound the
coordinates. The solver's own multipliers are left out of its error test and unconverged; those of results come from
forward dynamics at the rows.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve

from sorosim.analysis.equations.system import OdeSystem, elastic_weight
from sorosim.analysis.solvers.sundials import Dae, integrate_dae
from sorosim.base.arrays import Array
from sorosim.base.ode import OdeProblem, OdeSolution
from sorosim.mechanics.dynamics.constraints import IndependentRows
from sorosim.mechanics.engine import tasks as task


class StabilisedIndex2:
    """The motion of a robot in this form; y = [q; v; z; l; mu] of free coordinates and k independent conditions."""

    def __init__(self, system: OdeSystem) -> None:
        self.system, self.free, self.n = system, system.partition.free, system.n_free
        self.size = system.robot.engine.loops.row_scale[:, None]
        system.closing[:2] = 0.0  # nothing drifts here; at rows 1/closing_time^2 would only magnify gaps
        self.rank = 0
        self.near = np.zeros((0, 0))  # orthonormal in lengths; P is the nearest basis to it
        self.last = np.zeros(0), np.zeros((0, 0))  # coordinates of the last residual, and P there
        self.B = np.eye(self.n)

    def integrate(self, problem: OdeProblem) -> OdeSolution:
        """Integrate by IDA; the contract is in `sorosim.base.ode`."""
        t, n, free = float(problem.t_out[0]), self.n, self.free
        q, qd, qdd, strain = self.system.coordinates(t, problem.x0)
        evaluation = self.system.forward(task.FORWARD, t, q, qd, qdd, strain)
        A = evaluation.closure.constraint[:, free]
        self.rank = k = IndependentRows(self.system.robot.engine, A).rank
        self.near = np.linalg.svd(self.size * A)[0][:, :k]
        self.B = cho_solve((elastic_weight(self.system.robot, q, free), False), np.eye(n))
        multiplier = np.linalg.lstsq(A.T @ self.basis(A), A.T @ evaluation.closure.multiplier, rcond=None)[0]
        y0 = np.concatenate([problem.x0, multiplier, np.zeros(k)])
        strain_rate = self.system.maxwell.rates(qd, strain)
        yd0 = np.concatenate([qd[free], evaluation.qdd[free], strain_rate, np.zeros(2 * k)])
        dae = Dae(self.residual, self.jacobian, y0, yd0, len(problem.x0) + np.arange(2 * k))
        return integrate_dae(problem, dae)

    def basis(self, A: Array) -> Array:
        """P (m, k) at a constraint matrix A (m, n): all rows, or the range of A where they depend on each other."""
        if self.rank == len(A):
            return np.eye(self.rank)
        if not np.isfinite(A).all():  # the step is refused
            return self.size * self.near
        U = np.linalg.svd(self.size * A, full_matrices=False)[0][:, : self.rank]
        # turned within the range (by a polar factor), so that multipliers change smoothly along the motion
        left, _, right = np.linalg.svd(U.T @ self.near)
        return np.asarray(self.size * (U @ left @ right))

    def split(self, t: float, y: Array, yd: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
        """All coordinates, rates, accelerations, z, l, and mu."""
        n, k, size = self.n, self.rank, self.system.size
        q, qd, qdd, strain = self.system.coordinates(t, np.ascontiguousarray(y[:size]))
        qdd[self.free] = yd[n : 2 * n]
        return q, qd, qdd, strain, np.array(y[size : size + k]), np.array(y[size + k :])

    def residual(self, t: float, y: Array, yd: Array) -> Array:
        """F(t, y, dy/dt); y + mu needs A, and with it all derivatives."""
        q, qd, qdd, strain, multiplier, mu = self.split(t, y, yd)
        n, free, none = self.n, self.free, np.zeros(len(self.size))
        evaluation = self.system.residual(task.RESIDUAL_DERIVATIVES, t, q, qd, qdd, none, strain)
        P = self.basis(evaluation.closure.constraint[:, free])
        self.last = q, P
        loops = evaluation.closure
        A = P.T @ loops.constraint[:, free]
        slip = yd[:n] - qd[free] - self.B @ (A.T @ mu)
        growth = yd[2 * n : self.system.size] - self.system.maxwell.rates(qd, strain)
        return np.concatenate([slip, evaluation.tau[free] - A.T @ multiplier, growth, loops.rate @ P, loops.error @ P])

    def jacobian(self, t: float, y: Array, yd: Array, c: float) -> Array:
        """dF/dy + c dF/d(dy/dt) without the change of P, normal to its range, and that of A under mu, which is 0."""
        q, qd, qdd, strain, multiplier, _ = self.split(t, y, yd)
        n, k, free, system = self.n, self.rank, self.free, self.system
        is_cached = np.array_equal(q, self.last[0])
        if not is_cached:
            none = np.zeros(len(self.size))
            evaluation = system.residual(task.RESIDUAL_DERIVATIVES, t, q, qd, qdd, none, strain)
        P = self.last[1] if is_cached else self.basis(evaluation.closure.constraint[:, free])
        self.near = P / self.size
        evaluation = system.residual(task.RESIDUAL_DERIVATIVES, t, q, qd, qdd, P @ multiplier, strain)
        loops = evaluation.closure
        A, E, V = (P.T @ rows[:, free] for rows in (loops.constraint, loops.error_by_q, loops.rate_by_q))
        K, C, M = (X[np.ix_(free, free)] for X in (evaluation.by_q, evaluation.by_qd, evaluation.mass))
        z, row, rate = slice(2 * n, system.size), slice(system.size, system.size + k), slice(n, 2 * n)
        out = c * np.eye(system.size + 2 * k, system.size + 2 * k)
        out[system.size :] = 0.0
        out[:n, rate], out[:n, system.size + k :] = -np.eye(n), -self.B @ A.T
        out[rate, :n], out[rate, rate], out[rate, row] = K, C + c * M, -A.T
        out[rate, z] = system.maxwell.force_by_strain(free)
        out[z, : system.size] -= system.strain_rows
        out[row, :n], out[row, rate], out[system.size + k :, :n] = V, A, E
        return out
