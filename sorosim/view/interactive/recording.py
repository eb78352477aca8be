"""What is recorded of a motion: rows of states, and the pulls as loads over time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sorosim.analysis.motion.discrete_steps import DiscreteSteps
from sorosim.analysis.motion.stepper import StepState
from sorosim.analysis.results.result import Run
from sorosim.base.arrays import Array
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.robot import Robot
from sorosim.view.interactive.pull import Grip

SPACING = 0.01  # s between rows, at least
# of one recording, which its user may have forgotten: an hour of rows, or their numbers in bytes
MOST_ROWS, MOST_BYTES = 360_000, 1e9


class _PullTable:
    """The force of one pull over time."""

    def __init__(self, grip: Grip, t: float) -> None:
        self.grip, self.t, self.force = grip, [t], [np.zeros(3)]

    def add(self, t: float, force: Array) -> None:
        self.t.append(t)
        self.force.append(force)

    def load(self) -> Wrench:
        entries = [{"times": self.t, "values": component} for component in np.transpose(self.force).tolist()]
        return pull_load(self.grip, entries)


def pull_load(grip: Grip, force: Any) -> Wrench:
    """A force in the axes of the world at a point that was pulled at."""
    return Wrench(grip.link, grip.s, at={"position": grip.offset.tolist()}, force=force)


class Recording:
    """Rows of a motion that is under way.

    Parameters
    ----------
    robot : Robot
        Without pulls.
    gravity : (3,) ndarray
        [m/s^2]
    first : StepState
    dt : float
        Of the steps [s].
    driven : mapping of str to float
        Where driven coordinates were when the steps began.
    steps : mapping of str to value
        Options of the steps, as of `Stepper`.
    """

    def __init__(
        self, robot: Robot, gravity: Array, first: StepState, dt: float, driven: Mapping[str, float],
        steps: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self._steps = dict(steps or {})
        self._robot = Robot(replace(robot.description, gravity=tuple(gravity.tolist())))
        self._dt, self._driven, self._every = dt, driven, max(1, round(SPACING / dt))
        self._rows: list[StepState] = []
        self._pulls: list[_PullTable] = []
        self._pulled, self._count = False, 0
        self.add(first, None, None)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def full(self) -> bool:
        """Whether it has as many rows as a recording may have."""
        size = sum(array.nbytes for array in (self._rows[0].q, self._rows[0].qd, self._rows[0].u))
        return len(self) >= min(MOST_ROWS, MOST_BYTES / max(size, 1))

    def add(self, state: StepState, grip: Grip | None, force: Array | None) -> None:
        """A state, and the force of a pull in it."""
        is_row, pulls = self._count % self._every == 0, grip is not None
        self._count += 1
        held = self._pulls[-1] if self._pulled else None
        if held is not None and held.grip is not grip:
            held.add(state.t, np.zeros(3))
        if grip is not None and force is not None:
            if held is None or held.grip is not grip:
                self._pulls.append(_PullTable(grip, state.t - self._dt))
            self._pulls[-1].add(state.t, force)  # dampers push in less time than lies between rows
        if is_row or pulls != self._pulled:
            self._rows.append(state)
        self._pulled = pulls

    def run(self) -> Run:
        """The motion; its robot bears the pulls as forces over time, so plots, energies and films know them."""
        robot = self._robot.with_loads(**dict(self._loads()))
        steps = DiscreteSteps(robot, self._dt, self._driven, self._steps)
        t, q, qd, u = (np.array([getattr(row, name) for row in self._rows]) for name in ("t", "q", "qd", "u"))
        paths = [row.memory.path for row in self._rows if row.memory is not None]
        begin, strain = steps.system.maxwell.start, None
        if steps.system.n_strains:
            strain = np.array([begin(row.q) if row.strain is None else row.strain for row in self._rows])
        return steps.run(t, q, qd, u, f"{len(t)} states recorded by sorosim.live{self._pulled_at()}", paths, strain)

    def _pulled_at(self) -> str:
        """Such as ", pulled 3 times at arm, hand"; "" where nobody pulled."""
        links, n = ", ".join(dict.fromkeys(pull.grip.link for pull in self._pulls)), len(self._pulls)
        return f", pulled {n} time{'s' * (n > 1)} at {links}" if n else ""

    def _loads(self) -> Iterator[tuple[str, Wrench]]:
        names = (f"pull{k}" for k in range(1, len(self._pulls) + len(self._robot.description.loads) + 1))
        free = (name for name in names if name not in self._robot.description.loads)
        for name, pull in zip(free, self._pulls, strict=False):
            yield name, pull.load()


def free_file(path: str | Path | None, name: str) -> Path:
    """A file to write, numbered where there is one; None: by the name of the robot."""
    first = Path(path) if path is not None else Path(f"{file_stem(name)}_live.h5")
    names = (first.with_stem(f"{first.stem}{k}") for k in range(2, 10_000))
    return first if not first.exists() else next(one for one in names if not one.exists())


def file_stem(name: str) -> str:
    """The name of a robot as that of a file, with underscores for spaces and what no file system or shell likes."""
    return re.sub(r"[^\w.-]+", "_", name).strip("._") or "robot"
