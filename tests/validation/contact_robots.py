"""Small robots that touch something, for the tests of contact."""

from typing import Any

import numpy as np

import sorosim
from sorosim.mechanics.robot import Robot

SILICONE = {"silicone": {"young": 1e6, "poisson": 0.5, "density": 1000}}


def at(position: Any, **rotation: Any) -> dict[str, Any]:
    return {"position": list(position), **({"rotation": rotation} if rotation else {})}


def body(position: Any, joint: str = "free", *, mass: float = 1.0, turn: dict | None = None, **shape: Any) -> dict:
    return {"joint": joint, "at": at(position, **(turn or {})), "body": {**shape, "mass": mass}}


def rod(position: Any = (0, 0, 0), joint: Any = "free", *, length: float = 0.2, radius: Any = 0.01,
        turn: dict | None = None, quadrature: int = 4, material: str = "silicone", **strain: Any) -> dict:  # fmt: skip
    return {
        "joint": joint, "at": at(position, **(turn or {})),
        "rod": {"length": length, "section": {"circle": {"radius": radius}}, "material": material,
                "strain": strain or {"bending": 2, "torsion": 1, "elongation": 0}, "quadrature": quadrature},
    }  # fmt: skip


def touching(links: dict, *, gravity: Any = (0, 0, -9.81), materials: dict | None = None, loads: dict | None = None,
             rest: dict | None = None, **contact: Any) -> Robot:  # fmt: skip
    """A robot with the contact `touch`."""
    contact = {"stiffness": 1e6, **contact}
    return sorosim.load({
        "sorosim": 1, "name": "test", "gravity": list(gravity), "materials": materials or SILICONE, "links": links,
        "loads": {"touch": {"contact": contact}, **(loads or {})}, **(rest or {}),
    })  # fmt: skip


def floor(z: float = 0.0, slope: float = 0.0) -> dict:
    """A half space whose normal leans by `slope` [rad] towards x."""
    return {"half_space": {}, "at": at((0, 0, z), axis=[0, 1, 0], angle=slope)}


def total_wrench(robot: Robot, q: Any, qd: Any) -> np.ndarray:
    """Sum (6,) of the wrenches on all nodes, about the world's origin, of contacts alone."""
    engine = robot.engine
    engine.sweep(np.asarray(q, float), np.asarray(qd, float), 0)
    return engine.loading.load_external(
        "touch", robot.ndof, 0.0, engine.gravity, robot.inputs(None), engine.workspace
    ).wrench.sum(axis=0)
