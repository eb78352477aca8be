"""Reductions of a run to one number: the largest height of a tip, the mean force of a motor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.results.result import Run
from sorosim.robot import Robot

Array = NDArray[np.float64]

AXES = ("x", "y", "z")
ENERGIES = ("kinetic", "elastic", "gravity", "total", "work", "dissipated")


def quantities_of(robot: Robot, driven: Sequence[str], outputs: Sequence[Any]) -> list[str]:
    """Names of the quantities of a run."""
    channels = [f"{name}.{x}" for name, one in robot.instruments.readers.items() for x in one.channels]
    return [
        *(f"{place.label}.{axis}" for place in outputs for axis in AXES),
        *robot.coordinate_names,
        *(f"u.{name}" for name in robot.actuator_names),
        *(f"driven.{name}" for name in driven),
        *(f"energy.{name}" for name in ENERGIES),
        *channels,
    ]


def reduced(run: Run, how: str, what: str, outputs: Sequence[Any]) -> float:
    """A quantity of a run as one number; means are those over time, by the trapezoidal rule."""
    t, x = _history(run, what, outputs)
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


def _history(run: Run, what: str, outputs: Sequence[Any]) -> tuple[Array, Array]:
    """Times and values of a quantity along a run."""
    robot = run.robot
    if what in robot.coordinate_names:
        return run.t, run.q[:, robot.coordinate_names.index(what)]
    owner, _, name = what.rpartition(".")
    places = {place.label: place for place in outputs}
    if owner in places and name in AXES:
        return run.t, run.positions(places[owner].link, places[owner].s)[:, AXES.index(name)]
    if owner == "energy":
        return run.t, np.asarray(getattr(run.energy(), name))
    if owner in run.readings:
        reading = run.readings[owner]
        return reading.t, reading.values[:, list(reading.channels).index(name)]
    kind, _, target = what.partition(".")
    if kind == "u":
        return run.t, run.u[:, robot.actuator_names.index(target)]
    return run.t, run.driven[target]
