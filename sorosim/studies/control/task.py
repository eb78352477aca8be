"""Task files of optimal control: horizon, start, goal, bounds and cost, read and checked, every part with its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from sorosim.base.declare import Given, ListOf, MapOf, Name, Part, Text, key
from sorosim.base.errors import InputError, ModelError
from sorosim.base.options import ByName, ControlOptions, StepOptions, given
from sorosim.base.problems import Located, failure, locate
from sorosim.files.nodes import read_declared
from sorosim.files.robot_file import Version
from sorosim.files.schema import file_schema
from sorosim.mechanics.robot import Robot
from sorosim.studies.control.cost import Cost
from sorosim.studies.control.optimal import OptimalMotion, optimal_control

FIRST_LINE = "sorosim_task: 1"
FORMAT_VERSION = 1
ABOUT = (
    "Version 1 of the format of sorosim's tasks of optimal control: arguments of sorosim.optimal_control. Numbers are "
    "in SI units unless a text gives a unit."
)
_BY_COORDINATE = MapOf(Given(), Text("the name of a coordinate or a link"))


@dataclass(frozen=True)
class TaskFile(ControlOptions, StepOptions, title="Task of optimal control"):
    """A task file: arguments of `sorosim.optimal_control`."""

    _: KW_ONLY
    sorosim_task: Any = key(
        Version(FORMAT_VERSION, "sorosim_task", "the format of tasks"), "Version of the format of tasks.", "1"
    )
    cost: Cost = key(Part(Cost), "What the motion costs.", "{final: {q: 1000, qd: 100}, effort: 1e-4}")
    u_bounds: Any = key(
        MapOf(ListOf(Given())), "Least and greatest input by the name of its actuator.", "{motor: [-200 N, 200 N]}",
        default=None,
    )  # fmt: skip
    q0: Any = key(_BY_COORDINATE, "Coordinates at the start; without it those of the robot's file.", "{pole: 10 deg}",
                  default=None)  # fmt: skip
    qd0: Any = key(_BY_COORDINATE, "Rates at the start, likewise.", "{cart: 1 m/s}", default=None)
    goal: Any = key(
        _BY_COORDINATE, "Coordinates at the goal, where it rests; others are zero.", "{pole: 180 deg}", default=None
    )
    u0: Any = key(
        ByName(Name(), "a number or an expression of t"), "First guess of inputs.", "{motor: 10 N*sin(4*t)}",
        default=None,
    )  # fmt: skip
    driven: Any = key(
        ByName(Text("the name of a coordinate or a link"), "a number or an expression of t"),
        "Motions of driven coordinates; without it those of the robot's file.", "{lid: 30 deg*t}", default=None,
    )  # fmt: skip

    def validate(self) -> None:
        for name in ("horizon", "dt"):
            if getattr(self, name) is None:
                example = self.declaration()[name].example
                raise ModelError("", f"the key '{name}'", "nothing", f"for instance {name}: {example}")


@dataclass(frozen=True)
class Task:
    """A task that was read: what it says, and where in its file that stands."""

    spec: TaskFile
    data: Mapping[str, Any]
    places: Located

    def solve(self, robot: Robot) -> OptimalMotion:
        """The motion of least cost of a robot (FileError: the task does not fit it)."""
        arguments = {name: value for name, value in given(self.spec).items() if name != "sorosim_task"}
        try:
            return optimal_control(robot, **arguments)
        except InputError as error:
            problem = locate(error, (), self.data)
            if not problem.path:  # the robot is wrong, not the task
                raise
            raise failure([problem], self.places) from None


def read_task(path: str | Path) -> Task:
    """Read and check a task file.

    Raises
    ------
    FileError
        It cannot be read, or what it says is wrong: every mistake on a line of its own, with line and column.
    """
    found, data, places = read_declared(path, "a task", FIRST_LINE, TaskFile)
    return Task(found, data, places)


def task_schema() -> dict[str, Any]:
    """JSON Schema of task files."""
    return file_schema(TaskFile, ABOUT)
