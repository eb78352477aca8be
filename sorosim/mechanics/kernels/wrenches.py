"""Wrenches of forces at points that move with nodes, and their tangents, world frame (docs/theory.md, 4 and B)."""

from __future__ import annotations

from sorosim.base.compiled import kernel_in_place
from sorosim.mechanics.lie.triples import cross, row, scaled


@kernel_in_place
def add_dead(p, f, sign, node, external):
    """Add sign times a wrench f (6,) in world axes at a point p (3,) of the world that moves with the node."""
    add_weighted_dead(scaled(sign, p), f, sign, node, external)


@kernel_in_place
def add_weighted_dead(p, f, weight, node, external):
    """As add_dead, `weight` times the wrench; p (3,): the point times the weight, which may be zero where p is not."""
    wrench, K = external.wrench[node], external.K[node]
    m0, m1, m2, f0, f1, f2 = weight * f[0], weight * f[1], weight * f[2], f[3], f[4], f[5]
    wrench[0] += m0 + p[1] * f2 - p[2] * f1
    wrench[1] += m1 + p[2] * f0 - p[0] * f2
    wrench[2] += m2 + p[0] * f1 - p[1] * f0
    wrench[3] += weight * f0
    wrench[4] += weight * f1
    wrench[5] += weight * f2
    # K_w = [[m^ + p^ f^, 0], [f^, 0]]
    dot = p[0] * f0 + p[1] * f1 + p[2] * f2
    for c in range(3):
        K[0, c] += f0 * p[c]
        K[1, c] += f1 * p[c]
        K[2, c] += f2 * p[c]
        K[c, c] -= dot
    K[0, 1] -= m2
    K[0, 2] += m1
    K[1, 0] += m2
    K[1, 2] -= m0
    K[2, 0] -= m1
    K[2, 1] += m0
    K[3, 1] -= weight * f2
    K[3, 2] += weight * f1
    K[4, 0] += weight * f2
    K[4, 2] -= weight * f0
    K[5, 0] -= weight * f1
    K[5, 1] += weight * f0


@kernel_in_place
def point_velocity(V, p, out):
    """out (3,): velocity of a point p that moves with a world twist V."""
    out[0] = V[3] + V[1] * p[2] - V[2] * p[1]
    out[1] = V[4] + V[2] * p[0] - V[0] * p[2]
    out[2] = V[5] + V[0] * p[1] - V[1] * p[0]


@kernel_in_place
def add_force(p, i, y, first, out):
    """Columns `first` to first + 2 of out (6, 6) += E_p^T e_i y: the force e_i at p and its moment p x e_i."""
    j, k = (i + 1) % 3, (i + 2) % 3
    for c in range(3):
        out[3 + i, first + c] += y[c]
        out[j, first + c] += p[k] * y[c]
        out[k, first + c] -= p[j] * y[c]


@kernel_in_place
def add_between(p, X, r, sign, out):
    """out (6, 6) += sign E_p^T X E_r, E_p = [-p^, 1], X (3, 3): from forces at p by motions at r to the world."""
    for i in range(3):
        # row i of X E_r: [r x row, row]
        y = scaled(sign, row(X, i))
        add_force(p, i, cross(r, y), 0, out)
        add_force(p, i, y, 3, out)


@kernel_in_place
def add_turned(p, X, v, sign, out):
    """out (6, 6) += sign E_p^T X v^ S, S the angular part of a motion: what turning does to the velocity v."""
    for i in range(3):
        add_force(p, i, cross(scaled(sign, row(X, i)), v), 0, out)
