"""External wrenches on the nodes of a tree, with their tangents, world frame (docs/theory.md, 4 and 11)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.compiled import by_reference, kernel_in_place, kernel_lazy
from sorosim.kernels.kinematics import body_columns, compose_into, homogeneous, relative_into
from sorosim.kernels.rod_actuators import ActuatorWorkspace
from sorosim.kernels.small import add, add_coad, add_coadbar, add_matrix, add_scaled, clear, copy
from sorosim.kernels.surfaces import ContactWorkspace
from sorosim.lie.triples import cross, head, plus, row, rows, store, tail, times


@by_reference
class ExternalForces(NamedTuple):
    """External wrenches and tangents on the nodes of a tree, and couplings of pairs of nodes.

    A load between nodes A and B adds to both as a load of its own; what the wrench on A changes with the motion of B
    and the reverse are the blocks of its pair, 0 and 1.
    """

    # (n, 6) of nodes, then of the material at flowing nodes and at those of tubes, in the order of `Tree.flow_node` and
    # `Tree.inserted`; of length 0 where there are no loads, and so are the next two
    wrench: np.ndarray
    K: np.ndarray  # (n, 6, 6) K_w
    D: np.ndarray  # (n, 6, 6) D_w
    pair: np.ndarray  # (n_pairs, 2) int: nodes A and B
    pair_K: np.ndarray  # (n_pairs, 2, 6, 6) how the wrench on A changes with J_B, and that on B with J_A
    pair_D: np.ndarray  # (n_pairs, 2, 6, 6) the same, with J'_B and J'_A
    section: np.ndarray  # (n_rows, 6) internal wrenches that actuators in Python give, and their tangents
    section_K: np.ndarray  # (n_rows, 6, 6) by the strain
    section_D: np.ndarray  # (n_rows, 6, 6) by the rate of the strain
    section_B: np.ndarray  # (n_rows, 6) by the input
    actuators: ActuatorWorkspace
    contact: ContactWorkspace  # contacts
    columns: np.ndarray  # (6, 6 ndof) scratch for the columns of a pair; of length 0 where there are none
    member: np.ndarray  # (2, ndof) int scratch
    scratch: np.ndarray  # (16, 6, 6)


def make_external(
    n_nodes: int, pairs: np.ndarray, n_rows: int, actuators: ActuatorWorkspace, touch: ContactWorkspace, ndof: int
) -> ExternalForces:  # fmt: skip
    """Allocate for nodes and flowing material (0: no loads), pairs (n_pairs, 2) and rows of actuators in Python."""
    n, m = len(pairs), ndof if len(pairs) else 0
    return ExternalForces(
        np.zeros((n_nodes, 6)), np.zeros((n_nodes, 6, 6)), np.zeros((n_nodes, 6, 6)),
        np.ascontiguousarray(pairs, dtype=np.int64).reshape(-1, 2), np.zeros((n, 2, 6, 6)), np.zeros((n, 2, 6, 6)),
        np.zeros((n_rows, 6)), np.zeros((n_rows, 6, 6)), np.zeros((n_rows, 6, 6)), np.zeros((n_rows, 6)),
        actuators, touch, np.zeros((6, 6 * m)), np.zeros((2, m), dtype=np.int64), np.zeros((16, 6, 6)),
    )  # fmt: skip


@kernel_in_place
def clear_external(external):
    """No loads."""
    clear(external.wrench.reshape(-1))
    clear(external.K.reshape(-1))
    clear(external.D.reshape(-1))
    clear(external.pair_K.reshape(-1))
    clear(external.pair_D.reshape(-1))
    external.contact.counts.active = 0
    external.contact.counts.linked = 0


@kernel_in_place
def world_wrench(g, f, out):
    """out = Ad_g^-T f = [R m + p x R f; R f]; g (4, 3), f and out (6,)."""
    R = rows(g)
    moment, force = times(R, head(f)), times(R, tail(f))
    store(plus(moment, cross(row(g, 3), force)), force, out)


@kernel_in_place
def world_tangent(g, X, scratch, out):
    """out = Ad_g^-T X Ad_g^-1, X any (6, 6); g (4, 3), scratch (6, 6)."""
    p = g[3]
    # blocks into world axes: R X R^T
    for i in range(6):
        for j in range(6):
            bj, c = 3 * (j // 3), j % 3
            scratch[i, j] = X[i, bj] * g[c, 0] + X[i, bj + 1] * g[c, 1] + X[i, bj + 2] * g[c, 2]
    for i in range(6):
        bi, r = 3 * (i // 3), i % 3
        for j in range(6):
            out[i, j] = g[r, 0] * scratch[bi, j] + g[r, 1] * scratch[bi + 1, j] + g[r, 2] * scratch[bi + 2, j]
    # to the world's origin: [[1, p^], [0, 1]] X [[1, 0], [-p^, 1]]
    for j in range(6):
        a, b, c = out[3, j], out[4, j], out[5, j]
        out[0, j] += p[1] * c - p[2] * b
        out[1, j] += p[2] * a - p[0] * c
        out[2, j] += p[0] * b - p[1] * a
    for i in range(6):
        a, b, c = out[i, 3], out[i, 4], out[i, 5]
        out[i, 0] -= b * p[2] - c * p[1]
        out[i, 1] -= c * p[0] - a * p[2]
        out[i, 2] -= a * p[1] - b * p[0]


@kernel_in_place
def add_load(node, g, f, K, D, external):
    """Add a wrench f on a frame with pose g (4, 3) on a node, and its tangents, all in the axes of that frame."""
    scratch, X, w = external.scratch[0], external.scratch[1], external.scratch[2, 0]
    world_wrench(g, f, w)
    add(w, external.wrench[node])
    world_tangent(g, K, scratch, X)
    add_matrix(X, external.K[node])
    world_tangent(g, D, scratch, X)
    add_matrix(X, external.D[node])


@kernel_in_place
def add_pair_load(k, A, B, g_A, V_A, V_B, f, K, D, external):
    """Add a load between frames on nodes A and B, in the axes of the frame on A, B its observer; pair k has its blocks.

    f acts on A; K is its tangent by the motion of A relative to B at constant relative twist in A, D by this twist.
    With K~ = K_w - D_w ad_VB the wrench w on A changes by adbar_w J_A + K~ (J_A - J_B) + D_w (J'_A - J'_B).
    """
    scratch, X, w = external.scratch[0], external.scratch[1], external.scratch[2, 0]
    K_w, y = external.scratch[3], external.scratch[2, 1]
    world_wrench(g_A, f, w)
    world_tangent(g_A, K, scratch, K_w)
    world_tangent(g_A, D, scratch, X)
    for i in range(6):
        # a row of D_w ad_V is -ad*_V of the row of D_w
        clear(y)
        add_coad(V_B, X[i], 1.0, y)
        add(y, K_w[i])
    add(w, external.wrench[A])
    add_matrix(K_w, external.K[A])
    add_matrix(X, external.D[A])
    if B < 0:
        return
    add_scaled(-1.0, w, external.wrench[B])
    add_matrix(K_w, external.K[B])
    add_matrix(X, external.D[B])
    for i in range(6):
        for side in range(2):
            add_scaled(-1.0, K_w[i], external.pair_K[k, side, i])
            add_scaled(-1.0, X[i], external.pair_D[k, side, i])
    add_coadbar(w, 1.0, external.K[B])
    add_coadbar(w, -1.0, external.pair_K[k, 1])


@kernel_in_place
def gather_chain(tree, ws, node, order, out, index):
    """World columns J or J', by order, of a node, row by row in out (6 ndof,); their coordinates; returns how many."""
    ndof, count = tree.rows.shape[0], 0
    while node >= 0:
        n, work, first = tree.segment[node].n, tree.segment[node].work, tree.segment[node].column
        for j in range(n):
            index[count + j] = first + j
            for r in range(6):
                out[r * ndof + count + j] = ws.column[1 + order, work + r * n + j]
        count += n
        node = tree.block[tree.segment[node].block].parent
    return count


@kernel_in_place
def add_block(J, rows, n, X, K, Y, columns, m, stride, out):
    """out -= J^T K X over coordinates: J (6, n) at rows, X (6, m) at columns, both with a stride; Y scratch."""
    for i in range(6):
        for j in range(m):
            total = 0.0
            for r in range(6):
                total += K[i, r] * X[r * stride + j]
            Y[i * stride + j] = total
    for i in range(n):
        line = out[rows[i]]
        for j in range(m):
            total = 0.0
            for r in range(6):
                total += J[r * stride + i] * Y[r * stride + j]
            line[columns[j]] -= total


@kernel_lazy("pairs")
def pair_matrices(tree, external, moving, ws, dq, dqd) -> None:
    """Add what couples the two nodes of each pair to the derivatives of inverse dynamics, after the sweeps."""
    ndof = tree.rows.shape[0]
    for k in range(external.pair.shape[0]):
        A, B = external.pair[k, 0], external.pair[k, 1]
        if A < 0 or B < 0:
            continue
        J_A, J_B, Y = external.columns[0], external.columns[1], external.columns[2]
        rows, columns = external.member[0], external.member[1]
        n, m = gather_chain(tree, ws, A, 0, J_A, rows), gather_chain(tree, ws, B, 0, J_B, columns)
        K, D = external.pair_K[k], external.pair_D[k]
        add_block(J_A, rows, n, J_B, K[0], Y, columns, m, ndof, dq)
        add_block(J_B, columns, m, J_A, K[1], Y, rows, n, ndof, dq)
        add_block(J_A, rows, n, J_B, D[0], Y, columns, m, ndof, dqd)
        add_block(J_B, columns, m, J_A, D[1], Y, rows, n, ndof, dqd)
        if moving:
            Jd_A, Jd_B = external.columns[3], external.columns[4]
            gather_chain(tree, ws, A, 1, Jd_A, rows)
            gather_chain(tree, ws, B, 1, Jd_B, columns)
            add_block(J_A, rows, n, Jd_B, D[0], Y, columns, m, ndof, dq)
            add_block(J_B, columns, m, Jd_A, D[1], Y, rows, n, ndof, dq)


@kernel_in_place
def relative_kinematics(nodes, frames, others, other_frames, ws, g_w, V, V_other, g, eta):
    """Relative poses and twists for loads in Python, after a sweep of poses.

    nodes, others : (n,) of the points, and of the bodies that they are relative from (-1 and less: the world)
    frames, other_frames : (n, 4, 3) on these nodes
    g_w, V, V_other : (n, 4, 3), (n, 6) twice, filled: poses of the points in the world, twists of both nodes there
    g, eta : (n, 4, 4), (n, 6), filled: relative poses in the other frames, relative twists in the points' axes
    """
    frame, relative = ws.scratch[0].reshape(12, 3)[:4], ws.scratch[0].reshape(12, 3)[4:8]
    for i in range(nodes.shape[0]):
        node, other = nodes[i], max(others[i], -1)
        pose, other_pose, own = ws.pose[node], ws.pose[other], g_w[i]
        compose_into(pose[:3], pose[3], frames[i, :3], frames[i, 3], own)
        compose_into(other_pose[:3], other_pose[3], other_frames[i, :3], other_frames[i, 3], frame)
        relative_into(own, frame, relative)
        homogeneous(relative, g[i])
        copy(ws.twist[node, 0], V[i])
        copy(ws.twist[other, 0], V_other[i])
        for r in range(6):
            eta[i, r] = V[i, r] - V_other[i, r]
        body_columns(own, eta[i], 1, 0, eta[i].reshape(6, 1))


@kernel_in_place
def add_loads_at(nodes, others, pairs, g, V, V_other, f, K, D, external):
    """Add loads that Python gave: frames with poses g (n, 4, 3) on nodes, relative to others (-2: the world, no pair).

    V, V_other (n, 6): world twists; f (n, 6), K, D (n, 6, 6): in the axes of the frames.
    """
    for i in range(nodes.shape[0]):
        if others[i] < -1:
            add_load(nodes[i], g[i], f[i], K[i], D[i], external)
        else:
            add_pair_load(pairs[i], nodes[i], others[i], g[i], V[i], V_other[i], f[i], K[i], D[i], external)
