"""Derivatives of all forces against differences, and accelerations against the equations of motion."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.errors import ModelError
from sorosim.base.validation import LARGEST
from sorosim.mechanics.robot import Robot
from sorosim.studies.doctor.context import CheckContext, random_state
from sorosim.studies.doctor.findings import Finding, finding

STEP = 1e-3  # of four-point differences: truncation and rounding both stay below 1e-10
TOLERANCE = 1e-7
FINER = np.array([1.0, 0.1, 0.03])  # steps, where the first one misses
# where surfaces touch, forces bend within micrometres: smaller steps, and fewer digits
TOUCHING_STEP, TOUCHING_TOLERANCE = 1e-6, 1e-4
# directions along which all derivatives are tried: a wrong entry shows along any that is chosen at random
DIRECTIONS = 6


def derivatives(context: CheckContext) -> Iterator[Finding]:
    """One state in motion, along a few directions."""
    robot = context.robot
    q, qd, qdd, u = random_state(robot)
    held = dict.fromkeys(robot.engine.layout.held, 0.0)  # free they may move no inertia of their own
    try:
        inverse = robot.inverse_dynamics_derivatives(q, qd, qdd=qdd, u=u)
        forward = robot.forward_dynamics_derivatives(q, qd, u=u, driven_qdd=held)
    except ModelError as error:
        yield finding("derivatives.refused", "dynamics", words=str(error))
        return
    if not np.abs(forward.qdd).max(initial=0.0) <= LARGEST:
        yield finding("derivatives.infinite", "dynamics")
        return
    inner = robot.internal_force_derivatives(q, qd, u=u)
    pairs: list[tuple[str, Array, Callable[[Array], Array], Array]] = [
        ("inverse dynamics by q", inverse.dtau_dq, lambda x: robot.inverse_dynamics(x, qd, qdd=qdd, u=u), q),
        ("inverse dynamics by qd", inverse.dtau_dqd, lambda x: robot.inverse_dynamics(q, x, qdd=qdd, u=u), qd),
        ("mass matrix", inverse.mass_matrix, lambda x: robot.inverse_dynamics(q, qd, qdd=x, u=u), qdd),
        ("internal force by q", inner.dtau_dq, lambda x: robot.internal_force(x, qd, u=u), q),
        ("internal force by qd", inner.dtau_dqd, lambda x: robot.internal_force(q, x, u=u), qd),
    ]
    touches = bool(robot.engine.loading.touches and robot.contacts(q).n)
    step, limit = (TOUCHING_STEP, TOUCHING_TOLERANCE) if touches else (STEP, TOLERANCE)
    n, rng = robot.ndof, np.random.default_rng(2)
    directions = rng.uniform(-1.0, 1.0, (DIRECTIONS, n)) if n > DIRECTIONS else np.eye(n)
    directions[:, robot.engine.insertions] = 0.0
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)  # however many coordinates, it moves as little
    worst, name = 0.0, ""
    for label, analytic, function, at in pairs:
        # friction changes within its creep
        steps = (0.1 * STEP if at is qd else step) * FINER
        error_of = _error(analytic, function, at, steps, directions, limit)
        if not error_of <= worst:
            worst, name = error_of, label
    residual, size = _unbalanced(robot, q, qd, u, forward.qdd)
    if not worst <= limit:
        yield finding("derivatives.wrong", "derivatives", worst, name=name)
    elif not residual <= TOLERANCE * size:
        yield finding("derivatives.unsolved", "dynamics", residual / size)
    else:
        yield finding("derivatives.right", "derivatives", worst)


def _error(
    analytic: Array, function: Callable[[Array], Array], at: Array, steps: Array, directions: Array, limit: float
) -> float:
    """Relative error of a derivative against differences, by the first step that is fine enough."""
    # derivatives small against the function are below the resolution of differences
    size = max(float(np.abs(analytic).max(initial=0.0)), float(np.abs(function(at)).max(initial=0.0)), 1e-300)
    error = np.inf
    for h in steps:  # forces that bend within millimetres need finer differences; a wrong derivative misses all
        differences = _differences(function, at, h, directions)
        error = min(error, float(np.abs(analytic @ directions.T - differences).max(initial=0.0) / size))
        if error <= limit:
            break
    return error


def _unbalanced(robot: Robot, q: Array, qd: Array, u: Array, qdd: Array) -> tuple[float, float]:
    """What M qdd + ID - internal force leaves, but for the forces of loops, and the size of forces.

    No differences are needed for that, in which cond(M) would drown digits.
    """
    internal = robot.internal_force(q, qd, u=u)
    residual = robot.inverse_dynamics(q, qd, qdd=qdd, u=u) - internal
    layout = robot.engine.layout
    residual[[layout.coordinate(name, "") for name in layout.held]] = 0.0
    if robot.n_multipliers:
        across = robot.loop_rows(q).A.T
        residual -= across @ np.linalg.lstsq(across, residual, rcond=None)[0]
    forces = internal, robot.inverse_dynamics(q, qd, qdd=0.0 * q, u=u)
    size = max(*(float(np.abs(force).max(initial=0.0)) for force in forces), 1e-300)
    return float(np.abs(residual).max(initial=0.0)), size


def _differences(function: Callable[[Array], Array], at: Array, step: float, directions: Array) -> Array:
    """Derivatives of a vector along directions (k, n), columns, by central differences of fourth order."""
    if not len(directions):
        return np.zeros((len(at), 0))
    columns = [
        8.0 * (function(at + h) - function(at - h)) - (function(at + 2.0 * h) - function(at - 2.0 * h))
        for h in step * directions
    ]
    return np.asarray(np.array(columns).T / (12.0 * step))
