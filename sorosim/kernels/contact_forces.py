"""One contact: nearest points and force (docs/theory.md, 12).

It acts on up to four entries, nodes with a point and a weight: those of the core first, with positive weights, then
those of the other core or of the solid. Where two pieces of rods meet, weights are those of Hermite's cubic, and the
points are ahead of the nodes along the rod, or behind; where a piece meets a body, those of its moved chord.
"""

from __future__ import annotations

from math import sqrt

from sorosim.compiled import kernel_in_place, kernel_inline
from sorosim.kernels import surfaces as sf
from sorosim.kernels.contact_tangents import add_tangents
from sorosim.kernels.kinematics import compose_into
from sorosim.kernels.nearest import (
    TO_MIDDLE,
    Axis,
    Disc,
    Solid,
    nearest_of_axes,
    nearest_of_disc,
    nearest_of_segment,
    place_on,
    world_distance,
)
from sorosim.kernels.small import add_cross, copy, into_world
from sorosim.kernels.solids import TOGETHER
from sorosim.kernels.wrenches import add_weighted_dead
from sorosim.lie.triples import (
    cross,
    dot,
    head,
    rows,
    scaled,
    store,
    store_row,
    sum2,
    sum3,
    tail,
    times,
    transposed_times,
)
from sorosim.lie.triples import row as vector

# the factor of damping goes to zero smoothly where it would pull, within this band
NO_PULL = 0.02
# the middle of Hermite's cubic is off that of its chord by this part of the tangents' difference
TO_CURVE = 0.125


@kernel_in_place
def hertz(law, depth, rate):
    """Force, its derivatives by depth and rate, and its elastic part: k h(depth)^p (1 + c rate), never pulling."""
    w, h, slope = law[sf.LAW_ONSET], depth, 1.0
    if depth < w:
        t = depth / w
        h, slope = w * t * t * t * (1.0 - 0.5 * t), t * t * (3.0 - 2.0 * t)
    else:
        h -= 0.5 * w
    elastic = law[sf.LAW_K] * h ** law[sf.LAW_P]
    stiffness = law[sf.LAW_K] * law[sf.LAW_P] * h ** (law[sf.LAW_P] - 1.0) * slope
    c = law[sf.LAW_DAMPING]
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
def weighted_velocity(twist, weight, p):
    """Velocity of a point of a node times its weight; p: the point times its weight."""
    return sum2(weight, tail(twist), 1.0, cross(head(twist), p))


@kernel_in_place
def set_entry(k, node, weight, p, along, p_along, ws, contact, entry):
    """Entry k of a contact: a point of a node with a weight, p their product; how both change along the segment."""
    entries, twist = contact.entries, ws.twist[node, 0]
    entry[sf.ENTRY_NODE + k] = node
    contact.weights[sf.WEIGHT, k], contact.weights[sf.WEIGHT_ALONG, k] = weight, along
    store_row(p, entries[sf.P + k])
    store_row(p_along, entries[sf.P_ALONG + k])
    store_row(weighted_velocity(twist, weight, p), entries[sf.V + k])
    store_row(weighted_velocity(twist, along, p_along), entries[sf.V_ALONG + k])
    store_row(head(twist), entries[sf.W + k])


@kernel_in_place
def set_piece(k, nodes, sign, x, ends, tangents, on_curve, ws, contact, entry):
    """Entries k, k + 1: place x of a piece of a rod, on its curve, or on its chord moved to the middle of the curve."""
    y = 1.0 - x
    w, along = (x * x * (3.0 - 2.0 * x), 6.0 * x * y) if on_curve else (x, 1.0)
    a_0, a_1 = (x * y * y, -x * x * y) if on_curve else (TO_CURVE, -TO_CURVE)
    b_0, b_1 = (y * (1.0 - 3.0 * x), x * (3.0 * x - 2.0)) if on_curve else (0.0, 0.0)
    p, t = vector(ends, 0), vector(tangents, 0)
    point, change = sum2(sign * (1.0 - w), p, sign * a_0, t), sum2(-sign * along, p, sign * b_0, t)
    set_entry(k, nodes[0], sign * (1.0 - w), point, -sign * along, change, ws, contact, entry)
    p, t = vector(ends, 1), vector(tangents, 1)
    point, change = sum2(sign * w, p, sign * a_1, t), sum2(sign * along, p, sign * b_1, t)
    set_entry(k + 1, nodes[1], sign * w, point, sign * along, change, ws, contact, entry)


@kernel_in_place
def move_chord(begin, tangents, out):
    """Where a piece of a rod begins, moved until its chord meets the middle of its curve: one place on it is nearest.

    A curve around a solid or a ball may be as near to it in many places.
    """
    store_row(sum3(1.0, head(begin), TO_CURVE, vector(tangents, 0), -TO_CURVE, vector(tangents, 1)), out)


@kernel_inline
def is_piece(row):
    """Whether a core is a piece of a rod, between two of its nodes."""
    return row[sf.FORM] == sf.SEGMENT and row[sf.ONE_BODY] == 0


@kernel_in_place
def nearest_on_solid(surfaces, core, k, ws, contact):
    """Nearest points of a core and of solid k; fills x = X_A = X_B, the normal, its change H and the numbers."""
    vectors, wide, number, flag = contact.vectors, contact.wide, contact.number, contact.flag
    a, t_a, x, n = vectors[sf.A_0], vectors[sf.T_A], vectors[sf.X_A], vectors[sf.N]
    H, g = vectors[sf.H_ROWS : sf.SOLID_POSE], vectors[sf.SOLID_POSE : sf.STUCK]
    row, solid_row = surfaces.core[core], surfaces.solid[k]
    pose, frame = ws.pose[solid_row[sf.SOLID_NODE]], surfaces.frame[k]
    compose_into(pose[:3], pose[3], frame[:3], frame[3], g)
    solid = Solid(solid_row[sf.SOLID_KIND], surfaces.value[solid_row[sf.SOLID_AT] :], g)
    if row[sf.FORM] == sf.SEGMENT:
        square, begin = surfaces.value[row[sf.CORE_AT] + sf.SQUARE], vectors[sf.E]
        copy(a, begin)
        if row[sf.ONE_BODY] == 0:
            move_chord(a, vectors[sf.TANGENTS_A :], begin)
        reach, slope = contact.reach[0] + number[sf.R_A], number[sf.SLOPE_A]
        la, gap, haa = nearest_of_segment(solid, begin, t_a, sqrt(square), slope, reach, x, n, H, wide)
        flag[sf.IN_A] = 0.0 < la < 1.0
        number[sf.LA], number[sf.HAA] = la, haa
        number[sf.R_A] += la * slope
        number[sf.GAP] = gap - number[sf.R_A]
    elif row[sf.FORM] == sf.POINT:
        copy(a, x)
        number[sf.GAP] = world_distance(solid, x, n, H, wide) - number[sf.R_A]
    elif row[sf.FORM] == sf.DISC:
        R_A, at, axes = ws.pose[row[sf.NODE_0]], row[sf.CORE_AT], vectors[sf.DISC_AXES : sf.DISC_AXES + 3]
        for i in range(3):
            axes[0, i], axes[1, i] = R_A[i, 1], R_A[i, 2]
            axes[2, i] = surfaces.value[at + sf.OUTWARD] * R_A[i, 0]
        disc = Disc(a, axes, surfaces.value[at + sf.RADIUS_0], surfaces.value[at + sf.DOME])
        slide = vectors[sf.SLIDE : sf.SLIDE + 3]
        number[sf.GAP] = nearest_of_disc(solid, disc, contact.reach[0], x, n, H, slide, wide)
        number[sf.R_A] = 0.0
        if solid_row[sf.SOLID_OF_ROD] != 0:
            number[sf.SHARE] = sf.EACH_END
    else:
        # the point of an ellipsoid that is farthest against the normal of a plane: x = a - Q n / sqrt(n Q n)
        inner, at = vectors[sf.E], row[sf.CORE_AT] + sf.INNER
        into_world(ws.pose[row[sf.NODE_0]], surfaces.value[at : at + 3], inner)
        above = world_distance(solid, inner, n, H, wide)
        above += dot(n, sum2(1.0, head(a), -1.0, head(inner)))
        R_A, at = rows(ws.pose[row[sf.NODE_0]]), row[sf.CORE_AT] + sf.AXES
        own = transposed_times(R_A, n)
        y = times(surfaces.value[at : at + 9].reshape(3, 3), own)
        number[sf.AXIAL] = sqrt(dot(y, own))
        lowest = times(R_A, y)
        for i in range(3):
            x[i] = a[i] - lowest[i] / number[sf.AXIAL]
        number[sf.GAP], number[sf.R_A] = above - number[sf.AXIAL], 0.0
    copy(x, vectors[sf.X_B])


@kernel_in_place
def nearest_on_core(surfaces, core, other, ws, contact):
    """Nearest points X_A, X_B of two cores; fills the normal, its change H and the numbers."""
    vectors, number, flag = contact.vectors, contact.number, contact.flag
    a, t_a, b, t_b = vectors[sf.A_0], vectors[sf.T_A], vectors[sf.B_0], vectors[sf.T_B]
    n, e = vectors[sf.N], vectors[sf.E]
    out = contact.wide[0, 0]
    row, other_row = surfaces.core[core], surfaces.core[other]
    other_value = surfaces.value[other_row[sf.CORE_AT] : other_row[sf.CORE_AT] + sf.N_CORE_VALUES]
    free_a, free_b = row[sf.FORM] == sf.SEGMENT, other_row[sf.FORM] == sf.SEGMENT
    r_b, slope_b, mid_a, mid_b = other_value[sf.RADIUS_0], 0.0, 0.0, 0.0
    if free_a:
        mid_a = TO_MIDDLE * surfaces.value[row[sf.CORE_AT] + sf.DRAWN]
    if free_b:
        segment_ends(other_row, other_value, ws, vectors[sf.B_0 :], t_b, vectors[sf.TANGENTS_B :])
        slope_b, mid_b = other_value[sf.RADIUS_1] - r_b, TO_MIDDLE * other_value[sf.DRAWN]
    else:
        into_world(ws.pose[other_row[sf.NODE_0]], other_value[sf.END_0 : sf.END_0 + 3], b)
    # tangents less the chord; of a piece that is straight the first row is where its moved chord begins
    bends_a, bends_b = vectors[sf.BENDS_A :], vectors[sf.BENDS_B :]
    for end in range(2):
        store_row(sum2(1.0, vector(vectors, sf.TANGENTS_A + end), -1.0, head(t_a)), bends_a[end])
        store_row(sum2(1.0, vector(vectors, sf.TANGENTS_B + end), -1.0, head(t_b)), bends_b[end])
    curved = is_piece(row) and is_piece(other_row)
    begin_a, begin_b = a, b
    if is_piece(row) and not curved:
        begin_a = bends_a[0]
        move_chord(a, vectors[sf.TANGENTS_A :], begin_a)
    if is_piece(other_row) and not curved:
        begin_b = bends_b[0]
        move_chord(b, vectors[sf.TANGENTS_B :], begin_b)
    axis_a = Axis(begin_a, t_a, bends_a, mid_a, number[sf.SLOPE_A], free_a, curved)
    axis_b = Axis(begin_b, t_b, bends_b, mid_b, slope_b, free_b, curved)
    reach = contact.reach[0] + number[sf.R_A] + r_b
    la, mb, in_a, in_b = nearest_of_axes(axis_a, axis_b, reach, e, out)
    x_a, along_a, _ = place_on(axis_a, la)
    x_b, along_b, _ = place_on(axis_b, mb)
    store_row(x_a, vectors[sf.X_A])
    store_row(x_b, vectors[sf.X_B])
    store_row(along_a, t_a)
    store_row(along_b, t_b)
    d = out[0]
    flag[sf.IN_A], flag[sf.IN_B] = in_a, in_b
    number[sf.LA], number[sf.MB], number[sf.AXIAL] = la, mb, d
    number[sf.HAA], number[sf.HAB], number[sf.HBB] = out[3], out[4], out[5]
    number[sf.REG_A], number[sf.REG_B] = mid_a * (la - 0.5), mid_b * (mb - 0.5)
    number[sf.R_A] += la * number[sf.SLOPE_A]
    number[sf.GAP] = d - number[sf.R_A] - r_b - mb * slope_b
    apart = dot(e, e) > TOGETHER * TOGETHER
    if not apart:
        across(t_a, t_b, n)
    for i in range(3):
        if apart:
            n[i] = e[i] / d
    for i in range(3):
        for j in range(3):
            vectors[sf.H_ROWS + i, j] = ((1.0 if i == j else 0.0) - n[i] * n[j]) / d if apart else 0.0


@kernel_in_place
def segment_ends(row, values, ws, ends, chord, tangents):
    """Ends (2, 3) of a segment in the world, the vector between them, and tangents (2, 3) there if it has any."""
    for end in range(2):
        pose, first = ws.pose[row[sf.NODE_0 + end]], sf.END_0 if end == 0 else sf.END_1
        into_world(pose, values[first : first + 3], ends[end])
        if row[sf.ONE_BODY] == 0:
            store_row(times(rows(pose), head(values[sf.TANGENT_0 + 3 * end :])), tangents[end])
    store_row(sum2(1.0, vector(ends, 1), -1.0, vector(ends, 0)), chord)


@kernel_in_place
def across(t_a, t_b, n):
    """A normal for crossing axes or coincident points, whose nearest direction is undefined."""
    store_row(cross(t_a, t_b), n)
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
def set_entries(surfaces, core, other, ws, contact, entry):
    """Points and weights of the nodes of the contact."""
    vectors, flag, number = contact.vectors, contact.flag, contact.number
    row = surfaces.core[core]
    flag[sf.TWO_A], flag[sf.TWO_B] = is_piece(row), other >= 0 and is_piece(surfaces.core[other])
    on_curve = flag[sf.TWO_A] and flag[sf.TWO_B]
    if flag[sf.TWO_A]:
        ends, tangents = vectors[sf.A_0 :], vectors[sf.TANGENTS_A :]
        set_piece(0, row[sf.NODE_0 :], 1.0, number[sf.LA], ends, tangents, on_curve, ws, contact, entry)
    else:
        x, t = vector(vectors, sf.X_A), vector(vectors, sf.T_A)
        set_entry(0, row[sf.NODE_0], 1.0, x, 0.0, t, ws, contact, entry)
    first = 2 if flag[sf.TWO_A] else 1
    if flag[sf.TWO_B]:
        ends, tangents, nodes = vectors[sf.B_0 :], vectors[sf.TANGENTS_B :], surfaces.core[other, sf.NODE_0 :]
        set_piece(first, nodes, -1.0, number[sf.MB], ends, tangents, on_curve, ws, contact, entry)
    else:
        node = surfaces.solid[-1 - other, sf.SOLID_NODE] if other < 0 else surfaces.core[other, sf.NODE_0]
        x, t = scaled(-1.0, vector(vectors, sf.X_B)), scaled(-1.0, vector(vectors, sf.T_B))
        set_entry(first, node, -1.0, x, 0.0, t, ws, contact, entry)
    flag[sf.FIRST_B], flag[sf.N_HERE] = first, first + 1 + flag[sf.TWO_B]


@kernel_in_place
def contact_force(law, contact):
    """Relative velocity at the contact and the force there, with what its tangents need of the law."""
    vectors, entries, weights, number = contact.vectors, contact.entries, contact.weights[sf.WEIGHT], contact.number
    n, u, u_t, force = vectors[sf.N], vectors[sf.U], vectors[sf.U_T], vectors[sf.F]
    arm_a, arm_b = vectors[sf.ARM_A], vectors[sf.ARM_B]
    for i in range(3):
        arm_a[i] = -number[sf.R_A] * n[i]
        arm_b[i] = arm_a[i] + vectors[sf.X_A, i] - vectors[sf.X_B, i]
        u[i], vectors[sf.W_A, i], vectors[sf.W_B, i] = 0.0, 0.0, 0.0
    for j in range(contact.flag[sf.N_HERE]):
        side = vectors[sf.W_A] if j < contact.flag[sf.FIRST_B] else vectors[sf.W_B]
        for i in range(3):
            u[i] += entries[sf.V + j, i]
            side[i] += abs(weights[j]) * entries[sf.W + j, i]
    add_cross(vectors[sf.W_A], arm_a, 1.0, u)
    add_cross(vectors[sf.W_B], arm_b, -1.0, u)
    for i in range(3):
        u[i] += vectors[sf.STUCK, i]
    closing, size = -dot(n, u), sqrt(dot(n, n))
    # in statics rates stand for displacements of what sticks
    approach = 0.0 if contact.counts[sf.AT_REST] != 0 else closing
    pressed, by_depth, by_rate, elastic = hertz(law, -number[sf.GAP], approach)
    share = number[sf.SHARE]
    pressed, by_depth, by_rate, elastic = share * pressed, share * by_depth, share * by_rate, share * elastic
    if contact.counts[sf.AT_REST] != 0:
        by_rate = 0.0
    mu, slow, speed, chi = law[sf.LAW_FRICTION], law[sf.LAW_SLIP], 0.0, 0.0
    for i in range(3):
        u_t[i] = u[i] + closing / (size * size) * n[i]
        speed += u_t[i] * u_t[i]
    if mu > 0.0:
        chi = 1.0 / sqrt(speed + slow * slow)
    normal = pressed - (elastic if law[sf.LAW_DISSIPATIVE_ONLY] != 0.0 else 0.0)
    for i in range(3):
        force[i] = normal * n[i] - mu * pressed * size * chi * u_t[i]
    number[sf.PRESSED], number[sf.BY_DEPTH], number[sf.BY_RATE] = pressed, by_depth, by_rate
    number[sf.CLOSING], number[sf.CHI], number[sf.FRICTION], number[sf.SIZE] = closing, chi, mu, size


@kernel_in_place
def previous_slip(contact, group, core, other):
    """The velocity that a sticking contact adds, from its stored displacement; zero for others."""
    slip = contact.vectors[sf.STUCK]
    for i in range(3):
        slip[i] = 0.0
    for k in range(contact.counts[sf.N_STUCK]):
        if contact.stuck[k, 0] == group and contact.stuck[k, 1] == core and contact.stuck[k, 2] == other:
            copy(contact.stuck_slip[k], slip)


@kernel_in_place
def evaluate_pair(surfaces, group, core, other, ws, contact, external):
    """The contact of a core with another one, or with the solid -1 - other, if they touch.

    Adds its wrenches and tangents to `external`, and what couples nodes to the rows of `contact`.
    """
    vectors, number, flag, law = contact.vectors, contact.number, contact.flag, surfaces.law[group]
    row = surfaces.core[core]
    values = surfaces.value[row[sf.CORE_AT] : row[sf.CORE_AT] + sf.N_CORE_VALUES]
    for i in range(sf.N_NUMBER):
        number[i] = 0.0
    flag[sf.FORM_HERE], flag[sf.IS_SOLID], flag[sf.IN_A], flag[sf.IN_B] = row[sf.FORM], other < 0, 0, 0
    number[sf.AXIAL], number[sf.R_A], number[sf.SHARE] = 1.0, values[sf.RADIUS_0], 1.0
    for i in range(3):
        vectors[sf.T_A, i], vectors[sf.T_B, i] = 0.0, 0.0
    if row[sf.FORM] == sf.SEGMENT:
        number[sf.SLOPE_A] = values[sf.RADIUS_1] - values[sf.RADIUS_0]
        segment_ends(row, values, ws, vectors[sf.A_0 :], vectors[sf.T_A], vectors[sf.TANGENTS_A :])
    else:
        into_world(ws.pose[row[sf.NODE_0]], values[sf.END_0 : sf.END_0 + 3], vectors[sf.A_0])
    if other < 0:
        nearest_on_solid(surfaces, core, -1 - other, ws, contact)
    else:
        nearest_on_core(surfaces, core, other, ws, contact)
    contact.nearest[group] = min(contact.nearest[group], number[sf.GAP])
    if not number[sf.GAP] < 0.0:
        return
    k = contact.counts[sf.ACTIVE]
    if k >= contact.entry.shape[0]:
        contact.counts[sf.OVERFLOW] = 1
        return
    contact.counts[sf.ACTIVE] += 1
    nodes = contact.entry[k, sf.ENTRY_NODE :]
    set_entries(surfaces, core, other, ws, contact, contact.entry[k])
    previous_slip(contact, group, core, other)
    contact_force(law, contact)
    record_contact(contact, k, group, core, other)
    for j in range(flag[sf.N_HERE]):
        if nodes[j] >= 0:
            add_to_node(contact, j, nodes[j], external)
    if law[sf.LAW_DISSIPATIVE_ONLY] == 0.0 and contact.counts[sf.NO_TANGENTS] == 0:
        add_tangents(surfaces, core, k, ws, contact, external)


@kernel_in_place
def add_to_node(contact, j, node, external):
    """Add the force, times the weight of entry j, to its node; its moment is (P + weight arm) x F."""
    vectors, dead = contact.vectors, contact.wide[0, 0]
    force, arm = vector(vectors, sf.F), vector(vectors, sf.ARM_A if j < contact.flag[sf.FIRST_B] else sf.ARM_B)
    store(cross(arm, force), force, dead)
    add_weighted_dead(contact.entries[sf.P + j], dead, contact.weights[sf.WEIGHT, j], node, external)


@kernel_in_place
def record_contact(contact, k, group, core, other):
    """Record a contact, with a unit normal."""
    entry, value, vectors, size = contact.entry[k], contact.value[k], contact.vectors, contact.number[sf.SIZE]
    entry[sf.GROUP], entry[sf.CORE], entry[sf.OTHER], entry[sf.N_ENTRIES] = group, core, other, contact.flag[sf.N_HERE]
    for i in range(3):
        value[sf.AT_POINT + i] = vectors[sf.X_A, i] + vectors[sf.ARM_A, i]
        value[sf.NORMAL + i] = vectors[sf.N, i] / size
        value[sf.FORCE + i] = vectors[sf.F, i]
        value[sf.SLIP + i] = vectors[sf.U_T, i]
    value[sf.DISTANCE], value[sf.PRESSURE] = contact.number[sf.GAP], contact.number[sf.PRESSED] * size
    value[sf.OF_LAW] = contact.number[sf.SHARE]
