"""Loops: joints that close the tree between frames A and B on two of its nodes, or on the world (docs/theory.md, 9).

The rows of a loop are read in frame B: the error e = Phi^T log(g_BA f^-1) with the joint's own motion f taken out, the
rate Phi^T nu of the relative twist nu = Ad_gB^-1 (V_A - V_B), and its time derivative. With C = Ad_gB^-1 (J_A - J_B)
the constraint matrix is A = Phi^T C. Springs, dampers and motors of the joint act along its free directions.

A coupling has one constant row on two coordinates: its multiplier is the force on q_a, and -ratio times it that on q_b.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, kernel_in_place, kernel_lazy
from sorosim.mechanics.kernels import loop_joint as lj
from sorosim.mechanics.kernels.external import world_wrench
from sorosim.mechanics.kernels.kinematics import body_columns, compose_into, relative_into
from sorosim.mechanics.kernels.loop_joint import (
    COUPLED,
    ERROR_POSE,
    JOINT_POSE,
    POSE_A,
    POSE_B,
    POSE_BA,
    split_maps,
    split_motion,
)
from sorosim.mechanics.kernels.small import add_ad, add_coad, add_coadbar, clear, copy
from sorosim.mechanics.kernels.tree import base_of


@by_reference
class Closure(NamedTuple):
    """Multipliers, constraints and their derivatives of all loops, with scratch; m multipliers."""

    multiplier: np.ndarray  # (m,) given to residuals, found by forward dynamics
    error: np.ndarray  # (m,) e
    rate: np.ndarray  # (m,) its rate A qd
    acceleration: np.ndarray  # (m,) A qdd + A' qd
    constraint: np.ndarray  # (m, ndof) A
    error_by_q: np.ndarray  # (m, ndof)
    rate_by_q: np.ndarray  # (m, ndof)
    pose: np.ndarray  # (n_loops, 5, 4, 3): named above
    wrench: np.ndarray  # (n_loops, 6) on A, in frame B
    law: np.ndarray  # (n_loops, 2): coordinates of the directions with laws
    error_log: np.ndarray  # (n_loops, 16): log of the error X (6,), and the functions C_k of its rotation
    column: np.ndarray  # (ndof,) scratch
    scratch: np.ndarray  # (3, 6, 6) scratch

    def with_own_results(self) -> Closure:
        """The same with results of its own, zeros: pages of zeros cost nothing until they are written."""
        m, n = self.constraint.shape
        # unchecked: rows of new arrays are contiguous, and evaluations take some ten microseconds
        return tuple.__new__(Closure, (*np.zeros((4, m)), *np.zeros((3, m, n)), *self[7:]))


def make_closure(n_loops: int, m: int, ndof: int) -> Closure:
    """Allocate what an evaluation fills for m multipliers of n_loops loops."""
    values, matrices = np.zeros((4, m)), np.zeros((3, m, ndof))
    return Closure._make((
        *values, *matrices, np.zeros((n_loops, 5, 4, 3)), np.zeros((n_loops, 6)), np.zeros((n_loops, 2)),
        np.zeros((n_loops, 16)), np.zeros(ndof if n_loops else 0), np.zeros((3, 6, 6)),
    ))  # fmt: skip


@kernel_in_place
def difference(row, value, q):
    """q_a - ratio q_b of a coupling."""
    return q[row.column[0]] - value[lj.RATIO] * q[row.column[1]]


@kernel_lazy("loops")
def evaluate_loops(loops, ws, q, qd, qdd, u, closure) -> None:
    """Error, rate and acceleration of all loops after a forward sweep, and the wrenches on their frames A.

    The wrench is that of the multipliers, and of springs, dampers and motors with inputs u (n_actuators,).
    """
    scratch = closure.scratch[0]
    relative, y, nu, acceleration = scratch[0], scratch[1], scratch[2], scratch[3]
    for k in range(loops.row.shape[0]):
        row, value, pose, e = loops.row[k], loops.value[k], closure.pose[k], closure.error_log[k, :6]
        A, B = row.node_a, row.node_b
        if row.turn == COUPLED:
            i = row.first_row
            closure.error[i] = difference(row, value, q) - value[lj.OFFSET]
            closure.rate[i], closure.acceleration[i] = difference(row, value, qd), difference(row, value, qdd)
            continue
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
            closure.error[i], closure.rate[i], closure.acceleration[i] = 0.0, 0.0, 0.0
            for r in range(6):
                closure.error[i] += phi[r] * e[r]
                closure.rate[i] += phi[r] * nu[r]
                closure.acceleration[i] += phi[r] * acceleration[r]
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
        if loops.row[k].turn == COUPLED:
            continue
        world_wrench(closure.pose[k, POSE_B], closure.wrench[k], w)
        for r in range(6):
            ws.twist[A, 2, r] -= w[r]
            ws.twist[B, 2, r] += w[r]
        if tensors:
            add_coadbar(w, -1.0, ws.tensor[A, 2])
            add_coadbar(w, 1.0, ws.tensor[B, 2])


@kernel_in_place
def subtract_coupling_forces(loops, closure, tau):
    """Tau (ndof,) -= the forces of couplings on their coordinates."""
    for k in range(loops.row.shape[0]):
        row = loops.row[k]
        if row.turn == COUPLED:
            force = closure.multiplier[row.first_row]
            tau[row.column[0]] -= force
            tau[row.column[1]] += loops.value[k, lj.RATIO] * force


@kernel_in_place
def set_coupling_row(row, value, out):
    """Out (ndof,) = the row of a coupling, constant."""
    clear(out)
    out[row.column[0]], out[row.column[1]] = 1.0, -value[lj.RATIO]


@kernel_in_place
def add_form(tree, ws, node, order, form, scale, out):
    """out (ndof,) += scale times a form (6,) on the world columns J, J' or J'', by order, of a node."""
    while node >= 0:
        n, work, first = tree.segment[node].n, tree.segment[node].work, tree.segment[node].column
        for r in range(6):
            x, columns, target = scale * form[r], ws.column[1 + order, work + r * n : work + r * n + n], out[first:]
            if x != 0.0:
                for j in range(n):
                    target[j] += x * columns[j]
        node = base_of(tree, node)


@kernel_in_place
def add_relative(tree, ws, row, order, form, scale, out):
    """As `add_form`, on the columns of node A of a loop less those of node B."""
    add_form(tree, ws, row.node_a, order, form, scale, out)
    add_form(tree, ws, row.node_b, order, form, -scale, out)


@kernel_in_place
def world_form(loops, k, at, closure, y):
    """y (6,) = P^T x with P = Ad_gB^-1 for six numbers x of Loops.value in frame B."""
    world_wrench(closure.pose[k, POSE_B], loops.value[k, at : at + 6], y)


@kernel_in_place
def error_form(loops, k, j, closure, y):
    """y (6,): de = y . (a_A - a_B) of row j of loop k, after `split`."""
    x, error_map = closure.scratch[0, 5], closure.scratch[2]
    for i in range(6):
        x[i] = 0.0
        for r in range(6):
            x[i] += loops.value[k, lj.PHI + 6 * j + r] * error_map[r, i]
    world_wrench(closure.pose[k, POSE_B], x, y)


@kernel_in_place
def split(loops, k, closure):
    """Derivatives of error and coordinates of loop k, in frame B: scratch[2] (6, 6) and scratch[1, :2] (2, 6)."""
    scratch, log, T_inv = closure.scratch, closure.error_log[k], closure.scratch[1, 2:5].reshape(2, 3, 3)
    split_maps(loops.row[k], loops.value[k], closure.pose[k], log[:6], log[6:], T_inv, scratch[2], scratch[1, :2])


@kernel_lazy("loops")
def loop_matrices(tree, loops, moving, derivatives, rates, ws, closure) -> None:
    """Rows of the constraint matrix; if `derivatives`, of the errors by q; if `rates`, of their rates A qd by q.

    Of the rate they are Phi^T P (b - ad_VA a)_(A - B), P = Ad_gB^-1 (docs/theory.md, 9).
    """
    y, z = closure.scratch[0, 3], closure.scratch[0, 4]
    for k in range(loops.row.shape[0]):
        row = loops.row[k]
        if row.turn == COUPLED:
            set_coupling_row(row, loops.value[k], closure.constraint[row.first_row])
            if rates:
                clear(closure.rate_by_q[row.first_row])
            if derivatives:
                set_coupling_row(row, loops.value[k], closure.error_by_q[row.first_row])
            continue
        if derivatives:
            split(loops, k, closure)
        for j in range(row.n_rows):
            i = row.first_row + j
            world_form(loops, k, lj.PHI + 6 * j, closure, y)
            clear(closure.constraint[i])
            add_relative(tree, ws, row, 0, y, 1.0, closure.constraint[i])
            if rates:
                clear(closure.rate_by_q[i])
                if moving:
                    add_relative(tree, ws, row, 1, y, 1.0, closure.rate_by_q[i])
                clear(z)
                add_coad(ws.twist[row.node_a, 0], y, 1.0, z)  # a form times -ad_V is ad*_V of the form
                add_relative(tree, ws, row, 0, z, 1.0, closure.rate_by_q[i])
            if derivatives:
                error_form(loops, k, j, closure, y)
                clear(closure.error_by_q[i])
                add_relative(tree, ws, row, 0, y, 1.0, closure.error_by_q[i])


@kernel_lazy("loops")
def acceleration_rows(tree, loops, moving, by_rate, ws, closure, out) -> None:
    """out (m, ndof) -= derivatives of A qdd + A' qd by q, or by qd.

    They are Phi^T P [c - ad_(VA + VB) b + (ad_VB ad_VA - ad_AA) a]_(A - B), with (a, b, c) = (J, J', J'') by q and
    (0, J, 2 J') by qd.
    """
    y, z, x, both = closure.scratch[0, 2], closure.scratch[0, 3], closure.scratch[0, 4], closure.scratch[0, 5]
    for k in range(loops.row.shape[0]):
        row = loops.row[k]
        if row.turn == COUPLED:
            continue
        V_A, V_B, A_A = ws.twist[row.node_a, 0], ws.twist[row.node_b, 0], ws.twist[row.node_a, 1]
        for r in range(6):
            both[r] = V_A[r] + V_B[r]
        for j in range(row.n_rows):
            target = out[row.first_row + j]
            world_form(loops, k, lj.PHI + 6 * j, closure, y)
            clear(z)
            add_coad(both, y, 1.0, z)
            if by_rate:
                add_relative(tree, ws, row, 0, z, -1.0, target)
                if moving:
                    add_relative(tree, ws, row, 1, y, -2.0, target)
                continue
            add_relative(tree, ws, row, 2, y, -1.0, target)
            if moving:
                add_relative(tree, ws, row, 1, z, -1.0, target)
            clear(z)
            clear(x)
            add_coad(V_B, y, 1.0, x)
            add_coad(V_A, x, 1.0, z)
            add_coad(A_A, y, 1.0, z)
            add_relative(tree, ws, row, 0, z, -1.0, target)


@kernel_lazy("loops")
def motor_columns(tree, loops, ws, closure, B) -> None:
    """B (ndof, n_actuators) += forces of unit inputs of motors in loops."""
    y, column = closure.scratch[0, 3], closure.column
    for k in range(loops.row.shape[0]):
        row = loops.row[k]
        for law in range(row.n_laws):
            if row.motor[law] >= 0:
                clear(column)
                world_form(loops, k, lj.ALONG + 6 * law, closure, y)
                add_relative(tree, ws, row, 0, y, 1.0, column)
                for i in range(column.shape[0]):
                    B[i, row.motor[law]] += column[i]


@kernel_in_place
def set_form(row, form, scale_a, scale_b, out):
    """out (24,) = [scale_a form, scale_b form, 0], a form (6,) on the displacements of the nodes of a loop."""
    clear(out)
    for i in range(6):
        out[i], out[6 + i] = scale_a * form[i], scale_b * form[i]


@kernel_in_place
def begin_coupling(loop, n_rows, n_rates, row):
    """A coupling of the nodes of a loop."""
    row.n, row.n_rows, row.n_rates = 2, n_rows, n_rates
    row.node[0], row.node[1], row.node[2], row.node[3] = loop.node_a, loop.node_b, -1, -1


@kernel_in_place
def put_coordinates(row, value, ws, coupling, c):
    """The row of a coupling as coupling c, on the nodes that its coordinates move and those on which they move."""
    own, left, right = coupling.row[c], coupling.left[c, 0], coupling.right[c, 0]
    own.n, own.n_rows, own.n_rates = 4, 1, 0
    for e in range(2):
        node, factor = row.node_a if e == 0 else row.node_b, 1.0 if e == 0 else -value[lj.RATIO]
        own.node[2 * e], own.node[2 * e + 1] = node, row.base[e]
        form = left[12 * e : 12 * e + 6]
        world_wrench(ws.pose[node], value[lj.PHI + 6 * e : lj.PHI + 6 * e + 6], form)
        for r in range(6):
            form[r] *= factor
            left[12 * e + 6 + r] = -form[r]
    copy(left, right)


@kernel_lazy("loops")
def loop_couplings(loops, closure, ws, inertia, coupling) -> None:
    """Put what loops pull with, and their constraints, behind the couplings of loads; inertia : accelerations count.

    Beside its two parts as loads fixed in the world, the wrench w on A moves with B, adbar_w a_B; springs and dampers
    add l (-k x' - d l . [b - ad_VA a]_(A - B)), l the world wrench of a unit force and x' how its coordinate changes.
    """
    n, n_loops, y, z, w = (
        coupling.counts.n,
        loops.row.shape[0],
        closure.scratch[0, 2],
        closure.scratch[0, 3],
        closure.scratch[0, 4],
    )
    for k in range(n_loops):
        row, value, c, constraint = loops.row[k], loops.value[k], n + k, n + n_loops + k
        left, right, rate = coupling.left[c], coupling.right[c], coupling.rate[c]
        if row.turn == COUPLED:
            begin_coupling(row, 0, 0, coupling.row[c])
            put_coordinates(row, value, ws, coupling, constraint)
            continue
        split(loops, k, closure)
        begin_coupling(row, row.n_laws + 6, row.n_laws, coupling.row[c])
        for law in range(row.n_laws):
            stiffness, damping = value[lj.STIFFNESS + law], value[lj.DAMPING + law]
            world_form(loops, k, lj.ALONG + 6 * law, closure, y)
            set_form(row, y, 1.0, -1.0, left[law])
            set_form(row, y, -damping, damping, rate[law])
            world_wrench(closure.pose[k, POSE_B], closure.scratch[1, law], w)
            clear(z)
            add_coad(ws.twist[row.node_a, 0], y, -damping, z)
            for i in range(6):
                z[i] -= stiffness * w[i]
            set_form(row, z, 1.0, -1.0, right[law])
        world_wrench(closure.pose[k, POSE_B], closure.wrench[k], w)
        own = right[row.n_laws : row.n_laws + 6, 6:12]
        for i in range(6):
            clear(left[row.n_laws + i])
            clear(right[row.n_laws + i])
            left[row.n_laws + i, i], left[row.n_laws + i, 6 + i] = 1.0, -1.0
        add_coadbar(w, 1.0, own)
        begin_coupling(row, row.n_rows, 0, coupling.row[constraint])
        for j in range(row.n_rows):
            world_form(loops, k, lj.PHI + 6 * j, closure, y)
            set_form(row, y, 1.0, -1.0, coupling.left[constraint, j])
            if not inertia:
                error_form(loops, k, j, closure, y)
            set_form(row, y, 1.0, -1.0, coupling.right[constraint, j])
