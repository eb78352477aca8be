"""Chains of hinges as arrays, and sweeps from the base to the tip."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from helpers.chains import compiled
from helpers.chains.algebra import (
    add,
    add_cross,
    add_cross_wrench,
    add_matrix_outwards,
    add_times,
    clear,
    inwards,
    put,
    turn,
)
from sorosim.mechanics.robot import Robot

Array = NDArray[np.float64]


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
    twists: Array  # (3, 6, n) S, Psi, Psi2, in body frames carried outwards
    rows: Array  # (4, 6, n) what those of the bodies before are multiplied by
    t: Array  # (4, n, 6) tangents of a column: of v, a, f, U
    U: Array  # (n, 6) articulated inertia times S
    D: Array  # (n,) S . U
    u: Array  # (n,) what is left of the hinge's force
    column: Array  # (2, n) of a column: tangents of D and u
    scratch: Array  # (3, 6, 6) of whoever runs; nobody leaves anything there


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
    shapes = [(n, 3, 3), (n, 3), *7 * [vector], matrix, matrix, (3, 6, n), (4, 6, n), (4, n, 6),
              vector, (n,), (n,), (2, n), (3, 6, 6)]  # fmt: skip
    return Room(*map(np.zeros, shapes))


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
