"""Arbitrary states for checks that must hold in any."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sorosim.kernels.fibres import TENDON_LENGTH
from sorosim.robot import Robot

Array = NDArray[np.float64]

INPUT_SIZES = {"Pa": 1e4}  # of inputs that are tried, by their unit; 1 for others


def some_state(robot: Robot, seed: int = 1) -> tuple[Array, Array, Array, Array]:
    """A state in motion in which rods are clearly bent, and inputs."""
    rng = np.random.default_rng(seed)
    scale = np.full(robot.ndof, 0.2)
    for layout in robot.engine.layout.links.values():
        rows = np.concatenate([np.zeros(0), *(piece.division.strain.rows for piece in layout.pieces)])
        first = layout.column + layout.n_joint
        scale[first : first + len(rows)] = np.where(rows < 3, 0.2, 0.02)
    q, qd, qdd = (rng.uniform(-1.0, 1.0, robot.ndof) * scale for _ in range(3))
    sizes = np.array([INPUT_SIZES.get(unit, 1.0) for unit in robot.actuator_units])
    wound = robot.engine.fibres.input[:, TENDON_LENGTH]
    return q, qd, qdd, rng.uniform(0.0, 1.0, len(sizes)) * np.where(wound > 0.0, 0.05 * wound, sizes)
