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
        squares, V = np.linalg.eigh(solved(U, solved(U, self._stiffness, True).T, True))
        return squares, V

    def scales(self, q: Array) -> Array:
        """N of the metric (N N^T)^-1: the mass, larger in stiff modes by the ratio of their squared frequencies."""
        U = mass_weight(self.robot, q, self.free)
        squares, V = self._elastic_modes(U)
        return solved(U, V / np.sqrt(np.maximum(1.0, squares / self._lowest)))

    def motions(self, q: Array) -> Array:
        """Motions (n_free, 30) nearest to smooth ones of space, those of quadratic polynomials, stiff parts resisting.

        Coefficients are independent, so a place x from the centre moves with the covariance (1 + x . x'/L^2)^2, L the
        size of the robot.
        """
        engine, none = self.robot.engine, np.zeros(self.robot.ndof)
        inertia = engine.tree.inertia
        g, _, J, _ = engine.jacobians(np.arange(len(inertia)), q, none, False)
        # of a single body its own size: the radius of gyration, half of it on either side
        turning = np.trace(inertia[:, :3, :3], axis1=1, axis2=2).max(initial=0.0) / (self.robot.mass or 1.0)
        size = max(extent(g[:, :3, 3]), float(2.0 * np.sqrt(turning))) or 1.0
        values, curls = _quadratics((g[:, :3, 3] - self.robot.centre_of_mass(q)) / size)
        field = np.zeros((len(g), 2, 3, 3, values.shape[1]))  # rotation and velocity, components, axes
        field[:, 0] = 0.5 / size * curls  # a small part of space turns as a rigid one does
        for axis in range(3):
            field[:, 1, axis, axis] = values
        own = g[:, None, :3, :3].transpose(0, 1, 3, 2) @ field.reshape(len(g), 2, 3, -1)
        momentum = inertia @ own.reshape(len(g), 6, -1)
        force = J[:, :, self.free].reshape(-1, len(self.free)).T @ momentum.reshape(6 * len(g), -1)
        N = self.scales(q)
        return self.closed(q, N, N @ (N.T @ force))

    def closed(self, q: Array, N: Array, X: Array) -> Array:
        """X (n_free, k) without what would open loops, nearest in the metric (N N^T)^-1."""
        if not self.robot.n_multipliers:
            return X
        A = self.robot.loop_rows(q).A[:, self.free]
        opens = A @ N
        return np.asarray(X - N @ (np.linalg.pinv(opens, max(opens.shape) * np.finfo(float).eps) @ (A @ X)))


def solved(R: Array, X: Array, transposed: bool = False) -> Array:
    """R^-1 X, or R^-T X, of an upper triangular R; what is below its diagonal does not count."""
    return np.asarray(linalg.lapack.dtrtrs(R, X, trans=int(transposed))[0])


def _quadratics(x: Array) -> tuple[Array, Array]:
    """Functions (n, 10) of places x (n, 3) whose products sum up to (1 + x . x')^2, and curls of fields of them.

    curls (n, 3, 3, 10): components, by the axis along which the field is.
    """
    one, root = np.ones((len(x), 1)), np.sqrt(2.0)
    values = np.hstack([one, root * x, x**2, root * x * x[:, [1, 2, 0]]])
    return values, (np.hstack([one, x]) @ CURLS).reshape(-1, 3, 3, values.shape[1])


def _curls() -> Array:
    """Curls of these fields (4, 90) as linear functions of [1, x]."""
    slopes, root = np.zeros((4, 3, 10)), np.sqrt(2.0)
    for i in range(3):
        j = (i + 1) % 3
        slopes[0, i, 1 + i], slopes[1 + i, i, 4 + i] = root, 2.0
        slopes[1 + j, i, 7 + i] = slopes[1 + i, j, 7 + i] = root
    curls = np.zeros((4, 3, 3, 10))
    for axis in range(3):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        curls[:, i, axis], curls[:, j, axis] = slopes[:, j], -slopes[:, i]
    return curls.reshape(4, -1)


CURLS = _curls()
