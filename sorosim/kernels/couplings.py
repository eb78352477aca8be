"""What couples distant coordinates of a tree, in its linearised equations (docs/theory.md, 17).

A coupling changes the wrenches on its nodes by -left^T f, f = right a + rate b, a and b the displacements of these
nodes and their rates: contacts, loads between two nodes, and the joints of loops. It acts on blocks, by their dq and by
the displacement x of the base of each. One of a single block is eliminated with it. Of the others, their blocks and
those before them are kept, with x and the wrench p of each base as unknowns of a sparse system. So are f and
multipliers of loops: the last rows of a loop are its errors, which do no work (left = 0); their f is known, and
multipliers stand in its place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.compiled import by_reference, kernel_in_place, kernel_lazy
from sorosim.kernels import loop_joint as lj
from sorosim.kernels import surfaces as sf
from sorosim.kernels import tree as tr
from sorosim.kernels.kinematics import body_columns
from sorosim.kernels.loop_joint import split_maps
from sorosim.kernels.rod_actuators import LENGTH_INPUT, add_by_strain
from sorosim.kernels.small import add_ad_columns, add_coadbar, clear, clear_matrix, copy

# rows of a coupling at most, nodes, and columns: six of each node
N_ROWS, N_NODES, N_COLUMNS = 12, 4, 24
# displacement of a base, x = (a, b, c)
N_X = 18


@by_reference
class Couplings(NamedTuple):
    """Couplings of one linearised state, where they stand in the sparse system, and scratch."""

    node: np.ndarray  # (n, 4) int, -1: none
    block: np.ndarray  # (n, 4) int: by which block each node counts, its own one or one of which it is the base; or -1
    n_rows: np.ndarray  # (n,) int
    loop: np.ndarray  # (n,) int: which loop it is, or -1
    map: np.ndarray  # (n, 3, 12, 24) left, right and rate
    next: np.ndarray  # (n,) int: the next one of the same block, or -1; SPARSE: of several blocks, or a loop
    first: np.ndarray  # (n_blocks,) int: the first one of a block, or -1
    kept: np.ndarray  # (n_blocks,) int: whether a block is kept
    at: np.ndarray  # (n_blocks + n_segments + n,) int: where unknowns of blocks, bases and couplings begin, or -1
    passed: np.ndarray  # (n_segments, 3, 6, 6) [M, N, K] that kept blocks hand on to a node, with its displacement
    tendon: np.ndarray  # (ndof,) column of the actuation matrix of one tendon, zero between its uses
    wide: np.ndarray  # (3, 18 n_most) scratch: Z, and what a coupling does in a block: left (12, n), right (12, n)
    base: np.ndarray  # (12, 18) scratch: the same at its base, left (6) and right (12)
    left: np.ndarray  # (12, 4 (n_most + 18)) scratch: the same in all of its blocks, one after the other
    right: np.ndarray  # (12, 4 (n_most + 18)) scratch
    product: np.ndarray  # (4 (n_most + 18), 4 (n_most + 18)) scratch: left^T right of couplings of the same blocks


SPARSE = -2
# in Couplings.at: nodes that do not move; FOLLOWS - k: those that move with node k, whose block starts at rest, and are
# no unknowns, for x = Z dq of that block
AT_REST, FOLLOWS = -2, -3


def make_couplings(tree: tr.Tree, n: int, couples: bool = True) -> Couplings:
    """Allocate for n couplings; couples : whether any blocks may be kept."""
    n_blocks, n_segments = len(tree.block), len(tree.segment)
    most, whole = int(tree.block["n"].max(initial=1)) if couples else 0, np.int64
    return Couplings(
        np.zeros((n, N_NODES), dtype=whole), np.zeros((n, N_NODES), dtype=whole), np.zeros(n, dtype=whole),
        np.zeros(n, dtype=whole),
        np.zeros((n, 3, N_ROWS, N_COLUMNS)),
        np.zeros(n, dtype=whole), np.full(n_blocks, -1, dtype=whole), np.zeros(n_blocks, dtype=whole),
        np.full(n_blocks + n_segments + n, -1, dtype=whole), np.zeros((n_segments if couples else 0, 3, 6, 6)),
        np.zeros(len(tree.rows) if couples else 0), np.zeros((3, N_X * max(most, 2))), np.zeros((N_ROWS, N_X)),
        np.zeros((N_ROWS, N_NODES * (most + N_X))), np.zeros((N_ROWS, N_NODES * (most + N_X))),
        np.zeros((N_NODES * (most + N_X), N_NODES * (most + N_X))),
    )  # fmt: skip


@kernel_lazy("couplings")
def gather_couplings(tree, external, couplings) -> int:
    """Take over contacts between nodes and loads between two of them; returns how many."""
    contact, n = external.contact, 0
    for slot in range(contact.counts.linked):
        entry, left, right, by_u = (
            contact.entry[contact.linked[slot]],
            contact.left[slot],
            contact.right[slot],
            (contact.rate[slot]),
        )
        for j in range(N_NODES):
            couplings.node[n, j] = entry.node[j] if j < entry.n else -1
        row = 0
        for r in range(sf.N_ROWS):
            if is_zero_row(left[r]):
                continue
            copy(left[r], couplings.map[n, 0, row])
            copy(right[r], couplings.map[n, 1, row])
            for i in range(N_COLUMNS):
                total = 0.0
                if r < 3:
                    for s in range(3):
                        total += by_u[r, s] * left[s, i]
                couplings.map[n, 2, row, i] = total
            row += 1
        couplings.n_rows[n], couplings.loop[n] = row, -1
        n += 1
    for p in range(external.pair.shape[0]):
        A, B = external.pair[p, 0], external.pair[p, 1]
        if A < 0 or B < 0:
            continue
        couplings.node[n, 0], couplings.node[n, 1], couplings.node[n, 2], couplings.node[n, 3] = A, B, -1, -1
        for which in range(3):
            clear_matrix(couplings.map[n, which])
        for side in range(2):
            for r in range(6):
                row = 6 * side + r
                couplings.map[n, 0, row, row] = 1.0
                for i in range(6):
                    other = 6 * (1 - side) + i
                    couplings.map[n, 1, row, other] = external.pair_K[p, side, r, i]
                    couplings.map[n, 2, row, other] = external.pair_D[p, side, r, i]
        couplings.n_rows[n], couplings.loop[n] = 12, -1
        n += 1
    return n


@kernel_lazy("loops")
def gather_loops(loops, closure, ws, inertia, n, couplings) -> None:
    """Take over loops after n couplings, as kernels.loops evaluated them; inertia : their constraints alone.

    The wrench on A, in frame B, is f = adbar_w P a_B + springs and dampers + Phi l, P = Ad_gB^-1, and rows of errors
    are Phi^T (de/dnu) P (a_A - a_B).
    """
    P, moved, error_map, laws = (
        closure.scratch[0],
        closure.scratch[1],
        closure.scratch[2],
        couplings.wide[2, :12].reshape(2, 6),
    )
    T_inv = couplings.wide[0, :18].reshape(2, 3, 3)
    for k in range(loops.row.shape[0]):
        row, value, log, c = loops.row[k], loops.value[k], closure.error_log[k], n + k
        A, B = row.node_a, row.node_b
        left, right, rate = couplings.map[c, 0], couplings.map[c, 1], couplings.map[c, 2]
        for which in range(3):
            clear_matrix(couplings.map[c, which])
        couplings.node[c, 0], couplings.node[c, 1], couplings.node[c, 2], couplings.node[c, 3] = A, B, -1, -1
        couplings.n_rows[c], couplings.loop[c] = 6 + row.n_rows, k
        for i in range(6):
            for j in range(6):
                moved[i, j] = 1.0 if i == j else 0.0
        body_columns(closure.pose[k, lj.POSE_B], moved.reshape(36), 6, 0, P)
        split_maps(row, value, closure.pose[k], log[:6], log[6:], T_inv, error_map, laws)
        for i in range(6):
            for j in range(6):
                left[i, j], left[i, 6 + j] = P[i, j], -P[i, j]
        for j in range(row.n_rows):
            phi = value[lj.PHI + 6 * j : lj.PHI + 6 * j + 6]
            for i in range(6):
                total = 0.0
                for r in range(6):
                    for s in range(6):
                        by_r = (1.0 if r == s else 0.0) if inertia else error_map[r, s]
                        total += phi[r] * by_r * P[s, i]
                right[6 + j, i], right[6 + j, 6 + i] = total, -total
        if inertia:
            continue
        clear_matrix(moved)
        add_coadbar(closure.wrench[k], 1.0, moved)
        for i in range(6):
            for j in range(6):
                for r in range(6):
                    right[i, 6 + j] += moved[i, r] * P[r, j]
        # P ad_VA, row by row, from that of the unit matrix
        clear_matrix(moved)
        turned, unit = couplings.wide[0, :36], couplings.wide[1, :36]
        for i in range(36):
            turned[i], unit[i] = 0.0, 1.0 if i % 7 == 0 else 0.0
        add_ad_columns(ws.twist[A, 0], unit, 6, 1.0, turned)
        for i in range(6):
            for j in range(6):
                for r in range(6):
                    moved[i, j] += P[i, r] * turned[6 * r + j]
        for law in range(row.n_laws):
            along = value[lj.ALONG + 6 * law : lj.ALONG + 6 * law + 6]
            stiffness, damping = value[lj.STIFFNESS + law], value[lj.DAMPING + law]
            for j in range(6):
                by_a, by_b = 0.0, 0.0
                for r in range(6):
                    by_a += damping * along[r] * moved[r, j] - stiffness * laws[law, r] * P[r, j]
                    by_b -= damping * along[r] * P[r, j]
                for i in range(6):
                    right[i, j] += along[i] * by_a
                    right[i, 6 + j] -= along[i] * by_a
                    rate[i, j] += along[i] * by_b
                    rate[i, 6 + j] -= along[i] * by_b


@kernel_in_place
def is_zero_row(x):
    """Whether all entries are zero."""
    for i in range(x.shape[0]):
        if x[i] != 0.0:
            return False
    return True


@kernel_in_place
def choose_blocks(tree, nodes, blocks):
    """Fill blocks (4,), see Couplings.block, of nodes (4,); returns the only one, or -1."""
    only, several = -1, False
    for j in range(N_NODES):
        k = nodes[j]
        blocks[j] = tree.segment[k].block if k >= 0 else -1
        for i in range(N_NODES):
            other = tree.segment[nodes[i]].block if nodes[i] >= 0 else -1
            if k >= 0 and other >= 0 and tree.block[other].parent == k:
                blocks[j] = other
                break
        if blocks[j] >= 0:
            several = several or (only >= 0 and blocks[j] != only)
            only = blocks[j]
    return -1 if several else only


@kernel_in_place
def keep(tree, b, couplings):
    """Keep a block and all before it."""
    while not couplings.kept[b]:
        couplings.kept[b] = 1
        base = tree.block[b].parent
        if base < 0:
            return
        b = tree.segment[base].block


@kernel_lazy("couplings")
def place_couplings(tree, actuators, workspace, inertia, n, ws, couplings) -> bool:
    """Sort n couplings, and tendons whose length is given, into those of blocks and others; whether there are such.

    What a tendon within one block couples is added to the derivatives of internal forces of the workspace; inertia :
    tendons do not count.
    """
    sparse = False
    for b in range(tree.block.shape[0]):
        couplings.first[b], couplings.kept[b] = -1, 0
    for c in range(n):
        b = choose_blocks(tree, couplings.node[c], couplings.block[c])
        if b >= 0 and couplings.loop[c] < 0:
            couplings.next[c] = couplings.first[b]
            couplings.first[b] = c
            continue
        couplings.next[c], sparse = SPARSE, True
        for j in range(N_NODES):
            if couplings.block[c, j] >= 0:
                keep(tree, couplings.block[c, j], couplings)
    for a in range(actuators.mode.shape[0]):
        slope = workspace.tension[1, a]
        if inertia or actuators.mode[a] != LENGTH_INPUT or slope == 0.0:
            continue
        first, last = tendon_column(tree, actuators, workspace, a, couplings.tendon)
        if first == last:
            size, c0, at = (
                tree.block[first].n,
                tree.block[first].column,
                tree.block[first].square,
            )
            for i in range(size):
                for j in range(size):
                    ws.internal[0, at + i * size + j] -= slope * couplings.tendon[c0 + i] * couplings.tendon[c0 + j]
        elif last > first:
            sparse = True
            for row in range(actuators.row.shape[0]):
                if actuators.row[row].actuator == a:
                    keep(tree, actuators.row[row].block, couplings)
        clear_blocks(tree, first, last, couplings.tendon)
    return sparse


@kernel_in_place
def tendon_column(tree, actuators, workspace, a, out):
    """Add the forces of unit tension to out (ndof,); the first and last block that it acts on, (0, -1): none."""
    first, last = tree.block.shape[0], -1
    for row in range(actuators.row.shape[0]):
        if actuators.row[row].actuator == a:
            add_by_strain(tree, actuators, row, 1.0, workspace.unit[row], out)
            first, last = min(first, actuators.row[row].block), max(last, actuators.row[row].block)
    return (first, last) if last >= 0 else (0, -1)


@kernel_in_place
def clear_blocks(tree, first, last, x):
    """Zero for the coordinates of these blocks."""
    for b in range(first, last + 1):
        c0 = tree.block[b].column
        clear(x[c0 : c0 + tree.block[b].n])


@kernel_in_place
def add_products(X, at, n_rows, columns, n, out):
    """out (n_rows n,) += X[:n_rows, at : at + 6] columns, columns (6 n,) row by row."""
    for r in range(n_rows):
        for i in range(6):
            x = X[r, at + i]
            if x != 0.0:
                for j in range(n):
                    out[r * n + j] += x * columns[i * n + j]


@kernel_in_place
def project_coupling(tree, known, ws, c, b, rate, moving, couplings):
    """What coupling c does by block b: left and right by dq in couplings.wide[1:3], by x of its base in .base."""
    n, c0, n_rows, base = tree.block[b].n, tree.block[b].column, couplings.n_rows[c], couplings.base
    Z, left, right = couplings.wide[0], couplings.wide[1], couplings.wide[2]
    clear(left[: n_rows * n])
    clear(right[: n_rows * n])
    for r in range(n_rows):
        clear(base[r])
    for e in range(N_NODES):
        k, at, maps = couplings.node[c, e], 6 * e, couplings.map[c]
        if k < 0 or couplings.block[c, e] != b:
            continue
        if tree.segment[k].block == b:
            work, size = tree.segment[k].work, 6 * n
            J = ws.column[1, work : work + size]
            add_products(maps[0], at, n_rows, J, n, left)
            add_products(maps[1], at, n_rows, J, n, right)
            for i in range(size):
                Z[i] = rate * J[i] + (ws.column[2, work + i] if moving else 0.0)
            add_products(maps[2], at, n_rows, Z[:size], n, right)
        for r in range(n_rows):
            for i in range(6):
                base[r, i] += maps[0, r, at + i]
                base[r, 6 + i] += maps[1, r, at + i]
                base[r, 12 + i] += maps[2, r, at + i]
    for j in range(n):
        if known[c0 + j]:
            for r in range(n_rows):
                left[r * n + j], right[r * n + j] = 0.0, 0.0


@kernel_lazy("couplings")
def add_couplings(tree, known, b, rate, moving, ws, couplings, A, C, V, tensors, terms) -> None:
    """Add the couplings of block b alone to its equations, and to what it hands on, tensors (3, 6, 6) [M, N, K]."""
    n, base, c = tree.block[b].n, couplings.base, couplings.first[b]
    left, right = couplings.wide[1], couplings.wide[2]
    while c >= 0:
        project_coupling(tree, known, ws, c, b, rate, moving, couplings)
        for r in range(couplings.n_rows[c]):
            own, change, largest = left[r * n : r * n + n], right[r * n : r * n + n], 0.0
            for i in range(n):
                x = own[i]
                largest = max(largest, abs(x))
                for j in range(n):
                    A[i, j] -= x * change[j]
                for s in range(12):
                    C[i, s] -= x * base[r, 6 + s]
            for j in range(n):
                terms[j] += largest * abs(change[j])
                for i in range(6):
                    V[j, i] -= base[r, i] * change[j]
            for i in range(6 if tree.block[b].parent >= 0 else 0):
                for s in range(6):
                    tensors[2, i, s] += base[r, i] * base[r, 6 + s]
                    tensors[1, i, s] -= base[r, i] * base[r, 12 + s]
        c = couplings.next[c]
