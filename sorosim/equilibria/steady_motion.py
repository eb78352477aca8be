"""Steady motions: driven coordinates turn at constant rates, and nothing else changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sorosim.dynamics.linearization import RATE_TOLERANCE
from sorosim.engine.engine import Evaluation
from sorosim.equations.failure import of_statics
from sorosim.equations.system import StaticSystem
from sorosim.equations.trials import StaticTrials
from sorosim.equilibria.assembly import closed_gently
from sorosim.equilibria.statics import by_link, statics
from sorosim.errors import ConvergenceError, InputError, nearest
from sorosim.linear import Linearization
from sorosim.results.result import Equilibrium
from sorosim.robot import Robot, check_robot
from sorosim.solvers.equilibrium import solve_equilibrium
from sorosim.solvers.newton import StaticProblem
from sorosim.validation import number

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SteadyMotion(Equilibrium):
    """A relative equilibrium, in a frame that turns with the robot; q is the state at one moment."""

    rates: dict[str, float] = field(default_factory=dict)  # name of a driven coordinate -> its constant rate

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
        return self.robot.measure(self.q, self.qd, self.u, qdd=np.zeros(self.robot.ndof), lam=self.lam)

    def save(self, path: str | Path) -> None:
        """No file keeps a steady motion; its linearised motion has one."""
        hint = "linearize().save(...) writes q, qd, u and the matrices"
        raise InputError("save", "an equilibrium or a run", "a steady motion", hint)

    def __repr__(self) -> str:
        return f"<SteadyMotion of '{self.robot.name}': residual {self.residual_norm:.2g}, {self.message}>"


def steady(
    robot: Robot,
    rates: Mapping[str, float],
    u: Mapping[str, float] | ArrayLike | None = None,
    driven: Mapping[str, float] | None = None,
    q0: ArrayLike | Equilibrium | None = None,
) -> SteadyMotion:
    """Steady motion of a robot whose driven joints turn, or slide, at constant rates: a relative equilibrium.

    Parameters
    ----------
    robot : Robot
    rates : mapping of link or coordinate name to float
        Constant rates [rad/s or m/s] of joints about whose axes nothing changes: gravity along the axis, or none.
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
        None was found on the way; ``partial`` is where it stopped, ``report`` what is out of balance there.
    InputError
        A wrong name, length or value; rates that violate the loop constraints.

    Notes
    -----
    ID(q, qd, 0) = internal_force(q, qd, u) for the free coordinates, at given rates qd. Where something changes as the
    robot turns on, that holds for this moment only; `SteadyMotion.linearize` warns of it.
    """
    check_robot(robot)
    if not isinstance(rates, Mapping):
        raise InputError("rates", "a mapping of link names to rates", type(rates).__name__)
    speeds = {name: number(f"rates.{name}", rate) for name, rate in rates.items()}
    layout = robot.engine.layout
    held = dict(by_link(robot.description.statics.get("driven") if driven is None else driven))
    taken = {layout.coordinate(name, "driven") for name in held}
    for name in speeds:
        if (index := layout.coordinate(name, "rates")) not in taken:
            held[name] = float(robot.initial_q[index])
    rest = statics(robot, u, held, q0, stable=False)  # what turns may be stable where what rests is not
    system = SteadySystem(robot, rest, held, speeds)
    _check_loops(robot, rest.q, system.rates)
    if robot.loop_names:
        _, errors, _ = closed_gently(robot, rest.q, system.partition.free)
        system.scale_constraints(*errors)
    x0 = system.start(rest.q, 0.0)
    trials = StaticTrials(system)
    problem = StaticProblem(trials.residual, trials.jacobian, x0, follows=True, jumps=False)
    found = solve_equilibrium(problem, x0)
    q, multiplier = system.q(found.x), system.multipliers(found.x)
    forces = map(float, system.full_residual(q, multiplier)[system.partition.driven])
    n = system.n_free
    residual = found.residual if found.success else system.residual(found.x, 1.0)
    said = found.message.replace("the load", "the rates").replace("full load", "full rates").replace("load", "rate")
    motion = SteadyMotion(
        robot, q, rest.u, system.smallest(q, multiplier), dict(zip(held, forces, strict=True)),
        float(np.abs(residual[:n]).max(initial=0.0)), found.jacobian[:n, :n],
        rest.n_evaluations + found.n_residual + found.n_jacobian, said, system.partition.free, rates=speeds,
    )  # fmt: skip
    if not found.success:
        report = of_statics(system, found.x)
        what = f"steady motion of '{robot.name}': {said}{trials.why}{report.words}"
        raise ConvergenceError(f"{what}; try lower rates first, and look at the units of the rates", motion, report)
    return motion


def _check_loops(robot: Robot, q: Array, qd: Array) -> None:
    """Refuse rates that violate the loop constraints, all other coordinates at rest."""
    rate = robot.engine.loops.size * np.abs(robot.loop_rows(q, qd).rate)
    torn = [
        name
        for name, rows in robot.engine.closed.rows.items()
        if (rate[rows] > RATE_TOLERANCE * np.abs(qd).max()).any()
    ]
    if torn:
        hint = "in a steady motion a loop turns as a whole; `simulate` moves joints inside of loops"
        raise InputError("rates", "rates that keep the loops closed", f"rates that tear '{torn[0]}' open", hint)


class SteadySystem(StaticSystem):
    """Balance of a robot whose driven coordinates move at constant rates; the load is what part of them they have."""

    def __init__(
        self, robot: Robot, rest: Equilibrium, driven: Mapping[str, float], rates: Mapping[str, float]
    ) -> None:  # fmt: skip
        super().__init__(robot, rest.u, driven, begin=(rest.q, rest.u))
        self.rates = np.zeros(robot.ndof)
        for name, rate in rates.items():
            self.rates[robot.engine.layout.coordinate(name, "rates")] = rate

    def evaluate(self, what: int, q: Array, load: float = 1.0, multiplier: Array | None = None) -> Evaluation:
        """Evaluate without accelerations, at this part of the rates."""
        return self.robot.engine.evaluate(what, q, load * self.rates, self._zero, self.u, multiplier=multiplier)
