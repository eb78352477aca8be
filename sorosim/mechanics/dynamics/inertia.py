"""The mass matrix, and which coordinate makes it singular."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf

from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import ModelError
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.kernels.mass_rank import CLEARLY_REGULAR
from sorosim.mechanics.model.chart import ChartLimit, exponential_stages

# so near to a whole turn coordinates are singular [rad]
AT_TURN = 1e-6


def mass_matrix(engine: Engine, q: Array) -> Array:
    """Mass matrix (ndof, ndof) at q; entries of insertions are those of nodes that carry their material along."""
    zero = engine.zero_rates
    return engine.evaluate(task.MASS, q, zero, zero.copy(), np.zeros(engine.n_actuators)).mass


def _guard(engine: Engine) -> ChartLimit:
    """Whole turns of a robot of which nothing is driven."""
    return ChartLimit(engine.layout, engine.none_known, changeable=True)


def check_inertia(engine: Engine, q: Array, rows: IntArray, mass: Array) -> Array:
    """Refuse a singular mass matrix of the coordinates in rows, or of motions with loops closed (ModelError).

    Returns its Cholesky factor U, M = U^T U, below which entries are undefined.
    """
    layout, known = engine.layout, np.ones(engine.ndof, dtype=np.bool_)
    known[rows] = False
    guard = ChartLimit(layout, known, changeable=True) if known.any() else engine.companion(_guard)
    if link := guard.singular(q, AT_TURN):
        turning = (i for own, _ in exponential_stages(layout.links[link]) for i in range(own.start, own.stop))
        first = next(layout.coordinate_names[i] for i in turning if not known[i])
        hint = "the same pose has other coordinates, without the turn"
        raise ModelError(first, "coordinates that are not singular", "a rotation by a whole turn", hint)
    factor, failed = dpotrf(mass)
    if len(mass) < len(rows):  # with loops closed, a coordinate without mass of its own may move mass
        if failed:
            raise ModelError("mass matrix", "one that is positive definite with loops closed", "a singular one")
        return np.asarray(factor)
    if failed or (np.diag(factor) ** 2 <= CLEARLY_REGULAR * np.diag(mass)).any():
        # names the coordinate, or finds none
        zero, none = engine.zero_rates, np.zeros(engine.n_actuators)
        engine.inertial.evaluate(task.FORWARD, q, zero, zero.copy(), none, known=known)
    if failed:  # whatever the other factor has made of its rounding
        raise engine.singular_mass_error(int(rows[failed - 1]))
    return np.asarray(factor)
