"""Tangents of the force of a contact (docs/theory.md, 12).

What the wrenches on its nodes change by is a sum of few products, of what a motion of the nodes does at the contact
(`left`) and of how the force, its arms and weights change with a motion (`right`).
"""

from __future__ import annotations

from sorosim.compiled import kernel_in_place
from sorosim.kernels import surfaces as sf
from sorosim.lie.triples import (
    cross,
    dot,
    plus,
    row,
    rows,
    scaled,
    store_row,
    sum2,
    sum3,
    sum4,
    times,
    transposed_times,
)


@kernel_in_place
def velocity_along(contact, first, arm):
    """How the velocity at the contact changes along the segment of entries `first` and the next."""
    entries, along = contact.entries, contact.weights[sf.WEIGHT_ALONG]
    velocity = plus(row(entries, sf.V_ALONG + first), row(entries, sf.V_ALONG + first + 1))
    turning = sum2(along[first], row(entries, sf.W + first), along[first + 1], row(entries, sf.W + first + 1))
    return plus(velocity, cross(turning, arm))


@kernel_in_place
def moved(turn, shift, point, weight):
    """By how much a point times its weight moves with a rotation about the origin and a translation."""
    return sum2(1.0, cross(turn, point), weight, shift)


@kernel_in_place
def lowest_point(Q, R, n, size, dn):
    """How -Q n / sqrt(n Q n), size that root, changes with n by dn; Q (3, 3), in the axes R."""
    own, change = transposed_times(R, n), transposed_times(R, dn)
    by_size = dot(own, times(Q, change)) / (size * size * size)
    return scaled(-1.0, times(R, times(Q, sum2(1.0 / size, change, -by_size, own))))


@kernel_in_place
def to_node(left, right, by_u, at, K, D):
    """Add the tangents of a contact with one moving node, whose columns begin at `at`, to those of the node."""
    for i in range(6):
        for j in range(6):
            total = 0.0
            for r in range(sf.N_ROWS):
                total += left[r, at + i] * right[r, at + j]
            K[i, j] += total
    for j in range(6):
        y = times(by_u, (left[0, at + j], left[1, at + j], left[2, at + j]))
        for i in range(6):
            D[i, j] += left[0, at + i] * y[0] + left[1, at + i] * y[1] + left[2, at + i] * y[2]


@kernel_in_place
def force_by_velocity(contact, out):
    """out (3, 3): derivative of the force by the relative velocity."""
    number, n, u_t = contact.number, contact.vectors[sf.N], contact.vectors[sf.U_T]
    chi, by_rate, pressed, size = number[sf.CHI], number[sf.BY_RATE], number[sf.PRESSED], number[sf.SIZE]
    mu = number[sf.FRICTION] * size
    for i in range(3):
        for j in range(3):
            across = (1.0 if i == j else 0.0) - n[i] * n[j] / (size * size)
            along = u_t[i] * u_t[j]
            out[i, j] = by_rate * n[j] * (mu * chi * u_t[i] - n[i]) - mu * pressed * chi * (across - chi * chi * along)


@kernel_in_place
def places_change(contact, j, turn, shift, xi, dn):
    """By how much the places on both segments change when entry j turns and shifts; xi: times its weight."""
    vectors, number, flag = contact.vectors, contact.number, contact.flag
    if not (flag[sf.IN_A] or flag[sf.IN_B]):
        return 0.0, 0.0
    n, on_a, ra, rb = vectors[sf.N], j < flag[sf.FIRST_B], 0.0, 0.0
    along = dot(n, moved(turn, shift, row(contact.entries, sf.P_ALONG + j), contact.weights[sf.WEIGHT_ALONG, j]))
    drawn = dot(n, xi) / (number[sf.AXIAL] * number[sf.AXIAL])
    if flag[sf.IN_A]:
        ra = dot(dn, vectors[sf.T_A]) - drawn * number[sf.REG_A]
        if on_a:
            ra += along
    if flag[sf.IN_B]:
        rb = -dot(dn, vectors[sf.T_B]) - drawn * number[sf.REG_B]
        if not on_a:
            rb += along
    haa, hab, hbb = number[sf.HAA], number[sf.HAB], number[sf.HBB]
    if flag[sf.IN_A] and flag[sf.IN_B]:
        det = haa * hbb - hab * hab
        return -(hbb * ra - hab * rb) / det, -(haa * rb - hab * ra) / det
    if flag[sf.IN_A]:
        return -ra / haa, 0.0
    return 0.0, -rb / hbb


@kernel_in_place
def change_of_force(surfaces, core, ws, contact, j, turn, shift, right, at):
    """Column `at` of right: what changes when the node of entry j turns and shifts, its twist carried along."""
    vectors, number, flag, entries = contact.vectors, contact.number, contact.flag, contact.entries
    n, u, u_t, force = row(vectors, sf.N), row(vectors, sf.U), row(vectors, sf.U_T), row(vectors, sf.F)
    H, on_a, weight = rows(vectors[sf.H_ROWS :]), j < flag[sf.FIRST_B], contact.weights[sf.WEIGHT, j]
    t_b, arm = row(vectors, sf.T_B), row(vectors, sf.ARM_A if on_a else sf.ARM_B)
    xi = moved(turn, shift, row(entries, sf.P + j), weight)
    dn = times(H, xi)
    if flag[sf.IS_SOLID] and not on_a:
        dn = plus(dn, cross(turn, n))
    dla, dmb = places_change(contact, j, turn, shift, xi, dn)
    slide = scaled(dla, row(vectors, sf.T_A))
    if flag[sf.FORM_HERE] == sf.ELLIPSOID:
        node, first = surfaces.core[core, sf.NODE_0], surfaces.core[core, sf.CORE_AT] + sf.AXES
        own = sum2(1.0, dn, -1.0 if on_a else 0.0, cross(turn, n))
        Q = surfaces.value[first : first + 9].reshape(3, 3)
        slide = lowest_point(Q, rows(ws.pose[node]), n, number[sf.AXIAL], own)
    if flag[sf.FORM_HERE] == sf.DISC:
        own = sum2(1.0, dn, -1.0 if on_a else 0.0, cross(turn, n))
        slide = scaled(-1.0, times(rows(vectors[sf.SLIDE :]), own))
    drawn = (number[sf.REG_A] * dla + number[sf.REG_B] * dmb) / (number[sf.AXIAL] * number[sf.AXIAL])
    dn = plus(dn, sum2(1.0, times(H, sum2(1.0, slide, -dmb, t_b)), -drawn, n))
    shrink = sum2(-number[sf.R_A], dn, -(number[sf.SLOPE_A] * dla), n)
    # of the relative velocity: points and twists turn with their node, places and arms change
    du = sum2(1.0, cross(turn, row(entries, sf.V + j)), weight, cross(cross(turn, row(entries, sf.W + j)), arm))
    du = sum3(1.0, du, dla, row(vectors, sf.D_A), dmb, row(vectors, sf.D_B))
    darm = sum2(1.0, shrink, 0.0 if flag[sf.TWO_A] else 1.0, slide)
    du = plus(du, cross(row(vectors, sf.W_A), darm))
    store_row(cross(darm, force), right[sf.BY_ARM :, at])
    darm = sum4(1.0, shrink, 1.0, xi, 1.0, slide, -dmb if flag[sf.TWO_B] else 0.0, t_b)
    du = sum2(1.0, du, -1.0, cross(row(vectors, sf.W_B), darm))
    store_row(cross(darm, force), right[sf.BY_OTHER_ARM :, at])
    # of the law
    closing, chi, mu, pressed = number[sf.CLOSING], number[sf.CHI], number[sf.FRICTION], number[sf.PRESSED]
    opening = dot(dn, u) + dot(n, du)
    change = -number[sf.BY_DEPTH] * dot(n, xi) - number[sf.BY_RATE] * opening
    size, longer = number[sf.SIZE], dot(n, dn)
    square = size * size
    dut = sum3(1.0, du, closing / square, dn, -(opening + 2.0 * closing * longer / square) / square, n)
    turned = sum2(1.0, dut, -(chi * chi * dot(u_t, dut)), u_t)
    friction = sum2(change * size + pressed * longer / size, u_t, pressed * size, turned)
    store_row(sum3(change, n, pressed, dn, -(mu * chi), friction), right[sf.BY_FORCE :, at])
    right[sf.BY_WEIGHT, at], right[sf.BY_OTHER_WEIGHT, at] = dla, dmb


@kernel_in_place
def motion_at_contact(contact, j, c, turn, shift, left, at):
    """Column `at` of left: what rotation c (0 to 2) or translation (3 to 5) of the node of entry j moves there."""
    flag, entries, on_a = contact.flag, contact.entries, j < contact.flag[sf.FIRST_B]
    weight, along = contact.weights[sf.WEIGHT, j], contact.weights[sf.WEIGHT_ALONG, j]
    arm = row(contact.vectors, sf.ARM_A if on_a else sf.ARM_B)
    for i in range(sf.N_ROWS):
        left[i, at] = 0.0
    if c < 3:
        left[(sf.BY_ARM if on_a else sf.BY_OTHER_ARM) + c, at] = weight
    store_row(moved(turn, shift, sum2(1.0, row(entries, sf.P + j), weight, arm), weight), left[sf.BY_FORCE :, at])
    ahead = moved(turn, shift, sum2(1.0, row(entries, sf.P_ALONG + j), along, arm), along)
    power = dot(contact.vectors[sf.F], ahead)
    if on_a and flag[sf.TWO_A]:
        left[sf.BY_WEIGHT, at] = power
    if not on_a and flag[sf.TWO_B]:
        left[sf.BY_OTHER_WEIGHT, at] = power


@kernel_in_place
def add_tangents(surfaces, core, k, ws, contact, external):
    """Tangents of contact k: to its node if only one moves, else rows of `contact`."""
    vectors, flag, nodes = contact.vectors, contact.flag, contact.entry[k, sf.ENTRY_NODE :]
    m, first = flag[sf.N_HERE], flag[sf.FIRST_B]
    linked = m > 2 or (nodes[0] >= 0 and nodes[1] >= 0)
    slot = contact.counts[sf.LINKED]  # one that needs no rows only borrows the next
    left, right, by_u = contact.left[slot], contact.right[slot], contact.rate[slot]
    for i in range(3):
        vectors[sf.D_A, i], vectors[sf.D_B, i] = 0.0, 0.0
    if flag[sf.TWO_A]:
        store_row(velocity_along(contact, 0, vectors[sf.ARM_A]), vectors[sf.D_A])
    if flag[sf.TWO_B]:
        store_row(velocity_along(contact, first, vectors[sf.ARM_B]), vectors[sf.D_B])
    force_by_velocity(contact, by_u)
    for j in range(m):
        if nodes[j] < 0:
            continue
        for c in range(6):
            unit = (1.0 if c % 3 == 0 else 0.0, 1.0 if c % 3 == 1 else 0.0, 1.0 if c % 3 == 2 else 0.0)
            turn, shift = scaled(1.0 if c < 3 else 0.0, unit), scaled(0.0 if c < 3 else 1.0, unit)
            change_of_force(surfaces, core, ws, contact, j, turn, shift, right, 6 * j + c)
            motion_at_contact(contact, j, c, turn, shift, left, 6 * j + c)
    if linked:
        contact.linked[slot] = k
        contact.counts[sf.LINKED] += 1
    else:
        one = 0 if nodes[0] >= 0 else 1
        to_node(left, right, by_u, 6 * one, external.K[nodes[one]], external.D[nodes[one]])
