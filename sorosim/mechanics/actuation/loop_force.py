"""Motors in the joints that close loops: a moment or a force along one of their directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sorosim.base.declare import At, Reference, key
from sorosim.base.problems import listed, shown
from sorosim.base.registry import JOINTS
from sorosim.mechanics.actuation.joint_force import Coordinate, Motor, joint_kind


def can_be_driven(entry: Mapping[str, object]) -> bool:
    """Whether a motor may act in the joint of a loop of a file; true if its entry is wrong."""
    kind = joint_kind(entry)
    return kind is None or kind.takes_springs_in_loop()


class DrivenLoop(Reference):
    """The name of a loop in which a motor may act."""

    def read(self, value: object, at: At) -> Any:
        entry = at.scope.entry("loops", value) if isinstance(value, str) else None
        if entry is not None and not can_be_driven(entry):
            kinds = [name for name, kind in JOINTS.declared().items() if kind.takes_springs_in_loop()]
            return at.fail(f"a loop with a {listed(kinds)} joint", f"{shown(value)}, which is {joint_kind(entry).kind}")
        return super().read(value, at)


@dataclass(frozen=True)
class LoopForce(Motor, kind="loop", title="Motors in loops"):
    """A motor in the joint of a loop; its input is a moment or a force on frame a, its reaction acts on b."""

    loop: str = key(
        DrivenLoop("loops", "the name of a loop"),
        "Loop whose joint it drives: a revolute, prismatic, helical or cylindrical one.",
        "sleeve",
    )
    along: str = key(
        Coordinate("a direction of the joint"), "Which coordinate of a cylindrical one: angle or slide.", "slide",
        default="",
    )  # fmt: skip

    owner: ClassVar[str] = "loop"
