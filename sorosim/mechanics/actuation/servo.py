"""Servos: control of the position of a joint, proportional and derivative, or of its rate.

Those of rotation vectors are computed by `rotation_servos`.
"""

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

    With a limit L it is L tanh of that over L. Along an axis of a rotation vector q stands for what is left of the
    turn to where the inputs say, and qd for the angular velocity (`rotation_servos`).
    """

    limit: Any
    of_rate: ClassVar[bool] = False  # whether its input is a rate

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
        if not joint.stages[joint.stage_of(index)].commutes and joint.dimensions[index] != "angle":
            expected = "an angle, where coordinates are those of a screw motion"
            raise ModelError("along", expected, f"'{self.along}'", "leave 'coordinates: screw' out")
        return index

    def follows_rotation(self, layout: Layout) -> bool:
        """Whether it acts about an axis of a rotation vector; false where it does not fit the robot."""
        link = layout.links.get(self.link)
        directions = [] if link is None else [name for name, _ in link.link.joint.directions]
        if link is None or self.along not in directions:
            return False
        joint, index = link.link.joint, directions.index(self.along)
        return joint.dimensions[index] == "angle" and not joint.stages[joint.stage_of(index)].commutes

    def numbers(self, layout: Layout) -> list[Any]:
        """Stiffness, damping, limit, and effort by the input, in SI units."""
        dimension, values = layout.links[self.link].link.joint.dimensions[self.index(layout)], []
        for name, one in (*self.quantities().items(), ("limit", OfJoint(name="limit"))):
            try:
                values.append(one.of(getattr(self, name), dimension))
            except ModelError as error:
                raise error.inside(name) from None
        gain, stiffness, damping = self.gains(*values[:-1])
        return [stiffness, damping, values[-1], gain]

    def law(self, layout: Layout, actuator: int, at: int) -> tuple[tuple[int, ...], list[float]]:
        """Row of kernels.joints.Laws, its values from `at` on, and these; not along an axis of a rotation vector."""
        index, link = self.index(layout), layout.links[self.link]
        block = link.joint_blocks[link.link.joint.stage_of(index)]
        return (SERVO, block, at, link.column + index, actuator, -1), self.numbers(layout)

    def effort(self, layout: Layout, u: float, q: float, qd: float) -> float:
        """Its moment or force, but for that about an axis of a rotation vector."""
        stiffness, damping, most, gain = self.numbers(layout)
        effort = gain * u - stiffness * q - damping * qd
        return float(most * np.tanh(effort / most)) if np.isfinite(most) else float(effort)


@dataclass(frozen=True)
class Servo(JointServo, kind="servo", title="Servos"):
    """A motor that holds a joint where its input says, an angle or a length.

    Its effort is stiffness (input - q) - damping qd; with a limit L, L tanh of it over L.

    Of a spherical or free joint, servos along rx, ry and rz say together where the link turns: their inputs are the
    rotation vector of a rotation R_u in the fixed frame (0 of an axis without a servo). Each pushes about its axis of
    the moved frame by stiffness e_i - damping w_i, e the rotation vector of R^T R_u, the turn that is left, and w the
    angular velocity on the parent, both in that frame. So the shorter way round is taken, and whole turns of inputs or
    coordinates make no difference. Those along tx, ty and tz of a free joint follow the position in the fixed frame.
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

    Its effort is gain (input - qd); with a limit L, L tanh of it over L. Along rx, ry or rz of a spherical or free
    joint the input is the angular velocity on the parent about that axis of the moved frame, and its rate that of qd.
    """

    _: KW_ONLY
    gain: Any = key(
        OfJoint(name="damping"), "Moment or force per difference from the input, N*m*s/rad or N*s/m.", "0.1 N*m*s/rad"
    )
    limit: Any = key(
        OfJoint(name="limit"), "Largest moment or force; it is approached smoothly.", "2 N*m", default=math.inf
    )

    units: ClassVar[Mapping[str, str]] = {"angle": "rad/s", "length": "m/s"}
    of_rate: ClassVar[bool] = True

    def gains(self, *values: float) -> tuple[float, float, float]:
        """Of the input, of the coordinate and of its rate."""
        return values[0], 0.0, values[0]
