"""Forces of a fluid on a body: drag, lift, buoyancy, and the force of a current on the added mass.

All of a body, or of a section with its share of length, in the axes of its own frame (docs/theory.md, 11).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, kernel_in_place, record
from sorosim.base.signals.evaluation import SignalArrays
from sorosim.base.signals.tape import evaluate_tape
from sorosim.mechanics.kernels.small import clear_matrix
from sorosim.mechanics.kernels.wrenches import point_velocity
from sorosim.mechanics.lie.triples import product, rows, store_row, transposed_times

# layout of the values of a body: drag along x, y, z [kg/m], lift [kg/m], drag of rotations [kg m^2], added mass
# [kg], mass of the displaced fluid [kg], half the depth over which it gets wet [m], the law of drag; drag of Stokes'
# law, and of rotations under it, is in kg/s and kg m^2/s
DRAG, LIFT, ROTARY_DRAG, ADDED_MASS, DISPLACED, REACH, DRAG_LAW = 0, 3, 4, 7, 10, 11, 12
N_FLUID_VALUES = 13
# laws of drag: by the whole speed, by that along x and that across it, linear
SPEED, CROSS_FLOW, STOKES = range(3)
# currents: none, the same everywhere (three signals of time), a field (three tapes of x, y, z, t)
STILL, UNIFORM, FIELD = range(3)
MEDIUM = record(
    current=int,  # STILL, UNIFORM or FIELD
    first_signal=int,  # of its current, or first tape of a field
    has_surface=int,
)
# a flow as the laws see it, in world axes: U, a = dU/dt (3 each), their gradients (9 each)
FLOW, RATE, GRADIENT, RATE_GRADIENT = 0, 3, 6, 15
N_FLOW = 24


@by_reference
class Media(NamedTuple):
    """Fluids."""

    row: np.ndarray  # (n,) MEDIUM
    value: np.ndarray  # (n, 4): upward unit vector, height of the surface along it [m]
    fields: SignalArrays  # tapes of x, y, z, t


@kernel_in_place
def evaluate_flow(media, m, t, p, varying, scratch, flow):
    """Fill flow (24,) with the current of medium m at time t and the point p (3,); scratch (n, 3)."""
    for i in range(N_FLOW):
        flow[i] = 0.0
    kind, first = media.row[m].current, media.row[m].first_signal
    if kind == UNIFORM:
        for i in range(3):
            flow[FLOW + i], flow[RATE + i] = varying[first + i, 0], varying[first + i, 1]
    if kind != FIELD:
        return
    variables, stack, table = scratch[:4], scratch[4:], media.fields.table
    for i in range(3):
        row = table[first + i]
        code, data = media.fields.code[row.code : row.code_end], media.fields.data[row.data : row.data_end]
        for j in range(3):
            variables[j, 0], variables[j, 1], variables[j, 2] = p[j].real, 0.0, 0.0
        variables[3, 0], variables[3, 1], variables[3, 2] = t, 1.0, 0.0
        U, U_t, U_tt = evaluate_tape(code, data, variables, stack)
        flow[FLOW + i], flow[RATE + i] = U, U_t
        for j in range(3):
            # along x_j alone, then along x_j and t together: the mixed derivative is half of what is more
            variables[j, 1], variables[3, 1] = 1.0, 0.0
            _, U_x, U_xx = evaluate_tape(code, data, variables, stack)
            variables[3, 1] = 1.0
            _, _, both = evaluate_tape(code, data, variables, stack)
            variables[j, 1] = 0.0
            flow[GRADIENT + 3 * i + j] = U_x
            flow[RATE_GRADIENT + 3 * i + j] = 0.5 * (both - U_xx - U_tt)


@kernel_in_place
def into_body(R, x, out):
    """out (3,) = R^T x."""
    store_row(transposed_times(R, x), out)


@kernel_in_place
def gradient_into_body(R, G, out):
    """out (3, 3) = R^T G R, G (9,)."""
    GR = product(G.reshape(3, 3), rows(R))
    for i in range(3):
        store_row(transposed_times(GR, (R[0, i], R[1, i], R[2, i])), out[i])


@kernel_in_place
def add_cross(x, scale, i0, j0, out):
    """out[i0:, j0:] += scale x^, x (3,)."""
    out[i0, j0 + 1] -= scale * x[2]
    out[i0, j0 + 2] += scale * x[1]
    out[i0 + 1, j0] += scale * x[2]
    out[i0 + 1, j0 + 2] -= scale * x[0]
    out[i0 + 2, j0] -= scale * x[1]
    out[i0 + 2, j0 + 1] += scale * x[0]


@kernel_in_place
def wetted(depth, reach):
    """Submerged fraction of a sphere of radius `reach`, and its slope by the depth of the centre."""
    none = 0.0 * depth
    if depth.real >= reach.real:
        return none + 1.0, none
    if depth.real <= -reach.real:
        return none, none
    x = depth / reach
    return 0.25 * (2.0 + 3.0 * x - x * x * x), 0.75 * (1.0 - x * x) / reach


@kernel_in_place
def drag_speeds(law, v, speed, slope):
    """Fill the speeds (3,) that drag along x, y and z goes by, and their derivatives (3, 3) by the velocity v (3,).

    phi_i = -speed_i (B v)_i is C1: where a speed vanishes, its slope counts as zero, since B v vanishes there, too.
    """
    for i in range(3):
        speed[i] = 0.0 * v[0] + (1.0 if law == STOKES else 0.0)
        for j in range(3):
            slope[i, j] = 0.0
    if law == STOKES:
        return
    along = v[0] if v[0].real >= 0.0 else -v[0]
    across = np.sqrt(v[1] * v[1] + v[2] * v[2])
    whole = np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    for i in range(3):
        if law == SPEED:
            size, first, end = whole, 0, 3
        elif i == 0:
            size, first, end = along, 0, 1
        else:
            size, first, end = across, 1, 3
        speed[i] = size
        if size.real > 0.0:
            for j in range(first, end):
                slope[i, j] = v[j] / size


@kernel_in_place
def fluid_wrench(media, m, value, gravity, g, V, flow, scratch, f, K, D):
    """Fill the wrench f (6,) and its tangents K, D (6, 6) of a body with pose g (4, 3) and world twist V (6,).

    value (13,): of the body, layout above; flow (24,): of the current at its place; scratch (6, 6, 6).
    """
    submerged_wrench(value, gravity, g, V, flow, media.row[m].current != STILL, scratch, f, K, D)
    if media.row[m].has_surface == 0:
        return
    n, up = media.value[m, :3], scratch[0, 0, :3]
    into_body(g, n, up)
    height = n[0] * g[3, 0] + n[1] * g[3, 1] + n[2] * g[3, 2]
    part, slope = wetted(media.value[m, 3] - height, value[REACH])
    for i in range(6):
        for j in range(6):
            K[i, j] *= part
            D[i, j] *= part
        for j in range(3):
            K[i, 3 + j] -= slope * f[i] * up[j]
        f[i] *= part


@kernel_in_place
def submerged_wrench(value, gravity, g, V, flow, flows, scratch, f, K, D):
    """As `fluid_wrench`, far below any surface; `flows`: whether there is a current."""
    clear_matrix(K)
    clear_matrix(D)
    vectors = scratch[0]
    w, v, u, v_r, a, b = vectors[0, :3], vectors[1, :3], vectors[2, :3], vectors[3, :3], vectors[4, :3], vectors[5, :3]
    pushed, impulse, speed, slope = vectors[0, 3:], vectors[1, 3:], vectors[2, 3:], scratch[1, 3:, 3:]
    G, Gt, B, by_velocity = scratch[1, :3, :3], scratch[2, :3, :3], scratch[3, :3, :3], scratch[4, :3, :3]
    p, ma, displaced = g[3], value[ADDED_MASS : ADDED_MASS + 3], value[DISPLACED]
    into_body(g, V[:3], w)
    point_velocity(V, p, impulse)
    into_body(g, impulse, v)
    into_body(g, flow[FLOW : FLOW + 3], u)
    into_body(g, flow[RATE : RATE + 3], a)
    into_body(g, gravity, b)
    for i in range(3):
        v_r[i] = v[i] - u[i]
    law = int(value[DRAG_LAW].real)
    drag_speeds(law, v_r, speed, slope)

    # drag and lift: phi_i = -speed_i (B v_r)_i; buoyancy and the pressure of an accelerated fluid
    for i in range(3):
        for j in range(3):
            B[i, j] = 0.0
        B[i, i] = value[DRAG + i]
    B[1, 2] -= value[LIFT]
    B[2, 1] += value[LIFT]
    for i in range(3):
        pushed[i] = B[i, 0] * v_r[0] + B[i, 1] * v_r[1] + B[i, 2] * v_r[2]
        turning, order = value[ROTARY_DRAG + i] + 0.0 * w[i], 1.0
        if law != STOKES:
            turning, order = turning * (w[i] if w[i].real >= 0.0 else -w[i]), 2.0
        f[i] = -turning * w[i]
        f[3 + i] = displaced * (a[i] - b[i]) - speed[i] * pushed[i] + ma[i] * a[i]
        D[i, i] -= order * turning
    # added mass moves against the current, not against the world (theory.md, 11)
    impulse[0], impulse[1], impulse[2] = ma[0] * v_r[0], ma[1] * v_r[1], ma[2] * v_r[2]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        f[i] -= v_r[j] * impulse[k] - v_r[k] * impulse[j] - (v[j] * ma[k] * v[k] - v[k] * ma[j] * v[j])
        f[3 + i] -= ma[i] * (w[j] * u[k] - w[k] * u[j]) - (w[j] * ma[k] * u[k] - w[k] * ma[j] * u[j])

    # D: of drag, and of what added mass has to do with the current
    for i in range(3):
        for j in range(3):
            by_velocity[i, j] = -(speed[i] * B[i, j] + pushed[i] * slope[i, j])
            D[3 + i, 3 + j] += by_velocity[i, j]
    add_cross(impulse, 1.0, 0, 3, D)
    for i in range(3):
        impulse[i] = ma[i] * v[i]
    add_cross(impulse, -1.0, 0, 3, D)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        # -v_r^ ma + v^ ma = u^ ma
        D[i, 3 + j] -= u[k] * ma[j]
        D[i, 3 + k] += u[j] * ma[k]
        D[3 + i, j] -= ma[i] * u[k]
        D[3 + i, k] += ma[i] * u[j]
        impulse[i] = ma[i] * u[i]
    add_cross(impulse, -1.0, 3, 0, D)

    # K: gravity, current and its acceleration turn against the body, dx = x^ alpha, and change along its way, G beta
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        # displaced (a - b) as a vector, ma a entry by entry
        K[3 + i, j] -= (displaced + ma[i]) * a[k] - displaced * b[k]
        K[3 + i, k] += (displaced + ma[i]) * a[j] - displaced * b[j]
    if not flows:
        return
    gradient_into_body(g, flow[GRADIENT : GRADIENT + 9], G)
    gradient_into_body(g, flow[RATE_GRADIENT : RATE_GRADIENT + 9], Gt)
    # change of f by u: of drag -by_velocity, of added mass
    #   moment -[(ma v_r)^ - v_r^ ma], force -[ma w^ - w^ ma]
    by_u = scratch[5]
    clear_matrix(by_u)
    for i in range(3):
        impulse[i] = ma[i] * v_r[i]
    add_cross(impulse, -1.0, 0, 0, by_u)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        by_u[i, j] -= v_r[k] * ma[j]
        by_u[i, k] += v_r[j] * ma[k]
        by_u[3 + i, j] += ma[i] * w[k] - w[k] * ma[j]
        by_u[3 + i, k] -= ma[i] * w[j] - w[j] * ma[k]
        for c in range(3):
            by_u[3 + i, c] -= by_velocity[i, c]
    for i in range(6):
        x0, x1, x2 = by_u[i, 0], by_u[i, 1], by_u[i, 2]
        # by_u u^: row times u^
        K[i, 0] += x1 * u[2] - x2 * u[1]
        K[i, 1] += x2 * u[0] - x0 * u[2]
        K[i, 2] += x0 * u[1] - x1 * u[0]
        for c in range(3):
            K[i, 3 + c] += x0 * G[0, c] + x1 * G[1, c] + x2 * G[2, c]
    for i in range(3):
        for c in range(3):
            K[3 + i, 3 + c] += (displaced + ma[i]) * Gt[i, c]
