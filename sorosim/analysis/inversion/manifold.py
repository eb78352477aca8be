"""The manifold of equilibria over inputs and driven coordinates: its points, and ways along it (docs/theory.md, 15)."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs

from sorosim.analysis.equations.system import StaticSystem
from sorosim.analysis.inversion.quadratic import is_definite, negative_eigenvalues, norm
from sorosim.analysis.inversion.targets import StaticState, Targets
from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import ModelError

# a step is too long where the next correction of the equilibrium is more than this part of it
CONTRACTION = 0.6
# of the way to other parameters: the least step
LEAST_PART = 1e-3
# corrections of the equilibrium that are small, relative to 1 + |x|: after one more they are rounding; corrections by
# the derivatives of another point contract by NEARBY of `search` only
BALANCED, BALANCED_NEARBY = 1e-7, 1e-8

# of the trace of the energy's second derivative, added to its diagonal: parameters may store none
SMALL_STIFFNESS = 1e-12


class Tangent(NamedTuple):
    """Derivatives of the equations at one point."""

    p: Array  # parameters of that point
    K: Array  # (n, n) derivative of the residual by the unknowns
    lu: Array  # its factors, by LAPACK's getrf
    pivots: IntArray


class Solved(NamedTuple):
    """The equations of a point, and their linearisation solved for the unknowns."""

    x: Array
    p: Array
    tangent: Tangent
    solved: Array  # (n, 1 + n_p): -K^-1 [residual, its derivatives by the parameters]
    state: StaticState


class Point(NamedTuple):
    """Unknowns and parameters, near an equilibrium or at it, and what follows from the derivatives of all equations."""

    x: Array  # unknowns of the static system
    p: Array  # parameters: free inputs, then free driven coordinates
    tangent: Tangent  # there, or at a point nearby
    correction: Array  # Newton's step to the equilibrium at these parameters
    by: Array  # (n, n_p) derivative of the unknowns by the parameters
    error: Array  # of the targets, once the correction is made
    J: Array  # (n_rows, n_p) its derivative by the scaled parameters
    effort_by: Array  # (n_p,) derivative of the effort by these
    balanced: bool  # whether the correction is rounding after one more


class Manifold:
    """Equilibria of a robot over parameters: some of its inputs and driven coordinates.

    Parameters
    ----------
    system : StaticSystem
    inputs, driven : int array
        Which inputs, and which of the driven coordinates, are parameters.
    stored_energy : function, optional
        Gradient (ndof,) and second derivative of an energy by q: the effort in the place of |p / scale|^2 / 2.
    rest : function, optional
        Unknowns of an equilibrium at parameters, near others: where Newton's method does not get there.

    Attributes
    ----------
    scale : (n_p,) array
        Typical sizes of the parameters.
    """

    def __init__(
        self, system: StaticSystem, inputs: IntArray, driven: IntArray,
        stored_energy: Callable[[Array], tuple[Array, Array]] | None = None,
        rest: Callable[[Array, Array], Array] | None = None,
    ) -> None:  # fmt: skip
        self.system, self.inputs, self.driven, self.energy, self._rest = system, inputs, driven, stored_energy, rest
        n_u, n_p = len(system.u), len(inputs) + len(driven)
        self.scale = np.ones(n_p)
        self._columns = np.concatenate([inputs, n_u + np.asarray(driven, dtype=np.int64)]).astype(np.int64)
        self._u_by = np.zeros((n_u, 1 + n_p))
        self._u_by[inputs, 1 + np.arange(len(inputs))] = 1.0
        self._driven_rows = system.partition.driven[driven]
        self._solved: Solved | None = None  # the last one

    def set(self, p: Array) -> None:
        """Let the system have these parameters."""
        n = len(self.inputs)
        self.system.u[self.inputs] = p[:n]
        if n < len(p):
            self.system.driven_values[self.driven] = p[n:]

    def parameters(self) -> Array:
        """Those of the system."""
        return np.concatenate([self.system.u[self.inputs], self.system.driven_values[self.driven]])

    # -- points ------------------------------------------------------------------------------------------------------

    def point(self, targets: Targets, x: Array, p: Array, near: Point | None = None) -> Point | None:
        """The equations at unknowns and parameters; None where they have no derivative or a singular one.

        near : point whose derivatives of the equations of equilibrium are taken over.
        """
        self.set(p)
        if self._solved is None or self._solved.x is not x or not (self._solved.p == p).all():
            try:
                self._solved = self._solve(x, p) if near is None else self._solve_by(near, x, p)
            except ModelError:
                self._solved = None
        if self._solved is None:
            return None
        _, p, tangent, solved, state = self._solved
        error, slopes = targets.errors(state)
        if not isfinite(slopes.sum()):
            return None
        effort = p / self.scale
        if self.energy is not None:
            effort = self.scale * (self.energy(state.q)[0] @ state.q_by[:, 1:])
        correction, small = solved[:, 0], BALANCED if tangent.p is p else BALANCED_NEARBY
        balanced = norm(correction[: self.system.n_free]) <= small * (1.0 + norm(x))
        J = slopes[:, 1:] * self.scale
        return Point(x, p, tangent, correction, solved[:, 1:], error + slopes[:, 0], J, effort, balanced)

    def _solve(self, x: Array, p: Array) -> Solved | None:
        """The linearised equations of a point."""
        residual, K, by_parameters = self.system.linearised(x)
        right = np.empty((len(x), 1 + len(p)), order="F")
        right[:, 0], right[:, 1:] = residual, by_parameters[:, self._columns]
        np.negative(right, out=right)
        if not len(x):  # all is driven
            return Solved(x, p, Tangent(p, K, K, np.zeros(0, np.int32)), right, self.state(x, right))
        lu, pivots, failed = dgetrf(K)
        if failed:
            return None
        solved = dgetrs(lu, pivots, right, overwrite_b=True)[0]
        return Solved(x, p, Tangent(p, K, lu, pivots), solved, self.state(x, solved))

    def _solve_by(self, near: Point, x: Array, p: Array) -> Solved:
        """The equations of a point, linearised as nearby."""
        solved = np.empty((len(x), 1 + len(p)), order="F")
        solved[:, 0] = -dgetrs(near.tangent.lu, near.tangent.pivots, self.system.residual(x, 1.0))[0] if len(x) else 0.0
        solved[:, 1:] = near.by
        return Solved(x, p, near.tangent, solved, self.state(x, solved))

    def state(self, x: Array, solved: Array) -> StaticState:
        """A state with its derivatives by a step to the equilibrium and by the parameters."""
        system, n = self.system, self.system.n_free
        if n == system.robot.ndof:
            q_by = np.asfortranarray(solved[:n])
        else:
            q_by = np.zeros((system.robot.ndof, solved.shape[1]), order="F")
            q_by[system.partition.free] = solved[:n]
            q_by[self._driven_rows, 1 + len(self.inputs) + np.arange(len(self.driven))] = 1.0
        multiplier_by = np.zeros((len(system.weight), solved.shape[1]))
        if len(multiplier_by):
            multiplier_by[system.rows] = system.weight[system.rows, None] * solved[n:]
        return StaticState(system.q(x), system.u, system.multipliers(x), q_by, self._u_by, multiplier_by)

    def energy_curvature(self, point: Point) -> Array:
        """Second derivative of the stored energy by scaled parameters, as far as the way of the state is straight."""
        assert self.energy is not None
        q_by = self.state(point.x, np.column_stack([point.correction, point.by])).q_by[:, 1:] * self.scale
        H = q_by.T @ self.energy(self.system.q(point.x))[1] @ q_by
        return np.asarray(H + SMALL_STIFFNESS * (np.trace(H) or 1.0) * np.eye(len(H)))

    # -- ways ----------------------------------------------------------------------------------------------------------

    def corrected(self, targets: Targets, point: Point) -> Point:
        """The equilibrium under the parameters of a point, but for a last correction: by Newton's method, or `rest`."""
        while not point.balanced:
            after = self.point(targets, point.x + point.correction, point.p)
            if after is None or not norm(after.correction) < norm(point.correction):
                x = None if self._rest is None else self._rest(point.p, point.x)
                after = None if x is None else self.point(targets, x, point.p)
                if after is None or not after.balanced:
                    raise ModelError("inverse", "an equilibrium", "a state that does not come to rest")
            point = after
        return point

    def follow(self, targets: Targets, point: Point, p: Array) -> Point | None:
        """The equilibrium at other parameters, along the straight way there; None where the way is lost."""
        done, part, way = 0.0, 1.0, p - point.p
        while done < 1.0:
            part = min(part, 1.0 - done)
            dx = point.correction + point.by @ (part * way)
            trial = self.point(targets, point.x + dx, point.p + part * way)
            if trial is None or norm(trial.correction) > CONTRACTION * norm(dx):
                part *= 0.25
                if part < LEAST_PART:
                    return None
                continue
            point, done, part = trial, done + part, 2.0 * part
        try:
            return self.corrected(targets, point)
        except ModelError:
            return None

    def definite(self, point: Point) -> bool:
        """Whether the tangent stiffness is positive definite along closed loops."""
        K, n = point.tangent.K.copy(), self.system.n_free
        K[:n, n:] *= -1.0  # of [K -A^T; A 0], which has as many negative eigenvalues as rows then
        S = K + K.T
        return is_definite(S) if n == len(S) else negative_eigenvalues(S) == len(S) - n

    def stable(self, point: Point) -> bool:
        """Whether it is, or else no motion about it grows."""
        if self.definite(point):
            return True
        self.set(point.p)
        system, x = self.system, point.x + point.correction
        return bool(system.robot.linearize(system.q(x), system.u, free=system.partition.free).stable)
