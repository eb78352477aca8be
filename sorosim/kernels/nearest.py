"""Nearest points of segments and of solids (docs/theory.md, 12)."""

from __future__ import annotations

from math import sqrt

from sorosim.compiled import kernel_in_place
from sorosim.kernels.small import dot
from sorosim.kernels.solids import TOGETHER, solid_distance

# nearest points of a segment are drawn to its middle by this part of its length, so that parallel ones have just one
TO_MIDDLE = 1e-4
MAX_NEAREST = 60


@kernel_in_place
def axes_distance(a, t_a, mid_a, la, b, t_b, mid_b, mb, slopes, e, out):
    """Distance of two points of segments at la, mb, drawn to their middles, less their radii, up to a constant.

    mid: TO_MIDDLE times squares of lengths; slopes: of the radii. Fills e = a - b and out: the distance, its
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
def nearest_of_axes(a, t_a, mid_a, free_a, b, t_b, mid_b, free_b, slopes, e, out):
    """Places la, mb from 0 to 1 on two segments where they are nearest, by Newton's method in the box; fills e, out.

    free: whether that end of the pair is a segment. Returns la, mb and which of them are inside.
    """
    la, mb = 0.5 if free_a else 0.0, 0.5 if free_b else 0.0
    value = axes_distance(a, t_a, mid_a, la, b, t_b, mid_b, mb, slopes, e, out)
    move_a, move_b = free_a, free_b
    for _ in range(MAX_NEAREST):
        move_a = free_a and not (la <= 0.0 and out[1] >= 0.0) and not (la >= 1.0 and out[1] <= 0.0)
        move_b = free_b and not (mb <= 0.0 and out[2] >= 0.0) and not (mb >= 1.0 and out[2] <= 0.0)
        da, db = 0.0, 0.0
        if move_a and move_b:
            det = out[3] * out[5] - out[4] * out[4]
            da, db = -(out[5] * out[1] - out[4] * out[2]) / det, -(out[3] * out[2] - out[4] * out[1]) / det
        elif move_a:
            da = -out[1] / out[3]
        elif move_b:
            db = -out[2] / out[5]
        share, before_a, before_b = 1.0, la, mb
        while True:
            la, mb = min(max(before_a + share * da, 0.0), 1.0), min(max(before_b + share * db, 0.0), 1.0)
            new = axes_distance(a, t_a, mid_a, la, b, t_b, mid_b, mb, slopes, e, out)
            if new <= value or share < 1e-3:
                break
            share *= 0.5
        value = new
        if abs(la - before_a) + abs(mb - before_b) <= 1e-15:
            break
    inside_a = free_a and (0.0 < la < 1.0)
    inside_b = free_b and (0.0 < mb < 1.0)
    return la, mb, inside_a, inside_b


@kernel_in_place
def world_distance(kind, f, g, x, n, H, wide):
    """Signed distance of a point x of the world from a solid at g (4, 3); n, H in world axes; wide (4, 6, 6) room."""
    y, m, own, half = wide[0, 0, :3], wide[0, 1, :3], wide[1, :3, :3], wide[1, 3:, :3]
    for i in range(3):
        y[i] = g[0, i] * (x[0] - g[3, 0]) + g[1, i] * (x[1] - g[3, 1]) + g[2, i] * (x[2] - g[3, 2])
    phi = solid_distance(kind, f, y, m, own, wide[2:4])
    for i in range(3):
        n[i] = g[i, 0] * m[0] + g[i, 1] * m[1] + g[i, 2] * m[2]
        for j in range(3):
            half[i, j] = g[i, 0] * own[0, j] + g[i, 1] * own[1, j] + g[i, 2] * own[2, j]
    for i in range(3):
        for j in range(3):
            H[i, j] = half[i, 0] * g[j, 0] + half[i, 1] * g[j, 1] + half[i, 2] * g[j, 2]
    return phi


@kernel_in_place
def nearest_of_segment(kind, f, g, a, t, length, slope, x, n, H, wide):
    """Place la from 0 to 1 where a segment is nearest to a convex solid, drawn to its middle; fills x, n, H there.

    Returns la, the distance drawn, and its second derivative by la.
    """
    low, high, la, ends = 0.0, 1.0, 0.5, 0
    pull = TO_MIDDLE * length
    for k in range(MAX_NEAREST):
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
        if abs(new - la) <= 1e-15 or k == MAX_NEAREST - 1:
            return here, drawn, curvature
        la = new
    return la, 0.0, 1.0
