"""The left tangent operator T of SE(3), its time derivatives, its inverse and the derivative of its transpose.

(d exp(Omega^)) exp(-Omega^) = (T(Omega) dOmega)^. With Omega = [w; v] every operator of this family is "dual",
[[P, 0], [Q, P]], and is stored as an array (2, 3, 3) = [P, Q]. Each block is a number times the unit matrix, plus a^,
plus u^w^ + w^u^ with some vectors a, u: a block and its time derivatives follow from those of a and u alone.
Source of all: docs/theory.md, 2 and A.
"""

from __future__ import annotations

import numpy as np

from sorosim.base.compiled import kernel, kernel_in_place
from sorosim.mechanics.lie.so3 import coefficients
from sorosim.mechanics.lie.triples import cross, dot, head, plus, scaled, sum2, sum3, sum4, tail

# tangent_inv has a pole at 2 pi; beyond this angle its error exceeds 1e-13
_LARGEST_ANGLE = 6.1


@kernel_in_place
def _pair(x, y):
    """x^y^ + y^x^ = x y^T + y x^T - 2 (x.y) 1 as its entries xx, yy, zz, xy, xz, yz."""
    xx, yy, zz = x[0] * y[0], x[1] * y[1], x[2] * y[2]
    return (
        -2.0 * (yy + zz),
        -2.0 * (xx + zz),
        -2.0 * (xx + yy),
        x[0] * y[1] + x[1] * y[0],
        x[0] * y[2] + x[2] * y[0],
        x[1] * y[2] + x[2] * y[1],
    )


@kernel_in_place
def _plus6(n, m):
    return n[0] + m[0], n[1] + m[1], n[2] + m[2], n[3] + m[3], n[4] + m[4], n[5] + m[5]


@kernel_in_place
def _store(D, k, unit, a, n):
    """D[k] = unit 1 + a^ + n, n symmetric by its six entries."""
    D[k, 0, 0], D[k, 0, 1], D[k, 0, 2] = unit + n[0], n[3] - a[2], n[4] + a[1]
    D[k, 1, 0], D[k, 1, 1], D[k, 1, 2] = n[3] + a[2], unit + n[1], n[5] - a[0]
    D[k, 2, 0], D[k, 2, 1], D[k, 2, 2] = n[4] - a[1], n[5] + a[0], unit + n[2]


@kernel_in_place
def _store_block(D, k, unit, a, u, w):
    """D[k] = unit 1 + a^ + u^w^ + w^u^."""
    _store(D, k, unit, a, _pair(u, w))


@kernel_in_place
def _store_block_rate(D, k, a1, u, u1, w, w1):
    """First time derivative of the block, a1, u1, w1 the rates of a, u, w."""
    _store(D, k, 0.0, a1, _plus6(_pair(u1, w), _pair(u, w1)))


@kernel_in_place
def _store_block_acceleration(D, k, a2, u, u1, u2, w, w1, w2):
    """Second time derivative of the block."""
    _store(D, k, 0.0, a2, _plus6(_plus6(_pair(u2, w), _pair(scaled(2.0, u1), w1)), _pair(u, w2)))


@kernel_in_place
def tangent_into(Omega, C, T):
    """T(Omega) as its two blocks, without allocation.

    Omega : (6,) [rad, m]; C : (10,) from `coefficients(|w|^2, C)`; T : (2, 3, 3) = [P, Q], filled.
    P = 1 + C_2 w^ + C_3 w^w^, Q = dP along v. Source: docs/theory.md, A.
    """
    w, v = head(Omega), tail(Omega)
    r = 2.0 * dot(w, v)
    c2, c3 = C[2], C[3]
    e2, e3 = r * (C[4] - 0.5 * C[3]), 0.5 * r * (3.0 * C[5] - C[4])  # r C_2', r C_3'
    h3 = 0.5 * c3
    _store_block(T, 0, 1.0, scaled(c2, w), scaled(h3, w), w)
    _store_block(T, 1, 0.0, sum2(c2, v, e2, w), sum2(c3, v, 0.5 * e3, w), w)


@kernel_in_place
def tangent_jet_into(Omega, Omega_dot, C, T, Td):
    """T(Omega) and its total time derivative as their two blocks, without allocation.

    Omega, Omega_dot : (6,) [rad, m; per s]; C : (10,) from `coefficients(|w|^2, C)`; T, Td : (2, 3, 3), filled.
    Source: docs/theory.md, A.
    """
    w, v, w1, v1 = head(Omega), tail(Omega), head(Omega_dot), tail(Omega_dot)
    r, r1, s1 = 2.0 * dot(w, v), 2.0 * (dot(w1, v) + dot(w, v1)), 2.0 * dot(w, w1)

    # C_k and its first two derivatives by s: f, g, h for k = 2, 3
    f2, f3 = C[2], C[3]
    g2, g3 = C[4] - 0.5 * C[3], 0.5 * (3.0 * C[5] - C[4])
    g4, g5 = 2.0 * C[6] - 0.5 * C[5], 0.5 * (5.0 * C[7] - C[6])
    h2, h3 = g4 - 0.5 * g3, 0.5 * (3.0 * g5 - g4)

    # along time: b and c for C_2 and C_3, d and e for r C_2' and r C_3'
    b, b1, d, d1 = f2, g2 * s1, r * g2, r1 * g2 + r * h2 * s1
    c, c1, e, e1 = f3, g3 * s1, r * g3, r1 * g3 + r * h3 * s1

    u, u1 = scaled(0.5 * c, w), sum2(0.5 * c1, w, 0.5 * c, w1)
    _store_block(T, 0, 1.0, scaled(b, w), u, w)
    _store_block_rate(Td, 0, sum2(b1, w, b, w1), u, u1, w, w1)

    u, u1 = sum2(c, v, 0.5 * e, w), sum4(c1, v, c, v1, 0.5 * e1, w, 0.5 * e, w1)
    _store_block(T, 1, 0.0, sum2(b, v, d, w), u, w)
    _store_block_rate(Td, 1, sum4(b1, v, b, v1, d1, w, d, w1), u, u1, w, w1)


@kernel_in_place
def tangent_jets_into(Omega, Omega_dot, Omega_ddot, C, T, Td, Tdd):
    """T(Omega), its first and its second total time derivative as their two blocks, without allocation.

    Omega, Omega_dot, Omega_ddot : (6,) [rad, m; per s; per s^2]; C : (10,) from `coefficients(|w|^2, C)`;
    T, Td, Tdd : (2, 3, 3), filled. Source: docs/theory.md, A.
    """
    w, v, w1, v1 = head(Omega), tail(Omega), head(Omega_dot), tail(Omega_dot)
    w2, v2 = head(Omega_ddot), tail(Omega_ddot)
    r, r1 = 2.0 * dot(w, v), 2.0 * (dot(w1, v) + dot(w, v1))
    r2 = 2.0 * (dot(w2, v) + 2.0 * dot(w1, v1) + dot(w, v2))
    s1, s2 = 2.0 * dot(w, w1), 2.0 * (dot(w1, w1) + dot(w, w2))
    s11 = s1 * s1

    # C_k and its first three derivatives by s: f, g, h, i for k = 2, 3
    f2, f3 = C[2], C[3]
    g2, g3 = C[4] - 0.5 * C[3], 0.5 * (3.0 * C[5] - C[4])
    g4, g5 = 2.0 * C[6] - 0.5 * C[5], 0.5 * (5.0 * C[7] - C[6])
    g6, g7 = 3.0 * C[8] - 0.5 * C[7], 0.5 * (7.0 * C[9] - C[8])
    h2, h3, h4, h5 = g4 - 0.5 * g3, 0.5 * (3.0 * g5 - g4), 2.0 * g6 - 0.5 * g5, 0.5 * (5.0 * g7 - g6)
    i2, i3 = h4 - 0.5 * h3, 0.5 * (3.0 * h5 - h4)

    # along time: b and c for C_2 and C_3, d and e for r C_2' and r C_3'
    b, b1, b2 = f2, g2 * s1, h2 * s11 + g2 * s2
    c, c1, c2 = f3, g3 * s1, h3 * s11 + g3 * s2
    d, d1, d2 = r * g2, r1 * g2 + r * h2 * s1, r2 * g2 + 2.0 * r1 * h2 * s1 + r * (i2 * s11 + h2 * s2)
    e, e1, e2 = r * g3, r1 * g3 + r * h3 * s1, r2 * g3 + 2.0 * r1 * h3 * s1 + r * (i3 * s11 + h3 * s2)
    hc, hc1, hc2, he, he1, he2 = 0.5 * c, 0.5 * c1, 0.5 * c2, 0.5 * e, 0.5 * e1, 0.5 * e2

    # P: a = C_2 w, u = C_3 w / 2
    u, u1 = scaled(hc, w), sum2(hc1, w, hc, w1)
    u2 = sum3(hc2, w, c1, w1, hc, w2)
    _store_block(T, 0, 1.0, scaled(b, w), u, w)
    _store_block_rate(Td, 0, sum2(b1, w, b, w1), u, u1, w, w1)
    _store_block_acceleration(Tdd, 0, sum3(b2, w, 2.0 * b1, w1, b, w2), u, u1, u2, w, w1, w2)

    # Q: a = C_2 v + r C_2' w, u = C_3 v + r C_3' w / 2
    u, u1 = sum2(c, v, he, w), sum4(c1, v, c, v1, he1, w, he, w1)
    x, y = sum3(c2, v, 2.0 * c1, v1, c, v2), sum3(he2, w, e1, w1, he, w2)
    u2 = plus(x, y)
    x, y = sum3(b2, v, 2.0 * b1, v1, b, v2), sum3(d2, w, 2.0 * d1, w1, d, w2)
    a2 = plus(x, y)
    _store_block(T, 1, 0.0, sum2(b, v, d, w), u, w)
    _store_block_rate(Td, 1, sum4(b1, v, b, v1, d1, w, d, w1), u, u1, w, w1)
    _store_block_acceleration(Tdd, 1, a2, u, u1, u2, w, w1, w2)


@kernel_in_place
def tangent_transpose_derivative_into(Omega, C, y, X):
    """Derivative of T(Omega)^T y by Omega at constant y, without allocation.

    Omega : (6,) [rad, m]; C : (10,) from `coefficients(|w|^2, C)`; y : (6,) wrench [N m, N]; X : (6, 6), filled with
    [[L(m) + dL(f), L(f)], [L(f), 0]]. Not symmetric. Source: docs/theory.md, A, with the products of skew matrices
    written out: L(f) = C_2 f^ + C_3 (w.f 1 + w f^T) + 2 h(f) w^T, h(f) = C_1' f - C_2' w x f + C_3' (w.f) w, and dL(f)
    its slope in w along v.
    """
    w, v, m, f = head(Omega), tail(Omega), head(y), tail(y)
    r, wf, vf, wm = 2.0 * dot(w, v), dot(w, f), dot(v, f), dot(w, m)
    w_f, v_f, w_m = cross(w, f), cross(v, f), cross(w, m)

    # derivatives by s of C_1, C_2, C_3
    f2, f3 = C[2], C[3]
    g1, g2, g3 = 0.5 * (C[3] - C[2]), C[4] - 0.5 * C[3], 0.5 * (3.0 * C[5] - C[4])
    g4, g5 = 2.0 * C[6] - 0.5 * C[5], 0.5 * (5.0 * C[7] - C[6])
    h1, h2, h3 = 0.5 * (g3 - g2), g4 - 0.5 * g3, 0.5 * (3.0 * g5 - g4)

    # twice h(f), and what stands before w^T in the upper left block: twice h(m) + slope of h(f)
    h = sum3(2.0 * g1, f, -2.0 * g2, w_f, 2.0 * g3 * wf, w)
    x = sum3(2.0 * g1, m, -2.0 * g2, w_m, 2.0 * (g3 * (wm + vf) + r * h3 * wf), w)
    z = sum4(2.0 * r * h1, f, -2.0 * r * h2, w_f, -2.0 * g2, v_f, 2.0 * g3 * wf, v)
    k = plus(x, z)
    a, b = sum2(f2, m, r * g2, f), scaled(f2, f)
    n = sum2(f3, m, r * g3, f)
    unit_1, unit_2 = f3 * (wm + vf) + r * g3 * wf, f3 * wf

    for i in range(3):
        for j in range(3):
            X[i, j] = w[i] * n[j] + f3 * v[i] * f[j] + k[i] * w[j] + h[i] * v[j]
            X[i, j + 3] = f3 * w[i] * f[j] + h[i] * w[j]
        X[i, i] += unit_1
        X[i, i + 3] += unit_2
    for o, q in ((0, a), (3, b)):
        X[0, o + 1] -= q[2]
        X[0, o + 2] += q[1]
        X[1, o] += q[2]
        X[1, o + 2] -= q[0]
        X[2, o] -= q[1]
        X[2, o + 1] += q[0]
    for i in range(3):
        for j in range(3):
            X[i + 3, j] = X[i, j + 3]
            X[i + 3, j + 3] = 0.0


@kernel
def _coefficients_of(Omega):
    C = np.empty(10)
    coefficients(Omega[0] * Omega[0] + Omega[1] * Omega[1] + Omega[2] * Omega[2], C)
    return C


@kernel
def dual_to_matrix(D):
    """Full matrix [[P, 0], [Q, P]] of a dual matrix.

    D : (2, 3, 3) = [P, Q]. Returns (6, 6).
    """
    X = np.zeros((6, 6))
    for i in range(3):
        for j in range(3):
            X[i, j] = D[0, i, j]
            X[i + 3, j] = D[1, i, j]
            X[i + 3, j + 3] = D[0, i, j]
    return X


@kernel
def tangent(Omega):
    """Left tangent operator T of SE(3): (d exp(Omega^)) exp(-Omega^) = (T(Omega) dOmega)^.

    Omega : (6,) [rad, m]. Returns (6, 6); in the moved frame the operator is T(-Omega). Source: docs/theory.md, 2, A.
    """
    T = np.empty((2, 3, 3))
    tangent_into(Omega, _coefficients_of(Omega), T)
    return dual_to_matrix(T)


@kernel
def tangent_jets(Omega, Omega_dot, Omega_ddot):
    """T(Omega) with its first and second total time derivatives along a motion of Omega.

    Omega, Omega_dot, Omega_ddot : (6,) [rad, m; per s; per s^2]. Returns three (6, 6). Source: docs/theory.md, 2, A.
    """
    T, Td, Tdd = np.empty((2, 3, 3)), np.empty((2, 3, 3)), np.empty((2, 3, 3))
    tangent_jets_into(Omega, Omega_dot, Omega_ddot, _coefficients_of(Omega), T, Td, Tdd)
    return dual_to_matrix(T), dual_to_matrix(Td), dual_to_matrix(Tdd)


@kernel_in_place
def tangent_inv_into(Omega, C, T_inv):
    """Inverse of T(Omega) as a dual matrix (2, 3, 3), C from `coefficients`; without meaning near its pole at 2 pi."""
    w, v = head(Omega), tail(Omega)
    g2, g3, g4 = C[4] - 0.5 * C[3], 0.5 * (3.0 * C[5] - C[4]), 2.0 * C[6] - 0.5 * C[5]
    k = 0.5 * (C[3] - 2.0 * C[4]) / C[2]
    k_slope = 0.5 * (g3 - 2.0 * g4) / C[2] - k * g2 / C[2]
    half_k, r_slope = 0.5 * k, dot(w, v) * k_slope
    _store_block(T_inv, 0, 1.0, scaled(-0.5, w), scaled(half_k, w), w)
    _store_block(T_inv, 1, 0.0, scaled(-0.5, v), sum2(k, v, r_slope, w), w)


@kernel
def tangent_inv(Omega):
    """Inverse of T(Omega) in closed form. All NaN where |w| > 6.1 rad: the inverse has a pole at 2 pi.

    Omega : (6,) [rad, m]. Returns (6, 6). Source: docs/theory.md, A.
    """
    w = head(Omega)
    if not dot(w, w) <= _LARGEST_ANGLE**2:
        return np.full((6, 6), np.nan)
    T_inv = np.empty((2, 3, 3))
    tangent_inv_into(Omega, _coefficients_of(Omega), T_inv)
    return dual_to_matrix(T_inv)


@kernel
def tangent_transpose_derivative(Omega, y):
    """Derivative of T(Omega)^T y by Omega at a constant wrench y.

    Omega : (6,) [rad, m]; y : (6,) [N m, N]. Returns (6, 6), not symmetric. Source: docs/theory.md, A.
    """
    X = np.empty((6, 6))
    tangent_transpose_derivative_into(Omega, _coefficients_of(Omega), y, X)
    return X
