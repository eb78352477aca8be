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
from sorosim.kernels.rod_actuators import LENGTH_INPUT, MODE, ROW_ACTUATOR, ROW_BLOCK, add_by_strain
from sorosim.kernels.small import add_ad_columns, add_coadbar, clear, clear_matrix, copy

# rows of a coupling at most, nodes, and columns: six of each node
N_ROWS, N_NODES, N_COLUMNS = 12, 4, 24
# unknowns of a base: x = (a, b, c), and the wrench p
N_X, N_BASE = 18, 24


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
    most, whole = int(tree.block[:, tr.BLOCK_N].max(initial=1)) if couples else 0, np.int64
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
    for slot in range(contact.counts[sf.LINKED]):
        entry, left, right, by_u = (
            contact.entry[contact.linked[slot]],
            contact.left[slot],
            contact.right[slot],
            (contact.rate[slot]),
        )
        for j in range(N_NODES):
            couplings.node[n, j] = entry[sf.ENTRY_NODE + j] if j < entry[sf.N_ENTRIES] else -1
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
        A, B = row[lj.NODE_A], row[lj.NODE_B]
        left, right, rate = couplings.map[c, 0], couplings.map[c, 1], couplings.map[c, 2]
        for which in range(3):
            clear_matrix(couplings.map[c, which])
        couplings.node[c, 0], couplings.node[c, 1], couplings.node[c, 2], couplings.node[c, 3] = A, B, -1, -1
        couplings.n_rows[c], couplings.loop[c] = 6 + row[lj.N_ROWS], k
        for i in range(6):
            for j in range(6):
                moved[i, j] = 1.0 if i == j else 0.0
        body_columns(closure.pose[k, lj.POSE_B], moved.reshape(36), 6, 0, P)
        split_maps(row, value, closure.pose[k], log[:6], log[6:], T_inv, error_map, laws)
        for i in range(6):
            for j in range(6):
                left[i, j], left[i, 6 + j] = P[i, j], -P[i, j]
        for j in range(row[lj.N_ROWS]):
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
        for law in range(row[lj.N_LAWS]):
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
        blocks[j] = tree.segment[k, tr.BLOCK] if k >= 0 else -1
        for i in range(N_NODES):
            other = tree.segment[nodes[i], tr.BLOCK] if nodes[i] >= 0 else -1
            if k >= 0 and other >= 0 and tree.block[other, tr.BLOCK_PARENT] == k:
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
        base = tree.block[b, tr.BLOCK_PARENT]
        if base < 0:
            return
        b = tree.segment[base, tr.BLOCK]


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
    for a in range(actuators.input.shape[0]):
        slope = workspace.tension[1, a]
        if inertia or actuators.input[a, MODE] != LENGTH_INPUT or slope == 0.0:
            continue
        first, last = tendon_column(tree, actuators, workspace, a, couplings.tendon)
        if first == last:
            size, c0, at = (
                tree.block[first, tr.BLOCK_N],
                tree.block[first, tr.BLOCK_COLUMN],
                tree.block[first, tr.SQUARE],
            )
            for i in range(size):
                for j in range(size):
                    ws.internal[0, at + i * size + j] -= slope * couplings.tendon[c0 + i] * couplings.tendon[c0 + j]
        elif last > first:
            sparse = True
            for row in range(actuators.row.shape[0]):
                if actuators.row[row, ROW_ACTUATOR] == a:
                    keep(tree, actuators.row[row, ROW_BLOCK], couplings)
        clear_blocks(tree, first, last, couplings.tendon)
    return sparse


@kernel_in_place
def tendon_column(tree, actuators, workspace, a, out):
    """Add the forces of unit tension to out (ndof,); the first and last block that it acts on, (0, -1): none."""
    first, last = tree.block.shape[0], -1
    for row in range(actuators.row.shape[0]):
        if actuators.row[row, ROW_ACTUATOR] == a:
            add_by_strain(tree, actuators, row, 1.0, workspace.unit[row], out)
            first, last = min(first, actuators.row[row, ROW_BLOCK]), max(last, actuators.row[row, ROW_BLOCK])
    return (first, last) if last >= 0 else (0, -1)


@kernel_in_place
def clear_blocks(tree, first, last, x):
    """Zero for the coordinates of these blocks."""
    for b in range(first, last + 1):
        c0 = tree.block[b, tr.BLOCK_COLUMN]
        clear(x[c0 : c0 + tree.block[b, tr.BLOCK_N]])


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
    n, c0, n_rows, base = tree.block[b, tr.BLOCK_N], tree.block[b, tr.BLOCK_COLUMN], couplings.n_rows[c], couplings.base
    Z, left, right = couplings.wide[0], couplings.wide[1], couplings.wide[2]
    clear(left[: n_rows * n])
    clear(right[: n_rows * n])
    for r in range(n_rows):
        clear(base[r])
    for e in range(N_NODES):
        k, at, maps = couplings.node[c, e], 6 * e, couplings.map[c]
        if k < 0 or couplings.block[c, e] != b:
            continue
        if tree.segment[k, tr.BLOCK] == b:
            work, size = tree.segment[k, tr.COLUMN_OFFSET], 6 * n
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
    n, base, c = tree.block[b, tr.BLOCK_N], couplings.base, couplings.first[b]
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
            for i in range(6 if tree.block[b, tr.BLOCK_PARENT] >= 0 else 0):
                for s in range(6):
                    tensors[2, i, s] += base[r, i] * base[r, 6 + s]
                    tensors[1, i, s] -= base[r, i] * base[r, 12 + s]
        c = couplings.next[c]


# -- the sparse system -------------------------------------------------------------------------------------------------


@kernel_in_place
def put(entries, rows, columns, count, i, j, x):
    """Append an entry of a sparse matrix, unless it is zero or there is no room; returns how many there are."""
    if x == 0.0:
        return count
    if count < entries.shape[0]:
        entries[count], rows[count], columns[count] = x, i, j
    return count + 1


@kernel_in_place
def number_unknowns(tree, n, couplings):
    """Where the unknowns of kept blocks, of their bases and of loops begin; returns how many there are.

    Nodes of blocks without coordinates share those of their base.
    """
    n_blocks, n_segments, size = tree.block.shape[0], tree.segment.shape[0], 0
    at = couplings.at
    for i in range(at.shape[0]):
        at[i] = -1
    for b in range(n_blocks):
        if not couplings.kept[b]:
            continue
        base, fixed = tree.block[b, tr.BLOCK_PARENT], tree.block[b, tr.BLOCK_N] == 0
        if base >= 0 and at[n_blocks + base] == -1:
            before = tree.segment[base, tr.BLOCK]
            if first_of_base(tree, before, couplings) == AT_REST and tree.block[before, tr.BLOCK_N] <= N_X:
                at[n_blocks + base] = FOLLOWS - base
            else:
                at[n_blocks + base] = size
                size += N_BASE
        at[b] = size
        size += tree.block[b, tr.BLOCK_N]
        for k in range(tree.block[b, tr.FIRST], tree.block[b, tr.END] if fixed else 0):
            at[n_blocks + k] = at[n_blocks + base] if base >= 0 else AT_REST
    for c in range(n):
        if couplings.loop[c] >= 0:
            at[n_blocks + n_segments + c] = size
            size += couplings.n_rows[c]
    return size


@kernel_in_place
def first_of_base(tree, b, couplings):
    """The first unknown of the base of a block; or negative, see FOLLOWS."""
    base = tree.block[b, tr.BLOCK_PARENT]
    return couplings.at[tree.block.shape[0] + base] if base >= 0 else AT_REST


@kernel_in_place
def unknowns_of_base(tree, x, n_all, couplings):
    """First unknown and number of what a base moves by, and its wrench acts on, x of `first_of_base`.

    Of its own unknowns the motion has n_all; of those of the block that it follows both are dq.
    """
    if x > FOLLOWS:
        return (x, n_all) if x >= 0 else (0, 0)
    b = tree.segment[FOLLOWS - x, tr.BLOCK]
    return couplings.at[b], tree.block[b, tr.BLOCK_N]


@kernel_in_place
def place_of_columns(x, tangent):
    """Where the columns (18 n,) of the node that a base follows are in tangent.Z."""
    return tangent.place[FOLLOWS - x]


@kernel_in_place
def reduce_columns(X, at, n_rows, Z, first, n_all, n, out, to):
    """out[:, to : to + n] = X[:, at : at + n_all] Z[first : first + n_all], Z (18, n) row by row."""
    for r in range(n_rows):
        for j in range(n):
            total = 0.0
            for i in range(n_all):
                total += X[r, at + i] * Z[(first + i) * n + j]
            out[r, to + j] = total


@kernel_in_place
def same_blocks(couplings, c, d):
    """Whether two couplings act on the same blocks, node by node."""
    for j in range(N_NODES):
        if couplings.block[c, j] != couplings.block[d, j]:
            return False
    return True


@kernel_in_place
def is_first(blocks, e):
    """Whether entry e of blocks (4,) is one, and none before it is the same."""
    for j in range(e):
        if blocks[j] == blocks[e]:
            return False
    return blocks[e] >= 0


@kernel_in_place
def add_to_product(tree, known, ws, c, rate, moving, tangent):
    """couplings.product += left^T right of coupling c, over dq and base of each of its blocks."""
    couplings = tangent.couplings
    left, right, product, n_rows = couplings.left, couplings.right, couplings.product, couplings.n_rows[c]
    n_left, n_right = 0, 0
    for e in range(N_NODES):
        if not is_first(couplings.block[c], e):
            continue
        b = couplings.block[c, e]
        n = tree.block[b, tr.BLOCK_N]
        project_coupling(tree, known, ws, c, b, rate, moving, couplings)
        for r in range(n_rows):
            for j in range(n):
                left[r, n_left + j] = couplings.wide[1, r * n + j]
                right[r, n_right + j] = couplings.wide[2, r * n + j]
        x = first_of_base(tree, b, couplings)
        _, n_wrench = unknowns_of_base(tree, x, 6, couplings)
        _, n_motion = unknowns_of_base(tree, x, 12, couplings)
        n_left, n_right = n_left + n, n_right + n
        if x <= FOLLOWS:
            Z = tangent.Z[place_of_columns(x, tangent) :]
            reduce_columns(couplings.base, 0, n_rows, Z, 0, 6, n_wrench, left, n_left)
            reduce_columns(couplings.base, 6, n_rows, Z, 0, 12, n_motion, right, n_right)
        elif x >= 0:
            for r in range(n_rows):
                copy(couplings.base[r, :6], left[r, n_left : n_left + 6])
                copy(couplings.base[r, 6:], right[r, n_right : n_right + 12])
        n_left, n_right = n_left + n_wrench, n_right + n_motion
    for r in range(n_rows):
        for i in range(n_left):
            x, line, row = left[r, i], product[i], right[r]
            if x != 0.0:
                for j in range(n_right):
                    line[j] += x * row[j]


@kernel_in_place
def put_product(tree, c, couplings, entries, rows, columns, count):
    """Entries of couplings of the blocks of coupling c, and couplings.product = 0."""
    blocks, product, i0 = couplings.block[c], couplings.product, 0
    for e in range(N_NODES):
        if not is_first(blocks, e):
            continue
        n, q, x = tree.block[blocks[e], tr.BLOCK_N], couplings.at[blocks[e]], first_of_base(tree, blocks[e], couplings)
        wrench, n_wrench = unknowns_of_base(tree, x, 6, couplings)
        wrench += N_X if x >= 0 else 0
        j0 = 0
        for d in range(N_NODES):
            if not is_first(blocks, d):
                continue
            b = blocks[d]
            m, other, base = tree.block[b, tr.BLOCK_N], couplings.at[b], first_of_base(tree, b, couplings)
            base, n_motion = unknowns_of_base(tree, base, 12, couplings)
            for i in range(n + n_wrench):
                line, row = product[i0 + i], (q + i if i < n else wrench + i - n)
                for j in range(m + n_motion):
                    # dq: A dq - left^T f = r; base: p - ... + left^T f = 0
                    value = line[j0 + j] if i >= n and x >= 0 else -line[j0 + j]
                    count = put(entries, rows, columns, count, row, other + j if j < m else base + j - m, value)
            j0 += m + n_motion
        i0 += n + n_wrench
    for i in range(i0):
        clear(product[i])
    return count


@kernel_lazy("couplings")
def assemble(
    tree,
    actuators,
    workspace,
    loops,
    independent,
    known,
    rate,
    moving,
    inertia,
    n,
    order,
    ws,
    tangent,
    entries,
    rows,
    columns,
    size,
) -> int:
    """Entries of the sparse system of what `factor_tangent` kept: how many, which may be more than there is room for.

    independent (m,) int: rows of loops, the multipliers of the others are zero; inertia : the matrix is that of
    inertia, and loops constrain accelerations; n : number of couplings; order (n,) int: of them, with those of the
    same blocks one after the other; size (1,) int: becomes the number of unknowns.
    """
    couplings = tangent.couplings
    size[0] = number_unknowns(tree, n, couplings)
    count = put_blocks(tree, tangent, entries, rows, columns)
    for i in range(n):
        c = order[i]
        if couplings.next[c] != SPARSE:
            continue
        if couplings.loop[c] >= 0:
            count = put_loop(
                tree, loops, independent, known, rate, moving, inertia, c, ws, tangent, entries, rows, columns, count
            )
            continue
        add_to_product(tree, known, ws, c, rate, moving, tangent)
        last = i + 1 == n or couplings.loop[order[i + 1]] >= 0 or not same_blocks(couplings, c, order[i + 1])
        if last or couplings.next[order[i + 1]] != SPARSE:
            count = put_product(tree, c, couplings, entries, rows, columns, count)
    for a in range(actuators.input.shape[0]):
        slope = workspace.tension[1, a]
        if inertia or actuators.input[a, MODE] != LENGTH_INPUT or slope == 0.0:
            continue
        first, last = tendon_column(tree, actuators, workspace, a, couplings.tendon)
        if last > first:
            f = size[0]
            count = put(entries, rows, columns, count, f, f, 1.0)
            for b in range(first, last + 1):
                c0 = tree.block[b, tr.BLOCK_COLUMN]
                for j in range(tree.block[b, tr.BLOCK_N]):
                    by_tension, q = 0.0 if known[c0 + j] else couplings.tendon[c0 + j], couplings.at[b] + j
                    count = put(entries, rows, columns, count, f, q, -slope * by_tension)
                    count = put(entries, rows, columns, count, q, f, by_tension)
            size[0] += 1
        clear_blocks(tree, first, last, couplings.tendon)
    return count


@kernel_lazy("couplings")
def put_blocks(tree, tangent, entries, rows, columns) -> int:
    """Entries of the equations of kept blocks, and of the motions and wrenches at their bases; how many."""
    couplings, n_blocks, count = tangent.couplings, tree.block.shape[0], 0
    at, passed = couplings.at, couplings.passed
    for b in range(n_blocks):
        m, c0, square = tree.block[b, tr.BLOCK_N], tree.block[b, tr.BLOCK_COLUMN], tree.block[b, tr.SQUARE]
        if not couplings.kept[b]:
            continue
        q, x = at[b], first_of_base(tree, b, couplings)
        C, V = tangent.C[c0 : c0 + m], tangent.V[c0 : c0 + m]
        other, n = unknowns_of_base(tree, x, N_X, couplings)
        for i in range(m):
            for j in range(m):
                count = put(entries, rows, columns, count, q + i, q + j, tangent.A[square + i * m + j])
            if x >= 0:
                for s in range(N_X):
                    count = put(entries, rows, columns, count, q + i, x + s, C[i, s])
                for r in range(6):
                    count = put(entries, rows, columns, count, x + N_X + r, q + i, -V[i, r])
            elif x <= FOLLOWS:
                Z = tangent.Z[place_of_columns(x, tangent) :]
                for j in range(n):
                    by_motion, of_wrench = 0.0, 0.0
                    for s in range(N_X):
                        by_motion += C[i, s] * Z[s * n + j]
                    for r in range(6):
                        of_wrench += V[i, r] * Z[r * n + j]
                    count = put(entries, rows, columns, count, q + i, other + j, by_motion)
                    count = put(entries, rows, columns, count, other + j, q + i, of_wrench)
        for k in range(tree.block[b, tr.FIRST], tree.block[b, tr.END]):
            here = at[n_blocks + k]
            if here >= 0:
                count = put_node(tree, b, k, x, tangent, entries, rows, columns, count)
            elif here <= FOLLOWS:
                # J^T L Z of what is handed on to the node
                Z = tangent.Z[place_of_columns(here, tangent) :]
                to, size = unknowns_of_base(tree, here, N_X, couplings)
                for i in range(size):
                    for j in range(size):
                        total = 0.0
                        for r in range(6):
                            for s in range(6):
                                total += Z[r * size + i] * (
                                    passed[k, 0, r, s] * Z[(12 + s) * size + j]
                                    + passed[k, 1, r, s] * Z[(6 + s) * size + j]
                                    - passed[k, 2, r, s] * Z[s * size + j]
                                )
                        count = put(entries, rows, columns, count, to + i, to + j, total)
    return count


@kernel_in_place
def put_node(tree, b, k, x, tangent, entries, rows, columns, count):
    """Append the equations of motion and wrench at node k of block b; x : that of the base of b."""
    couplings, m = tangent.couplings, tree.block[b, tr.BLOCK_N]
    here, q, passed = couplings.at[tree.block.shape[0] + k], couplings.at[b], couplings.passed
    for r in range(6):
        wrench = here + N_X + r
        for s in range(6):
            count = put(entries, rows, columns, count, wrench, here + s, passed[k, 2, r, s])
            count = put(entries, rows, columns, count, wrench, here + 6 + s, -passed[k, 1, r, s])
            count = put(entries, rows, columns, count, wrench, here + 12 + s, -passed[k, 0, r, s])
    if m == 0:  # the unknowns of the base
        return count
    Z = tangent.Z[tangent.place[k] : tangent.place[k] + N_X * m]
    other, n = unknowns_of_base(tree, x, N_X, couplings)
    for s in range(N_X):
        count = put(entries, rows, columns, count, here + s, here + s, 1.0)
        for j in range(m):
            count = put(entries, rows, columns, count, here + s, q + j, -Z[s * m + j])
    for r in range(6):
        count = put(entries, rows, columns, count, here + N_X + r, here + N_X + r, 1.0)
        for j in range(m):
            count = put(entries, rows, columns, count, q + j, here + N_X + r, Z[r * m + j])
    if x >= 0:
        for s in range(N_X):
            count = put(entries, rows, columns, count, here + s, x + s, -1.0)
        for r in range(6):
            count = put(entries, rows, columns, count, x + N_X + r, here + N_X + r, -1.0)
    elif x <= FOLLOWS:
        above = tangent.Z[place_of_columns(x, tangent) :]
        for s in range(N_X):
            for j in range(n):
                count = put(entries, rows, columns, count, here + s, other + j, -above[s * n + j])
        for r in range(6):
            for j in range(n):
                count = put(entries, rows, columns, count, other + j, here + N_X + r, above[r * n + j])
    return count


@kernel_lazy("loops")
def put_loop(
    tree, loops, independent, known, rate, moving, inertia, c, ws, tangent, entries, rows, columns, count
) -> int:
    """Append the entries of a loop, coupling c, whose unknowns are its wrench f and multipliers; how many there are."""
    couplings = tangent.couplings
    f, loop, n_rows = (
        couplings.at[tree.block.shape[0] + tree.segment.shape[0] + c],
        couplings.loop[c],
        couplings.n_rows[c],
    )
    left, right, base = couplings.wide[1], couplings.wide[2], couplings.base
    for r in range(n_rows):
        row = loops.row[loop, lj.FIRST_ROW] + r - 6
        if r < 6 or independent[row] == 0:
            count = put(entries, rows, columns, count, f + r, f + r, 1.0)
        if r >= 6 and independent[row] == 0:
            clear(couplings.map[c, 1, r])
        elif r >= 6:
            for i in range(6):
                phi = loops.value[loop, lj.PHI + 6 * (r - 6) + i]
                count = put(entries, rows, columns, count, f + i, f + r, -phi)
    for e in range(N_NODES):
        if not is_first(couplings.block[c], e):
            continue
        b = couplings.block[c, e]
        project_coupling(tree, known, ws, c, b, rate, moving, couplings)
        m, q, x = tree.block[b, tr.BLOCK_N], couplings.at[b], first_of_base(tree, b, couplings)
        for r in range(n_rows):
            for j in range(m):
                count = put(entries, rows, columns, count, f + r, q + j, -right[r * m + j])
                count = put(entries, rows, columns, count, q + j, f + r, -left[r * m + j])
            # by inertia, errors are those of accelerations
            first = 12 if inertia and r >= 6 else 0
            if x <= FOLLOWS:
                Z = tangent.Z[place_of_columns(x, tangent) :]
                other, n = unknowns_of_base(tree, x, N_X, couplings)
                for j in range(n):
                    by_motion, of_wrench = 0.0, 0.0
                    for s in range(6):
                        by_motion += base[r, 6 + s] * Z[(first + s) * n + j] + base[r, 12 + s] * Z[(6 + s) * n + j]
                        of_wrench += base[r, s] * Z[s * n + j]
                    count = put(entries, rows, columns, count, f + r, other + j, -by_motion)
                    count = put(entries, rows, columns, count, other + j, f + r, -of_wrench)
            for s in range(6 if x >= 0 else 0):
                a = first + s
                count = put(entries, rows, columns, count, f + r, x + a, -base[r, 6 + s])
                count = put(entries, rows, columns, count, f + r, x + 6 + s, -base[r, 12 + s])
                count = put(entries, rows, columns, count, x + N_X + s, f + r, base[r, s])
    return count
