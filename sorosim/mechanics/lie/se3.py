"""Rigid motions: exponential and logarithm of SE(3), adjoint and coadjoint operators.

Twists are [angular; linear], wrenches [moment; force]. A pose g (4, 4) maps the coordinates of its own frame to those
of its reference frame.
"""

from __future__ import annotations

import numpy as np

from sorosim.base.compiled import kernel, kernel_in_place
from sorosim.mechanics.lie.so3 import coefficients, log_so3_into, rotation_into
from sorosim.mechanics.lie.triples import cross, dot, head, store, store_row, sum3, tail


@kernel
def hat(xi):
    """Matrix of a twist, [[w^, v], [0, 0]].

    xi : (6,). Returns (4, 4). Source: docs/theory.md, 1.
    """
    X = np.zeros((4, 4))
    X[0, 1], X[0, 2], X[0, 3] = -xi[2], xi[1], xi[3]
    X[1, 0], X[1, 2], X[1, 3] = xi[2], -xi[0], xi[4]
    X[2, 0], X[2, 1], X[2, 3] = -xi[1], xi[0], xi[5]
    return X


@kernel
def vee(X):
    """Twist of a matrix, the inverse of `hat`; a symmetric part of the leading 3x3 block has no effect.

    X : (4, 4). Returns (6,).
    """
    xi = np.empty(6)
    xi[0] = 0.5 * (X[2, 1] - X[1, 2])
    xi[1] = 0.5 * (X[0, 2] - X[2, 0])
    xi[2] = 0.5 * (X[1, 0] - X[0, 1])
    xi[3], xi[4], xi[5] = X[0, 3], X[1, 3], X[2, 3]
    return xi


@kernel_in_place
def exp_into(Omega, C, R, p):
    """Rotation and position of exp(Omega^), without allocation.

    Omega : (6,) [rad, m]; C : (10,) from `coefficients(|w|^2, C)`; R : (3, 3) and p : (3,) are filled.
    R = 1 + C_1 w^ + C_2 w^w^, p = (1 + C_2 w^ + C_3 w^w^) v. Source: docs/theory.md, A.
    """
    rotation_into(Omega, C, R)
    w, v = head(Omega), tail(Omega)
    a = cross(w, v)
    store_row(sum3(1.0, v, C[2], a, C[3], cross(w, a)), p)


@kernel
def exp_se3(xi):
    """Pose reached by the constant twist xi in unit time, exp(xi^).

    xi : (6,) [rad, m]. Returns g : (4, 4). Source: docs/theory.md, A.
    """
    C, p, g = np.empty(10), np.empty(3), np.zeros((4, 4))
    coefficients(xi[0] * xi[0] + xi[1] * xi[1] + xi[2] * xi[2], C)
    exp_into(xi, C, g, p)
    g[0, 3], g[1, 3], g[2, 3], g[3, 3] = p[0], p[1], p[2], 1.0
    return g


@kernel_in_place
def log_into(R, p, C, xi):
    """Twist xi (6,) whose exponential is the pose R, p, without allocation; see `log_se3`. Fills C (10,)."""
    log_so3_into(R, xi[:3])
    w = head(xi)
    coefficients(dot(w, w), C)
    a = cross(w, p)
    store(w, sum3(1.0, p, -0.5, a, 0.5 * (C[3] - 2.0 * C[4]) / C[2], cross(w, a)), xi)


@kernel
def log_se3(g):
    """Twist whose exponential is g, with rotation angle <= pi; at exactly pi the sign of w is free.

    g : (4, 4). Returns xi : (6,) [rad, m]. v = (1 - w^/2 + k w^w^) p. Source: docs/theory.md, A.
    """
    C, xi = np.empty(10), np.empty(6)
    log_into(g, (g[0, 3], g[1, 3], g[2, 3]), C, xi)
    return xi


@kernel
def inverse(g):
    """Inverse of a pose, [[R^T, -R^T p], [0, 1]].

    g : (4, 4). Returns (4, 4).
    """
    g_inv = np.zeros((4, 4))
    for i in range(3):
        for j in range(3):
            g_inv[i, j] = g[j, i]
        g_inv[i, 3] = -(g[0, i] * g[0, 3] + g[1, i] * g[1, 3] + g[2, i] * g[2, 3])
    g_inv[3, 3] = 1.0
    return g_inv


@kernel
def Ad(g):
    """Adjoint [[R, 0], [p^R, R]]: maps a twist from the frame of g to the reference frame of g.

    g : (4, 4). Returns (6, 6). Wrenches go the same way with the inverse transpose. Source: docs/theory.md, 1.
    """
    A = np.zeros((6, 6), dtype=g.dtype)
    px, py, pz = g[0, 3], g[1, 3], g[2, 3]
    for j in range(3):
        x, y, z = g[0, j], g[1, j], g[2, j]
        A[0, j], A[1, j], A[2, j] = x, y, z
        A[3, j], A[4, j], A[5, j] = py * z - pz * y, pz * x - px * z, px * y - py * x
        A[3, j + 3], A[4, j + 3], A[5, j + 3] = x, y, z
    return A


@kernel
def Ad_inv(g):
    """Adjoint of the inverse pose, [[R^T, 0], [-R^T p^, R^T]].

    g : (4, 4). Returns (6, 6). Source: docs/theory.md, 1.
    """
    A = np.zeros((6, 6), dtype=g.dtype)
    px, py, pz = g[0, 3], g[1, 3], g[2, 3]
    for i in range(3):
        x, y, z = g[0, i], g[1, i], g[2, i]
        A[i, 0], A[i, 1], A[i, 2] = x, y, z
        # -R^T p^ is the transpose of p^R
        A[i + 3, 0], A[i + 3, 1], A[i + 3, 2] = py * z - pz * y, pz * x - px * z, px * y - py * x
        A[i + 3, 3], A[i + 3, 4], A[i + 3, 5] = x, y, z
    return A


@kernel
def ad(x):
    """Lie bracket as a matrix, ad_x = [[w^, 0], [v^, w^]], ad_x y = [x, y].

    x : (6,) twist. Returns (6, 6). Source: docs/theory.md, 1.
    """
    A = np.zeros((6, 6), dtype=x.dtype)
    for i, k in ((0, 0), (3, 0), (3, 3)):
        # rows i, columns k: v^ in the lower left block, w^ on the diagonal
        o = i - k
        A[i, k + 1], A[i, k + 2] = -x[o + 2], x[o + 1]
        A[i + 1, k], A[i + 1, k + 2] = x[o + 2], -x[o]
        A[i + 2, k], A[i + 2, k + 1] = -x[o + 1], x[o]
    return A


@kernel
def coad(x):
    """Coadjoint ad*_x = -ad_x^T = [[w^, v^], [0, w^]]; acts on wrenches.

    x : (6,) twist. Returns (6, 6). Source: docs/theory.md, 1.
    """
    A = np.zeros((6, 6), dtype=x.dtype)
    for i, k in ((0, 0), (0, 3), (3, 3)):
        o = k - i
        A[i, k + 1], A[i, k + 2] = -x[o + 2], x[o + 1]
        A[i + 1, k], A[i + 1, k + 2] = x[o + 2], -x[o]
        A[i + 2, k], A[i + 2, k + 1] = -x[o + 1], x[o]
    return A


@kernel
def coadbar(F):
    """The coadjoint as a matrix that acts on the twist: coadbar(F) x = coad(x) F, -[[m^, f^], [f^, 0]].

    F : (6,) wrench. Returns (6, 6), antisymmetric. Source: docs/theory.md, 1.
    """
    A = np.zeros((6, 6), dtype=F.dtype)
    for i, k in ((0, 0), (0, 3), (3, 0)):
        o = i + k
        A[i, k + 1], A[i, k + 2] = F[o + 2], -F[o + 1]
        A[i + 1, k], A[i + 1, k + 2] = -F[o + 2], F[o]
        A[i + 2, k], A[i + 2, k + 1] = F[o + 1], -F[o]
    return A
