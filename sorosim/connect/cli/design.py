"""The command that designs robots."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sorosim.base.errors import ConvergenceError
from sorosim.connect.cli import options as opt
from sorosim.connect.cli.compilation import compile_engine
from sorosim.connect.cli.console import as_json, line
from sorosim.connect.cli.parsers import PLOTS, file_with


def design(
    file: Annotated[
        Path, opt.Argument(metavar="FILE", help="A design file (YAML): cases, free, minimise, subject_to.")
    ],
    picture: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", parser=file_with(PLOTS), help="Picture to write; default: none."),
    ] = None,
    output: opt.ResultOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Find numbers of robots that make a quantity of equilibria least or greatest.

    Example: sorosim design finger_design.yaml --out best.h5
    """
    from sorosim.base.writing import reserved
    from sorosim.studies.design.design import Design
    from sorosim.studies.design.task import read_design

    task = read_design(file)
    cases = task.cases()
    for case in cases.values():
        compile_engine(case["robot"])
    with reserved(output):
        try:
            result = task.solve(cases)
        except ConvergenceError as error:
            if isinstance(error.partial, Design):
                _report(error.partial, output, picture, json)
            raise
        _report(result, output, picture, json)


def _report(result: Any, output: Path | None, picture: Path | None, json: bool) -> None:
    written = [str(path) for path in (output, picture) if path]
    if output:
        result.save(output)
    if picture:
        result.plot(picture)
    if json:
        as_json(summary(result) | {"files": written})
    else:
        line(result.summary() + (f"\nwritten: {', '.join(written)}" if written else ""))


def summary(result: Any) -> dict[str, Any]:
    """A design as plain data."""
    names = ("values", "initial", "units", "objectives", "constraints", "violations", "active", "multipliers",
             "converged", "message")  # fmt: skip
    front = None if result.front is None else result.front._asdict()
    return {"robot": result.robot.name} | {name: getattr(result, name) for name in names} | {"front": front}
