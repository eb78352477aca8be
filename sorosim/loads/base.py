"""The contract of a load.

1. A load is a frozen description. `places` says where on which links it acts; the engine makes these places nodes.
2. `bind(layout)` looks its nodes up, once, and returns a `BoundLoad`.
3. A bound load sees pose, twist and time of its nodes, never the tree. It returns the wrench ON the body in the frame
   of the node, [moment; force], and its two tangents: K = d f(g exp(delta^), eta, t)/d delta at delta = 0 with the six
   numbers eta held, and D = df/d eta. They are derivatives of the load, not stiffnesses (docs/theory.md, 4).
4. A load per length multiplies by the quadrature weights itself, a point load does not.
5. It keeps no state: the same arguments always give the same values, from any thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sorosim.model.compile import Layout

Array = NDArray[np.float64]


class LoadValues(NamedTuple):
    """Wrench and tangents of a load at its n nodes, body frame."""

    wrench: Array  # (n, 6)
    K: Array  # (n, 6, 6)
    D: Array  # (n, 6, 6)


class BoundLoad(Protocol):
    """A load that knows its nodes."""

    @property
    def nodes(self) -> NDArray[np.int64]:
        """Nodes (n,) on which it acts."""
        ...

    @property
    def dissipates(self) -> bool:
        """Whether its work counts as lost in energy balances, not as done on the robot."""
        ...

    def evaluate(self, t: float, g: Array, eta: Array) -> LoadValues:
        """Wrench and tangents from time [s], poses (n, 4, 4) and body twists (n, 6)."""
        ...


class Load(Protocol):
    """The description of a load."""

    @property
    def places(self) -> Sequence[tuple[str, float]]:
        """Places (link, s) on rods that must be nodes."""
        ...

    def bind(self, layout: Layout) -> BoundLoad:
        """Look the nodes up."""
        ...
