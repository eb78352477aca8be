"""Steady motions: driven coordinates turn at constant rates, and nothing else changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sorosim.analysis.equations.callbacks import StaticCallbacks
from sorosim.analysis.equations.failure import diagnose_statics
from sorosim.analysis.equations.system import StaticSystem
from sorosim.analysis.equilibria.assembly import close_if_possible
from sorosim.analysis.equilibria.statics import state_of, statics
from sorosim.analysis.results.result import Equilibrium, InitialState
from sorosim.analysis.solvers.equilibrium import solve_equilibrium
from sorosim.analysis.solvers.newton import StaticProblem
from sorosim.base.arrays import Array
from sorosim.base.declare.result import Named, Numbers, stored
from sorosim.base.errors import ConvergenceError, InputError, nearest
from sorosim.base.public import public
from sorosim.base.validation import Number, Values
from sorosim.mechanics.dynamics.linearization import RATE_TOLERANCE
from sorosim.mechanics.dynamics.maxwell import moduli_in_words
from sorosim.mechanics.engine.prescribed import AT_REST, Prescribed, by_coordinate
from sorosim.mechanics.engine.tasks import RESIDUAL_DERIVATIVES, STATIC_DERIVATIVES, Task
from sorosim.mechanics.kernels.evaluate import Evaluation
from sorosim.mechanics.linear import Linearization
from sorosim.mechanics.robot import Robot, check_robot


@public
@dataclass(frozen=True, eq=False)
class SteadyMotion(Equilibrium, kind="steady motion"):
    """A relative equilibrium, in a frame that turns with the robot; q is the state at one moment."""

    rates: dict[str, float] = stored(
        Named(Numbers()), "per driven coordinate: its constant rate", "rad/s or m/s", default={}, needed=True
    )

    @property
    def qd(self) -> Array:
        """Rates (ndof,)."""
        rates = np.zeros(self.robot.ndof)
        for name, rate in self.rates.items():
            rates[self.robot.engine.layout.coordinate(name, "rates")] = rate
        return rates

    def linearize(self) -> Linearization:
        """Linearised motion about it, with gyroscopic and centrifugal terms; see `Robot.linearize`."""
        return self.robot.linearize(self.q, self.u, free=self.free, qd=self.qd)

    def loop_wrench(self, name: str) -> Array:
        """As for an equilibrium."""
        if name not in self.robot.loop_names:
            raise InputError("loop", "the name of a loop", f"'{name}'", nearest(str(name), self.robot.loop_names))
        return self.robot.engine.loop_wrench(self.robot.loop_names.index(name), self.q, self.qd, self.u, self.lam)

    def measure(self) -> dict[str, Array]:
        """What the sensors read, without noise and bias; see `Robot.measure`."""
        return self.robot.measure(self.q, self.qd, u=self.u, qdd=np.zeros(self.robot.ndof), lam=self.lam)

    def __repr__(self) -> str:
        return f"<SteadyMotion of '{self.robot.name}': residual {self.residual_norm:.2g}, {self.message}>"


@public
def steady(
    robot: Robot,
    rates: Mapping[str, Number],
    *,
    u: Values | None = None,
    driven: Mapping[str, Number] | None = None,
    q0: InitialState | None = None,
) -> SteadyMotion:
    """Steady motion of a robot whose driven joints turn, or slide, at constant rates: a relative equilibrium.

    Parameters
    ----------
    robot : Robot
    rates : mapping of link or coordinate name to float or str
        Constant rates [rad/s or m/s], such as {"hub": "30 rpm"}, of joints about whose axes nothing changes: gravity
        along the axis, or none.
    u, driven, q0
        As in `statics`. Coordinates with rates pass through their value of `driven`, or else of the file's `initial`
        block, at the moment that q shows.

    Returns
    -------
    SteadyMotion
        On the curve of steady motions from rest to these rates. ``driven`` has what the joints need for it.

    Raises
    ------
    ConvergenceError
        The search failed; ``partial`` is where it stopped, ``report`` the largest residual there.
    InputError
        A wrong name, length or value; rates that violate the loop constraints.

    Notes
    -----
    ID(q, qd, 0) = internal_force(q, qd, u) for the free coordinates, at given rates qd. Where something changes as the
    robot turns on, that holds for this moment only; `SteadyMotion.linearize` warns of it.
    """
    check_robot(robot)
    rate_values, layout = by_coordinate(robot.engine, rates, "rates", 1), robot.engine.layout
    prescribed = Prescribed.of(robot, u, driven, AT_REST)
    inputs, driven_values = prescribed.u, prescribed.values
    driven_indices = {layout.coordinate(name, "driven") for name in driven_values}
    for name in rate_values:
        if (index := layout.coordinate(name, "rates")) not in driven_indices:
            driven_values[name] = float(robot.initial_q[index])
    # a steady motion may be stable though the robot at rest is not
    rest = statics(robot, inputs, driven=driven_values, q0=q0, stable=False)
    system = SteadySystem(robot, rest, driven_values, rate_values)
    _check_loops(robot, rest.q, system.rates)
    if robot.n_multipliers:
        _, errors, _ = close_if_possible(robot, rest.q, system.partition.free)
        system.scale_constraints(*errors)
    x0 = system.start(rest.q, 0.0)
    callbacks = StaticCallbacks(system)
    problem = StaticProblem(
        callbacks.residual, callbacks.jacobian, callbacks.along_load, x0, follow_curve=True, hybr_fallback=False,
        raised="rate", balanced=callbacks.balanced if robot.n_multipliers else None,
    )  # fmt: skip
    solution = solve_equilibrium(problem, x0)
    state = state_of(system, solution)
    state["n_evaluations"] += rest.n_evaluations
    message = "; ".join([solution.message, *moduli_in_words(robot.engine)])
    motion = SteadyMotion(**state, message=message, rates=rate_values)
    if not solution.success:
        report = diagnose_statics(system, solution.x)
        what = (
            f"steady motion of '{robot.name}': {solution.message}{callbacks.why or callbacks.unbalanced}{report.words}"
        )
        raise ConvergenceError(f"{what}; try lower rates first, and look at the units of the rates", motion, report)
    return motion


def _check_loops(robot: Robot, q: Array, qd: Array) -> None:
    """Refuse rates that violate the loop constraints, all other coordinates at rest."""
    rate = robot.engine.loops.row_scale * np.abs(robot.loop_rows(q, qd).rate)
    violated = [
        name
        for name, rows in robot.engine.loop_layout.rows.items()
        if (rate[rows] > RATE_TOLERANCE * np.abs(qd).max()).any()
    ]
    if violated:
        hint = "in a steady motion a loop turns as a whole; `simulate` moves joints inside of loops"
        raise InputError("rates", "rates that keep the loops closed", f"rates that tear '{violated[0]}' open", hint)


class SteadySystem(StaticSystem):
    """Balance of forces at constant rates of the driven coordinates; the load parameter scales the rates."""

    def __init__(
        self, robot: Robot, rest: Equilibrium, driven: Mapping[str, float], rates: Mapping[str, float]
    ) -> None:
        super().__init__(robot, rest.u, driven, begin=(rest.q, rest.u))
        self.rates = np.zeros(robot.ndof)
        for name, rate in rates.items():
            self.rates[robot.engine.layout.coordinate(name, "rates")] = rate

    def evaluate(
        self, what: Task, q: Array, load: float = 1.0, multiplier: Array | None = None, more: float = 0.0
    ) -> Evaluation:
        """Evaluate without accelerations, at this part of the rates."""
        if what is STATIC_DERIVATIVES:
            what = RESIDUAL_DERIVATIVES  # by rates, too
        return self.robot.engine.evaluate(what, q, load * self.rates, self._zero, self.u, multiplier=multiplier)

    def along_load(self, x: Array, load: float) -> tuple[Array, Array, Array]:
        """Residual of the unknowns, its derivative by them, and by the part of the rates."""
        residual, K, _, evaluation = self._linearised(x, load, False)
        slope = np.zeros(len(x))
        slope[: self.n_free] = (evaluation.by_qd @ self.rates)[self.partition.free]
        return residual, K, slope
