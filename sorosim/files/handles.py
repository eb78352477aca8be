"""Where numbers of a part of a file are in space: the handles that kinds declare, on the links of a robot."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.declare import At, Declared, Handle, OneOf, Part, Quantity, Scope, Type
from sorosim.base.declare.composite import Flat, OfPlugIn, PartsOrKeys
from sorosim.base.errors import SorosimError
from sorosim.base.problems import Path, at_path
from sorosim.base.units.quantity import quantity
from sorosim.files.parameters import defined_at
from sorosim.files.robot_file import RobotFile
from sorosim.mechanics.model.link import WORLD, Link
from sorosim.mechanics.model.pose import PlaceOnRod, PlaceType, Pose, PoseType
from sorosim.mechanics.model.rod import Rod
from sorosim.mechanics.model.section import Hole
from sorosim.mechanics.model.span import RodName
from sorosim.mechanics.robot import Robot


class Number(NamedTuple):
    """A number of a file that can be dragged."""

    path: Path  # in the expanded file
    value: float  # in SI units
    type: Type  # which knows its bounds

    def clipped(self, x: float, step: float) -> float:
        """A value that its declaration allows; where zero is refused, at least a step from it."""
        above, least, most = (getattr(self.type, name, end) for name, end in _ENDS)
        return float(min(max(x, least, above + step if np.isfinite(above) else above), most))


_ENDS = (("above", -np.inf), ("least", -np.inf), ("upto", np.inf))


@dataclass(frozen=True, eq=False)
class PlacedHandle:
    """A handle on a link: a point in the frame of the link, or of a section of a rod, that follows numbers.

    Attributes
    ----------
    numbers : tuple of Number
        n of them.
    link : str
        Or the world.
    s : float
        Section of a rod.
    point : (3,) ndarray
        Where it is [m].
    axes : (3, n) ndarray
        By how much it moves where each number grows by one.
    along : bool
        Whether its only number is the place `s` itself; its point is in the frame of the section.
    """

    numbers: tuple[Number, ...]
    link: str
    s: float
    point: Array
    axes: Array
    along: bool = False

    @property
    def place(self) -> tuple[str, float]:
        """Link and s."""
        return self.link, self.s

    def changes(self, origin: Array, direction: Array, at: Array) -> Array:
        """By how much its numbers change (n,) for it to come as near to a ray as they can bring it.

        Minimises |P (p + A x - o)|^2 with P = I - d d^T, by the least x; axes that point along the ray stay.

        Parameters
        ----------
        origin, direction : (3,) ndarray
            o, d of the ray of a pointer, in the axes of the world [m].
        at : (4, 4) ndarray
            Pose of the frame of the handle, when it was taken hold of.
        """
        d = direction / np.linalg.norm(direction)
        P, point = np.eye(3) - np.outer(d, d), at[:3, :3] @ self.point + at[:3, 3]
        sizes = np.maximum(np.linalg.norm(self.axes, axis=0), TINY)
        U, sigma, Vt = np.linalg.svd(P @ at[:3, :3] @ (self.axes / sizes), full_matrices=False)
        seen = sigma > FORESHORTENED
        return np.asarray((Vt[seen].T / sigma[seen]) @ (U[:, seen].T @ (origin - point)) / sizes)


def axis_by_difference(robot: Robot, part: Path, k: int, path: Path, value: float, q: Array) -> Array:
    """By how much a handle moves (3,), in its own frame, where a number of the file at a path grows by one.

    That of a parameter may move much else, on which the handle is. k: its index among the handles of the part; q: the
    coordinates that stay. It is zero where no other value of the number makes a robot.
    """
    here = handles_of(robot, part)[k]
    for h in (STEP * max(abs(value), LEAST), -STEP * max(abs(value), LEAST)):
        try:
            other = robot.with_values({dotted_path(path): value + h})
        except SorosimError:
            continue
        R = pose_of(robot, here, q)[:3, :3]
        return np.asarray(R.T @ (point_of(other, handles_of(other, part)[k], q) - point_of(robot, here, q)) / h)
    return np.zeros(3)


def pose_of(robot: Robot, handle: PlacedHandle, q: Array) -> Array:
    """Pose (4, 4) of the frame of a handle in the world."""
    if handle.link == WORLD:
        return np.eye(4)
    engine = robot.engine
    return np.asarray(engine.poses_at(engine.places((handle.place,)), robot.coordinates(q))[0][0])


def point_of(robot: Robot, handle: PlacedHandle, q: Array) -> Array:
    """Where a handle is (3,) [m], world frame."""
    g = pose_of(robot, handle, q)
    return np.asarray(g[:3, :3] @ handle.point + g[:3, 3])


def dotted_path(path: Path) -> str:
    """A path as values of a file are set by it."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".")


STEP, LEAST = 1e-4, 1e-2  # of differences: relative, of no less than [m]
TINY = 1e-12  # of an axis of a number that moves nothing
FORESHORTENED = 0.1  # part of its length as which an axis is seen, below which it cannot be dragged


class _Frame(NamedTuple):
    """A frame on a link: a pose on the section at s, which is taken between two places of a rod."""

    link: str = WORLD
    g: Array = np.eye(4)
    start: float = 0.0
    end: float = 0.0

    def moved(self, g: Array) -> _Frame:
        return self._replace(g=self.g @ g)

    def s(self, part: float) -> float:
        return self.start + part * (self.end - self.start)


def handles_of(robot: Robot, part: Path) -> list[PlacedHandle]:
    """Handles of a part of a robot's file.

    Parameters
    ----------
    robot : Robot
        With a document.
    part : Path
        Of the part in the expanded file, such as ("links", "arm"). What stands there in no number has none.
    """
    data = robot.description.document.expanded.data
    value, type_ = data, Part(RobotFile)
    found: Any = type_
    for key in part:
        value, found = at_path(value, (key,)), found.within(key)
    walk = _Walk(robot)
    if value is not None:
        walk.visit(found, value, part, _Frame(), {})
    return walk.found


class _Walk:
    """Goes through the data of a part beside its types, and keeps the frame that it is in."""

    def __init__(self, robot: Robot) -> None:
        self.links = {link.name: link for link in robot.links}
        self.found: list[PlacedHandle] = []

    def visit(self, type: Type | None, value: Any, path: Path, frame: _Frame, owner: Mapping[str, Any]) -> None:
        """What stands at a path; `owner` is the mapping around it."""
        if type is None or value is None:
            return
        if isinstance(type, PlaceType):
            at = self.on_link(type, owner)
            for pose, here in (
                [(pose, (*path, i)) for i, pose in enumerate(value)] if isinstance(value, list) else [(value, path)]
            ):
                self.part(Pose, pose, here, at)
                at = at.moved(_matrix(pose))
        elif isinstance(type, PoseType):
            self.part(Pose, value, path, frame)
        elif isinstance(type, PlaceOnRod):
            at = self.on_link(PlaceType(), owner)
            self.along(type, value, path, at)
        elif isinstance(value, list):
            for i, entry in enumerate(value):
                self.visit(type.within(i), entry, (*path, i), frame, owner)
        elif isinstance(value, Mapping):
            self.mapping(type, value, path, frame)

    def mapping(self, type: Type, value: Mapping[str, Any], path: Path, frame: _Frame) -> None:
        cls = _class_of(type, value)
        if cls is not None:
            self.part(cls, value, path, frame)
            return
        for name, entry in value.items():
            inner = type.within(name)
            if isinstance(type, OneOf) and isinstance(inner, OfPlugIn) and isinstance(entry, Mapping):
                self.part(type.registry.get(name), entry, (*path, name), frame)
            else:
                self.visit(inner, entry, (*path, name), frame, value)

    def part(self, cls: Any, value: Any, path: Path, frame: _Frame) -> None:
        """A part of a class: its own handles, and what is in it."""
        if not isinstance(value, Mapping):
            return
        types = {name: _type_in(cls, name) for name in value}
        around, frame = frame, self.inside(cls, value, path, types, frame)
        for handle in _handles(cls):
            if set(handle.keys) | set(handle.beside) <= set(value):
                self.add(handle, value, path, types, frame)
        if cls is Hole:
            frame = frame.moved(_in_section(value))
        for name, entry in value.items():
            at = around if name == "at" else frame
            if cls is Link and name == "joint":
                at = self.on_link(PlaceType("parent"), value).moved(self.joint(str(path[-1])))
            if cls is Rod and name == "divisions" and isinstance(entry, list):
                self.divisions(types[name], entry, (*path, name), frame)
            else:
                self.visit(types[name], entry, (*path, name), at, value)

    def inside(self, cls: Any, value: Mapping[str, Any], path: Path, types: Mapping[str, Any], frame: _Frame) -> _Frame:
        """The frame in which keys of a part are."""
        if cls is Link:
            return _Frame(str(path[-1]), start=0.0, end=0.0)
        if cls is Rod:
            return frame._replace(start=0.0, end=1.0)
        if any(isinstance(type, RodName) for type in types.values()):
            name = next(str(value[key]) for key, type in types.items() if isinstance(type, RodName))
            return _Frame(name, np.eye(4), *(_number(value.get(key, end), "number") for key, end in SPAN))
        if not issubclass(cls, Declared):  # of a plug-in
            return self.on_link(PlaceType("rod" if "rod" in value else "link"), value)
        at = _type_in(cls, "at")
        if isinstance(at, PlaceType):
            return self.on_link(at, value).moved(_matrix(value.get("at")))
        if isinstance(at, PoseType):
            return frame.moved(_matrix(value.get("at")))
        return frame

    def on_link(self, type: PlaceType, owner: Mapping[str, Any]) -> _Frame:
        """The frame that a pose on a link is seen from."""
        name, at = str(owner.get(type.of, WORLD)), owner.get("at")
        first = at[0] if isinstance(at, list) and at else at if isinstance(at, Mapping) else {}
        s = _number(first.get("s", owner.get("s", 1.0)), "number")
        link, named = self.links.get(name), first.get("frame", owner.get("frame", ""))
        g = link.frames[named] if link is not None and named in link.frames else np.eye(4)
        return _Frame(name if link is not None else WORLD, np.real(g), s, s)

    def joint(self, name: str) -> Array:
        link = self.links[name]
        return np.real(link.at)

    def divisions(self, type: Any, value: list[Any], path: Path, frame: _Frame) -> None:
        rod = self.links[frame.link].rod
        assert isinstance(rod, Rod)
        ends = np.cumsum([0.0, *(np.real(one.length) for one in rod.divisions)]) / np.real(rod.length)
        for i, entry in enumerate(value):
            self.visit(
                type.within(i), entry, (*path, i), frame._replace(start=float(ends[i]), end=float(ends[i + 1])), {}
            )

    def add(
        self, handle: Handle, value: Mapping[str, Any], path: Path, types: Mapping[str, Any], frame: _Frame
    ) -> None:
        """A handle of a part, or several; none where its numbers are formulas."""
        beside = sum((_number(value[key], "length") * vector for key, vector in handle.beside.items()), np.zeros(3))
        numbers, columns, apart = list[Number](), list[Array](), handle.apart
        for key, vectors in handle.keys.items():
            type, given = types[key], value[key]
            if spread := type.spread(given):
                for inner, part in spread:
                    number = _number_at(type, given, (*path, key), inner)
                    if number is not None:
                        self.keep([number], [vectors], beside, frame, part)
                return
            rows = vectors[None] if vectors.ndim == 1 else vectors
            for i, vector in enumerate(rows):
                number = _number_at(type, given, (*path, key), (i,) if isinstance(given, list) else ())
                if number is None:
                    return
                numbers.append(number)
                columns.append(vector)
        for chosen in [[i] for i in range(len(numbers))] if apart else [list(range(len(numbers)))]:
            own = [columns[i] for i in chosen]
            self.keep([numbers[i] for i in chosen], own, beside, frame, handle.s, handle.carried)

    def keep(
        self, numbers: list[Number], columns: list[Array], beside: Array, frame: _Frame, part: float,
        carried: bool = False,
    ) -> None:  # fmt: skip
        axes = np.stack(columns, axis=1)
        local = beside if carried else axes @ [number.value for number in numbers] + beside
        g = frame.g
        placed = PlacedHandle(tuple(numbers), frame.link, frame.s(part), g[:3, :3] @ local + g[:3, 3], g[:3, :3] @ axes)
        self.found.append(placed)

    def along(self, type: Type, value: Any, path: Path, frame: _Frame) -> None:
        """A place on a rod."""
        number = _number_at(type, value, path, ())
        link = self.links.get(frame.link)
        if number is not None and link is not None and link.rod is not None:
            self.found.append(PlacedHandle((number,), frame.link, number.value, np.zeros(3), np.zeros((3, 1)), True))


SPAN = ("from", 0.0), ("to", 1.0)


def _handles(cls: Any) -> tuple[Handle, ...]:
    """Handles of a class, those of parts whose keys stand among its own included."""
    out = tuple(getattr(cls, "handles", ()))
    for key in cls.declaration().values() if isinstance(cls, type) and issubclass(cls, Declared) else ():
        if isinstance(key.type, PartsOrKeys):
            out += _handles(key.type.type.cls)
        elif isinstance(key.type, Flat):
            out += _handles(key.type.cls)
    return out


def _type_in(cls: Any, name: str) -> Type | None:
    """Type of a key of a class; of a plug-in's the quantity that it names."""
    if isinstance(cls, type) and issubclass(cls, Declared):
        return Part(cls).within(name)
    dimension = getattr(cls, "quantities", {}).get(name)
    return None if dimension is None else Quantity(dimension)


def _class_of(type: Type, value: Mapping[str, Any]) -> type[Declared] | None:
    """The class of parts that a mapping is one of."""
    if isinstance(type, Part):
        return type.cls
    found = (cls for one in type.shapes() if (cls := _class_of(one, value)) is not None)
    return next((cls for cls in found if set(value) <= set(cls.key_names())), None)


def _number(value: Any, dimension: str) -> float:
    return float(np.real(quantity(value, dimension)))


def _number_at(type: Type, value: Any, path: Path, inner: Path) -> Number | None:
    """The number at a path inside a value; None where a formula or nothing stands there."""
    own: Any = type
    for key in inner:
        own = own.within(key) or type
    dimension = getattr(own, "dimension", getattr(type, "dimension", None))
    try:
        return None if dimension is None else Number((*path, *inner), _number(at_path(value, inner), dimension), own)
    except SorosimError:
        return None


def _matrix(pose: Any) -> Array:
    """Pose (4, 4) of data that were read before."""
    keys = ("position", "rotation")
    given = {key: entry for key, entry in pose.items() if key in keys} if isinstance(pose, Mapping) else {}
    if isinstance(pose, list):
        out = np.eye(4)
        for one in pose:
            out = out @ _matrix(one)
        return out
    return np.real(Pose.read(given, At(Scope())).matrix()) if given else np.eye(4)


def _in_section(hole: Mapping[str, Any]) -> Array:
    """Pose (4, 4) of a hole in the section."""
    g, angle = np.eye(4), _number(hole.get("angle", 0.0), "angle")
    g[1:3, 3] = [_number(hole.get(key, 0.0), "length") for key in ("y", "z")]
    g[1:3, 1:3] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return g


# -- what the file says of them ----------------------------------------------------------------------------------------

_WRITTEN = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*")
_PARTS = (1.0, 2.0, 5.0, 10.0)
DIGITS = 10  # of a number that is written


class Written(NamedTuple):
    """A number as a file writes it: where, and in which unit; or why it cannot be changed there."""

    path: Path
    unit: str = ""
    factor: float = 1.0  # SI units in one of its own
    why: str = ""  # "" if it can

    def text(self, x: float) -> str:
        """A value [SI] as the file writes it."""
        number = f"{x / self.factor:.{DIGITS}g}"
        return f"{number} {self.unit}" if self.unit else number

    def rounded(self, x: float, step: float) -> float:
        """A value [SI] to the multiples of a round step, in the file's own unit, of at most `step` [SI]."""
        own = round_step(step / self.factor)
        return float(f"{round(x / self.factor / own) * own:.{DIGITS}g}") * self.factor


def round_step(most: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is no larger."""
    power = 10.0 ** np.floor(np.log10(most))
    return float(max(part * power for part in _PARTS if part * power <= most * (1.0 + 1e-9)))


def written_at(robot: Robot, number: Number, data: Any, file: str) -> Written:
    """Where a number stands in the text of a file, whose plain data are given.

    A number that a parameter alone says stands where the parameter is defined; what is computed stands nowhere.
    """
    place = robot.description.document.expanded.places.place(number.path)
    if place.file != file:
        return Written(place.path, why=f"it is not of {file}, but of {place.file or 'Python'}")
    path, why = defined_at(place.path, data)
    if why:
        return Written(path, why=why)
    return _as_written(path, at_path(data, path), getattr(number.type, "dimension", "length"))


def _as_written(path: Path, raw: Any, dimension: str) -> Written:
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        return Written(path)
    if raw is None or isinstance(raw, list | dict):
        return Written(path, why="it is not written as a number")
    match = _WRITTEN.fullmatch(str(raw))
    try:
        one = 1.0 if match is None or not match[2] else quantity(f"1 {match[2]}", dimension)
    except SorosimError:
        match = None
    if match is None:
        return Written(path, why=f"it is computed: {raw}")
    return Written(path, match[2], one)
