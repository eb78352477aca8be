"""Smooth convex bodies by their support functions: superellipsoids, of which ellipsoids are some (docs/theory.md, 12).

The support function h(u) is the largest u.x of a body; x(u) = grad h is the place where the outward normal is u, and
the Hessian S(u) turns a change of the normal into one of the place: its eigenvalues are the radii of curvature.
"""

from __future__ import annotations

from math import sqrt

from sorosim.base.compiled import kernel_in_place
from sorosim.mechanics.lie.triples import cross, dot, rows, scaled, sum2, sum3, times, transposed_times

# places of the numbers of a body: three sizes, exponents of its outline along z and of its cross section, smoothing
P_ALONG, P_AROUND, SMOOTHING, N_SHAPE = 3, 4, 5, 6
MAX_STEPS, LEAST_PART, FLAT = 60, 1e-9, 1e-14


@kernel_in_place
def support(f, u, S):
    """h and x(u) of a body with the numbers f (6,) in its own axes; S (3, 3): its Hessian. Homogeneous in u.

    h = |(|(v_x, v_y)|_p, v_z)|_q of v_i = sqrt(t_i^2 + e^2 |t|^2), t_i = a_i u_i.
    """
    a, q, p, smooth = (f[0], f[1], f[2]), f[P_ALONG], f[P_AROUND], f[SMOOTHING] * f[SMOOTHING]
    t = (a[0] * u[0], a[1] * u[1], a[2] * u[2])
    square = dot(t, t)
    if p == 2.0 and q == 2.0:
        h = sqrt((1.0 + 3.0 * smooth) * square)
        x = scaled((1.0 + 3.0 * smooth) / h, (a[0] * t[0], a[1] * t[1], a[2] * t[2]))
        for i in range(3):
            for j in range(3):
                S[i, j] = ((1.0 + 3.0 * smooth) * a[i] * a[j] * (1.0 if i == j else 0.0) - x[i] * x[j]) / h
        return h, x
    v = (sqrt(t[0] * t[0] + smooth * square), sqrt(t[1] * t[1] + smooth * square),
         sqrt(t[2] * t[2] + smooth * square))  # fmt: skip
    # relative to the largest: powers neither overflow nor vanish
    most = max(v[0], v[1])
    s = most * ((v[0] / most) ** p + (v[1] / most) ** p) ** (1.0 / p)
    most = max(s, v[2])
    h = most * ((s / most) ** q + (v[2] / most) ** q) ** (1.0 / q)
    # slopes of h by v
    by_s, by_z = (s / h) ** (q - 1.0), (v[2] / h) ** (q - 1.0)
    by_x, by_y = (v[0] / s) ** (p - 1.0), (v[1] / s) ** (p - 1.0)
    slope = (by_s * by_x, by_s * by_y, by_z)
    # grad v_i = ((i-th axis) t_i + e^2 t)/v_i, all by t
    g_x = sum2(smooth / v[0], t, t[0] / v[0], (1.0, 0.0, 0.0))
    g_y = sum2(smooth / v[1], t, t[1] / v[1], (0.0, 1.0, 0.0))
    g_z = sum2(smooth / v[2], t, t[2] / v[2], (0.0, 0.0, 1.0))
    g_s = sum2(by_x, g_x, by_y, g_y)
    gradient = sum3(slope[0], g_x, slope[1], g_y, slope[2], g_z)
    # Hessians of the norms of two numbers have the one direction that leaves their ratio
    across, along = sum2(v[1], g_x, -v[0], g_y), sum2(v[2], g_s, -s, g_z)
    bend_s = by_s * (p - 1.0) * (v[0] / s) ** (p - 2.0) * (v[1] / s) ** (p - 2.0) / (s * s * s)
    bend_h = (q - 1.0) * (s / h) ** (q - 2.0) * (v[2] / h) ** (q - 2.0) / (h * h * h)
    own = (slope[0] / v[0], slope[1] / v[1], slope[2] / v[2])
    total = smooth * (own[0] + own[1] + own[2])
    for i in range(3):
        for j in range(3):
            bend = (own[i] + total) if i == j else 0.0
            bend -= own[0] * g_x[i] * g_x[j] + own[1] * g_y[i] * g_y[j] + own[2] * g_z[i] * g_z[j]
            bend += bend_s * across[i] * across[j] + bend_h * along[i] * along[j]
            S[i, j] = a[i] * a[j] * bend
    return h, (a[0] * gradient[0], a[1] * gradient[1], a[2] * gradient[2])


@kernel_in_place
def turned_support(f, R, u, S):
    """As `support`, of a body in the axes R, three rows; u, x and S in those of the world."""
    h, own = support(f, transposed_times(R, u), S)
    for i in range(3):
        (S[i, 0], S[i, 1], S[i, 2]) = times(R, (S[i, 0], S[i, 1], S[i, 2]))
    for j in range(3):
        (S[0, j], S[1, j], S[2, j]) = times(R, (S[0, j], S[1, j], S[2, j]))
    return h, times(R, own)


@kernel_in_place
def unit(u):
    """u over its length."""
    return scaled(1.0 / sqrt(dot(u, u)), u)


@kernel_in_place
def tangents(u):
    """Two unit vectors across the unit vector u and each other."""
    k = 0 if abs(u[0]) <= min(abs(u[1]), abs(u[2])) else (1 if abs(u[1]) <= abs(u[2]) else 2)
    first = unit(cross(u, (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)))
    return first, cross(u, first)


@kernel_in_place
def within(X, d, e):
    """The symmetric X (3, 3) along two vectors: d.X d, d.X e, e.X e."""
    X_d, X_e = times(rows(X), d), times(rows(X), e)
    return dot(d, X_d), dot(e, X_d), dot(e, X_e)


@kernel_in_place
def outward(f, y):
    """The normal of the superellipsoid without smoothing at which y (3,) lies, on another scale: where to begin."""
    # exponents of a norm and of its dual: 1/p + 1/p' = 1
    p, q = f[P_AROUND] / (f[P_AROUND] - 1.0), f[P_ALONG] / (f[P_ALONG] - 1.0)
    v = (abs(y[0]) / f[0], abs(y[1]) / f[1], abs(y[2]) / f[2])
    most = max(v[0], v[1])
    s = most * ((v[0] / most) ** p + (v[1] / most) ** p) ** (1.0 / p) if most > 0.0 else 0.0
    most = max(s, v[2])
    if most == 0.0:
        # from its middle out the shortest way
        k = 0 if f[0] <= min(f[1], f[2]) else (1 if f[1] <= f[2] else 2)
        return (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
    by_s, by_z = (s / most) ** (q - 1.0), (v[2] / most) ** (q - 1.0)
    by_x, by_y = ((v[0] / s) ** (p - 1.0), (v[1] / s) ** (p - 1.0)) if s > 0.0 else (0.0, 0.0)
    u = (by_s * by_x / f[0], by_s * by_y / f[1], by_z / f[2])
    return unit((u[0] if y[0] >= 0.0 else -u[0], u[1] if y[1] >= 0.0 else -u[1], u[2] if y[2] >= 0.0 else -u[2]))


@kernel_in_place
def convex_distance(f, y, n, H, S):
    """Signed distance of y (3,) from a body with the numbers f; n (3,), H (3, 3): its gradient and Hessian.

    phi = max over unit vectors u of u.y - h(u), by Newton's method; H = (S + phi)^-1 across n. S (3, 3): scratch.
    """
    u = outward(f, y)
    h, x = support(f, u, S)
    phi = dot(u, y) - h
    if phi < 0.0:
        # in its middle, and on axes of symmetry, the way out may be across
        for k in range(3):
            sign = 1.0 if y[k] >= 0.0 else -1.0
            there = (sign if k == 0 else 0.0, sign if k == 1 else 0.0, sign if k == 2 else 0.0)
            if dot(there, y) - support(f, there, S)[0] > phi:
                u, phi = there, dot(there, y) - support(f, there, S)[0]
        h, x = support(f, u, S)
    for _ in range(MAX_STEPS):
        d, e = tangents(u)
        off = sum2(1.0, y, -1.0, x)
        r_d, r_e = dot(d, off), dot(e, off)
        s_dd, s_de, s_ee = within(S, d, e)
        step_d, step_e = upwards(s_dd + phi, s_de, s_ee + phi, r_d, r_e)
        gain, part, higher, new = r_d * step_d + r_e * step_e, 1.0, False, phi
        rounding = FLAT * (h + abs(phi))
        while not higher and part > LEAST_PART:
            there = unit(sum3(1.0, u, part * step_d, d, part * step_e, e))
            h, x = support(f, there, S)
            new = dot(there, y) - h
            higher = new >= phi + 0.1 * part * gain - rounding
            part *= 0.5
        if not higher:
            h, x = support(f, u, S)
            break
        u, phi = there, new
        if gain <= FLAT * FLAT * h or step_d * step_d + step_e * step_e <= FLAT * FLAT:
            break
    n[0], n[1], n[2] = u
    d, e = tangents(u)
    s_dd, s_de, s_ee = within(S, d, e)
    spread_inverse(s_dd + phi, s_de, s_ee + phi, FLAT * h, d, e, H)
    return phi


@kernel_in_place
def upwards(a, b, c, r_d, r_e):
    """Solution of ((a, b), (b, c)) x = r where that is positive definite, with eigenvalues by their size elsewhere."""
    mean, half = 0.5 * (a + c), 0.5 * (a - c)
    radius = sqrt(half * half + b * b)
    size = abs(mean) + radius
    least = 1e-3 * size if mean - radius <= 1e-12 * size else 0.0
    high, low = 1.0 / max(abs(mean + radius), least), 1.0 / max(abs(mean - radius), least)
    if radius == 0.0:
        return high * r_d, high * r_e
    along, across = 0.5 * (high + low), 0.5 * (high - low) / radius
    return (along + across * half) * r_d + across * b * r_e, (along - across * half) * r_e + across * b * r_d


@kernel_in_place
def spread_inverse(a, b, c, least, d, e, out):
    """out (3, 3): the inverse of ((a, b), (b, c)) across two vectors; none where it would not be positive."""
    det = a * c - b * b
    positive = a > 0.0 and det > least * least
    for i in range(3):
        for j in range(3):
            out[i, j] = 0.0
            if positive:
                out[i, j] = (c * d[i] * d[j] - b * (d[i] * e[j] + e[i] * d[j]) + a * e[i] * e[j]) / det
