"""Run the benchmarks from the repository: python -m benchmarks --help"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks import CASES, record, run, table
from sorosim.base.errors import InputError

FOLDER = Path(__file__).resolve().parents[1] / ".benchmarks"


def parser() -> argparse.ArgumentParser:
    """The options."""
    out = argparse.ArgumentParser(prog="python -m benchmarks", description="Time sorosim on this machine.")
    out.add_argument("names", nargs="*", metavar="NAME", help="cases or studies; default: all cases")
    out.add_argument("--quick", action="store_true", help="fewer rounds, no cold compilation")
    out.add_argument("--all", action="store_true", help="all cases, then all studies")
    out.add_argument("--record", action="store_true", help="write the rows to .benchmarks/comparison-TIME.json")
    out.add_argument("--list", action="store_true", help="list cases and studies")
    return out


def main() -> None:
    """Time what is named; a wrong name is one line and exit code 2."""
    os.environ["MPLBACKEND"] = "Agg"
    os.environ["PYVISTA_OFF_SCREEN"] = "true"
    if sys.platform == "linux" and not os.environ.get("DISPLAY"):
        os.environ.setdefault("VTK_DEFAULT_OPENGL_WINDOW", "vtkEGLRenderWindow")  # without a screen VTK may crash
    from benchmarks.studies import STUDIES

    options = parser().parse_args()
    if options.list:
        print("\n".join([*(case.name for case in CASES), *(f"{name} (study)" for name in STUDIES)]))
        return
    studies = list(STUDIES) if options.all else [name for name in options.names if name in STUDIES]
    names = [name for name in options.names if name not in STUDIES] or None
    if names or not studies or options.all:
        try:
            rows = run(options.quick, names, lambda name: print(name, file=sys.stderr, flush=True))
        except InputError as error:
            parser().error(str(error))
        print(table(rows))
        if options.record:
            print(f"\nwritten: {record(rows, FOLDER)}")
    for name in studies:
        FOLDER.mkdir(exist_ok=True)
        print(f"\n{name}: {STUDIES[name].__doc__}")
        STUDIES[name](FOLDER)


if __name__ == "__main__":
    main()
