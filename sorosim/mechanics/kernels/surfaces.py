"""Surfaces as arrays, and the workspace of their contacts (docs/theory.md, 12).

A *core* is what a surface is a constant distance away from: a point or a segment, each with a radius, which varies
linearly between the ends of a segment; or a smooth convex body; or the disc at the flat end of a rod. Its ends sit on
one node or on two: then the segment is a piece of a rod, a cubic curve along its tangents there. It meets other cores,
or solids, which their signed distance describes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, one_record, record

# forms of cores
POINT, SEGMENT, CONVEX, DISC = range(4)
# what a core can meet: cores, planes, other open solids, closed ones with faces, smooth convex ones
CORES, PLANES, OPEN, CLOSED, CURVED = 1, 2, 4, 8, 16
CORE = record(
    form=int,
    meets=int,  # what it can meet
    node=(int, (2,)),  # of its two ends
    one_body=int,  # whether both move with one body
    at=int,  # where its numbers begin in `Surfaces.value`
    surface=int,  # that it belongs to
)
# layout of its values: of a point and a segment the ends (3) and radii in the frames of their nodes, the square of its
# length at rest, where it begins and ends along its rod, its length times the lesser of length and radius; of a
# smooth body its centre, a radius around, its axes as columns, its numbers (kernels.convex), a point on its side of a
# sheet, and its least radius of curvature; of a disc its centre, its radius, whether it looks along x of its node
# (1) or against it (-1), and by how much its rim stays behind its centre; last, of a segment on two nodes its tangents
# there, as long as it is
END_0, RADIUS_0, END_1, RADIUS_1, SQUARE, ARC_0, ARC_1, DRAWN = 0, 3, 4, 7, 8, 9, 10, 11
AXES, SHAPE, INNER, BENT = 4, 13, 19, 22
OUTWARD, DOME = 4, 8
TANGENT_0, TANGENT_1 = 13, 16
N_CORE_VALUES = 23
SOLID = record(
    kind=int,
    node=int,
    at=int,  # where its numbers begin in `Surfaces.value`
    surface=int,  # that it belongs to
    meets=int,  # which of the masks above it is
    of_rod=int,  # whether it is the flat end of a rod
)
# two flat ends that meet do so twice, each as a disc on the other as a solid: each presses by half
EACH_END = 0.5
GROUP = record(
    cores_a=int,  # first core of its first side, of the second one, and the end
    cores_b=int,
    cores_end=int,
    solids_a=int,
    solids_b=int,
    solids_end=int,
    among=int,  # whether there is no second side
    apart=int,  # where what may not meet begins in `Surfaces.apart`
    first_surface=int,
    n_surfaces=int,
)
CONTACT_LAW = record(
    stiffness=float,  # force k h^p
    power=float,
    onset=float,  # length over which it sets in
    damping=float,  # of Hunt and Crossley
    friction=float,
    slip=float,  # speed of friction
    dissipative_only=float,  # whether only what is lost is wanted
)

PAIR = record(
    group=int,
    core=int,
    other=int,  # core, or -1 - solid
)
ENTRY = record(group=int, core=int, other=int, n=int, node=(int, (4,)))
CONTACT = record(
    point=(float, (3,)),
    normal=(float, (3,)),
    force=(float, (3,)),
    slip=(float, (3,)),
    distance=float,
    pressure=float,
    share=float,  # of the law
)
# rows of the coupling of a contact: force, moments by the arms on either side, weights along either segment
BY_FORCE, BY_ARM, BY_OTHER_ARM, BY_WEIGHT, BY_OTHER_WEIGHT = 0, 3, 6, 9, 10
N_ROWS = 11
COUNTS = record(
    active=int,  # contacts
    overflow=int,  # whether there was no room for all
    pairs=int,  # that may touch
    no_tangents=int,
    n_stuck=int,  # contacts that stuck before
    at_rest=int,  # whether it is statics
)
HERE = record(  # the contact under way
    n=int,  # entries
    first_b=int,  # first of the other side
    two_a=int,  # whether sides are two nodes
    two_b=int,
    in_a=int,  # whether places are inside their segments
    in_b=int,
    is_solid=int,
    form=int,
    la=float,  # places on segments
    mb=float,
    gap=float,
    axial=float,  # distance of the axes
    haa=float,  # second derivatives by places
    hab=float,
    hbb=float,
    reg_a=float,  # how the middles draw
    reg_b=float,
    r_a=float,
    slope_a=float,  # of the radius
    normal_force=float,  # over the length of `normal`; its derivatives by depth and by the rate of approach
    by_depth=float,
    by_rate=float,
    approach=float,  # rate -n.u
    chi=float,  # 1/sqrt(|u_t|^2 + v_s^2)
    friction=float,  # coefficient mu
    share=float,  # by which part it presses
    normal_length=float,
    ends_a=(float, (2, 3)),
    ends_b=(float, (2, 3)),
    t_a=(float, (3,)),
    t_b=(float, (3,)),
    x_a=(float, (3,)),
    x_b=(float, (3,)),
    normal=(float, (3,)),
    e=(float, (3,)),
    u=(float, (3,)),  # relative velocity, and its part along the surface
    u_t=(float, (3,)),
    force=(float, (3,)),
    arm_a=(float, (3,)),
    arm_b=(float, (3,)),
    w_a=(float, (3,)),  # angular velocities of both sides
    w_b=(float, (3,)),
    d_a=(float, (3,)),  # how the velocity changes along the segments
    d_b=(float, (3,)),
    h=(float, (3, 3)),  # how the normal changes with the place
    solid_pose=(float, (4, 3)),
    stuck=(float, (3,)),
    tangents_a=(float, (2, 3)),  # at the ends of the segments
    tangents_b=(float, (2, 3)),
    bends_a=(float, (2, 3)),  # these without the vectors between the ends
    bends_b=(float, (2, 3)),
    slide=(float, (3, 3)),  # of a disc or a smooth body: how its nearest point slides as the normal turns
    disc_axes=(float, (3, 3)),  # two axes across, and outwards
    # of entries: points times weights, their velocities, angular velocities of their nodes; how these, and weights,
    # change along the segment
    p=(float, (4, 3)),
    v=(float, (4, 3)),
    w=(float, (4, 3)),
    p_along=(float, (4, 3)),
    v_along=(float, (4, 3)),
    weight=(float, (4,)),
    weight_along=(float, (4,)),
)

# capacity for pairs that may touch, per contact
PAIRS_EACH = 8


@by_reference
class Surfaces(NamedTuple):
    """All surfaces of a robot that may touch something, by groups with one law."""

    core: np.ndarray  # (n_cores,) CORE
    value: np.ndarray  # flat
    solid: np.ndarray  # (n_solids,) SOLID
    frame: np.ndarray  # (n_solids, 4, 3) poses on nodes
    extent: np.ndarray  # (n_solids, 4) centre in its frame and radius of a bounding sphere, infinite if it has none
    group: np.ndarray  # (n_groups,) GROUP
    law: np.ndarray  # (n_groups,) CONTACT_LAW
    apart: np.ndarray  # flat int8: whether two surfaces of a group cannot meet


@by_reference
class ContactWorkspace(NamedTuple):
    """Contacts of an evaluation, and its scratch."""

    counts: np.ndarray  # () COUNTS
    reach: np.ndarray  # (1,) largest gap that is searched
    nearest: np.ndarray  # (n_groups,) smallest gap within reach
    entry: np.ndarray  # (cap,) ENTRY
    value: np.ndarray  # (cap,) CONTACT
    here: np.ndarray  # () HERE
    wide: np.ndarray  # (4, 6, 6)
    pair: np.ndarray  # (n,) PAIR: those that may touch
    stuck: np.ndarray  # (cap,) PAIR: contacts that stuck before
    stuck_slip: np.ndarray  # (cap, 3) what is added to their velocity of sliding
    sphere: np.ndarray  # (n_elements, 4) centre and radius of the bounding sphere of each
    capsule: np.ndarray  # (n_elements, 7) begin, vector to the end and radius of one around each
    edge: np.ndarray  # (3,) of a cell
    cell: np.ndarray  # (n_elements, 3) int
    bucket: np.ndarray  # (n_buckets + 2,) int
    order: np.ndarray  # (n_elements,) int


def make_contact_workspace(surfaces: Surfaces, capacity: int) -> ContactWorkspace:
    """Allocate for up to `capacity` contacts."""
    group = surfaces.group
    n_cores, n_solids = group["cores_end"] - group["cores_a"], group["solids_end"] - group["solids_a"]
    n = int((n_cores + n_solids).max(initial=0))
    size = capacity if n else 0
    buckets = 1 << max(2 * n - 1, 1).bit_length() if n else 0
    integers = np.int64
    return ContactWorkspace(
        one_record(COUNTS), np.zeros(1), np.zeros(len(group)), np.zeros(size, dtype=ENTRY),
        np.zeros(size, dtype=CONTACT), one_record(HERE), np.zeros((4, 6, 6)), np.zeros(PAIRS_EACH * size, dtype=PAIR),
        np.zeros(size, dtype=PAIR), np.zeros((size, 3)), np.zeros((n, 4)), np.zeros((n, 7)), np.zeros(3),
        np.zeros((n, 3), dtype=integers),
        np.zeros(buckets + 2, dtype=integers), np.zeros(n, dtype=integers),
    )  # fmt: skip
