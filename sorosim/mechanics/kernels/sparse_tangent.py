"""The sparse system of what `kernels.tangent.factor_tangent` kept, entry by entry (docs/theory.md, 17).

Unknowns are dq of kept blocks, the displacement x and the wrench p of their bases, f and multipliers of loops, and what
tensions change by. Couplings other than loops are put in, summed over those of the same blocks.
"""

from __future__ import annotations

import numpy as np

from sorosim.base.compiled import kernel_in_place, kernel_lazy
from sorosim.mechanics.kernels.couplings import (
    FIXED_NODE,
    FOLLOWS,
    N_NODES,
    N_X,
    SPARSE,
    clear_blocks,
    project_coupling,
    tendon_column,
)
from sorosim.mechanics.kernels.rod_actuators import LENGTH_INPUT
from sorosim.mechanics.kernels.small import clear, copy

N_BASE = N_X + 6


@kernel_in_place
def put(entries, rows, columns, count, i, j, x):
    """Append an entry of a sparse matrix, unless it is zero or there is no room; returns how many there are."""
    if x == 0.0:
        return count
    if count < entries.shape[0]:
        entries[count], rows[count], columns[count] = x, i, j
    return count + 1


@kernel_in_place
def number_unknowns(tree, sequence, couplings):
    """Number the unknowns of kept blocks and of loops in a sequence, couplings c as -1 - c; returns how many there are.

    Those of a block are dq, then those of its nodes that are bases of kept blocks. Nodes of blocks without coordinates
    share those of their base.
    """
    n_blocks, n_segments, size, own = tree.block.shape[0], tree.segment.shape[0], 0, 0  # own: numbers that follow
    at = couplings.at
    for i in range(at.shape[0]):
        at[i] = -1
    for b in range(n_blocks):
        if not couplings.kept[b]:
            continue
        base = tree.block[b].parent
        if base >= 0 and at[n_blocks + base] == -1:
            before = tree.segment[base].block
            follows = first_of_base(tree, before, couplings) == FIXED_NODE and tree.block[before].n <= N_X
            at[n_blocks + base] = FOLLOWS - base if follows else own
        share_base(tree, b, couplings)
    for i in range(sequence.shape[0]):
        b = sequence[i]
        if b < 0:
            at[n_blocks + n_segments - 1 - b] = size
            size += couplings.forms.row[-1 - b].n_rows
            continue
        at[b] = size
        size += tree.block[b].n
        for k in range(tree.block[b].first, tree.block[b].end if tree.block[b].n else 0):
            if at[n_blocks + k] >= 0:
                at[n_blocks + k] = size
                size += N_BASE
    for b in range(n_blocks):
        if couplings.kept[b]:
            share_base(tree, b, couplings)
    return size


@kernel_in_place
def share_base(tree, b, couplings):
    """The nodes of a block without coordinates have the unknowns of its base."""
    for k in range(tree.block[b].first, tree.block[b].end if tree.block[b].n == 0 else 0):
        couplings.at[tree.block.shape[0] + k] = first_of_base(tree, b, couplings)


@kernel_in_place
def first_of_base(tree, b, couplings):
    """The first unknown of the base of a block; or negative, see FOLLOWS."""
    base = tree.block[b].parent
    return couplings.at[tree.block.shape[0] + base] if base >= 0 else FIXED_NODE


@kernel_in_place
def unknowns_of_base(tree, x, n_all, couplings):
    """First unknown and number of what a base moves by, and its wrench acts on, x of `first_of_base`.

    Of its own unknowns the motion has n_all; of those of the block that it follows both are dq.
    """
    if x > FOLLOWS:
        return (x, n_all) if x >= 0 else (0, 0)
    b = tree.segment[FOLLOWS - x].block
    return couplings.at[b], tree.block[b].n


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
    left, right, product, n_rows = couplings.left, couplings.right, couplings.product, couplings.forms.row[c].n_rows
    n_left, n_right = 0, 0
    for e in range(N_NODES):
        if not is_first(couplings.block[c], e):
            continue
        b = couplings.block[c, e]
        n = tree.block[b].n
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
        n, q, x = tree.block[blocks[e]].n, couplings.at[blocks[e]], first_of_base(tree, blocks[e], couplings)
        wrench, n_wrench = unknowns_of_base(tree, x, 6, couplings)
        wrench += N_X if x >= 0 else 0
        j0 = 0
        for d in range(N_NODES):
            if not is_first(blocks, d):
                continue
            b = blocks[d]
            m, other, base = tree.block[b].n, couplings.at[b], first_of_base(tree, b, couplings)
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


@kernel_lazy("sparse tangent")
def assemble(
    tree,
    actuators,
    workspace,
    loops,
    compliance,
    known,
    rate,
    moving,
    inertia,
    constraints,
    n,
    order,
    sequence,
    ws,
    tangent,
    entries,
    rows,
    columns,
    size,
) -> int:
    """Entries of the sparse system of what `factor_tangent` kept: how many, which may be more than there is room for.

    compliance (m,): of rows of loops, infinite where multipliers are zero; inertia : the matrix is that of
    inertia, and loops constrain accelerations; from coupling `constraints` to n they are those of loops; order int: of
    those that count, with those of the same blocks one after the other; sequence int: see `number_unknowns`; size (1,)
    int: becomes the number of unknowns.
    """
    couplings = tangent.couplings
    size[0] = number_unknowns(tree, sequence, couplings)
    count = put_blocks(tree, tangent, entries, rows, columns)
    for c in range(constraints, n):
        first = loops.row[c - constraints].first_row
        count = put_loop(tree, first, compliance, known, rate, inertia, c, ws, tangent, entries, rows, columns, count)
    last_of = order.shape[0]
    for i in range(last_of):
        c = order[i]
        if couplings.next[c] != SPARSE:
            continue
        add_to_product(tree, known, ws, c, rate, moving, tangent)
        last = i + 1 == last_of or not same_blocks(couplings, c, order[i + 1])
        if last or couplings.next[order[i + 1]] != SPARSE:
            count = put_product(tree, c, couplings, entries, rows, columns, count)
    for a in range(actuators.mode.shape[0]):
        slope = workspace.tension[1, a]
        if inertia or actuators.mode[a] != LENGTH_INPUT or slope == 0.0:
            continue
        first, last = tendon_column(tree, actuators, workspace, a, couplings.tendon)
        if last > first:
            f = size[0]
            count = put(entries, rows, columns, count, f, f, 1.0)
            for b in range(first, last + 1):
                c0 = tree.block[b].column
                for j in range(tree.block[b].n):
                    by_tension, q = 0.0 if known[c0 + j] else couplings.tendon[c0 + j], couplings.at[b] + j
                    count = put(entries, rows, columns, count, f, q, -slope * by_tension)
                    count = put(entries, rows, columns, count, q, f, by_tension)
            size[0] += 1
        clear_blocks(tree, first, last, couplings.tendon)
    return count


@kernel_lazy("sparse tangent")
def put_blocks(tree, tangent, entries, rows, columns) -> int:
    """Entries of the equations of kept blocks, and of the motions and wrenches at their bases; how many."""
    couplings, n_blocks, count = tangent.couplings, tree.block.shape[0], 0
    at, passed = couplings.at, couplings.passed
    for b in range(n_blocks):
        m, c0, square = tree.block[b].n, tree.block[b].column, tree.block[b].square
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
        for k in range(tree.block[b].first, tree.block[b].end):
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
    couplings, m = tangent.couplings, tree.block[b].n
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
def put_loop(tree, first_row, compliance, known, rate, inertia, c, ws, tangent, entries, rows, columns, count) -> int:
    """Append the entries of the constraints of a loop, coupling c, whose unknowns are its multipliers; how many."""
    couplings = tangent.couplings
    f, n_rows = couplings.at[tree.block.shape[0] + tree.segment.shape[0] + c], couplings.forms.row[c].n_rows
    left, right, base = couplings.wide[1], couplings.wide[2], couplings.base
    for r in range(n_rows):
        given = compliance[first_row + r]
        count = put(entries, rows, columns, count, f + r, f + r, 1.0 if given == np.inf else -given)
        if given == np.inf:
            clear(couplings.forms.right[c, r])
    for e in range(N_NODES):
        if not is_first(couplings.block[c], e):
            continue
        b = couplings.block[c, e]
        project_coupling(tree, known, ws, c, b, rate, False, couplings)
        m, q, x = tree.block[b].n, couplings.at[b], first_of_base(tree, b, couplings)
        for r in range(n_rows):
            for j in range(m):
                count = put(entries, rows, columns, count, f + r, q + j, -right[r * m + j])
                count = put(entries, rows, columns, count, q + j, f + r, -left[r * m + j])
            # by inertia, errors are those of accelerations
            first = 12 if inertia else 0
            if x <= FOLLOWS:
                Z = tangent.Z[place_of_columns(x, tangent) :]
                other, n = unknowns_of_base(tree, x, N_X, couplings)
                for j in range(n):
                    by_motion, of_wrench = 0.0, 0.0
                    for s in range(6):
                        by_motion += base[r, 6 + s] * Z[(first + s) * n + j]
                        of_wrench += base[r, s] * Z[s * n + j]
                    count = put(entries, rows, columns, count, f + r, other + j, -by_motion)
                    count = put(entries, rows, columns, count, other + j, f + r, -of_wrench)
            for s in range(6 if x >= 0 else 0):
                a = first + s
                count = put(entries, rows, columns, count, f + r, x + a, -base[r, 6 + s])
                count = put(entries, rows, columns, count, x + N_X + s, f + r, base[r, s])
    return count
