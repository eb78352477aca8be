"""How the cost of M x = b grows with the number of links: `Robot.solve_mass` and Fixman's method, chains of hinges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.algorithms import solve_mass
from benchmarks.context import thread_seconds
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints.revolute import Revolute
from sorosim.mechanics.model.link import WORLD, Link
from sorosim.mechanics.robot import Robot

# as far as figure 3 of the paper of the extended Fixman method goes, and as far as what is O(n) goes here
DENSE_UPTO = 400
# of a slope: the last decade
ASYMPTOTIC = 0.1


def chain(n: int) -> Robot:
    """A serial chain of n rods of 10 cm on hinges whose axes turn by 70 degrees from one to the next."""
    body = RigidBody(0.1, centre=(0.05, 0.0, 0.0), inertia=(2e-5, 1e-4, 1e-4))
    turn, at = np.radians(70.0), np.eye(4)
    at[1:3, 1:3] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    at[0, 3] = 0.1
    hinge = Revolute(axis=(0.0, 0.0, 1.0))
    links = [Link(f"link{i}", body, joint=hinge, parent=f"link{i - 1}" if i else WORLD, at=at) for i in range(n)]
    return Robot(Description("chain", tuple(links)))


def inverse_of_mass_matrix(robot: Robot, q: Any, b: Any) -> Any:
    """What the O(n) methods are to save: the inverse of the mass matrix."""
    return np.linalg.inv(robot.mass_matrix(q)) @ b


ALGORITHMS: Mapping[str, Callable[[Robot, Any, Any], Any]] = {
    "inverse of M": inverse_of_mass_matrix,
    **{name: partial(solve_mass, algorithm=name) for name in ("composite", "articulated", "fixman")},
}


def measure(numbers: Sequence[int]) -> dict[str, dict[int, float]]:
    """Median times [s] of M^{-1} b by each algorithm at each number of links; those with M up to DENSE_UPTO."""
    times: dict[str, dict[int, float]] = {name: {} for name in ALGORITHMS}
    for n in numbers:
        robot, rng = chain(n), np.random.default_rng(n)
        q, b = 0.3 * rng.normal(size=(2, n))
        actions = {
            name: partial(solve, robot, q, b)
            for name, solve in ALGORITHMS.items()
            if n <= DENSE_UPTO or name in ("articulated", "fixman")
        }
        for name, seconds_each in zip(actions, thread_seconds(*actions.values()), strict=True):
            times[name][n] = seconds_each
    return times


def slope(line: Mapping[int, float]) -> float:
    """Exponent of n of the larger ones of the numbers: a line through both logarithms over the last decade."""
    last = [n for n in line if n >= ASYMPTOTIC * max(line)]
    return float(np.polyfit(np.log(last), np.log([line[n] for n in last]), 1)[0])


def plot(times: Mapping[str, Mapping[int, float]], path: str | Path | None = None) -> Any:
    """Figure of the times against the number of links (matplotlib); written to `path` if given."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for (name, line), marker in zip(times.items(), "^vos", strict=True):
        label = f"{name}: n$^{{{slope(line):.2f}}}$"
        axes.loglog(list(line), 1e3 * np.array(list(line.values())), marker=marker, markersize=4, label=label)
    axes.set(xlabel="links on hinges", ylabel="M$^{-1}$ b [ms]")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    if path is not None:
        figure.savefig(path, dpi=110)
    return figure
