"""Equilibria of many members of a batch, each along the curve of equilibria from one before (docs/theory.md, 7).

Newton's method follows the curve where its steps are short and its corrections shrink fast; where they do not, inputs
go half of the way. What it does not reach so, and what is not shown to be stable here, is left to `sorosim.statics`.
"""

from __future__ import annotations

from math import sin, sqrt

import numpy as np

from sorosim.base.compiled import kernel_in_place, kernel_lazy, record_at
from sorosim.base.signals.evaluation import evaluate_signals
from sorosim.mechanics.kernels import march as mr
from sorosim.mechanics.kernels import newmark as nm
from sorosim.mechanics.kernels.evaluate import RESIDUAL, derivatives, residual
from sorosim.mechanics.kernels.kinematics import POSES, forward_sweep, to_body
from sorosim.mechanics.kernels.linalg import cholesky
from sorosim.mechanics.kernels.members import take
from sorosim.mechanics.kernels.saddle import dot
from sorosim.mechanics.kernels.small import clear, copy

# a correction, relative to 1 + |q|, after which the error left, its square, is rounding; a part to which corrections
# shrink on curves that are all but straight; and the shortest way that inputs go at once
LAST_STEP, FAST, SHORTEST = 1e-9, 0.25, 1.0 / 64.0
# no correction turns a node by more [rad], or moves it by more of the robot's size
LONGEST = 0.5
MOST_STEPS = 12
# weight of loops, by the largest stiffness, in the matrix whose factors exist where a state is stable; and the part of
# stiffnesses that may be without symmetry, or is left of a pivot, by rounding
LOOPS, SYMMETRIC = 10.0, 1e-8
# corrections below this are rounding, and need not shrink
ROUNDING = 1e-10


@kernel_lazy()
def equilibrate_members(queue, like, ws, zero, begin, rank, extent, q, multiplier, u, target, residue) -> None:
    """Equilibria under inputs `target` (n, n_actuators) from those q (n, ndof), `multiplier` (n, m) under u.

    zero (ndof,): of this thread; begin (n,) int: whether a member is no equilibrium yet under u; rank: of the
    conditions of loops; extent: size of the robot [m]. q and `multiplier` are overwritten, and residue (n,) is filled.
    Codes: FINISHED, or NO_CONVERGENCE of members whose rows are as before.
    """
    while True:
        i = take(queue)
        if i < 0:
            return
        model, march = record_at(queue.address[i, 0], like.model), record_at(queue.address[i, 1], like.march)
        march.counts.most_rank = rank
        if follow(model, march, ws, zero, extent, begin[i] != 0, q[i], multiplier[i], u[i], target[i]):
            copy(march.state.q, q[i])
            copy(march.multiplier.now, multiplier[i])
            residue[i] = residue_at_rest(model, march, ws)
            queue.code[i] = mr.FINISHED
        else:
            queue.code[i] = mr.NO_CONVERGENCE


@kernel_lazy()
def follow(model, march, ws, zero, extent, begin, q, multiplier, u, target) -> bool:
    """Go from a state to the equilibrium under other inputs, by stable ones; whether it was reached."""
    state, now = march.state, march.multiplier.now
    clear(state.qd)
    clear(state.qdd)
    clear(state.qdd_new)
    march.number.time = march.number.step = 0.0
    march.counts.external = 0
    evaluate_signals(model.loads.signals, 0.0, march.varying, march.stack)
    copy(q, state.q)
    copy(multiplier, now)
    done, step = 0.0, 0.0 if begin else 1.0
    while True:
        copy(state.q, state.q_new)
        copy(now, march.multiplier.new)
        load = min(done + step, 1.0)
        for k in range(u.shape[0]):
            march.begin.u[k] = u[k] + load * (target[k] - u[k])
        if newton_at_rest(model, march, ws, zero, extent):
            if not is_stable(model, march):
                return False
            done, step = load, 1.0 if step == 0.0 else min(2.0 * step, 1.0)
            if done == 1.0:
                return True
        else:
            copy(state.q_new, state.q)
            copy(march.multiplier.new, now)
            step *= 0.5
            if step < SHORTEST:
                return False


@kernel_in_place
def newton_at_rest(model, march, ws, zero, extent):
    """Correct the state until the error left is rounding; whether its corrections were short and shrank fast.

    They are compared by how far they move nodes. Each, and what it would be with the factors before, is no more than
    FAST of the one before: near a limit load, where K is small and the first one long, the second test is the strict
    one.
    """
    state, rank, before, out = march.state, march.counts.most_rank, np.inf, march.out
    x = state.correction
    for k in range(MOST_STEPS):
        nm.add_forces(model, march, ws, True, True)
        copy(march.multiplier.now, out.closure.multiplier)
        derivatives(model.system, march.begin, RESIDUAL, False, march.external, ws, out)
        if k > 0:
            correction_at_rest(model, march, x)
            if not length_of(model, state.q, x, zero, extent, ws) <= FAST * before:
                return False
        if not stiffness_at_rest(model, march) or not nm.factor(model, march) or march.counts.rank != rank:
            return False
        correction_at_rest(model, march, x)
        length = length_of(model, state.q, x, zero, extent, ws)
        if not (length <= 1.0 and length <= FAST * before):
            return False
        size, most = 0.0, 0.0
        for i in range(x.shape[0]):
            state.q[i] += x[i]
            size, most = max(size, abs(x[i])), max(most, abs(state.q[i]))
        for j in range(march.multiplier.now.shape[0]):
            march.multiplier.now[j] += march.multiplier.step[j]
        if size <= LAST_STEP * (1.0 + most):
            return True
        before = max(length, ROUNDING)
    return False


@kernel_in_place
def correction_at_rest(model, march, x):
    """The correction x (ndof,) of what was evaluated last, by the factors at hand, and that of multipliers."""
    out = march.out
    for i in range(x.shape[0]):
        x[i] = 0.0 if model.known[i] else -out.tau[i]
    for j in range(march.multiplier.now.shape[0]):
        march.multiplier.right[j] = -out.closure.error[j]
        for i in range(x.shape[0]):
            if not model.known[i]:
                x[i] -= march.start.closure.rate[j] * out.closure.constraint[j, i] * out.closure.error[j]
    nm.solve(march, x)


@kernel_in_place
def length_of(model, q, x, zero, extent, ws):
    """How far a change x of coordinates turns or moves nodes, by the longest that one may."""
    forward_sweep(model.system.tree, q, x, zero, model.gravity, POSES, ws)
    most, V = 0.0, ws.scratch[8, 0]
    for k in range(model.system.tree.segment.shape[0]):
        to_body(ws.pose[k], ws.twist[k, 0], V)
        turn, way = dot(V[:3], V[:3]), dot(V[3:], V[3:])
        most = max(most, sqrt(turn), sqrt(way) / extent)
    return most / LONGEST


@kernel_in_place
def stiffness_at_rest(model, march):
    """S = K + sum of s A^T E over conditions of loops, which changes no solution of [S -A^T; E 0] but the multipliers.

    K alone may be singular, as that of a mechanism is. s is in march.start.closure.rate. Whether K is finite.
    """
    S, K, closure, weight, largest = march.S, march.out.by_q, march.out.closure, march.start.closure.rate, 0.0
    n, m = S.shape[0], weight.shape[0]
    for i in range(n):
        for j in range(n):
            S[i, j] = K[i, j]
            largest = max(largest, abs(K[i, j]))
    if not largest < np.inf:
        return False
    for k in range(m):
        A, E, size = closure.constraint[k], closure.error_by_q[k], 0.0
        for i in range(n):
            size += 0.0 if model.known[i] else A[i] * A[i]
        weight[k] = LOOPS * largest / size if size > 0.0 else 0.0
        for i in range(n):
            for j in range(n):
                S[i, j] += weight[k] * A[i] * E[j]
    for i in range(n):
        if model.known[i]:
            for j in range(n):
                S[i, j] = S[j, i] = 0.0
            S[i, i] = 1.0
    return True


@kernel_in_place
def is_stable(model, march):
    """Whether forces have a potential that is least in the state evaluated last, as far as loops let it move.

    Sufficient: K + sum of s A^T A is positive definite, so K is where A dq = 0.
    """
    P, K, closure, weight = march.out.mass, march.out.by_q, march.out.closure, march.start.closure.rate
    n = P.shape[0]
    for i in range(n):
        for j in range(n):
            free = not (model.known[i] or model.known[j])
            P[i, j] = 0.5 * (K[i, j] + K[j, i]) if free else 1.0 if i == j else 0.0
    for k in range(weight.shape[0]):
        A = closure.constraint[k]
        for i in range(n):
            for j in range(n):
                if not (model.known[i] or model.known[j]):
                    P[i, j] += weight[k] * A[i] * A[j]
    for i in range(n):
        march.state.work[i] = P[i, i]
        if not P[i, i] > 0.0:
            return False
    if not has_potential(model, march, march.state.work) or cholesky(P) >= 0:
        return False
    for i in range(n):  # pivots that are all but lost may be of a neutral state
        if P[i, i] * P[i, i] < SYMMETRIC * march.state.work[i]:
            return False
    return True


@kernel_in_place
def has_potential(model, march, diagonal):
    """Whether K is symmetric along what is free to move: N^T (K - K^T) N = 0 with A N = 0, seen by two vectors in it.

    Multipliers times how A changes are in K, with a part without symmetry of the form A^T X. diagonal (ndof,): of K
    with its loops, by which coordinates are scaled.
    """
    K, A, x, y = march.out.by_q, march.out.closure.constraint, march.state.correction, march.state.residue
    n, m, rows = K.shape[0], A.shape[0], march.start.closure.constraint  # rows: those of A, orthonormal in that scale
    for i in range(n):
        x[i] = y[i] = 0.0
        if not model.known[i]:
            x[i], y[i] = 1.0 + sin(12.9898 * i), 1.0 + sin(78.233 * i + 1.0)
    for k in range(m):
        for i in range(n):
            rows[k, i] = 0.0 if model.known[i] else A[k, i] / sqrt(diagonal[i])
        before = dot(rows[k], rows[k])
        for j in range(k):
            subtract_along(rows[j], rows[k])
        after = dot(rows[k], rows[k])
        scale = 1.0 / sqrt(after) if after > SYMMETRIC * before else 0.0
        for i in range(n):
            rows[k, i] *= scale
        subtract_along(rows[k], x)
        subtract_along(rows[k], y)
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += x[i] * (K[i, j] - K[j, i]) / sqrt(diagonal[i] * diagonal[j]) * y[j]
    return abs(total) <= SYMMETRIC * sqrt(dot(x, x) * dot(y, y))


@kernel_in_place
def subtract_along(unit, x):
    """What x (n,) has along a unit vector, or zero, leaves it."""
    part = dot(unit, x)
    for i in range(x.shape[0]):
        x[i] -= part * unit[i]


@kernel_in_place
def residue_at_rest(model, march, ws):
    """The largest force that is left in the state."""
    out, most = march.out, 0.0
    nm.add_forces(model, march, ws, True, False)
    copy(march.multiplier.now, out.closure.multiplier)
    residual(model.system, march.begin, RESIDUAL, march.external, ws, out)
    for i in range(out.tau.shape[0]):
        if not model.known[i]:
            most = max(most, abs(out.tau[i]))
    return most
