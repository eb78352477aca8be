"""Concentric tubes in motion: what turns about its axis, and what bends in turning is damped (docs/theory.md, 20).

A piece of tube that turns by alpha against the frame of its node is a rotor there, with the kinetic energy
J (w_x + alpha')^2/2. That of J w_x^2 is in the inertia of the node; the rest is here, added after the sweeps.
"""

from __future__ import annotations

from sorosim.base.compiled import kernel_in_place, kernel_lazy
from sorosim.mechanics.kernels import ancestors as an
from sorosim.mechanics.kernels.small import add_coad, add_coadbar, clear, clear_matrix, cross
from sorosim.mechanics.kernels.tubes import (
    section_length,
    section_ratio,
)


@kernel_in_place
def angle_along(laws, n, at, index, first, x):
    """What an angle is, or changes by, along x (ndof,): n values from `at` on times coordinates of a block."""
    total = 0.0 * x[0]
    for i in range(n):
        total += laws.value[at + i] * x[first + laws.columns[index + i]]
    return total


@kernel_in_place
def rotor_inertia(tree, laws, k, q):
    """Inertia J of rotor k, at the length of its section."""
    return laws.value[laws.rotor[k].at] * section_ratio(tree, laws, laws.rotor[k].section, q)


@kernel_in_place
def rotor_along(tree, laws, k, x):
    """What the angle of rotor k changes by along x (ndof,)."""
    row = laws.rotor[k]
    first = tree.block[row.block].column
    return angle_along(laws, row.n_angles, row.at + 1, row.index, first, x)


@kernel_lazy("tubes")
def rotor_quantities(tree, laws, q, qd, qdd, tensors, ws) -> None:
    """What rotors add to F and, if `tensors`, to N of their nodes by their own spin, after `point_quantities`."""
    H = ws.scratch[0, 0]
    clear(H)
    for k in range(laws.rotor.shape[0]):
        node, J = laws.rotor[k].node, rotor_inertia(tree, laws, k, q)
        momentum, torque = J * rotor_along(tree, laws, k, qd), J * rotor_along(tree, laws, k, qdd)
        F = ws.twist[node, 2]
        for i in range(3):
            H[i] = momentum * ws.pose[node, i, 0]
            F[i] += torque * ws.pose[node, i, 0]
        add_coad(ws.twist[node, 0], H, 1.0, F)
        if tensors:
            add_coadbar(H, 1.0, ws.tensor[node, 1])


@kernel_lazy("tubes")
def rotor_forces(tree, laws, q, qdd, ws, tau) -> None:
    """tau (ndof,) += forces on the angles of rotors, c J (w_x' + alpha'')."""
    for k in range(laws.rotor.shape[0]):
        row = laws.rotor[k]
        node, first, at = row.node, tree.block[row.block].column, row.at
        torque = rotor_along(tree, laws, k, qdd)
        for i in range(3):
            torque += ws.pose[node, i, 0] * ws.twist[node, 1, i]
        torque *= rotor_inertia(tree, laws, k, q)
        for i in range(row.n_angles):
            tau[first + laws.columns[row.index + i]] += laws.value[at + 1 + i] * torque


@kernel_in_place
def add_rotor(tree, laws, k, q, moving, with_mass, ws, dq, dqd, mass):
    """Terms by the angle of rotor k in the derivatives of inverse dynamics; the mass matrix alone if not `moving`."""
    row = laws.rotor[k]
    node, n, at, index = row.node, row.n_angles, row.at, row.index
    first, J, slope = tree.block[row.block].column, rotor_inertia(tree, laws, k, q), at + 1
    x, y, twist, path = ws.scratch[0, 0], ws.scratch[0, 1], ws.twist[node, 0], ws.vector
    momentum, turned, back, moved = (
        path[an.PATH_SUMS],
        path[an.PATH_SUMS + 1],
        path[an.PATH_SUMS + 2],
        path[an.PATH_SUMS + 3],
    )
    clear_matrix(ws.scratch[0])
    for i in range(3):
        x[i] = J * ws.pose[node, i, 0]
    cross(twist[:3], x[:3], y[:3])
    m = an.gather_ancestors(tree, node, 3, 0, ws)
    an.set_pairs(x, path, an.PATH_J, m, momentum)
    if moving:
        an.set_pairs(y, path, an.PATH_J, m, turned)
        an.set_pairs(y, path, an.PATH_JD, m, moved)
        an.add_pairs(1.0, x, path, an.PATH_JDD, m, moved)
        an.set_pairs(x, path, an.PATH_JD, m, back)
    for i in range(n):
        own, part = first + laws.columns[index + i], laws.value[slope + i]
        if with_mass:
            an.add_to_row(ws.place, m, part, momentum, mass[own])
            an.add_to_column(ws.place, m, part, momentum, own, mass)
        if moving:
            an.add_to_column(ws.place, m, part, turned, own, dqd)
            an.add_to_row(ws.place, m, part, turned, dqd[own])
            an.add_to_row(ws.place, m, 2.0 * part, back, dqd[own])
            an.add_to_row(ws.place, m, part, moved, dq[own])
    for i in range(n if with_mass else 0):
        own, part = first + laws.columns[index + i], J * laws.value[slope + i]
        for j in range(n):
            mass[own, first + laws.columns[index + j]] += part * laws.value[slope + j]


@kernel_lazy("tubes")
def rotor_mass(tree, laws, q, ws, mass) -> None:
    """Add rotors to the mass matrix, after `composite_mass_matrix`."""
    for k in range(laws.rotor.shape[0]):
        add_rotor(tree, laws, k, q, False, True, ws, mass, mass, mass)


@kernel_lazy("tubes")
def rotor_derivatives(tree, laws, q, qdd, moving, with_mass, ws, tau, dq, dqd, mass) -> None:
    """Add what rotors add to the derivatives of inverse dynamics, after `derivative_sweep`; to tau as well."""
    if moving:
        rotor_forces(tree, laws, q, qdd, ws, tau)
    for k in range(laws.rotor.shape[0]):
        add_rotor(tree, laws, k, q, moving, with_mass, ws, dq, dqd, mass)


@kernel_in_place
def rotor_energy(tree, laws, q, qd, ws):
    """Kinetic energy of rotors beyond that of their nodes [J], after a forward sweep."""
    energy = 0.0 * qd[0]
    for k in range(laws.rotor.shape[0]):
        node, rate = laws.rotor[k].node, rotor_along(tree, laws, k, qd)
        turning = 0.5 * rate
        for i in range(3):
            turning += ws.pose[node, i, 0] * ws.twist[node, 0, i]
        energy += rotor_inertia(tree, laws, k, q) * rate * turning
    return energy


@kernel_in_place
def add_by_length(tree, laws, r, q, i, force, ws):
    """Add to ws.internal[0] what a force on coordinate i, in inverse proportion to the length of law r, changes by."""
    row = laws.damp[r]
    b, section = row.block, laws.stretch[row.section]
    per_length = force / section_length(tree, laws, row.section, q)
    rates = section.at + 1 + section.n
    for j in range(section.n_ends):
        e = laws.columns[section.index + j]
        ws.internal[0, tree.block[b].square + i * tree.block[b].n + e] -= laws.value[rates + j] * per_length


@kernel_in_place
def add_own_damping(tree, laws, r, q, qd, derivatives, ws, tau):
    """tau -= D (L/l - 1) qd with the diagonal D of law r, beside the linear damping D; if `derivatives` likewise."""
    row = laws.damp[r]
    b, first, at = row.block, row.first, row.at
    c0, square, size = tree.block[b].column, tree.block[b].square, tree.block[b].n
    ratio = 1.0 / section_ratio(tree, laws, row.section, q)
    for i in range(row.n):
        D, rate = laws.value[at + i], qd[c0 + first + i]
        tau[c0 + first + i] -= (ratio - 1.0) * D * rate
        if derivatives:
            ws.internal[1, square + (first + i) * (size + 1)] -= (ratio - 1.0) * D
            add_by_length(tree, laws, r, q, first + i, -ratio * D * rate, ws)


@kernel_in_place
def add_turn_damping(tree, laws, r, q, qd, derivatives, ws, tau):
    """tau -= d/dqd of k (|w' - alpha' S w|^2 - |w'|^2)/2 of law r; if `derivatives` ws.internal likewise."""
    row = laws.damp[r]
    b, first, at, n = row.block, row.first, row.at, row.n
    angles, index, slopes = row.n_angles, row.index, at + 1 + n
    c0, square, size = tree.block[b].column, tree.block[b].square, tree.block[b].n
    k = laws.value[at] / section_ratio(tree, laws, row.section, q)
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
        a, part = laws.columns[index + i], laws.value[slopes + i]
        tau[c0 + a] += part * torque
        if derivatives:
            add_by_length(tree, laws, r, q, a, part * torque, ws)
            for j in range(angles):
                entry = k * squared * part * laws.value[slopes + j]
                ws.internal[1, square + a * size + laws.columns[index + j]] -= entry
    for i in range(n):
        phi, y, z = k * laws.value[at + 1 + i], first + i, first + n + i
        tau[c0 + y] -= phi * turn * w_z
        tau[c0 + z] += phi * turn * w_y
        if not derivatives:
            continue
        add_by_length(tree, laws, r, q, y, -phi * turn * w_z, ws)
        add_by_length(tree, laws, r, q, z, phi * turn * w_y, ws)
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


@kernel_lazy("tubes")
def tube_damping(tree, laws, q, qd, derivatives, ws, tau) -> None:
    """tau (ndof,) += forces of damping beyond the linear one of the file; if `derivatives` ws.internal likewise."""
    for r in range(laws.damp.shape[0]):
        if laws.damp[r].n_angles > 0:
            add_turn_damping(tree, laws, r, q, qd, derivatives, ws, tau)
        else:
            add_own_damping(tree, laws, r, q, qd, derivatives, ws, tau)
