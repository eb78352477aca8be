"""Contact between surfaces of rods, rigid bodies and obstacles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.base.arrays import Array, IntArray
from sorosim.base.declare import (
    INVALID,
    At,
    Choice,
    Declared,
    Flat,
    Inline,
    Integer,
    ListOf,
    Part,
    Quantity,
    Reference,
    Text,
    Type,
    Writer,
    key,
)
from sorosim.base.declare.base import Define
from sorosim.base.errors import ModelError, nearest
from sorosim.base.problems import listed, shown
from sorosim.base.registry import OBSTACLES, SHAPES
from sorosim.mechanics.loads.base import DeclaredLoad
from sorosim.mechanics.loads.compiled import CompiledLaw
from sorosim.mechanics.loads.contact_cores import SOLID_SHAPES, ContactGroup, Skin, skin_of
from sorosim.mechanics.loads.contact_law import AUTO, ContactLaw, carrying
from sorosim.mechanics.model.layout import Layout
from sorosim.mechanics.model.link import WORLD, Link
from sorosim.mechanics.model.obstacle import Obstacle
from sorosim.mechanics.model.pose import IDENTITY, OnLink, PlaceType
from sorosim.mechanics.model.shape import Shape

RODS_AS, ENDS = ("capsules", "spheres"), ("flat", "round")
# for estimates: gravity where there is none [m/s^2], thickness where nothing has one [m]
EARTH, THICKNESS = 9.81, 0.02


@dataclass(frozen=True)
class _Touching(Inline):
    """The shape of a surface: of a body, or an obstacle."""

    registry: Any = None
    base: Any = None
    several: str = "between, and, among take lists of them"
    optional: bool = True

    @property
    def known(self) -> tuple[str, ...]:
        return SOLID_SHAPES

    def kind(self, name: str) -> Any:
        return (OBSTACLES if name in OBSTACLES.declared() else SHAPES).get(name)

    def read(self, value: object, at: At) -> Any:
        if isinstance(value, Shape | Obstacle):
            return (
                value if value.kind in SOLID_SHAPES else at.fail(f"one of {', '.join(SOLID_SHAPES)}", f"a {value.kind}")
            )
        return at.fail("a shape", shown(value))


@dataclass(frozen=True, eq=False)
class Surface(Declared, title="Surfaces of contacts"):
    """A surface that may touch others: of a rod, of the shapes of a rigid body, or a shape of its own.

    A mesh must be convex; an ellipsoid or a superellipsoid touches nothing that is hollow; the edges of a box are
    rounded by a hundredth of its smallest side.
    """

    link: str = key(
        Reference("links", "the name of a link", others=(WORLD,)),
        "Link that it moves with; without it the shape is in the world.", "knob", default=WORLD,
    )  # fmt: skip
    shape: Any = key(_Touching(), "Its shape; by default that of the link.", default=None, without="that of the link")
    _: KW_ONLY
    frame: str = ""
    at: Any = key(
        PlaceType(), "Pose of the shape in the frame of the link, in one of its named frames, or in the world.",
        "{position: [0, 0, -10 cm]}", default=IDENTITY,
    )  # fmt: skip
    radius: float | None = key(
        Quantity("length", above=0.0),
        "Of a rod, in place of its own; one that is not round has half of its thickness.",
        "5 mm", default=None, without="its own",
    )  # fmt: skip
    pieces: int | None = key(
        Integer(1, 10000), "Into how many equal pieces a rod is cut for contact, in place of its points.", "20",
        default=None, without="its points",
    )  # fmt: skip

    @classmethod
    def check_keys(cls, data: Mapping[str, object]) -> None:
        if set(data) <= set(cls.key_names()) and not set(SOLID_SHAPES) & set(data) and data.get("link", WORLD) == WORLD:
            raise ModelError("", "one shape: " + listed(SOLID_SHAPES), "none", "or the key 'link'")

    def validate(self) -> None:
        if self.link == WORLD and self.shape is None:
            raise ModelError("", "a link, or a shape in the world", "neither")
        if self.shape is not None and (self.radius is not None or self.pieces is not None):
            name = "radius" if self.radius is not None else "pieces"
            raise ModelError(name, "a shape, or how to take a rod", "both")
        if isinstance(self.at, OnLink):
            if self.at.s is not None or isinstance(self.at.at, str):
                raise ModelError("at", "a pose, in a frame of the link or without one", "a place of another kind")
            self._set(at=self.at.at, frame=self.at.frame or self.frame)

    def pose(self, where: str, link: Link | None) -> Array:
        """Pose (4, 4) in the frame of its link, None the world."""
        if not self.frame:
            return np.asarray(self.at)
        frames = {} if link is None else link.frames
        if self.frame not in frames:
            expected, hint = f"the name of a frame of '{self.link}'", nearest(self.frame, frames)
            raise ModelError(f"{where}.at.frame", expected, f"'{self.frame}'", hint)
        return np.asarray(frames[self.frame] @ self.at)

    def data(self, writer: Writer) -> Any:
        out = super().data(writer)
        if self.frame:
            out["at"] = {"frame": self.frame, **out.get("at", {})}
        return self.link if set(out) == {"link"} else out


class SurfaceType(Type):
    """A surface: the name of a link, or a mapping; in Python also a shape."""

    def read(self, value: object, at: At) -> Any:
        if isinstance(value, Shape | Obstacle):
            return at.attempt(lambda: Surface(shape=value))
        if isinstance(value, Surface | Mapping):
            return Surface.read(value, at)
        name = at.attempt(lambda: Text("the name of a link, or {link: ..., sphere: ...}").check(value))
        names = at.scope.names("links")
        if name is INVALID:
            return INVALID
        if names is not None and name not in names and (name in SOLID_SHAPES or name == WORLD):
            kind = "half_space" if name == WORLD else name
            hint = f"a shape in the world is written {{{kind}: {{...}}}}, its sizes inside"
            return at.fail("the name of a link, or a shape", f"'{name}'", hint)
        if names is not None and not at.known("the name of a link", name, names):
            return INVALID
        return at.attempt(lambda: Surface.make({"link": name}, at))

    def write(self, value: Any, writer: Writer) -> Any:
        return value.data(writer)

    def shapes(self) -> tuple[Type, ...]:
        return Reference("links", "the name of a link"), Part(Surface)


class _Surfaces(ListOf):
    """One surface, or a list of them; stored as a tuple."""

    def read(self, value: object, at: At) -> Any:
        if not isinstance(value, list | tuple):
            one = self.type.read(value, at)
            return INVALID if one is INVALID else (one,)
        return super().read(value, at)

    def shapes(self) -> tuple[Type, ...]:
        return self.type, ListOf(self.type)

    schema, within = Type.schema, Type.within


class _Pairs(ListOf):
    """Pairs of names of links."""

    def read(self, value: object, at: At) -> Any:
        if not isinstance(value, list | tuple):
            return at.fail("a list", shown(value))
        n_problems, name = len(at.scope.problems), Reference("links", "the name of a link")
        for i, pair in enumerate(value):
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                got = f"{len(pair)} names" if isinstance(pair, list | tuple) else shown(pair)
                (at / i).fail("a pair of names of links", got)
        pairs = tuple(tuple(name.read(one, at / i / j) for j, one in enumerate(pair)) for i, pair in enumerate(value)
                      if isinstance(pair, list | tuple))  # fmt: skip
        return pairs if len(at.scope.problems) == n_problems else INVALID

    def write(self, value: Any, writer: Writer) -> Any:
        return [list(pair) for pair in value]

    def schema(self, define: Define) -> dict[str, Any]:
        pair = {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}
        return {"type": "array", "items": pair}


_SURFACES = _Surfaces(SurfaceType(), "one surface or several")
_SIDE = (
    "names of links, which stand for their own surfaces, or surfaces with keys of their own; one, or a list of them."
)


@dataclass(frozen=True, eq=False)
class Contact(DeclaredLoad, kind="contact", title="Contacts"):
    """Contact with friction between surfaces.

    In Python ``between`` alone are surfaces that touch each other; `law` is a ContactLaw.

    Notes
    -----
    Source: docs/theory.md, 12. Flat shapes meet each other by their corners and edges.
    """

    template = "{between: arm, and: {half_space: {}}, stiffness: auto}"
    alternatives = ((("between", "and"), "among"),)

    between: tuple[Surface, ...] = key(_SURFACES, f"The one side: {_SIDE}", "arm", default=())
    others: tuple[Surface, ...] | None = key(
        _SURFACES, "The other side, as between.", "{pipe: {radius: 15 cm}}", name="and", default=None
    )
    _: KW_ONLY
    among: tuple[Surface, ...] = key(
        _SURFACES,
        f"In place of both: {_SIDE} All touch each other, and rods themselves, but not links that a joint connects.",
        "[arm, knob]",
        default=(),
    )
    law: ContactLaw = key(Flat(ContactLaw), "Its law.")
    rods: str = key(
        Choice(RODS_AS), "A rod's surface: capsules from point to point, or spheres at its points.", "spheres",
        default=RODS_AS[0],
    )  # fmt: skip
    ends: str | None = key(
        Choice(ENDS), "Of rods as capsules: flat ends, or half a ball beyond them.", "round",
        default=None, without="flat",
    )  # fmt: skip
    apart: tuple[tuple[str, str], ...] = key(
        _Pairs(Type()), "Pairs of links that do not touch each other.", "[[arm, knob]]", default=()
    )

    @classmethod
    def check_keys(cls, data: Mapping[str, object]) -> None:
        given = set(data)
        if given & {"friction", "slip_speed"} and "stiffness" not in given:
            what = "the key 'stiffness': friction needs the pressure of the contact"
            hint = "for instance stiffness: 1e5 N/m^1.5, or auto; `sorosim check` estimates one"
            raise ModelError("", what, "friction alone", hint)
        if {"among"} <= given and given & {"between", "and"}:
            raise ModelError("", "among, or between and `and`", "both")
        if not given & {"among", "between", "and"}:
            hint = "for instance between: arm, and: {half_space: {}}"
            raise ModelError("", "the surfaces: among, or between and `and`", "neither", hint)
        if "among" not in given and not {"between", "and"} <= given:
            missing = "between" if "and" in given else "and"
            raise ModelError("", f"the key '{missing}'", "nothing", "or `among`, for surfaces that touch each other")

    def validate(self) -> None:
        if self.ends == "flat" and self.rods == "spheres":
            raise ModelError("ends", "no flat ends where rods are spheres", "flat", "leave it out, or `rods`")
        if self.among:
            if self.between or self.others is not None:
                raise ModelError("", "among, or between and `and`", "both")
            self._set(between=self.among, among=())
        if not self.between:
            raise ModelError("between", "one surface or several", "none")
        for name, side in (("between", self.between), ("and", self.others or ())):
            own = [one.link for one in side if one.shape is None]
            if repeated := sorted({link for link in own if own.count(link) > 1}):
                raise ModelError(name, "surfaces that differ", f"'{repeated[0]}' twice")
        self._check_links()

    def data(self, writer: Writer) -> Any:
        out = super().data(writer)
        if self.others is None:
            out = {"among": out.pop("between"), **out}
        return out

    def _check_links(self) -> None:
        first = {surface.link for surface in self.between} - {WORLD}
        second = {surface.link for surface in self.others or ()} - {WORLD}
        if both := sorted(first & second):
            hint = ""
            if all(surface.shape is None for surface in self.surfaces if surface.link == both[0]):
                hint = "leave `and` out: the links then touch each other, and rods themselves"
            raise ModelError("and", "links other than those of between", f"'{both[0]}' in both", hint)
        if not first | second:
            raise ModelError("", "a link of the robot", "only shapes in the world")
        for i, pair in enumerate(self.apart):
            if unknown := sorted(set(pair) - first - second):
                got, hint = f"'{unknown[0]}'", nearest(unknown[0], sorted(first | second))
                raise ModelError(f"apart[{i}]", "links whose surfaces are in this contact", got, hint)

    @property
    def surfaces(self) -> tuple[Surface, ...]:
        """All surfaces."""
        return (*self.between, *(self.others or ()))

    @property
    def places(self) -> tuple[tuple[str, float], ...]:
        """Places on rods that must be nodes."""
        return tuple(
            (surface.link, k / surface.pieces)
            for surface in self.surfaces
            if surface.pieces is not None
            for k in range(surface.pieces + 1)
        )

    def bind(self, layout: Layout) -> BoundContact:
        """Look the nodes up."""
        sides = [
            tuple(self._skin(f"contact.{name}[{i}]", surface, layout) for i, surface in enumerate(side))
            for name, side in (("between", self.between), ("and", self.others or ()))
        ]
        a, b = sides
        law = self.law if self.law.stiffness != AUTO else self.law.changed(stiffness=self._carrying(layout, (*a, *b)))
        group = ContactGroup(a, b if self.others is not None else None, law.row, self._apart(layout, (*a, *b)))
        group.check()
        return BoundContact(group.reduced)

    def lighter_mass(self, masses: Mapping[str, float]) -> float:
        """Mass [kg] that this may have to carry, by those of links that move; zero where nothing does.

        It is that of the lighter side; among all surfaces, of the heaviest that moves, since what is held may carry it.
        """
        held = 0.0 if self.others is None else np.inf
        sides = [[masses.get(one.link, held) for one in side] for side in (self.between, self.others or self.between)]
        mass = min(max(side, default=held) for side in sides)
        return mass if mass < np.inf else 0.0

    def _carrying(self, layout: Layout, skins: Sequence[Skin]) -> float:
        """The stiffness with which the lighter side is carried."""
        mass = self.lighter_mass(layout.connected_masses(range(len(layout.coordinate_names))))
        if not mass > 0.0:
            got = "nothing that touches and moves has a mass"
            raise ModelError("stiffness", "a number such as 1e5 N/m^1.5", f"auto, where {got}")
        gravity = float(np.linalg.norm(np.real(layout.gravity))) or EARTH
        thin = min(skin.thickness for skin in skins)
        return carrying(mass * gravity, 2.0 * thin if np.isfinite(thin) else THICKNESS, self.law.exponent)

    def _skin(self, where: str, surface: Surface, layout: Layout) -> Skin:
        if surface.link != WORLD and surface.link not in layout.links:
            hint = nearest(surface.link, [*layout.links, WORLD])
            raise ModelError(where, "a link of this robot or 'world'", f"'{surface.link}'", hint)
        link = layout.links.get(surface.link)
        return skin_of(where, surface, link, self.rods == "capsules", self.ends != "round")

    def _apart(self, layout: Layout, skins: Sequence[Skin]) -> NDArray[np.int8]:
        """Which of the surfaces cannot meet (n, n): those of one body, and of links that a joint connects."""
        listed, places = {frozenset(pair) for pair in self.apart}, dict[str, list[int]]()
        for i, skin in enumerate(skins):
            places.setdefault(skin.link, []).append(i)
        pairs = {*listed, *(frozenset((name,)) for name in places)}
        if self.others is None:
            pairs |= {frozenset((name, layout.links[name].link.parent)) for name in places if name != WORLD}
            pairs |= layout.joined
        out = np.zeros((len(skins), len(skins)), dtype=np.int8)
        for pair in pairs:
            a, b = (places.get(name, []) for name in (min(pair), max(pair)))
            if pair in listed or len(pair) == 1 or WORLD not in pair:
                out[np.ix_(a, b)] = out[np.ix_(b, a)] = 1
        np.fill_diagonal(out, [not skin.is_rod or frozenset((skin.link,)) in listed for skin in skins])
        return out


@dataclass(frozen=True, eq=False)
class BoundContact:
    """A contact bound to its nodes; its law is compiled."""

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
