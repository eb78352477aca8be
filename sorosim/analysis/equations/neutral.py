"""Motions that no force opposes at an equilibrium: neutral ones, along which it goes on, and critical ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from sorosim.analysis.equations.contact_check import total_mass
from sorosim.analysis.equations.system import StaticSystem
from sorosim.base.arrays import Array, IntArray
from sorosim.mechanics.linear import Linearization
from sorosim.mechanics.linear.eigenmodes import NEUTRAL
from sorosim.mechanics.robot import Robot

# how far along a motion other equilibria are looked for [rad, m or strains], and what is left of that after corrections
STEP, KEPT = 0.05, 0.5
MAX_CORRECTIONS = 12
MAX_HALVINGS = 8  # of a step that would press against what is not touched at the equilibrium
PLACES = (0.25, 0.5, 0.75, 1.0)  # of a step, where contacts are looked for: a long one may lead through a wall
# residuals that are rounding, as parts of the forces that a step changes; singular values that are, of the largest
BALANCED, SINGULAR = 1e-7, 1e-10


class NeutralMotion(NamedTuple):
    """A motion along which the tangent stiffness is zero."""

    name: str  # the coordinate that has most of its kinetic energy
    shape: Array  # (ndof,)
    goes_on: bool  # whether equilibria go on along it, at the same energy; else a load is critical there


def neutral_motions(linear: Linearization, q: Array, u: Array, free: IntArray) -> tuple[NeutralMotion, ...]:
    """Motions along which the tangent stiffness of an equilibrium is zero, and whether it is so beyond first order.

    From a step along each of them Newton's method goes to the nearest equilibrium: of a neutral one that is there; of a
    critical one, as under a buckling load, it comes back.
    """
    robot = linear.robot
    null = linear.frequencies == 0.0
    if robot is None or not null.any():
        return ()
    shapes = (linear.modes if len(linear.lam) else linear.Z @ linear.modes)[:, null]
    driven = np.setdiff1d(np.arange(robot.ndof), free)
    system = StaticSystem(robot, u, {robot.coordinate_names[i]: float(q[i]) for i in driven})
    inertia = np.maximum(np.diag(robot.mass_matrix(q)), 0.0)
    # forces that are rounding of weight, or let a motion grow within days only
    least = BALANCED * total_mass(robot) * float(np.linalg.norm(robot.engine.gravity)) + NEUTRAL * STEP * inertia.max()
    found = []
    for shape in _sparse(shapes).T:
        name = robot.coordinate_names[int(np.argmax(np.abs(shape) * np.sqrt(inertia)))]
        step = STEP / np.abs(shape).max() * shape
        within = _within_play(robot, q, step)
        found.append(NeutralMotion(name, shape, all(_goes_on(system, q, part * within, least) for part in (0.5, 1.0))))
    return tuple(found)


def _within_play(robot: Robot, q: Array, step: Array) -> Array:
    """The step, or the longest of its halves to either side that closes no contact; itself if none is so short.

    What lies between two walls moves freely from one to the other, and no farther.
    """
    if not robot.engine.loading.touches:
        return step
    n = robot.contacts(q).n
    for part in 0.5 ** np.arange(MAX_HALVINGS + 1):
        for side in (part, -part):
            if all(robot.contacts(q + side * way * step).n <= n for way in PLACES):
                return np.asarray(side * step)
    return step


def _sparse(shapes: Array) -> Array:
    """The same space (n, k) by shapes of few coordinates: each is the only one that moves one of k coordinates."""
    pivots = scipy.linalg.qr(shapes.T, mode="r", pivoting=True)[1][: shapes.shape[1]]
    return np.asarray(np.linalg.solve(shapes[pivots].T, shapes.T).T)


def _goes_on(system: StaticSystem, q: Array, step: Array, least: float) -> bool:
    """Whether there is an equilibrium about a step away: at the same energy, since no force opposes the way there."""
    free = system.partition.free
    x = system.start(q + step)
    forces = np.abs(system.jacobian(x, 1.0)[1]) @ np.abs(x - system.start(q))
    for _ in range(MAX_CORRECTIONS):
        r, J = system.jacobian(x, 1.0)
        if np.abs(r).max(initial=0.0) <= least + BALANCED * forces.max(initial=0.0):
            moved = (system.q(x) - q)[free]
            return bool(moved @ step[free] >= KEPT * step[free] @ step[free])
        x = x - scipy.linalg.lstsq(J, r, cond=SINGULAR)[0]
    return False
