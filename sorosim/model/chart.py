"""Exponential coordinates of spherical, planar and free joints: poses, twists, and large rotations.

The joint's pose is exp((P^T q)^) with orthonormal unit twists P (n, 6). Its coordinates are singular where the rotation
is a whole turn, but every rotation has others: a whole turn less about the same axis, the other way round. Changing
between the two beyond half a turn keeps every motion away from the singular points; poses and twists go on as they
were (docs/theory.md, 8).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sorosim.errors import ModelError
from sorosim.lie import exp_se3, log_se3, tangent, tangent_inv
from sorosim.model.compile import Layout

Array = NDArray[np.float64]

# a motion may go so far beyond half a turn before its coordinates are changed: not twice in a row near half a turn
FARTHEST = 1.2 * np.pi
# a pose is one of a joint if what is left beside the joint's motion is not more than this
MATCH = 1e-9


def pose_of(P: Array, q: Array) -> Array:
    """Pose (4, 4) at coordinates q (n,)."""
    found: Array = exp_se3(q @ P)
    return found


def coordinates_of(P: Array, g: Array) -> Array:
    """Coordinates (n,) of a pose, the rotation at most half a turn.

    Raises
    ------
    ModelError
        The joint cannot take this pose.
    """
    twist = log_se3(g)
    q: Array = P @ twist
    if np.abs(q @ P - twist).max() > MATCH * (1.0 + np.abs(twist).max()):
        raise ModelError("pose", "a pose that the joint can take", "one that it cannot")
    return q


def twist_matrix(P: Array, q: Array) -> Array:
    """A (n, n), with which A qd is the twist in the moved frame, along the joint's own directions."""
    found: Array = P @ tangent(-(q @ P)) @ P.T
    return found


def rates_of(P: Array, q: Array, twist: Array) -> Array:
    """Rates (n,) at coordinates q of a twist (6,) in the moved frame, [angular; linear].

    Raises
    ------
    ModelError
        The joint cannot move so.
    """
    along = P @ twist
    if np.abs(along @ P - twist).max() > MATCH * (1.0 + np.abs(twist).max()):
        raise ModelError("rates", "a motion that the joint allows", "one that it does not")
    return np.asarray(np.linalg.solve(twist_matrix(P, q), along))


def angle(P: Array, q: Array) -> float:
    """Angle of the rotation [rad]."""
    return float(np.linalg.norm((q @ P)[:3]))


def unwound(P: Array, q: Array, qd: Array) -> tuple[Array, Array]:
    """Coordinates and rates of the same pose and twist whose angle is at most half a turn."""
    Omega = q @ P
    turns = np.round(np.linalg.norm(Omega[:3]) / (2.0 * np.pi))
    if turns == 0.0:
        return q, qd
    w = Omega[:3] * (1.0 - 2.0 * np.pi * turns / np.linalg.norm(Omega[:3]))
    # the position p = P(w) v stays
    v = tangent_inv(np.concatenate([w, np.zeros(3)]))[:3, :3] @ exp_se3(Omega)[:3, 3]
    q_new: Array = P @ np.concatenate([w, v])
    return q_new, np.asarray(np.linalg.solve(twist_matrix(P, q_new), twist_matrix(P, q) @ qd))


class Charts:
    """The joints of a robot whose coordinates may be changed for others of the same pose.

    Not among them: joints with springs or stops, which tell a turn from none, and those that are driven.

    Parameters
    ----------
    layout : Layout
    driven : (ndof,) bool
    """

    def __init__(self, layout: Layout, driven: NDArray[np.bool_]) -> None:
        self.joints = [
            (slice(link.column, link.column + link.n_joint), link.link.joint.stages[0].columns)
            for link in layout.links.values()
            if not (link.link.joint.is_wound or link.link.joint.stages[0].commutes)
            and not driven[link.column : link.column + link.n_joint].any()
        ]

    def largest_angle(self, q: Array) -> float:
        """Largest rotation [rad]; 0 if there is no such joint."""
        return max((angle(P, q[own]) for own, P in self.joints), default=0.0)

    def changes(self, q: Array) -> list[tuple[slice, NDArray[np.int64]]]:
        """Where coordinates (n, ndof) at times one after the other change to those of the same pose a turn away.

        Returns
        -------
        list of (coordinates of a joint, rows)
            Joints whose coordinates change, and the rows at which there are new ones.
        """
        found = []
        for own, P in self.joints:
            w = (q[:, own] @ P)[:, :3]
            before, after = w[:-1], w[1:]
            size = np.maximum(np.linalg.norm(after, axis=1, keepdims=True), 1e-300)
            away = after * (1.0 - 2.0 * np.pi / size)
            # without a change the vector itself is nearer to the one before
            nearer = np.linalg.norm(away - before, axis=1) < np.linalg.norm(after - before, axis=1)
            if rows := (np.flatnonzero(nearer) + 1).tolist():
                found.append((own, np.array(rows, dtype=np.int64)))
        return found

    def unwound(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Coordinates and rates (ndof,) of the same poses and twists with rotations of at most half a turn."""
        q, qd = q.copy(), qd.copy()
        for own, P in self.joints:
            q[own], qd[own] = unwound(P, q[own], qd[own])
        return q, qd
