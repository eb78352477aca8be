"""Contacts of all surfaces: broad phase, forces, and their part of the derivatives (docs/theory.md, 12)."""

from __future__ import annotations

from math import floor, inf, pi, sqrt

from sorosim.base.compiled import kernel_in_place, kernel_inline, kernel_lazy
from sorosim.mechanics.kernels import surfaces as sf
from sorosim.mechanics.kernels.contact_forces import evaluate_pair
from sorosim.mechanics.kernels.convex import N_SHAPE
from sorosim.mechanics.kernels.small import into_world
from sorosim.mechanics.kernels.solids import END_ARC
from sorosim.mechanics.lie.triples import dot, head, rows, sum2, sum3, times

# up to so many elements all pairs are tested
BRUTE_FORCE = 24
# spheres larger than this times the mean are not sorted into cells
OVERSIZED = 3.0


@kernel_in_place
def bounding_spheres(surfaces, group, ws, contact):
    """A sphere and a capsule around each core and solid of a group, the cores first.

    Returns their number and that of the cores.
    """
    row = surfaces.group[group]
    n_cores, a, b = row.cores_end - row.cores_a, contact.here.ends_a[0], contact.here.ends_b[0]
    for i in range(n_cores):
        core, sphere = surfaces.core[row.cores_a + i], contact.sphere[i]
        at = core.at
        into_world(ws.pose[core.node[0]], surfaces.value[at : at + 3], a)
        sphere[3] = surfaces.value[at + sf.RADIUS_0]
        capsule, off = contact.capsule[i], 0.0
        for r in range(3):
            sphere[r] = capsule[r] = a[r]
            capsule[3 + r] = 0.0
        if core.form == sf.SEGMENT:
            into_world(ws.pose[core.node[1]], surfaces.value[at + sf.END_1 : at + sf.END_1 + 3], b)
            square = 0.0
            for r in range(3):
                sphere[r] = 0.5 * (a[r] + b[r])
                square += 0.25 * (a[r] - b[r]) ** 2
                capsule[3 + r] = b[r] - a[r]
            if core.one_body == 0:
                # a cubic is inside the hull of its ends and of points a third of its tangents ahead of them, which are
                # as far off the chord at most as off its thirds
                for end in range(2):
                    tangent = head(surfaces.value[at + sf.TANGENT_0 + 3 * end :])
                    ahead = times(rows(ws.pose[core.node[end]]), tangent)
                    sign, begin = (1.0, head(a)) if end == 0 else (-1.0, head(b))
                    control = sum3(1.0, begin, sign / 3.0, ahead, -1.0, head(sphere))
                    square = max(square, dot(control, control))
                    aside = sum2(1.0 / 3.0, ahead, -1.0 / 3.0, head(capsule[3:]))
                    off = max(off, dot(aside, aside))
            capsule[6] = max(sphere[3], surfaces.value[at + sf.RADIUS_1]) + sqrt(off)
            sphere[3] = max(sphere[3], surfaces.value[at + sf.RADIUS_1]) + sqrt(square)
        else:
            capsule[6] = sphere[3]
    n = n_cores
    for k in range(row.solids_a, row.solids_end):
        sphere, extent, frame = contact.sphere[n], surfaces.extent[k], surfaces.frame[k]
        sphere[3] = extent[3]
        into_world(frame, extent[:3], a)
        into_world(ws.pose[surfaces.solid[k].node], a, b)
        for r in range(3):
            sphere[r] = contact.capsule[n, r] = b[r]
            contact.capsule[n, 3 + r] = 0.0
        contact.capsule[n, 6] = sphere[3]
        n += 1
    return n, n_cores


@kernel_in_place
def are_near(a, b, reach):
    """Whether two capsules may be no farther apart than `reach`.

    Of their segments x + s u, y + t v the place s that is nearest to the line of the other, clipped, then the best t,
    clipped, and the best s for that; the last term is rounding of segments that are nearly parallel.
    """
    u, v, w = head(a[3:]), head(b[3:]), sum2(1.0, head(a), -1.0, head(b))
    uu, uv, vv, uw, vw = dot(u, u), dot(u, v), dot(v, v), dot(u, w), dot(v, w)
    det, s, t = uu * vv - uv * uv, 0.0, 0.0
    if det > 0.0:
        s = min(max((uv * vw - vv * uw) / det, 0.0), 1.0)
    if vv > 0.0:
        t = min(max((vw + s * uv) / vv, 0.0), 1.0)
    if uu > 0.0:
        s = min(max((t * uv - uw) / uu, 0.0), 1.0)
    apart = sum3(1.0, w, s, u, -t, v)
    most = a[6] + b[6] + reach
    return dot(apart, apart) <= most * most * (1.0 + 1e-9) + 1e-7 * (uu + vv)


@kernel_in_place
def add_candidate_pair(surfaces, group, i, j, n_cores, contact):
    """Broad phase: append elements i < j of a group whose capsules, with a margin, overlap, if no filter excludes them.

    Cores are numbered before solids; two solids never meet; solid k is stored as -1 - k.
    """
    sphere, square = contact.sphere, 0.0
    reach = sphere[i, 3] + sphere[j, 3] + contact.reach[0]
    for r in range(3):
        square += (sphere[i, r] - sphere[j, r]) ** 2
    if square > reach * reach or i >= n_cores or not are_near(contact.capsule[i], contact.capsule[j], contact.reach[0]):
        return
    row = surfaces.group[group]
    core = row.cores_a + i
    row_i = surfaces.core[core]
    if j < n_cores:
        other = row.cores_a + j
        row_j = surfaces.core[other]
        if not (row_i.meets & row_j.meets & sf.CORES):
            return
        surface, same_side = row_j.surface, (core < row.cores_b) == (other < row.cores_b)
        if surface == row_i.surface:
            # pieces of one rod nearer than half a turn of the tightest bend cannot be bent onto each other
            x, y = surfaces.value[row_i.at :], surfaces.value[row_j.at :]
            between = max(y[sf.ARC_0] - x[sf.ARC_1], x[sf.ARC_0] - y[sf.ARC_1])
            if between <= 0.5 * pi * (x[sf.RADIUS_0] + y[sf.RADIUS_0]) * (1.0 + 1e-9):
                return
    else:
        k = row.solids_a + j - n_cores
        if not (row_i.meets & surfaces.solid[k].meets):
            return
        surface, same_side = surfaces.solid[k].surface, (core < row.cores_b) == (k < row.solids_b)
        if row_i.form == sf.CONVEX and surfaces.solid[k].meets == sf.CURVED:
            # two smooth bodies meet once: the one that is less bent everywhere is the solid
            own, others = surfaces.value[row_i.at + sf.BENT], surfaces.value[surfaces.solid[k].at + N_SHAPE]
            if own > others or (own == others and surface < row_i.surface):
                return
        other = -1 - k
    if same_side and row.among == 0:
        return
    first = row.first_surface
    if surfaces.apart[row.apart + (row_i.surface - first) * row.n_surfaces + surface - first] != 0:
        return
    if other < 0 and surface == row_i.surface:
        # the flat end of a rod, and its own pieces
        x, y = surfaces.value[row_i.at :], surfaces.value[surfaces.solid[-1 - other].at :]
        between = max(y[END_ARC] - x[sf.ARC_1], x[sf.ARC_0] - y[END_ARC])
        if between <= 0.5 * pi * (x[sf.RADIUS_0] + y[0] + y[2]) * (1.0 + 1e-9):
            return
    k = contact.counts.pairs
    if k >= contact.pair.shape[0]:
        contact.counts.overflow = 1
        return
    contact.counts.pairs += 1
    pair = contact.pair[k]
    pair.group, pair.core, pair.other = group, core, other


@kernel_in_place
def bucket_of(x, y, z, n):
    """Bucket of a cell in the hash table; n is a power of two."""
    return ((x * 73856093) ^ (y * 19349663) ^ (z * 83492791)) & (n - 1)


@kernel_in_place
def sort_into_cells(contact, n):
    """Sort the smaller ones of n elements into cells as wide, deep and high as the largest of them.

    Returns the radius of the largest sphere that may be in a cell. Bucket k holds order[bucket[k + 1] : bucket[k + 2]].
    """
    total, some, edge = 0.0, 0, contact.edge
    for i in range(n):
        if contact.sphere[i, 3] < inf:
            total += contact.sphere[i, 3]
            some += 1
    limit = OVERSIZED * total / max(some, 1)
    for r in range(3):
        edge[r] = 1e-9
        for i in range(n):
            if contact.sphere[i, 3] <= limit:
                edge[r] = max(edge[r], abs(contact.capsule[i, 3 + r]) + 2.0 * contact.capsule[i, 6] + contact.reach[0])
    n_buckets = contact.bucket.shape[0] - 2
    for k in range(n_buckets + 1):
        contact.bucket[k] = 0
    for i in range(n):
        if contact.sphere[i, 3] <= limit:
            for r in range(3):
                place = min(max(contact.sphere[i, r] / edge[r], -1e9), 1e9)  # a state may be absurd
                contact.cell[i, r] = floor(place)
            key = bucket_of(contact.cell[i, 0], contact.cell[i, 1], contact.cell[i, 2], n_buckets)
            contact.bucket[key + 1] += 1
    for k in range(n_buckets):
        contact.bucket[k + 1] += contact.bucket[k]
    contact.bucket[n_buckets + 1] = contact.bucket[n_buckets]
    # fill from the back of each bucket, so that its begin ends up where it belongs
    for i in range(n - 1, -1, -1):
        if contact.sphere[i, 3] <= limit:
            key = bucket_of(contact.cell[i, 0], contact.cell[i, 1], contact.cell[i, 2], n_buckets)
            contact.bucket[key + 1] -= 1
            contact.order[contact.bucket[key + 1]] = i
    return limit


@kernel_in_place
def search(surfaces, group, ws, contact):
    """All pairs of a group that may touch."""
    n, n_cores = bounding_spheres(surfaces, group, ws, contact)
    if n <= BRUTE_FORCE:
        for i in range(n_cores):
            for j in range(i + 1, n):
                add_candidate_pair(surfaces, group, i, j, n_cores, contact)
        return
    limit = sort_into_cells(contact, n)
    for i in range(n):
        if not contact.sphere[i, 3] <= limit:
            for j in range(n):
                # a pair of large ones once
                if j != i and (contact.sphere[j, 3] <= limit or j > i):
                    add_candidate_pair(surfaces, group, min(i, j), max(i, j), n_cores, contact)
            continue
        cell = contact.cell[i]
        for k in range(13, 27):  # its own cell, and of each two that are opposite one
            x, y, z = cell[0] + k // 9 - 1, cell[1] + k // 3 % 3 - 1, cell[2] + k % 3 - 1
            search_cell(surfaces, group, i, x, y, z, i if k == 13 else -1, n_cores, contact)


@kernel_inline
def search_cell(surfaces, group, i, x, y, z, after, n_cores, contact):
    """The pairs of element i with those in one cell whose number is larger than `after`."""
    key = bucket_of(x, y, z, contact.bucket.shape[0] - 2)
    for k in range(contact.bucket[key + 1], contact.bucket[key + 2]):
        j = contact.order[k]
        if j > after and contact.cell[j, 0] == x and contact.cell[j, 1] == y and contact.cell[j, 2] == z:
            add_candidate_pair(surfaces, group, min(i, j), max(i, j), n_cores, contact)


@kernel_lazy("contacts")
def add_contacts(surfaces, ws, external) -> int:
    """Find all contacts, after a sweep of poses, and add their wrenches and tangents to `external`.

    Returns how many there are.
    """
    contact = external.contact
    counts = contact.counts
    counts.active = counts.overflow = counts.pairs = 0
    for group in range(surfaces.group.shape[0]):
        contact.nearest[group] = contact.reach[0]
        search(surfaces, group, ws, contact)
    for k in range(contact.counts.pairs):
        pair = contact.pair[k]
        evaluate_pair(surfaces, pair.group, pair.core, pair.other, ws, contact, external)
    return contact.counts.active
