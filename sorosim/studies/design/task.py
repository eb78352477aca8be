"""Design files: cases, what is free, what is made best and under which constraints, every part with its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from sorosim.base.declare import (
    Choice,
    Declared,
    Either,
    Given,
    Integer,
    ListOf,
    MapOf,
    Name,
    Part,
    Text,
    key,
)
from sorosim.base.declare import Quantity as Number
from sorosim.base.declare.types import is_list
from sorosim.base.errors import InputError
from sorosim.base.options import ByName, Start, given
from sorosim.base.problems import Located, failure, locate
from sorosim.files import load
from sorosim.files.nodes import read_declared
from sorosim.files.robot_file import Open, Version
from sorosim.files.schema import file_schema
from sorosim.studies.design.cases import MotionOptions
from sorosim.studies.design.design import MAX_POINTS, Design, design
from sorosim.studies.design.quantities import DEFINITIONS
from sorosim.studies.design.search import FTOL, METHODS
from sorosim.studies.fitting.fit import MAX_EVALUATIONS, MAX_STARTS

FIRST_LINE = "sorosim_design: 1"
FORMAT_VERSION = 1
ABOUT = (
    "Version 1 of the format of sorosim's designs: arguments of sorosim.design. Numbers are in SI units unless a text "
    "gives a unit."
)
_VALUE = "a number or a quantity, of a motion also an expression of t, {times, values} or {csv}"
_NAME = Text("the name of a number, an input or a driven coordinate")
_QUANTITY = Text("a quantity")


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


_OBJECTIVE = Either(_QUANTITY, MapOf(Number("number"), _QUANTITY), _is_mapping)


class Limits(Given):
    """A number, or the least and the greatest one, null being open."""

    def check(self, value: object) -> Any:
        if is_list(value):
            return [None if x is None else super(Limits, self).check(x) for x in value]  # type: ignore[attr-defined]
        return super().check(value)

    def schema(self, define: Any) -> dict[str, Any]:
        one = ["number", "string"]
        pair = {"type": "array", "items": {"type": [*one, "null"]}, "minItems": 2, "maxItems": 2}
        return {"anyOf": [{"type": one}, pair]}


@dataclass(frozen=True)
class DesignCase(Declared, title="A case"):
    """A robot under inputs and driven coordinates, at rest or in motion."""

    robot: str = key(
        Text("the file of a robot, or the name of a bundled one"),
        "The file of a robot, beside this one, or the name of a bundled robot.", "finger.yaml",
    )  # fmt: skip
    _: KW_ONLY
    set: Any = key(
        MapOf(Open(), Text("the path of a value in the robot's file")), "Values of the robot's file to replace.",
        "{links.finger.rod.length: 40 cm}", default=None,
    )  # fmt: skip
    simulate: MotionOptions | None = key(
        Part(MotionOptions), "A motion, in equal steps; without it the robot is at rest.", "{t_end: 1 s, dt: 5 ms}",
        default=None,
    )  # fmt: skip
    u: Any = key(
        ByName(Name(), _VALUE, True), "Inputs, of a motion also signals; without it those of the robot's file.",
        "{tendon: 10 N}", default=None,
    )  # fmt: skip
    driven: Any = key(
        ByName(Text("the name of a coordinate or a link"), _VALUE, True), "Driven coordinates, likewise.",
        "{pad: 2 mm}", default=None,
    )  # fmt: skip
    q0: Any = key(
        Start(), "Where the search for the equilibrium begins, or the motion; without it that of the robot's file.",
        "equilibrium", default=None,
    )  # fmt: skip


@dataclass(frozen=True)
class DesignFile(Declared, title="Design of sorosim"):
    """A design file: arguments of `sorosim.design`."""

    sorosim_design: Any = key(
        Version(FORMAT_VERSION, "sorosim_design", "the format of designs"), "Version of the format of designs.", "1"
    )
    cases: Any = key(
        MapOf(Part(DesignCase), Name()), "The cases by name.", "{pull: {robot: finger.yaml, u: {tendon: 10 N}}}"
    )
    free: Any = key(
        MapOf(Either(_NAME, ListOf(_NAME, "names"), is_list)),
        "What may change, by labels: a path in the robots' files, u.NAME, driven.NAME, or a list that shares a number.",
        "{radius: links.finger.rod.section.circle.radius, pull: pull.u.tendon}",
    )  # fmt: skip
    minimise: Any = key(
        Either(_OBJECTIVE, ListOf(_QUANTITY, "quantities"), is_list),
        "A quantity, with a minus before it to make it greatest; weights by names; or two quantities: a Pareto front.",
        "-press.touch.f_z",
    )  # fmt: skip
    _: KW_ONLY
    subject_to: Any = key(
        MapOf(Limits(), _QUANTITY), "Constraints: a number, or the least and the greatest one, null being open.",
        "{pull.mass: [null, 15 g], pull.bend.angle: [90 deg, null]}", default=None,
    )  # fmt: skip
    bounds: Any = key(MapOf(Limits(), _NAME), "Bounds of what is free, by its labels.", "{radius: [3 mm, 12 mm]}",
                      default=None)  # fmt: skip
    define: Any = key(DEFINITIONS, "Further quantities.", "{wall: {sum: {radius: 1, offset: -1}}}", default=None)
    method: str = key(Choice(METHODS), "The search.", "slsqp", default="slsqp")
    starts: int = key(Integer(1, MAX_STARTS), "Number of starts.", "4", default=1)
    points: int = key(Integer(3, MAX_POINTS), "Points of a Pareto front.", "9", default=9)
    tolerance: float = key(
        Number("number", above=0.0), "Change of the objective over its size at which a search ends.", "1e-8",
        default=FTOL,
    )  # fmt: skip
    max_evaluations: int = key(
        Integer(1, MAX_EVALUATIONS),
        "Most trials, of all starts and points; in each all cases are solved.",
        "500",
        default=500,
    )  # fmt: skip


@dataclass(frozen=True)
class DesignTask:
    """A design that was read: what it says, and where in its file that stands."""

    spec: DesignFile
    data: Mapping[str, Any]
    places: Located
    folder: Path

    def cases(self) -> dict[str, dict[str, Any]]:
        """The cases with their robots loaded."""
        out = {}
        for name, case in self.spec.cases.items():
            beside = self.folder / case.robot
            robot = load(beside if beside.is_file() else case.robot, set=case.set or None)
            own = {"robot": robot, "u": case.u, "driven": case.driven, "q0": case.q0}
            out[name] = own | ({} if case.simulate is None else {"simulate": given(case.simulate)})
        return out

    def solve(self, cases: Mapping[str, Mapping[str, Any]]) -> Design:
        """The best numbers of loaded cases (FileError: the design does not fit them)."""
        arguments = {name: value for name, value in given(self.spec).items() if name not in ("sorosim_design", "cases")}
        try:
            return design(dict(cases), **arguments)
        except InputError as error:
            problem = locate(error, (), self.data)
            if not problem.path:
                raise
            raise failure([problem], self.places) from None


def read_design(path: str | Path) -> DesignTask:
    """Read and check a design file.

    Raises
    ------
    FileError
        It cannot be read, or what it says is wrong: every mistake on a line of its own, with line and column.
    """
    found, data, places = read_declared(path, "a design", FIRST_LINE, DesignFile)
    return DesignTask(found, data, places, Path(path).parent)


def design_schema() -> dict[str, Any]:
    """JSON Schema of design files."""
    return file_schema(DesignFile, ABOUT)
