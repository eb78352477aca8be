"""Motion in equal steps over intervals in which inputs are held, and its derivatives (docs/theory.md, 14).

The steps are those of kernels.newmark, begins of intervals, where accelerations jump, those of kernels.begins. What a
step is told of the past is the memory (q, qd, qdd, a). Cotangents of it are rows of (4, ndof), tangents columns of
(4, ndof, K); derivatives of a step are those of its converged end, so they depend on the states at the ends of steps
only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, kernel_in_place, kernel_lazy
from sorosim.base.signals.evaluation import evaluate_signals
from sorosim.mechanics.kernels import march as mr
from sorosim.mechanics.kernels import newmark as nm
from sorosim.mechanics.kernels import relaxation as rl
from sorosim.mechanics.kernels.begins import (
    QD,
    QDD,
    SOLUTION,
    A,
    Q,
    accelerations_jvp,
    accelerations_vjp,
    apply_input_jump,
    begin_jump_vjp,
    clear_known,
    derive_accelerations,
    end_jump_jvp,
    end_jump_vjp,
    multiply_transposed,
    stiffening,
)
from sorosim.mechanics.kernels.evaluate import DONE
from sorosim.mechanics.kernels.kinematics import POSES, forward_sweep, to_body
from sorosim.mechanics.kernels.linalg import add_product, cholesky_solve, cholesky_solve_vector
from sorosim.mechanics.kernels.saddle import solve_constrained
from sorosim.mechanics.kernels.small import add_ad, clear, clear_matrix, copy


@by_reference
class Equations(NamedTuple):
    """Tangents or cotangents of the equations of motion and of loops: how numbers take part in a motion.

    There is a row for each end of a step and each begin of an interval; without rows no numbers take part. Of the begin
    of an interval there are two: forward dynamics under its inputs, and under those before. Tangents have a last axis
    more, of directions.
    """

    residual: np.ndarray  # (n_rows, ndof) of the equations of motion at ends of steps
    error: np.ndarray  # (n_rows, m) of the errors of loops there
    strain: np.ndarray  # (n_rows, n_strains) of the strains of Maxwell elements there
    force: np.ndarray  # (2 N, ndof) of the equations of motion at begins of intervals
    constraint: np.ndarray  # (2 N, m) of the accelerations of loops' errors there
    acceleration: np.ndarray  # (2 N, ndof) those there, and multipliers (2 N, m)
    multiplier: np.ndarray
    moved: np.ndarray  # (2 N, ndof) by which elastic forces are those of other coordinates there


@by_reference
class Adjoint(NamedTuple):
    """Cotangents for derivatives by numbers: of the equations, and of arrays of the robot, summed over a motion."""

    inertia: np.ndarray  # (n_nodes, 6, 6)
    stiffness: np.ndarray  # as Elastic.stiffness
    damping: np.ndarray  # as Elastic.damping
    rest: np.ndarray  # (ndof,)
    gravity: np.ndarray  # (3,)
    equations: Equations
    motion: np.ndarray  # (n_nodes, 2, 6) workspace
    zero: np.ndarray  # (ndof,)


@kernel_in_place
def first_row(march, rows):
    """The state is that of the first of the rows."""
    copy(march.state.q, rows.q[0])
    copy(march.state.qd, rows.qd[0])
    copy(march.state.qdd, rows.qdd[0])
    copy(march.strain[0], rows.strain[0])


@kernel_in_place
def integrate_to(model, march, ws, rows, held, last, substeps):
    """Intervals of some steps under the inputs held (N, n_actuators), from the next row up to the end of interval last.

    Returns a code of kernels.march.
    """
    if march.counts.row == 1:
        first_row(march, rows)
    for k in range((march.counts.row - 1) // substeps, last):
        for i in range(held.shape[1]):
            march.inputs[i, 0] = held[k, i]
        if apply_input_jump(model, march, ws) != DONE:
            return mr.NOT_FINITE
        code = mr.march(model, march, ws, rows, substeps)
        if code != mr.FINISHED and code != mr.CONTINUES:
            return code
    return mr.FINISHED


@kernel_lazy()
def integrate(model, march, ws, rows, held, substeps) -> int:
    """All intervals, see `integrate_to`."""
    return integrate_to(model, march, ws, rows, held, held.shape[0], substeps)


# -- derivatives -------------------------------------------------------------------------------------------------------


@kernel_in_place
def set_step_size(ends, k, dt, march):
    """Step size and tableau of interval k: rows ends[k] to ends[k + 1] are its steps, of equal size."""
    march.number.step = dt / (ends[k + 1] - ends[k])
    nm.set_tableau(march)


@kernel_in_place
def load_row(rows, row, u, march):
    """State at a row, as the begin and as the end of a step."""
    state, number = march.state, march.number
    for q, qd, qdd in ((state.q, state.qd, state.qdd), (state.q_new, state.qd_new, state.qdd_new)):
        copy(rows.q[row], q)
        copy(rows.qd[row], qd)
        copy(rows.qdd[row], qdd)
    copy(rows.multiplier[row], march.multiplier.new)
    copy(rows.strain[row], march.strain[0])
    march.counts.most_rank = rows.rank[row]
    copy(u, march.end.u)
    number.time = rows.t[row]


@kernel_in_place
def load_step(model, march, rows, row, u):
    """The step that ends at a row: the state there, and how blocks that relax answer."""
    load_row(rows, row, u, march)
    if march.strain.shape[1] > 0:
        copy(rows.q[row - 1], march.state.q)
        copy(rows.strain[row - 1], march.strain[0])
        rl.relax_blocks(model, march, march.number.step)
        copy(rows.q[row], march.state.q)


@kernel_lazy()
def factor_at_end(model, march, ws, adjoint) -> bool:
    """Derivatives and factors of a step that ends in the loaded state; of its adjoint: both transposed.

    [S -A^T; E 0] transposed is [S^T E^T; -A 0], of the same form with -E for A and -A for E.
    """
    number, S, n = march.number, march.S, march.S.shape[0]
    if march.counts.external == 0:
        evaluate_signals(model.loads.signals, number.time, march.varying, march.stack)
    number.time -= number.step
    nm.evaluate_at(model, march, ws, True)
    nm.step_matrix(model, march)
    if adjoint:
        for i in range(n):
            for j in range(i):
                S[i, j], S[j, i] = S[j, i], S[i, j]
        left, right = march.out.closure.constraint, march.out.closure.error_by_q
        for i in range(left.shape[0]):
            for j in range(n):
                left[i, j], right[i, j] = -right[i, j], -left[i, j]
    march.counts.factored = 0
    return nm.factor(model, march)


@kernel_in_place
def step_vjp(model, march, bar, z_bar, u_bar):
    """Cotangents of the end of a step become those of its begin, after `factor_at_end`; adds to those of inputs.

    bar[SOLUTION] is then the cotangent of the residual at the end, march.multiplier.step that of the loops' errors.
    z_bar (n_strains,): of strains of Maxwell elements.
    """
    number, out, n = march.number, march.out, bar.shape[1]
    P, b, x, relaxes = number.P, number.b, bar[SOLUTION], z_bar.shape[0] > 0
    ratio, _ = nm.ratios(number)
    if relaxes:
        rl.strains_vjp(model, number.step, False, 1.0, bar[Q], z_bar)
    for i in range(n):
        x[i] = (b[0] * bar[0, i] + b[1] * bar[1, i] + b[2] * bar[2, i] + b[3] * bar[3, i]) / b[0]
    clear_known(model.known, x)
    for i in range(march.G.shape[0]):
        march.multiplier.right[i] = 0.0
    nm.solve(march, x)
    for i in range(n):
        x[i] *= -1.0 / ratio
    multiply_transposed(out.by_qd, x, 1.0, bar[QD])
    multiply_transposed(out.mass, x, 1.0, bar[QDD])
    multiply_transposed(out.B, x, -1.0, u_bar)
    for i in range(n):
        s1, s2, s3 = bar[1, i], bar[2, i], bar[3, i]
        own = (b[1] * s1 + b[2] * s2 + b[3] * s3) / b[0]  # of q', which is the unknown
        for c in range(4):
            bar[c, i] = P[1, c] * s1 + P[2, c] * s2 + P[3, c] * s3 - P[0, c] * own
    if relaxes:
        rl.strains_vjp(model, number.step, True, -1.0, bar[Q], z_bar)
        rl.strain_forces_vjp(model, number.step, x, bar[Q], z_bar)
    for row in (Q, QD, QDD, A):
        clear_known(model.known, bar[row])


@kernel_in_place
def step_jvp(model, march, directions, u_dot, varied, row):
    """Tangents of the begin of a step become those of its end, after `factor_at_end`; u_dot (n_actuators, K)."""
    number, out, dot, z_dot = march.number, march.out, directions.memory, directions.strain
    P, b, x, right, relaxes = number.P, number.b, dot[SOLUTION], directions.multiplier, z_dot.shape[0] > 0
    ratio, _ = nm.ratios(number)
    n, n_columns, wanted = x.shape[0], x.shape[1], varied.residual.shape[0] > 0
    clear_matrix(x)
    if relaxes:
        rl.strain_forces_jvp(model, number.step, dot[Q], z_dot, -1.0, x)
        rl.strains_jvp(model, number.step, True, -1.0, dot[Q], z_dot)
    p0, p1, p2, p3 = P[0, 0] / b[0], P[0, 1] / b[0], P[0, 2] / b[0], P[0, 3] / b[0]
    for i in range(n):  # what does not depend on q'
        q, qd, qdd, a = dot[Q, i], dot[QD, i], dot[QDD, i], dot[A, i]
        for c in range(n_columns):
            y0, y1, y2, y3 = q[c], qd[c], qdd[c], a[c]
            gain = p0 * y0 + p1 * y1 + p2 * y2 + p3 * y3
            qd[c] = P[1, 0] * y0 + P[1, 1] * y1 + P[1, 2] * y2 + P[1, 3] * y3 - b[1] * gain
            qdd[c] = P[2, 0] * y0 + P[2, 1] * y1 + P[2, 2] * y2 + P[2, 3] * y3 - b[2] * gain
            a[c] = P[3, 0] * y0 + P[3, 1] * y1 + P[3, 2] * y2 + P[3, 3] * y3 - b[3] * gain
    add_product(out.by_qd, dot[QD], -1.0, x)
    add_product(out.mass, dot[QDD], -1.0, x)
    add_product(out.B, u_dot, 1.0, x)
    for i in range(n if wanted else 0):
        for c in range(n_columns):
            x[i, c] -= varied.residual[row, i, c]
    for i in range(n):
        own = x[i]
        for c in range(n_columns):
            own[c] *= 1.0 / ratio
    clear_known(model.known, x)
    for i in range(right.shape[0]):
        for c in range(n_columns):
            right[i, c] = -varied.error[row, i, c] if wanted else 0.0
    nm.solve_columns(march, x, right)
    for i in range(n):
        copy(x[i], dot[Q, i])
        for r in range(1, 4):
            own, end, gain = x[i], dot[r, i], b[r] / b[0]
            for c in range(n_columns):
                end[c] += gain * own[c]
    for r in (Q, QD, QDD, A):
        clear_known(model.known, dot[r])
    if relaxes:
        rl.strains_jvp(model, number.step, False, 1.0, dot[Q], z_dot)
        for i in range(z_dot.shape[0] if wanted else 0):
            for c in range(n_columns):
                z_dot[i, c] += varied.strain[row, i, c]


@kernel_lazy()
def add_array_cotangents(model, ws, q, qd, moved, w, adjoint) -> None:
    """Add what w^T R, R = inverse dynamics + K (q + moved - rest) + D qd, is by arrays, after an evaluation here.

    With the twists y of the nodes by the rates w: y^T (I a + ad*_V I V) = y^T I a - (ad_V y)^T I V.
    """
    tree, elastic, motion = model.system.tree, model.system.internal.elastic, adjoint.motion
    for k in range(tree.segment.shape[0]):
        to_body(ws.pose[k], ws.twist[k, 0], motion[k, 0])
        to_body(ws.pose[k], ws.twist[k, 1], motion[k, 1])
    forward_sweep(tree, q, w, adjoint.zero, model.gravity, POSES, ws)
    y, z, f = ws.scratch[8, 0], ws.scratch[8, 1], ws.scratch[8, 2]
    for k in range(tree.segment.shape[0]):
        to_body(ws.pose[k], ws.twist[k, 0], y)
        V, a, R = motion[k, 0], motion[k, 1], ws.pose[k, :3]
        clear(z)
        add_ad(V, y, -1.0, z)
        for i in range(6):
            f[i] = 0.0
            for j in range(6):
                adjoint.inertia[k, i, j] += y[i] * a[j] + z[i] * V[j]
                f[i] += tree.inertia[k, i, j] * y[j]
        for i in range(3):
            adjoint.gravity[i] -= R[i, 0] * f[3] + R[i, 1] * f[4] + R[i, 2] * f[5]
    at = 0
    for b in range(tree.block.shape[0]):
        n, c0 = tree.block[b].n, tree.block[b].column
        for i in range(n):
            for j in range(n):
                adjoint.stiffness[at + j] += w[c0 + i] * (q[c0 + j] + moved[c0 + j] - elastic.rest[c0 + j])
                adjoint.damping[at + j] += w[c0 + i] * qd[c0 + j]
                adjoint.rest[c0 + j] -= w[c0 + i] * elastic.stiffness[at + j]
            at += n


@kernel_in_place
def begin_forces_vjp(model, march, ws, bar, z_bar, sign, wanted, row, keeps, adjoint):
    """Cotangents of the forces at the begin of an interval, by those of its accelerations, sign bar[SOLUTION].

    Adds what they are of strains of Maxwell elements; if `wanted` of numbers, in a row of `adjoint`. `keeps`: whether
    stiff parts keep to the accelerations before.
    """
    out, m, x = march.start, march.G.shape[0], march.state.work
    for i in range(x.shape[0]):
        x[i] = sign * bar[SOLUTION, i]
    if m > 0:
        for i in range(m):
            out.saddle.right[i, 0] = 0.0
        solve_constrained(model.system.loops, out.mass, out.saddle, x, march.multiplier.step)
    else:
        cholesky_solve_vector(out.mass, x)
    for i in range(x.shape[0]):
        x[i] *= -1.0
    clear_known(model.known, x)
    if z_bar.shape[0] > 0:
        rl.strain_forces_vjp(model, 0.0, x, bar[Q], z_bar)
    if wanted:
        equations = adjoint.equations
        copy(x, equations.force[row])
        copy(march.multiplier.step, equations.constraint[row])
        copy(out.qdd, equations.acceleration[row])
        copy(out.closure.multiplier, equations.multiplier[row])
        moved, s = equations.moved[row], stiffening(march.number)
        for i in range(x.shape[0]):
            moved[i] = 0.0 if model.known[i] else s * (out.qdd[i] - (march.state.qdd[i] if keeps else 0.0))
        add_array_cotangents(model, ws, march.state.q, march.state.qd, moved, equations.force[row], adjoint)


@kernel_in_place
def begin_forces_jvp(model, march, sign, directions, varied, row):
    """Change of accelerations by that of forces, of strains and of numbers, if there are any: as `begin_forces_vjp`."""
    out, dot, z_dot, X, x = march.start, directions.memory, directions.strain, directions.work, march.state.work
    n, n_columns, m, wanted = X.shape[0], X.shape[1], march.G.shape[0], varied.residual.shape[0] > 0
    if not wanted and z_dot.shape[0] == 0:
        return
    for i in range(n):
        for c in range(n_columns):
            X[i, c] = -sign * varied.force[row, i, c] if wanted else 0.0
    if z_dot.shape[0] > 0:
        rl.strain_forces_jvp(model, 0.0, dot[Q], z_dot, -sign, X)
    clear_known(model.known, X)
    if m == 0:
        cholesky_solve(out.mass, X)
    for c in range(n_columns if m > 0 else 0):
        for i in range(m):
            out.saddle.right[i, 0] = -sign * varied.constraint[row, i, c] if wanted else 0.0
        for i in range(n):
            x[i] = X[i, c]
        solve_constrained(model.system.loops, out.mass, out.saddle, x, march.multiplier.step)
        for i in range(n):
            X[i, c] = x[i]
    for i in range(n):
        for c in range(n_columns):
            dot[SOLUTION, i, c] += X[i, c]


@kernel_lazy()
def motion_vjp(model, march, ws, rows, held, ends, dt, fresh, bars, bar, z_bar, u_bar, adjoint) -> bool:
    """Cotangents of the memory at the last row become those at the first, and those of inputs (N, n_actuators) arise.

    ends (N + 1,) int: rows at which intervals dt begin and end, each in steps of its own; bars (2, N + 1, ndof):
    cotangents of coordinates and rates at the ends of intervals, which are added on the way. `fresh`: whether the
    memory before the first row is empty; else its inputs are march.inputs. z_bar (n_strains,): cotangents of strains of
    Maxwell elements.
    """
    equations = adjoint.equations
    looped, wanted, relaxes = march.G.shape[0] > 0, equations.residual.shape[0] > 0, z_bar.shape[0] > 0
    for k in range(held.shape[0] - 1, -1, -1):
        for i in range(bar.shape[1]):
            bar[Q, i] += bars[0, k + 1, i]
            bar[QD, i] += bars[1, k + 1, i]
        set_step_size(ends, k, dt, march)
        for row in range(ends[k + 1], ends[k], -1):
            load_step(model, march, rows, row, held[k])
            if not factor_at_end(model, march, ws, True):
                return False
            if wanted:
                copy(z_bar, equations.strain[row])
            step_vjp(model, march, bar, z_bar, u_bar[k])
            if wanted:
                copy(bar[SOLUTION], equations.residual[row])
                if looped:
                    copy(march.multiplier.step, equations.error[row])
                add_array_cotangents(model, ws, march.state.q, march.state.qd, adjoint.zero, bar[SOLUTION], adjoint)
        empty = fresh and k == 0
        begin_jump_vjp(model, bar)
        load_row(rows, ends[k], held[k], march)
        if derive_accelerations(model, march, ws, False, looped and not empty, empty) != DONE:
            return False
        accelerations_vjp(march, 1.0, bar, u_bar[k])
        if wanted or relaxes:
            begin_forces_vjp(model, march, ws, bar, z_bar, 1.0, wanted, 2 * k, not (looped or empty), adjoint)
        if looped and not empty and k > 0:
            load_row(rows, ends[k], held[k - 1], march)
            if derive_accelerations(model, march, ws, True, True, False) != DONE:
                return False
            accelerations_vjp(march, -1.0, bar, u_bar[k - 1])
            if wanted or relaxes:
                begin_forces_vjp(model, march, ws, bar, z_bar, -1.0, wanted, 2 * k + 1, False, adjoint)
        end_jump_vjp(model, march, looped, empty, bar)
    for i in range(bar.shape[1]):
        bar[Q, i] += bars[0, 0, i]
        bar[QD, i] += bars[1, 0, i]
    return True


@kernel_lazy()
def motion_jvp(model, march, ws, rows, held, ends, dt, fresh, before, directions, varied, dots) -> bool:
    """Tangents of the memory at the first row become those at the last, those of inputs being given.

    ends, dt: as in `motion_vjp`; varied: tangents of the equations, of K directions or of none; dots (2, N + 1, ndof,
    K): of coordinates and rates at the ends of intervals. `before` (n_actuators,): inputs before the first row.
    """
    looped, dot, u_dot = march.G.shape[0] > 0, directions.memory, directions.inputs
    for k in range(held.shape[0]):
        set_step_size(ends, k, dt, march)
        empty = fresh and k == 0
        load_row(rows, ends[k], held[k], march)
        if derive_accelerations(model, march, ws, False, looped and not empty, empty) != DONE:
            return False
        clear_matrix(dot[SOLUTION])
        accelerations_jvp(march, 1.0, dot, u_dot[k])
        begin_forces_jvp(model, march, 1.0, directions, varied, 2 * k)
        if looped and not empty:
            load_row(rows, ends[k], held[k - 1] if k > 0 else before, march)
            if derive_accelerations(model, march, ws, True, True, False) != DONE:
                return False
            begin_forces_jvp(model, march, -1.0, directions, varied, 2 * k + 1)
            add_product(march.start.by_q, dot[Q], -1.0, dot[SOLUTION])
            add_product(march.start.by_qd, dot[QD], -1.0, dot[SOLUTION])
            if k > 0:
                add_product(march.start.B, u_dot[k - 1], -1.0, dot[SOLUTION])
        end_jump_jvp(model, march, looped, empty, directions)
        for row in range(ends[k] + 1, ends[k + 1] + 1):
            load_step(model, march, rows, row, held[k])
            if not factor_at_end(model, march, ws, False):
                return False
            step_jvp(model, march, directions, u_dot[k], varied, row)
        for i in range(dot.shape[1]):
            copy(dot[Q, i], dots[0, k + 1, i])
            copy(dot[QD, i], dots[1, k + 1, i])
    return True
