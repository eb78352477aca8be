"""Motion over intervals in which inputs are held, each of which begins anew, and the derivatives of each.

The state is (q, qd, z), z the strains of Maxwell elements: at the begin of an interval the method's accelerations are
those of forward dynamics (docs/theory.md, 14). So matrices A_k and B_k of optimal control and Riccati equations have
2 ndof + n_strains rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, kernel_lazy
from sorosim.mechanics.kernels import march as mr
from sorosim.mechanics.kernels.begins import (
    QD,
    SOLUTION,
    Q,
    accelerations_jvp,
    apply_input_jump,
    derive_accelerations,
    end_jump_jvp,
)
from sorosim.mechanics.kernels.discrete_steps import (
    begin_forces_jvp,
    factor_at_end,
    first_row,
    load_row,
    load_step,
    set_step_size,
    step_jvp,
)
from sorosim.mechanics.kernels.evaluate import DONE
from sorosim.mechanics.kernels.small import clear_matrix, copy

NEAR = 0.1  # of a coordinate: a rotation, a length, or a strain times a length


@by_reference
class Feedback(NamedTuple):
    """Inputs that answer the state: u_k + gain_k (x - x_k), within bounds; none where there are no gains.

    The state is [q; qd; z], or [q; qd; z; inputs of the interval before].
    """

    gain: np.ndarray  # (N, n_actuators, n), or (0, ...)
    state: np.ndarray  # (N, n)
    bounds: np.ndarray  # (2, n_actuators)


@kernel_lazy()
def integrate_restarted(model, march, ws, rows, inputs, substeps, feedback) -> int:
    """Intervals under inputs (N, n_actuators), which become those with feedback; a code of kernels.march."""
    n, n_strains, state = march.state.q.shape[0], march.strain.shape[1], march.state
    size = 2 * n + n_strains
    first_row(march, rows)
    for k in range(inputs.shape[0]):
        for i in range(inputs.shape[1]):
            if feedback.gain.shape[0] > 0:
                u = inputs[k, i]
                for j in range(n):
                    u += feedback.gain[k, i, j] * (state.q[j] - feedback.state[k, j])
                    u += feedback.gain[k, i, n + j] * (state.qd[j] - feedback.state[k, n + j])
                for j in range(n_strains):
                    u += feedback.gain[k, i, 2 * n + j] * (march.strain[0, j] - feedback.state[k, 2 * n + j])
                for j in range(size, feedback.state.shape[1] if k > 0 else size):
                    u += feedback.gain[k, i, j] * (inputs[k - 1, j - size] - feedback.state[k, j])
                inputs[k, i] = min(max(u, feedback.bounds[0, i]), feedback.bounds[1, i])
            march.inputs[i, 0] = inputs[k, i]
        march.counts.fresh = 1
        if apply_input_jump(model, march, ws) != DONE:
            return mr.NOT_FINITE
        # where accelerations move coordinates little, Newton's method begins nearer to the solution by them
        square, most = march.number.step * march.number.step, 0.0
        for i in range(n):
            most = max(most, abs(state.qdd[i]))
        if square * most < NEAR:
            march.counts.jumped = 0
        code = mr.march(model, march, ws, rows, substeps)
        if code != mr.FINISHED and code != mr.CONTINUES:
            return code
    return mr.FINISHED


@kernel_lazy()
def linearize_restarted(model, march, ws, rows, inputs, ends, dt, directions, varied, A, B) -> bool:
    """Derivatives of the end [q; qd; z] of each interval by its begin, A (N, n, n), and by its inputs, B.

    ends, dt: as in `motion_vjp`; directions: workspace of n + n_actuators, over one interval; varied: without rows.
    """
    dot, z_dot, u_dot = directions.memory, directions.strain, directions.inputs[0]
    n, n_strains, looped = dot.shape[1], z_dot.shape[0], march.G.shape[0] > 0
    size = 2 * n + n_strains
    for k in range(inputs.shape[0]):
        clear_matrix(dot[Q])
        clear_matrix(dot[QD])
        clear_matrix(dot[SOLUTION])
        clear_matrix(z_dot)
        clear_matrix(u_dot)
        for i in range(n):
            if not model.known[i]:
                dot[Q, i, i] = dot[QD, i, n + i] = 1.0
        for i in range(n_strains):
            z_dot[i, 2 * n + i] = 1.0
        for i in range(u_dot.shape[0]):
            u_dot[i, size + i] = 1.0
        set_step_size(ends, k, dt, march)
        load_row(rows, ends[k], inputs[k], march)
        if derive_accelerations(model, march, ws, False, False, True) != DONE:
            return False
        accelerations_jvp(march, 1.0, dot, u_dot)
        begin_forces_jvp(model, march, 1.0, directions, varied, 0)
        end_jump_jvp(model, march, looped, True, directions)
        for row in range(ends[k] + 1, ends[k + 1] + 1):
            load_step(model, march, rows, row, inputs[k])
            if not factor_at_end(model, march, ws, False):
                return False
            step_jvp(model, march, directions, u_dot, varied, row)
        for i in range(size):
            end = dot[Q, i] if i < n else dot[QD, i - n] if i < 2 * n else z_dot[i - 2 * n]
            copy(end[:size], A[k, i])
            copy(end[size:], B[k, i])
    return True
