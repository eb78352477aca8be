"""The command that follows equilibria."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sorosim.cli import options as opt
from sorosim.cli.compilation import compile_engine
from sorosim.cli.console import as_json, err, line
from sorosim.cli.inputs import values
from sorosim.cli.parsers import PLOTS, file_with
from sorosim.cli.sources import load_robot
from sorosim.cli.summaries import continuation_summary, print_continuation
from sorosim.errors import ConvergenceError, InputError, Interrupted
from sorosim.options import ContinuationArguments

_ALONG = (
    "What changes: u.cable1, driven.base, or the path of a number in the file, as in materials.steel.young; may come "
    "again, each with its --to: then the parameter goes from 0 to 1."
)


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
    """  # fmt: skip
    import sorosim
    from sorosim.io.writing import reserved

    loaded = load_robot(robot, changes)
    inputs, motions = values(loaded, u, driven)
    compile_engine(loaded)
    parameters = _parameters(along, to, begin)
    with reserved(output):
        try:
            result = sorosim.continuation(loaded, **parameters, u=inputs, driven=motions, branches=branches, **options)
        except (ConvergenceError, Interrupted) as error:
            if isinstance(error, Interrupted):
                line(str(error), err)
            if hasattr(error.partial, "points"):
                _report(error.partial, output, picture, json)
            raise
        _report(result, output, picture, json)


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


def _report(result: Any, output: Path | None, picture: Path | None, json: bool) -> None:
    written = [str(path) for path in (output, picture) if path]
    if output:
        result.save(output)
    if picture:
        result.plot(picture)
    if json:
        as_json({**continuation_summary(result), "files": written})
    else:
        print_continuation(result, {"written": ", ".join(written)} if written else {})
