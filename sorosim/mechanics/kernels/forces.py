"""Internal forces B u - K q - D qd of a tree: elasticity, damping, joints, actuators (docs/theory.md, 6)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, kernel_in_place, kernel_lazy, record
from sorosim.mechanics.kernels.joints import Laws, joint_laws, law_energy
from sorosim.mechanics.kernels.rod_actuators import RodActuators, actuator_forces
from sorosim.mechanics.kernels.sections import SectionLaws, section_energy, section_forces
from sorosim.mechanics.kernels.small import clear, clear_matrix
from sorosim.mechanics.kernels.tube_motion import tube_damping
from sorosim.mechanics.kernels.tubes import TubeLaws, tube_energy, tube_forces

RELAXING_BLOCK = record(
    block=int,  # of the tree
    element=int,  # first of its elements
    n=int,  # how many elements
    strain=int,  # first of its strains
)


@by_reference
class Maxwell(NamedTuple):
    """Blocks whose elasticity relaxes: a spring and Maxwell elements side by side (docs/theory.md, 21).

    An element is a spring and a dashpot in series. The strains of its spring, one for each coordinate of the block,
    follow d' = qd - d/time; it pulls with -ratio K d, and the spring beside with -long_term K (q - rest).
    """

    block: np.ndarray  # (n,) RELAXING_BLOCK; strains of a block are in order of its elements
    long_term: np.ndarray  # (n,)
    ratio: np.ndarray  # (n_elements,)
    time: np.ndarray  # (n_elements,) [s]


@by_reference
class Elastic(NamedTuple):
    """Stiffness and damping of each block of coordinates, one after the other, row by row; laws of joints and rods.

    Stiffness is that of equilibria; what relaxes is known to motions alone (kernels.newmark, `OdeSystem`).
    """

    stiffness: np.ndarray  # (sum n_i^2,)
    damping: np.ndarray  # (sum n_i^2,)
    rest: np.ndarray  # (ndof,) coordinates without elastic force
    laws: Laws
    sections: SectionLaws
    tubes: TubeLaws
    maxwell: Maxwell


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
        n, c0 = tree.block[b].n, tree.block[b].column
        for i in range(n):
            total = 0.0
            for j in range(n):
                moved = q[c0 + j] - elastic.rest[c0 + j]
                total += elastic.stiffness[at + j] * moved + elastic.damping[at + j] * qd[c0 + j]
            tau[c0 + i] -= total
            at += n


@kernel_in_place
def elastic_energy(tree, elastic, q, scratch):
    """(q - rest)^T K (q - rest) / 2, energies of laws of joints, sections and tubes [J]; scratch (2, 6, 6)."""
    energy, at = law_energy(tree, elastic.laws, q) + section_energy(tree, elastic.sections, q, scratch), 0
    energy += tube_energy(tree, elastic.tubes, q)
    for b in range(tree.block.shape[0]):
        n, c0 = tree.block[b].n, tree.block[b].column
        x, rest = q[c0 : c0 + n], elastic.rest[c0 : c0 + n]
        for i in range(n):
            for j in range(n):
                energy += 0.5 * (x[i] - rest[i]) * elastic.stiffness[at + j] * (x[j] - rest[j])
            at += n
    return energy


@kernel_lazy()
def internal_forces(tree, internal, q, qd, u, derivatives, ws, external, tau, B) -> None:
    """tau (ndof,) = B u - K (q - rest) - D qd; if `derivatives` those by q and qd in ws.internal, and B as well.

    ws.internal has the derivatives inside blocks, at constant tensions; `couple_tendons` adds what tensions change
    by, and makes B, here by tensions, that by inputs. B (ndof, n_actuators); (0, n_actuators): not wanted.
    """
    elastic, rod_actuators = internal.elastic, internal.rod_actuators
    clear(tau)
    elastic_force(tree, elastic, q, qd, tau)
    if derivatives:
        clear_matrix(B)
        for i in range(elastic.stiffness.shape[0]):
            ws.internal[0, i], ws.internal[1, i] = -elastic.stiffness[i], -elastic.damping[i]
    if elastic.sections.row.shape[0] > 0:
        section_forces(tree, elastic.sections, q, derivatives, ws, tau)
    if elastic.tubes.stretch.shape[0] > 0:
        tube_forces(tree, elastic.tubes, q, derivatives, ws, tau)
    if elastic.tubes.damp.shape[0] > 0:
        tube_damping(tree, elastic.tubes, q, qd, derivatives, ws, tau)
    if elastic.laws.row.shape[0] > 0:
        joint_laws(tree, elastic.laws, q, qd, u, derivatives, ws, tau, B)
    if rod_actuators.row.shape[0] > 0:
        actuator_forces(tree, rod_actuators, q, u, derivatives, ws, external, tau, B)


@kernel_in_place
def multiply_blocks(tree, blocks, factor, known, x, y):
    """y (ndof,) += factor X x of a matrix X as of `add_blocks`; entries of x that are known count as zero."""
    for b in range(tree.block.shape[0]):
        n, c0, at = tree.block[b].n, tree.block[b].column, tree.block[b].square
        for i in range(n):
            for j in range(n):
                if not known[c0 + j]:
                    y[c0 + i] += factor * blocks[at + i * n + j] * x[c0 + j]


@kernel_in_place
def add_blocks(tree, blocks, scale, out):
    """out (ndof, ndof) += scale X of a matrix X that is stored block by block, flat."""
    for b in range(tree.block.shape[0]):
        n, c0, at = tree.block[b].n, tree.block[b].column, tree.block[b].square
        for i in range(n):
            row, part = out[c0 + i, c0 : c0 + n], blocks[at + i * n : at + (i + 1) * n]
            for j in range(n):
                row[j] += scale * part[j]
