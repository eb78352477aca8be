"""What is missing from poses where a rod turns far from one of its points to the next (docs/theory.md, 2)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sorosim.arrays import Array
from sorosim.equations.strains import Place, places
from sorosim.model.quadrature import MAX_N_GAUSS
from sorosim.robot import Robot

HALVED = 16.0 / 15.0  # halves of steps of fourth order leave a sixteenth of the error
AIM = 1e-4  # of the length that leads to a tip: what enough points leave
FARTHEST = 1.0  # rad from point to point, from which on errors fall as they should when points are added


class PointsError(NamedTuple):
    """How far a tip is off since the points of a rod are too far from each other."""

    link: str  # whose tip it is
    distance: float  # [m]
    part: float  # of the length of the rods from the world to it
    place: Place  # the division most to blame
    turn: float  # in it, from a point to the next, at most [rad]
    enough: int  # Gauss points in it that leave `AIM`


def lengths(robot: Robot) -> dict[str, float]:
    """Length of the rods from the world to the tip of each link with any [m]."""
    own = {link.name: link.rod.length if link.rod is not None else 0.0 for link in robot.links}
    base: dict[str, float] = {}
    for link in robot.links:  # parents first
        base[link.name] = base.get(link.parent, 0.0) + link.s * own.get(link.parent, 0.0)
    return {name: base[name] + length for name, length in own.items() if base[name] + length > 0.0}


def turns_between_points(robot: Robot, place: Place, q: Array) -> tuple[Array, Array]:
    """How far a division turns from a point to the next (...) [rad], in states q (..., ndof): at most, on average."""
    strains, division = (place.strains(q) + place.division.unloaded)[..., :3], place.division
    curvature = np.sqrt(np.einsum("...i,...i->...", strains, strains))
    X, inside = robot.engine.layout.links[place.link.name].X, place.piece.start + place.inside
    after = np.searchsorted(X, inside)
    most = (curvature * (X[after] - X[after - 1])).max(axis=-1)
    n = division.n_gauss * (len(division.breakpoints) + 1)
    return np.asarray(most), np.asarray(curvature.mean(axis=-1) * division.length / n)


def points_error(robot: Robot, q: Array, least: float = 0.0) -> PointsError | None:
    """The tip that is off most, against the length that leads to it, at coordinates q (ndof,); None if by less.

    By Richardson: against the poses of the same coordinates with twice as many steps between points. What a loop adds,
    or equilibrium, as points move what acts on them, is not in it.
    """
    layout, reaches = robot.engine.layout, lengths(robot)
    if not reaches:
        return None
    mine, halved = robot.engine.ends(q), robot.engine.ends(q, halved=True)
    off = {name: HALVED * math.dist(mine[name][1, :3, 3], halved[name][1, :3, 3]) for name in reaches}
    link = max(reaches, key=lambda name: off[name] / reaches[name])
    if off[link] < least * reaches[link]:
        return None
    tip, blamed, most = mine[link][1][:3, 3], "", -1.0
    name = link
    while name in layout.links:  # to the world
        if layout.links[name].pieces:
            (a, b), (c, d) = mine[name], halved[name]
            apart = np.linalg.solve(np.linalg.solve(a, b), np.linalg.solve(c, d)) - np.eye(4)
            turned = np.linalg.norm(apart[:3, :3]) * np.linalg.norm(tip - b[:3, 3])
            if not (moved := float(np.linalg.norm(apart[:3, 3]) + turned)) <= most:  # nor if it is nan
                blamed, most = name, moved
        name = layout.links[name].link.parent
    of_rod = (place for place in places(robot) if place.link.name == blamed)
    turn, place = max(
        ((float(turns_between_points(robot, one, q)[0]), one) for one in of_rod), key=lambda pair: pair[0]
    )
    part = off[link] / reaches[link]
    enough = enough_points(place.division.n_gauss, max((part / AIM) ** 0.25, turn / FARTHEST))
    return PointsError(link, off[link], part, place, turn, enough)


def enough_points(n_gauss: int, factor: float) -> int:
    """So many times as many Gauss points, no fewer."""
    return min(math.ceil(n_gauss * max(factor, 1.0)), MAX_N_GAUSS) if math.isfinite(factor) else MAX_N_GAUSS
