"""Servos: position control of a joint, proportional and derivative."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

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


@dataclass(frozen=True)
class Servo(JointForce, kind="servo", title="Servos"):
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

    def validate(self) -> None:
        for name in ("stiffness", "damping", "limit"):
            value = getattr(self, name)
            if not isinstance(value, str):  # a text waits for the joint
                fits = value.real > 0.0 if name != "damping" else value.real >= 0.0
                if not fits or (value.real == math.inf and name != "limit"):
                    what = "greater than 0" if name != "damping" else "of 0 or more"
                    raise ModelError(name, f"a number {what}", f"{value:g}")

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
        dimension = link.link.joint.dimensions[index]
        types = {name: one.type for name, one in self.declaration().items() if isinstance(one.type, OfJoint)}
        values = []
        for name, one in types.items():
            try:
                values.append(one.of(getattr(self, name), dimension))
            except ModelError as error:
                raise error.inside(name) from None
        return row, values
