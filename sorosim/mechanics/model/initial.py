"""Where rods start: points that they pass through. What a file says is kept; shapes are found at their first use."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from sorosim.base.declare import Choice, Declared, ListOf, Quantity, Vector, key
from sorosim.base.errors import ModelError
from sorosim.base.validation import counted
from sorosim.mechanics.model.layout import LinkLayout
from sorosim.mechanics.model.rod import Rod

JOINT, WORLD = FRAMES = ("joint", "world")


@dataclass(frozen=True)
class InitialShape(Declared, title="Initial shapes"):
    """Points that a rod passes through: where it starts is the nearest shape of about the least elastic energy."""

    through: tuple[tuple[float, ...], ...] = key(
        ListOf(Vector("length"), "a list of points"),
        "Points on the centreline, from base to tip.",
        "[[0, 0, 0], [20 cm, 0, -5 cm], [40 cm, 0, 0]]",
    )
    _: KW_ONLY
    arc_lengths: tuple[float, ...] | None = key(
        ListOf(Quantity("length", least=0.0)), "Where on the unloaded rod each point is, from the base, increasing.",
        "[0, 25 cm, 50 cm]", default=None,
        without="the first one at the base where the joint lets it be there, the last one at the tip, others anywhere",
    )  # fmt: skip
    frame: str = key(
        Choice(FRAMES), "Frame of the points: that of the joint on the parent, or the world.", "world", default=JOINT
    )

    def validate(self) -> None:
        if self.arc_lengths is None:
            return
        if len(self.arc_lengths) != len(self.through):
            expected = f"{counted(len(self.through), 'arc length')}, one a point"
            raise ModelError("arc_lengths", expected, f"{len(self.arc_lengths)}")
        if not all(a < b for a, b in zip(self.arc_lengths, self.arc_lengths[1:], strict=False)):
            raise ModelError("arc_lengths", "arc lengths that increase", f"{list(self.arc_lengths)}"[:60])


def has_fixed_length(link: LinkLayout) -> bool:
    """Whether a link is a rod, not a set of tubes, whose length is no coordinate."""
    return isinstance(link.link.body, Rod) and not link.link.joint.changes_length
