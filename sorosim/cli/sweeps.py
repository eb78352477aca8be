"""The command that sweeps."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from sorosim.cli.compilation import compile_engine
from sorosim.cli.console import as_json, err, facts, line, progress
from sorosim.cli.options import Argument, Count, Flag, JsonOption, ResultFile
from sorosim.cli.summaries import sweep_facts, sweep_summary
from sorosim.errors import Interrupted


def sweep(
    file: Annotated[str, Argument(metavar="FILE", help="A sweep file (YAML).")],
    jobs: Annotated[int, Count(help="Processes; -1: one for each processor that this one may use.")] = 1,
    scheduler: Annotated[
        str | None, typer.Option(metavar="tcp://HOST:PORT", help="Dask scheduler, whose workers compute.")
    ] = None,
    resume: Annotated[bool, Flag("--resume", help="Go on with what there is in the result file.")] = False,
    force: Annotated[bool, Flag("--force", help="Replace the result file.")] = False,
    output: Annotated[
        Path | None, ResultFile(help="HDF5 file to write, .h5; default: the name of the sweep file, here.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Find equilibria or motions at many points, and write the result.

    A sweep that was interrupted or killed continues with --resume; results are bitwise the same.

    Example: sorosim sweep workspace.yaml --jobs 2
    """
    import sorosim
    from sorosim.sweeps.processes import prewarm

    begin, path = time.monotonic(), output or Path(f"{Path(file).stem}.h5")
    if jobs > 1 and scheduler is None and Path(file).is_file():
        prewarm(jobs)  # the workers import while this process does
    if compile_engine(sorosim.load("pendulum")):
        begin = time.monotonic()
    try:
        with progress("sweeping") as report:

            def show(done: int, total: int, n_failed: int) -> None:
                report(done, total, "{done:.0f} of {total:.0f} points" + (f", {n_failed} failed" if n_failed else ""))

            result = sorosim.sweep(
                file, jobs=jobs, scheduler=scheduler, out=path, resume=resume, force=force, progress=show
            )
    except Interrupted as error:
        line(str(error), err)
        raise
    wall = time.monotonic() - begin
    if json:
        as_json(sweep_summary(result) | {"file": path, "wall_time": wall})
    else:
        facts(result.robot.name, sweep_facts(result) | {"took": f"{wall:.1f} s", "written": str(path)})
    if not result.ok.any():
        raise typer.Exit(1)
