"""The `simulate` block against the robot: outputs, end, tolerances and steps beside its periods and signals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sorosim.doctor.finding import NOTE, ODD, Finding
from sorosim.doctor.patient import Patient
from sorosim.simulation.simulate import DEFAULTS, USED_BY
from sorosim.solvers.registry import MARCHES

MANY = 1e6  # rows of results
ROWS_NOTE, ROWS_ODD = 4.0, 2.0  # of results a period: fewer show little of a motion, and another one
SWINGS = 0.5  # damping ratio below which there is a motion to be shown
SHORT = 0.1  # runs, in slowest periods; odd, if not even the middle one of all periods passes
STEPS_A_PERIOD = 10.0  # of fixed steps
LOOSE, TIGHT = 0.05, 1e-12  # relative tolerances
COARSE = 1e-2  # absolute tolerance, of coordinates in rad, m or strains
LASTING = 1000.0  # slowest periods in a run


def runs(patient: Patient) -> Iterator[Finding]:
    """What the file says of runs."""
    block = patient.robot.description.simulate
    if not block:
        return
    options = {**DEFAULTS, **block}
    dt_out, rtol = float(options["dt_out"]), float(options["rtol"])
    if rtol > LOOSE or rtol < TIGHT:
        words = "no digit is sure" if rtol > LOOSE else "rounding alone is more"
        yield Finding(ODD, "simulate.rtol", f"{rtol:g}: {words}", "from 1e-3 for a look to 1e-8 for a reference", rtol)
    if (atol := float(options["atol"])) > COARSE:
        what = f"{atol:g}: a coordinate may be off by as many rad, m or strains"
        yield Finding(ODD, "simulate.atol", what, "from 1e-4 for a look to 1e-9 for a reference", atol)
    for name, methods in USED_BY.items():
        if block.get(name) not in (None, False) and options["method"] not in methods:
            what = f"has no effect on method {options['method']}"
            yield Finding(NOTE, f"simulate.{name}", what, f"method: {methods[0]}, or leave {name} out")
    if "t_end" not in options:
        return
    t_end = float(options["t_end"])
    if dt_out > t_end:
        what = f"{dt_out:g} s, longer than the run of {t_end:g} s: only its ends are kept"
        yield Finding(ODD, "simulate.dt_out", what, f"{0.01 * t_end:.1g} s gives a hundred rows", dt_out, "s")
    elif t_end / dt_out > MANY:
        what = f"{t_end / dt_out:.2g} rows of results"
        yield Finding(ODD, "simulate.dt_out", what, f"{1e-3 * t_end:.1g} s gives a thousand", dt_out, "s")
    if len(patient.frequencies):
        yield from _periods(patient, options, t_end, dt_out)
    yield from _samples(patient, t_end)


def _periods(patient: Patient, options: Mapping[str, Any], t_end: float, dt_out: float) -> Iterator[Finding]:
    longest = 1.0 / float(patient.frequencies.min())
    if longest / ROWS_NOTE < dt_out <= t_end:
        what = f"{dt_out:g} s shows {longest / dt_out:.2g} rows of its slowest period, {longest:.2g} s"
        level = ODD if dt_out > longest / ROWS_ODD and patient.damping_ratio < SWINGS else NOTE
        yield Finding(level, "simulate.dt_out", what, f"dt_out: {longest / 20.0:.1g} s", dt_out, "s")
    if t_end < SHORT * longest:
        what = f"{t_end:g} s, a small part of its slowest period, {longest:.2g} s"
        middle = 1.0 / float(np.median(patient.frequencies))
        # what touches may be free to roll, as slowly as one likes
        level = NOTE if patient.robot.engine.loading.touches or t_end > middle else ODD
        remedy = f"was it meant in s? {3.0 * longest:.1g} s shows a motion"
        yield Finding(level, "simulate.t_end", what, remedy, t_end, "s")
    if t_end > LASTING * longest:
        what = f"{t_end:g} s, {t_end / longest:.2g} of its slowest periods of {longest:.2g} s"
        yield Finding(NOTE, "simulate.t_end", what, f"was it meant in ms? That is {1e-3 * t_end:g} s", t_end, "s")
    step = options.get("step")
    if step is not None and options["method"] in MARCHES and float(step) > longest / STEPS_A_PERIOD:
        what = f"{float(step):g} s, {longest / float(step):.2g} steps of its slowest period"
        yield Finding(ODD, "simulate.step", what, f"step: {longest / 50.0:.1g} s, or leave it out", float(step), "s")


def _samples(patient: Patient, t_end: float) -> Iterator[Finding]:
    """How many rows sensors write."""
    for name, sensor in patient.robot.description.sensors.items():
        rate = getattr(sensor, "rate", None)
        if rate is not None and rate * t_end > MANY:
            what = f"rate {rate:g} Hz: {rate * t_end:.2g} samples in {t_end:g} s"
            yield Finding(ODD, f"sensors.{name}", what, f"{1e3 / t_end:.1g} Hz gives a thousand", float(rate), "Hz")
