"""Monitors loops during a run: singular configurations, and loops that open."""

from __future__ import annotations

import numpy as np

from sorosim.base.arrays import Array
from sorosim.mechanics.kernels.evaluate import Evaluation
from sorosim.mechanics.kernels.saddle import Saddle
from sorosim.mechanics.robot import Robot

# the least pivot of the constraint rows over its largest value in the run, below which a configuration is singular
SINGULAR_PIVOT = 1e-2
# loops that are open by more than this part of their extent, or radians, fail the run
OPEN_TOLERANCE = 1e-2
# the same where driven coordinates leave the loops no freedom to close
TIGHT_TOLERANCE = 1e-6
# loops that a failed step leaves open by more than this are named as its cause
ROUNDING = 1e-10


class LoopMonitor:
    """Rank of the constraint rows and constraint errors, at all evaluations of a run."""

    def __init__(self, robot: Robot) -> None:
        self.loop_layout, self.size = robot.engine.loop_layout, robot.engine.loops.row_scale
        self.limit = OPEN_TOLERANCE
        self.rank, self.best, self.least, self.singular_place = 0, 0.0, np.inf, ""
        self.open_loop = ""

    def expect_driven_conflict(self) -> None:
        """The driven coordinates overconstrain the loops: use the tight limit for their errors."""
        self.limit = TIGHT_TOLERANCE

    def loop_of(self, row: int) -> str:
        """Name of the loop that has this row."""
        return next(name for name, rows in self.loop_layout.rows.items() if rows.start <= row < rows.stop)

    def check_rank(self, t: float, saddle: Saddle) -> None:
        """Check rank and least pivot of the constraint rows of an evaluation."""
        rank, least = int(saddle.regularity[0]), float(saddle.regularity[1])
        if rank < self.rank:
            rank, least = rank + 1, 0.0
        elif rank > 0:
            self.rank, self.best = rank, max(self.best, least)
        if rank > 0:
            self.check_singularity(t, least, self.best, int(saddle.order[rank - 1]))

    def check_singularity(self, t: float, least: float, best: float, row: int) -> None:
        """Record the configuration nearest to a singular one: its least pivot, and the largest least pivot so far."""
        if least >= self.least:
            return
        self.least = least
        if least < SINGULAR_PIVOT * best:
            self.singular_place = f"loop '{self.loop_of(row)}' at t = {t:.4g} s"

    def check_errors(self, t: float, evaluation: Evaluation) -> None:
        """Check the constraint errors at a row of the result."""
        error = evaluation.closure.error
        if not self.open_loop and not np.abs(error * self.size).max() <= self.limit:
            self.open_loop = f"{self.describe_error(error)} at t = {t:.4g} s"

    def describe_error(self, error: Array) -> str:
        """The loop with the largest error, in words."""
        worst = int(np.argmax(np.abs(error) * self.size))
        unit = "rad" if self.loop_layout.turns[worst] else "m"
        return f"loop '{self.loop_of(worst)}' is open by {abs(error[worst]):.2g} {unit}"

    def describe_failed_step(self, error: Array) -> str:
        """The same for a failed step; "" if the error is rounding."""
        return f" ({self.describe_error(error)})" if np.abs(error * self.size).max() > ROUNDING else ""

    @property
    def singular(self) -> str:
        """Where the loops came near to a singular configuration, in words; "" if nowhere."""
        return f"came near to a singular configuration: {self.singular_place}" if self.singular_place else ""
