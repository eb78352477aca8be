"""Measure and draw figures of papers anew: python docs/make_paper_figures.py [recursions] [robots] [inversion]

All of them unless some are named; takes some minutes. Each writes its picture in images/, and the table under it on
figures_of_papers.md with processor, versions and yardstick of its run. The robots need the
package example-robot-data and Pinocchio.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from make_pictures import write_figure
from matplotlib.figure import Figure

from benchmarks import mass_matrix
from benchmarks.cases import amount, measured_here
from benchmarks.context import Context, thread_seconds
from benchmarks.rigid_trees import Call, recorded_calls, replay
from sorosim.base.compiled import entry
from sorosim.base.ode import one_blas_thread

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent / "tests"))

from helpers.chains.forward import aba_chain_rule, fdcr, fdsva  # noqa: E402
from helpers.chains.inverse import idsva_body, idsva_ground, rnea_chain_rule  # noqa: E402
from helpers.chains.sweeps import make_chain, make_room  # noqa: E402
from helpers.real_robots import MISSING, NAMED, load_real, robot_data  # noqa: E402
from helpers.robots import rigid_tree  # noqa: E402

# chains of the first figure, and of the last
LINKS = (2, 5, 10, 20, 50, 100, 200, 500)
MANY_LINKS = (1, 2, 5, 10, 20, 50, 100, 200, 400, 1000, 2000, 5000, 10_000)
RUNS = 3

Times = dict[str, dict[Any, float]]  # of what, for what: [s]


class Yardstick:
    """Sets times beside those of other machines and other runs."""

    def __init__(self) -> None:
        self.context = Context()

    def measure(self) -> None:
        self.context.measure_yardstick()

    def __str__(self) -> str:
        return measured_here(self.context.yardsticks)


def write_table(
    name: str, yardstick: Yardstick, found: Times, columns: Sequence[Any], ratios: Mapping[str, str]
) -> None:
    """Times as Markdown, a row each, some with their ratios to those of another row."""
    lines = ["| | " + " | ".join(map(str, columns)) + " |", "|---|" + "---|" * len(columns)]
    for label, row in found.items():
        cells = []
        for n in columns:
            over = f" ({row[n] / found[ratios[label]][n]:.1f})" if label in ratios and n in row else ""
            cells.append(f"{amount(row[n], 's')}{over}" if n in row else "")
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    (DOCS / f"figures_{name}.inc").write_text(f"{yardstick}\n\n" + "\n".join(lines) + "\n", encoding="utf-8")
    print(yardstick, *lines, sep="\n")


def medians(runs: Sequence[Mapping[str, Mapping[Any, float]]]) -> Times:
    """Of the times of several runs, one by one."""
    return {name: {key: median(run[name][key] for run in runs) for key in row} for name, row in runs[0].items()}


def measured(groups: Mapping[Any, Mapping[str, Callable[[], Any]]], yardstick: Yardstick) -> Times:
    """Times by the names of the actions; those of one group take turns."""
    runs: list[Times] = [{} for _ in range(RUNS)]
    for found in runs:
        for key, actions in groups.items():
            yardstick.measure()
            for name, time in zip(actions, thread_seconds(*actions.values()), strict=True):
                found.setdefault(name, {})[key] = time
    return medians(runs)


# -- recursions and frames: figures 2 and 3 of Singh, Russell and Wensing ----------------------------------------------

ID_GROUND, ID_BODY, ID_CHAIN, ID_CALL = "IDSVA", "IDSVA, body frames", "RNEACR", "inverse_dynamics_derivatives"
FD_GROUND, FD_RNEA, FD_ABA, FD_CALL = "FDSVA", "FDCR", "ABACR", "forward_dynamics_derivatives"
BESIDE = {ID_BODY: ID_GROUND, ID_CHAIN: ID_GROUND, ID_CALL: ID_GROUND} | dict.fromkeys(
    (FD_RNEA, FD_ABA, FD_CALL), FD_GROUND
)


def bare(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """A call of compiled code that does not look up types: that takes as long as the dynamics of a few links."""
    return partial(entry(function, *arguments), *arguments)


def of_chain(n: int) -> dict[str, Callable[[], Any]]:
    """Derivatives of the dynamics of a chain of n hinges."""
    rng = np.random.default_rng(n)
    robot = rigid_tree(rng, n, kinds=["revolute"], along=1.0)
    chain, room, other, out, found = make_chain(robot), make_room(n), make_room(n), np.zeros((2, n, n)), np.zeros(n)
    q, qd, qdd, tau = rng.normal(size=(4, n))
    inverse, forward = (chain, q, qd, qdd, room, out), (chain, q, qd, tau, room, other, found, out)
    return {
        ID_GROUND: bare(idsva_ground, *inverse),
        ID_BODY: bare(idsva_body, *inverse),
        ID_CHAIN: bare(rnea_chain_rule, *inverse),
        ID_CALL: partial(robot.inverse_dynamics_derivatives, q, qd, qdd=qdd),
        FD_GROUND: bare(fdsva, *forward),
        FD_RNEA: bare(fdcr, *forward),
        FD_ABA: bare(aba_chain_rule, chain, q, qd, tau, room, found, out),
        FD_CALL: partial(robot.forward_dynamics_derivatives, q, qd, u=tau),
    }


# of the paper: times longer than IDSVA
PAPER_CHAIN, PAPER_BODY = (100, 15.0), (1.3, 1.9)


def recursions() -> None:
    """Spatial vectors against the chain rule, and the same recursion in two kinds of frames."""
    yardstick = Yardstick()
    found = measured({n: of_chain(n) for n in LINKS}, yardstick)
    figure = Figure(figsize=(9.6, 7.0), layout="constrained")
    panels = figure.subplots(2, 2)
    shown = (ID_GROUND, ID_CHAIN, ID_CALL), (FD_GROUND, FD_RNEA, FD_ABA, FD_CALL)
    for axes, names in zip(panels[0], shown, strict=True):
        for name in names:
            style = {"color": "0.6", "linestyle": "--"} if name in (ID_CALL, FD_CALL) else {}
            label = f"engine: {name}" if style else name
            axes.loglog(LINKS, [1e6 * found[name][n] for n in LINKS], marker="o", markersize=3, label=label, **style)
        axes.set(ylabel="us")
    for axes, names in zip(panels[1], ((ID_CHAIN, FD_RNEA, FD_ABA), (ID_BODY,)), strict=True):
        for name in names:
            quotient = [found[name][n] / found[BESIDE[name]][n] for n in LINKS]
            axes.semilogx(LINKS, quotient, marker="o", markersize=3, label=f"{name} / {BESIDE[name]}")
        axes.axhline(1.0, color="0.7", linewidth=1)
    panels[1, 0].plot(*PAPER_CHAIN, "x", color="C0", label=f"{ID_CHAIN} / {ID_GROUND}, paper")
    panels[1, 1].axhspan(*PAPER_BODY, color="0.9", label="range of the paper")
    for axes in panels[1]:
        axes.set_ylim(0.0, None)
    titles = ("derivatives of inverse dynamics", "derivatives of forward dynamics",
              "how much longer the chain rule takes", "how much longer body frames take")  # fmt: skip
    for axes, title in zip(panels.flat, titles, strict=True):
        axes.set(title=title, xlabel="links")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=8)
    write_figure(figure, "frames_and_recursions")
    write_table("recursions", yardstick, found, LINKS, BESIDE)


# -- named robots: figure 5 of Singh, Russell and Wensing --------------------------------------------------------------

CALL, COMPILED, THEIRS = "sorosim, call", "sorosim, compiled code", "Pinocchio"


def of_real(folder: Path, name: str) -> dict[str, Callable[[], Any]]:
    """Derivatives of the inverse dynamics of a robot from its URDF file."""
    from helpers.pinocchio_urdf import PinocchioUrdf, pin

    robot, rng = load_real(folder, NAMED[name]), np.random.default_rng(1)
    other = PinocchioUrdf(robot, folder / NAMED[name].file, NAMED[name].free)
    q, qd, qdd = rng.uniform(-1.0, 1.0, (3, robot.ndof))
    call = partial(robot.inverse_dynamics_derivatives, q, qd, qdd=qdd)
    for ours, theirs in zip(call(), other.inverse_dynamics_derivatives(q, qd, qdd=qdd), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-10 * np.abs(theirs).max())
    calls: list[Call] = []
    with recorded_calls(calls, robot.engine._prepared, {one: one for one in robot.engine._prepared}):
        call()
    calls = [(entry(function, *arguments), arguments) for function, arguments in calls]
    motion = other.motion(q, qd, qdd)
    state = other.configuration(q), other.there(motion.v), other.there(motion.vdot)
    return {
        CALL: call,
        COMPILED: partial(replay, calls),
        THEIRS: partial(pin.computeRNEADerivatives, other.model, other.data, *state),
    }


def robots() -> None:
    """Derivatives of the inverse dynamics of named robots, ours and Pinocchio's."""
    folder = robot_data()
    if folder is None:
        print(f"robots left out: {MISSING}")
        return
    yardstick = Yardstick()
    groups = {f"{name}, {robot.ndof}": of_real(folder, name) for name, robot in NAMED.items()}
    found = measured(groups, yardstick)
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    axes = figure.subplots()
    for k, (name, row) in enumerate(found.items()):
        bars = axes.bar(np.arange(len(row)) + 0.27 * (k - 1), [1e6 * t for t in row.values()], 0.25, label=name)
        axes.bar_label(bars, fmt="%.3g", fontsize=7, padding=1)
    axes.set_xticks(range(len(groups)), [key.replace(", ", "\n") + " coordinates" for key in groups], fontsize=8)
    axes.set(ylabel="us", title="derivatives of inverse dynamics")
    axes.margins(y=0.1)
    axes.grid(alpha=0.3, axis="y")
    axes.legend(frameon=False, fontsize=8)
    write_figure(figure, "named_robots")
    write_table("robots", yardstick, found, list(groups), dict.fromkeys((CALL, COMPILED), THEIRS))


# -- M^{-1} b: figure 3 of Lee, Wang and Chirikjian --------------------------------------------------------------------


def inverted() -> None:
    """Equations with the mass matrix, by its inverse and in O(n)."""
    yardstick = Yardstick()
    runs = []
    for _ in range(RUNS):
        yardstick.measure()
        runs.append(mass_matrix.measure(MANY_LINKS))
    found = medians(runs)
    write_figure(mass_matrix.plot(found), "inversion")
    write_table("inversion", yardstick, found, [n for n in MANY_LINKS if n >= 10], {})
    print({name: f"n^{mass_matrix.slope(line):.2f}" for name, line in found.items()})


FIGURES = {"recursions": recursions, "robots": robots, "inversion": inverted}


def main() -> None:
    """Make the figures that are named, or all."""
    wanted = sys.argv[1:] or list(FIGURES)
    if unknown := set(wanted) - set(FIGURES):
        sys.exit(f"no figure {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}")
    with one_blas_thread():
        for name in wanted:
            FIGURES[name]()


if __name__ == "__main__":
    main()
