"""Tangents of the force of a contact (docs/theory.md, 12).

What the wrenches on its nodes change by is a sum of few products, of what a motion of the nodes does at the contact
(`left`) and of how the force, its arms and weights change with a motion (`right`).
"""

from __future__ import annotations

from sorosim.base.compiled import kernel_in_place
from sorosim.mechanics.kernels import surfaces as sf
from sorosim.mechanics.lie.triples import (
    cross,
    dot,
    head,
    plus,
    row,
    rows,
    scaled,
    store_row,
    sum2,
    sum3,
    sum4,
    times,
)


@kernel_in_place
def velocity_along(contact, first, arm):
    """How the velocity at the contact changes along the segment of entries `first` and the next."""
    here = contact.here
    along = here.weight_along
    velocity = plus(row(here.v_along, first), row(here.v_along, first + 1))
    turning = sum2(along[first], row(here.w, first), along[first + 1], row(here.w, first + 1))
    return plus(velocity, cross(turning, arm))


@kernel_in_place
def moved(turn, shift, point, weight):
    """By how much a point times its weight moves with a rotation about the origin and a translation."""
    return sum2(1.0, cross(turn, point), weight, shift)


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
def force_by_slip_velocity(contact, out):
    """out (3, 3): dF/du, u the velocity of A relative to B at the contact, world axes; regularised Coulomb friction."""
    here = contact.here
    n, u_t = here.normal, here.u_t
    chi, by_rate, normal_force, size = here.chi, here.by_rate, here.normal_force, here.normal_length
    mu = here.friction * size
    for i in range(3):
        for j in range(3):
            tangential = (1.0 if i == j else 0.0) - n[i] * n[j] / (size * size) - chi * chi * u_t[i] * u_t[j]
            out[i, j] = by_rate * n[j] * (mu * chi * u_t[i] - n[i]) - mu * normal_force * chi * tangential


@kernel_in_place
def places_change(contact, j, turn, shift, xi, dn):
    """By how much the places on both segments change when entry j turns and shifts; xi: times its weight."""
    here = contact.here
    if not (here.in_a or here.in_b):
        return 0.0, 0.0
    n, on_a, ra, rb = here.normal, j < here.first_b, 0.0, 0.0
    along = dot(n, moved(turn, shift, row(here.p_along, j), here.weight_along[j]))
    drawn = dot(n, xi) / (here.axial * here.axial)
    if here.in_a:
        ra = dot(dn, here.t_a) - drawn * here.reg_a
        if on_a:
            ra += along
    if here.in_b:
        rb = -dot(dn, here.t_b) - drawn * here.reg_b
        if not on_a:
            rb += along
    haa, hab, hbb = here.haa, here.hab, here.hbb
    if here.in_a and here.in_b:
        det = haa * hbb - hab * hab
        return -(hbb * ra - hab * rb) / det, -(haa * rb - hab * ra) / det
    if here.in_a:
        return -ra / haa, 0.0
    return 0.0, -rb / hbb


@kernel_in_place
def force_variation(contact, j, turn, shift, right, at):
    """Column `at` of right, by a motion [turn; shift] of the node of entry j about the world's origin, body twist held.

    Rows: moment of the force by the change of its arm at A, at B, change of the force, of both weights along segments.
    Arms go from the nearest points to the point where the force acts.
    """
    here = contact.here
    n, u, u_t, force = head(here.normal), head(here.u), head(here.u_t), head(here.force)
    H, on_a, weight = rows(here.h), j < here.first_b, here.weight[j]
    t_b, arm = head(here.t_b), head(here.arm_a if on_a else here.arm_b)
    d_offset = moved(turn, shift, row(here.p, j), weight)
    dn = times(H, d_offset)
    if here.is_solid and not on_a:
        dn = plus(dn, cross(turn, n))
    dla, dmb = places_change(contact, j, turn, shift, d_offset, dn)
    slide = scaled(dla, head(here.t_a))
    if here.form == sf.DISC or here.form == sf.CONVEX:
        own = sum2(1.0, dn, -1.0 if on_a else 0.0, cross(turn, n))
        slide = scaled(-1.0, times(rows(here.slide), own))
    d_distance = (here.reg_a * dla + here.reg_b * dmb) / (here.axial * here.axial)
    dn = plus(dn, sum2(1.0, times(H, sum2(1.0, slide, -dmb, t_b)), -d_distance, n))
    shrink = sum2(-here.r_a, dn, -(here.slope_a * dla), n)
    # of the relative velocity: points and twists turn with their node, places and arms change
    du = sum2(1.0, cross(turn, row(here.v, j)), weight, cross(cross(turn, row(here.w, j)), arm))
    du = sum3(1.0, du, dla, head(here.d_a), dmb, head(here.d_b))
    darm = sum2(1.0, shrink, 0.0 if here.two_a else 1.0, slide)
    du = plus(du, cross(head(here.w_a), darm))
    store_row(cross(darm, force), right[sf.BY_ARM :, at])
    darm = sum4(1.0, shrink, 1.0, d_offset, 1.0, slide, -dmb if here.two_b else 0.0, t_b)
    du = sum2(1.0, du, -1.0, cross(head(here.w_b), darm))
    store_row(cross(darm, force), right[sf.BY_OTHER_ARM :, at])
    # of the law
    approach, chi, mu, normal_force = here.approach, here.chi, here.friction, here.normal_force
    d_rate = dot(dn, u) + dot(n, du)
    d_normal = -here.by_depth * dot(n, d_offset) - here.by_rate * d_rate
    size, n_dn = here.normal_length, dot(n, dn)
    square = size * size
    dut = sum3(1.0, du, approach / square, dn, -(d_rate + 2.0 * approach * n_dn / square) / square, n)
    d_slip = sum2(1.0, dut, -(chi * chi * dot(u_t, dut)), u_t)
    friction = sum2(d_normal * size + normal_force * n_dn / size, u_t, normal_force * size, d_slip)
    store_row(sum3(d_normal, n, normal_force, dn, -(mu * chi), friction), right[sf.BY_FORCE :, at])
    right[sf.BY_WEIGHT, at], right[sf.BY_OTHER_WEIGHT, at] = dla, dmb


@kernel_in_place
def motion_at_contact(contact, j, c, turn, shift, left, at):
    """Column `at` of left: what rotation c (0 to 2) or translation (3 to 5) of the node of entry j moves there."""
    here = contact.here
    on_a = j < here.first_b
    weight, along = here.weight[j], here.weight_along[j]
    arm = head(here.arm_a if on_a else here.arm_b)
    for i in range(sf.N_ROWS):
        left[i, at] = 0.0
    if c < 3:
        left[(sf.BY_ARM if on_a else sf.BY_OTHER_ARM) + c, at] = weight
    store_row(moved(turn, shift, sum2(1.0, row(here.p, j), weight, arm), weight), left[sf.BY_FORCE :, at])
    ahead = moved(turn, shift, sum2(1.0, row(here.p_along, j), along, arm), along)
    power = dot(here.force, ahead)
    if on_a and here.two_a:
        left[sf.BY_WEIGHT, at] = power
    if not on_a and here.two_b:
        left[sf.BY_OTHER_WEIGHT, at] = power


@kernel_in_place
def add_tangents(contact, k, external):
    """Tangents of contact k: to its node if only one moves, else rows of `contact`."""
    here, nodes = contact.here, contact.entry[k].node
    m, first = here.n, here.first_b
    linked = m > 2 or (nodes[0] >= 0 and nodes[1] >= 0)
    coupling, by_u = external.coupling, contact.wide[1, :3, :3]
    slot = coupling.counts.n  # one that needs no rows only borrows the next
    left, right, rate = coupling.left[slot], coupling.right[slot], coupling.rate[slot]
    for i in range(3):
        here.d_a[i], here.d_b[i] = 0.0, 0.0
    if here.two_a:
        store_row(velocity_along(contact, 0, here.arm_a), here.d_a)
    if here.two_b:
        store_row(velocity_along(contact, first, here.arm_b), here.d_b)
    force_by_slip_velocity(contact, by_u)
    for j in range(m):
        if nodes[j] < 0:
            continue
        for c in range(6):
            unit = (1.0 if c % 3 == 0 else 0.0, 1.0 if c % 3 == 1 else 0.0, 1.0 if c % 3 == 2 else 0.0)
            turn, shift = scaled(1.0 if c < 3 else 0.0, unit), scaled(0.0 if c < 3 else 1.0, unit)
            force_variation(contact, j, turn, shift, right, 6 * j + c)
            motion_at_contact(contact, j, c, turn, shift, left, 6 * j + c)
    if linked:
        row = coupling.row[slot]
        row.n, row.n_rows, row.n_rates = m, sf.N_ROWS if here.two_a or here.two_b else sf.BY_WEIGHT, 3
        for j in range(row.node.shape[0]):
            row.node[j] = nodes[j] if j < m else -1
        for j in range(6 * m):
            store_row(times(rows(by_u), (left[0, j], left[1, j], left[2, j])), rate[:, j])
        coupling.counts.n += 1
    else:
        one = 0 if nodes[0] >= 0 else 1
        to_node(left, right, by_u, 6 * one, external.K[nodes[one]], external.D[nodes[one]])
