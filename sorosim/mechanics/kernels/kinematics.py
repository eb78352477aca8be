"""Base-to-tip sweep: poses, twists, accelerations and own Jacobian columns, world frame (docs/theory.md, 2-3)."""

from __future__ import annotations

from sorosim.base.compiled import kernel_in_place, kernel_inline, kernel_lazy
from sorosim.mechanics.kernels import tree as tr
from sorosim.mechanics.kernels.material import inserted_lengths, material_twists
from sorosim.mechanics.kernels.single import is_single, single_motion, start_pose
from sorosim.mechanics.kernels.small import (
    add,
    add_ad,
    add_ad_dual,
    add_dual_ad,
    add_dual_vector,
    clear,
    clear_dual,
    clear_matrix,
    copy,
    copy_dual,
    dual_expand_transposed,
    dual_transform,
    matrix_vector,
)
from sorosim.mechanics.kernels.tree import add_strains
from sorosim.mechanics.lie.se3 import exp_into
from sorosim.mechanics.lie.so3 import coefficients
from sorosim.mechanics.lie.tangent import tangent_into, tangent_jet_into, tangent_jets_into
from sorosim.mechanics.lie.triples import cross, head, plus, scaled, store, store_row, tail, times

# how much a sweep computes: poses and twists only, or the own columns J, J', J'' as well
POSES, COLUMNS, COLUMN_RATES, COLUMN_JETS = -1, 0, 1, 2
# S_w alone: of the columns what inverse dynamics needs; J is filled only where that costs nothing
SCREWS = 3


@kernel_in_place
def is_zero(x):
    """Whether all entries are exactly zero."""
    for value in x:
        if value != 0.0:
            return False
    return True


@kernel_inline
def place_start(tree, k, ws, R, p):
    """Pose of the frame where segment k starts: parent node times the fixed offset."""
    rotation, position = start_pose(tree, k, ws)
    for i in range(3):
        store_row(rotation[i], R[i])
    store_row(position, p)


@kernel_in_place
def compose_into(R, p, Re, pe, out):
    """out (4, 3) = (R, p)(Re, pe)."""
    for i in range(3):
        for j in range(3):
            out[i, j] = R[i, 0] * Re[0, j] + R[i, 1] * Re[1, j] + R[i, 2] * Re[2, j]
        out[3, i] = R[i, 0] * pe[0] + R[i, 1] * pe[1] + R[i, 2] * pe[2] + p[i]


@kernel_in_place
def relative_into(gA, gB, out):
    """out (4, 3) = g_B^-1 g_A."""
    for i in range(3):
        for j in range(3):
            out[i, j] = gB[0, i] * gA[0, j] + gB[1, i] * gA[1, j] + gB[2, i] * gA[2, j]
        out[3, i] = 0.0
        for r in range(3):
            out[3, i] += gB[r, i] * (gA[3, r] - gB[3, r])


@kernel_inline
def write_columns(tree, at, n, first, map_1, map_2, out):
    """out (6 n,) = map_1 P_1 + map_2 P_2, the maps given transposed (6, 6): only the rows in use are read."""
    at_1 = at + tr.BASIS
    at_2 = at_1 + 6 * n
    for j in range(n):
        s0, s1, s2, s3, s4, s5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for r in range(tree.rows[first + j, 0], tree.rows[first + j, 1]):
            a = tree.strain[at_1 + 6 * j + r]
            b = tree.strain[at_2 + 6 * j + r]
            s0 += map_1[r, 0] * a + map_2[r, 0] * b
            s1 += map_1[r, 1] * a + map_2[r, 1] * b
            s2 += map_1[r, 2] * a + map_2[r, 2] * b
            s3 += map_1[r, 3] * a + map_2[r, 3] * b
            s4 += map_1[r, 4] * a + map_2[r, 4] * b
            s5 += map_1[r, 5] * a + map_2[r, 5] * b
        out[j], out[n + j], out[2 * n + j] = s0, s1, s2
        out[3 * n + j], out[4 * n + j], out[5 * n + j] = s3, s4, s5


@kernel_inline
def add_local_columns(tree, at, n, first, local, n_local, map_1, map_2, out):
    """out (6 n,) += map_1 P_1 + map_2 P_2, as `write_columns`, in the coordinates of a span."""
    at_1 = at + tr.BASIS
    at_2 = at_1 + 6 * n
    for i in range(n_local):
        j = tree.local[local + i]
        for r in range(tree.rows[first + j, 0], tree.rows[first + j, 1]):
            a, b = tree.strain[at_1 + 6 * j + r], tree.strain[at_2 + 6 * j + r]
            for s in range(6):
                out[s * n + j] += map_1[r, s] * a + map_2[r, s] * b


@kernel_in_place
def write_local_screws(tree, k, map_1, map_2, ws):
    """S_w of segment k of a span; its other columns are zero, and stay so."""
    n, work = tree.segment[k].n, tree.segment[k].work
    local, n_local = tree.segment[k].local, tree.segment[k].n_local
    S = ws.column[0, work : work + 6 * n]
    for i in range(n_local):
        for r in range(6):
            S[r * n + tree.local[local + i]] = 0.0
    add_local_columns(tree, tree.segment[k].strain, n, tree.segment[k].column, local, n_local, map_1, map_2, S)


@kernel_in_place
def write_local_columns(tree, k, order, map_1, map_2, ws):
    """J, J' or J'' of node k, which ends a segment of a span: those of the node before, and what the segment adds."""
    n, work = tree.segment[k].n, tree.segment[k].work
    local, n_local = tree.segment[k].local, tree.segment[k].n_local
    total = ws.column[order + 1, work : work + 6 * n]
    if k > tree.block[tree.segment[k].block].first:
        copy(ws.column[order + 1, work - 6 * n : work], total)
    else:
        clear(total)
    add_local_columns(tree, tree.segment[k].strain, n, tree.segment[k].column, local, n_local, map_1, map_2, total)


@kernel_in_place
def combine(A, order, moving, h, c, x, xd, xdd, sign, out):
    """Jet of order `order` of A (h/2 + sign c ad_x), A, x with their rates: product rule on the map from P_a to S_w.

    A (3, 2, 3, 3): the dual matrix Ad_g T and its two rates. out (6, 6) is filled transposed.
    """
    result = A[3]
    copy_dual(A[order], 0.5 * h, result)
    if c != 0.0:
        add_dual_ad(A[order], x, sign * c, result)
        # at rest the rates are zero and not stored
        if order == 1:
            add_dual_ad(A[0], xd, sign * c, result)
        elif order == 2 and moving:
            add_dual_ad(A[1], xd, 2.0 * sign * c, result)
            add_dual_ad(A[0], xdd, sign * c, result)
    dual_expand_transposed(result, out)


@kernel_in_place
def joint_columns(tree, k, qd, qdd, moving, depth, R, p, ws):
    """Rates of node k and, by `depth`, columns, where segment k is its block and its motions commute.

    A joint of several coordinates; see kernels.single for those of one.

    S_w = Ad_g P with g the pose (R, p) of its start, S_w' = ad_V S_w and S_w'' = ad_V S_w' + ad_A S_w, V and A those of
    the node before: the products of the general sweep without their zeros.
    """
    at, work = tree.segment[k].strain, tree.segment[k].work
    n, first = tree.segment[k].n, tree.segment[k].column
    half, vectors = 0.5 * tree.strain[at + tr.LENGTH], ws.scratch[5]
    V, A, S, Sd, Sdd = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4]
    R_half = scaled(half, R[0]), scaled(half, R[1]), scaled(half, R[2])
    own_V, own_A = ws.twist[k, 0], ws.twist[k, 1]
    copy(own_V, V)
    copy(own_A, A)
    for j in range(n):
        P_1, P_2 = at + tr.BASIS + 6 * j, at + tr.BASIS + 6 * (n + j)
        screw_1, screw_2 = tree.strain[P_1 : P_1 + 6], tree.strain[P_2 : P_2 + 6]
        w = times(R_half, plus(head(screw_1), head(screw_2)))
        store(w, plus(times(R_half, plus(tail(screw_1), tail(screw_2))), cross(p, w)), S)
        if moving:
            clear(Sd)
            add_ad(V, S, 1.0, Sd)
            for r in range(6):
                own_V[r] += S[r] * qd[first + j]
                own_A[r] += S[r] * qdd[first + j] + Sd[r] * qd[first + j]
        if depth == COLUMN_JETS:
            clear(Sdd)
            add_ad(A, S, 1.0, Sdd)
            if moving:
                add_ad(V, Sd, 1.0, Sdd)
        for r in range(6):
            place = work + r * n + j
            ws.column[0, place], ws.column[1, place] = S[r], S[r]
            if moving and depth >= COLUMN_RATES:
                ws.column[2, place] = Sd[r]
            if depth == COLUMN_JETS:
                ws.column[3, place] = Sdd[r]


# as many arguments as arrays: views of records, taken again inside, cost each step of a rod some per cent
@kernel_inline
def tangent_maps(kind, moving, depth, Omega, rate, rate_2, C, R, p, V, Acc, dual, T_record):
    """A0 = Ad_g T and its total time derivatives in dual[4:7], T the tangent operator; adds the motion to V and Acc."""
    T, Td, Tdd, X, A = dual[0], dual[1], dual[2], dual[3], dual[4:8]
    # where motions commute T Omega_dot = Omega_dot, so T = 1 serves
    if kind == tr.COMMUTING:
        clear_dual(T)
        clear_dual(Td)
        clear_dual(Tdd)
        for i in range(3):
            T[0, i, i] = 1.0
    elif not moving:
        tangent_into(Omega, C, T)
    elif depth == COLUMN_JETS:
        tangent_jets_into(Omega, rate, rate_2, C, T, Td, Tdd)
    else:
        tangent_jet_into(Omega, rate, C, T, Td)
    copy_dual(T, 1.0, T_record)
    dual_transform(R, p, T, A[0])
    if moving:
        dual_transform(R, p, Td, X)
        copy_dual(X, 1.0, A[1])
        add_ad_dual(V, A[0], 1.0, A[1])
    if depth == COLUMN_JETS:
        if moving:
            dual_transform(R, p, Tdd, A[2])
            add_ad_dual(V, X, 1.0, A[2])
            add_ad_dual(V, A[1], 1.0, A[2])
        else:
            clear_dual(A[2])
        add_ad_dual(Acc, A[0], 1.0, A[2])
    if moving:
        add_dual_vector(A[0], rate, V)
        add_dual_vector(A[0], rate_2, Acc)
        add_dual_vector(A[1], rate, Acc)


@kernel_inline
def magnus_step(tree, k, at, q, Omega, x_1, x_2, C, R, p):
    """Relative motion (R, p) along segment k, or a part of it whose data start at tree.strain[at].

    A Magnus step over the strains at two collocation points; fills its twist Omega, the strains and C as well.
    """
    h, c = tree.strain[at + tr.LENGTH], tree.strain[at + tr.MAGNUS]
    n, first = tree.segment[k].n, tree.segment[k].column
    for r in range(6):
        x_1[r] = tree.strain[at + tr.REFERENCE + r]
        x_2[r] = tree.strain[at + tr.REFERENCE + 6 + r]
    add_strains(tree, at, n, first, tree.segment[k].local, tree.segment[k].n_local, q, x_1, x_2)
    for r in range(6):
        Omega[r] = 0.5 * h * (x_1[r] + x_2[r])
    if c != 0.0:
        add_ad(x_1, x_2, c, Omega)
    coefficients(Omega[0] * Omega[0] + Omega[1] * Omega[1] + Omega[2] * Omega[2], C)
    exp_into(Omega, C, R, p)


@kernel_lazy()
def forward_sweep(tree, q, qd, qdd, gravity, depth, ws) -> bool:
    """Fill pose, V, A - G of every node and, by `depth`, S_w and the own columns J, J', J'' of every segment.

    q, qd, qdd : (ndof,); gravity : (3,) [m/s^2]. With the world's acceleration set to -G, every A here is A - G and
    J'' is J'' - ad_G J: what the backward sweep needs. At rest (qd = qdd = 0) no tangent jets are computed and J' is
    left as it was. SCREWS leaves J of spans as it was. Where material flows, its twists are filled too. Returns whether
    anything moves. Source: docs/theory.md, 2-3 and 19.
    """
    n_segments = tree.segment.shape[0]
    only_screws = depth == SCREWS
    if only_screws:
        depth = COLUMNS
    moving = not (is_zero(qd) and is_zero(qdd))

    # the world: at rest, gravity as an upward acceleration
    clear_matrix(ws.pose[n_segments])
    clear_matrix(ws.twist[n_segments])
    for i in range(3):
        ws.pose[n_segments, i, i] = 1.0
        ws.twist[n_segments, 1, 3 + i] = -gravity[i]

    dual = ws.scratch.reshape(48, 2, 3, 3)
    A = dual[4:8]  # Ad_g T and its two rates, and scratch for combine
    start = ws.scratch[4].reshape(12, 3)
    R, p, Re, pe = start[0:3], start[3], start[4:7], start[7]
    vectors = ws.scratch[5]
    xd_1, xd_2, xdd_1, xdd_2, rate, rate_2 = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4], vectors[5]
    map_1, map_2 = ws.scratch[6], ws.scratch[7]

    for k in range(n_segments):
        if is_single(tree, tree.segment[k].block):
            single_motion(tree, k, q, qd, qdd, moving, depth + 1, ws)
            continue
        kind, parent, n = tree.segment[k].kind, tree.segment[k].parent, tree.segment[k].n
        place_start(tree, k, ws, R, p)
        V, Acc = ws.twist[k, 0], ws.twist[k, 1]
        copy(ws.twist[parent, 0], V)
        copy(ws.twist[parent, 1], Acc)
        if kind == tr.FIXED:
            for i in range(3):
                copy(R[i], ws.pose[k, i])
            copy(p, ws.pose[k, 3])
            continue

        at, first = tree.segment[k].strain, tree.segment[k].column
        h, c = tree.strain[at + tr.LENGTH], tree.strain[at + tr.MAGNUS]
        record = ws.segment[k]
        Omega, x_1, x_2, C = record[0:6], record[6:12], record[12:18], record[18:28]
        magnus_step(tree, k, at, q, Omega, x_1, x_2, C, Re, pe)
        compose_into(R, p, Re, pe, ws.pose[k])
        if depth == POSES and not moving:
            continue
        block = tree.segment[k].block
        if kind == tr.COMMUTING and depth != POSES and tree.block[block].end - tree.block[block].first == 1:
            joint_columns(tree, k, qd, qdd, moving, depth, R, p, ws)
            continue

        # rates of Omega
        if moving:
            for i in range(4):
                clear(vectors[i])
            local, n_local = tree.segment[k].local, tree.segment[k].n_local
            add_strains(tree, at, n, first, local, n_local, qd, xd_1, xd_2)
            add_strains(tree, at, n, first, local, n_local, qdd, xdd_1, xdd_2)
            for r in range(6):
                rate[r] = 0.5 * h * (xd_1[r] + xd_2[r])
                rate_2[r] = 0.5 * h * (xdd_1[r] + xdd_2[r])
            if c != 0.0:
                add_ad(xd_1, x_2, c, rate)
                add_ad(x_1, xd_2, c, rate)
                add_ad(xdd_1, x_2, c, rate_2)
                add_ad(x_1, xdd_2, c, rate_2)
                add_ad(xd_1, xd_2, 2.0 * c, rate_2)

        T_record = record[28:46].reshape(2, 3, 3)
        tangent_maps(kind, moving, depth, Omega, rate, rate_2, C, R, p, V, Acc, dual, T_record)

        # columns: S_w, S_w', S_w'' and their sums over the block
        if depth == POSES or n == 0:
            continue
        work, size = tree.segment[k].work, 6 * n
        first_segment = tree.block[block].first
        for order in range(depth + 1):
            if order == 1 and not moving:
                continue
            combine(A, order, moving, h, c, x_2, xd_2, xdd_2, -1.0, map_1)
            combine(A, order, moving, h, c, x_1, xd_1, xdd_1, 1.0, map_2)
            if tree.segment[k].local >= 0:
                if order == 0:
                    write_local_screws(tree, k, map_1, map_2, ws)
                if not only_screws:
                    write_local_columns(tree, k, order, map_1, map_2, ws)
                continue
            total = ws.column[order + 1, work : work + size]
            write_columns(tree, at, n, first, map_1, map_2, total)
            if order == 0:
                copy(total, ws.column[0, work : work + size])
            if k > first_segment:
                add(ws.column[order + 1, work - size : work], total)
    if tree.flow_node.shape[0] > 0:
        material_twists(tree, q, qd, ws)
    if tree.inserted.shape[0] > 0:
        inserted_lengths(tree, q, ws)
    return moving


@kernel_in_place
def body_columns(g, columns, n, first, out):
    """out[:, first + j] = Ad_g^{-1} of the world twists in columns (6 n,): R^T w, R^T (v - p x w)."""
    p = g[3]
    for j in range(n):
        a, b, c = columns[j], columns[n + j], columns[2 * n + j]
        d = columns[3 * n + j] - (p[1] * c - p[2] * b)
        e = columns[4 * n + j] - (p[2] * a - p[0] * c)
        f = columns[5 * n + j] - (p[0] * b - p[1] * a)
        for i in range(3):
            out[i, first + j] = g[0, i] * a + g[1, i] * b + g[2, i] * c
            out[3 + i, first + j] = g[0, i] * d + g[1, i] * e + g[2, i] * f


@kernel_in_place
def to_body(pose, V, out):
    """A twist in the frame of a node."""
    R, p = pose[:3], pose[3]
    v0 = V[3] + V[1] * p[2] - V[2] * p[1]
    v1 = V[4] + V[2] * p[0] - V[0] * p[2]
    v2 = V[5] + V[0] * p[1] - V[1] * p[0]
    for i in range(3):
        out[i] = R[0, i] * V[0] + R[1, i] * V[1] + R[2, i] * V[2]
        out[3 + i] = R[0, i] * v0 + R[1, i] * v1 + R[2, i] * v2


@kernel_in_place
def homogeneous(g, out):
    """out (4, 4) from a pose (4, 3) of the workspace."""
    for i in range(3):
        for j in range(3):
            out[i, j] = g[i, j]
        out[i, 3] = g[3, i]
        out[3, i] = 0.0
    out[3, 3] = 1.0


@kernel_in_place
def read_poses(nodes, ws, g, eta):
    """Body-frame pose g (n, 4, 4) and twist eta (n, 6) of the given nodes, after a forward sweep."""
    for i in range(nodes.shape[0]):
        k = nodes[i]
        homogeneous(ws.pose[k], g[i])
        body_columns(ws.pose[k], ws.twist[k, 0], 1, 0, eta[i].reshape(6, 1))


@kernel_in_place
def read_jacobians(tree, nodes, moving, ws, J, Jd):
    """Body-frame Jacobians J and their time derivatives Jd (n, 6, ndof) at the given nodes, after a sweep of depth 1.

    Both must be zero on entry; Jd may have no rows. d/dt (Ad_g^{-1} J) = Ad_g^{-1} (J' - ad_V J).
    """
    rate = ws.wide[0]
    x, y = ws.scratch[0, 0], ws.scratch[0, 1]
    for i in range(nodes.shape[0]):
        k = nodes[i]
        node = k
        while node >= 0:
            n, work, first = (
                tree.segment[node].n,
                tree.segment[node].work,
                tree.segment[node].column,
            )
            columns = ws.column[1, work : work + 6 * n]
            body_columns(ws.pose[k], columns, n, first, J[i])
            if moving and Jd.shape[0] > 0:
                for j in range(n):
                    for r in range(6):
                        x[r] = columns[r * n + j]
                        y[r] = ws.column[2, work + r * n + j]
                    add_ad(ws.twist[k, 0], x, -1.0, y)
                    for r in range(6):
                        rate[r * n + j] = y[r]
                body_columns(ws.pose[k], rate, n, first, Jd[i])
            node = tree.block[tree.segment[node].block].parent


@kernel_in_place
def energies(tree, weight, gravity, ws):
    """Kinetic and gravitational energy after a sweep: sum V^T M V / 2 and -sum m a_g . p_c (zero at the origin).

    weight (n, 6, 6): that part of the inertia that has weight.
    """
    kinetic, potential = 0.0, 0.0
    eta, y = ws.scratch[0, 0], ws.scratch[0, 1]
    for k in range(tree.segment.shape[0]):
        M, g = tree.inertia[k], ws.pose[k]
        if M[3, 3] == 0.0 and M[0, 0] == 0.0:
            continue
        body_columns(g, ws.twist[k, 0], 1, 0, eta.reshape(6, 1))
        matrix_vector(M, eta, y)
        for i in range(6):
            kinetic += 0.5 * eta[i] * y[i]
        # first moment in the body frame, from the block m c^ of the inertia
        W = weight[k]
        mass, c0, c1, c2 = W[3, 3], W[2, 4], W[0, 5], W[1, 3]
        for i in range(3):
            potential -= gravity[i] * (mass * g[3, i] + g[i, 0] * c0 + g[i, 1] * c1 + g[i, 2] * c2)
    return kinetic, potential
