"""How far a run is from the motion itself: its companion by finer steps, and how far places are apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.analysis.equations.callbacks import extent_of
from sorosim.analysis.equations.points import SECTIONS
from sorosim.base.arrays import Array, IntArray, Mask
from sorosim.mechanics.robot import Robot


class Companion(NamedTuple):
    """The motion of a run once more, by finer steps, at the same times; NaN where it did not come to."""

    q: Array  # (n, ndof)
    qd: Array  # (n, ndof)
    strain: Array  # (n, n_strains)
    how: str  # method and tolerances, or step
    level: int  # how many times finer than the run
    factor: float  # the error of the run over the distance between both, as the order of the method has it
    parts_at: float  # time from which on motions of any tolerance part [s]; infinite where they do not

    def at(self, rows: slice | IntArray | Mask) -> Companion:
        """It at some of the times only."""
        return self._replace(q=self.q[rows], qd=self.qd[rows], strain=self.strain[rows])


class Accuracy(NamedTuple):
    """How far a run is from the motion itself, as its companion tells."""

    t: Array  # (n,) [s]
    error: Array  # (n,) estimated error of the place that is off most, see `apart` [m]; NaN: not known
    way: float  # the longest extent of the way of any place [m]
    parts_at: float  # time from which on only statistics are meaningful [s]; infinite where there is none
    how: str  # what it was compared with

    def __str__(self) -> str:
        known = np.isfinite(self.error)
        against = f"against {self.how}"
        if not known.any():
            return f"to what is not known, {against}"
        if not (self.t >= self.parts_at).any():  # rows of a run may end before
            error, end = float(self.error[known].max()), float(self.t[known][-1])
            words = f"to {_length(error)}, {100.0 * error / (self.way or 1.0):.2g} % of the way, {against}"
            return words if known[-1] else f"{words}, which came to {end:.4g} s; from there on it is not known"
        far = np.flatnonzero(~(self.error <= CLOSE * self.way) & known | (self.t >= self.parts_at))
        exact = float(self.t[max(int(far[0]) - 1, 0)])
        words = f"to {_length(CLOSE * self.way)} until {exact:.4g} s, {against}; from {self.parts_at:.4g} s on"
        return f"{words} only statistics are meaningful: motions of neighbouring tolerances part"


CLOSE = 1e-3  # of its way, to which a motion is to be right
LEAST_WAY = 1e-3  # of the size of the robot


def _length(value: float) -> str:
    unit, factor = ("m", 1.0) if value >= 1.0 else ("mm", 1e3) if value >= 1e-5 else ("um", 1e6)
    return f"{factor * value:.2g} {unit}"


def apart(robot: Robot, q: Array, other: Array) -> tuple[Array, float]:
    """Largest distance (n,) of a place between two motions [m], and the longest extent of the way of one in q [m].

    Places are the tips of all links, and of each the ends of three arms along its axes that are as long as its body:
    the frame of a rigid link may lie on the axis about which it turns; and `SECTIONS` of rods. NaN where a motion is
    not known. An extent is the diagonal of the box around a way, and at least a part of the size of the robot: what
    moves less is at rest.
    """
    engine, names = robot.engine, [link.name for link in robot.links]
    rods = [name for name in names if engine.layout.links[name].pieces]
    along = [(name, s) for name in rods for s in SECTIONS[:-1]]
    places, n = engine.places((*((name, 1.0) for name in names), *along)), len(names)
    inertia = engine.tree.inertia[[engine.layout.links[name].nodes[-1] for name in names]]
    mass = np.maximum(inertia[:, 5, 5], np.finfo(float).tiny)
    # m r^2 with r from the frame, centre and radius of gyration together
    arm = np.sqrt(0.5 * np.trace(inertia[:, :3, :3], axis1=1, axis2=2) / mass)
    known = np.isfinite(other).all(axis=1)

    def positions(rows: Array) -> Array:
        g = np.array([engine.poses_at(places, row)[0] for row in rows]).reshape(len(rows), n + len(along), 4, 4)
        p = g[:, :, :3, 3]
        ends = p[:, :n, None] + arm[:, None, None] * np.swapaxes(g[:, :n, :3, :3], 2, 3)
        return np.concatenate([p, ends.reshape(len(rows), 3 * n, 3)], axis=1)

    own, distance = positions(q), np.full(len(q), np.nan)
    distance[known] = np.linalg.norm(own[known] - positions(other[known]), axis=2).max(axis=1, initial=0.0)
    way = np.linalg.norm(np.ptp(own, axis=0), axis=1).max(initial=0.0) if len(q) else 0.0
    return distance, max(float(way), LEAST_WAY * extent_of(robot, q[0]) if len(q) else 0.0)
