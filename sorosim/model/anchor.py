"""Frames on links: where loads act, sensors sit and loops close."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
from numpy.typing import NDArray

from sorosim.errors import ModelError, nearest
from sorosim.model.compile import Layout
from sorosim.model.link import WORLD, Link
from sorosim.model.material import real_number
from sorosim.model.pose import check_pose
from sorosim.validation import describe

Array = NDArray[np.float64]

AS_BUILT = "as built"


@dataclass(frozen=True, eq=False)
class Anchor:
    """A frame on a link, or in the world.

    Parameters
    ----------
    link : str
        Name of a link, or "world".
    s : float
        Where on a rod, 0 to 1; without meaning for other links.
    frame : str
        Name of a frame of a rigid link; "" for that of its body.
    at : (4, 4) array_like, or "as built"
        Pose in that frame, or in that of the rod's section. "as built", at the end that a loop closes onto: where the
        other end is when all coordinates are zero.
    """

    link: str = WORLD
    _: KW_ONLY
    s: float = 1.0
    frame: str = ""
    at: NDArray[np.float64] | str = field(default_factory=lambda: np.eye(4))

    def __post_init__(self) -> None:
        for name in ("link", "frame"):
            if not isinstance(getattr(self, name), str):
                raise ModelError(f"anchor.{name}", "a name", describe(getattr(self, name)))
        object.__setattr__(self, "s", real_number("anchor.s", self.s, "a place from 0 to 1", least=0.0, upto=1.0))
        if not (isinstance(self.at, str) and self.at == AS_BUILT):
            object.__setattr__(self, "at", check_pose("anchor.at", self.at))

    def _key(self) -> tuple[object, ...]:
        return self.link, self.s, self.frame, self.at if isinstance(self.at, str) else self.at.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Anchor) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def pose_on_node(self, where: str, links: Mapping[str, Link]) -> Array | None:
        """Pose (4, 4) in the frame of its node, None if it is "as built"; refuses what is not there."""
        if self.link != WORLD and self.link not in links:
            expected = "a link of this robot or 'world'"
            raise ModelError(f"{where}.link", expected, f"'{self.link}'", nearest(self.link, [*links, WORLD]))
        frames = links[self.link].frames if self.link in links else {}
        if self.frame and self.frame not in frames:
            expected = f"the name of a frame of '{self.link}'"
            raise ModelError(f"{where}.frame", expected, f"'{self.frame}'", nearest(self.frame, frames))
        if isinstance(self.at, str):
            return None
        return np.asarray(frames[self.frame] @ self.at) if self.frame else self.at

    def node(self, layout: Layout) -> int:
        """Its node in the tree, -1 for the world."""
        return -1 if self.link == WORLD else layout.links[self.link].node_at(self.s)
