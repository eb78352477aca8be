"""What the benchmarks share: the robot and its state, the yardstick, and Python started anew."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

import sorosim
from sorosim.analysis.motion.simulate import simulate
from sorosim.base.ode import one_blas_thread
from sorosim.files import load
from sorosim.mechanics.robot import Robot

Array = NDArray[np.float64]
Action = Callable[[], Any]
Size = TypeVar("Size")

ROBOT = "cable_manipulator"
N_TENSIONS, MAX_TENSION = 100, 100.0


class Setting(NamedTuple):
    """Where a study writes its figures, how large it is, and what takes its lines."""

    folder: Path
    quick: bool = False  # as in `Context`
    say: Callable[[str], None] = print

    def size(self, usual: Size, small: Size) -> Size:
        """How much of something is studied."""
        return small if self.quick else usual


JOBS = Path(__file__).with_name("jobs.py")


@dataclass
class Context:
    """What the cases share: robot, state, inputs, reference results, compiled code, samples of the yardstick."""

    name: str = ROBOT
    quick: bool = False  # everything at its smallest, to see whether it runs
    yardsticks: list[float] = field(default_factory=list)
    others: dict[str, Context] = field(default_factory=dict)

    def of(self, name: str) -> Context:
        """What the cases of another robot share."""
        return self.others.setdefault(name, Context(name, self.quick))

    def size(self, usual: Size, small: Size) -> Size:
        """How much of something is timed."""
        return small if self.quick else usual

    @property
    def t_end(self) -> float:
        """Length of the runs of ten seconds [s]."""
        return self.size(10.0, 0.1)

    @cached_property
    def robot(self) -> Robot:
        """The bundled robot of this name: the cable-driven manipulator of the paper, if it is not `of` another."""
        return load(self.name)

    @cached_property
    def state(self) -> tuple[Array, Array, Array, Array]:
        """q, qd, qdd, u: everything moves, every cable pulls."""
        rng, n = np.random.default_rng(48), self.robot.ndof
        q, qd, qdd = 0.1 * rng.normal(size=n), 0.1 * rng.normal(size=n), rng.normal(size=n)
        return q, qd, qdd, rng.uniform(0.0, 10.0, size=len(self.robot.actuator_names))

    @cached_property
    def tensions(self) -> Array:
        """Random tensions [N], as in the paper's statics."""
        return np.random.default_rng(100).uniform(0.0, MAX_TENSION, (N_TENSIONS, len(self.robot.actuator_names)))

    @cached_property
    def tight_tip(self) -> Array:
        """Tip (n_times, 3) of the 10 s run at rtol 1e-8."""
        return simulate(self.robot, self.t_end, dt_out=0.01, method="cvode", rtol=1e-8, atol=1e-10).tip()

    @cached_property
    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="sorosim-bench-", ignore_cleanup_errors=True)

    def cold_folder(self) -> str | None:
        """A new empty folder for compiled code; None, the usual one, where that has to be quick."""
        return None if self.quick else tempfile.mkdtemp(dir=self._folder.name)

    @cached_property
    def warm_folder(self) -> str | None:
        """A folder in which everything the jobs need has been compiled."""
        folder = self.cold_folder()
        if folder is not None:
            start_python("start", 0.1, folder)
        return folder

    @cached_property
    def _yardstick_system(self) -> tuple[Array, Array]:
        rng = np.random.default_rng(17)
        return rng.normal(size=(48, 48)) + 10.0 * np.eye(48), rng.normal(size=48)

    def measure_yardstick(self, rounds: int = 7, iterations: int = 100) -> list[float]:
        """Add samples of the yardstick [s]; these are returned."""
        A, b = self._yardstick_system
        with one_blas_thread():
            samples = times(lambda: np.linalg.solve(A, b), rounds, iterations)
        self.yardsticks += samples
        return samples


def processor() -> str:
    """Name of the processor, its architecture, and how many cores of it there are."""
    name = ""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    except OSError:  # not Linux
        name = platform.processor()
    cores = f"{platform.machine()}, {os.cpu_count()} cores"
    return f"{name} ({cores})" if name and name != platform.machine() else cores


def times(action: Action, rounds: int, iterations: int) -> list[float]:
    """Mean time of a call [s], once a round; one call before is not counted."""
    action()
    samples = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(iterations):
            action()
        samples.append((time.perf_counter() - begin) / iterations)
    return samples


# of each figure: rounds, and how long one of them is at least [s]; what takes long is timed once
ROUNDS, ROUND, LONG = 7, 0.004, 3.0


def thread_seconds(*actions: Action, rounds: int = ROUNDS, least: float = ROUND) -> list[float]:
    """Median time of a call of each [s], that of this thread: waiting for other work of the machine does not count.

    They take turns, so that what slows the machine down meets all of them.
    """
    counts, out = [], [0.0] * len(actions)
    for k, action in enumerate(actions):
        action()  # may compile
        begin = time.thread_time()
        action()
        out[k] = time.thread_time() - begin
        counts.append(max(1, int(least / max(out[k], 1e-7))))
    samples: list[list[float]] = [[] for _ in actions]
    for _ in range(rounds):
        for action, count, once, own in zip(actions, counts, out, samples, strict=True):
            if once > LONG:
                continue
            begin = time.thread_time()
            for _ in range(count):
                action()
            own.append((time.thread_time() - begin) / count)
    return [median(own) if own else once for own, once in zip(samples, out, strict=True)]


class JobError(Exception):
    """A job in a Python of its own failed; its traceback is a note."""


def start_python(job: str, number: float, folder: str | None = None) -> dict[str, float]:
    """Figures of a job of `jobs` in a new Python, and the total time from start to exit [s].

    `folder` holds the compiled code; None: the usual one.
    """
    environment = dict(os.environ)
    places = [str(Path(sorosim.__file__).resolve().parents[1]), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, places))
    if folder is not None:
        environment["SOROSIM_CACHE_DIR"] = folder
    begin = time.perf_counter()
    command = [sys.executable, "-P", str(JOBS), job, str(number)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    total = time.perf_counter() - begin
    if done.returncode:
        lines = done.stderr.splitlines() or [f"exit code {done.returncode}"]
        error = JobError(f"in a new Python: {lines[-1]}")
        error.add_note(done.stderr)
        raise error
    return {**json.loads(done.stdout.splitlines()[-1]), "total": total}
