"""Write the table of docs/performance.md anew, from the last whole `make bench`: python docs/make_performance.py

On a machine with other work the medians are those of that work: quit it first.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks import CASES
from benchmarks.cases import REFERENCE_YARDSTICK, amount

DOCS = Path(__file__).resolve().parent
HEADER = "| | median | at 17 us | target | met | paper | paper / ours | remark |\n|---|---|---|---|---|---|---|---|\n"


def row_of(row: dict[str, Any]) -> str:
    """A line of the table."""
    median, scaled = amount(row["median"], row["unit"]), amount(row["scaled"], "s")
    met = {None: "", True: "yes", False: "**no**"}[row["met"]]
    ratio = "" if row["ratio"] is None else f"{row['ratio']:.3g}"
    cells = [row["name"], median, scaled, row["target"], met, amount(row["paper"], "s"), ratio, row["remark"]]
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |\n"


def table(content: dict[str, Any]) -> str:
    """When and where it was measured, and all rows."""
    when = datetime.fromisoformat(content["time"]).date()
    versions = ", ".join(f"{name} {version}" for name, version in content["versions"].items())
    yardstick = amount(content["rows"][0]["median"], "s")
    where = f"Measured on {when}, {content['machine']}, Python {content['python']}, {versions}; yardstick {yardstick}, "
    where += f"where the targets are for {amount(REFERENCE_YARDSTICK, 's')}.\n\n"
    return where + HEADER + "".join(map(row_of, content["rows"]))


def last_whole(folder: Path) -> dict[str, Any]:
    """The last run of a folder in which no case is missing; ends the program where there is none."""
    wanted = {case.name for case in CASES}
    for path in sorted(folder.glob("comparison-*.json"), reverse=True):
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if wanted <= {row["name"] for row in content["rows"] if not row.get("failed")}:
            return content
    raise SystemExit(f"no run in {folder} has all cases: make bench, or python -m benchmarks --resume")


if __name__ == "__main__":
    text = table(last_whole(DOCS.parent / ".benchmarks"))
    (DOCS / "performance_table.inc").write_text(text, encoding="utf-8")
