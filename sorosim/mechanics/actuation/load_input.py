"""Inputs that scale loads: thrusters, currents of magnets, hands that push, springs whose stiffness is commanded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sorosim.base.declare import At, Reference, key
from sorosim.base.errors import ModelError, nearest
from sorosim.base.problems import listed, shown
from sorosim.base.registry import LOADS
from sorosim.mechanics.actuation.base import DeclaredActuator
from sorosim.mechanics.loads.base import Load, bind_checked
from sorosim.mechanics.loads.compiled import compiled_law
from sorosim.mechanics.model.layout import Layout


def can_be_scaled(entry: Mapping[str, object]) -> bool:
    """Whether an input may scale a load of a file; true if its entry is wrong."""
    kind = next(iter(entry)) if isinstance(entry, Mapping) and len(entry) == 1 else None
    known = LOADS.declared()
    return bool(known[kind].takes_input) if kind in known else kind not in LOADS


def _scalable() -> str:
    """Kinds of loads that an input may scale, in words."""
    kinds = [name for name, kind in LOADS.declared().items() if kind.takes_input]
    return f"a load that an input can scale: {listed(kinds)}"


class ScaledLoad(Reference):
    """The name of a load that an input may scale."""

    def read(self, value: object, at: At) -> Any:
        entry = at.scope.entry("loads", value) if isinstance(value, str) else None
        if entry is not None and not can_be_scaled(entry):
            return at.fail(_scalable(), f"{shown(value)}, which is of the kind {next(iter(entry))}")
        return super().read(value, at)


@dataclass(frozen=True)
class LoadInput(DeclaredActuator, kind="load", title="Inputs of loads"):
    """A load as an actuator: its input, a number, multiplies the whole load, with the damping of a spring.

    Of a force of 1 N the input is the force in newtons. Where no input is given it is 0, and the load does nothing. By
    a wrench it is a thruster or a hand that pushes, by a magnet the current of a coil, by a spring its stiffness.
    """

    load: str = key(
        ScaledLoad("loads", "the name of a load", fits=can_be_scaled),
        "Load that it scales; its name may stand alone, load: jet.",
        "jet",
    )

    short: ClassVar[str] = "load"
    unit: ClassVar[str] = ""

    def check(self, loads: Mapping[str, Load], layout: Layout) -> None:
        """Refuse what does not fit the robot (ModelError)."""
        load = loads.get(self.load)
        if load is None:
            raise ModelError("load", "the name of a load", f"'{self.load}'", nearest(self.load, loads))
        if not getattr(load, "takes_input", False):
            kind = getattr(load, "kind", "") or type(load).__name__
            raise ModelError("load", _scalable(), f"'{self.load}', which is of the kind {kind}")
        law = compiled_law(bind_checked(self.load, load, layout))
        if law is None or any(row.per_length and row.node in layout.material_rows for row in law.rows):
            got = f"'{self.load}', along a rod whose length is a coordinate or in a tube that is inserted"
            raise ModelError("load", "a load on a link, or along rods of given length", got)


def scaled_loads(
    actuators: Mapping[int, LoadInput], names: tuple[str, ...], loads: Mapping[str, Load], layout: Layout
) -> dict[str, int]:
    """Numbers of actuators by the loads that they scale (ModelError where one does not fit the robot)."""
    found: dict[str, int] = {}
    for i, actuator in actuators.items():
        try:
            actuator.check(loads, layout)
            if actuator.load in found:
                got = f"'{actuator.load}', which '{names[found[actuator.load]]}' scales"
                raise ModelError("load", "a load that no other actuator scales", got)
        except ModelError as error:
            raise error.inside(f"actuators.{names[i]}") from error.__cause__
        found[actuator.load] = i
    return found
