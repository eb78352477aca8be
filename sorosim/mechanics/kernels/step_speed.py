"""Whether forces lead to the end of a step: other roots of its equations are faster than they can make it.

Coriolis forces are quadratic in rates, so the equations of a step have other roots, far from the motion
(docs/theory.md, 10). Tolerances reject these by the error of a step; steps of a given size have none.
"""

from __future__ import annotations

from math import sqrt

from sorosim.base.compiled import kernel_in_place, kernel_lazy
from sorosim.mechanics.kernels.evaluate import forward
from sorosim.mechanics.kernels.kinematics import POSES, forward_sweep, to_body
from sorosim.mechanics.kernels.newmark import add_forces
from sorosim.mechanics.kernels.small import copy, matrix_vector

# of rates at the end of a step: corrections of q by 1e-3 of its tolerance are left, gamma / beta < 2.5 times that of
# what moves by its tolerance in h; and what the method itself errs
SPEED_ERROR = 1e-2


@kernel_in_place
def kinetic_products(tree, qd, qdd, gravity, ws):
    """Sums over the nodes of V^T M V, V^T M A and A^T M A, after a sweep with these rates and accelerations.

    V, A: twists and accelerations of the nodes, without gravity; M: their inertias, in the frame of each. Inertias of
    rotors on coordinates (armature) count as nodes with the twist qd_i.
    """
    speed, power, acceleration = 0.0, 0.0, 0.0
    V, A, y = ws.scratch[0, 0], ws.scratch[0, 1], ws.scratch[0, 2]
    for k in range(tree.segment.shape[0]):
        M, g = tree.inertia[k], ws.pose[k]
        if M[3, 3] == 0.0 and M[0, 0] == 0.0:
            continue
        to_body(g, ws.twist[k, 0], V)
        matrix_vector(M, V, y)
        for i in range(6):
            speed += V[i] * y[i]
        copy(ws.twist[k, 1], V)
        for i in range(3):
            V[3 + i] += gravity[i]
        to_body(g, V, A)
        for i in range(6):
            power += A[i] * y[i]
        matrix_vector(M, A, y)
        for i in range(6):
            acceleration += A[i] * y[i]
    for b in range(tree.block.shape[0]):
        at, c0 = tree.block[b].armature, tree.block[b].column
        if at >= 0:
            for i in range(tree.block[b].n):
                own, rate, change = tree.strain[at + i], qd[c0 + i], qdd[c0 + i]
                speed, power = speed + own * rate * rate, power + own * rate * change
                acceleration += own * change * change
    return speed, power, acceleration


@kernel_in_place
def acceleration_from_rest(model, march, ws):
    """sqrt(sum A^T M A) of the accelerations with which forces move what is not driven from rest, at the begin."""
    state, tree, known = march.state, model.system.tree, model.known
    copy(state.qd, state.work)
    for i in range(state.q.shape[0]):
        state.qd[i] = state.qd[i] if known[i] else 0.0
        state.qdd_begin[i] = state.qdd[i] if known[i] else 0.0
    add_forces(model, march, ws, True, False)
    forward(model.system, march.begin, False, False, 0.0, march.external, ws, march.start)
    forward_sweep(tree, state.q, state.qd, state.qdd_begin, model.gravity, POSES, ws)
    a = kinetic_products(tree, state.qd, state.qdd_begin, model.gravity, ws)[2]
    copy(state.work, state.qd)
    return sqrt(a)


@kernel_in_place
def end_speed(model, march, ws):
    """Speed r at the end of a step, after a sweep there, and its rate r', without the power of multipliers."""
    state = march.state
    square, power, _ = kinetic_products(model.system.tree, state.qd_new, state.qdd_new, model.gravity, ws)
    for i in range(march.multiplier.now.shape[0]):
        power -= march.multiplier.new[i] * march.out.closure.rate[i]
    speed = sqrt(square)
    return speed, power / speed if speed > 0.0 else 0.0


@kernel_lazy()
def is_plausible(model, march, ws) -> bool:
    """Whether forces can have brought the robot from the begin of a step to its end, before whose last correction it
    was evaluated last.

    The speed r = sqrt(sum V^T M V) of a motion changes at the rate r' = sum V^T M A / r, the power of the forces over
    r. Forces that do not depend on rates give it no more than the accelerations a from rest, r' <= sqrt(sum a^T M a);
    others brake, or act at an end of the step. So a step raises the speed by h times the largest of r' at both ends
    and that, at most (docs/theory.md, 10): what is faster is another root of the equations of the step. Loops do no
    work, and rates by which no coordinate leaves its tolerance within the step count as rest.
    """
    number, state, tree = march.number, march.state, model.system.tree
    h, moved = number.step, 0.0
    for i in range(state.q.shape[0]):
        moved = max(moved, abs(h * state.qd_new[i]) / state.scale[i])
    speed, rate = end_speed(model, march, ws)
    # accelerations at the begin are those of the last step where inputs have not jumped
    known = rate if march.counts.jumped != 0 else max(rate, number.speed_rate)
    if not (1.0 - 0.5 * SPEED_ERROR) * speed <= number.speed + h * max(known, 0.0) and moved > 1.0:
        # nearer to the bound the last correction, which came after the last evaluation, may be what is beyond it
        forward_sweep(tree, state.q_new, state.qd_new, state.qdd_new, model.gravity, POSES, ws)
        speed, rate = end_speed(model, march, ws)
        known = rate if march.counts.jumped != 0 else max(rate, number.speed_rate)
    least = (1.0 - SPEED_ERROR) * speed
    if not least <= number.speed + h * max(known, 0.0) and moved > 1.0:
        forward_sweep(tree, state.q, state.qd, state.qdd, model.gravity, POSES, ws)
        square, power, acceleration = kinetic_products(tree, state.qd, state.qdd, model.gravity, ws)
        begin, most = sqrt(square), rate
        if square > 0.0:
            most = max(most, power / begin)
        if not least <= begin + h * most:
            # without matrices: all accelerations, with those across the motion
            dense = march.start.mass.shape[0] == state.q.shape[0]
            most = acceleration_from_rest(model, march, ws) if dense else sqrt(acceleration)
            if not least <= begin + h * most:
                return False
    number.speed, number.speed_rate = speed, rate
    return True
