"""Begins of intervals under held inputs, where accelerations jump, and their derivatives (docs/theory.md, 14).

At the begin of an interval the accelerations are those of forward dynamics, and the method's own ones jump by the same.
What is much stiffer than the steps resolve cannot follow: there they keep to what they were, to none where a motion
begins. Cotangents of the memory (q, qd, qdd, a) are rows of (4, ndof); tangents are columns, of (4, ndof, K).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, kernel_in_place, kernel_lazy
from sorosim.base.signals.evaluation import evaluate_signals
from sorosim.mechanics.kernels import newmark as nm
from sorosim.mechanics.kernels import relaxation as rl
from sorosim.mechanics.kernels.evaluate import DONE, forward
from sorosim.mechanics.kernels.external import change_inputs
from sorosim.mechanics.kernels.forces import multiply_blocks
from sorosim.mechanics.kernels.linalg import add_product, cholesky_solve, cholesky_solve_vector
from sorosim.mechanics.kernels.small import clear_matrix, copy

# rows of tangents and cotangents, and of their workspace
Q, QD, QDD, A, SOLUTION = range(5)
N_VECTORS = 5


@by_reference
class Directions(NamedTuple):
    """Tangents of a motion in K directions, a column each, so that a step is done for all of them at once."""

    memory: np.ndarray  # (N_VECTORS, ndof, K)
    strain: np.ndarray  # (n_strains, K) of strains of Maxwell elements
    inputs: np.ndarray  # (N, n_actuators, K) of inputs over N intervals
    multiplier: np.ndarray  # (m, K) of loops, over the factor of accelerations
    work: np.ndarray  # (ndof, K) scratch


@kernel_in_place
def clear_known(known, vectors):
    """Zero where motions are prescribed, of a vector (ndof,) or of columns (ndof, K)."""
    for i in range(known.shape[0]):
        if known[i]:
            vectors[i] = 0.0


@kernel_in_place
def multiply_transposed(matrix, x, factor, y):
    """Add factor matrix^T x to y."""
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            y[j] += factor * matrix[i, j] * x[i]


@kernel_in_place
def stiffening(number):
    """Factor [s^2] of the stiffness with which accelerations at the begin of an interval keep to those before."""
    return number.stiffening * number.step * number.step


@kernel_in_place
def accelerations(model, march, ws, derivatives, before, jump, anew):
    """Forward dynamics at the begin of the step: march.start. Returns DONE, or a coordinate that moves no mass.

    Stiff parts keep to the accelerations before, state.qdd; to none if `anew`, or where a difference is wanted.
    Driven coordinates have the accelerations with which they came, if `before`; else those with which they go on.
    `jump`: whether the difference of two of them is wanted. What loops ask of both cancels in it, so a row that is all
    but dependent divides nothing by its weakness, and counts as the state tells; else the rank of the start does.
    """
    state, path = march.state, march.path
    if march.strain.shape[1] > 0:
        rl.relax_blocks(model, march, 0.0)
    for i in range(state.q.shape[0]):
        state.qdd_begin[i] = state.qdd[i] if model.known[i] or not (anew or jump) else 0.0
    if not before:
        nm.follow_path(path, march.number.time, march.prescribed)
        for k in range(path.shape[0]):
            if path[k, 0] != 0.0:
                state.qdd_begin[model.driven[k]] = march.prescribed[k, 2]
    closing, rank = march.begin.closing, march.begin.closing[2]
    if jump:
        closing[2] = -1.0
    s = stiffening(march.number)
    code = forward(model.system, march.begin, False, derivatives, s, march.external, ws, march.start)
    closing[2] = rank
    return code


@kernel_in_place
def loads_at_begin(model, march, ws, tangents):
    """Loads at the begin of the step, if compiled code knows them."""
    if march.counts.external == 0:
        evaluate_signals(model.loads.signals, march.number.time, march.varying, march.stack)
        nm.add_forces(model, march, ws, True, tangents)


@kernel_lazy()
def apply_input_jump(model, march, ws) -> int:
    """Take over the inputs of march.inputs at the begin of an interval. Returns DONE or a coordinate without mass.

    Driven coordinates that go on by a new path may have other accelerations, which count as inputs do. Rates of loops
    are closed up to an error of the method: there its own accelerations stay, and only the jump of those of forward
    dynamics is added.
    """
    state, count, u = march.state, march.counts, march.begin.u
    fresh = count.fresh != 0
    changed = fresh
    for i in range(u.shape[0]):
        changed = changed or march.inputs[i, 0] != u[i]
    nm.follow_path(march.path, march.number.time, march.prescribed)
    for k in range(march.path.shape[0]):
        if march.path[k, 0] != 0.0:
            changed = changed or march.prescribed[k, 2] != state.qdd[model.driven[k]]
    if not changed:
        return DONE
    loads_at_begin(model, march, ws, False)
    before, looped = state.work, march.G.shape[0] > 0
    if looped and not fresh:
        failed = accelerations(model, march, ws, False, True, True, False)
        if failed != DONE:
            return failed
        copy(state.qdd_begin, before)
    else:
        copy(state.qdd, before)
    change_inputs(march.external, u, march.inputs)
    for i in range(u.shape[0]):
        u[i] = march.inputs[i, 0]
    failed = accelerations(model, march, ws, False, False, looped and not fresh, fresh)
    if failed != DONE:
        return failed
    for i in range(state.q.shape[0]):
        now = state.qdd_begin[i]
        jump = now - before[i]
        if fresh:
            state.qdd[i] = state.a[i] = state.a_old[i] = now
        else:
            state.qdd[i] = state.qdd[i] + jump if looped else now
            state.a[i] += jump
            state.a_old[i] += jump
    count.jumped = 1
    if fresh:
        copy(march.start.closure.multiplier, march.multiplier.now)
        count.fresh = 0
        march.number.speed = march.number.speed_rate = 0.0
    return DONE


@kernel_lazy()
def derive_accelerations(model, march, ws, before, jump, anew) -> int:
    """Forward dynamics in the loaded state and its derivatives, in march.start; the rest as in `accelerations`."""
    loads_at_begin(model, march, ws, True)
    return accelerations(model, march, ws, True, before, jump, anew)


@kernel_in_place
def accelerations_vjp(march, sign, bar, u_bar):
    """Add what cotangents bar[SOLUTION] of forward dynamics are of the state and the inputs."""
    out, f = march.start, bar[SOLUTION]
    multiply_transposed(out.by_q, f, sign, bar[Q])
    multiply_transposed(out.by_qd, f, sign, bar[QD])
    multiply_transposed(out.B, f, sign, u_bar)


@kernel_in_place
def accelerations_jvp(march, sign, dot, u_dot):
    """Add tangents of forward dynamics to dot[SOLUTION]; u_dot (n_actuators, K)."""
    out, f = march.start, dot[SOLUTION]
    add_product(out.by_q, dot[Q], sign, f)
    add_product(out.by_qd, dot[QD], sign, f)
    add_product(out.B, u_dot, sign, f)


@kernel_in_place
def begin_jump_vjp(model, bar):
    """bar[SOLUTION]: the cotangent of the accelerations of forward dynamics."""
    for i in range(bar.shape[1]):
        bar[SOLUTION, i] = 0.0 if model.known[i] else bar[QDD, i] + bar[A, i]


@kernel_in_place
def end_jump_vjp(model, march, looped, fresh, bar):
    """Cotangents of the memory before an interval."""
    for i in range(bar.shape[1]):
        if fresh:
            bar[QDD, i] = bar[A, i] = 0.0
        elif not looped:
            bar[QDD, i] = -bar[A, i]
    if not (fresh or looped):
        x, stiffness = march.state.work, model.system.internal.elastic.stiffness
        copy(bar[SOLUTION], x)
        cholesky_solve_vector(march.start.mass, x)
        multiply_blocks(model.system.tree, stiffness, stiffening(march.number), model.known, x, bar[QDD])
    for row in (Q, QD, QDD, A):
        clear_known(model.known, bar[row])


@kernel_in_place
def end_jump_jvp(model, march, looped, fresh, directions):
    """Tangents of the memory at the begin of an interval."""
    dot = directions.memory
    now, n_columns = dot[SOLUTION], dot.shape[2]
    if not (fresh or looped):
        X, stiffness = directions.work, model.system.internal.elastic.stiffness
        clear_matrix(X)
        s = stiffening(march.number)
        for c in range(n_columns):
            multiply_blocks(model.system.tree, stiffness, s, model.known, dot[QDD, :, c], X[:, c])
        clear_known(model.known, X)
        cholesky_solve(march.start.mass, X)
        for i in range(X.shape[0]):
            for c in range(n_columns):
                now[i, c] += X[i, c]
    for i in range(dot.shape[1]):
        for c in range(n_columns):
            if fresh:
                dot[QDD, i, c] = dot[A, i, c] = now[i, c]
            elif looped:
                dot[QDD, i, c] += now[i, c]
                dot[A, i, c] += now[i, c]
            else:
                dot[A, i, c] += now[i, c] - dot[QDD, i, c]
                dot[QDD, i, c] = now[i, c]
    for row in (Q, QD, QDD, A):
        clear_known(model.known, dot[row])
