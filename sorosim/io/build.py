"""From the data of a file to a Robot: the schema's blocks become objects of the model, every mistake a problem.

Each part is tried on its own, so that one run names all that is wrong; parts that rest on a wrong one are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from sorosim.actuation.chamber import Chamber
from sorosim.actuation.compiled import check_actuator, compile_fibres
from sorosim.actuation.joint_force import JointForce
from sorosim.actuation.loop_force import LoopForce
from sorosim.actuation.tendon import Tendon
from sorosim.constraints.loop import compile_loops
from sorosim.errors import ModelError
from sorosim.io.actuators import ActuatorBuilder
from sorosim.io.bodies import BodyBuilder
from sorosim.io.coordinates import CoordinateBuilder
from sorosim.io.expand import Expanded
from sorosim.io.inputs import SignalBuilder, with_tables
from sorosim.io.joints import joint_of, row_of
from sorosim.io.loads import LoadBuilder, signals_of_load
from sorosim.io.loops import LoopBuilder
from sorosim.io.meshes import replaced, with_meshes
from sorosim.io.override import LABEL
from sorosim.io.places import PlaceBuilder
from sorosim.io.rods import RodBuilder
from sorosim.io.routes import check_inside
from sorosim.io.schema import LinkBlock, RobotFile
from sorosim.io.schema_errors import Checked, check
from sorosim.io.schema_rods import MaterialBlock
from sorosim.io.sensors import SensorBuilder
from sorosim.io.yaml_writer import as_written, to_yaml
from sorosim.model.body import RigidBody
from sorosim.model.compile import compile_tree
from sorosim.model.description import STANDARD_GRAVITY, Description
from sorosim.model.link import WORLD, Link, ordered_links
from sorosim.model.material import Material
from sorosim.model.rod import Rod
from sorosim.problems import Collector, Located, Path, at_path, failure, locate, shown
from sorosim.robot import Robot
from sorosim.units.quantity import quantity


def robot_from(expanded: Expanded, *, folder: FilePath | None = None, text: str = "", name: str = "robot") -> Robot:
    """Robot from the data of a file.

    Parameters
    ----------
    expanded
        Mappings, lists and scalars, and where they were written; without a file the error is a ModelError.
    folder : Path, optional
        Where relative paths of tables begin; without it their signals fail when they are used.
    text, name : str
        Kept in the description; the name only if the file has none. A text that does not say all is written anew.
    """
    with np.errstate(all="ignore"):  # what overflows is found out
        return _robot(expanded, folder, text, name)


def _robot(expanded: Expanded, folder: FilePath | None, text: str, name: str) -> Robot:
    data, places = expanded.data, expanded.places
    checked = check(data)
    if checked.file is None:
        raise failure(checked.problems, places)
    builder = Builder(checked.file, checked, data, folder, places)
    description = builder.description(name, text)
    if builder.todo.problems or description is None:
        raise failure(builder.todo.problems, places)
    try:
        robot = Robot(description)
    except ModelError as error:
        builder.diagnose(description)
        raise failure(builder.todo.problems or [locate(error, (), data)], places) from None
    arrays = *robot.engine.tree, *robot.engine.elastic[:3], robot.engine.loops.value
    if not all(np.isfinite(array).all() for array in arrays):
        hint = "look for a wrong unit"
        builder.todo.add(("links",), "sizes and stiffnesses that can be computed with", "an overflow", hint)
    start = description.simulate.get("q0")
    if isinstance(start, tuple) and len(start) != robot.ndof:
        builder.todo.add(("simulate", "q0"), f"{robot.ndof} coordinates", f"{len(start)}")
    builder.check_routes(robot)
    if builder.todo.problems:
        raise failure(builder.todo.problems, places)
    signals, meshes = list(builder.signals_of(description)), builder.body_builder.read
    whole = with_meshes(with_tables(data, signals, folder), meshes)
    if expanded.stands_alone and whole is data:
        return robot
    whole = _in_short(expanded, whole, [*(path for path, _ in signals), *meshes])
    head = {"sorosim": whole["sorosim"], "name": description.name}
    return Robot(replace(description, text=to_yaml({**head, **whole, **head})))


def _in_short(expanded: Expanded, whole: Any, places: Sequence[Path]) -> Any:
    """What is expanded and whole, with its parameters and parts as they are written where that says the same.

    It does unless what was read from another file, at one of the places, stands in a part or is named by a parameter.
    """
    data, out = expanded.data, as_written(expanded.short)
    if whole is data:
        return out
    changed = [path for path in places if at_path(whole, path) != at_path(data, path)]
    if expanded.short is data or any(at_path(expanded.short, path) != at_path(data, path) for path in changed):
        return whole
    for path in changed:
        out = replaced(out, path, at_path(whole, path))
    return out


class _AnyName(list[str]):
    """Names that nobody knows."""

    def __contains__(self, name: object) -> bool:
        return True


class Builder:
    """The parts of one file."""

    def __init__(
        self, file: RobotFile, checked: Checked, data: Any, folder: FilePath | None, places: Located
    ) -> None:  # fmt: skip
        self.file, self.broken, self.folder, self.written = file, checked.broken, folder, places
        self.todo = Collector(data, list(checked.problems))
        self.places = PlaceBuilder(self.todo, file.links)
        self.materials: dict[str, Material] = {}
        self.rods: dict[str, Rod] = {}
        self.loop_builder = LoopBuilder(self.todo, self.places, self.names("links"))
        self.rod_builder = RodBuilder(self.todo, self.names("materials"), self.materials)
        self.body_builder = BodyBuilder(self.todo, self.folder_of)
        self.sensor_builder = SensorBuilder(self.todo, self.places, file, self.names)

    def names(self, block: str) -> list[str]:
        """Names in a block of the file, wrong entries included; every name may be in a block that is wrong itself."""
        given = self.todo.data.get(block)
        return _AnyName() if (block,) in self.broken else list(given) if isinstance(given, dict) else []

    def folder_of(self, path: Path) -> FilePath | None:
        """Folder where a relative path begins: that of the file in which it is written."""
        file = self.written.place(path).file
        here = self.folder is None or file in ("", LABEL, self.written.place(()).file)
        return self.folder if here else FilePath(file).parent

    def description(self, name: str, text: str) -> Description | None:
        """The whole; None, or with problems noted, if something is wrong."""
        self.materials.update(self.every(self.file.materials, "materials", self.material))
        links = self.every(self.file.links, "links", self.link)
        loops = self.every(self.file.loops, "loops", self.loop_builder.loop)
        maker = ActuatorBuilder(self.todo, self.file, self.names, self.rods)
        actuators = self.every(self.file.actuators, "actuators", maker.actuator)
        loads = self.every(self.file.loads, "loads", self.load_builder(links).load)
        sensors = self.every(self.file.sensors, "sensors", self.sensor_builder.sensor)
        dimensions = {name: maker.dimension(name, actuators.get(name)) for name in self.names("actuators")}
        simulate, statics = self.simulate(dimensions), self.statics(dimensions)
        if len(links) < len(self.names("links")) or ("links",) in self.broken:
            return None
        tree = self.todo.attempt((), lambda: ordered_links(tuple(links.values())))
        if tree is None:
            return None
        initial, rates, driven, held = self.coordinates(tree, actuators)
        return self.todo.attempt(
            (),
            lambda: Description(
                self.file.name or name,
                tree,
                gravity=self.file.gravity or STANDARD_GRAVITY,  # type: ignore[arg-type]  # three, by the schema
                actuators=actuators,
                loads=loads,
                loops=loops,
                sensors=sensors,
                simulate=simulate | driven,
                statics=statics | held,
                initial=initial,
                initial_rates=rates,
                text=text,
            ),
        )

    def every(self, blocks: dict[str, Any], key: str, make: Callable[[Path, Any], Any]) -> dict[str, Any]:
        """The entries of a block that are right, in order."""
        made = {name: make((key, name), block) for name, block in blocks.items()}
        return {name: part for name, part in made.items() if part is not None}

    # -- parts -----------------------------------------------------------------------------------------------------

    def material(self, path: Path, block: MaterialBlock) -> Material | None:
        """A material."""
        return self.todo.attempt(path, lambda: Material(**block.model_dump(), name=str(path[-1])))

    def link(self, path: Path, block: LinkBlock) -> Link | None:
        """A link."""
        name, todo = str(path[-1]), self.todo
        n_problems = len(todo.problems)
        parents = [WORLD, *(other for other in self.names("links") if other != name)]
        if block.parent == name:
            todo.add((*path, "parent"), "another link of this robot or 'world'", f"{shown(name)}, the link itself")
        else:
            todo.known((*path, "parent"), "a link of this robot or 'world'", block.parent, parents)
        at, s, frame = self.places.pose((*path, "at"), block.at, block.parent)
        row = row_of(block)
        if row is not None:
            at = row.at
        joint = todo.attempt((*path, "joint"), lambda: joint_of(block.joint, row))
        body: Rod | RigidBody | None = None
        if block.rod is not None:
            body = self.rod_builder.rod((*path, "rod"), block.rod)
            if body is None:
                return None
            self.rods[name] = body
        elif block.body is not None:
            body = self.body_builder.body((*path, "body"), block.body)
        visual = self.body_builder.visuals((*path, "visual"), block.visual)
        frames = self.body_builder.frames((*path, "frames"), block.frames)
        if joint is None or at is None or len(todo.problems) > n_problems:
            return None
        return todo.attempt(
            path,
            lambda: Link(
                name, body, joint=joint, parent=block.parent, at=at, s=s, frame=frame, frames=frames, visual=visual
            ),
        )  # fmt: skip

    # -- how it is run ---------------------------------------------------------------------------------------------

    @cached_property
    def signals(self) -> SignalBuilder:
        """Builds signals of this file."""
        return SignalBuilder(self.todo, self.folder, self.file.simulate.t_end if self.file.simulate else None)

    def load_builder(self, links: Mapping[str, Link]) -> LoadBuilder:
        """Builds loads on those links that are right."""
        gravity: Any = self.file.gravity or STANDARD_GRAVITY
        return LoadBuilder(self.todo, self.places, self.signals, self.body_builder, self.names("links"), links, gravity)

    def inputs(self, path: Path, blocks: dict[str, Any], dimensions: dict[str, str]) -> dict[str, str]:
        """Dimensions of those inputs that can be read; names that are not known are noted."""
        for name in blocks:
            if ("actuators",) not in self.broken and ("actuators", name) not in self.broken:
                self.todo.known((*path, name), "the name of an actuator", name, dimensions, at_key=True)
        return {name: dimensions[name] for name in blocks if dimensions.get(name)}

    def simulate(self, dimensions: dict[str, str]) -> dict[str, Any]:
        """Default arguments of `sorosim.simulate`, but for driven coordinates."""
        block, path = self.file.simulate, ("simulate", "u")
        if block is None:
            return {}
        own = {name: value for name, value in block if name not in ("u", "driven") and value is not None}
        known = self.inputs(path, block.u, dimensions)
        return own | ({"u": self.signals.mapping(path, block.u, known)} if block.u else {})

    def statics(self, dimensions: dict[str, str]) -> dict[str, Any]:
        """Default arguments of `sorosim.statics`."""
        block, path = self.file.statics, ("statics", "u")
        if block is None:
            return {}
        known = self.inputs(path, block.u, dimensions) if block.u else {}
        given = {} if block.stable is None else {"stable": block.stable}
        u = {name: self.number((*path, name), block.u[name], known[name]) for name in known}
        return given | ({"u": u} if u else {})

    def number(self, path: Path, value: Any, dimension: str) -> float | None:
        """A quantity."""
        return self.todo.attempt(path, lambda: quantity(value, dimension))

    def coordinates(
        self, tree: tuple[Link, ...], actuators: Mapping[str, Any]
    ) -> tuple[dict[str, float], dict[str, float], dict[str, Any], dict[str, Any]]:
        """Initial coordinates and rates; driven coordinates as arguments of `sorosim.simulate` and of `statics`."""
        driven = self.file.simulate.driven if self.file.simulate else {}
        held = self.file.statics.driven if self.file.statics else {}
        if not (self.file.initial or driven or held):
            return {}, {}, {}, {}
        builder = CoordinateBuilder(self.todo, compile_tree(tree)[2])
        builder.initial(self.file.initial)
        moved = builder.driven(driven, self.signals, actuators)
        values = builder.held(held, actuators)
        blocks = ({"driven": moved} if driven else {}), ({"driven": values} if held else {})
        return builder.values, builder.rates, *blocks

    # -- the whole -------------------------------------------------------------------------------------------------

    def diagnose(self, description: Description) -> None:
        """Note which actuators and loops do not fit the links."""
        ends = [(end.link, end.s) for loop in description.loops.values() for end in (loop.a, loop.b)]
        ends += [place for load in description.loads.values() for place in load.places]
        layout = compile_tree(description.links, ends)[2]

        def fit(actuator: Any) -> None:
            check_actuator("", actuator, layout)
            compile_fibres({0: actuator}, [""], 1, layout)

        for name, actuator in description.actuators.items():
            kind = next(iter(self.todo.data["actuators"][name]))
            if isinstance(actuator, JointForce):
                self.todo.attempt(("actuators", name, kind), partial(actuator.index, layout))
            elif not isinstance(actuator, LoopForce):
                self.todo.attempt(("actuators", name, kind), lambda actuator=actuator: fit(actuator))  # type: ignore[misc]
        for name, load in description.loads.items():
            kind = next(iter(self.todo.data["loads"][name]))
            self.todo.attempt(("loads", name, kind), lambda load=load: load.bind(layout))  # type: ignore[misc]
        for name, loop in description.loops.items():
            fit_loop = partial(compile_loops, {name: loop}, {}, description.links, layout, lambda node: np.eye(4))
            self.todo.attempt((), fit_loop)

    def signals_of(self, description: Description) -> Iterator[tuple[Path, Any]]:
        """Signals that the file may take from other files, with their paths."""
        for key in ("u", "driven"):
            for name, signal in description.simulate.get(key, {}).items():
                yield ("simulate", key, name), signal
        for name, load in description.loads.items():
            yield from ((("loads", name, *path), signal) for path, signal in signals_of_load(load))

    def check_routes(self, robot: Robot) -> None:
        """Note which tendons and chambers leave their rods."""
        for name, kind, actuator in _in_rods(robot.description):
            path: Path = ("actuators", name, kind)
            several = "path" in (at_path(self.todo.data, path) or {})
            for i, run in enumerate(actuator.runs):
                where = (*path, "path", i) if several else path
                self.todo.attempt(where, lambda run=run: check_inside(run, robot.engine.layout))  # type: ignore[misc]


def _in_rods(description: Description) -> list[tuple[str, str, Tendon | Chamber]]:
    """Actuators with routes: name, key in a file, actuator."""
    found = [(name, actuator) for name, actuator in description.actuators.items()]
    return [(name, "tendon" if isinstance(a, Tendon) else "chamber", a) for name, a in found
            if isinstance(a, Tendon | Chamber)]  # fmt: skip
