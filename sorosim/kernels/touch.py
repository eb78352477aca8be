"""One contact: nearest points and force (docs/theory.md, 12).

It acts on up to four entries, nodes with a point and a weight: those of the core first, with positive weights, then
those of the other core or of the solid.
"""

from __future__ import annotations

from math import sqrt

from sorosim.compiled import kernel_in_place
from sorosim.kernels.nearest import TO_MIDDLE, nearest_of_axes, nearest_of_segment, world_distance
from sorosim.kernels.small import add_cross, copy, cross, dot, into_world
from sorosim.kernels.solids import TOGETHER
from sorosim.kernels.surfaces import (
    A_0,
    A_1,
    ACTIVE,
    ARM_A,
    ARM_B,
    AT_POINT,
    AT_REST,
    AXES,
    AXIAL,
    B_0,
    B_1,
    BY_DEPTH,
    BY_RATE,
    CHI,
    CLOSING,
    CORE,
    CORE_AT,
    DISTANCE,
    DRAWN,
    END_0,
    END_1,
    ENTRY_NODE,
    FIRST_B,
    FORCE,
    FORM,
    FORM_HERE,
    FRICTION,
    GAP,
    GROUP,
    H_ROWS,
    HAA,
    HAB,
    HBB,
    IN_A,
    IN_B,
    IS_SOLID,
    LA,
    LAW_DAMPING,
    LAW_FRICTION,
    LAW_K,
    LAW_LOST,
    LAW_ONSET,
    LAW_P,
    LAW_SLIP,
    MB,
    N_CORE_VALUES,
    N_ENTRIES,
    N_HERE,
    N_NUMBER,
    N_STUCK,
    NO_TANGENTS,
    NODE_0,
    NODE_1,
    NORMAL,
    ONE_BODY,
    OTHER,
    OVERFLOW,
    OWN,
    POINT,
    PRESSED,
    PRESSURE,
    R_A,
    RADIUS_0,
    RADIUS_1,
    REG_A,
    REG_B,
    SEGMENT,
    SLIP,
    SLOPE_A,
    SOLID_AT,
    SOLID_KIND,
    SOLID_NODE,
    SOLID_POSE,
    SQUARE,
    STUCK,
    T_A,
    T_B,
    TWO_A,
    TWO_B,
    U_T,
    W_A,
    W_B,
    WEIGHTS,
    WORK,
    X_A,
    X_B,
    E,
    F,
    N,
    P,
    U,
    V,
    W,
)
from sorosim.kernels.touch_tangents import add_tangents
from sorosim.kernels.wrenches import add_dead, point_velocity

# the factor of damping goes to zero smoothly where it would pull, within this band
NO_PULL = 0.02


@kernel_in_place
def hertz(law, depth, rate):
    """Force, its derivatives by depth and rate, and its elastic part: k h(depth)^p (1 + c rate), never pulling."""
    w, h, slope = law[LAW_ONSET], depth, 1.0
    if depth < w:
        t = depth / w
        h, slope = w * t * t * t * (1.0 - 0.5 * t), t * t * (3.0 - 2.0 * t)
    else:
        h -= 0.5 * w
    elastic = law[LAW_K] * h ** law[LAW_P]
    stiffness = law[LAW_K] * law[LAW_P] * h ** (law[LAW_P] - 1.0) * slope
    c = law[LAW_DAMPING]
    if c == 0.0:
        return elastic, stiffness, 0.0, elastic
    factor, by_rate = 1.0 + c * rate, c
    if factor <= -NO_PULL:
        factor, by_rate = 0.0, 0.0
    elif factor < NO_PULL:
        by_rate = c * (factor + NO_PULL) / (2.0 * NO_PULL)
        factor = (factor + NO_PULL) ** 2 / (4.0 * NO_PULL)
    return elastic * factor, stiffness * factor, elastic * by_rate, elastic


@kernel_in_place
def set_entry(k, node, weight, p, ws, entries, weights, nodes):
    """Entry k of a contact: a point p of a node with a weight."""
    nodes[k], weights[k] = node, weight
    copy(p, entries[P + k])
    twist = ws.twist[node, 0]
    point_velocity(twist, p, entries[V + k])
    for i in range(3):
        entries[W + k, i] = twist[i]


@kernel_in_place
def place_solid(surfaces, k, ws, out):
    """Pose (4, 3) of a solid in the world."""
    g, frame = ws.pose[surfaces.solid[k, SOLID_NODE]], surfaces.frame[k]
    for i in range(3):
        for j in range(3):
            out[i, j] = g[i, 0] * frame[0, j] + g[i, 1] * frame[1, j] + g[i, 2] * frame[2, j]
    into_world(g, frame[3], out[3])


@kernel_in_place
def meet_solid(surfaces, core, k, ws, touch):
    """Nearest points of a core and of solid k; fills x = X_A = X_B, the normal, its change H and the numbers."""
    room, wide, number, flag = touch.room, touch.wide, touch.number, touch.flag
    a, t_a, x, n, H, g = room[A_0], room[T_A], room[X_A], room[N], room[H_ROWS : H_ROWS + 3], room[SOLID_POSE:]
    row, solid = surfaces.core[core], surfaces.solid[k]
    f, kind = surfaces.value[solid[SOLID_AT] :], solid[SOLID_KIND]
    place_solid(surfaces, k, ws, g)
    if row[FORM] == SEGMENT:
        square = surfaces.value[row[CORE_AT] + SQUARE]
        la, gap, haa = nearest_of_segment(kind, f, g, a, t_a, sqrt(square), number[SLOPE_A], x, n, H, wide)
        flag[IN_A] = 0.0 < la < 1.0
        number[LA], number[HAA] = la, haa
        number[R_A] += la * number[SLOPE_A]
        number[GAP] = gap - number[R_A]
    elif row[FORM] == POINT:
        copy(a, x)
        number[GAP] = world_distance(kind, f, g, x, n, H, wide) - number[R_A]
    else:
        # the point of an ellipsoid that is farthest against the normal of a plane: x = a - Q n / sqrt(n Q n)
        above = world_distance(kind, f, g, a, n, H, wide)
        own, y, g_A, at = room[OWN], room[WORK], ws.pose[row[NODE_0]], row[CORE_AT] + AXES
        for i in range(3):
            own[i] = g_A[0, i] * n[0] + g_A[1, i] * n[1] + g_A[2, i] * n[2]
        square = 0.0
        for i in range(3):
            q = surfaces.value[at + 3 * i : at + 3 * i + 3]
            y[i] = dot(q, own)
            square += y[i] * own[i]
        number[AXIAL] = sqrt(square)
        for i in range(3):
            x[i] = a[i] - dot(g_A[i], y) / number[AXIAL]
        number[GAP], number[R_A] = above - number[AXIAL], 0.0
    copy(x, room[X_B])


@kernel_in_place
def meet_core(surfaces, core, other, ws, touch):
    """Nearest points X_A, X_B of two cores; fills the normal, its change H and the numbers."""
    room, number, flag = touch.room, touch.number, touch.flag
    a, t_a, b, t_b, n, e = room[A_0], room[T_A], room[B_0], room[T_B], room[N], room[E]
    out, slopes = touch.wide[0, 0], room[WORK]
    row, theirs = surfaces.core[core], surfaces.core[other]
    there = surfaces.value[theirs[CORE_AT] : theirs[CORE_AT] + N_CORE_VALUES]
    free_a, free_b = row[FORM] == SEGMENT, theirs[FORM] == SEGMENT
    into_world(ws.pose[theirs[NODE_0]], there[END_0 : END_0 + 3], b)
    r_b, slope_b, mid_a, mid_b = there[RADIUS_0], 0.0, 0.0, 0.0
    if free_a:
        mid_a = TO_MIDDLE * surfaces.value[row[CORE_AT] + DRAWN]
    if free_b:
        into_world(ws.pose[theirs[NODE_1]], there[END_1 : END_1 + 3], room[B_1])
        slope_b, mid_b = there[RADIUS_1] - r_b, TO_MIDDLE * there[DRAWN]
        for i in range(3):
            t_b[i] = room[B_1, i] - b[i]
    slopes[0], slopes[1] = number[SLOPE_A], slope_b
    la, mb, in_a, in_b = nearest_of_axes(a, t_a, mid_a, free_a, b, t_b, mid_b, free_b, slopes, e, out)
    d = out[0]
    flag[IN_A], flag[IN_B] = in_a, in_b
    number[LA], number[MB], number[AXIAL] = la, mb, d
    number[HAA], number[HAB], number[HBB] = out[3], out[4], out[5]
    number[REG_A], number[REG_B] = mid_a * (la - 0.5), mid_b * (mb - 0.5)
    number[R_A] += la * number[SLOPE_A]
    number[GAP] = d - number[R_A] - r_b - mb * slope_b
    apart = dot(e, e) > TOGETHER * TOGETHER
    if not apart:
        across(t_a, t_b, n)
    for i in range(3):
        if apart:
            n[i] = e[i] / d
        room[X_A, i] = a[i] + la * t_a[i]
        room[X_B, i] = b[i] + mb * t_b[i]
    for i in range(3):
        for j in range(3):
            room[H_ROWS + i, j] = ((1.0 if i == j else 0.0) - n[i] * n[j]) / d if apart else 0.0


@kernel_in_place
def across(t_a, t_b, n):
    """A direction for axes that cross each other, or of points that are one: there is none that is nearer."""
    cross(t_a, t_b, n)
    size = sqrt(dot(n, n))
    if not size > TOGETHER * sqrt(dot(t_a, t_a) * dot(t_b, t_b)):
        t = t_a if dot(t_a, t_a) > 0.0 else t_b
        k = 0 if abs(t[0]) <= min(abs(t[1]), abs(t[2])) else (1 if abs(t[1]) <= abs(t[2]) else 2)
        n[k], n[(k + 1) % 3], n[(k + 2) % 3] = 0.0, t[(k + 2) % 3], -t[(k + 1) % 3]
        size = sqrt(dot(n, n))
    if size == 0.0:
        n[2], size = 1.0, 1.0
    for i in range(3):
        n[i] /= size


@kernel_in_place
def set_entries(surfaces, core, other, ws, touch, weights, nodes):
    """Points and weights of the nodes of the contact."""
    room, entries, flag, number = touch.room, touch.entries, touch.flag, touch.number
    row = surfaces.core[core]
    flag[TWO_A], flag[TWO_B] = row[FORM] == SEGMENT and row[ONE_BODY] == 0, 0
    if flag[TWO_A]:
        set_entry(0, row[NODE_0], 1.0 - number[LA], room[A_0], ws, entries, weights, nodes)
        set_entry(1, row[NODE_1], number[LA], room[A_1], ws, entries, weights, nodes)
    else:
        set_entry(0, row[NODE_0], 1.0, room[X_A], ws, entries, weights, nodes)
    first = 2 if flag[TWO_A] else 1
    node = surfaces.solid[-1 - other, SOLID_NODE] if other < 0 else surfaces.core[other, NODE_0]
    if other >= 0 and surfaces.core[other, FORM] == SEGMENT and surfaces.core[other, ONE_BODY] == 0:
        flag[TWO_B] = 1
        set_entry(first, node, number[MB] - 1.0, room[B_0], ws, entries, weights, nodes)
        set_entry(first + 1, surfaces.core[other, NODE_1], -number[MB], room[B_1], ws, entries, weights, nodes)
    else:
        set_entry(first, node, -1.0, room[X_B], ws, entries, weights, nodes)
    flag[FIRST_B], flag[N_HERE] = first, first + 1 + flag[TWO_B]


@kernel_in_place
def contact_force(law, touch, weights):
    """Relative velocity at the contact and the force there, with what its tangents need of the law."""
    room, entries, flag, number = touch.room, touch.entries, touch.flag, touch.number
    n, u, u_t, force, arm_a, arm_b = room[N], room[U], room[U_T], room[F], room[ARM_A], room[ARM_B]
    for i in range(3):
        arm_a[i] = -number[R_A] * n[i]
        arm_b[i] = arm_a[i] + room[X_A, i] - room[X_B, i]
        u[i], room[W_A, i], room[W_B, i] = 0.0, 0.0, 0.0
    for j in range(flag[N_HERE]):
        side = room[W_A] if j < flag[FIRST_B] else room[W_B]
        for i in range(3):
            u[i] += weights[j] * entries[V + j, i]
            side[i] += abs(weights[j]) * entries[W + j, i]
    add_cross(room[W_A], arm_a, 1.0, u)
    add_cross(room[W_B], arm_b, -1.0, u)
    for i in range(3):
        u[i] += room[STUCK, i]
    closing = -dot(n, u)
    # rates of statics are no rates: they are the way of what sticks
    approach = 0.0 if touch.counts[AT_REST] != 0 else closing
    pressed, by_depth, by_rate, elastic = hertz(law, -number[GAP], approach)
    if touch.counts[AT_REST] != 0:
        by_rate = 0.0
    mu, slow, speed, chi = law[LAW_FRICTION], law[LAW_SLIP], 0.0, 0.0
    for i in range(3):
        u_t[i] = u[i] + closing * n[i]
        speed += u_t[i] * u_t[i]
    if mu > 0.0:
        chi = 1.0 / sqrt(speed + slow * slow)
    normal = pressed - (elastic if law[LAW_LOST] != 0.0 else 0.0)
    for i in range(3):
        force[i] = normal * n[i] - mu * pressed * chi * u_t[i]
    number[PRESSED], number[BY_DEPTH], number[BY_RATE] = pressed, by_depth, by_rate
    number[CLOSING], number[CHI], number[FRICTION] = closing, chi, mu


@kernel_in_place
def recall(touch, group, core, other):
    """What a contact that stuck before adds to its velocity, zero for any other."""
    slip = touch.room[STUCK]
    for i in range(3):
        slip[i] = 0.0
    for k in range(touch.counts[N_STUCK]):
        if touch.stuck[k, 0] == group and touch.stuck[k, 1] == core and touch.stuck[k, 2] == other:
            copy(touch.stuck_slip[k], slip)


@kernel_in_place
def touch_pair(surfaces, group, core, other, ws, touch, external):
    """The contact of a core with another one, or with the solid -1 - other, if they touch.

    Adds its wrenches and tangents to `external`, and what couples nodes to the rows of `touch`.
    """
    room, number, flag, law = touch.room, touch.number, touch.flag, surfaces.law[group]
    row = surfaces.core[core]
    values = surfaces.value[row[CORE_AT] : row[CORE_AT] + N_CORE_VALUES]
    for i in range(N_NUMBER):
        number[i] = 0.0
    flag[FORM_HERE], flag[IS_SOLID], flag[IN_A], flag[IN_B] = row[FORM], other < 0, 0, 0
    number[AXIAL], number[R_A] = 1.0, values[RADIUS_0]
    into_world(ws.pose[row[NODE_0]], values[END_0 : END_0 + 3], room[A_0])
    for i in range(3):
        room[T_A, i], room[T_B, i] = 0.0, 0.0
    if row[FORM] == SEGMENT:
        into_world(ws.pose[row[NODE_1]], values[END_1 : END_1 + 3], room[A_1])
        number[SLOPE_A] = values[RADIUS_1] - values[RADIUS_0]
        for i in range(3):
            room[T_A, i] = room[A_1, i] - room[A_0, i]
    if other < 0:
        meet_solid(surfaces, core, -1 - other, ws, touch)
    else:
        meet_core(surfaces, core, other, ws, touch)
    touch.nearest[group] = min(touch.nearest[group], number[GAP])
    if not number[GAP] < 0.0:
        return
    k = touch.counts[ACTIVE]
    if k >= touch.entry.shape[0]:
        touch.counts[OVERFLOW] = 1
        return
    touch.counts[ACTIVE] += 1
    nodes = touch.entry[k, ENTRY_NODE:]
    weights = room[WEIGHTS : WEIGHTS + 2].reshape(6)
    set_entries(surfaces, core, other, ws, touch, weights, nodes)
    recall(touch, group, core, other)
    contact_force(law, touch, weights)
    keep(touch, k, group, core, other)
    force, dead = room[F], touch.wide[0, 0]
    for j in range(flag[N_HERE]):
        if nodes[j] >= 0:
            cross(room[ARM_A] if j < flag[FIRST_B] else room[ARM_B], force, dead)
            for i in range(3):
                dead[3 + i] = force[i]
            add_dead(touch.entries[P + j], dead, weights[j], nodes[j], external)
    if law[LAW_LOST] == 0.0 and touch.counts[NO_TANGENTS] == 0:
        add_tangents(surfaces, core, k, ws, touch, weights, nodes, external)


@kernel_in_place
def keep(touch, k, group, core, other):
    """Record a contact, with a unit normal."""
    entry, value, room = touch.entry[k], touch.value[k], touch.room
    size = sqrt(dot(room[N], room[N]))
    entry[GROUP], entry[CORE], entry[OTHER], entry[N_ENTRIES] = group, core, other, touch.flag[N_HERE]
    for i in range(3):
        value[AT_POINT + i] = room[X_A, i] + room[ARM_A, i]
        value[NORMAL + i] = room[N, i] / size
        value[FORCE + i] = room[F, i]
        value[SLIP + i] = room[U_T, i]
    value[DISTANCE], value[PRESSURE] = touch.number[GAP], touch.number[PRESSED] * size
