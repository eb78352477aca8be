"""Derivatives (2, n, n) of inverse dynamics: spatial vectors in two kinds of frames, and the chain rule."""

from helpers.chains import compiled
from helpers.chains.algebra import (
    add,
    add_cross,
    add_cross_wrench,
    add_matrix_outwards,
    add_outwards,
    add_times,
    carry,
    clear,
    coriolis,
    dot,
    inwards,
    product,
    products,
    put,
)
from helpers.chains.sweeps import sweep_body, sweep_ground


@compiled
def factors(room, i):
    """Row i of the factors of the derivatives, twists and what they are multiplied by: bodies side by side."""
    S, Psi, Psi2, B, inertia = room.S[i], room.Psi[i], room.Psi2[i], room.B[i], room.inertia[i]
    one, two, three, four = room.scratch[0, 0], room.scratch[0, 1], room.scratch[0, 2], room.scratch[0, 3]
    clear(one)
    clear(two)
    clear(three)
    clear(four)
    add_times(1.0, inertia, S, one)
    add_times(1.0, B, S, two)
    add_times(2.0, inertia, Psi, two)
    add_times(1.0, B, Psi, three)
    add_times(1.0, inertia, room.Psi2[i], three)
    add_cross_wrench(S, room.f[i], three)
    for k in range(6):
        add(S[k], B[k], four)
    for k in range(6):
        twists, rows = room.twists[:, k, i], room.rows[:, k, i]
        twists[0], twists[1], twists[2] = S[k], Psi[k], Psi2[k]
        rows[0], rows[1], rows[2], rows[3] = one[k], two[k], three[k], four[k]


@compiled
def idsva_ground(chain, q, qd, qdd, room, out):
    """Derivatives (2, n, n) of inverse dynamics, all in world axes: nothing is carried."""
    n = len(q)
    sweep_ground(chain, q, qd, qdd, room)
    for i in range(n):
        coriolis(room.v[i], room.inertia[i], room.h[i], room.B[i])
    for i in range(n - 1, -1, -1):
        factors(room, i)
        if i > 0:
            add(1.0, room.f[i], room.f[i - 1])
            for k in range(6):
                add(1.0, room.inertia[i, k], room.inertia[i - 1, k])
                add(1.0, room.B[i, k], room.B[i - 1, k])
    rows, twists = room.rows, room.twists
    for j in range(n):
        product(rows[2, :, j], twists[0], out[0, j, :j])
        product(rows[1, :, j], twists[0], out[1, j, :j])
        products(room.Psi[j], rows[3, :, j:], room.Psi2[j], rows[0, :, j:], 1.0, out[0, j, j:])
        products(room.S[j], rows[3, :, j:], room.Psi[j], rows[0, :, j:], 2.0, out[1, j, j:])


@compiled
def idsva_body(chain, q, qd, qdd, room, out):
    """Derivatives (2, n, n) of inverse dynamics in body frames.

    For each pair of bodies something has to be carried: the three twists of the one before to the one beyond, which
    are fewer than the four that they are multiplied by.
    """
    n = len(q)
    sweep_body(chain, q, qd, qdd, room)
    for i in range(n):
        coriolis(room.v[i], room.inertia[i], room.h[i], room.B[i])
    for i in range(n - 1, -1, -1):
        factors(room, i)
        if i > 0:
            R, p, half = room.R[i], room.p[i], room.scratch[0]
            add_outwards(R, p, room.f[i], room.f[i - 1])
            add_matrix_outwards(R, p, room.inertia[i], half, room.inertia[i - 1])
            add_matrix_outwards(R, p, room.B[i], half, room.B[i - 1])
    S, Psi, Psi2 = room.twists[0], room.twists[1], room.twists[2]
    for j in range(n):
        for k in range(3):
            carry(room.R[j], room.p[j], room.twists[k], j)
        product(room.rows[2, :, j], S, out[0, j, :j])
        product(room.rows[1, :, j], S, out[1, j, :j])
        one, four = room.rows[0, :, j], room.rows[3, :, j]
        by_q, by_qd = room.column[0, : j + 1], room.column[1, : j + 1]
        products(four, Psi, one, Psi2, 1.0, by_q)
        products(four, S, one, Psi, 2.0, by_qd)
        for i in range(j + 1):
            out[0, i, j], out[1, i, j] = by_q[i], by_qd[i]


@compiled
def tangents(chain, qd, rate, j, room):
    """Tangents t[0], t[1], t[2] of v, a and f by coordinate j, or by its rate, in body frames."""
    v, a, f = room.t[0], room.t[1], room.t[2]
    momentum = room.scratch[0, 0]
    for i in range(j, len(qd)):
        if i > j:
            inwards(room.R[i], room.p[i], v[i - 1], v[i])
            inwards(room.R[i], room.p[i], a[i - 1], a[i])
            add_cross(qd[i], v[i], room.S[i], a[i])
        elif rate:
            put(1.0, room.S[i], v[i])
            put(1.0, room.Psi[i], a[i])
        else:
            put(1.0, room.Psi[i], v[i])
            put(1.0, room.Psi2[i], a[i])
            add_cross(-1.0, room.v[i], room.Psi[i], a[i])  # Psi x S qd takes the place of v x Psi, v that of before
        clear(f[i])
        clear(momentum)
        add_times(1.0, chain.inertia[i], a[i], f[i])
        add_times(1.0, chain.inertia[i], v[i], momentum)
        add_cross_wrench(room.v[i], momentum, f[i])
        add_cross_wrench(v[i], room.h[i], f[i])


@compiled
def rnea_chain_rule(chain, q, qd, qdd, room, out):
    """Derivatives (2, n, n) of inverse dynamics: the recursive Newton-Euler algorithm line by line, body frames."""
    n = len(q)
    sweep_body(chain, q, qd, qdd, room)
    for i in range(n - 1, 0, -1):
        add_outwards(room.R[i], room.p[i], room.f[i], room.f[i - 1])
    here, before = room.scratch[1, 0], room.scratch[1, 1]
    for rate in range(2):
        for j in range(n):
            tangents(chain, qd, rate, j, room)
            clear(here)
            for i in range(n - 1, -1, -1):
                if i >= j:
                    add(1.0, room.t[2, i], here)
                out[rate, j, i] = dot(room.S[i], here)
                if i == j and not rate:
                    add_cross_wrench(room.S[i], room.f[i], here)
                clear(before)
                add_outwards(room.R[i], room.p[i], here, before)
                put(1.0, before, here)
