"""Newmark's and the generalised-alpha method for constrained motion of index 3, step by step (docs/theory.md, 10).

At the end t' = t + h of a step the equations of motion and the closed loops hold, R(q', q'd, q'dd, l', t') = 0 and
e(q') = 0, with

    q' = q + h qd + h^2 [(1/2 - beta) a + beta a'],  q'd = qd + h [(1 - gamma) a + gamma a'],
    (1 - alpha_m) a' + alpha_m a = (1 - alpha_f) q'dd + alpha_f qdd.

All is scaled by q'dd per q' (the factor `ratio` ~ 1/h^2), so that small steps lose no digits: [S -A^T; E 0] [dq; dl /
ratio] = -[R / ratio; e] with S = M + (velocity ratio C + K) / ratio. The loop of steps is a state machine: where Python
has something to say (loads, inputs), it returns, and goes on where it was.
"""

from __future__ import annotations

from math import ceil, sqrt
from typing import NamedTuple

import numpy as np

from sorosim.compiled import kernel_in_place
from sorosim.kernels.dense_lu import lu_factor, lu_solve, lu_solve_vector, rank_factor, rank_solve
from sorosim.kernels.evaluate import RESIDUAL, RESIDUAL_DERIVATIVES, evaluate
from sorosim.kernels.kinematics import POSES, forward_sweep
from sorosim.kernels.load_laws import add_load_laws
from sorosim.kernels.loops import CONSTRAINT, ERROR, ERROR_BY_Q
from sorosim.kernels.signals import evaluate_signals
from sorosim.kernels.small import clear_matrix, copy

# March.number
TIME, STEP, LAST_STEP, ALPHA_M, ALPHA_F, BETA, GAMMA, RTOL, ATOL, MAX_STEP, MIN_STEP = range(11)
FACTORED_RATIO, CONTRACTION, SIZE, LEAST_PIVOT, LEAST_PIVOT_TIME, PREVIOUS, WANTED = range(11, 18)
N_NUMBERS = 18
# March.count
PHASE, FIXED, EXTERNAL, ITERATION, FRESH, FACTORED, ROW, RANK, TO_GO, N_STEPS, N_REJECTED, N_RESIDUAL, N_JACOBIAN = (
    range(13)
)
N_COUNTS = 13
# March.state: coordinates, rates, accelerations and the method's own accelerations, at both ends of the step; those of
# the step before; residual, correction, scale of errors
Q, QD, QDD, A, Q_NEW, QD_NEW, QDD_NEW, A_NEW, A_OLD, RESIDUE, CORRECTION, SCALE, WORK = range(13)
N_STATES = 13
# March.multiplier
L, L_NEW, L_STEP, L_RIGHT, L_SCALE = range(5)
# phases
BEGIN, EVALUATE, JUDGE = range(3)
# what `march` returns
GOES_ON, ARRIVED, ASKS, NO_CONVERGENCE, TOO_SMALL, NOT_FINITE, SINGULAR = range(7)

MAX_ITERATIONS = 8
# Newton's method ends where the error left is this part of the tolerance
NEWTON = 1e-3
# loops may be open by no more than this before the last correction of Newton's method [m; rad]
CLOSED = 1e-9
# the factors are made anew where a correction left more than this part of the error, or the step changed by more
SLOW = 0.2
CHANGED = 0.25
SAFETY, SMALLEST_FACTOR, LARGEST_FACTOR, KEPT_FACTOR = 0.9, 0.2, 2.0, 1.2


class March(NamedTuple):
    """State and room of an integration; m multipliers."""

    number: np.ndarray  # (18,) named above
    count: np.ndarray  # (13,) int, named above
    state: np.ndarray  # (13, ndof) named above
    multiplier: np.ndarray  # (5, m) named above
    inputs: np.ndarray  # (n_actuators, 3) signals of the inputs at the end of the step
    prescribed: np.ndarray  # (n_driven, 3) of the driven coordinates
    varying: np.ndarray  # (n_load_signals, 3) of the loads
    u: np.ndarray  # (n_actuators,)
    S: np.ndarray  # (ndof, ndof) factors
    pivot: np.ndarray  # (ndof,) int
    columns: np.ndarray  # (ndof, m) S^-1 A^T
    G: np.ndarray  # (m, m) factors of E S^-1 A^T
    order: np.ndarray  # (2, m) int
    tau: np.ndarray  # (ndof,)
    mass: np.ndarray  # (ndof, ndof)
    dq: np.ndarray  # (ndof, ndof)
    dqd: np.ndarray  # (ndof, ndof)
    B: np.ndarray  # (ndof, n_actuators)
    wrench: np.ndarray  # (n_nodes, 6) of loads; of length 0 where there are none, and so are the next two
    K_w: np.ndarray  # (n_nodes, 6, 6)
    D_w: np.ndarray  # (n_nodes, 6, 6)
    stack: np.ndarray  # room for signals
    scratch: np.ndarray  # (4, 6, 6)


class Model(NamedTuple):
    """What is integrated."""

    tree: NamedTuple
    elastic: NamedTuple
    tendons: NamedTuple
    loops: NamedTuple
    loads: NamedTuple  # compiled laws
    inputs: NamedTuple  # signals of the inputs
    motions: NamedTuple  # signals of the driven coordinates
    driven: np.ndarray  # (n_driven,) int
    known: np.ndarray  # (ndof,) bool
    gravity: np.ndarray  # (3,)
    closing: np.ndarray  # (2,) zero: residuals know no drift


class Rows(NamedTuple):
    """Rows of the result, filled while the integration passes their times."""

    t: np.ndarray  # (n,)
    q: np.ndarray  # (n, ndof)
    qd: np.ndarray  # (n, ndof)
    qdd: np.ndarray  # (n, ndof)
    multiplier: np.ndarray  # (n, m)


@kernel_in_place
def ratios(number):
    """Accelerations and rates per coordinate within a step: how q'dd and q'd change with q'."""
    h, beta = number[STEP], number[BETA]
    ratio = (1.0 - number[ALPHA_M]) / ((1.0 - number[ALPHA_F]) * beta * h * h)
    return ratio, number[GAMMA] / (beta * h)


@kernel_in_place
def begin_step(model, march):
    """Signals at the end of the step, and a first guess of the state there."""
    number, state, multiplier = march.number, march.state, march.multiplier
    h, last, t = number[STEP], number[LAST_STEP], number[TIME] + number[STEP]
    evaluate_signals(model.motions, t, march.prescribed, march.stack)
    if march.count[EXTERNAL] == 0:
        evaluate_signals(model.inputs, t, march.inputs, march.stack)
        evaluate_signals(model.loads.signals, t, march.varying, march.stack)
    for i in range(march.u.shape[0]):
        march.u[i] = march.inputs[i, 0]
    # the method's accelerations belong to times shifted by a part of the step: shift them with it
    if h != last:
        for i in range(state.shape[1]):
            state[A, i] = state[QDD, i] + (h / last) * (state[A, i] - state[QDD, i])
        number[LAST_STEP] = h
    alpha_m, alpha_f, beta, gamma = number[ALPHA_M], number[ALPHA_F], number[BETA], number[GAMMA]
    for i in range(state.shape[1]):
        a = state[A, i]
        guess = a + h / number[PREVIOUS] * (a - state[A_OLD, i])
        state[A_NEW, i] = guess
        state[QDD_NEW, i] = ((1.0 - alpha_m) * guess + alpha_m * a - alpha_f * state[QDD, i]) / (1.0 - alpha_f)
        state[QD_NEW, i] = state[QD, i] + h * ((1.0 - gamma) * a + gamma * guess)
        state[Q_NEW, i] = state[Q, i] + h * state[QD, i] + h * h * ((0.5 - beta) * a + beta * guess)
        state[SCALE, i] = number[ATOL] + number[RTOL] * abs(state[Q, i])
    for k in range(model.driven.shape[0]):
        i = model.driven[k]
        state[Q_NEW, i], state[QD_NEW, i], state[QDD_NEW, i] = (
            march.prescribed[k, 0], march.prescribed[k, 1], march.prescribed[k, 2],
        )  # fmt: skip
        state[A_NEW, i] = state[QDD_NEW, i]
    for i in range(multiplier.shape[1]):
        multiplier[L_NEW, i] = multiplier[L, i]


@kernel_in_place
def evaluate_at(model, march, ws, closure, saddle, what):
    """Residual, errors of loops and, by `what`, their derivatives, at the guess of the end of the step."""
    state = march.state
    if march.wrench.shape[0] > 0 and march.count[EXTERNAL] == 0:
        clear_matrix(march.wrench)
        for k in range(march.wrench.shape[0]):
            clear_matrix(march.K_w[k])
            clear_matrix(march.D_w[k])
        forward_sweep(model.tree, state[Q_NEW], state[QD_NEW], state[QDD_NEW], model.gravity, POSES, ws)
        add_load_laws(model.loads, march.varying, ws, march.scratch, march.wrench, march.K_w, march.D_w)
    copy(march.multiplier[L_NEW], closure.multiplier)
    evaluate(
        model.tree, model.elastic, model.tendons, model.loops, what, model.known, state[Q_NEW], state[QD_NEW],
        state[QDD_NEW], march.u, model.gravity, march.wrench, march.K_w, march.D_w, model.closing, ws, closure,
        saddle, march.tau, march.mass, march.dq, march.dqd, march.B,
    )  # fmt: skip
    copy(march.tau, state[RESIDUE])


@kernel_in_place
def factor(model, march, closure):
    """Factors of S and of E S^-1 A^T from the derivatives evaluated last. Returns whether S is regular."""
    number, S, n, m = march.number, march.S, march.S.shape[0], march.G.shape[0]
    ratio, rate_ratio = ratios(number)
    for i in range(n):
        for j in range(n):
            S[i, j] = march.mass[i, j] + (rate_ratio * march.dqd[i, j] + march.dq[i, j]) / ratio
    for i in range(n):
        if model.known[i]:
            for j in range(n):
                S[i, j] = 0.0
                S[j, i] = 0.0
            S[i, i] = 1.0
    if lu_factor(S, march.pivot) >= 0:
        return False
    A, E = closure.matrix[CONSTRAINT], closure.matrix[ERROR_BY_Q]
    for i in range(n):
        for j in range(m):
            march.columns[i, j] = 0.0 if model.known[i] else A[j, i]
            if model.known[i]:
                E[j, i] = 0.0
    if m > 0:
        lu_solve(S, march.pivot, march.columns)
        for i in range(m):
            for j in range(m):
                total = 0.0
                for k in range(n):
                    total += E[i, k] * march.columns[k, j]
                march.G[i, j] = total
        rank, least = rank_factor(march.G, march.order, march.multiplier[L_SCALE])
        march.count[RANK] = rank
        if least < number[LEAST_PIVOT]:
            number[LEAST_PIVOT], number[LEAST_PIVOT_TIME] = least, number[TIME]
    number[FACTORED_RATIO] = ratio
    march.count[FACTORED] = 1
    return True


@kernel_in_place
def solve(march, closure, x, with_errors):
    """Overwrite x (ndof,) with dq for S dq - A^T dl = x, E dq = -e (or 0, not `with_errors`); fills dl."""
    n, m = x.shape[0], march.G.shape[0]
    right, step = march.multiplier[L_RIGHT], march.multiplier[L_STEP]
    lu_solve_vector(march.S, march.pivot, x)
    if m == 0:
        return
    E = closure.matrix[ERROR_BY_Q]
    for i in range(m):
        total = -closure.value[ERROR, i] if with_errors else 0.0
        for k in range(n):
            total -= E[i, k] * x[k]
        right[i] = total
    rank_solve(march.G, march.order, march.multiplier[L_SCALE], march.count[RANK], right, step)
    for k in range(n):
        for i in range(m):
            x[k] += march.columns[k, i] * step[i]


@kernel_in_place
def correct(model, march, closure):
    """One correction of Newton's method. Returns its size, relative to the tolerance (root mean square)."""
    state, number, n = march.state, march.number, march.state.shape[1]
    ratio, rate_ratio = ratios(number)
    x = state[CORRECTION]
    for i in range(n):
        x[i] = 0.0 if model.known[i] else -state[RESIDUE, i] / ratio
    solve(march, closure, x, True)
    a_ratio, total = 1.0 / (number[BETA] * number[STEP] * number[STEP]), 0.0
    for i in range(n):
        if model.known[i]:
            continue
        state[Q_NEW, i] += x[i]
        state[QD_NEW, i] += rate_ratio * x[i]
        state[QDD_NEW, i] += ratio * x[i]
        state[A_NEW, i] += a_ratio * x[i]
        total += (x[i] / state[SCALE, i]) ** 2
    for i in range(march.G.shape[0]):
        march.multiplier[L_NEW, i] += ratio * march.multiplier[L_STEP, i]
    return sqrt(total / max(n - model.driven.shape[0], 1))


@kernel_in_place
def error_of(model, march, closure):
    """Estimate of the error of this step in q, relative to the tolerance (root mean square).

    The first term left out, (beta + delta / 2 - 1/6) h^3 dddq/dt, from the change of a over the step, delta = alpha_m -
    alpha_f; filtered by S^-1 M, which takes out of it what is so stiff that the method damps it.
    """
    state, number, n = march.state, march.number, march.state.shape[1]
    h = number[STEP]
    c = (number[BETA] + 0.5 * (number[ALPHA_M] - number[ALPHA_F]) - 1.0 / 6.0) * h * h
    x = state[WORK]
    for i in range(n):
        total = 0.0
        for j in range(n):
            if not model.known[j]:
                total += march.mass[i, j] * (state[A_NEW, j] - state[A, j])
        x[i] = 0.0 if model.known[i] else c * total
    solve(march, closure, x, False)
    total = 0.0
    for i in range(n):
        if not model.known[i]:
            size = number[ATOL] + number[RTOL] * max(abs(state[Q, i]), abs(state[Q_NEW, i]))
            total += (x[i] / size) ** 2
    return sqrt(total / max(n - model.driven.shape[0], 1))


@kernel_in_place
def accept(march, rows):
    """The end of the step becomes the begin of the next, and a row of the result if it is time for one."""
    state, number, count = march.state, march.number, march.count
    copy(state[A], state[A_OLD])
    for row in range(4):
        copy(state[Q_NEW + row], state[Q + row])
    copy(march.multiplier[L_NEW], march.multiplier[L])
    count[N_STEPS] += 1
    count[TO_GO] -= 1
    number[PREVIOUS] = number[STEP]
    number[TIME] += number[STEP]
    if count[TO_GO] == 0:
        k = count[ROW]
        number[TIME] = rows.t[k]
        copy(state[Q], rows.q[k])
        copy(state[QD], rows.qd[k])
        copy(march.multiplier[L], rows.multiplier[k])
        copy(state[QDD], rows.qdd[k])
        count[ROW] += 1


@kernel_in_place
def choose_step(march, rows):
    """The next step: equal ones to the next row, none larger than wanted."""
    number, count = march.number, march.count
    if count[ROW] >= rows.t.shape[0]:
        return
    left = rows.t[count[ROW]] - number[TIME]
    steps = ceil(left / min(number[WANTED], number[MAX_STEP]) * (1.0 - 1e-10))
    count[TO_GO] = max(steps, 1)
    number[STEP] = left / count[TO_GO]


@kernel_in_place
def march(model, march, ws, closure, saddle, rows, max_steps):
    """Go on by up to max_steps steps; returns what came of it, one of the codes above.

    On ASKS the inputs `u`, wrenches and tangents of loads have to be given, at the time TIME + STEP and the state
    Q_NEW, QD_NEW; then it is to be called again.
    """
    number, count, state = march.number, march.count, march.state
    done = 0
    while True:
        phase = count[PHASE]
        if phase == BEGIN:
            if count[ROW] >= rows.t.shape[0]:
                return ARRIVED
            if done >= max_steps:
                return GOES_ON
            begin_step(model, march)
            count[ITERATION] = 0
            ratio, _ = ratios(number)
            changed = abs(ratio / number[FACTORED_RATIO] - 1.0) > CHANGED
            count[FRESH] = 1 if count[FACTORED] == 0 or changed or number[CONTRACTION] > SLOW else 0
            count[PHASE] = EVALUATE
            if count[EXTERNAL] != 0:
                return ASKS
        elif phase == EVALUATE:
            derive = count[FRESH] == 1
            what = RESIDUAL_DERIVATIVES if derive else RESIDUAL
            evaluate_at(model, march, ws, closure, saddle, what)
            count[N_RESIDUAL] += 1
            finite, gap = True, 0.0
            for i in range(state.shape[1]):
                finite = finite and abs(state[RESIDUE, i]) < np.inf
            for i in range(closure.value.shape[1]):
                gap = max(gap, abs(closure.value[ERROR, i]))
            if derive:
                count[N_JACOBIAN] += 1
                count[FRESH] = 2
                if not finite or not factor(model, march, closure):
                    finite = False
            failed = not finite
            converged = False
            if finite:
                size = correct(model, march, closure)
                k = count[ITERATION]
                if k > 0:
                    number[CONTRACTION] = size / number[SIZE] if number[SIZE] > 0.0 else 0.0
                number[SIZE] = size
                theta = number[CONTRACTION]
                failed = not size < np.inf or (k > 0 and theta >= 1.0 and size > NEWTON)
                if not failed:
                    left = size if k == 0 else size * theta / (1.0 - min(theta, 0.9))
                    converged = left <= NEWTON and gap <= CLOSED
                    failed = not converged and k + 1 >= MAX_ITERATIONS
            count[ITERATION] += 1
            if converged:
                count[PHASE] = JUDGE
            elif not failed:
                if count[EXTERNAL] != 0:
                    return ASKS
            elif count[FRESH] == 0:
                # with old factors: once more with new ones
                begin_step(model, march)
                count[ITERATION], count[FRESH] = 0, 1
                number[CONTRACTION] = 0.0
                if count[EXTERNAL] != 0:
                    return ASKS
            else:
                count[PHASE] = BEGIN
                count[FACTORED] = 0
                number[CONTRACTION] = 0.0
                count[N_REJECTED] += 1
                if count[FIXED] != 0:
                    return NO_CONVERGENCE if finite else NOT_FINITE
                number[WANTED] = 0.25 * number[STEP]
                choose_step(march, rows)
                if not number[STEP] > number[MIN_STEP]:
                    return TOO_SMALL if finite else NOT_FINITE
        else:
            count[PHASE] = BEGIN
            changed = False
            if count[FIXED] == 0:
                error = error_of(model, march, closure)
                wanted = SAFETY / max(error, 1e-6) ** (1.0 / 3.0)
                if not error <= 1.0:
                    count[N_REJECTED] += 1
                    number[WANTED] = number[STEP] * max(min(wanted, SAFETY), SMALLEST_FACTOR)
                    choose_step(march, rows)
                    if not number[STEP] > number[MIN_STEP]:
                        return TOO_SMALL
                    continue
                if wanted > KEPT_FACTOR or wanted < 1.0:
                    number[WANTED] = number[STEP] * min(wanted, LARGEST_FACTOR)
                    changed = True
            accept(march, rows)
            if changed or count[TO_GO] == 0:
                choose_step(march, rows)
            done += 1
