"""Twists v, wrenches f and matrices (6, 6) of both, and the pose R, p of a frame."""

import numpy as np

from helpers.chains import compiled


@compiled
def dot(x, y):
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3] + x[4] * y[4] + x[5] * y[5]


@compiled
def clear(out):
    """out = 0."""
    for i in range(6):
        out[i] = 0.0


@compiled
def put(scale, x, out):
    """out = scale x."""
    for i in range(6):
        out[i] = scale * x[i]


@compiled
def add(scale, x, out):
    """out += scale x."""
    for i in range(6):
        out[i] += scale * x[i]


@compiled
def add_times(scale, A, x, out):
    """out += scale A x."""
    for i in range(6):
        out[i] += scale * dot(A[i], x)


@compiled
def add_cross(scale, v, u, out):
    """out += scale v x u."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[i] += scale * (v[j] * u[k] - v[k] * u[j])
        out[3 + i] += scale * (v[j] * u[3 + k] - v[k] * u[3 + j] + v[3 + j] * u[k] - v[3 + k] * u[j])


@compiled
def add_cross_wrench(v, f, out):
    """out += v x* f."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[i] += v[j] * f[k] - v[k] * f[j] + v[3 + j] * f[3 + k] - v[3 + k] * f[3 + j]
        out[3 + i] += v[j] * f[3 + k] - v[k] * f[3 + j]


@compiled
def inwards(R, p, v, out):
    """out = X v, a twist as the frame sees it; v and out may be one."""
    a, b, c = v[0], v[1], v[2]
    x, y, z = v[3] + b * p[2] - c * p[1], v[4] + c * p[0] - a * p[2], v[5] + a * p[1] - b * p[0]
    for i in range(3):
        out[i] = R[0, i] * a + R[1, i] * b + R[2, i] * c
        out[3 + i] = R[0, i] * x + R[1, i] * y + R[2, i] * z


@compiled
def add_outwards(R, p, f, out):
    """out += X^T f, a wrench in the frame as seen from outside."""
    x = R[0, 0] * f[3] + R[0, 1] * f[4] + R[0, 2] * f[5]
    y = R[1, 0] * f[3] + R[1, 1] * f[4] + R[1, 2] * f[5]
    z = R[2, 0] * f[3] + R[2, 1] * f[4] + R[2, 2] * f[5]
    out[0] += R[0, 0] * f[0] + R[0, 1] * f[1] + R[0, 2] * f[2] + p[1] * z - p[2] * y
    out[1] += R[1, 0] * f[0] + R[1, 1] * f[1] + R[1, 2] * f[2] + p[2] * x - p[0] * z
    out[2] += R[2, 0] * f[0] + R[2, 1] * f[1] + R[2, 2] * f[2] + p[0] * y - p[1] * x
    out[3] += x
    out[4] += y
    out[5] += z


@compiled
def add_matrix_outwards(R, p, A, half, out):
    """out += X^T A X; half (6, 6) is overwritten."""
    for k in range(6):
        clear(half[k])
        add_outwards(R, p, A[k], half[k])
    for k in range(6):
        add_outwards(R, p, half[:, k], out[:, k])


@compiled
def turn(R, axis, angle, out):
    """out = R exp(angle axis^)."""
    c, s = np.cos(angle), np.sin(angle)
    for j in range(3):
        k, m = (j + 1) % 3, (j + 2) % 3
        e_j, e_k = c + (1.0 - c) * axis[j] ** 2, (1.0 - c) * axis[j] * axis[k] + s * axis[m]
        e_m = (1.0 - c) * axis[j] * axis[m] - s * axis[k]
        for i in range(3):
            out[i, j] = R[i, j] * e_j + R[i, k] * e_k + R[i, m] * e_m


@compiled
def coriolis(v, inertia, h, B):
    """B = v x* I - I v x + h xbar*, twice the Coriolis matrix of a body; I v x = -(v x* I)^T."""
    for k in range(6):
        clear(B[k])
    for k in range(6):
        add_cross_wrench(v, inertia[k], B[k])
        add_cross_wrench(v, inertia[k], B[:, k])
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        B[i, j] += h[k]
        B[i, k] -= h[j]
        for row, column in ((i, 3), (3 + i, 0)):
            B[row, column + j] += h[3 + k]
            B[row, column + k] -= h[3 + j]


@compiled
def carry(R, p, twists, n):
    """The first n columns of twists (6, ...) as the frame at R, p sees them."""
    a, b, c, x, y, z = twists[0], twists[1], twists[2], twists[3], twists[4], twists[5]
    for i in range(n):
        x[i] += b[i] * p[2] - c[i] * p[1]
        y[i] += c[i] * p[0] - a[i] * p[2]
        z[i] += a[i] * p[1] - b[i] * p[0]
    for part in range(2):
        x, y, z = twists[3 * part], twists[3 * part + 1], twists[3 * part + 2]
        for i in range(n):
            here = x[i], y[i], z[i]
            x[i] = R[0, 0] * here[0] + R[1, 0] * here[1] + R[2, 0] * here[2]
            y[i] = R[0, 1] * here[0] + R[1, 1] * here[1] + R[2, 1] * here[2]
            z[i] = R[0, 2] * here[0] + R[1, 2] * here[1] + R[2, 2] * here[2]


@compiled
def products(x, A, y, B, scale, out):
    """out = x A + scale y B, columns x, y (6,), matrices A, B (6, n).

    Its loops count from zero: with another start numba has to take indices for possibly negative ones, one by one.
    """
    for i in range(len(out)):
        out[i] = 0.0
    for k in range(6):
        a, b, row_a, row_b = x[k], scale * y[k], A[k], B[k]
        for i in range(len(out)):
            out[i] += a * row_a[i] + b * row_b[i]


@compiled
def product(x, A, out):
    """out = x A, x a column (6,), A (6, n)."""
    for i in range(len(out)):
        out[i] = 0.0
    for k in range(6):
        a, row = x[k], A[k]
        for i in range(len(out)):
            out[i] += a * row[i]
