"""Nonlinear elasticity of sections: what it adds to the linear stiffness of rods (docs/theory.md, 6).

The energy per length of a section of an incompressible Mooney-Rivlin solid at the strain e = xi - xi*, stretch 1 + e_4,

    U = S_4 int n + (t S_1 e_1^2 + b Q + s (S_5 e_5^2 + S_6 e_6^2)) / 2 + p Q^2/S_4        Q = S_2 e_2^2 + S_3 e_3^2

with the stiffness S of the linear section; n, t, b, s and p are functions of the stretch. Here is U less e^T S e / 2.
Of rods whose length is a coordinate e = P q/lambda, and U counts lambda times (docs/theory.md, 19).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, kernel_in_place, kernel_lazy, record
from sorosim.mechanics.kernels.rod_actuators import add_section_matrix
from sorosim.mechanics.kernels.small import clear, clear_matrix

SECTION_LAW = record(block=int, basis=int)  # basis: where P begins in `SectionLaws.basis`
# layout of a row of SectionLaws.value: quadrature weight, stiffness, share C2/(C1 + C2) of the second term, and the
# length in the file where the first coordinate of the block is how much longer the rod is, else 0
LAW_WEIGHT, LAW_STIFFNESS, LAW_SHARE, LAW_LENGTH = 0, 1, 7, 8


@by_reference
class SectionLaws(NamedTuple):
    """Sections of nonlinear elasticity, at the Gauss points of their rods."""

    row: np.ndarray  # (n, 2) int: columns named above
    value: np.ndarray  # (n, 9): layout named above
    basis: np.ndarray  # flat: P (n_i, 6) of each point


@kernel_in_place
def law_strain(tree, laws, k, q, e):
    """Strain e (6,) beyond the reference at the point of a row; returns lambda, and the stretch or NaN if negative."""
    b, at = laws.row[k].block, laws.row[k].basis
    c0 = tree.block[b].column
    clear(e)
    for j in range(tree.block[b].n):
        for r in range(tree.rows[c0 + j, 0], tree.rows[c0 + j, 1]):
            e[r] += laws.basis[at + 6 * j + r] * q[c0 + j]
    length, ratio = laws.value[k, LAW_LENGTH], 1.0 + 0.0 * e[3]
    if length.real > 0.0:
        ratio += q[c0] / length
        for r in range(6):
            e[r] /= ratio
    stretch = 1.0 + e[3]
    return ratio, stretch if stretch.real > 0.0 else stretch * np.nan


@kernel_in_place
def softening(z, c, f):
    """f (5, 3): n, n' and int n, then t, b, s and p with two derivatives each, at the stretch x = 1/z; a = 1 - c.

    n = (a (x - x^-2) + c (1 - x^-3))/3, t = a/x + c/x^2, b = n'/x, s = a + c/x and p = n_xxx/(12 x^2).
    """
    a, x, z2, z3 = 1.0 - c, 1.0 / z, z * z, z * z * z
    z4 = z2 * z2
    f[0, 0] = (a * (x - z2) + c * (1.0 - z3)) / 3.0
    f[0, 1] = (a * (1.0 + 2.0 * z3) + 3.0 * c * z4) / 3.0
    f[0, 2] = (a * (0.5 * x * x + z - 1.5) + c * (x + 0.5 * z2 - 1.5)) / 3.0
    f[1, 0] = a * z + c * z2
    f[1, 1] = -a * z2 - 2.0 * c * z3
    f[1, 2] = 2.0 * a * z3 + 6.0 * c * z4
    f[2, 0] = (a * (z + 2.0 * z4) + 3.0 * c * z4 * z) / 3.0
    f[2, 1] = -(a * (z2 + 8.0 * z4 * z) + 15.0 * c * z4 * z2) / 3.0
    f[2, 2] = (a * (2.0 * z3 + 40.0 * z4 * z2) + 90.0 * c * z4 * z3) / 3.0
    f[3, 0] = a + c * z
    f[3, 1] = -c * z2
    f[3, 2] = 2.0 * c * z3
    z7 = z3 * z4
    f[4, 0] = (2.0 * a + 5.0 * c * z) * z7 / 3.0
    f[4, 1] = -(14.0 * a + 40.0 * c * z) * z7 * z / 3.0
    f[4, 2] = (112.0 * a + 360.0 * c * z) * z7 * z2 / 3.0


@kernel_in_place
def softening_of(r):
    """Row of `softening` for a component of the strain other than the stretch: torsion, bending, shear."""
    return 1 if r == 0 else 2 if r < 3 else 3


@kernel_in_place
def line_energy(S, e, bent, f):
    """Energy per length at the strain e (6,) of a section of stiffness S (6,), beyond the linear one; bent: Q."""
    total = S[3] * (f[0, 2] - 0.5 * e[3] * e[3]) + f[4, 0] * bent * bent / S[3]
    for r in range(6):
        if r != 3:
            total += 0.5 * S[r] * e[r] * e[r] * (f[softening_of(r), 0] - 1.0)
    return total


@kernel_in_place
def strain_columns(basis, n, e, ratio, length, P):
    """P (n, 6): derivatives of the strain by the coordinates, of which the first is how much longer the rod is."""
    for j in range(n):
        for r in range(6):
            P[j, r] = basis[6 * j + r] / ratio
    for r in range(6):
        P[0, r] = -e[r] / (ratio * length)


@kernel_in_place
def section_energy(tree, laws, q, scratch):
    """What the laws add to the elastic energy [J]; scratch (2, 6, 6)."""
    e, f, energy = scratch[0, 0], scratch[1, :5, :3], 0.0
    for k in range(laws.row.shape[0]):
        S = laws.value[k, LAW_STIFFNESS : LAW_STIFFNESS + 6]
        ratio, stretch = law_strain(tree, laws, k, q, e)
        softening(1.0 / stretch, laws.value[k, LAW_SHARE], f)
        bent = S[1] * e[1] * e[1] + S[2] * e[2] * e[2]
        energy += ratio * laws.value[k, LAW_WEIGHT] * line_energy(S, e, bent, f)
    return energy


@kernel_lazy("section laws")
def section_forces(tree, laws, q, derivatives, ws, tau) -> None:
    """tau (ndof,) -= quad P^T y, y what the laws add to S e; if `derivatives` ws.internal[0] likewise."""
    e, y, f, H = ws.scratch[0, 0], ws.scratch[0, 1], ws.scratch[1, :5, :3], ws.scratch[2]
    for k in range(laws.row.shape[0]):
        b, at = laws.row[k].block, laws.row[k].basis
        n, c0, square = tree.block[b].n, tree.block[b].column, tree.block[b].square
        S, length = laws.value[k, LAW_STIFFNESS : LAW_STIFFNESS + 6], laws.value[k, LAW_LENGTH]
        ratio, stretch = law_strain(tree, laws, k, q, e)
        weight = ratio * laws.value[k, LAW_WEIGHT]
        softening(1.0 / stretch, laws.value[k, LAW_SHARE], f)
        bent = S[1] * e[1] * e[1] + S[2] * e[2] * e[2]
        y[3] = weight * (S[3] * (f[0, 0] - e[3]) + f[4, 1] * bent * bent / S[3])
        for r in range(6):
            if r != 3:
                own, scale = f[softening_of(r)], weight * S[r] * e[r]
                y[r] = scale * (own[0] - 1.0)
                y[3] += 0.5 * scale * e[r] * own[1]
        by_bending = 4.0 * weight * f[4, 0] * bent / S[3]
        for r in range(1, 3):
            y[r] += by_bending * S[r] * e[r]
        P = laws.basis[at : at + 6 * n].reshape(n, 6)
        if length.real > 0.0:
            P = ws.wide[1, : 6 * n].reshape(n, 6)
            strain_columns(laws.basis[at : at + 6 * n], n, e, ratio, length, P)
            tau[c0] -= laws.value[k, LAW_WEIGHT] / length * line_energy(S, e, bent, f)
        for j in range(n):
            for r in range(tree.rows[c0 + j, 0], tree.rows[c0 + j, 1]):
                tau[c0 + j] -= P[j, r] * y[r]
        if not derivatives:
            continue
        clear_matrix(H)
        H[3, 3] = -weight * (S[3] * (f[0, 1] - 1.0) + f[4, 2] * bent * bent / S[3])
        for r in range(6):
            if r != 3:
                own, scale = f[softening_of(r)], weight * S[r]
                H[r, r] = -scale * (own[0] - 1.0)
                H[3, 3] -= 0.5 * scale * e[r] * e[r] * own[2]
                H[r, 3] = -scale * e[r] * own[1]
        for r in range(1, 3):
            H[r, r] -= by_bending * S[r]
            H[r, 3] -= 4.0 * weight * f[4, 1] * bent * S[r] * e[r] / S[3]
            for c in range(1, 3):
                H[r, c] -= 8.0 * weight * f[4, 0] * S[r] * e[r] * S[c] * e[c] / S[3]
        for r in range(6):
            H[3, r] = H[r, 3]
        HP = ws.wide[0, : 6 * n].reshape(6, n)
        out = ws.internal[0, square : square + n * n].reshape(n, n)
        add_section_matrix(P, tree.rows[c0 : c0 + n], n, H, HP, out)
