"""The contract of an actuator that acts inside rods.

1. An actuator is a frozen description. `rods` names the rods in whose sections it acts, `unit` is that of its input.
2. `bind(sections)` gets the sections at the Gauss points of its rods, once, and returns a `BoundActuator`.
3. A bound actuator sees its input and the strains of its n sections. It returns the internal wrench y (n, 6) that it
   puts on each, conjugate to the strains (torsion, bending y and z, elongation, shear y and z), [N m, N]: positive
   bending drives positive curvature. And its derivatives by strain, rate of strain and input.
4. It keeps no state: the same arguments always give the same values, from any thread.

`sorosim.testing.check_actuator` tries whether an actuator keeps it. Built-in ones are compiled instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from sorosim.arrays import Array
from sorosim.declare import Declared
from sorosim.registry import ACTUATORS, Registry, evaluated


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
    name: str, actuator: BoundActuator, sections: Sections, u: float, xi: Array, xid: Array
) -> ActuatorValues:
    """Evaluate an actuator, refusing what the kernels could not take (ModelError)."""
    n = len(sections.X)
    values: ActuatorValues = evaluated(
        f"actuators.{name}", actuator, (u, xi, xid), ActuatorValues,
        ((n, 6), (n, 6, 6), (n, 6, 6), (n, 6)),
        lambda k: f"s = {sections.s[k]:.4g} of rod '{sections.rod[k]}', input {u:g}",
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
