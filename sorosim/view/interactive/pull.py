"""Pulling a robot at a point: a spring and a damper to a target that changes between steps.

The rows of a compiled load are written anew between steps, so pulls cost no more than any spring, and Newton's method
of the implicit steps has their exact tangents however stiff they are.
"""

from __future__ import annotations

from itertools import takewhile
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from sorosim.base.arrays import Array, Mask
from sorosim.base.errors import InputError
from sorosim.mechanics.dynamics.constraints import IndependentRows
from sorosim.mechanics.kernels.load_laws import SPRING, STIFFNESS, TWIST_DAMPING
from sorosim.mechanics.loads.compiled import BoundLaw, CompiledLaw, LawRow
from sorosim.mechanics.model.layout import Layout
from sorosim.mechanics.robot import Robot

PULL = "pull"
# the spring is as stiff as the point itself when it is shaken at this frequency [Hz], and damped as critically
FREQUENCY = 1.5
# directions that nothing resists, relative to the stiffest
RIGID = 1e-13


class Grip(NamedTuple):
    """A point of a robot that is pulled at."""

    link: str
    s: float  # place on a rod, 1 on a body
    node: int
    offset: Array  # (3,) of the point in the frame of its node [m]


class _Rows:
    """A load of a spring to a point of the world and a damper, which do nothing yet; it fulfils `loads.base.Load`."""

    places = ()

    def bind(self, layout: Layout) -> BoundLaw:
        node = int(next(iter(layout.links.values())).nodes[0])
        place = np.eye(4)
        place[0, 3] = 1.0  # no identity, which would have no place among the frames
        spring = LawRow(SPRING, node, np.zeros(6), {}, place, -1, place)
        damper = LawRow(TWIST_DAMPING, node, np.zeros(6), {}, place)
        return BoundLaw(CompiledLaw([spring, damper]))


class Pull:
    """What pulls at a robot of its own: that of a user, under one more load.

    Attributes
    ----------
    robot : Robot
        With the load; its arrays are changed in place, from between the steps of the thread that moves it.
    grip : Grip or None
        Where it is pulled.
    target : (3,) ndarray
        Where the point is pulled to, world frame [m].
    stiffness, damping : float
        [N/m], [N s/m]
    """

    def __init__(self, robot: Robot) -> None:
        self.name = PULL
        while self.name in robot.description.loads:
            self.name += "_"
        self.robot = robot.with_loads(**{self.name: _Rows()})
        self.grip: Grip | None = None
        self.target, self.stiffness, self.damping, self._reach = np.zeros(3), 0.0, 0.0, np.inf
        loading = self.robot.engine.loading
        before = takewhile(lambda item: item[0] != self.name, loading.compiled.items())
        self._laws, first = loading.packed.laws, sum(len(law.rows) for _, law in before)
        self._spring, self._damper = self._laws.row[first], self._laws.row[first + 1]

    def at(self, q: Array, link: str, point: Array | None = None, s: float = 1.0) -> Grip:
        """The point of a link that is nearest to a place s of it; it lies at a point of the world, or on its axis."""
        layout = self.robot.engine.layout.link(link)
        node = layout.node_at(s)
        g = self._pose(node, q)
        offset = np.zeros(3) if point is None else g[:3, :3].T @ (point - g[:3, 3])
        place = float(layout.X[int(np.argmax(layout.nodes == node))] / layout.X[-1]) if layout.pieces else 1.0
        return Grip(link, place, node, offset)

    def grab(self, grip: Grip, q: Array, free: Mask, strength: float, reach: float) -> None:
        """Pull at a point, whose coordinates (ndof,) are `free` or driven, by no more than to a distance [m]."""
        _, _, (J,), _ = self.robot.engine.jacobians(np.array([grip.node]), q, np.zeros_like(q), False)
        velocity = J[3:] - np.cross(grip.offset, J[:3], axisb=0, axisc=0)
        compliance = float(np.trace(velocity @ response(self.robot, q, free) @ velocity.T)) / 3.0
        if not compliance > 0.0:
            hint = "its motion is prescribed, or nothing of it can move"
            raise InputError("pull", "a point that a force can move", f"one of '{grip.link}'", hint)
        self.stiffness = strength / compliance
        self.damping = self.stiffness / (2.0 * np.pi * FREQUENCY)
        self.grip, self._reach = grip, reach
        self.aim(self.point(q), q)

    def aim(self, target: Array, q: Array) -> None:
        """Pull to a target (3,), or to where it is not too far from the point."""
        if self.grip is None:
            return
        point = self.point(q)
        away = target - point
        self.target = point + away * min(1.0, self._reach / max(float(np.linalg.norm(away)), 1e-300))
        self._write(self.grip, self.stiffness, self.damping)

    def release(self) -> None:
        """Pull no longer."""
        if self.grip is not None:
            self._write(self.grip, 0.0, 0.0)
            self.grip = None

    def point(self, q: Array) -> Array:
        """Where the pulled point is (3,) [m], world frame."""
        assert self.grip is not None
        g = self._pose(self.grip.node, q)
        return np.asarray(g[:3, :3] @ self.grip.offset + g[:3, 3])

    def force(self, q: Array, qd: Array) -> Array:
        """Force (3,) on the robot [N], world frame."""
        assert self.grip is not None
        g, eta = self.robot.engine.poses(np.array([self.grip.node]), q, qd)
        R, velocity = g[0, :3, :3], eta[0, 3:] + np.cross(eta[0, :3], self.grip.offset)
        away = self.target - R @ self.grip.offset - g[0, :3, 3]
        return np.asarray(self.stiffness * away - self.damping * (R @ velocity))

    def _pose(self, node: int, q: Array) -> Array:
        return np.asarray(self.robot.engine.poses(np.array([node]), q, np.zeros_like(q))[0][0])

    def _write(self, grip: Grip, stiffness: float, damping: float) -> None:
        laws = self._laws
        for row in (self._spring, self._damper):
            row.node = grip.node
            laws.frame[row.frame] = np.vstack([np.eye(3), grip.offset])
        laws.frame[self._spring.other_frame] = np.vstack([np.eye(3), self.target])
        laws.value[self._spring.at + STIFFNESS] = stiffness
        laws.value[self._damper.at + 3 : self._damper.at + 6] = damping


def response(robot: Robot, q: Array, free: Mask) -> Array:
    """How coordinates (ndof, ndof) give way to slow forces: (K + w^2 M)^-1 of the free ones, loops being closed.

    K is that of rods, springs and servos, w that of `FREQUENCY`: inertia stands in for what else holds a robot.
    """
    K = -robot.engine.internal(q, np.zeros_like(q), robot.inputs(None), True).by_q
    A = (2.0 * np.pi * FREQUENCY) ** 2 * robot.mass_matrix(q) + 0.5 * (K + K.T)
    basis = np.eye(robot.ndof)[:, free]
    if robot.n_multipliers:
        rows = robot.loop_rows(q)
        basis = basis @ IndependentRows(robot.engine, rows.A[:, free], rows.error).motions()
    if not basis.shape[1]:
        return np.zeros_like(A)
    values, vectors = eigh(basis.T @ A @ basis)
    stiff = values > RIGID * values[-1]
    modes = basis @ vectors[:, stiff]
    return np.asarray((modes / values[stiff]) @ modes.T)
