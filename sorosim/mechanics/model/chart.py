"""Poses and twists of joints by their coordinates, and exponential coordinates of large rotations.

The motion of a stage of a joint is exp((P^T q)^) with orthonormal unit twists P (n, 6). Where these do not commute, as
of a spherical joint, its coordinates are singular where the rotation is a whole turn, but every rotation has others: a
whole turn less about the same axis, the other way round. Changing between the two beyond half a turn keeps every motion
away from the singular points; poses and twists go on as they were (docs/theory.md, 8).
"""

from __future__ import annotations

import numpy as np

from sorosim.base.arrays import Array, IntArray, Mask
from sorosim.base.errors import ModelError
from sorosim.mechanics.lie import Ad, exp_se3, inverse, log_se3, tangent, tangent_inv
from sorosim.mechanics.model.joints import Joint, Stage
from sorosim.mechanics.model.layout import Layout, LinkLayout

# a motion may go so far beyond half a turn before its coordinates are changed: not twice in a row near half a turn
FARTHEST = 1.2 * np.pi
# a pose is one of a joint if what is left beside the joint's motion is not more than this
MATCH = 1e-9
# TURN: a motion stops at this distance from 2 pi k [rad], where the chart is singular and cannot be switched. REGULAR:
# least singular value that counts as regular. SLACK: hysteresis between ranges [rad]
TURN, REGULAR, SLACK = 0.1 * np.pi, 0.1, 0.02 * np.pi
# integrators find the end of a range to this [rad]
AT_END = 1e-6


def coordinates_of(joint: Joint, g: Array) -> Array:
    """Coordinates (n,) of a pose (4, 4) of the moved frame in the fixed one, the rotation at most half a turn.

    All stages of the joint but the last one are translations: spherical, planar and free joints are such.

    Raises
    ------
    ModelError
        The joint cannot take this pose.
    """
    q, left = np.zeros(joint.n), g
    *before, last = joint.stages
    for stage in before:
        q[stage.own] = stage.columns[:, 3:] @ left[:3, 3]
        left = exp_se3(-(q[stage.own] @ stage.columns)) @ left
    twist = log_se3(left)
    q[last.own] = last.columns @ twist
    if np.abs(q[last.own] @ last.columns - twist).max() > MATCH * (1.0 + np.abs(log_se3(g)).max()):
        raise ModelError("pose", "a pose that the joint can take", "one that it cannot")
    return q


def pose_of(joint: Joint, q: Array) -> Array:
    """Pose (4, 4) of the moved frame in the fixed one at coordinates (n,)."""
    g = np.eye(4)
    for stage in joint.stages:
        g = g @ exp_se3(q[stage.own] @ stage.columns)
    return g


def twist_matrix(P: Array, q: Array) -> Array:
    """A (n, n) of a stage, with which A qd is its twist in the frame that it moves, along its own directions."""
    found: Array = P @ tangent(-(q @ P)) @ P.T
    return found


def joint_jacobian(joint: Joint, q: Array) -> Array:
    """J (6, n), with which J qd is the twist of the moved frame against the fixed one, in the axes of the moved one."""
    J, behind = np.zeros((6, joint.n)), np.eye(4)
    for stage in reversed(joint.stages):
        own = q[stage.own]
        J[:, stage.own] = Ad(inverse(behind)) @ tangent(-(own @ stage.columns)) @ stage.columns.T
        behind = exp_se3(own @ stage.columns) @ behind
    return J


def rates_of(joint: Joint, q: Array, twist: Array) -> Array:
    """Rates (n,) at coordinates q of a twist (6,) in the moved frame, [angular; linear].

    Raises
    ------
    ModelError
        The joint cannot move so.
    """
    J = joint_jacobian(joint, q)
    qd: Array = np.asarray(np.linalg.lstsq(J, twist, rcond=None)[0], dtype=np.float64)
    if np.abs(J @ qd - twist).max() > MATCH * (1.0 + np.abs(twist).max()):
        raise ModelError("rates", "a motion that the joint allows", "one that it does not")
    return qd


def angle(P: Array, q: Array) -> float:
    """Angle of the rotation [rad]."""
    return float(np.linalg.norm((q @ P)[:3]))


def recharted(P: Array, q: Array, qd: Array) -> tuple[Array, Array]:
    """Coordinates and rates of the same pose and twist whose angle is at most half a turn."""
    turns = np.round(np.linalg.norm((q @ P)[:3]) / (2.0 * np.pi))
    return (q, qd) if turns == 0.0 else turned_back(P, q, qd, turns)


def turned_back(P: Array, q: Array, qd: Array, turns: float) -> tuple[Array, Array]:
    """Coordinates and rates of the same pose and twist whose rotation is by so many whole turns less."""
    Omega = q @ P
    w = Omega[:3] * (1.0 - 2.0 * np.pi * turns / np.linalg.norm(Omega[:3]))
    # the position p = P(w) v stays
    v = tangent_inv(np.concatenate([w, np.zeros(3)]))[:3, :3] @ exp_se3(Omega)[:3, 3]
    q_new: Array = P @ np.concatenate([w, v])
    return q_new, np.asarray(np.linalg.solve(twist_matrix(P, q_new), twist_matrix(P, q) @ qd))


def exponential_stages(link: LinkLayout) -> list[tuple[slice, Stage]]:
    """Stages of the joint of a link whose motions do not commute, and their coordinates in the robot."""
    stages = (stage for stage in link.link.joint.stages if not stage.commutes)
    return [(slice(link.column + stage.own.start, link.column + stage.own.stop), stage) for stage in stages]


class Charts:
    """The stages of joints of a robot whose coordinates may be changed for others of the same pose.

    Not among them: those with springs or stops, whose force depends on the number of whole turns, and driven ones.

    Parameters
    ----------
    layout : Layout
    driven : (ndof,) bool
    """

    def __init__(self, layout: Layout, driven: Mask) -> None:
        self.joints = [
            (own, stage.columns)
            for link in layout.links.values()
            for own, stage in exponential_stages(link)
            if not (link.link.joint.has_springs(stage.own) or driven[own].any())
        ]

    def largest_angle(self, q: Array) -> float:
        """Largest rotation [rad]; 0 if there is no such joint."""
        return max((angle(P, q[own]) for own, P in self.joints), default=0.0)

    def largest_angles(self, q: Array) -> Array:
        """Largest rotations (...,) of coordinates (..., ndof) [rad]."""
        out = np.zeros(q.shape[:-1])
        for own, P in self.joints:
            out = np.maximum(out, np.linalg.norm((q[..., own] @ P)[..., :3], axis=-1))
        return out

    def changes(self, q: Array) -> list[tuple[slice, IntArray]]:
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

    def recharted(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Coordinates and rates (ndof,) of the same poses and twists with rotations of at most half a turn."""
        q, qd = q.copy(), qd.copy()
        for own, P in self.joints:
            q[own], qd[own] = recharted(P, q[own], qd[own])
        return q, qd

    def nearest(self, q: Array, qd: Array, other: Array) -> tuple[Array, Array]:
        """Coordinates and rates (ndof,) of the same poses and twists whose rotations are next to those of `other`."""
        q, qd = q.copy(), qd.copy()
        for own, P in self.joints:
            w, near = (q[own] @ P)[:3], (other[own] @ P)[:3]
            size = np.linalg.norm(w)
            if size > 0.0 and np.linalg.norm(w * (1.0 - 2.0 * np.pi / size) - near) < np.linalg.norm(w - near):
                q[own], qd[own] = turned_back(P, q[own], qd[own], 1.0)
        return q, qd


class ChartLimit:
    """The joints whose coordinates cannot be changed, and how far they may turn.

    The force of springs and stops depends on the number of whole turns, and a driven coordinate is prescribed. A whole
    turn is singular, unless so many coordinates are driven that the others move the joint there too: that about one
    given axis, say. A motion is in one range of angles at a time: between two whole turns, or about one that is not
    singular.

    Parameters
    ----------
    layout : Layout
    driven : (ndof,) bool
    changeable : bool
        Whether those that `Charts` changes are among them.
    """

    def __init__(self, layout: Layout, driven: Mask, *, changeable: bool = False) -> None:
        self.joints: list[tuple[str, slice, Array, Mask]] = []
        for name, link in layout.links.items():
            for own, stage in exponential_stages(link):
                free = ~driven[own]
                kept = changeable or link.link.joint.has_springs(stage.own) or not free.all()
                if free.any() and kept:
                    self.joints.append((name, own, stage.columns, free))
        self.ranges: list[tuple[float, float]] = [(-np.inf, np.inf)] * len(self.joints)

    def singular(self, q: Array, near: float = TURN) -> str:
        """The name of a link whose joint is near a whole turn and singular there; empty: none is."""
        for name, own, P, free in self.joints:
            size = angle(P, q[own])
            if abs(size - 2.0 * np.pi * _turns(size)) <= near and _is_singular(P, free, q[own], _turns(size)):
                return name
        return ""

    def first_met(self, q: Array) -> tuple[int, str] | None:
        """The first of rows (n, ndof) near a singular whole turn, or beyond one since the row before; and the link."""
        found = []
        for name, own, P, free in self.joints:
            met, sizes = _met(P, q[:, own])
            rows = np.flatnonzero(met).tolist()
            found += [(k, name) for k in rows if _is_singular(P, free, q[k, own], _turns(float(sizes[k])))][:1]
        return min(found, default=None)

    def may_meet(self, q: Array) -> Mask:
        """Which of motions (k, n, ndof) come near a whole turn, or beyond one; `first_met` says whether it counts."""
        found = np.zeros(len(q), dtype=bool)
        for _, own, P, _ in self.joints:
            found |= _met(P, q[..., own], SLACK)[0].any(axis=-1)
        return found

    def begin(self, q: Array) -> None:
        """Find the range that each joint is in; none is near a singular whole turn."""
        for i, (_, own, P, _) in enumerate(self.joints):
            size = angle(P, q[own])
            near = abs(size - 2.0 * np.pi * _turns(size)) < TURN
            self.ranges[i] = _about(_turns(size)) if near else _between(int(size / (2.0 * np.pi)))

    def beyond(self, q: Array) -> float:
        """How far the joint that is farthest is out of its range, negative inside [rad]."""
        sizes = (angle(P, q[own]) for _, own, P, _ in self.joints)
        return max((max(low - a, a - high) for a, (low, high) in zip(sizes, self.ranges, strict=True)), default=-TURN)

    def leave(self, q: Array) -> str:
        """Let the joints that come to the end of their range into the next one; the name of one that may not."""
        for i, (name, own, P, free) in enumerate(self.joints):
            (low, high), size = self.ranges[i], angle(P, q[own])
            if max(low - size, size - high) < -AT_END:
                continue
            up, turn = size - low > high - size, _turns(size)
            if self.ranges[i] == _about(turn):
                self.ranges[i] = _between(turn if up else turn - 1)
            elif _is_singular(P, free, q[own], turn):
                return name
            else:
                self.ranges[i] = _about(turn)
        return ""


def _turns(size: float) -> int:
    """The nearest number of whole turns, but none."""
    return max(round(size / (2.0 * np.pi)), 1)


def _between(turns: int) -> tuple[float, float]:
    """Angles from a number of turns to the next."""
    low = 2.0 * np.pi * turns + TURN if turns else -np.inf
    return low, 2.0 * np.pi * (turns + 1) - TURN


def _about(turns: int) -> tuple[float, float]:
    """Angles about a number of turns."""
    return 2.0 * np.pi * turns - TURN - SLACK, 2.0 * np.pi * turns + TURN + SLACK


def _is_singular(P: Array, free: Mask, q: Array, turns: int) -> bool:
    """Whether free coordinates hardly move the joint after whole turns about the axis that it is turned about."""
    Omega = q @ P
    Omega[:3] *= 2.0 * np.pi * turns / np.linalg.norm(Omega[:3])
    moved = P @ tangent(-Omega) @ P[free].T
    return bool(np.linalg.svd(moved, compute_uv=False)[-1] < REGULAR)


def _met(P: Array, q: Array, slack: float = 0.0) -> tuple[Mask, Array]:
    """Rows (..., n, own) of a stage that are near a whole turn, or beyond one since the row before, and angles."""
    sizes = np.linalg.norm((q @ P)[..., :3], axis=-1)
    turns = sizes / (2.0 * np.pi)
    met = np.abs(turns - np.maximum(np.round(turns), 1.0)) <= (TURN + slack) / (2.0 * np.pi)
    met[..., 1:] |= np.floor(turns[..., 1:]) != np.floor(turns[..., :-1])
    return met & (sizes > 0.0), sizes
