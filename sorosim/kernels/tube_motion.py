"""Concentric tubes in motion: what turns about its axis, and what bends in turning is damped (docs/theory.md, 20).

A piece of tube that turns by alpha against the frame of its node is a rotor there, with the kinetic energy
J (w_x + alpha')^2/2. That of J w_x^2 is in the inertia of the node; the rest is here, added after the sweeps.
"""

from __future__ import annotations

from sorosim.compiled import kernel_in_place, kernel_lazy
from sorosim.kernels.small import add_coad, add_coadbar, clear
from sorosim.kernels.tree import BLOCK, BLOCK_COLUMN, BLOCK_N, BLOCK_PARENT, COLUMN, COLUMN_OFFSET, N_COLUMNS, SQUARE
from sorosim.kernels.tubes import (
    BEND_ANGLES,
    BEND_AT,
    BEND_BLOCK,
    BEND_FIRST,
    BEND_INDEX,
    BEND_N,
    ROTOR_ANGLES,
    ROTOR_AT,
    ROTOR_BLOCK,
    ROTOR_INDEX,
    ROTOR_NODE,
)


@kernel_in_place
def angle_along(laws, n, at, index, first, x):
    """What an angle is, or changes by, along x (ndof,): n values from `at` on times coordinates of a block."""
    total = 0.0 * x[0]
    for i in range(n):
        total += laws.value[at + i] * x[first + laws.columns[index + i]]
    return total


@kernel_in_place
def rotor_along(tree, laws, k, x):
    """J times what the angle of rotor k changes by along x (ndof,)."""
    row = laws.rotor[k]
    first, at = tree.block[row[ROTOR_BLOCK], BLOCK_COLUMN], row[ROTOR_AT]
    return laws.value[at] * angle_along(laws, row[ROTOR_ANGLES], at + 1, row[ROTOR_INDEX], first, x)


@kernel_lazy("tubes")
def spin_quantities(tree, laws, qd, qdd, tensors, ws) -> None:
    """What rotors add to F and, if `tensors`, to N of their nodes by their own spin, after `point_quantities`."""
    H = ws.scratch[0, 0]
    clear(H)
    for k in range(laws.rotor.shape[0]):
        node = laws.rotor[k, ROTOR_NODE]
        momentum, torque = rotor_along(tree, laws, k, qd), rotor_along(tree, laws, k, qdd)
        F = ws.twist[node, 2]
        for i in range(3):
            H[i] = momentum * ws.pose[node, i, 0]
            F[i] += torque * ws.pose[node, i, 0]
        add_coad(ws.twist[node, 0], H, 1.0, F)
        if tensors:
            add_coadbar(H, 1.0, ws.tensor[node, 1])


@kernel_lazy("tubes")
def spin_forces(tree, laws, qdd, ws, tau) -> None:
    """tau (ndof,) += forces on the angles of rotors, c J (w_x' + alpha'')."""
    for k in range(laws.rotor.shape[0]):
        row = laws.rotor[k]
        node, first, at = row[ROTOR_NODE], tree.block[row[ROTOR_BLOCK], BLOCK_COLUMN], row[ROTOR_AT]
        torque = rotor_along(tree, laws, k, qdd)
        for i in range(3):
            torque += laws.value[at] * ws.pose[node, i, 0] * ws.twist[node, 1, i]
        for i in range(row[ROTOR_ANGLES]):
            tau[first + laws.columns[row[ROTOR_INDEX] + i]] += laws.value[at + 1 + i] * torque


@kernel_in_place
def add_rotor(tree, laws, k, moving, with_mass, ws, dq, dqd, mass):
    """Terms by the angle of rotor k in the derivatives of inverse dynamics; the mass matrix alone if not `moving`."""
    row = laws.rotor[k]
    node, n, at, index = row[ROTOR_NODE], row[ROTOR_ANGLES], row[ROTOR_AT], row[ROTOR_INDEX]
    first, J, slope = tree.block[row[ROTOR_BLOCK], BLOCK_COLUMN], laws.value[at], at + 1
    x0, x1, x2 = ws.pose[node, 0, 0], ws.pose[node, 1, 0], ws.pose[node, 2, 0]
    w0, w1, w2 = ws.twist[node, 0, 0], ws.twist[node, 0, 1], ws.twist[node, 0, 2]
    y0, y1, y2 = w1 * x2 - w2 * x1, w2 * x0 - w0 * x2, w0 * x1 - w1 * x0
    while node >= 0:
        m, c1, work = tree.segment[node, N_COLUMNS], tree.segment[node, COLUMN], tree.segment[node, COLUMN_OFFSET]
        for j in range(m):
            a, b, c = work + j, work + m + j, work + 2 * m + j
            j0, j1, j2 = ws.column[1, a], ws.column[1, b], ws.column[1, c]
            accelerated = J * (x0 * j0 + x1 * j1 + x2 * j2)
            if with_mass and accelerated != 0.0:
                for i in range(n):
                    own, entry = first + laws.columns[index + i], laws.value[slope + i] * accelerated
                    mass[own, c1 + j] += entry
                    mass[c1 + j, own] += entry
            if not moving:
                continue
            r0, r1, r2 = ws.column[2, a], ws.column[2, b], ws.column[2, c]
            turned = J * (y0 * j0 + y1 * j1 + y2 * j2)
            back = 2.0 * J * (x0 * r0 + x1 * r1 + x2 * r2) + turned
            moved = J * (y0 * r0 + y1 * r1 + y2 * r2)
            moved += J * (x0 * ws.column[3, a] + x1 * ws.column[3, b] + x2 * ws.column[3, c])
            if turned == 0.0 and back == 0.0 and moved == 0.0:
                continue
            for i in range(n):
                own, part = first + laws.columns[index + i], laws.value[slope + i]
                dqd[c1 + j, own] += part * turned
                dqd[own, c1 + j] += part * back
                dq[own, c1 + j] += part * moved
        node = tree.block[tree.segment[node, BLOCK], BLOCK_PARENT]
    for i in range(n if with_mass else 0):
        own, part = first + laws.columns[index + i], J * laws.value[slope + i]
        for j in range(n):
            mass[own, first + laws.columns[index + j]] += part * laws.value[slope + j]


@kernel_lazy("tubes")
def spin_mass(tree, laws, ws, mass) -> None:
    """Add rotors to the mass matrix, after `composite_mass_matrix`."""
    for k in range(laws.rotor.shape[0]):
        add_rotor(tree, laws, k, False, True, ws, mass, mass, mass)


@kernel_lazy("tubes")
def spin_derivatives(tree, laws, qdd, moving, with_mass, ws, tau, dq, dqd, mass) -> None:
    """Add what rotors add to the derivatives of inverse dynamics, after `derivative_sweep`; to tau as well."""
    if moving:
        spin_forces(tree, laws, qdd, ws, tau)
    for k in range(laws.rotor.shape[0]):
        add_rotor(tree, laws, k, moving, with_mass, ws, dq, dqd, mass)


@kernel_in_place
def spin_energy(tree, laws, qd, ws):
    """Kinetic energy of rotors beyond that of their nodes [J], after a forward sweep."""
    energy = 0.0 * qd[0]
    for k in range(laws.rotor.shape[0]):
        node, J = laws.rotor[k, ROTOR_NODE], laws.value[laws.rotor[k, ROTOR_AT]]
        momentum = rotor_along(tree, laws, k, qd)
        energy += 0.5 * momentum * momentum / J
        for i in range(3):
            energy += momentum * ws.pose[node, i, 0] * ws.twist[node, 0, i]
    return energy


@kernel_lazy("tubes")
def tube_damping(tree, laws, q, qd, derivatives, ws, tau) -> None:
    """tau -= d/dqd of the sum of k (|w' - alpha' S w|^2 - |w'|^2)/2; if `derivatives` ws.internal likewise."""
    for r in range(laws.damp.shape[0]):
        row = laws.damp[r]
        b, at, n, angles, index = row[BEND_BLOCK], row[BEND_AT], row[BEND_N], row[BEND_ANGLES], row[BEND_INDEX]
        c0, square, size = tree.block[b, BLOCK_COLUMN], tree.block[b, SQUARE], tree.block[b, BLOCK_N]
        first, k, slopes = row[BEND_FIRST], laws.value[at], at + 1 + n
        turn = angle_along(laws, angles, slopes, index, c0, qd)
        w_y, w_z, v_y, v_z = 0.0 * turn, 0.0 * turn, 0.0 * turn, 0.0 * turn
        for i in range(n):
            phi, y, z = laws.value[at + 1 + i], c0 + first + i, c0 + first + n + i
            w_y += phi * q[y]
            w_z += phi * q[z]
            v_y += phi * qd[y]
            v_z += phi * qd[z]
        squared = w_y * w_y + w_z * w_z
        torque = k * (v_z * w_y - v_y * w_z - turn * squared)
        for i in range(angles):
            tau[c0 + laws.columns[index + i]] += laws.value[slopes + i] * torque
        for i in range(n):
            phi, y, z = k * laws.value[at + 1 + i], first + i, first + n + i
            tau[c0 + y] -= phi * turn * w_z
            tau[c0 + z] += phi * turn * w_y
            if not derivatives:
                continue
            for j in range(n):
                mixed = phi * laws.value[at + 1 + j] * turn
                ws.internal[0, square + y * size + first + n + j] -= mixed
                ws.internal[0, square + z * size + first + j] += mixed
            for j in range(angles):
                a, part = laws.columns[index + j], phi * laws.value[slopes + j]
                ws.internal[0, square + a * size + y] += part * (v_z - 2.0 * turn * w_y)
                ws.internal[0, square + a * size + z] -= part * (v_y + 2.0 * turn * w_z)
                ws.internal[1, square + a * size + y] -= part * w_z
                ws.internal[1, square + y * size + a] -= part * w_z
                ws.internal[1, square + a * size + z] += part * w_y
                ws.internal[1, square + z * size + a] += part * w_y
        for i in range(angles if derivatives else 0):
            a, part = laws.columns[index + i], k * squared * laws.value[slopes + i]
            for j in range(angles):
                ws.internal[1, square + a * size + laws.columns[index + j]] -= part * laws.value[slopes + j]
