"""Elasticity of concentric tubes: what it adds to the linear stiffness of their block (docs/theory.md, 20).

Over sections of the length l, L in the file, with the bending w and the twists t of all tubes in radians per section,

    U = sum k q^2/(2 l) - sum W B w . R(alpha) u*

k q^2 over all coordinates of strains, W the weight of a Gauss point, B the bending stiffness of a tube there, u* its
precurvature and alpha its angle from the tube that carries the frame. Here is U less sum k q^2/(2 L).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.compiled import by_reference, kernel_in_place, kernel_lazy
from sorosim.kernels.tree import BLOCK_COLUMN, BLOCK_N, SQUARE

# columns of TubeLaws.stretch: block, its first coordinate there, how many; how many move its ends; place in value and
# in columns. Values: length in the file, stiffness k of each coordinate [N m^2], what the length changes by each that
# moves an end; columns: of these
STRETCH_BLOCK, STRETCH_FIRST, STRETCH_N, STRETCH_ENDS, STRETCH_AT, STRETCH_INDEX = range(6)
# columns of TubeLaws.bend: block, first coordinate of bending, how many for each axis; on how many u* depends, and how
# many of these, the last ones, change u* in the axes of its tube; place in value and in columns. Values: W B u* (2),
# basis of bending, what alpha changes by each, what u* changes by each of the last ones: W B du*/dx (2), then dx;
# columns: of these
BEND_BLOCK, BEND_FIRST, BEND_N, BEND_ANGLES, BEND_SLIDES, BEND_AT, BEND_INDEX = range(7)
# columns of TubeLaws.damp: block, its first coordinate there, how many; on how many an angle depends; the row of
# `stretch` of its section; place in value and in columns. Values, of the file: damping of each coordinate, or where
# there is an angle W B^d/L, basis of bending, what alpha changes by each; columns: of these
DAMP_BLOCK, DAMP_FIRST, DAMP_N, DAMP_ANGLES, DAMP_SECTION, DAMP_AT, DAMP_INDEX = range(7)
# columns of TubeLaws.rotor: node, block, the row of `stretch` of its section; on how many coordinates its angle
# depends; place in value and in columns. Values: J in the file, what the angle changes by each; columns: of these
ROTOR_NODE, ROTOR_BLOCK, ROTOR_SECTION, ROTOR_ANGLES, ROTOR_AT, ROTOR_INDEX = range(6)


@by_reference
class TubeLaws(NamedTuple):
    """Concentric tubes: sections whose length changes, Gauss points of precurved tubes, and `kernels.tube_motion`."""

    stretch: np.ndarray  # (n, 6) int: columns named above
    bend: np.ndarray  # (n, 7) int: columns named above
    damp: np.ndarray  # (n, 7) int: columns named above
    rotor: np.ndarray  # (n, 6) int: columns named above
    value: np.ndarray  # flat
    columns: np.ndarray  # flat, int: coordinates of a block


@kernel_in_place
def section_length(tree, laws, k, q):
    """Length of a section; NaN where nothing is left of it."""
    row = laws.stretch[k]
    c0, at = tree.block[row[STRETCH_BLOCK], BLOCK_COLUMN], row[STRETCH_AT]
    rates, length = at + 1 + row[STRETCH_N], laws.value[at]
    for i in range(row[STRETCH_ENDS]):
        length += laws.value[rates + i] * q[c0 + laws.columns[row[STRETCH_INDEX] + i]]
    return length if length.real > 0.0 else length * np.nan


@kernel_in_place
def section_ratio(tree, laws, k, q):
    """Length of a section over that of the file."""
    return section_length(tree, laws, k, q) / laws.value[laws.stretch[k, STRETCH_AT]]


@kernel_in_place
def preferred_bending(tree, laws, k, q):
    """Bending w (2), W B R(alpha) u* (2) and, where u* changes along its tube, W B R(alpha) du*/dx (2)."""
    row = laws.bend[k]
    c0, at, n, slides = tree.block[row[BEND_BLOCK], BLOCK_COLUMN], row[BEND_AT], row[BEND_N], row[BEND_SLIDES]
    first, angles, index = c0 + row[BEND_FIRST], at + 2 + n, row[BEND_INDEX]
    w_y, w_z, alpha = 0.0 * q[0], 0.0 * q[0], 0.0 * q[0]
    for i in range(n):
        w_y += laws.value[at + 2 + i] * q[first + i]
        w_z += laws.value[at + 2 + i] * q[first + n + i]
    for i in range(row[BEND_ANGLES]):
        alpha += laws.value[angles + i] * q[c0 + laws.columns[index + i]]
    c, s, a, b = np.cos(alpha), np.sin(alpha), laws.value[at], laws.value[at + 1]
    if slides == 0:
        return w_y, w_z, c * a - s * b, s * a + c * b, 0.0 * c, 0.0 * c
    slope, last, x = angles + row[BEND_ANGLES], index + row[BEND_ANGLES] - slides, 0.0 * q[0]
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
        at, first = row[STRETCH_AT], tree.block[row[STRETCH_BLOCK], BLOCK_COLUMN] + row[STRETCH_FIRST]
        softer = 0.5 * (1.0 / section_length(tree, laws, k, q) - 1.0 / laws.value[at])
        for i in range(row[STRETCH_N]):
            energy += softer * laws.value[at + 1 + i] * q[first + i] * q[first + i]
    for k in range(laws.bend.shape[0]):
        w_y, w_z, e_y, e_z, _, _ = preferred_bending(tree, laws, k, q)
        energy -= w_y * e_y + w_z * e_z
    return energy


@kernel_in_place
def add_stretch(tree, laws, k, q, derivatives, ws, tau):
    """tau -= dU/dq of k q^2/2 (1/l - 1/L); if `derivatives` ws.internal[0] likewise."""
    row = laws.stretch[k]
    b, at, n, ends = row[STRETCH_BLOCK], row[STRETCH_AT], row[STRETCH_N], row[STRETCH_ENDS]
    c0, square, size = tree.block[b, BLOCK_COLUMN], tree.block[b, SQUARE], tree.block[b, BLOCK_N]
    length, rates, own = section_length(tree, laws, k, q), at + 1 + n, row[STRETCH_FIRST]
    softer, twice = 1.0 / length - 1.0 / laws.value[at], 0.0 * length
    for i in range(n):
        stiffness, x = laws.value[at + 1 + i], q[c0 + own + i]
        tau[c0 + own + i] -= softer * stiffness * x
        twice += stiffness * x * x
        if derivatives:
            ws.internal[0, square + (own + i) * (size + 1)] -= softer * stiffness
            for j in range(ends):
                e = laws.columns[row[STRETCH_INDEX] + j]
                slope = laws.value[rates + j] * stiffness * x / (length * length)
                ws.internal[0, square + (own + i) * size + e] += slope
                ws.internal[0, square + e * size + own + i] += slope
    for i in range(ends):
        e, rate = laws.columns[row[STRETCH_INDEX] + i], laws.value[rates + i] / (length * length)
        tau[c0 + e] += 0.5 * rate * twice
        if derivatives:
            for j in range(ends):
                other = laws.columns[row[STRETCH_INDEX] + j]
                ws.internal[0, square + e * size + other] -= rate * laws.value[rates + j] * twice / length


@kernel_in_place
def add_bend(tree, laws, k, q, derivatives, ws, tau):
    """tau += d/dq of W B w . R(alpha) u*; if `derivatives` ws.internal[0] likewise."""
    row = laws.bend[k]
    b, at, n, angles, index = row[BEND_BLOCK], row[BEND_AT], row[BEND_N], row[BEND_ANGLES], row[BEND_INDEX]
    c0, square, size = tree.block[b, BLOCK_COLUMN], tree.block[b, SQUARE], tree.block[b, BLOCK_N]
    w_y, w_z, e_y, e_z, f_y, f_z = preferred_bending(tree, laws, k, q)
    first, slopes, steady = row[BEND_FIRST], at + 2 + n, angles - row[BEND_SLIDES]
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
