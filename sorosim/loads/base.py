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
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sorosim.door import describe, number
from sorosim.errors import ModelError, nearest
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


def evaluate_checked(name: str, load: BoundLoad, t: float, g: Array, eta: Array) -> LoadValues:
    """Evaluate a load, refusing what the kernels could not take.

    Raises
    ------
    ModelError
        It did not return three arrays of the right shapes, or numbers that are not finite.
    """
    n = len(load.nodes)
    shapes = {"wrench": (n, 6), "K": (n, 6, 6), "D": (n, 6, 6)}
    returned = load.evaluate(t, g, eta)
    if not isinstance(returned, tuple) or len(returned) != len(shapes):
        raise ModelError(f"loads.{name}", "LoadValues(wrench, K, D)", describe(returned))
    checked = []
    for (part, shape), given in zip(shapes.items(), returned, strict=True):
        try:
            array = np.ascontiguousarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise ModelError(f"loads.{name}.{part}", f"an array of shape {shape}", describe(given)) from None
        if array.shape != shape:
            raise ModelError(f"loads.{name}.{part}", f"shape {shape}", f"shape {array.shape}")
        if not np.isfinite(array).all():
            raise ModelError(f"loads.{name}.{part}", "finite numbers", f"NaN or infinity at t = {t:g} s")
        checked.append(array)
    return LoadValues(*checked)


def bind_checked(name: str, load: Load, layout: Layout) -> BoundLoad:
    """Bind a load, refusing what breaks the contract (ModelError)."""
    bound = load.bind(layout)
    if not all(hasattr(bound, member) for member in ("nodes", "dissipates", "evaluate")):
        raise ModelError(f"loads.{name}", "a bound load with nodes, dissipates and evaluate", type(bound).__name__)
    nodes = bound.nodes if isinstance(bound.nodes, np.ndarray) else np.array(None)
    known = {int(node) for link in layout.links.values() for node in link.nodes}
    if nodes.ndim != 1 or nodes.dtype != np.int64 or not known.issuperset(nodes.tolist()):
        raise ModelError(
            f"loads.{name}.nodes", "an array of indices of nodes, as layout.link(...).node_at(s)", describe(bound.nodes)
        )
    return bound


def check_places(name: str, load: Any, links: Sequence[str]) -> None:
    """Refuse what is no load, or acts where there is no link (ModelError)."""
    where = f"loads.{name}"
    if isinstance(load, type) or not hasattr(load, "places") or not hasattr(load, "bind"):
        raise ModelError(where, "a load", type(load).__name__)
    for place in load.places:
        if not isinstance(place, tuple) or len(place) != 2:
            raise ModelError(f"{where}.places", "pairs (link, s)", describe(place))
        link, s = place
        if link not in links:
            raise ModelError(where, "the name of a link", f"'{link}'", nearest(str(link), links))
        number(f"{where}.places", s, "a place s from 0 to 1", least=0.0, upto=1.0, error=ModelError)


class Load(Protocol):
    """The description of a load."""

    @property
    def places(self) -> Sequence[tuple[str, float]]:
        """Places (link, s) on rods that must be nodes."""
        ...

    def bind(self, layout: Layout) -> BoundLoad:
        """Look the nodes up."""
        ...
