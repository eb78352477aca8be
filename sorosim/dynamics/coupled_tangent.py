"""Linear systems of trees in which more couples than the tree does: contacts, springs, tendons (docs/theory.md, 17).

What lies between couplings of several blocks is one sparse system, which SuperLU factors; the rest is eliminated along
the tree.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from sorosim.arrays import Array, IntArray, Mask
from sorosim.engine.engine import Engine
from sorosim.kernels.couplings import assemble, gather_couplings, make_couplings, place_couplings
from sorosim.kernels.external import ExternalForces
from sorosim.kernels.surfaces import LINKED
from sorosim.kernels.tangent import eliminate, factor_tangent, make_tangent, substitute
from sorosim.kernels.tree import BLOCK_COLUMN, BLOCK_N

# where there was no room, there is for more by this factor
GROWTH = 1.5


class CoupledTangent:
    """T dq = r, T = R_q + v R_qd + s R_qdd, of an engine and its couplings; by one thread."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.tangent = make_tangent(engine.tree, make_couplings(engine.tree, 0))
        self._room(0)
        self._lu = None
        self._size = np.zeros(1, dtype=np.int64)
        self._pattern: tuple[IntArray, IntArray] | None = None  # of the matrix whose order of columns is known
        self._order: IntArray = np.zeros(0, dtype=np.int64)
        self._coordinates: IntArray = np.zeros(0, dtype=np.int64)  # of kept blocks
        self._unknowns: IntArray = np.zeros(0, dtype=np.int64)  # where they are

    def _room(self, n: int) -> None:
        self._entries, self._rows, self._columns = np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)

    def factor(
        self, external: ExternalForces, known: Mask, rate: float, acceleration: float, moving: bool, definite: bool
    ) -> bool:
        """Factors, after evaluate's task LINEARISE with these external forces; whether T is regular.

        The other arguments are those of `kernels.tangent.factor_tangent`.
        """
        engine, tree, ws = self.engine, self.engine.tree, self.engine.workspace
        most = int(external.contact.counts[LINKED]) + len(external.pair)
        if most > len(self.tangent.couplings.n_rows):
            self.tangent = self.tangent._replace(couplings=make_couplings(tree, int(GROWTH * most)))
        couplings = self.tangent.couplings
        gather = tree, external, couplings
        n = int(engine.prepared(gather_couplings, gather)(*gather))
        actuators, workspace = engine.rod_actuators, external.actuators
        place = tree, actuators, workspace, n, ws, couplings
        sparse = bool(engine.prepared(place_couplings, place)(*place))
        loaded = len(external.wrench) > 0
        factor = tree, known, rate, acceleration, moving, loaded, definite, ws, self.tangent
        if engine.prepared(factor_tangent, factor)(*factor) >= 0:
            return False
        self._lu = None
        return not sparse or self._factor_sparse(actuators, workspace, known, rate, acceleration, moving, n)

    def _factor_sparse(self, *arguments) -> bool:  # type: ignore[no-untyped-def]
        actuators, workspace, known, rate, acceleration, moving, n = arguments
        engine, tree = self.engine, self.engine.tree
        while True:
            parts = (
                tree, actuators, workspace, known, rate, acceleration, moving, n, engine.workspace, self.tangent,
                self._entries, self._rows, self._columns, self._size,
            )  # fmt: skip
            count = int(engine.prepared(assemble, parts)(*parts))
            if count <= len(self._entries):
                break
            self._room(int(GROWTH * count))
        entries, rows, columns = (part[:count] for part in (self._entries, self._rows, self._columns))
        if not np.isfinite(entries).all():
            return False
        n_unknowns = int(self._size[0])
        known_pattern = self._pattern is not None and len(self._order) == n_unknowns
        known_pattern = known_pattern and all(map(np.array_equal, self._pattern or (), (rows, columns)))
        if known_pattern:
            columns = self._place[columns]
        matrix = csc_array((entries, (rows, columns)), shape=(n_unknowns, n_unknowns))
        try:
            self._lu = splu(matrix, permc_spec="NATURAL" if known_pattern else "COLAMD")
        except RuntimeError:  # exactly singular
            return False
        if not known_pattern:
            self._pattern = rows.copy(), columns.copy()
            # column j of the matrix is column place[j] of the factored one
            self._place = np.asarray(self._lu.perm_c, dtype=np.int64)
            self._order = np.arange(n_unknowns)
        else:
            self._order = self._place
        kept, at = self.tangent.couplings.kept, self.tangent.couplings.at
        blocks = np.flatnonzero(kept)
        size, first = tree.block[blocks, BLOCK_N], tree.block[blocks, BLOCK_COLUMN]
        inside = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        self._coordinates = np.repeat(first, size) + inside
        self._unknowns = np.repeat(at[blocks], size) + inside
        return True

    def solve(self, x: Array) -> None:
        """Overwrite x (ndof,) with T^-1 x."""
        arguments = self.engine.tree, self.tangent, x
        self.engine.prepared(eliminate, arguments)(*arguments)
        if self._lu is not None:
            right = np.zeros(self._lu.shape[0])
            right[self._unknowns] = x[self._coordinates]
            x[self._coordinates] = self._lu.solve(right)[self._order[self._unknowns]]
        self.engine.prepared(substitute, arguments)(*arguments)
