"""Poses as files write them: a position, and a rotation in one of four ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.complex_step import is_varying, number_type
from sorosim.errors import ModelError
from sorosim.io.schema_bodies import FrameBlock, RotationBlock
from sorosim.model.joint import unit_vector
from sorosim.problems import shown

Array = NDArray[np.float64]

# entries of a matrix in a file are rounded: this far from a rotation it is taken for its nearest one
MATRIX_TOLERANCE = 1e-3
EXACT = 1e-9  # a matrix that is this near already is taken as it is


def pose_matrix(block: FrameBlock) -> Array:
    """Pose (4, 4) of a block."""
    g = np.eye(4, dtype=number_type())
    g[:3, 3] = block.position
    if block.rotation is not None:
        g[:3, :3] = rotation_matrix(block.rotation)
    return g


def chained(poses: Sequence[Array]) -> Array:
    """Poses (4, 4) one after the other; the identity where there is none."""
    g = poses[0] if poses else np.eye(4)
    for other in poses[1:]:
        g = np.array(g @ other)
        if is_varying():
            continue
        # products of many rotations stay rotations
        U, _, Vt = np.linalg.svd(g[:3, :3])
        g[:3, :3] = U @ Vt
    return g


def rotation_matrix(block: RotationBlock) -> Array:
    """Rotation matrix (3, 3).

    rpy: roll about x, then pitch about y, then yaw about z, all axes of the parent: Rz(yaw) Ry(pitch) Rx(roll), as in
    URDF. quaternion: [w, x, y, z] of any length but zero. matrix: by rows.
    """
    if block.axis is not None and block.angle is not None:
        return _about(np.array(unit_vector("axis", list(block.axis))), block.angle)
    if block.rpy is not None:
        roll, pitch, yaw = (_about(axis, angle) for axis, angle in zip(np.eye(3), block.rpy, strict=True))
        return np.array(yaw @ pitch @ roll)
    if block.quaternion is not None:
        return _of_quaternion(block.quaternion)
    return _nearest_rotation(block.matrix)


def _about(axis: Array, angle: float) -> Array:
    """Rodrigues' formula; the cosine as 1 - 2 sin^2, exact for small angles."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.array(np.eye(3) + np.sin(angle) * K + 2.0 * np.sin(0.5 * angle) ** 2 * K @ K)


def _of_quaternion(quaternion: tuple[float, ...]) -> Array:
    largest = max(abs(entry) for entry in quaternion)
    if largest == 0.0:
        raise ModelError("quaternion", "a quaternion [w, x, y, z] of some length", shown(list(quaternion)))
    scaled = np.array(quaternion) / largest
    w, x, y, z = scaled / np.sqrt(scaled @ scaled)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.array(np.eye(3) + 2.0 * w * K + 2.0 * K @ K)


def _nearest_rotation(rows: Any) -> Array:
    R = np.array(rows, dtype=number_type())
    if R.shape != (3, 3):
        raise ModelError("matrix", "three rows of three numbers", f"{len(R)} rows")
    if not np.abs(R).max() <= 2.0 or np.abs(R @ R.T - np.eye(3)).max() > MATRIX_TOLERANCE:
        raise ModelError("matrix", "a rotation matrix", "rows that are not perpendicular unit vectors")
    if np.linalg.det(R) < 0.0:
        raise ModelError("matrix", "a rotation matrix", "a reflection", "its determinant is -1")
    if np.abs(R @ R.T - np.eye(3)).max() <= EXACT:
        return R
    if is_varying():
        raise ModelError("matrix", "a rotation by axis and angle, rpy or quaternion", "a matrix that is rounded")
    U, _, Vt = np.linalg.svd(R)
    return np.array(U @ Vt)
