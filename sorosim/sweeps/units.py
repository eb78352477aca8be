"""Units of what a sweep has found."""

from __future__ import annotations

from typing import Any

from sorosim.sweeps.plan import Plan
from sorosim.sweeps.summaries import AXES, ENERGIES


def units_of(plan: Plan) -> dict[str, str]:
    """SI units of the columns of a sweep by their names; those that are missing have none."""
    robot = plan.robot
    forces = dict(zip(plan.driven, robot.driven_units(plan.driven), strict=True))
    known = {
        **{f"{place.label}.{axis}": "m" for place in plan.outputs for axis in AXES},
        **{f"energy.{name}": "J" for name in (*ENERGIES, "balance")},
        **{f"{name}.{channel}": unit for name, one in robot.instruments.readers.items()
           for channel, unit in zip(one.channels, one.units, strict=True)},
    }  # fmt: skip
    summaries = {name: _of_quantity(plan, what, known, forces) for name, (_, what) in plan.summary.items()}
    own = dict(zip(plan.samples.names, plan.units, strict=True))
    named = {f"{'force' if unit == 'N' else 'moment'}({name})": unit for name, unit in forces.items()}
    # sensors write a dash for a number without unit
    return {name: unit for name, unit in (known | named | {"t": "s"} | summaries | own).items() if unit.strip("-")}


def _of_quantity(plan: Plan, what: str, known: dict[str, str], forces: dict[str, str]) -> str:
    """Unit of a quantity of a run; every reduction of it has the same."""
    from sorosim.units.table import DIMENSIONS

    robot: Any = plan.robot
    if what in robot.coordinate_names:
        return DIMENSIONS[robot.engine.layout.dimensions[robot.coordinate_names.index(what)]].unit
    if what in known:
        return known[what]
    kind, _, target = what.partition(".")
    if kind == "u":
        return str(robot.actuator_units[robot.actuator_names.index(target)])
    return forces.get(target, "")
