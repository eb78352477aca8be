"""Links (a joint and the body it moves) and the tree they form."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.declare import (
    INVALID,
    MISSING,
    NOTHING,
    At,
    Declared,
    Key,
    MapOf,
    Name,
    OneOrSeveral,
    Part,
    Reference,
    Text,
    Type,
    Writer,
    key,
)
from sorosim.base.declare.base import Define, Described
from sorosim.base.errors import ModelError, nearest
from sorosim.base.problems import shown
from sorosim.mechanics.model.body import BodyType, RigidBody, Solid
from sorosim.mechanics.model.collision import Collision
from sorosim.mechanics.model.denavit_hartenberg import DHRow, row_of
from sorosim.mechanics.model.joints import Joint, JointType
from sorosim.mechanics.model.joints.fixed import Fixed
from sorosim.mechanics.model.pose import IDENTITY, WORLD, PlaceType, PoseType, place_data, place_fields
from sorosim.mechanics.model.rod import Rod
from sorosim.mechanics.model.tubes import Tubes, TubesOf
from sorosim.mechanics.model.visual import Visual

__all__ = ["WORLD", "Link", "ordered_links", "pose_on_parent"]


class LinkBody(Type):
    """What a link moves: the key `rod` or the key `body`."""

    def __init__(self) -> None:
        self.types: dict[str, Type] = {"rod": Part(Rod), "tubes": TubesOf(), "body": BodyType()}

    def names(self, key: Key) -> tuple[str, ...]:
        return tuple(self.types)

    def read(self, value: object, at: At) -> Any:
        if isinstance(value, Rod | Tubes | RigidBody):
            return value
        hint = "put solids into an Assembly" if isinstance(value, Solid | list | tuple) else ""
        return at.fail("a Rod, Tubes, a RigidBody or None", shown(value), hint)

    def take(self, data: Mapping[str, object], key: Key, at: At) -> Any:
        for name, kind in self.types.items():
            if name in data:
                here = At(at.scope, (*at.path, name), data)
                return here.fail(*NOTHING) if data[name] is None else kind.read(data[name], here)
        return MISSING

    def give(self, value: object, key: Key, writer: Writer) -> dict[str, Any]:
        name = "rod" if isinstance(value, Rod) else "tubes" if isinstance(value, Tubes) else "body"
        return {name: self.types[name].write(value, writer)}

    def at_name(self, key: Key, name: str) -> Type | None:
        return self.types[name]

    def described(self, key: Key, define: Define) -> dict[str, Described]:
        rod = (
            "The link is a soft rod, from the joint along x.",
            "{length: 10 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 1}}",
        )
        tubes = (
            "The link is a set of concentric tubes, by names from the outermost on; the joint is their plate.",
            "{outer: {length: 20 cm, radius: 1.2 mm, inner_radius: 1 mm, material: rubber}, "
            "inner: {length: 30 cm, radius: 0.9 mm, inner_radius: 0, material: rubber}}",
        )
        texts = {"rod": rod, "tubes": tubes, "body": (key.doc, key.example)}
        return {name: Described(*texts[name], kind.schema(define), key) for name, kind in self.types.items()}


class ParentType(Reference):
    """The name of a link's parent."""

    def read(self, value: object, at: At) -> Any:
        if isinstance(value, list):
            return at.fail("the name of one link", shown(value), "a closed chain is a loop, not a second parent")
        own = at.path[-2] if len(at.path) > 1 else ""
        names = at.scope.names("links")
        if at.scope.is_file and names is not None and value == own:
            return at.fail("another link of this robot or 'world'", f"{shown(value)}, the link itself")
        name = at.attempt(lambda: (Name() if at.scope.is_file else Text("the name of a link")).check(value))
        if name is INVALID or names is None:
            return name
        if name in names or name == WORLD:
            return name
        return at.fail(self.what, shown(name), nearest(name, [WORLD, *(other for other in names if other != own)]))


@dataclass(frozen=True, eq=False)
class Link(Declared, title="Links"):
    """A joint and the body it moves.

    A rod starts at the joint's moving frame, along its x axis. A rigid body's frame is the joint's moving frame.
    Without a body it is a massless frame, to put a second joint on. ``at`` is the pose of the joint frame in the
    parent's: in that of the section at ``s`` of a rod, of the rigid body, or in the frame that ``frame`` names.
    """

    is_named = True

    name: str
    body: Rod | Tubes | RigidBody | None = key(
        LinkBody(), "The link is a rigid body: a shape, or numbers; a list of them are its parts. Without rod and body "
        "it is a massless frame.", "{box: {size: [6 cm, 4 cm, 2 cm]}, mass: 200 g}", default=None,
    )  # fmt: skip
    _: KW_ONLY
    joint: Joint = key(JointType(), "How it moves on its parent.", "{revolute: {axis: [0, 0, 1]}}", default=Fixed())
    parent: str = key(
        ParentType("links", "a link of this robot or 'world'"), "Name of the parent link, or world.", "world",
        default=WORLD,
    )  # fmt: skip
    at: Array = key(
        PlaceType("parent"), "Pose of the joint on the parent; a list of poses is one after the other.",
        "{position: [1 cm, 0, 0]}", default=IDENTITY,
    )  # fmt: skip
    s: float = 1.0
    frame: str = ""
    dh: Any = key(
        Part(DHRow), "Instead of `at` and of the axis of a revolute or prismatic joint: a row of a Denavit-Hartenberg "
        "table.", "{modified: [43 cm, 0, 15 cm, 0]}", default=None,
    )  # fmt: skip
    frames: Mapping[str, Array] = key(
        MapOf(PoseType()), "Frames in that of the body, by names of your choice, for other links to hang on. Not on a "
        "rod.", "{socket: {position: [0, 0, 1 cm]}}", default=None,
    )  # fmt: skip
    visual: tuple[Visual, ...] | None = key(
        OneOrSeveral(Visual),
        "What is drawn instead of the shapes of the body: a shape or a list of them; of an empty list, "
        "nothing. Not on a rod.", "[{sphere: {radius: 3 cm}, colour: orange}]", default=None,
    )  # fmt: skip
    collision: tuple[Collision, ...] | None = key(
        OneOrSeveral(Collision),
        "What touches in contacts that name the link, instead of the shapes of the body: a shape or a "
        "list of them. Not on a rod.", "[{sphere: {radius: 3 cm}}]", default=None,
    )  # fmt: skip

    @classmethod
    def check_keys(cls, data: Mapping[str, object]) -> None:
        if len(given := [name for name in ("rod", "tubes", "body") if name in data]) > 1:
            got = "both" if given == ["rod", "body"] else " and ".join(given)
            raise ModelError("", "a rod or a body", got, "fix one link to the other by a fixed joint")

    @classmethod
    def read_keys(cls, data: Mapping[str, object], at: At, **values: object) -> Any:
        if "dh" in data:
            try:
                data = DHRow.beside(data)
            except ModelError as error:
                return at.note(error)
        return super().read_keys(data, at, **values)

    def validate(self) -> None:
        if not isinstance(self.name, str) or not self.name or self.name == WORLD:
            raise ModelError("", "a name other than 'world'", shown(self.name))
        place_fields(self)
        if self.frames is None:
            self._set(frames={})
        if self.dh is not None:
            row = self.dh.joint(self.joint.kind)
            own: dict[str, Any] = {"axis": tuple(row.axis.tolist())}
            if self.joint.kind == "revolute":
                own["through"] = tuple(row.through.tolist())
            self._set(at=row.at, joint=replace(self.joint, **own), dh=None)
        if self.joint.changes_length:
            self._check_length_joint()
        for stage in self.joint.stages if any(self.joint.armature) else ():
            own = self.joint.armature[stage.first : stage.first + len(stage.columns)]
            if not stage.commutes and any(own):
                where, hint = f"joint.{self.joint.kind}.armature", "give it to the inertia of the body"
                raise ModelError(where, "nothing of coordinates that have no axis", shown(list(own)), hint)
        if self.rod is not None and self.frames:
            hint = "children of a rod say where on it they are: at: {s: 0.5}"
            raise ModelError("frames", "no frames on a rod", ", ".join(self.frames), hint)
        if self.rod is not None and self.visual is not None:
            hint = "hang a link without a body on it that has them"
            raise ModelError("visual", "no shapes on a rod, which is drawn as it is", "some", hint)
        if self.rod is not None and self.collision is not None:
            hint = "hang a link without a body on it that has them"
            raise ModelError("collision", "no shapes on a rod, which touches as it is", "some", hint)

    def _check_length_joint(self) -> None:
        """Refuse what cannot change its length: all but uniform rods, or first divisions of rods that are fed."""
        where = f"joint.{self.joint.kind}"
        if not isinstance(self.rod, Rod):
            hint = "give the link a rod, or a prismatic joint"
            raise ModelError(where, "a link with a rod, whose length it changes", "none", hint)
        if len(self.rod.divisions) > 1 and not self.joint.is_sheathed:
            hint = "let the division that grows be a link on the tip of the others"
            raise ModelError(where, "a rod of one division, which grows", f"{len(self.rod.divisions)} divisions", hint)
        division = self.rod.divisions[0]
        X = division.samples[0]
        lines = [division.line_stiffness(X), division.line_inertia(X), division.reference.values(X, division.length)]
        xi = lines[-1].real
        if any(np.ptp(line.real, axis=0).max() > 1e-9 * np.abs(line).max() for line in lines):
            hint = "the material moves along it, so that its size may not depend on the place"
            raise ModelError(where, "a rod with the same section and reference strain everywhere", "others", hint)
        if xi[0, 3] != 1.0 or np.any(xi[0, 4:] != 0.0):
            raise ModelError(where, "a rod without reference elongation and shear", "others", "change its length")
        if division.material.relaxation is not None:
            hint = "leave out its relaxation, or the joint"
            raise ModelError(where, "a rod of an elastic material", "one that relaxes", hint)
        if division.discs is not None:
            hint = "hang links without joints of their own on it"
            raise ModelError(where, "a rod without discs, which could not slide", "some", hint)

    def data(self, writer: Writer) -> Any:
        at, out = place_data(self, writer, self.parent), super().data(writer)
        row: dict[str, Any] = {}
        if set(at) <= {"position", "rotation"} and ("matrix" in at.get("rotation", ()) or np.any(self.joint.through)):
            row = row_of(self.joint.kind, self.at, self.joint.axis, self.joint.through)
        if row:
            at, joint = {}, out["joint"][self.joint.kind]
            own = {name: value for name, value in joint.items() if name not in ("axis", "through")}
            out["joint"] = {self.joint.kind: own} if own else self.joint.kind
        out |= {"at": at, "dh": row}
        order = ("parent", "at", "dh", "joint", "rod", "tubes", "body", "visual", "collision", "frames")
        return {name: out[name] for name in order if out.get(name, {}) != {}}

    @property
    def mass(self) -> float:
        """Mass of its body [kg]."""
        return 0.0 if self.body is None else float(np.real(self.body.mass))

    @property
    def rod(self) -> Rod | Tubes | None:
        """The rod, or the concentric tubes, None for a rigid link."""
        return self.body if isinstance(self.body, Rod | Tubes) else None


def pose_on_parent(link: Link, parent: Link | None) -> Array:
    """Pose (4, 4) of a link's joint frame in the frame of its parent's body, or of its parent's section at ``s``."""
    if parent is None or not link.frame:
        return link.at
    return parent.frames[link.frame] @ link.at


def _check_parent(link: Link, known: Mapping[str, Link]) -> None:
    """Refuse the name of a parent that is none, or of a frame that the parent does not have."""
    if link.parent == link.name:
        hint = "a link that hangs on nothing has the parent 'world'"
        got = f"'{link.name}', the link itself"
        raise ModelError(f"links.{link.name}.parent", "another link of this robot or 'world'", got, hint)
    if link.parent != WORLD and link.parent not in known:
        hint = nearest(link.parent, [n for n in known if n != link.name] + [WORLD])
        raise ModelError(f"links.{link.name}.parent", "a link of this robot or 'world'", f"'{link.parent}'", hint)
    frames = known[link.parent].frames if link.parent != WORLD else {}
    if link.frame and link.frame not in frames:
        what, hint = f"the name of a frame of '{link.parent}'", nearest(link.frame, frames)
        raise ModelError(f"links.{link.name}.frame", what, f"'{link.frame}'", hint)


def ordered_links(links: Sequence[Link]) -> tuple[Link, ...]:
    """Return the links parents first, otherwise in the order given; refuse what is not a tree. O(n log n)."""
    if not links:
        raise ModelError("links", "at least one link", "none")
    for name, count in Counter(link.name for link in links).items():
        if count > 1:
            raise ModelError(f"links.{name}", "names that differ", f"{count} links of this name")
    known = {link.name: link for link in links}
    children: dict[str, list[int]] = {}
    for i, link in enumerate(links):
        _check_parent(link, known)
        children.setdefault(link.parent, []).append(i)
    # of those whose parent has its place, always the first
    ready, placed = list(children.get(WORLD, ())), []
    while ready:
        i = heapq.heappop(ready)
        placed.append(i)
        for child in children.get(links[i].name, ()):
            heapq.heappush(ready, child)
    if len(placed) < len(links):
        waiting = [links[i].name for i in sorted(set(range(len(links))) - set(placed))]
        raise ModelError(
            f"links.{waiting[0]}.parent",
            "a way to the world",
            f"a cycle among {', '.join(waiting)}",
            "give one of them the parent 'world'; a closed chain is a loop, not a parent",
        )
    return tuple(links[i] for i in placed)
