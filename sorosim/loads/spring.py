"""Springs with dampers between two points, or between a point and the ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sorosim.errors import ModelError
from sorosim.kernels.load_laws import DAMPING, REST, SPRING, STIFFNESS
from sorosim.loads.compiled import CompiledLaw, LawRow
from sorosim.loads.point_wrench import BoundLaw, as_anchor, number_or_signal, split_entries
from sorosim.model.anchor import Anchor
from sorosim.model.compile import Layout
from sorosim.model.link import WORLD
from sorosim.signals import Signal

ENTRIES = ("stiffness", "damping", "rest")


@dataclass(frozen=True)
class Spring:
    """A spring and a damper along the line between two points: F = stiffness (l - rest) + damping dl/dt.

    Parameters
    ----------
    a, b : str or Anchor
        The points: names of links (a rod at its tip), or frames on them or in the world.
    stiffness : float or signal
        [N/m], not negative.
    damping : float or signal
        [N s/m], not negative.
    rest : float or signal
        Length without force [m], not negative. A signal of time makes it an actuator of given length.

    Notes
    -----
    Source: docs/theory.md, 11. Where the points meet it has no direction, and no force.
    """

    a: str | Anchor
    b: str | Anchor
    _: KW_ONLY
    stiffness: Any = 0.0
    damping: Any = 0.0
    rest: Any = 0.0

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            object.__setattr__(self, name, as_anchor(f"spring.{name}", getattr(self, name)))
        for name in ENTRIES:
            value = number_or_signal(f"spring.{name}", getattr(self, name))
            if not isinstance(value, Signal) and value < 0.0:
                raise ModelError(f"spring.{name}", "a number of 0 or more", f"{value:g}")
            object.__setattr__(self, name, value)
        if self.stiffness == 0.0 and self.damping == 0.0:
            raise ModelError("spring", "a stiffness or a damping", "neither", "for instance stiffness: 100 N/m")
        if self._ends[0].link == WORLD:  # the first end is always on a link
            if self._ends[1].link == WORLD:
                raise ModelError("spring", "two points that can move against each other", "two points of the world")
            a, b = self._ends
            object.__setattr__(self, "a", b)
            object.__setattr__(self, "b", a)

    @property
    def _ends(self) -> tuple[Anchor, Anchor]:
        assert isinstance(self.a, Anchor) and isinstance(self.b, Anchor)  # noqa: PT018  for the type checker
        return self.a, self.b

    @property
    def places(self) -> Sequence[tuple[str, float]]:
        """Its ends."""
        return [(end.link, end.s) for end in self._ends if end.link != WORLD]

    def bind(self, layout: Layout) -> BoundLaw:
        """Look its ends up."""
        links = {name: link.link for name, link in layout.links.items()}
        (a, b), frames = self._ends, [end.pose_on_node("spring", links) for end in self._ends]
        if a.node(layout) == b.node(layout):
            raise ModelError("spring", "two points that can move against each other", f"two points of '{a.link}'")
        values, varying = split_entries([self.stiffness, self.damping, self.rest])
        values = np.concatenate([values, np.zeros(3)])
        row = LawRow(SPRING, a.node(layout), values, varying, frames[0], b.node(layout), frames[1])
        # of its work, the damper's is lost
        brake = np.where(np.arange(6) == DAMPING, values, 0.0)
        lost = row._replace(values=brake, varying={i: s for i, s in varying.items() if i == DAMPING})
        assert STIFFNESS < DAMPING < REST
        nodes = [a.node(layout)] + ([b.node(layout)] if b.link != WORLD else [])
        return BoundLaw(np.array(nodes, dtype=np.int64), CompiledLaw([row], [lost]))
