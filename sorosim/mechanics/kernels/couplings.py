"""What couples distant nodes of a tree, and where that stands in its linearised equations (docs/theory.md, 4 and 17).

The wrenches on the nodes of a coupling change by -left^T f, f = right a + rate b, a and b the displacements of these
nodes and their rates, world frame: contacts, loads between two nodes, and the joints of loops. Matrices, products and
their transposes, and the sparse system of the tree are made of these forms alone.

In that system a coupling acts on blocks, by their dq and by the displacement x of the base of each. One of a single
block is eliminated with it. Of the others, their blocks and those before them are kept, with x and the wrench p of each
base as unknowns. So are multipliers of loops, which stand in the place of f: there `right` has the errors of the loop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, kernel_in_place, kernel_lazy, one_record, record
from sorosim.mechanics.kernels import tree as tr
from sorosim.mechanics.kernels.rod_actuators import LENGTH_INPUT, add_by_strain
from sorosim.mechanics.kernels.single import dot6
from sorosim.mechanics.kernels.small import clear
from sorosim.mechanics.kernels.tree import base_of

# rows of a coupling at most, nodes, and columns: six of each node
N_ROWS, N_NODES, N_COLUMNS = 12, 4, 24
# displacement of a base, x = (a, b, c)
N_X = 18


COUPLING = record(
    n=int,  # nodes
    n_rows=int,
    n_rates=int,  # how many of the first rows are forms of rates too
    node=(int, (N_NODES,)),  # -1: one that does not move
)
COUPLING_COUNTS = record(n=int, n_pairs=int)  # loads between nodes, then contacts; those of loops come behind


@by_reference
class Coupling(NamedTuple):
    """Couplings of an evaluation: loads between nodes, contacts, what loops pull with, and their constraints."""

    counts: np.ndarray  # () COUPLING_COUNTS
    row: np.ndarray  # (n,) COUPLING
    left: np.ndarray  # (n, 12, 24) six columns of each node
    right: np.ndarray  # (n, 12, 24)
    rate: np.ndarray  # (n, 12, 24)
    columns: np.ndarray  # (5, 24 ndof) scratch: J and J' of the nodes of a coupling, products with rows
    member: np.ndarray  # (2, ndof) int scratch


def make_coupling(pairs: np.ndarray, n_contacts: int, n_loops: int, ndof: int) -> Coupling:
    """Allocate for loads between the nodes of pairs (n_pairs, 2), contacts and loops."""
    n = len(pairs) + n_contacts + 2 * n_loops
    counts, row, left = one_record(COUPLING_COUNTS), np.zeros(n, dtype=COUPLING), np.zeros((n, N_ROWS, N_COLUMNS))
    size, own = ndof if n else 0, slice(len(pairs))
    counts["n"] = counts["n_pairs"] = len(pairs)
    row["n"][own], row["n_rows"][own], row["n_rates"][own] = 2, N_ROWS, N_ROWS
    row["node"][own, :2], row["node"][own, 2:] = pairs, -1
    left[own, :, :N_ROWS] = np.eye(N_ROWS)
    columns, member = np.zeros((5, N_COLUMNS * size)), np.zeros((2, size), dtype=np.int64)
    right, rate = np.zeros(left.shape), np.zeros(left.shape)  # most of it is never touched: zeros_like would write it
    return Coupling(counts, row, left, right, rate, columns, member)


# -- matrices and products ---------------------------------------------------------------------------------------------


@kernel_in_place
def clear_couplings(coupling):
    """No contacts, and loads between nodes that change nothing."""
    counts = coupling.counts
    counts.n = counts.n_pairs
    for c in range(counts.n):
        for r in range(N_ROWS):
            clear(coupling.right[c, r, :N_ROWS])
            clear(coupling.rate[c, r, :N_ROWS])


@kernel_in_place
def gather_columns(tree, ws, nodes, n_nodes, orders, coupling):
    """World columns J and J', by orders, of some nodes, (6 n_nodes, n) with a stride of ndof; returns n.

    Coordinates are in coupling.member[1]; coupling.member[0] holds where each is, plus one.
    """
    ndof, n = tree.rows.shape[0], 0
    place, member = coupling.member[0], coupling.member[1]
    for j in range(n_nodes):
        node = nodes[j]
        while node >= 0:
            first = tree.segment[node].column
            for c in range(first, first + tree.segment[node].n):
                if place[c] == 0:
                    member[n] = c
                    n += 1
                    place[c] = n
            node = base_of(tree, node)
    for order in range(orders):
        out = coupling.columns[order]
        for r in range(6 * n_nodes):
            clear(out[r * ndof : r * ndof + n])
        for j in range(n_nodes):
            node = nodes[j]
            while node >= 0:
                m, work, first = tree.segment[node].n, tree.segment[node].work, tree.segment[node].column
                for c in range(m):
                    at = place[first + c] - 1
                    for r in range(6):
                        out[(6 * j + r) * ndof + at] = ws.column[1 + order, work + r * m + c]
                node = base_of(tree, node)
    for c in range(n):
        place[member[c]] = 0
    return n


@kernel_in_place
def add_rows(X, n_rows, n_columns, columns, n, stride, out):
    """out (n_rows, n) += X (n_rows, n_columns) columns, the latter two with a stride."""
    for r in range(n_rows):
        line = out[r * stride : r * stride + n]
        for i in range(n_columns):
            x, column = X[r, i], columns[i * stride : i * stride + n]
            if x != 0.0:
                for c in range(n):
                    line[c] += x * column[c]


@kernel_lazy("couplings")
def coupling_matrices(tree, coupling, n, moving, ws, dq, dqd) -> None:
    """Add the first n couplings to the derivatives of inverse dynamics by q and qd, after the sweeps.

    dq -= L^T (right J + rate J'), dqd -= L^T rate J, L = left J.
    """
    ndof, member = tree.rows.shape[0], coupling.member[1]
    J, Jd, L, R, Y = (
        coupling.columns[0], coupling.columns[1], coupling.columns[2], coupling.columns[3], coupling.columns[4]
    )  # fmt: skip
    for c in range(n):
        row = coupling.row[c]
        n_rows, n_rates, size = row.n_rows, row.n_rates, 6 * row.n
        m = gather_columns(tree, ws, row.node, row.n, 2 if moving else 1, coupling)
        clear(L[: n_rows * ndof])
        clear(R[: n_rows * ndof])
        clear(Y[: n_rates * ndof])
        add_rows(coupling.left[c], n_rows, size, J, m, ndof, L)
        add_rows(coupling.right[c], n_rows, size, J, m, ndof, R)
        add_rows(coupling.rate[c], n_rates, size, J, m, ndof, Y)
        if moving:
            add_rows(coupling.rate[c], n_rates, size, Jd, m, ndof, R)
        for i in range(m):
            line, by_rate = dq[member[i]], dqd[member[i]]
            for r in range(n_rows):
                x = L[r * ndof + i]
                if x == 0.0:
                    continue
                for j in range(m):
                    line[member[j]] -= x * R[r * ndof + j]
                if r < n_rates:
                    for j in range(m):
                        by_rate[member[j]] -= x * Y[r * ndof + j]


@kernel_in_place
def over_nodes(row, form, node, at):
    """Product of a form (24,) with six numbers, from column `at` of node (n, 24) on, of each node of a coupling."""
    total = 0.0
    for j in range(row.n):
        if row.node[j] >= 0:
            total += dot6(form[6 * j :], node[row.node[j], at:])
    return total


@kernel_in_place
def to_nodes(row, form, scale, node, at):
    """Its transpose: add `scale` times the form to the nodes of a coupling."""
    for j in range(row.n):
        k = row.node[j]
        if k >= 0:
            for r in range(6):
                node[k, at + r] += scale * form[6 * j + r]


@kernel_in_place
def add_coupling_product(coupling, node):
    """Change of the wrenches node[:, 18:] by displacements and rates node[:, :12]."""
    for c in range(coupling.counts.n):
        row, left, right, rate = coupling.row[c], coupling.left[c], coupling.right[c], coupling.rate[c]
        for r in range(row.n_rows):
            change = over_nodes(row, right[r], node, 0)
            if r < row.n_rates:
                change += over_nodes(row, rate[r], node, 6)
            to_nodes(row, left[r], -change, node, N_X)


@kernel_in_place
def add_coupling_transposed(coupling, node):
    """The transpose of `add_coupling_product`."""
    for c in range(coupling.counts.n):
        row, left, right, rate = coupling.row[c], coupling.left[c], coupling.right[c], coupling.rate[c]
        for r in range(row.n_rows):
            power = over_nodes(row, left[r], node, N_X)
            to_nodes(row, right[r], -power, node, 0)
            if r < row.n_rates:
                to_nodes(row, rate[r], -power, node, 6)


# -- the sparse system -------------------------------------------------------------------------------------------------


@by_reference
class Couplings(NamedTuple):
    """Where n couplings of one linearised state stand in the sparse system, and scratch."""

    forms: Coupling
    block: np.ndarray  # (n, 4) int: by which block each node counts, its own one or one of which it is the base; or -1
    next: np.ndarray  # (n,) int: the next one of the same block, or -1; SPARSE: of several blocks, or constraints
    first: np.ndarray  # (n_blocks,) int: the first one of a block, or -1
    kept: np.ndarray  # (n_blocks,) int: whether a block is kept
    at: np.ndarray  # (n_blocks + n_segments + n,) int: where unknowns of blocks, bases and multipliers begin, or -1
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
FIXED_NODE, FOLLOWS = -2, -3


def make_couplings(tree: tr.Tree, forms: Coupling | None = None) -> Couplings:
    """Allocate for couplings; without any no blocks are kept."""
    couples, forms = forms is not None, forms or make_coupling(np.zeros((0, 2), dtype=np.int64), 0, 0, 0)
    n, n_blocks, n_segments = len(forms.row), len(tree.block), len(tree.segment)
    most, whole = int(tree.block["n"].max(initial=1)) if couples else 0, np.int64
    return Couplings(
        forms, np.zeros((n, N_NODES), dtype=whole), np.zeros(n, dtype=whole), np.full(n_blocks, -1, dtype=whole),
        np.zeros(n_blocks, dtype=whole), np.full(n_blocks + n_segments + n, -1, dtype=whole),
        np.zeros((n_segments if couples else 0, 3, 6, 6)),
        np.zeros(len(tree.rows) if couples else 0), np.zeros((3, N_X * max(most, 2))), np.zeros((N_ROWS, N_X)),
        np.zeros((N_ROWS, N_NODES * (most + N_X))), np.zeros((N_ROWS, N_NODES * (most + N_X))),
        np.zeros((N_NODES * (most + N_X), N_NODES * (most + N_X))),
    )  # fmt: skip


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


@kernel_lazy("sparse tangent")
def place_couplings(tree, actuators, workspace, inertia, constraints, n, ws, couplings) -> bool:
    """Sort couplings and tendons whose length is given into those of blocks and others; whether there are such.

    From coupling `constraints` to n they are those of loops. What a tendon within one block couples is added to the
    derivatives of internal forces of the workspace; inertia : constraints alone count.
    """
    sparse = False
    for b in range(tree.block.shape[0]):
        couplings.first[b], couplings.kept[b] = -1, 0
    for c in range(constraints if inertia else 0, n):
        b = choose_blocks(tree, couplings.forms.row[c].node, couplings.block[c])
        if b >= 0 and c < constraints:
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
    coupling, n, c0, base = couplings.forms, tree.block[b].n, tree.block[b].column, couplings.base
    row = coupling.row[c]
    n_rows, n_rates = row.n_rows, row.n_rates
    Z, left, right = couplings.wide[0], couplings.wide[1], couplings.wide[2]
    clear(left[: n_rows * n])
    clear(right[: n_rows * n])
    for r in range(n_rows):
        clear(base[r])
    for e in range(N_NODES):
        k, at = row.node[e], 6 * e
        if k < 0 or couplings.block[c, e] != b:
            continue
        if tree.segment[k].block == b:
            work, size = tree.segment[k].work, 6 * n
            J = ws.column[1, work : work + size]
            add_products(coupling.left[c], at, n_rows, J, n, left)
            add_products(coupling.right[c], at, n_rows, J, n, right)
            for i in range(size):
                Z[i] = rate * J[i] + (ws.column[2, work + i] if moving else 0.0)
            add_products(coupling.rate[c], at, n_rates, Z[:size], n, right)
        for r in range(n_rows):
            for i in range(6):
                base[r, i] += coupling.left[c, r, at + i]
                base[r, 6 + i] += coupling.right[c, r, at + i]
                if r < n_rates:
                    base[r, 12 + i] += coupling.rate[c, r, at + i]
    for j in range(n):
        if known[c0 + j]:
            for r in range(n_rows):
                left[r * n + j], right[r * n + j] = 0.0, 0.0


@kernel_lazy("sparse tangent")
def add_couplings(tree, known, b, rate, moving, ws, couplings, A, C, V, tensors, terms) -> None:
    """Add the couplings of block b alone to its equations, and to what it hands on, tensors (3, 6, 6) [M, N, K]."""
    n, base, c = tree.block[b].n, couplings.base, couplings.first[b]
    left, right = couplings.wide[1], couplings.wide[2]
    while c >= 0:
        project_coupling(tree, known, ws, c, b, rate, moving, couplings)
        for r in range(couplings.forms.row[c].n_rows):
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
