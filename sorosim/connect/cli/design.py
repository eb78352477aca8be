"""The command that designs robots."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from sorosim.connect.cli import options as opt
from sorosim.connect.cli.compilation import compile_engine
from sorosim.connect.cli.console import report_of


def design(
    file: Annotated[
        Path, opt.Argument(metavar="FILE", help="A design file (YAML): cases, free, minimise, subject_to.")
    ],
    picture: opt.PlotOption = None,
    output: opt.ResultOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Find numbers of robots that make a quantity of equilibria or motions least or greatest.

    Example: sorosim design finger_design.yaml --out best.h5
    """
    from sorosim.studies.design.design import Design
    from sorosim.studies.design.task import read_design

    task = read_design(file)
    cases = task.cases()
    for case in cases.values():
        compile_engine(case["robot"])
    report_of(lambda: task.solve(cases), Design, summary, output, picture, json)


def summary(result: Any) -> dict[str, Any]:
    """A design as plain data."""
    names = ("values", "initial", "units", "objectives", "constraints", "violations", "active", "multipliers",
             "converged", "message")  # fmt: skip
    front = None if result.front is None else result.front._asdict()
    return {"robot": result.robot.name} | {name: getattr(result, name) for name in names} | {"front": front}
