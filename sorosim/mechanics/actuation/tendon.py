"""Tendons: strings on free routes through one or several rods (docs/theory.md, 6)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from sorosim.base.arrays import Array
from sorosim.base.declare import Boolean, Choice, Quantity, key
from sorosim.base.errors import ModelError
from sorosim.mechanics.actuation.route import RoutedActuator, rod_of, route_values
from sorosim.mechanics.kernels.rod_actuators import FORCE_INPUT, LENGTH_INPUT, ROUTE_ROW, TENSION_INPUT
from sorosim.mechanics.model.layout import Layout, LinkLayout, Piece

# the first part of its length by which a wound tendon is stretched only takes up slack
SLACK_PART = 1e-4
# what holds the near end of a tendon in a rod that is fed
HOLDERS = ("sheath", "rod")


@dataclass(frozen=True)
class Tendon(RoutedActuator, kind="tendon", title="Tendons"):
    """A cable through one rod or several, pulled at the base of the first; its input is its tension, positive in pull.

    Between two rods it must pass rigid ground only: the next rod is fixed, directly or through fixed rigid links, to
    the tip of the one before. Friction is that of a tendon that is being pulled in (Euler, Eytelwein); the kinks where
    it enters another rod do not count.
    """

    template = "{rod: arm, y: 0, z: 5 mm}"

    _: KW_ONLY
    stiffness: float | None = key(
        Quantity("stiffness", above=0.0),
        "Of the whole tendon. With it the input is the length by which it is wound up at its base, against its length "
        "in the unstrained robot; its tension is unknown.", "20 kN/m", default=None,
    )  # fmt: skip
    friction: float = key(
        Quantity("number", least=0.0),
        "Coefficient of friction along the way; the tension falls from the base as exp(-friction*angle).",
        "0.1",
        default=0.0,
    )
    pushes: bool = key(
        Boolean(),
        "Whether it carries negative tension, as a push rod; if not, it is slack then.",
        "true",
        default=False,
    )

    held: str = key(
        Choice(HOLDERS),
        "What holds its near end in a rod that is fed: the end of the sheath, so that the tension pulls the rod back "
        "into it, or the rod itself, as a handle does that moves with it; in the sheath the tendon is parallel to it.",
        "rod",
        default="sheath",
    )

    def validate(self) -> None:
        if self.stiffness is not None and self.friction > 0.0:
            hint = "a tendon with friction takes its tension as input"
            raise ModelError("", "stiffness or friction, one of them", "both", hint)
        if self.stiffness is not None and self.pushes:
            raise ModelError("", "stiffness or pushes, one of them", "both", "a wound tendon is slack or pulls")

    def check(self, layout: Layout) -> None:
        """Refuse what does not fit the robot."""
        super().check(layout)
        if self.held == "sheath":
            return
        first = self.path[0]
        joint = rod_of("tendon.rod", first.rod, layout).link.joint
        if not joint.is_sheathed:
            hint = "leave the key out: other tendons are held where they begin"
            raise ModelError("held", "a tendon that begins in a rod that is fed", f"the joint {joint.kind}", hint)
        if first.start > 0.0:
            hint = "one that is held on the rod runs through the sheath"
            raise ModelError("held", "a tendon from the base of its rod on", f"one from {first.start:g} on", hint)

    @property
    def only_pulls(self) -> bool:
        """Whether its input is a tension, of which negative values do nothing."""
        return self.stiffness is None and not self.pushes

    @property
    def unit(self) -> str:
        """Unit of its input."""
        return "N" if self.stiffness is None else "m"

    def rows(self, link: LinkLayout, piece: Piece, X: Array) -> list[tuple[int, Array]]:
        """Kind and values (n, 15) of its rows at arclengths X (n,) in a division, without weights."""
        return [(ROUTE_ROW, route_values(run.route(link, piece, X), 1.0)) for run in self.segments_in(link, piece)]

    def input(self, length: float) -> tuple[float, ...]:
        """What its input is, from its length in the unstrained robot [m]; see kernels.rod_actuators."""
        if self.stiffness is not None:
            return LENGTH_INPUT, self.stiffness, length, SLACK_PART * length
        return FORCE_INPUT if self.pushes else TENSION_INPUT, 0.0, 0.0, 1.0
