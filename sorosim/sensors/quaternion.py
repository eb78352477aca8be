"""Unit quaternions [w, x, y, z], as pose sensors give rotations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def quaternion_of(R: Array) -> Array:
    """Quaternion (4,) of a rotation matrix (3, 3), w >= 0."""
    if not np.isfinite(R).all():
        return np.full(4, np.nan)
    # 4 q q^T; its largest column has no cancellation
    trace = float(np.trace(R))
    w, (x, y, z) = 1.0 + trace, 1.0 - trace + 2.0 * np.diag(R)
    a, b, c = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    d, e, f = R[1, 0] + R[0, 1], R[0, 2] + R[2, 0], R[2, 1] + R[1, 2]
    columns = np.array([[w, a, b, c], [a, x, d, e], [b, d, y, f], [c, e, f, z]])
    q = columns[np.argmax(np.diag(columns))]
    return np.asarray(q / np.linalg.norm(q) * (-1.0 if q[0] < 0.0 else 1.0))


def rotated(q: Array, w: Array) -> Array:
    """Quaternions (n, 4) turned further by rotation vectors w (n, 3) in the turned axes [rad]."""
    half = 0.5 * np.linalg.norm(w, axis=1, keepdims=True)
    c, v = np.cos(half), 0.5 * np.sinc(half / np.pi) * w
    q0, qv = q[:, :1], q[:, 1:]
    scalar = q0 * c - np.sum(qv * v, axis=1, keepdims=True)
    return np.hstack([scalar, q0 * v + c * qv + np.cross(qv, v)])


def continuous(q: Array) -> Array:
    """The same rotations (n, 4), the sign of each such that it is nearest to the one before; the first has w >= 0."""
    if not len(q):
        return q
    flips = np.sign(np.sum(q[1:] * q[:-1], axis=1))
    first = -1.0 if q[0, 0] < 0.0 else 1.0
    signs = np.concatenate([[first], first * np.cumprod(np.where(flips < 0.0, -1.0, 1.0))])
    return np.asarray(signs[:, None] * q)
