"""Frames on links by what users call them: poses and Jacobians of several at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.complex_step import derivative, varying
from sorosim.base.errors import InputError, ModelError, nearest
from sorosim.base.validation import describe
from sorosim.mechanics.dynamics import arguments
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.lie.se3 import Ad_inv
from sorosim.mechanics.model.anchor import Anchor
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.link import Link


class LinkFrames:
    """Frames on links, each given by

    - the name of a link: the tip of a rod, or the frame of a rigid body;
    - (link, s): the section of a rod at the fraction s of its length;
    - the name of a frame of a rigid link, "link.frame" where several links have one of that name;
    - an `Anchor`: a pose on any of these, such as a marker beside the axis of a rod.

    Attributes
    ----------
    anchors : list of Anchor
        The frames.
    names : tuple of str
        What they are called in messages, such as "arm" or "arm at s = 0.5".
    points : tuple of str
        Their origins in words: "tip of arm", "arm at s = 0.5", "origin of plate", "hand.grip".
    places : tuple of (str, float)
        The places (link, s) that carry them.
    """

    def __init__(
        self, description: Description, engine: Engine, frames: Sequence[object], where: str = "place"
    ) -> None:
        self.engine = engine
        self.anchors = anchors = [as_anchor(description, frame, where) for frame in frames]
        links = {link.name: link for link in description.links}
        places, mounts, names = [], [], []
        for anchor in anchors:
            try:
                mount = anchor.pose_on_node(where, links)
            except ModelError as error:
                raise InputError(error.where, error.expected, error.got, error.hint) from None
            if mount is None or anchor.link not in links:
                got = "the world" if mount is not None else "one that is as built"
                raise InputError(where, "a frame on a link of the robot", got)
            places.append(arguments.place(engine, anchor.link, anchor.s))
            mounts.append(mount)
            names.append(_name(anchor))
        self.names = tuple(names)
        self.points = tuple(_point(anchor, links[anchor.link]) for anchor in anchors)
        self.places = tuple(places)
        self._places = engine.places(self.places)
        self._mount = np.array(mounts).reshape(-1, 4, 4)
        self._mounted = [k for k, mount in enumerate(self._mount) if not np.array_equal(mount, np.eye(4))]
        self._to_mount = [Ad_inv(self._mount[k]) for k in self._mounted]

    def poses(self, q: Array) -> Array:
        """Poses (n, 4, 4) in the world at coordinates (ndof,)."""
        return np.asarray(self.engine.poses_at(self._places, q)[0] @ self._mount)

    def positions(self, q: Array) -> Array:
        """Positions (n_rows, n, 3) of their origins at coordinates (n_rows, ndof); NaN where none can be found."""
        with np.errstate(all="ignore"):
            return np.array([self.poses(row)[:, :3, 3] for row in q]).reshape(len(q), len(self.names), 3)

    def jacobians(self, q: Array) -> tuple[Array, Array]:
        """Poses (n, 4, 4), and Jacobians (n, 6, ndof) of twists in the frames themselves, [angular; linear]."""
        g, J = self.engine.poses_at(self._places, q, jacobian=True)
        for k, X in zip(self._mounted, self._to_mount, strict=True):
            g[k] = g[k] @ self._mount[k]
            J[k] = X @ J[k]
        return g, J

    def twists(self, moved: Array) -> Array:
        """Twists (n, 6) of the frames, in themselves, where their places move by such twists."""
        out = moved.copy()
        for k, X in zip(self._mounted, self._to_mount, strict=True):
            out[k] = X @ moved[k]
        return out

    def own_twists(self, links: Mapping[str, Link]) -> Array:
        """Twists (n, 6) of the frames beside their places by the scalar that links carry (`complex_step.varying`)."""
        with varying():
            mounts = [np.asarray(anchor.pose_on_node("places", links), dtype=complex) for anchor in self.anchors]
        change = derivative(np.array(mounts).reshape(-1, 4, 4))[:, :3]
        Rt = self._mount[:, :3, :3].transpose(0, 2, 1)
        W = Rt @ change[:, :, :3]
        turned = np.stack([W[:, 2, 1], W[:, 0, 2], W[:, 1, 0]], axis=1)
        return np.concatenate([turned, np.einsum("nij,nj->ni", Rt, change[:, :, 3])], axis=1)


def as_anchor(description: Description, frame: object, where: str = "place") -> Anchor:
    """A frame on a link from any of the ways in which `LinkFrames` takes one (else InputError)."""
    links = {link.name: link for link in description.links}
    if isinstance(frame, Anchor):
        return frame
    if isinstance(frame, str) and frame in links:
        return Anchor(frame)
    if isinstance(frame, str):
        owners = [(link.name, name) for link in links.values() for name in link.frames]
        found = [owner for owner in owners if frame in (owner[1], ".".join(owner))]
        if len(found) == 1:
            return Anchor(found[0][0], frame=found[0][1])
        if found:
            got = f"'{frame}', which {' and '.join(link for link, _ in found)} have"
            raise InputError(where, "one frame", got, f"say '{found[0][0]}.{frame}'")
        raise InputError(
            where, "a link, or a frame on one", f"'{frame}'", nearest(frame, [*links, *map(".".join, owners)])
        )
    if isinstance(frame, tuple | list) and len(frame) == 2 and isinstance(frame[0], str):
        link, s = frame
        if link not in links:
            raise InputError(where, "the name of a link", f"'{link}'", nearest(link, links))
        if not isinstance(s, int | float | np.number) or isinstance(s, bool) or not 0.0 <= float(s) <= 1.0:
            raise InputError(f"{where}.{link}", "a fraction of the rod's length from 0 to 1", f"{s!r}")
        return Anchor(link, s=float(s))
    raise InputError(where, "a link, (link, s), a frame or an Anchor", describe(frame))


def _name(anchor: Anchor) -> str:
    """A frame in words."""
    if anchor.frame:
        return f"{anchor.link}.{anchor.frame}"
    return anchor.link if anchor.s == 1.0 else f"{anchor.link} at s = {anchor.s:g}"


def _point(anchor: Anchor, link: Link) -> str:
    """The origin of a frame in words."""
    if not (anchor.frame or np.array_equal(anchor.at, np.eye(4))):
        return f"point of {_name(anchor)}"
    if anchor.frame or anchor.s != 1.0:
        return _name(anchor)
    return f"{'tip' if link.rod is not None else 'origin'} of {anchor.link}"
