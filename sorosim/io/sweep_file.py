"""Sweep files: read, checked against their schema, every part with its place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from sorosim.errors import FileError
from sorosim.io.nodes import Places, nodes_of, plain
from sorosim.io.schema_errors import problems_of
from sorosim.io.schema_sweep import SweepFile
from sorosim.io.yaml_reader import read_file
from sorosim.problems import Problem, failure, plain_data, shown

FIRST_LINE = "sorosim_sweep: 1"


class SweepDocument(NamedTuple):
    """A sweep as it was written."""

    spec: SweepFile
    data: Any  # as plain data
    places: Places
    folder: Path  # where relative paths begin


def read_sweep(path: str | Path) -> SweepDocument:
    """Read and check a sweep file.

    Raises
    ------
    FileError
        It cannot be read, or what it says is wrong: every mistake on a line of its own, with line and column.
    """
    document = read_file(path, what=f"a sweep, whose first line is '{FIRST_LINE}'")
    data, places = plain(nodes_of(document.data, str(path), document.positions))
    return SweepDocument(_checked(data, places), data, places, Path(path).parent)


def sweep_of(given: Mapping[str, Any]) -> SweepDocument:
    """Check a sweep that is given as data.

    Raises
    ------
    ModelError
        What it says is wrong.
    """
    data, places = plain(nodes_of(plain_data(given), ""))
    return SweepDocument(_checked(data, places), data, places, Path())


def _checked(data: Any, places: Places) -> SweepFile:
    file = places.place(()).file
    if not isinstance(data, dict) or "sorosim_sweep" not in data:
        got = "a robot's file" if isinstance(data, dict) and "sorosim" in data else shown(data)
        raise FileError(file or "sweep", f"expected a sweep, whose first line is '{FIRST_LINE}', got {got}", 1, 1)
    try:
        return SweepFile.model_validate(data)
    except ValidationError as error:
        raise failure(problems_of(error.errors(include_url=False), SweepFile), places) from None


def wrong(problems: list[Problem], document: SweepDocument) -> Exception:
    """One error for what else is wrong with a sweep."""
    return failure(problems, document.places)
