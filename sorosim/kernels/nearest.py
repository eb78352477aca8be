"""Nearest points of segments and of solids (docs/theory.md, 12)."""

from __future__ import annotations

from math import inf, sqrt

from sorosim.compiled import kernel_in_place
from sorosim.kernels.solids import TOGETHER, solid_distance
from sorosim.lie.triples import dot, product, rows, store_row, times, transposed_times

# nearest points of a segment are drawn to its middle by this part of its length, of two segments of their lengths and
# radii, so that parallel ones have just one
TO_MIDDLE = 1e-4
MAX_NEAREST = 60


@kernel_in_place
def axes_distance(a, t_a, mid_a, la, b, t_b, mid_b, mb, slopes, e, out):
    """Distance of two points of segments at la, mb, drawn to their middles, less their radii, up to a constant.

    mid: how much it draws; slopes: of the radii. Fills e = a - b and out: the distance, its
    derivatives by la and mb, and second ones by la la, la mb, mb mb. Returns the value.
    """
    d, along_a, along_b, aa, ab, bb = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(3):
        e[i] = a[i] + la * t_a[i] - b[i] - mb * t_b[i]
        d += e[i] * e[i]
        along_a += e[i] * t_a[i]
        along_b -= e[i] * t_b[i]
        aa += t_a[i] * t_a[i]
        ab -= t_a[i] * t_b[i]
        bb += t_b[i] * t_b[i]
    along_a += mid_a * (la - 0.5)
    along_b += mid_b * (mb - 0.5)
    d = max(sqrt(d + mid_a * (la - 0.5) ** 2 + mid_b * (mb - 0.5) ** 2), TOGETHER)
    out[0], out[1], out[2] = d, along_a / d - slopes[0], along_b / d - slopes[1]
    out[3] = (aa + mid_a - along_a * along_a / (d * d)) / d
    out[4] = (ab - along_a * along_b / (d * d)) / d
    out[5] = (bb + mid_b - along_b * along_b / (d * d)) / d
    return d - la * slopes[0] - mb * slopes[1]


@kernel_in_place
def least_along(a, t_a, mid_a, la, b, t_b, mid_b, mb, slopes, along_a, e, out):
    """Place from 0 to 1 on the first segment, or the second, where the value is least, at a fixed place on the other.

    Of sqrt(A (x - x_0)^2 + m^2) - s x that is x_0 + s m / sqrt(A (A - s^2)).
    """
    here, slope, square = (la, slopes[0], mid_a) if along_a else (mb, slopes[1], mid_b)
    t = t_a if along_a else t_b
    square += dot(t, t)
    axes_distance(a, t_a, mid_a, la, b, t_b, mid_b, mb, slopes, e, out)
    x = here - out[0] * (out[1 if along_a else 2] + slope) / square
    if slope != 0.0:
        if slope * slope >= square:
            return 1.0 if slope > 0.0 else 0.0
        la, mb = (x, mb) if along_a else (la, x)
        axes_distance(a, t_a, mid_a, la, b, t_b, mid_b, mb, slopes, e, out)
        x += slope * out[0] / sqrt(square * (square - slope * slope))
    return min(max(x, 0.0), 1.0)


@kernel_in_place
def least_inside(a, t_a, mid_a, b, t_b, mid_b, slopes, e, out):
    """Places on two lines where the value is least; where there is none, far outside.

    Of sqrt((x - x_0).Q (x - x_0) + m^2) - s.x that is x_0 + m w / sqrt(1 - s.w), Q w = s.
    """
    aa, ab, bb = dot(t_a, t_a) + mid_a, -dot(t_a, t_b), dot(t_b, t_b) + mid_b
    det = aa * bb - ab * ab
    axes_distance(a, t_a, mid_a, 0.5, b, t_b, mid_b, 0.5, slopes, e, out)
    along_a, along_b = out[0] * (out[1] + slopes[0]), out[0] * (out[2] + slopes[1])
    la, mb = 0.5 - (bb * along_a - ab * along_b) / det, 0.5 - (aa * along_b - ab * along_a) / det
    if slopes[0] != 0.0 or slopes[1] != 0.0:
        w_a, w_b = (bb * slopes[0] - ab * slopes[1]) / det, (aa * slopes[1] - ab * slopes[0]) / det
        regularity = 1.0 - slopes[0] * w_a - slopes[1] * w_b
        if regularity <= 0.0:
            return -1.0, -1.0
        axes_distance(a, t_a, mid_a, la, b, t_b, mid_b, mb, slopes, e, out)
        la, mb = la + out[0] * w_a / sqrt(regularity), mb + out[0] * w_b / sqrt(regularity)
    return la, mb


@kernel_in_place
def nearest_of_axes(a, t_a, mid_a, free_a, b, t_b, mid_b, free_b, slopes, e, out):
    """Places la, mb from 0 to 1 on two segments where they are nearest, in closed form; fills e, out.

    The value is convex: its least is inside, or else the best of those along the four sides of the box. free: whether
    that end of the pair is a segment. Returns la, mb and which of them are inside.
    """
    la, mb = 0.0, 0.0
    if free_a and free_b:
        la, mb = least_inside(a, t_a, mid_a, b, t_b, mid_b, slopes, e, out)
        if not (0.0 < la < 1.0 and 0.0 < mb < 1.0):
            least = inf
            for side in range(4):
                along_a, end = side < 2, float(side % 2)
                x = least_along(a, t_a, mid_a, 0.5 if along_a else end, b, t_b, mid_b, end if along_a else 0.5, slopes,
                                along_a, e, out)  # fmt: skip
                here, there = (x, end) if along_a else (end, x)
                value = axes_distance(a, t_a, mid_a, here, b, t_b, mid_b, there, slopes, e, out)
                if value < least:
                    least, la, mb = value, here, there
    elif free_a:
        la = least_along(a, t_a, mid_a, 0.5, b, t_b, mid_b, 0.0, slopes, True, e, out)
    elif free_b:
        mb = least_along(a, t_a, mid_a, 0.0, b, t_b, mid_b, 0.5, slopes, False, e, out)
    axes_distance(a, t_a, mid_a, la, b, t_b, mid_b, mb, slopes, e, out)
    return la, mb, free_a and 0.0 < la < 1.0, free_b and 0.0 < mb < 1.0


@kernel_in_place
def world_distance(kind, f, g, x, n, H, wide):
    """Signed distance of a point x of the world from a solid at g (4, 3); n, H in world axes; wide (4, 6, 6)."""
    y, m, own, R = wide[0, 0, :3], wide[0, 1, :3], wide[1, :3, :3], rows(g)
    store_row(transposed_times(R, (x[0] - g[3, 0], x[1] - g[3, 1], x[2] - g[3, 2])), y)
    phi = solid_distance(kind, f, y, m, own, wide[2:4])
    store_row(times(R, m), n)
    half = product(R, rows(own))
    for i in range(3):
        store_row(times(R, half[i]), H[i])
    return phi


@kernel_in_place
def nearest_of_segment(kind, f, g, a, t, length, slope, x, n, H, wide):
    """Place la from 0 to 1 where a segment is nearest to a convex solid, drawn to its middle; fills x, n, H there.

    Returns la, the distance drawn, and its second derivative by la.
    """
    low, high, la, ends = 0.0, 1.0, 0.5, 0
    pull = TO_MIDDLE * length
    k = 0
    while True:
        # both ends first: where the way out is beyond one, that is it
        here = la if ends == 2 else float(ends)
        for i in range(3):
            x[i] = a[i] + here * t[i]
        phi = world_distance(kind, f, g, x, n, H, wide)
        slope_here = dot(n, t) - slope + 2.0 * pull * (here - 0.5)
        curvature = 2.0 * pull
        for i in range(3):
            for j in range(3):
                curvature += t[i] * H[i, j] * t[j]
        drawn = phi + pull * (here - 0.5) ** 2
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
