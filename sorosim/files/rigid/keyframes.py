"""Keyframes of MJCF as where a robot starts: coordinates and rates of its joints, by MuJoCo's model."""

from __future__ import annotations

from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.files.rigid.tree import RigidJoint
from sorosim.mechanics.model.pose import Rotation, pose_data

UNSET = ("time", "act", "ctrl", "mpos", "mquat")  # what else a keyframe may say


def starts_of(model: Any, k: int, joints: dict[int, RigidJoint]) -> dict[str, dict[str, Any]]:
    """Where keyframe k puts each joint, by the joint's name: ``value`` and ``rate``, or pose and motion.

    Parameters
    ----------
    model : mujoco.MjModel
    k : int
    joints : dict of int to RigidJoint
        By MuJoCo's number.
    """
    out: dict[str, dict[str, Any]] = {}
    for j, joint in joints.items():
        at, dof = int(model.jnt_qposadr[j]), int(model.jnt_dofadr[j])
        q, qd = np.array(model.key_qpos[k, at:]), np.array(model.key_qvel[k, dof:])
        if joint.kind == "spherical":  # the angular velocity is in the axes of the body
            out[joint.name] = _motion(_pose(np.zeros(3), q[:4]), np.zeros(3), qd[:3])
        elif joint.kind == "free":  # where the body is in the world, its velocity in the world's axes
            g = np.linalg.inv(joint.pose) @ _pose(q[:3], q[3:7])
            out[joint.name] = _motion(g, qd[:3] @ joint.pose[:3, :3], qd[3:6])
        else:
            rate = {"rate": float(qd[0])} if qd[0] else {}
            out[joint.name] = {"value": float(q[0] - model.qpos0[at]), **rate}
    return out


def _motion(g: Array, velocity: Array, angular: Array) -> dict[str, Any]:
    """Pose, and motion in the axes of the fixed frame; the angular velocity is given in the moved one."""
    turning = g[:3, :3] @ angular
    found: dict[str, Any] = pose_data(g) or {"position": [0.0, 0.0, 0.0]}
    found |= {"velocity": velocity.tolist()} if velocity.any() else {}
    return found | ({"angular_velocity": turning.tolist()} if turning.any() else {})


def _pose(position: Array, quaternion: Array) -> Array:
    """Pose (4, 4) of a position and a quaternion (w, x, y, z)."""
    g = np.eye(4)
    g[:3, 3] = position
    g[:3, :3] = Rotation(quaternion=tuple((quaternion / np.linalg.norm(quaternion)).tolist())).R
    return g
