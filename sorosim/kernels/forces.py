"""Internal forces B u - K q - D qd of a tree: elasticity, damping, laws of joints and tendons (docs/theory.md, 6)."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from sorosim.compiled import kernel_in_place
from sorosim.kernels.joints import Laws, joint_laws, stop_energy
from sorosim.kernels.small import clear, clear_matrix
from sorosim.kernels.tree import BLOCK_COLUMN, BLOCK_N

# columns of Tendons.row
ACTUATOR, TENDON_BLOCK, TENDON_BASIS, POINT = range(4)
# layout of a row of Tendons.value
WEIGHT, ROUTE, SLOPE, STRAIN_REFERENCE = 0, 1, 4, 7


class Elastic(NamedTuple):
    """Stiffness and damping of each block of coordinates, one after the other, row by row; laws of joints."""

    stiffness: np.ndarray  # (sum n_i^2,)
    damping: np.ndarray  # (sum n_i^2,)
    rest: np.ndarray  # (ndof,) coordinates without elastic force
    laws: Laws


class Tendons(NamedTuple):
    """Tendons at the quadrature points of the rods they run through, sorted by point."""

    row: np.ndarray  # (n, 4) int: actuator, block, offset in `basis`, number of the point
    value: np.ndarray  # (n, 13): quadrature weight, route d, slope d' = dd/dX, reference strain
    basis: np.ndarray  # flat: P (n_i, 6) of each point


@kernel_in_place
def elastic_force(tree, elastic, q, qd, tau):
    """tau -= K (q - rest) + D qd."""
    at = 0
    for b in range(tree.block.shape[0]):
        n, c0 = tree.block[b, BLOCK_N], tree.block[b, BLOCK_COLUMN]
        x, rest, rate = q[c0 : c0 + n], elastic.rest[c0 : c0 + n], qd[c0 : c0 + n]
        for i in range(n):
            K, D = elastic.stiffness[at : at + n], elastic.damping[at : at + n]
            total = 0.0
            for j in range(n):
                total += K[j] * (x[j] - rest[j]) + D[j] * rate[j]
            tau[c0 + i] -= total
            at += n


@kernel_in_place
def elastic_energy(tree, elastic, q):
    """(q - rest)^T K (q - rest) / 2, and the energy of end stops [J]."""
    energy, at = stop_energy(elastic.laws, q), 0
    for b in range(tree.block.shape[0]):
        n, c0 = tree.block[b, BLOCK_N], tree.block[b, BLOCK_COLUMN]
        x, rest = q[c0 : c0 + n], elastic.rest[c0 : c0 + n]
        for i in range(n):
            for j in range(n):
                energy += 0.5 * (x[i] - rest[i]) * elastic.stiffness[at + j] * (x[j] - rest[j])
            at += n
    return energy


@kernel_in_place
def elastic_matrices(tree, elastic, dq, dqd):
    """dq -= K, dqd -= D; both (ndof, ndof)."""
    at = 0
    for b in range(tree.block.shape[0]):
        n, c0 = tree.block[b, BLOCK_N], tree.block[b, BLOCK_COLUMN]
        for i in range(n):
            K, D = elastic.stiffness[at : at + n], elastic.damping[at : at + n]
            row, row_d = dq[c0 + i, c0 : c0 + n], dqd[c0 + i, c0 : c0 + n]
            for j in range(n):
                row[j] -= K[j]
                row_d[j] -= D[j]
            at += n


@kernel_in_place
def tendon_strain(tree, tendons, row, q, xi):
    """Strain xi (6,) of the rod at the point of a tendon row."""
    b = tendons.row[row, TENDON_BLOCK]
    at = tendons.row[row, TENDON_BASIS]
    c0 = tree.block[b, BLOCK_COLUMN]
    for r in range(6):
        xi[r] = tendons.value[row, STRAIN_REFERENCE + r]
    for j in range(tree.block[b, BLOCK_N]):
        for r in range(tree.rows[c0 + j, 0], tree.rows[c0 + j, 1]):
            xi[r] += tendons.basis[at + 6 * j + r] * q[c0 + j]


@kernel_in_place
def tendon_direction(value, xi, t):
    """Unit vector t (3,) along the tendon in the section's frame; returns |v|, v = E xi + d', E = [-d^, 1]."""
    d0, d1, d2 = value[ROUTE], value[ROUTE + 1], value[ROUTE + 2]
    v0 = xi[1] * d2 - xi[2] * d1 + xi[3] + value[SLOPE]
    v1 = xi[2] * d0 - xi[0] * d2 + xi[4] + value[SLOPE + 1]
    v2 = xi[0] * d1 - xi[1] * d0 + xi[5] + value[SLOPE + 2]
    length = sqrt(v0 * v0 + v1 * v1 + v2 * v2)
    t[0], t[1], t[2] = v0 / length, v1 / length, v2 / length
    return length


@kernel_in_place
def tendon_lengths(tree, tendons, q, scratch, lengths):
    """Length of each tendon inside its rods by quadrature, added to lengths (n_actuators,)."""
    xi, t = scratch[0, 0], scratch[0, 1, :3]
    for row in range(tendons.row.shape[0]):
        tendon_strain(tree, tendons, row, q, xi)
        length = tendon_direction(tendons.value[row], xi, t)
        lengths[tendons.row[row, ACTUATOR]] += tendons.value[row, WEIGHT] * length


@kernel_in_place
def tendon_forces(tree, tendons, q, u, derivatives, ws, tau, B, dq):
    """tau += B u; if `derivatives` also B += the tendons' columns and dq += d(B u)/dq.

    u (n_actuators,) is positive in pull; B (ndof, n_actuators), dq (ndof, ndof). B_col = -quad P^T E^T t and
    d(B u)/dq = -sum quad (T/|v|) P^T E^T (1 - t t^T) E P. Source: docs/theory.md, 6.
    """
    xi, t, f, total = ws.scratch[0, 0], ws.scratch[0, 1, :3], ws.scratch[0, 2], ws.scratch[0, 3]
    H, E = ws.scratch[1], ws.scratch[2, :3]
    n_rows = tendons.row.shape[0]
    row = 0
    while row < n_rows:
        b, at, point = tendons.row[row, TENDON_BLOCK], tendons.row[row, TENDON_BASIS], tendons.row[row, POINT]
        n, c0 = tree.block[b, BLOCK_N], tree.block[b, BLOCK_COLUMN]
        P, rows = tendons.basis[at : at + 6 * n].reshape(n, 6), tree.rows[c0 : c0 + n]
        tendon_strain(tree, tendons, row, q, xi)
        clear(total)
        clear_matrix(H)
        while row < n_rows and tendons.row[row, POINT] == point:
            value, actuator = tendons.value[row], tendons.row[row, ACTUATOR]
            weight, tension = value[WEIGHT], u[actuator]
            length = tendon_direction(value, xi, t)
            d0, d1, d2 = value[ROUTE], value[ROUTE + 1], value[ROUTE + 2]
            f[0], f[1], f[2] = d1 * t[2] - d2 * t[1], d2 * t[0] - d0 * t[2], d0 * t[1] - d1 * t[0]
            f[3], f[4], f[5] = t[0], t[1], t[2]
            for r in range(6):
                total[r] -= weight * tension * f[r]
            if derivatives:
                column = B[c0 : c0 + n, actuator]
                for j in range(n):
                    p = P[j]
                    column[j] -= weight * (
                        p[0] * f[0] + p[1] * f[1] + p[2] * f[2] + p[3] * f[3] + p[4] * f[4] + p[5] * f[5]
                    )
            if derivatives and tension != 0.0:
                # E^T (1 - t t^T) E = E^T E - f f^T, with f = E^T t
                clear_matrix(E)
                E[0, 1], E[0, 2], E[1, 0], E[1, 2], E[2, 0], E[2, 1] = d2, -d1, -d2, d0, d1, -d0
                E[0, 3], E[1, 4], E[2, 5] = 1.0, 1.0, 1.0
                scale = weight * tension / length
                for r in range(6):
                    for c in range(6):
                        H[r, c] -= scale * (E[0, r] * E[0, c] + E[1, r] * E[1, c] + E[2, r] * E[2, c] - f[r] * f[c])
            row += 1
        for j in range(n):
            for r in range(rows[j, 0], rows[j, 1]):
                tau[c0 + j] += P[j, r] * total[r]
        if derivatives:
            # P^T (H P)
            HP = ws.wide[0, : 6 * n].reshape(6, n)
            clear_matrix(HP)
            for j in range(n):
                for c in range(rows[j, 0], rows[j, 1]):
                    for r in range(6):
                        HP[r, j] += H[r, c] * P[j, c]
            for i in range(n):
                out = dq[c0 + i, c0 : c0 + n]
                for r in range(rows[i, 0], rows[i, 1]):
                    a, line = P[i, r], HP[r]
                    for j in range(n):
                        out[j] += a * line[j]


@kernel_in_place
def internal_forces(tree, elastic, tendons, q, qd, u, derivatives, ws, tau, dq, dqd, B):
    """tau (ndof,) = B u - K (q - rest) - D qd; if `derivatives` also dq, dqd (ndof, ndof) and B (ndof, n_actuators)."""
    clear(tau)
    elastic_force(tree, elastic, q, qd, tau)
    if derivatives:
        clear_matrix(dq)
        clear_matrix(dqd)
        clear_matrix(B)
        elastic_matrices(tree, elastic, dq, dqd)
    joint_laws(tree, elastic.laws, q, qd, u, derivatives, ws.scratch, tau, dq, dqd, B)
    tendon_forces(tree, tendons, q, u, derivatives, ws, tau, B, dq)
