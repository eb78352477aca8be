"""Quantities of a run: their units, their values over time, and reductions of these to one number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sorosim.arrays import Array
from sorosim.results.result import Run
from sorosim.robot import Robot
from sorosim.units.table import DIMENSIONS

AXES = ("x", "y", "z")
ENERGIES = ("kinetic", "elastic", "gravity", "total", "work", "dissipated")


class Quantity(NamedTuple):
    """A quantity of a run."""

    unit: str  # SI, "" of none
    history: Callable[[Run], tuple[Array, Array]]  # times and values


def quantities(robot: Robot, driven: Sequence[str], outputs: Sequence[Any]) -> dict[str, Quantity]:
    """Quantities of a run by name."""

    def at_rows(values: Callable[[Run], Array]) -> Callable[[Run], tuple[Array, Array]]:
        return lambda run: (run.t, values(run))

    def position(place: Any, k: int) -> Callable[[Run], tuple[Array, Array]]:
        return at_rows(lambda run: run.positions(place.link, place.s)[:, k])

    def column(attribute: str, k: int) -> Callable[[Run], tuple[Array, Array]]:
        return at_rows(lambda run: getattr(run, attribute)[:, k])

    def force(name: str) -> Callable[[Run], tuple[Array, Array]]:
        return at_rows(lambda run: run.driven[name])

    def energy(name: str) -> Callable[[Run], tuple[Array, Array]]:
        return at_rows(lambda run: np.asarray(getattr(run.energy(), name)))

    def reading(name: str, k: int) -> Callable[[Run], tuple[Array, Array]]:
        return lambda run: (run.readings[name].t, run.readings[name].values[:, k])

    rows = [(f"{place.label}.{axis}", "m", position(place, k)) for place in outputs for k, axis in enumerate(AXES)]
    units = (DIMENSIONS[dimension].unit for dimension in robot.engine.layout.dimensions)
    names = zip(robot.coordinate_names, units, strict=True)
    rows += [(name, unit, column("q", k)) for k, (name, unit) in enumerate(names)]
    inputs = zip(robot.actuator_names, robot.actuator_units, strict=True)
    rows += [(f"u.{name}", unit, column("u", k)) for k, (name, unit) in enumerate(inputs)]
    forces = zip(driven, robot.driven_units(driven), strict=True)
    rows += [(f"driven.{name}", unit, force(name)) for name, unit in forces]
    rows += [(f"energy.{name}", "J", energy(name)) for name in ENERGIES]
    for name, reader in robot.instruments.readers.items():
        channels = zip(reader.channels, reader.units, strict=True)
        rows += [(f"{name}.{channel}", unit, reading(name, k)) for k, (channel, unit) in enumerate(channels)]
    return {name: Quantity(unit, history) for name, unit, history in rows}


def units_of(plan: Any) -> dict[str, str]:
    """SI units of the columns of a sweep by their names; those that are missing have none."""
    known = {name: one.unit for name, one in quantities(plan.robot, plan.driven, plan.outputs).items()}
    forces = zip(plan.driven, plan.robot.driven_units(plan.driven), strict=True)
    units = known | {"energy.balance": "J", "t": "s"} | {force_name(name, unit): unit for name, unit in forces}
    units |= {name: known[what] for name, (_, what) in plan.summary.items()}
    units |= dict(zip(plan.samples.names, plan.units, strict=True))
    return {name: unit for name, unit in units.items() if unit.strip("-")}  # a dash: a reading without unit


def force_name(name: str, unit: str) -> str:
    """Column of the force or moment that a driven coordinate needs."""
    return f"{'force' if unit == 'N' else 'moment'}({name})"


def reduced(how: str, t: Array, x: Array) -> float:
    """Values at times as one number; means are those over time, by the trapezoidal rule."""
    if how == "last":
        return float(x[-1])
    if how in ("min", "max"):
        return float(x.min() if how == "min" else x.max())
    if how == "range":
        return float(np.ptp(x))
    if len(t) == 1:
        return float(x[0] if how == "mean" else abs(x[0]))
    y = x if how == "mean" else x**2
    mean = float(np.sum(0.5 * (y[1:] + y[:-1]) * np.diff(t)) / (t[-1] - t[0]))
    return mean if how == "mean" else float(np.sqrt(mean))
