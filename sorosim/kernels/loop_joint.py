"""The joint that closes a loop: the pose of A in B split into the joint's motion and the error (docs/theory.md, 9)."""

from __future__ import annotations

from math import floor, pi
from typing import NamedTuple

import numpy as np

from sorosim.compiled import by_reference, kernel_in_place
from sorosim.lie.analytic import arctan2
from sorosim.lie.so3 import coefficients, log_so3_into
from sorosim.lie.tangent import tangent_inv_into

# columns of Loops.row; MOTOR and the next: actuators along both free directions, or -1
NODE_A, NODE_B, TURN, FIRST_ROW, N_ROWS, N_LAWS, MOTOR = range(7)
# how the free motion turns: not at all, about an axis, about it by as much as it slides, in any way
NO_TURN, AXIS_TURN, SCREW_TURN, ANY_TURN = range(4)
# layout of a row of Loops.value: frames of A and B on their nodes as (4, 3); Phi^T (6, 6); projector on free slides
# (3, 3); axis; pitch; and of two directions with laws: wrench of a unit force (2, 6), stiffness, damping, rest
FRAME_A, FRAME_B, PHI, SLIDE, AXIS, PITCH, ALONG, STIFFNESS, DAMPING, REST = 0, 12, 24, 60, 69, 72, 73, 85, 87, 89
N_VALUES = 91


@by_reference
class Loops(NamedTuple):
    """Loops of a tree."""

    row: np.ndarray  # (n_loops, 8) int: columns named above
    value: np.ndarray  # (n_loops, 91): layout named above
    size: np.ndarray  # (m,) 1 for angles, 1 / extent of the loop for lengths: what makes an error of each row an angle


@kernel_in_place
def relative_into(gA, gB, out):
    """out (4, 3) = g_B^-1 g_A."""
    for i in range(3):
        for j in range(3):
            out[i, j] = gB[0, i] * gA[0, j] + gB[1, i] * gA[1, j] + gB[2, i] * gA[2, j]
        out[3, i] = 0.0
        for r in range(3):
            out[3, i] += gB[r, i] * (gA[3, r] - gB[3, r])


@kernel_in_place
def turn_about(a, theta, R):
    """R (3, 3) = rotation by theta about the unit vector a."""
    c, s = np.cos(theta), np.sin(theta)
    for i in range(3):
        for j in range(3):
            R[i, j] = (1.0 - c) * a[i] * a[j]
        R[i, i] += c
    R[0, 1] -= s * a[2]
    R[0, 2] += s * a[1]
    R[1, 0] += s * a[2]
    R[1, 2] -= s * a[0]
    R[2, 0] -= s * a[1]
    R[2, 1] += s * a[0]


@kernel_in_place
def split_motion(row, value, g, f, X, e, C, coordinate):
    """Split g = X f: the joint's own motion f nearest to g, and the error X, e = log X (6,); g, f, X (4, 3).

    The turn about an axis is the twist part of the rotation: log X has no part along the axis, at any angle. A screw
    turns as far as it slides, for any number of turns. coordinate (2,): of the directions with laws, an angle
    being the one nearest to its rest; C (10,): the functions C_k of the rotation of X.
    """
    a, turn, slide = value[AXIS : AXIS + 3], row[TURN], value[SLIDE : SLIDE + 9]
    p = g[3]
    along = a[0] * p[0] + a[1] * p[1] + a[2] * p[2]
    coordinate[0], coordinate[1] = along, along
    for i in range(3):
        for j in range(3):
            f[i, j] = g[i, j] if turn == ANY_TURN else 0.0
        f[i, i] = g[i, i] if turn == ANY_TURN else 1.0
        f[3, i] = slide[3 * i] * p[0] + slide[3 * i + 1] * p[1] + slide[3 * i + 2] * p[2]
    if turn == AXIS_TURN:
        sine = a[0] * (g[2, 1] - g[1, 2]) + a[1] * (g[0, 2] - g[2, 0]) + a[2] * (g[1, 0] - g[0, 1])
        cosine = g[0, 0] + g[1, 1] + g[2, 2]
        for i in range(3):
            for j in range(3):
                cosine -= a[i] * g[i, j] * a[j]
        theta = arctan2(sine, cosine)
        coordinate[0] = theta - 2.0 * pi * floor((theta - value[REST]).real / (2.0 * pi) + 0.5)
        turn_about(a, theta, f[:3])
    elif turn == SCREW_TURN:
        coordinate[0] = along / value[PITCH]
        turn_about(a, coordinate[0], f[:3])

    for i in range(3):
        for j in range(3):
            X[i, j] = g[i, 0] * f[j, 0] + g[i, 1] * f[j, 1] + g[i, 2] * f[j, 2]
    for i in range(3):
        X[3, i] = p[i] - (X[i, 0] * f[3, 0] + X[i, 1] * f[3, 1] + X[i, 2] * f[3, 2])

    # logarithm, v = (1 - w^/2 + k w^w^) p
    log_so3_into(X, e[:3])
    x, y, z = e[0], e[1], e[2]
    coefficients(x * x + y * y + z * z, C)
    k = 0.5 * (C[3] - 2.0 * C[4]) / C[2]
    q0, q1, q2 = X[3, 0], X[3, 1], X[3, 2]
    b0, b1, b2 = y * q2 - z * q1, z * q0 - x * q2, x * q1 - y * q0
    e[3] = q0 - 0.5 * b0 + k * (y * b2 - z * b1)
    e[4] = q1 - 0.5 * b1 + k * (z * b0 - x * b2)
    e[5] = q2 - 0.5 * b2 + k * (x * b1 - y * b0)


@kernel_in_place
def split_maps(row, value, g, f, X, e, C, T_inv, maps, error_map, coordinate_map):
    """Derivatives by q as maps of C = Ad_gB^-1 (J_A - J_B): of e error_map (6, 6), of the coordinates (2, 6).

    With dg g^-1 = C dq and df f^-1 = F C dq: dX X^-1 = (1 - Ad_X F) C dq and de = T^-1(e) of that. maps (3, 6, 6)
    and T_inv (2, 3, 3) are scratch.
    """
    a, turn, slide, p = value[AXIS : AXIS + 3], row[TURN], value[SLIDE : SLIDE + 9], g[3]
    tangent_inv_into(e, C, T_inv)
    by_slide = coordinate_map[1]
    by_slide[0], by_slide[1], by_slide[2] = (
        p[1] * a[2] - p[2] * a[1],
        p[2] * a[0] - p[0] * a[2],
        p[0] * a[1] - p[1] * a[0],
    )
    for i in range(3):
        by_slide[3 + i] = a[i]
    by_turn = coordinate_map[0]
    for r in range(6):
        by_turn[r] = by_slide[r]
    if turn == SCREW_TURN:
        for r in range(6):
            by_turn[r] /= value[PITCH]
    elif turn == AXIS_TURN:
        # log X has no part along a: 0 = a^T P^-1 (C_angular - R_X a dtheta), and P^-1 R_X = P^-T
        total = 0.0
        for j in range(3):
            by_turn[j] = a[0] * T_inv[0, 0, j] + a[1] * T_inv[0, 1, j] + a[2] * T_inv[0, 2, j]
            by_turn[3 + j] = 0.0
            total += by_turn[j] * a[j]
        for j in range(3):
            by_turn[j] /= total

    F, G, position = maps[0], maps[1], maps[2]
    for i in range(3):
        for r in range(6):
            F[i, r] = 0.0
            if turn == AXIS_TURN or turn == SCREW_TURN:
                F[i, r] = a[i] * by_turn[r]
            elif turn == ANY_TURN and i == r:
                F[i, r] = 1.0
            position[i, r] = 1.0 if r == 3 + i else 0.0
    # dp = C_linear + C_angular x p
    position[0, 1], position[0, 2], position[1, 0] = p[2], -p[1], -p[2]
    position[1, 2], position[2, 0], position[2, 1] = p[0], p[1], -p[0]
    b0, b1, b2 = f[3, 0], f[3, 1], f[3, 2]
    for r in range(6):
        for i in range(3):
            F[3 + i, r] = 0.0
            for j in range(3):
                F[3 + i, r] += slide[3 * i + j] * position[j, r]
        F[3, r] += b1 * F[2, r] - b2 * F[1, r]
        F[4, r] += b2 * F[0, r] - b0 * F[2, r]
        F[5, r] += b0 * F[1, r] - b1 * F[0, r]
    # G = 1 - Ad_X F
    for r in range(6):
        for i in range(3):
            G[i, r] = -(X[i, 0] * F[0, r] + X[i, 1] * F[1, r] + X[i, 2] * F[2, r])
            G[3 + i, r] = -(X[i, 0] * F[3, r] + X[i, 1] * F[4, r] + X[i, 2] * F[5, r])
        G[3, r] += X[3, 1] * G[2, r] - X[3, 2] * G[1, r]
        G[4, r] += X[3, 2] * G[0, r] - X[3, 0] * G[2, r]
        G[5, r] += X[3, 0] * G[1, r] - X[3, 1] * G[0, r]
        G[r, r] += 1.0
    for r in range(6):
        for i in range(3):
            error_map[i, r] = T_inv[0, i, 0] * G[0, r] + T_inv[0, i, 1] * G[1, r] + T_inv[0, i, 2] * G[2, r]
            error_map[3 + i, r] = (
                T_inv[1, i, 0] * G[0, r] + T_inv[1, i, 1] * G[1, r] + T_inv[1, i, 2] * G[2, r]
                + T_inv[0, i, 0] * G[3, r] + T_inv[0, i, 1] * G[4, r] + T_inv[0, i, 2] * G[5, r]
            )  # fmt: skip
