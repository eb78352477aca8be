"""The command that follows equilibria."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from sorosim.cli.options import DrivenOption, InputOption, JsonOption, ResultOption, RobotArgument, SetOption
from sorosim.cli.prescribed import values
from sorosim.cli.readers import PLOTS, file_of, number, whole
from sorosim.cli.runs import compile_engine, load_changed
from sorosim.cli.show import as_json, err, facts, out
from sorosim.errors import ConvergenceError, InputError, Interrupted

WORDS = {"fold": "fold", "branch": "branch point", "flutter": "flutter", "stability": "stability"}


def continuation(
    robot: RobotArgument,
    along: Annotated[
        list[str],
        typer.Option(
            "--along",
            metavar="NAME",
            show_default=False,
            help="What changes: u.cable1, driven.base, or the path of a number in the file, as in "
            "materials.steel.young; may come again, each with its --to: then the parameter goes from 0 to 1.",
        ),
    ],
    to: Annotated[
        list[str], typer.Option("--to", metavar="VALUE", help="Where it goes, as in --to 20N.", show_default=False)
    ],
    begin: Annotated[
        list[str] | None,
        typer.Option("--from", metavar="VALUE", help="Where it starts, as often as --along; default: what it is."),
    ] = None,
    u: InputOption = None,
    driven: DrivenOption = None,
    changes: SetOption = None,
    branches: Annotated[
        bool, typer.Option("--branches", metavar="", help="Follow what leaves the branch points, too.")
    ] = False,
    both: Annotated[bool, typer.Option("--both", metavar="", help="Go both ways from the start.")] = False,
    step: Annotated[
        float,
        typer.Option(metavar="NUMBER", parser=number, help="First step along the curve, whose length is about 1."),
    ] = 0.02,
    max_step: Annotated[float, typer.Option(metavar="NUMBER", parser=number, help="Longest step.")] = 0.1,
    max_points: Annotated[
        int,
        typer.Option(metavar="NUMBER", parser=whole, help="How many equilibria at most, each way and each branch."),
    ] = 500,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", parser=file_of(PLOTS), help="Picture of the diagram to write; default: none."
        ),
    ] = None,
    output: ResultOption = None,
    json: JsonOption = False,
) -> None:
    """Follow equilibria while something changes, past limit loads, and find where they buckle or flutter.

    Example: sorosim continuation column.yaml --along "loads.tip.wrench.force[0]" --to -40N --branches --plot column.png
    """  # fmt: skip
    import sorosim
    from sorosim.io.writing import reserved

    loaded = load_changed(robot, changes)
    inputs, held = values(loaded, u, driven)
    compile_engine(loaded)
    way = _way(along, to, begin)
    with reserved(output):
        try:
            found = sorosim.continuation(
                loaded, **way, u=inputs, driven=held, branches=branches, both=both, step=step, max_step=max_step,
                max_points=max_points,
            )  # fmt: skip
        except (ConvergenceError, Interrupted) as error:
            if isinstance(error, Interrupted):
                err.print(str(error), markup=False, soft_wrap=True)
            if hasattr(error.partial, "points"):
                _report(error.partial, output, picture, json)
            raise
        _report(found, output, picture, json)


def _way(along: list[str], to: list[str], begin: list[str] | None) -> dict[str, Any]:
    """Arguments of `sorosim.continuation`."""
    if len(to) != len(along) or (begin is not None and len(begin) != len(along)):
        option, count = ("--to", len(to)) if len(to) != len(along) else ("--from", len(begin or []))
        raise InputError(option, "a value for each --along", f"{count} for {len(along)}")
    if len(set(along)) < len(along):
        raise InputError("--along", "every name once", "one twice")
    if len(along) == 1:
        return {"along": along[0], "to": to[0], "begin": begin[0] if begin else None}
    return {"along": dict(zip(along, zip(begin, to, strict=True) if begin else to, strict=True))}


def _report(found: Any, output: Path | None, picture: Path | None, json: bool) -> None:
    written = []
    if output:
        found.save(output)
        written.append(str(output))
    if picture:
        found.plot(picture)
        written.append(str(picture))
    if json:
        as_json({**curve_summary(found), "files": written})
        return
    curve_facts(found, {"written": ", ".join(written)} if written else {})


def curve_summary(found: Any) -> dict[str, Any]:
    """What a continuation comes down to, as plain data."""
    curves = [
        {"n": len(curve), "from": float(curve.parameter[0]), "to": float(curve.parameter[-1]),
         "stable": curve.kind.count("stable"), "message": curve.message, "complete": curve.complete}
        for curve in found.curves()
    ]  # fmt: skip
    return {
        "robot": found.robot.name,
        "along": found.along,
        "units": list(found.units.values()),
        "curves": curves,
        "points": found.table(),
    }


def curve_facts(found: Any, more: dict[str, str]) -> None:
    """The same for people, with a table of special points."""
    rows = {}
    for k, curve in enumerate(found.curves()):
        way = f"{curve.parameter[0]:.6g} to {curve.parameter[-1]:.6g}"
        n = f"{len(curve)} equilibria, {curve.kind.count('stable')} of them stable"
        rows["curve 0" if k == 0 else f"branch {k}"] = f"{way}: {n}; {curve.message}"
    along = [f"{name} [{unit}]" if unit else name for name, unit in found.units.items()]
    facts(found.robot.name, {"along": ", ".join(along), **rows, **more})
    _table(found.table())
    if any(not curve.complete for curve in found.curves()):
        err.print("not all curves end where they should: try more points, or another step", soft_wrap=True)


def _table(points: list[dict[str, Any]]) -> None:
    """Special points of curves."""
    if not points:
        out.print("no special points")
        return
    table = Table("curve", "point", "parameter", "grow before", "after", "", title_justify="left", box=None)
    for point in points:
        frequency = f"{point['frequency']:.6g} Hz" if "frequency" in point else ""
        grow = [str(point.get(name, "")) for name in ("unstable_before", "unstable_after")]
        table.add_row(str(point["curve"]), WORDS[point["kind"]], f"{point['parameter']:.8g}", *grow, frequency)
    out.print(table)
