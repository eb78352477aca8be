"""The linearised equations of motion of a tree: products and solutions without forming them (docs/theory.md, 17).

Blocks are eliminated along the tree, O(n). Those that contacts, springs and loops couple with distant ones are one
sparse system, which SuperLU factors.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from sorosim.base.arrays import Array, IntArray, Mask
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.engine.tasks import LINEARISE_CLOSED
from sorosim.mechanics.kernels.couplings import N_NODES, SPARSE, make_couplings, place_couplings
from sorosim.mechanics.kernels.evaluate import Evaluation, State
from sorosim.mechanics.kernels.external import ExternalForces
from sorosim.mechanics.kernels.loops import Closure, loop_couplings, motor_columns
from sorosim.mechanics.kernels.products import N_NODE, residual_product, residual_product_transposed
from sorosim.mechanics.kernels.sparse_tangent import assemble
from sorosim.mechanics.kernels.tangent import Tangent, eliminate, factor_tangent, make_tangent, mass_product, substitute
from sorosim.mechanics.kernels.tree import Tree

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
    """Factors of a sparse matrix, its columns in the order that they have."""

    def __init__(self) -> None:
        self._pattern: tuple[IntArray, IntArray] | None = None
        self._slot: IntArray | None = None  # of each entry in the matrix, once its pattern has come twice
        self._matrix = csc_array((0, 0))
        self._lu: Any = None

    def factor(self, value: Array, row: IntArray, column: IntArray, size: int) -> bool:
        """Factors of the sum of entries; whether the matrix is regular."""
        if not np.isfinite(value).all():
            return False
        if self._pattern is None or not all(map(np.array_equal, self._pattern, (row, column))):
            self._pattern, self._slot = (row.copy(), column.copy()), None
            self._matrix = csc_array((value, (row, column)), shape=(size, size))
        else:
            if self._slot is None:  # sorting takes longer than adding once
                self._slot = np.unique(column * size + row, return_inverse=True)[1]
            self._matrix.data = np.asarray(np.bincount(self._slot, value), dtype=float)
        try:
            self._lu = splu(self._matrix, permc_spec="NATURAL")
        except RuntimeError:  # exactly singular
            return False
        return True

    def solve(self, right: Array) -> Array:
        """Solution (n,)."""
        x: Array = self._lu.solve(right)
        return x


def elimination_sequence(tree: Tree, kept: IntArray, blocks: IntArray, loops: Mapping[int, IntArray]) -> IntArray:
    """Sequence in which kept blocks are eliminated: tips first, and of these the one with the fewest neighbours.

    A chain then hands on 6 wrenches by 18 motions; sequences that know the pattern alone hand on 24 unknowns by 24.
    blocks (n, 4): of couplings, -1: none; loops: those of constraints. Constraint c comes, as -1 - c, after the last of
    its blocks.
    """
    chosen = np.flatnonzero(kept)
    place = np.full(len(kept) + 1, -1)  # -1 stays -1
    place[chosen] = np.arange(len(chosen))
    base = tree.block["parent"][chosen]
    above = np.where(base >= 0, place[tree.segment["block"][base]], -1).tolist()
    near = [0] * len(chosen)  # bits of the blocks that share equations with a block, and its own
    own = [1 << b if a < 0 else 1 << b | 1 << a for b, a in enumerate(above)]  # and of the one before
    coupled = np.unique(np.concatenate([blocks, *(row[None] for row in loops.values())]), axis=0)
    for members in [*([b] for b in range(len(chosen))), *place[coupled].tolist()]:
        bits = 0
        for b in members:
            if b >= 0:
                bits |= own[b]
        for b in members:
            if b >= 0:
                near[b] |= bits
                if above[b] >= 0:
                    near[above[b]] |= bits
    found = _fewest_neighbours(near, above)
    when = np.full(len(chosen) + 1, -1)
    when[found] = np.arange(len(found))
    after = [int(when[place[row]].max()) for row in loops.values()]
    both = np.array([*chosen[found].tolist(), *(-1 - c for c in loops)], dtype=np.int64)
    return both[np.argsort([*range(len(found)), *after], kind="stable")]


def _fewest_neighbours(near: list[int], above: list[int]) -> list[int]:
    """Nodes of a forest, none before those that hang on it, each time one with the fewest neighbours.

    near: those of each node, and itself, as bits.
    """
    hanging = [0] * len(near)
    for a in above:
        if a >= 0:
            hanging[a] += 1
    free = [(bits.bit_count(), -b, b) for b, bits in enumerate(near) if not hanging[b]]
    heapify(free)
    found, gone = [], [False] * len(near)
    while free:
        count, _, b = heappop(free)
        if gone[b] or count != near[b].bit_count():
            continue
        gone[b], changed = True, []
        found.append(b)
        rest = near[b] & ~(1 << b)
        while rest:
            bit = rest & -rest
            rest ^= bit
            other = bit.bit_length() - 1
            near[other] = (near[other] | near[b]) & ~(1 << b)
            changed.append(other)
        if (a := above[b]) >= 0:
            hanging[a] -= 1
            changed.append(a)
        for other in changed:
            if not hanging[other]:
                heappush(free, (near[other].bit_count(), -other, other))
    return found


class LinearisedTree:
    """R_q, R_qd and M of the residual R of an engine in one state, and T = R_q + v R_qd + s M. By one thread.

    `solve` solves T dq - A^T l = r, E dq + C l = e, with A and E of the loops of the engine. C is diagonal, the
    compliance of loops: none, but where statics asks for some.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine, self._factors = engine, SparseFactors()
        self._entries = _make_entries(0)
        self._coupled: list[IntArray] = []  # what the sequence of elimination goes by
        self._sequence = np.zeros(0, dtype=np.int64)
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
        self._choose_sequence(0 if not inertia else first, first, n)
        state = known, rate, moving, inertia, first, n, order, self._sequence, ws, self.tangent
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

    def _choose_sequence(self, begin: int, first_loop: int, n: int) -> None:
        """The sequence of elimination for couplings from `begin` to n, where it is another one."""
        couplings = self.tangent.couplings
        number = begin + np.flatnonzero(couplings.next[begin:n] == SPARSE)
        coupled = [couplings.kept.copy(), number, couplings.block[number]]
        if len(self._coupled) == len(coupled) and all(map(np.array_equal, self._coupled, coupled)):
            return
        self._coupled, loads = coupled, number < first_loop
        loops = dict(zip(number[~loads].tolist(), coupled[2][~loads], strict=True))
        self._sequence = elimination_sequence(self.engine.tree, couplings.kept, coupled[2][loads], loops)

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
