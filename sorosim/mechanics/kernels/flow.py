"""Rods whose length is a coordinate: the material that flows through their nodes (docs/theory.md, 19).

The poses of such a rod are those of any other, with the length as a first coordinate of its block. Its material passes
a node with the rate X' = (c/lambda) l', lambda = l/L. What has mass are the particles that are at the nodes.
"""

from __future__ import annotations

from sorosim.base.compiled import kernel_in_place, kernel_lazy
from sorosim.mechanics.kernels import ancestors as an
from sorosim.mechanics.kernels.dynamics import add_inertia_rate
from sorosim.mechanics.kernels.kinematics import body_columns
from sorosim.mechanics.kernels.material import add_columns, world_columns
from sorosim.mechanics.kernels.small import (
    add,
    add_ad,
    add_coad,
    add_coadbar,
    add_matrix,
    add_scaled,
    clear,
    clear_matrix,
    copy,
    matrix_vector,
    world_inertia,
)
from sorosim.mechanics.kernels.tree import (
    FLOW_BASIS,
    FLOW_LENGTH,
    FLOW_RATE,
    LENGTH_RATIO,
    MATERIAL_ACCELERATION,
    MATERIAL_TWIST,
    MATERIAL_WRENCH,
    TANGENT,
)


@kernel_in_place
def own_inertia(tree, k, ws, rotated, M):
    """M (6, 6): inertia of the material of a node, world frame."""
    ratio = ws.twist[k, LENGTH_RATIO, 0]
    world_inertia(ws.pose[k, :3], ws.pose[k, 3], tree.inertia[k], rotated, M)
    for i in range(6):
        for j in range(6):
            M[i, j] *= ratio


@kernel_in_place
def material_acceleration(tree, k, at, q, qd, qdd, ws, spare):
    """A - G of the material at node k; spare (4, 6): Gamma, dW/dX, the total rate W', and scratch."""
    n, first, basis = tree.segment[k].n, tree.segment[k].column, at + FLOW_BASIS
    gamma, by_X, rate, x = spare[0], spare[1], spare[2], spare[3]
    W, A = ws.twist[k, TANGENT], ws.twist[k, MATERIAL_ACCELERATION]
    clear(x)
    add_columns(tree.flow[basis : basis + 6 * n], n, qd[first : first + n], x)
    world_columns(ws.pose[k], x.reshape(1, 6), 1, gamma)
    clear(x)
    add_columns(tree.flow[basis + 6 * n : basis + 12 * n], n, q[first : first + n], x)
    world_columns(ws.pose[k], x.reshape(1, 6), 1, by_X)
    ratio, ld = ws.twist[k, LENGTH_RATIO, 0], qd[first]
    h = tree.flow[at + FLOW_RATE] / ratio
    u = h * ld
    copy(gamma, rate)
    add_ad(ws.twist[k, 0], W, 1.0, rate)
    add_scaled(u, by_X, rate)
    copy(ws.twist[k, 1], A)
    add_scaled(h * (qdd[first] - 2.0 * ld * ld / (ratio * tree.flow[at + FLOW_LENGTH])), W, A)
    add_scaled(u, rate, A)
    add_scaled(u, gamma, A)


@kernel_lazy("flow")
def material_quantities(tree, q, qd, qdd, external, moving, tensors, ws) -> None:
    """Accelerations of the material at flowing nodes, and what it adds to M, N - D_w, K_w and F, after those of nodes.

    F is kept as well: it acts along the material's own way too.
    """
    rotated, own, rate, spare = ws.scratch[0], ws.scratch[1], ws.scratch[2], ws.scratch[3]
    H, row, F = ws.scratch[4, 0], ws.scratch[4, 1], ws.scratch[4, 2]
    n_nodes, loaded = tree.segment.shape[0], external.wrench.shape[0] > 0
    for i in range(tree.flow_node.shape[0]):
        k, at, of_material = tree.flow_node[i].node, tree.flow_node[i].at, n_nodes + i
        V, A = ws.twist[k, MATERIAL_TWIST], ws.twist[k, MATERIAL_ACCELERATION]
        own_inertia(tree, k, ws, rotated, own)
        if moving:
            material_acceleration(tree, k, at, q, qd, qdd, ws, spare)
            matrix_vector(own, A, F)
            matrix_vector(own, V, H)
            add_coad(V, H, 1.0, F)
            if tensors:
                clear_matrix(rate)
                add_inertia_rate(V, own, row, rate)
                add_coadbar(H, 1.0, rate)
                add_matrix(rate, ws.tensor[k, 1])
        else:
            copy(ws.twist[k, 1], A)
            matrix_vector(own, A, F)
        add_matrix(own, ws.tensor[k, 0])
        if loaded:
            add_scaled(-1.0, external.wrench[of_material], F)
            if tensors:
                for r in range(6):
                    add_scaled(-1.0, external.D[of_material, r], ws.tensor[k, 1, r])
                    add(external.K[of_material, r], ws.tensor[k, 2, r])
        copy(F, ws.twist[k, MATERIAL_WRENCH])
        add(F, ws.twist[k, 2])


@kernel_lazy("flow")
def material_forces(tree, ws, tau) -> None:
    """tau += what acts on material that moves past its nodes, on the coordinates of the lengths."""
    for i in range(tree.flow_node.shape[0]):
        k, at = tree.flow_node[i].node, tree.flow_node[i].at
        h = tree.flow[at + FLOW_RATE] / ws.twist[k, LENGTH_RATIO, 0]
        for r in range(6):
            tau[tree.segment[k].column] += h * ws.twist[k, TANGENT, r] * ws.twist[k, MATERIAL_WRENCH, r]


@kernel_in_place
def add_along(J, n, x, scale, out):
    """out (n,) += scale J^T x; J (6 n,), x (6,)."""
    for r in range(6):
        factor = scale * x[r]
        for j in range(n):
            out[j] += J[r * n + j] * factor


@kernel_lazy("flow")
def material_mass(tree, ws, mass) -> None:
    """Add to the mass matrix what material moves past its nodes, after `composite_mass_matrix`."""
    rotated, own, y, sums, filled = ws.scratch[0], ws.scratch[1], ws.scratch[4, 0], ws.vector[an.PATH_SUMS], 0
    for i in range(tree.flow_node.shape[0]):
        k, at = tree.flow_node[i].node, tree.flow_node[i].at
        e, W = tree.segment[k].column, ws.twist[k, TANGENT]
        h = tree.flow[at + FLOW_RATE] / ws.twist[k, LENGTH_RATIO, 0]
        own_inertia(tree, k, ws, rotated, own)
        matrix_vector(own, W, y)
        filled = an.gather_ancestors(tree, k, 1, filled, ws)
        an.set_pairs(y, ws.vector, an.PATH_J, filled, sums)
        an.add_to_row(ws.place, filled, h, sums, mass[e])
        an.add_to_column(ws.place, filled, h, sums, e, mass)
        for r in range(6):
            mass[e, e] += h * h * W[r] * y[r]


@kernel_in_place
def column_of(columns, n, j, out):
    """out (6,) = column j of columns (6 n,)."""
    for r in range(6):
        out[r] = columns[r * n + j]


@kernel_lazy("flow")
def material_derivatives(tree, q, qd, qdd, external, moving, with_mass, ws, tau, dq, dqd, mass) -> None:
    """Add to the derivatives of inverse dynamics what flowing material adds, after `derivative_sweep`; to tau as well.

    X and Y: what the wrench of a node changes by with the own coordinates, and their rates, beyond the terms of nodes
    that carry their mass and loads along.
    """
    material_forces(tree, ws, tau)
    rotated, M, N, spare = ws.scratch[0], ws.scratch[1], ws.scratch[2], ws.scratch[3]
    vectors = ws.scratch[4]
    a, b, x, y, H, row = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4], vectors[5]
    rate, turned, filled = spare[2], ws.scratch[5, 0], 0
    n_nodes, loaded = tree.segment.shape[0], external.wrench.shape[0] > 0
    for i in range(tree.flow_node.shape[0]):
        k, at = tree.flow_node[i].node, tree.flow_node[i].at
        n, e, of_material = tree.segment[k].n, tree.segment[k].column, n_nodes + i
        size, basis = 6 * n, at + FLOW_BASIS
        Q, QX, X, Y = ws.wide[0, :size], ws.wide[1, :size], ws.wide[2, :size], ws.wide[3, :size]
        world_columns(ws.pose[k], tree.flow[basis : basis + size].reshape(n, 6), n, Q)
        W, V, F = ws.twist[k, TANGENT], ws.twist[k, MATERIAL_TWIST], ws.twist[k, MATERIAL_WRENCH]
        ratio = ws.twist[k, LENGTH_RATIO, 0]
        h, length = tree.flow[at + FLOW_RATE] / ratio, ratio * tree.flow[at + FLOW_LENGTH]
        own_inertia(tree, k, ws, rotated, M)
        clear(X)
        clear(Y)
        # by the length: more of it
        for r in range(6):
            X[r * n] = F[r] / length
        matrix_vector(M, W, a)
        clear(b)
        clear(turned)
        clear_matrix(N)
        if loaded:
            for r in range(6):
                add_scaled(-1.0, external.D[of_material, r], N[r])
                add_scaled(-h * W[r], external.K[of_material, r], turned)
        if moving or loaded:
            world_columns(ws.pose[k], tree.flow[basis + size : basis + 2 * size].reshape(n, 6), n, QX)
            material_acceleration(tree, k, at, q, qd, qdd, ws, spare)
            matrix_vector(M, V, H)
            add_inertia_rate(V, M, row, N)
            add_coadbar(H, 1.0, N)
            for r in range(6):
                add_scaled(h * W[r], N[r], b)
            u, ld, ldd = h * qd[e], qd[e], qdd[e]
            u_rate = h * (ldd - 2.0 * ld * ld / length)
            for j in range(n):
                # columns of the material beyond those of the node: J' by u Q, J'' by x
                column_of(Q, n, j, H)
                for r in range(6):
                    x[r] = u_rate * H[r]
                add_ad(ws.twist[k, 0], H, 2.0 * u, x)
                add_ad(W, H, u * u, x)
                for r in range(6):
                    x[r] += u * u * QX[r * n + j]
                if j == 0:  # and its own motion, whose rates depend on the length
                    add_scaled(-2.0 * u / length, rate, x)
                    add_scaled(h * (4.0 * ld * ld / length - ldd) / length, W, x)
                matrix_vector(M, x, y)
                for r in range(6):
                    X[r * n + j] += y[r]
                for r in range(6):
                    x[r] = u * H[r]
                if j == 0:
                    add_scaled(-u / length, W, x)
                matrix_vector(N, x, y)
                for r in range(6):
                    X[r * n + j] += y[r]
                for r in range(6):
                    x[r] = 2.0 * u * H[r]
                if j == 0:
                    add_scaled(2.0 * h, rate, x)
                    add_scaled(-4.0 * h * ld / length, W, x)
                matrix_vector(M, x, y)
                for r in range(6):
                    Y[r * n + j] += y[r]
                if j == 0:
                    matrix_vector(N, W, y)
                    for r in range(6):
                        Y[r * n + j] += h * y[r]
        for r in range(6):
            a[r] *= h
        # all wrenches beyond the base of this segment feel X and Y, the length row feels everything
        filled = an.gather_ancestors(tree, k, 3, filled, ws)
        path, sums = ws.vector, ws.vector[an.PATH_SUMS]
        for j in range(n):
            column_of(X, n, j, x)
            an.set_pairs(x, path, an.PATH_J, filled, sums)
            an.add_to_column(ws.place, filled, 1.0, sums, e + j, dq)
            if moving or loaded:
                column_of(Y, n, j, x)
                an.set_pairs(x, path, an.PATH_J, filled, sums)
                an.add_to_column(ws.place, filled, 1.0, sums, e + j, dqd)
        an.set_pairs(a, path, an.PATH_JDD, filled, sums)
        an.add_pairs(1.0, turned, path, an.PATH_J, filled, sums)
        if moving:
            an.add_pairs(1.0, b, path, an.PATH_JD, filled, sums)
        an.add_to_row(ws.place, filled, 1.0, sums, dq[e])
        if with_mass:
            an.set_pairs(a, path, an.PATH_J, filled, sums)
            an.add_to_row(ws.place, filled, 1.0, sums, mass[e])
            an.add_to_column(ws.place, filled, 1.0, sums, e, mass)
        if moving or loaded:
            an.set_pairs(b, path, an.PATH_J, filled, sums)
            if moving:
                an.add_pairs(2.0, a, path, an.PATH_JD, filled, sums)
            an.add_to_row(ws.place, filled, 1.0, sums, dqd[e])
        add_along(X, n, W, h, dq[e, e : e + n])
        add_along(Q, n, F, h, dq[e, e : e + n])
        if moving or loaded:
            add_along(Y, n, W, h, dqd[e, e : e + n])
        if with_mass:
            for r in range(6):
                mass[e, e] += h * W[r] * a[r]
        # the virtual displacement h W itself falls as the length rises
        for r in range(6):
            dq[e, e] -= h / length * W[r] * F[r]


@kernel_in_place
def material_energies(tree, weight, gravity, ws):
    """Kinetic and gravitational energy of the material at flowing nodes beyond those that `energies` counted."""
    kinetic, potential = 0.0 * gravity[0], 0.0 * gravity[0]
    eta, y = ws.scratch[0, 0], ws.scratch[0, 1]
    for i in range(tree.flow_node.shape[0]):
        k = tree.flow_node[i].node
        ratio, g = ws.twist[k, LENGTH_RATIO, 0], ws.pose[k]
        for part in range(2):
            body_columns(g, ws.twist[k, MATERIAL_TWIST if part == 0 else 0], 1, 0, eta.reshape(6, 1))
            matrix_vector(tree.inertia[k], eta, y)
            for r in range(6):
                kinetic += (ratio if part == 0 else -1.0) * 0.5 * eta[r] * y[r]
        W = weight[k]
        mass, c0, c1, c2 = W[3, 3], W[2, 4], W[0, 5], W[1, 3]
        for r in range(3):
            height = mass * g[3, r] + g[r, 0] * c0 + g[r, 1] * c1 + g[r, 2] * c2
            potential -= (ratio - 1.0) * gravity[r] * height
    return kinetic, potential
