"""The discrete motion x' = f(t, x, u) of a robot, x = [q; qd; z], and its derivatives (docs/theory.md, 16)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sorosim.analysis.motion.discrete_steps import ROLLOUT_TOLERANCE, DiscreteSteps
from sorosim.analysis.motion.march import DONE
from sorosim.analysis.motion.motion import Derivatives, SteppedMotion
from sorosim.base.arrays import Array
from sorosim.base.errors import ConvergenceError
from sorosim.mechanics.kernels import march as codes
from sorosim.mechanics.kernels.restarted import Feedback, integrate_restarted, linearize_restarted
from sorosim.mechanics.robot import Robot


class DiscreteMotion(SteppedMotion):
    """Intervals dt that begin anew, so that their state is x = [q; qd; z] alone, z strains of Maxwell elements."""

    def __init__(self, robot: Robot, dt: float, driven: Mapping[str, object] | None = None, **options: object) -> None:
        super().__init__(DiscreteSteps(robot, dt, driven, options, usual_tolerance=ROLLOUT_TOLERANCE))
        n, m, n_strains = robot.ndof, robot.engine.n_actuators, self.steps.system.n_strains
        self.robot, self.n_states, self.n_inputs = robot, 2 * n + n_strains, m
        self._derivatives, size = Derivatives(self.steps), self.n_states
        self._open = Feedback(np.zeros((0, m, size)), np.zeros((0, size)), np.zeros((2, m)))
        self._room = self.steps.directions(size + m)
        self.rows, self._code = self.steps.rows(0), int(codes.FINISHED)

    def state(self, q: Array, qd: Array, strain: Array | None = None) -> Array:
        """x (n_states,); strain: that with which motions begin at q, if it is None."""
        return np.concatenate([q, qd, self.steps.system.maxwell.start(q) if strain is None else strain])

    def strain_after(self, strain: Array, dq: Array) -> Array:
        """Strains (n_strains,) after an interval in which coordinates change by dq (ndof,) at equal rates."""
        return self.steps.system.maxwell.advanced(strain, dq, self.steps.dt)

    def integrate(self, x: Array, u: Array, t: float = 0.0, feedback: Feedback | None = None) -> Array | None:
        """States (N + 1, n_states) from x on under inputs u (N, n_actuators); None where a step finds no solution.

        With feedback u becomes the inputs that it gave.
        """
        n, steps = self.robot.ndof, self.steps
        if len(self.rows.t) != len(u) * steps.substeps + 1:
            self.rows = steps.rows(len(u))
        self.begin_at(x[:n], x[n : 2 * n], t, u[0] if len(u) else np.zeros(self.n_inputs), strain=x[2 * n :])
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
        ends, guard = slice(None, None, steps.substeps), steps.system.chart_limit
        X = np.hstack([self.rows.q[ends], self.rows.qd[ends], self.rows.strain[ends]])
        singular = guard.joints and guard.first_met(self.rows.q) is not None
        return None if singular or not np.isfinite(X).all() else X

    def linearize(self, u: Array) -> tuple[Array, Array]:
        """Derivatives A (N, n_states, n_states) and B (N, n_states, n_actuators) of the steps integrated last."""
        n = self.n_states
        A, B = np.zeros((len(u), n, n)), np.zeros((len(u), n, self.n_inputs))
        arguments = self._room, self.steps.no_changes, A, B
        self._derivatives(linearize_restarted, self.rank, self.rows, u, self.steps.ends(len(u)), *arguments)
        return A, B

    def failed(self, what: str) -> ConvergenceError:
        """What the step says that failed last, called so."""
        self.what = what
        return self.failure(codes.NO_CONVERGENCE if self._code in DONE else self._code, refined=False)
