"""Nearest points of segments and of solids (docs/theory.md, 12)."""

from __future__ import annotations

from math import cos, inf, pi, sin, sqrt
from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import kernel_in_place
from sorosim.mechanics.kernels.convex import convex_distance, tangents, turned_support, unit, within
from sorosim.mechanics.kernels.solids import HALF_SPACE, SHEET, TOGETHER, solid_distance
from sorosim.mechanics.lie.triples import (
    dot,
    head,
    product,
    row,
    rows,
    scaled,
    store_row,
    sum2,
    sum3,
    times,
    transposed_times,
)

# nearest points of a segment are drawn to its middle by this part of its length, of two segments of their lengths and
# radii, so that parallel ones have just one
TO_MIDDLE = 1e-4
MAX_NEAREST, MAX_SMOOTH = 60, 200
# the last part of its size by which a smooth body grows
LEAST_GROWTH = 1e-3
# places on the rim of a disc where its nearest point is looked for first; the longest step along it [rad]
RIM_PLACES, RIM_STEP = 8, 0.5
# places on curves: the least part of a correction, and the size of one after which the next would be rounding; the
# least curvature of the distance, relative to that across
LEAST_PART, CONVERGED, FLAT = 1e-6, 1e-9, 1e-12
# the least part of the length of a normal that counts as against that of a smooth body, so that steps go down
ASIDE = 0.25


class Axis(NamedTuple):
    """A segment, or a point: a vector of zeros; or a cubic curve between the ends of the vector, if it is curved."""

    begin: np.ndarray  # (3,)
    vector: np.ndarray  # (3,) to its end
    bends: np.ndarray  # (2, 3) tangents at both ends, less the vector
    pull: float  # how much it draws to its middle
    slope: float  # change of the radius from begin to end
    is_segment: bool
    is_curved: bool


class Disc(NamedTuple):
    """A disc whose rim stays behind its centre: points centre + radius (y_0 p + y_1 q) - dome |y|^2 e, |y| <= 1."""

    centre: np.ndarray  # (3,)
    axes: np.ndarray  # (3, 3) p, q and e, outward, as rows
    radius: float
    dome: float


class Convex(NamedTuple):
    """A smooth convex body in the world."""

    centre: np.ndarray  # (3,)
    shape: np.ndarray  # (6,) its numbers, see kernels.convex
    axes: tuple[tuple[float, ...], ...]  # three rows
    inner: tuple[float, ...]  # a point on its side of a sheet
    radius: float  # of a ball around it


class Solid(NamedTuple):
    """A solid in the world."""

    kind: int
    values: np.ndarray  # see kernels.solids
    pose: np.ndarray  # (4, 3)


@kernel_in_place
def place_on(axis, x):
    """Point of an axis at x from 0 to 1, and its first and second derivatives.

    A curve is Hermite's cubic, begin + x t + x (1 - x)^2 b_0 - x^2 (1 - x) b_1.
    """
    t = head(axis.vector)
    point = sum2(1.0, head(axis.begin), x, t)
    if not axis.is_curved:
        return point, t, (0.0, 0.0, 0.0)
    y, b_0, b_1 = 1.0 - x, row(axis.bends, 0), row(axis.bends, 1)
    along = sum3(1.0, t, y * (1.0 - 3.0 * x), b_0, x * (3.0 * x - 2.0), b_1)
    return sum3(1.0, point, x * y * y, b_0, -x * x * y, b_1), along, sum2(6.0 * x - 4.0, b_0, 6.0 * x - 2.0, b_1)


@kernel_in_place
def axes_distance(a, la, b, mb, e, out):
    """Distance of two points of axes at la, mb, drawn to their middles, less their radii, up to a constant.

    Fills e, from b to a, and out: the distance, its derivatives by la and mb, and second ones by la la, la mb, mb mb.
    Returns the value.
    """
    x_a, t_a, k_a = place_on(a, la)
    x_b, t_b, k_b = place_on(b, mb)
    apart = sum2(1.0, x_a, -1.0, x_b)
    store_row(apart, e)
    along_a = dot(apart, t_a) + a.pull * (la - 0.5)
    along_b = b.pull * (mb - 0.5) - dot(apart, t_b)
    d = max(sqrt(dot(apart, apart) + a.pull * (la - 0.5) ** 2 + b.pull * (mb - 0.5) ** 2), TOGETHER)
    out[0], out[1], out[2] = d, along_a / d - a.slope, along_b / d - b.slope
    out[3] = (dot(t_a, t_a) + dot(apart, k_a) + a.pull - along_a * along_a / (d * d)) / d
    out[4] = (-dot(t_a, t_b) - along_a * along_b / (d * d)) / d
    out[5] = (dot(t_b, t_b) - dot(apart, k_b) + b.pull - along_b * along_b / (d * d)) / d
    return d - la * a.slope - mb * b.slope


@kernel_in_place
def least_along(a, la, b, mb, along_a, e, out):
    """Place from 0 to 1 on the first segment, or the second, where the value is least, at a fixed place on the other.

    Of sqrt(A (x - x_0)^2 + m^2) - s x that is x_0 + s m / sqrt(A (A - s^2)).
    """
    here, own = (la, a) if along_a else (mb, b)
    slope, square = own.slope, own.pull + dot(own.vector, own.vector)
    axes_distance(a, la, b, mb, e, out)
    x = here - out[0] * (out[1 if along_a else 2] + slope) / square
    if slope != 0.0:
        if slope * slope >= square:
            return 1.0 if slope > 0.0 else 0.0
        la, mb = (x, mb) if along_a else (la, x)
        axes_distance(a, la, b, mb, e, out)
        x += slope * out[0] / sqrt(square * (square - slope * slope))
    return min(max(x, 0.0), 1.0)


@kernel_in_place
def least_inside(a, b, e, out):
    """Places on two lines where the value is least; where there is none, far outside.

    Of sqrt((x - x_0).Q (x - x_0) + m^2) - s.x that is x_0 + m w / sqrt(1 - s.w), Q w = s.
    """
    aa, ab, bb = dot(a.vector, a.vector) + a.pull, -dot(a.vector, b.vector), dot(b.vector, b.vector) + b.pull
    det = aa * bb - ab * ab
    axes_distance(a, 0.5, b, 0.5, e, out)
    along_a, along_b = out[0] * (out[1] + a.slope), out[0] * (out[2] + b.slope)
    la, mb = 0.5 - (bb * along_a - ab * along_b) / det, 0.5 - (aa * along_b - ab * along_a) / det
    if a.slope != 0.0 or b.slope != 0.0:
        w_a, w_b = (bb * a.slope - ab * b.slope) / det, (aa * b.slope - ab * a.slope) / det
        regularity = 1.0 - a.slope * w_a - b.slope * w_b
        if regularity <= 0.0:
            return -1.0, -1.0
        axes_distance(a, la, b, mb, e, out)
        la, mb = la + out[0] * w_a / sqrt(regularity), mb + out[0] * w_b / sqrt(regularity)
    return la, mb


@kernel_in_place
def nearest_of_chords(a, b, e, out):
    """Places la, mb from 0 to 1 on two segments where they are nearest, in closed form.

    The value is convex: its least is inside, or else the best of those along the four sides of the box.
    """
    la, mb = 0.0, 0.0
    if a.is_segment and b.is_segment:
        la, mb = least_inside(a, b, e, out)
        if not (0.0 < la < 1.0 and 0.0 < mb < 1.0):
            least = inf
            for side in range(4):
                along_a, end = side < 2, float(side % 2)
                x = least_along(a, 0.5 if along_a else end, b, end if along_a else 0.5, along_a, e, out)
                here, there = (x, end) if along_a else (end, x)
                value = axes_distance(a, here, b, there, e, out)
                if value < least:
                    least, la, mb = value, here, there
    elif a.is_segment:
        la = least_along(a, 0.5, b, 0.0, True, e, out)
    elif b.is_segment:
        mb = least_along(a, 0.0, b, 0.5, False, e, out)
    return la, mb


@kernel_in_place
def downhill(a, la, b, mb, out):
    """Changes of places on axes that shorten the distance: those of Newton's method where it is convex.

    Elsewhere curvatures count by their size. A place at an end stays there where the distance falls beyond. Returns the
    changes, and whether they are whole: none goes beyond an end.
    """
    d, g_a, g_b = out[0], out[0] * out[1], out[0] * out[2]
    free_a = a.is_segment and not ((la <= 0.0 and g_a >= 0.0) or (la >= 1.0 and g_a <= 0.0))
    free_b = b.is_segment and not ((mb <= 0.0 and g_b >= 0.0) or (mb >= 1.0 and g_b <= 0.0))
    if not free_a:
        g_a = 0.0
    if not free_b:
        g_b = 0.0
    # d times the second derivatives where the first ones vanish: regular where axes cross, too
    p, q = out[1] + a.slope, out[2] + b.slope
    aa, bb = d * out[3] + p * p - a.slope * a.slope, d * out[5] + q * q - b.slope * b.slope
    ab = d * out[4] + p * q - a.slope * b.slope if free_a and free_b else 0.0
    mean, half = 0.5 * (aa + bb), 0.5 * (aa - bb)
    radius = sqrt(half * half + ab * ab)
    least = FLAT * (abs(mean) + radius) + TOGETHER * TOGETHER
    high, low = 1.0 / max(abs(mean + radius), least), 1.0 / max(abs(mean - radius), least)
    across = 0.5 * (high - low) / radius if radius > 0.0 else 0.0
    along = 0.5 * (high + low)
    step_a, step_b = (
        -(along + across * half) * g_a - across * ab * g_b,
        -(along - across * half) * g_b - across * ab * g_a,
    )
    # a place at an end cannot go beyond: the other one alone does
    if (la <= 0.0 and step_a < 0.0) or (la >= 1.0 and step_a > 0.0):
        step_a, step_b = 0.0, -g_b / max(abs(bb), least)
    elif (mb <= 0.0 and step_b < 0.0) or (mb >= 1.0 and step_b > 0.0):
        step_a, step_b = -g_a / max(abs(aa), least), 0.0
    # on the way to the first end only: beyond, the other place would go another way
    part = min(1.0, room(la, step_a), room(mb, step_b))
    return part * step_a, part * step_b, part == 1.0


@kernel_in_place
def snapped(x):
    """x, or 0 or 1 if it is as near as rounding."""
    return 0.0 if x < FLAT else (1.0 if x > 1.0 - FLAT else x)


@kernel_in_place
def room(x, step):
    """Part of a step that leads from x to 0 or 1."""
    return (1.0 - x) / step if step > 0.0 else (-x / step if step < 0.0 else inf)


@kernel_in_place
def nearest_of_curves(a, la, b, mb, e, out):
    """Places la, mb on two axes where they are nearest, by Newton's method from the best of a few places.

    These are the given ones, the ends and the middles.
    """
    value = axes_distance(a, la, b, mb, e, out)
    for i in range(3 if a.is_segment else 1):
        for j in range(3 if b.is_segment else 1):
            here = axes_distance(a, 0.5 * i, b, 0.5 * j, e, out)
            if here < value:
                value, la, mb = here, 0.5 * i, 0.5 * j
    for _ in range(MAX_NEAREST):
        value = axes_distance(a, la, b, mb, e, out)
        step_a, step_b, inside = downhill(a, la, b, mb, out)
        highest, part, x, y, lower = value + 1e-14 * (out[0] + abs(value)), 1.0, la, mb, False
        while not lower and part > LEAST_PART:
            x, y = snapped(la + part * step_a), snapped(mb + part * step_b)
            lower = axes_distance(a, x, b, y, e, out) <= highest
            part *= 0.5
        way = max(abs(x - la), abs(y - mb))
        if lower:
            la, mb = x, y
        if not lower or (inside and way <= CONVERGED):
            break
    return la, mb


@kernel_in_place
def farthest_off(axis):
    """How far a curve is off its chord at most."""
    if not axis.is_curved:
        return 0.0
    b_0, b_1 = row(axis.bends, 0), row(axis.bends, 1)
    return 4.0 / 27.0 * (sqrt(dot(b_0, b_0)) + sqrt(dot(b_1, b_1)))  # the most of x (1 - x)^2


@kernel_in_place
def nearest_of_axes(a, b, reach, e, out):
    """Places la, mb from 0 to 1 on two axes where they are nearest; fills e, out.

    Returns la, mb and which of them are inside. Of curves that are more than `reach` apart it takes other places.
    """
    chord_a = Axis(a.begin, a.vector, a.bends, a.pull, a.slope, a.is_segment, False)
    chord_b = Axis(b.begin, b.vector, b.bends, b.pull, b.slope, b.is_segment, False)
    la, mb = nearest_of_chords(chord_a, chord_b, e, out)
    if a.is_curved or b.is_curved:
        value = axes_distance(chord_a, la, chord_b, mb, e, out)
        if value - farthest_off(a) - farthest_off(b) <= reach:
            la, mb = nearest_of_curves(a, la, b, mb, e, out)
    axes_distance(a, la, b, mb, e, out)
    return la, mb, a.is_segment and 0.0 < la < 1.0, b.is_segment and 0.0 < mb < 1.0


@kernel_in_place
def world_distance(solid, x, n, H, wide):
    """Signed distance of a point x of the world from a solid; n, H in world axes; wide (4, 6, 6): scratch."""
    g = solid.pose
    y, m, own, R = wide[0, 0, :3], wide[0, 1, :3], wide[1, :3, :3], rows(g)
    store_row(transposed_times(R, (x[0] - g[3, 0], x[1] - g[3, 1], x[2] - g[3, 2])), y)
    phi = solid_distance(solid.kind, solid.values, y, m, own, wide[2:4])
    store_row(times(R, m), n)
    half = product(R, rows(own))
    for i in range(3):
        store_row(times(R, half[i]), H[i])
    return phi


@kernel_in_place
def nearest_of_segment(solid, a, t, length, slope, reach, x, n, H, wide):
    """Place la from 0 to 1 where a segment is nearest to a convex solid, drawn to its middle; fills x, n, H there.

    Returns la, the distance drawn, and its second derivative by la. Of a segment that is farther away than `reach`, its
    radius at la = 0 included, la is another place and the distance a lower bound: that of the convex function above its
    tangent.
    """
    low, high, la, ends = 0.0, 1.0, 0.5, 0
    pull = TO_MIDDLE * length
    k = 0
    while True:
        # both ends first: where the way out is beyond one, that is it
        here = la if ends == 2 else float(ends)
        for i in range(3):
            x[i] = a[i] + here * t[i]
        phi = world_distance(solid, x, n, H, wide)
        slope_here = dot(n, t) - slope + 2.0 * pull * (here - 0.5)
        curvature = 2.0 * pull
        for i in range(3):
            for j in range(3):
                curvature += t[i] * H[i, j] * t[j]
        drawn = phi + pull * (here - 0.5) ** 2
        above = drawn - abs(slope_here) * (high - here if slope_here < 0.0 else here - low)
        if above - slope * here > reach:
            return here, above, curvature
        if ends < 2:
            if (ends == 0 and slope_here >= 0.0) or (ends == 1 and slope_here <= 0.0):
                return here, drawn, curvature
            ends += 1
            continue
        if slope_here > 0.0:
            high = la
        else:
            low = la
        new = la - slope_here / curvature
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - la) <= 1e-15 or k == MAX_NEAREST:
            return here, drawn, curvature
        la, k = new, k + 1


@kernel_in_place
def disc_distance(solid, disc, y_0, y_1, x, n, H, wide):
    """Signed distance from a solid of the point y of a disc; fills x, n, H there."""
    fall = disc.dome * (y_0 * y_0 + y_1 * y_1)
    for i in range(3):
        across = y_0 * disc.axes[0, i] + y_1 * disc.axes[1, i]
        x[i] = disc.centre[i] + disc.radius * across - fall * disc.axes[2, i]
    return world_distance(solid, x, n, H, wide)


@kernel_in_place
def disc_slopes(disc, y_0, y_1, n, H):
    """Tangents t_0, t_1 of a disc at y; the slopes and second derivatives of the distance by y, from n and H."""
    p, q, e = row(disc.axes, 0), row(disc.axes, 1), row(disc.axes, 2)
    t_0 = sum2(disc.radius, p, -2.0 * disc.dome * y_0, e)
    t_1 = sum2(disc.radius, q, -2.0 * disc.dome * y_1, e)
    bent = 2.0 * disc.dome * dot(n, e)
    H_0, H_1 = times(rows(H), t_0), times(rows(H), t_1)
    return t_0, t_1, dot(n, t_0), dot(n, t_1), dot(t_0, H_0) - bent, dot(t_0, H_1), dot(t_1, H_1) - bent


@kernel_in_place
def nearest_of_disc(solid, disc, reach, x, n, H, slide, wide):
    """Signed distance of a disc from a solid; fills x, n, H at its nearest point.

    slide (3, 3): the point moves by -slide dn where the normal there turns by dn against the disc. Newton's method goes
    down from the best of the centre and eight points of the rim; along the rim where the distance falls beyond it. Of
    discs farther away than `reach` a lower bound.
    """
    clear_rows(slide)
    y_0, y_1 = 0.0, 0.0
    value = disc_distance(solid, disc, y_0, y_1, x, n, H, wide)
    around = sqrt(disc.radius * disc.radius + disc.dome * disc.dome)
    if value - around > reach:
        return value - around
    for k in range(RIM_PLACES):
        angle = 2.0 * pi * k / RIM_PLACES
        here = disc_distance(solid, disc, cos(angle), sin(angle), x, n, H, wide)
        if here < value:
            value, y_0, y_1 = here, cos(angle), sin(angle)
    for _ in range(MAX_NEAREST):
        value = disc_distance(solid, disc, y_0, y_1, x, n, H, wide)
        _, _, g_0, g_1, h_00, h_01, h_11 = disc_slopes(disc, y_0, y_1, n, H)
        on_rim = y_0 * y_0 + y_1 * y_1 >= 1.0 - FLAT and g_0 * y_0 + g_1 * y_1 <= 0.0
        turn, step_0, step_1 = 0.0, 0.0, 0.0
        if on_rim:
            slope = g_1 * y_0 - g_0 * y_1
            bent = h_00 * y_1 * y_1 - 2.0 * h_01 * y_0 * y_1 + h_11 * y_0 * y_0 - g_0 * y_0 - g_1 * y_1
            turn = -slope / max(abs(bent), FLAT * disc.radius)
            turn = min(max(turn, -RIM_STEP), RIM_STEP)
        else:
            det = h_00 * h_11 - h_01 * h_01
            if h_00 > 0.0 and det > FLAT * FLAT * disc.radius * disc.radius:
                step_0, step_1 = (h_01 * g_1 - h_11 * g_0) / det, (h_01 * g_0 - h_00 * g_1) / det
            else:
                size = max(abs(h_00) + 2.0 * abs(h_01) + abs(h_11), FLAT * disc.radius)
                step_0, step_1 = -g_0 / size, -g_1 / size
        highest, part, lower, z_0, z_1 = value + 1e-14 * (around + abs(value)), 1.0, False, y_0, y_1
        while not lower and part > LEAST_PART:
            if on_rim:
                c, s = cos(part * turn), sin(part * turn)
                z_0, z_1 = c * y_0 - s * y_1, s * y_0 + c * y_1
            else:
                z_0, z_1 = y_0 + part * step_0, y_1 + part * step_1
            size = sqrt(z_0 * z_0 + z_1 * z_1)
            if on_rim or size > 1.0:
                z_0, z_1 = z_0 / size, z_1 / size
            lower = disc_distance(solid, disc, z_0, z_1, x, n, H, wide) <= highest
            part *= 0.5
        way = max(abs(z_0 - y_0), abs(z_1 - y_1))
        if lower:
            y_0, y_1 = z_0, z_1
        if not lower or way <= CONVERGED:
            break
    value = disc_distance(solid, disc, y_0, y_1, x, n, H, wide)
    t_0, t_1, g_0, g_1, h_00, h_01, h_11 = disc_slopes(disc, y_0, y_1, n, H)
    if y_0 * y_0 + y_1 * y_1 >= 1.0 - FLAT and g_0 * y_0 + g_1 * y_1 <= 0.0:
        along = sum2(-y_1, t_0, y_0, t_1)
        bent = h_00 * y_1 * y_1 - 2.0 * h_01 * y_0 * y_1 + h_11 * y_0 * y_0 - g_0 * y_0 - g_1 * y_1
        if bent > FLAT * disc.radius:
            add_dyad(1.0 / bent, along, along, slide)
        return value
    det = h_00 * h_11 - h_01 * h_01
    if h_00 > 0.0 and det > FLAT * FLAT * disc.radius * disc.radius:
        add_dyad(h_11 / det, t_0, t_0, slide)
        add_dyad(-h_01 / det, t_0, t_1, slide)
        add_dyad(-h_01 / det, t_1, t_0, slide)
        add_dyad(h_00 / det, t_1, t_1, slide)
    return value


@kernel_in_place
def place_of_normal(solid, body, scale, u, x, n, H, S, wide):
    """Signed distance from a solid of the place with the normal u of a smooth body that is scaled about its centre.

    Fills x, n, H there, and S.
    """
    _, at = turned_support(body.shape, body.axes, u, S)
    for i in range(3):
        for j in range(3):
            S[i, j] *= scale
    store_row(sum2(1.0, head(body.centre), scale, at), x)
    return world_distance(solid, x, n, H, wide)


@kernel_in_place
def normal_nearest(body, scale, z, wide):
    """The normal of a scaled smooth body at its place nearest to z, which is outside."""
    own, H, S = wide[0, 1, :3], wide[1, :3, :3], wide[2, :3, :3]
    inside = transposed_times(body.axes, sum2(1.0 / scale, z, -1.0 / scale, head(body.centre)))
    convex_distance(body.shape, inside, own, H, S)
    return times(body.axes, head(own))


@kernel_in_place
def deepest_of_convex(solid, body, scale, u, x, n, H, S, wide):
    """Signed distance of a scaled smooth body from a convex solid, and its normal there, from the normal u on.

    The place x(u) has its normal u against that of the solid: n + |n| u = 0, by Newton's method. A step
    -(|n| + H S)^-1 n across u leads down, for S and H have no negative eigenvalue. Where it is too long its part leads
    along the surface a distance outside, x + k u, which neither faces nor edges distort.
    """
    outside = scale * min(body.shape[0], body.shape[1], body.shape[2])
    phi = place_of_normal(solid, body, scale, u, x, n, H, S, wide)
    for _ in range(MAX_SMOOTH):
        d, e = tangents(u)
        r_d, r_e, c = dot(d, n), dot(e, n), max(-dot(u, n), ASIDE * sqrt(dot(n, n)))
        S_dd, S_de, S_ee = within(S, d, e)
        H_dd, H_de, H_ee = within(H, d, e)
        # c + H S across u
        m_dd, m_de = c + H_dd * S_dd + H_de * S_de, H_dd * S_de + H_de * S_ee
        m_ed, m_ee = H_de * S_dd + H_ee * S_de, c + H_de * S_de + H_ee * S_ee
        det = m_dd * m_ee - m_de * m_ed
        step_d, step_e = (m_de * r_e - m_ee * r_d) / det, (m_ed * r_d - m_dd * r_e) / det
        way_d, way_e = S_dd * step_d + S_de * step_e, S_de * step_d + S_ee * step_e
        fall, rounding = -(r_d * way_d + r_e * way_e), 1e-15 * (body.radius + abs(phi))
        begin = sum2(1.0, head(x), outside, u)
        along = sum2(way_d + outside * step_d, d, way_e + outside * step_e, e)
        there, part = unit(sum3(1.0, u, step_d, d, step_e, e)), 1.0
        new = place_of_normal(solid, body, scale, there, x, n, H, S, wide)
        lower = new <= phi - 0.1 * fall + rounding
        if not lower:
            # no farther than the body is large
            part = min(1.0, 2.0 * scale * body.radius / sqrt(dot(along, along)))
        least = LEAST_PART * part
        while not lower and part > least:
            there = normal_nearest(body, scale, sum2(1.0, begin, part, along), wide)
            new = place_of_normal(solid, body, scale, there, x, n, H, S, wide)
            lower = new <= phi - 0.1 * part * fall + rounding
            part *= 0.5
        if not lower:
            break
        u, phi = there, new
        if step_d * step_d + step_e * step_e <= CONVERGED * CONVERGED * CONVERGED:
            break
    return place_of_normal(solid, body, scale, u, x, n, H, S, wide), u


@kernel_in_place
def nearest_of_convex(solid, body, reach, x, n, H, slide, wide):
    """Signed distance of a smooth body from a convex solid; fills x, n, H at its deepest place, and slide (3, 3).

    slide = (|n| + S H)^-1 S: the place moves by -slide dn where the normal there turns by dn against the body. Of
    bodies farther away than `reach` a lower bound. A body that reaches through the solid grows from its centre to its
    size; where its deepest place comes to the middle of the solid, the rest of its size is added to the depth.
    """
    phi = world_distance(solid, body.inner, n, H, wide)
    S, first = slide, unit(scaled(-1.0, head(n)))
    u = first
    if solid.kind == HALF_SPACE or solid.kind == SHEET:
        h, at = turned_support(body.shape, body.axes, u, S)
        store_row(sum2(1.0, head(body.centre), 1.0, at), x)
        return phi + dot(n, sum2(1.0, head(body.centre), -1.0, body.inner)) - h
    if phi - body.radius > reach:
        return phi - body.radius
    place_of_normal(solid, body, 1.0, u, x, n, H, S, wide)
    if dot(n, u) < 0.0:
        phi, u = deepest_of_convex(solid, body, 1.0, u, x, n, H, S, wide)
    if not dot(n, u) < 0.0:
        scale, step, u = 0.0, 0.5, first
        while scale < 1.0 and step > LEAST_GROWTH:
            trial, v = min(scale + step, 1.0), u
            place_of_normal(solid, body, trial, u, x, n, H, S, wide)
            grown = dot(n, u) < 0.0
            if grown:
                phi, v = deepest_of_convex(solid, body, trial, u, x, n, H, S, wide)
                grown = dot(n, v) < 0.0
            if grown:
                scale, u = trial, v
            else:
                step *= 0.5
        if scale < 1.0:
            phi = place_of_normal(solid, body, max(scale, LEAST_GROWTH), u, x, n, H, S, wide)
            h, at = turned_support(body.shape, body.axes, u, S)
            store_row(sum2(1.0, head(body.centre), 1.0, at), x)
            store_row(scaled(-1.0, u), n)
            clear_rows(H)
            return phi - (1.0 - max(scale, LEAST_GROWTH)) * h
    d, e = tangents(u)
    c = sqrt(dot(n, n))
    S_dd, S_de, S_ee = within(S, d, e)
    H_dd, H_de, H_ee = within(H, d, e)
    m_dd, m_de = c + S_dd * H_dd + S_de * H_de, S_dd * H_de + S_de * H_ee
    m_ed, m_ee = S_de * H_dd + S_ee * H_de, c + S_de * H_de + S_ee * H_ee
    det = m_dd * m_ee - m_de * m_ed
    a, b, g = (m_ee * S_dd - m_de * S_de) / det, (m_ee * S_de - m_de * S_ee) / det, (m_dd * S_ee - m_ed * S_de) / det
    clear_rows(slide)
    add_dyad(a, d, d, slide)
    add_dyad(b, d, e, slide)
    add_dyad(b, e, d, slide)
    add_dyad(g, e, e, slide)
    return phi


@kernel_in_place
def clear_rows(out):
    """out (3, 3) = 0."""
    for i in range(3):
        for j in range(3):
            out[i, j] = 0.0


@kernel_in_place
def add_dyad(scale, a, b, out):
    """out (3, 3) += scale a b^T."""
    for i in range(3):
        for j in range(3):
            out[i, j] += scale * a[i] * b[j]
