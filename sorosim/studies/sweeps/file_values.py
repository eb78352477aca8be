"""Checks, before anything is computed, that a robot can be built with the file values of a sweep."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from sorosim.base.errors import InputError, ModelError, SorosimError
from sorosim.base.problems import Collector, shown
from sorosim.base.problems import Path as Place
from sorosim.files import load_text
from sorosim.mechanics.engine.parameter import FILE, OPERATED
from sorosim.mechanics.robot import Robot
from sorosim.studies.sweeps.parameters import Varied, exponents_of, settings_of
from sorosim.studies.sweeps.points import Points
from sorosim.studies.sweeps.samples import Value
from sorosim.studies.sweeps.task import SIMULATE, STATICS

MAX_TRIED = 5  # numbers of each parameter: the least, the greatest, some between
MAX_POINTS_TRIED = 20  # all of a few, some of many, until there is one with a robot


class FileValues:
    """Checks the values of the robot's file that vary.

    Robots are built at a few values of all parameters at once. If one cannot be built, each of its values is tried
    alone, the others as in the file. A value that fails alone may still be valid together with the others: then the
    first and the last point with this value decide.

    Parameters
    ----------
    todo : Collector
        Collects the mistakes.
    robot, text
        The robot and the text from which it is built anew.
    points : Points
    """

    def __init__(self, collector: Collector, robot: Robot, text: str, points: Points) -> None:
        self.collector, self.robot, self.text, self.points = collector, robot, text, points
        self.varied = [(k, one) for k, one in enumerate(points.parameters) if one.kind == FILE]
        self._errors: dict[str, SorosimError | None] = {}

    @cached_property
    def _base(self) -> Robot:
        return load_text(self.text, self.robot.name)

    def check(self, command: str, options: Mapping[str, object], prescribed: Sequence[Varied]) -> None:
        """Collect mistakes; `prescribed` are all inputs and driven coordinates of the sweep."""
        if self.varied and not self.text:
            hint = "its robot was built of Python objects that no file can express"
            self.collector.add(("points",), "a robot with a file, whose values can vary", "none", hint)
            return
        effective = [(k, one) for k, one in self.varied if not self._is_ineffective(one, command, options, prescribed)]
        built = self._built_together({one.name: self._trial_values(k) for k, one in effective})
        for k, one in effective:
            self._check_values(k, one, built)
        if len(self.varied) > 1 and not self.collector.problems:
            self._check_together()

    def _is_ineffective(
        self, one: Varied, command: str, options: Mapping[str, object], prescribed: Sequence[Varied]
    ) -> bool:
        """Refuse a file value without effect: of the other command's block, or overridden by the sweep itself."""
        block, _, rest = one.target.partition(".")
        if block not in (STATICS, SIMULATE):
            return False
        if block != command:
            self._add(one, f"a value that {command} depends on", f"one of the block '{block}'")
            return True
        kind, _, name = rest.partition(".")
        duplicates = [f"the option '{kind}'"] if kind in options else []
        if kind in OPERATED:
            with suppress(SorosimError):  # a wrong name is reported elsewhere
                index = OPERATED[kind](self.robot, name, "").index
                duplicates = [other.name for other in prescribed if (other.kind, other.index) == (kind, index)]
        if duplicates:
            self._add(one, "every input, coordinate and value once", f"'{one.target}' beside {duplicates[0]}")
        return bool(duplicates)

    def _built_together(self, values: Mapping[str, Sequence[Value]]) -> set[tuple[str, Value]]:
        """Values of parameters with which robots can be built, the first of all of them, the second, and so on."""
        parameters, built = [one for _, one in self.varied if one.name in values], set[tuple[str, Value]]()
        for i in range(max(map(len, values.values()), default=0)):
            row = {name: trial[min(i, len(trial) - 1)] for name, trial in values.items()}
            if self._error(row, parameters) is None:
                built |= set(row.items())
        return built

    def _check_values(self, k: int, one: Varied, built: set[tuple[str, Value]]) -> None:
        for value in self._trial_values(k):
            if (one.name, value) in built:
                continue
            error = self._error({one.name: value}, [one])
            if error is None:
                continue
            if isinstance(error, InputError):  # the path leads nowhere
                self._add(one, error.expected, error.got, error.hint)
                return
            if len(self.varied) > 1 and any(
                self._error_at(i, {one.name: value}) is None for i in self._points_with(k, value)
            ):
                continue
            written = f"{value:g}" if isinstance(value, float) else f"'{value}'"
            self._add(one, "values that the robot's file can have", f"{written} ({self._why(error)})")
            return

    def _points_with(self, k: int, value: Value) -> list[int]:
        """The first and the last point at which a parameter has a value, or nearly has it."""
        column, value = self.points.samples.columns[k], self.points.parameters[k].read(value)
        if value not in column:
            value = min((x for x in column if not isinstance(x, str)), key=lambda x: abs(x - float(value)))
        return [column.index(value), len(column) - 1 - column[::-1].index(value)]

    def _check_together(self) -> None:
        """Refuse points if no sampled one can be built, though each value alone can."""
        last = len(self.points.samples) - 1
        sampled = sorted({round(x) for x in np.linspace(0, last, MAX_POINTS_TRIED)})
        errors: list[SorosimError] = []
        for i in sampled:
            error = self._error_at(i)
            if error is None:
                return
            errors.append(error)
        got = f"none among {len(sampled)} that were tried ({self._why(errors[0])})"
        self.collector.add(("points",), "points at which there is a robot", got)

    def _trial_values(self, k: int) -> list[Value]:
        """Values of a parameter to try: words, numbers with units as they were written, and numbers."""
        column = self.points.samples.columns[k]
        numbers = sorted({x for x in column if not isinstance(x, str)})
        values: list[Value] = []
        if numbers:
            picked = dict.fromkeys(np.linspace(0, len(numbers) - 1, MAX_TRIED).round().astype(int).tolist())
            values = [numbers[0], numbers[-1], *(numbers[i] for i in picked)]  # the ends read best in a message
        values += [x for x in column if isinstance(x, str)]
        kinds = {exponents_of(x): x for x in self.points.written[k]}
        values += [x for exponents, x in kinds.items() if exponents is not None]
        return list(dict.fromkeys(values))

    def _error_at(self, i: int, instead: Mapping[str, Value] | None = None) -> SorosimError | None:
        """The error of building the robot of a point, with some of its values replaced; None if there is none."""
        row = {**self.points.samples.row(i), **(instead or {})}
        return self._error(row, [one for _, one in self.varied])

    def _error(self, row: Mapping[str, Value], parameters: Sequence[Varied]) -> SorosimError | None:
        """The error of building the robot with these values; None if there is none."""
        settings = settings_of(parameters, row)
        key = json.dumps(settings, sort_keys=True)
        if key not in self._errors:
            try:
                self._check_same_columns(self._base.with_values(settings))
                self._errors[key] = None
            except SorosimError as error:
                self._errors[key] = error
        return self._errors[key]

    def _check_same_columns(self, other: Robot) -> None:
        """Refuse a robot whose results would have other columns."""
        reference, names_of_other = _names(self.robot), _names(other)
        for what, names in reference.items():
            if names_of_other[what] != names:
                different = [
                    name
                    for name in (*names_of_other[what], *names)
                    if name not in names_of_other[what] or name not in names
                ]
                got = f"{shown(different[0])} at some only" if different else "another order of them"
                raise ModelError("robot", f"the same {what} at all points", got)

    def _why(self, error: SorosimError) -> str:
        why = " ".join(str(error).splitlines()[0].removeprefix(f"{self.robot.name}: ").split())
        return why.removeprefix("set: ")

    def _add(self, one: Varied, expected: str, got: str, hint: str = "") -> None:
        """Note a mistake at the place where the parameter is written."""
        place = next(self._places(one.name), None)
        if place is None:  # a table, which has no place of its own
            got = f"{got}, for '{one.name}'"
        self.collector.add(place or ("points", "csv"), expected, got, hint, at_key=place is not None)

    def _places(self, name: str) -> Iterator[Place]:
        points = self.collector.data.get("points", {})
        for kind, block in points.items() if isinstance(points, dict) else ():
            for path, entries in _blocks(("points", kind), block):
                if isinstance(entries, dict) and name in entries:
                    yield (*path, name)


def _blocks(path: Place, block: object) -> Iterator[tuple[Place, Any]]:
    """A block of points and what is right inside of it, of a list the first point."""
    yield path, block
    if isinstance(block, dict):
        yield from (((*path, key), inner) for key, inner in block.items())
    elif isinstance(block, list) and block:
        yield (*path, 0), block[0]


def _names(robot: Robot) -> dict[str, tuple[str, ...]]:
    """The names from which columns of a result are named."""
    blocks = {STATICS: robot.description.statics, SIMULATE: robot.description.simulate}
    return {
        "actuators": tuple(robot.actuator_names),
        "sensors": tuple(f"{name}.{x}" for name, one in robot.instruments.readers.items() for x in one.channels),
        "driven coordinates": tuple(
            f"{at}.driven.{x}" for at, block in blocks.items() for x in block.get("driven", {})
        ),
    }
