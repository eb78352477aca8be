"""Derivatives of the dynamics of chains of hinges, by the recursions that Singh, Russell and Wensing compare.

Inverse dynamics, for given q, qd, qdd:

- `idsva_ground`, `idsva_body`: two sweeps with spatial vectors, as docs/theory.md, 4 has them; in world axes, or with
  every vector in the frame of its own body, so that it is carried from frame to frame.
- `rnea_chain_rule`: the recursive Newton-Euler algorithm differentiated line by line, in body frames; one sweep out and
  one back for each coordinate and each rate.

Forward dynamics, for given q, qd, tau: `fdsva`, `fdcr` are -M^{-1} times those, by articulated bodies in world axes;
`aba_chain_rule` is the articulated-body algorithm differentiated line by line, in body frames.

They know nothing but hinges and share nothing with the engine: they measure recursions against each other. Spatial
vectors are [angular; linear]. Derivatives are kept column by column, out[0, j, i] = dtau_i/dq_j and out[1, j, i] =
dtau_i/dqd_j, or those of qdd_i. All in one file: a cached caller would not notice that one in another file has changed.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from sorosim.robot import Robot

Array = NDArray[np.float64]

# code that only writes into its arguments, under the options of the engine
compiled = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)


class Chain(NamedTuple):
    """A serial chain of rigid bodies on hinges; the first hangs on the world."""

    R: Array  # (n, 3, 3) hinge's frame in the frame of the body before, at q = 0
    p: Array  # (n, 3) [m]
    axis: Array  # (n, 3) unit vectors, body frame
    inertia: Array  # (n, 6, 6) spatial inertias, body frame
    gravity: Array  # (3,) world frame [m/s^2]


class Room(NamedTuple):
    """Where the sweeps write, in the frames of the sweep; "beyond" includes the body itself."""

    R: Array  # (n, 3, 3) each body in the one before, or in the world
    p: Array  # (n, 3)
    S: Array  # (n, 6) hinge
    Psi: Array  # (n, 6) v x S, v that of the body before
    Psi2: Array  # (n, 6) a x S + v x Psi, a and v those of the body before
    v: Array  # (n, 6)
    a: Array  # (n, 6) with -gravity, that of the world
    h: Array  # (n, 6) I v
    f: Array  # (n, 6) wrenches I a + v x* I v, then those of all bodies beyond
    inertia: Array  # (n, 6, 6), then of all bodies beyond, rigid or articulated
    B: Array  # (n, 6, 6) v x* I - I v x + (I v) xbar*, then of all bodies beyond; articulated inertias, hinge taken out
    t: Array  # (4, n, 6) what S, Psi and Psi2 of the bodies before are multiplied by; tangents of a column
    U: Array  # (n, 6) articulated inertia times S
    D: Array  # (n,) S . U
    u: Array  # (n,) what is left of the hinge's force
    column: Array  # (2, n) tangents of D and u
    scratch: Array  # (3, 6, 6)


def make_chain(robot: Robot) -> Chain:
    """Arrays of a robot that is a chain of rigid bodies on revolute joints, in order."""
    links = robot.links
    for link, parent in zip(links, ["world", *(link.name for link in links)], strict=False):
        assert (link.parent, link.joint.kind) == (parent, "revolute"), link.name
    at = np.array([link.at for link in links])
    return Chain(
        np.ascontiguousarray(at[:, :3, :3]),
        np.ascontiguousarray(at[:, :3, 3]),
        np.array([link.joint.axis for link in links]),
        np.array([link.body.spatial_inertia for link in links]),
        np.array(robot.description.gravity, dtype=float),
    )


def make_room(n: int) -> Room:
    """Room for the sweeps over n bodies."""
    vector, matrix = (n, 6), (n, 6, 6)
    shapes = [(n, 3, 3), (n, 3), *7 * [vector], matrix, matrix, (4, n, 6), vector, (n,), (n,), (2, n), (3, 6, 6)]
    return Room(*map(np.zeros, shapes))


# -- algebra of twists v, wrenches f, and of the pose R, p of a frame ---------------------------------------------------


@compiled
def dot(x, y):
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3] + x[4] * y[4] + x[5] * y[5]


@compiled
def clear(out):
    """out = 0."""
    for i in range(6):
        out[i] = 0.0


@compiled
def put(scale, x, out):
    """out = scale x."""
    for i in range(6):
        out[i] = scale * x[i]


@compiled
def add(scale, x, out):
    """out += scale x."""
    for i in range(6):
        out[i] += scale * x[i]


@compiled
def add_times(scale, A, x, out):
    """out += scale A x."""
    for i in range(6):
        out[i] += scale * dot(A[i], x)


@compiled
def add_cross(scale, v, u, out):
    """out += scale v x u."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[i] += scale * (v[j] * u[k] - v[k] * u[j])
        out[3 + i] += scale * (v[j] * u[3 + k] - v[k] * u[3 + j] + v[3 + j] * u[k] - v[3 + k] * u[j])


@compiled
def add_cross_wrench(v, f, out):
    """out += v x* f."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[i] += v[j] * f[k] - v[k] * f[j] + v[3 + j] * f[3 + k] - v[3 + k] * f[3 + j]
        out[3 + i] += v[j] * f[3 + k] - v[k] * f[3 + j]


@compiled
def inwards(R, p, v, out):
    """out = X v, a twist as the frame sees it; v and out may be one."""
    a, b, c = v[0], v[1], v[2]
    x, y, z = v[3] + b * p[2] - c * p[1], v[4] + c * p[0] - a * p[2], v[5] + a * p[1] - b * p[0]
    for i in range(3):
        out[i] = R[0, i] * a + R[1, i] * b + R[2, i] * c
        out[3 + i] = R[0, i] * x + R[1, i] * y + R[2, i] * z


@compiled
def add_outwards(R, p, f, out):
    """out += X^T f, a wrench in the frame as seen from outside."""
    x = R[0, 0] * f[3] + R[0, 1] * f[4] + R[0, 2] * f[5]
    y = R[1, 0] * f[3] + R[1, 1] * f[4] + R[1, 2] * f[5]
    z = R[2, 0] * f[3] + R[2, 1] * f[4] + R[2, 2] * f[5]
    out[0] += R[0, 0] * f[0] + R[0, 1] * f[1] + R[0, 2] * f[2] + p[1] * z - p[2] * y
    out[1] += R[1, 0] * f[0] + R[1, 1] * f[1] + R[1, 2] * f[2] + p[2] * x - p[0] * z
    out[2] += R[2, 0] * f[0] + R[2, 1] * f[1] + R[2, 2] * f[2] + p[0] * y - p[1] * x
    out[3] += x
    out[4] += y
    out[5] += z


@compiled
def add_matrix_outwards(R, p, A, half, out):
    """out += X^T A X; half (6, 6) is overwritten."""
    for k in range(6):
        clear(half[k])
        add_outwards(R, p, A[k], half[k])
    for k in range(6):
        add_outwards(R, p, half[:, k], out[:, k])


@compiled
def turn(R, axis, angle, out):
    """out = R exp(angle axis^)."""
    c, s = np.cos(angle), np.sin(angle)
    for j in range(3):
        k, m = (j + 1) % 3, (j + 2) % 3
        e_j, e_k = c + (1.0 - c) * axis[j] ** 2, (1.0 - c) * axis[j] * axis[k] + s * axis[m]
        e_m = (1.0 - c) * axis[j] * axis[m] - s * axis[k]
        for i in range(3):
            out[i, j] = R[i, j] * e_j + R[i, k] * e_k + R[i, m] * e_m


# -- sweeps from the base to the tip -----------------------------------------------------------------------------------


@compiled
def move(room, i, qd, qdd):
    """Motion of body i, where v[i] and a[i] are those of the body before."""
    v, a, S, Psi, Psi2 = room.v[i], room.a[i], room.S[i], room.Psi[i], room.Psi2[i]
    clear(Psi)
    clear(Psi2)
    add_cross(1.0, v, S, Psi)
    add_cross(1.0, a, S, Psi2)
    add_cross(1.0, v, Psi, Psi2)
    add(qdd, S, a)
    add(qd, Psi, a)  # v x S is the same before and behind the hinge
    add(qd, S, v)


@compiled
def weigh(room, i, inertia):
    """Momentum and wrench of body i."""
    h, f = room.h[i], room.f[i]
    clear(h)
    clear(f)
    add_times(1.0, inertia, room.v[i], h)
    add_times(1.0, inertia, room.a[i], f)
    add_cross_wrench(room.v[i], h, f)


@compiled
def turn_over(v, inertia, h, B):
    """B = v x* I - I v x + h xbar*; I v x = -(v x* I)^T."""
    for k in range(6):
        clear(B[k])
    for k in range(6):
        add_cross_wrench(v, inertia[k], B[k])
        add_cross_wrench(v, inertia[k], B[:, k])
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        B[i, j] += h[k]
        B[i, k] -= h[j]
        for row, column in ((i, 3), (3 + i, 0)):
            B[row, column + j] += h[3 + k]
            B[row, column + k] -= h[3 + j]


@compiled
def place(chain, i, angle, local, room):
    """Pose of body i in the world, and its hinge there."""
    R, p, S, axis = room.R[i], room.p[i], room.S[i], chain.axis[i]
    if i == 0:
        turn(chain.R[0], axis, angle, R)
        for row in range(3):
            p[row] = chain.p[0, row]
    else:
        turn(chain.R[i], axis, angle, local)
        for row in range(3):
            p[row] = room.p[i - 1, row]
            for k in range(3):
                R[row, k] = 0.0
                p[row] += room.R[i - 1, row, k] * chain.p[i, k]
                for m in range(3):
                    R[row, k] += room.R[i - 1, row, m] * local[m, k]
    for row in range(3):
        S[row] = R[row, 0] * axis[0] + R[row, 1] * axis[1] + R[row, 2] * axis[2]
    for row in range(3):
        k, m = (row + 1) % 3, (row + 2) % 3
        S[3 + row] = p[k] * S[m] - p[m] * S[k]


@compiled
def rise(gravity, a):
    """Acceleration of the world that stands for gravity."""
    for k in range(3):
        a[k], a[3 + k] = 0.0, -gravity[k]


@compiled
def sweep_ground(chain, q, qd, qdd, room):
    """Poses, motions, wrenches and inertias in world axes."""
    local, half = room.scratch[0], room.scratch[1]
    for i in range(len(q)):
        place(chain, i, q[i], local, room)
        if i == 0:
            clear(room.v[0])
            rise(chain.gravity, room.a[0])
        else:
            put(1.0, room.v[i - 1], room.v[i])
            put(1.0, room.a[i - 1], room.a[i])
        for k in range(6):
            clear(room.inertia[i, k])
        add_matrix_outwards(room.R[i], room.p[i], chain.inertia[i], half, room.inertia[i])
        move(room, i, qd[i], qdd[i])
        weigh(room, i, room.inertia[i])


@compiled
def sweep_body(chain, q, qd, qdd, room):
    """Poses in the body before, motions, wrenches and inertias in the frame of each body."""
    still, risen = room.scratch[0, 0], room.scratch[0, 1]
    clear(still)
    rise(chain.gravity, risen)
    for i in range(len(q)):
        R, p = room.R[i], room.p[i]
        turn(chain.R[i], chain.axis[i], q[i], R)
        for k in range(3):
            p[k] = chain.p[i, k]
            room.S[i, k], room.S[i, 3 + k] = chain.axis[i, k], 0.0
        inwards(R, p, room.v[i - 1] if i else still, room.v[i])
        inwards(R, p, room.a[i - 1] if i else risen, room.a[i])
        for k in range(6):
            put(1.0, chain.inertia[i, k], room.inertia[i, k])
        move(room, i, qd[i], qdd[i])
        weigh(room, i, room.inertia[i])


# -- inverse dynamics --------------------------------------------------------------------------------------------------


@compiled
def rows(room, i):
    """What S, Psi and Psi2 of body i and those before are multiplied by."""
    t, S, Psi, B, inertia = room.t, room.S[i], room.Psi[i], room.B[i], room.inertia[i]
    for k in range(4):
        clear(t[k, i])
    add_times(1.0, inertia, S, t[0, i])
    add_times(1.0, B, S, t[1, i])
    add_times(2.0, inertia, Psi, t[1, i])
    add_times(1.0, B, Psi, t[2, i])
    add_times(1.0, inertia, room.Psi2[i], t[2, i])
    add_cross_wrench(S, room.f[i], t[2, i])
    for k in range(6):
        add(S[k], B[k], t[3, i])


@compiled
def entries(t, i, j, S, Psi, Psi2, out):
    """Derivatives that link body i and body j beyond it, S and Psi those of i where t is."""
    out[0, i, j] = dot(t[3, j], Psi) + dot(t[0, j], Psi2)
    out[1, i, j] = dot(t[3, j], S) + 2.0 * dot(t[0, j], Psi)
    if j > i:
        out[0, j, i] = dot(t[2, j], S)
        out[1, j, i] = dot(t[1, j], S)


@compiled
def idsva_ground(chain, q, qd, qdd, room, out):
    """Derivatives (2, n, n) of inverse dynamics, all in world axes: sums need no transformation."""
    n = len(q)
    sweep_ground(chain, q, qd, qdd, room)
    for i in range(n):
        turn_over(room.v[i], room.inertia[i], room.h[i], room.B[i])
    for i in range(n - 1, -1, -1):
        rows(room, i)
        for j in range(i, n):
            entries(room.t, i, j, room.S[i], room.Psi[i], room.Psi2[i], out)
        if i > 0:
            add(1.0, room.f[i], room.f[i - 1])
            for k in range(6):
                add(1.0, room.inertia[i, k], room.inertia[i - 1, k])
                add(1.0, room.B[i, k], room.B[i - 1, k])


@compiled
def idsva_body(chain, q, qd, qdd, room, out):
    """Derivatives (2, n, n) of inverse dynamics in body frames.

    For each pair of bodies something has to be carried: the three twists of the one before to the body beyond, which
    are one fewer than the four rows.
    """
    n = len(q)
    sweep_body(chain, q, qd, qdd, room)
    for i in range(n):
        turn_over(room.v[i], room.inertia[i], room.h[i], room.B[i])
    for i in range(n - 1, -1, -1):
        rows(room, i)
        if i > 0:
            R, p, half = room.R[i], room.p[i], room.scratch[0]
            add_outwards(R, p, room.f[i], room.f[i - 1])
            add_matrix_outwards(R, p, room.inertia[i], half, room.inertia[i - 1])
            add_matrix_outwards(R, p, room.B[i], half, room.B[i - 1])
    S, Psi, Psi2 = room.scratch[0, 0], room.scratch[0, 1], room.scratch[0, 2]
    for i in range(n):
        put(1.0, room.S[i], S)
        put(1.0, room.Psi[i], Psi)
        put(1.0, room.Psi2[i], Psi2)
        for j in range(i, n):
            if j > i:
                inwards(room.R[j], room.p[j], S, S)
                inwards(room.R[j], room.p[j], Psi, Psi)
                inwards(room.R[j], room.p[j], Psi2, Psi2)
            entries(room.t, i, j, S, Psi, Psi2, out)


@compiled
def tangents(chain, qd, rate, j, room):
    """Tangents of twists, accelerations and wrenches (t[0], t[1], t[2]) by coordinate j, or by its rate, body frames."""
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


# -- forward dynamics --------------------------------------------------------------------------------------------------


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
def aba_chain_rule(chain, q, qd, tau, room, qdd, out):
    """Accelerations and their derivatives (2, n, n): the articulated-body algorithm line by line, body frames.

    Accelerations are counted from those of the motion with qdd = 0, so that the wrenches of that are all there is.
    """
    n = len(q)
    aba(chain, q, qd, tau, room, qdd)
    for rate in range(2):
        for j in range(n):
            tangents(chain, qd, rate, j, room)
            aba_tangents_back(rate, j, room)
            aba_tangents_out(rate, j, room, qdd, out[rate, j])


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
