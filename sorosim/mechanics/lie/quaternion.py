"""Unit quaternions [w, x, y, z], as pose sensors give rotations. scipy has their real part last."""

from __future__ import annotations

import numpy as np

from sorosim.base.arrays import Array


def quaternion_of(R: Array) -> Array:
    """Quaternion (4,) of a rotation matrix (3, 3), w >= 0."""
    from scipy.spatial.transform import Rotation

    if not np.isfinite(R).all():
        return np.full(4, np.nan)
    return np.roll(Rotation.from_matrix(R).as_quat(canonical=True), 1)


def rotated(q: Array, w: Array) -> Array:
    """Quaternions (n, 4) turned further by rotation vectors w (n, 3) in the turned axes [rad]."""
    from scipy.spatial.transform import Rotation

    product = Rotation.from_quat(np.roll(q, -1, axis=1)) * Rotation.from_rotvec(w)
    return np.roll(product.as_quat(), 1, axis=1)


def continuous(q: Array) -> Array:
    """The same rotations (n, 4), the sign of each such that it is nearest to the one before; the first has w >= 0."""
    return np.where(q[:1, :1] < 0.0, -1.0, 1.0) * without_flips(q)


def without_flips(q: Array) -> Array:
    """Quaternions (n, ..., 4), real part first or last, such that neighbours never have opposite signs."""
    flips = np.sum(q[1:] * q[:-1], axis=-1) < 0.0
    signs = np.where(np.cumsum(flips, axis=0) % 2, -1.0, 1.0)[..., None]
    return np.concatenate([q[:1], q[1:] * signs])
