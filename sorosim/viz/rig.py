"""A motion as points that are fixed in moving frames: what files for browsers and 3D programs are made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.errors import InputError
from sorosim.robot import Robot
from sorosim.viz.geometry import Geometry
from sorosim.viz.target import Motion, Timed, sample

Array = NDArray[np.float64]

STATIONS, AROUND = 20, 20  # of each rod, at least, and points around it
LOOKED_AT = 30  # moments of a motion, for what it needs around it


class Track(NamedTuple):
    """Stations of a geometry along a motion."""

    t: Array  # (n,) [s]
    position: Array  # (n, n_stations, 3) [m], world frame
    turn: Array  # (n, n_stations, 4) unit quaternions x, y, z, w; neighbours in time never have opposite signs
    q: Array  # (n, ndof)
    u: Array  # (n, n_actuators)


class Rig:
    """Surfaces of a robot whose points each belong to one station.

    Attributes
    ----------
    geometry : Geometry
    local, normal : (n_points, 3) arrays
        Points [m] and unit normals in the frames of their stations. Normals are those at some coordinates: where a rod
        bends they incline a little.
    """

    def __init__(self, robot: Robot, q: Array, tendons: bool = True) -> None:
        self.geometry = Geometry(robot, n_stations=STATIONS, n_around=AROUND, tendons=tendons)
        self.local = self.geometry.local
        shape = self.geometry.at(q)
        self.normal = np.einsum("kji,kj->ki", shape.g[self.geometry.station, :3, :3], shape.normals)

    def track(self, motion: Motion, times: Array) -> Track:
        """Where the stations are at times of a motion."""
        from scipy.spatial.transform import Rotation

        q, u = sample(motion, times)
        g = np.stack([self.geometry.poses(row) for row in q])
        turn = Rotation.from_matrix(g[..., :3, :3].reshape(-1, 3, 3)).as_quat().reshape(*g.shape[:2], 4)
        return Track(times, g[..., :3, 3], without_flips(turn), q, u)

    def seen(self, track: Track) -> Array:
        """Points (n, 3) of the robot along its motion, not all of them."""
        some = np.unique(np.linspace(0, len(track.t) - 1, LOOKED_AT).astype(int))
        shapes = [self.geometry.some_points(track.q[k], self.geometry.outermost) for k in some]
        return np.concatenate([*shapes, track.position[some].reshape(-1, 3)])


def without_flips(turn: Array) -> Array:
    """Quaternions (n, ..., 4) such that neighbours never have opposite signs."""
    flips = np.sum(turn[1:] * turn[:-1], axis=-1) < 0.0
    signs = np.where(np.cumsum(flips, axis=0) % 2, -1.0, 1.0)[..., None]
    return np.concatenate([turn[:1], turn[1:] * signs])


def frame_times(motion: Timed, fps: float, most: int) -> Array:
    """Times at a rate over motions, both ends among them; evenly fewer if there would be more than `most`."""
    first, last = float(motion.t[0]), float(motion.t[-1])
    if first == last:
        return np.array([first])
    n = min(int(np.ceil((last - first) * fps * (1.0 - 1e-9))) + 1, most)
    if n < 2:
        raise InputError("run", "a robot of fewer parts", "so many that not two moments fit into the file")
    return np.linspace(first, last, n)
