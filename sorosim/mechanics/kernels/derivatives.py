"""Derivatives of inverse dynamics by the link-by-link recursion (docs/theory.md, 4)."""

from __future__ import annotations

from sorosim.base.compiled import kernel_in_place, kernel_lazy
from sorosim.mechanics.kernels import tree as tr
from sorosim.mechanics.kernels.ancestors import gather_ancestors
from sorosim.mechanics.kernels.kinematics import place_start
from sorosim.mechanics.kernels.single import derivatives_with_ancestors, is_single, single_derivatives
from sorosim.mechanics.kernels.small import (
    add,
    add_coad,
    add_coadbar,
    add_coadbar_columns,
    add_matrix,
    add_matrix_columns,
    add_transposed_product,
    clear,
    clear_matrix,
    copy,
    dual_transpose_vector,
)
from sorosim.mechanics.kernels.spans import (
    BEFORE,
    OWN_J,
    OWN_JD,
    OWN_JDD,
    S_W,
    SPAN_COLUMNS,
    SPAN_MATRICES,
    SPAN_SUMS,
    gather,
    join_span,
    span_begin,
)
from sorosim.mechanics.lie.tangent import tangent_transpose_derivative_into
from sorosim.mechanics.lie.triples import cross, head, rows, store, sum2, tail, transposed_times


@kernel_in_place
def wrench_at_start(R, p, F, y):
    """y = Ad_g^T F = [R^T (m - p x f); R^T f]."""
    f, R_rows = tail(F), rows(R)
    store(transposed_times(R_rows, sum2(1.0, head(F), -1.0, cross(p, f))), transposed_times(R_rows, f), y)


@kernel_in_place
def add_left_maps(X, j, x, scale, h, out):
    """Column j of out = h/2 X + scale ad*_x X."""
    m0, m1, m2, f0, f1, f2 = X[0, j], X[1, j], X[2, j], X[3, j], X[4, j], X[5, j]
    out[0, j] = 0.5 * h * m0 + scale * (x[1] * m2 - x[2] * m1 + x[4] * f2 - x[5] * f1)
    out[1, j] = 0.5 * h * m1 + scale * (x[2] * m0 - x[0] * m2 + x[5] * f0 - x[3] * f2)
    out[2, j] = 0.5 * h * m2 + scale * (x[0] * m1 - x[1] * m0 + x[3] * f1 - x[4] * f0)
    out[3, j] = 0.5 * h * f0 + scale * (x[1] * f2 - x[2] * f1)
    out[4, j] = 0.5 * h * f1 + scale * (x[2] * f0 - x[0] * f2)
    out[5, j] = 0.5 * h * f2 + scale * (x[0] * f1 - x[1] * f0)


@kernel_in_place
def coupling_maps(tree, k, ws, FC, H):
    """H (4, 6, 6) = H_11, H_12, H_21, H_22 of Hess = sum_ab P_a^T H_ab P_b: d(S_w^T FC) at constant y = Ad_g^T FC.

    Z = B_1 P_1 + B_2 P_2 with B_1 = h/2 - c ad_x2, B_2 = h/2 + c ad_x1; X = d(T^T y)/dOmega, b = T^T y:
    H_ab = B_a^T X B_b, then c adbar_b added to H_12 and taken from H_21.
    """
    at = tree.segment[k].strain
    h, c = tree.strain[at + tr.LENGTH], tree.strain[at + tr.MAGNUS]
    record = ws.segment[k]
    Omega, x_1, x_2, C, T = record[0:6], record[6:12], record[12:18], record[18:28], record[28:46].reshape(2, 3, 3)
    start = ws.scratch[2].reshape(12, 3)
    vectors = ws.scratch[3]
    y, b = vectors[0], vectors[1]
    X, XB_1, XB_2 = ws.scratch[4], ws.scratch[5], ws.scratch[6]
    place_start(tree, k, ws, start[0:3], start[3])
    wrench_at_start(start[0:3], start[3], FC, y)
    tangent_transpose_derivative_into(Omega, C, y, X)
    # X ad_x has the rows -ad*_x (row of X)
    for i in range(6):
        for j in range(6):
            XB_1[i, j] = 0.5 * h * X[i, j]
            XB_2[i, j] = 0.5 * h * X[i, j]
        add_coad(x_2, X[i], c, XB_1[i])
        add_coad(x_1, X[i], -c, XB_2[i])
    for j in range(6):
        add_left_maps(XB_1, j, x_2, c, h, H[0])
        add_left_maps(XB_2, j, x_2, c, h, H[1])
        add_left_maps(XB_1, j, x_1, -c, h, H[2])
        add_left_maps(XB_2, j, x_1, -c, h, H[3])
    if c != 0.0:
        dual_transpose_vector(T, y, b)
        add_coadbar(b, c, H[1])
        add_coadbar(b, -c, H[2])


@kernel_in_place
def add_coupling(tree, k, H, Y_1, Y_2, out):
    """out (m, m) += sum_ab P_a^T H_ab P_b of segment k, which m coordinates move; Y_1, Y_2 (6 m,) are scratch."""
    at, c0, n = tree.segment[k].strain + tr.BASIS, tree.segment[k].column, tree.segment[k].n
    local, m = tree.segment[k].local, tree.segment[k].n_local
    P_1, P_2 = tree.strain[at : at + 6 * n].reshape(n, 6), tree.strain[at + 6 * n : at + 12 * n].reshape(n, 6)
    rows, Z_1, Z_2 = tree.rows[c0 : c0 + n], Y_1.reshape(6, m), Y_2.reshape(6, m)
    clear(Y_1)
    clear(Y_2)
    for j in range(m):
        p = j if local < 0 else tree.local[local + j]
        for r in range(rows[p, 0], rows[p, 1]):
            a, b = P_1[p, r], P_2[p, r]
            for i in range(6):
                Z_1[i, j] += H[0, i, r] * a + H[1, i, r] * b
                Z_2[i, j] += H[2, i, r] * a + H[3, i, r] * b
    for i in range(m):
        row, p = out[i], i if local < 0 else tree.local[local + i]
        for r in range(rows[p, 0], rows[p, 1]):
            a, b, y_1, y_2 = P_1[p, r], P_2[p, r], Z_1[r], Z_2[r]
            if a == 0.0 and b == 0.0:
                continue
            for j in range(m):
                row[j] += a * y_1[j] + b * y_2[j]


@kernel_lazy()
def derivative_sweep(tree, moving, loaded, with_rates, with_mass, ws, tau, dq, dqd, dqdd) -> None:
    """Inverse dynamics tau (ndof,) and its derivatives by q, qd, qdd (ndof, ndof), in one tip-to-base sweep.

    Needs the columns up to J'' and F, M, N - D_w, K_w of every node; sums them towards the root. `loaded`: some node
    has K_w. Without `with_mass` dqdd, the mass matrix, is not touched; without `with_rates`, for robots
    at rest, dqd stays zero. Each block keeps only its own columns: own x own
    inside the block, own x ancestors and ancestors x own at its base, by the 6x6 sums MC, NC, KC and by W = sum dF.
    Source: docs/theory.md, 4.
    """
    clear(tau)
    clear_matrix(dq)
    clear_matrix(dqd)
    if with_mass:
        clear_matrix(dqdd)
    MC, NC, KC = ws.scratch[7], ws.scratch[8], ws.scratch[9]
    H = ws.scratch[10:14]
    FC, filled, own = ws.scratch[3, 2], 0, ws.scratch[14]
    for b in range(tree.block.shape[0] - 1, -1, -1):
        if is_single(tree, b):
            filled = single_derivatives(tree, b, moving, loaded, with_rates, with_mass, filled, ws, tau, dq, dqd, dqdd)
            continue
        n, c0, base = tree.block[b].n, tree.block[b].column, tree.block[b].parent
        passed = base >= 0 or tree.block[b].is_local != 0
        is_local, first_of_block, end = tree.block[b].is_local != 0, tree.block[b].first, tree.block[b].end
        for array in range(5):
            clear(ws.wide[array, : 6 * n])
        clear_matrix(MC)
        clear_matrix(NC)
        clear_matrix(KC)
        clear(FC)
        while end > first_of_block:
            # one span, or all of the block: m coordinates move it
            first, m = span_begin(tree, b, end), tree.segment[end - 1].n_local
            size, sums, own_q, own_qd, own_qdd, at = 6 * m, 0, dq, dqd, dqdd, c0
            if is_local:
                sums, at = SPAN_SUMS, 0
                own_q = ws.wide[SPAN_MATRICES, : m * m].reshape(m, m)
                own_qd = ws.wide[SPAN_MATRICES + 1, : m * m].reshape(m, m)
                own_qdd = ws.wide[SPAN_MATRICES + 2, : m * m].reshape(m, m)
                for array in range(5):
                    clear(ws.wide[sums + array, :size])
                for array in range(3):
                    clear(ws.wide[SPAN_MATRICES + array, : m * m])
            W, Wd, XM = ws.wide[sums, :size], ws.wide[sums + 1, :size], ws.wide[sums + 2, :size]
            XN, XK, row = ws.wide[sums + 3, :size], ws.wide[sums + 4, :size], ws.wide[sums + 5, :size]
            Y_1, Y_2 = ws.wide[sums + 6, :size], ws.wide[sums + 7, :size]
            for k in range(end - 1, first - 1, -1):
                M, N, K, F = ws.tensor[k, 0], ws.tensor[k, 1], ws.tensor[k, 2], ws.twist[k, 2]
                add_matrix(M, MC)
                add_matrix(N, NC)
                add(F, FC)
                if loaded:
                    add_matrix(K, KC)
                if m == 0:
                    continue
                work = tree.segment[k].work
                S, J = ws.column[0, work : work + size], ws.column[1, work : work + size]
                Jd, Jdd = ws.column[2, work : work + size], ws.column[3, work : work + size]
                before = ws.column[1, work - size : work] if k > first_of_block else J
                if is_local:
                    S, J = ws.wide[SPAN_COLUMNS + S_W, :size], ws.wide[SPAN_COLUMNS + OWN_J, :size]
                    Jd, Jdd = ws.wide[SPAN_COLUMNS + OWN_JD, :size], ws.wide[SPAN_COLUMNS + OWN_JDD, :size]
                    before = ws.wide[SPAN_COLUMNS + BEFORE, :size]
                    gather(tree, k, 0, first, ws, S)
                    gather(tree, k, 1, first, ws, J)
                    gather(tree, k, 3, first, ws, Jdd)
                    if moving:
                        gather(tree, k, 2, first, ws, Jd)
                    for i in range(size):
                        before[i] = J[i] - S[i]
                    if k == end - 1:
                        # what lies beyond the span acts there
                        M, N, K, F = MC, NC, KC, FC

                # dF of this node and what hangs on it, by own columns
                if loaded or tree.segment[k].massless_end == 0:
                    add_coadbar_columns(F, J, m, 1.0, W)
                    add_matrix_columns(M, Jdd, m, 1.0, W)
                    if with_mass or passed:
                        add_matrix_columns(M, J, m, 1.0, XM)
                    if moving:
                        add_matrix_columns(N, Jd, m, 1.0, W)
                        add_matrix_columns(M, Jd, m, 2.0, Wd)
                    if with_rates:
                        add_matrix_columns(N, J, m, 1.0, Wd)
                    if loaded:
                        add_matrix_columns(K, J, m, -1.0, W)

                # own x own
                for j in range(m):
                    total = 0.0
                    for r in range(6):
                        total += S[r * m + j] * FC[r]
                    tau[c0 + j if not is_local else c0 + tree.local[tree.segment[k].local + j]] += total
                copy(W, row)
                if k > first:
                    add_coadbar_columns(FC, before, m, -1.0, row)
                add_transposed_product(S, m, row, m, 1.0, own_q, at, at)
                if with_rates:
                    add_transposed_product(S, m, Wd, m, 1.0, own_qd, at, at)
                if with_mass:
                    add_transposed_product(S, m, XM, m, 1.0, own_qdd, at, at)
                if tree.segment[k].kind == tr.GENERAL:
                    coupling_maps(tree, k, ws, FC, H)
                    add_coupling(tree, k, H, Y_1, Y_2, own_q[at : at + m, at : at + m])

                # sum S_w^T NC, KC, transposed; that with MC is XM
                if passed:
                    if with_rates:
                        add_matrix_columns(NC.T, S, m, 1.0, XN)
                    if loaded:
                        add_matrix_columns(KC.T, S, m, 1.0, XK)
            if is_local:
                join_span(tree, b, first, moving, loaded, with_rates, with_mass, ws, dq, dqd, dqdd)
            end = first

        if base < 0:
            continue
        add_matrix(MC, ws.tensor[base, 0])
        add_matrix(NC, ws.tensor[base, 1])
        add(FC, ws.twist[base, 2])
        if loaded:
            add_matrix(KC, ws.tensor[base, 2])

        if n > 0:
            filled = gather_ancestors(tree, base, 3, filled, ws)
        for j in range(n):
            for r in range(6):
                for array in range(5):
                    own[array, r] = ws.wide[array, r * n + j]
            derivatives_with_ancestors(own, filled, c0 + j, moving, loaded, with_rates, with_mass, ws, dq, dqd, dqdd)
