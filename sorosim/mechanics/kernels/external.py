"""External wrenches on the nodes of a tree, with their tangents, world frame (docs/theory.md, 4 and 11)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.arrays import Records
from sorosim.base.compiled import by_reference, kernel_in_place, kernel_inline, record
from sorosim.mechanics.kernels.couplings import Coupling, clear_couplings
from sorosim.mechanics.kernels.kinematics import body_columns, compose_into, homogeneous, relative_into
from sorosim.mechanics.kernels.rod_actuators import ActuatorWorkspace
from sorosim.mechanics.kernels.small import add, add_coad, add_coadbar, add_matrix, add_scaled, clear, copy
from sorosim.mechanics.kernels.surfaces import ContactWorkspace
from sorosim.mechanics.kernels.tree import base_of
from sorosim.mechanics.lie.triples import cross, head, plus, row, rows, store, tail, times

INPUT_ROW = record(actuator=int, node=int)  # an input that scales a load, and a node on which this acts


@by_reference
class ExternalForces(NamedTuple):
    """External wrenches and tangents on the nodes of a tree, and what couples nodes.

    A load between nodes A and B adds to both as a load of its own; what the wrench on A changes with the motion of B
    and the reverse are blocks of its coupling, see `pair_tangents`.
    """

    # (n, 6) of nodes, then of the material at flowing nodes and at those of tubes, in the order of `Tree.flow_node` and
    # `Tree.inserted`; of length 0 where there are no loads, and so are the next two
    wrench: np.ndarray
    K: np.ndarray  # (n, 6, 6) K_w
    D: np.ndarray  # (n, 6, 6) D_w
    coupling: Coupling
    section: np.ndarray  # (n_rows, 6) internal wrenches that actuators in Python give, and their tangents
    section_K: np.ndarray  # (n_rows, 6, 6) by the strain
    section_D: np.ndarray  # (n_rows, 6, 6) by the rate of the strain
    section_B: np.ndarray  # (n_rows, 6) by the input
    actuators: ActuatorWorkspace
    contact: ContactWorkspace  # contacts
    input_row: np.ndarray  # (n_inputs,) INPUT_ROW
    input_wrench: np.ndarray  # (n_inputs, 6) of a unit input, on the node
    scratch: np.ndarray  # (22, 6, 6)


def make_external(
    n_nodes: int, coupling: Coupling, n_rows: int, actuators: ActuatorWorkspace, touch: ContactWorkspace,
    input_row: Records,
) -> ExternalForces:  # fmt: skip
    """Allocate for nodes and flowing material (0: no loads), rows of actuators in Python, and inputs of loads."""
    return ExternalForces(
        np.zeros((n_nodes, 6)), np.zeros((n_nodes, 6, 6)), np.zeros((n_nodes, 6, 6)), coupling,
        np.zeros((n_rows, 6)), np.zeros((n_rows, 6, 6)), np.zeros((n_rows, 6, 6)), np.zeros((n_rows, 6)),
        actuators, touch, input_row, np.zeros((len(input_row), 6)), np.zeros((22, 6, 6)),
    )  # fmt: skip


@kernel_in_place
def clear_external(external):
    """No loads."""
    clear(external.wrench.reshape(-1))
    clear(external.K.reshape(-1))
    clear(external.D.reshape(-1))
    clear_couplings(external.coupling)
    clear(external.input_wrench.reshape(-1))
    external.contact.counts.active = 0


@kernel_inline
def pair_tangents(external, k):
    """Of the load between the nodes A and B of pair k: how the wrench on A changes with a_B and b_B, on B with A's."""
    right, rate = external.coupling.right[k], external.coupling.rate[k]
    return right[:6, 6:12], rate[:6, 6:12], right[6:12, :6], rate[6:12, :6]


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
    K_AB, D_AB, K_BA, D_BA = pair_tangents(external, k)
    for i in range(6):
        add_scaled(-1.0, K_w[i], K_AB[i])
        add_scaled(-1.0, X[i], D_AB[i])
        add_scaled(-1.0, K_w[i], K_BA[i])
        add_scaled(-1.0, X[i], D_BA[i])
    add_coadbar(w, 1.0, external.K[B])
    add_coadbar(w, -1.0, K_BA)


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


# -- inputs that scale loads -------------------------------------------------------------------------------------------


@kernel_in_place
def set_aside(external, node, kept):
    """Move wrench and tangents of a node to kept (3, 6, 6), so that those of one load can be told apart."""
    copy(external.wrench[node], kept[0, 0])
    clear(external.wrench[node])
    for r in range(6):
        copy(external.K[node, r], kept[1, r])
        copy(external.D[node, r], kept[2, r])
        clear(external.K[node, r])
        clear(external.D[node, r])


@kernel_in_place
def scale_and_return(external, node, scale, kept, unit):
    """Multiply what one load did to a node since `set_aside`, its wrench going to unit (6,), and add what was kept."""
    wrench, K, D = external.wrench[node], external.K[node], external.D[node]
    copy(wrench, unit)
    for r in range(6):
        wrench[r] = kept[0, 0, r] + scale * wrench[r]
        for c in range(6):
            K[r, c] = kept[1, r, c] + scale * K[r, c]
            D[r, c] = kept[2, r, c] + scale * D[r, c]


@kernel_in_place
def change_inputs(external, u, u_new):
    """Wrenches of loads that inputs scale, after `add_load_laws` at u, become those at u_new (n_actuators, any)."""
    for k in range(external.input_row.shape[0]):
        a = external.input_row[k].actuator
        add_scaled(u_new[a, 0] - u[a], external.input_wrench[k], external.wrench[external.input_row[k].node])


@kernel_in_place
def input_columns(tree, external, ws, B):
    """B (ndof, n_actuators) += generalised forces J^T w of loads that unit inputs scale, after a sweep of columns."""
    for k in range(external.input_row.shape[0]):
        a, node, w = external.input_row[k].actuator, external.input_row[k].node, external.input_wrench[k]
        while node >= 0:
            n, work, first = tree.segment[node].n, tree.segment[node].work, tree.segment[node].column
            for r in range(6):
                for j in range(n):
                    B[first + j, a] += w[r] * ws.column[1, work + r * n + j]
            node = base_of(tree, node)
