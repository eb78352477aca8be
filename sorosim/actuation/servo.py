"""Servos: position control of a joint, proportional and derivative."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

from sorosim.actuation.joint_force import JointForce
from sorosim.errors import ModelError
from sorosim.kernels.joints import SERVO
from sorosim.model.compile import Layout
from sorosim.model.material import real_number


@dataclass(frozen=True)
class Servo(JointForce):
    """A motor that turns or moves its joint to where its input says [rad, m].

    Its effort is stiffness (input - q) - damping qd; with a limit L, L tanh of it over L.

    Parameters
    ----------
    link : str
        Name of the link whose joint is driven.
    along : str
        For joints of several coordinates: which one, see `JointForce`; it must commute with the joint's others.
    stiffness : float
        [N m/rad, N/m], positive.
    damping : float
        [N m s/rad, N s/m], not negative.
    limit : float, optional
        Largest effort [N m, N].
    """

    _: KW_ONLY
    stiffness: float
    damping: float = 0.0
    limit: float = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        stiffness = real_number("servo.stiffness", self.stiffness, "a stiffness greater than 0", above=0.0)
        object.__setattr__(self, "stiffness", stiffness)
        damping = real_number("servo.damping", self.damping, "a damping of 0 or more", least=0.0)
        object.__setattr__(self, "damping", damping)
        if self.limit != math.inf:
            object.__setattr__(
                self, "limit", real_number("servo.limit", self.limit, "an effort greater than 0", above=0.0)
            )

    def index(self, layout: Layout) -> int:
        """Which coordinate of the joint it drives; refuses what does not fit the robot."""
        index = super().index(layout)
        joint = layout.links[self.link].link.joint
        stage = next(stage for stage in reversed(joint.stages) if stage.first <= index)
        if not stage.commutes:
            expected = "a joint whose coordinates are angles and lengths"
            hint = "a controller, see simulate, may act on its motors"
            raise ModelError("servo.link", expected, f"a {joint.kind} joint", hint)
        return index

    def law(self, layout: Layout, actuator: int, at: int) -> tuple[tuple[int, ...], list[float]]:
        """Row of kernels.joints.Laws, its values from `at` on, and these."""
        link, index = layout.links[self.link], self.index(layout)
        row = (SERVO, link.joint_blocks[0], at, link.column + index, actuator)
        return row, [self.stiffness, self.damping, self.limit]
