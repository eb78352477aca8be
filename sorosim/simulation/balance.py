"""Work and dissipation along an integration, and whether the energies of the robot agree with them."""

from __future__ import annotations

import numpy as np

from sorosim.arrays import Array
from sorosim.dynamics.energies import PowerEvaluator, PowerTerms
from sorosim.equations.callbacks import OdeCallbacks
from sorosim.interrupts import uninterrupted
from sorosim.kernels import evaluate as task
from sorosim.results.result import Run
from sorosim.solvers.quadrature import StepIntegral
from sorosim.solvers.registry import MARCHES

# a balance may be off by this many times the square root of rtol, of the energy moved
SAFETY = 3.0
LEAST_RTOL = 1e-7  # at smaller ones the quadrature error of work over kinks of forces dominates
FIXED_RTOL = 1e-2  # rtol for steps of fixed size, which have none
N_SAMPLES = 33  # at rows of a run


class WorkIntegral(StepIntegral):
    """Work (of actuators, loads and driven joints) and dissipation (2,) [J] along an integration."""

    def __init__(self, callbacks: OdeCallbacks, times: Array, begin: Array) -> None:
        super().__init__(lambda t, x: self.exchange(t, x).powers(), times, begin)
        self.callbacks, self.system = callbacks, callbacks.system
        self.exchanges = PowerEvaluator(self.system.robot.engine)

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


def imbalance(run: Run) -> str:
    """Why the energy balance of a run is not to be trusted, and what to try, in words; "" where it is.

    An integrator of order p takes steps of size h ~ rtol^(1/(p + 1)), each with an error of up to rtol of the state. So
    what they sum up to over a time, and with it the error of the energy, is of size rtol^(p/(p + 1)), for p = 1 the
    square root of rtol. Beside it, a step may change the energy by what an error `atol` of each coordinate and rate
    does. These are sizes, no bounds: the factor SAFETY in front of them is chosen, and the bundled robots must stay
    below it (tests/test_bundled_robots.py).
    """
    n = len(run.t)
    rows = np.unique(np.linspace(0, n - 1, min(n, N_SAMPLES)).round().astype(int))
    energy, options, engine = run[rows].energy(), run.options, run.robot.engine
    error = float(np.abs(energy.balance).max())
    turnover = energy.turnover
    # errors of rates are relative to these, too: a top spins at constant energy
    known = turnover + float(energy.kinetic.max())
    fixed = options["method"] in MARCHES and options["step"] is not None
    rtol, atol, zero = (
        FIXED_RTOL if fixed else max(options["rtol"], LEAST_RTOL),
        options["atol"],
        np.zeros(engine.ndof),
    )
    if not error > SAFETY * np.sqrt(rtol) * known:
        return ""
    slope = 0.0
    none = np.zeros(engine.n_actuators)
    for q, qd in zip(run.q[rows], run.qd[rows], strict=True):
        internal = engine.unactuated.internal(q, zero, none).tau.copy()
        # at rest all forces balance, and the energy changes all the same where loads do work
        for one in (engine, engine.unloaded):
            rest, momentum = (one.evaluate(task.INVERSE, q, zero, qdd, none).tau for qdd in (zero, qd))
            slope = max(slope, float(np.abs(rest - internal).sum() + np.abs(momentum - rest).sum()))
    if not error > SAFETY * (np.sqrt(rtol) * known + atol / np.sqrt(rtol) * slope):
        return ""
    size = f"the energy balance is off by {error:.2g} J of {turnover:.2g} J moved"
    if fixed:
        return f"{size}: steps of {options['step']:g} s are too large for this motion; try a smaller step, or none"
    other = "radau" if options["method"] != "radau" else "bdf"
    return f"{size}, more than rtol = {rtol:g} explains; try rtol={rtol / 10:g}, method='{other}' or a smaller max_step"
