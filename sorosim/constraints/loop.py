"""Loops: joints that close a chain of links, between two frames of the tree or a frame and the world."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.actuation.loop_force import LoopForce
from sorosim.complex_step import number_type
from sorosim.errors import ModelError, nearest
from sorosim.kernels.loop_joint import (
    ALONG,
    ANY_TURN,
    AXIS,
    AXIS_TURN,
    DAMPING,
    FRAME_A,
    FRAME_B,
    N_VALUES,
    NO_TURN,
    PHI,
    PITCH,
    REST,
    SCREW_TURN,
    SLIDE,
    STIFFNESS,
    Loops,
)
from sorosim.model.anchor import AS_BUILT, Anchor
from sorosim.model.compile import Layout
from sorosim.model.joint import Joint, directions_across
from sorosim.model.link import WORLD, Link
from sorosim.validation import describe

Array = NDArray[np.float64]

TURNS = {
    "fixed": NO_TURN, "revolute": AXIS_TURN, "prismatic": NO_TURN, "helical": SCREW_TURN, "cylindrical": AXIS_TURN,
    "planar": AXIS_TURN, "spherical": ANY_TURN,
}  # fmt: skip
# joints whose free motions commute: springs, dampers and motors act along them
SUPPORTS_SPRINGS = ("revolute", "prismatic", "helical", "cylindrical")


@dataclass(frozen=True, eq=False)
class Loop:
    """A joint that closes a chain: it holds frame `a` to frame `b` but for its own motion.

    Parameters
    ----------
    joint : Joint
        fixed, revolute, prismatic, helical, cylindrical, planar or spherical; its frames are `a`, which moves, and `b`.
        Springs and dampers may act in revolute, prismatic, helical and cylindrical ones; no friction and no limits.
    a, b : Anchor
        On two links, or a link and the world.

    Notes
    -----
    A universal joint is not among them, since its free motions form no group: close the chain at another joint.
    """

    joint: Joint
    a: Anchor
    b: Anchor = field(default_factory=Anchor)

    def __post_init__(self) -> None:
        if not isinstance(self.joint, Joint):
            raise ModelError("loop.joint", "a Joint", describe(self.joint))
        for name in ("a", "b"):
            if not isinstance(getattr(self, name), Anchor):
                raise ModelError(f"loop.{name}", "an Anchor", describe(getattr(self, name)))
        kind = self.joint.kind
        if kind not in TURNS:
            hint = "a free joint closes nothing" if kind == "free" else "close the chain at another of its joints"
            raise ModelError("loop.joint", f"one of {', '.join(TURNS)}", kind, hint)
        if kind == "helical" and self.joint.pitch == 0.0:
            raise ModelError("loop.joint.pitch", "a pitch other than 0", "0", "a helical joint without one is revolute")
        if any(self.joint.friction) or any(stop is not None for stop in self.joint.stops):  # type: ignore[arg-type]
            raise ModelError("loop.joint", "no friction and no limits in the joint of a loop", "some")
        springs = [name for name in ("stiffness", "damping") if np.any(getattr(self.joint, name))]
        if springs and kind not in SUPPORTS_SPRINGS:
            raise ModelError(
                f"loop.joint.{springs[0]}", f"none in a {kind} loop", "some", f"in {', '.join(SUPPORTS_SPRINGS)} only"
            )
        if any(self.joint.through):
            got, hint = describe(list(self.joint.through)), "its frames stand on the axis: move them by `at`"
            raise ModelError("loop.joint.through", "no point on the axis of a loop", got, hint)
        if isinstance(self.a.at, str):
            raise ModelError("loop.a.at", "a pose", f"'{AS_BUILT}'", "only frame b can be taken as built")

    @property
    def constrained(self) -> Array:
        """Phi^T (m, 6): what the joint does not allow, [angular; linear], in frame b."""
        axis, kind = np.array(self.joint.axis), self.joint.kind
        across, all_, none = directions_across(axis), np.eye(3), np.zeros((0, 3))
        turns = {"spherical": none, "fixed": all_, "prismatic": all_}.get(kind, across)
        slides = {"prismatic": across, "helical": across, "cylindrical": across, "planar": axis[None]}.get(kind, all_)
        rows = [np.pad(turns, ((0, 0), (0, 3))), np.pad(slides, ((0, 0), (3, 0)))]
        if kind == "helical":
            rows.append(np.concatenate([self.joint.pitch * axis, -axis])[None])
        return np.vstack(rows)

    @property
    def along(self) -> Array:
        """Wrench on frame a (n, 6) of a unit force or moment along each direction that may have a spring or a motor."""
        axis, none = np.array(self.joint.axis), np.zeros(3)
        turn, slide = np.concatenate([axis, none]), np.concatenate([none, axis])
        found = {"revolute": [turn], "helical": [turn], "prismatic": [slide], "cylindrical": [turn, slide]}
        return np.array(found.get(self.joint.kind, [])).reshape(-1, 6)


class Closed(NamedTuple):
    """Loops of a robot by name, as they stand in the arrays."""

    rows: dict[str, slice]  # of the multipliers
    turns: NDArray[np.bool_]  # (m,) whether the error is an angle, else a length
    extent: dict[str, float]  # [m]
    m: int


def compile_loops(
    loops: Mapping[str, Loop], motors: Mapping[int, LoopForce], links: Sequence[Link], layout: Layout,
    built: Callable[[int], Array],
) -> tuple[Loops, Closed]:  # fmt: skip
    """Arrays of loops.

    Parameters
    ----------
    loops : mapping of str to Loop
    motors : mapping of int to LoopForce
        By the index of the actuator.
    links, layout
        The tree, in which the places of all anchors are nodes.
    built : callable
        Pose (4, 4) of a node when all coordinates are zero.

    Raises
    ------
    ModelError
        An anchor on no link, or both on the same node.
    """
    by_name = {link.name: link for link in links}
    for motor in motors.values():
        if motor.loop not in loops:
            raise ModelError("loop", "the name of a loop", f"'{motor.loop}'", nearest(motor.loop, loops))
        if loops[motor.loop].joint.kind not in SUPPORTS_SPRINGS:
            raise ModelError("loop", f"a loop that is {', '.join(SUPPORTS_SPRINGS)}", loops[motor.loop].joint.kind)
    row, value = np.zeros((len(loops), 8), dtype=np.int64), np.zeros((len(loops), N_VALUES), dtype=number_type())
    rows, first = {}, 0
    for k, (name, loop) in enumerate(loops.items()):
        joint, phi, along, where = loop.joint, loop.constrained, loop.along, f"loops.{name}"
        pose_a, pose_b = loop.a.pose_on_node(f"{where}.a", by_name), loop.b.pose_on_node(f"{where}.b", by_name)
        nodes = [loop.a.node(layout), loop.b.node(layout)]
        if nodes[0] == nodes[1]:
            raise ModelError(where, "two ends that can move against each other", "both on the same place")
        assert pose_a is not None  # refused by Loop
        if pose_b is None:
            pose_b = np.linalg.inv(built(nodes[1])) @ built(nodes[0]) @ pose_a
        acting = {motor.index(joint): i for i, motor in motors.items() if motor.loop == name}
        lawful = bool(acting) or np.any(joint.stiffness) or np.any(joint.damping)
        row[k] = [*nodes, TURNS[joint.kind], first, len(phi), len(along) if lawful else 0,
                  acting.get(0, -1), acting.get(1, -1)]  # fmt: skip
        rows[name] = slice(first, first + len(phi))
        first += len(phi)
        for at, pose in ((FRAME_A, pose_a), (FRAME_B, pose_b)):
            value[k, at : at + 12] = np.vstack([pose[:3, :3], pose[:3, 3]]).ravel()
        value[k, PHI : PHI + phi.size] = phi.ravel()
        axis = np.array(joint.axis)
        slide = {"planar": np.eye(3) - np.outer(axis, axis)}
        if joint.kind in ("prismatic", "helical", "cylindrical"):
            slide[joint.kind] = np.outer(axis, axis)
        value[k, SLIDE : SLIDE + 9] = slide.get(joint.kind, np.zeros((3, 3))).ravel()
        value[k, AXIS : AXIS + 3], value[k, PITCH] = axis, joint.pitch
        value[k, ALONG : ALONG + along.size] = along.ravel()
        for at, name_of in ((STIFFNESS, "stiffness"), (DAMPING, "damping"), (REST, "rest")):
            if len(along):
                value[k, at : at + len(along)] = getattr(joint, name_of)
    forbidden = np.concatenate([np.zeros((0, 6)), *(loop.constrained for loop in loops.values())])
    turns = np.logical_not(forbidden[:, 3:].any(axis=1))
    size = np.ones(first)
    extents = {name: extent(loop, by_name, layout, built) for name, loop in loops.items()}
    for name in loops:
        size[rows[name]] = np.where(turns[rows[name]], 1.0, 1.0 / extents[name])
    return Loops(row, value, size), Closed(rows, turns, extents, first)


def extent(loop: Loop, links: Mapping[str, Link], layout: Layout, built: Callable[[int], Array]) -> float:
    """The greatest distance of frame a from the ends of the links that the loop makes a ring; 1 m if there is none."""
    chains: list[set[str]] = [set(), set()]
    for chain, anchor in zip(chains, (loop.a, loop.b), strict=True):
        name = anchor.link
        while name != WORLD:
            chain.add(name)
            name = links[name].parent
    nodes = [loop.b.node(layout), *(layout.links[name].nodes[end] for name in chains[0] ^ chains[1] for end in (0, -1))]
    here = built(loop.a.node(layout))[:3, 3]
    found = max(float(np.linalg.norm((built(int(node))[:3, 3] - here).real)) for node in nodes)
    return found if found > 0.0 else 1.0
