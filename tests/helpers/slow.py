"""A second algorithm for the dynamics of trees: body frames, direct sums, plain NumPy on complex numbers.

It shares with the engine the description (bases, sections, quadrature) and the Magnus step, nothing else. Poses are
products of matrix exponentials, the body Jacobian of a point is carried from segment to segment, dJ/dt is a complex
step along qd, and forces are d'Alembert's sums over all points.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.link import WORLD
from sorosim.mechanics.robot import Robot

Array = NDArray[Any]
STEP = 1e-30


def cross(w: Array) -> Array:
    return np.array([[0 * w[0], -w[2], w[1]], [w[2], 0 * w[0], -w[0]], [-w[1], w[0], 0 * w[0]]])


def ad(x: Array) -> Array:
    w, zero = cross(x[:3]), np.zeros((3, 3))
    return np.block([[w, zero], [cross(x[3:]), w]])


def hat(x: Array) -> Array:
    return np.block([[cross(x[:3]), x[3:, None]], [np.zeros((1, 4))]])


def Ad_inverse(g: Array) -> Array:
    Rt = g[:3, :3].T
    return np.block([[Rt, np.zeros((3, 3))], [-Rt @ cross(g[:3, 3]), Rt]])


@dataclass
class Point:
    """A material point, or the start of a link; what moves it relative to the point before."""

    before: int  # index of the point before, -1 for the world
    offset: Array  # fixed transform from there (4, 4)
    columns: slice  # coordinates of the motion
    steps: tuple[Array, ...] = ()  # P_1, P_2 (6, n), xi*_1, xi*_2 (6,)
    h: float = 0.0
    inertia: Array = field(default_factory=lambda: np.zeros((6, 6)))
    mass: float = 0.0
    centre: Array = field(default_factory=lambda: np.zeros(3))
    braking: float = 0.0  # mass_damping of its material


class SlowTree:
    """Kinematics, dynamics and energies of a description without compiled code."""

    def __init__(self, robot: Robot) -> None:
        description = robot.description
        self.gravity = np.array(description.gravity)
        self.loads: list[tuple[int, Wrench]] = []
        self.points: list[Point] = []
        places: dict[str, list[float]] = {link.name: [] for link in description.links}
        for link in description.links:
            if link.parent != WORLD:
                places[link.parent].append(link.s)
        for load in description.loads.values():
            places[load.link].append(load.s)
        found: dict[str, list[tuple[float, int]]] = {}

        def at(name: str, s: float) -> int:
            return min(found[name], key=lambda entry: abs(entry[0] - s))[1]

        n = 0
        for link in (layout.link for layout in robot.engine.layout.links.values()):  # with the points of routes
            parent = -1 if link.parent == WORLD else at(link.parent, link.s)
            offset = np.array(link.at)
            for stage in link.joint.stages:
                S = stage.columns.T
                first = Point(parent, offset, slice(n, n + S.shape[1]), (S, S, np.zeros(6), np.zeros(6)), 1.0)
                n += S.shape[1]
                self.points.append(first)
                parent, offset = len(self.points) - 1, np.eye(4)
            found[link.name] = [(0.0, len(self.points) - 1)]
            if link.rod is None:
                if link.body is not None:
                    first.inertia, first.mass = link.body.spatial_inertia, link.body.mass
                    first.centre = np.array(link.body.centre)
                continue
            length = link.rod.length
            for division, start in zip(link.rod.divisions, link.rod.starts, strict=True):
                X, w, _ = division.gauss_points()
                for s in places[link.name]:
                    x = s * length - start
                    if 0.0 < x < division.length and np.abs(X - x).min() > 1e-9 * length:
                        k = int(np.searchsorted(X, x))
                        X, w = np.insert(X, k, x), np.insert(w, k, 0.0)
                columns = slice(n, n + division.strain.count)
                for a, b, weight in zip(X, X[1:], w[1:], strict=False):
                    h = b - a
                    c = a + h * (0.5 + np.array([-1, 1]) * np.sqrt(3) / 6)
                    P, xi = division.basis(c), division.reference.values(c, division.length)
                    density = division.line_inertia([b])[0]
                    self.points.append(
                        Point(len(self.points) - 1, np.eye(4), columns, (P[0].T, P[1].T, xi[0], xi[1]), h,
                              weight * np.diag(density), weight * density[3], braking=division.material.mass_damping)
                    )  # fmt: skip
                    found[link.name].append(((start + b) / length, len(self.points) - 1))
                n += division.strain.count
        self.n = n
        self.loads = [(at(load.link, load.s), load) for load in description.loads.values()]

    def kinematics(self, q: Array) -> tuple[Array, Array]:
        """Poses (n_points, 4, 4) and body Jacobians (n_points, 6, n) of all points; q may be complex."""
        count, dtype = len(self.points), np.asarray(q).dtype
        Omega, Z = np.zeros((count, 6), dtype), []
        for k, point in enumerate(self.points):
            P_1, P_2, xi_1, xi_2 = point.steps
            own = q[point.columns]
            xi_1, xi_2 = P_1 @ own + xi_1, P_2 @ own + xi_2
            # a joint is a segment of length 1 with a constant basis: its commutator vanishes
            c = np.sqrt(3) / 12 * point.h**2
            Omega[k] = point.h / 2 * (xi_1 + xi_2) + c * ad(xi_1) @ xi_2
            Z.append(point.h / 2 * (P_1 + P_2) + c * (ad(xi_1) @ P_2 - ad(xi_2) @ P_1))
        # exp(-ad) = Ad of the inverse motion, and phi(-ad) = sum (-ad)^k/(k+1)!, the tangent operator in the body frame
        block = np.zeros((count, 12, 12), dtype)
        block[:, :6, :6], block[:, :6, 6:] = np.stack([-ad(x) for x in Omega]), np.eye(6)
        both = expm(block)
        motion = expm(np.stack([hat(x) for x in Omega]))
        g, J = np.zeros((count, 4, 4), dtype), np.zeros((count, 6, self.n), dtype)
        for k, point in enumerate(self.points):
            g_before = g[point.before] if point.before >= 0 else np.eye(4)
            g[k] = g_before @ point.offset @ motion[k]
            if point.before >= 0:
                J[k] = both[k, :6, :6] @ Ad_inverse(point.offset) @ J[point.before]
            J[k][:, point.columns] += both[k, :6, 6:] @ Z[k]
        return g, J

    def mass_matrix(self, q: Array) -> Array:
        _, J = self.kinematics(q)
        return sum(j.T @ point.inertia @ j for j, point in zip(J, self.points, strict=True))

    def potential(self, q: Array) -> Any:
        """Energy of gravity, zero at the world's origin."""
        g, _ = self.kinematics(q)
        centres = [x[:3, 3] + x[:3, :3] @ point.centre for x, point in zip(g, self.points, strict=True)]
        return -sum(point.mass * self.gravity @ centre for point, centre in zip(self.points, centres, strict=True))

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Array:
        """tau = sum J^T (M (J qdd + Jd qd - Ad_g^{-1} G) - ad_eta^T M eta - f)."""
        g, J = self.kinematics(q)
        Jd = self.kinematics(q + 1j * STEP * qd)[1].imag / STEP
        tau = np.zeros(self.n)
        for x, j, jd, point in zip(g, J, Jd, self.points, strict=True):
            M, eta = point.inertia, j @ qd
            gravity = np.concatenate([np.zeros(3), x[:3, :3].T @ self.gravity])
            F = M @ (j @ qdd + jd @ qd - gravity) - ad(eta).T @ M @ eta + point.braking * M @ eta
            tau += j.T @ F
        for k, load in self.loads:
            R, wrench = g[k, :3, :3], np.array(load.wrench)
            if load.frame == "world":
                wrench = np.concatenate([R.T @ wrench[:3], R.T @ wrench[3:]])
            tau -= J[k].T @ wrench
        return tau

    def lagrange(self, q: Array, qd: Array, qdd: Array) -> Array:
        """d/dt (dT/dqd) - dT/dq + dV/dq, all derivatives by complex steps; without loads and braking."""
        M = self.mass_matrix(q)
        rate = self.mass_matrix(q + 1j * STEP * qd).imag / STEP
        tau = M @ qdd + rate @ qd
        for i in range(self.n):
            nearby = q + 1j * STEP * np.eye(self.n)[i]
            tau[i] += (self.potential(nearby) - 0.5 * qd @ self.mass_matrix(nearby) @ qd).imag / STEP
        return tau
