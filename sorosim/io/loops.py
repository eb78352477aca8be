"""Loops of a file, and the motors in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from sorosim.actuation.loop_force import LoopForce
from sorosim.constraints.loop import SUPPORTS_SPRINGS, TURNS, Loop
from sorosim.io.joints import direction_of, joint_of
from sorosim.io.places import PlaceBuilder
from sorosim.io.schema_joints import MovingJoint, kind_of
from sorosim.io.schema_loops import BuiltBlock, FromBlock, LoopBlock, LoopMotorBlock, ToBlock
from sorosim.model.anchor import AS_BUILT, Anchor
from sorosim.model.link import WORLD
from sorosim.problems import Collector, Path, listed, shown

# keys of a joint that closes a loop
_SHAPE, _LAWS = ("axis", "pitch"), ("stiffness", "damping", "rest")


@dataclass
class LoopBuilder:
    """Builds loops.

    Parameters
    ----------
    todo : Collector
    places : PlaceBuilder
    names : collection of str
        Of all links of the file.
    """

    todo: Collector
    places: PlaceBuilder
    names: Collection[str]

    def loop(self, path: Path, block: LoopBlock) -> Loop | None:
        """A loop, None if something of it is wrong."""
        n_problems = len(self.todo.problems)
        joint = self.todo.attempt((*path, "joint"), lambda: joint_of(block.joint))
        self.check_keys((*path, "joint"), block.joint)
        closing = None
        if joint is not None and len(self.todo.problems) == n_problems:
            closing = self.todo.attempt(path, lambda: Loop(joint, Anchor()))
        a, b = self.anchor((*path, "from"), block.start), self.anchor((*path, "to"), block.end)
        if closing is None or a is None or b is None or len(self.todo.problems) > n_problems:
            return None
        return replace(closing, a=a, b=b)

    def check_keys(self, path: Path, joint: str | MovingJoint) -> None:
        """Note what may not act in a joint that closes a loop."""
        if isinstance(joint, str) or joint.kind not in TURNS:
            return
        lawful, given = joint.kind in SUPPORTS_SPRINGS, joint.chosen.model_fields_set
        known = [name for name in type(joint.chosen).model_fields if name in (*_SHAPE, *(_LAWS if lawful else ()))]
        for name in sorted(given - set(known)):
            hint = (
                f"springs and dampers may be in {listed(SUPPORTS_SPRINGS)} ones"
                if name in _LAWS
                else f"known: {', '.join(known)}"
            )
            what = f"a key of a {joint.kind} joint that closes a loop"
            self.todo.add((*path, joint.kind, name), what, shown(name), hint, at_key=True)

    def anchor(self, path: Path, end: str | FromBlock | ToBlock) -> Anchor | None:
        """One end of a loop."""
        link, at = (end, None) if isinstance(end, str) else (end.link, end.at)
        if link != WORLD and link not in self.names:
            here = path if isinstance(end, str) else (*path, "link")
            self.todo.known(here, "a link of this robot or 'world'", link, [*self.names, WORLD])
        pose, s, frame = self.places.pose((*path, "at"), at, link)
        if pose is None:
            return None
        is_built = isinstance(at, BuiltBlock) and at.as_built
        return self.todo.attempt(path, lambda: Anchor(link, s=s, frame=frame, at=AS_BUILT if is_built else pose))


def loop_motor_of(
    todo: Collector, path: Path, block: LoopMotorBlock, loops: Mapping[str, LoopBlock], names: Collection[str]
) -> LoopForce | None:
    """A motor in a loop; None if it is wrong, or if its loop is.

    Parameters
    ----------
    loops : mapping
        Those that are right so far.
    names : collection of str
        Of all loops of the file.
    """
    if not todo.known((*path, "loop"), "the name of a loop", block.loop, names) or block.loop not in loops:
        return None
    kind = kind_of(loops[block.loop].joint)
    if kind not in SUPPORTS_SPRINGS:
        todo.add(
            (*path, "loop"), f"a loop with a {listed(SUPPORTS_SPRINGS)} joint", f"{shown(block.loop)}, which is {kind}"
        )
        return None
    along = direction_of(todo, path, block.along, kind)
    return None if along is None else LoopForce(block.loop, along)
