"""From the block `points` of a sweep to its points."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import numpy as np

from sorosim.base.errors import FileError, InputError, ModelError, PlugInError
from sorosim.base.problems import Collector, Path, shown
from sorosim.base.signals import csv_rows
from sorosim.files.include import BLOCKS
from sorosim.files.sweep_file import MAX_POINTS, Corners, Sample, Span, SweptPoints
from sorosim.mechanics.engine.parameter import DRIVEN, INPUT
from sorosim.mechanics.robot import Robot
from sorosim.studies.sweeps.parameters import Varied, parameter
from sorosim.studies.sweeps.samples import Samples, Value, grid, latin_hypercube, listed, path, sobol, uniform

SAMPLERS: dict[str, Callable[[Mapping[str, tuple[float, float]], int, int], Samples]] = {
    "random": uniform, "latin_hypercube": latin_hypercube, "sobol": sobol,
}  # fmt: skip


class Points(NamedTuple):
    """Points, what varies in them, its units, and its values as they were written (all, or those that bound them)."""

    samples: Samples
    parameters: list[Varied]
    units: tuple[str, ...]
    written: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class PointReader:
    """Reads points for a robot; `timed`: inputs may be expressions of t. `folder` is where relative paths begin."""

    collector: Collector
    robot: Robot
    timed: bool
    folder: FilePath

    def read(self, block: SweptPoints) -> Points | None:
        """The points; None if something is wrong with them, which is noted."""
        kind, chosen = block.kind, block.chosen
        kind = "list" if kind == "rows" else kind
        at: Path = ("points", kind)
        if kind == "grid":
            return self._grid(at, chosen)
        if isinstance(chosen, Sample):
            return self._sampled(at, kind, chosen)
        if isinstance(chosen, Corners):
            return self._path(at, chosen)
        return self._csv(at, chosen) if kind == "csv" else self._list(at, chosen)

    def _grid(self, at: Path, axes: Mapping[str, Any]) -> Points | None:
        parameters = self._parameters(at, axes)
        columns: dict[str, list[Value]] = {}
        for one in parameters:
            entry = axes[one.name]
            if isinstance(entry, Span):
                ends = self._read((*at, one.name), one.numeric, {"from": entry.start, "to": entry.to})
                if len(ends) == 2:
                    columns[one.name] = np.linspace(ends[0], ends[1], entry.n).tolist()
            else:
                if not entry:
                    self.collector.add((*at, one.name), "a list of values, or {from, to, n}", "an empty list")
                columns[one.name] = self._read((*at, one.name), one.read, dict(enumerate(entry)))
        self._check_number(at, math.prod(map(len, columns.values())), "fewer values, or a random sample")
        if len(columns) < len(axes) or self.collector.problems:
            return None
        written = [[entry.start, entry.to] if isinstance(entry, Span) else list(entry) for entry in axes.values()]
        return self._points(grid(columns), parameters, written)

    def _sampled(self, at: Path, kind: str, block: Sample) -> Points | None:
        at = (*at, "over")
        parameters = self._parameters(at, block.over)
        bounds: dict[str, tuple[float, float]] = {}
        for one in parameters:
            ends = self._read((*at, one.name), one.numeric, dict(enumerate(block.over[one.name])))
            if len(ends) < 2:
                continue
            low, high = map(float, ends)
            if low > high:
                self.collector.add((*at, one.name), "the least value before the greatest", f"{low:g} and {high:g}")
            bounds[one.name] = low, high
        if len(bounds) < len(block.over) or self.collector.problems:
            return None
        return self._points(
            SAMPLERS[kind](bounds, block.n, block.seed), parameters, [list(x) for x in block.over.values()]
        )

    def _path(self, at: Path, block: Corners) -> Points | None:
        at = (*at, "through")
        parameters = self._parameters(at, block.through)
        columns: dict[str, list[float]] = {}
        for one in parameters:
            entry = block.through[one.name]
            columns[one.name] = self._read((*at, one.name), one.numeric, dict(enumerate(entry)))
            first = len(block.through[parameters[0].name])
            if len(entry) < 2 or len(entry) != first:
                expected = "two corners or more" if len(entry) < 2 else f"as many corners as the others, {first}"
                self.collector.add((*at, one.name), expected, f"{len(entry)}")
        self._check_number(at, (max(map(len, columns.values()), default=1) - 1) * block.steps + 1, "fewer steps")
        if len(columns) < len(block.through) or self.collector.problems:
            return None
        return self._points(path(columns, block.steps), parameters, list(block.through.values()))

    def _list(self, at: Path, rows: Sequence[Mapping[str, object]]) -> Points | None:
        if not rows:
            self.collector.add(at, "one point or more", "none")
            return None
        self._check_number(at, len(rows), "several sweeps")
        names = list(rows[0])
        for i, row in enumerate(rows):
            if set(row) != set(names):
                odd = sorted(set(row) ^ set(names))[0]
                self.collector.add(
                    (*at, i), "the same names in every point, " + ", ".join(names), f"'{odd}' in some only"
                )
        if self.collector.problems:
            return None
        parameters = self._parameters((*at, 0), rows[0])
        if len(parameters) < len(names):
            return None
        values = [
            [x for one in parameters for x in self._read((*at, i), one.read, {one.name: row[one.name]})]
            for i, row in enumerate(rows)
        ]
        if self.collector.problems:
            return None
        return self._points(listed(names, values), parameters, [[row[name] for row in rows] for name in names])

    def _csv(self, at: Path, name: str) -> Points | None:
        """Points of a table whose first row are the names."""
        try:
            rows = csv_rows(self.folder / name)
        except FileError as error:
            self.collector.add(at, "a CSV file", str(error), "relative paths begin in the folder of the sweep file")
            return None
        if len(rows) < 2:
            self.collector.add(at, "a row of names and a row for each point", f"{len(rows)} rows in {shown(name)}")
            return None
        if not self._check_number(at, len(rows) - 1, "several sweeps"):
            return None
        names = [cell.strip() for cell in rows[0][1]]
        if "" in names:
            got = f"none over column {names.index('') + 1} of {shown(name)}"
            self.collector.add(at, "names in the first row", got)
            return None
        for i, written_name in enumerate(names, 1):
            if not self._is_likely(written_name):  # it may be a line of any file, and is not told
                got = f"another text over column {i} of {shown(name)}"
                self.collector.add(at, "names in the first row: u.NAME, driven.NAME, or paths in the robot's file", got)
                return None
        parameters = self._parameters(at, names, at_key=False)
        table: list[list[Value]] = []
        for line, cells in rows[1:]:
            if len(cells) != len(names):
                self.collector.add(at, f"{len(names)} columns", f"{len(cells)} in line {line} of {shown(name)}")
                break
            row: list[Value] = []
            for one, cell in zip(parameters, cells, strict=False):
                try:
                    row.append(one.read(_number(cell)))
                except (ModelError, InputError, PlugInError) as error:
                    got = f"{error.got} in line {line} of {shown(name)}, column {shown(one.name)}"
                    self.collector.add(at, error.expected, got, error.hint)
            table.append(row)
        if self.collector.problems:
            return None
        written = [list(column) for column in zip(*(cells for _, cells in rows[1:]), strict=True)]
        return self._points(listed(names, table), parameters, written)

    # -- parts

    def _is_likely(self, name: str) -> bool:
        """Whether a text begins as the name of a parameter does, or is what one would call an input or a link."""
        first = name.replace("[", ".").partition(".")[0]
        known = (INPUT, DRIVEN, *BLOCKS, *self.robot.actuator_names, *(link.name for link in self.robot.links))
        return first in known

    def _check_number(self, at: Path, n: int, hint: str) -> bool:
        if n > MAX_POINTS:
            self.collector.add(at, f"at most {MAX_POINTS} points", f"{n:.4g}", hint)
        return n <= MAX_POINTS

    def _parameters(self, at: Path, names: Sequence[str] | Mapping[str, object], at_key: bool = True) -> list[Varied]:
        if not names:
            self.collector.add(at, "something that varies, such as u.cable1", "nothing")
        if len(set(names)) < len(names):
            self.collector.add(at, "names that differ", ", ".join(map(str, names))[:60])
        found = []
        for name in names:
            place, read = (*at, name) if at_key else at, partial(parameter, self.robot, name, self.timed)
            if (one := self.collector.attempt(place, read, at_key=at_key)) is not None:
                found.append(one)
        return found

    def _read(self, at: Path, read: Callable[[Any], Any], given: Mapping[Any, Any]) -> list[Any]:
        """Values by their keys below a place, without those that are wrong."""
        found = (self.collector.attempt((*at, name), partial(read, value)) for name, value in given.items())
        return [value for value in found if value is not None]

    def _points(self, samples: Samples, parameters: list[Varied], written: Sequence[Sequence[object]]) -> Points:
        units = tuple(one.unit_of(values) for one, values in zip(parameters, written, strict=True))
        return Points(samples, parameters, units, written)


def _number(cell: str) -> float | str:
    text = cell.strip()
    try:
        return float(text) if "_" not in text else text
    except ValueError:
        return text
