"""Loops: joints that close the tree between frames A and B on two of its nodes, or on the world (docs/theory.md, 9).

The rows of a loop are read in frame B: the error e = Phi^T log(g_BA f^-1) with the joint's own motion f taken out, the
rate Phi^T nu of the relative twist nu = Ad_gB^-1 (V_A - V_B), and its time derivative. With C = Ad_gB^-1 (J_A - J_B)
the constraint matrix is A = Phi^T C. Springs, dampers and motors of the joint act along its free directions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.compiled import by_reference, kernel_in_place, kernel_lazy
from sorosim.kernels import loop_joint as lj
from sorosim.kernels.external import world_wrench
from sorosim.kernels.kinematics import body_columns, compose_into, relative_into
from sorosim.kernels.loop_joint import ERROR_POSE, JOINT_POSE, POSE_A, POSE_B, POSE_BA, split_maps, split_motion
from sorosim.kernels.small import (
    add_ad,
    add_ad_columns,
    add_coadbar,
    add_coadbar_columns,
    add_matrix_columns,
    add_transposed_product,
    clear,
)

# rows of Closure.value and blocks of Closure.matrix
ERROR, RATE, ACCELERATION = range(3)
CONSTRAINT, ERROR_BY_Q, RATE_BY_Q, ACCELERATION_BY_Q, ACCELERATION_BY_QD = range(5)


@by_reference
class Closure(NamedTuple):
    """Multipliers, constraints and their derivatives of all loops, with scratch; m multipliers."""

    multiplier: np.ndarray  # (m,) given to residuals, found by forward dynamics
    value: np.ndarray  # (3, m): error e, its rate A qd, its acceleration A qdd + A' qd
    matrix: np.ndarray  # (5, m, ndof): A, de/dq, d(A qd)/dq, and of the acceleration by q and by qd
    pose: np.ndarray  # (n_loops, 5, 4, 3): named above
    wrench: np.ndarray  # (n_loops, 6) on A, in frame B
    law: np.ndarray  # (n_loops, 2): coordinates of the directions with laws
    error_log: np.ndarray  # (n_loops, 16): log of the error X (6,), and the functions C_k of its rotation
    wide: np.ndarray  # (9, 6 ndof) scratch
    scratch: np.ndarray  # (3, 6, 6) scratch


def make_closure(n_loops: int, m: int, ndof: int) -> Closure:
    """Allocate what an evaluation fills for m multipliers of n_loops loops."""
    return Closure(
        np.zeros(m), np.zeros((3, m)), np.zeros((5, m, ndof)), np.zeros((n_loops, 5, 4, 3)), np.zeros((n_loops, 6)),
        np.zeros((n_loops, 2)), np.zeros((n_loops, 16)), np.zeros((9, 6 * ndof if n_loops else 0)), np.zeros((3, 6, 6)),
    )  # fmt: skip


@kernel_lazy("loops")
def evaluate_loops(loops, ws, u, closure) -> None:
    """Error, rate and acceleration of all loops after a forward sweep, and the wrenches on their frames A.

    The wrench is that of the multipliers, and of springs, dampers and motors with inputs u (n_actuators,).
    """
    scratch = closure.scratch[0]
    relative, y, nu, acceleration = scratch[0], scratch[1], scratch[2], scratch[3]
    for k in range(loops.row.shape[0]):
        row, value, pose, e = loops.row[k], loops.value[k], closure.pose[k], closure.error_log[k, :6]
        A, B = row.node_a, row.node_b
        frame_A, frame_B = value[lj.FRAME_A : lj.FRAME_B].reshape(4, 3), value[lj.FRAME_B : lj.PHI].reshape(4, 3)
        compose_into(ws.pose[A, :3], ws.pose[A, 3], frame_A[:3], frame_A[3], pose[POSE_A])
        compose_into(ws.pose[B, :3], ws.pose[B, 3], frame_B[:3], frame_B[3], pose[POSE_B])
        relative_into(pose[POSE_A], pose[POSE_B], pose[POSE_BA])
        joint, rest, C = pose[JOINT_POSE], pose[ERROR_POSE], closure.error_log[k, 6:]
        split_motion(row, value, pose[POSE_BA], joint, rest, e, C, closure.law[k])

        # nu and the twist rate y = A_A - A_B - ad_VB (V_A - V_B), both in B
        for r in range(6):
            relative[r] = ws.twist[A, 0, r] - ws.twist[B, 0, r]
            y[r] = ws.twist[A, 1, r] - ws.twist[B, 1, r]
        add_ad(ws.twist[B, 0], relative, -1.0, y)
        body_columns(pose[POSE_B], relative, 1, 0, nu.reshape(6, 1))
        body_columns(pose[POSE_B], y, 1, 0, acceleration.reshape(6, 1))

        wrench, first = closure.wrench[k], row.first_row
        clear(wrench)
        for j in range(row.n_rows):
            phi, i = value[lj.PHI + 6 * j : lj.PHI + 6 * j + 6], first + j
            closure.value[ERROR, i], closure.value[RATE, i], closure.value[ACCELERATION, i] = 0.0, 0.0, 0.0
            for r in range(6):
                closure.value[ERROR, i] += phi[r] * e[r]
                closure.value[RATE, i] += phi[r] * nu[r]
                closure.value[ACCELERATION, i] += phi[r] * acceleration[r]
                wrench[r] += phi[r] * closure.multiplier[i]
        for j in range(row.n_laws):
            along, rate = value[lj.ALONG + 6 * j : lj.ALONG + 6 * j + 6], 0.0
            for r in range(6):
                rate += along[r] * nu[r]
            force = -value[lj.STIFFNESS + j] * (closure.law[k, j] - value[lj.REST + j]) - value[lj.DAMPING + j] * rate
            if row.motor[j] >= 0:
                force += u[row.motor[j]]
            for r in range(6):
                wrench[r] += force * along[r]


@kernel_in_place
def apply_loops(loops, tensors, ws, closure):
    """Let the wrenches of the loops act on their nodes, as loads fixed in the world (K_w = -adbar of the load)."""
    w = closure.scratch[0, 0]
    for k in range(loops.row.shape[0]):
        A, B = loops.row[k].node_a, loops.row[k].node_b
        world_wrench(closure.pose[k, POSE_B], closure.wrench[k], w)
        for r in range(6):
            ws.twist[A, 2, r] -= w[r]
            ws.twist[B, 2, r] += w[r]
        if tensors:
            add_coadbar(w, -1.0, ws.tensor[A, 2])
            add_coadbar(w, 1.0, ws.tensor[B, 2])


@kernel_in_place
def add_chain(tree, ws, node, order, sign, out):
    """out (6 ndof,) += sign times the world columns J, J' or J'' of a node, by order."""
    ndof = tree.rows.shape[0]
    while node >= 0:
        n, work, first = tree.segment[node].n, tree.segment[node].work, tree.segment[node].column
        for r in range(6):
            columns, target = ws.column[1 + order, work + r * n : work + r * n + n], out[r * ndof + first :]
            for j in range(n):
                target[j] += sign * columns[j]
        node = tree.block[tree.segment[node].block].parent


@kernel_in_place
def write_rows(row, value, columns, n, out):
    """out[first + j] = Phi_j^T columns, columns (6, n)."""
    for j in range(row.n_rows):
        target = out[row.first_row + j]
        clear(target)
        for r in range(6):
            phi, line = value[lj.PHI + 6 * j + r], columns[r]
            if phi != 0.0:
                for i in range(n):
                    target[i] += phi * line[i]


@kernel_lazy("loops")
def loop_matrices(tree, loops, moving, derivatives, forces, ws, closure, dq, dqd, B) -> None:
    """Rows of the constraint matrix and, if `derivatives`, those of the errors, after the sweeps.

    If `forces` too, all other derivatives; and dq, dqd and B get what a load between two bodies adds beside its two
    parts as loads fixed in the world (docs/theory.md, 9).
    """
    n = tree.rows.shape[0]
    D, C = closure.wide[0], closure.wide[4]
    for k in range(loops.row.shape[0]):
        row = loops.row[k]
        clear(D)
        add_chain(tree, ws, row.node_a, 0, 1.0, D)
        add_chain(tree, ws, row.node_b, 0, -1.0, D)
        body_columns(closure.pose[k, POSE_B], D, n, 0, C.reshape(6, n))
        write_rows(row, loops.value[k], C.reshape(6, n), n, closure.matrix[CONSTRAINT])
        if derivatives:
            error_matrix(loops, k, closure)
        if derivatives and forces:
            rate_matrices(tree, loops, k, moving, ws, closure)
            load_matrices(tree, loops, k, ws, closure, dq, dqd, B)


@kernel_in_place
def rate_matrices(tree, loops, k, moving, ws, closure):
    """Derivatives of rate and acceleration of loop k; wide[8] is left with that of nu, D and C as they are.

    With D = J_A - J_B, D', D'': towards q d(A qd) = Phi^T Ad_gB^-1 (D' - ad_VA D) and d(A qdd + A' qd) = Phi^T Ad_gB^-1
    (D'' - ad_AA D - ad_(VA + VB) D' + ad_VB ad_VA D), towards qd 2 D' - ad_(VA + VB) D.
    """
    n, wide = tree.rows.shape[0], closure.wide
    D, Dd, Ddd, X, Y, Z, columns = wide[0], wide[1], wide[2], wide[6], wide[7], wide[8], wide[5].reshape(6, n)
    row, value, g_B, both = loops.row[k], loops.value[k], closure.pose[k, POSE_B], closure.scratch[0, 0]
    A, node_B = row.node_a, row.node_b
    clear(Dd)
    clear(Ddd)
    if moving:
        add_chain(tree, ws, A, 1, 1.0, Dd)
        add_chain(tree, ws, node_B, 1, -1.0, Dd)
    add_chain(tree, ws, A, 2, 1.0, Ddd)
    add_chain(tree, ws, node_B, 2, -1.0, Ddd)
    V_A, V_B, A_A = ws.twist[A, 0], ws.twist[node_B, 0], ws.twist[A, 1]
    for r in range(6):
        both[r] = V_A[r] + V_B[r]

    clear(X)
    add_ad_columns(V_A, D, n, 1.0, X)
    for i in range(6 * n):
        Y[i] = Dd[i] - X[i]
    body_columns(g_B, Y, n, 0, Z.reshape(6, n))
    write_rows(row, value, Z.reshape(6, n), n, closure.matrix[RATE_BY_Q])
    for i in range(6 * n):
        Y[i] = Ddd[i]
    add_ad_columns(A_A, D, n, -1.0, Y)
    add_ad_columns(both, Dd, n, -1.0, Y)
    add_ad_columns(V_B, X, n, 1.0, Y)
    body_columns(g_B, Y, n, 0, columns)
    write_rows(row, value, columns, n, closure.matrix[ACCELERATION_BY_Q])
    for i in range(6 * n):
        Y[i] = 2.0 * Dd[i]
    add_ad_columns(both, D, n, -1.0, Y)
    body_columns(g_B, Y, n, 0, columns)
    write_rows(row, value, columns, n, closure.matrix[ACCELERATION_BY_QD])


@kernel_in_place
def error_matrix(loops, k, closure):
    """de/dq of loop k, and how the coordinates of its laws change with C, left in scratch[1, :2]."""
    scratch, log, X, row, value = closure.scratch, closure.error_log[k], closure.wide[6], loops.row[k], loops.value[k]
    n, T_inv, error_map = X.shape[0] // 6, scratch[1, 2:5].reshape(2, 3, 3), scratch[2]
    split_maps(row, value, closure.pose[k], log[:6], log[6:], T_inv, error_map, scratch[1, :2])
    clear(X)
    add_matrix_columns(error_map, closure.wide[4], n, 1.0, X)
    write_rows(row, value, X.reshape(6, n), n, closure.matrix[ERROR_BY_Q])


@kernel_in_place
def load_matrices(tree, loops, k, ws, closure, dq, dqd, B):
    """dq -= C^T (adbar_f J_B + K_r C + D_r dnu/dq) in B; K_r, D_r: tangents of the laws, which add to dqd and B too."""
    n, wide, row, value = tree.rows.shape[0], closure.wide, loops.row[k], loops.value[k]
    J_B, C, C_B, X, Y, Z, coordinate_map = wide[3], wide[4], wide[5], wide[6], wide[7], wide[8], closure.scratch[1, :2]
    clear(J_B)
    add_chain(tree, ws, row.node_b, 0, 1.0, J_B)
    body_columns(closure.pose[k, POSE_B], J_B, n, 0, C_B.reshape(6, n))
    clear(Y)
    add_coadbar_columns(closure.wrench[k], C_B, n, 1.0, Y)
    for j in range(row.n_laws):
        along, stiffness, damping = value[lj.ALONG + 6 * j :], value[lj.STIFFNESS + j], value[lj.DAMPING + j]
        line, rate = X[:n], X[n : 2 * n]
        for i in range(n):
            line[i], rate[i] = 0.0, 0.0
        for r in range(6):
            for i in range(n):
                rate[i] += along[r] * C[r * n + i]
                line[i] -= stiffness * coordinate_map[j, r] * C[r * n + i] + damping * along[r] * Z[r * n + i]
        for r in range(6):
            for i in range(n):
                Y[r * n + i] += along[r] * line[i]
        for i in range(n):
            for c in range(n):
                dqd[i, c] += damping * rate[i] * rate[c]
        if row.motor[j] >= 0:
            for i in range(n):
                B[i, row.motor[j]] += rate[i]
    add_transposed_product(C, n, Y, n, -1.0, dq, 0, 0)
