"""A checked sweep: its robot, its points, and what is computed at each."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from sorosim.analysis.motion.simulate import usual_options
from sorosim.base.arrays import IntArray
from sorosim.base.errors import nearest
from sorosim.base.methods import MOTIONS, spread
from sorosim.base.options import SimulateArguments, checked, given
from sorosim.base.problems import Collector
from sorosim.base.problems import Path as Place
from sorosim.files.results import text_of
from sorosim.files.sweep_file import PlaceOfOutput, SweepDocument, SweepFile, SweptMotion, wrong
from sorosim.mechanics.engine.inputs import Partition
from sorosim.mechanics.engine.parameter import DRIVEN, FILE, INPUT
from sorosim.mechanics.engine.prescribed import merged
from sorosim.mechanics.quantities import Output, Summary, output, quantities, tips, too_late
from sorosim.mechanics.robot import Robot
from sorosim.studies.sweeps.file_values import FileValues
from sorosim.studies.sweeps.parameters import (
    Varied,
    operated,
    parameter,
    settings_of,
)
from sorosim.studies.sweeps.points import PointReader
from sorosim.studies.sweeps.samples import Samples, Value, visiting_order
from sorosim.studies.sweeps.task import SIMULATE, STATICS, Job

# names that summaries may not have: other columns, and what `to_xarray` calls its arrays and their dimensions
COLUMNS = ("status", "message", "t", "n_evaluations", "q", "lam", "position", "rotation", "point", "coordinate",
           "multiplier", "output", "axis", "row", "column")  # fmt: skip
BLOCK_SIZES = {STATICS: 50, SIMULATE: 1}  # points that are computed one after the other


@dataclass(frozen=True, eq=False)
class Plan:
    """A checked sweep, ready to compute; its result contains it."""

    robot: Robot
    parameters: tuple[Varied, ...]
    samples: Samples
    units: tuple[str, ...]  # of the parameters
    constants: tuple[tuple[Varied, Value], ...]
    command: str
    options: Mapping[str, Any]  # of simulate
    outputs: tuple[Output, ...]
    summary: Mapping[str, Summary]
    start: str
    block: int
    keep_runs: bool = False
    text: str = field(default="")

    @cached_property
    def blocks(self) -> list[IntArray]:
        """Numbers of the points of each block, in the order in which they are visited."""
        slow = [one.name for one in self.parameters if one.kind == FILE]
        order = visiting_order(self.samples, slow, self.block)
        return [order[k : k + self.block] for k in range(0, len(order), self.block)]

    @property
    def driven(self) -> tuple[str, ...]:
        """Names of the driven coordinates at all points, in the order of their forces."""
        return driven_names(self.robot, self.command, [*(one for one, _ in self.constants), *self.parameters])

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels of all sensors."""
        readers = self.robot.instruments.readers
        return tuple(f"{name}.{channel}" for name, reader in readers.items() for channel in reader.channels)

    @property
    def shown_output(self) -> str:
        """What is shown where one output is: the first of the robot's own that there is, else the last; "" if none."""
        labels = [one.label for one in self.outputs]
        own = [output(*place).label for place in self.robot.outputs.places]
        return next((label for label in own if label in labels), labels[-1] if labels else "")

    @cached_property
    def _pickled(self) -> bytes:
        from joblib import wrap_non_picklable_objects  # knows how to send what was written in a notebook

        return pickle.dumps(wrap_non_picklable_objects(self.robot, keep_wrapper=False))

    def job(self, runs: str = "") -> Job:
        """What the worker processes need; `runs` is the folder of whole runs."""
        varies = any(one.kind == FILE for one in self.parameters)
        return Job(
            b"" if varies else self._pickled, self.text if varies else "", self.parameters, self.constants,
            self.command, self.options, self.outputs, self.summary, self.start, len(self.driven), len(self.channels),
            runs,
        )  # fmt: skip

    def settings(self, point: int) -> dict[str, Any]:
        """Values of the robot's file at a point."""
        return settings_of(self.parameters, self.samples.row(point))

    def as_data(self) -> dict[str, Any]:
        """Everything the result depends on, as JSON data; a sweep with equal data can be resumed."""
        samples = self.samples
        return {
            "points": {
                "names": list(samples.names),
                "columns": [list(column) for column in samples.columns],
                "shape": None if samples.shape is None else list(samples.shape),
                "ordered": samples.ordered,
            },
            "units": list(self.units),
            "held": {one.name: value for one, value in self.constants},
            "task": self.command,
            "options": {name: list(x) if isinstance(x, tuple) else x for name, x in self.options.items()},
            "outputs": [list(place) for place in self.outputs],
            "summary": {name: _summary_data(one) for name, one in self.summary.items()},
            "start": self.start,
            "block": self.block,
            "keep_runs": self.keep_runs,
        }


def driven_names(robot: Robot, command: str, parameters: Sequence[Varied]) -> tuple[str, ...]:
    """Names of the driven coordinates: first those of the robot's file that `parameters` do not drive."""
    block = robot.description.statics if command == STATICS else robot.description.simulate
    own = dict.fromkeys(one.target for one in parameters if one.kind == DRIVEN)
    return tuple(merged(robot.engine.layout, block.get("driven", {}), own))


def _summary_data(one: Summary) -> list[Any]:
    """A summary as JSON data; without `after` and `until` as sweeps before there were any, which can be resumed."""
    times = [one.after, one.until] if one.until is not None else [one.after] if one.after else []
    return [one.how, one.quantity, *times]


def _summary(how: str, what: str, after: float = 0.0, until: float | None = None) -> Summary:
    return Summary(**{how: what}, after=after, until=until)


def plan_from_data(robot: Robot, data: Mapping[str, Any], text: str) -> Plan:
    """The plan that `Plan.as_data` has written."""
    points, timed = data["points"], data["task"] == SIMULATE
    shape = None if points["shape"] is None else tuple(points["shape"])
    columns = tuple(map(tuple, points["columns"]))
    samples = Samples(tuple(points["names"]), columns, shape, points["ordered"])
    constants = tuple((parameter(robot, name, timed), value) for name, value in data["held"].items())
    options = {name: tuple(x) if isinstance(x, list) else x for name, x in data["options"].items()}
    return Plan(
        robot, tuple(parameter(robot, name, timed) for name in samples.names), samples, tuple(data["units"]), constants,
        data["task"], options, tuple(Output(*place) for place in data["outputs"]),
        {name: _summary(*what) for name, what in data["summary"].items()}, data["start"], data["block"],
        data["keep_runs"], text,
    )  # fmt: skip


def plan_of(document: SweepDocument, robot: Robot) -> Plan:
    """Check a sweep against its robot.

    Raises
    ------
    FileError, ModelError
        Names, paths and values that do not fit: all of them, at their places.
    """
    reader = _Reader(document, robot)
    plan = reader.plan()
    if reader.collector.problems or plan is None:
        raise wrong(reader.collector.problems, document)
    return plan


class _Reader:
    """Reads one sweep and collects its mistakes."""

    def __init__(self, document: SweepDocument, robot: Robot) -> None:
        self.spec: SweepFile = document.spec
        self.robot, self.folder = robot, document.folder
        self.collector = Collector(document.data)
        self.command, self.options, self.keep_runs = self._task()
        self.timed = self.command == SIMULATE
        self.text = text_of(robot)

    def _task(self) -> tuple[str, dict[str, Any], bool]:
        task = self.spec.task
        if not isinstance(task, SweptMotion):
            return str(task), {}, False
        block = task.simulate
        assert block is not None  # it is the only key
        options = {name: value for name, value in spread(given(block), MOTIONS).items() if name != "keep_runs"}
        return SIMULATE, options, block.keep_runs

    def plan(self) -> Plan | None:
        points = PointReader(self.collector, self.robot, self.timed, Path(self.folder)).read(self.spec.points)
        constants = (*self._constants(INPUT, self.spec.u), *self._constants(DRIVEN, self.spec.driven))
        outputs, parameters = self._outputs(), [] if points is None else points.parameters
        self._check_unique([*(("points", one) for one in parameters), *((one.kind, one) for one, _ in constants)])
        block = {**self.robot.description.simulate, **self.options}
        varied = {one.target for one in parameters if one.kind == FILE}
        if self.timed and "simulate.method" not in varied:
            usual = usual_options(self.robot, self.robot.description.simulate, self.options)
            self.collector.attempt(("task", SIMULATE), partial(checked, SimulateArguments, self.options, usual))
        if self.timed and block.get("t_end") is None and "simulate.t_end" not in varied:
            self.collector.add(("task",), "the end t_end of the runs", "none", "the robot's file has none either")
        if points is None or self.collector.problems:
            return None
        prescribed = [*(one for one, _ in constants), *parameters]
        FileValues(self.collector, self.robot, self.text, points).check(self.command, self.options, prescribed)
        driven = driven_names(self.robot, self.command, prescribed)
        layout, motors = self.robot.engine.layout, self.robot.description.actuators
        self.collector.attempt(("points",), partial(Partition.of, layout, dict.fromkeys(driven), motors))
        t_end = None if "simulate.t_end" in varied else block.get("t_end")
        self._check_summary(driven, outputs, points.samples.names, t_end)
        q0, ndof = self.options.get("q0"), self.robot.ndof
        if isinstance(q0, tuple) and len(q0) != ndof:
            self.collector.add(("task", SIMULATE, "q0"), f"{ndof} coordinates", f"{len(q0)}")
        size = self.spec.block or BLOCK_SIZES[self.command]
        return Plan(
            self.robot, tuple(parameters), points.samples, points.units, constants, self.command, self.options, outputs,
            dict(self.spec.summary), self.spec.start, size, self.keep_runs, self.text,
        )  # fmt: skip

    def _constants(self, kind: str, given: Mapping[str, object]) -> Iterator[tuple[Varied, Value]]:
        """Inputs or driven coordinates with one value for all points."""
        for name, value in given.items():
            path: Place = (kind, name)
            constant = self.collector.attempt(
                path, partial(operated, self.robot, kind, f"{kind}.{name}", name, self.timed), at_key=True
            )
            if constant is not None:
                read = self.collector.attempt(path, partial(constant.read, value))
                if read is not None:
                    yield constant, read

    def _check_unique(self, parameters: Sequence[tuple[str, Varied]]) -> None:
        """Refuse an input that occurs twice, or a coordinate under both of its names."""
        names: dict[Any, str] = {}
        for where, one in parameters:
            key = (FILE, one.target) if one.kind == FILE else (one.kind, one.index)
            if key in names:
                got = f"'{one.name}' after '{names[key]}'"
                self.collector.add((where,), "every input, coordinate and value once", got)
            names[key] = one.name

    def _outputs(self) -> tuple[Output, ...]:
        names = [link.name for link in self.robot.links]
        if self.spec.outputs is None:
            return tips(self.robot)
        found = []
        for i, block in enumerate(self.spec.outputs):
            name, s = (block.link, block.s) if isinstance(block, PlaceOfOutput) else (block, 1.0)
            path: Place = ("outputs", i) if isinstance(block, str) else ("outputs", i, "link")
            if self.collector.known(path, "the name of a link", name, names):
                found.append(output(name, s))
        return tuple(dict.fromkeys(found))

    def _check_summary(
        self, driven: Sequence[str], outputs: Sequence[Output], varied: Sequence[str], t_end: float | None
    ) -> None:
        if self.spec.summary and self.command == STATICS:
            self.collector.add(
                ("summary",), "task: {simulate: ...} beside it", "statics", "an equilibrium has no history"
            )
            return
        known = quantities(self.robot, driven, outputs)
        for name, one in self.spec.summary.items():
            if name in COLUMNS or name in varied:
                self.collector.add(("summary", name), "a name that no other column has", f"'{name}'", at_key=True)
            if one.quantity not in known:
                hint = nearest(one.quantity, known)
                self.collector.add(("summary", name, one.how), "a quantity of a run", f"'{one.quantity}'", hint)
            if t_end is not None and (late := too_late(one, t_end)):
                self.collector.add(("summary", name, late[0]), *late[1:])
