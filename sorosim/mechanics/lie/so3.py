"""Rotations: skew matrices, the functions C_k, exponential and logarithm of SO(3).

Nothing here uses `@` or a library call on small matrices: plain components compile to straight code.
"""

from __future__ import annotations

import math

import numpy as np

from sorosim.base.compiled import kernel, kernel_in_place
from sorosim.mechanics.lie.analytic import arctan2

# 1/k!, and the terms 1/(8 + 2j)!, 1/(9 + 2j)! of the series of C_8 and C_9 by powers of -s
_INVERSE_FACTORIAL = tuple(1.0 / math.factorial(k) for k in range(8))
_SERIES_8 = tuple((-1.0) ** j / math.factorial(8 + 2 * j) for j in range(12))
_SERIES_9 = tuple((-1.0) ** j / math.factorial(9 + 2 * j) for j in range(12))
# s = theta^2 where the errors of series and downward recursion, growing with s, meet those of the upward one
_SERIES_UP_TO = 16.0
# |u| below which atan2(|u|, q0) / |u| is replaced by its series; |u| may underflow there
_SMALL_SINE = 1e-6


@kernel
def skew(w):
    """Matrix w^ of the cross product, w^ x = w x x.

    w : (3,). Returns (3, 3).
    """
    W = np.zeros((3, 3), dtype=w.dtype)
    W[0, 1], W[0, 2] = -w[2], w[1]
    W[1, 0], W[1, 2] = w[2], -w[0]
    W[2, 0], W[2, 1] = -w[1], w[0]
    return W


@kernel
def vex(W):
    """Axial vector of a matrix, the inverse of `skew`; a symmetric part of W has no effect.

    W : (3, 3), or a larger matrix, of which the leading 3x3 block is read. Returns (3,).
    """
    w = np.empty(3)
    w[0] = 0.5 * (W[2, 1] - W[1, 2])
    w[1] = 0.5 * (W[0, 2] - W[2, 0])
    w[2] = 0.5 * (W[1, 0] - W[0, 1])
    return w


@kernel_in_place
def coefficients(s, C):
    """Fill C with C_k(s) = sum_j (-s)^j / (k + 2j)!, k = 0..9: cos, sin/theta, (1 - cos)/theta^2, ...

    s : |w|^2 = theta^2 >= 0 [rad^2]; C : (10,), filled. Their derivatives are linear in them:
    dC_k/ds = (k C_{k+2} - C_{k+1}) / 2. Errors stay below 3e-15 of C_k(0), below 1e-15 up to theta = pi; there is no
    seam near 0. Source: docs/theory.md, A.
    """
    if s.real <= _SERIES_UP_TO:
        # even and odd powers apart: four short chains instead of two long ones
        x = s * s
        even_8, odd_8 = _SERIES_8[10], _SERIES_8[11]
        even_9, odd_9 = _SERIES_9[10], _SERIES_9[11]
        for j in range(8, -1, -2):
            even_8, odd_8 = _SERIES_8[j] + x * even_8, _SERIES_8[j + 1] + x * odd_8
            even_9, odd_9 = _SERIES_9[j] + x * even_9, _SERIES_9[j + 1] + x * odd_9
        C[8], C[9] = even_8 + s * odd_8, even_9 + s * odd_9
        for k in range(7, -1, -1):
            C[k] = _INVERSE_FACTORIAL[k] - s * C[k + 2]
    else:
        theta = np.sqrt(s)
        C[0], C[1] = np.cos(theta), np.sin(theta) / theta
        for k in range(8):
            C[k + 2] = (_INVERSE_FACTORIAL[k] - C[k]) / s


@kernel_in_place
def rotation_into(w, C, R):
    """R (3, 3) = 1 + C_1 w^ + C_2 w^w^, C (10,) from `coefficients(|w|^2, C)`."""
    x, y, z, c1, c2 = w[0], w[1], w[2], C[1], C[2]
    xy, xz, yz = c2 * x * y, c2 * x * z, c2 * y * z
    R[0, 0], R[0, 1], R[0, 2] = 1.0 - c2 * (y * y + z * z), xy - c1 * z, xz + c1 * y
    R[1, 0], R[1, 1], R[1, 2] = xy + c1 * z, 1.0 - c2 * (x * x + z * z), yz - c1 * x
    R[2, 0], R[2, 1], R[2, 2] = xz - c1 * y, yz + c1 * x, 1.0 - c2 * (x * x + y * y)


@kernel
def exp_so3(w):
    """Rotation by |w| about w, R = 1 + C_1 w^ + C_2 w^w^.

    w : (3,) rotation vector [rad]. Returns R : (3, 3), from rotated to fixed coordinates. Source: docs/theory.md, A.
    """
    C, R = np.empty(10), np.empty((3, 3))
    coefficients(w[0] * w[0] + w[1] * w[1] + w[2] * w[2], C)
    rotation_into(w, C, R)
    return R


@kernel_in_place
def log_so3_into(R, w):
    """Rotation vector w (3,) of a rotation R (3, 3), without allocation; see `log_so3`."""
    # quaternion, four times its largest entry squared taken first: no division by a small number
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    most = max(R[0, 0].real, R[1, 1].real, R[2, 2].real)
    if trace.real >= most:
        q0, u0, u1, u2 = 1.0 + trace, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    elif R[0, 0].real == most:
        q0, u0 = R[2, 1] - R[1, 2], 1.0 + R[0, 0] - R[1, 1] - R[2, 2]
        u1, u2 = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]
    elif R[1, 1].real == most:
        q0, u1 = R[0, 2] - R[2, 0], 1.0 + R[1, 1] - R[0, 0] - R[2, 2]
        u0, u2 = R[0, 1] + R[1, 0], R[1, 2] + R[2, 1]
    else:
        q0, u2 = R[1, 0] - R[0, 1], 1.0 + R[2, 2] - R[0, 0] - R[1, 1]
        u0, u1 = R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    norm = np.sqrt(q0 * q0 + u0 * u0 + u1 * u1 + u2 * u2)
    if q0.real < 0.0:
        norm = -norm
    q0, u0, u1, u2 = q0 / norm, u0 / norm, u1 / norm, u2 / norm

    square = u0 * u0 + u1 * u1 + u2 * u2
    sine = np.sqrt(square)
    small = sine.real < _SMALL_SINE
    scale = 2.0 / q0 * (1.0 - square / (3.0 * q0 * q0)) if small else 2.0 * arctan2(sine, q0) / sine
    w[0], w[1], w[2] = scale * u0, scale * u1, scale * u2


@kernel
def log_so3(R):
    """Rotation vector of a rotation, |w| <= pi, accurate up to pi; at exactly pi the sign of w is free.

    R : (3, 3) rotation, or a larger matrix, of which the leading 3x3 block is read. Returns w : (3,) [rad].
    Source: docs/theory.md, A.
    """
    w = np.empty(3)
    log_so3_into(R, w)
    return w
