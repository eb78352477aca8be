"""Kinds of joints, as the registry has them."""

from typing import Any

from sorosim.base.registry import JOINTS
from sorosim.mechanics.model.joints import Joint

# those that move any body; `test_flow.py` has the others, which change the length of a rod
JOINT_KINDS = tuple(name for name, kind in JOINTS.declared().items() if not kind.changes_length)
COORDINATES = {name: kind.directions for name, kind in JOINTS.declared().items()}
WITHOUT_AXIS = tuple(name for name, kind in JOINTS.declared().items() if "axis" not in kind.declaration())
# those that close loops, and those in which springs and motors may act there
CLOSING = tuple(name for name, kind in JOINTS.declared().items() if kind.turn is not None)
WITH_SPRINGS = tuple(name for name, kind in JOINTS.declared().items() if kind.takes_springs_in_loop())
BESIDE = tuple(name for name, kind in JOINTS.declared().items() if "through" in kind.declaration())


def oblique(kind: str, **options: Any) -> Joint:
    """A joint about an oblique axis, if it has one."""
    return Joint(kind, **({} if kind in WITHOUT_AXIS else {"axis": (1, -2, 3)}), **options)
