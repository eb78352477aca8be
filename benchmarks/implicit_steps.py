"""How the cost of an implicit step grows with the number of coordinates: along the tree and with dense matrices."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks import scaling
from sorosim.compiled import entry
from sorosim.engine.inputs import Motion
from sorosim.equations.system import OdeSystem
from sorosim.kernels import newmark
from sorosim.kernels.evaluate import LINEARISE, RESIDUAL, RESIDUAL_DERIVATIVES
from sorosim.model.body import RigidBody
from sorosim.model.description import Description
from sorosim.model.joints.revolute import Revolute
from sorosim.model.link import WORLD, Link
from sorosim.robot import Robot
from sorosim.simulation.marching import Marching

STEP = 1e-3  # [s]
LARGEST_DENSE = 1600
ROUNDS = 5
AT_LEAST = 0.05  # of a round [s]


def hinges(n: int) -> Robot:
    """A chain of n thin links on hinges about two axes in turn."""
    body = RigidBody(0.01, centre=(0.05, 0.0, 0.0), inertia=(1e-6, 1e-5, 1e-5))
    joints = [Revolute(axis=axis, stiffness=(0.1,), damping=(1e-3,)) for axis in ((0, 1, 0), (0, 0, 1))]
    ahead = np.eye(4)
    ahead[0, 3] = 0.1
    links = [
        Link(f"link{i}", body, joint=joints[i % 2], parent=f"link{i - 1}" if i else WORLD, at=ahead if i else np.eye(4))
        for i in range(n)
    ]
    return Robot(Description("hinges", tuple(links)))


def rods(n: int) -> Robot:
    """A chain of rods of six coordinates each, n in all or a few more."""
    return scaling.chain(-(-n // 6))


CHAINS: dict[str, Callable[[int], Robot]] = {"rods": rods, "hinges": hinges}


def seconds(robot: Robot, on_tree: bool) -> tuple[float, float]:
    """Processor time [s] of a correction with new factors, and of one with those from before; medians."""
    method = Marching(OdeSystem(robot, Motion([]), {}), "generalized-alpha", STEP, 0.8)
    march, model, ws = method.state(Motion([]), on_tree), method.model(Motion([])), robot.engine.workspace
    rng = np.random.default_rng(0)
    number, state = march.number, march.state
    number[[newmark.STEP, newmark.LAST_STEP, newmark.PREVIOUS]] = STEP
    number[newmark.RTOL], number[newmark.ATOL] = 1e-6, 1e-8
    number[newmark.ALPHA_M : newmark.BETA_OLD + 1] = method.coefficients
    number[newmark.PART] = 1.0
    start = 0.01 * rng.normal(size=(2, robot.ndof))
    derivatives = LINEARISE if on_tree else RESIDUAL_DERIVATIVES
    evaluate_at = entry(newmark.evaluate_at, model, march, ws, derivatives)
    factor, correct = entry(newmark.factor_step, model, march, ws), entry(newmark.correct, model, march)

    def correction(new: bool) -> None:
        state[newmark.Q_NEW], state[newmark.QD_NEW] = start
        state[newmark.SCALE] = 1.0
        evaluate_at(model, march, ws, derivatives if new else RESIDUAL)
        if new and not factor(model, march, ws):
            raise ArithmeticError("a singular step")
        correct(model, march)

    return tuple(_median(lambda new=new: correction(new)) for new in (True, False))  # type: ignore[return-value,misc]


def _median(function: Callable[[], None]) -> float:
    function()
    samples = []
    for _ in range(ROUNDS):
        begin, count = time.process_time(), 0
        while count == 0 or time.process_time() - begin < AT_LEAST:
            function()
            count += 1
        samples.append((time.process_time() - begin) / count)
    return median(samples)


def measure(numbers: Sequence[int], note: Callable[[str], None]) -> dict[str, dict[str, list[list[float]]]]:
    """Rows (coordinates, time with new factors, time with old ones [s]) of each chain, along the tree and dense."""
    out: dict[str, dict[str, list[list[float]]]] = {}
    for name, make in CHAINS.items():
        out[name] = {"tree": [], "dense": []}
        for n in numbers:
            robot = make(n)
            for way, rows in out[name].items():
                if way == "tree" or n <= LARGEST_DENSE:
                    rows.append([robot.ndof, *seconds(robot, way == "tree")])
                    note(f"{name:7} {way:6} {robot.ndof:6d}  {1e3 * rows[-1][1]:9.3f}  {1e3 * rows[-1][2]:9.3f} ms")
    return out


def exponent(rows: Sequence[Sequence[float]], least: float) -> float:
    """Slope of the time with new factors in a plot of both logarithms, over those of at least so many coordinates."""
    chosen = np.log([row[:2] for row in rows if row[0] >= least])
    return float(np.polyfit(chosen[:, 0], chosen[:, 1], 1)[0])


def plot(measured: dict[str, dict[str, list[list[float]]]], path: str | Path) -> None:
    """Figure of the times against the number of coordinates (matplotlib)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 4.0), layout="constrained")
    axes = figure.add_subplot()
    for (name, ways), marker in zip(measured.items(), "os", strict=True):
        for way, style in (("tree", "-"), ("dense", "--")):
            x, y, _ = np.array(ways[way]).T
            colour = "#1f77b4" if way == "tree" else "#d95f02"
            label = f"{name}, {'along the tree' if way == 'tree' else 'dense'}"
            axes.loglog(x, 1e3 * y, style, marker=marker, markersize=4, color=colour, label=label)
    axes.set(xlabel="coordinates", ylabel="correction of a step, factors new [ms]")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=110)
