"""Small fixed-size algebra without allocation. Dual matrices [[P, 0], [Q, P]] are stored as (2, 3, 3) = [P, Q]."""

from __future__ import annotations

from sorosim.base.compiled import kernel_in_place

# plain loops instead of slice assignments: those take numba seconds to compile, each


@kernel_in_place
def clear(x):
    """x = 0, x (n,)."""
    for i in range(x.shape[0]):
        x[i] = 0.0


@kernel_in_place
def clear_matrix(X):
    """X = 0, X (n, m)."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            X[i, j] = 0.0


@kernel_in_place
def isolate(X, i):
    """Row and column i of X (n, n) become those of the unit matrix."""
    for j in range(X.shape[0]):
        X[i, j] = 0.0
        X[j, i] = 0.0
    X[i, i] = 1.0


@kernel_in_place
def copy(x, out):
    """out = x, both (n,)."""
    for i in range(x.shape[0]):
        out[i] = x[i]


@kernel_in_place
def add(x, out):
    """out += x, both (n,)."""
    for i in range(x.shape[0]):
        out[i] += x[i]


@kernel_in_place
def add_scaled(scale, x, out):
    """out += scale x, both (n,)."""
    for i in range(x.shape[0]):
        out[i] += scale * x[i]


@kernel_in_place
def add_matrix(X, out):
    """out += X, both (n, m)."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            out[i, j] += X[i, j]


@kernel_in_place
def clear_dual(X):
    """X = 0 for a dual matrix."""
    for i in range(3):
        for j in range(3):
            X[0, i, j] = 0.0
            X[1, i, j] = 0.0


@kernel_in_place
def copy_dual(X, scale, out):
    """out = scale X for dual matrices."""
    for i in range(3):
        for j in range(3):
            out[0, i, j] = scale * X[0, i, j]
            out[1, i, j] = scale * X[1, i, j]


@kernel_in_place
def add_ad(x, y, scale, out):
    """Add scale * ad_x y to out; all (6,)."""
    out[0] += scale * (x[1] * y[2] - x[2] * y[1])
    out[1] += scale * (x[2] * y[0] - x[0] * y[2])
    out[2] += scale * (x[0] * y[1] - x[1] * y[0])
    out[3] += scale * (x[4] * y[2] - x[5] * y[1] + x[1] * y[5] - x[2] * y[4])
    out[4] += scale * (x[5] * y[0] - x[3] * y[2] + x[2] * y[3] - x[0] * y[5])
    out[5] += scale * (x[3] * y[1] - x[4] * y[0] + x[0] * y[4] - x[1] * y[3])


@kernel_in_place
def add_coad(x, y, scale, out):
    """Add scale * ad*_x y = scale [w x m + v x f; w x f] to out; all (6,)."""
    out[0] += scale * (x[1] * y[2] - x[2] * y[1] + x[4] * y[5] - x[5] * y[4])
    out[1] += scale * (x[2] * y[0] - x[0] * y[2] + x[5] * y[3] - x[3] * y[5])
    out[2] += scale * (x[0] * y[1] - x[1] * y[0] + x[3] * y[4] - x[4] * y[3])
    out[3] += scale * (x[1] * y[5] - x[2] * y[4])
    out[4] += scale * (x[2] * y[3] - x[0] * y[5])
    out[5] += scale * (x[0] * y[4] - x[1] * y[3])


@kernel_in_place
def add_coadbar(y, scale, out):
    """Add scale * adbar_y = -scale [[m^, f^], [f^, 0]] to the matrix out (6, 6)."""
    for block in range(3):
        i, j = (0, 0) if block == 0 else ((0, 3) if block == 1 else (3, 0))
        at = 0 if block == 0 else 3
        out[i, j + 1] += scale * y[at + 2]
        out[i, j + 2] -= scale * y[at + 1]
        out[i + 1, j] -= scale * y[at + 2]
        out[i + 1, j + 2] += scale * y[at]
        out[i + 2, j] += scale * y[at + 1]
        out[i + 2, j + 1] -= scale * y[at]


@kernel_in_place
def add_dual_vector(X, y, out):
    """out += X y for a dual matrix X; y, out (6,)."""
    for i in range(3):
        out[i] += X[0, i, 0] * y[0] + X[0, i, 1] * y[1] + X[0, i, 2] * y[2]
        out[3 + i] += (
            X[1, i, 0] * y[0] + X[1, i, 1] * y[1] + X[1, i, 2] * y[2]
            + X[0, i, 0] * y[3] + X[0, i, 1] * y[4] + X[0, i, 2] * y[5]
        )  # fmt: skip


@kernel_in_place
def dual_transpose_vector(X, y, out):
    """out = X^T y for a dual matrix X; y, out (6,)."""
    for i in range(3):
        out[i] = (
            X[0, 0, i] * y[0] + X[0, 1, i] * y[1] + X[0, 2, i] * y[2]
            + X[1, 0, i] * y[3] + X[1, 1, i] * y[4] + X[1, 2, i] * y[5]
        )  # fmt: skip
        out[3 + i] = X[0, 0, i] * y[3] + X[0, 1, i] * y[4] + X[0, 2, i] * y[5]


@kernel_in_place
def dual_transform(R, p, X, out):
    """out = Ad_g X = [R P, p^ R P + R Q] for a dual matrix X."""
    for j in range(3):
        for i in range(3):
            out[0, i, j] = R[i, 0] * X[0, 0, j] + R[i, 1] * X[0, 1, j] + R[i, 2] * X[0, 2, j]
            out[1, i, j] = R[i, 0] * X[1, 0, j] + R[i, 1] * X[1, 1, j] + R[i, 2] * X[1, 2, j]
        out[1, 0, j] += p[1] * out[0, 2, j] - p[2] * out[0, 1, j]
        out[1, 1, j] += p[2] * out[0, 0, j] - p[0] * out[0, 2, j]
        out[1, 2, j] += p[0] * out[0, 1, j] - p[1] * out[0, 0, j]


@kernel_in_place
def add_ad_dual(x, X, scale, out):
    """Add scale * ad_x X = scale [w^ P, v^ P + w^ Q] to the dual matrix out."""
    for j in range(3):
        a, b, c = X[0, 0, j], X[0, 1, j], X[0, 2, j]
        d, e, f = X[1, 0, j], X[1, 1, j], X[1, 2, j]
        out[0, 0, j] += scale * (x[1] * c - x[2] * b)
        out[0, 1, j] += scale * (x[2] * a - x[0] * c)
        out[0, 2, j] += scale * (x[0] * b - x[1] * a)
        out[1, 0, j] += scale * (x[4] * c - x[5] * b + x[1] * f - x[2] * e)
        out[1, 1, j] += scale * (x[5] * a - x[3] * c + x[2] * d - x[0] * f)
        out[1, 2, j] += scale * (x[3] * b - x[4] * a + x[0] * e - x[1] * d)


@kernel_in_place
def add_dual_ad(X, x, scale, out):
    """Add scale * X ad_x = scale [P w^, Q w^ + P v^] to the dual matrix out."""
    for i in range(3):
        a, b, c = X[0, i, 0], X[0, i, 1], X[0, i, 2]
        d, e, f = X[1, i, 0], X[1, i, 1], X[1, i, 2]
        out[0, i, 0] += scale * (b * x[2] - c * x[1])
        out[0, i, 1] += scale * (c * x[0] - a * x[2])
        out[0, i, 2] += scale * (a * x[1] - b * x[0])
        out[1, i, 0] += scale * (e * x[2] - f * x[1] + b * x[5] - c * x[4])
        out[1, i, 1] += scale * (f * x[0] - d * x[2] + c * x[3] - a * x[5])
        out[1, i, 2] += scale * (d * x[1] - e * x[0] + a * x[4] - b * x[3])


@kernel_in_place
def dual_expand_transposed(X, out):
    """out (6, 6) = X^T, so that column r of the dual matrix X is the contiguous row r of out."""
    for i in range(3):
        for j in range(3):
            out[j, i] = X[0, i, j]
            out[j, 3 + i] = X[1, i, j]
            out[3 + j, i] = 0.0
            out[3 + j, 3 + i] = X[0, i, j]


@kernel_in_place
def world_inertia(R, p, inertia, rotated, out):
    """out = Ad_g^{-T} M Ad_g^{-1} for a symmetric M (6, 6); rotated (6, 6) is scratch."""
    # blocks into world axes: R M_ij R^T
    for bi in range(2):
        for bj in range(bi, 2):
            for i in range(3):
                m = inertia[3 * bi + i]
                j = 3 * bj
                for c in range(3):  # M_ij R^T
                    out[i, c] = m[j] * R[c, 0] + m[j + 1] * R[c, 1] + m[j + 2] * R[c, 2]
            for i in range(3):
                for c in range(3):
                    rotated[3 * bi + i, j + c] = R[i, 0] * out[0, c] + R[i, 1] * out[1, c] + R[i, 2] * out[2, c]
    # to the world origin: [[1, p^], [0, 1]] M [[1, 0], [-p^, 1]]
    for j in range(3):
        d0, d1, d2 = rotated[3, 3 + j], rotated[4, 3 + j], rotated[5, 3 + j]
        out[0, 3 + j] = rotated[0, 3 + j] + p[1] * d2 - p[2] * d1
        out[1, 3 + j] = rotated[1, 3 + j] + p[2] * d0 - p[0] * d2
        out[2, 3 + j] = rotated[2, 3 + j] + p[0] * d1 - p[1] * d0
        out[3, 3 + j], out[4, 3 + j], out[5, 3 + j] = d0, d1, d2
    for i in range(3):
        t0, t1, t2 = out[i, 3], out[i, 4], out[i, 5]
        for j in range(3):
            out[3 + j, i] = out[i, 3 + j]
        # (p^ B^T)_ij = (p x row j of B)_i;  (X p^)_i = row i of X crossed with p
        out[i, 0] = rotated[min(i, 0), max(i, 0)] - (t1 * p[2] - t2 * p[1])
        out[i, 1] = rotated[min(i, 1), max(i, 1)] - (t2 * p[0] - t0 * p[2])
        out[i, 2] = rotated[min(i, 2), max(i, 2)] - (t0 * p[1] - t1 * p[0])
    for j in range(3):
        b0, b1, b2 = rotated[j, 3], rotated[j, 4], rotated[j, 5]
        out[0, j] += p[1] * b2 - p[2] * b1
        out[1, j] += p[2] * b0 - p[0] * b2
        out[2, j] += p[0] * b1 - p[1] * b0


@kernel_in_place
def matrix_vector(X, y, out):
    """out = X y; X (6, 6), y and out (6,)."""
    for i in range(6):
        out[i] = X[i, 0] * y[0] + X[i, 1] * y[1] + X[i, 2] * y[2] + X[i, 3] * y[3] + X[i, 4] * y[4] + X[i, 5] * y[5]


@kernel_in_place
def add_transposed_product(X, n, Y, m, scale, out, i0, j0):
    """out[i0 : i0 + n, j0 : j0 + m] += scale X^T Y; X (6, n) and Y (6, m) are flat, row by row."""
    # views: for all the compiler knows an index such as j0 + j could be negative, and then it does not vectorise
    Y0, Y1, Y2, Y3, Y4, Y5 = Y[:m], Y[m : 2 * m], Y[2 * m : 3 * m], Y[3 * m : 4 * m], Y[4 * m : 5 * m], Y[5 * m :]
    for i in range(n):
        x0, x1, x2 = scale * X[i], scale * X[n + i], scale * X[2 * n + i]
        x3, x4, x5 = scale * X[3 * n + i], scale * X[4 * n + i], scale * X[5 * n + i]
        # of a block of several rods most columns are zero at most nodes
        if x0 == 0.0 and x1 == 0.0 and x2 == 0.0 and x3 == 0.0 and x4 == 0.0 and x5 == 0.0:
            continue
        row = out[i0 + i, j0 : j0 + m]
        for j in range(m):
            row[j] += x0 * Y0[j] + x1 * Y1[j] + x2 * Y2[j] + x3 * Y3[j] + x4 * Y4[j] + x5 * Y5[j]


@kernel_in_place
def add_matrix_columns(X, Y, n, scale, out):
    """out += scale * X Y; X (6, 6), Y and out (6 n,) flat, row by row."""
    for i in range(6):
        x0, x1, x2 = scale * X[i, 0], scale * X[i, 1], scale * X[i, 2]
        x3, x4, x5 = scale * X[i, 3], scale * X[i, 4], scale * X[i, 5]
        for j in range(n):
            out[i * n + j] += (
                x0 * Y[j] + x1 * Y[n + j] + x2 * Y[2 * n + j]
                + x3 * Y[3 * n + j] + x4 * Y[4 * n + j] + x5 * Y[5 * n + j]
            )  # fmt: skip


@kernel_in_place
def add_coadbar_columns(y, Y, n, scale, out):
    """out += scale * adbar_y Y = -scale [m x a + f x b; f x a] for the columns [a; b] of Y (6 n,) flat."""
    m0, m1, m2 = -scale * y[0], -scale * y[1], -scale * y[2]
    f0, f1, f2 = -scale * y[3], -scale * y[4], -scale * y[5]
    for j in range(n):
        a0, a1, a2 = Y[j], Y[n + j], Y[2 * n + j]
        b0, b1, b2 = Y[3 * n + j], Y[4 * n + j], Y[5 * n + j]
        out[j] += m1 * a2 - m2 * a1 + f1 * b2 - f2 * b1
        out[n + j] += m2 * a0 - m0 * a2 + f2 * b0 - f0 * b2
        out[2 * n + j] += m0 * a1 - m1 * a0 + f0 * b1 - f1 * b0
        out[3 * n + j] += f1 * a2 - f2 * a1
        out[4 * n + j] += f2 * a0 - f0 * a2
        out[5 * n + j] += f0 * a1 - f1 * a0


@kernel_in_place
def add_ad_columns(x, Y, n, scale, out):
    """out += scale * ad_x Y = scale [w x a; v x a + w x b] for the columns [a; b] of Y (6 n,) flat; x = [w; v]."""
    w0, w1, w2 = scale * x[0], scale * x[1], scale * x[2]
    v0, v1, v2 = scale * x[3], scale * x[4], scale * x[5]
    for j in range(n):
        a0, a1, a2 = Y[j], Y[n + j], Y[2 * n + j]
        b0, b1, b2 = Y[3 * n + j], Y[4 * n + j], Y[5 * n + j]
        out[j] += w1 * a2 - w2 * a1
        out[n + j] += w2 * a0 - w0 * a2
        out[2 * n + j] += w0 * a1 - w1 * a0
        out[3 * n + j] += v1 * a2 - v2 * a1 + w1 * b2 - w2 * b1
        out[4 * n + j] += v2 * a0 - v0 * a2 + w2 * b0 - w0 * b2
        out[5 * n + j] += v0 * a1 - v1 * a0 + w0 * b1 - w1 * b0


@kernel_in_place
def cross(a, b, out):
    """out = a x b, all (3,)."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@kernel_in_place
def add_cross(a, b, scale, out):
    """out += scale a x b, all (3,)."""
    out[0] += scale * (a[1] * b[2] - a[2] * b[1])
    out[1] += scale * (a[2] * b[0] - a[0] * b[2])
    out[2] += scale * (a[0] * b[1] - a[1] * b[0])


@kernel_in_place
def into_world(g, x, out):
    """out = R x + p; g (4, 3)."""
    for i in range(3):
        out[i] = g[i, 0] * x[0] + g[i, 1] * x[1] + g[i, 2] * x[2] + g[3, i]
