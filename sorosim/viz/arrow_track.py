"""Arrows along motions, as files have them: a table of moments and of places for arrows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.viz.arrows import Arrows, colour_code
from sorosim.viz.forces import CONTACTS, Acting, acting
from sorosim.viz.look import Look
from sorosim.viz.scene import SCALED_STATES
from sorosim.viz.target import sample
from sorosim.viz.together import Together

Array = NDArray[np.float64]


class Slot(NamedTuple):
    """What one arrow of a file stands for."""

    robot: int  # which of several
    heads: int
    kind: str
    name: str  # of the load, loop, joint or contact
    point: int  # see `Acting`

    @property
    def steady(self) -> bool:
        """Whether it is the same wrench at all times, between which it may be blended: contacts come and go."""
        return self.kind != CONTACTS

    @property
    def colour(self) -> str:
        """Code of its colour."""
        return colour_code(self.kind)


class ArrowTrack(NamedTuple):
    """Arrows along motions."""

    slots: tuple[Slot, ...]
    start: Array  # (n, n_slots, 3) where each begins, of nothing the place where it last was [m]
    vector: Array  # (n, n_slots, 3) [m]; zero where nothing acts
    width: float  # of heads [m]
    legend: str  # what their lengths mean
    kinds: list[tuple[str, str]]  # words for them, and codes of their colours


def arrow_track(shown: Together, look: Look, times: Array, offsets: list[Array], size: float) -> ArrowTrack:
    """The arrows that a look shows of several motions at times (n,), in a picture of a size [m]."""
    found = [_acting(shown, k, look, times) for k in range(len(shown.motions))]
    # the scale is that of the whole motion, as in pictures, whatever moments are asked for
    scaled = [_acting(shown, k, look, shown.at_most(SCALED_STATES)) for k in range(len(shown.motions))]
    arrows = Arrows([one for robot in scaled for one in robot], size)
    places: dict[Slot, list[tuple[int, Array, Array]]] = {}
    for k, robot in enumerate(found):
        for moment, one in enumerate(robot):
            for placed in arrows.placed(one):
                for row, start, vector in zip(placed.rows, placed.starts, placed.vectors, strict=True):
                    slot = Slot(k, placed.heads, one.kind[row], one.name[row], one.point[row])
                    places.setdefault(slot, []).append((moment, start + offsets[k], vector))
    table = np.zeros((2, len(times), len(places), 3))
    for column, rows in enumerate(places.values()):
        at = [moment for moment, _, _ in rows]
        table[0, at, column] = [start for _, start, _ in rows]
        table[1, at, column] = [vector for _, _, vector in rows]
        last = np.maximum(np.searchsorted(at, np.arange(len(times)), side="right") - 1, 0)
        table[0, :, column] = table[0, at, column][last]
    return ArrowTrack(tuple(places), table[0], table[1], arrows.width, arrows.legend, arrows.kinds)


def _acting(shown: Together, k: int, look: Look, times: Array) -> list[Acting]:
    motion = shown.motions[k]
    rows = zip(times, *sample(motion, times), strict=True)
    return [acting(motion.robot, motion, q, u, float(t), look.forces) for t, q, u in rows]
