"""Write the tables of docs/validation.md anew: make validation, make strangers

Reads what `pytest tests/validation --agreements FILE` wrote, and of other processors machines.json, from
tests/machines.py: python docs/make_validation.py FILE TABLE
"""

import json
import sys
from ast import get_docstring, parse
from collections import defaultdict
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
HEADER = (
    "| quantity | reference | ours | deviation < tolerance | worst ratio over processors | where from |\n"
    "|---|---|---|---|---|---|\n"
)


def number(value: float, apart: float) -> str:
    """A number with the digits that show a difference, at most fifteen."""
    for digits in range(4, 15):
        if abs(float(f"{value:.{digits}g}") - value) <= 0.1 * apart:
            break
    return f"{value:.{digits}g}"


def row_of(rows: list[dict[str, Any]], ratios: dict[str, float]) -> str:
    """The worst of the comparisons of one quantity."""
    row = max(rows, key=lambda one: one["deviation"] / one["tolerance"])
    unit = f" {row['unit']}" if row["unit"] else ""
    apart = max(abs(row["ours"] - row["reference"]), 1e-15 * abs(row["reference"]))
    tolerance = f"{row['tolerance']:.1e}" + (" relative" if row["relative"] else unit)
    passed = all(one["passed"] for one in rows)
    verdict = f"{row['deviation']:.1e} < {tolerance}" if passed else f"**failed**: {row['deviation']:.1e} > {tolerance}"
    reference, ours = (number(row[key], apart) + unit for key in ("reference", "ours"))
    times = f" ({len(rows)} cases)" if len(rows) > 1 else ""
    ratio = ratios.get(row["quantity"])
    worst = "not measured" if ratio is None else f"{ratio:.2g}" + (f": {row['bound']}" if row["bound"] else "")
    return f"| {row['quantity']}{times} | {reference} | {ours} | {verdict} | {worst} | {row['source']} |\n"


def table(rows: list[dict[str, Any]], machines: dict[str, Any]) -> str:
    """All comparisons, by the files of tests, beside the worst of deviation over tolerance on several processors."""
    files: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        files[row["file"]][row["quantity"]].append(row)
    out = []
    for file, quantities in sorted(files.items()):
        title = (get_docstring(parse((DOCS.parent / file).read_text(encoding="utf-8"))) or file).splitlines()[0]
        out.append(f"## {title.rstrip('.')}\n\n`{file}`\n\n{HEADER}")
        out[-1] += "".join(row_of(one, machines["ratios"].get(file, {})) for one in quantities.values())
    cases, failed = len(rows), sum(not row["passed"] for row in rows)
    quantities = sum(map(len, files.values()))
    what = f"{quantities} quantities in {cases} cases, {failed or 'none'} beyond its tolerance.\n\n"
    what += f"Processors: {', '.join(machines['processors'])}; the host is {machines['host']}.\n\n"
    return what + "\n".join(out)


if __name__ == "__main__":
    found = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    processors = json.loads((DOCS / "machines.json").read_text(encoding="utf-8"))
    (DOCS / sys.argv[2]).write_text(table(found, processors), encoding="utf-8")
