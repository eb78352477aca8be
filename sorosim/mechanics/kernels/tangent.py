"""Linear systems of implicit steps and of statics on the tree, O(n): articulated bodies for the tangent.

T dq = r with T = R_q + v R_qd + s R_qdd, R the residual (docs/theory.md, 17). All but `solve_tangent`, which needs the
factors alone, go on from `evaluate.linearise`. A block is a joint or a division of a rod.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, kernel_in_place, kernel_lazy
from sorosim.mechanics.kernels.couplings import Couplings, add_couplings, make_couplings
from sorosim.mechanics.kernels.dense_lu import lu_factor, lu_solve, lu_solve_vector
from sorosim.mechanics.kernels.derivatives import add_coupling, coupling_maps
from sorosim.mechanics.kernels.linalg import cholesky
from sorosim.mechanics.kernels.single import dot6
from sorosim.mechanics.kernels.small import (
    add,
    add_coadbar_columns,
    add_matrix,
    add_matrix_columns,
    add_scaled,
    add_transposed_product,
    clear,
    clear_matrix,
    copy,
    isolate,
)
from sorosim.mechanics.kernels.spans import (
    OWN_J,
    OWN_JD,
    OWN_JDD,
    PRODUCTS,
    S_W,
    SPAN_COLUMNS,
    SPAN_MATRICES,
    SPAN_SUMS,
    add_column,
    add_local_square,
    add_row,
    gather,
    span_begin,
)
from sorosim.mechanics.kernels.tree import (
    GENERAL,
    Tree,
    add_armature,
    add_armature_forces,
)

# a pivot below this part of the terms that were summed up to its column is rounding
ROUNDING = 1e-13


@by_reference
class Tangent(NamedTuple):
    """Factors of a tangent, block by block, in the letters of docs/theory.md, 17."""

    A: np.ndarray  # flat, per block (n, n): LU factors
    pivot: np.ndarray  # (ndof,) int
    C: np.ndarray  # (ndof, 18) A^-1 C
    V: np.ndarray  # (ndof, 6) V^T
    Z: np.ndarray  # flat, per node on which blocks hang (18, n)
    place: np.ndarray  # (n_segments,) int: offset of a node in Z, -1: nothing hangs there
    subtree: np.ndarray  # (n_segments, 3, 6, 6) [M, N, K] that blocks hand on to the node, eliminated
    node: np.ndarray  # (n_segments + 1, 18) scratch: wrenches p, then x
    square: np.ndarray  # (n_most^2,) scratch of a block
    couplings: Couplings


def make_tangent(tree: Tree, couplings: Couplings | None = None) -> Tangent:
    """Allocate for a tree, O(ndof); without couplings none can be eliminated."""
    n_segments, ndof = len(tree.segment), len(tree.rows)
    branches = np.unique(tree.block["parent"][tree.block["parent"] >= 0])
    size = 18 * tree.segment["n"][branches]
    place = np.full(n_segments, -1, dtype=np.int64)
    place[branches] = np.cumsum(size) - size
    return Tangent(
        np.zeros(int((tree.block["n"] ** 2).sum())), np.zeros(ndof, dtype=np.int64), np.zeros((ndof, 18)),
        np.zeros((ndof, 6)), np.zeros(int(size.sum())), place, np.zeros((n_segments, 3, 6, 6)),
        np.zeros((n_segments + 1, 18)), np.zeros(int(tree.block["n"].max(initial=0)) ** 2),
        couplings if couplings is not None else make_couplings(tree),
    )  # fmt: skip


@kernel_in_place
def implicit_columns(moving, inertia, rate, acceleration, J, Jd, Jdd, Z):
    """Z (18 n,) = [J; J' + v J; J'' + 2 v J' + s J]; J, J', J'' (6 n,) of a block, v and s the two factors.

    inertia : without J' and J''.
    """
    size = J.shape[0]
    Z_b, Z_c = Z[size : 2 * size], Z[2 * size :]
    for i in range(size):
        Z[i], Z_b[i], Z_c[i] = J[i], rate * J[i], acceleration * J[i] + (0.0 if inertia else Jdd[i])
    if moving and not inertia:
        for i in range(size):
            Z_b[i] += Jd[i]
            Z_c[i] += 2.0 * rate * Jd[i]


@kernel_in_place
def node_tensors(tree, k, loaded, ws, tangent, own):
    """own (3, 6, 6) = [M, N, K] at node k, with what hangs there."""
    M, N, K = ws.tensor[k, 0], ws.tensor[k, 1], ws.tensor[k, 2]
    hangs = tangent.place[k] >= 0
    for r in range(6):
        copy(M[r], own[0, r])
        copy(N[r], own[1, r])
        clear(own[2, r])
        if loaded:
            copy(K[r], own[2, r])
        if hangs:
            for tensor in range(3):
                add(tangent.subtree[k, tensor, r], own[tensor, r])


@kernel_in_place
def add_node(own, stiff, n, J, Z, C, W):
    """Add what the wrench of own = [M, N, K] does: C += J^T L, W += L Z. stiff : whether K may not be zero."""
    size = 6 * n
    add_matrix_columns(own[0], Z[2 * size :], n, 1.0, W)
    add_matrix_columns(own[1], Z[size : 2 * size], n, 1.0, W)
    if stiff:
        add_matrix_columns(own[2], Z[:size], n, -1.0, W)
    for r in range(6):
        row = J[r * n : (r + 1) * n]
        for j in range(n):
            f, out = row[j], C[j]
            for s in range(6):
                out[s] -= f * own[2, r, s]
                out[6 + s] += f * own[1, r, s]
                out[12 + s] += f * own[0, r, s]


@kernel_in_place
def add_square(J, W, n, A, terms):
    """A (n, n) += J^T W, and terms (n,) += sizes of the terms that its columns are summed from; J, W (6 n,)."""
    add_transposed_product(J, n, W, n, 1.0, A, 0, 0)
    for r in range(6):
        largest = 0.0
        for j in range(n):
            largest = max(largest, abs(J[r * n + j]))
        for j in range(n):
            terms[j] += largest * abs(W[r * n + j])


@kernel_lazy("spans")
def local_equations(tree, b, known, rate, acceleration, moving, loaded, inertia, ws, tangent, terms) -> None:
    """Sum the equations of a block span by span, see kernels.spans; the sums of `factor_tangent` over its segments."""
    n, c0, square = tree.block[b].n, tree.block[b].column, tree.block[b].square
    A, width, flat = tangent.A[square : square + n * n].reshape(n, n), ws.wide.shape[1], ws.wide.reshape(-1)
    C, V, own, beyond, H = (
        tangent.C[c0 : c0 + n],
        tangent.V[c0 : c0 + n],
        ws.scratch[15:18],
        ws.scratch[18:21],
        ws.scratch[10:14],
    )
    Z_all = flat[(SPAN_MATRICES + 1) * width : (SPAN_MATRICES + 1) * width + 18 * n]
    for tensor in range(3):
        clear_matrix(beyond[tensor])
    end = tree.block[b].end
    while end > tree.block[b].first:
        first, m, local = span_begin(tree, b, end), tree.segment[end - 1].n_local, tree.segment[end - 1].local
        size = 6 * m
        W, W_sum, sizes = ws.wide[SPAN_SUMS, :size], ws.wide[SPAN_SUMS + 1, :size], ws.wide[SPAN_SUMS + 4, :m]
        Y_1, Y_2 = ws.wide[SPAN_SUMS + 2, :size], ws.wide[SPAN_SUMS + 3, :size]
        S, J = ws.wide[SPAN_COLUMNS + S_W, :size], ws.wide[SPAN_COLUMNS + OWN_J, :size]
        Jd, Jdd = ws.wide[SPAN_COLUMNS + OWN_JD, :size], ws.wide[SPAN_COLUMNS + OWN_JDD, :size]
        A_own, C_own = (
            ws.wide[SPAN_MATRICES, : m * m].reshape(m, m),
            ws.wide[SPAN_MATRICES + 4, : 18 * m].reshape(m, 18),
        )
        Z = flat[3 * width : 3 * width + 18 * m]
        clear_matrix(A_own)
        clear_matrix(C_own)
        clear(W_sum)
        clear(sizes)
        for k in range(end - 1, first - 1, -1):
            work = tree.segment[k].work
            gather(tree, k, 0, first, ws, S)
            gather(tree, k, 1, first, ws, J)
            gather(tree, k, 3, first, ws, Jdd)
            if moving:
                gather(tree, k, 2, first, ws, Jd)
            node_tensors(tree, k, loaded, ws, tangent, own)
            for tensor in range(3):
                add_matrix(own[tensor], beyond[tensor])
            clear(W)
            if not inertia:
                add_coadbar_columns(ws.twist[k, 2], S, m, 1.0, W)
            implicit_columns(moving, inertia, rate, acceleration, J, Jd, Jdd, Z)
            # what lies beyond the span acts on its last node
            add_node(beyond if k == end - 1 else own, True, m, J, Z, C_own, W)
            add_square(J, W, m, A_own, sizes)
            add(W, W_sum)
            if not inertia:
                coupling_maps(tree, k, ws, ws.twist[k, 2], H)
                add_coupling(tree, k, H, Y_1, Y_2, A_own)
            if tangent.place[k] >= 0:
                all_columns(tree, k, moving, inertia, rate, acceleration, ws, Z_all)
                keep_columns(known[c0 : c0 + n], Z_all, tangent.Z[tangent.place[k] : tangent.place[k] + 18 * n])
        add_local_square(tree, first, A_own, 0, A)
        begun = first > tree.block[b].first
        if begun:
            work = tree.segment[first - 1].work
            J_begin, y = ws.column[1, work : work + 6 * n], ws.wide[SPAN_COLUMNS + PRODUCTS, :n]
            all_columns(tree, first - 1, moving, inertia, rate, acceleration, ws, Z_all)
            for r in range(18):
                largest = 0.0
                for i in range(m):
                    largest = max(largest, abs(C_own[i, r]))
                for j in range(n):
                    terms[j] += largest * abs(Z_all[r * n + j])
            for r in range(6):
                largest = 0.0
                for j in range(n):
                    largest = max(largest, abs(J_begin[r * n + j]))
                for i in range(m):
                    sizes[i] += largest * abs(W_sum[r * m + i])
        for i in range(m):
            j = tree.local[local + i]
            terms[j] += sizes[i]
            for r in range(6):
                V[j, r] += W_sum[r * m + i]
            add(C_own[i], C[j])
            if begun:
                clear(y)
                add_row(1.0, W_sum, m, i, J_begin, n, y)
                add_column(y, 0, j, A)
                for r in range(18):
                    add_scaled(C_own[i, r], Z_all[r * n : (r + 1) * n], A[j])
        end = first


@kernel_in_place
def all_columns(tree, k, moving, inertia, rate, acceleration, ws, Z):
    """Z (18 n,) of all coordinates of its block at node k, see `implicit_columns`."""
    n, work = tree.segment[k].n, tree.segment[k].work
    J, Jd = ws.column[1, work : work + 6 * n], ws.column[2, work : work + 6 * n]
    implicit_columns(moving, inertia, rate, acceleration, J, Jd, ws.column[3, work : work + 6 * n], Z)


@kernel_in_place
def is_definite(A, terms, square):
    """Whether the symmetric part of A (n, n) is positive definite beyond rounding of the terms (n,) of its columns."""
    n = A.shape[0]
    half = square[: n * n].reshape(n, n)
    for i in range(n):
        for j in range(n):
            half[i, j] = 0.5 * (A[i, j] + A[j, i])
    if cholesky(half) >= 0:
        return False
    for i in range(n):
        if not half[i, i] * half[i, i] > ROUNDING * terms[i]:
            return False
    return True


@kernel_in_place
def internal_equations(internal, square, rate, inertia, A, terms):
    """A (n, n) and the sizes terms (n,) of its columns, of internal forces alone; zero under `inertia`."""
    n = A.shape[0]
    clear(terms)
    for i in range(n):
        for j in range(n):
            at = square + i * n + j
            A[i, j] = 0.0 if inertia else -(internal[0, at] + rate * internal[1, at])
            terms[j] = max(terms[j], abs(A[i, j]))


@kernel_in_place
def factor_block(A, terms, definite, square, pivot):
    """Factors of the equations A (n, n) of a block: -1, or where they are singular, or not definite, up to rounding."""
    if definite and not is_definite(A, terms, square):
        return 0
    failed = lu_factor(A, pivot)
    if failed >= 0:
        return failed
    for j in range(A.shape[0]):
        if not abs(A[j, j]) > ROUNDING * terms[j]:
            return j
    return -1


@kernel_in_place
def pass_to_parent(C, V, subtree):
    """Subtract V A^-1 C, of an eliminated block, from L = [-K, N, M] of its base; C (n, 18) is A^-1 C."""
    for j in range(C.shape[0]):
        row = C[j]
        for r in range(6):
            f = V[j, r]
            for s in range(6):
                subtree[2, r, s] += f * row[s]
                subtree[1, r, s] -= f * row[6 + s]
                subtree[0, r, s] -= f * row[12 + s]


@kernel_lazy("local tangent")
def factor_tangent(tree, known, rate, acceleration, moving, loaded, definite, inertia, ws, tangent) -> int:
    """Factors of T = R_q + v R_qd + s R_qdd from the tips to the base, after `evaluate.linearise`.

    The equations of blocks that couplings keep are left as they are: A, C and V are no factors, but themselves.

    known (ndof,): coordinates with the rows and columns of the unit matrix; rate, acceleration : v and s; moving :
    whether anything moves, and J' is known; loaded : whether nodes have K_w; definite : whether the symmetric part of
    the equations of every block must be positive definite, as they are if that of T is; inertia : T = s R_qdd, without
    the other two, with v = 0 and not loaded. Returns -1, or a coordinate of the block whose equations are singular or
    not definite.
    """
    H, Y_1, Y_2, couplings = ws.scratch[10:14], ws.wide[1], ws.wide[2], tangent.couplings
    for k in range(tree.segment.shape[0]):
        if tangent.place[k] >= 0:
            for tensor in range(3):
                clear_matrix(tangent.subtree[k, tensor])
                if couplings.passed.shape[0] > 0:
                    clear_matrix(couplings.passed[k, tensor])
    for b in range(tree.block.shape[0] - 1, -1, -1):
        n, c0, base = tree.block[b].n, tree.block[b].column, tree.block[b].parent
        first, size, square, kept = tree.block[b].first, 6 * n, tree.block[b].square, couplings.kept[b] != 0
        hands_on = couplings.passed[base] if kept else tangent.subtree[base]
        A = tangent.A[square : square + n * n].reshape(n, n)
        C, V, W, terms = tangent.C[c0 : c0 + n], tangent.V[c0 : c0 + n], ws.wide[0, :size], ws.wide[6, :n]
        internal_equations(ws.internal, square, rate, inertia, A, terms)
        if tree.block[b].armature >= 0:
            add_armature(tree, b, acceleration, A)
            for i in range(n):
                terms[i] += acceleration * tree.strain[tree.block[b].armature + i]
        clear_matrix(C)
        clear_matrix(V)
        is_local = tree.block[b].is_local != 0
        if is_local:
            local_equations(tree, b, known, rate, acceleration, moving, loaded, inertia, ws, tangent, terms)
        for k in range(first, tree.block[b].end):
            hangs = tangent.place[k] >= 0
            if n > 0 and not is_local:
                work = tree.segment[k].work
                S, J = ws.column[0, work : work + size], ws.column[1, work : work + size]
                Z = ws.wide.reshape(-1)[3 * ws.wide.shape[1] : 3 * ws.wide.shape[1] + 3 * size]
                # of the wrench that the segment hands on: J^T adbar_FC S
                clear(W)
                if not inertia:
                    add_coadbar_columns(ws.twist[k, 2], S, n, 1.0, W)
                if loaded or hangs or tree.segment[k].massless_end == 0:
                    Jd, Jdd = ws.column[2, work : work + size], ws.column[3, work : work + size]
                    implicit_columns(moving, inertia, rate, acceleration, J, Jd, Jdd, Z)
                    node_tensors(tree, k, loaded, ws, tangent, ws.scratch[15:18])
                    add_node(ws.scratch[15:18], loaded or hangs, n, J, Z, C, W)
                    if hangs:
                        keep_columns(known[c0 : c0 + n], Z, tangent.Z[tangent.place[k] : tangent.place[k] + 3 * size])
                add_square(J, W, n, A, terms)
                for j in range(n):
                    for r in range(6):
                        V[j, r] += W[r * n + j]
                if tree.segment[k].kind == GENERAL and not inertia:
                    coupling_maps(tree, k, ws, ws.twist[k, 2], H)
                    add_coupling(tree, k, H, Y_1[:size], Y_2[:size], A)
            if base >= 0:
                for tensor in range(3):
                    for r in range(6):
                        if tensor < 2 or loaded:
                            add(ws.tensor[k, tensor, r], hands_on[tensor, r])
                        if hangs:
                            add(tangent.subtree[k, tensor, r], hands_on[tensor, r])
        if couplings.first[b] >= 0:
            add_couplings(tree, known, b, rate, moving, ws, couplings, A, C, V, hands_on, terms)
        for i in range(n):
            if known[c0 + i]:
                isolate(A, i)
                clear(C[i])
                clear(V[i])
                terms[i] = 1.0
        if kept:
            continue
        failed = factor_block(A, terms, definite, tangent.square, tangent.pivot[c0 : c0 + n])
        if failed >= 0:
            return c0 + failed
        lu_solve(A, tangent.pivot[c0 : c0 + n], C)
        if base >= 0:
            pass_to_parent(C, V, tangent.subtree[base])
    return -1


@kernel_in_place
def keep_columns(known, Z, out):
    """out (18 n,) = Z, but for the columns of known coordinates, which are zero."""
    n = known.shape[0]
    for r in range(18):
        for j in range(n):
            out[r * n + j] = 0.0 if known[j] else Z[r * n + j]


@kernel_lazy("local tangent")
def solve_tangent(tree, tangent, x) -> None:
    """Overwrite x (ndof,) with T^-1 x, by the factors of `factor_tangent`."""
    eliminate(tree, tangent, x)
    substitute(tree, tangent, x)


@kernel_lazy("local tangent")
def eliminate(tree, tangent, x) -> None:
    """From the tips to the base: x (ndof,) becomes z, of kept blocks what is left of their right-hand sides."""
    node, kept = tangent.node, tangent.couplings.kept
    clear_matrix(node)
    for b in range(tree.block.shape[0] - 1, -1, -1):
        n, c0, base = tree.block[b].n, tree.block[b].column, tree.block[b].parent
        own, above, square = x[c0 : c0 + n], node[base], tree.block[b].square
        for k in range(tree.block[b].first, tree.block[b].end):
            at, p = tangent.place[k], node[k]
            if at < 0:
                continue
            for r in range(6):
                J = tangent.Z[at + r * n : at + (r + 1) * n]
                for j in range(n):
                    own[j] -= J[j] * p[r]
                if base >= 0:
                    above[r] += p[r]
        if kept[b] != 0:
            continue
        lu_solve_vector(tangent.A[square : square + n * n].reshape(n, n), tangent.pivot[c0 : c0 + n], own)
        if base >= 0:
            for j in range(n):
                add_scaled(own[j], tangent.V[c0 + j], above[:6])


@kernel_lazy("local tangent")
def substitute(tree, tangent, x) -> None:
    """From the base to the tips: x (ndof,) becomes dq; that of kept blocks is there already."""
    node, kept = tangent.node, tangent.couplings.kept
    for b in range(tree.block.shape[0]):
        n, c0, base = tree.block[b].n, tree.block[b].column, tree.block[b].parent
        own, above = x[c0 : c0 + n], node[base]
        if base >= 0 and kept[b] == 0:
            for j in range(n):
                C = tangent.C[c0 + j]
                own[j] -= dot6(C, above) + dot6(C[6:], above[6:]) + dot6(C[12:], above[12:])
        for k in range(tree.block[b].first, tree.block[b].end):
            at, moved = tangent.place[k], node[k]
            if at < 0:
                continue
            for r in range(18):
                total, Z = above[r], tangent.Z[at + r * n : at + (r + 1) * n]
                for j in range(n):
                    total += Z[j] * own[j]
                moved[r] = total


@kernel_lazy("local tangent")
def mass_product(tree, ws, x, node, out) -> None:
    """out (ndof,) = M x, by the columns and inertias of the last evaluation; node (n_segments + 1, 18): scratch."""
    clear(node[tree.segment.shape[0]])
    clear(out)
    add_armature_forces(tree, x, out)
    for k in range(tree.segment.shape[0]):
        n, work, c0 = tree.segment[k].n, tree.segment[k].work, tree.segment[k].column
        base, a = node[tree.block[tree.segment[k].block].parent], node[k]
        for r in range(6):
            total = base[r]
            for j in range(n):
                total += ws.column[1, work + r * n + j] * x[c0 + j]
            a[r], a[6 + r] = total, 0.0
    for k in range(tree.segment.shape[0] - 1, -1, -1):
        n, work, c0 = tree.segment[k].n, tree.segment[k].work, tree.segment[k].column
        base, a, F, M = tree.block[tree.segment[k].block].parent, node[k], node[k, 6:12], ws.tensor[k, 0]
        # F has what hangs on the node already
        for r in range(6):
            F[r] += dot6(M[r], a)
            for j in range(n):
                out[c0 + j] += ws.column[1, work + r * n + j] * F[r]
        if base >= 0:
            add(F, node[base, 6:12])


@kernel_lazy("local tangent")
def longest_displacement(tree, ws, node, extent) -> float:
    """Largest turn [rad] or displacement over `extent` of any node, after `mass_product` with the same `node`."""
    most = 0.0
    for k in range(tree.segment.shape[0]):
        a, p = node[k], ws.pose[k, 3]
        x = a[3] + a[1] * p[2] - a[2] * p[1]
        y = a[4] + a[2] * p[0] - a[0] * p[2]
        z = a[5] + a[0] * p[1] - a[1] * p[0]
        turn, move = a[0] * a[0] + a[1] * a[1] + a[2] * a[2], (x * x + y * y + z * z) / (extent * extent)
        if not (turn <= most and move <= most):
            most = max(turn, move)
    return sqrt(most)


@kernel_lazy("local tangent")
def wrench_terms(tree, ws, out) -> None:
    """out (ndof,) += sizes of the terms that forces of inverse dynamics are summed from: |S|^T |FC|."""
    for k in range(tree.segment.shape[0]):
        n, work, c0 = tree.segment[k].n, tree.segment[k].work, tree.segment[k].column
        for r in range(6):
            f = abs(ws.twist[k, 2, r])
            for j in range(n):
                out[c0 + j] += f * abs(ws.column[0, work + r * n + j])
