"""Joints of a file, and the motors in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sorosim.actuation.joint_force import JointForce
from sorosim.actuation.loop_force import LoopForce
from sorosim.actuation.servo import Servo
from sorosim.errors import nearest
from sorosim.io.schema import LinkBlock
from sorosim.io.schema_actuators import MotorBlock, ServoBlock
from sorosim.io.schema_joints import DIMENSIONS_OF, MovingJoint, kind_of
from sorosim.model.denavit_hartenberg import RowJoint, row_joint
from sorosim.model.joint import COORDINATES, Joint
from sorosim.problems import Collector, Path, shown
from sorosim.units.quantity import quantity

_EFFORTS = {"angle": "moment", "length": "force"}


def joint_of(block: str | MovingJoint, row: RowJoint | None = None) -> Joint:
    """A joint; a row of Denavit-Hartenberg parameters has its axis."""
    if isinstance(block, str):
        return Joint(block)
    given = dict(block.chosen)
    if row is not None:
        given["axis"] = tuple(row.axis.tolist())
        if block.kind == "revolute":
            given["through"] = tuple(row.through.tolist())
    return Joint(block.kind, **given)


def row_of(block: LinkBlock) -> RowJoint | None:
    """Where the row of a link's Denavit-Hartenberg table puts it and its joint; None of a link without one."""
    if block.dh is None:
        return None
    a, alpha, d, theta = block.dh.chosen
    return row_joint(block.dh.kind, kind_of(block.joint), a, alpha, d, theta)


def motor_of(
    todo: Collector, path: Path, block: MotorBlock, links: Mapping[str, LinkBlock], names: Collection[str]
) -> JointForce | None:
    """A motor; None if it is wrong, or if its link is.

    Parameters
    ----------
    links : mapping
        Those that are right so far.
    names : collection of str
        Of all links of the file.
    """
    moving = [name for name in names if name not in links or kind_of(links[name].joint) != "fixed"]
    if block.link in names and block.link not in moving:
        got, hint = f"{shown(block.link)}, whose joint is fixed", nearest(block.link, moving)
        todo.add((*path, "link"), "a link whose joint moves", got, hint)
        return None
    if not todo.known((*path, "link"), "a link whose joint moves", block.link, moving) or block.link not in links:
        return None
    along = direction_of(todo, path, block.along, kind_of(links[block.link].joint))
    return None if along is None else JointForce(block.link, along)


def servo_of(
    todo: Collector, path: Path, block: ServoBlock, links: Mapping[str, LinkBlock], names: Collection[str]
) -> Servo | None:
    """A servo; None if it is wrong, or if its link is. See `motor_of`."""
    motor = motor_of(todo, path, block, links, names)
    if motor is None:
        return None
    dimension = dict(COORDINATES[kind_of(links[motor.link].joint)])[motor.along]
    found: dict[str, float | None] = {}
    for name, of in (
        ("stiffness", DIMENSIONS_OF["stiffness"]),
        ("damping", DIMENSIONS_OF["damping"]),
        ("limit", _EFFORTS),
    ):
        if (value := getattr(block, name)) is not None:
            found[name] = todo.attempt((*path, name), lambda v=value, d=of[dimension]: quantity(v, d))  # type: ignore[misc]
    if None in found.values():
        return None
    return todo.attempt(path, lambda: Servo(motor.link, motor.along, **found))  # type: ignore[arg-type]


def direction_of(todo: Collector, path: Path, along: str | None, kind: str) -> str | None:
    """Which coordinate of a kind of joint a motor drives; None if that is not said, or wrong."""
    own = [name for name, _ in COORDINATES[kind]]
    if len(own) == 1 and along is not None:
        todo.add((*path, "along"), "no direction", shown(along), f"a {kind} joint has one coordinate")
    elif len(own) > 1 and along is None:
        todo.add(path, "the key 'along'", "nothing", f"a {kind} joint has {len(own)} coordinates: {', '.join(own)}")
    elif len(own) == 1 or todo.known((*path, "along"), f"a direction of a {kind} joint", along or "", own):
        return along or ""
    return None


def effort_of(motor: JointForce | LoopForce, joint: str | MovingJoint) -> str:
    """Dimension of the input of a motor in a joint: moment or force."""
    return _EFFORTS[dict(COORDINATES[kind_of(joint)])[motor.along]]
