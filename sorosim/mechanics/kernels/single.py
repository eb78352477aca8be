"""Joints of one coordinate, and rigid bodies: the sweeps of docs/theory.md, 3 to 5, without the products with zeros.

A block of one segment whose motions commute is a joint; it moves along a constant screw P, S_w = J = Ad_g P, g where it
starts. Most joints of most robots are such blocks, so each sweep takes them apart.
"""

from __future__ import annotations

from sorosim.base.compiled import kernel_inline
from sorosim.mechanics.kernels import ancestors as an
from sorosim.mechanics.kernels import tree as tr
from sorosim.mechanics.kernels.small import add, add_matrix, copy
from sorosim.mechanics.lie.so3 import coefficients
from sorosim.mechanics.lie.triples import (
    cross,
    dot,
    head,
    plus,
    product,
    row,
    rows,
    scaled,
    store,
    store_row,
    sum2,
    sum3,
    tail,
)
from sorosim.mechanics.lie.triples import times as turned


@kernel_inline
def is_single(tree, b):
    """Whether a block is a joint of one coordinate."""
    if tree.block[b].n != 1 or tree.block[b].end - tree.block[b].first != 1:
        return False
    return tree.segment[tree.block[b].first].kind == tr.COMMUTING


@kernel_inline
def start_pose(tree, k, ws):
    """Rotation (its rows) and position of the frame where segment k starts: parent node times the fixed offset."""
    g = ws.pose[tree.segment[k].parent]
    R, p = rows(g), row(g, 3)
    if tree.segment[k].offset != 0:
        a = tree.offset[k]
        p = plus(turned(R, (a[0, 3], a[1, 3], a[2, 3])), p)
        R = product(R, rows(a))
    return R, p


@kernel_inline
def single_motion(tree, k, q, qd, qdd, moving, orders, ws):
    """Pose, V, A - G and, by `orders`, S_w, S_w', S_w'' of node k, which a joint of one coordinate moves.

    S_w' = ad_V S_w and S_w'' = ad_V S_w' + ad_A S_w with V and A of the node before. orders : how many of the three.
    """
    parent, at, i = tree.segment[k].parent, tree.segment[k].strain + tr.BASIS, tree.segment[k].column
    here = ws.pose[k]
    R, p = start_pose(tree, k, ws)
    P, C, x = tree.strain[at : at + 6], ws.segment[k, 18:28], q[i]
    w, v = head(P), tail(P)

    # (R, p) exp(P x)
    coefficients(x * x * dot(w, w), C)
    c1, c2, c3 = x * C[1], x * x * C[2], x * x * x * C[3]
    xx, yy, zz = c2 * w[0] * w[0], c2 * w[1] * w[1], c2 * w[2] * w[2]
    xy, xz, yz = c2 * w[0] * w[1], c2 * w[0] * w[2], c2 * w[1] * w[2]
    s = scaled(c1, w)
    E = (1.0 - (yy + zz), xy - s[2], xz + s[1]), (xy + s[2], 1.0 - (xx + zz), yz - s[0]), (xz - s[1], yz + s[0],
                                                                                           1.0 - (xx + yy))  # fmt: skip
    u = cross(w, v)
    moved = product(R, E)
    for j in range(3):
        here[0, j], here[1, j], here[2, j] = moved[0][j], moved[1][j], moved[2][j]
    store_row(plus(turned(R, sum3(x, v, c2, u, c3, cross(w, u))), p), here[3])

    V, A = ws.twist[parent, 0], ws.twist[parent, 1]
    if not moving:
        copy(V, ws.twist[k, 0])
        copy(A, ws.twist[k, 1])
        if orders == 0:
            return
    a = turned(R, w)
    b = plus(turned(R, v), cross(p, a))
    turn, move = head(V), tail(V)
    ad, bd = cross(turn, a), plus(cross(move, a), cross(turn, b))
    if moving:
        rate, rate_2 = qd[i], qdd[i]
        store(sum2(1.0, turn, rate, a), sum2(1.0, move, rate, b), ws.twist[k, 0])
        store(sum3(1.0, head(A), rate_2, a, rate, ad), sum3(1.0, tail(A), rate_2, b, rate, bd), ws.twist[k, 1])
    if orders > 0:
        work = tree.segment[k].work
        store(a, b, ws.column[0, work : work + 6])
        store(a, b, ws.column[1, work : work + 6])
    if orders > 1 and moving:
        store(ad, bd, ws.column[2, work : work + 6])
    if orders > 2:
        turn_2, move_2 = head(A), tail(A)
        a2, b2 = cross(turn_2, a), plus(cross(move_2, a), cross(turn_2, b))
        if moving:
            a2, b2 = plus(a2, cross(turn, ad)), plus(b2, plus(cross(move, ad), cross(turn, bd)))
        store(a2, b2, ws.column[3, work : work + 6])


@kernel_inline
def rigid_quantities(g, inertia, V, A, moving, tensors, M, N, F):
    """Inertia M, wrench F = M A + ad*_V H and, if `tensors`, N = adbar_H + ad*_V M - M ad_V of a rigid body, H = M V.

    In the world frame M = [[I, h^], [-h^, m 1]]. Its rate ad*_V M - M ad_V is made of I' and h' = m v + w x h, which is
    also the momentum H_f: so N = [[I' - H_m^, 0], [-2 H_f^, 0]]. Without `tensors` N is not touched.
    """
    R, p, m = rows(g), row(g, 3), inertia[3, 3]
    local = turned(R, (inertia[2, 4], inertia[0, 5], inertia[1, 3]))
    h = sum2(1.0, local, m, p)
    xy, xz, yz = inertia[0, 1], inertia[0, 2], inertia[1, 2]
    T = product(R, ((inertia[0, 0], xy, xz), (xy, inertia[1, 1], yz), (xz, yz, inertia[2, 2])))
    # about the world's origin: - local^ p^ - p^ h^
    c = dot(p, local) + dot(p, h)
    I0 = dot(T[0], R[0]) + c - local[0] * p[0] - p[0] * h[0]
    I1 = dot(T[1], R[1]) + c - local[1] * p[1] - p[1] * h[1]
    I2 = dot(T[2], R[2]) + c - local[2] * p[2] - p[2] * h[2]
    xy = dot(T[0], R[1]) - local[0] * p[1] - p[0] * h[1]
    xz = dot(T[0], R[2]) - local[0] * p[2] - p[0] * h[2]
    yz = dot(T[1], R[2]) - local[1] * p[2] - p[1] * h[2]
    inertia_w = (I0, xy, xz), (xy, I1, yz), (xz, yz, I2)
    zero = 0.0 * m
    store(inertia_w[0], (zero, -h[2], h[1]), M[0])
    store(inertia_w[1], (h[2], zero, -h[0]), M[1])
    store(inertia_w[2], (-h[1], h[0], zero), M[2])
    store((zero, h[2], -h[1]), (m, zero, zero), M[3])
    store((-h[2], zero, h[0]), (zero, m, zero), M[4])
    store((h[1], -h[0], zero), (zero, zero, m), M[5])

    turn, move = head(A), tail(A)
    moment, force = plus(turned(inertia_w, turn), cross(h, move)), sum2(m, move, 1.0, cross(turn, h))
    if not moving:
        store(moment, force, F)
        return
    w, v = head(V), tail(V)
    H_m, H_f = plus(turned(inertia_w, w), cross(h, v)), sum2(m, v, 1.0, cross(w, h))
    store(plus(moment, plus(cross(w, H_m), cross(v, H_f))), plus(force, cross(w, H_f)), F)
    if not tensors:
        return
    # I' = w^ I - I w^ - v^ h^ - h^ v^, symmetric: X + X^T with the rows of X = w^ I + (v.h 1 - v h^T)
    d = dot(v, h)
    x0 = sum3(w[1], inertia_w[2], -w[2], inertia_w[1], -v[0], h)
    x1 = sum3(w[2], inertia_w[0], -w[0], inertia_w[2], -v[1], h)
    x2 = sum3(w[0], inertia_w[1], -w[1], inertia_w[0], -v[2], h)
    xy, xz, yz = x0[1] + x1[0], x0[2] + x2[0], x1[2] + x2[1]
    nothing, f = (zero, zero, zero), scaled(2.0, H_f)
    store((2.0 * (x0[0] + d), xy + H_m[2], xz - H_m[1]), nothing, N[0])
    store((xy - H_m[2], 2.0 * (x1[1] + d), yz + H_m[0]), nothing, N[1])
    store((xz + H_m[1], yz - H_m[0], 2.0 * (x2[2] + d)), nothing, N[2])
    store((zero, f[2], -f[1]), nothing, N[3])
    store((-f[2], zero, f[0]), nothing, N[4])
    store((f[1], -f[0], zero), nothing, N[5])


@kernel_inline
def single_derivatives(tree, b, moving, loaded, with_rates, with_mass, filled, ws, tau, dq, dqd, dqdd):
    """`derivatives.derivative_sweep` of a joint of one coordinate: its screw is constant, so J_a = 0 and Hess = 0.

    filled : columns of ancestors that are gathered, see `gather_ancestors`; returns the new number.
    """
    k, i, base = tree.block[b].first, tree.block[b].column, tree.block[b].parent
    M, N, K, F = ws.tensor[k, 0], ws.tensor[k, 1], ws.tensor[k, 2], ws.twist[k, 2]
    at = tree.segment[k].work
    J, Jd, Jdd = ws.column[1, at : at + 6], ws.column[2, at : at + 6], ws.column[3, at : at + 6]
    own = ws.wide.reshape(-1, 6)
    W, Wd, XM, XN, XK = own[0], own[1], own[2], own[3], own[4]

    # W = adbar_F J + M J'' + N J' - K J, Wd = 2 M J' + N J; XM = M J, XN = N^T J, XK = K^T J
    a, b_, m, f = head(J), tail(J), head(F), tail(F)
    store(plus(cross(a, m), cross(b_, f)), cross(a, f), W)
    j, jdd = six(J), six(Jdd)
    for r in range(6):
        XM[r] = dot6(M[r], j)
        W[r] += dot6(M[r], jdd)
    if with_rates:
        for r in range(6):
            Wd[r], XN[r] = dot6(N[r], j), dot6(N[:, r], j)
    if moving:
        jd = six(Jd)
        for r in range(6):
            Wd[r] += 2.0 * dot6(M[r], jd)
            W[r] += dot6(N[r], jd)
    if loaded:
        for r in range(6):
            W[r] -= dot6(K[r], j)
            XK[r] = dot6(K[:, r], j)

    # own x own
    tau[i] = dot6(J, F)
    dq[i, i] = dot6(J, W)
    if with_rates:
        dqd[i, i] = dot6(J, Wd)
    if with_mass:
        dqdd[i, i] = dot6(J, XM)
    if base < 0:
        return filled
    add_matrix(M, ws.tensor[base, 0])
    add_matrix(N, ws.tensor[base, 1])
    add(F, ws.twist[base, 2])
    if loaded:
        add_matrix(K, ws.tensor[base, 2])

    n = an.gather_ancestors(tree, base, 3, filled, ws)
    derivatives_with_ancestors(own, n, i, moving, loaded, with_rates, with_mass, ws, dq, dqd, dqdd)
    return n


@kernel_inline
def derivatives_with_ancestors(own, n, i, moving, loaded, with_rates, with_mass, ws, dq, dqd, dqdd):
    """Own x ancestors and ancestors x own of coordinate i; own (5, 6) = W, Wd, XM, XN, XK of what it moves.

    XM = sum M J serves rows and columns of the mass matrix, which is symmetric.
    """
    Y, W, Wd, XM, XN, XK = ws.vector, own[0], own[1], own[2], own[3], own[4]
    x, y = Y[an.PATH_SUMS], Y[an.PATH_SUMS + 1]
    an.set_pairs(XM, Y, an.PATH_JDD, n, x)
    if moving:
        an.add_pairs(1.0, XN, Y, an.PATH_JD, n, x)
    if loaded:
        an.add_pairs(-1.0, XK, Y, an.PATH_J, n, x)
    an.set_pairs(W, Y, an.PATH_J, n, y)
    an.place_pairs(ws.place, n, i, x, y, dq)
    if with_mass:
        an.set_pairs(XM, Y, an.PATH_J, n, x)
        an.place_pairs(ws.place, n, i, x, x, dqdd)
    if with_rates:
        an.set_pairs(XN, Y, an.PATH_J, n, x)
        if moving:
            an.add_pairs(2.0, XM, Y, an.PATH_JD, n, x)
        an.set_pairs(Wd, Y, an.PATH_J, n, y)
        an.place_pairs(ws.place, n, i, x, y, dqd)


@kernel_inline
def dot6(J, F):
    """J^T F, both (6,)."""
    return J[0] * F[0] + J[1] * F[1] + J[2] * F[2] + J[3] * F[3] + J[4] * F[4] + J[5] * F[5]


@kernel_inline
def single_mass(tree, b, filled, ws, mass):
    """Part of a joint of one coordinate in `dynamics.composite_mass_matrix`; filled: as for `single_derivatives`."""
    k, i, base = tree.block[b].first, tree.block[b].column, tree.block[b].parent
    M, J, X = ws.tensor[k, 0], ws.column[1, tree.segment[k].work :], ws.wide.reshape(-1, 6)[0]
    push(M, J, X)
    mass[i, i] = dot6(J, X)
    if base < 0:
        return filled
    add_matrix(M, ws.tensor[base, 0])
    n = an.gather_ancestors(tree, base, 1, filled, ws)
    mass_with_ancestors(X, n, i, ws, mass)
    return n


@kernel_inline
def mass_with_ancestors(XM, n, i, ws, mass):
    """Entries of coordinate i with the n of the path, by the momentum XM (6,) of what it moves."""
    x = ws.vector[an.PATH_SUMS]
    an.set_pairs(XM, ws.vector, an.PATH_J, n, x)
    an.place_pairs(ws.place, n, i, x, x, mass)


@kernel_inline
def push(M, J, out):
    """out = M J, J and out (6,)."""
    j = six(J)
    for r in range(6):
        out[r] = dot6(M[r], j)


@kernel_inline
def six(x):
    """The entries of x (6,), in registers."""
    return x[0], x[1], x[2], x[3], x[4], x[5]
