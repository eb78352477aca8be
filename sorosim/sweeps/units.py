"""SI units of the columns of a sweep."""

from __future__ import annotations

from typing import Any

from sorosim.results.quantities import quantities


def units_of(plan: Any) -> dict[str, str]:
    """SI units of the columns of a sweep by their names; those that are missing have none."""
    known = {name: one.unit for name, one in quantities(plan.robot, plan.driven, plan.outputs).items()}
    forces = zip(plan.driven, plan.robot.driven_units(plan.driven), strict=True)
    units = known | {"energy.balance": "J", "t": "s"} | {force_name(name, unit): unit for name, unit in forces}
    units |= {name: one.unit(known[one.quantity]) for name, one in plan.summary.items()}
    units |= dict(zip(plan.samples.names, plan.units, strict=True))
    return {name: unit for name, unit in units.items() if unit.strip("-")}  # a dash: a reading without unit


def force_name(name: str, unit: str) -> str:
    """Column of the force or moment that a driven coordinate needs."""
    return f"{'force' if unit == 'N' else 'moment'}({name})"
