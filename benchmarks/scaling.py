"""How the cost of derivatives grows with the number of rods: serial chains, and bushy trees of fixed depth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.context import thread_seconds
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.link import WORLD, Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.robot import Robot

# children of a rod of a bush, at a third of it, two thirds and its tip
CHILDREN = 3
DEPTH = 4

_ROD = Rod((Division(0.1, Circle(0.005), Material(1e6, poisson=0.5, density=1000.0), Strain(torsion=1, bending=1),
                     quadrature=4),))  # fmt: skip


def chain(n: int) -> Robot:
    """A serial chain of n rods, six coordinates each."""
    links = [Link(f"rod{i}", _ROD, parent=f"rod{i - 1}" if i else WORLD) for i in range(n)]
    return Robot(Description("chain", tuple(links)))


def bush(n: int) -> Robot:
    """Trees of n rods on the ground, no rod more than four from its root."""
    links: list[Link] = []
    level: list[int] = []
    for i in range(n):
        if i % _size_of_bush() == 0:
            level = [i]
            links.append(Link(f"rod{i}", _ROD))
            continue
        parent = level[(i - level[0] - 1) // CHILDREN]
        level.append(i)
        links.append(Link(f"rod{i}", _ROD, parent=f"rod{parent}", s=(1 + (i - level[0] - 1) % CHILDREN) / CHILDREN))
    return Robot(Description("bush", tuple(links)))


def _size_of_bush() -> int:
    return sum(CHILDREN**k for k in range(DEPTH))


SHAPES: dict[str, Callable[[int], Robot]] = {"chain": chain, "bush": bush}


def seconds(robot: Robot) -> float:
    """Median time of inverse dynamics with its derivatives, arrays at hand."""
    rng = np.random.default_rng(0)
    q, qd, qdd = 0.1 * rng.normal(size=(3, robot.ndof))
    none, evaluate = np.zeros(0), robot.engine.evaluate
    return thread_seconds(lambda: evaluate(task.INVERSE_DERIVATIVES, q, qd, qdd, none))[0]


def measure(numbers: Sequence[int]) -> dict[str, list[float]]:
    """Times [s] of each shape at each number of rods."""
    return {name: [seconds(make(n)) for n in numbers] for name, make in SHAPES.items()}


def exponents(numbers: Sequence[int], times: Sequence[float]) -> list[float]:
    """Slopes between neighbours in a plot of both logarithms."""
    return list(np.diff(np.log(times)) / np.diff(np.log(numbers)))


def plot(numbers: Sequence[int], times: dict[str, list[float]], path: str | Path | None = None) -> Any:
    """Figure of the times against the number of rods (matplotlib); written to `path` if given."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for (name, values), marker in zip(times.items(), "os", strict=True):
        axes.loglog(numbers, 1e3 * np.array(values), marker=marker, markersize=4, label=name)
    first, last = numbers[0], numbers[-1]
    for power, begin in ((1, times["bush"][-1]), (2, times["chain"][-1])):
        line = 1e3 * begin * (np.array([first, last]) / last) ** power
        axes.loglog([first, last], line, color="0.7", linewidth=1, linestyle="--", zorder=0)
        axes.annotate(f"n$^{power}$" if power > 1 else "n", (first, line[0]), color="0.5", fontsize=8)
    axes.set(xlabel="rods, six coordinates each", ylabel="inverse dynamics with derivatives [ms]")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    if path is not None:
        figure.savefig(path, dpi=110)
    return figure
