"""Whether measurements may be in other units than they are said to be."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.errors import SorosimError
from sorosim.studies.fitting.estimate import Problem, estimate
from sorosim.studies.fitting.measurements import BoundData
from sorosim.studies.fitting.model import Model, Trial

# what two units of a length, an angle, a force or a time commonly differ by
FACTORS = (1e-3, 1e-2, 1e-1, 1e1, 1e2, 1e3, np.pi / 180.0, 180.0 / np.pi)
# a column is explained if errors are less than this part of it; another unit is named if it divides errors by so much
EXPLAINED, BETTER = 0.3, 5.0
# inputs and times are looked at where this part of the variance is left; they are named if a search of so few
# evaluations brings errors down to a half
LEFT, SHORT, HALF = 0.1, 5, 0.5
MESSAGE = "perhaps in another unit: "


def doubtful_units(problem: Problem, start: Array, fitted: Trial) -> str:
    """Columns that would be explained in another unit, in words; "" if there are none.

    Where the fit leaves much, all inputs, or the times, are taken in other units and fitted in a short search. Then
    columns of measurements are compared with what the robot shows before the fit, which wrong ones may have led astray,
    and after it.
    """
    model = problem.model
    measured = [np.ma.array(x, mask=~valid) for x, valid in zip(problem.measured, model.valid, strict=True)]
    parts = [((x - x.mean(axis=0)) / sd).compressed() for x, sd in zip(measured, problem.sd, strict=True)]
    spread = np.concatenate(parts)
    error, n = problem.scale_of(problem.residuals(fitted), problem.n), problem.n
    z0 = np.array([one.z(x) for one, x in zip(model.unknowns, start, strict=True)])
    for name, data in _other_units(model.data) if error**2 > LEFT * problem.scale_of(spread, n) ** 2 else ():
        try:
            other = Problem(
                Model(model.robot, data, model.unknowns), problem.sd, problem.priors, problem.loss, problem.known
            )
            found = estimate(other, z0, SHORT)
        except SorosimError:
            continue
        if problem.scale_of(problem.residuals(found.trial), n) < HALF * error:
            return MESSAGE + name
    columns = [(k, i) for k, bound in enumerate(model.data) for i in range(len(bound.names))]
    if unexplained := [one for one in columns if not _explained(*_column(model, *one, fitted))]:
        for trial in (Model(model.robot, model.data, model.unknowns).at(start), fitted):
            named: dict[float, list[str]] = {}
            for k, i in unexplained:
                if factor := _factor(*_column(model, k, i, trial)):
                    named.setdefault(factor, []).append(model.data[k].names[i])
            if named:
                words = (f"{', '.join(dict.fromkeys(names))} (times {factor:.4g})" for factor, names in named.items())
                return MESSAGE + "; ".join(words)
    return ""


def _column(model: Model, k: int, i: int, trial: Trial) -> tuple[Array, Array]:
    """What was measured and what is simulated, of one column."""
    valid = model.valid[k][:, i]
    return model.data[k].values[valid, i], trial.simulated[k][valid, i]


def _explained(measured: Array, simulated: Array) -> bool:
    return bool(np.linalg.norm(measured - simulated) <= EXPLAINED * np.linalg.norm(measured))


def _factor(measured: Array, simulated: Array) -> float:
    """The factor by which a column would agree; 0 if there is none."""
    errors = {factor: float(np.linalg.norm(factor * measured - simulated)) for factor in FACTORS}
    best = min(errors, key=lambda factor: errors[factor])
    least = min(EXPLAINED * np.linalg.norm(simulated), np.linalg.norm(measured - simulated) / BETTER)
    return best if errors[best] < least else 0.0


def _other_units(data: tuple[BoundData, ...]) -> Iterator[tuple[str, list[BoundData]]]:
    """Measurements with other units of the inputs, or of the times."""
    for factor in (1e3, 1e-3):
        if any(one.u.any() for one in data):
            yield f"inputs (times {factor:g})", [replace(one, u=factor * one.u) for one in data]
        if any(one.source.t is not None for one in data):
            yield f"t (times {factor:g})", [_in_other_time(one, factor) for one in data]


def _in_other_time(bound: BoundData, factor: float) -> BoundData:
    source = copy.copy(bound.source)
    if source.t is not None:
        source.t, source.dt = factor * source.t, factor * source.dt
    return replace(bound, source=source)
