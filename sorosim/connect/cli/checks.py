"""Commands that look a robot over and time the engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from sorosim.base.errors import InputError
from sorosim.connect.cli.compilation import compile_engine
from sorosim.connect.cli.console import QUIET_INTERVAL, as_json, out, status_lines
from sorosim.connect.cli.options import Flag, JsonOption, RobotArgument, SetOption
from sorosim.connect.cli.sources import load_robot

MARKS = {"ok": "[green]ok[/]", "note": "[cyan]note[/]", "odd": "[yellow]odd[/]", "wrong": "[red]wrong[/]"}


def check(robot: RobotArgument, changes: SetOption = None, json: JsonOption = False) -> None:
    """Check a robot before it runs: units, masses, loops, actuators, accuracy, and its equilibrium.

    Example: sorosim check my_robot.yaml
    """
    from rich.markup import escape
    from rich.table import Table

    from sorosim.studies.doctor import LEVELS, NOTHING_ODD, WRONG, examine

    loaded = load_robot(robot, changes)
    compile_engine(loaded)
    with status_lines(QUIET_INTERVAL) as status:
        findings = examine(loaded, progress=lambda name, k, n: status(f"checking {loaded.name}: {name}, {k} of {n}"))
    counts = {level: sum(finding.level == level for finding in findings) for level in LEVELS}
    if json:
        as_json({"robot": loaded.name, "counts": counts, "findings": [finding._asdict() for finding in findings]})
    else:
        table = Table(title=loaded.summary(), show_header=False, title_justify="left", box=None, title_style="")
        passed = [finding.where for finding in findings if finding.what == NOTHING_ODD]
        remarks = [finding for finding in findings if finding.what != NOTHING_ODD]
        alike: dict[tuple[str, str], list[str]] = {}  # forty rods of one kind are one line
        for finding in sorted(remarks, key=lambda finding: -LEVELS.index(finding.level)):
            text = finding.what + (f"; {finding.remedy}" if finding.remedy else "")
            alike.setdefault((finding.level, text), []).append(finding.where)
        for (level, text), places in alike.items():
            few = len(places) == 1 or level == "ok"  # what is as it should be is told of few parts
            where = ", ".join(places) if few else f"{places[0]} and {len(places) - 1} more"
            table.add_row(MARKS[level], escape(where), escape(text))
        if passed:
            table.add_row(MARKS["ok"], "", f"{NOTHING_ODD}: {', '.join(passed)}")
        out().print(table)
        out().print(", ".join(f"{n} {level}" for level, n in counts.items() if n))
    if counts[WRONG]:
        raise typer.Exit(1)


def bench(quick: Annotated[bool, Flag("--quick", help="Each once and small: whether it runs.")] = False) -> None:
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
