"""Commands that look at many states: modes about one, equilibria along a curve, points of a sweep."""

from __future__ import annotations

import time
from contextlib import ExitStack
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from sorosim.base.errors import ConvergenceError, InputError, Interrupted
from sorosim.base.options import ContinuationArguments, ModesArguments, checked
from sorosim.connect.cli import options as opt
from sorosim.connect.cli import summaries
from sorosim.connect.cli.compilation import compile_engine
from sorosim.connect.cli.console import as_json, err, facts, line, out, progress, report
from sorosim.connect.cli.inputs import values
from sorosim.connect.cli.parsers import FILMS, PLOTS, file_with, new_file, whole
from sorosim.connect.cli.sources import load_robot

_RATE = (
    "Constant rate of a driven joint, as in --rate 'hub=30 rad/s'; may come again. Modes are about the steady motion."
)
_OUT = (
    ".npz, .mat, .h5 or .mtx: matrices and modes; .png, .pdf or .svg: shapes; .mp4 or .gif: the film of --movie; may "
    "come again; default: none."
)

_ALONG = (
    "What changes: u.cable1, driven.base, or the path of a number in the file, as in materials.steel.young; may come "
    "again, each with its --to: then the parameter goes from 0 to 1."
)


@opt.with_options(ModesArguments, "number")
def modes(
    robot: opt.RobotArgument,
    u: opt.InputOption = None,
    driven: opt.DrivenOption = None,
    rates: Annotated[list[str] | None, opt.Assignment("--rate", help=_RATE)] = None,
    changes: opt.SetOption = None,
    *,
    options: dict[str, Any],
    film: Annotated[
        int | None,
        typer.Option("--movie", metavar="K", parser=whole, help="Film the mode with this number; default: none."),
    ] = None,
    outputs: Annotated[list[Path] | None, opt.OutputFile(parser=new_file, help=_OUT, show_default=False)] = None,
    json: opt.JsonOption = False,
) -> None:
    """Find natural frequencies, damping and modes about an equilibrium, or about a steady rotation.

    Example: sorosim modes cable_manipulator --u cable1=10 --out modes.npz --out modes.png
    """
    from sorosim.base.writing import reserved
    from sorosim.files.linear import SUFFIXES

    count = checked(ModesArguments, options)["number"]
    paths = list(outputs or [])
    for path in paths:
        if path.suffix.lower() not in (*SUFFIXES, *PLOTS, *FILMS):
            expected = f"a file name that ends in {', '.join((*SUFFIXES, *PLOTS, *FILMS))}"
            raise InputError("--out", expected, f"'{path}'")
        if path.suffix.lower() in FILMS and film is None:
            raise InputError("--out", "--movie K beside it, the number of a mode", f"'{path}' alone")
    loaded = load_robot(robot, changes)
    if film is not None and not any(path.suffix.lower() in FILMS for path in paths):
        paths.append(Path(f"{Path(robot).stem}_mode{film}.mp4"))
    inputs, motions = values(loaded, u, driven)
    compile_engine(loaded)
    with ExitStack() as stack:
        for path in dict.fromkeys(paths):
            stack.enter_context(reserved(path))
        lin = _linearize(loaded, inputs, motions, rates)
        shown = range(1, min(count, len(lin.damped)) + 1)
        as_json(_content(lin, shown, paths)) if json else _table(lin, shown)
        for path in paths:
            written = [path]
            if path.suffix.lower() in FILMS:
                lin.mode(film).movie(path)
            elif path.suffix.lower() in PLOTS:
                lin.plot(path, modes=list(shown)[:24] or None)
            else:
                written = lin.save(path)
            if not json:
                for file in written:
                    out().print(str(file))


def _linearize(robot: Any, inputs: Any, driven: Any, rates: list[str] | None) -> Any:
    """The motion about an equilibrium, or a steady motion."""
    import sorosim
    from sorosim.mechanics.engine.prescribed import by_coordinate

    texts = opt.assignments(rates, "--rate", "hub='30 rad/s'")
    try:
        if texts is None:
            return sorosim.statics(robot, inputs, driven=driven).linearize()
        speeds = by_coordinate(robot.engine, texts, "--rate", 1)
        return sorosim.steady(robot, speeds, u=inputs, driven=driven).linearize()
    except ConvergenceError as error:
        falls = any(link.joint.kind == "free" and link.parent == "world" for link in robot.links)
        if falls and any(robot.description.gravity):
            hint = "what is free falls: without gravity, --set gravity=[0,0,0], it has modes"
            raise ConvergenceError(f"{error}; {hint}", error.partial) from None
        raise


def _rows(lin: Any, shown: Any) -> list[dict[str, Any]]:
    """The table as plain data."""
    from sorosim.analysis.results.modes import shares

    modes = lin.damped
    return [
        {
            "mode": k + 1,
            "frequency_hz": modes.frequencies[k],
            "damping_ratio": modes.damping_ratios[k],
            "time_constant_s": modes.time_constants[k],
            "eigenvalue": [modes.eigenvalues[k].real, modes.eigenvalues[k].imag],
            "kind": modes.words[k],
            "moves": {name: part for name, part in shares(lin, k + 1).items() if part >= 1e-3},
        }
        for k in range(len(shown))
    ]


def _content(lin: Any, shown: Any, paths: list[Path]) -> dict[str, Any]:
    content = {"robot": lin.robot.name, "stable": lin.stable, "stability": lin.stability, "n_modes": len(lin.damped)}
    return content | {"undamped_frequencies_hz": lin.frequencies, "modes": _rows(lin, shown), "files": paths}


def _table(lin: Any, shown: Any) -> None:
    from rich.table import Column, Table

    from sorosim.analysis.results.modes import format_shares

    about = "a steady motion" if lin.qd.any() else "an equilibrium"
    if not len(lin.damped):
        why = "every coordinate is driven" if lin.robot.ndof else "it has no joint and no rod that is free"
        out().print(f"{lin.robot.name}: nothing can move, {why}", markup=False)
        return
    what = "one mode" if len(lin.damped) == 1 else f"{len(lin.damped)} modes"
    line(f"{lin.robot.name}: {what} about {about}, {lin.stability}")
    numbers = (Column(name, justify="right") for name in ("mode", "Hz", "damping", "time constant"))
    table = Table(*numbers, "", "what moves", box=None)
    for row in _rows(lin, shown):
        ratio, constant = row["damping_ratio"], row["time_constant_s"]
        oscillates = row["kind"] in ("oscillates", "flutters", "rigid body")
        table.add_row(
            str(row["mode"]),
            f"{row['frequency_hz']:.5g}" if oscillates else "-",
            f"{ratio:.3g}" if isfinite(ratio) and oscillates else "-",
            f"{abs(constant):.3g} s" if isfinite(constant) else "-",
            row["kind"],
            format_shares(row["moves"]),
        )
    out().print(table)
    if (left := len(lin.damped) - len(shown)) > 0:
        out().print(f"and {left} more, see --number")
    known = [f"{f:.4g}" for f in lin.frequencies[: len(shown)] if f > 0.0]
    if known and lin.D.any():
        what = "without damping and gyroscopic forces" if lin.qd.any() else "without damping"
        out().print(f"natural frequencies {what}: {', '.join(known)} Hz", markup=False)


@opt.with_options(ContinuationArguments, "both ds ds_max ds_min max_points stability")
def continuation(
    robot: opt.RobotArgument,
    along: Annotated[list[str], typer.Option("--along", metavar="NAME", show_default=False, help=_ALONG)],
    to: Annotated[
        list[str], typer.Option("--to", metavar="VALUE", help="Where it goes, as in --to 20N.", show_default=False)
    ],
    begin: Annotated[
        list[str] | None,
        typer.Option("--from", metavar="VALUE", help="Where it starts, as often as --along; default: what it is."),
    ] = None,
    u: opt.InputOption = None,
    driven: opt.DrivenOption = None,
    changes: opt.SetOption = None,
    branches: Annotated[bool, opt.Flag("--branches", help="Follow what leaves the branch points, too.")] = False,
    *,
    options: dict[str, Any],
    picture: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", parser=file_with(PLOTS), help="Picture of the diagram to write; default: none."
        ),
    ] = None,
    output: opt.ResultOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Follow equilibria while something changes, past limit loads, and find where they buckle or flutter.

    Example: sorosim continuation column.yaml --along "loads.tip.wrench.force[0]" --to -40N --branches --plot column.png
    """
    import sorosim
    from sorosim.base.writing import reserved

    loaded = load_robot(robot, changes)
    inputs, motions = values(loaded, u, driven)
    compile_engine(loaded)
    parameters = _parameters(along, to, begin)
    said = summaries.continuation_summary, output, picture, json, summaries.print_continuation
    with reserved(output):
        try:
            result = sorosim.continuation(loaded, **parameters, u=inputs, driven=motions, branches=branches, **options)
        except (ConvergenceError, Interrupted) as error:
            if isinstance(error, Interrupted):
                line(str(error), err)
            if hasattr(error.partial, "points"):
                report(error.partial, *said)
            raise
        report(result, *said)


def _parameters(along: list[str], to: list[str], begin: list[str] | None) -> dict[str, Any]:
    """Arguments of `sorosim.continuation`."""
    if len(to) != len(along) or (begin is not None and len(begin) != len(along)):
        option, count = ("--to", len(to)) if len(to) != len(along) else ("--from", len(begin or []))
        raise InputError(option, "a value for each --along", f"{count} for {len(along)}")
    if len(set(along)) < len(along):
        raise InputError("--along", "every name once", "one twice")
    if len(along) == 1:
        return {"along": along[0], "to": to[0], "begin": begin[0] if begin else None}
    return {"along": dict(zip(along, zip(begin, to, strict=True) if begin else to, strict=True))}


def sweep(
    file: Annotated[str, opt.Argument(metavar="FILE", help="A sweep file (YAML).")],
    jobs: Annotated[int, opt.Count(help="Processes; -1: one for each processor that this one may use.")] = 1,
    scheduler: Annotated[
        str | None, typer.Option(metavar="tcp://HOST:PORT", help="Dask scheduler, whose workers compute.")
    ] = None,
    resume: Annotated[bool, opt.Flag("--resume", help="Go on with what there is in the result file.")] = False,
    force: Annotated[bool, opt.Flag("--force", help="Replace the result file.")] = False,
    output: Annotated[
        Path | None, opt.ResultFile(help="HDF5 file to write, .h5; default: the name of the sweep file, here.")
    ] = None,
    json: opt.JsonOption = False,
) -> None:
    """Find equilibria or motions at many points, and write the result.

    A sweep that was interrupted or killed continues with --resume; results are bitwise the same.

    Example: sorosim sweep workspace.yaml --jobs 2
    """
    import sorosim
    from sorosim.studies.sweeps.driver import check_vacant
    from sorosim.studies.sweeps.processes import prewarm

    begin, path = time.monotonic(), output or Path(f"{Path(file).stem}.h5")
    if not (resume or force):
        check_vacant(path)  # before anything is compiled
    if jobs > 1 and scheduler is None and Path(file).is_file():
        prewarm(jobs)  # the workers import while this process does
    if compile_engine(sorosim.load("pendulum")):
        begin = time.monotonic()
    try:
        with progress("sweeping") as done_so_far:

            def show(done: int, total: int, n_failed: int) -> None:
                text = "{done:.0f} of {total:.0f} points" + (f", {n_failed} failed" if n_failed else "")
                done_so_far(done, total, text)

            result = sorosim.sweep(
                file, jobs=jobs, scheduler=scheduler, out=path, resume=resume, force=force, progress=show
            )
    except Interrupted as error:
        line(str(error), err)
        raise
    wall = time.monotonic() - begin
    if json:
        as_json(summaries.sweep_summary(result) | {"file": path, "wall_time": wall})
    else:
        facts(result.robot.name, summaries.sweep_facts(result) | {"took": f"{wall:.1f} s", "written": str(path)})
    if not result.ok.any():
        raise typer.Exit(1)
