"""Simulate the robots of the paper and draw a set of figures of each: python docs/make_paper_robots.py

Each run has the inputs of the robot's own file. Into demo/ROBOT go the result, a film, snapshots over time (as figures
4, 8, 11, 13, 15 and 17 of Mathew et al. have them), plots in the style of papers, a page for browsers and a glTF file;
and mismatch.pdf, panels (b) to (e) of these figures: tips and states of two other methods against those of the run, and
the derivatives of accelerations against forward differences.
"""

import argparse
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sorosim
from sorosim.analysis.equations.system import OdeSystem
from sorosim.connect.cli.options import pixels
from sorosim.mechanics.engine.prescribed import Prescribed

REPO = Path(__file__).resolve().parents[1]
WIDE, TALL = (1280, 720), (900, 900)
METHODS = "cvode", "generalized-alpha", "bdf"
# of forward differences, and how many times of a run they are taken at (the paper: at every step)
STEP, SAMPLES = 1e-6, 41


class Figures(NamedTuple):
    """How a robot is shown."""

    times: tuple[float, ...]  # of the snapshots [s]
    look: dict[str, Any]  # of snapshots and film
    film: Mapping[str, Any] = MappingProxyType({})  # beside that
    size: tuple[int, int] = WIDE  # of the snapshots
    above: bool = False  # whether they are also seen from above


SETS = {
    "cable_manipulator": Figures((0.0, 0.5, 2.0, 5.0, 7.0, 10.0), {"trails": True}),
    "hybrid_serial": Figures((0.0, 1.5, 3.0, 4.5, 6.0), {"trails": True}, size=TALL),
    "fin_ray": Figures((0.0, 1.0, 2.5), {"trails": True, "tips": ["left6"], "view": "side"}, {"joints": True}, TALL),
    "hybrid_parallel": Figures((1.0, 3.8, 6.2), {"trails": True, "tips": ["plate"], "loads": True}, {"joints": True}),
    "contact_cylinder": Figures((0.0, 1.0, 3.0, 5.0, 8.0), {"trails": True}, size=TALL, above=True),
    "underwater_vehicle": Figures(
        (0.0, 5.0, 10.0), {"trails": True, "tips": ["bow_arm1_rod", "stern_arm1_rod"]}, {"follow": "centre of mass"}
    ),
}


def draw(name: str, folder: Path, size: tuple[int, int], fps: float) -> Iterator[tuple[str, float]]:
    """Write the set of a robot; yields each file and the seconds that it took."""
    figures, folder = SETS[name], folder / name
    folder.mkdir(parents=True, exist_ok=True)
    begun = time.perf_counter()

    def done(path: Path | str) -> tuple[str, float]:
        nonlocal begun
        before, begun = begun, time.perf_counter()
        return str(path), begun - before

    run = sorosim.simulate(sorosim.load(name))
    run.save(folder / "run.h5")
    yield done(folder / "run.h5")
    for ghosts in ("time", "fade"):
        path = folder / f"snapshots_{ghosts}.png"
        run.still(path, t=figures.times, ghosts=ghosts, size=figures.size, **figures.look)
        yield done(path)
    if figures.above:
        path, seen = folder / "snapshots_above.png", figures.look | {"view": "top"}
        run.still(path, t=figures.times, ghosts="time", size=figures.size, **seen)
        yield done(path)
    run.still(folder / "snapshots_flat.svg", t=figures.times, ghosts="time", trails=True)
    yield done(folder / "snapshots_flat.svg")
    run.plot(folder / "figures", formats="pdf", style="paper")
    yield done(folder / "figures")
    draw_mismatches(run, folder / "mismatch.pdf")
    yield done(folder / "mismatch.pdf")
    arrows = {name: True for name in ("loads", "joints") if name in figures.look | dict(figures.film)}
    run.export_html(folder / "run.html", trails=True, tips=figures.look.get("tips"), **arrows)
    yield done(folder / "run.html")
    run.export_gltf(folder / "run.glb", **arrows)
    yield done(folder / "run.glb")
    run.movie(folder / "run.mp4", size=size, fps=fps, **(figures.look | dict(figures.film)))
    yield done(folder / "run.mp4")


def mismatch(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of rows (n, ...), equation (37): the norm of the difference over that of the mean."""
    left, right = a.reshape(len(a), -1), b.reshape(len(b), -1)
    apart, mean = (np.linalg.norm(rows, axis=1) for rows in (left - right, 0.5 * (left + right)))
    return np.asarray(apart / np.maximum(mean, 1e-300))


def derivative_mismatch(run: sorosim.Run, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of derivatives by q and by qd (2, n), analytic ones and forward differences, at rows of a run."""
    robot, given = run.robot, run.robot.description.simulate
    system = OdeSystem(robot, Prescribed.of(robot, given.get("u", {}), given.get("driven", {})))
    n, found = system.n_free, []
    for t, q, qd in zip(run.t[rows], run.q[rows], run.qd[rows], strict=True):
        x = system.state(q, qd)
        analytic, here = system.jacobian(t, x)[n:], system.rhs(t, x)[n:]
        steps = STEP * np.eye(2 * n)
        differences = np.transpose([(system.rhs(t, x + step)[n:] - here) / STEP for step in steps])
        found.append([float(mismatch(*(X[None, :, part] for X in (analytic, differences)))[0])
                      for part in (slice(0, n), slice(n, 2 * n))])  # fmt: skip
    return np.array(found).T


def draw_mismatches(run: sorosim.Run, path: Path) -> None:
    """Panels (b) to (e)."""
    from matplotlib.figure import Figure

    robot, own = run.robot, run.options["method"]
    tips = [link.name for link in robot.links if link.rod is not None]
    figure = Figure(figsize=(7.0, 5.0), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True).ravel()
    for method in [method for method in METHODS if method != own][:2]:
        other = sorosim.simulate(robot, method=method)
        n = min(len(run.t), len(other.t))
        away = np.mean([np.linalg.norm(run.positions(k)[:n] - other.positions(k)[:n], axis=1) for k in tips], axis=0)
        panels[0].semilogy(run.t[1:n], away[1:], label=f"{method} against {own}")
        panels[1].semilogy(run.t[1:n], mismatch(run.q[1:n], other.q[1:n]))
    rows = np.unique(np.linspace(1, len(run.t) - 1, SAMPLES).astype(int))
    for panel, values in zip(panels[2:], derivative_mismatch(run, rows), strict=True):
        panel.semilogy(run.t[rows], values)
        panel.set_xlabel("time [s]")
    panels[0].legend(fontsize="small")
    titles = "(b) tips, mean [m]", "(c) coordinates", "(d) derivatives by q", "(e) derivatives by qd"
    for panel, title in zip(panels, titles, strict=True):
        panel.set_title(title, fontsize="medium")
        panel.grid(alpha=0.3)
    figure.savefig(path)


def size_of(path: Path) -> float:
    """Bytes of a file, or of all in a folder."""
    return float(sum(file.stat().st_size for file in path.iterdir()) if path.is_dir() else path.stat().st_size)


def main() -> None:
    """Draw the sets of all robots, or of those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("robots", nargs="*", metavar="ROBOT", help=f"default: all of {', '.join(SETS)}")
    parser.add_argument("--out", type=Path, default=REPO / "demo", help="folder to write to")
    parser.add_argument("--size", default="960x540", help="of the films, WIDTHxHEIGHT")
    parser.add_argument("--fps", type=float, default=30.0, help="of the films")
    given = parser.parse_args()
    for name in given.robots:
        if name not in SETS:
            parser.error(f"expected robots among {', '.join(SETS)}, got '{name}'")
    try:
        size = pixels(given.size)
    except sorosim.InputError as error:
        parser.error(str(error))
    rows, begun = 0, time.perf_counter()
    print(f"{'file':<50}{'time':>9}{'size':>11}")
    for name in given.robots or SETS:
        for path, seconds in draw(name, given.out, size, given.fps):
            shown = Path(path)
            label = shown.relative_to(given.out).as_posix()
            print(f"{label:<50}{seconds:>7.1f} s{size_of(shown) / 1e6:>8.2f} MB", flush=True)
            rows += 1
    print(f"{rows} in {time.perf_counter() - begun:.0f} s, in {given.out}")


if __name__ == "__main__":
    main()
