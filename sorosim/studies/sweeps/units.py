"""SI units of the columns of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sorosim.mechanics.quantities import quantities

if TYPE_CHECKING:
    from sorosim.studies.sweeps.plan import Plan


def units_of(plan: Plan) -> dict[str, str]:
    """SI units of the columns of a sweep by their names; those that are missing have none."""
    known = {name: one.unit for name, one in quantities(plan.robot, plan.driven, plan.outputs).items()}
    units = known | {"energy.balance": "J", "t": "s"}
    units |= {name: one.unit(known[one.quantity]) for name, one in plan.summary.items()}
    units |= dict(zip(plan.samples.names, plan.units, strict=True))
    return {name: unit for name, unit in units.items() if unit.strip("-")}  # a dash: a reading without unit
