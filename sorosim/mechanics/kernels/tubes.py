"""Elasticity of concentric tubes: what it adds to the linear stiffness of their block (docs/theory.md, 20).

Over sections of the length l, L in the file, with the bending w and the twists t of all tubes in radians per section,

    U = sum k q^2/(2 l) - sum W B w . R(alpha) u*

k q^2 over all coordinates of strains, W the weight of a Gauss point, B the bending stiffness of a tube there, u* its
precurvature and alpha its angle from the tube that carries the frame. Here is U less sum k q^2/(2 L).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, kernel_in_place, kernel_lazy, record

# at, index: where their numbers begin in `TubeLaws.value`, and their coordinates in `TubeLaws.columns`
STRETCH = record(
    block=int,
    first=int,  # first coordinate in the block
    n=int,
    n_ends=int,  # coordinates that move its ends
    at=int,  # length in the file, stiffness k of each coordinate [N m^2], change of the length by each of n_ends
    index=int,
)
BENDING = record(
    block=int,
    first=int,  # first coordinate of bending
    n=int,  # coordinates of bending about each axis
    n_angles=int,  # coordinates that u* depends on
    n_slides=int,  # the last of these, which change u* in the axes of its tube
    at=int,  # W B u* (2), basis of bending, what alpha changes by each, what u* by each of the last: W B du*/dx (2), dx
    index=int,
)
TUBE_DAMPING = record(
    block=int,
    first=int,  # first coordinate in the block
    n=int,
    n_angles=int,  # coordinates that an angle depends on
    section=int,  # row of its section in `TubeLaws.stretch`
    at=int,  # damping of each coordinate; where there is an angle W B^d/L, basis of bending, change of alpha by each
    index=int,
)
ROTOR = record(
    node=int,
    block=int,
    section=int,  # row of its section in `TubeLaws.stretch`
    n_angles=int,  # coordinates that its angle depends on
    at=int,  # J in the file, what the angle changes by each
    index=int,
)


@by_reference
class TubeLaws(NamedTuple):
    """Concentric tubes: sections whose length changes, Gauss points of precurved tubes, and `kernels.tube_motion`."""

    stretch: np.ndarray  # (n,) STRETCH
    bend: np.ndarray  # (n,) BENDING
    damp: np.ndarray  # (n,) TUBE_DAMPING
    rotor: np.ndarray  # (n,) ROTOR
    value: np.ndarray  # flat
    columns: np.ndarray  # flat, int: coordinates of a block


@kernel_in_place
def section_length(tree, laws, k, q):
    """Length of a section; NaN where nothing is left of it."""
    row = laws.stretch[k]
    c0, at = tree.block[row.block].column, row.at
    rates, length = at + 1 + row.n, laws.value[at]
    for i in range(row.n_ends):
        length += laws.value[rates + i] * q[c0 + laws.columns[row.index + i]]
    return length if length.real > 0.0 else length * np.nan


@kernel_in_place
def section_ratio(tree, laws, k, q):
    """Length of a section over that of the file."""
    return section_length(tree, laws, k, q) / laws.value[laws.stretch[k].at]


@kernel_in_place
def preferred_bending(tree, laws, k, q):
    """Bending w (2), W B R(alpha) u* (2) and, where u* changes along its tube, W B R(alpha) du*/dx (2)."""
    row = laws.bend[k]
    c0, at, n, slides = tree.block[row.block].column, row.at, row.n, row.n_slides
    first, angles, index = c0 + row.first, at + 2 + n, row.index
    w_y, w_z, alpha = 0.0 * q[0], 0.0 * q[0], 0.0 * q[0]
    for i in range(n):
        w_y += laws.value[at + 2 + i] * q[first + i]
        w_z += laws.value[at + 2 + i] * q[first + n + i]
    for i in range(row.n_angles):
        alpha += laws.value[angles + i] * q[c0 + laws.columns[index + i]]
    c, s, a, b = np.cos(alpha), np.sin(alpha), laws.value[at], laws.value[at + 1]
    if slides == 0:
        return w_y, w_z, c * a - s * b, s * a + c * b, 0.0 * c, 0.0 * c
    slope, last, x = angles + row.n_angles, index + row.n_angles - slides, 0.0 * q[0]
    a_x, b_x = laws.value[slope], laws.value[slope + 1]
    for i in range(slides):
        x += laws.value[slope + 2 + i] * q[c0 + laws.columns[last + i]]
    a, b = a + x * a_x, b + x * b_x
    return w_y, w_z, c * a - s * b, s * a + c * b, c * a_x - s * b_x, s * a_x + c * b_x


@kernel_in_place
def tube_energy(tree, laws, q):
    """What the laws add to the elastic energy [J]."""
    energy = 0.0 * q[0] if q.shape[0] > 0 else 0.0
    for k in range(laws.stretch.shape[0]):
        row = laws.stretch[k]
        at, first = row.at, tree.block[row.block].column + row.first
        softer = 0.5 * (1.0 / section_length(tree, laws, k, q) - 1.0 / laws.value[at])
        for i in range(row.n):
            energy += softer * laws.value[at + 1 + i] * q[first + i] * q[first + i]
    for k in range(laws.bend.shape[0]):
        w_y, w_z, e_y, e_z, _, _ = preferred_bending(tree, laws, k, q)
        energy -= w_y * e_y + w_z * e_z
    return energy


@kernel_in_place
def add_stretch(tree, laws, k, q, derivatives, ws, tau):
    """tau -= dU/dq of k q^2/2 (1/l - 1/L); if `derivatives` ws.internal[0] likewise."""
    row = laws.stretch[k]
    b, at, n, ends = row.block, row.at, row.n, row.n_ends
    c0, square, size = tree.block[b].column, tree.block[b].square, tree.block[b].n
    length, rates, own = section_length(tree, laws, k, q), at + 1 + n, row.first
    softer, twice = 1.0 / length - 1.0 / laws.value[at], 0.0 * length
    for i in range(n):
        stiffness, x = laws.value[at + 1 + i], q[c0 + own + i]
        tau[c0 + own + i] -= softer * stiffness * x
        twice += stiffness * x * x
        if derivatives:
            ws.internal[0, square + (own + i) * (size + 1)] -= softer * stiffness
            for j in range(ends):
                e = laws.columns[row.index + j]
                slope = laws.value[rates + j] * stiffness * x / (length * length)
                ws.internal[0, square + (own + i) * size + e] += slope
                ws.internal[0, square + e * size + own + i] += slope
    for i in range(ends):
        e, rate = laws.columns[row.index + i], laws.value[rates + i] / (length * length)
        tau[c0 + e] += 0.5 * rate * twice
        if derivatives:
            for j in range(ends):
                other = laws.columns[row.index + j]
                ws.internal[0, square + e * size + other] -= rate * laws.value[rates + j] * twice / length


@kernel_in_place
def add_bend(tree, laws, k, q, derivatives, ws, tau):
    """tau += d/dq of W B w . R(alpha) u*; if `derivatives` ws.internal[0] likewise."""
    row = laws.bend[k]
    b, at, n, angles, index = row.block, row.at, row.n, row.n_angles, row.index
    c0, square, size = tree.block[b].column, tree.block[b].square, tree.block[b].n
    w_y, w_z, e_y, e_z, f_y, f_z = preferred_bending(tree, laws, k, q)
    first, slopes, steady = row.first, at + 2 + n, angles - row.n_slides
    slides = slopes + angles + 2 - steady  # where dx by coordinate i stands, from `steady` on
    moment, energy = w_z * e_y - w_y * e_z, w_y * e_y + w_z * e_z
    stored, turning = w_y * f_y + w_z * f_z, w_z * f_y - w_y * f_z
    for i in range(n):
        phi = laws.value[at + 2 + i]
        y, z = first + i, first + n + i
        tau[c0 + y] += phi * e_y
        tau[c0 + z] += phi * e_z
        if derivatives:
            for j in range(angles):
                a, slope = laws.columns[index + j], phi * laws.value[slopes + j]
                along = phi * laws.value[slides + j] if j >= steady else 0.0 * slope
                by_y, by_z = along * f_y - slope * e_z, along * f_z + slope * e_y
                ws.internal[0, square + y * size + a] += by_y
                ws.internal[0, square + a * size + y] += by_y
                ws.internal[0, square + z * size + a] += by_z
                ws.internal[0, square + a * size + z] += by_z
    for i in range(angles):
        a, slope = laws.columns[index + i], laws.value[slopes + i]
        along = laws.value[slides + i] if i >= steady else 0.0 * slope
        tau[c0 + a] += slope * moment + along * stored
        if derivatives:
            for j in range(angles):
                other = laws.value[slopes + j]
                both = along * other
                if j >= steady:
                    both += slope * laws.value[slides + j]
                second = both * turning - slope * other * energy
                ws.internal[0, square + a * size + laws.columns[index + j]] += second


@kernel_lazy("tubes")
def tube_forces(tree, laws, q, derivatives, ws, tau) -> None:
    """tau (ndof,) -= dU/dq of the laws; if `derivatives` those of tau in ws.internal[0] likewise."""
    for k in range(laws.stretch.shape[0]):
        add_stretch(tree, laws, k, q, derivatives, ws, tau)
    for k in range(laws.bend.shape[0]):
        add_bend(tree, laws, k, q, derivatives, ws, tau)
