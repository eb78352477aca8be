"""Motors on coordinates that nothing else holds: these coordinates are found, and the motors' forces follow.

Where forces do not change along a coordinate, as along the rails of a gantry, the tangent stiffness is singular: there
is no equilibrium under most forces of its motor, and under the right one any place is. So the coordinate, not the
force, tells the state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy import linalg

from sorosim.analysis.equations.system import StaticSystem
from sorosim.base.arrays import Array
from sorosim.mechanics.actuation.joint_force import JointForce
from sorosim.mechanics.robot import Robot

# of singular values of the tangent stiffness, its rows and columns of about length 1: that of no stiffness
NEUTRAL = 1e-9
# rows shorter than this part of the longest are rounding
NEGLIGIBLE = 1e-12
# parts of directions along motors' coordinates, of length 1, below which motors do not reach them
DEPENDENT = 1e-3


def neutral_directions(system: StaticSystem, q: Array) -> Array:
    """Directions (k, ndof) in which no force changes, loops closed; columns of the other coordinates are zero."""
    K = system.linearised(system.start(q))[1]
    n, free = system.n_free, system.partition.free
    if not n or not np.isfinite(K).all():
        return np.zeros((0, len(q)))
    size = np.maximum(np.linalg.norm(K, axis=1), np.linalg.norm(K, axis=0))
    held = size > NEGLIGIBLE * max(float(size.max()), float(np.finfo(float).tiny))
    weight = 1.0 / np.sqrt(np.where(held, size, 1.0))
    square = np.where(held[:, None] & held, weight[:, None] * K * weight, 0.0)
    _, s, Vt = linalg.svd(square)
    out = np.zeros((int((s <= NEUTRAL).sum()), len(q)))
    out[:, free] = (Vt[s <= NEUTRAL] * weight)[:, :n]
    return np.asarray(out[np.linalg.norm(out, axis=1) > 0.0])


def unheld_motors(
    robot: Robot, inputs: Array, driven: Mapping[str, float], names: Sequence[str], q: Array
) -> dict[str, int]:
    """Motors, of those named, on coordinates that nothing else holds -> these coordinates.

    Only motors whose force belongs to a coordinate take part, not those in joints of several rotations.
    """
    columns: dict[str, int] = {}
    for name in names:
        motor = robot.description.actuators.get(name)
        if isinstance(motor, JointForce):
            layout = robot.engine.layout
            link, index = layout.links[motor.link], motor.index(layout)
            joint = link.link.joint
            stage = joint.stage_of(index)
            column = link.column + index
            if joint.stages[stage].columns.shape[0] == 1 and column not in columns.values():
                columns[name] = column
    if not columns or not len(null := neutral_directions(StaticSystem(robot, inputs.copy(), driven), q)):
        return {}
    scaled = null / np.linalg.norm(null, axis=1)[:, None]
    of_motors = scaled[:, list(columns.values())]
    _, R, order = linalg.qr(of_motors, pivoting=True, mode="economic")
    size = np.abs(np.diag(R))
    rank = int((size > DEPENDENT * size.max()).sum()) if size.max() > DEPENDENT else 0
    chosen = [list(columns)[k] for k in order[:rank]]
    return {name: columns[name] for name in columns if name in chosen}


def without_motors(robot: Robot, names: Sequence[str]) -> Robot:
    """The robot without some of its actuators; what its file says of inputs is left out."""
    actuators = {name: one for name, one in robot.description.actuators.items() if name not in names}
    return Robot(replace(robot.description, actuators=actuators, simulate={}, statics={}))
