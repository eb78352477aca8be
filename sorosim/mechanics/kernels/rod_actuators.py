"""Actuators inside rods: tendons, chambers, moments, and what Python computes (docs/theory.md, 6).

An actuator acts on the sections at the Gauss points of its rods. Its internal wrench y on a section adds quad P^T y to
the generalised forces. A tendon or a chamber on a route d(X) = [0, y, z] with the tension T has y = -T E^T t, v =
E xi + d', E = [-d^, 1], t = v/|v|: minus T times the gradient of its length.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, kernel_in_place, kernel_lazy, record
from sorosim.mechanics.kernels.small import clear, clear_matrix, copy
from sorosim.mechanics.lie.triples import cross, dot, head, plus, store

ACTUATOR_ROW = record(
    actuator=int,
    block=int,
    basis=int,  # where its basis begins in `RodActuators.basis`
    point=int,
    kind=int,  # one of those below
    given=int,  # number among the rows that Python computes, or -1
)
# kinds of row: a route with a tension, an internal wrench, one that a stiffness gives, one that Python computes
ROUTE_ROW, WRENCH_ROW, STIFFNESS_ROW, PYTHON_ROW = range(4)
# layout of a row of RodActuators.value; gain: tension per input, minus the area of a chamber; a braid adds BRAID |v|^2.
# A wrench, or the diagonal of a stiffness, is at WRENCH
WEIGHT, GAIN, ROUTE, SLOPE, STRAIN_REFERENCE = 0, 1, 2, 5, 8
WRENCH = 2
BRAID = 14
N_ROW_VALUES = 15
# what the input of an actuator is: a force of either sign, a tension (slack if negative), the length of tendon that is
# pulled out at its end
FORCE_INPUT, TENSION_INPUT, LENGTH_INPUT = range(3)
CAPSTAN = record(
    actuator=int,
    first=int,  # first of its rows in `RodActuators.line`
    n=int,  # how many rows
    operators=int,  # where its operators begin in `RodActuators.operators`
)


@by_reference
class RodActuators(NamedTuple):
    """Actuators at the quadrature points of the rods they run through, sorted by point."""

    row: np.ndarray  # (n,) ACTUATOR_ROW
    value: np.ndarray  # (n, 15): layout named above
    basis: np.ndarray  # flat: P (n_i, 6) of each point
    mode: np.ndarray  # (n_actuators,) int: what its input is
    stiffness: np.ndarray  # (n_actuators,) of a tendon whose length is the input [N/m]
    length: np.ndarray  # (n_actuators,) of such a tendon in the unstrained rod [m]
    onset: np.ndarray  # (n_actuators,) part of a stretch that only takes up slack [m]
    capstan: np.ndarray  # (n,) CAPSTAN: tendons with friction
    friction: np.ndarray  # (n, 2): coefficient, and the rate of turning below which it fades [1/m]
    line: np.ndarray  # int, flat: rows of each of them from its pulled end on
    operators: np.ndarray  # flat, of each: derivative by arclength and integral from the pulled end, (2, N, N)


@by_reference
class ActuatorWorkspace(NamedTuple):
    """Workspace of actuators inside rods; one per thread."""

    tension: np.ndarray  # (2, n_actuators): tension, and its slope by the length
    transmission: np.ndarray  # (n_rows,) part of the tension at the pulled end that friction leaves, Euler-Eytelwein
    unit: np.ndarray  # (n_rows, 6) internal wrench of a row at unit tension, its weight included
    # (n_line, 16) of each entry of `line`: v, kappa, gradients of the rate of turning by dv/dX, kappa and v, the rate
    capstan: np.ndarray
    gamma: np.ndarray  # (n_most, 6)
    input: np.ndarray  # (n_actuators,)
    rate: np.ndarray  # (n_most,) of turning


def make_actuator_workspace(actuators: RodActuators) -> ActuatorWorkspace:
    """Allocate."""
    most = int(actuators.capstan["n"].max(initial=0))
    tension, transmission = np.zeros((2, len(actuators.mode))), np.ones(len(actuators.row))
    return ActuatorWorkspace(
        tension, transmission, np.zeros((len(actuators.row), 6)), np.zeros((len(actuators.line), 16)),
        np.zeros((most, 6)), np.zeros(len(actuators.mode)), np.zeros(most),
    )  # fmt: skip


@kernel_in_place
def section_strain(tree, actuators, row, q, reference, xi):
    """Strain xi (6,) of the rod at the point of a row, or its rate: without the reference."""
    b = actuators.row[row].block
    at = actuators.row[row].basis
    c0 = tree.block[b].column
    for r in range(6):
        xi[r] = actuators.value[row, STRAIN_REFERENCE + r] if reference else 0.0
    for j in range(tree.block[b].n):
        for r in range(tree.rows[c0 + j, 0], tree.rows[c0 + j, 1]):
            xi[r] += actuators.basis[at + 6 * j + r] * q[c0 + j]


@kernel_in_place
def route_vector(value, xi, v):
    """v = E xi + d' (3,), the tangent of a route by arclength of the rod, in the section's frame; returns |v|."""
    d0, d1, d2 = value[ROUTE], value[ROUTE + 1], value[ROUTE + 2]
    v[0] = xi[1] * d2 - xi[2] * d1 + xi[3] + value[SLOPE]
    v[1] = xi[2] * d0 - xi[0] * d2 + xi[4] + value[SLOPE + 1]
    v[2] = xi[0] * d1 - xi[1] * d0 + xi[5] + value[SLOPE + 2]
    return np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


@kernel_in_place
def route_wrench(value, x, out):
    """out (6,) = E^T x = [d x x; x]."""
    store(cross(value[ROUTE:], x), head(x), out)


@kernel_in_place
def tendon_lengths(tree, actuators, q, scratch, lengths):
    """Length of each route inside its rods by quadrature, added to lengths (n_actuators,).

    A wrench that does not depend on the strain adds minus what it does work on: lengths have the gradient -B.
    """
    xi, v = scratch[0, 0], scratch[0, 1, :3]
    for row in range(actuators.row.shape[0]):
        if actuators.row[row].kind == ROUTE_ROW:
            section_strain(tree, actuators, row, q, True, xi)
            length = route_vector(actuators.value[row], xi, v)
            lengths[actuators.row[row].actuator] += actuators.value[row, WEIGHT] * length
        elif actuators.row[row].kind == WRENCH_ROW:
            section_strain(tree, actuators, row, q, False, xi)
            for r in range(6):
                work = actuators.value[row, WRENCH + r] * xi[r]
                lengths[actuators.row[row].actuator] -= actuators.value[row, WEIGHT] * work


@kernel_in_place
def tensions(tree, actuators, q, u, scratch, workspace):
    """Fill the tension of each actuator (its input where it has none), and its slope by the length."""
    tension, slope = workspace.tension[0], workspace.tension[1]
    length_input = False
    for a in range(u.shape[0]):
        mode = actuators.mode[a]
        tension[a], slope[a] = u[a], 0.0
        if mode == TENSION_INPUT:
            tension[a] = max(u[a], 0.0)
        elif mode == LENGTH_INPUT:
            length_input, tension[a] = True, 0.0
    if not length_input:
        return
    tendon_lengths(tree, actuators, q, scratch, slope)
    for a in range(u.shape[0]):
        if actuators.mode[a] != LENGTH_INPUT:
            slope[a] = 0.0
            continue
        k, onset = actuators.stiffness[a], actuators.onset[a]
        stretch = slope[a] - actuators.length[a] + u[a]
        tension[a], slope[a] = 0.0, 0.0
        if stretch.real >= onset.real:
            tension[a], slope[a] = k * (stretch - 0.5 * onset), k
        elif stretch.real > 0.0:
            tension[a], slope[a] = 0.5 * k * stretch * stretch / onset, k * stretch / onset


@kernel_in_place
def capstan_friction(tree, actuators, q, scratch, workspace):
    """Transmission of tension by capstan friction, exp(-mu angle): the angle that a tendon turned since its pulled end.

    The rate of turning is |v x v_total|/|v|^2, v_total = kappa x v + dv/dX; smooth where it is zero. Recorded of each
    point v, kappa, and the gradients of the rate by v, kappa and dv/dX.
    """
    xi, change = scratch[0, 0], scratch[0, 1]
    for k in range(actuators.capstan.shape[0]):
        line = actuators.capstan[k]
        n, at = line.n, line.operators
        points = workspace.capstan[line.first : line.first + n]
        mu, fades = actuators.friction[k, 0], actuators.friction[k, 1]
        differentiate = actuators.operators[at : at + n * n].reshape(n, n)
        integrate = actuators.operators[at + n * n : at + 2 * n * n].reshape(n, n)
        for j in range(n):
            row = actuators.line[line.first + j]
            section_strain(tree, actuators, row, q, True, xi)
            route_vector(actuators.value[row], xi, points[j, :3])
            for i in range(3):
                points[j, 3 + i] = xi[i]
        for j in range(n):
            record = points[j]
            v, kappa = record[0:3], record[3:6]
            for i in range(3):
                change[i] = 0.0
                for m in range(n):
                    change[i] += differentiate[j, m] * points[m, i]
            size = dot(v, v)
            c = plus(cross(kappa, v), change)
            across = cross(v, c)
            w = across[0] / size, across[1] / size, across[2] / size
            total = dot(w, w)
            soft = np.sqrt(total + fades * fades)
            record[15] = soft - fades
            share = soft * size
            h = w[0] / share, w[1] / share, w[2] / share
            s = cross(h, v)
            store(s, cross(v, s), record[6:12])
            by_v = plus(cross(c, h), cross(s, kappa))
            for i in range(3):
                record[12 + i] = by_v[i] - 2.0 * total / soft * v[i] / size
        for j in range(n):
            angle = 0.0
            for m in range(n):
                angle += integrate[j, m] * points[m, 15]
            workspace.transmission[actuators.line[line.first + j]] = np.exp(-mu * angle)


@kernel_in_place
def angle_gradient(actuators, line, integrate, differentiate, points, j, m, x, gamma):
    """Gradient (6,) of the angle at point j of a line by the strain at point m; x (3,) is scratch."""
    for i in range(3):
        x[i] = integrate[j, m] * points[m, 12 + i]
        for p in range(points.shape[0]):
            x[i] += integrate[j, p] * differentiate[p, m] * points[p, 6 + i]
    route_wrench(actuators.value[actuators.line[line.first + m]], x, gamma)
    for i in range(3):
        gamma[i] += integrate[j, m] * points[m, 9 + i]


@kernel_in_place
def add_by_strain(tree, actuators, row, scale, gamma, out):
    """out (ndof,) += scale gamma P, gamma (6,) a derivative by the strain at the point of a row."""
    b, basis = actuators.row[row].block, actuators.row[row].basis
    c0 = tree.block[b].column
    for j in range(tree.block[b].n):
        for r in range(tree.rows[c0 + j, 0], tree.rows[c0 + j, 1]):
            out[c0 + j] += scale * gamma[r] * actuators.basis[basis + 6 * j + r]


@kernel_in_place
def capstan_derivatives(tree, actuators, q, u, scratch, workspace, factor, dq):
    """dq += factor times what friction changes of tensions, from what `capstan_friction` recorded."""
    xi, f, x = scratch[0, 0], scratch[0, 1], scratch[0, 2]
    for k in range(actuators.capstan.shape[0]):
        line = actuators.capstan[k]
        n, at, actuator = line.n, line.operators, line.actuator
        points = workspace.capstan[line.first : line.first + n]
        tension, mu = workspace.tension[0, actuator], actuators.friction[k, 0]
        if tension == 0.0:
            continue
        differentiate = actuators.operators[at : at + n * n].reshape(n, n)
        integrate = actuators.operators[at + n * n : at + 2 * n * n].reshape(n, n)
        for j in range(n):
            row = actuators.line[line.first + j]
            value = actuators.value[row]
            for m in range(n):
                angle_gradient(actuators, line, integrate, differentiate, points, j, m, x, workspace.gamma[m])
            # the wrench on this section
            section_strain(tree, actuators, row, q, True, xi)
            length = route_vector(value, xi, x)
            for i in range(3):
                x[i] /= length
            route_wrench(value, x, f)
            scale = factor * value[WEIGHT] * value[GAIN] * tension * mu * workspace.transmission[row]
            b, basis = actuators.row[row].block, actuators.row[row].basis
            c0 = tree.block[b].column
            for i in range(tree.block[b].n):
                force = 0.0
                for r in range(tree.rows[c0 + i, 0], tree.rows[c0 + i, 1]):
                    force += actuators.basis[basis + 6 * i + r] * f[r]
                force *= scale
                for m in range(n):
                    other = actuators.line[line.first + m]
                    add_by_strain(tree, actuators, other, force, workspace.gamma[m], dq[c0 + i])


@kernel_in_place
def add_route_tangent(value, f, scale, E, H):
    """H -= scale (E^T E - f f^T), f = E^T t: minus the second derivative of the length."""
    d0, d1, d2 = value[ROUTE], value[ROUTE + 1], value[ROUTE + 2]
    clear_matrix(E)
    E[0, 1], E[0, 2], E[1, 0], E[1, 2], E[2, 0], E[2, 1] = d2, -d1, -d2, d0, d1, -d0
    E[0, 3], E[1, 4], E[2, 5] = 1.0, 1.0, 1.0
    for r in range(6):
        for c in range(6):
            H[r, c] -= scale * (E[0, r] * E[0, c] + E[1, r] * E[1, c] + E[2, r] * E[2, c] - f[r] * f[c])


@kernel_in_place
def add_square(f, scale, H):
    """H (6, 6) += scale f f^T."""
    for r in range(6):
        for c in range(6):
            H[r, c] += scale * f[r] * f[c]


@kernel_in_place
def add_section_matrix(P, rows, n, H, HP, out):
    """out (n, n) += P^T (H P); P (n, 6), rows (n, 2) of P in use, HP (6, n) scratch."""
    clear_matrix(HP)
    for j in range(n):
        for c in range(rows[j, 0], rows[j, 1]):
            for r in range(6):
                HP[r, j] += H[r, c] * P[j, c]
    for i in range(n):
        line = out[i]
        for r in range(rows[i, 0], rows[i, 1]):
            a, row = P[i, r], HP[r]
            for j in range(n):
                line[j] += a * row[j]


@kernel_lazy("rod actuators")
def actuator_forces(tree, actuators, q, u, derivatives, ws, external, tau, B) -> None:
    """tau += forces of all actuators in rods; if `derivatives` ws.internal likewise, and B columns by their tensions.

    u (n_actuators,); B (ndof, n_actuators), or (0, n_actuators). `external` has what Python computed.
    """
    xi, t, f, total = ws.scratch[0, 0], ws.scratch[0, 1, :3], ws.scratch[0, 2], ws.scratch[0, 3]
    H, E, damped, workspace = ws.scratch[1], ws.scratch[2, :3], ws.scratch[3], external.actuators
    n_rows = actuators.row.shape[0]
    tensions(tree, actuators, q, u, ws.scratch, workspace)
    if actuators.capstan.shape[0] > 0:
        capstan_friction(tree, actuators, q, ws.scratch, workspace)
    row = 0
    while row < n_rows:
        b, at, point = (
            actuators.row[row].block,
            actuators.row[row].basis,
            actuators.row[row].point,
        )
        n, c0 = tree.block[b].n, tree.block[b].column
        P, rows = actuators.basis[at : at + 6 * n].reshape(n, 6), tree.rows[c0 : c0 + n]
        section_strain(tree, actuators, row, q, True, xi)
        clear(total)
        clear_matrix(H)
        clear_matrix(damped)
        damping = False
        while row < n_rows and actuators.row[row].point == point:
            value, actuator, kind = (
                actuators.value[row],
                actuators.row[row].actuator,
                actuators.row[row].kind,
            )
            weight, pull = value[WEIGHT], workspace.tension[0, actuator]
            # f: the internal wrench of a unit of input, with its weight
            if kind == ROUTE_ROW:
                length = route_vector(value, xi, t)
                t[0], t[1], t[2] = t[0] / length, t[1] / length, t[2] / length
                route_wrench(value, t, f)
                share = weight * workspace.transmission[row]
                scale = share * (value[GAIN] + value[BRAID] * length * length)
                if derivatives and pull != 0.0:
                    add_route_tangent(value, f, scale * pull / length, E, H)
                    if value[BRAID] != 0.0:
                        add_square(f, -2.0 * share * value[BRAID] * length * pull, H)
                for r in range(6):
                    f[r] *= -scale
                    total[r] += pull * f[r]
            elif kind == WRENCH_ROW:
                for r in range(6):
                    f[r] = weight * value[WRENCH + r]
                    total[r] += pull * f[r]
            elif kind == STIFFNESS_ROW:
                for r in range(6):
                    stiffness = weight * value[WRENCH + r]
                    f[r] = -stiffness * (xi[r] - value[STRAIN_REFERENCE + r])
                    total[r] += pull * f[r]
                    H[r, r] -= pull * stiffness
            else:
                given = actuators.row[row].given
                for r in range(6):
                    f[r] = weight * external.section_B[given, r]
                    total[r] += weight * external.section[given, r]
                    for c in range(6):
                        H[r, c] += weight * external.section_K[given, r, c]
                        damped[r, c] += weight * external.section_D[given, r, c]
                        damping = damping or external.section_D[given, r, c] != 0.0
            copy(f, workspace.unit[row])
            if derivatives and B.shape[0] > 0:
                column = B[c0 : c0 + n, actuator]
                for j in range(n):
                    p = P[j]
                    column[j] += p[0] * f[0] + p[1] * f[1] + p[2] * f[2] + p[3] * f[3] + p[4] * f[4] + p[5] * f[5]
            row += 1
        for j in range(n):
            for r in range(rows[j, 0], rows[j, 1]):
                tau[c0 + j] += P[j, r] * total[r]
        if derivatives:
            HP, square = ws.wide[0, : 6 * n].reshape(6, n), tree.block[b].square
            add_section_matrix(P, rows, n, H, HP, ws.internal[0, square : square + n * n].reshape(n, n))
            if damping:
                add_section_matrix(P, rows, n, damped, HP, ws.internal[1, square : square + n * n].reshape(n, n))


@kernel_in_place
def tension_by_input(actuators, workspace, u, a):
    """Derivative of the tension of an actuator by its input, after `tensions`."""
    if actuators.mode[a] == LENGTH_INPUT:
        return workspace.tension[1, a]
    return 0.0 if actuators.mode[a] == TENSION_INPUT and u[a] < 0.0 else 1.0


@kernel_lazy("rod actuators")
def couple_tendons(tree, actuators, q, u, ws, external, scale, dq, B) -> None:
    """dq (ndof, ndof) += scale times what tensions change by: those that lengths set, and friction. B *= dT/du.

    After `actuator_forces` with derivatives. The gradients of lengths are the columns of -B.
    """
    n, workspace = dq.shape[0], external.actuators
    for a in range(u.shape[0]):
        slope, by_input = workspace.tension[1, a], tension_by_input(actuators, workspace, u, a)
        if slope != 0.0:
            for i in range(n):
                if B[i, a] != 0.0:
                    for j in range(n):
                        dq[i, j] -= scale * slope * B[i, a] * B[j, a]
        if by_input != 1.0:
            for i in range(n):
                B[i, a] *= by_input
    if actuators.capstan.shape[0] > 0:
        capstan_derivatives(tree, actuators, q, u, ws.scratch, workspace, scale, dq)
