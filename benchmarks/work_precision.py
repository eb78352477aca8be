"""Work against precision: ten seconds of a tapered rod that swings under gravity, by basis order and method."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sorosim.analysis.motion.simulate import simulate
from sorosim.files import load
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.rod import Rod
from sorosim.mechanics.robot import Robot

# orders of torsion and bending, and of elongation and shear, the quadrature fitting
ORDERS = ((1, 0), (2, 1), (4, 2), (6, 3))
# method -> its options, from coarse to fine
METHODS: dict[str, tuple[dict[str, float], ...]] = {
    "bdf": tuple({"rtol": r, "atol": 1e-3 * r} for r in (1e-2, 1e-3, 1e-4, 1e-5)),
    "cvode": tuple({"rtol": r, "atol": 1e-3 * r} for r in (1e-2, 1e-3, 1e-4, 1e-5)),
    "newmark": tuple({"step": h} for h in (0.01, 0.005, 0.002, 0.001)),
    "generalized-alpha": tuple({"step": h} for h in (0.01, 0.005, 0.002, 0.001)),
}


class Point(NamedTuple):
    """One run."""

    orders: tuple[int, int]
    method: str
    error: float  # largest distance of the tip from the refined run [m]
    seconds: float


def rod_of(orders: tuple[int, int]) -> Robot:
    """The manipulator without its cables, in other orders."""
    description = load("cable_manipulator").description
    link = description.links[0]
    assert isinstance(link.body, Rod)  # it is one rod
    angular, linear = orders
    varying = Strain(torsion=angular, bending=angular, elongation=linear, shear=linear)
    parts = tuple(replace(part, strain=varying, quadrature=angular + 3) for part in link.body.divisions)
    rod = Link(link.name, Rod(parts), joint=link.joint, at=link.at)
    return Robot(replace(description, links=(rod,), actuators={}, simulate={}, statics={}))


def refined_tip(t_end: float = 10.0) -> Any:
    """Positions of the tip by a run that is finer than all others in space and time."""
    return simulate(rod_of((8, 4)), t_end, dt_out=0.02, method="lsoda", rtol=1e-8, atol=1e-10).tip()


def measure(reference: Any, t_end: float = 10.0, orders: Sequence[tuple[int, int]] = ORDERS) -> list[Point]:
    """All runs; each is run twice, the faster one counts."""
    points = []
    for order in orders:
        robot = rod_of(order)
        for method, settings in METHODS.items():
            for options in settings:
                seconds = []
                for _ in range(2):
                    begin = time.perf_counter()
                    run = simulate(robot, t_end, dt_out=0.02, method=method, **options)  # type: ignore[arg-type]
                    seconds.append(time.perf_counter() - begin)
                error = float(np.linalg.norm(run.tip() - reference, axis=1).max())
                points.append(Point(order, method, error, min(seconds)))
    return points


def frontier(points: Sequence[Point]) -> list[Point]:
    """The fastest runs for their precision, from coarse to fine."""
    best: list[Point] = []
    for point in sorted(points, key=lambda p: p.seconds):
        if not best or point.error < best[-1].error:
            best.append(point)
    return best


def plot(points: Sequence[Point], path: Path) -> None:
    """Time against error, logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 5.5), layout="constrained")
    axes = figure.subplots()
    for k, method in enumerate(METHODS):
        own = [p for p in points if p.method == method]
        axes.loglog([1e3 * p.error for p in own], [p.seconds for p in own], "os^D"[k], label=method, alpha=0.7)
    best = frontier(points)
    axes.loglog(
        [1e3 * p.error for p in best], [p.seconds for p in best], "k-", lw=1.0, label="the fastest for their precision"
    )
    axes.set(xlabel="error of the tip [mm]", ylabel="wall time of 10 s [s]")
    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)
