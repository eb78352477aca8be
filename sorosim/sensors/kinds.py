"""The kinds of sensors."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sorosim.actuation.tendon import Tendon
from sorosim.errors import ModelError, nearest
from sorosim.model.basis import STRAINS
from sorosim.model.compile import MERGE
from sorosim.model.material import real_number
from sorosim.model.pose import check_pose
from sorosim.sensors.base import Array, Group, Reader, Sensor
from sorosim.sensors.quaternion import continuous, quaternion_of, turned
from sorosim.sensors.state import Bench, State
from sorosim.validation import describe


def _three(letter: str) -> tuple[str, ...]:
    return tuple(f"{letter}_{axis}" for axis in "xyz")


CURVATURE = Group("curvature", "1/m", "curvature", STRAINS[:3])
ELONGATION = Group("elongation", "-", "number", STRAINS[3:4])
SHEAR = Group("shear", "-", "number", STRAINS[4:])
POSITION = Group("position", "m", "length", ("x", "y", "z"))
QUATERNION = Group("quaternion", "-", "number", ("q_w", *_three("q")))
ROTATION = Group("rotation", "rad", "angle", _three("r"))
ANGULAR_RATE = Group("angular rate", "rad/s", "angular speed", _three("w"))
VELOCITY = Group("velocity", "m/s", "speed", _three("v"))
ANGULAR_ACCELERATION = Group("angular acceleration", "rad/s^2", "angular acceleration", _three("alpha"))
ACCELERATION = Group("acceleration", "m/s^2", "acceleration", _three("a"))
SPECIFIC_FORCE = Group("specific force", "m/s^2", "acceleration", _three("f"))
LENGTH = Group("length", "m", "length", ("length",))
TENSION = Group("tension", "N", "force", ("tension",))
MOMENT = Group("moment", "N m", "moment", _three("m"))
FORCE = Group("force", "N", "force", _three("f"))


def _check_name(where: str, value: object) -> None:
    if not isinstance(value, str):
        raise ModelError(where, "a name", describe(value))


def _check_place(sensor: StrainSensor | MountedSensor) -> None:
    _check_name("link", sensor.link)
    object.__setattr__(sensor, "s", real_number("s", sensor.s, "a place from 0 to 1", least=0.0, upto=1.0))


@dataclass(frozen=True, eq=False)
class StrainSensor(Sensor):
    """Strains of a rod: torsion, bending y, bending z [1/m]; elongation (1: unstretched), shear y, shear z.

    They are those of the strain basis at the place itself. Where two divisions meet, they are of the second one.

    Parameters
    ----------
    link : str
        Link with a rod.
    s : float
        Place on it, 0 to 1.
    rate, noise, bias, seed
        As of every `Sensor`.
    """

    link: str
    s: float = 1.0

    kind = "strain"
    groups = (CURVATURE, ELONGATION, SHEAR)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_place(self)

    @property
    def target(self) -> str:
        return f"of {self.link} at s = {self.s:g}"

    def bind(self, bench: Bench) -> Reader:
        rods = [name for name, link in bench.links.items() if link.rod is not None]
        if self.link not in rods:
            raise ModelError("link", "the name of a link with a rod", f"'{self.link}'", nearest(self.link, rods))
        layout = bench.layout(self.link)
        X = self.s * layout.X[-1]
        near = MERGE * layout.X[-1]
        piece = next(piece for piece in reversed(layout.pieces) if piece.start <= X + near)
        division, here = piece.division, np.clip([X - piece.start], 0.0, piece.division.length)
        rest, P = division.reference.values(here, division.length)[0], division.basis(here)[0]
        own = slice(piece.column, piece.column + piece.n)
        return Reader(self.groups, lambda state: rest + state.q[own] @ P)


@dataclass(frozen=True, eq=False)
class MountedSensor(Sensor):
    """What sensors share that have a frame of their own on a link.

    Parameters
    ----------
    link : str
    s : float
        Place on a rod, 0 to 1; without meaning for a rigid link.
    frame : str
        Name of a frame of a rigid link; "" for that of its body.
    at : (4, 4) array_like
        Pose of the sensor in that frame, or in that of the rod's section.
    rate, noise, bias, seed
        As of every `Sensor`.
    """

    link: str
    s: float = 1.0
    _: KW_ONLY
    frame: str = ""
    at: NDArray[np.float64] = field(default_factory=lambda: np.eye(4))

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_place(self)
        _check_name("frame", self.frame)
        object.__setattr__(self, "at", check_pose("at", self.at))

    @property
    def target(self) -> str:
        where = f"frame {self.frame}" if self.frame else f"s = {self.s:g}"
        return f"on {self.link}" + (f" at {where}" if self.frame or self.s != 1.0 else "")

    def bind(self, bench: Bench) -> Reader:
        site = bench.site(self.link, self.s, self.frame, self.at)
        return Reader(self.groups, lambda state: self.reading(state, site))

    def reading(self, state: State, site: int) -> Array:
        """Channels (n,) from the motion of the sensor's frame."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class PoseSensor(MountedSensor):
    """Position in the world [m] and rotation to the world's axes as a unit quaternion [w, x, y, z].

    Noise and bias are six numbers: of the position [m], and of a small rotation in the sensor's axes [rad].
    """

    kind = "pose"
    groups = (POSITION, QUATERNION)

    @classmethod
    def error_groups(cls) -> tuple[Group, ...]:
        return POSITION, ROTATION

    def reading(self, state: State, site: int) -> Array:
        frame = state.frames[site]
        return np.concatenate([frame.p, quaternion_of(frame.R)])

    def with_error(self, values: Array, error: Array) -> Array:
        """Readings with errors; the sign of a quaternion follows the one before."""
        q = turned(values[:, 3:], error[:, 3:]) if error[:, 3:].any() else values[:, 3:]
        return np.hstack([values[:, :3] + error[:, :3], continuous(q)])


@dataclass(frozen=True, eq=False)
class TwistSensor(MountedSensor):
    """Angular rate and velocity in the sensor's axes [rad/s, m/s]."""

    kind = "twist"
    groups = (ANGULAR_RATE, VELOCITY)

    def reading(self, state: State, site: int) -> Array:
        return state.frames[site].eta


@dataclass(frozen=True, eq=False)
class AccelerationSensor(MountedSensor):
    """Angular acceleration and acceleration of the sensor's origin, in its axes [rad/s^2, m/s^2]."""

    kind = "acceleration"
    groups = (ANGULAR_ACCELERATION, ACCELERATION)
    accelerates = True

    def reading(self, state: State, site: int) -> Array:
        frame = state.frames[site]
        return np.concatenate([frame.alpha, frame.a])


@dataclass(frozen=True, eq=False)
class Imu(MountedSensor):
    """Angular rate [rad/s] and specific force a - g [m/s^2] in the sensor's axes: gyroscope and accelerometer."""

    kind = "imu"
    groups = (ANGULAR_RATE, SPECIFIC_FORCE)
    accelerates = True

    def reading(self, state: State, site: int) -> Array:
        frame = state.frames[site]
        return np.concatenate([frame.eta[:3], frame.f])


@dataclass(frozen=True, eq=False)
class TendonSensor(Sensor):
    """Length of a tendon inside its rods [m] and its tension [N].

    Parameters
    ----------
    tendon : str
        Name of an actuator that is a tendon.
    rate, noise, bias, seed
        As of every `Sensor`.
    """

    tendon: str

    kind = "tendon"
    groups = (LENGTH, TENSION)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_name("tendon", self.tendon)

    @property
    def target(self) -> str:
        return self.tendon

    def bind(self, bench: Bench) -> Reader:
        actuators = bench.description.actuators
        if not isinstance(actuators.get(self.tendon), Tendon):
            known = [name for name, actuator in actuators.items() if isinstance(actuator, Tendon)]
            raise ModelError("tendon", "the name of a tendon", f"'{self.tendon}'", nearest(self.tendon, known))
        i = list(actuators).index(self.tendon)
        return Reader(self.groups, lambda state: np.array([state.tendon_lengths[i], state.tensions[i]]))


@dataclass(frozen=True, eq=False)
class JointWrenchSensor(Sensor):
    """The whole wrench (6,) that a link gets through its joint, in the frame that the joint moves [N m, N].

    It is what inertia, gravity, loads and loops ask for of the link and all that hangs on it: the reaction of the joint
    with its springs, dampers, friction, stops and motors, and of tendons that pass the joint.

    Parameters
    ----------
    link : str
    rate, noise, bias, seed
        As of every `Sensor`.
    """

    link: str

    kind = "joint_wrench"
    groups = (MOMENT, FORCE)
    accelerates = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_name("link", self.link)

    @property
    def target(self) -> str:
        return f"of {self.link}"

    def bind(self, bench: Bench) -> Reader:
        node = int(bench.layout(self.link).nodes[0])
        return Reader(self.groups, lambda state: state.transmitted(node))


@dataclass(frozen=True, eq=False)
class LoopWrenchSensor(Sensor):
    """Wrench (6,) of a loop's joint on its frame a, in the axes of b, moment about the origin of b [N m, N].

    Parameters
    ----------
    loop : str
    rate, noise, bias, seed
        As of every `Sensor`.
    """

    loop: str

    kind = "loop_wrench"
    groups = (MOMENT, FORCE)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_name("loop", self.loop)

    @property
    def target(self) -> str:
        return f"of {self.loop}"

    def bind(self, bench: Bench) -> Reader:
        loops = list(bench.description.loops)
        if self.loop not in loops:
            raise ModelError("loop", "the name of a loop", f"'{self.loop}'", nearest(self.loop, loops))
        k = loops.index(self.loop)
        return Reader(self.groups, lambda state: state.loop_wrench(k))


@dataclass(frozen=True, eq=False)
class LoadSensor(Sensor):
    """Wrenches of a load on its nodes, in their body frames [N m, N]; six channels a node, both ends of a spring.

    Parameters
    ----------
    load : str
    rate, noise, bias, seed
        As of every `Sensor`.
    """

    load: str

    kind: ClassVar[str] = "load"
    groups = (MOMENT, FORCE)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_name("load", self.load)

    @property
    def target(self) -> str:
        return self.load

    def bind(self, bench: Bench) -> Reader:
        loads = bench.description.loads
        if self.load not in loads:
            raise ModelError("load", "the name of a load", f"'{self.load}'", nearest(self.load, loads))
        n = len(bench.engine.loading.nodes_of(self.load))
        groups: tuple[Group, ...] = self.groups
        if n != 1:
            groups = tuple(
                group._replace(names=tuple(f"{name}[{k}]" for name in group.names))
                for k in range(n)
                for group in self.groups
            )
        return Reader(groups, lambda state: state.load(self.load).ravel())


KINDS: dict[str, type[Sensor]] = {
    kind.kind: kind
    for kind in (
        StrainSensor, PoseSensor, TwistSensor, AccelerationSensor, Imu, TendonSensor, JointWrenchSensor,
        LoopWrenchSensor, LoadSensor,
    )
}  # fmt: skip
