"""The cases as data: what is timed, its target, and the figure of the paper (design.md, 6)."""

from __future__ import annotations

import platform
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from sorosim.benchmark.setting import N_TENSIONS, OPENING, Action, Array, Setting, processor, start_python
from sorosim.equilibria.statics import statics
from sorosim.errors import ConvergenceError
from sorosim.kernels import evaluate as task
from sorosim.results.result import Run
from sorosim.simulation.simulate import simulate

# the machine for which the targets were set solves the 48 x 48 system in this time [s]
REFERENCE_YARDSTICK = 17e-6
# the paper's figures [s]: Mathew et al., i9-13900HX, MATLAB R2024a; without and with its analytic Jacobian
PAPER = {"run": (5.4, 1.25), "jacobian": (10.5e-3, 1.3e-3), "statics": (28.2e-3, 3.3e-3)}


def amount(value: float | None, unit: str) -> str:
    """Three digits with a fitting unit."""
    if value is None:
        return ""
    if unit == "B":
        return f"{value / 2**20:.0f} MiB"
    scale, name = next(((s, n) for s, n in ((1.0, "s"), (1e-3, "ms")) if abs(value) >= s), (1e-6, "us"))
    number = value / scale
    digits = 0 if number >= 100.0 else 1 if number >= 10.0 else 2
    return f"{number:.{digits}f} {name}"


def measured_here(yardsticks: list[float], *packages: str) -> str:
    """When and where something was measured, with which versions, and the yardstick of the run: a line of a page."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("sorosim", "numpy", "scipy", "numba", *packages))
    where = f"Measured on {date.today()}, {processor()}, Python {platform.python_version()}, {versions}"
    here = amount(statistics.median(yardsticks), "s")
    return f"{where}; yardstick {here}, where the targets are for {amount(REFERENCE_YARDSTICK, 's')}."


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
        return amount(self.value, "s") + ("" if self.unit == "s" else " at 17 us")


@dataclass(frozen=True)
class Case:
    """One thing to time: `make` sets it up and returns the action; the figure is its median time over `per`."""

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


# -- what the cases do -------------------------------------------------------------------------------------------------


def public(method: str, arguments: str) -> Callable[[Setting], Action]:
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


def _held_statics(setting: Setting) -> Action:
    """Equilibria at random angles of all driven joints, from -pi/4 to pi/4."""
    names = list(setting.robot.description.simulate["driven"])
    angles = np.random.default_rng(100).uniform(-np.pi / 4, np.pi / 4, (N_TENSIONS, len(names)))

    def action() -> tuple[list[int], int]:
        found = [statics(setting.robot, driven=dict(zip(names, row, strict=True))) for row in angles.tolist()]
        return [equilibrium.n_evaluations for equilibrium in found], 0

    return action


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


def _opening(setting: Setting) -> Action:
    folder = setting.warm_folder
    return lambda: start_python(10.0, folder, OPENING)


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
    return f"total {found['total']:.2f} s, of it imports {found['imports']:.2f} s; CPU {found['cpu']:.2f} s"


def _say_opening(_: Setting, found: dict[str, float]) -> str:
    return f"{found['states']:.0f} states, off screen; the next picture in {1e3 * found['next']:.0f} ms"


def of_robot(name: str, case: Case) -> Case:
    """The case with another robot."""
    make, beside = case.make, case.beside
    return replace(
        case, name=f"{name}: {case.name}", make=lambda setting: make(setting.of(name)),
        beside=None if beside is None else lambda setting, found: beside(setting.of(name), found),
    )  # fmt: skip


def _yardsticks(value: float) -> Target:
    return Target(value, "yardsticks")


def seconds(value: float, *, scaled: bool = False) -> Target:
    """A target in seconds, of this machine or scaled to that with a yardstick of 17 us."""
    return Target(value, "s where the yardstick is 17 us" if scaled else "s")


CASES: tuple[Case, ...] = (
    Case("ID, engine", _engine(task.INVERSE), iterations=100),
    Case("ID", public("inverse_dynamics", "qva"), iterations=100),
    Case("ID + derivatives, engine", _engine(task.INVERSE_DERIVATIVES), iterations=100, target=_yardsticks(4)),
    Case("ID + derivatives", public("inverse_dynamics_derivatives", "qva"), iterations=100, target=_yardsticks(4)),
    Case("FD, engine", _engine(task.FORWARD), iterations=100),
    Case("FD", public("forward_dynamics", "qvu"), iterations=100),
    Case(
        "FD derivatives, engine", _engine(task.FORWARD_DERIVATIVES), iterations=100,
        target=_yardsticks(10), paper=PAPER["jacobian"][1],
    ),
    Case(
        "FD derivatives", public("forward_dynamics_derivatives", "qvu"), iterations=100,
        target=_yardsticks(10), paper=PAPER["jacobian"][1],
    ),
    Case("FD derivatives by differences", _differences, iterations=2, paper=PAPER["jacobian"][0]),
    Case(
        "statics, mean", _statics("analytic"), rounds=5, per=N_TENSIONS,
        target=seconds(1e-3, scaled=True), paper=PAPER["statics"][1], beside=_say_statics,
    ),
    Case(
        "statics without Jacobian, mean", _statics("finite-difference"), rounds=3, per=N_TENSIONS,
        paper=PAPER["statics"][0], beside=_say_statics,
    ),
    Case(
        "10 s run, BDF", _motion("bdf", "analytic"), rounds=5,
        target=seconds(0.6, scaled=True), paper=PAPER["run"][1], beside=_say_motion,
    ),
    Case(
        "10 s run, CVODE", _motion("cvode", "analytic"), rounds=7,
        target=seconds(0.15, scaled=True), paper=PAPER["run"][1], beside=_say_motion,
    ),
    Case(
        "10 s run, BDF without Jacobian", _motion("bdf", "finite-difference"), rounds=3,
        paper=PAPER["run"][0], beside=_say_motion,
    ),
    of_robot("hybrid_serial", Case("ID + derivatives", public("inverse_dynamics_derivatives", "qva"), iterations=100)),
    of_robot(
        "hybrid_serial",
        Case(
            "FD derivatives", public("forward_dynamics_derivatives", "qvu"), iterations=100,
            target=seconds(0.16e-3, scaled=True), paper=2.5e-3,
        ),
    ),
    of_robot(
        "hybrid_serial",
        Case(
            "statics, mean", _held_statics, rounds=5, per=N_TENSIONS,
            target=seconds(1.5e-3, scaled=True), paper=6.3e-3, beside=_say_statics,
        ),
    ),
    of_robot(
        "hybrid_serial",
        Case(
            "10 s run, BDF", _motion("bdf", "analytic"), rounds=5,
            target=seconds(0.35, scaled=True), paper=2.49, beside=_say_motion,
        ),
    ),
    of_robot(
        "hybrid_serial",
        Case("10 s run, CVODE", _motion("cvode", "analytic"), rounds=5, paper=2.49, beside=_say_motion),
    ),
    of_robot(
        "hybrid_serial",
        Case(
            "10 s run, BDF without Jacobian", _motion("bdf", "finite-difference"), rounds=3,
            paper=7.08, beside=_say_motion,
        ),
    ),
    Case(
        "cold compilation", _cold_start, rounds=1, target=seconds(60),
        measure=lambda found: float(found["job"]), beside=_say_start, process=True,
    ),
    Case(
        "cached start", _warm_start(0.1), rounds=5, target=seconds(1),
        measure=lambda found: float(found["job"]), beside=_say_start, process=True,
    ),
    Case(
        "import sorosim", _warm_start(0.0), rounds=5, target=seconds(0.5),
        measure=lambda found: float(found["package"]), process=True,
    ),
    Case(
        "peak memory of a 10 s run", _warm_start(10.0), rounds=1, unit="B",
        measure=lambda found: float(found["peak"]), process=True,
    ),
    Case(
        "player, first picture of a 10 s run", _opening, rounds=3, target=seconds(2),
        measure=lambda found: float(found["first"]), beside=_say_opening, process=True,
    ),
)  # fmt: skip
