"""Servos: control of the position of a joint, proportional and derivative, or of its rate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from sorosim.base.declare import INVALID, At, Given, Quantity, key
from sorosim.base.errors import ModelError
from sorosim.mechanics.actuation.joint_force import JointForce, joint_kind
from sorosim.mechanics.kernels.joints import SERVO
from sorosim.mechanics.model.joints import ACTING
from sorosim.mechanics.model.layout import Layout


@dataclass(frozen=True)
class OfJoint(Given):
    """A quantity whose dimension depends on the joint of the link beside it, which may be known later."""

    name: str = ""

    def read(self, value: object, at: At) -> Any:
        given = at.attempt(lambda: self.check(value))
        owner = at.owner if isinstance(at.owner, Mapping) else {}
        entry = at.scope.entry("links", owner.get("link", "")) if isinstance(owner.get("link"), str) else None
        coordinates = dict(getattr(joint_kind(entry), "directions", ())) if entry is not None else {}
        dimension = coordinates.get(owner.get("along", next(iter(coordinates), "")))
        if given is INVALID or dimension is None:
            return given
        at.number(ACTING[self.name][0][dimension])
        return at.attempt(lambda: self.of(given, dimension))

    def of(self, value: object, dimension: str) -> float:
        """In SI units, at a coordinate that is an angle or a length."""
        dimensions, bounds = ACTING[self.name]
        return Quantity(dimensions[dimension], **bounds, infinite=True).check(value)


class JointServo(JointForce):
    """A motor whose effort depends on the state of its joint: gain u - stiffness q - damping qd.

    With a limit L it is L tanh of that over L. Its coordinate must commute with the others of the joint.
    """

    limit: Any

    def gains(self, *values: float) -> tuple[float, float, float]:
        """Effort by the input, against the coordinate and against its rate, from the quantities but the limit."""
        raise NotImplementedError

    def validate(self) -> None:
        for name in (*self.quantities(), "limit"):
            value = getattr(self, name)
            if not isinstance(value, str):  # a text waits for the joint
                fits = value.real > 0.0 if name != self.may_be_zero else value.real >= 0.0
                if not fits or (value.real == math.inf and name != "limit"):
                    what = "greater than 0" if name != self.may_be_zero else "of 0 or more"
                    raise ModelError(name, f"a number {what}", f"{value:g}")

    may_be_zero: ClassVar[str] = ""  # the quantity that may be

    @classmethod
    def quantities(cls) -> dict[str, OfJoint]:
        """Types of the quantities that depend on the joint, but for the limit."""
        types = {name: one.type for name, one in cls.declaration().items() if isinstance(one.type, OfJoint)}
        return {name: one for name, one in types.items() if name != "limit"}

    def index(self, layout: Layout) -> int:
        """Which coordinate of the joint it drives; refuses what does not fit the robot."""
        index = super().index(layout)
        joint = layout.links[self.link].link.joint
        if not joint.stages[joint.stage_of(index)].commutes:
            expected = "a joint whose coordinates are angles and lengths"
            hint = "a controller, see simulate, may act on its motors"
            raise ModelError("link", expected, f"a {joint.kind} joint", hint)
        return index

    def law(self, layout: Layout, actuator: int, at: int) -> tuple[tuple[int, ...], list[float]]:
        """Row of kernels.joints.Laws, its values from `at` on, and these."""
        index, link = self.index(layout), layout.links[self.link]
        block = link.joint_blocks[link.link.joint.stage_of(index)]
        row = (SERVO, block, at, link.column + index, actuator, -1)
        dimension, values = link.link.joint.dimensions[index], []
        for name, one in (*self.quantities().items(), ("limit", OfJoint(name="limit"))):
            try:
                values.append(one.of(getattr(self, name), dimension))
            except ModelError as error:
                raise error.inside(name) from None
        gain, stiffness, damping = self.gains(*values[:-1])
        return row, [stiffness, damping, values[-1], gain]

    def effort(self, layout: Layout, u: float, q: float, qd: float) -> float:
        """Its moment or force."""
        stiffness, damping, most, gain = self.law(layout, 0, 0)[1]
        effort = gain * u - stiffness * q - damping * qd
        return float(most * np.tanh(effort / most)) if np.isfinite(most) else float(effort)


@dataclass(frozen=True)
class Servo(JointServo, kind="servo", title="Servos"):
    """A motor that holds a joint where its input says, an angle or a length.

    Its effort is stiffness (input - q) - damping qd; with a limit L, L tanh of it over L. Its coordinate must commute
    with the others of the joint.
    """

    _: KW_ONLY
    stiffness: Any = key(
        OfJoint(name="stiffness"), "Moment or force per difference from the input, N*m/rad or N/m.", "5 N*m/rad"
    )
    damping: Any = key(
        OfJoint(name="damping"), "Moment or force against the rate, N*m*s/rad or N*s/m.", "0.1 N*m*s/rad", default=0.0
    )
    limit: Any = key(
        OfJoint(name="limit"), "Largest moment or force; it is approached smoothly.", "2 N*m", default=math.inf
    )

    units: ClassVar[Mapping[str, str]] = {"angle": "rad", "length": "m"}
    may_be_zero: ClassVar[str] = "damping"

    def gains(self, *values: float) -> tuple[float, float, float]:
        """Of the input, of the coordinate and of its rate."""
        stiffness, damping = values
        return stiffness, stiffness, damping


@dataclass(frozen=True)
class VelocityServo(JointServo, kind="velocity", title="Velocity servos"):
    """A motor that turns or moves a joint as fast as its input says.

    Its effort is gain (input - qd); with a limit L, L tanh of it over L. Its coordinate must commute with the others of
    the joint.
    """

    _: KW_ONLY
    gain: Any = key(
        OfJoint(name="damping"), "Moment or force per difference from the input, N*m*s/rad or N*s/m.", "0.1 N*m*s/rad"
    )
    limit: Any = key(
        OfJoint(name="limit"), "Largest moment or force; it is approached smoothly.", "2 N*m", default=math.inf
    )

    units: ClassVar[Mapping[str, str]] = {"angle": "rad/s", "length": "m/s"}

    def gains(self, *values: float) -> tuple[float, float, float]:
        """Of the input, of the coordinate and of its rate."""
        return values[0], 0.0, values[0]
