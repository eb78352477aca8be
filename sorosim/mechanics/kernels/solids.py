"""Signed distances to solids, with their first and second derivatives (docs/theory.md, 12)."""

from __future__ import annotations

from math import inf, sqrt

from sorosim.base.compiled import kernel_in_place
from sorosim.mechanics.kernels.convex import convex_distance
from sorosim.mechanics.kernels.small import clear_matrix, copy
from sorosim.mechanics.lie.triples import cross

# kinds, and what their values are: nothing twice; radius, half the length (infinite: a tube) of the hole in a block;
# radius of a hollow ball; half edges and rounding; radius, half length, rounding; a grid of splines; triangles; numbers
# of a smooth body (kernels.convex), and its least radius of curvature
HALF_SPACE, SHEET, HOLE, BOWL, BOX, CYLINDER, HEIGHT_FIELD, POLYHEDRON, CONVEX = range(9)
# of a cylinder that is the end of a rod, after these: where on the rod [m]
END_ARC = 3
# layout of a height field: numbers of coefficients along x and y, place of the first and spacing, then coefficients
FIELD_NX, FIELD_NY, FIELD_X, FIELD_Y, FIELD_DX, FIELD_DY, FIELD_DATA = range(7)
# layout of a polyhedron: number of triangles, rounding, then of each the outward normal and three corners
TRIANGLE, FIRST_TRIANGLE = 12, 2
# nearer than this a point is on the surface, on an axis or at a corner [m]
TOGETHER = 1e-12
MAX_FOOT_STEPS = 30


@kernel_in_place
def add_round(y, m, scale, n, H):
    """H += scale (1 - t t^T), t a unit vector along y in the first m axes, and n in the first m axes the t."""
    r = 0.0
    for i in range(m):
        r += y[i] * y[i]
    r = sqrt(r)
    safe = max(r, TOGETHER)
    for i in range(m):
        n[i] = y[i] / safe
    if r < TOGETHER:
        n[0] = 1.0
    for i in range(m):
        for j in range(m):
            H[i, j] += scale / safe * ((1.0 if i == j else 0.0) - n[i] * n[j])
    return r


@kernel_in_place
def within_faces(a, b, c, rounding):
    """The phi of sum max(p - phi, 0)^2 = rounding^2 over the distances p = a, b, c beyond faces that meet squarely.

    It is the distance where one face counts, negative within its rounding from all. Its level sets are rounded as the
    surface is: where faces are equally near its gradient, sum w grad p with w = max(p - phi, 0) over their sum, is
    continuous, and shorter than 1.
    """
    high, low = max(a, b, c), min(a, b, c)
    middle = max(min(a, b), min(max(a, b), c))
    phi = high - rounding
    if middle > phi:
        phi = 0.5 * (high + middle) - sqrt(max(0.5 * rounding**2 - 0.25 * (high - middle) ** 2, 0.0))
        if low > phi:
            m = (high + middle + low) / 3.0
            spread = (high - m) ** 2 + (middle - m) ** 2 + (low - m) ** 2
            phi = m - sqrt(max((rounding**2 - spread) / 3.0, 0.0))
    return phi


@kernel_in_place
def add_bend(excess, total, own, n, H):
    """H += d d^T/total, d = own - n: what faces that meet bend where one of them is exceeded."""
    if excess > 0.0:
        for i in range(3):
            for j in range(3):
                H[i, j] += (own[i] - n[i]) * (own[j] - n[j]) / total


@kernel_in_place
def inside_box(f, y, n, H):
    """Distance within a box, see `within_faces`."""
    signs = (1.0 if y[0] >= 0.0 else -1.0, 1.0 if y[1] >= 0.0 else -1.0, 1.0 if y[2] >= 0.0 else -1.0)
    p = (abs(y[0]) - f[0], abs(y[1]) - f[1], abs(y[2]) - f[2])
    phi = within_faces(p[0], p[1], p[2], f[3])
    excess = (max(p[0] - phi, 0.0), max(p[1] - phi, 0.0), max(p[2] - phi, 0.0))
    total = excess[0] + excess[1] + excess[2]
    for i in range(3):
        n[i] = excess[i] / total * signs[i]
    add_bend(excess[0], total, (signs[0], 0.0, 0.0), n, H)
    add_bend(excess[1], total, (0.0, signs[1], 0.0), n, H)
    add_bend(excess[2], total, (0.0, 0.0, signs[2]), n, H)
    return phi


@kernel_in_place
def inside_cylinder(f, y, n, H):
    """Distance within a cylinder, see `within_faces`."""
    rho = radial_direction(y, n)
    side, end, up = rho - f[0], abs(y[2]) - f[1], 1.0 if y[2] >= 0.0 else -1.0
    phi = within_faces(side, end, -inf, f[2])
    over_side, over_end = max(side - phi, 0.0), max(end - phi, 0.0)
    total = over_side + over_end
    outwards, t, around = (n[0], n[1], 0.0), (-n[1], n[0]), over_side / total / max(rho, TOGETHER)
    for i in range(3):
        n[i] = (over_side * outwards[i] + (over_end * up if i == 2 else 0.0)) / total
    for i in range(2):
        for j in range(2):
            H[i, j] = around * t[min(i, j)] * t[max(i, j)]
    add_bend(over_side, total, outwards, n, H)
    add_bend(over_end, total, (0.0, 0.0, up), n, H)
    return phi


@kernel_in_place
def box_distance(f, y, n, H):
    """Distance to a box with half edges and rounding in f."""
    total, nearest, least = 0.0, 0, -inf
    for i in range(3):
        q = abs(y[i]) - f[i]
        n[i] = 0.0
        if q > 0.0:
            total += q * q
        if q > least:
            least, nearest = q, i
    if total < f[3] * f[3]:
        return inside_box(f, y, n, H)
    if least <= 0.0:
        n[nearest] = 1.0 if y[nearest] >= 0.0 else -1.0
        return least - f[3]
    d = sqrt(total)
    for i in range(3):
        q = abs(y[i]) - f[i]
        if q > 0.0:
            n[i] = (q if y[i] >= 0.0 else -q) / d
            H[i, i] = 1.0 / d
    for i in range(3):
        for j in range(3):
            if n[i] != 0.0 and n[j] != 0.0:
                H[i, j] -= n[i] * n[j] / d
    return d - f[3]


@kernel_in_place
def around_axis(radial, axial, r, z, y, n, H):
    """Gradient and Hessian from the normal (radial, axial) and the distance r of a point from a circle, or 0.

    n holds the radial direction on entry; z: the side of the axis; r = 0: no curvature in the plane through the axis.
    """
    x0, x1 = n[0], n[1]
    rho = max(sqrt(y[0] * y[0] + y[1] * y[1]), TOGETHER)
    n[0], n[1], n[2] = radial * x0, radial * x1, axial * z
    around, t = radial / rho, (-x1, x0)
    for i in range(2):
        for j in range(2):
            H[i, j] = around * t[min(i, j)] * t[max(i, j)]
    if r > 0.0:
        # along the unit vector across n in the plane through the axis
        a = (-axial * x0, -axial * x1, radial * z)
        for i in range(3):
            for j in range(3):
                H[i, j] += a[i] * a[j] / r


@kernel_in_place
def radial_direction(y, n):
    """The distance of y from the axis z; n (3,): the direction from there."""
    rho = sqrt(y[0] * y[0] + y[1] * y[1])
    n[0], n[1], n[2] = 1.0, 0.0, 0.0
    if rho > TOGETHER:
        n[0], n[1] = y[0] / rho, y[1] / rho
    return rho


@kernel_in_place
def round_distance(f, sign, y, n, H):
    """Distance to a cylinder around the axis z (sign 1), or to what is around a hole there (-1).

    Beyond the ends of a hole the block around it ends, too.
    """
    rho = radial_direction(y, n)
    side, end, up = sign * (rho - f[0]), abs(y[2]) - f[1], 1.0 if y[2] >= 0.0 else -1.0
    if side > 0.0 and end > 0.0:
        d = sqrt(side * side + end * end)
        around_axis(sign * side / d, end / d, d, up, y, n, H)
        return d
    if side >= end:
        around_axis(sign, 0.0, 0.0, up, y, n, H)
        return side
    n[0], n[1], n[2] = 0.0, 0.0, up
    return end


@kernel_in_place
def cubic_pieces(s, b):
    """Values, first and second derivatives b (3, 4) of the four cubic B-splines over a piece at s from 0 to 1."""
    r = 1.0 - s
    b[0, 0], b[0, 3] = r * r * r / 6.0, s * s * s / 6.0
    b[0, 1] = 2.0 / 3.0 - s * s * (1.0 - 0.5 * s)
    b[0, 2] = 2.0 / 3.0 - r * r * (1.0 - 0.5 * r)
    b[1, 0], b[1, 3] = -0.5 * r * r, 0.5 * s * s
    b[1, 1], b[1, 2] = s * (1.5 * s - 2.0), -r * (1.5 * r - 2.0)
    b[2, 0], b[2, 1], b[2, 2], b[2, 3] = r, 3.0 * s - 2.0, 3.0 * r - 2.0, s


@kernel_in_place
def surface_height(f, x, y, b, out):
    """Height of a field over (x, y) and its derivatives in out (6,): z, z_x, z_y, z_xx, z_xy, z_yy; b (6, 4) scratch.

    Beyond the grid its last pieces are extrapolated.
    """
    nx, ny = int(f[FIELD_NX]), int(f[FIELD_NY])
    u, v = (x - f[FIELD_X]) / f[FIELD_DX], (y - f[FIELD_Y]) / f[FIELD_DY]
    i, j = int(min(max(u, 0.0), nx - 4.0)), int(min(max(v, 0.0), ny - 4.0))
    cubic_pieces(u - i, b[0:3])
    cubic_pieces(v - j, b[3:6])
    for k in range(6):
        out[k] = 0.0
    for p in range(4):
        for q in range(4):
            c = f[FIELD_DATA + (i + p) * ny + j + q]
            out[0] += c * b[0, p] * b[3, q]
            out[1] += c * b[1, p] * b[3, q]
            out[2] += c * b[0, p] * b[4, q]
            out[3] += c * b[2, p] * b[3, q]
            out[4] += c * b[1, p] * b[4, q]
            out[5] += c * b[0, p] * b[5, q]
    out[1] /= f[FIELD_DX]
    out[2] /= f[FIELD_DY]
    out[3] /= f[FIELD_DX] * f[FIELD_DX]
    out[4] /= f[FIELD_DX] * f[FIELD_DY]
    out[5] /= f[FIELD_DY] * f[FIELD_DY]


@kernel_in_place
def height_distance(f, y, n, H, scratch):
    """Distance to a height field: the point of the surface whose normal goes through y, by Newton's method from below.

    H = S (1 - d S)^-1 with the shape operator S of the surface there. Exact where the surface is less curved than y is
    far from it; elsewhere the nearest of several such points is not searched.
    """
    b, z = scratch[0].reshape(36)[:24].reshape(6, 4), scratch[1, 0]
    u, v = y[0], y[1]
    for _ in range(MAX_FOOT_STEPS):
        surface_height(f, u, v, b, z)
        # grad of 1/2 |(u, v, z) - y|^2 and its Hessian, without its curvature where that is not positive definite
        h = z[0] - y[2]
        g0, g1 = u - y[0] + h * z[1], v - y[1] + h * z[2]
        a, c, e = 1.0 + z[1] * z[1] + h * z[3], z[1] * z[2] + h * z[4], 1.0 + z[2] * z[2] + h * z[5]
        if a <= 0.1 or a * e - c * c <= 0.1 * a:
            a, c, e = 1.0 + z[1] * z[1], z[1] * z[2], 1.0 + z[2] * z[2]
        det = a * e - c * c
        du, dv = -(e * g0 - c * g1) / det, -(a * g1 - c * g0) / det
        u += du
        v += dv
        if du * du + dv * dv <= 1e-30:
            break
    surface_height(f, u, v, b, z)
    w = sqrt(1.0 + z[1] * z[1] + z[2] * z[2])
    n[0], n[1], n[2] = -z[1] / w, -z[2] / w, 1.0 / w
    d = n[0] * (y[0] - u) + n[1] * (y[1] - v) + n[2] * (y[2] - z[0])
    # tangents r_u = (1, 0, z_u), r_v = (0, 1, z_v); first and second fundamental forms; II = -(second derivatives) n
    E, F, G = 1.0 + z[1] * z[1], z[1] * z[2], 1.0 + z[2] * z[2]
    L, M, N = -z[3] / w, -z[4] / w, -z[5] / w
    # dn = H dy: with dy = r_a da + ..., (I + d II) d(u, v) = (r_u . dy, r_v . dy), dn . r_b = II d(u, v)
    a, c, e = E + d * L, F + d * M, G + d * N
    det = a * e - c * c
    if not abs(det) > 1e-9:
        return d  # at a centre of curvature
    i00, i01, i11 = e / det, -c / det, a / det
    # X = II (I + d II)^-1, then to vectors through the dual tangents I^-1 (r_u, r_v)
    first = E * G - F * F
    x00, x01 = L * i00 + M * i01, L * i01 + M * i11
    x10, x11 = M * i00 + N * i01, M * i01 + N * i11
    q00, q01 = (G * x00 - F * x10) / first, (G * x01 - F * x11) / first
    q10, q11 = (E * x10 - F * x00) / first, (E * x11 - F * x01) / first
    r_u, r_v = (1.0, 0.0, z[1]), (0.0, 1.0, z[2])
    for i in range(3):
        for j in range(3):
            H[i, j] = r_u[i] * (q00 * r_u[j] + q01 * r_v[j]) + r_v[i] * (q10 * r_u[j] + q11 * r_v[j])
    return d


@kernel_in_place
def on_triangle(t, y, near):
    """Nearest point of a triangle (corners in t[3:12]) to y; returns 0 inside, 1 on an edge, 2 at a corner."""
    a, b, c = t[3:6], t[6:9], t[9:12]
    d1, d2, d3, d4, d5, d6 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(3):
        ab, ac = b[i] - a[i], c[i] - a[i]
        d1 += ab * (y[i] - a[i])
        d2 += ac * (y[i] - a[i])
        d3 += ab * (y[i] - b[i])
        d4 += ac * (y[i] - b[i])
        d5 += ab * (y[i] - c[i])
        d6 += ac * (y[i] - c[i])
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    s, r, region = 0.0, 0.0, 2  # near = a + s (b - a) + r (c - a)
    if d1 <= 0.0 and d2 <= 0.0:
        region = 2
    elif d3 >= 0.0 and d4 <= d3:
        s = 1.0
    elif d6 >= 0.0 and d5 <= d6:
        r = 1.0
    elif vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        s, region = d1 / (d1 - d3), 1
    elif vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        r, region = d2 / (d2 - d6), 1
    elif va <= 0.0 and d4 >= d3 and d5 >= d6:
        r = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        s, region = 1.0 - r, 1
    else:
        s, r, region = vb / (va + vb + vc), vc / (va + vb + vc), 0
    for i in range(3):
        near[i] = a[i] + s * (b[i] - a[i]) + r * (c[i] - a[i])
    return region


@kernel_in_place
def edge_direction(t, y, out):
    """out (3,): unit vector along the edge of triangle t that is nearest to a point y on it."""
    a, b, c = t[3:6], t[6:9], t[9:12]
    least = inf
    for k in range(3):
        p = a if k == 0 else (b if k == 1 else c)
        q = b if k == 0 else (c if k == 1 else a)
        length, along = 0.0, 0.0
        for i in range(3):
            length += (q[i] - p[i]) ** 2
            along += (q[i] - p[i]) * (y[i] - p[i])
        off = 0.0
        for i in range(3):
            off += (y[i] - p[i] - along / length * (q[i] - p[i])) ** 2
        if off < least:
            least = off
            for i in range(3):
                out[i] = (q[i] - p[i]) / sqrt(length)


@kernel_in_place
def polyhedron_distance(f, y, n, H, scratch):
    """Distance to a convex polyhedron: inside that of the nearest plane, outside that of the nearest triangle."""
    count, rounding, deepest, facing = int(f[0]), f[1], -inf, 0
    triangles = f[FIRST_TRIANGLE : FIRST_TRIANGLE + TRIANGLE * count].reshape(count, TRIANGLE)
    near, best = scratch[0, 0, :3], scratch[0, 1, :3]
    for k in range(count):
        t = triangles[k]
        d = t[0] * (y[0] - t[3]) + t[1] * (y[1] - t[4]) + t[2] * (y[2] - t[5])
        if d > deepest:
            deepest, facing = d, k
    copy(triangles[facing, :3], n)
    if deepest <= 0.0:
        return deepest - rounding
    least, region, nearest = inf, 0, 0
    for k in range(count):
        t = triangles[k]
        if t[0] * (y[0] - t[3]) + t[1] * (y[1] - t[4]) + t[2] * (y[2] - t[5]) <= 0.0:
            continue
        where = on_triangle(t, y, near)
        d = (y[0] - near[0]) ** 2 + (y[1] - near[1]) ** 2 + (y[2] - near[2]) ** 2
        # edges inside a face belong to two triangles: the plane of the nearer one is the better answer
        if d < least * (1.0 - 1e-14) or (d <= least * (1.0 + 1e-14) and where < region):
            least, region, nearest = d, where, k
            copy(near, best)
    d, along = sqrt(least), 0.0
    for i in range(3):
        along += triangles[nearest, i] * (y[i] - best[i]) / d
    if region == 0 or d < TOGETHER or along > 1.0 - 1e-12:  # an edge inside a face
        copy(triangles[nearest, :3], n)
        return d - rounding
    for i in range(3):
        n[i] = (y[i] - best[i]) / d
    if region == 2:
        for i in range(3):
            for j in range(3):
                H[i, j] = ((1.0 if i == j else 0.0) - n[i] * n[j]) / d
        return d - rounding
    # an edge: curved across it only
    edge_direction(triangles[nearest], best, near)
    across = cross(n, near)
    for i in range(3):
        for j in range(3):
            H[i, j] = across[i] * across[j] / d
    return d - rounding


@kernel_in_place
def solid_distance(kind, f, y, n, H, scratch):
    """Signed distance of y (3,) from a solid in its frame, negative inside; n (3,), H (3, 3): gradient and Hessian.

    f: its values. scratch: at least (2, 6, 6).
    """
    clear_matrix(H)
    if kind == HALF_SPACE or kind == SHEET:
        n[0], n[1], n[2] = 0.0, 0.0, 1.0
        if kind == SHEET and y[2] < 0.0:
            n[2] = -1.0
            return -y[2]
        return y[2]
    if kind == HOLE:
        return round_distance(f, -1.0, y, n, H)
    if kind == BOWL:
        r = add_round(y, 3, -1.0, n, H)
        for i in range(3):
            n[i] = -n[i]
        return f[0] - r
    if kind == BOX:
        return box_distance(f, y, n, H)
    if kind == CYLINDER:
        side, end = max(sqrt(y[0] * y[0] + y[1] * y[1]) - f[0], 0.0), max(abs(y[2]) - f[1], 0.0)
        if side * side + end * end < f[2] * f[2]:
            return inside_cylinder(f, y, n, H)
        return round_distance(f, 1.0, y, n, H) - f[2]
    if kind == HEIGHT_FIELD:
        return height_distance(f, y, n, H, scratch)
    if kind == CONVEX:
        return convex_distance(f, y, n, H, scratch[0, :3, :3])
    return polyhedron_distance(f, y, n, H, scratch)
