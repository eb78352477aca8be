"""Nearest points of segments and of solids (docs/theory.md, 12)."""

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from sorosim.compiled import kernel_in_place
from sorosim.kernels.solids import TOGETHER, solid_distance
from sorosim.lie.triples import dot, product, rows, store_row, times, transposed_times

# nearest points of a segment are drawn to its middle by this part of its length, of two segments of their lengths and
# radii, so that parallel ones have just one
TO_MIDDLE = 1e-4
MAX_NEAREST = 60


class Axis(NamedTuple):
    """A segment, or a point: a vector of zeros."""

    begin: np.ndarray  # (3,)
    vector: np.ndarray  # (3,) to its end
    pull: float  # how much it draws to its middle
    slope: float  # change of the radius from begin to end
    is_segment: bool


class Solid(NamedTuple):
    """A solid in the world."""

    kind: int
    values: np.ndarray  # see kernels.solids
    pose: np.ndarray  # (4, 3)


@kernel_in_place
def axes_distance(a, la, b, mb, e, out):
    """Distance of two points of axes at la, mb, drawn to their middles, less their radii, up to a constant.

    Fills e, from b to a, and out: the distance, its derivatives by la and mb, and second ones by la la, la mb, mb mb.
    Returns the value.
    """
    d, along_a, along_b, aa, ab, bb = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(3):
        t_a, t_b = a.vector[i], b.vector[i]
        e[i] = a.begin[i] + la * t_a - b.begin[i] - mb * t_b
        d += e[i] * e[i]
        along_a += e[i] * t_a
        along_b -= e[i] * t_b
        aa += t_a * t_a
        ab -= t_a * t_b
        bb += t_b * t_b
    along_a += a.pull * (la - 0.5)
    along_b += b.pull * (mb - 0.5)
    d = max(sqrt(d + a.pull * (la - 0.5) ** 2 + b.pull * (mb - 0.5) ** 2), TOGETHER)
    out[0], out[1], out[2] = d, along_a / d - a.slope, along_b / d - b.slope
    out[3] = (aa + a.pull - along_a * along_a / (d * d)) / d
    out[4] = (ab - along_a * along_b / (d * d)) / d
    out[5] = (bb + b.pull - along_b * along_b / (d * d)) / d
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
def nearest_of_axes(a, b, e, out):
    """Places la, mb from 0 to 1 on two segments where they are nearest, in closed form; fills e, out.

    The value is convex: its least is inside, or else the best of those along the four sides of the box. Returns la, mb
    and which of them are inside.
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
def nearest_of_segment(solid, a, t, length, slope, x, n, H, wide):
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
        phi = world_distance(solid, x, n, H, wide)
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
