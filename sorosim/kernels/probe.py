"""Poses and Jacobians between the nodes: a partial Magnus step from the node before (docs/theory.md, 2)."""

from __future__ import annotations

from sorosim.compiled import kernel_in_place
from sorosim.kernels.kinematics import body_columns, compose_into, homogeneous, write_columns
from sorosim.kernels.small import (
    add,
    add_ad,
    add_dual_ad,
    copy_dual,
    dual_expand_transposed,
    dual_transform,
)
from sorosim.kernels.tree import BLOCK, BLOCK_PARENT, COLUMN, LENGTH, MAGNUS, N_COLUMNS, REFERENCE, WORK, add_strains
from sorosim.lie.se3 import exp_into
from sorosim.lie.so3 import coefficients
from sorosim.lie.tangent import tangent_into

# columns of the index of places: node where the piece starts, segment it is a piece of (-1: the place is the node),
# offset of its data, laid out as in Tree.strain
NODE, SEGMENT, PIECE = range(3)


@kernel_in_place
def piece_step(tree, q, ws, segment, at, Omega, x_1, x_2, C, Re, pe):
    """Relative motion along a piece whose data start at tree.strain[at]: fills Omega, the strains, C and exp."""
    n, first = tree.segment[segment, N_COLUMNS], tree.segment[segment, COLUMN]
    h, c = tree.strain[at + LENGTH], tree.strain[at + MAGNUS]
    for r in range(6):
        x_1[r] = tree.strain[at + REFERENCE + r]
        x_2[r] = tree.strain[at + REFERENCE + 6 + r]
    add_strains(tree, at, n, first, q, x_1, x_2)
    for r in range(6):
        Omega[r] = 0.5 * h * (x_1[r] + x_2[r])
    add_ad(x_1, x_2, c, Omega)
    coefficients(Omega[0] * Omega[0] + Omega[1] * Omega[1] + Omega[2] * Omega[2], C)
    exp_into(Omega, C, Re, pe)


@kernel_in_place
def probe_places(tree, index, with_jacobian, q, ws, g, J):
    """Poses g (n, 4, 4) and, with `jacobian`, body Jacobians J (n, 6, ndof; zero on entry), after a forward sweep.

    `tree` is the tree with `strain` replaced by that of the pieces; index (n, 3): columns named above.
    """
    start = ws.scratch[0].reshape(12, 3)
    Re, pe, pose = start[0:3], start[3], start[4:8]
    vectors = ws.scratch[1]
    Omega, x_1, x_2 = vectors[0], vectors[1], vectors[2]
    C = ws.scratch[8].reshape(36)[:10]
    dual = ws.scratch[2:6].reshape(8, 2, 3, 3)
    T, A, X = dual[0], dual[1], dual[2]
    map_1, map_2 = ws.scratch[6], ws.scratch[7]
    columns = ws.wide[0]
    for i in range(index.shape[0]):
        node, segment, at = index[i, NODE], index[i, SEGMENT], index[i, PIECE]
        base = ws.pose[node]
        if segment < 0:
            for r in range(4):
                for c in range(3):
                    pose[r, c] = base[r, c]
        else:
            piece_step(tree, q, ws, segment, at, Omega, x_1, x_2, C, Re, pe)
            compose_into(base[:3], base[3], Re, pe, pose)
        homogeneous(pose, g[i])
        if not with_jacobian:
            continue

        # own columns: those of the node, if it belongs to the same block, plus S_w of the piece
        own = tree.segment[segment, BLOCK] if segment >= 0 else -1
        if segment >= 0 and tree.segment[segment, N_COLUMNS] > 0:
            n, first = tree.segment[segment, N_COLUMNS], tree.segment[segment, COLUMN]
            h, c = tree.strain[at + LENGTH], tree.strain[at + MAGNUS]
            tangent_into(Omega, C, T)
            dual_transform(base[:3], base[3], T, A)
            copy_dual(A, 0.5 * h, X)
            add_dual_ad(A, x_2, -c, X)
            dual_expand_transposed(X, map_1)
            copy_dual(A, 0.5 * h, X)
            add_dual_ad(A, x_1, c, X)
            dual_expand_transposed(X, map_2)
            write_columns(tree, at, n, first, map_1, map_2, columns)
            if tree.segment[node, BLOCK] == own:
                work = tree.segment[node, WORK]
                add(ws.column[1, work : work + 6 * n], columns)
            body_columns(pose, columns, n, first, J[i])
        while node >= 0:
            n, work = tree.segment[node, N_COLUMNS], tree.segment[node, WORK]
            if tree.segment[node, BLOCK] != own:
                body_columns(pose, ws.column[1, work : work + 6 * n], n, tree.segment[node, COLUMN], J[i])
            node = tree.block[tree.segment[node, BLOCK], BLOCK_PARENT]
