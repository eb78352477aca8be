"""Which wrenches act on a robot at one moment, and where: loads, its weight, loops, joints, contacts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sorosim.base.arrays import Array
from sorosim.mechanics.actuation.joint_force import JointForce
from sorosim.mechanics.actuation.servo import JointServo
from sorosim.mechanics.engine.loading import Loading
from sorosim.mechanics.engine.records import ContactHistory, Contacts
from sorosim.mechanics.kernels.kinematics import POSES
from sorosim.mechanics.kernels.loop_joint import FRAME_B
from sorosim.mechanics.kernels.tree import LENGTH_RATIO
from sorosim.mechanics.loads.contact import Contact
from sorosim.mechanics.robot import Robot
from sorosim.view.viz.motion import Motion, MotionState, state_at
from sorosim.view.viz.options import CONTACTS, GRAVITY, JOINTS, LOADS


class Wrench(NamedTuple):
    """A force and a moment about the point at which it acts, world frame."""

    kind: str  # LOADS, GRAVITY, JOINTS or CONTACTS
    name: str  # of the load, loop, joint or contact
    position: Array  # (3,) [m]
    force: Array  # (3,) [N]
    moment: Array  # (3,) [N m]
    point: int = 0  # which one of those with this name


class Wrenches(NamedTuple):
    """Wrenches that act at one moment, n of them."""

    kind: tuple[str, ...]
    name: tuple[str, ...]
    position: Array  # (n, 3) [m], world frame
    force: Array  # (n, 3) [N]
    moment: Array  # (n, 3) [N m], about the position
    point: tuple[int, ...]  # one number is one point at all times, but of contacts, which come and go

    @classmethod
    def of(cls, rows: Sequence[Wrench]) -> Wrenches:
        """From single ones."""
        columns: Any = zip(*rows, strict=True) if rows else ((),) * len(cls._fields)
        kind, name, *vectors, point = columns
        position, force, moment = (np.array(values).reshape(-1, 3) for values in vectors)
        return cls(kind, name, position, force, moment, point)

    def only(self, kinds: Collection[str]) -> Wrenches:
        """Those of some kinds."""
        rows = [k for k, kind in enumerate(self.kind) if kind in kinds]
        if len(rows) == len(self.kind):
            return self
        kind, name = (tuple(column[k] for k in rows) for column in (self.kind, self.name))
        point = tuple(self.point[k] for k in rows)
        return Wrenches(kind, name, self.position[rows], self.force[rows], self.moment[rows], point)


def wrenches_at(
    robot: Robot, motion: Motion | None, q: Array, u: Array | None, t: float | None, kinds: Collection[str]
) -> Wrenches:
    """The wrenches of some kinds on a robot at coordinates q under inputs u.

    Rates, multipliers and driven forces are those of the motion at time t, contacts those of its nearest stored row;
    without a motion the robot rests. Forces of joints act on the link, those of a loop on its frame `a`.
    """
    now, rows = state_at(robot, motion, q, u, t), list[Wrench]()
    if LOADS in kinds:
        rows += _loads(robot, now)
    if GRAVITY in kinds and np.any(robot.engine.gravity):
        centre, mass = centre_of_mass(robot, now.q)
        rows.append(Wrench(GRAVITY, "gravity", centre, mass * robot.engine.gravity, np.zeros(3)))
    if JOINTS in kinds:
        rows += [*_loops(robot, now), *_joints(robot, now)]
    if CONTACTS in kinds and robot.engine.loading.touches:
        touching = contacts_at(robot, motion, now)
        contacts = zip(touching.load, touching.position, touching.force, strict=True)
        rows += [Wrench(CONTACTS, *contact, np.zeros(3), k) for k, contact in enumerate(contacts)]
    return Wrenches.of(rows)


def centre_of_mass(robot: Robot, q: Array) -> tuple[Array, float]:
    """Centre of mass (3,) in the world [m], and the mass [kg]; fluid that moves with the robot does not count."""
    engine = robot.engine
    engine.sweep(q, engine.zero_rates, POSES)
    inertia, pose = engine.gravitational_inertia, engine.workspace.pose[: len(engine.gravitational_inertia)]
    if flowing := list(engine.layout.material_rows):  # of what is fed or inserted there is more or less
        inertia = inertia.copy()
        inertia[flowing] *= engine.workspace.twist[flowing, LENGTH_RATIO, :1, None]
    mass, skew = inertia[:, 3, 3], inertia[:, :3, 3:]  # m, and m times the cross product with the centre
    arm = np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=1)
    total = float(mass.sum())
    moments = np.einsum("nij,nj->ni", pose[:, :3], arm) + mass[:, None] * pose[:, 3]
    return moments.sum(axis=0) / (total or 1.0), total


def contacts_at(robot: Robot, motion: Motion | None, now: MotionState) -> Contacts:
    """Contacts to draw: of an equilibrium, of the nearest stored row of a run; without either those at rest."""
    if motion is None or not hasattr(motion.source, "contacts"):
        return robot.contacts(now.q, now.qd)
    contacts = motion.source.contacts
    if isinstance(contacts, ContactHistory):
        contacts = contacts.at(int(np.argmin(np.abs(motion.t - now.t))))
    return contacts  # type: ignore[no-any-return]


def _loads(robot: Robot, now: MotionState) -> Iterator[Wrench]:
    engine = robot.engine
    for name, load in robot.description.loads.items():
        if isinstance(load, Contact):
            continue
        wrenches = engine.load_wrenches(name, now.t, now.q, now.qd, now.u)
        nodes, points = engine.loading.nodes_of(name), _points(engine.loading, name)
        poses, _ = engine.poses(nodes, now.q, now.qd)
        for node, g, w in zip(nodes, poses, wrenches, strict=True):
            if np.any(w):
                arm = points.get(int(node), np.zeros(3))
                moment = w[:3] - np.cross(arm, w[3:])
                place = g[:3, :3] @ arm + g[:3, 3]
                yield Wrench(LOADS, name, place, g[:3, :3] @ w[3:], g[:3, :3] @ moment, int(node))


def _points(loading: Loading, name: str) -> dict[int, Array]:
    """Where on its nodes a load acts (3,); nodes on which it acts at several places are left out."""
    if name in loading.compiled:
        rows = loading.compiled[name].rows
        pairs = [(row.node, row.frame) for row in rows]
        pairs += [(row.other, row.other_frame) for row in rows if row.other is not None]
    else:
        bound, none = loading.others[name], [None] * len(loading.others[name].nodes)
        pairs = list(zip(bound.nodes, _field(bound, "frames", none), strict=True))
        pairs += zip(_field(bound, "others", none), _field(bound, "other_frames", none), strict=True)
    origins: dict[int, list[Array]] = {}
    for node, frame in pairs:
        if node is not None:
            origins.setdefault(int(node), []).append(np.zeros(3) if frame is None else np.asarray(frame)[:3, 3])
    return {node: points[0] for node, points in origins.items() if all(np.array_equal(points[0], p) for p in points)}


def _field(bound: Any, name: str, default: list[Any]) -> Any:
    values = getattr(bound, name, None)
    return default if values is None else values


def _loops(robot: Robot, now: MotionState) -> Iterator[Wrench]:
    if now.lam is None:
        return
    loops = robot.engine.loops
    for k, name in enumerate(robot.loop_names):
        w = robot.engine.loop_wrench(k, now.q, now.qd, now.u, now.lam)
        # frame b stands on a node, or in the world
        node, frame = int(loops.row["node_b"][k]), loops.value[k, FRAME_B : FRAME_B + 12].reshape(4, 3)
        g = np.eye(4) if node < 0 else robot.engine.poses(np.array([node]), now.q, now.qd)[0][0]
        R, p = g[:3, :3] @ frame[:3], g[:3, :3] @ frame[3] + g[:3, 3]
        yield Wrench(JOINTS, name, p, R @ w[3:], R @ w[:3])


def _joints(robot: Robot, now: MotionState) -> Iterator[Wrench]:
    """What motors and driven coordinates do to their links."""
    layout = robot.engine.layout
    motors, driven = np.zeros((2, robot.ndof))  # along the moved frame's axes; generalised
    about_axes = {
        k: moment
        for servos in robot.engine.rotation_servos
        for k, moment in zip(servos.actuators, servos.efforts(now.q, now.qd, now.u), strict=True)
    }
    for k, actuator in enumerate(robot.description.actuators.values()):
        if isinstance(actuator, JointForce):
            at = layout.links[actuator.link].column + actuator.index(layout)
            effort = about_axes.get(k, now.u[k])
            if isinstance(actuator, JointServo) and k not in about_axes:
                driven[at] += actuator.effort(layout, now.u[k], now.q[at], now.qd[at])
            else:
                motors[at] += effort
    for name, force in now.driven.items():
        driven[layout.coordinate(name, "driven")] += force
    for name, link in layout.links.items():
        own = slice(link.column, link.column + link.n_joint)
        if not (np.any(motors[own]) or np.any(driven[own])):
            continue
        y = motors[own]
        if np.any(driven[own]):
            y = y + robot.joint_wrench(now.q, name, tau=driven[own])
        g, stages = robot.pose(now.q, name, s=0.0), link.link.joint.stages
        if len(stages) == 1 or link.link.joint.takes_pose:
            twists = np.vstack([stage.columns for stage in stages])
        else:  # the first axis of a universal joint is fixed in its cross, not in the link
            twists = robot.jacobian(now.q, name, s=0.0)[:, link.column : link.column + link.n_joint].T
        turns = np.any(twists[:, :3], axis=1)
        moment, force = y[turns] @ twists[turns, :3], y[~turns] @ twists[~turns, 3:]
        # its own point, for a loop may have the name of a link
        yield Wrench(JOINTS, name, g[:3, 3], g[:3, :3] @ force, g[:3, :3] @ moment, 1)
