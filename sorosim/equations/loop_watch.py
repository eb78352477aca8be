"""What goes wrong with loops while a robot moves: singular configurations, and loops that come open."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sorosim.engine.engine import Evaluation
from sorosim.kernels.loops import ERROR
from sorosim.kernels.saddle import Saddle
from sorosim.robot import Robot

Array = NDArray[np.float64]

# a row next to dependence has come near to it when it has less than this part of what it had at its best
NEAR = 1e-2
# loops that are open by more than this part of their extent, or radians, are lost
LOST = 1e-2
# the same where too much is driven, and nothing can close them
UNFIT = 1e-6
# loops that a failed step leaves open by more than this are why it failed
FAILED = 1e-10


class LoopWatch:
    """How regular the rows of the loops are, and how far open, at all evaluations of a run."""

    def __init__(self, robot: Robot) -> None:
        self.closed, self.size = robot.engine.closed, robot.engine.loops.size
        self.limit = LOST
        self.rank, self.best, self.least, self.where = 0, 0.0, np.inf, ""
        self.lost = ""

    def driven_beside_loops(self) -> None:
        """More is driven than the loops leave free: they stay closed only if the motions fit them."""
        self.limit = UNFIT

    def loop_of(self, row: int) -> str:
        """Name of the loop that has this row."""
        return next(name for name, rows in self.closed.rows.items() if rows.start <= row < rows.stop)

    def regular(self, t: float, saddle: Saddle) -> None:
        """Look at the factors of an evaluation."""
        rank, least = int(saddle.regularity[0]), float(saddle.regularity[1])
        if rank < self.rank:
            rank, least = rank + 1, 0.0
        elif rank > 0:
            self.rank, self.best = rank, max(self.best, least)
        if rank > 0:
            self.near(t, least, self.best, int(saddle.order[rank - 1]))

    def near(self, t: float, least: float, best: float, row: int) -> None:
        """Keep the place next to a singular configuration: how much the row next to dependence has, and had."""
        if least >= self.least:
            return
        self.least = least
        if least < NEAR * best:
            self.where = f"loop '{self.loop_of(row)}' at t = {t:.4g} s"

    def gaps(self, t: float, found: Evaluation) -> None:
        """Look at the errors at a row of the result."""
        error = found.closure.value[ERROR]
        if not self.lost and not np.abs(error * self.size).max() <= self.limit:
            self.lost = f"{self.open(error)} at t = {t:.4g} s"

    def open(self, error: Array) -> str:
        """Which loop is open most, and by how much."""
        worst = int(np.argmax(np.abs(error) * self.size))
        unit = "rad" if self.closed.turns[worst] else "m"
        return f"loop '{self.loop_of(worst)}' is open by {abs(error[worst]):.2g} {unit}"

    def widest(self, error: Array) -> str:
        """The same of a step that failed, if it is by more than rounding."""
        return f" ({self.open(error)})" if np.abs(error * self.size).max() > FAILED else ""

    @property
    def singular(self) -> str:
        """Where the loops came near to a singular configuration, in words; "" if nowhere."""
        return f"came near to a singular configuration: {self.where}" if self.where else ""
