"""What is missing from poses where a rod turns far from one of its points to the next (docs/theory.md, 2)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sorosim.analysis.equations.strains import Place, places
from sorosim.base.arrays import Array
from sorosim.mechanics.model.quadrature import MAX_N_GAUSS
from sorosim.mechanics.robot import Robot

HALVED = 16.0 / 15.0  # halves of steps of fourth order leave a sixteenth of the error
# parts of its length at which it is seen how far a rod is off: a tip may be held by a loop
SECTIONS = 0.25, 0.5, 0.75, 1.0
AIM = 1e-4  # of the length that leads to a tip: what enough points leave
FARTHEST = 1.0  # rad from point to point, from which on errors fall as they should when points are added


class PointsError(NamedTuple):
    """How far a section is off since the points of a rod are too far from each other."""

    link: str
    s: float
    distance: float  # [m]
    part: float  # of the length of the rods from the world to the tip of its link
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


def section_words(link: str, s: float) -> str:
    """What a section of a link is called in messages."""
    return f"the tip of '{link}'" if s == 1.0 else f"'{link}' at s = {s:.2g}"


def points_error(robot: Robot, q: Array, least: float = 0.0) -> PointsError | None:
    """The section that is off most, against the length that leads to its tip, at coordinates q (ndof,).

    None if it is off by less. By Richardson: against the poses of the same coordinates with twice as many steps between
    points, at the points next to `SECTIONS`. What a loop adds, or equilibrium, as points move what acts on them, is not
    in it.
    """
    layout, reaches = robot.engine.layout, lengths(robot)
    if not reaches:
        return None
    mine, halved = (robot.engine.near_sections(q, SECTIONS, halved=finer) for finer in (False, True))
    off = {
        name: HALVED * np.linalg.norm(mine[name][1][1:, :3, 3] - halved[name][1][1:, :3, 3], axis=1) for name in reaches
    }
    link = max(reaches, key=lambda name: off[name].max() / reaches[name])
    distance = float(off[link].max())
    if distance < least * reaches[link]:
        return None
    worst = 1 + int(off[link].argmax())
    here, blamed, most = mine[link][1][worst, :3, 3], "", -1.0
    name, end = link, worst
    while name in layout.links:  # to the world
        if layout.links[name].pieces:
            (a, b), (c, d) = mine[name][1][[0, end]], halved[name][1][[0, end]]
            apart = np.linalg.solve(np.linalg.solve(a, b), np.linalg.solve(c, d)) - np.eye(4)
            turned = np.linalg.norm(apart[:3, :3]) * np.linalg.norm(here - b[:3, 3])
            if not (moved := float(np.linalg.norm(apart[:3, 3]) + turned)) <= most:  # nor if it is nan
                blamed, most = name, moved
        name, end = layout.links[name].link.parent, -1
    of_rod = (place for place in places(robot) if place.link.name == blamed)
    turn, place = max(
        ((float(turns_between_points(robot, one, q)[0]), one) for one in of_rod), key=lambda pair: pair[0]
    )
    part = distance / reaches[link]
    enough = enough_points(place.division.n_gauss, max((part / AIM) ** 0.25, turn / FARTHEST))
    return PointsError(link, float(mine[link][0][worst]), distance, part, place, turn, enough)


def enough_points(n_gauss: int, factor: float) -> int:
    """So many times as many Gauss points, no fewer."""
    return min(math.ceil(n_gauss * max(factor, 1.0)), MAX_N_GAUSS) if math.isfinite(factor) else MAX_N_GAUSS
