"""Closing loops: from a rough state of a robot to the nearest one in which all loops are closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy.optimize import least_squares

from sorosim.arrays import Array, IntArray
from sorosim.dynamics.arguments import by_coordinate
from sorosim.dynamics.constraints import RANK_TOLERANCE
from sorosim.engine.inputs import Partition
from sorosim.equations.failure import worst_loop
from sorosim.equations.system import elastic_weight, mass_weight
from sorosim.errors import ConvergenceError, InputError
from sorosim.kernels import evaluate as task
from sorosim.kernels.loops import CONSTRAINT, ERROR, ERROR_BY_Q
from sorosim.robot import Robot, check_robot
from sorosim.solvers.base import one_blas_thread
from sorosim.validation import Number, Values

# loops that are open by no more than this part of their extent, or radians, are closed
CLOSED = 1e-10
# and so are rates that open them by no more than this part of their size
CLOSED_RATE = 1e-9
MAX_STEPS = 100
# saddles of the sum of squares of all errors that are left, one after the other; how far beside one the search goes on,
# in coordinates; and curvatures that are rounding, as a part of the largest
MAX_SADDLES = 3
BESIDE = 0.1
SADDLE = 1e-6
EPS = float(np.finfo(float).eps)


class Assembly(NamedTuple):
    """A state in which all loops are closed."""

    q: Array  # (ndof,)
    qd: Array  # (ndof,)
    moved: float  # how far from the start, see `assemble` [sqrt(J)]
    message: str


def assemble(
    robot: Robot,
    q0: Values | None = None,
    *,
    driven: Mapping[str, Number] | None = None,
    qd0: Values | None = None,
    fixed: Sequence[str] = (),
) -> Assembly:
    """Close the loops of a robot: the nearest state to a rough one.

    Nearest means: the least d^T (K + M/(1 s)^2) d, K stiffness and M mass matrix at the start: the elastic energy of
    the displacement, and the squared displacements of all points weighted by their mass; of the rates, the least
    difference in kinetic energy.

    Parameters
    ----------
    robot : Robot
    q0, qd0 : (ndof,) array_like or mapping
        Rough coordinates and rates; what a mapping does not name is zero. Default: the file's `initial` block.
    driven : mapping of link or coordinate name to float or str
        Coordinates that are driven, and where they are [rad or m]; their rates are those of qd0.
    fixed : sequence of str
        Further coordinates, or links whose joints have one, that keep their values and rates.

    Returns
    -------
    Assembly

    Raises
    ------
    ConvergenceError
        They cannot be closed: which stay open and by how much; ``partial`` is the best q that was found. Or the given
        rates of driven and fixed coordinates violate them.
    InputError
        A wrong name, length or value.
    """
    check_robot(robot)
    layout, q = robot.engine.layout, robot.initial_q if q0 is None else robot.coordinates(q0, "q0")
    qd = robot.initial_qd if qd0 is None else robot.coordinates(qd0, "qd0", order=1)
    if isinstance(fixed, str):
        raise InputError("fixed", "a list of names", f"'{fixed}'")
    unmoved = {layout.coordinate(name, "fixed") for name in fixed}
    values = by_coordinate(robot.engine, driven)
    partition = Partition.of(layout, values, robot.description.actuators)
    q[partition.driven] = list(values.values())
    free = np.array([i for i in partition.free if i not in unmoved], dtype=np.int64)
    return close(robot, q, qd, free)


def close(
    robot: Robot, q: Array, qd: Array, free: IntArray, free_rates: IntArray | None = None
) -> Assembly:  # fmt: skip
    """Close the loops of a robot by moving the free coordinates and rates, default: the same; see `assemble`."""
    if not robot.loop_names:
        return Assembly(q, qd, 0.0, "there are no loops")
    with one_blas_thread(), np.errstate(all="ignore"):
        closing = _Closing(robot, q, free, elastic_weight(robot, q, free))
        z, how = closing.run()
        closed_q, moved = closing.q(z), float(np.linalg.norm(z))
        rates = _closed_rates(robot, closed_q, qd, free if free_rates is None else free_rates)
        return Assembly(closed_q, rates, moved, f"{how}, moved by {moved:.3g} sqrt(J)")


def close_if_possible(robot: Robot, q: Array, free: IntArray) -> tuple[Array, tuple[Array, Array], str]:
    """As `close`; returns q itself if the loops cannot be closed. The closed state is near an equilibrium.

    Returns it, the errors (m,) there and their derivative (m, n_free) by displacements in the metric, and why it
    failed.
    """
    with one_blas_thread(), np.errstate(all="ignore"):
        U = elastic_weight(robot, q, free)
        closing = _Closing(robot, q, free, U)
        z, why = np.zeros(len(free)), ""
        try:
            z = closing.run()[0]
        except ConvergenceError as error:
            why = str(error)
        return closing.q(z), closing.jacobian(z), why


def open_loops(robot: Robot, q: Array, at_least: float = CLOSED) -> str:
    """Which loops are open by more than `at_least` of their extent, or radians, in words; "" if none is."""
    extent = robot.engine.loop_layout.extent
    gaps = robot.loop_gaps(q)
    gaps = {name: gap for name, gap in gaps.items() if not max(gap[0] / extent[name], gap[1]) <= at_least}
    return ", ".join(f"'{name}' by {distance:.3g} m and {angle:.3g} rad" for name, (distance, angle) in gaps.items())


def _smallest(X: Array, b: Array) -> Array:
    """The smallest z with X z = b, or nearly so."""
    z: Array = scipy.linalg.lstsq(X, b, cond=RANK_TOLERANCE, check_finite=False)[0]
    return z


class _Closing:
    """The search in z = U (q - q0) of the free coordinates: of all closed states the one with the smallest z."""

    def __init__(self, robot: Robot, q: Array, free: IntArray, U: Array) -> None:
        self.robot, self.start, self.free, self.U = robot, q, free, U

    def q(self, z: Array) -> Array:
        q = self.start.copy()
        q[self.free] += scipy.linalg.solve_triangular(self.U, z)
        return q

    def closure(self, z: Array, what: int = task.RESIDUAL) -> Any:
        q = self.q(z)
        zero = np.zeros_like(q)
        return self.robot.engine.evaluate(what, q, zero, zero.copy(), self.robot.inputs(None)).closure

    def errors(self, z: Array) -> Array:
        """Errors (m,) of all loops."""
        return np.asarray(self.closure(z).value[ERROR])

    def slope(self, z: Array) -> Array:
        """Their derivative (m, n_free)."""
        return self.jacobian(z)[1]

    def jacobian(self, z: Array) -> tuple[Array, Array]:
        """Errors (m,) and their derivative by z (m, n_free)."""
        closure = self.closure(z, task.RESIDUAL_DERIVATIVES)
        by_q = closure.matrix[ERROR_BY_Q][:, self.free]
        return closure.value[ERROR], scipy.linalg.solve_triangular(self.U, by_q.T, trans="T").T

    def run(self) -> tuple[Array, str]:
        """z, and how it was found."""
        n = len(self.free)
        z = np.zeros(n)
        if not n or np.abs(self.robot.engine.loops.row_scale * self.errors(z)).max(initial=0.0) <= CLOSED:
            how = "was closed already"
        else:
            # about one coordinate, in any unit
            z, how, scale = self.descend(z), "closed", float(np.linalg.norm(self.U) / np.sqrt(n))
            for _ in range(MAX_SADDLES):
                if not open_loops(self.robot, self.q(z)) or (away := self.below(z)) is None:
                    break
                z = self.descend(z + BESIDE * scale * away)
        q = self.q(z)
        if left := open_loops(self.robot, q):
            hint = "look at the frames, start nearer to a closed state, or hold fewer coordinates"
            what = f"the loops of '{self.robot.name}' cannot be closed"
            report = worst_loop(self.robot, self.robot.loop_rows(q).error)
            raise ConvergenceError(f"{what}: {left} at the best; {hint}", q, report)
        return self.nearest(z) if z.any() else z, how

    def descend(self, z: Array) -> Array:
        """Where the sum of squares of the errors is least, or stationary, from z."""
        tight = 1e-15
        rough = least_squares(
            self.errors, z, self.slope, method="trf", ftol=tight, xtol=tight, gtol=tight, max_nfev=MAX_STEPS,
            # the first trust region
            x_scale=max(np.linalg.norm(self.U) / np.sqrt(len(z)), 1e-300),
        )  # fmt: skip
        return self.polished(rough.x)

    def below(self, z: Array) -> Array | None:
        """Unit direction along which the sum of squares falls from a saddle, the one along which weight and loads pull.

        A straight chain whose ends are to come nearer is on a saddle: no rotation of its links brings them nearer to
        first order. None where there is no such direction.
        """
        step = np.sqrt(EPS) * float(np.linalg.norm(self.U) / np.sqrt(len(z)))

        def slope(at: Array) -> Array:
            e, X = self.jacobian(at)
            return np.asarray(X.T @ e)

        H = np.array([slope(z + step * axis) - slope(z - step * axis) for axis in np.eye(len(z))]) / (2.0 * step)
        curvature, directions = np.linalg.eigh(0.5 * (H + H.T))
        falling = directions[:, curvature < -SADDLE * np.abs(curvature).max()]
        if not falling.size:
            return None
        zero, q = np.zeros_like(self.start), self.q(z)
        residual = self.robot.engine.evaluate(task.RESIDUAL, q, zero, zero.copy(), self.robot.inputs(None)).tau
        force = -scipy.linalg.solve_triangular(self.U, residual[self.free], trans="T")
        away = falling @ (falling.T @ force)
        size = np.linalg.norm(away)
        return np.asarray(away / size if size > EPS * np.linalg.norm(force) else falling[:, 0])

    def polished(self, z: Array) -> Array:
        """After Newton's steps, as long as they close the loops further."""
        for _ in range(3):
            e, X = self.jacobian(z)
            better = z - _smallest(X, e)
            if not np.abs(self.errors(better)).max() < np.abs(e).max():
                break
            z = better
        return z

    def nearest(self, z: Array) -> Array:
        """Along the closed states to the one nearest to the start; z is one of them."""
        for _ in range(MAX_STEPS):
            e, X = self.jacobian(z)
            step, part = _smallest(X, X @ z - e) - z, 1.0
            if np.linalg.norm(step) <= 1e-9 * np.linalg.norm(z):
                break
            while part > 1e-3:
                better = self.polished(z + part * step)
                if np.linalg.norm(better) < np.linalg.norm(z) and not open_loops(self.robot, self.q(better)):
                    break
                part *= 0.5
            else:
                break
            z = better
        return z


def _closed_rates(robot: Robot, q: Array, qd: Array, free: IntArray) -> Array:
    """The rates nearest to qd that keep the loops closed, those that are not free as they are."""
    zero = np.zeros_like(q)
    evaluation = robot.engine.evaluate(task.RESIDUAL_DERIVATIVES, q, zero, zero.copy(), robot.inputs(None))
    A, U, rates = evaluation.closure.matrix[CONSTRAINT], mass_weight(robot, q, free), qd.copy()
    if not np.any(A @ qd):
        return rates
    X = scipy.linalg.solve_triangular(U, A[:, free].T, trans="T").T
    for _ in range(2):  # the second takes the rounding of the first away
        rates[free] -= scipy.linalg.solve_triangular(U, _smallest(X, A @ rates))
    left = np.abs(A @ rates).max(initial=0.0)
    if left > CLOSED_RATE * (np.abs(A) @ np.abs(rates)).max(initial=0.0):
        torn = [
            name for name, rows in robot.engine.loop_layout.rows.items() if np.abs(A[rows] @ rates).max() >= 0.5 * left
        ]
        what = f"the rates of driven and fixed coordinates of '{robot.name}' tear loop '{torn[0]}' open"
        what += f", by {left:.3g} m/s or rad/s at the best; let fewer coordinates be given"
        raise ConvergenceError(what, q, worst_loop(robot, robot.loop_rows(q).error)._replace(where=torn[0]))
    return rates
