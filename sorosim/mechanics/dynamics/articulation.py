"""Forward and hybrid dynamics in O(N) (docs/theory.md, 5): the compiled sweeps, with room for each thread."""

from __future__ import annotations

import threading

import numpy as np

from sorosim.base.arrays import Array, Mask
from sorosim.base.compiled import OfFirstTypes
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.engine.records import HybridDynamics
from sorosim.mechanics.kernels.articulated import Articulated, forward_articulated, make_articulated, solve_columns

# columns that are solved for at once: their room stays in the cache
COLUMN_BLOCK = 64


class _Workspace:
    def __init__(self, engine: Engine) -> None:
        tree = engine.tree
        n, ndof = len(tree.segment) + 1, len(tree.rows)
        self.parts: Articulated = make_articulated(tree)
        self.wrench, self.force = np.zeros((n, 6, 1)), np.zeros((ndof, 1))
        self._wrenches, self._columns = np.zeros(n * 6 * COLUMN_BLOCK), np.zeros(ndof * COLUMN_BLOCK)

    def of_columns(self, m: int) -> tuple[Array, Array]:
        """Room for m columns in parts of the same size, as few of them as there is room for."""
        width = -(-m // -(-m // COLUMN_BLOCK)) if m else 1
        n, ndof = len(self._wrenches) // (6 * COLUMN_BLOCK), len(self._columns) // COLUMN_BLOCK
        return self._wrenches[: n * 6 * width].reshape(n, 6, width), self._columns[: ndof * width].reshape(ndof, width)


class Articulation:
    """Articulated bodies of the tree of an engine; its loops are left open."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._local = threading.local()
        self._forward, self._solve = OfFirstTypes(forward_articulated), OfFirstTypes(solve_columns)

    @property
    def workspace(self) -> _Workspace:
        """Room of this thread."""
        if not hasattr(self._local, "workspace"):
            self._local.workspace = _Workspace(self.engine)
        own: _Workspace = self._local.workspace
        return own

    def motion(
        self, q: Array, qd: Array, qdd: Array, u: Array, t: float, known: Mask, tau: Array | None = None,
        stiffening: float = 0.0,
    ) -> HybridDynamics:  # fmt: skip
        """Hybrid dynamics: qdd is read where it is known, elsewhere tau; default: the internal force.

        stiffening [s^2]: as in `kernels.evaluate.forward`, by accelerations of zero.

        Raises ModelError naming the coordinate that moves no mass.
        """
        engine, workspace = self.engine, self.workspace
        known_qdd = np.where(known, qdd, 0.0)
        evaluation = engine.evaluate(task.PREPARE, q, qd, known_qdd, u, t)
        force = evaluation.tau if tau is None else np.array(tau, dtype=float)
        failed = self._forward(
            engine.tree, known, stiffening, engine.elastic.stiffness, engine.workspace, workspace.parts,
            workspace.wrench, workspace.force, known_qdd, force,
        )  # fmt: skip
        if failed >= 0:
            raise engine.singular_mass_error(failed)
        return HybridDynamics(known_qdd, force)

    def solve(self, known: Mask, B: Array) -> Array:
        """M_ff^-1 B (ndof, m) in the rows of free coordinates, zero elsewhere, at the state of the last `motion`."""
        out = np.array(B, dtype=float, order="C")
        self.solve_in_place(known, 1.0, out)
        return out

    def solve_in_place(self, known: Mask, scale: float, *matrices: Array) -> None:
        """Overwrite matrices X (ndof, m), contiguous, with scale M_ff^-1 X; see `solve`."""
        engine, workspace = self.engine, self.workspace
        for X in matrices:
            columns = workspace.of_columns(X.shape[1])
            self._solve(engine.tree, known, engine.workspace, workspace.parts, *columns, scale, X)
