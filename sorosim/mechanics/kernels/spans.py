"""Rods of finite elements, span by span: see `Tree` for the word, docs/theory.md, 4 for the recursion.

A span is to its rod what a block is to the tree. What lies beyond it acts on its last node, as one inertia and one
wrench; coordinates that began before it, its own as far as they did, are ancestors, whose columns are those of the node
where it begins. So a rod of many elements costs what as many divisions do.
"""

from __future__ import annotations

from sorosim.base.compiled import kernel_in_place, kernel_inline, kernel_lazy
from sorosim.mechanics.kernels.small import (
    add_matrix,
    add_matrix_columns,
    add_scaled,
    add_transposed_product,
    clear,
    clear_matrix,
)

# rows of Workspace.wide: sums over a block come first; then the same sums over a span, its columns, and matrices
BLOCK_SUMS, SPAN_SUMS, SPAN_COLUMNS, SPAN_MATRICES = 0, 8, 16, 22
# columns of a span at a node: S, J, J', J'' and J of the node before; products with an ancestor
S_W, OWN_J, OWN_JD, OWN_JDD, BEFORE, PRODUCTS = range(6)


@kernel_inline
def span_begin(tree, b, end):
    """First segment of the span of block b whose last segment is end - 1."""
    first = tree.block[b].first
    if tree.block[b].is_local == 0:
        return first
    k = end - 1
    while k > first and tree.segment[k - 1].local == tree.segment[k].local:
        k -= 1
    return k


@kernel_in_place
def gather(tree, k, order, first, ws, out):
    """out (6 m,): S (order 0), or J, J', J'' (1 to 3), of the coordinates of a span, from segment `first` to k."""
    n, work = tree.segment[k].n, tree.segment[k].work
    local, m = tree.segment[k].local, tree.segment[k].n_local
    column, begun = ws.column[order], first > tree.block[tree.segment[k].block].first
    at = tree.segment[first].work - 6 * n
    for i in range(m):
        j = tree.local[local + i]
        for r in range(6):
            value = column[work + r * n + j]
            if order > 0 and begun:
                value -= column[at + r * n + j]
            out[r * m + i] = value


@kernel_in_place
def add_local(tree, k, X, Y):
    """Y (6 n,) of a block += X (6 m,) of the span of segment k."""
    n, local, m = tree.segment[k].n, tree.segment[k].local, tree.segment[k].n_local
    for r in range(6):
        for i in range(m):
            Y[r * n + tree.local[local + i]] += X[r * m + i]


@kernel_in_place
def add_local_square(tree, k, X, at, out):
    """out[at:, at:] of a block += X (m, m) of the span of segment k."""
    local, m = tree.segment[k].local, tree.segment[k].n_local
    for i in range(m):
        row = out[at + tree.local[local + i]]
        for j in range(m):
            row[at + tree.local[local + j]] += X[i, j]


@kernel_in_place
def add_row(scale, X, m, i, Y, n, out):
    """out (n,) += scale sum_r X[r, i] Y[r]; X (6 m,), Y (6 n,) row by row."""
    x0, x1, x2 = scale * X[i], scale * X[m + i], scale * X[2 * m + i]
    x3, x4, x5 = scale * X[3 * m + i], scale * X[4 * m + i], scale * X[5 * m + i]
    Y0, Y1, Y2, Y3, Y4, Y5 = Y[:n], Y[n : 2 * n], Y[2 * n : 3 * n], Y[3 * n : 4 * n], Y[4 * n : 5 * n], Y[5 * n :]
    for j in range(n):
        out[j] += x0 * Y0[j] + x1 * Y1[j] + x2 * Y2[j] + x3 * Y3[j] + x4 * Y4[j] + x5 * Y5[j]


@kernel_in_place
def add_column(x, at, j, out):
    """out[at:, j] += x (n,)."""
    for i in range(x.shape[0]):
        out[at + i, j] += x[i]


@kernel_lazy("spans")
def join_span(tree, b, first, moving, loaded, with_rates, with_mass, ws, dq, dqd, dqdd) -> None:
    """Add what `derivative_sweep` has summed over the span that begins at segment `first` to its block.

    Own x own of the span, own x begun before and begun before x own, and the sums over the block.
    """
    n, c0, local, m = (
        tree.block[b].n,
        tree.block[b].column,
        tree.segment[first].local,
        tree.segment[first].n_local,
    )
    sums, size = ws.wide[SPAN_SUMS : SPAN_SUMS + 5, : 6 * m], m * m
    for array in range(5):
        add_local(tree, first, sums[array], ws.wide[BLOCK_SUMS + array])
    add_local_square(tree, first, ws.wide[SPAN_MATRICES, :size].reshape(m, m), c0, dq)
    if with_rates:
        add_local_square(tree, first, ws.wide[SPAN_MATRICES + 1, :size].reshape(m, m), c0, dqd)
    if with_mass:
        add_local_square(tree, first, ws.wide[SPAN_MATRICES + 2, :size].reshape(m, m), c0, dqdd)
    if first == tree.block[b].first:
        return
    work = tree.segment[first - 1].work
    J, Jd, Jdd = (
        ws.column[1, work : work + 6 * n],
        ws.column[2, work : work + 6 * n],
        ws.column[3, work : work + 6 * n],
    )
    W, Wd, XM, XN, XK = sums[0], sums[1], sums[2], sums[3], sums[4]
    y = ws.wide[SPAN_COLUMNS + PRODUCTS, :n]
    for i in range(m):
        own = c0 + tree.local[local + i]
        row = dq[own, c0 : c0 + n]
        add_row(1.0, XM, m, i, Jdd, n, row)
        clear(y)
        add_row(1.0, W, m, i, J, n, y)
        add_column(y, c0, own, dq)
        if moving:
            add_row(1.0, XN, m, i, Jd, n, row)
        if loaded:
            add_row(-1.0, XK, m, i, J, n, row)
        if with_rates:
            row = dqd[own, c0 : c0 + n]
            add_row(1.0, XN, m, i, J, n, row)
            if moving:
                add_row(2.0, XM, m, i, Jd, n, row)
            clear(y)
            add_row(1.0, Wd, m, i, J, n, y)
            add_column(y, c0, own, dqd)
        if with_mass:
            clear(y)
            add_row(1.0, XM, m, i, J, n, y)
            add_column(y, c0, own, dqdd)
            add_scaled(1.0, y, dqdd[own, c0 : c0 + n])


@kernel_lazy("spans")
def local_mass(tree, b, ws, MC, out) -> None:
    """Own x own of block b in a mass matrix out, and sums over the block: MC, and M J (6 n,) in ws.wide[0].

    The inertia of a node is ws.tensor[:, 0]; `out` may be that of the block alone.
    """
    n = tree.block[b].n
    c0 = 0 if out.shape[0] == n else tree.block[b].column
    clear(ws.wide[0, : 6 * n])
    clear_matrix(MC)
    y, end = ws.wide[SPAN_COLUMNS + PRODUCTS, :n], tree.block[b].end
    while end > tree.block[b].first:
        first, m = span_begin(tree, b, end), tree.segment[end - 1].n_local
        S, J = ws.wide[SPAN_COLUMNS, : 6 * m], ws.wide[SPAN_COLUMNS + 1, : 6 * m]
        W, own = ws.wide[SPAN_SUMS, : 6 * m], ws.wide[SPAN_MATRICES, : m * m].reshape(m, m)
        clear(W)
        clear_matrix(own)
        for k in range(end - 1, first - 1, -1):
            add_matrix(ws.tensor[k, 0], MC)
            gather(tree, k, 0, first, ws, S)
            gather(tree, k, 1, first, ws, J)
            add_matrix_columns(MC if k == end - 1 else ws.tensor[k, 0], J, m, 1.0, W)
            add_transposed_product(S, m, W, m, 1.0, own, 0, 0)
        add_local(tree, first, W, ws.wide[0])
        add_local_square(tree, first, own, c0, out)
        if first > tree.block[b].first:
            work, local = tree.segment[first - 1].work, tree.segment[first].local
            for i in range(m):
                at = c0 + tree.local[local + i]
                clear(y)
                add_row(1.0, W, m, i, ws.column[1, work : work + 6 * n], n, y)
                add_column(y, c0, at, out)
                for j in range(n):
                    out[at, c0 + j] += y[j]
        end = first
