"""The linearised equations of motion of a tree: products and solutions without forming them (docs/theory.md, 17).

Blocks are eliminated along the tree, O(n). Those that contacts, springs and loops couple with distant ones are one
sparse system, which SuperLU factors.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from sorosim.base.arrays import Array, IntArray, Mask
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.engine.tasks import LINEARISE_CLOSED
from sorosim.mechanics.kernels.couplings import N_NODES, make_couplings, place_couplings
from sorosim.mechanics.kernels.evaluate import Evaluation, State
from sorosim.mechanics.kernels.external import ExternalForces
from sorosim.mechanics.kernels.loops import Closure, loop_couplings, motor_columns
from sorosim.mechanics.kernels.products import N_NODE, residual_product, residual_product_transposed
from sorosim.mechanics.kernels.sparse_tangent import assemble
from sorosim.mechanics.kernels.tangent import Tangent, eliminate, factor_tangent, make_tangent, mass_product, substitute

# where there was no room, there is for more by this factor
GROWTH = 1.5


class Entries(NamedTuple):
    """Room for the entries of a sparse matrix, and its size (1,)."""

    value: Array
    row: IntArray
    column: IntArray
    size: IntArray


def _make_entries(n: int) -> Entries:
    return Entries(np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros(1, dtype=np.int64))


class SparseFactors:
    """Factors of a sparse matrix; the order of its columns is found anew only where its pattern is another one."""

    def __init__(self) -> None:
        self._pattern: tuple[IntArray, IntArray] | None = None
        self._lu: Any = None
        self._place: IntArray | None = None  # of each column in the factored matrix, where that is ordered before

    def factor(self, value: Array, row: IntArray, column: IntArray, size: int) -> bool:
        """Factors of the sum of entries; whether the matrix is regular."""
        if not np.isfinite(value).all():
            return False
        same = self._pattern is not None and all(map(np.array_equal, self._pattern, (row, column)))
        if not same:
            self._pattern, self._place = (row.copy(), column.copy()), None
        elif self._place is None:
            self._place = self._lu.perm_c.astype(np.int64)
        if self._place is not None:
            column = self._place[column]
        try:
            matrix = csc_array((value, (row, column)), shape=(size, size))
            self._lu = splu(matrix, permc_spec="COLAMD" if self._place is None else "NATURAL")
        except RuntimeError:  # exactly singular
            self._pattern = None
            return False
        return True

    def solve(self, right: Array) -> Array:
        """Solution (n,)."""
        x: Array = self._lu.solve(right)
        return x if self._place is None else x[self._place]


class LinearisedTree:
    """R_q, R_qd and M of the residual R of an engine in one state, and T = R_q + v R_qd + s M. By one thread.

    `solve` solves T dq - A^T l = r, E dq + C l = e, with A and E of the loops of the engine. C is diagonal, the
    compliance of loops: none, but where statics asks for some.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine, self._factors = engine, SparseFactors()
        self._entries = _make_entries(0)
        self.is_sparse, self._first_loop = False, 0  # whether any blocks were kept
        self.compliance = np.zeros(engine.loop_layout.m)  # of rows of loops; infinite: their multipliers are zero

    @cached_property
    def tangent(self) -> Tangent:
        """Factors of T along the tree."""
        return make_tangent(self.engine.tree, make_couplings(self.engine.tree, self.engine.external.coupling))

    @cached_property
    def _node(self) -> Array:
        return np.zeros((len(self.engine.tree.segment) + 1, N_NODE))

    def linearise(
        self, q: Array, qd: Array, qdd: Array, u: Array, t: float = 0.0, known: Mask | None = None,
        multiplier: Array | None = None,
    ) -> Evaluation:  # fmt: skip
        """Linearise in a state, to which all other methods refer; its residual and closure. See `Engine.evaluate`."""
        engine = self.engine
        known = engine.none_known if known is None else known
        out = engine.evaluate(LINEARISE_CLOSED, q, qd, qdd, u, t, known=known, multiplier=multiplier)
        position, rates, inputs = (np.ascontiguousarray(x, dtype=float) for x in (q, qd, u))
        state = State(position, rates, inputs, engine.gravity, known, np.zeros(3))
        self.take(state, engine.external, out.closure, bool(qd.any() or qdd.any()))
        return out

    def take(self, state: State, external: ExternalForces, closure: Closure, moving: bool) -> None:
        """Go on from `kernels.evaluate.linearise` with these arguments; moving: whether anything moves."""
        self._state, self._external, self._closure, self._moving = state, external, closure, moving

    def apply(self, dq: Array, dqd: Array, du: Array) -> Array:
        """Change (ndof,) of the residual along (dq, dqd, du); loops are left open, accelerations stay."""
        engine, change = self.engine, np.empty(self.engine.ndof)
        state = engine.system, self._state, self._external, self._moving
        self._call(residual_product, *state, dq, dqd, du, engine.workspace, self._node, change)
        return change

    def apply_closed(self, dq: Array, du: Array) -> tuple[Array, Array]:
        """Change of the residual at rest, loops closed by multipliers that stay, and of the errors (m,) of loops."""
        engine, coupling, n = self.engine, self._external.coupling, len(self.engine.loops.row)
        if not n:
            return self.apply(dq, engine.zero_rates, du), np.zeros(0)
        B = np.zeros((engine.ndof, engine.n_actuators))
        self._call(loop_couplings, engine.loops, self._closure, engine.workspace, False, coupling)
        self._call(motor_columns, engine.tree, engine.loops, engine.workspace, self._closure, B)
        coupling.counts["n"] += n  # what loops pull with, between couplings of loads and constraints
        self._first_loop = int(coupling.counts["n"])
        change = self.apply(dq, engine.zero_rates, du) - B @ du
        coupling.counts["n"] -= n
        return change, self.errors_along(self._node)

    def apply_transposed(self, w: Array) -> tuple[Array, Array, Array]:
        """Transposed derivatives of the residual by q, qd (ndof,) and u (n_actuators,), times w (ndof,)."""
        engine, n = self.engine, self.engine.ndof
        out = np.empty(n), np.empty(n), np.empty(engine.n_actuators)
        state = engine.system, self._state, self._external, self._moving
        self._call(residual_product_transposed, *state, w, engine.workspace, self._node, *out)
        return out

    def mass_product(self, x: Array) -> Array:
        """M x (ndof,); leaves the displacements of nodes along x in `tangent.node`."""
        out = np.empty(len(x))
        self._call(mass_product, self.engine.tree, self.engine.workspace, x, self.tangent.node, out)
        return out

    def factor(self, rate: float, acceleration: float, *, definite: bool = False, inertia: bool = False) -> bool:
        """Factors of T, v = rate and s = acceleration; whether it is regular.

        definite : whether it must be positive definite, which is certain of what is eliminated along the tree.
        inertia : T = s M alone, and loops constrain accelerations, A dq = e.
        """
        engine, tree, ws, known = self.engine, self.engine.tree, self.engine.workspace, self._state.known
        external, moving, n_loops = self._external, self._moving and not inertia, len(self.engine.loops.row)
        if self.tangent.couplings.forms is not external.coupling:
            self.tangent = self.tangent._replace(couplings=self.tangent.couplings._replace(forms=external.coupling))
        couplings, actuators, workspace = self.tangent.couplings, engine.rod_actuators, external.actuators
        if n_loops:
            self._call(loop_couplings, engine.loops, self._closure, ws, inertia, external.coupling)
        self._first_loop = first = int(external.coupling.counts["n"]) + n_loops
        n = first + n_loops
        if not engine.has_local_tangent:
            placed = self._call(place_couplings, tree, actuators, workspace, inertia, first, n, ws, couplings)
            self.is_sparse = bool(placed)
        loaded = not inertia and bool(len(external.wrench) or n_loops)
        failed = self._call(
            factor_tangent, tree, known, rate, acceleration, moving, loaded, definite, inertia, ws, self.tangent
        )
        if failed >= 0 or not self.is_sparse:
            return bool(failed < 0)
        order = np.lexsort(couplings.block[: 0 if inertia else first].T).astype(np.int64)
        state = known, rate, moving, inertia, first, n, order, ws, self.tangent
        system = tree, actuators, workspace, engine.loops, self.compliance, *state
        while (count := int(self._call(assemble, *system, *self._entries))) > len(self._entries.value):
            self._entries = _make_entries(int(GROWTH * count))
        self._number()
        entries = self._entries
        return self._factors.factor(
            entries.value[:count], entries.row[:count], entries.column[:count], int(entries.size[0])
        )

    def _call(self, function: Any, *arguments: Any) -> Any:
        return self.engine.prepared(function, arguments)(*arguments)

    def _number(self) -> None:
        """Where the coordinates of kept blocks, and the multipliers, are among the unknowns."""
        tree, couplings, n_loops = self.engine.tree, self.tangent.couplings, len(self.engine.loops.row)
        blocks = np.flatnonzero(couplings.kept)
        size, first = tree.block["n"][blocks], tree.block["column"][blocks]
        inside = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        self._coordinates = np.repeat(first, size) + inside
        self._unknowns = np.repeat(couplings.at[blocks], size) + inside
        loops = slice(self._first_loop, self._first_loop + n_loops)
        begin = couplings.at[len(tree.block) + len(tree.segment) :][loops] - self.engine.loops.row["first_row"]
        self._multipliers = np.repeat(begin, self.engine.loops.row["n_rows"]) + np.arange(len(self.compliance))

    def solve(self, x: Array, error: Array | None = None, multiplier: Array | None = None) -> None:
        """Overwrite x (ndof,), the r above, with dq; with loops, e = error (m,), and multiplier (m,) becomes l."""
        self._call(eliminate, self.engine.tree, self.tangent, x)
        if self.is_sparse:
            right = np.zeros(int(self._entries.size[0]))
            right[self._unknowns] = x[self._coordinates]
            if error is not None:
                right[self._multipliers] = np.where(np.isfinite(self.compliance), -error, 0.0)
            found = self._factors.solve(right)
            x[self._coordinates] = found[self._unknowns]
            if multiplier is not None:
                multiplier[:] = found[self._multipliers]
        self._call(substitute, self.engine.tree, self.tangent, x)

    def errors_along(self, node: Array) -> Array:
        """E dx (m,), zero of rows without a multiplier, from the displacements (n, 6 or more) of all nodes along dx."""
        forms, loops = self._external.coupling, self.engine.loops.row
        own = slice(self._first_loop, self._first_loop + len(loops))
        nodes = forms.row["node"][own]
        moved = np.where(nodes[:, :, None] >= 0, node[nodes, :6], 0.0)
        rows = forms.right[own] @ moved.reshape(-1, 6 * N_NODES, 1)
        errors = np.concatenate([row[:n, 0] for row, n in zip(rows, loops["n_rows"], strict=True)])
        return np.where(np.isfinite(self.compliance), errors, 0.0)
