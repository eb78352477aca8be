"""Poses and Jacobians between the nodes: a partial Magnus step from the node before (docs/theory.md, 2)."""

from __future__ import annotations

from sorosim.base.compiled import kernel_in_place, kernel_lazy, record
from sorosim.mechanics.kernels.kinematics import (
    COLUMNS,
    POSES,
    body_columns,
    combine,
    compose_into,
    forward_sweep,
    homogeneous,
    magnus_step,
    write_columns,
)
from sorosim.mechanics.kernels.small import add, copy, dual_transform
from sorosim.mechanics.kernels.tree import LENGTH, MAGNUS
from sorosim.mechanics.lie.tangent import tangent_into

PLACE = record(
    node=int,  # where the piece starts
    segment=int,  # it is a piece of; -1: the place is the node
    piece=int,  # where its data begin, laid out as in `Tree.strain`
)


@kernel_lazy()
def probe(tree, pieces, index, with_jacobian, q, rest, gravity, ws, g, J) -> None:
    """`probe_places` with the forward sweep before it; rest (ndof,): zeros; pieces: the tree that it is given."""
    forward_sweep(tree, q, rest, rest, gravity, COLUMNS if with_jacobian else POSES, ws)
    probe_places(pieces, index, with_jacobian, q, ws, g, J)


@kernel_in_place
def probe_places(tree, index, with_jacobian, q, ws, g, J):
    """Poses g (n, 4, 4) and, with `jacobian`, body Jacobians J (n, 6, ndof; zero on entry), after a forward sweep.

    `tree` is the tree with `strain` replaced by that of the pieces; index (n,) PLACE.
    """
    start = ws.scratch[0].reshape(12, 3)
    Re, pe, pose = start[0:3], start[3], start[4:8]
    record = ws.scratch[1].reshape(36)
    Omega, x_1, x_2, C = record[0:6], record[6:12], record[12:18], record[18:28]
    dual = ws.scratch[2:6].reshape(8, 2, 3, 3)
    T, A = dual[0], dual[1:5]
    map_1, map_2 = ws.scratch[6], ws.scratch[7]
    columns = ws.wide[0]
    for i in range(index.shape[0]):
        node, segment, at = index[i].node, index[i].segment, index[i].piece
        base = ws.pose[node]
        if segment < 0:
            for r in range(4):
                copy(base[r], pose[r])
        else:
            n, first = tree.segment[segment].n, tree.segment[segment].column
            magnus_step(tree, segment, at, q, Omega, x_1, x_2, C, Re, pe)
            compose_into(base[:3], base[3], Re, pe, pose)
        homogeneous(pose, g[i])
        if not with_jacobian:
            continue

        # own columns: those of the node, if it belongs to the same block, plus S_w of the piece
        own = tree.segment[segment].block if segment >= 0 else -1
        if segment >= 0 and tree.segment[segment].n > 0:
            h, c = tree.strain[at + LENGTH], tree.strain[at + MAGNUS]
            tangent_into(Omega, C, T)
            dual_transform(base[:3], base[3], T, A[0])
            combine(A, 0, False, h, c, x_2, x_2, x_2, -1.0, map_1)
            combine(A, 0, False, h, c, x_1, x_1, x_1, 1.0, map_2)
            write_columns(tree, at, n, first, map_1, map_2, columns)
            if tree.segment[node].block == own:
                work = tree.segment[node].work
                add(ws.column[1, work : work + 6 * n], columns)
            body_columns(pose, columns, n, first, J[i])
        while node >= 0:
            n, work = tree.segment[node].n, tree.segment[node].work
            if tree.segment[node].block != own:
                body_columns(pose, ws.column[1, work : work + 6 * n], n, tree.segment[node].column, J[i])
            node = tree.block[tree.segment[node].block].parent
