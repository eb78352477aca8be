"""The joint that closes a loop: the pose of A in B split into the joint's motion and the error (docs/theory.md, 9).

A coupling of two joints, q_a = ratio q_b + offset, is a loop of one row, whose error is read from the coordinates.
"""

from __future__ import annotations

from math import floor, pi
from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, kernel_in_place, record
from sorosim.mechanics.kernels.small import copy
from sorosim.mechanics.lie.analytic import arctan2
from sorosim.mechanics.lie.se3 import log_into
from sorosim.mechanics.lie.tangent import tangent_inv_into
from sorosim.mechanics.lie.triples import cross, dot, head, plus, rows, scaled, store, sum2, times, transposed_times
from sorosim.mechanics.lie.triples import row as row_of

LOOP = record(
    node_a=int,
    node_b=int,
    turn=int,  # one of those below
    first_row=int,
    n_rows=int,
    n_laws=int,
    motor=(int, (2,)),  # actuators along both free directions, or -1
    column=(int, (2,)),  # coordinates q_a and q_b of a coupling, which move nodes A and B
    base=(int, (2,)),  # nodes on which these move
)
# how the free motion turns: not at all, about an axis, about it by as much as it slides, in any way; or a coupling
NO_TURN, AXIS_TURN, SCREW_TURN, ANY_TURN, COUPLED = range(5)
# layout of a row of Loops.value: frames of A and B on their nodes as (4, 3); Phi^T (6, 6); projector on free slides
# (3, 3); axis; pitch; and of two directions with laws: wrench of a unit force (2, 6), stiffness, damping, rest
FRAME_A, FRAME_B, PHI, SLIDE, AXIS, PITCH, ALONG, STIFFNESS, DAMPING, REST = 0, 12, 24, 60, 69, 72, 73, 85, 87, 89
N_VALUES = 91
# of a coupling: at PHI forms (6,) in frames A and B, dq = form . Ad_g^-1 (V_node - V_base); ratio and offset
RATIO, OFFSET = PITCH, REST
# poses of a loop in Closure.pose: of A and B in the world, of A in B, the joint's motion f, the error X
POSE_A, POSE_B, POSE_BA, JOINT_POSE, ERROR_POSE = range(5)


@by_reference
class Loops(NamedTuple):
    """Loops of a tree."""

    row: np.ndarray  # (n_loops,) LOOP
    value: np.ndarray  # (n_loops, 91): layout named above
    row_scale: np.ndarray  # (m,) 1 for angles, 1 / extent of the loop for lengths: times it, errors are angles


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
    a, turn, slide = value[AXIS : AXIS + 3], row.turn, value[SLIDE : SLIDE + 9]
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

    log_into(X, X[3], C, e)


@kernel_in_place
def split_maps(row, value, pose, e, C, T_inv, error_map, coordinate_map):
    """Derivatives by q as maps of C = Ad_gB^-1 (J_A - J_B): of e error_map (6, 6), of the coordinates (2, 6).

    pose : (5, 4, 3) of the loop. With dg g^-1 = C dq and df f^-1 = F C dq: dX X^-1 = (1 - Ad_X F) C dq = G C dq and
    de = T^-1(e) of that. T_inv (2, 3, 3) is scratch.
    """
    a, turn, slide, p = head(value[AXIS:]), row.turn, rows(value[SLIDE:AXIS].reshape(3, 3)), row_of(pose[POSE_BA], 3)
    R, x, f = rows(pose[ERROR_POSE]), row_of(pose[ERROR_POSE], 3), row_of(pose[JOINT_POSE], 3)
    by_turn, by_slide, about_axis = coordinate_map[0], coordinate_map[1], turn == AXIS_TURN or turn == SCREW_TURN
    tangent_inv_into(e, C, T_inv)
    store(cross(p, a), a, by_slide)
    if turn == SCREW_TURN:
        for r in range(6):
            by_turn[r] = by_slide[r] / value[PITCH]
    elif turn == AXIS_TURN:
        # log X has no part along a: 0 = a^T P^-1 (C_angular - R_X a dtheta), and P^-1 R_X = P^-T
        store(transposed_times(T_inv[0], a), scaled(0.0, a), by_turn)
        total = dot(by_turn, a)
        for r in range(3):
            by_turn[r] /= total
    else:
        copy(by_slide, by_turn)

    for r in range(6):
        unit = (1.0 if r % 3 == 0 else 0.0, 1.0 if r % 3 == 1 else 0.0, 1.0 if r % 3 == 2 else 0.0)
        # column r of F: how the joint turns, and slides after C_linear + C_angular x p
        own_turn = 1.0 if turn == ANY_TURN and r < 3 else 0.0
        F_w = sum2(by_turn[r] if about_axis else 0.0 * by_turn[r], a, own_turn, unit)
        F_v = times(slide, sum2(1.0 if r < 3 else 0.0, cross(unit, p), 0.0 if r < 3 else 1.0, unit))
        F_v = plus(F_v, cross(f, F_w))
        # of G = 1 - Ad_X F
        G_w = scaled(-1.0, times(R, F_w))
        G_v = plus(scaled(-1.0, times(R, F_v)), cross(x, G_w))
        G_w, G_v = sum2(1.0, G_w, 1.0 if r < 3 else 0.0, unit), sum2(1.0, G_v, 0.0 if r < 3 else 1.0, unit)
        for i in range(3):
            error_map[i, r] = dot(T_inv[0, i], G_w)
            error_map[3 + i, r] = (
                dot(T_inv[1, i], G_w) + T_inv[0, i, 0] * G_v[0] + T_inv[0, i, 1] * G_v[1] + T_inv[0, i, 2] * G_v[2]
            )
