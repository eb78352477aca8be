"""The contract of a load.

1. A load is a frozen description. `places` says where on which links it acts; the engine makes these places nodes.
2. `bind(layout)` looks its nodes up, once, and returns a `BoundLoad`.
3. A bound load sees pose, twist and time of its n points, never the tree. It returns the wrench ON the body in the
   frame of the point, [moment; force], and its two tangents: K = d f(g exp(delta^), eta, t)/d delta at delta = 0 with
   the six numbers eta held, and D = df/d eta. They are derivatives of the load, not stiffnesses (docs/theory.md, 4).
4. A load between two bodies names the others, too. It then sees its points from there: the pose of each in the frame
   of the other one, and the twist relative to it. What it does to the other body, the engine knows.
5. A load per length multiplies by the quadrature weights itself, a point load does not.
6. It keeps no state: the same arguments always give the same values, from any thread.

`sorosim.testing.check_load` tries whether a load keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from sorosim.arrays import Array, IntArray
from sorosim.declare import Declared
from sorosim.errors import ModelError, nearest
from sorosim.model.compile import Layout
from sorosim.registry import LOADS, Registry, evaluated
from sorosim.validation import describe, number


class LoadValues(NamedTuple):
    """Wrench and tangents of a load at its n points, in their own axes."""

    wrench: Array  # (n, 6)
    K: Array  # (n, 6, 6)
    D: Array  # (n, 6, 6)


class BoundLoad(Protocol):
    """A load bound to its nodes.

    It may have further members: ``frames`` (n, 4, 4), poses of its points on their nodes; ``others`` (n,), nodes of the
    bodies it sees the points from, -1 the world, and ``other_frames`` (n, 4, 4); ``added_inertia`` (n, 6, 6), inertia
    at the nodes that moves with the body but has no weight.
    """

    @property
    def nodes(self) -> IntArray:
        """Nodes (n,) on which it acts."""
        ...

    @property
    def dissipates(self) -> bool:
        """Whether its work counts as lost in energy balances, not as done on the robot."""
        ...

    def evaluate(self, t: float, g: Array, eta: Array) -> LoadValues:
        """Wrench and tangents from time [s], poses (n, 4, 4) and body twists (n, 6) of its points."""
        ...


class CompiledLoad(Protocol):
    """A bound load whose law is compiled; see `sorosim.loads.compiled`."""

    @property
    def nodes(self) -> IntArray:
        """Nodes (n,) on which it acts."""
        ...

    @property
    def law(self) -> Any:
        """Its law."""
        ...


class DeclaredLoad(Declared):
    """A built-in kind of load; it fulfils `Load`."""

    registry: ClassVar[Registry] = LOADS

    @property
    def places(self) -> Sequence[tuple[str, float]]:
        """Places (link, s) on rods that must be nodes, beside the Gauss points."""
        return ()


class Load(Protocol):
    """The description of a load."""

    @property
    def places(self) -> Sequence[tuple[str, float]]:
        """Places (link, s) on rods that must be nodes."""
        ...

    def bind(self, layout: Layout) -> BoundLoad | CompiledLoad:
        """Look the nodes up."""
        ...


def evaluate_checked(name: str, load: BoundLoad, points: Sequence[str], t: float, g: Array, eta: Array) -> LoadValues:
    """Evaluate a load, refusing what the kernels could not take; `points` are its points in words.

    Raises
    ------
    ModelError
        It raised an error, or did not return three arrays of the right shapes, or numbers that are not finite.
    """
    n = len(load.nodes)
    found: LoadValues = evaluated(
        f"loads.{name}", load, (t, g, eta), LoadValues, ((n, 6), (n, 6, 6), (n, 6, 6)),
        lambda k: f"{points[k]}, t = {t:g} s",
    )  # fmt: skip
    return found


def bind_checked(name: str, load: Load, layout: Layout) -> BoundLoad | CompiledLoad:
    """Bind a load, refusing what breaks the contract (ModelError)."""
    where = f"loads.{name}"
    try:
        bound = load.bind(layout)
    except ModelError as error:
        raise error.inside(where) from error.__cause__
    except Exception as error:
        got, code = f"{type(error).__name__}: {error}", f"{type(load).__module__}.{type(load).__qualname__}.bind"
        raise ModelError(where, "a load that finds its nodes", got, f"look at {code}") from error
    needed = ("nodes",) if hasattr(bound, "law") else ("nodes", "dissipates", "evaluate")
    missing = [member for member in needed if not hasattr(bound, member)]
    if missing:
        got = f"{type(bound).__name__} without {', '.join(missing)}"
        raise ModelError(where, "a bound load with nodes, dissipates and evaluate", got)
    known = {int(node) for link in layout.links.values() for node in link.nodes}
    _check_nodes(f"{where}.nodes", bound.nodes, known)
    n = len(bound.nodes)
    if (others := getattr(bound, "others", None)) is not None:
        _check_nodes(f"{where}.others", others, known | {-1})
        if len(others) != n:
            raise ModelError(f"{where}.others", f"one node for each of the {n} points", f"{len(others)}")
    for member, shape in (("frames", (n, 4, 4)), ("other_frames", (n, 4, 4)), ("added_inertia", (n, 6, 6))):
        given = getattr(bound, member, None)
        if given is not None and (np.shape(given) != shape or not np.isfinite(given).all()):
            raise ModelError(f"{where}.{member}", f"finite numbers of shape {shape}", _unlike(given, shape))
    if (added := getattr(bound, "added_inertia", None)) is not None:
        _check_inertia(f"{where}.added_inertia", np.asarray(added))
    return bound


def _unlike(given: Any, shape: tuple[int, ...]) -> str:
    return "NaN or infinity" if np.shape(given) == shape else f"shape {np.shape(given)}"


def _check_inertia(where: str, added: Array) -> None:
    size = np.abs(added).max(initial=0.0)
    if np.abs(added - added.transpose(0, 2, 1)).max(initial=0.0) > 1e-9 * size:
        raise ModelError(where, "symmetric matrices, as kinetic energy has them", "others")
    if len(added) and np.linalg.eigvalsh(added).min() < -1e-9 * size:
        raise ModelError(where, "matrices that take kinetic energy to move", "one with a negative eigenvalue")


def _check_nodes(where: str, given: Any, known: set[int]) -> None:
    nodes = given if isinstance(given, np.ndarray) else np.array(None)
    if nodes.ndim != 1 or nodes.dtype != np.int64 or not known.issuperset(nodes.tolist()):
        expected = "an array of indices of nodes, as layout.link(...).node_at(s)"
        raise ModelError(where, expected, describe(given))


def check_places(name: str, load: Any, links: Sequence[str]) -> None:
    """Refuse an object that is no load, or a load on an unknown link (ModelError)."""
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
