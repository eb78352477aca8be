"""Contacts of all surfaces: which may touch, and what the contacts add to derivatives (docs/theory.md, 12)."""

from __future__ import annotations

from math import floor, inf, pi, sqrt

from sorosim.compiled import kernel_apart, kernel_in_place
from sorosim.kernels.small import into_world
from sorosim.kernels.surfaces import (
    A_0,
    ACTIVE,
    AMONG,
    APART,
    ARC_0,
    ARC_1,
    B_0,
    CORE_AT,
    CORE_SURFACE,
    CORES,
    CORES_A,
    CORES_B,
    CORES_END,
    END_1,
    ENTRY_NODE,
    FORM,
    LINKED,
    MEETS,
    N_ENTRIES,
    N_ROWS,
    N_SURFACES,
    NODE_0,
    NODE_1,
    OVERFLOW,
    PAIRS,
    RADIUS_0,
    RADIUS_1,
    SEGMENT,
    SOLID_CLASS,
    SOLID_NODE,
    SOLID_SURFACE,
    SOLIDS_A,
    SOLIDS_B,
    SOLIDS_END,
    SURFACE_0,
)
from sorosim.kernels.touch import touch_pair
from sorosim.kernels.tree import BLOCK, BLOCK_PARENT, COLUMN, N_COLUMNS, WORK

# so many elements and fewer are looked at two by two
FEW = 24
# balls larger than this times the mean are not sorted into cells
LARGE = 3.0


@kernel_in_place
def surround(surfaces, group, ws, touch):
    """A ball around each core and solid of a group, the cores first; returns their number and that of the cores."""
    row = surfaces.group[group]
    n_cores, a, b = row[CORES_END] - row[CORES_A], touch.room[A_0], touch.room[B_0]
    for i in range(n_cores):
        core, ball = surfaces.core[row[CORES_A] + i], touch.ball[i]
        at = core[CORE_AT]
        into_world(ws.pose[core[NODE_0]], surfaces.value[at : at + 3], a)
        ball[3] = surfaces.value[at + RADIUS_0]
        for r in range(3):
            ball[r] = a[r]
        if core[FORM] == SEGMENT:
            into_world(ws.pose[core[NODE_1]], surfaces.value[at + END_1 : at + END_1 + 3], b)
            square = 0.0
            for r in range(3):
                ball[r] = 0.5 * (a[r] + b[r])
                square += (a[r] - b[r]) ** 2
            ball[3] = max(ball[3], surfaces.value[at + RADIUS_1]) + 0.5 * sqrt(square)
    n = n_cores
    for k in range(row[SOLIDS_A], row[SOLIDS_END]):
        ball, extent, frame = touch.ball[n], surfaces.extent[k], surfaces.frame[k]
        ball[3] = extent[3]
        into_world(frame, extent[:3], a)
        into_world(ws.pose[surfaces.solid[k, SOLID_NODE]], a, b)
        for r in range(3):
            ball[r] = b[r]
        n += 1
    return n, n_cores


@kernel_in_place
def meet(surfaces, group, i, j, n_cores, touch):
    """Note elements i < j of a group as a pair, if they can meet and their balls touch."""
    p, q = touch.ball[i], touch.ball[j]
    reach = p[3] + q[3] + touch.reach[0]
    if (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2 + (p[2] - q[2]) ** 2 > reach * reach or i >= n_cores:
        return
    row = surfaces.group[group]
    core = row[CORES_A] + i
    mine = surfaces.core[core]
    if j < n_cores:
        other = row[CORES_A] + j
        theirs = surfaces.core[other]
        if not (mine[MEETS] & theirs[MEETS] & CORES):
            return
        surface, same_side = theirs[CORE_SURFACE], (core < row[CORES_B]) == (other < row[CORES_B])
        if surface == mine[CORE_SURFACE]:
            # neighbours on a rod are apart by no more than half a turn of the tightest bend
            x, y = surfaces.value[mine[CORE_AT] :], surfaces.value[theirs[CORE_AT] :]
            between = max(y[ARC_0] - x[ARC_1], x[ARC_0] - y[ARC_1])
            if between <= 0.5 * pi * (x[RADIUS_0] + y[RADIUS_0]) * (1.0 + 1e-9):
                return
    else:
        k = row[SOLIDS_A] + j - n_cores
        if not (mine[MEETS] & surfaces.solid[k, SOLID_CLASS]):
            return
        surface, same_side = surfaces.solid[k, SOLID_SURFACE], (core < row[CORES_B]) == (k < row[SOLIDS_B])
        other = -1 - k
    if same_side and row[AMONG] == 0:
        return
    first = row[SURFACE_0]
    if surfaces.apart[row[APART] + (mine[CORE_SURFACE] - first) * row[N_SURFACES] + surface - first] != 0:
        return
    k = touch.counts[PAIRS]
    if k >= touch.pair.shape[0]:
        touch.counts[OVERFLOW] = 1
        return
    touch.counts[PAIRS] += 1
    touch.pair[k, 0], touch.pair[k, 1], touch.pair[k, 2] = group, core, other


@kernel_in_place
def bucket_of(x, y, z, n):
    """Where a cell is kept; n is a power of two."""
    return ((x * 73856093) ^ (y * 19349663) ^ (z * 83492791)) & (n - 1)


@kernel_in_place
def sort_into_cells(touch, n):
    """Sort the smaller ones of n balls into cells of the size of the largest of them.

    Returns the radius of the largest that may be in a cell. Bucket k holds order[bucket[k + 1] : bucket[k + 2]].
    """
    total, some, edge = 0.0, 0, 1e-9
    for i in range(n):
        if touch.ball[i, 3] < inf:
            total += touch.ball[i, 3]
            some += 1
    limit = LARGE * total / max(some, 1)
    for i in range(n):
        if touch.ball[i, 3] <= limit:
            edge = max(edge, 2.0 * touch.ball[i, 3] + touch.reach[0])
    n_buckets = touch.bucket.shape[0] - 2
    for k in range(n_buckets + 1):
        touch.bucket[k] = 0
    for i in range(n):
        if touch.ball[i, 3] <= limit:
            for r in range(3):
                place = min(max(touch.ball[i, r] / edge, -1e9), 1e9)  # a state may be absurd
                touch.cell[i, r] = floor(place)
            key = bucket_of(touch.cell[i, 0], touch.cell[i, 1], touch.cell[i, 2], n_buckets)
            touch.bucket[key + 1] += 1
    for k in range(n_buckets):
        touch.bucket[k + 1] += touch.bucket[k]
    touch.bucket[n_buckets + 1] = touch.bucket[n_buckets]
    # fill from the back of each bucket, so that its begin ends up where it belongs
    for i in range(n - 1, -1, -1):
        if touch.ball[i, 3] <= limit:
            key = bucket_of(touch.cell[i, 0], touch.cell[i, 1], touch.cell[i, 2], n_buckets)
            touch.bucket[key + 1] -= 1
            touch.order[touch.bucket[key + 1]] = i
    return limit


@kernel_in_place
def search(surfaces, group, ws, touch):
    """All pairs of a group that may touch."""
    n, n_cores = surround(surfaces, group, ws, touch)
    if n <= FEW:
        for i in range(n_cores):
            for j in range(i + 1, n):
                meet(surfaces, group, i, j, n_cores, touch)
        return
    limit = sort_into_cells(touch, n)
    n_buckets = touch.bucket.shape[0] - 2
    for i in range(n):
        if not touch.ball[i, 3] <= limit:
            for j in range(n):
                # a pair of large ones once
                if j != i and (touch.ball[j, 3] <= limit or j > i):
                    meet(surfaces, group, min(i, j), max(i, j), n_cores, touch)
            continue
        cell = touch.cell[i]
        for x in range(cell[0] - 1, cell[0] + 2):
            for y in range(cell[1] - 1, cell[1] + 2):
                for z in range(cell[2] - 1, cell[2] + 2):
                    key = bucket_of(x, y, z, n_buckets)
                    for k in range(touch.bucket[key + 1], touch.bucket[key + 2]):
                        j = touch.order[k]
                        there = touch.cell[j]
                        if j > i and there[0] == x and there[1] == y and there[2] == z:
                            meet(surfaces, group, i, j, n_cores, touch)


@kernel_apart("contacts")
def add_contacts(surfaces, ws, external) -> int:
    """Find all contacts, after a sweep of poses, and add their wrenches and tangents to `external`.

    Returns how many there are.
    """
    touch = external.touch
    for k in range(PAIRS + 1):
        touch.counts[k] = 0
    for group in range(surfaces.group.shape[0]):
        touch.nearest[group] = touch.reach[0]
        search(surfaces, group, ws, touch)
    for k in range(touch.counts[PAIRS]):
        touch_pair(surfaces, touch.pair[k, 0], touch.pair[k, 1], touch.pair[k, 2], ws, touch, external)
    return touch.counts[ACTIVE]


@kernel_in_place
def gather_entries(tree, ws, touch, k, moving):
    """World columns of the nodes of contact k, (24, n) with a stride of ndof, and their rates; returns n.

    Coordinates are in touch.member[1]; touch.member[0] holds where each is, plus one.
    """
    ndof, n = tree.rows.shape[0], 0
    place, member = touch.member[0], touch.member[1]
    entry = touch.entry[k]
    for j in range(entry[N_ENTRIES]):
        node = entry[ENTRY_NODE + j]
        while node >= 0:
            first = tree.segment[node, COLUMN]
            for c in range(first, first + tree.segment[node, N_COLUMNS]):
                if place[c] == 0:
                    member[n] = c
                    n += 1
                    place[c] = n
            node = tree.block[tree.segment[node, BLOCK], BLOCK_PARENT]
    for order in range(2 if moving else 1):
        out = touch.columns[order]
        for r in range(6 * entry[N_ENTRIES]):
            for c in range(n):
                out[r * ndof + c] = 0.0
        for j in range(entry[N_ENTRIES]):
            node = entry[ENTRY_NODE + j]
            while node >= 0:
                m, work, first = tree.segment[node, N_COLUMNS], tree.segment[node, WORK], tree.segment[node, COLUMN]
                for c in range(m):
                    at = place[first + c] - 1
                    for r in range(6):
                        out[(6 * j + r) * ndof + at] = ws.column[1 + order, work + r * m + c]
                node = tree.block[tree.segment[node, BLOCK], BLOCK_PARENT]
    for c in range(n):
        place[member[c]] = 0
    return n


@kernel_in_place
def add_rows(X, n_rows, first, last, columns, n, stride, out):
    """out (n_rows, n) = X (n_rows, 24) times columns, rows first to last of them; arrays with a stride."""
    for r in range(n_rows):
        line = out[r * stride : r * stride + n]
        for c in range(n):
            line[c] = 0.0
        for i in range(first, last):
            x, column = X[r, i], columns[i * stride : i * stride + n]
            if x != 0.0:
                for c in range(n):
                    line[c] += x * column[c]


@kernel_apart("contacts")
def contact_matrices(tree, touch, moving, ws, dq, dqd) -> None:
    """Add what contacts between nodes give to the derivatives of inverse dynamics, after the sweeps."""
    ndof = tree.rows.shape[0]
    for slot in range(touch.counts[LINKED]):
        k = touch.linked[slot]
        n = gather_entries(tree, ws, touch, k, moving)
        member, left, right, by_u = touch.member[1], touch.left[slot], touch.right[slot], touch.rate[slot]
        L, R, Y = touch.columns[2], touch.columns[3], touch.columns[4]
        last = 6 * touch.entry[k, N_ENTRIES]
        add_rows(left, N_ROWS, 0, last, touch.columns[0], n, ndof, L)
        add_rows(right, N_ROWS, 0, last, touch.columns[0], n, ndof, R)
        # the force by the velocity: J of the contact for qd, J' for q
        for order in range(2 if moving else 1):
            if order == 1:
                add_rows(left, 3, 0, last, touch.columns[1], n, ndof, Y)
            for c in range(n):
                u0, u1, u2 = (
                    (L[c], L[ndof + c], L[2 * ndof + c]) if order == 0 else (Y[c], Y[ndof + c], Y[2 * ndof + c])
                )
                for r in range(3):
                    change = by_u[r, 0] * u0 + by_u[r, 1] * u1 + by_u[r, 2] * u2
                    if order == 0:
                        Y[(3 + r) * ndof + c] = change
                    else:
                        R[r * ndof + c] += change
        for i in range(n):
            line, rate = dq[member[i]], dqd[member[i]]
            for r in range(N_ROWS):
                x = L[r * ndof + i]
                if x != 0.0:
                    for c in range(n):
                        line[member[c]] -= x * R[r * ndof + c]
            for r in range(3):
                x = L[r * ndof + i]
                for c in range(n):
                    rate[member[c]] -= x * Y[(3 + r) * ndof + c]
