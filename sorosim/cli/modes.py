"""The command that finds natural frequencies and modes."""

from __future__ import annotations

from contextlib import ExitStack
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from sorosim.cli import options as opt
from sorosim.cli.compilation import compile_engine
from sorosim.cli.console import as_json, line, out
from sorosim.cli.inputs import values
from sorosim.cli.parsers import FILMS, PLOTS, new_file, whole
from sorosim.cli.sources import load_robot
from sorosim.errors import ConvergenceError, InputError

_RATE = (
    "Constant rate of a driven joint, as in --rate 'hub=30 rad/s'; may come again. Modes are about the steady motion."
)
_OUT = (
    ".npz, .mat, .h5 or .mtx: matrices and modes; .png, .pdf or .svg: shapes; .mp4 or .gif: the film of --movie; may "
    "come again; default: none."
)


def modes(
    robot: opt.RobotArgument,
    u: opt.InputOption = None,
    driven: opt.DrivenOption = None,
    rates: Annotated[list[str] | None, opt.Assignment("--rate", help=_RATE)] = None,
    changes: opt.SetOption = None,
    count: Annotated[int, opt.Count("--number", help="How many modes are listed; up to 24 of them are drawn.")] = 10,
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
    from sorosim.io.linear import SUFFIXES
    from sorosim.io.writing import reserved

    if count < 1:
        raise InputError("--number", "a number of modes greater than 0", f"{count}")
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
                    out.print(str(file))


def _linearize(robot: Any, inputs: Any, driven: Any, rates: list[str] | None) -> Any:
    """The motion about an equilibrium, or a steady motion."""
    import sorosim
    from sorosim.dynamics.arguments import by_coordinate

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
    from sorosim.results.modes import shares

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
    from sorosim.results.modes import format_shares

    about = "a steady motion" if lin.qd.any() else "an equilibrium"
    if not len(lin.damped):
        why = "every coordinate is driven" if lin.robot.ndof else "it has no joint and no rod that is free"
        out.print(f"{lin.robot.name}: nothing can move, {why}", markup=False)
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
    out.print(table)
    if (left := len(lin.damped) - len(shown)) > 0:
        out.print(f"and {left} more, see --number")
    known = [f"{f:.4g}" for f in lin.frequencies[: len(shown)] if f > 0.0]
    if known and lin.D.any():
        what = "without damping and gyroscopic forces" if lin.qd.any() else "without damping"
        out.print(f"natural frequencies {what}: {', '.join(known)} Hz", markup=False)
