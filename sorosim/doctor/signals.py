"""What changes in time, inputs, motions and loads: too fast for the outputs to show, or too slow for the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from sorosim.doctor.finding import NOTE, ODD, Finding
from sorosim.doctor.patient import Patient
from sorosim.engine.inputs import driven_motion, input_motion
from sorosim.loads.compiled import CompiledLaw
from sorosim.signals import CallableSignal, Signal
from sorosim.simulation.simulate import DEFAULTS

Array = NDArray[np.float64]

MISSED = 0.2  # of the range of a signal that outputs do not see
FINER = 16  # times as many looks at signals as outputs
MOST_LOOKS = 200_000
LATER = 1000.0  # runs, in which a signal with times in ms comes to what it was meant to be
EARLY = 0.05  # of the range that it has then, within the run
BOUND = 1.5  # times the range of a thousand runs, that of ten thousand is: it has bounds


def signals(patient: Patient) -> Iterator[Finding]:
    """Every signal of the file's run against its outputs and its end."""
    block = patient.robot.description.simulate
    if not block:
        return
    options = {**DEFAULTS, **block}
    if "t_end" not in options:
        return
    t_end, dt_out = float(options["t_end"]), float(options["dt_out"])
    for where, sample in _varying(patient):
        told = list(_fast(where, sample, t_end, dt_out))
        yield from told or _slow(where, sample, t_end)


def _varying(patient: Patient) -> Iterator[tuple[str, Callable[[Array], Array]]]:
    """Name of each signal, and its values at times (n,). A user's function is not called before its time."""
    block, names = patient.robot.description.simulate, patient.robot.actuator_names
    pairs = list(zip(names, input_motion(names, block.get("u") or {}).signals, strict=True))
    driven = block.get("driven") or {}
    found = [(f"simulate.u.{name}", signal) for name, signal in pairs]
    found += [(f"simulate.driven.{name}", s) for name, s in zip(driven, driven_motion(driven).signals, strict=True)]
    for name, load in patient.robot.engine.loading.loads.items():
        law = getattr(load, "law", None)
        rows = law.rows if isinstance(law, CompiledLaw) else ()
        found += [(f"loads.{name}", signal) for row in rows[:1] for signal in (row.varying or {}).values()]
    for where, signal in found:
        if isinstance(signal, Signal) and not isinstance(signal, CallableSignal):
            yield where, signal.sample


def _fast(where: str, sample: Callable[[Array], Array], t_end: float, dt_out: float) -> Iterator[Finding]:
    """Signals that change between outputs more than outputs show."""
    n = int(min(t_end / dt_out, MOST_LOOKS / FINER))
    if n < 1:
        return
    coarse: Array = np.linspace(0.0, t_end, n + 1)
    if t_end / dt_out > n:  # too many outputs to look at them all: so many at the beginning
        coarse = dt_out * np.arange(n + 1, dtype=float)
    fine = np.interp(np.arange(FINER * n + 1) / FINER, np.arange(n + 1), coarse)
    exact = sample(fine)
    span = float(np.ptp(exact))
    missed = float(np.abs(np.interp(fine, coarse, exact[::FINER]) - exact).max(initial=0.0))
    if span > 0.0 and missed > MISSED * span:
        # the time in which it changes by its range at its fastest
        fastest = span / float(np.abs(np.gradient(exact, fine)).max())
        what = f"changes faster than dt_out = {dt_out:g} s shows, by {100.0 * missed / span:.3g} % of its range"
        remedy = f"dt_out: {min(0.25 * fastest, 0.25 * dt_out):.1g} s; are its times meant in s, its angles in rad?"
        yield Finding(NOTE if _jumps(exact) else ODD, where, what, remedy, 100.0 * missed / span, "%")


def _jumps(values: Array) -> bool:
    """Whether a few steps make up all of what a signal changes: it switches, and no output could show that."""
    steps = np.abs(np.diff(values))
    return bool(np.sort(steps)[-8:].sum() > 0.8 * steps.sum())


def _slow(where: str, sample: Callable[[Array], Array], t_end: float) -> Iterator[Finding]:
    """Signals with bounds that only begin to change within the run."""
    # times of no pattern, so that they meet no period
    some = np.random.default_rng(5).uniform(size=2001)
    within, later, much_later = (
        float(np.ptp(values[np.isfinite(values)])) if np.isfinite(values).any() else np.inf
        for values in (sample(np.append([0.0, 1.0], some) * end * t_end) for end in (1.0, LATER, 10.0 * LATER))
    )
    if 0.0 < within < EARLY * much_later and much_later < BOUND * later:
        what = f"within the run it comes to {100.0 * within / much_later:.2g} % of the range that it has later"
        yield Finding(NOTE, where, what, "are its times meant in s? 1 ms is 0.001", 100.0 * within / much_later, "%")
