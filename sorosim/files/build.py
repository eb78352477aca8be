"""From the data of a file to a Robot: every block is read by its declaration, every mistake has its place.

Each part is read on its own, so that one run names all that is wrong; parts that rest on a wrong one are left out.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from sorosim.base.declare import INVALID, At, Scope, SignalOf
from sorosim.base.errors import ModelError
from sorosim.base.methods import MOTIONS, spread
from sorosim.base.options import given
from sorosim.base.problems import Path, at_path, close, failure, is_same, locate, shown
from sorosim.base.signals import TableSignal
from sorosim.base.units.quantity import quantity
from sorosim.base.units.table import OF_INPUT
from sorosim.files import meshes
from sorosim.files.coordinates import CoordinateReader
from sorosim.files.expand import Expanded
from sorosim.files.nodes import Places
from sorosim.files.override import LABEL
from sorosim.files.robot_file import RobotFile
from sorosim.files.routes import check_inside
from sorosim.mechanics.actuation.base import input_unit
from sorosim.mechanics.actuation.chamber import Chamber
from sorosim.mechanics.actuation.compiled import check_actuator, compile_rod_actuators
from sorosim.mechanics.actuation.joint_force import JointForce, joint_kind
from sorosim.mechanics.actuation.load_input import LoadInput
from sorosim.mechanics.actuation.loop_force import LoopForce
from sorosim.mechanics.actuation.tendon import Tendon
from sorosim.mechanics.constraints.loop import compile_loops
from sorosim.mechanics.model.compile import compile_tree
from sorosim.mechanics.model.description import PARTS, STANDARD_GRAVITY, Description
from sorosim.mechanics.model.link import ordered_links
from sorosim.mechanics.model.mesh import Mesh, MeshFile
from sorosim.mechanics.robot import Robot

# blocks whose entries stand for themselves, in the order in which they are read
NAMED = ("materials", "links", *PARTS)
RUNS = ("sorosim", "name", "simulate", "statics", "initial", "outputs")  # blocks besides these parts and gravity
MAX_ROWS = 5000  # of CSV files in the text of a description


class _AnyName(list[str]):
    """Names that nobody knows."""

    def __contains__(self, name: object) -> bool:
        return True


@dataclass
class Reading:
    """The parts of a robot that were read from data."""

    data: Any
    parts: dict[str, dict[str, Any]]
    needs: dict[tuple[str, str], set[tuple[str, str]]]  # blocks and names of the entries that a part rests on

    def has_names_of(self, other: Reading) -> bool:
        """Whether the blocks of other data have the same names, but for sensors, on which nothing rests."""
        blocks = [(self.data.get(block), other.data.get(block)) for block in NAMED if block != "sensors"]
        return all(
            mine is theirs or (isinstance(mine, dict) and isinstance(theirs, dict) and list(mine) == list(theirs))
            for mine, theirs in blocks
        )

    def part(self, now: Reading, block: str, name: str) -> Any:
        """The part of that name, if other data say the same of it but for its materials; else None."""
        found = self.parts[block].get(name)
        if found is None or not self.stays(now, block, name):
            return None
        changed = [need for need in self.needs[block, name] if not self.stays(now, *need)]
        if not changed:
            return found
        made = {key: now.parts["materials"].get(key) for kind, key in changed if kind == "materials"}
        if len(made) < len(changed) or None in made.values():
            return None
        others = {id(self.parts["materials"][key]): material for key, material in made.items()}
        return found.changed(body=found.rod.with_materials(others))

    def stays(self, now: Reading, *path: str) -> bool:
        """Whether other data say the same at a path."""
        return is_same(at_path(self.data, path), at_path(now.data, path))


class FileScope(Scope):
    """What a file says, while its parts are read.

    Parameters
    ----------
    expanded : Expanded
        Mappings, lists and scalars, and where they were written.
    folder : Path, optional
        Where relative paths begin; without it other files are not looked for.
    before : Reading, optional
        What was read of other data with the same names: parts whose data stayed are taken from there.
    """

    def __init__(self, expanded: Expanded, folder: FilePath | None, before: Reading | None = None) -> None:
        super().__init__(expanded.data, is_file=True)
        self.reading = Reading(expanded.data, {block: {} for block in NAMED}, {})
        self.before = before if before is not None and before.has_names_of(self.reading) else None
        self._needs: set[tuple[str, str]] = set()  # what the part that is read has asked for
        self.places, self.folder = expanded.places, folder
        self.parts = self.reading.parts
        self.misspelt: set[str] = set()  # blocks that stand under another name
        self.t_end: float | None = None
        self.embedded: dict[Path, Any] = {}  # what other files say, by the places that name them
        self._rows, self._triangles = MAX_ROWS, meshes.MAX_EMBEDDED
        self._meshes: dict[tuple[str, Any], Mesh] = dict(expanded.meshes)

    def names(self, block: str) -> Collection[str]:
        found = self.data.get(block)
        if block in self.misspelt or (block in self.data and not isinstance(found, dict)):
            return _AnyName()
        return list(found or ())

    def entry(self, block: str, name: str) -> Mapping[str, Any] | None:
        self._needs.add((block, name))
        found = at_path(self.data, (block, name))
        return found if isinstance(found, dict) else None

    def part(self, block: str, name: str, otherwise: object) -> Any:
        self._needs.add((block, name))
        return self.parts[block].get(name, otherwise)

    def folder_of(self, path: Path) -> FilePath | None:
        file = self.places.place(path).file
        here = self.folder is None or file in ("", LABEL, self.places.place(()).file)
        return self.folder if here else FilePath(file).parent

    def embed_table(self, path: Path, table: TableSignal, long: Any) -> None:
        self._rows -= len(table.times)
        self.embedded[path] = table.spec if self._rows >= 0 else long

    def mesh(self, given: MeshFile, at: At) -> Any:
        """A mesh from a file; a file that several links name is read once."""
        folder = self.folder_of((*at.path, "file"))
        if folder is None and not os.path.isabs(given.file):
            got = f"{shown(given.file)}, which is not kept here"
            return (at / "file").fail("a mesh", got, "load the robot from its own file")
        file = (folder or FilePath()) / given.file
        if not os.path.isfile(file):  # False for impossible names too
            hint = "relative paths begin in the folder of the file that they are written in"
            return (at / "file").fail("a mesh file", f"{shown(given.file)}, which does not exist", hint)
        key = str(file), given.scale
        mesh = self._meshes.get(key) or (at / "file").attempt(lambda: meshes.mesh_of(file, given.scale))
        if mesh is not INVALID:
            self._meshes[key] = mesh
            fits = len(mesh.faces) <= self._triangles
            self._triangles -= len(mesh.faces) if fits else 0
            self.embedded[at.path] = meshes.mesh_block(mesh, fits)
        return mesh

    def shapes_in_file(self, names: Collection[str]) -> tuple[Any, Places] | None:
        """What the file says of shapes that are found later, and where: errors name it."""
        data = {"initial": {name: self.data["initial"][name] for name in names}}
        return (data, self.places.under(*(("initial", name) for name in names))) if names else None

    # -- blocks ------------------------------------------------------------------------------------------------------

    def check_top(self) -> None:
        """Note unknown blocks, and refuse what is no robot (FileError, ModelError)."""
        data, top = self.data, At(self)
        if not isinstance(data, dict):
            top.fail(RobotFile.expected(), shown(data))
        elif "sorosim" not in data and "links" not in data:
            hint = "a robot's file begins with the line 'sorosim: 1'"
            top.fail("a robot, with the keys sorosim and links", shown(data), hint)
        elif "sorosim" in data:
            RobotFile.declaration()["sorosim"].type.read(data["sorosim"], At(self, ("sorosim",)))
        if self.problems:  # another version may differ in everything
            raise failure(self.problems, self.places)
        known = RobotFile.key_names()
        unknown = [name for name in data if name not in known]
        self.misspelt = {name for name in known for other in unknown if close(other, name)}
        for name in unknown:
            RobotFile.unknown_key(name, data[name], top)
        for name in ("sorosim", "links"):
            if name not in data and name not in self.misspelt:
                top.fail(f"the key '{name}'", "nothing", f"for instance {name}: {_EXAMPLES[name]}")

    def read_block(self, block: str) -> Any:
        """What a block says; None without it, or where it is wrong."""
        keys = {one.name: one for one in RobotFile.declaration().values()}
        found = keys[block].type.take(self.data, keys[block], At(self))
        return None if found is INVALID or block not in self.data else found

    def read_parts(self, block: str) -> None:
        """Read the entries of a block that are right."""
        entries = self.data.get(block)
        kind: Any = {one.name: one for one in RobotFile.declaration().values()}[block].type
        if block in self.data and not isinstance(entries, dict):
            self.read_block(block)
            return
        for name, entry in (entries or {}).items():
            needs: set[tuple[str, str]] = set()
            self._needs = needs
            self.reading.needs[block, name] = needs
            if self.before is not None and (part := self.before.part(self.reading, block, name)) is not None:
                needs |= self.before.needs[block, name]
                self.parts[block][name] = part
                continue
            here = At(self, (block, name), entries)
            named = here.attempt(partial(kind.name.check, name), at_key=True)
            found = kind.type.read_named(entry, here, name)
            if found is not INVALID and named is not INVALID:
                self.parts[block][name] = found

    def _joint(self, block: str, name: str) -> Any:
        """The joint of a link or a loop, or its kind, which may be known though the rest is wrong."""
        return joint_kind(self.entry(block, name) or {"joint": None})

    def inputs(self, path: Path, given: Mapping[str, object] | None) -> dict[str, str]:
        """Dimensions of those inputs that can be read; names that are not known are noted."""
        found, names = {}, self.names("actuators")
        for name in given or ():
            if not At(self, (*path, name)).known("the name of an actuator", name, names, at_key=True):
                continue
            actuator = self.parts["actuators"].get(name)
            if actuator is not None and (unit := input_unit(actuator, self._joint)) is not None:
                found[name] = OF_INPUT.get(unit, "number")
            elif "tendon" in (self.entry("actuators", name) or {}):
                found[name] = "force"
        return found


_EXAMPLES = {"sorosim": "1", "links": "{arm: {rod: ...}}"}


def robot_from(
    expanded: Expanded, *, folder: FilePath | None = None, name: str = "robot", like: Robot | None = None
) -> tuple[Robot, FileScope]:
    """Robot from the data of a file, and what was read for it.

    Parameters
    ----------
    expanded : Expanded
        Mappings, lists and scalars, and where they were written; without a file the error is a ModelError.
    folder : Path, optional
        Where relative paths of tables begin; without it their signals fail when they are used.
    name : str
        Of the robot, if the file has none.
    like : Robot, optional
        Read from similar data; what stays is taken from it.
    """
    with np.errstate(all="ignore"):  # what overflows is found out
        reading = None if like is None else like.description.document.reading
        if reading is not None:
            scope = FileScope(expanded, folder, reading)
            assert like is not None
            robot = _Reader(scope, name).changed(like)
            if robot is not None:
                return robot, scope
        scope = FileScope(expanded, folder)
        scope.check_top()
        return _Reader(scope, name).robot(), scope


def description_from(expanded: Expanded, before: Reading | None = None) -> Description:
    """What the data of a file say of a robot, not of its runs; no other files are read."""
    scope = FileScope(expanded, None, before)
    scope.check_top()
    reader = _Reader(scope, "robot")
    description: Description = reader.description({})
    reader.fail_if_wrong()
    return description


def numbers_of(expanded: Expanded) -> tuple[dict[Path, str], dict[Path, tuple[str, ...]]]:
    """Of the numbers in the data of a robot without mistakes: dimensions, and of which variables they may be formulas.

    Its declarations know them.
    """
    scope = FileScope(expanded, None)
    scope.dimensions = {}
    _Reader(scope, "robot").description({})
    return scope.dimensions, scope.variables


class _Reader:
    """Reads one file."""

    def __init__(self, scope: FileScope, name: str) -> None:
        self.scope, self.name = scope, name

    def fail_if_wrong(self) -> None:
        """Raise what was found."""
        if self.scope.problems:
            raise failure(self.scope.problems, self.scope.places)

    def description(self, options: dict[str, dict[str, Any]]) -> Any:
        """The description, without the coordinates that it names; INVALID if something is."""
        scope = self.scope
        gravity = scope.read_block("gravity")
        name, outputs = scope.read_block("name") or self.name, scope.read_block("outputs") or ()
        for block in NAMED:
            scope.read_parts(block)
        self.read_inputs(options)
        at = At(scope)
        links = at.attempt(lambda: ordered_links(tuple(scope.parts["links"].values()))) if self.has_links() else INVALID
        if links is INVALID:
            self.fail_if_wrong()
        others = {block: {key: x for key, x in own.items() if key != "driven"} for block, own in options.items()}
        parts: dict[str, Any] = {block: scope.parts[block] for block in PARTS} | others
        return at.attempt(
            lambda: Description(name, links, gravity=gravity or STANDARD_GRAVITY, outputs=outputs, **parts)
        )

    def robot(self) -> Robot:
        """The robot."""
        scope = self.scope
        simulate, statics = scope.read_block("simulate"), scope.read_block("statics")
        scope.t_end = simulate.t_end if simulate is not None else None
        options = {"simulate": {} if simulate is None else spread(given(simulate), MOTIONS),
                   "statics": {} if statics is None else given(statics)}  # fmt: skip
        description = self.description(options)
        initial = scope.read_block("initial") or {}
        driven = {block: own.get("driven") for block, own in options.items()}
        robot = None if scope.problems or description is INVALID else self.made(description)
        layout = (
            robot.engine.layout
            if robot is not None
            else compile_tree(ordered_links(tuple(scope.parts["links"].values())))[2]
        )
        reader = CoordinateReader(scope, layout, scope.parts["actuators"])
        reader.initial(initial)
        moved = reader.driven("simulate", driven["simulate"] or {})
        held = reader.driven("statics", driven["statics"] or {})
        if robot is None or scope.problems:
            self.fail_if_wrong()
        assert robot is not None  # for the type checker: else something was wrong
        start = description.simulate.get("q0")
        if isinstance(start, tuple) and len(start) != robot.ndof:
            At(scope, ("simulate", "q0")).fail(f"{robot.ndof} coordinates", f"{len(start)}")
        self.check_routes(robot)
        self.fail_if_wrong()
        changed: dict[str, Any] = {"initial": reader.values, "initial_rates": reader.rates, "shapes": reader.shapes,
                                   "_shapes_in_file": scope.shapes_in_file(reader.shapes)}  # fmt: skip
        for block, own in (("simulate", moved), ("statics", held)):
            if driven[block]:
                changed[block] = {**getattr(description, block), "driven": own}
        given_ones = {name: value for name, value in changed.items() if value}
        return robot._redescribed(replace(description, **given_ones))

    def changed(self, robot: Robot) -> Robot | None:
        """A robot with the runs of another one; None where they may not stay, or where something is wrong."""
        scope, old = self.scope, robot.description
        scope.check_top()
        if scope.before is None or not all(scope.before.stays(scope.reading, block) for block in RUNS):
            return None
        kept = ("simulate", "statics", "initial", "initial_rates", "shapes", "outputs")
        runs: dict[str, Any] = {block: getattr(old, block) for block in kept}
        runs["_shapes_in_file"] = scope.shapes_in_file(old.shapes)
        gravity = scope.read_block("gravity")
        for block in NAMED:
            scope.read_parts(block)
        if scope.problems:
            return None
        parts: dict[str, Any] = {block: scope.parts[block] for block in PARTS}
        links = ordered_links(tuple(scope.parts["links"].values()))
        description = Description(old.name, links, gravity=gravity or STANDARD_GRAVITY, **parts, **runs)
        found = self.made(description, like=robot)
        stays = ("coordinate_names", "actuator_units", "n_multipliers")
        if found is None or any(getattr(found, name) != getattr(robot, name) for name in stays):
            return None
        if found.engine.rod_actuators.value is not robot.engine.rod_actuators.value:
            self.check_routes(found)
        return None if scope.problems else found

    def has_links(self) -> bool:
        """Whether all links are right."""
        scope = self.scope
        return (
            "links" in scope.data
            and "links" not in scope.misspelt
            and len(scope.parts["links"]) == len(scope.names("links"))
        )

    def read_inputs(self, blocks: dict[str, dict[str, Any]]) -> None:
        """Read inputs, whose dimensions the actuators know."""
        for block, options in blocks.items():
            if "u" not in options:
                continue
            at, raw = At(self.scope, (block, "u")), options["u"]
            dimensions = self.scope.inputs(at.path, raw)
            found = {}
            for name, dimension in dimensions.items():
                here = at / name
                if block == "simulate":
                    found[name] = SignalOf(dimension).signal(raw[name], here)
                else:
                    found[name] = here.attempt(lambda x=raw[name], d=dimension: quantity(x, d))  # type: ignore[misc]
            options["u"] = {name: value for name, value in found.items() if value is not INVALID}
            if not options["u"]:
                del options["u"]

    def made(self, description: Description, like: Robot | None = None) -> Robot | None:
        """The robot; None if it cannot be made, which is noted."""
        scope = self.scope
        try:
            robot = Robot(description, like=like)
        except ModelError as error:
            n = len(scope.problems)
            self.diagnose(description)
            if len(scope.problems) == n:
                scope.problems.append(locate(error, (), scope.data))
            return None
        arrays = (
            *robot.engine.tree,
            *robot.engine.elastic[:3],
            robot.engine.elastic.sections.value,
            robot.engine.loops.value,
        )
        if not all(np.isfinite(array).all() for array in arrays if array.dtype.names is None):
            hint = "look for a wrong unit"
            At(scope, ("links",)).fail("sizes and stiffnesses that can be computed with", "an overflow", hint)
        return robot

    def diagnose(self, description: Description) -> None:
        """Note which actuators, loads and loops do not fit the links."""
        scope = self.scope
        ends = [(end.link, end.s) for loop in description.loops.values() for end in (loop.a, loop.b)]
        ends += [place for load in description.loads.values() for place in load.places]
        tree, _, layout = compile_tree(description.links, ends)

        def fit(actuator: object) -> None:
            check_actuator("", actuator, layout)
            compile_rod_actuators({0: actuator}, [""], 1, layout)

        for name, actuator in description.actuators.items():
            at = At(scope, ("actuators", name, next(iter(scope.data["actuators"][name]))))
            if isinstance(actuator, JointForce):
                at.attempt(partial(actuator.index, layout))
            elif isinstance(actuator, LoadInput):
                at.attempt(partial(actuator.check, description.loads, layout))
            elif not isinstance(actuator, LoopForce):
                at.attempt(partial(fit, actuator))
        for name, load in description.loads.items():
            At(scope, ("loads", name, next(iter(scope.data["loads"][name])))).attempt(partial(load.bind, layout))
        poses = np.broadcast_to(np.eye(4), (len(tree.segment) + 1, 4, 4))
        for name, constraint in description.constraints.items():
            one = {name: constraint}
            At(scope).attempt(partial(compile_loops, one, {}, description.links, layout, tree, poses))

    def check_routes(self, robot: Robot) -> None:
        """Note which tendons and chambers leave their rods."""
        for name, kind, actuator in _in_rods(robot.description):
            at = At(self.scope, ("actuators", name, kind))
            several = "path" in (at_path(self.scope.data, at.path) or {})
            for i, run in enumerate(actuator.path):
                here = at / "path" / i if several else at
                here.attempt(partial(check_inside, run, robot.engine.layout))


def _in_rods(description: Description) -> Iterator[tuple[str, str, Tendon | Chamber]]:
    """Actuators with routes: name, key in a file, actuator."""
    for name, actuator in description.actuators.items():
        if isinstance(actuator, Tendon | Chamber):
            yield name, actuator.kind, actuator
