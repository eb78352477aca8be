"""Concentric tubes at insertions other than those of their file: mass, weight, loads per length (docs/theory.md, 20).

A section of the length l, L in the file, has l/L of the mass and of the loads per length that its nodes have in the
file. What acts on the material of tubes acts on insertions, by which it moves past the nodes.
"""

from __future__ import annotations

from sorosim.base.compiled import kernel_in_place, kernel_lazy
from sorosim.mechanics.kernels import ancestors as an
from sorosim.mechanics.kernels.dynamics import add_inertia_rate
from sorosim.mechanics.kernels.small import (
    add,
    add_coad,
    add_coadbar,
    add_matrix,
    add_scaled,
    clear,
    clear_matrix,
    copy,
    cross,
    matrix_vector,
    world_inertia,
)
from sorosim.mechanics.kernels.tree import (
    LENGTH_RATIO,
    SECTION_BASIS,
    SECTION_LENGTH,
    SECTION_MASS,
    SECTION_RATES,
)


@kernel_lazy("tubes")
def inserted_quantities(tree, external, moving, tensors, ws) -> None:
    """Bring M, N - D_w, K_w and F of nodes to the length of their sections, after `point_quantities`."""
    own, before = ws.scratch[0], tree.segment.shape[0] + tree.flow_node.shape[0]
    y, H, row = ws.scratch[1, 0], ws.scratch[1, 1], ws.scratch[1, 2]
    loaded = external.wrench.shape[0] > 0
    for i in range(tree.inserted.shape[0]):
        k = tree.inserted[i].node
        M, F, more = ws.tensor[k, 0], ws.twist[k, 2], ws.twist[k, LENGTH_RATIO, 0] - 1.0
        for r in range(6):
            for s in range(6):
                own[r, s] = more * M[r, s]
        matrix_vector(own, ws.twist[k, 1], y)
        if moving:
            matrix_vector(own, ws.twist[k, 0], H)
            add_coad(ws.twist[k, 0], H, 1.0, y)
            if tensors:
                add_inertia_rate(ws.twist[k, 0], own, row, ws.tensor[k, 1])
                add_coadbar(H, 1.0, ws.tensor[k, 1])
        add_matrix(own, M)
        add(y, F)
        if loaded:
            add_scaled(-1.0, external.wrench[before + i], F)
            if tensors:
                for r in range(6):
                    add_scaled(-1.0, external.D[before + i, r], ws.tensor[k, 1, r])
                    add(external.K[before + i, r], ws.tensor[k, 2, r])


@kernel_in_place
def node_wrenches(tree, i, external, gravity, ws):
    """Wrenches on the material of a node, in rows of ws.scratch[2]: 0 weight in the file, with the other sign, 1 loads.

    Loads are those at its length, less what takes back the weight of added mass, whose inertia is in ws.scratch[1].
    """
    rotated, M, weight, f, y = ws.scratch[0], ws.scratch[1], ws.scratch[2, 0], ws.scratch[2, 1], ws.scratch[2, 2]
    k, added = tree.inserted[i].node, ws.scratch[3]
    mass, p = tree.flow[tree.inserted[i].at + SECTION_MASS], ws.pose[k, 3]
    if tree.inertia[k, 3, 3] == 0.0:
        mass *= 0.0  # a robot that is evaluated without inertia
    for r in range(3):
        weight[3 + r] = -mass * gravity[r]
    cross(p, weight[3:], weight[:3])
    clear(f)
    clear_matrix(M)
    if external.wrench.shape[0] == 0:
        return
    clear(y)
    for r in range(6):
        copy(tree.inertia[k, r], added[r])
    for r in range(3):
        added[3 + r, 3 + r] -= mass
        y[3 + r] = -gravity[r]
    world_inertia(ws.pose[k, :3], p, added, rotated, M)
    matrix_vector(M, y, f)
    for r in range(6):
        f[r] *= -ws.twist[k, LENGTH_RATIO, 0]
    add(external.wrench[tree.segment.shape[0] + tree.flow_node.shape[0] + i], f)


@kernel_in_place
def node_tangent(tree, i, q, ws):
    """Twist T (6,) of a frame that moves along the centreline at unit speed, in ws.scratch[2, 3], and the length l.

    Its rotation in the frame of the node, times l, is in ws.scratch[2, 4, :3]: the twist and bending of the section.
    """
    T, w, turn = ws.scratch[2, 3], ws.scratch[2, 4], ws.scratch[2, 5]
    k, at, index = tree.inserted[i].node, tree.inserted[i].at, tree.inserted[i].index
    first = tree.segment[k].column + tree.local[index + tree.inserted[i].n]
    g, length = ws.pose[k], tree.flow[at + SECTION_LENGTH] * ws.twist[k, LENGTH_RATIO, 0]
    for r in range(3):
        w[r] = 0.0 * length
        for j in range(3):
            w[r] += tree.flow[at + SECTION_BASIS + j] * q[first + 3 * r + j]
    for r in range(3):
        T[r] = (g[r, 0] * w[0] + g[r, 1] * w[1] + g[r, 2] * w[2]) / length
    cross(g[3], T[:3], turn[:3])
    for r in range(3):
        T[3 + r] = g[r, 0] + turn[r]
    return length


@kernel_lazy("tubes")
def inserted_forces(tree, q, external, gravity, ws, tau) -> None:
    """tau += what acts on insertions: weight by its potential, loads per length along the centreline."""
    for i in range(tree.inserted.shape[0]):
        row = tree.inserted[i]
        k, n, at = row.node, row.n, row.at
        plate, p = ws.pose[tree.block[tree.segment[k].block].first, 3], ws.pose[k, 3]
        node_wrenches(tree, i, external, gravity, ws)
        node_tangent(tree, i, q, ws)
        weight, f, T = ws.scratch[2, 0], ws.scratch[2, 1], ws.scratch[2, 3]
        lifted, along = 0.0 * p[0], 0.0 * p[0]
        for r in range(3):
            lifted += weight[3 + r] * (p[r] - plate[r]) / tree.flow[at + SECTION_LENGTH]
        for r in range(6):
            along += T[r] * f[r]
        for j in range(n):
            e, rates = tree.segment[k].column + tree.local[row.index + j], at + SECTION_RATES + j
            tau[e] += tree.flow[rates] * lifted - tree.flow[rates + n] * along


@kernel_lazy("tubes")
def inserted_derivatives(tree, q, external, gravity, ws, tau, dq) -> None:
    """Add to tau what `inserted_forces` adds, and to dq what depends on insertions, at rest, after the sweep.

    Columns of insertions: more length of a section carries more weight and loads; rows: those of `inserted_forces`.
    """
    inserted_forces(tree, q, external, gravity, ws, tau)
    by_length, turned, carried, moment = ws.scratch[4, 0], ws.scratch[4, 1], ws.scratch[4, 2], ws.scratch[4, 3]
    above, before, filled = ws.scratch[4, 4], tree.segment.shape[0] + tree.flow_node.shape[0], 0
    for i in range(tree.inserted.shape[0]):
        row = tree.inserted[i]
        k, n, at, index = row.node, row.n, row.at, row.index
        c0, rates, g = tree.segment[k].column, at + SECTION_RATES, ws.pose[k]
        L, ratio, plate = (
            tree.flow[at],
            ws.twist[k, LENGTH_RATIO, 0],
            ws.pose[tree.block[tree.segment[k].block].first, 3],
        )
        node_wrenches(tree, i, external, gravity, ws)
        length = node_tangent(tree, i, q, ws)
        weight, f, T, w = ws.scratch[2, 0], ws.scratch[2, 1], ws.scratch[2, 3], ws.scratch[2, 4]
        matrix_vector(ws.scratch[1], T, carried)
        clear(turned)
        along = 0.0 * length
        for r in range(6):
            weight[r] /= L
            by_length[r] = weight[r] - f[r] / length
            along += T[r] * f[r]
            carried[r] *= ratio
            if external.wrench.shape[0] > 0:
                add_scaled(-T[r], external.K[before + i, r], turned)
        # what is before the plate moves it along: then weight acts at the distance from there
        for r in range(3):
            above[r] = g[3, r] - plate[r]
        cross(g[3], f[3:], moment[:3])
        for r in range(3):
            moment[3 + r] = f[r] - moment[r]
        m, path = an.gather_ancestors(tree, k, 3, filled, ws), ws.vector
        filled, before_block = m, m - tree.segment[k].n
        by_insertion, lifted, moved = path[an.PATH_SUMS], path[an.PATH_SUMS + 1], path[an.PATH_SUMS + 2]
        an.set_pairs(by_length, path, an.PATH_J, m, by_insertion)
        an.set_pairs(weight, path, an.PATH_J, m, lifted)
        cross(above, weight[3:], weight[:3])
        for r in range(3):
            weight[3 + r] = 0.0 * length
        an.set_pairs(weight, path, an.PATH_J, before_block, lifted)
        an.set_pairs(turned, path, an.PATH_J, m, moved)
        an.add_pairs(1.0, carried, path, an.PATH_JDD, m, moved)
        for j in range(n):
            e = c0 + tree.local[index + j]
            an.add_to_column(ws.place, m, tree.flow[rates + j], by_insertion, e, dq)
            an.add_to_row(ws.place, m, tree.flow[rates + j], lifted, dq[e])
            an.add_to_row(ws.place, m, tree.flow[rates + n + j], moved, dq[e])
        # the tangent turns with the strains of the section, and less as it gets longer
        bent, strains = 0.0 * length, c0 + tree.local[index + n]
        for r in range(3):
            about = g[0, r] * moment[3] + g[1, r] * moment[4] + g[2, r] * moment[5]
            bent += w[r] * about / length
            for column in range(3):
                slope = tree.flow[at + SECTION_BASIS + column] * about / length
                for j in range(n):
                    e = c0 + tree.local[index + j]
                    dq[e, strains + 3 * r + column] -= tree.flow[rates + n + j] * slope
        for j in range(n):
            for other in range(n):
                slope = tree.flow[rates + n + j] * tree.flow[rates + other] * (bent - along) / length
                dq[c0 + tree.local[index + j], c0 + tree.local[index + other]] += slope
