"""Columns of all coordinates that move a node, side by side: products of one wrench with all of them, in one loop.

The path of a node is cached along the sweep: the next one shares most of it, or all.
"""

from __future__ import annotations

from sorosim.base.compiled import kernel_in_place, kernel_inline

# rows of Workspace.vector: J, J', J'' of the ancestors (6 each), and what the pairs of one coordinate come to
PATH_J, PATH_JD, PATH_JDD, PATH_SUMS = 1, 7, 13, 19
# rows of Workspace.place
NODE, COORDINATE = range(2)


@kernel_inline
def gather_ancestors(tree, base, orders, filled, ws):
    """Fill ws.vector and ws.place for a path that ends at the node `base`, the root first; returns its coordinates.

    orders : 1 for J, 3 for J, J' and J''; filled : what the last call of this sweep returned, at first 0.
    """
    node, block = base, tree.segment[base].block
    count = tree.block[block].n_before + tree.segment[base].n
    while node >= 0:
        n, block, work = tree.segment[node].n, tree.segment[node].block, tree.segment[node].work
        first = tree.block[block].n_before
        if n > 0 and first + n <= filled and ws.place[NODE, first] == node:
            break  # so are all before it
        for j in range(n):
            ws.place[NODE, first + j] = node
            ws.place[COORDINATE, first + j] = tree.segment[node].column + j
            for order in range(orders):
                for r in range(6):
                    ws.vector[PATH_J + 6 * order + r, first + j] = ws.column[1 + order, work + r * n + j]
        node = tree.block[block].parent
    return count


@kernel_in_place
def set_pairs(x, Y, first, m, out):
    """out[:m] = sum_r x[r] Y[first + r, :m]: a wrench x (6,) times the columns of m ancestors."""
    x0, x1, x2, x3, x4, x5 = x[0], x[1], x[2], x[3], x[4], x[5]
    Y0, Y1, Y2 = Y[first, :m], Y[first + 1, :m], Y[first + 2, :m]
    Y3, Y4, Y5, row = Y[first + 3, :m], Y[first + 4, :m], Y[first + 5, :m], out[:m]
    for j in range(m):
        row[j] = x0 * Y0[j] + x1 * Y1[j] + x2 * Y2[j] + x3 * Y3[j] + x4 * Y4[j] + x5 * Y5[j]


@kernel_in_place
def add_pairs(scale, x, Y, first, m, out):
    """out[:m] += scale sum_r x[r] Y[first + r, :m]."""
    x0, x1, x2, x3, x4, x5 = scale * x[0], scale * x[1], scale * x[2], scale * x[3], scale * x[4], scale * x[5]
    Y0, Y1, Y2 = Y[first, :m], Y[first + 1, :m], Y[first + 2, :m]
    Y3, Y4, Y5, row = Y[first + 3, :m], Y[first + 4, :m], Y[first + 5, :m], out[:m]
    for j in range(m):
        row[j] += x0 * Y0[j] + x1 * Y1[j] + x2 * Y2[j] + x3 * Y3[j] + x4 * Y4[j] + x5 * Y5[j]


@kernel_in_place
def add_to_row(place, m, scale, x, out):
    """out[a] += scale x[j] for the j-th coordinate a of a path of m."""
    at = place[COORDINATE, :m]
    for j in range(m):
        out[at[j]] += scale * x[j]


@kernel_in_place
def add_to_column(place, m, scale, x, i, out):
    """out[a, i] += scale x[j] for the j-th coordinate a of a path of m."""
    at = place[COORDINATE, :m]
    for j in range(m):
        out[at[j], i] += scale * x[j]


@kernel_in_place
def place_pairs(place, m, i, row, column, out):
    """out[i, a] = row[a] and out[a, i] = column[a] for the m ancestors a of coordinate i."""
    own, at = out[i], place[COORDINATE, :m]
    for j in range(m):
        a = at[j]
        own[a] = row[j]
        out[a, i] = column[j]
