"""Round rods of rubber whose length is a coordinate."""

from typing import Any

import numpy as np

import sorosim as so

KINDS = ("feed", "growth")
COMMON = {"young": "1 MPa", "density": 1100, "damping": "200 Pa*s"}
MATERIALS = {
    "rubber": {**COMMON, "poisson": 0.45},
    "soft": {**COMMON, "poisson": 0.5, "elasticity": "mooney-rivlin", "second_share": 0.3},
}
RADIUS, DENSITY = 0.008, 1100.0
AREA, INERTIA = np.pi * RADIUS**2, 0.25 * np.pi * RADIUS**4  # of the section


def rod(length: Any, strain: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A round rod of rubber."""
    return {"length": length, "section": {"circle": {"radius": "8 mm"}}, "material": "rubber", "strain": strain, **more}


def robot_of(links: dict[str, Any], **more: Any) -> so.Robot:
    """A robot with these links."""
    return so.load({"sorosim": 1, "materials": MATERIALS, "links": links, **more})


def random_state(robot: so.Robot, rng: np.random.Generator) -> list[np.ndarray]:
    """Coordinates, rates and accelerations of the size of what is usual."""
    size = np.full(robot.ndof, 0.3)
    for i, name in enumerate(robot.coordinate_names):
        if name.endswith(KINDS) or "elongation" in name or "shear" in name:
            size[i] = 0.04
    return [scale * rng.normal(size=robot.ndof) * size for scale in (1.0, 3.0, 10.0)]
