"""Statics of a large tree, whose linear systems are solved along it in O(n) (docs/theory.md, 17)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from sorosim.arrays import Array
from sorosim.equations.callbacks import LONGEST_STEP, extent_of
from sorosim.equations.system import StaticSystem
from sorosim.errors import ModelError
from sorosim.kernels import evaluate as task
from sorosim.kernels.tangent import (
    factor_tangent,
    longest_displacement,
    make_tangent,
    mass_product,
    solve_tangent,
    wrench_terms,
)
from sorosim.kernels.tree import BLOCK_COLUMN, BLOCK_N, Tree
from sorosim.solvers.newton import ROUNDING


class TreeStatics:
    """A static system as `solvers.damped_newton` wants it; forces are NaN at states where the model has none.

    Its metric W is elastic stiffness, and inertia over 1 s^2, which regularises coordinates without stiffness.
    """

    def __init__(self, system: StaticSystem, x: Array) -> None:
        """x (n,): where the search begins; its extent is the scale of displacements."""
        self.system, self.why = system, ""
        self._engine = system.robot.engine
        self._tangent = make_tangent(self._engine.tree)
        self._node = np.zeros_like(self._tangent.node)
        self._loaded = bool(self._engine.loading)
        self._internal = np.zeros_like(self._engine.elastic.stiffness)
        self._elastic = _block_diagonal(self._engine.tree, self._engine.elastic.stiffness)
        self._extent = extent_of(system.robot, system.q(x))

    def residual(self, x: Array, load: float) -> Array:
        """Residual (n,)."""
        return self._evaluate(task.RESIDUAL, x, load)

    def linearise(self, x: Array, load: float) -> Array:
        """Residual (n,); the workspace has its derivatives."""
        residual = self._evaluate(task.LINEARISE, x, load)
        self._internal[:] = self._engine.workspace.internal[0]
        return residual

    def _evaluate(self, what: int, x: Array, load: float) -> Array:
        try:
            return self.system.evaluate(what, self.system.q(x, load), load).tau[self.system.partition.free]
        except ModelError as error:
            self.why = f" ({error})"
            return np.full(len(x), np.nan)

    def factor(self, damping: float, definite: bool) -> bool:
        """Factor K + damping W; whether it is regular, and positive definite if `definite` asks for it."""
        known, stiffness = self.system.partition.mask, self._engine.elastic.stiffness
        self._engine.workspace.internal[0] = self._internal - damping * stiffness
        arguments = (
            self._engine.tree, known, 0.0, damping, False, self._loaded, definite, False, self._engine.workspace,
            self._tangent,
        )  # fmt: skip
        return int(self._engine.prepared(factor_tangent, arguments)(*arguments)) < 0

    def solve(self, right: Array) -> Array:
        """(K + damping W)^-1 right."""
        arguments = self._engine.tree, self._tangent, self._full(right)
        self._engine.prepared(solve_tangent, arguments)(*arguments)
        return arguments[2][self.system.partition.free]

    def weigh(self, dx: Array) -> tuple[Array, float]:
        """W dx, and the largest turn or displacement of a node over that of the longest step."""
        tree, ws, out = self._engine.tree, self._engine.workspace, self._engine.zero_rates
        full = self._full(dx)
        product = tree, ws, full, self._node, out
        self._engine.prepared(mass_product, product)(*product)
        length = tree, ws, self._node, self._extent
        longest = float(self._engine.prepared(longest_displacement, length)(*length))
        out += self._elastic @ full
        return out[self.system.partition.free], longest / LONGEST_STEP

    def rounding(self) -> Array:
        """Rounding errors (n,) of the residual: of the terms of inverse dynamics, and of internal forces."""
        ws = self._engine.workspace
        terms = np.abs(ws.vector[0])
        arguments = self._engine.tree, ws, terms
        self._engine.prepared(wrench_terms, arguments)(*arguments)
        return np.asarray(ROUNDING * terms[self.system.partition.free])

    def _full(self, x: Array) -> Array:
        out = self._engine.zero_rates
        out[self.system.partition.free] = x
        return out


def _block_diagonal(tree: Tree, blocks: Array) -> csr_array:
    """Matrix (ndof, ndof) from one matrix a block, flat."""
    n = tree.block[:, BLOCK_N]
    size = np.repeat(n, n)  # of the block of each coordinate
    first = np.repeat(tree.block[:, BLOCK_COLUMN], n)
    columns = np.concatenate([np.arange(a, a + k) for a, k in zip(first, size, strict=True)] or [np.zeros(0, int)])
    return csr_array((blocks, columns, np.concatenate([[0], np.cumsum(size)])), shape=(len(size), len(size)))
