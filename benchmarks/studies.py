"""Studies: how cost grows with size or precision. Each prints its figures and writes a plot into .benchmarks/."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

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
    rigid_tree_plots,
    rigid_trees,
    scaling,
    soromox,
    steps,
    work_precision,
)
from sorosim.base.errors import InputError
from sorosim.base.ode import one_blas_thread

RODS = (1, 2, 5, 10, 20, 50, 100, 200)
RIGID_LINKS = (2, 10, 50, 100)
COORDINATES = (24, 48, 96, 192, 384, 600, 1000, 2000, 5000, 10_000, 20_000)
MANY_LINKS = (1, 2, 5, 10, 20, 50, 100, 200, 400, 1000, 2000, 5000, 10_000)


def derivatives_by_size(folder: Path) -> None:
    """Cost of derivatives against the number of rods."""
    times = scaling.measure(RODS)
    scaling.plot(RODS, times, folder / "scaling.png")
    print("rods, then ms of inverse dynamics with derivatives, and the exponent between neighbours")
    for name, values in times.items():
        powers = ["", *(f"{p:.2f}" for p in scaling.exponents(RODS, values))]
        rows = zip(RODS, values, powers, strict=True)
        print(name, *(f"{n}: {1e3 * t:.3g} {p}".rstrip() for n, t, p in rows), sep="; ")


def mass_matrix_by_size(folder: Path) -> None:
    """M^{-1} b of chains by the extended Fixman method beside others."""
    with one_blas_thread():
        times = mass_matrix.measure(MANY_LINKS)
    mass_matrix.plot(times, folder / "inversion.png")
    print("links, then ms of solving with the mass matrix; the exponent is that of the last decade")
    for name, line in times.items():
        row = ", ".join(f"{n}: {1e3 * t:.3g}" for n, t in line.items())
        print(f"{name}: {row}; n^{mass_matrix.slope(line):.2f}")


def implicit_steps_by_size(folder: Path) -> None:
    """Corrections of implicit steps, and statics, by size: along the tree or sparse, and dense; half an hour."""
    print("task, robot, way, coordinates, ms, of steps with new factors and with those from before; MB")
    with one_blas_thread():
        measured = implicit_steps.measure(COORDINATES, lambda row: print(row, flush=True))
    implicit_steps.plot(measured, folder / "implicit_steps.png")
    print("\n".join(implicit_steps.summary(measured)))


def rigid_trees_by_size(folder: Path) -> None:
    """Rigid trees beside Pinocchio, compiled code and whole calls."""
    with one_blas_thread():
        timings = {
            shape: {n: rigid_trees.time_tree(rigid_trees.tree(n, branching)) for n in RIGID_LINKS}
            for shape, branching in rigid_trees.SHAPES.items()
        }
    rigid_tree_plots.plot(timings).savefig(folder / "rigid_trees.png", dpi=80)
    print(rigid_tree_plots.table(timings, RIGID_LINKS))


def work_against_precision(folder: Path) -> None:
    """Work against precision of a swinging rod, beside other codes."""
    points = work_precision.measure(work_precision.refined_tip())
    work_precision.plot(points, folder / "work_precision.png")
    best = work_precision.frontier(points)
    print("tip error [mm], time of 10 s [s]: the fastest for their precision")
    for point in best:
        print(f"{1e3 * point.error:9.4f} {point.seconds:7.3f}  orders {point.orders}, {point.method}")
    for name, (error, seconds) in work_precision.PEERS.items():
        ours = min((p.seconds for p in points if p.error <= error), default=float("nan"))
        print(f"{name}: {1e3 * error:g} mm, {seconds:g} s; ours {ours:.3f} s, {seconds / ours:.1f} times faster")


def batches_beside_soromox(folder: Path) -> None:
    """An arm of 24 coordinates in batches, beside soromox in JAX."""
    print("time of the first call [s], of a simulated second of one member [s], error of the tip by length")
    points = [soromox.ours(1), soromox.ours(None)]
    try:
        points += soromox.theirs()
    except ImportError:
        print("soromox is not installed")
    for point in points:
        print(f"{point.name}: {point.first:.1f}, {point.seconds:.3g}, {point.error:.1e}; "
              f"{point.seconds / points[1].seconds:.3g} times ours on all threads")  # fmt: skip


def steps_and_gradients(_: Path) -> None:
    """Rare slow steps, memory, gradients by numbers, and threads."""
    with one_blas_thread():
        steps.study()


def live_pages(_: Path) -> None:
    """Frames per second and real-time factors of six robots that are pulled at; a minute or two."""
    try:
        live.study()
    except InputError as error:
        print(error)


def inverse_statics(_: Path) -> None:
    """Inverse statics of five robots: targets in reach, along paths, and out of reach beside SLSQP; many minutes."""
    with one_blas_thread():
        inverse.study()


def fits_to_measurements(_: Path) -> None:
    """Intervals, null directions, outliers, units and derivatives of fits, some twenty minutes."""
    with one_blas_thread():
        fitting.study()


def default_accuracy(folder: Path) -> None:
    """Work against precision of many robots, and true over estimated errors of 200 motions; some twenty minutes."""
    accuracy.study(folder, share=1.0, n=200)


def shapes_and_closings(_: Path) -> None:
    """Rods through points and loops to be closed, on bases of every kind, beside known shapes; some ten minutes."""
    with one_blas_thread():
        closings.study(1000, 500)


def learn_to_reach(folder: Path) -> None:
    """PPO of Stable-Baselines3 on the task of reaching, some ten minutes."""
    try:
        learning.learn(folder)
    except ImportError as error:
        print(f"{error.name} is not installed: pip install 'sorosim[learn]'")


def robots_of_others(folder: Path) -> None:
    """Robots in the files of installed packages beside Pinocchio, MuJoCo and Drake; some minutes."""
    imports.study(folder)


STUDIES: Mapping[str, Callable[[Path], None]] = {
    "scaling": derivatives_by_size,
    "mass matrix": mass_matrix_by_size,
    "rigid trees": rigid_trees_by_size,
    "work precision": work_against_precision,
    "accuracy": default_accuracy,
    "soromox": batches_beside_soromox,
    "learn reach": learn_to_reach,
    "steps": steps_and_gradients,
    "implicit steps": implicit_steps_by_size,
    "inverse": inverse_statics,
    "live": live_pages,
    "fits": fits_to_measurements,
    "closings": shapes_and_closings,
    "imports": robots_of_others,
}
