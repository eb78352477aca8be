"""Poses as descriptions are given them: arrays, or a position and a rotation in one of four ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.complex_step import is_varying, number_type
from sorosim.base.declare import (
    INVALID,
    At,
    Boolean,
    Declared,
    Fraction,
    Key,
    ListOf,
    Name,
    Part,
    Quantity,
    Type,
    Vector,
    Writer,
    key,
)
from sorosim.base.declare.handle import IN_SPACE, Handle
from sorosim.base.errors import ModelError
from sorosim.base.problems import shown
from sorosim.base.validation import LARGEST, describe

# entries of a matrix in a file are rounded: this far from a rotation it is taken for its nearest one
MATRIX_TOLERANCE = 1e-3
EXACT = 1e-9  # a matrix that is this near already is taken as it is
WORLD = "world"
IDENTITY = np.eye(4)
IDENTITY.setflags(write=False)


@dataclass(frozen=True)
class Direction(Vector):
    """A list of three numbers, scaled to length 1."""

    dimension: str = "number"

    def check(self, value: Any) -> tuple[float, ...]:
        vector = np.array(super().check(value))
        # scaling first: squares of tiny or huge entries would under- or overflow
        largest = np.abs(vector).max()
        if largest == 0.0:
            raise ModelError("", "a direction of some length", shown(list(value)))
        if abs(vector @ vector - 1.0) > 1e-15 or is_varying():  # one of length 1 stays as it is
            vector = vector / largest
            vector = vector / np.sqrt(vector @ vector)
        return tuple(vector) if is_varying() else tuple(vector.tolist())


def check_pose(where: str, value: object) -> Array:
    """Return a read-only (4, 4) pose, refusing what is not a rotation and a translation."""
    try:
        g = np.array(value, dtype=number_type())
    except (TypeError, ValueError):
        raise ModelError(where, "a pose, a (4, 4) array", describe(value)) from None
    if g.shape != (4, 4) or not np.isfinite(g).all():
        raise ModelError(where, "a pose, a (4, 4) array of finite numbers", f"shape {g.shape}")
    if np.abs(g).max() > LARGEST:
        raise ModelError(where, f"a pose of numbers up to {LARGEST:g}", f"{np.abs(g).max():g}", "look for a wrong unit")
    R = g[:3, :3]
    if np.abs(R @ R.T - np.eye(3)).max() > EXACT or np.linalg.det(R) < 0.0 or not np.array_equal(g[3], [0, 0, 0, 1]):
        raise ModelError(where, "a rotation matrix, a position and the row 0 0 0 1", describe(g.tolist()))
    g = g + 0.0  # no -0
    g.setflags(write=False)
    return g


# -- as files write them -----------------------------------------------------------------------------------------------


_THREE = Vector("number")


@dataclass(frozen=True)
class Rotation(Declared, title="Rotations"):
    """A rotation by axis and angle, by roll, pitch and yaw, by a quaternion, or by a matrix."""

    axis: Any = key(_THREE, "Direction to turn about, with angle.", "[0, 0, 1]", default=None)
    angle: Any = key(Quantity("angle"), "Angle to turn by, with axis.", "90 deg", default=None)
    rpy: Any = key(
        Vector("angle"), "Roll about x, then pitch about y, then yaw about z, all axes of the parent, as in URDF.",
        "[0, 0, 90 deg]", default=None,
    )  # fmt: skip
    quaternion: Any = key(Vector("number", (4,)), "[w, x, y, z] of any length.", "[1, 0, 0, 1]", default=None)
    matrix: Any = key(ListOf(_THREE), "Rotation matrix by rows.", "[[0, -1, 0], [1, 0, 0], [0, 0, 1]]", default=None)

    alternatives = ((("axis", "angle"), "rpy", "quaternion", "matrix"),)

    @classmethod
    def expected(cls) -> str:
        return "{axis, angle}, {rpy}, {quaternion} or {matrix}"

    @classmethod
    def check_keys(cls, data: Mapping[str, object]) -> None:
        forms = [{form} if isinstance(form, str) else set(form) for form in cls.alternatives[0]]
        if set(data) <= set(cls.key_names()) and set(data) not in forms:
            raise ModelError("", cls.expected(), shown(data))

    @property
    def R(self) -> Array:
        """Rotation matrix (3, 3)."""
        if self.axis is not None and self.angle is not None:
            try:
                return _about(np.array(Direction().check(self.axis)), self.angle)
            except ModelError as error:
                raise error.inside("axis") from None
        if self.rpy is not None:
            roll, pitch, yaw = (_about(axis, angle) for axis, angle in zip(np.eye(3), self.rpy, strict=True))
            return np.array(yaw @ pitch @ roll)
        return _of_quaternion(self.quaternion) if self.quaternion is not None else _nearest_rotation(self.matrix)


def _about(axis: Array, angle: float) -> Array:
    """Rodrigues' formula; the cosine as 1 - 2 sin^2, exact for small angles."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.array(np.eye(3) + np.sin(angle) * K + 2.0 * np.sin(0.5 * angle) ** 2 * K @ K)


def _of_quaternion(quaternion: tuple[float, ...]) -> Array:
    largest = max(abs(entry) for entry in quaternion)
    if largest == 0.0:
        raise ModelError("quaternion", "a quaternion [w, x, y, z] of some length", shown(list(quaternion)))
    scaled = np.array(quaternion) / largest
    w, x, y, z = scaled / np.sqrt(scaled @ scaled)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.array(np.eye(3) + 2.0 * w * K + 2.0 * K @ K)


def _nearest_rotation(rows: object) -> Array:
    R = np.array(rows, dtype=number_type())
    if R.shape != (3, 3):
        raise ModelError("matrix", "three rows of three numbers", f"{len(R)} rows")
    if not np.abs(R).max() <= 2.0 or np.abs(R @ R.T - np.eye(3)).max() > MATRIX_TOLERANCE:
        raise ModelError("matrix", "a rotation matrix", "rows that are not perpendicular unit vectors")
    if np.linalg.det(R.real) < 0.0:
        raise ModelError("matrix", "a rotation matrix", "a reflection", "its determinant is -1")
    U, sigma, Vt = np.linalg.svd(R.real)
    nearest = R.real if np.abs(R @ R.T - np.eye(3)).max() <= EXACT else np.array(U @ Vt)
    if not is_varying():
        return nearest
    # dR = U W V^T, W_ij = (Y_ij - Y_ji) / (sigma_i + sigma_j), Y = U^T dM V (polar factor, docs/theory.md, 13)
    Y = U.T @ R.imag @ Vt.T
    return np.array(nearest + 1j * (U @ ((Y - Y.T) / np.add.outer(sigma, sigma)) @ Vt))


@dataclass(frozen=True)
class Pose(Declared, title="Frames, and poses of shapes"):
    """A pose in the frame of a link."""

    position: tuple[float, ...] = key(
        Vector("length"), "Origin in the frame of the link.", "[0, 0, 1 cm]", default=(0.0, 0.0, 0.0)
    )
    rotation: Any = key(
        Part(Rotation), "Rotation from the axes of the link.", "{axis: [1, 0, 0], angle: 90 deg}", default=None
    )
    handles = (Handle(position=IN_SPACE),)

    def matrix(self) -> Array:
        """Pose (4, 4)."""
        g = np.eye(4, dtype=number_type())
        g[:3, 3] = self.position
        if self.rotation is not None:
            try:
                g[:3, :3] = self.rotation.R
            except ModelError as error:
                raise error.inside("rotation") from None
        g += 0.0  # no -0
        g.setflags(write=False)
        return g


@dataclass(frozen=True)
class PoseOnLink(Pose, title="Poses"):
    """A pose on a link: seen from a place on a rod, or from a named frame of a rigid link."""

    s: float | None = key(
        Fraction(), "Place on a parent rod, 0 at its base, 1 at its tip.", "0.5", default=None, without="`1`, the tip"
    )
    frame: str | None = key(
        Name(), "Name of one of the parent's frames; position and rotation are seen from it.", "top", default=None
    )


@dataclass(frozen=True)
class PoseAsBuilt(PoseOnLink, title="Poses as built"):
    """A pose on a link, or where frame a is as the robot is built."""

    as_built: bool = key(
        Boolean(),
        "Instead of position and rotation: where frame a is when all coordinates are zero.",
        "true",
        default=False,
    )

    @classmethod
    def check_keys(cls, data: Mapping[str, object]) -> None:
        if data.get("as_built") is True and {"position", "rotation"} & set(data):
            raise ModelError("", "as_built or a pose, one of them", "both", "leave position and rotation out")


AS_BUILT = "as built"


class OnLink(NamedTuple):
    """A pose on a link as it was read: the pose, the place s and the frame, where they are given."""

    at: Any  # (4, 4), or "as built"
    s: float | None
    frame: str


@dataclass(frozen=True)
class PoseType(Type):
    """A pose: a mapping, or in Python also a (4, 4) array."""

    def read(self, value: object, at: At) -> Any:
        if isinstance(value, np.ndarray):
            return at.attempt(lambda: check_pose("", value))
        if isinstance(value, list | tuple) and not at.scope.is_file:
            return at.attempt(lambda: check_pose("", value))
        pose = Pose.read(value, at)
        return INVALID if pose is INVALID else at.attempt(pose.matrix)

    def give(self, value: Any, key: Key, writer: Writer) -> dict[str, Any]:
        found = pose_data(value)
        return {key.name: found} if found else {}

    def write(self, value: Any, writer: Writer) -> Any:
        return pose_data(value)

    def shapes(self) -> tuple[Type, ...]:
        return (Part(Pose),)


@dataclass(frozen=True)
class PlaceType(Type):
    """A pose on a link: a mapping that may have `s` and `frame`, or a list of mappings, one after the other.

    Parameters
    ----------
    of : str
        The key beside it that names the link; ``parent`` or ``link``.
    built : bool
        Whether it may be taken as built.
    """

    of: str = "link"
    built: bool = False

    def read(self, value: object, at: At) -> Any:
        if isinstance(value, OnLink):
            return value
        if isinstance(value, str) and value == AS_BUILT and not at.scope.is_file:
            return OnLink(AS_BUILT, None, "")
        is_matrix = isinstance(value, np.ndarray) or (isinstance(value, list | tuple) and not _is_list_of_poses(value))
        if is_matrix and not at.scope.is_file:
            pose = at.attempt(lambda: check_pose("", value))
            return INVALID if pose is INVALID else OnLink(pose, None, "")
        several = isinstance(value, list | tuple)
        kind = PoseAsBuilt if self.built and not several else PoseOnLink
        found = [(kind.read(entry, here), here) for entry, here in _entries(value, at, several)]
        if any(pose is INVALID for pose, _ in found):
            return INVALID
        n_problems, matrices = len(at.scope.problems), []
        link = _link_of(at, self.of)
        for i, (pose, here) in enumerate(found):
            for name in ("s", "frame"):
                if getattr(pose, name) is not None and i > 0:
                    what = f"no {'place s' if name == 's' else name}"
                    (here / name).fail(what, "one", "only the first pose of a list has one")
            matrices.append(here.attempt(pose.matrix))
        first, here = found[0] if found else (PoseOnLink(), at)
        if first.s is not None:
            check_place(here / "s", link)
        if first.frame is not None:
            check_frame(here / "frame", first.frame, link)
        if len(at.scope.problems) > n_problems:
            return INVALID
        is_built = getattr(first, "as_built", False)
        return OnLink(AS_BUILT if is_built else chained(matrices), first.s, first.frame or "")

    def write(self, value: Any, writer: Writer) -> Any:
        return pose_data(value.at if isinstance(value, OnLink) else value)

    def shapes(self) -> tuple[Type, ...]:
        return Part(PoseAsBuilt if self.built else PoseOnLink), ListOf(Part(PoseOnLink))


def _is_list_of_poses(value: Any) -> bool:
    return all(isinstance(entry, Mapping) for entry in value)


def _entries(value: Any, at: At, several: bool) -> list[tuple[Any, At]]:
    return [(entry, at / i) for i, entry in enumerate(value)] if several else [(value, at)]


def _link_of(at: At, of: str) -> str:
    """Name of the link beside a place, "" where it is no name."""
    name = at.owner.get(of, WORLD) if isinstance(at.owner, Mapping) else ""
    return name if isinstance(name, str) else ""


def is_rod(entry: Mapping[str, object]) -> bool:
    """Whether a link of a file is a rod."""
    return "rod" in entry or "tubes" in entry


def check_place(at: At, link: str) -> None:
    """Note a place s on what is no rod."""
    entry = at.scope.entry("links", link)
    if at.scope.is_file and (link == WORLD or (entry is not None and not is_rod(entry))):
        at.fail("no place s", "one", f"{shown(link)} is not a rod")


def check_frame(at: At, frame: str, link: str) -> None:
    """Note a frame that the link does not have."""
    entry = at.scope.entry("links", link)
    if at.scope.is_file and (link == WORLD or (entry is not None and is_rod(entry))):
        hint = "the world has none" if link == WORLD else f"{shown(link)} is a rod; say where on it, with s"
        at.fail("no frame", shown(frame), hint)
    elif entry is not None:
        frames = entry.get("frames", {})
        at.known(f"the name of a frame of {shown(link)}", frame, frames if isinstance(frames, Mapping) else ())


@dataclass(frozen=True)
class PlaceOnRod(Fraction):
    """A place on a rod, beside its link."""

    def read(self, value: object, at: At) -> Any:
        found, n_problems = super().read(value, at), len(at.scope.problems)
        if found is not INVALID and isinstance(at.owner, Mapping) and isinstance(at.owner.get("link"), str):
            check_place(at, at.owner["link"])
        return found if len(at.scope.problems) == n_problems else INVALID


@dataclass(frozen=True)
class FrameOnLink(Name):
    """A frame of a link, beside it."""

    def read(self, value: object, at: At) -> Any:
        found, n_problems = (
            "" if isinstance(value, str) and value == "" and not at.scope.is_file else super().read(value, at),
            len(at.scope.problems),
        )
        if found not in (INVALID, "") and isinstance(at.owner, Mapping) and isinstance(at.owner.get("link"), str):
            check_frame(at, found, at.owner["link"])
        return found if len(at.scope.problems) == n_problems else INVALID


def place_fields(part: Any) -> None:
    """Set `at`, `s` and `frame` of a part from what was read at the key `at`, and check them."""
    at, s, frame = part.at, part.s, part.frame
    if isinstance(at, OnLink):
        if at.s is not None:
            s = at.s
        at, frame = at.at, at.frame or frame
    s = 1.0 if s is None else Fraction().check(s)
    if frame is None:
        frame = ""
    elif not isinstance(frame, str):
        raise ModelError("frame", "the name of a frame", shown(frame))
    part._set(at=at, s=s, frame=frame)


def place_data(part: Any, writer: Writer, link: str = "") -> dict[str, Any]:
    """What stands under `at` for a place on a link."""
    out: dict[str, Any] = {"as_built": True} if isinstance(part.at, str) else pose_data(part.at)
    if part.s != 1.0 and (link or part.link) in writer.rods:
        out["s"] = part.s
    if part.frame:
        out["frame"] = part.frame
    return out


def chained(poses: Sequence[Array]) -> Array:
    """Poses (4, 4) one after the other; the identity where there is none."""
    g = poses[0] if poses else np.eye(4)
    for other in poses[1:]:
        g = np.array(g @ other)
        if is_varying():
            continue
        # products of many rotations stay rotations
        U, _, Vt = np.linalg.svd(g[:3, :3])
        g[:3, :3] = U @ Vt + 0.0  # no -0
    return g


# -- as files write them, backwards --------------------------------------------------------------------------------


def pose_data(g: Array) -> dict[str, Any]:
    """A pose (4, 4) as a file writes it, without what is zero."""
    out: dict[str, Any] = {}
    if g[:3, 3].any():
        out["position"] = g[:3, 3].tolist()
    if not np.array_equal(g[:3, :3], np.eye(3)):
        out["rotation"] = rotation_data(g[:3, :3])
    return out


def rotation_data(R: Array) -> dict[str, Any]:
    """A rotation (3, 3) in the first of its forms of short numbers that reads as the same bits, else its matrix."""
    for form in _short_forms(R):
        if np.array_equal(Rotation(**form).R, R):
            return form
    return {"matrix": R.tolist()}


def _short_forms(R: Array) -> Iterator[dict[str, Any]]:
    """Axis and angle, roll, pitch and yaw, or a quaternion that a rotation may have been given by."""
    if is_varying():
        return
    turn = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    size = np.linalg.norm(turn)
    axis = turn / size if size > 1e-6 else np.sqrt(np.maximum(0.5 * (np.diag(R) + 1.0), 0.0))
    angle = np.arctan2(size, np.trace(R) - 1.0)
    alone = np.sum(np.abs(axis) > 1e-9) == 1
    if alone and axis.min() < 0.0:  # [0, 0, 1] by -90 deg is more usual than [0, 0, -1] by 90 deg
        axis, angle = -axis, -angle
    near = (angle, *np.nextafter(angle, (-4.0, 4.0))) if alone else ()
    for short in _shortened(axis):
        for value in (degrees(angle), degrees(angle + 2.0 * np.pi), *map(float, near)):
            yield {"axis": short, "angle": value}
    pitch = degrees(np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0])))
    if np.hypot(R[0, 0], R[1, 0]) > 1e-9:
        yield {"rpy": [degrees(np.arctan2(R[2, 1], R[2, 2])), pitch, degrees(np.arctan2(R[1, 0], R[0, 0]))]}
    else:  # roll and yaw turn about one axis
        roll, yaw = np.arctan2(-R[1, 2], R[1, 1]), np.arctan2(-R[0, 1], R[1, 1])
        for whole in (0.0, 2.0 * np.pi):
            yield {"rpy": [0.0, pitch, degrees(yaw + whole)]}
            yield {"rpy": [degrees(roll + whole), pitch, 0.0]}
    for short in _shortened(np.array([np.cos(0.5 * angle), *np.sin(0.5 * angle) * axis])):
        yield {"quaternion": short}


def degrees(angle: float) -> float | str:
    """An angle in degrees of at most six digits; 0 without a unit."""
    text = f"{np.rad2deg(angle):.6g}"
    return 0.0 if abs(float(text)) < 1e-9 else f"{text} deg"


def _shortened(v: Array) -> list[list[float]]:
    """Multiples of a vector whose largest or smallest entry is one, of at most six digits; the shorter one first."""
    v = np.where(np.abs(v) > 1e-9, v, 0.0)
    sizes = np.abs(v[v != 0.0])
    found = [[float(f"{x / size:.6g}") for x in v] for size in (sizes.max(), sizes.min())]
    return sorted(found, key=lambda short: len(repr(short)))
