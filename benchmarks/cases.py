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

from benchmarks.context import N_TENSIONS, Action, Array, Context, processor, start_python
from sorosim.analysis.equilibria.statics import statics
from sorosim.analysis.motion.simulate import simulate
from sorosim.analysis.results.result import Run
from sorosim.base.errors import ConvergenceError
from sorosim.files import load
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.robot import Robot

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
    make: Callable[[Context], Action]
    rounds: int = 15
    iterations: int = 1  # calls a round
    per: int = 1  # how many operations one call makes
    target: Target | None = None
    paper: float | None = None  # [s]
    unit: str = "s"
    figure: str = ""  # of a job in a Python of its own: which of its figures it is, instead of the time of the action
    remark: Callable[[Context, Any], str] | None = None  # what else there is to say about what it returned


# -- actions -------------------------------------------------------------------------------------------------


def public(method: str, arguments: str) -> Callable[[Context], Action]:
    """A method of Robot at the state; arguments by letter: q, v (rates), a (accelerations), u."""

    def make(context: Context) -> Action:
        known = dict(zip("qvau", zip(("q", "qd", "qdd", "u"), context.state, strict=True), strict=True))
        function, values = getattr(context.robot, method), dict(known[letter] for letter in arguments)
        return lambda: function(**values)

    return make


def _engine(what: task.Task) -> Callable[[Context], Action]:
    """The bare call behind it."""

    def make(context: Context) -> Action:
        evaluate = context.robot.engine.evaluate
        q, qd, qdd, u = (np.array(x) for x in context.state)  # forward dynamics writes into qdd
        return lambda: evaluate(what, q, qd, qdd, u)

    return make


def _differences(context: Context) -> Action:
    """Jacobian of the accelerations by q and qd, by forward differences."""
    q, qd, _, u = context.state
    evaluate, n = context.robot.engine.evaluate, context.robot.ndof

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


def _statics(jacobian: str) -> Callable[[Context], Action]:
    """Equilibria at all the tensions: evaluations of each, and how many failed."""

    def make(context: Context) -> Action:
        def action() -> tuple[list[int], int]:
            evaluations, failed = [], 0
            for u in context.tensions:
                try:
                    evaluations.append(statics(context.robot, u, jacobian=jacobian).n_evaluations)
                except ConvergenceError:
                    failed += 1
            return evaluations, failed

        return action

    return make


def _driven_statics(context: Context) -> Action:
    """Equilibria at random angles of all driven joints, from -pi/4 to pi/4."""
    names = list(context.robot.description.simulate["driven"])
    angles = np.random.default_rng(100).uniform(-np.pi / 4, np.pi / 4, (N_TENSIONS, len(names)))

    def action() -> tuple[list[int], int]:
        equilibria = [statics(context.robot, driven=dict(zip(names, row, strict=True))) for row in angles.tolist()]
        return [equilibrium.n_evaluations for equilibrium in equilibria], 0

    return action


def at_rest(context: Context) -> Action:
    """One equilibrium from a robot's own start, whose loops are to be closed first."""

    def action() -> tuple[list[int], int]:
        return [statics(context.robot).n_evaluations], 0

    return action


def _tubes(context: Context) -> Action:
    """Equilibria of the concentric tubes, without their post, at random rotations under random forces on the tip."""
    robot, rng = load("concentric_tubes"), np.random.default_rng(100)
    names = [name for name in robot.coordinate_names if name.endswith(".rotation")]
    cases = []
    for _ in range(N_TENSIONS):
        loads = {"tip": Wrench("robot", force=tuple(rng.uniform(-0.2, 0.2, 3)))}
        angles = dict(zip(names, rng.uniform(-np.pi, np.pi, len(names)).tolist(), strict=True))
        cases.append((Robot(replace(robot.description, loads=loads)), angles))

    def action() -> tuple[list[int], int]:
        return [statics(one, driven=driven).n_evaluations for one, driven in cases], 0

    return action


def motion(method: str, jacobian: str | None = None, step: float | None = None) -> Callable[[Context], Action]:
    """Ten seconds by a method, with its steps fixed or chosen."""

    def make(context: Context) -> Action:
        robot = context.robot
        options: dict[str, Any] = {"rtol": 1e-3, "atol": 1e-6, "jacobian": jacobian, "step": step}
        return lambda: simulate(robot, context.t_end, dt_out=0.01, method=method, **options)

    return make


def _cold_start(context: Context) -> Action:
    def action() -> dict[str, float]:
        folder = context.cold_folder()
        result = start_python("start", 0.1, folder)
        context.__dict__["warm_folder"] = folder  # compiled once, for all the cases that want it so
        return result

    return action


def warm(job: str, number: float) -> Callable[[Context], Action]:
    """A job in a new Python, all code compiled."""

    def make(context: Context) -> Action:
        folder = context.warm_folder
        return lambda: start_python(job, number, folder)

    return make


# -- remarks in the table ----------------------------------------------------------------------------------------------


def _motion_remark(context: Context, result: Run) -> str:
    error = float(np.abs(result.tip() - context.tight_tip).max())
    counts = ", ".join(f"{result.stats[key]} {name}" for key, name in _COUNTS.items() if key in result.stats)
    return f"tip within {1e3 * error:.2g} mm; {counts}"


_COUNTS = {"n_steps": "steps", "n_rhs": "rates", "n_jacobian": "Jacobians", "n_factorizations": "factorizations"}


def _statics_remark(_: Context, result: tuple[list[int], int]) -> str:
    evaluations, failed = result
    mean = f"{statistics.mean(evaluations):.1f} evaluations on average" if evaluations else "none"
    return f"{mean}; {failed} of {len(evaluations) + failed} failed"


def _start_remark(_: Context, result: dict[str, float]) -> str:
    return f"total {result['total']:.2f} s, of it imports {result['imports']:.2f} s; CPU {result['cpu']:.2f} s"


def _page_remark(_: Context, result: dict[str, float]) -> str:
    size = 1e-6 * result["bytes"]
    return f"{result['states']:.0f} states, {size:.1f} MB; the next page in {1e3 * result['next']:.0f} ms"


def of_robot(name: str, *cases: Case) -> tuple[Case, ...]:
    """The cases with another robot."""

    def moved(case: Case) -> Case:
        make, remark = case.make, case.remark
        return replace(
            case, name=f"{name}: {case.name}", make=lambda context: make(context.of(name)),
            remark=None if remark is None else lambda context, result: remark(context.of(name), result),
        )  # fmt: skip

    return tuple(map(moved, cases))


def fd_derivatives(target: Target | None, paper: float, iterations: int = 20) -> Case:
    """Derivatives of forward dynamics, by the public call."""
    make = public("forward_dynamics_derivatives", "qvu")
    return Case("FD derivatives", make, iterations=iterations, target=target, paper=paper)


def yardsticks(value: float) -> Target:
    """A target in yardsticks."""
    return Target(value, "yardsticks")


def within(value: float, *, scaled: bool = False) -> Target:
    """A target in seconds, of this machine or scaled to that with a yardstick of 17 us."""
    return Target(value, "s where the yardstick is 17 us" if scaled else "s")


CASES: tuple[Case, ...] = (
    Case("ID, engine", _engine(task.INVERSE), iterations=100),
    Case("ID", public("inverse_dynamics", "qva"), iterations=100),
    Case("ID + derivatives, engine", _engine(task.INVERSE_DERIVATIVES), iterations=100, target=yardsticks(4)),
    Case("ID + derivatives", public("inverse_dynamics_derivatives", "qva"), iterations=100, target=yardsticks(4)),
    Case("FD, engine", _engine(task.FORWARD), iterations=100),
    Case("FD", public("forward_dynamics", "qvu"), iterations=100),
    Case(
        "FD derivatives, engine", _engine(task.FORWARD_DERIVATIVES), iterations=100,
        target=yardsticks(10), paper=PAPER["jacobian"][1],
    ),
    fd_derivatives(yardsticks(10), PAPER["jacobian"][1], 100),
    Case("FD derivatives by differences", _differences, iterations=2, paper=PAPER["jacobian"][0]),
    Case(
        "statics, mean", _statics("analytic"), rounds=5, per=N_TENSIONS,
        target=within(1e-3, scaled=True), paper=PAPER["statics"][1], remark=_statics_remark,
    ),
    Case(
        "statics without Jacobian, mean", _statics("finite-difference"), rounds=3, per=N_TENSIONS,
        paper=PAPER["statics"][0], remark=_statics_remark,
    ),
    Case(
        "10 s run, BDF", motion("bdf"), rounds=5,
        target=within(0.6, scaled=True), paper=PAPER["run"][1], remark=_motion_remark,
    ),
    Case(
        "10 s run, CVODE", motion("cvode"), rounds=7,
        target=within(0.15, scaled=True), paper=PAPER["run"][1], remark=_motion_remark,
    ),
    Case(
        "10 s run, BDF without Jacobian", motion("bdf", "finite-difference"), rounds=3,
        paper=PAPER["run"][0], remark=_motion_remark,
    ),
    *of_robot(
        "hybrid_serial",
        Case("ID + derivatives", public("inverse_dynamics_derivatives", "qva"), iterations=100),
        fd_derivatives(within(0.16e-3, scaled=True), 2.5e-3, 100),
        Case("statics, mean", _driven_statics, rounds=5, per=N_TENSIONS, target=within(1.5e-3, scaled=True),
             paper=6.3e-3, remark=_statics_remark),
        Case("10 s run, BDF", motion("bdf"), rounds=5, target=within(0.35, scaled=True), paper=2.49,
             remark=_motion_remark),
        Case("10 s run, CVODE", motion("cvode"), rounds=5, paper=2.49, remark=_motion_remark),
        Case("10 s run, BDF without Jacobian", motion("bdf", "finite-difference"), rounds=3, paper=7.08,
             remark=_motion_remark),
    ),
    *of_robot(
        "concentric_tubes",
        Case("statics under a force, mean", _tubes, rounds=5, per=N_TENSIONS, target=within(2e-3, scaled=True),
             remark=_statics_remark),
    ),
    *(
        case
        for name in ("fin_ray", "slider_crank", "continuum_stewart")
        for case in of_robot(name, Case("statics", at_rest, rounds=7, remark=_statics_remark))
    ),
    Case("cold compilation", _cold_start, rounds=1, target=within(60), figure="job", remark=_start_remark),
    Case("cached start", warm("start", 0.1), rounds=5, target=within(1), figure="job", remark=_start_remark),
    Case("import sorosim", warm("start", 0.0), rounds=5, target=within(0.5), figure="package"),
    Case("peak memory of a 10 s run", warm("start", 10.0), rounds=1, unit="B", figure="peak"),
    Case("first page of a 10 s run", warm("first_page", 10.0), rounds=3, target=within(2), figure="first",
         remark=_page_remark),
)  # fmt: skip
