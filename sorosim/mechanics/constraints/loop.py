"""Loops: joints that close a chain of links, between two frames of the tree or a frame and the world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from sorosim.base.arrays import Array, Mask
from sorosim.base.complex_step import number_type
from sorosim.base.declare import INVALID, At, Declared, Part, Type, Writer, key
from sorosim.base.errors import ModelError, nearest
from sorosim.base.problems import listed, shown
from sorosim.base.registry import JOINTS, Registry
from sorosim.mechanics.actuation.loop_force import LoopForce
from sorosim.mechanics.constraints.coupling import Coupling
from sorosim.mechanics.kernels import loop_joint as lj
from sorosim.mechanics.kernels.loop_joint import Loops
from sorosim.mechanics.kernels.tree import Tree
from sorosim.mechanics.model.anchor import LINK, Anchor, AnchorType
from sorosim.mechanics.model.joints import Joint, JointType
from sorosim.mechanics.model.joints.base import SomeJoints
from sorosim.mechanics.model.layout import Layout
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.pose import AS_BUILT, IDENTITY, WORLD, PlaceType

CLOSING = SomeJoints(lambda _, kind: getattr(kind, "turn", None) is not None)


def _refusal(kind: str) -> tuple[str, str, str]:
    """What is expected in the place of a joint that closes no loop, and what to do."""
    hint = "a free joint closes nothing" if kind == "free" else "close the chain at another of its joints"
    return f"one of {', '.join(CLOSING.declared())}", kind, hint


@dataclass(frozen=True)
class LoopJoint(JointType):
    """The joint of a loop."""

    registry: Registry = cast(Any, CLOSING)

    def read(self, value: object, at: At) -> Any:
        kind = next(iter(value), None) if isinstance(value, Mapping) and len(value) == 1 else value
        if isinstance(kind, str) and kind in JOINTS and kind not in self.registry:
            return at.fail(*_refusal(kind))
        joint = super().read(value, at)
        if joint is INVALID or not isinstance(value, Mapping):
            return joint
        kind, given = type(joint), value[joint.kind]
        if kind.turn is None or not isinstance(given, Mapping):
            return joint
        springs = kind.takes_springs_in_loop()
        known = [name for name in kind.key_names() if name in (*SHAPE, *(SPRINGS if springs else ()))]
        wrong = sorted(set(given) - set(known))
        for name in wrong:
            hint = f"springs and dampers may be in {listed(spring_kinds())} ones" if name in SPRINGS else ""
            what = f"a key of a {joint.kind} joint that closes a loop"
            (at / joint.kind / name).fail(what, shown(name), hint or f"known: {', '.join(known)}", at_key=True)
        return INVALID if wrong else joint

    def write(self, value: Any, writer: Writer) -> Any:
        known = (*SHAPE, *(SPRINGS if value.takes_springs_in_loop() else ()))  # what else there is has no effect
        own = {name: entry for name, entry in value.data(writer).items() if name in known}
        kind = self.kind_of(value)
        return {kind: own} if own else kind


# keys of a joint that closes a loop
SHAPE, SPRINGS = ("axis", "pitch"), ("stiffness", "damping", "rest")


def spring_kinds() -> list[str]:
    """Kinds of joints in which springs, dampers and motors may act where they close a loop."""
    return [name for name, kind in JOINTS.declared().items() if kind.takes_springs_in_loop()]


@dataclass(frozen=True)
class EndType(AnchorType):
    """An end of a loop."""

    built: bool = False

    def read(self, value: object, at: At) -> Any:
        at_link = value.get("at") if isinstance(value, Mapping) else None
        entries = [(at / "at", at_link)] if isinstance(at_link, Mapping) else []
        entries += [(at / "at" / i, pose) for i, pose in enumerate(at_link if isinstance(at_link, list) else ())]
        for here, pose in entries:
            if isinstance(pose, Mapping) and "as_built" in pose and not (self.built and isinstance(at_link, Mapping)):
                hint = "it stands alone, not in a list: at: {as_built: true}"
                hint = hint if self.built else "only the end 'to' may be taken as built"
                return (here / "as_built").fail("position and rotation", "as_built", hint)
        if isinstance(value, Mapping):
            return (End if self.built else Begin).read(value, at)
        return super().read(value, at)

    def shapes(self) -> tuple[Type, ...]:
        return LINK, Part(End if self.built else Begin)


@dataclass(frozen=True, eq=False)
class Begin(Anchor, title="Where a loop begins"):
    """Frame a of a loop."""

    link: str = key(LINK, "Name of a link, or world.", "knob", default=WORLD, stated=True)


@dataclass(frozen=True, eq=False)
class End(Anchor, title="Where a loop ends"):
    """Frame b of a loop."""

    at: Any = key(
        PlaceType(built=True), "Pose on the link; a list of poses is one after the other.", "{as_built: true}",
        default=IDENTITY,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Loop(Declared, title="Loops"):
    """A joint that closes a chain: it holds frame `a` to frame `b` but for its own motion.

    A universal joint is not among them, since its free motions form no group: close the chain at another joint.
    """

    joint: Joint = key(
        LoopJoint(),
        "How one end may move on the other: as the joint of a link, but not universal and not free, without friction "
        "and limits. Springs and dampers in revolute, prismatic, helical and cylindrical ones only.",
        "{revolute: {axis: [0, 0, 1], stiffness: 2 N*m/rad}}",
    )
    a: Anchor = key(
        EndType(), "The end that moves, frame a: the name of a link, its tip or its body frame, or {link, at}.", "knob",
        name="from",
    )  # fmt: skip
    b: Anchor = key(
        EndType(built=True), "The end that it moves on, frame b, the frame of the joint: as `from`.",
        "{link: arm, at: {as_built: true}}", name="to", default=Anchor(), stated=True,
    )  # fmt: skip

    def validate(self) -> None:
        joint, kind = self.joint, self.joint.kind
        if joint.turn is None:
            raise ModelError("joint", *_refusal(kind))
        try:
            joint.check_in_loop()
        except ModelError as error:
            raise error.inside("joint") from None
        if any(joint.friction) or any(joint.armature) or any(limit is not None for limit in joint.limits):
            raise ModelError("joint", "no friction, armature and limits in the joint of a loop", "some")
        springs = [name for name in ("stiffness", "damping") if np.any(getattr(joint, name))]
        if springs and not joint.takes_springs_in_loop():
            hint = f"in {', '.join(spring_kinds())} only"
            raise ModelError(f"joint.{springs[0]}", f"none in a {kind} loop", "some", hint)
        if any(joint.through):
            got, hint = shown(list(joint.through)), "its frames stand on the axis: move them by `at`"
            raise ModelError("joint.through", "no point on the axis of a loop", got, hint)
        if isinstance(self.a.at, str):
            raise ModelError("from.at", "a pose", f"'{AS_BUILT}'", "only frame b can be taken as built")


class LoopLayout(NamedTuple):
    """Loops and couplings of a robot by name, as they stand in the arrays."""

    rows: dict[str, slice]  # of the multipliers
    turns: Mask  # (m,) whether the error is an angle, else a length
    extent: dict[str, float]  # [m]
    m: int


def compile_loops(
    constraints: Mapping[str, Loop | Coupling], motors: Mapping[int, LoopForce], links: Sequence[Link],
    layout: Layout, tree: Tree, built: Array,
) -> tuple[Loops, LoopLayout]:  # fmt: skip
    """Arrays of loops, and of couplings behind them.

    Parameters
    ----------
    constraints : mapping of str to Loop or Coupling
        Loops first.
    motors : mapping of int to LoopForce
        By the index of the actuator.
    links, layout, tree
        The tree, in which the places of all anchors are nodes.
    built : (n + 1, 4, 4) ndarray
        Poses of nodes when all coordinates are zero, and of the world.

    Raises
    ------
    ModelError
        An anchor on no link, or both on the same node; coordinates that cannot be coupled.
    """
    by_name = {link.name: link for link in links}
    loops = {name: one for name, one in constraints.items() if isinstance(one, Loop)}
    couplings = {name: one for name, one in constraints.items() if isinstance(one, Coupling)}
    for motor in motors.values():
        if motor.loop not in loops:
            raise ModelError("loop", "the name of a loop", f"'{motor.loop}'", nearest(motor.loop, loops))
        if not loops[motor.loop].joint.takes_springs_in_loop():
            raise ModelError("loop", f"a loop that is {', '.join(spring_kinds())}", loops[motor.loop].joint.kind)
    n = len(constraints)
    row, value = np.zeros(n, dtype=lj.LOOP), np.zeros((n, lj.N_VALUES), dtype=number_type())
    rows, first = {}, 0
    for k, (name, loop) in enumerate(loops.items()):
        joint, where = loop.joint, f"loops.{name}"
        phi, along = joint.constrained, joint.along if joint.takes_springs_in_loop() else np.zeros((0, 6))
        pose_a, pose_b = loop.a.pose_on_node(f"{where}.a", by_name), loop.b.pose_on_node(f"{where}.b", by_name)
        nodes = [loop.a.node(layout), loop.b.node(layout)]
        if nodes[0] == nodes[1]:
            raise ModelError(where, "two ends that can move against each other", "both on the same place")
        assert pose_a is not None  # refused by Loop
        if pose_b is None:
            pose_b = np.linalg.inv(built[nodes[1]]) @ built[nodes[0]] @ pose_a
        acting = {motor.index_in(joint): i for i, motor in motors.items() if motor.loop == name}
        has_springs = bool(acting) or np.any(joint.stiffness) or np.any(joint.damping)
        assert joint.turn is not None  # refused by Loop
        n_laws = len(along) if has_springs else 0
        acts = (acting.get(0, -1), acting.get(1, -1))
        row[k] = *nodes, joint.turn, first, len(phi), n_laws, acts, (-1, -1), (-1, -1)
        rows[name] = slice(first, first + len(phi))
        first += len(phi)
        for at, pose in ((lj.FRAME_A, pose_a), (lj.FRAME_B, pose_b)):
            value[k, at : at + 12] = np.vstack([pose[:3, :3], pose[:3, 3]]).ravel()
        value[k, lj.PHI : lj.PHI + phi.size] = phi.ravel()
        value[k, lj.SLIDE : lj.SLIDE + 9] = joint.sliding.ravel()
        value[k, lj.AXIS : lj.AXIS + 3], value[k, lj.PITCH] = joint.axis, joint.pitch
        value[k, lj.ALONG : lj.ALONG + along.size] = along.ravel()
        for at, name_of in ((lj.STIFFNESS, "stiffness"), (lj.DAMPING, "damping"), (lj.REST, "rest")):
            if len(along):
                value[k, at : at + len(along)] = getattr(joint, name_of)
    forbidden = np.concatenate([np.zeros((0, 6)), *(loop.joint.constrained for loop in loops.values())])
    turns = np.logical_not(forbidden[:, 3:].any(axis=1))
    extents = {name: extent(loop, by_name, layout, built) for name, loop in loops.items()}
    places = built[[layout.links[name].nodes[0] for name in by_name if couplings], :3, 3].real
    size_of_robot = float(np.ptp(places, axis=0).max()) if len(places) else 0.0
    size_of_robot = size_of_robot or 1.0
    for k, (name, coupling) in enumerate(couplings.items(), len(loops)):
        try:
            row[k], value[k], dimension = coupling.arrays(layout, tree, first)
        except ModelError as error:
            raise error.inside(f"couplings.{name}") from None
        turns, extents[name] = np.append(turns, dimension == "angle"), size_of_robot
        rows[name] = slice(first, first + 1)
        first += 1
    size = np.ones(first)
    for name, own in rows.items():
        size[own] = np.where(turns[own], 1.0, 1.0 / extents[name])
    return Loops(row, value, size), LoopLayout(rows, turns, extents, first)


def extent(loop: Loop, links: Mapping[str, Link], layout: Layout, built: Array) -> float:
    """The greatest distance of frame a from the links that the loop makes a ring; 1 m if there is none."""
    chains: list[set[str]] = [set(), set()]
    for chain, anchor in zip(chains, (loop.a, loop.b), strict=True):
        name = anchor.link
        while name != WORLD:
            chain.add(name)
            name = links[name].parent
    ring = (chains[0] ^ chains[1]) or ({loop.a.link} - {WORLD})  # both frames may be those of one rod
    nodes = [loop.b.node(layout), *(node for name in ring for node in layout.links[name].nodes)]
    away = built[nodes, :3, 3] - built[loop.a.node(layout), :3, 3]
    largest = float(np.linalg.norm(away.real, axis=1).max())
    return largest if largest > 0.0 else 1.0
