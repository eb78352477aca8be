"""The command that sweeps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from sorosim.cli.options import JsonOption
from sorosim.cli.readers import result_file, whole
from sorosim.cli.runs import compile_engine
from sorosim.cli.show import QUIET_INTERVAL, as_json, err, facts
from sorosim.errors import Interrupted

SHOWN_FAILURES = 3
MAX_TICKS = 4  # bars of progress a second

Report = Callable[[int, int, int], None]


def sweep(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A sweep file (YAML).", show_default=False)],
    jobs: Annotated[
        int,
        typer.Option(
            metavar="NUMBER", parser=whole, help="Processes; -1: one for each processor that this one may use."
        ),
    ] = 1,
    scheduler: Annotated[
        str | None, typer.Option(metavar="tcp://HOST:PORT", help="Dask scheduler, whose workers compute.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", metavar="", help="Go on with what there is in the result file.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", metavar="", help="Replace the result file.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            parser=result_file,
            help="HDF5 file to write, .h5; default: the name of the sweep file, here.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Find equilibria or motions at many points, and write the result.

    A sweep that is stopped or killed goes on with --resume, to the same bits.

    Example: sorosim sweep workspace.yaml --jobs 2
    """
    import sorosim
    from sorosim.sweeps.processes import starting

    begin, path = time.monotonic(), output or Path(f"{Path(file).stem}.h5")
    if jobs > 1 and scheduler is None and Path(file).is_file():
        starting(jobs)  # they import what they need while this process does
    if compile_engine(sorosim.load("pendulum")):
        begin = time.monotonic()
    try:
        with progress() as report:
            found = sorosim.sweep(
                file, jobs=jobs, scheduler=scheduler, out=path, resume=resume, force=force, progress=report
            )
    except Interrupted as error:
        err.print(str(error), markup=False, soft_wrap=True)
        raise
    wall = time.monotonic() - begin
    summary = sweep_summary(found) | {"file": str(path), "wall_time": wall}
    if json:
        as_json(summary)
    else:
        facts(found.robot.name, sweep_facts(found) | {"took": f"{wall:.1f} s", "written": str(path)})
    if not found.ok.any():
        raise typer.Exit(1)


def sweep_summary(found: Any) -> dict[str, Any]:
    """What a sweep comes down to, as plain data."""
    return {
        "robot": found.robot.name,
        "task": found.plan.command,
        "points": len(found),
        "parameters": dict(zip(found.names, found.units, strict=True)),
        "ok": int(found.ok.sum()),
        "failed": {str(i): why for i, why in found.failed.items()},
        "pending": int((found.status == "pending").sum()),
        "columns": list(found.columns),
        "options": dict(found.plan.options),
        "start": found.plan.start,
        "block": found.plan.block,
    }


def sweep_facts(found: Any) -> dict[str, str]:
    """The same for people."""
    over = [f"{name} [{unit}]" if unit else name for name, unit in zip(found.names, found.units, strict=True)]
    shape = "" if found.shape is None or len(found.shape) == 1 else " (" + " x ".join(map(str, found.shape)) + ")"
    rows = {"sweep": f"{found.plan.command} at {len(found)} points{shape}", "over": ", ".join(over)}
    counts = {word: int((found.status == word).sum()) for word in ("ok", "failed", "pending")}
    rows["points"] = ", ".join(f"{n} {word}" for word, n in counts.items() if n)
    if "stable" in found.columns and counts["ok"]:
        rows["stable"] = f"{int(found.columns['stable'][found.ok].sum())} of {counts['ok']}"
    for i, why in list(found.failed.items())[:SHOWN_FAILURES]:
        rows[f"point {i}"] = why
    if counts["failed"] > SHOWN_FAILURES:
        rows["..."] = f"and {counts['failed'] - SHOWN_FAILURES} more that failed"
    return rows


@contextmanager
def progress() -> Iterator[Report]:
    """A bar of points on a terminal; elsewhere a line now and then."""
    if not err.is_terminal:
        yield _Lines().tell
        return
    columns = (TextColumn("sweeping"), BarColumn(), TextColumn("{task.completed:.0f}/{task.total:.0f} points"))
    failed = TextColumn("{task.fields[failed]}")
    times = TimeRemainingColumn(), TextColumn("left")
    with Progress(*columns, failed, *times, console=err, transient=True, refresh_per_second=MAX_TICKS) as bar:
        task = bar.add_task("sweeping", total=None, failed="", visible=False)

        def show(done: int, total: int, n_failed: int) -> None:
            told = f"{n_failed} failed" if n_failed else ""
            bar.update(task, completed=done, total=total, failed=told, visible=True)

        yield show


class _Lines:
    """Progress where nobody watches."""

    def __init__(self) -> None:
        self.start = self.last = time.monotonic()
        self.begin: int | None = None  # points that were done before

    def tell(self, done: int, total: int, failed: int) -> None:
        now = time.monotonic()
        if self.begin is None:
            self.begin, self.start = done, now
        if now - self.last < QUIET_INTERVAL or done <= self.begin:
            return
        self.last = now
        left = (total - done) * (now - self.start) / (done - self.begin)
        told = f", {failed} failed" if failed else ""
        err.print(f"{done} of {total} points{told}, about {left:.0f} s left", soft_wrap=True)
