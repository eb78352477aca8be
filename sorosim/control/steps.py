"""The discrete motion x' = f(t, x, u) of a robot, x = [q; qd], and its derivatives (docs/theory.md, 16)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sorosim.arrays import Array
from sorosim.errors import ConvergenceError
from sorosim.kernels import march as codes
from sorosim.kernels.held_inputs import N_VECTORS
from sorosim.kernels.restarted import Feedback, integrate_restarted, linearize_restarted
from sorosim.robot import Robot
from sorosim.simulation.march import DONE
from sorosim.stepping.held_steps import ROLLOUT_TOLERANCE, HeldSteps
from sorosim.stepping.motion import Derivatives, HeldMotion


class DiscreteMotion(HeldMotion):
    """Intervals dt that begin anew, so that their state is x = [q; qd] alone."""

    def __init__(self, robot: Robot, dt: float, driven: Mapping[str, Any] | None = None, **options: Any) -> None:
        super().__init__(HeldSteps(robot, dt, driven, options, usual_tolerance=ROLLOUT_TOLERANCE))
        n, n_inputs = robot.ndof, robot.engine.n_actuators
        self.robot, self.n_states, self.n_inputs, self._derivatives = robot, 2 * n, n_inputs, Derivatives(self.steps)
        self._open = Feedback(np.zeros((0, n_inputs, 2 * n)), np.zeros((0, 2 * n)), np.zeros((2, n_inputs)))
        self._room = np.zeros((2 * n + n_inputs, N_VECTORS, n)), np.zeros((2 * n + n_inputs, n_inputs))
        self.rows, self._code = self.steps.rows(0), int(codes.FINISHED)

    def roll(self, x: Array, u: Array, t: float = 0.0, feedback: Feedback | None = None) -> Array | None:
        """States (N + 1, 2 ndof) from x on under inputs u (N, n_actuators); None where a step finds no solution.

        With feedback u becomes the inputs that it gave.
        """
        n, steps = self.n_states // 2, self.steps
        if len(self.rows.t) != len(u) * steps.substeps + 1:
            self.rows = steps.rows(len(u))
        self.begin_at(x[:n], x[n:], t, u[0] if len(u) else np.zeros(self.n_inputs))
        self.rows.t[:] = steps.times(t, len(u))
        arguments = (
            steps.model,
            self.march,
            steps.engine.workspace,
            self.rows,
            u,
            steps.substeps,
            feedback or self._open,
        )
        self._code = int(steps.engine.prepared(integrate_restarted, arguments)(*arguments))
        if self._code not in DONE:
            return None
        ends, guard = slice(None, None, steps.substeps), steps.system.turns
        X = np.hstack([self.rows.q[ends], self.rows.qd[ends]])
        singular = guard.joints and guard.first_met(self.rows.q) is not None
        return None if singular or not np.isfinite(X).all() else X

    def linearize(self, u: Array) -> tuple[Array, Array]:
        """Derivatives A (N, 2 ndof, 2 ndof) and B (N, 2 ndof, n_actuators) of the steps that were rolled last."""
        n = self.n_states
        A, B = np.zeros((len(u), n, n)), np.zeros((len(u), n, self.n_inputs))
        arguments = self.rows, u, self.steps.ends(len(u)), *self._room, self.steps.no_changes, A, B
        self._derivatives(linearize_restarted, self.rank, *arguments)
        return A, B

    def failed(self, what: str) -> ConvergenceError:
        """What the step says that failed last, called so."""
        self.what = what
        return self.failure(codes.NO_CONVERGENCE if self._code in DONE else self._code, refined=False)
