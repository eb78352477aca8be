"""Derivatives of all forces against differences, and accelerations against the equations of motion."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from sorosim.doctor.finding import OK, WRONG, Finding
from sorosim.doctor.patient import Patient
from sorosim.doctor.states import some_state
from sorosim.errors import ModelError
from sorosim.robot import Robot
from sorosim.validation import LARGEST

Array = NDArray[np.float64]

STEP = 1e-3  # of four-point differences: truncation and rounding both stay below 1e-10
WRONG_DERIVATIVE = 1e-7
FINER = np.array([1.0, 0.1, 0.03])  # steps, where the first one misses
# where surfaces touch, forces bend within micrometres: smaller steps, and fewer digits
TOUCHING_STEP, TOUCHING_WRONG = 1e-6, 1e-4
# directions along which all derivatives are tried: a wrong entry shows along any that is chosen at random
WAYS = 6


def derivatives(patient: Patient) -> Iterator[Finding]:
    """One state in motion, along a few directions."""
    robot = patient.robot
    q, qd, qdd, u = some_state(robot)
    try:
        inverse = robot.inverse_dynamics_derivatives(q, qd, qdd)
        forward = robot.forward_dynamics_derivatives(q, qd, u, driven={})
    except ModelError as error:
        yield Finding(WRONG, "dynamics", str(error), "see what has no mass above")
        return
    if not np.abs(forward.qdd).max(initial=0.0) <= LARGEST:
        remedy = "look at the units of loads, stiffnesses and masses"
        yield Finding(WRONG, "dynamics", "accelerations are beyond all numbers", remedy)
        return
    inner = robot.internal_force_derivatives(q, qd, u)
    pairs: list[tuple[str, Array, Callable[[Array], Array], Array]] = [
        ("inverse dynamics by q", inverse.dtau_dq, lambda x: robot.inverse_dynamics(x, qd, qdd), q),
        ("inverse dynamics by qd", inverse.dtau_dqd, lambda x: robot.inverse_dynamics(q, x, qdd), qd),
        ("mass matrix", inverse.mass_matrix, lambda x: robot.inverse_dynamics(q, qd, x), qdd),
        ("internal force by q", inner.dtau_dq, lambda x: robot.internal_force(x, qd, u), q),
        ("internal force by qd", inner.dtau_dqd, lambda x: robot.internal_force(q, x, u), qd),
    ]
    touches = bool(robot.engine.loading.touches and robot.contacts(q).n)
    step, limit = (TOUCHING_STEP, TOUCHING_WRONG) if touches else (STEP, WRONG_DERIVATIVE)
    ways = np.random.default_rng(2).uniform(-1.0, 1.0, (WAYS, robot.ndof)) if robot.ndof > WAYS else np.eye(robot.ndof)
    ways = ways / np.linalg.norm(ways, axis=1, keepdims=True)  # however many coordinates, the robot moves as little
    worst, name = 0.0, ""
    for label, analytic, function, at in pairs:
        # friction changes within its creep
        steps = (0.1 * STEP if at is qd else step) * FINER
        # what is small against the function itself, differences cannot see
        size = max(float(np.abs(analytic).max(initial=0.0)), float(np.abs(function(at)).max(initial=0.0)), 1e-300)
        miss = np.inf
        for h in steps:  # forces that bend within millimetres need finer differences; a wrong derivative misses all
            differences = _differences(function, at, h, ways)
            miss = min(miss, float(np.abs(analytic @ ways.T - differences).max(initial=0.0) / size))
            if miss <= limit:
                break
        if not miss <= worst:
            worst, name = miss, label
    rest, size = _unbalanced(robot, q, qd, u, forward.qdd)
    if not worst <= limit:
        remedy = "if a load of your own is in it, look at its tangents; if not, please report this"
        yield Finding(WRONG, "derivatives", f"{name} misses differences by {worst:.1e}", remedy, worst)
    elif not rest <= WRONG_DERIVATIVE * size:
        remedy = "look at the masses: light links beyond heavy ones?"
        yield Finding(WRONG, "dynamics", "accelerations do not solve the equations of motion", remedy, rest / size)
    else:
        yield Finding(OK, "derivatives", f"agree with differences to {worst:.1e}", value=worst)


def _unbalanced(robot: Robot, q: Array, qd: Array, u: Array, qdd: Array) -> tuple[float, float]:
    """What M qdd + ID - internal force leaves, but for the forces of loops, and the size of forces.

    No differences are needed for that, in which cond(M) would drown digits.
    """
    rest = robot.inverse_dynamics(q, qd, qdd) - robot.internal_force(q, qd, u)
    if robot.n_multipliers:
        across = robot.loop_rows(q).A.T
        rest -= across @ np.linalg.lstsq(across, rest, rcond=None)[0]
    forces = robot.internal_force(q, qd, u), robot.inverse_dynamics(q, qd, 0.0 * q)
    size = max(*(float(np.abs(force).max(initial=0.0)) for force in forces), 1e-300)
    return float(np.abs(rest).max(initial=0.0)), size


def _differences(function: Callable[[Array], Array], at: Array, step: float, ways: Array) -> Array:
    """Derivatives of a vector along directions (k, n), columns, by central differences of fourth order."""
    if not len(ways):
        return np.zeros((len(at), 0))
    columns = [
        8.0 * (function(at + h) - function(at - h)) - (function(at + 2.0 * h) - function(at - 2.0 * h))
        for h in step * ways
    ]
    return np.asarray(np.array(columns).T / (12.0 * step))
