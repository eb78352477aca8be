"""What other programs see of a robot: inputs and numbers to set, coordinates, tips and sensors to read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

from sorosim.analysis.sensitivity import file_parameters
from sorosim.base.errors import InputError
from sorosim.base.units.table import BASE, DIMENSIONS, OF_COORDINATE
from sorosim.mechanics.engine.parameter import DRIVEN, INPUT, driven_parameter, input_parameter
from sorosim.mechanics.engine.prescribed import Prescribed
from sorosim.mechanics.robot import Robot

# kinds, which are the first words of the names, too
TIME, PARAMETER = "time", "parameters"
POSITION, RATE, TIP, SENSOR = "q", "qd", "tip", "sensors"
_STRUCTURED = re.compile(r"[A-Za-z_]\w*(\[\d+\])?(\.[A-Za-z_]\w*(\[\d+\])?)*", re.ASCII)


@dataclass(frozen=True)
class Variable:
    """A scalar by the name of what it is of: an actuator, a coordinate, a path in the file, a link, a sensor."""

    kind: str
    of: str
    dimension: str
    description: str
    index: int = 0  # in the array that it is read from
    component: str = ""

    @property
    def name(self) -> str:
        """Its name, which tools show as a tree by its dots."""
        of = self.of.removeprefix(f"{PARAMETER}.") if self.kind == PARAMETER else self.of
        return ".".join(part for part in (self.kind, of, self.component) if part)

    @property
    def unit(self) -> str:
        """Its unit, "" of a plain number."""
        return DIMENSIONS[self.dimension].unit


def variables_of(robot: Robot, parameters: Sequence[str]) -> list[Variable]:
    """All variables of a robot; ``parameters`` are paths of numbers in its file (InputError if they lead nowhere)."""
    return [*_inputs(robot), *_parameters(robot, parameters), *_outputs(robot)]


def _inputs(robot: Robot) -> Iterator[Variable]:
    for one in (input_parameter(robot, name) for name in robot.actuator_names):
        kind = getattr(robot.description.actuators[one.target], "kind", "actuator").replace("_", " ")
        what = f"Input of the {kind} {one.target}, held over each communication step"
        yield Variable(INPUT, one.target, one.dimension, what)
    for one in (driven_parameter(robot, name) for name in Prescribed.of(robot, {}, None).settable):
        what = f"Where {one.target} is at the end of the communication step"
        yield Variable(DRIVEN, one.target, one.dimension, what)


def _parameters(robot: Robot, names: Sequence[str]) -> Iterator[Variable]:
    for one in file_parameters(robot, names):
        if not one.dimension:
            raise InputError("parameters", "numbers of one dimension", f"'{one.name}', which counts something")
        yield Variable(PARAMETER, one.name, one.dimension, f"Number of the robot's file, {one.name}")


def _outputs(robot: Robot) -> Iterator[Variable]:
    coordinates = list(enumerate(zip(robot.coordinate_names, robot.engine.layout.dimensions, strict=True)))
    for order, kind, what in ((0, POSITION, "Coordinate"), (1, RATE, "Rate of coordinate")):
        for i, (name, dimension) in coordinates:
            yield Variable(kind, name, OF_COORDINATE[dimension][order], f"{what} {name}", i)
    carrying = {link.parent for link in robot.links}
    for link in robot.links:
        if link.name not in carrying:
            place = "the end of the rod" if link.rod is not None else "the origin of"
            for i, axis in enumerate("xyz"):
                yield Variable(TIP, link.name, "length", f"{axis} of {place} {link.name} in the world", i, axis)
    for name, reader in robot.instruments.readers.items():
        channels = ((channel, group.dimension) for group in reader.groups for channel in group.names)
        for i, (channel, dimension) in enumerate(channels):
            yield Variable(SENSOR, name, dimension, f"Ideal reading of the sensor {name}: {channel}", i, channel)


def naming_convention(variables: Iterable[Variable]) -> str:
    """What FMI calls the names: structured where it allows all of them."""
    return "structured" if all(_STRUCTURED.fullmatch(one.name) for one in variables) else "flat"


def unit_definitions(variables: Iterable[Variable]) -> Element:
    """The element of a model description that defines the units of variables by those of SI."""
    out = Element("UnitDefinitions")
    for dimension in {one.unit: one.dimension for one in variables if one.unit}.values():
        entry = DIMENSIONS[dimension]
        powers = dict(zip(BASE, entry.exponents, strict=True))
        powers["rad"] = 1 if entry.unit.startswith("rad") else -entry.unit.endswith("/rad")
        base = {name: str(power) for name, power in powers.items() if power}
        SubElement(SubElement(out, "Unit", name=entry.unit), "BaseUnit", base)
    return out
