"""Closing loops: from a rough state of a robot to the nearest one in which all loops are closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg

from sorosim.analysis.equations.failure import worst_loop
from sorosim.analysis.equations.strains import ShapeLimits
from sorosim.analysis.equations.system import elastic_weight, mass_weight
from sorosim.analysis.solvers.nearest import Nearest, smallest
from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import ConvergenceError, InputError
from sorosim.base.ode import one_blas_thread
from sorosim.base.public import public
from sorosim.base.validation import Number, Values
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.inputs import Partition
from sorosim.mechanics.engine.prescribed import by_coordinate
from sorosim.mechanics.robot import Robot, check_robot

# loops that are open by no more than this part of their extent, or radians, are closed
CLOSED = 1e-10
# and so are rates that open them by no more than this part of their size
CLOSED_RATE = 1e-9
# what rounded numbers of files may leave open of overconstrained loops, as a part of their extent
BY_DIGITS = 1e-5
# steps of joints that carry loops along [rad]: well below half a turn, beyond which a loop closes the other way round
CARRY = 1.0


class Assembly(NamedTuple):
    """A state in which all loops are closed."""

    q: Array  # (ndof,)
    qd: Array  # (ndof,)
    moved: float  # how far from the start, see `assemble` [sqrt(J)]
    message: str


@public
def assemble(
    robot: Robot,
    q0: Values | None = None,
    *,
    driven: Mapping[str, Number] | None = None,
    qd0: Values | None = None,
    fixed: Sequence[str] = (),
) -> Assembly:
    """Close the loops of a robot: the nearest state to a rough one.

    Nearest means: the least d^T (K + M/T^2) d, K stiffness and M mass matrix at the start: the elastic energy of the
    displacement, and the squared displacements of all points weighted by their mass. T is 1 s, or so long that inertia
    is at most a hundredth of the stiffness of the softest mode. Of the rates, the least difference in kinetic energy.

    Angles of driven and fixed coordinates count whole turns, of which loops see nothing, from q0 if its loops are
    closed, else from zero if they are closed there: the loops are carried along (docs/theory.md, 9).

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
    begin = None if open_loops(robot, q) else q.copy()
    q[partition.driven] = list(values.values())
    free = np.array([i for i in partition.free if i not in unmoved], dtype=np.int64)
    return close(robot, q, qd, free, begin=begin)


def close(
    robot: Robot, q: Array, qd: Array, free: IntArray, free_rates: IntArray | None = None, begin: Array | None = None
) -> Assembly:
    """Close the loops of a robot by moving the free coordinates and rates, default: the same; see `assemble`.

    begin (ndof,): a state from which the other coordinates come (`carried`). Default: where their angles are zero.
    """
    if not robot.n_multipliers:
        return Assembly(q, qd, 0.0, "there are no loops")
    with one_blas_thread(), np.errstate(all="ignore"):
        closed_q, moved, how = q, 0.0, "was closed already"
        if open_loops(robot, q):
            start, remark = carried(robot, q, free, _unturned(robot, q, free) if begin is None else begin)
            U = elastic_weight(robot, q, free, softest=True)
            closed_q = _Closing(robot, start, free, U).closed()
            moved = float(np.linalg.norm(U @ (closed_q - q)[free]))
            how = f"closed, moved by {moved:.3g} sqrt(J){remark}"
        rates = closed_rates(robot, closed_q, qd, free if free_rates is None else free_rates)
        return Assembly(closed_q, rates, moved, how)


def carried(robot: Robot, q: Array, free: IntArray, begin: Array) -> tuple[Array, str]:
    """The start q, or a closed state to which its held angles carry the loops from `begin`; and what is to be said.

    They go in steps, and the loops are closed after each: so rods are twisted as far as the angles that are `turned`.
    """
    if not (far := turned(robot, free, begin, q)):
        return q, ""
    names = ", ".join(f"'{robot.coordinate_names[i]}'" for i in far)
    lost = f"; whole turns of {names} are not counted by the loops"
    if open_loops(robot, begin):
        return q, lost
    x, n = begin.copy(), int(np.ceil(np.abs((q - begin)[far]).max() / CARRY))
    held = np.setdiff1d(np.arange(robot.ndof), free)
    try:
        for k in range(1, n + 1):
            x[held] = begin[held] + k / n * (q - begin)[held]
            x = _Closing(robot, x, free, elastic_weight(robot, x, free, softest=True)).closed()
    except ConvergenceError:
        return q, lost
    return x, ""


def turned(robot: Robot, free: IntArray, begin: Array, q: Array) -> list[int]:
    """Held angles more than half a turn from those of a state `begin`, while the loops of q are open.

    A loop does not tell whole turns apart: closed at once, its rods would be twisted by less. Without rods no turn is
    lost.
    """
    if not any(link.pieces for link in robot.engine.layout.links.values()):
        return []
    held = np.setdiff1d(np.arange(robot.ndof), free)
    dimensions = robot.engine.layout.dimensions
    far = [i for i in held.tolist() if dimensions[i] == "angle" and abs(q[i] - begin[i]) > np.pi]
    return far if far and robot.n_multipliers and open_loops(robot, q) else []


def _unturned(robot: Robot, q: Array, free: IntArray) -> Array:
    """The state with all angles zero that are not free."""
    is_angle = np.array([dimension == "angle" for dimension in robot.engine.layout.dimensions])
    return np.where(np.isin(np.arange(len(q)), free) | ~is_angle, q, 0.0)


def close_if_possible(robot: Robot, q: Array, free: IntArray) -> tuple[Array, tuple[Array, Array], str]:
    """As `close`; returns q itself if the loops cannot be closed. The closed state is near an equilibrium.

    Returns it, the errors (m,) there and their derivative (m, n_free) by displacements in the metric, and why it
    failed.
    """
    with one_blas_thread(), np.errstate(all="ignore"):
        U = elastic_weight(robot, q, free, softest=True)
        closing = _Closing(robot, q, free, U)
        z, why = np.zeros(len(free)), ""
        try:
            z = closing.run()
        except ConvergenceError as error:
            why = str(error)
        return closing.q(z), closing.jacobian(z), why


def open_loops(robot: Robot, q: Array, at_least: float = CLOSED) -> str:
    """Which loops are open by more than `at_least` of their extent, or radians, in words; "" if none is."""
    extent = robot.engine.loop_layout.extent
    gaps = robot.loop_gaps(q)
    gaps = {name: gap for name, gap in gaps.items() if not max(gap[0] / extent[name], gap[1]) <= at_least}
    return ", ".join(f"'{name}' by {distance:.3g} m and {angle:.3g} rad" for name, (distance, angle) in gaps.items())


class _Closing:
    """The search in z = U (q - q0) of the free coordinates: of all closed states the one with the smallest z."""

    def __init__(self, robot: Robot, q: Array, free: IntArray, U: Array) -> None:
        self.robot, self.start, self.free, self.U = robot, q, free, U
        self.scale = robot.engine.loops.row_scale  # errors are angles
        self.limits = ShapeLimits(robot, q)

    def q(self, z: Array) -> Array:
        q = self.start.copy()
        q[self.free] += scipy.linalg.solve_triangular(self.U, z)
        return q

    def jacobian(self, z: Array) -> tuple[Array, Array]:
        """Errors (m,) and their derivative by z (m, n_free)."""
        q = self.q(z)
        zero = np.zeros_like(q)
        closure = self.robot.engine.evaluate(task.CLOSURE, q, zero, zero, self.robot.inputs(None)).closure
        by_q = closure.error_by_q[:, self.free]
        return closure.error.copy(), scipy.linalg.solve_triangular(self.U, by_q.T, trans="T").T

    def scaled(self, z: Array) -> tuple[Array, Array]:
        """As `jacobian`, of errors that are angles; infinite where no rod has such a shape."""
        e, X = self.jacobian(z)
        e = self.scale * e if self.limits.allow(self.q(z)) else np.full_like(e, np.inf)
        return e, self.scale[:, None] * X

    def pull(self) -> Array:
        """Where weight and loads pull from the start, in the metric."""
        zero = np.zeros_like(self.start)
        residual = self.robot.engine.evaluate(task.RESIDUAL, self.start, zero, zero.copy(), self.robot.inputs(None)).tau
        return np.asarray(-scipy.linalg.solve_triangular(self.U, residual[self.free], trans="T"))

    def closed(self) -> Array:
        """The nearest closed state (ndof,)."""
        return self.q(self.run())

    def run(self) -> Array:
        """The smallest z that closes the loops."""
        z = np.zeros(len(self.free))
        if len(z) and open_loops(self.robot, self.start):
            # a half: a distance is up to sqrt(3) of its largest part
            z = Nearest(self.scaled, z, 0.5 * CLOSED).run(self.pull()).z
        q = self.q(z)
        if left := open_loops(self.robot, q):
            if open_loops(self.robot, q, BY_DIGITS):
                hint = "look at the frames, start nearer to a closed state, or hold fewer coordinates"
            else:
                hint = (
                    "digits of the file may leave that much where conditions depend on each other, as in planar "
                    "linkages; a joint that leaves more free, such as universal in place of revolute, closes them"
                )
            what = f"the loops of '{self.robot.name}' cannot be closed"
            report = worst_loop(self.robot, self.robot.loop_rows(q).error)
            raise ConvergenceError(f"{what}: {left} at the best; {hint}", q, report)
        return z


def closed_rates(robot: Robot, q: Array, qd: Array, free: IntArray) -> Array:
    """The rates nearest to qd that keep the loops closed, those that are not free as they are."""
    zero = np.zeros_like(q)
    evaluation = robot.engine.evaluate(task.CLOSURE, q, zero, zero, robot.inputs(None))
    A, U, rates = evaluation.closure.constraint, mass_weight(robot, q, free), qd.copy()
    if not np.any(A @ qd):
        return rates
    X = scipy.linalg.solve_triangular(U, A[:, free].T, trans="T").T
    for _ in range(2):  # the second takes the rounding of the first away
        rates[free] -= scipy.linalg.solve_triangular(U, smallest(X, A @ rates))
    left = np.abs(A @ rates).max(initial=0.0)
    if left > CLOSED_RATE * (np.abs(A) @ np.abs(rates)).max(initial=0.0):
        torn = [
            name for name, rows in robot.engine.loop_layout.rows.items() if np.abs(A[rows] @ rates).max() >= 0.5 * left
        ]
        what = f"the rates of driven and fixed coordinates of '{robot.name}' tear loop '{torn[0]}' open"
        what += f", by {left:.3g} m/s or rad/s at the best; let fewer coordinates be given"
        raise ConvergenceError(what, q, worst_loop(robot, robot.loop_rows(q).error)._replace(where=torn[0]))
    return rates
