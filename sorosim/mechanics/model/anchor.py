"""Frames on links: where loads act, sensors sit and loops close."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.declare import INVALID, At, Declared, ListOf, Part, Reference, Text, Type, Writer, key
from sorosim.base.declare.types import is_list
from sorosim.base.errors import ModelError, nearest
from sorosim.base.problems import shown
from sorosim.mechanics.model.layout import Layout
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.pose import IDENTITY, WORLD, PlaceType, place_data, place_fields

LINK = Reference("links", "a link of this robot or 'world'", others=(WORLD,))


@dataclass(frozen=True, eq=False)
class Anchor(Declared, title="Frames on links"):
    """A frame on a link, or in the world.

    ``at`` is its pose in a named frame of the link, in that of the section at ``s`` of a rod, or in that of the body.
    "as built", at the end that a loop closes onto: where the other end is when all coordinates are zero.
    """

    link: str = key(LINK, "Name of a link, or world.", "arm", default=WORLD)
    _: KW_ONLY
    s: float = 1.0
    frame: str = ""
    at: Any = key(
        PlaceType(), "Pose on the link; a list of poses is one after the other.", "{position: [0, 0, 20 cm]}",
        default=IDENTITY,
    )  # fmt: skip

    def validate(self) -> None:
        place_fields(self)

    def data(self, writer: Writer) -> Any:
        at = place_data(self, writer)
        return {"link": self.link, "at": at} if at else self.link

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


class LinkOrAnchor(Reference):
    """The name of a link; in Python also an Anchor."""

    def read(self, value: object, at: At) -> Any:
        return value if isinstance(value, Anchor) else super().read(value, at)


@dataclass(frozen=True)
class AnchorType(Type):
    """A frame on a link: its name (a rod at its tip), or {link, at}."""

    def read(self, value: object, at: At) -> Any:
        if isinstance(value, Mapping | Anchor):
            return Anchor.read(value, at)
        name = at.attempt(lambda: Text("the name of a link, or {link: ..., at: ...}").check(value))
        if name is INVALID:
            return INVALID
        names = at.scope.names("links")
        if names is not None and name not in names and name != WORLD:
            return at.fail("a link of this robot or 'world'", shown(name), nearest(name, [*names, WORLD]))
        return Anchor.make({"link": name}, at)

    def write(self, value: Any, writer: Writer) -> Any:
        return value.data(writer)

    def shapes(self) -> tuple[Type, ...]:
        return LINK, Part(Anchor)


class Anchors(Type):
    """One frame on a link, or a list of some; read as a tuple."""

    def read(self, value: object, at: At) -> Any:
        if not is_list(value):
            found = AnchorType().read(value, at)
            return found if found is INVALID else (found,)
        return ListOf(AnchorType(), "at least one frame on a link").read(value, at)

    def write(self, value: Any, writer: Writer) -> Any:
        data = [anchor.data(writer) for anchor in value]
        return data[0] if len(data) == 1 else data

    def shapes(self) -> tuple[Type, ...]:
        return *AnchorType().shapes(), ListOf(AnchorType())
