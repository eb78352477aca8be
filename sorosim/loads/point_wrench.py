"""A wrench at one point, fixed in the body (follower) or in the world (dead)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.door import describe
from sorosim.errors import ModelError, nearest
from sorosim.lie.so3 import skew
from sorosim.loads.base import Array, LoadValues
from sorosim.model.compile import Layout
from sorosim.model.material import real_number

FRAMES = ("body", "world")


@dataclass(frozen=True)
class PointWrench:
    """Moment and force at one point of a link.

    Parameters
    ----------
    link : str
    s : float
        Place on a rod, 0 to 1; without meaning for a rigid link.
    wrench : six numbers
        [moment; force] [N m, N], in the axes of `frame`.
    frame : {"world", "body"}
        "world": the directions stay (dead load); "body": they turn with the point (follower load).
    """

    link: str
    s: float = 1.0
    _: KW_ONLY
    wrench: tuple[float, ...]
    frame: str = "world"

    def __post_init__(self) -> None:
        given: Any = self.wrench
        if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or len(given) != 6:
            raise ModelError("wrench", "six numbers: moment [N m], force [N]", describe(given))
        values = tuple(real_number("wrench", v, "finite numbers") for v in given)
        object.__setattr__(self, "wrench", values)
        object.__setattr__(self, "s", real_number("wrench.s", self.s, "a place from 0 to 1", least=0.0, upto=1.0))
        if self.frame not in FRAMES:
            raise ModelError("wrench.frame", "world or body", describe(self.frame), nearest(str(self.frame), FRAMES))

    @property
    def places(self) -> Sequence[tuple[str, float]]:
        """The one place it acts on."""
        return ((self.link, self.s),)

    def bind(self, layout: Layout) -> _BoundWrench:
        """Look the node up."""
        node = layout.link(self.link).node_at(self.s)
        return _BoundWrench(np.array([node], dtype=np.int64), np.array(self.wrench), self.frame == "world")


@dataclass(frozen=True)
class _BoundWrench:
    nodes: NDArray[np.int64]
    wrench: Array
    dead: bool
    dissipates = False

    def evaluate(self, t: float, g: Array, eta: Array) -> LoadValues:
        f, K, D = self.wrench.copy(), np.zeros((1, 6, 6)), np.zeros((1, 6, 6))
        if self.dead:
            R = g[0, :3, :3]
            f[:3], f[3:] = R.T @ f[:3], R.T @ f[3:]
            # a body rotation delta turns R into R exp(delta^): R^T m changes by (R^T m)^ delta
            K[0, :3, :3], K[0, 3:, :3] = skew(f[:3]), skew(f[3:])
        return LoadValues(f[None], K, D)
