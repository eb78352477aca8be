"""Statics of a large robot, whose linear systems are solved along its tree in O(n) (docs/theory.md, 17)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from sorosim.analysis.equations.callbacks import LONGEST_STEP, extent_of
from sorosim.analysis.equations.system import StaticSystem
from sorosim.analysis.solvers.newton import ROUNDING
from sorosim.base.arrays import Array
from sorosim.base.errors import ModelError
from sorosim.mechanics.dynamics.linearised_tree import LinearisedTree
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.kernels.evaluate import State
from sorosim.mechanics.kernels.tangent import longest_displacement, wrench_terms
from sorosim.mechanics.kernels.tree import Tree

# errors of loops that are rounding [rad], or parts of their extent
CLOSED = 1e-12
# compliance of rows of loops, relative to what they yield by: it picks the smallest of multipliers that depend on each
# other
COMPLIANCE = 1e-10
# damping at which the metric is all that counts
METRIC = 1e9


class TreeStatics:
    """A static system as `solvers.damped_newton` wants it; forces are NaN at states where the model has none.

    Its unknowns are the free coordinates and the multipliers of the loops, in their own units. Its metric W is elastic
    stiffness, and inertia over 1 s^2, which regularises coordinates without stiffness.
    """

    def __init__(self, system: StaticSystem, q: Array) -> None:
        """q (ndof,): where the search begins; its extent is the scale of displacements."""
        self.system, self.why, self.n = system, "", system.n_free
        self._engine = engine = system.robot.engine
        self._tree = LinearisedTree(engine)
        self._internal = np.zeros_like(engine.elastic.stiffness)
        self._elastic = _block_diagonal(engine.tree, engine.elastic.stiffness)
        self._extent = extent_of(system.robot, q)
        self._compliance = np.zeros(len(system.weight))
        if len(system.weight):
            self._compliance = COMPLIANCE * self._yielding(q) / engine.loops.row_scale**2
            self._tree.compliance[:] = self._compliance

    @property
    def is_certain(self) -> bool:
        """Whether `factor` knows for certain that a matrix is definite, by its factors."""
        return not self._tree.is_sparse

    def residual(self, x: Array, load: float) -> Array:
        """Residual (n,)."""
        return self._evaluate(task.RESIDUAL, x, load)

    def linearise(self, x: Array, load: float) -> Array:
        """Residual (n,); the workspace has its derivatives."""
        residual = self._evaluate(task.LINEARISE_CLOSED, x, load)
        self._internal[:] = self._engine.workspace.internal[0]
        return residual

    def along_load(self, x: Array, load: float) -> tuple[Array, Array]:
        """Residual (n,) as by `linearise`, and its derivative by the load."""
        system, dq = self.system, self._engine.zero_rates
        heavier = self._evaluate(task.RESIDUAL, x, load, 1.0) if system.has_weight else None
        residual, (du, dq[system.partition.driven]) = self.linearise(x, load), system.raised
        change, errors = self._tree.apply_closed(dq, du)
        slope = np.append(change[system.partition.free], errors + system.gap)
        return residual, slope if heavier is None else slope + heavier - residual

    def _evaluate(self, what: task.Task, x: Array, load: float, more: float = 0.0) -> Array:
        engine, q = self._engine, self.system.q(x, load)
        try:
            evaluation = self.system.evaluate(what, q, load, self.system.multipliers(x), more)
        except ModelError as error:
            self.why = f" ({error})"
            return np.full(len(x), np.nan)
        u, known = self.system.inputs(load), self.system.partition.mask
        state = State(q, engine.zero_rates, u, engine.gravity, known, np.zeros(3))
        self._tree.take(state, engine.external, evaluation.closure, False)
        return self.system.assembled(evaluation, load)

    def factor(self, damping: float, definite: bool) -> bool:
        """Factor K + damping W; whether it is regular, and where `definite` asks for it, not seen to be indefinite.

        That is certain of what is eliminated along the tree.
        """
        self._engine.workspace.internal[0] = self._internal - damping * self._engine.elastic.stiffness
        self._tree.compliance[:] = self._compliance / (1.0 + damping)  # of rows that yield so much less
        return self._tree.factor(0.0, damping, definite=definite)

    def solve(self, right: Array) -> Array:
        """(K + damping W)^-1 right."""
        x, multiplier = self._full(right), np.empty(len(right) - self.n)
        self._tree.solve(x, right[self.n :], multiplier)
        return np.concatenate([x[self.system.partition.free], multiplier])

    def weigh(self, dx: Array) -> tuple[Array, float]:
        """W dx, and the largest turn or displacement of a node over that of the longest step."""
        full = self._full(dx)
        out = self._tree.mass_product(full) + self._elastic @ full
        length = self._engine.tree, self._engine.workspace, self._tree.tangent.node, self._extent
        longest = float(self._engine.prepared(longest_displacement, length)(*length))
        return np.append(out[self.system.partition.free], np.zeros(len(dx) - self.n)), longest / LONGEST_STEP

    def rounding(self) -> Array:
        """Rounding errors (n,) of the residual: of inverse dynamics, internal forces, errors of loops."""
        ws = self._engine.workspace
        terms = np.abs(ws.vector[0])
        arguments = self._engine.tree, ws, terms
        self._engine.prepared(wrench_terms, arguments)(*arguments)
        forces = np.asarray(ROUNDING * terms[self.system.partition.free])
        return np.append(forces, CLOSED / self._engine.loops.row_scale)

    def is_closed(self, residual: Array) -> bool:
        """Whether the errors of all loops, the last of a residual, are rounding."""
        return bool((np.abs(residual[self.n :]) * self._engine.loops.row_scale <= CLOSED).all())

    def _yielding(self, q: Array) -> float:
        """Estimate of the displacement of rows under unit multipliers, errors in rad: the mean of one probe."""
        engine, zero = self._engine, self._engine.zero_rates
        size, sign = engine.loops.row_scale, np.random.default_rng(2).choice([-1.0, 1.0], len(self.system.weight))
        forces = [self.system.evaluate(task.RESIDUAL, q, multiplier=one).tau for one in (0.0 * sign, size * sign)]
        self._tree.linearise(q, zero, zero.copy(), self.system.u, known=self.system.partition.mask)
        engine.workspace.internal[0] = -METRIC * engine.elastic.stiffness
        self._tree.compliance[:] = np.inf  # loops are left open
        self._tree.factor(0.0, METRIC)
        moved = self._full((forces[0] - forces[1])[self.system.partition.free])
        self._tree.solve(moved)
        rate = engine.evaluate(task.ERRORS, q, METRIC * moved, zero, self.system.u).closure.rate
        return float(np.mean(np.abs(size * rate)))

    def _full(self, x: Array) -> Array:
        out = self._engine.zero_rates
        out[self.system.partition.free] = x[: self.n]
        return out


def _block_diagonal(tree: Tree, blocks: Array) -> csr_array:
    """Matrix (ndof, ndof) from one matrix a block, flat."""
    n = tree.block["n"]
    size = np.repeat(n, n)  # of the block of each coordinate
    first = np.repeat(tree.block["column"], n)
    columns = np.concatenate([np.arange(a, a + k) for a, k in zip(first, size, strict=True)] or [np.zeros(0, int)])
    return csr_array((blocks, columns, np.concatenate([[0], np.cumsum(size)])), shape=(len(size), len(size)))
