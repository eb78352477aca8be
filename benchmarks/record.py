"""What a run has measured, on disk: written after each result, so that a run which ends early leaves the others."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.context import Context, processor
from benchmarks.report import Row, yardstick_row
from sorosim.base.writing import write_whole

LIBRARIES = ("sorosim", "numpy", "scipy", "numba", "scikit-sundae")
DONE, SKIPPED, FAILED = "done", "skipped", "failed"


def here() -> dict[str, Any]:
    """The machine and the versions of this process."""
    versions = {name: version(name) for name in LIBRARIES}
    machine = {"machine": processor(), "platform": platform.platform(), "python": platform.python_version()}
    return {**machine, "versions": versions}


class Record:
    """Rows of cases and lines of studies, in a file comparison-TIME.json, or quick-TIME.json of a quick run."""

    def __init__(self, path: Path, content: dict[str, Any]) -> None:
        self.path, self.content = path, content
        self.rows = [Row(**row) for row in content["rows"][1:] if not row["failed"]]
        self.context = Context(quick=content["quick"], yardsticks=list(content["yardsticks"]))

    @classmethod
    def new(cls, folder: Path, planned: Sequence[str], *, quick: bool = False) -> Record:
        """Nothing measured yet of the cases and studies of these names."""
        now = datetime.now(UTC)
        content = {"time": now.isoformat(), **here(), "quick": quick, "planned": list(planned), "yardsticks": [],
                   "rows": [], "studies": {}}  # fmt: skip
        return cls(folder / f"{_kind(quick)}-{now:%Y%m%dT%H%M%S%f}.json", content)

    @classmethod
    def last(cls, folder: Path, *, quick: bool = False) -> Record | None:
        """The last one of a folder; older files, which do not say what was planned, are none."""
        for path in sorted(folder.glob(f"{_kind(quick)}-*.json"), reverse=True):
            content = json.loads(path.read_text(encoding="utf-8"))
            if "planned" in content:
                return cls(path, content)
        return None

    @property
    def missing(self) -> list[str]:
        """What was planned and has no result, since the run ended before, or since it failed."""
        ended = [name for name, study in self.content["studies"].items() if study["state"] in (DONE, SKIPPED)]
        found = {*ended, *(row.name for row in self.rows if not row.failed)}
        return [name for name in self.content["planned"] if name not in found]

    @property
    def failed(self) -> dict[str, str]:
        """What failed, and the error in a sentence."""
        studies = self.content["studies"].items()
        return {
            **{row.name: row.failed for row in self.rows if row.failed},
            **{name: study["words"] for name, study in studies if study["state"] == FAILED},
        }

    def add(self, row: Row) -> None:
        """Add the row of a case."""
        self.rows = sorted((*self.rows, row), key=lambda one: self.content["planned"].index(one.name))
        self.write()

    def add_line(self, study: str, line: str) -> None:
        """Add a line of a study."""
        self.content["studies"][study]["lines"].append(line)
        self.write()

    def begin_study(self, name: str) -> None:
        """A study begins, for the first time or anew."""
        self.content["studies"][name] = {"lines": [], "state": "began", "words": ""}
        self.write()

    def end_study(self, name: str, state: str, words: str = "") -> None:
        """Say how a study ended, and why so."""
        self.content["studies"][name] |= {"state": state, "words": words}
        self.write()

    def write(self) -> None:
        """Write all there is; the file is whole at any time."""
        rows = [yardstick_row(self.context), *self.rows]
        self.content |= {"yardsticks": self.context.yardsticks, "rows": [row._asdict() for row in rows]}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, f"{json.dumps(self.content, indent=1)}\n".encode())


def _kind(quick: bool) -> str:
    return "quick" if quick else "comparison"
