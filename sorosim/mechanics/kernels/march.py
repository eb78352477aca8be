"""Motion step by step by the method of kernels.newmark, with error control.

The loop is a state machine: where Python computes loads or inputs it returns to Python, and continues there.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, kernel_in_place, kernel_lazy, record
from sorosim.base.signals.evaluation import SignalArrays
from sorosim.mechanics.kernels import newmark as nm
from sorosim.mechanics.kernels.evaluate import Evaluation, State, System
from sorosim.mechanics.kernels.external import ExternalForces
from sorosim.mechanics.kernels.forces import Elastic, Internal
from sorosim.mechanics.kernels.load_laws import LoadLaws
from sorosim.mechanics.kernels.newmark import ALWAYS, DONE, ONCE, REUSE
from sorosim.mechanics.kernels.relaxation import advance_strains
from sorosim.mechanics.kernels.small import copy
from sorosim.mechanics.kernels.step_speed import is_plausible
from sorosim.mechanics.kernels.tangent import Tangent

NUMBERS = record(
    time=float,  # at the begin of the step [s]
    step=float,  # its size [s]
    last_step=float,
    carry=(float, (4, 4)),  # tableau of the method, see `Tableau`
    gain=(float, (4,)),
    error=float,
    stiffening=float,
    P=(float, (4, 4)),  # the same for the size of the step
    b=(float, (4,)),
    rtol=float,
    atol=float,
    max_step=float,
    min_step=float,
    factored_ratio=float,  # `ratio` of the factors
    contraction=float,
    size=float,  # of the last correction, by the tolerance
    least_pivot=float,
    least_pivot_time=float,
    previous_step=float,  # size of the step before
    target_step=float,
    gap=float,  # errors of loops before the last correction
    best_pivot=float,
    work_done=float,  # by actuators since the start [J]
    dissipated=float,  # by damping of the tree [J]
    part=float,  # of the corrections by Newton's method that is applied
    solvable_step=float,  # no step is larger: Newton's method failed at a larger one not long ago
    speed=float,  # sqrt(2 T) at the begin of the step, or 0 where it is not known, see kernels.step_speed
    speed_rate=float,
)
COUNTS = record(
    phase=int,
    fixed=int,  # whether the size of steps is given
    external=int,  # whether Python computes loads or inputs
    project=int,  # whether rates are projected after each step
    iteration=int,
    refactor=int,  # one of those below
    factored=int,
    row=int,  # next row of the result
    rank=int,
    steps_left=int,  # to that row
    least_row=int,
    most_rank=int,
    resize=int,
    n_steps=int,
    n_rejected=int,
    n_residual=int,
    n_jacobian=int,
    held=int,  # whether inputs are held over intervals, each step ends at a row, and no work is summed up
    fresh=int,  # whether accelerations are still to be found, after a change of the state from outside
    jumped=int,  # whether they have jumped at the begin of the step
)
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


class Tableau(NamedTuple):
    """Relations y' = P y + b x of a method, y = (q, h qd, h^2 qdd, h^2 a), x = h^2 a' with its accelerations a'."""

    carry: np.ndarray  # (4, 4) P
    gain: np.ndarray  # (4,) b
    error: float  # first term left out of q, over h^2 times the change of a
    stiffening: float  # of `evaluate.forward` where motions begin and inputs jump, over h^2


@by_reference
class StepVectors(NamedTuple):
    """Vectors (ndof,) of a step."""

    begin: np.ndarray  # (4, ndof) y = (q, qd, qdd, a) at its begin, and at its end
    end: np.ndarray
    q: np.ndarray  # at its begin: coordinates, rates, accelerations and the method's own accelerations
    qd: np.ndarray
    qdd: np.ndarray
    a: np.ndarray
    q_new: np.ndarray  # at its end
    qd_new: np.ndarray
    qdd_new: np.ndarray
    a_new: np.ndarray
    a_old: np.ndarray  # of the step before
    residue: np.ndarray
    correction: np.ndarray
    scale: np.ndarray  # of errors
    work: np.ndarray  # scratch; then the error of the step
    actuation: np.ndarray  # generalised forces of actuators
    actuation_new: np.ndarray
    damping: np.ndarray  # forces against damping
    damping_new: np.ndarray
    qdd_begin: np.ndarray  # accelerations at the begin of an interval over which inputs are held


@by_reference
class Multipliers(NamedTuple):
    """Vectors (m,) of the multipliers of loops."""

    now: np.ndarray  # at the begin of the step
    new: np.ndarray  # at its end
    step: np.ndarray  # their correction
    right: np.ndarray  # minus the errors of loops
    scale: np.ndarray


@by_reference
class March(NamedTuple):
    """State and workspace of an integration; m multipliers."""

    number: np.ndarray  # () NUMBERS
    counts: np.ndarray  # () COUNTS
    state: StepVectors
    multiplier: Multipliers
    inputs: np.ndarray  # (n_actuators, 3) signals of the inputs at the end of the step
    prescribed: np.ndarray  # (n_driven, 3) of the driven coordinates
    varying: np.ndarray  # (n_load_signals, 3) of the loads
    path: np.ndarray  # (n_driven, 6) motion under held inputs: 1, or 0 for signals; begin; cubic by the time since
    S: np.ndarray  # (ndof, ndof) factors; (0, 0): `tangent` has them
    pivot: np.ndarray  # (ndof,) int
    columns: np.ndarray  # (ndof, m) S^-1 A^T
    G: np.ndarray  # (m, m) factors of E S^-1 A^T
    order: np.ndarray  # (2, m) int
    strain: np.ndarray  # (2, n_strains) of Maxwell elements at both ends of the step
    tangent: Tangent
    solver: np.ndarray  # (1,) int: address of a Callback that solves in the place of `tangent`, or 0
    begin: State  # of the step: rows of `state`, and inputs at its end
    end: State
    out: Evaluation  # at the end of the step
    drift: Evaluation  # mass matrix where rates are changed, then its Cholesky factor; the rest as in `out`
    start: Evaluation  # at the begin of an interval over which inputs are held
    external: ExternalForces
    stack: np.ndarray  # scratch for signals
    memory: np.ndarray  # (n,) all that a step leaves for the next one: the arrays above, and others, are views of it


@by_reference
class Model(NamedTuple):
    """What is integrated.

    Where blocks relax, `system`, `passive` and `dampers` share arrays of stiffness and rest of their own, which
    `relax_blocks` fills for each step; `elastic` has those of equilibria.
    """

    system: System
    elastic: Elastic
    loads: LoadLaws
    inputs: SignalArrays
    motions: SignalArrays  # of the driven coordinates
    driven: np.ndarray  # (n_driven,) int
    known: np.ndarray  # (ndof,) bool
    gravity: np.ndarray  # (3,)
    passive: Internal  # without actuators
    dampers: Internal  # damping alone


@by_reference
class Rows(NamedTuple):
    """Rows of the result, filled while the integration passes their times."""

    t: np.ndarray  # (n,)
    q: np.ndarray  # (n, ndof)
    qd: np.ndarray  # (n, ndof)
    qdd: np.ndarray  # (n, ndof)
    multiplier: np.ndarray  # (n, m)
    work: np.ndarray  # (n, 2) done by actuators, dissipated by damping of the tree [J]
    strain: np.ndarray  # (n, n_strains) of Maxwell elements
    rank: np.ndarray  # (n,) int, of the constraints in the factors of the step that ends there


@kernel_in_place
def accept(march, rows):
    """The end of the step becomes the begin of the next, and a row of the result if it is time for one."""
    state, number, count = march.state, march.number, march.counts
    copy(state.a, state.a_old)
    copy(state.q_new, state.q)
    copy(state.qd_new, state.qd)
    copy(state.qdd_new, state.qdd)
    copy(state.a_new, state.a)
    copy(march.multiplier.new, march.multiplier.now)
    copy(march.strain[1], march.strain[0])
    count.n_steps += 1
    count.jumped = 0
    count.steps_left -= 1
    number.previous_step = number.step
    number.solvable_step *= RECOVERY
    number.time += number.step
    if count.steps_left == 0:
        k = count.row
        number.time = rows.t[k]
        copy(state.q, rows.q[k])
        copy(state.qd, rows.qd[k])
        copy(march.multiplier.now, rows.multiplier[k])
        copy(state.qdd, rows.qdd[k])
        copy(march.strain[0], rows.strain[k])
        rows.rank[k] = count.rank
        rows.work[k, 0], rows.work[k, 1] = number.work_done, number.dissipated
        count.row += 1


@kernel_in_place
def choose_step(march, rows):
    """The next step: equal ones to the next row, none larger than wanted."""
    number, count = march.number, march.counts
    if count.row >= rows.t.shape[0]:
        return
    if count.held != 0:
        count.steps_left = 1
        return
    remaining = rows.t[count.row] - number.time
    most = min(number.target_step, number.max_step, number.solvable_step)
    steps = ceil(remaining / most * (1.0 - 1e-10))
    count.steps_left = max(steps, 1)
    number.step = remaining / count.steps_left


@kernel_in_place
def is_cut(march):
    """Whether steps of a given size are shorter now, since one failed."""
    number, count = march.number, march.counts
    return count.fixed != 0 and count.held == 0 and number.solvable_step < number.target_step


@kernel_in_place
def iterate(model, march, ws):
    """Evaluate at the guess and correct it. Returns one of CONVERGED, CONTINUES, NO_CONVERGENCE, NOT_FINITE."""
    number, count, state, closure = march.number, march.counts, march.state, march.out.closure
    derive = count.refactor == ONCE or count.refactor == ALWAYS
    nm.evaluate_at(model, march, ws, derive)
    count.n_residual += 1
    gap, k = 0.0, count.iteration
    count.iteration += 1
    for i in range(state.q.shape[0]):
        if not abs(state.residue[i]) < np.inf:
            return NOT_FINITE
    for i in range(closure.error.shape[0]):
        gap = max(gap, abs(closure.error[i]) * model.system.loops.row_scale[i])
    if derive:
        count.n_jacobian += 1
        if count.refactor == ONCE:
            count.refactor = DONE
        if not nm.factor_step(model, march, ws):
            return NOT_FINITE
    size = nm.correct(model, march)
    if k > 0:
        number.contraction = size / number.size if number.size > 0.0 else 0.0
    number.size = size
    theta = number.contraction
    if k > 0 and count.held != 0 and theta >= 0.5 and size * number.rtol <= ROUNDING:
        return CONVERGED
    # with new derivatives at every correction the first ones may lead farther away before they lead back
    always, whole = count.refactor == ALWAYS, number.part == 1.0
    if always and k > 0:
        number.part = max(0.5 * number.part, LEAST_PART) if theta > STUCK else min(2.0 * number.part, 1.0)
    if not size < np.inf or (k > 0 and theta >= 1.0 and size > NEWTON and not always):
        return NO_CONVERGENCE
    error = size if k == 0 else size * theta / (1.0 - min(theta, 0.9))
    tight = max(CLOSED_RATE * number.step * number.step, CLOSED_TIGHTEST)
    closed = gap <= CLOSED and (gap <= tight or (k > 0 and gap > 0.5 * number.gap))
    number.gap = gap
    if error <= NEWTON and closed and whole:
        if k == 0:
            number.contraction = 0.0  # nothing was slow
        return CONVERGED
    most = MAX_ITERATIONS if not always else MAX_NEWTON if count.fixed != 0 else MAX_NEWTON_ADAPTIVE
    return CONTINUES if k + 1 < most else NO_CONVERGENCE


@kernel_in_place
def error_test(model, march, ws, rows):
    """Whether the step is accurate enough; chooses the size of the next one, or of this one anew."""
    number, count = march.number, march.counts
    error = nm.error_of(model, march, ws)
    wanted = SAFETY / max(error, 1e-6) ** (1.0 / 3.0)
    if not error <= 1.0:
        count.n_rejected += 1
        number.target_step = number.step * max(min(wanted, SAFETY), SMALLEST_FACTOR)
        choose_step(march, rows)
        return False
    if wanted > DEADBAND_FACTOR or wanted < 1.0:
        number.target_step = number.step * min(wanted, LARGEST_FACTOR)
        count.resize = 1
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
        phase = count.phase
        if phase == BEGIN:
            if count.row >= rows.t.shape[0]:
                return FINISHED
            if done >= max_steps:
                return CONTINUES
            count.refactor = REUSE
            nm.begin_step(model, march, ws)
            count.iteration, number.part = 0, 1.0
            ratio, _ = nm.ratios(number)
            changed = abs(ratio / number.factored_ratio - 1.0) > RATIO_CHANGE
            slow = number.contraction > (SLOW_CONTRACTION_HELD if count.held != 0 else SLOW_CONTRACTION)
            count.refactor = ONCE if count.factored == 0 or changed or slow else REUSE
            count.phase = EVALUATE
            if count.external != 0:
                return NEEDS_PYTHON
        elif phase == EVALUATE:
            code = iterate(model, march, ws)
            if code == CONVERGED:
                if count.held == 0:
                    nm.actuator_forces(model, march, ws)
                if count.fixed != 0 and not is_plausible(model, march, ws):
                    code = IMPLAUSIBLE
            if code == CONVERGED:
                count.phase = TEST_ERROR
            elif code == CONTINUES:
                if count.external != 0:
                    return NEEDS_PYTHON
            elif count.refactor == REUSE or (count.refactor == DONE and code != NOT_FINITE):
                # once more with new factors, and then with new ones at every correction
                count.iteration, count.refactor = 0, ONCE if count.refactor == REUSE else ALWAYS
                nm.begin_step(model, march, ws)
                number.contraction, number.part = 0.0, 1.0
                if count.external != 0:
                    return NEEDS_PYTHON
            else:
                count.phase = BEGIN
                count.factored = 0
                number.contraction = 0.0
                count.n_rejected += 1
                if count.held != 0:
                    return code
                number.solvable_step = SOLVABLE_FACTOR * number.step
                if count.fixed == 0:
                    number.target_step = FAILED_FACTOR * number.step
                choose_step(march, rows)
                if not number.step > number.min_step:
                    return code if count.fixed != 0 or code == NOT_FINITE else TOO_SMALL
        else:
            count.phase = BEGIN
            count.resize = is_cut(march) and 2.0 * number.step <= RECOVERY * number.solvable_step
            if count.fixed == 0 and not error_test(model, march, ws, rows):
                if not number.step > number.min_step:
                    return TOO_SMALL
                continue
            if count.project != 0:
                nm.project_rates(model, march, ws)
            if count.held == 0:
                nm.add_work(model, march, ws)
            if march.strain.shape[1] > 0:
                number.dissipated += advance_strains(model, march)
            accept(march, rows)
            if count.resize != 0 or count.steps_left == 0:
                choose_step(march, rows)
            done += 1
