"""Motion step by step by the method of kernels.newmark, with error control; no Python unless it has something to say.

The loop is a state machine: where Python gives loads or inputs it returns, and goes on where it was.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from sorosim.compiled import kernel_apart, kernel_in_place
from sorosim.kernels.evaluate import RESIDUAL, RESIDUAL_DERIVATIVES
from sorosim.kernels.loops import ERROR
from sorosim.kernels.newmark import (
    A_OLD,
    CONTRACTION,
    DISSIPATED,
    EXTERNAL,
    FACTORED,
    FACTORED_RATIO,
    FIXED,
    FRESH,
    GAP,
    ITERATION,
    L_NEW,
    MAX_STEP,
    MIN_STEP,
    N_JACOBIAN,
    N_REJECTED,
    N_RESIDUAL,
    N_STEPS,
    PHASE,
    PREVIOUS,
    PROJECT,
    Q_NEW,
    QD,
    QD_NEW,
    QDD,
    REPLAN,
    RESIDUE,
    ROW,
    SIZE,
    STEP,
    TIME,
    TO_GO,
    WANTED,
    WORK_DONE,
    A,
    L,
    Q,
    actuator_forces,
    add_work,
    begin_step,
    correct,
    error_of,
    evaluate_at,
    factor,
    ratios,
    scale_tear,
)
from sorosim.kernels.small import copy

# phases
BEGIN, EVALUATE, JUDGE = range(3)
# factors of Newton's method: those from before, made at the begin of the step or to be so, made at every correction
KEPT, NOW, DONE, ALWAYS = range(4)
# what `march` returns
GOES_ON, ARRIVED, ASKS, NO_CONVERGENCE, TOO_SMALL, NOT_FINITE, CONVERGED = range(7)

MAX_ITERATIONS = 8
# Newton's method ends where the error left is this part of the tolerance
NEWTON = 1e-3
# loops may be open by no more than this before the last correction of Newton's method, in radians or of their extent;
# divided by h^2 it is an error of accelerations, so it shrinks with h^2, as long as corrections better it
CLOSED, CLOSED_RATE, CLOSED_BEST = 1e-9, 1e-6, 1e-14
# the factors are made anew where a correction left more than this part of the error, or the step changed by more
SLOW = 0.2
CHANGED = 0.25
SAFETY, SMALLEST_FACTOR, LARGEST_FACTOR, KEPT_FACTOR = 0.9, 0.2, 2.0, 1.2


@kernel_in_place
def accept(march, rows):
    """The end of the step becomes the begin of the next, and a row of the result if it is time for one."""
    state, number, count = march.state, march.number, march.counts
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
        rows.work[k, 0], rows.work[k, 1] = number[WORK_DONE], number[DISSIPATED]
        count[ROW] += 1


@kernel_in_place
def choose_step(march, rows):
    """The next step: equal ones to the next row, none larger than wanted."""
    number, count = march.number, march.counts
    if count[ROW] >= rows.t.shape[0]:
        return
    left = rows.t[count[ROW]] - number[TIME]
    steps = ceil(left / min(number[WANTED], number[MAX_STEP]) * (1.0 - 1e-10))
    count[TO_GO] = max(steps, 1)
    number[STEP] = left / count[TO_GO]


@kernel_in_place
def iterate(model, march, ws, closure, saddle):
    """Evaluate at the guess and correct it. Returns one of CONVERGED, GOES_ON, NO_CONVERGENCE, NOT_FINITE."""
    number, count, state = march.number, march.counts, march.state
    derive = count[FRESH] == NOW or count[FRESH] == ALWAYS
    evaluate_at(model, march, ws, closure, saddle, RESIDUAL_DERIVATIVES if derive else RESIDUAL)
    count[N_RESIDUAL] += 1
    gap, k = 0.0, count[ITERATION]
    count[ITERATION] += 1
    for i in range(state.shape[1]):
        if not abs(state[RESIDUE, i]) < np.inf:
            return NOT_FINITE
    for i in range(closure.value.shape[1]):
        gap = max(gap, abs(closure.value[ERROR, i]) * model.loops.size[i])
    if derive:
        count[N_JACOBIAN] += 1
        if count[FRESH] == NOW:
            count[FRESH] = DONE
        if not factor(model, march, closure):
            return NOT_FINITE
    size = correct(model, march, closure)
    if k > 0:
        number[CONTRACTION] = size / number[SIZE] if number[SIZE] > 0.0 else 0.0
    number[SIZE] = size
    theta = number[CONTRACTION]
    if not size < np.inf or (k > 0 and theta >= 1.0 and size > NEWTON):
        return NO_CONVERGENCE
    left = size if k == 0 else size * theta / (1.0 - min(theta, 0.9))
    tight = max(CLOSED_RATE * number[STEP] * number[STEP], CLOSED_BEST)
    closed = gap <= CLOSED and (gap <= tight or (k > 0 and gap > 0.5 * number[GAP]))
    number[GAP] = gap
    if left <= NEWTON and closed:
        if k == 0:
            number[CONTRACTION] = 0.0  # nothing was slow
        return CONVERGED
    return GOES_ON if k + 1 < MAX_ITERATIONS else NO_CONVERGENCE


@kernel_in_place
def accurate(model, march, closure, rows):
    """Whether the step is accurate enough; chooses the size of the next one, or of this one anew."""
    number, count = march.number, march.counts
    error = error_of(model, march, closure)
    wanted = SAFETY / max(error, 1e-6) ** (1.0 / 3.0)
    if not error <= 1.0:
        count[N_REJECTED] += 1
        number[WANTED] = number[STEP] * max(min(wanted, SAFETY), SMALLEST_FACTOR)
        choose_step(march, rows)
        return False
    if wanted > KEPT_FACTOR or wanted < 1.0:
        number[WANTED] = number[STEP] * min(wanted, LARGEST_FACTOR)
        count[REPLAN] = 1
    return True


@kernel_apart()
def march(model, march, ws, closure, saddle, rows, max_steps) -> int:
    """Go on by up to max_steps steps; returns what came of it, one of the codes above.

    On ASKS the inputs `u`, wrenches and tangents of loads have to be given, at the time TIME + STEP and the state
    Q_NEW, QD_NEW; then it is to be called again.
    """
    number, count = march.number, march.counts
    done = 0
    while True:
        phase = count[PHASE]
        if phase == BEGIN:
            if count[ROW] >= rows.t.shape[0]:
                return ARRIVED
            if done >= max_steps:
                return GOES_ON
            begin_step(model, march, ws, closure, saddle)
            count[ITERATION] = 0
            ratio, _ = ratios(number)
            changed = abs(ratio / number[FACTORED_RATIO] - 1.0) > CHANGED
            count[FRESH] = NOW if count[FACTORED] == 0 or changed or number[CONTRACTION] > SLOW else KEPT
            count[PHASE] = EVALUATE
            if count[EXTERNAL] != 0:
                return ASKS
        elif phase == EVALUATE:
            code = iterate(model, march, ws, closure, saddle)
            if code == CONVERGED:
                count[PHASE] = JUDGE
            elif code == GOES_ON:
                if count[EXTERNAL] != 0:
                    return ASKS
            elif count[FRESH] == KEPT or (count[FRESH] == DONE and count[FIXED] != 0 and code != NOT_FINITE):
                # once more with new factors, or where no smaller step is left, with new ones at every correction
                begin_step(model, march, ws, closure, saddle)
                count[ITERATION], count[FRESH] = 0, NOW if count[FRESH] == KEPT else ALWAYS
                number[CONTRACTION] = 0.0
                if count[EXTERNAL] != 0:
                    return ASKS
            else:
                count[PHASE] = BEGIN
                count[FACTORED] = 0
                number[CONTRACTION] = 0.0
                count[N_REJECTED] += 1
                if count[FIXED] != 0:
                    return code
                number[WANTED] = 0.25 * number[STEP]
                choose_step(march, rows)
                if not number[STEP] > number[MIN_STEP]:
                    return TOO_SMALL if code == NO_CONVERGENCE else NOT_FINITE
        else:
            count[PHASE] = BEGIN
            count[REPLAN] = 0
            if count[FIXED] == 0 and not accurate(model, march, closure, rows):
                if not number[STEP] > number[MIN_STEP]:
                    return TOO_SMALL
                continue
            actuator_forces(model, march, ws)
            if count[PROJECT] != 0:
                scale_tear(0.0, Q_NEW, QD_NEW, model, march, ws, closure, saddle)
            add_work(model, march, ws)
            accept(march, rows)
            if count[REPLAN] != 0 or count[TO_GO] == 0:
                choose_step(march, rows)
            done += 1
