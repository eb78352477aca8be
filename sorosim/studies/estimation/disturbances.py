"""Random motions of a robot: those nearest to smooth ones of space (docs/theory.md, 22)."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from sorosim.analysis.equations.system import mass_weight
from sorosim.base.arrays import Array, IntArray
from sorosim.mechanics.engine.quantities import extent
from sorosim.mechanics.robot import Robot

# part of the largest squared frequency below which a motion is not elastic
ELASTIC = 1e-9


class SmoothMotions:
    """Motions of a robot that follow smooth fields of space, as far as its stiffness and its loops let it.

    They do not depend on the orders of rods, as white noise of their strains would.
    """

    def __init__(self, robot: Robot, free: IntArray) -> None:
        self.robot, self.free = robot, free

    def begin(self, q: Array) -> None:
        """The elastic stiffness, and the lowest squared frequency with it."""
        engine = self.robot.engine.unactuated
        by_q = engine.internal(q, np.zeros_like(q), np.zeros(engine.n_actuators), True).by_q
        self._stiffness = -0.5 * (by_q + by_q.T)[np.ix_(self.free, self.free)]
        squares = self._elastic_modes(mass_weight(self.robot, q, self.free))[0]
        stiff = squares[squares > ELASTIC * max(squares.max(initial=0.0), np.finfo(float).tiny)]
        self._lowest = float(stiff.min(initial=np.inf))

    def _elastic_modes(self, U: Array) -> tuple[Array, Array]:
        """Squared frequencies and modes by the stiffness of the start, in the metric of the mass."""
        X = linalg.solve_triangular(U, linalg.solve_triangular(U, self._stiffness, trans="T").T, trans="T")
        squares, V = np.linalg.eigh(X)
        return squares, V

    def weight(self, q: Array) -> Array:
        """U of the metric U^T U: the mass, larger in stiff modes by the ratio of their squared frequencies."""
        U = mass_weight(self.robot, q, self.free)
        squares, V = self._elastic_modes(U)
        larger = np.sqrt(np.maximum(1.0, squares / self._lowest))
        return np.asarray(linalg.qr((larger * V).T @ U, mode="r")[0])

    def motions(self, q: Array) -> Array:
        """Motions (n_free, 30) nearest to smooth ones of space, those of quadratic polynomials, stiff parts resisting.

        Coefficients are independent, so a place x from the centre moves with the covariance (1 + x . x'/L^2)^2, L the
        size of the robot.
        """
        engine, free, none = self.robot.engine, self.free, np.zeros(self.robot.ndof)
        inertia = engine.tree.inertia
        g, _, J, _ = engine.jacobians(np.arange(len(inertia)), q, none, False)
        # of a single body its own size: the radius of gyration, half of it on either side
        turning = np.trace(inertia[:, :3, :3], axis1=1, axis2=2).max(initial=0.0) / (self.robot.mass or 1.0)
        size = max(extent(g[:, :3, 3]), float(2.0 * np.sqrt(turning))) or 1.0
        x = (g[:, :3, 3] - self.robot.centre_of_mass(q)) / size
        functions, slopes = _quadratics(x)
        k = functions.shape[1]
        curl, moved = np.zeros((2, len(x), 3, 3 * k))
        for axis in range(3):
            own, i, j = slice(axis * k, (axis + 1) * k), (axis + 1) % 3, (axis + 2) % 3
            moved[:, axis, own] = functions
            # half of the curl: a small part of space turns as a rigid one does
            curl[:, i, own], curl[:, j, own] = 0.5 * slopes[:, j] / size, -0.5 * slopes[:, i] / size
        Rt = g[:, :3, :3].transpose(0, 2, 1)
        momentum = inertia @ np.concatenate([Rt @ curl, Rt @ moved], axis=1)
        force = np.tensordot(J[:, :, free], momentum, ((0, 1), (0, 1)))
        U = self.weight(q)
        return self.tangent(q, U, linalg.solve_triangular(U, force, trans="T"))

    def tangent(self, q: Array, U: Array, X: Array) -> Array:
        """U^-1 X (n_free, k), without what would open loops."""
        if self.robot.n_multipliers:
            A = self.robot.loop_rows(q).A[:, self.free]
            rows = linalg.orth(linalg.solve_triangular(U, A.T, trans="T"))
            X = X - rows @ (rows.T @ X)
        return np.asarray(linalg.solve_triangular(U, X))


def _quadratics(x: Array) -> tuple[Array, Array]:
    """Functions (n, 10) of places x (n, 3) whose products sum up to (1 + x . x')^2, and their slopes (n, 3, 10)."""
    n, root = len(x), np.sqrt(2.0)
    values, slopes = np.zeros((n, 10)), np.zeros((n, 3, 10))
    values[:, 0] = 1.0
    for i in range(3):
        values[:, 1 + i], slopes[:, i, 1 + i] = root * x[:, i], root
        values[:, 4 + i], slopes[:, i, 4 + i] = x[:, i] ** 2, 2.0 * x[:, i]
        j = (i + 1) % 3
        values[:, 7 + i] = root * x[:, i] * x[:, j]
        slopes[:, i, 7 + i], slopes[:, j, 7 + i] = root * x[:, j], root * x[:, i]
    return values, slopes
