"""Contact between surfaces: of rods, of rigid bodies, and of what stands around."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sorosim.errors import ModelError, nearest
from sorosim.loads.base import Array, IntArray
from sorosim.loads.compiled import CompiledLaw
from sorosim.loads.contact_cores import SOLID_SHAPES, ContactGroup, Skin, skin_of
from sorosim.loads.contact_law import ContactLaw
from sorosim.model.compile import Layout
from sorosim.model.link import WORLD
from sorosim.model.material import real_number
from sorosim.model.obstacle import Obstacle
from sorosim.model.pose import check_pose
from sorosim.model.shape import Shape
from sorosim.validation import describe

RODS_AS = ("capsules", "spheres")


@dataclass(frozen=True, eq=False)
class Surface:
    """A surface that may touch others: of a rod, of the shapes of a rigid body, or a shape of its own.

    Parameters
    ----------
    link : str
        The link that it moves with, or "world".
    shape : Sphere, Capsule, Cylinder, Box, Ellipsoid, Mesh or an Obstacle, optional
        Default: that of the link. A mesh must be convex; an ellipsoid touches planes only.
    at : (4, 4) array_like
        Pose of the shape on the link.
    radius : float, optional
        Of a rod, everywhere [m]. Default: its own; where it is not round, half of its thickness.
    pieces : int, optional
        Cut a rod into so many equal pieces for contact, in place of its points: more where it bends more sharply than
        they show, fewer where it is short.
    """

    link: str = WORLD
    shape: Any = None
    _: KW_ONLY
    at: Array = field(default_factory=lambda: np.eye(4))
    radius: float | None = None
    pieces: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.link, str):
            raise ModelError("surface.link", "the name of a link, or 'world'", describe(self.link))
        object.__setattr__(self, "at", check_pose("surface.at", self.at))
        if self.shape is not None and not isinstance(self.shape, Shape | Obstacle):
            raise ModelError("surface.shape", "a shape", describe(self.shape))
        if self.shape is not None and self.shape.kind not in SOLID_SHAPES:
            known = ", ".join(SOLID_SHAPES)
            raise ModelError(f"surface.{self.shape.kind}", f"one of {known}", f"a {self.shape.kind}")
        if self.radius is not None:
            radius = real_number("surface.radius", self.radius, "a positive length [m]", above=0.0)
            object.__setattr__(self, "radius", radius)
        if self.pieces is not None and (type(self.pieces) is not int or not 1 <= self.pieces <= 10000):
            raise ModelError("surface.pieces", "a whole number from 1 to 10000", describe(self.pieces))
        if self.link == WORLD and self.shape is None:
            raise ModelError("surface", "a link, or a shape in the world", "neither")
        if self.shape is not None and (self.radius is not None or self.pieces is not None):
            name = "radius" if self.radius is not None else "pieces"
            raise ModelError(f"surface.{name}", "a shape, or how to take a rod", "both")


def _surfaces(where: str, given: Any) -> tuple[Surface, ...]:
    several = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    found = []
    for i, one in enumerate(several):
        if isinstance(one, Shape | Obstacle):
            one = Surface(shape=one)
        elif isinstance(one, str):
            one = Surface(one)
        if not isinstance(one, Surface):
            raise ModelError(f"{where}[{i}]", "the name of a link, a shape or a Surface", describe(one))
        found.append(one)
    if not found:
        raise ModelError(where, "one surface or several", "none")
    own = [one.link for one in found if one.shape is None]
    if twice := sorted({link for link in own if own.count(link) > 1}):
        raise ModelError(where, "surfaces that differ", f"'{twice[0]}' twice")
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Contact:
    """Contact of some surfaces with others, or among each other.

    Parameters
    ----------
    between : link, shape or Surface, or a sequence of them
        Names of links stand for their own surfaces, shapes for obstacles in the world.
    others : the same, optional
        What these touch. Without it they touch each other, and rods themselves; not links that a joint connects.
    law : ContactLaw
    rods : {"capsules", "spheres"}
        A rod's surface: capsules from point to point, or a sphere at each point.
    apart : sequence of pairs of names
        Links that do not touch each other.

    Notes
    -----
    Source: docs/theory.md, 12. Flat shapes meet each other by their corners and edges.
    """

    between: Any
    others: Any = None
    _: KW_ONLY
    law: ContactLaw
    rods: str = "capsules"
    apart: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "between", _surfaces("contact.between", self.between))
        if self.others is not None:
            object.__setattr__(self, "others", _surfaces("contact.and", self.others))
        if not isinstance(self.law, ContactLaw):
            raise ModelError("contact.law", "a ContactLaw", describe(self.law))
        if self.rods not in RODS_AS:
            raise ModelError(
                "contact.rods", " or ".join(RODS_AS), describe(self.rods), nearest(str(self.rods), RODS_AS)
            )
        pairs: Any = self.apart
        if not isinstance(pairs, Sequence) or any(isinstance(p, str) or len(p) != 2 for p in pairs):
            raise ModelError("contact.apart", "pairs of names of links", describe(pairs))
        object.__setattr__(self, "apart", tuple((str(a), str(b)) for a, b in pairs))
        self._check_links()

    def _check_links(self) -> None:
        first = {surface.link for surface in self.between} - {WORLD}
        second = {surface.link for surface in self.others or ()} - {WORLD}
        if both := sorted(first & second):
            hint = ""
            if all(surface.shape is None for surface in self.surfaces if surface.link == both[0]):
                hint = "leave `and` out: the links then touch each other, and rods themselves"
            raise ModelError("contact.and", "links other than those of between", f"'{both[0]}' in both", hint)
        if not first | second:
            raise ModelError("contact", "a link of the robot", "only shapes in the world")
        for i, pair in enumerate(self.apart):
            if strange := sorted(set(pair) - first - second):
                got, hint = f"'{strange[0]}'", nearest(strange[0], sorted(first | second))
                raise ModelError(f"contact.apart[{i}]", "links whose surfaces are in this contact", got, hint)

    @property
    def surfaces(self) -> tuple[Surface, ...]:
        """All surfaces."""
        return (*self.between, *(self.others or ()))

    @property
    def places(self) -> tuple[tuple[str, float], ...]:
        """Places on rods that must be nodes."""
        return tuple(
            (surface.link, k / surface.pieces)
            for surface in self.surfaces if surface.pieces is not None
            for k in range(surface.pieces + 1)
        )  # fmt: skip

    def bind(self, layout: Layout) -> BoundContact:
        """Look the nodes up."""
        sides = [
            tuple(self._skin(f"contact.{name}[{i}]", surface, layout) for i, surface in enumerate(side))
            for name, side in (("between", self.between), ("and", self.others or ()))
        ]
        a, b = sides
        group = ContactGroup(a, b if self.others is not None else None, self.law.row, self._apart(layout, (*a, *b)))
        group.check()
        return BoundContact(group)

    def _skin(self, where: str, surface: Surface, layout: Layout) -> Skin:
        if surface.link != WORLD and surface.link not in layout.links:
            hint = nearest(surface.link, [*layout.links, WORLD])
            raise ModelError(where, "a link of this robot or 'world'", f"'{surface.link}'", hint)
        link = layout.links.get(surface.link)
        return skin_of(where, surface, link, self.rods == "capsules")

    def _apart(self, layout: Layout, skins: Sequence[Skin]) -> IntArray:
        """Which of the surfaces cannot meet (n, n): those of one body, and of links that a joint connects."""
        n, among = len(skins), self.others is None
        out = np.zeros((n, n), dtype=np.int64)
        listed = {frozenset(pair) for pair in self.apart}
        for i, mine in enumerate(skins):
            for j, theirs in enumerate(skins):
                if i == j:
                    out[i, j] = not mine.is_rod or frozenset((mine.link,)) in listed
                elif mine.link == theirs.link or frozenset((mine.link, theirs.link)) in listed:
                    out[i, j] = 1
                elif among and WORLD not in (mine.link, theirs.link):
                    a, b = (layout.links[skin.link].link for skin in (mine, theirs))
                    joint = a.parent == theirs.link or b.parent == mine.link
                    out[i, j] = joint or frozenset((mine.link, theirs.link)) in layout.joined
        return out


@dataclass(frozen=True, eq=False)
class BoundContact:
    """A contact that knows its nodes; its law is compiled."""

    group: ContactGroup

    @cached_property
    def nodes(self) -> IntArray:
        """Nodes that may be touched."""
        nodes = {int(node) for skin in self.group.skins for node in skin.nodes if node >= 0}
        return np.array(sorted(nodes), dtype=np.int64)

    @cached_property
    def law(self) -> CompiledLaw:
        """Its law."""
        return CompiledLaw((), contacts=(self.group,))
