"""Tip-to-base sweeps: inverse dynamics and the mass matrix (docs/theory.md, 4)."""

from __future__ import annotations

from sorosim.base.compiled import kernel_in_place, kernel_inline, kernel_lazy
from sorosim.mechanics.kernels import tree as tr
from sorosim.mechanics.kernels.ancestors import gather_ancestors
from sorosim.mechanics.kernels.single import is_single, mass_with_ancestors, rigid_quantities, single_mass
from sorosim.mechanics.kernels.small import (
    add,
    add_coad,
    add_coadbar,
    add_matrix,
    add_matrix_columns,
    add_scaled,
    add_transposed_product,
    clear,
    clear_matrix,
    copy,
    matrix_vector,
    world_inertia,
)
from sorosim.mechanics.kernels.spans import local_mass


@kernel_inline
def add_inertia_rate(V, M, row, N):
    """N += ad*_V M - M ad_V for a symmetric M; row (6,) is scratch."""
    # M ad_V = -(ad*_V M)^T, and the columns of M are its rows
    for i in range(6):
        clear(row)
        add_coad(V, M[i], 1.0, row)
        for j in range(6):
            N[i, j] += row[j]
            N[j, i] += row[j]


@kernel_lazy()
def point_quantities(tree, external, moving, tensors, looped, ws) -> None:
    """World-frame inertia M, wrench F and, if `tensors`, N - D_w and K_w of every node (docs/theory.md, 4).

    F = M (A - G) + ad*_V H - F_ext and N = adbar_H + ad*_V M - M ad_V with H = M V. `looped`: loops will add
    to K_w.
    """
    rotated, H, row = ws.scratch[0], ws.scratch[1, 0], ws.scratch[1, 1]
    loaded = external.wrench.shape[0] > 0
    for k in range(tree.segment.shape[0]):
        M, N, F = ws.tensor[k, 0], ws.tensor[k, 1], ws.twist[k, 2]
        V = ws.twist[k, 0]
        clear(F)
        if tensors:
            clear_matrix(N)
        if tree.inertia[k, 3, 3] == 0.0 and tree.inertia[k, 0, 0] == 0.0:
            clear_matrix(M)
        elif tree.segment[k].rigid == tr.FLOWING:
            clear_matrix(M)  # kernels.flow adds what is there
        elif tree.segment[k].rigid != 0:
            rigid_quantities(ws.pose[k], tree.inertia[k], V, ws.twist[k, 1], moving, tensors, M, N, F)
        else:
            world_inertia(ws.pose[k, :3], ws.pose[k, 3], tree.inertia[k], rotated, M)
            matrix_vector(M, ws.twist[k, 1], F)
            if moving:
                matrix_vector(M, V, H)
                add_coad(V, H, 1.0, F)
                if tensors:
                    add_inertia_rate(V, M, row, N)
                    add_coadbar(H, 1.0, N)
        if looped and tensors and not loaded:
            clear_matrix(ws.tensor[k, 2])
        if loaded:
            add_scaled(-1.0, external.wrench[k], F)
            if tensors:
                for i in range(6):
                    add_scaled(-1.0, external.D[k, i], N[i])
                    copy(external.K[k, i], ws.tensor[k, 2, i])


@kernel_in_place
def project_wrenches(tree, ws, tau):
    """tau_i = sum_a S_w^T FC_a over the segments of each block; sums ws.twist[:, 2] towards the root."""
    clear(tau)
    for k in range(tree.segment.shape[0] - 1, -1, -1):
        F = ws.twist[k, 2]
        n, work, first = tree.segment[k].n, tree.segment[k].work, tree.segment[k].column
        local, n_local = tree.segment[k].local, tree.segment[k].n_local
        for r in range(6):
            S = ws.column[0, work + r * n : work + r * n + n]
            if local < 0:
                for j in range(n):
                    tau[first + j] += S[j] * F[r]
            else:
                for i in range(n_local):
                    tau[first + tree.local[local + i]] += S[tree.local[local + i]] * F[r]
        parent = tree.segment[k].parent
        if parent >= 0:
            add(F, ws.twist[parent, 2])


@kernel_lazy()
def composite_mass_matrix(tree, ws, M) -> None:
    """Mass matrix M (ndof, ndof), both triangles, from composite inertias; sums ws.tensor[:, 0] towards the root."""
    clear_matrix(M)
    MC, filled = ws.scratch[1], 0
    for b in range(tree.block.shape[0] - 1, -1, -1):
        if is_single(tree, b):
            filled = single_mass(tree, b, filled, ws, M)
            continue
        n, c0, base = tree.block[b].n, tree.block[b].column, tree.block[b].parent
        XM = ws.wide[0, : 6 * n]
        clear(XM)
        clear_matrix(MC)
        is_local = tree.block[b].is_local != 0
        if is_local:
            local_mass(tree, b, ws, MC, M)
        for k in range(tree.block[b].end - 1, tree.block[b].first - 1, -1):
            if is_local:
                break
            add_matrix(ws.tensor[k, 0], MC)
            if n == 0:
                continue
            work = tree.segment[k].work
            S, J = ws.column[0, work : work + 6 * n], ws.column[1, work : work + 6 * n]
            if tree.segment[k].massless_end == 0:
                add_matrix_columns(ws.tensor[k, 0], J, n, 1.0, XM)
            add_transposed_product(S, n, XM, n, 1.0, M, c0, c0)
        if base < 0:
            continue
        add_matrix(MC, ws.tensor[base, 0])
        if n > 0:
            filled = gather_ancestors(tree, base, 1, filled, ws)
        for j in range(n):
            for r in range(6):
                ws.scratch[2, 0, r] = XM[r * n + j]
            mass_with_ancestors(ws.scratch[2, 0], filled, c0 + j, ws, M)
