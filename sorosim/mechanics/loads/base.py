"""The contract of a load.

1. A load is a frozen dataclass that inherits `LoadLaw`. It names the `link` (and `s`) or the `rod` on which it acts.
2. `wrench(t, g, eta)` returns the wrench ON the body at n points, [moment; force] in their own axes, from time, poses
   g (n, 4, 4) and body twists eta (n, 6): an array (n, 6), or a moment and a force, each (n, 3) or 0. Along a rod it
   is per length. In its place `energy(t, g)` may return a potential (n,), of which the wrench is minus the derivative.
3. A point does not feel how the others move. A method that takes one argument more gets `LoadPoints`, by which points
   may differ.
4. A load between two bodies names `others`, places on the other bodies. It then sees its points from there: the pose of
   each in the frame of the other one, and the twist relative to it. What it does to the other body, the engine knows.
5. It keeps no state: the same arguments always give the same values, from any thread.

Nodes, quadrature, reactions and derivatives are the library's work: K = d f(g exp(delta^), eta, t)/d delta at
delta = 0 with the six numbers eta held, and D = df/d eta. They are derivatives of the load, not stiffnesses
(docs/theory.md, 4), by `sorosim.base.duals`; `tangents(t, g, eta)` may return (K, D) instead, each (n, 6, 6).

What the engine takes is a `Load`, whose `bind` finds the nodes. `sorosim.testing.check_load` tries all of this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from sorosim.base.arrays import Array, IntArray
from sorosim.base.declare import Declared
from sorosim.base.duals import differentiated, minus_gradient
from sorosim.base.errors import ModelError, PlugInError, nearest, warn
from sorosim.base.registry import LOADS, WRENCH, ByValue, Registry, evaluated, warn_of_tangents
from sorosim.base.validation import describe, number
from sorosim.mechanics.model.layout import Layout
from sorosim.mechanics.model.link import WORLD


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
    """A bound load whose law is compiled; see `sorosim.mechanics.loads.compiled`."""

    @property
    def nodes(self) -> IntArray:
        """Nodes (n,) on which it acts."""
        ...

    @property
    def law(self) -> Any:
        """Its law."""
        ...


class LoadPoints(NamedTuple):
    """The n points on which a load acts."""

    link: tuple[str, ...]  # of each
    X: Array  # (n,) arclength on it [m], 0 on rigid links
    s: Array  # (n,) fraction of its length


# members by which a load says more, whose names are not those of usual fields in the singular
OPTIONAL = ("others", "other_frames", "added_inertia", "dissipates")


class LoadLaw:
    """A load by its value: docs/plugins.md shows one. Its fields say where it acts.

    ``link`` and ``s``: a place, the tip where there is no ``s``; or ``points``: places (link, s), any number of them.
    ``rod``, or ``rods``: names of rods along which it acts, per length.
    ``others``: the place (link, s) that all points are seen from, or "world"; or one for each.
    ``frames``, ``other_frames``: poses (4, 4) of points and of these places on their nodes, one or (n, 4, 4).
    ``added_inertia``: (6, 6) or (n, 6, 6), inertia that moves with the body and has no weight; along rods per length.
    """

    dissipates: ClassVar[bool] = False  # whether its work counts as lost in energy balances

    @property
    def places(self) -> Sequence[tuple[str, float]]:
        """Places (link, s) that must be nodes."""
        return (*self._points, *(other for other in getattr(self, "others", ()) if other != WORLD))

    @property
    def _points(self) -> Sequence[tuple[str, float]]:
        own = ((self.link, getattr(self, "s", 1.0)),) if hasattr(self, "link") else ()
        return getattr(self, "points", own)

    def bind(self, layout: Layout) -> BoundLaw:
        """Find its nodes."""
        found = [(layout.link(name), s) for name, s in self._points]
        rows = [(link.link.name, link.node_at(s), s * link.X[-1], s, 1.0) for link, s in found]
        for name in getattr(self, "rods", (self.rod,) if hasattr(self, "rod") else ()):
            rod = layout.link(name)
            if rod.link.rod is None or any(piece.material_moves for piece in rod.pieces):
                raise ModelError("rod", "a rod of given length", f"'{name}'")
            rows += [(name, int(rod.nodes[k]), rod.X[k], rod.X[k] / rod.X[-1], rod.weight[k])
                     for k in np.flatnonzero(rod.weight)]  # fmt: skip
        if not rows:
            raise ModelError("", "a load with link, rod, points or rods", f"{type(self).__name__} without them")
        for name in sorted({*dir(type(self)), *vars(self)}):
            meant = get_close_matches(name, OPTIONAL, 1, 0.85)
            if meant and name not in OPTIONAL and not name.startswith("_"):
                warn(f"{type(self).__name__}.{name}: loads know no such member; is '{meant[0]}' meant?")
        links, nodes, X, s, weight = zip(*rows, strict=True)
        given = tuple(getattr(self, "others", ()))
        given = given * len(rows) if len(given) == 1 else given
        others = [-1 if other == WORLD else layout.link(other[0]).node_at(other[1]) for other in given]
        at = LoadPoints(links, np.array(X), np.array(s))
        return BoundLaw(self, at, np.array(nodes), np.array(weight), np.array(others) if others else None)


@dataclass(frozen=True, eq=False)
class BoundLaw(ByValue):
    """A law at its nodes: a `BoundLoad` that has its derivatives by duals."""

    nodes: IntArray
    weight: Array
    others: IntArray | None

    def __getattr__(self, name: str) -> Any:
        if name not in ("dissipates", "frames", "other_frames", "added_inertia"):
            raise AttributeError(name)
        given = getattr(self.own, name)
        if name == "dissipates":
            return given
        each = np.tile(given, (len(self.nodes), 1, 1)) if np.ndim(given) == 2 else given
        return self.weight[:, None, None] * each if name == "added_inertia" else each

    def value(self, t: float, g: Array, eta: Array) -> Any:
        """Wrenches (n, 6)."""
        if hasattr(self.own, "wrench"):
            found = self.call("wrench", t, g, eta)
        else:
            found = minus_gradient(lambda moved: self.call("energy", t, moved), g, _pose_tangents(g))
        if isinstance(found, tuple) and len(found) == 2:
            parts, found = found, np.zeros_like(eta)
            for part in parts:  # one number for each point, or for all, would spread over directions
                if np.shape(part) not in ((len(eta), 3), (3,)) and not (np.shape(part) == () and np.all(part == 0)):
                    raise PlugInError("", WRENCH, f"a part of shape {np.shape(part)}")
            found[:, :3], found[:, 3:] = parts
        if np.shape(found) != (len(self.nodes), 6):
            got = f"shape {np.shape(found)}" if np.ndim(found) else describe(found)
            raise PlugInError("", WRENCH, got)
        return self.weight[:, None] * found

    def evaluate(self, t: float, g: Array, eta: Array) -> LoadValues:
        """Wrenches and their tangents."""
        n, weight = len(self.nodes), self.weight[:, None, None]
        if hasattr(self.own, "tangents"):
            K, D = self.call("tangents", t, g, eta)
            return LoadValues(self.value(t, g, eta), weight * K, weight * D)
        moves, turns = np.zeros((n, 4, 4, 12)), np.zeros((n, 6, 12))
        moves[..., :6], turns[..., 6:] = _pose_tangents(g), np.eye(6)
        f, slopes = differentiated(lambda g, eta: self.value(t, g, eta), (g, eta), (moves, turns))
        return LoadValues(f, slopes[..., :6], slopes[..., 6:])


# matrices (4, 4, 6) of the six unit twists
UNIT_TWISTS = np.zeros((4, 4, 6))
UNIT_TWISTS[[2, 0, 1], [1, 2, 0], [0, 1, 2]], UNIT_TWISTS[[1, 2, 0], [2, 0, 1], [0, 1, 2]] = 1.0, -1.0
UNIT_TWISTS[[0, 1, 2], 3, [3, 4, 5]] = 1.0


def _pose_tangents(g: Any) -> Any:
    """Derivatives (n, 4, 4, 6) of g exp(delta^) by delta."""
    return np.einsum("nij,jkm->nikm", g, UNIT_TWISTS)


class DeclaredLoad(Declared):
    """A built-in kind of load; it fulfils `Load`."""

    registry: ClassVar[Registry] = LOADS
    takes_input: ClassVar[bool] = False  # whether an actuator may scale it: its law is compiled, and adds no inertia

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


def evaluate_checked(
    name: str, load: BoundLoad, points: Sequence[str], t: float, g: Array, eta: Array, tangents: bool = True
) -> LoadValues:
    """Evaluate a load, refusing what the kernels could not take; `points` are its points in words.

    Without `tangents` those of a load that gives its value alone are zero.

    Raises
    ------
    ModelError
        It raised an error, or did not return three arrays of the right shapes, or numbers that are not finite.
    """
    n = len(load.nodes)
    found: LoadValues = evaluated(
        f"loads.{name}", load, (t, g, eta), LoadValues, ((n, 6), (n, 6, 6), (n, 6, 6)),
        lambda k: f"{points[k]}, t = {t:g} s", tangents,
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
    if "evaluate" in needed and not isinstance(bound, ByValue):
        warn_of_tangents(where, load, "LoadLaw")
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


def _check_nodes(where: str, given: object, known: set[int]) -> None:
    nodes = given if isinstance(given, np.ndarray) else np.array(None)
    if nodes.ndim != 1 or nodes.dtype != np.int64 or not known.issuperset(nodes.tolist()):
        expected = "an array of indices of nodes, as layout.link(...).node_at(s)"
        raise ModelError(where, expected, describe(given))


def check_places(name: str, load: object, links: Sequence[str]) -> None:
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
