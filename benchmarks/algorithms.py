"""Algorithms that check and time those of `sorosim.mechanics.dynamics.forward`, for trees only; they share little.

"unit": the mass matrix column by column from inverse dynamics, O(n^2) to O(n^3). "fixman": the bias by inverse dynamics
and the extended Fixman method (`fixman`), O(n), for rigid links only; links without mass may stand between joints, but
must not branch. "inverse": derivatives as a product of M^-1 and those of forces.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from benchmarks.fixman import Fixman
from sorosim.base.arrays import Array, IntArray, Mask
from sorosim.mechanics.dynamics.articulation import Articulation
from sorosim.mechanics.dynamics.inertia import check_inertia
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.engine.records import ForwardDynamicsDerivatives
from sorosim.mechanics.robot import Robot


def unit_columns(engine: Engine, q: Array, columns: IntArray) -> Array:
    """Columns of the mass matrix: M e_i = ID(q, 0, e_i) without gravity and loads, so that nothing cancels."""
    evaluate, zero, none = engine.inertial.evaluate, engine.zero_rates, np.zeros(engine.n_actuators)
    return np.array([evaluate(task.INVERSE, q, zero, unit, none).tau for unit in np.eye(engine.ndof)[columns]]).T


def forward_by_unit_columns(engine: Engine, q: Array, qd: Array, qdd: Array, u: Array, t: float, known: Mask) -> Array:
    """Accelerations by inverse dynamics alone: the bias ID(q, qd, qdd), where qdd is that of known coordinates."""
    out, free = np.where(known, qdd, 0.0), np.flatnonzero(~known)
    if not len(free):
        return out
    bias = engine.evaluate(task.INVERSE, q, qd, out, u, t).tau
    force = engine.evaluate(task.INTERNAL, q, qd, out, u, t).tau
    M = unit_columns(engine, q, free)[free]
    check_inertia(engine, q, free, M)
    out[free] = scipy.linalg.solve(M, (force - bias)[free], assume_a="pos")
    return out


def forward_by_fixman(engine: Engine, q: Array, qd: Array, qdd: Array, u: Array, t: float, known: Mask) -> Array:
    """Accelerations by the extended Fixman method."""
    bias = engine.evaluate(task.INVERSE, q, qd, qdd, u, t).tau
    force = engine.evaluate(task.INTERNAL, q, qd, qdd, u, t).tau
    return qdd + engine.companion(Fixman).solve(q, known, (force - bias)[:, None])[:, 0]


def derivatives_by_inverse(
    engine: Engine, q: Array, qd: Array, qdd: Array, u: Array, t: float, known: Mask
) -> ForwardDynamicsDerivatives:
    """Derivatives of accelerations as M^-1, by articulated bodies, times those of forces."""
    articulation, n = engine.companion(Articulation), engine.ndof
    qdd = articulation.motion(q, qd, qdd, u, t, known).qdd
    out = engine.evaluate(task.RESIDUAL_DERIVATIVES, q, qd, qdd, u, t)
    derivatives = articulation.solve(known, np.eye(n)) @ np.hstack([-out.by_q, -out.by_qd, out.B])
    return ForwardDynamicsDerivatives(qdd, derivatives[:, :n], derivatives[:, n : 2 * n], derivatives[:, 2 * n :])


def solve_by_fixman(engine: Engine, q: Array, B: Array) -> Array:
    """M^-1 B by the extended Fixman method."""
    return engine.companion(Fixman).solve(q, engine.none_known, B)


FORWARD = {"unit": forward_by_unit_columns, "fixman": forward_by_fixman}


def forward_dynamics(
    robot: Robot, q: ArrayLike, qd: ArrayLike, *, algorithm: str, u: ArrayLike | None = None,
    driven_qdd: Mapping[str, float] | None = None,
) -> Array:  # fmt: skip
    """As `Robot.forward_dynamics`, by its algorithms or by "unit" or "fixman"."""
    if algorithm not in FORWARD:
        return robot.forward_dynamics(q, qd, u=u, driven_qdd=driven_qdd, algorithm=algorithm)
    (position, rates), _, qdd, known = robot._state_and_driven(q, qd, 0.0, driven_qdd)
    return FORWARD[algorithm](robot.engine, position, rates, qdd, robot.inputs(u), 0.0, known)


def forward_dynamics_derivatives(
    robot: Robot, q: ArrayLike, qd: ArrayLike, *, algorithm: str, u: ArrayLike | None = None
) -> ForwardDynamicsDerivatives:
    """As `Robot.forward_dynamics_derivatives`, by its algorithms or by "inverse"."""
    if algorithm != "inverse":
        return robot.forward_dynamics_derivatives(q, qd, u=u, algorithm=algorithm)
    (position, rates), _, qdd, known = robot._state_and_driven(q, qd, 0.0, None)
    return derivatives_by_inverse(robot.engine, position, rates, qdd, robot.inputs(u), 0.0, known)


def solve_mass(robot: Robot, q: ArrayLike, b: ArrayLike, *, algorithm: str) -> Array:
    """As `Robot.solve_mass`, by its algorithms or by "fixman"."""
    if algorithm != "fixman":
        return robot.solve_mass(q, b, algorithm=algorithm)
    right = np.asarray(b, dtype=float)
    return solve_by_fixman(robot.engine, robot.coordinates(q), right.reshape(robot.ndof, -1)).reshape(right.shape)
