"""Strains of Maxwell elements as states of a motion, and the forces of their springs (docs/theory.md, 21)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse

from sorosim.base.arrays import Array
from sorosim.base.complex_step import derivative
from sorosim.mechanics.dynamics.energies import PowerTerms
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.kernels.forces import Elastic
from sorosim.mechanics.linear.eigenmodes import Relaxation
from sorosim.mechanics.model.relaxation import INSTANTANEOUS


def moduli_in_words(engine: Engine) -> list[str]:
    """With which moduli equilibria are found, one text for each kind of materials that relax."""
    links = engine.layout.links.values()
    known = (piece.division.material.relaxation for link in links for piece in link.pieces)
    return [f"{state} moduli" for state in sorted({one.equilibria for one in known if one is not None})]


class MaxwellElements:
    """All Maxwell elements of a robot; their n strains d follow d' = qd - d/time. Without any, n = 0."""

    def __init__(self, engine: Engine) -> None:
        self.engine, block, elastic = engine, engine.tree.block, engine.elastic
        maxwell, ndof = elastic.maxwell, engine.ndof
        fresh = {
            piece.block: piece.division.material.relaxation.equilibria == INSTANTANEOUS
            for link in engine.layout.links.values() for piece in link.pieces if piece.division.material.relaxation
        }  # fmt: skip
        columns, times, pulls, matrices, begins = [], [], [], [], []
        self.long_term = elastic.stiffness.copy()  # as Elastic.stiffness, of the springs beside the elements
        for row, share in zip(maxwell.block, maxwell.long_term, strict=True):
            own = block[row.block]
            n, c0, square = own.n, own.column, slice(own.square, own.square + own.n**2)
            K = elastic.stiffness[square].reshape(n, n)
            self.long_term[square] *= share
            for e in range(row.element, row.element + row.n):
                columns.append(np.arange(c0, c0 + n))
                times.append(np.full(n, maxwell.time[e]))
                pulls.append(np.full(n, maxwell.ratio[e] / share))
                matrices.append(maxwell.ratio[e] * K)
                begins.append(np.full(n, float(fresh[row.block])))
        none = np.zeros(0)
        self.column = np.concatenate([none, *columns]).astype(np.int64)  # (n,) coordinate of each strain
        self.time = np.concatenate([none, *times])  # (n,) [s]
        self.n = len(self.column)
        self._pull, self._begin = np.concatenate([none, *pulls]), np.concatenate([none, *begins])
        # (n, n) forces of the springs by their strains, and the sum of forces along each coordinate
        self.stiffness = scipy.sparse.csr_array(scipy.sparse.block_diag(matrices) if matrices else (0, 0))
        places = np.ones(self.n), (self.column, np.arange(self.n))
        self._gather = scipy.sparse.csr_array(places, shape=(ndof, self.n))

    def start(self, q: Array) -> Array:
        """Strains (n,) with which a motion begins, by what the materials say: at rest, or as much as the rod's."""
        return np.asarray(self._begin * (q - self.engine.elastic.rest)[self.column])

    def rates(self, qd: Array, strain: Array) -> Array:
        """Rates (n,) of the strains."""
        return np.asarray(qd[self.column] - strain / self.time)

    def advanced(self, strain: Array, dq: Array, h: float) -> Array:
        """Strains (n,) after a step h in which coordinates change by dq (ndof,) at equal rates."""
        x = h / self.time
        return np.asarray(np.exp(-x) * strain - np.expm1(-x) / x * dq[self.column])

    def private_engine(self) -> Engine:
        """The same robot with arrays of stiffness, of the springs beside the elements, and rest of its own."""
        elastic = self.engine.elastic
        own = elastic._replace(stiffness=self.long_term.copy(), rest=elastic.rest.copy())
        return self.engine.replace(elastic=own)

    def apply(self, strain: Array, engine: Engine) -> None:
        """Move the rest of a `private_engine` so that elements with these strains pull."""
        engine.elastic.rest[:] = self.engine.elastic.rest - self._gather @ (self._pull * strain)

    @contextmanager
    def answering_at_once(self, engine: Engine, q: Array) -> Iterator[None]:
        """Let a `private_engine` pull as it does at q, with the stiffness that answers a sudden change."""
        elastic = engine.elastic
        stiffness, rest = elastic.stiffness.copy(), elastic.rest.copy()
        for row, long_term in zip(elastic.maxwell.block, elastic.maxwell.long_term, strict=True):
            own = engine.tree.block[row.block]
            columns = slice(own.column, own.column + own.n)
            factor = 1.0 + elastic.maxwell.ratio[row.element : row.element + row.n].sum() / long_term
            elastic.stiffness[own.square : own.square + own.n**2] *= factor
            elastic.rest[columns] = q[columns] - (q[columns] - rest[columns]) / factor
        try:
            yield
        finally:
            elastic.stiffness[:], elastic.rest[:] = stiffness, rest

    def force_by_strain(self, rows: Any) -> Array:
        """Derivative (n_rows, n) of the force against coordinates by the strains."""
        return np.asarray((self._gather @ self.stiffness).toarray()[rows])

    def start_change(self, dq: Array) -> Array:
        """Change (..., n) of `start` by that of q - rest, dq (..., ndof)."""
        return np.asarray(self._begin * dq[..., self.column])

    def varied(self, varied: Elastic, q: Array, strain: Array, h: Array, end: Array) -> tuple[Array, Array]:
        """Derivatives by a number of the file, at held states: of strains (k, n), and of forces (k, ndof).

        The number varies the arrays `varied`. Strains are those after steps h (k,) from q (k, ndof) and strain (k, n)
        to coordinates `end` (k, ndof); forces are what elements pull with there beyond the stiffness of equilibria.
        h = 0: in the states themselves (docs/theory.md, 14 and 21).
        """
        tree, forces, strains, at = self.engine.tree, np.zeros_like(end), np.zeros_like(strain), 0
        for row, share in zip(varied.maxwell.block, varied.maxwell.long_term, strict=True):
            own = tree.block[row.block]
            n, columns = own.n, slice(own.column, own.column + own.n)
            K = varied.stiffness[own.square : own.square + n * n].reshape(n, n)
            moved = (share - 1.0) * (end[:, columns] - varied.rest[columns])
            for e in range(row.element, row.element + row.n):
                x = h[:, None] / varied.maxwell.time[e]
                b = np.where(h[:, None] > 0.0, -np.expm1(-x) / np.where(x.real > 0.0, x, 1.0), 1.0)
                d = np.exp(-x) * strain[:, at : at + n] + b * (end[:, columns] - q[:, columns])
                moved, strains[:, at : at + n] = moved + varied.maxwell.ratio[e] * d, derivative(d)
                at += n
            forces[:, columns] = -derivative(moved @ K.T)
        return strains, forces

    def linearised(self, Z: Array) -> Relaxation | None:
        """Internal strains of small motions dq = Z z about equilibria of relaxed materials; None: there are none."""
        own = np.flatnonzero(self._begin == 0.0)
        if not len(own):
            return None
        return Relaxation(Z.T @ self.force_by_strain(slice(None))[:, own], Z[self.column[own]], self.time[own])

    def energies(self, q: Array, strain: Array) -> Array:
        """What elastic energies (k,) in states (k, ndof), (k, n) are beyond those of equilibria [J]."""
        stored = 0.5 * np.einsum("kn,kn->k", strain, (self.stiffness @ strain.T).T)
        moved, tree, engine = q - self.engine.elastic.rest, self.engine.tree, self.engine
        for row, share in zip(engine.elastic.maxwell.block, engine.elastic.maxwell.long_term, strict=True):
            own = tree.block[row.block]
            n, c0, at = own.n, own.column, own.square
            K, e = engine.elastic.stiffness[at : at + n * n].reshape(n, n), moved[:, c0 : c0 + n]
            stored += 0.5 * (share - 1.0) * np.einsum("ki,ij,kj->k", e, K, e)
        return np.asarray(stored)

    def add_losses(self, terms: PowerTerms, strain: Array) -> PowerTerms:
        """`PowerTerms` in k states with those of dashpots, whose strains grow at the rates d/time; strain (k, n)."""
        own = np.zeros_like(strain), (self.stiffness @ strain.T).T, strain / self.time
        return PowerTerms._make(np.concatenate(pair, axis=1) for pair in zip(terms, own, strict=True))
