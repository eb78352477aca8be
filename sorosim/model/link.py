"""Links (a joint and the body it moves) and the tree they form."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.errors import ModelError, nearest
from sorosim.model.body import RigidBody, Solid
from sorosim.model.joint import Joint
from sorosim.model.material import real_number
from sorosim.model.pose import check_pose
from sorosim.model.rod import Rod
from sorosim.model.visual import Visual
from sorosim.validation import describe

WORLD = "world"


@dataclass(frozen=True, eq=False)
class Link:
    """A joint and the body it moves.

    Parameters
    ----------
    name : str
    body : Rod, RigidBody or None
        A rod starts at the joint's moving frame, along its x axis. A rigid body's frame is the joint's moving frame.
        None: a massless frame, to put a second joint on.
    joint : Joint
    parent : str
        Name of the parent link, or "world".
    at : (4, 4) array_like
        Pose of the joint frame in the parent's frame: in the frame of the rod's section at ``s``, of the rigid body, or
        in that one of its frames that ``frame`` names.
    s : float
        Where on the parent rod, 0 (base) to 1 (tip). Without meaning for other parents.
    frame : str
        Name of a frame of the parent; "" for the frame of its body.
    frames : mapping of str to (4, 4) array_like
        Poses in this body's frame by names of your choice, for children to hang on. A rod has none.
    visual : sequence of Visual, optional
        What is drawn instead of the shapes with mass; of an empty one, nothing. A rod has none.
    """

    name: str
    body: Rod | RigidBody | None
    _: KW_ONLY
    joint: Joint = field(default_factory=Joint)
    parent: str = WORLD
    at: NDArray[np.float64] = field(default_factory=lambda: np.eye(4))
    s: float = 1.0
    frame: str = ""
    frames: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    visual: tuple[Visual, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or self.name == WORLD:
            raise ModelError("link", "a name other than 'world'", describe(self.name))
        if not isinstance(self.joint, Joint):
            raise ModelError(f"{self.name}.joint", "a Joint", describe(self.joint))
        if not isinstance(self.body, Rod | RigidBody | None):
            hint = "put solids into an Assembly" if isinstance(self.body, Solid | list | tuple) else ""
            raise ModelError(f"{self.name}.body", "a Rod, a RigidBody or None", describe(self.body), hint)
        object.__setattr__(self, "at", check_pose(f"{self.name}.at", self.at))
        s = real_number(f"{self.name}.s", self.s, "a place from 0 to 1", least=0.0, upto=1.0)
        object.__setattr__(self, "s", s)
        if not isinstance(self.frame, str):
            raise ModelError(f"{self.name}.frame", "the name of a frame of the parent", describe(self.frame))
        if not isinstance(self.frames, Mapping) or not all(isinstance(key, str) and key for key in self.frames):
            raise ModelError(f"{self.name}.frames", "poses by name", describe(self.frames))
        frames = {key: check_pose(f"{self.name}.frames.{key}", pose) for key, pose in self.frames.items()}
        object.__setattr__(self, "frames", frames)
        if self.visual is not None:
            object.__setattr__(self, "visual", self._checked_visual())
        if self.rod is not None and frames:
            hint = "children of a rod say where on it they are: at: {s: 0.5}"
            raise ModelError(f"{self.name}.frames", "no frames on a rod", ", ".join(frames), hint)
        if self.rod is not None and self.visual is not None:
            hint = "hang a link without a body on it that has them"
            raise ModelError(f"{self.name}.visual", "no shapes on a rod, which is drawn as it is", "some", hint)

    def _checked_visual(self) -> tuple[Visual, ...]:
        given: Any = self.visual
        if not isinstance(given, Sequence) or not all(isinstance(shape, Visual) for shape in given):
            raise ModelError(f"{self.name}.visual", "a sequence of Visual", describe(given))
        return tuple(given)

    @property
    def rod(self) -> Rod | None:
        """The rod, None for a rigid link."""
        return self.body if isinstance(self.body, Rod) else None


def pose_on_parent(link: Link, parent: Link | None) -> NDArray[np.float64]:
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
