"""What `Engine.evaluate` works out: entries of `kernels.evaluate` with the arrays that they fill."""

from __future__ import annotations

from typing import Any, NamedTuple

from sorosim.mechanics.kernels import evaluate as entries


class Task(NamedTuple):
    """An entry, its own arguments, and what it needs."""

    entry: Any  # lazy kernel
    arguments: tuple[Any, ...] = ()
    loaded: bool = True  # whether loads act
    tangents: bool = False  # whether tangents of loads and actuators count
    derivatives: bool = False  # whether by_q, by_qd and B are filled
    mass: bool = False
    free: bool = False  # whether accelerations are not known


# errors of loops and their rates; further the constraint matrix, and derivatives of the errors
ERRORS = Task(entries.closure, (False,), loaded=False)
CLOSURE = Task(entries.closure, (True,), loaded=False)
# tau: the internal force; by_q, by_qd, B
INTERNAL = Task(entries.internal, (False,), loaded=False)
INTERNAL_DERIVATIVES = Task(entries.internal, (True,), loaded=False, tangents=True, derivatives=True)
# tau: inverse dynamics; by_q, by_qd, mass
INVERSE = Task(entries.residual, (0,))
INVERSE_DERIVATIVES = Task(entries.derivatives, (0, True), tangents=True, derivatives=True, mass=True)
# tau: inverse dynamics - internal force - forces of loops; by_q, by_qd, mass, B of the internal force; the closure
RESIDUAL = Task(entries.residual, (entries.RESIDUAL,))
RESIDUAL_DERIVATIVES = Task(entries.derivatives, (entries.RESIDUAL, True), tangents=True, derivatives=True, mass=True)
# of a robot at rest: by_q, B and the closure alone
STATIC_DERIVATIVES = Task(entries.derivatives, (entries.RESIDUAL, False), tangents=True, derivatives=True)
# tau: the residual, loops left open or closed; for kernels.products and kernels.tangent
LINEARISE = Task(entries.linearise, (False,), tangents=True)
LINEARISE_CLOSED = Task(entries.linearise, (True,), tangents=True)
MASS = Task(entries.mass, mass=True)  # tau: inverse dynamics; mass
PREPARE = Task(entries.prepare)  # tau: the internal force; for kernels.articulated
# qdd and multipliers; by_q, by_qd, B its derivatives by q, qd, u; mass holds the Cholesky factor. Rows of known
# accelerations are zero in these derivatives, and those of the unit matrix in the factor
FORWARD = Task(entries.forward, (False, False, 0.0), mass=True, free=True)
FORWARD_DERIVATIVES = Task(entries.forward, (False, True, 0.0), tangents=True, derivatives=True, mass=True, free=True)
# the same with the forces in tau in the place of internal forces, without loops and B
HYBRID = Task(entries.forward, (True, False, 0.0), mass=True, free=True)
HYBRID_DERIVATIVES = Task(entries.forward, (True, True, 0.0), tangents=True, derivatives=True, mass=True, free=True)
