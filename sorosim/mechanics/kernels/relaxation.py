"""Strains of Maxwell elements in steps: internal variables z' = a z + b (q' - q) (docs/theory.md, 14 and 21).

They follow the coordinates, so the unknowns of a step stay q': blocks that relax answer with a stiffness and a rest of
their own in each step. Then come their tangents and cotangents.
"""

from __future__ import annotations

from math import exp, expm1

from sorosim.base.compiled import kernel_in_place, kernel_lazy


@kernel_in_place
def element_factors(time, h):
    """Strain of a Maxwell element after a step h by that before, and by the change of the coordinate, at equal rate."""
    return (1.0, 1.0) if h == 0.0 else (exp(-h / time), -expm1(-h / time) * time / h)


@kernel_lazy("maxwell")
def relax_blocks(model, march, h) -> None:
    """Stiffness and rest with which blocks answer at the end of a step h, all their elements together.

    The strain of an element is there a d + b (q' - q), so that the block pulls with -f K (q' - r), f = long_term + sum
    ratio b and f r = long_term rest - sum ratio (a d - b q) (docs/theory.md, 21). h = 0: as it answers at once.
    """
    tree, elastic, now, maxwell = model.system.tree, model.elastic, model.system.internal.elastic, model.elastic.maxwell
    q, strain = march.state.q, march.strain[0]
    for k in range(maxwell.block.shape[0]):
        block, at = maxwell.block[k].block, maxwell.block[k].strain
        n, c0, square = tree.block[block].n, tree.block[block].column, tree.block[block].square
        factor = maxwell.long_term[k]
        for i in range(n):
            now.rest[c0 + i] = maxwell.long_term[k] * elastic.rest[c0 + i]
        for e in range(maxwell.block[k].element, maxwell.block[k].element + maxwell.block[k].n):
            a, b = element_factors(maxwell.time[e], h)
            factor += maxwell.ratio[e] * b
            for i in range(n):
                now.rest[c0 + i] -= maxwell.ratio[e] * (a * strain[at + i] - b * q[c0 + i])
            at += n
        for i in range(n):
            now.rest[c0 + i] /= factor
        for i in range(n * n):
            now.stiffness[square + i] = factor * elastic.stiffness[square + i]


@kernel_lazy("maxwell")
def add_strain_errors(model, march, x) -> None:
    """Add to |x| (ndof,) displacements that balance what strains of Maxwell elements miss of rates that change.

    A rate that goes from qd to q'd evenly moves a strain by (q'd - qd) (time (1 + a)/2 - b time) more than its mean.
    """
    tree, maxwell, state, h = model.system.tree, model.elastic.maxwell, march.state, march.number.step
    for k in range(maxwell.block.shape[0]):
        block, first = maxwell.block[k].block, maxwell.block[k].element
        last, c0 = first + maxwell.block[k].n, tree.block[block].column
        factor, missed = maxwell.long_term[k], 0.0
        for e in range(first, last):
            a, b = element_factors(maxwell.time[e], h)
            factor += maxwell.ratio[e] * b
            missed += maxwell.ratio[e] * maxwell.time[e] * (0.5 * (1.0 + a) - b)
        for i in range(c0, c0 + tree.block[block].n):
            x[i] = abs(x[i]) + abs(missed / factor * (state.qd_new[i] - state.qd[i]))


@kernel_lazy("maxwell")
def advance_strains(model, march) -> float:
    """Strains of Maxwell elements at the end of the step; returns what their dashpots dissipate in it [J].

    That is their mean forces along the change of q - d, so that energies balance as those of springs do.
    """
    tree, elastic, maxwell, h = model.system.tree, model.elastic, model.elastic.maxwell, march.number.step
    begin, end, total = march.strain[0], march.strain[1], 0.0
    for k in range(maxwell.block.shape[0]):
        block, at = maxwell.block[k].block, maxwell.block[k].strain
        n, c0, square = tree.block[block].n, tree.block[block].column, tree.block[block].square
        before, after = march.state.q[c0 : c0 + n], march.state.q_new[c0 : c0 + n]
        for e in range(maxwell.block[k].element, maxwell.block[k].element + maxwell.block[k].n):
            a, b = element_factors(maxwell.time[e], h)
            for i in range(n):
                end[at + i] = a * begin[at + i] + b * (after[i] - before[i])
            for i in range(n):
                path = after[i] - before[i] - (end[at + i] - begin[at + i])
                for j in range(n):
                    mean = 0.5 * maxwell.ratio[e] * (begin[at + j] + end[at + j])
                    total += path * elastic.stiffness[square + i * n + j] * mean
            at += n
    return total


@kernel_lazy("maxwell")
def strain_forces_jvp(model, h, q_dot, z_dot, factor, out) -> None:
    """out (ndof, K) += factor times what q_dot (ndof, K) and z_dot (n_strains, K) change in forces.

    These are of the begin of a step h. Elements pull with K sum ratio (a z + b (q' - q)) at its end; h = 0: in this
    state.
    """
    tree, elastic, maxwell = model.system.tree, model.elastic, model.elastic.maxwell
    for k in range(maxwell.block.shape[0]):
        block, at = maxwell.block[k].block, maxwell.block[k].strain
        n, c0, square = tree.block[block].n, tree.block[block].column, tree.block[block].square
        for e in range(maxwell.block[k].element, maxwell.block[k].element + maxwell.block[k].n):
            a, b = element_factors(maxwell.time[e], h)
            for i in range(n):
                for j in range(n):
                    pull = factor * maxwell.ratio[e] * elastic.stiffness[square + i * n + j]
                    for c in range(out.shape[1]):
                        out[c0 + i, c] += pull * (a * z_dot[at + j, c] - b * q_dot[c0 + j, c])
            at += n


@kernel_lazy("maxwell")
def strain_forces_vjp(model, h, w, q_bar, z_bar) -> None:
    """The transposed: adds to q_bar and z_bar what cotangents w (ndof,) of these forces are."""
    tree, elastic, maxwell = model.system.tree, model.elastic, model.elastic.maxwell
    for k in range(maxwell.block.shape[0]):
        block, at = maxwell.block[k].block, maxwell.block[k].strain
        n, c0, square = tree.block[block].n, tree.block[block].column, tree.block[block].square
        for e in range(maxwell.block[k].element, maxwell.block[k].element + maxwell.block[k].n):
            a, b = element_factors(maxwell.time[e], h)
            for i in range(n):
                for j in range(n):
                    strain = maxwell.ratio[e] * elastic.stiffness[square + i * n + j] * w[c0 + i]
                    z_bar[at + j] += a * strain
                    q_bar[c0 + j] -= b * strain
            at += n


@kernel_lazy("maxwell")
def strains_jvp(model, h, decay, factor, q_dot, z_dot) -> None:
    """Columns z_dot, times a if `decay`, += factor b q_dot, of z' = a z + b (q' - q)."""
    tree, maxwell = model.system.tree, model.elastic.maxwell
    for k in range(maxwell.block.shape[0]):
        block, at = maxwell.block[k].block, maxwell.block[k].strain
        n, c0 = tree.block[block].n, tree.block[block].column
        for e in range(maxwell.block[k].element, maxwell.block[k].element + maxwell.block[k].n):
            a, b = element_factors(maxwell.time[e], h)
            kept = a if decay else 1.0
            for i in range(n):
                for c in range(z_dot.shape[1]):
                    z_dot[at + i, c] = kept * z_dot[at + i, c] + factor * b * q_dot[c0 + i, c]
            at += n


@kernel_lazy("maxwell")
def strains_vjp(model, h, decay, factor, q_bar, z_bar) -> None:
    """q_bar += factor b z_bar, then z_bar times a if `decay`: the transposed."""
    tree, maxwell = model.system.tree, model.elastic.maxwell
    for k in range(maxwell.block.shape[0]):
        block, at = maxwell.block[k].block, maxwell.block[k].strain
        n, c0 = tree.block[block].n, tree.block[block].column
        for e in range(maxwell.block[k].element, maxwell.block[k].element + maxwell.block[k].n):
            a, b = element_factors(maxwell.time[e], h)
            for i in range(n):
                q_bar[c0 + i] += factor * b * z_bar[at + i]
                z_bar[at + i] *= a if decay else 1.0
            at += n
