"""The command line: argument parsing and printing only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from sorosim.errors import ConvergenceError, InputError, SorosimError

OK, GAVE_UP, MISTAKE, INTERRUPTED = 0, 1, 2, 130

app = typer.Typer(
    help="Simulate robots made of rigid and soft parts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
out, err = Console(highlight=False), Console(stderr=True, highlight=False)

RobotArgument = Annotated[str, typer.Argument(help="A YAML file, or the name of a bundled robot.")]
ResultArgument = Annotated[Path, typer.Argument(help="A file written by 'simulate'.")]
InputOption = Annotated[
    list[str] | None,
    typer.Option(
        "--u", metavar="NAME=VALUE", help="Input of an actuator, a number or an expression of t; may come again."
    ),
]


def _assignments(pairs: list[str] | None, option: str) -> dict[str, str] | None:
    """Split NAME=VALUE pairs; None when there are none, so that the file's own block holds."""
    if not pairs:
        return None
    split = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise InputError(option, "NAME=VALUE", f"'{pair}'", f"as in {option} cable1=10")
        split[name.strip()] = value.strip()
    return split


def _numbers(pairs: dict[str, str] | None, option: str) -> dict[str, float] | None:
    if pairs is None:
        return None
    numbers = {}
    for name, text in pairs.items():
        try:
            numbers[name] = float(text)
        except ValueError:
            raise InputError(f"{option} {name}", "a number", f"'{text}'") from None
    return numbers


def _announce_compilation() -> None:
    from sorosim.compiled import is_cold

    if is_cold():
        err.print("compiling the engine, once after each installation; this takes up to a minute ...")


@contextmanager
def _progress(t_end: float | None) -> Iterator[Callable[[float], None] | None]:
    """A bar of simulated time on a terminal, nothing elsewhere."""
    if not err.is_terminal or not t_end:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:.2f}/{task.total:g} s"))
    with Progress(*columns, TimeRemainingColumn(), console=err, transient=True) as bar:
        task = bar.add_task("simulating", total=t_end)
        yield lambda t: bar.update(task, completed=t)


def _facts(title: str, rows: list[tuple[str, str]]) -> None:
    table = Table(title=title, show_header=False, title_justify="left", box=None)
    for name, value in rows:
        table.add_row(name, value)
    out.print(table)


def _position(p: Any) -> str:
    return ", ".join(f"{1e3 * x:.3f}" for x in p) + " mm"


def _run_facts(run: Any, path: Path | None) -> list[tuple[str, str]]:
    energy = run.energy()
    counts = [f"{run.stats[key]} {label}" for key, label in _COUNTS.items() if key in run.stats]
    wall = run.stats["wall_time"]
    rows = [
        ("simulated", f"{run.t[-1]:g} s in {wall:.2f} s, {run.t[-1] / wall:.1f} times real time"),
        ("integrator", f"{run.options['method']}: " + ", ".join(counts)),
        ("energy balance", f"off by at most {abs(energy.balance).max():.2g} J of {_swing(energy):.2g} J moved"),
        ("tip at the end", _position(run.tip()[-1])),
    ]
    return [*rows, ("written", str(path))] if path else rows


_COUNTS = {"n_steps": "steps", "n_rhs": "evaluations", "n_jacobian": "Jacobians"}


def _swing(energy: Any) -> float:
    """Energy that changed hands: what came in, was lost, and went between its kinds."""
    changes = [abs(x).max() for x in (energy.work, energy.dissipated, energy.kinetic)]
    return float(sum(changes))


@app.command()
def simulate(
    robot: RobotArgument,
    output: Annotated[Path | None, typer.Option("--out", help="HDF5 file; default: the robot's name.")] = None,
    t_end: Annotated[float | None, typer.Option(help="End, in s.")] = None,
    dt_out: Annotated[float | None, typer.Option(help="Interval of the results, in s.")] = None,
    u: InputOption = None,
    method: Annotated[str | None, typer.Option(help="bdf, radau, lsoda or cvode.")] = None,
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance.")] = None,
    atol: Annotated[float | None, typer.Option(help="Absolute tolerance.")] = None,
    q0: Annotated[str | None, typer.Option(help="'equilibrium' starts from rest under the inputs at t = 0.")] = None,
    jacobian: Annotated[str, typer.Option(help="analytic or finite-difference.")] = "analytic",
) -> None:
    """Move a robot and write the result.

    Example: sorosim simulate cable_manipulator --t-end 5 --u "cable1=5*(1-cos(pi*t))" --out run.h5
    """
    import sorosim
    from sorosim.io import load

    loaded = load(robot)
    path = output or Path(f"{Path(robot).stem}.h5")
    _announce_compilation()
    end = t_end if t_end is not None else loaded.description.simulate.get("t_end")
    try:
        with _progress(end) as report:
            run = sorosim.simulate(
                loaded, t_end, dt_out, _assignments(u, "--u"), q0=q0, method=method, rtol=rtol, atol=atol,
                jacobian=jacobian, progress=report,
            )  # fmt: skip
    except ConvergenceError as error:
        if error.partial is not None and len(error.partial.t):
            error.partial.save(path)
            err.print(f"what there is, up to t = {error.partial.t[-1]:g} s, is in {path}")
        raise
    run.save(path)
    _facts(loaded.name, _run_facts(run, path))


@app.command()
def statics(
    robot: RobotArgument,
    u: InputOption = None,
    driven: Annotated[
        list[str] | None,
        typer.Option("--driven", metavar="LINK=VALUE", help="Value of a driven joint; may come again."),
    ] = None,
    output: Annotated[Path | None, typer.Option("--out", help="HDF5 file to write.")] = None,
) -> None:
    """Find an equilibrium.

    Example: sorosim statics cable_manipulator --u cable1=10 --out equilibrium.h5
    """
    import sorosim
    from sorosim.io import load

    loaded = load(robot)
    _announce_compilation()
    inputs = _numbers(_assignments(u, "--u"), "--u")
    found = sorosim.statics(loaded, inputs, _numbers(_assignments(driven, "--driven"), "--driven"))
    rows = [
        ("solver", f"{found.message}, {found.n_evaluations} evaluations"),
        ("residual", f"{found.residual_norm:.2g}"),
        ("stable", "yes" if found.stable else "no"),
        ("tip", _position(found.tip())),
    ]
    if output:
        found.save(output)
        rows.append(("written", str(output)))
    _facts(loaded.name, rows)


@app.command()
def plot(
    result: ResultArgument,
    folder: Annotated[Path, typer.Option("--out", help="Folder for the pictures.")] = Path(),
) -> None:
    """Draw tip, snapshots, coordinates, inputs and energy of a run, or the shape of an equilibrium.

    Example: sorosim plot run.h5 --out plots
    """
    import sorosim
    from sorosim.result import Run

    found = sorosim.open(result)
    if isinstance(found, Run):
        from sorosim.viz.plots import plot_all

        written = plot_all(found, folder)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        written = [folder / f"{result.stem}.png"]
        found.plot(written[0])
    for path in written:
        out.print(str(path))


@app.command()
def movie(
    result: ResultArgument,
    output: Annotated[Path | None, typer.Option("--out", help="mp4 or gif; default: beside the result.")] = None,
    fps: Annotated[int, typer.Option(help="Frames a second.")] = 30,
    speed: Annotated[float, typer.Option(help="Simulated seconds a second of film.")] = 1.0,
) -> None:
    """Film a run.

    Example: sorosim movie run.h5 --out run.mp4 --speed 0.5
    """
    import sorosim
    from sorosim.result import Run

    found = sorosim.open(result)
    if not isinstance(found, Run):
        raise InputError(str(result), "a run", "an equilibrium", "plot draws equilibria")
    path = output or result.with_suffix(".mp4")
    found.movie(path, fps=fps, speed=speed)
    out.print(str(path))


@app.command()
def robots() -> None:
    """List the bundled robots."""
    from sorosim.io import bundled_robots

    for name in bundled_robots():
        out.print(name)


@app.command()
def bench(quick: Annotated[bool, typer.Option(help="Fewer rounds, no cold compilation.")] = False) -> None:
    """Time the engine on this machine, beside the figures of the paper."""
    from sorosim import benchmark

    out.print(benchmark.table(benchmark.run(quick=quick)), soft_wrap=True)


def main() -> None:
    """Run the command line; errors are one line and an exit code."""
    try:
        status = app(standalone_mode=False)
    except ConvergenceError as error:
        err.print(f"error: {error}", markup=False, soft_wrap=True)
        sys.exit(GAVE_UP)
    except SorosimError as error:
        err.print(f"error: {error}", markup=False, soft_wrap=True)
        sys.exit(MISTAKE)
    except (KeyboardInterrupt, typer.Abort):
        err.print("interrupted")
        sys.exit(INTERRUPTED)
    except Exception as error:
        # usage errors of the parser (its own class is private to the library's vendored click)
        if hasattr(error, "format_message"):
            err.print(f"error: {error.format_message()}", markup=False, soft_wrap=True)
            sys.exit(MISTAKE)
        raise
    sys.exit(status if isinstance(status, int) else OK)


if __name__ == "__main__":
    main()
