"""Loop constraints of a state: which conditions depend on each other, and multipliers."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from sorosim.base.arrays import Array, IntArray, Mask
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.kernels.saddle import RANK_TOLERANCE as RANK_TOLERANCE  # that of closed loops
from sorosim.mechanics.kernels.saddle import loop_norms, rank_tolerance


class IndependentRows:
    """Which conditions A x = 0 of loops depend on each other: the judgement of `kernels.saddle`, in coordinates.

    A^T is factored with pivoting, rows of A scaled to angles and relative to the largest of their loops. What has no
    more than `rank_tolerance` of its own beside the others carries no force.

    Parameters
    ----------
    engine : Engine
    A : (m, n)
        Constraint matrix, columns of the coordinates that may move.
    error : (m,), optional
        By how much the loops are open. Default: not at all.
    """

    def __init__(self, engine: Engine, A: Array, error: Array | None = None) -> None:
        loops = engine.loops
        self.A, self.size, self.scaled = A, loops.row_scale, loops.row_scale[:, None] * A
        self.Q, self.rows = np.zeros((A.shape[1], 0)), np.zeros(0, dtype=np.int64)
        if not A.size:
            return
        largest = np.linalg.norm(self.scaled, axis=1)
        loop_norms(loops, largest)
        Q, R, order = scipy.linalg.qr((self.scaled / largest[:, None]).T, mode="economic", pivoting=True)
        least = rank_tolerance(loops, np.zeros(len(A)) if error is None else error, -1)
        rank = int((np.abs(np.diag(R)) > least).sum())
        self.Q, self.rows = Q[:, :rank], np.sort(order[:rank]).astype(np.int64)

    @property
    def rank(self) -> int:
        """How many conditions are independent."""
        return len(self.rows)

    def motions(self) -> Array:
        """Orthonormal basis (n, n - rank) of motions that keep the loops closed."""
        return np.asarray(scipy.linalg.qr(self.Q)[0][:, self.rank :])

    def redundant(self, weight: Array) -> Array:
        """Orthonormal multipliers (m, m - rank) over weight (m,) that have no force along what is independent."""
        rows = (weight / self.size)[:, None] * self.scaled @ self.Q
        return np.asarray(scipy.linalg.qr(rows)[0][:, self.rank :])

    def multipliers(self, forces: Array) -> Array:
        """The smallest multipliers (m,) for which A^T multipliers is nearest to forces (n,)."""
        if not self.rank:
            return np.zeros(len(self.size))
        return np.asarray(self.size * np.linalg.lstsq((self.scaled @ self.Q).T, self.Q.T @ forces, rcond=None)[0])

    def smallest(self, multiplier: Array) -> Array:
        """The smallest multipliers (m,) with the forces of others, as far as independent conditions carry them."""
        return self.multipliers(self.A.T @ multiplier)


def least_squares_multipliers(
    engine: Engine, q: Array, qd: Array, qdd: Array, u: Array, t: float, free: IntArray
) -> Array:
    """The smallest Lagrange multipliers (m,) under which the coordinates `free` move so, as well as they can."""
    if not engine.loop_layout.m:
        return np.zeros(0)
    evaluation = engine.evaluate(task.RESIDUAL_DERIVATIVES, q, qd, qdd, u, t)
    if not np.isfinite(qdd).all():
        return np.full(engine.loop_layout.m, np.nan)
    A, error = evaluation.closure.constraint[:, free], evaluation.closure.error
    return IndependentRows(engine, A, error).multipliers(evaluation.tau[free])


def complete_motion(
    engine: Engine, q: Array, qd: Array, u: Array, t: float, given: Array, known: Mask, qdd: Array | None,
    multiplier: Array | None,
) -> tuple[Array, Array]:  # fmt: skip
    """Accelerations (ndof,) and multipliers (m,), those that are None found: by forward dynamics, or the smallest.

    given, known (ndof,): accelerations of driven coordinates, and which these are.
    """
    if qdd is None:
        evaluation = engine.evaluate(task.FORWARD, q, qd, given, u, t, known=known)
        return evaluation.qdd, evaluation.closure.multiplier if multiplier is None else multiplier
    if multiplier is None:
        multiplier = least_squares_multipliers(engine, q, qd, qdd, u, t, np.flatnonzero(~known))
    return qdd, multiplier
