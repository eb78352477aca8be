"""A tree of rigid links as its format means it: what readers fill, and what links of a file are made of."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.errors import nearest
from sorosim.base.problems import Place, listed, shown
from sorosim.files.nodes import Mistakes
from sorosim.files.rigid.document import Element
from sorosim.files.rigid.inertia import Inertia

MAX_LINKS = 5000
PASSES_A_POINT = ("revolute", "helical")  # kinds whose axis may pass beside the origin of the link


@dataclass
class Visual:
    """A shape that is drawn, or touches: its block in a file.

    The file of a mesh has the name that its format gives it.
    """

    shape: dict[str, Any]
    pose: Array  # (4, 4) in the frame of the link
    colour: str  # its code, "" where none is given
    place: Place


@dataclass
class RigidLink:
    """A link, and where it is written; without inertia it is a frame."""

    name: str
    element: Element
    inertia: Inertia | None = None  # in the frame of the link
    visuals: list[Visual] = field(default_factory=list)
    collisions: list[Visual] = field(default_factory=list)  # what touches


class Mimic(NamedTuple):
    """A joint that follows another one: value = multiplier * value of the leader + offset."""

    leader: str
    multiplier: float
    offset: float


@dataclass
class RigidJoint:
    """A joint above a link, with what acts in it; kinds and coordinates are those of sorosim.

    Parameters
    ----------
    pose : (4, 4)
        Of the child in the frame of its parent, all coordinates at zero.
    axis, second_axis, through : (3,)
        In the frame of the child; a kind that knows no `through` gets a frame of its own there.
    acting : dict
        Values of damping, friction, stiffness and rest, where they are not zero.
    limits : (low, high), optional
    locked_at : float, optional
        Value at which the file holds its coordinate.
    word : str
        Its kind as the format calls it.
    """

    name: str
    kind: str
    parent: str
    child: str
    element: Element
    pose: Array
    axis: Array | None = None
    second_axis: Array | None = None
    through: Array = field(default_factory=lambda: np.zeros(3))
    pitch: float = 0.0
    acting: dict[str, Any] = field(default_factory=dict)
    limits: tuple[float, float] | None = None
    mimic: Mimic | None = None
    locked_at: float | None = None
    word: str = ""


@dataclass
class RigidLoop:
    """A joint that closes a chain: a frame on one link moves on a frame of another as its kind allows.

    Parameters
    ----------
    moved, fixed : (str, (4, 4))
        Links and poses on them of frame a and of frame b, in whose axes the joint is.
    """

    name: str
    kind: str
    moved: tuple[str, Array]
    fixed: tuple[str, Array]
    place: Place
    axis: Array | None = None
    pitch: float = 0.0
    acting: dict[str, Any] = field(default_factory=dict)
    limits: tuple[float, float] | None = None


def unused(name: str, taken: set[str]) -> str:
    """A name that nothing has, with a number behind it where it is needed; it is taken then."""
    numbered = itertools.chain([name], (f"{name}_{n}" for n in itertools.count(2)))
    own = next(one for one in numbered if one not in taken)
    taken.add(own)
    return own


class RigidActuator(NamedTuple):
    """A motor in a joint: its kind and its values, in the units of the joint."""

    name: str
    kind: str
    joint: str
    values: dict[str, float]
    place: Place


class Start(NamedTuple):
    """Where a robot starts, by the names of its joints: ``value`` and ``rate``, or pose and motion, as `initial`."""

    joints: dict[str, dict[str, Any]]
    place: Place


@dataclass
class RigidTree:
    """A robot. Its root is the world itself where it is called so.

    Parameters
    ----------
    links : dict of str to RigidLink
        By name, in the order of the file.
    joint_of : dict of str to RigidJoint
        The joint above each link, by the name of the link; the root has none.
    pose : (4, 4)
        Of the root in the world.
    floats : bool
        Whether nothing holds the root there.
    gravity : (3,), optional
        Acceleration of gravity, where the file says it.
    loops : list of RigidLoop
    actuators : list of RigidActuator
    start : Start, optional
        Without it at the pose of the file.
    """

    links: dict[str, RigidLink]
    joint_of: dict[str, RigidJoint]
    root: str
    pose: Array = field(default_factory=lambda: np.eye(4))
    floats: bool = False
    gravity: Array | None = None
    loops: list[RigidLoop] = field(default_factory=list)
    actuators: list[RigidActuator] = field(default_factory=list)
    start: Start | None = None

    @cached_property
    def children(self) -> dict[str, list[str]]:
        """Links on each link, in the order of the file."""
        found: dict[str, list[str]] = {name: [] for name in self.links}
        for name in self.links:
            if name in self.joint_of:
                found[self.joint_of[name].parent].append(name)
        return found


def made_tree(links: Iterable[RigidLink], joints: Iterable[RigidJoint], root: str, **more: Any) -> RigidTree:
    """A tree; a joint about a point that is not the origin of its link moves a frame that carries the link."""
    known, above = {link.name: link for link in links}, {joint.child: joint for joint in joints}
    taken = set(known)
    for name, joint in list(above.items()):
        if joint.kind in PASSES_A_POINT or joint.kind in ("prismatic", "fixed") or not joint.through.any():
            continue
        carrier, to = unused(f"{name}_{joint.kind}", taken), np.eye(4)
        to[:3, 3] = joint.through
        known[carrier] = RigidLink(carrier, joint.element)
        above[carrier] = replace(joint, child=carrier, pose=joint.pose @ to, through=np.zeros(3))
        to = to.copy()
        to[:3, 3] *= -1.0
        above[name] = RigidJoint("", "fixed", carrier, name, joint.element, to)
    return RigidTree(known, above, root, **more)


class Edge(NamedTuple):
    """A joint between two links as a file names them, and where it names each."""

    joint: Element
    parent: str
    child: str
    parent_place: Place
    child_place: Place


def named(elements: Iterable[Element], tag: str, mistakes: Mistakes) -> dict[str, Element]:
    """Links or joints by name; names that are there twice are noted."""
    found: dict[str, Element] = {}
    for element in elements:
        name = element.attributes["name"]
        if name in found:
            first = f"the first is at line {found[name].place.line}"
            mistakes.note(element.place, f"names of {tag}s that differ", f"{shown(name)} twice", first)
        found.setdefault(name, element)
    return found


def roots_of(
    root: Element, links: dict[str, Element], edges: dict[str, Edge], mistakes: Mistakes,
    closing: Mapping[str, bool] | None = None,
) -> tuple[list[str], list[str]]:  # fmt: skip
    """Links without a joint above them, and joints that close rings; what makes no tree of the links is noted.

    closing : of each joint, whether it may close a ring. Of several joints above a link the one is of the tree that
        reaches it first from the roots, those that may close none before the others. Without it several are a mistake.
    """
    if len(links) > MAX_LINKS:
        mistakes.note(root.place, f"at most {MAX_LINKS} links", f"{len(links)}")
        return [], []
    if not links:
        mistakes.note(root.place, "at least one <link>", "none")
    below: dict[str, list[str]] = {name: [] for name in links}  # joints on each link
    first: dict[str, str] = {}  # joint above each link
    for name, edge in edges.items():
        for end, place in ((edge.parent, edge.parent_place), (edge.child, edge.child_place)):
            if end not in links:
                mistakes.note(place, "the name of a link", shown(end), nearest(end, links))
        if edge.child in first and closing is None:
            got = f"{shown(edge.child)} below the joints {first[edge.child]} and {name}"
            hint = "cut the ring at one joint here, and close it again by one of `loops` in the robot's file"
            mistakes.note(edge.joint.place, "links with one joint above each", got, hint)
        first.setdefault(edge.child, name)
        below.setdefault(edge.parent, []).append(name)
    if mistakes:
        return [], []
    tops = [name for name in links if name not in first]
    reached, rings = set(tops), set[str]()
    waiting = [name for top in tops for name in below[top]]
    must = {edges[name].child for name, may in (closing or {}).items() if not may}  # links with joints that close none

    def order(name: str) -> int:
        return 0 if closing is not None and not closing[name] else 2 if edges[name].child in must else 1

    while waiting:
        name = min(waiting, key=order)
        waiting.remove(name)
        child = edges[name].child
        if child in reached:
            rings.add(name)
        else:
            reached.add(child)
            waiting += below[child]
    if lost := [name for name in links if name not in reached]:
        got = f"{shown(lost[0])} in a ring of joints, or on one"
        mistakes.note(links[lost[0]].place, "links with a way up to the root", got)
    return tops, [name for name in edges if name in rings]


def only_root(tops: list[str], links: dict[str, Element], mistakes: Mistakes) -> None:
    """Note that there are several."""
    if len(tops) > 1:
        got = f"{len(tops)}: {listed([shown(top) for top in tops[:5]]).replace(' or ', ' and ')}"
        mistakes.note(links[tops[1]].place, "one link without a joint above it", got, "connect them by fixed joints")


def colour_code(rgb: Iterable[float]) -> str:
    """Code of a colour of red, green and blue from 0 to 1."""
    return "#" + "".join(f"{round(255 * min(max(x, 0.0), 1.0)):02x}" for x in rgb)
