"""Tangents of the force of a contact (docs/theory.md, 12).

What the wrenches on its nodes change by is a sum of few products, of what a motion of the nodes does at the contact
(`left`) and of how the force, its arms and weights change with a motion (`right`).
"""

from __future__ import annotations

from sorosim.compiled import kernel_in_place
from sorosim.kernels.small import add_cross, cross, dot
from sorosim.kernels.surfaces import (
    ARM_A,
    ARM_B,
    AXES,
    AXIAL,
    AXIS,
    BY_ARM,
    BY_DEPTH,
    BY_FORCE,
    BY_OTHER_ARM,
    BY_OTHER_WEIGHT,
    BY_RATE,
    BY_WEIGHT,
    CHI,
    CLOSING,
    CORE_AT,
    D_A,
    D_ARM,
    D_B,
    D_F,
    D_U,
    D_UT,
    DH,
    DN,
    ELLIPSOID,
    FIRST_B,
    FORM_HERE,
    FRICTION,
    H_ROWS,
    HAA,
    HAB,
    HBB,
    IN_A,
    IN_B,
    IS_SOLID,
    LINKED,
    MOVE,
    N_HERE,
    N_ROWS,
    NODE_0,
    PRESSED,
    R_A,
    REG_A,
    REG_B,
    SLIDE,
    SLOPE_A,
    T_A,
    T_B,
    TURN,
    TWO_A,
    TWO_B,
    U_T,
    W_A,
    W_B,
    WORK,
    XI,
    F,
    N,
    P,
    U,
    V,
    W,
)


@kernel_in_place
def sliding_velocity(entries, first, arm, out, work):
    """Difference of the velocities of two entries, at the contact."""
    for i in range(3):
        out[i] = entries[V + first + 1, i] - entries[V + first, i]
        work[i] = entries[W + first + 1, i] - entries[W + first, i]
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
    ds = 0.0
    for i in range(3):
        own = g[0, i] * n[0] + g[1, i] * n[1] + g[2, i] * n[2]
        for j in range(3):
            ds += own * Q[3 * i + j] * (g[0, j] * dn[0] + g[1, j] * dn[1] + g[2, j] * dn[2])
    ds /= size
    for r in range(3):
        out[r] = 0.0
    for i in range(3):
        change = 0.0
        for j in range(3):
            own = g[0, j] * n[0] + g[1, j] * n[1] + g[2, j] * n[2]
            change += Q[3 * i + j] * (g[0, j] * dn[0] + g[1, j] * dn[1] + g[2, j] * dn[2] - own * ds / size) / size
        for r in range(3):
            out[r] -= g[r, i] * change


@kernel_in_place
def to_node(left, right, by_u, at, K, D, room):
    """Add the tangents of a contact with one moving node, whose columns begin at `at`, to those of the node."""
    y = room[WORK]
    for i in range(6):
        for j in range(6):
            total = 0.0
            for r in range(N_ROWS):
                total += left[r, at + i] * right[r, at + j]
            K[i, j] += total
    for j in range(6):
        for r in range(3):
            y[r] = by_u[r, 0] * left[0, at + j] + by_u[r, 1] * left[1, at + j] + by_u[r, 2] * left[2, at + j]
        for i in range(6):
            D[i, j] += left[0, at + i] * y[0] + left[1, at + i] * y[1] + left[2, at + i] * y[2]


@kernel_in_place
def force_by_velocity(touch, out):
    """out (3, 3): derivative of the force by the relative velocity."""
    number, n, u_t = touch.number, touch.room[N], touch.room[U_T]
    chi, by_rate, mu, pressed = number[CHI], number[BY_RATE], number[FRICTION], number[PRESSED]
    skewed = dot(u_t, n)  # zero, but for what draws segments to their middles
    for i in range(3):
        for j in range(3):
            across = (1.0 if i == j else 0.0) - n[i] * n[j]
            along = u_t[i] * (u_t[j] - skewed * n[j])
            out[i, j] = by_rate * n[j] * (mu * chi * u_t[i] - n[i]) - mu * pressed * chi * (across - chi * chi * along)


@kernel_in_place
def places_change(touch, j, xi):
    """By how much the places on both segments change when entry j moves: by its weight times, xi, and turns."""
    room, number, flag = touch.room, touch.number, touch.flag
    if not (flag[IN_A] or flag[IN_B]):
        return 0.0, 0.0
    dn, n, turn, move, work = room[DN], room[N], room[TURN], room[MOVE], room[WORK]
    first, on_a, ra, rb = flag[FIRST_B], j < flag[FIRST_B], 0.0, 0.0
    drawn = dot(n, xi) / (number[AXIAL] * number[AXIAL])
    if flag[IN_A]:
        ra = dot(dn, room[T_A]) - drawn * number[REG_A]
        if on_a:
            ra += turning(flag[TWO_A], j, turn, room[T_A], move, n, work)
    if flag[IN_B]:
        rb = -dot(dn, room[T_B]) - drawn * number[REG_B]
        if not on_a:
            rb -= turning(flag[TWO_B], j - first, turn, room[T_B], move, n, work)
    haa, hab, hbb = number[HAA], number[HAB], number[HBB]
    if flag[IN_A] and flag[IN_B]:
        det = haa * hbb - hab * hab
        return -(hbb * ra - hab * rb) / det, -(haa * rb - hab * ra) / det
    if flag[IN_A]:
        return -ra / haa, 0.0
    return 0.0, -rb / hbb


@kernel_in_place
def change_of_force(surfaces, core, ws, touch, j, weight, right, at):
    """Column `at` of right: what changes when entry j moves by MOVE and turns by TURN, its twist carried along."""
    room, number, flag = touch.room, touch.number, touch.flag
    n, u, u_t, force, H = room[N], room[U], room[U_T], room[F], room[H_ROWS : H_ROWS + 3]
    turn, move, xi, dn, slide = room[TURN], room[MOVE], room[XI], room[DN], room[SLIDE]
    du, dut, darm, moment, work = room[D_U], room[D_UT], room[D_ARM], room[D_F], room[WORK]
    on_a, is_solid = j < flag[FIRST_B], flag[IS_SOLID]
    for i in range(3):
        xi[i] = weight * move[i]
    for i in range(3):
        dn[i] = dot(H[i], xi)
    if is_solid and not on_a:
        add_cross(turn, n, 1.0, dn)
    dla, dmb = places_change(touch, j, xi)
    for i in range(3):
        slide[i] = dla * room[T_A, i]
    if flag[FORM_HERE] == ELLIPSOID:
        row = surfaces.core[core]
        for i in range(3):
            work[i] = dn[i]
        if on_a:
            add_cross(turn, n, -1.0, work)
        Q = surfaces.value[row[CORE_AT] + AXES : row[CORE_AT] + AXES + 9]
        lowest_point(Q, ws.pose[row[NODE_0]], n, number[AXIAL], work, slide)
    drawn = (number[REG_A] * dla + number[REG_B] * dmb) / (number[AXIAL] * number[AXIAL])
    for i in range(3):
        work[i] = slide[i] - dmb * room[T_B, i]
    for i in range(3):
        dn[i] += dot(H[i], work) - drawn * n[i]
    for i in range(3):
        room[DH, i] = -number[R_A] * dn[i] - number[SLOPE_A] * dla * n[i]
    # of the relative velocity: points and twists turn with their node, places and arms change
    arm = room[ARM_A] if on_a else room[ARM_B]
    cross(turn, touch.entries[V + j], du)
    cross(turn, touch.entries[W + j], work)
    add_cross(work, arm, 1.0, du)
    for i in range(3):
        du[i] = weight * du[i] + dla * room[D_A, i] - dmb * room[D_B, i]
        darm[i] = room[DH, i] + (0.0 if flag[TWO_A] else slide[i])
    add_cross(room[W_A], darm, 1.0, du)
    cross(darm, force, moment)
    for i in range(3):
        right[BY_ARM + i, at] = moment[i]
        darm[i] = room[DH, i] + xi[i] + slide[i] - (dmb * room[T_B, i] if flag[TWO_B] else 0.0)
    add_cross(room[W_B], darm, -1.0, du)
    cross(darm, force, moment)
    # of the law
    closing, chi, mu, pressed = number[CLOSING], number[CHI], number[FRICTION], number[PRESSED]
    opening = dot(dn, u) + dot(n, du)
    change = -number[BY_DEPTH] * dot(n, xi) - number[BY_RATE] * opening
    for i in range(3):
        right[BY_OTHER_ARM + i, at] = moment[i]
        dut[i] = du[i] + closing * dn[i] - opening * n[i]
    along = chi * chi * dot(u_t, dut)
    for i in range(3):
        friction = change * u_t[i] + pressed * (dut[i] - along * u_t[i])
        right[BY_FORCE + i, at] = change * n[i] + pressed * dn[i] - mu * chi * friction
    right[BY_WEIGHT, at], right[BY_OTHER_WEIGHT, at] = dla, dmb


@kernel_in_place
def motion_at_contact(touch, j, c, weight, left, at):
    """Column `at` of left: what rotation c (0 to 2) or translation (3 to 5) of the node of entry j does there."""
    room, flag = touch.room, touch.flag
    on_a, p, axis, move, work = j < flag[FIRST_B], touch.entries[P + j], room[AXIS], room[MOVE], room[WORK]
    arm = room[ARM_A] if on_a else room[ARM_B]
    for i in range(N_ROWS):
        left[i, at] = 0.0
    for i in range(3):
        axis[i] = 1.0 if i == c % 3 else 0.0
        move[i] = 0.0 if c < 3 else axis[i]
        work[i] = p[i] + arm[i]
    if c < 3:
        cross(axis, work, move)
        left[(BY_ARM if on_a else BY_OTHER_ARM) + c, at] = weight
    for i in range(3):
        left[BY_FORCE + i, at] = weight * move[i]
    power = dot(room[F], move)
    if on_a and flag[TWO_A]:
        left[BY_WEIGHT, at] = -power if j == 0 else power
    if not on_a and flag[TWO_B]:
        left[BY_OTHER_WEIGHT, at] = power if j == flag[FIRST_B] else -power


@kernel_in_place
def add_tangents(surfaces, core, k, ws, touch, weights, nodes, external):
    """Tangents of contact k: to its node if only one moves, else rows of `touch`."""
    room, flag = touch.room, touch.flag
    m, first = flag[N_HERE], flag[FIRST_B]
    linked = m > 2 or (nodes[0] >= 0 and nodes[1] >= 0)
    slot = touch.counts[LINKED]  # one that needs no rows only borrows the next
    left, right, by_u = touch.left[slot], touch.right[slot], touch.rate[slot]
    for i in range(3):
        room[D_A, i], room[D_B, i] = 0.0, 0.0
    if flag[TWO_A]:
        sliding_velocity(touch.entries, 0, room[ARM_A], room[D_A], room[WORK])
    if flag[TWO_B]:
        sliding_velocity(touch.entries, first, room[ARM_B], room[D_B], room[WORK])
    force_by_velocity(touch, by_u)
    turn, move = room[TURN], room[MOVE]
    for j in range(m):
        if nodes[j] < 0:
            continue
        for c in range(6):
            for i in range(3):
                one = 1.0 if i == c % 3 else 0.0
                turn[i], move[i] = (one, 0.0) if c < 3 else (0.0, one)
            if c < 3:
                cross(turn, touch.entries[P + j], move)
            change_of_force(surfaces, core, ws, touch, j, weights[j], right, 6 * j + c)
            motion_at_contact(touch, j, c, weights[j], left, 6 * j + c)
    if linked:
        touch.linked[slot] = k
        touch.counts[LINKED] += 1
    else:
        one = 0 if nodes[0] >= 0 else 1
        to_node(left, right, by_u, 6 * one, external.K[nodes[one]], external.D[nodes[one]], room)
