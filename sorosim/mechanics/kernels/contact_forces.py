"""One contact: nearest points and force (docs/theory.md, 12).

It acts on up to four entries, nodes with a point and a weight: those of the core first, with positive weights, then
those of the other core or of the solid. Where two pieces of rods meet, weights are those of Hermite's cubic, and the
points are ahead of the nodes along the rod, or behind; where a piece meets a body, those of its moved chord.
"""

from __future__ import annotations

from math import sqrt

from sorosim.base.compiled import kernel_in_place, kernel_inline
from sorosim.mechanics.kernels import surfaces as sf
from sorosim.mechanics.kernels.contact_tangents import add_tangents
from sorosim.mechanics.kernels.convex import N_SHAPE
from sorosim.mechanics.kernels.kinematics import compose_into
from sorosim.mechanics.kernels.nearest import (
    TO_MIDDLE,
    Axis,
    Convex,
    Disc,
    Solid,
    nearest_of_axes,
    nearest_of_convex,
    nearest_of_disc,
    nearest_of_segment,
    place_on,
    world_distance,
)
from sorosim.mechanics.kernels.small import add_cross, copy, into_world
from sorosim.mechanics.kernels.solids import TOGETHER
from sorosim.mechanics.kernels.wrenches import add_weighted_dead
from sorosim.mechanics.lie.triples import (
    cross,
    dot,
    head,
    product,
    rows,
    scaled,
    store,
    store_row,
    sum2,
    sum3,
    tail,
    times,
)
from sorosim.mechanics.lie.triples import row as vector

# the factor of damping goes to zero smoothly where it would pull, within this band
NO_PULL = 0.02
# the middle of Hermite's cubic is off that of its chord by this part of the tangents' difference
TO_CURVE = 0.125


@kernel_in_place
def hertz(law, depth, rate):
    """Force, its derivatives by depth and rate, and its elastic part: k h(depth)^p (1 + c rate), never pulling."""
    w, h, slope = law.onset, depth, 1.0
    if depth < w:
        t = depth / w
        h, slope = w * t * t * t * (1.0 - 0.5 * t), t * t * (3.0 - 2.0 * t)
    else:
        h -= 0.5 * w
    elastic = law.stiffness * h**law.power
    stiffness = law.stiffness * law.power * h ** (law.power - 1.0) * slope
    c = law.damping
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
    here, twist = contact.here, ws.twist[node, 0]
    entry.node[k] = node
    here.weight[k], here.weight_along[k] = weight, along
    store_row(p, here.p[k])
    store_row(p_along, here.p_along[k])
    store_row(weighted_velocity(twist, weight, p), here.v[k])
    store_row(weighted_velocity(twist, along, p_along), here.v_along[k])
    store_row(head(twist), here.w[k])


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
    return row.form == sf.SEGMENT and row.one_body == 0


@kernel_in_place
def nearest_on_solid(surfaces, core, k, ws, contact):
    """Nearest points of a core and of solid k; fills x = X_A = X_B, the normal, its change H and the numbers."""
    here, wide = contact.here, contact.wide
    a, t_a, x, n = here.ends_a[0], here.t_a, here.x_a, here.normal
    H, g = here.h, here.solid_pose
    row, solid_row = surfaces.core[core], surfaces.solid[k]
    pose, frame = ws.pose[solid_row.node], surfaces.frame[k]
    compose_into(pose[:3], pose[3], frame[:3], frame[3], g)
    solid = Solid(solid_row.kind, surfaces.value[solid_row.at :], g)
    if row.form == sf.SEGMENT:
        square, begin = surfaces.value[row.at + sf.SQUARE], here.e
        copy(a, begin)
        if row.one_body == 0:
            move_chord(a, here.tangents_a, begin)
        reach, slope = contact.reach[0] + here.r_a, here.slope_a
        la, gap, haa = nearest_of_segment(solid, begin, t_a, sqrt(square), slope, reach, x, n, H, wide)
        here.in_a = 0.0 < la < 1.0
        here.la, here.haa = la, haa
        here.r_a += la * slope
        here.gap = gap - here.r_a
    elif row.form == sf.POINT:
        copy(a, x)
        here.gap = world_distance(solid, x, n, H, wide) - here.r_a
    elif row.form == sf.DISC:
        R_A, at, axes = ws.pose[row.node[0]], row.at, here.disc_axes
        for i in range(3):
            axes[0, i], axes[1, i] = R_A[i, 1], R_A[i, 2]
            axes[2, i] = surfaces.value[at + sf.OUTWARD] * R_A[i, 0]
        disc = Disc(a, axes, surfaces.value[at + sf.RADIUS_0], surfaces.value[at + sf.DOME])
        slide = here.slide
        here.gap = nearest_of_disc(solid, disc, contact.reach[0], x, n, H, slide, wide)
        here.r_a = 0.0
        if solid_row.of_rod != 0:
            here.share = sf.EACH_END
    else:
        R_A, at = rows(ws.pose[row.node[0]]), row.at
        axes = product(R_A, rows(surfaces.value[at + sf.AXES : at + sf.AXES + 9].reshape(3, 3)))
        inner = here.e
        into_world(ws.pose[row.node[0]], surfaces.value[at + sf.INNER : at + sf.INNER + 3], inner)
        shape = surfaces.value[at + sf.SHAPE : at + sf.SHAPE + N_SHAPE]
        body = Convex(a, shape, axes, inner, surfaces.value[at + sf.RADIUS_0])
        here.gap = nearest_of_convex(solid, body, contact.reach[0], x, n, H, here.slide, wide)
        here.r_a = 0.0
    copy(x, here.x_b)


@kernel_in_place
def nearest_on_core(surfaces, core, other, ws, contact):
    """Nearest points X_A, X_B of two cores; fills the normal, its change H and the numbers."""
    here = contact.here
    a, t_a, b, t_b = here.ends_a[0], here.t_a, here.ends_b[0], here.t_b
    n, e = here.normal, here.e
    out = contact.wide[0, 0]
    row, other_row = surfaces.core[core], surfaces.core[other]
    other_value = surfaces.value[other_row.at : other_row.at + sf.N_CORE_VALUES]
    free_a, free_b = row.form == sf.SEGMENT, other_row.form == sf.SEGMENT
    r_b, slope_b, mid_a, mid_b = other_value[sf.RADIUS_0], 0.0, 0.0, 0.0
    if free_a:
        mid_a = TO_MIDDLE * surfaces.value[row.at + sf.DRAWN]
    if free_b:
        segment_ends(other_row, other_value, ws, here.ends_b, t_b, here.tangents_b)
        slope_b, mid_b = other_value[sf.RADIUS_1] - r_b, TO_MIDDLE * other_value[sf.DRAWN]
    else:
        into_world(ws.pose[other_row.node[0]], other_value[sf.END_0 : sf.END_0 + 3], b)
    # tangents less the chord; of a piece that is straight the first row is where its moved chord begins
    bends_a, bends_b = here.bends_a, here.bends_b
    for end in range(2):
        store_row(sum2(1.0, vector(here.tangents_a, end), -1.0, head(t_a)), bends_a[end])
        store_row(sum2(1.0, vector(here.tangents_b, end), -1.0, head(t_b)), bends_b[end])
    curved = is_piece(row) and is_piece(other_row)
    begin_a, begin_b = a, b
    if is_piece(row) and not curved:
        begin_a = bends_a[0]
        move_chord(a, here.tangents_a, begin_a)
    if is_piece(other_row) and not curved:
        begin_b = bends_b[0]
        move_chord(b, here.tangents_b, begin_b)
    axis_a = Axis(begin_a, t_a, bends_a, mid_a, here.slope_a, free_a, curved)
    axis_b = Axis(begin_b, t_b, bends_b, mid_b, slope_b, free_b, curved)
    reach = contact.reach[0] + here.r_a + r_b
    la, mb, in_a, in_b = nearest_of_axes(axis_a, axis_b, reach, e, out)
    x_a, along_a, _ = place_on(axis_a, la)
    x_b, along_b, _ = place_on(axis_b, mb)
    store_row(x_a, here.x_a)
    store_row(x_b, here.x_b)
    store_row(along_a, t_a)
    store_row(along_b, t_b)
    d = out[0]
    here.in_a, here.in_b = in_a, in_b
    here.la, here.mb, here.axial = la, mb, d
    here.haa, here.hab, here.hbb = out[3], out[4], out[5]
    here.reg_a, here.reg_b = mid_a * (la - 0.5), mid_b * (mb - 0.5)
    here.r_a += la * here.slope_a
    here.gap = d - here.r_a - r_b - mb * slope_b
    apart = dot(e, e) > TOGETHER * TOGETHER
    if not apart:
        across(t_a, t_b, n)
    for i in range(3):
        if apart:
            n[i] = e[i] / d
    for i in range(3):
        for j in range(3):
            here.h[i, j] = ((1.0 if i == j else 0.0) - n[i] * n[j]) / d if apart else 0.0


@kernel_in_place
def segment_ends(row, values, ws, ends, chord, tangents):
    """Ends (2, 3) of a segment in the world, the vector between them, and tangents (2, 3) there if it has any."""
    for end in range(2):
        pose, first = ws.pose[row.node[end]], sf.END_0 if end == 0 else sf.END_1
        into_world(pose, values[first : first + 3], ends[end])
        if row.one_body == 0:
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
    here = contact.here
    row = surfaces.core[core]
    here.two_a, here.two_b = is_piece(row), other >= 0 and is_piece(surfaces.core[other])
    on_curve = here.two_a and here.two_b
    if here.two_a:
        ends, tangents = here.ends_a, here.tangents_a
        set_piece(0, row.node, 1.0, here.la, ends, tangents, on_curve, ws, contact, entry)
    else:
        x, t = head(here.x_a), head(here.t_a)
        set_entry(0, row.node[0], 1.0, x, 0.0, t, ws, contact, entry)
    first = 2 if here.two_a else 1
    if here.two_b:
        ends, tangents, nodes = here.ends_b, here.tangents_b, surfaces.core[other].node
        set_piece(first, nodes, -1.0, here.mb, ends, tangents, on_curve, ws, contact, entry)
    else:
        node = surfaces.solid[-1 - other].node if other < 0 else surfaces.core[other].node[0]
        x, t = scaled(-1.0, head(here.x_b)), scaled(-1.0, head(here.t_b))
        set_entry(first, node, -1.0, x, 0.0, t, ws, contact, entry)
    here.first_b, here.n = first, first + 1 + here.two_b


@kernel_in_place
def contact_force(law, contact):
    """Relative velocity at the contact and the force there, with what its tangents need of the law."""
    here = contact.here
    n, u, u_t, force = here.normal, here.u, here.u_t, here.force
    arm_a, arm_b = here.arm_a, here.arm_b
    for i in range(3):
        arm_a[i] = -here.r_a * n[i]
        arm_b[i] = arm_a[i] + here.x_a[i] - here.x_b[i]
        u[i], here.w_a[i], here.w_b[i] = 0.0, 0.0, 0.0
    for j in range(here.n):
        side = here.w_a if j < here.first_b else here.w_b
        for i in range(3):
            u[i] += here.v[j, i]
            side[i] += abs(here.weight[j]) * here.w[j, i]
    add_cross(here.w_a, arm_a, 1.0, u)
    add_cross(here.w_b, arm_b, -1.0, u)
    for i in range(3):
        u[i] += here.stuck[i]
    closing, size = -dot(n, u), sqrt(dot(n, n))
    # in statics rates stand for displacements of what sticks
    approach = 0.0 if contact.counts.at_rest != 0 else closing
    normal_force, by_depth, by_rate, elastic = hertz(law, -here.gap, approach)
    share = here.share
    normal_force, by_depth, by_rate, elastic = share * normal_force, share * by_depth, share * by_rate, share * elastic
    if contact.counts.at_rest != 0:
        by_rate = 0.0
    mu, slow, speed, chi = law.friction, law.slip, 0.0, 0.0
    for i in range(3):
        u_t[i] = u[i] + closing / (size * size) * n[i]
        speed += u_t[i] * u_t[i]
    if mu > 0.0:
        chi = 1.0 / sqrt(speed + slow * slow)
    normal = normal_force - (elastic if law.dissipative_only != 0.0 else 0.0)
    for i in range(3):
        force[i] = normal * n[i] - mu * normal_force * size * chi * u_t[i]
    here.normal_force, here.by_depth, here.by_rate = normal_force, by_depth, by_rate
    here.approach, here.chi, here.friction, here.normal_length = closing, chi, mu, size


@kernel_in_place
def load_stick_velocity(contact, group, core, other):
    """here.stuck (3,): slip velocity, world axes, that a pair which sticks resists in statics; zero for other pairs."""
    slip = contact.here.stuck
    for i in range(3):
        slip[i] = 0.0
    for k in range(contact.counts.n_stuck):
        pair = contact.stuck[k]
        if pair.group == group and pair.core == core and pair.other == other:
            copy(contact.stuck_slip[k], slip)


@kernel_in_place
def evaluate_pair(surfaces, group, core, other, ws, contact, external):
    """The contact of a core with another one, or with the solid -1 - other, if they touch.

    Adds its wrenches and tangents to `external`, and what couples nodes to the rows of `contact`.
    """
    here, law = contact.here, surfaces.law[group]
    row = surfaces.core[core]
    values = surfaces.value[row.at : row.at + sf.N_CORE_VALUES]
    here.la = here.mb = here.haa = here.hab = here.hbb = here.reg_a = here.reg_b = here.slope_a = 0.0
    here.form, here.is_solid, here.in_a, here.in_b = row.form, other < 0, 0, 0
    here.axial, here.r_a, here.share = 1.0, values[sf.RADIUS_0], 1.0
    for i in range(3):
        here.t_a[i], here.t_b[i] = 0.0, 0.0
    if row.form == sf.SEGMENT:
        here.slope_a = values[sf.RADIUS_1] - values[sf.RADIUS_0]
        segment_ends(row, values, ws, here.ends_a, here.t_a, here.tangents_a)
    else:
        into_world(ws.pose[row.node[0]], values[sf.END_0 : sf.END_0 + 3], here.ends_a[0])
    if other < 0:
        nearest_on_solid(surfaces, core, -1 - other, ws, contact)
    else:
        nearest_on_core(surfaces, core, other, ws, contact)
    contact.nearest[group] = min(contact.nearest[group], here.gap)
    if not here.gap < 0.0:
        return
    k = contact.counts.active
    if k >= contact.entry.shape[0]:
        contact.counts.overflow = 1
        return
    contact.counts.active += 1
    nodes = contact.entry[k].node
    set_entries(surfaces, core, other, ws, contact, contact.entry[k])
    load_stick_velocity(contact, group, core, other)
    contact_force(law, contact)
    record_contact(contact, k, group, core, other)
    for j in range(here.n):
        if nodes[j] >= 0:
            add_to_node(contact, j, nodes[j], external)
    if law.dissipative_only == 0.0 and contact.counts.no_tangents == 0:
        add_tangents(contact, k, external)


@kernel_in_place
def add_to_node(contact, j, node, external):
    """Add the force, times the weight of entry j, to its node; its moment is (P + weight arm) x F."""
    here, dead = contact.here, contact.wide[0, 0]
    force, arm = head(here.force), head(here.arm_a if j < here.first_b else here.arm_b)
    store(cross(arm, force), force, dead)
    add_weighted_dead(here.p[j], dead, here.weight[j], node, external)


@kernel_in_place
def record_contact(contact, k, group, core, other):
    """Record a contact, with a unit normal."""
    here, entry, value = contact.here, contact.entry[k], contact.value[k]
    size = here.normal_length
    entry.group, entry.core, entry.other, entry.n = group, core, other, here.n
    for i in range(3):
        value.point[i] = here.x_a[i] + here.arm_a[i]
        value.normal[i] = here.normal[i] / size
        value.force[i] = here.force[i]
        value.slip[i] = here.u_t[i]
    value.distance, value.pressure = here.gap, here.normal_force * size
    value.share = here.share
