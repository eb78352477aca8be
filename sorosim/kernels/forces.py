"""Internal forces B u - K q - D qd of a tree: elasticity, damping, joints, actuators (docs/theory.md, 6)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.compiled import by_reference, kernel_in_place, kernel_lazy
from sorosim.kernels.joints import Laws, joint_laws, stop_energy
from sorosim.kernels.rod_actuators import RodActuators, actuator_forces
from sorosim.kernels.small import clear, clear_matrix
from sorosim.kernels.tree import BLOCK_COLUMN, BLOCK_N


@by_reference
class Elastic(NamedTuple):
    """Stiffness and damping of each block of coordinates, one after the other, row by row; laws of joints."""

    stiffness: np.ndarray  # (sum n_i^2,)
    damping: np.ndarray  # (sum n_i^2,)
    rest: np.ndarray  # (ndof,) coordinates without elastic force
    laws: Laws


@by_reference
class Internal(NamedTuple):
    """What internal forces are made of."""

    elastic: Elastic
    rod_actuators: RodActuators


@kernel_in_place
def elastic_force(tree, elastic, q, qd, tau):
    """tau -= K (q - rest) + D qd."""
    at = 0
    for b in range(tree.block.shape[0]):
        n, c0 = tree.block[b, BLOCK_N], tree.block[b, BLOCK_COLUMN]
        for i in range(n):
            total = 0.0
            for j in range(n):
                moved = q[c0 + j] - elastic.rest[c0 + j]
                total += elastic.stiffness[at + j] * moved + elastic.damping[at + j] * qd[c0 + j]
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


@kernel_lazy()
def internal_forces(tree, internal, q, qd, u, derivatives, ws, external, tau, dq, dqd, B) -> None:
    """tau (ndof,) = B u - K (q - rest) - D qd; if `derivatives` also dq, dqd (ndof, ndof) and B (ndof, n_actuators)."""
    elastic, rod_actuators = internal.elastic, internal.rod_actuators
    clear(tau)
    elastic_force(tree, elastic, q, qd, tau)
    if derivatives:
        clear_matrix(dq)
        clear_matrix(dqd)
        clear_matrix(B)
        elastic_matrices(tree, elastic, dq, dqd)
    if elastic.laws.row.shape[0] > 0:
        joint_laws(tree, elastic.laws, q, qd, u, derivatives, ws.scratch, tau, dq, dqd, B)
    if rod_actuators.row.shape[0] > 0:
        actuator_forces(tree, rod_actuators, q, u, derivatives, ws, external, tau, dq, dqd, B)
