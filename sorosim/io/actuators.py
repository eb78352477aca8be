"""Actuators of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sorosim.actuation.chamber import Chamber
from sorosim.actuation.distributed_moment import MOMENTS, DistributedMoment
from sorosim.actuation.joint_force import JointForce
from sorosim.actuation.loop_force import LoopForce
from sorosim.actuation.route import RADIUS, Run
from sorosim.actuation.servo import Servo
from sorosim.actuation.tendon import Tendon
from sorosim.io.fields import Quantity, formula_or_quantity
from sorosim.io.joints import effort_of, motor_of, servo_of
from sorosim.io.loops import loop_motor_of
from sorosim.io.own import own_of
from sorosim.io.schema import RobotFile
from sorosim.io.schema_actuators import (
    ActuatorBlock,
    ChamberBlock,
    ChamberPathBlock,
    MomentBlock,
    PathBlock,
    RunBlock,
    TendonBlock,
)
from sorosim.model.profile import PLACE_VARIABLES
from sorosim.model.rod import Rod
from sorosim.model.section import Circle, Ellipse, HollowCircle, Properties, Rectangle
from sorosim.problems import Collector, Path
from sorosim.registry import ACTUATORS
from sorosim.units.table import DIMENSIONS, OF_INPUT

_ALL_SIZES = {name for kind in (Circle, HollowCircle, Rectangle, Ellipse, Properties) for name in kind.size_names}


@dataclass
class ActuatorBuilder:
    """Builds actuators.

    Parameters
    ----------
    todo : Collector
    file : RobotFile
        What is right of it.
    names : callable
        Names in a block of the file, wrong entries included.
    rods : mapping of str to Rod
        Those that are right.
    """

    todo: Collector
    file: RobotFile
    names: Callable[[str], list[str]]
    rods: Mapping[str, Rod]

    def actuator(self, path: Path, block: ActuatorBlock) -> Any:
        """An actuator, None if it is wrong."""
        links, names = self.file.links, self.names("links")
        if block.own is not None:
            return own_of(self.todo, (*path, block.own[0]), block.own, ACTUATORS)
        path = (*path, block.kind)
        if block.joint is not None:
            return motor_of(self.todo, path, block.joint, links, names)
        if block.servo is not None:
            return servo_of(self.todo, path, block.servo, links, names)
        if block.loop is not None:
            return loop_motor_of(self.todo, path, block.loop, self.file.loops, self.names("loops"))
        if block.moment is not None:
            return self.moment(path, block.moment)
        return self.along_route(path, block.chosen)

    def dimension(self, name: str, actuator: Any) -> str:
        """Dimension of the input of an actuator, "" where it is wrong and may be anything."""
        if isinstance(actuator, JointForce):
            effort = effort_of(actuator, self.file.links[actuator.link].joint)
            return {"moment": "angle", "force": "length"}[effort] if isinstance(actuator, Servo) else effort
        if isinstance(actuator, LoopForce):
            return effort_of(actuator, self.file.loops[actuator.loop].joint)
        if actuator is not None:
            return OF_INPUT.get(actuator.unit, "number")
        block = self.file.actuators.get(name)
        return "force" if block is not None and block.tendon is not None else ""

    def along_route(
        self, path: Path, block: TendonBlock | PathBlock | ChamberBlock | ChamberPathBlock
    ) -> Tendon | Chamber | None:
        """A tendon or a chamber."""
        if isinstance(block, PathBlock | ChamberPathBlock):
            runs = [self.run((*path, "path", i), run) for i, run in enumerate(block.path)]
            if not runs:
                self.todo.add((*path, "path"), "one rod or several", "an empty list")
            first = block.path[0].rod if block.path else ""
        else:
            runs, first = [self.run(path, block)], block.rod
        right = tuple(run for run in runs if run is not None)
        area = self.formula((*path, "area"), block.area, "area", first) if hasattr(block, "area") else None
        if not right or len(right) < len(runs) or (hasattr(block, "area") and area is None):
            return None
        if area is not None:
            return self.todo.attempt(path, lambda: Chamber(right, area=area))
        assert isinstance(block, TendonBlock | PathBlock)  # for the type checker
        options = {"stiffness": block.stiffness, "friction": block.friction, "pushes": block.pushes}
        return self.todo.attempt(path, lambda: Tendon(right, **options))  # type: ignore[arg-type]

    def moment(self, path: Path, block: MomentBlock) -> DistributedMoment | None:
        """Internal moments along a rod."""
        if not self.is_rod((*path, "rod"), block.rod):
            return None
        moments = {
            name: self.formula((*path, name), getattr(block, name), "moment", block.rod) for name in MOMENTS
        }  # fmt: skip
        if None in moments.values():
            return None
        if block.start >= block.end:
            self.todo.add((*path, "from"), f"a place before the end, {block.end:g}", f"{block.start:g}")
            return None
        return self.todo.attempt(
            path, lambda: DistributedMoment(block.rod, **moments, start=block.start, end=block.end)
        )  # fmt: skip

    def run(self, path: Path, block: RunBlock) -> Run | None:
        """The way through one rod."""
        is_rod = self.is_rod((*path, "rod"), block.rod)
        y, z = (self.formula((*path, axis), getattr(block, axis), "length", block.rod) for axis in ("y", "z"))
        if y is None or z is None or not is_rod:
            return None
        if block.start >= block.end:
            self.todo.add((*path, "from"), f"a place before the end, {block.end:g}", f"{block.start:g}")
            return None
        return self.todo.attempt(path, lambda: Run(block.rod, y=y, z=z, start=block.start, end=block.end))

    def is_rod(self, path: Path, name: str) -> bool:
        """Whether a name is that of a rod; if not, that is noted."""
        links = self.file.links
        rods = [other for other in self.names("links") if other not in links or links[other].rod is not None]
        return self.todo.known(path, "the name of a link with a rod", name, rods)

    def formula(self, path: Path, value: Any, dimension: str, rod: str) -> Any:
        """A quantity or an expression of place on a rod, None if it is wrong."""
        variables = self.variables(rod)
        bounds = {"area": {"above": 0.0}}.get(dimension, {})

        def read() -> Any:
            found = formula_or_quantity(value, dimension, variables)
            return Quantity(dimension, **bounds).check(value) if isinstance(found, float) and bounds else found

        assert dimension in DIMENSIONS
        return self.todo.attempt(path, read)

    def variables(self, rod: str) -> tuple[str, ...]:
        """Names that a formula may use: those of all divisions of the rod; of a rod that is wrong, all there are."""
        sizes = [set(division.section.sizes) for division in self.rods[rod].divisions] if rod in self.rods else []
        common = set.intersection(*sizes) if sizes else set(_ALL_SIZES)
        radius = (RADIUS,) if "radius" in common else ()
        return (*PLACE_VARIABLES, *radius, *sorted(common))
