"""Springs with dampers between two points, or between a point and the ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from sorosim.base.declare import SignalOf, key
from sorosim.base.errors import ModelError
from sorosim.mechanics.kernels.load_laws import DAMPING, SPRING
from sorosim.mechanics.loads.base import DeclaredLoad
from sorosim.mechanics.loads.compiled import BoundLaw, CompiledLaw, LawRow, split_entries
from sorosim.mechanics.model.anchor import Anchor, AnchorType
from sorosim.mechanics.model.layout import Layout
from sorosim.mechanics.model.link import WORLD

_END = "the name of a link (a rod at its tip), or {link, at}; without a link, in the world."


@dataclass(frozen=True)
class Spring(DeclaredLoad, kind="spring", title="Springs"):
    """A spring with a damper along the line between two points: F = stiffness (l - rest) + damping dl/dt.

    A rest length that is a signal of time makes it an actuator of given length.

    Notes
    -----
    Source: docs/theory.md, 11. Where the points meet it has no direction, and no force.
    """

    template = "{from: arm, to: {at: {position: [0, 0, 1 m]}}, stiffness: 100 N/m, rest: 1 m}"

    a: Anchor = key(AnchorType(), f"One end: {_END}", "arm", name="from")
    b: Anchor = key(AnchorType(), f"The other end: {_END}", "{at: {position: [0, 0, 1 m]}}", name="to")
    _: KW_ONLY
    stiffness: Any = key(
        SignalOf("stiffness", least=0.0), "Force per stretch; a number, an expression of t, a table or a CSV file.",
        "100 N/m", default=0.0,
    )  # fmt: skip
    damping: Any = key(
        SignalOf("damping", least=0.0), "Force per rate of stretching, as the stiffness.", "2 N*s/m", default=0.0
    )
    rest: Any = key(SignalOf("length", least=0.0), "Length without force, as the stiffness.", "10 cm", default=0.0)
    takes_input: ClassVar[bool] = True

    def validate(self) -> None:
        if self.stiffness == 0.0 and self.damping == 0.0:
            raise ModelError("", "a stiffness or a damping", "neither", "for instance stiffness: 100 N/m")
        if self.a.link == WORLD:  # the first end is always on a link
            if self.b.link == WORLD:
                raise ModelError("", "two points that can move against each other", "two points of the world")
            self._set(a=self.b, b=self.a)
        for name in ("a", "b"):
            if isinstance(getattr(self, name).at, str):
                hint = "only the end of a loop may be taken as built"
                raise ModelError(f"{name}.at", "a pose", "'as built'", hint)

    @property
    def places(self) -> Sequence[tuple[str, float]]:
        """Its ends."""
        return [(end.link, end.s) for end in (self.a, self.b) if end.link != WORLD]

    def bind(self, layout: Layout) -> BoundLaw:
        """Look its ends up."""
        links = {name: link.link for name, link in layout.links.items()}
        a, b = self.a, self.b
        frames = [end.pose_on_node("spring", links) for end in (a, b)]
        if a.node(layout) == b.node(layout):
            raise ModelError("", "two points that can move against each other", f"two points of '{a.link}'")
        values, varying = split_entries([self.stiffness, self.damping, self.rest])
        values = np.concatenate([values, np.zeros(3)])
        row = LawRow(SPRING, a.node(layout), values, varying, frames[0], b.node(layout), frames[1])
        # of its work, the damper's is lost
        brake = np.where(np.arange(6) == DAMPING, values, 0.0)
        lost = row._replace(values=brake, varying={i: s for i, s in varying.items() if i == DAMPING})
        return BoundLaw(CompiledLaw([row], [lost]))
