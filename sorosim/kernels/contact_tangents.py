"""Tangents of the force of a contact (docs/theory.md, 12).

What the wrenches on its nodes change by is a sum of few products, of what a motion of the nodes does at the contact
(`left`) and of how the force, its arms and weights change with a motion (`right`).
"""

from __future__ import annotations

from sorosim.compiled import kernel_in_place
from sorosim.kernels import surfaces as sf
from sorosim.kernels.small import add_cross, copy, cross
from sorosim.lie.triples import dot, rows, transposed_times


@kernel_in_place
def sliding_velocity(entries, first, arm, out, work):
    """Difference of the velocities of two entries, at the contact."""
    for i in range(3):
        out[i] = entries[sf.V + first + 1, i] - entries[sf.V + first, i]
        work[i] = entries[sf.W + first + 1, i] - entries[sf.W + first, i]
    add_cross(work, arm, 1.0, out)


@kernel_in_place
def turning(two, end, turn, t, move, n, work):
    """n . dt, t the vector between the ends of a segment, when an end on a node of its own, or the body, moves."""
    if two:
        return dot(n, move) if end == 1 else -dot(n, move)
    cross(turn, t, work)
    return dot(n, work)


@kernel_in_place
def lowest_point(Q, g, n, size, dn, out):
    """out: how -Q n / sqrt(n Q n), size that root, changes with n by dn; Q flat (9,), in the axes of g."""
    R, Q_rows = rows(g), Q.reshape(3, 3)
    own, d_own = transposed_times(R, n), transposed_times(R, dn)
    ds = 0.0
    for i in range(3):
        for j in range(3):
            ds += own[i] * Q_rows[i, j] * d_own[j]
    ds /= size
    for r in range(3):
        out[r] = 0.0
    for i in range(3):
        change = 0.0
        for j in range(3):
            change += Q_rows[i, j] * (d_own[j] - own[j] * ds / size) / size
        for r in range(3):
            out[r] -= g[r, i] * change


@kernel_in_place
def to_node(left, right, by_u, at, K, D, vectors):
    """Add the tangents of a contact with one moving node, whose columns begin at `at`, to those of the node."""
    y = vectors[sf.WORK]
    for i in range(6):
        for j in range(6):
            total = 0.0
            for r in range(sf.N_ROWS):
                total += left[r, at + i] * right[r, at + j]
            K[i, j] += total
    for j in range(6):
        for r in range(3):
            y[r] = by_u[r, 0] * left[0, at + j] + by_u[r, 1] * left[1, at + j] + by_u[r, 2] * left[2, at + j]
        for i in range(6):
            D[i, j] += left[0, at + i] * y[0] + left[1, at + i] * y[1] + left[2, at + i] * y[2]


@kernel_in_place
def force_by_velocity(contact, out):
    """out (3, 3): derivative of the force by the relative velocity."""
    number, n, u_t = contact.number, contact.vectors[sf.N], contact.vectors[sf.U_T]
    chi, by_rate, mu, pressed = number[sf.CHI], number[sf.BY_RATE], number[sf.FRICTION], number[sf.PRESSED]
    skewed = dot(u_t, n)  # zero, but for what draws segments to their middles
    for i in range(3):
        for j in range(3):
            across = (1.0 if i == j else 0.0) - n[i] * n[j]
            along = u_t[i] * (u_t[j] - skewed * n[j])
            out[i, j] = by_rate * n[j] * (mu * chi * u_t[i] - n[i]) - mu * pressed * chi * (across - chi * chi * along)


@kernel_in_place
def places_change(contact, j, xi):
    """By how much the places on both segments change when entry j moves: by its weight times, xi, and turns."""
    vectors, number, flag = contact.vectors, contact.number, contact.flag
    if not (flag[sf.IN_A] or flag[sf.IN_B]):
        return 0.0, 0.0
    dn, n, turn, move, work = vectors[sf.DN], vectors[sf.N], vectors[sf.TURN], vectors[sf.MOVE], vectors[sf.WORK]
    first, on_a, ra, rb = flag[sf.FIRST_B], j < flag[sf.FIRST_B], 0.0, 0.0
    drawn = dot(n, xi) / (number[sf.AXIAL] * number[sf.AXIAL])
    if flag[sf.IN_A]:
        ra = dot(dn, vectors[sf.T_A]) - drawn * number[sf.REG_A]
        if on_a:
            ra += turning(flag[sf.TWO_A], j, turn, vectors[sf.T_A], move, n, work)
    if flag[sf.IN_B]:
        rb = -dot(dn, vectors[sf.T_B]) - drawn * number[sf.REG_B]
        if not on_a:
            rb -= turning(flag[sf.TWO_B], j - first, turn, vectors[sf.T_B], move, n, work)
    haa, hab, hbb = number[sf.HAA], number[sf.HAB], number[sf.HBB]
    if flag[sf.IN_A] and flag[sf.IN_B]:
        det = haa * hbb - hab * hab
        return -(hbb * ra - hab * rb) / det, -(haa * rb - hab * ra) / det
    if flag[sf.IN_A]:
        return -ra / haa, 0.0
    return 0.0, -rb / hbb


@kernel_in_place
def change_of_force(surfaces, core, ws, contact, j, right, at):
    """Column `at` of right: what changes when entry j moves by MOVE and turns by TURN, its twist carried along."""
    vectors, number, flag = contact.vectors, contact.number, contact.flag
    n, u, u_t, force = vectors[sf.N], vectors[sf.U], vectors[sf.U_T], vectors[sf.F]
    H, work = vectors[sf.H_ROWS : sf.SOLID_POSE], vectors[sf.WORK]
    turn, move, xi, dn, slide = vectors[sf.TURN], vectors[sf.MOVE], vectors[sf.XI], vectors[sf.DN], vectors[sf.SLIDE]
    du, dut, darm, moment = vectors[sf.D_U], vectors[sf.D_UT], vectors[sf.D_ARM], vectors[sf.D_F]
    on_a, is_solid, weight = j < flag[sf.FIRST_B], flag[sf.IS_SOLID], contact.weights[j]
    for i in range(3):
        xi[i] = weight * move[i]
    for i in range(3):
        dn[i] = dot(H[i], xi)
    if is_solid and not on_a:
        add_cross(turn, n, 1.0, dn)
    dla, dmb = places_change(contact, j, xi)
    for i in range(3):
        slide[i] = dla * vectors[sf.T_A, i]
    if flag[sf.FORM_HERE] == sf.ELLIPSOID:
        row = surfaces.core[core]
        copy(dn, work)
        if on_a:
            add_cross(turn, n, -1.0, work)
        Q = surfaces.value[row[sf.CORE_AT] + sf.AXES : row[sf.CORE_AT] + sf.AXES + 9]
        lowest_point(Q, ws.pose[row[sf.NODE_0]], n, number[sf.AXIAL], work, slide)
    drawn = (number[sf.REG_A] * dla + number[sf.REG_B] * dmb) / (number[sf.AXIAL] * number[sf.AXIAL])
    for i in range(3):
        work[i] = slide[i] - dmb * vectors[sf.T_B, i]
    for i in range(3):
        dn[i] += dot(H[i], work) - drawn * n[i]
    for i in range(3):
        vectors[sf.DH, i] = -number[sf.R_A] * dn[i] - number[sf.SLOPE_A] * dla * n[i]
    # of the relative velocity: points and twists turn with their node, places and arms change
    arm = vectors[sf.ARM_A] if on_a else vectors[sf.ARM_B]
    cross(turn, contact.entries[sf.V + j], du)
    cross(turn, contact.entries[sf.W + j], work)
    add_cross(work, arm, 1.0, du)
    for i in range(3):
        du[i] = weight * du[i] + dla * vectors[sf.D_A, i] - dmb * vectors[sf.D_B, i]
        darm[i] = vectors[sf.DH, i] + (0.0 if flag[sf.TWO_A] else slide[i])
    add_cross(vectors[sf.W_A], darm, 1.0, du)
    cross(darm, force, moment)
    for i in range(3):
        right[sf.BY_ARM + i, at] = moment[i]
        darm[i] = vectors[sf.DH, i] + xi[i] + slide[i] - (dmb * vectors[sf.T_B, i] if flag[sf.TWO_B] else 0.0)
    add_cross(vectors[sf.W_B], darm, -1.0, du)
    cross(darm, force, moment)
    # of the law
    closing, chi, mu, pressed = number[sf.CLOSING], number[sf.CHI], number[sf.FRICTION], number[sf.PRESSED]
    opening = dot(dn, u) + dot(n, du)
    change = -number[sf.BY_DEPTH] * dot(n, xi) - number[sf.BY_RATE] * opening
    for i in range(3):
        right[sf.BY_OTHER_ARM + i, at] = moment[i]
        dut[i] = du[i] + closing * dn[i] - opening * n[i]
    along = chi * chi * dot(u_t, dut)
    for i in range(3):
        friction = change * u_t[i] + pressed * (dut[i] - along * u_t[i])
        right[sf.BY_FORCE + i, at] = change * n[i] + pressed * dn[i] - mu * chi * friction
    right[sf.BY_WEIGHT, at], right[sf.BY_OTHER_WEIGHT, at] = dla, dmb


@kernel_in_place
def motion_at_contact(contact, j, c, left, at):
    """Column `at` of left: what rotation c (0 to 2) or translation (3 to 5) of the node of entry j does there."""
    vectors, flag, weight, p = contact.vectors, contact.flag, contact.weights[j], contact.entries[sf.P + j]
    on_a, axis, move, work = j < flag[sf.FIRST_B], vectors[sf.AXIS], vectors[sf.MOVE], vectors[sf.WORK]
    arm = vectors[sf.ARM_A] if on_a else vectors[sf.ARM_B]
    for i in range(sf.N_ROWS):
        left[i, at] = 0.0
    for i in range(3):
        axis[i] = 1.0 if i == c % 3 else 0.0
        move[i] = 0.0 if c < 3 else axis[i]
        work[i] = p[i] + arm[i]
    if c < 3:
        cross(axis, work, move)
        left[(sf.BY_ARM if on_a else sf.BY_OTHER_ARM) + c, at] = weight
    for i in range(3):
        left[sf.BY_FORCE + i, at] = weight * move[i]
    power = dot(vectors[sf.F], move)
    if on_a and flag[sf.TWO_A]:
        left[sf.BY_WEIGHT, at] = -power if j == 0 else power
    if not on_a and flag[sf.TWO_B]:
        left[sf.BY_OTHER_WEIGHT, at] = power if j == flag[sf.FIRST_B] else -power


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
        sliding_velocity(contact.entries, 0, vectors[sf.ARM_A], vectors[sf.D_A], vectors[sf.WORK])
    if flag[sf.TWO_B]:
        sliding_velocity(contact.entries, first, vectors[sf.ARM_B], vectors[sf.D_B], vectors[sf.WORK])
    force_by_velocity(contact, by_u)
    turn, move = vectors[sf.TURN], vectors[sf.MOVE]
    for j in range(m):
        if nodes[j] < 0:
            continue
        for c in range(6):
            for i in range(3):
                one = 1.0 if i == c % 3 else 0.0
                turn[i], move[i] = (one, 0.0) if c < 3 else (0.0, one)
            if c < 3:
                cross(turn, contact.entries[sf.P + j], move)
            change_of_force(surfaces, core, ws, contact, j, right, 6 * j + c)
            motion_at_contact(contact, j, c, left, 6 * j + c)
    if linked:
        contact.linked[slot] = k
        contact.counts[sf.LINKED] += 1
    else:
        one = 0 if nodes[0] >= 0 else 1
        to_node(left, right, by_u, 6 * one, external.K[nodes[one]], external.D[nodes[one]], vectors)
