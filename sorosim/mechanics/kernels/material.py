"""Where the material is that flows through the nodes of rods whose length is a coordinate (docs/theory.md, 19)."""

from __future__ import annotations

from sorosim.base.compiled import kernel_in_place, kernel_lazy
from sorosim.mechanics.kernels.small import add_scaled, copy
from sorosim.mechanics.kernels.tree import (
    FLOW_BASIS,
    FLOW_LENGTH,
    FLOW_RATE,
    FLOW_REFERENCE,
    LENGTH_RATIO,
    MATERIAL_TWIST,
    SECTION_LENGTH,
    SECTION_RATES,
    TANGENT,
)


@kernel_in_place
def world_columns(g, P, n, out):
    """out (6 n,) = Ad_g P^T of columns P (n, 6): R w, R v + p x R w."""
    p = g[3]
    for j in range(n):
        x = P[j]
        for i in range(3):
            out[i * n + j] = g[i, 0] * x[0] + g[i, 1] * x[1] + g[i, 2] * x[2]
            out[(3 + i) * n + j] = g[i, 0] * x[3] + g[i, 1] * x[4] + g[i, 2] * x[5]
        a, b, c = out[j], out[n + j], out[2 * n + j]
        out[3 * n + j] += p[1] * c - p[2] * b
        out[4 * n + j] += p[2] * a - p[0] * c
        out[5 * n + j] += p[0] * b - p[1] * a


@kernel_in_place
def add_columns(P, n, values, out):
    """out (6,) += sum of columns P (n, 6), flat, times values (n,)."""
    for j in range(n):
        for r in range(6):
            out[r] += P[6 * j + r] * values[j]


@kernel_lazy("flow")
def material_twists(tree, q, qd, ws) -> None:
    """Of the material at flowing nodes lambda, the tangent W by X and the twist V + u W, at the end of a sweep."""
    x = ws.scratch[0, 0]
    for i in range(tree.flow_node.shape[0]):
        k, at = tree.flow_node[i].node, tree.flow_node[i].at
        n, first, basis = tree.segment[k].n, tree.segment[k].column, at + FLOW_BASIS
        W, V = ws.twist[k, TANGENT], ws.twist[k, MATERIAL_TWIST]
        ratio = 1.0 + q[first] / tree.flow[at + FLOW_LENGTH]
        copy(tree.flow[at + FLOW_REFERENCE : basis], x)
        add_columns(tree.flow[basis : basis + 6 * n], n, q[first : first + n], x)
        world_columns(ws.pose[k], x.reshape(1, 6), 1, W)
        ws.twist[k, LENGTH_RATIO, 0] = ratio
        copy(ws.twist[k, 0], V)
        add_scaled(tree.flow[at + FLOW_RATE] / ratio * qd[first], W, V)


@kernel_lazy("tubes")
def inserted_lengths(tree, q, ws) -> None:
    """Of nodes of concentric tubes l/L of their sections, and the twist of the material, of insertions that stay."""
    for i in range(tree.inserted.shape[0]):
        row = tree.inserted[i]
        k, at, ratio = row.node, row.at, 1.0 + 0.0 * q[0]
        for j in range(row.n):
            moved = q[tree.segment[k].column + tree.local[row.index + j]]
            ratio += tree.flow[at + SECTION_RATES + j] * moved / tree.flow[at + SECTION_LENGTH]
        ws.twist[k, LENGTH_RATIO, 0] = ratio
        copy(ws.twist[k, 0], ws.twist[k, MATERIAL_TWIST])
