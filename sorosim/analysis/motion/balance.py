"""Work and dissipation along an integration, and whether the energies of the robot agree with them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sorosim.analysis.equations.callbacks import OdeCallbacks
from sorosim.analysis.equations.system import rate_time
from sorosim.analysis.results.result import Run
from sorosim.analysis.solvers.quadrature import StepIntegral
from sorosim.base.arrays import Array, IntArray
from sorosim.base.interrupts import uninterrupted
from sorosim.base.methods import MARCHES
from sorosim.mechanics.dynamics.energies import PowerEvaluator, PowerTerms
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.engine import Engine

# a balance may be off by this many times the square root of rtol, of the energy moved
SAFETY = 3.0
LEAST_RTOL = 1e-7  # at smaller ones the quadrature error of work over kinks of forces dominates
FIXED_RTOL = 1e-2  # rtol for steps of fixed size, which have none
N_SAMPLES = 65  # at rows of a run
ROUNDING = 100.0 * float(np.finfo(float).eps)  # of energies, which are sums over some hundred nodes
PARTS, LEAST_ROWS = 4, 9  # a run, its halves, quarters and eighths, as far as they have so many samples
LEAST_STATES = 3  # that show an impact: rise, middle and fall
THROWN = 0.5  # of the rates before, by which these change in an impact that throws something back


class WorkIntegral(StepIntegral):
    """Work (of actuators, loads and driven joints) and dissipation (2,) [J] along an integration."""

    def __init__(self, callbacks: OdeCallbacks, times: Array, begin: Array) -> None:
        super().__init__(lambda t, x: self.exchange(t, x).powers(), times, begin)
        self.callbacks, self.system = callbacks, callbacks.system
        self.exchanges = PowerEvaluator(self.system.robot.engine)
        self.bounces = Bounces(self.system.robot.engine) if self.system.robot.engine.may_bounce else None

    def exchange(self, t: Array, x: Array) -> PowerTerms:
        """What is exchanged at times (k,) in states (k, n)."""
        system, times, reaction, n = self.system, np.clip(t, *self.callbacks.window), None, 2 * self.system.n_free
        strain = x[:, n:]
        if not len(system.partition.driven):
            q, qd = (np.ascontiguousarray(part) for part in np.split(x[:, :n], 2, axis=1))
        else:
            q, qd, reaction = np.zeros((3, len(t), system.robot.ndof))
            for k, time in enumerate(times):
                q[k], qd[k], qdd, _ = system.coordinates(float(t[k]), x[k])
                multiplier = system.forward(task.FORWARD, float(time), q[k], qd[k], qdd, strain[k]).closure.multiplier
                reaction[k] = self.reaction(float(time), q[k], qd[k], qdd, multiplier, strain[k])
        if self.bounces is not None:
            self.bounces.follow(times, q, qd)
        terms = self.exchanges(times, q, qd, system.inputs.sample(times), reaction)
        return system.maxwell.add_losses(terms, strain) if system.n_strains else terms

    def reaction(self, t: float, q: Array, qd: Array, qdd: Array, multiplier: Array, strain: Array) -> Array:
        """Generalised forces (ndof,) that drive coordinates."""
        driven = self.system.partition.driven
        out = np.zeros(self.system.robot.ndof)
        out[driven] = self.system.residual(task.RESIDUAL, t, q, qd, qdd, multiplier, strain).tau[driven]
        return out

    @property
    def outside_tree(self) -> bool:
        """Whether more than actuators and damping of the tree exchanges energy."""
        return self.exchanges.outside_tree or bool(len(self.system.partition.driven))

    @uninterrupted()
    def marched(self, t: float, value: Array, rows: Array) -> None:
        """The compiled march is at t; store the integrals there and at the output times before."""
        self.value = value
        self._restart(t, np.zeros(0))
        self.rows[self.n_rows : self.n_rows + len(rows)] = rows
        self.n_rows += len(rows)

    def of_rows(self, times: Array) -> Array:
        """Work and dissipation (k, 2) at output times that have been passed, or after the last step."""
        self.evaluate()
        k = np.searchsorted(self.times, times)
        known = [i < self.n_rows and self.times[i] == t for i, t in zip(k, times, strict=True)]
        values = [self.rows[i] if is_row else self.at(t) for i, t, is_row in zip(k, times, known, strict=True)]
        return np.array(values).reshape(len(times), 2)


class Bounces:
    """Counts what touches and parts again, or comes to the stops of a joint, and how much steps see of it.

    The force of an impact rises and falls like half a sine; what a step has of it are its values at its end and in the
    stages inside of it.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.n = self.n_short = 0
        self.first = np.nan  # when the first short one begins [s]
        self._last: tuple[float, Array] | None = None  # time of the last state, and the rates
        # of what touches: in how many states, and the last state before
        self._open: dict[tuple[int, ...], tuple[int, tuple[float, Array] | None]] = {}

    def follow(self, t: Array, q: Array, qd: Array) -> None:
        """Go on to states (k, ndof) at times (k,)."""
        for time, place, rate in zip(t, q, qd, strict=True):
            if self._last is not None and not time > self._last[0]:  # a step begins where the one before ended
                continue
            touching = self.engine.touching(place)
            for what in touching:
                states, before = self._open.get(what, (0, self._last))
                self._open[what] = states + 1, before
            for what in self._open.keys() - touching:
                self._part(*self._open.pop(what), rate if len(what) > 1 else rate[list(what)], what)
            self._last = float(time), np.array(rate)

    def _part(self, states: int, before: tuple[float, Array] | None, rate: Array, what: tuple[int, ...]) -> None:
        """Count what has touched in so many states since another one before, None at the start."""
        if before is None:
            return
        begin, rates = before[0], before[1] if len(what) > 1 else before[1][list(what)]
        # what is thrown back changes most of its rates; what grazes or rolls on does not
        if np.linalg.norm(rate - rates) > THROWN * np.linalg.norm(rates):
            self.n += 1
            if states < LEAST_STATES:
                self.n_short += 1
                self.first = begin if self.n_short == 1 else self.first

    @property
    def words(self) -> str:
        """What is doubtful; "" if nothing is."""
        if not self.n_short:
            return ""
        what = f"{self.n_short} of {self.n} bounces" if self.n > 1 else "a bounce"
        when = f"at t = {self.first:.4g} s first, showed in less than {LEAST_STATES} states of the steps"
        return f"{what}, {when}, which tell little of the speed after it; try a smaller rtol or max_step"


def imbalance(run: Run) -> str:
    """Why the energy balance of a run is not to be trusted, and what to try, in words; "" where it is.

    An integrator of order p takes steps of size h ~ rtol^(1/(p + 1)), each with an error of up to rtol of the state. So
    what they sum up to over a time, and with it the error of the energy, is of size rtol^(p/(p + 1)), for p = 1 the
    square root of rtol. Beside it, a step may change the energy by what an error `atol` of each coordinate and rate
    does. These are sizes, no bounds: the factor SAFETY in front of them is chosen, and the bundled robots must stay
    below it (tests/test_bundled_robots.py).

    The error that comes about within a time is compared with the energy that moves within that time, for the whole run
    and its halves, quarters and eighths: what moved long ago excuses nothing.
    """
    n = len(run.t)
    rows = np.unique(np.linspace(0, n - 1, min(n, N_SAMPLES)).round().astype(int))
    energy, options = run[rows].energy(), run.options
    fixed = options["method"] in MARCHES and options["step"] is not None
    rtol, atol = FIXED_RTOL if fixed else max(options["rtol"], LEAST_RTOL), options["atol"]
    worst, slope = ("", 0.0), None
    rounding = ROUNDING * max(float(np.abs(part).max()) for part in energy)
    for window in _windows(len(rows)):
        error = float(np.ptp(energy.balance[window]))
        # errors of rates are relative to the kinetic energy, too: a top spins at constant energy
        moved = max(*(float(np.ptp(part[window])) for part in energy), float(energy.kinetic[window].max()))
        if not error > max(SAFETY * np.sqrt(rtol) * moved, rounding):
            continue
        slope = _slope(run, rows) if slope is None else slope
        excess = error / (SAFETY * (np.sqrt(rtol) * moved + atol / np.sqrt(rtol) * slope))
        if excess > max(1.0, worst[1]):
            begin, end = run.t[rows[window][[0, -1]]]
            when = "" if len(window) == len(rows) else f" from {begin:.4g} to {end:.4g} s"
            worst = f"the energy balance is off by {error:.2g} J{when}, where {moved:.2g} J move", excess
    if not worst[0]:
        return ""
    if fixed:
        return f"{worst[0]}: steps of {options['step']:g} s are too large for this motion; try a smaller step, or none"
    other = "radau" if options["method"] != "radau" else "bdf"
    what = f"{worst[0]}, more than rtol = {rtol:g} explains"
    return f"{what}; try rtol={rtol / 10:g}, method='{other}' or a smaller max_step"


def _windows(n: int) -> Iterator[IntArray]:
    """All rows, and parts of them that overlap by half."""
    for part in range(PARTS):
        length = n if part == 0 else (n - 1) // 2**part + 1
        if part and length < LEAST_ROWS:
            return
        for begin in range(0, n - length + 1, max(length // 2, 1)):
            yield np.arange(begin, begin + length)


def _slope(run: Run, rows: IntArray) -> float:
    """Change of the energy along a run by a unit of all coordinates, and of rates as their tolerance is: the median.

    Not the largest: what an error of `atol` does at the height of an impact is told, not excused.
    """
    slopes, engine, seconds = [], run.robot.engine, rate_time(run.robot, run.options["closing_time"])
    zero, none = np.zeros(engine.ndof), np.zeros(engine.n_actuators)
    for q, qd, u in zip(run.q[rows], run.qd[rows], run.u[rows], strict=True):
        internal = engine.unactuated.internal(q, zero, none).tau.copy()
        largest = 0.0
        # at rest all forces balance, and the energy changes all the same where loads do work
        for one in (engine, engine.unloaded):
            rest, momentum = (one.evaluate(task.INVERSE, q, zero, qdd, u).tau for qdd in (zero, qd))
            largest = max(largest, float(np.abs(rest - internal).sum() + np.abs(momentum - rest).sum() / seconds))
        slopes.append(largest)
    return float(np.median(slopes))
