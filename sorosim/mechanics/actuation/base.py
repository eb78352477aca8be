"""The contract of an actuator that acts inside rods.

1. An actuator is a frozen dataclass that inherits `ActuatorLaw`. It names its `rod` (or `rods`), in whose sections it
   acts, and the `unit` of its input.
2. `wrench(u, xi, xid)` returns the internal wrench (n, 6) that it puts on n sections from its input, their strains
   (n, 6) and the rates of these. It is conjugate to the strains (torsion, bending y and z, elongation, shear y and z),
   [N m, N]: positive bending drives positive curvature. In its place `energy(u, xi)` may return a potential (n,) per
   length, of which the wrench is minus the derivative by the strain.
3. A section does not feel the strain of others. A method that takes one argument more gets the `Sections`, by which
   they may differ.
4. It keeps no state: the same arguments always give the same values, from any thread.

Derivatives by strain, rate of strain and input are the library's work (`sorosim.base.duals`); `tangents(u, xi, xid)`
may return them instead: (n, 6, 6), (n, 6, 6), (n, 6). What the engine takes is a `SectionActuator`; built-in ones are
compiled. `sorosim.testing.check_actuator` tries all of this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.declare import Declared
from sorosim.base.duals import differentiated, minus_gradient
from sorosim.base.registry import ACTUATORS, ByValue, Registry, evaluated


class DeclaredActuator(Declared):
    """A built-in kind of actuator."""

    registry: ClassVar[Registry] = ACTUATORS


class Sections(NamedTuple):
    """The n sections on which an actuator acts."""

    rod: tuple[str, ...]  # name of the rod of each
    X: Array  # (n,) arclength on it [m]
    s: Array  # (n,) fraction of its length


class ActuatorValues(NamedTuple):
    """Internal wrenches of an actuator on its n sections, and their derivatives."""

    wrench: Array  # (n, 6)
    by_strain: Array  # (n, 6, 6)
    by_rate: Array  # (n, 6, 6) by the rate of the strain
    by_input: Array  # (n, 6)


class ActuatorLaw:
    """An actuator by its value: docs/plugins.md shows one. Its fields name its ``rod``, or its ``rods``."""

    unit: ClassVar[str] = ""  # of its input; "": a plain number

    def __getattr__(self, name: str) -> Any:
        if name != "rods":
            raise AttributeError(f"'{type(self).__name__}' has no '{name}'")
        return (self.rod,)

    def bind(self, sections: Sections) -> BoundActuatorLaw:
        """Take notice of the sections."""
        return BoundActuatorLaw(self, sections)


@dataclass(frozen=True, eq=False)
class BoundActuatorLaw(ByValue):
    """A law at its sections: a `BoundActuator` that has its derivatives by duals."""

    def value(self, u: float, xi: Array, xid: Array) -> Any:
        """Wrenches (n, 6)."""
        if hasattr(self.own, "wrench"):
            return self.call("wrench", u, xi, xid)
        unit = np.tile(np.eye(6), (len(xi), 1, 1))
        return minus_gradient(lambda strained: self.call("energy", u, strained), xi, unit)

    def evaluate(self, u: float, xi: Array, xid: Array) -> ActuatorValues:
        """Wrenches and their derivatives."""
        if hasattr(self.own, "tangents"):
            return ActuatorValues(self.value(u, xi, xid), *self.call("tangents", u, xi, xid))
        slopes = (np.zeros(13), *np.zeros((2, len(xi), 6, 13)))
        slopes[0][12], slopes[1][..., :6], slopes[2][..., 6:12] = 1.0, np.eye(6), np.eye(6)
        f, by = differentiated(self.value, (u, xi, xid), slopes)
        return ActuatorValues(f, by[..., :6], by[..., 6:12], by[..., 12])


class BoundActuator(Protocol):
    """An actuator bound to its sections."""

    def evaluate(self, u: float, xi: Array, xid: Array) -> ActuatorValues:
        """Wrenches and derivatives from the input, strains (n, 6) and their rates (n, 6)."""
        ...


@runtime_checkable
class SectionActuator(Protocol):
    """The description of an actuator that acts inside rods."""

    @property
    def unit(self) -> str:
        """Unit of its input, such as Pa."""
        ...

    @property
    def rods(self) -> Sequence[str]:
        """Names of the rods in whose sections it acts."""
        ...

    def bind(self, sections: Sections) -> BoundActuator:
        """Take notice of the sections."""
        ...


def actuate_checked(
    name: str, actuator: BoundActuator, sections: Sections, u: float, xi: Array, xid: Array, tangents: bool = True
) -> ActuatorValues:
    """Evaluate an actuator, refusing what the kernels could not take (ModelError).

    Without `tangents` those of an actuator that gives its value alone are zero.
    """
    n = len(sections.X)
    values: ActuatorValues = evaluated(
        f"actuators.{name}", actuator, (u, xi, xid), ActuatorValues,
        ((n, 6), (n, 6, 6), (n, 6, 6), (n, 6)),
        lambda k: f"s = {sections.s[k]:.4g} of rod '{sections.rod[k]}', input {u:g}", tangents,
    )  # fmt: skip
    return values


def input_unit(actuator: Any, joint_of: Callable[[str, str], Any]) -> str | None:
    """Unit of the input of an actuator, "" of a plain number.

    That of a motor depends on its joint: `joint_of` gives it for a block and a name in it; None if it is not known.
    """
    if hasattr(actuator, "unit_in"):
        joint = joint_of("links", actuator.link) if hasattr(actuator, "link") else joint_of("loops", actuator.loop)
        return None if joint is None else str(actuator.unit_in(joint))
    return str(actuator.unit)
