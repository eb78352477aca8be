"""The kinds of sensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.declare import At, Fraction, Reference, Writer, key
from sorosim.base.errors import ModelError, nearest
from sorosim.mechanics.actuation.tendon import Tendon
from sorosim.mechanics.engine.quantities import rod_strain
from sorosim.mechanics.lie.quaternion import continuous, quaternion_of, rotated
from sorosim.mechanics.model.basis import STRAINS
from sorosim.mechanics.model.pose import IDENTITY, FrameOnLink, OnLink, PlaceOnRod, PlaceType, place_fields
from sorosim.mechanics.model.span import RodName
from sorosim.mechanics.sensors.base import Group, Reader, Sensor
from sorosim.mechanics.sensors.state import SensorSites, State


def _three(letter: str) -> tuple[str, ...]:
    return tuple(f"{letter}_{axis}" for axis in "xyz")


def _index(name: str, known: Sequence[str], kind: str, which: str = "") -> int:
    """The place of a name among the known ones of a kind, refusing others."""
    if name not in known:
        raise ModelError(kind, f"the name of a {kind}{which}", f"'{name}'", nearest(name, known))
    return known.index(name)


CURVATURE = Group("curvature", "1/m", "curvature", STRAINS[:3])
ELONGATION = Group("elongation", "-", "number", STRAINS[3:4])
SHEAR = Group("shear", "-", "number", STRAINS[4:])
POSITION = Group("position", "m", "length", ("x", "y", "z"))
QUATERNION = Group("quaternion", "-", "number", ("q_w", *_three("q")), -1.0, 1.0)
ROTATION = Group("rotation", "rad", "angle", _three("r"))
ANGULAR_RATE = Group("angular rate", "rad/s", "angular speed", _three("w"))
VELOCITY = Group("velocity", "m/s", "speed", _three("v"))
ANGULAR_ACCELERATION = Group("angular acceleration", "rad/s^2", "angular acceleration", _three("alpha"))
ACCELERATION = Group("acceleration", "m/s^2", "acceleration", _three("a"))
SPECIFIC_FORCE = Group("specific force", "m/s^2", "acceleration", _three("f"))
LENGTH = Group("length", "m", "length", ("length",), 0.0)
TENSION = Group("tension", "N", "force", ("tension",))
MOMENT = Group("moment", "N m", "moment", _three("m"))
FORCE = Group("force", "N", "force", _three("f"))


@dataclass(frozen=True, eq=False)
class StrainSensor(Sensor, kind="strain"):
    """Strains of a rod: torsion, bending y, bending z [1/m]; elongation (1: unstretched), shear y, shear z.

    They are those of the strain basis at the place itself. Where two divisions meet, they are of the second one.
    """

    link: str = key(RodName(), "Link with a rod.", "arm")
    s: float = key(Fraction(), "Place on it, 0 to 1 (the tip, the default).", "0.5", default=1.0)

    groups = (CURVATURE, ELONGATION, SHEAR)

    @property
    def target(self) -> str:
        return f"of {self.link} at s = {self.s:g}"

    def bind(self, sites: SensorSites) -> Reader:
        _index(self.link, [name for name, link in sites.links.items() if link.rod is not None], "link", " with a rod")
        layout = sites.layout(self.link)
        return Reader(self.groups, lambda state: rod_strain(layout, state.q, self.s))


@dataclass(frozen=True, eq=False)
class MountedSensor(Sensor):
    """What sensors share that have a frame of their own on a link."""

    link: str = key(Reference("links", "the name of a link"), "Link that it sits on.", "lid")
    s: float = key(PlaceOnRod(), "Place on a rod, 0 to 1 (the tip, the default).", "0.5", default=1.0)
    _: KW_ONLY
    frame: str = key(FrameOnLink(), "Name of a frame of a rigid link.", "top", default="")
    at: Any = key(
        PlaceType(), "Pose of the sensor there; `s` and `frame` may stand in it.", "{rotation: {rpy: [0, 0, 90 deg]}}",
        default=IDENTITY,
    )  # fmt: skip

    def validate(self) -> None:
        place_fields(self)

    @classmethod
    def read_own(cls, given: Mapping[str, object], at: At) -> dict[str, Any]:
        values = super().read_own(given, at)
        for name, what in (("s", "place s"), ("frame", "frame")):
            place = values.get("at")
            if name in given and isinstance(place, OnLink) and getattr(place, name) not in (None, ""):
                values[name] = (at / name).fail(f"one {what}", "another one in at", at_key=True)
        return values

    def data(self, writer: Writer) -> Any:
        out = super().data(writer)
        if self.link not in writer.rods:
            out.pop("s", None)
        return out

    @property
    def target(self) -> str:
        where = f"frame {self.frame}" if self.frame else f"s = {self.s:g}"
        return f"on {self.link}" + (f" at {where}" if self.frame or self.s != 1.0 else "")

    def bind(self, sites: SensorSites) -> Reader:
        site = sites.site(self.link, self.s, self.frame, self.at)
        is_of_q = type(self).slope is not MountedSensor.slope
        return Reader(
            self.groups,
            lambda state: self.reading(state, site),
            (lambda state: self.slope(state, site)) if is_of_q else None,
        )

    def slope(self, state: State, site: int) -> Array:
        """Derivatives (n, ndof) of the channels by q, of kinds that rest on q alone."""
        raise NotImplementedError

    def reading(self, state: State, site: int) -> Array:
        """Channels (n,) from the motion of the sensor's frame."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class PoseSensor(MountedSensor, kind="pose"):
    """Position in the world [m] and rotation to the world's axes as a unit quaternion [w, x, y, z].

    Noise and bias are six numbers: of the position [m], and of a small rotation in the sensor's axes [rad].
    """

    groups = (POSITION, QUATERNION)

    @classmethod
    def error_groups(cls) -> tuple[Group, ...]:
        return POSITION, ROTATION

    def reading(self, state: State, site: int) -> Array:
        frame = state.frames[site]
        return np.concatenate([frame.p, quaternion_of(frame.R)])

    def slope(self, state: State, site: int) -> Array:
        frame, J = state.frames[site], state.jacobians[site]
        w, x, y, z = quaternion_of(frame.R)
        # dq = q (0, w) / 2, w in the axes of the frame
        half = 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])
        return np.vstack([frame.R @ J[3:], half @ J[:3]])

    def with_error(self, values: Array, error: Array) -> Array:
        """Readings with errors; the sign of a quaternion follows the one before."""
        q = rotated(values[:, 3:], error[:, 3:]) if error[:, 3:].any() else values[:, 3:]
        return np.hstack([values[:, :3] + error[:, :3], continuous(q)])


@dataclass(frozen=True, eq=False)
class TwistSensor(MountedSensor, kind="twist"):
    """Angular rate and velocity in the sensor's axes [rad/s, m/s]."""

    groups = (ANGULAR_RATE, VELOCITY)

    def reading(self, state: State, site: int) -> Array:
        return state.frames[site].eta


@dataclass(frozen=True, eq=False)
class AccelerationSensor(MountedSensor, kind="acceleration"):
    """Angular acceleration and acceleration of the sensor's origin, in its axes [rad/s^2, m/s^2]."""

    groups = (ANGULAR_ACCELERATION, ACCELERATION)
    accelerates = True

    def reading(self, state: State, site: int) -> Array:
        frame = state.frames[site]
        return np.concatenate([frame.alpha, frame.a])


@dataclass(frozen=True, eq=False)
class Imu(MountedSensor, kind="imu"):
    """Angular rate [rad/s] and specific force a - g [m/s^2] in the sensor's axes: gyroscope and accelerometer."""

    groups = (ANGULAR_RATE, SPECIFIC_FORCE)
    accelerates = True

    def reading(self, state: State, site: int) -> Array:
        frame = state.frames[site]
        return np.concatenate([frame.eta[:3], frame.f])


@dataclass(frozen=True, eq=False)
class TendonSensor(Sensor, kind="tendon"):
    """Length of a tendon inside its rods [m], of one held on a fed rod less what is fed; and its tension [N]."""

    tendon: str = key(
        Reference("actuators", "the name of a tendon", fits=lambda entry: "tendon" in entry),
        "Name of an actuator that is a tendon.",
        "cable",
    )

    groups = (LENGTH, TENSION)

    @property
    def target(self) -> str:
        return self.tendon

    def bind(self, sites: SensorSites) -> Reader:
        actuators = sites.description.actuators
        _index(self.tendon, [name for name, actuator in actuators.items() if isinstance(actuator, Tendon)], "tendon")
        i = list(actuators).index(self.tendon)
        return Reader(self.groups, lambda state: np.array([state.tendon_lengths[i], state.tensions[i]]))


@dataclass(frozen=True, eq=False)
class JointWrenchSensor(Sensor, kind="joint_wrench"):
    """The whole wrench (6,) that a link gets through its joint, in the frame that the joint moves [N m, N].

    It is what inertia, gravity, loads and loops ask for of the link and all that hangs on it: the reaction of the joint
    with its springs, dampers, friction, stops and motors, less what accelerates their rotors (`armature`), and of
    tendons that pass the joint.
    """

    link: str = key(Reference("links", "the name of a link"), "Name of the link.", "lid")

    groups = (MOMENT, FORCE)
    accelerates = True

    @property
    def target(self) -> str:
        return f"of {self.link}"

    def bind(self, sites: SensorSites) -> Reader:
        node = int(sites.layout(self.link).nodes[0])
        return Reader(self.groups, lambda state: state.joint_reactions(node))


@dataclass(frozen=True, eq=False)
class LoopWrenchSensor(Sensor, kind="loop_wrench"):
    """Wrench (6,) of a loop's joint on its frame a, in the axes of b, moment about the origin of b [N m, N]."""

    loop: str = key(Reference("loops", "the name of a loop"), "Name of the loop.", "pin")

    groups = (MOMENT, FORCE)

    @property
    def target(self) -> str:
        return f"of {self.loop}"

    def bind(self, sites: SensorSites) -> Reader:
        k = _index(self.loop, list(sites.description.loops), "loop")
        return Reader(self.groups, lambda state: state.loop_wrench(k))


@dataclass(frozen=True, eq=False)
class LoadSensor(Sensor, kind="load"):
    """Wrenches of a load on its nodes, in their body frames [N m, N]; six channels a node, both ends of a spring."""

    load: str = key(Reference("loads", "the name of a load"), "Name of the load.", "push")

    groups = (MOMENT, FORCE)

    @property
    def target(self) -> str:
        return self.load

    def bind(self, sites: SensorSites) -> Reader:
        _index(self.load, list(sites.description.loads), "load")
        n = len(sites.engine.loading.nodes_of(self.load))
        numbers = [f"[{k}]" for k in range(n)] if n != 1 else [""]
        groups = [g._replace(names=tuple(f"{name}{k}" for name in g.names)) for k in numbers for g in self.groups]
        return Reader(tuple(groups), lambda state: state.load(self.load).ravel())
