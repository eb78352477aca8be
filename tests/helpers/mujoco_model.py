"""What MuJoCo makes of an MJCF file, in the coordinates of the robot that sorosim makes of it.

MuJoCo moves ball joints by the angular velocity in the moved frame, free joints by that and by the velocity of the
origin in the axes of the world. With v = A qd the twists in the moved frame (`joint_jets`) and tau = A^T f.
"""

from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from helpers.pinocchio_model import directions_of, joint_jets, joint_pose
from sorosim.mechanics.robot import Robot

Array = NDArray[np.float64]
SINGLE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)


class MujocoRobot:
    """A model of MuJoCo without constraints: limits, friction, contacts and equalities are not looked at.

    Parameters
    ----------
    robot : Robot
        Of the same file; only names, kinds and numbers of its coordinates are used.
    path : Path
    """

    def __init__(self, robot: Robot, path: Path) -> None:
        self.model = mujoco.MjModel.from_xml_path(str(path))
        self.data = mujoco.MjData(self.model)
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        self.ndof = robot.ndof
        assert self.model.nv == self.ndof
        # joints in the order of links: by name, in a body with one joint by that of the body
        ends = np.cumsum([link.joint.n for link in robot.links])
        self.own = {}
        for link, end in zip(robot.links, ends, strict=True):
            if link.joint.n:
                self.own[self.joint_of(link.name)] = slice(end - link.joint.n, end), link.joint
        assert len(self.own) == self.model.njnt

    def joint_of(self, link: str) -> int:
        """Index of the joint above a link, whose name is that of the body and, where that has several, of the joint."""
        for body in range(1, self.model.nbody):
            name, first, n = (
                self.model.body(body).name or f"body_{body}",
                self.model.body_jntadr[body],
                self.model.body_jntnum[body],
            )
            for k in range(n):
                own = name if k == n - 1 else f"{name}_{self.model.joint(first + k).name}"
                if link in (own, f"{own}_spherical"):
                    return int(first + k)
        raise AssertionError(link)

    def set(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Set a state of ours; A (ndof, ndof) with v = A qd, rows in MuJoCo's order."""
        m, d, A = self.model, self.data, np.zeros((self.ndof, self.ndof))
        for j, (own, joint) in self.own.items():
            at, dof = m.jnt_qposadr[j], m.jnt_dofadr[j]
            if m.jnt_type[j] in SINGLE:
                d.qpos[at], d.qvel[dof], d.qacc[dof] = q[own][0] + m.qpos0[at], qd[own][0], qdd[own][0]
                A[dof, own] = 1.0
                continue
            P, n, g = directions_of(joint), joint.n, joint_pose(joint, q[own])
            T, Td, _ = joint_jets(joint, q[own], qd[own], qdd[own])
            v, vdot = (T @ qd[own]) @ P, (T @ qdd[own] + Td @ qd[own]) @ P  # [angular; linear]
            quaternion, start = np.zeros(4), slice(at + 3, at + 7) if n == 6 else slice(at, at + 4)
            mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(g[:3, :3]).ravel())
            mujoco.mju_mulQuat(d.qpos[start], m.qpos0[start].copy(), quaternion)
            if n == 3:
                d.qvel[dof : dof + 3], d.qacc[dof : dof + 3], A[dof : dof + 3, own] = v[:3], vdot[:3], T
                continue
            R0, R = np.zeros(9), np.zeros(9)
            mujoco.mju_quat2Mat(R0, m.qpos0[start])
            mujoco.mju_quat2Mat(R, d.qpos[start])
            R = R.reshape(3, 3)
            d.qpos[at : at + 3] = m.qpos0[at : at + 3] + R0.reshape(3, 3) @ g[:3, 3]
            d.qvel[dof : dof + 6] = [*(R @ v[3:]), *v[:3]]
            d.qacc[dof : dof + 6] = [*(R @ (vdot[3:] + np.cross(v[:3], v[3:]))), *vdot[:3]]
            A[dof : dof + 6, own] = block_diag(R, np.eye(3)) @ T
        return A

    def mass_matrix(self, q: Array) -> Array:
        A, M = self.set(q, 0.0 * q, 0.0 * q), np.zeros((self.ndof, self.ndof))
        mujoco.mj_forward(self.model, self.data)
        for i, e in enumerate(np.eye(self.ndof)):  # mj_fullM takes other arguments from version to version
            mujoco.mj_mulM(self.model, self.data, M[i], e)
        return A.T @ M @ A

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Forces that the motion needs, those of springs and dampers included."""
        A = self.set(q, qd, qdd)
        mujoco.mj_inverse(self.model, self.data)
        return A.T @ self.data.qfrc_inverse

    def passive(self, q: Array, qd: Array) -> Array:
        """Forces of springs and dampers."""
        A = self.set(q, qd, 0.0 * q)
        mujoco.mj_fwdPosition(self.model, self.data)
        mujoco.mj_fwdVelocity(self.model, self.data)
        return A.T @ self.data.qfrc_passive

    def kind_of(self, name: str) -> str:
        """Whether a body or a site has a name; "" for neither."""
        kinds = {"body": mujoco.mjtObj.mjOBJ_BODY, "site": mujoco.mjtObj.mjOBJ_SITE}
        return next((kind for kind, of in kinds.items() if mujoco.mj_name2id(self.model, of, name) >= 0), "")

    def pose(self, q: Array, kind: str, name: str) -> Array:
        """Pose (4, 4) of a body or a site."""
        self.set(q, 0.0 * q, 0.0 * q)
        mujoco.mj_kinematics(self.model, self.data)
        found, g = getattr(self.data, kind)(name), np.eye(4)
        g[:3, :3] = (found.xmat).reshape(3, 3)
        g[:3, 3] = found.xpos
        return g
