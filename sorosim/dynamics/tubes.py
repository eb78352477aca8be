"""Inertia of concentric tubes about an equilibrium, beyond that of their centreline (docs/theory.md, 20)."""

from __future__ import annotations

import numpy as np

from sorosim.arrays import Array, IntArray
from sorosim.engine.engine import Engine
from sorosim.errors import ModelError
from sorosim.model.tubes import Tubes


def add_spin(engine: Engine, q: Array, rows: IntArray, mass: Array) -> None:
    """Add to the mass matrix (ndof, ndof) what turns each tube about its axis against the innermost one.

    rho Jp ((w + alpha')^2 - w^2)/2 per length, w that of the innermost tube about the axis. Refuses insertions among the
    free coordinates in rows (ModelError): material would move along the centreline.
    """
    free = {engine.layout.coordinate_names[i] for i in rows}
    for name, link in engine.layout.links.items():
        tubes, first = link.link.body, link.column + link.n_joint
        if not isinstance(tubes, Tubes):
            continue
        block = tubes.block
        for column in block.insertion:
            if (moved := engine.layout.coordinate_names[first + column]) in free:
                raise ModelError(moved, "a driven insertion, for small motions", "a free one")
        for k, (piece, columns) in enumerate(zip(link.pieces, block.sections, strict=True)):
            at = piece.gauss(link)
            g, _, J, _ = engine.jacobians(link.nodes[at], q, np.zeros_like(q), False)
            for x, w, along in zip((link.X[at] - piece.start) / piece.division.length, link.weight[at], J[:, 0], strict=True):
                for i in list(columns.twist)[1:]:
                    tube, turn = tubes.members[i], np.zeros(engine.ndof)
                    for column, factor in block.angle(i, k, float(x)).items():
                        turn[first + column] = factor
                    density = w * tube.material.density * tube.properties.Jp
                    mass += density * (np.outer(along + turn, along + turn) - np.outer(along, along))
        for tube, base in zip(tubes.members, block.base, strict=True):
            if tube.behind:  # at the distance x from where it is held it turns by rotation + x transmission/behind
                own = [first + column for column in base]
                spin = tube.material.density * tube.properties.Jp * tube.behind
                mass[np.ix_(own, own)] += spin * np.array([[1.0, 0.5], [0.5, 1.0 / 3.0]])
