"""The compiled laws of loads: wrenches on frames of nodes and their tangents (docs/theory.md, 4, 11 and B)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, kernel_in_place, kernel_lazy, record
from sorosim.base.signals.evaluation import SignalArrays
from sorosim.mechanics.kernels.external import add_load, pair_tangents, scale_and_return, set_aside, world_wrench
from sorosim.mechanics.kernels.fluid import (
    N_FLOW,
    N_FLUID_VALUES,
    Media,
    evaluate_flow,
    fluid_wrench,
    gradient_into_body,
    into_body,
)
from sorosim.mechanics.kernels.kinematics import compose_into
from sorosim.mechanics.kernels.small import (
    add,
    add_coadbar,
    add_scaled,
    clear_matrix,
    copy,
    matrix_vector,
    world_inertia,
)
from sorosim.mechanics.kernels.solids import TOGETHER
from sorosim.mechanics.kernels.surfaces import Surfaces
from sorosim.mechanics.kernels.tree import LENGTH_RATIO, MATERIAL_TWIST
from sorosim.mechanics.kernels.wrenches import add_between, add_dead, add_turned, point_velocity

LOAD_ROW = record(
    node=int,
    law=int,  # one of those below
    at=int,  # where its numbers begin in `LoadLaws.value`
    frame=int,  # on the node, in `LoadLaws.frame`; -1: that of the node
    other=int,  # node, of a load between two, -1: the world
    other_frame=int,
    pair=int,  # number among the pairs of nodes
    medium=int,  # of a fluid
    material=int,  # row in `ExternalForces.wrench` of material that flows through the node, if it acts on that; else -1
    input=int,  # actuator whose input multiplies all of it; -1: none
    unit=int,  # its row in `ExternalForces.input_wrench`, the next one is that of the other node
    signal=(int, (6,)),  # which multiply its first six numbers; -1: none
)
# a wrench with fixed directions in the world, one that turns with the body, one whose place is fixed in the world
# too; damping of the body's twist; a spring with a damper between two points; added mass, without weight; a fluid; a
# dipole in a uniform magnetic field, and in one that grows from a centre by a constant gradient
DEAD, FOLLOWER, FIXED_LINE, TWIST_DAMPING, SPRING, WEIGHTLESS, FLUID, DIPOLE, DIPOLE_IN_GRADIENT = range(9)
# layout of the values of a spring; of a field (three numbers) or its gradient (five), then of its dipole and its centre
STIFFNESS, DAMPING, REST = range(3)
MAGNETIC_MOMENT, CENTRE, N_DIPOLE = 6, 9, 12
GRADIENT = ("xx", "yy", "xy", "xz", "yz")  # entries of the gradient, whose zz is -xx - yy


@by_reference
class LoadLaws(NamedTuple):
    """Loads with compiled laws."""

    row: np.ndarray  # (n,) LOAD_ROW
    value: (
        np.ndarray
    )  # flat: six numbers of a wrench, three of a spring, (6, 3) of a weight, those of a fluid or dipole
    frame: np.ndarray  # (n_frames, 4, 3) poses on nodes
    signals: SignalArrays  # of time
    media: Media
    surfaces: Surfaces


@kernel_in_place
def add_spring(f, A, B, pair, p_A, p_B, V_A, V_B, scratch, external):
    """A spring, stiffness, damping and rest length in f, from p_A on node A to p_B on node B or, B = -1, the world."""
    n, v_A, v_B, force = scratch[0, 0, :3], scratch[0, 1, :3], scratch[0, 2, :3], scratch[0, 3]
    K, D = scratch[1, :3, :3], scratch[2, :3, :3]
    point_velocity(V_A, p_A, v_A)
    point_velocity(V_B, p_B, v_B)
    length, rate = 0.0, 0.0
    for i in range(3):
        n[i] = p_B[i] - p_A[i]
        length += n[i] * n[i]
    length = np.sqrt(length)
    safe = length if length.real > TOGETHER else 0.0 * length + TOGETHER
    for i in range(3):
        n[i] /= safe
        rate += n[i] * (v_B[i] - v_A[i])
    # F/length without the length where there is no rest length to divide
    pull = f[STIFFNESS] * (1.0 - f[REST] / safe) + f[DAMPING] * rate / safe
    if length.real < TOGETHER and f[REST].real > 0.0:
        pull *= 0.0  # without a direction there is no force, whatever is near
    for i in range(3):
        force[i] = 0.0
        force[3 + i] = pull * length * n[i]
        for j in range(3):
            # n (dF/dd)^T + F/length (1 - n n^T) and c n n^T
            K[i, j] = n[i] * (f[STIFFNESS] * n[j] + f[DAMPING] * (v_B[j] - v_A[j] - rate * n[j]) / safe)
            K[i, j] += pull * ((1.0 if i == j else 0.0) - n[i] * n[j])
            D[i, j] = f[DAMPING] * n[i] * n[j]
    add_dead(p_A, force, 1.0, A, external)
    add_between(p_A, K, p_A, -1.0, external.K[A])
    add_between(p_A, D, p_A, -1.0, external.D[A])
    add_turned(p_A, D, v_A, 1.0, external.K[A])
    if B < 0:
        return
    add_dead(p_B, force, -1.0, B, external)
    add_between(p_B, K, p_B, -1.0, external.K[B])
    add_between(p_B, D, p_B, -1.0, external.D[B])
    add_turned(p_B, D, v_B, 1.0, external.K[B])
    K_AB, D_AB, K_BA, D_BA = pair_tangents(external, pair)
    add_between(p_A, K, p_B, 1.0, K_AB)
    add_between(p_B, K, p_A, 1.0, K_BA)
    add_between(p_A, D, p_B, 1.0, D_AB)
    add_between(p_B, D, p_A, 1.0, D_BA)
    add_turned(p_A, D, v_B, -1.0, K_AB)
    add_turned(p_B, D, v_A, -1.0, K_BA)


@kernel_in_place
def frame_into(frames, k, node_pose, out):
    """out (4, 3): pose of frame k on a node, -1 for that of the node itself."""
    if k < 0:
        for i in range(4):
            copy(node_pose[i], out[i])
    else:
        compose_into(node_pose[:3], node_pose[3], frames[k, :3], frames[k, 3], out)


@kernel_in_place
def add_twist_damping(coefficients, g, V, scratch, f, wrench, D_w):
    """A wrench -C eta of a diagonal C, in the axes of the frame g."""
    clear_matrix(scratch[0])
    for r in range(6):
        scratch[0, r, r] = coefficients[r]
    world_inertia(g[:3], g[3], scratch[0], scratch[1], scratch[2])
    matrix_vector(scratch[2], V, f)
    add_scaled(-1.0, f, wrench)
    for r in range(6):
        add_scaled(-1.0, scratch[2, r], D_w[r])


@kernel_in_place
def dipole_wrench(field, is_gradient, m, centre, g, scratch, f, K):
    """Fill wrench and tangent, in the axes of the frame g, of a dipole m fixed to it (docs/theory.md, 18).

    moment = m x b, force = G m, with the field b and its symmetric gradient G in these axes.
    """
    b, force, at = scratch[0, 0, :3], scratch[0, 1, :3], scratch[0, 2, :3]
    gradient, G = scratch[1].reshape(36)[:9], scratch[2, :3, :3]
    clear_matrix(G)
    if is_gradient:
        gradient[0], gradient[4], gradient[8] = field[0], field[1], -field[0] - field[1]
        gradient[1], gradient[2], gradient[5] = field[2], field[3], field[4]
        gradient[3], gradient[6], gradient[7] = field[2], field[3], field[4]
        for i in range(3):
            x, y, z = g[3, 0] - centre[0], g[3, 1] - centre[1], g[3, 2] - centre[2]
            at[i] = gradient[3 * i] * x + gradient[3 * i + 1] * y + gradient[3 * i + 2] * z
        into_body(g, at, b)
        gradient_into_body(g, gradient, G)
    else:
        into_body(g, field[:3], b)
    clear_matrix(K)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        force[i] = G[i, 0] * m[0] + G[i, 1] * m[1] + G[i, 2] * m[2]
        f[i] = m[j] * b[k] - m[k] * b[j]
        f[3 + i] = force[i]
    along = m[0] * b[0] + m[1] * b[1] + m[2] * b[2]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for c in range(3):
            c1, c2 = (c + 1) % 3, (c + 2) % 3
            # b m^T - (m . b) 1 and m^ G; force^ - G m^
            K[i, c] = b[i] * m[c]
            K[i, 3 + c] = m[j] * G[k, c] - m[k] * G[j, c]
            K[3 + i, c] = G[i, c2] * m[c1] - G[i, c1] * m[c2]
        K[i, i] -= along
        K[3 + i, j] -= force[k]
        K[3 + i, k] += force[j]


@kernel_in_place
def scale_load(scale, f, K, D):
    """Multiply a wrench and its tangents."""
    for i in range(6):
        f[i] *= scale
        for j in range(6):
            K[i, j] *= scale
            D[i, j] *= scale


@kernel_in_place
def add_law(laws, i, t, varying, gravity, ws, stack, external):
    """Add wrenches and tangents of one row, without its input; arguments as of `add_load_laws`."""
    scratch = external.scratch  # 0 to 3 belong to add_load, 10 to 15 to the law, 16 to 21 to inputs
    f, K, D, values, flow = scratch[4, 0], scratch[5], scratch[6], scratch[8, 0], scratch[9].reshape(36)[:N_FLOW]
    poses, scratch = scratch[7].reshape(12, 3), scratch[10:16]
    g, g_B, b = poses[0:4], poses[4:8], poses[8]
    row = laws.row[i]
    node, kind, at = row.node, row.law, row.at
    frame_into(laws.frame, row.frame, ws.pose[node], g)
    target, V, scale = node, ws.twist[node, 0], 1.0
    if row.material >= 0:
        target, V, scale = row.material, ws.twist[node, MATERIAL_TWIST], ws.twist[node, LENGTH_RATIO, 0]
    if kind == FLUID:
        m = row.medium
        evaluate_flow(laws.media, m, t, g[3], varying, stack, flow)
        fluid_wrench(laws.media, m, laws.value[at : at + N_FLUID_VALUES], gravity, g, V, flow, scratch, f, K, D)
        if row.material >= 0:
            scale_load(scale, f, K, D)
        add_load(target, g, f, K, D, external)
        return
    if kind == WEIGHTLESS:
        into_body(g, gravity, b)
        clear_matrix(K)
        clear_matrix(D)
        for r in range(6):
            x0, x1, x2 = laws.value[at + 3 * r], laws.value[at + 3 * r + 1], laws.value[at + 3 * r + 2]
            f[r] = -(x0 * b[0] + x1 * b[1] + x2 * b[2])
            K[r, 0], K[r, 1], K[r, 2] = x2 * b[1] - x1 * b[2], x0 * b[2] - x2 * b[0], x1 * b[0] - x0 * b[1]
        if row.material >= 0:
            scale_load(scale, f, K, D)
        add_load(target, g, f, K, D, external)
        return
    for r in range(6):
        values[r] = scale * laws.value[at + r]
        if row.signal[r] >= 0:
            values[r] *= varying[row.signal[r], 0]
    if kind == DEAD:
        add_dead(g[3], values, 1.0, target, external)
    elif kind == FOLLOWER:
        world_wrench(g, values, f)
        add(f, external.wrench[target])
    elif kind == FIXED_LINE:
        add(values, external.wrench[target])
        add_coadbar(values, -1.0, external.K[target])
    elif kind == DIPOLE or kind == DIPOLE_IN_GRADIENT:
        m, centre = laws.value[at + MAGNETIC_MOMENT : at + CENTRE], laws.value[at + CENTRE : at + N_DIPOLE]
        dipole_wrench(values, kind == DIPOLE_IN_GRADIENT, m, centre, g, scratch, f, K)
        clear_matrix(D)
        add_load(target, g, f, K, D, external)
    elif kind == TWIST_DAMPING:
        add_twist_damping(values, g, V, scratch, f, external.wrench[target], external.D[target])
    else:
        other = row.other
        frame_into(laws.frame, row.other_frame, ws.pose[other], g_B)
        V_B = ws.twist[other, 0]
        add_spring(values, node, other, row.pair, g[3], g_B[3], V, V_B, scratch, external)


@kernel_in_place
def add_scaled_law(laws, i, u, t, varying, gravity, ws, stack, external):
    """As `add_law`, u times: it is linear in its input, and what a unit input does is noted."""
    row, kept = laws.row[i], external.scratch[16:22]
    set_aside(external, row.node, kept[:3])
    if row.other >= 0:
        set_aside(external, row.other, kept[3:])
    add_law(laws, i, t, varying, gravity, ws, stack, external)
    scale_and_return(external, row.node, u, kept[:3], external.input_wrench[row.unit])
    if row.other >= 0:
        scale_and_return(external, row.other, u, kept[3:], external.input_wrench[row.unit + 1])
        for block in pair_tangents(external, row.pair):
            for r in range(6):
                for c in range(6):
                    block[r, c] *= u


@kernel_lazy("loads")
def add_load_laws(laws, t, varying, gravity, u, ws, stack, external) -> None:
    """Add the wrenches and tangents of all laws to those of `external`, after a sweep of poses.

    What acts on flowing material sees its twist, and grows with the length that there is of it (docs/theory.md, 19).
    t : time [s], for currents; varying (n_signals, 3): signals of the laws at that time; gravity (3,); u
    (n_actuators,): inputs, for loads that they scale; stack (n, 3): scratch for tapes.
    """
    for i in range(laws.row.shape[0]):
        if laws.row[i].input >= 0:
            add_scaled_law(laws, i, u[laws.row[i].input], t, varying, gravity, ws, stack, external)
        else:
            add_law(laws, i, t, varying, gravity, ws, stack, external)
