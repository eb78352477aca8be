"""Optimal control: `optimal_control` and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sorosim.analysis.motion.rollout import run_of
from sorosim.analysis.motion.simulate import starting_state
from sorosim.analysis.results.result import Equilibrium, InitialState, Run
from sorosim.base.arrays import Array
from sorosim.base.declare import Part
from sorosim.base.declare.result import TEXT, Another, Numbers, Record, Result, Rising, optional, stored
from sorosim.base.errors import InputError
from sorosim.base.options import ControlOptions, checked
from sorosim.base.public import public
from sorosim.base.registry import LazyMethod
from sorosim.base.validation import Number, Values
from sorosim.mechanics.engine.parameter import input_parameter
from sorosim.mechanics.engine.prescribed import Inputs, by_name, input_rows
from sorosim.mechanics.robot import Robot, check_robot
from sorosim.studies.control.cost import Cost
from sorosim.studies.control.gains import Gains, gains_of
from sorosim.studies.control.problem import Problem
from sorosim.studies.control.solvers import solve
from sorosim.studies.control.steps import DiscreteMotion
from sorosim.studies.control.terms import Terms

STATES, INPUTS = "n_states", "n_actuators"
GAINS = Record(
    Gains, t=Numbers("n"), dt=Numbers(), x=Numbers("n", STATES), u=Numbers("n", INPUTS), K=Numbers("n", INPUTS, STATES),
    bounds=Numbers(2, INPUTS), hold=optional(Numbers(INPUTS, STATES)), goal=optional(Numbers(STATES)),
    u_goal=optional(Numbers(INPUTS)), message=TEXT,
)  # fmt: skip
# of a step: a horizon is a whole number of steps up to rounding
WHOLE = 1e-6
# of derivatives of steps: 4 GB
MOST_NUMBERS = 500_000_000


@public
def optimal_control(
    robot: Robot, horizon: Number, dt: Number, cost: Any, u_bounds: Any = None, q0: InitialState | None = None,
    qd0: Values | None = None, goal: Any = None, *, u0: Inputs | None = None, solver: str | None = None,
    iterations: int | None = None, tolerance: Number | None = None, **options: Any,
) -> OptimalMotion:  # fmt: skip
    """Inputs of least cost, each held over dt.

    Parameters
    ----------
    robot : Robot
    horizon, dt : float or str
        How long the motion is, and the time over which inputs are held [s].
    cost : Cost or mapping
        What the motion costs, see `Cost`.
    u_bounds : mapping of actuator name to (low, high), or (low, high) for all
        None in a pair: there is none. Default: tendons that only pull have the lower bound 0, other inputs none.
    q0, qd0 : as in `simulate`
        Start.
    goal : (ndof,) array_like, mapping or Equilibrium
        Coordinates at rest, from which `Cost.goal`, `Cost.final` and `Cost.exact` count the distance; what a mapping
        leaves out is zero.
    u0 : as `u` of `rollout`, or signals of t only
        First guess, moved into the bounds. Default: zero, and the weights at the end rise in four stages.
    solver : {"ddp", "fddp", "l-bfgs-b"}
        Differential dynamic programming; box-FDDP of crocoddyl (extra `crocoddyl`); L-BFGS-B of SciPy. Default: ddp.
    iterations : int
        Most iterations. Default: 500.
    tolerance : float
        Change of the cost, relative to it, at which the search ends. Default: 1e-5.
    **options
        method and driven of the steps, and options of the method, as in `Stepper`.

    Returns
    -------
    OptimalMotion
        Where the search did not converge, `converged` is False and `message` says why.

    Raises
    ------
    ConvergenceError
        A step of the motion under the first guess finds no solution.
    InputError
        A wrong name, shape, unit or value; loads or actuators that Python computes.

    Notes
    -----
    Single shooting with exact derivatives of the steps, each of which begins with the accelerations of forward
    dynamics, so that its state is (q, qd), and strains of materials that relax. Source: docs/theory.md, 16.

    Examples
    --------
    >>> robot = sorosim.load("swing_up_cart_pole")
    >>> cost = sorosim.Cost(final={"q": 1000, "qd": 100}, effort=1e-4)
    >>> oc = sorosim.optimal_control(robot, 3, "20 ms", cost, {"motor": ("-200 N", "200 N")}, goal={"pole": "180 deg"})
    >>> oc.message, oc.cost
    """
    numbers = {"horizon": horizon, "dt": dt, "solver": solver, "iterations": iterations, "tolerance": tolerance}
    chosen = checked(ControlOptions, numbers)
    problem, target = problem_of(robot, chosen, cost, u_bounds, goal, options)
    steps = problem.motion.steps
    q, qd = starting_state(robot, steps.system_at(np.zeros(problem.motion.n_inputs)), q0, qd0)[:2]
    problem.begin(problem.motion.state(q, qd), 0.0)
    found = solve(chosen["solver"], problem, first_guess(problem, u0), chosen["iterations"], chosen["tolerance"])
    q, qd, strain = np.split(found.X, [robot.ndof, 2 * robot.ndof], axis=1)
    strains = strain if steps.system.n_strains else None
    run = run_of(steps, problem.times, q, qd, found.U, "sorosim.optimal_control", strains)
    return OptimalMotion(
        robot, problem.times, q, qd, found.U, found.value, gains_of(problem, found, target), found.converged,
        found.iterations, found.message, run,
    )  # fmt: skip


def problem_of(
    robot: Robot, chosen: Mapping[str, Any], cost: Any, u_bounds: Any, goal: Any, options: Mapping[str, Any]
) -> tuple[Problem, Array | None]:
    """The problem that arguments describe, without its start, and the goal (n_states,)."""
    check_robot(robot)
    for name in ("horizon", "dt"):
        if chosen[name] is None:
            raise InputError(name, "a time [s]", "none")
    n_steps = round(chosen["horizon"] / chosen["dt"])
    if n_steps < 1 or abs(n_steps * chosen["dt"] - chosen["horizon"]) > WHOLE * chosen["dt"]:
        raise InputError("horizon", f"a multiple of dt, {chosen['dt']:g} s", f"{chosen['horizon']:g} s")
    if not robot.actuator_names:
        raise InputError("robot", "one with actuators", f"'{robot.name}', which has none")
    spec = Part(Cost).argument("cost", cost)
    if goal is None and spec.needs_goal:
        raise InputError("goal", "coordinates, since the cost counts the distance from a goal", "none")
    motion = DiscreteMotion(robot, chosen["dt"], **options)
    at_rest = np.zeros(motion.n_states - robot.ndof)
    target = None if goal is None else np.concatenate([_coordinates(robot, goal), at_rest])
    if (most := MOST_NUMBERS // motion.n_states**2) < n_steps:
        raise InputError(
            "horizon", f"at most {most} steps of dt, whose derivatives fit into memory", f"{n_steps} steps"
        )
    terms = Terms(spec, robot, chosen["dt"], target, motion.n_states)
    return Problem(motion, terms, input_bounds(robot, u_bounds), np.zeros(motion.n_states), n_steps), target


def _coordinates(robot: Robot, goal: Any) -> Array:
    return robot.coordinates(goal.q if isinstance(goal, Equilibrium) else goal, "goal")


def input_bounds(robot: Robot, given: object) -> Array:
    """Bounds (2, n_actuators) of inputs."""
    inputs = [input_parameter(robot, name) for name in robot.actuator_names]
    out = np.array([[one.low for one in inputs], [one.high for one in inputs]])
    if given is not None and not isinstance(given, Mapping):
        given = dict.fromkeys(robot.actuator_names, given)
    for name, pair in by_name("u_bounds", given).items():
        one = input_parameter(robot, name, "u_bounds")
        out[:, one.index] = one.bounds(f"u_bounds.{name}", pair)
    return out


def first_guess(problem: Problem, u0: object) -> Array | None:
    """Inputs (N, n_actuators) to begin the search with."""
    if u0 is None:
        return None
    return input_rows(problem.motion.robot, u0, {"N": problem.N}, where="u0", clock=lambda _: problem.times[:-1])


@public
@dataclass(frozen=True, eq=False)
class OptimalMotion(Result, kind="optimal motion"):
    """A motion of least cost; made by `optimal_control`."""

    robot: Robot
    t: Array = stored(Rising("n_ends"), "ends of the steps, with the start", "s")
    q: Array = stored(Numbers("n_ends", "ndof"), "coordinates there", "rad, m, or 1 for strains")
    qd: Array = stored(Numbers("n_ends", "ndof"), "and rates, the same per second")
    u: Array = stored(Numbers("n_steps", "n_actuators"), "inputs", "`Robot.actuator_units`")
    cost: float = stored(Numbers(), "what it costs")
    gains: Gains = stored(GAINS, "feedback along the motion and at the goal: a controller of `simulate`")
    converged: bool = stored(Numbers(), "whether the search did")
    iterations: int = stored(Numbers(), "of the search")
    message: str = stored(TEXT, "how the search ended")
    run: Run = stored(Another(Run), "the motion as a run, which saves, plots and plays")

    plot = LazyMethod("sorosim.view.viz.control_plot:plot_motion")
    play = LazyMethod("sorosim.view.viz.player:play", of="run")
    movie = LazyMethod("sorosim.view.viz.movie:movie", of="run")
    still = LazyMethod("sorosim.view.viz.movie:still", of="run")
    _repr_html_ = LazyMethod("sorosim.view.viz.notebook:run_html", of="run")

    @property
    def dt(self) -> float:
        """Time over which inputs are held [s]."""
        return self.gains.dt

    @cached_property
    def miss(self) -> float | None:
        """Largest distance of the end's coordinates and rates from the goal [SI]; None without one that can be held."""
        if self.gains.goal is None:
            return None
        return float(np.abs(np.concatenate([self.q[-1], self.qd[-1]]) - self.gains.goal).max())

    def summary(self) -> str:
        """How the search ended, in a few lines."""
        high, names = np.abs(self.u).max(axis=0), self.robot.actuator_names
        inputs = zip(names, high, self.robot.actuator_units, strict=True)
        lines = [
            f"{self.robot.name}: {len(self.u)} steps of {self.dt:g} s; {self.message}, {self.iterations} iterations",
            f"cost {self.cost:.6g}" + ("" if self.miss is None else f", {self.miss:.2g} from the goal at the end"),
            "largest inputs: " + ", ".join(f"{name} {size:.4g} {unit}".rstrip() for name, size, unit in inputs),
            f"held at the goal: {self.gains.message or 'by linear feedback'}",
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<OptimalMotion of '{self.robot.name}': cost {self.cost:.4g}, {self.message}>"
