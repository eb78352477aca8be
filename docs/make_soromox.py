"""Measure an arm beside soromox and draw it anew: PYTHON docs/make_soromox.py

PYTHON is the interpreter of an environment with sorosim and `pip install soromox`. Writes images/soromox.png and
soromox_table.inc of docs/peers.md, and all that was measured to .benchmarks/soromox.json; with --draw they are written
anew from that file. Takes half an hour to an hour. Not run by the tests.
"""

import argparse
import json
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from make_pictures import write_figure

import sorosim
from benchmarks.cases import amount
from benchmarks.context import processor
from benchmarks.soromox import DAMPINGS, ERRORS, OURS, THEIRS, Point, Study, fastest, measure, plot, summary

DOCS = Path(__file__).resolve().parent
RECORD = DOCS.parent / ".benchmarks" / "soromox.json"
PACKAGES = ("numpy", "scipy", "numba", "soromox", "jax", "diffrax", "optimistix")


def cell(point: Point | None) -> str:
    """A time, and how it came about."""
    if point is None:
        return "none"
    together = f", {point.members} together" if point.members > 1 else ""
    return f"{amount(point.seconds, 's')}: `{point.method}`, {point.setting}{together}"


def times(ratio: float) -> str:
    """A ratio, to two figures."""
    return f"{ratio:.2g}" if ratio < 100 else f"{round(ratio, -1):.0f}"


def table(note: str, found: Study) -> str:
    """For each damping and error the fastest motion of both codes."""
    text = f"{note}\n\n| damping | error at most | sorosim | soromox | soromox / sorosim |\n|---|---|---|---|---|\n"
    for damping in DAMPINGS:
        for error in ERRORS:
            ours, theirs = (fastest(found.points, code, damping, error) for code in (OURS, THEIRS))
            ratio = "" if ours is None or theirs is None else times(theirs.seconds / ours.seconds)
            text += f"| {damping:g} Pa s | {error:.0e} | {cell(ours)} | {cell(theirs)} | {ratio} |\n"
    return text


def measured() -> dict[str, Any]:
    """All that a page says of it, as JSON has it."""
    found = measure()
    versions = ", ".join([f"sorosim {sorosim.__version__}", *(f"{name} {version(name)}" for name in PACKAGES)])
    note = f"Measured on {date.today()}, {processor()} shared with other work. {versions}."
    return {"note": note, "points": found.points, "apart": list(found.apart.items())}


def main() -> None:
    """Measure or read, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", action="store_true", help="draw what was measured last")
    if not parser.parse_args().draw:
        RECORD.parent.mkdir(exist_ok=True)
        RECORD.write_text(json.dumps(measured()), encoding="utf-8")
    content = json.loads(RECORD.read_text(encoding="utf-8"))
    found = Study([Point(*row) for row in content["points"]], dict(content["apart"]))
    write_figure(plot(found.points), "soromox")
    (DOCS / "soromox_table.inc").write_text(table(content["note"], found), encoding="utf-8")
    print("\n".join(summary(found)))


if __name__ == "__main__":
    main()
