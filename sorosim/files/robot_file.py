"""The file of a robot: its blocks, declared like the parts that stand in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sorosim.base.declare import (
    At,
    Boolean,
    Choice,
    Declared,
    Either,
    Given,
    ListOf,
    MapOf,
    OneOf,
    Part,
    Text,
    Type,
    Vector,
    key,
)
from sorosim.base.declare.base import Define
from sorosim.base.declare.types import MAX_NAME
from sorosim.base.errors import ModelError
from sorosim.base.options import SimulateOptions, StaticsOptions
from sorosim.base.problems import close, shown
from sorosim.base.registry import ACTUATORS, LOADS, SENSORS
from sorosim.mechanics.constraints.coupling import Coupling
from sorosim.mechanics.constraints.loop import Loop
from sorosim.mechanics.model.anchor import Anchors
from sorosim.mechanics.model.description import STANDARD_GRAVITY
from sorosim.mechanics.model.initial import InitialShape
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.pose import Pose
from sorosim.mechanics.sensors.base import SensorType

FORMAT_VERSION = 1


@dataclass(frozen=True)
class Version(Type):
    """The version of a format."""

    known: int = FORMAT_VERSION
    name: str = "sorosim"
    of: str = "the format"

    def check(self, value: object) -> int:
        if not isinstance(value, int | float) or isinstance(value, bool) or value != self.known:
            newer = isinstance(value, int | float) and not isinstance(value, bool) and value > self.known
            hint = "this file is for a newer sorosim" if newer else f"write {self.name}: {self.known}"
            raise ModelError("", f"{self.known}, the version of {self.of}", shown(value), hint)
        return self.known

    def schema(self, define: Define) -> dict[str, Any]:
        return {"const": self.known}


class Open(Type):
    """Any value: it is checked where it is used."""

    def check(self, value: object) -> Any:
        return value

    def schema(self, define: Define) -> dict[str, Any]:
        return {}


class ParameterName(Type):
    """A name that may stand after a dollar sign."""

    def check(self, value: object) -> str:
        if not isinstance(value, str) or len(value) > MAX_NAME or not re.fullmatch(r"[^\W\d]\w*", value):
            expected = f"a name of at most {MAX_NAME} letters, digits and _, beginning with a letter"
            raise ModelError("", expected, shown(value))
        return value


def _named(type: Type, doc: str, example: str) -> Any:
    return key(MapOf(type), doc, example, default=None)


# -- where coordinates start -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InitialCoordinate(Declared, title="Initial coordinates"):
    """Value and rate of one coordinate."""

    value: Any = key(Given(), "Value of the coordinate.", "10 deg", default=None, without="`0`")
    rate: Any = key(Given(), "Its rate, rad/s or m/s.", "2 rad/s", default=None, without="`0`")

    @classmethod
    def check_keys(cls, data: Mapping[str, object]) -> None:
        if not data:
            raise ModelError("", "a value, a rate, or both", "neither")


@dataclass(frozen=True)
class InitialPose(Pose, title="Initial poses"):
    """Pose and motion of the moved frame of a joint in its fixed frame, in the axes of the fixed one."""

    velocity: Any = key(
        Vector("speed"),
        "Velocity of the origin, in the axes of the frame on the parent.",
        "[0, 0, 1 m/s]",
        default=None,
        without="`[0, 0, 0]`",
    )
    angular_velocity: Any = key(
        Vector("angular speed"),
        "Angular velocity, in the same axes.",
        "[0, 90 deg/s, 0]",
        default=None,
        without="`[0, 0, 0]`",
    )


class Initial(Type):
    """A number or a quantity, {value, rate}, a pose, or a shape."""

    def read(self, value: object, at: At) -> Any:
        if not isinstance(value, Mapping):
            plain = isinstance(value, int | float | str | np.number) and not isinstance(value, bool)
            what = "a number, a quantity, {value, rate}, a pose or {through}"
            return InitialCoordinate(value=value) if plain else at.fail(what, shown(value))
        if any(close(str(name), known) for name in value for known in ("through", "arc_lengths")):
            return InitialShape.read(value, at)
        is_pose = any(close(str(name), known) for name in value for known in InitialPose.key_names())
        return (InitialPose if is_pose else InitialCoordinate).read(value, at)

    def shapes(self) -> tuple[Type, ...]:
        return Given(), Part(InitialCoordinate), Part(InitialPose), Part(InitialShape)


# -- what is expanded before the rest is read: values that end in links are open here, and checked there -----------


# blocks that an included file may have, and may be left behind: the first four belong to the robot that includes
OF_ONE_ROBOT = ("gravity", "initial", "simulate", "statics")
LEFT_BEHIND = (*OF_ONE_ROBOT, "actuators", "loads", "sensors", "outputs")


@dataclass(frozen=True)
class Inclusion(Declared, title="Included files"):
    """A file whose blocks are brought into another one."""

    file: str = key(
        Text("the path of a file, or the name of a bundled robot"),
        "Path, relative to the file that includes, or the name of a bundled robot.",
        "ur5_with_soft_gripper",
    )
    _: KW_ONLY
    without: tuple[str, ...] = key(
        ListOf(Choice(LEFT_BEHIND)), "Blocks of it that are left behind.", "[simulate, statics]", default=()
    )


class Inclusions(Type):
    """One included file or several, each a path or a mapping."""

    def read(self, value: object, at: At) -> Any:
        if isinstance(value, list):
            return [self.one(entry, at / i) for i, entry in enumerate(value)]
        return self.one(value, at)

    def one(self, value: Any, at: At) -> Any:
        """One included file; INVALID if it is none."""
        if isinstance(value, Mapping):
            return Inclusion.read(value, at)
        is_path = isinstance(value, str) and value.strip()
        return Inclusion(value) if is_path else at.fail("the path of a file", shown(value))

    def shapes(self) -> tuple[Type, ...]:
        path_or_more = Either(Text("the path of a file"), Part(Inclusion), lambda value: isinstance(value, Mapping))
        return path_or_more, ListOf(path_or_more)


@dataclass(frozen=True)
class ImportedLimits(Declared, title="End stops of imported robots"):
    """Stiffness of the end stops that limits of an imported robot become, by kind of joint."""

    revolute: Any = key(
        Open(), "Of revolute joints, those that turn without limits excepted.", "500 N*m/rad", default=None
    )
    prismatic: Any = key(Open(), "Of prismatic joints.", "50 kN/m", default=None)


# what other formats have and links have not: left out on request only, since a robot without it moves otherwise; and
# left out with a remark
MOTION = ("armature", "springs", "fluid", "gravity", "tendons", "constraints", "deformables")
REMARKED = ("actuators", "sensors", "contacts", "keyframes", "plugins")


def _path(language: str, ending: str) -> Any:
    return key(
        Text(f"the path of {language}"), f"Path of {language}, relative to this file.", f"arm.{ending}", default=None
    )


@dataclass(frozen=True)
class Import(Declared, title="Imported robots"):
    """A rigid robot from a URDF, MJCF or SDF file."""

    _: KW_ONLY
    urdf: Any = _path("a URDF file", "urdf")
    mjcf: Any = _path("an MJCF file", "xml")
    sdf: Any = _path("an SDF file", "sdf")
    parent: Any = key(Open(), "What its root hangs on: a link or world.", "lid", default="world")
    at: Any = key(
        Open(), "Where on it: a pose, a place s on a rod, a named frame; as for links.", "{frame: top}", default=None
    )
    joint: Any = key(
        Open(), "How its root moves there.", "free", default=None,
        without="`fixed`; `free` where nothing holds the model of an SDF file and neither `parent` nor `at` is given",
    )  # fmt: skip
    limits: Any = key(
        Part(ImportedLimits),
        "Stiffness of the end stops that its limits become; its file says where limits are, not how stiff.",
        "{revolute: 500 N*m/rad}", default=None, without="left out",
    )  # fmt: skip
    mimic: Any = key(
        Choice(("coupled", "free", "fixed")),
        "What becomes of joints that follow others: coupled to their leader, as by `couplings`; free, with coordinates "
        "of their own; or fixed where their leader is at zero.", "fixed", default="coupled",
    )  # fmt: skip
    inertia: str = key(
        Choice(("check", "accept", "mend")),
        "What becomes of an inertia that no body has, with a principal moment above the sum of the other two: check "
        "mends what is within the rounding of the file's digits and refuses the rest, accept takes the numbers as they "
        "are where none is negative, mend takes the nearest that a body has.", "mend", default="check",
    )  # fmt: skip
    keyframe: Any = key(
        Text("the name of a keyframe"), "Keyframe of an MJCF file at which the robot starts, unless `initial` says "
        "otherwise of a link.", "home", default=None, without="the pose of the file",
    )  # fmt: skip
    without: tuple[str, ...] = key(
        ListOf(Choice((*MOTION, *REMARKED))),
        f"What is left out of an MJCF or SDF file and is meant to be: {', '.join(MOTION)}, which are refused else; "
        f"{', '.join(REMARKED)}, which are remarked on else.", "[armature, actuators]", default=(),
    )  # fmt: skip
    visual: bool = key(Boolean(), "Whether what is drawn is read: true or false.", "false", default=True)
    collision: bool = key(
        Boolean(), "Whether shapes for collisions are read, of meshes their convex hulls; contacts that name a link "
        "take them: true or false.", "true", default=False,
    )  # fmt: skip
    package_dirs: Any = key(
        ListOf(Text("the path of a folder")),
        "Folders in which package:// and model:// look for packages first, relative to this file; then they look in "
        "all above the robot's file.", "[meshes]", default=(),
    )  # fmt: skip
    allow_outside: bool = key(
        Boolean(),
        "Whether meshes may be outside the folder of the robot's file, or the package that it is in: true or false.",
        "true",
        default=False,
    )

    alternatives = (("urdf", "mjcf", "sdf"),)

    @classmethod
    def check_keys(cls, data: Mapping[str, object]) -> None:
        files = [name for name in cls.alternatives[0] if name in data]
        if len(files) != 1:
            got = " and ".join(files) or "none"
            raise ModelError("", "one of the keys urdf, mjcf and sdf", got, "for instance urdf: arm.urdf")
        if "keyframe" in data and files != ["mjcf"]:
            hint = "`initial` says where the robot starts"
            raise ModelError("keyframe", "a keyframe of an MJCF file", f"one beside {files[0]}", hint)


def is_one(value: object) -> bool:
    """Whether an ``import`` is of one robot, not of several by name."""
    return not isinstance(value, Mapping) or not all(isinstance(entry, Mapping) for entry in value.values())


class Imports(Type):
    """One import, or several by name."""

    def read(self, value: object, at: At) -> Any:
        return Import.read(value, at) if is_one(value) else MapOf(Part(Import)).read(value, at)

    def shapes(self) -> tuple[Type, ...]:
        return Part(Import), MapOf(Part(Import))


@dataclass(frozen=True)
class PartOfPrefab(Declared, title="Parts"):
    """What is made of a prefab."""

    prefab: Any = key(Open(), "What it is made of.", "stub")
    _: KW_ONLY
    parent: Any = key(Open(), "Link that it hangs on.", "arm", default="world")
    at: Any = key(
        Open(), "Pose on its parent, before the poses of its own links.", "{position: [0, 0, 1 cm]}", default=None
    )
    repeat: Any = key(
        Open(), "Makes so many parts; their names end in 1, 2, ..., which is $i in all their values.", "3", default=1
    )
    chain: Any = key(
        Open(), "Link of the prefab that the next one of repeated parts hangs on; parent and at are of the first.",
        "tip",        default=None,
    )  # fmt: skip
    given: Any = key(
        MapOf(Open(), Open()), "Values of the prefab's parameters.", "{size: 2 cm}", name="with", default=None
    )


_OPEN = MapOf(Open())
_PARAMETERS = MapOf(Open(), ParameterName())


@dataclass(frozen=True)
class Prefab(Declared, title="Prefabs"):
    """A reusable sub-tree."""

    _: KW_ONLY
    parameters: Any = key(
        MapOf(Open(), ParameterName()),
        "Parameters with their defaults; one without a default has to be given by each part.",
        "{size: 1 cm, mass: 10 g}",
        default=None,
    )
    links: Any = key(
        _OPEN, "As the links of a file; those on the world hang on the parent of the part.",
        "{proximal: {}, distal: {parent: proximal}}", default=None,
    )  # fmt: skip
    parts: Any = key(MapOf(Part(PartOfPrefab)), "Parts of other prefabs.", "{}", default=None)
    loops: Any = key(
        _OPEN, "As the loops of a file; ends on the world are on the parent of the part.", "{}", default=None
    )
    couplings: Any = key(_OPEN, "As the couplings of a file.", "{}", default=None)
    actuators: Any = key(_OPEN, "As the actuators of a file.", "{}", default=None)
    loads: Any = key(_OPEN, "As the loads of a file.", "{}", default=None)
    sensors: Any = key(_OPEN, "As the sensors of a file.", "{}", default=None)


@dataclass(frozen=True)
class RobotFile(Declared, title="The file"):
    """The file of a robot."""

    sorosim: Any = key(Version(), "Version of the file format.", "1")
    _: KW_ONLY
    name: Any = key(Text("a name"), "Name of the robot.", "soft hand", default=None, without="that of the file")
    include: Any = key(
        Inclusions(), "Other files whose blocks are brought into this one; paths relative to this file, or names of "
        "bundled robots.", "[common.yaml]", default=None,
    )  # fmt: skip
    imports: Any = key(
        Imports(),
        "Rigid robots from URDF, MJCF and SDF, whose links become links of this file: one, or several by name. Links "
        "of import `a` begin with `a_`.", "{urdf: arm.urdf}", name="import", default=None,
    )  # fmt: skip
    parameters: Any = key(
        _PARAMETERS,
        "Values by name; $name stands for them in any value, ${name} also in a word, ${side}_hip.",
        "{length: 10 cm, n: 3}",
        default=None,
    )
    gravity: Any = key(
        Vector("acceleration"),
        "Acceleration of gravity in the axes of the world.",
        "[0, 0, -9.81]",
        default=None,
        without=f"`{list(STANDARD_GRAVITY)}`",
    )
    materials: Any = _named(
        Part(Material), "Materials by name.", "{steel: {young: 210 GPa, poisson: 0.3, density: 7850 kg/m^3}}"
    )
    prefabs: Any = _named(Part(Prefab), "Reusable sub-trees by name.", "{stub: {links: {tip: {}}}}")
    links: Any = key(MapOf(Part(Link)), "Links by name: each is a joint and the body that it moves.", "{base: {}}")
    parts: Any = _named(
        Part(PartOfPrefab),
        "What is made of prefabs: links, loops, couplings, actuators, loads and sensors of part `a` begin with `a_`.",
        "{left: {prefab: stub}}",
    )
    loops: Any = _named(
        Part(Loop), "Joints that close chains of links, by name.", "{hook: {joint: spherical, from: ball, to: knob}}"
    )
    couplings: Any = _named(
        Part(Coupling), "Coordinates of joints that follow others, as by gears, by name.",
        "{grip: {link: elbow, leader: lid, ratio: -1}}",
    )  # fmt: skip
    actuators: Any = _named(
        OneOf(ACTUATORS),
        "Actuators by name, in the order of the inputs u.",
        "{cable: {tendon: {rod: arm, y: 0, z: 1 cm}}}",
    )
    loads: Any = _named(OneOf(LOADS), "Loads by name.", "{push: {wrench: {link: arm, force: [0, 0, 1 N]}}}")
    sensors: Any = _named(
        SensorType(SENSORS),
        "Sensors by name; what they give is in the readings of a run.",
        "{tip: {imu: {link: arm}, rate: 200 Hz}}",
    )
    initial: Any = key(
        MapOf(Initial(), Text("the name of a coordinate or a link", "links")),
        "Where the robot starts: coordinates by name, poses of joints by link, shapes of rods by points. What is not "
        "named is zero, and rests.",
        "{'arm.bending_y[0]': 0.1, ball: {rotation: {axis: [0, 0, 1], angle: 30 deg}}}",
        default=None,
    )
    outputs: Any = key(
        Anchors(),
        "Place that reports, plots and live sessions show, or a list of some; the first is the one where one is shown.",
        "plate", default=None, without="the end of the last link with a body",
    )  # fmt: skip
    simulate: Any = key(Part(SimulateOptions), "Default arguments of simulate.", "{t_end: 10 s}", default=None)
    statics: Any = key(Part(StaticsOptions), "Default arguments of statics.", "{u: {cable: 3 N}}", default=None)
