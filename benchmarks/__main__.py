"""Run the benchmarks from the repository: python -m benchmarks --help"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from benchmarks import CASES as ALL
from benchmarks import Record, measured, table, yardstick_row
from benchmarks.cases import amount
from benchmarks.context import Setting
from benchmarks.record import DONE, FAILED, SKIPPED, here
from benchmarks.report import sentence
from sorosim.base.errors import nearest
from sorosim.base.ode import one_blas_thread

CASES = {case.name: case for case in ALL}
SHOWN = 10  # of what a run lacks
FOLDER = Path(__file__).resolve().parents[1] / ".benchmarks"


def parser() -> argparse.ArgumentParser:
    """The options."""
    out = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Time sorosim on this machine. Results are written into .benchmarks/ as they come; what fails is "
        "named, the others go on, and the exit code is 1.",
    )
    out.add_argument("names", nargs="*", metavar="NAME", help="cases or studies; default: all cases")
    out.add_argument("--quick", action="store_true", help="each once, at its smallest: whether it runs, not how fast")
    out.add_argument("--all", action="store_true", help="all cases, then all studies")
    out.add_argument("--resume", action="store_true", help="measure what the last run lacks, into its file")
    out.add_argument("--verbose", action="store_true", help="tracebacks of what fails")
    out.add_argument("--list", action="store_true", help="list cases and studies")
    return out


def record_of(options: argparse.Namespace, known: Sequence[str]) -> Record:
    """The record that this run writes: a new one, or the last one where that is resumed."""
    last = Record.last(FOLDER, quick=options.quick)
    if options.resume:
        if last is None:
            parser().error("no run to resume")
        if any(last.content[key] != value for key, value in here().items()):
            parser().error(f"{last.path.name} was measured with another machine or other versions: run anew")
        return last
    if last is not None and (missing := last.missing):
        shown = "; ".join([*missing[:SHOWN], *(["..."] if len(missing) > SHOWN else [])])
        print(f"{last.path.name} lacks {len(missing)} of {len(last.content['planned'])}: {shown} "
              "(--resume measures them)", file=sys.stderr)  # fmt: skip
    for name in options.names:
        if name not in known:
            parser().error(f"names: expected the name of a case or a study, got '{name}'; {nearest(name, known)}")
    planned = known if options.all else list(dict.fromkeys(options.names)) or list(CASES)
    return Record.new(FOLDER, planned, quick=options.quick)


def run_study(record: Record, name: str, tell: Callable[[Exception], None]) -> None:
    """Run a study; one whose packages are missing is skipped."""
    from benchmarks.studies import STUDIES

    def say(line: str) -> None:
        print(line, flush=True)
        record.add_line(name, line)

    quick = record.context.quick
    setting = Setting(FOLDER / "quick" if quick else FOLDER, quick, say)
    setting.folder.mkdir(parents=True, exist_ok=True)
    print(f"\n{name}: {(STUDIES[name].__doc__ or '').splitlines()[0]}{' Quick.' if quick else ''}")
    record.begin_study(name)
    try:
        with one_blas_thread():
            say(f"yardstick {amount(median(record.context.measure_yardstick()), 's')}")
            STUDIES[name](setting)
        record.end_study(name, DONE)
    except Exception as error:
        package = error.name.partition(".")[0] if isinstance(error, ModuleNotFoundError) and error.name else ""
        if package and find_spec(package) is None:
            print(f"skipped: {package} is not installed")
            record.end_study(name, SKIPPED, package)
        else:
            tell(error)
            record.end_study(name, FAILED, sentence(error))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is named; the exit code is 1 where something failed, 2 for a wrong name."""
    os.environ["MPLBACKEND"] = "Agg"
    os.environ["PYVISTA_OFF_SCREEN"] = "true"
    if sys.platform == "linux" and not os.environ.get("DISPLAY"):
        os.environ.setdefault("VTK_DEFAULT_OPENGL_WINDOW", "vtkEGLRenderWindow")  # without a screen VTK may crash
    from benchmarks.studies import STUDIES

    options = parser().parse_args(arguments)
    if options.list:
        print("\n".join([*CASES, *(f"{name} (study)" for name in STUDIES)]))
        return 0
    record = record_of(options, [*CASES, *STUDIES])
    names = record.missing

    def tell(error: Exception) -> None:
        print(f"  failed: {sentence(error)}", file=sys.stderr)
        if options.verbose:
            traceback.print_exception(error)

    try:
        for name in names:
            if name in CASES:
                print(name, file=sys.stderr, flush=True)
                record.add(measured(CASES[name], record.context, tell))
        if record.rows:
            print(table([yardstick_row(record.context), *record.rows]), flush=True)
        for name in names:
            if name in STUDIES:
                run_study(record, name, tell)
    except KeyboardInterrupt:
        print(f"interrupted; measured so far: {record.path}", file=sys.stderr)
        return 130
    print(f"\nwritten: {record.path}")
    if failed := record.failed:
        print(f"{len(failed)} of {len(names)} failed: {'; '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
