"""The `simulate` block against the robot's periods: outputs, end, tolerances, steps and signals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from sorosim.analysis.motion.simulate import usual_options
from sorosim.base.arrays import Array
from sorosim.base.methods import MARCHES, METHODS, MOTIONS, method_class
from sorosim.base.options import SimulateOptions, checked, unused_options
from sorosim.base.signals import CallableSignal, Signal
from sorosim.mechanics.engine.prescribed import Prescribed
from sorosim.mechanics.loads.compiled import CompiledLaw
from sorosim.studies.doctor.context import CheckContext
from sorosim.studies.doctor.findings import NOTE, ODD, Finding, finding, judged

ROWS_NOTE, ROWS_ODD = 4.0, 2.0  # of results a period: fewer show little of a motion, and another one
SWINGS = 0.5  # damping ratio below which there is a motion to be shown
SHORT = 0.1  # runs, in slowest periods; odd, if not even the middle one of all periods passes
STEPS_A_PERIOD = 10.0  # of fixed steps
MISSED = 0.2  # of the range of a signal that outputs do not show
FINER = 16  # times as many samples of signals as outputs
MOST_SAMPLES = 200_000
LATER = 1000.0  # runs after which a signal with times in ms would have reached its end
EARLY = 0.05  # of the range that it has then, within the run
BOUND = 1.5  # times the range of a thousand runs, that of ten thousand is: it has bounds


def runs(context: CheckContext) -> Iterator[Finding]:
    """Checks of the file's `simulate` block."""
    block = context.robot.description.simulate
    if not block:
        return
    options = checked(SimulateOptions, {}, usual_options(context.robot, block))
    dt_out, rtol, atol = (options[name] for name in ("dt_out", "rtol", "atol"))
    yield from judged("run.rtol_loose", "simulate.rtol", rtol)
    yield from judged("run.rtol_tight", "simulate.rtol", rtol)
    yield from judged("run.atol", "simulate.atol", atol)
    for name in unused_options(block, options["method"]):
        other = next(one for one in METHODS if name in method_class(one).options(MOTIONS))
        yield finding("run.unused", f"simulate.{name}", method=options["method"], other=other, name=name)
    t_end = options["t_end"]
    if t_end is None:
        return
    if dt_out > t_end:
        yield finding("run.ends_only", "simulate.dt_out", dt_out, t_end=t_end, usual=0.01 * t_end)
    else:
        rows = t_end / dt_out
        yield from judged("run.rows", "simulate.dt_out", dt_out, rows, rows=rows, usual=1e-3 * t_end)
    if context.oscillations:
        yield from _periods(context, options, t_end, dt_out)
    for name, sensor in context.robot.description.sensors.items():
        if rate := getattr(sensor, "rate", None):
            samples = rate * t_end
            words = {"samples": samples, "t_end": t_end, "usual": 1e3 / t_end}
            yield from judged("run.samples", f"sensors.{name}", rate, samples, **words)


def _periods(context: CheckContext, options: Mapping[str, Any], t_end: float, dt_out: float) -> Iterator[Finding]:
    """Outputs, end and steps against the slowest period."""
    slowest, periods = context.oscillations[0], [2.0 * np.pi / mode.frequency for mode in context.oscillations]
    longest = periods[0]
    if longest / ROWS_NOTE < dt_out <= t_end:
        level = ODD if dt_out > longest / ROWS_ODD and slowest.damping_ratio < SWINGS else NOTE
        words = {"rows": longest / dt_out, "period": longest, "usual": longest / 20.0}
        yield finding("run.coarse", "simulate.dt_out", dt_out, level, **words)
    if t_end < SHORT * longest:
        # what touches may be free to roll, as slowly as one likes
        level = NOTE if context.robot.engine.loading.touches or t_end > np.median(periods) else ODD
        yield finding("run.short", "simulate.t_end", t_end, level, period=longest, usual=3.0 * longest)
    lasts = t_end / longest
    yield from judged("run.long", "simulate.t_end", t_end, lasts, periods=lasts, period=longest, ms=1e-3 * t_end)
    step = options.get("step")
    if step is not None and options["method"] in MARCHES and float(step) > longest / STEPS_A_PERIOD:
        yield finding("run.step", "simulate.step", step, steps=longest / float(step), usual=longest / 50.0)


# -- signals -----------------------------------------------------------------------------------------------------------


def signals(context: CheckContext) -> Iterator[Finding]:
    """Every signal of the file's run, inputs, motions and loads, against its outputs and its end."""
    block = context.robot.description.simulate
    options = checked(SimulateOptions, {}, block)
    t_end, dt_out = options["t_end"], options["dt_out"]
    if not block or t_end is None:
        return
    for where, sample in _varying(context):
        fast = list(_fast(where, sample, t_end, dt_out))
        yield from fast or _slow(where, sample, t_end)


def _varying(context: CheckContext) -> Iterator[tuple[str, Callable[[Array], Array]]]:
    """Name of each signal, and its values at times (n,). A user's function is not called before its time."""
    robot, prescribed = context.robot, Prescribed.of(context.robot, None, None)
    named = (
        ("u", zip(robot.actuator_names, prescribed.inputs.signals, strict=True)),
        ("driven", prescribed.driven.items()),
    )
    pairs = [(f"simulate.{kind}.{name}", signal) for kind, signals in named for name, signal in signals]
    for name, load in context.robot.engine.loading.loads.items():
        law = getattr(load, "law", None)
        rows = law.rows if isinstance(law, CompiledLaw) else ()
        pairs += [(f"loads.{name}", signal) for row in rows[:1] for signal in (row.varying or {}).values()]
    for where, signal in pairs:
        if isinstance(signal, Signal) and not isinstance(signal, CallableSignal):
            yield where, signal.sample


def _fast(where: str, sample: Callable[[Array], Array], t_end: float, dt_out: float) -> Iterator[Finding]:
    """Signals that change between outputs more than outputs show."""
    n = int(min(t_end / dt_out, MOST_SAMPLES / FINER))
    if n < 1:
        return
    coarse: Array = np.linspace(0.0, t_end, n + 1)
    if t_end / dt_out > n:  # at most so many outputs are checked, from the beginning
        coarse = dt_out * np.arange(n + 1, dtype=float)
    fine = np.interp(np.arange(FINER * n + 1) / FINER, np.arange(n + 1), coarse)
    exact = sample(fine)
    span = float(np.ptp(exact))
    missed = float(np.abs(np.interp(fine, coarse, exact[::FINER]) - exact).max(initial=0.0))
    if span > 0.0 and missed > MISSED * span:
        # the time in which it changes by its range at its fastest
        fastest = span / float(np.abs(np.gradient(exact, fine)).max())
        steps = np.abs(np.diff(exact))
        # a few steps make up all of what it changes: it switches, and no output could show that
        level = NOTE if np.sort(steps)[-8:].sum() > 0.8 * steps.sum() else ODD
        words = {"dt_out": dt_out, "usual": min(0.25 * fastest, 0.25 * dt_out)}
        yield finding("signal.fast", where, 100.0 * missed / span, level, **words)


def _slow(where: str, sample: Callable[[Array], Array], t_end: float) -> Iterator[Finding]:
    """Signals with bounds that only begin to change within the run."""
    # times of no pattern, so that they meet no period
    some = np.random.default_rng(5).uniform(size=2001)
    within, later, much_later = (
        float(np.ptp(values[np.isfinite(values)])) if np.isfinite(values).any() else np.inf
        for values in (sample(np.append([0.0, 1.0], some) * end * t_end) for end in (1.0, LATER, 10.0 * LATER))
    )
    if 0.0 < within < EARLY * much_later and much_later < BOUND * later:
        yield finding("signal.slow", where, 100.0 * within / much_later)
