"""Motion step by step by the method of kernels.newmark, with error control.

The loop is a state machine: where Python computes loads or inputs it returns to Python, and continues there.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from sorosim.compiled import kernel_in_place, kernel_lazy
from sorosim.kernels import newmark as nm
from sorosim.kernels.evaluate import LINEARISE_CLOSED, RESIDUAL, RESIDUAL_DERIVATIVES
from sorosim.kernels.loops import ERROR
from sorosim.kernels.newmark import ALWAYS, DONE, ONCE, REUSE
from sorosim.kernels.small import copy
from sorosim.kernels.step_speed import is_plausible

# phases
BEGIN, EVALUATE, TEST_ERROR = range(3)
# what `march` returns
CONTINUES, FINISHED, NEEDS_PYTHON, NO_CONVERGENCE, TOO_SMALL, NOT_FINITE, CONVERGED = range(7)
IMPLAUSIBLE = 8  # as NO_CONVERGENCE, at a root that forces do not lead to
AT_SAMPLE = 7  # what Python makes of FINISHED where rows end at a sample of the controller

MAX_ITERATIONS = 8
# where derivatives are new at every correction; the former where a smaller step is to be had, which costs less
MAX_NEWTON_ADAPTIVE, MAX_NEWTON = 16, 40
# steps after one at which Newton's method failed: the next, the largest, and by what this one grows with every step
FAILED_FACTOR, SOLVABLE_FACTOR, RECOVERY = 0.25, 0.5, 1.1
MOST_CUTS = 64  # steps of a given size that fail are halved, down to this part
# there, corrections that do not shrink by this are applied in half, down to a least part: contacts and friction have
# kinks between which Newton's method would jump
STUCK, LEAST_PART = 0.9, 1.0 / 16.0
# Newton's method ends where the error left is this part of the tolerance
NEWTON = 1e-3
# loops may be open by no more than this before the last correction of Newton's method, in radians or of their extent;
# divided by h^2 it is an error of accelerations, so it shrinks with h^2, as long as corrections better it
CLOSED, CLOSED_RATE, CLOSED_TIGHTEST = 1e-9, 1e-6, 1e-14
# the factors are made anew where a correction left more than this part of the error, or the step changed by more
SLOW_CONTRACTION, SLOW_CONTRACTION_HELD = 0.2, 0.05  # the latter under held inputs, where tolerances are finer
RATIO_CHANGE = 0.25
# under held inputs corrections that do not shrink any more are rounding below this, relative to 1 + |q|
ROUNDING = 1e-11
SAFETY, SMALLEST_FACTOR, LARGEST_FACTOR, DEADBAND_FACTOR = 0.9, 0.2, 2.0, 1.2


@kernel_in_place
def accept(march, rows):
    """The end of the step becomes the begin of the next, and a row of the result if it is time for one."""
    state, number, count = march.state, march.number, march.counts
    copy(state[nm.A], state[nm.A_OLD])
    for row in range(4):
        copy(state[nm.Q_NEW + row], state[nm.Q + row])
    copy(march.multiplier[nm.L_NEW], march.multiplier[nm.L])
    copy(march.strain[1], march.strain[0])
    count[nm.N_STEPS] += 1
    count[nm.JUMPED] = 0
    count[nm.STEPS_LEFT] -= 1
    number[nm.PREVIOUS] = number[nm.STEP]
    number[nm.SOLVABLE_STEP] *= RECOVERY
    number[nm.TIME] += number[nm.STEP]
    if count[nm.STEPS_LEFT] == 0:
        k = count[nm.ROW]
        number[nm.TIME] = rows.t[k]
        copy(state[nm.Q], rows.q[k])
        copy(state[nm.QD], rows.qd[k])
        copy(march.multiplier[nm.L], rows.multiplier[k])
        copy(state[nm.QDD], rows.qdd[k])
        copy(march.strain[0], rows.strain[k])
        rows.work[k, 0], rows.work[k, 1] = number[nm.WORK_DONE], number[nm.DISSIPATED]
        count[nm.ROW] += 1


@kernel_in_place
def choose_step(march, rows):
    """The next step: equal ones to the next row, none larger than wanted."""
    number, count = march.number, march.counts
    if count[nm.ROW] >= rows.t.shape[0]:
        return
    if count[nm.HELD] != 0:
        count[nm.STEPS_LEFT] = 1
        return
    remaining = rows.t[count[nm.ROW]] - number[nm.TIME]
    most = min(number[nm.TARGET_STEP], number[nm.MAX_STEP], number[nm.SOLVABLE_STEP])
    steps = ceil(remaining / most * (1.0 - 1e-10))
    count[nm.STEPS_LEFT] = max(steps, 1)
    number[nm.STEP] = remaining / count[nm.STEPS_LEFT]


@kernel_in_place
def is_cut(march):
    """Whether steps of a given size are shorter now, since one failed."""
    number, count = march.number, march.counts
    return count[nm.FIXED] != 0 and count[nm.HELD] == 0 and number[nm.SOLVABLE_STEP] < number[nm.TARGET_STEP]


@kernel_in_place
def iterate(model, march, ws):
    """Evaluate at the guess and correct it. Returns one of CONVERGED, CONTINUES, NO_CONVERGENCE, NOT_FINITE."""
    number, count, state, closure = march.number, march.counts, march.state, march.out.closure
    derive = count[nm.REFACTOR] == ONCE or count[nm.REFACTOR] == ALWAYS
    derivatives = LINEARISE_CLOSED if nm.on_tree(march) else RESIDUAL_DERIVATIVES
    nm.evaluate_at(model, march, ws, derivatives if derive else RESIDUAL)
    count[nm.N_RESIDUAL] += 1
    gap, k = 0.0, count[nm.ITERATION]
    count[nm.ITERATION] += 1
    for i in range(state.shape[1]):
        if not abs(state[nm.RESIDUE, i]) < np.inf:
            return NOT_FINITE
    for i in range(closure.value.shape[1]):
        gap = max(gap, abs(closure.value[ERROR, i]) * model.system.loops.row_scale[i])
    if derive:
        count[nm.N_JACOBIAN] += 1
        if count[nm.REFACTOR] == ONCE:
            count[nm.REFACTOR] = DONE
        if not nm.factor_step(model, march, ws):
            return NOT_FINITE
    size = nm.correct(model, march)
    if k > 0:
        number[nm.CONTRACTION] = size / number[nm.SIZE] if number[nm.SIZE] > 0.0 else 0.0
    number[nm.SIZE] = size
    theta = number[nm.CONTRACTION]
    if k > 0 and count[nm.HELD] != 0 and theta >= 0.5 and size * number[nm.RTOL] <= ROUNDING:
        return CONVERGED
    # with new derivatives at every correction the first ones may lead farther away before they lead back
    always, whole = count[nm.REFACTOR] == ALWAYS, number[nm.PART] == 1.0
    if always and k > 0:
        number[nm.PART] = max(0.5 * number[nm.PART], LEAST_PART) if theta > STUCK else min(2.0 * number[nm.PART], 1.0)
    if not size < np.inf or (k > 0 and theta >= 1.0 and size > NEWTON and not always):
        return NO_CONVERGENCE
    error = size if k == 0 else size * theta / (1.0 - min(theta, 0.9))
    tight = max(CLOSED_RATE * number[nm.STEP] * number[nm.STEP], CLOSED_TIGHTEST)
    closed = gap <= CLOSED and (gap <= tight or (k > 0 and gap > 0.5 * number[nm.GAP]))
    number[nm.GAP] = gap
    if error <= NEWTON and closed and whole:
        if k == 0:
            number[nm.CONTRACTION] = 0.0  # nothing was slow
        return CONVERGED
    most = MAX_ITERATIONS if not always else MAX_NEWTON if count[nm.FIXED] != 0 else MAX_NEWTON_ADAPTIVE
    return CONTINUES if k + 1 < most else NO_CONVERGENCE


@kernel_in_place
def error_test(model, march, ws, rows):
    """Whether the step is accurate enough; chooses the size of the next one, or of this one anew."""
    number, count = march.number, march.counts
    error = nm.error_of(model, march, ws)
    wanted = SAFETY / max(error, 1e-6) ** (1.0 / 3.0)
    if not error <= 1.0:
        count[nm.N_REJECTED] += 1
        number[nm.TARGET_STEP] = number[nm.STEP] * max(min(wanted, SAFETY), SMALLEST_FACTOR)
        choose_step(march, rows)
        return False
    if wanted > DEADBAND_FACTOR or wanted < 1.0:
        number[nm.TARGET_STEP] = number[nm.STEP] * min(wanted, LARGEST_FACTOR)
        count[nm.RESIZE] = 1
    return True


@kernel_lazy()
def march(model, march, ws, rows, max_steps) -> int:
    """Advance by up to max_steps steps; returns one of the codes above.

    On NEEDS_PYTHON the caller fills the inputs `u`, wrenches and tangents of loads at the time TIME + STEP and the
    state Q_NEW, QD_NEW, and calls again.
    """
    number, count = march.number, march.counts
    done = 0
    while True:
        phase = count[nm.PHASE]
        if phase == BEGIN:
            if count[nm.ROW] >= rows.t.shape[0]:
                return FINISHED
            if done >= max_steps:
                return CONTINUES
            count[nm.REFACTOR] = REUSE
            nm.begin_step(model, march, ws)
            count[nm.ITERATION], number[nm.PART] = 0, 1.0
            ratio, _ = nm.ratios(number)
            changed = abs(ratio / number[nm.FACTORED_RATIO] - 1.0) > RATIO_CHANGE
            slow = number[nm.CONTRACTION] > (SLOW_CONTRACTION_HELD if count[nm.HELD] != 0 else SLOW_CONTRACTION)
            count[nm.REFACTOR] = ONCE if count[nm.FACTORED] == 0 or changed or slow else REUSE
            count[nm.PHASE] = EVALUATE
            if count[nm.EXTERNAL] != 0:
                return NEEDS_PYTHON
        elif phase == EVALUATE:
            code = iterate(model, march, ws)
            if code == CONVERGED:
                if count[nm.HELD] == 0:
                    nm.actuator_forces(model, march, ws)
                if count[nm.FIXED] != 0 and not is_plausible(model, march, ws):
                    code = IMPLAUSIBLE
            if code == CONVERGED:
                count[nm.PHASE] = TEST_ERROR
            elif code == CONTINUES:
                if count[nm.EXTERNAL] != 0:
                    return NEEDS_PYTHON
            elif count[nm.REFACTOR] == REUSE or (count[nm.REFACTOR] == DONE and code != NOT_FINITE):
                # once more with new factors, and then with new ones at every correction
                count[nm.ITERATION], count[nm.REFACTOR] = 0, ONCE if count[nm.REFACTOR] == REUSE else ALWAYS
                nm.begin_step(model, march, ws)
                number[nm.CONTRACTION], number[nm.PART] = 0.0, 1.0
                if count[nm.EXTERNAL] != 0:
                    return NEEDS_PYTHON
            else:
                count[nm.PHASE] = BEGIN
                count[nm.FACTORED] = 0
                number[nm.CONTRACTION] = 0.0
                count[nm.N_REJECTED] += 1
                if count[nm.HELD] != 0:
                    return code
                number[nm.SOLVABLE_STEP] = SOLVABLE_FACTOR * number[nm.STEP]
                if count[nm.FIXED] == 0:
                    number[nm.TARGET_STEP] = FAILED_FACTOR * number[nm.STEP]
                choose_step(march, rows)
                if not number[nm.STEP] > number[nm.MIN_STEP]:
                    return code if count[nm.FIXED] != 0 or code == NOT_FINITE else TOO_SMALL
        else:
            count[nm.PHASE] = BEGIN
            count[nm.RESIZE] = is_cut(march) and 2.0 * number[nm.STEP] <= RECOVERY * number[nm.SOLVABLE_STEP]
            if count[nm.FIXED] == 0 and not error_test(model, march, ws, rows):
                if not number[nm.STEP] > number[nm.MIN_STEP]:
                    return TOO_SMALL
                continue
            if count[nm.PROJECT] != 0:
                nm.project_rates(model, march, ws)
            if count[nm.HELD] == 0:
                nm.add_work(model, march, ws)
            if march.strain.shape[1] > 0:
                number[nm.DISSIPATED] += nm.advance_strains(model, march)
            accept(march, rows)
            if count[nm.RESIZE] != 0 or count[nm.STEPS_LEFT] == 0:
                choose_step(march, rows)
            done += 1
