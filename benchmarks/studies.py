"""Studies: how cost grows with size or precision. Each says its figures line by line, and some draw a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchmarks import (
    accuracy,
    closings,
    fitting,
    implicit_steps,
    imports,
    inverse,
    learning,
    live,
    mass_matrix,
    observers,
    rigid_tree_plots,
    rigid_trees,
    ropes,
    scaling,
    soromox,
    steps,
    work_precision,
)
from benchmarks.context import Setting

RODS = (1, 2, 5, 10, 20, 50, 100, 200)
RIGID_LINKS = (2, 10, 50, 100)
COORDINATES = (24, 48, 96, 192, 384, 600, 1000, 2000, 5000, 10_000, 20_000)
MANY_LINKS = (1, 2, 5, 10, 20, 50, 100, 200, 400, 1000, 2000, 5000, 10_000)


def derivatives_by_size(at: Setting) -> None:
    """Cost of derivatives against the number of rods."""
    rods = at.size(RODS, RODS[:3])
    times = scaling.measure(rods)
    scaling.plot(rods, times, at.folder / "scaling.png")
    at.say("rods, then ms of inverse dynamics with derivatives, and the exponent between neighbours")
    for name, values in times.items():
        powers = ["", *(f"{p:.2f}" for p in scaling.exponents(rods, values))]
        rows = zip(rods, values, powers, strict=True)
        at.say("; ".join([name, *(f"{n}: {1e3 * t:.3g} {p}".rstrip() for n, t, p in rows)]))


def mass_matrix_by_size(at: Setting) -> None:
    """M^{-1} b of chains by the extended Fixman method beside others."""
    times = mass_matrix.measure(at.size(MANY_LINKS, MANY_LINKS[:4]))
    mass_matrix.plot(times, at.folder / "inversion.png")
    at.say("links, then ms of solving with the mass matrix; the exponent is that of the last decade")
    for name, line in times.items():
        row = ", ".join(f"{n}: {1e3 * t:.3g}" for n, t in line.items())
        at.say(f"{name}: {row}; n^{mass_matrix.slope(line):.2f}")


def implicit_steps_by_size(at: Setting) -> None:
    """Corrections of implicit steps, and statics, by size: along the tree or sparse, and dense; half an hour."""
    at.say("task, robot, way, coordinates, ms, of steps with new factors and with those from before; MB")
    numbers, rounds = at.size((COORDINATES, implicit_steps.ROUNDS), (COORDINATES[:2], 1))
    measured = implicit_steps.measure(numbers, at.say, rounds)
    implicit_steps.plot(measured, at.folder / "implicit_steps.png")
    for line in implicit_steps.summary(measured):
        at.say(line)


def rigid_trees_by_size(at: Setting) -> None:
    """Rigid trees beside Pinocchio, compiled code and whole calls."""
    numbers = at.size(RIGID_LINKS, RIGID_LINKS[:1])
    timings = {
        shape: {n: rigid_trees.time_tree(rigid_trees.tree(n, branching), at.quick) for n in numbers}
        for shape, branching in rigid_trees.SHAPES.items()
    }
    rigid_tree_plots.plot(timings).savefig(at.folder / "rigid_trees.png", dpi=80)
    for line in rigid_tree_plots.table(timings, numbers).splitlines():
        at.say(line)


def work_against_precision(at: Setting) -> None:
    """Work against precision of a swinging rod, by order and method."""
    t_end, orders = at.size((10.0, work_precision.ORDERS), (0.1, work_precision.ORDERS[:1]))
    points = work_precision.measure(work_precision.refined_tip(t_end), t_end, orders)
    work_precision.plot(points, at.folder / "work_precision.png")
    best = work_precision.frontier(points)
    at.say(f"tip error [mm], time of {t_end:g} s [s]: the fastest for their precision")
    for point in best:
        at.say(f"{1e3 * point.error:9.4f} {point.seconds:7.3f}  orders {point.orders}, {point.method}")


# the first line of a docstring says what is measured, and how long it takes if that is long
STUDIES: Mapping[str, Callable[[Setting], None]] = {
    "scaling": derivatives_by_size,
    "mass matrix": mass_matrix_by_size,
    "rigid trees": rigid_trees_by_size,
    "work precision": work_against_precision,
    "accuracy": accuracy.study,
    "soromox": soromox.study,
    "learn reach": learning.study,
    "steps": steps.study,
    "implicit steps": implicit_steps_by_size,
    "inverse": inverse.study,
    "live": live.study,
    "fits": fitting.study,
    "closings": closings.study,
    "imports": imports.study,
    "ropes": ropes.study,
    "observers": observers.study,
}
