"""The only assembler: from a robot to residuals, rates and Jacobians; it owns which unknowns there are.

Solvers see vectors of the unknowns only: free coordinates, their rates, multipliers of loops.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from functools import cached_property

import numpy as np
import scipy.linalg

from sorosim.analysis.equations.loop_monitor import LoopMonitor
from sorosim.base.arrays import Array, IntArray
from sorosim.mechanics.dynamics.constraints import RANK_TOLERANCE, IndependentRows
from sorosim.mechanics.dynamics.forward import FASTEST, FORWARD, choose_algorithm, forward_by_articulated
from sorosim.mechanics.dynamics.inertia import mass_matrix
from sorosim.mechanics.dynamics.linearization import balance_tolerance
from sorosim.mechanics.dynamics.maxwell import MaxwellElements
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.engine.inputs import Partition
from sorosim.mechanics.engine.loading import SlipState, StickState
from sorosim.mechanics.engine.prescribed import Prescribed
from sorosim.mechanics.engine.quantities import extent
from sorosim.mechanics.kernels.evaluate import Evaluation
from sorosim.mechanics.kernels.linalg import cholesky_solve
from sorosim.mechanics.kernels.saddle import loop_norms, solve_constrained_columns
from sorosim.mechanics.linear.eigenmodes import congruent
from sorosim.mechanics.model.chart import FARTHEST, ChartLimit, Charts
from sorosim.mechanics.robot import Robot

# compliance of a row, relative to the largest of its loop, below which it is not scaled up any further
WEAK_ROW = 3e-2
# inertia that regularises an elastic energy, as a part of the stiffness of the softest mode
INERTIA = 1e-2
# what coordinates without inertia count for beside the mean inertia of the robot moved as they move its links: little,
# and so much that rows of loops which they alone close do not hide others
MASSLESS = 1e-4
NO_STRAINS = np.zeros(0)  # of robots without Maxwell elements
# time by which friction of statics divides displacements, to get rates [s]
STICK_TIME = 0.01


def rate_time(robot: Robot, closing_time: float) -> float:
    """Absolute tolerance of coordinates over that of rates [s].

    An error atol of the coordinates opens loops by as much, and the stabilisation closes them at rates of atol over the
    closing time: to follow these would cost steps that the coordinates do not ask for.
    """
    return closing_time if robot.n_multipliers else 1.0


class StaticSystem:
    """Equilibrium of a robot at fixed inputs and driven coordinates, its loops closed.

    The unknowns x are the free coordinates and the multipliers of the loops, those and their rows weighed so that a
    unit multiplier moves its row by about one. The residual is ID(q) - internal force - A^T
    multipliers in the free rows, and the errors of the loops. At the load 0 nothing pulls, and the loops may be as open
    as in the unloaded state. Contacts keep their stiffness at any load; `sticking`: coordinates at which they stuck,
    and how; their friction resists the displacement from there, taken as a velocity over a fixed time. `begin`:
    coordinates and inputs of an equilibrium; then it is the state at load 0, and the load takes inputs and driven
    coordinates from there.

    Where rows depend on others at the start, multipliers without any force are zero: in their place the Jacobian has
    the projection N N^T on them, N^T A = 0. It is regular then, and as N^T E = 0, too, where the loops are closed,
    steps close the independent conditions as if there were no others. Under friction only `rows` are unknowns, those
    that are independent at the start.
    """

    def __init__(
        self, robot: Robot, u: Array, driven: Mapping[str, float],
        sticking: tuple[Array, StickState | None] | None = None, begin: tuple[Array, Array] | None = None,
    ) -> None:  # fmt: skip
        self.robot, self.u, self.sticking, self.begin = robot, u, sticking, begin
        self._unloaded = (robot.engine.elastic.rest, np.zeros_like(u)) if begin is None else begin
        self.partition = Partition.of(robot.engine.layout, driven, robot.description.actuators)
        self.driven_values = np.array([float(v) for v in driven.values()])
        self.n_free = len(self.partition.free)
        self._free_square = np.ix_(self.partition.free, self.partition.free)
        self.charts = Charts(robot.engine.layout, self.partition.mask)
        self.weight, self.rank = np.ones(robot.n_multipliers), robot.n_multipliers
        self.rows = np.arange(robot.n_multipliers)
        self._zero, self.gap = np.zeros(robot.ndof), np.zeros(robot.n_multipliers)
        self.rates = self._zero  # of a steady motion
        self.unloaded = robot.engine.elastic.rest[self.partition.free]
        if robot.n_multipliers and begin is None:
            self.gap = self.evaluate(task.ERRORS, self.q(self.unloaded, 0.0), 0.0).closure.error

    def q(self, x: Array, load: float = 1.0) -> Array:
        """All coordinates from the free ones; driven ones move in with the load."""
        if self.n_free == self.robot.ndof:
            return x[: self.n_free].copy()
        q = np.empty(self.robot.ndof)
        q[self.partition.free] = x[: self.n_free]
        rest = self._unloaded[0][self.partition.driven]
        q[self.partition.driven] = rest + load * (self.driven_values - rest)
        return q

    @property
    def raised(self) -> tuple[Array, Array]:
        """By how much inputs (n_actuators,) and driven coordinates (n_driven,) change from load 0 to 1."""
        q, u = self._unloaded
        return self.u - u, self.driven_values - q[self.partition.driven]

    def scale_constraints(self, error: Array, X: Array) -> None:
        """Choose weights by the errors (m,) and their derivative X (m, n), unit multipliers moving them by X X^T."""
        loops = self.robot.engine.loops
        own = loops.row_scale * np.linalg.norm(X, axis=1)
        largest = own.copy()
        loop_norms(loops, largest)
        self.weight = loops.row_scale / np.maximum(own, WEAK_ROW * largest)
        independent = IndependentRows(self.robot.engine, X, error)
        self.rank = independent.rank
        if self.sticking is not None:  # contacts that stick may be so stiff that the identity would be no little
            self.rows = independent.rows

    def multipliers(self, x: Array) -> Array:
        """All multipliers (m,)."""
        out = np.zeros(len(self.weight))
        if not len(out):
            return out
        out[self.rows] = self.weight[self.rows] * x[self.n_free :]
        return out

    def start(self, q: Array, load: float = 1.0) -> Array:
        """Unknowns at coordinates q (ndof,), with the smallest multipliers that fit best."""
        free = self.partition.free
        if not self.robot.n_multipliers:
            return q[free]
        evaluation = self.evaluate(task.STATIC_DERIVATIVES, q, load)
        A = (self.weight[:, None] * evaluation.closure.constraint[:, free])[self.rows]
        return np.concatenate([q[free], scipy.linalg.lstsq(A.T, evaluation.tau[free], cond=RANK_TOLERANCE)[0]])

    def independent(self, q: Array) -> IndependentRows:
        """Which conditions of the loops depend on each other."""
        closure = self.evaluate(task.STATIC_DERIVATIVES, q).closure
        return IndependentRows(self.robot.engine, closure.constraint[:, self.partition.free], closure.error)

    def smallest(self, q: Array, multiplier: Array) -> Array:
        """The smallest multipliers (m,) with the same forces; the very same where no condition depends on others."""
        if not len(multiplier) or (independent := self.independent(q)).rank == len(multiplier):
            return multiplier
        return independent.smallest(multiplier)

    def dependence(self, q: Array) -> str:
        """How many rows of the loops are redundant, in words; "" if none is."""
        m, rank = self.robot.n_multipliers, self.independent(q).rank
        return f"; of {m} conditions of its loops {rank} are independent here" if rank < m else ""

    def unbalanced(self, q: Array, multiplier: Array) -> str:
        """Which force is left under the smallest multipliers of an equilibrium, in words; "" if all balance.

        A condition that depends on others, or has no effect, carries none: the force of a rod that cannot be stretched
        and is held straight by its ends would be infinite.
        """
        if not len(multiplier) or (independent := self.independent(q)).rank == len(multiplier):
            return ""
        out = self.evaluate(task.STATIC_DERIVATIVES, q, multiplier=multiplier)
        size, least = balance_tolerance(self.robot.engine, out, q, self.rates, self.u)
        left = np.abs(out.tau[self.partition.free])
        if not left.max(initial=0.0) > least:
            return ""
        where = self.robot.coordinate_names[self.partition.free[int(np.argmax(left))]]
        dependent = set(range(len(multiplier))) - set(independent.rows)
        loops = self.robot.engine.loop_layout.rows.items()
        held = ", ".join(f"'{name}'" for name, rows in loops if dependent & set(range(rows.start, rows.stop)))
        share = f"at '{where}' a force of {left.max():.3g} is left of {size:.3g}"
        return f"{share}, which no finite force of {held} balances"

    def evaluate(
        self, what: task.Task, q: Array, load: float = 1.0, multiplier: Array | None = None, more: float = 0.0
    ) -> Evaluation:
        """Evaluate at rest; inputs, gravity and loads are multiplied by `load`, the latter two by so much `more`."""
        zero, sliding, scale = self._zero, self.sliding(q), more + (load if self.begin is None else 1.0)
        return self.robot.engine.evaluate(
            what, q, zero, zero, self.inputs(load), scale=scale, multiplier=multiplier, sliding=sliding
        )

    def inputs(self, load: float) -> Array:
        """Inputs (n_actuators,) at a load."""
        rest = self._unloaded[1]
        return rest + load * (self.u - rest)

    def sliding(self, q: Array) -> SlipState | None:
        """Rates for the friction of contacts, None for rest."""
        if self.sticking is None:
            return None
        return SlipState((q - self.sticking[0]) / STICK_TIME, self.sticking[1])

    def tangent(self, evaluation: Evaluation, q: Array) -> Array:
        """Derivative of the residual by q, with that of the rates which friction sees in their place."""
        sliding = self.sliding(q)
        if sliding is None:
            return evaluation.by_q
        # the evaluation is at rest: replace its contact forces by those at the sliding rates
        still, moving = (self._contact_forces(q, rates, sliding) for rates in (self._zero, sliding.rates))
        return np.asarray(evaluation.by_q - still.by_q + moving.by_q + moving.by_qd / STICK_TIME)

    def _contact_forces(self, q: Array, qd: Array, sliding: SlipState) -> Evaluation:
        """What balances contacts alone, which see `sliding`, and its derivatives where the nodes move with qd."""
        return self._massless.evaluate(
            task.INVERSE_DERIVATIVES, q, qd, self._zero, np.zeros_like(self.u), scale=0.0, sliding=sliding
        )

    @cached_property
    def _massless(self) -> Engine:
        engine = self.robot.engine
        return engine.replace(tree=engine.tree._replace(inertia=np.zeros_like(engine.tree.inertia)))

    def residual(self, x: Array, load: float, more: float = 0.0) -> Array:
        """Residual of the unknowns; `more`: of gravity and loads."""
        evaluation = self.evaluate(task.RESIDUAL, self.q(x, load), load, self.multipliers(x), more)
        return self.assembled(evaluation, load)

    def assembled(self, evaluation: Evaluation, load: float) -> Array:
        """Residual of the unknowns from that of all coordinates."""
        tau = evaluation.tau if self.n_free == self.robot.ndof else evaluation.tau[self.partition.free]
        if not self.robot.n_multipliers:
            return tau
        errors = self.weight * (evaluation.closure.error - (1.0 - load) * self.gap)
        return np.concatenate([tau, errors[self.rows]])

    def full_residual(self, q: Array, multiplier: Array) -> Array:
        """Residual (ndof,); at equilibrium it is the force that the driven coordinates need, and zero elsewhere."""
        return self.evaluate(task.RESIDUAL, q, multiplier=multiplier).tau

    def jacobian(self, x: Array, load: float) -> tuple[Array, Array]:
        """Residual of the unknowns and its derivative by them."""
        residual, K, _, _ = self._linearised(x, load, False)
        return residual, K

    def linearised(self, x: Array, load: float = 1.0) -> tuple[Array, Array, Array]:
        """Residual of the unknowns, its derivative by them, and by all inputs and driven coordinates."""
        residual, K, by_q, evaluation = self._linearised(x, load, True)
        if len(residual) == self.robot.ndof == self.n_free:  # neither loops nor driven coordinates
            return residual, K, -evaluation.B
        n = len(self.u)
        by = np.zeros((len(residual), n + len(self.partition.driven)))
        by[: self.n_free, :n] = -evaluation.B[self.partition.free]
        by[:, n:] = by_q[:, self.partition.driven]
        return residual, K, by

    def along_load(self, x: Array, load: float) -> tuple[Array, Array, Array]:
        """Residual of the unknowns, its derivative by them, and by the load."""
        residual, K, by = self.linearised(x, load)
        slope = by @ np.concatenate(self.raised)
        slope[self.n_free :] += (self.weight * self.gap)[self.rows]
        if self.has_weight:
            slope += self.residual(x, load, 1.0) - residual  # it is linear in them
        return residual, K, slope

    @property
    def has_weight(self) -> bool:
        """Whether gravity or loads rise with the load."""
        engine = self.robot.engine
        return self.begin is None and bool(engine.loading or np.any(engine.gravity))

    def _linearised(self, x: Array, load: float, by_all: bool) -> tuple[Array, Array, Array, Evaluation]:
        """Residual, its derivatives by the unknowns and, if `by_all`, by all coordinates; and what they are made of."""
        q, free = self.q(x, load), self.partition.free
        evaluation = self.evaluate(task.STATIC_DERIVATIVES, q, load, self.multipliers(x))
        by_q = self.tangent(evaluation, q)
        K = by_q
        if self.robot.n_multipliers:
            loops, rows = evaluation.closure, self.rows
            A, E = ((self.weight[:, None] * part)[rows] for part in (loops.constraint, loops.error_by_q))
            by_q = np.vstack([by_q[free], E])
            K = np.hstack([by_q[:, free], np.vstack([-A[:, free].T, self._forceless(evaluation)])])
        elif self.n_free < self.robot.ndof:
            K = by_q[self._free_square]
            by_q = by_q[free] if by_all else by_q
        return self.assembled(evaluation, load), K, by_q, evaluation

    def _forceless(self, evaluation: Evaluation) -> Array:
        """The projection (m, m) on multipliers that have no force; zero where all had one at the start."""
        if self.rank == len(self.rows):
            return np.zeros((self.rank, self.rank))
        A = evaluation.closure.constraint[:, self.partition.free]
        if not np.isfinite(A).all():  # a state that has no forces
            return np.full((len(self.rows), len(self.rows)), np.nan)
        N = IndependentRows(self.robot.engine, A, evaluation.closure.error).redundant(self.weight)[self.rows]
        return np.asarray(N @ N.T)

    def without_turns(self, x: Array, start: Array) -> Array:
        """The same state with every angle that counts no turns nearest to that of `start`, rotations up to a half."""
        layout, q, reference = self.robot.engine.layout, self.q(x), self.q(start)
        for link in layout.links.values():
            angles = link.column + np.array(link.link.joint.free_turns, dtype=np.int64)
            q[angles] -= 2.0 * np.pi * np.round((q[angles] - reference[angles]) / (2.0 * np.pi))
        return np.concatenate([self.charts.recharted(q, np.zeros_like(q))[0][self.partition.free], x[self.n_free :]])


def elastic_weight(robot: Robot, q: Array, free: IntArray, *, softest: bool = False) -> Array:
    """Cholesky factor U of the metric K + M/T^2 = U^T U; inertia regularises coordinates without stiffness.

    T is 1 s; with `softest` it is at least so long that inertia counts for no more than the part `INERTIA` of the
    stiffness of the softest mode.
    """
    zero, none = np.zeros_like(q), robot.inputs(None)
    stiffness = -robot.engine.evaluate(task.INTERNAL_DERIVATIVES, q, zero, zero.copy(), none).by_q[np.ix_(free, free)]
    K, U = 0.5 * (stiffness + stiffness.T), mass_weight(robot, q, free)
    try:
        if softest and K.any():
            squares = np.linalg.eigvalsh(congruent(K, U))  # of the modes' frequencies
            elastic = squares[squares > len(K) * np.finfo(float).eps * squares[-1]]
            U = U * np.sqrt(min(1.0, INERTIA * elastic.min(initial=np.inf)))
        return np.asarray(scipy.linalg.cholesky(K + U.T @ U))
    except np.linalg.LinAlgError:
        return U


def mass_weight(robot: Robot, q: Array, free: IntArray) -> Array:
    """Cholesky factor U of the mass matrix of the free coordinates; if that is singular, of its diagonal.

    Coordinates without inertia then count for a little, by how they move and turn the links.
    """
    M = mass_matrix(robot.engine, q)[np.ix_(free, free)]
    try:
        return np.asarray(scipy.linalg.cholesky(M))
    except np.linalg.LinAlgError:
        nodes, mass = np.arange(len(robot.engine.tree.inertia)), robot.engine.tree.inertia[:, 5, 5].sum() or 1.0
        g, _, J, _ = robot.engine.jacobians(nodes, q, np.zeros_like(q), False)
        size = extent(g[:, :3, 3]) or 1.0
        moves = np.mean((J[:, :, free] * np.repeat([size, 1.0], 3)[:, None]) ** 2, axis=0).sum(axis=0)
        return np.diag(np.sqrt(np.maximum(np.diag(M), MASSLESS * mass * moves + 1e-300)))


class OdeSystem:
    """Motion of a robot as dx/dt = rhs(t, x), x = [q; qd; d]: free coordinates, rates, strains of Maxwell elements.

    Baumgarte stabilisation of time constant `closing_time` [s] keeps loops from drifting open (docs/theory.md, 9).
    """

    def __init__(self, robot: Robot, prescribed: Prescribed, closing_time: float = 0.01) -> None:
        self.robot, self.prescribed, layout = robot, prescribed, robot.engine.layout
        prescribed.check_lengths()
        self.inputs, self.driven, self.partition = prescribed.inputs, prescribed.motion, prescribed.partition
        self.closing = np.array([2.0 / closing_time, 1.0 / closing_time**2, -1.0])
        self.charts = Charts(layout, self.partition.mask)
        self.chart_limit = ChartLimit(layout, self.partition.mask)
        self.n_free = len(self.partition.free)
        self.maxwell = robot.engine.companion(MaxwellElements)
        self.n_strains = self.maxwell.n
        # with elements its rest is theirs, see `set_internal_variables`
        self.engine = self.maxwell.private_engine() if self.n_strains else robot.engine
        # what solvers with multipliers of their own found at rows: time -> accelerations, multipliers, and whether rows
        # of loops depend on each other there, so that the multipliers may not be the smallest
        self.rows: dict[float, tuple[Array, Array, bool]] = {}
        self.loop_monitor = LoopMonitor(robot)

    @cached_property
    def strain_rows(self) -> Array:
        """Derivatives (n_strains, size) of the rates of strains by x."""
        n, driven, along = self.n_free, self.partition.mask, self.maxwell.column
        out, own = np.zeros((self.n_strains, self.size)), np.arange(self.n_strains)
        numbers = np.cumsum(~driven) - 1  # of the free coordinates
        out[own[~driven[along]], n + numbers[along[~driven[along]]]] = 1.0
        out[own, 2 * n + own] = -1.0 / self.maxwell.time
        return out

    @cached_property
    def _shifted_unit(self) -> Array:
        """What Jacobians begin with: [0 1; 0 0], and the rates of strains below."""
        n = self.n_free
        out = np.eye(self.size, k=n)
        out[n:] = 0.0
        out[2 * n :] = self.strain_rows
        return out

    @property
    def size(self) -> int:
        """Length of x."""
        return 2 * self.n_free + self.n_strains

    def state(self, q: Array, qd: Array, strain: Array = NO_STRAINS) -> Array:
        """x from coordinates, rates and strains of Maxwell elements."""
        return np.concatenate([q[self.partition.free], qd[self.partition.free], strain])

    def tolerances(self, atol: float) -> Array:
        """Absolute tolerances (size,) of a state, atol being that of coordinates."""
        out = np.full(self.size, atol)
        rate = float(self.closing[0])  # 0: multipliers keep loops closed, not accelerations
        out[self.n_free : 2 * self.n_free] /= rate_time(self.robot, 2.0 / rate) if rate > 0.0 else 1.0
        return out

    def coordinates(self, t: float, x: Array) -> tuple[Array, Array, Array, Array]:
        """Coordinates, rates, accelerations as far as they are prescribed (zero elsewhere), and strains."""
        # fresh arrays: integrators may pass read-only views, for which the kernels would be compiled anew
        out, n = np.zeros((3, self.robot.ndof)), 2 * self.n_free
        if self.n_free == self.robot.ndof:
            out[:2] = x[:n].reshape(2, -1)
        else:
            out[:2, self.partition.free] = x[:n].reshape(2, -1)
            out[:, self.partition.driven] = self.driven.jets(t).T
        return out[0], out[1], out[2], np.array(x[n:])

    def begin(self, t: float, x: Array) -> None:
        """Determine the rank of the constraint rows, in a state with closed loops."""
        if not self.robot.n_multipliers and self.closing[2] == 0.0:
            return  # known from the first start, which has told whether the mass is regular
        q, qd, qdd, strain = self.coordinates(t, x)
        self.closing[2] = int(self.forward(task.FORWARD, t, q, qd, qdd, strain).regularity[0])
        if self.robot.n_multipliers:
            A = self.robot.loop_rows(q).A
            moved, every = (IndependentRows(self.engine, X).rank for X in (A[:, self.partition.free], A))
            if moved < every:
                self.loop_monitor.expect_driven_conflict()

    def rhs(self, t: float, x: Array) -> Array:
        """dx/dt (size,)."""
        q, qd, qdd, strain = self.coordinates(t, x)
        self.forward(task.FORWARD, t, q, qd, qdd, strain)
        free = self.partition.free
        if not self.n_strains:
            return np.concatenate([qd[free], qdd[free]])
        return np.concatenate([qd[free], qdd[free], self.maxwell.rates(qd, strain)])

    def jacobian(self, t: float, x: Array) -> Array:
        """d(dx/dt)/dx (size, size)."""
        q, qd, qdd, strain = self.coordinates(t, x)
        evaluation, n = self.forward(task.FORWARD_DERIVATIVES, t, q, qd, qdd, strain), self.n_free
        out, rows = self._shifted_unit.copy(), slice(n, 2 * n)
        if n == self.robot.ndof:
            out[rows, :n], out[rows, rows] = evaluation.by_q, evaluation.by_qd
        else:
            free = np.ix_(self.partition.free, self.partition.free)
            out[rows, :n], out[rows, rows] = evaluation.by_q[free], evaluation.by_qd[free]
        if self.n_strains:
            compliance = self._acceleration_by_force(evaluation)[self.partition.free]
            out[rows, 2 * n :] = -compliance @ self.maxwell.force_by_strain(self.partition.free)
        return out

    def _acceleration_by_force(self, evaluation: Evaluation) -> Array:
        """Derivative (ndof, n_free) of accelerations by forces along free coordinates, after FORWARD_DERIVATIVES."""
        unit = np.eye(self.robot.ndof)
        if self.robot.n_multipliers:
            evaluation.saddle.right[:] = 0.0
            solve_constrained_columns(self.engine.loops, evaluation.mass, evaluation.saddle, unit)
        else:
            cholesky_solve(evaluation.mass, unit)
        return unit[:, self.partition.free]

    def set_internal_variables(self, strain: Array) -> None:
        """Let Maxwell elements with these strains pull in `engine`."""
        if self.n_strains:
            self.maxwell.apply(strain, self.engine)

    def forces(self, t: float, x: Array) -> tuple[Array, Array]:
        """Forces (n_driven,) that the driven coordinates need, and multipliers (m,) of the loops."""
        if not (len(self.partition.driven) or self.robot.n_multipliers):
            return np.zeros(0), np.zeros(0)
        q, qd, qdd, strain = self.coordinates(t, x)
        if t in self.rows:
            qdd, multiplier, dependent = self.rows[t]
            multiplier = self.smallest(q, multiplier) if dependent else multiplier
        else:
            multiplier = self.forward(task.FORWARD, t, q, qd, qdd, strain).closure.multiplier
        evaluation = self.residual(task.RESIDUAL, t, q, qd, qdd, multiplier, strain)
        if len(multiplier):
            self.loop_monitor.check_errors(t, evaluation)
        return evaluation.tau[self.partition.driven], multiplier

    def smallest(self, q: Array, multiplier: Array) -> Array:
        """The smallest multipliers (m,) with the same forces on free coordinates."""
        rows = self.robot.loop_rows(q)
        return IndependentRows(self.engine, rows.A[:, self.partition.free], rows.error).smallest(multiplier)

    def residual(
        self, what: task.Task, t: float, q: Array, qd: Array, qdd: Array, multiplier: Array, strain: Array = NO_STRAINS
    ) -> Evaluation:
        """Residual of the equations of motion under given multipliers, with its derivatives by `what`."""
        u = self.inputs.value(t)
        self.set_internal_variables(strain)
        return self.engine.evaluate(what, q, qd, qdd, u, t, multiplier=multiplier)

    def forward(
        self, what: task.Task, t: float, q: Array, qd: Array, qdd: Array, strain: Array = NO_STRAINS,
        stiffening: float = 0.0,
    ) -> Evaluation:  # fmt: skip
        """Forward dynamics at the prescribed accelerations in qdd; the others are filled in.

        stiffening [s^2]: as in `kernels.evaluate.forward`, of `task.FORWARD`, by accelerations of zero.
        """
        u, known, engine = self.inputs.value(t), self.partition.mask, self.engine
        self.set_internal_variables(strain)
        with self.maxwell.answering_at_once(engine, q) if stiffening and self.n_strains else nullcontext():
            if what == task.FORWARD and choose_algorithm(engine, None, FORWARD, FASTEST) == "articulated":
                none, n = np.empty((0, 0)), engine.ndof
                qdd[:] = forward_by_articulated(engine, q, qd, qdd, u, t, known, stiffening)
                return Evaluation(np.empty(n), none, none, none, none, qdd, *engine.closure)
            if stiffening:
                what, qdd[~known] = what._replace(arguments=(False, False, stiffening)), 0.0
            evaluation = engine.evaluate(what, q, qd, qdd, u, t, known=known, closing=self.closing)
        if self.robot.n_multipliers:
            self.loop_monitor.check_rank(t, engine.closure[1])
        return evaluation

    # -- large rotations -------------------------------------------------------------------------------------------

    def rotation_excess(self, t: float, x: Array) -> float:
        """Largest rotation minus the limit at which its coordinates are changed [rad], negative below it."""
        return self.charts.largest_angle(self.coordinates(t, x)[0]) - FARTHEST

    def rotation_event(self, t: float, x: Array) -> float:
        """The same, or how far one that cannot be changed is from the end of its range, whichever is nearer."""
        q = self.coordinates(t, x)[0]
        return max(self.charts.largest_angle(q) - FARTHEST, self.chart_limit.beyond(q))

    def recharted(self, t: float, x: Array) -> Array:
        """The same state with rotations of at most half a turn (docs/theory.md, 8)."""
        q, qd, _, strain = self.coordinates(t, x)
        return self.state(*self.charts.recharted(q, qd), strain)
