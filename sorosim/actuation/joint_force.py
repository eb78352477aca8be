"""Motors in joints: a moment or a force along one direction of a joint (docs/theory.md, 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sorosim.errors import ModelError, nearest
from sorosim.kernels.joints import MOTOR, Laws
from sorosim.model.compile import Layout
from sorosim.model.joint import COORDINATES
from sorosim.validation import describe


@dataclass(frozen=True)
class JointForce:
    """A motor; its input is the moment [N m] or the force [N] on the link, its reaction acts on the parent.

    Parameters
    ----------
    link : str
        Name of the link whose joint is driven.
    along : str
        For joints of several coordinates: which one. ``angle`` or ``slide`` of a cylindrical joint, ``first`` or
        ``second`` of a universal one, ``angle``, ``tx`` or ``ty`` of a planar one, ``rx``, ``ry`` or ``rz`` of a
        spherical one, these or ``tx``, ``ty`` or ``tz`` of a free one. Of spherical, planar and free joints it is the
        direction of that name in the frame that the joint moves.
    """

    link: str
    along: str = ""

    def __post_init__(self) -> None:
        for name in ("link", "along"):
            if not isinstance(getattr(self, name), str):
                raise ModelError(f"joint.{name}", "a name", describe(getattr(self, name)))

    def index(self, layout: Layout) -> int:
        """Which coordinate of the joint it drives; refuses what does not fit the robot."""
        link = layout.links.get(self.link)
        if link is None or link.n_joint == 0:
            moving = [name for name, other in layout.links.items() if other.n_joint]
            raise ModelError("joint.link", "a link whose joint moves", f"'{self.link}'", nearest(self.link, moving))
        names = [name for name, _ in COORDINATES[link.link.joint.kind]]
        if self.along not in names:
            expected = f"one of {', '.join(names)}" if len(names) > 1 else "nothing: the joint has one coordinate"
            raise ModelError("joint.along", expected, f"'{self.along}'", nearest(self.along, names))
        return names.index(self.along)

    def law(self, layout: Layout, actuator: int, at: int) -> tuple[tuple[int, ...], list[float]]:
        """Row of kernels.joints.Laws, its values from `at` on, and these."""
        link, index = layout.links[self.link], self.index(layout)
        stages = link.link.joint.stages
        k = max(i for i, stage in enumerate(stages) if stage.first <= index)
        return (MOTOR, link.joint_blocks[k], at, index - stages[k].first, actuator), []


def compile_motors(motors: Mapping[int, JointForce], layout: Layout, laws: Laws) -> Laws:
    """Laws with motors, by actuator index, among them."""
    rows, values = [], laws.value.tolist()
    for actuator, motor in motors.items():
        row, own = motor.law(layout, actuator, len(values))
        rows.append(row)
        values += own
    table = np.concatenate([laws.row, np.array(rows, dtype=np.int64).reshape(-1, 5)])
    return Laws(table, np.array(values, dtype=laws.value.dtype))
