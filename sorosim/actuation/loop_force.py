"""Motors in the joints that close loops: a moment or a force along one of their directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sorosim.actuation.base import DeclaredActuator
from sorosim.actuation.joint_force import Coordinate, check_direction, joint_kind
from sorosim.declare import WRONG, At, Reference, key
from sorosim.errors import ModelError, nearest
from sorosim.model.joints import Joint
from sorosim.problems import listed, shown
from sorosim.registry import JOINTS


def can_be_driven(entry: Mapping[str, Any]) -> bool:
    """Whether a motor may act in the joint of a loop of a file; true if its entry is wrong."""
    kind = joint_kind(entry)
    return kind is None or kind.takes_springs_in_loop()


class DrivenLoop(Reference):
    """The name of a loop in which a motor may act."""

    def read(self, value: Any, at: At) -> Any:
        entry = at.scope.entry("loops", value) if isinstance(value, str) else None
        if entry is not None and not can_be_driven(entry):
            kinds = [name for name, kind in JOINTS.declared().items() if kind.takes_springs_in_loop()]
            return at.fail(f"a loop with a {listed(kinds)} joint", f"{shown(value)}, which is {joint_kind(entry).kind}")
        return super().read(value, at)


@dataclass(frozen=True)
class LoopForce(DeclaredActuator, kind="loop", title="Motors in loops"):
    """A motor in the joint of a loop; its input is a moment or a force on frame a, its reaction acts on b."""

    loop: str = key(
        DrivenLoop("loops", "the name of a loop"),
        "Loop whose joint it drives: a revolute, prismatic, helical or cylindrical one.", "sleeve",
    )  # fmt: skip
    along: str = key(
        Coordinate("a direction of the joint"), "Which coordinate of a cylindrical one: angle or slide.", "slide",
        default="",
    )  # fmt: skip

    @classmethod
    def read_keys(cls, data: Mapping[str, Any], at: At, **values: Any) -> Any:
        out = super().read_keys(data, at, **values)
        entry = at.scope.entry("loops", data["loop"]) if isinstance(data.get("loop"), str) else None
        kind = None if entry is None else joint_kind(entry)
        if out is not WRONG and kind is not None and not check_direction(at, kind, data.get("along")):
            return WRONG
        return out

    def unit_in(self, joint: Joint) -> str:
        """Unit of its input in a joint."""
        return {"angle": "N m", "length": "N"}[dict(joint.coordinates)[self.along]]

    def index(self, joint: Joint) -> int:
        """Which direction of the joint it drives; refuses what does not fit."""
        names = [name for name, _ in joint.coordinates]
        if self.along not in names:
            expected = f"one of {', '.join(names)}" if len(names) > 1 else "nothing: the joint has one coordinate"
            raise ModelError("along", expected, f"'{self.along}'", nearest(self.along, names))
        return names.index(self.along)
