"""The `simulate` block against the robot: outputs, end, tolerances and steps beside its periods and signals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.doctor.finding import NOTE, ODD, Finding
from sorosim.doctor.patient import Patient
from sorosim.drive import driven_motion, input_motion
from sorosim.motion import DEFAULTS
from sorosim.signals import CallableSignal

Array = NDArray[np.float64]

MANY = 1e6  # rows of results
ROWS_NOTE, ROWS_ODD = 4.0, 2.0  # of results a period: fewer show little of a motion, and another one
SWINGS = 0.5  # damping ratio below which there is a motion to be shown
SHORT = 0.1  # runs, in slowest periods; odd, if not even the middle one of all periods passes
STEPS_A_PERIOD = 10.0  # of fixed steps
LOOSE, TIGHT = 0.05, 1e-12  # relative tolerances
MISSED = 0.2  # of the range of a signal that outputs do not see
FINER = 16  # times as many looks at signals as outputs
MOST_LOOKS = 200_000


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
    yield from _signals(patient, block, t_end, dt_out)


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
    step = options.get("step")
    if step is not None and float(step) > longest / STEPS_A_PERIOD:
        what = f"{float(step):g} s, {longest / float(step):.2g} steps of its slowest period"
        yield Finding(ODD, "simulate.step", what, f"step: {longest / 50.0:.1g} s, or leave it out", float(step), "s")


def _signals(patient: Patient, block: Mapping[str, Any], t_end: float, dt_out: float) -> Iterator[Finding]:
    """Signals that change between outputs more than outputs show."""
    n = int(min(t_end / dt_out, MOST_LOOKS / FINER))
    if n < 1:
        return
    coarse: Array = np.linspace(0.0, t_end, n + 1)
    if t_end / dt_out > n:  # too many outputs to look at them all: so many at the beginning
        coarse = dt_out * np.arange(n + 1, dtype=float)
    fine = np.interp(np.arange(FINER * n + 1) / FINER, np.arange(n + 1), coarse)
    names = patient.robot.actuator_names
    given = block.get("u") or {}
    pairs = [("u", name, signal) for name, signal in zip(names, input_motion(names, given).signals, strict=True)]
    driven = block.get("driven") or {}
    pairs += [("driven", name, signal) for name, signal in zip(driven, driven_motion(driven).signals, strict=True)]
    for kind, name, signal in pairs:
        if isinstance(signal, CallableSignal):
            continue  # a user's function is not called before its time
        exact = signal.sample(fine)
        span = float(np.ptp(exact))
        missed = float(np.abs(np.interp(fine, coarse, exact[::FINER]) - exact).max(initial=0.0))
        if span > 0.0 and missed > MISSED * span:
            # the time in which it changes by its range at its fastest
            fastest = span / float(np.abs(np.gradient(exact, fine)).max())
            what = f"changes faster than dt_out = {dt_out:g} s shows, by {100.0 * missed / span:.3g} % of its range"
            remedy = f"dt_out: {min(0.25 * fastest, 0.25 * dt_out):.1g} s; are its times meant in s, its angles in rad?"
            sudden = missed > MISSED * span and _jumps(exact)
            level = NOTE if sudden else ODD
            yield Finding(level, f"simulate.{kind}.{name}", what, remedy, 100.0 * missed / span, "%")


def _jumps(values: Array) -> bool:
    """Whether a few steps make up all of what a signal changes: it switches, and no output could show that."""
    steps = np.abs(np.diff(values))
    return bool(np.sort(steps)[-8:].sum() > 0.8 * steps.sum())
