"""The tree of segments as flat arrays, and the workspace of its sweeps.

Everything that moves is a segment (docs/theory.md, 2). A *block* is a chain of segments driven by the same coordinates:
a rigid joint is a block of one segment, a rod (or one division of it) a block with one segment between neighbouring
points. A *node* is the frame where a segment ends; node k ends segment k. Parents come before their children. Index -1
as a parent is the world: arrays over nodes have one row more, so that row -1 is the world's.

A rod of finite elements is one block, in which a coordinate moves few segments. Its segments between two breakpoints
are a *span*: one set of coordinates, its *local* ones, moves them. Every other block is one span.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, kernel_in_place, kernel_inline, record

SEGMENT = record(
    parent=int,  # node where it starts
    block=int,
    column=int,  # first coordinate of its block
    n=int,  # coordinates of its block
    kind=int,  # FIXED, COMMUTING or GENERAL
    strain=int,  # where its data begin in `Tree.strain`
    work=int,  # where the columns of its Jacobian begin in `Workspace.column`
    offset=int,  # whether a fixed transform comes before it
    massless_end=int,  # whether nothing has mass at its node, and nothing hangs on it
    rigid=int,  # whether the inertia at its node is that of a rigid body, or FLOWING
    local=int,  # where the coordinates of its span begin in `Tree.local`; -1: they are all of the block
    n_local=int,
)
BLOCK = record(
    first=int,  # segment
    end=int,  # the segment after the last one
    column=int,  # first coordinate
    n=int,  # coordinates
    parent=int,  # node where it starts
    n_before=int,  # coordinates of the blocks on the way from the world
    square=int,  # where its own n^2 numbers begin in arrays of one matrix a block, such as `Elastic.stiffness`
    is_local=int,  # whether it has more spans than one
    armature=int,  # where that of its coordinates (n,) begins in `Tree.strain`; -1: none
)
FLOWING_NODE = record(node=int, at=int)  # at: where its data begin in `Tree.flow`
INSERTED_NODE = record(
    node=int,
    n=int,  # insertions that its tubes have
    at=int,  # where its data begin in `Tree.flow`
    index=int,  # where its coordinates begin in `Tree.local`: those of insertions, and the first one of twist
)
# A node of a rod whose length is a coordinate has RIGID = FLOWING: its inertia is that at the length of the file, and
# `kernels.flow` sees to it.
FLOWING = 2
# kinds of segment: no motion; motions that commute, along constant screws (no tangent operator needed); anything else
FIXED, COMMUTING, GENERAL = range(3)
# layout of one segment in Tree.strain
LENGTH, MAGNUS, REFERENCE, BASIS = 0, 1, 2, 14
# layout of a flowing node in Tree.flow: length of the file, rate c of the material at the node by that of the length,
# xi* (6), P (n, 6) and dP/dX (n, 6) there. The length is the first coordinate of its block
FLOW_LENGTH, FLOW_RATE, FLOW_REFERENCE, FLOW_BASIS = 0, 1, 2, 8
# layout of a node of tubes there: length of its section in the file, the mass of all tubes, the basis (3) of twist and
# bending, the rate of the length by each insertion, and that of the innermost tube's material past the node
SECTION_LENGTH, SECTION_MASS, SECTION_BASIS, SECTION_RATES = 0, 1, 2, 5
# further rows of Workspace.twist at both, of the material there: V, A - G, its tangent W by X, F, and, as the first
# number of the last row, lambda: by how much longer the rod is than in the file. Tubes have the first and the last
MATERIAL_TWIST, MATERIAL_ACCELERATION, TANGENT, MATERIAL_WRENCH, LENGTH_RATIO = range(3, 8)


@by_reference
class Tree(NamedTuple):
    """Tree of segments as arrays."""

    segment: np.ndarray  # (n_segments,) SEGMENT
    block: np.ndarray  # (n_blocks,) BLOCK
    rows: np.ndarray  # (ndof, 2) int: rows of a coordinate's basis column that can differ from zero, first and end
    offset: np.ndarray  # (n_segments, 4, 4) fixed transform from the parent node to the start of the segment
    inertia: np.ndarray  # (n_segments, 6, 6) inertia at the node, body frame, quadrature weight included
    strain: np.ndarray  # flat, per segment: h, c, xi*_1 (6), xi*_2 (6), P_1 (n, 6), P_2 (n, 6); then of rotors
    local: np.ndarray  # flat, per span, then per node of tubes: coordinates, counted in the block
    flow_node: np.ndarray  # (n_flowing,) FLOWING_NODE: nodes with mass of rods whose length is a coordinate
    inserted: np.ndarray  # (n_inserted,) INSERTED_NODE: nodes with mass of concentric tubes
    flow: np.ndarray  # flat: layouts named above


@by_reference
class Workspace(NamedTuple):
    """What the sweeps of one tree leave behind and share; one per thread.

    Ten arrays are the limit: with eleven, load laws took three times as long (measured; the cause is not known).
    """

    pose: np.ndarray  # (n + 1, 4, 3) per node: rotation (3 rows) and position, world frame
    twist: np.ndarray  # (n + 1, 3, 6) per node: V, A - G, F, world frame; (n + 1, 8, 6) with flowing nodes or tubes
    tensor: np.ndarray  # (n + 1, 3, 6, 6) per node: M, N - D_w, K_w, world frame
    column: np.ndarray  # (4, 6 n_columns) per segment (6, n_i): S_w, and J, J', J'' of its block at its node
    segment: np.ndarray  # (n, 46) per segment: Omega, xi_1, xi_2 (6 each), C_0..C_9, T as a dual matrix (2, 3, 3)
    wide: np.ndarray  # (10, 6 n_max) scratch of one block; (30, 6 n_max) if one has several spans
    scratch: np.ndarray  # (24, 6, 6) scratch of one segment
    vector: np.ndarray  # (24, ndof) forces in forward dynamics, then all ancestors of a block, see kernels.ancestors
    place: np.ndarray  # (2, ndof) int: nodes and coordinates of these ancestors
    internal: np.ndarray  # (2, sum n_i^2) derivatives of internal forces by q and qd, a matrix (n_i, n_i) a block


def make_workspace(tree: Tree) -> Workspace:
    """Allocate the workspace of a tree."""
    n, ndof = tree.segment.shape[0], tree.rows.shape[0]
    n_columns = int(tree.segment["n"].sum())
    n_max = int(tree.block["n"].max(initial=1))
    kind = tree.strain.dtype
    pose = np.zeros((n + 1, 4, 3), dtype=kind)
    pose[-1, :3] = np.eye(3)
    return Workspace(
        pose=pose,
        twist=np.zeros((n + 1, 8 if len(tree.flow_node) or len(tree.inserted) else 3, 6), dtype=kind),
        tensor=np.zeros((n + 1, 3, 6, 6), dtype=kind),
        column=np.zeros((4, 6 * max(n_columns, 1)), dtype=kind),
        segment=np.zeros((max(n, 1), 46), dtype=kind),
        wide=np.zeros((30 if tree.block["is_local"].any() else 10, 6 * max(n_max, 1)), dtype=kind),
        scratch=np.zeros((24, 6, 6), dtype=kind),
        vector=np.zeros((24, ndof), dtype=kind),
        place=np.zeros((2, ndof), dtype=np.int64),
        internal=np.zeros((2, int((tree.block["n"] ** 2).sum())), dtype=kind),
    )


@kernel_inline
def base_of(tree, node):
    """The node where the block of a node starts; -1: the world."""
    return tree.block[tree.segment[node].block].parent


@kernel_in_place
def add_armature_forces(tree, x, out):
    """out (ndof,) += I x, I the armature of coordinates."""
    for b in range(tree.block.shape[0]):
        at, c0 = tree.block[b].armature, tree.block[b].column
        if at >= 0:
            for i in range(tree.block[b].n):
                out[c0 + i] += tree.strain[at + i] * x[c0 + i]


@kernel_in_place
def add_armature(tree, b, scale, out):
    """The diagonal of out (n, n) += scale I, I the armature of the coordinates of block b."""
    at = tree.block[b].armature
    if at >= 0:
        for i in range(tree.block[b].n):
            out[i, i] += scale * tree.strain[at + i]


@kernel_inline
def add_strains(tree, at, n, first, local, n_local, q, x_1, x_2):
    """x_a += P_a q at the two collocation points of the segment whose data start at tree.strain[at]; x_a (6,).

    local, n_local : as of the segment, see LOCAL.
    """
    at_1 = at + BASIS
    at_2 = at_1 + 6 * n
    for i in range(n_local):
        j = i if local < 0 else tree.local[local + i]
        value = q[first + j]
        for r in range(tree.rows[first + j, 0], tree.rows[first + j, 1]):
            x_1[r] += tree.strain[at_1 + 6 * j + r] * value
            x_2[r] += tree.strain[at_2 + 6 * j + r] * value
