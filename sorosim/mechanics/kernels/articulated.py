"""Forward and hybrid dynamics in O(N): every block, a joint or a rod, is one macro-joint (docs/theory.md, 5).

The sweep from the base with known accelerations alone leaves the wrenches F that would be left over; what the free
coordinates add to the acceleration of a block's base, delta, moves its nodes by delta + J qdd.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, kernel_in_place, kernel_inline, kernel_lazy
from sorosim.mechanics.kernels.ancestors import add_pairs
from sorosim.mechanics.kernels.linalg import back_substitute, cholesky, forward_substitute
from sorosim.mechanics.kernels.mass_rank import NEARLY_SINGULAR, ROUNDING, inertia_bound, pivot_is_rounding
from sorosim.mechanics.kernels.single import dot6, is_single, push
from sorosim.mechanics.kernels.small import (
    add_matrix,
    add_matrix_columns,
    add_scaled,
    add_transposed_product,
    clear,
    clear_matrix,
    copy,
)
from sorosim.mechanics.kernels.spans import local_mass
from sorosim.mechanics.kernels.tree import (
    Tree,
    add_armature,
)


@by_reference
class Articulated(NamedTuple):
    """Factors of the blocks of a tree; Featherstone's U = I^A S is IA_S here, its D = S^T I^A S is D.

    In docs/theory.md, 5: S is D here, C is IA_S, U is the factor R, z is X, Fhat is P.
    """

    at: np.ndarray  # (n_blocks + 1,) int: offset of a block in D and factor
    has_children: np.ndarray  # (n_segments,) bool: whether a block begins at the node
    D: np.ndarray  # flat, per block (n, n): sum J^T M J, M the articulated inertia of the node
    factor: np.ndarray  # flat, per block: its Cholesky factor, that of the unit matrix where coordinates are known
    IA_S: np.ndarray  # (ndof, 6) sum J^T M
    U_IA_S: np.ndarray  # (ndof, 6) R^-T IA_S, R the factor; zero for known coordinates
    condensed: np.ndarray  # (n_segments, 2) per node: traces that elimination took off, rotation and translation
    least: np.ndarray  # (1,) least pivot over the bound of what it is a difference of
    rounding: np.ndarray  # (n_segments, 6, 6) per node: forms by which `rounded_pivot` bounds rounding
    root: np.ndarray  # (n_blocks,) int: the block on the world from which a block hangs
    acts: np.ndarray  # (n_blocks,) bool: whether any force acts on what hangs from its root; else it is left out


def make_articulated(tree: Tree) -> Articulated:
    """Allocate for a tree."""
    n = tree.block["n"]
    at = np.concatenate([[0], np.cumsum(n * n)]).astype(np.int64)
    has_children = np.zeros(len(tree.segment), dtype=np.bool_)
    has_children[tree.block["parent"][tree.block["parent"] >= 0]] = True
    root = np.arange(len(tree.block))
    for b, parent in enumerate(tree.block["parent"]):
        if parent >= 0:
            root[b] = root[tree.segment[parent].block]
    ndof, size = len(tree.rows), int(at[-1])
    return Articulated(
        at, has_children, np.zeros(size), np.zeros(size), np.zeros((ndof, 6)), np.zeros((ndof, 6)),
        np.zeros((len(tree.segment), 2)), np.zeros(1), np.zeros((len(tree.segment), 6, 6)), root,
        np.ones(len(tree.block), dtype=np.bool_),
    )  # fmt: skip


@kernel_inline
def eliminate_single(tree, b, known, stiffening, stiffness, ws, parts):
    """Part of a joint of one coordinate in `articulate`; returns whether it moves mass or is known."""
    k, c, base = tree.block[b].first, tree.block[b].column, tree.block[b].parent
    M, J, IA_S, U_IA_S = ws.tensor[k, 0], ws.column[1, tree.segment[k].work :], parts.IA_S[c], parts.U_IA_S[c]
    push(M, J, IA_S)
    D, condensed = dot6(J, IA_S), parts.condensed[k]
    bound = inertia_bound(M, condensed, J, 1, 0)
    if tree.block[b].armature >= 0:
        armature = tree.strain[tree.block[b].armature]
        D, bound = D + armature, bound + armature
    if stiffening != 0.0 and not known[c]:
        D += stiffening * stiffness[tree.block[b].square]
    if not (known[c] or ROUNDING * bound < D):
        return False
    if not known[c]:
        parts.least[0] = min(parts.least[0], D / bound)
    root = 1.0 if known[c] else np.sqrt(D)
    scale = 0.0 if known[c] else 1.0 / root
    parts.D[parts.at[b]], parts.factor[parts.at[b]] = D, root
    for r in range(6):
        U_IA_S[r] = scale * IA_S[r]
    if base >= 0:
        above, own = ws.tensor[base, 0], parts.condensed[base]
        own[0] += condensed[0] + U_IA_S[0] * U_IA_S[0] + U_IA_S[1] * U_IA_S[1] + U_IA_S[2] * U_IA_S[2]
        own[1] += condensed[1] + U_IA_S[3] * U_IA_S[3] + U_IA_S[4] * U_IA_S[4] + U_IA_S[5] * U_IA_S[5]
        for r in range(6):
            h = U_IA_S[r]
            for c in range(6):
                above[r, c] += M[r, c] - h * U_IA_S[c]
    return True


@kernel_in_place
def articulate(tree, known, stiffening, stiffness, ws, parts):
    """Factors of all blocks, from the tips to the base; sums ws.tensor[:, 0] to articulated inertias.

    known (ndof,): coordinates that are not eliminated; stiffening: as in `evaluate.forward`. Returns -1, or the
    coordinate that moves no mass.
    """
    MC = ws.scratch[1]
    clear_matrix(parts.condensed)
    parts.least[0] = 1.0
    for b in range(tree.block.shape[0] - 1, -1, -1):
        if is_single(tree, b):
            if not eliminate_single(tree, b, known, stiffening, stiffness, ws, parts):
                return tree.block[b].column
            continue
        n, c0, base = (tree.block[b].n, tree.block[b].column, tree.block[b].parent)
        D = parts.D[parts.at[b] : parts.at[b + 1]].reshape(n, n)
        factor = parts.factor[parts.at[b] : parts.at[b + 1]].reshape(n, n)
        IA_S, U_IA_S = parts.IA_S[c0 : c0 + n], parts.U_IA_S[c0 : c0 + n]
        W, shift_inertia, turning, moving = ws.wide[0, : 6 * n], ws.wide[1, :n], 0.0, 0.0
        clear(shift_inertia)
        clear_matrix(D)
        clear_matrix(IA_S)
        clear_matrix(MC)
        is_local = tree.block[b].is_local != 0
        if is_local:
            local_mass(tree, b, ws, MC, D)
            for j in range(n):
                for r in range(6):
                    IA_S[j, r] = W[r * n + j]
        for k in range(tree.block[b].first, tree.block[b].end):
            M, condensed = ws.tensor[k, 0], parts.condensed[k]
            if not is_local:
                add_matrix(M, MC)
            turning, moving = turning + condensed[0], moving + condensed[1]
            if n == 0 or (tree.segment[k].massless_end != 0 and not parts.has_children[k]):
                continue
            work = tree.segment[k].work
            J = ws.column[1, work : work + 6 * n]
            for j in range(n):
                shift_inertia[j] += inertia_bound(M, condensed, J, n, j)
            if is_local:
                continue
            clear(W)
            add_matrix_columns(M, J, n, 1.0, W)
            add_transposed_product(J, n, W, n, 1.0, D, 0, 0)
            for j in range(n):
                for r in range(6):
                    IA_S[j, r] += W[r * n + j]
        add_armature(tree, b, 1.0, D)
        if stiffening != 0.0:
            at = tree.block[b].square
            for i in range(n):
                for j in range(n):
                    if not (known[c0 + i] or known[c0 + j]):
                        D[i, j] += stiffening * stiffness[at + i * n + j]
        for i in range(n):
            free = not known[c0 + i]
            for j in range(n):
                both = free and not known[c0 + j]
                factor[i, j] = D[i, j] if both else (1.0 if i == j else 0.0)
            for r in range(6):
                U_IA_S[i, r] = IA_S[i, r] if free else 0.0
        failed = cholesky(factor)
        if failed >= 0:
            return c0 + failed
        for j in range(n):
            if known[c0 + j]:
                continue
            parts.least[0] = min(parts.least[0], factor[j, j] * factor[j, j] / shift_inertia[j])
            if pivot_is_rounding(factor, j, shift_inertia[j], shift_inertia, ws.wide[2]):
                return c0 + j
        forward_substitute(factor, U_IA_S)
        if base >= 0:
            parts.condensed[base, 0] += turning
            parts.condensed[base, 1] += moving
            for j in range(n):
                for r in range(6):
                    x = U_IA_S[j, r]
                    parts.condensed[base, r // 3] += x * x
                    for s in range(6):
                        MC[r, s] -= x * U_IA_S[j, s]
            add_matrix(MC, ws.tensor[base, 0])
    return rounded_pivot(tree, known, ws, parts) if parts.least[0] < NEARLY_SINGULAR else -1


@kernel_in_place
def add_congruence(P, E, scratch, out):
    """out (6, 6) += P^T E P."""
    for i in range(6):
        for j in range(6):
            total = 0.0
            for r in range(6):
                total += E[i, r] * P[r, j]
            scratch[i, j] = total
    for i in range(6):
        for j in range(6):
            for r in range(6):
                out[i, j] += P[r, i] * scratch[r, j]


@kernel_lazy()
def rounded_pivot(tree, known, ws, parts) -> int:
    """The first coordinate, from the tips on, whose pivot in `articulate` is rounding, or -1.

    Every inertia M there is inexact by a part of its traces B. A motion a of the base moves a node by P a, with the
    free coordinates that follow it by least inertia, so that part is of the form sum P^T B P, which goes from node to
    node as inertias do: kernels.mass_rank. It needs no traces about the origin of what follows far away from there.
    """
    P, product = ws.scratch[2], ws.scratch[3]
    for k in range(tree.segment.shape[0]):
        clear_matrix(parts.rounding[k])
        for r in range(3):
            for s in range(3):
                parts.rounding[k, s, s] += abs(ws.tensor[k, 0, r, r])
                parts.rounding[k, 3 + s, 3 + s] += abs(ws.tensor[k, 0, 3 + r, 3 + r])
    for b in range(tree.block.shape[0] - 1, -1, -1):
        n, c0, base = tree.block[b].n, tree.block[b].column, tree.block[b].parent
        factor = parts.factor[parts.at[b] : parts.at[b + 1]].reshape(n, n)
        shift_inertia, v, follow = ws.wide[1, :n], ws.wide[2], ws.wide[3, : 6 * n].reshape(n, 6)
        clear(shift_inertia)
        for i in range(n):
            for k in range(tree.block[b].first, tree.block[b].end):
                E, J = parts.rounding[k], ws.column[1, tree.segment[k].work :]
                for r in range(6):
                    for s in range(6):
                        shift_inertia[i] += J[r * n + i] * E[r, s] * J[s * n + i]
            copy(parts.U_IA_S[c0 + i], follow[i])
        for j in range(n):
            if not known[c0 + j] and pivot_is_rounding(factor, j, shift_inertia[j], shift_inertia, v):
                return c0 + j
        if base < 0:
            continue
        back_substitute(factor, follow)
        for k in range(tree.block[b].first, tree.block[b].end):
            J = ws.column[1, tree.segment[k].work :]
            for r in range(6):
                for s in range(6):
                    P[r, s] = 1.0 if r == s else 0.0
                    for j in range(n):
                        if not known[c0 + j]:
                            P[r, s] -= J[r * n + j] * follow[j, s]
            add_congruence(P, parts.rounding[k], product, parts.rounding[base])
    return -1


@kernel_inline
def inward_single(tree, b, loaded, parts, ws, P, x):
    """`inward_pass` of a joint of one coordinate; x (m,) is its row of X; loaded: P of its node is not zero."""
    k, c, base = tree.block[b].first, tree.block[b].column, tree.block[b].parent
    m, U_IA_S, scale, own = x.shape[0], parts.U_IA_S[c], 1.0 / parts.factor[parts.at[b]], P[k]
    if loaded:
        add_pairs(-1.0, ws.column[1, tree.segment[k].work :], own, 0, m, x)
    for j in range(m):
        x[j] *= scale
    if base < 0:
        return
    for r in range(6):
        h, row, out = U_IA_S[r], own[r], P[base, r]
        if loaded:
            for j in range(m):
                out[j] += row[j] + h * x[j]
        else:
            for j in range(m):
                out[j] += h * x[j]


@kernel_inline
def outward_single(tree, b, known, wanted, parts, ws, P, x):
    """`outward_pass` of a joint of one coordinate; x (m,) is its row of X; wanted: delta of its node in P.

    P[base] is delta of the base already; that of the world, row -1, is zero.
    """
    k, c, base = tree.block[b].first, tree.block[b].column, tree.block[b].parent
    m, delta = x.shape[0], P[base]
    if known[c]:
        for j in range(m):
            x[j] = -x[j]
        add_pairs(1.0, parts.IA_S[c], delta, 0, m, x)
    else:
        scale = 1.0 / parts.factor[parts.at[b]]
        add_pairs(-1.0, parts.U_IA_S[c], delta, 0, m, x)
        for j in range(m):
            x[j] *= scale
    if not wanted:
        return
    J = ws.column[1, tree.segment[k].work :]
    for r in range(6):
        f, above, out = 0.0 if known[c] else J[r], delta[r], P[k, r]
        for j in range(m):
            out[j] = above[j] + f * x[j]


@kernel_lazy("spans")
def take_wrenches(tree, b, ws, P, x) -> None:
    """x (n, m) -= sum J^T P over the nodes of block b, as sums of S^T P towards its base, which gets P."""
    base, m = tree.block[b].parent, x.shape[1]
    n, total = x.shape[0], ws.wide.reshape(-1)[: 6 * m].reshape(6, m)
    clear_matrix(total)
    for k in range(tree.block[b].end - 1, tree.block[b].first - 1, -1):
        work, local = tree.segment[k].work, tree.segment[k].local
        add_matrix(P[k], total)
        for i in range(tree.segment[k].n_local):
            j = tree.local[local + i]
            for r in range(6):
                add_scaled(-ws.column[0, work + r * n + j], total[r], x[j])
    if base >= 0:
        add_matrix(total, P[base])


@kernel_lazy("spans")
def move_nodes(tree, b, known, ws, P, x) -> None:
    """P (6, m) of every node of block b: that of the one before, and what the free coordinates x (n, m) add."""
    c0, n = tree.block[b].column, x.shape[0]
    for k in range(tree.block[b].first, tree.block[b].end):
        work, local, out = tree.segment[k].work, tree.segment[k].local, P[k]
        before = P[tree.segment[k].parent]
        for r in range(6):
            copy(before[r], out[r])
        for i in range(tree.segment[k].n_local):
            j = tree.local[local + i]
            if not known[c0 + j]:
                for r in range(6):
                    add_scaled(ws.column[0, work + r * n + j], x[j], out[r])


@kernel_in_place
def inward_pass(tree, everywhere, parts, ws, P, X):
    """Inward pass, forward substitution: X becomes R^-T (X - sum J^T P) in free rows, minus the bias in known ones.

    P of a base becomes its articulated bias wrench, Featherstone's p^a; see `solve_articulated`.
    """
    m = X.shape[1]
    for b in range(tree.block.shape[0] - 1, -1, -1):
        if not parts.acts[b]:
            continue
        if is_single(tree, b):
            loaded = everywhere or parts.has_children[tree.block[b].first]
            inward_single(tree, b, loaded, parts, ws, P, X[tree.block[b].column])
            continue
        n, c0, base = (tree.block[b].n, tree.block[b].column, tree.block[b].parent)
        factor = parts.factor[parts.at[b] : parts.at[b + 1]].reshape(n, n)
        x, U_IA_S = X[c0 : c0 + n], parts.U_IA_S[c0 : c0 + n]
        is_local = tree.block[b].is_local != 0
        if is_local:
            take_wrenches(tree, b, ws, P, x)
        for k in range(tree.block[b].first, tree.block[b].end):
            if is_local or not (everywhere or parts.has_children[k]):
                continue
            work = tree.segment[k].work
            for r in range(6):
                row = P[k, r]
                J = ws.column[1, work + r * n : work + r * n + n]
                for j in range(n):
                    f, out = J[j], x[j]
                    for c in range(m):
                        out[c] -= f * row[c]
                if base >= 0:
                    out = P[base, r]
                    for c in range(m):
                        out[c] += row[c]
        # known ones keep minus their bias: the factor has unit rows for them, and U_IA_S zeros
        forward_substitute(factor, x)
        if base >= 0:
            for j in range(n):
                for r in range(6):
                    f, out, z = U_IA_S[j, r], P[base, r], x[j]
                    for c in range(m):
                        out[c] += f * z[c]


@kernel_in_place
def outward_pass(tree, known, everywhere, parts, ws, P, X):
    """Outward pass, back substitution: accelerations of free coordinates, forces of known ones, delta of nodes in P."""
    m = X.shape[1]
    for b in range(tree.block.shape[0]):
        if not parts.acts[b]:
            continue
        if is_single(tree, b):
            wanted = everywhere or parts.has_children[tree.block[b].first]
            outward_single(tree, b, known, wanted, parts, ws, P, X[tree.block[b].column])
            continue
        n, c0, base = (tree.block[b].n, tree.block[b].column, tree.block[b].parent)
        factor = parts.factor[parts.at[b] : parts.at[b + 1]].reshape(n, n)
        D = parts.D[parts.at[b] : parts.at[b + 1]].reshape(n, n)
        x, U_IA_S, IA_S = (X[c0 : c0 + n], parts.U_IA_S[c0 : c0 + n], parts.IA_S[c0 : c0 + n])
        delta = P[base]
        for j in range(n):
            out = x[j]
            for r in range(6):
                f, row = U_IA_S[j, r], delta[r]
                for c in range(m):
                    out[c] -= f * row[c]
        back_substitute(factor, x)
        is_local = tree.block[b].is_local != 0
        if is_local:
            move_nodes(tree, b, known, ws, P, x)
        for k in range(tree.block[b].first, tree.block[b].end):
            if is_local or not (everywhere or parts.has_children[k]):
                continue
            work = tree.segment[k].work
            for r in range(6):
                out, above = P[k, r], delta[r]
                for c in range(m):
                    out[c] = above[c]
                J = ws.column[1, work + r * n : work + r * n + n]
                for j in range(n):
                    if known[c0 + j]:
                        continue
                    f, row = J[j], x[j]
                    for c in range(m):
                        out[c] += f * row[c]
        # forces of known ones: bias, what their block's base adds, what its free ones add
        for i in range(n):
            if not known[c0 + i]:
                continue
            out = x[i]
            for c in range(m):
                out[c] = -out[c]
            for r in range(6):
                f, row = IA_S[i, r], delta[r]
                for c in range(m):
                    out[c] += f * row[c]
            for j in range(n):
                if known[c0 + j]:
                    continue
                f, row = D[i, j], x[j]
                for c in range(m):
                    out[c] += f * row[c]


@kernel_in_place
def solve_articulated(tree, known, everywhere, parts, ws, P, X):
    """Solve by the factors of `articulate`, m right-hand sides at once.

    X (ndof, m): in, forces of free coordinates, zeros for known ones; out, accelerations and forces of the known ones.
    P (n_segments + 1, 6, m): in, the bias wrench of each node alone, inertial less external, at zero accelerations of
    the free coordinates; out, delta of the nodes; the last row, the world, is zero. World axes about the origin.
    everywhere : whether P is given, and delta wanted, at all nodes; else P is zero in, and only nodes on which blocks
    hang get delta. Blocks on which nothing `acts` are left out.
    """
    inward_pass(tree, everywhere, parts, ws, P, X)
    outward_pass(tree, known, everywhere, parts, ws, P, X)


@kernel_in_place
def forward_articulated(tree, known, stiffening, stiffness, ws, parts, P, X, qdd, tau):
    """Accelerations of the free coordinates and forces of the known ones, after `evaluate.prepare`.

    stiffening: as in `evaluate.forward`, by accelerations of zero; the forces of known coordinates are without it.
    qdd, tau (ndof,): those that are given in, all of them out. P (n_segments + 1, 6, 1), X (ndof, 1) are scratch.
    Returns -1, or the coordinate that moves no mass.
    """
    failed = articulate(tree, known, stiffening, stiffness, ws, parts)
    if failed >= 0:
        return failed
    n = tree.segment.shape[0]
    for k in range(n):
        for r in range(6):
            P[k, r, 0] = ws.twist[k, 2, r]
    clear(P[n, :, 0])
    for i in range(tau.shape[0]):
        X[i, 0] = 0.0 if known[i] else tau[i]
    solve_articulated(tree, known, True, parts, ws, P, X)
    for i in range(tau.shape[0]):
        if known[i]:
            tau[i] = X[i, 0]
        else:
            qdd[i] = X[i, 0]
    for b in range(tree.block.shape[0]):
        at, c0 = tree.block[b].armature, tree.block[b].column
        for i in range(c0, c0 + (tree.block[b].n if at >= 0 else 0)):
            if known[i]:  # bias wrenches of nodes know nothing of rotors
                tau[i] += tree.strain[at + i - c0] * qdd[i]
    return -1


@kernel_in_place
def solve_columns(tree, known, ws, parts, P, part, scale, X):
    """Overwrite X (ndof, m) with scale M_ff^-1 X in the free rows, zero in the known ones. Returns m.

    The factors are those of the last `articulate` at the same coordinates. P (n_segments + 1, 6, width) and part
    (ndof, width) are scratch: so many columns are solved for at once.
    """
    width = part.shape[1]
    for first in range(0, X.shape[1], width):
        n = min(width, X.shape[1] - first)
        for k in range(P.shape[0]):
            clear_matrix(P[k])
        for i in range(X.shape[0]):
            row, out = X[i, first : first + n], part[i]
            factor = 0.0 if known[i] else scale
            for j in range(n):
                out[j] = factor * row[j]
            for j in range(n, width):
                out[j] = 0.0
        find_acting(tree, part, parts)
        solve_articulated(tree, known, False, parts, ws, P, part)
        for i in range(X.shape[0]):
            row, out = part[i], X[i, first : first + n]
            factor = 0.0 if known[i] else 1.0
            for j in range(n):
                out[j] = factor * row[j]
    for b in range(tree.block.shape[0]):
        parts.acts[b] = True
    return X.shape[1]


@kernel_in_place
def find_acting(tree, X, parts):
    """Fill parts.acts for forces X (ndof, m): trees on which none acts do not move."""
    n_blocks = tree.block.shape[0]
    for b in range(n_blocks):
        parts.acts[b] = False
    for b in range(n_blocks):
        for i in range(tree.block[b].column, tree.block[b].column + tree.block[b].n):
            for value in X[i]:
                if value != 0.0:
                    parts.acts[parts.root[b]] = True
                    break
    for b in range(n_blocks):
        parts.acts[b] = parts.acts[parts.root[b]]
