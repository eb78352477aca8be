"""Whether values of the robot's file can be what a sweep makes of them, found out before anything is computed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from sorosim.errors import InputError, ModelError, SorosimError
from sorosim.io import load_text
from sorosim.problems import Collector, shown
from sorosim.problems import Path as Place
from sorosim.robot import Robot
from sorosim.sweeps.parameters import FILE, INPUT, Parameter, exponents_of, settings_of
from sorosim.sweeps.points import Points
from sorosim.sweeps.samples import Value
from sorosim.sweeps.task import SIMULATE, STATICS

MAX_TRIED = 5  # numbers of each parameter: the least, the greatest, some between
MAX_POINTS_TRIED = 20  # all of a few, some of many, until there is one with a robot


class FileValues:
    """Looks at what varies in the robot's file.

    Robots are built at a few values of all parameters at once. Where one cannot be, each of its values is tried alone,
    the others as they stand in the file. What cannot be built so may still be right together with the others: then the
    first and the last point that have the value decide.

    Parameters
    ----------
    todo : Collector
        Takes what is wrong.
    robot, text
        The robot and the text from which it is built anew.
    points : Points
    """

    def __init__(self, todo: Collector, robot: Robot, text: str, points: Points) -> None:
        self.todo, self.robot, self.text, self.points = todo, robot, text, points
        self.varied = [(k, one) for k, one in enumerate(points.parameters) if one.kind == FILE]
        self._tried: dict[str, SorosimError | None] = {}

    @cached_property
    def _base(self) -> Robot:
        return load_text(self.text, self.robot.name)

    def check(self, command: str, options: Mapping[str, Any], said: Sequence[Parameter]) -> None:
        """Note what is wrong; `said` are all inputs and driven coordinates that the sweep speaks of."""
        if self.varied and not self.text:
            hint = "its robot was built of Python objects that no file can express"
            self.todo.add(("points",), "a robot with a file, whose values can vary", "none", hint)
            return
        tried = [(k, one) for k, one in self.varied if not self._in_vain(one, command, options, said)]
        built = self._built_together({one.name: self._some(k) for k, one in tried})
        for k, one in tried:
            self._check_values(k, one, built)
        if len(self.varied) > 1 and not self.todo.problems:
            self._check_together()

    def _in_vain(self, one: Parameter, command: str, options: Mapping[str, Any], said: Sequence[Parameter]) -> bool:
        """Refuse what would change nothing: the other command's block, or what the sweep itself says."""
        block, _, rest = one.target.partition(".")
        if block not in (STATICS, SIMULATE):
            return False
        if block != command:
            self._add(one, f"a value that {command} depends on", f"one of the block '{block}'")
            return True
        kind, _, name = rest.partition(".")
        twice = [other.name for other in said if other.kind == kind and self._same(kind, other.target, name)]
        twice += [f"the option '{kind}'"] if kind in options else []
        if twice:
            self._add(one, "every input, coordinate and value once", f"'{one.target}' beside {twice[0]}")
        return bool(twice)

    def _same(self, kind: str, one: str, other: str) -> bool:
        """Whether two names are those of one input or one coordinate."""
        if kind == INPUT or one == other:
            return one == other
        coordinate = self.robot.engine.layout.coordinate
        try:
            return bool(coordinate(one, "") == coordinate(other, ""))
        except SorosimError:  # a name that is wrong is told elsewhere
            return False

    def _built_together(self, values: Mapping[str, Sequence[Value]]) -> set[tuple[str, Value]]:
        """Values of parameters with which robots can be built, the first of all of them, the second, and so on."""
        parameters, found = [one for _, one in self.varied if one.name in values], set[tuple[str, Value]]()
        for i in range(max(map(len, values.values()), default=0)):
            row = {name: some[min(i, len(some) - 1)] for name, some in values.items()}
            if self._error(row, parameters) is None:
                found |= set(row.items())
        return found

    def _check_values(self, k: int, one: Parameter, built: set[tuple[str, Value]]) -> None:
        for value in self._some(k):
            if (one.name, value) in built:
                continue
            error = self._error({one.name: value}, [one])
            if error is None:
                continue
            if isinstance(error, InputError):  # the path leads nowhere
                self._add(one, error.expected, error.got, error.hint)
                return
            if len(self.varied) > 1 and any(
                self._error_at(i, {one.name: value}) is None for i in self._having(k, value)
            ):
                continue
            written = f"{value:g}" if isinstance(value, float) else f"'{value}'"
            self._add(one, "values that the robot's file can have", f"{written} ({self._why(error)})")
            return

    def _having(self, k: int, value: Value) -> list[int]:
        """The first and the last point at which a parameter has a value, or nearly has it."""
        column, value = self.points.samples.columns[k], self.points.parameters[k].read(value)
        if value not in column:
            value = min((x for x in column if not isinstance(x, str)), key=lambda x: abs(x - float(value)))
        return [column.index(value), len(column) - 1 - column[::-1].index(value)]

    def _check_together(self) -> None:
        """Refuse points of which none that is tried can be built, though each of their values could be."""
        last = len(self.points.samples) - 1
        tried = sorted({round(x) for x in np.linspace(0, last, MAX_POINTS_TRIED)})
        errors: list[SorosimError] = []
        for i in tried:
            error = self._error_at(i)
            if error is None:
                return
            errors.append(error)
        got = f"none among {len(tried)} that were tried ({self._why(errors[0])})"
        self.todo.add(("points",), "points at which there is a robot", got)

    def _some(self, k: int) -> list[Value]:
        """Values of a parameter to try: words, numbers with units as they were written, and numbers."""
        column = self.points.samples.columns[k]
        numbers = sorted({x for x in column if not isinstance(x, str)})
        tried: list[Value] = []
        if numbers:
            some = dict.fromkeys(np.linspace(0, len(numbers) - 1, MAX_TRIED).round().astype(int).tolist())
            tried = [numbers[0], numbers[-1], *(numbers[i] for i in some)]  # the ends read best in a message
        tried += [x for x in column if isinstance(x, str)]
        kinds = {exponents_of(x): x for x in self.points.written[k]}
        tried += [x for exponents, x in kinds.items() if exponents is not None]
        return list(dict.fromkeys(tried))

    def _error_at(self, i: int, instead: Mapping[str, Value] | None = None) -> SorosimError | None:
        """Why there is no robot at a point, some values instead of those that it has."""
        row = {**self.points.samples.row(i), **(instead or {})}
        return self._error(row, [one for _, one in self.varied])

    def _error(self, row: Mapping[str, Value], parameters: Sequence[Parameter]) -> SorosimError | None:
        """Why the robot cannot have these values; None: it can."""
        settings = settings_of(parameters, row)
        key = json.dumps(settings, sort_keys=True)
        if key not in self._tried:
            try:
                self._check_kin(self._base.with_values(settings))
                self._tried[key] = None
            except SorosimError as error:
                self._tried[key] = error
        return self._tried[key]

    def _check_kin(self, other: Robot) -> None:
        """Refuse robots whose results have other columns."""
        mine, theirs = _names(self.robot), _names(other)
        for what, names in mine.items():
            if theirs[what] != names:
                odd = [name for name in (*theirs[what], *names) if name not in theirs[what] or name not in names]
                got = f"{shown(odd[0])} at some only" if odd else "another order of them"
                raise ModelError("robot", f"the same {what} at all points", got)

    def _why(self, error: SorosimError) -> str:
        why = " ".join(str(error).splitlines()[0].removeprefix(f"{self.robot.name}: ").split())
        return why.removeprefix("set: ")

    def _add(self, one: Parameter, expected: str, got: str, hint: str = "") -> None:
        """Note a mistake at the place where the parameter is written."""
        place = next(self._places(one.name), None)
        if place is None:  # a table, which has no place of its own
            got = f"{got}, for '{one.name}'"
        self.todo.add(place or ("points", "csv"), expected, got, hint, at_key=place is not None)

    def _places(self, name: str) -> Iterator[Place]:
        points = self.todo.data.get("points", {})
        for kind, block in points.items() if isinstance(points, dict) else ():
            for path, entries in _blocks(("points", kind), block):
                if isinstance(entries, dict) and name in entries:
                    yield (*path, name)


def _blocks(path: Place, block: Any) -> Iterator[tuple[Place, Any]]:
    """A block of points and what is right inside of it, of a list the first point."""
    yield path, block
    if isinstance(block, dict):
        yield from (((*path, key), inner) for key, inner in block.items())
    elif isinstance(block, list) and block:
        yield (*path, 0), block[0]


def _names(robot: Robot) -> dict[str, tuple[str, ...]]:
    """What columns of a result are named after."""
    blocks = {STATICS: robot.description.statics, SIMULATE: robot.description.simulate}
    return {
        "actuators": tuple(robot.actuator_names),
        "sensors": tuple(f"{name}.{x}" for name, one in robot.instruments.readers.items() for x in one.channels),
        "driven coordinates": tuple(
            f"{at}.driven.{x}" for at, block in blocks.items() for x in block.get("driven", {})
        ),
    }
