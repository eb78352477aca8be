"""Inertia of concentric tubes about an equilibrium, beyond that of their centreline (docs/theory.md, 20)."""

from __future__ import annotations

import numpy as np

from sorosim.arrays import Array, IntArray
from sorosim.engine.engine import Engine
from sorosim.errors import ModelError
from sorosim.kernels import evaluate as task
from sorosim.model.tubes import Tubes


def mass_matrix(engine: Engine, q: Array) -> Array:
    """Mass matrix (ndof, ndof) at rest; of coordinates that are no insertions, which would move material along."""
    zero = engine.zero_rates
    mass = engine.evaluate(task.MASS, q, zero, zero.copy(), np.zeros(engine.n_actuators)).mass
    add_spin(engine, q, mass)
    return mass


def check_inserted(engine: Engine, rows: IntArray) -> None:
    """Refuse insertions among the coordinates that move, rows (ModelError)."""
    for link in engine.layout.links.values():
        for column in link.link.body.block.insertion if isinstance(link.link.body, Tubes) else ():
            if link.column + link.n_joint + column in rows:
                moved = engine.layout.coordinate_names[link.column + link.n_joint + column]
                raise ModelError(moved, "a driven insertion, for small motions", "a free one")


def add_spin(engine: Engine, q: Array, mass: Array) -> None:
    """Add to the mass matrix (ndof, ndof) what turns each tube about its axis against the innermost one.

    rho Jp ((w + alpha')^2 - w^2)/2 per length, w that of the innermost tube about the axis.
    """
    for link in engine.layout.links.values():
        tubes, first = link.link.body, link.column + link.n_joint
        if not isinstance(tubes, Tubes):
            continue
        block = tubes.block
        own = mass[:, first : first + block.n]  # a view
        for k, piece in enumerate(link.pieces):
            at = piece.gauss(link)
            along = engine.jacobians(link.nodes[at], q, engine.zero_rates, False)[2][:, 0]
            for i in list(block.sections[k].twist)[1:]:
                tube = tubes.members[i]
                turn = block.angles(i, k, (link.X[at] - piece.start) / piece.division.length)
                spin = 2.0 * tube.material.density * tube.moment * link.weight[at][:, None] * turn
                own += along.T @ spin
                mass[first : first + block.n] += spin.T @ along
                own[first : first + block.n] += turn.T @ spin
        for tube, base in zip(tubes.members, block.base, strict=True):
            if tube.behind:  # at the distance x from where it is held it turns by rotation + x transmission/behind
                at = np.array(base) + first
                spin = 2.0 * tube.material.density * tube.moment * tube.behind
                mass[np.ix_(at, at)] += spin * np.array([[1.0, 0.5], [0.5, 1.0 / 3.0]])
