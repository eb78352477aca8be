"""Feedback along a motion and about the goal (docs/theory.md, 16)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_discrete_are

from sorosim.base.arrays import Array
from sorosim.base.errors import InputError
from sorosim.base.public import public
from sorosim.studies.control.problem import Problem
from sorosim.studies.control.solvers import Solution, backward
from sorosim.studies.control.steps import DiscreteMotion

# of the state, by which a step from the goal may change it where the goal is one of rest
ZERO_DRIFT = 1e-6
# of a step: the time of its begin, as controllers are called, is rounded
ROUNDING = 1e-6


@public
@dataclass(frozen=True, eq=False)
class Gains:
    """Feedback that keeps a robot on a motion, and then at its goal; a controller of `sorosim.simulate`.

    Inputs are u_k + K_k (x - x_k) over the k-th step and u_goal + hold (x - goal) afterwards, within their bounds, with
    x = [q; qd]. Where the goal cannot be held, the last step's feedback goes on. Strains of materials that relax, which
    nothing measures, are taken for those of the motion.

    Attributes
    ----------
    t : (N,) ndarray
        Begins of the steps [s].
    dt : float
        Their length [s].
    x : (N, 2 ndof) ndarray
        States there.
    u : (N, n_actuators) ndarray
        Inputs.
    K : (N, n_actuators, 2 ndof) ndarray
        Gains along the motion, zero for inputs at their bounds.
    hold : (n_actuators, 2 ndof) ndarray or None
        Gains of the linear-quadratic regulator at the goal.
    goal, u_goal : (2 ndof,), (n_actuators,) ndarray or None
        State and inputs there.
    bounds : (2, n_actuators) ndarray
        Of inputs.
    message : str
        Why there is no `hold`; empty where there is one.
    """

    t: Array
    dt: float
    x: Array
    u: Array
    K: Array
    bounds: Array
    hold: Array | None = None
    goal: Array | None = None
    u_goal: Array | None = None
    message: str = ""

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        """Inputs (n_actuators,) at a time and state."""
        k, x = int((t - self.t[0]) / self.dt + ROUNDING), np.concatenate([q, qd])
        if len(x) != self.x.shape[1]:
            raise InputError("Gains", f"a state of {self.x.shape[1]} numbers, [q; qd]", f"{len(x)}, of another robot")
        if k >= len(self.t) and self.hold is not None:
            u = self.u_goal + self.hold @ (x - self.goal)
        else:
            k = min(max(k, 0), len(self.t) - 1)
            u = self.u[k] + self.K[k] @ (x - self.x[k])
        return np.asarray(np.clip(u, *self.bounds))


def gains_of(problem: Problem, found: Solution, goal: Array | None) -> Gains:
    """Gains of the quadratic problem about the solution, and at the goal."""
    problem.integrate(found.U.copy())
    quadratic = problem.expand(found.X, found.U, smoothness=False)
    scale = found.value + np.finfo(float).tiny
    step = None
    for damping in 10.0 ** np.arange(-9.0, 3.0):  # without effort nothing bounds them
        step = backward(quadratic, problem.bounds - found.U[:, None], damping * scale / problem.scale**2)
        if step is not None:
            break
    measured = 2 * problem.motion.robot.ndof
    K = np.zeros((*found.U.shape, measured)) if step is None else step[1][:, :, :measured]
    at_goal, words = None, "no goal was given"
    if goal is not None:
        at_goal, words = regulator(problem, goal)
    hold, u_goal = at_goal or (None, None)
    return Gains(
        problem.times[:-1], problem.terms.dt, found.X[:-1, :measured], found.U, K, problem.bounds, hold,
        None if hold is None or goal is None else goal[:measured], u_goal, words,
    )  # fmt: skip


def regulator(problem: Problem, goal: Array) -> tuple[tuple[Array, Array] | None, str]:
    """Gains of the linear-quadratic regulator of the held steps at a goal, and the inputs there; or None, and why.

    Its weights are those of the end, else those along the motion, over the largest, and 1 / range^2 of inputs. Of the
    gains those of coordinates and rates are given, where these alone stabilise the robot.
    """
    motion, terms = problem.motion, problem.terms
    if motion.steps.varies:
        return None, "driven coordinates move on at the goal"
    found = input_at(motion, goal, problem.times[-1])
    if found is None:
        return None, "no inputs keep the robot at rest at the goal"
    u, A, B = found
    if (u < problem.bounds[0]).any() or (u > problem.bounds[1]).any():
        return None, "the inputs that keep the robot at the goal are out of their bounds"
    measured = 2 * motion.robot.ndof
    rest = (0, motion.n_states - measured)
    every = np.pad(np.ones(measured), rest)
    weights = terms.final if terms.final.any() else terms.running if terms.running.any() else every
    R = np.diag(problem.scale**-2.0)
    try:
        P = solve_discrete_are(A, B, np.diag(weights / weights.max()), R)
    except (np.linalg.LinAlgError, ValueError):
        return None, "no feedback stabilises the robot at the goal"
    hold = np.asarray(-np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A), dtype=float)[:, :measured]
    if measured < len(goal) and np.abs(np.linalg.eigvals(A + np.pad(B @ hold, ((0, 0), rest)))).max() >= 1.0:
        return None, "no feedback of coordinates and rates alone stabilises the robot at the goal"
    return (hold, u), ""


def input_at(motion: DiscreteMotion, goal: Array, t: float) -> tuple[Array, Array, Array] | None:
    """Inputs under which a state stays where it is, with the derivatives of a step there; None: there are none."""
    u = np.zeros((1, motion.n_inputs))
    for _ in range(5):
        X = motion.integrate(goal, u.copy(), t)
        if X is None:
            return None
        A, B = motion.linearize(u)
        drift = X[1] - goal
        if np.abs(drift).max() <= ZERO_DRIFT * motion.steps.dt * (1.0 + np.abs(goal).max()):
            return u[0], A[0], B[0]
        u[0] -= np.linalg.lstsq(B[0], drift, rcond=None)[0]
    return None
