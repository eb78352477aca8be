"""Motion over intervals in which inputs are held, each of which begins anew, and the derivatives of each.

The state is (q, qd) alone: at the begin of an interval the method's accelerations are those of forward dynamics
(docs/theory.md, 14). So optimal control and Riccati equations have matrices A_k and B_k of 2 ndof rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.compiled import by_reference, kernel_lazy
from sorosim.kernels import march as mr
from sorosim.kernels.evaluate import DONE
from sorosim.kernels.held_inputs import (
    QD,
    SOLUTION,
    Q,
    accelerations_jvp,
    apply_input_jump,
    derive_accelerations,
    end_jump_jvp,
    factor_at_end,
    first_row,
    load_row,
    set_step_size,
    step_jvp,
)
from sorosim.kernels.small import clear

NEAR = 0.1  # of a coordinate: a rotation, a length, or a strain times a length


@by_reference
class Feedback(NamedTuple):
    """Inputs that answer the state: u_k + gain_k (x - x_k), within bounds; none where there are no gains.

    The state is [q; qd], or [q; qd; inputs of the interval before].
    """

    gain: np.ndarray  # (N, n_actuators, n), or (0, ...)
    state: np.ndarray  # (N, n)
    bounds: np.ndarray  # (2, n_actuators)


@kernel_lazy()
def integrate_restarted(model, march, ws, rows, inputs, substeps, feedback) -> int:
    """Intervals under inputs (N, n_actuators), which become those with feedback; a code of kernels.march."""
    n, state = march.state.q.shape[0], march.state
    first_row(march, rows)
    for k in range(inputs.shape[0]):
        for i in range(inputs.shape[1]):
            if feedback.gain.shape[0] > 0:
                u = inputs[k, i]
                for j in range(n):
                    u += feedback.gain[k, i, j] * (state.q[j] - feedback.state[k, j])
                    u += feedback.gain[k, i, n + j] * (state.qd[j] - feedback.state[k, n + j])
                for j in range(2 * n, feedback.state.shape[1] if k > 0 else 2 * n):
                    u += feedback.gain[k, i, j] * (inputs[k - 1, j - 2 * n] - feedback.state[k, j])
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
def linearize_restarted(model, march, ws, rows, inputs, ends, dt, dot, u_dot, varied, A, B) -> bool:
    """Derivatives of the end [q; qd] of each interval by its begin, A (N, 2 ndof, 2 ndof), and by its inputs, B.

    ends, dt: as in `motion_vjp`; dot (2 ndof + n_actuators, 5, ndof), u_dot (2 ndof + n_actuators, n_actuators):
    workspace; varied: without rows. Nothing relaxes here, `march.strain` is empty.
    """
    n, n_inputs = dot.shape[2], u_dot.shape[1]
    looped = march.G.shape[0] > 0
    for k in range(inputs.shape[0]):
        for d in range(dot.shape[0]):
            clear(dot[d, Q])
            clear(dot[d, QD])
            clear(u_dot[d])
            if d < n:
                dot[d, Q, d] = 0.0 if model.known[d] else 1.0
            elif d < 2 * n:
                dot[d, QD, d - n] = 0.0 if model.known[d - n] else 1.0
            else:
                u_dot[d, d - 2 * n] = 1.0
        set_step_size(ends, k, dt, march)
        load_row(rows, ends[k], inputs[k], march)
        if derive_accelerations(model, march, ws, False, False) != DONE:
            return False
        for d in range(dot.shape[0]):
            clear(dot[d, SOLUTION])
            accelerations_jvp(march, 1.0, dot[d], u_dot[d])
            end_jump_jvp(model, looped, True, dot[d])
        for row in range(ends[k] + 1, ends[k + 1] + 1):
            load_row(rows, row, inputs[k], march)
            if not factor_at_end(model, march, ws, False):
                return False
            for d in range(dot.shape[0]):
                step_jvp(model, march, dot[d], march.strain[0], u_dot[d], varied, d, row)
        for i in range(n):
            for d in range(2 * n):
                A[k, i, d], A[k, n + i, d] = dot[d, Q, i], dot[d, QD, i]
            for d in range(n_inputs):
                B[k, i, d], B[k, n + i, d] = dot[2 * n + d, Q, i], dot[2 * n + d, QD, i]
    return True
