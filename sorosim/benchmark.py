"""Benchmarks: what is timed, how, and the figure of the paper beside it (design.md, 6 and 7).

The cases are data. `run` times them by itself, `tests/benchmarks` by pytest-benchmark; both make the same rows. Times of
different machines compare by the yardstick, numpy.linalg.solve on a 48 x 48 system, measured in the same run between the
cases. Everything runs with one BLAS thread.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sorosim
from sorosim.analysis import simulate, statics
from sorosim.errors import ConvergenceError, InputError, nearest
from sorosim.io import load
from sorosim.kernels import evaluate as task
from sorosim.result import Run
from sorosim.robot import Robot
from sorosim.solvers.base import one_blas_thread

Array = NDArray[np.float64]
Action = Callable[[], Any]

ROBOT = "cable_manipulator"
# the machine for which the targets were set solves the 48 x 48 system in this time [s]
REFERENCE_YARDSTICK = 17e-6
YARDSTICK = "yardstick: numpy.linalg.solve, 48 x 48"
N_TENSIONS, MAX_TENSION = 100, 100.0
# the paper's figures [s]: Mathew et al., i9-13900HX, MATLAB R2024a; without and with its analytic Jacobian
PAPER = {"run": (5.4, 1.25), "jacobian": (10.5e-3, 1.3e-3), "statics": (28.2e-3, 3.3e-3)}

_JOB = """
import json, os, resource, sys, time
begin = time.perf_counter()
import sorosim
package = time.perf_counter() - begin
seconds = float(sys.argv[1])
out = {"package": package}
if seconds > 0.0:
    import scipy.integrate, scipy.optimize
    from sorosim.analysis import simulate, statics
    from sorosim.io import load
    imported = time.perf_counter()
    robot = load("cable_manipulator")
    statics(robot, {robot.actuator_names[0]: 10.0})
    run = simulate(robot, seconds)
    run.tip(), run.energy(), robot.kinematics(run.q[-1], run.qd[-1]), robot.poses(run.q[-1], "arm", [0.0, 0.3, 1.0])
    out |= {"imports": imported - begin, "job": time.perf_counter() - imported}
usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
try:
    # a child starts with its parent's ru_maxrss on Linux; the peak of its own memory is here
    with open("/proc/self/status") as status:
        usage = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
except (OSError, StopIteration):
    pass
print(json.dumps(out | {"peak": usage}))
"""


class Target(NamedTuple):
    """What a figure should stay under."""

    value: float
    unit: str  # "yardsticks", "s where the yardstick is 17 us", "s"

    def met(self, figure: float, yardstick: float) -> bool:
        """Whether a figure [s] is under the target."""
        if self.unit == "yardsticks":
            return figure <= self.value * yardstick
        scale = 1.0 if self.unit == "s" else REFERENCE_YARDSTICK / yardstick
        return figure * scale <= self.value

    def __str__(self) -> str:
        if self.unit == "yardsticks":
            return f"{self.value:g} yardsticks"
        return _amount(self.value, "s") + ("" if self.unit == "s" else " at 17 us")


@dataclass(frozen=True)
class Case:
    """One thing to time. `make` sets it up and returns the action; the figure is the median of its times, over `per`."""

    name: str
    make: Callable[[Setting], Action]
    rounds: int = 15
    iterations: int = 1  # calls a round
    per: int = 1  # how many operations one call makes
    target: Target | None = None
    paper: float | None = None  # [s]
    unit: str = "s"
    measure: Callable[[Any], float] | None = None  # reads the figure from what the action returns, instead of its time
    beside: Callable[[Setting, Any], str] | None = None  # what else there is to say about what it returned
    process: bool = False  # starts Python anew


class Row(NamedTuple):
    """One line of the table."""

    name: str
    median: float  # [s], or bytes
    unit: str  # "s" or "B"
    yardsticks: float | None
    scaled: float | None  # where the yardstick is 17 us [s]
    target: str
    met: bool | None
    paper: float | None  # [s]
    ratio: float | None  # paper's figure over ours
    beside: str


@dataclass
class Setting:
    """What the cases share: the robot, a state with rates and accelerations, reference results, the yardstick's samples."""

    yardsticks: list[float] = field(default_factory=list)

    @cached_property
    def robot(self) -> Robot:
        """The cable-driven manipulator of the paper."""
        return load(ROBOT)

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
        return simulate(self.robot, 10.0, 0.01, method="cvode", rtol=1e-8, atol=1e-10).tip()

    @cached_property
    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="sorosim-bench-", ignore_cleanup_errors=True)

    def cold_folder(self) -> str:
        """A new empty folder for compiled code."""
        return tempfile.mkdtemp(dir=self._folder.name)

    @cached_property
    def warm_folder(self) -> str:
        """A folder in which everything the job needs has been compiled."""
        folder = self.cold_folder()
        start_python(0.1, folder)
        return folder

    @cached_property
    def _yardstick_system(self) -> tuple[Array, Array]:
        rng = np.random.default_rng(17)
        return rng.normal(size=(48, 48)) + 10.0 * np.eye(48), rng.normal(size=48)

    def measure_yardstick(self, rounds: int = 5, iterations: int = 100) -> None:
        """Add samples of the yardstick."""
        A, b = self._yardstick_system
        with one_blas_thread():
            self.yardsticks += times(lambda: np.linalg.solve(A, b), rounds, iterations)

    @property
    def yardstick(self) -> float:
        """Median of the samples so far [s]."""
        return statistics.median(self.yardsticks)


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


def start_python(seconds: float, folder: str | None = None) -> dict[str, float]:
    """Do the main job in a new Python: import, load, statics, `seconds` of motion (0: only import), poses, energy.

    Returns times [s] of `import sorosim`, of all imports, of the job, the total from start to exit, and the peak memory
    [B]. `folder` holds the compiled code; None: the usual one.
    """
    environment = dict(os.environ)
    places = [str(Path(sorosim.__file__).resolve().parents[1]), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, places))
    if folder is not None:
        environment["SOROSIM_CACHE_DIR"] = folder
    begin = time.perf_counter()
    command = [sys.executable, "-c", _JOB, str(seconds)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    total = time.perf_counter() - begin
    return {**json.loads(done.stdout.splitlines()[-1]), "total": total}


# -- what the cases do -----------------------------------------------------------------------------------------------------


def _public(method: str, arguments: str) -> Callable[[Setting], Action]:
    """A method of Robot at the state; arguments by letter: q, v (rates), a (accelerations), u."""

    def make(setting: Setting) -> Action:
        known = dict(zip("qvau", setting.state, strict=True))
        function, values = getattr(setting.robot, method), [known[letter] for letter in arguments]
        return lambda: function(*values)

    return make


def _engine(what: int) -> Callable[[Setting], Action]:
    """The bare call behind it."""

    def make(setting: Setting) -> Action:
        evaluate = setting.robot.engine.evaluate
        q, qd, qdd, u = (np.array(x) for x in setting.state)  # forward dynamics writes into qdd
        return lambda: evaluate(what, q, qd, qdd, u)

    return make


def _differences(setting: Setting) -> Action:
    """Jacobian of the accelerations by q and qd, by forward differences."""
    q, qd, _, u = setting.state
    evaluate, n = setting.robot.engine.evaluate, setting.robot.ndof

    def acceleration(x: Array) -> Array:
        return evaluate(task.FORWARD, np.array(x[:n]), np.array(x[n:]), np.zeros(n), u).qdd

    def action() -> Array:
        x, out = np.concatenate([q, qd]), np.empty((n, 2 * n))
        base = acceleration(x)
        for j in range(2 * n):
            moved = x.copy()
            moved[j] += 1.5e-8 * max(abs(x[j]), 1.0)
            out[:, j] = (acceleration(moved) - base) / (moved[j] - x[j])
        return out

    return action


def _statics(jacobian: str) -> Callable[[Setting], Action]:
    """Equilibria at all the tensions: evaluations of each, and how many failed."""

    def make(setting: Setting) -> Action:
        def action() -> tuple[list[int], int]:
            evaluations, failed = [], 0
            for u in setting.tensions:
                try:
                    evaluations.append(statics(setting.robot, u, jacobian=jacobian).n_evaluations)
                except ConvergenceError:
                    failed += 1
            return evaluations, failed

        return action

    return make


def _motion(method: str, jacobian: str) -> Callable[[Setting], Action]:
    def make(setting: Setting) -> Action:
        robot = setting.robot
        return lambda: simulate(robot, 10.0, 0.01, method=method, rtol=1e-3, atol=1e-6, jacobian=jacobian)

    return make


def _cold_start(setting: Setting) -> Action:
    def action() -> dict[str, float]:
        folder = setting.cold_folder()
        found = start_python(0.1, folder)
        setting.__dict__["warm_folder"] = folder  # compiled once, for all the cases that want it so
        return found

    return action


def _warm_start(seconds: float) -> Callable[[Setting], Action]:
    def make(setting: Setting) -> Action:
        folder = setting.warm_folder
        return lambda: start_python(seconds, folder)

    return make


# -- what is said beside -----------------------------------------------------------------------------------------------


def _say_motion(setting: Setting, found: Run) -> str:
    error = float(np.abs(found.tip() - setting.tight_tip).max())
    counts = ", ".join(f"{found.stats[key]} {name}" for key, name in _COUNTS.items() if key in found.stats)
    return f"tip within {1e3 * error:.2g} mm; {counts}"


_COUNTS = {"n_steps": "steps", "n_rhs": "rates", "n_jacobian": "Jacobians", "n_factorizations": "factorizations"}


def _say_statics(_: Setting, found: tuple[list[int], int]) -> str:
    evaluations, failed = found
    mean = f"{statistics.mean(evaluations):.1f} evaluations on average" if evaluations else "none"
    return f"{mean}; {failed} of {len(evaluations) + failed} failed"


def _say_start(_: Setting, found: dict[str, float]) -> str:
    return f"total {found['total']:.2f} s, of it imports {found['imports']:.2f} s"


def _yardsticks(value: float) -> Target:
    return Target(value, "yardsticks")


def _seconds(value: float, *, scaled: bool = False) -> Target:
    return Target(value, "s where the yardstick is 17 us" if scaled else "s")


CASES: tuple[Case, ...] = (
    Case("ID, engine", _engine(task.INVERSE), iterations=100),
    Case("ID", _public("inverse_dynamics", "qva"), iterations=100),
    Case("ID + derivatives, engine", _engine(task.INVERSE_DERIVATIVES), iterations=100, target=_yardsticks(4)),
    Case("ID + derivatives", _public("inverse_dynamics_derivatives", "qva"), iterations=100, target=_yardsticks(4)),
    Case("FD, engine", _engine(task.FORWARD), iterations=100),
    Case("FD", _public("forward_dynamics", "qvu"), iterations=100),
    Case(
        "FD derivatives, engine", _engine(task.FORWARD_DERIVATIVES), iterations=100,
        target=_yardsticks(10), paper=PAPER["jacobian"][1],
    ),
    Case(
        "FD derivatives", _public("forward_dynamics_derivatives", "qvu"), iterations=100,
        target=_yardsticks(10), paper=PAPER["jacobian"][1],
    ),
    Case("FD derivatives by differences", _differences, iterations=2, paper=PAPER["jacobian"][0]),
    Case(
        "statics, mean", _statics("analytic"), rounds=5, per=N_TENSIONS,
        target=_seconds(1e-3, scaled=True), paper=PAPER["statics"][1], beside=_say_statics,
    ),
    Case(
        "statics without Jacobian, mean", _statics("finite-difference"), rounds=3, per=N_TENSIONS,
        paper=PAPER["statics"][0], beside=_say_statics,
    ),
    Case(
        "10 s run, BDF", _motion("bdf", "analytic"), rounds=5,
        target=_seconds(0.6, scaled=True), paper=PAPER["run"][1], beside=_say_motion,
    ),
    Case(
        "10 s run, CVODE", _motion("cvode", "analytic"), rounds=7,
        target=_seconds(0.15, scaled=True), paper=PAPER["run"][1], beside=_say_motion,
    ),
    Case(
        "10 s run, BDF without Jacobian", _motion("bdf", "finite-difference"), rounds=3,
        paper=PAPER["run"][0], beside=_say_motion,
    ),
    Case(
        "cold compilation", _cold_start, rounds=1, target=_seconds(60),
        measure=lambda found: float(found["job"]), beside=_say_start, process=True,
    ),
    Case(
        "cached start", _warm_start(0.1), rounds=5, target=_seconds(1),
        measure=lambda found: float(found["job"]), beside=_say_start, process=True,
    ),
    Case(
        "import sorosim", _warm_start(0.0), rounds=5, target=_seconds(0.5),
        measure=lambda found: float(found["package"]), process=True,
    ),
    Case(
        "peak memory of a 10 s run", _warm_start(10.0), rounds=1, unit="B",
        measure=lambda found: float(found["peak"]), process=True,
    ),
)  # fmt: skip


# -- how they are run --------------------------------------------------------------------------------------------------------


def time_case(case: Case, setting: Setting, quick: bool = False) -> tuple[float, list[Any]]:
    """Median time of a call [s], and what the calls returned (the last one's, unless the case measures itself)."""
    rounds, iterations = (min(case.rounds, 2), min(case.iterations, 3)) if quick else (case.rounds, case.iterations)
    results: list[Any] = []
    with one_blas_thread():
        action = case.make(setting)

        def keep() -> None:
            results.append(action())
            if case.measure is None:
                del results[:-1]

        if case.process:  # a first call would warm nothing
            for _ in range(rounds):
                keep()
            return 0.0, results
        return statistics.median(times(keep, rounds, iterations)), results


def make_row(case: Case, setting: Setting, median: float, results: Sequence[Any]) -> Row:
    """The row of a case from the median time of a call [s] and what its calls returned."""
    figure = median / case.per if case.measure is None else statistics.median(map(case.measure, results))
    yardstick, relative = setting.yardstick, case.unit == "s" and not case.process
    return Row(
        name=case.name,
        median=figure,
        unit=case.unit,
        yardsticks=figure / yardstick if relative else None,
        scaled=figure * REFERENCE_YARDSTICK / yardstick if relative else None,
        target="" if case.target is None else str(case.target),
        met=None if case.target is None else case.target.met(figure, yardstick),
        paper=case.paper,
        ratio=None if case.paper is None else case.paper / figure,
        beside="" if case.beside is None else case.beside(setting, results[-1]),
    )


def yardstick_row(setting: Setting) -> Row:
    """The yardstick's own row, the first of every table."""
    beside = f"{min(setting.yardsticks) * 1e6:.1f} to {max(setting.yardsticks) * 1e6:.1f} us in {len(setting.yardsticks)} samples"
    return Row(YARDSTICK, setting.yardstick, "s", 1.0, REFERENCE_YARDSTICK, "", None, None, None, beside)


def run(
    quick: bool = False, names: Sequence[str] | None = None, announce: Callable[[str], None] | None = None
) -> list[Row]:
    """Time the cases.

    Parameters
    ----------
    quick : bool
        A few rounds each, and none of the cases that start Python anew.
    names : sequence of str, optional
        Only these cases.
    announce : callable
        Called with the name of each case before it runs.

    Returns
    -------
    list of Row
        The yardstick first, then the cases in their order.
    """
    known = [case.name for case in CASES]
    for name in names or ():
        if name not in known:
            raise InputError("names", "the name of a benchmark", f"'{name}'", nearest(name, known))
    chosen = [case for case in CASES if (case.name in names if names is not None else not (quick and case.process))]
    setting, timed = Setting(), []
    for case in chosen:
        if announce is not None:
            announce(case.name)
        setting.measure_yardstick(*((2, 10) if quick else ()))
        timed.append((case, *time_case(case, setting, quick)))
    setting.measure_yardstick(*((2, 10) if quick else ()))
    return [yardstick_row(setting), *(make_row(case, setting, median, results) for case, median, results in timed)]


# -- the table ---------------------------------------------------------------------------------------------------------


def _amount(value: float | None, unit: str) -> str:
    """Three digits with a fitting unit."""
    if value is None:
        return ""
    if unit == "B":
        return f"{value / 2**20:.0f} MiB"
    scale, name = next(((s, n) for s, n in ((1.0, "s"), (1e-3, "ms")) if abs(value) >= s), (1e-6, "us"))
    number = value / scale
    digits = 0 if number >= 100.0 else 1 if number >= 10.0 else 2
    return f"{number:.{digits}f} {name}"


def table(rows: Sequence[Row]) -> str:
    """Aligned text; a target is met, or by how much it is missed is left to the eye."""
    head = ("", "median", "yardsticks", "at 17 us", "target", "met", "paper", "paper/ours", "beside")
    lines = [
        (
            row.name,
            _amount(row.median, row.unit),
            "" if row.yardsticks is None else f"{row.yardsticks:.3g}" if row.yardsticks < 1e3 else f"{row.yardsticks:.0f}",
            _amount(row.scaled, "s"),
            row.target,
            "" if row.met is None else "yes" if row.met else "NO",
            _amount(row.paper, "s"),
            "" if row.ratio is None else f"{row.ratio:.1f} x",
            row.beside,
        )
        for row in rows
    ]
    widths = [max(len(line[i]) for line in (head, *lines)) for i in range(len(head))]
    left = (0, 4, 8)

    def text(line: Sequence[str]) -> str:
        cells = (x.ljust(w) if i in left else x.rjust(w) for i, (x, w) in enumerate(zip(line, widths, strict=True)))
        return "  ".join(cells).rstrip()

    return "\n".join([text(head), "  ".join("-" * w for w in widths), *map(text, lines), *_NOTES])


_NOTES = (
    "",
    "24-DoF cable manipulator, one BLAS thread. 'at 17 us': the figure scaled to a machine whose yardstick takes 17 us.",
    "Kernels at a state in motion; statics over 100 random tensions of 0-100 N; runs from rest with the file's inputs, rtol 1e-3,",
    "atol 1e-6, tip against a run at rtol 1e-8. Cold compilation and cached start: load, statics, 0.1 s of motion, poses and",
    "energy in a new Python, imports not counted. Paper: MATLAB R2024a on an i9-13900HX; its analytic and its numeric Jacobian.",
)
