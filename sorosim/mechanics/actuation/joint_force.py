"""Motors in joints: a moment or a force along one direction of a joint (docs/theory.md, 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sorosim.base.compiled import table
from sorosim.base.declare import INVALID, At, Reference, Text, key
from sorosim.base.errors import ModelError, nearest
from sorosim.base.problems import shown
from sorosim.base.registry import JOINTS
from sorosim.mechanics.actuation.base import DeclaredActuator
from sorosim.mechanics.kernels.joints import JOINT_LAW, MOTOR, Laws
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.layout import Layout


def joint_kind(entry: Mapping[str, object]) -> Any:
    """The kind of joint that a part of a file has, None if it is wrong."""
    joint = entry.get("joint", "fixed")
    name = next(iter(joint), "") if isinstance(joint, Mapping) and len(joint) == 1 else joint
    return JOINTS.get(name) if isinstance(name, str) and name in JOINTS else None


def moves(entry: Mapping[str, object]) -> bool:
    """Whether the joint of a link of a file has coordinates; true if its entry is wrong."""
    kind = joint_kind(entry)
    return kind is None or bool(kind.directions)


def check_direction(at: At, kind: Any, along: Any, name: str = "along") -> bool:
    """Whether a direction, the key `name`, is one of a kind of joint; if not, that is noted."""
    own = [name for name, _ in kind.directions]
    if len(own) == 1 and along is not None:
        (at / name).fail("no direction", shown(along), f"a {kind.kind} joint has one coordinate")
    elif len(own) > 1 and along is None:
        hint = f"a {kind.kind} joint has {len(own)} coordinates: {', '.join(own)}"
        at.fail(f"the key '{name}'", "nothing", hint)
    else:
        return len(own) == 1 or (at / name).known(f"a direction of a {kind.kind} joint", along or "", own)
    return False


class MovingLink(Reference):
    """The name of a link whose joint moves."""

    def read(self, value: Any, at: At) -> Any:
        names = at.scope.names("links")
        entry = at.scope.entry("links", value) if isinstance(value, str) else None
        if names is not None and value in names and entry is not None and not moves(entry):
            moving = [name for name in names if moves(at.scope.entry("links", name) or {"joint": None})]
            return at.fail(self.what, f"{shown(value)}, whose joint is fixed", nearest(value, moving))
        return super().read(value, at)


class Coordinate(Text):
    """Name of a coordinate of a joint; "" for the only one."""

    def check(self, value: object) -> str:
        return "" if isinstance(value, str) and value == "" else super().check(value)


class Motor(DeclaredActuator):
    """A motor along one direction of a joint."""

    owner: ClassVar[str] = "link"  # key of what has the joint; in a file that is in the block of this name with an s
    units: ClassVar[Mapping[str, str]] = {"angle": "N m", "length": "N"}  # of its input, by the direction's dimension
    along: str

    @classmethod
    def read_keys(cls, data: Mapping[str, object], at: At, **values: object) -> Any:
        out, name = super().read_keys(data, at, **values), data.get(cls.owner)
        entry = at.scope.entry(f"{cls.owner}s", name) if isinstance(name, str) else None
        kind = None if entry is None else joint_kind(entry)
        if out is not INVALID and kind is not None and not check_direction(at, kind, data.get("along")):
            return INVALID
        return out

    def unit_in(self, joint: Joint) -> str:
        """Unit of its input in a joint."""
        return self.units[dict(joint.directions)[self.along]]

    def index_in(self, joint: Joint) -> int:
        """Which coordinate of the joint it drives; refuses a name that is none of them."""
        names = [name for name, _ in joint.directions]
        if self.along not in names:
            expected = f"one of {', '.join(names)}" if len(names) > 1 else "nothing: the joint has one coordinate"
            raise ModelError("along", expected, f"'{self.along}'", nearest(self.along, names))
        return names.index(self.along)


@dataclass(frozen=True)
class JointForce(Motor, kind="joint", title="Motors in joints"):
    """A motor in a joint; its input is the moment [N m] or the force [N] on the link, its reaction acts on the parent.

    `along` is ``angle`` or ``slide`` of a cylindrical joint, ``first`` or ``second`` of a universal one, ``tx``, ``ty``
    or ``angle`` of a planar one, ``rx``, ``ry`` or ``rz`` of a spherical one, these or ``tx``, ``ty`` or ``tz`` of a
    free one. Of spherical, planar and free joints `along` is the direction of that name in the frame that the joint
    moves.
    """

    link: str = key(MovingLink("links", "a link whose joint moves", fits=moves), "Link whose joint it drives.", "lid")
    along: str = key(
        Coordinate("a direction of the joint"), "Which coordinate of a joint of several: the last word of its name.",
        "rx", default="",
    )  # fmt: skip

    def index(self, layout: Layout) -> int:
        """Which coordinate of the joint it drives; refuses what does not fit the robot."""
        link = layout.links.get(self.link)
        if link is None or link.n_joint == 0:
            moving = [name for name, other in layout.links.items() if other.n_joint]
            raise ModelError("link", "a link whose joint moves", f"'{self.link}'", nearest(self.link, moving))
        return self.index_in(link.link.joint)

    def law(self, layout: Layout, actuator: int, at: int) -> tuple[tuple[int, ...], list[float]]:
        """Row of kernels.joints.Laws, its values from `at` on, and these."""
        index, link = self.index(layout), layout.links[self.link]
        joint, blocks = link.link.joint, link.joint_blocks
        k = joint.stage_of(index)
        turned = blocks[k + 1] if joint.turns_after(k) else -1
        return (MOTOR, blocks[k], at, index - joint.stages[k].first, actuator, turned), []


def compile_motors(motors: Mapping[int, JointForce], names: Sequence[str], layout: Layout, laws: Laws) -> Laws:
    """Laws with motors, by actuator index, among them."""
    rows, values = [], laws.value.tolist()
    for actuator, motor in motors.items():
        try:
            row, own = motor.law(layout, actuator, len(values))
        except ModelError as error:
            raise error.inside(f"actuators.{names[actuator]}") from None
        rows.append(row)
        values += own
    return Laws(np.concatenate([laws.row, table(JOINT_LAW, rows)]), np.array(values, dtype=laws.value.dtype))
