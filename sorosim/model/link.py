"""Links (a joint and the body it moves) and the tree they form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.door import describe
from sorosim.errors import ModelError, nearest
from sorosim.model.body import RigidBody
from sorosim.model.joint import Joint
from sorosim.model.material import real_number
from sorosim.model.rod import Rod

WORLD = "world"


def check_pose(where: str, value: Any) -> NDArray[np.float64]:
    """Return a read-only (4, 4) pose, refusing what is not a rotation and a translation."""
    try:
        g = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(where, "a pose, a (4, 4) array", describe(value)) from None
    if g.shape != (4, 4) or not np.isfinite(g).all():
        raise ModelError(where, "a pose, a (4, 4) array of finite numbers", f"shape {g.shape}")
    R = g[:3, :3]
    if np.abs(R @ R.T - np.eye(3)).max() > 1e-9 or np.linalg.det(R) < 0.0 or not np.array_equal(g[3], [0, 0, 0, 1]):
        raise ModelError(where, "a rotation matrix, a position and the row 0 0 0 1", describe(g.tolist()))
    g.setflags(write=False)
    return g


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
        Pose of the joint frame in the parent's frame: in the frame of the rod's section at ``s``, or of the rigid body.
    s : float
        Where on the parent rod, 0 (base) to 1 (tip). Without meaning for other parents.
    """

    name: str
    body: Rod | RigidBody | None
    _: KW_ONLY
    joint: Joint = field(default_factory=Joint)
    parent: str = WORLD
    at: NDArray[np.float64] = field(default_factory=lambda: np.eye(4))
    s: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or self.name == WORLD:
            raise ModelError("link", "a name other than 'world'", describe(self.name))
        if not isinstance(self.joint, Joint):
            raise ModelError(f"{self.name}.joint", "a Joint", describe(self.joint))
        if not isinstance(self.body, Rod | RigidBody | None):
            raise ModelError(f"{self.name}.body", "a Rod, a RigidBody or None", describe(self.body))
        object.__setattr__(self, "at", check_pose(f"{self.name}.at", self.at))
        s = real_number(f"{self.name}.s", self.s, "a place from 0 to 1", least=0.0, upto=1.0)
        object.__setattr__(self, "s", s)

    @property
    def rod(self) -> Rod | None:
        """The rod, None for a rigid link."""
        return self.body if isinstance(self.body, Rod) else None


def ordered_links(links: Sequence[Link]) -> tuple[Link, ...]:
    """Return the links parents first, otherwise in the order given; refuse what is not a tree."""
    names = [link.name for link in links]
    if not links:
        raise ModelError("links", "at least one link", "none")
    for name in names:
        if names.count(name) > 1:
            raise ModelError(f"links.{name}", "names that differ", f"{names.count(name)} links of this name")
    for link in links:
        if link.parent != WORLD and link.parent not in names:
            hint = nearest(link.parent, [n for n in names if n != link.name] + [WORLD])
            raise ModelError(f"links.{link.name}.parent", "a link of this robot or 'world'", f"'{link.parent}'", hint)
    placed: dict[str, Link] = {}
    waiting = list(links)
    while waiting:
        ready = next((link for link in waiting if link.parent == WORLD or link.parent in placed), None)
        if ready is None:
            loop = ", ".join(link.name for link in waiting)
            raise ModelError(
                f"links.{waiting[0].name}.parent",
                "a way to the world",
                f"a cycle among {loop}",
                "give one of them the parent 'world'; a closed chain is a loop, not a parent",
            )
        placed[ready.name] = ready
        waiting.remove(ready)
    return tuple(placed.values())
