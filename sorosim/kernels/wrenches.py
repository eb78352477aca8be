"""Wrenches of forces at points that move with nodes, and their tangents, world frame (docs/theory.md, 4 and B)."""

from __future__ import annotations

from sorosim.compiled import kernel_in_place


@kernel_in_place
def add_dead(p, f, sign, node, external):
    """Add sign times a wrench f (6,) in world axes at a point p (3,) of the world that moves with the node."""
    wrench, K = external.wrench[node], external.K[node]
    m0, m1, m2, f0, f1, f2 = sign * f[0], sign * f[1], sign * f[2], sign * f[3], sign * f[4], sign * f[5]
    wrench[0] += m0 + p[1] * f2 - p[2] * f1
    wrench[1] += m1 + p[2] * f0 - p[0] * f2
    wrench[2] += m2 + p[0] * f1 - p[1] * f0
    wrench[3] += f0
    wrench[4] += f1
    wrench[5] += f2
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
    K[3, 1] -= f2
    K[3, 2] += f1
    K[4, 0] += f2
    K[4, 2] -= f0
    K[5, 0] -= f1
    K[5, 1] += f0


@kernel_in_place
def point_velocity(V, p, out):
    """out (3,): velocity of a point p that moves with a world twist V."""
    out[0] = V[3] + V[1] * p[2] - V[2] * p[1]
    out[1] = V[4] + V[2] * p[0] - V[0] * p[2]
    out[2] = V[5] + V[0] * p[1] - V[1] * p[0]


@kernel_in_place
def add_between(p, X, r, sign, out):
    """out (6, 6) += sign E_p^T X E_r, E_p = [-p^, 1], X (3, 3): from forces at p by motions at r to the world."""
    for i in range(3):
        a, b, c = sign * X[i, 0], sign * X[i, 1], sign * X[i, 2]
        # row i of X E_r: [r x row, row]
        y0, y1, y2 = r[1] * c - r[2] * b, r[2] * a - r[0] * c, r[0] * b - r[1] * a
        j, k = (i + 1) % 3, (i + 2) % 3
        # column i of E_p^T: force e_i and the moment p x e_i
        out[3 + i, 0] += y0
        out[3 + i, 1] += y1
        out[3 + i, 2] += y2
        out[3 + i, 3] += a
        out[3 + i, 4] += b
        out[3 + i, 5] += c
        out[j, 0] += p[k] * y0
        out[j, 1] += p[k] * y1
        out[j, 2] += p[k] * y2
        out[j, 3] += p[k] * a
        out[j, 4] += p[k] * b
        out[j, 5] += p[k] * c
        out[k, 0] -= p[j] * y0
        out[k, 1] -= p[j] * y1
        out[k, 2] -= p[j] * y2
        out[k, 3] -= p[j] * a
        out[k, 4] -= p[j] * b
        out[k, 5] -= p[j] * c


@kernel_in_place
def add_turned(p, X, v, sign, out):
    """out (6, 6) += sign E_p^T X v^ S, S the angular part of a motion: what turning does to the velocity v."""
    for i in range(3):
        a, b, c = sign * X[i, 0], sign * X[i, 1], sign * X[i, 2]
        y0, y1, y2 = b * v[2] - c * v[1], c * v[0] - a * v[2], a * v[1] - b * v[0]
        j, k = (i + 1) % 3, (i + 2) % 3
        out[3 + i, 0] += y0
        out[3 + i, 1] += y1
        out[3 + i, 2] += y2
        out[j, 0] += p[k] * y0
        out[j, 1] += p[k] * y1
        out[j, 2] += p[k] * y2
        out[k, 0] -= p[j] * y0
        out[k, 1] -= p[j] * y1
        out[k, 2] -= p[j] * y2
