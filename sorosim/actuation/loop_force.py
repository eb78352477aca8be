"""Motors in the joints that close loops: a moment or a force along one of their directions."""

from __future__ import annotations

from dataclasses import dataclass

from sorosim.errors import ModelError, nearest
from sorosim.model.joint import COORDINATES, Joint
from sorosim.validation import describe


@dataclass(frozen=True)
class LoopForce:
    """A motor in a loop; its input is the moment [N m] or force [N] on the frame `a`, its reaction acts on `b`.

    Parameters
    ----------
    loop : str
        Name of a loop with a revolute, prismatic, helical or cylindrical joint.
    along : str
        Of a cylindrical one: ``angle`` or ``slide``.
    """

    loop: str
    along: str = ""

    def __post_init__(self) -> None:
        for name in ("loop", "along"):
            if not isinstance(getattr(self, name), str):
                raise ModelError(f"loop.{name}", "a name", describe(getattr(self, name)))

    def index(self, joint: Joint) -> int:
        """Which direction of the joint it drives; refuses what does not fit."""
        names = [name for name, _ in COORDINATES[joint.kind]]
        if self.along not in names:
            expected = f"one of {', '.join(names)}" if len(names) > 1 else "nothing: the joint has one coordinate"
            raise ModelError("loop.along", expected, f"'{self.along}'", nearest(self.along, names))
        return names.index(self.along)
