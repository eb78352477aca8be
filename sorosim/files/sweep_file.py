"""Sweep files: where a robot is looked at, and what for; read and checked, every part with its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sorosim.base.declare import (
    INVALID,
    At,
    Boolean,
    Choice,
    Declared,
    Either,
    Fraction,
    Given,
    Integer,
    ListOf,
    MapOf,
    Part,
    Scope,
    Text,
    Type,
    key,
)
from sorosim.base.declare.base import Define
from sorosim.base.declare.composite import both
from sorosim.base.errors import FileError, ModelError, nearest
from sorosim.base.options import RunOptions
from sorosim.base.problems import Problem, failure, listed, plain_data, shown
from sorosim.files.nodes import Places, nodes_of, plain
from sorosim.files.robot_file import Open, Version
from sorosim.files.yaml_reader import read_file
from sorosim.mechanics.quantities import SUMMARIES

FIRST_LINE = "sorosim_sweep: 1"
FORMAT_VERSION = 1
MAX_POINTS = 1_000_000
MAX_BLOCK = 10_000
STARTS = ("warm", "cold", "follow")
COMMANDS = ("statics", "simulate")
ABOUT = (
    "Version 1 of the format of sorosim's sweeps. What varies has the name u.NAME (the input of an actuator), "
    "driven.NAME (a driven coordinate), or the path of a value in the robot's file, as --set takes it. Numbers are in "
    "SI units unless a text gives a unit."
)

_PARAMETER = Text("u.NAME, driven.NAME or the path of a value in the robot's file")
_SAMPLED = "{n: 1000, seed: 1, over: {u.cable1: [0, 10 N], u.cable2: [0, 10 N]}}"


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


# -- points ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Span(Declared, title="Evenly spaced values"):
    """Evenly spaced values, both ends included."""

    start: Any = key(Given(), "First value.", "0", name="from")
    to: Any = key(Given(), "Last value.", "10 N")
    n: int = key(Integer(2, MAX_POINTS), "How many values, evenly spaced.", "11")


class Bounds(Type):
    """Least and greatest value."""

    def check(self, value: object) -> tuple[Any, Any]:
        if not isinstance(value, list) or len(value) != 2:
            raise ModelError("", "two values, [least, greatest]", shown(value))
        return Given().check(value[0]), Given().check(value[1])

    def schema(self, define: Define) -> dict[str, Any]:
        return {"type": "array", "items": {"type": ["number", "string"]}, "minItems": 2, "maxItems": 2}


@dataclass(frozen=True)
class Sample(Declared, title="A sample"):
    """Points at random, or in a pattern, between bounds."""

    n: int = key(Integer(1, MAX_POINTS), "How many points.", "1000")
    _: KW_ONLY
    seed: int = key(Integer(0, 2**32 - 1), "Whole number that they are drawn by.", "1", default=0)
    over: Any = key(MapOf(Bounds(), _PARAMETER), "Least and greatest value of each parameter.", "{u.cable1: [0, 10 N]}")


@dataclass(frozen=True)
class Corners(Declared, title="A path"):
    """Points on straight lines from one corner to the next."""

    through: Any = key(
        MapOf(ListOf(Given()), _PARAMETER),
        "Values of each parameter at the corners.",
        "{u.cable1: [0, 10 N, 10 N], u.cable2: [0, 0, 10 N]}",
    )
    _: KW_ONLY
    steps: int = key(Integer(1, MAX_POINTS), "Steps from each corner to the next.", "20", default=10)


@dataclass(frozen=True)
class SweptPoints(Declared, title="Points"):
    """Where a sweep looks: one kind of points."""

    _: KW_ONLY
    grid: Any = key(
        MapOf(Either(ListOf(Given()), Part(Span), _is_mapping), _PARAMETER), "All combinations of values.",
        "{u.cable1: [0, 5 N], links.arm.rod.length: [40 cm, 50 cm]}", default=None,
    )  # fmt: skip
    random: Any = key(Part(Sample), "Independent random points.", _SAMPLED, default=None)
    latin_hypercube: Any = key(
        Part(Sample), "Random points, one in each of n slices of every parameter.", _SAMPLED, default=None
    )
    sobol: Any = key(Part(Sample), "Scrambled Sobol points, best where n is a power of two.", _SAMPLED, default=None)
    path: Any = key(
        Part(Corners), "Straight lines from corner to corner.", "{through: {u.cable1: [0, 10 N, 10 N]}, steps: 20}",
        default=None,
    )  # fmt: skip
    csv: Any = key(
        Text("the path of a CSV file"), "A table whose first row are the names; a row is a point.", "points.csv",
        default=None,
    )  # fmt: skip
    rows: Any = key(
        ListOf(MapOf(Given(), _PARAMETER)), "The points themselves.", "[{u.cable1: 0}, {u.cable1: 5 N}]", name="list",
        default=None,
    )  # fmt: skip

    alternatives = (("grid", "random", "latin_hypercube", "sobol", "path", "csv", "list"),)

    @classmethod
    def expected(cls) -> str:
        return listed([f"{{{name}: ...}}" for name in cls.key_names()])

    @classmethod
    def unknown_key(cls, name: str, value: object, at: At) -> None:
        hint = nearest(name, cls.key_names())
        (at / name).fail(cls.expected(), shown(name), "" if hint.startswith("known") else hint, at_key=True)

    @classmethod
    def check_keys(cls, data: Mapping[str, object]) -> None:
        if len(data) != 1:
            raise ModelError("", cls.expected(), both(data) if len(data) == 2 else shown(data))

    def validate(self) -> None:
        self.check_keys({name: value for name in self.declaration() if (value := getattr(self, name)) is not None})

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The kind that was given: the name of its field."""
        return next((name for name in self.declaration() if getattr(self, name) is not None), "")

    @property
    def chosen(self) -> Any:
        """Its value."""
        return getattr(self, self.kind)


# -- what is computed there --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SweptRun(RunOptions, title="Options of motions"):
    """Options of `simulate`; what is not given is taken from the robot's file."""

    keep_runs: bool = key(
        Boolean(), "Whether whole runs are kept, in a folder beside the result.", "true", default=False, kw_only=True
    )


@dataclass(frozen=True)
class SweptMotion(Declared, title="Motions"):
    """A task with options."""

    simulate: SweptRun = key(Part(SweptRun), "Motions, with options of sorosim.simulate.", "{t_end: 2 s}")


@dataclass(frozen=True)
class PlaceOfOutput(Declared, title="A place on a link"):
    """A place on a link."""

    link: str = key(Text("the name of a link"), "Name of a link.", "arm")
    s: float = key(Fraction(), "Place on a rod, 0 to 1 (the tip, the default).", "0.5", default=1.0)


@dataclass(frozen=True)
class SweepFile(Declared, title="Sweep of sorosim"):
    """A sweep file."""

    sorosim_sweep: Any = key(
        Version(FORMAT_VERSION, "sorosim_sweep", "the format of sweeps"), "Version of the format of sweeps.", "1"
    )
    robot: str = key(
        Text("the file of a robot, or the name of a bundled one"),
        "The file of a robot, beside this one, or the name of a bundled robot.",
        "cable_manipulator",
    )
    _: KW_ONLY
    name: Any = key(Text("a name"), "Name of the sweep, for people.", "workspace", default=None)
    set: Any = key(
        MapOf(Open(), Text("the path of a value in the robot's file")),
        "Values of the robot's file to replace, by their paths, for all points.",
        "{links.arm.rod.length: 40 cm}",
        default=None,
    )
    points: SweptPoints = key(Part(SweptPoints), "Where the robot is looked at.", "{grid: {u.cable1: [0, 5 N, 10 N]}}")
    task: Any = key(
        Either(Choice(COMMANDS), Part(SweptMotion), _is_mapping),
        "What is computed at each point: statics (the default), or motions.",
        "{simulate: {t_end: 2 s}}",
        default="statics",
    )
    u: Any = key(
        MapOf(Given()), "Inputs with one value for all points; others are those of the robot's file.", "{cable2: 3 N}",
        default=None,
    )  # fmt: skip
    driven: Any = key(
        MapOf(Given(), Text("the name of a coordinate or a link")),
        "Driven coordinates with one value for all points, likewise.", "{base: 5 mm}", default=None,
    )  # fmt: skip
    outputs: Any = key(
        ListOf(Either(Text("the name of a link, or {link, s}"), Part(PlaceOfOutput), _is_mapping)),
        "Places whose poses are kept; without it the ends of all links with a body.",
        "[arm, {link: arm, s: 0.5}]",
        default=None,
    )
    summary: Any = key(
        SUMMARIES, "Numbers that each run comes down to, by name.",
        "{highest: {max: arm.z}, level: {mean: arm.z, after: 2 s}}", default=None,
    )  # fmt: skip
    start: str = key(
        Choice(STARTS),
        "Whether an equilibrium starts from that of the point before it (warm, the default), anew (cold), or follows "
        "the curve of equilibria from there (follow).", "cold", default="warm",
    )  # fmt: skip
    block: Any = key(
        Integer(1, MAX_BLOCK),
        "Points that are computed one after the other; 50 for statics, 1 for motions where it is not given.",
        "20",
        default=None,
    )

    def validate(self) -> None:
        for name in ("set", "u", "driven", "summary"):
            if getattr(self, name) is None:
                self._set(**{name: {}})


# -- reading -----------------------------------------------------------------------------------------------------------


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


def sweep_of(given: Mapping[str, object]) -> SweepDocument:
    """Check a sweep that is given as data.

    Raises
    ------
    ModelError
        What it says is wrong.
    """
    data, places = plain(nodes_of(plain_data(given), ""))
    return SweepDocument(_checked(data, places), data, places, Path())


def _checked(data: object, places: Places) -> SweepFile:
    file = places.place(()).file
    if not isinstance(data, dict) or "sorosim_sweep" not in data:
        got = "a robot's file" if isinstance(data, dict) and "sorosim" in data else shown(data)
        raise FileError(file or "sweep", f"expected a sweep, whose first line is '{FIRST_LINE}', got {got}", 1, 1)
    scope = Scope(data, is_file=True)
    found = SweepFile.read(data, At(scope))
    if found is INVALID:
        raise failure(scope.problems, places)
    return found  # type: ignore[no-any-return]


def wrong(problems: list[Problem], document: SweepDocument) -> Exception:
    """One error for what else is wrong with a sweep."""
    return failure(problems, document.places)
