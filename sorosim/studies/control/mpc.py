"""Model-predictive control: the same problem again at every tick, from the state that was measured."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sorosim.base.arrays import Array
from sorosim.base.errors import InputError, SorosimWarning, nearest
from sorosim.base.options import ControlOptions, checked
from sorosim.base.public import public
from sorosim.base.units.quantity import amount
from sorosim.base.validation import Number, Values
from sorosim.mechanics.engine.parameter import input_parameter
from sorosim.mechanics.engine.prescribed import Inputs, by_name
from sorosim.mechanics.kernels.restarted import Feedback
from sorosim.mechanics.robot import Robot
from sorosim.studies.control.optimal import first_guess, problem_of
from sorosim.studies.control.solvers import Solution, ddp


@public
class MPC:
    """A controller that plans anew at every tick: a receding horizon.

    Parameters
    ----------
    robot : Robot
        The model.
    horizon, dt, cost, u_bounds, goal : as in `optimal_control`
        dt is the time between ticks. Expressions of t in the cost are of the time since `reset`.
    u0 : as in `optimal_control`
        First guess of the first plan. Default: zero.
    iterations : int
        Of differential dynamic programming at each tick. Default: 1.
    disturbance : mapping of input to float or str, optional
        Inputs that act on the robot but are not chosen, and their first values: loads that an observer estimates
        (`Observation.loads`, with the model `Observer.robot`). They stay along a plan; each tick may tell others.
    **options
        method and driven of the steps, and options of the method, as in `Stepper`.

    Attributes
    ----------
    t : float
        Time of the next tick [s].
    failures : int
        Ticks since the reset at which the model found no motion from the measured state: the plan of the tick before
        went on, before the first plan the first guess. The first one is a `SorosimWarning` that says why.

    Notes
    -----
    A tick shifts the plan of the one before by dt, moves the model from the measured state under it and its feedback,
    and improves it (real-time iteration of Diehl, Bock and Schloeder, 2005, with feedback in its first rollout).
    With the loads that an observer estimates as disturbances it is offset-free, as far as these explain what is wrong
    (Pannocchia and Rawlings, AIChE Journal 49, 2003).
    Strains of materials that relax follow the coordinates that are measured, from those with which motions begin.

    Examples
    --------
    >>> robot = sorosim.load("swing_up_cart_pole")
    >>> mpc = sorosim.MPC(robot, 0.4, "20 ms", {"final": {"q": 10, "qd": 1}, "effort": 1e-4}, goal={"pole": 3.1416})
    >>> sim = sorosim.Stepper(robot, "20 ms")
    >>> state = sim.reset(q=[0, 3.0, 0, 0])
    >>> for _ in range(50):
    ...     state = sim.step(mpc.step(state.q, state.qd))
    """

    def __init__(
        self, robot: Robot, horizon: Number, dt: Number, cost: Any, u_bounds: Any = None, *, goal: Any = None,
        u0: Inputs | None = None, iterations: int = 1, disturbance: Mapping[str, Number] | None = None, **options: Any,
    ) -> None:  # fmt: skip
        chosen = checked(ControlOptions, {"horizon": horizon, "dt": dt, "iterations": iterations})
        self._problem, _ = problem_of(robot, chosen, cost, u_bounds, goal, options)
        if self._problem.terms.cost.exact:
            raise InputError("cost.exact", "false: a plan of a few iterations meets no goal exactly", "true")
        self.robot, self.dt, self.iterations = robot, self._problem.terms.dt, chosen["iterations"]
        self._tolerance = chosen["tolerance"]
        self._guess = first_guess(self._problem, u0)
        told = by_name("disturbance", disturbance)
        if isinstance(u_bounds, Mapping) and (both := [name for name in told if name in u_bounds]):
            raise InputError("u_bounds", "inputs that are chosen", f"'{both[0]}', a disturbance")
        self._disturbed = {name: input_parameter(robot, name, "disturbance").index for name in told}
        self._chosen = np.setdiff1d(np.arange(len(robot.actuator_names)), list(self._disturbed.values()))
        if not len(self._chosen):
            raise InputError("disturbance", "some of the inputs", "all of them")
        self._disturb(told)
        self.reset()

    def reset(self, t: Number = 0.0) -> None:
        """Begin anew, with the first guess, at a time [s]."""
        self.t, self.failures = amount("t", t, "time"), 0
        self._plan: Solution | None = None
        self._before: Array | None = None  # inputs of the tick before
        self._known: tuple[Array, Array] | None = None  # coordinates there, and strains of what relaxes

    def step(self, q: Values, qd: ArrayLike, disturbance: Mapping[str, Number] | None = None) -> Array:
        """Inputs (n,) to hold over the next dt: those that are chosen, in the robot's order.

        Parameters
        ----------
        q, qd : (ndof,) array_like
            Coordinates and rates, measured or estimated.
        disturbance : mapping of input to float or str, optional
            Values of now. Default: those of the tick before.
        """
        self._disturb(by_name("disturbance", disturbance))
        problem, robot = self._problem, self.robot
        at, rates = robot.coordinates(q), robot.coordinates(qd, "qd", order=1)
        x = problem.motion.state(at, rates, self._strain(at))
        problem.begin(x, self.t, self._before)
        U, rolled = self._begin()
        if rolled is None:
            self.failures += 1
            if self.failures == 1:
                goes_on = "the first guess is taken" if self._plan is None else "the plan of the tick before goes on"
                words = f"MPC: {problem.motion.failed('a step of the plan')}; until then {goes_on} (.failures counts)"
                warnings.warn(words, SorosimWarning, stacklevel=2)
            self._plan = None if self._plan is None else self._plan._replace(U=U)
            u = U[0]
        else:
            self._plan = ddp(problem, U, self.iterations, self._tolerance, rolled)
            u = self._plan.U[0]
        self.t += self.dt
        self._before, self._known = u.copy(), (at, x[2 * robot.ndof :])
        return np.array(u[self._chosen])

    def _disturb(self, values: Mapping[str, Number]) -> None:
        """Let inputs that are not chosen have these values."""
        if unknown := [name for name in values if name not in self._disturbed]:
            expected, hint = "inputs that the controller was told of", nearest(unknown[0], self._disturbed)
            raise InputError("disturbance", expected, f"'{unknown[0]}'", hint)
        numbers = {self._disturbed[name]: input_parameter(self.robot, name).number(name, value)
                   for name, value in values.items()}  # fmt: skip
        for index, x in numbers.items():
            self._problem.bounds[:, index] = x

    def _strain(self, q: Array) -> Array | None:
        """Strains of what relaxes, which follow the coordinates (ndof,) that are measured; None: a motion begins."""
        if self._known is None:
            return None
        before, strain = self._known
        return self._problem.motion.strain_after(strain, q - before)

    @property
    def plan(self) -> tuple[Array, Array, Array]:
        """Times (N + 1,), states [q; qd] (N + 1, 2 ndof) and inputs (N, n_actuators) of the last tick's plan.

        Strains of materials that relax follow in the states.
        """
        if self._plan is None:
            raise InputError("MPC.plan", "a step before", "none")
        return self._problem.times, self._plan.X, self._plan.U

    def _begin(self) -> tuple[Array, tuple[Array, float] | None]:
        """Inputs to begin with, and the motion under them from the measured state; None where there is none."""
        problem, last = self._problem, self._plan
        if last is None:
            U = np.zeros((problem.N, problem.motion.n_inputs)) if self._guess is None else self._guess
            U = np.clip(U, *problem.bounds)
            X, J = problem.integrate(U)
            return U, None if X is None else (X, J)
        U = np.clip(_shifted(last.U), *problem.bounds)  # disturbances are those of now
        if last.gain is not None:
            # the plan's own states, whose first input before is that of its second step
            states = _shifted(problem.states(last.X, last.U))
            moved = U.copy()
            X, J = problem.integrate(moved, Feedback(_shifted(last.gain), states, problem.bounds))
            if X is not None:
                return moved, (X, J)
        X, J = problem.integrate(U)
        return U, None if X is None else (X, J)


def _shifted(rows: Array) -> Array:
    """Rows a tick later, the last one twice."""
    return np.concatenate([rows[1:], rows[-1:]])
