"""Matrices of the linearised motion about an equilibrium or a steady motion, as functions of an engine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import InputError, ModelError, warn
from sorosim.mechanics.dynamics.constraints import IndependentRows
from sorosim.mechanics.dynamics.inertia import check_inertia
from sorosim.mechanics.dynamics.maxwell import MaxwellElements
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.kernels.evaluate import Evaluation
from sorosim.mechanics.linear.eigenmodes import Relaxation

# residuals of an equilibrium, over the largest force, and over the force that moves a coordinate by 1 rad or m
OFF_BALANCE, NEGLIGIBLE = 1e-6, 1e-8
# steady rates may violate constraints by this part, and matrices change by this part, before a warning
RATE_TOLERANCE, CHANGES = 1e-9, 1e-6


class LinearMatrices(NamedTuple):
    """M z'' + D z' + K z = F du with dq = Z z, under the multipliers of the loops."""

    M: Array
    D: Array
    K: Array
    F: Array
    Z: Array  # (ndof, n)
    multiplier: Array  # (m,)
    relaxation: Relaxation | None  # internal strains, where equilibria are those of relaxed materials


def linearize(engine: Engine, q: Array, qd: Array, u: Array, rows: IntArray, stiffness: Array | None) -> LinearMatrices:
    """Matrices of the coordinates in rows, or with loops of independent displacements along the closed states.

    stiffness : (n_rows, n_rows) of the tree in place of its own; without it the balance of forces is checked.
    """
    out, multiplier, independent = balanced(engine, q, qd, u, rows)
    if len(inserted := np.intersect1d(engine.insertions, rows)):
        moved = engine.layout.coordinate_names[inserted[0]]
        raise ModelError(moved, "a driven insertion, for small motions", "a free one")
    Z = np.eye(engine.ndof)[:, rows]
    if independent is not None:
        Z = Z @ independent.motions()
    mass = Z.T @ out.mass @ Z
    check_inertia(engine, q, rows, mass)
    K = out.by_q
    if stiffness is not None:
        K = np.zeros_like(out.by_q)
        K[np.ix_(rows, rows)] = stiffness
    elif len(rows):
        check_balance(engine, out, q, qd, u, rows, Z)
    if not all(np.isfinite(X).all() for X in (mass, out.by_qd, K, out.B)):
        raise ModelError("linearize", "a state at which all forces have derivatives", "one where some are infinite")
    relaxation = engine.companion(MaxwellElements).linearised(Z)
    return LinearMatrices(mass, Z.T @ out.by_qd @ Z, Z.T @ K @ Z, Z.T @ out.B, Z, multiplier, relaxation)


def balanced(
    engine: Engine, q: Array, qd: Array, u: Array, rows: IntArray
) -> tuple[Evaluation, Array, IndependentRows | None]:
    """Residual without accelerations, under the multipliers that balance it best in `rows`, and its derivatives.

    With the multipliers, and which conditions of the loops are independent; None without loops.
    """
    zero = engine.zero_rates
    out = engine.evaluate(task.RESIDUAL_DERIVATIVES, q, qd, zero, u)
    if not engine.loop_layout.m:
        return out, np.zeros(0), None
    A, error = out.closure.constraint[:, rows], out.closure.error
    if (np.abs(engine.loops.row_scale * out.closure.rate) > RATE_TOLERANCE * np.abs(qd).max(initial=0.0)).any():
        got = f"up to {np.abs(out.closure.rate).max():.3g} m/s or rad/s"
        raise InputError("qd", "rates that keep the loops closed", got)
    independent = IndependentRows(engine, A, error)
    multiplier = independent.multipliers(out.tau[rows])
    return engine.evaluate(task.RESIDUAL_DERIVATIVES, q, qd, zero, u, multiplier=multiplier), multiplier, independent


def input_matrix(engine: Engine, q: Array, qd: Array, u: Array, t: float = 0.0) -> Array:
    """Generalised forces (ndof, n_actuators) of unit inputs beyond u, those that scale loads as well."""
    if not engine.loading.inputs:
        return engine.internal(q, qd, u, True).B
    return engine.evaluate(task.RESIDUAL_DERIVATIVES, q, qd, engine.zero_rates, u, t).B


def balance_tolerance(engine: Engine, out: Evaluation, q: Array, qd: Array, u: Array) -> tuple[float, float]:
    """The largest force at work in a state, and up to which force what is left of it in a residual `out` is nothing.

    The first is the largest generalised force of weight and loads, or of springs and actuators; without accelerations.
    """
    inverse = engine.evaluate(task.INVERSE, q, qd, engine.zero_rates, u)
    size = max(float(np.abs(part.tau).max()) for part in (inverse, engine.internal(q, qd, u)))
    return size, OFF_BALANCE * size + NEGLIGIBLE * float(np.abs(out.by_q).max())


def check_balance(engine: Engine, out: Evaluation, q: Array, qd: Array, u: Array, rows: IntArray, Z: Array) -> None:
    """Warn where forces do not balance, or will not after a while of a steady motion."""
    size, least = balance_tolerance(engine, out, q, qd, u)
    left = np.abs(out.tau[rows])
    if left.max() > least:
        worst = engine.layout.coordinate_names[rows[int(np.argmax(left))]]
        what, finds = ("steady motion", "steady finds") if qd.any() else ("equilibrium", "statics finds")
        message = f"linearize: q is no {what}, at '{worst}' a force of {left.max():.3g} is left of {size:.3g}"
        warn(f"{message}; sorosim.{finds} one")
    elif qd.any():
        # a radian, or a metre, further on
        later = balanced(engine, q + qd / np.abs(qd).max(), qd, u, rows)[0]
        w = float(np.abs(qd).max())
        # all as stiffnesses
        weights = {"by_q": 1.0, "by_qd": w, "mass": w * w}
        pairs = [(f * Z.T @ getattr(out, x) @ Z, f * Z.T @ getattr(later, x) @ Z) for x, f in weights.items()]
        change = max(float(np.abs(b - a).max(initial=0.0)) for a, b in pairs)
        whole = max(float(np.abs(a).max(initial=0.0)) for a, _ in pairs)
        if change > CHANGES * whole or np.abs(later.tau[rows]).max() > least:
            message = "linearize: the motion is not steady, what acts on the robot changes as it turns on; "
            message += "frequencies hold for this moment only (is there gravity across the axis?)"
            warn(message)
