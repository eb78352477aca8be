"""The command of optimal control."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from sorosim.connect.cli import options as opt
from sorosim.connect.cli.compilation import compile_engine
from sorosim.connect.cli.console import as_json, line
from sorosim.connect.cli.sources import load_robot


def optimise(
    robot: opt.RobotArgument,
    task: Annotated[Path, opt.Argument(metavar="TASK", help="A task file (YAML): horizon, goal, bounds, cost.")],
    changes: opt.SetOption = None,
    output: opt.ResultOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Find inputs of least cost for a task.

    Example: sorosim optimise swing_up_cart_pole swing_up.yaml --out oc.h5
    """
    from sorosim.base.writing import reserved
    from sorosim.studies.control.task import read_task

    loaded, wanted = load_robot(robot, changes), read_task(task)
    compile_engine(loaded)
    with reserved(output):
        result = wanted.solve(loaded)
        if output:
            result.save(output)
    if json:
        as_json(summary(result) | {"file": output})
    else:
        line(result.summary() + (f"\nwritten: {output}" if output else ""))


def summary(result: Any) -> dict[str, Any]:
    """An optimal motion as plain data."""
    names = ("cost", "converged", "iterations", "message", "miss", "dt")
    content = {"robot": result.robot.name} | {name: getattr(result, name) for name in names}
    largest = dict(zip(result.robot.actuator_names, abs(result.u).max(axis=0).tolist(), strict=True))
    return content | {"largest_inputs": largest, "q_end": result.q[-1], "hold": result.gains.hold}
