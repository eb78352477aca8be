"""The error of a motion: the same motion once more by finer steps, and from when on no steps tell it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from sorosim.analysis.results.accuracy import CLOSE, Companion, apart
from sorosim.analysis.results.result import Run, strain_rows
from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import InputError, SorosimError
from sorosim.base.methods import MARCHES, method_class

# of its way: a motion that is so far from a finer one is no longer its neighbour
PARTED = 0.1
LEAST_RTOL = 1e-12  # of a companion: below, rounding is larger than the difference between two tolerances
# how many times smaller the tolerances of a companion are: then its error is a tenth or less of that of the run. The
# error of a method of order p grows as rtol^(p/(p + 1)) at worst, of order 2 as rtol^(2/3); that of Radau's method is
# smaller by more than 10 at the same tolerance already (docs/solvers.md, the figure), and grows as rtol^(5/6)
BY_RADAU, SAME_METHOD, OF_ORDER_2 = 10.0, 100.0, 30.0
SAME_TIME = 1e-9  # of the interval of results, rounding of their times


class Finer(NamedTuple):
    """How a companion is integrated."""

    options: dict[str, Any]
    how: str
    factor: float  # of the distance to the error


def finer(options: Mapping[str, Any], level: int, large: bool = False) -> Finer | None:
    """Options of a companion of a run; None where its tolerances would be lost in rounding.

    `level`: how many times finer it is; `large`: radau would solve with matrices that the method never forms.
    """
    method, rtol, step = (options[name] for name in ("method", "rtol", "step"))
    if method in MARCHES and step is not None:
        own = options["dt_out"] / ceil(options["dt_out"] / step * (1.0 - 1e-10))  # steps end at all rows
        half = own / 2**level
        # of order 2, so that half the step leaves a quarter of the error
        return Finer({"step": half}, f"{method}, steps of {half:.4g} s", 1.0 / (1.0 - 0.25**level))
    other = method if large else method_class(method).verified_by or method
    ratio = (OF_ORDER_2 if method in MARCHES else SAME_METHOD if other == method else BY_RADAU) ** level
    if rtol / ratio < LEAST_RTOL:
        return None
    tolerances = {"rtol": rtol / ratio, "atol": options["atol"] / ratio}
    return Finer({"method": other, **tolerances}, f"{other}, rtol {rtol / ratio:.2g}", 1.0)


def check_verifiable(options: Mapping[str, object], large: bool) -> None:
    """Refuse tolerances of a run that leave no room for a companion."""
    if options["verify"] and finer(options, 1, large) is None:
        raise InputError("rtol", "larger tolerances, so that a companion run can be finer", f"{options['rtol']:g}")


# integrate so from a row on, with coordinates, rates and strains there; and why that ended early, "" if it did not
Follow = Callable[[Finer, int, tuple[Array, Array, Array]], tuple[Run, str]]


def verified(run: Run, follow: Follow, large: bool, before: Companion | None = None) -> tuple[Run, str]:
    """The run with its companion, and what its user is to know of its accuracy, in words; "" where it is good.

    A motion that is far from its companion gets one that is finer still. As long as that stays near the first one the
    tolerances of the run were too large, and the difference is its error. From where both part, neighbouring motions
    part faster than tolerances tell, and differences are no errors. Which of the two it is stays open where no finer
    one comes so far. `before`: of the first rows of a run that was resumed.
    """
    found, why = _companion(run, follow, large, before.level if before else 1, before)
    if found is None:
        return run, why
    distance, way = apart(run.robot, run.q, found.q)
    undecided = ""
    if found.parts_at == np.inf and (far := distance > PARTED * way).any():
        finest, stopped = _companion(run, follow, large, found.level + 1, None)
        again = np.full(len(far), np.nan) if finest is None else apart(run.robot, found.q, finest.q)[0]
        part = far & (again > PARTED * way)
        if finest is not None and (part.any() or not np.isnan(again[far]).any()):
            found = finest._replace(parts_at=float(run.t[part][0]) if part.any() else np.inf)
        else:
            no_finer = stopped or "its tolerances would be lost in rounding"
            undecided = f"; whether neighbouring motions part from {run.t[far][0]:.4g} s on is not known, for want of "
            undecided += f"a third run: {no_finer}"
    run = replace(run, companion=found)
    accuracy = run.accuracy
    if why:
        known = run.t[np.isfinite(accuracy.error)][-1]
        return run, f"its error is known until {known:.4g} s only: {why}{undecided}"
    if found.parts_at < np.inf or not np.nanmax(accuracy.error) > CLOSE * accuracy.way:
        return run, f"right {accuracy}" if found.parts_at < np.inf else ""
    fixed = run.options["method"] in MARCHES and run.options["step"] is not None
    smaller = "a smaller step" if fixed else f"rtol={run.options['rtol'] / 10.0:.2g}"
    return run, f"right {accuracy}; try {smaller}{undecided}"


def _companion(
    run: Run, follow: Follow, large: bool, level: int, before: Companion | None
) -> tuple[Companion | None, str]:
    """The motion of a run once more, from its start, or on from where it is known; and why it ended early."""
    steps = finer(run.options, level, large)
    if steps is None:
        return None, ""
    tables = tuple(np.full_like(table, np.nan) for table in (run.q, run.qd, strain_rows(run)))
    row, begin = 0, (run.q[0], run.qd[0], strain_rows(run)[0])
    if before is not None:
        row, begin = len(before.q) - 1, (before.q[-1], before.qd[-1], before.strain[-1])
        for table, known in zip(tables, before[:3], strict=True):
            table[: row + 1] = known
    why = "the companion of the run before had stopped"
    if np.isfinite(begin[0]).all():
        try:
            later, why = follow(steps, row, begin)
        except SorosimError as error:
            return None, f"there is no companion to tell its error: {error}"
        same, of_later = _same_times(run.t[row:], later.t, run.options["dt_out"])
        for table, rows in zip(tables, (later.q, later.qd, strain_rows(later)), strict=True):
            table[row + same] = rows[of_later]
    q, qd, strain = tables
    return Companion(q, qd, strain, steps.how, level, steps.factor, before.parts_at if before else np.inf), why


def _same_times(t: Array, other: Array, dt_out: float) -> tuple[IntArray, IntArray]:
    """Rows of the same times in two runs: one that stopped and was resumed has a row where it did."""
    k = np.clip(np.searchsorted(other, t - SAME_TIME * dt_out), 0, len(other) - 1)
    same = np.flatnonzero(np.abs(other[k] - t) <= SAME_TIME * dt_out)
    return same, k[same]
