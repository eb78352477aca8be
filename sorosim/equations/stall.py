"""Why a run stalls: implausible values in its state, and the motion that limits its steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sorosim.equations.contact_check import needlessly_stiff
from sorosim.equations.strains import largest_strain
from sorosim.equations.system import OdeSystem
from sorosim.errors import SorosimError
from sorosim.kernels import evaluate as task
from sorosim.kernels.kinematics import POSES
from sorosim.kernels.loops import CONSTRAINT
from sorosim.robot import Robot

Array = NDArray[np.float64]

MAX_EIGENVALUES = 500  # most coordinates for which all eigenvalues are computed
IMPLAUSIBLE_STRAIN = 3.0  # strain that hardly any rod survives


def implausible(robot: Robot, q: Array) -> str:
    """Implausible values of a state, an absurd strain or a needlessly stiff contact, in words; "" if there are none."""
    if not np.isfinite(q).all():
        return ""
    strain, place = largest_strain(robot, q)
    if place is not None and strain > IMPLAUSIBLE_STRAIN:
        return f"'{place.link.name}' is strained by {100.0 * strain:.3g} %"
    return needlessly_stiff(robot)


def limiting_motion(system: OdeSystem, t: float, x: Array, tolerances: tuple[float, float]) -> tuple[str, str] | None:
    """The coordinate that moves most in the motion which steps have to follow, and that motion in words.

    Of the natural motions of the linearised equations it is the one whose rate changes most against the tolerances.
    """
    n, robot = system.n_free, system.robot
    if not 0 < n <= MAX_EIGENVALUES:
        return None
    try:
        values, vectors = np.linalg.eig(system.jacobian(t, x))
        parts = vectors * np.linalg.solve(vectors, system.rhs(t, x).astype(complex))
    except (SorosimError, np.linalg.LinAlgError):
        return None
    change = np.abs(values * parts) / (tolerances[1] + tolerances[0] * np.abs(x))[:, None]
    if not np.isfinite(change).all():
        return None
    row, mode = np.unravel_index(int(np.argmax(change)), change.shape)
    index, value = int(system.partition.free[row % n]), values[mode]
    name = robot.coordinate_names[index]
    turn = 2.0 * np.pi / abs(value.imag) if value.imag else np.inf
    period = f"a period of {turn:.2g} s" if abs(value.imag) > abs(value.real) else f"a rate of {value.real:.2g} 1/s"
    words = f"steps follow a motion of '{name}' of '{link_of(robot, name)}' with {period}"
    return name, f"{words}, where {_greatest_force(system, t, x, index)} act most"


def _greatest_force(system: OdeSystem, t: float, x: Array, index: int) -> str:
    """The kind of force that dominates along a coordinate, in words."""
    robot, engine = system.robot, system.robot.engine
    q, qd, qdd = system.coordinates(t, x)
    u, none, unit = np.asarray(system.inputs.value(t)), np.zeros(engine.n_actuators), np.zeros(robot.ndof)
    unit[index] = 1.0
    passive = engine.unactuated.internal(q, qd, none).tau[index]
    forces = {"stiffness and damping": passive}
    for j, name in enumerate(robot.actuator_names):
        one = none.copy()
        one[j] = u[j]
        forces[f"forces of the actuator '{name}'"] = engine.internal(q, qd, one).tau[index] - passive
    for name in engine.loading.loads:
        engine.sweep(q, qd, POSES)
        wrench = engine.loading.load_external(name, engine.ndof, t, engine.gravity, engine.workspace).wrench.copy()
        engine.sweep(q, unit, POSES)
        forces[f"forces of the load '{name}'"] = float(np.sum(wrench * engine.workspace.twist[:-1, 0]))
    if robot.n_multipliers:
        closure = system.forward(task.FORWARD, t, q, qd, qdd).closure
        for name, rows in engine.closed.rows.items():
            force = closure.matrix[CONSTRAINT][rows, index] @ closure.multiplier[rows]
            forces[f"forces of the loop '{name}'"] = force
    return max(forces, key=lambda source: abs(forces[source]))


def link_of(robot: Robot, coordinate: str) -> str:
    """Name of the link of a coordinate, "" of none."""
    index = robot.coordinate_names.index(coordinate) if coordinate else -1
    layouts = robot.engine.layout.links.items()
    return next((name for name, link in layouts if link.column <= index < link.column + link.n), "")
