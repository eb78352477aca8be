"""A free body with a rod, a leg on a hinge and a ball at the tip of the rod: what loads and actuators are tried on."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import sorosim
from sorosim.mechanics.lie import exp_se3
from sorosim.mechanics.robot import Robot

Array = NDArray[np.float64]


def limbs(gravity: ArrayLike = (1.0, 2.0, -9.0)) -> Robot:
    """The robot, without loads and actuators."""
    tilted = {"position": ["3 cm", "1 cm", "2 cm"], "rotation": {"rpy": [0.3, 0.2, 0.1]}}
    return sorosim.load({
        "sorosim": 1,
        "name": "limbs",
        "gravity": [float(a) for a in gravity],
        "materials": {
            "rubber": {"young": "1 MPa", "poisson": 0.5, "density": "1000 kg/m^3", "damping": "1 kPa*s"},
        },
        "links": {
            "base": {
                "joint": "free",
                "body": {"box": {"size": ["10 cm", "6 cm", "4 cm"]}, "density": "800 kg/m^3"},
                "frames": {"eye": tilted},
            },
            "arm": {"parent": "base", "rod": {
                "length": "50 cm", "section": {"circle": {"radius": ["3 cm", "1 cm"]}}, "material": "rubber",
                "strain": {"torsion": 0, "bending": 2, "elongation": 0, "shear": 0},
            }},
            "leg": {
                "parent": "base", "joint": {"revolute": {"axis": [0, 1, 0]}}, "at": {"position": [0, 0, "-3 cm"]},
                "rod": {
                    "length": "30 cm", "section": {"rectangle": {"y": "2 cm", "z": "1 cm"}}, "material": "rubber",
                    "strain": {"bending": 1, "shear": 0},
                },
            },
            "ball": {"parent": "arm", "joint": "spherical", "body": {
                "ellipsoid": {"radii": ["4 cm", "3 cm", "2 cm"]}, "density": "700 kg/m^3",
                "at": {"position": ["1 cm", 0, "1 cm"], "rotation": {"rpy": [0.1, 0.4, 0]}},
            }},
        },
    })  # fmt: skip


def with_actuators(robot: Robot, **actuators: Any) -> Robot:
    """The same robot with other actuators."""
    return Robot(replace(robot.description, actuators=actuators))


def pose(turn: ArrayLike = (0.0, 0.0, 0.0), shift: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """exp of a twist [turn; shift]."""
    return np.asarray(exp_se3(np.concatenate([np.asarray(turn, dtype=float), np.asarray(shift, dtype=float)])))


def body_wrenches(robot: Robot, name: str, q: Array, qd: Array, t: float = 0.0) -> Mapping[int, Array]:
    """Wrenches (6,) of a load on its nodes, each in the axes of the node, where they are not zero."""
    engine = robot.engine
    engine.sweep(q, qd, 0)
    world = engine.loading.load_external(
        name, engine.ndof, t, engine.gravity, robot.inputs(None), engine.workspace
    ).wrench
    g, _ = node_motion(robot, q, qd)
    found = {}
    for k in np.flatnonzero(world.any(axis=1)):
        R, p = g[k, :3, :3], g[k, :3, 3]
        found[int(k)] = np.concatenate([R.T @ (world[k, :3] - np.cross(p, world[k, 3:])), R.T @ world[k, 3:]])
    return found


def node_motion(robot: Robot, q: Array, qd: Array) -> tuple[Array, Array]:
    """Poses (n, 4, 4) and body twists (n, 6) of all nodes."""
    return robot.engine.poses(np.arange(len(robot.engine.tree.segment)), q, qd)
