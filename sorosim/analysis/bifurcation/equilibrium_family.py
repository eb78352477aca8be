"""Equilibria along a parameter path as a continuation problem: unknowns, residual, Jacobian, metric, stability."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from sorosim.analysis.bifurcation.parameter_path import ParameterPath, StaticEquations
from sorosim.analysis.equations.system import StaticSystem
from sorosim.analysis.equilibria.assembly import close_if_possible
from sorosim.analysis.equilibria.statics import tunnelling_test
from sorosim.analysis.results.result import Equilibrium
from sorosim.analysis.solvers.curve import ContinuationProblem
from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import FileError, ModelError
from sorosim.mechanics.dynamics.constraints import RANK_TOLERANCE, IndependentRows
from sorosim.mechanics.engine.inputs import Partition
from sorosim.mechanics.linear.growth import Growth, eigenpairs, growing


class EquilibriumFamily:
    """Equilibria of a robot along a parameter path.

    The unknowns x are the free coordinates and the multipliers of those rows of the loops that are independent at the
    start, weighed as in `StaticSystem`; w is the parameter p over its range.

    Parameters
    ----------
    path : ParameterPath
    q : (ndof,) array
        Near an equilibrium.
    p : float
        Its parameter.
    scale : float
        Length of the range of the parameter, positive.
    """

    def __init__(self, path: ParameterPath, q: Array, p: float, scale: float) -> None:
        robot, driven = path.robot(p), path.driven(p)
        self.path, self.robot, self.scale, self.failure = path, robot, scale, ""
        self.partition = Partition.of(robot.engine.layout, driven, robot.description.actuators)
        self.free, self.n_free = self.partition.free, len(self.partition.free)
        self.system = StaticSystem(robot, path.inputs(p), driven, begin=(q, path.inputs(p)))
        if robot.n_multipliers:
            _, (error, X), _ = close_if_possible(robot, q, self.free)
            self.system.scale_constraints(error, X)
            self.system.rows = IndependentRows(robot.engine, X, error).rows
        self.angles = self._angle_unknowns()
        self._last: tuple[Array, float, StaticEquations] | None = None
        self.metric = self._metric(q)

    def _metric(self, q: Array) -> Array:
        """|metric x|^2 is the mean square of how all points turn [rad] and move, over the robot's size."""
        kinematics = self.robot.kinematics(q)
        places = np.concatenate([np.zeros((1, 3)), kinematics.g[:, :3, 3]])
        extent = float(np.ptp(places, axis=0).max(initial=0.0)) or 1.0
        J = kinematics.J[:, :, self.free] * np.repeat([1.0, 1.0 / extent], 3)[:, None]
        rows = J.reshape(6 * len(J), self.n_free) / np.sqrt(max(len(J), 1))
        R = np.linalg.qr(rows, mode="r")
        return np.hstack([R, np.zeros((len(R), len(self.system.rows)))])

    @property
    def problem(self) -> ContinuationProblem:
        """What the solvers need to know."""
        touches = self.robot.engine.loading.touches
        unwrapped = self.unwrapped if len(self.angles) else None
        return ContinuationProblem(
            self.evaluate, self.metric, self.growth, tunnelling_test(self) if touches else None, unwrapped,
            self.scale,
        )  # fmt: skip

    def _angle_unknowns(self) -> IntArray:
        """Unknowns that are angles modulo 2 pi."""
        links = self.robot.engine.layout.links.values()
        angles = [link.column + k for link in links for k in link.link.joint.free_turns]
        return np.flatnonzero(np.isin(self.free, angles))

    # -- unknowns ----------------------------------------------------------------------------------------------------

    def q(self, x: Array, w: float) -> Array:
        """All coordinates (ndof,), driven ones included."""
        q = np.zeros(self.robot.ndof)
        q[self.free] = x[: self.n_free]
        return self.path.set_driven(q, w * self.scale)

    def unknowns(self, q: Array, p: float) -> Array:
        """Unknowns at coordinates q (ndof,), with the least-squares multipliers of smallest norm."""
        if not self.robot.n_multipliers:
            return q[self.free]
        eqs = self.path.equations(q, p, np.zeros(self.robot.n_multipliers))
        A = (self.system.weight[:, None] * eqs.constraint[:, self.free])[self.system.rows]
        return np.concatenate([q[self.free], scipy.linalg.lstsq(A.T, eqs.tau[self.free], cond=RANK_TOLERANCE)[0]])

    def to_coordinates(self, step: Array) -> Array:
        """A step of the unknowns and w as one (ndof + 1,) of coordinates and parameter."""
        out = np.zeros(self.robot.ndof + 1)
        out[self.free], out[-1] = step[: self.n_free], step[-1] * self.scale
        out[:-1] += self.path.driven_step(step[-1] * self.scale)
        return out

    def to_unknowns(self, step: Array) -> Array:
        """A step (ndof + 1,) of coordinates and parameter as one of the unknowns and w, multipliers left out."""
        return np.concatenate([step[self.free], np.zeros(len(self.system.rows)), [step[-1] / self.scale]])

    def unwrapped(self, x: Array, near: Array) -> Array:
        """The same unknowns, angles modulo 2 pi shifted to those nearest to others."""
        out, turn = np.array(x), 2.0 * np.pi
        out[self.angles] -= turn * np.round((x - near)[self.angles] / turn)
        return out

    # -- equations ---------------------------------------------------------------------------------------------------

    def equations(self, x: Array, w: float) -> StaticEquations:
        """The equations and their derivatives; those of the last state are cached."""
        if self._last is None or self._last[1] != w or not np.array_equal(self._last[0], x):
            eqs = self.path.equations(self.q(x, w), w * self.scale, self.system.multipliers(x))
            self._last = np.array(x), w, eqs
        return self._last[2]

    def evaluate(self, x: Array, w: float) -> tuple[Array, Array, Array]:
        """Residual, and its derivatives by x and w; NaN where there is none."""
        n, free, rows = len(x), self.free, self.system.rows
        try:
            eqs = self.equations(x, w)
        except (ModelError, FileError) as error:  # numbers that no robot can have are errors of its file
            self.failure = f" ({error})"
            return np.full(n, np.nan), np.full((n, n), np.nan), np.full(n, np.nan)
        weight = self.system.weight[rows]
        residual = np.concatenate([eqs.tau[free], weight * eqs.error[rows]])
        slope = self.scale * np.concatenate([eqs.tau_slope[free], weight * eqs.error_slope[rows]])
        K = eqs.by_q[np.ix_(free, free)]
        if len(rows):
            A, E = (weight[:, None] * part[rows][:, free] for part in (eqs.constraint, eqs.error_by_q))
            K = np.block([[K, -A.T], [E, np.zeros((len(rows), len(rows)))]])
        return residual, K, slope

    # -- stability ---------------------------------------------------------------------------------------------------

    def _motions(self, x: Array, w: float) -> tuple[Array, Array, Array, Array]:
        """Mass, damping and stiffness of free motions, and their basis (ndof, k), loops closed."""
        eqs, free = self.equations(x, w), self.free
        Z = np.eye(self.robot.ndof)[:, free]
        if len(self.system.rows):
            A = (self.system.weight[:, None] * eqs.constraint)[self.system.rows][:, free]
            # without a spring: as far as the inertia lets it move in a second
            stiffness = (np.abs(eqs.by_q) + np.abs(eqs.mass))[np.ix_(free, free)].max(axis=1)
            d = 1.0 / np.sqrt(np.maximum(stiffness, np.finfo(float).tiny))
            Z = Z @ (d[:, None] * scipy.linalg.null_space(A * d, rcond=RANK_TOLERANCE))
        M, D, K = (Z.T @ X @ Z for X in (eqs.mass, eqs.by_qd, eqs.by_q))
        return M, D, K, Z

    def growth(self, x: Array, w: float) -> Growth:
        """Number of unstable motions about an equilibrium, driven coordinates fixed."""
        try:
            return growing(*self._motions(x, w)[:3])
        except np.linalg.LinAlgError:
            expected = "a mass matrix that is positive definite, or forces that have a potential"
            hint = "give all links mass, or continue with stability=False"
            raise ModelError(self.robot.name, expected, "motions without inertia", hint) from None

    def oscillation(self, x: Array, w: float) -> tuple[float, NDArray[np.complex128]]:
        """Frequency [Hz] and mode (ndof,) of the fastest growing, or least damped, oscillation."""
        M, D, K, Z = self._motions(x, w)
        values, shapes = eigenpairs(M, D, K)
        turns = np.abs(values.imag) > 1e-9 * np.abs(values)
        k = int(np.argmax(np.where(turns, values.real / np.maximum(np.abs(values), 1e-300), -np.inf)))
        mode = Z @ shapes[:, k]
        return float(abs(values[k].imag) / (2.0 * np.pi)), mode / mode[np.argmax(np.abs(mode))]

    # -- results -----------------------------------------------------------------------------------------------------

    def state(self, x: Array, w: float) -> tuple[Array, Array, Array]:
        """Coordinates (ndof,), multipliers (m,) of smallest norm, generalised forces (n_driven,) of what is driven."""
        q, multiplier, eqs = self.q(x, w), self.system.multipliers(x), self.equations(x, w)
        if len(self.system.rows) < len(multiplier):
            A = eqs.constraint[:, self.free]
            multiplier = IndependentRows(self.robot.engine, A, eqs.error).multipliers(A.T @ multiplier)
        return q, multiplier, eqs.tau[self.partition.driven]

    def equilibrium(self, x: Array, w: float, message: str) -> Equilibrium:
        """As `sorosim.statics` would return it."""
        p = w * self.scale
        q, multiplier, forces = self.state(x, w)
        residual, K, _ = self.evaluate(x, w)
        n = self.n_free
        driven: dict[str, Any] = dict(zip(self.partition.names, map(float, forces), strict=True))
        return Equilibrium(
            self.path.robot(p), q, self.path.inputs(p), multiplier, driven,
            float(np.abs(residual[:n]).max(initial=0.0)), K[:n, :n], 1, message, self.free,
        )  # fmt: skip
