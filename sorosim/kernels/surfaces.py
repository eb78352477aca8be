"""Surfaces as arrays, and the workspace of their contacts (docs/theory.md, 12).

A *core* is what a surface is a constant distance away from: a point or a segment, each with a radius, which varies
linearly between the ends of a segment; or an ellipsoid; or the disc at the flat end of a rod. Its ends sit on one node
or on two: then the segment is a piece of a rod, a cubic curve along its tangents there. It meets other cores, or
solids, which their signed distance describes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.compiled import by_reference

# forms of cores
POINT, SEGMENT, ELLIPSOID, DISC = range(4)
# what a core can meet: cores, planes, other open solids, closed ones
CORES, PLANES, OPEN, CLOSED = 1, 2, 4, 8
# columns of Surfaces.core: form, what it can meet, nodes of its two ends, whether both move with one body, offset of
# its values, the surface that it belongs to
FORM, MEETS, NODE_0, NODE_1, ONE_BODY, CORE_AT, CORE_SURFACE = range(7)
N_CORE = 7
# layout of its values: of a point and a segment the ends (3) and radii in the frames of their nodes, the square of its
# length at rest, where it begins and ends along its rod, its length times the lesser of length and radius; of an
# ellipsoid its centre, a radius around, the squares of its half axes as a matrix, and a point that is on its side of a
# sheet; of a disc its centre, its radius, whether it looks along x of its node (1) or against it (-1), and by how much
# its rim stays behind its centre; last, of a segment on two nodes its tangents there, as long as it is
END_0, RADIUS_0, END_1, RADIUS_1, SQUARE, ARC_0, ARC_1, DRAWN = 0, 3, 4, 7, 8, 9, 10, 11
AXES, INNER = 4, 13
OUTWARD, DOME = 4, 8
TANGENT_0, TANGENT_1 = 13, 16
N_CORE_VALUES = 19
# columns of Surfaces.solid: kind, node, offset of values, surface, which of the masks above it is, whether it is the
# flat end of a rod
SOLID_KIND, SOLID_NODE, SOLID_AT, SOLID_SURFACE, SOLID_CLASS, SOLID_OF_ROD = range(6)
N_SOLID = 6
# two flat ends that meet do so twice, each as a disc on the other as a solid: each presses by half
EACH_END = 0.5
# columns of Surfaces.group: ranges of its cores and solids, those of its first side before those of the second; whether
# there is a second; where what may not meet begins in `apart`, and its first surface and their number
CORES_A, CORES_B, CORES_END, SOLIDS_A, SOLIDS_B, SOLIDS_END, AMONG, APART, SURFACE_0, N_SURFACES = range(10)
N_GROUP = 10
# columns of Surfaces.law: force k h^p, length over which it sets in, damping of Hunt and Crossley, friction and its
# speed; whether only what is lost is wanted
LAW_K, LAW_P, LAW_ONSET, LAW_DAMPING, LAW_FRICTION, LAW_SLIP, LAW_DISSIPATIVE_ONLY = range(7)
N_LAW = 7

# columns of ContactWorkspace.entry and value
GROUP, CORE, OTHER, N_ENTRIES, ENTRY_NODE = range(5)
N_ENTRY = 8
AT_POINT, NORMAL, FORCE, SLIP, DISTANCE, PRESSURE, OF_LAW = 0, 3, 6, 9, 12, 13, 14
N_VALUE = 15
# rows of ContactWorkspace.left and right: force, moments by the arms on either side, weights along either segment
BY_FORCE, BY_ARM, BY_OTHER_ARM, BY_WEIGHT, BY_OTHER_WEIGHT = 0, 3, 6, 9, 10
N_ROWS, N_COLUMNS_OF_CONTACT = 11, 24
# ContactWorkspace.counts: contacts, how many of them have rows, whether there was no room for all, pairs that may
# touch; whether tangents are left out; how many contacts stuck before; whether it is statics
ACTIVE, LINKED, OVERFLOW, PAIRS, NO_TANGENTS, N_STUCK, AT_REST = range(7)
# ContactWorkspace.flag: entries, the first of the other side, whether sides are two nodes, and inside their segments;
# the form
N_HERE, FIRST_B, TWO_A, TWO_B, IN_A, IN_B, IS_SOLID, FORM_HERE = range(8)
# ContactWorkspace.number: places on segments, gap, distance of the axes, second derivatives by places, how the
# middles draw, radius and its slope; the law, and by which part it presses; the length of the normal
LA, MB, GAP, AXIAL, HAA, HAB, HBB, REG_A, REG_B, R_A, SLOPE_A = range(11)
PRESSED, BY_DEPTH, BY_RATE, CLOSING, CHI, FRICTION, SHARE, SIZE = range(11, 19)
N_NUMBER = 19
# rows of ContactWorkspace.vectors: vectors of the contact under way
(
    A_0, A_1, B_0, B_1, T_A, T_B, X_A, X_B, N, E, U, U_T, F, ARM_A, ARM_B, W_A, W_B, D_A, D_B,
) = range(19)  # fmt: skip
H_ROWS, SOLID_POSE, STUCK = 19, 22, 26
# rows of two each: tangents at the ends of the segments, and these without the vectors between the ends
TANGENTS_A, TANGENTS_B, BENDS_A, BENDS_B = 27, 29, 31, 33
N_VECTORS = 35
# of a disc in their place: how its nearest point slides as the normal turns (3 rows); two axes across, and outwards
SLIDE, DISC_AXES = 27, 31
# and of ContactWorkspace.entries: points times weights, their velocities, angular velocities of their nodes; by how
# much points and velocities change along the segment
P, V, W, P_ALONG, V_ALONG = 0, 4, 8, 12, 16
N_ENTRIES_ROWS = 20
# rows of ContactWorkspace.weights: weights, and how they change along the segment
WEIGHT, WEIGHT_ALONG = 0, 1

# capacity for pairs that may touch, per contact
PAIRS_EACH = 8


@by_reference
class Surfaces(NamedTuple):
    """All surfaces of a robot that may touch something, by groups with one law."""

    core: np.ndarray  # (n_cores, 7) int
    value: np.ndarray  # flat
    solid: np.ndarray  # (n_solids, 6) int
    frame: np.ndarray  # (n_solids, 4, 3) poses on nodes
    extent: np.ndarray  # (n_solids, 4) centre in its frame and radius of a bounding sphere, infinite if it has none
    group: np.ndarray  # (n_groups, 10) int
    law: np.ndarray  # (n_groups, 7)
    apart: np.ndarray  # flat int: whether two surfaces of a group cannot meet


@by_reference
class ContactWorkspace(NamedTuple):
    """Contacts of an evaluation, and its scratch."""

    counts: np.ndarray  # (7,) int
    reach: np.ndarray  # (1,) largest gap that is searched
    nearest: np.ndarray  # (n_groups,) smallest gap within reach
    entry: np.ndarray  # (cap, 8) int
    value: np.ndarray  # (cap, 15)
    linked: np.ndarray  # (cap,) int: which contacts have rows
    left: np.ndarray  # (cap, 11, 24) how the nodes of the contact move what its rows are about
    right: np.ndarray  # (cap, 11, 24) how these rows change with the nodes
    rate: np.ndarray  # (cap, 3, 3) how the force changes with the relative velocity
    flag: np.ndarray  # (8,) int
    number: np.ndarray  # (19,)
    vectors: np.ndarray  # (35, 3)
    entries: np.ndarray  # (20, 3)
    weights: np.ndarray  # (2, 4) of the entries
    wide: np.ndarray  # (4, 6, 6)
    columns: np.ndarray  # (5, 24 ndof) world columns of the entries, and products of rows
    member: np.ndarray  # (2, ndof) int
    pair: np.ndarray  # (n, 3) int: group, core and what it may touch, see ContactWorkspace.entry
    stuck: np.ndarray  # (cap, 3) int: contacts that stuck before, as `pair`
    stuck_slip: np.ndarray  # (cap, 3) what is added to their velocity of sliding
    sphere: np.ndarray  # (n_elements, 4) centre and radius of the bounding sphere of each
    cell: np.ndarray  # (n_elements, 3) int
    bucket: np.ndarray  # (n_buckets + 2,) int
    order: np.ndarray  # (n_elements,) int


def make_contact_workspace(surfaces: Surfaces, ndof: int, capacity: int) -> ContactWorkspace:
    """Allocate for up to `capacity` contacts."""
    n = int((surfaces.group[:, [CORES_END, SOLIDS_END]] - surfaces.group[:, [CORES_A, SOLIDS_A]]).sum(1).max(initial=0))
    size = capacity if n else 0
    buckets = 1 << max(2 * n - 1, 1).bit_length() if n else 0
    integers, columns = np.int64, (ndof if n else 0)
    return ContactWorkspace(
        np.zeros(7, dtype=integers), np.zeros(1), np.zeros(len(surfaces.group)),
        np.zeros((size, N_ENTRY), dtype=integers), np.zeros((size, N_VALUE)), np.zeros(size, dtype=integers),
        np.zeros((size, N_ROWS, N_COLUMNS_OF_CONTACT)), np.zeros((size, N_ROWS, N_COLUMNS_OF_CONTACT)),
        np.zeros((size, 3, 3)), np.zeros(8, dtype=integers), np.zeros(N_NUMBER), np.zeros((N_VECTORS, 3)),
        np.zeros((N_ENTRIES_ROWS, 3)), np.zeros((2, 4)), np.zeros((4, 6, 6)),
        np.zeros((5, N_COLUMNS_OF_CONTACT * columns)),
        np.zeros((2, columns), dtype=integers), np.zeros((PAIRS_EACH * size, 3), dtype=integers),
        np.zeros((size, 3), dtype=integers), np.zeros((size, 3)), np.zeros((n, 4)), np.zeros((n, 3), dtype=integers),
        np.zeros(buckets + 2, dtype=integers), np.zeros(n, dtype=integers),
    )  # fmt: skip
