"""Forward and hybrid dynamics and their derivatives, as functions of an engine; nothing is checked here.

Arguments: q, qd, qdd, u of the lengths that the engine expects; known (ndof,): where qdd is prescribed.
Each task has a table of algorithms by name: "composite" bodies with a Cholesky factor of the mass matrix, O(n^2) to
O(n^3), the only one that closes loops and knows material that moves along rods, and tubes that turn in each other
(docs/theory.md, 19 and 20); "articulated" bodies with rods as macro-joints, O(n).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy.linalg
from scipy.linalg.lapack import dpotrs

from sorosim.base.arrays import Array, Mask
from sorosim.base.errors import InputError
from sorosim.base.validation import choice
from sorosim.mechanics.dynamics.articulation import Articulation
from sorosim.mechanics.dynamics.inertia import check_inertia
from sorosim.mechanics.dynamics.linearised_tree import LinearisedTree
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.engine.records import (
    ForwardDynamicsDerivatives,
    ForwardDynamicsJvp,
    ForwardDynamicsVjp,
    HybridDynamics,
    HybridDynamicsDerivatives,
)

# -- forward dynamics --------------------------------------------------------------------------------------------------


def forward_by_composite(engine: Engine, q: Array, qd: Array, qdd: Array, u: Array, t: float, known: Mask) -> Array:
    """Accelerations by the mass matrix of composite bodies; loops stay closed."""
    return engine.evaluate(task.FORWARD, q, qd, qdd, u, t, known=known).qdd


def forward_by_articulated(
    engine: Engine, q: Array, qd: Array, qdd: Array, u: Array, t: float, known: Mask, stiffening: float = 0.0
) -> Array:
    """Accelerations by articulated bodies; stiffening: as in `Articulation.motion`."""
    return engine.companion(Articulation).motion(q, qd, qdd, u, t, known, stiffening=stiffening).qdd


def derivatives_by_composite(
    engine: Engine, q: Array, qd: Array, qdd: Array, u: Array, t: float, known: Mask
) -> ForwardDynamicsDerivatives:
    """M^-1 times derivatives of forces, by the Cholesky factor of M; loops stay closed."""
    out = engine.evaluate(task.FORWARD_DERIVATIVES, q, qd, qdd, u, t, known=known)
    return ForwardDynamicsDerivatives(out.qdd, out.by_q, out.by_qd, out.B)


def derivatives_by_articulated(
    engine: Engine, q: Array, qd: Array, qdd: Array, u: Array, t: float, known: Mask
) -> ForwardDynamicsDerivatives:
    """M^-1 times derivatives of forces, every column in O(n)."""
    articulation = engine.companion(Articulation)
    qdd = articulation.motion(q, qd, qdd, u, t, known).qdd
    out = engine.evaluate(task.RESIDUAL_DERIVATIVES, q, qd, qdd, u, t)
    articulation.solve_in_place(known, -1.0, out.by_q, out.by_qd)
    articulation.solve_in_place(known, 1.0, out.B)
    return ForwardDynamicsDerivatives(qdd, out.by_q, out.by_qd, out.B)


def _linearised(
    engine: Engine, q: Array, qd: Array, qdd: Array, u: Array, t: float, known: Mask
) -> tuple[Array, LinearisedTree]:
    """Accelerations by articulated bodies, and the equations linearised there."""
    qdd = engine.companion(Articulation).motion(q, qd, qdd, u, t, known).qdd
    tree = engine.of_thread("linearised", lambda: LinearisedTree(engine))
    tree.linearise(q, qd, qdd, u, t, known)
    return qdd, tree


def forward_jvp(
    engine: Engine, q: Array, qd: Array, qdd: Array, u: Array, t: float, known: Mask, dq: Array, dqd: Array, du: Array
) -> ForwardDynamicsJvp:
    """Change of accelerations along (dq, dqd, du): O(n) for trees of rods of given lengths; else by the matrices."""
    if len(engine.loops.row) or engine.adds_inertia:
        D = derivatives_by_composite(engine, q, qd, qdd, u, t, known)
        return ForwardDynamicsJvp(D.qdd, D.dqdd_dq @ dq + D.dqdd_dqd @ dqd + D.dqdd_du @ du)
    qdd, tree = _linearised(engine, q, qd, qdd, u, t, known)
    change = tree.apply(dq, dqd, du)
    return ForwardDynamicsJvp(qdd, engine.companion(Articulation).solve(known, -change[:, None])[:, 0])


def forward_vjp(
    engine: Engine, q: Array, qd: Array, qdd: Array, u: Array, t: float, known: Mask, qdd_bar: Array
) -> ForwardDynamicsVjp:
    """Transposed derivatives times qdd_bar (ndof,): O(n) for trees of rods of given lengths; else by the matrices."""
    if len(engine.loops.row) or engine.adds_inertia:
        D = derivatives_by_composite(engine, q, qd, qdd, u, t, known)
        return ForwardDynamicsVjp(D.qdd, *(part.T @ qdd_bar for part in D[1:]))
    qdd, tree = _linearised(engine, q, qd, qdd, u, t, known)
    w = engine.companion(Articulation).solve(known, -qdd_bar[:, None])[:, 0].copy()
    return ForwardDynamicsVjp(qdd, *tree.apply_transposed(w))


# -- M x = b -----------------------------------------------------------------------------------------------------------


def solve_by_composite(engine: Engine, q: Array, B: Array) -> Array:
    """M^-1 B by the Cholesky factor of M."""
    zero = engine.zero_rates
    M = engine.evaluate(task.MASS, q, zero, zero.copy(), np.zeros(engine.n_actuators)).mass
    return np.asarray(dpotrs(check_inertia(engine, q, np.arange(engine.ndof), M), B)[0])


def solve_by_articulated(engine: Engine, q: Array, B: Array) -> Array:
    """M^-1 B by articulated bodies, O(n) a column."""
    articulation, zero, none = engine.companion(Articulation), engine.zero_rates, engine.none_known
    articulation.motion(q, zero, zero, np.zeros(engine.n_actuators), 0.0, none)
    return articulation.solve(none, B)


# -- hybrid dynamics ---------------------------------------------------------------------------------------------------


def hybrid_by_composite(
    engine: Engine, q: Array, qd: Array, qdd: Array, tau: Array, u: Array, t: float, known: Mask
) -> HybridDynamics:
    """Hybrid dynamics by composite bodies, then inverse dynamics; u: inputs of loads."""
    out = engine.evaluate(task.HYBRID, q, qd, qdd, u, t, known=known, tau=tau)
    return HybridDynamics(out.qdd, engine.evaluate(task.INVERSE, q, qd, out.qdd, u, t).tau)


def hybrid_by_articulated(
    engine: Engine, q: Array, qd: Array, qdd: Array, tau: Array, u: Array, t: float, known: Mask
) -> HybridDynamics:
    """Hybrid dynamics by articulated bodies."""
    return engine.companion(Articulation).motion(q, qd, qdd, u, t, known, tau)


def hybrid_derivatives(
    engine: Engine, algorithm: str, q: Array, qd: Array, qdd: Array, tau: Array, u: Array, t: float, known: Mask
) -> HybridDynamicsDerivatives:
    """Hybrid dynamics and its derivatives by q, qd and what is prescribed: accelerations `known`, elsewhere forces."""
    n, free = engine.ndof, np.flatnonzero(~known)
    if algorithm == "articulated":
        accelerations = hybrid_by_articulated(engine, q, qd, qdd, tau, u, t, known).qdd
    else:
        accelerations = engine.evaluate(task.HYBRID, q, qd, qdd, u, t, known=known, tau=tau).qdd
    inverse = engine.evaluate(task.INVERSE_DERIVATIVES, q, qd, accelerations, u, t)
    M = inverse.mass
    # M_ff dqdd_f = dtau_f - dID_f - M_fk dqdd_k
    right = np.hstack([-inverse.by_q, -inverse.by_qd, np.eye(n) * ~known - M * known])
    if algorithm == "articulated":
        solved = engine.companion(Articulation).solve(known, right)
    else:
        solved = np.zeros_like(right)
        if len(free):
            solved[free] = scipy.linalg.solve(M[np.ix_(free, free)], right[free], assume_a="pos")
    solved[:, 2 * n :] += np.diag(known.astype(float))
    forces = (np.hstack([inverse.by_q, inverse.by_qd, np.zeros((n, n))]) + M @ solved) * known[:, None]
    forces[:, 2 * n :] += np.diag(~known)
    parts = [X[:, k * n : (k + 1) * n] for X in (solved, forces) for k in range(3)]
    return HybridDynamicsDerivatives(accelerations, inverse.tau, *parts)


# -- which algorithm ---------------------------------------------------------------------------------------------------


FORWARD = {"composite": forward_by_composite, "articulated": forward_by_articulated}
FORWARD_DERIVATIVES = {"composite": derivatives_by_composite, "articulated": derivatives_by_articulated}
SOLVE_MASS = {"composite": solve_by_composite, "articulated": solve_by_articulated}
HYBRID = {"composite": hybrid_by_composite, "articulated": hybrid_by_articulated}
# the fastest of them by the number of coordinates plus that of joints and rods that have them, each from its own number
# on, as measured (docs/speed.md): what is alone in its joint counts twice, it has a path of its own
FASTEST = {0: "composite", 72: "articulated"}
FASTEST_DERIVATIVES = {0: "composite", 120: "articulated"}
FASTEST_HYBRID = {0: "articulated"}


def choose_algorithm(
    engine: Engine, name: str | None, table: Mapping[str, object], fastest: Mapping[int, str], *, closes: bool = True
) -> str:
    """The algorithm of that name, by default the fastest one; `closes`: whether loops stay closed (InputError)."""
    looped = closes and len(engine.loops.row) > 0
    if name is None and (looped or engine.adds_inertia):
        return "composite"
    if name is None:
        return fastest[max(n for n in fastest if n <= engine.ndof + engine.n_blocks)]
    chosen = choice("algorithm", name, tuple(table))
    if chosen != "composite" and looped:
        raise InputError("algorithm", "composite: the others hold for trees", f"'{chosen}' for a robot with loops")
    if chosen != "composite" and engine.adds_inertia:
        whose = "rods whose length is a coordinate" if engine.flows else "concentric tubes"
        raise InputError("algorithm", "composite", f"'{chosen}' for a robot with {whose}")
    return chosen
