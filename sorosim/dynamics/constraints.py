"""Loop constraints of a state: rank tolerance, multipliers."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from sorosim.arrays import Array, IntArray, Mask
from sorosim.engine.engine import Engine
from sorosim.kernels import evaluate as task
from sorosim.kernels.loops import CONSTRAINT

# rank tolerance of the constraint matrix, relative to its largest singular value
RANK_TOLERANCE = 1e-9


def least_squares_multipliers(
    engine: Engine, q: Array, qd: Array, qdd: Array, u: Array, t: float, free: IntArray
) -> Array:
    """The smallest Lagrange multipliers (m,) under which the coordinates `free` move so, as well as they can."""
    if not engine.loop_layout.m:
        return np.zeros(0)
    evaluation, size = engine.evaluate(task.RESIDUAL_DERIVATIVES, q, qd, qdd, u, t), engine.loops.row_scale
    if not np.isfinite(qdd).all():
        return np.full(engine.loop_layout.m, np.nan)
    A = size[:, None] * evaluation.closure.matrix[CONSTRAINT][:, free]
    return np.asarray(size * scipy.linalg.lstsq(A.T, evaluation.tau[free], cond=RANK_TOLERANCE)[0])


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
