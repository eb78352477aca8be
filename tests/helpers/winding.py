"""Rods that wind, as plain data: a straight one with a tendon on a helix, and its tip; a coil spring."""

from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize

LENGTH, RADIUS, OFFSET, YOUNG, POISSON = 0.18, 0.5e-3, 8e-3, 60e9, 0.3  # m, m, m, Pa
AREA, INERTIA = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4.0


def helical_robot(
    order: int, *, turns: float = 1.0, tension: float = 10.0, discs: int = 0, quadrature: int | None = None
) -> dict[str, Any]:
    """A weightless rod pulled by a tendon on a helix around it, all strains of one order."""
    section = {"area": AREA, "Iy": INERTIA, "Iz": INERTIA, "J": 2.0 * INERTIA}
    rod: dict[str, Any] = {
        "length": LENGTH, "section": {"properties": section}, "material": "steel",
        "strain": {"bending": order, "torsion": order, "elongation": order, "shear": order},
    }  # fmt: skip
    if discs:
        rod |= {"section": {"circle": {"radius": RADIUS}}, "discs": {"count": discs, "radius": 0.01, "thickness": 1e-4}}
    if quadrature:
        rod["quadrature"] = quadrature
    y, z = (f"{OFFSET} m*{wave}(2*pi*{turns}*s)" for wave in ("cos", "sin"))
    return {
        "sorosim": 1, "name": "helix", "gravity": [0, 0, 0],
        "materials": {"steel": {"young": YOUNG, "poisson": POISSON, "density": 7800}},
        "links": {"rod": {"rod": rod}}, "actuators": {"pull": {"tendon": {"rod": "rod", "y": y, "z": z}}},
        "statics": {"u": {"pull": tension}},
    }  # fmt: skip


def helical_tip(stiffness: np.ndarray, turns: float = 1.0, tension: float = 10.0) -> np.ndarray:
    """Exact tip (3,) of `helical_robot`, from the diagonal (6,) of its stiffness per length.

    Sections balance one by one, K (xi - xi*) = -T E^T t (docs/theory.md, 6). The route turns at the rate w, so
    xi(X) = Rx(w X) xi(0) for equal stiffness about y and z, and g(X) Rx(w X) = exp(X (xi(0) + w e_x)).
    """
    w = 2.0 * np.pi * turns / LENGTH
    d, slope, unloaded = np.array([0.0, OFFSET, 0.0]), np.array([0.0, 0.0, OFFSET * w]), np.eye(6)[3]

    def unbalanced(scaled: np.ndarray) -> np.ndarray:
        xi = unloaded + scaled / stiffness
        v = xi[3:] + np.cross(xi[:3], d) + slope
        t = v / np.linalg.norm(v)
        return scaled + tension * np.concatenate([np.cross(d, t), t])

    solution = scipy.optimize.root(unbalanced, np.zeros(6), tol=1e-13)
    assert solution.success
    x = unloaded + solution.x / stiffness + w * np.eye(6)[0]
    twist = np.zeros((4, 4))
    twist[:3, :3], twist[:3, 3] = [[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]], x[3:]
    return scipy.linalg.expm(LENGTH * twist)[:3, 3]


def coil(turns: float, order: int, *, quadrature: int | None = None) -> dict[str, Any]:
    """A coil of stiff wire, 2 cm across, clamped at one end, under its weight: bending and torsion of one order."""
    pitch, across = 0.15, 0.02  # rad, m
    length = np.pi * across * turns / np.cos(pitch)
    reference = {"bending_y": 2.0 * np.cos(pitch) ** 2 / across, "torsion": np.sin(2.0 * pitch) / across}
    rod = {"length": length, "section": {"circle": {"radius": 0.5e-3}}, "material": "wire",
           "strain": {"bending": order, "torsion": order}, "reference": reference}  # fmt: skip
    if quadrature:
        rod["quadrature"] = quadrature
    wire = {"young": 2e9, "poisson": 0.3, "density": 7800}
    return {"sorosim": 1, "name": "coil", "materials": {"wire": wire}, "links": {"rod": {"rod": rod}}}
