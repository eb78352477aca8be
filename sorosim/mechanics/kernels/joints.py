"""Forces in joints beyond linear springs: dampers and friction on the relative twist, end stops, motors.

The relative twist of a joint in its moved frame is nu = A(q) qd, A = P^T T(-P q) P with the joint's unit twists P;
where the joint's motions commute A = 1. A force y conjugate to nu is the generalised force A^T y (docs/theory.md, 6).
Translations d_i that a rotation R follows in the same joint have A_ij = R d_i . d_j: their forces turn with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, kernel_in_place, kernel_lazy, record
from sorosim.mechanics.kernels.small import clear, clear_matrix, dual_expand_transposed
from sorosim.mechanics.kernels.tree import BASIS, GENERAL
from sorosim.mechanics.lie.analytic import tanh
from sorosim.mechanics.lie.so3 import coefficients, rotation_into
from sorosim.mechanics.lie.tangent import tangent_into, tangent_transpose_derivative_into
from sorosim.mechanics.lie.triples import cross, dot, head, rows, tail, times

JOINT_LAW = record(
    law=int,  # one of those below
    block=int,
    at=int,  # where its numbers begin in `Laws.value`
    index=int,  # of a stop or a servo the coordinate, of a motor the direction
    actuator=int,
    turned=int,  # block of the rotation with which the translations turn along which motors and friction act, or -1
)
# kinds of law. Values of friction, for each coordinate: damping, friction, creep, group of friction; of a stop: low,
# high, stiffness, depth of the soft onset; of a servo: stiffness, damping, largest effort, effort by its input
# What rods have whose length is the coordinate `index`: LENGTH_ELASTIC: length in the file, the force with which the
# sheath drives the rod out, stiffness of the strains; LENGTH_DAMPING: length, friction, creep, three matrices
JOINT_FRICTION, STOP, MOTOR, SERVO, LENGTH_ELASTIC, LENGTH_DAMPING = range(6)


@by_reference
class Laws(NamedTuple):
    """Laws of the joints of a tree."""

    row: np.ndarray  # (n_laws,) JOINT_LAW
    value: np.ndarray  # flat


@kernel_in_place
def stop_force(depth, stiffness, onset):
    """Force, its slope and its energy at a depth: 0 at 0, a spring of the given stiffness far beyond the onset."""
    if depth.real <= 0.0:
        return 0.0 * stiffness, 0.0 * stiffness, 0.0 * stiffness
    reach = depth + onset
    force = stiffness * depth * depth / reach
    slope = stiffness * depth * (depth + 2.0 * onset) / (reach * reach)
    energy = stiffness * (0.5 * depth * depth - onset * depth + onset * onset * np.log1p(depth / onset))
    return force, slope, energy


@kernel_in_place
def friction_force(value, nu, n, y, slope):
    """Damping and friction y (n,) that oppose the relative twist nu, and dy/dnu, slope (n, n).

    Friction of a group of coordinates is the gradient of phi = sqrt(sum (F_i nu_i)^2 + (F c)^2), F and c the largest of
    the group: F nu/|nu| where the twist is fast, linear where it is slow.
    """
    for i in range(n):
        y[i] = value[4 * i] * nu[i]
        for j in range(n):
            slope[i, j] = 0.0
        slope[i, i] = value[4 * i]
    for i in range(n):
        F_i, group = value[4 * i + 1], value[4 * i + 3]
        if F_i == 0.0:
            continue
        largest, creep, total = 0.0 * F_i, 0.0 * F_i, 0.0 * F_i
        for j in range(n):
            if value[4 * j + 3] == group:
                F, c = value[4 * j + 1], value[4 * j + 2]
                # where all are zero the one that carries a derivative counts
                more = F.real > largest.real or (F.real == largest.real and F.imag > largest.imag)
                largest, creep = F if more else largest, c if c.real > creep.real else creep
                total += F * nu[j] * (F * nu[j])
        phi = np.sqrt(total + largest * creep * (largest * creep))
        y[i] += F_i * F_i * nu[i] / phi
        slope[i, i] += F_i * F_i / phi
        for j in range(n):
            F_j = value[4 * j + 1]
            if value[4 * j + 3] == group:
                slope[i, j] -= F_i * F_i * nu[i] * F_j * F_j * nu[j] / (phi * phi * phi)


@kernel_in_place
def add_projected(P, n, X, scale, out):
    """out[:n, :n] += scale P^T X P; P (n, 6) by columns, X (6, 6)."""
    for i in range(n):
        for j in range(n):
            total = 0.0
            for r in range(6):
                for s in range(6):
                    total += P[i, r] * X[r, s] * P[j, s]
            out[i, j] += scale * total


@kernel_in_place
def combined(P, n, values, out):
    """out (6,) = P values."""
    clear(out)
    for j in range(n):
        for r in range(6):
            out[r] += P[j, r] * values[j]


@kernel_in_place
def twists_at(tree, b):
    """Where in tree.strain the unit twists P (n, 6) of the joint begin that is block b."""
    return tree.segment[tree.block[b].first].strain + BASIS


@kernel_in_place
def turned_frame(tree, P, n, rotation, q, R, Omega, C, At):
    """At = A^T of translations P (n, 6), which block `rotation` turns by R; fills R, its Omega = P q and C."""
    m, c0, at = tree.block[rotation].n, tree.block[rotation].column, twists_at(tree, rotation)
    combined(tree.strain[at : at + 6 * m].reshape(m, 6), m, q[c0 : c0 + m], Omega)
    coefficients(Omega[0] * Omega[0] + Omega[1] * Omega[1] + Omega[2] * Omega[2], C)
    rotation_into(Omega, C, R)
    for j in range(n):
        for i in range(n):
            At[j, i] = dot(tail(P[j]), times(rows(R), tail(P[i])))


@kernel_in_place
def moved_frame(tree, law, P, n, q, scratch, Omega, C, At):
    """At = A^T of the block of a law, with the twists P (n, 6); fills Omega = -P q and its coefficients C.

    Of translations that turn, R is left in scratch[0], with Omega and C of their rotation.
    """
    b = law.block
    clear_matrix(At)
    if law.turned >= 0:
        turned_frame(tree, P, n, law.turned, q, scratch[0, :3, :3], Omega, C, At)
        return
    c0 = tree.block[b].column
    if tree.segment[tree.block[b].first].kind != GENERAL:
        for i in range(n):
            At[i, i] = 1.0
        return
    combined(P, n, q[c0 : c0 + n], Omega)
    for r in range(6):
        Omega[r] = -Omega[r]
    T, Tt = scratch[0, :3].reshape(2, 3, 3), scratch[1]
    coefficients(Omega[0] * Omega[0] + Omega[1] * Omega[1] + Omega[2] * Omega[2], C)
    tangent_into(Omega, C, T)
    dual_expand_transposed(T, Tt)
    add_projected(P, n, Tt, 1.0, At)


@kernel_in_place
def friction_wrench(tree, law, value, P, n, q, rates, scratch):
    """Leave A^T, dy/dnu, y, Omega and C of one joint in scratch[2], [3], [7, 1], [7, 2] and [8]."""
    At, slope, nu, y, Omega = scratch[2], scratch[3], scratch[7, 0], scratch[7, 1], scratch[7, 2]
    moved_frame(tree, law, P, n, q, scratch, Omega, scratch[8].reshape(36)[:10], At)
    for i in range(n):
        nu[i] = 0.0
        for j in range(n):
            nu[i] += At[j, i] * rates[j]
    friction_force(value, nu, n, y, slope)


@kernel_in_place
def add_friction(tree, law, value, q, qd, derivatives, ws, tau):
    """tau -= A^T y(A qd) of one joint; if `derivatives` those in ws.internal likewise."""
    scratch = ws.scratch
    b = law.block
    n, c0, at = tree.block[b].n, tree.block[b].column, twists_at(tree, b)
    P, rates = tree.strain[at : at + 6 * n].reshape(n, 6), qd[c0 : c0 + n]
    At, y = scratch[2], scratch[7, 1]
    friction_wrench(tree, law, value, P, n, q, rates, scratch)
    for i in range(n):
        for j in range(n):
            tau[c0 + i] -= At[i, j] * y[j]
    if derivatives:
        general = tree.segment[tree.block[b].first].kind == GENERAL
        first, end = tree.block[b].square, tree.block[b].square + n * n
        by_q, by_qd = ws.internal[0, first:end].reshape(n, n), ws.internal[1, first:end].reshape(n, n)
        add_friction_tangents(P, n, rates, general, scratch, by_q, by_qd)


@kernel_in_place
def add_friction_tangents(P, n, rates, general, scratch, dq, dqd):
    """Derivatives (n, n) of `add_friction`, by what it left in scratch; `general`: its motions do not commute."""
    At, slope, AtS, turned, X = scratch[2], scratch[3], scratch[4], scratch[5], scratch[6]
    y, Omega, twist, wrench, C = scratch[7, 1], scratch[7, 2], scratch[7, 3], scratch[7, 4], scratch[8].reshape(36)[:10]
    for i in range(n):
        for j in range(n):
            AtS[i, j] = 0.0
            for k in range(n):
                AtS[i, j] += At[i, k] * slope[k, j]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                dqd[i, j] -= AtS[i, k] * At[j, k]
    if not general:
        return
    # d(A^T y)/dq = -P^T X(Omega; P y) P; row i of d(A qd)/dq is -(P qd)^T X(Omega; P_i) P
    combined(P, n, y, wrench)
    tangent_transpose_derivative_into(Omega, C, wrench, X)
    add_projected(P, n, X, 1.0, dq)
    combined(P, n, rates, twist)
    for i in range(n):
        tangent_transpose_derivative_into(Omega, C, P[i], X)
        for j in range(n):
            turned[i, j] = 0.0
            for r in range(6):
                for s in range(6):
                    turned[i, j] -= twist[r] * X[r, s] * P[j, s]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                dq[i, j] -= AtS[i, k] * turned[k, j]


@kernel_in_place
def add_motor(tree, law, q, u, derivatives, ws, tau, B):
    """tau += A^T e_i u, the wrench u along direction i of the moved frame; if `derivatives` the rest likewise."""
    scratch = ws.scratch
    b, index, actuator = law.block, law.index, law.actuator
    n, c0, at = tree.block[b].n, tree.block[b].column, twists_at(tree, b)
    P = tree.strain[at : at + 6 * n].reshape(n, 6)
    At, X, Omega, C = scratch[2], scratch[6], scratch[7, 2], scratch[8].reshape(36)[:10]
    moved_frame(tree, law, P, n, q, scratch, Omega, C, At)
    for i in range(n):
        tau[c0 + i] += At[i, index] * u[actuator]
        if derivatives and B.shape[0] > 0:
            B[c0 + i, actuator] += At[i, index]
    if derivatives and u[actuator] != 0.0 and law.turned < 0:
        tangent_transpose_derivative_into(Omega, C, P[index], X)
        first = tree.block[b].square
        add_projected(P, n, X, -u[actuator], ws.internal[0, first : first + n * n].reshape(n, n))


@kernel_in_place
def turned_tangent(tree, law, value, q, qd, u, scratch, X):
    """X (n, m) = dtau/dw of the n translations of a law that turn with m coordinates w of a rotation.

    a_k, the angular velocity of the moved frame by the rate of w_k, changes A^T_ji by d_j . R (a_k x d_i).
    """
    b, rotation, index = law.block, law.turned, law.index
    n, c0, m = tree.block[b].n, tree.block[b].column, tree.block[rotation].n
    at, first, rates = twists_at(tree, b), twists_at(tree, rotation), qd[c0 : c0 + n]
    P, turns = tree.strain[at : at + 6 * n].reshape(n, 6), tree.strain[first : first + 6 * m].reshape(m, 6)
    R, T, At, slope, D = scratch[0, :3, :3], scratch[1, :3].reshape(2, 3, 3), scratch[2], scratch[3], scratch[4]
    y, Omega, change, C = scratch[7, 1], scratch[7, 2], scratch[7, 3], scratch[8].reshape(36)[:10]
    if law.law == JOINT_FRICTION:
        friction_wrench(tree, law, value, P, n, q, rates, scratch)
        for i in range(n):
            y[i] = -y[i]
    else:
        moved_frame(tree, law, P, n, q, scratch, Omega, C, At)
        clear_matrix(slope)
        clear(y)
        y[index] = u[law.actuator]
    for r in range(6):
        Omega[r] = -Omega[r]
    tangent_into(Omega, C, T)
    for k in range(m):
        a = times(rows(T[0]), head(turns[k]))
        for i in range(n):
            moved = times(rows(R), cross(a, tail(P[i])))
            change[i] = 0.0  # of nu
            for j in range(n):
                D[j, i] = dot(tail(P[j]), moved)
                change[i] += D[j, i] * rates[j]
        for j in range(n):
            X[j, k] = 0.0
            for i in range(n):
                X[j, k] += D[j, i] * y[i]
                for r in range(n):
                    X[j, k] -= At[j, i] * slope[i, r] * change[r]


@kernel_lazy("joint laws")
def add_turned_tangents(tree, laws, q, qd, u, scale, scratch, by_q) -> None:
    """by_q (ndof, ndof) += scale times what forces along translations change by as these turn."""
    X = scratch[9]
    for k in range(laws.row.shape[0]):
        law = laws.row[k]
        if law.turned >= 0:
            turned_tangent(tree, law, laws.value[law.at :], q, qd, u, scratch, X)
            c0, first = tree.block[law.block].column, tree.block[law.turned].column
            for i in range(tree.block[law.block].n):
                for j in range(tree.block[law.turned].n):
                    by_q[c0 + i, first + j] += scale * X[i, j]


@kernel_lazy("joint laws")
def add_turned_products(tree, laws, q, qd, u, transposed, scale, x, scratch, out) -> None:
    """out (ndof,) += scale X x, or X^T x, of the same X."""
    X = scratch[9]
    for k in range(laws.row.shape[0]):
        law = laws.row[k]
        if law.turned >= 0:
            turned_tangent(tree, law, laws.value[law.at :], q, qd, u, scratch, X)
            c0, first = tree.block[law.block].column, tree.block[law.turned].column
            for i in range(tree.block[law.block].n):
                for j in range(tree.block[law.turned].n):
                    if transposed:
                        out[first + j] += scale * X[i, j] * x[c0 + i]
                    else:
                        out[c0 + i] += scale * X[i, j] * x[first + j]


@kernel_in_place
def is_exponential(tree, b):
    """Whether block b is a joint whose motions do not commute. Those of a rod are several segments."""
    first = tree.block[b].first
    return tree.segment[first].kind == GENERAL and tree.block[b].end - first == 1


@kernel_in_place
def quadratic(K, x, y, n):
    """x^T K y; K flat, (n, n)."""
    total = 0.0 * K[0]
    for i in range(n):
        for j in range(n):
            total += x[i] * K[n * i + j] * y[j]
    return total


@kernel_in_place
def length_elastic(tree, law, value, q, derivatives, ws, tau):
    """What a length l != L changes of the elastic force: U = q^T K q/(2 lambda) - f l (docs/theory.md, 19)."""
    b, e = law.block, law.index
    n, L = tree.block[b].n - 1, value[0]
    ratio, K, x = 1.0 + q[e] / L, value[2 : 2 + n * n], q[e + 1 : e + 1 + n]
    scale = 1.0 / (ratio * ratio * L)
    energy = quadratic(K, x, x, n)
    if ratio.real <= 0.0:
        tau[e] = np.nan  # no rod is left
    tau[e] += 0.5 * scale * energy + value[1]
    at = tree.block[b].square
    for i in range(n):
        force = 0.0 * ratio
        for j in range(n):
            force += K[n * i + j] * x[j]
        tau[e + 1 + i] += (1.0 - 1.0 / ratio) * force
        if derivatives:
            for j in range(n):
                ws.internal[0, at + (n + 1) * (i + 1) + j + 1] += (1.0 - 1.0 / ratio) * K[n * i + j]
            ws.internal[0, at + i + 1] += scale * force
            ws.internal[0, at + (n + 1) * (i + 1)] += scale * force
    if derivatives:
        ws.internal[0, at] -= scale * energy / (ratio * L)


@kernel_in_place
def length_damping(tree, law, value, q, qd, derivatives, ws, tau):
    """What a length l != L, and its rate, change of the damping in a rod, and the friction where it is fed.

    (P qd + mu G q)/lambda is the rate of the strain of the material, mu = l'/l, G = c L dP/dX - P; the matrices are the
    integrals of P^T D P, P^T D G and G^T D G.
    """
    b, e = law.block, law.index
    n, L, F, creep = tree.block[b].n - 1, value[0], value[1], value[2]
    size, at = n * n, tree.block[b].square
    D, D_1, D_2 = value[3 : 3 + size], value[3 + size : 3 + 2 * size], value[3 + 2 * size : 3 + 3 * size]
    ratio, x, xd = 1.0 + q[e] / L, q[e + 1 : e + 1 + n], qd[e + 1 : e + 1 + n]
    length, mu = ratio * L, qd[e] / (ratio * L)
    scale = 1.0 / (ratio * length)
    cross, own = quadratic(D_1, xd, x, n), quadratic(D_2, x, x, n)
    tau[e] -= scale * (cross + mu * own)
    if derivatives:
        ws.internal[0, at] += scale / length * (2.0 * cross + 3.0 * mu * own)
        ws.internal[1, at] -= scale / length * own
    for i in range(n):
        a, b_q, b_qd, c = 0.0 * ratio, 0.0 * ratio, 0.0 * ratio, 0.0 * ratio
        for j in range(n):
            a += D[n * i + j] * xd[j]
            b_q += D_1[n * i + j] * x[j]
            b_qd += D_1[n * j + i] * xd[j]
            c += (D_2[n * i + j] + D_2[n * j + i]) * x[j]
        tau[e + 1 + i] += (1.0 - 1.0 / ratio) * a - mu / ratio * b_q
        if derivatives:
            row, line = at + i + 1, at + (n + 1) * (i + 1)
            for j in range(n):
                ws.internal[0, line + j + 1] -= mu / ratio * D_1[n * i + j]
                ws.internal[1, line + j + 1] += (1.0 - 1.0 / ratio) * D[n * i + j]
            ws.internal[0, line] += scale * (a + 2.0 * mu * b_q)
            ws.internal[1, line] -= scale * b_q
            ws.internal[0, row] -= scale * (b_qd + mu * c)
            ws.internal[1, row] -= scale * b_q
    if F.real > 0.0:
        phi = np.sqrt(qd[e] * qd[e] + creep * creep)
        tau[e] -= F * qd[e] / phi
        if derivatives:
            ws.internal[1, at] -= F * creep * creep / (phi * phi * phi)


@kernel_in_place
def servo_effort(law, value, q, qd, u):
    """L tanh((g u - k q - d qd)/L), L the largest effort, and its slope by what stands in the brackets times L."""
    i, k, d, most, g = law.index, value[0], value[1], value[2], value[3]
    effort, slope = g * u[law.actuator] - k * q[i] - d * qd[i], 1.0
    if most.real < np.inf:
        part = tanh(effort / most)
        effort, slope = most * part, 1.0 - part * part
    return effort, slope


@kernel_in_place
def diagonal_place(tree, b, i):
    """Where in ws.internal[0] and [1] the diagonal has coordinate i of block b."""
    return tree.block[b].square + (i - tree.block[b].column) * (tree.block[b].n + 1)


@kernel_lazy("joint laws")
def joint_laws(tree, laws, q, qd, u, derivatives, ws, tau, B) -> None:
    """tau += dampers, stops, motors and servos of all joints; if `derivatives` ws.internal and B likewise.

    What forces change by as their directions turn with another block is left to `add_turned_tangents`.
    """
    by_q, by_qd, by_u = ws.internal[0], ws.internal[1], derivatives and B.shape[0] > 0
    for k in range(laws.row.shape[0]):
        law = laws.row[k]
        if law.law == JOINT_FRICTION:
            add_friction(tree, law, laws.value[law.at :], q, qd, derivatives, ws, tau)
        elif law.law == MOTOR and law.turned < 0 and not is_exponential(tree, law.block):
            i, actuator = tree.block[law.block].column + law.index, law.actuator
            tau[i] += u[actuator]  # A = 1
            if by_u:
                B[i, actuator] += 1.0
        elif law.law == MOTOR:
            add_motor(tree, law, q, u, derivatives, ws, tau, B)
        elif law.law == SERVO:
            i, value, actuator = law.index, laws.value[law.at :], law.actuator
            effort, slope = servo_effort(law, value, q, qd, u)
            tau[i] += effort
            if derivatives:
                at = diagonal_place(tree, law.block, i)
                by_q[at] -= slope * value[0]
                by_qd[at] -= slope * value[1]
            if by_u:
                B[i, actuator] += slope * value[3]
        elif law.law == LENGTH_ELASTIC:
            length_elastic(tree, law, laws.value[law.at :], q, derivatives, ws, tau)
        elif law.law == LENGTH_DAMPING:
            length_damping(tree, law, laws.value[law.at :], q, qd, derivatives, ws, tau)
        else:
            i, value = law.index, laws.value[law.at : law.at + 4]
            below, slope_below, _ = stop_force(value[0] - q[i], value[2], value[3])
            above, slope_above, _ = stop_force(q[i] - value[1], value[2], value[3])
            tau[i] += below - above
            if derivatives:
                by_q[diagonal_place(tree, law.block, i)] -= slope_below + slope_above


@kernel_in_place
def law_energy(tree, laws, q):
    """Energy in the springs of all stops, and what a length l != L changes of that of rods [J]."""
    energy = 0.0
    for k in range(laws.row.shape[0]):
        if laws.row[k].law == STOP:
            i, at = laws.row[k].index, laws.row[k].at
            for depth in (laws.value[at] - q[i], q[i] - laws.value[at + 1]):
                energy += stop_force(depth, laws.value[at + 2], laws.value[at + 3])[2]
        elif laws.row[k].law == LENGTH_ELASTIC:
            i, value, n = (
                laws.row[k].index,
                laws.value[laws.row[k].at :],
                tree.block[laws.row[k].block].n - 1,
            )
            x = q[i + 1 : i + 1 + n]
            ratio = 1.0 + q[i] / value[0]
            energy += 0.5 * (1.0 / ratio - 1.0) * quadratic(value[2 : 2 + n * n], x, x, n) - value[1] * q[i]
    return energy
