"""Commands that compute."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from sorosim.cli.kinds import kind_of
from sorosim.cli.options import (
    ClockOption,
    DrivenOption,
    InputOption,
    JsonOption,
    MethodOption,
    MotionOption,
    ResultArgument,
    ResultOption,
    RobotArgument,
    SetOption,
    SignalOption,
    StepsOption,
    assignments,
)
from sorosim.cli.prescribed import resumed, signals, values
from sorosim.cli.readers import number, result_file, seconds
from sorosim.cli.show import (
    QUIET_INTERVAL,
    as_json,
    err,
    facts,
    needed,
    out,
    position,
    progress,
    run_facts,
    run_summary,
    status_lines,
)
from sorosim.errors import ConvergenceError, InputError, Interrupted, ModelError

MARKS = {"ok": "[green]ok[/]", "note": "[cyan]note[/]", "odd": "[yellow]odd[/]", "wrong": "[red]wrong[/]"}


def load_changed(robot: str, changes: list[str] | None) -> Any:
    """Load a robot with the changes of --set."""
    from sorosim.io import load

    changed = assignments(changes, "--set", "links.arm.rod.length=40cm")
    return load(robot, set=changed) if changed else load(robot)


def compile_engine(robot: Any, method: str | None = None, *, everything: bool = False) -> bool:
    """Compile what a robot and a method need, apart from the run, whose time is told; returns whether anything was."""
    import sorosim
    from sorosim.compiled import ALL_FEATURES, reporting
    from sorosim.dynamics.forward import ALGORITHMS
    from sorosim.simulation.marching import compile_march
    from sorosim.solvers.registry import MARCHES

    begin, zero = time.monotonic(), [0.0] * robot.ndof
    with status_lines() as report, reporting(report, ALL_FEATURES if everything else frozenset()):
        with suppress(ModelError):  # a singular mass matrix: to be told by what is asked for
            robot.forward_dynamics_derivatives(zero, zero)
        robot.pose(zero, robot.tip_link)
        sorosim.simulate(sorosim.load("pendulum"), 1e-3, 1e-3, method="bdf")  # what follows the steps of integrators
        if method in MARCHES or everything:
            compile_march(robot.engine.features)
        if everything:
            rigid, rest = sorosim.load("double_pendulum"), [0.0, 0.0]
            for algorithm in ALGORITHMS:
                rigid.forward_dynamics(rest, rest, algorithm=algorithm)
            derivatives = sorosim.sensitivities(rigid, list(sorosim.scalars(rigid))[:1])
            derivatives.inverse_dynamics(rest, rest, rest)
    if report.n_lines:
        err.print(f"compiled in {time.monotonic() - begin:.0f} s")
    return bool(report.n_lines)


def compile_(
    robot: Annotated[
        str, typer.Argument(metavar="ROBOT", help="The robot that the engine is compiled for.")
    ] = "cable_manipulator",
    everything: Annotated[
        bool, typer.Option("--all", metavar="", help="For all robots, methods, algorithms and sensitivities.")
    ] = False,
    method: MethodOption = None,
) -> None:
    """Compile the engine ahead of its use: in images of machines, on clusters, before tests.

    Compiled code is kept in the folder SOROSIM_CACHE_DIR, or in the user's cache.

    Example: sorosim compile --all
    """
    from sorosim.io import load

    loaded = load(robot)
    if not compile_engine(loaded, method or loaded.description.simulate.get("method"), everything=everything):
        err.print("everything was compiled before")


def as_built(robot: Any, q: Any = None, message: str = "as it is built") -> Any:
    """A robot at its initial coordinates, or at others, as if it rested there."""
    import numpy as np

    from sorosim.results.result import Equilibrium

    n, m, at = robot.ndof, len(robot.actuator_names), robot.initial_q if q is None else q
    return Equilibrium(robot, at, np.zeros(m), np.zeros(robot.n_multipliers), {}, 0.0, np.zeros((n, n)), 0, message)


def _report(run: Any, path: Path, json: bool) -> None:
    summary = run_summary(run, path)
    as_json(summary) if json else facts(run.robot.name, run_facts(summary))


def _keep(error: Any, robot: Any, path: Path) -> None:
    """Write the state in which a start was given up, to be looked at; what is in the file already stays there."""
    from sorosim.results.result import Equilibrium

    state = error.partial
    if not isinstance(state, Equilibrium):
        state = as_built(robot, state, "where it stopped")
    kept = path.with_name(f"{path.stem}_stopped.h5") if path.exists() else path
    state.save(kept)
    err.print(f"where it stopped is in {kept}; `sorosim play {kept}` shows it", soft_wrap=True)


def _compute(run: Any, robot: Any, path: Path, json: bool, t_end: float | None, begin: float = 0.0) -> None:
    """Call `run(progress)`; whatever happens, say what is in the file."""
    from sorosim.results.result import Run

    try:
        with progress(t_end, begin) as report:
            found = run(report)
    except (ConvergenceError, Interrupted) as error:
        if isinstance(error, Interrupted):
            err.print(str(error))
        if error.partial is not None and not isinstance(error.partial, Run):
            _keep(error, robot, path)
        if isinstance(error.partial, Run) and len(error.partial.t):
            if json:
                _report(error.partial, path, json)
            err.print(f"what there is, up to t = {error.partial.t[-1]:g} s, is in {path}", soft_wrap=True)
        raise
    _report(found, path, json)


def simulate(
    robot: RobotArgument,
    t_end: Annotated[
        float | None,
        typer.Option(metavar="TIME", parser=seconds, help="End, as 10 s or 10; default: that of the file."),
    ] = None,
    dt_out: Annotated[
        float | None,
        typer.Option(
            metavar="TIME", parser=seconds, help="Interval of the results; default: that of the file, or 10 ms."
        ),
    ] = None,
    u: SignalOption = None,
    driven: MotionOption = None,
    changes: SetOption = None,
    q0: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="equilibrium: from rest under the inputs at t = 0; assembled: with the loops closed; default: "
            "what the file says.",
        ),
    ] = None,
    method: MethodOption = None,
    rtol: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", parser=number, help="Relative tolerance; default: that of the file, or 1e-3."),
    ] = None,
    atol: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            parser=number,
            help="Absolute tolerance; default: that of the file, or 1e-6.",
        ),
    ] = None,
    step: Annotated[
        float | None,
        typer.Option(
            metavar="TIME", parser=seconds, help="Fixed step of newmark and generalized-alpha; default: by tolerances."
        ),
    ] = None,
    spectral_radius: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            parser=number,
            help="What generalized-alpha leaves of too stiff motions, 0 to 1; default: that of the file, or 0.8.",
        ),
    ] = None,
    checkpoint: Annotated[
        float | None,
        typer.Option(
            metavar="TIME",
            parser=seconds,
            help="Restart the integrator at its multiples, so that 'resume' repeats the very bits; default: never.",
        ),
    ] = None,
    max_steps: StepsOption = None,
    max_wall_time: ClockOption = None,
    jacobian: Annotated[str, typer.Option(metavar="NAME", help="analytic or finite-difference.")] = "analytic",
    output: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            parser=result_file,
            help="HDF5 file to write, .h5; default: the name of the robot's file, here. One that is there is replaced.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Move a robot and write the result.

    A run that is killed leaves its journal beside the result file; the other commands open it, and 'resume' goes on.

    Example: sorosim simulate cable_manipulator --t-end 5 --u "cable1=5*(1-cos(pi*t))" --out run.h5
    """
    import sorosim

    loaded = load_changed(robot, changes)
    path = output or Path(f"{Path(robot).stem}.h5")
    inputs, moved = signals(loaded, u, driven)
    compile_engine(loaded, method or loaded.description.simulate.get("method"))
    end = t_end if t_end is not None else loaded.description.simulate.get("t_end")
    _compute(
        lambda report: sorosim.simulate(
            loaded, t_end, dt_out, inputs, moved, q0=q0, method=method, rtol=rtol, atol=atol, jacobian=jacobian,
            checkpoint=checkpoint, step=step, spectral_radius=spectral_radius, max_steps=max_steps,
            max_wall_time=max_wall_time, progress=report, out=path,
        ),
        loaded, path, json, end,
    )  # fmt: skip


def resume(
    result: ResultArgument,
    t_end: Annotated[
        float | None, typer.Option(metavar="TIME", parser=seconds, help="New end, as 20 s or 20; default: as before.")
    ] = None,
    u: Annotated[
        list[str] | None,
        typer.Option(
            "--u",
            metavar="NAME=VALUE",
            help="Input of an actuator, a number or an expression of t; may come again. Others stay as they were.",
        ),
    ] = None,
    max_steps: StepsOption = None,
    max_wall_time: ClockOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", parser=result_file, help="HDF5 file to write, .h5; default: the same."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Go on with a run that was interrupted or killed, or to a later end.

    Example: sorosim resume run.h5 --t-end 20
    """
    import sorosim
    from sorosim.results.result import Run

    before = sorosim.open(result)
    if not isinstance(before, Run):
        kind, _ = kind_of(before)
        hint = "sorosim sweep FILE --resume" if kind == "a sweep" else ""
        raise InputError(str(result), "the file of a run", f"that of {kind}", hint)
    path, inputs = output or result, resumed(before, u)
    compile_engine(before.robot, before.options.get("method"))
    end = t_end if t_end is not None else before.options["t_end"]
    begin = float(before.t[-1]) if len(before.t) else 0.0
    _compute(
        lambda report: sorosim.resume(
            before, t_end, u=inputs, max_steps=max_steps, max_wall_time=max_wall_time, progress=report, out=path
        ),
        before.robot, path, json, end, begin,
    )  # fmt: skip


def statics(
    robot: RobotArgument,
    u: InputOption = None,
    driven: DrivenOption = None,
    stable: Annotated[
        bool | None,
        typer.Option(
            "--stable/--any",
            help="Whether to go on from an unstable equilibrium to a stable one. Default: the file's, else --stable.",
            show_default=False,
        ),
    ] = None,
    changes: SetOption = None,
    output: ResultOption = None,
    json: JsonOption = False,
) -> None:
    """Find an equilibrium.

    Example: sorosim statics cable_manipulator --u cable1=10 --out equilibrium.h5
    """
    import sorosim
    from sorosim.io.writing import reserved

    loaded = load_changed(robot, changes)
    inputs, held = values(loaded, u, driven)
    compile_engine(loaded)
    with reserved(output):
        try:
            found = sorosim.statics(loaded, inputs, held, stable=stable)
        except ConvergenceError as error:
            if output and error.partial is not None:
                error.partial.save(output)
                err.print(f"where it stopped is in {output}", soft_wrap=True)
            raise
        if output:
            found.save(output)
    if json:
        content = {"robot": loaded.name, "message": found.message, "n_evaluations": found.n_evaluations}
        content |= {"residual_norm": found.residual_norm, "stable": found.stable, "stability": found.stability}
        content |= {"tip": found.tip(), "q": found.q}
        as_json(content | {"driven": found.driven, "file": str(output) if output else None})
        return
    rows = {
        "solver": f"{found.message}, {found.n_evaluations} evaluations",
        "residual": f"{found.residual_norm:.2g}",
        "stable": "yes" if found.stable else f"no: {found.stability}",
        "tip": position(found.tip()),
    }
    facts(loaded.name, rows | needed(found) | ({"written": str(output)} if output else {}))


def check(robot: RobotArgument, changes: SetOption = None, json: JsonOption = False) -> None:
    """Look a robot over before it runs: units, masses, loops, actuators, accuracy, and what it does at rest.

    Example: sorosim check my_robot.yaml
    """
    from sorosim.doctor import LEVELS, NOTHING_ODD, WRONG, examine

    loaded = load_changed(robot, changes)
    compile_engine(loaded)
    with status_lines(QUIET_INTERVAL) as say:
        findings = examine(loaded, progress=lambda check, k, n: say(f"checking {loaded.name}: {check}, {k} of {n}"))
    counts = {level: sum(finding.level == level for finding in findings) for level in LEVELS}
    if json:
        content = {"robot": loaded.name, "counts": counts, "findings": [finding._asdict() for finding in findings]}
        as_json(content)
    else:
        table = Table(title=loaded.summary(), show_header=False, title_justify="left", box=None, title_style="")
        plain = [finding.where for finding in findings if finding.what == NOTHING_ODD]
        told = [finding for finding in findings if finding.what != NOTHING_ODD]
        alike: dict[tuple[str, str], list[str]] = {}  # forty rods of one kind are one line
        for finding in sorted(told, key=lambda finding: -LEVELS.index(finding.level)):
            words = finding.what + (f"; {finding.remedy}" if finding.remedy else "")
            alike.setdefault((finding.level, words), []).append(finding.where)
        for (level, words), places in alike.items():
            where = places[0] if len(places) == 1 else f"{places[0]} and {len(places) - 1} more"
            table.add_row(MARKS[level], escape(where), escape(words))
        if plain:
            table.add_row(MARKS["ok"], "", f"{NOTHING_ODD}: {', '.join(plain)}")
        out.print(table)
        out.print(", ".join(f"{n} {level}" for level, n in counts.items() if n))
    if any(finding.level == WRONG for finding in findings):
        raise typer.Exit(1)


def bench(
    quick: Annotated[bool, typer.Option("--quick", metavar="", help="Fewer rounds, no cold compilation.")] = False,
) -> None:
    """Time the engine on this machine, beside the figures of Mathew et al., whose method it is.

    Example: sorosim bench --quick
    """
    import sorosim

    repository = Path(sorosim.__file__).resolve().parents[1]
    if not (repository / "pyproject.toml").is_file() or not (repository / "benchmarks" / "__main__.py").is_file():
        hint = "they are not installed: in a clone of it, run python -m benchmarks"
        raise InputError("bench", "the folder benchmarks/ of sorosim's repository", f"none in {repository}", hint)
    command = [sys.executable, "-m", "benchmarks", *(["--quick"] if quick else [])]
    if code := subprocess.run(command, cwd=repository, check=False).returncode:
        raise typer.Exit(code)
