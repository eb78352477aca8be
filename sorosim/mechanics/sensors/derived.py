"""Quantities that are computed of a state, as sensors: what reads sensors reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.declare import At, Fraction, Key, Reference, key
from sorosim.base.errors import ModelError, nearest
from sorosim.mechanics.actuation.joint_force import Coordinate, JointForce, MovingLink, joint_kind, moves
from sorosim.mechanics.engine.quantities import centre_of_mass, centre_of_mass_jacobian
from sorosim.mechanics.lie.so3 import skew
from sorosim.mechanics.model.anchor import Anchor, AnchorType
from sorosim.mechanics.model.link import WORLD
from sorosim.mechanics.model.span import RodName
from sorosim.mechanics.sensors.base import Errors, Group, Reader, Sensor
from sorosim.mechanics.sensors.kinds import ANGULAR_RATE, FORCE, MOMENT, POSITION, VELOCITY, MountedSensor
from sorosim.mechanics.sensors.state import SensorSites, State, cross

BENDING = Group("bending", "rad", "angle", ("angle", "angle_y", "angle_z"))
EULER = Group("rotation", "rad", "angle", ("roll", "pitch", "yaw"))
ANGLE = Group("angle", "rad", "angle", ("angle",))
RATE = ANGULAR_RATE._replace(names=("rate",))
PLACE = Group("position", "m", "length", ("position",))
SPEED = VELOCITY._replace(names=("speed",))
ONE_MOMENT = MOMENT._replace(names=("moment",))
ONE_FORCE = FORCE._replace(names=("force",))
NORMAL = Group("normal force", "N", "force", ("normal", "largest"))
FRICTION = Group("friction", "-", "number", ("friction", "sticks"))
# below this part of a radian the direction of a bend is told by its first order
STRAIGHT = 1e-9


@dataclass(frozen=True)
class LinkOrWorld(Reference):
    """The name of a link, or world."""

    block: str = "links"
    what: str = "the name of a link, or 'world'"
    others: tuple[str, ...] = (WORLD,)


@dataclass(frozen=True, eq=False)
class BendingSensor(MountedSensor, kind="bending"):
    """How far the x axis of a frame is bent away from that of another one [rad].

    `angle` is the angle between both axes, 0 to 180 deg; `angle_y` and `angle_z` are the components, in the frame from
    which it counts, of the rotation that bends its axis onto the other without twist. So a rod that bends in one plane
    has its bend with a sign in one of them.
    """

    _: KW_ONLY
    origin: Any = key(
        AnchorType(), "Frame from which it counts: a link, or {link, at}.", "{link: arm, at: {s: 0}}", name="from",
        default=None, without="the base of its rod; of a rigid link the world",
    )  # fmt: skip

    groups = (BENDING,)

    def bind(self, sites: SensorSites) -> Reader:
        is_rod = self.link in sites.links and sites.links[self.link].rod is not None
        origin = self.origin or (Anchor(self.link, s=0.0) if is_rod else Anchor())
        tip = sites.site(self.link, self.s, self.frame, self.at)
        fixed = np.asarray(origin.at)[:3, :3] if origin.link == WORLD else None
        base = -1 if fixed is not None else sites.site(origin.link, origin.s, origin.frame, origin.at)

        def axes(state: State) -> tuple[Array, Array]:
            """Rotation of the frame from which it counts, and the x axis of the other one in it."""
            R = fixed if fixed is not None else state.frames[base].R
            return R, R.T @ state.frames[tip].R[:, 0]

        def by_q(state: State) -> Array:
            R, x = axes(state)
            J = state.jacobians
            own = state.frames[tip].R @ J[tip, :3]
            turn = R.T @ (own if fixed is not None else own - R @ J[base, :3])
            return np.asarray(_bend_slope(x) @ (-skew(x) @ turn))

        return Reader(self.groups, lambda state: _bend(axes(state)[1]), by_q)


def _bend(x: Array) -> Array:
    """Angle from (1, 0, 0) to a unit vector x, and its components about y and z."""
    side = float(np.hypot(x[1], x[2]))
    angle = float(np.arctan2(side, x[0]))
    # the axis is e_x x x / |e_x x x|, along (0, -x_z, x_y)
    ratio = angle / side if side > STRAIGHT else 1.0 if x[0] > 0.0 else np.nan
    return np.array([angle, -ratio * x[2], ratio * x[1]])


def _bend_slope(x: Array) -> Array:
    """Derivatives (3, 3) of `_bend` by the vector; of the angle of a straight rod, a corner, the mean of both sides."""
    side = float(np.hypot(x[1], x[2]))
    angle = float(np.arctan2(side, x[0]))
    if side <= STRAIGHT:
        return np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]) if x[0] > 0.0 else np.full((3, 3), np.nan)
    across = np.array([0.0, x[1], x[2]]) / side
    # of arctan2(side, x_0), |x| = 1
    by_angle = x[0] * across - np.array([side, 0.0, 0.0])
    by_ratio = (by_angle - angle / side * across) / side
    ratio, flat = angle / side, np.array([-x[2], x[1]])
    out = np.vstack([by_angle, np.outer(flat, by_ratio)])
    out[1, 2] -= ratio
    out[2, 1] += ratio
    return out


@dataclass(frozen=True, eq=False)
class EulerSensor(MountedSensor, kind="euler"):
    """Rotation to the world's axes by Euler angles: roll, pitch, yaw about the fixed axes x, y, z, as `rpy` of files.

    Pitch is within +-90 deg; there roll and yaw turn about one axis, and yaw is taken as 0. Along a run roll and yaw go
    on beyond half a turn.
    """

    groups = (EULER,)

    def reading(self, state: State, site: int) -> Array:
        return euler_angles(state.frames[site].R)

    def slope(self, state: State, site: int) -> Array:
        R = state.frames[site].R
        _, pitch, yaw = euler_angles(R)
        c, s = np.cos(yaw), np.sin(yaw)
        # w in world axes of the rates of roll, pitch, yaw
        rates = np.array([[c * np.cos(pitch), -s, 0.0], [s * np.cos(pitch), c, 0.0], [-np.sin(pitch), 0.0, 1.0]])
        if abs(np.cos(pitch)) < STRAIGHT:
            return np.full((3, state.jacobians.shape[2]), np.nan)
        return np.asarray(np.linalg.solve(rates, R @ state.jacobians[site, :3]))

    def with_error(self, values: Array, error: Array) -> Array:
        """Readings with errors, without jumps by whole turns."""
        return np.asarray(np.unwrap(values, axis=0)) + error


def euler_angles(R: Array) -> Array:
    """Roll, pitch and yaw of a rotation (3, 3), R = R_z(yaw) R_y(pitch) R_x(roll)."""
    level = float(np.hypot(R[0, 0], R[1, 0]))
    pitch = np.arctan2(-R[2, 0], level)
    if level < STRAIGHT:
        return np.array([np.arctan2(-R[1, 2], R[1, 1]), pitch, 0.0])
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


@dataclass(frozen=True, eq=False)
class Encoder(Sensor, kind="encoder"):
    """A coordinate of a joint and its rate: an angle [rad, rad/s], or a position [m, m/s]."""

    joint: str = key(MovingLink("links", "a link whose joint moves", fits=moves), "Link whose joint it reads.", "hub")
    along: str = key(
        Coordinate("a direction of the joint"), "Which coordinate of a joint of several: the last word of its name.",
        "rx", default="",
    )  # fmt: skip

    groups: ClassVar[tuple[Group, ...]] = (ANGLE, RATE)
    groups_by_dimension: ClassVar[Mapping[str, tuple[Group, ...]]] = {"angle": (ANGLE, RATE), "length": (PLACE, SPEED)}

    @classmethod
    def shared_keys(cls, given: Any, at: At) -> dict[str, Key]:
        """Noise and bias of a joint that slides are lengths."""
        shared, joint = super().shared_keys(given, at), given.get("joint") if isinstance(given, Mapping) else None
        entry = at.scope.entry("links", joint) if isinstance(joint, str) else None
        directions = dict(getattr(joint_kind(entry), "directions", ())) if entry is not None else {}
        dimension = directions.get(given.get("along", next(iter(directions), "")))
        groups = cls.groups_by_dimension.get(dimension or "", cls.groups)
        errors = {
            name: replace(shared[name], type=replace(cast(Errors, shared[name].type), groups=groups))
            for name in ("noise", "bias")
        }
        return shared | errors

    @property
    def target(self) -> str:
        return f"of {self.joint}" + (f" along {self.along}" if self.along else "")

    def coordinate(self, sites: SensorSites) -> tuple[int, tuple[Group, ...]]:
        """The number of its coordinate, and groups of its channels."""
        link, index = sites.layout(self.joint), JointForce(self.joint, self.along).index(sites.engine.layout)
        return link.column + index, self.groups_by_dimension[link.link.joint.dimensions[index]]

    def bind(self, sites: SensorSites) -> Reader:
        i, groups = self.coordinate(sites)
        by_q = np.zeros((2, sites.engine.ndof))
        by_q[0, i] = 1.0
        return Reader(
            groups,
            lambda state: np.array([state.q[i], state.qd[i]]),
            along=lambda state, q_by, u_by, lam_by: by_q @ q_by,
        )


@dataclass(frozen=True, eq=False)
class DrivenForceSensor(Encoder, kind="driven_force"):
    """What a driven coordinate needs, `force(X)` or `moment(X)` of summaries: a generalised force [N m, N].

    It is what inertia, gravity, loads, loops, springs, dampers and actuators leave for what drives the coordinate: zero
    of one that is free.
    """

    groups = (ONE_MOMENT,)
    groups_by_dimension: ClassVar[Mapping[str, tuple[Group, ...]]] = {"angle": (ONE_MOMENT,), "length": (ONE_FORCE,)}
    accelerates = True

    def bind(self, sites: SensorSites) -> Reader:
        i, groups = self.coordinate(sites)
        return Reader(
            groups,
            lambda state: state.needed[i : i + 1],
            along=lambda state, q_by, u_by, lam_by: state.needed_along(q_by, u_by, lam_by)[i : i + 1],
        )


@dataclass(frozen=True, eq=False)
class ContactSensor(Sensor, kind="contact"):
    """Contacts of a link, all or those with another one, in world axes.

    f_x, f_y, f_z: the sum of their forces on the link; `normal` the sum of their normal forces, `largest` the largest
    one [N]; `friction` the largest part of Coulomb's limit that one uses, 0 to 1; `sticks` 1 where all have friction
    and slide slower than their slip speed, else 0.
    """

    link: str = key(LinkOrWorld(), "Link that is touched.", "finger")
    other: str = key(
        LinkOrWorld(), "Link that it touches, or world.", "ball", default="", without="whatever it touches"
    )

    groups = (FORCE, NORMAL, FRICTION)

    @property
    def target(self) -> str:
        return f"of {self.link}" + (f" with {self.other}" if self.other else "")

    def bind(self, sites: SensorSites) -> Reader:
        for name in (self.link, self.other or self.link):
            if name != WORLD and name not in sites.links:
                raise ModelError("link", "the name of a link", f"'{name}'", nearest(name, [*sites.links, WORLD]))
        if not sites.engine.loading.touches:
            raise ModelError("contact", "a robot with a load that is a contact", "one without")
        return Reader(self.groups, self._read)

    def _read(self, state: State) -> Array:
        found, force = state.contacts.on(self.link, self.other or None)
        if not found.n:
            return np.zeros(7)
        speed, mu = state.engine.loading.slip_speeds(list(found.load))
        normal = found.normal_force
        tangential = np.linalg.norm(force - np.einsum("ni,ni->n", force, found.normal)[:, None] * found.normal, axis=1)
        limit = mu * normal
        used = np.divide(tangential, limit, out=np.zeros(found.n), where=limit > 0.0)
        sticks = bool(((mu > 0.0) & (np.linalg.norm(found.slip, axis=1) < speed)).all())
        return np.array([*force.sum(axis=0), normal.sum(), normal.max(), used.max(), float(sticks)])


@dataclass(frozen=True, eq=False)
class SectionWrenchSensor(Sensor, kind="section_wrench"):
    """Internal moment (torque, M_y, M_z) and force (N, Q_y, Q_z) of a rod at a section, in its axes [N m, N].

    What lies beyond the section acts so on what is before it, moment about the middle: f_x = N is positive in tension,
    m_y and m_z are those of the strains bending_y and bending_z. It is computed from what inertia, gravity, loads and
    loops ask for of all that lies beyond, so strains that are locked have theirs. Tendons and chambers that pass the
    section are part of it: of an arm that its tendon alone bends it is zero. Distributed forces are interpolated
    through the points of a division; a force at the section itself lies beyond.
    """

    link: str = key(RodName(), "Link with a rod.", "arm")
    s: float = key(Fraction(), "Place on it, 0 to 1.", "0.5", default=0.0)

    groups = (MOMENT, FORCE)
    accelerates = True

    @property
    def target(self) -> str:
        return f"of {self.link} at s = {self.s:g}"

    def bind(self, sites: SensorSites) -> Reader:
        rods = [name for name, link in sites.links.items() if link.rod is not None]
        if self.link not in rods:
            raise ModelError("link", "the name of a link with a rod", f"'{self.link}'", nearest(self.link, rods))
        beyond = sites.parts_beyond(self.link, self.s)
        site = sites.site(self.link, self.s, "", np.eye(4))

        def read(state: State) -> Array:
            own, R, p = beyond @ state.node_wrenches, state.frames[site].R, state.frames[site].p
            return -np.concatenate([R.T @ (own[:3] - cross(p, own[3:])), R.T @ own[3:]])

        def by_q(state: State) -> Array:
            own, by = beyond @ state.node_wrenches, np.einsum("n,nij->ij", beyond, state.node_wrench_slopes)
            R, p, J = state.frames[site].R, state.frames[site].p, state.jacobians[site]
            read_now = -read(state)
            lever = np.cross(J[3:], (R.T @ own[3:])[:, None], axis=0)
            moment = R.T @ (by[:3] - np.cross(p[:, None], by[3:], axis=0)) - lever
            out = np.concatenate([moment, R.T @ by[3:]])
            out[:3] -= np.cross(J[:3], read_now[:3, None], axis=0)
            out[3:] -= np.cross(J[:3], read_now[3:, None], axis=0)
            return -out

        def along(state: State, q_by: Array, u_by: Array, lam_by: Array) -> Array:
            out = by_q(state) @ q_by
            for i in np.flatnonzero(u_by.any(axis=0)):  # linear in inputs, which multiply loads
                more, less = (state.perturbed(h, 0.0 * state.q, u_by[:, i], 0.0 * lam_by[:, i]) for h in (1.0, -1.0))
                out[:, i] += 0.5 * (read(more) - read(less))
            return np.asarray(out)

        # tangents of loops are known for all coordinates together, those of flowing material for generalised forces
        is_known = not (sites.engine.loop_layout.rows or sites.engine.adds_inertia)
        return Reader(self.groups, read, along=along if is_known else None)


@dataclass(frozen=True, eq=False)
class CentreOfMassSensor(Sensor, kind="centre_of_mass"):
    """Centre of mass of a link and all that hangs on it, or of the whole robot, in the world [m]."""

    link: str = key(LinkOrWorld(), "Link; world: the whole robot.", "world")

    groups = (POSITION,)

    @property
    def target(self) -> str:
        return "of all" if self.link == WORLD else f"of {self.link} and beyond"

    def bind(self, sites: SensorSites) -> Reader:
        if self.link != WORLD:
            sites.layout(self.link)
        part = None if self.link == WORLD else self.link
        engine = sites.engine
        return Reader(
            self.groups,
            lambda state: centre_of_mass(engine, state.q, part)[1],
            (lambda state: centre_of_mass_jacobian(engine, state.q)) if part is None else None,
        )
