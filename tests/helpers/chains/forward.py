"""Derivatives (2, n, n) of forward dynamics: those of inverse dynamics times -M^{-1}, and the chain rule."""

from helpers.chains import compiled
from helpers.chains.algebra import (
    add,
    add_cross,
    add_cross_wrench,
    add_matrix_outwards,
    add_outwards,
    add_times,
    clear,
    dot,
    inwards,
    put,
)
from helpers.chains.inverse import idsva_ground, rnea_chain_rule, tangents
from helpers.chains.sweeps import sweep_body, sweep_ground


@compiled
def articulate(room):
    """Take the hinges out of composite inertias in world axes: U, D of each."""
    for i in range(len(room.S) - 1, -1, -1):
        S, U, inertia = room.S[i], room.U[i], room.inertia[i]
        clear(U)
        add_times(1.0, inertia, S, U)
        room.D[i] = dot(S, U)
        if i > 0:
            for k in range(6):
                add(1.0, inertia[k], room.inertia[i - 1, k])
                add(-U[k] / room.D[i], U, room.inertia[i - 1, k])


@compiled
def solve_row(room, b):
    """b = M^{-1} b: forces of hinges, then accelerations, nothing else moving the bodies."""
    n, f, a = len(b), room.scratch[0, 0], room.scratch[0, 1]
    clear(f)
    clear(a)
    for i in range(n - 1, -1, -1):
        b[i] -= dot(room.S[i], f)
        add(b[i] / room.D[i], room.U[i], f)
    for i in range(n):
        b[i] = (b[i] - dot(room.U[i], a)) / room.D[i]
        add(b[i], room.S[i], a)


@compiled
def accelerations(chain, q, qd, tau, room, qdd):
    """Forward dynamics in world axes; U, D and S stay for `solve_row`."""
    n = len(q)
    for i in range(n):
        qdd[i] = 0.0
    sweep_ground(chain, q, qd, qdd, room)
    for i in range(n - 1, -1, -1):
        qdd[i] = tau[i] - dot(room.S[i], room.f[i])
        if i > 0:
            add(1.0, room.f[i], room.f[i - 1])
    articulate(room)
    solve_row(room, qdd)


@compiled
def solve_rows(room, out):
    """out = -M^{-1} out, row by row."""
    for rate in range(2):
        for j in range(len(room.S)):
            b = out[rate, j]
            for i in range(len(b)):
                b[i] = -b[i]
            solve_row(room, b)


@compiled
def fdsva(chain, q, qd, tau, room, other, qdd, out):
    """Accelerations and their derivatives (2, n, n): those of inverse dynamics by `idsva_ground`, times -M^{-1}."""
    accelerations(chain, q, qd, tau, room, qdd)
    idsva_ground(chain, q, qd, qdd, other, out)
    solve_rows(room, out)


@compiled
def fdcr(chain, q, qd, tau, room, other, qdd, out):
    """Accelerations and their derivatives (2, n, n): those of inverse dynamics by `rnea_chain_rule`, times -M^{-1}."""
    accelerations(chain, q, qd, tau, room, qdd)
    rnea_chain_rule(chain, q, qd, qdd, other, out)
    solve_rows(room, out)


@compiled
def aba(chain, q, qd, tau, room, qdd):
    """Accelerations qdd in body frames, by the articulated-body algorithm.

    It leaves U, D, u; inertias with the hinge taken out in B, wrenches that go with them in f, and what the bodies
    before add to the acceleration of each body in a.
    """
    n = len(q)
    for i in range(n):
        qdd[i] = 0.0
    sweep_body(chain, q, qd, qdd, room)
    for i in range(n - 1, -1, -1):
        S, U, B = room.S[i], room.U[i], room.B[i]
        clear(U)
        add_times(1.0, room.inertia[i], S, U)
        room.D[i] = dot(S, U)
        room.u[i] = tau[i] - dot(S, room.f[i])
        add(room.u[i] / room.D[i], U, room.f[i])
        for k in range(6):
            put(1.0, room.inertia[i, k], B[k])
            add(-U[k] / room.D[i], U, B[k])
        if i > 0:
            add_outwards(room.R[i], room.p[i], room.f[i], room.f[i - 1])
            add_matrix_outwards(room.R[i], room.p[i], B, room.scratch[0], room.inertia[i - 1])
    here = room.scratch[0, 0]
    clear(here)
    for i in range(n):
        inwards(room.R[i], room.p[i], here, here)
        put(1.0, here, room.a[i])
        qdd[i] = (room.u[i] - dot(room.U[i], here)) / room.D[i]
        add(qdd[i], room.S[i], here)


@compiled
def aba_tangents_back(rate, j, room):
    """Tangents of U (t[3]), and of D and u (column), from the tip to the base."""
    here, before, inertia, half = room.scratch[1, 0], room.scratch[1, 1], room.scratch[2], room.scratch[0]
    dD, du = room.column[0], room.column[1]
    clear(here)
    for i in range(len(room.S) - 1, -1, -1):
        S, U, dU, D, u = room.S[i], room.U[i], room.t[3, i], room.D[i], room.u[i]
        if i >= j:
            add(1.0, room.t[2, i], here)
        du[i], dD[i] = -dot(S, here), 0.0
        add(du[i] / D, U, here)
        if i < j and not rate:  # the bodies beyond have turned
            clear(dU)
            add_times(1.0, inertia, S, dU)
            dD[i] = dot(S, dU)
            add(u / D, dU, here)
            add(-u * dD[i] / D**2, U, here)
            for k in range(6):
                add(-U[k] / D, dU, inertia[k])
                add(U[k] * dD[i] / D**2 - dU[k] / D, U, inertia[k])
        elif i == j and not rate:
            add_cross_wrench(S, room.f[i], here)
            for k in range(6):
                clear(inertia[k])
            for k in range(6):
                add_cross_wrench(S, room.B[i, k], inertia[k])
                add_cross_wrench(S, room.B[i, k], inertia[:, k])
        if i == 0:
            break
        clear(before)
        add_outwards(room.R[i], room.p[i], here, before)
        put(1.0, before, here)
        if i <= j and not rate:
            for k in range(6):
                clear(half[k])
                add_outwards(room.R[i], room.p[i], inertia[k], half[k])
                clear(inertia[k])
            for k in range(6):
                add_outwards(room.R[i], room.p[i], half[:, k], inertia[:, k])


@compiled
def aba_tangents_out(rate, j, room, qdd, out):
    """Tangents of qdd, from the base to the tip."""
    here, dD, du = room.scratch[0, 0], room.column[0], room.column[1]
    clear(here)
    for i in range(len(out)):
        inwards(room.R[i], room.p[i], here, here)
        if i == j and not rate:
            add_cross(1.0, room.a[i], room.S[i], here)
        force = du[i] - dot(room.U[i], here)
        if i < j and not rate:
            force -= dot(room.t[3, i], room.a[i]) + qdd[i] * dD[i]
        out[i] = force / room.D[i]
        add(out[i], room.S[i], here)


@compiled
def aba_chain_rule(chain, q, qd, tau, room, qdd, out):
    """Accelerations and their derivatives (2, n, n): the articulated-body algorithm line by line, body frames.

    Accelerations are counted from those of the motion with qdd = 0, whose wrenches are all that moves the bodies then.
    """
    aba(chain, q, qd, tau, room, qdd)
    for rate in range(2):
        for j in range(len(q)):
            tangents(chain, qd, rate, j, room)
            aba_tangents_back(rate, j, room)
            aba_tangents_out(rate, j, room, qdd, out[rate, j])
