"""Loop constraints of a state: rank tolerance, multipliers."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from sorosim.arrays import Array, IntArray
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
